"""Plausible wrong answers to the lab t2_12_profiling."""

from __future__ import annotations

import numpy as np

from tests.impostors import impostor
from warpwise.traces import Trace


def union(spans):
    total, until = 0.0, float("-inf")
    for start, length in sorted(spans):
        total += max(0.0, start + length - max(start, until))
        until = max(until, start + length)
    return total


def left_over(first, second):
    return union([*first, *second]) - union(second)


def spans_of(trace, lane, word="", rank=0):
    return [(one.start_us, one.us) for one in trace.on(lane, rank) if word in one.name]


@impostor("device_busy", diagnosis="overlap_counted_twice")
def added_up(spans):
    return float(sum(length for _, length in spans))


@impostor("device_busy", diagnosis="gaps_counted")
def first_to_last(spans):
    if not spans:
        return 0.0
    return float(max(a + b for a, b in spans) - min(a for a, _ in spans))


@impostor("device_busy", diagnosis="inner_span_ends_it")
def last_end_counts(spans):
    parts = []
    for start, length in sorted(spans):
        if parts and start <= parts[-1][1]:
            parts[-1][1] = start + length
        else:
            parts.append([start, start + length])
    return float(sum(b - a for a, b in parts))


@impostor("device_busy", diagnosis="wrong_values")
def not_sorted(spans):
    total, until = 0.0, float("-inf")
    for start, length in spans:
        total += max(0.0, start + length - max(start, until))
        until = max(until, start + length)
    return total


@impostor("device_busy", diagnosis="wrong_values")
def on_a_grid_of_quarters(spans):
    quarters = [(round(4 * a), round(4 * (a + b))) for a, b in spans]
    busy = np.zeros(max([end for _, end in quarters], default=0), bool)
    for start, end in quarters:
        busy[start:end] = True
    return busy.sum() / 4


@impostor("exposed_us", diagnosis="difference_of_sums")
def busy_times_subtracted(first, second):
    return union(first) - union(second)


@impostor("exposed_us", diagnosis="other_way_round")
def of_the_second(first, second):
    return left_over(second, first)


@impostor("exposed_us", diagnosis="overlap_counted_twice")
def one_at_a_time(first, second):
    return float(sum(left_over([one], second) for one in first))


CAUSES = {
    1: "sync_in_loop", 2: "recompute", 3: "exposed_all_reduce", 4: "small_kernels",
    5: "data_loader", 6: "uncoalesced", 7: "launch_bound", 8: "straggler", 9: "wave_tail",
    10: "pageable_copies",
}  # fmt: skip


@impostor("name_the_causes", diagnosis="wrong_values")
def two_exchanged():
    return {**CAUSES, 3: "straggler", 8: "exposed_all_reduce"}


@impostor("name_the_causes", diagnosis="wrong_values")
def all_launch_bound():
    return dict.fromkeys(range(1, 11), "launch_bound")


def proof(cause, rows, steps=True, hidden=False, last=min, worst=max):
    """Right, or with a mistake."""
    trace = Trace.from_rows(rows)
    many = len(trace.steps) if steps else 1
    if cause == "sync_in_loop":
        return len(spans_of(trace, "host", "Synchronize")) / many
    if cause in ("data_loader", "exposed_all_reduce"):
        lane, word = ("host", "DataLoader") if cause == "data_loader" else ("stream 20", "")
        found = spans_of(trace, lane, word)
        return (union(found) if hidden else left_over(found, spans_of(trace, "stream 7"))) / many
    if cause == "uncoalesced":
        known = [one.args for one in trace.events if "load requests" in one.args]
        return worst(args["load sectors"] / args["load requests"] for args in known)
    return float(last(trace.ranks, key=lambda r: union(spans_of(trace, "stream 20", "", r))))


@impostor("evidence", diagnosis="of_all_steps")
def of_the_whole_trace(cause, rows):
    return proof(cause, rows, steps=False)


@impostor("evidence", diagnosis="hidden_part_too")
def what_is_hidden_counts(cause, rows):
    return proof(cause, rows, hidden=True)


@impostor("evidence", diagnosis="longest_all_reduce")
def who_waits_is_to_blame(cause, rows):
    return proof(cause, rows, last=max)


@impostor("evidence", diagnosis="wrong_values")
def first_kernel_only(cause, rows):
    return proof(cause, rows, worst=next)


def lanes(rows, skip):
    trace, work = Trace.from_rows(rows), {}
    for one in trace.events:
        if one.lane != "steps" and one.name not in skip:
            work.setdefault((one.rank, one.lane), []).append((one.start_us, one.us))
    return trace, {place: union(spans) for place, spans in work.items()}


@impostor("best_step", diagnosis="waits_counted")
def waiting_is_work(rows):
    trace, busy = lanes(rows, ())
    return max(busy.values()) / len(trace.steps)


@impostor("best_step", diagnosis="host_forgotten")
def device_only(rows):
    trace, busy = lanes(rows, ())
    return max(us for (_, lane), us in busy.items() if lane != "host") / len(trace.steps)


@impostor("best_step", diagnosis="first_rank_only")
def rank_zero_stands_for_all(rows):
    trace, busy = lanes(rows, ("cudaStreamSynchronize", "cudaMemcpyAsync"))
    return max(us for (rank, _), us in busy.items() if rank == 0) / len(trace.steps)


@impostor("diagnose", diagnosis="always_the_same")
def always_launch_bound(traces):
    return ["launch_bound"] * len(traces)


@impostor("diagnose", diagnosis="too_few_right")
def idle_or_busy(traces):
    found = []
    for trace in map(Trace.from_rows, traces):
        share = trace.busy_us("stream 7") / (trace.end_us - trace.start_us)
        found.append("sync_in_loop" if share < 0.85 else "recompute")
    return found


@impostor("diagnose", diagnosis="no_such_cause")
def in_other_words(traces):
    return ["the network is slow"] * len(traces)
