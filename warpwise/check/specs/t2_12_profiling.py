"""Exercises of t2_12_profiling: what a trace says, in numbers.

span    (start, length) of something that runs, in us
rows    a trace as plain data: (name, rank, lane, start_us, us, args) for each event
a step  times of a whole trace are divided by the number of its steps
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...traces import CAUSES, Trace, example
from ...traces.examples import SHIPPED, SMS
from ..cases import Level
from ..spec import FunctionSpec, ValueSpec
from ..tolerance import Tolerance

UNIT = "t2_12_profiling"

#: Of the traces in a batch, this share has to be named right.
ENOUGH = 0.8
US = Tolerance(1e-6, 0.05)

Spans = Sequence[Sequence[float]]
Rows = Sequence[Sequence[Any]]


# -- intervals ---------------------------------------------------------------------------------


def merged(spans: Spans) -> list[list[float]]:
    """[from, to] of the times in which at least one runs, in order."""
    parts: list[list[float]] = []
    for start, length in sorted(tuple(one) for one in spans):
        if parts and start <= parts[-1][1]:
            parts[-1][1] = max(parts[-1][1], start + length)
        else:
            parts.append([start, start + length])
    return parts


def device_busy(spans: Spans) -> float:
    """us in which at least one of the spans runs."""
    return float(sum(end - start for start, end in merged(spans)))


def with_last_end(spans: Spans) -> float:
    """A suspect: each span sets the end of its part, also one inside a longer one."""
    parts: list[list[float]] = []
    for start, length in sorted(tuple(one) for one in spans):
        if parts and start <= parts[-1][1]:
            parts[-1][1] = start + length
        else:
            parts.append([start, start + length])
    return float(sum(end - start for start, end in parts))


def exposed_us(first: Spans, second: Spans) -> float:
    """us in which one of `first` runs and none of `second`."""
    return device_busy([*first, *second]) - device_busy(second)


def some_spans(rng: np.random.Generator, count: int, apart: float = 60.0) -> tuple[Any, ...]:
    """Spans in no order, some over each other, some inside others; to the nanosecond."""
    starts = rng.integers(0, int(apart * max(count, 1)), count)
    pairs = zip(starts, rng.integers(1, 160, count), strict=True)
    return tuple((round(0.253 * int(a), 3), round(0.253 * int(b), 3)) for a, b in pairs)


def span_lists(rng: np.random.Generator, level: Level) -> Iterator[tuple[Any]]:
    yield (((0.0, 10.0), (5.0, 10.0), (30.0, 5.0)),)
    yield ((),)
    yield (((3.0, 4.0),),)
    yield (((0.0, 100.0), (10.0, 20.0), (40.0, 10.0), (90.0, 20.0)),)
    yield (((20.0, 5.0), (0.0, 10.0), (10.0, 10.0)),)
    for _ in range(5 if level == "student" else 20):
        yield (some_spans(rng, int(rng.integers(2, 30))),)


DEVICE_BUSY = FunctionSpec(
    "device_busy", UNIT, 2, span_lists, device_busy,
    suspects={
        "overlap_counted_twice": lambda spans: float(sum(us for _, us in spans)),
        "gaps_counted": lambda spans: float(
            max((a + b for a, b in spans), default=0) - min((a for a, _ in spans), default=0)
        ),
        "inner_span_ends_it": with_last_end,
    },
    causes={
        "overlap_counted_twice": "Where two streams work at once, the time counts twice.",
        "gaps_counted": "That is from the first start to the last end; the gaps are in it.",
        "inner_span_ends_it": (
            "A span inside a longer one sets the end back; the longer one is still running."
        ),
    },
    hints={
        "wrong_values": (
            "Sort the spans by their start, and walk along them: which of them opens a new part?",
            "One that starts after the end of all before it.  Else the part's end becomes the "
            "larger one of both ends.",
        ),
        "overlap_counted_twice": (
            "Two spans of 10 us that overlap by 5 keep the device busy for how long?",
            "15 us.  Join what overlaps before you add.",
        ),
        "gaps_counted": ("What does the device do in a gap?", "Nothing: leave it out."),
        "inner_span_ends_it": (
            "Which end has a part after a short span inside a long one?",
            "The later one: max(end, start + length).",
        ),
    },
)  # fmt: skip


def span_pairs(rng: np.random.Generator, level: Level) -> Iterator[tuple[Any, Any]]:
    yield ((10.0, 20.0),), ((0.0, 15.0), (25.0, 10.0))
    yield ((0.0, 10.0),), ()
    yield (), ((0.0, 10.0),)
    yield ((5.0, 5.0),), ((0.0, 20.0),)
    yield ((0.0, 10.0), (5.0, 10.0)), ((12.0, 2.0),)
    for _ in range(5 if level == "student" else 20):
        counts = rng.integers(1, 15, size=2)
        yield some_spans(rng, int(counts[0])), some_spans(rng, int(counts[1]))


EXPOSED_US = FunctionSpec(
    "exposed_us", UNIT, 1, span_pairs, exposed_us,
    suspects={
        "nothing_hidden": lambda first, second: device_busy(first),
        "difference_of_sums": lambda first, second: device_busy(first) - device_busy(second),
        "other_way_round": lambda first, second: exposed_us(second, first),
        "hidden_part": lambda first, second: device_busy(first) - exposed_us(first, second),
        "overlap_counted_twice": lambda first, second: sum(
            exposed_us([one], second) for one in first
        ),
    },
    causes={
        "nothing_hidden": "You count all of the first, also what runs under the second.",
        "difference_of_sums": "The two need not overlap: their times cannot be subtracted.",
        "other_way_round": "That is what is left of the second without the first.",
        "hidden_part": "That is the part that is hidden, not the part that shows.",
        "overlap_counted_twice": "Where two of the first overlap, the time counts twice.",
    },
    hints={
        "wrong_values": (
            "How much longer is something running when the first are added to the second?",
            "Busy time of both together, less the busy time of the second alone.",
        ),
    },
)  # fmt: skip


# -- name_the_causes ---------------------------------------------------------------------------

NAME_THE_CAUSES = ValueSpec(
    "name_the_causes", UNIT, 3, lambda: {number: SHIPPED[number][0] for number in sorted(SHIPPED)},
    what="the causes",
    hints={
        "wrong_values": (
            "Look at the trace that the message names: is its device idle, and if so, what does "
            "the host, or another rank, do at that time?  If it is busy, with what?",
            "Idle: calls of the host, waits of the host, the loader, the all-reduce.  Busy: names "
            "that come twice, many elementwise kernels, copies, and the args of the kernels: load "
            "sectors over load requests, grid over 108 multiprocessors.",
        ),
    },
)  # fmt: skip


# -- evidence ----------------------------------------------------------------------------------

ASKED = ("sync_in_loop", "data_loader", "uncoalesced", "exposed_all_reduce", "straggler")


def spans_of(trace: Trace, lane: str, word: str = "", rank: int = 0) -> list[tuple[float, float]]:
    """Spans of the events of a lane that have `word` in their name."""
    return [(one.start_us, one.us) for one in trace.on(lane, rank) if word in one.name]


def evidence(cause: str, rows: Rows) -> float:
    """The number that proves a cause."""
    trace = Trace.from_rows(rows)
    steps = len(trace.steps)
    if cause == "sync_in_loop":
        return len(spans_of(trace, "host", "Synchronize")) / steps
    if cause == "data_loader":
        loading = spans_of(trace, "host", "DataLoader")
        return exposed_us(loading, spans_of(trace, "stream 7")) / steps
    if cause == "uncoalesced":
        return float(max(one.args["load sectors"] / one.args["load requests"]
                         for one in trace.events if "load requests" in one.args))  # fmt: skip
    if cause == "exposed_all_reduce":
        reduced = spans_of(trace, "stream 20")
        return exposed_us(reduced, spans_of(trace, "stream 7")) / steps
    waits = {rank: device_busy(spans_of(trace, "stream 20", "", rank)) for rank in trace.ranks}
    return float(min(waits, key=lambda rank: waits[rank]))


def proofs(rng: np.random.Generator, level: Level) -> Iterator[tuple[str, Any]]:
    for _ in range(1 if level == "student" else 3):
        for cause in ASKED:
            yield cause, example(cause, int(rng.integers(1 << 30))).rows


def _mistake(change: Callable[[str, Trace, float], float]) -> Callable[[str, Rows], float]:
    return lambda cause, rows: change(cause, Trace.from_rows(rows), evidence(cause, rows))


def _of_all_steps(cause: str, trace: Trace, right: float) -> float:
    return right if cause in ("uncoalesced", "straggler") else right * len(trace.steps)


def _hidden_too(cause: str, trace: Trace, right: float) -> float:
    place = {"data_loader": ("host", "DataLoader"), "exposed_all_reduce": ("stream 20", "")}
    if cause not in place:
        return right
    return device_busy(spans_of(trace, *place[cause])) / len(trace.steps)


def _longest_all_reduce(cause: str, trace: Trace, right: float) -> float:
    if cause != "straggler":
        return right
    waits = {rank: device_busy(spans_of(trace, "stream 20", "", rank)) for rank in trace.ranks}
    return float(max(waits, key=lambda rank: waits[rank]))


def _mean_sectors(cause: str, trace: Trace, right: float) -> float:
    if cause != "uncoalesced":
        return right
    known = [one.args for one in trace.events if "load requests" in one.args]
    return sum(one["load sectors"] for one in known) / sum(one["load requests"] for one in known)


EVIDENCE = FunctionSpec(
    "evidence", UNIT, 3, proofs, evidence,
    tolerance=US,
    said=lambda call: f"cause {call[0]!r}, a trace of {len(call[1])} events",
    suspects={
        "of_all_steps": _mistake(_of_all_steps),
        "hidden_part_too": _mistake(_hidden_too),
        "longest_all_reduce": _mistake(_longest_all_reduce),
        "mean_of_all_kernels": _mistake(_mean_sectors),
    },
    causes={
        "of_all_steps": "That is the number of the whole trace; it is asked for one step.",
        "hidden_part_too": (
            "What runs while the device computes is hidden, and costs nothing; the rest counts."
        ),
        "longest_all_reduce": (
            "The ranks with long all-reduces wait in them.  The one they wait for comes last, so "
            "that its own are short."
        ),
        "mean_of_all_kernels": "That is a mean of all kernels; the worst one is asked for.",
    },
    hints={
        "wrong_values": (
            "Which events does the line of this cause in the table name, and on which lane?",
            "trace = Trace.from_rows(rows), trace.on(lane, rank), len(trace.steps); and exposed_us "
            "of spans (one.start_us, one.us).",
        ),
        "of_all_steps": ("How many steps has the trace?", "Divide by len(trace.steps)."),
        "hidden_part_too": (
            "What does stream 7 do at that time?",
            "exposed_us(these spans, the spans of stream 7).",
        ),
        "longest_all_reduce": (
            "Who arrives last at an all-reduce, and how long is he in it?",
            "The straggler, and he is in it for the transfer alone: take the smallest time.",
        ),
        "mean_of_all_kernels": (
            "How many kernels are to blame?",
            "One: compute load sectors over load requests for each, and take the largest.",
        ),
    },
)  # fmt: skip


# -- best_step ---------------------------------------------------------------------------------

_MAY_WAIT = ("cudaStreamSynchronize", "cudaMemcpyAsync")


def best_step(rows: Rows) -> float:
    """us of a step if everything overlapped: those of the lane with most to do."""
    return _best(rows)


def _best(rows: Rows, waits: bool = False, host: bool = True, add: bool = False,
          first: bool = False, steps: bool = True) -> float:  # fmt: skip
    trace = Trace.from_rows(rows)
    work: dict[tuple[int, str], list[tuple[float, float]]] = {}
    for one in trace.events:
        if one.lane == "steps" or (one.name in _MAY_WAIT and not waits):
            continue
        if (one.lane == "host" and not host) or (first and one.rank != trace.ranks[0]):
            continue
        work.setdefault((one.rank, one.lane), []).append((one.start_us, one.us))
    times = [device_busy(spans) for spans in work.values()]
    whole = sum(times) if add else max(times)
    return whole / (len(trace.steps) if steps else 1)


def bounds(rng: np.random.Generator, level: Level) -> Iterator[tuple[Any]]:
    chosen = ("launch_bound", "sync_in_loop", "data_loader", "straggler", "exposed_all_reduce")
    for _ in range(1 if level == "student" else 3):
        for cause in chosen:
            yield (example(cause, int(rng.integers(1 << 30))).rows,)


BEST_STEP = FunctionSpec(
    "best_step", UNIT, 1, bounds, best_step,
    tolerance=US,
    said=lambda call: f"a trace of {len(call[0])} events",
    suspects={
        "waits_counted": lambda rows: _best(rows, waits=True),
        "host_forgotten": lambda rows: _best(rows, host=False),
        "lanes_added": lambda rows: _best(rows, add=True),
        "first_rank_only": lambda rows: _best(rows, first=True),
        "of_all_steps": lambda rows: _best(rows, steps=False),
    },
    causes={
        "waits_counted": "Calls in which the host waits are not its work.",
        "host_forgotten": "The host has work, too: launches and the loader.",
        "lanes_added": "Lanes work at the same time: the busiest decides, not the sum.",
        "first_rank_only": "Another rank has more to do than rank 0.",
        "of_all_steps": "That is the time of all steps together.",
    },
    hints={
        "wrong_values": (
            "Which lane could not be faster even if nobody ever waited?",
            "The busiest: for each rank and lane the time in which it works, without the steps, "
            "cudaStreamSynchronize and cudaMemcpyAsync; the largest, over the number of steps.",
        ),
        "of_all_steps": ("How many steps has the trace?", "Divide by len(trace.steps)."),
    },
)  # fmt: skip


# -- diagnose ----------------------------------------------------------------------------------


def cause_of(rows: Rows) -> str:
    """The cause of one trace, by what no trace of another cause has."""
    trace = Trace.from_rows(rows)
    if len(trace.ranks) > 1:
        times = [device_busy(spans_of(trace, "stream 20", "", rank)) for rank in trace.ranks]
        return "straggler" if min(times) < 0.7 * max(times) else "exposed_all_reduce"
    kernels = [one for one in trace.on("stream 7") if "Memcpy" not in one.name]
    whole = trace.end_us - trace.start_us
    if any("Pageable" in one.name for one in trace.events):
        return "pageable_copies"
    if any(one.args.get("load sectors", 0) > 4 * one.args.get("load requests", 1)
           for one in kernels):  # fmt: skip
        return "uncoalesced"
    if device_busy(spans_of(trace, "stream 7")) < 0.85 * whole:
        loading = device_busy(spans_of(trace, "host", "DataLoader"))
        waiting = device_busy(spans_of(trace, "host", "Synchronize"))
        if loading > 0.4 * whole:
            return "data_loader"
        return "sync_in_loop" if waiting > 0.3 * whole else "launch_bound"
    if any(one.args["blocks an SM"] == 1 and one.args["grid"] % SMS for one in kernels):
        return "wave_tail"
    forward = sum("forward" in one.name for one in kernels)
    if forward > 1.5 * sum("backward" in one.name for one in kernels):
        return "recompute"
    return "small_kernels"


def diagnose(traces: Sequence[Rows]) -> list[str]:
    """The cause of each trace."""
    return [cause_of(rows) for rows in traces]


def batches(rng: np.random.Generator, level: Level) -> Iterator[tuple[Any]]:
    for _ in range(1 if level == "student" else 2):
        order = rng.permutation(list(CAUSES))
        yield (tuple(example(str(one), int(rng.integers(1 << 30))).rows for one in order),)


def graded(arguments: Sequence[Any], returned: Any) -> tuple[str, str] | None:
    """Whether enough of the traces are named right."""
    want = diagnose(arguments[0])
    if not isinstance(returned, list | tuple) or len(returned) != len(want):
        return "wrong_type", f"a list with {len(want)} names is asked for, one for each trace"
    unknown = [one for one in returned if one not in CAUSES]
    if unknown:
        return "no_such_cause", f"{unknown[0]!r} is none of the ten causes"
    right = sum(a == b for a, b in zip(returned, want, strict=True))
    if right >= ENOUGH * len(want):
        return None
    least = int(np.ceil(ENOUGH * len(want)))
    what = f"{right} of {len(want)} traces are named right, and {least} are asked for"
    if len(set(returned)) == 1:
        return "always_the_same", f"{what}; all are called {returned[0]!r}"
    missed = [b for a, b in zip(returned, want, strict=True) if a != b]
    taken = [a for a, b in zip(returned, want, strict=True) if a != b]
    return "too_few_right", f"{what}; one with {missed[0]!r} is called {taken[0]!r}"


DIAGNOSE = FunctionSpec(
    "diagnose", UNIT, 2, batches, diagnose,
    examine=graded,
    said=lambda call: f"{len(call[0])} traces",
    causes={
        "always_the_same": "One name fits one in ten.",
        "too_few_right": "A rule takes one cause for another.",
        "no_such_cause": "The names are those of the table in exercise 3.",
    },
    hints={
        "wrong_type": (
            "What does the function return?",
            "A list: [cause of the first trace, cause of the second, ...].",
        ),
        "no_such_cause": (
            "Is the name spelt as in the table?",
            "print(list(CAUSES)) shows the ten names.",
        ),
        "always_the_same": (
            "Begin with one question: is there more than one rank?",
            "Then: is stream 7 busy for 85 % of the time?  Each answer leaves a few causes.",
        ),
        "too_few_right": (
            "The message names a pair of causes.  Which number is different in the two?",
            "Ask for what only one cause has, and ask first: a pageable copy, more than 4 sectors "
            "a request, a grid that 108 does not divide, forward kernels as many as backward ones "
            "or twice as many.",
        ),
    },
)  # fmt: skip


SPECS = [DEVICE_BUSY, EXPOSED_US, NAME_THE_CAUSES, EVIDENCE, BEST_STEP, DIAGNOSE]
