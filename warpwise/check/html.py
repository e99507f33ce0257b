"""HTML: the rich twin of a report, with the same words.

Every style stands inline and every colour is written twice, plain and as a JupyterLab variable: a
notebook that is not trusted yet loses style sheets and variables, but not the plain colour.  Text
takes the page's own colour, so both themes work.  The status is a word and a sign, not a colour.
"""

from __future__ import annotations

from html import escape

from .report import Listing, Report

_LOOK = {  # status: sign, plain colour, JupyterLab variable
    "pass": ("✓", "#2e7d32", "--jp-success-color1"),
    "fail": ("✗", "#c62828", "--jp-error-color1"),
    "todo": ("○", "#757575", "--jp-layout-color4"),
    "error": ("!", "#b26a00", "--jp-warn-color1"),
}
_MONO = "font-family: monospace; font-family: var(--jp-code-font-family, monospace);"
_LABEL = (
    "text-align: left; vertical-align: top; padding: 2px 14px 2px 0; font-weight: 600;"
    " white-space: nowrap; border: none; background: none;"
)
_BODY = "text-align: left; vertical-align: top; padding: 2px 0; border: none; background: none;"
_CELL = (
    "text-align: left; padding: 2px 16px 2px 0; border: none; border-bottom: 1px solid #9e9e9e;"
    " background: none;"
)
_HEAD = _CELL + " font-weight: 600;"


def card(status: str, headline: str, report: Report | None, footnotes: tuple[str, ...]) -> str:
    """A record as one block of HTML without scripts, classes or style sheets."""
    sign, plain, variable = _LOOK[status]
    rows = _rows(report) if report else []
    table = f'<table style="border-collapse: collapse; margin: 4px 0;">{"".join(rows)}</table>'
    notes = "".join(f'<div style="font-size: 90%;">{_note(note)}</div>' for note in footnotes)
    return (
        f'<div style="border-left: 4px solid {plain}; border-left-color: var({variable}, {plain});'
        ' padding: 4px 0 4px 12px; margin: 4px 0; line-height: 1.45;">'
        f'<div style="font-size: 110%; font-weight: 600;"><span style="color: {plain};'
        f' color: var({variable}, {plain});" aria-hidden="true">{sign}</span> '
        f"{escape(headline)}</div>"
        f"{table if rows else ''}{notes}</div>"
    )


def _rows(report: Report) -> list[str]:
    what = _code_or_prose(report.what) + _cells(report)
    parts = [("where", _mono(report.where)), ("what", what), ("cause", _lines(report.cause))]
    rows = [_row(label, body) for label, body in parts if body]
    following = _lines(report.next)
    if report.plain:
        following += (
            '<details style="margin-top: 2px;"><summary style="cursor: pointer;">A plainer hint'
            f"</summary>{_lines(report.plain)}{_lines(report.last)}</details>"
        )
    else:
        following += _lines(report.last)
    rows += [_row("next", following)] if following else []
    return [*rows, _row("print", _listing(report.printed))] if report.printed else rows


def _listing(printed: Listing) -> str:
    """Folded, so that it takes one line."""
    lines = "\n".join([*printed.lines, *([printed.left_out] if printed.left_out else [])])
    return (
        f'<details><summary style="cursor: pointer;">{escape(printed.heading)}</summary>'
        f'<pre style="{_MONO} margin: 0; white-space: pre-wrap;">{escape(lines)}</pre>'
        "</details>"
    )


def _row(label: str, body: str) -> str:
    return (
        f'<tr style="background: none;"><th scope="row" style="{_LABEL}">{label}</th>'
        f'<td style="{_BODY}">{body}</td></tr>'
    )


def _cells(report: Report) -> str:
    if not report.cells:
        return ""
    head, *rows = report.cells
    lines = ["".join(f'<th scope="col" style="{_HEAD}">{escape(cell)}</th>' for cell in head)]
    for row in rows:
        lines.append("".join(f'<td style="{_CELL} {_MONO}">{escape(cell)}</td>' for cell in row))
    body = "".join(f'<tr style="background: none;">{line}</tr>' for line in lines)
    rest = f"<div>{escape(report.left_out)}</div>" if report.left_out else ""
    return f'<table style="border-collapse: collapse; margin: 4px 0;">{body}</table>{rest}'


def _mono(body: str) -> str:
    return f'<span style="{_MONO}">{escape(body)}</span>' if body else ""


def _code_or_prose(body: str) -> str:
    """Several lines come from the simulator, aligned by spaces; one line is a sentence."""
    if "\n" in body:
        return f'<pre style="{_MONO} margin: 0; white-space: pre-wrap;">{escape(body)}</pre>'
    return f"<div>{escape(body)}</div>" if body else ""


def _note(note: str) -> str:
    """A sentence, and below it the line of code it is about."""
    first, *rest = note.splitlines()
    return escape(first) + "".join(f'<div style="{_MONO}">{escape(line)}</div>' for line in rest)


def _lines(body: str) -> str:
    return "".join(f"<div>{escape(line)}</div>" for line in body.splitlines())
