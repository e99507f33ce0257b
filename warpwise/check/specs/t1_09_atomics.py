"""Exercises of t1_09_atomics: counters, histograms, private copies and warps that agree first.

bin      one counter of a histogram
merge    adding a block's private bins to those in global memory
crowded  the bin that most elements of a skewed input fall into
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..cases import Case, Level, as_dims, ceil_div, sizes
from ..requirements import Requirement
from ..spec import FunctionSpec, KernelSpec

UNIT = "t1_09_atomics"

Array = np.ndarray
Answer = dict[str, Array]
Suspect = Callable[[Case], Answer]

LOST = (
    "Threads that met at one counter read the same old value, and only one of their additions "
    "was kept."
)
LOST_HINT = (
    "counts[b] += 1 reads, adds and writes: three steps.  What may happen between them?",
    "cuda.atomic.add(array, index, 1) does all three in one step.",
)
MERGE_HINT = (
    "How many atomic operations on global memory does one element cost you?",
    "Count in shared memory.  Only the finished bins go to global memory, each once for a block.",
)
UNZEROED_HINT = (
    "What is in a shared array when a block starts?",
    "Whatever was there before.  Set every bin to zero, then cuda.syncthreads(), then count.",
)
RACE_HINT = (
    "Does the finding name one line, or two?",
    "One: an addition that is not atomic; use cuda.atomic.add.  Two: they belong to different "
    "phases (zero, count, merge).  Put cuda.syncthreads() between them, outside every if.",
)
ADDED_TWICE = (
    "How often is each bin of a block added to counts?",
    "Once: by one thread of the block, after the counting.",
)


def bins_of(case: Case) -> int:
    """How many counters the case has."""
    return int(case.args["counts"].size)


def histogram(x: Array, bins: int) -> Array:
    """How many elements have each value from 0 to bins - 1."""
    return np.bincount(x[(x >= 0) & (x < bins)], minlength=bins)


def right_counts(case: Case) -> Answer:
    """The histogram of x."""
    return {"counts": histogram(case.args["x"], bins_of(case))}


def counted(pick: Callable[[Case], Array]) -> Suspect:
    """A suspect that counts other elements than all of x."""
    return lambda case: {"counts": histogram(pick(case), bins_of(case))}


def threads_of(case: Case) -> int:
    """Threads of the whole launch."""
    return as_dims(case.grid)[0] * as_dims(case.block)[0]


def whole_blocks(case: Case) -> Array:
    """The elements of blocks that are full."""
    block = as_dims(case.block)[0]
    return case.args["x"][: case.args["x"].size // block * block]


def present(case: Case) -> Answer:
    """One for each value that occurs: all other additions are lost."""
    return {"counts": np.minimum(right_counts(case)["counts"], 1)}


def last_block(case: Case) -> Answer:
    """Only what the last block counted: each block overwrote the others."""
    block, grid = as_dims(case.block)[0], as_dims(case.grid)[0]
    x = case.args["x"]
    mine = x[np.arange(x.size) // block % grid == grid - 1]
    return {"counts": histogram(mine, bins_of(case))}


def by_thread(case: Case) -> Answer:
    """Each bin of a block added once by each of its threads."""
    return {"counts": right_counts(case)["counts"] * as_dims(case.block)[0]}


#: Mistakes that every histogram may have.
COUNTING: dict[str, Suspect] = {
    "all_zero": lambda case: {"counts": np.zeros(bins_of(case), np.int64)},
    "lost_additions": present,
    "one_element_a_thread": counted(lambda case: case.args["x"][: threads_of(case)]),
    "only_first_block": counted(lambda case: case.args["x"][: as_dims(case.block)[0]]),
    "multiple_of_block_only": counted(whole_blocks),
    "last_element_missing": counted(lambda case: case.args["x"][:-1]),
    "merged_by_every_thread": by_thread,
    "plain_merge": last_block,
}
CAUSES = {
    "lost_additions": LOST,
    "one_element_a_thread": (
        "Each thread counted one element at most; this launch has more elements than threads."
    ),
    "only_first_block": "Only the elements of the first block were counted.",
    "multiple_of_block_only": "Only the elements of full blocks were counted.",
    "last_element_missing": "The last element was not counted.",
    "all_zero": "Nothing arrived in counts.",
    "merged_by_every_thread": (
        "Every thread of a block added the block's bins: they are too large by its size."
    ),
    "plain_merge": "The blocks overwrite each other: only one block's bins are left in counts.",
    "too_many_atomics": "Too much of the counting is done on global memory.",
}
HINTS = {
    "lost_additions": LOST_HINT,
    "one_element_a_thread": (
        "How many threads has this launch, and how many elements are there?",
        "Let each thread go on from its element in steps of cuda.gridsize(1).",
    ),
    "last_element_missing": (
        "Which element has the index n - 1, and who counts it?",
        "The guard is i < n.",
    ),
    "all_zero": (
        "Do the numbers ever get from the block's own bins to counts?",
        "After the last barrier, add each bin of the block to counts with cuda.atomic.add.",
    ),
    "merged_by_every_thread": ADDED_TWICE,
    "plain_merge": (
        "All blocks add to the same bins of counts.  Does one of them wait for another?",
        "No: the merge needs cuda.atomic.add, too.",
    ),
    "divergent_barrier": (
        "Which threads do not get to this barrier?",
        "Every thread of the block has to reach it, also those without an element: put it outside "
        "the if.",
    ),
    "too_many_atomics": MERGE_HINT,
    "uninitialised": UNZEROED_HINT,
    "race": RACE_HINT,
    "wrong_values": (
        "Take the first row of the table: which elements have that value, and who counts them?",
        "Add up all counts.  Too few: elements or additions are missing.  Too many: something is "
        "added twice.",
    ),
}


# -- count_above -------------------------------------------------------------------------------


def above_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Some elements are equal to the limit."""
    for block in (64, 32):
        for n in sizes(block, level, rng):
            if n % 32 == 1 and block == 32 and n > 1:
                continue
            x = np.round(rng.uniform(0.5, 9.5, n), 2).astype(np.float32)
            limit = float(np.sort(x)[n // 3]) if n else 1.0
            x[rng.random(n) < 0.15] = limit
            x[rng.random(n) < 0.15] = limit + 2**-12  # float16 cannot tell it from the limit
            args = {"count": np.zeros(1, np.int32), "x": x, "limit": limit, "n": n}
            yield Case(args, ceil_div(n, block) + 1, block, f"n = {n}, limit = {limit:.2f}")


def above(which: Callable[[Case], Any]) -> Suspect:
    """A suspect that holds this number."""
    return lambda case: {"count": np.array([int(which(case))])}


def larger(case: Case, stop: int | None = None) -> Any:
    """How many of the first `stop` elements are above the limit."""
    return np.count_nonzero(case.args["x"][:stop] > np.float32(case.args["limit"]))


COUNT_ABOVE = KernelSpec(
    "count_above", UNIT, 1, ("count",), above_cases, above(larger),
    inout=("count",),
    suspects={
        "all_zero": above(lambda case: 0),
        "lost_additions": above(lambda case: min(larger(case), 1)),
        "reduced_precision": above(
            lambda case: np.count_nonzero(
                case.args["x"].astype(np.float16) > np.float16(case.args["limit"])
            )
        ),
        "equal_counted": above(
            lambda case: np.count_nonzero(case.args["x"] >= np.float32(case.args["limit"]))
        ),
        "below_counted": above(
            lambda case: np.count_nonzero(case.args["x"] < np.float32(case.args["limit"]))
        ),
        "not_above_counted": above(
            lambda case: np.count_nonzero(case.args["x"] <= np.float32(case.args["limit"]))
        ),
        "all_counted": above(lambda case: case.args["n"]),
        "only_first_block": above(lambda case: larger(case, as_dims(case.block)[0])),
        "multiple_of_block_only": above(lambda case: larger(case, whole_blocks(case).size)),
        "values_added": above(
            lambda case: case.args["x"][case.args["x"] > np.float32(case.args["limit"])]
            .astype(np.int64).sum()
        ),
        "last_element_missing": above(lambda case: larger(case, -1)),
    },
    causes={
        "lost_additions": LOST,
        "reduced_precision": (
            "Elements just above the limit are missing, as if they had passed through float16."
        ),
        "equal_counted": "Elements that are equal to the limit are in the count.",
        "below_counted": "The elements below the limit were counted.",
        "not_above_counted": "The elements that are not above the limit were counted.",
        "all_counted": "All elements were counted, whatever their value.",
        "only_first_block": "Only the elements of the first block were counted.",
        "multiple_of_block_only": "Only the elements of full blocks were counted.",
        "values_added": "The elements were added up, not counted.",
        "last_element_missing": "The last element was not counted.",
        "all_zero": "The count is still zero.",
    },
    hints={
        "lost_additions": LOST_HINT,
        "race": (
            "The values are right here, by luck.  Who reads and writes count[0] at one time?",
            "Any thread may be between its read and its write when another one reads.  Use "
            "cuda.atomic.add(count, 0, 1).",
        ),
        "equal_counted": ("Is 2.0 larger than 2.0?", "The condition is x[i] > limit."),
        "below_counted": ("Which side of the limit counts?", "The condition is x[i] > limit."),
        "not_above_counted": ("Which side of the limit counts?", "The condition is x[i] > limit."),
        "all_counted": (
            "Does the condition of the exercise stand in front of the addition?",
            "if i < n and x[i] > limit: and then the atomic addition.",
        ),
        "values_added": (
            "By how much does the count grow for one element?",
            "By 1: cuda.atomic.add(count, 0, 1).",
        ),
        "last_element_missing": ("Who counts the element n - 1?", "The guard is i < n."),
        "all_zero": (
            "Which line changes count?",
            "cuda.atomic.add(count, 0, 1), for each element above the limit.",
        ),
        "wrong_values": (
            "Is the count too small or too large?",
            "Each element above the limit adds exactly 1, by one thread.",
        ),
    },
)  # fmt: skip


# -- warp_transactions -------------------------------------------------------------------------


def warps_of_bins(rng: np.random.Generator, level: Level) -> Iterator[tuple[Array]]:
    """Short warps first, then patterns, then skews of 10 to 90 %."""
    yield (np.array([5]),)
    yield (np.array([0, 0, 0, 1, 1, 9]),)
    yield (np.arange(32),)
    yield (np.full(32, 5),)
    yield (np.arange(32) % 4,)
    yield (np.arange(32) % 16 + 4,)
    yield (rng.permutation(32) * 8,)
    for skew in range(1, 10, 1 if level == "grader" else 2):
        crowded = int(rng.integers(0, 64))
        yield (np.where(rng.random(32) < skew / 10, crowded, rng.integers(0, 64, 32)),)


def by_sector(bins: Any, fold: Callable[[list[int]], int], width: int = 8) -> int:
    """Fold the lanes of the bins of each sector into one number, and add those up."""
    found: dict[int, list[int]] = {}
    for value, lanes in zip(*np.unique(np.asarray(bins), return_counts=True), strict=True):
        found.setdefault(int(value) // width, []).append(int(lanes))
    return sum(fold(lanes) for lanes in found.values())


def warp_transactions(bins: Array) -> int:
    """For each sector the lanes on its most wanted bin, added up."""
    return by_sector(bins, max)


WARP_TRANSACTIONS = FunctionSpec(
    "warp_transactions", UNIT, 2, warps_of_bins, warp_transactions,
    suspects={
        "longest_queue": lambda bins: int(np.unique(bins, return_counts=True)[1].max()),
        "one_for_each_lane": len,
        "one_for_each_bin": lambda bins: len(np.unique(bins)),
        "one_for_each_sector": lambda bins: len(np.unique(np.asarray(bins) // 8)),
        "longest_sector": lambda bins: int(
            np.unique(np.asarray(bins) // 8, return_counts=True)[1].max()
        ),
        "sectors_of_32": lambda bins: by_sector(bins, max, 32),
        "sectors_of_4": lambda bins: by_sector(bins, max, 4),
        "shortest_queue": lambda bins: by_sector(bins, min),
    },
    causes={
        "longest_queue": "This is the longest queue of the whole warp: other sectors are missing.",
        "one_for_each_lane": "This is the number of lanes.",
        "one_for_each_bin": "This is the number of different bins.",
        "one_for_each_sector": "This is the number of sectors: the queues are missing.",
        "longest_sector": "This is the number of lanes in the fullest sector.",
        "sectors_of_32": "The rule is right, but with 32 bins in a sector.",
        "sectors_of_4": "The rule is right, but with 4 bins in a sector.",
        "shortest_queue": "The shortest queue of each sector was taken.",
    },
    hints={
        "longest_queue": (
            "What do the other sectors cost?",
            "Each sector is a transfer of its own.  Take the longest queue of each, and add.",
        ),
        "one_for_each_lane": (
            "Do lanes on different bins of one sector wait for each other?",
            "Count the lanes on each bin; within a sector only the largest of these numbers "
            "counts.",
        ),
        "one_for_each_bin": (
            "Do two lanes on the same bin cost as much as one?",
            "Count the lanes on each bin first, then take the largest number of each sector.",
        ),
        "one_for_each_sector": (
            "Do two lanes on the same bin cost as much as one?",
            "Count the lanes on each bin first, then take the largest number of each sector.",
        ),
        "longest_sector": (
            "Two questions: which lanes wait for each other, and what is added up?",
            "Lanes wait for others on the same bin.  The longest queues of all sectors are added.",
        ),
        "sectors_of_32": (
            "How many int32 fit into 32 bytes?",
            "Eight: bin b is in sector b // 8.",
        ),
        "sectors_of_4": ("How many int32 fit into 32 bytes?", "Eight: bin b is in sector b // 8."),
        "shortest_queue": (
            "When is a sector done: with its first bin, or with its last?",
            "With its last: take the largest number of lanes.",
        ),
        "wrong_values": (
            "Draw the failing call: a row for each bin, a mark for each lane.",
            "Draw a line after every eight bins.  Between two lines only the longest row counts.",
        ),
    },
)  # fmt: skip


# -- mended_counts -----------------------------------------------------------------------------

FEW = 16


def few_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Sixteen bins; a block that starts after another one finds what it left behind."""
    for block in (32, 128):
        for n in sizes(block, level, rng):
            yield few_bins(rng, n, block)


def few_bins(rng: np.random.Generator, n: int, block: int) -> Case:
    """One launch with a thread for each element, and a few more."""
    x = rng.integers(0, FEW, n, np.int32)
    args = {"counts": np.zeros(FEW, np.int32), "x": x, "n": n}
    return Case(args, ceil_div(n, block), block, f"n = {n}")


MENDED_COUNTS = KernelSpec(
    "mended_counts", UNIT, 2, ("counts",), few_cases, right_counts,
    inout=("counts",),
    requirements=(
        Requirement(
            "atomic_transactions", "too_many_atomics", limit=lambda c: FEW * as_dims(c.grid)[0]
        ),
    ),
    counted=lambda: few_bins(np.random.default_rng(4), 2000, 128),
    suspects=COUNTING,
    causes=CAUSES,
    hints=HINTS,
)  # fmt: skip


# -- private_histogram -------------------------------------------------------------------------


def any_bins(rng: np.random.Generator, n: int, bins: int, grid: int, block: int) -> Case:
    """Values from below 0 to beyond the last bin; index -bins still exists."""
    x = rng.integers(-min(3, bins), bins + 3, n, np.int32)
    args = {"counts": np.zeros(bins, np.int32), "x": x, "n": n, "bins": bins}
    label = f"n = {n}, bins = {bins}"
    return Case(args, grid, block, label, sharedmem=4 * bins)


def any_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Fewer and more bins than threads, fewer and more elements than threads."""
    shapes = [
        (1, 1, 1, 32), (31, 3, 1, 32), (33, 5, 2, 32), (70, 32, 3, 32), (67, 33, 2, 32),
        (97, 64, 1, 32), (500, 100, 2, 64), (1000, 7, 3, 64), (300, 256, 4, 96),
        (700, 5000, 2, 128), (0, 9, 1, 32),
    ]  # fmt: skip
    if level == "grader":
        for _ in range(4):
            n, bins = int(rng.integers(50, 900)), int(rng.integers(2, 300))
            shapes.insert(-1, (n, bins, int(rng.integers(1, 5)), 32 * int(rng.integers(1, 4))))
    for n, bins, grid, block in shapes:
        yield any_bins(rng, n, bins, grid, block)


def wrapped(case: Case) -> Answer:
    """Values below zero counted from the end."""
    x, bins = case.args["x"], bins_of(case)
    return {"counts": histogram(np.where((x < 0) & (x >= -bins), x + bins, x), bins)}


def clamped(case: Case) -> Answer:
    """Values outside counted in the nearest bin."""
    return {"counts": histogram(np.clip(case.args["x"], 0, bins_of(case) - 1), bins_of(case))}


def first_bins(limit: Callable[[Case], int]) -> Suspect:
    """Only the first bins arrive in counts."""

    def mistake(case: Case) -> Answer:
        found = right_counts(case)["counts"]
        found[limit(case) :] = 0
        return {"counts": found}

    return mistake


def one_transaction_a_bin(case: Case) -> int:
    """Of global memory, for each bin and block."""
    return bins_of(case) * as_dims(case.grid)[0]


PRIVATE_HISTOGRAM = KernelSpec(
    "private_histogram", UNIT, 3, ("counts",), any_cases, right_counts,
    inout=("counts",),
    requirements=(
        Requirement("atomic_transactions", "too_many_atomics", limit=one_transaction_a_bin),
    ),
    counted=lambda: any_bins(np.random.default_rng(5), 5000, 40, 4, 128),
    suspects={
        **COUNTING,
        "negative_counted": wrapped,
        "clamped": clamped,
        "one_bin_a_thread": first_bins(lambda case: as_dims(case.block)[0]),
        "zero_left_out": counted(lambda case: case.args["x"][case.args["x"] > 0]),
        "last_bin_left_out": first_bins(lambda case: bins_of(case) - 1),
    },
    causes={
        **CAUSES,
        "negative_counted": "Values below 0 were counted in the last bins: index -1 is the last.",
        "clamped": "Values that do not belong were counted in the first and the last bin.",
        "one_bin_a_thread": (
            "Only as many bins arrived in counts as a block has threads; here there are more."
        ),
        "zero_left_out": "The value 0 was not counted.",
        "last_bin_left_out": "The last bin was not counted.",
    },
    hints={
        **HINTS,
        "out_of_bounds": (
            "Which values may x hold, and which of them have a bin?",
            "Count only where 0 <= x[i] < bins.  The loops over the bins end at bins.",
        ),
        "negative_counted": (
            "Which bin is mine[-1]?",
            "The guard has two ends: 0 <= x[i] < bins.",
        ),
        "clamped": (
            "What does the exercise ask of values that do not belong?",
            "They are not counted at all: if 0 <= x[i] < bins.",
        ),
        "one_bin_a_thread": (
            "How many bins does one thread zero, and how many does it merge?",
            "for b in range(cuda.threadIdx.x, bins, cuda.blockDim.x), in both phases.",
        ),
        "zero_left_out": ("Is 0 a value that belongs?", "The guard is 0 <= x[i] < bins."),
        "last_bin_left_out": (
            "Which bins are there, from the first to the last?",
            "From 0 to bins - 1: loops over bins end at bins, and the guard is x[i] < bins.",
        ),
        "uninitialised": (
            "Which bins are set to zero before the counting, and by whom?",
            "There may be more bins than threads: for b in range(cuda.threadIdx.x, bins, "
            "cuda.blockDim.x).  Then a barrier.",
        ),
    },
)  # fmt: skip


# -- gather_positive ---------------------------------------------------------------------------


def mixed(rng: np.random.Generator, n: int, block: int, share: float, more: int = 1) -> Case:
    """Different numbers, a share of them positive; the first of the others is 0."""
    x = (rng.permutation(3 * n + 3)[:n] + 1).astype(np.int32)
    x[rng.random(n) >= share] *= -1
    x[np.flatnonzero(x < 0)[:1]] = 0
    args = {"out": np.zeros(n, np.int32), "count": np.zeros(1, np.int32), "x": x, "n": n}
    return Case(args, ceil_div(n, block) + more, block, f"n = {n}")


def mixed_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """From no positive element to all of them."""
    shares = (1.0, 0.5, 0.5, 0.1, 0.5, 0.9, 0.0)
    for k, n in enumerate(sizes(32, level, rng)):
        yield mixed(rng, n, 32, shares[k % len(shares)], more=k % 2)
    for n in (128, 129, 300):
        yield mixed(rng, n, 128, 0.5)


def packed(kept: Array, n: int) -> Any:
    """What stands in out: the kept elements sorted, the rest masked."""
    found = np.ma.masked_all(n, np.int32)
    found[: kept.size] = np.sort(kept)[:n]
    return found


def kept(case: Case) -> Array:
    """The positive elements."""
    return case.args["x"][case.args["x"] > 0]


def positives(case: Case) -> dict[str, Any]:
    """In any order; here sorted."""
    chosen = kept(case)
    return {"out": packed(chosen, case.args["n"]), "count": np.array([chosen.size])}


def warps(case: Case) -> int:
    """Warps of the launch."""
    return threads_of(case) // 32


def only_count(which: Callable[[Case], int]) -> Suspect:
    """A suspect that is known by the count alone."""
    return lambda case: {"count": np.array([which(case)])}


GATHER_POSITIVE = KernelSpec(
    "gather_positive", UNIT, 2, ("count", "out"), mixed_cases, positives,
    inout=("count",),
    unordered=("out",),
    requirements=(Requirement("atomic_transactions", "too_many_atomics", limit=warps),),
    counted=lambda: mixed(np.random.default_rng(6), 2000, 128, 0.5),
    suspects={
        "not_counted": only_count(lambda case: 0),
        "lost_additions": only_count(lambda case: min(kept(case).size, 1)),
        "all_counted": only_count(lambda case: case.args["n"]),
        "zero_kept": only_count(lambda case: int((case.args["x"] >= 0).sum())),
    },
    causes={
        "lost_additions": LOST,
        "all_counted": "The count is the number of elements, not of positive ones.",
        "zero_kept": "The element 0 is in the count, and 0 is not positive.",
        "not_counted": "The count is still zero.",
        "never_written": "Places in front are empty: two elements shared one, or gaps were left.",
        "wrote_outside": "Something was stored behind the last positive element.",
        "too_many_atomics": "More than one lane of a warp draws places.",
    },
    hints={
        "lost_additions": LOST_HINT,
        "never_written": (
            "Does every positive element have a place of its own, without gaps?",
            "Its place is what atomic.add returned to its warp, plus the positive lanes in front "
            "of it in the warp: cuda.popc(votes & cuda.lanemask_lt()).",
        ),
        "wrote_outside": (
            "Which elements get a place, and are the places side by side?",
            "Only positive elements get one.  A warp draws exactly as many places as it has "
            "positive lanes: cuda.popc(votes).",
        ),
        "written_more_than_once": (
            "Which two lanes computed the same place?",
            "A lane's own place: the warp's first place plus the positive lanes in front of it.",
        ),
        "all_counted": (
            "Who votes with true?",
            "keep is i < n and x[i] > 0, and the warp adds cuda.popc(votes).",
        ),
        "zero_kept": ("Is 0 positive?", "keep is i < n and x[i] > 0."),
        "not_counted": (
            "Which line changes count?",
            "cuda.atomic.add(count, 0, cuda.popc(votes)), by one lane of each warp.",
        ),
        "too_many_atomics": (
            "How many lanes of one warp call cuda.atomic.add?",
            "One: lane 0 adds cuda.popc(votes) and hands what it got to the others with "
            "cuda.shfl_sync.",
        ),
        "race": (
            "Which two threads store to one place in out?",
            "A place may be given only once: what atomic.add returns, plus the positive lanes in "
            "front of it in the same warp.",
        ),
        "mask_names_absent": (
            "Which lanes does the mask name, and which of them come to this line?",
            "0xFFFFFFFF names all 32, also those without an element: call it outside every if, "
            "and let such a lane vote with false.",
        ),
        "output_read": (
            "What does out hold before the launch?",
            "Leftovers of any kind.  Take elements from x only.",
        ),
        "wrong_values": (
            "The table is sorted.  Is an element missing, there twice, or not positive?",
            "Two lanes with the same place overwrite each other.  Work out the places of the "
            "lanes of one warp by hand.",
        ),
    },
)  # fmt: skip


# -- skewed_histogram --------------------------------------------------------------------------

MANY = 64


def skewed(rng: np.random.Generator, n: int, grid: int, block: int, share: float) -> Case:
    """A share of the elements in one bin, the rest anywhere."""
    crowded = int(rng.integers(0, MANY))
    x = np.where(rng.random(n) < share, crowded, rng.integers(0, MANY, n)).astype(np.int32)
    args = {"counts": np.zeros(MANY, np.int32), "x": x, "n": n}
    return Case(args, grid, block, f"n = {n}, {share:.0%} in bin {crowded}")


def skewed_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Whole and ragged ends, one block and several, all skews."""
    shapes = [
        (1, 1, 32, 0.9), (31, 1, 64, 0.9), (33, 1, 64, 0.5), (64, 1, 32, 0.9), (129, 2, 64, 0.1),
        (500, 3, 64, 0.9), (777, 2, 128, 1.0), (1000, 8, 128, 0.9), (0, 1, 32, 0.9),
    ]  # fmt: skip
    if level == "grader":
        for _ in range(4):
            n, grid = int(rng.integers(50, 1500)), int(rng.integers(1, 5))
            shapes.insert(-1, (n, grid, 32 * int(rng.integers(1, 5)), float(rng.random())))
    for n, grid, block, share in shapes:
        yield skewed(rng, n, grid, block, share)


def groups(case: Case, power: int = 0) -> Array:
    """For each warp and value, the number of lanes to this power, added up."""
    x, n = case.args["x"], case.args["n"]
    found = np.zeros(MANY, np.int64)
    for start in range(0, n, 32):
        values, lanes = np.unique(x[start : start + 32], return_counts=True)
        found[values] += lanes**power
    return found


def beyond(case: Case) -> Answer:
    """In bin 0 also the threads of the last rounds that have no element."""
    block = as_dims(case.block)[0]
    found = right_counts(case)["counts"]
    if case.args["n"]:
        last = case.args["n"] % block
        found[0] += (block - last) % block
    return {"counts": found}


SKEWED_HISTOGRAM = KernelSpec(
    "skewed_histogram", UNIT, 2, ("counts",), skewed_cases, right_counts,
    inout=("counts",),
    requirements=(
        Requirement("atomic_transactions", "too_many_atomics", limit=one_transaction_a_bin),
        Requirement(
            "shared_atomic_transactions", "long_queue",
            limit=lambda case: 5 * ceil_div(case.args["n"], 32),
        ),
    ),
    counted=lambda: skewed(np.random.default_rng(7), 4096, 4, 128, 0.9),
    suspects={
        **COUNTING,
        "one_for_each_group": lambda case: {"counts": groups(case)},
        "a_group_for_each_lane": lambda case: {"counts": groups(case, power=2)},
        "lanes_beyond_the_end": beyond,
    },
    causes={
        **CAUSES,
        "one_for_each_group": "Each group of equal lanes was counted as 1.",
        "a_group_for_each_lane": "Each lane of a group added the size of the whole group.",
        "lanes_beyond_the_end": "Threads without an element were counted in bin 0.",
        "long_queue": "In shared memory the lanes of a warp still queue for the crowded bin.",
    },
    hints={
        **HINTS,
        "one_for_each_group": (
            "How many elements does the lane that adds stand for?",
            "cuda.popc(same): all lanes with its value.",
        ),
        "a_group_for_each_lane": (
            "How many lanes of a group should add?",
            "The first one alone: cuda.laneid == cuda.ffs(same) - 1.",
        ),
        "lanes_beyond_the_end": (
            "Which value does a thread without an element match with?",
            "One that no element has, such as -1, and it adds nothing: i < n in the condition.",
        ),
        "mask_names_absent": (
            "Which lanes does the mask name, and which of them come to this line?",
            "0xFFFFFFFF names all 32, also those without an element: call it outside every if, "
            "and let such a lane match with -1.",
        ),
        "long_queue": (
            "29 lanes of a warp want the same bin.  How many of them have to ask for it?",
            "One, for all of them: cuda.match_any_sync finds the lanes with the same value, and "
            "the first one adds cuda.popc(same).",
        ),
    },
)  # fmt: skip


SPECS = [
    COUNT_ABOVE, WARP_TRANSACTIONS, MENDED_COUNTS, PRIVATE_HISTOGRAM, GATHER_POSITIVE,
    SKEWED_HISTOGRAM,
]  # fmt: skip
