"""Loads and stores: bounds, Numba's negative indices, observers.

Element addresses are flat positions in a root's buffer.  Lanes with a bad index are reported to the
run, take no part in the access, and read zero; the run stops at its end with the first report.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import atomics
from .errors import MisalignedAddressError, at_line
from .indices import BEYOND
from .records import PiecesRef
from .storage import fetch, put, where_in_buffer
from .values import I64, ArrayRef, Mask, SplitRef, Value, minus, split, summed

Run = Any  # launch.Chunk; named loosely to keep the import one-way


def position(
    run: Run, arr: ArrayRef, index: tuple[Value, ...], m: Mask, site: int
) -> tuple[Value, Value, Mask]:
    """Flat position of arr[index] for each lane, and the mask without lanes out of bounds.

    The position is the sum of the first two results: a scalar, and an array or None.  Kept apart,
    since the array is often one that was there before: in `a[y, k]` only the scalar is new.
    """
    base: Value = arr.offset
    lanes: Value = None
    if base.ndim:
        base, lanes = np.int64(0), base
    backward = False
    for axis, stride in enumerate(arr.strides):
        part, m = _step(run, arr, index, axis, m, site)
        if m is False:
            return None, None, False
        if part.ndim == 0:
            base = base + part
        else:
            lanes = part if lanes is None else lanes + part
            backward = backward or type(stride) is not int or stride < 0
    if lanes is not None and (backward or arr.offset.ndim):
        # Only the sum is known to lie inside the buffer.
        lanes, base = lanes + base, np.int64(0)
        if m is not True and arr.offset.ndim:
            lanes = np.where(m, lanes, 0)  # views of idle lanes may start anywhere
    return base, lanes, m


def _step(
    run: Run, arr: ArrayRef, index: tuple[Value, ...], axis: int, m: Mask, site: int
) -> tuple[Value, Mask]:
    """One index times its stride, and the mask without lanes out of bounds."""
    i, n, stride = index[axis], arr.shape[axis], arr.strides[axis]
    if n.ndim == 0:
        if i.ndim == 0:
            if 0 <= i < n:
                return (i if i.dtype is I64 else i.astype(I64)) * stride, m
        elif i.size and type(stride) is int:
            known = run.indices.of(i)
            if known.low >= 0 and known.high < n:
                return known.times(stride), m
    i, m = in_range(run, arr, index, axis, i, m, site)
    return i * stride, m


def in_range(
    run: Run, arr: ArrayRef, index: tuple[Value, ...], axis: int, i: Value, m: Mask, site: int
) -> tuple[Value, Mask]:
    """One index as a position along its axis, and the mask without lanes out of bounds."""
    n = arr.shape[axis]
    if i.dtype is not I64:
        if i.dtype == np.uint64 and i.size and i.max() > BEYOND:
            i = np.minimum(i, BEYOND)  # stays beyond after the change of sign
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
        used = negative if m is True else m & negative
        if used.any():
            run.note_negative(site, axis, i, n, used)
        i = i + np.where(negative, n, 0)
    # Lanes that take no part may hold anything: give them a position that exists.
    return np.where(m, i, 0) if m is not True else i, m


def load(run: Run, arr: ArrayRef, index: tuple[Value, ...], m: Mask, site: int) -> Value:
    """arr[index] for the lanes of m."""
    if type(arr) is not ArrayRef:
        return _load_composed(run, arr, index, m, site)
    base, lanes, m = position(run, arr, index, m, site)
    root = arr.root
    buf = root.buf
    if m is False or buf.size == 0:
        return np.zeros((), buf.dtype)[()]
    if root.count:
        got = fetch(run, root, base, lanes)
    elif lanes is None:
        got = buf[base]  # a NumPy scalar, as a uniform value should be
    else:
        got = (buf[base:] if base else buf).take(lanes)  # take() copies
    if run.observers:
        at = summed(base, lanes)
        run.lane_part = lanes
        for observer in run.observers:
            observer.load(run, site, arr, index, at, m, got)
    return got


def store(
    run: Run, arr: ArrayRef, index: tuple[Value, ...], value: Value, m: Mask, site: int
) -> None:
    """arr[index] = value for the lanes of m.  When lanes of one launch store to one element, the
    last in thread order wins; on a GPU any of them may."""
    if type(arr) is not ArrayRef:
        _store_composed(run, arr, index, value, m, site)
        return
    base, lanes, m = position(run, arr, index, m, site)
    if m is False:
        return
    at = summed(base, lanes)
    buf = arr.root.writable()
    if run.watched:
        run.about_to_change(arr.root)
    if run.observers:  # they hear of a store before it happens
        run.lane_part = lanes
        for observer in run.observers:
            observer.store(run, site, arr, index, at, m, value)
    if arr.root.count:
        put(run, arr.root, at, value, m)
    else:
        scatter(buf, at, value, m)
        if arr.root.init is not None:
            scatter(arr.root.init, at, np.bool_(True), m)


def _load_composed(run: Run, arr: Any, index: tuple[Value, ...], m: Mask, site: int) -> Value:
    """load() from an array that is not in one place, or whose elements are not in one piece."""
    if isinstance(arr, PiecesRef):
        return arr.joined([load(run, arr.part, at, m, site) for at in arr.indices(index)])
    yes, no = split(m, arr.mask)
    if no is False:
        return load(run, arr.first, index, yes, site)
    if yes is False:
        return load(run, arr.second, index, no, site)
    first = load(run, arr.first, index, yes, site)
    return np.where(arr.mask, first, load(run, arr.second, index, no, site))


def _store_composed(
    run: Run, arr: Any, index: tuple[Value, ...], value: Value, m: Mask, site: int
) -> None:
    """store() into such an array."""
    if isinstance(arr, PiecesRef):
        for at, piece in zip(arr.indices(index), arr.pieces(value), strict=True):
            store(run, arr.part, at, piece, m, site)
        return
    for part, mask in zip((arr.first, arr.second), split(m, arr.mask), strict=True):
        if mask is not False:
            store(run, part, index, value, mask, site)


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
    if isinstance(arr, PiecesRef):
        place = run.program.sites[site]
        raise MisalignedAddressError(
            at_line(
                place.function, place.line, place.line_text,
                f"an atomic operation on {arr.dtype} at addresses that are no multiples of its "
                "size",
                "On a GPU this stops the kernel. Make the records with np.dtype([...], "
                "align=True).",
            ),
            line=place.line, line_text=place.line_text,
        )  # fmt: skip
    base, by_lane, m = position(run, arr, index, m, site)
    if m is False:
        return arr.root.buf.dtype.type(0)
    at = summed(base, by_lane)
    lanes = run.lanes
    buf = arr.root.writable()
    where = np.broadcast_to(where_in_buffer(run, arr.root, at), lanes)
    chosen = np.broadcast_to(m, lanes)
    if run.watched:
        run.about_to_change(arr.root)
    places = np.ascontiguousarray(where[chosen])
    values = [np.ascontiguousarray(np.broadcast_to(v, lanes)[chosen]) for v in operands]
    if name == "cas":
        old = atomics.compare_and_swap(buf, places, values[0], values[1])
    else:
        old = atomics.apply(buf, places, values[0], name)
    if arr.root.init is not None:
        arr.root.init[places] = True
    result = np.zeros(lanes, buf.dtype)
    result[chosen] = old
    if run.observers:
        run.lane_part = by_lane
        for observer in run.observers:
            observer.atomic(run, site, arr, index, at, m, name, operands, result)
    return result if result.size > 1 else result.reshape(-1)[0]
