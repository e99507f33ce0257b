"""Writers: the census, and whether one thread or several stored to an element."""

from __future__ import annotations

import numpy as np

from warpwise.observe import Census
from warpwise.observe.base import active
from warpwise.observe.census import positions
from warpwise.simt.launch import Run
from warpwise.simt.values import ArrayRef, Mask, Value


class Writers(Census):
    """After the run, beside the census: `several[name]`, bool, shaped like the array argument.

    True where two or more threads stored to the element.
    """

    def __init__(self) -> None:
        super().__init__()
        self.several: dict[str, np.ndarray] = {}
        self._last: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def begin(self, run: Run) -> None:
        super().begin(run)
        self._last = {}
        for value in run.arguments.values():
            if isinstance(value, ArrayRef) and id(value.root) not in self._last:
                n = value.root.buf.size
                self._last[id(value.root)] = np.full(n, -1, np.int64), np.zeros(n, bool)

    def store(
        self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value, m: Mask,
        value: Value,
    ) -> None:  # fmt: skip
        super().store(run, site, arr, index, at, m, value)
        if id(arr.root) not in self._last:
            return
        last, several = self._last[id(arr.root)]
        lanes, where = active(run, m, at)
        threads = lanes + run.first_block * run.threads_per_block
        several[where[(last[where] >= 0) & (last[where] != threads)]] = True
        last[where] = threads
        several[where[last[where] != threads]] = True  # two threads of this very store

    def end(self, run: Run) -> None:
        super().end(run)
        for name, value in run.arguments.items():
            if isinstance(value, ArrayRef):
                self.several[name] = self._last[id(value.root)][1][positions(value)]
