"""Happens-before of single threads: what flags, locks and partial warps order.

A barrier orders a whole block, and the shadow knows that by counting.  This is for the rest:

    release   write data, cuda.threadfence(), then an atomic operation on a flag
    acquire   an atomic operation on that flag, then read the data

An atomic operation that changes the flag hands over what its thread knew at its last fence; without
a fence, or where the flag had that value before, it orders nothing.  threadfence_block() serves the
threads of its own block only.  Source: PTX ISA, memory consistency model; the acquiring fence is
not asked for, as CUDA's own samples leave it out.

Glossary
    time      of a thread: its fences, atomic operations and meetings of its warp so far
    clock     what a thread knows of others, by block: what the whole block did before one of its
              barriers, the epoch, and what each of its threads did before a time
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

Known = tuple[int, Any]  # of a block: (epoch, times of its threads or None)


@dataclass(frozen=True, eq=False)
class Clock:
    """By block; immutable and shared."""

    blocks: dict[int, Known]


NOTHING = Clock({})


def _later(a: Known, b: Known) -> Known:
    """What both say of one block; one of the two when that is all."""
    if a is b or (a[1] is b[1] and a[0] >= b[0]):
        return a
    if a[1] is None or b[1] is None:
        times = b[1] if a[1] is None else a[1]
    else:
        times = np.maximum(a[1], b[1])
    return max(a[0], b[0]), times


def join(a: Clock, b: Clock) -> Clock:
    """What both know together; one of the two themselves when that is all."""
    if a is b or b is NOTHING:
        return a
    if a is NOTHING:
        return b
    large, small = (a, b) if len(a.blocks) >= len(b.blocks) else (b, a)
    news = {}
    for block, known in small.blocks.items():
        before = large.blocks.get(block)
        now = known if before is None else _later(before, known)
        if now is not before:
            news[block] = now
    return Clock({**large.blocks, **news}) if news else large


@dataclass
class _Cell:
    """What the last atomic operations on an element hand over."""

    device: Clock = NOTHING
    block: dict[int, Clock] = field(default_factory=dict)  # to threads of that block only
    unfenced: Clock = NOTHING  # what they would hand over if no fence were needed


class _Fences:
    """Per lane, what it knew at its last fence."""

    def __init__(self, shape: tuple[int, int]) -> None:
        self.clock = np.full(shape, NOTHING, object)
        self.time = np.zeros(shape, np.int64)  # 0: no fence of its own since the last barrier
        self.epoch = np.zeros(shape, np.int64)


class Order:
    """The clocks of the threads of a chunk, and of every flag of the launch."""

    def __init__(self) -> None:
        self._cells: dict[tuple[int, int, int], _Cell] = {}
        self.block_fences: dict[int, int] = {}  # thread -> time of its last threadfence_block

    def begin_chunk(self, blocks: int, threads: int, first_block: int) -> None:
        """No lane knows anything of others; flags in global memory stay."""
        shape = blocks, threads
        self.first = first_block
        self.threads = threads
        self.times = np.ones(shape, np.int64)
        self.known = np.full(shape, NOTHING, object)
        self.unfenced = np.full(shape, NOTHING, object)
        self._device, self._block = _Fences(shape), _Fences(shape)
        self._cells = {key: cell for key, cell in self._cells.items() if key[1] < 0}

    def fence(self, device: bool, here: Any, epochs: Any) -> None:
        """The lanes of `here` call threadfence() or threadfence_block()."""
        self.times[here] += 1
        rows = np.nonzero(here)[0]
        for fences in (self._device, self._block) if device else (self._block,):
            fences.clock[here] = self.known[here]
            fences.time[here] = self.times[here]
            fences.epoch[here] = epochs[rows]
        if not device:
            for row, t in zip(*np.nonzero(here), strict=True):
                self.block_fences[self._thread(row, t)] = int(self.times[row, t])

    def _thread(self, row: int, t: int) -> int:
        return int((self.first + row) * self.threads + t)

    def _own(self, row: int, epoch: int, lanes: Any, times: Any) -> Clock:
        """What these lanes of a row did before these times, and their block before an epoch."""
        of_block = np.zeros(self.threads, np.int64)
        of_block[lanes] = times
        return Clock({self.first + row: (int(epoch), of_block)})

    def _at_fence(self, fences: _Fences, row: int, t: int) -> Clock:
        clock: Clock = fences.clock[row, t]
        if fences.time[row, t]:
            return join(clock, self._own(row, fences.epoch[row, t], t, fences.time[row, t]))
        return clock

    def atomic(
        self, root: int, shared: bool, at: Any, here: Any, changed: Any, epochs: Any
    ) -> None:
        """Atomic operations of the lanes of `here` on elements `at`, one lane after the other;
        those of `changed` leave another value than they found."""
        self.times[here] += 1
        for row, t in zip(*(part.tolist() for part in np.nonzero(here)), strict=True):
            block = self.first + row
            key = root, block if shared else -1, int(at[row, t])
            cell = self._cells.get(key)
            if cell is None:
                cell = self._cells[key] = _Cell()
            known = join(self.known[row, t], cell.device)
            self.known[row, t] = join(known, cell.block.get(block, NOTHING))
            self.unfenced[row, t] = join(self.unfenced[row, t], cell.unfenced)
            if not changed[row, t]:
                continue
            cell.device = join(cell.device, self._at_fence(self._device, row, t))
            near = self._at_fence(self._block, row, t)
            if near is not NOTHING:
                cell.block[block] = join(cell.block.get(block, NOTHING), near)
            now = self._own(row, epochs[row], t, self.times[row, t])
            cell.unfenced = join(join(cell.unfenced, self.unfenced[row, t]), now)

    def meet(self, row: int, lanes: Any) -> None:
        """The lanes of a row meet (syncwarp): each knows what any of them knew and did."""
        self.times[row, lanes] += 1
        did = self._own(row, 0, lanes, self.times[row, lanes])
        for clocks in (self.known, self.unfenced):
            clocks[row, lanes] = join(_together(clocks[row, lanes]), did)
        self._share_fences(row, lanes)

    def barrier(self, rows: Any) -> None:
        """All threads of these rows meet; what they did themselves is counted in epochs."""
        for row in rows.tolist():
            for clocks in (self.known, self.unfenced):
                clock = _together(clocks[row])
                if self.first + row in clock.blocks:
                    others = {b: v for b, v in clock.blocks.items() if b != self.first + row}
                    clock = Clock(others) if others else NOTHING
                clocks[row] = clock
            self._share_fences(row, np.arange(self.threads))

    def _share_fences(self, row: int, lanes: Any) -> None:
        """Whoever meets a thread after its fence may set the flag in its place."""
        for fences in (self._device, self._block):
            clock = _together(fences.clock[row, lanes])
            times, epochs = fences.time[row, lanes], fences.epoch[row, lanes]
            if times.any():
                epoch = epochs[times > 0].max()
                clock = join(clock, self._own(row, epoch, lanes, times))
                fences.time[row, lanes] = 0
            fences.clock[row, lanes] = clock

    def ordered(self, thread: int, other: int, epoch: int, time: int, fenced: bool = True) -> bool:
        """Whether an access of `other`, in its epoch and at its time, comes before what `thread`
        does now.  fenced=False: if no fence were needed."""
        row, t = divmod(thread, self.threads)
        clock: Clock = (self.known if fenced else self.unfenced)[row - self.first, t]
        block, of_other = divmod(other, self.threads)
        known = clock.blocks.get(block)
        if known is None:
            return False
        return bool(known[0] > epoch or (known[1] is not None and known[1][of_other] > time))

    def why(self, thread: int, other: int, epoch: int, time: int) -> str:
        """What is missing for an access of `other` to come before what `thread` does: "fence",
        "scope" (it has one for its block only), "release" (a barrier before a thread of its block
        sets the flag), "acquire" (a barrier after a thread of the block has waited), or ""."""
        if self.ordered(thread, other, epoch, time, fenced=False):
            return "scope" if self.block_fences.get(other, 0) > time else "fence"
        block = other // self.threads
        clock: Clock = self.unfenced[divmod(thread - self.first * self.threads, self.threads)]
        if thread // self.threads == block:
            return ""
        if clock.blocks.get(block, (-1, None))[0] == epoch:
            return "release"
        first = thread - thread % self.threads
        if any(self.ordered(first + t, other, epoch, time, False) for t in range(self.threads)):
            return "acquire"
        return ""


def _together(clocks: Any) -> Clock:
    found = {id(clock): clock for clock in clocks}
    joined = NOTHING
    for clock in found.values():
        joined = join(joined, clock)
    return joined
