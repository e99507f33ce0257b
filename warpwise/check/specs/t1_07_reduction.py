"""Exercises of t1_07_reduction: sums in a stated order, and what they cost.

order   which values are added in which sequence; results must have its bits
halves  a tree of additions: the first half plus the second, then again, until one is left
warp    32 threads; their number in the whole launch is the thread's number // 32
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..cases import Case, Level, ceil_div
from ..requirements import Requirement
from ..spec import FunctionSpec, KernelSpec
from ..tolerance import Tolerance

UNIT = "t1_07_reduction"
WARP = 32
BITS = {"float32": Tolerance()}  # the stated order has exactly these bits

Array = np.ndarray


# -- orders of addition ------------------------------------------------------------------------


def halves(rows: Array) -> Array:
    """The sum of each row, the first half plus the second until one value is left.

    rows: (n, power of two) -> (n,).
    """
    while rows.shape[1] > 1:
        half = rows.shape[1] // 2
        rows = rows[:, :half] + rows[:, half:]
    return rows[:, 0]


def neighbours(rows: Array) -> Array:
    """The sum of each row, neighbours first: 0 + 1, 2 + 3, ..., then those sums."""
    while rows.shape[1] > 1:
        rows = rows[:, 0::2] + rows[:, 1::2]
    return rows[:, 0]


def running(rows: Array) -> Array:
    """The sum of each row from left to right."""
    total = np.zeros(rows.shape[0], rows.dtype)
    for column in rows.T:
        total = total + column
    return total


def exact(rows: Array) -> Array:
    """The sum of each row in float64, rounded to float32 once."""
    return rows.astype(np.float64).sum(axis=1).astype(np.float32)


def numbers(rng: np.random.Generator, n: int) -> Array:
    """float32 of both signs and sizes from 1/16 to 32: almost every order has bits of its own."""
    size = np.exp2(rng.integers(-3, 6, size=n)) * rng.uniform(0.5, 1.0, size=n)
    return (size * rng.choice([-1, 1], size=n)).astype(np.float32)


def laid(x: Array, blocks: int, width: int) -> Array:
    """x in rows of `width`, one for each block, zeros behind its end."""
    rows = np.zeros(blocks * width, x.dtype)
    rows[: x.size] = x
    return rows.reshape(blocks, width)


def by_block(order: Callable[[Array], Array]) -> Callable[[Case], dict[str, Array]]:
    """What `order` gives where each block sums as many elements as it has threads."""

    def sums(case: Case) -> dict[str, Array]:
        return {"partial": order(laid(case.args["x"], case.blocks, case.threads_per_block))}

    return sums


def without_rest(sums: Callable[[Case], dict[str, Array]]) -> Callable[[Case], dict[str, Array]]:
    """The same sums, the elements behind the last full block left out."""

    def mistake(case: Case) -> dict[str, Array]:
        full = case.args["x"].size // case.threads_per_block * case.threads_per_block
        args = {**case.args, "x": case.args["x"][:full]}
        return sums(Case(args, case.grid, case.block))

    return mistake


def first_block_only(
    sums: Callable[[Case], dict[str, Array]],
) -> Callable[[Case], dict[str, Array]]:
    """Every block sums what belongs to block 0."""
    return lambda case: {
        name: np.repeat(right[:1], right.size) for name, right in sums(case).items()
    }


ORDER_CAUSES = {
    "neighbours_first": "The bits are those of a tree that adds neighbours first: 0 + 1, 2 + 3 and "
    "so on.  The order asked for adds the second half to the first.",
    "running_sum": "The bits are those of a running sum, one value after another.  The order asked "
    "for is a tree.",
    "float64_sum": "The bits are those of a sum in float64 that is rounded at the end.  It is "
    "closer to the truth, but it is not the order asked for.",
    "through_float16": "The values went through float16 before they were added.",
    "reduced_precision": "The sums are right except for rounding: the same values were added in "
    "another order, or in another type.",
    "first_value": "Only one value of each block arrived: nothing was added to it.",
    "one_round_short": "The last round of the tree is missing: half of the values never arrived.",
    "one_round_missing_at_the_start": "The first round of the tree is missing: the second half of "
    "the values never arrived.",
    "first_block_only": "Every block has the sum of block 0: the index does not depend on the "
    "block.",
    "rest_left_out": "The elements behind the last full block are missing from the sum.",
}
ORDER_HINTS = {
    "neighbours_first": (
        "Which element does thread 0 add in the first round?",
        "With distances that start at half and shrink, thread 0 adds the element half the block "
        "away, not its neighbour.",
    ),
    "running_sum": (
        "How many additions does one thread make, one after another?",
        "Halve the distance from round to round, and let all threads below it add at once.",
    ),
    "float64_sum": (
        "What is the type of your variable?  0.0 is a float64.",
        "Start from np.float32(0), and keep shared arrays in float32.",
    ),
    "through_float16": (
        "Which type do the values have on their way?",
        "Leave float16 out: read, add and store in float32.",
    ),
    "never_written": (
        "Which thread stores the sum of a block that has no element at all?",
        "Its sum is 0.  Let all threads take part, those without an element with a zero.",
    ),
    "reduced_precision": (
        "Write down for eight values which two meet first, in your kernel and in the exercise.",
        "Follow the order in the exercise literally: who adds what in each round, and where the "
        "rounds begin.",
    ),
    "first_value": (
        "Where are two values added?",
        "Each round needs an addition: the own value plus the one a stride away.",
    ),
    "one_round_short": (
        "What is the distance in your last round?",
        "The last round adds the value one place away.  Look at the end of the loop.",
    ),
    "one_round_missing_at_the_start": (
        "What is the distance in your first round?",
        "The first distance is half of what is to be added: 16 for the lanes of a warp.",
    ),
    "first_block_only": (
        "What differs between thread 0 of block 0 and thread 0 of block 1?",
        "threadIdx counts from zero in each block.  cuda.grid(1) does not.",
    ),
    "rest_left_out": (
        "What does the last block do when it is not full?",
        "Threads without an element must take part with a zero.  Only the load needs the guard.",
    ),
}  # fmt: skip


# -- warp_sum ----------------------------------------------------------------------------------


def warp_case(rng: np.random.Generator, n: int, block: int) -> Case:
    """(out, x, n): one result for each warp of the launch."""
    grid = ceil_div(n, block)
    out = np.zeros(grid * block // WARP, np.float32)
    label = f"n = {n}, blocks of {block}"
    return Case({"out": out, "x": numbers(rng, n), "n": n}, grid, block, label)


def warp_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """One warp, several, several blocks; the last warp full, nearly empty, or empty."""
    launches = [(32, 32), (31, 32), (1, 32), (33, 64), (97, 32), (200, 96), (1000, 256), (0, 32)]
    if level == "grader":
        launches += [(int(n), int(b)) for n, b in zip(
            rng.integers(2, 3000, size=6), rng.choice([32, 64, 128, 160, 1024], size=6), strict=True
        )]  # fmt: skip
    for n, block in launches:
        yield warp_case(rng, n, block)


def by_warp(order: Callable[[Array], Array]) -> Callable[[Case], dict[str, Array]]:
    """What `order` gives for each warp of the launch."""
    return lambda case: {"out": order(laid(case.args["x"], case.args["out"].size, WARP))}


def warp_zero_of_block(case: Case) -> dict[str, Array]:
    """Only the first warp of each block stores, at the place of its block."""
    sums = by_warp(halves)(case)["out"]
    each = case.threads_per_block // WARP
    found = np.ma.masked_all(sums.shape, np.float32)
    found[: case.blocks] = sums[::each]
    return {"out": found}


def last_lane(rows: Array) -> Array:
    """What lane 31 holds after shfl_down by 16, 8, 4, 2, 1: it always adds its own value."""
    values = rows.copy()
    for step in (16, 8, 4, 2, 1):
        moved = values.copy()
        moved[:, :-step] = values[:, step:]
        values = values + moved
    return values[:, -1]


WARP_SUM = KernelSpec(
    "warp_sum", UNIT, 1, ("out",), warp_cases, by_warp(halves),
    tolerance=BITS,
    writes_once=True,
    suspects={
        "one_round_short": by_warp(lambda rows: halves(rows[:, 0::2])),
        "one_round_missing_at_the_start": by_warp(lambda rows: halves(rows[:, :16])),
        "running_sum": by_warp(running),
        "neighbours_first": by_warp(neighbours),
        "float64_sum": by_warp(exact),
        "through_float16": by_warp(
            lambda rows: halves(rows.astype(np.float16).astype(np.float32))
        ),
        "first_value": by_warp(lambda rows: rows[:, 0]),
        "last_lane": by_warp(last_lane),
        "first_warps_only": warp_zero_of_block,
    },
    causes={
        **ORDER_CAUSES,
        "last_lane": "That is what lane 31 holds after the shuffles; the sum is in lane 0.",
        "first_warps_only": "Only one warp of each block stored its sum, at the place of "
        "its block.",
    },
    hints={
        **ORDER_HINTS,
        "last_lane": (
            "Which lane has received all the others?",
            "shfl_down brings values to lower lanes: lane 0 has the sum.",
        ),
        "first_warps_only": (
            "How many results does a block of 64 threads have?",
            "Lane 0 of every warp stores, at i // 32, where i is its number in the launch.",
        ),
    },
    requirements=(
        Requirement("shared_bytes", "too_much_shared"),
        Requirement("barriers", "too_many_barriers"),
        Requirement("load_sectors", "too_many_sectors"),
        Requirement("float64", "float64_arithmetic"),
        Requirement("issue_slots", "too_many_instructions", times=2.0),
    ),
    counted=lambda: warp_case(np.random.default_rng(7), 4096, 256),
)  # fmt: skip


# -- tree_bill ---------------------------------------------------------------------------------


def tree_bill(threads: int) -> tuple[int, int, int]:
    """(barriers, idle turns, warp turns) of a tree of halves over a block."""
    rounds = threads.bit_length() - 1
    busy = [threads >> k for k in range(1, rounds + 1)]
    warps = sum(-(-count // WARP) for count in busy)
    return rounds + 1, rounds * threads - sum(busy), warps


def _bill(
    barriers: int = 0, idle: int = 0, warps: int = 0
) -> Callable[[int], tuple[int, int, int]]:
    """The right bill with something added to each of its numbers."""

    def mistake(threads: int) -> tuple[int, int, int]:
        right = tree_bill(threads)
        return right[0] + barriers, right[1] + idle, right[2] + warps

    return mistake


def _all_warps(threads: int) -> tuple[int, int, int]:
    """As if the busy threads were spread over all warps, as with % in the condition."""
    barriers, idle, _ = tree_bill(threads)
    busy = [threads >> k for k in range(1, barriers)]
    return barriers, idle, sum(min(count, -(-threads // WARP)) for count in busy)


def bill_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[int]]:
    """Every block size that is a power of two."""
    for threads in (64, 2, 32, 128, 256, 512, 1024, 4, 8, 16):
        yield (threads,)


TREE_BILL = FunctionSpec(
    "tree_bill", UNIT, 2, bill_inputs, tree_bill,
    suspects={
        "first_barrier_forgotten": _bill(barriers=-1),
        "one_barrier_too_many": _bill(barriers=1),
        "adds_for_idle": lambda threads: (
            tree_bill(threads)[0], threads - 1, tree_bill(threads)[2]
        ),
        "all_warps": _all_warps,
        "filling_counted": lambda threads: (
            tree_bill(threads)[0], tree_bill(threads)[1],
            tree_bill(threads)[2] + -(-threads // WARP),
        ),
        "rounded_down": lambda threads: (
            *tree_bill(threads)[:2],
            sum((threads >> k) // WARP for k in range(1, threads.bit_length())),
        ),
    },
    causes={
        "first_barrier_forgotten": "One barrier is missing: the block also waits after it has "
        "filled the shared array.",
        "one_barrier_too_many": "One barrier too many: one after filling, one after each round.",
        "adds_for_idle": "The second number is that of the additions, not of the idle turns.",
        "all_warps": "The third number is that of the version with %, where the busy threads are "
        "spread over all warps.",
        "filling_counted": "The third number counts the filling of the array as a round.",
        "rounded_down": "A warp with a single busy thread counts as well: round up.",
    },
    hints={
        "wrong_values": (
            "Write down for 64 threads how many are busy in each round: 32, 16, 8, 4, 2, 1.",
            "Rounds: log2(threads).  Idle in a round: threads minus busy ones.  Warps of a round: "
            "busy threads / 32, rounded up.  Add up over the rounds.",
        ),
        "first_barrier_forgotten": (
            "What has to be finished before the first round may start?",
            "One barrier after filling, then one after each round.",
        ),
        "one_barrier_too_many": (
            "How often does 64 halve until 1 is left?",
            "log2(threads) rounds, a barrier after each, and one after filling.",
        ),
        "adds_for_idle": (
            "How many turns are there in all, and how many of them are additions?",
            "There are rounds * threads turns; threads - 1 of them are additions.",
        ),
        "all_warps": (
            "Which threads are busy when the condition is t < stride?",
            "The first ones.  They fill as few warps as possible: busy / 32, rounded up.",
        ),
        "filling_counted": (
            "In which rounds are two values added?",
            "Count the rounds of the tree only.",
        ),
        "rounded_down": (
            "How many warps are needed for 16 busy threads?",
            "One: (busy + 31) // 32.",
        ),
    },
)  # fmt: skip


# -- tree_sum ----------------------------------------------------------------------------------


def block_case(rng: np.random.Generator, n: int, block: int) -> Case:
    """(partial, x, n): one sum for each block."""
    grid = ceil_div(n, block)
    args = {"partial": np.zeros(grid, np.float32), "x": numbers(rng, n), "n": n}
    return Case(args, grid, block, f"n = {n}, blocks of {block}")


def block_cases(fewest: int) -> Callable[[np.random.Generator, Level], Iterator[Case]]:
    """Blocks of `fewest` threads and more, the last one full or not."""

    def cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
        sizes = [block for block in (32, 64, 128, 256, 512, 1024) if block >= fewest]
        launches = [(sizes[0], sizes[0]), (sizes[0] + 1, sizes[0]), (1, sizes[0])]
        launches += [(301, 128), (1000, 256), (2051, 1024), (0, 64)]
        if level == "grader":
            launches += [
                (int(n), int(block))
                for n, block in zip(
                    rng.integers(2, 4000, size=6), rng.choice(sizes, size=6), strict=True
                )
            ]
        for n, block in launches:
            yield block_case(rng, n, block)

    return cases


BLOCK_SUSPECTS: dict[str, Callable[[Case], dict[str, Array]]] = {
    "neighbours_first": by_block(neighbours),
    "running_sum": by_block(running),
    "float64_sum": by_block(exact),
    "through_float16": by_block(lambda rows: halves(rows.astype(np.float16).astype(np.float32))),
    "one_round_short": by_block(lambda rows: halves(rows[:, 0::2])),
    "one_round_missing_at_the_start": by_block(lambda rows: halves(rows[:, : rows.shape[1] // 2])),
    "first_value": by_block(lambda rows: rows[:, 0]),
    "first_block_only": first_block_only(by_block(halves)),
    "rest_left_out": without_rest(by_block(halves)),
}

TREE_SUM = KernelSpec(
    "tree_sum", UNIT, 3, ("partial",), block_cases(32), by_block(halves),
    tolerance=BITS,
    writes_once=True,
    suspects=BLOCK_SUSPECTS,
    causes=ORDER_CAUSES,
    hints=ORDER_HINTS,
    requirements=(
        Requirement("bank_conflicts", "bank_conflicts"),
        Requirement("barriers", "too_many_barriers"),
        Requirement("load_sectors", "too_many_sectors"),
        Requirement("float64", "float64_arithmetic"),
        Requirement("divergent_branches", "too_much_divergence"),
        Requirement("shared_bytes", "too_much_shared"),
        Requirement("issue_slots", "too_many_instructions", times=1.5),
    ),
    counted=lambda: block_case(np.random.default_rng(7), 64 * 256, 256),
)  # fmt: skip


# -- last_warp ---------------------------------------------------------------------------------


def stride_32_missing(rows: Array) -> Array:
    """Halves down to 64 values; of these only the first 32 arrive."""
    while rows.shape[1] > 64:
        half = rows.shape[1] // 2
        rows = rows[:, :half] + rows[:, half:]
    return halves(rows[:, :32])


LAST_WARP = KernelSpec(
    "last_warp", UNIT, 2, ("partial",), block_cases(64), by_block(halves),
    tolerance=BITS,
    writes_once=True,
    suspects={"stride_32_missing": by_block(stride_32_missing), **BLOCK_SUSPECTS},
    causes={
        **ORDER_CAUSES,
        "stride_32_missing": "The round with stride 32 is missing: of the last 64 values the upper "
        "32 never arrived.",
        "too_many_barriers": "The last rounds concern one warp only.  There the whole block still "
        "waits.",
    },
    hints={
        **ORDER_HINTS,
        "stride_32_missing": (
            "How many values are left after the loop, and how many lanes has the last warp?",
            "64 are left.  Begin the last rounds with s[t] + s[t + 32].",
        ),
        "race": (
            "Which two lines meet, and are the two threads in the same warp?",
            "Two warps need cuda.syncthreads(), outside of any condition.  Two lanes of a warp "
            "need cuda.syncwarp() between every read and every write, or no shared memory at all: "
            "shuffles.",
        ),
        "too_many_instructions": (
            "How many warps go through your last rounds, and how many of them have work there?",
            "Put if t < 32 around the last rounds: the other warps are done.",
        ),
        "too_many_barriers": (
            "How many warps have work when the stride is 32 or less?",
            "End the loop with the block's barriers at stride 32; go on inside the first warp with "
            "shuffles, or with cuda.syncwarp().",
        ),
    },
    requirements=(
        Requirement("barriers", "too_many_barriers"),
        Requirement("bank_conflicts", "bank_conflicts"),
        Requirement("load_sectors", "too_many_sectors"),
        Requirement("float64", "float64_arithmetic"),
        Requirement("issue_slots", "too_many_instructions", times=1.6),
    ),
    counted=lambda: block_case(np.random.default_rng(8), 64 * 256, 256),
)  # fmt: skip


# -- grid_sum ----------------------------------------------------------------------------------


def grid_case(rng: np.random.Generator, n: int, grid: int, block: int) -> Case:
    """(partial, x, n): more elements than threads, or fewer."""
    args = {"partial": np.zeros(grid, np.float32), "x": numbers(rng, n), "n": n}
    return Case(args, grid, block, f"n = {n}, {grid} blocks of {block}")


def grid_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Grids that are too small, just right and too large; blocks of whole warps."""
    launches = [(32, 1, 32), (100, 1, 32), (33, 1, 64), (1000, 2, 96), (777, 3, 128),
                (5000, 2, 1024), (5, 4, 32), (4096, 4, 256), (0, 2, 64)]  # fmt: skip
    if level == "grader":
        for _ in range(6):
            n, grid = int(rng.integers(1, 9000)), int(rng.integers(1, 6))
            launches.append((n, grid, int(rng.choice([32, 64, 96, 160, 256, 1024]))))
    for n, grid, block in launches:
        yield grid_case(rng, n, grid, block)


def by_thread(case: Case, x: Array) -> Array:
    """The running sum of each thread of the grid, from the left: (threads,)."""
    threads = case.blocks * case.threads_per_block
    return running(laid(x, ceil_div(x.size, threads), threads).T)


def blockwise(case: Case, sums: Array) -> Array:
    """Running sums of threads -> one sum a block: by lanes, then by warps, in halves."""
    warps = halves(sums.reshape(-1, WARP)).reshape(case.blocks, -1)
    padded = np.zeros((case.blocks, WARP), sums.dtype)
    padded[:, : warps.shape[1]] = warps
    return halves(padded)


def grid_sums(case: Case) -> dict[str, Array]:
    """The order of the exercise."""
    return {"partial": blockwise(case, by_thread(case, case.args["x"]))}


def _one_element_each(case: Case) -> dict[str, Array]:
    threads = case.blocks * case.threads_per_block
    return {"partial": blockwise(case, by_thread(case, case.args["x"][:threads]))}


def _whole_turns(case: Case) -> dict[str, Array]:
    threads = case.blocks * case.threads_per_block
    x = case.args["x"]
    return {"partial": blockwise(case, by_thread(case, x[: x.size // threads * threads]))}


def _first_warp(case: Case) -> dict[str, Array]:
    sums = by_thread(case, case.args["x"]).reshape(case.blocks, -1)[:, :WARP]
    return {"partial": halves(sums)}


def _warps_running(case: Case) -> dict[str, Array]:
    warps = halves(by_thread(case, case.args["x"]).reshape(-1, WARP)).reshape(case.blocks, -1)
    return {"partial": running(warps)}


def _in_float64(case: Case) -> dict[str, Array]:
    sums = by_thread(case, case.args["x"].astype(np.float64))
    return {"partial": sums.reshape(case.blocks, -1).sum(axis=1).astype(np.float32)}


def _float64_between(case: Case) -> dict[str, Array]:
    """A float64 variable, but shared memory in float32: rounded once for each warp."""
    sums = by_thread(case, case.args["x"].astype(np.float64))
    warps = halves(sums.reshape(-1, WARP)).astype(np.float32)
    padded = np.zeros((case.blocks, WARP), np.float32)
    padded[:, : case.threads_per_block // WARP] = warps.reshape(case.blocks, -1)
    return {"partial": halves(padded)}


def _half(case: Case) -> dict[str, Array]:
    x = case.args["x"].astype(np.float16).astype(np.float32)
    return {"partial": blockwise(case, by_thread(case, x))}


def _own_part(case: Case) -> dict[str, Array]:
    """Each block has a part of x to itself, one part after another."""
    part = ceil_div(case.args["x"].size, case.blocks)
    turns = ceil_div(part, case.threads_per_block)
    rows = laid(case.args["x"], case.blocks, part)
    padded = np.zeros((case.blocks, turns * case.threads_per_block), np.float32)
    padded[:, :part] = rows
    turned = padded.reshape(case.blocks, turns, -1).transpose(0, 2, 1)
    return {"partial": blockwise(case, running(turned.reshape(-1, turns)))}


GRID_SUM = KernelSpec(
    "grid_sum", UNIT, 3, ("partial",), grid_cases, grid_sums,
    tolerance=BITS,
    writes_once=True,
    suspects={
        "one_element_each": _one_element_each,
        "whole_turns_only": _whole_turns,
        "first_warp_only": _first_warp,
        "warps_one_by_one": _warps_running,
        "part_for_each_block": _own_part,
        "float64_sum": _in_float64,
        "float64_variable": _float64_between,
        "through_float16": _half,
        "first_block_only": first_block_only(grid_sums),
    },
    causes={
        **ORDER_CAUSES,
        "one_element_each": "Each thread added one element: what lies beyond the grid is missing.",
        "whole_turns_only": "The elements of the last turn are missing: not all threads have one "
        "there, but those that have must add it.",
        "first_warp_only": "Only the first warp of each block is in the sum.",
        "float64_variable": "The additions were made in float64, and rounded on the way to shared "
        "memory.",
        "part_for_each_block": "Each block has summed a part of x of its own.  In a grid-stride "
        "loop the threads of all blocks take turns.",
        "warps_one_by_one": "The sums of the warps were added one after another; the exercise asks "
        "for halves there as well.",
    },
    hints={
        **ORDER_HINTS,
        "one_element_each": (
            "What if there are more elements than threads?",
            "for i in range(cuda.grid(1), n, cuda.gridsize(1)): add x[i] to a variable of the "
            "thread.",
        ),
        "whole_turns_only": (
            "Where does your loop end?",
            "It ends at n itself: range(cuda.grid(1), n, cuda.gridsize(1)).",
        ),
        "first_warp_only": (
            "A shuffle never leaves its warp.  How do the sums of the other warps get to warp 0?",
            "Lane 0 of each warp stores into shared memory, a barrier, then warp 0 adds those.",
        ),
        "float64_variable": (
            "What is the type of your variable?  A 0 that meets a float32 becomes a float64.",
            "Start from np.float32(0), and write np.float32(0) for lanes without a warp.",
        ),
        "part_for_each_block": (
            "Which element does thread 0 of block 1 add first, and which next?",
            "for i in range(cuda.grid(1), n, cuda.gridsize(1)): all threads of the grid stand side "
            "by side.",
        ),
        "warps_one_by_one": (
            "How many of the 32 lanes add the sums of the warps?",
            "Let lane l of warp 0 take the sum of warp l, or zero, and shuffle once more.",
        ),
    },
    requirements=(
        Requirement("load_sectors", "too_many_sectors"),
        Requirement("barriers", "too_many_barriers"),
        Requirement("bank_conflicts", "bank_conflicts"),
        Requirement("shared_bytes", "too_much_shared"),
        Requirement("float64", "float64_arithmetic"),
        Requirement("issue_slots", "too_many_instructions", times=2.0),
    ),
    counted=lambda: grid_case(np.random.default_rng(9), 40_000, 8, 256),
)  # fmt: skip


# -- max_where ---------------------------------------------------------------------------------


def max_case(rng: np.random.Generator, n: int, grid: int, block: int, below: bool = False) -> Case:
    """(best, where, x, n).  Few different values, so that the largest occurs more than once; they
    rise, or fall, along x, so that it is not always among the first elements."""
    rise = 4 * (8 * np.arange(n) // max(n, 1))
    level = rng.integers(0, 24, size=n) + (rise if rng.random() < 0.7 else rise[::-1])
    x = ((level - (60 if below else 30)) / 8).astype(np.float32)
    args = {"best": np.zeros(grid, np.float32), "where": np.zeros(grid, np.int64), "x": x, "n": n}
    label = f"n = {n}, {grid} blocks of {block}" + (", all negative" if below else "")
    return Case(args, grid, block, label)


def max_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """As for grid_sum; ties, and values below zero only."""
    launches = [(32, 1, 32), (100, 1, 32), (33, 1, 64), (1000, 2, 96), (777, 3, 128),
                (5000, 2, 1024), (5, 4, 32), (0, 2, 64)]  # fmt: skip
    if level == "grader":
        for _ in range(6):
            n, grid = int(rng.integers(1, 9000)), int(rng.integers(1, 6))
            launches.append((n, grid, int(rng.choice([32, 64, 96, 160, 256, 1024]))))
    for k, (n, grid, block) in enumerate(launches):
        yield max_case(rng, n, grid, block, below=k % 2 == 1)


def _owned(case: Case) -> Array:
    """(blocks, elements): the block's elements in ascending order; n where there is none."""
    n, threads = case.args["x"].size, case.blocks * case.threads_per_block
    turns = ceil_div(n, threads)
    index = np.arange(turns * threads).reshape(turns, case.blocks, -1)
    return np.minimum(index.transpose(1, 0, 2).reshape(case.blocks, -1), n)


def largest(case: Case, last: bool = False) -> dict[str, Array]:
    """The largest value of each block and its first (or last) index."""
    owned = _owned(case)
    x = np.append(case.args["x"], np.float32(-np.inf))[owned]
    best = x.max(axis=1)
    hit = x == best[:, None]
    far = np.where(hit, owned, -1 if last else case.args["x"].size)
    return {"best": best, "where": far.max(axis=1) if last else far.min(axis=1)}


def _local_index(case: Case) -> dict[str, Array]:
    """The thread's number in its block instead of the element's index."""
    right = largest(case)
    return {"best": right["best"], "where": right["where"] % case.threads_per_block}


def _strict(v: Array, at: Array) -> tuple[Array, Array]:
    """(rows, 32) -> lane 0 of each row, after shuffles in which only a larger value wins."""
    for step in (16, 8, 4, 2, 1):
        take = v[:, step : 2 * step] > v[:, :step]
        at = np.where(take, at[:, step : 2 * step], at[:, :step])
        v = np.maximum(v[:, step : 2 * step], v[:, :step])
    return v[:, 0], at[:, 0]


def _ties_by_lane(case: Case) -> dict[str, Array]:
    """Of equal values the one of the lower lane stays, whatever its index."""
    owned = _owned(case).reshape(case.blocks, -1, case.threads_per_block)
    x = np.append(case.args["x"], np.float32(-np.inf))[owned]
    first = x.argmax(axis=1)
    v = np.take_along_axis(x, first[:, None], axis=1).reshape(-1, WARP)
    at = np.take_along_axis(owned, first[:, None], axis=1).reshape(-1, WARP)
    warps = case.threads_per_block // WARP
    values = np.full((case.blocks, WARP), -np.inf, np.float32)
    places = np.full((case.blocks, WARP), case.args["x"].size)
    lane_v, lane_at = _strict(v, at)
    values[:, :warps], places[:, :warps] = (a.reshape(-1, warps) for a in (lane_v, lane_at))
    best, where = _strict(values, places)
    return {"best": best, "where": where}


def _warp_zero(case: Case) -> dict[str, Array]:
    """Only the elements of the first warp of each block."""
    owned = _owned(case).reshape(case.blocks, -1, case.threads_per_block)[:, :, :WARP]
    owned = owned.reshape(case.blocks, -1)
    x = np.append(case.args["x"], np.float32(-np.inf))[owned]
    best = x.max(axis=1)
    far = np.where(x == best[:, None], owned, case.args["x"].size)
    return {"best": best, "where": far.min(axis=1)}


def _some_only(case: Case) -> dict[str, Array]:
    """Only the first element of each thread."""
    threads = case.blocks * case.threads_per_block
    x = case.args["x"]
    found = largest(Case({**case.args, "x": x[:threads]}, case.grid, case.block))
    none = np.isneginf(found["best"])
    return {"best": found["best"], "where": np.where(none, x.size, found["where"])}


MAX_WHERE = KernelSpec(
    "max_where", UNIT, 3, ("best", "where"), max_cases, largest,
    tolerance=BITS,
    writes_once=True,
    suspects={
        "ties_by_lane": _ties_by_lane,
        "last_index": lambda case: largest(case, last=True),
        "started_at_zero": lambda case: {"best": np.maximum(largest(case)["best"], 0)},
        "smallest": lambda case: {"best": -largest(
            Case({**case.args, "x": -case.args["x"]}, case.grid, case.block))["best"]},
        "local_index": _local_index,
        "one_element_each": _some_only,
        "first_warp_only": _warp_zero,
    },
    causes={
        "ties_by_lane": "The values are right.  Of two equal ones that of the lower lane stayed; "
        "its index need not be the smaller one, since each thread has several elements.",
        "last_index": "The values are right.  Where the largest occurs several times, the index is "
        "the last one; the exercise asks for the first.",
        "started_at_zero": "No result is below zero: the search started from zero.",
        "smallest": "That is the smallest value of each block.",
        "local_index": "The index counts inside the block, not in x.",
        "first_warp_only": "Only the first warp of each block took part.",
        "one_element_each": "Each thread looked at one element: what lies beyond the grid is "
        "missing.",
        "too_many_instructions": "The values are right, but it takes too many instructions.",
    },
    hints={
        "wrong_values": (
            "When two values are equal, which index must stay?",
            "Take the other pair if its value is larger, or if it is equal and its index smaller. "
            "Move both the value and the index with each shuffle.",
        ),
        "ties_by_lane": (
            "Thread 0 has found its largest at index 64, thread 1 the same value at 33.  Who wins?",
            "Compare the indices when the values are equal: other == v and place < at.",
        ),
        "last_index": (
            "What does your comparison do with two equal values?",
            "Take the other pair only if its value is larger, or equal with a smaller index.",
        ),
        "started_at_zero": (
            "Which value loses against every other?",
            "Start from np.float32(-np.inf), and from the index n.",
        ),
        "smallest": ("Which of the two values stays?", "The larger one: compare with >."),
        "local_index": (
            "Which number would you use to look the value up in x?",
            "Keep i, the index of the element, not the thread's number.",
        ),
        "first_warp_only": (
            "A shuffle never leaves its warp.  How do the pairs of the other warps get to warp 0?",
            "Lane 0 of each warp stores its pair into shared memory, a barrier, then warp 0 "
            "chooses among those.",
        ),
        "one_element_each": (
            "What if there are more elements than threads?",
            "Begin with a grid-stride loop, as in the exercise before.",
        ),
        "too_many_instructions": (
            "Count the barriers and the rounds in shared memory.",
            "First each thread alone over its elements, then shuffles, then one round of shuffles "
            "for the warps.",
        ),
    },
    requirements=(
        Requirement("load_sectors", "too_many_sectors"),
        Requirement("barriers", "too_many_barriers"),
        Requirement("bank_conflicts", "bank_conflicts"),
        Requirement("issue_slots", "too_many_instructions", times=1.6),
    ),
    counted=lambda: max_case(np.random.default_rng(10), 40_000, 8, 256),
)  # fmt: skip


SPECS = [WARP_SUM, TREE_BILL, TREE_SUM, LAST_WARP, GRID_SUM, MAX_WHERE]
