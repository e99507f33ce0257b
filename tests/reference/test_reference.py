"""The reference is right: it gives what Numba compiles, and sees races and bad indices."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason="needs the numba-cuda wheel (Linux, Windows)")

from tests.reference import grid, njit, races, shrink, verdict
from tests.reference.memory import Fault


def check(seed: int) -> str:
    case = njit.plain_case(seed)
    return verdict.difference(njit.compiled(case), njit.reference(case))


@pytest.mark.parametrize("seed", range(3))
def test_the_reference_gives_what_compiled_code_gives(seed: int) -> None:
    """Kernels that a CPU can run as well, compiled and interpreted: the same to the last bit."""
    assert check(seed) == ""


@pytest.mark.slow
@pytest.mark.parametrize("start", range(100, 180, 20))
def test_the_reference_gives_what_compiled_code_gives_often(start: int) -> None:
    """The same over more kernels."""
    assert [text for text in map(check, range(start, start + 20)) if text] == []


HEAD = "from numba import cuda, int32\n@cuda.jit\ndef k(out):\n    t = cuda.threadIdx.x\n"
REVERSED = (
    HEAD
    + """    s = cuda.shared.array(64, int32)
    s[t] = t
    BARRIER
    out[t] = s[63 - t]
"""
)


def trace(text: str, block: int = 64) -> grid.Trace:
    args = [np.zeros(64, np.int32)]
    return grid.launch(grid.prepare(text, args), 1, block, args)


@pytest.mark.parametrize(
    ("barrier", "pairs"), [("cuda.syncthreads()", []), ("cuda.syncwarp()", [[6, 8]]),
                           ("pass", [[6, 8]])],
)  # fmt: skip
def test_races_are_seen(barrier: str, pairs: list[list[int]]) -> None:
    """A barrier of the block orders warps, one of the warp does not."""
    found = races.races(trace(REVERSED.replace("BARRIER", barrier)))
    assert [sorted(pair) for pair in found] == pairs


@pytest.mark.parametrize(
    ("text", "message"),
    [("out[t + 1] = 1", "index 64 of 64"), ("if t < 8: cuda.syncthreads()\n    out[t] = 1", None),
     ("if t < 8:\n        cuda.syncthreads()\n    else:\n        cuda.syncthreads()",
      "different barriers")],
)  # fmt: skip
def test_what_cuda_does_not_define_is_a_fault(text: str, message: str | None) -> None:
    """A bad index and a divergent barrier; threads that have left are no mistake."""
    if message is None:
        assert trace(HEAD + "    " + text).barriers
        return
    with pytest.raises(Fault, match=message):
        trace(HEAD + "    " + text)


def test_an_element_without_a_value_is_seen() -> None:
    """Shared memory starts without values."""
    found = trace(REVERSED.replace("s[t] = t", "s[0] = t").replace("BARRIER", "cuda.syncthreads()"))
    assert found.unset


def test_a_failing_kernel_is_made_small() -> None:
    """What does not matter for the failure goes."""
    text = HEAD + "    p = 3\n    if t > 2:\n        for j in range(t):\n            p += 7 * j\n" \
                  "    out[t] = p\n"  # fmt: skip
    small = shrink.shrink(text, lambda candidate: "7 *" in candidate)
    assert small.splitlines()[-1].strip() == "p += 7 * j"
    assert len(small.splitlines()) == 5
