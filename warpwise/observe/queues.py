"""Which lanes of one warp an atomic operation sends to which element, and what that makes of it.

Glossary
    request   one atomic operation of one warp
    queue     the lanes of a request that want the same element
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..simt.launch import Run
from ..simt.values import ArrayRef, Mask, Value
from . import addresses
from .base import Quiet

LIMIT = 10_000
SECTOR, BANKS, WORD = 32, 32, 4


@dataclass(frozen=True)
class Queue:
    """The lanes on one element.  place: its sector in global memory, its bank in shared memory."""

    index: tuple[int, ...]
    place: int
    lanes: tuple[int, ...]


@dataclass(frozen=True)
class Request:
    """One atomic operation of the warp.  queues: by element, in the order of memory."""

    function: str
    line: int
    array: str
    space: str  # "global" | "shared"
    queues: tuple[Queue, ...]
    transactions: int

    @property
    def longest(self) -> int:
        """Most lanes on one element."""
        return max(len(queue.lanes) for queue in self.queues)


class Queues(Quiet):
    """Records the atomic operations of one warp: `requests`, at most `limit` of them.

    block, warp: their numbers in the launch and in the block.
    """

    label = "counted"

    def __init__(self, block: int = 0, warp: int = 0, limit: int = LIMIT) -> None:
        self.block, self.warp, self.limit = block, warp, limit
        self.requests: list[Request] = []
        self.left_out = 0

    def atomic(
        self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value, m: Mask,
        name: str, operands: tuple[Value, ...], old: Value,
    ) -> None:  # fmt: skip
        blocks, threads = run.lanes
        row, first = self.block - run.first_block, 32 * self.warp - run.first_thread
        if not (0 <= row < blocks and 0 <= first < threads):
            return

        def of_warp(value: Any) -> Any:
            return np.broadcast_to(value, run.lanes)[row, first : first + 32]

        lanes = np.flatnonzero(of_warp(m))
        if not lanes.size:
            return
        if len(self.requests) >= self.limit:
            self.left_out += 1
            return
        positions = of_warp(at)[lanes].astype(np.int64)
        columns = [
            np.where(column < 0, column + size, column)  # as the cell it means
            for column, size in ((of_warp(i)[lanes], of_warp(n)[lanes])
                                 for i, n in zip(index, arr.shape, strict=True))
        ]  # fmt: skip
        where, itemsize = run.program.sites[site], arr.root.buf.dtype.itemsize
        shared = arr.root.space == "shared"
        queues = []
        for position in np.unique(positions).tolist():
            chosen = np.flatnonzero(positions == position)
            byte = position * itemsize
            place = byte // WORD % BANKS if shared else byte // SECTOR
            cell = tuple(int(column[chosen[0]]) for column in columns)
            queues.append(Queue(cell, place, tuple(lanes[chosen].tolist())))
        self.requests.append(
            Request(
                where.function, where.line, where.array, arr.root.space, tuple(queues),
                _transactions(lanes, positions, itemsize, shared),
            )
        )  # fmt: skip


def _transactions(lanes: Any, positions: Any, itemsize: int, shared: bool) -> int:
    """By the same rule as the counters."""
    at, mask, out = np.zeros((1, 32), np.int64), np.zeros((1, 32), np.bool_), np.zeros(6, np.int64)
    at[0, lanes], mask[0, lanes] = positions, True
    count = addresses.bank_queues if shared else addresses.collisions
    count(at, mask, itemsize, out)
    return int(out[3])
