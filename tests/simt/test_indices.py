"""Indices that come again and again: their facts are found once, and never believed of another."""

from __future__ import annotations

import numpy as np
import pytest

from warpwise.simt import Kernel, OutOfBoundsError
from warpwise.simt.indices import KEPT_LARGE, KEPT_SMALL, SMALL, Indices

HEADER = "from numba import float32, int32, uint64\n@cuda.jit\n"


def kernel(text: str) -> Kernel:
    """The kernel `k` of a text."""
    return Kernel.from_source(HEADER + text, "k")


def test_facts_are_found_once_and_for_each_stride() -> None:
    """The same array gives the same facts and the same products; another array has its own."""
    indices = Indices()
    i = np.arange(5, dtype=np.int32).reshape(1, 5)
    known = indices.of(i)
    assert (known.low, known.high, known.i64.dtype) == (0, 4, np.int64)
    assert indices.of(i) is known
    assert indices.of(i.copy()) is not known
    assert known.times(1) is known.i64
    assert known.times(7) is known.times(7)
    np.testing.assert_array_equal(known.times(7), i * 7)


@pytest.mark.parametrize(("size", "kept"), [(4, KEPT_SMALL), (SMALL + 1, KEPT_LARGE)])
def test_only_some_arrays_are_kept(size: int, kept: int) -> None:
    """The oldest are let go, and come back with the right facts."""
    indices = Indices()
    arrays = [np.full((1, size), n) for n in range(kept + 3)]
    first = indices.of(arrays[0])
    assert [indices.of(a).high for a in arrays] == list(range(kept + 3))
    assert indices.of(arrays[0]) is not first
    assert indices.of(arrays[0]).high == 0


def test_one_index_into_arrays_of_different_sizes() -> None:
    """An index that fits one array and not the other is reported for the other."""
    text = "def k(out, x, y):\n i = cuda.grid(1)\n out[i] = x[i]\n out[i] += y[i]\n"
    out, x, y = np.zeros(64), np.ones(64), np.ones(63)
    with pytest.raises(OutOfBoundsError, match=r"y\[63\]"):
        kernel(text)[2, 32](out, x, y)
    kernel(text)[2, 32](out, x, np.ones(64))
    np.testing.assert_array_equal(out, 2)


@pytest.mark.filterwarnings("ignore:.*negative index")
@pytest.mark.parametrize(
    ("index", "expected"),
    [
        ("x[::-1][i]", lambda x, i: x[::-1][i]),
        ("x[3:][i]", lambda x, i: x[3:][i]),
        ("x[i % 3::-1][0]", lambda x, i: x[i % 3]),
        ("x[i:][2]", lambda x, i: x[i + 2]),
        ("x[-1 - i]", lambda x, i: x[-1 - i]),
        ("x[uint64(i)]", lambda x, i: x[i]),
        ("x[-2]", lambda x, i: x[-2]),
        ("x[i] + x[i + 1] + x[i]", lambda x, i: 2 * x[i] + x[i + 1]),
    ],
)
def test_every_kind_of_index(index: str, expected: object) -> None:
    """Views forwards and backwards, bases of each lane, negative and unsigned indices."""
    x = np.arange(100.0) ** 2
    out = np.zeros(64)
    text = f"def k(out, x):\n i = cuda.grid(1)\n out[i] = {index}\n"
    kernel(text)[2, 32](out, x)
    np.testing.assert_array_equal(out, [expected(x, i) for i in range(64)])  # type: ignore[operator]


@pytest.mark.parametrize("size", ["(4, 32)", "0"])
def test_shared_memory_by_block_and_by_thread(size: str) -> None:
    """Elements that are the same in every block, that differ by block, and one for all threads."""
    two = size != "0"
    at = "{}, {}" if two else "{} * 32 + {}"
    text = f"""
def k(out):
    s = cuda.shared.array({size}, int32)
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    for j in range(4):
        s[{at.format("j", "t")}] = 1000 * b + 100 * j + t
    cuda.syncthreads()
    if t == 5:
        s[{at.format("1", "7")}] = -b
    if t == b:
        s[{at.format("2", "t")}] = 7
    cuda.syncthreads()
    i = cuda.grid(1)
    out[0, i] = s[{at.format("3", "31 - t")}]
    out[1, i] = s[{at.format("b % 4", "t")}]
    out[2, i] = s[{at.format("1", "7")}]
    out[3, i] = s[{at.format("2", "(t + b) % 32")}]
"""
    out = np.zeros((4, 96), np.int32)
    kernel(text)[3, 32, 0, 4 * 128](out)
    for b in range(3):
        s = 1000 * b + 100 * np.arange(4).reshape(4, 1) + np.arange(32)
        s[1, 7] = -b
        s[2, b] = 7
        t = np.arange(32)
        expected = np.stack([s[3, 31 - t], s[b], np.full(32, s[1, 7]), s[2, (t + b) % 32]])
        np.testing.assert_array_equal(out[:, 32 * b : 32 * b + 32], expected)
