"""Unusual but right answers to the lab t2_12_profiling."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from tests.variants import variant
from warpwise.traces import Trace


@variant("device_busy")
def by_counting_up_and_down(spans):
    edges = sorted([(a, 1) for a, _ in spans] + [(a + b, -1) for a, b in spans])
    total, running = 0.0, 0
    for (here, step), (there, _) in pairwise(edges):
        running += step
        total += (there - here) * (running > 0)
    return total


@variant("device_busy")
def on_a_grid_of_nanoseconds(spans):
    nanoseconds = [(round(1000 * a), round(1000 * (a + b))) for a, b in spans]
    busy = np.zeros(max([end for _, end in nanoseconds], default=0), bool)
    for start, end in nanoseconds:
        busy[start:end] = True
    return busy.sum() / 1000


@variant("exposed_us")
def between_all_edges(first, second):
    edges = sorted({t for a, b in [*first, *second] for t in (a, a + b)})
    total = 0.0
    for left, right in pairwise(edges):
        middle = (left + right) / 2
        if any(a < middle < a + b for a, b in first):
            total += 0.0 if any(a < middle < a + b for a, b in second) else right - left
    return total


@variant("name_the_causes")
def from_a_list_of_names():
    names = (
        "sync_in_loop recompute exposed_all_reduce small_kernels data_loader uncoalesced "
        "launch_bound straggler wave_tail pageable_copies"
    )
    return dict(enumerate(names.split(), start=1))


def covered(spans):
    """Time in which one of the spans is there; they come in the order of their start."""
    total, until = 0.0, float("-inf")
    for start, end in spans:
        total += max(0.0, end - max(start, until))
        until = max(until, end)
    return total


@variant("evidence")
def straight_from_the_rows(cause, rows):
    steps = sum(row[2] == "steps" for row in rows)
    compute = [(a, a + b) for _, rank, lane, a, b, _ in rows if (rank, lane) == (0, "stream 7")]
    if cause == "sync_in_loop":
        return sum(row[0] == "cudaStreamSynchronize" for row in rows) / steps
    if cause == "uncoalesced":
        return np.max([a["load sectors"] / a["load requests"] for *_, a in rows if len(a) > 4])
    if cause == "straggler":
        slow = {}
        for _, rank, lane, _, us, _ in rows:
            slow[rank] = slow.get(rank, 0) + us * (lane == "stream 7")
        return float(max(slow, key=slow.get))
    word = "DataLoader" if cause == "data_loader" else "nccl"
    first = [(a, a + b) for name, rank, _, a, b, _ in rows if word in name and rank == 0]
    return (covered(sorted(first + compute)) - covered(sorted(compute))) / steps


@variant("best_step")
def by_the_tools_busy_time(rows):
    kept = [row for row in rows if row[0] not in ("cudaStreamSynchronize", "cudaMemcpyAsync")]
    trace, steps = Trace.from_rows(kept), sum(row[2] == "steps" for row in rows)
    return max(trace.busy_us(lane, r) for r in trace.ranks for lane in trace.lanes) / steps


@variant("diagnose")
def nearest_in_a_few_numbers(traces):
    def said(rows):
        names = [row[0] for row in rows]
        us = sum(row[4] for row in rows if row[2] == "stream 7" and row[1] == 0)
        small = sum(row[4] for row in rows if row[2] == "stream 7" and "gemm" not in row[0])
        waits = [sum(row[4] for row in rows if row[2] == "stream 20" and row[1] == rank)
                 for rank in range(4)]  # fmt: skip
        if any(waits):
            return "straggler" if max(waits) > 1.5 * min(waits) else "exposed_all_reduce"
        if any("Pageable" in name for name in names):
            return "pageable_copies"
        if any(row[5].get("load sectors", 0) > 4 * row[5].get("load requests", 1) for row in rows):
            return "uncoalesced"
        if names.count("cudaStreamSynchronize") > 9:
            return "sync_in_loop"
        if sum(row[4] for row in rows if "DataLoader" in row[0]) > us:
            return "data_loader"
        if any(row[5].get("grid", 0) % 108 and "gemm" in row[0] for row in rows):
            return "wave_tail"
        if names.count("gemm_forward") > names.count("gemm_backward"):
            return "recompute"
        return "small_kernels" if small > 0.4 * us else "launch_bound"

    return tuple(said(rows) for rows in traces)
