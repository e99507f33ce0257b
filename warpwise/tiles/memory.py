"""The memory of a launch: every array argument at a place of its own, each access looked at.

address  virtual, in bytes; argument k owns the range around (k + 1) << 40, so that an offset beyond
         an array never lands in another one, and an address always tells whose it is
extent   an array's first to last element in memory; what lies between the rows of a strided view
         belongs to it
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..simt.errors import at_line
from .errors import TileError

_SHIFT = 40
_SHOWN = 4


@dataclass
class Traffic:
    """What one line does to one pointer: elements and bytes of the lanes that are not masked off,
    and how many lanes are."""

    op: str  # "load", "store", "atomic"
    bytes: int = 0
    elements: int = 0
    masked_off: int = 0


@dataclass(frozen=True)
class Finding:
    """A fault that does not stop the kernel.  kind: "race"."""

    kind: str
    text: str
    line: int
    pointer: str


@dataclass
class Region:
    """An array argument.  Counters are by element of `flat`.

    flat    the extent as a 1-D array
    origin  address of element [0, 0, ...]; low: of flat[0]
    writer  the last program that stored; reader: the first one that loaded; -1 for nobody
    when    the access, counted from the start of the launch, that stored last
    plain   the last program that stored without an atomic, and when
    """

    name: str
    array: np.ndarray
    flat: np.ndarray
    origin: int
    low: int
    writes: np.ndarray = field(init=False)
    reads: np.ndarray = field(init=False)
    writer: np.ndarray = field(init=False)
    reader: np.ndarray = field(init=False)
    several: np.ndarray = field(init=False)
    when: np.ndarray = field(init=False)
    plain: tuple[np.ndarray, np.ndarray] = field(init=False)

    def __post_init__(self) -> None:
        n = self.flat.size
        self.writes, self.reads = np.zeros(n, np.int64), np.zeros(n, np.int64)
        self.writer, self.reader = np.full(n, -1, np.int64), np.full(n, -1, np.int64)
        self.several, self.when = np.zeros(n, bool), np.zeros(n, np.int64)
        self.plain = np.full(n, -1, np.int64), np.zeros(n, np.int64)

    def shaped(self, counter: np.ndarray) -> np.ndarray:
        """A counter in the shape of the array."""
        size = self.flat.itemsize
        steps = tuple(s // size * counter.itemsize for s in self.array.strides)
        start = (self.origin - self.low) // size
        if not self.array.size:
            return np.zeros(self.array.shape, counter.dtype)
        return np.lib.stride_tricks.as_strided(counter[start:], self.array.shape, steps).copy()


def region(position: int, name: str, array: np.ndarray) -> Region:
    """The extent of an array, at the place of argument `position`.

    Raises TileError for an array whose rows do not start at whole elements.
    """
    size = array.itemsize
    if any(step % size for step in array.strides):
        text = f"{name} has strides that are no multiples of its {size} byte elements."
        raise TileError(text, "launch", pointer=name)
    low = (position + 1) << _SHIFT | 1 << (_SHIFT - 1)
    if not array.size:
        return Region(name, array, array.reshape(-1), low, low)
    start, last = array, 0
    for axis, (count, step) in enumerate(zip(array.shape, array.strides, strict=True)):
        if step < 0:
            start = np.flip(start, axis)
        last += (count - 1) * abs(step)
    back = sum((n - 1) * -step for n, step in zip(array.shape, array.strides) if step < 0)
    flat = np.lib.stride_tricks.as_strided(start, (last // size + 1,), (size,))
    return Region(name, array, flat, low + back, low)


class Memory:
    """Loads, stores and atomics of a launch.  `place` gives (line, its text) of the access that is
    being made, `program` is the running one."""

    def __init__(
        self, kernel: str, parameters: tuple[str, ...], regions: dict[str, Region],
        place: Callable[[], tuple[int, str]],
    ) -> None:  # fmt: skip
        self.kernel = kernel
        self.parameters = parameters
        self.place = place
        self.program = 0
        self.program_text = "program 0"
        self.traffic: dict[tuple[int, str, str], Traffic] = {}
        self.texts: dict[int, str] = {}
        self.findings: dict[tuple[str, int, str], Finding] = {}
        self.undefined: dict[int, int] = {}
        self.regions = regions
        self._now = 0
        # Program -> pointer -> its last atomic there: between programs nothing else is an order.
        self._atomics: dict[int, dict[str, int]] = {}
        self._by_key = {one.low >> _SHIFT: one for one in regions.values()}

    def load(
        self, addresses: np.ndarray, mask: np.ndarray, other: np.ndarray, kind: np.dtype,
        how: str, undefined: bool,
    ) -> np.ndarray:  # fmt: skip
        """What is at the addresses, `other` where the mask is off.

        how: "no mask", "mask" or "boundary_check"; undefined: `other` is none of the kernel's.
        """
        found = np.array(np.broadcast_to(other, addresses.shape), dtype=kind)
        mask = _lanes(mask, addresses)
        line, _ = self._begin()
        if undefined and not mask.all():
            self.undefined[line] = self.undefined.get(line, 0) + int((~mask).sum())
        for area, which, index in self._areas(addresses, mask, "load", how, kind.itemsize):
            found[which] = _as(area.flat, kind)[index]
            index = index * kind.itemsize // area.flat.itemsize
            area.reader[index[area.reads[index] == 0]] = self.program
            np.add.at(area.reads, index, 1)
            both = area.writer, area.when
            self._race(area, self._foreign(index, *both), area.writer, "loads", "stored")
        return found

    def store(self, addresses: np.ndarray, values: np.ndarray, mask: np.ndarray, how: str) -> None:
        """Store the values where the mask is on."""
        values = np.broadcast_to(values, addresses.shape)
        mask = _lanes(mask, addresses)
        self._begin()
        for area, which, index in self._areas(addresses, mask, "store", how, values.itemsize):
            _as(area.flat, values.dtype)[index] = values[which]
            index = index * values.itemsize // area.flat.itemsize
            foreign = (area.writes[index] > 0) & (area.writer[index] != self.program)
            area.several[index[foreign]] = True
            both = area.writer, area.when
            self._race(area, self._foreign(index, *both), area.writer, "stores to", "stored to")
            if self.program not in self._atomics:
                early = (area.reader[index] >= 0) & (area.reader[index] < self.program)
                self._race(area, index[early], area.reader, "stores to", "loaded")
            np.add.at(area.writes, index, 1)
            area.writer[index], area.when[index] = self.program, self._now
            area.plain[0][index], area.plain[1][index] = self.program, self._now

    def atomic(
        self, addresses: np.ndarray, mask: np.ndarray, kind: np.dtype,
        change: Callable[[np.ndarray, np.ndarray], np.ndarray], values: np.ndarray,
    ) -> np.ndarray:  # fmt: skip
        """Lane by lane `new = change(old, value)`; returns the old values, 0 where masked off."""
        old = np.zeros(addresses.shape, kind)
        mask = _lanes(mask, addresses)
        values = np.broadcast_to(values, addresses.shape)
        self._begin()
        for area, which, index in self._areas(addresses, mask, "atomic", "mask", kind.itemsize):
            flat, given = _as(area.flat, kind), values[which]
            if np.unique(index).size == index.size:
                old[which] = flat[index]
                flat[index] = change(flat[index], given)
            else:
                seen = np.empty(index.size, kind)
                for lane, place in enumerate(index):
                    seen[lane] = flat[place]
                    flat[place] = change(seen[lane : lane + 1], given[lane : lane + 1])[0]
                old[which] = seen
            index = index * kind.itemsize // area.flat.itemsize
            early = self._foreign(index, *area.plain)
            self._race(area, early, area.plain[0], "changes", "stored to")
            self._atomics.setdefault(self.program, {})[area.name] = self._now
            np.add.at(area.writes, index, 1)
            np.add.at(area.reads, index, 1)
            area.writer[index], area.when[index] = self.program, self._now
        return old

    def _foreign(self, index: np.ndarray, writer: np.ndarray, when: np.ndarray) -> np.ndarray:
        """Those elements that another program has stored, with no order between the two.

        An order is: an atomic of the other one after its store, and one of this one, before now,
        through the same pointer.
        """
        index = index[(writer[index] >= 0) & (writer[index] != self.program)]
        mine = self._atomics.get(self.program, {})
        if not index.size or not mine:
            return index
        last = {}
        for other in map(int, np.unique(writer[index])):
            theirs = self._atomics.get(other, {})
            last[other] = max((theirs.get(name, -1) for name in mine), default=-1)
        released = np.array([last[int(one)] for one in writer[index]])
        return index[released < when[index]]

    def _begin(self) -> tuple[int, str]:
        self._now += 1
        self._line, self._text = self.place()
        self.texts.setdefault(self._line, self._text)
        return self._line, self._text

    def _areas(
        self, addresses: np.ndarray, mask: np.ndarray, op: str, how: str, size: int
    ) -> list[tuple[Region, np.ndarray, np.ndarray]]:
        """(region, lanes of the tile, index into its flat view in units of `size`) of an access."""
        active = addresses[mask]
        if not active.size:
            if addresses.size:
                self._count(self._by_key.get(int(addresses.flat[0]) >> _SHIFT), op, 0, addresses, 0)
            return []
        keys = active >> np.uint64(_SHIFT)
        first = int(keys[0])
        groups = [first] if (keys == keys[0]).all() else [int(key) for key in np.unique(keys)]
        found = []
        for key in groups:
            which = mask if len(groups) == 1 else mask & (addresses >> np.uint64(_SHIFT) == key)
            area = self._by_key.get(key)
            own = addresses[which]
            if area is None:
                raise self._stopped(
                    f"{self.program_text} {op}s at an address that belongs to no argument",
                    "Every pointer has to be one of the kernel's arguments, plus an offset.",
                    "out_of_bounds",
                )
            offset = own.astype(np.int64) - area.low
            index = offset // size
            outside = (offset < 0) | (index >= area.flat.nbytes // size)
            if outside.any():
                raise self._outside(area, op, how, own, outside)
            if (offset % size).any():
                raise self._stopped(
                    f"{self.program_text} {op}s {size} byte elements of {area.name} at addresses "
                    "between its elements",
                    "Offsets count elements, not bytes.", "misaligned_address", area.name,
                )  # fmt: skip
            if len(groups) == 1:
                self._count(area, op, own.size, addresses, size)
            else:
                self._count(area, op, own.size, own, size)
            found.append((area, which, index))
        return found

    def _count(
        self, area: Region | None, op: str, elements: int, lanes: np.ndarray, size: int
    ) -> None:
        if area is None:
            return
        key = (self._line, op, area.name)
        one = self.traffic.setdefault(key, Traffic(op))
        one.elements += elements
        one.bytes += elements * size
        one.masked_off += lanes.size - elements

    def _outside(
        self, area: Region, op: str, how: str, own: np.ndarray, outside: np.ndarray
    ) -> TileError:
        places = (own[outside].astype(np.int64) - area.origin) // area.flat.itemsize
        shown = ", ".join(str(int(p)) for p in places[:_SHOWN])
        more = f", ... {int(places[-1])}" if places.size > _SHOWN else ""
        lanes = f"{places.size} of {own.size} lanes that are not masked off"
        holds = _holds(area)
        steps = {
            "no mask": f"tl.{op if op != 'atomic' else 'atomic_add'} has no mask here: give it "
            "one that is off for these lanes.",
            "mask": "The mask is on for these lanes: compare its condition with the offsets.",
            "boundary_check": "Name this axis in boundary_check.",
        }
        return self._stopped(
            f"{self.program_text} {op}s outside {area.name}, which {holds}:\n"
            f"  offset{'s' if places.size > 1 else ''} {shown}{more} ({lanes})",
            steps[how], "out_of_bounds", area.name,
        )  # fmt: skip

    def _stopped(self, fact: str, step: str, diagnosis: str, pointer: str = "") -> TileError:
        text = at_line(self.kernel, self._line, self._text, fact, step)
        return TileError(text, diagnosis, line=self._line, pointer=pointer)

    def _race(
        self, area: Region, index: np.ndarray, who: np.ndarray, does: str, did: str
    ) -> None:  # fmt: skip
        """Note that this program does, at these elements, what another one did."""
        key = ("race", self._line, area.name)
        if not index.size or key in self.findings:
            return
        place = int(index[0]) - (area.origin - area.low) // area.flat.itemsize
        other = int(who[index[0]])
        fact = (
            f"{self.program_text} {does} {area.name} at offset {place}, which program number "
            f"{other} has {did} in the same launch"
        )
        step = (
            "Programs run at the same time and in no order. Give each element to one program, or "
            "use an atomic."
        )
        text = at_line(self.kernel, self._line, self._text, fact, step)
        self.findings[key] = Finding("race", text, self._line, area.name)


def _lanes(mask: np.ndarray, addresses: np.ndarray) -> np.ndarray:
    """The mask in the shape of the tile.  The interpreter keeps some conditions as integers."""
    return np.broadcast_to(np.asarray(mask, bool), addresses.shape)


def _holds(area: Region) -> str:
    shape = area.array.shape
    if len(shape) == 1 and area.flat.size == area.array.size and area.origin == area.low:
        return f"has {shape[0]} element{'' if shape[0] == 1 else 's'}"
    first = -(area.origin - area.low) // area.flat.itemsize
    last = first + area.flat.size - 1
    return (
        f"has shape {shape} and ends at offset {last}" if area.flat.size else f"is {shape}: empty"
    )


def _as(flat: np.ndarray, kind: Any) -> np.ndarray:
    """The same memory as elements of another type."""
    return flat if flat.dtype == kind else flat.view(kind)
