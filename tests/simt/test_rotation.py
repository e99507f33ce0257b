"""Loops whose test is compiled twice: in front of the loop with the types there, and at its end."""

from __future__ import annotations

import textwrap

import numpy as np
import pytest
from numba import float32, njit

from warpwise.observe import profile
from warpwise.simt import Kernel

START = 2**53 + 1  # no float64 is this number
BODIES = {
    "an integer, then float64": """
        x = n
        while x != 9007199254740992 and c < 5:
            c += 1
            x = x * 1.0
        """,
    "float32, then float64": """
        v = float32(16777216)
        while v + float32(1) == v and c < 5 + k:
            c += 1
            v = v + 0.0
        """,
    "left by break": """
        x = n
        while x != 9007199254740992:
            c += 1
            if c > k:
                x = x + 1
                break
            x = x * 1.0
        c = c * 1000 + (x > 9007199254740992)
        """,
    "a loop in a loop": """
        x = n + k
        while c < 40:
            while x != 9007199254740992 and c % 4 < 3:
                c += 1
                x = x - 1.0
            c += 1
        """,
    "with continue": """
        x = n
        while x > 0.5:
            c += 1
            if c < k:
                x = x * 0.5
                continue
            x = x // 7
        """,
}


def body(text: str) -> str:
    return textwrap.indent(textwrap.dedent(text).strip(), "    ")


@pytest.mark.parametrize("name", BODIES)
def test_each_copy_of_a_test_has_the_types_of_its_place(name: str) -> None:
    """As compiled: the first look at 2**53 + 1 is one at an integer."""
    text = f"def f(n, k):\n    c = 0\n{body(BODIES[name])}\n    return c\n"
    scope = {"float32": float32}
    exec(text, scope)
    compiled = njit(scope["f"])
    kernel = Kernel.from_source(
        f"from numba import cuda, float32\n@cuda.jit\ndef kernel(out, n):\n"
        f"    k = cuda.grid(1)\n    c = 0\n{body(BODIES[name])}\n    out[k] = c\n", "kernel",
    )  # fmt: skip
    out = np.zeros(64, np.int64)
    kernel[2, 32](out, START)
    np.testing.assert_array_equal(out, [compiled(START, k) for k in range(64)])


def test_operations_of_a_test_count_by_their_type() -> None:
    """The first round adds in float32, the others in float64; conditions are counted as before."""
    text = """
from numba import cuda
@cuda.jit
def kernel(out, x):
    v = x[0]
    while v + x[0] < 100.0:
        v = v * 2.0
    out[0] = v
"""
    launch = Kernel.from_source(text, "kernel")[1, 32]
    report = profile(launch, np.zeros(1), np.ones(1, np.float32))
    line = next(line for line in report.lines if line.number == 6)
    rounds = 8  # v = 1, 2, 4 ... 128
    assert line.operations["float32"] == 32
    assert line.operations["float64"] == 32 * (rounds - 1)
    assert (line.branches.warps, line.branches.lanes) == (rounds, 32 * rounds)
    assert line.branches.taken == 32 * (rounds - 1) and line.branches.divergent == 0
    assert line.loads.requests == rounds
