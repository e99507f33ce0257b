"""Shared and local arrays: memory that lives as long as a block or a thread.

Each place in the source that asks for an array owns one allocation, as in compiled code, where the
size has to be known to the compiler.  Contents are undefined on a GPU; here they are filled with a
pattern (NaN, 0xCD), so that a kernel that relies on zeros fails at once and in the same way.

    shared   buffer of shape (n, blocks): a position counts within the block
    dynamic  buffer of shape (blocks, n), since arrays of several types share the bytes of a block
    local    buffer of shape (n, blocks * threads): a position counts within the thread

Most kernels use the same elements of shared memory in every block.  With the blocks side by side,
reading an element of all of them copies a row, and arithmetic on such values runs at full speed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .capacity import reserve
from .values import ArrayRef, Root, summed


def poison(buf: Any) -> None:
    """Fill with what nobody should rely on."""
    if buf.dtype.names:
        for name in buf.dtype.names:
            poison(buf[name])
    elif buf.dtype.kind in "fc":
        buf.fill(np.nan)
    elif buf.dtype.kind == "b":
        buf.fill(True)
    elif buf.dtype.kind in "SU":
        buf.fill("?")
    else:
        buf[...] = np.full(buf.dtype.itemsize, 0xCD, np.uint8).view(buf.dtype)


def shared_array(run: Any, place: int, shape: tuple[int, ...], dtype: Any, name: str) -> ArrayRef:
    """The array of `cuda.shared.array` at this place, for the blocks of the chunk."""
    if shape == (0,):
        return dynamic(run, dtype, name)
    return _allocate(run, place, shape, dtype, name, "shared")


def local_array(run: Any, place: int, shape: tuple[int, ...], dtype: Any, name: str) -> ArrayRef:
    """The array of `cuda.local.array` at this place, for the threads of the chunk."""
    return _allocate(run, place, shape, dtype, name, "local")


def _allocate(
    run: Any, place: int, shape: tuple[int, ...], dtype: Any, name: str, space: str
) -> ArrayRef:
    owned = run.local if space == "local" else run.allocations
    found: ArrayRef | None = owned.get(place)
    if found is None:
        n = math.prod(shape)
        blocks, threads = run.lanes
        count = n * (blocks if space == "shared" else blocks * threads)
        reserve(count * np.dtype(dtype).itemsize)
        buf = np.empty(count, dtype)
        poison(buf)
        found = owned[place] = _reference(buf, shape, name, space)
        run.allocated(place, found)
    return found


def _reference(buf: Any, shape: tuple[int, ...], name: str, space: str) -> ArrayRef:
    strides = [1]
    for n in reversed(shape[1:]):
        strides.append(strides[-1] * n)
    root = Root(name, buf, space, count=int(np.prod(shape)))
    extents = tuple(np.int64(n) for n in shape)
    return ArrayRef(root, name, np.int64(0), extents, tuple(reversed(strides)))


def dynamic(run: Any, dtype: Any, name: str) -> ArrayRef:
    """Dynamic shared memory: one piece of bytes per block, the same for every array of size 0."""
    key = ("dynamic", dtype)
    found: ArrayRef | None = run.allocations.get(key)
    if found is None:
        raw, width = dynamic_bytes(run)
        buf = raw.view(dtype)
        count = width // buf.dtype.itemsize
        found = _reference(buf, (run.sharedmem // buf.dtype.itemsize,), name, "shared")
        found.root.count = count
        found.root.bytewise = True
        run.allocations[key] = found
        run.allocated(key, found)
    return found


def dynamic_bytes(run: Any) -> tuple[Any, int]:
    """Dynamic shared memory of the blocks of the chunk, and the bytes of one block."""
    width = -(-run.sharedmem // 16) * 16
    raw = run.allocations.get("dynamic")
    if raw is None:
        raw = run.allocations["dynamic"] = np.full(run.lanes[0] * width, 0xCD, np.uint8)
    return raw, width


def fetch(run: Any, root: Root, base: Any, lanes: Any) -> Any:
    """The elements at these positions, a fresh value for every lane that needs one."""
    blocks, threads = run.lanes
    if root.space == "local":
        if lanes is None:
            got = root.buf.reshape(root.count, blocks, threads)[base].copy()
        else:
            got = root.buf.take(_local(run, summed(base, lanes)))
    elif lanes is None or lanes.shape[0] == 1:  # the same element of every block
        if root.bytewise:
            table = root.buf.reshape(blocks, root.count)[:, base:]
            got = table[:, :1].copy() if lanes is None else table.take(lanes[0], axis=1)
        else:
            table = root.buf.reshape(root.count, blocks)[base:]
            got = table[:1].copy().T if lanes is None else table.take(lanes[0], axis=0).T
    else:
        got = root.buf.take(where_in_buffer(run, root, summed(base, lanes)))
    return got if got.size > 1 else got.reshape(-1)[0]


def put(run: Any, root: Root, at: Any, value: Any, m: Any) -> None:
    """Store under a mask, in lane order."""
    from .memory import scatter

    blocks, threads = run.lanes
    if root.space == "local":
        if m is True and at.ndim == 0:
            root.buf.reshape(root.count, blocks, threads)[at] = value
            return
        full = np.broadcast_to(_local(run, at), (blocks, threads))
        scatter(root.buf, full, value, m)
        return
    per_block = at.ndim == 2 and at.shape[0] == 1
    if per_block and (m is True or m.ndim == 0 or m.shape[0] == 1):
        rows = np.broadcast_to(at[0], (threads,))
        chosen = None if m is True or m.ndim == 0 else np.flatnonzero(m[0])
        if chosen is not None:
            rows = rows[chosen]
        if np.ndim(value):
            value = value.T
            if value.shape[0] > 1 and chosen is not None:
                value = value[chosen]
        table = root.buf.reshape(blocks, root.count).T if root.bytewise else (
            root.buf.reshape(root.count, blocks)
        )  # fmt: skip
        table[rows] = value
        return
    where = where_in_buffer(run, root, at)
    if at.ndim == 0 and np.ndim(value) == 0 and m is True:
        root.buf[where] = value
        return
    # Every thread of the block stores: broadcast to lanes, so that the last one wins.
    full = np.broadcast_to(where, (blocks, threads))
    scatter(root.buf, full, value, m)


def where_in_buffer(run: Any, root: Root, at: Any) -> Any:
    """Positions in the flat buffer, whatever the kind of memory."""
    if root.space == "shared":
        if root.bytewise:
            return at + run.block_rows * root.count
        return at * run.lanes[0] + run.block_rows
    return _local(run, at) if root.space == "local" else at


def _local(run: Any, at: Any) -> Any:
    blocks, threads = run.lanes
    lane = np.arange(blocks * threads, dtype=np.int64).reshape(blocks, threads)
    return at * (blocks * threads) + lane
