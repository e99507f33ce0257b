"""Exercises of t1_08_scan: running totals within a warp, within a block, across blocks.

part    the elements of one block, or of one warp: a scan starts afresh in each
map     a pair (a, b) that means x -> a * x + b; maps are composed, and order matters
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ..cases import Case, Level, ceil_div, owner_by_position, sizes, values
from ..requirements import Requirement
from ..spec import FunctionSpec, KernelSpec
from ..tolerance import Tolerance

UNIT = "t1_08_scan"
Array = np.ndarray
Outputs = Mapping[str, np.ndarray]

SHARED_RACE = (
    "In one round some threads read elements that other threads overwrite.  What makes sure that "
    "the reads come first?",
    "Read into a variable, cuda.syncthreads(), write, cuda.syncthreads().  Both barriers stand "
    "outside of every if.",
)
SHUFFLE_EXIT = (
    "A shuffle with the mask 0xFFFFFFFF expects all 32 lanes.  Which of yours does not arrive?",
    "No shuffle may stand inside an if that depends on the lane.  Every lane makes the call, one "
    "without an element with a value that changes nothing, and the if comes behind it.",
)


def positive(rng: np.random.Generator, n: int) -> Array:
    """float32 values in [1, 10): their sums have no cancellation."""
    return np.abs(values(rng, n))


def parts(array: Array, size: int) -> Iterator[tuple[int, Array]]:
    """(first index, elements) of every part of `size` elements; the last may be shorter."""
    for start in range(0, array.size, size):
        yield start, array[start : start + size]


# -- make_exclusive ----------------------------------------------------------------------------


def exclusive_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    for block in (32, 48):
        for n in sizes(block, level, rng):
            scanned = np.cumsum(values(rng, n), dtype=np.float32)
            args = {"out": np.zeros_like(scanned), "scanned": scanned, "n": n}
            yield Case(args, ceil_div(n, block) + 1, block, f"n = {n}")


def moved(case: Case) -> Array:
    scanned = case.args["scanned"].astype(np.float64)
    return np.concatenate(([0.0], scanned[:-1])) if scanned.size else scanned


def first_left_out(case: Case) -> Outputs:
    right = moved(case)
    return {"out": np.ma.array(right, mask=np.arange(right.size) == 0)}


def in_each_block(case: Case) -> Outputs:
    right = moved(case)
    right[:: case.threads_per_block] = 0
    return {"out": right}


MAKE_EXCLUSIVE = KernelSpec(
    "make_exclusive", UNIT, 1, ("out",), exclusive_cases, lambda case: {"out": moved(case)},
    writes_once=True,
    owner=owner_by_position,
    suspects={
        "wrapped_round": lambda case: {"out": np.roll(case.args["scanned"], 1).astype(float)},
        "first_left_out": first_left_out,
        "block_by_block": in_each_block,
        "moved_left": lambda case: {
            "out": np.append(case.args["scanned"][1:].astype(float), 0.0)[: case.args["n"]]
        },
    },
    causes={
        "wrapped_round": "out[0] is the last element of scanned: that is what index -1 means.",
        "first_left_out": "All is right but out[0], which nobody stored.",
        "block_by_block": "Every block starts with 0 again; only the whole array should.",
        "moved_left": "The values moved to the left: element i holds the total of i + 1.",
        "input_copied": "out is a copy of scanned: an exclusive total leaves its own element out.",
    },
    hints={
        "wrapped_round": (
            "What stands to the left of element 0?",
            "Nothing, so its total is 0.  Only i > 0 may read scanned[i - 1].",
        ),
        "first_left_out": (
            "Which thread stores out[0], and what?",
            "Thread 0 has no left neighbour: it stores 0.",
        ),
        "block_by_block": (
            "Does a total forget the blocks before it?",
            "Compare i with 0, not threadIdx.x.",
        ),
        "moved_left": (
            "Does an exclusive total know more than the inclusive one, or less?",
            "Less: out[i] is the inclusive total of element i - 1.",
        ),
        "input_copied": (
            "What is the exclusive total of element 0?",
            "Nothing stands before it: 0.  Every total moves one place to the right.",
        ),
    },
)  # fmt: skip


# -- scan_adds ---------------------------------------------------------------------------------


def distances(n: int) -> list[int]:
    """1, 2, 4, ... below n: the rounds of a doubling scan."""
    return [1 << k for k in range((n - 1).bit_length())]


def doubling(n: int) -> int:
    return sum(n - d for d in distances(n))


def padded(n: int) -> int:
    return 1 << (n - 1).bit_length()


def scan_adds(n: int) -> tuple[int, int]:
    """Adds of both scans of n elements."""
    return doubling(n), 2 * (padded(n) - 1)


def adds_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[Any, ...]]:
    yield from [(8,), (2,), (3,), (1000,), (1024,), (33,), (5,)]
    if level == "grader":
        yield from [(int(n),) for n in rng.integers(2, 5000, size=8)]


SCAN_ADDS = FunctionSpec(
    "scan_adds", UNIT, 2, adds_inputs, scan_adds,
    suspects={
        "idle_threads_counted": lambda n: (n * len(distances(n)), 2 * (padded(n) - 1)),
        "formula_of_powers": lambda n: (n * len(distances(n)) - (n - 1), 2 * (padded(n) - 1)),
        "padded_doubling": lambda n: (doubling(padded(n)), 2 * (padded(n) - 1)),
        "not_padded": lambda n: (doubling(n), 2 * (n - 1)),
        "formulas_of_powers": lambda n: (n * len(distances(n)) - (n - 1), 2 * (n - 1)),
        "one_sweep": lambda n: (doubling(n), padded(n) - 1),
        "two_for_each": lambda n: (doubling(n), 2 * padded(n)),
        "swapped": lambda n: (2 * (padded(n) - 1), doubling(n)),
        "rounds": lambda n: (len(distances(n)), 2 * len(distances(n))),
    },
    causes={
        "idle_threads_counted": "The first number counts an add for every thread in every round.",
        "formula_of_powers": "The first number is right for powers of two only.",
        "padded_doubling": "The first number is that of the next power of two.",
        "not_padded": "The second number is right for powers of two only.",
        "formulas_of_powers": "Both numbers are right for powers of two only.",
        "one_sweep": "The second number counts one of the two sweeps.",
        "two_for_each": "The second number is two too many.",
        "swapped": "Both numbers are right, in the wrong order.",
        "rounds": "Those are the rounds; a round has many adds.",
    },
    hints={
        "idle_threads_counted": (
            "Which threads do not add in the round with distance d?",
            "The first d threads have nothing to their left at that distance: n - d adds.",
        ),
        "formula_of_powers": (
            "Write down the distances for n = 5, and the adds of each round.",
            "Distances 1, 2, 4: 4 + 3 + 1 adds.  Sum n - d over the distances below n.",
        ),
        "padded_doubling": (
            "Does a doubling scan need a power of two?",
            "It does not.  Sum n - d over the distances d = 1, 2, 4, ... below n.",
        ),
        "not_padded": (
            "What does the tree do with 5 elements?",
            "It works on 8.  With m, the next power of two that is at least n: 2 * (m - 1).",
        ),
        "formulas_of_powers": (
            "Write down the rounds for n = 5 by hand, and compare.",
            "Sum n - d over the distances d = 1, 2, 4, ... below n for doubling; the tree works on "
            "the next power of two.",
        ),
        "one_sweep": (
            "The tree is walked up, and then?",
            "Down again, with as many adds: 2 * (m - 1).",
        ),
        "two_for_each": (
            "How many adds does a tree over 2 elements need on its way up?",
            "One: m - 1 for m elements, on the way up and on the way down.",
        ),
        "swapped": (
            "Which scan does the docstring name first?",
            "Doubling first, up and down second.",
        ),
        "rounds": (
            "How many threads add in the first round?",
            "Add up the adds of all rounds, not the rounds.",
        ),
        "wrong_values": (
            "Take n = 5 and count round by round, with a pencil.",
            "Doubling: n - d adds for each d = 1, 2, 4, ... below n.  The tree: 2 * (m - 1), where "
            "m is the next power of two.",
        ),
        "wrong_type": (
            "Does the function give two whole numbers?",
            "Return a tuple of two integers.  / gives a float, // an integer.",
        ),
    },
)  # fmt: skip


# -- running_sum -------------------------------------------------------------------------------


def sum_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    launches = [(1, 3), (1, 1), (2, 32), (1, 33), (3, 67), (2, 256), (1, 1000)]
    if level == "grader":
        launches += [(2, int(n)) for n in sorted(rng.integers(40, 500, size=3))] + [(1, 1024)]
    for grid, block in launches:
        a = positive(rng, grid * block)
        label = f"{grid} block{'s' * (grid > 1)} of {block}"
        yield Case({"out": np.zeros_like(a), "a": a}, grid, block, label)


def sums(case: Case) -> Array:
    """Inclusive scan of each block's part."""
    a = case.args["a"].astype(np.float64)
    return np.concatenate([np.cumsum(part) for _, part in parts(a, case.threads_per_block)])


def late_reads(case: Case) -> Outputs:
    """Each round adds elements that the same round has already raised: one by one, in order."""
    a = case.args["a"].astype(np.float64).copy()
    for start, part in parts(a, case.threads_per_block):
        for d in distances(part.size):
            for t in range(d, part.size):
                a[start + t] += a[start + t - d]
    return {"out": a}


def sums_counted() -> Case:
    rng = np.random.default_rng(3)
    a = positive(rng, 512)
    return Case({"out": np.zeros_like(a), "a": a}, 2, 256, "2 blocks of 256")


RUNNING_SUM = KernelSpec(
    "running_sum", UNIT, 3, ("out",), sum_cases, lambda case: {"out": sums(case)},
    writes_once=True,
    owner=owner_by_position,
    tolerance={"float32": Tolerance(2e-5, 1e-6)},
    suspects={
        "whole_array": lambda case: {"out": np.cumsum(case.args["a"].astype(np.float64))},
        "late_reads": late_reads,
        "exclusive": lambda case: {"out": sums(case) - case.args["a"]},
    },
    causes={
        "whole_array": "The totals run on from block to block; each block should start afresh.",
        "late_reads": "Threads read elements that were raised in the same round.",
        "exclusive": "Each total leaves its own element out: that is the exclusive scan.",
        "too_many_adds": "Threads add where they have nothing to add, or add again what is there.",
    },
    requirements=(
        Requirement("barriers", "too_many_barriers", times=1.0, more=4),
        Requirement("flops", "too_many_adds", times=1.25),
        Requirement("shared_bytes", "too_much_shared", times=2.0),
        Requirement("sectors", "too_many_sectors", times=1.0),
    ),
    counted=sums_counted,
    hints={
        "uninitialised": (
            "What stands at t - d for the first threads?",
            "Nothing: index -1 is the last place of the array.  Only threads with t >= d add.",
        ),
        "race": SHARED_RACE,
        "late_reads": SHARED_RACE,
        "divergent_barrier": (
            "Which threads reach the first barrier of the loop, and which do not?",
            "Take the barrier out of the if.  Then two ifs with the same condition are needed, one "
            "for the read before the barrier, one for the write behind it.",
        ),
        "whole_array": (
            "Where does a block's total start?",
            "Each block scans its own elements only, in its own shared array.",
        ),
        "exclusive": (
            "Does the total of element t contain element t?",
            "It does here: out[i] is the sum up to and including a[i].",
        ),
        "too_many_adds": (
            "How many threads add in the round with distance d?",
            "Those with t >= d, once each.",
        ),
        "too_many_barriers": (
            "How many barriers does one round need?",
            "Two: one between the reads and the writes, one between the writes and the next round.",
        ),
    },
)  # fmt: skip


# -- affine_warps ------------------------------------------------------------------------------

WARP = 32


def affine_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    launches = [(1, 32, 32), (1, 32, 3), (1, 32, 1), (1, 64, 64), (2, 64, 97), (3, 96, 256)]
    if level == "grader":
        launches += [(5, 64, int(n)) for n in sorted(rng.integers(65, 320, size=3))]
    launches += [(1, 32, 0)]
    for grid, block, n in launches:
        yield affine_case(rng, grid, block, n)


def affine_case(rng: np.random.Generator, grid: int, block: int, n: int) -> Case:
    a = np.round(rng.uniform(0.8, 1.2, n) * rng.choice([-1, 1], n), 3).astype(np.float32)
    b = values(rng, n)
    out = {"out_a": np.zeros_like(a), "out_b": np.zeros_like(b)}
    return Case({**out, "a": a, "b": b, "n": n}, grid, block, f"n = {n}")


def composed(case: Case, size: int, *, earlier_first: bool = True) -> Outputs:
    """The maps composed from the first of each part of `size` onwards."""
    a, b = (case.args[name].astype(np.float64) for name in "ab")
    out_a, out_b = a.copy(), b.copy()
    for i in range(a.size):
        if i % size == 0:
            continue
        one, two = (out_a[i - 1], out_b[i - 1]), (a[i], b[i])
        (a1, b1), (a2, b2) = (one, two) if earlier_first else (two, one)
        out_a[i], out_b[i] = a2 * a1, a2 * b1 + b2
    return {"out_a": out_a, "out_b": out_b}


def by_rounds(
    case: Case, *, guarded: bool = True, a_first: bool = False, rounds: int = 5, first: int = 0
) -> Outputs:
    """What a slip gives in a warp of 32: no guard, b made from the a that is already new, too few
    rounds, or a guard that lets lane d out (first=1)."""
    n = case.args["n"]
    size = ceil_div(n, WARP) * WARP
    a, b = np.ones(size), np.zeros(size)
    a[:n], b[:n] = case.args["a"], case.args["b"]
    lane = np.arange(size) % WARP
    for d in distances(WARP)[:rounds]:
        source = np.where(lane >= d, np.arange(size) - d, np.arange(size))
        below_a, below_b = a[source], b[source]
        on = lane >= d + first if guarded else np.ones(size, bool)
        new_a = np.where(on, a * below_a, a)
        b = np.where(on, (new_a if a_first else a) * below_b + b, b)
        a = new_a
    return {"out_a": a[:n], "out_b": b[:n]}


def affine_counted() -> Case:
    return affine_case(np.random.default_rng(5), 3, 128, 333)


AFFINE_WARPS = KernelSpec(
    "affine_warps", UNIT, 3, ("out_a", "out_b"), affine_cases, lambda case: composed(case, WARP),
    writes_once=True,
    owner=owner_by_position,
    tolerance={"float32": Tolerance(5e-5, 1e-4)},
    suspects={
        "operands_swapped": lambda case: composed(case, WARP, earlier_first=False),
        "guard_missing": lambda case: by_rounds(case, guarded=False),
        "a_already_new": lambda case: by_rounds(case, a_first=True),
        "round_missing": lambda case: by_rounds(case, rounds=4),
        "guard_too_strict": lambda case: by_rounds(case, first=1),
        "across_warps": lambda case: composed(case, max(case.args["n"], 1)),
        "across_the_block": lambda case: composed(case, case.threads_per_block),
        "b_only_added": lambda case: {
            **composed(case, WARP),
            "out_b": np.concatenate([np.zeros(0), *(
                np.cumsum(p.astype(np.float64)) for _, p in parts(case.args["b"], WARP)
            )]),
        },
    },
    causes={
        "operands_swapped": "Later maps were applied before earlier ones.",
        "guard_missing": "Lanes below d composed with themselves.",
        "round_missing": "Each element knows of 16 maps at most: the round with distance 16 is "
        "missing.",
        "guard_too_strict": "Lane d left out its round with distance d.",
        "a_already_new": "b was computed with the a that this round had already changed.",
        "across_warps": "The maps run on over the end of a warp; each warp should start afresh.",
        "across_the_block": "The maps run on over the end of a warp; each warp should start "
        "afresh.",
        "b_only_added": "The b's were only added up.",
    },
    requirements=(
        Requirement("barriers", "too_many_barriers", limit=lambda case: 0),
        Requirement("shared_bytes", "too_much_shared", limit=lambda case: 0),
        Requirement("sectors", "too_many_sectors", times=1.0),
        Requirement("issue_slots", "too_many_instructions", times=2.0),
    ),
    counted=affine_counted,
    hints={
        "operands_swapped": (
            "Which of the two maps comes first, the lane's own or the one from below?",
            "The one from below: first (a1, b1) from the lane d below, then the lane's own "
            "(a2, b2), which gives (a2 * a1, a2 * b1 + b2).",
        ),
        "guard_missing": (
            "What does shfl_up_sync hand to a lane that has no lane d below it?",
            "Its own value.  Use what came only if lane >= d.",
        ),
        "round_missing": (
            "How far does an element see after rounds with the distances 1, 2, 4 and 8?",
            "16 elements.  A warp has 32: one more round, with distance 16.",
        ),
        "guard_too_strict": (
            "Does lane 1 have a lane below it at distance 1?",
            "It does, lane 0: the guard is lane >= d, not lane > d.",
        ),
        "a_already_new": (
            "Which a does the formula for b mean, the old one or the new one?",
            "The old one: compute b first, or both in one assignment: a2, b2 = ..., ...",
        ),
        "across_warps": (
            "Where does lane 0 of warp 1 start?",
            "With its own map alone: stay within the 32 lanes.",
        ),
        "across_the_block": (
            "Where does lane 0 of warp 1 start?",
            "With its own map alone: stay within the 32 lanes.",
        ),
        "b_only_added": (
            "What does the later map do with what the earlier one gave?",
            "It multiplies it by its a: a2 * b1 + b2.",
        ),
        "mask_names_absent": SHUFFLE_EXIT,
        "too_much_shared": (
            "Do the lanes of one warp need shared memory to hand values on?",
            "cuda.shfl_up_sync hands them on without any.",
        ),
        "too_many_barriers": (
            "Whom does a warp have to wait for here?",
            "For nobody: each warp works alone, and a shuffle keeps its lanes together.",
        ),
        "too_many_instructions": (
            "How many rounds do 32 lanes need?",
            "Five, with the distances 1, 2, 4, 8 and 16.",
        ),
    },
)  # fmt: skip


# -- exclusive_blocks --------------------------------------------------------------------------


def block_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    launches = [(1, 64, 64), (1, 32, 5), (1, 32, 1), (2, 64, 65), (3, 96, 250), (2, 256, 511)]
    launches += [(2, 1024, 2000)]
    if level == "grader":
        launches += [(4, 128, int(n)) for n in sorted(rng.integers(385, 512, size=2))]
    launches += [(1, 32, 0)]
    for grid, block, n in launches:
        yield block_case(rng, grid, block, n)


def block_case(rng: np.random.Generator, grid: int, block: int, n: int) -> Case:
    a = positive(rng, n)
    totals = np.zeros(grid, np.float32)
    return Case(
        {"out": np.zeros_like(a), "totals": totals, "a": a, "n": n}, grid, block,
        f"n = {n}, {grid} block{'s' * (grid > 1)} of {block}",
    )  # fmt: skip


def by_block(case: Case, size: int | None = None, *, exclusive: bool = True) -> Outputs:
    """Scan of every part of `size` elements, and the sum of each block."""
    a, block = case.args["a"].astype(np.float64), case.threads_per_block
    scans = [np.cumsum(p) - (p if exclusive else 0) for _, p in parts(a, size or block)]
    totals = np.zeros(case.blocks)
    for start, part in parts(a, block):
        totals[start // block] = part.sum()
    return {"out": np.concatenate([np.zeros(0), *scans]), "totals": totals}


def joined_wrongly(case: Case, kind: str) -> Outputs:
    """Warps that add their own sum too, or only the sum of the warp before."""
    right, a = by_block(case), case.args["a"].astype(np.float64)
    out, totals = np.zeros(a.size), right["totals"].copy()
    size = case.threads_per_block
    for start, part in parts(a, size):
        padded = np.zeros(size)
        padded[: part.size] = part
        warps = padded.reshape(-1, WARP)
        sums = warps.sum(axis=1)
        before = np.cumsum(sums) if kind == "own" else np.concatenate(([0.0], sums[:-1]))
        scans = np.cumsum(warps, axis=1) + before[:, None]
        out[start : start + part.size] = (scans - warps).reshape(-1)[: part.size]
        totals[start // size] = scans[-1, -1]
    return {"out": out, "totals": totals}


def last_totals(case: Case, kind: str) -> Outputs:
    """Scans that are right, with totals that are not."""
    right, a = by_block(case), case.args["a"].astype(np.float64)
    totals = right["totals"].copy()
    for start, part in parts(a, case.threads_per_block):
        number = start // case.threads_per_block
        totals[number] -= part[-1]
        if kind == "full" and part.size < case.threads_per_block:
            totals[number] += part[-1]
    return {**right, "totals": totals}


def block_counted() -> Case:
    return block_case(np.random.default_rng(7), 4, 512, 2000)


EXCLUSIVE_BLOCKS = KernelSpec(
    "exclusive_blocks", UNIT, 3, ("out", "totals"), block_cases, by_block,
    writes_once=True,
    tolerance={"float32": Tolerance(2e-5, 1e-3)},
    suspects={
        "inclusive": lambda case: by_block(case, exclusive=False),
        "warps_apart": lambda case: by_block(case, WARP),
        "whole_array": lambda case: by_block(case, max(case.args["n"], 1)),
        "own_warp_added": lambda case: joined_wrongly(case, "own"),
        "one_warp_added": lambda case: joined_wrongly(case, "one"),
        "total_without_the_last": lambda case: last_totals(case, "all"),
        "total_of_full_blocks_short": lambda case: last_totals(case, "full"),
    },
    causes={
        "inclusive": "Each total contains its own element: that is the inclusive scan.",
        "warps_apart": "Each warp starts at 0 again: the totals of the warps before are missing.",
        "whole_array": "The totals run on from block to block; each block should start afresh.",
        "own_warp_added": "Each warp added the sums up to and including its own.",
        "one_warp_added": "Each warp added the sum of the one warp before it, not of all of them.",
        "total_without_the_last": "The scans are right, but each sum lacks the block's last "
        "element.",
        "total_of_full_blocks_short": "The scans are right, but the sum of each full block lacks "
        "its last element.",
        "bank_conflicts": "Lanes of one warp want different words of one bank.",
    },
    requirements=(
        Requirement("barriers", "too_many_barriers", limit=lambda case: 2 * case.blocks),
        Requirement("shared_bytes", "too_much_shared", limit=lambda case: 2 * 4 * WARP),
        Requirement("bank_conflicts", "bank_conflicts", times=1.0),
        Requirement("sectors", "too_many_sectors", times=1.0, more=8),
    ),
    counted=block_counted,
    hints={
        "inclusive": (
            "What does the first thread of a block store?",
            "0.  Leave the thread's own value out: subtract it at the end, or shuffle the "
            "inclusive total up by one lane.",
        ),
        "warps_apart": (
            "What does warp 1 not know about warp 0?",
            "Its sum.  Let the last lane of each warp store it in shared memory, scan these sums "
            "with one warp, then add the sum of all warps before.",
        ),
        "whole_array": (
            "Where does a block start?",
            "At 0: each block scans its own elements only.",
        ),
        "own_warp_added": (
            "The scanned sums are inclusive.  What stands at the place of warp 0?",
            "The sum of warp 0 itself.  Warp w adds what stands at w - 1, and warp 0 adds nothing.",
        ),
        "one_warp_added": (
            "What has to happen to the warps' sums before they are added?",
            "They have to be scanned, by one warp, between two barriers.",
        ),
        "never_written": (
            "Which thread stores the sum of a block, and does it always get there?",
            "The last thread of a block is there even where it has no element: store the sum "
            "outside of the guard i < n.",
        ),
        "total_without_the_last": (
            "Which elements belong to the sum of a block?",
            "All of them: exclusive total of the last thread plus its own value.",
        ),
        "total_of_full_blocks_short": (
            "Which elements belong to the sum of a block?",
            "All of them: exclusive total of the last thread plus its own value.",
        ),
        "too_many_barriers": (
            "Which steps of your kernel have to wait for another warp?",
            "Two: the scan of the warps' sums waits for the sums, and the last step waits for that "
            "scan.  Scan each warp by shuffles, which need no barrier.",
        ),
        "too_much_shared": (
            "What do the warps have to tell each other?",
            "One sum each: 32 values are enough for a block.",
        ),
        "mask_names_absent": SHUFFLE_EXIT,
        "uninitialised": (
            "Which lane stores the sum of a warp?  Does it always run?  How many warps are there?",
            "Lane 31 must not return early, even without an element.  And a block of 64 threads "
            "has two warps: lanes beyond their number take 0 instead of reading a sum.",
        ),
    },
)  # fmt: skip


# -- balances ----------------------------------------------------------------------------------


def balance_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    launches = [(64, 64), (32, 5), (32, 1), (32, 33), (64, 130), (96, 500), (128, 1000)]
    if level == "grader":
        launches += [(64, int(n)) for n in sorted(rng.integers(66, 900, size=3))]
    launches += [(32, 0)]
    for block, n in launches:
        yield balance_case(rng, block, n)


def balance_case(rng: np.random.Generator, block: int, n: int) -> Case:
    """Days that neither blow the balance up nor let the first ones be forgotten."""
    blocks = ceil_div(n, block)
    a = rng.choice([1.0, -1.0, 0.5, 2.0], n, p=[0.45, 0.45, 0.05, 0.05]).astype(np.float32)
    b = values(rng, n)
    scratch = {
        "counter": np.zeros(1, np.int32), "flag": np.zeros(blocks, np.int32),
        "total": np.zeros((blocks, 2), np.float32), "prefix": np.zeros((blocks, 2), np.float32),
    }  # fmt: skip
    args = {"out": np.zeros_like(b), "a": a, "b": b, **scratch, "n": n}
    return Case(args, blocks, block, f"n = {n}, blocks of {block}")


def balances(case: Case, size: int | None = None, *, earlier_first: bool = True) -> Outputs:
    """The balance after each day, from 0 at the start of every part."""
    size = size or max(case.args["n"], 1)
    return {"out": composed(case, size, earlier_first=earlier_first)["out_b"]}


def before_the_day(case: Case) -> Outputs:
    return {"out": np.concatenate(([0.0], balances(case)["out"]))[: case.args["n"]]}


def nearest_first(case: Case) -> Outputs:
    """Look-back that puts each block it reaches behind what it has found so far."""
    own = composed(case, case.threads_per_block)
    out = own["out_b"].copy()
    ends: list[tuple[float, float]] = []
    for start, part in parts(out, case.threads_per_block):
        x = 0.0
        for a, b in reversed(ends):
            x = a * x + b
        stop = start + part.size
        ends.append((own["out_a"][stop - 1], own["out_b"][stop - 1]))
        out[start:stop] = own["out_a"][start:stop] * x + own["out_b"][start:stop]
    return {"out": out}


def balance_counted() -> Case:
    return balance_case(np.random.default_rng(11), 128, 8 * 128)


BALANCES = KernelSpec(
    "balances", UNIT, 2, ("out",), balance_cases, balances,
    scratch=("counter", "flag", "total", "prefix"),
    writes_once=True,
    tolerance={"float32": Tolerance(2e-5, 1e-2)},
    suspects={
        "operands_swapped": lambda case: balances(case, earlier_first=False),
        "blocks_apart": lambda case: balances(case, case.threads_per_block),
        "warps_apart": lambda case: balances(case, WARP),
        "look_back_swapped": nearest_first,
        "a_ignored": lambda case: {"out": np.cumsum(case.args["b"].astype(np.float64))},
        "day_before": before_the_day,
    },
    causes={
        "operands_swapped": "Later days were applied before earlier ones.",
        "blocks_apart": "Each block starts with an empty account: the days before it are missing.",
        "warps_apart": "Each warp starts with an empty account: the days before it are missing.",
        "look_back_swapped": "Blocks before were composed from the nearest to the first one.",
        "a_ignored": "The b's were only added up.",
        "day_before": "Each balance is that of the day before.",
    },
    requirements=(
        Requirement("sectors", "too_many_sectors", times=1.1),
        Requirement("barriers", "too_many_barriers", times=2.0),
        Requirement("atomic_transactions", "too_many_atomics", times=1.5),
    ),
    counted=balance_counted,
    hints={
        "operands_swapped": (
            "Which of two maps is applied first, the one from the left or the own one?",
            "The one from the left, everywhere: between lanes, between warps and between blocks.",
        ),
        "blocks_apart": (
            "What does a block have to know about the blocks before it?",
            "The map of all their days together: look back for it, and apply it before the own "
            "days.",
        ),
        "warps_apart": (
            "What does a warp have to know about the warps before it?",
            "The map of all their days: let the last lane of each warp store its map in shared "
            "memory, and compose those of the warps before.",
        ),
        "look_back_swapped": (
            "You look back from near to far.  Of two blocks, whose days come first?",
            "The one farther away: the map of the block just reached comes before all that has "
            "been found so far.",
        ),
        "a_ignored": (
            "What happens on a day to the balance of the day before?",
            "It is multiplied by a before b is added.",
        ),
        "day_before": (
            "Does out[i] know of day i?",
            "It does: the scan is inclusive.",
        ),
        "wrong_values": (
            "Where do two maps meet in your kernel, and which comes first at each of these places?",
            "Lane from below, then own; warps before, then own; and while looking back: the block "
            "you have just reached comes before all that you have found so far.",
        ),
        "too_many_sectors": (
            "How often does your kernel go over the array?",
            "Load each day once, keep it in variables, and store its balance once.",
        ),
        "too_many_atomics": (
            "How many threads of a block talk to other blocks?",
            "One is enough.  The others wait at a barrier for what it found.",
        ),
        "race": (
            "One block reads what another one wrote.  What makes sure that it is there?",
            "Store the map, cuda.threadfence(), then set the flag by an atomic.  The reader asks "
            "for the flag by an atomic, cuda.threadfence(), then reads the map.",
        ),
        "mask_names_absent": SHUFFLE_EXIT,
    },
)  # fmt: skip


SPECS = [
    MAKE_EXCLUSIVE, SCAN_ADDS, RUNNING_SUM, AFFINE_WARPS, EXCLUSIVE_BLOCKS, BALANCES,
]  # fmt: skip
