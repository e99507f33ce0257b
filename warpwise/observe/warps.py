"""Which warps of a mask have an active lane: a compiled loop, kept on disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numba
import numpy as np

from ..simt.launch import Run
from ..simt.values import Mask


@dataclass(frozen=True)
class Population:
    """What is active in a mask: lanes and warps over all blocks, and which warps.

    table: (blocks or 1, warps) bool, or True or False for all.
    """

    mask: Mask
    lanes: int
    warps: int
    table: Any

    def shared(self, other: Population, blocks: int) -> int:
        """How many warps have lanes in both."""
        if self.table is True:
            return other.warps
        if other.table is True:
            return self.warps
        both = np.bitwise_and(self.table, other.table)
        return int(np.count_nonzero(both)) * (1 if both.shape[0] > 1 else blocks)


def population(run: Run, m: Mask) -> Population:
    """The population of a mask of the chunk."""
    blocks, threads = run.lanes
    if m is False:
        return Population(m, 0, 0, np.zeros((1, 1), np.bool_))
    if m is True:
        return Population(m, blocks * threads, blocks * -(-threads // 32), True)
    rows = m.shape[0] if m.ndim == 2 else 1
    mask = m if m.shape == (rows, threads) else np.broadcast_to(m, (rows, threads))
    table = np.empty((rows, -(-threads // 32)), np.bool_)
    _any_lane(mask, table)
    times = blocks if rows == 1 else 1
    lanes, warps = int(np.count_nonzero(mask)), int(np.count_nonzero(table))
    return Population(m, lanes * times, warps * times, table)


@numba.njit(cache=True, nogil=True)
def _any_lane(mask: Any, table: Any) -> None:
    rows, threads = mask.shape
    for row in range(rows):
        for warp in range(table.shape[1]):
            some = False
            for t in range(32 * warp, min(32 * warp + 32, threads)):
                some |= mask[row, t]
            table[row, warp] = some


def warm() -> None:
    """Compile the loop for the two layouts that masks have."""
    mask = np.ones((2, 32), np.bool_)
    for layout in (mask, mask.T.copy().T, np.broadcast_to(mask[:1, :1], (2, 32))):
        _any_lane(layout, np.empty((2, 1), np.bool_))
