"""The bank map: which words of shared memory one access of one warp asks for, under their banks.

A row holds the 32 words that lie side by side, one in each bank; a cell names the lanes that ask
for its word.  Two cells in one column are a conflict.

Tables with inline styles only, as in figure.py: a notebook that is not trusted yet shows them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from .dial import Bundle, Dial, Dialled
from .launching import listened, parts, shared_bytes
from .palette import INK, QUIET, TINTS
from .touch import LABEL, LaunchTouch

if TYPE_CHECKING:
    from warpwise.observe.banks import SharedAccess

BANKS = 32
ROWS = 34  # of words; a warp of 4-byte elements touches 32 at most
ACCESSES = 64  # of one warp; the dial has as many stops

_CELL = "padding: 0 2px; min-width: 17px; height: 17px; text-align: center; font-size: 10px;"
_HEAD = (
    f"border: none; background: none; padding: 0 3px; font-weight: 400; color: {QUIET};"
    " font-size: 10px; white-space: nowrap;"
)
_FREE, _CROWDED = TINTS[0], TINTS[3]


@dataclass(frozen=True)
class BankMap:
    """A bank map; the last line of a cell shows it."""

    call: str
    where: str  # "warp 0 of block 0"
    access: SharedAccess

    @property
    def rows(self) -> list[int]:
        """First word of each row that is shown."""
        return sorted({word // BANKS * BANKS for word in self.access.words})[:ROWS]

    @property
    def said(self) -> list[str]:
        """Sentences below the map."""
        lines = []
        parts = BANKS // self.access.together
        if parts > 1:
            lines.append(
                f"An element has {self.access.width} words, so the warp goes in {parts} parts of "
                f"{self.access.together} lanes; only lanes of one part can be in conflict."
            )
        left_out = len({word // BANKS for word in self.access.words}) - ROWS
        if left_out > 0:
            lines.append(f"{left_out} more rows of words are not shown.")
        return lines

    @property
    def verdict(self) -> str:
        """The count in words."""
        access, worst = self.access, max(self.access.ways)
        many = "1 wavefront" if access.wavefronts == 1 else f"{access.wavefronts} wavefronts"
        if access.wavefronts == access.ideal:
            return f"{many}: no conflict"
        return f"{many} where {access.ideal} would do: a {worst}-way conflict"

    def __str__(self) -> str:
        words, ways = self.access.words, self.access.ways
        rows = [(f"word {row}", [_names(words.get(row + b)) for b in range(BANKS)])
                for row in self.rows]  # fmt: skip
        heads = [("bank", [str(b) for b in range(BANKS)]), *rows,
                 ("words", [str(n) if n else "" for n in ways])]  # fmt: skip
        left = max(len(head) for head, _ in heads)
        wide = max(len(cell) for _, cells in heads for cell in cells)
        lines = [f"{self.call}, {self.where}: {self.access.label}"]
        lines += [
            f"  {head:>{left}} {' '.join((c or '.').rjust(wide) for c in cells)}"
            for head, cells in heads
        ]
        return "\n".join([*lines, f"  {self.verdict}", *(f"  {s}" for s in self.said),
                          f"  ({LABEL})"])  # fmt: skip

    __repr__ = __str__

    def html(self) -> str:
        """The table as HTML."""
        words, ways = self.access.words, self.access.ways
        head = "".join(f'<th scope="col" style="{_HEAD}">{b}</th>' for b in range(BANKS))
        body = [_tr(f'<th style="{_HEAD} text-align: right;">bank</th>{head}')]
        for row in self.rows:
            cells = "".join(_cell(words.get(row + b), ways[b]) for b in range(BANKS))
            body.append(_tr(f'<th scope="row" style="{_HEAD} text-align: right;">word {row}</th>'
                            f"{cells}"))  # fmt: skip
        sums = "".join(
            f'<td style="{_HEAD} text-align: center;'
            f'{" font-weight: 700;" if n > 1 else ""}">{n or ""}</td>'
            for n in ways
        )
        body.append(_tr(f'<th scope="row" style="{_HEAD} text-align: right;">words</th>{sums}'))
        key = (
            "In a cell: the lanes that ask for this word. Thick frame: other words of its bank are "
            "asked for, too. Below: how many words a bank has to give."
        )
        said = "".join(f"<div>{escape(s)}</div>" for s in (key, *self.said, f"({LABEL})"))
        return (
            f'<figure style="margin: 4px 0;"><div><b>{escape(self.call)}</b>, '
            f"{escape(self.where)}: {escape(self.access.label)}</div>"
            f"<div><b>{escape(self.verdict)}</b></div>"
            '<div style="overflow-x: auto;"><table cellspacing="1" style="border-collapse: '
            f'separate; border-spacing: 1px; margin: 4px 0; width: auto;">{"".join(body)}</table>'
            f'</div><div style="font-size: 90%; color: {QUIET};">{said}</div></figure>'
        )

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Bundle:
        return {"text/plain": str(self), "text/html": self.html()}


def show_banks(
    launch: Any, *args: Any, array: str | None = None, kind: str | None = None, block: Any = 0,
    warp: int = 0, dials: Mapping[str, Sequence[Any]] | None = None,
) -> BankMap | Dialled:  # fmt: skip
    """Which words of which banks a warp asks for: `show_banks(column[1, 32], out, x)`.

    It runs the kernel in the simulator on copies of `args`.  Where the warp makes several accesses
    a dial chooses one; it starts at the one with the most conflicts.  array: only that one.  kind:
    only "load" or "store".  block: its number in the launch, or (x, y, z).  warp: its number in the
    block.
    dials: parameter of the kernel -> the values of a further dial: `dials={"stride": range(34)}`.
    Raises what the launch itself would raise, and ValueError where nothing can be shown.
    """
    kernel, grid, dims = parts(launch)
    about = LaunchTouch.of(kernel, grid, dims)
    number = about.block_number(block)
    about.check_warp(warp)
    where = f"warp {warp} of block ({about.block_name(number)})"
    if about.blocks == 1:
        where = f"warp {warp}"
    turned = dict(dials or {})
    for name in turned:
        if name not in kernel.parameters:
            known = ", ".join(kernel.parameters)
            raise ValueError(f"{kernel.name} has no parameter {name!r}; it has {known}.")

    def accesses(settings: Mapping[str, Any]) -> list[SharedAccess]:
        given = [settings.get(p, a) for p, a in zip(kernel.parameters, args, strict=True)]
        return _seen(kernel, grid, dims, given, (number, warp, array, kind), shared_bytes(launch))

    def named(settings: Mapping[str, Any]) -> str:
        if not settings:
            return about.call
        return f"{about.call} with {', '.join(f'{k} = {v}' for k, v in settings.items())}"

    start = {name: args[kernel.parameters.index(name)] for name in turned}
    found = accesses(start)
    if not found:
        what = f"{array!r}, an array in shared memory" if array else "shared memory"
        raise ValueError(f"{where} of {kernel.name} never reads or writes {what}.")
    worst = max(found, key=lambda one: one.wavefronts - one.ideal)
    labels = [one.label for one in found]

    def draw(access: str = worst.label, **settings: Any) -> Bundle:
        now = accesses(settings)
        chosen = next((one for one in now if one.label == access), now[0] if now else worst)
        return BankMap(named(settings), where, chosen)._repr_mimebundle_()

    stops = [Dial(name, tuple(values), start[name]) for name, values in turned.items()]
    if len(labels) > 1:
        stops.append(Dial("access", tuple(labels), worst.label))
    return Dialled(stops, draw) if stops else BankMap(named({}), where, worst)


def _seen(
    kernel: Any,
    grid: Any,
    dims: Any,
    args: Sequence[Any],
    which: tuple[int, int, Any, Any],
    dynamic: int,
) -> list[SharedAccess]:
    from warpwise.observe.banks import WarpInShared

    seen = WarpInShared(*which, ACCESSES)
    listened(kernel, grid, dims, args, seen, dynamic)
    return seen.accesses


def _names(lanes: Sequence[int] | None) -> str:
    """The lanes of a cell: "5", "0,1", "0-7", "all", or "x8" for eight that do not lie in a row."""
    if not lanes:
        return ""
    if len(lanes) == BANKS:
        return "all"
    if len(lanes) <= 2:
        return ",".join(map(str, lanes))
    row = lanes[-1] - lanes[0] == len(lanes) - 1
    return f"{lanes[0]}-{lanes[-1]}" if row else f"x{len(lanes)}"


def _tr(cells: str) -> str:
    return f'<tr style="background: none;">{cells}</tr>'


def _cell(lanes: Sequence[int] | None, ways: int) -> str:
    if not lanes:
        return f'<td style="{_CELL} border: 1px dotted {QUIET}; background: none;"></td>'
    frame, tint = ("2px solid", _CROWDED) if ways > 1 else ("1px solid", _FREE)
    style = f"border: {frame} {QUIET}; background: {tint}; color: {INK};"
    return f'<td style="{_CELL} {style}">{_names(lanes)}</td>'
