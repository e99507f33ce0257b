"""What the sanitizer advises: the words that a learner reads after a failure."""

from __future__ import annotations

import numpy as np
import pytest

from .launches import findings

SYNC = "cuda.syncthreads()"

#: (lines of the kernel; i is the thread in the launch, t in the block; first words of the advice)
CASES = [
    ("out[0] += x[i]", "Several threads change the same element, and each may overwrite what "
     "another one has just added. Let it happen in one step: cuda.atomic.add(out, 0, x[i])"),
    ("out[i % 2, ] |= x[i]".replace(", ]", "]"), "Let it happen in one step: "
     "cuda.atomic.or_(out, i % 2, x[i])"),
    ("out[0] = 2 * x[i] + out[0]", "just added. Let it happen in one step: cuda.atomic.add(out, 0, "
     "2 * x[i])"),
    ("if i: out[i % 2] = out[i % 2] - i", "one step: cuda.atomic.sub(out, i % 2, i)"),
    ("out[0] = max(out[0], i)", "each may overwrite what another one has just stored. Let it "
     "happen in one step: cuda.atomic.max(out, 0, i)"),
    ("out[0] = min(i, out[0])", "one step: cuda.atomic.min(out, 0, i)"),
    ("out[0] = i - out[0]", "They are in different blocks: no barrier reaches both."),
    ("out[0] = max(out[1], i)", "They are in different blocks: no barrier reaches both."),
    ("out[t] = i", "Both are the same thread of their blocks: is the block's number in the index?"),
    ("s[0] = i", "The last one wins, and nobody knows which. Give each its own element"),
    ("if t < 2: s[t] = 0\nif t % 32 == 0: s[t // 32] = i", "If one prepares the element for the "
     "other, put cuda.syncthreads() between lines 9 and 10; else give each its own element."),
    ("out[0] = 5", "Both write the same value, so the result is the same"),
    ("s[t] = i\nout[i] = s[63 - t]", "Put cuda.syncthreads() on the way between lines 9 and 10."),
    ("s[t] = i\nout[i] = s[t ^ 1]", "Put cuda.syncwarp() on the way between lines 9 and 10."),
    (f"s[t] = i\n{SYNC}\ns[t] = s[(t + 32) % 64]",
     "Read into a variable first, then cuda.syncthreads(), then write"),
    (f"s[t] = i\n{SYNC}\nfor d in range(2):\n    if t < 32 >> d: s[t] += s[t + (32 >> d)]",
     "Put cuda.syncwarp() behind this line, inside the loop"),
    ("x[i] = x[(i + 1) % x.size]", "They are in different blocks: no barrier reaches both."),
    ("cuda.atomic.add(out, 0, 1)\nx[i] = out[0]", "Line 10 is a plain access, and an atomic "
     "operation protects only against other atomic ones: read it with cuda.atomic.add(out, index, "
     "0)."),
    ("if t < 8: s[t] = 0\ncuda.atomic.add(s, t % 8, 1)", "put cuda.syncthreads() between lines 9 "
     "and 10, or store it with cuda.atomic.exch(s, index, value)."),
    ("own = cuda.local.array(64, float32)\nown[t] = i\nx[i] = own[63 - t]",
     "Local memory belongs to one thread and starts undefined, not zero. Let the same thread store "
     "a value first; threads share only cuda.shared.array."),
    ("v = s[t]", "Shared memory starts undefined, not zero. Store a value first, then a barrier."),
    ("if t < 40: cuda.syncthreads()",
     "The others pass it by and come to no barrier before they end.\n"
     "  On a GPU this hangs or gives anything. Move the barrier out of the branch or loop"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "words"), CASES, ids=[case[0] for case in CASES])
def test_the_advice(body: str, words: str) -> None:
    """Of the first finding."""
    text = f"""
def k(out, x):
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    {"    ".join(line + chr(10) for line in ["pass", *body.splitlines()])}
"""
    found = findings(text, 2, 64, np.zeros(128, np.int32), np.ones(128, np.int32))
    assert words in found[0].text, found[0].text


def test_no_atomic_operation_is_advised_where_there_is_none() -> None:
    """Bytes and halves have none: the compiler would refuse cuda.atomic.or_ on a uint8 array."""
    text = "def k(out, x):\n    i = cuda.grid(1)\n    out[i // 2] |= x[i] << 4 * (i % 2)\n"
    found = findings(text, 1, 64, np.zeros(32, np.uint8), np.ones(64, np.uint8))
    assert (
        "There are no atomic operations on uint8: let one thread own the element" in found[0].text
    )
    assert "cuda.atomic" not in found[0].text


def test_both_threads_and_lines_come_first() -> None:
    """Who reads, who wrote, which element, both lines; the farthest pair of threads is told."""
    text = "def k(out, x):\n    i = cuda.grid(1)\n    x[i] = x[(i + 1) % x.size]\n"
    found = findings(text, 2, 64, np.zeros(1), np.zeros(128))
    assert found[0].text.splitlines()[:2] == [
        "k: race on x[0]: thread 0 of block 0 writes it in line 6, thread 63 of block 1 read it in "
        "line 6, and nothing orders them",
        "  line 6:  x[i] = x[(i + 1) % x.size]",
    ]
    assert [f.severity for f in found] == ["error", "error", "warning"]
