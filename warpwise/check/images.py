"""Images: cases and expected results for kernels over two dimensions.

An image is `a[row, column]` with shape (height, width).  A launch counts the other way round: x
along a row, y down the rows, so grid and block are (x, y).

ring    the cells at the edge of an image, a given number of cells thick
window  the 3 x 3 cells around a cell
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .cases import Case, Level, as_dims, ceil_div

Pair = tuple[int, int]

BLOCK: Pair = (8, 4)
# Not square, except for the single pixel; each axis on its own passes through 1, block - 1, block,
# block + 1 and a prime.  The first is the smallest picture in which a mistake can be followed by
# hand; in a single row, column or pixel most mistakes look alike.
SHAPES: list[Pair] = [
    (3, 7), (4, 8), (5, 9), (1, 9), (5, 1), (1, 1), (2, 33), (31, 3), (13, 29),
]  # fmt: skip


class Launch(NamedTuple):
    """An image and the launch over it; grid and block are (x, y)."""

    height: int
    width: int
    grid: Pair
    block: Pair


def grid_for(height: int, width: int, block: Pair) -> Pair:
    """Blocks along x and along y: `grid_for(5, 9, (8, 4))` is (2, 2)."""
    return ceil_div(width, block[0]), ceil_div(height, block[1])


def pixels(rng: np.random.Generator, height: int, width: int) -> np.ndarray:
    """A random float32 image: odd thousandths in [1, 10), e.g. 4.217.

    A sum of five or nine of them, or a product with an odd gain, is never a whole number, so a
    rounded result is the same whatever the order of the sum.
    """
    return ((2 * rng.integers(500, 5000, size=(height, width)) + 1) / 1000).astype(np.float32)


def launches(rng: np.random.Generator, level: Level) -> Iterator[Launch]:
    """Launches that cover their image: small ones, thin ones, larger ones; the empty one is last.

    The grader adds images under other blocks, and a grid with blocks to spare.
    """
    for height, width in SHAPES:
        yield Launch(height, width, grid_for(height, width, BLOCK), BLOCK)
    blocks: list[Pair] = [(16, 2)]
    if level == "grader":
        blocks += [(32, 1), (5, 3), (16, 16), (3, 8)]
    for block in blocks:
        height, width = oblong(rng, 11, 40)
        yield Launch(height, width, grid_for(height, width, block), block)
    if level == "grader":
        yield Launch(6, 11, (4, 5), BLOCK)
    yield Launch(0, 6, (1, 1), BLOCK)


def oblong(rng: np.random.Generator, low: int, high: int) -> Pair:
    """A random height and width, never equal."""
    height, width = (int(n) for n in rng.integers(low, high, size=2))
    return height, width + (height == width)


def image_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Cases of a kernel (out, a, height, width)."""
    for height, width, grid, block in launches(rng, level):
        image = pixels(rng, height, width)
        args = {"out": np.zeros_like(image), "a": image, "height": height, "width": width}
        yield Case(args, grid, block)


def owner(index: tuple[int, ...], case: Case) -> tuple[Any, Any]:
    """(block, thread) of cell (row, column)."""
    return thread_at(index[1], index[0], case)


def thread_at(x: int, y: int, case: Case) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """(block, thread) of the thread whose cuda.grid(2) is (x, y)."""
    block = as_dims(case.block)
    return (x // block[0], y // block[1], 0), (x % block[0], y % block[1], 0)


def written_below(result: np.ndarray, rows: int, columns: int) -> np.ma.MaskedArray:
    """`result`, with everything from row `rows` or column `columns` on left unwritten."""
    row, column = np.indices(result.shape)
    return np.ma.array(result, mask=(row >= rows) | (column >= columns))


def inner_only(image: np.ndarray, inside: np.ndarray, ring: int = 1) -> np.ndarray:
    """`inside` within the image, the image's own cells on a ring around it."""
    result = image.copy()
    within = tuple(slice(ring, max(n - ring, ring)) for n in image.shape)
    result[within] = inside[within]
    return result


def window_sum(image: np.ndarray, weights: np.ndarray, beyond: str = "edge") -> np.ndarray:
    """The weighted sum over the window of each cell, in float64.

    beyond: what stands outside the image, a mode of np.pad: "edge", "constant" (zeros), "wrap".
    """
    wide = image.astype(np.float64)
    if image.size == 0:
        return wide
    height, width = image.shape
    padded = np.pad(wide, 1, mode=beyond)  # type: ignore[call-overload]
    moved = [
        weights[dy, dx] * padded[dy : dy + height, dx : dx + width]
        for dy in range(3)
        for dx in range(3)
    ]
    return np.asarray(np.sum(moved, axis=0))
