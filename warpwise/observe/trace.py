"""Which thread touched which cell, in order: for pictures of small launches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..simt.launch import Run, unravel
from ..simt.values import ArrayRef, Mask, Value
from .base import Quiet, active

Dim3 = tuple[int, int, int]


@dataclass(frozen=True)
class Event:
    """One access of one thread.  `line` counts in the learner's file or cell."""

    kind: str  # "load" | "store"
    array: str
    index: tuple[int, ...]
    block: Dim3
    thread: Dim3
    line: int
    value: Any


class Trace(Quiet):
    """Records accesses in the order in which the simulator runs them, at most `limit` of them.

    Within one line, events are in thread order; a GPU promises no order between threads.
    """

    label = "counted"

    def __init__(self, limit: int = 100_000) -> None:
        self.limit = limit
        self.events: list[Event] = []
        self.truncated = False

    def begin(self, run: Run) -> None:
        self.events = []
        self.truncated = False

    def load(
        self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value, m: Mask,
        value: Value,
    ) -> None:  # fmt: skip
        self._record("load", run, site, arr, index, m, value)

    def store(
        self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value, m: Mask,
        value: Value,
    ) -> None:  # fmt: skip
        self._record("store", run, site, arr, index, m, value)

    def _record(
        self, kind: str, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], m: Mask,
        value: Value,
    ) -> None:  # fmt: skip
        lanes, values, *columns = active(run, m, value, *index)
        room = self.limit - len(self.events)
        if len(lanes) > room:
            self.truncated = True
        line = run.program.sites[site].line
        shape = [np.asarray(n) for n in arr.shape]
        for k in range(min(len(lanes), room)):
            block, thread = divmod(int(lanes[k]), run.threads_per_block)
            at = tuple(int(c[k]) for c in columns)
            if all(n.ndim == 0 for n in shape):  # Numba's negative indices, as the cell they mean
                at = tuple(i + int(n) if i < 0 else i for i, n in zip(at, shape, strict=True))
            self.events.append(
                Event(kind, arr.name, at, unravel(run.first_block + block, run.grid),
                      unravel(thread, run.block), line, values[k].item())
            )  # fmt: skip
