"""What a rank holds by kind, as stacked bars: one bar for each way to share the states of a model.

The numbers are a `State`'s of `warpwise.planner`, or counted ones with the same three names.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .plot import COLOURS, GREY, axes, bundle, legend
from .tables import Table, table

KINDS = ("parameters", "gradients", "optimizer")
GB = 1e9
_LOOK = dict(zip(KINDS, ((COLOURS[0], ""), (COLOURS[1], "//"), (COLOURS[2], "")), strict=True))


class StatesPicture:
    """Bars for a notebook, a table for a terminal."""

    def __init__(self, states: Mapping[str, Any], room: float | None) -> None:
        self.states, self.room = dict(states), room

    def table(self) -> Table:
        """GB by kind, and in all."""
        rows = []
        for name, held in self.states.items():
            parts = [getattr(held, kind) / GB for kind in KINDS]
            over = self.room is not None and sum(parts) * GB > self.room
            cells = [f"{part:.2f}" for part in (*parts, sum(parts))]
            rows.append((name, *cells, *(["no" if over else "yes"] if self.room else [])))
        fits = [f"fits in {self.room / GB:g} GB"] if self.room else []
        labels = {getattr(held, "label", "") for held in self.states.values()} - {""}
        return table(["", *KINDS, "GB in all", *fits], rows, label=", ".join(sorted(labels)))

    def __str__(self) -> str:
        return str(self.table())

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return bundle(self.figure(), str(self))

    def figure(self) -> Any:
        """The matplotlib figure."""
        figure, ax = axes(7.5, 0.7 + 0.42 * len(self.states))
        names = list(self.states)
        starts = [0.0] * len(names)
        for kind in KINDS:
            parts = [getattr(held, kind) / GB for held in self.states.values()]
            colour, hatch = _LOOK[kind]
            ax.barh(names, parts, left=starts, height=0.62, color=colour, hatch=hatch,
                    edgecolor="white", linewidth=0.6, label=kind)  # fmt: skip
            starts = [a + b for a, b in zip(starts, parts, strict=True)]
        for row, total in enumerate(starts):
            ax.annotate(f"{total:.4g}", (total, row), xytext=(4, 0), textcoords="offset points",
                        va="center", color=GREY, fontsize=9)  # fmt: skip
        if self.room is not None:
            ax.axvline(self.room / GB, color=GREY, linestyle=":", linewidth=1.2)
        ax.invert_yaxis()
        ax.set(xlabel="GB of a rank" + (f"; dotted: {self.room / GB:g} GB" if self.room else ""),
               xlim=(0, max([*starts, (self.room or 0) / GB]) * 1.12 or 1.0))  # fmt: skip
        legend(ax)
        return figure


def show_states(states: Mapping[str, Any], room: float | None = None) -> StatesPicture:
    """A bar for each of {name: what a rank holds}, cut by kind; room: bytes of a GPU, a line.

    >>> show_states({f"stage {k}": state(7.5e9, stage=k, ranks=64) for k in range(4)}, room=80e9)
    """
    for name, held in states.items():
        if not all(hasattr(held, kind) for kind in KINDS):
            raise TypeError(f"{name} has no {', '.join(KINDS)}: warpwise.planner.state makes one.")
    if not states:
        raise ValueError("there is nothing to show: give it at least one state.")
    return StatesPicture(states, room)
