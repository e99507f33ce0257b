"""Exercises of t2_02_gemm_registers: products of matrices with several results a thread.

m, n, k  rows of the result, columns of the result, and the length of the sums
patch    the results of one thread, held in registers
step     one turn of the loop along k; a set of tiles holds the numbers of one step
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..cases import Case, Level, ceil_div
from ..requirements import Requirement
from ..spec import CompiledFact, FunctionSpec, KernelSpec
from .t2_01_gemm_tiles import FLOAT32, gemm_case, matrices, product, terms

UNIT = "t2_02_gemm_registers"

STEP = 8

Array = np.ndarray
Pair = tuple[int, int]
Sizes = tuple[int, int, int]
Plan = tuple[int, int, int, int, int, int]


# -- tile_plan ---------------------------------------------------------------------------------


def plans(rng: np.random.Generator, level: Level) -> Iterator[Plan]:
    """(bm, bn, step, p, q, warps): both examples, then patches of all shapes."""
    yield from [
        (128, 128, 8, 8, 8, 4), (64, 32, 16, 4, 1, 4), (32, 64, 8, 1, 1, 2), (64, 64, 8, 8, 1, 4),
        (64, 128, 8, 4, 8, 2), (48, 96, 4, 3, 6, 4),
    ]  # fmt: skip
    for _ in range(4 if level == "student" else 20):
        p, q = (int(side) for side in rng.integers(1, 10, size=2))
        along, down = (int(2 ** rng.integers(2, 5)) for _ in range(2))
        yield p * down, q * along, int(rng.choice([4, 8, 16])), p, q, int(rng.choice([2, 4]))


def tile_plan(
    bm: int, bn: int, step: int, p: int, q: int, warps: int
) -> tuple[int, int, float, float]:
    """Threads, shared bytes, loads per result for K = 1000, share of the peak."""
    threads, shared = (bm // p) * (bn // q), 8 * step * (bm + bn)
    return threads, shared, 1000 / bm + 1000 / bn, min(1.0, p * q / (p + q) / warps)


def plan_by(place: int, rule: Callable[..., float]) -> Callable[..., tuple[float, ...]]:
    """A suspect that gets one of the four numbers by another rule."""

    def mistake(*plan: int) -> tuple[float, ...]:
        right = list(tile_plan(*plan))
        right[place] = rule(*plan)
        return tuple(right)

    return mistake


TILE_PLAN = FunctionSpec(
    "tile_plan", UNIT, 2, plans, tile_plan,
    suspects={
        "one_thread_a_result": plan_by(0, lambda bm, bn, step, p, q, warps: bm * bn),
        "one_set": plan_by(1, lambda bm, bn, step, p, q, warps: 4 * step * (bm + bn)),
        "elements_not_bytes": plan_by(1, lambda bm, bn, step, p, q, warps: 2 * step * (bm + bn)),
        "one_tile_only": plan_by(1, lambda bm, bn, step, p, q, warps: 8 * step * bm),
        "results_in_shared": plan_by(1, lambda bm, bn, step, p, q, warps: 8 * bm * bn),
        "patch_for_block": plan_by(2, lambda bm, bn, step, p, q, warps: 1000 / p + 1000 / q),
        "loads_of_the_block": plan_by(2, lambda bm, bn, step, p, q, warps: 1000 * (bm + bn)),
        "no_sharing": plan_by(2, lambda bm, bn, step, p, q, warps: 2000),
        "above_the_peak": plan_by(3, lambda bm, bn, step, p, q, warps: p * q / (p + q) / warps),
        "one_warp_a_clock": plan_by(
            3, lambda bm, bn, step, p, q, warps: min(1.0, p * q / (p + q))
        ),
        "percent": plan_by(3, lambda *plan: 100 * tile_plan(*plan)[3]),
        "reads_not_share": plan_by(3, lambda bm, bn, step, p, q, warps: (p + q) / (p * q)),
    },
    causes={
        "one_thread_a_result": "That is a thread for each result; each has a patch of them.",
        "one_set": "These are the bytes of one set of tiles.  There are two sets.",
        "elements_not_bytes": "These are numbers, not bytes.",
        "one_tile_only": "A set has a tile of a and a tile of b.",
        "results_in_shared": "The sums are in registers.  Shared memory holds the tiles.",
        "patch_for_block": "A number loaded from global memory serves the whole block.",
        "loads_of_the_block": "These are all loads of the block; those for one result are asked.",
        "no_sharing": "That is 2 K loads for a result, as if nothing were shared.",
        "above_the_peak": "The share of a peak ends at 1.",
        "one_warp_a_clock": "The arithmetic of several warps is done in one clock.",
        "percent": "A share is a number up to 1, not a percentage.",
        "reads_not_share": "These are the reads for a multiply-add, not the share of the peak.",
    },
    hints={
        "one_thread_a_result": ("How many patches cover the block?", "(bm // p) * (bn // q)."),
        "one_set": ("Which tiles exist at the same time?", "Those in use and the next: twice."),
        "elements_not_bytes": ("How large is a float32?", "4 bytes."),
        "one_tile_only": ("Which matrices have a tile?", "Both: step * (bm + bn) numbers a set."),
        "results_in_shared": (
            "What does a block keep in shared memory?",
            "step * (bm + bn) numbers of a and b in each set.",
        ),
        "patch_for_block": (
            "Who uses a number that was loaded from global memory?",
            "All threads of the block that need it: 1000 / bm + 1000 / bn for a result.",
        ),
        "loads_of_the_block": ("Over how many results?", "bm * bn."),
        "no_sharing": ("How often does a block load a number?", "Once: 1000 / bm + 1000 / bn."),
        "above_the_peak": ("What if shared memory is not the limit?", "min(1, ...)."),
        "one_warp_a_clock": (
            "How long does the arithmetic of one warp take?",
            "1 / warps of a clock.",
        ),
        "percent": ("Which number is one half?", "0.5."),
        "reads_not_share": (
            "How many clocks do the reads take, and how many the arithmetic?",
            "(p + q) / (p * q) against 1 / warps for one multiply-add: their ratio, at most 1.",
        ),
    },
)  # fmt: skip


# -- what the kernels have in common -----------------------------------------------------------

# No two sizes alike where a mistake could hide: a single row, a single column, one term, one tile,
# an odd number of tiles, one more and one less than a block.
SIZES: list[Sizes] = [
    (2, 3, 5), (3, 5, 20), (1, 40, 17), (35, 1, 16), (17, 33, 1), (32, 32, 8), (31, 33, 9),
    (33, 18, 24), (32, 64, 32), (1, 1, 1),
]  # fmt: skip
FEWER: list[Sizes] = [
    (2, 3, 5), (1, 40, 17), (35, 1, 8), (33, 18, 24), (32, 32, 8), (1, 1, 1),
]  # fmt: skip
LARGE: list[Sizes] = [(2, 3, 5), (1, 70, 17), (67, 1, 8), (63, 65, 20)]


def gemm_cases(
    block: Any, side: Pair, sizes: list[Sizes]
) -> Callable[[np.random.Generator, Level], Iterator[Case]]:
    """Cases of blocks that compute `side` of (columns, rows) of c each."""

    def cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
        chosen = list(sizes)
        if level == "grader":
            chosen += [
                (int(m), int(n), int(k)) for m, n, k in rng.integers(1, (80, 80, 30), size=(2, 3))
            ]
        for one in chosen:
            yield gemm_case(rng, one, block, side)

    return cases


def tiles_of(k: int) -> int:
    return ceil_div(k, STEP)


def old_tile_again(case: Case) -> dict[str, Array]:
    """A suspect: with an odd number of tiles, the one before the last is multiplied again."""
    a, b = matrices(case)
    tiles = tiles_of(a.shape[1])
    again = slice((tiles - 2) * STEP, (tiles - 1) * STEP) if tiles % 2 and tiles > 1 else slice(0)
    return {"c": a @ b + a[:, again] @ b[again]}


SUMS = {
    "first_step_only": terms(lambda k: slice(0, STEP)),
    "last_step_only": terms(lambda k: slice((tiles_of(k) - 1) * STEP, k)),
    "whole_steps_only": terms(lambda k: slice(0, k // STEP * STEP)),
    "first_step_missing": terms(lambda k: slice(STEP, k)),
    "last_step_missing": terms(lambda k: slice(0, (tiles_of(k) - 1) * STEP)),
    "last_term_missing": terms(lambda k: slice(0, k - 1)),
}

CAUSES = {
    "first_step_only": "Only the first 8 terms of each sum are there.",
    "last_step_only": "Only the terms of the last step along k are there.",
    "whole_steps_only": "The terms of the last step, which is not full, are missing.",
    "first_step_missing": "The terms of the first step are missing.",
    "last_step_missing": "The terms of the last step are missing.",
    "last_term_missing": "The last term of each sum is missing.",
    "old_tile_again": (
        "With an odd number of tiles, the numbers of an old tile are multiplied once more."
    ),
    "too_many_shared_reads": "Shared memory needs more passes than so many results a thread do.",
    "too_many_sectors": "The loads touch more sectors than the tiles need.",
    "too_many_loads": "Numbers are loaded from global memory more often than the tiles need.",
    "too_many_barriers": "There are more barriers than the steps need.",
    "too_much_shared": "Each block keeps more than its tiles.",
    "float64_arithmetic": "Multiplications or additions are done in float64.",
    "local_memory": "An array of the thread lies in local memory, not in registers.",
    "spilled": "The compiler has no registers left and spills some to local memory.",
    "narrow_loads": "The compiler could not join the loads from shared memory.",
}

HINTS = {
    "first_step_only": (
        "How many steps of 8 does a sum of k terms take?",
        "Loop over all of them, and add to the same sums in each.",
    ),
    "last_step_only": ("Where are the sums set to zero?", "Once, before the loop over the steps."),
    "whole_steps_only": (
        "What happens to the last terms when k is no multiple of 8?",
        "range(0, k, STEP) has a last step that is not full: ceil(k / STEP) steps.",
    ),
    "first_step_missing": (
        "Which tile does the first turn multiply?",
        "The one that was filled before the loop.  Multiply first, change the set afterwards.",
    ),
    "last_step_missing": (
        "Which tile has been filled and not used when the loop ends?",
        "There are ceil(k / STEP) tiles, odd or even, and each needs a turn.",
    ),
    "last_term_missing": (
        "Which values does your index along k take?",
        "0 to k - 1: a guard that says < k.",
    ),
    "old_tile_again": (
        "What does the second turn of the last pair multiply when there is no tile for it?",
        "Let each turn use one tile: for tile in range(tiles), with the set tile % 2.",
    ),
    "uninitialised": (
        "Which thread should have stored a number at this place, and did it?",
        "Fill all places of both tiles: where the matrix has no element, store np.float32(0).  "
        "And use a set only after it has been filled.",
    ),
    "race": (
        "The message names a line that fills a tile and a line that uses it.  In which step is "
        "each of the two threads?",
        "One set: fill, barrier, use, barrier.  Two sets: use one, fill the other, then a barrier "
        "at the end of every turn.",
    ),
    "divergent_barrier": (
        "Does every thread of the block come to this barrier?",
        "Take it out of the if, and let no thread return before it.  Guard loads and stores.",
    ),
    "too_many_shared_reads": (
        "How many multiply-adds does one number read from the tiles serve, and do the lanes of a "
        "warp read and write different banks?",
        "Read the numbers of one p into variables or a small array first, then use each of them "
        "for a row or a column of the patch.  Look at profile() for conflicts.",
    ),
    "too_many_sectors": (
        "Which eight or more neighbours in memory does a warp load together?",
        "Renumber the threads to fill: the last index of a and of b changes from lane to lane.",
    ),
    "too_many_loads": (
        "How many numbers of each tile does one thread have to fetch?",
        "Each number of a tile once for the whole block.",
    ),
    "too_many_barriers": (
        "Which two things must not overlap?",
        "One set: a barrier after filling and one after using.  Two sets: one a step, and one "
        "before the first.",
    ),
    "too_much_shared": (
        "How many numbers of each matrix does a block need in one step?",
        "8 for each row and column of the block, and a little padding.",
    ),
    "float64_arithmetic": (
        "Which type has your sum before the first addition?",
        "0 and 0.0 make a float64 of a variable.  Start with np.float32(0).",
    ),
    "local_memory": (
        "Which index of the array is not known before the kernel runs?",
        "Index small arrays only by loops over constants, such as range(4).",
    ),
    "spilled": (
        "How many numbers does a thread hold at a time?",
        "The patch, one column and one row for one p, and the numbers on their way: no more.",
    ),
    "narrow_loads": (
        "Are the four numbers neighbours, at a multiple of 16 bytes, in the last index?",
        "Tiles with three indices: tile_a[p, ty, i] with a transposed, tile_b[p, tx, j], the last "
        "one of length 4.  Rows have a multiple of 4 numbers.",
    ),
}  # fmt: skip


def two_a_step(case: Case) -> int:
    """Two barriers for each step along k, all blocks together."""
    return 2 * tiles_of(case.args["k"]) * case.blocks


def one_a_step(case: Case) -> int:
    """One barrier for each step along k and one before the first, all blocks together."""
    return (tiles_of(case.args["k"]) + 1) * case.blocks


def counted(sizes: Sizes, block: Any, side: Pair) -> Callable[[], Case]:
    """The launch on which requirements are counted."""
    return lambda: gemm_case(np.random.default_rng(6), sizes, block, side)


TWO_BARRIERS = Requirement("barriers", "too_many_barriers", limit=two_a_step)
ONE_BARRIER = Requirement("barriers", "too_many_barriers", limit=one_a_step)
SECTORS = Requirement("load_sectors", "too_many_sectors")

ARCH = "sm_86"


def in_local_memory(code: Any) -> str | None:
    """Whether an array of the thread has an address, and so no registers."""
    if code.resources.stack > code.spills:
        return f"Compiled for {ARCH}, a thread keeps {code.resources.stack} bytes in local memory."
    return None


def spilled(code: Any) -> str | None:
    if code.spills:
        return (
            f"Compiled for {ARCH} it has {code.registers} registers a thread and spills "
            f"{code.spills} bytes."
        )
    return None


def narrow_loads(code: Any) -> str | None:
    """Whether a load from shared memory is narrower than 128 bits."""
    loads = {bits: count for (name, bits), count in code.load_bits.items() if name == "LDS"}
    narrow = sum(count for bits, count in loads.items() if bits < 128)
    if narrow or not loads:
        found = ", ".join(f"{count} of {bits} bits" for bits, count in sorted(loads.items()))
        return f"Compiled for {ARCH} its loads from shared memory are: {found or 'none'}."
    return None


WIDE = (
    CompiledFact(ARCH, in_local_memory, "local_memory"),
    CompiledFact(ARCH, spilled, "spilled"),
    CompiledFact(ARCH, narrow_loads, "narrow_loads"),
)


# -- the kernels -------------------------------------------------------------------------------

COLUMN_MATMUL = KernelSpec(
    "column_matmul", UNIT, 2, ("c",), gemm_cases((32, 8), (32, 32), SIZES), product,
    writes_once=True,
    suspects=SUMS,
    causes=CAUSES,
    hints=HINTS,
    requirements=(
        FLOAT32, SECTORS, Requirement("wavefronts", "too_many_shared_reads", times=1.1),
        TWO_BARRIERS,
    ),
    counted=counted((64, 96, 40), (32, 8), (32, 32)),
)  # fmt: skip

PATCH_MATMUL = KernelSpec(
    "patch_matmul", UNIT, 3, ("c",), gemm_cases((8, 8), (32, 32), FEWER), product,
    writes_once=True,
    suspects=SUMS,
    causes=CAUSES,
    hints=HINTS,
    requirements=(
        FLOAT32, SECTORS, Requirement("wavefronts", "too_many_shared_reads", times=1.1),
        TWO_BARRIERS,
    ),
    counted=counted((64, 96, 24), (8, 8), (32, 32)),
)  # fmt: skip

WIDE_MATMUL = KernelSpec(
    "wide_matmul", UNIT, 2, ("c",), gemm_cases((8, 8), (32, 32), FEWER), product,
    writes_once=True,
    suspects=SUMS,
    causes=CAUSES,
    hints=HINTS,
    requirements=(
        FLOAT32, SECTORS, Requirement("wavefronts", "too_many_shared_reads", times=1.1),
        TWO_BARRIERS,
        Requirement("shared_bytes", "too_much_shared", limit=lambda case: 2560),
    ),
    compiled=WIDE,
    counted=counted((64, 96, 24), (8, 8), (32, 32)),
)  # fmt: skip

# The broken kernel's own sizes first: what was found above the exercise is what is found here.
MENDED_BUFFERS = KernelSpec(
    "mended_buffers", UNIT, 2, ("c",),
    gemm_cases((STEP, STEP), (STEP, STEP), [(8, 8, 24), (16, 24, 32), *SIZES]), product,
    writes_once=True,
    suspects={**SUMS, "old_tile_again": old_tile_again},
    causes=CAUSES,
    hints=HINTS,
    requirements=(FLOAT32, Requirement("loads", "too_many_loads"), ONE_BARRIER),
    counted=counted((40, 56, 52), (STEP, STEP), (STEP, STEP)),
)  # fmt: skip

REGISTERS_MATMUL = KernelSpec(
    "registers_matmul", UNIT, 3, ("c",), gemm_cases(64, (64, 64), LARGE), product,
    writes_once=True,
    suspects={**SUMS, "old_tile_again": old_tile_again},
    causes=CAUSES,
    hints=HINTS,
    requirements=(
        FLOAT32, SECTORS, Requirement("wavefronts", "too_many_shared_reads", times=1.05),
        ONE_BARRIER,
        Requirement("shared_bytes", "too_much_shared", limit=lambda case: 10_240),
    ),
    compiled=WIDE,
    counted=counted((128, 192, 24), 64, (64, 64)),
)  # fmt: skip


SPECS = [
    TILE_PLAN, COLUMN_MATMUL, PATCH_MATMUL, WIDE_MATMUL, MENDED_BUFFERS, REGISTERS_MATMUL,
]  # fmt: skip
