"""A report as text and as HTML: the source with the cost of each line beside it, then the totals.

The HTML has inline styles, no script and no colour of its own for text, so it reads in a light and
in a dark notebook.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

from . import metrics

NOTE = "Counted from the source as written; the compiler may fuse, hoist or vectorise."


@dataclass(frozen=True)
class Total:
    """One number of a launch, with Nsight Compute's name for it, if it has one."""

    name: str
    value: float
    metric: str = ""

    @property
    def written(self) -> str:
        return f"{self.value:,}" if isinstance(self.value, int) else f"{self.value:,.2f}"


def totals(report: Any) -> list[Total]:
    """All numbers of a launch that are not zero."""
    found: list[Total] = []

    def add(title: str, group: str, *numbers: str) -> None:
        counts = getattr(report, group)
        if getattr(counts, numbers[0]):
            for number in numbers:
                name = f"{title}: {number.replace('_', ' ')}"
                found.append(Total(name, getattr(counts, number), metrics.NSIGHT.get(
                    f"{group}.{number}", "")))  # fmt: skip

    for group, (title, _) in metrics.MEMORY.items():
        add(title, group, "requests", "sectors", "ideal_sectors", "sectors_per_request",
            "bytes_per_sector")  # fmt: skip
    for group, (title, _) in metrics.SHARED.items():
        add(title, group, "requests", "wavefronts", "ideal_wavefronts", "bank_conflicts")
    add("constant loads", "const_loads", "requests", "addresses", "worst")
    add("global atomics", "atomics", "requests", "sectors", "transactions", "worst")
    add("shared atomics", "shared_atomics", "requests", "transactions", "worst")
    add("branches", "branches", "warps", "divergent")
    if report.barriers:
        found.append(Total("barriers, each block counted", report.barriers))
    add("issue slots", "work", "slots", "lanes", "lanes_per_slot")
    if report.work.slots:
        found.append(Total("issue slots: mean of a warp", report.work.slots / report.warps))
        found.append(Total("issue slots: busiest warp", report.busiest_warp))
    for kind, count in sorted(report.operations.items()):
        integer = "integer" if kind.startswith(("int", "uint")) else kind
        # Several integer types share one metric, which then belongs to none of them.
        alone = integer != "integer" or len(report.integer_operations) == 1
        metric = metrics.NSIGHT.get(f"operations.{integer}", "") if alone else ""
        found.append(Total(f"operations: {kind}", count, metric))
    moved = sum(report.unique_sectors.values())
    if moved:
        once = sum(report.unique_sectors_per_block.values())
        found.append(Total("sectors with a perfect cache", moved, metrics.NSIGHT["unique_sectors"]))
        found.append(Total("sectors with a perfect cache for each block", once))
    return found


# -- lines ----------------------------------------------------------------------------------------


def _memory(line: Any) -> str:
    return _requests(line, metrics.MEMORY, "global ")


def _shared(line: Any) -> str:
    return _requests(line, metrics.SHARED, "shared ")


def _requests(line: Any, groups: Mapping[str, tuple[str, str]], space: str) -> str:
    """What a request moves and the fewest it could; by array where the arrays of a line differ."""
    parts = []
    for group, (title, _) in groups.items():
        title = title.replace(space, "")
        shares = {of: _share(one) for of, one in line.arrays.get(group, {}).items()}
        if len(set(shares.values())) > 1:
            parts += [f"{title} of {of} {share}" for of, share in shares.items()]
        elif getattr(line, group).requests:
            parts.append(f"{title} {_share(getattr(line, group))}")
    return ", ".join(parts)


def _share(counts: Any) -> str:
    shared = isinstance(counts, metrics.SharedTraffic)
    each = counts.wavefronts_per_request if shared else counts.sectors_per_request
    return f"{each:.1f} ({counts.fewest_per_request:.1f})"


def _constants(line: Any) -> str:
    c = line.const_loads
    return f"{c.addresses_per_request:.1f} (1.0)" if c.requests else ""


def _atomics(line: Any) -> str:
    parts = [getattr(line, group) for group in metrics.ATOMICS]
    return ", ".join(f"{a.transactions_per_request:.1f}" for a in parts if a.requests)


def _branches(line: Any) -> str:
    b = line.branches
    return f"{b.divergent:,} of {b.warps:,}" if b.warps else ""


def _barriers(line: Any) -> str:
    return f"{line.barriers:,}" if line.barriers else ""


def _lanes(line: Any) -> str:
    return f"{100 * line.work.efficiency:.0f} %" if line.work.slots else ""


def _operations(line: Any) -> str:
    return ", ".join(f"{count:,} {kind}" for kind, count in sorted(line.operations.items()))


#: Heading -> what a line shows there, and how a text ends it; an empty column is left out.
COLUMNS: dict[str, tuple[Callable[[Any], str], str]] = {
    "sectors a request (fewest)": (_memory, " sectors"),
    "wavefronts a request (fewest)": (_shared, " wavefronts"),
    "constants a request (fewest)": (_constants, " constants"),
    "transactions of an atomic": (_atomics, " transactions"),
    "barriers": (_barriers, " barriers"),
    "warps that part": (_branches, " warps part"),
    "active lanes": (_lanes, " of the lanes"),
    "operations": (_operations, ""),
}


def _dims(dims: tuple[int, int, int]) -> str:
    used = [n for k, n in enumerate(dims) if k == 0 or any(m > 1 for m in dims[k:])]
    return str(used[0]) if len(used) == 1 else str(tuple(used))


def _title(report: Any) -> str:
    return f"{report.kernel}[{_dims(report.grid)}, {_dims(report.block)}]"


def _advice(report: Any) -> list[str]:
    """Sentences below the source: the worst line, then the notes."""
    said = []
    if report.worst is not None:
        line, why = report.worst
        where = f"line {line.number}"
        if line.function != report.kernel:
            where += f" of {line.function}"
        said.append(f"Look at {where}: {why}.")
    return said + [note.text for note in report.notes]


def _measured(report: Any) -> list[str]:
    """Sentences on a GPU's time, and on what it could not say."""
    return [str(said) for said in (report.measured, report.not_measured) if said]


def _theirs(report: Any, total: Total) -> str:
    """Nsight Compute's own number for the same thing, if it was asked."""
    found = report.by_ncu.get(total.metric)
    return "" if found is None else f"{found:,.2f}".removesuffix(".00")


# -- text -----------------------------------------------------------------------------------------


def text(report: Any) -> str:
    """The report for a terminal."""
    return "\n".join(line.rstrip() for line in _text(report))


def _text(report: Any) -> Iterable[str]:
    yield f"{_title(report)}   ({report.label}; per request of a warp, the fewest in brackets)"
    worst = report.worst[0] if report.worst else None
    width = max(len(line.text) for line in report.lines)
    function = report.kernel
    for line in report.lines:
        if line.function != function:
            function = line.function
            yield f"  device function {function}"
        cells = [(cell(line), unit) for cell, unit in COLUMNS.values()]
        facts = ", ".join(f"{fact}{unit}" for fact, unit in cells if fact)
        mark = "> " if line is worst else "  "
        yield f"{mark}{line.number:4}  {line.text:{width}}  {facts}"
    yield from (f"  {said}" for said in [*_advice(report), *_measured(report)])
    found = totals(report)
    names, values = (max([len(getattr(t, k)) for t in found] + [0]) for k in ("name", "written"))
    theirs = max(len(text) for text in ["by ncu", *(_theirs(report, total) for total in found)])
    by_ncu = f"{'by ncu':>{theirs}}  " if report.by_ncu else ""
    yield f"  {'all blocks':{names}}  {'':{values}}  {by_ncu}in Nsight Compute"
    for total in found:
        other = f"{_theirs(report, total):>{theirs}}  " if report.by_ncu else ""
        yield f"  {total.name:{names}}  {total.written:>{values}}  {other}{total.metric}"
    yield f"  {NOTE}"


# -- HTML -----------------------------------------------------------------------------------------

_CELL = "padding:1px 10px 1px 0;border:none;background:none;text-align:{};vertical-align:baseline;"
_TABLE = "border-collapse:collapse;margin:4px 0;width:auto;"
_WORST = "background:rgba(240,150,20,.28);"  # on white and on dark alike
_QUIET = "opacity:.65;"
_WHOLE = "white-space:nowrap;"


def _cell(content: str, side: str = "left", style: str = "", tag: str = "td") -> str:
    return f"<{tag} style='{_CELL.format(side)}{style}'>{content}</{tag}>"


def _code(content: str) -> str:
    style = "white-space:pre;background:none;color:inherit"
    return f"<code style='{style}'>{escape(content)}</code>"


def _parts(content: str) -> str:
    return escape(content).replace(", ", "<br>")


def html(report: Any) -> str:
    """The report for a notebook."""
    used = {
        title: cell
        for title, (cell, _) in COLUMNS.items()
        if any(cell(line) for line in report.lines)
    }
    worst = report.worst[0] if report.worst else None
    head = _cell("line", "right", _QUIET, "th") + _cell("source", "left", _QUIET, "th")
    head += "".join(_cell(escape(title), "left", _QUIET, "th") for title in used)
    body = [f"<tr style='background:none'>{head}</tr>"]
    function = report.kernel
    for line in report.lines:
        if line.function != function:
            function = line.function
            name = f"device function {escape(function)}"
            body.append(f"<tr style='background:none'>{_cell('')}{_cell(name, style=_QUIET)}</tr>")
        mark = "▶ " if line is worst else ""
        row = _cell(f"{mark}{line.number}", "right", _WHOLE if mark else _WHOLE + _QUIET)
        row += _cell(_code(line.text), style="white-space:pre;")
        row += "".join(_cell(_parts(cell(line)), style=_WHOLE) for cell in used.values())
        body.append(f"<tr style='{_WORST if mark else 'background:none'}'>{row}</tr>")
    said = "".join(
        f"<p style='margin:.3em 0;white-space:pre-wrap'>{escape(s)}</p>"
        for s in [*_advice(report), *_measured(report)]
    )
    sums = "".join(
        f"<tr style='background:none'>{_cell(escape(t.name))}{_cell(t.written, 'right')}"
        f"{_cell(_theirs(report, t), 'right') if report.by_ncu else ''}"
        f"{_cell(_code(t.metric))}</tr>"
        for t in totals(report)
    )
    heads = ("all blocks", "", *(("by ncu",) if report.by_ncu else ()), "in Nsight Compute")
    names = "".join(_cell(s, "left", _QUIET, "th") for s in heads)
    return (
        f"<div style='overflow-x:auto'><b>{escape(_title(report))}</b> "
        f"<span style='{_QUIET}'>({escape(report.label)})</span>"
        f"<table style='{_TABLE}'>{''.join(body)}</table>{said}"
        f"<details><summary>All numbers, with Nsight Compute's names</summary>"
        f"<table style='{_TABLE}'><tr style='background:none'>{names}</tr>{sums}</table>"
        f"<p style='{_QUIET}'>{NOTE}</p></details></div>"
    )
