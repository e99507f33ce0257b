"""The plans next to a plan: one number of it halved or doubled, one switch turned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from .activations import RECOMPUTE
from .cluster import Cluster
from .model import Model
from .plan import Estimate, Plan, estimate

_SIZES = ("tp", "pp", "cp", "ep", "v", "microbatch")


def around(model: Model, cluster: Cluster, plan: Plan) -> list[tuple[str, Estimate]]:
    """(what is changed, the estimate) of the neighbours that run, best MFU first.

    dp is what the other degrees leave; sequence parallelism goes with tp.
    """
    found = [
        (said, estimate(model, cluster, other))
        for said, other in _neighbours(plan, cluster)
        if not other.faults(model, cluster)
    ]
    return sorted(found, key=lambda pair: -pair[1].mfu())


def filled(plan: Plan, cluster: Cluster) -> Plan:
    """The plan with data parallel ranks on all GPUs that are left; at least one."""
    dp = max(1, cluster.gpus // (plan.tp * plan.pp * plan.cp))
    return replace(plan, dp=dp, sequence_parallel=plan.sequence_parallel and plan.tp > 1)


def _neighbours(plan: Plan, cluster: Cluster) -> Iterator[tuple[str, Plan]]:
    for name in _SIZES:
        here = getattr(plan, name)
        for there in (here // 2, here * 2):
            if there >= 1 and (name != "v" or plan.pp > 1):  # one stage has nothing to interleave
                other = replace(plan, **{name: there})
                if name == "tp":
                    other = replace(other, sequence_parallel=there > 1)
                yield f"{name} {here} -> {there}", filled(other, cluster)
    for stage in range(4):
        if stage != plan.zero:
            yield f"zero {plan.zero} -> {stage}", replace(plan, zero=stage)
    for again in RECOMPUTE:
        if again != plan.recompute:
            yield f"recompute {plan.recompute} -> {again}", replace(plan, recompute=again)
