"""Loops that wait for memory: running them, and naming who waits for whom.

In lockstep all threads of a chunk leave a loop together, so a thread that waits for one of them
waits for ever.  A launch that gets stuck like this is put back and run again: one block after the
other, which is enough to look back at earlier blocks; then warp by warp, where a warp that waits
lets the others go on.  What is stuck even so is a livelock on a GPU, too, or rests on luck there.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .dimensions import Dim3
from .errors import LivelockError, SimtError, livelock, not_simulated
from .launch import Run
from .program import Note, Program
from .storage import where_in_buffer
from .values import ArrayRef, Root

LATER = 64  # blocks that are asked whether they would end the waiting


class Snapshot:
    """The memory of a launch before it ran."""

    def __init__(self, values: Iterable[Any]) -> None:
        self._kept = [
            (root, root.buf if root.copy_on_write else root.buf.copy(), _copied(root.init),
             {dtype: _copied(view.init) for dtype, view in getattr(root, "typed", {}).items()})
            for root in _roots(values)
        ]  # fmt: skip

    def put_back(self) -> None:
        """As it was."""
        for root, buf, init, views in self._kept:
            if root.copy_on_write:
                root.buf, root.dirty = buf, False
            else:
                root.buf[...] = buf
            if init is not None:
                root.init[...] = init
            typed = getattr(root, "typed", {})
            for dtype, view in list(typed.items()):
                if dtype not in views:  # made by the run that is taken back
                    del typed[dtype]
                    continue
                view.buf = root.buf.view(dtype)
                view.init = _copied(views[dtype])


def _written(program: Program, arguments: Mapping[str, Any]) -> list[Any]:
    """The arrays that a kernel may change."""
    names = program.stored_names(arguments)
    if names is None:
        return [*arguments.values(), *program.constants.values()]
    return [value for name, value in arguments.items() if name in names]


def _copied(init: Any) -> Any:
    return None if init is None else init.copy()


def _roots(values: Iterable[Any]) -> list[Root]:
    found: dict[int, Root] = {}
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if isinstance(value, tuple):
            waiting.extend(value)
        elif isinstance(value, ArrayRef) and value.root.space == "global":
            found[id(value.root.memory)] = value.root.memory
    return list(found.values())


def _nothing(*_: Any) -> None:
    pass


class Watcher:
    """An observer that remembers who changed an element last, and what each thread read last."""

    begin = begin_chunk = end_chunk = end = allocate = segment = branch = staticmethod(_nothing)
    barrier = grid_barrier = warp_barrier = fence = staticmethod(_nothing)

    def __init__(self) -> None:
        self._changed: dict[int, tuple[Root, Any, Any]] = {}  # thread + 1 and site, by position
        self._last: dict[int, tuple[ArrayRef, int, int]] = {}  # thread -> array, position, site

    def load(
        self, run: Any, site: int, arr: ArrayRef, index: Any, at: Any, m: Any, value: Any
    ) -> None:
        if arr.root.space in ("global", "shared"):
            self._read(run, site, arr, at, m)

    def store(
        self, run: Any, site: int, arr: ArrayRef, index: Any, at: Any, m: Any, value: Any
    ) -> None:
        if arr.root.space in ("global", "shared"):
            self._write(run, site, arr, at, np.broadcast_to(m, run.lanes))

    def atomic(
        self, run: Any, site: int, arr: ArrayRef, index: Any, at: Any, m: Any, name: str,
        operands: Any, old: Any,
    ) -> None:  # fmt: skip
        self._read(run, site, arr, at, m)
        changes = {
            "cas": lambda: old == operands[0],
            "exch": lambda: old != operands[0],
            "max": lambda: operands[0] > old,
            "min": lambda: operands[0] < old,
        }.get(name, lambda: operands[0] != 0)()
        self._write(run, site, arr, at, np.broadcast_to(m, run.lanes) & changes)

    def _read(self, run: Any, site: int, arr: ArrayRef, at: Any, m: Any) -> None:
        where = np.broadcast_to(at, run.lanes)
        for lane in np.flatnonzero(np.broadcast_to(m, run.lanes)).tolist():
            self._last[run.thread_number(lane)] = arr, int(where.flat[lane]), site

    def _write(self, run: Any, site: int, arr: ArrayRef, at: Any, here: Any) -> None:
        root = arr.root
        if id(root) not in self._changed:
            size = root.buf.size
            self._changed[id(root)] = root, np.zeros(size, np.int64), np.zeros(size, np.int32)
        _, threads, sites = self._changed[id(root)]
        where = np.broadcast_to(where_in_buffer(run, root, at), run.lanes)[here]
        lanes = np.flatnonzero(here).tolist()
        threads[where] = np.array([run.thread_number(lane) for lane in lanes], np.int64) + 1
        sites[where] = site

    def read_by(self, thread: int) -> tuple[ArrayRef, int, int] | None:
        """(array, position, site) of what a thread read last."""
        return self._last.get(thread)

    def changed_by(self, run: Any, arr: ArrayRef, at: int) -> tuple[int, int] | None:
        """(thread, site) of the last change of an element, in the one block that runs."""
        if id(arr.root) not in self._changed:
            return None
        _, threads, sites = self._changed[id(arr.root)]
        where = int(np.asarray(where_in_buffer(run, arr.root, np.int64(at))).flat[0])
        return None if threads[where] == 0 else (int(threads[where]) - 1, int(sites[where]))


def run_waiting(
    program: Program, serial: Callable[[], Program], grid: Dim3, block: Dim3,
    arguments: Mapping[str, Any], sharedmem: int, observers: Sequence[Any], seed: int,
) -> Run:  # fmt: skip
    """Run a launch whose loops may wait; `serial` makes the same kernel for warp-serial order.

    A second and a third attempt begin anew: memory and observers are put back.
    """
    memory = Snapshot(_written(program, arguments))
    before = [copy.deepcopy(vars(observer)) for observer in observers]
    orders = ["lockstep"] if program.cooperative else ["lockstep", "block by block", "by warp"]
    if program.polls and any(getattr(o, "needs_block_order", False) for o in observers):
        orders = orders[1:] or orders
    waits_in: LivelockError | None = None  # the loop that was stuck in step
    for order in orders:
        watcher = Watcher()
        last = order == orders[-1]
        listeners = list(observers)
        if order == "by warp":
            listeners = [o for o in observers if getattr(o, "any_order", False)]
        chosen = serial() if order == "by warp" else program
        run = Run(
            chosen, grid, block, arguments, sharedmem, [*listeners, watcher] if last else listeners,
            order != "lockstep",
        )  # fmt: skip
        try:
            run.execute(seed if chosen.serial else None)
        except LivelockError as error:
            stuck: SimtError = error
            if error.certain:
                run.show_printed()
                raise
            if last and program.cooperative and program.polls:
                stuck = not_simulated(error, _IN_A_GRID)
            elif last and run.blocks_here == 1:
                stuck = explain(run, watcher, error)
            memory.put_back()
            if last:
                run.show_printed()
                raise stuck from None
            waits_in = waits_in or error
            for observer, state in zip(observers, before, strict=True):
                vars(observer).clear()
                vars(observer).update(copy.deepcopy(state))
        except SimtError:
            run.show_printed()
            raise
        else:
            break
    run.show_printed()
    if len(listeners) < len(observers):  # it runs, but somebody could not listen
        memory.put_back()
        assert waits_in is not None
        raise not_simulated(waits_in, _BY_WARP)
    if waits_in is not None and program.counted:
        run.notes.append(_counted_waiting(waits_in, order))
    return run


def _counted_waiting(loop: LivelockError, order: str) -> Note:
    """What the counts of a loop that waits are worth."""
    turns = ", and their warps took turns" if order == "by warp" else ""
    text = (
        f"{loop.kernel}, line {loop.line}: {loop.line_text.strip()} waits for other threads. To be "
        f"counted, its blocks ran one after another{turns}: this loop's rounds are those of this "
        "order, and a GPU makes more or fewer of them. Lines outside it are counted exactly."
    )
    return Note("waits", loop.line or 0, text)


_IN_A_GRID = (
    "this loop waits for another thread, in a kernel that synchronises its grid",
    "The simulator runs such a kernel in step, so that no thread can wait for another in a loop. "
    "Meet with grid.sync() in its place, or split the kernel into two launches.",
)
_BY_WARP = (
    "this loop waits for another warp of its block",
    "A plain launch, profile() and sanitize() run this kernel; this observer listens to warps in "
    "step only.",
)


def explain(run: Any, watcher: Watcher, stuck: LivelockError) -> LivelockError:
    """The error, with who waits for what and for whom; run has one block at a time."""
    run.observers = (watcher,)  # blocks that are tried out are nobody else's business
    waits = {t: read for t in stuck.threads if (read := watcher.read_by(t)) is not None}
    if not waits:
        return stuck
    first = min(waits)
    circle = _circle(run, watcher, waits, first)
    thread = circle[0] if circle else first
    arr, at, _ = waits[thread]
    holder = watcher.changed_by(run, arr, at)
    reason, whom, site = _reason(run, watcher, stuck, thread, holder)
    if len(circle) > 1:
        reason = "circle"
    other_cell = ""
    if reason == "circle" and holder is not None:
        other_cell = _cell(run, *waits[holder[0]])
    return livelock(
        stuck, reason,
        waits=run.name_of(thread), cell=_cell(run, *waits[thread]), whom=run.name_of(whom),
        other_cell=other_cell, place=None if site is None else run.program.sites[site],
        threads=(thread,) if whom is None else (thread, whom),
    )  # fmt: skip


def _circle(run: Any, watcher: Watcher, waits: dict[int, Any], first: int) -> list[int]:
    """Threads that wait for each other in a circle, if one can be reached from the first."""
    path: list[int] = []
    thread = first
    while thread not in path:
        path.append(thread)
        holder = watcher.changed_by(run, *waits[thread][:2])
        if holder is None or holder[0] not in waits:
            return []
        thread = holder[0]
    return path[path.index(thread) :]


def _reason(
    run: Any, watcher: Watcher, stuck: LivelockError, thread: int, holder: tuple[int, int] | None
) -> tuple[str, int | None, int | None]:
    """(reason, thread that is waited for, site of its change)"""
    if holder is not None and holder[0] != thread:
        whom, site = holder
        if whom not in stuck.alive:
            return "ended", whom, site
        return ("warp" if run.same_warp(whom, thread) else "barrier"), whom, site
    read = watcher.read_by(thread)
    assert read is not None
    arr, at, _ = read
    here = run.first_block
    if arr.root.space == "global":
        later = range(here + 1, min(here + 1 + LATER, run.blocks))
        for block in (*later, *reversed(later)):  # they may wait for later ones themselves
            run.try_block(block)
            found = watcher.changed_by(run, arr, at)
            if found is not None and found != holder:
                return "later", found[0], found[1]
    # Would its own warp change it, if it did not have to wait?
    place = next((p for p, a in run.allocations.items() if getattr(a, "root", 0) is arr.root), None)
    run.try_block(here, without=stuck.threads)
    again = arr if place is None else run.allocations.get(place, arr)
    found = watcher.changed_by(run, again, at)
    if found is not None and found != holder and run.same_warp(found[0], thread):
        return "mates", found[0], found[1]
    return "nobody", None, None


def _cell(run: Any, arr: ArrayRef, at: int, site: int) -> str:
    name = run.program.sites[site].array
    rest = at - int(np.asarray(arr.offset).flat[0])
    index = []
    for stride in arr.strides:
        step = int(np.asarray(stride).flat[0])
        index.append(rest // step if step else 0)
        rest -= index[-1] * step
    return f"{name}[{', '.join(map(str, index))}]"
