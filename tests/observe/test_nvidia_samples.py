"""The samples of NVIDIA's compute-sanitizer, as Numba kernels, with the counts it publishes.

Source of the counts: Compute Sanitizer manual, examples; NVIDIA/compute-sanitizer-samples.
"""

from __future__ import annotations

import numpy as np

from warpwise.simt import api as cuda

from .launches import findings

BLOCK = """
def k(total, x):
    s = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    s[t] = x[t] + t
    {barrier}
    if t == 0:
        a = 0
        for j in range(128):
            a += s[j]
        total[0] = a
"""


def test_racecheck_block_error() -> None:
    """508 hazards: thread 0 reads 127 elements of 4 bytes that others wrote."""
    x = np.zeros(128, np.int32)
    found = findings(BLOCK.format(barrier="pass"), 1, 128, np.zeros(1, np.int32), x)
    assert sum(f.bytes for f in found) == 508
    assert {(f.hazard, f.line, f.other_line) for f in found} == {("RAW", 12, 7)}
    assert max(f.severity == "error" for f in found)
    assert findings(BLOCK.format(barrier="cuda.syncthreads()"), 1, 128, np.zeros(1), x) == []


def test_memcheck_unaligned() -> None:
    """A write of 4 bytes, 1 byte past an element: the thread and the line."""
    text = """
def k(out, raw):
    t = cuda.threadIdx.x
    if t == 3:
        raw[1:5].view(int32)[0] = 42
    raw[4:8].view(int32)[0] = 1
"""
    (found,) = findings(text, 2, 32, np.zeros(1), np.zeros(64, np.uint8))
    assert (found.kind, found.severity, found.line, found.array) == (
        "misaligned_address", "error", 7, "raw",
    )  # fmt: skip
    assert found.threads == (((0, 0, 0), (3, 0, 0)),)
    assert (
        "int32 has to start at a multiple of 4 bytes, and this view starts at byte 1" in found.text
    )
    mended = text.replace("1:5", "8:12")
    assert [f.kind for f in findings(mended, 1, 1, np.zeros(1), np.zeros(64, np.uint8))] == []


WARP = """
def k(total, first):
    s = cuda.shared.array(64, int32)
    part = cuda.shared.array(2, int32)
    t = cuda.threadIdx.x
    s[t] = t
    {barrier}
    if t % 32 == 0:
        w = t // 32
        part[w] = 0
        for j in range(32):
            part[w] += s[t + j]
    cuda.syncthreads()
    if t == 0:
        total[0] = part[0] + part[1]
"""


def test_racecheck_warp_error() -> None:
    """Hazards within the two warps are warnings, 31 elements of 4 bytes each; syncwarp mends it."""
    total = np.zeros(1, np.int32)
    (found,) = findings(WARP.format(barrier="pass"), 1, 64, total, total.copy())
    assert (found.hazard, found.severity, found.bytes) == ("RAW", "warning", 2 * 31 * 4)
    assert "Put cuda.syncwarp() on the way between lines 8 and 14." in found.text
    assert findings(WARP.format(barrier="cuda.syncwarp()"), 1, 64, total, total.copy()) == []
    assert total[0] == sum(range(64))


DIVERGENT = """
def k(total, x):
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    s[t] = 0
    cuda.syncthreads()
    for b in range(16):
        at = 64 * b + t
        if at < x.size:
            s[t] += x[at]
            cuda.syncthreads()
    if t == 0:
        total[0] = 0
        for j in range(64):
            total[0] += s[j]
"""


def test_synccheck_divergent_threads() -> None:
    """32 errors: the second warp of the block is divided at the barrier of the last turn."""
    x = np.ones(64 * 16 - 16, np.int32)
    (found,) = findings(DIVERGENT, 1, 64, np.zeros(1, np.int32), x)
    assert (found.kind, found.count, found.line) == ("divergent_barrier", 32, 13)
    assert found.threads == (((0, 0, 0), (0, 0, 0)), ((0, 0, 0), (48, 0, 0)))
    whole = np.ones(64 * 16, np.int32)
    assert findings(DIVERGENT, 1, 64, np.zeros(1, np.int32), whole) == []


def test_synccheck_illegal_syncwarp() -> None:
    """Lane 16 calls syncwarp with a mask of lanes 0 to 15."""
    text = """
def k(total):
    s = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    mask = cuda.ballot_sync(0xffffffff, t < 16)
    if t {test} 16:
        s[t] = t
        cuda.syncwarp(mask)
        if t == 0:
            total[0] = 0
            for j in range(16):
                total[0] += s[j]
    cuda.syncthreads()
"""
    total = np.zeros(1, np.int32)
    (found,) = findings(text.format(test="<="), 1, 32, total)
    assert (found.kind, found.threads) == ("mask_without_caller", (((0, 0, 0), (16, 0, 0)),))
    assert "thread 16 calls it, and its own bit is not in the mask 0xffff" in found.text
    assert findings(text.format(test="<"), 1, 32, total) == []
    assert total[0] == 120


def test_initcheck_memset_error() -> None:
    """A quarter of the vector was set: 48 of 64 reads are uninitialised."""
    text = "def k(v):\n    i = cuda.grid(1)\n    v[i] += i\n"
    v = cuda.device_array(64, np.int32)
    v[:16] = 0  # 64 bytes where 64 elements were meant
    (found,) = findings(text, 2, 32, v)
    assert (found.kind, found.count, found.bytes) == ("uninitialised", 48, 192)
    assert (found.index, found.threads) == ((16,), (((0, 0, 0), (16, 0, 0)),))
    v = cuda.device_array(64, np.int32)
    v[:] = 0
    assert findings(text, 2, 32, v) == []


def test_memcheck() -> None:
    """Each place with a bad index is reported, with the first thread, the index and the count."""
    text = """
def k(out, x):
    i = cuda.grid(1)
    s = cuda.shared.array(64, float32)
    a = cuda.local.array(4, float32)
    out[i] = x[i + 1]
    s[cuda.threadIdx.x + 60] = 0
    a[i // 30] = 0
"""
    found = findings(text, 2, 64, np.zeros(100), np.zeros(100))
    assert [(f.kind, f.array, f.line, f.index, f.count) for f in found] == [
        ("out_of_bounds", "x", 8, (100,), 29), ("out_of_bounds", "out", 8, (100,), 28),
        ("out_of_bounds", "s", 9, (64,), 120), ("out_of_bounds", "a", 10, (4,), 8),
    ]  # fmt: skip
    assert [f.threads[0] for f in found] == [
        ((1, 0, 0), (35, 0, 0)), ((1, 0, 0), (36, 0, 0)),
        ((0, 0, 0), (4, 0, 0)), ((1, 0, 0), (56, 0, 0)),
    ]  # fmt: skip
    inside = "def k(out):\n    i = cuda.grid(1)\n    if i < out.size: out[i] = 1\n"
    assert findings(inside, 2, 64, np.zeros(100)) == []
