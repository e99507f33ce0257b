"""The shadow of one allocation, and the bits of what is stored there."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..simt.values import Root
from . import shadow


class Area:
    """Who touched each element last.  Shared memory starts with one row for all blocks: while every
    block of the chunk does the same to it, looking at one is enough."""

    def __init__(self, root: Root, elements: int, atomic: bool) -> None:
        self.root = root  # keeps its id from being used again
        self.unit = root.buf.dtype.itemsize  # bytes that a row of the shadow stands for
        self.rows = 1
        self.shadow = shadow.fresh(1, elements)
        self.atomics = shadow.fresh(1, elements if atomic else 0, shadow.ATOMIC_COLUMNS)
        self.values = np.zeros((1, elements), np.int64)
        if root.space == "shared":
            self.init = np.zeros((1, elements), np.uint8)
        elif root.init is not None:
            self.init = root.init.astype(np.uint8).reshape(1, -1)
        else:
            self.init = np.ones((1, elements), np.uint8)

    def expand(self, blocks: int, threads: int) -> None:
        """Give each block a row of its own; what block 0 did, the others did with their threads."""
        if self.rows == blocks:
            return
        shift = (np.arange(blocks, dtype=np.int32) * threads).reshape(blocks, 1, 1)
        for name in ("shadow", "atomics"):
            table = np.repeat(getattr(self, name), blocks, axis=0)
            known = table[:, :, ::4]  # the threads
            table[:, :, ::4] = np.where(known > 0, known + shift, 0)
            setattr(self, name, table)
        self.values = np.repeat(self.values, blocks, axis=0)
        self.init = np.repeat(self.init, blocks, axis=0)
        self.rows = blocks

    def refine(self, unit: int) -> int:
        """Make the unit smaller, for a view of a smaller type; how many rows one became."""
        factor = self.unit // unit
        for name in ("shadow", "atomics", "values", "init"):
            setattr(self, name, np.repeat(getattr(self, name), factor, axis=1))
        self.unit = unit
        return factor

    def forget(self) -> None:
        """Everything so far comes before everything from now on."""
        self.shadow[:, :, ::4] = 0
        self.atomics[:, :, ::4] = 0


def bits_of(dtype: Any, value: Any) -> Any:
    """Stored values as integers, to tell whether two threads wrote the same."""
    if value is None:
        return np.zeros((1, 1), np.int64)
    value = np.asarray(value, dtype)
    if dtype.kind == "c":
        value = value.real + 31 * value.imag
    if value.dtype.kind == "f":
        value = value.view(f"i{value.dtype.itemsize}")
    return np.atleast_2d(value.astype(np.int64))


def digest(bits: Any) -> Any:
    """One number per thread that is equal when the values are equal in every block."""
    if bits.shape[0] == 1:
        return bits
    weights = np.arange(bits.shape[0], dtype=np.int64) * np.int64(0x9E3779B97F4A7C1) | 1
    return np.einsum("b,bt->t", weights, bits).reshape(1, -1)
