"""Whole kernels against figures that theory or NVIDIA's own text gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpwise.observe import Report, profile
from warpwise.simt import Kernel

HEADER = "from numba import cuda, float32, int32\n"


def of(text: str, grid: Any, block: Any, *args: Any, **constants: Any) -> Report:
    """The report of launching the kernel `k` of a text."""
    return profile(Kernel.from_source(HEADER + text, "k", constants)[grid, block], *args)


def test_the_example_of_the_profiling_guide() -> None:
    """65,536 loads at 32 sectors: 2,097,152 sectors, of which a cache that holds them all misses
    an eighth.  Source: Nsight Compute, Profiling Guide."""
    text = "@cuda.jit\ndef k(a):\n    x, y = cuda.grid(2)\n    v = a[x, y]\n"
    report = of(text, (32, 256), (64, 4), np.zeros((2048, 1024), np.float32))
    assert (report.loads.requests, report.loads.sectors) == (65_536, 2_097_152)
    assert report.loads.sectors_per_request == 32.0
    assert report.unique_sectors["a"] == 262_144 == report.loads.sectors // 8


def test_a_naive_transpose_of_a_million() -> None:
    """32,768 warps read 4 and write 32 sectors each."""
    text = "@cuda.jit\ndef k(out, a):\n    x, y = cuda.grid(2)\n    out[x, y] = a[y, x]\n"
    a = np.zeros((1024, 1024), np.float32)
    report = of(text, (32, 32), (32, 32), a.copy(), a)
    assert (report.loads.requests, report.loads.sectors_per_request) == (32_768, 4.0)
    assert (report.stores.requests, report.stores.sectors_per_request) == (32_768, 32.0)


GEMM = """
@cuda.jit
def k(c, a, b):
    s = cuda.shared.array((16, 16), float32)
    t = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    v = float32(0)
    for m in range(a.shape[1] // 16):
        s[ty, tx] = a[y, m * 16 + tx]
        t[ty, tx] = b[m * 16 + ty, x]
        cuda.syncthreads()
        for j in range(16):
            v += s[ty, j] * t[j, tx]
        cuda.syncthreads()
    c[y, x] = v
"""


def test_a_tiled_matrix_product() -> None:
    """2 n^3 operations; each tile is read once by a block, two barriers a tile, no conflicts."""
    n = 64
    a, b = np.random.default_rng(0).random((2, n, n), np.float32)
    c = np.zeros((n, n), np.float32)
    report = of(GEMM, (4, 4), (16, 16), c, a, b)
    assert np.allclose(c, a @ b, rtol=1e-5)
    assert report.flops == {"float32": 2 * n**3}
    assert report.loads.bytes_requested == 2 * n**3 // 16 * 4
    assert report.loads.sectors == report.loads.ideal_sectors == 2 * n**3 // 16 * 4 // 32
    assert report.stores.sectors == n * n * 4 // 32
    assert report.barriers == 16 * 2 * (n // 16)
    assert report.shared.bank_conflicts == 0
    assert report.shared_loads.requests == 2 * n**3 // 32
    assert report.unique_sectors == {"c": n * n // 8, "a": n * n // 8, "b": n * n // 8}
    assert report.unique_sectors_per_block["a"] == 4 * n * n // 8  # by each column of blocks
    assert report.branches.divergent == 0


def test_writing_a_tile_by_columns() -> None:
    """A 32 by 32 tile stored transposed conflicts 32 ways; 33 columns never do.  Source: CUDA C++
    Best Practices Guide, shared memory in C = A A^T."""
    text = """
@cuda.jit
def k(a):
    s = cuda.shared.array((32, PITCH), float32)
    s[cuda.threadIdx.x, cuda.threadIdx.y] = a[cuda.threadIdx.y, cuda.threadIdx.x]
"""
    for pitch, ways in ((32, 32), (33, 1)):
        report = of(text, 1, (32, 32), np.zeros((32, 32), np.float32), PITCH=pitch)
        assert report.shared_stores.worst == ways
        assert report.shared_stores.wavefronts == 32 * ways


@pytest.mark.parametrize(("bins", "transactions"), [(1, 32), (4, 8), (32, 4), (256, 4)])
def test_a_histogram_by_how_many_bins(bins: int, transactions: int) -> None:
    """One bin: the 32 lanes of a warp queue; 32 bins: a transaction for each sector."""
    text = """
@cuda.jit
def k(out, x):
    i = cuda.grid(1)
    cuda.atomic.add(out, x[i], 1)
"""
    x = np.arange(4096) % bins
    out = np.zeros(bins, np.int32)
    report = of(text, 16, 256, out, x)
    assert out.sum() == 4096
    assert report.atomics.transactions_per_request == transactions
    assert report.atomics.worst == max(1, 32 // bins)


def test_lanes_of_a_guard_at_the_edge() -> None:
    """A 1000 by 1000 product in blocks of 32 by 8: the last column of blocks has 8 of 32 lanes."""
    text = """
@cuda.jit
def k(c):
    x, y = cuda.grid(2)
    if y < c.shape[0] and x < c.shape[1]:
        c[y, x] = 0
"""
    report = of(text, (32, 125), (32, 8), np.zeros((1000, 1000), np.float32))
    store = report.lines[-1].work
    assert (store.slots, store.lanes) == (32 * 1000, 1_000_000)
    assert round(100 * store.efficiency, 1) == 97.7


def test_lanes_of_a_block_of_33() -> None:
    """Two warps for 33 threads: 51.6 % of their lanes."""
    text = "@cuda.jit\ndef k(out):\n    out[cuda.threadIdx.x] = 1\n"
    report = of(text, 1, 33, np.zeros(33, np.float32))
    assert (report.work.slots, report.work.lanes) == (2, 33)
    assert round(100 * report.lane_efficiency, 1) == 51.6


def test_both_sides_of_a_divergent_branch_are_issued() -> None:
    """`t % 2`: each side at 16 of 32 lanes; `(t // 32) % 2`: all lanes."""
    text = """
@cuda.jit
def k(out):
    t = cuda.threadIdx.x
    if {}:
        out[t] = 1
    else:
        out[t] = 2
"""
    odd = of(text.format("t % 2 == 0"), 1, 64, np.zeros(64, np.float32))
    stores = [line.work for line in odd.lines if line.stores.requests]
    assert [(w.slots, w.lanes_per_slot) for w in stores] == [(2, 16.0), (2, 16.0)]
    warps = of(text.format("(t // 32) % 2 == 0"), 1, 64, np.zeros(64, np.float32))
    stores = [line.work for line in warps.lines if line.stores.requests]
    assert [(w.slots, w.lanes_per_slot) for w in stores] == [(1, 32.0), (1, 32.0)]
