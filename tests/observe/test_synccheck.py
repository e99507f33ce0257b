"""Barriers and warp functions: who is missing, who is not named, and what to write."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .launches import findings

#: (body, blocks, threads, what is found: kind, threads of both parties, count).  t is the thread.
CASES = {
    "a barrier for some": ("if t < 40: cuda.syncthreads()", 1, 64,
        [("divergent_barrier", (0, 40), 32)]),
    "a barrier for whole warps": ("if t < 32: cuda.syncthreads()", 1, 64,
        [("divergent_barrier", (0, 32), 32)]),
    "a barrier for a block": ("if cuda.blockIdx.x == 0: cuda.syncthreads()", 2, 64, []),
    "the others have returned": ("if t >= 40: return\n    cuda.syncthreads()", 1, 64, []),
    "a barrier in a loop of equal length": ("for j in range(3): cuda.syncthreads()", 1, 64, []),
    "a barrier in a loop that depends on the thread":
        ("for j in range(t // 32): cuda.syncthreads()", 1, 64,
         [("divergent_barrier", (32, 0), 32)]),
    "a barrier in a loop that depends on data":
        ("j = 0\n    while j < x[t]:\n        cuda.syncthreads()\n        j += 1", 1, 64,
         [("divergent_barrier", (1, 0), 64)]),
    "two barriers": ("if t < 32: cuda.syncthreads()\n    else: cuda.syncthreads()", 1, 64,
        [("divergent_barrier", (0, 32), 32)]),
    "a vote for some": ("if t % 2 == 0: n = cuda.syncthreads_count(1)", 1, 64,
        [("divergent_barrier", (0, 1), 64)]),
    "all lanes meet": ("cuda.syncwarp()", 1, 64, []),
    "half of the lanes meet": ("if t % 32 < 16: cuda.syncwarp(0xffff)", 1, 64, []),
    "lanes that returned need not come":
        ("if t % 32 >= 16: return\n    cuda.syncwarp()", 1, 64, []),
    "a mask names lanes elsewhere": ("if t % 32 < 16: cuda.syncwarp()", 1, 64,
        [("mask_names_absent", (0, 16), 32)]),
    "a mask without a caller": ("if t % 32 <= 16: cuda.syncwarp(0xffff)", 1, 64,
        [("mask_without_caller", (16,), 2)]),
    "a vote among the lanes of a branch":
        ("if t < 8: b = cuda.ballot_sync(0xff, t > 2)", 1, 32, []),
    "a vote that names everybody":
        ("if t < 8: b = cuda.ballot_sync(0xffffffff, t > 2)", 1, 32,
         [("mask_names_absent", (0, 8), 8)]),
    "a vote with the active lanes":
        ("if t < 8: b = cuda.ballot_sync(cuda.activemask(), t > 2)", 1, 32, []),
    "a match without its caller":
        ("if t < 8: b = cuda.match_any_sync(0x7f, t)", 1, 32, [("mask_without_caller", (7,), 1)]),
    "a shuffle in a full warp": ("v = cuda.shfl_down_sync(0xffffffff, t, 16)", 1, 64, []),
    "a shuffle in half a warp":
        ("if t < 16: v = cuda.shfl_xor_sync(0xffff, t, 8)", 1, 32, []),
    "a shuffle from lanes elsewhere":
        ("if t < 16: v = cuda.shfl_down_sync(0xffff, t, 8)", 1, 32,
         [("inactive_source", (8, 16), 8)]),
    "a shuffle from beyond the block":
        ("v = cuda.shfl_down_sync(0xffffffff, t, 4)", 1, 40, [("inactive_source", (36,), 4)]),
    "a shuffle from lanes that returned":
        ("if t >= 24: return\n    v = cuda.shfl_down_sync(0xffffffff, t, 8)", 1, 32,
         [("inactive_source", (16, 24), 8)]),
    "a shuffle under a mask that names others":
        ("if t < 16: v = cuda.shfl_down_sync(0xffffffff, t, 1)", 1, 32,
         [("mask_names_absent", (0, 16), 16), ("inactive_source", (15, 16), 1)]),
    "every block misuses": ("if t < 16: cuda.syncwarp()", 3, 32,
        [("mask_names_absent", (0, 16), 48)]),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_barriers_and_warp_functions(name: str) -> None:
    """Each rule with what breaks it and what does not."""
    body, blocks, threads, expected = CASES[name]
    text = f"def k(x):\n    t = cuda.threadIdx.x\n    {body}\n"
    found = findings(text, blocks, threads, np.arange(threads) % 3)
    assert [(f.kind, tuple(t[1][0] for t in f.threads), f.count) for f in found] == expected
    assert all(f.severity == "error" for f in found)


def test_two_barriers_are_both_named() -> None:
    """The lines of both, and why this is not one barrier."""
    text = """
def k(x):
    t = cuda.threadIdx.x
    if t < 32:
        x[t] = 1
        cuda.syncthreads()
    else:
        x[t] = 2
        cuda.syncthreads()
"""
    (found,) = findings(text, 1, 64, np.zeros(64))
    assert (found.line, found.other_line) == (8, 11)
    assert found.text == (
        "k: 32 of the 64 threads of block (0, 0, 0) that still run reach this barrier\n"
        "  here: thread (0, 0, 0) and others;  elsewhere: thread (32, 0, 0) and others\n"
        "  line 8:  cuda.syncthreads()\n"
        "  The others come to another barrier, and two places are two barriers:\n"
        "  line 11:  cuda.syncthreads()\n"
        "  On a GPU this hangs or gives anything. Move the barrier out of the branch or loop, so "
        "that all threads of the block pass it."
    )


def test_after_a_broken_barrier_nothing_else_is_said() -> None:
    """What follows is not ordered any more; what came before counts."""
    text = """
def k(x):
    t = cuda.threadIdx.x
    x[0] = t
    if t < 32:
        cuda.syncthreads()
    x[1] = t
"""
    assert {(f.kind, f.index) for f in findings(text, 1, 64, np.zeros(64))} == {
        ("divergent_barrier", ()), ("race", (0,)),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("if t <= 16: cuda.syncwarp(0xffff)",
         "k: cuda.syncwarp: thread 16 calls it, and its own bit is not in the mask 0xffff\n"
         "  line 6:  if t <= 16: cuda.syncwarp(0xffff)\n"
         "  The mask has to name every thread that calls."),
        ("if t < 16: cuda.syncwarp()",
         "k: cuda.syncwarp: thread 0 calls it, and the mask 0xffffffff also names thread 16, which "
         "goes on elsewhere (16 threads do)\n"),
        ("v = cuda.shfl_down_sync(0xffffffff, t, 4)",
         "k: cuda.shfl_down_sync: thread 36 reads the value of lane 8 of its warp, which does not "
         "take part (4 threads do)\n"),
    ],
)  # fmt: skip
def test_what_is_said_of_warp_functions(body: str, words: str) -> None:
    """Both threads, the mask, the line, and what to write."""
    text = f"def k(x):\n    t = cuda.threadIdx.x\n    {body}\n"
    (found,) = findings(text, 1, 40 if "shfl" in body else 32, np.zeros(1))
    assert words in found.text


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        # a part of a warp that meets is ordered, the rest is not
        ("if t < 16:\n        cuda.syncwarp(0xffff)\n        v = s[t ^ 1]", []),
        ("if t < 16: cuda.syncwarp(0xffff)\n    if t >= 16: v = s[t ^ 16]", ["RAW"]),
        ("if t < 16: cuda.syncwarp(0xffff)\n    else: cuda.syncwarp(0xffff0000)\n    v = s[t ^ 1]",
         []),
        ("if t < 16: cuda.syncwarp(0xffff)\n    else: cuda.syncwarp(0xffff0000)\n"
         "    v = s[t ^ 16]", ["RAW"]),
        ("cuda.syncwarp(cuda.activemask())\n    v = s[t ^ 16]", []),
    ],
)  # fmt: skip
def test_what_a_part_of_a_warp_orders(body: str, expected: list[str]) -> None:
    """syncwarp(mask) orders the lanes of its mask and no others."""
    text = f"""
def k(x):
    s = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    s[t] = t
    {body}
"""
    x: Any = np.zeros(1)
    assert [f.hazard for f in findings(text, 1, 32, x)] == expected


def test_grid_synchronisation() -> None:
    """It orders blocks; all of them have to come."""
    text = """
def k(out, x):
    i = cuda.grid(1)
    x[i] = i
    {sync}
    out[i] = x[x.size - 1 - i]
"""
    sync = "cuda.cg.this_grid().sync()"
    out = np.zeros(96)
    assert findings(text.format(sync=sync), 3, 32, out, np.zeros(96)) == []
    assert out.tolist() == list(range(95, -1, -1))
    for weaker in ("cuda.syncthreads()", "cuda.threadfence()", "pass"):
        found = findings(text.format(sync=weaker), 3, 32, out, np.zeros(96))
        assert {f.hazard for f in found} == {"RAW"} or weaker == "pass"
        assert any(f.threads[0][0] != f.threads[1][0] for f in found)
    (found_one,) = findings(
        text.format(sync=f"if cuda.blockIdx.x < 2: {sync}"), 3, 32, out, np.zeros(96)
    )
    assert found_one.kind == "divergent_barrier"
