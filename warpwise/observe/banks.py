"""What one warp asks of shared memory, access by access: its words, their banks, the wavefronts.

Glossary
    word   4 bytes of an array in shared memory, numbered from the array's start
    bank   word modulo 32
    phase  lanes that go through the banks together: all, or a half or a quarter of the warp where
           an element has two or four words
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..simt.launch import Run
from ..simt.values import ArrayRef, Mask, Value
from . import addresses
from .addresses import BANKS
from .base import Quiet

_VERBS = {"load": "reads", "store": "writes"}


@dataclass(frozen=True)
class SharedAccess:
    """One access of one warp.

    label: for example "line 7 reads s", and which one where the line comes again.
    lanes: lane -> its first word; width: words an element touches; together: lanes of a phase;
    wavefronts, ideal: as the counters count them.
    """

    label: str
    lanes: Mapping[int, int]
    width: int
    together: int
    wavefronts: int
    ideal: int

    @property
    def words(self) -> dict[int, list[int]]:
        """Word -> the lanes that ask for it."""
        found: dict[int, list[int]] = {}
        for lane, first in self.lanes.items():
            for word in range(first, first + self.width):
                found.setdefault(word, []).append(lane)
        return dict(sorted(found.items()))

    @property
    def ways(self) -> list[int]:
        """For each bank the most distinct words that one phase asks of it."""
        asked: dict[tuple[int, int], set[int]] = {}
        for word, lanes in self.words.items():
            for lane in lanes:
                asked.setdefault((lane // self.together, word % BANKS), set()).add(word)
        most = [0] * BANKS
        for (_, bank), words in asked.items():
            most[bank] = max(most[bank], len(words))
        return most


class WarpInShared(Quiet):
    """Records the loads and stores of one warp in shared memory, at most `limit` of them.

    block: its number in the launch; warp: its number in the block; array: only this one; kind: only
    "load" or "store".
    After the run: `accesses`.
    """

    label = "counted"

    def __init__(
        self, block: int, warp: int, array: str | None = None, kind: str | None = None,
        limit: int = 64,
    ) -> None:  # fmt: skip
        self.block = block
        self.warp = warp
        self.array = array
        self.kind = kind
        self.limit = limit
        self.accesses: list[SharedAccess] = []
        self._often: dict[str, int] = {}

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

    def _record(self, kind: str, run: Run, site: int, arr: ArrayRef, at: Value, m: Mask) -> None:
        row = self.block - run.first_block
        if arr.root.space != "shared" or not 0 <= row < run.lanes[0]:
            return
        where = run.program.sites[site]
        if self.array not in (None, where.array) or self.kind not in (None, kind):
            return
        if len(self.accesses) >= self.limit:
            return
        lanes = slice(32 * self.warp, 32 * self.warp + 32)
        here = np.broadcast_to(np.bool_(True) if m is True else m, run.lanes)[row, lanes]
        if not here.any():
            return
        itemsize = arr.root.buf.dtype.itemsize
        mask = np.ascontiguousarray(here)[None]
        positions = np.array(np.broadcast_to(at, run.lanes)[row, lanes], np.int64)[None]
        counts = np.zeros(6, np.int64)
        addresses.wavefronts(positions, mask, itemsize, counts)
        self.accesses.append(SharedAccess(
            self._label(f"line {where.line} {_VERBS[kind]} {where.array}"),
            {int(lane): int(positions[0, lane]) * itemsize // 4 for lane in np.flatnonzero(mask)},
            max(1, itemsize // 4), addresses.lanes_a_phase(positions, mask, itemsize),
            int(counts[2]), int(counts[3]),
        ))  # fmt: skip

    def _label(self, what: str) -> str:
        often = self._often[what] = self._often.get(what, 0) + 1
        return what if often == 1 else f"{what} ({often})"
