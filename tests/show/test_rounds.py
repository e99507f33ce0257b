"""The picture of the rounds of a block: which threads work on an array between two barriers."""

from __future__ import annotations

import numpy as np
import pytest

from warpwise.show import Rounds, show_rounds
from warpwise.show.dial import Dialled
from warpwise.show.palette import TINTS
from warpwise.simt import Kernel, OutOfBoundsError

TREE = """
from numba import cuda, float32
@cuda.jit
def tree(out, x):
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    s[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if t < stride:
            s[t] += s[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]
"""


def drawn(threads: int, blocks: int = 1, **choice: object) -> Rounds:
    """The tree of one block."""
    kernel = Kernel.from_source(TREE, "tree")
    x = np.ones(threads * blocks, np.float32)
    return show_rounds(
        kernel[blocks, threads], np.zeros(blocks, np.float32), x, array="s", **choice
    )


def test_a_small_block_says_what_each_thread_adds() -> None:
    """A cell holds the elements that its thread reads; idle threads have a dot."""
    assert str(drawn(4)) == (
        "tree[1, 4](out, x): who works on s, round by round\n"
        "            0   1   2   3\n"
        "  round 0  >0  >1  >2  >3  4 of 4 threads, 1 of 1 warp\n"
        "  round 1 0+2 1+3   .   .  2 of 4 threads, 1 of 1 warp\n"
        "  round 2 0+1   .   .   .  1 of 4 threads, 1 of 1 warp\n"
        "  round 3   0   .   .   .  1 of 4 threads, 1 of 1 warp\n"
        "  (counted, simulator)"
    )


def test_a_large_block_shows_its_warps() -> None:
    """One sign a thread, a gap between warps; which warps have work."""
    picture = drawn(64, blocks=2, block=1)
    assert (
        "  round 2 " + "#" * 16 + "." * 16 + " " + "." * 32 + "  16 of 64 threads, 1 of 2 warps"
        in (str(picture).splitlines())
    )
    assert "tree[2, 64](out, x), block 1" in str(picture)
    assert [len(row.threads) for row in picture.rounds] == [64, 32, 16, 8, 4, 2, 1, 1]
    assert picture.rounds[1].warps == (0,)


def test_the_table_has_a_filled_cell_for_each_busy_thread() -> None:
    """64 + 63 + 1 of them; the frame of an idle one is dotted."""
    html = drawn(64).html()
    assert html.count(TINTS[0]) == 64 + 63 + 1
    assert html.count("dotted") == 8 * 64 - 128
    assert 'colspan="8"' in html


def test_several_launches_have_a_dial() -> None:
    """Without widgets the first is shown."""
    kernel = Kernel.from_source(TREE, "tree")
    args = np.zeros(1, np.float32), np.ones(8, np.float32)
    dialled = show_rounds({"four": kernel[1, 4], "eight": kernel[1, 8]}, *args, array="s")
    assert isinstance(dialled, Dialled)
    assert str(dialled) == str(drawn(4))
    assert "tree[1, 8]" in dialled.at(version="eight")["text/plain"]


def test_an_array_that_is_not_there() -> None:
    """The name is said, and an error of the launch comes through."""
    kernel = Kernel.from_source(TREE, "tree")
    with pytest.raises(ValueError, match="block 0 never touches an array 'tile'"):
        show_rounds(kernel[1, 4], np.zeros(1), np.ones(4), array="tile")
    with pytest.raises(OutOfBoundsError):
        show_rounds(kernel[1, 4], np.zeros(1), np.ones(3), array="s")
