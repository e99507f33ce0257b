"""The queues of one atomic operation, as text and as HTML."""

from __future__ import annotations

import re

import numpy as np
import pytest

from warpwise import profile
from warpwise.show import LaneQueues, show_queues
from warpwise.show.palette import TINTS
from warpwise.simt import Kernel, OutOfBoundsError

GLOBAL = """
from numba import cuda
@cuda.jit
def count(counts, x, n):
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.add(counts, x[i], 1)
"""
SHARED = """
import numpy as np
from numba import cuda
@cuda.jit
def count(counts, x, n):
    bins = cuda.shared.array(64, np.int32)
    t = cuda.threadIdx.x
    bins[t] = 0
    cuda.syncthreads()
    cuda.atomic.add(bins, x[t], 1)
    cuda.syncthreads()
    cuda.atomic.add(counts, t, bins[t])
"""
FEW = np.array([0] * 20 + [2] * 3 + [9] * 5 + [-1] * 4, np.int32)


def drawn(x: np.ndarray, source: str = GLOBAL, **choice: int) -> LaneQueues:
    """One launch of blocks of 64 threads over x, into 64 bins."""
    kernel = Kernel.from_source(source, "count")
    return show_queues(kernel[-(-x.size // 64), 64], np.zeros(64, np.int32), x, x.size, **choice)


def test_queues_in_global_memory_as_text() -> None:
    """The longest queue of each sector is what it costs; index -1 is the last element."""
    assert str(drawn(FEW)) == (
        "count[1, 64](counts, x, n), warp 0, line 7\n"
        "  cuda.atomic.add(counts, x[i], 1)\n"
        "  sector 0  counts[0]   ####################  20\n"
        "            counts[2]   ###\n"
        "  sector 1  counts[9]   #####                  5\n"
        "  sector 7  counts[63]  ####                   4\n"
        "  32 lanes at 4 elements in 3 sectors: 29 transactions\n"
        "  (counted, simulator)"
    )


def test_queues_in_shared_memory_as_text() -> None:
    """Elements of one bank wait for each other."""
    x = np.array([1] * 3 + [33] * 2 + list(range(5, 32)) + [0] * 32, np.int32)
    got = drawn(x, SHARED)
    lines = str(got).splitlines()

    assert lines[2:5] == [
        "  bank 1   bins[1]   ###", "           bins[33]  ##", "  bank 5   bins[5]   #",
    ]  # fmt: skip
    assert got.summary == "32 lanes at 29 elements in 28 banks: 5 transactions"


@pytest.mark.parametrize("source", [GLOBAL, SHARED])
@pytest.mark.parametrize("bins", [1, 3, 17, 64])
def test_the_costs_are_the_counters(source: str, bins: int) -> None:
    """The transactions and the longest queue that profile() counts for the same request."""
    x = np.random.default_rng(bins).integers(0, bins, 32, np.int32)
    kernel = Kernel.from_source(source.replace("shared.array(64", "shared.array(96"), "count")
    got = show_queues(kernel[1, 32], np.zeros(64, np.int32), x, 32)
    report = profile(kernel[1, 32], np.zeros(64, np.int32), x, 32)
    counted = report.atomics if source == GLOBAL else report.shared_atomics

    assert (got.transactions, got.longest) == (counted.transactions, counted.worst)
    if source == GLOBAL:
        assert got.transactions == sum(row.cost or 0 for row in got.rows)


def test_block_warp_and_request_are_chosen() -> None:
    """Their numbers as in the launch; only those that exist."""
    x = np.repeat(np.arange(4, dtype=np.int32), 32)

    for block, warp, element in ((0, 1, "counts[1]"), (1, 0, "counts[2]")):
        got = drawn(x, block=block, warp=warp)
        assert [row.element for row in got.rows] == [element]
        assert got.title == f"count[2, 64](counts, x, n), block {block}, warp {warp}, line 7"
    assert drawn(FEW.repeat(2), SHARED, request=1).rows[0].element == "counts[0]"
    with pytest.raises(ValueError, match=r"^there is no block 2: the launch has 2\.$"):
        drawn(x, block=2)
    with pytest.raises(ValueError, match=r"^there is no warp 2: a block has 2, counted from 0\.$"):
        drawn(x, warp=2)
    with pytest.raises(ValueError, match=r"^there is no request 1: this warp made 1 atomic op"):
        drawn(x, request=1)


def test_html_shows_each_lane_once() -> None:
    """A filled cell with the lane's number; a sector's tint; inline styles alone."""
    html = drawn(FEW).html()
    lanes = re.findall(r"<span [^>]*background: (#\w+);\">(\d+)</span>", html)

    assert sorted(int(lane) for _, lane in lanes) == list(range(32))
    assert [tint for tint, _ in lanes] == [TINTS[0]] * 23 + [TINTS[1]] * 5 + [TINTS[2]] * 4
    assert "<style" not in html and "class=" not in html
    assert "32 lanes at 4 elements in 3 sectors: 29 transactions" in html


def test_arguments_stay_as_they_are_and_errors_are_the_launch_s() -> None:
    """A drawing changes nothing; a bad index is told as by the launch."""
    counts = np.zeros(64, np.int32)
    kernel = Kernel.from_source(GLOBAL, "count")
    show_queues(kernel[1, 32], counts, FEW, 32)

    assert not counts.any()
    with pytest.raises(OutOfBoundsError):
        show_queues(kernel[1, 32], np.zeros(4, np.int32), FEW + 70, 32)
