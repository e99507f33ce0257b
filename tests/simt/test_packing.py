"""Lanes that go on are packed together: the same values, the same counts, as when all stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpwise.observe.counters import Counters
from warpwise.simt import Kernel, LivelockError, packing, tape

HEADER = """
from numba import float32, float64, int32
import math

@cuda.jit(device=True)
def escape(c, most):
    z = 0j
    for k in range(most):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag >= 4.0:
            return k
    return most

@cuda.jit(device=True)
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps

@cuda.jit
def k(out, x, n):
    i = cuda.grid(1)
"""

BODIES = {
    "while": """
    v = x[i]
    k = 0
    while v > 1.5 and k < 200:
        v = v * 0.9
        k += 1
    out[i] = v + k
""",
    "uniform and row values": """
    t = cuda.threadIdx.x
    b = cuda.blockIdx.x
    s = float64(0)
    k = 0
    while k < t * (b + 1):
        s += b * 2.5 + t
        k += 1
    out[i] = s
""",
    "a loop per lane": """
    s = 0
    for j in range(i % 7, i % 40, 1 + i % 3):
        s += j * j
    out[i] = s
""",
    "breaks, continues and else": """
    s = 0
    for j in range(50):
        if j % 3 == i % 3:
            continue
        if j > i % 31:
            s += 1000
            break
        s += j
    else:
        s = -s
    out[i] = s
""",
    "loops in loops": """
    s = 0.0
    a = i % 17
    while a > 0:
        b = a
        while b > 0:
            s += a * b
            b -= 1 + i % 2
        for c in range(a):
            s -= c
        a -= 1
    out[i] = s
""",
    "a type that changes": """
    v = 1
    k = 0
    while k < i % 37:
        v = v * 1.5 if k % 2 else v + 1
        k += 1
    out[i] = v
""",
    "a name that some lanes never get": """
    k = 0
    while k < i % 23:
        last = k * 2
        k += 1
    if i % 23 > 0:
        out[i] = last
""",
    "return from a loop": """
    k = 0
    while True:
        if k * k > i:
            out[i] = 5
            return
        if k > 9:
            break
        k += 1
    out[i] = k
""",
    "device functions": """
    out[i] = escape(complex(x[i] - 1.0, x[i] / 3), 60) + 100 * collatz(i + 1)
""",
    "under a guard": """
    if i < n and x[i] > 0.5:
        v = float32(x[i])
        k = int32(0)
        while v > float32(0.2) and k < 90:
            v = v / float32(1.5) if k % 2 == 0 else math.sqrt(v) - float32(0.1)
            k += int32(1)
        out[i] = k
""",
    "tuples and booleans": """
    a, b, odd = 0, 1, False
    while a < i * i:
        a, b = b, a + b
        odd = not odd
    out[i] = a if odd else -b
""",
}
STORES_INSIDE = {"return from a loop"}  # stores stay where lanes are


def run(body: str, monkeypatch: pytest.MonkeyPatch, least: int) -> tuple[Any, Any, int]:
    """The results, the counters and how often lanes were packed."""
    monkeypatch.setattr(packing, "LEAST", least)
    monkeypatch.setattr(packing, "SHARE", 1.0)
    monkeypatch.setattr(tape, "LEAST", 10**9)
    calls = []
    original = packing.Packing.pack
    monkeypatch.setattr(packing.Packing, "pack", lambda *args: calls.append(1) or original(*args))
    kernel = Kernel.from_source(HEADER + body, "k")
    x = np.random.default_rng(0).random(5 * 96) * 8
    out, again = np.zeros(5 * 96), np.zeros(5 * 96)
    counters = Counters()
    kernel[5, 96](out, x, 400)
    plain = len(calls)
    kernel.run(5, 96, (again, x, 400), [counters])
    monkeypatch.undo()
    np.testing.assert_array_equal(out, again)
    counts = (
        counters.segments.tolist(), {k: vars(v) for k, v in counters.branches.items()},
        {k: v.counts.tolist() for k, v in counters.places.items()}, counters.busiest_warp,
    )  # fmt: skip
    return out, counts, plain


@pytest.mark.parametrize("name", BODIES)
def test_values_and_counts_stay(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Packed at every chance or never: every value and every count is the same."""
    packed, packed_counts, times = run(BODIES[name], monkeypatch, 2)
    left, left_counts, never = run(BODIES[name], monkeypatch, 10**9)
    np.testing.assert_array_equal(packed, left)
    assert packed_counts == left_counts
    assert never == 0
    assert (times == 0) == (name in STORES_INSIDE)


def test_results_are_those_of_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two of the loops against Python itself, one thread at a time."""
    out, _, _ = run(BODIES["device functions"], monkeypatch, 2)
    x = np.random.default_rng(0).random(5 * 96) * 8
    for i in range(5 * 96):
        z, c = 0j, complex(x[i] - 1.0, x[i] / 3)
        k = 60
        for step in range(60):
            z = z * z + c
            if z.real * z.real + z.imag * z.imag >= 4.0:
                k = step
                break
        n, steps = i + 1, 0
        while n != 1:
            n = n // 2 if n % 2 == 0 else 3 * n + 1
            steps += 1
        assert out[i] == k + 100 * steps


def test_random_kernels_packed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Random kernels agree with the reference when lanes are packed at every chance."""
    pytest.importorskip("numba_cuda", reason="needs the numba-cuda wheel (Linux, Windows)")
    from tests.reference import verdict, writer

    monkeypatch.setattr(packing, "LEAST", 2)
    monkeypatch.setattr(packing, "SHARE", 1.0)
    monkeypatch.setattr(tape, "LEAST", 10**9)
    cases = map(writer.case, range(300, 306))
    assert [text for text in map(verdict.compare, cases) if text] == []


def test_an_endless_loop_is_still_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some lanes leave, and the packed rest never does."""
    monkeypatch.setattr(packing, "LEAST", 2)
    monkeypatch.setattr(tape, "LEAST", 10**9)
    body = """
    v = i
    while v % 5 != 4:
        if v % 5 < 3:
            v += 1
    out[i] = v
"""
    with pytest.raises(LivelockError, match="never ends"):
        Kernel.from_source(HEADER + body, "k")[5, 96](np.zeros(480), np.ones(480), 480)
