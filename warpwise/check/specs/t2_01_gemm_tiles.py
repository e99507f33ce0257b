"""Exercises of t2_01_gemm_tiles: products of matrices, by tiles in shared memory.

m, n, k  rows of the result, columns of the result, and the length of the sums
tile     a square of each matrix that a block keeps in shared memory
step     one turn of the loop along k, in which a block fills its tiles again
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..cases import Case, Level, ceil_div
from ..images import grid_for, pixels
from ..requirements import Requirement
from ..spec import FunctionSpec, KernelSpec

UNIT = "t2_01_gemm_tiles"

TILE = 16
WIDE = 32

Array = np.ndarray
Pair = tuple[int, int]
Sizes = tuple[int, int, int]
Cases = Callable[[np.random.Generator, Level], Iterator[Case]]


# -- what the kernels have in common -----------------------------------------------------------

# (m, n, k), no two sizes alike where a mistake could hide: less than a tile on each axis, a single
# row, a single column, one term, exactly one tile, one more, one less, several tiles with a rest.
SIZES: list[Sizes] = [
    (2, 3, 5), (3, 5, 40), (1, 40, 17), (35, 1, 16), (17, 33, 1), (16, 16, 16), (15, 17, 31),
    (33, 18, 50), (32, 48, 64), (1, 1, 1),
]  # fmt: skip


def gemm_case(rng: np.random.Generator, sizes: Sizes, block: Pair, side: Pair) -> Case:
    """(c, a, b, m, n, k) under a grid with a block for each `side` of (columns, rows) of c."""
    m, n, k = sizes
    args = {
        "c": np.zeros((m, n), np.float32), "a": pixels(rng, m, k), "b": pixels(rng, k, n),
        "m": m, "n": n, "k": k,
    }  # fmt: skip
    return Case(args, grid_for(m, n, side), block)


def gemm_cases(side: int, first: tuple[Sizes, ...] = ()) -> Cases:
    """Cases of blocks of TILE x TILE threads that compute `side` x `side` results each."""

    def cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
        sizes = [*first, *SIZES]
        if level == "grader":
            sizes += [(int(m), int(n), int(k)) for m, n, k in rng.integers(1, 90, size=(3, 3))]
        for one in sizes:
            yield gemm_case(rng, one, (TILE, TILE), (side, side))

    return cases


def plain_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """The same sizes under blocks of several shapes."""
    blocks: list[Pair] = [(32, 8), (16, 16), (8, 4)]
    if level == "grader":
        blocks += [(5, 3), (64, 2)]
    for number, sizes in enumerate(SIZES):
        block = blocks[number % len(blocks)]
        yield gemm_case(rng, sizes, block, block)


def matrices(case: Case) -> tuple[Array, Array]:
    """a and b in float64."""
    return case.args["a"].astype(np.float64), case.args["b"].astype(np.float64)


def product(case: Case) -> dict[str, Array]:
    """c = a @ b."""
    a, b = matrices(case)
    return {"c": a @ b}


def terms(chosen: Callable[[int], slice]) -> Callable[[Case], dict[str, Array]]:
    """A suspect: only some terms of each sum; k -> which."""

    def mistake(case: Case) -> dict[str, Array]:
        a, b = matrices(case)
        part = chosen(a.shape[1])
        return {"c": a[:, part] @ b[part]}

    return mistake


def old_numbers(case: Case) -> dict[str, Array]:
    """Where the last step is not full, the numbers of the step before are multiplied again."""
    a, b = matrices(case)
    k = a.shape[1]
    full, rest = k // TILE * TILE, k % TILE
    again = slice(full - TILE + rest, full) if full and rest else slice(0)
    return {"c": a @ b + a[:, again] @ b[again]}


def whole_tiles(side: int) -> Callable[[Case], dict[str, Array]]:
    """A suspect: only results of full tiles were written."""

    def mistake(case: Case) -> dict[str, Array]:
        right = product(case)["c"]
        row, col = np.indices(right.shape)
        m, n = (size // side * side for size in right.shape)
        return {"c": np.ma.array(right, mask=(row >= m) | (col >= n))}

    return mistake


def quarter(case: Case) -> dict[str, Array]:
    """A suspect: only the upper left 16 x 16 of each 32 x 32 results were written."""
    right = product(case)["c"]
    row, col = np.indices(right.shape)
    return {"c": np.ma.array(right, mask=(row % WIDE >= TILE) | (col % WIDE >= TILE))}


def turned(matrix: Array) -> Array:
    """Each tile transposed in its place, zeros where the matrix has ended."""
    rows, columns = (-(-size // TILE) for size in matrix.shape)
    wide = np.zeros((rows * TILE, columns * TILE))
    wide[: matrix.shape[0], : matrix.shape[1]] = matrix
    return wide.reshape(rows, TILE, columns, TILE).transpose(0, 3, 2, 1).reshape(wide.shape)


def a_turned(case: Case) -> dict[str, Array]:
    """A suspect: the tile of a is read with its indices exchanged."""
    a, b = matrices(case)
    wide = turned(a)[: a.shape[0]]
    return {"c": wide[:, : b.shape[0]] @ b}


def b_turned(case: Case) -> dict[str, Array]:
    """A suspect: the tile of b is read with its indices exchanged."""
    a, b = matrices(case)
    wide = turned(b)[:, : b.shape[1]]
    return {"c": a @ wide[: a.shape[1]]}


SUMS = {
    "first_step_only": terms(lambda k: slice(0, TILE)),
    "last_step_only": terms(lambda k: slice((k - 1) // TILE * TILE, k)),
    "whole_steps_only": terms(lambda k: slice(0, k // TILE * TILE)),
    "last_term_missing": terms(lambda k: slice(0, k - 1)),
    "last_term_only": terms(lambda k: slice(k - 1, k)),
    "old_numbers_again": old_numbers,
}
TILES = {**SUMS, "tile_a_turned": a_turned, "tile_b_turned": b_turned}
PLAIN_SUMS = {name: SUMS[name] for name in ("last_term_missing", "last_term_only")}

CAUSES = {
    "first_step_only": "Only the first 16 terms of each sum are there.",
    "last_step_only": "Only the terms of the last step along k are there.",
    "whole_steps_only": "The terms of the last step, which is not full, are missing.",
    "last_term_missing": "The last term of each sum is missing.",
    "last_term_only": "Only the last term of each sum is there.",
    "old_numbers_again": (
        "Where the last step is not full, numbers of the step before were multiplied once more."
    ),
    "tile_a_turned": "The tile of a is stored or read with its two indices exchanged.",
    "tile_b_turned": "The tile of b is stored or read with its two indices exchanged.",
    "whole_tiles_only": "Only results in full tiles were written; those at the edge are missing.",
    "one_result_only": "Only the upper left 16 x 16 of each 32 x 32 results were written.",
    "too_many_loads": "Numbers are loaded from global memory more often than the tiles need.",
    "too_many_sectors": "The loads touch far more sectors than the numbers fill.",
    "too_many_barriers": "There are more than two barriers in a step.",
    "too_much_shared": "Each block keeps more than the two tiles of one step.",
    "too_many_shared_reads": "Shared memory is asked more often than four results a thread need.",
    "float64_arithmetic": "Multiplications or additions are done in float64.",
}

HINTS = {
    "first_step_only": (
        "How many steps of 16 does a sum of k terms take?",
        "Loop over start: range(0, k, TILE), and add to the same total in each step.",
    ),
    "last_step_only": ("Where is the total set to zero?", "Once, before the loop over the steps."),
    "whole_steps_only": (
        "What happens to the last terms when k is no multiple of 16?",
        "range(0, k, TILE) has a last step that is not full: ceil(k / TILE) steps.",
    ),
    "last_term_missing": (
        "Which values does your index along k take?",
        "0 to k - 1: range(k), and a guard that says < k.",
    ),
    "last_term_only": ("What does a turn do with the total?", "It adds to it: +=, not =."),
    "old_numbers_again": (
        "Which places of the tiles are filled in the last step, and what do the others hold?",
        "Store zeros where the matrix has ended, or end the inner loop at min(TILE, k - start).",
    ),
    "tile_a_turned": (
        "In the inner loop a thread walks along one row of a.  Which index of its tile moves?",
        "The last one: tile_a[ty, i], when thread (tx, ty) has filled tile_a[ty, tx].",
    ),
    "tile_b_turned": (
        "In the inner loop a thread walks down one column of b.  Which index of its tile moves?",
        "The first one: tile_b[i, tx], when thread (tx, ty) has filled tile_b[ty, tx].",
    ),
    "uninitialised": (
        "Which thread should have stored a number at this place, and did it?",
        "Shared memory does not start with zeros.  Where the matrix has no element, store "
        "np.float32(0) in the tile, or do not read that place.",
    ),
    "race": (
        "The message names a line that fills a tile and a line that uses it.  In which step is "
        "each of the two threads?",
        "Fill, cuda.syncthreads(), use, cuda.syncthreads(): two barriers in each step.",
    ),
    "divergent_barrier": (
        "Does every thread of the block come to this barrier?",
        "Take it out of the if, and let no thread return before it.  Guard loads and stores.",
    ),
    "whole_tiles_only": (
        "Which threads have a result in the last row and column of blocks?",
        "Those with row < m and col < n.  Guard single results, not whole tiles.",
    ),
    "one_result_only": (
        "How many results has a thread here?",
        "Four: rows ty and ty + 16, columns tx and tx + 16 of its block's 32 x 32.",
    ),
    "too_many_loads": (
        "How many numbers of each tile does one thread have to fetch?",
        "Each number of a tile once for the whole block; multiply only what is in shared memory.",
    ),
    "too_many_sectors": (
        "Which index changes from lane to lane: that of the row or that of the column?",
        "threadIdx.x belongs into the last index of every load and store of global memory.",
    ),
    "too_many_barriers": (
        "Which two things must not overlap?",
        "One barrier after the tiles are filled and one after they are used; none in the inner "
        "loop.",
    ),
    "too_much_shared": (
        "How many numbers of each matrix does a block need in one step?",
        "Only those of one step along k: keep TILE of them, and walk.",
    ),
    "too_many_shared_reads": (
        "How many multiply-adds does one number read from the tiles serve?",
        "Read the numbers into variables first, then use each of them for several results.",
    ),
    "float64_arithmetic": (
        "Which type has your total before the first addition?",
        "0 and 0.0 make a float64 of it.  Start with np.float32(0).",
    ),
}  # fmt: skip

FLOAT32 = Requirement("float64", "float64_arithmetic", limit=lambda case: 0)


def two_a_step(case: Case) -> int:
    """Two barriers for each step along k, all blocks together."""
    return 2 * ceil_div(case.args["k"], TILE) * case.blocks


BARRIERS = Requirement("barriers", "too_many_barriers", limit=two_a_step)


def counted(sizes: Sizes, block: Pair, side: Pair) -> Callable[[], Case]:
    """The launch on which requirements are counted."""
    return lambda: gemm_case(np.random.default_rng(5), sizes, block, side)


# -- coalesced_matmul --------------------------------------------------------------------------

COALESCED_MATMUL = KernelSpec(
    "coalesced_matmul", UNIT, 2, ("c",), plain_cases, product,
    writes_once=True,
    suspects=PLAIN_SUMS,
    causes=CAUSES,
    hints=HINTS,
    requirements=(FLOAT32, Requirement("sectors", "too_many_sectors")),
    counted=counted((64, 96, 40), (32, 8), (32, 8)),
)  # fmt: skip


# -- tile_counts -------------------------------------------------------------------------------


def plans(rng: np.random.Generator, level: Level) -> Iterator[tuple[int, int, int, int]]:
    """(m, n, k, tile): the examples, then tails of every kind."""
    yield from [
        (64, 96, 32, 16), (1, 1, 1, 16), (1, 40, 17, 16), (33, 18, 50, 16), (100, 7, 31, 8),
        (31, 65, 33, 32), (256, 512, 128, 32), (5, 90, 6, 4), (4096, 4096, 4096, 32),
    ]  # fmt: skip
    for _ in range(4 if level == "student" else 20):
        m, n, k = (int(size) for size in rng.integers(1, 300, size=3))
        yield m, n, k, int(rng.choice([4, 8, 16, 32]))


def tile_counts(m: int, n: int, k: int, tile: int) -> Sizes:
    """Loads of all blocks, shared bytes of a block, barriers of a block."""
    down, along, turns = (-(-size // tile) for size in (m, n, k))
    return m * k * along + k * n * down, 8 * tile * tile, 2 * turns


def loads_by(rule: Callable[[int, int, int, int], int]) -> Callable[..., Sizes]:
    """A suspect that counts the loads by another rule, and the rest right."""
    return lambda m, n, k, tile: (rule(m, n, k, tile), *tile_counts(m, n, k, tile)[1:])


def rest_by(
    shared: Callable[[int], int], barriers: Callable[[Sizes, int], int]
) -> Callable[..., Sizes]:
    """A suspect that counts the loads right, and the rest by other rules."""
    return lambda m, n, k, tile: (
        tile_counts(m, n, k, tile)[0], shared(tile), barriers((m, n, k), tile)
    )  # fmt: skip


def full_loads(m: int, n: int, k: int, tile: int) -> int:
    """Loads when all tiles are full."""
    down, along, turns = (-(-size // tile) for size in (m, n, k))
    return 2 * down * along * turns * tile * tile


def right_barriers(sizes: Sizes, tile: int) -> int:
    return 2 * -(-sizes[2] // tile)


def right_shared(tile: int) -> int:
    return 8 * tile * tile


TILE_COUNTS = FunctionSpec(
    "tile_counts", UNIT, 2, plans, tile_counts,
    suspects={
        "no_sharing": loads_by(lambda m, n, k, tile: 2 * m * n * k),
        "zeros_counted": loads_by(full_loads),
        "loads_of_a_result": loads_by(lambda m, n, k, tile: 2 * k // tile),
        "rounded_down": loads_by(lambda m, n, k, tile: m * k * (n // tile) + k * n * (m // tile)),
        "tails_ignored": loads_by(lambda m, n, k, tile: 2 * m * n * k // tile),
        "axes_swapped": loads_by(
            lambda m, n, k, tile: m * k * -(-m // tile) + k * n * -(-n // tile)
        ),
        "each_once": loads_by(lambda m, n, k, tile: m * k + k * n),
        "one_tile_only": rest_by(lambda tile: 4 * tile * tile, right_barriers),
        "elements_not_bytes": rest_by(lambda tile: 2 * tile * tile, right_barriers),
        "one_barrier_a_step": rest_by(right_shared, lambda sizes, tile: -(-sizes[2] // tile)),
        "barriers_rounded_down": rest_by(right_shared, lambda sizes, tile: 2 * (sizes[2] // tile)),
        "barriers_of_all_blocks": rest_by(
            right_shared,
            lambda sizes, tile: right_barriers(sizes, tile)
            * -(-sizes[0] // tile) * -(-sizes[1] // tile),
        ),
    },
    causes={
        "no_sharing": "That is 2 K loads for each result, as if nothing were shared.",
        "zeros_counted": "You count whole tiles; where the matrix has ended nothing is loaded.",
        "loads_of_a_result": "These are the loads for one result; all of them are asked for.",
        "rounded_down": "You round the number of tiles down; the last one may be part full.",
        "tails_ignored": "2 K / T a result is right for full tiles only.",
        "axes_swapped": "An element of a is needed by the blocks along n, not along m.",
        "each_once": "That is each element once; every block that needs it loads it.",
        "one_tile_only": "These are the bytes of one tile.  A block keeps two.",
        "elements_not_bytes": "These are numbers, not bytes.",
        "one_barrier_a_step": "Each step has two barriers.",
        "barriers_rounded_down": "The last step along k may not be full; it has barriers, too.",
        "barriers_of_all_blocks": "These are the barriers of all blocks; one block is asked for.",
    },
    hints={
        "no_sharing": (
            "How often does one block load the same element?",
            "Once.  So count blocks: an element of a is loaded by ceil(n / tile) of them.",
        ),
        "zeros_counted": (
            "What does a thread load where a has no element?",
            "Nothing.  Count elements that exist, times the blocks that need them.",
        ),
        "loads_of_a_result": ("How many results are there?", "m * n; but count with the tails."),
        "rounded_down": (
            "Which blocks cover the last columns?",
            "One more, part full: (n + tile - 1) // tile.",
        ),
        "tails_ignored": (
            "How many blocks along n need an element of a when n is 17 and tile is 16?",
            "Two: round up, (n + tile - 1) // tile.",
        ),
        "axes_swapped": (
            "Which results use the element a[row, i]?",
            "All of its row: n of them, in ceil(n / tile) blocks.",
        ),
        "each_once": (
            "Can a block use what another block has loaded?",
            "It cannot: an element of a is loaded by ceil(n / tile) blocks.",
        ),
        "one_tile_only": ("Which matrices have a tile?", "Both, a and b."),
        "elements_not_bytes": ("How large is a float32?", "4 bytes."),
        "one_barrier_a_step": (
            "Fill, use: what must not overlap?",
            "Fill, barrier, use, barrier.",
        ),
        "barriers_rounded_down": (
            "How many steps does k = 17 take with tiles of 16?",
            "Two: round up.",
        ),
        "barriers_of_all_blocks": (
            "The third number is about one block.",
            "2 * ceil(k / tile).",
        ),
    },
)  # fmt: skip


# -- least_gemm_ms -----------------------------------------------------------------------------


def shapes(rng: np.random.Generator, level: Level) -> Iterator[tuple[int, int, int, float, float]]:
    """(m, n, k, tflops, gbs): both examples, then shapes on both sides of the ridge."""
    yield from [
        (4096, 4096, 4096, 19.5, 1555.0), (1, 4096, 4096, 19.5, 1555.0),
        (4096, 1, 2048, 35.6, 936.0), (512, 768, 8, 19.5, 1555.0), (2048, 100, 3000, 67.0, 3350.0),
    ]  # fmt: skip
    for _ in range(4 if level == "student" else 20):
        m, n, k = (int(2 ** rng.uniform(0, 13)) for _ in range(3))
        yield m, n, k, float(rng.choice([8.1, 19.5, 67.0])), float(rng.choice([320, 1555, 3350]))


def gemm_pipes(m: int, n: int, k: int, tflops: float, gbs: float) -> tuple[float, float]:
    """Milliseconds of arithmetic and of the DRAM."""
    return 2 * m * n * k / tflops / 1e9, 4 * (m * k + k * n + m * n) / gbs / 1e6


def least_gemm_ms(m: int, n: int, k: int, tflops: float, gbs: float) -> float:
    """The longer of the two pipes."""
    return max(gemm_pipes(m, n, k, tflops, gbs))


def pipes_by(
    rule: Callable[[float, float], float], bytes_: Callable[[int, int, int], int] | None = None
) -> Callable[..., float]:
    """A suspect: another rule for the two times, or other bytes."""

    def mistake(m: int, n: int, k: int, tflops: float, gbs: float) -> float:
        arithmetic, dram = gemm_pipes(m, n, k, tflops, gbs)
        if bytes_ is not None:
            dram = bytes_(m, n, k) / gbs / 1e6
        return rule(arithmetic, dram)

    return mistake


LEAST_GEMM_MS = FunctionSpec(
    "least_gemm_ms", UNIT, 2, shapes, least_gemm_ms,
    suspects={
        "arithmetic_only": pipes_by(lambda arithmetic, dram: arithmetic),
        "dram_only": pipes_by(lambda arithmetic, dram: dram),
        "pipes_added": pipes_by(lambda arithmetic, dram: arithmetic + dram),
        "shorter_pipe": pipes_by(min),
        "fma_as_one": pipes_by(lambda arithmetic, dram: max(arithmetic / 2, dram)),
        "result_forgotten": pipes_by(max, lambda m, n, k: 4 * (m * k + k * n)),
        "numbers_for_bytes": pipes_by(max, lambda m, n, k: m * k + k * n + m * n),
        "no_reuse": pipes_by(max, lambda m, n, k: 8 * m * n * k + 4 * m * n),
        "seconds": pipes_by(lambda arithmetic, dram: max(arithmetic, dram) / 1000),
        "microseconds": pipes_by(lambda arithmetic, dram: max(arithmetic, dram) * 1000),
    },
    causes={
        "arithmetic_only": "This is the arithmetic alone; a flat product is bound by the DRAM.",
        "dram_only": "This is the DRAM alone; a large product is bound by arithmetic.",
        "pipes_added": "The two times were added.  Both pipes work at the same time.",
        "shorter_pipe": "This is the shorter of the two times.",
        "fma_as_one": "A multiply-add counts as two operations.",
        "result_forgotten": "The bytes of the result are missing.",
        "numbers_for_bytes": "You count numbers; each has 4 bytes.",
        "no_reuse": "You count every load.  At best each element passes the DRAM once.",
        "seconds": "This is in seconds.",
        "microseconds": "This is in microseconds.",
    },
    hints={
        "arithmetic_only": ("What else has to happen?", "Three matrices pass the DRAM: max."),
        "dram_only": ("What else has to happen?", "2 m n k operations: take the longer time."),
        "pipes_added": ("Must one pipe wait for the other?", "No: take the longer time, max."),
        "shorter_pipe": ("When is the work done?", "When the longer pipe has finished: max."),
        "fma_as_one": (
            "How do peaks count a multiply-add?",
            "As two operations: 2 * m * n * k.",
        ),
        "result_forgotten": ("Where do the results go?", "Into the DRAM: m * n numbers more."),
        "numbers_for_bytes": ("How large is a float32?", "4 bytes."),
        "no_reuse": (
            "What does a perfect cache do?",
            "It keeps everything: m * k + k * n + m * n numbers, once each.",
        ),
        "seconds": ("Which unit is asked for?", "Milliseconds: times 1000."),
        "microseconds": ("Which unit is asked for?", "Milliseconds."),
    },
)  # fmt: skip


# -- tiled_matmul, mended_matmul and four_results ----------------------------------------------

TILED_MATMUL = KernelSpec(
    "tiled_matmul", UNIT, 3, ("c",), gemm_cases(TILE), product,
    writes_once=True,
    suspects={**TILES, "whole_tiles_only": whole_tiles(TILE)},
    causes=CAUSES,
    hints=HINTS,
    requirements=(
        FLOAT32,
        Requirement("loads", "too_many_loads"),
        Requirement("load_sectors", "too_many_sectors"),
        BARRIERS,
        Requirement("shared_bytes", "too_much_shared", times=1.25),
    ),
    counted=counted((80, 112, 52), (TILE, TILE), (TILE, TILE)),
)  # fmt: skip

# The broken kernel's own sizes first: what was found above the exercise is what is found here.
MENDED_MATMUL = KernelSpec(
    "mended_matmul", UNIT, 2, ("c",), gemm_cases(TILE, ((16, 16, 24), (32, 48, 40))), product,
    writes_once=True,
    suspects={**TILES, "whole_tiles_only": whole_tiles(TILE)},
    causes=CAUSES,
    hints=HINTS,
    requirements=(FLOAT32, Requirement("loads", "too_many_loads"), BARRIERS),
    counted=counted((80, 112, 52), (TILE, TILE), (TILE, TILE)),
)  # fmt: skip

FOUR_RESULTS = KernelSpec(
    "four_results", UNIT, 3, ("c",), gemm_cases(WIDE), product,
    writes_once=True,
    suspects={**SUMS, "one_result_only": quarter, "whole_tiles_only": whole_tiles(WIDE)},
    causes=CAUSES,
    hints=HINTS,
    requirements=(
        FLOAT32,
        Requirement("load_sectors", "too_many_sectors"),
        Requirement("wavefronts", "too_many_shared_reads", times=1.3),
        BARRIERS,
        Requirement("shared_bytes", "too_much_shared", limit=lambda case: 8192),
    ),
    counted=counted((96, 128, 56), (TILE, TILE), (WIDE, WIDE)),
)  # fmt: skip


SPECS = [
    COALESCED_MATMUL, TILE_COUNTS, LEAST_GEMM_MS, TILED_MATMUL, MENDED_MATMUL, FOUR_RESULTS,
]  # fmt: skip
