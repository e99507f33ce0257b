"""The picture of a warp: instructions downward, lanes across, as they were active."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from warpwise.observe import profile
from warpwise.observe.issue import Issues
from warpwise.show import Lanes, show_lanes
from warpwise.show.palette import TINTS
from warpwise.show.touch import LaunchTouch
from warpwise.simt import Kernel, OutOfBoundsError, run

BRANCH = """
from numba import cuda
@cuda.jit
def branch(out, a):
    i = cuda.grid(1)
    if i % 2 == 0:
        out[i] = 3 * a[i]
    else:
        out[i] = a[i] + 10
"""
LOOP = """
from numba import cuda
@cuda.jit(device=True)
def twice(v):
    return v + v
@cuda.jit
def loop(out, a):
    i = cuda.grid(1)
    for k in range(i % 4):
        out[i] += twice(a[i])
"""


def drawn(blocks: int, threads: int, **choice: int) -> Lanes:
    """The branch by odd and even threads."""
    kernel = Kernel.from_source(BRANCH, "branch")
    a = np.ones(blocks * threads, np.float32)
    return show_lanes(kernel[blocks, threads], np.zeros_like(a), a, **choice)


def test_a_branch_by_lane_as_text() -> None:
    """Each side is issued for its half of the lanes."""
    assert str(drawn(1, 64, warp=1)) == (
        "branch[1, 64](out, a), warp 1\n"
        "                    lane  0       8       16      24        slots  active\n"
        "  if i % 2 == 0:          ################################      2      32\n"
        "      out[i] = 3 * a[i]   #.#.#.#.#.#.#.#.#.#.#.#.#.#.#.#.      3      16\n"
        "      out[i] = a[i] + 10  .#.#.#.#.#.#.#.#.#.#.#.#.#.#.#.#      3      16\n"
        "  8 issue slots, 20.0 of 32 lanes active in the mean\n"
        "  (counted, simulator)"
    )


def test_lanes_without_a_thread() -> None:
    """The last warp of a block that does not fill it; its block is named."""
    text = str(drawn(2, 35, block=1, warp=1))
    assert text.startswith("branch[2, 35](out, a), block 1, warp 1\n")
    assert "      out[i] = 3 * a[i]   .#.                                   3       1\n" in text
    assert "  Lanes 3 to 31 have no thread: the block ends before them.\n" in text
    assert drawn(1, 31).notes == ["Lane 31 has no thread: the block ends before it."]


def test_a_branch_as_html() -> None:
    """A filled cell for an active lane, a frame for one that waits, nothing where no thread is."""
    page = drawn(1, 20).html()
    assert "<script" not in page
    cells = re.findall(r'<td style="([^"]*)"></td>', page)
    assert len(cells) == 3 * 32
    assert sum(TINTS[0] in style for style in cells) == 20 + 10 + 10
    assert sum("dotted" in style for style in cells) == 20
    assert page.count("out[i] = 3 * a[i]") == 1


def test_the_picture_agrees_with_the_counters() -> None:
    """Slots and lanes of all warps together, through a loop and a device function."""
    kernel = Kernel.from_source(LOOP, "loop")
    a = np.ones(150, np.float32)
    report = profile(kernel[3, 50], np.zeros_like(a), a)
    seen = [Issues(block, warp) for block in range(3) for warp in range(2)]
    run(kernel, 3, 50, [np.zeros_like(a), a], seen)
    assert sum(one.slots for one in seen) == report.work.slots
    assert sum(one.lanes for one in seen) == report.work.lanes
    assert {issue.function for issue in seen[0].issues} == {"loop", "twice"}


def test_a_long_run_is_bounded() -> None:
    """Some rows, and a sentence about the rest; the sums are of all."""
    text = "@cuda.jit\ndef k(x):\n    i = cuda.grid(1)\n    for j in range(99):\n        x[i] += j"
    picture = show_lanes(Kernel.from_source(text, "k")[1, 32], np.zeros(32))
    assert len(picture.rows) == 48
    assert picture.slots == 99 * 3
    assert picture.notes == ["... and 51 more rows"]


def test_a_kernel_without_instructions() -> None:
    """Nothing is issued."""
    picture = show_lanes(Kernel.from_source("@cuda.jit\ndef k(x):\n    pass\n", "k")[1, 32], 1)
    assert picture.rows == ()
    assert picture.summary == "0 issue slots, 0.0 of 32 lanes active in the mean"


def test_drawing_changes_nothing_and_refuses_what_is_not_there() -> None:
    """The kernel works on copies; blocks and warps count from zero."""
    kernel = Kernel.from_source("@cuda.jit\ndef k(x):\n    x[cuda.grid(1)] = 1\n", "k")
    x = np.zeros(64)
    show_lanes(kernel[2, 32], x)
    assert not x.any()
    with pytest.raises(ValueError, match="there is no warp 1: a block has 1, counted from 0"):
        show_lanes(kernel[2, 32], x, warp=1)
    with pytest.raises(ValueError, match="there is no block 2: the launch has 2"):
        show_lanes(kernel[2, 32], x, block=2)
    with pytest.raises(OutOfBoundsError):
        show_lanes(kernel[3, 32], x)


@pytest.mark.parametrize("block", [4, -1, (2, 0), (0, 2), (0, 0, 1)])
def test_a_block_beside_the_grid_is_refused(block: Any) -> None:
    """Also where its number in a row would be that of another block."""
    kernel = Kernel.from_source("@cuda.jit\ndef k(x):\n    pass\n", "k")
    about = LaunchTouch.of(kernel, (2, 2, 1), (32, 1, 1))
    with pytest.raises(ValueError, match=r"there is no block .* the launch has 4"):
        about.block_number(block)
    assert about.block_number((1, 1)) == about.block_number(3) == 3
