"""The queues of one atomic operation: an element a row, and on it the lanes of the warp that wait.

Tables with inline styles only, as in figure.py: a notebook that is not trusted yet shows them.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any

from .launching import listened, parts, shared_bytes
from .palette import INK, QUIET, TINTS
from .touch import LABEL, LaunchTouch

_BARE = (
    "border: none; background: none; color: inherit; padding: 1px 6px; font-size: 12px;"
    " white-space: nowrap;"
)
_HEAD = f"{_BARE} font-weight: 400; color: {QUIET}; font-size: 11px;"
_LANE = (
    f"display: inline-block; width: 19px; margin: 0 1px 0 0; border: 1px solid {QUIET};"
    f" color: {INK}; font-size: 10px; text-align: center;"
)


@dataclass(frozen=True)
class QueueRow:
    """One element.  group: "sector 0" or "bank 3"; cost: its transactions, where they are its."""

    group: str
    element: str
    lanes: tuple[int, ...]
    cost: int | None


@dataclass(frozen=True)
class LaneQueues:
    """One atomic operation of one warp; the last line of a cell shows it."""

    title: str
    code: str
    rows: tuple[QueueRow, ...]
    longest: int
    transactions: int
    space: str

    @property
    def summary(self) -> str:
        """For example "32 lanes at 5 elements in 3 sectors: 30 transactions"."""
        lanes = sum(len(row.lanes) for row in self.rows)
        kind = self.rows[0].group.partition(" ")[0]
        groups = len({row.group for row in self.rows})
        return (
            f"{_counted(lanes, 'lane')} at {_counted(len(self.rows), 'element')} in "
            f"{_counted(groups, kind)}: {_counted(self.transactions, 'transaction')}"
        )

    def __str__(self) -> str:
        group = max(len(row.group) for row in self.rows)
        element = max(len(row.element) for row in self.rows)
        lines = [self.title, f"  {self.code}"]
        for row, shown in zip(self.rows, _once(self.rows), strict=True):
            cost = "" if row.cost is None else f"  {row.cost:>2}"
            queue = ("#" * len(row.lanes)).ljust(self.longest)
            lines.append(f"  {shown.ljust(group)}  {row.element.ljust(element)}  {queue}{cost}"
                         .rstrip())  # fmt: skip
        return "\n".join([*lines, f"  {self.summary}", f"  ({LABEL})"])

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self.html()}

    def html(self) -> str:
        """The table as HTML: a filled cell is a lane, with its number."""
        body, tint = "", -1
        for row, shown in zip(self.rows, _once(self.rows), strict=True):
            tint += bool(shown)
            colour = TINTS[tint % len(TINTS)]
            lanes = "".join(
                f'<span style="{_LANE} background: {colour};">{lane}</span>' for lane in row.lanes
            )
            cost = "" if row.cost is None else str(row.cost)
            body += (
                f'<tr style="background: none;"><td style="{_BARE} color: {QUIET};'
                f' text-align: left;">{shown}</td>'
                f'<td style="{_BARE} text-align: left;"><code style="background: none;">'
                f"{escape(row.element)}</code></td>"
                f'<td style="{_BARE} text-align: left;">{lanes}</td>'
                f'<td style="{_BARE} text-align: right;">{cost}</td></tr>'
            )
        heads = (("", "left"), ("element", "left"), ("lanes that want it", "left"),
                 ("transactions", "right"))  # fmt: skip
        head = "".join(
            f'<th scope="col" style="{_HEAD} text-align: {side};">{text}</th>'
            for text, side in heads
        )
        return (
            f'<figure style="margin: 4px 0;"><div><b>{escape(self.title)}</b></div>'
            f'<div><code style="background: none;">{escape(self.code)}</code></div>'
            '<table cellspacing="0" style="border-collapse: collapse; margin: 4px 0; width: auto;">'
            f'<tr style="background: none;">{head}</tr>{body}</table>'
            f"<div>{escape(self.summary)}</div>"
            f'<div style="font-size: 90%; color: {QUIET};">({LABEL})</div></figure>'
        )


def show_queues(
    launch: Any, *args: Any, block: Any = 0, warp: int = 0, request: int = 0
) -> LaneQueues:
    """Which lanes of a warp wait for the same element: `show_queues(count[1, 64], counts, x, n)`.

    It runs the kernel in the simulator on copies of `args`.  block: its number in the launch, or
    (x, y, z).  warp: its number in the block.  request: which atomic operation of that warp,
    counted from 0.  In global memory the longest queue of each sector makes its transactions, in
    shared memory the longest of all banks.  Raises what the launch itself would raise, and
    ValueError for a block, a warp or a request that the launch does not have.
    """
    from warpwise.observe.queues import Queues

    kernel, grid, dims = parts(launch)
    about = LaunchTouch.of(kernel, grid, dims)
    number = about.block_number(block)
    about.check_warp(warp)
    seen = Queues(number, warp)
    finished = listened(kernel, grid, dims, args, seen, shared_bytes(launch))
    if not 0 <= request < len(seen.requests):
        made = _counted(len(seen.requests), "atomic operation")
        raise ValueError(f"there is no request {request}: this warp made {made}.")
    one = seen.requests[request]
    sources = {**finished.program.sources, kernel.source.name: kernel.source}
    source = sources[one.function]
    code = source.text.splitlines()[one.line - source.first_line].strip()
    of = f"block {about.block_name(number)}, " if about.blocks > 1 else ""
    return LaneQueues(
        f"{about.call}, {of}warp {warp}, line {one.line}", code, tuple(_rows(one)), one.longest,
        one.transactions, one.space,
    )  # fmt: skip


def _rows(one: Any) -> list[QueueRow]:
    """A row for each element, by sector or bank; the costs stand where they arise."""
    kind = "bank" if one.space == "shared" else "sector"
    ordered = sorted(one.queues, key=lambda queue: queue.place)
    groups = [list(group) for _, group in groupby(ordered, key=lambda queue: queue.place)]
    rows = []
    for group in groups:
        longest = max(group, key=lambda queue: len(queue.lanes))
        for queue in group:
            cost = len(queue.lanes) if kind == "sector" and queue is longest else None
            index = ", ".join(map(str, queue.index))
            element = f"{one.array}[{index}]"
            rows.append(QueueRow(f"{kind} {queue.place}", element, queue.lanes, cost))
    return rows


def _once(rows: tuple[QueueRow, ...]) -> list[str]:
    """The group of each row, where it differs from the row above."""
    above = ["", *(row.group for row in rows[:-1])]
    return [row.group if row.group != before else ""
            for row, before in zip(rows, above, strict=True)]  # fmt: skip


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"
