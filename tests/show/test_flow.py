"""The picture of a scan or a reduction: which elements each value was made from, round by round."""

from __future__ import annotations

import numpy as np
import pytest

from warpwise.show import Flow, show_flow
from warpwise.simt import Kernel, OutOfBoundsError

TREE = """
from numba import cuda, float32
@cuda.jit
def tree(out, a):
    s = cuda.shared.array(4, float32)
    t = cuda.threadIdx.x
    s[t] = a[cuda.grid(1)]
    cuda.syncthreads()
    d = 2
    while d > 0:
        if t < d:
            s[t] += s[t + d]
        cuda.syncthreads()
        d //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]
"""
SWAP = """
from numba import cuda, float32
@cuda.jit
def swap(out, a):
    s = cuda.shared.array(2, float32)
    t = cuda.threadIdx.x
    s[2 * t] = a[0]
    s[2 * t + 1] = 0
    cuda.syncthreads()
    left = s[2 * t]
    s[2 * t] = s[2 * t + 1]
    s[2 * t + 1] += left
    cuda.syncthreads()
    out[0] = s[1]
"""
LATER = """
from numba import cuda, float32
@cuda.jit(device=True)
def put(s, t, v):
    s[t] = v + s[t]
@cuda.jit
def later(out, a):
    s = cuda.shared.array(40, float32)
    t = cuda.threadIdx.x
    s[t] = a[t]
    cuda.syncthreads()
    v = (s[t]
         + s[(t + 1) % 40])
    cuda.syncthreads()
    s[t] = v
    cuda.syncthreads()
    put(s, t, s[0])
    out[t] = s[t]
"""


def drawn(text: str, name: str, grid: int, threads: int, **choice: int) -> Flow:
    """A kernel of (out, a) on 1, 2, 3, ..."""
    kernel = Kernel.from_source(text, name)
    a = np.arange(1, grid * threads + 1, dtype=np.float32)
    return show_flow(kernel[grid, threads], np.zeros_like(a), a, array="s", **choice)


def test_a_tree_as_text() -> None:
    """The contents after each round, and what each new value was made from."""
    assert str(drawn(TREE, "tree", 2, 4, block=1)) == (
        "s of tree[2, 4](out, a), block 1, round by round\n"
        "  index     0  1  2  3\n"
        "  round  0  5  6  7  8\n"
        "  round  1 12 14  7  8\n"
        "           0 from 0+2, 1 from 1+3\n"
        "  round  2 26 14  7  8\n"
        "           0 from 0+1\n"
        "  (counted, simulator)"
    )
    assert drawn(TREE, "tree", 2, 4).combined == (0, 2, 1)


def test_a_copy_has_one_source_even_when_values_are_equal() -> None:
    """A sum with zero is a sum, and the copy beside it is none."""
    flow = drawn(SWAP, "swap", 1, 1)
    assert flow.rounds[1] == {0: (0.0, (1,)), 1: (1.0, (0, 1))}
    assert flow.combined == (0, 1)


def test_reads_before_a_barrier_and_in_a_device_function() -> None:
    """A value read before the barrier belongs to the store behind it; large arrays are cut."""
    flow = drawn(LATER, "later", 1, 40)
    assert [one[5][1] for one in flow.rounds] == [(), (5, 6), (0, 5)]
    assert flow.shown == 32
    assert "The first 32 of 40 elements are shown." in str(flow)
    assert flow.combined[1] == 32


def test_the_picture() -> None:
    """An image with the text beside it."""
    bundle = drawn(TREE, "tree", 1, 4)._repr_mimebundle_()
    assert bundle["image/png"].startswith("iVBOR")
    assert bundle["text/plain"].startswith("s of tree[1, 4](out, a), round by round")


def test_what_cannot_be_drawn_is_said() -> None:
    """No such array, several axes, a launch that fails."""
    a = np.ones(4, np.float32)
    tree = Kernel.from_source(TREE, "tree")
    with pytest.raises(ValueError, match="stores nothing to an array 'x'"):
        show_flow(tree[1, 4], a, a, array="x")
    flat = Kernel.from_source("@cuda.jit\ndef k(out):\n    out[0, cuda.grid(1)] = 1\n", "k")
    with pytest.raises(ValueError, match="out has several axes"):
        show_flow(flat[1, 2], np.zeros((2, 2)), array="out")
    with pytest.raises(OutOfBoundsError):
        show_flow(flat[1, 4], np.zeros((2, 2)), array="out")
