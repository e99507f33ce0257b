"""sanitize(): races, uninitialised reads, bad indices and barriers of one launch.

Two accesses race when they touch one element, at least one writes, not both are atomic, and nothing
orders the threads: no barrier of their block, no syncwarp of their warp.  Different blocks are
ordered by nothing but the end of the launch.  Shuffles and votes order no memory.  Only the path
that these inputs take is seen.
"""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from ..simt.errors import SimtError
from ..simt.launch import Dim3, Run, unravel
from ..simt.program import Site
from ..simt.storage import where_in_buffer
from ..simt.values import ArrayRef, Mask, Root, Value
from . import shadow
from .base import Quiet
from .profiler import launch_of

RECORDS = 512  # kinds of findings between pairs of places; more are not told apart
HAZARDS = {shadow.RAW: "RAW", shadow.WAR: "WAR", shadow.WAW: "WAW"}


@dataclass(frozen=True)
class Finding:
    """One finding, in words and as data.

    kind: "race" | "uninitialised" | the diagnosis of an error that stopped the launch | a note.
    severity: "error", "warning" (within a warp), "info" (all write the same value).
    hazard: "RAW", "WAR", "WAW" for races, else "".  line, other_line: of both accesses.
    threads: (block, thread) of one or both parties.  count: how many accesses of this kind.
    bytes: count times the element's size, as compute-sanitizer counts hazards.
    """

    kind: str
    severity: str
    text: str
    line: int | None = None
    other_line: int | None = None
    hazard: str = ""
    array: str = ""
    space: str = ""
    index: tuple[int, ...] = ()
    threads: tuple[tuple[Dim3, Dim3], ...] = ()
    count: int = 1
    bytes: int = 0

    def __str__(self) -> str:
        return self.text


class Findings(list[Finding]):
    """A list of findings that shows itself as text and in a notebook."""

    def __str__(self) -> str:
        if not self:
            return "no findings"
        return "\n".join(f"{f.severity} ({f.count} times): {f.text}" for f in self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        if not self:
            return "<div>✓ no findings</div>"
        return "".join(
            f"<div style='margin:.4em 0'><b>{escape(f.severity)}</b> "
            f"<span style='opacity:.6'>({f.count} times)</span>"
            f"<pre style='margin:0;white-space:pre-wrap'>{escape(f.text)}</pre></div>"
            for f in self
        )


class Sanitizer(Quiet):
    """Keeps the shadow of every array that is written; `findings` after the run."""

    label = "counted"

    def __init__(self) -> None:
        self.findings: list[Finding] = []
        self._areas: dict[int, _Area] = {}
        self._records: Any = np.zeros((RECORDS, shadow.RECORD), np.int64)
        self._used = 0
        self._stored: dict[int, tuple[Root, Any]] = {}  # local arrays: which elements hold a value
        self._roots: dict[int, tuple[ArrayRef, str]] = {}  # site -> array, for messages
        self._arguments: set[int] = set()  # roots of the arguments
        self._epochs: Any = np.zeros(1, np.int64)
        self._warp_epochs: Any = np.zeros((1, 1), np.int64)
        self._even = True  # all blocks have passed the same barriers

    def begin(self, run: Run) -> None:
        self._arguments = {
            id(value.root) for value in run.arguments.values() if isinstance(value, ArrayRef)
        }
        # Arrays that the kernel only reads cannot be raced for.  Which ones it writes is plain to
        # see when every store names a parameter; behind a view or a function, all are watched.
        stores = [
            site
            for site in run.program.sites
            if site.op in ("store", "atomic") and site.space == "global"
        ]
        written = {site.array for site in stores}
        plain = all(s.function == run.program.name and s.array in run.arguments for s in stores)
        for name, value in run.arguments.items():
            if not isinstance(value, ArrayRef) or id(value.root) in self._areas:
                continue
            if name in written or not plain or value.root.init is not None:
                self._watch(run, value.root)

    def _watch(self, run: Run, root: Root) -> _Area:
        atomic = any(s.op == "atomic" and s.space == root.space for s in run.program.sites)
        size = root.count if root.space == "shared" else root.buf.size
        area = self._areas[id(root)] = _Area(root, size, atomic)
        return area

    def begin_chunk(self, run: Run) -> None:
        blocks, threads = run.lanes
        self._epochs = np.zeros(blocks, np.int64)
        self._warp_epochs = np.zeros((blocks, -(-threads // 32)), np.int64)
        self._even = True
        self._areas = {k: a for k, a in self._areas.items() if a.root.space == "global"}

    def allocate(self, run: Run, place: Any, arr: ArrayRef) -> None:
        root = arr.root
        if root.space == "shared":
            self._watch(run, root)
        elif root.space == "local":
            self._stored[id(root)] = (root, np.zeros(root.buf.size, np.bool_))

    # -- accesses ----------------------------------------------------------------

    def load(
        self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value, m: Mask,
        value: Value,
    ) -> None:  # fmt: skip
        self._access(run, site, arr, at, m, None, False, False)

    def store(
        self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value, m: Mask,
        value: Value,
    ) -> None:  # fmt: skip
        self._access(run, site, arr, at, m, value, True, False)

    def atomic(
        self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value, m: Mask,
        name: str,
    ) -> None:  # fmt: skip
        self._access(run, site, arr, at, m, None, True, True)

    def _access(
        self, run: Run, site: int, arr: ArrayRef, at: Value, m: Mask, value: Any, writes: bool,
        atomic: bool,
    ) -> None:  # fmt: skip
        if arr.root.space == "local":
            self._local(run, site, arr, at, m, writes)
            return
        area = self._areas.get(id(arr.root))
        if area is None and arr.root.space == "global" and id(arr.root) not in self._arguments:
            # A global device array, which no argument owns.
            area = self._watch(run, arr.root)
        if area is None:
            return
        self._roots.setdefault(site, (arr, arr.root.space))
        blocks, threads = run.lanes
        mask = np.broadcast_to(np.bool_(True) if m is True else m, (_height(m), threads))
        bits = _bits(arr.root.buf.dtype, value)
        bits = np.broadcast_to(bits, (_height(bits), threads))
        if arr.root.space == "shared":
            if area.rows == 1 and max(_height(at), mask.shape[0]) == 1 and self._even:
                rows = 1  # every block does the same: look at one
                bits = _digest(bits)
            else:
                area.expand(blocks, threads)
                rows = blocks
            positions, per_block = np.broadcast_to(at, (rows, threads)), rows > 1
        else:
            positions, per_block, rows = np.broadcast_to(at, (blocks, threads)), False, blocks
        weight = blocks if rows < blocks else 1
        self._used = shadow.access(
            area.shadow, area.atomics, area.values, area.init, np.ascontiguousarray(positions),
            mask, bits, run.first_block, per_block, weight, self._epochs[:rows],
            self._warp_epochs[:rows], site, writes, atomic, self._records, self._used,
            shadow.NOTHING,
        )  # fmt: skip

    def _local(self, run: Run, site: int, arr: ArrayRef, at: Value, m: Mask, writes: bool) -> None:
        """Local memory belongs to one thread: it can be uninitialised, never raced for."""
        _, stored = self._stored[id(arr.root)]
        where = np.broadcast_to(where_in_buffer(run, arr.root, at), run.lanes)
        chosen = np.broadcast_to(m, run.lanes)
        if writes:
            stored[where[chosen]] = True
            return
        missing = chosen & ~stored[where]
        if missing.any():
            self._roots.setdefault(site, (arr, "local"))
            lane = int(np.argmax(missing))
            thread = run.first_block * run.threads_per_block + lane
            self._used = shadow.note(
                self._records, self._used, shadow.UNINITIALISED, site, site, False, False, thread,
                -1, int(where.reshape(-1)[lane]), int(missing.sum()),
            )  # fmt: skip
            stored[where[missing]] = True

    # -- order -------------------------------------------------------------------

    def barrier(self, run: Run, site: int, m: Mask) -> None:
        if m is True:
            self._epochs += 1
        else:
            self._epochs += np.broadcast_to(m, run.lanes).any(axis=1)
            self._even = self._even and bool((self._epochs == self._epochs[0]).all())

    def grid_barrier(self, run: Run, site: int) -> None:
        """Orders everything before it against everything after it: forget who was where."""
        self._epochs += 1
        for area in self._areas.values():
            if area.root.space == "global":
                area.shadow[:, :, ::4] = 0
                area.atomics[:, :, ::4] = 0

    def warp_barrier(self, run: Run, site: int, mask: Value, m: Mask) -> None:
        if m is True:
            self._warp_epochs += 1
        else:
            here = np.broadcast_to(m, run.lanes)
            starts = np.arange(0, run.threads_per_block, 32)
            self._warp_epochs += np.add.reduceat(here, starts, axis=1) > 0
            self._even = self._even and bool((self._warp_epochs == self._warp_epochs[:1]).all())

    # -- findings ----------------------------------------------------------------

    def report(self, run: Run) -> list[Finding]:
        """The findings so far, errors first, then by line."""
        found = [self._finding(run, row) for row in self._records[: self._used]]
        order = {"error": 0, "warning": 1, "info": 2}
        return sorted(found, key=lambda f: (order[f.severity], f.line or 0, f.other_line or 0))

    def _finding(self, run: Run, row: Any) -> Finding:
        kind, site, other = int(row[shadow.KIND]), int(row[shadow.SITE]), int(row[shadow.OTHER])
        here = run.program.sites[site]
        arr, space = self._roots[site]
        count = int(row[shadow.COUNT])
        thread = _who(run, int(row[shadow.THREAD]))
        index = _index(arr, int(row[shadow.AT]), run)
        facts: dict[str, Any] = {
            "line": here.line, "array": here.array, "space": space, "index": index,
            "count": count, "bytes": count * arr.root.buf.dtype.itemsize,
        }  # fmt: skip
        cell = f"{here.array}[{', '.join(map(str, index))}]"
        if kind == shadow.UNINITIALISED:
            text = (
                f"{here.function}: {_name(thread, run)} reads {cell} before anything was stored "
                f"there\n  line {here.line}:  {here.line_text}\n"
                f"  {space.capitalize()} memory starts undefined, not zero. Store a value first"
                + (", then a barrier." if space == "shared" else ".")
            )
            return Finding("uninitialised", "error", text, threads=(thread,), **facts)
        where = run.program.sites[other]
        second = _who(run, int(row[shadow.OTHER_THREAD]))
        warp, same = bool(row[shadow.SAME_WARP]), bool(row[shadow.SAME_VALUE])
        severity = "info" if same else ("warning" if warp else "error")
        verb = {shadow.RAW: "reads", shadow.WAR: "writes", shadow.WAW: "writes"}[kind]
        before = {shadow.RAW: "wrote", shadow.WAR: "read", shadow.WAW: "wrote"}[kind]
        text = (
            f"{here.function}: race on {cell}: {_name(thread, run)} {verb} it in line {here.line}, "
            f"{_name(second, run)} {before} it in line {where.line}, and nothing orders them\n"
            f"  line {here.line}:  {here.line_text}\n"
            + (f"  line {where.line}:  {where.line_text}\n" if where.line != here.line else "")
            + f"  {_advice(kind, here, where, thread, second, warp, same)}"
        )
        return Finding(
            "race", severity, text, other_line=where.line, hazard=HAZARDS[kind],
            threads=(thread, second), **facts,
        )  # fmt: skip


class _Area:
    """The shadow of one allocation.  Shared memory starts with one row for all blocks: while every
    block of the chunk does the same to it, looking at one is enough."""

    def __init__(self, root: Root, elements: int, atomic: bool) -> None:
        self.root = root  # keeps its id from being used again
        self.rows = 1
        self.shadow = shadow.fresh(1, elements)
        self.atomics = shadow.fresh(1, elements if atomic else 0, shadow.ATOMIC_COLUMNS)
        self.values = np.zeros((1, elements), np.int64)
        if root.space == "shared":
            self.init = np.zeros((1, elements), np.uint8)
        elif root.init is not None:
            self.init = root.init.astype(np.uint8).reshape(1, -1)
        else:
            self.init = np.ones((1, elements), np.uint8)

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


def _height(value: Any) -> int:
    return value.shape[0] if getattr(value, "ndim", 0) == 2 else 1


def _bits(dtype: Any, value: Any) -> Any:
    """Stored values as integers, to tell whether two threads wrote the same."""
    if value is None:
        return np.zeros((1, 1), np.int64)
    value = np.asarray(value, dtype)
    if dtype.kind == "c":
        value = value.real + 31 * value.imag
    if value.dtype.kind == "f":
        value = value.astype(np.float64).view(np.int64)
    return np.atleast_2d(value.astype(np.int64))


def _digest(bits: Any) -> Any:
    """One number per thread that is equal when the values are equal in every block."""
    if bits.shape[0] == 1:
        return bits
    weights = np.arange(bits.shape[0], dtype=np.int64) * np.int64(0x9E3779B97F4A7C1) | 1
    return (bits * weights[:, None]).sum(axis=0, dtype=np.int64).reshape(1, -1)


def _who(run: Run, thread: int) -> tuple[Dim3, Dim3]:
    block, inside = divmod(thread, run.threads_per_block)
    return unravel(block, run.grid), unravel(inside, run.block)


def _short(dims: Dim3, extents: Dim3) -> str:
    return str(dims[0]) if extents[1] * extents[2] == 1 else str(dims)


def _name(who: tuple[Dim3, Dim3], run: Run) -> str:
    thread = f"thread {_short(who[1], run.block)}"
    if run.blocks == 1:
        return thread
    return f"{thread} of block {_short(who[0], run.grid)}"


def _index(arr: ArrayRef, at: int, run: Run) -> tuple[int, ...]:
    """The index that leads to a position, for arrays with constant strides."""
    if arr.root.space == "local":
        at //= run.lanes[0] * run.lanes[1]
    rest = at - int(np.asarray(arr.offset).flat[0])
    index = []
    for stride in arr.strides:
        step = int(stride)
        index.append(rest // step if step else 0)
        rest -= index[-1] * step
    return tuple(index)


def _advice(
    kind: int, here: Site, where: Site, thread: tuple[Dim3, Dim3], second: tuple[Dim3, Dim3],
    warp: bool, same: bool,
) -> str:  # fmt: skip
    if same:
        return "Both write the same value, so the result is the same; let one thread write it."
    if thread[0] != second[0]:
        return (
            "They are in different blocks: no barrier reaches both. Use an atomic operation, give "
            "each its own element, or split the work into two launches."
        )
    if kind == shadow.WAW:
        return (
            "The last one wins, and nobody knows which. Give each its own element, or use atomics."
        )
    barrier = "cuda.syncwarp()" if warp else "cuda.syncthreads()"
    if here.line == where.line:
        return (
            f"Read into a variable first, then {barrier}, then write: the two parts of this line "
            "meet those of other threads."
        )
    lines = sorted((here.line, where.line))
    return f"Put {barrier} on the way between lines {lines[0]} and {lines[1]}."


def sanitize(launch: Any, *args: Any) -> Findings:
    """Run `kernel[grid, block]` under the sanitizer; an empty list means clean.

    sanitize(kernel[blocks, threads], out, x) runs the launch; its arrays are written as usual.

    An error that stops the launch is a finding, too, and leaves the arrays unchanged.
    """
    kernel, grid, block, sharedmem = launch_of(launch)
    sanitizer = Sanitizer()
    keep = _Keep()
    stopped: list[Finding] = []
    try:
        kernel.run(grid, block, args, [keep, sanitizer], sharedmem)
    except SimtError as error:
        stopped.append(Finding(error.diagnosis, "error", str(error), line=error.line))
    if keep.run is None:
        return Findings(stopped)
    notes = [Finding(n.kind, "warning", n.text, line=n.line) for n in keep.run.notes]
    return Findings(stopped + sanitizer.report(keep.run) + notes)


class _Keep(Quiet):
    """Remembers the run, also when the launch fails."""

    run: Run | None = None

    def begin(self, run: Run) -> None:
        self.run = run
