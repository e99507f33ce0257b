"""Judging host programs by their calls: values, then order, then time.

host program  a function that copies, launches, records and waits, under `recorded`
bus           1 GB/s, 1,000 bytes a microsecond, so that small arrays take as long as large ones
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..answers import ops_of
from ..hardware import Op, Timeline, TimelineError, races, timeline
from .tolerance import close, for_dtype

Found = tuple[str, str] | None  # diagnosis, what is wrong

CALL_US, BUS_GBS = 1.0, 1.0
MOST_CALLS = 2000  # many times what the largest case needs


def line_of(ops: Sequence[Op], kernel_us: float) -> Timeline:
    """The lab's device: a bus of 1 GB/s, 1 us a call, `kernel_us` for each kernel."""
    timed = [
        replace(op, ms=kernel_us / 1000 if op.kind == "kernel" else None if op.nbytes else 0.0)
        for op in ops
    ]
    return timeline(timed, launch_us=CALL_US, copy_gbs=BUS_GBS)


def read(got: Any) -> tuple[list[Op], list[np.ndarray]] | None:
    """The calls and the arrays of a recording; None for anything else."""
    try:
        if len(got["calls"]) > MOST_CALLS:
            return None
        return ops_of(got["calls"]), [np.asarray(array) for array in got["arrays"]]
    except (TypeError, KeyError, ValueError, IndexError, OverflowError):
        return None


def examine_program(
    got: Any, expected: Sequence[tuple[str, int, np.ndarray]], sent: int, kernels: int,
    kernel_us: float, limit_us: float | None, most_streams: int,
) -> Found:  # fmt: skip
    """Values, then order, then time: the first thing that is wrong with a recorded program.

    expected: (name, number among the arrays it was given, values).  sent: bytes that have to go to
    the device.  limit_us: None where time is not judged.
    """
    recording = read(got)
    shapes = [(number, want.shape) for _, number, want in expected]
    if recording is None or any(
        number >= len(recording[1]) or recording[1][number].shape != shape
        for number, shape in shapes
    ):
        return "not_recorded", "the function gave something else than a recording of its calls"
    ops, arrays = recording
    launches = sum(op.kind == "kernel" for op in ops)
    if launches < kernels:
        return "no_launches", f"kernels launched: {launches}; needed: {kernels}"
    for name, number, want in expected:
        right = close(arrays[number], want, for_dtype(arrays[number].dtype))
        if not right.all():
            k = int(np.flatnonzero(~right)[0])
            return "wrong_values", (f"{name}[{k}] is {arrays[number][k]:g}, expected {want[k]:g}")
    came = sum(4 * want.size for _, _, want in expected)
    moved = {kind: sum(op.nbytes for op in ops if op.kind == kind) for kind in ("h2d", "d2h")}
    if moved["h2d"] < sent or moved["d2h"] < came:
        return "on_the_host", (
            f"it copied {moved['h2d']:,} bytes to the device and {moved['d2h']:,} back; the data "
            f"are {sent:,} and {came:,}"
        )
    try:
        found = races(ops)
    except TimelineError as error:
        return "event_not_recorded", str(error)
    if found:
        slug = "race" if found[0].second else "read_too_early"
        return slug, str(found[0])
    streams = {op.stream for op in ops if op.kind in ("h2d", "kernel", "d2h")}
    took_us = line_of(ops, kernel_us).makespan_ms * 1000
    if limit_us is None:
        return None
    if took_us > limit_us + 1e-6:
        said = f"right and ordered, but {took_us:.0f} us (modelled); at most {limit_us:.0f}"
        spare = moved["h2d"] > sent or moved["d2h"] > came
        return _why_slow(ops, streams, spare), said
    if len(streams) > most_streams:
        return "too_many_streams", f"it uses {len(streams)} streams; {most_streams} are enough"
    return None


def _why_slow(ops: Sequence[Op], streams: set[int], spare: bool) -> str:
    """spare: more is copied than the data."""
    copies = [op for op in ops if op.kind in ("h2d", "d2h")]
    launches = sum(op.kind == "kernel" for op in ops)
    if streams == {0} and len(copies) > 2 * launches:
        return "copied_at_each_launch"
    if spare:
        return "copied_too_much"
    if 0 in streams:
        return "default_stream"
    if any(op.pageable for op in copies):
        return "pageable"
    if len(streams) == 1:
        return "one_stream"
    syncs = [k for k, op in enumerate(ops) if op.kind == "sync"]
    work = [k for k, op in enumerate(ops) if op.kind in ("h2d", "kernel")]
    return "host_waits" if syncs and work and syncs[0] < work[-1] else "too_slow"


PROGRAM_CAUSES = {
    "not_recorded": "The line @recorded above the function belongs there; it writes the calls "
    "down.",
    "no_launches": "A kernel of the program is not launched, or not for every part.",
    "on_the_host": "The kernels worked on something else than the data.",
    "event_not_recorded": "On a GPU such a wait returns at once, and orders nothing.",
    "race": "The simulator works in the order of your calls, so the values are right here.  A GPU "
    "only keeps the order within a stream.",
    "read_too_early": "The copy back is enqueued, and the function returns before it is done.",
    "copied_at_each_launch": "NumPy arrays given to a kernel are copied there and back at each "
    "launch.",
    "copied_too_much": "More is copied than the data: an array crosses the bus that need not.",
    "default_stream": "Something is in the default stream: it waits for all streams, and all wait "
    "for it.",
    "pageable": "Not all host arrays are pinned.  The host waits for each such copy, and calls for "
    "nothing else meanwhile.",
    "one_stream": "Everything is in one stream, so nothing overlaps.",
    "host_waits": "The host waits before it has called for all the work.",
    "too_slow": "The calls come in an order that leaves engines idle.",
    "too_many_streams": "More streams than needed bring nothing, and each needs arrays of its own.",
}
PROGRAM_HINTS = {
    "not_recorded": ("What stands above def in the lab?", "Put @recorded back."),
    "no_launches": ("Which kernels does the given program launch?", "Launch each of them."),
    "wrong_values": (
        "Run the function without streams in your head: what is in each array after each call?",
        "Compare arguments and sizes with the given program.  A kernel needs as many threads as "
        "the array has elements.",
    ),
    "on_the_host": (
        "Which arrays did your kernels get?",
        "The inputs go to the device, the kernels work there, and the result comes back.",
    ),
    "event_not_recorded": (
        "Which comes first in your code, event.record or event.wait?",
        "Record first, in the stream that has to be ahead; then let the other stream wait.",
    ),
    "race": (
        "Read both parties: in which streams are they?",
        "event.record(stream) after the first, event.wait(other_stream) before the second.",
    ),
    "read_too_early": (
        "Who waits until the result is there?",
        "stream.synchronize() or cuda.synchronize() at the end, inside the with block.",
    ),
    "copied_at_each_launch": (
        "How often does each array cross the bus?",
        "cuda.to_device once, kernels on the device array, copy_to_host once.",
    ),
    "copied_too_much": (
        "Which arrays does a kernel only write?",
        "cuda.device_array makes them on the device, without a copy.  And copy only results back.",
    ),
    "default_stream": (
        "Which call has no stream?",
        "to_device(..., stream=s), kernel[blocks, threads, s](...), copy_to_host(..., stream=s), "
        "all with a stream of your own.",
    ),
    "pageable": (
        "Which host arrays are copied, and are all of them in cuda.pinned(...)?",
        "with cuda.pinned(...) around all calls, with every host array of the program, results "
        "too.",
    ),
    "one_stream": (
        "Which operations could run at the same time?",
        "Put what does not depend on each other into different streams.",
    ),
    "host_waits": (
        "What could the host call for while it waits there?",
        "Leave the order between streams to the device: an event.  Let the host wait once, at the "
        "end.",
    ),
    "too_slow": (
        "Draw the timeline of your calls: which engine is idle, and what does the next operation "
        "for it wait for?",
        "Call for the copy, the kernel and the copy back of one part before those of the next; "
        "part k in stream k % number of streams.",
    ),
    "too_many_streams": (
        "How many parts are under way at the same time in the best case?",
        "The sum of the three times of a part, divided by the largest, rounded up.",
    ),
}
