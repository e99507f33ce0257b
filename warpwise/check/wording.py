"""Wording: numbers, indices, threads and launches, as messages write them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .cases import Case, as_dims


def number(value: Any) -> str:
    """A value as Python writes it, NumPy floats with six digits: `np.float32(0.1)` is "0.1"."""
    if isinstance(value, np.floating):
        short = f"{value:.6g}"
        return short if any(mark in short for mark in ".en") else f"{short}.0"
    return str(value) if isinstance(value, np.generic) else repr(value)


def told_apart(got: Any, want: Any) -> tuple[str, str]:
    """Both values, with all their digits where six do not show the difference."""
    short = number(got), number(want)
    return (str(got), str(want)) if short[0] == short[1] else short


def element(name: str, index: tuple[int, ...]) -> str:
    """An element as code: `element("out", (2, 3))` is "out[2, 3]"."""
    return f"{name}[{', '.join(str(i) for i in index)}]"


def count_of(which: np.ndarray, noun: str) -> str:
    """ "1 of 33 elements", "1 of 1 element": how many are set, out of how many."""
    return f"{int(which.sum())} of {counted(int(which.size), noun)}"


def counted(count: int, noun: str) -> str:
    """ "1 block", "2 blocks", "2 launches"."""
    if count == 1:
        return f"1 {noun}"
    return f"{count} {noun}{'es' if noun.endswith('ch') else 's'}"


def times(count: int) -> str:
    """ "twice", "9 times"."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def shuffled(own: Sequence[str], asked: Sequence[str]) -> str | None:
    """A sentence when `own` are the names `asked` in another order; other names are fine."""
    if list(own) == list(asked) or sorted(own) != sorted(asked):
        return None
    return (
        f"Your parameters are ({', '.join(own)}); the check passes ({', '.join(asked)}), in that "
        "order."
    )


def launch(kernel: str, params: list[str], case: Case, names: Mapping[str, str]) -> str:
    """ "guarded_add[2, 32](out, a, b, n) with n = 33"."""
    facts = case.describe(names)
    facts = re.sub(r"^1 (\w+)s$", r"1 \1", facts)  # a label like "1 elements"
    tail = f" with {facts}" if facts else ""
    shape = f"{_dims(case.grid)}, {_dims(case.block)}"
    shape += f", 0, {case.sharedmem}" if case.sharedmem else ""
    return f"{kernel}[{shape}]({', '.join(params)}){tail}"


def thread(block: Any, within: Any, case: Case) -> str:
    """ "block 1, thread 0", or "block (1, 0), thread (3, 2)" in a launch of several dimensions."""
    grid, extent = as_dims(case.grid), as_dims(case.block)
    used = max(axis + 1 for axis in range(3) if axis == 0 or grid[axis] * extent[axis] > 1)
    return f"block {_place(block, used)}, thread {_place(within, used)}"


def thread_of(linear: int, case: Case) -> str:
    """The thread with this number in the launch; "nobody" for -1."""
    if linear < 0:
        return "nobody"
    block, within = divmod(int(linear), case.threads_per_block)
    return thread(unravel(block, as_dims(case.grid)), unravel(within, as_dims(case.block)), case)


def unravel(linear: int, extents: tuple[int, ...]) -> tuple[int, int, int]:
    """(x, y, z) of a linear number, x fastest, as CUDA counts."""
    x, rest = linear % extents[0], linear // extents[0]
    return x, rest % extents[1], rest // extents[1]


def _place(place: Any, used: int) -> str:
    given = (place,) if isinstance(place, int | np.integer) else tuple(place)
    axes = tuple(int(axis) for axis in (*given, 0, 0)[:used])
    return str(axes[0]) if used == 1 else str(axes)


def _dims(dims: Any) -> str:
    axes = (dims,) if isinstance(dims, int | np.integer) else tuple(dims)
    return str(int(axes[0])) if len(axes) == 1 else str(tuple(int(axis) for axis in axes))
