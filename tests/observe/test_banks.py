"""One warp's accesses to shared memory agree with the counters, and with the rule itself."""

from __future__ import annotations

import numpy as np
import pytest

from warpwise.observe import profile
from warpwise.observe.banks import WarpInShared
from warpwise.simt import Kernel, run

SOURCE = """
from numba import cuda
from numba.types import {dtype}
@cuda.jit
def gather(out, at):
    s = cuda.shared.array(512, {dtype})
    t = cuda.threadIdx.x
    for j in range(2):
        if t % 5 != 1 or j:
            out[t] = s[at[t]]
"""


@pytest.mark.parametrize("dtype", ["int8", "float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_random_accesses_agree_with_the_counters(dtype: str, seed: int) -> None:
    """Wavefronts of each warp add up to the report's; ways of the phases explain them."""
    kernel = Kernel.from_source(SOURCE.format(dtype=dtype), "gather")
    at = np.random.default_rng(seed).integers(0, 512, 64)
    if seed == 3:
        at //= 200  # shared words, and phases that merge
    out = np.zeros(64, dtype)
    report = profile(kernel[1, 64], out, at)
    found = []
    for warp in range(2):
        seen = WarpInShared(0, warp)
        run(kernel, 1, 64, [out, at], [seen])
        assert [one.label for one in seen.accesses] == ["line 10 reads s", "line 10 reads s (2)"]
        found += seen.accesses
    assert sum(one.wavefronts for one in found) == report.shared_loads.wavefronts
    assert sum(one.ideal for one in found) == report.shared_loads.ideal_wavefronts
    assert max(max(one.ways) for one in found) == report.shared_loads.worst
    for one in found:
        assert sorted({lane for lanes in one.words.values() for lane in lanes}) == [*one.lanes]


def test_what_is_left_out() -> None:
    """Other arrays, blocks and global memory; no more than the limit."""
    source = """
from numba import cuda, int32
@cuda.jit
def k(out):
    a = cuda.shared.array(32, int32)
    b = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    a[t] = t
    for j in range(5):
        b[t] = a[t]
    out[cuda.grid(1)] = b[t]
"""
    kernel = Kernel.from_source(source, "k")

    def labels(*which: object, **more: int) -> list[str]:
        seen = WarpInShared(*which, **more)  # type: ignore[arg-type]
        run(kernel, 3, 32, [np.zeros(96, np.int32)], [seen])
        return [one.label for one in seen.accesses]

    assert labels(2, 0, "a")[:2] == ["line 8 writes a", "line 10 reads a"]
    assert len(labels(2, 0)) == 12
    assert len(labels(2, 0, limit=4)) == 4
    assert labels(3, 0) == []
