"""Exercises of t2_08_tiles: Triton kernels, judged through Triton's interpreter.

tile     the values that one program holds; its extents are powers of two
stride   the distance from one row to the next, in elements
panel    a row of tiles of the first matrix, or a column of tiles of the second
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from .. import cases
from ..cases import Case, Level, ceil_div
from ..spec import CompiledFact, FunctionSpec, Traffic, TritonSpec
from ..tolerance import Tolerance

UNIT = "t2_08_tiles"

BLOCK = 64
T = 16
GROUP = 3

Array = np.ndarray


# -- what the exercises have in common ---------------------------------------------------------


def power_of_two(n: int) -> int:
    """The smallest power of two that is not below n."""
    return 1 << max(n - 1, 0).bit_length()


def rows_of(values: Array, gap: int) -> Array:
    """The same rows with `gap` elements between the end of one and the start of the next."""
    wide = np.zeros((values.shape[0], values.shape[1] + gap), values.dtype)
    wide[:, : values.shape[1]] = values
    return wide[:, : values.shape[1]]


def stride(array: Array) -> int:
    """From row to row, in elements."""
    return int(array.strides[0] // array.itemsize)


def wide(case: Case, name: str) -> Array:
    """An argument in float64."""
    return np.asarray(case.args[name].astype(np.float64))


OTHER = (
    "What do the lanes beyond the row hold, and what does the reduction make of them?",
    "other= has to be what changes nothing: -inf for a maximum, 0 for a sum and for tl.dot.",
)

#: (rows, columns, gap): one element, less than a tile, a tile, one more, a strided array.
SHAPES = [(1, 1, 0), (2, 5, 0), (3, 32, 0), (2, 33, 0), (4, 7, 5), (3, 100, 28)]


def shapes(rng: np.random.Generator, level: Level) -> list[tuple[int, int, int]]:
    if level == "student":
        return SHAPES
    drawn = [(int(r), int(c), int(g)) for r, c, g in rng.integers(1, 90, size=(3, 3))]
    return [*SHAPES, *drawn]


# -- scaled_add --------------------------------------------------------------------------------


def add_case(n: int, rng: np.random.Generator) -> Case:
    """out = a * x + y on n elements."""
    args = {
        "out": np.zeros(n, np.float32), "x": cases.values(rng, n), "y": cases.values(rng, n),
        "a": float(np.float32(rng.uniform(1.5, 4))), "n": n, "BLOCK": BLOCK,
    }  # fmt: skip
    return Case(args, ceil_div(n, BLOCK), BLOCK, f"n = {n}")


def add_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    for n in cases.sizes(BLOCK, level, rng):
        yield add_case(n, rng)


SCALED_ADD = TritonSpec(
    "scaled_add", UNIT, 1, ("out",), add_cases,
    lambda case: {"out": case.args["a"] * wide(case, "x") + wide(case, "y")},
    traffic=(
        Traffic("loaded", lambda case: 8 * case.args["n"]),
        Traffic("stored", lambda case: 4 * case.args["n"]),
    ),
    counted=lambda: add_case(1000, np.random.default_rng(8)),
    suspects={
        "factor_missing": lambda case: {"out": wide(case, "x") + wide(case, "y")},
        "factor_on_both": lambda case: {
            "out": case.args["a"] * (wide(case, "x") + wide(case, "y"))
        },
    },
    causes={
        "factor_missing": "The factor a is not in the result.",
        "factor_on_both": "y was multiplied by a as well.",
    },
    hints={
        "factor_missing": ("Which parameter has no place in your sum?", "a * x + y: multiply x."),
        "factor_on_both": ("What belongs to the product?", "a * x alone; then add y."),
    },
)  # fmt: skip


# -- tile_tally --------------------------------------------------------------------------------


def tallies(
    rng: np.random.Generator, level: Level
) -> Iterator[tuple[int, int, int, int, int, int]]:
    """(m, n, k, bm, bn, bk): the examples, then tails on each axis."""
    yield from [
        (70, 100, 40, 32, 32, 16), (64, 64, 64, 32, 64, 16), (1, 1, 1, 16, 16, 16),
        (17, 130, 5, 16, 64, 32), (33, 31, 200, 16, 32, 64), (4096, 4096, 4096, 128, 256, 64),
        (65, 16, 16, 64, 16, 16), (16, 65, 16, 16, 64, 16), (1, 4096, 4096, 16, 128, 64),
    ]  # fmt: skip
    for _ in range(4 if level == "student" else 20):
        m, n, k = (int(size) for size in rng.integers(1, 300, size=3))
        bm, bn, bk = (int(size) for size in rng.choice([16, 32, 64, 128], size=3))
        yield m, n, k, bm, bn, bk


def parts(m: int, n: int, k: int, bm: int, bn: int, bk: int) -> tuple[int, int, int, int]:
    """(tiles down, tiles along, elements loaded, lanes of all loads)."""
    down, along, steps = -(-m // bm), -(-n // bn), -(-k // bk)
    lanes = down * along * steps * (bm * bk + bk * bn)
    return down, along, m * k * along + k * n * down, lanes


def tile_tally(m: int, n: int, k: int, bm: int, bn: int, bk: int) -> tuple[int, int, int]:
    """(programs, bytes loaded, lanes masked off)."""
    down, along, loaded, lanes = parts(m, n, k, bm, bn, bk)
    return down * along, 2 * loaded, lanes - loaded


Tally = Callable[..., tuple[int, int, int]]


def tally_by(
    programs: Callable[..., int] | None = None,
    bytes_: Callable[..., int] | None = None,
    masked: Callable[..., int] | None = None,
) -> Tally:
    """A suspect: one or two of the numbers by another rule."""

    def mistake(*sizes: int) -> tuple[int, int, int]:
        right = tile_tally(*sizes)
        rules = (programs, bytes_, masked)
        one, two, three = (
            value if rule is None else rule(*sizes) for rule, value in zip(rules, right)
        )
        return one, two, three

    return mistake


def lanes_of(*sizes: int) -> int:
    return parts(*sizes)[3]


TILE_TALLY = FunctionSpec(
    "tile_tally", UNIT, 2, tallies, tile_tally,
    suspects={
        "rounded_down": tally_by(programs=lambda m, n, k, bm, bn, bk: (m // bm) * (n // bn)),
        "steps_as_programs": tally_by(
            programs=lambda m, n, k, bm, bn, bk: -(-m // bm) * -(-n // bn) * -(-k // bk)
        ),
        "float32_bytes": tally_by(bytes_=lambda *sizes: 4 * parts(*sizes)[2]),
        "elements_not_bytes": tally_by(bytes_=lambda *sizes: parts(*sizes)[2]),
        "masked_lanes_loaded": tally_by(bytes_=lambda *sizes: 2 * lanes_of(*sizes)),
        "each_once": tally_by(
            bytes_=lambda m, n, k, *tile: 2 * (m * k + k * n),
            masked=lambda m, n, k, *tile: lanes_of(m, n, k, *tile) - m * k - k * n,
        ),
        "each_once_bytes": tally_by(bytes_=lambda m, n, k, *tile: 2 * (m * k + k * n)),
        "axes_swapped": tally_by(
            bytes_=lambda m, n, k, bm, bn, bk: 2 * (m * k * -(-m // bm) + k * n * -(-n // bn))
        ),
        "all_lanes": tally_by(masked=lanes_of),
        "bytes_masked": tally_by(masked=lambda *sizes: 2 * tile_tally(*sizes)[2]),
        "store_counted": tally_by(
            masked=lambda m, n, k, bm, bn, bk: tile_tally(m, n, k, bm, bn, bk)[2]
            + -(-m // bm) * -(-n // bn) * bm * bn - m * n
        ),
    },
    causes={
        "rounded_down": "The number of tiles was rounded down; the last ones are part full.",
        "steps_as_programs": "The steps along k are turns of a loop, not programs.",
        "float32_bytes": "The inputs are float16: 2 bytes each.",
        "elements_not_bytes": "These are elements, not bytes.",
        "masked_lanes_loaded": "A lane that is masked off loads nothing.",
        "each_once": "That is each element once; every program that needs it loads it.",
        "each_once_bytes": "That is each element once; every program that needs it loads it.",
        "axes_swapped": "An element of a is loaded once for each tile along n, not along m.",
        "all_lanes": "These are all lanes of the loads; those that load something are no loss.",
        "bytes_masked": "Lanes are counted here, not bytes.",
        "store_counted": "The lanes of the store are counted as well; the loads are asked for.",
    },
    hints={
        "rounded_down": ("How many tiles of 16 cover 17 rows?", "Two: -(-m // bm)."),
        "steps_as_programs": (
            "What does one program of the lesson's matmul do along k?",
            "All of it, in a loop.  Programs: tiles down times tiles along.",
        ),
        "float32_bytes": ("How large is a float16?", "2 bytes."),
        "elements_not_bytes": ("How large is a float16?", "2 bytes."),
        "masked_lanes_loaded": (
            "What does the lesson's report count in its column of bytes?",
            "Elements that exist: m * k for each tile along n, k * n for each tile down.",
        ),
        "each_once": (
            "Which programs need the element a[0, 0]?",
            "All that compute row 0: ceil(n / bn) of them.",
        ),
        "each_once_bytes": (
            "Which programs need the element a[0, 0]?",
            "All that compute row 0: ceil(n / bn) of them.",
        ),
        "axes_swapped": (
            "Which programs need the element a[0, 0]?",
            "All that compute row 0: ceil(n / bn) of them.",
        ),
        "all_lanes": ("What is a lane that is masked off?", "All lanes minus the elements loaded."),
        "bytes_masked": ("What is counted?", "Lanes: no factor of 2."),
        "store_counted": (
            "Which accesses count?",
            "The two loads: bm * bk + bk * bn lanes in each step of each program.",
        ),
    },
)  # fmt: skip


# -- row_softmax -------------------------------------------------------------------------------


def softmax_case(
    rows: int, cols: int, gap: int, rng: np.random.Generator, shift: float = 0.0, scale: float = 0.0
) -> Case:
    """Rows under a scale; outputs with strides of their own."""
    x = rows_of((rng.normal(size=(rows, cols)) * 3 + shift).astype(np.float32), gap)
    out = rows_of(np.zeros((rows, cols), np.float32), 2 * gap)
    args = {
        "out": out, "lse": np.zeros(rows, np.float32), "x": x,
        "scale": scale or float(np.float32(rng.uniform(0.3, 2))), "cols": cols,
        "stride_out": stride(out), "stride_x": stride(x), "BLOCK": power_of_two(cols),
    }  # fmt: skip
    label = f"{rows} x {cols}" + (f" around {shift:g}" if shift else "")
    return Case(args, rows, (power_of_two(cols), 1), label)


def softmax_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    for rows, cols, gap in shapes(rng, level):
        yield softmax_case(rows, cols, gap, rng)
    yield softmax_case(2, 9, 0, rng, shift=300.0, scale=0.5)
    yield softmax_case(2, 9, 0, rng, shift=-300.0, scale=0.5)
    hidden = softmax_case(3, 21, 3, rng)
    hidden.args["x"][:, 1::2] = -np.inf  # as a mask of attention does
    yield hidden


def softmax_by(
    change: Callable[[Array, float, int], tuple[Array, Array]],
) -> Callable[[Case], dict[str, Array]]:
    """A reference or a suspect: (x in float64, scale, lanes of the tile) -> (out, lse)."""

    def found(case: Case) -> dict[str, Array]:
        with np.errstate(all="ignore"):
            out, lse = change(wide(case, "x"), case.args["scale"], case.args["BLOCK"])
        return {"out": out, "lse": lse}

    return found


def softmaxed(x: Array, scale: float, lanes: int) -> tuple[Array, Array]:
    s = x * scale
    top = s.max(axis=1, keepdims=True)
    total = np.exp(s - top).sum(axis=1, keepdims=True)
    return np.exp(s - top) / total, (top + np.log(total))[:, 0]


def zeros_in_row(x: Array, scale: float, lanes: int) -> tuple[Array, Array]:
    full = np.zeros((x.shape[0], lanes))
    full[:, : x.shape[1]] = x
    out, lse = softmaxed(full, scale, lanes)
    return out[:, : x.shape[1]], lse


def without_top(x: Array, scale: float, lanes: int) -> tuple[Array, Array]:
    out, lse = softmaxed(x, scale, lanes)
    return out, lse - (x * scale).max(axis=1)


ROW_SOFTMAX = TritonSpec(
    "row_softmax", UNIT, 2, ("out", "lse"), softmax_cases, softmax_by(softmaxed),
    traffic=(
        Traffic("loaded", lambda case: 4 * case.args["x"].size),
        Traffic("stored", lambda case: 4 * (case.args["x"].size + case.args["lse"].size)),
    ),
    counted=lambda: softmax_case(5, 200, 56, np.random.default_rng(8)),
    suspects={
        "zeros_counted": softmax_by(zeros_in_row),
        "scale_missing": softmax_by(lambda x, scale, lanes: softmaxed(x, 1.0, lanes)),
        "maximum_missing": softmax_by(without_top),
    },
    causes={
        "zeros_counted": "Lanes beyond the row count as elements that are 0.",
        "scale_missing": "The scale is not in the result.",
        "maximum_missing": "The maximum was subtracted before the exponentials, and is not in lse.",
        "too_many_bytes": "Each element has to be loaded once; the tile can be used again.",
    },
    hints={
        "zeros_counted": OTHER,
        "scale_missing": ("Which parameter is not used?", "Multiply the row by scale first."),
        "maximum_missing": (
            "exp(s - top) summed up is not exp(s) summed up: by which factor do they differ?",
            "By exp(top), so lse = top + tl.log(total).",
        ),
        "undefined_lanes": OTHER,
    },
)  # fmt: skip


# -- mended_columns ----------------------------------------------------------------------------

ROWS_A_TILE = 16
COLS_A_TILE = 32


def columns_case(rows: int, cols: int, gap: int, rng: np.random.Generator) -> Case:
    """Column sums are added to what `out` holds."""
    x = rows_of(rng.normal(size=(rows, cols)).astype(np.float32), gap)
    args = {
        "out": cases.values(rng, cols), "x": x, "rows": rows, "cols": cols, "stride": stride(x),
        "R": ROWS_A_TILE, "C": COLS_A_TILE,
    }  # fmt: skip
    grid = (ceil_div(rows, ROWS_A_TILE), ceil_div(cols, COLS_A_TILE))
    return Case(args, grid, (ROWS_A_TILE, COLS_A_TILE), f"{rows} x {cols}")


def columns_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    sizes = [(1, 1, 0), (16, 32, 0), (40, 30, 0), (32, 64, 0), (15, 33, 0), (50, 70, 7)]
    if level == "grader":
        sizes += [(int(r), int(c), int(g)) for r, c, g in rng.integers(1, 100, size=(3, 3))]
    for rows, cols, gap in sizes:
        yield columns_case(rows, cols, gap, rng)


def columns_summed(case: Case) -> dict[str, Array]:
    return {"out": wide(case, "out") + wide(case, "x").sum(axis=0)}


def tiles_of_rows(case: Case) -> int:
    return ceil_div(case.args["rows"], ROWS_A_TILE)


def last_part(case: Case) -> dict[str, Array]:
    """Only the last tile of rows was added."""
    x = wide(case, "x")
    start = (len(x) - 1) // ROWS_A_TILE * ROWS_A_TILE
    return {"out": wide(case, "out") + x[start:].sum(axis=0)}


MENDED_COLUMNS = TritonSpec(
    "mended_columns", UNIT, 2, ("out",), columns_cases, columns_summed,
    inout=("out",),
    tolerance={"float32": Tolerance(1e-5, 1e-5)},
    traffic=(
        Traffic("loaded", lambda case: 4 * case.args["x"].size, pointer="x"),
        Traffic(
            "atomic", lambda case: 4 * case.args["cols"] * tiles_of_rows(case), "too_many_atomics"
        ),
    ),
    counted=lambda: columns_case(50, 70, 7, np.random.default_rng(8)),
    suspects={
        "start_lost": lambda case: {"out": wide(case, "x").sum(axis=0)},
        "first_rows_only": lambda case: {
            "out": wide(case, "out") + wide(case, "x")[:ROWS_A_TILE].sum(axis=0)
        },
        "last_rows_only": last_part,
        "added_by_all": lambda case: {
            "out": wide(case, "out") + tiles_of_rows(case) * wide(case, "x").sum(axis=0)
        },
    },
    causes={
        "start_lost": "What out held before is gone.",
        "first_rows_only": "Only the rows of the first tile were added.",
        "last_rows_only": "Only the rows of the last tile were added.",
        "added_by_all": "Each program along the rows has added the whole sum.",
        "too_many_atomics": "More atomics than one for each column and program.",
    },
    hints={
        "start_lost": ("What does tl.store do with the old value?", "Add: tl.atomic_add."),
        "first_rows_only": (
            "What do the programs 1, 2, ... along axis 0 do?",
            "Each takes R rows, from tl.program_id(0) * R on, and adds its part.",
        ),
        "last_rows_only": ("What does each store leave?", "Its own part.  Add: tl.atomic_add."),
        "added_by_all": (
            "How many programs add to one column?",
            "As many as there are tiles of rows: each may add its own rows only.",
        ),
        "too_many_atomics": (
            "How many values does a program have for one column after it has summed its tile?",
            "One: tl.sum(tile, axis=0) first, then one tl.atomic_add of the tile of C sums.",
        ),
        "undefined_lanes": OTHER,
        "race": (
            "Two programs add to the same column.  What happens between the load and the store?",
            "tl.atomic_add(out + c, part, mask=c < cols) loads, adds and stores in one step.",
        ),
    },
)  # fmt: skip


# -- norm_rows ---------------------------------------------------------------------------------


def norm_case(
    rows: int,
    cols: int,
    gap: int,
    rng: np.random.Generator,
    mean: float = 2.0,
    spread: float = 1.0,
    eps: float = 0.1,
) -> Case:
    """Rows in float16 around a mean; weights and biases in float32."""
    x = rows_of((rng.normal(size=(rows, cols)) * spread + mean).astype(np.float16), gap)
    out = rows_of(np.zeros((rows, cols), np.float16), 2 * gap)
    args = {
        "out": out, "x": x, "w": cases.values(rng, cols), "b": cases.values(rng, cols),
        "cols": cols, "stride_out": stride(out), "stride_x": stride(x), "eps": eps,
        "BLOCK": power_of_two(cols),
    }  # fmt: skip
    label = f"{rows} x {cols}" + (f" around {mean:g}" if mean != 2.0 else "")
    return Case(args, rows, (power_of_two(cols), 1), label)


def norm_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    for rows, cols, gap in shapes(rng, level):
        yield norm_case(rows, cols, gap, rng)
    yield norm_case(2, 40, 0, rng, mean=0.0, spread=0.02, eps=1e-3)  # eps counts here
    yield norm_case(2, 70, 0, rng, mean=900.0)  # a sum of float16 would leave its range
    yield norm_case(1, 1000, 0, rng, mean=900.0)


def norm_by(
    rule: Callable[[Array, float, int], Array], weighted: bool = True
) -> Callable[[Case], dict[str, Array]]:
    """A reference or a suspect: (x in float64, eps, lanes) -> normalised rows."""

    def found(case: Case) -> dict[str, Array]:
        with np.errstate(all="ignore"):
            rows = rule(wide(case, "x"), case.args["eps"], case.args["BLOCK"])
        return {"out": rows * wide(case, "w") + wide(case, "b") if weighted else rows}

    return found


def away(x: Array) -> Array:
    return np.asarray(x - x.mean(axis=1, keepdims=True))


def normed(x: Array, eps: float, lanes: int) -> Array:
    return np.asarray(away(x) / np.sqrt(x.var(axis=1, keepdims=True) + eps))


def tail_in_variance(x: Array, eps: float, lanes: int) -> Array:
    more = (lanes - x.shape[1]) * x.mean(axis=1, keepdims=True) ** 2 / x.shape[1]
    return np.asarray(away(x) / np.sqrt(x.var(axis=1, keepdims=True) + more + eps))


def by_lanes(x: Array, eps: float, lanes: int) -> Array:
    mean = x.sum(axis=1, keepdims=True) / lanes
    variance = ((x - mean) ** 2).sum(axis=1, keepdims=True) / lanes
    return np.asarray((x - mean) / np.sqrt(variance + eps))


def one_less(x: Array, eps: float, lanes: int) -> Array:
    n = x.shape[1]
    variance = x.var(axis=1, keepdims=True) * n / (n - 1) if n > 1 else np.full((1, 1), np.nan)
    return np.asarray(away(x) / np.sqrt(variance + eps))


NORM_ROWS = TritonSpec(
    "norm_rows", UNIT, 2, ("out",), norm_cases, norm_by(normed),
    traffic=(
        Traffic("loaded", lambda case: 2 * case.args["x"].size, pointer="x"),
        Traffic("stored", lambda case: 2 * case.args["x"].size),
    ),
    counted=lambda: norm_case(5, 200, 56, np.random.default_rng(8)),
    suspects={
        "tail_in_variance": norm_by(tail_in_variance),
        "divided_by_lanes": norm_by(by_lanes),
        "eps_missing": norm_by(lambda x, eps, lanes: normed(x, 0.0, lanes)),
        "eps_outside": norm_by(
            lambda x, eps, lanes: away(x) / (x.std(axis=1, keepdims=True) + eps)
        ),
        "divided_by_less_one": norm_by(one_less),
        "not_centred": norm_by(
            lambda x, eps, lanes: x / np.sqrt(x.var(axis=1, keepdims=True) + eps)
        ),
        "weights_missing": norm_by(normed, weighted=False),
    },
    causes={
        "tail_in_variance": "Lanes beyond the row count in the variance: 0 - mean is not 0.",
        "divided_by_lanes": "The sums were divided by BLOCK, not by the number of columns.",
        "eps_missing": "eps is not in the result.",
        "eps_outside": "eps was added to the standard deviation, not to the variance.",
        "divided_by_less_one": "The squares were divided by cols - 1.",
        "not_centred": "The mean was not subtracted from what is stored.",
        "weights_missing": "Weights and biases are not in the result.",
        "too_many_bytes": "Each element of x has to be loaded once; the tile can be used again.",
    },
    hints={
        "tail_in_variance": (
            "The lanes beyond the row hold 0.  What do they hold after the mean is subtracted?",
            "Put the zeros back: tl.where(c < cols, v - mean, 0.0).",
        ),
        "divided_by_lanes": ("How many elements has a row?", "cols."),
        "eps_missing": ("Which parameter is not used?", "tl.rsqrt(variance + eps)."),
        "eps_outside": ("What stands under the root?", "tl.rsqrt(variance + eps)."),
        "divided_by_less_one": ("By what does a layer norm divide?", "By cols."),
        "not_centred": ("What has mean 0?", "v - mean, and that is what is scaled and stored."),
        "weights_missing": ("Which pointers are never loaded?", "... * w + b, column by column."),
        "undefined_lanes": OTHER,
        "reduced_precision": (
            "In which dtype is the row while you reduce it?",
            "float16 has three digits: tl.load(...).to(tl.float32) first.",
        ),
        "wrong_values": (
            "In which dtype are your sums, and how large do they become?",
            "Convert with .to(tl.float32) after the load; take the mean first, then the squares "
            "of the differences.",
        ),
    },
)  # fmt: skip


# -- grouped_matmul ----------------------------------------------------------------------------


def matmul_case(
    sizes: tuple[int, int, int], rng: np.random.Generator, turned: bool = False, gap: int = 0
) -> Case:
    """c = a @ b under a grid of one axis; `turned`: b lies column after column."""
    m, n, k = sizes
    a = rows_of(rng.normal(size=(m, k)).astype(np.float16), gap)
    if turned:
        b = rng.normal(size=(n, k)).astype(np.float16).T
    else:
        b = rows_of(rng.normal(size=(k, n)).astype(np.float16), gap)
    c = rows_of(np.zeros((m, n), np.float32), gap)
    names = ("c_row", "c_col", "a_row", "a_col", "b_row", "b_col")
    steps = [int(step // one.itemsize) for one in (c, a, b) for step in one.strides]
    args = {
        "c": c, "a": a, "b": b, "m": m, "n": n, "k": k, **dict(zip(names, steps)), "T": T,
        "GROUP": GROUP,
    }  # fmt: skip
    label = f"m, n, k = {m}, {n}, {k}" + (", b turned" if turned else "")
    return Case(args, ceil_div(m, T) * ceil_div(n, T), (T, T), label)


def matmul_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    # One term, one full tile, tails on all axes; a last band of 2 rows, and one band of 2.
    for sizes in ((1, 1, 1), (16, 16, 16), (17, 20, 33)):
        yield matmul_case(sizes, rng)
    yield matmul_case((16, 16, 160), rng)
    yield matmul_case((20, 100, 5), rng, gap=5)
    yield matmul_case((70, 33, 20), rng, turned=True)
    if level == "grader":
        for m, n, k in rng.integers(1, 80, size=(2, 3)):
            yield matmul_case((int(m), int(n), int(k)), rng)


def product(case: Case) -> dict[str, Array]:
    return {"c": wide(case, "a") @ wide(case, "b")}


def steps_by(chosen: Callable[[int], slice]) -> Callable[[Case], dict[str, Array]]:
    """A suspect: only some terms of each sum; k -> which."""

    def mistake(case: Case) -> dict[str, Array]:
        part = chosen(case.args["k"])
        return {"c": wide(case, "a")[:, part] @ wide(case, "b")[part]}

    return mistake


def _no_tensor_core(code: object) -> str | None:
    if any(name.startswith("mma.sync") for name in code.matrix):  # type: ignore[attr-defined]
        return None
    return "The compiled kernel has no mma.sync: the product runs outside the tensor cores."


def loads_of_tiles(case: Case) -> int:
    """Bytes when each program loads a panel of each matrix once."""
    m, n, k = (case.args[name] for name in "mnk")
    return 2 * (m * k * ceil_div(n, T) + k * n * ceil_div(m, T))


#: 6 x 6 tiles, one step along k.
COUNTED = (6 * T, 6 * T, T)

GROUPED_MATMUL = TritonSpec(
    "grouped_matmul", UNIT, 3, ("c",), matmul_cases, product,
    tolerance={"float32": Tolerance(1e-4, 1e-4)},
    traffic=(
        Traffic("loaded", loads_of_tiles),
        Traffic(
            "touched", lambda case: 6 * 2 * T * case.args["k"], "too_many_panels", first=9
        ),
    ),
    compiled=(CompiledFact("sm_80", _no_tensor_core),),
    counted=lambda: matmul_case(COUNTED, np.random.default_rng(8)),
    suspects={
        "first_step_only": steps_by(lambda k: slice(0, T)),
        "last_step_only": steps_by(lambda k: slice((k - 1) // T * T, k)),
        "whole_steps_only": steps_by(lambda k: slice(0, k // T * T)),
    },
    causes={
        "first_step_only": "Only the first 16 terms of each sum are there.",
        "last_step_only": "Only the terms of the last step along k are there.",
        "whole_steps_only": "The terms of the last step, which is not full, are missing.",
        "too_many_panels": (
            "The first 9 programs do not form a square: together they need more than 3 panels of "
            "a and 3 of b."
        ),
    },
    hints={
        "first_step_only": ("How many steps has a sum of k terms?", "range(0, k, T)."),
        "last_step_only": ("What does a step do with the total?", "total = tl.dot(a, b, total)."),
        "whole_steps_only": (
            "What happens to the last terms when k is no multiple of 16?",
            "range(0, k, T) has a last step that is not full; the masks do the rest.",
        ),
        "too_many_panels": (
            "Which tile does program 1 take: the one to the right of program 0, or the one below?",
            "The one below, in a band of GROUP rows of tiles; after GROUP of them one to the "
            "right.",
        ),
        "race": (
            "Do two programs take the same tile?  Look at the last band.",
            "It may have fewer than GROUP rows: height = min(GROUP, down - top), and divide by "
            "that inside the band.",
        ),
        "never_written": (
            "Which tile did no program take?  Is it in the last band?",
            "Program p is in band p // (GROUP * along).  The last band may be lower: "
            "min(GROUP, down - top) rows.",
        ),
        "undefined_lanes": OTHER,
        "not_compiled_so": (
            "Which operation on two tiles becomes a tensor core's instruction?",
            "tl.dot of two float16 tiles, summed in float32.",
        ),
    },
)  # fmt: skip


SPECS = [SCALED_ADD, TILE_TALLY, ROW_SOFTMAX, MENDED_COLUMNS, NORM_ROWS, GROUPED_MATMUL]
