"""Arrays of the reference, element by element, and the record of who touched what."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.np.numpy_support import as_dtype

from .marks import NO, ROUND, START

ROUNDS = 10_000  # of one loop of one thread


class Fault(Exception):
    """The kernel does what CUDA leaves undefined: a bad index, a divergent barrier."""


@dataclass(eq=False)
class Root:
    """A piece of memory: elements in a row, and which of them hold a value."""

    buf: Any
    space: str  # "global" | "shared" | "local" | "const"
    name: str = ""
    valid: Any = None  # bool per element; None when all are


class Touch(NamedTuple):
    """One access of one thread to one element."""

    site: int
    op: str  # "load" | "store" | "atomic"
    root: Root
    at: int
    block: int
    thread: int
    together: tuple[Any, ...]  # equal for the threads of a warp that run this access together
    epoch: int  # barriers that the block had passed
    warp_epoch: int  # syncwarps that the warp had passed


class Way(NamedTuple):
    """One evaluation of the condition of an `if` or a loop by one thread."""

    condition: int
    holds: bool
    block: int
    thread: int
    together: tuple[Any, ...]


@dataclass(eq=False)
class Array:
    """A view of a root: offset and strides count elements."""

    root: Root
    kind: Any  # numba type of an element
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    def locate(self, index: Any) -> Any:
        """Position of an element, or the view that an index with a slice or too few items gives."""
        parts = index if isinstance(index, tuple) else (index,)
        offset, shape, strides = self.offset, [], []
        for axis, n in enumerate(self.shape):
            step = self.strides[axis]
            part = parts[axis] if axis < len(parts) else slice(None)
            if isinstance(part, slice):
                start, stop, by = part.indices(n)
                offset += start * step if n else 0
                shape.append(len(range(start, stop, by)))
                strides.append(by * step)
                continue
            if not -n <= part < n:
                raise Fault(f"index {part} of {n}")
            offset += (part + n if part < 0 else part) * step
        return offset if not shape else Array(
            self.root, self.kind, offset, tuple(shape), tuple(strides)
        )  # fmt: skip

    def element(self, at: int) -> Any:
        value = self.root.buf[at]
        if isinstance(self.kind, types.Integer):
            return int(value)
        return bool(value) if isinstance(self.kind, types.Boolean) else value


def of_numpy(name: str, value: Any, kind: Any, space: str = "global") -> Array:
    """A NumPy array as an argument; a slice keeps its place in the memory of the whole array."""
    base = value
    while isinstance(base.base, np.ndarray):
        base = base.base
    root = Root(base.ravel(order="K"), space, name)
    assert base.size == 0 or np.shares_memory(root.buf, base)
    start = value.__array_interface__["data"][0] - base.__array_interface__["data"][0]
    steps = tuple(s // value.itemsize for s in value.strides)
    return Array(root, kind, start // value.itemsize, value.shape, steps)


def fresh(space: str, shape: Any, kind: Any) -> Array:
    """A shared or local array: no element holds a value yet."""
    shape = shape if isinstance(shape, tuple) else (shape,)
    n = int(np.prod(shape))
    steps = tuple(int(np.prod(shape[axis + 1 :])) for axis in range(len(shape)))
    root = Root(np.zeros(n, as_dtype(kind)), space, valid=np.zeros(n, bool))
    return Array(root, kind, 0, tuple(shape), steps)


@dataclass(eq=False)
class Thread:
    """What one thread sees besides its variables, and what it leaves behind."""

    block: int
    number: int  # linear, in the block
    dims: dict[str, int]  # threadIdx.x and the like
    shared: dict[Any, Array]
    touches: list[Touch]
    work: dict[tuple[int, str], int]  # (site, type) -> floating-point operations
    unset: list[int]  # sites that read an element without a value
    ways: list[Way]
    epoch: int = 0
    warp_epoch: int = 0
    loops: dict[int, int] = field(default_factory=dict)
    path: tuple[Any, ...] = ()
    around: dict[int, tuple[int, ...]] = field(default_factory=dict)  # site -> loops
    conditions: dict[int, tuple[int, ...]] = field(default_factory=dict)  # condition -> loops

    def mark(self, value: int) -> None:
        """A loop starts or goes round, or a condition holds or not."""
        number, what = divmod(value, 4)
        if what == START:
            self.loops[number] = 0
            return
        turn = self.loops.get(number, 0)
        together = (*self.path, number, turn, *(self.loops[k] for k in self.conditions[number]))
        self.ways.append(Way(number, what != NO, self.block, self.number, together))
        if what == ROUND:
            self.loops[number] = turn + 1
            if turn > ROUNDS:
                raise Fault("a loop that does not end")

    def together(self, site: int) -> tuple[Any, ...]:
        return (*self.path, site, *(self.loops[k] for k in self.around[site]))

    def touch(self, site: int, op: str, root: Root, at: int, turn: int = 0) -> None:
        """Record an access; `turn` counts those of one place in one round of its loops."""
        if op == "store" or root.valid is None or root.valid[at]:
            if root.valid is not None:
                root.valid[at] = True
        else:
            self.unset.append(site)
        self.touches.append(
            Touch(site, op, root, at, self.block, self.number, (turn, *self.together(site)),
                  self.epoch, self.warp_epoch)
        )  # fmt: skip

    def get(self, site: int, array: Any, index: Any, turn: int = 0) -> Any:
        if not isinstance(array, Array):  # a tuple
            if not -len(array) <= index < len(array):
                raise Fault(f"item {index} of {len(array)}")
            return array[index]
        at = array.locate(index)
        if isinstance(at, Array):
            return at
        self.touch(site, "load", array.root, at, turn)
        return array.element(at)

    def put(self, site: int, array: Array, index: Any, value: Any) -> None:
        at = array.locate(index)
        self.touch(site, "store", array.root, at)
        array.root.buf[at] = value

    def items(self, site: int, value: Any) -> Any:
        """Iterate; an array loads its elements one by one."""
        if isinstance(value, Array):
            return (self.get(site, value, k, k) for k in range(value.shape[0]))
        return iter(value)

    def count(self, site: int, kind: str) -> None:
        self.work[site, kind] = self.work.get((site, kind), 0) + 1
