"""The shadow of one allocation, and the bits of what is stored there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..simt.values import Mask, Root, Value
from . import claims, shadow

SPARE = 1 << 16  # lanes of accesses that are kept beside four for each element


@dataclass(frozen=True)
class Queued:
    """An access to shared memory that waits for a barrier.

    kind: claims.LOAD, STORE or ATOMIC.  at, mask, value: of loads and stores the same for all
    blocks.
    """

    kind: int
    at: Value
    mask: Mask
    value: Value
    dtype: Any
    site: int


@dataclass(frozen=True)
class Logged:
    """An access to global memory that the shadow has not seen.

    kind: claims.LOAD, STORE or ATOMIC.
    at: two arrays whose sum are the positions, see `claims.parts`; mask: as in `shadow.access`.
    epochs, warp_epochs: of the blocks of its chunk, the first of which is `first_block`.
    """

    kind: int
    root: Root
    at: tuple[Any, Any]
    mask: Any
    site: int
    first_block: int
    epochs: Any
    warp_epochs: Any

    def again(self, other: Logged) -> bool:
        """Whether the same lanes do the same to the same elements, at the same time."""
        return (
            self.first_block == other.first_block and self.epochs is other.epochs
            and self.warp_epochs is other.warp_epochs and np.array_equal(self.mask, other.mask)
            and all(a is b or np.array_equal(a, b) for a, b in zip(self.at, other.at, strict=True))
        )  # fmt: skip


@dataclass
class Log:
    """Accesses to global memory none of which can race with another; see `claims`."""

    claims: Any
    init: Any  # which elements hold a value; empty where all do
    kept: dict[int, Logged] = field(default_factory=dict)
    latest: dict[int, int] = field(default_factory=dict)  # site -> its last one
    lanes: int = 0

    def add(self, access: Logged, lanes: int) -> None:
        """Keep an access of so many lanes; of two that are alike the later one says all."""
        before = self.kept.get(self.latest.get(access.site, -1))
        if before is not None and access.again(before):
            del self.kept[self.latest[access.site]]
            self.lanes -= lanes
        number = self.latest[access.site] = next(reversed(self.kept), 0) + 1
        self.kept[number] = access
        self.lanes += lanes


class Area:
    """Who touched each element last.

    Global memory starts without a shadow, with a log of what cannot have raced.  Shared memory
    starts with one row for all blocks: while every block of the chunk does the same to it, looking
    at one is enough; what happens between two barriers waits in `queue`."""

    def __init__(self, root: Root, elements: int, atomic: bool) -> None:
        self.root = root  # keeps its id from being used again
        self.elements = elements
        self.unit = root.buf.dtype.itemsize  # bytes that a row of the shadow stands for
        self.rows = 1
        self.atomic = atomic
        self.log: Log | None = None
        self.queue: list[Queued] = []
        self.held = 0  # bytes of values in the queue
        self.entered = -1  # the last epoch of which the shadow of shared memory knows
        if root.space == "shared":
            self.owners = np.zeros((2, elements), np.int64)
            self.init = np.zeros((1, elements), np.uint8)
            self.complete = False
            self._fill()
        else:
            init = np.zeros(0, np.uint8) if root.init is None else root.init.astype(np.uint8)
            self.log = Log(np.zeros(elements, np.int32), init)

    def _fill(self) -> None:
        self.shadow = shadow.fresh(1, self.elements)
        self.atomics = shadow.fresh(1, self.elements if self.atomic else 0, shadow.ATOMIC_COLUMNS)
        self.values = np.zeros((1, self.elements), np.int64)

    def all_stored(self) -> bool:
        """Whether every element of shared memory holds a value."""
        if not self.complete:
            self.complete = bool(self.init.all())
        return self.complete

    def claim(self, access: Logged, at: Any, threads: int) -> bool:
        """Whether the log can take an access at these positions, and the shadow can wait."""
        log = self.log
        if log is None or log.lanes > 4 * self.elements + SPARE:
            return False
        first_thread = access.first_block * threads
        if not claims.claim(log.claims, log.init, at, access.mask, first_thread, access.kind):
            return False
        log.add(access, at.size)
        return True

    def open(self) -> list[Logged]:
        """Give global memory its shadow; the accesses that it has to be told first."""
        log = self.log
        if log is None:
            return []
        self.log = None
        self._fill()
        self.init = log.init.reshape(1, -1) if log.init.size else (
            np.ones((1, self.elements), np.uint8)
        )  # fmt: skip
        return list(log.kept.values())

    def expand(self, blocks: int, threads: int) -> None:
        """Give each block a row of its own; what block 0 did, the others did with their threads."""
        if self.rows == blocks:
            return
        shift = (np.arange(blocks, dtype=np.int32) * threads).reshape(blocks, 1, 1)
        for name in ("shadow", "atomics"):
            table = np.repeat(getattr(self, name), blocks, axis=0)
            known = table[:, :, ::4]  # the threads
            table[:, :, ::4] = np.where(known > 0, known + shift, 0)
            setattr(self, name, table)
        self.values = np.repeat(self.values, blocks, axis=0)
        self.init = np.repeat(self.init, blocks, axis=0)
        self.rows = blocks

    def refine(self, unit: int) -> int:
        """Make the unit smaller, for a view of a smaller type; how many rows one became."""
        factor = self.unit // unit
        self.elements *= factor
        for name in ("shadow", "atomics", "values", "init"):
            setattr(self, name, np.repeat(getattr(self, name), factor, axis=1))
        if self.root.space == "shared":
            self.owners = np.zeros((2, self.elements), np.int64)
        self.unit = unit
        return factor

    def forget(self) -> None:
        """Everything so far comes before everything from now on."""
        if self.log is not None:
            self.log = Log(np.zeros_like(self.log.claims), self.log.init)
            return
        self.shadow[:, :, ::4] = 0
        self.atomics[:, :, ::4] = 0


def bits_of(dtype: Any, value: Any) -> Any:
    """Stored values as integers, to tell whether two threads wrote the same."""
    if value is None:
        return np.zeros((1, 1), np.int64)
    value = np.asarray(value, dtype)
    if dtype.kind == "c":
        value = value.real + 31 * value.imag
    if value.dtype.kind == "f":
        value = value.view(f"i{value.dtype.itemsize}")
    return np.atleast_2d(value.astype(np.int64))


def digest(bits: Any) -> Any:
    """One number per thread that is equal when the values are equal in every block."""
    if bits.shape[0] == 1:
        return bits
    weights = np.arange(bits.shape[0], dtype=np.int64) * np.int64(0x9E3779B97F4A7C1) | 1
    return np.einsum("b,bt->t", weights, bits).reshape(1, -1)
