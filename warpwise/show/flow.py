"""Where the values of a shared array come from: rounds downward, elements across, lines between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from . import plot
from .launching import listened, parts, shared_bytes
from .touch import LABEL, LaunchTouch

ROUNDS, ELEMENTS = 16, 32  # of a picture
LIMIT = 20_000  # accesses that are recorded


@dataclass(frozen=True)
class Flow:
    """One array of one block; the last line of a cell shows it.

    rounds: for each, index -> (value, sources).  shown: how many elements.  notes: what is not.
    """

    title: str
    array: str
    rounds: tuple[dict[int, tuple[Any, tuple[int, ...]]], ...]
    shown: int
    notes: tuple[str, ...] = ()

    @property
    def combined(self) -> tuple[int, ...]:
        """For each round, how many elements were made from more than one."""
        return tuple(sum(len(s) > 1 for _, s in one.values()) for one in self.rounds)

    def rows(self) -> list[list[Any]]:
        """The contents after each round; None where nothing has been stored yet."""
        now: list[Any] = [None] * self.shown
        found = []
        for one in self.rounds:
            now = [one[i][0] if i in one else value for i, value in enumerate(now)]
            found.append(now)
        return found

    def __str__(self) -> str:
        cells = [[number(v) for v in row] for row in self.rows()]
        width = max([len(str(self.shown - 1))] + [len(c) for row in cells for c in row])
        lines = [self.title, "  index    " + " ".join(f"{i:>{width}}" for i in range(self.shown))]
        for k, (row, one) in enumerate(zip(cells, self.rounds, strict=True)):
            lines.append(f"  round {k:2} " + " ".join(c.rjust(width) for c in row))
            said = [f"{i} from {'+'.join(map(str, s))}" for i, (_, s) in one.items()
                    if s and s != (i,)]  # fmt: skip
            if said:
                lines.append(f"{'':11}{', '.join(said)}")
        return "\n".join([*lines, *(f"  {note}" for note in self.notes), f"  ({LABEL})"])

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return plot.bundle(self._figure(), str(self))

    def _figure(self) -> Any:
        rows = self.rows()
        figure, ax = plot.axes(max(4.0, 0.55 * self.shown + 1.6), 0.78 * len(rows) + 0.7)
        for k, (row, one) in enumerate(zip(rows, self.rounds, strict=True)):
            for i, value in enumerate(row):
                new = i in one
                made = new and len(one[i][1]) > 1
                colour = plot.COLOURS[1] if made else plot.COLOURS[0] if new else plot.GREY
                ax.text(
                    i, k, number(value), ha="center", va="center", fontsize=9, color=colour,
                    fontweight="bold" if new else "normal",
                    bbox={"boxstyle": "round,pad=0.25", "facecolor": "none", "edgecolor": colour,
                          "linewidth": 1.6 if made else 0.8, "linestyle": "-" if new else ":"},
                )  # fmt: skip
                for source in one[i][1] if new else ():
                    ax.annotate(
                        "", (i, k - 0.26), (source, k - 0.74),
                        arrowprops={"arrowstyle": "-|>", "color": colour, "linewidth": 1.1,
                                    "shrinkA": 0, "shrinkB": 0},
                    )  # fmt: skip
        ax.set_xlim(-0.6, self.shown - 0.4)
        ax.set_ylim(len(rows) - 0.55, -0.5)
        ax.set_xticks(range(self.shown))
        names = [f"round {k}: {n} made from two" if n else f"round {k}"
                 for k, n in enumerate(self.combined)]  # fmt: skip
        ax.set_yticks(range(len(rows)), names)
        ax.xaxis.tick_top()
        ax.tick_params(length=0, labelsize=8)
        for side in ax.spines.values():
            side.set_visible(False)
        said = ["orange: made from two or more", f"blue: stored; dotted: unchanged ({LABEL})"]
        ax.set_xlabel("\n".join([*said, *self.notes]), fontsize=8, loc="left")
        ax.set_title(self.title, fontsize=10)
        return figure


def show_flow(launch: Any, *args: Any, array: str, block: Any = 0) -> Flow:
    """From which elements each value of a shared array was made: `show_flow(k[1, 8], out, a,
    array="s")`.

    It runs the kernel in the simulator on copies of `args`.  array: a name of one axis that the
    kernel stores to.  block: its number in the launch, or (x, y, z).  Raises ValueError for an
    array that the block does not store to, or of several axes, and what the launch itself would.
    """
    from warpwise.observe.flow import rounds
    from warpwise.observe.trace import Trace

    kernel, grid, dims = parts(launch)
    trace = Trace(LIMIT, block=block, arrays=array)
    listened(kernel, grid, dims, args, trace, shared_bytes(launch))
    if any(len(event.index) > 1 for event in trace.events):
        raise ValueError(f"{array} has several axes; the picture is for arrays of one.")
    found = rounds(trace, array, kernel.source.tree)
    if not found:
        raise ValueError(f"block {block} stores nothing to an array {array!r}.")
    about = LaunchTouch.of(kernel, grid, dims)
    number_of = about.block_number(block)
    where = f", block {about.block_name(number_of)}" if about.blocks > 1 else ""
    size = 1 + max(one.index for stored in found for one in stored)
    notes = [trace.note] if trace.truncated else []
    if size > ELEMENTS:
        notes.append(f"The first {ELEMENTS} of {size} elements are shown.")
    if len(found) > ROUNDS:
        notes.append(f"The first {ROUNDS} of {len(found)} rounds are shown.")
    return Flow(
        f"{array} of {about.call}{where}, round by round", array,
        tuple({one.index: (one.value, one.sources) for one in stored if one.index < ELEMENTS}
              for stored in found[:ROUNDS]),
        min(size, ELEMENTS), tuple(notes),
    )  # fmt: skip


def number(value: Any) -> str:
    """A value in few letters: 4.0 as 4, an element without one as a dot."""
    if value is None:
        return "."
    return f"{value:g}" if isinstance(value, float) else str(value)
