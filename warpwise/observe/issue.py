"""What one warp issues, in order, and which of its lanes are active each time.

Glossary
    slot   one instruction of the source that the warp issues, for whichever lanes are active
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from ..simt.launch import Run
from ..simt.values import Mask
from .base import Quiet

LIMIT = 10_000


@dataclass(frozen=True)
class Issue:
    """Instructions of one line that a warp issues one after the other, for the same lanes.

    active: (32,) bool.  Lanes beyond the end of the block are never active.
    """

    function: str
    line: int
    slots: int
    active: Any

    @property
    def lanes(self) -> int:
        """How many lanes are active."""
        return int(np.count_nonzero(self.active))


class Issues(Quiet):
    """Records what one warp issues: `issues`, at most `limit` of them, and all `slots` and `lanes`.

    block, warp: their numbers in the launch and in the block.
    """

    needs_counts = True

    def __init__(self, block: int = 0, warp: int = 0, limit: int = LIMIT) -> None:
        self.block, self.warp, self.limit = block, warp, limit
        self.issues: list[Issue] = []
        self.slots = 0  # also those beyond the limit
        self.lanes = 0  # summed over the slots
        self.left_out = 0  # issues

    def segment(self, run: Run, number: int, m: Mask) -> None:
        active = self._active(run, m)
        if active is None or not active.any():
            return
        for function, line, slots in _by_line(run.program.segments[number]):
            issue = Issue(function, line, slots, active)
            self.slots += slots
            self.lanes += slots * issue.lanes
            if len(self.issues) < self.limit:
                self.issues.append(issue)
            else:
                self.left_out += 1

    def _active(self, run: Run, m: Mask) -> Any:
        """(32,) bool of the warp's lanes; None where the block does not run just now."""
        blocks, threads = run.lanes
        row, first = self.block - run.first_block, 32 * self.warp - run.first_thread
        if not (0 <= row < blocks and 0 <= first < threads):
            return None
        mask = np.broadcast_to(m, run.lanes)[row, first : first + 32]
        active = np.zeros(32, np.bool_)
        active[: mask.size] = mask
        return active


def _by_line(entries: list[tuple[str, int, str, str]]) -> Iterator[tuple[str, int, int]]:
    """(function, line, instructions), in the order of the segment."""
    for (function, line), group in groupby(entries, key=lambda entry: entry[:2]):
        yield function, line, len(list(group))
