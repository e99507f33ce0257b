"""The picture of a trace: steps downward, threads across, bounded for large launches."""

from __future__ import annotations

import re

import numpy as np
import pytest

from warpwise.show import Steps, show_steps, show_threads
from warpwise.show.palette import INK, QUIET
from warpwise.simt import Kernel, LaunchError, OutOfBoundsError

REVERSE = """
from numba import cuda, float32
@cuda.jit
def reverse(out, x, total):
    s = cuda.shared.array(4, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i]
    cuda.syncthreads()
    out[i] = s[3 - t]
    if t % 2 == 0:
        cuda.atomic.add(total, t // 2, float32(1))
"""


def drawn(**choice: object) -> Steps:
    """Two blocks of four threads."""
    kernel = Kernel.from_source(REVERSE, "reverse")
    x = np.arange(8, dtype=np.float32)
    return show_steps(kernel[2, 4], np.zeros(8, np.float32), x, np.zeros(2, np.float32), **choice)


def test_the_steps_of_a_block_as_text() -> None:
    """Line, what it does, and the element of each thread; a barrier is a rule."""
    assert str(drawn(block=1)) == (
        "reverse[2, 4](out, x, total), block 1, step by step\n"
        "                 thread  0 1 2 3\n"
        "         line 8 reads x  4 5 6 7\n"
        "        line 8 writes s  0 1 2 3\n"
        "        line 9: barrier  - - - -\n"
        "        line 10 reads s  3 2 1 0\n"
        "     line 10 writes out  4 5 6 7\n"
        "  line 12 updates total  0   1\n"
        "  (counted, simulator)"
    )


def test_the_steps_of_a_block_as_html() -> None:
    """Tints by array, frames by kind, readable on light and dark, nothing that needs trust."""
    page = drawn().html()
    assert "<script" not in page
    assert "<svg" not in page
    cells = re.findall(r'<td style="([^"]*)">([^<]*)</td>', page)
    assert len(cells) == 5 * 4
    assert sum("3px solid" in style for style, _ in cells) == 8
    assert sum("3px double" in style for style, _ in cells) == 2
    assert [text for style, text in cells if "dotted" in style] == ["", ""]
    assert all(f"color: {INK}" in style for style, text in cells if text)
    assert f"dashed {QUIET}" in page
    assert "thin frame: read" not in page  # a sentence starts with a capital
    assert "Thin frame: read; thick frame: written; double frame: an atomic operation." in page


def test_one_array_alone() -> None:
    """Only its steps."""
    rows = drawn(array="s").rows
    assert [row if isinstance(row, int) else row.title for row in rows] == [
        "line 8 writes s", 9, "line 10 reads s"
    ]  # fmt: skip


def test_threads_and_cells_along_two_axes() -> None:
    """Threads and blocks are named x,y; cells by row and column."""
    text = "@cuda.jit\ndef k(out):\n    x, y = cuda.grid(2)\n    out[y, x] = 1\n"
    kernel = Kernel.from_source(text, "k")
    assert str(show_steps(kernel[(2, 1), (2, 2)], np.zeros((2, 4)), block=(1, 0))) == (
        "k[(2, 1), (2, 2)](out), block 1,0, step by step\n"
        "             thread  0,0 1,0 0,1 1,1\n"
        "  line 4 writes out  0,2 0,3 1,2 1,3\n"
        "  (counted, simulator)"
    )


def test_a_large_launch_is_bounded() -> None:
    """Some steps and threads of one block, and sentences about the rest."""
    text = "@cuda.jit\ndef k(x):\n    for j in range(100):\n        x[cuda.grid(1)] += 1\n"
    picture = show_steps(Kernel.from_source(text, "k")[2000, 128], np.zeros(256_000))
    assert len(picture.rows) == 48
    assert picture.notes == (
        "The first 48 of 200 steps are shown; choose an array to see more of it: array='out'.",
        "The first 32 of 128 threads are shown.",
    )
    assert len(picture.html()) < 300_000


def test_dynamic_shared_memory_is_there() -> None:
    """Its size is part of the launch, in both pictures."""
    text = """
from numba import cuda, float32
@cuda.jit
def k(out):
    s = cuda.shared.array(0, float32)
    t = cuda.threadIdx.x
    s[t] = t
    out[t] = s[t]
"""
    launch = Kernel.from_source(text, "k")[1, 4, 0, 16]
    out = np.zeros(4, np.float32)
    assert "line 7 writes s" in str(show_steps(launch, out))
    assert "4 of 4 elements of out written" in str(show_threads(launch, out))


def test_drawing_changes_nothing_and_raises_as_the_launch_would() -> None:
    """The kernel works on copies."""
    text = "@cuda.jit\ndef k(x):\n    x[cuda.grid(1)] = 1\n"
    kernel = Kernel.from_source(text, "k")
    x = np.zeros(4)
    show_steps(kernel[1, 4], x)
    assert not x.any()
    with pytest.raises(OutOfBoundsError):
        show_steps(kernel[1, 5], x)
    with pytest.raises(LaunchError, match="there is no block 7"):
        show_steps(kernel[1, 4], x, block=7)
