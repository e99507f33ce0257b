"""Warp functions: 32 lanes that exchange registers.

A value of shape (blocks, threads) becomes (rows, warps, 32); a last warp that is not full has lanes
that take no part.  Source of the shuffle rules: PTX ISA, section shfl.sync (Numba fixes the clamp,
so there are no sub-warp widths).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import misuse

Value = Any
LANE = np.arange(32)


def warps_of(run: Any, value: Value, fill: Any = 0) -> Any:
    """(rows, warps, 32) of a value; rows is 1 when all blocks agree."""
    threads = run.lanes[1]
    value = np.asarray(value)
    rows = value.shape[0] if value.ndim == 2 else 1
    full = np.broadcast_to(value, (rows, threads))
    pad = -threads % 32
    if pad:
        full = np.concatenate([full, np.full((rows, pad), fill, full.dtype)], axis=1)
    return full.reshape(rows, -1, 32)


def lanes_of(run: Any, warps: Any) -> Value:
    """Back to (rows, threads); a scalar when there is one lane only."""
    flat = warps.reshape(warps.shape[0], -1)[:, : run.lanes[1]]
    return flat if flat.size > 1 else flat.reshape(-1)[0]


def running(run: Any, m: Any) -> Any:
    """(rows, warps, 32): which lanes are here."""
    return warps_of(run, np.bool_(True) if m is True else m, False)


def members(run: Any, mask: Value, m: Any, site: int) -> tuple[Any, Any]:
    """(lanes that run this, those of them that the mask names)."""
    active = running(run, m)
    masks = warps_of(run, mask.astype(np.int64))
    named = (masks >> LANE) & 1 == 1
    if (active & ~named).any():
        misuse.note(run, "mask_without_caller", site, mask, active & ~named)
    if m is not True:
        _check_absent(run, mask, masks, active, site)
    return active, active & named


def _check_absent(run: Any, mask: Value, masks: Any, active: Any, site: int) -> None:
    """Note lanes that the mask of a caller names, and that go on elsewhere."""
    wanted = np.bitwise_or.reduce(np.where(active, masks, 0), axis=2)
    alive = ~warps_of(run, np.bool_(False) if run.exited is False else run.exited, True)
    absent = ((wanted[:, :, None] >> LANE) & 1 == 1) & alive & ~active
    if absent.any():
        # Each caller whose mask names one of them, with the first that it names.
        missed = ((masks[..., None] >> LANE) & 1 == 1) & absent[:, :, None, :]
        missed = missed & active[..., None]
        misuse.note(run, "mask_names_absent", site, mask, missed.any(axis=3), missed.argmax(axis=3))


def shuffle(run: Any, mode: str, mask: Value, value: Value, by: Value, m: Any, site: int) -> Value:
    """The value of another lane: "idx", "up", "down" or "xor" by `by` (only 5 bits count)."""
    active, named = members(run, mask, m, site)
    by = warps_of(run, by).astype(np.int64) & 31
    source = {"idx": by, "up": LANE - by, "down": LANE + by, "xor": LANE ^ by}[mode]
    inside = (source >= 0) & (source < 32)
    source = np.where(inside, source, LANE)
    values = warps_of(run, value)
    rows = max(values.shape[0], source.shape[0], named.shape[0])
    shape = (rows, values.shape[1], 32)
    source = np.broadcast_to(source, shape)
    got = np.take_along_axis(np.broadcast_to(values, shape), source, axis=2)
    sends = np.take_along_axis(np.broadcast_to(named, shape), source, axis=2)
    if (active & ~sends).any():
        misuse.note(run, "inactive_source", site, mask, active & ~sends, source)
    return lanes_of(run, got)


def bits_of(lanes: Any) -> Any:
    """uint32 with a bit for each lane of the last axis."""
    return (lanes.astype(np.uint32) << LANE.astype(np.uint32)).sum(axis=2, dtype=np.uint32)


def _spread(run: Any, per_warp: Any) -> Value:
    """One value per warp, given to each of its lanes."""
    return lanes_of(run, np.repeat(per_warp[:, :, None], 32, axis=2))


def ballot(run: Any, mask: Value, predicate: Value, m: Any, site: int) -> Value:
    """Bit per lane whose predicate holds; int32, so that all lanes give -1, as in Numba."""
    _, named = members(run, mask, m, site)
    bits = bits_of(named & warps_of(run, predicate, False))
    return _spread(run, bits.view(np.int32))


def vote(run: Any, mode: str, mask: Value, predicate: Value, m: Any, site: int) -> Value:
    """all_sync, any_sync, eq_sync of the lanes in the mask."""
    _, named = members(run, mask, m, site)
    holds = warps_of(run, predicate, False)
    every, some = (holds | ~named).all(axis=2), (holds & named).any(axis=2)
    return _spread(run, {"all": every, "any": some, "eq": every | ~some}[mode])


def _equal_pairs(run: Any, value: Value, members: Any) -> Any:
    """[.., i, j]: lanes i and j take part and hold the same bits."""
    values = warps_of(run, value)
    if values.dtype.kind == "f":
        values = values.view(np.dtype(f"u{values.dtype.itemsize}"))
    same = values[..., :, None] == values[..., None, :]
    return same & members[..., :, None] & members[..., None, :]


def match_any(run: Any, mask: Value, value: Value, m: Any, site: int) -> Value:
    """For each lane, the lanes that hold the same value; int32."""
    _, named = members(run, mask, m, site)
    pairs = _equal_pairs(run, value, named)
    weights = np.uint32(1) << LANE.astype(np.uint32)
    bits = (pairs * weights).sum(axis=3, dtype=np.uint32).view(np.int32)
    return lanes_of(run, bits)


def match_all(run: Any, mask: Value, value: Value, m: Any, site: int) -> tuple[Value, Value]:
    """(mask, True) when all lanes hold the same value, else (0, False)."""
    _, named = members(run, mask, m, site)
    pairs = _equal_pairs(run, value, named)
    everyone = named[..., :, None] & named[..., None, :]
    same = (pairs == everyone).all(axis=(2, 3))
    bits = np.where(same, bits_of(np.broadcast_to(named, pairs.shape[:3])), 0).astype(np.uint32)
    return _spread(run, bits.view(np.int32)), _spread(run, same)


def activemask(run: Any, m: Any) -> Value:
    """Bits of the lanes that run this together; uint32."""
    return _spread(run, bits_of(running(run, m)))


def lanemask_lt(run: Any) -> Value:
    """Bits of the lower lanes; uint32."""
    lane = np.asarray(run.laneid).astype(np.uint32)
    return ((np.uint32(1) << lane) - np.uint32(1))[()]


def _unsigned(x: Value) -> Value:
    return x.view(np.dtype(f"u{x.dtype.itemsize}"))


def popc(x: Value) -> Value:
    """Number of one bits."""
    return np.bitwise_count(_unsigned(x)).astype(x.dtype)


def clz(x: Value) -> Value:
    """Number of leading zero bits."""
    bits = _unsigned(x)
    width = x.dtype.itemsize * 8
    shift = 1
    while shift < width:
        bits = bits | (bits >> bits.dtype.type(shift))
        shift *= 2
    return (width - np.bitwise_count(bits).astype(np.int64)).astype(x.dtype)


def ffs(x: Value) -> Value:
    """Position of the lowest one bit, from 1; 0 for 0; uint32."""
    bits = _unsigned(x)
    lowest = bits & (~bits + bits.dtype.type(1))
    found = np.bitwise_count(lowest - bits.dtype.type(1)).astype(np.uint32) + np.uint32(1)
    return np.where(bits == 0, np.uint32(0), found)[()]


def brev(x: Value) -> Value:
    """The bits in reverse order; uint32 or uint64."""
    width = x.dtype.itemsize * 8
    one = x.dtype.type
    shift = width // 2
    mask = one((1 << width) - 1)
    while shift:
        mask = mask ^ (mask << one(shift))
        x = ((x >> one(shift)) & mask) | ((x << one(shift)) & ~mask)
        shift //= 2
    return x
