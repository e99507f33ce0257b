"""Counters of one launch, exact over all blocks, with the meanings of Nsight Compute.

Glossary
    request   one access of one warp; a complex number in global memory takes two, one for each
              part, as compiled code knows its address to be a multiple of a part's size only
    place     one access in the source: kernel, line, array
    segment   a straight piece of the source that the same lanes run together
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..simt.indices import SMALL
from ..simt.launch import Run
from ..simt.values import ArrayRef, Mask, Value
from . import addresses
from .base import Quiet
from .metrics import Branches
from .touched import Touched
from .warps import Population, population

#: Bytes to mark which sectors each block touched; very large arrays are run in smaller chunks.
MARKS = 1 << 25
MASKS = 4  # whose population is kept
REMEMBERED = 256  # accesses to shared memory whose counts are kept for the next time


@dataclass
class Place:
    """Counts of one access in the source, six of them, see `addresses`; the last is a maximum."""

    function: str
    line: int
    array: str
    op: str  # "load" | "store" | "atomic"
    space: str  # "global" | "const" | "shared" | "local"
    itemsize: int
    parts: tuple[int, ...] = (0, 1)  # of a complex number
    pattern: str = ""  # how the lanes of the first warp lie
    counts: Any = field(default_factory=lambda: np.zeros(6, np.int64))

    @property
    def group(self) -> str:
        """The report's group: "loads", "local_stores", "shared_atomics"..."""
        space = "" if self.space == "global" else f"{self.space}_"
        return f"{space}{self.op}s"

    def add(self, counts: Any, times: int) -> None:
        """Counts of one row of lanes, `times` times over."""
        worst = max(self.counts[5], counts[5])
        self.counts += counts * times
        self.counts[5] = worst


@dataclass
class BranchPlace:
    """Counts of one condition in the source."""

    function: str
    line: int
    counts: Branches = field(default_factory=Branches)


class Counters(Quiet):
    """Collects; `warpwise.observe.profiler` turns the result into a report."""

    label = "counted"
    needs_counts = True
    any_order = True  # also listens to warps one by one

    def __init__(self) -> None:
        self.places: dict[int, Place] = {}
        self.branches: dict[int, BranchPlace] = {}
        self.barriers: dict[int, int] = {}
        self.segments: Any = np.zeros((0, 2), np.int64)  # lanes, warps
        self.unique: dict[str, int] = {}  # array name -> sectors touched at least once
        self.unique_per_block: dict[str, int] = {}  # ... summed over the blocks
        self.busiest_warp = 0  # most instructions that one warp issued
        self._here = 0  # warps of the chunk
        self._all = 0  # instructions that all of them issued
        self._slots: Any = np.zeros((1, 1), np.int64)  # ... and each of them beyond that
        self._touched: dict[int, Touched] = {}  # by root
        self._repeats: dict[Any, _Repeat] = {}
        self._known: dict[int, Population] = {}  # by the id of the mask, which it holds

    def begin(self, run: Run) -> None:
        self.segments = np.zeros((len(run.program.segments), 2), np.int64)
        self._touched = {}
        for name, value in run.arguments.items():
            if isinstance(value, ArrayRef):
                self._touched.setdefault(id(value.root), Touched(name, value.root.buf.nbytes))
        row = sum(touched.row_bytes for touched in self._touched.values())
        run.chunk_blocks = max(1, min(run.chunk_blocks, MARKS // max(row, 1)))

    # -- memory ----------------------------------------------------------------

    def load(
        self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value, m: Mask,
        value: Value,
    ) -> None:  # fmt: skip
        self._access(run, site, "load", arr, at, m)

    def store(
        self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value, m: Mask,
        value: Value,
    ) -> None:  # fmt: skip
        self._access(run, site, "store", arr, at, m)

    def atomic(
        self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value, m: Mask,
        name: str, operands: tuple[Value, ...], old: Value,
    ) -> None:  # fmt: skip
        self._access(run, site, "atomic", arr, at, m)

    def _access(self, run: Run, site: int, op: str, arr: ArrayRef, at: Value, m: Mask) -> None:
        place = self.places.get(site)
        if place is None:
            where = run.program.sites[site]
            positions, mask, _ = _rows(run, at, m)
            dtype = arr.root.buf.dtype
            itemsize = dtype.itemsize
            if dtype.kind == "c" and arr.root.space == "global":
                itemsize //= 2
            pattern = describe(positions[0], mask[0], dtype.itemsize, where.array, arr.root.space)
            parts = (0, 1) if where.part is None else (where.part,)
            place = self.places[site] = Place(
                where.function, where.line, where.array, op, arr.root.space, itemsize, parts,
                pattern,
            )  # fmt: skip
        if place.space == "global":
            self._global(run, place, arr, at, m)
            return
        # Bank conflicts depend on the lanes' part of the position alone when elements fill words.
        lanes = run.lane_part if place.itemsize % 4 == 0 else at
        key = (site, id(lanes), id(m), run.width)
        repeat = self._repeats.get(key)
        if repeat is None:
            counts = np.zeros(6, np.int64)
            positions, mask, times = _rows(run, at, m)
            if place.space == "local":
                addresses.local_sectors(positions, mask, place.itemsize, counts)
            elif place.space == "const":
                addresses.constants(positions, mask, place.itemsize, counts)
            elif op == "atomic":
                addresses.bank_queues(positions, mask, place.itemsize, counts)
            else:
                addresses.wavefronts(positions, mask, place.itemsize, counts)
            counts[:5] *= times
            if positions.size > SMALL:  # a pattern that seldom comes again
                place.add(counts, 1)
                return
            if len(self._repeats) >= REMEMBERED:
                self._add_repeats()
            repeat = self._repeats[key] = _Repeat(place, counts, (lanes, m))
        repeat.times += 1

    def _add_repeats(self) -> None:
        for repeat in self._repeats.values():
            repeat.place.add(repeat.counts, repeat.times)
        self._repeats.clear()

    def _global(self, run: Run, place: Place, arr: ArrayRef, at: Value, m: Mask) -> None:
        memory = arr.root.memory
        touched = self._touched.get(id(memory))
        if touched is None:  # a global device array: no argument owns it
            name = arr.name.partition(".")[0]  # of a field, the array it belongs to
            touched = self._touched[id(memory)] = Touched(name, memory.buf.nbytes)
            touched.root = memory
        positions, mask, times = _rows(run, at, m)
        if arr.root.buf.dtype.kind == "c":
            for part in place.parts:
                counts = touched.access(2 * positions + part, mask, place.itemsize, run.lanes[0])
                place.add(counts, 1)
            return
        counts = touched.access(positions, mask, place.itemsize, run.lanes[0])
        if place.op == "atomic":
            counts = np.zeros(6, np.int64)
            addresses.collisions(positions, mask, place.itemsize, counts)
            counts[:5] *= times
        place.add(counts, 1)

    # -- control flow ------------------------------------------------------------

    def segment(self, run: Run, number: int, m: Mask) -> None:
        active = self._population(run, m)
        self.segments[number] += (active.lanes, active.warps)
        instructions = len(run.program.segments[number])
        if active.warps == self._here:
            self._all += instructions
        elif run.width < run.threads_per_block:
            self._slots[:, run.first_thread // 32] += instructions * active.warps
        elif active.warps:
            self._slots += instructions * active.table

    def branch(self, run: Run, site: int, yes: Mask, no: Mask) -> None:
        place = self._branch(run, site)
        taken, passed = self._population(run, yes), self._population(run, no)
        both = 0
        if taken.lanes and passed.lanes:
            both = taken.shared(passed, run.lanes[0])
        warps = taken.warps + passed.warps - both
        place.counts.add(Branches(warps, both, taken.lanes + passed.lanes, taken.lanes))

    def _branch(self, run: Run, site: int) -> BranchPlace:
        place = self.branches.get(site)
        if place is None:
            where = run.program.sites[site]
            place = self.branches[site] = BranchPlace(where.function, where.line)
        return place

    def rounds(
        self, run: Run, segments: Iterable[tuple[int, Any]], branches: Iterable[tuple[int, Any]],
        slots: Any,
    ) -> None:  # fmt: skip
        """What many rounds of a loop add: by segment, lanes and warps; by branch, the numbers of
        `Branches`; and the instructions that each warp has issued."""
        for number, counts in segments:
            self.segments[number] += counts
        for site, counts in branches:
            if counts.any():
                self._branch(run, site).counts.add(Branches(*counts.tolist()))
        self._slots += slots

    def barrier(self, run: Run, site: int, m: Mask) -> None:
        blocks, threads = run.lanes
        here = blocks if m is True else int(np.broadcast_to(m, (blocks, threads)).any(1).sum())
        self.barriers[site] = self.barriers.get(site, 0) + here

    def _population(self, run: Run, m: Mask) -> Population:
        """What is active; a segment's mask is most often that of the branch before it."""
        if m is True:
            return population(run, m)
        found = self._known.get(id(m))
        if found is None:
            if len(self._known) >= MASKS:
                del self._known[next(iter(self._known))]
            found = self._known[id(m)] = population(run, m)
        return found

    def begin_chunk(self, run: Run) -> None:
        blocks, threads = run.lanes
        warps = -(-threads // 32)
        self._here, self._all = blocks * warps, 0
        self._slots = np.zeros((blocks, warps), np.int64)

    def grid_barrier(self, run: Run, site: int) -> None:
        self.barrier(run, site, True)

    # -- ends --------------------------------------------------------------------

    def end_chunk(self, run: Run) -> None:
        self._known.clear()
        self.busiest_warp = max(self.busiest_warp, int(self._slots.max()) + self._all)
        self._add_repeats()
        for touched in self._touched.values():
            touched.end_chunk()

    def end(self, run: Run) -> None:
        for touched in self._touched.values():
            if touched.per_block:
                self.unique[touched.name] = touched.unique
                self.unique_per_block[touched.name] = touched.per_block


@dataclass
class _Repeat:
    """The counts of an access, and how often it came again; holds what its key names."""

    place: Place
    counts: Any
    held: Any
    times: int = 0


def describe(at: Any, mask: Any, itemsize: int, array: str, space: str) -> str:
    """How the lanes of one warp lie, in words; "" where there is no simple pattern.

    at, mask: (threads,) of the first block.
    """
    chosen = at[:32][mask[:32]]
    steps = np.unique(np.diff(chosen))
    if len(steps) != 1 or steps[0] == 0:
        return ""
    step = int(steps[0])
    if space == "local":
        return f"neighbouring threads use different indices of {array}"
    if abs(step) > 1:
        return f"neighbouring threads are {abs(step):,} elements of {array} apart"
    if space == "shared":  # it has no sectors; side by side, lanes meet in no bank
        return ""
    past = int(chosen.min()) * itemsize % 32
    return f"each warp starts {past} bytes past a sector of {array}" if past else ""


def _rows(run: Run, at: Value, m: Mask) -> tuple[Any, Any, int]:
    """Positions (rows, threads), mask (rows or 1, threads), blocks for which a row counts."""
    blocks, threads = run.lanes
    mask = _whole(np.bool_(True) if m is True else m, (_height(m), threads))
    if _height(at) == 1 and mask.shape[0] == 1:
        return _whole(at, (1, threads)), mask, blocks
    return _whole(at, (blocks, threads)), mask, 1


def _whole(value: Value, shape: tuple[int, int]) -> Any:
    """The value as an array of this shape, contiguous and writable: one kind of array, so that the
    compiled loops are compiled once."""
    if value.shape == shape and value.flags.c_contiguous and value.flags.writeable:
        return value
    whole = np.empty(shape, value.dtype)
    whole[...] = value
    return whole


def _height(value: Any) -> int:
    return value.shape[0] if getattr(value, "ndim", 0) == 2 else 1
