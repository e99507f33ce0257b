"""What a matrix instruction computes, for the lanes of many warps at once.

The simulator multiplies exactly, adds in float64 and rounds once to float32.  How a tensor core
rounds on the way is not documented: the last bits of its results may differ.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import misuse
from .fragments import TILES
from .warp import lanes_of, running, warps_of


def mma(run: Any, name: str, a: Any, b: Any, c: Any, m: Any, site: int) -> list[Any]:
    """The four elements of d that each lane gets; a, b, c: the elements it has."""
    tile = TILES[name]
    active = running(run, m)
    part = active & ~active.all(axis=-1, keepdims=True)
    if part.any():
        absent = np.broadcast_to((~active).argmax(axis=-1, keepdims=True), active.shape)
        misuse.note(run, "part_of_warp", site, np.int64(-1), part, absent)
    held = [_stacked(run, values) for values in (a, b, c)]
    if tile.dtype == "float32":
        held[:2] = [tf32(values) for values in held[:2]]
    left, right, start = (
        fragment.scatter(values.astype(np.float64))
        for fragment, values in zip((tile.a, tile.b, tile.c), held, strict=True)
    )
    with np.errstate(all="ignore"):
        whole = (left @ right + start).astype(np.float32)
    own = whole[..., tile.c.places[..., 0], tile.c.places[..., 1]]
    return [lanes_of(run, own[..., k]) for k in range(tile.c.held)]


def _stacked(run: Any, values: Any) -> Any:
    """(rows, warps, 32, held)"""
    lanes = [warps_of(run, value) for value in values]
    return np.stack(np.broadcast_arrays(*lanes), axis=-1)


def tf32(x: Any) -> Any:
    """float32 rounded to the nearest TF32, halfway away from zero, as cvt.rna.tf32.f32 does it."""
    bits = np.ascontiguousarray(x).view(np.uint32)
    rounded = ((bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)).view(np.float32)
    return np.where(np.isnan(x), x, rounded)
