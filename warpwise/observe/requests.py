"""What one warp asks of global memory: its requests in order, lane by lane, for a picture.

Glossary
    request  one access of one warp
    sector   32 bytes of global memory, the unit that moves
    line     128 bytes, four sectors
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..simt.errors import LaunchError
from ..simt.launch import Run
from ..simt.values import ArrayRef, Mask, Value
from .addresses import SECTOR
from .base import Quiet

LINE = 128
LIMIT = 4096


@dataclass(frozen=True)
class Request:
    """One access of one warp.  line: in the learner's file or cell.

    starts: lane -> its first byte, counted from the array's start, a multiple of 256 on a GPU.
    """

    kind: str  # "load" | "store" | "atomic"
    array: str
    line: int
    itemsize: int
    starts: dict[int, int]

    @cached_property
    def sectors(self) -> tuple[int, ...]:
        """Numbers of the sectors that move, counted from the array's start."""
        width = self.itemsize
        return tuple(sorted({sector for start in self.starts.values()
                             for sector in range(start // SECTOR,
                                                 (start + width - 1) // SECTOR + 1)}))  # fmt: skip

    @property
    def lines_128b(self) -> tuple[int, ...]:
        """Numbers of the lines of 128 bytes in which the sectors lie."""
        return tuple(sorted({sector * SECTOR // LINE for sector in self.sectors}))

    @property
    def bytes_requested(self) -> int:
        """What the lanes ask for together; bytes that several lanes ask for count for each."""
        return self.itemsize * len(self.starts)

    @property
    def bytes_moved(self) -> int:
        """32 bytes for each sector."""
        return SECTOR * len(self.sectors)


class Requests(Quiet):
    """Records the accesses of one warp to global memory, at most `limit` of them.

    block: its number in the launch; warp: its number in the block; arrays: only these names.
    After the run: `found`, and `left_out`, how many did not fit.
    """

    label = "counted"

    def __init__(
        self, block: int = 0, warp: int = 0, *, arrays: str | Iterable[str] | None = None,
        limit: int = LIMIT,
    ) -> None:  # fmt: skip
        self.block, self.warp, self.limit = block, warp, limit
        self.arrays = None if arrays is None else {arrays} if isinstance(arrays, str) else {*arrays}
        self.found: list[Request] = []
        self.left_out = 0

    def begin(self, run: Run) -> None:
        self.found, self.left_out = [], 0
        blocks = int(np.prod(run.grid))
        warps = -(-run.threads_per_block // 32)
        if not 0 <= self.block < blocks:
            raise LaunchError(f"there is no block {self.block}: the launch has {blocks}.")
        if not 0 <= self.warp < warps:
            raise LaunchError(f"there is no warp {self.warp}: a block of this launch has {warps}.")

    def load(
        self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value, m: Mask,
        value: Value,
    ) -> None:  # fmt: skip
        self._record("load", run, site, arr, at, m)

    def store(
        self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value, m: Mask,
        value: Value,
    ) -> None:  # fmt: skip
        self._record("store", run, site, arr, at, m)

    def atomic(
        self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value, m: Mask,
        name: str, operands: tuple[Value, ...], old: Value,
    ) -> None:  # fmt: skip
        self._record("atomic", run, site, arr, at, m)

    def _record(self, kind: str, run: Run, site: int, arr: ArrayRef, at: Value, m: Mask) -> None:
        row = self.block - run.first_block
        name = arr.name
        wanted = self.arrays is None or name in self.arrays or name.partition(".")[0] in self.arrays
        if not 0 <= row < run.lanes[0] or arr.root.space != "global" or not wanted:
            return
        lanes = slice(32 * self.warp, 32 * self.warp + 32)
        there = _of(run, np.bool_(True) if m is True else m, row)[lanes]
        if not there.any():
            return
        if len(self.found) == self.limit:
            self.left_out += 1
            return
        itemsize = arr.root.buf.dtype.itemsize
        first = _of(run, at, row)[lanes] * itemsize
        chosen = np.flatnonzero(there)
        starts = dict(zip(chosen.tolist(), first[chosen].tolist(), strict=True))
        line = run.program.sites[site].line
        self.found.append(Request(kind, name, line, itemsize, starts))


def _of(run: Run, value: Any, row: int) -> Any:
    """The values of one block of the chunk."""
    return np.broadcast_to(value, run.lanes)[row]
