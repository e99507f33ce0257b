"""The warp-serial order: right kernels give the same, races show their wrong values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.simt.test_memory import GEMM
from warpwise.observe import Census
from warpwise.simt import Kernel, SimtError, run

HEADER = "from numba import float32, int32\n"


def gemm(text: str, order: str, seed: int = 0) -> float:
    """Largest error of a tiled product whose kernel is `text`."""
    rng = np.random.default_rng(0)
    a, b = rng.random((70, 50), np.float32), rng.random((50, 65), np.float32)
    c = np.zeros((70, 65), np.float32)
    kernel = Kernel.from_source(HEADER + text, "k", {"TILE": 16})
    run(kernel, (5, 5), (16, 16), (c, a, b), order=order, seed=seed)
    return float(np.abs(c - a @ b).max())


def test_a_missing_barrier_shows_in_warp_serial_order_only() -> None:
    """Without its second barrier the product is right in lockstep and far off warp by warp."""
    at = GEMM.rindex("        cuda.syncthreads()\n")
    broken = GEMM[:at] + GEMM[at + len("        cuda.syncthreads()\n") :]
    assert gemm(GEMM, "lockstep") < 1e-4
    assert gemm(GEMM, "warp-serial") < 1e-4
    assert gemm(broken, "lockstep") < 1e-4
    assert all(gemm(broken, "warp-serial", seed) > 0.1 for seed in range(3))


def test_the_order_is_the_seeds() -> None:
    """One seed, one result; another seed may give another."""
    text = """
@cuda.jit
def k(out):
    s = cuda.shared.array(1, int32)
    s[0] = cuda.threadIdx.x // 32
    out[cuda.grid(1)] = s[0]
    cuda.syncthreads()
    out[cuda.grid(1)] += 10 * s[0]
"""
    kernel = Kernel.from_source(HEADER + text, "k")
    results = []
    for seed in (1, 1, 2, 3, 4):
        out = np.zeros(256, np.int64)
        run(kernel, 1, 256, (out,), order="warp-serial", seed=seed)
        results.append(out.tolist())
        # each warp sees its own number first, then that of the warp that stored last
        assert (out.reshape(8, 32) % 10 == np.arange(8)[:, None]).all()
        assert len(set((out // 10).tolist())) == 1
    assert results[0] == results[1]
    assert len({tuple(r) for r in results}) > 1


VOTES = """
@cuda.jit(device=True)
def mirror(s, t):
    s[t] = t
    cuda.syncthreads()
    return s[cuda.blockDim.x - 1 - t]
@cuda.jit
def k(out, x):
    s = cuda.shared.array(64, int32)
    v = cuda.local.array(2, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    v[0] = t
    c = cuda.syncthreads_count(int32(x[i] > 0))
    a = cuda.syncthreads_and(int32(x[i] > 0))
    o = cuda.syncthreads_or(int32(x[i] > 0))
    if t == 50:
        return
    w = cuda.shfl_xor_sync(0xffffffff, int32(t), 1)
    out[i] = mirror(s, t) + 100 * c + 10000 * a + 100000 * o + 1000000 * v[0] + w
"""


@pytest.mark.parametrize("threads", [1, 31, 33, 64])
def test_barriers_votes_and_local_memory(threads: int) -> None:
    """Barriers in device functions, votes over the block, local arrays, early exits."""
    kernel = Kernel.from_source(HEADER + VOTES, "k")
    x = (np.random.default_rng(7).random(3 * threads) > 0.5) * 1.0
    x[threads : 2 * threads] = 1
    got: list[Any] = []
    for order in ("lockstep", "warp-serial"):
        out = np.zeros(3 * threads)
        kernel.run(3, threads, (out, x), order=order, seed=5)
        got.append(out.tolist())
    assert got[0] == got[1]


def test_out_of_bounds_is_reported_with_the_right_thread() -> None:
    """The thread's number counts in its block, not in its warp."""
    text = "@cuda.jit\ndef k(out):\n    out[cuda.grid(1)] = 1\n"
    with pytest.raises(SimtError, match=r"6 of 128 threads .* block \(1, 0, 0\), thread \(58, 0"):
        run(Kernel.from_source(text, "k"), 2, 64, (np.zeros(122),), order="warp-serial")


def test_wrong_orders_are_refused() -> None:
    """The two orders have names; observers need lockstep."""
    kernel = Kernel.from_source("@cuda.jit\ndef k(out):\n    out[0] = 1\n", "k")
    with pytest.raises(ValueError, match="order is 'random'; it can be lockstep or warp-serial"):
        run(kernel, 1, 1, (np.zeros(1),), order="random")
    with pytest.raises(ValueError, match="observers listen to runs in lockstep only"):
        run(kernel, 1, 1, (np.zeros(1),), [Census()], order="warp-serial")
