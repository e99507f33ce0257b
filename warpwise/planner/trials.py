"""A search for the best plan as an exercise: what is searched, and what can be told of a search.

Stands here, not in `check`: a grader's student side has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import index
from typing import Any

from .cluster import Cluster
from .model import Model, PlanError
from .plan import Estimate, Plan, divisors, estimate

Split = tuple[int, int, int, int, int]  # dp, tp, pp, cp, microbatch
PATIENCE = 20  # a search is stopped at that many times the plans there are


@dataclass(frozen=True)
class Problem:
    """A model, a cluster, and a plan whose batch, ZeRO stage and recomputation stay."""

    model: Model
    cluster: Cluster
    base: Plan

    def splits(self) -> Iterator[Split]:
        """All whose degrees make the number of GPUs and whose microbatches make the batch."""
        gpus = self.cluster.gpus
        for tp in divisors(gpus):
            for pp in divisors(gpus // tp):
                for cp in divisors(gpus // tp // pp):
                    dp = gpus // tp // pp // cp
                    if self.base.batch % dp == 0:
                        for microbatch in divisors(self.base.batch // dp):
                            yield dp, tp, pp, cp, microbatch

    def made(self, split: Split) -> Estimate:
        """The estimate of a split; sequence parallelism goes with tp.  Raises PlanError."""
        dp, tp, pp, cp, microbatch = split
        plan = replace(self.base, dp=dp, tp=tp, pp=pp, cp=cp, microbatch=microbatch,
                       sequence_parallel=tp > 1)  # fmt: skip
        return estimate(self.model, self.cluster, plan)


class _Stopped(Exception):
    pass


def tried(answer: Callable[..., Any], args: Sequence[Any]) -> dict[str, Any]:
    """Call `answer(cost, gpus, batch, memory)` on the problem `args[0]`; tell its plan and calls.

    cost(dp, tp, pp, cp, microbatch) is (MFU, bytes of a GPU), or None for what cannot run.
    """
    problem: Problem = args[0]
    allowed = PATIENCE * sum(1 for _ in problem.splits())
    calls = 0

    def cost(dp: int, tp: int, pp: int, cp: int, microbatch: int) -> tuple[float, float] | None:
        nonlocal calls
        calls += 1
        if calls > allowed:
            raise _Stopped
        split = (index(dp), index(tp), index(pp), index(cp), index(microbatch))
        try:
            made = problem.made(split)
        except PlanError:
            return None
        return made.mfu(), made.memory.total

    try:
        plan = answer(cost, problem.cluster.gpus, problem.base.batch, problem.cluster.memory)
    except _Stopped:
        return {"plan": None, "calls": calls, "stopped": True}
    return {"plan": plan, "calls": calls, "stopped": False}
