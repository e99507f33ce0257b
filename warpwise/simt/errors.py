"""One class per mistake.  The text is built here and nowhere else.

Every error answers four questions in order: where, what, why likely, what next.
`diagnosis` is a stable word that checks and hints use; `line` counts in the reader's file or cell.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Index = tuple[int, ...]
Dim3 = tuple[int, int, int]


class SimtError(Exception):
    """A kernel that cannot be run, or was stopped.  `str(error)` is the finished message."""

    diagnosis = "simt"

    def __init__(self, text: str, *, line: int | None = None, line_text: str = "") -> None:
        super().__init__(text)
        self.line = line
        self.line_text = line_text


class SourceError(SimtError):
    """The text of the kernel cannot be had or read."""

    diagnosis = "source"


class UnsupportedError(SimtError):
    """A construct that CUDA kernels, or this simulator, do not have."""

    diagnosis = "unsupported"


class TypingError(SimtError):
    """Numba's types do not allow this expression."""

    diagnosis = "typing"


class OptionError(SimtError, ValueError):
    """An option of @cuda.jit that does not exist or cannot have this value."""

    diagnosis = "option"


class LaunchError(SimtError):
    """The launch itself is wrong: configuration, number of arguments, kind of argument."""

    diagnosis = "launch"


class MisalignedAddressError(SimtError):
    """Elements of an array at addresses that are no multiples of their size.

    block, thread: of the first that made such an array, where a thread did.
    """

    diagnosis = "misaligned_address"
    array = ""
    block: Dim3 | None = None
    thread: Dim3 | None = None


class LivelockError(SimtError):
    """A loop that can never end: an iteration changed neither a variable nor memory.

    threads: linear numbers of those that are in the loop; once explained, of one of them and of the
    one that it waits for.  alive: those of its block that have not ended.  certain: no other thread
    could end it.
    """

    diagnosis = "livelock"

    def __init__(
        self, kernel: str, line: int, line_text: str, threads: Iterable[int] = (),
        alive: Iterable[int] = (), text: str = "", certain: bool = False,
    ) -> None:  # fmt: skip
        what = "nothing on which its end depends" if certain else (
            "no variable of the loop and no memory"
        )  # fmt: skip
        text = text or at_line(
            kernel, line, line_text, "this loop never ends",
            f"A whole iteration changed {what}, so no later one will. Change what the condition "
            "tests.",
        )  # fmt: skip
        self.certain = certain
        super().__init__(text, line=line, line_text=line_text)
        self.kernel = kernel
        self.threads = tuple(threads)
        self.alive = frozenset(alive)
        self.cell = ""  # what the first of the threads waits for, once explained


class BarrierDivergenceError(SimtError):
    """Some threads of a block reached a barrier that others do not reach."""

    diagnosis = "divergent_barrier"

    def __init__(self, text: str, **facts: Any) -> None:
        super().__init__(text, line=facts["line"], line_text=facts["line_text"])
        self.block: Dim3 = facts["block"]
        self.arrived: list[Dim3] = facts["arrived"]
        self.missing: list[Dim3] = facts["missing"]
        self.count: int = facts["count"]  # threads of the warps that are not wholly there
        self.other_line: int | None = facts["other_line"]  # the barrier that the others come to


class UnassignedError(SimtError):
    """Some threads read a variable that their path gave no value."""

    diagnosis = "unassigned"


class ShapeError(SimtError):
    """A view or an assignment that does not fit the shape of its array."""

    diagnosis = "shape"


class KernelRaisedError(SimtError):
    """Some threads ran into a `raise` or a failing `assert` of the kernel."""

    diagnosis = "raised"


class OutOfBoundsError(SimtError):
    """Some threads used an index outside its array."""

    diagnosis = "out_of_bounds"

    def __init__(self, text: str, **facts: Any) -> None:
        super().__init__(text, line=facts["line"], line_text=facts["line_text"])
        self.kernel: str = facts["kernel"]
        self.array: str = facts["array"]
        self.op: str = facts["op"]
        self.index: Index = facts["index"]
        self.shape: Index = facts["shape"]
        self.block: Dim3 = facts["block"]
        self.thread: Dim3 = facts["thread"]
        self.count: int = facts["count"]


def at_line(kernel: str, line: int | None, line_text: str, fact: str, next_step: str = "") -> str:
    """The common form: kernel and fact, the line itself, the next step."""
    parts = [f"{kernel}: {fact}"]
    if line is not None:
        parts.append(f"  line {line}:  {line_text}")
    if next_step:
        parts.append(f"  {next_step}")
    return "\n".join(parts)


def bracket(index: Index) -> str:
    """An index as it is written in code: (3,) -> 3, (3, 4) -> 3, 4."""
    return ", ".join(str(i) for i in index)


#: Why a loop that waits for memory never ends: what the other does, and what to write.
_WAITS = {
    "warp": (
        "{whom} of the same warp changed it last ({place}) and waits for the others where the loop "
        "ends",
        "The threads of a warp leave a loop together, so what one of them holds is never given "
        "back. GPUs since Volta may get through; nothing promises it. Put the work and the release "
        "into the loop (while not done: if it is free: work, release, done = True), or let one "
        "thread of the warp take the lock.",
    ),
    "mates": (
        "{whom} of the same warp, which would change it ({place}), goes on only when the warp "
        "leaves the loop",
        "The threads of a warp cannot wait for each other in a loop: GPUs since Volta may get "
        "through, nothing promises it. Use cuda.syncwarp() or a shuffle.",
    ),
    "barrier": (
        "{whom}, which changed it last ({place}), waits at a barrier",
        "The barrier needs every thread of the block, also those that wait in the loop. Set the "
        "flag before the barrier, or let no thread wait across it.",
    ),
    "circle": (
        "{whom} changed it last ({place}) and waits itself for {other_cell}: they wait for each "
        "other in a circle",
        "Take the locks in the same order everywhere, for example the one with the smaller index "
        "first.",
    ),
    "ended": (
        "{whom}, which changed it last ({place}), has ended",
        "Give the lock back, or set the flag, on every path before the thread ends.",
    ),
    "later": (
        "it is {whom} that would change it ({place}), in a later block",
        "Nothing promises that a later block runs before an earlier one has ended. Wait for "
        "earlier blocks only, in the order in which they started: number = cuda.atomic.add(ticket, "
        "0, 1) in place of blockIdx. To meet all blocks use cuda.cg.this_grid().sync(), or two "
        "launches.",
    ),
    "nobody": (
        "no other thread ever changes it",
        "Compare the index that this loop reads with the one that is set, and both values.",
    ),
}  # fmt: skip


def livelock(
    stuck: LivelockError, reason: str, *, waits: str, cell: str, whom: str, other_cell: str,
    place: Any, threads: Iterable[int],
) -> LivelockError:  # fmt: skip
    """A loop that waits for memory, with who waits for whom; place: the site of the last change."""
    fact, next_step = _WAITS[reason]
    at = "" if place is None else f"line {place.line}: {place.line_text}"
    text = at_line(
        stuck.kernel, stuck.line, stuck.line_text,
        f"this loop never ends: {waits} waits for {cell} to change, and "
        + fact.format(whom=whom, place=at, other_cell=other_cell),
        next_step,
    )  # fmt: skip
    assert stuck.line is not None
    error = LivelockError(stuck.kernel, stuck.line, stuck.line_text, threads, stuck.alive, text)
    error.cell = cell
    return error


def not_simulated(stuck: LivelockError, words: tuple[str, str]) -> UnsupportedError:
    """A loop that waits, and that a GPU may run: fact and next step are given."""
    text = at_line(stuck.kernel, stuck.line, stuck.line_text, *words)
    return UnsupportedError(text, line=stuck.line, line_text=stuck.line_text)


def out_of_bounds(
    *,
    kernel: str,
    array: str,
    op: str,
    index: Index,
    shape: Index,
    block: Dim3,
    thread: Dim3,
    count: int,
    threads_in_launch: int,
    line: int,
    line_text: str,
    dynamic: int | None = None,
    block_threads: int = 0,
) -> OutOfBoundsError:
    """Build the report of the first bad access at one place in the kernel.

    dynamic: the bytes that the launch gives, where the array is dynamic shared memory;
    block_threads: the threads of a block, where the array is shared memory, else 0
    """
    if count == 1:
        who = f"1 of {threads_in_launch:,} threads did this; the one is"
    else:
        who = f"{count:,} of {threads_in_launch:,} threads did this; the first is"
    if all(i < n for i, n in zip(index, shape, strict=True)):
        cause = "A negative index counts from the end, and this one goes past the beginning."
    elif dynamic is not None:
        cause = _given(dynamic, shape[0])
    elif len(shape) == 1 and shape[0] < block_threads:
        cause = (
            f"A block has {block_threads:,} threads here. Make the array as large as the largest "
            "block, or guard the access."
        )
    elif any(n == 0 for n in shape):
        cause = "The array is empty: no index is valid. Guard the access with the array's size."
    else:
        cause = "Guard the access: let a thread work only while its index is below the size."
    text = (
        f"{kernel}: out-of-bounds {op}  {array}[{bracket(index)}], {array} has shape {shape}\n"
        f"  {who} block {block}, thread {thread}\n"
        f"  line {line}:  {line_text}\n"
        f"  {cause}"
    )
    return OutOfBoundsError(
        text,
        kernel=kernel,
        array=array,
        op=op,
        index=index,
        shape=shape,
        block=block,
        thread=thread,
        count=count,
        line=line,
        line_text=line_text,
    )


def _given(dynamic: int, elements: int) -> str:
    if dynamic == 0:
        return (
            "The launch gives no dynamic shared memory: write kernel[blocks, threads, 0, bytes], "
            "with the bytes of one block."
        )
    return (
        f"The launch gives a block {dynamic:,} bytes of dynamic shared memory, room for "
        f"{elements:,} of these elements: give more, kernel[blocks, threads, 0, bytes], or guard "
        "the access."
    )


def divergent_barrier(
    *,
    kernel: str,
    block: Dim3,
    arrived: list[Dim3],
    missing: list[Dim3],
    count: int,
    line: int,
    line_text: str,
    other: Any = None,
    passed_by: bool = False,
) -> BarrierDivergenceError:
    """Build the report of a barrier that part of a block does not reach; other: the site of the
    barrier that the rest comes to; passed_by: they ended without one."""
    facts = {
        "block": block, "arrived": arrived, "missing": missing, "count": count, "line": line,
        "line_text": line_text, "other_line": None if other is None else other.line,
    }  # fmt: skip
    if not arrived:
        text = (
            f"{kernel}: the threads of block {block} do not reach this synchronisation of the grid"
            f"\n  line {line}:  {line_text}\n"
            "  On a GPU this hangs. Every block of the launch has to pass it."
        )
        return BarrierDivergenceError(text, **facts)
    text = (
        f"{kernel}: {len(arrived)} of the {len(arrived) + len(missing)} threads of block {block} "
        "that still run reach this barrier\n"
        f"  here: thread {arrived[0]}{' and others' * (len(arrived) > 1)};  "
        f"elsewhere: thread {missing[0]}{' and others' * (len(missing) > 1)}\n"
        f"  line {line}:  {line_text}\n"
    )
    if other is not None and other.line != line:
        text += (
            f"  The others come to another barrier, and two places are two barriers:\n"
            f"  line {other.line}:  {other.line_text}\n"
        )
    elif other is not None:
        text += "  The others come here in another turn of the loop, or by another call.\n"
    elif passed_by:
        text += "  The others pass it by and come to no barrier before they end.\n"
    text += (
        "  On a GPU this hangs or gives anything. Move the barrier out of the branch or loop, so "
        "that all threads of the block pass it."
    )
    return BarrierDivergenceError(text, **facts)
