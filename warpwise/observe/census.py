"""Who wrote and who read each element: counted, exact, over all threads of a launch.

Glossary
    census   per element of an array argument: how often written, how often read, by whom last
    writer   linear number of a thread in the launch: block * threads_per_block + thread
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..simt.launch import Run
from ..simt.records import TypedRoot
from ..simt.values import ArrayRef, Mask, Root, Value
from .base import Quiet, active


class Census(Quiet):
    """Counts accesses to the array arguments of one launch.

    After the run, per parameter name: `writes`, `reads` (int64, shaped like the array) and `writer`
    (int64, -1 where nobody wrote).  Elements that a view shares with another argument count for
    both.  Label: counted.
    """

    label = "counted"

    def __init__(self) -> None:
        self.writes: dict[str, Any] = {}
        self.reads: dict[str, Any] = {}
        self.writer: dict[str, Any] = {}
        self._by_root: dict[int, tuple[Any, Any, Any]] = {}

    def begin(self, run: Run) -> None:
        self._by_root = {}
        for value in run.arguments.values():
            if isinstance(value, ArrayRef) and id(value.root) not in self._by_root:
                n = value.root.buf.size
                counts = np.zeros(n, np.int64), np.zeros(n, np.int64), np.full(n, -1, np.int64)
                self._by_root[id(value.root)] = counts

    def load(
        self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value, m: Mask,
        value: Value,
    ) -> None:  # fmt: skip
        counts = self._by_root.get(id(arr.root.memory))
        if counts is not None:
            _, where = active(run, m, _element(arr.root, at))
            counts[1][:] += np.bincount(where, minlength=counts[1].size)

    def store(
        self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value, m: Mask,
        value: Value,
    ) -> None:  # fmt: skip
        counts = self._by_root.get(id(arr.root.memory))
        if counts is not None:
            lanes, where = active(run, m, _element(arr.root, at))
            counts[0][:] += np.bincount(where, minlength=counts[0].size)
            counts[2][where] = lanes + run.first_block * run.threads_per_block

    def atomic(
        self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value, m: Mask,
        name: str, operands: tuple[Value, ...], old: Value,
    ) -> None:  # fmt: skip
        # An atomic operation reads and writes.
        self.load(run, site, arr, index, at, m, None)
        self.store(run, site, arr, index, at, m, None)

    def end(self, run: Run) -> None:
        for name, value in run.arguments.items():
            if isinstance(value, ArrayRef):
                writes, reads, writer = self._by_root[id(value.root)]
                at = positions(value)
                self.writes[name], self.reads[name] = writes[at], reads[at]
                self.writer[name] = writer[at]


def _element(root: Root, at: Value) -> Value:
    """Where the element begins: of a field, the record it belongs to."""
    if not isinstance(root, TypedRoot):
        return at
    unit = root.owner.unit
    return at * root.buf.dtype.itemsize // unit * unit


def positions(ref: ArrayRef) -> Any:
    """Flat position in the root's buffer of each element of an array argument."""
    at = np.asarray(ref.offset, np.int64)
    for axis, (n, stride) in enumerate(zip(ref.shape, ref.strides, strict=True)):
        steps = np.arange(n, dtype=np.int64) * stride
        at = at[..., None] + steps if axis else at + steps
    return at
