"""Counters of whole kernels; single accesses are in test_tables.py."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpwise.observe import Report, profile
from warpwise.simt import Kernel

HEADER = "from numba import float32, float64, int32\nimport math\n"


def of(text: str, grid: Any, block: Any, *args: Any, **constants: Any) -> Report:
    """The report of launching the kernel `k` of a text."""
    return profile(Kernel.from_source(HEADER + text, "k", constants)[grid, block], *args)


def test_a_vector_addition_of_a_million() -> None:
    """2^20 float32, blocks of 256: 32,768 warps, 4 sectors a request on every side."""
    text = """
@cuda.jit
def k(out, x, y):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]
"""
    n = 2**20
    x = np.zeros(n, np.float32)
    report = of(text, n // 256, 256, x.copy(), x, x)
    assert (report.loads.requests, report.loads.sectors) == (65_536, 262_144)
    assert (report.stores.requests, report.stores.sectors) == (32_768, 131_072)
    assert report.flops == {"float32": n}
    assert report.unique_sectors == {"out": n // 8, "x": n // 8, "y": n // 8}


TRANSPOSE = """
@cuda.jit
def k(out, a):
    s = cuda.shared.array((32, PITCH), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    s[ty, tx] = a[y, x]
    cuda.syncthreads()
    out[cuda.blockIdx.x * 32 + ty, cuda.blockIdx.y * 32 + tx] = s[tx, ty]
"""


@pytest.mark.parametrize(("pitch", "wavefronts"), [(32, 32.0), (33, 1.0)])
def test_a_tiled_transpose(pitch: int, wavefronts: float) -> None:
    """Both global sides at 4 sectors; a column of the tile costs 32 wavefronts, padded 1."""
    a = np.random.default_rng(0).random((128, 96), np.float32)
    out = np.zeros((96, 128), np.float32)
    report = of(TRANSPOSE, (3, 4), (32, 32), out, a, PITCH=pitch)
    assert np.array_equal(out, a.T)
    assert report.loads.sectors_per_request == report.stores.sectors_per_request == 4.0
    reads = report.lines[-1].shared
    assert reads.wavefronts_per_request == wavefronts
    assert report.shared.bank_conflicts == (12 * 32 * 31 if pitch == 32 else 0)


def test_a_naive_transpose_names_its_worst_line() -> None:
    """Reads 4, writes 32 sectors a request."""
    text = "@cuda.jit\ndef k(out, a):\n    x, y = cuda.grid(2)\n    out[x, y] = a[y, x]\n"
    a = np.zeros((64, 64), np.float32)
    report = of(text, (2, 2), (32, 32), a.copy(), a)
    assert (report.loads.sectors_per_request, report.stores.sectors_per_request) == (4.0, 32.0)
    assert report.worst is not None
    line, why = report.worst
    assert line.text == "    out[x, y] = a[y, x]"
    assert why == (
        "its global stores move 32.0 sectors a request where 4.0 would do: "
        "neighbouring threads are 64 elements of out apart"
    )


def test_branches_and_active_lanes() -> None:
    """i % 2 parts every warp, (i // 32) % 2 none; a loop of `lane` trips keeps half the lanes."""
    text = "@cuda.jit\ndef k(out):\n    i = cuda.grid(1)\n    if {}:\n        out[i] = 1\n"
    for condition, divergent in (("i % 2 == 0", 4), ("(i // 32) % 2 == 0", 0)):
        report = of(text.format(condition), 2, 64, np.zeros(128))
        assert (report.branches.warps, report.branches.divergent) == (4, divergent)
    loop = """
@cuda.jit
def k(out):
    for j in range(cuda.laneid):
        out[cuda.laneid] += 1.0
"""
    report = of(loop, 1, 32, np.zeros(32))
    assert report.lane_efficiency == 16 / 32  # 31 iterations, 16 lanes on average
    assert report.flops == {"float64": 31 * 32 // 2}


def test_a_tree_reduction_diverges_five_times_a_block() -> None:
    """t < d parts the first warp for d = 16, 8, 4, 2, 1."""
    text = """
@cuda.jit
def k(out, x):
    s = cuda.shared.array(256, float32)
    t = cuda.threadIdx.x
    s[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    d = 128
    while d > 0:
        if t < d:
            s[t] += s[t + d]
        cuda.syncthreads()
        d //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]
"""
    report = of(text, 16, 256, np.zeros(16, np.float32), np.ones(4096, np.float32))
    steps = next(line for line in report.lines if line.text.strip() == "if t < d:")
    assert steps.branches.divergent == 16 * 5
    assert report.barriers == 16 * 9


@pytest.mark.parametrize(
    ("index", "transactions", "worst", "sectors"),
    [("0", 32, 32, 1), ("t", 4, 1, 4), ("t % 4", 8, 8, 1), ("t % 16", 4, 2, 2)],
)
def test_colliding_atomics(index: str, transactions: int, worst: int, sectors: int) -> None:
    """One address: 32 lanes queue; distinct addresses: a transaction per sector."""
    text = f"@cuda.jit\ndef k(o):\n    t = cuda.grid(1)\n    cuda.atomic.add(o, {index}, 1)\n"
    report = of(text, 1, 32, np.zeros(64, np.int32))
    got = report.atomics
    assert (got.requests, got.lanes, got.transactions, got.worst) == (1, 32, transactions, worst)
    assert (got.sectors, report.unique_sectors) == (sectors, {"o": sectors})


@pytest.mark.parametrize(
    ("index", "dtype", "transactions", "worst"),
    [("0", "int32", 32, 32), ("t", "int32", 1, 1), ("t % 4", "int32", 8, 8),
     ("32 * t", "int32", 32, 1), ("2 * t", "int32", 2, 1), ("t", "int64", 2, 1)],
)  # fmt: skip
def test_atomics_on_shared_memory(index: str, dtype: str, transactions: int, worst: int) -> None:
    """Lanes queue for a word, and for a bank; 64 bits go by half warps."""
    text = f"""
@cuda.jit
def k(out):
    s = cuda.shared.array(1024, dtype)
    t = cuda.grid(1)
    cuda.atomic.add(s, {index}, 1)
"""
    got = of(text, 1, 32, np.zeros(1), dtype=np.dtype(dtype)).shared_atomics
    assert (got.requests, got.transactions, got.worst) == (1, transactions, worst)


@pytest.mark.parametrize(
    ("dtype", "index", "guard", "sectors", "ideal"),
    [("float32", "3", "True", 4, 4), ("float64", "3", "True", 8, 8), ("int8", "3", "True", 4, 4),
     ("float32", "t", "True", 32, 4), ("float32", "t % 2", "True", 8, 4),
     ("float32", "3", "t < 8", 1, 1), ("float32", "3", "t % 8 == 0", 4, 4)],
)  # fmt: skip
def test_local_memory(dtype: str, index: str, guard: str, sectors: int, ideal: int) -> None:
    """Local memory is interleaved by lane: one index for all lanes is the best case."""
    text = f"""
@cuda.jit
def k(out):
    a = cuda.local.array(32, dtype)
    t = cuda.grid(1)
    if {guard}:
        a[{index}] = 1
"""
    got = of(text, 1, 32, np.zeros(1), dtype=np.dtype(dtype)).local
    assert (got.requests, got.sectors, got.ideal_sectors) == (1, sectors, ideal)


def test_float64_creeps_in_through_a_python_float() -> None:
    """saxpy with a Python float computes in float64, as compiled."""
    text = "@cuda.jit\ndef k(x, a):\n    i = cuda.grid(1)\n    x[i] = a * x[i] + x[i]\n"
    x = np.zeros(32, np.float32)
    assert of(text, 1, 32, x, np.float32(2)).flops == {"float32": 64}
    assert of(text, 1, 32, x, 2.0).flops == {"float64": 64}
    text = "@cuda.jit\ndef k(x, n):\n    i = cuda.grid(1)\n    x[i] = 2.0 * x[i] + n\n"
    notes = [note.text for note in of(text, 1, 32, x, 3).notes]
    assert notes == [
        "k, line 6: `*` is computed in float64, since the number 2.0 is float64. "
        "Write float32(2.0)."
    ]
    text = text.replace("2.0 * x[i] + n", "x[i] * n")
    assert [note.text for note in of(text, 1, 32, x, 3).notes] == [
        "k, line 6: `*` is computed in float64, since Numba makes float64 of float32 and int64. "
        "Convert the integer: float32(n)."
    ]


def test_unique_sectors_show_what_a_cache_could_save() -> None:
    """A row read by all threads of a block is one set of sectors, however often it is read."""
    text = """
@cuda.jit
def k(out, x):
    v = float32(0)
    for j in range(64):
        v += x[j]
    out[cuda.grid(1)] = v
"""
    report = of(text, 4, 64, np.zeros(256, np.float32), np.zeros(64, np.float32))
    assert report.loads.sectors == 4 * 2 * 64
    assert report.unique_sectors["x"] == 8
    assert report.unique_sectors_per_block["x"] == 32


@pytest.mark.parametrize(
    ("loop", "warps", "taken"),
    [("for j in range(3)", 4, 96), ("for j in range(t // 32, 3)", 4, 96),
     ("for j in range(0)", 1, 0), ("for j in range(t % 2)", 2, 16)],
)  # fmt: skip
def test_the_last_look_of_a_loop_counts(loop: str, warps: int, taken: int) -> None:
    """A loop of n rounds evaluates its condition n + 1 times, `for` like `while`."""
    text = f"@cuda.jit\ndef k(out):\n    t = cuda.grid(1)\n    {loop}:\n        out[t] = j\n"
    branches = of(text, 1, 32, np.zeros(32)).branches
    assert (branches.warps, branches.taken) == (warps, taken)
