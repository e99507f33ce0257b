"""Specs of the lab t3_03_bus_bandwidth."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from ..cases import Level
from ..spec import FunctionSpec
from ..tolerance import Tolerance

UNIT = "t3_03_bus_bandwidth"

Array = np.ndarray[Any, Any]

#: Normal equations instead of lstsq lose that many digits.
CLOSE = Tolerance(1e-4)


# -- bus_gbs -----------------------------------------------------------------------------------

OPERATIONS = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast")


def bus_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[str, int, int, float]]:
    """Each operation on several numbers of ranks."""
    for ranks in (8, 2, 3, int(rng.integers(5, 2000))):
        for operation in OPERATIONS:
            yield operation, ranks, int(rng.integers(1, 10**9)), float(rng.uniform(1e-5, 1e-1))


def bus(operation: str, ranks: int, own_bytes: int, seconds: float) -> float:
    """nccl-tests' factor times S over the time."""
    size = own_bytes * (ranks if operation == "all_gather" else 1)
    part = (ranks - 1) / ranks
    return {"all_reduce": 2 * part, "broadcast": 1.0}.get(operation, part) * size / seconds / 1e9


def _own_piece(operation: str, ranks: int, own_bytes: int, seconds: float) -> float:
    return bus(operation, ranks, own_bytes, seconds) / (ranks if operation == "all_gather" else 1)


BUS_GBS = FunctionSpec(
    "bus_gbs", UNIT, 1, bus_inputs, bus,
    suspects={
        "own_piece": _own_piece,
        "algorithm_bandwidth": lambda operation, ranks, own_bytes, seconds: (
            own_bytes * (ranks if operation == "all_gather" else 1) / seconds / 1e9
        ),
        "always_all_reduce": lambda operation, ranks, own_bytes, seconds: bus(
            "all_reduce", ranks, own_bytes, seconds
        ),
        "reduce_once": lambda operation, ranks, own_bytes, seconds: bus(
            operation, ranks, own_bytes, seconds
        ) / (2 if operation == "all_reduce" else 1),
        "broadcast_as_others": lambda operation, ranks, own_bytes, seconds: bus(
            operation, ranks, own_bytes, seconds
        ) * ((ranks - 1) / ranks if operation == "broadcast" else 1),
        "in_bytes": lambda operation, ranks, own_bytes, seconds: 1e9 * bus(
            operation, ranks, own_bytes, seconds
        ),
        "in_gib": lambda operation, ranks, own_bytes, seconds: bus(
            operation, ranks, own_bytes, seconds
        ) * 1e9 / 2**30,
    },
    causes={
        "own_piece": "For the all-gather S is taken as the piece of one rank.",
        "algorithm_bandwidth": "This is the algorithm bandwidth: the factor is missing.",
        "always_all_reduce": "Every operation gets the factor and the S of an all-reduce.",
        "reduce_once": "The 2 of the all-reduce is missing.",
        "broadcast_as_others": "A broadcast has the factor 1.",
        "in_bytes": "These are bytes a second.",
        "in_gib": "These are GiB a second, of 2^30 bytes.",
    },
    hints={
        "own_piece": (
            "How large is the array that an all-gather makes?",
            "S is own_bytes * ranks for the all-gather.",
        ),
        "algorithm_bandwidth": (
            "What does a rank send for an all-reduce?",
            "Multiply by the factor of the table.",
        ),
        "always_all_reduce": (
            "Which factor has an all-to-all?",
            "(ranks - 1) / ranks; only the all-reduce has twice that.",
        ),
        "reduce_once": ("Which two operations make an all-reduce?", "The factor has a 2."),
        "broadcast_as_others": ("Which factor has a broadcast in the table?", "1."),
        "in_bytes": ("How many bytes has a GB?", "Divide by 1e9."),
        "in_gib": ("How many bytes has a GB here?", "1e9, not 2**30."),
    },
)  # fmt: skip


# -- fitted_line -------------------------------------------------------------------------------


def line_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[Array, Array, float]]:
    """On a line exactly; with noise, where absolute and relative errors differ; two rows alone."""
    yield np.array([1e6, 3e6]), np.array([3e-5, 5e-5]), 1.0
    for rows in (5, 12) + ((3, 20) if level == "grader" else ()):
        sizes = np.linspace(3, 9, rows) + rng.uniform(-0.2, 0.2, rows)
        alpha, bandwidth = rng.uniform(1e-5, 1e-4), rng.uniform(2e10, 4e11)
        factor = float(rng.choice([1.75, 1.5, 0.875]))
        exact = alpha + factor * 10**sizes / bandwidth
        yield 10**sizes, exact * rng.uniform(0.8, 1.25, rows), factor


def solved(sizes: Array, seconds: Array, factor: float, weights: Array) -> tuple[float, float]:
    """Weighted least squares of alpha + factor S / B = t."""
    rows = np.stack([weights, factor * sizes * weights], axis=1)
    alpha, beta = np.linalg.lstsq(rows, seconds * weights, rcond=None)[0]
    return float(alpha), float(1 / beta)


def relative(sizes: Array, seconds: Array, factor: float) -> tuple[float, float]:
    """The right line."""
    return solved(sizes, seconds, factor, 1 / seconds)


def _ends(sizes: Array, seconds: Array, factor: float) -> tuple[float, float]:
    beta = (seconds[-1] - seconds[0]) / (factor * (sizes[-1] - sizes[0]))
    return float(seconds[0] - beta * factor * sizes[0]), float(1 / beta)


def _beta(sizes: Array, seconds: Array, factor: float) -> tuple[float, float]:
    alpha, bandwidth = relative(sizes, seconds, factor)
    return alpha, 1 / bandwidth


FITTED_LINE = FunctionSpec(
    "fitted_line", UNIT, 3, line_inputs, relative, CLOSE,
    suspects={
        "factor_missing": lambda sizes, seconds, factor: relative(sizes, seconds, 1.0),
        "absolute_errors": lambda sizes, seconds, factor: solved(
            sizes, seconds, factor, np.ones(len(sizes))
        ),
        "through_the_ends": _ends,
        "root_weights": lambda sizes, seconds, factor: solved(
            sizes, seconds, factor, 1 / np.sqrt(seconds)
        ),
        "beta_returned": _beta,
        "exchanged": lambda sizes, seconds, factor: relative(sizes, seconds, factor)[::-1],
        "without_latency": lambda sizes, seconds, factor: (
            0.0, float(np.sum((factor * sizes / seconds) ** 2) / np.sum(factor * sizes / seconds))
        ),
    },
    causes={
        "factor_missing": "The factor is left out.",
        "absolute_errors": "The errors in seconds are smallest, not the relative ones: large "
        "arrays decide alone.",
        "through_the_ends": "It is the line through the first and the last row.",
        "root_weights": "Rows are divided by the root of the time; divide by the time.",
        "beta_returned": "The second value is beta, seconds a byte, not B.",
        "exchanged": "The two values are exchanged.",
        "without_latency": "There is no latency in this line.",
    },
    hints={
        "factor_missing": (
            "What stands before S/B in the model?",
            "factor: put it into the rows, factor * sizes / seconds.",
        ),
        "absolute_errors": (
            "How much does an error of 5 us count at 50 us, and how much at 50,000?",
            "Divide each row by its time: 1 / seconds, factor * sizes / seconds, and ones.",
        ),
        "through_the_ends": (
            "Which rows does your line ignore?",
            "Use all rows: np.linalg.lstsq(rows, ones, rcond=None)[0].",
        ),
        "root_weights": (
            "What is the error divided by?",
            "By t itself: the squares take care of the rest.",
        ),
        "beta_returned": ("Which unit is asked for?", "B is 1 / beta."),
        "exchanged": ("Which comes first?", "alpha, then B."),
        "without_latency": (
            "How long does an empty message take?",
            "alpha: two unknowns, two columns.",
        ),
    },
)  # fmt: skip


# -- bytes_for ---------------------------------------------------------------------------------


def share_inputs(
    rng: np.random.Generator, level: Level
) -> Iterator[tuple[float, float, float, float]]:
    """Shares below and above a half."""
    yield 1e-5, 1e11, 2.0, 0.5
    for share in (0.9, 0.25, 0.75, float(rng.uniform(0.55, 0.99))):
        yield (
            float(rng.uniform(1e-6, 1e-4)), float(rng.uniform(1e10, 5e11)),
            float(rng.choice([1.5, 0.875, 1.75])), share,
        )  # fmt: skip


def least_bytes(alpha: float, bandwidth: float, factor: float, share: float) -> float:
    """factor S / (alpha + factor S / B) = share B, solved for S."""
    return alpha * bandwidth / factor * share / (1 - share)


BYTES_FOR = FunctionSpec(
    "bytes_for", UNIT, 1, share_inputs, least_bytes,
    suspects={
        "half_times_share": lambda alpha, bandwidth, factor, share: (
            alpha * bandwidth / factor * 2 * share
        ),
        "always_half": lambda alpha, bandwidth, factor, share: alpha * bandwidth / factor,
        "upside_down": lambda alpha, bandwidth, factor, share: (
            alpha * bandwidth / factor * (1 - share) / share
        ),
        "factor_missing": lambda alpha, bandwidth, factor, share: least_bytes(
            alpha, bandwidth, 1.0, share
        ),
        "factor_above": lambda alpha, bandwidth, factor, share: least_bytes(
            alpha, bandwidth, 1 / factor, share
        ),
        "in_latency_time": lambda alpha, bandwidth, factor, share: (
            alpha * bandwidth * share / factor
        ),
    },
    causes={
        "half_times_share": "n 1/2 is scaled with the share; but the last percents cost most.",
        "always_half": "This is the size for half of the bandwidth, whatever the share.",
        "upside_down": "Share and rest are exchanged: a larger share needs more bytes.",
        "factor_missing": "The factor is left out.",
        "factor_above": "It is multiplied by the factor; a larger factor needs a smaller array.",
        "in_latency_time": "These are the bytes that a link carries during a part of alpha.",
    },
    hints={
        "half_times_share": (
            "How large must S be for 99 percent?",
            "share / (1 - share) times n 1/2.",
        ),
        "always_half": ("What changes for 90 percent?", "Multiply by share / (1 - share)."),
        "upside_down": ("Do 90 percent need more than 50?", "share / (1 - share)."),
        "factor_missing": ("What does a rank send for S?", "Divide by factor."),
        "factor_above": ("What does a rank send for S?", "Divide by factor."),
        "in_latency_time": (
            "Put your result into factor S / (alpha + factor S / B).",
            "Solve it for S: alpha * bandwidth / factor * share / (1 - share).",
        ),
    },
)  # fmt: skip


# -- all_gather_report -------------------------------------------------------------------------


def report_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[int, int, list[float]]]:
    """A slow first call, an outlier, odd and even numbers of calls, times in no order."""
    for ranks, count in ((2, 4), (8, 5), (3, 2), (int(rng.integers(4, 65)), 10)):
        times = rng.uniform(1e-4, 2e-4, count)
        times[0] *= 400
        if count > 3:
            times[rng.integers(1, count)] *= 9
        yield ranks, int(rng.integers(10**5, 10**8)), [float(t) for t in times]


def report(ranks: int, own_bytes: int, times: list[float]) -> float:
    """(n - 1)/n S over the median of all calls but the first."""
    return float((ranks - 1) * own_bytes / np.median(times[1:]) / 1e9)


def _reported(size: Any, time: Any, factor: Any = lambda n: (n - 1) / n) -> Any:
    return lambda ranks, own_bytes, times: float(
        factor(ranks) * size(ranks, own_bytes) / time(times) / 1e9
    )


def _whole(ranks: int, own_bytes: int) -> int:
    return ranks * own_bytes


def _warm(times: list[float]) -> float:
    return float(np.median(times[1:]))


ALL_GATHER_REPORT = FunctionSpec(
    "all_gather_report", UNIT, 2, report_inputs, report,
    suspects={
        "own_piece": _reported(lambda n, b: b, _warm),
        "upper_middle": _reported(_whole, lambda t: sorted(t[1:])[len(t[1:]) // 2]),
        "first_call_counted": _reported(_whole, lambda t: float(np.median(t))),
        "mean_taken": _reported(_whole, lambda t: float(np.mean(t[1:]))),
        "fastest_taken": _reported(_whole, lambda t: min(t[1:])),
        "factor_of_all_reduce": _reported(_whole, _warm, lambda n: 2 * (n - 1) / n),
        "factor_missing": _reported(_whole, _warm, lambda n: 1.0),
        "middle_of_unsorted": _reported(_whole, lambda t: t[1:][len(t[1:]) // 2]),
        "broken_as_given": _reported(
            lambda n, b: b, lambda t: float(np.mean(t)), lambda n: 2 * (n - 1) / n
        ),
    },
    causes={
        "own_piece": "S is taken as the piece of one rank.",
        "first_call_counted": "The first call, which sets up connections, is among the times.",
        "mean_taken": "It is the mean: one slow call decides.",
        "fastest_taken": "It is the fastest call, not the median.",
        "factor_of_all_reduce": "The factor is that of an all-reduce.",
        "factor_missing": "The factor is missing.",
        "middle_of_unsorted": "It is the time in the middle of the list, which is not sorted.",
        "upper_middle": "Of an even number of times the upper middle one is taken; the median is "
        "the mean of both.",
        "broken_as_given": "This is the result of the broken function.",
    },
    hints={
        "own_piece": ("How large is the array at the end?", "S is ranks * own_bytes."),
        "first_call_counted": ("What else does the first call do?", "Use times[1:]."),
        "mean_taken": ("What does one slow call of ten change?", "Take np.median."),
        "fastest_taken": ("Is the fastest call a usual one?", "Take np.median."),
        "factor_of_all_reduce": (
            "Which factor has an all-gather?",
            "(ranks - 1) / ranks.",
        ),
        "factor_missing": ("Must a rank send its piece to itself?", "(ranks - 1) / ranks."),
        "middle_of_unsorted": ("Is the list in order?", "Sort it, or take np.median."),
        "upper_middle": (
            "What is the median of two times?",
            "Their mean: take np.median.",
        ),
        "broken_as_given": (
            "Which three things are wrong in it?",
            "The factor, the bytes, and the first call among the times.",
        ),
    },
)  # fmt: skip


# -- best_cut ----------------------------------------------------------------------------------


def cut_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[Array, Array, float]]:
    """Two protocols with a jump between them, at different places, and a little noise."""
    for rows, place in ((8, 4), (12, 3), (14, 11)) + (
        ((5, 2), (20, 9)) if level == "grader" else ()
    ):
        sizes = 1000.0 * 2.0 ** np.arange(rows)
        factor = float(rng.choice([1.75, 0.75]))
        low = 2e-5 + factor * sizes / (factor * sizes[place - 1] / 2e-5)
        high = 3 * low[place - 1] + factor * sizes / (factor * sizes[place] / 2e-5)
        seconds = np.where(np.arange(rows) < place, low, high)
        yield sizes, seconds * rng.uniform(0.99, 1.01, rows), factor


def squares(sizes: Array, seconds: Array, factor: float) -> float:
    """Sum of squared relative errors of the best line."""
    alpha, bandwidth = relative(sizes, seconds, factor)
    return float(np.sum(((alpha + factor * sizes / bandwidth - seconds) / seconds) ** 2))


def cut(sizes: Array, seconds: Array, factor: float) -> int:
    """The best of all cuts with at least two rows on either side."""
    return min(
        range(2, len(sizes) - 1),
        key=lambda k: (
            squares(sizes[:k], seconds[:k], factor) + squares(sizes[k:], seconds[k:], factor)
        ),
    )


def _largest_jump(sizes: Array, seconds: Array, factor: float) -> int:
    return int(np.argmax(seconds[1:] / seconds[:-1])) + 1


def _first_only(sizes: Array, seconds: Array, factor: float) -> int:
    return min(range(2, len(sizes) - 1), key=lambda k: squares(sizes[:k], seconds[:k], factor))


BEST_CUT = FunctionSpec(
    "best_cut", UNIT, 3, cut_inputs, cut,
    suspects={
        "off_by_one": lambda sizes, seconds, factor: cut(sizes, seconds, factor) - 1,
        "first_row_above": lambda sizes, seconds, factor: cut(sizes, seconds, factor) + 1,
        "in_the_middle": lambda sizes, seconds, factor: len(sizes) // 2,
        "first_part_only": _first_only,
        "rows_above": lambda sizes, seconds, factor: len(sizes) - cut(sizes, seconds, factor),
    },
    causes={
        "off_by_one": "It is the index of the last row below the cut, one less than their number.",
        "first_row_above": "It is one row too many.",
        "in_the_middle": "The table is cut in the middle.",
        "first_part_only": "Only the errors below the cut are counted.",
        "rows_above": "It is the number of rows above the cut.",
    },
    hints={
        "off_by_one": ("How many rows are sizes[:k]?", "Return k itself."),
        "first_row_above": ("How many rows are sizes[:k]?", "Return k itself."),
        "in_the_middle": ("Where does the library switch?", "Try all cuts."),
        "first_part_only": (
            "What is the best cut if only the first part counts?",
            "Two rows: a line through two points is exact.  Add the errors of the rest.",
        ),
        "rows_above": ("Which part is asked for?", "The rows below the cut: k."),
    },
)  # fmt: skip

SPECS = [BUS_GBS, FITTED_LINE, BYTES_FOR, ALL_GATHER_REPORT, BEST_CUT]
