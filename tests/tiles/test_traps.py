"""Where Triton's interpreter is wrong: which traps the pinned version has; none is left here."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("triton", reason="Triton has wheels for Linux only")

from tests.tiles import kernels
from warpwise import tiles
from warpwise.tiles.builder import Builder
from warpwise.tiles.memory import Memory
from warpwise.tiles.traps import PROBES, holds

BF16 = ml_dtypes.bfloat16


def run(kernel, *args, **named) -> tiles.Run:
    return tiles.run(kernel, 1, *args, device="cpu", **named)


def test_the_pinned_version_has_these_traps() -> None:
    """A version without one of them, or with a new one, is a reason to look at the builder."""
    assert {trap.name for trap in tiles.traps() if trap.holds} == set(PROBES)


@pytest.mark.parametrize("name", PROBES)
def test_none_is_left_here(name: str) -> None:
    builder = Builder(Memory("kernel", (), {}, lambda: (0, "")))

    assert not holds(PROBES[name][0], builder)


@pytest.mark.parametrize(
    "dtype", [np.float16, BF16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]
)
def test_conversions_round_to_nearest_even(dtype: object) -> None:
    """Ties, neighbours of ties, subnormal values, NaN; beyond the range fp8 saturates."""
    rng = np.random.default_rng(1)
    x = (rng.normal(size=1024) * 2.0 ** rng.integers(-20, 8, 1024)).astype(np.float32)
    x[:6] = [0, -0.0, np.nan, 1 + 1 / 16, 1 + 3 / 16, 400]
    out = np.zeros(1024, dtype)
    run(kernels.convert, out, x, BLOCK=1024)
    want = x
    if np.dtype(dtype).itemsize == 1:
        limit = float(ml_dtypes.finfo(dtype).max)
        want = np.clip(x, -limit, limit)

    assert np.array_equal(out.view(f"u{out.itemsize}"), want.astype(dtype).view(f"u{out.itemsize}"))

    back = np.zeros(1024, np.float32)
    run(kernels.convert, back, out, BLOCK=1024)
    assert np.array_equal(back, out.astype(np.float32), equal_nan=True)


def test_bfloat16_arithmetic_rounds_after_each_operation() -> None:
    x = np.random.default_rng(0).normal(size=64).astype(BF16)
    out = np.zeros(64, BF16)
    run(kernels.twice, out, x, BLOCK=64)

    assert np.array_equal(out, x + x * x)  # ml_dtypes rounds each of them, too


def test_a_maximum_with_nan_is_the_other_value() -> None:
    out = np.zeros(4, np.float32)
    x, y = np.array([[np.nan, 1, np.nan, 5], [2, np.nan, np.nan, 4]], np.float32)
    run(kernels.clamped, out, x, y, BLOCK=4)

    assert np.array_equal(out, np.array([2, 1, np.nan, 5], np.float32), equal_nan=True)


def test_integers_wrap() -> None:
    """In arithmetic and in sums; shifts leave their operand alone."""
    out, x = np.zeros(4, np.int32), np.array([2**30, -(2**31), 5, -7], np.int32)
    run(kernels.overflows, out, x, BLOCK=4)
    assert np.array_equal(out, x * np.int32(2) + np.int32(1))

    run(kernels.shifts, out, x, BLOCK=4)
    assert np.array_equal(out, (x >> 1) + x)

    total = np.zeros(1, np.int32)
    run(kernels.sum_of, total, np.full(4, 2**30 + 1, np.int32), BLOCK=4)
    assert total[0] == 4


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.int32, bool])
def test_reductions_by_dtype(dtype: object) -> None:
    """tl.sum widens short integers itself; a scan and argmax work."""
    x = (np.arange(8) % 3).astype(dtype)
    out = np.zeros(1, np.float32)
    run(kernels.sum_of, out, x, BLOCK=8)
    assert out[0] == x.astype(int).sum()

    row = np.zeros(1, np.int32)
    run(kernels.nearest_row, row, np.array([1, 7, 3, 7], np.float32), 4, BLOCK=4)
    assert row[0] == 1
    running = np.zeros(8, np.float32)
    run(kernels.running, running, np.arange(8, dtype=np.float32), BLOCK=8)
    assert np.array_equal(running, np.cumsum(np.arange(8)))


@pytest.mark.parametrize("dtype", [BF16, ml_dtypes.float8_e5m2])
def test_a_sum_in_a_short_format_is_refused(dtype: object) -> None:
    """Its value depends on the order of the compiler's tree."""
    with pytest.raises(tiles.TileError, match=r"a reduction of \w+ is not(.|\n)*to\(tl.float32\)"):
        run(kernels.sum_of, np.zeros(1, np.float32), np.ones(8, dtype), BLOCK=8)
