"""Exercises of t2_03_gemm_shapes: products with few results, long sums, or a single row.

m, n, k  rows of the result, columns of the result, and the length of the sums
chunk    the terms of a sum that one block adds; the sums are split into chunks
parts    partial sums, a slice for each chunk
wave     one round of blocks, as many as run at a time
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..cases import Case, Level, ceil_div
from ..images import grid_for, pixels
from ..requirements import Requirement
from ..spec import FunctionSpec, KernelSpec
from .t2_01_gemm_tiles import FLOAT32, matrices, product

UNIT = "t2_03_gemm_shapes"

TILE = 16
ROWS = 64  # of b that one block of row_times_matrix takes

Array = np.ndarray
Split = tuple[int, int, int, int, int]


# -- wave_plan ---------------------------------------------------------------------------------


def launches(rng: np.random.Generator, level: Level) -> Iterator[tuple[int, int, int, int, int]]:
    """(m, n, tile_m, tile_n, places): both examples, full waves, one block more."""
    yield from [
        (1793, 1793, 256, 128, 108), (1, 1, 16, 16, 4), (1792, 1792, 256, 128, 108),
        (64, 64, 16, 16, 16), (65, 64, 16, 16, 16), (100, 7, 32, 8, 3), (4096, 1000, 128, 64, 82),
    ]  # fmt: skip
    for _ in range(4 if level == "student" else 20):
        m, n = (int(size) for size in rng.integers(1, 5000, size=2))
        tile_m, tile_n = (int(2 ** rng.integers(3, 9)) for _ in range(2))
        yield m, n, tile_m, tile_n, int(rng.integers(1, 200))


def wave_plan(m: int, n: int, tile_m: int, tile_n: int, places: int) -> tuple[int, int, float]:
    """Waves, empty places in the last one, useful share."""
    blocks = ceil_div(m, tile_m) * ceil_div(n, tile_n)
    waves = ceil_div(blocks, places)
    return waves, waves * places - blocks, m * n / (waves * places * tile_m * tile_n)


def blocks_by(
    rule: Callable[[int, int, int, int], int],
) -> Callable[..., tuple[int, int, float]]:
    """A suspect that counts blocks by another rule."""

    def mistake(m: int, n: int, tile_m: int, tile_n: int, places: int) -> tuple[int, int, float]:
        blocks = rule(m, n, tile_m, tile_n)
        waves = ceil_div(blocks, places)
        room = max(1, waves * places * tile_m * tile_n)
        return waves, waves * places - blocks, m * n / room

    return mistake


def wave_by(place: int, rule: Callable[..., float]) -> Callable[..., tuple[float, ...]]:
    """A suspect that gets one of the three numbers by another rule."""

    def mistake(*launch: int) -> tuple[float, ...]:
        right = list(wave_plan(*launch))
        right[place] = rule(*launch)
        return tuple(right)

    return mistake


WAVE_PLAN = FunctionSpec(
    "wave_plan", UNIT, 2, launches, wave_plan,
    suspects={
        "tiles_rounded_down": blocks_by(lambda m, n, tm, tn: (m // tm) * (n // tn)),
        "area_over_area": blocks_by(lambda m, n, tm, tn: ceil_div(m * n, tm * tn)),
        "axes_swapped": blocks_by(lambda m, n, tm, tn: ceil_div(m, tn) * ceil_div(n, tm)),
        "blocks_in_last": wave_by(
            1, lambda *one: one[4] - wave_plan(*one)[1]
        ),
        "places_only": wave_by(
            2,
            lambda m, n, tm, tn, places: 1
            - wave_plan(m, n, tm, tn, places)[1] / (wave_plan(m, n, tm, tn, places)[0] * places),
        ),
        "edges_only": wave_by(
            2, lambda m, n, tm, tn, places: m * n / (ceil_div(m, tm) * ceil_div(n, tn) * tm * tn)
        ),
        "percent": wave_by(2, lambda *one: 100 * wave_plan(*one)[2]),
    },
    causes={
        "tiles_rounded_down": "You round the tiles down; the last of a row may be part full.",
        "area_over_area": "You divide areas.  Tiles are whole along each axis.",
        "axes_swapped": "tile_m lies along m, and tile_n along n.",
        "blocks_in_last": "These are the blocks of the last wave, not its empty places.",
        "places_only": "The share counts empty places, and not the edges of the tiles.",
        "edges_only": "The share counts the edges of the tiles, and not the empty places.",
        "percent": "A share is a number up to 1, not a percentage.",
    },
    hints={
        "tiles_rounded_down": ("Who computes the last rows?", "One more tile: round up."),
        "area_over_area": (
            "How many tiles of 16 x 16 cover 17 x 17 results?",
            "Four: round up along each axis, then multiply.",
        ),
        "axes_swapped": ("Which side of the tile lies along the rows?", "tile_m covers rows, m."),
        "blocks_in_last": ("How many places are left over?", "waves * places - blocks."),
        "places_only": (
            "How many of the results in the last tiles exist?",
            "Compare m * n with all places times tile_m * tile_n.",
        ),
        "edges_only": (
            "What about places in which no block runs?",
            "Compare m * n with waves * places * tile_m * tile_n.",
        ),
        "percent": ("Which number is one half?", "0.5."),
    },
)  # fmt: skip


# -- partial_bytes -----------------------------------------------------------------------------


def slices(rng: np.random.Generator, level: Level) -> Iterator[tuple[int, int, int]]:
    """(m, n, splits): the example first."""
    yield from [(32, 32, 8), (128, 256, 2), (1, 4096, 64), (7, 5, 3)]
    for _ in range(4 if level == "student" else 20):
        m, n = (int(size) for size in rng.integers(1, 3000, size=2))
        yield m, n, int(rng.integers(2, 100))


def partial_bytes(m: int, n: int, splits: int) -> tuple[int, int]:
    """Bytes that the first kernel writes, and that the second moves."""
    return 4 * splits * m * n, 4 * (splits + 1) * m * n


PARTIAL_BYTES = FunctionSpec(
    "partial_bytes", UNIT, 1, slices, partial_bytes,
    suspects={
        "numbers_not_bytes": lambda m, n, splits: (splits * m * n, (splits + 1) * m * n),
        "result_forgotten": lambda m, n, splits: (4 * splits * m * n, 4 * splits * m * n),
        "result_only": lambda m, n, splits: (4 * splits * m * n, 4 * m * n),
        "one_slice": lambda m, n, splits: (4 * m * n, 4 * (splits + 1) * m * n),
        "each_added_to_c": lambda m, n, splits: (4 * splits * m * n, 12 * splits * m * n),
    },
    causes={
        "numbers_not_bytes": "These are numbers, not bytes.",
        "result_forgotten": "The second kernel also writes the result.",
        "result_only": "The second kernel also reads all slices.",
        "one_slice": "Each split writes a slice of its own.",
        "each_added_to_c": "The sums are kept in registers; the result is written once.",
    },
    hints={
        "numbers_not_bytes": ("How large is a float32?", "4 bytes."),
        "result_forgotten": ("Where do the sums go?", "Into c: m * n numbers more."),
        "result_only": ("What does it add up?", "splits * m * n numbers, and it writes m * n."),
        "one_slice": ("How many slices are there?", "As many as splits."),
        "each_added_to_c": ("How often is c touched?", "Once for each result."),
    },
)  # fmt: skip


# -- split_k_matmul and mended_split -----------------------------------------------------------

# (m, n, k, splits, chunk): less than a chunk, chunks that no tile divides, the last one short, one
# empty, one term a chunk, a single row, a single column, one split.
SPLITS: list[Split] = [
    (1, 1, 3, 2, 2), (2, 3, 5, 1, 5), (3, 5, 40, 2, 20), (1, 40, 17, 3, 6), (35, 1, 16, 4, 4),
    (17, 33, 50, 3, 17), (16, 16, 64, 2, 32), (5, 7, 9, 4, 3), (15, 17, 3, 3, 1), (1, 1, 1, 1, 1),
]  # fmt: skip


def random_split(rng: np.random.Generator) -> Split:
    """Sizes below 60 and enough chunks for k, at times one too many."""
    m, n, k = (int(size) for size in rng.integers(1, 60, size=3))
    chunk = int(rng.integers(1, k + 1))
    return m, n, k, ceil_div(k, chunk) + int(rng.integers(2)), chunk


def split_case(rng: np.random.Generator, one: Split, sliced: bool) -> Case:
    """(parts or c, a, b, m, n, k, chunk) under blocks of TILE x TILE threads, splits along z."""
    m, n, k, splits, chunk = one
    out = {"parts" if sliced else "c": np.zeros((splits, m, n)[not sliced :], np.float32)}
    args = {
        **out, "a": pixels(rng, m, k), "b": pixels(rng, k, n), "m": m, "n": n, "k": k,
        "chunk": chunk,
    }  # fmt: skip
    return Case(args, (*grid_for(m, n, (TILE, TILE)), splits), (TILE, TILE))


def split_cases(sliced: bool) -> Callable[[np.random.Generator, Level], Iterator[Case]]:
    """All SPLITS; the grader adds random ones."""

    def cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
        more = [random_split(rng) for _ in range(4)] if level == "grader" else []
        for one in [*SPLITS, *more]:
            yield split_case(rng, one, sliced)

    return cases


def splits_of(case: Case) -> int:
    grid = case.grid
    return grid[2] if isinstance(grid, tuple) else 1


def sums_of(case: Case, end: Callable[[int, int, int], int]) -> Array:
    """(splits, m, n) partial sums; (first, chunk, k) -> where the terms of a block end."""
    a, b = matrices(case)
    chunk, k = case.args["chunk"], case.args["k"]
    firsts = [min(k, z * chunk) for z in range(splits_of(case))]
    return np.array([a[:, i : end(i, chunk, k)] @ b[i : end(i, chunk, k)] for i in firsts])


def chunk_end(first: int, chunk: int, k: int) -> int:
    return min(k, first + chunk)


def tile_end(first: int, chunk: int, k: int) -> int:
    """Where the last tile of a chunk ends: terms of the next chunk are in it."""
    return min(k, first + ceil_div(min(chunk, k - first), TILE) * TILE)


def sliced_product(case: Case) -> dict[str, Array]:
    """The slices."""
    return {"parts": sums_of(case, chunk_end)}


def whole_tiles_end(first: int, chunk: int, k: int) -> int:
    return min(k, first + chunk // TILE * TILE)


SLICES = {
    "next_chunk_too": lambda case: {"parts": sums_of(case, tile_end)},
    "whole_sum_in_each": lambda case: {
        "parts": np.broadcast_to(product(case)["c"], case.args["parts"].shape)
    },
    "to_the_end_of_k": lambda case: {"parts": sums_of(case, lambda first, chunk, k: k)},
    "whole_tiles_of_a_chunk": lambda case: {"parts": sums_of(case, whole_tiles_end)},
}
TOTALS = {
    "next_chunk_too": lambda case: {"c": sums_of(case, tile_end).sum(axis=0)},
    "first_chunk_only": lambda case: {"c": sums_of(case, chunk_end)[0]},
    "last_chunk_only": lambda case: {"c": sums_of(case, chunk_end)[-1]},
    "whole_sum_in_each": lambda case: {"c": splits_of(case) * product(case)["c"]},
}

CAUSES = {
    "next_chunk_too": (
        "The last tile of a chunk is not full, and terms of the next chunk are counted in it, too."
    ),
    "whole_sum_in_each": "Each block adds all terms, not those of its chunk.",
    "to_the_end_of_k": "A block goes on to the end of K, not to the end of its chunk.",
    "whole_tiles_of_a_chunk": "The terms of a tile that a chunk does not fill are missing.",
    "first_chunk_only": "Only the terms of the first chunk are there.",
    "last_chunk_only": "Only the terms of the last chunk are there.",
    "too_many_loads": "Numbers are loaded from global memory more often than the tiles need.",
    "too_many_sectors": "The loads touch more sectors than the numbers fill.",
    "too_many_barriers": "There are more barriers than the steps need.",
    "too_many_atomics": "There are more atomic operations than one for each result of a block.",
    "float64_arithmetic": "Multiplications or additions are done in float64.",
}

HINTS = {
    "next_chunk_too": (
        "With chunks of 20 and tiles of 16, what is in columns 4 to 15 of the second tile?",
        "Guard the loads with last = min(k, first + chunk), not with k.",
    ),
    "whole_sum_in_each": (
        "Which block of the grid's z is this one, and which terms are its own?",
        "Those from cuda.blockIdx.z * chunk on.",
    ),
    "to_the_end_of_k": (
        "Where does the next block begin?",
        "At first + chunk: there this one ends, min(k, first + chunk).",
    ),
    "whole_tiles_of_a_chunk": (
        "How many tiles does a chunk of 20 terms need?",
        "Two: range(first, last, TILE) has a last step that is not full.",
    ),
    "first_chunk_only": (
        "Do all blocks along z add to c?",
        "cuda.atomic.add(c, (row, col), total), in every block.",
    ),
    "last_chunk_only": (
        "What happens when a second block writes the same element?",
        "It overwrites the first.  Add: cuda.atomic.add(c, (row, col), total).",
    ),
    "never_written": (
        "Which blocks have no terms at all?",
        "Those whose chunk begins behind K.  They still have to write zeros.",
    ),
    "race": (
        "The message names two threads that touch the same element.  Are they in one block, or "
        "in two blocks of the grid's z?",
        "In one block: a barrier between filling and using.  In two: cuda.atomic.add.",
    ),
    "divergent_barrier": (
        "Does every thread of the block come to this barrier?",
        "Guard loads and stores, and let no thread leave before it.",
    ),
    "uninitialised": (
        "Which thread should have stored a number at this place, and did it?",
        "Store np.float32(0) where there is nothing to load.",
    ),
    "too_many_loads": (
        "How many numbers of each tile does one thread have to fetch?",
        "One in each step of 16 terms, and none behind the end of the chunk.",
    ),
    "too_many_sectors": (
        "Which numbers are read by all warps of a block?",
        "The block's 64 numbers of x: load them once, into shared memory.",
    ),
    "too_many_barriers": (
        "Which two things must not overlap?",
        "After filling and after using: no other barrier.",
    ),
    "too_many_atomics": (
        "How many sums of one block belong to the same result?",
        "Add them up inside the block first, and do one atomic.add for each result.",
    ),
    "float64_arithmetic": (
        "Which type has your total before the first addition?",
        "0 and 0.0 make a float64 of it.  Start with np.float32(0).",
    ),
}  # fmt: skip


def two_a_step(case: Case) -> int:
    """Two barriers for each 16 terms of a full chunk, all blocks together."""
    return 2 * ceil_div(case.args["chunk"], TILE) * case.blocks


COUNTED: Split = (40, 56, 100, 4, 25)
LOADS = Requirement("loads", "too_many_loads")
BARRIERS = Requirement("barriers", "too_many_barriers", limit=two_a_step)

SPLIT_K_MATMUL = KernelSpec(
    "split_k_matmul", UNIT, 3, ("parts",), split_cases(sliced=True), sliced_product,
    writes_once=True,
    suspects=SLICES,
    causes=CAUSES,
    hints=HINTS,
    requirements=(FLOAT32, LOADS, BARRIERS),
    counted=lambda: split_case(np.random.default_rng(7), COUNTED, sliced=True),
)  # fmt: skip

MENDED_SPLIT = KernelSpec(
    "mended_split", UNIT, 2, ("c",), split_cases(sliced=False), product,
    inout=("c",),
    suspects=TOTALS,
    causes=CAUSES,
    hints=HINTS,
    requirements=(FLOAT32, LOADS, Requirement("atomics", "too_many_atomics"), BARRIERS),
    counted=lambda: split_case(np.random.default_rng(7), COUNTED, sliced=False),
)  # fmt: skip


# -- pick_split --------------------------------------------------------------------------------

MOST_SPLITS = 256
A100 = (108, 19.5, 1555.0)
SHAPES = [
    (128, 128, 65536), (4096, 4096, 64), (4096, 4096, 4096), (1793, 1793, 1793),
    (256, 1024, 16384), (16, 4096, 4096), (1, 4096, 4096),
]  # fmt: skip

Choice = tuple[int, int, int, int, int, float, float]


def choices(rng: np.random.Generator, level: Level) -> Iterator[Choice]:
    """(m, n, k, tile, sms, tflops, gbs): seven shapes on an A100, then others."""
    for m, n, k in SHAPES:
        yield m, n, k, 128, *A100
    for _ in range(4 if level == "student" else 12):
        m, n, k = (int(2 ** rng.uniform(low, 13)) for low in (0, 5, 8))
        device = [A100, (82, 35.6, 936.0), (132, 67.0, 3350.0)][int(rng.integers(3))]
        yield m, n, k, int(rng.choice([32, 64, 128])), *device


def split_ms(s: int, m: int, n: int, k: int, tile: int, sms: int, tflops: float, gbs: float,
             second: bool = True, partial: bool = True, whole: bool = True) -> float:  # fmt: skip
    """Milliseconds for s splits; without the second kernel, partial sums, or whole waves."""
    blocks = ceil_div(m, tile) * ceil_div(n, tile) * s
    waves = ceil_div(blocks, sms) if whole else max(1.0, blocks / sms)
    arithmetic = waves * 2 * tile * tile * ceil_div(k, s) / (tflops / sms) / 1e9
    written = s * m * n if partial else m * n
    first = max(arithmetic, 4 * (m * k + k * n + written) / gbs / 1e6)
    return first + (4 * (s + 1) * m * n / gbs / 1e6 if s > 1 and second and partial else 0)


def pick_split(
    m: int, n: int, k: int, tile: int, sms: int, tflops: float, gbs: float
) -> int:  # fmt: skip
    """The number of splits with the least modelled time."""
    return best_split(range(1, MOST_SPLITS + 1), (m, n, k, tile, sms, tflops, gbs))


def best_split(numbers: Sequence[int], choice: Choice, **model: bool) -> int:
    """The best of some numbers, the smallest of equals."""
    return min(numbers, key=lambda s: split_ms(s, *choice, **model))


def one_wave(choice: Choice) -> int:
    """As many splits as fit into one wave."""
    m, n, _, tile, sms, *_ = choice
    return max(1, min(MOST_SPLITS, sms // (ceil_div(m, tile) * ceil_div(n, tile))))


ALL = range(1, MOST_SPLITS + 1)
#: What a known mistake picks.
PICKS: dict[str, Callable[[Choice], int]] = {
    "partials_forgotten": lambda choice: best_split(ALL, choice, partial=False),
    "second_kernel_forgotten": lambda choice: best_split(ALL, choice, second=False),
    "powers_of_two": lambda choice: best_split([2**i for i in range(9)], choice),
    "waves_not_whole": lambda choice: best_split(ALL, choice, whole=False),
    "one_wave_always": one_wave,
    "never_split": lambda choice: 1,
    "most_splits": lambda choice: MOST_SPLITS,
}


def examine(arguments: Sequence[Any], returned: Any) -> tuple[str, str] | None:
    """Right is every number of splits that takes the least time."""
    m, n, k, tile, sms, tflops, gbs = arguments
    choice = (m, n, k, tile, sms, tflops, gbs)
    if isinstance(returned, bool) or not isinstance(returned, int | np.integer):
        return "not_a_number", f"{returned!r} is no whole number."
    if not 1 <= returned <= MOST_SPLITS:
        return "out_of_range", f"{returned} does not lie between 1 and {MOST_SPLITS}."
    splits = int(returned)
    taken, least = split_ms(splits, *choice), split_ms(pick_split(*choice), *choice)
    if taken <= least * (1 + 1e-9):
        return None
    text = f"{splits} splits take {taken:.4g} ms by the model; another number takes {least:.4g} ms."
    for name, pick in PICKS.items():
        if pick(choice) == splits:
            return name, text
    return "not_the_best", text


PICK_SPLIT = FunctionSpec(
    "pick_split", UNIT, 2, choices, pick_split,
    examine=examine,
    causes={
        "not_a_number": "The number of splits is an integer.",
        "out_of_range": "The number of splits lies between 1 and 256.",
        "never_split": "One split for all: with few tiles most of the device is idle.",
        "partials_forgotten": "The bytes of the partial sums are missing in the model.",
        "second_kernel_forgotten": "The time of the second kernel is missing.",
        "powers_of_two": "This is the best power of two; other numbers are allowed, too.",
        "waves_not_whole": "Waves are whole: the last one takes as long as a full one.",
        "one_wave_always": "This fills one wave, which is not always best.",
        "most_splits": "This is the largest number; the partial sums cost bytes.",
        "not_the_best": "The model has a number of splits that takes less time.",
    },
    hints={
        "not_a_number": ("What does your function return?", "The s with the least time."),
        "out_of_range": ("Which numbers do you try?", "range(1, 257)."),
        "never_split": ("How many blocks has a result of 128 x 128?", "Try all s from 1 to 256."),
        "partials_forgotten": (
            "What does each split write?",
            "m * n numbers: 4 * s * m * n bytes in the first kernel, read again by the second.",
        ),
        "second_kernel_forgotten": (
            "Who adds up the slices?",
            "A second kernel: 4 * (s + 1) * m * n bytes, for s > 1.",
        ),
        "powers_of_two": ("Which numbers do you try?", "All of range(1, 257)."),
        "waves_not_whole": (
            "How long do 109 blocks take on 108 multiprocessors?",
            "Two waves: round up.",
        ),
        "one_wave_always": (
            "What if the tiles fill more than a wave, or the partial sums are large?",
            "Compute the time of each s from 1 to 256 and take the least.",
        ),
        "most_splits": ("What does a split cost?", "Compute the time of each s."),
        "not_the_best": (
            "Which of the three terms do you compute in another way?",
            "Compare your time for s = 1 with all waves of ceil(k / 1) terms, at tflops / sms.",
        ),
    },
)  # fmt: skip


# -- row_times_matrix --------------------------------------------------------------------------

#: (n, k): one number, less than a warp and more, less than a block's rows and more.
ROW_SIZES = [(3, 2), (1, 1), (33, 65), (31, 64), (100, 7), (64, 128), (1, 200), (65, 63)]


def row_case(rng: np.random.Generator, n: int, k: int) -> Case:
    """(c, x, b, n, k) with a block for each 32 columns and 64 rows."""
    args = {
        "c": np.zeros(n, np.float32), "x": pixels(rng, 1, k)[0], "b": pixels(rng, k, n),
        "n": n, "k": k,
    }  # fmt: skip
    return Case(args, (ceil_div(n, 32), ceil_div(k, ROWS)), (32, 8))


def row_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    sizes = list(ROW_SIZES)
    if level == "grader":
        sizes += [(int(n), int(k)) for n, k in rng.integers(1, 300, size=(4, 2))]
    for n, k in sizes:
        yield row_case(rng, n, k)


def row_product(case: Case) -> dict[str, Array]:
    """c = x @ b."""
    x, b = (case.args[name].astype(np.float64) for name in ("x", "b"))
    return {"c": x @ b}


def row_part(chosen: Callable[[Array], Array]) -> Callable[[Case], dict[str, Array]]:
    """A suspect: only some rows of b; their numbers -> which."""

    def mistake(case: Case) -> dict[str, Array]:
        x, b = (case.args[name].astype(np.float64) for name in ("x", "b"))
        kept = chosen(np.arange(case.args["k"]))
        return {"c": x[kept] @ b[kept]}

    return mistake


ROW_TIMES_MATRIX = KernelSpec(
    "row_times_matrix", UNIT, 2, ("c",), row_cases, row_product,
    inout=("c",),
    suspects={
        "first_warp_only": row_part(lambda row: row % 8 == 0),
        "first_rows_only": row_part(lambda row: row < ROWS),
        "last_rows_only": row_part(lambda row: row >= (row[-1] // ROWS) * ROWS),
    },
    causes={
        **CAUSES,
        "first_warp_only": "Only every eighth row of b is there: the sums of one warp.",
        "first_rows_only": "Only the first 64 rows of b are there.",
        "last_rows_only": "Only the rows of the last blocks are there.",
    },
    hints={
        **HINTS,
        "first_warp_only": (
            "Where do the sums of the other seven warps of a block go?",
            "Into shared memory, then add all eight of a column.",
        ),
        "first_rows_only": (
            "Which rows belong to a block with blockIdx.y = 1?",
            "Those from cuda.blockIdx.y * 64 on.",
        ),
        "last_rows_only": (
            "What happens when a second block writes the same element?",
            "It overwrites the first.  Add: cuda.atomic.add(c, col, total).",
        ),
    },
    requirements=(
        FLOAT32, Requirement("load_sectors", "too_many_sectors", times=1.04),
        Requirement("atomics", "too_many_atomics"),
        Requirement("barriers", "too_many_barriers", limit=lambda case: 2 * case.blocks),
    ),
    counted=lambda: row_case(np.random.default_rng(7), 160, 192),
)  # fmt: skip


SPECS = [
    WAVE_PLAN, PARTIAL_BYTES, SPLIT_K_MATMUL, MENDED_SPLIT, PICK_SPLIT, ROW_TIMES_MATRIX,
]  # fmt: skip
