"""What has been found out about arrays of indices, so that it is found out once.

A kernel uses the same index again and again: threadIdx.x, or a row number in an inner loop.  Values
of a running kernel are never changed in place, so facts about an array hold while the array lives;
the table keeps the array alive, so its id is not given to another.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .values import I64

SMALL = 2048  # elements; one value per thread of a block, or per block of a chunk
KEPT_SMALL, KEPT_LARGE = 64, 6
BEYOND = np.uint64(2**63 - 1)  # beyond every array


class Known:
    """An index as int64, its least and greatest element, and its multiples by stride."""

    __slots__ = ("high", "i64", "low", "multiples", "source")

    def __init__(self, source: Any) -> None:
        self.source = source
        if source.dtype == np.uint64:
            source = np.minimum(source, BEYOND)  # stays beyond after the change of sign
        self.i64 = source if source.dtype is I64 else source.astype(I64)
        self.low, self.high = int(self.i64.min()), int(self.i64.max())
        self.multiples: dict[int, Any] = {}

    def times(self, stride: int) -> Any:
        """The index times a stride."""
        if stride == 1:
            return self.i64
        found = self.multiples.get(stride)
        if found is None:
            found = self.multiples[stride] = self.i64 * stride
        return found


class Indices:
    """The last arrays that were used as an index, by identity."""

    def __init__(self) -> None:
        self._small: dict[int, Known] = {}
        self._large: dict[int, Known] = {}

    def of(self, i: Any) -> Known:
        """What is known of a non-empty array of integers."""
        key = id(i)
        found = self._small.get(key)
        if found is not None:
            return found
        table, kept = self._small, KEPT_SMALL
        if i.size > SMALL:
            table, kept = self._large, KEPT_LARGE
            found = table.pop(key, None)  # put back at the end: the least recent one goes first
        if found is None:
            found = Known(i)
            if len(table) >= kept:
                del table[next(iter(table))]
        table[key] = found
        return found

    def clear(self) -> None:
        """Let go of the arrays of a chunk."""
        self._small.clear()
        self._large.clear()
