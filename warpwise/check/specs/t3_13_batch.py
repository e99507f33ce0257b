"""Specs of the lab t3_13_batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..cases import Level
from ..spec import FunctionSpec
from ..tolerance import Tolerance

UNIT = "t3_13_batch"

Array = np.ndarray[Any, Any]

#: Sums in another order; differences of nearly equal numbers lose some digits.
CLOSE = Tolerance(1e-9)


# -- accumulation ------------------------------------------------------------------------------


def accumulation_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[int, int, int]]:
    """Batches that come out even, that do not, and that one micro-batch exceeds."""
    yield from ((2048, 256, 4), (1000, 64, 4), (100, 64, 4), (1, 1, 1), (7, 1, 2))
    for _ in range(6 if level == "grader" else 3):
        ranks, micro = int(rng.integers(1, 600)), int(rng.integers(1, 9))
        yield int(rng.integers(1, 20)) * ranks * micro + int(rng.integers(-1, 2)), ranks, micro


def accumulated(batch: int, ranks: int, micro: int) -> tuple[int, int]:
    """Rounded up."""
    count = -(-batch // (ranks * micro))
    return count, count * ranks * micro


ACCUMULATION = FunctionSpec(
    "accumulation", UNIT, 1, accumulation_inputs, accumulated,
    suspects={
        "at_least_one": lambda batch, ranks, micro: (
            max(1, batch // (ranks * micro)), max(1, batch // (ranks * micro)) * ranks * micro
        ),
        "rounded_down": lambda batch, ranks, micro: (
            batch // (ranks * micro), batch // (ranks * micro) * ranks * micro
        ),
        "one_too_many": lambda batch, ranks, micro: (
            batch // (ranks * micro) + 1, (batch // (ranks * micro) + 1) * ranks * micro
        ),
        "wanted_batch_returned": lambda batch, ranks, micro: (
            accumulated(batch, ranks, micro)[0], batch
        ),
        "micro_forgotten": lambda batch, ranks, micro: (
            -(-batch // ranks), -(-batch // ranks) * ranks
        ),
    },
    causes={
        "rounded_down": "It is rounded down: the batch is too small, or none at all.",
        "at_least_one": "It is rounded down: the batch may be too small.",
        "one_too_many": "Where it comes out even there is one micro-batch too many.",
        "wanted_batch_returned": "The second value is the batch that was wanted, not the one that "
        "results.",
        "micro_forgotten": "A rank takes `micro` samples at a time, not one.",
    },
    hints={
        "rounded_down": ("Is 768 at least 1000?", "Round up: -(-batch // (ranks * micro))."),
        "at_least_one": ("Is 768 at least 1000?", "Round up: -(-batch // (ranks * micro))."),
        "one_too_many": (
            "How many micro-batches of 1,024 make 2,048?",
            "Round up instead of adding 1: -(-batch // (ranks * micro)).",
        ),
        "wanted_batch_returned": (
            "Which batch do 64 ranks make with 4 micro-batches of 4?",
            "count * ranks * micro.",
        ),
        "micro_forgotten": (
            "How many samples do all ranks see at a time?",
            "ranks * micro.",
        ),
    },
)  # fmt: skip


# -- noise_of_samples --------------------------------------------------------------------------


def gradient_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[Array]]:
    """Few and many rows, one column, little noise, and noise alone."""
    yield (np.array([[1.0, 0.0], [3.0, 0.0]]),)
    yield (np.array([[1.0, 0.0], [-1.0, 0.0]]),)
    for rows, columns in ((2, 5), (5, 1), (12, 3), (40, 20))[: 4 if level == "grader" else 3]:
        mean = rng.normal(size=columns) * 3 + 2
        yield (mean + rng.normal(size=(rows, columns)),)


def noise(gradients: Array) -> float:
    """tr(S) / (|mean|^2 - tr(S)/n), infinite where that is not positive."""
    n = len(gradients)
    trace = float(gradients.var(axis=0, ddof=1).sum())
    signal = float((gradients.mean(axis=0) ** 2).sum()) - trace / n
    return trace / signal if signal > 0 else float("inf")


def _ratio(trace: Any, signal: Any) -> Any:
    def mistaken(gradients: Array) -> float:
        spread, length = float(trace(gradients)), float(signal(gradients))
        return spread / length if length > 0 else float("inf")

    return mistaken


def _trace(g: Array) -> float:
    return float(g.var(axis=0, ddof=1).sum())


def _mean_square(g: Array) -> float:
    return float((g.mean(axis=0) ** 2).sum())


NOISE_OF_SAMPLES = FunctionSpec(
    "noise_of_samples", UNIT, 3, gradient_inputs, noise, CLOSE,
    suspects={
        "bias_left": _ratio(_trace, _mean_square),
        "variance_of_n": _ratio(
            lambda g: g.var(axis=0).sum(), lambda g: _mean_square(g) - g.var(axis=0).sum() / len(g)
        ),
        "variance_of_n_bias_left": _ratio(lambda g: g.var(axis=0).sum(), _mean_square),
        "one_variance": _ratio(lambda g: g.var(ddof=1), _mean_square),
        "length_not_squared": _ratio(
            _trace, lambda g: np.sqrt(max(0.0, _mean_square(g) - _trace(g) / len(g)))
        ),
        "upside_down": lambda g: 1 / noise(g) if noise(g) else float("inf"),
        "mean_of_squares": _ratio(_trace, lambda g: (g**2).sum(axis=1).mean()),
        "whole_trace_taken_off": _ratio(_trace, lambda g: _mean_square(g) - _trace(g)),
    },
    causes={
        "bias_left": "The squared length of the mean still has the noise in it.",
        "variance_of_n": "The variance is divided by n, not by n - 1.",
        "variance_of_n_bias_left": "The variance is divided by n, and the noise is not taken off "
        "the length.",
        "one_variance": "It is one variance of all numbers, not the sum over the columns.",
        "length_not_squared": "The length of the mean is not squared.",
        "upside_down": "Signal and noise are exchanged.",
        "mean_of_squares": "It is the mean of the squared lengths; |G|^2 is the squared length of "
        "the mean.",
        "whole_trace_taken_off": "tr(S) is taken off; the mean of n rows has only 1/n of it.",
    },
    hints={
        "bias_left": (
            "What is the squared length of the mean, if the true gradient is zero?",
            "Take trace / n off.",
        ),
        "variance_of_n": ("What is the denominator?", "n - 1: var(axis=0, ddof=1)."),
        "variance_of_n_bias_left": (
            "What is the denominator of the variance?",
            "n - 1; and take trace / n off the squared length.",
        ),
        "one_variance": ("How many variances are there?", "One a column: axis=0, then the sum."),
        "length_not_squared": ("What is |G|^2 of (3, 4)?", "25: the sum of the squares."),
        "upside_down": ("Is more noise a larger noise scale?", "trace / signal."),
        "mean_of_squares": ("Mean first, or square first?", "Mean first."),
        "whole_trace_taken_off": (
            "How noisy is a mean of n rows?",
            "One n-th: trace / n.",
        ),
    },
)  # fmt: skip


# -- noise_of_two ------------------------------------------------------------------------------


def two_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[int, int, float, float]]:
    """Squares made from a true length and a true trace."""
    yield 1, 4, 5.0, 2.0
    for _ in range(6 if level == "grader" else 4):
        small = int(rng.integers(1, 64))
        big = small * int(rng.integers(2, 100))
        signal, trace = float(rng.uniform(0.1, 2)), float(rng.uniform(1, 100))
        yield small, big, signal + trace / small, signal + trace / big


def from_two(small: int, big: int, small_square: float, big_square: float) -> float:
    """McCandlish and others, appendix A: both unknowns from two equations."""
    trace = (small_square - big_square) / (1 / small - 1 / big)
    return trace / (small_square - trace / small)


NOISE_OF_TWO = FunctionSpec(
    "noise_of_two", UNIT, 1, two_inputs, from_two, CLOSE,
    suspects={
        "trace_alone": lambda small, big, small_square, big_square: (
            (small_square - big_square) / (1 / small - 1 / big)
        ),
        "big_as_exact": lambda small, big, small_square, big_square: (
            (small_square - big_square) * small / big_square
        ),
        "small_for_the_signal": lambda small, big, small_square, big_square: (
            (small_square - big_square) / (1 / small - 1 / big) / small_square
        ),
        "big_for_the_signal": lambda small, big, small_square, big_square: (
            (small_square - big_square) / (1 / small - 1 / big) / big_square
        ),
        "difference_of_batches": lambda small, big, small_square, big_square: (
            (small_square - big_square) * (big - small)
        ),
        "upside_down": lambda small, big, small_square, big_square: 1 / from_two(
            small, big, small_square, big_square
        ),
    },
    causes={
        "trace_alone": "This is tr(S); it is not divided by |G|^2.",
        "big_as_exact": "The big batch is taken for exact; it has noise, too.",
        "small_for_the_signal": "It is divided by the square of the small batch, noise included.",
        "big_for_the_signal": "It is divided by the square of the big batch, noise included.",
        "difference_of_batches": "The noise does not fall with B, but with 1/B.",
        "upside_down": "Signal and noise are exchanged.",
    },
    hints={
        "trace_alone": ("What is the noise scale a ratio of?", "Divide by |G|^2."),
        "big_as_exact": (
            "What is |G_B|^2 more than |G|^2?",
            "tr(S)/B: subtract both equations.",
        ),
        "small_for_the_signal": (
            "What is small_square more than |G|^2?",
            "tr(S)/small: take it off.",
        ),
        "big_for_the_signal": ("What is big_square more than |G|^2?", "tr(S)/big: take it off."),
        "difference_of_batches": (
            "Subtract one equation from the other: what stands with tr(S)?",
            "1/small - 1/big.",
        ),
        "upside_down": ("Is more noise a larger noise scale?", "tr(S) / |G|^2."),
    },
)  # fmt: skip


# -- scaled_step -------------------------------------------------------------------------------


def step_inputs(
    rng: np.random.Generator, level: Level
) -> Iterator[tuple[Array, Array, float, int, int]]:
    """One and several micro-batches; base other than micro, once above the batch."""
    yield np.array([1.0]), np.array([[1.0], [3.0]]), 0.1, 64, 64
    for count, base, micro in ((1, 32, 32), (4, 64, 16), (3, 8, 32), (8, 256, 64), (2, 256, 32)):
        size = int(rng.integers(2, 6))
        yield (
            rng.normal(size=size), rng.normal(size=(count, size)), float(rng.uniform(0.01, 0.2)),
            base, micro,
        )  # fmt: skip


def _stepped(weights: Array, scale: float, slope: Array) -> Array:
    return np.asarray(weights - scale * slope)


def linear_step(weights: Array, gradients: Array, rate: float, base: int, micro: int) -> Array:
    """The mean gradient, and a rate in proportion to the batch."""
    batch = micro * len(gradients)
    return _stepped(weights, rate * batch / base, gradients.mean(axis=0))


SCALED_STEP = FunctionSpec(
    "scaled_step", UNIT, 2, step_inputs, linear_step, CLOSE,
    suspects={
        "summed_and_scaled": lambda w, g, rate, base, micro: _stepped(
            w, rate * micro * len(g) / base, g.sum(axis=0)
        ),
        "only_upward": lambda w, g, rate, base, micro: _stepped(
            w, rate * max(1, micro * len(g) / base), g.mean(axis=0)
        ),
        "not_scaled": lambda w, g, rate, base, micro: _stepped(w, rate, g.mean(axis=0)),
        "summed_not_scaled": lambda w, g, rate, base, micro: _stepped(w, rate, g.sum(axis=0)),
        "scaled_by_count": lambda w, g, rate, base, micro: _stepped(
            w, rate * len(g), g.mean(axis=0)
        ),
        "scaled_by_root": lambda w, g, rate, base, micro: _stepped(
            w, rate * np.sqrt(micro * len(g) / base), g.mean(axis=0)
        ),
        "uphill": lambda w, g, rate, base, micro: _stepped(
            w, -rate * micro * len(g) / base, g.mean(axis=0)
        ),
        "one_micro_batch": lambda w, g, rate, base, micro: _stepped(
            w, rate * micro * len(g) / base, g[0]
        ),
    },
    causes={
        "summed_and_scaled": "The gradients are summed and the rate is scaled: that is the batch "
        "twice.",
        "not_scaled": "The rate is not scaled with the batch.",
        "summed_not_scaled": "The sum of gradients scales with the number of micro-batches, not "
        "with batch/base.",
        "scaled_by_count": "The rate is scaled with the number of micro-batches, not with "
        "batch/base.",
        "scaled_by_root": "The rate is scaled with a root; the linear rule is asked for.",
        "only_upward": "Below base the rate stays; the rule makes it smaller there.",
        "uphill": "The step goes uphill.",
        "one_micro_batch": "Only one micro-batch is used.",
    },
    hints={
        "summed_and_scaled": (
            "How large is the sum of four equal gradients?",
            "Take the mean; the rate is scaled already.",
        ),
        "not_scaled": ("What does the linear rule do to the rate?", "Times batch / base."),
        "summed_not_scaled": (
            "What if base is not micro?",
            "The mean gradient, and the rate times batch / base.",
        ),
        "scaled_by_count": ("What if base is not micro?", "Times batch / base."),
        "scaled_by_root": ("Which rule is asked for?", "In proportion: batch / base."),
        "only_upward": (
            "What is the rate for half of base?",
            "Half: times batch / base, also where that is below 1.",
        ),
        "uphill": ("Where does the gradient point?", "Uphill: subtract it."),
        "one_micro_batch": ("What is the gradient of the batch?", "The mean of all rows."),
    },
)  # fmt: skip


# -- run_hours ---------------------------------------------------------------------------------


def hour_inputs(
    rng: np.random.Generator, level: Level
) -> Iterator[tuple[int, float, int, int, float]]:
    """Batches far below, near and far above the noise scale."""
    yield 10_000, 4096, 256, 16, 120
    for devices in (1, 8, 64, int(rng.integers(100, 5000))):
        yield (
            int(rng.integers(1000, 50_000)), float(rng.integers(100, 10_000)), devices,
            int(rng.integers(1, 33)), float(rng.integers(20, 500)),
        )  # fmt: skip


def hours(
    least_steps: float, noise: float, devices: int, micro: int, step_ms: float
) -> tuple[float, float]:
    """S_min (1 + B_noise/B) steps."""
    time = least_steps * (1 + noise / (devices * micro)) * step_ms / 3.6e6
    return time, time * devices


def _hours(steps: Any) -> Any:
    def mistaken(
        least_steps: float, noise: float, devices: int, micro: int, step_ms: float
    ) -> tuple[float, float]:
        time = steps(least_steps, noise, devices, micro) * step_ms / 3.6e6
        return time, time * devices

    return mistaken


RUN_HOURS = FunctionSpec(
    "run_hours", UNIT, 1, hour_inputs, hours, CLOSE,
    suspects={
        "noise_forgotten": _hours(lambda s, noise, d, m: s),
        "batch_of_one_device": _hours(lambda s, noise, d, m: s * (1 + noise / m)),
        "micro_forgotten": _hours(lambda s, noise, d, m: s * (1 + noise / d)),
        "upside_down": _hours(lambda s, noise, d, m: s * (1 + d * m / noise)),
        "one_left_out": _hours(lambda s, noise, d, m: s * noise / (d * m)),
        "in_seconds": lambda s, noise, d, m, ms: (
            hours(s, noise, d, m, ms)[0] * 3600, hours(s, noise, d, m, ms)[1] * 3600
        ),
        "cost_is_time": lambda s, noise, d, m, ms: (hours(s, noise, d, m, ms)[0],) * 2,
    },
    causes={
        "noise_forgotten": "These are the least steps, with an enormous batch.",
        "batch_of_one_device": "The batch is that of one device.",
        "micro_forgotten": "The batch is taken as the number of devices.",
        "upside_down": "B and B_noise are exchanged.",
        "one_left_out": "The 1 in 1 + B_noise/B is missing.",
        "in_seconds": "These are seconds.",
        "cost_is_time": "The second value is not multiplied by the devices.",
    },
    hints={
        "noise_forgotten": ("How many steps does this batch need?", "S_min (1 + B_noise/B)."),
        "batch_of_one_device": ("Who makes the batch?", "devices * micro."),
        "micro_forgotten": ("Who makes the batch?", "devices * micro."),
        "upside_down": ("Does a large batch need more steps?", "1 + noise / batch."),
        "one_left_out": ("How many steps with an enormous batch?", "S_min: 1 + noise / batch."),
        "in_seconds": ("How many milliseconds has an hour?", "3.6e6."),
        "cost_is_time": ("What is a device hour?", "Hours times devices."),
    },
)  # fmt: skip


# -- devices_for -------------------------------------------------------------------------------

Choice = tuple[int, float, int, dict[int, float], float]


def choice_inputs(rng: np.random.Generator, level: Level) -> Iterator[Choice]:
    """Deadlines that all, some, one and none meet; the lesson's numbers; odd dictionaries."""
    lesson = {1: 100.0, 16: 120.0, 256: 120.0, 1024: 120.0, 4096: 120.0}
    yield 10_000, 4096, 16, lesson, 1.0
    yield 10_000, 4096, 16, lesson, 100.0
    yield 10_000, 4096, 16, lesson, 0.36
    yield 10_000, 4096, 16, lesson, 0.1
    # Four devices of half the time cost the same as two, whichever stands first.
    yield 1000, 0, 8, {4: 100.0, 2: 200.0, 1: 900.0}, 1.0
    yield 1000, 0, 8, {1: 900.0, 2: 200.0, 4: 100.0}, 1.0
    # Two devices take exactly one hour.
    yield 2, 8, 4, {1: 900_000.0, 2: 900_000.0, 4: 900_000.0}, 1.0
    # A slow step makes few devices dear, and one number in the middle the slowest.
    yield 1000, 100, 8, {2: 900.0, 8: 100.0, 32: 100.0}, 5.0
    yield 1000, 100, 8, {32: 100.0, 8: 900.0, 2: 100.0}, 5.0
    for _ in range(5 if level == "grader" else 3):
        counts = [int(k) for k in rng.permutation([2, 8, 32, 128, 512])]
        times = {k: float(rng.integers(100, 200) + k // 4) for k in counts}
        least, size = int(rng.integers(2000, 20_000)), float(rng.integers(500, 5000))
        all_hours = sorted(hours(least, size, k, 8, ms)[0] for k, ms in times.items())
        yield least, size, 8, times, all_hours[int(rng.integers(1, 5))] * 1.001


def cheapest(
    least_steps: int, noise: float, micro: int, step_ms: dict[int, float], deadline: float
) -> int | None:
    """Device hours first, then hours."""
    found = []
    for devices, ms in step_ms.items():
        time, cost = hours(least_steps, noise, devices, micro, ms)
        if time <= deadline:
            found.append((round(cost, 9), time, devices))
    return min(found)[2] if found else None


def _chosen(key: Any, in_time: bool = True, strictly: bool = False) -> Any:
    def mistaken(
        least_steps: int, noise: float, micro: int, step_ms: dict[int, float], deadline: float
    ) -> int | None:
        found = []
        for devices, ms in step_ms.items():
            time, cost = hours(least_steps, noise, devices, micro, ms)
            if not in_time or time < deadline or (time == deadline and not strictly):
                found.append((key(time, round(cost, 9), devices), devices))
        return min(found)[1] if found else None

    return mistaken


DEVICES_FOR = FunctionSpec(
    "devices_for", UNIT, 2, choice_inputs, cheapest,
    suspects={
        "before_deadline": _chosen(lambda time, cost, devices: (cost, time), strictly=True),
        "fastest": _chosen(lambda time, cost, devices: (time, cost)),
        "fewest_devices": _chosen(lambda time, cost, devices: devices),
        "deadline_ignored": _chosen(lambda time, cost, devices: (cost, time), in_time=False),
        "slowest_of_equal": _chosen(lambda time, cost, devices: (cost, -time)),
        "just_in_time": _chosen(lambda time, cost, devices: -time),
    },
    causes={
        "fastest": "It is the fastest choice; the cheapest is asked for.",
        "fewest_devices": "It is the smallest number in time; a larger one may cost less.",
        "deadline_ignored": "It is the cheapest of all, whether in time or not.",
        "before_deadline": "A choice that takes exactly the deadline is left out; it is in time.",
        "slowest_of_equal": "Of several at the same cost it is the slowest.",
        "just_in_time": "It is the choice that needs the most of the deadline.",
    },
    hints={
        "fastest": ("What do device hours measure?", "Compare hours times devices."),
        "fewest_devices": (
            "Can fewer devices need more device hours?",
            "Yes, with a slow step: compute them for each.",
        ),
        "deadline_ignored": ("Is it done in time?", "Leave out those that are not."),
        "before_deadline": ("May a run take deadline hours?", "Yes: hours <= deadline."),
        "slowest_of_equal": (
            "Which of two at the same cost is better?",
            "The one with fewer hours: min over (cost, hours, devices).",
        ),
        "just_in_time": ("What is to be smallest?", "The device hours."),
        "raised": ("What if none is in time?", "Return None."),
    },
)  # fmt: skip

SPECS = [ACCUMULATION, NOISE_OF_SAMPLES, NOISE_OF_TWO, SCALED_STEP, RUN_HOURS, DEVICES_FOR]
