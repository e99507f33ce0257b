"""Cases: one launch each, with inputs that leave a wrong kernel nowhere to hide.

n      elements of a 1-D array, e.g. 33
block  threads in one block along x, e.g. 32
case   arguments by name, a launch shape and a label, e.g. "n = 33"

Sizes sit on the edges where kernels break: one element, one less than a block, a full block, one
more, a prime.  Values are random, differ from cell to cell, are never zero and need more bits than
float16 has, so a constant, a copy, a transposed array and half precision all show.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

Level = Literal["student", "grader"]
Dims = int | tuple[int, ...]


@dataclass(frozen=True)
class Case:
    """One launch: `kernel[grid, block](*args.values())`.

    args: argument name -> NumPy array or plain scalar, in the order of the kernel's parameters.
    grid, block: launch shape in blocks and in threads, an int or a tuple of up to three.
    label: what sets this case apart, e.g. "n = 33"; by default the scalars, else the shapes.
    sharedmem: bytes of dynamic shared memory.
    """

    args: Mapping[str, Any]
    grid: Dims
    block: Dims
    label: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    sharedmem: int = 0

    def describe(self, names: Mapping[str, str] | None = None) -> str:
        """The label, or one made from scalars and shapes with the learner's `names`."""
        if self.label:
            return self.label
        called = names or {}
        scalars = [
            f"{called.get(name, name)} = {value}"
            for name, value in self.args.items()
            if not isinstance(value, np.ndarray)
        ]
        if scalars:
            return ", ".join(scalars)
        shapes = [
            f"{called.get(name, name)} {value.shape}"
            for name, value in self.args.items()
            if isinstance(value, np.ndarray)
        ]
        return ", ".join(shapes)

    @property
    def threads_per_block(self) -> int:
        """Threads in one block, all axes together."""
        return int(np.prod(as_dims(self.block)))

    @property
    def blocks(self) -> int:
        """Blocks in the grid, all axes together."""
        return int(np.prod(as_dims(self.grid)))


def as_dims(dims: Dims) -> tuple[int, ...]:
    """A launch shape as a tuple of three: `as_dims(4)` is (4, 1, 1)."""
    given = (dims,) if isinstance(dims, int | np.integer) else tuple(dims)
    return (*(int(extent) for extent in given), 1, 1)[:3]


def seeded(name: str, seed: int, level: Level) -> np.random.Generator:
    """A random generator fixed by exercise, seed and level; both levels draw other values."""
    return np.random.default_rng([zlib.crc32(name.encode()), seed, level == "grader"])


def ceil_div(n: int, d: int) -> int:
    """Blocks of `d` that cover `n`: `ceil_div(33, 32)` is 2.  At least 1, as a grid must be."""
    return max(1, -(-n // d))


def sizes(block: int, level: Level, rng: np.random.Generator) -> list[int]:
    """Lengths that straddle the edges of a block of `block` threads, smallest first.

    `sizes(32, "student", rng)` is [1, 31, 32, 33, 67, 97, 0].  The empty array comes last: it must
    work too, but what it says about a mistake is the least telling.  The grader adds four
    random lengths.
    """
    edges = {1, block - 1, block, block + 1, 31, 33, next_prime(2 * block), 3 * block + 1}
    if level == "grader":
        edges |= {int(n) for n in rng.integers(2, 8 * block, size=4)}
    return [*sorted(n for n in edges if n > 0), 0]


def next_prime(n: int) -> int:
    """The smallest prime greater than `n`: `next_prime(64)` is 67."""
    candidate = max(n + 1, 2)
    while any(candidate % d == 0 for d in range(2, int(candidate**0.5) + 1)):
        candidate += 1
    return candidate


def values(
    rng: np.random.Generator, shape: int | tuple[int, ...], dtype: Any = np.float32
) -> np.ndarray:
    """Random values, never zero: floats of three decimals in ±[1, 10), integers in ±[1, 100).

    `values(rng, 3)` is like [-7.313, 2.908, 9.155].  Unsigned integers are in [1, 200), a boolean
    array has both values.
    """
    kind = np.dtype(dtype)
    if kind.kind == "b":
        flags = rng.integers(0, 2, size=shape).astype(bool)
        if flags.size > 1:
            flags.flat[0], flags.flat[-1] = True, False
        return flags
    if kind.kind == "u":
        return rng.integers(1, 200, size=shape).astype(kind)
    sign = rng.choice([-1, 1], size=shape)
    if kind.kind == "i":
        return (rng.integers(1, 100, size=shape) * sign).astype(kind)
    return (np.round(rng.uniform(1.0, 10.0, size=shape), 3) * sign).astype(kind)


_POISON_BYTE = 0xA5
# A quiet NaN whose payload no arithmetic makes, so an untouched cell is told from a computed NaN.
_POISON_NAN = {2: 0x7EA5, 4: 0x7FC5A5A5, 8: 0x7FF8A5A5A5A5A5A5}


def poison(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    """An array no kernel has written yet: NaN for floats, the byte 0xA5 repeated for integers.

    `poison((2,), np.int32)` is [-1515870811, -1515870811].  Booleans have no spare value: False.
    """
    kind = np.dtype(dtype)
    if kind.kind == "b":
        return np.zeros(shape, kind)
    if kind.kind == "c":
        part = poison((*shape, 2), np.dtype(f"f{kind.itemsize // 2}"))
        return part.view(kind).reshape(shape)
    if kind.kind == "f":
        bits = np.full(shape, _POISON_NAN[kind.itemsize], np.dtype(f"u{kind.itemsize}"))
        return bits.view(kind)
    return np.full(
        shape,
        int.from_bytes(bytes([_POISON_BYTE]) * kind.itemsize, "little"),
        np.dtype(f"u{kind.itemsize}"),
    ).view(kind)


def is_poison(array: np.ndarray) -> np.ndarray:
    """Which elements still hold `poison`, by their bits.  Never true for booleans."""
    if array.dtype.kind == "b":
        return np.zeros(array.shape, bool)
    got = np.ascontiguousarray(array)
    want = poison(array.shape, array.dtype)
    same = got.reshape(-1).view(np.uint8) == want.reshape(-1).view(np.uint8)
    return same.reshape(array.size, array.dtype.itemsize).all(axis=1).reshape(array.shape)


def owner_by_position(
    index: tuple[int, ...], case: Case
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(block, thread) of the thread whose place in the grid is `index`: column is x, row is y.

    In a grid of blocks of 32 threads element 33 belongs to ((1, 0, 0), (1, 0, 0)).
    """
    place = (*reversed(index), 0, 0)
    extent = as_dims(case.block)
    block = tuple(place[axis] // extent[axis] for axis in range(3))
    thread = tuple(place[axis] % extent[axis] for axis in range(3))
    return block, thread
