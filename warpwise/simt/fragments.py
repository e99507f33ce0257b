"""Who holds which element when a warp multiplies small matrices: the fragments of mma.sync.

A matrix instruction computes D = A B + C for a whole warp.  No thread has a matrix: each of the 32
lanes holds a few elements of every matrix, in its registers, and the instruction says which.

    lane      4 * group + place:  8 groups of 4 lanes
    fragment  the elements of one matrix that one lane holds

Source: PTX ISA, "Matrix fragments for mma.m16n8k8" (.tf32) and "... mma.m16n8k16" (.f16).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

LANES = 32
GROUP, PLACE = np.divmod(np.arange(LANES), 4)


@dataclass(frozen=True)
class Fragment:
    """One matrix of an instruction.  places: (32, held, 2), the row and the column of each element
    that each lane holds, in the order of its registers."""

    matrix: str  # "a", "b" or "c"; d lies as c
    rows: int
    columns: int
    places: Array

    @property
    def held(self) -> int:
        """Elements in each lane."""
        return self.places.shape[1]

    @cached_property
    def holders(self) -> Array:
        """(rows, columns, 2): lane and index of every element."""
        found = np.full((self.rows, self.columns, 2), -1)
        lanes, indices = np.indices(self.places.shape[:2])
        found[self.places[..., 0], self.places[..., 1]] = np.stack([lanes, indices], axis=-1)
        return found

    def gather(self, matrix: Array) -> Array:
        """(32, held): the fragments of a matrix (rows, columns)."""
        return np.asarray(matrix)[self.places[..., 0], self.places[..., 1]]

    def scatter(self, held: Array) -> Array:
        """(..., rows, columns) from fragments (..., 32, held)."""
        whole = np.empty((*held.shape[:-2], self.rows, self.columns), held.dtype)
        whole[..., self.places[..., 0], self.places[..., 1]] = held
        return whole


@dataclass(frozen=True)
class Tile:
    """An instruction's shape, the type of a and b, and its three fragments; c and d are float32."""

    name: str
    m: int
    n: int
    k: int
    dtype: str  # "float16" | "float32"; float32 is rounded to TF32
    a: Fragment
    b: Fragment
    c: Fragment


def _places(rows: Any, columns: Any) -> Array:
    """(32, held, 2) of two lists with an array of 32 lanes, or a number, for each register."""
    pairs = [
        np.stack(np.broadcast_arrays(row, column), axis=-1)
        for row, column in zip(rows, columns, strict=True)
    ]
    return np.stack(pairs, axis=1)


_PAIR = [2 * PLACE, 2 * PLACE + 1]
_FAR = [column + 8 for column in _PAIR]
_LOW, _HIGH = GROUP, GROUP + 8

_C = Fragment("c", 16, 8, _places([_LOW, _LOW, _HIGH, _HIGH], _PAIR + _PAIR))

M16N8K16 = Tile(
    "m16n8k16", 16, 8, 16, "float16",
    a=Fragment("a", 16, 16, _places([_LOW, _LOW, _HIGH, _HIGH] * 2, _PAIR + _PAIR + _FAR + _FAR)),
    b=Fragment("b", 16, 8, _places(_PAIR + _FAR, [GROUP] * 4)),
    c=_C,
)  # fmt: skip

M16N8K8 = Tile(
    "m16n8k8", 16, 8, 8, "float32",
    a=Fragment("a", 16, 8, _places([_LOW, _HIGH, _LOW, _HIGH],
                                   [PLACE, PLACE, PLACE + 4, PLACE + 4])),
    b=Fragment("b", 8, 8, _places([PLACE, PLACE + 4], [GROUP] * 2)),
    c=_C,
)  # fmt: skip

TILES = {tile.name: tile for tile in (M16N8K16, M16N8K8)}
