"""Hints: for each diagnosis a vague sentence and a plainer one.  A spec's own hints come first."""

from __future__ import annotations

from collections.abc import Mapping

GENERAL: Mapping[str, tuple[str, str]] = {
    "out_of_bounds": (
        "How many threads does this launch start, and how many elements are there for them?",
        "A grid is made of whole blocks, so some threads have no element.  Compare the index with "
        "the length before it is used.",
    ),
    "never_written": (
        "Pick the first missing element and ask which thread should have written it.",
        "Work out the index of that thread by hand, from its block and its number, and follow it "
        "through your kernel.",
    ),
    "wrote_outside": (
        "Not every thread has something to write.",
        "Look at the condition in front of the store and try it on the first element in the table.",
    ),
    "only_first_block": (
        "What tells two threads with the same number in different blocks apart?",
        "threadIdx counts from zero again in every block.  The index needs the block as well.",
    ),
    "only_first_thread": (
        "What tells two threads of the same block apart?",
        "All threads of a block share blockIdx.  The index needs the thread as well.",
    ),
    "multiple_of_block_only": (
        "Try a length on paper that is not a multiple of the block.",
        "Not every thread of the last block has an element, but those that have one must work.",
    ),
    "all_zero": (
        "Where does the stored value come from?",
        "Follow one thread: what does it read, what does it compute, what does it store?",
    ),
    "input_copied": (
        "The inputs arrive, but is anything done with them?",
        "Compare the right-hand side of the store with the formula in the exercise.",
    ),
    "constant_output": (
        "Every thread stores the same value.  What should differ between threads?",
        "The stored value has to depend on the thread's own index.",
    ),
    "transposed": (
        "Which of the two indices is the row?",
        "An array is indexed [row, column], and x counts along a row: x is the column.",
    ),
    "shifted_by_one": (
        "Write down by hand which element thread 0 reads and which it writes.",
        "Threads and elements both count from 0.  Look for a stray + 1 or - 1.",
    ),
    "reduced_precision": (
        "What is the dtype of every value on the way from the inputs to the output?",
        "Look for a conversion to a smaller float, and compute in the dtype of the output.",
    ),
    "compilation": (
        "Which name or type does the message name, and what is it in the kernel?",
        "Use what Numba compiles: numbers, arrays, tuples, math and cuda; no other objects.",
    ),
    "race": (
        "Two threads meet at one place in memory.  What makes sure who comes first?",
        "Between the store of one thread and the access of another there has to be a barrier that "
        "both reach: cuda.syncthreads() for a block, cuda.syncwarp() for a warp.",
    ),
    "divergent_barrier": (
        "Which threads reach the barrier, and which go past it?",
        "Every thread of the block has to come to it.  Close the if in front of the barrier, and "
        "open it again behind it where you still need it.",
    ),
    "uninitialised": (
        "Who stores into this place before it is read?",
        "Shared and local arrays start undefined.  Store a value into every place that is read, "
        "then a barrier, then read.",
    ),
    "unassigned": (
        "On which path through the kernel does the variable get no value?",
        "Give it a value in front of the if or the loop that some threads skip.",
    ),
    "inactive_source": (
        "Which lanes reach the call, and which lane do they read from?",
        "Let all lanes of the warp make the call; a lane without an element brings a value that "
        "changes nothing.  Guard the load and the store, not the call.",
    ),
    "mask_names_absent": (
        "Which lanes does the mask name, and which of them reach the call?",
        "Move the call out of the if, so that all lanes of the mask make it.",
    ),
    "mask_without_caller": (
        "Which lanes reach the call, and which of them does the mask name?",
        "The mask has to name every lane that calls: 0xffffffff when all do.",
    ),
    "too_many_sectors": (
        "Which addresses do the 32 threads of one warp touch at the same time?",
        "Neighbouring threads have to touch neighbouring elements: threadIdx.x belongs into the "
        "last index.",
    ),
    "loaded_again": (
        "How often does one thread load this element?",
        "Load it into a variable first, and use the variable from then on.",
    ),
    "bank_conflicts": (
        "Which banks do the 32 threads of one warp touch at the same time?",
        "Bank = word number modulo 32.  Give the 32 lanes 32 different banks, or one and the same "
        "word.",
    ),
    "too_much_shared": (
        "How many bytes of shared memory does your block keep, and which of them does it need?",
        "Make the tile as small as the exercise allows, with the smallest dtype that does.",
    ),
    "too_many_barriers": (
        "Which of your barriers separates a store from a read by another warp?",
        "Remove every barrier that nothing needs; within one warp cuda.syncwarp() is enough.",
    ),
    "too_many_atomics": (
        "How many atomic operations reach one address?",
        "Combine values first: in a variable of the thread, in the warp, in shared memory.",
    ),
    "too_much_divergence": (
        "Do the 32 threads of one warp take the same path?",
        "Let the condition depend on the warp, or on whole ranges of threads, not on odd and even "
        "ones.",
    ),
    "too_many_instructions": (
        "Which line runs most often, and does every thread need it?",
        "Move what does not change out of the loop, and let fewer threads do less.",
    ),
    "float64_arithmetic": (
        "Which value on this line has 64 bits?",
        "A Python literal such as 0.5 is float64.  Write np.float32(0.5).",
    ),
    "output_read": (
        "What is in the output before the first thread writes to it?",
        "Store the finished value with =, or start from a variable of your own instead of the "
        "output.",
    ),
    "written_more_than_once": (
        "Which threads store to the element in the table?",
        "Two threads have computed the same index, or a loop visits an element twice.  Each "
        "element needs exactly one thread.",
    ),
    "few_threads_work": (
        "Which threads get past your first condition, and what do the others do?",
        "Let every thread begin with an element of its own number.  Where there are more elements "
        "than threads, it goes on by the number of all threads.",
    ),
    "stored_by_one_thread": (
        "Which of your lines does this thread run more than once?",
        "Add up in a variable of its own, and store that variable once, after the last step.",
    ),
    "bitwise_in_comparison": (
        "In which order does Python read the condition?",
        "Put and between two comparisons, or or.  Where you want & or |, put each comparison in "
        "parentheses.",
    ),
    "input_modified": (
        "Which array is on the left of each =?",
        "Only read the inputs.  Results go to the output.",
    ),
    "wrong_values": (
        "Work out the first row of the table by hand: which inputs should that element use?",
        "Take the thread of that row and follow it through your code line by line, with numbers.",
    ),
    "wrong_type": (
        "Compare what your code returns with what the exercise asks for.",
        "Read the docstring of the exercise again: it names the types and their order.",
    ),
    "no_return": (
        "The function computes something, but does it hand it back?",
        "Every path through the function has to end in a return with a value.",
    ),
    "raised": (
        "Run the failing call in a cell of its own and read the last line of the error.",
        "Look at the line named above and at the values it works on.",
    ),
    "unsupported": (
        "A GPU kernel cannot use all of Python.  Which construct does the message name?",
        "Write the same with arithmetic, if, for, while and plain indexing.",
    ),
    "typing": (
        "Look at the types on the line above: an array, a number, an index?",
        "Numba fixes one type for each variable before the kernel runs.  Use another name for a "
        "value of another type.",
    ),
    "launch": (
        "Compare the launch with the kernel's parameters.",
        "The arguments must fit the kernel in number and kind.  Blocks and threads must be whole "
        "numbers that a GPU allows.",
    ),
    "livelock": (
        "Which statement changes the loop's condition?",
        "A thread that skips the step of its loop, with continue for example, never leaves it.",
    ),
    "source": (
        "Python cannot show the source of this function.",
        "Define the kernel with def in a notebook cell, run the cell, and check again.",
    ),
}

# Where a host function or a single value is asked for, there is no thread to follow.
FUNCTION: Mapping[str, tuple[str, str]] = {
    "wrong_values": (
        "Work out the failing call by hand and write each step down.",
        "Follow that call through your code line by line, with its numbers.",
    ),
    "constant_output": (
        "Try two calls with different arguments.",
        "The returned value has to depend on the arguments.",
    ),
    "input_modified": (
        "Which line stores into an argument?",
        "The arguments belong to the caller.  Build the result in a new array or list.",
    ),
}
VALUE: Mapping[str, tuple[str, str]] = {
    "wrong_values": (
        "Work out the value once more, and write each step down.",
        "Make the numbers small enough to count on paper, find the rule, then use it here.",
    ),
}

BELOW = "More: hint 3 below the check cell."
NO_MORE = "There are no more hints here; hint 3 stands below the check."

FALLBACK = GENERAL["wrong_values"]


def pair(diagnosis: str, own: Mapping[str, tuple[str, str]]) -> tuple[str, str]:
    """(vague, plain) for a diagnosis: the exercise's own hint, else the general one."""
    return own.get(diagnosis) or GENERAL.get(diagnosis) or own.get("wrong_values", FALLBACK)


def shown(
    diagnosis: str, own: Mapping[str, tuple[str, str]], level: int, name: str, called: str
) -> dict[str, str]:
    """The `next`, `plain`, `more` and `last` of a report.

    level 1 gives the vague hint and says how to get the plainer one; level 2 gives the plainer and
    says where the last one stands; there are no more.  There is no memory of earlier attempts, so a
    notebook that runs again prints the same.
    """
    vague, plain = pair(diagnosis, own)
    if level > 2:
        return {"next": NO_MORE}
    if level == 2:
        return {"next": plain, "last": BELOW}
    return {
        "next": vague,
        "plain": plain,
        "last": BELOW,
        "more": f'A plainer hint: check("{name}", {called}, hint=2)',
    }
