"""Data parallel steps on several GPUs as a trace: backward, and all-reduces of its gradients.

A rank computes on "stream 7" and takes part in all-reduces on "stream 20".  An all-reduce begins on
a rank as soon as its own gradients are there, and ends on all ranks together: until the last one
has come, the others wait inside it, as NCCL's kernels do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..fabric.schedules import Task, run
from .trace import STEPS, Row

ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL"
COMPUTE, NETWORK = "stream 7", "stream 20"


@dataclass(frozen=True)
class Bucket:
    """An all-reduce of `us` for the gradients of so many layers, the last ones first."""

    layers: int
    us: float


def rows_of(
    forward: Sequence[Sequence[float]], backward: Sequence[Sequence[float]],
    buckets: Sequence[Bucket], update_us: float, steps: int,
) -> list[Row]:  # fmt: skip
    """Events of all ranks.  forward, backward: us by rank and layer, in the order they run."""
    ranks = range(len(forward))
    tasks: list[Task] = []
    ends: list[int] = []  # layers whose gradients are there when a bucket begins
    for bucket in buckets:
        ends.append((ends[-1] if ends else 0) + bucket.layers)
    for s in range(steps):
        for rank in ranks:
            last = () if s == 0 else (("update", s - 1, rank),)
            for k, us in enumerate(forward[rank]):
                tasks.append(Task(("forward", s, rank, k), rank, us, last if k == 0 else ()))
            for k, us in enumerate(backward[rank]):
                tasks.append(Task(("backward", s, rank, k), rank, us))
        for b, bucket in enumerate(buckets):
            ready = tuple(("backward", s, rank, ends[b] - 1) for rank in ranks)
            tasks.append(Task(("reduce", s, b), "network", bucket.us, ready))
        for rank in ranks:
            after = (("reduce", s, len(buckets) - 1),)
            tasks.append(Task(("update", s, rank), rank, update_us, after))
    spans = {span.task.name: span for span in run(tasks).spans}
    rows: list[Row] = []
    for s in range(steps):
        begin = spans["forward", s, 0, 0].start
        end = spans["forward", s + 1, 0, 0].start if s + 1 < steps else spans["update", s, 0].end
        rows.append(_row("step", 0, STEPS, begin, end))
        for rank in ranks:
            for kind, layers in (("forward", forward), ("backward", backward)):
                for k in range(len(layers[rank])):
                    span = spans[kind, s, rank, k]
                    layer = k if kind == "forward" else len(layers[rank]) - 1 - k
                    rows.append(_row(
                        f"gemm_{kind}", rank, COMPUTE, span.start, span.end, {"layer": layer}
                    ))  # fmt: skip
            free = 0.0
            for b in range(len(buckets)):
                done = spans["reduce", s, b].end
                start = max(spans["backward", s, rank, ends[b] - 1].end, free)
                rows.append(_row(ALL_REDUCE, rank, NETWORK, start, done))
                free = done
            span = spans["update", s, rank]
            rows.append(_row("adam_update", rank, COMPUTE, span.start, span.end))
    return rows


def _row(
    name: str, rank: int, lane: str, start: float, end: float, args: dict[str, Any] | None = None
) -> Row:
    start, end = round(start, 3), round(end, 3)
    return (name, rank, lane, start, round(end - start, 3), args or {})
