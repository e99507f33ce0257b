"""Reports: a failure as where / what / likely cause / next step, and its plain text.

where  the launch or call, in the learner's names
cells  rows of a small table of wrong elements; the first row is its header
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from .printed import Printed

Row = tuple[str, ...]
WIDTH = 84


@dataclass(frozen=True)
class Listing:
    """What an answer printed: a heading, the first lines, how many more there were."""

    heading: str
    lines: tuple[str, ...]
    left_out: str = ""


@dataclass(frozen=True)
class Report:
    """What a message says, before it is laid out.  An empty part is left out.

    what may be several lines (a simulator's message); `plain` is the plainer hint behind `more`;
    `last` stands below the plainest hint.
    """

    what: str
    where: str = ""
    cells: tuple[Row, ...] = ()
    left_out: str = ""
    cause: str = ""
    next: str = ""
    plain: str = ""
    more: str = ""
    last: str = ""
    printed: Listing | None = None


def text(headline: str, report: Report) -> str:
    """The plain-text form, e.g.

    guarded_add: fail, 0 of 2 points
      where  guarded_add[2, 32](out, a, b, n) with n = 33
      what   1 of 33 elements of out is wrong
    """
    parts = [("where", report.where), ("what", report.what)]
    lines = [headline]
    for label, body in parts:
        lines += _part(label, body)
    lines += [f"           {row}" for row in columns(report.cells)]
    if report.left_out:
        lines.append(f"           {report.left_out}")
    lines += _part("cause", report.cause)
    lines += _part("next", report.next)
    lines += [f"         {report.more}"] if report.more else []
    lines += [f"         {report.last}"] if report.last and not report.plain else []
    if report.printed:
        lines += _part("print", report.printed.heading)
        lines += [f"           {line}".rstrip() for line in report.printed.lines]
        lines += [f"           {report.printed.left_out}"] if report.printed.left_out else []
    return "\n".join(lines)


def listing(where: str, printed: Printed) -> Listing:
    """E.g. "add[1, 32](out) with n = 1 printed 12 lines:", and the first ten of them."""
    more = printed.count - len(printed.lines)
    lines = "1 line" if printed.count == 1 else f"{printed.count} lines"
    left_out = f"... and {more} more" if more else ""
    return Listing(f"{where} printed {lines}:", printed.lines, left_out)


def columns(rows: Sequence[Row]) -> list[str]:
    """Rows as lines with aligned columns, two spaces between."""
    if not rows:
        return []
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]


def _part(label: str, body: str) -> list[str]:
    if not body:
        return []
    # Several lines come from the simulator and are laid out already.
    laid_out = "\n" in body
    first, *rest = body.splitlines() if laid_out else textwrap.wrap(body, WIDTH)
    return [f"  {label:<5}  {first}", *(f"         {line}" if line else "" for line in rest)]
