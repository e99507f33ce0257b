"""Shared and local arrays, barriers, atomics: values as compiled code gives them."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from warpwise.simt import BarrierDivergenceError, Kernel, SimtError, atomics
from warpwise.simt import api as cuda

HEADER = "from numba import float32, float64, int32, int64, uint32\n"


def kernel(text: str, constants: dict[str, Any] | None = None) -> Kernel:
    """The kernel `k` of a text."""
    return Kernel.from_source(HEADER + text, "k", constants)


GEMM = """
@cuda.jit
def k(c, a, b):
    sa = cuda.shared.array((TILE, TILE), float32)
    sb = cuda.shared.array(shape=(TILE, TILE), dtype=float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    acc = float32(0)
    for p in range((a.shape[1] + TILE - 1) // TILE):
        q = p * TILE
        sa[ty, tx] = a[y, q + tx] if y < a.shape[0] and q + tx < a.shape[1] else float32(0)
        sb[ty, tx] = b[q + ty, x] if x < b.shape[1] and q + ty < b.shape[0] else float32(0)
        cuda.syncthreads()
        for j in range(TILE):
            acc += sa[ty, j] * sb[j, tx]
        cuda.syncthreads()
    if y < c.shape[0] and x < c.shape[1]:
        c[y, x] = acc
"""


@pytest.mark.parametrize("shape", [(16, 16, 16), (33, 50, 41), (1, 7, 3), (130, 17, 64)])
def test_a_tiled_matrix_product(shape: tuple[int, int, int]) -> None:
    """Two shared tiles, two barriers, sizes that are no multiple of the tile."""
    n, m, inner = shape
    rng = np.random.default_rng(0)
    a, b = rng.random((n, inner), np.float32), rng.random((inner, m), np.float32)
    c = np.zeros((n, m), np.float32)
    kernel(GEMM, {"TILE": 16})[((m + 15) // 16, (n + 15) // 16), (16, 16)](c, a, b)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)


def test_a_tree_reduction_and_a_scan() -> None:
    """Divergent steps between barriers; a while loop with a shared array."""
    text = """
@cuda.jit
def k(total, scan, x):
    s = cuda.shared.array(64, float64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i]
    cuda.syncthreads()
    d = 1
    while d < 64:
        v = s[t - d] if t >= d else 0.0
        cuda.syncthreads()
        s[t] += v
        cuda.syncthreads()
        d *= 2
    scan[i] = s[t]
    s[t] = x[i]
    cuda.syncthreads()
    d = 32
    while d > 0:
        if t < d:
            s[t] += s[t + d]
        cuda.syncthreads()
        d //= 2
    if t == 0:
        total[cuda.blockIdx.x] = s[0]
"""
    x = np.random.default_rng(1).integers(0, 9, 640).astype(float)
    total, scan = np.zeros(10), np.zeros(640)
    kernel(text)[10, 64](total, scan, x)
    assert np.array_equal(total, x.reshape(10, 64).sum(axis=1))
    assert np.array_equal(scan, x.reshape(10, 64).cumsum(axis=1).reshape(-1))


def test_shared_arrays_belong_to_a_block_and_start_undefined() -> None:
    """Two arrays on one line are two; a fresh array holds NaN; blocks do not see each other."""
    text = """
@cuda.jit
def k(out):
    a, b = cuda.shared.array(1, float64), cuda.shared.array(1, float64)
    if cuda.threadIdx.x == 0:
        a[0] = cuda.blockIdx.x
        if cuda.blockIdx.x == 1:
            b[0] = 7.0
    cuda.syncthreads()
    out[cuda.blockIdx.x, 0] = a[0]
    out[cuda.blockIdx.x, 1] = b[0]
"""
    out = np.zeros((3, 2))
    kernel(text)[3, 2](out)
    assert np.array_equal(out, [[0, np.nan], [1, 7], [2, np.nan]], equal_nan=True)


def test_dynamic_shared_memory_is_one_piece() -> None:
    """Arrays of size 0 share the bytes that the launch gives; their size follows from them."""
    text = """
@cuda.jit
def k(out):
    f = cuda.shared.array(0, float32)
    i = cuda.shared.array(0, int32)
    t = cuda.threadIdx.x
    f[t] = 1.0
    cuda.syncthreads()
    out[t] = i[t] + f.size
"""
    out = np.zeros(8, np.int64)
    kernel(text)[1, 8, 0, 32](out)
    assert out.tolist() == [0x3F800000 + 8] * 8


def test_local_arrays_belong_to_a_thread() -> None:
    """Indexed by constants and by variables, also under a mask."""
    text = """
@cuda.jit
def k(out):
    a = cuda.local.array(5, int32)
    i = cuda.grid(1)
    for j in range(5):
        a[j] = 10 * i + j
    if i % 2:
        a[i % 5] = -1
    out[i] = a[(i + 1) % 5] + 1000 * a[i % 5]
"""
    out = np.zeros(70, np.int64)
    kernel(text)[2, 35](out)
    want = [10 * i + (i + 1) % 5 + 1000 * (-1 if i % 2 else 10 * i + i % 5) for i in range(70)]
    assert out.tolist() == want


def test_constant_arrays() -> None:
    """cuda.const.array_like gives the values that the array had when the kernel was compiled."""
    table = np.array([3.0, 5.0])
    text = "@cuda.jit\ndef k(out):\n    t = cuda.const.array_like(TABLE)\n    out[0] = t[1]\n"
    out = np.zeros(1)
    k = kernel(text, {"TABLE": table})
    k[1, 1](out)
    table[1] = 0
    k[1, 1](out)
    assert out[0] == 5


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ("n", "the shape of cuda.shared.array has to be known when the kernel is compiled"),
        (
            "20000",
            "the shared arrays of this kernel take 80,000 bytes; a kernel may declare",
        ),
        ("-1", "a size of cuda.shared.array is negative: -1"),
        ("(4, n)", "the shape of cuda.shared.array has to be known when the kernel is compiled"),
    ],
)
def test_sizes_of_shared_arrays_are_constants(shape: str, message: str) -> None:
    """A size that the compiler cannot know is refused with what to do."""
    text = f"@cuda.jit\ndef k(out, n):\n    s = cuda.shared.array({shape}, float32)\n"
    with pytest.raises(SimtError, match=message.replace("(", r"\(").replace(")", r"\)")):
        kernel(text)[1, 1](np.zeros(1), 3)


def test_a_barrier_in_a_branch_is_reported() -> None:
    """Exact text; block, threads and line are named."""
    text = """
@cuda.jit
def k(out):
    t = cuda.threadIdx.x
    if t < 16:
        cuda.syncthreads()
"""
    with pytest.raises(BarrierDivergenceError) as error:
        kernel(text)[2, 64](np.zeros(64))
    assert str(error.value) == (
        "k: 16 of the 64 threads of block (0, 0, 0) that still run reach this barrier\n"
        "  here: thread (0, 0, 0) and others;  elsewhere: thread (16, 0, 0) and others\n"
        "  line 7:  cuda.syncthreads()\n"
        "  The others pass it by and come to no barrier before they end.\n"
        "  On a GPU this hangs or gives anything. Move the barrier out of the branch or loop, so "
        "that all threads of the block pass it."
    )


@pytest.mark.parametrize(
    "body",
    [
        "if cuda.blockIdx.x == 0:\n        cuda.syncthreads()",  # whole blocks
        "if t >= 20:\n        return\n    cuda.syncthreads()",  # exited threads do not count
        "for j in range(cuda.blockIdx.x):\n        cuda.syncthreads()",
    ],
)
def test_barriers_that_are_right(body: str) -> None:
    """A condition that is the same for the block, and threads that have left, are no mistake."""
    kernel(f"@cuda.jit\ndef k(out):\n    t = cuda.threadIdx.x\n    {body}\n")[3, 32](np.zeros(1))


def test_votes_take_integers() -> None:
    """As in Numba, which has no syncthreads_count of a bool; an int64 is cut to int32 first."""
    text = "@cuda.jit\ndef k(out):\n    out[0] = cuda.syncthreads_count({})\n"
    with pytest.raises(SimtError, match=r"takes an integer, not bool\n.*\n.*int32\(out\[0\] > 1\)"):
        kernel(text.format("out[0] > 1"))[1, 32](np.zeros(1))
    out = np.zeros(1)
    kernel(text.format("1 << 32"))[1, 32](out)
    assert out[0] == 0


def test_barriers_that_vote() -> None:
    """syncthreads_count, _and, _or over the threads of each block."""
    text = """
@cuda.jit
def k(out, x):
    i = cuda.grid(1)
    c = cuda.syncthreads_count(int32(x[i] > 0))
    a = cuda.syncthreads_and(int32(x[i] > 0))
    o = cuda.syncthreads_or(int32(x[i] > 0))
    out[i] = c + 100 * a + 1000 * o
"""
    x = np.array([1, 0, 1, 1, 1, 1, 0, 0, 0.0])
    out = np.zeros(9, np.int64)
    kernel(text)[3, 3](out, x)
    assert out.tolist() == [1002] * 3 + [1103] * 3 + [0] * 3


@pytest.mark.parametrize(
    "dtype", [np.int32, np.int64, np.uint32, np.uint64, np.float32, np.float64]
)
@pytest.mark.parametrize(
    ("name", "combine"),
    [("add", np.add), ("sub", np.subtract), ("max", np.maximum), ("min", np.minimum)],
)
def test_atomic_arithmetic(name: str, combine: Any, dtype: Any) -> None:
    """Every lane counts, in global and in shared memory, and old values are handed out once."""
    text = f"""
@cuda.jit
def k(out, old, x):
    s = cuda.shared.array(3, dtype)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    if t < 3:
        s[t] = out[t]
    cuda.syncthreads()
    old[i] = cuda.atomic.{name}(s, i % 3, x[i])
    cuda.syncthreads()
    if t < 3:
        out[t] = s[t]
"""
    x = np.random.default_rng(5).integers(1, 50, 99).astype(dtype)
    out = np.array([40, 50, 60]).astype(dtype)
    want, olds = out.copy(), []
    for i, v in enumerate(x):
        olds.append(want[i % 3])
        want[i % 3] = combine(want[i % 3], v)
    old = np.zeros(99, dtype)
    kernel(text, {"dtype": np.dtype(dtype)})[1, 99](out, old, x)
    assert np.array_equal(out, want)
    assert np.array_equal(old, olds)


@pytest.mark.parametrize(
    ("name", "start", "values", "want"),
    [
        ("and_", 0b1111, [0b1110, 0b0111], 0b0110), ("or_", 0, [1, 4], 5), ("xor", 3, [1, 4], 6),
        ("exch", 3, [1, 9], 9), ("inc", 4, [5, 5], 0), ("dec", 1, [7, 7], 7),
    ],
)  # fmt: skip
def test_atomic_bits_exchange_and_wrapping_counters(
    name: str, start: int, values: list[int], want: int
) -> None:
    """and_, or_, xor, exch, inc (wraps to 0 after the limit), dec (wraps to the limit)."""
    text = f"@cuda.jit\ndef k(o, v):\n    cuda.atomic.{name}(o, 0, v[cuda.threadIdx.x])\n"
    out = np.array([start], np.uint32)
    kernel(text)[1, len(values)](out, np.array(values, np.uint32))
    assert out[0] == want


def test_atomics_and_nan() -> None:
    """max and min leave a NaN alone; nanmax and nanmin prefer the number."""
    text = """
@cuda.jit
def k(out, x):
    cuda.atomic.max(out, 0, x[0])
    cuda.atomic.nanmax(out, 1, x[0])
    cuda.atomic.max(out, 2, out[3])
    cuda.atomic.nanmin(out, (4,), out[3])
"""
    out = np.array([np.nan, np.nan, 5, np.nan, 6])
    kernel(text)[1, 1](out, np.array([2.0]))
    assert np.array_equal(out, [np.nan, 2, 5, np.nan, 6], equal_nan=True)


def test_compare_and_swap_takes_one_winner() -> None:
    """cas with a 2-D index and compare_and_swap on element 0 return the old value."""
    text = """
@cuda.jit
def k(lock, old, out):
    i = cuda.grid(1)
    old[i] = cuda.atomic.cas(lock, (0, 1), 0, i + 1)
    out[i] = cuda.atomic.compare_and_swap(lock[1], 5, 6)
"""
    lock = np.array([[0, 0], [5, 5]], np.int32)
    old, out = np.zeros(4, np.int32), np.zeros(4, np.int32)
    kernel(text)[1, 4](lock, old, out)
    assert lock.tolist() == [[0, 1], [6, 5]]
    assert old.tolist() == [0, 1, 1, 1]
    assert out.tolist() == [5, 6, 6, 6]


def test_atomics_refuse_what_cuda_does_not_have() -> None:
    """No atomics on 8-bit integers, no exchange of floats."""
    text = "@cuda.jit\ndef k(o):\n    cuda.atomic.add(o, 0, 1)\n"
    with pytest.raises(SimtError, match=r"cuda.atomic.add works on .*; o holds uint8"):
        kernel(text)[1, 1](np.zeros(1, np.uint8))
    with pytest.raises(SimtError, match=r"cuda.atomic.exch works on .*; o holds float32"):
        kernel(text.replace("add", "exch"))[1, 1](np.zeros(1, np.float32))


def test_histogram_over_many_blocks() -> None:
    """A million atomic additions in a hundred bins."""

    @cuda.jit
    def histogram(bins, x):
        i = cuda.grid(1)
        if i < x.size:
            cuda.atomic.add(bins, x[i], 1)

    x = np.random.default_rng(2).integers(0, 100, 1_000_000).astype(np.int32)
    bins = np.zeros(100, np.int32)
    histogram[3907, 256](bins, x)
    assert np.array_equal(bins, np.bincount(x))


def test_types_of_shared_arrays_may_be_named_by_text() -> None:
    """As in Numba, "int32" is a type."""
    text = "@cuda.jit\ndef k(out):\n    s = cuda.shared.array(4, 'int32')\n    s[0] = 7.9\n"
    out = np.zeros(1)
    kernel(text + "    out[0] = s[0]\n")[1, 1](out)
    assert out[0] == 7


@pytest.mark.parametrize("name", [*atomics.CODES, "cas"])
def test_it_is_known_which_atomic_operations_change_nothing(name: str) -> None:
    """As the memory shows afterwards."""
    for old, first, second in itertools.product((0, 1, 2, 6), repeat=3):
        cell, at = np.array([old], np.uint32), np.zeros(1, np.int64)
        operands = tuple(np.array([v], np.uint32) for v in (first, second)[name != "cas" :])
        if name == "cas":
            found = atomics.compare_and_swap(cell, at, *operands)
        else:
            found = atomics.apply(cell, at, *operands, name)
        assert atomics.changes(name, operands, found)[0] == (cell[0] != old)
