"""Views of arrays at run time: slices, other shapes, other types.  The memory is never copied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .errors import MisalignedAddressError, ShapeError
from .memory import in_range, store
from .records import PiecesRef, RecordRoot, copy_record
from .storage import dynamic
from .values import I64, ArrayRef, Mask, Root, SplitRef, Value, any_lane, select, split

Where = tuple[str, str]


def row(run: Any, arr: Any, index: tuple[Any, ...], m: Mask, site: int) -> Any:
    """A view.  Each index is a value (drops its axis), (start, stop, step) with None for gaps, or
    None (a new axis of length 1)."""
    if isinstance(arr, SplitRef):
        yes, no = split(m, arr.mask)
        parts = [
            row(run, part, index, mask, site) if mask is not False else None
            for part, mask in ((arr.first, yes), (arr.second, no))
        ]
        return _joined(arr, parts)
    if isinstance(arr, PiecesRef):
        return PiecesRef(row(run, arr.part, index, m, site), arr.dtype)
    offset = arr.offset
    shape: list[Any] = []
    strides: list[Any] = []
    used = sum(i is not None for i in index)
    full = index + ((None, None, None),) * (arr.ndim - used)
    values = tuple(i if not isinstance(i, tuple) else np.int64(0) for i in full if i is not None)
    axis = 0
    for i in full:
        if i is None:
            shape.append(np.int64(1))
            strides.append(0)
            continue
        n, stride = arr.shape[axis], arr.strides[axis]
        if isinstance(i, tuple):
            start, length, step = _slice(i, np.int64(n))
            offset = offset + start * stride
            shape.append(length)
            strides.append(stride * step)
        else:
            i, m = in_range(run, arr, values, axis, i, m, site)
            if m is False:
                i = np.int64(0)
            offset = offset + i * stride
        axis += 1
    return ArrayRef(arr.root, arr.name, offset, tuple(shape), tuple(strides))


def _joined(arr: SplitRef, parts: list[Any]) -> Any:
    if parts[0] is None or parts[1] is None:
        return parts[1] if parts[0] is None else parts[0]
    return SplitRef(arr.mask, parts[0], parts[1])


def _slice(s: tuple[Any, Any, Any], n: Value) -> tuple[Value, Value, Value]:
    """start, length, step of a slice over n elements, with Python's clamping, for all lanes."""
    start, stop, step = s
    step = np.int64(1) if step is None else step.astype(I64)
    if (step == 0).any():
        raise ShapeError("the step of a slice is 0")
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
    if isinstance(arr, PiecesRef):
        part = arr.part
        shape, strides = (*arr.shape[::-1], part.shape[-1]), (*part.strides[-2::-1], 1)
        return PiecesRef(ArrayRef(part.root, part.name, part.offset, shape, strides), arr.dtype)
    return ArrayRef(arr.root, arr.name, arr.offset, arr.shape[::-1], arr.strides[::-1])


def _happens(condition: Value, m: Mask) -> bool:
    """Whether a condition holds for a lane that takes part."""
    return bool(np.any(condition)) and any_lane(condition if m is True else m & condition)


def _fail(where: Where, fact: str) -> None:
    raise ShapeError(f"{where[0]}: {fact}\n  {where[1]}")


def _shown(shape: tuple[Value, ...]) -> str:
    sizes = [str(int(n)) if np.ndim(n) == 0 else "?" for n in shape]
    return f"({', '.join(sizes)}{',' * (len(sizes) == 1)})"


def reshaped(arr: Any, shape: tuple[Value, ...], m: Mask, where: Where) -> Any:
    """arr.reshape(shape); one size may be -1."""
    if isinstance(arr, SplitRef):
        return SplitRef(
            arr.mask, *(reshaped(part, shape, m, where) for part in (arr.first, arr.second))
        )
    whole: Value = np.int64(1)
    for n in shape:
        whole = whole * np.where(n == -1, 1, n)
    open_axes = sum((n == -1).astype(I64) for n in shape)
    rest = arr.size // np.maximum(whole, 1)
    sizes = tuple(np.where(n == -1, rest, n)[()] for n in shape)
    total: Value = np.int64(1)
    for n in sizes:
        total = total * n
    bad = (total != arr.size) | (open_axes > 1)
    for n in sizes:
        bad = bad | (n < 0)
    if _happens(bad, m):
        _fail(where, f"an array of shape {_shown(arr.shape)} cannot become {_shown(shape)}")
    if isinstance(arr, PiecesRef):
        _fail(where, "only an array that lies in one piece, row after row, can be reshaped")
    unit = arr.root.unit if isinstance(arr.root, RecordRoot) else 1  # records lie in bytes
    step: Value = np.int64(unit)
    gaps = np.bool_(False)
    for n, stride in zip(reversed(arr.shape), reversed(arr.strides), strict=True):
        gaps = gaps | ((n > 1) & (stride != step))
        step = step * n
    if _happens(gaps & (arr.size > 0), m):
        _fail(where, "only an array that lies in one piece, row after row, can be reshaped")
    strides: list[Any] = []
    inner: Any = unit
    for n in reversed(sizes):
        strides.append(inner)
        inner = inner * (int(n) if n.ndim == 0 else n)
    return ArrayRef(arr.root, arr.name, arr.offset, sizes, tuple(reversed(strides)))


def pointed(arr: Any, shape: tuple[Value, ...], fortran: bool, m: Mask, where: Where) -> Any:
    """carray(pointer, shape) or farray: the first elements of the memory of a pointer."""
    strides: list[Any] = []
    size: Value = np.int64(1)
    for n in shape if fortran else reversed(shape):
        strides.append(int(size) if np.ndim(size) == 0 else size)
        size = size * n
    if _happens((size > arr.size) | (size < 0), m):
        _fail(where, f"the memory of {arr.name} has {int(np.max(arr.size))} elements, and an array "
                     f"of shape {_shown(shape)} does not fit")  # fmt: skip
    ordered = strides if fortran else reversed(strides)
    return ArrayRef(arr.root, arr.name, arr.offset, shape, tuple(ordered))


class Retyped(Root):
    """The memory of another root, seen as another type."""

    __slots__ = ("dtype", "whole")

    def __init__(self, whole: Root, dtype: Any) -> None:
        self.whole, self.dtype = whole, dtype
        super().__init__(whole.name, None, whole.space, count=whole.count)
        self.bytewise = whole.bytewise

    @property
    def buf(self) -> Any:  # type: ignore[override]
        return self.whole.buf.view(self.dtype)

    @buf.setter
    def buf(self, value: Any) -> None: ...

    @property
    def dirty(self) -> bool:  # type: ignore[override]
        return self.whole.dirty

    @dirty.setter
    def dirty(self, value: bool) -> None: ...

    @property
    def memory(self) -> Root:
        return self.whole.memory

    def writable(self) -> Any:
        if self.whole.init is not None:
            self.whole.init[:] = True  # part of it at least; the sanitizer stays quiet
        return self.whole.writable().view(self.dtype)


def _root_as(whole: Root, dtype: Any) -> Root:
    """The root for another type of the same memory, always the same one."""
    root = whole.views.get(dtype)
    if root is None:
        root = whole.views[dtype] = whole if whole.buf.dtype == dtype else Retyped(whole, dtype)
    return root


def part(arr: Any, offset: int) -> Any:
    """The real (offset 0) or imaginary (1) parts of an array of complex numbers."""
    if isinstance(arr, SplitRef):
        return SplitRef(arr.mask, part(arr.first, offset), part(arr.second, offset))
    if isinstance(arr, PiecesRef):
        return arr.floats(offset)
    root = _root_as(arr.root, np.dtype(f"f{arr.root.buf.dtype.itemsize // 2}"))
    strides = tuple(2 * stride for stride in arr.strides)
    return ArrayRef(root, arr.name, arr.offset * 2 + offset, arr.shape, strides)


def retyped(arr: Any, dtype: Any, m: Mask, where: Where, place: tuple[Any, int] | None) -> Any:
    """arr.view(dtype); place: the run and the number of the site, none on the host."""
    if isinstance(arr, SplitRef):
        yes, no = split(m, arr.mask)
        return SplitRef(arr.mask, retyped(arr.first, dtype, yes, where, place),
                        retyped(arr.second, dtype, no, where, place))  # fmt: skip
    if isinstance(arr, PiecesRef):
        _fail(where, "an array at odd addresses cannot be viewed as another type")
    whole = arr.root.whole if isinstance(arr.root, Retyped) else arr.root
    old, new = arr.root.buf.dtype.itemsize, dtype.itemsize
    if whole.buf.nbytes % new:  # whole elements of the new type only
        _fail(where, f"the memory of {arr.name} is no whole number of {dtype} elements")
    if whole.bytewise and place is not None:
        root = dynamic(place[0], dtype, arr.name).root  # the one of all arrays of this type
    elif whole.space == "shared" and old != new:
        _fail(where, f"{arr.name} can be viewed as a type of the same size only; dynamic shared "
                     "memory, cuda.shared.array(0, ...), as any")  # fmt: skip
    else:
        root = _root_as(whole, dtype)
    offset, shape, strides = arr.offset, arr.shape, arr.strides
    if old != new:
        last = shape[-1] * old if shape else np.int64(old)
        step = strides[-1] if shape else 1
        if _happens((shape[-1] > 1) & (np.asarray(step) != 1) if shape else np.bool_(False), m):
            _fail(where, "an array whose last axis has gaps cannot be viewed as another type")
        if _happens(last % new != 0, m):
            _fail(where, f"a row of {int(np.max(last))} bytes is no whole number of {dtype}")
        at = offset * old
        moved = [stride * old for stride in strides[:-1]]
        aligned = new // 2 if dtype.kind == "c" else new  # a complex number moves in two parts
        crooked = [
            at % size != 0
            | np.any([(n > 1) & (np.asarray(stride) % size != 0)
                      for stride, n in zip(moved, shape[:-1], strict=True)])
            for size in (aligned, new)
        ]  # fmt: skip
        if _happens(crooked[0], m):
            _misaligned(arr, dtype, aligned, at, crooked[0], m, where, place)
        if _happens(crooked[1], m):
            halves = ArrayRef(
                _root_as(whole, np.dtype(f"f{aligned}")), arr.name, at // aligned,
                (*shape[:-1], last // new, np.int64(2)),
                (*(stride // aligned for stride in moved), 2, 1),
            )  # fmt: skip
            return PiecesRef(halves, dtype)
        offset = at // new
        if shape:
            shape = (*shape[:-1], last // new)
            strides = (*(stride // new for stride in moved), 1)
    return ArrayRef(root, arr.name, offset, shape, strides)


def _misaligned(
    arr: Any, dtype: Any, size: int, at: Value, crooked: Value, m: Mask, where: Where,
    place: tuple[Any, int] | None,
) -> None:  # fmt: skip
    """Refuse a view whose elements a GPU cannot read."""
    who, facts = "", {}
    if place is not None:
        run, site = place
        bad = np.broadcast_to(crooked if m is True else m & crooked, run.lanes)
        lane = int(np.argmax(bad))
        at = np.broadcast_to(at, run.lanes).flat[lane]
        row, column = divmod(lane, run.lanes[1])
        facts = {"block": run.block_index(row), "thread": run.thread_index(column),
                 "array": arr.name}  # fmt: skip
        who = f"  block {facts['block']}, thread {facts['thread']}\n"
        facts |= {"line": run.program.sites[site].line}
    error = MisalignedAddressError(
        f"{where[0]}: misaligned address: {dtype} has to start at a multiple of {size} bytes, and "
        f"this view starts at byte {int(np.max(at))} of {arr.name}\n  {where[1]}\n{who}"
        f"  A GPU stops at the first access. Start the view at a multiple of {size} bytes."
    )
    vars(error).update(facts)
    raise error


def only_item(arr: Any, m: Mask, where: Where) -> None:
    """Refuse .item() of an array that has not exactly one element."""
    if _happens(np.asarray(arr.size) != 1, m):
        _fail(where, f".item() needs an array of one element, this one has shape "
                     f"{_shown(arr.shape)}")  # fmt: skip


def fill(run: Any, arr: Any, value: Value, m: Mask, site: int) -> None:
    """Store a number into every element of a view: each thread, element after element."""
    for index, inside in _elements(arr, m):
        store(run, arr, index, value, inside, site)


def _elements(arr: Any, m: Mask) -> Iterator[tuple[tuple[Value, ...], Mask]]:
    """The index of one element after the other, and the lanes whose view has it."""
    extents = [np.asarray(n) for n in arr.shape]
    size = np.asarray(arr.size)
    for k in range(int(size.max()) if size.size else 0):
        inside, _ = split(m, (k < size)[()])
        if inside is False:
            continue
        rest: Value = np.int64(k)
        index: list[Value] = []
        for n in reversed(extents):
            index.append((rest % np.maximum(n, 1))[()])
            rest = (rest // np.maximum(n, 1))[()]
        yield tuple(reversed(index)), inside


def fill_record(
    run: Any, arr: Any, record: Any, leaves: Any, m: Mask, sites: tuple[int, int]
) -> None:
    """Store a record into every element of a view."""
    for index, inside in _elements(arr, m):
        copy_record(run, (arr, index), record, leaves, inside, sites)


def fill_each(
    run: Any, arr: Any, values: tuple[Value, ...], m: Mask, site: int, where: Where
) -> None:
    """Store the items of a tuple into a one-dimensional view of that length."""
    if _happens(np.asarray(arr.shape[0]) != len(values), m):
        _fail(where, f"{len(values)} values are assigned to {_shown(arr.shape)} elements")
    for k, value in enumerate(values):
        store(run, arr, (np.int64(k),), value, m, site)
