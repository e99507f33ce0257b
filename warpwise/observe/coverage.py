"""Lints of a launch: does its grid cover the arrays that it writes, and do its blocks fill warps?

Elements that nobody writes are no fault by themselves: a reduction writes one, a stencil no border.
They are noted where the launch explains them: threads that end where the written elements end, a
launch with fewer dimensions than the kernel's cuda.grid(); and in arrays of cuda.device_array,
where they hold what was there before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..simt.dimensions import Dim3
from ..simt.launch import Run
from ..simt.program import Note
from ..simt.values import ArrayRef, Mask, Value
from .base import Quiet
from .census import positions


class Coverage(Quiet):
    """Watches which elements of the arguments are written; `notes` after the run."""

    any_order = True

    def __init__(self) -> None:
        self.notes: list[Note] = []
        self._written: dict[int, Any] = {}  # by root: which elements
        self._line: dict[int, int] = {}  # by root: the line that stores

    def begin(self, run: Run) -> None:
        self.notes, self._line = [], {}
        self._written = {
            id(value.root): np.zeros(value.root.buf.size, np.bool_)
            for value in run.arguments.values()
            if isinstance(value, ArrayRef)
        }

    def store(
        self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value, m: Mask,
        value: Value,
    ) -> None:  # fmt: skip
        written = self._written.get(id(arr.root))
        if written is None:
            return
        self._line.setdefault(id(arr.root), run.program.sites[site].line)
        if m is True:
            written[at] = True
        else:
            shape = np.broadcast_shapes(np.shape(at), np.shape(m))
            written[np.broadcast_to(at, shape)[np.broadcast_to(m, shape)]] = True

    def atomic(
        self, run: Run, site: int, arr: ArrayRef, index: tuple[Value, ...], at: Value, m: Mask,
        name: str, operands: tuple[Value, ...], old: Value,
    ) -> None:  # fmt: skip
        self.store(run, site, arr, index, at, m, old)

    def end(self, run: Run) -> None:
        for name, ref in run.arguments.items():
            if isinstance(ref, ArrayRef) and id(ref.root) in self._line:
                if self._written[id(ref.root)].all():
                    continue
                line = self._line[id(ref.root)]
                cells = positions(ref)
                text = self._missing(run, name, ref, self._written[id(ref.root)][cells], cells)
                if text:
                    self.notes.append(
                        Note("unwritten", line, f"{run.program.name}, line {line}: {text}")
                    )
        idle = -run.threads_per_block % 32
        if idle and (run.blocks > 1 or run.threads_per_block > 32):
            lanes = run.threads_per_block + idle
            self.notes.append(
                Note("partial_warp", 0, f"{run.program.name}: a block of {run.threads_per_block} "
                     f"threads leaves {idle} of the {lanes} lanes of its warps idle. Use a "
                     "multiple of 32.")
            )  # fmt: skip

    def _missing(self, run: Run, name: str, ref: ArrayRef, written: Any, cells: Any) -> str:
        """What to say of an array with elements that nobody wrote; "" for nothing."""
        if written.all() or not written.size:
            return ""
        return (
            self._too_few_dimensions(run, name, written)
            or self._too_few_threads(run, name, written)
            or self._undefined(name, ref, cells)
        )

    def _too_few_dimensions(self, run: Run, name: str, written: Any) -> str:
        calls = run.program.notes
        wanted = max((ndim for what, ndim, *_ in calls if what == "grid"), default=0)
        strides = any(what == "gridsize" for what, *_ in calls)
        used = max(_axes(run.grid), _axes(run.block))
        if wanted <= used or strides:
            return ""
        zero = " and ".join("xyz"[used:wanted])
        shape = "(blocks_x, blocks_y), (x, y)" if wanted == 2 else "(bx, by, bz), (x, y, z)"
        return (
            f"cuda.grid({wanted}) numbers the threads along {wanted} dimensions, but the launch "
            f"has {used}: {zero} {'is' if wanted - used == 1 else 'are'} 0 in every thread, and "
            f"{_unwritten(name, written)}. Launch {run.program.name}[{shape}]."
        )

    def _too_few_threads(self, run: Run, name: str, written: Any) -> str:
        """Where exactly the elements that the launch has threads for are written."""
        threads = [g * b for g, b in zip(run.grid, run.block, strict=True)]
        if not written.any():
            return ""
        ends = [int(np.flatnonzero(written.any(axis=_others(written, axis)))[-1]) + 1
                for axis in range(written.ndim)]  # fmt: skip
        if not written[tuple(slice(end) for end in ends)].all():
            return ""
        short = [axis for axis, end in enumerate(ends) if end < written.shape[axis]]
        if any(ends[axis] not in threads or ends[axis] == 1 for axis in short):
            return ""
        axis = short[0]
        along = threads.index(ends[axis])
        size, block = written.shape[axis], run.block[along]
        there = f" along axis {axis}" if written.ndim > 1 else ""
        return (
            f"the launch has {ends[axis]:,} threads along {'xyz'[along]} and {name} has {size:,} "
            f"elements{there}: {_unwritten(name, written)}. "
            f"Use ({size} + {block} - 1) // {block} = {-(-size // block):,} blocks."
        )

    def _undefined(self, name: str, ref: ArrayRef, cells: Any) -> str:
        if ref.root.init is None or ref.root.init[cells].all():
            return ""
        return (
            f"{_unwritten(name, ref.root.init[cells] != 0)}, and cuda.device_array leaves there "
            "what was there before. Write every element, or copy zeros to the device."
        )


def _others(array: Any, axis: int) -> tuple[int, ...]:
    return tuple(k for k in range(array.ndim) if k != axis)


def _axes(dims: Dim3) -> int:
    return 3 if dims[2] > 1 else 2 if dims[1] > 1 else 1


def _unwritten(name: str, written: Any) -> str:
    """ "out[96] and 3 more elements are written by nobody" """
    missing = np.argwhere(~written)
    first = ", ".join(str(i) for i in missing[0])
    rest = len(missing) - 1
    if not rest:
        return f"{name}[{first}] is written by nobody"
    return f"{name}[{first}] and {rest:,} more element{'s' * (rest > 1)} are written by nobody"
