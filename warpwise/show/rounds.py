"""The rounds of a block as a table: rounds downward, threads across, idle threads left blank.

round   what a block does to one array between two barriers
busy    a thread that touches the array in a round

Tables with inline styles only, as in figure.py: a notebook that is not trusted yet shows them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from .dial import Bundle, Dial, Dialled
from .launching import listened, parts, shared_bytes
from .palette import INK, QUIET, TINTS
from .touch import LABEL, LaunchTouch

NAMED = 16  # up to so many threads each cell says what its thread reads
ROWS = 24
LIMIT = 256 * 1024  # accesses that are recorded
WARP = 32
_CELL = "padding: 0; height: 15px; border: 1px"
_HEAD = (
    f"border: none; background: none; padding: 1px 6px; font-weight: 400; color: {QUIET};"
    " font-size: 11px; white-space: nowrap;"
)
_SAID = "border: none; background: none; padding: 1px 8px; font-size: 12px; text-align: left;"


@dataclass(frozen=True)
class Round:
    """One round.  touched: thread -> what it did, such as "0+8" (read both, then wrote)."""

    touched: dict[int, str]

    @property
    def threads(self) -> tuple[int, ...]:
        """The busy threads by their numbers in the block."""
        return tuple(sorted(self.touched))

    @property
    def warps(self) -> tuple[int, ...]:
        """The warps that have a busy thread."""
        return tuple(sorted({thread // WARP for thread in self.touched}))


@dataclass(frozen=True)
class Rounds:
    """What one block did to `array`, round by round; the last line of a cell shows it.

    size: threads of the block.  hidden: rounds that are not shown.  note: what was not recorded.
    """

    title: str
    rounds: tuple[Round, ...]
    size: int
    hidden: int = 0
    note: str = ""

    @property
    def notes(self) -> list[str]:
        """What is not in the picture."""
        said = [f"... and {self.hidden} more rounds"] if self.hidden else []
        return said + ([self.note] if self.note else [])

    def busy(self, row: Round) -> str:
        """For example "8 of 64 threads, 1 of 2 warps"."""
        warps = -(-self.size // WARP)
        of = "warp" if warps == 1 else "warps"
        return f"{len(row.touched)} of {self.size} threads, {len(row.warps)} of {warps} {of}"

    def __str__(self) -> str:
        named = self.size <= NAMED
        wide = max([len(text) for row in self.rounds for text in row.touched.values()] + [2])
        lines = [self.title]
        if named:
            lines.append(" " * 10 + " ".join(str(t).rjust(wide) for t in range(self.size)))
        for number, row in enumerate(self.rounds):
            if named:
                cells = [row.touched.get(t, ".").rjust(wide) for t in range(self.size)]
                body = " ".join(cells)
            else:
                signs = ["#" if t in row.touched else "." for t in range(self.size)]
                body = " ".join("".join(signs[k : k + WARP]) for k in range(0, self.size, WARP))
            lines.append(f"  round {number:<2}{body}  {self.busy(row)}")
        return "\n".join([*lines, *(f"  {said}" for said in self.notes), f"  ({LABEL})"])

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self.html()}

    def html(self) -> str:
        """The table as HTML: a filled cell is a busy thread, a gap stands between two warps."""
        step = 1 if self.size <= NAMED else 8
        marks = "".join(
            f'<th colspan="{min(step, self.size - t)}" style="{_HEAD} padding: 0;'
            f' text-align: {"center" if step == 1 else "left"};">{t}</th>' + self._gap(t + step)
            for t in range(0, self.size, step)
        )
        body = [_tr(f'<th style="{_HEAD} text-align: right;">thread</th>{marks}')]
        for number, row in enumerate(self.rounds):
            cells = "".join(self._cell(row, t) + self._gap(t + 1) for t in range(self.size))
            head = f'<th scope="row" style="{_HEAD} text-align: right;">round {number}</th>'
            body.append(_tr(f'{head}{cells}<td style="{_SAID}">{self.busy(row)}</td>'))
        said = "".join(f"<div>{escape(note)}</div>" for note in [*self.notes, f"({LABEL})"])
        return (
            f'<figure style="margin: 4px 0;"><div><b>{escape(self.title)}</b></div>'
            '<table cellspacing="0" style="border-collapse: collapse; margin: 4px 0; width: auto;">'
            f'{"".join(body)}</table><div style="font-size: 90%; color: {QUIET};">{said}</div>'
            "</figure>"
        )

    def _gap(self, thread: int) -> str:
        """Space before the first thread of a warp."""
        if thread % WARP or thread >= self.size:
            return ""
        return '<td style="border: none; background: none; padding: 0; min-width: 8px;"></td>'

    def _cell(self, row: Round, thread: int) -> str:
        named = self.size <= NAMED
        wide = "min-width: 34px;" if named else f"min-width: {9 if self.size <= 64 else 3}px;"
        text = row.touched.get(thread)
        if text is None:
            return f'<td style="{_CELL} dotted {QUIET}; background: none; {wide}"></td>'
        style = f"{_CELL} solid {QUIET}; background: {TINTS[0]}; color: {INK}; {wide}"
        inside = escape(text) if named else ""
        return f'<td style="{style} font-size: 11px; text-align: center;">{inside}</td>'


def show_rounds(
    launch: Any, *args: Any, array: str, block: Any = 0
) -> Rounds | Dialled:  # fmt: skip
    """Which threads of a block work on `array` between barriers: `show_rounds(k[1, 64], out, x,
    array="s")`.

    It runs the kernel in the simulator on copies of `args`.  launch: may also be several, by name:
    `{"tree": tree[1, 64], "flat": flat[1, 64]}` gives a dial between them.  array: its name in the
    kernel.  block: its number in the launch, or (x, y, z).  Raises what the launch itself would
    raise, and ValueError where the block never touches such an array.
    """
    if not isinstance(launch, Mapping):
        return _drawn(launch, args, array, block)

    def draw(version: str) -> Bundle:
        return _drawn(launch[version], args, array, block)._repr_mimebundle_()

    return Dialled([Dial("version", tuple(launch), next(iter(launch)))], draw)


def _drawn(launch: Any, args: tuple[Any, ...], array: str, block: Any) -> Rounds:
    """The rounds of one launch."""
    from warpwise.observe import Trace

    kernel, grid, dims = parts(launch)
    trace = Trace(LIMIT, block=block, arrays=array)
    listened(kernel, grid, dims, args, trace, shared_bytes(launch))
    about = LaunchTouch.of(kernel, grid, dims)
    number = about.block_number(block)
    found = _rounds(trace, about)
    if not found:
        raise ValueError(f"block {about.block_name(number)} never touches an array {array!r}.")
    of = f", block {about.block_name(number)}" if about.blocks > 1 else ""
    return Rounds(
        f"{about.call}{of}: who works on {array}, round by round", tuple(found[:ROWS]),
        about.threads_per_block, max(0, len(found) - ROWS), trace.note,
    )  # fmt: skip


def _rounds(trace: Any, launch: LaunchTouch) -> list[Round]:
    """The accesses of a trace, parted at its barriers; a round in which nothing happens is none."""
    ends = [step for step, _ in trace.barriers]
    reads: dict[int, dict[int, list[str]]] = {}
    writes: dict[int, dict[int, str]] = {}
    for event in trace.events:
        number = sum(end < event.step for end in ends)
        thread = launch.thread_number(event.thread)
        index = ",".join(map(str, event.index))
        if event.kind == "store":
            writes.setdefault(number, {})[thread] = index
        else:
            reads.setdefault(number, {}).setdefault(thread, []).append(index)
    found = []
    for number in sorted(reads.keys() | writes.keys()):
        loaded, stored = reads.get(number, {}), writes.get(number, {})
        found.append(Round({
            thread: _said(loaded.get(thread, ()), stored.get(thread))
            for thread in sorted(loaded.keys() | stored.keys())
        }))  # fmt: skip
    return found


def _said(reads: Sequence[str], write: str | None) -> str:
    """What a thread did: "0+8" where it read, ">3" where it only wrote."""
    if not reads:
        return f">{write}"
    return "+".join(reads) if len(reads) <= 2 else f"{reads[0]}+..+{reads[-1]}"


def _tr(cells: str) -> str:
    return f'<tr style="background: none;">{cells}</tr>'
