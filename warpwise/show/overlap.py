"""A data parallel step: what the rank computes and what its network carries meanwhile, as bars."""

from __future__ import annotations

from typing import Any

from ..fabric.schedules.overlap import COMPUTE, NETWORK, Step
from ..fabric.schedules.tasks import Span
from .plot import COLOURS, GREY, axes, bundle

_ROWS = (COMPUTE, NETWORK)
# Beginning of a task's name -> colour and hatch: forward, backward, and what travels; attention
# of a block (QKV), and its keys and values on their way (KV).
_LOOK = {
    "F": (COLOURS[5], ""), "B": (COLOURS[0], ""), "AR": (COLOURS[1], "//"),
    "AG": (COLOURS[4], "//"), "RS": (COLOURS[3], "\\\\"), "KV": (COLOURS[4], "//"),
    "QKV": (COLOURS[0], ""),
}  # fmt: skip


class OverlapPicture:
    """Two rows of bars over the same time; what the network does after the last pass is exposed."""

    def __init__(self, step: Step, unit: str) -> None:
        self.step, self.unit = step, unit

    def __str__(self) -> str:
        step = self.step
        rows = [
            f"{step.makespan:.5g} {self.unit} in all: computes {step.compute:.5g}, exposed "
            f"{step.exposed:.5g} of {step.network:.5g} communication   ({step.label})"
        ]
        for row in _ROWS:
            said = [f"{s.task.name} {s.start:.4g} to {s.end:.4g}" for s in step.run.on(row)]
            shown = said if len(said) <= 12 else [*said[:6], "...", *said[-5:]]
            rows.append(f"  {row}: {', '.join(shown)}")
        return "\n".join(rows)

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return bundle(self.figure(), str(self))

    def figure(self) -> Any:
        """The matplotlib figure."""
        figure, ax = axes(8.0, 1.7)
        total = self.step.makespan or 1.0
        for number, row in enumerate(_ROWS):
            for span in self.step.run.on(row):
                self._bar(ax, number, span, total)
        end = max((span.end for span in self.step.run.on(COMPUTE)), default=0.0)
        ax.axvline(end, color=GREY, linestyle=":", linewidth=1)
        ax.set_yticks(range(len(_ROWS)), _ROWS, color=GREY)
        ax.invert_yaxis()
        ax.set(xlabel=f"{self.unit} ({self.step.label}); dotted: the last pass ends",
               xlim=(0, total * 1.02))  # fmt: skip
        return figure

    @staticmethod
    def _bar(ax: Any, row: int, span: Span, total: float) -> None:
        name = str(span.task.name)
        colour, hatch = _LOOK.get(name.rstrip("0123456789").split("-")[0], (GREY, ""))
        length = span.end - span.start
        ax.barh(row, length, left=span.start, height=0.62, color=colour, hatch=hatch,
                edgecolor="white", linewidth=0.6)  # fmt: skip
        if length > 0.013 * len(name) * total:
            ax.text(span.start + length / 2, row, name, ha="center", va="center", fontsize=8,
                    color="white", bbox={"boxstyle": "round,pad=0.1", "lw": 0,
                    "facecolor": "#303030"})  # fmt: skip


def show_overlap(step: Step, unit: str = "ms") -> OverlapPicture:
    """The picture of `ddp(...)` or `fsdp(...)` of `warpwise.fabric.schedules`.

    unit  of the layers' times
    """
    if not isinstance(step, Step):
        raise TypeError(
            "give it what ddp(...) or fsdp(...) of warpwise.fabric.schedules makes of layers."
        )
    return OverlapPicture(step, unit)
