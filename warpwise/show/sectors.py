"""The sector map: which bytes the lanes of one warp ask for, and which sectors move for them.

Tables with inline styles only, as in figure.py: a notebook that is not trusted yet shows them.

cell   one element of the access; a sector has 32 bytes, so eight cells of float32
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from .dial import Bundle, Dial, Dialled
from .launching import listened, parts, shared_bytes
from .palette import INK, QUIET, TINTS
from .steps import VERBS
from .touch import LABEL, LaunchTouch

LINES = 16  # lines of 128 bytes that a map shows
REQUESTS = 4  # of which maps are drawn
UNUSED = "#c9c9c9"
SECTOR, LINE = 32, 128

_CELL = "padding: 0; width: 17px; height: 18px; text-align: center; font-size: 10px;"
_HEAD = (
    f"border: none; background: none; padding: 0 6px 0 0; font-weight: 400; color: {QUIET};"
    " font-size: 11px; white-space: nowrap; text-align: right;"
)
_GAP = '<td style="border: none; background: none; padding: 0; width: 7px;"></td>'


@dataclass(frozen=True)
class Sectors:
    """Maps of a warp's requests; the last line of a cell shows them.

    requests: what `warpwise.observe.requests` found.  notes: what is not in the picture.
    """

    launch: LaunchTouch
    block: int
    warp: int
    requests: tuple[Any, ...]
    notes: tuple[str, ...]

    @property
    def title(self) -> str:
        """The call, and the warp where there are several."""
        said = self.launch.call
        if self.launch.blocks > 1:
            said += f", block {self.launch.block_name(self.block)}"
        if self.launch.threads_per_block > 32:
            said += f", warp {self.warp}"
        return said

    def html(self) -> str:
        """The maps as HTML."""
        arrays = list(dict.fromkeys(one.array for one in self.requests))
        maps = "".join(
            f"<div>{escape(_sentence(one))}</div>"
            + _table(one, TINTS[arrays.index(one.array) % len(TINTS)])
            for one in self.requests
        )
        said = "".join(f"<div>{escape(s)}</div>" for s in (*self._keys(), *self.notes))
        return (
            f'<figure style="margin: 4px 0;"><div><b>{escape(self.title)}</b></div>{maps}'
            f'<div style="font-size: 90%; color: {QUIET};">{said}<div>({LABEL})</div></div>'
            "</figure>"
        )

    def _keys(self) -> list[str]:
        if not self.requests:
            return []
        return [
            "A number: the lane that asks for this element. Grey: moved, and nobody asks for it. "
            "Dotted: not moved."
        ]

    def __str__(self) -> str:
        lines = [self.title]
        for one in self.requests:
            lines += [f"  {_sentence(one)}", *_text(one)]
        if self.requests:
            lines.append("  number: the lane that asks;  --: moved, nobody asks;  blank: not moved")
        return "\n".join([*lines, *(f"  {said}" for said in self.notes), f"  ({LABEL})"])

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self.html()}


def show_sectors(
    launch: Any, *args: Any, array: str | Sequence[str] | None = None, block: int = 0,
    warp: int = 0, dials: Mapping[str, Sequence[Any]] | None = None,
) -> Sectors | Dialled:  # fmt: skip
    """Which sectors one warp's requests move: `show_sectors(copy[1, 32], out, a)`.

    It runs the kernel in the simulator on copies of `args`.  array: only one name, or several.
    block, warp: their numbers.  dials: parameter of the kernel -> the values its slider stops at,
    such as `dials={"stride": range(1, 33)}`; it starts at the value in `args`.
    Raises what the launch itself would raise, and ValueError for a dial that is no parameter.
    """
    kernel, grid, dims = parts(launch)
    if not dials:
        return _sectors(kernel, grid, dims, shared_bytes(launch), args, array, block, warp)
    names = list(kernel.parameters)
    for name in dials:
        if name not in names:
            raise ValueError(f"{kernel.name} has no parameter {name!r}: {', '.join(names)}.")

    def draw(**settings: Any) -> Bundle:
        turned = [settings.get(name, arg) for name, arg in zip(names, args, strict=True)]
        shown = _sectors(kernel, grid, dims, shared_bytes(launch), turned, array, block, warp)
        return shown._repr_mimebundle_()

    stops = [Dial(name, tuple(stops), args[names.index(name)]) for name, stops in dials.items()]
    return Dialled(stops, draw)


def _sectors(
    kernel: Any, grid: Any, dims: Any, dynamic: int, args: Sequence[Any], array: Any, block: int,
    warp: int,
) -> Sectors:  # fmt: skip
    from warpwise.observe.requests import Requests

    requests = Requests(block, warp, arrays=array)
    listened(kernel, grid, dims, args, requests, dynamic)
    found = len(requests.found) + requests.left_out
    notes = []
    if not found:
        where = "global memory" if array is None else " or ".join([array] if isinstance(
            array, str) else array)  # fmt: skip
        notes.append(f"This warp does not touch {where}.")
    if found > REQUESTS:
        more = "" if array else " Choose an array to see more of it: array='a'."
        notes.append(f"The first {REQUESTS} of {found:,} requests are shown.{more}")
    about = LaunchTouch.of(kernel, grid, dims)
    return Sectors(about, block, warp, tuple(requests.found[:REQUESTS]), tuple(notes))


def _sentence(one: Any) -> str:
    """For example "line 4 reads a: 32 lanes ask for 128 bytes, 5 sectors move 160 bytes: 80 %"."""
    lanes, sectors = len(one.starts), len(one.sectors)
    share = 100 * one.bytes_requested / one.bytes_moved
    percent = f"{share:.0f}" if share == round(share) else f"{share:.1f}"
    asks = "1 lane asks" if lanes == 1 else f"{lanes} lanes ask"
    moves = "1 sector moves" if sectors == 1 else f"{sectors} sectors move"
    return (
        f"line {one.line} {VERBS[one.kind]} {one.array}: {asks} for {one.bytes_requested:,} bytes, "
        f"{moves} {one.bytes_moved:,} bytes: {percent} %"
    )


def _lines(one: Any) -> tuple[list[tuple[int, list[list[str | None]]]], int]:
    """(first byte, four sectors of cells) for each line of 128 bytes, and how many are left out.

    A cell is the name of its lane, "" where it moves for nobody, None where it does not move.
    """
    lanes: dict[int, list[int]] = {}
    for lane, start in one.starts.items():
        lanes.setdefault(start // one.itemsize, []).append(lane)
    moved = set(one.sectors)
    each = max(1, SECTOR // one.itemsize)
    rows = []
    for number in one.lines_128b[:LINES]:
        row: list[list[str | None]] = []
        for sector in range(number * LINE // SECTOR, (number + 1) * LINE // SECTOR):
            cells = range(sector * each, (sector + 1) * each)
            if sector in moved:
                row.append([_name(lanes.get(cell, [])) for cell in cells])
            else:
                row.append([None] * each)
        rows.append((number * LINE, row))
    return rows, max(0, len(one.lines_128b) - LINES)


def _name(lanes: list[int]) -> str:
    return "" if not lanes else str(lanes[0]) if len(lanes) == 1 else f"×{len(lanes)}"


def _more(hidden: int) -> list[str]:
    return [f"... and {hidden} more lines of 128 bytes"] if hidden else []


def _text(one: Any) -> list[str]:
    rows, hidden = _lines(one)
    width = max([2, *(len(cell or "") for _, row in rows for s in row for cell in s)])
    digits = max(5, len(str(rows[-1][0])))
    said = []
    for first, row in rows:
        sectors = (
            " ".join((("-" * 2) if cell == "" else cell or "").rjust(width) for cell in sector)
            for sector in row
        )
        said.append(f"    byte {first:>{digits}} | {' | '.join(sectors)} |")
    return [*said, *(f"    {text}" for text in _more(hidden))]


def _table(one: Any, tint: str) -> str:
    rows, hidden = _lines(one)
    body = "".join(
        f'<tr style="background: none;"><th scope="row" style="{_HEAD}">byte {first:,}</th>'
        + _GAP.join("".join(_cell(cell, tint, one.itemsize) for cell in sector) for sector in row)
        + "</tr>"
        for first, row in rows
    )
    rest = "".join(f'<div style="color: {QUIET};">{text}</div>' for text in _more(hidden))
    return (
        '<table cellspacing="1" style="border-collapse: separate; border-spacing: 1px;'
        f' margin: 2px 0 8px 0; width: auto;">{body}</table>{rest}'
    )


def _cell(name: str | None, tint: str, itemsize: int) -> str:
    # As wide as its bytes, so that sectors have one width whatever the element.
    size = f"{_CELL} min-width: {17 if itemsize >= 4 else 7}px;"
    if name is None:
        return f'<td style="{size} border: 1px dotted {QUIET}; background: none;"></td>'
    paint = tint if name else UNUSED
    size += f" border: 1px solid {paint}; background: {paint}; color: {INK};"
    return f'<td style="{size}">{name}</td>'
