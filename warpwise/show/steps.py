"""The trace of one block as a table: steps downward, threads across, in each cell the element.

Tables with inline styles only, as in figure.py: a notebook that is not trusted yet shows them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from .figure import WIDTH
from .launching import listened, parts, shared_bytes
from .palette import INK, QUIET, TINTS
from .touch import LABEL, LaunchTouch

STEPS, THREADS = 48, 32  # rows and columns of a picture
LIMIT = STEPS * 1024  # accesses that are recorded: enough for a picture of the largest block

VERBS = {"load": "reads", "store": "writes", "atomic": "updates"}
_FRAMES = {"load": "1px solid", "store": "3px solid", "atomic": "3px double"}
_CELL = "padding: 1px 3px; min-width: 16px; text-align: center; font-size: 12px;"
_HEAD = (
    f"border: none; background: none; padding: 1px 6px; font-weight: 400; color: {QUIET};"
    " font-size: 11px; white-space: nowrap;"
)


@dataclass(frozen=True)
class Step:
    """One access of the source: which thread of the block, by its number, touched which element."""

    line: int
    kind: str
    array: str
    touched: dict[int, str]  # thread -> index as written, e.g. "2,3"

    @property
    def title(self) -> str:
        """For example "line 7 writes s"."""
        return f"line {self.line} {VERBS[self.kind]} {self.array}"


@dataclass(frozen=True)
class Steps:
    """What one block did, step by step; the last line of a cell shows it.

    rows: a Step, or the line of a barrier.  notes: what is not in the picture.
    """

    launch: LaunchTouch
    block: int
    rows: tuple[Step | int, ...]
    notes: tuple[str, ...]

    @property
    def title(self) -> str:
        """The call, and the block where there are several."""
        if self.launch.blocks == 1:
            return self.launch.call
        return f"{self.launch.call}, block {self.launch.block_name(self.block)}"

    @property
    def threads(self) -> range:
        """The threads that have a column."""
        return range(min(self.launch.threads_per_block, THREADS))

    def html(self) -> str:
        """The table as HTML."""
        arrays = list(dict.fromkeys(row.array for row in self.rows if isinstance(row, Step)))
        tints = {name: TINTS[k % len(TINTS)] for k, name in enumerate(arrays)}
        names = "".join(
            f'<th scope="col" style="{_HEAD} text-align: center;">{self.launch.thread_name(t)}</th>'
            for t in self.threads
        )
        body = [_tr(f'<th style="{_HEAD} text-align: right;">thread</th>{names}')]
        for row in self.rows:
            if isinstance(row, int):
                body.append(self._barrier(row))
                continue
            cells = "".join(_cell(row, t, tints[row.array]) for t in self.threads)
            head = f'<th scope="row" style="{_HEAD} text-align: right;">{escape(row.title)}</th>'
            body.append(_tr(head + cells))
        said = "".join(f"<div>{escape(s)}</div>" for s in (*self._keys(), *self.notes))
        return (
            f'<figure style="margin: 4px 0;"><div><b>{escape(self.title)}</b>, step by step</div>'
            '<table cellspacing="2" style="border-collapse: separate; border-spacing: 2px;'
            f' margin: 4px 0; width: auto;">{"".join(body)}</table>'
            f'<div style="font-size: 90%; color: {QUIET};">{said}<div>({LABEL})</div></div>'
            "</figure>"
        )

    def _barrier(self, line: int) -> str:
        rule = f"border: none; border-top: 2px dashed {QUIET}; height: 2px; padding: 0;"
        head = f'<th scope="row" style="{_HEAD} text-align: right;">line {line}: barrier</th>'
        return _tr(f'{head}<td colspan="{len(self.threads)}" style="{rule}"></td>')

    def _keys(self) -> list[str]:
        kinds = {row.kind for row in self.rows if isinstance(row, Step)}
        signs = [("load", "thin frame: read"), ("store", "thick frame: written"),
                 ("atomic", "double frame: an atomic operation")]  # fmt: skip
        said = "; ".join(text for kind, text in signs if kind in kinds)
        return [f"In a cell: the index of the element. {said.capitalize()}."] if said else []

    def __str__(self) -> str:
        heads = [f"line {r}: barrier" if isinstance(r, int) else r.title for r in self.rows]
        left = max([len(head) for head in [*heads, "thread"]])
        cells = [[row.touched.get(t, "") for t in self.threads] if isinstance(row, Step) else []
                 for row in self.rows]  # fmt: skip
        names = [self.launch.thread_name(t) for t in self.threads]
        width = max([len(c) for row in [*cells, names] for c in row])
        lines = [f"{self.title}, step by step"]
        for head, row in zip(["thread", *heads], [names, *cells], strict=True):
            if not row:
                row = ["-" * width] * len(names)
            lines.append(f"  {head:>{left}}  {' '.join(c.rjust(width) for c in row)}".rstrip())
        for said in self.notes:
            lines += textwrap.wrap(said, WIDTH, initial_indent="  ", subsequent_indent="  ")
        return "\n".join([*lines, f"  ({LABEL})"])

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self.html()}


def show_steps(
    launch: Any, *args: Any, array: str | Sequence[str] | None = None, block: Any = 0
) -> Steps:
    """What each thread of a block touched, step by step: `show_steps(reverse[2, 8], out, x)`.

    It runs the kernel in the simulator on copies of `args`.  array: only one name, or several.
    block: its number in the launch, or (x, y, z).  Raises what the launch itself would raise.
    """
    from warpwise.observe import Trace

    kernel, grid, dims = parts(launch)
    trace = Trace(LIMIT, block=block, arrays=array)
    listened(kernel, grid, dims, args, trace, shared_bytes(launch))
    about = LaunchTouch.of(kernel, grid, dims)
    number = about.block_number(block)
    rows = list(_rows(trace, about))
    notes = []
    steps = trace.steps + len(trace.barriers)
    if steps > STEPS:
        notes.append(f"The first {STEPS} of {steps} steps are shown; choose an array to see more "
                     "of it: array='out'.")  # fmt: skip
    if about.threads_per_block > THREADS:
        notes.append(f"The first {THREADS} of {about.threads_per_block} threads are shown.")
    return Steps(about, number, tuple(rows[:STEPS]), tuple(notes))


def _rows(trace: Any, launch: LaunchTouch) -> Iterable[Step | int]:
    """The steps of a trace, with the barriers between them."""
    barriers = list(trace.barriers)
    steps: dict[int, Step] = {}
    for event in trace.events:
        step = steps.setdefault(event.step, Step(event.line, event.kind, event.array, {}))
        step.touched[launch.thread_number(event.thread)] = ",".join(map(str, event.index))
    for number, step in steps.items():
        while barriers and barriers[0][0] < number:
            yield barriers.pop(0)[1]
        yield step
    yield from (line for _, line in barriers)


def _tr(cells: str) -> str:
    return f'<tr style="background: none;">{cells}</tr>'


def _cell(step: Step, thread: int, tint: str) -> str:
    index = step.touched.get(thread)
    if index is None:
        return f'<td style="{_CELL} border: 1px dotted {QUIET}; background: none;"></td>'
    style = f"border: {_FRAMES[step.kind]} {QUIET}; background: {tint}; color: {INK};"
    return f'<td style="{_CELL} {style}">{index}</td>'
