"""Exercises of t1_12_launches: launches in a loop, copies that pay, fusing, streams and events.

host program  a function that copies, launches, records and waits; judged by its calls
bus           1 GB/s in this lab, 1,000 bytes a microsecond, so that small arrays take some time
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...hardware import Op, staged, streams_to_hide, timeline
from ..cases import Case, Level, ceil_div, sizes, values
from ..programs import (
    CALL_US,
    PROGRAM_CAUSES,
    PROGRAM_HINTS,
    Found,
    examine_program,
    line_of,
)
from ..requirements import Requirement
from ..spec import FunctionSpec, KernelSpec, ValueSpec

UNIT = "t1_12_launches"


# -- loop_time ---------------------------------------------------------------------------------


def loop_time(count: int, launch_us: float, kernel_us: float) -> float:
    """Launches one after the other, kernels one after the other, each after its launch."""
    if not count:
        return 0.0
    return launch_us + (count - 1) * max(launch_us, kernel_us) + kernel_us


def loop_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[int, float, float]]:
    """Launches that are longer than the kernel, shorter, and as long; one and none."""
    yield from [(1, 4.0, 10.0), (3, 4.0, 10.0), (3, 10.0, 4.0), (20, 3.8, 2.9), (5, 6.0, 6.0)]
    yield from [(1000, 2.6, 47.16), (0, 5.0, 3.0), (2, 5.0, 0.5)]
    if level == "grader":
        for _ in range(12):
            yield (int(rng.integers(2, 400)), float(rng.integers(20, 90)) / 10,
                   float(rng.integers(5, 200)) / 10)  # fmt: skip


LOOP_TIME = FunctionSpec(
    "loop_time", UNIT, 1, loop_inputs, loop_time,
    suspects={
        "nothing_overlaps": lambda count, launch, kernel: count * (launch + kernel),
        "launches_free": lambda count, launch, kernel: float(count * kernel),
        "one_launch": lambda count, launch, kernel: launch + count * kernel if count else 0.0,
        "kernels_hidden": lambda count, launch, kernel: float(count * launch),
        "one_more_largest": lambda count, launch, kernel: float(count * max(launch, kernel)),
        "last_kernel_hidden": lambda count, launch, kernel: (
            count * launch + kernel if count else 0.0
        ),
        "no_loop_no_time": lambda count, launch, kernel: (
            launch + (count - 1) * max(launch, kernel) + kernel
        ),
    },
    causes={
        "nothing_overlaps": "That is the time with a wait after each kernel: here the host goes on "
        "while a kernel runs.",
        "launches_free": "Launches cost nothing there, not even the first one.",
        "one_launch": "That is the time of a graph, or of kernels longer than a launch.  Where the "
        "launch is longer, the device waits for the host each time.",
        "kernels_hidden": "All kernels are hidden behind launches there, even the last one.",
        "one_more_largest": "The first launch and the last kernel overlap with nothing.",
        "last_kernel_hidden": "That holds where the launch is longer.  Where the kernel is longer, "
        "kernels queue up.",
        "no_loop_no_time": "With no launches at all there is nothing to wait for.",
    },
    hints={
        "nothing_overlaps": (
            "When can the host begin the second launch?",
            "As soon as the first launch is done.  Draw the host in one row and the device in "
            "another.",
        ),
        "launches_free": (
            "When can the first kernel begin?",
            "After one launch.  Then see which row is the slower one.",
        ),
        "one_launch": (
            "Kernels of 1 us and launches of 10 us: when does the second kernel begin?",
            "Between two kernels lies the larger of launch_us and kernel_us.",
        ),
        "kernels_hidden": (
            "What is the device doing when the host is done with the last launch?",
            "It still has to run the last kernel.",
        ),
        "one_more_largest": (
            "How long does a single launch with a single kernel take?",
            "launch_us + kernel_us.  Each further one adds the larger of the two.",
        ),
        "last_kernel_hidden": (
            "Kernels of 10 us and launches of 1 us: when does the second kernel begin?",
            "Each further kernel adds the larger of the two times, not always the launch.",
        ),
        "no_loop_no_time": ("What is the time for count = 0?", "Return 0 for it."),
        "wrong_values": (
            "Draw three launches and three kernels, once with long launches, once with long "
            "kernels.",
            "One launch, then count - 1 times the larger of the two, then one kernel.",
        ),
    },
)  # fmt: skip


# -- steps_to_pay ------------------------------------------------------------------------------


def steps_to_pay(
    bytes_in: int, bytes_out: int, bus_gbs: float, host_us: float, kernel_us: float
) -> int:
    """The fewest steps for which copies and kernels take less than the host; 0 when none do."""
    return _steps((bytes_in + bytes_out) / (bus_gbs * 1000), host_us, kernel_us)


def _steps(copies_us: float, host_us: float, kernel_us: float) -> int:
    if kernel_us >= host_us:
        return 0
    return int(copies_us // (host_us - kernel_us)) + 1


def pay_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[Any, ...]]:
    """Copies that pay at once, after some steps, and never; and a tie."""
    yield from [
        (8000, 4000, 4.0, 3.0, 1.0),
        (4000, 4000, 4.0, 2.0, 1.0),
        (4000, 8000, 4.0, 2.0, 1.0),
    ]
    yield from [(1000, 0, 8.0, 9.0, 4.0)]
    yield from [(64_000_000, 64_000_000, 32.0, 500.0, 60.0), (6000, 2000, 4.0, 2.5, 2.5)]
    yield from [(100, 100, 2.0, 1.0, 6.0), (12_000_000, 4_000_000, 64.0, 250.0, 5.0)]
    if level == "grader":
        for _ in range(12):
            yield (int(rng.integers(1, 900)) * 4000, int(rng.integers(1, 900)) * 4000,
                   float(rng.choice([16.0, 32.0, 64.0])), float(rng.integers(8, 90)),
                   float(rng.integers(1, 12)))  # fmt: skip


def _copies(bytes_moved: float, bus_gbs: float) -> float:
    return bytes_moved / (bus_gbs * 1000)


STEPS_TO_PAY = FunctionSpec(
    "steps_to_pay", UNIT, 1, pay_inputs, steps_to_pay,
    suspects={
        "copied_each_step": lambda bytes_in, bytes_out, bus, host, kernel: int(
            _copies(bytes_in + bytes_out, bus) + kernel < host
        ),
        "one_way": lambda bytes_in, bytes_out, bus, host, kernel: _steps(
            _copies(bytes_in, bus), host, kernel
        ),
        "kernel_free": lambda bytes_in, bytes_out, bus, host, kernel: _steps(
            _copies(bytes_in + bytes_out, bus), host, 0
        ),
        "only_as_fast": lambda bytes_in, bytes_out, bus, host, kernel: (
            0 if kernel >= host
            else int(-(-_copies(bytes_in + bytes_out, bus) // (host - kernel)))
        ),
        "rounded_down": lambda bytes_in, bytes_out, bus, host, kernel: (
            0 if kernel >= host else int(_copies(bytes_in + bytes_out, bus) // (host - kernel))
        ),
        "nanoseconds": lambda bytes_in, bytes_out, bus, host, kernel: _steps(
            (bytes_in + bytes_out) / bus, host, kernel
        ),
    },
    causes={
        "copied_each_step": "There the data are copied for each step.  They stay on the device: "
        "one copy there, one copy back.",
        "one_way": "Only the copy to the device is counted; the results have to come back.",
        "kernel_free": "The device needs time for a step, too.",
        "only_as_fast": "With that many steps the device is as fast as the host at some inputs, "
        "not faster.",
        "rounded_down": "With that many steps the copies are not paid for yet.",
        "nanoseconds": "Bytes over GB/s are nanoseconds; the other times are in microseconds.",
    },
    hints={
        "copied_each_step": (
            "How often do the data cross the bus when there are ten steps?",
            "Twice in all: before the first step, and after the last.",
        ),
        "one_way": ("What else crosses the bus?", "bytes_out: add it to bytes_in."),
        "kernel_free": (
            "How much does one step on the device save?",
            "host_us - kernel_us.",
        ),
        "only_as_fast": (
            "Copies of 2 us, 1 us saved a step: who is faster with two steps?",
            "Nobody.  Faster means at least one step more: quotient rounded down, plus 1.",
        ),
        "rounded_down": (
            "Copies of 2.5 us, 1 us saved a step: are two steps enough?",
            "Round down and add 1: the first whole number above the quotient.",
        ),
        "nanoseconds": (
            "What is 4,000 bytes at 4 GB/s?",
            "1 us: divide by 1,000 * bus_gbs.",
        ),
        "raised": (
            "What happens where the device is not faster than the host?",
            "Ask for kernel_us >= host_us first, and return 0.",
        ),
        "wrong_type": ("What can be counted?", "Steps: return a whole number."),
        "wrong_values": (
            "What do the copies cost, and what does each step save?",
            "copies = (bytes_in + bytes_out) / (1000 * bus_gbs).  Each step saves host_us - "
            "kernel_us.  Take the first whole number of steps that saves more than the copies.",
        ),
    },
)  # fmt: skip


# -- fused_steps -------------------------------------------------------------------------------

A, B = np.float32(0.75), np.float32(1.5)


def after(x: np.ndarray, a: float, b: float, steps: int) -> np.ndarray:
    """x after `steps` times x = abs(a * x - b)."""
    v = x.astype(np.float64)
    for _ in range(steps):
        v = np.abs(a * v - b)
    return v


def fused_case(rng: np.random.Generator, n: int, steps: int, block: int = 64) -> Case:
    """One thread for each element, and a few more."""
    x = values(rng, n)
    args = {"out": np.zeros_like(x), "x": x, "a": A, "b": B, "steps": steps, "n": n}
    return Case(args, ceil_div(n, block), block, f"n = {n}, steps = {steps}")


def fused_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Lengths around a block, with one step, some, and none."""
    counts = [1, 2, 3, 5, 1, 8, 4]
    for k, n in enumerate(sizes(64, level, rng)):
        yield fused_case(rng, n, counts[k % len(counts)])
    yield fused_case(rng, 70, 0)


def with_steps(change: Callable[[int], int]) -> Callable[[Case], dict[str, np.ndarray]]:
    """The right steps, but another number of them."""

    def result(case: Case) -> dict[str, np.ndarray]:
        steps = change(case.args["steps"])
        return {"out": after(case.args["x"], case.args["a"], case.args["b"], steps)}

    return result


FUSED_STEPS = KernelSpec(
    "fused_steps", UNIT, 2, ("out",), fused_cases, with_steps(lambda steps: steps),
    writes_once=True,
    suspects={
        "one_step": with_steps(lambda steps: min(steps, 1)),
        "one_step_too_many": with_steps(lambda steps: steps + 1),
        "one_step_missing": with_steps(lambda steps: max(steps - 1, 0)),
    },
    causes={
        "one_step": "Only one step was made.",
        "one_step_too_many": "There is a step too many.",
        "one_step_missing": "The last step is missing.",
        "too_many_sectors": "Between two steps the value goes through global memory, as it did "
        "between two launches.",
        "written_more_than_once": "Each step stores its value.  Only the last one is asked for.",
    },
    hints={
        "one_step": ("What is the parameter steps for?", "for _ in range(steps): one step each."),
        "one_step_too_many": (
            "How many steps does steps = 1 ask for?",
            "range(steps) makes steps rounds; load the value before the loop, without a step.",
        ),
        "one_step_missing": (
            "How many rounds has range(1, steps)?",
            "One less than steps: range(steps) has them all.",
        ),
        "too_many_sectors": (
            "Where does the value stay from one step to the next?",
            "In a variable of the thread: v = x[i] before the loop, out[i] = v after it.",
        ),
        "written_more_than_once": (
            "How often does your kernel store into out[i]?",
            "Keep the value in a variable of the thread, and store it once, after the loop.",
        ),
        "out_of_bounds": (
            "How many threads has this launch, and how many elements are there?",
            "Guard: if i < n.",
        ),
    },
    requirements=(Requirement("sectors", "too_many_sectors", times=1.0),),
    counted=lambda: fused_case(np.random.default_rng(12), 1000, 6),
)  # fmt: skip


# -- program_makespan --------------------------------------------------------------------------


def program(copy_y: str = "h2d", kernel_g: str = "kernel", copy_back: str = "d2h") -> list[Op]:
    """The program of the exercise; other kinds put an operation on an engine of its own."""
    return [
        Op("x", "h2d", 1, 0.040), Op("y", copy_y, 2, 0.030), Op("f", "kernel", 1, 0.050),
        Op("g", kernel_g, 2, 0.020), Op("record", "record", 2, event="e"),
        Op("wait", "wait", 1, event="e"), Op("h", "kernel", 1, 0.030),
        Op("x back", "d2h", 1, 0.025), Op("y back", copy_back, 2, 0.035),
    ]  # fmt: skip


def makespan_us(ops: Sequence[Op]) -> int:
    """Calls take no time here."""
    return round(timeline(ops, launch_us=0).makespan_ms * 1000)


def one_stream(ops: Sequence[Op]) -> list[Op]:
    """Everything in stream 1."""
    return [replace(op, stream=1) for op in ops]


PROGRAM_MAKESPAN = ValueSpec(
    "program_makespan", UNIT, 1, lambda: makespan_us(program()), "the time of the whole program",
    suspects={
        "one_after_the_other": makespan_us(one_stream(program())),
        "kernels_side_by_side": makespan_us(program(kernel_g="d2h")),
        "copies_side_by_side": makespan_us(program(copy_y="d2h")),
        "copies_back_side_by_side": makespan_us(program(copy_back="h2d")),
        "without_the_copies_back": 140,
        "first_stream_only": 145,
    },
    causes={
        "one_after_the_other": "That is the sum of all times.  Different engines work at the same "
        "time.",
        "kernels_side_by_side": "There f and g run at the same time.  In this exercise each kernel "
        "fills the device.",
        "copies_side_by_side": "There x and y are copied at the same time.  They need the same "
        "copy engine.",
        "copies_back_side_by_side": "There both copies back run at the same time.  They need the "
        "same copy engine.",
        "without_the_copies_back": "That is when the last kernel ends.",
        "first_stream_only": "That is when the copy of y is back, not the copy of x.",
    },
    hints={
        "one_after_the_other": (
            "Which of these can run while x is being used by f?",
            "Draw three rows: copy to the device, kernels, copy to the host.",
        ),
        "kernels_side_by_side": (
            "When is the device free for g?",
            "When f is done, at 90.",
        ),
        "copies_side_by_side": (
            "How many copies in one direction run at a time?",
            "One: y is copied from 40 to 70.",
        ),
        "copies_back_side_by_side": (
            "Which copy back can begin first, and when is its engine free again?",
            "That of y, at 110; it takes 35.  The copy of x has to wait for it.",
        ),
        "without_the_copies_back": (
            "What is left to do when h is done?",
            "Two copies back, one after the other on their engine.",
        ),
        "first_stream_only": (
            "Which operation ends last?",
            "Look at the copy back of x: it waits for h, and for the engine.",
        ),
        "wrong_values": (
            "Draw a row for each engine and put the operations into them, one after the other.",
            "x 0 to 40, y 40 to 70, f 40 to 90.  Now g, h, and the two copies back.",
        ),
    },
)  # fmt: skip


# -- mended_sum --------------------------------------------------------------------------------

SUM_KERNEL_US = 10.0


def sum_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[Any, ...]]:
    """A short array, then some whose copies take as long as a kernel, or longer."""
    lengths = [33, 2500, 3001]
    if level == "grader":
        lengths += [int(rng.integers(2500, 3500)) for _ in range(2)]
    for n in lengths:
        yield np.zeros(n, np.float32), values(rng, n), values(rng, n)


def sum_limit(n: int) -> float:
    """What the solution takes, and a tenth."""
    bytes_ = 4 * n
    ops = [
        Op("x", "h2d", 1, nbytes=bytes_), Op("y", "h2d", 2, nbytes=bytes_),
        Op("x2", "kernel", 1), Op("y2", "kernel", 2), Op("record", "record", 2, event="e"),
        Op("wait", "wait", 1, event="e"), Op("add", "kernel", 1),
        Op("out", "d2h", 1, nbytes=bytes_), Op("sync", "sync", 1),
    ]  # fmt: skip
    return 1.1 * line_of(ops, SUM_KERNEL_US).makespan_ms * 1000


def mended_sum(out: np.ndarray, x: np.ndarray, y: np.ndarray) -> None:
    """out = x**2 + y**2, in two streams."""


def examine_sum(call: Sequence[Any], got: Any) -> Found:
    _, x, y = call
    want = x.astype(np.float64) ** 2 + y.astype(np.float64) ** 2
    limit = sum_limit(x.size) if x.size > 1000 else None  # below, calls are all that counts
    return examine_program(got, [("out", 0, want)], 8 * x.size, 3, SUM_KERNEL_US, limit, 3)


MENDED_SUM = FunctionSpec(
    "mended_sum", UNIT, 2, sum_inputs, mended_sum, examine=examine_sum,
    causes=PROGRAM_CAUSES, hints=PROGRAM_HINTS,
)  # fmt: skip


# -- overlap_parts -----------------------------------------------------------------------------

PART = 2500  # float32: 10 us a copy
GRIND_US = 15.0


def parts_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[Any, ...]]:
    """From one part to many; the number of parts need not be a multiple of the streams."""
    counts = [1, 2, 4, 9]
    if level == "grader":
        counts += [3, 12, 5 + int(rng.integers(0, 6))]
    for count in counts:
        yield ([np.zeros(PART, np.float32) for _ in range(count)],
               [values(rng, PART) for _ in range(count)])  # fmt: skip


def ground(x: np.ndarray) -> np.ndarray:
    """What the kernel grind makes of a part."""
    return 0.5 * x.astype(np.float64) + 1


COPY_US = 4 * PART / 1000
ENOUGH = streams_to_hide(COPY_US, GRIND_US, COPY_US)


def parts_limit(count: int) -> float:
    """What the solution takes, and a fiftieth."""
    times = (count * COPY_US, count * GRIND_US, count * COPY_US)
    ops = staged(count, ENOUGH, *times)
    return 1.02 * timeline(ops, launch_us=CALL_US).makespan_ms * 1000


def overlap_parts(results: list[np.ndarray], parts: list[np.ndarray]) -> None:
    """results[k] = grind of parts[k], copies hidden behind kernels."""


def examine_parts(call: Sequence[Any], got: Any) -> Found:
    _, parts = call
    want = [(f"results[{k}]", k, ground(part)) for k, part in enumerate(parts)]
    count = len(parts)
    limit = parts_limit(count) if count > ENOUGH else None  # few parts can hide little
    return examine_program(got, want, 4 * PART * count, count, GRIND_US, limit, ENOUGH)


OVERLAP_PARTS = FunctionSpec(
    "overlap_parts", UNIT, 3, parts_inputs, overlap_parts, examine=examine_parts,
    causes=PROGRAM_CAUSES, hints=PROGRAM_HINTS,
)  # fmt: skip


SPECS = [LOOP_TIME, STEPS_TO_PAY, FUSED_STEPS, PROGRAM_MAKESPAN, MENDED_SUM, OVERLAP_PARTS]
