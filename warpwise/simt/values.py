"""Values of a running kernel.

A number is a NumPy scalar when all lanes of the chunk agree, else an array of shape (1, T), (B, 1)
or (B, T): B blocks of T threads run together, and NumPy's broadcasting does the rest.

Glossary
    lane     one thread of the chunk
    mask     which lanes take part: True (all), False (none), or a bool array of a shape as above
    Root     one allocation: a flat buffer
    ArrayRef a view into a Root: offset, shape and strides in elements
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .blending import choose

Mask = Any  # True | False | bool array
Value = Any  # NumPy scalar or array, see above
I64 = np.dtype(np.int64)


class Root:
    """One allocation.  Host memory is shared until the first store, then copied (`dirty`)."""

    __slots__ = (
        "__weakref__", "buf", "bytewise", "copy_on_write", "count", "dirty", "init", "name",
        "records", "space", "views",
    )  # fmt: skip

    def __init__(
        self,
        name: str,
        buf: Any,
        space: str,
        *,
        copy_on_write: bool = False,
        count: int = 0,
    ) -> None:
        self.name = name
        self.buf = buf
        self.space = space  # "global" | "const" | "shared" | "local"
        self.copy_on_write = copy_on_write
        self.dirty = False
        # Which elements hold a value: for memory that starts undefined, else None.
        self.init: Any = None
        self.count = count  # elements per block (shared) or per thread (local)
        self.views: dict[Any, Root] = {}  # the same memory as other types
        self.bytewise = False  # dynamic shared memory: block after block
        self.records: Any = None  # device memory of records as kernels see it, a RecordRoot

    @property
    def memory(self) -> Root:
        """The root that owns the bytes: another one only for a field of records."""
        return self

    def writable(self) -> Any:
        """The buffer to store into; the caller's own memory stays untouched until the end."""
        if self.copy_on_write and not self.dirty:
            self.buf = self.buf.copy()
        self.dirty = True
        return self.buf


class ArrayRef:
    """A view: element (i, j) is at `offset + i*strides[0] + j*strides[1]` of the root's buffer."""

    __slots__ = ("name", "offset", "root", "shape", "strides")

    def __init__(
        self,
        root: Root,
        name: str,
        offset: Value,
        shape: tuple[Value, ...],
        strides: tuple[Any, ...],
    ) -> None:
        self.root = root
        self.name = name
        self.offset = offset
        self.shape = shape
        self.strides = strides

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> Value:
        n = np.int64(1)
        for extent in self.shape:
            n = n * extent
        return n


def summed(base: Value, lanes: Value) -> Value:
    """A position as one value; see memory.position."""
    if lanes is None:
        return base
    return lanes if base == 0 else lanes + base


def split(m: Mask, condition: Value) -> tuple[Mask, Mask]:
    """Lanes of `m` where the condition holds, and the others.  An unchanged mask stays the same
    object, an empty one is False: later code tests both by identity."""
    if condition.ndim == 0:
        return (m, False) if condition else (False, m)
    if m is True:
        holds = np.count_nonzero(condition)
        if holds == condition.size:
            return True, False
        return (condition, ~condition) if holds else (False, True)
    yes = m & condition
    holds = np.count_nonzero(yes)
    if not holds:
        return False, m
    if holds * m.size == np.count_nonzero(m) * yes.size:  # sizes differ where m is broadcast
        return m, False
    return yes, m ^ yes


def both(a: Mask, b: Mask) -> Mask:
    """Union of two masks."""
    if a is True or b is False or a is b:
        return a
    if b is True or a is False:
        return b
    joined = a | b
    return True if joined.all() else joined


def minus(a: Mask, b: Mask) -> Mask:
    """Lanes of `a` that are not in `b`."""
    if b is False or a is False:
        return a
    if b is True or a is b:
        return False
    left = ~b if a is True else a & ~b
    return left if left.any() else False


class SplitRef:
    """An array that is one thing for some lanes and another for the rest."""

    __slots__ = ("first", "mask", "name", "second")

    def __init__(self, mask: Any, first: Any, second: Any) -> None:
        self.mask = mask
        self.first = first
        self.second = second
        self.name = first.name

    @property
    def ndim(self) -> int:
        return int(self.first.ndim)

    @property
    def shape(self) -> tuple[Value, ...]:
        pairs = zip(self.first.shape, self.second.shape, strict=True)
        return tuple(np.where(self.mask, a, b) for a, b in pairs)

    @property
    def strides(self) -> tuple[Any, ...]:
        pairs = zip(self.first.strides, self.second.strides, strict=True)
        return tuple(np.where(self.mask, a, b) for a, b in pairs)

    @property
    def size(self) -> Value:
        return np.where(self.mask, self.first.size, self.second.size)


def blend(m: Mask, new: Value, old: Value) -> Value:
    """Assignment under a mask: lanes outside `m` keep their old value."""
    if m is True:
        return new
    if isinstance(new, (np.ndarray, np.generic)):
        return choose(m, new, old)
    if new is old:
        return new
    if type(new) is type(old) is ArrayRef and _differ_in_offset(new, old):
        offset = np.where(m, new.offset, old.offset)
        return ArrayRef(new.root, new.name, offset, new.shape, new.strides)
    return SplitRef(m, new, old)


def _differ_in_offset(a: ArrayRef, b: ArrayRef) -> bool:
    """Whether two views are the same but for where they start."""
    pairs = zip(a.shape + a.strides, b.shape + b.strides, strict=True)
    return a.root is b.root and all(
        x is y or (np.ndim(x) == 0 and np.ndim(y) == 0 and x == y) for x, y in pairs
    )


def select(condition: Value, a: Value, b: Value) -> Value:
    """a where the condition holds, else b; both were already computed."""
    if condition.ndim == 0:
        return a if condition else b
    if isinstance(a, tuple):
        return tuple(select(condition, x, y) for x, y in zip(a, b, strict=True))
    return blend(condition, a, b)


def any_lane(m: Mask) -> bool:
    """True when at least one lane takes part."""
    return bool(m is True or (m is not False and m.any()))
