"""Running a program over a grid, chunk by chunk.

A chunk is as many whole blocks as make about 32k lanes: its arrays fit the cache, and the cost of
one NumPy call is spread over many lanes.  Blocks go in linear order, so a run is deterministic.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from . import errors, misuse, serial
from .dimensions import Dim3, unravel
from .errors import (
    KernelRaisedError,
    LivelockError,
    SimtError,
    UnassignedError,
)
from .indices import Indices
from .packing import Packing
from .program import Note, Program
from .rounding import BFLOAT16
from .values import ArrayRef, Mask, Root, Value, both, split

LANES = 32768
LOCAL_MEMORY = 2**26  # bytes of local arrays in a chunk of more than one block
PRINTED = 1000  # lines of print() per launch
WARP = 32


class KernelNote(UserWarning):
    """Something about a launch worth knowing that is not an error."""


class Observer(Protocol):
    """A tool that listens to a run.  `at` are flat positions in `arr.root.buf`; positions, masks
    and values broadcast to (blocks, threads) of the chunk, see `Run.lanes`."""

    def begin(self, run: Run) -> None: ...
    def load(self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value,
             m: Mask, value: Value) -> None: ...  # fmt: skip
    def store(self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value,
              m: Mask, value: Value) -> None: ...  # fmt: skip
    def atomic(self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value,
               m: Mask, name: str, operands: tuple[Value, ...],
               old: Value) -> None: ...  # fmt: skip
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


def _is_dynamic(root: Any) -> bool:
    return bool(root.space == "shared" and root.bytewise)


@dataclass
class _Fault:
    """Bad accesses at one site: threads of earlier chunks, of this chunk, and the first one."""

    array: ArrayRef
    index: tuple[int, ...]
    shape: tuple[int, ...]
    thread: int  # linear over the launch
    count: int = 0
    here: dict[int, Any] = field(
        default_factory=dict
    )  # by first thread, of lanes that ran together


class Run:
    """One launch.  Generated source reads its attributes: `threadIdx_x`, `grid_x`, `laneid`..."""

    def __init__(
        self,
        program: Program,
        grid: Dim3,
        block: Dim3,
        arguments: Mapping[str, Any],
        sharedmem: int = 0,
        observers: Sequence[Observer] = (),
        one_by_one: bool = False,
    ) -> None:
        self.program = program
        self.sharedmem = sharedmem
        self.arguments = dict(arguments)
        self.grid = grid
        self.block = block
        self.observers = tuple(observers)
        self.notes: list[Note] = []
        self.one_by_one = one_by_one  # blocks, one after the other
        self.watched: list[dict[int, tuple[Root, Any]]] = []  # memory as it was, while one looks
        self.printed: list[str] = []
        self.misuses: dict[tuple[str, int], misuse.Misuse] = {}  # of warp functions
        self.divided: dict[str, Any] | None = None  # a barrier that part of a block does not reach
        # first thread -> lanes that wait at a syncwarp for others of their warp, and its site
        self.half_met: dict[int, tuple[Any, Any]] = {}
        self.threads_per_block = block[0] * block[1] * block[2]
        self.blocks = grid[0] * grid[1] * grid[2]
        self.threads = self.threads_per_block * self.blocks
        self.first_block = 0
        self.blocks_here = 0
        self.width = self.threads_per_block  # lanes of a block that run together
        self.first_thread = 0
        self.chunk_blocks = 1
        self.exited: Mask = False  # lanes that have returned from the kernel
        self.allocations: dict[Any, Any] = {}  # shared arrays of the chunk
        self.local: dict[Any, Any] = {}  # local arrays of the lanes that run together
        self.indices = Indices()
        self.packing: Packing | None = None  # of the loop whose lanes are packed
        self.lane_part: Value = None  # of the position observers are told: the part by lane
        self._faults: dict[int, _Fault] = {}
        self._raised: dict[int, tuple[int, int]] = {}
        self._noted: set[tuple[str, int]] = set()
        self._printed = 0
        self._set_constants()

    # -- what generated source reads -------------------------------------------

    def _set_constants(self) -> None:
        for axis, blocks, threads in zip("xyz", self.grid, self.block, strict=True):
            setattr(self, f"gridDim_{axis}", np.int32(blocks))
            setattr(self, f"blockDim_{axis}", np.int32(threads))
            setattr(self, f"gridsize_{axis}", np.int64(blocks * threads))
        n = self.threads_per_block
        linear = np.arange(n, dtype=np.int32).reshape(1, n)
        self._axes("threadIdx", linear, self.block)
        self.laneid = linear % np.int32(WARP) if n > 1 else np.int32(0)

    def _axes(self, name: str, linear: Any, extents: Dim3) -> None:
        """The x, y, z coordinates of linear numbers; a scalar 0 along an axis of extent 1."""
        rest = linear if linear.size > 1 else linear.reshape(-1)[0]
        for axis, extent in zip("xyz", extents, strict=True):
            value = np.int32(0) if extent == 1 else (rest % extent).astype(np.int32)
            setattr(self, f"{name}_{axis}", value)
            rest = rest // extent

    def _enter(self, first: int, count: int) -> None:
        self.first_block, self.blocks_here = first, count
        self.exited = False
        self.allocations, self.local, self.half_met = {}, {}, {}
        self.indices.clear()
        self.block_rows = np.arange(count, dtype=np.int64).reshape(count, 1)
        linear = np.arange(first, first + count, dtype=np.int64).reshape(count, 1)
        self._axes("blockIdx", linear, self.grid)
        for axis in "xyz":
            self.__dict__.pop(f"grid_{axis}", None)

    def _grid(self, axis: str) -> Value:
        here = vars(self)
        block = here[f"blockIdx_{axis}"].astype(np.int64) * int(here[f"blockDim_{axis}"])
        return block + here[f"threadIdx_{axis}"]

    @cached_property
    def grid_x(self) -> Value:
        return self._grid("x")

    @cached_property
    def grid_y(self) -> Value:
        return self._grid("y")

    @cached_property
    def grid_z(self) -> Value:
        return self._grid("z")

    @property
    def lanes(self) -> tuple[int, int]:
        """(blocks, threads) that run together: of the chunk, or of one warp of each block."""
        return self.blocks_here, self.width

    def thread_number(self, lane: int) -> int:
        """Linear number in the launch of a linear lane of those that run together."""
        row, column = divmod(lane, self.width)
        return (self.first_block + row) * self.threads_per_block + self.first_thread + column

    def block_index(self, row: int) -> Dim3:
        """blockIdx of a row of the chunk."""
        return unravel(self.first_block + row, self.grid)

    def thread_index(self, thread: int) -> Dim3:
        """threadIdx of a lane's column."""
        return unravel(self.first_thread + thread, self.block)

    def segment(self, number: int, m: Mask) -> None:
        """Lanes enter a straight piece of the source (counted programs only)."""
        m = m if self.packing is None else self.packing.full(m)
        for observer in self.observers:
            observer.segment(self, number, m)

    def branch(self, site: int, yes: Mask, no: Mask) -> None:
        """Lanes part at a condition (counted programs only)."""
        if self.packing is not None:
            yes, no = self.packing.full(yes), self.packing.full(no)
        for observer in self.observers:
            observer.branch(self, site, yes, no)

    def leave(self, m: Mask) -> None:
        """Lanes return from the kernel."""
        self.exited = both(self.exited, m)

    def allocated(self, place: Any, arr: ArrayRef) -> None:
        """A shared or local array came to life."""
        for observer in self.observers:
            observer.allocate(self, place, arr)

    # -- running ---------------------------------------------------------------

    def execute(self, seed: int | None = None) -> None:
        """Run every block; raises the first SimtError.  With a seed, warp by warp."""
        entry = self.program.entry
        assert entry is not None
        values = self.arguments.values()
        local = sum(self.program.local_bytes.values())
        lanes = min(LANES, LOCAL_MEMORY // local) if local else LANES
        self.chunk_blocks = max(1, lanes // self.threads_per_block)
        if self.program.cooperative:
            self.chunk_blocks = self.blocks
        for observer in self.observers:
            observer.begin(self)  # may ask for smaller chunks
        step = self.blocks if self.program.cooperative else self.chunk_blocks
        step = 1 if self.one_by_one else step
        with np.errstate(all="ignore"):
            for first in range(0, self.blocks, step):
                self._enter(first, min(step, self.blocks - first))
                for observer in self.observers:
                    observer.begin_chunk(self)
                try:
                    if seed is None:
                        entry(self, True, *values)
                    else:
                        serial.run_warps(self, entry, values, seed + first)
                except SimtError:
                    self._raise_divided(passed_by=False)
                    self._raise_faults()
                    raise
                self._raise_divided(passed_by=True)
                self._end_chunk()
                for observer in self.observers:
                    observer.end_chunk(self)
        self._raise_faults()
        self._raise_raised()
        for observer in self.observers:
            observer.end(self)
        for found in self.misuses.values():
            line = self.program.sites[found.site].line
            self._note(Note(found.kind, line, misuse.text_of(self, found)))
        self._check_dimensions()

    def try_block(self, block: int, without: Sequence[int] = ()) -> None:
        """Run one block, some of its threads left out, to see what it would do; how it ends does
        not matter."""
        assert self.program.entry is not None
        self._enter(block, 1)
        values = self.arguments.values()
        start: Mask = True
        if without:
            start = np.ones((1, self.threads_per_block), np.bool_)
            start[:, [thread % self.threads_per_block for thread in without]] = False
            self.exited = ~start
        with contextlib.suppress(SimtError):
            if self.program.serial:
                serial.run_warps(self, self.program.entry, values, block, start)
            else:
                self.program.entry(self, start, *values)

    # -- loops that wait -------------------------------------------------------

    def watch(self) -> dict[int, tuple[Root, Any]]:
        """Start to look whether memory changes."""
        kept: dict[int, tuple[Root, Any]] = {}
        self.watched = [*self.watched[-7:], kept]  # loops that were left do not stop watching
        return kept

    def about_to_change(self, root: Root) -> None:
        """Called before each store while somebody looks."""
        for kept in self.watched:
            if id(root) not in kept:
                kept[id(root)] = root, root.buf.copy()

    def unchanged_since(self, kept: dict[int, tuple[Root, Any]]) -> bool:
        """Whether memory is what it was at `watch`, which ends."""
        known = any(other is kept for other in self.watched)
        self.watched = [other for other in self.watched if other is not kept]
        return known and all(
            np.array_equal(root.buf, buf, equal_nan=buf.dtype.kind in "fc")
            for root, buf in kept.values()
        )

    def stuck(self, where: tuple[str, int, str], m: Mask, certain: bool = False) -> LivelockError:
        """The lanes of m are in a loop that never ends; certain: whatever other threads do."""
        here = np.broadcast_to(m, self.lanes)
        gone = np.broadcast_to(self.exited, self.lanes)
        row = int(np.argmax(here.any(axis=1)))
        return LivelockError(
            *where,
            threads=self._numbers(here[row], row),
            alive=self._numbers(~gone[row], row),
            certain=certain,
        )

    def _numbers(self, lanes: Any, row: int) -> list[int]:
        return [self.thread_number(row * self.width + t) for t in np.flatnonzero(lanes).tolist()]

    def same_warp(self, thread: int, other: int) -> bool:
        """Whether two threads, by their numbers in the launch, are of one warp."""
        size = self.threads_per_block
        return (thread // size, thread % size // WARP) == (other // size, other % size // WARP)

    def name_of(self, thread: int | None) -> str:
        """A thread as a sentence names it."""
        if thread is None:
            return ""
        block, inside = (
            index[0] if extents[1] * extents[2] == 1 else index
            for index, extents in (
                (unravel(thread // self.threads_per_block, self.grid), self.grid),
                (unravel(thread % self.threads_per_block, self.block), self.block),
            )
        )
        return f"thread {inside}" + (f" of block {block}" if self.blocks > 1 else "")

    def _end_chunk(self) -> None:
        for fault in self._faults.values():
            fault.count += sum(int(lanes.sum()) for lanes in fault.here.values())
            fault.here = {}

    def out_of_bounds(self, site: int, arr: ArrayRef, index: tuple[Value, ...], bad: Value) -> None:
        """Remember lanes with a bad index."""
        bad = np.broadcast_to(bad, self.lanes)
        lane = int(np.argmax(bad))
        thread = self.thread_number(lane)
        fault = self._faults.get(site)
        if fault is None or (fault.count == 0 and thread < fault.thread):
            at = np.unravel_index(lane, self.lanes)
            here = {} if fault is None else fault.here
            self._faults[site] = fault = _Fault(
                arr, _at(index, at, self.lanes), _at(arr.shape, at, self.lanes), thread, 0, here
            )
        fault.here[self.first_thread] = bad | fault.here.get(self.first_thread, False)

    def _raise_faults(self) -> None:
        self._end_chunk()
        for error in self.out_of_bounds_errors():
            raise error

    def _raise_divided(self, passed_by: bool) -> None:
        if self.divided is not None:
            self._end_chunk()
            raise errors.divergent_barrier(**self.divided, passed_by=passed_by)

    def out_of_bounds_errors(self) -> Iterator[errors.OutOfBoundsError]:
        """One error for each place with a bad index."""
        for number, fault in self._faults.items():
            site = self.program.sites[number]
            block, thread = divmod(fault.thread, self.threads_per_block)
            yield errors.out_of_bounds(
                kernel=site.function, array=site.array, op=site.op, index=fault.index,
                shape=fault.shape, block=unravel(block, self.grid),
                thread=unravel(thread, self.block), count=fault.count,
                threads_in_launch=self.threads, line=site.line, line_text=site.line_text,
                dynamic=self.sharedmem if _is_dynamic(fault.array.root) else None,
                block_threads=self.threads_per_block if fault.array.root.space == "shared" else 0,
            )  # fmt: skip

    @property
    def failed(self) -> bool:
        """Whether some lane has used a bad index; the launch ends with that report."""
        return bool(self._faults)

    def raised_if(self, site: int, condition: Value, m: Mask) -> None:
        """Lanes for which the condition holds raise: they go on, the launch ends in a report."""
        stopped, _ = split(m, condition)
        if stopped is not False:
            self.raised(site, stopped)

    def raised(self, site: int, m: Mask) -> None:
        """Lanes ran into `raise` or a failing `assert`."""
        chosen = np.flatnonzero(np.broadcast_to(m, self.lanes))
        first = self.thread_number(int(chosen[0]))
        count, known = self._raised.get(site, (0, first))
        self._raised[site] = count + len(chosen), min(first, known)

    def stop(self) -> None:
        """End the launch with the report of the first raise: one in a device function."""
        self._raise_faults()
        self._raise_raised(so_far=True)

    def unassigned(self, name: str, missing: Mask, site: int) -> UnassignedError:
        """Lanes read a variable that has no value for them."""
        place = self.program.sites[site]
        chosen = np.flatnonzero(np.broadcast_to(missing, self.lanes))
        block, thread = divmod(int(chosen[0]), self.width)
        text = (
            f"{place.function}: {name} is read, but this thread's path has given it no value\n"
            f"  block {self.block_index(block)}, thread {self.thread_index(thread)}"
            f"{', and others' * (len(chosen) > 1)}\n"
            f"  line {place.line}:  {place.line_text}\n"
            f"  Assign to {name} before the branch or loop that may be skipped."
        )
        return UnassignedError(text, line=place.line, line_text=place.line_text)

    def _raise_raised(self, so_far: bool = False) -> None:
        for number, (count, first) in self._raised.items():
            site = self.program.sites[number]
            block, thread = divmod(first, self.threads_per_block)
            when = " before the launch stopped" * so_far
            text = (
                f"{site.function}: {count:,} of {self.threads:,} threads raised {site.array}{when};"
                f" the first is block {unravel(block, self.grid)}, "
                f"thread {unravel(thread, self.block)}\n"
                f"  line {site.line}:  {site.line_text}\n"
                "  On a GPU this is seen only with @cuda.jit(debug=True, opt=False)."
            )
            raise KernelRaisedError(text, line=site.line, line_text=site.line_text)

    def print(self, m: Mask, parts: tuple[Any, ...]) -> None:
        """print() of a kernel: a line per lane, floats as C's %f, as Numba prints them."""
        chosen = np.flatnonzero(np.broadcast_to(m, self.lanes))
        columns = [
            part if isinstance(part, str) else np.broadcast_to(part, self.lanes).reshape(-1)
            for part in parts
        ]
        for lane in chosen[: PRINTED - self._printed]:
            line = [c if isinstance(c, str) else _printed(c[lane]) for c in columns]
            self.printed.append(" ".join(map(str, line)))
        self._printed += len(chosen)
        if self._printed > PRINTED >= self._printed - len(chosen):
            self.printed.append(
                f"... only the first {PRINTED:,} lines that a kernel prints are shown"
            )
        if not self.program.waits:  # a launch that may have to start again keeps its lines
            self.show_printed()

    def show_printed(self) -> None:
        """Print the lines that are kept."""
        for line in self.printed:
            print(line)
        self.printed = []

    # -- notes -----------------------------------------------------------------

    def _once(self, kind: str, site: int, lanes: Value, fact: str, then: str, mend: str) -> None:
        """Note what some lanes did at a site, the first time."""
        if (kind, site) in self._noted:
            return
        self._noted.add((kind, site))
        place = self.program.sites[site]
        chosen = np.flatnonzero(np.broadcast_to(lanes, self.lanes))
        row, column = divmod(int(chosen[0]), self.width)
        who = f"block {self.block_index(row)}, thread {self.thread_index(column)}"
        text = (
            f"{place.function}, line {place.line}: {fact}\n  {place.line_text}\n"
            f"  {who}{', and others' * (len(chosen) > 1)}: {then}. {mend}"
        )
        self._note(Note(kind, place.line, text))

    def _first(self, lanes: Value, *values: Value) -> tuple[int, ...]:
        """Values of the first of some lanes."""
        at = np.unravel_index(int(np.argmax(np.broadcast_to(lanes, self.lanes))), self.lanes)
        return _at(values, at, self.lanes)

    def note_negative(self, site: int, axis: int, i: Value, n: Value, lanes: Value) -> None:
        """A negative index counts from the end, on a GPU too; rarely meant."""
        array = self.program.sites[site].array
        index, size = self._first(lanes, i, n)
        fact = f"a negative index into {array} was used; it counts from the end, here and on a GPU."
        where = f" along axis {axis}" if axis else ""
        then = f"{index}{where} means {index + size} of {size:,}"
        self._once(
            "negative_index", site, lanes, fact, then, "Guard the index if this is not meant."
        )

    def note_cut(self, site: int, value: Value, cut: Value, lanes: Value) -> None:
        """An integer was cut to a narrower signed type that does not hold it."""
        place = self.program.sites[site]
        before, after = self._first(lanes, value, cut)
        if place.op == "cast":
            fact = f"{place.array} does not hold the number."
            mend = "Leave the cast out: Numba's integers are int64. For the bits, use uint32."
        else:
            fact = f"a number does not fit into {place.array}, which holds {cut.dtype}."
            mend = f"Give {place.array} a wider type."
        then = f"{before:,} becomes {after:,}"
        self._once("overflow", site, lanes, fact, then, mend)

    def note_zero(self, site: int, lanes: Value) -> None:
        """An integer was divided by zero."""
        fact = "an integer is divided by zero; compiled code says nothing and goes on with 0."
        self._once("zero_division", site, lanes, fact, "the divisor is 0", "Guard the division.")

    def _check_dimensions(self) -> None:
        used = 3 if self.grid[2] * self.block[2] > 1 else 0
        used = used or (2 if self.grid[1] * self.block[1] > 1 else 1)
        for name, ndim, line, line_text in self.program.notes:
            if ndim < used:
                text = (
                    f"{self.program.name}, line {line}: cuda.{name}({ndim}) numbers the threads "
                    f"along {ndim} dimension{'s' * (ndim > 1)}, but the launch has {used}; threads "
                    f"that differ only in {'yz'[ndim - 1 : used - 1]} get the same number.\n"
                    f"  {line_text}"
                )
                self._note(Note("launch_dimension", line, text))

    def _note(self, note: Note) -> None:
        if note not in self.notes:
            self.notes.append(note)

    def warn(self) -> None:
        """Show the notes as Python warnings."""
        for note in self.notes:
            warnings.warn(note.text, KernelNote, stacklevel=3)


def _at(values: Sequence[Any], at: Any, lanes: tuple[int, int]) -> tuple[int, ...]:
    return tuple(int(np.broadcast_to(v, lanes)[at]) for v in values)


def _printed(value: Any) -> str:
    is_float = value.dtype.kind == "f" or value.dtype == BFLOAT16
    return f"{float(value):f}" if is_float else str(value)
