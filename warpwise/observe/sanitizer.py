"""sanitize(): races, uninitialised reads, bad indices and barriers of one launch.

Two accesses race when they touch one element, at least one writes, not both are atomic, and nothing
orders the threads: no barrier of their block or grid, no syncwarp of their warp, no flag that is
set by an atomic operation after a fence and read by one.  Shuffles and votes order no memory.  Only
the path that these inputs take is seen.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..simt.atomics import changes
from ..simt.errors import OutOfBoundsError, SimtError
from ..simt.launch import Run
from ..simt.misuse import KINDS as misuse_kinds
from ..simt.records import RecordRoot
from ..simt.storage import where_in_buffer
from ..simt.values import ArrayRef, Mask, Root, Value
from ..simt.views import Retyped
from . import claims, findings, shadow
from .area import Area, Logged, Queued, bits_of, digest
from .base import Quiet, active
from .claims import ATOMIC, LOAD, STORE
from .findings import Finding, Findings
from .locks import Locks
from .order import Order
from .profiler import launch_of

RECORDS = 512  # kinds of findings between pairs of places; more are not told apart
HELD = 1 << 22  # bytes of accesses to one shared array that wait for a barrier


class Sanitizer(Quiet):
    """Keeps the shadow of every array that is written; `report` after the run."""

    label = "counted"
    any_order = True  # also listens to warps one by one
    needs_block_order = True  # that a block waits for a later one must not pass by luck

    def begin(self, run: Run) -> None:
        program = run.program
        ops = {site.op for site in program.sites}
        # Where more than barriers may order threads, somebody has to keep their clocks.
        clocks = "fence" in ops or program.partial or (program.waits and "atomic" in ops)
        self._order = Order() if clocks else None
        self._locks = Locks()
        self._pending: Any = shadow.NOTHING
        self._why: dict[tuple[int, ...], str] = {}  # record -> what is wrong with its flag
        self._areas: dict[int, Area] = {}
        self._records: Any = np.zeros((RECORDS, shadow.RECORD), np.int64)
        self._used = 0
        self._waiting: list[Area] = []  # shared memory with accesses in its queue
        self._rounds = 0  # of accesses between barriers that were looked at together
        self._stored: dict[int, tuple[Root, Any]] = {}  # local arrays: which elements hold a value
        self._arrays: dict[int, ArrayRef] = {}  # by site, for messages
        self._units: dict[int, tuple[int, int]] = {}  # site -> memory, bytes of a row of its shadow
        self._arguments = {
            id(value.root) for value in run.arguments.values() if isinstance(value, ArrayRef)
        }
        # Arrays that the kernel only reads cannot be raced for.
        written = program.stored_names(run.arguments)
        for name, value in run.arguments.items():
            if not isinstance(value, ArrayRef) or _memory(run, value.root) in self._areas:
                continue
            if isinstance(value.root, RecordRoot):
                continue  # its fields are watched as they are touched
            if written is None or name in written or value.root.init is not None:
                self._watch(run, value.root)

    def _watch(self, run: Run, root: Root) -> Area:
        atomic = any(s.op == "atomic" and s.space == root.space for s in run.program.sites)
        size = root.count if root.space == "shared" else root.buf.size
        area = self._areas[_memory(run, root)] = Area(root, size, atomic)
        if self._order is not None or run.threads > claims.MOST_THREADS:
            area.open()
        return area

    def _open(self, area: Area) -> None:
        """From now on the area has a full shadow."""
        for one in area.open():
            at = one.at[0] + one.at[1]
            # Nobody else has written there, so what was stored last is still there.
            bits = self._nothing
            if one.kind == STORE:
                bits = bits_of(one.root.buf.dtype, one.root.buf[at])
            self._used = shadow.access(
                area.shadow, area.atomics, area.values, area.init, at, one.mask, bits,
                one.first_block, False, 1, one.epochs, one.warp_epochs, one.site,
                one.kind != LOAD, one.kind == ATOMIC, self._records, self._used, self._pending,
            )  # fmt: skip

    def _refine(self, run: Run, area: Area, root: Root) -> None:
        """The same memory is looked at as a smaller type: what was noted moves along."""
        memory = _memory(run, root)
        self._open(area)
        factor = area.refine(root.buf.dtype.itemsize)
        for record in self._records[: self._used]:
            site = int(record[shadow.SITE])
            if self._units[site][0] == memory:
                record[shadow.AT] *= factor
        for site, (known, _) in self._units.items():
            if known == memory:
                self._units[site] = memory, area.unit

    def begin_chunk(self, run: Run) -> None:
        blocks, threads = run.lanes
        self._epochs: Any = np.zeros(blocks, np.int64)
        self._warp_epochs: Any = np.zeros((blocks, -(-threads // 32)), np.int64)
        self._shape = 1, threads
        self._everyone = np.ones((1, threads), np.bool_)
        self._nothing = np.zeros((1, threads), np.int64)  # the bits of what is only read
        self._even = True  # all blocks have passed the same barriers
        if self._order is not None:
            self._order.begin_chunk(blocks, threads, run.first_block)
            self._pending = np.zeros((1 + 5 * blocks * threads, shadow.RECORD + 2), np.int64)
        self._areas = {k: a for k, a in self._areas.items() if a.root.space == "global"}

    def end_chunk(self, run: Run) -> None:
        self._catch_up(run, ordered=True)

    def allocate(self, run: Run, place: Any, arr: ArrayRef) -> None:
        root = arr.root
        if root.space == "shared":
            if _memory(run, root) not in self._areas:
                self._watch(run, root)
        elif root.space == "local":
            self._stored[id(root)] = (root, np.zeros(root.buf.size, np.bool_))

    # -- accesses ----------------------------------------------------------------

    def load(
        self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value, m: Mask,
        value: Value,
    ) -> None:  # fmt: skip
        if not self._put_off(run, LOAD, site, arr, at, m, None):
            self._access(run, LOAD, site, arr, at, m)

    def store(
        self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value, m: Mask,
        value: Value,
    ) -> None:  # fmt: skip
        if not self._put_off(run, STORE, site, arr, at, m, value):
            self._access(run, STORE, site, arr, at, m, value)

    def atomic(
        self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value, m: Mask,
        name: str, operands: tuple[Value, ...], old: Value,
    ) -> None:  # fmt: skip
        if not self._put_off(run, ATOMIC, site, arr, at, m, None):
            self._access(run, ATOMIC, site, arr, at, m, old)
        if self._order is not None and arr.root.space != "local":
            here = np.broadcast_to(m, run.lanes)
            # Whoever reads a value that was there before cannot tell that it was written again.
            told = here & changes(name, operands, old)
            self._order.atomic(
                id(arr.root), arr.root.space == "shared", _whole(run, at, 0),
                _whole(run, here, False), _whole(run, told, False), self._epochs,
            )  # fmt: skip
            if name in ("cas", "exch"):
                put = here if name == "exch" else here & (old == operands[0])
                self._exchange(run, site, arr, at, here, operands[-1], old, put)

    def _exchange(
        self, run: Run, site: int, arr: ArrayRef, at: Value, here: Any, new: Value, old: Value,
        changed: Any,
    ) -> None:  # fmt: skip
        """Tell the locks what each lane put in place of what."""
        self._arrays.setdefault(site, arr)
        shared = arr.root.space == "shared"
        lanes = np.flatnonzero(here)
        parts = (
            np.broadcast_to(v, run.lanes).flat[lanes].tolist() for v in (at, old, new, changed)
        )
        for lane, where, before, after, done in zip(lanes.tolist(), *parts, strict=True):
            thread = run.thread_number(lane)
            block = thread // run.threads_per_block if shared else -1
            cell = id(arr.root), block, where
            self._locks.exchange(thread, cell, site, before, after, done)

    def _put_off(
        self, run: Run, kind: int, site: int, arr: ArrayRef, at: Value, m: Mask, value: Value
    ) -> bool:
        """Keep an access to shared memory for the next barrier: one that is the same in all blocks,
        or an atomic operation among others."""
        root = arr.root
        if root.space != "shared" or not self._even or self._order is not None or run.divided:
            return False
        if isinstance(root, Retyped) or run.width < self._shape[1]:
            return False
        memory = _memory(run, root)
        area = self._areas[memory]
        if root.buf.dtype.itemsize != area.unit:
            return False
        if kind == ATOMIC:
            if area.entered == self._epochs[0] or not area.all_stored():
                return False
        elif area.rows > 1 or not (
            (m is True or m.shape == self._shape) and (at.ndim == 0 or at.shape == self._shape)
        ):
            return False
        if area.queue and (area.queue[0].kind == ATOMIC) != (kind == ATOMIC):
            return False
        if site not in self._units:
            self._arrays.setdefault(site, arr)
            self._units[site] = memory, area.unit
        if not area.queue:
            self._waiting.append(area)
        area.queue.append(Queued(kind, at, m, value, root.buf.dtype, site))
        area.held += 8 * max(at.size, self._shape[1]) + (0 if value is None else value.nbytes)
        if area.held > HELD:
            self._catch_up(run)
        return True

    def _catch_up(self, run: Run, ordered: bool = False) -> None:
        """Look at the accesses that were put off, before anything that comes after them.  ordered:
        a barrier of everyone orders them before all that follows."""
        for area in self._waiting:
            if area.queue[0].kind != ATOMIC:
                self._settle(run, area, ordered)
            elif not ordered:
                for one in area.queue:
                    self._enter(run, area, ATOMIC, one.site, one.dtype, one.at, one.mask, None)
            area.queue.clear()
            area.held = 0
        self._waiting.clear()

    def _settle(self, run: Run, area: Area, ordered: bool) -> None:
        """Loads and stores that are the same in all blocks."""
        queue, threads = area.queue, self._shape[1]
        at = np.concatenate([_dense(one.at, 1, threads) for one in queue])
        mask = np.concatenate([self._everyone if one.mask is True else one.mask for one in queue])
        writes = np.array([one.kind == STORE for one in queue])
        self._rounds += 1
        if (
            ordered and area.entered != self._epochs[0]
            and claims.orderly(area.owners, area.init, at, mask, writes, self._rounds)
        ):  # fmt: skip
            return
        bits = np.concatenate([
            self._nothing if one.kind == LOAD
            else _dense(digest(bits_of(one.dtype, one.value)), 1, threads)
            for one in queue
        ])  # fmt: skip
        self._used = shadow.several(
            area.shadow, area.atomics, area.values, area.init, at, mask, bits, run.first_block,
            run.blocks_here, self._epochs[:1], self._warp_epochs[:1],
            np.array([one.site for one in queue]), writes, self._records, self._used,
            self._pending,
        )  # fmt: skip
        area.entered = self._epochs[0]

    def _access(
        self, run: Run, kind: int, site: int, arr: ArrayRef, at: Value, m: Mask,
        value: Value = None,
    ) -> None:  # fmt: skip
        """Look at one access.  value: what is stored, or what an atomic operation has found."""
        if run.divided is not None:
            return  # a barrier failed: nothing after it is ordered
        if arr.root.space == "local":
            self._local(run, site, arr, at, m, kind != LOAD)
            return
        root = arr.root.whole if isinstance(arr.root, Retyped) else arr.root
        memory = _memory(run, root)
        area = self._areas.get(memory)
        if area is None and root.space == "global" and memory not in self._arguments:
            # A global device array, which no argument owns.
            area = self._watch(run, root)
        if area is None:
            return
        if area.queue:
            self._catch_up(run)
        dtype = arr.root.buf.dtype
        if dtype.itemsize < area.unit:
            self._refine(run, area, arr.root)
        self._arrays.setdefault(site, arr)
        self._units[site] = memory, area.unit
        if area.log is not None:
            if dtype.itemsize == area.unit and run.width == run.threads_per_block:
                if self._claimed(run, area, kind, site, arr.root, at, m):
                    return
            self._open(area)
            if kind == ATOMIC:  # it has happened; what a plain store left is what the first found
                _, where, before = active(run, m, at, value)
                area.values[0, where[::-1]] = bits_of(dtype, before[::-1])[0]
        self._enter(run, area, kind, site, dtype, at, m, value)

    def _enter(
        self, run: Run, area: Area, kind: int, site: int, dtype: Any, at: Value, m: Mask,
        value: Value,
    ) -> None:  # fmt: skip
        """Check one access against the full shadow, then enter it."""
        blocks, threads = run.blocks_here, run.threads_per_block
        bits = bits_of(dtype, value) if kind == STORE else self._nothing[:, :1]
        if run.width < threads:  # one warp runs
            at, m, bits = _whole(run, at, 0), _whole(run, m, False), _whole(run, bits, 0)
        if area.root.space == "shared":
            alike = area.rows == 1 and max(_height(at), _height(m)) == 1 and self._even
            if alike and self._order is None:
                rows = 1  # every block does the same: look at one
                bits = digest(bits)
            else:
                area.expand(blocks, threads)
                rows = blocks
            per_block = rows > 1
            area.entered = self._epochs[0]
        else:
            rows, per_block = blocks, False
        positions = _dense(at, rows, threads)
        mask = self._everyone if m is True else _dense(m, _height(m), threads)
        bits = _dense(bits, _height(bits), threads) if kind == STORE else self._nothing
        weight = blocks if rows < blocks else 1
        warp_epochs = self._warp_epochs if self._order is None else self._order.times
        pieces = dtype.itemsize // area.unit  # of a type wider than the unit
        for piece in range(pieces):
            at_unit = positions if pieces == 1 else positions * pieces + piece
            self._pending[:1] = 0
            self._used = shadow.access(
                area.shadow, area.atomics, area.values, area.init, at_unit,
                mask, bits, run.first_block, per_block, weight if piece == 0 else 0,
                self._epochs[:rows], warp_epochs[:rows], site, kind != LOAD, kind == ATOMIC,
                self._records, self._used, self._pending,
            )  # fmt: skip
            if self._order is not None:
                for hazard in self._pending[1 : 1 + self._pending[0, 0]].tolist():
                    self._judge(self._order, hazard)

    def _claimed(
        self, run: Run, area: Area, kind: int, site: int, root: Root, at: Value, m: Mask
    ) -> bool:
        """Whether an access to global memory cannot race with what was so far."""
        threads = run.threads_per_block
        at = _dense(at, run.blocks_here, threads)
        mask = self._everyone if m is True else _dense(m, _height(m), threads)
        access = Logged(kind, root, claims.parts(at), mask, site, run.first_block, self._epochs,
                        self._warp_epochs)  # fmt: skip
        return area.claim(access, at, threads)

    def _judge(self, order: Order, hazard: list[int]) -> None:
        """Note a hazard that no flag and no meeting of the warp orders."""
        thread, other = hazard[shadow.THREAD], hazard[shadow.OTHER_THREAD]
        epoch, time = hazard[shadow.RECORD :]
        if order.ordered(thread, other, epoch, time):
            return
        before = self._used
        self._used = shadow.note(
            self._records, before, *hazard[: shadow.SAME_VALUE], bool(hazard[shadow.SAME_VALUE]),
            thread, other, hazard[shadow.AT], hazard[shadow.COUNT],
        )  # fmt: skip
        if self._used > before:
            self._why[_key(hazard)] = order.why(thread, other, epoch, time)

    def _local(self, run: Run, site: int, arr: ArrayRef, at: Value, m: Mask, writes: bool) -> None:
        """Local memory belongs to one thread: it can be uninitialised, never raced for."""
        root = arr.root.whole if isinstance(arr.root, Retyped) else arr.root
        _, stored = self._stored[id(root)]
        where = np.broadcast_to(where_in_buffer(run, arr.root, at), run.lanes)
        chosen = np.broadcast_to(m, run.lanes)
        if writes:
            stored[where[chosen]] = True
            return
        missing = chosen & ~stored[where]
        if missing.any():
            self._arrays.setdefault(site, arr)
            lane = int(np.argmax(missing))
            thread = run.thread_number(lane)
            self._used = shadow.note(
                self._records, self._used, shadow.UNINITIALISED, site, site, 0, False, thread,
                -1, int(where.reshape(-1)[lane]), int(missing.sum()),
            )  # fmt: skip
            stored[where[missing]] = True

    # -- order -------------------------------------------------------------------

    def barrier(self, run: Run, site: int, m: Mask) -> None:
        # Not in place: the log of global memory keeps them.
        self._catch_up(run, ordered=m is True and self._even)
        if m is True:
            self._epochs = self._epochs + 1
        else:
            self._epochs = self._epochs + np.broadcast_to(m, run.lanes).any(axis=1)
            self._even = self._even and bool((self._epochs == self._epochs[0]).all())
        if self._order is not None:
            self._order.barrier(np.flatnonzero(_whole(run, m, False).any(axis=1)))

    def grid_barrier(self, run: Run, site: int) -> None:
        """Orders everything before it against everything after it: forget who was where."""
        self._catch_up(run, ordered=True)
        self._epochs = self._epochs + 1
        for area in self._areas.values():
            if area.root.space == "global":
                area.forget()

    def warp_barrier(self, run: Run, site: int, mask: Value, m: Mask) -> None:
        self._catch_up(run)
        if self._order is not None:
            self._meet(self._order, run, mask, m)
        elif m is True and run.width == run.threads_per_block:
            self._warp_epochs = self._warp_epochs + 1
        else:
            here = _whole(run, m, False)
            starts = np.arange(0, run.threads_per_block, 32)
            self._warp_epochs = self._warp_epochs + (np.add.reduceat(here, starts, axis=1) > 0)
            self._even = self._even and bool((self._warp_epochs == self._warp_epochs[:1]).all())

    def _meet(self, order: Order, run: Run, mask: Value, m: Mask) -> None:
        """Lanes of a warp that call syncwarp with the same mask, and are named in it, meet."""
        blocks, threads = run.blocks_here, run.threads_per_block
        here = _whole(run, m, False)
        masks = _whole(run, mask, 0)
        lane = np.arange(threads)
        for row in range(blocks):
            called = here[row] & (masks[row] >> (lane % 32) & 1 == 1)
            meetings = np.stack([lane // 32, masks[row]])[:, called]
            for warp, named in np.unique(meetings, axis=1).T:
                order.meet(row, lane[called & (lane // 32 == warp) & (masks[row] == named)])

    def fence(self, run: Run, site: int, device: bool, m: Mask) -> None:
        if self._order is not None:
            self._order.fence(device, _whole(run, m, False), self._epochs)

    # -- findings ----------------------------------------------------------------

    def _place(self, row: Any) -> tuple[Any, ArrayRef, int]:
        """A record, its array, and the position in elements of the array."""
        site, at = int(row[shadow.SITE]), int(row[shadow.AT])
        arr = self._arrays[site]
        if site in self._units:
            at = at * self._units[site][1] // arr.root.buf.dtype.itemsize
        return row, arr, at

    def _updates(self, row: Any) -> bool:
        """Whether threads store to one element by the very store of a record's line."""
        lines = {int(row[shadow.SITE]), int(row[shadow.OTHER])}
        return any(
            r[shadow.KIND] == shadow.WAW and r[shadow.SITE] == r[shadow.OTHER]
            and int(r[shadow.SITE]) in lines
            for r in self._records[: self._used]
        )  # fmt: skip

    def report(self, run: Run) -> list[Finding]:
        """The findings so far, by line."""
        self._catch_up(run)
        found = [
            findings.of_record(
                run, row, arr, at, self._why.get(_key(row), ""),
                self._arrays.get(int(row[shadow.OTHER])), self._updates(row),
            )
            for row, arr, at in map(self._place, self._records[: self._used])
        ]  # fmt: skip
        if self._used == len(self._records):
            found.append(findings.more(run, self._used))
        circle = self._locks.circle()
        if circle:
            found.append(findings.of_circle(run, circle, self._arrays))
        return sorted(found, key=lambda one: (one.line or 0, one.other_line or 0, -_distance(one)))


def _distance(finding: Finding) -> int:
    """Farther apart first: what orders two blocks orders the threads of one, too."""
    return len({block for block, _ in finding.threads})


def _memory(run: Run, root: Root) -> int:
    """One number for all views of the same memory, of whatever type."""
    if root.space == "shared" and root.bytewise:
        return id(run.allocations.get("dynamic"))
    return id(root.whole) if isinstance(root, Retyped) else id(root)


def _key(record: Any) -> tuple[int, ...]:
    return tuple(int(value) for value in record[: shadow.COUNT])


def _whole(run: Run, value: Any, fill: Any) -> Any:
    """A value of the lanes that run together, for all threads of their blocks."""
    value = np.broadcast_to(value, run.lanes)
    if run.width == run.threads_per_block:
        return value
    whole = np.full((run.blocks_here, run.threads_per_block), fill, value.dtype)
    whole[:, run.first_thread : run.first_thread + run.width] = value
    return whole


def _dense(value: Any, rows: int, threads: int) -> Any:
    """The value as a whole array of its own layout, which the compiled loop is kept for."""
    if value.shape == (rows, threads) and value.flags.carray:
        return value
    return np.array(np.broadcast_to(value, (rows, threads)), order="C")


def _height(value: Any) -> int:
    return value.shape[0] if getattr(value, "ndim", 0) == 2 else 1


def sanitize(launch: Any, *args: Any) -> Findings:
    """Run `kernel[grid, block]` under the sanitizer; an empty list means clean.

    sanitize(kernel[blocks, threads], out, x) runs the launch; its arrays are written as usual.

    An error that stops the launch is a finding, too, and leaves the arrays unchanged.
    """
    kernel, grid, block, sharedmem = launch_of(launch)
    sanitizer = Sanitizer()
    keep = _Keep()
    stopped: SimtError | None = None
    try:
        kernel.run(grid, block, args, [keep, sanitizer], sharedmem)
    except SimtError as error:
        stopped = error
    run = keep.run
    if run is None:
        return Findings([] if stopped is None else [findings.of_error(stopped, None)])
    found = [findings.of_error(error, run) for error in run.out_of_bounds_errors()]
    if stopped is not None and not isinstance(stopped, OutOfBoundsError):
        found.append(findings.of_error(stopped, run))
    found += [findings.of_misuse(misuse, run) for misuse in run.misuses.values()]
    found += sanitizer.report(run)
    found += [
        Finding(note.kind, "warning", note.text, line=note.line)
        for note in run.notes
        if note.kind not in misuse_kinds
    ]
    order = {"error": 0, "warning": 1, "info": 2}
    return Findings(sorted(found, key=lambda one: order[one.severity]))


class _Keep(Quiet):
    """Remembers the run, also when the launch fails."""

    any_order = True
    run: Run | None = None

    def begin(self, run: Run) -> None:
        self.run = run
