"""What generated source calls: the names in here are its vocabulary."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .barriers import barrier, barrier_vote, fence, grid_barrier, warp_barrier
from .errors import UnsupportedError
from .formats import BF16, FP16
from .libdevice import LIBDEVICE
from .matrix import mma
from .memory import atomic, load, store
from .packing import Packing
from .records import (
    PiecesRef,
    copy_elements,
    copy_record,
    field,
    field_array,
    inner,
    padded,
    record_storage,
)
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
    select,
    split,
)
from .values import (
    blend as _blend,
)
from .views import (
    fill,
    fill_each,
    fill_record,
    only_item,
    part,
    pointed,
    reshaped,
    retyped,
    row,
    transposed,
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
    "BF16",
    "FP16",
    "I64",
    "LIBDEVICE",
    "ArrayRef",
    "LaneRange",
    "Packing",
    "Spin",
    "activemask",
    "any_lane",
    "assign",
    "atomic",
    "ballot",
    "barrier",
    "barrier_vote",
    "both",
    "bound",
    "brev",
    "byte_strides",
    "clz",
    "copy_elements",
    "copy_record",
    "fence",
    "ffs",
    "field",
    "field_array",
    "fill",
    "fill_each",
    "fill_record",
    "fused",
    "grid_barrier",
    "inner",
    "lanemask_lt",
    "load",
    "local_array",
    "match_all",
    "match_any",
    "minus",
    "mma",
    "narrow",
    "only_item",
    "padded",
    "part",
    "pick",
    "pointed",
    "popc",
    "quotient_of",
    "range_length",
    "record_storage",
    "remainder_of",
    "reshaped",
    "retyped",
    "row",
    "select",
    "shared_array",
    "shuffle",
    "split",
    "store",
    "transposed",
    "vote",
    "warp_barrier",
    "wrapped",
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
        self.value = start
        self.left: Mask = False  # lanes that the last look at the range found at their end

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
        self.left = self.mask

    def _per_lane(self) -> Iterator[Value]:
        while True:
            upward = self.step > 0
            inside = select(upward, self.value < self.stop, self.value > self.stop)
            self.mask, self.left = split(self.mask, inside)
            if self.mask is False:
                return
            yield self.value
            if self.mask is False:
                self.left = False
                return
            self.value = self.value + self.step

    def pack(self, packing: Packing) -> None:
        """Go on with the lanes that have been packed."""
        self.mask = True
        for name in ("value", "stop", "step"):
            setattr(self, name, packing.take(getattr(self, name)))


def range_length(start: Value, stop: Value, step: Value, m: Mask, where: tuple[str, str]) -> Value:
    """len(range(start, stop, step)); int64."""
    start, stop, step = (bound.astype(I64) for bound in (start, stop, step))
    stuck = step == 0
    if stuck.any():
        if any_lane(stuck if m is True else m & stuck):
            raise UnsupportedError(f"{where[0]}: range() with a step of 0 never ends\n  {where[1]}")
        step = np.where(stuck, 1, step)[()]
    span = select(step > 0, stop - start, start - stop)
    return np.maximum((span + np.abs(step) - 1) // np.abs(step), 0)


def remainder_of(a: Value, b: Value) -> Value:
    """a % b of extents; lanes with an empty array take no part."""
    return a % np.maximum(b, 1)


def quotient_of(a: Value, b: Value) -> Value:
    """a // b of extents."""
    return a // np.maximum(b, 1)


def wrapped(k: Value, n: Value) -> Value:
    """A position that may count from the end, as int64."""
    k = k.astype(I64)
    return k + np.where(k < 0, n, 0)


class Spin:
    """Finds a `while` that can never end: one whole iteration after which every variable of the
    loop, every mask and all memory is as before.  memory=False: memory does not decide whether this
    loop ends, and only what does is looked at, see endings.py.  Looks at one iteration in 4096, so
    it costs nothing to speak of.  In warp-serial order other warps may still end the waiting."""

    EVERY = 4096
    EARLY = 64  # most loops that never end show it at once

    def __init__(self, run: Any, where: tuple[str, int, str], memory: bool = True) -> None:
        self._run = run
        self._watches = memory
        self.where = where
        # Rounds that wait for other warps are few where they are counted.
        self._early = 1 if run.program.serial and run.program.counted else self.EARLY
        self._count = 0
        self._seen: tuple[Any, ...] | None = None
        self._memory: Any = None

    def look(self) -> None:
        """Look at the next iteration: many have passed that were not told."""
        if self._seen is None:
            self._count = self.EARLY - 1

    def tick(self, state: tuple[Any, ...]) -> bool:
        """Called at the end of each iteration with the loop's variables and, last, its mask.  True
        when the loop has to wait for other warps."""
        self._count += 1
        if self._seen is not None:
            same = all(_same(a, b) for a, b in zip(self._seen, state, strict=True))
            self._seen = None
            if same and not self._watches:
                raise self._run.stuck(self.where, state[-1], certain=True)
            if self._watches and self._run.unchanged_since(self._memory) and same:
                if not self._run.program.serial:
                    raise self._run.stuck(self.where, state[-1])
                self._count = self._early - 1  # look again at the next iteration
                return True
        elif self._count == self._early or self._count % self.EVERY == 0:
            if self._run.failed:  # what such lanes read is not the learner's data
                raise self._run.stuck(self.where, state[-1])
            self._seen = state
            self._memory = self._run.watch() if self._watches else None
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
    if not isinstance(a, (np.ndarray, np.generic)):
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


def byte_strides(arr: Any) -> tuple[Any, ...]:
    """arr.strides"""
    if isinstance(arr, SplitRef):
        pairs = zip(byte_strides(arr.first), byte_strides(arr.second), strict=True)
        return tuple(np.where(arr.mask, a, b) for a, b in pairs)
    if isinstance(arr, PiecesRef):
        return byte_strides(arr.part)[:-1]
    return tuple(np.int64(step * arr.root.buf.dtype.itemsize) for step in arr.strides)
