"""Loads and stores: bounds, Numba's negative indices, observers.

Element addresses are flat positions in a root's buffer.  Lanes with a bad index are reported to the
run, take no part in the access, and read zero; the run stops at its end with the first report.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import atomics
from .storage import fetch, put, where_in_buffer
from .values import I64, ArrayRef, Mask, SplitRef, Value, minus, split

Run = Any  # launch.Chunk; named loosely to keep the import one-way


def position(
    run: Run, arr: ArrayRef, index: tuple[Value, ...], m: Mask, site: int
) -> tuple[Value, Mask]:
    """Flat position of arr[index] for each lane, and the mask without lanes out of bounds."""
    where = arr.offset
    checked = []
    for axis, i in enumerate(index):
        i, m = _in_range(run, arr, index, axis, i, m, site)
        if m is False:
            return None, False
        checked.append(i)
    for i, stride in zip(checked, arr.strides, strict=True):
        where = where + (i if np.ndim(stride) == 0 and stride == 1 else i * stride)
    if m is not True and np.ndim(arr.offset):
        where = np.where(m, where, 0)  # views of lanes that take no part may start anywhere
    return where, m


def _in_range(
    run: Run, arr: ArrayRef, index: tuple[Value, ...], axis: int, i: Value, m: Mask, site: int
) -> tuple[Value, Mask]:
    n = arr.shape[axis]
    if i.dtype is not I64:
        if i.dtype == np.uint64 and i.size and i.max() > np.uint64(2**63 - 1):
            # Beyond every array; keep it beyond after the change of sign.
            i = np.minimum(i, np.uint64(2**63 - 1))
        i = i.astype(I64)
    if i.ndim == 0 and np.ndim(n) == 0:
        if 0 <= i < n:
            return i, m
    elif i.size == 0 or (i.min() >= 0 and (i < n).all()):
        return i, m
    outside: Any = (i < -n) | (i >= n)
    bad = outside if m is True else m & outside
    if bad.any():
        run.out_of_bounds(site, arr, index, bad)
        m = minus(m, bad if bad.ndim else True)
        if m is False:
            return i, m
    negative = i < 0
    if negative.any():
        if (negative if m is True else m & negative).any():
            run.note_negative(site, arr, axis)
        i = i + np.where(negative, n, 0)
    # Lanes that take no part may hold anything: give them a position that exists.
    return np.where(m, i, 0) if m is not True else i, m


def load(run: Run, arr: ArrayRef, index: tuple[Value, ...], m: Mask, site: int) -> Value:
    """arr[index] for the lanes of m."""
    if isinstance(arr, SplitRef):
        yes, no = split(m, arr.mask)
        if no is False:
            return load(run, arr.first, index, yes, site)
        if yes is False:
            return load(run, arr.second, index, no, site)
        first = load(run, arr.first, index, yes, site)
        return np.where(arr.mask, first, load(run, arr.second, index, no, site))
    at, m = position(run, arr, index, m, site)
    root = arr.root
    if m is False or root.buf.size == 0:
        return root.buf.dtype.type(0)
    if root.count:
        got = fetch(run, root, at)
    else:
        # take() copies; a scalar position gives a NumPy scalar, as a uniform value should be.
        got = root.buf.take(at) if at.ndim else root.buf[at]
    if run.observers:
        for observer in run.observers:
            observer.load(run, site, arr, index, at, m, got)
    return got


def store(
    run: Run, arr: ArrayRef, index: tuple[Value, ...], value: Value, m: Mask, site: int
) -> None:
    """arr[index] = value for the lanes of m.  When lanes of one launch store to one element, the
    last in thread order wins; on a GPU any of them may."""
    if isinstance(arr, SplitRef):
        for part, mask in zip((arr.first, arr.second), split(m, arr.mask), strict=True):
            if mask is not False:
                store(run, part, index, value, mask, site)
        return
    at, m = position(run, arr, index, m, site)
    if m is False:
        return
    buf = arr.root.writable()
    before = buf.copy() if run.watch_stores else None
    if arr.root.count:
        put(run, arr.root, at, value, m)
    else:
        scatter(buf, at, value, m)
        if arr.root.init is not None:
            scatter(arr.root.init, at, np.bool_(True), m)
    if before is not None and not np.array_equal(before, buf, equal_nan=buf.dtype.kind in "fc"):
        run.memory_changed = True
    if run.observers:
        for observer in run.observers:
            observer.store(run, site, arr, index, at, m, value)


def scatter(buf: Any, at: Value, value: Value, m: Mask) -> None:
    """buf[at] = value under a mask, in lane order."""
    if m is True:
        if np.ndim(value) > 0 and np.shape(at) != value.shape:
            at, value = np.broadcast_arrays(at, value)
        buf[at] = value
        return
    shape = np.broadcast_shapes(np.shape(at), np.shape(value), m.shape)
    chosen = m if m.shape == shape else np.broadcast_to(m, shape)
    at = at[chosen] if np.shape(at) == shape else np.broadcast_to(at, shape)[chosen]
    if np.ndim(value):
        value = (value if value.shape == shape else np.broadcast_to(value, shape))[chosen]
    buf[at] = value


def atomic(
    run: Run,
    name: str,
    arr: ArrayRef,
    index: tuple[Value, ...],
    operands: tuple[Value, ...],
    m: Mask,
    site: int,
) -> Value:
    """An atomic operation of the lanes of m, one after the other; the old value of each lane."""
    if isinstance(arr, SplitRef):
        yes, no = split(m, arr.mask)
        old = [
            atomic(run, name, part, index, operands, mask, site) if mask is not False else None
            for part, mask in ((arr.first, yes), (arr.second, no))
        ]
        return (
            old[1]
            if old[0] is None
            else old[0]
            if old[1] is None
            else (np.where(arr.mask, old[0], old[1]))
        )
    at, m = position(run, arr, index, m, site)
    if m is False:
        return arr.root.buf.dtype.type(0)
    lanes = run.lanes
    buf = arr.root.writable()
    where = np.broadcast_to(where_in_buffer(run, arr.root, at), lanes)
    chosen = np.broadcast_to(m, lanes)
    before = buf.copy() if run.watch_stores else None
    places = np.ascontiguousarray(where[chosen])
    values = [np.ascontiguousarray(np.broadcast_to(v, lanes)[chosen]) for v in operands]
    if name == "cas":
        old = atomics.compare_and_swap(buf, places, values[0], values[1])
    else:
        old = atomics.apply(buf, places, values[0], name)
    if before is not None and not np.array_equal(before, buf, equal_nan=buf.dtype.kind in "fc"):
        run.memory_changed = True
    if arr.root.init is not None:
        arr.root.init[places] = True
    result = np.zeros(lanes, buf.dtype)
    result[chosen] = old
    if run.observers:
        for observer in run.observers:
            observer.atomic(run, site, arr, index, at, m, name)
    return result if result.size > 1 else result.reshape(-1)[0]
