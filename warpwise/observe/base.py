"""What the observers have in common."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..simt.launch import Run
from ..simt.values import ArrayRef, Mask, Value


class Quiet:
    """An observer that hears everything and does nothing; tools override what they need.

    `needs_counts` asks for a program that reports segments and branches.
    """

    needs_counts = False

    def begin(self, run: Run) -> None: ...

    def load(
        self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value, m: Mask,
        value: Value,
    ) -> None: ...  # fmt: skip

    def store(
        self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value, m: Mask,
        value: Value,
    ) -> None: ...  # fmt: skip

    def atomic(
        self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value, m: Mask,
        name: str, operands: tuple[Value, ...], old: Value,
    ) -> None: ...  # fmt: skip

    def allocate(self, run: Run, place: Any, arr: ArrayRef) -> None: ...

    def segment(self, run: Run, number: int, m: Mask) -> None: ...

    def branch(self, run: Run, site: int, yes: Mask, no: Mask) -> None: ...

    def begin_chunk(self, run: Run) -> None: ...

    def end_chunk(self, run: Run) -> None: ...

    def barrier(self, run: Run, site: int, m: Mask) -> None: ...

    def grid_barrier(self, run: Run, site: int) -> None: ...

    def warp_barrier(self, run: Run, site: int, mask: Value, m: Mask) -> None: ...

    def fence(self, run: Run, site: int, device: bool, m: Mask) -> None: ...

    def end(self, run: Run) -> None: ...


def active(run: Run, m: Mask, *values: Value) -> tuple[Any, ...]:
    """Linear numbers of the lanes of a mask within the chunk, and each value for these lanes."""
    lanes = run.lanes
    if m is True:
        chosen = np.arange(lanes[0] * lanes[1])
        return (chosen, *(np.broadcast_to(v, lanes).reshape(-1) for v in values))
    mask = np.broadcast_to(m, lanes)
    chosen = np.flatnonzero(mask)
    return (chosen, *(np.broadcast_to(v, lanes)[mask] for v in values))
