"""A host program on one GPU as a trace: the calls of the host, and what its streams do.

The times are those of warpwise.hardware.timeline.  A call of the host is called as CUDA's runtime
calls it; an operation of a stream, as torch.profiler calls it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..hardware import Op, timeline
from .trace import STEPS, Row

CALLS = {
    "kernel": "cudaLaunchKernel", "h2d": "cudaMemcpyAsync", "d2h": "cudaMemcpyAsync",
    "sync": "cudaStreamSynchronize",
}  # fmt: skip
COPIES = {
    ("h2d", False): "Memcpy HtoD (Pinned -> Device)",
    ("h2d", True): "Memcpy HtoD (Pageable -> Device)",
    ("d2h", False): "Memcpy DtoH (Device -> Pinned)",
    ("d2h", True): "Memcpy DtoH (Device -> Pageable)",
}


def rows_of(
    steps: Sequence[Sequence[Op]], args: dict[str, dict[str, Any]], launch_us: float,
    sync_us: float,
) -> list[Row]:  # fmt: skip
    """Events of rank 0: lanes "host", "stream N" and the steps.

    steps   operations of each step; the names of all of them differ, what stands behind a "#" is
            not shown
    args    of an operation, by its whole name
    """
    ops = [op for step in steps for op in step]
    line = timeline(ops, "A100", launch_us, sync_us=sync_us)
    spans = {span.op.name: span for span in line.spans}
    rows: list[Row] = []
    starts = []
    calls, now = list(line.calls), 0.0
    for step in steps:
        starts.append(now)
        for op in step:
            waited = bool(calls) and calls[0][2]
            if op.kind == "host":
                span = spans[op.name]
                rows.append(_row(_shown(op), "host", span.start_ms, span.end_ms))
                now = span.end_ms
                continue
            if op.kind != "sync" and waited:  # for the copy before it
                now = _take(rows, calls, "cudaMemcpyAsync")
            if op.kind != "sync" or (calls and calls[0][2]):
                now = _take(rows, calls, CALLS[op.kind])
            if op.kind != "sync":
                span = spans[op.name]
                name = COPIES.get((op.kind, op.pageable), _shown(op))
                said = args.get(op.name, {})
                rows.append(
                    _row(name, f"stream {op.stream or 7}", span.start_ms, span.end_ms, said)
                )
    end = max(now, line.makespan_ms)
    for left, right in zip(starts, [*starts[1:], end], strict=True):
        rows.append(_row("step", STEPS, left, right))
    return rows


def _take(rows: list[Row], calls: list[tuple[float, float, bool]], name: str) -> float:
    start, end, _ = calls.pop(0)
    rows.append(_row(name, "host", start, end))
    return end


def _row(
    name: str, lane: str, start_ms: float, end_ms: float, args: dict[str, Any] | None = None
) -> Row:
    start, end = round(1000 * start_ms, 3), round(1000 * end_ms, 3)
    return (name, 0, lane, start, round(end - start, 3), args or {})


def _shown(op: Op) -> str:
    return op.name.split("#")[0].strip()
