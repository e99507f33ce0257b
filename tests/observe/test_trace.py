"""The trace: who touched which cell when, and what is left out of a large launch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpwise.observe import Event, Trace
from warpwise.simt import Kernel, LaunchError

SHIFT = """
from numba import cuda, float32
@cuda.jit
def k(out, x):
    s = cuda.shared.array(4, float32)
    t = cuda.threadIdx.x
    s[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    if t < 2:
        out[cuda.grid(1)] = s[t - 1]
    cuda.atomic.add(out, 7, float32(1))
"""


def traced(trace: Trace, text: str, grid: Any, block: Any, *args: Any) -> Trace:
    """The trace of one launch of the kernel `k` of a text."""
    Kernel.from_source(text, "k").run(grid, block, args, [trace])
    return trace


def shift(trace: Trace) -> Trace:
    """Two blocks of four threads."""
    return traced(trace, SHIFT, 2, 4, np.zeros(8, np.float32), np.arange(8, dtype=np.float32))


def test_events_tell_who_touched_what_when() -> None:
    """Kind, array, index, block, thread, line, value; steps in the order of the source."""
    trace = shift(Trace())
    first = [e for e in trace.events if e.step == 1]
    assert len(first) == 8
    assert first[5] == Event("load", "x", (5,), (1, 0, 0), (1, 0, 0), 7, 5.0, 1)
    kinds = {e.step: (e.kind, e.array) for e in trace.events}
    assert kinds == {1: ("load", "x"), 2: ("store", "s"), 3: ("load", "s"), 4: ("store", "out"),
                     5: ("atomic", "out")}  # fmt: skip
    assert [(e.index, e.value) for e in trace.events if e.step == 3] == [
        ((3,), 3.0), ((0,), 0.0), ((3,), 7.0), ((0,), 4.0)
    ]  # fmt: skip
    assert trace.barriers == [(2, 8)]
    assert [e.value for e in trace.events if e.kind == "atomic"] == [0, 1, 2, 3, 4, 5, 6, 7]
    assert (trace.left_out, trace.note) == (0, "")


def test_one_block_or_one_array() -> None:
    """Only what was asked for is kept."""
    assert {e.block for e in shift(Trace(block=1)).events} == {(1, 0, 0)}
    assert {e.block for e in shift(Trace(block=(1, 0, 0))).events} == {(1, 0, 0)}
    assert {e.array for e in shift(Trace(arrays="s")).events} == {"s"}
    both = shift(Trace(block=0, arrays=["x", "out"]))
    assert len(both.events) == 4 + 2 + 4


def test_a_block_that_is_not_there() -> None:
    """A sentence with the grid."""
    with pytest.raises(LaunchError, match=r"there is no block 2 to trace: the grid is \(2, 1, 1\)"):
        shift(Trace(block=2))


def test_a_large_launch_is_cut_with_a_sentence() -> None:
    """The first accesses are kept, the rest is counted, and the note says how to see it."""
    text = "@cuda.jit\ndef k(out):\n    i = cuda.grid(1)\n    out[i] = i\n    out[i] += 1\n"
    out = np.zeros(100_000, np.float32)
    trace = traced(Trace(limit=1000), text, 1000, 100, out)
    assert trace.truncated
    assert len(trace.events) == 1000
    assert trace.events[-1].index == (999,)
    assert trace.note == (
        "299,000 of 300,000 accesses are left out: a trace keeps 1,000. Give Trace one block "
        "(block=0) or one array (arrays='out') or a larger limit."
    )
    trace = traced(Trace(limit=1000, block=(999, 0, 0)), text, 1000, 100, out)
    assert not trace.truncated
    assert [e.index for e in trace.events][:2] == [(99_900,), (99_901,)]
    assert len(trace.events) == 300


def test_a_trace_can_be_used_again() -> None:
    """The second launch replaces the first."""
    trace = shift(Trace())
    before = trace.events
    assert shift(trace).events == before
    assert shift(trace).events is not before
