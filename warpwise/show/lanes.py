"""What one warp issues as a table: instructions downward, the 32 lanes across.

Tables with inline styles only, as in figure.py: a notebook that is not trusted yet shows them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

from .launching import listened, parts, shared_bytes
from .palette import QUIET, TINTS
from .touch import LABEL, LaunchTouch

ROWS = 48  # of a picture
_CELL = "padding:0;min-width:13px;height:15px;border:1px"
_HEAD = (
    f"border: none; background: none; padding: 1px 6px; font-weight: 400; color: {QUIET};"
    " font-size: 11px; white-space: nowrap;"
)
_CODE = "border: none; background: none; padding: 1px 6px; font-size: 12px; text-align: left;"
_NUMBER = "border: none; background: none; padding: 1px 6px; font-size: 12px; text-align: right;"
RULER = "".join(str(lane).ljust(8) for lane in range(0, 32, 8)).rstrip()


@dataclass(frozen=True)
class LaneRow:
    """What a warp issues of one line in one go.  slots: instructions; active: 32 flags."""

    text: str
    slots: int
    active: tuple[bool, ...]

    @property
    def lanes(self) -> int:
        """How many lanes are active."""
        return sum(self.active)


@dataclass(frozen=True)
class Lanes:
    """One warp of a launch; the last line of a cell shows it.

    slots: instructions that it issued; lanes_per_slot: active lanes of each, in the mean.
    there: lanes that have a thread; hidden: rows that are not shown.
    """

    title: str
    rows: tuple[LaneRow, ...]
    slots: int
    lanes_per_slot: float
    there: int
    hidden: int = 0

    @property
    def summary(self) -> str:
        """For example "8 issue slots, 20.0 of 32 lanes active in the mean"."""
        return (
            f"{self.slots:,} issue slots, {self.lanes_per_slot:.1f} of 32 lanes active in the mean"
        )

    @property
    def notes(self) -> list[str]:
        """What is not in the picture."""
        said = [f"... and {self.hidden} more rows"] if self.hidden else []
        if self.there == 31:
            said.append("Lane 31 has no thread: the block ends before it.")
        elif self.there < 31:
            said.append(f"Lanes {self.there} to 31 have no thread: the block ends before them.")
        return said

    def __str__(self) -> str:
        left = max([len(row.text) for row in self.rows] + [len("lane")])
        lines = [self.title, f"  {'lane':>{left}}  {RULER.ljust(32)}  slots  active"]
        for row in self.rows:
            signs = "".join("#" if on else "." for on in row.active[: self.there])
            lines.append(f"  {row.text.ljust(left)}  {signs:32}  {row.slots:5}  {row.lanes:6}")
        lines += [f"  {said}" for said in self.notes]
        return "\n".join([*lines, f"  {self.summary}", f"  ({LABEL})"])

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self.html()}

    def html(self) -> str:
        """The table as HTML: a filled cell is an active lane."""
        ruler = "".join(
            f'<th colspan="8" style="{_HEAD} text-align: left; padding: 0;">{lane}</th>'
            for lane in range(0, 32, 8)
        )
        head = (
            f'<th style="{_HEAD} text-align: right;">lane</th>{ruler}'
            f'<th style="{_HEAD}">slots</th><th style="{_HEAD}">active</th>'
        )
        body = "".join(_tr(self._cells(row)) for row in self.rows)
        said = "".join(f"<div>{escape(note)}</div>" for note in [*self.notes, f"({LABEL})"])
        return (
            f'<figure style="margin: 4px 0;"><div><b>{escape(self.title)}</b></div>'
            '<table cellspacing="0" style="border-collapse: collapse; margin: 4px 0; width: auto;">'
            f"{_tr(head)}{body}</table><div>{escape(self.summary)}</div>"
            f'<div style="font-size: 90%; color: {QUIET};">{said}</div></figure>'
        )

    def _cells(self, row: LaneRow) -> str:
        cells = "".join(_cell(on, lane < self.there) for lane, on in enumerate(row.active))
        return (
            f'<td style="{_CODE}"><code style="white-space: pre;">{escape(row.text)}</code></td>'
            f'{cells}<td style="{_NUMBER}">{row.slots}</td><td style="{_NUMBER}">{row.lanes}</td>'
        )


def show_lanes(launch: Any, *args: Any, block: Any = 0, warp: int = 0) -> Lanes:
    """Which lanes of a warp are active, instruction by instruction: `show_lanes(k[1, 64], out, a)`.

    It runs the kernel in the simulator on copies of `args`.  block: its number in the launch, or
    (x, y, z).  warp: its number in the block.  Raises what the launch itself would raise, and
    ValueError for a block or a warp that the launch does not have.
    """
    from warpwise.observe.issue import Issues

    kernel, grid, dims = parts(launch)
    about = LaunchTouch.of(kernel, grid, dims)
    number = about.block_number(block)
    about.check_warp(warp)
    issues = Issues(number, warp)
    finished = listened(kernel, grid, dims, args, issues, shared_bytes(launch))
    rows = tuple(_rows(issues.issues[:ROWS], finished.program.sources, kernel.source))
    of = f"block {about.block_name(number)}, " if about.blocks > 1 else ""
    return Lanes(
        f"{about.call}, {of}warp {warp}", rows, issues.slots,
        issues.lanes / issues.slots if issues.slots else 0.0,
        min(32, about.threads_per_block - 32 * warp),
        max(0, len(issues.issues) - ROWS) + issues.left_out,
    )  # fmt: skip


def _rows(issues: Any, sources: dict[str, Any], own: Any) -> Iterator[LaneRow]:
    """The issues with the text of their lines, without the indentation that all share."""
    written = {own.name: own, **sources}
    texts = {name: (source.text.splitlines(), source.first_line)
             for name, source in written.items()}  # fmt: skip
    lines = []
    for one in issues:
        text, first = texts[one.function]
        lines.append(text[one.line - first].rstrip().expandtabs())
    shared = min((len(line) - len(line.lstrip()) for line in lines), default=0)
    for one, line in zip(issues, lines, strict=True):
        yield LaneRow(line[shared:], one.slots, tuple(map(bool, one.active)))


def _tr(cells: str) -> str:
    return f'<tr style="background: none;">{cells}</tr>'


def _cell(active: bool, there: bool) -> str:
    if active:
        return f'<td style="{_CELL} solid {QUIET};background:{TINTS[0]}"></td>'
    return f'<td style="{_CELL} {f"dotted {QUIET}" if there else "none"};background:none"></td>'
