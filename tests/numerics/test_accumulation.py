"""Accumulation against floats that do it themselves, published sums, and torch's scaler."""

from __future__ import annotations

from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest

from warpwise.numerics import FORMATS, accumulation, round_to
from warpwise.numerics.accumulation import (
    FP22,
    blocked_sum,
    hopper_dot,
    kahan_sum,
    running_sum,
    running_sums,
)
from warpwise.numerics.scaler import Scaler, overflowed, run


def by_dtype(values, dtype):
    """A loop that lets NumPy and ml_dtypes round."""
    total = dtype(0)
    for value in values:
        total = dtype(total + dtype(value))
    return float(total)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [("fp16", np.float16), ("bf16", ml_dtypes.bfloat16), ("fp32", np.float32)],
)
def test_a_running_sum_is_that_of_the_dtype(name, dtype):
    values = np.random.default_rng(1).random(3000).astype(dtype).astype(np.float64)
    assert running_sum(values, name) == by_dtype(values, dtype)


def test_published_sums_of_a_hundredth():
    """A thousand times 0.01: 10.0001335 in fp32, 9.953125 in fp16, 10.002136 in fp32 of fp16."""
    assert np.float32(running_sum(np.full(1000, np.float32(0.01)), "fp32")) == np.float32(
        10.0001335
    )
    half = round_to(0.01, "fp16")
    assert running_sum(np.full(1000, half), "fp16") == 9.953125
    assert np.float32(running_sum(np.full(1000, half), "fp32")) == np.float32(10.002136)


def test_a_bf16_sum_sticks_at_256():
    """256 + 1 = 256; the sum of 10,000 values below 1 stops there, where fp32 gives about 5,000."""
    sums = running_sums(np.ones(1000), "bf16")
    assert sums[255] == 256 and (sums[255:] == 256).all()
    values = round_to(np.random.default_rng(0).random(10_000), "bf16")
    assert running_sum(values, "bf16") == 256
    assert 4900 < running_sum(values, "fp32") < 5100


def test_stochastic_sums_do_not_stick():
    """200 sums of 1,000 ones in bf16: the mean is within five sigmas of 1,000."""
    rng = np.random.default_rng(2)
    got = running_sum(np.ones((200, 1000)), "bf16", "stochastic", rng)
    assert abs(got.mean() - 1000) <= 5 * got.std() / np.sqrt(200) and got.std() > 0


def test_kahan_rescues_a_narrow_sum():
    assert kahan_sum(np.ones(1000), "bf16") == 1000
    values = round_to(np.random.default_rng(3).random((4, 2000)), "fp16")
    exact = values.sum(-1)
    np.testing.assert_array_less(np.abs(kahan_sum(values, "fp16") - exact), 1.0)
    assert kahan_sum(np.zeros(0), "fp16") == 0


def test_blocks_bound_the_error():
    ones = np.ones(1000)
    assert blocked_sum(ones, 128, "bf16") == 1000 and blocked_sum(ones, 1000, "bf16") == 256
    assert blocked_sum(np.zeros(0), 4, "bf16") == running_sum(np.zeros(0), "bf16") == 0


@pytest.mark.parametrize("name", ["fp32", "fp16", "bf16", "e4m3", "e5m2"])
def test_a_sum_through_a_dtype_is_the_one_through_rounding(name, monkeypatch):
    """Signs, sizes and overflow mixed; Kahan's sum too."""
    rng = np.random.default_rng(9)
    spread = rng.standard_normal((40, 300)) * np.exp(2 * rng.standard_normal((40, 300)))
    values = round_to(spread, name, saturate=True)
    values[0] = FORMATS[name].max
    values[1] = -0.0
    quick = running_sums(values, name), kahan_sum(values, name)
    monkeypatch.setattr(accumulation, "IN_DTYPES", frozenset())
    np.testing.assert_array_equal(quick[0], running_sums(values, name))
    np.testing.assert_array_equal(quick[1], kahan_sum(values, name))


def test_values_that_are_no_numbers_of_the_format_are_added_as_they_are():
    """Each sum is rounded once: 1 + 0.6 of a step of fp16 goes up, whatever 0.6 would round to."""
    step = 2.0**-10
    assert running_sums([1.0, 0.6 * step], "fp16").tolist() == [1.0, 1 + step]
    with pytest.raises(ValueError, match="a single number has none"):
        running_sum(1.0, "fp16")


def aligned(products: list[Fraction], register: Fraction) -> Fraction:
    """Hopper's step in exact fractions, written from the reports."""
    parts = [*products, register]
    largest = max(abs(x) for x in parts)
    if not largest:
        return Fraction(0)

    def cut(x: Fraction, power: int) -> Fraction:
        step = Fraction(2) ** (power - 13)
        return int(x / step) * step  # int() cuts toward zero

    power = _power(largest)
    total = sum((cut(x, power) for x in parts), Fraction(0))
    return cut(total, _power(abs(total))) if total else total


def _power(x: Fraction) -> int:
    power = 0
    while Fraction(2) ** (power + 1) <= x:
        power += 1
    while Fraction(2) ** power > x:
        power -= 1
    return power


@pytest.mark.parametrize("promote", [None, 64])
def test_hopper_against_exact_fractions(promote):
    rng = np.random.default_rng(4)
    a = round_to(rng.standard_normal(256), "e4m3")
    b = round_to(rng.standard_normal(256), "e4m3")
    total = register = Fraction(0)
    for start in range(0, 256, 32):
        pairs = zip(a[start : start + 32], b[start : start + 32])
        register = aligned([Fraction(x) * Fraction(y) for x, y in pairs], register)
        if promote and (start + 32) % promote == 0:
            total = Fraction(float(np.float32(float(total + register))))
            register = Fraction(0)
    assert hopper_dot(a, b, promote) == float(np.float32(float(total + register)))


def test_promotion_mends_a_long_dot_product():
    """4,096 positive products: cut off in one register, the sum is low; promoted, it is closer."""
    rng = np.random.default_rng(5)
    a, b = (round_to(rng.random((16, 4096)), "e4m3") for _ in range(2))
    exact = (a * b).sum(-1)
    short = (exact - hopper_dot(a, b)) / exact
    promoted = np.abs(exact - hopper_dot(a, b, 128)) / exact
    assert (short > 0).all() and (promoted < short / 4).all()
    assert FP22.bits == 22
    with pytest.raises(ValueError, match="promote_every is a multiple of 32; it is 33"):
        hopper_dot(a, b, 33)


def test_the_scaler_is_that_of_torch():
    """The same overflows in torch.amp.GradScaler, on the CPU, step by step."""
    import torch

    theirs = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=3)
    weight = torch.nn.Parameter(torch.zeros(1))
    optimiser = torch.optim.SGD([weight], lr=1.0)
    overflows = [False, False, True, False, False, False, False, True, True, False, False, False]
    states = list(run(Scaler(1024.0, interval=3), overflows))
    for overflow, state in zip(overflows, states):
        theirs.scale(torch.zeros(()))  # makes its state
        before = weight.item()
        weight.grad = torch.tensor([float("inf") if overflow else 1.0])
        theirs.step(optimiser)
        theirs.update()
        assert (weight.item() == before) == overflow
        assert theirs.get_scale() == state.scale and theirs._get_growth_tracker() == state.good


def test_the_scale_never_leaves_fp32():
    state = Scaler(2.0**127, interval=1)
    assert state.after(False).scale == 2.0**127
    assert overflowed([np.ones(3), np.array([np.nan])]) and not overflowed([np.ones(3)])
