"""Exercises of t2_09_fusion: fewer bytes, and the softmax of a row in one pass.

state   (m, s) of some values: the largest, and the sum of exp(value - m); (-inf, 0) without values
lanes   what each of `width` threads knows of a row: columns t, t + width, t + 2 * width, ...
empty   a row that holds nothing but -inf
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from ..cases import Case, Level, ceil_div, values
from ..images import grid_for
from ..requirements import Requirement
from ..spec import FunctionSpec, KernelSpec
from ..tolerance import Tolerance

UNIT = "t2_09_fusion"

THREADS = 128
WARPS = THREADS // 32

Array = np.ndarray
Suspect = Callable[[Case], dict[str, Array]]

FLOAT32 = Requirement("float64", "float64_arithmetic", limit=lambda case: 0)


# -- fused_silu --------------------------------------------------------------------------------


def silu_case(
    rng: np.random.Generator, rows: int, columns: int, block: tuple[int, int], far: float = 0
) -> Case:
    """(out, x, bias, rows, columns) with at least one thread an element; far: added to |x|."""
    x = values(rng, (rows, columns))
    args = {
        "out": np.zeros((rows, columns), np.float32),
        "x": x + np.copysign(np.float32(far), x),
        "bias": values(rng, columns), "rows": rows, "columns": columns,
    }  # fmt: skip
    label = f"{rows} x {columns}" + (", v far from 0" if far else "")
    return Case(args, grid_for(rows, columns, block), block, label)


def silu_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Matrices that are not square, one row, one column, more than a block."""
    shapes = [(2, 3), (3, 5), (1, 40), (35, 1), (8, 32), (9, 33), (17, 70)]
    if level == "grader":
        shapes += [(int(m), int(n)) for m, n in rng.integers(1, 100, size=(3, 2))]
    for number, (rows, columns) in enumerate(shapes):
        yield silu_case(rng, rows, columns, ((32, 8), (16, 16), (8, 4))[number % 3])
    yield silu_case(rng, 5, 37, (32, 8), far=200)


def silu(v: Array) -> Array:
    """v / (1 + exp(-v))."""
    return np.asarray(v / (1 + np.exp(-v)))


def gate_overflown(v: Array) -> Array:
    """v * exp(v) / (1 + exp(v)) in float32: infinity over infinity for a large v."""
    with np.errstate(over="ignore", invalid="ignore"):
        e = np.exp(v.astype(np.float32))
        return np.asarray(v * (e / (1 + e)))


def activated(rule: Callable[[Array, Array], Array]) -> Suspect:
    """What `rule` makes of x and the bias, in float64."""

    def result(case: Case) -> dict[str, Array]:
        x, bias = (case.args[name].astype(np.float64) for name in ("x", "bias"))
        return {"out": np.broadcast_to(rule(x, bias), x.shape)}

    return result


FUSED_SILU = KernelSpec(
    "fused_silu", UNIT, 2, ("out",), silu_cases, activated(lambda x, b: silu(x + b)),
    writes_once=True,
    suspects={
        "bias_missing": activated(lambda x, b: silu(x)),
        "bias_behind": activated(lambda x, b: silu(x) + b),
        "gate_alone": activated(lambda x, b: 1 / (1 + np.exp(-(x + b)))),
        "gate_times_x": activated(lambda x, b: x / (1 + np.exp(-(x + b)))),
        "sign_lost": activated(lambda x, b: (x + b) / (1 + np.exp(x + b))),
        "bias_alone": activated(lambda x, b: x + b),
        "relu": activated(lambda x, b: np.maximum(x + b, 0)),
        "exp_overflows": activated(lambda x, b: gate_overflown(x + b)),
    },
    causes={
        "bias_missing": "That is SiLU of x without the bias.",
        "bias_behind": "The bias is added to the result; it belongs to x, before SiLU.",
        "gate_alone": "That is 1 / (1 + exp(-v)); it still has to be multiplied by v.",
        "gate_times_x": "The gate is right, but it is multiplied by x, not by x + bias.",
        "sign_lost": "That is v / (1 + exp(v)): the minus in the exponent is missing.",
        "bias_alone": "That is v = x + bias; SiLU is missing.",
        "relu": "That is the larger of v and 0, another activation.",
        "exp_overflows": "exp(v) of a large v is infinite in float32, and infinity over infinity "
        "is NaN.",
    },
    hints={
        "bias_missing": ("What is v?", "v = x[row, col] + bias[col]."),
        "bias_behind": ("Which comes first, the bias or SiLU?", "v = x[row, col] + bias[col]."),
        "gate_alone": ("What does the third kernel do?", "It multiplies by v."),
        "gate_times_x": ("What does the third kernel multiply?", "v, that is x + bias."),
        "sign_lost": ("What is the gate of a large v: 1 or 0?", "1: it has exp(-v)."),
        "bias_alone": ("What do the other two kernels do?", "v / (1 + exp(-v))."),
        "relu": ("What is SiLU of -1?", "-1 / (1 + exp(1)) = -0.27: v / (1 + exp(-v))."),
        "exp_overflows": (
            "Up to which v is exp(v) a float32, and what is v / infinity?",
            "Up to 88.72.  v / (1 + exp(-v)) divides by infinity at worst, and that gives 0.",
        ),
        "too_many_sectors": (
            "Which arrays need to pass through memory?",
            "Only x, bias and out.  v stays in a variable, and x runs over the columns.",
        ),
        "output_read": (
            "What is in out before the first thread stores there?",
            "Keep v in a variable; store the result alone.",
        ),
    },
    requirements=(FLOAT32, Requirement("sectors", "too_many_sectors")),
    counted=lambda: silu_case(np.random.default_rng(9), 64, 96, (32, 8)),
)  # fmt: skip


# -- norm_bytes --------------------------------------------------------------------------------


def norm_bytes(rows: int, columns: int) -> tuple[int, int]:
    """Bytes of five kernels and of one."""
    return _bytes(5, 2, 2, 3, 2)(rows, columns)


def _bytes(
    in_matrix: int, in_row: int, in_column: int, out_matrix: int, out_row: int,
    fused: Callable[[int, int], int] = lambda m, n: 4 * (2 * m * n + 2 * n), size: int = 4,
) -> Callable[[int, int], tuple[int, int]]:  # fmt: skip
    def total(rows: int, columns: int) -> tuple[int, int]:
        matrices = (in_matrix + out_matrix) * rows * columns
        vectors = (in_row + out_row) * rows + in_column * columns
        return size * (matrices + vectors), fused(rows, columns)

    return total


def norm_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[int, int]]:
    """(rows, columns): the example, a row, a column, large ones."""
    yield from [(2, 4), (1, 7), (7, 1), (64, 1000), (8192, 4096)]
    for _ in range(4 if level == "student" else 20):
        rows, columns = (int(2 ** rng.uniform(0, 14)) for _ in range(2))
        yield rows, columns


NORM_BYTES = FunctionSpec(
    "norm_bytes", UNIT, 2, norm_inputs, norm_bytes,
    suspects={
        "elements_not_bytes": _bytes(5, 2, 2, 3, 2, lambda m, n: 2 * m * n + 2 * n, 1),
        "reads_only": _bytes(5, 2, 2, 0, 0, lambda m, n: 4 * (m * n + 2 * n)),
        "matrices_only": _bytes(5, 0, 0, 3, 0, lambda m, n: 8 * m * n),
        "per_column_forgotten": _bytes(5, 2, 0, 3, 2, lambda m, n: 8 * m * n),
        "fused_keeps_row_values": _bytes(
            5, 2, 2, 3, 2, lambda m, n: 4 * (2 * m * n + 2 * n + 4 * m)
        ),
        "fused_stores_row_values": _bytes(
            5, 2, 2, 3, 2, lambda m, n: 4 * (2 * m * n + 2 * n + 2 * m)
        ),
        "weights_by_row": lambda m, n: (4 * (8 * m * n + 6 * m), 4 * (2 * m * n + 2 * m)),
        "fused_reads_weights_for_each_row": _bytes(5, 2, 2, 3, 2, lambda m, n: 16 * m * n),
        "fused_forgets_weights": _bytes(5, 2, 2, 3, 2, lambda m, n: 8 * m * n),
        "rows_and_columns_swapped": lambda m, n: norm_bytes(n, m),
        "broadcast_counted": lambda m, n: (
            4 * (9 * m * n + 3 * m * n + 2 * m), 4 * (2 * m * n + 2 * n)
        ),
    },
    causes={
        "elements_not_bytes": "These are numbers, not bytes.",
        "reads_only": "These are the reads alone; writes move bytes, too.",
        "matrices_only": "These are the matrices alone; mean, variance, weight and bias move, too.",
        "per_column_forgotten": "Weight and bias are missing.",
        "fused_keeps_row_values": "The single kernel keeps mean and variance in registers: they "
        "never go to memory.",
        "fused_stores_row_values": "The single kernel need not write mean and variance: nobody "
        "else reads them.",
        "weights_by_row": "Weight and bias have one value for each column, not for each row.",
        "fused_reads_weights_for_each_row": "The single kernel reads weight and bias for each row "
        "again; from memory they come once.",
        "fused_forgets_weights": "The single kernel needs weight and bias as well.",
        "rows_and_columns_swapped": "Mean and variance have a value for each row, weight and bias "
        "one for each column.",
        "broadcast_counted": "A mean that serves a whole row is counted once for each element.",
    },
    hints={
        "elements_not_bytes": ("How large is a float32?", "4 bytes."),
        "reads_only": ("What does each kernel leave behind?", "Count the last column, too."),
        "matrices_only": (
            "Which arrays of the table are no matrices?",
            "Two with a value a row, each written once and read once; two with a value a column.",
        ),
        "per_column_forgotten": ("What else does kernel 5 read?", "2 * columns numbers."),
        "fused_keeps_row_values": (
            "Who wants the mean besides the kernel itself?",
            "Nobody: 2 * rows * columns + 2 * columns numbers.",
        ),
        "fused_stores_row_values": (
            "Who wants the mean besides the kernel itself?",
            "Nobody: 2 * rows * columns + 2 * columns numbers.",
        ),
        "weights_by_row": ("How long are weight and bias?", "2 * columns numbers together."),
        "fused_reads_weights_for_each_row": (
            "How often does each element come from memory, by the rule of the exercise?",
            "Once: 2 * columns numbers.",
        ),
        "fused_forgets_weights": ("What comes from outside?", "x, weight and bias."),
        "rows_and_columns_swapped": (
            "How many means has a matrix of 2 rows and 4 columns?",
            "2: one for each row.",
        ),
        "broadcast_counted": (
            "How often is an element counted that many threads want?",
            "Once a kernel: rows numbers for mean and for variance.",
        ),
        "wrong_values": (
            "Take the table line by line: three kinds of arrays.",
            "Reads: 5 matrices, 2 arrays by row, 2 by column.  Writes: 3 matrices, 2 by row.",
        ),
    },
)  # fmt: skip


# -- merge_states ------------------------------------------------------------------------------


def merge_states(m1: float, s1: float, m2: float, s2: float) -> tuple[float, float]:
    """The state of both parts together."""
    m = max(m1, m2)
    if m == -math.inf:
        return m, 0.0
    return m, s1 * math.exp(m1 - m) + s2 * math.exp(m2 - m)


def state_inputs(
    rng: np.random.Generator, level: Level
) -> Iterator[tuple[float, float, float, float]]:
    """Near ones first, then far ones, then empty ones."""
    none = -math.inf
    yield from [
        (2.0, 1.5, 1.0, 3.0), (-1.0, 1.25, 0.5, 2.0), (1.0, 2.0, 1.0, 3.0), (3.0, 4.0, -2.5, 7.0),
        (none, 0.0, 3.0, 1.5), (-4.0, 2.0, none, 0.0), (1e4, 2.0, -1e4, 5.0), (-1e4, 2.0, 1e4, 5.0),
        (1e4, 1.5, 1e4 - 1, 2.0), (-1e4, 3.0, -1e4 - 2, 1.0), (none, 0.0, none, 0.0),
    ]  # fmt: skip
    for _ in range(4 if level == "student" else 20):
        m1, m2 = rng.uniform(-5, 5, size=2) + rng.choice([-1e4, 0, 1e4])
        s1, s2 = rng.uniform(1, 50, size=2)
        yield float(m1), float(s1), float(m2), float(s2)


def _exp(x: float) -> float:
    return math.nan if math.isnan(x) else math.inf if x > 709 else math.exp(x)


def _merged(
    rule: Callable[[float, float, float, float, float], float],
) -> Callable[[float, float, float, float], tuple[float, float]]:
    """A suspect: m right, s by rule(m1, s1, m2, s2, m) where a part has values."""

    def mistake(m1: float, s1: float, m2: float, s2: float) -> tuple[float, float]:
        m = max(m1, m2)
        return (m, 0.0) if m == -math.inf else (m, rule(m1, s1, m2, s2, m))

    return mistake


MERGE_STATES = FunctionSpec(
    "merge_states", UNIT, 2, state_inputs, merge_states,
    suspects={
        "nan_for_empty": lambda m1, s1, m2, s2: (
            (max(m1, m2), math.nan) if max(m1, m2) == -math.inf else merge_states(m1, s1, m2, s2)
        ),
        "scales_exchanged": _merged(
            lambda m1, s1, m2, s2, m: s1 * _exp(m2 - m) + s2 * _exp(m1 - m)
        ),
        "sign_of_the_scale": _merged(
            lambda m1, s1, m2, s2, m: s1 * _exp(m - m1) + s2 * _exp(m - m2)
        ),
        "scales_added": _merged(lambda m1, s1, m2, s2, m: _exp(m1 - m) + _exp(m2 - m)),
        "larger_part_only": lambda m1, s1, m2, s2: (m1, s1) if m1 >= m2 else (m2, s2),
        "first_scaled_alone": _merged(lambda m1, s1, m2, s2, m: s1 * _exp(m1 - m) + s2),
        "second_scaled_alone": _merged(lambda m1, s1, m2, s2, m: s1 + s2 * _exp(m2 - m)),
        "sums_added": lambda m1, s1, m2, s2: (max(m1, m2), s1 + s2),
        "logarithm": _merged(
            lambda m1, s1, m2, s2, m: math.log(s1 * _exp(m1 - m) + s2 * _exp(m2 - m))
        ),
    },
    causes={
        "nan_for_empty": "Two empty parts give NaN: -inf minus -inf is not a number.",
        "sums_added": "The sums are added as they are, though they were made with different m.",
        "scales_exchanged": "Each sum is scaled by the factor of the other part.",
        "sign_of_the_scale": "The scales have the wrong sign: exp(m - m1) makes the sum larger.",
        "scales_added": "The scales are added; each of them belongs in front of its sum.",
        "larger_part_only": "The part with the smaller m is left out.",
        "first_scaled_alone": "Only the first sum is scaled; the second may have the smaller m.",
        "second_scaled_alone": "Only the second sum is scaled; the first may have the smaller m.",
        "logarithm": "That is the logarithm of the sum.",
    },
    hints={
        "nan_for_empty": (
            "What is -inf minus -inf?",
            "Not a number.  If m is -math.inf, return (m, 0.0) before any exp.",
        ),
        "sums_added": (
            "What does s1 mean: a sum of exp(value - which m)?",
            "Bring both to the larger m: s1 * exp(m1 - m) + s2 * exp(m2 - m).",
        ),
        "scales_exchanged": (
            "Which sum was made with m1?",
            "s1.  It is multiplied by exp(m1 - m).",
        ),
        "sign_of_the_scale": (
            "exp(value - m1) times what is exp(value - m)?",
            "exp(m1 - m), which is at most 1.",
        ),
        "scales_added": ("Where are s1 and s2 in your sum?", "s1 * exp(m1 - m), and so on."),
        "larger_part_only": ("Do the smaller values count?", "Yes, scaled: exp(m2 - m) * s2."),
        "first_scaled_alone": ("What if m2 is the smaller one?", "Scale both; one scale is 1."),
        "second_scaled_alone": ("What if m1 is the smaller one?", "Scale both; one scale is 1."),
        "logarithm": ("What is s?", "The sum itself, without a logarithm."),
        "raised": (
            "How large is exp(10000)?",
            "Too large for a float.  Only take exp of differences to the larger m: they are at "
            "most 0.",
        ),
        "wrong_values": (
            "Which m do both sums need before they may be added?",
            "m = max(m1, m2), s = s1 * exp(m1 - m) + s2 * exp(m2 - m), and (-inf, 0) when both "
            "are empty.",
        ),
    },
)  # fmt: skip


# -- rows, and what threads know of them -------------------------------------------------------

NONE = np.float32(-np.inf)


def numbers(rng: np.random.Generator, rows: int, n: int, masked: bool) -> Array:
    """Rows of every kind in turn; with `masked`, -inf among them.   (rows, n) float32.

    Plain, near 1e4, rising, near -1e4, falling; masked: begins with -inf, empty, one value only,
    every third value -inf.
    """
    x = np.round(rng.normal(0, 3, size=(rows, n)), 3).astype(np.float32)
    kinds = ["plain", "high", "begins", "empty", "rising", "low", "one", "thirds", "falling"]
    if not masked:
        kinds = ["plain", "high", "rising", "low", "falling"]
    for row, kind in zip(x, kinds * ceil_div(rows, len(kinds)), strict=False):
        if kind in ("high", "low"):
            row += np.float32(1e4 if kind == "high" else -1e4)
        elif kind in ("rising", "falling"):
            row.sort()
            row[:] = row if kind == "rising" else row[::-1].copy()
        elif kind == "begins":
            row[: ceil_div(2 * n, 3) if n > 1 else 0] = NONE
        elif kind == "empty":
            row[:] = NONE
        elif kind == "one":
            row[: n - 1] = NONE
        elif kind == "thirds":
            row[::3] = NONE
    return x


SHAPES = [(1, 3), (2, 40), (9, 70), (1, 1), (3, 128), (10, 129), (5, 31), (9, 300), (4, 33)]


def shapes(rng: np.random.Generator, level: Level) -> list[tuple[int, int]]:
    """(rows, n): less than a warp and than a block, exactly, one more; rows that fill no block."""
    more = [(int(m), int(n)) for m, n in rng.integers(1, (14, 500), size=(4, 2))]
    return SHAPES + (more if level == "grader" else [])


def state(x: Array) -> tuple[Array, Array]:
    """(m, s) of each row, in float64."""
    wide = x.astype(np.float64)
    m = wide.max(axis=1, initial=-np.inf)
    with np.errstate(invalid="ignore"):
        terms = np.where(np.isneginf(wide), 0.0, np.exp(wide - m[:, None]))
    return m, terms.sum(axis=1)


def softmax(x: Array) -> Array:
    """Each row's softmax in float64; zeros for an empty row."""
    m, s = state(x)
    return soft(x, m, s)


def soft(x: Array, m: Array, s: Array) -> Array:
    """exp(x - m) / s, zeros where s is 0."""
    with np.errstate(all="ignore"):
        return np.where(s[:, None] > 0, np.exp(x.astype(np.float64) - m[:, None]) / s[:, None], 0.0)


def lanes(x: Array, width: int) -> Array:
    """The columns of each thread, -inf where it has none any more.   (rows, turns, width)."""
    rows, n = x.shape
    wide = np.full((rows, ceil_div(n, width) * width), -np.inf)
    wide[:, :n] = x
    return wide.reshape(rows, -1, width)


def careless(x: Array, width: int) -> Array:
    """Rows that an online softmax turns to NaN when -inf minus -inf is not looked after."""
    dealt = lanes(x, width)
    first = np.isneginf(dealt[:, 0, : x.shape[1]])
    n = x.shape[1]
    both = n <= width // 2  # two threads without a column are merged
    return first.any(axis=1) | both


def unscaled(x: Array, width: int) -> tuple[Array, Array]:
    """(m, s) when no thread scales its sum as its m rises; the threads are merged properly."""
    dealt = lanes(x, width)
    running = np.maximum.accumulate(dealt, axis=1)
    with np.errstate(invalid="ignore"):
        sums = np.where(np.isneginf(dealt), 0.0, np.exp(dealt - running)).sum(axis=1)
    tops = running[:, -1]
    m = tops.max(axis=1)
    with np.errstate(invalid="ignore"):
        scale = np.where(np.isneginf(tops), 0.0, np.exp(tops - m[:, None]))
    return m, (sums * scale).sum(axis=1)


def added(x: Array, width: int) -> tuple[Array, Array]:
    """(m, s) when the sums of the threads are added as they are."""
    dealt = lanes(x, width)
    m, _ = state(x)
    tops = dealt.max(axis=1)
    with np.errstate(invalid="ignore"):
        sums = np.where(np.isneginf(dealt), 0.0, np.exp(dealt - tops[:, None])).sum(axis=1)
    return m, sums.sum(axis=1)


def overflown(x: Array) -> Array:
    """The sum of exp(value) in float32, the largest value not subtracted."""
    with np.errstate(all="ignore"):
        return np.asarray(np.exp(x).sum(axis=1, dtype=np.float32))


STATE_CAUSES = {
    "nan_from_inf": "Rows with -inf become NaN: somewhere -inf minus -inf is computed, where a "
    "thread has seen no finite value yet, or has no column at all.",
    "nan_for_empty": "Rows of -inf alone become NaN.",
    "not_rescaled": "The sum is not scaled when the maximum rises: its older terms still have "
    "the old maximum.",
    "sums_added": "The sums of the threads are added as they are, though each was made with its "
    "own maximum.",
    "max_not_subtracted": "exp of a value near 1e4 is infinite in float32: the maximum is not "
    "subtracted.",
    "too_many_sectors": "Values are loaded more often than needed.",
}
STATE_HINTS = {
    "nan_from_inf": (
        "What is -inf minus -inf?",
        "Not a number.  Skip a value that is -inf, and skip a merge when the larger m is -inf.",
    ),
    "nan_for_empty": (
        "What is s in a row of -inf alone?",
        "0, and m is -inf.  Treat this row by itself before you subtract m or divide by s.",
    ),
    "not_rescaled": (
        "A new maximum comes.  What do the older terms of the sum have in their exponent?",
        "The old one.  s = s * exp(m - new) + exp(value - new), then m = new.",
    ),
    "sums_added": (
        "Which m does the sum of each thread belong to?",
        "Its own.  Scale both sums to the larger m: s * exp(m - new) + s2 * exp(m2 - new).",
    ),
    "max_not_subtracted": (
        "What is exp(10000) in float32?",
        "Infinite.  Only take exp of a value minus the largest one seen: that is at most 1.",
    ),
    "too_many_sectors": (
        "How often is each value loaded?  Each x[row, col] in the text is a load.",
        "Load it into a variable, use that twice, and find m and s in the same loop.",
    ),
    "too_many_instructions": (
        "Do all 32 lanes of the warp share the row?",
        "Lane l has columns l, l + 32, ...; the lanes merge their states with five shuffles.",
    ),
    "float64_arithmetic": (
        "Which value on this line has 64 bits?",
        "0.0 and -math.inf are float64: write np.float32(0) and np.float32(-math.inf).",
    ),
    "only_first_block": (
        "Which row has warp 0 of block 1?",
        "Row 4: the row depends on the block, cuda.grid(1) // 32.",
    ),
}  # fmt: skip


# -- row_states --------------------------------------------------------------------------------


def states_case(rng: np.random.Generator, rows: int, n: int) -> Case:
    """(top, total, x, n), a block for each row."""
    args = {
        "top": np.zeros(rows, np.float32), "total": np.zeros(rows, np.float32),
        "x": numbers(rng, rows, n, masked=True), "n": n,
    }  # fmt: skip
    return Case(args, rows, THREADS, f"{rows} rows, n = {n}")


def states_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """The broken kernel's own sizes among them."""
    for rows, n in [(3, 300), *shapes(rng, level)]:
        yield states_case(rng, rows, n)


def of_states(rule: Callable[[Array], tuple[Array, Array]]) -> Suspect:
    """What `rule` says of x."""

    def result(case: Case) -> dict[str, Array]:
        m, s = rule(case.args["x"])
        return {"top": m, "total": s}

    return result


def _nan_states(x: Array) -> tuple[Array, Array]:
    m, s = state(x)
    return m, np.where(careless(x, THREADS), np.nan, s)


ROW_STATES = KernelSpec(
    "row_states", UNIT, 2, ("top", "total"), states_cases, of_states(state),
    tolerance={"float32": Tolerance(2e-5, 1e-7)},
    suspects={
        "nan_from_inf": of_states(_nan_states),
        "nan_for_empty": of_states(
            lambda x: (state(x)[0], np.where(state(x)[1] == 0, np.nan, state(x)[1]))
        ),
        "empty_from_finite_start": of_states(
            lambda x: (np.maximum(state(x)[0], np.finfo(np.float32).min), state(x)[1])
        ),
        "not_rescaled": of_states(lambda x: unscaled(x, THREADS)),
        "sums_added": of_states(lambda x: added(x, THREADS)),
        "max_not_subtracted": of_states(lambda x: (state(x)[0], overflown(x))),
    },
    causes={
        **STATE_CAUSES,
        "empty_from_finite_start": "A row of -inf alone has a finite m: the number that your m "
        "starts with.",
    },
    hints={
        **STATE_HINTS,
        "race": (
            "The message names two lines of the tree.  In which round is each of the threads?",
            "A barrier between the rounds: cuda.syncthreads() behind the if, inside the loop.",
        ),
        "empty_from_finite_start": (
            "Which m has a row without a finite value?",
            "-inf.  Start with it and skip -inf, or put it right at the end.",
        ),
    },
    requirements=(
        FLOAT32,
        Requirement("load_sectors", "too_many_sectors"),
        Requirement("barriers", "too_many_barriers", limit=lambda case: 8 * case.blocks),
        Requirement("shared_bytes", "too_much_shared", limit=lambda case: 1024),
    ),
    counted=lambda: states_case(np.random.default_rng(4), 8, 1024),
)  # fmt: skip


# -- online_softmax ----------------------------------------------------------------------------


def softmax_case(rng: np.random.Generator, rows: int, n: int) -> Case:
    """(y, x, rows, n), a warp for each row."""
    x = numbers(rng, rows, n, masked=True)
    args = {"y": np.zeros((rows, n), np.float32), "x": x, "rows": rows, "n": n}
    return Case(args, ceil_div(rows, WARPS), THREADS, f"{rows} rows, n = {n}")


def softmax_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Rows of every kind and length."""
    for rows, n in shapes(rng, level):
        yield softmax_case(rng, rows, n)


def of_rows(rule: Callable[[Array], Array]) -> Suspect:
    """What `rule` makes of x."""
    return lambda case: {"y": rule(case.args["x"])}


def _divided(x: Array, m: Array, s: Array) -> Array:
    """exp(x - m) / s without care for empty rows: NaN there."""
    with np.errstate(all="ignore"):
        return np.asarray(np.exp(x.astype(np.float64) - m[:, None]) / s[:, None])


def _naive(x: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(np.exp(x) / overflown(x)[:, None])


def _lanes_alone(x: Array) -> Array:
    """Each lane divides by its own sum."""
    dealt = lanes(x, 32)
    top = dealt.max(axis=1, keepdims=True)
    with np.errstate(all="ignore"):
        terms = np.where(np.isneginf(dealt), 0.0, np.exp(dealt - top))
        total = terms.sum(axis=1, keepdims=True)
        shares = np.where(total > 0, terms / total, 0.0)
    return np.asarray(shares.reshape(x.shape[0], -1)[:, : x.shape[1]])


def _one_row_a_block(case: Case) -> dict[str, Array]:
    """Only row b was written by block b."""
    right = np.ma.array(softmax(case.args["x"]))
    right[case.blocks :] = np.ma.masked
    return {"y": right}


ONLINE_SOFTMAX = KernelSpec(
    "online_softmax", UNIT, 2, ("y",), softmax_cases, of_rows(softmax),
    tolerance={"float32": Tolerance(2e-5, 1e-7)},
    writes_once=True,
    suspects={
        "nan_from_inf": of_rows(
            lambda x: np.where(
                (careless(x, 32) | (state(x)[1] == 0))[:, None], np.nan, softmax(x)
            )
        ),
        "nan_for_empty": of_rows(lambda x: _divided(x, *state(x))),
        "not_rescaled": of_rows(lambda x: soft(x, *unscaled(x, 32))),
        "sums_added": of_rows(lambda x: soft(x, *added(x, 32))),
        "max_not_subtracted": of_rows(_naive),
        "not_divided": of_rows(
            lambda x: softmax(x) * np.where(state(x)[1] > 0, state(x)[1], 1)[:, None]
        ),
        "lanes_alone": of_rows(_lanes_alone),
        "one_row_a_block": _one_row_a_block,
    },
    causes={
        **STATE_CAUSES,
        "not_divided": "The values are exp(x - m); they are not divided by their sum.",
        "lanes_alone": "Each lane divides by the sum of its own columns: the lanes have not "
        "merged their states.",
        "one_row_a_block": "Each block has done one row only, its number; it has four warps.",
    },
    hints={
        **STATE_HINTS,
        "not_divided": ("What do the values of a row add up to?", "1: divide by s."),
        "lanes_alone": (
            "How does a lane learn what the others have seen?",
            "By shuffles: merge with the lane 16, 8, 4, 2 and 1 away, cuda.shfl_xor_sync.",
        ),
        "one_row_a_block": (
            "Which row has warp 1 of block 0?",
            "Row 1: row = cuda.grid(1) // 32.",
        ),
    },
    requirements=(
        FLOAT32,
        Requirement(
            "load_sectors", "too_many_sectors",
            limit=lambda case: 2 * case.args["x"].size // 8,
        ),
        Requirement("issue_slots", "too_many_instructions", times=3.0),
    ),
    counted=lambda: softmax_case(np.random.default_rng(4), 8, 512),
)  # fmt: skip


# -- row_loss ----------------------------------------------------------------------------------


def loss_case(rng: np.random.Generator, rows: int, n: int) -> Case:
    """(loss, x, target, rows, n), a warp for each row."""
    args = {
        "loss": np.zeros(rows, np.float32), "x": numbers(rng, rows, n, masked=False),
        "target": rng.integers(0, n, size=rows).astype(np.int32), "rows": rows, "n": n,
    }  # fmt: skip
    return Case(args, ceil_div(rows, WARPS), THREADS, f"{rows} rows, n = {n}")


def loss_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Rows of every kind and length."""
    for rows, n in shapes(rng, level):
        yield loss_case(rng, rows, n)


def chosen(x: Array, target: Array) -> Array:
    """x[row, target[row]] of each row."""
    return np.asarray(x[np.arange(x.shape[0]), target])


def of_loss(rule: Callable[[Array, Array], Array]) -> Suspect:
    """What `rule` makes of x and the targets."""

    def result(case: Case) -> dict[str, Array]:
        with np.errstate(all="ignore"):
            return {"loss": rule(case.args["x"], case.args["target"])}

    return result


def row_loss(x: Array, target: Array) -> Array:
    """m + log(s) - x[target], in float64."""
    m, s = state(x)
    return np.asarray(m + np.log(s) - chosen(x, target).astype(np.float64))


def _rounded(x: Array, target: Array) -> Array:
    """m + log(s) in float32, then the difference."""
    m, s = state(x)
    both = m.astype(np.float32) + np.log(s).astype(np.float32)
    return np.asarray(both - chosen(x, target))


ROW_LOSS = KernelSpec(
    "row_loss", UNIT, 2, ("loss",), loss_cases, of_loss(row_loss),
    tolerance={"float32": Tolerance(2e-5, 2e-6)},
    writes_once=True,
    suspects={
        "digits_lost": of_loss(_rounded),
        "no_logarithm": of_loss(lambda x, t: softmax(x)[np.arange(len(t)), t]),
        "sign_lost": of_loss(lambda x, t: -row_loss(x, t)),
        "sum_forgotten": of_loss(lambda x, t: state(x)[0] - chosen(x, t)),
        "target_forgotten": of_loss(lambda x, t: state(x)[0] + np.log(state(x)[1])),
        "target_zero": of_loss(lambda x, t: row_loss(x, 0 * t)),
        "max_forgotten": of_loss(lambda x, t: np.log(state(x)[1]) - chosen(x, t)),
        "not_rescaled": of_loss(
            lambda x, t: unscaled(x, 32)[0] + np.log(unscaled(x, 32)[1]) - chosen(x, t)
        ),
        "sums_added": of_loss(
            lambda x, t: state(x)[0] + np.log(added(x, 32)[1]) - chosen(x, t)
        ),
        "max_not_subtracted": of_loss(lambda x, t: np.log(overflown(x)) - chosen(x, t)),
        "nan_from_inf": of_loss(
            lambda x, t: row_loss(x, t) * (1 if x.shape[1] > 16 else np.nan)
        ),
    },
    causes={
        **STATE_CAUSES,
        "nan_from_inf": "The loss is NaN where the row is short: two lanes without a column are "
        "merged, and -inf minus -inf is computed.",
        "digits_lost": "m + log(s) is computed first.  Near 1e4 a float32 has steps of 0.001, "
        "so the digits of log(s) are gone before the target is subtracted.",
        "no_logarithm": "That is the softmax at the target; the loss is minus its logarithm.",
        "sign_lost": "That is the logarithm of the softmax; the loss has the other sign.",
        "sum_forgotten": "log(s) is missing.",
        "target_forgotten": "The score of the target is not subtracted.",
        "target_zero": "That is the loss for column 0, whatever the target is.",
        "max_forgotten": "m is missing.",
    },
    hints={
        **STATE_HINTS,
        "digits_lost": (
            "Which two of the three terms are large?",
            "m and the target's score.  Subtract them first: (m - x[row, target[row]]) + log(s).",
        ),
        "no_logarithm": ("What is the loss of a certain target?", "0: minus the logarithm of 1."),
        "sign_lost": ("Can a loss be negative here?", "No: m + log(s) - score."),
        "sum_forgotten": ("What is the loss of [0, 0, 0, 0]?", "log(4): add log(s)."),
        "target_forgotten": ("Where does the target come in?", "x[row, target[row]]."),
        "target_zero": ("Which column is asked for?", "target[row], the row's own."),
        "max_forgotten": (
            "log(s) is the logarithm of a sum of exp(value - m).  What was taken away?",
            "m: add it again.",
        ),
        "too_many_sectors": (
            "How often does each score come from memory?",
            "Once is enough: m and s in the same loop, no softmax, one load for the target.",
        ),
    },
    requirements=(
        FLOAT32,
        Requirement("load_sectors", "too_many_sectors", times=1.1),
        Requirement("issue_slots", "too_many_instructions", times=3.0),
    ),
    counted=lambda: loss_case(np.random.default_rng(4), 8, 512),
)  # fmt: skip


SPECS = [FUSED_SILU, NORM_BYTES, MERGE_STATES, ROW_STATES, ONLINE_SOFTMAX, ROW_LOSS]
