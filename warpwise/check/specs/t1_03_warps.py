"""Exercises of t1_03_warps: lanes, the price of a branch, votes and shuffles.

lane    a thread's place in its warp, 0 to 31
slot    one instruction that a warp issues, for whichever of its lanes are active
fold    a sum in five steps: the upper half is added to the lower half, 16, 8, 4, 2, 1
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..cases import Case, Level, as_dims, ceil_div, sizes, values
from ..images import owner
from ..requirements import Requirement
from ..spec import KernelSpec, ValueSpec
from ..tolerance import Tolerance

UNIT = "t1_03_warps"

Array = np.ndarray
Outputs = Mapping[str, Array]

# Threads in a block, along one axis: whole warps, as these exercises promise.
WHOLE_WARPS: Mapping[Level, tuple[int, ...]] = {"student": (32, 96), "grader": (64, 128, 32)}


# -- lane_and_warp -----------------------------------------------------------------------------

# (blocks along x and y), (threads along x and y).  No width divides 32 and none is 32, so that a
# row of threads is no warp; some blocks do not fill their last one.
NUMBERED = [((1, 1), (12, 5)), ((2, 1), (10, 7)), ((1, 1), (33, 1)), ((1, 2), (5, 13)),
            ((2, 2), (3, 11)), ((1, 1), (1, 1)), ((2, 1), (48, 2))]  # fmt: skip


def lane_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Launches of blocks along two axes, and arrays that have one element for each thread."""
    shapes = list(NUMBERED)
    if level == "grader":
        for _ in range(4):
            gx, gy, bx, by = (int(n) for n in rng.integers((1, 1, 3, 2), (4, 3, 30, 24)))
            shapes.append(((gx, gy), (bx + (bx in (8, 16)), by)))
    for grid, block in shapes:
        shape = grid[1] * block[1], grid[0] * block[0]
        args = {name: np.zeros(shape, np.int32) for name in ("lane", "warp")}
        label = f"blocks of {block[0]} x {block[1]} threads, {grid[0]} x {grid[1]} of them"
        yield Case(args, grid, block, label)


def _places(case: Case) -> tuple[Array, Array, Array, Array]:
    """Of every thread, by row and column: threadIdx.x and .y, cuda.grid(2)'s x and y."""
    y, x = np.indices(case.args["lane"].shape)
    bx, by, _ = as_dims(case.block)
    return x % bx, y % by, x, y


def _both(number: Callable[[Case], Array]) -> Callable[[Case], Outputs]:
    """Lane and warp from a thread's number."""

    def numbers(case: Case) -> Outputs:
        thread = number(case)
        return {"lane": thread % 32, "warp": thread // 32}

    return numbers


def _in_block(case: Case) -> Array:
    tx, ty, _, _ = _places(case)
    return tx + ty * as_dims(case.block)[0]


def _down_first(case: Case) -> Array:
    tx, ty, _, _ = _places(case)
    return ty + tx * as_dims(case.block)[1]


def _in_picture(case: Case) -> Array:
    _, _, x, y = _places(case)
    return x + y * case.args["lane"].shape[1]


def _in_launch(case: Case) -> Array:
    """Numbered block after block."""
    grid, block = as_dims(case.grid), as_dims(case.block)
    _, _, x, y = _places(case)
    return _in_block(case) + (x // block[0] + y // block[1] * grid[0]) * block[0] * block[1]


_right_lanes = _both(_in_block)

LANE_AND_WARP = KernelSpec(
    "lane_and_warp", UNIT, 1, ("lane", "warp"), lane_cases, _right_lanes,
    writes_once=True,
    owner=owner,
    suspects={
        "rows_as_warps": lambda case: dict(zip(("lane", "warp"), _places(case)[:2], strict=True)),
        "x_only": _both(lambda case: _places(case)[0]),
        "y_first": _both(_down_first),
        "numbered_over_the_launch": _both(_in_launch),
        "numbered_over_the_picture": _both(_in_picture),
        "column_of_the_grid": _both(lambda case: _places(case)[2]),
        "exchanged": lambda case: {
            "lane": _right_lanes(case)["warp"], "warp": _right_lanes(case)["lane"],
        },
        "not_cut": lambda case: {"lane": _in_block(case), "warp": _in_block(case) // 32},
        "warps_of_64": lambda case: {"lane": _in_block(case) % 64, "warp": _in_block(case) // 64},
    },
    causes={
        "rows_as_warps": (
            "These are threadIdx.x and threadIdx.y.  A row of threads is a warp only where it is "
            "32 threads long."
        ),
        "x_only": "The numbers follow from threadIdx.x alone: each row of a block counts from 0 "
        "again.",
        "y_first": "The threads are numbered down the columns of the block; the hardware goes "
        "along x first.",
        "numbered_over_the_launch": (
            "The threads are numbered through all blocks.  A warp never reaches into the next "
            "block: every block counts from 0 again."
        ),
        "numbered_over_the_picture": (
            "The threads are numbered along the rows of the whole array.  A warp is made of "
            "threads of one block."
        ),
        "column_of_the_grid": "The numbers follow from the column in the whole grid.",
        "exchanged": "Both numbers are right, in each other's array.",
        "not_cut": "lane holds the number of the thread in its block; a lane is 0 to 31.",
        "warps_of_64": "The threads of a block are cut into pieces of 64; a warp has 32.",
    },
    hints={
        "rows_as_warps": (
            "A block is 12 threads wide.  Which threads are its first 32?",
            "First number the threads of the block in one line, x first; then cut the line into "
            "pieces of 32.",
        ),
        "x_only": (
            "Which two threads of the block have the same threadIdx.x?",
            "The number of a thread in its block is threadIdx.x + threadIdx.y * blockDim.x.",
        ),
        "y_first": (
            "Which thread is number 1 of its block: the one to the right of thread (0, 0), or the "
            "one below?",
            "x changes first: threadIdx.x + threadIdx.y * blockDim.x.",
        ),
        "numbered_over_the_launch": (
            "The first thread of the second block: which lane is it?",
            "Every block starts a new warp at lane 0.  Use threadIdx and blockDim, not the grid.",
        ),
        "numbered_over_the_picture": (
            "Can threads of two blocks be in one warp?",
            "Number the threads within the block: threadIdx.x + threadIdx.y * blockDim.x.",
        ),
        "column_of_the_grid": (
            "Can threads of two blocks be in one warp?",
            "cuda.grid(2) gives the place of the store.  The lane comes from the number of the "
            "thread in its block.",
        ),
        "exchanged": (
            "Which of the two can be 40, in a block of 2,000 threads?",
            "% 32 gives the lane, // 32 gives the warp.",
        ),
        "not_cut": (
            "Which numbers can a lane be?",
            "The lane is what is left of the number when whole warps are taken away: % 32.",
        ),
        "warps_of_64": ("How many threads has a warp?", "32, on every GPU of NVIDIA."),
    },
)  # fmt: skip


# -- branch_slots ------------------------------------------------------------------------------

# The launch of the lab: two_ways[2, 80], with `if i < 100` and a loop of i % 8 turns behind else.
BLOCKS, THREADS, LIMIT, TURNS = 2, 80, 100, 8
COMPARE, SHORT, LONG, TURN = 1, 4, 3, 2  # slots of the if, its first side, else, one turn in else


def _sides(warp: range) -> set[bool]:
    """Whether there are lanes that take the first side (True), and others (False)."""
    return {i < LIMIT for i in warp}


def slots_of(
    warps: list[range], *, short: int = SHORT, long: int = LONG, turn: int = TURN,
    compare: int = COMPARE, trips: Callable[[list[int]], float] = max,
    sides: Callable[[range], set[bool]] = _sides,
) -> float:  # fmt: skip
    """Slots of the launch, warp by warp; the arguments describe mistakes."""
    total = 0.0
    for warp in warps:
        turns = [i % TURNS for i in warp if i >= LIMIT] or [0]
        taken = sides(warp)
        total += compare + short * (True in taken)
        total += (long + turn * trips(turns)) * (False in taken)
    return total


def _warps(threads: int = THREADS, blocks: int = BLOCKS) -> list[range]:
    """The threads of each warp, by their number in the launch."""
    return [
        range(block * threads + first, block * threads + min(first + 32, threads))
        for block in range(blocks) for first in range(0, threads, 32)
    ]  # fmt: skip


def _right_slots() -> int:
    return int(slots_of(_warps()))


_EVERY_THREAD = [range(i, i + 1) for i in range(BLOCKS * THREADS)]

BRANCH_SLOTS = ValueSpec(
    "branch_slots", UNIT, 2, _right_slots, "the number of issue slots",
    suspects={
        "both_sides_for_all": sum(
            COMPARE + SHORT + LONG + TURN * (TURNS - 1) for _ in _warps()
        ),
        "parted_warp_takes_else": slots_of(_warps(), sides=lambda i: {max(i) < LIMIT}),
        "parted_warp_takes_if": slots_of(_warps(), sides=lambda i: {min(i) < LIMIT}),
        "warps_across_blocks": slots_of(_warps(BLOCKS * THREADS, 1)),
        "last_warp_left_out": slots_of([warp for warp in _warps() if len(warp) == 32]),
        "mean_of_the_turns": slots_of(_warps(), trips=lambda turns: (TURNS - 1) / 2),
        "one_turn": slots_of(_warps(), trips=lambda turns: 1),
        "a_turn_too_many": slots_of(_warps(), trips=lambda turns: TURNS),
        "condition_left_out": slots_of(_warps(), compare=0),
        "remainder_left_out": slots_of(_warps(), long=LONG - 1),
        "threads_counted": slots_of(_EVERY_THREAD),
        "one_block": slots_of(_warps(blocks=1)),
    },
    causes={
        "both_sides_for_all": "That charges every warp for both sides; a warp in which all lanes "
        "agree issues one side only.",
        "parted_warp_takes_else": "That charges the warp whose lanes part for else only; some of "
        "its lanes take the first side.",
        "parted_warp_takes_if": "That charges the warp whose lanes part for the first side only; "
        "some of its lanes go to else.",
        "warps_across_blocks": "That cuts all 160 threads into five warps; each block is cut for "
        "itself.",
        "last_warp_left_out": "That leaves out the warps that are not full; each of them issues "
        "its instructions, too.",
        "mean_of_the_turns": "That takes the mean of the turns; a warp goes on until its last lane "
        "is done.",
        "one_turn": "That counts the body of the loop once.",
        "a_turn_too_many": "That gives the slowest lane eight turns; i % 8 is at most 7.",
        "condition_left_out": "That leaves out the comparison, which every warp issues.",
        "remainder_left_out": "That leaves out i % 8, which a warp issues before the loop.",
        "threads_counted": "That adds up what the threads execute; a warp issues an instruction "
        "once for all its active lanes.",
        "one_block": "That is the first block alone.",
    },
    hints={
        "wrong_values": (
            "Write down the warps of both blocks with their first and last i.  Which of them "
            "reach the first side, which reach else?",
            "Six warps: 0 to 31, 32 to 63, 64 to 79, and 80 to 111, 112 to 143, 144 to 159.  Each "
            "pays 1 for the comparison, 4 if any lane has i < 100, and the price of else if any "
            "lane has not.",
        ),
        "both_sides_for_all": (
            "Does the warp with i = 0 to 31 have a lane that goes to else?",
            "Charge a side only where at least one lane of the warp takes it.",
        ),
        "parted_warp_takes_else": (
            "What do the lanes with i = 80 to 99 do?",
            "Their warp issues both sides, one after the other.",
        ),
        "parted_warp_takes_if": (
            "What do the lanes with i = 100 to 111 do?",
            "Their warp issues both sides, one after the other.",
        ),
        "warps_across_blocks": (
            "A block has 80 threads.  How many warps is that?",
            "Each block has three warps, of 32, 32 and 16 threads.",
        ),
        "last_warp_left_out": (
            "Who computes i = 64 to 79?",
            "A warp of 16 threads pays the same slots as a full one.",
        ),
        "mean_of_the_turns": (
            "What does a lane with i % 8 equal to 0 do while its neighbour turns?",
            "It waits.  A warp pays for as many turns as its slowest lane makes: 7 here.",
        ),
        "one_turn": (
            "How often does the body of the loop run in a lane with i % 8 equal to 7?",
            "The two slots of the body are paid in each of the seven turns.",
        ),
        "a_turn_too_many": (
            "What is the largest value of i % 8?",
            "The slowest lane makes 7 turns.",
        ),
        "condition_left_out": (
            "What does a warp issue before it knows which side to take?",
            "One slot for the comparison i < 100, in each of the six warps.",
        ),
        "remainder_left_out": (
            "How does a lane know its number of turns?",
            "i % 8 is one slot, before the first turn.",
        ),
        "threads_counted": (
            "How many lanes share one issue slot?",
            "Count warps, not threads: a slot serves all active lanes of a warp at once.",
        ),
        "one_block": ("How many blocks does the launch have?", "Add the three warps of block 1."),
    },
)  # fmt: skip


# -- settle_particles --------------------------------------------------------------------------


def settled(case: Case, even: Array | None = None) -> Array:
    """Particles after all steps: those of `even` fade, the others charge."""
    a, rate, steps = (case.args[name] for name in ("a", "rate", "steps"))
    v = a.astype(np.float64)
    fades = np.arange(a.size) % 2 == 0 if even is None else even
    for _ in range(steps):
        v = np.where(fades, v - rate * v, v + rate * (1 - v))
    return v


def settle_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Blocks of 64, 128 or 192 threads; at least n threads, at most one block to spare."""
    blocks = (64,) if level == "student" else (64, 192)
    for block in blocks:
        for n in sizes(block, level, rng):
            yield settle_case(rng, n, block, ceil_div(n, block))
    yield settle_case(rng, 100, 128, 2)


def settle_case(rng: np.random.Generator, n: int, block: int, grid: int) -> Case:
    """One launch over n particles."""
    rate = float(rng.integers(11, 29)) / 100
    args = {"out": np.zeros(n, np.float32), "a": values(rng, n), "rate": rate,
            "steps": int(rng.integers(3, 7)), "n": n}  # fmt: skip
    return Case(args, grid, block)


def settle_counted() -> Case:
    """512 particles, eight steps each: whole warps all over."""
    case = settle_case(np.random.default_rng(3), 512, 128, 4)
    return Case({**case.args, "rate": 0.25, "steps": 8}, case.grid, case.block,
                "n = 512, steps = 8")  # fmt: skip


def _by_warp(case: Case) -> Outputs:
    """Even and odd warps instead of even and odd particles."""
    return {"out": settled(case, np.arange(case.args["n"]) // 32 % 2 == 0)}


def _halves(case: Case) -> Outputs:
    n = case.args["n"]
    return {"out": settled(case, np.arange(n) < (n + 1) // 2)}


SETTLE_PARTICLES = KernelSpec(
    "settle_particles", UNIT, 2, ("out",), settle_cases, lambda case: {"out": settled(case)},
    writes_once=True,
    shared_out="threads",
    suspects={
        "kind_by_warp": _by_warp,
        "kind_by_half": _halves,
        "kinds_exchanged": lambda case: {
            "out": settled(case, np.arange(case.args["n"]) % 2 == 1)
        },
        "all_fade": lambda case: {"out": settled(case, np.ones(case.args["n"], bool))},
        "all_charge": lambda case: {"out": settled(case, np.zeros(case.args["n"], bool))},
        "even_only": lambda case: {
            "out": np.ma.array(settled(case), mask=np.arange(case.args["n"]) % 2 == 1)
        },
    },
    causes={
        "kind_by_warp": "Which rule a particle got depends on the warp of its thread: particles 0 "
        "to 31 all fade.  The particles are even and odd as before.",
        "kind_by_half": "The first half of the particles fades and the second half charges.  The "
        "particles are even and odd as before.",
        "kinds_exchanged": "Even particles charge and odd ones fade: the two rules are exchanged.",
        "all_fade": "Every particle fades, the odd ones as well.",
        "all_charge": "Every particle charges, the even ones as well.",
        "even_only": "The even particles are right, the odd ones were never written.",
    },
    requirements=(
        Requirement("divergent_branches", "warps_part", limit=lambda case: 0),
        Requirement("issue_slots", "both_rules_for_all", times=1.25),
    ),
    counted=settle_counted,
    hints={
        "kind_by_warp": (
            "The rule may depend on the warp.  Which particle does a thread have to take, then?",
            "Let an even warp take even particles only: lane 0 takes particle 0, lane 1 takes "
            "particle 2, and so on.  The next warp takes 1, 3, 5.",
        ),
        "kind_by_half": (
            "Each half of the threads may follow one rule.  Which particles does it have to take?",
            "Thread t of the first half takes particle 2 * t; thread t of the second half takes an "
            "odd one.",
        ),
        "kinds_exchanged": (
            "Which rule does particle 0 follow?",
            "Even particles fade: v - rate * v.",
        ),
        "all_fade": (
            "What does your kernel do with particle 1?",
            "Odd particles move toward 1: v + rate * (1 - v).",
        ),
        "all_charge": (
            "What does your kernel do with particle 0?",
            "Even particles move toward 0: v - rate * v.",
        ),
        "even_only": (
            "Who takes particle 1?",
            "Half of the warps, or a second step of each thread, has to take the odd particles.",
        ),
        "warps_part": (
            "Look at the 32 threads of one warp: do their particles all follow the same rule?",
            "Work out the warp, cuda.grid(1) // 32, and the lane.  Warps 0 and 1 share the "
            "particles 0 to 63: one takes 0, 2, 4, ..., the other 1, 3, 5, ...",
        ),
        "both_rules_for_all": (
            "How many of the values that your kernel computes does it throw away?",
            "No warp should compute the rule of the other kind.  Let a warp take particles of one "
            "kind only, and put each rule behind its side of an if.",
        ),
        "out_of_bounds": (
            "Your threads take other particles than their own number.  Which index does the guard "
            "compare with n?",
            "Compare the index of the particle with n, not the index of the thread.",
        ),
        "never_written": (
            "Pick the first missing particle.  Which warp should take it, and which lane?",
            "A pair of warps shares 64 particles.  The pair is i // 64, the kind (i // 32) % 2, "
            "and the lane i % 32.  Guard the particle, not the thread.",
        ),
        "written_more_than_once": (
            "Which two threads take the particle in the table?",
            "In a pair of warps, lane k of one takes particle 2 * k of the pair's 64, lane k of "
            "the other 2 * k + 1.",
        ),
    },
)  # fmt: skip


# -- pack_positive -----------------------------------------------------------------------------


def warp_grid(n: int, block: int, spare: int = 0) -> int:
    """Blocks that cover n elements, and `spare` more."""
    return ceil_div(n, block) + spare


def pack_case(a: Array, grid: int, block: int, label: str = "") -> Case:
    """One launch over the elements of `a`."""
    n = a.size
    args = {"out": np.zeros(n, np.float32), "count": np.zeros(-(-n // 32), np.int32), "a": a,
            "n": n}  # fmt: skip
    return Case(args, grid, block, label)


def pack_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Lengths around whole warps; warps with no and with 32 positive elements come later."""
    for block in WHOLE_WARPS[level]:
        for n in sizes(32, level, rng):
            yield pack_case(values(rng, n), warp_grid(n, block), block)
    a = np.abs(values(rng, 96))
    a[32:64] *= -1
    yield pack_case(a, 3, 32, "a warp of positive elements, one of negative ones, one of positive")
    yield pack_case(values(rng, 40), 2, 64, "n = 40, and a block to spare")
    tiny = np.float32(1e-20) * values(rng, 40)
    yield pack_case(tiny, 2, 32, "n = 40, elements close to zero")


def pack_counted() -> Case:
    """32 warps of which the last has 8 elements."""
    return pack_case(values(np.random.default_rng(5), 1000), 4, 256, "n = 1,000")


def packed(case: Case, order: Callable[[Array], Array] = lambda kept: kept) -> Outputs:
    """The positive elements of each warp at the start of its stretch; the rest is left alone."""
    a = case.args["a"]
    out, count = np.zeros(a.size), np.zeros(case.args["count"].size, np.int64)
    left = np.ones(a.size, bool)
    for warp in range(count.size):
        part = a[32 * warp : 32 * warp + 32]
        kept = order(part[part > 0])
        count[warp] = kept.size
        out[32 * warp : 32 * warp + kept.size] = kept
        left[32 * warp : 32 * warp + kept.size] = False
    return {"out": np.ma.array(out, mask=left), "count": count}


def _in_place(case: Case) -> Outputs:
    """Each positive element in its own place."""
    a = case.args["a"]
    return {"out": np.ma.array(a, mask=~(a > 0)), "count": packed(case)["count"]}


def _one_further(case: Case) -> Outputs:
    """The lane counts itself: each element one place too far."""
    right = packed(case)["out"]
    moved = np.ma.array(np.zeros(right.size), mask=np.ones(right.size, bool))
    for at in np.flatnonzero(~np.ma.getmaskarray(right)):
        if at + 1 < right.size:
            moved[at + 1] = np.ma.getdata(right)[at]
    return {"out": moved}


def _counts(change: Callable[[Case, Array], Array]) -> Callable[[Case], Outputs]:
    """A suspect for `count` alone."""
    return lambda case: {"count": change(case, np.asarray(packed(case)["count"]))}


def _whole_array(case: Case) -> Outputs:
    """Packed over all warps together, as if the places of earlier warps were known."""
    a = case.args["a"]
    kept = a[a > 0]
    out = np.ma.array(np.zeros(a.size), mask=np.ones(a.size, bool))
    out[: kept.size] = kept
    return {"out": out}


def _overwritten(number: Callable[[Case, int], int]) -> Callable[[Case], Outputs]:
    """Warp w packs into stretch number(case, w), one warp after the other."""

    def mistake(case: Case) -> Outputs:
        a, right = case.args["a"], packed(case)
        out = np.ma.array(np.zeros(a.size), mask=np.ones(a.size, bool))
        count = np.ma.array(np.zeros(right["count"].size), mask=np.ones(right["count"].size, bool))
        for warp, kept in enumerate(right["count"]):
            part = a[32 * warp : 32 * warp + 32]
            at = number(case, warp)
            out[32 * at : 32 * at + kept] = part[part > 0]
            count[at] = kept
        return {"out": out, "count": count}

    return mistake


_one_stretch = _overwritten(lambda case, warp: 0)
_warp_of_block = _overwritten(lambda case, warp: warp % (case.threads_per_block // 32))


PACK_POSITIVE = KernelSpec(
    "pack_positive", UNIT, 2, ("count", "out"), pack_cases, packed,
    writes_once=True,
    shared_out="warps",
    suspects={
        "not_packed": _in_place,
        "own_lane_counted": _one_further,
        "reversed": lambda case: packed(case, lambda kept: kept[::-1]),
        "whole_array": _whole_array,
        "one_stretch": lambda case: {"out": _one_stretch(case)["out"]},
        "warp_of_the_block": _warp_of_block,
        "negative_ones": lambda case: {
            **packed(Case({**case.args, "a": -case.args["a"]}, case.grid, case.block)),
        },
        "count_of_lanes": _counts(lambda case, right: np.minimum(
            32, case.args["n"] - 32 * np.arange(right.size))),
        "ballot_stored": _counts(lambda case, right: _bits(case.args["a"] > 0)),
        "zero_or_one": _counts(lambda case, right: np.minimum(right, 1)),
    },
    causes={
        "not_packed": "Each positive element stands in its own place: the gaps are still there.",
        "own_lane_counted": "Each element sits one place too far: a lane counts itself among those "
        "before it.",
        "reversed": "The elements of each warp are in reverse order.",
        "whole_array": "The elements of all warps follow one another; each warp has its own "
        "stretch, which starts at 32 times its number.",
        "one_stretch": "All warps write to the first places of out, over one another.",
        "warp_of_the_block": "The warps are numbered within their block, so every block writes to "
        "the places of the first one.",
        "count_of_lanes": "That is the number of elements of the warp, positive or not.",
        "ballot_stored": "These are the bits of the ballot themselves, not how many are set.",
        "zero_or_one": "That says whether there is a positive element, not how many.",
        "negative_ones": "The negative elements were counted.",
        "too_many_loads": "Elements are read again and again.  A lane has its own in a "
        "variable, and a ballot tells it about the others.",
        "atomic_used": "The lanes of a warp queue up for an atomic operation, and nobody knows in "
        "which order.",
    },
    requirements=(
        Requirement("loads", "too_many_loads", times=2.0),
        Requirement("atomics", "atomic_used"),
        Requirement("shared_atomic_transactions", "atomic_used"),
    ),
    counted=pack_counted,
    hints={
        "not_packed": (
            "How many positive elements come before this one in its warp?",
            "Its place is 32 * warp plus the number of lower lanes whose bit is set in the ballot.",
        ),
        "own_lane_counted": (
            "Where does the first positive element of a warp belong?",
            "Count the bits of the lanes below: (1 << lane) - 1 has exactly those bits.",
        ),
        "reversed": (
            "Which lanes does your mask keep, those below or those above?",
            "Keep the bits below the lane's own: bits & ((1 << lane) - 1).",
        ),
        "whole_array": (
            "Where does the stretch of warp 1 begin?",
            "At out[32], whatever warp 0 has found.",
        ),
        "one_stretch": (
            "Where does the stretch of warp 1 begin?",
            "At out[32].  The place is 32 * warp, plus the number of kept lanes below.",
        ),
        "warp_of_the_block": (
            "Two blocks of 32 threads: which two warps have the same threadIdx.x // 32?",
            "The warp of the whole launch is cuda.grid(1) // 32.",
        ),
        "count_of_lanes": (
            "Which lanes should be counted?",
            "Let each lane vote whether its own element is positive, then count the set bits.",
        ),
        "ballot_stored": (
            "What does bit k of a ballot say?",
            "cuda.popc counts the set bits.",
        ),
        "zero_or_one": (
            "any_sync answers yes or no.  Which vote knows each lane's answer?",
            "Take cuda.ballot_sync and count its bits with cuda.popc.",
        ),
        "negative_ones": (
            "Which elements does the exercise keep?",
            "Those with a[i] > 0.",
        ),
        "too_many_loads": (
            "How does a lane learn how many lower lanes keep their element, without reading it?",
            "All lanes vote with cuda.ballot_sync.  The bits below a lane's own say how many kept "
            "elements come before it.",
        ),
        "atomic_used": (
            "Can a lane work out its place from the ballot alone?",
            "Its place is the number of set bits below its own; no counter in memory is needed.",
        ),
        "out_of_bounds": (
            "Some lanes have no element, and some warps have no entry in count.  Which access is "
            "behind no guard?",
            "A lane with i >= n must not read a[i]; let it vote no.  A warp without elements "
            "must not store its count: only lane 0 with i < n stores.",
        ),
        "inactive_source": (
            "Which lanes reach the call?",
            "All 32 lanes of a warp have to make it, also those without an element.",
        ),
        "written_more_than_once": (
            "Which lanes store to the place in the table?",
            "One lane of each warp stores the count; a place in out belongs to one element.",
        ),
    },
)  # fmt: skip


def _bits(flags: Array) -> Array:
    """Ballots of an array, warp by warp, as int32."""
    full = np.zeros((-(-flags.size // 32), 32), np.uint64)
    full.reshape(-1)[: flags.size] = flags
    return np.asarray((full << np.arange(32, dtype=np.uint64)).sum(axis=1).astype(np.uint32)
                      .view(np.int32).astype(np.int64))  # fmt: skip


# -- mend_warp_sum -----------------------------------------------------------------------------


def rows_of(a: Array, fill: float) -> Array:
    """(warps, 32) of an array; lanes beyond the end hold `fill`."""
    rows = np.full((-(-a.size // 32), 32), fill, a.dtype)
    rows.reshape(-1)[: a.size] = a
    return rows


def folded(rows: Array, steps: tuple[int, ...] = (16, 8, 4, 2, 1)) -> Array:
    """What lane 0 holds after the steps; a lane without a partner adds its own value."""
    lanes = np.arange(32)
    for step in steps:
        source = np.where(lanes + step < 32, lanes + step, lanes)
        rows = rows + rows[:, source]
    return np.asarray(rows[:, 0])


def wide_values(rng: np.random.Generator, n: int) -> Array:
    """Positive float32 of very different sizes: the order of a sum shows in its last bits."""
    return (rng.uniform(1, 10, n) * 10.0 ** rng.integers(-3, 4, n)).astype(np.float32)


def sum_case(a: Array, grid: int, block: int, label: str = "") -> Case:
    """One launch over the elements of `a`, with an element of out for each warp."""
    args = {"out": np.zeros(-(-a.size // 32), np.float32), "a": a, "n": a.size}
    return Case(args, grid, block, label)


def sum_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Lengths around whole warps, and a launch with a block to spare."""
    for block in WHOLE_WARPS[level]:
        for n in sizes(32, level, rng):
            yield sum_case(wide_values(rng, n), warp_grid(n, block), block)
    yield sum_case(wide_values(rng, 200), 3, 96, "n = 200")
    yield sum_case(wide_values(rng, 70), 4, 32, "n = 70, and a block to spare")


def _sums(right: Callable[[Array], Array]) -> Callable[[Case], Outputs]:
    """A suspect from the rows of the warps."""
    return lambda case: {"out": right(rows_of(case.args["a"], 0))}


def _in_turn(rows: Array) -> Array:
    """Lane after lane, from lane 0 on."""
    total = rows[:, 0].copy()
    for lane in range(1, 32):
        total = total + rows[:, lane]
    return total


def _full_only(case: Case) -> Outputs:
    """Only the warps whose lanes all have an element are written."""
    rows = rows_of(case.args["a"], 0)
    short = np.arange(1, len(rows) + 1) * 32 > case.args["n"]
    return {"out": np.ma.array(folded(rows), mask=short)}


FIRST_BLOCK = (
    "Only the warps of the first block were written: every block has worked on its elements."
)


def _first_block(output: str, right: Callable[[Case], Outputs]) -> Callable[[Case], Outputs]:
    """What is written when the index forgets the block."""

    def mistake(case: Case) -> Outputs:
        result = right(case)[output]
        return {output: np.ma.array(
            result, mask=np.arange(len(result)) >= case.threads_per_block // 32)}  # fmt: skip

    return mistake


MEND_WARP_SUM = KernelSpec(
    "mend_warp_sum", UNIT, 2, ("out",), sum_cases, _sums(folded),
    tolerance={"float32": Tolerance()},
    writes_once=True,
    shared_out="warps",
    suspects={
        "other_order": _sums(lambda rows: folded(rows, (1, 2, 4, 8, 16))),
        "lane_after_lane": _sums(_in_turn),
        "summed_in_float64": _sums(lambda rows: folded(rows.astype(np.float64))
                                   .astype(np.float32)),
        "first_element": _sums(lambda rows: rows[:, 0]),
        "last_element": _sums(lambda rows: rows[:, 31]),
        "only_first_block": _first_block("out", _sums(folded)),
        "first_step_missing": _sums(lambda rows: folded(rows, (8, 4, 2, 1))),
        "last_step_missing": _sums(lambda rows: folded(rows, (16, 8, 4, 2))),
        "full_warps_only": _full_only,
        "filled_with_ones": lambda case: {"out": folded(rows_of(case.args["a"], 1))},
    },
    causes={
        "other_order": "The sums were made in the order 1, 2, 4, 8, 16.  float32 rounds after each "
        "addition, so another order gives other last bits.",
        "lane_after_lane": "The sums were made lane after lane.  float32 rounds after each "
        "addition, so another order gives other last bits.",
        "summed_in_float64": "The sums were made in float64 and rounded once.  Asked for is the "
        "order of the five steps, in float32.",
        "first_element": "Each sum is the element of lane 0 alone.",
        "last_element": "Each sum is the element of lane 31: values replace one another and are "
        "not added.",
        "only_first_block": FIRST_BLOCK,
        "first_step_missing": "The lanes 16 to 31 are in no sum: the step of 16 is missing.",
        "last_step_missing": "Every second lane is in no sum: the step of 1 is missing.",
        "full_warps_only": "The last warp was not summed: not all of its lanes have an element.",
        "filled_with_ones": "Lanes without an element bring a 1 into the sum.",
    },
    hints={
        "inactive_source": (
            "Which lanes are still there when the others ask for their value?",
            "No lane may leave before the last shuffle.  A lane without an element stays, and "
            "brings a value that changes no sum.",
        ),
        "mask_names_absent": (
            "The mask names 32 lanes.  Do all of them reach this call?",
            "Take the shuffle out of the if: every lane calls it, and only the load and the store "
            "are guarded.",
        ),
        "other_order": (
            "Which lane does lane 0 ask in the first step?",
            "Fold the upper half onto the lower: 16, 8, 4, 2, 1.",
        ),
        "lane_after_lane": (
            "How many additions does lane 0 make in the lesson's sum?",
            "Five: it asks the lane 16 above, then 8, 4, 2 and 1.",
        ),
        "summed_in_float64": (
            "What type does v have for a lane without an element?",
            "A plain 0.0 is float64, and then v is float64 in all lanes.  Write np.float32(0).",
        ),
        "first_element": (
            "Which lane ends up with the sum?",
            "With shfl_down_sync the values move down: lane 0 ends up with the sum.",
        ),
        "last_element": (
            "What becomes of the value that a lane had before the shuffle?",
            "Add what the shuffle brings: v += ..., not v = ....",
        ),
        "first_step_missing": (
            "How far away is the lane that lane 0 asks first?",
            "32 lanes need five steps: 16, 8, 4, 2, 1.",
        ),
        "last_step_missing": (
            "How far away is the lane that lane 0 asks last?",
            "32 lanes need five steps: 16, 8, 4, 2, 1.",
        ),
        "full_warps_only": (
            "Which lane stores the sum of the last warp, and does it have an element?",
            "Lane 0 of every warp that has an element stores: i % 32 == 0 and i < n.",
        ),
        "filled_with_ones": (
            "Which number changes no sum?",
            "Zero: np.float32(0).",
        ),
        "out_of_bounds": (
            "Which lanes have no element, and which warps have no sum to store?",
            "Guard the load with i < n, and the store with i < n as well; leave the shuffles "
            "outside of both.",
        ),
    },
)  # fmt: skip


# -- warp_argmax -------------------------------------------------------------------------------


def argmax_case(a: Array, grid: int, block: int, label: str = "") -> Case:
    """One launch over the elements of `a`; best and place have an element for each warp."""
    warps = -(-a.size // 32)
    args = {"best": np.zeros(warps, np.float32), "place": np.zeros(warps, np.int32), "a": a,
            "n": a.size}  # fmt: skip
    return Case(args, grid, block, label)


def argmax_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Lengths around whole warps; only negative elements, also large ones; equal maxima."""
    for block in WHOLE_WARPS[level]:
        for n in sizes(32, level, rng):
            yield argmax_case(values(rng, n), warp_grid(n, block), block)
    yield argmax_case(-np.abs(values(rng, 75)), 1, 96, "n = 75, no element above zero")
    few = rng.integers(-3, 3, 107).astype(np.float32) + np.float32(0.5)
    # Where pairs are folded, lane 16 reaches lane 0 first and an odd lane last.
    few[[2 * int(rng.integers(8)) + 1, 16]] = 3.5
    yield argmax_case(few, 4, 32, "n = 107, maxima that occur several times")
    yield argmax_case(values(rng, 40), 3, 32, "n = 40, and a block to spare")
    far = np.float32(1e30) * (values(rng, 37) - 20)
    yield argmax_case(far, 2, 32, "n = 37, no element above -1e30")
    near = np.float32(5) + rng.permutation(37).astype(np.float32) / np.float32(1 << 20)
    yield argmax_case(near, 2, 32, "n = 37, elements that differ in their last bits")


def argmax_counted() -> Case:
    """32 warps of which the last has 8 elements."""
    return argmax_case(values(np.random.default_rng(7), 1000), 4, 256, "n = 1,000")


def argmax(
    case: Case, pick: Callable[[Array], Array] = lambda rows: rows.argmax(axis=1)
) -> Outputs:
    """The maximum of each warp and where in `a` it stands first."""
    rows = rows_of(case.args["a"].astype(np.float64), -np.inf)
    lanes = pick(rows) if len(rows) else np.zeros(0, np.int64)
    first = 32 * np.arange(len(rows))
    return {"best": rows[np.arange(len(rows)), lanes], "place": first + lanes}


def _last(rows: Array) -> Array:
    return 31 - rows[:, ::-1].argmax(axis=1)


def _travelled(rows: Array) -> Array:
    """Lane 0's place when pairs of value and place are folded, and only larger values replace."""
    top, at, lanes = rows, np.broadcast_to(np.arange(32), rows.shape), np.arange(32)
    for step in (16, 8, 4, 2, 1):
        source = np.where(lanes + step < 32, lanes + step, lanes)
        larger = top[:, source] > top
        top, at = np.where(larger, top[:, source], top), np.where(larger, at[:, source], at)
    return np.asarray(at[:, 0])


def _minimum(case: Case) -> Outputs:
    least = argmax(Case({**case.args, "a": -case.args["a"]}, case.grid, case.block))
    return {"best": -least["best"], "place": least["place"]}


def _zero_filled(case: Case) -> Outputs:
    """Lanes without an element take part with zero."""
    rows = rows_of(case.args["a"].astype(np.float64), 0)
    best = rows.max(axis=1) if len(rows) else np.zeros(0)
    return {"best": best}


def _largest_magnitude(case: Case) -> Outputs:
    rows = np.abs(rows_of(case.args["a"].astype(np.float64), 0))
    return {"best": rows.max(axis=1) if len(rows) else np.zeros(0)}


def _even_lanes(case: Case) -> Outputs:
    """Lane 0 knows the maximum of the even lanes; a ballot also names the odd lanes' maximum."""
    even = argmax(case, lambda rows: 2 * rows[:, ::2].argmax(axis=1))
    odd = argmax(case, lambda rows: 2 * rows[:, 1::2].argmax(axis=1) + 1)
    return {"best": even["best"], "place": np.minimum(even["place"], odd["place"])}


WARP_ARGMAX = KernelSpec(
    "warp_argmax", UNIT, 3, ("best", "place"), argmax_cases, argmax,
    writes_once=True,
    shared_out="warps",
    suspects={
        "last_of_equals": lambda case: argmax(case, _last),
        "tie_by_the_way": lambda case: argmax(case, _travelled),
        "only_first_block": _first_block("best", argmax),
        "place_in_the_warp": lambda case: {
            "place": np.asarray(argmax(case)["place"]) % 32
        },
        "one_too_far": lambda case: {"place": np.asarray(argmax(case)["place"]) + 1},
        "minimum": _minimum,
        "filled_with_zero": _zero_filled,
        "largest_magnitude": _largest_magnitude,
        "first_lane": lambda case: argmax(case, lambda rows: np.zeros(len(rows), np.int64)),
        "first_step_missing": lambda case: argmax(case, lambda rows: rows[:, :16].argmax(axis=1)),
        "last_step_missing": _even_lanes,
    },
    causes={
        "last_of_equals": "Where the maximum occurs several times, place is the last of them; "
        "asked for is the first.",
        "tie_by_the_way": "Where the maximum occurs several times, place is the one that was met "
        "first on the way; asked for is the lowest index.",
        "only_first_block": FIRST_BLOCK,
        "place_in_the_warp": "These are lanes.  Asked for is the index in a.",
        "one_too_far": "Every place is one too large: cuda.ffs counts the lowest bit as 1.",
        "minimum": "That is the minimum.",
        "filled_with_zero": "Lanes without an element brought a zero, which is larger than every "
        "element of their warp.",
        "largest_magnitude": "That is the largest magnitude, whatever the sign.",
        "first_lane": "That is the element of lane 0.",
        "first_step_missing": "Lanes 16 to 31 are never looked at: the step of 16 is missing.",
        "last_step_missing": "Every second lane is never looked at: the step of 1 is missing.",
        "too_many_slots": "The warp issues more instructions than a fold in five steps needs.",
        "too_many_loads": "Elements are read again and again.  They are in variables of the "
        "lanes, and a shuffle fetches them.",
    },
    requirements=(
        Requirement("loads", "too_many_loads", times=2.0),
        Requirement("issue_slots", "too_many_slots", times=1.5),
    ),
    counted=argmax_counted,
    hints={
        "last_of_equals": (
            "Two lanes hold the maximum.  Which of them wins in your kernel?",
            "The lowest lane has to win: the lowest set bit of a ballot, or, when two pairs are "
            "equal, the smaller index.",
        ),
        "tie_by_the_way": (
            "Two pairs with the same value meet in a step.  Which should survive?",
            "The one with the smaller index: compare the indices when the values are equal.",
        ),
        "place_in_the_warp": (
            "Where does the warp's first element stand in a?",
            "Add the lane to 32 times the number of the warp.",
        ),
        "one_too_far": (
            "What does cuda.ffs give for 1, whose lowest set bit is bit 0?",
            "It gives 1.  Subtract 1 to get the lane.",
        ),
        "minimum": ("Which of two values should survive a step?", "The larger one: max."),
        "filled_with_zero": (
            "All elements of a warp are negative, and one lane has none.  Who wins?",
            "A lane without an element must never win: let it bring -inf.",
        ),
        "largest_magnitude": (
            "Is -9 larger than 2?",
            "Compare the elements as they are.",
        ),
        "first_lane": (
            "What does lane 0 learn from the other lanes?",
            "Keep the larger of the own value and the one that the shuffle brings, in each step.",
        ),
        "first_step_missing": (
            "How far away is the lane that lane 0 asks first?",
            "32 lanes need five steps: 16, 8, 4, 2, 1.",
        ),
        "last_step_missing": (
            "How far away is the lane that lane 0 asks last?",
            "32 lanes need five steps: 16, 8, 4, 2, 1.",
        ),
        "too_many_slots": (
            "Does every lane have to be asked one by one?  Does the place have to travel along in "
            "each step?",
            "Five steps find the maximum.  Once every lane knows it, one ballot says who holds it.",
        ),
        "too_many_loads": (
            "How does a lane get the value of another lane without memory?",
            "Read a[i] once, then use shuffles.",
        ),
        "inactive_source": (
            "Which lanes are still there when the others ask for their value?",
            "No lane may leave before the last shuffle or vote; a lane without an element brings "
            "-inf.",
        ),
        "out_of_bounds": (
            "Which lanes have no element, and which warps have nothing to store?",
            "Guard the load and the store with i < n; leave shuffles and votes outside of both.",
        ),
    },
)  # fmt: skip

SPECS: tuple[Any, ...] = (
    LANE_AND_WARP, BRANCH_SLOTS, SETTLE_PARTICLES, PACK_POSITIVE, MEND_WARP_SUM, WARP_ARGMAX,
)  # fmt: skip
