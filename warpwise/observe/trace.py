"""Which thread touched which cell when: for pictures of small launches, or of one block of a large
one.

Glossary
    step   one access in the source, run by all lanes that are there; a GPU promises no order
           between the threads of a step, nor between warps without a barrier
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..simt.dimensions import Dim3, unravel
from ..simt.errors import LaunchError
from ..simt.launch import Run
from ..simt.values import ArrayRef, Mask, Value
from .base import Quiet

LIMIT = 100_000


@dataclass(frozen=True)
class Event:
    """One access of one thread.  line: counts in the learner's file or cell.  value: what was read
    or stored, of an atomic the old value.  step: counts the accesses of the source, in order."""

    kind: str  # "load" | "store" | "atomic"
    array: str
    index: tuple[int, ...]
    block: Dim3
    thread: Dim3
    line: int
    value: Any
    step: int = 0


@dataclass(frozen=True)
class _Batch:
    """The accesses of one step: linear threads of the launch, a column for each axis, values."""

    kind: str
    array: str
    line: int
    step: int
    threads: Any
    columns: tuple[Any, ...]
    values: Any


class Trace(Quiet):
    """Records accesses in the order in which the simulator runs them, at most `limit` of them.

    block: only that one, a number in the launch or (x, y, z).  arrays: only these names.
    After the run: `events`; `barriers`, the (step, line) before which blocks met; `steps`, how many
    there were; `left_out`, how many accesses did not fit, and `note`, the sentence about them.
    """

    label = "counted"

    def __init__(
        self, limit: int = LIMIT, *, block: int | Dim3 | None = None,
        arrays: str | Iterable[str] | None = None,
    ) -> None:  # fmt: skip
        self.limit = limit
        self.block = block
        self.arrays = None if arrays is None else {arrays} if isinstance(arrays, str) else {*arrays}
        self.barriers: list[tuple[int, int]] = []
        self.left_out = 0
        self.recorded = 0
        self._batches: list[_Batch] = []
        self.steps = 0
        self._launch: tuple[Dim3, Dim3] = ((1, 1, 1), (1, 1, 1))
        self._chosen: int | None = None

    @property
    def truncated(self) -> bool:
        """Whether accesses were left out."""
        return self.left_out > 0

    @property
    def note(self) -> str:
        """What was left out, and how to see it; "" where all is there."""
        if not self.left_out:
            return ""
        ways = ["a larger limit"]
        if self.arrays is None:
            ways.insert(0, "one array (arrays='out')")
        if self.block is None:
            ways.insert(0, "one block (block=0)")
        return (
            f"{self.left_out:,} of {self.left_out + self.recorded:,} accesses are left out: a "
            f"trace keeps {self.limit:,}. Give Trace {' or '.join(ways)}."
        )

    def begin(self, run: Run) -> None:
        self.__dict__.pop("events", None)
        self.barriers, self._batches = [], []
        self.left_out = self.recorded = self.steps = 0
        self._launch = run.grid, run.block
        self._chosen = None
        if self.block is not None:
            self._chosen = _linear(self.block, run.grid)

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

    def atomic(
        self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value, m: Mask,
        name: str, operands: tuple[Value, ...], old: Value,
    ) -> None:  # fmt: skip
        self._record("atomic", run, site, arr, index, m, old)

    def barrier(self, run: Run, site: int, m: Mask) -> None:
        if self._lanes(run, m).size:
            self.barriers.append((self.steps, run.program.sites[site].line))

    def grid_barrier(self, run: Run, site: int) -> None:
        self.barrier(run, site, True)

    def _lanes(self, run: Run, m: Mask) -> Any:
        """Linear lanes of the chunk that are to be traced."""
        blocks, threads = run.lanes
        if self._chosen is None:
            if m is True:
                return np.arange(blocks * threads)
            return np.flatnonzero(np.broadcast_to(m, run.lanes))
        row = self._chosen - run.first_block
        if not 0 <= row < blocks:
            return np.zeros(0, np.int64)
        here = np.ones(threads, np.bool_) if m is True else np.broadcast_to(m, run.lanes)[row]
        return row * threads + np.flatnonzero(here)

    def _record(
        self, kind: str, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], m: Mask,
        value: Value,
    ) -> None:  # fmt: skip
        if self.arrays is not None and arr.name not in self.arrays:
            return
        lanes = self._lanes(run, m)
        if not lanes.size:
            return
        self.steps += 1
        room = self.limit - self.recorded
        self.left_out += max(0, lanes.size - room)
        lanes = lanes[:room]
        if not lanes.size:
            return
        self.recorded += lanes.size
        columns = []
        for i, n in zip(index, arr.shape, strict=True):
            column, size = _pick(run, i, lanes), _pick(run, n, lanes)
            columns.append(np.where(column < 0, column + size, column))  # as the cell it means
        self._batches.append(
            _Batch(
                kind,
                arr.name,
                run.program.sites[site].line,
                self.steps,
                lanes + run.first_block * run.threads_per_block,
                tuple(columns),
                _pick(run, value, lanes),
            )
        )

    @cached_property
    def events(self) -> list[Event]:
        """The accesses in order; within a step, in thread order."""
        grid, block = self._launch
        size = block[0] * block[1] * block[2]
        found = []
        for b in self._batches:
            cells = zip(*(c.tolist() for c in b.columns), strict=True)
            for thread, cell, value in zip(b.threads.tolist(), cells, b.values, strict=True):
                of_block, inside = divmod(thread, size)
                found.append(
                    Event(b.kind, b.array, cell, unravel(of_block, grid), unravel(inside, block),
                          b.line, value.item(), b.step)
                )  # fmt: skip
        return found


def _pick(run: Run, value: Value, lanes: Any) -> Any:
    """A value for some lanes; one that is the same for all is not spread over the chunk first."""
    row, column = lanes // run.lanes[1], lanes % run.lanes[1]
    return np.broadcast_to(value, run.lanes)[row, column]


def _linear(block: int | Dim3, grid: Dim3) -> int:
    """Number of a block in the launch.  LaunchError for one that the launch does not have."""
    number = block if isinstance(block, int) else -1
    if not isinstance(block, int):
        place = (*block, 0, 0)[:3]
        if all(0 <= p < n for p, n in zip(place, grid, strict=True)):
            number = place[0] + grid[0] * (place[1] + grid[1] * place[2])
    if not 0 <= number < grid[0] * grid[1] * grid[2]:
        raise LaunchError(f"there is no block {block} to trace: the grid is {grid}.")
    return number
