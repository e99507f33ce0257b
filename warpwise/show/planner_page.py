"""The planner's page: dials for model, cluster and split; below, what the plan holds, takes, costs.

Under the bars stand the neighbours of the plan and the best plans that a search finds, so that each
turn of a dial says what to turn next.  Everything is modelled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from html import escape
from typing import Any

from ..planner import (
    GPUS,
    MODELS,
    Cluster,
    Estimate,
    Model,
    Plan,
    PlanError,
    around,
    best_interval,
    cluster_of,
    estimate,
    filled,
    run_mtbf,
    search,
    useful_share,
)
from ..planner.activations import RECOMPUTE
from .dial import Bundle, Dial, Dialled
from .plan import GIB, PlanPicture
from .tables import Table, table

_POWERS = tuple(2**n for n in range(15))
_DAY = 86_400.0
_HEAD = ("MFU", "step s", "GiB", "fits")
_MOST_CP = 8
SHOWN, NEAR = 6, 10  # rows of plans and of neighbours


@dataclass(frozen=True)
class TrainingRun:
    """What surrounds a step.

    tokens        of the whole run
    part_mtbf_h   hours between failures of one GPU with its share of the machine.  50,677 is what
                  419 interruptions of 16,384 GPUs in 54 days come to (arXiv 2407.21783)
    save_s, restart_s   seconds of a checkpoint and of a restart
    """

    tokens: float = 1e12
    part_mtbf_h: float = 50_677.0
    save_s: float = 30.0
    restart_s: float = 300.0


def planner_page(
    model: str = "Llama 3 70B",
    gpu: str = "H100 SXM",
    gpus: int = 512,
    start: Plan | None = None,
    run: TrainingRun | None = None,
    models: dict[str, Model] | None = None,
) -> Dialled:
    """A plan with all its dials: `planner_page()`, or with a model, GPUs and a plan to start from.

    models: further shapes by name, beside those of `warpwise.planner.MODELS`.
    Data parallel ranks are what the other degrees leave; sequence parallelism goes with tp.
    Raises PlanError for a name that there is not.
    """
    known = {**MODELS, **(models or {})}
    if model not in known:
        raise PlanError(f"no preset {model!r}: there are {', '.join(known)}.")
    cluster_of(gpu, gpus)
    begin = start or Plan(tp=8, pp=2, batch=1024, zero=1, recompute="selective")
    about = run or TrainingRun()

    def draw(**dials: Any) -> Bundle:
        shape, cluster = known[dials["model"]], cluster_of(dials["gpu"], dials["gpus"])
        names = ("tp", "pp", "cp", "ep", "v", "microbatch", "batch", "zero", "recompute")
        plan = replace(begin, **{name: dials[name] for name in names})
        plan = filled(replace(plan, sequence_parallel=plan.tp > 1), cluster)
        trillions = replace(about, tokens=dials["tokens_1e12"] * 1e12)
        return page(shape, cluster, plan, trillions)

    few = tuple(n for n in _POWERS if n <= 8192)
    return Dialled(
        [
            Dial("model", tuple(known), model),
            Dial("gpu", tuple(GPUS), gpu),
            _stops("gpus", _POWERS, gpus),
            _stops("batch", _POWERS, begin.batch),
            _stops("tp", _POWERS[:5], begin.tp),
            _stops("pp", _POWERS[:8], begin.pp),
            _stops("cp", _POWERS[:6], begin.cp),
            _stops("ep", _POWERS[:7], begin.ep),
            _stops("v", (1, 2, 3, 4, 5, 6, 8), begin.v),
            _stops("microbatch", few[:7], begin.microbatch),
            Dial("zero", (0, 1, 2, 3), begin.zero),
            Dial("recompute", RECOMPUTE, begin.recompute),
            _stops("tokens_1e12", (0.1, 0.3, 0.5, 1, 2, 5, 10, 15, 20), about.tokens / 1e12),
        ],
        draw,
    )


def page(model: Model, cluster: Cluster, plan: Plan, run: TrainingRun) -> Bundle:
    """The page of one plan as MIME types; where it cannot run, why, and what could."""
    dense = model.experts == 1
    base = replace(plan, dp=1, tp=1, pp=1, cp=1 if dense else plan.cp, ep=1, microbatch=1,
                   recompute="none", sequence_parallel=False)  # fmt: skip
    best = _best(model, cluster, base)
    varied = "dp, tp, pp, cp" if dense else f"dp, tp, pp, ep; cp {plan.cp}"
    other = _plans(f"best that fit, by search over {varied}", best)
    try:
        made = estimate(model, cluster, plan)
    except PlanError as error:
        lines = "".join(f"<div>{escape(line)}</div>" for line in str(error).splitlines())
        return _joined([(str(error), lines), _of(other)])
    near = sorted(around(model, cluster, plan), key=lambda pair: _order(pair[1], made.fits))
    nearby = _changes(made, near[: NEAR - 2] + near[-2:] if len(near) > NEAR else near)
    picture = PlanPicture(made).bundle()
    return _joined(
        [
            (picture["text/plain"], picture["text/html"]),
            _of(table(("of the run", ""), _costs(made, run), "modelled")),
            _of(nearby),
            _of(other),
        ]
    )


def _order(near: Estimate, fits: bool) -> tuple[bool, float]:
    """What fits first, the fastest first; next to a plan that does not fit, then the smallest."""
    return not near.fits, -near.mfu() if near.fits or fits else near.memory.total


def _costs(made: Estimate, run: TrainingRun) -> list[tuple[str, str]]:
    """Tokens a second, days, failures."""
    speed = made.tokens / made.time.total
    days = run.tokens / speed / _DAY
    mtbf = run_mtbf(run.part_mtbf_h * 3600, made.cluster.gpus)
    often = best_interval(run.save_s, mtbf)
    share = useful_share(often, run.save_s, run.restart_s, mtbf)
    return [
        ("tokens a second", f"{speed:,.0f}, {speed / made.cluster.gpus:,.0f} a GPU"),
        (f"days for {run.tokens / 1e12:g}e12 tokens", f"{days:,.1f} without failures"),
        ("GPU hours", f"{days * 24 * made.cluster.gpus:,.0f}"),
        ("a failure every", f"{mtbf / 3600:,.1f} h, if a GPU fails every {run.part_mtbf_h:,.0f} h"),
        ("checkpoint every", f"{often / 60:,.1f} min, {often / made.time.total:,.0f} steps, "
         f"if one takes {run.save_s:g} s and a restart {run.restart_s:g} s"),
        ("days with failures", f"{days / share:,.1f}: {share:.1%} of the time is useful"),
    ]  # fmt: skip


@lru_cache(maxsize=64)
def _best(model: Model, cluster: Cluster, base: Plan) -> tuple[Estimate, ...]:
    """The best few of a search.  v, ZeRO stage and batch stay; cp or, with experts, ep is varied:
    both together take seconds.
    """
    if model.experts == 1:
        return tuple(search(model, cluster, base, most_cp=_MOST_CP)[:SHOWN])
    return tuple(search(model, cluster, base, most_ep=model.experts)[:SHOWN])


def _changes(made: Estimate, near: Sequence[tuple[str, Estimate]]) -> Table:
    rows = [("as it is", *_figures(made))] + [(said, *_figures(one)) for said, one in near]
    return table(("turn one dial", *_HEAD), rows, "modelled")


def _plans(title: str, found: Sequence[Estimate]) -> Table:
    rows = [
        (f"{one.plan.split}, microbatch {one.plan.microbatch}, recompute {one.plan.recompute}"
         + ("" if one.plan.sequence_parallel or one.plan.tp == 1 else ", sequence whole"),
         *_figures(one))
        for one in found
    ]  # fmt: skip
    return table((title, *_HEAD), rows or [("none fits", "", "", "", "")], "modelled")


def _figures(made: Estimate) -> tuple[str, str, str, str]:
    return (
        f"{made.mfu():.1%}", f"{made.time.total:.3f}", f"{made.memory.total / GIB:.1f}",
        "yes" if made.fits else "no",
    )  # fmt: skip


def _stops(name: str, values: Sequence[Any], start: Any) -> Dial:
    return Dial(name, tuple(sorted({*values, start})), start)


def _of(one: Table) -> tuple[str, str]:
    return str(one), one.html()


def _joined(parts: Sequence[tuple[str, str]]) -> Bundle:
    return {
        "text/plain": "\n\n".join(text for text, _ in parts),
        "text/html": "<div>" + "".join(html for _, html in parts) + "</div>",
    }
