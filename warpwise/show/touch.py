"""Touch: which thread wrote, or read, each element of an array in one launch.

touch    per element: how often, and by which thread last (a number in the launch, -1: nobody)
focus    one block looked at closely; None shows all
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .launching import Dim3, on_host, parts, shared_bytes

LABEL = "counted, simulator"


@dataclass(frozen=True)
class Touch:
    """One array of a launch.  times, last: shaped like the array; done: "wrote" or "read".

    by_block: {block: {flat position: its last thread there}}; None where there was too much to
    follow, and then only `last` tells who touched an element.
    """

    array: str
    done: str
    times: np.ndarray
    last: np.ndarray
    by_block: Mapping[int, Mapping[int, int]] | None
    busy: frozenset[int] | None


@dataclass(frozen=True)
class LaunchTouch:
    """A launch and what it touched.  call: as the learner wrote it, e.g. "add[3, 4](out, a, b)"."""

    call: str
    grid: Dim3
    block: Dim3
    touches: tuple[Touch, ...]

    @classmethod
    def of(
        cls, kernel: Any, grid: Dim3, block: Dim3, touches: tuple[Touch, ...] = ()
    ) -> LaunchTouch:
        """A launch of a kernel; its call is written with as many axes as it has."""
        axes = max(_axes(grid), _axes(block))
        shape = f"[{_dims(grid, axes)}, {_dims(block, axes)}]"
        return cls(f"{kernel.name}{shape}({', '.join(kernel.parameters)})", grid, block, touches)

    @property
    def blocks(self) -> int:
        """Blocks in the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads_per_block(self) -> int:
        """Threads in one block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def axes(self) -> int:
        """How many numbers name a thread here: 1, 2 or 3."""
        return max(_axes(self.grid), _axes(self.block))

    def block_name(self, number: int) -> str:
        """ "2" in a launch along one axis, "1,0" in one of two."""
        return _name(number, self.grid, self.axes)

    def block_place(self, number: int) -> Dim3:
        """(x, y, z) of a block."""
        x, rest = number % self.grid[0], number // self.grid[0]
        return x, rest % self.grid[1], rest // self.grid[1]

    def block_number(self, block: int | Sequence[int]) -> int:
        """Number in the launch of a block, given by its number or as (x, y, z).

        ValueError for one that the launch does not have.
        """
        if isinstance(block, int):
            number, there = block, 0 <= block < self.blocks
        else:
            x, y, z = (*block, 0, 0)[:3]
            number = _linear((x, y, z), self.grid)
            there = all(0 <= k < n for k, n in zip((x, y, z), self.grid, strict=True))
        if not there:
            raise ValueError(f"there is no block {block}: the launch has {self.blocks}.")
        return number

    def check_warp(self, warp: int) -> None:
        """ValueError for a warp that a block does not have."""
        warps = -(-self.threads_per_block // 32)
        if not 0 <= warp < warps:
            raise ValueError(f"there is no warp {warp}: a block has {warps}, counted from 0.")

    def thread_number(self, place: Dim3) -> int:
        """Number inside its block of the thread at (x, y, z)."""
        return _linear(place, self.block)

    def thread_name(self, number: int) -> str:
        """The thread inside its block, from its number in the launch."""
        return _name(number % self.threads_per_block, self.block, self.axes)

    def toucher(self, touch: Touch, at: int, focus: int | None) -> int:
        """The thread to name in a cell: the focused block's own, else the last one; or -1."""
        if focus is not None and touch.by_block is not None:
            own = touch.by_block.get(focus, {}).get(at)
            if own is not None:
                return own
        return int(touch.last.flat[at])

    def idle(self, touch: Touch, block: int) -> list[int] | None:
        """Threads of a block that did not touch the array; None where it is not known."""
        if touch.busy is None:
            return None
        first = block * self.threads_per_block
        return [t for t in range(first, first + self.threads_per_block) if t not in touch.busy]


def follow(launch: Any, args: Sequence[Any], arrays: Sequence[str] | None = None) -> LaunchTouch:
    """Run `launch` in the simulator on copies of `args` and note who touched what.

    launch: `kernel[grid, block]`.  arrays: parameter names; by default those that were written, and
    where there are none, those that were read.  Raises what the simulator raises, and ValueError
    with the legal names for an array that the kernel does not have.
    """
    from warpwise.observe import Census, Trace
    from warpwise.simt import run

    kernel, grid, block = parts(launch)
    census, trace = Census(), Trace()
    run(kernel, grid, block, on_host(args), (census, trace), shared_bytes(launch))
    known = list(census.writes)
    for name in arrays or ():
        if name not in known:
            raise ValueError(f"{kernel.name} has no array {name!r}; it has {', '.join(known)}.")
    written = [name for name in known if census.writes[name].any()]
    chosen = list(arrays) if arrays else written or known
    numbering = _Numbering(grid, block)
    touches = []
    for name in chosen:
        done = "wrote" if census.writes[name].any() or not census.reads[name].any() else "read"
        kinds = ("atomic", "store" if done == "wrote" else "load")
        events = [e for e in trace.events if e.array == name and e.kind in kinds]
        if done == "wrote":
            times, last = census.writes[name], census.writer[name]
        else:
            times, last = census.reads[name], np.full(census.reads[name].shape, -1, np.int64)
            for event in events:
                last[event.index] = numbering.of(event.block, event.thread)
        # Accesses through a slice of the array carry the slice's name: then not all are here.
        whole = not trace.truncated and len(events) == int(times.sum())
        touches.append(Touch(name, done, times, last, *numbering.sort(events, times.shape, whole)))
    return LaunchTouch.of(kernel, grid, block, tuple(touches))


@dataclass(frozen=True)
class _Numbering:
    """Numbers threads over a launch, x fastest."""

    grid: Dim3
    block: Dim3

    def sort(
        self, events: Sequence[Any], shape: tuple[int, ...], whole: bool
    ) -> tuple[dict[int, dict[int, int]] | None, frozenset[int] | None]:
        """`by_block` and `busy` of a Touch; None for both where events are missing."""
        if not whole:
            return None, None
        by_block: dict[int, dict[int, int]] = {}
        busy = set()
        for event in events:
            thread = self.of(event.block, event.thread)
            busy.add(thread)
            at = int(np.ravel_multi_index(event.index, shape))
            by_block.setdefault(_linear(event.block, self.grid), {})[at] = thread
        return by_block, frozenset(busy)

    def of(self, block: Dim3, thread: Dim3) -> int:
        per_block = self.block[0] * self.block[1] * self.block[2]
        return _linear(block, self.grid) * per_block + _linear(thread, self.block)


def _linear(place: Dim3, extents: Dim3) -> int:
    return place[0] + extents[0] * (place[1] + extents[1] * place[2])


def _name(number: int, extents: Dim3, axes: int) -> str:
    x, rest = number % extents[0], number // extents[0]
    place = (x, rest % extents[1], rest // extents[1])
    return ",".join(str(axis) for axis in place[:axes])


def _axes(dims: Dim3) -> int:
    return 3 if dims[2] > 1 else 2 if dims[1] > 1 else 1


def _dims(dims: Dim3, axes: int) -> str:
    return str(dims[0]) if axes == 1 else str(dims[:axes])
