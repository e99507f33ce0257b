"""What generated source calls: the names in here are its vocabulary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .barriers import barrier, barrier_vote, fence, grid_barrier, warp_barrier
from .errors import UnsupportedError
from .formats import BF16, FP16
from .memory import atomic, load, store
from .rounding import fused, narrow
from .storage import local_array, shared_array
from .values import (
    I64,
    ArrayRef,
    Mask,
    SplitRef,
    Value,
    any_lane,
    both,
    minus,
    part,
    select,
    split,
)
from .values import (
    blend as _blend,
)
from .warp import (
    activemask,
    ballot,
    brev,
    clz,
    ffs,
    lanemask_lt,
    match_all,
    match_any,
    popc,
    shuffle,
    vote,
)

__all__ = [
    "BF16", "FP16", "I64", "ArrayRef", "LaneRange", "Spin", "activemask", "any_lane", "assign",
    "atomic", "ballot", "barrier", "barrier_vote", "both", "bound", "brev", "clz", "fence", "ffs",
    "fused", "grid_barrier", "lanemask_lt", "load", "local_array", "match_all", "match_any",
    "minus", "narrow", "part", "pick", "popc", "row", "select", "shared_array", "shuffle", "split",
    "store",
    "transposed", "vote", "warp_barrier",
]  # fmt: skip


def assign(m: Mask, new: Value, old: Value, full: Mask) -> Value:
    """The value of a variable after `name = new` for the lanes of m.

    `full` is the mask of all lanes still in the function: when m is that very mask, or the
    variable has no value yet, there is nothing to keep.
    """
    if m is True or m is full or old is None:
        return new
    if m is False:
        return old
    if isinstance(new, tuple):
        return tuple(assign(m, a, b, full) for a, b in zip(new, old, strict=True))
    return _blend(m, new, old)


def bound(run: Any, value: Value, assigned: Mask, m: Mask, name: str, site: int) -> Value:
    """A variable that some path leaves without a value; `assigned` are the lanes that have one."""
    missing = minus(m, assigned)
    if missing is not False:
        raise run.unassigned(name, missing, site)
    return value


class LaneRange:
    """range() for many lanes.  Iterates over the loop variable; `mask` holds the lanes still in
    the loop, and the body may make it smaller."""

    def __init__(
        self, start: Value, stop: Value, step: Value, mask: Mask, where: tuple[str, str]
    ) -> None:
        stuck = step == 0
        if stuck.any() and any_lane(stuck if mask is True else mask & stuck):
            raise UnsupportedError(f"{where[0]}: range() with a step of 0 never ends\n  {where[1]}")
        self.start, self.stop, self.step, self.mask = start, stop, step, mask
        self.left: Mask = False  # lanes that the current iteration found at their end

    def __iter__(self) -> Iterator[Value]:
        if self.start.ndim == 0 and self.stop.ndim == 0 and self.step.ndim == 0:
            return self._uniform()
        return self._per_lane()

    def _uniform(self) -> Iterator[Value]:
        dtype = self.start.dtype
        trip = range(int(self.start), int(self.stop), int(self.step))
        for at in range(0, len(trip), 4096):
            part = trip[at : at + 4096]
            # NumPy scalars of the loop's type, made 4096 at a time.
            for value in np.arange(part.start, part.stop, part.step).astype(dtype):
                yield value
                if self.mask is False:
                    return

    def _per_lane(self) -> Iterator[Value]:
        value = self.start
        while True:
            upward = self.step > 0
            inside = select(upward, value < self.stop, value > self.stop)
            self.mask, self.left = split(self.mask, inside)
            if self.mask is False:
                return
            yield value
            if self.mask is False:
                return
            value = value + self.step


class Spin:
    """Finds a `while` that can never end: one whole iteration after which every variable of the
    loop, every mask and all memory is as before.  Looks at one iteration in 4096, so it costs
    nothing to speak of.  In warp-serial order other warps may still end the waiting."""

    EVERY = 4096
    EARLY = 64  # most loops that never end show it at once

    def __init__(self, run: Any, where: tuple[str, int, str]) -> None:
        self._run = run
        self.where = where
        self._count = 0
        self._seen: tuple[Any, ...] | None = None
        self._memory: Any = None

    def tick(self, state: tuple[Any, ...]) -> bool:
        """Called at the end of each iteration with the loop's variables and, last, its mask.  True
        when the loop has to wait for other warps."""
        self._count += 1
        if self._seen is not None:
            same = all(_same(a, b) for a, b in zip(self._seen, state, strict=True))
            self._seen = None
            if self._run.unchanged_since(self._memory) and same:
                if not self._run.program.serial:
                    raise self._run.stuck(self.where, state[-1])
                self._count = self.EARLY - 1  # look again at the next iteration
                return True
        elif self._count == self.EARLY or self._count % self.EVERY == 0:
            if self._run.failed:  # what such lanes read is not the learner's data
                raise self._run.stuck(self.where, state[-1])
            self._seen = state
            self._memory = self._run.watch()
        return False


def _same(a: Any, b: Any) -> bool:
    if a is b:
        return True
    if a is None or b is None or isinstance(a, bool) or isinstance(b, bool):
        return False
    if isinstance(a, tuple):
        return all(_same(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, ArrayRef):
        return a.root is b.root and all(
            _same(np.asarray(x), np.asarray(y))
            for x, y in zip((a.offset, *a.shape, *a.strides), (b.offset, *b.shape, *b.strides),
                            strict=True)
        )  # fmt: skip
    if isinstance(a, SplitRef):
        return False
    return np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


def pick(items: tuple[Value, ...], index: Value, m: Mask, where: tuple[str, str]) -> Value:
    """items[index] of a tuple whose items have one type."""
    n = len(items)
    index = np.where(index < 0, index + n, index)[()]
    outside = (index < 0) | (index >= n)
    if outside.any() and any_lane(outside if m is True else m & outside):
        raise UnsupportedError(
            f"{where[0]}: a tuple of {n} items is indexed beyond its end\n  {where[1]}"
        )
    index = np.clip(index, 0, n - 1)
    result = items[int(index)] if index.ndim == 0 else items[0]
    if index.ndim:
        for k in range(1, n):
            result = select(index == k, items[k], result)
    return result


def row(run: Any, arr: Any, index: tuple[Any, ...], m: Mask, site: int) -> Any:
    """A view: each index is a value (drops its axis) or (start, stop, step) with None for gaps."""
    from .memory import _in_range

    if isinstance(arr, SplitRef):
        yes, no = split(m, arr.mask)
        parts = [
            row(run, part, index, mask, site) if mask is not False else None
            for part, mask in ((arr.first, yes), (arr.second, no))
        ]
        return (
            parts[1]
            if parts[0] is None
            else parts[0]
            if parts[1] is None
            else (SplitRef(arr.mask, parts[0], parts[1]))
        )
    offset = arr.offset
    shape: list[Any] = []
    strides: list[Any] = []
    full = index + ((None, None, None),) * (arr.ndim - len(index))
    values = tuple(i if not isinstance(i, tuple) else np.int64(0) for i in full)
    for axis, i in enumerate(full):
        n, stride = arr.shape[axis], arr.strides[axis]
        if isinstance(i, tuple):
            start, length, step = _slice(i, np.int64(n))
            offset = offset + start * stride
            shape.append(length)
            strides.append(stride * step)
        else:
            i, m = _in_range(run, arr, values, axis, i, m, site)
            if m is False:
                i = np.int64(0)
            offset = offset + i * stride
    return ArrayRef(arr.root, arr.name, offset, tuple(shape), tuple(strides))


def _slice(s: tuple[Any, Any, Any], n: Value) -> tuple[Value, Value, Value]:
    """start, length, step of a slice over n elements, with Python's clamping, for all lanes."""
    start, stop, step = s
    step = np.int64(1) if step is None else step.astype(I64)
    if (step == 0).any():
        raise UnsupportedError("the step of a slice is 0")
    upward = step > 0
    low, high = select(upward, np.int64(0), np.int64(-1)), select(upward, n, n - 1)
    start = select(upward, np.int64(0), n - 1) if start is None else _clamp(start, n, low, high)
    stop = select(upward, n, np.int64(-1)) if stop is None else _clamp(stop, n, low, high)
    span = select(upward, stop - start, start - stop)
    length = np.maximum((span + np.abs(step) - 1) // np.abs(step), 0)
    return start, length, step


def _clamp(i: Value, n: Value, low: Value, high: Value) -> Value:
    i = i.astype(I64)
    i = i + select(i < 0, n, np.int64(0))
    return np.minimum(np.maximum(i, low), high)


def transposed(arr: Any) -> Any:
    """arr.T"""
    if isinstance(arr, SplitRef):
        return SplitRef(arr.mask, transposed(arr.first), transposed(arr.second))
    return ArrayRef(arr.root, arr.name, arr.offset, arr.shape[::-1], arr.strides[::-1])
