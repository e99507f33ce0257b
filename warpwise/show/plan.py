"""A training plan as bars, memory against the GPU's and time by what it is spent on, with dials."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from html import escape
from typing import Any

from ..planner import Cluster, Estimate, Model, Plan, PlanError, estimate
from ..planner.activations import RECOMPUTE
from .dial import Bundle, Dial, Dialled
from .palette import INK, QUIET, TINTS

_WIDTH = 560
_POWERS = tuple(2**n for n in range(12))
GIB = 2**30


class PlanPicture:
    """Text for a terminal, bars for a notebook."""

    def __init__(self, made: Estimate) -> None:
        self.made = made

    def __str__(self) -> str:
        return str(self.made)

    __repr__ = __str__

    def bundle(self) -> Bundle:
        """The picture as MIME types."""
        return {"text/plain": str(self), "text/html": _html(self.made)}

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Bundle:
        return self.bundle()


def show_plan(made: Estimate) -> PlanPicture:
    """An estimate as two rows of bars."""
    return PlanPicture(made)


def turn_plan(model: Model, cluster: Cluster, start: Plan) -> Dialled:
    """The same with dials for tp, pp, the microbatch, recomputation and the ZeRO stage.

    Data parallel ranks are what the other two leave; sequence parallelism goes with tp.
    """

    def draw(tp: int, pp: int, microbatch: int, recompute: str, zero: int) -> Bundle:
        dp = max(1, cluster.gpus // (tp * pp * start.cp))
        plan = replace(start, tp=tp, pp=pp, dp=dp, microbatch=microbatch, recompute=recompute,
                       zero=zero, sequence_parallel=tp > 1)  # fmt: skip
        try:
            return PlanPicture(estimate(model, cluster, plan)).bundle()
        except PlanError as error:
            lines = "".join(f"<div>{escape(line)}</div>" for line in str(error).splitlines())
            return {"text/plain": str(error), "text/html": lines}

    few = tuple(n for n in _POWERS if n <= cluster.gpus)
    return Dialled(
        [
            Dial("tp", tuple(sorted({*few[:5], start.tp})), start.tp),
            Dial("pp", tuple(sorted({*few, start.pp})), start.pp),
            Dial("microbatch", tuple(sorted({*_POWERS[:6], start.microbatch})), start.microbatch),
            Dial("recompute", RECOMPUTE, start.recompute),
            Dial("zero", (0, 1, 2, 3), start.zero),
        ],
        draw,
    )


def _html(made: Estimate) -> str:
    held, spent = made.memory, made.time
    room = made.cluster.memory
    plan = made.plan
    head = (
        f"<div><b>{made.model.parameters / 1e9:.2f}e9 parameters on {made.cluster.gpus} "
        f"{escape(made.cluster.gpu.name)}</b>: {plan.split}, {plan.microbatches} microbatches</div>"
    )
    memory = (
        f"memory of a GPU: {held.total / GIB:.2f} of {room / GIB:.2f} GiB"
        f"{'' if made.fits else ': <b>does not fit</b>'}"
    )
    step = f"step: {spent.total:.3f} s, MFU {made.mfu():.1%}, HFU {made.hfu():.1%}"
    assumed = "".join(f"<li>{escape(line)}</li>" for line in made.assumptions)
    return (
        f"<div>{head}<div>{memory}</div>{_bars(vars(held), max(room, held.total), GIB, 'GiB')}"
        f"<div>{step}</div>{_bars(vars(spent), spent.total, 1, 's')}"
        f'<details style="font-size: 90%; color: {QUIET};"><summary>'
        f"(modelled) assumptions</summary><ul>{assumed}</ul></details></div>"
    )


def _bars(parts: Mapping[str, float], whole: float, unit: float, name: str) -> str:
    """One bar cut into parts, and a legend with the figure of each."""
    bar, legend = [], []
    for number, (part, value) in enumerate(parts.items()):
        if not value:
            continue
        wide = _WIDTH * value / whole
        word = part if wide > 7 * len(part) else ""
        tint = TINTS[number % len(TINTS)]
        bar.append(
            f'<span title="{part}" style="display: inline-block; height: 18px; overflow: hidden; '
            f"width: {wide:.1f}px; background: {tint}; color: {INK}; "
            f'font-size: 11px; vertical-align: top;">&nbsp;{word}</span>'
        )
        legend.append(
            f'<span style="white-space: nowrap; margin-right: 12px;"><span style="display: '
            f"inline-block; width: 10px; height: 10px; background: {tint}; outline: 1px solid "
            f'{QUIET};"></span> {part} {value / unit:.3g} {name}</span>'
        )
    return (
        f'<div style="width: {_WIDTH}px; outline: 1px solid {QUIET}; white-space: nowrap; '
        f'font-size: 0; margin: 3px 0;">{"".join(bar)}</div>'
        f'<div style="font-size: 90%; margin-bottom: 8px; max-width: {_WIDTH + 160}px;">'
        f"{' '.join(legend)}</div>"
    )
