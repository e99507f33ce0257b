"""Lints of a launch: what its grid leaves out, and blocks that do not fill warps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpwise.observe import profile
from warpwise.simt import Kernel

HEADER = "from numba import cuda, float32\n"
FILL = "@cuda.jit\ndef k(out):\n    i = cuda.grid(1)\n    if i < out.size:\n        out[i] = 1\n"
FILL_2D = """
@cuda.jit
def k(out):
    x, y = cuda.grid(2)
    if y < out.shape[0] and x < out.shape[1]:
        out[y, x] = 1
"""


def notes(text: str, grid: Any, block: Any, *args: Any) -> list[str]:
    """Notes of profiling the kernel `k` of a text."""
    kernel = Kernel.from_source(HEADER + text, "k")
    return [note.text for note in profile(kernel[grid, block], *args).notes]


def test_a_grid_that_ends_before_its_array() -> None:
    """The first element, how many, and the number of blocks that would do."""
    assert notes(FILL, 3, 32, np.zeros(100, np.float32)) == [
        "k, line 6: the launch has 96 threads along x and out has 100 elements: out[96] and 3 more "
        "elements are written by nobody. Use (100 + 32 - 1) // 32 = 4 blocks."
    ]
    assert notes(FILL, 4, 32, np.zeros(100, np.float32)) == []


def test_a_grid_that_ends_before_its_rows_or_columns() -> None:
    """The axis is named, whichever index comes first."""
    assert notes(FILL_2D, (2, 2), (16, 16), np.zeros((32, 33), np.float32)) == [
        "k, line 7: the launch has 32 threads along x and out has 33 elements along axis 1: "
        "out[0, 32] and 31 more elements are written by nobody. "
        "Use (33 + 16 - 1) // 16 = 3 blocks."
    ]
    assert "16 threads along y and out has 17 elements along axis 0" in notes(
        FILL_2D, (2, 1), (16, 16), np.zeros((17, 32), np.float32)
    )[0]  # fmt: skip
    assert notes(FILL_2D, (3, 2), (16, 16), np.zeros((32, 33), np.float32)) == []


def test_a_launch_with_too_few_dimensions() -> None:
    """A kernel for two dimensions in one: every thread has y == 0."""
    assert notes(FILL_2D, 1, 32, np.zeros((32, 32), np.float32)) == [
        "k, line 7: cuda.grid(2) numbers the threads along 2 dimensions, but the launch has 1: "
        "y is 0 in every thread, and out[1, 0] and 991 more elements are written by nobody. "
        "Launch k[(blocks_x, blocks_y), (x, y)]."
    ]
    assert notes(FILL_2D, 1, 32, np.zeros((1, 32), np.float32)) == []  # one row needs no more


def test_a_launch_with_too_many_dimensions() -> None:
    """A kernel for one dimension in two: threads that differ in y do the same."""
    found = notes(FILL, (2, 2), (16, 2), np.zeros(32, np.float32))
    assert found[0].startswith("k, line 4: cuda.grid(1) numbers the threads along 1 dimension")


def test_blocks_that_do_not_fill_warps() -> None:
    """Idle lanes of every block; one small block is nobody's mistake."""
    assert notes(FILL, 2, 100, np.zeros(200, np.float32)) == [
        "k: a block of 100 threads leaves 28 of the 128 lanes of its warps idle. "
        "Use a multiple of 32."
    ]
    assert notes(FILL, 1, 5, np.zeros(5, np.float32)) == []


def test_an_uninitialised_array_with_elements_that_nobody_writes() -> None:
    """device_array holds what was there before."""
    from warpwise.simt import api

    text = "@cuda.jit\ndef k(out):\n    i = cuda.grid(1)\n    if i % 2 == 0:\n        out[i] = 1\n"
    assert notes(text, 1, 32, api.device_array(32, np.float32)) == [
        "k, line 6: out[1] and 15 more elements are written by nobody, and cuda.device_array "
        "leaves there what was there before. Write every element, or copy zeros to the device."
    ]
    assert notes(text, 1, 32, np.zeros(32, np.float32)) == []


CORRECT = {
    "a grid-stride loop": (
        "@cuda.jit\ndef k(out):\n    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):\n"
        "        out[i] = 1\n", 2, 32, (1000,)),
    "a sum into one element": (
        "@cuda.jit\ndef k(out):\n    cuda.atomic.add(out, 0, float32(1))\n", 2, 32, (64,)),
    "one element for each block": (
        "@cuda.jit\ndef k(out):\n    if cuda.threadIdx.x == 0:\n        out[cuda.blockIdx.x] = 1\n",
        4, 64, (10,)),
    "a stencil that leaves the border": (
        "@cuda.jit\ndef k(out):\n    i = cuda.grid(1)\n    if 0 < i < out.size - 1:\n"
        "        out[i] = 1\n", 4, 32, (128,)),
    "one thread that writes the first element": (
        "@cuda.jit\ndef k(out):\n    out[0] = 1\n", 1, 1, (8,)),
    "no elements": (FILL, 1, 32, (0,)),
}  # fmt: skip


@pytest.mark.parametrize("name", CORRECT)
def test_no_note_on_a_correct_kernel(name: str) -> None:
    """Elements that stay as they are on purpose."""
    text, grid, block, shape = CORRECT[name]
    assert notes(text, grid, block, np.zeros(shape, np.float32)) == []
