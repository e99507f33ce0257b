"""Warp functions against the rules of the PTX manual."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpwise.simt import Kernel, KernelNote, SimtError

LANES = np.arange(32)


def lanes(expression: str, dtype: Any = np.int64, threads: int = 32, setup: str = "pass") -> Any:
    """The value of an expression for each thread of one block; `i` is the thread."""
    text = f"""from numba import int32, int64, uint32, float32, float64
@cuda.jit
def k(out):
    i = cuda.grid(1)
    {setup}
    out[i] = {expression}
"""
    out = np.zeros(threads, dtype)
    Kernel.from_source(text, "k")[1, threads](out)
    return out


# Source lane of each lane, derived from the pseudo-code of shfl.sync in the PTX ISA; only five bits
# of the distance count, so 32 acts as 0 and 33 as 1.
SHUFFLES = [
    ("up", 1, [0, *range(31)]), ("up", 4, [0, 1, 2, 3, *range(28)]), ("up", 32, [*range(32)]),
    ("up", 33, [0, *range(31)]), ("down", 1, [*range(1, 32), 31]),
    ("down", 16, [*range(16, 32), *range(16, 32)]), ("down", 32, [*range(32)]),
    ("down", 33, [*range(1, 32), 31]), ("xor", 1, [i ^ 1 for i in range(32)]),
    ("xor", 16, [i ^ 16 for i in range(32)]), ("idx", 0, [0] * 32), ("idx", 31, [31] * 32),
    ("idx", 33, [1] * 32), ("idx", -1, [31] * 32),
]  # fmt: skip


@pytest.mark.parametrize(("mode", "by", "source"), SHUFFLES)
@pytest.mark.parametrize("kind", ["int32", "int64", "float32", "float64"])
def test_shuffles(mode: str, by: int, source: list[int], kind: str) -> None:
    """Every mode and every type that Numba shuffles, over two warps."""
    name = "shfl_sync" if mode == "idx" else f"shfl_{mode}_sync"
    got = lanes(f"cuda.{name}(0xffffffff, {kind}(i * 3), {by})", threads=64)
    assert got.tolist() == [3 * s for s in source] + [3 * (s + 32) for s in source]


def test_a_warp_reduction() -> None:
    """After five steps of shfl_down, lane 0 has the sum; xor gives it to all."""
    setup = """v = float64(i)
    w = float64(i)
    for d in (16, 8, 4, 2, 1): pass
    s = 16
    while s > 0:
        v += cuda.shfl_down_sync(0xffffffff, v, s)
        w += cuda.shfl_xor_sync(0xffffffff, w, s)
        s //= 2""".replace("    for d in (16, 8, 4, 2, 1): pass\n", "")
    got = lanes("v", np.float64, setup=setup)
    assert got[0] == 496
    assert lanes("w", np.float64, setup=setup).tolist() == [496] * 32


def test_votes() -> None:
    """all, any, eq and ballot over the lanes that the mask names."""
    assert lanes("cuda.ballot_sync(0xffffffff, i % 2 == 0)").tolist() == [0x55555555] * 32
    assert lanes("cuda.ballot_sync(0xffffffff, True)").tolist() == [-1] * 32
    assert lanes("cuda.all_sync(0xffffffff, i < 32)").tolist() == [1] * 32
    assert lanes("cuda.all_sync(0xffffffff, i < 31)").tolist() == [0] * 32
    assert lanes("cuda.any_sync(0xffffffff, i == 5)", threads=64).tolist() == [1] * 32 + [0] * 32
    assert lanes("cuda.eq_sync(0xffffffff, i > 40)").tolist() == [1] * 32
    assert lanes("cuda.eq_sync(0xffffffff, i > 4)").tolist() == [0] * 32


def test_a_warp_that_is_not_full() -> None:
    """Missing lanes take no part: a block of 40 has a second warp of 8."""
    got = lanes("cuda.ballot_sync(0xffffffff, True)", threads=40)
    assert got.tolist() == [-1] * 32 + [0xFF] * 8


def test_match() -> None:
    """match_any groups equal values; match_all tells whether there is one group."""
    got = lanes("cuda.match_any_sync(0xffffffff, i % 3)", np.int64)
    groups = [sum(1 << j for j in range(32) if j % 3 == r) for r in range(3)]
    want = np.array([groups[i % 3] for i in range(32)], np.uint32).view(np.int32)
    assert got.tolist() == want.tolist()
    assert lanes("m", setup="m, p = cuda.match_all_sync(0xffffffff, i // 32)").tolist() == [-1] * 32
    assert lanes("m + p", setup="m, p = cuda.match_all_sync(0xffffffff, i)").tolist() == [0] * 32


def test_activemask_shows_the_branch() -> None:
    """Inside a branch, only its lanes are active."""
    setup = "a = uint32(0)\n    if i % 4 == 1: a = cuda.activemask()"
    assert lanes("a", setup=setup).tolist() == [0x22222222 if i % 4 == 1 else 0 for i in LANES]
    assert lanes("cuda.lanemask_lt()").tolist() == [(1 << i) - 1 for i in range(32)]


def test_four_branches_vote_apart() -> None:
    """Each branch of i % 4 ballots with its own mask, as in Numba's own test of this."""
    setup = """b = int32(0)
    if i % 4 == 0:
        b = cuda.ballot_sync(0x11111111, True)
    elif i % 4 == 1:
        b = cuda.ballot_sync(0x22222222, True)
    elif i % 4 == 2:
        b = cuda.ballot_sync(0x44444444, True)
    else:
        b = cuda.ballot_sync(0x88888888, True)"""
    want = (np.uint32(0x11111111) << (LANES % 4).astype(np.uint32)).view(np.int32)
    assert lanes("b", setup=setup).tolist() == want.tolist()


@pytest.mark.parametrize(
    ("expression", "want"),
    [
        ("cuda.popc(int32(-1))", 32), ("cuda.popc(int64(-1))", 64), ("cuda.popc(uint32(6))", 2),
        ("cuda.clz(int32(1))", 31), ("cuda.clz(int64(0))", 64), ("cuda.clz(int32(-1))", 0),
        ("cuda.ffs(int32(0))", 0), ("cuda.ffs(int32(8))", 4), ("cuda.ffs(int64(1) << 40)", 41),
        ("cuda.brev(uint32(1))", 0x80000000), ("cuda.brev(int32(6))", 0x60000000),
        ("cuda.selp(i == 0, 4, 5)", 4), ("cuda.cbrt(-8.0)", -2), ("cuda.fma(2.0, 3.0, 4.0)", 10),
    ],
)  # fmt: skip
def test_bits_and_numbers(expression: str, want: int) -> None:
    """Bit counting in the width of the type; selp, cbrt, fma."""
    assert lanes(expression, threads=1)[0] == want


def test_undefined_uses_are_noted() -> None:
    """Reading from a lane that takes no part, and a caller whose bit is missing."""
    with pytest.warns(KernelNote, match="thread 8 reads the value of thread 16, which does not"):
        lanes("v", setup="v = i\n    if i < 16: v = cuda.shfl_down_sync(0xffff, i, 8)")
    with pytest.warns(KernelNote, match="thread 16 calls it, and its own bit is not in the"):
        lanes("i", setup="if i <= 16: cuda.syncwarp(0xffff)")


def test_shuffles_refuse_other_types() -> None:
    """As Numba: no uint32, no bool."""
    with pytest.raises(SimtError, match="moves int32, int64, float32 or float64, not uint32"):
        lanes("cuda.shfl_sync(0xffffffff, uint32(i), 0)")
