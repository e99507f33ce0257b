"""Exercises of t1_01_threads: index, number of blocks, guard, grid-stride loop.

launch   (blocks, threads of a block)
spare    a block that has no element at all: a guard must hold for more than the last block
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from ..cases import Case, Level, ceil_div, owner_by_position, sizes, values
from ..spec import FunctionSpec, KernelSpec, ValueSpec

UNIT = "t1_01_threads"
Outputs = Mapping[str, np.ndarray]

# Block sizes a learner meets, and some the grader adds: none is the array's size, one is a prime.
BLOCKS: Mapping[Level, tuple[int, ...]] = {"student": (32, 5, 48), "grader": (32, 7, 48, 96)}

ELEMENTS, BLOCK = 1_000_003, 256

# Numbers that get typed where blockDim.x or cuda.gridsize(1) belongs.
TYPED_BLOCKS = (4, 8, 16, 32, 64, 128, 256, 512, 1024)
TYPED_STEPS = (2, 3, 4, 5, 8, 12, 16, 32, 64, 128, 256, 512, 1024)


def _number(case: Case) -> np.ndarray:
    """cuda.grid(1) of every thread of a launch, in order."""
    return np.arange(case.blocks * case.threads_per_block)


def _reached(case: Case, want: np.ndarray, where: np.ndarray) -> np.ma.MaskedArray:
    """`want`, masked outside the elements `where`: what a kernel leaves that writes only those."""
    missing = np.ones(want.shape, bool)
    missing[where[(where >= 0) & (where < want.size)]] = False
    return np.ma.array(want, mask=missing)


def _typed_block(size: int, right: Callable[[Case], np.ndarray]) -> Callable[[Case], Outputs]:
    """The index is blockIdx.x * size + threadIdx.x, whatever the launch."""

    def mistake(case: Case) -> Outputs:
        block, thread = np.divmod(_number(case), case.threads_per_block)
        return {"out": _reached(case, right(case), block * size + thread)}

    return mistake


# `out = ...` looks like a store to whoever comes from NumPy.
NOT_STORED = (
    "Which line stores into an element of the output?",
    "out[i] = ... stores.  out = ... only gives the name another meaning inside the kernel.  If "
    "the store is there, work out by hand which thread has the first missing element.",
)


# write_index ------------------------------------------------------------------------------------


def _write_index_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    # The first is the example of the lab: a single element would say little about a mistake.
    launches = [(3, 4), (1, 5), (1, 1), (1, 31), (2, 33), (7, 13), (5, 32)]
    if level == "grader":
        more = [(int(rng.integers(2, 9)), int(rng.integers(2, 65))) for _ in range(4)]
        launches += sorted(more, key=lambda launch: launch[0] * launch[1])
    for grid, block in launches:
        n = grid * block
        yield Case({"out": np.zeros(n, np.int32)}, grid, block, f"{n} elements")


def _index(case: Case) -> np.ndarray:
    return np.arange(case.args["out"].size)


write_index = KernelSpec(
    name="write_index",
    unit=UNIT,
    points=1,
    outputs=("out",),
    cases=_write_index_cases,
    reference=lambda case: {"out": _index(case)},
    writes_once=True,
    owner=owner_by_position,
    suspects={
        "thread_number": lambda case: {"out": _index(case) % case.threads_per_block},
        "block_number": lambda case: {"out": _index(case) // case.threads_per_block},
        "counts_from_one": lambda case: {"out": _index(case) + 1},
        "blocks_of_4": _typed_block(4, _index),
    },
    causes={
        "counts_from_one": "Every number is one too large: threads are counted from 0.",
        "thread_number": "Each element holds its thread's number inside the block, threadIdx.x.",
        "block_number": "Each element holds the number of its block, blockIdx.x.",
        "blocks_of_4": "The index is right for blocks of 4 threads, and wrong for blocks of any "
        "other size.",
    },
    hints={
        "never_written": NOT_STORED,
        "written_more_than_once": (
            "How many threads run each of your lines?",
            "All of them do.  A loop over the whole array is then run by every thread: keep its "
            "body, and let the thread's number be the index.",
        ),
        "counts_from_one": (
            "Which number does the very first thread of the launch have?",
            "Threads, blocks and elements all count from 0.  Look for a stray + 1.",
        ),
        "thread_number": (
            "What should out[4] hold, if a block has 4 threads?",
            "Store the index that you use on the left of the =, the place in the whole grid.",
        ),
        "block_number": (
            "What should out[1] hold?",
            "Store the index that you use on the left of the =, the place in the whole grid.",
        ),
        "blocks_of_4": (
            "Right for blocks of 4, wrong for blocks of 33: is the block size written as a number?",
            "The launch decides how many threads a block has.  Write cuda.blockDim.x in place of "
            "the number, or let cuda.grid(1) give you the whole index.",
        ),
        "out_of_bounds": (
            "This launch has one thread for each element, so a right index always fits.  Which "
            "thread is named above, and which element is its own?",
            "Count the threads before this one: all those of the blocks before its block, then "
            "those before it in its own block.  A block has cuda.blockDim.x threads; a number in "
            "its place fits one launch only.",
        ),
    },
)


# guarded_add ------------------------------------------------------------------------------------


def _guarded_add_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    yield _addition(rng, 5, 2, 4)  # small enough to follow by hand
    for block in BLOCKS[level]:
        lengths = sizes(block, level, rng)
        if block != 32:
            lengths = [n for n in lengths if n > block][:3]
        for n in lengths:
            yield _addition(rng, n, ceil_div(n, block), block)
    yield _addition(rng, 67, 5, 32)  # two spare blocks
    yield _addition(rng, 1100, 35, 32)  # tells blocks of 32 from any number typed in their place
    yield _addition(rng, int(rng.integers(1101, 1500)), 48, 32)  # and 1100 from a length typed in


def _addition(rng: np.random.Generator, n: int, grid: int, block: int) -> Case:
    args = {"out": np.zeros(n, np.float32), "a": values(rng, n), "b": values(rng, n), "n": n}
    return Case(args, grid, block)


def _sum(case: Case) -> np.ndarray:
    return case.args["a"].astype(np.float64) + case.args["b"]


guarded_add = KernelSpec(
    name="guarded_add",
    unit=UNIT,
    points=2,
    outputs=("out",),
    cases=_guarded_add_cases,
    reference=lambda case: {"out": _sum(case)},
    writes_once=True,
    shared_out="threads",
    owner=owner_by_position,
    suspects={
        "last_left_out": lambda case: {
            "out": _reached(case, _sum(case), np.arange(case.args["n"] - 1))
        },
        "first_left_out": lambda case: {
            "out": _reached(case, _sum(case), np.arange(1, case.args["n"]))
        },
        **{f"blocks_of_{size}": _typed_block(size, _sum) for size in TYPED_BLOCKS},
        "subtracted": lambda case: {"out": case.args["a"].astype(np.float64) - case.args["b"]},
    },
    causes={
        "last_left_out": "Everything is right except the last element: the guard stops one too "
        "early.",
        "first_left_out": "Everything is right except element 0: the guard keeps thread 0 out.",
        **{
            f"blocks_of_{size}": "These are the elements that a kernel reaches when it takes every "
            f"block to have {size} threads; this launch has blocks of another size."
            for size in TYPED_BLOCKS
        },
        "subtracted": "Each element holds a difference, a[i] - b[i].",
    },
    hints={
        "never_written": NOT_STORED,
        "out_of_bounds": (
            "Which index was used, and what is the largest that the array has?",
            "An array of n elements has the indices 0 to n - 1.  Only a thread whose index is "
            "below n may read or write.",
        ),
        "last_left_out": (
            "With n = 3, which values of i must pass the guard?",
            "The last element has the index n - 1, and a thread with this index has to work.",
        ),
        "first_left_out": (
            "Which thread has element 0?",
            "Indices start at 0, and 0 has to pass the guard.",
        ),
        **{
            f"blocks_of_{size}": (
                "How does your kernel know how many threads a block has?",
                "The launch decides that, not the kernel: ask cuda.blockDim.x, or let "
                "cuda.grid(1) do the sum.",
            )
            for size in TYPED_BLOCKS
        },
        "subtracted": ("Which operator is in your formula?", "The exercise asks for a sum."),
        "written_more_than_once": (
            "How many stores does one thread do, and how many threads share an element?",
            "Compute the whole sum first, then store it once, from one thread.",
        ),
    },
)


# blocks_for -------------------------------------------------------------------------------------


def _launches(rng: np.random.Generator, level: Level) -> Iterator[tuple[int, int]]:
    yield from ((10, 4), (8, 4), (1, 32), (31, 32), (32, 32), (33, 32), (7, 1), (97, 48))
    yield from ((1024, 1024), (1025, 1024), (50_000, 256), (1_000_000, 256), (0, 32))
    if level == "grader":
        for _ in range(8):
            block = int(rng.integers(2, 1025))
            yield int(rng.integers(1, 40) * block + rng.integers(0, 2)), block
            yield int(rng.integers(2, 5_000_000)), block


def _blocks_for(n: int, threads: int) -> int:
    return -(-n // threads)


blocks_for = FunctionSpec(
    name="blocks_for",
    unit=UNIT,
    points=2,
    inputs=_launches,
    reference=_blocks_for,
    # The order matters: what fits several mistakes is told as the narrowest of them.
    suspects={
        "at_least_one": lambda n, threads: max(1, _blocks_for(n, threads)),
        "rounded": lambda n, threads: round(n / threads),
        "floor_division": lambda n, threads: n // threads,
        "always_one_more": lambda n, threads: n // threads + 1,
        "threads_not_blocks": lambda n, threads: _blocks_for(n, threads) * threads,
        "parentheses_missing": lambda n, threads: n + threads - 1 // threads,
    },
    causes={
        "at_least_one": "It gives one block even when there is nothing to do.",
        "rounded": "The quotient is rounded to the nearest whole number.",
        "floor_division": "The quotient is rounded down, so the elements of the last, partly "
        "filled block get no thread.",
        "always_one_more": "It gives one block more than needed whenever n is a multiple of the "
        "block size.",
        "threads_not_blocks": "This is the number of threads in all these blocks together.",
        "parentheses_missing": "Only the last part of the sum was divided: // comes before + and "
        "-.",
    },
    hints={
        "constant_output": (
            "On what should the number of blocks depend?",
            "Both n and threads have to appear in the formula.",
        ),
        "at_least_one": (
            "How many blocks do 0 elements need?",
            "Look for a max(1, ...) or an if, and try your function with n = 0.",
        ),
        "rounded": (
            "How many threads do you get for the call above, and how many elements are there?",
            "One element too many already needs a block of its own: always round up.",
        ),
        "floor_division": (
            "How many threads do you get for the call above, and how many elements are there?",
            "// rounds down.  Add something to n first, so that every started block counts, but "
            "a full one does not count twice.",
        ),
        "always_one_more": (
            "Try it by hand with as many elements as a block has threads.",
            "Adding 1 to the quotient is too much when nothing is left over.  Add something to n "
            "before the division instead.",
        ),
        "threads_not_blocks": (
            "Does your function count blocks or threads?",
            "The last multiplication is one too many.",
        ),
        "parentheses_missing": (
            "Python divides before it adds.  Which part of your formula is divided by threads?",
            "Put the whole sum in parentheses, and divide after that.",
        ),
        "wrong_type": (
            "A launch takes whole numbers.  What type does your function return?",
            "/ and np.ceil give floats, also when nothing is left over.  // of two ints gives an "
            "int, and so does math.ceil.",
        ),
    },
)


# idle_threads -----------------------------------------------------------------------------------


def _idle_threads() -> int:
    return _blocks_for(ELEMENTS, BLOCK) * BLOCK - ELEMENTS


idle_threads = ValueSpec(
    name="idle_threads",
    unit=UNIT,
    points=1,
    expected=_idle_threads,
    what="the number of threads without an element",
    suspects={
        "busy_not_idle": ELEMENTS % BLOCK,
        "floor_division": ELEMENTS // BLOCK * BLOCK - ELEMENTS,
        "one_block_more": (_blocks_for(ELEMENTS, BLOCK) + 1) * BLOCK - ELEMENTS,
        "blocks_not_threads": _blocks_for(ELEMENTS, BLOCK),
        "all_threads": _blocks_for(ELEMENTS, BLOCK) * BLOCK,
        "off_by_one": _idle_threads() - 1,
        "another_length": _blocks_for(1_000_000, BLOCK) * BLOCK - 1_000_000,
    },
    causes={
        "busy_not_idle": "That many threads of the last block do have an element.",
        "floor_division": "A negative number: this launch has fewer threads than elements.",
        "one_block_more": "That would be right with one block more than needed.",
        "blocks_not_threads": "That is the number of blocks.",
        "all_threads": "That is the number of all threads of the launch.",
        "off_by_one": "One more thread than that is idle.",
        "another_length": "That is the answer for 1,000,000 elements, as in the lesson.",
    },
    hints={
        "busy_not_idle": (
            "The last block has 256 threads.  Which of them did you count?",
            "The others are idle: take your number away from 256.",
        ),
        "floor_division": (
            "Are there enough blocks for all elements?",
            "Round the number of blocks up, not down.",
        ),
        "one_block_more": (
            "Is every block of your launch needed?",
            "Round the quotient up once, not twice.",
        ),
        "blocks_not_threads": (
            "How many threads do these blocks have together?",
            "Threads of the launch minus elements.",
        ),
        "all_threads": (
            "How many of these threads have an element?",
            "One thread for each element is busy.  Take the number of elements away.",
        ),
        "off_by_one": (
            "Threads and elements are both counted, not numbered.",
            "Threads of the launch minus elements, with no 1 to add or to take away.",
        ),
        "another_length": (
            "Read the length in the exercise once more.",
            "Use your blocks_for with the length of this exercise.",
        ),
        "wrong_values": (
            "How many threads does the launch have, and how many elements are there?",
            "Number of blocks, rounded up, times the block size, minus the number of elements.",
        ),
        "wrong_type": (
            "The answer is a count.",
            "Give a whole number, without quotes and without a fraction.",
        ),
    },
)


# stride_scale -----------------------------------------------------------------------------------


def _stride_scale_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    # (n, grid, block): few threads for many elements, exact, too many, one alone, none to do.
    launches = [(5, 1, 2), (5, 1, 1), (1, 1, 1), (21, 2, 4), (21, 1, 4), (33, 1, 32), (97, 3, 32)]
    launches += [(64, 2, 32), (35, 5, 7), (33, 64, 32), (331, 1, 1), (700, 9, 32), (2500, 4, 32)]
    launches += [(0, 2, 32)]
    if level == "grader":
        for _ in range(5):
            n, grid = int(rng.integers(100, 3000)), int(rng.integers(2, 9))
            launches.append((n, grid, int(rng.integers(2, 65))))
    for n, grid, block in launches:
        factor = round(float(rng.uniform(1.1, 9.9)), 3)
        args = {"out": np.zeros(n, np.float32), "a": values(rng, n), "factor": factor}
        yield Case(args, grid, block, f"{n} elements, factor = {factor}")


def _scaled(case: Case) -> np.ndarray:
    return case.args["a"].astype(np.float64) * case.args["factor"]


def _scaled_once(case: Case) -> Outputs:
    return {"out": _reached(case, _scaled(case), _number(case))}


def _scaled_from_thread_number(case: Case) -> Outputs:
    """Starts at threadIdx.x, steps by the whole grid."""
    element, grid = np.arange(case.args["out"].size), _number(case).size
    return {"out": _reached(case, _scaled(case), element[element % grid < case.threads_per_block])}


def _scaled_twice(case: Case) -> Outputs:
    """One iteration of the loop and one more."""
    number = _number(case)
    both = np.concatenate([number, number + number.size])
    return {"out": _reached(case, _scaled(case), both)}


def _scaled_with_step(step: int) -> Callable[[Case], Outputs]:
    """A step typed in as a number: right only where the grid has that many threads."""

    def mistake(case: Case) -> Outputs:
        element = np.arange(case.args["out"].size)
        met = element[element % step < _number(case).size]
        return {"out": _reached(case, _scaled(case), met)}

    return mistake


def _first_elements(case: Case) -> np.ndarray:
    """Each element's number in the first iteration of its thread."""
    return np.arange(case.args["out"].size) % _number(case).size


def _last_product_kept(case: Case) -> Outputs:
    """A loop over j that stores a[j] * factor to out[i]: the last product remains."""
    n, number = case.args["out"].size, _number(case)
    first = number[number < n]
    last = first + (n - 1 - first) // number.size * number.size
    want = np.ma.masked_all(n)
    want[first] = _scaled(case)[last]
    return {"out": want}


stride_scale = KernelSpec(
    name="stride_scale",
    unit=UNIT,
    points=3,
    outputs=("out",),
    cases=_stride_scale_cases,
    reference=lambda case: {"out": _scaled(case)},
    writes_once=True,
    shared_out="threads",
    suspects={
        "one_element_each": _scaled_once,
        "block_left_out": _scaled_from_thread_number,
        "two_elements_each": _scaled_twice,
        "last_left_out": lambda case: {
            "out": _reached(case, _scaled(case), np.arange(case.args["out"].size - 1))
        },
        "one_place_each": _last_product_kept,
        "first_input_only": lambda case: {"out": _scaled(case)[_first_elements(case)]},
        "factor_added": lambda case: {
            "out": case.args["a"].astype(np.float64) + case.args["factor"]
        },
        **{f"step_of_{step}": _scaled_with_step(step) for step in TYPED_STEPS},
    },
    causes={
        "last_left_out": "Everything is right except the last element: the loop ends one too "
        "early.",
        "one_element_each": "Each thread has stored to one element only, and there are more "
        "elements than threads.",
        "one_place_each": "Each thread has stored all its results in one and the same element, so "
        "only the last one is left.",
        "first_input_only": "Each thread has used its first element of the input in every "
        "iteration.",
        "factor_added": "The factor was added, not multiplied.",
        **{
            f"step_of_{step}": f"These are the elements that a loop reaches with steps of {step}, "
            f"but this launch does not have {step} threads."
            for step in TYPED_STEPS
        },
        "block_left_out": "Threads of all blocks began with the same elements, those of block 0, "
        "and then stepped over the rest.",
        "two_elements_each": "Every thread has done two elements and stopped.",
    },
    hints={
        "one_element_each": (
            "What does a thread do when it has finished its first element?  If you have a loop, "
            "does the index in out[...] change in each iteration?",
            "A thread has to go on: a loop that starts at its own number, steps by the number of "
            "threads in the grid, and ends at the length.  The loop's own variable is the index.",
        ),
        "one_place_each": (
            "Which index do you use in out[...], and does it change in each iteration?",
            "The loop's own variable is the index, on both sides of the =.",
        ),
        "first_input_only": (
            "Which index do you use in a[...], and does it change in each iteration?",
            "The loop's own variable is the index, on both sides of the =.",
        ),
        "factor_added": ("Which operator is in your formula?", "The exercise asks for a product."),
        **{
            f"step_of_{step}": (
                "How does your kernel know how many threads the launch has?",
                "A number in the loop fits one launch only.  Ask cuda.gridsize(1).",
            )
            for step in TYPED_STEPS
        },
        "block_left_out": (
            "Where does the loop of the first thread of block 1 start?",
            "The loop must start at the thread's number in the whole grid, cuda.grid(1).",
        ),
        "two_elements_each": (
            "How many elements does a thread have if there are three times as many elements as "
            "threads?",
            "Let the loop go on while the index is below the length, whatever that is.",
        ),
        "last_left_out": (
            "Up to which index do the elements go, and where does your loop end?",
            "range stops before its second argument: range(0, 5) ends with 4.",
        ),
        "never_written": (
            "Take the first missing element.  Which thread's loop should pass it?",
            "Write down the first three indices of thread 0 and of thread 1, with start and step "
            "as in your code, and see which elements nobody passes.  A step written as a number "
            "fits one launch only.",
        ),
        "written_more_than_once": (
            "Write down the indices that thread 0 of block 0 and thread 0 of block 1 visit.",
            "In each iteration, all threads of the grid do one element each.  So the step is the "
            "number of threads in the grid, cuda.gridsize(1), not in a block.",
        ),
        "out_of_bounds": (
            "What ends the loop?",
            "The index must be below the length in every iteration, even the first.",
        ),
        "input_copied": (
            "The input arrives, but is anything done to it?",
            "Each value is to be multiplied by factor.",
        ),
    },
)


# interleave -------------------------------------------------------------------------------------


def _interleave_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    # (n, grid, block): lengths of out even and odd, launches smaller and larger than it, one
    # thread alone.
    launches = [(5, 2, 4), (9, 2, 4), (1, 1, 4), (2, 1, 4), (32, 1, 32), (33, 2, 32), (65, 1, 7)]
    launches += [(128, 3, 5), (67, 40, 3), (301, 1, 1), (0, 1, 32)]
    if level == "grader":
        for _ in range(5):
            n, grid = int(rng.integers(50, 900)), int(rng.integers(1, 9))
            launches.append((n, grid, int(rng.integers(2, 65))))
    for n, grid, block in launches:
        args = {
            "out": np.zeros(n, np.int32),
            "a": values(rng, n - n // 2, np.int32),
            "b": values(rng, n // 2, np.int32),
        }
        yield Case(args, grid, block, f"{n - n // 2} + {n // 2} elements")


def _interleaved(case: Case) -> np.ndarray:
    want = np.empty(case.args["out"].size, np.int64)
    want[0::2], want[1::2] = case.args["a"], case.args["b"]
    return want


def _b_first(case: Case) -> Outputs:
    a, b = case.args["a"], case.args["b"]
    want = np.ma.masked_all(case.args["out"].size, np.int64)
    want[1::2], want[0 : 2 * b.size : 2] = a[: b.size], b
    return {"out": want}


def _end_missing(case: Case) -> Outputs:
    n = case.args["out"].size
    return {"out": _reached(case, _interleaved(case), np.arange(n - n % 2))}


def _one_turn(case: Case) -> Outputs:
    return {"out": _reached(case, _interleaved(case), _number(case))}


interleave = KernelSpec(
    name="interleave",
    unit=UNIT,
    points=3,
    outputs=("out",),
    cases=_interleave_cases,
    reference=lambda case: {"out": _interleaved(case)},
    writes_once=True,
    shared_out="threads",
    suspects={
        "odd_end_missing": _end_missing,
        "one_element_each": _one_turn,
        "one_after_the_other": lambda case: {
            "out": np.concatenate([case.args["a"], case.args["b"]])
        },
        "b_first": _b_first,
    },
    causes={
        "odd_end_missing": "The last element is missing: a has one element more than b here.",
        "one_element_each": "Every thread has done one element and stopped, and there are more "
        "elements than threads.",
        "one_after_the_other": "out holds all of a and then all of b.",
        "b_first": "a and b are exchanged: out begins with b[0].",
    },
    hints={
        "odd_end_missing": (
            "Who writes the last element when out has an odd length?",
            "a can be one longer than b.  A guard with the length of b cuts off the last element "
            "of a.",
        ),
        "one_element_each": (
            "Must this kernel work when there are more elements than threads?",
            "Yes, it must be right in any launch.  Use a grid-stride loop as in stride_scale.",
        ),
        "one_after_the_other": (
            "Write down where out[1] comes from.",
            "Even places come from a, odd places from b, each at half the index.",
        ),
        "b_first": (
            "Which array does out[0] come from?",
            "0 is even, and even places come from a.",
        ),
        "out_of_bounds": (
            "Which element of the output was this thread at, and which input index belongs to it?",
            "a and b are about half as long as out: the index into them is half the index into "
            "out, rounded down.",
        ),
        "typing": (
            "Is every index on that line a whole number?",
            "/ gives a float, also when it comes out even.  // gives an integer.",
        ),
        "wrong_values": (
            "Write down by hand where out[0] to out[4] come from.",
            "Even places come from a, odd places from b, each at half the index, rounded down.",
        ),
        "written_more_than_once": (
            "Which threads store to the element in the table?",
            "Each element of out needs one thread and one iteration.  Check the start and the step "
            "of the loop.",
        ),
    },
)


SPECS = [write_index, guarded_add, blocks_for, idle_threads, stride_scale, interleave]
