"""Rounding against exact fractions, the libraries, and the statistics of chance."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from warpwise.numerics import (
    FORMATS,
    ROUNDINGS,
    FormatError,
    all_values,
    code_at,
    decode,
    encode,
    ml_codes,
    neighbours,
    numbers,
    rank_of,
    round_to,
    torch_codes,
    ulp,
    ulps_between,
)

SMALL = ["e4m3", "e5m2", "e4m3_ieee", "e3m4", "e4m3_fnuz", "e5m2_fnuz", "e2m3", "e3m2", "e2m1"]
LIBRARY = ["fp16", "bf16", *SMALL]
DIRECTED = ("nearest", "nearest_away", "zero", "up", "down")


def wild(n: int, seed: int = 4) -> np.ndarray:
    """float32 values of any bits, without NaN and infinity."""
    bits = np.random.default_rng(seed).integers(0, 2**32, n, dtype=np.uint32)
    values = bits.view(np.float32)
    return values[np.isfinite(values)]


def near(fmt, seed: int = 5) -> np.ndarray:
    """Every number of a format, every midpoint, and their neighbours in float32."""
    line = numbers(fmt)
    middles = (line[1:] + line[:-1]) / 2
    points = np.concatenate([line, middles, [fmt.max * 1.02, fmt.max * 1.1, -fmt.max * 1.2]])
    points = points.astype(np.float32)
    up, down = np.nextafter(points, np.float32(np.inf)), np.nextafter(points, np.float32(-np.inf))
    spread = np.random.default_rng(seed).uniform(-fmt.max, fmt.max, 500).astype(np.float32)
    return np.concatenate([points, up, down, spread])


@pytest.mark.parametrize("name", LIBRARY)
def test_nearest_is_that_of_ml_dtypes(name):
    """Numbers, midpoints, their neighbours, and 100,000 floats of any size; the same codes."""
    fmt = FORMATS[name]
    values = np.concatenate([near(fmt), wild(100_000)]) if fmt.bits < 9 else wild(100_000)
    got, want = encode(values, fmt), ml_codes(values, fmt)
    both_nan = np.zeros(values.shape, bool)
    if fmt.nan_code is not None:
        both_nan = np.isnan(decode(got, fmt)) & np.isnan(decode(want, fmt))
    np.testing.assert_array_equal(got[~both_nan], want[~both_nan])


@pytest.mark.parametrize("name", ["fp16", "bf16", "e5m2", "e4m3_fnuz", "e5m2_fnuz"])
def test_nearest_is_that_of_torch(name):
    values = wild(50_000)
    np.testing.assert_array_equal(encode(values, name), torch_codes(values, name))


def test_torch_saturates_e4m3():
    values = np.concatenate([near(FORMATS["e4m3"]), wild(50_000), [np.inf, -np.inf]])
    np.testing.assert_array_equal(
        encode(values, "e4m3", saturate=True), torch_codes(values, "e4m3")
    )


def test_scales_are_rounded_as_the_libraries_do():
    """Ties go up.  Below 2**-126 the libraries see a subnormal float32: DIFFERENCES has it."""
    values = np.concatenate([np.abs(wild(50_000)), 1.5 * 2.0 ** np.arange(-126, 127)])
    values = values[values >= 2.0**-126].astype(np.float32)
    np.testing.assert_array_equal(encode(values, "e8m0"), torch_codes(values, "e8m0"))
    np.testing.assert_array_equal(encode(values, "e8m0"), ml_codes(values, "e8m0"))


def by_fractions(value: float, line: list[Fraction], rounding: str) -> Fraction:
    """The number of `line` that a rounding chooses, by comparing exact fractions."""
    x = Fraction(value)
    below = max(y for y in line if y <= x)
    above = min(y for y in line if y >= x)
    if below == above:
        return below
    toward = {"up": above, "down": below, "zero": below if x > 0 else above}
    if rounding in toward:
        return toward[rounding]
    if x - below != above - x:
        return below if x - below < above - x else above
    if rounding == "nearest_away":
        return max(below, above, key=abs)
    return below if line.index(below) % 2 == line.index(Fraction(0)) % 2 else above


@pytest.mark.parametrize("rounding", DIRECTED)
@pytest.mark.parametrize("name", SMALL)
def test_every_mode_against_exact_fractions(name, rounding):
    fmt = FORMATS[name]
    line = [Fraction(x) for x in numbers(fmt)]
    middle = len(line) // 2
    line = line[max(0, middle - 20) : middle + 21]  # the dense part around zero
    reach = float(line[-1])
    values = np.random.default_rng(6).uniform(-reach, reach, 200)
    steps = np.array([float(x) for x in line])
    values = np.concatenate([values, steps, (steps[1:] + steps[:-1]) / 2])
    want = [float(by_fractions(x, line, rounding)) for x in values]
    np.testing.assert_array_equal(round_to(values, fmt, rounding), want)


@pytest.mark.parametrize(
    ("value", "rounding", "saturate", "want"),
    [
        (464, "nearest", False, 448), (465, "nearest", False, np.nan), (465, "nearest", True, 448),
        (500, "zero", False, 448), (1e9, "down", False, 448), (449, "up", False, np.nan),
        (-449, "up", False, -448), (-449, "down", False, np.nan), (np.inf, "zero", False, np.nan),
        (np.inf, "nearest", True, 448), (-np.inf, "nearest", True, -448),
        (464, "nearest_away", False, np.nan),
    ],
)  # fmt: skip
def test_e4m3_beyond_448(value, rounding, saturate, want):
    np.testing.assert_equal(round_to(value, "e4m3", rounding, saturate=saturate), np.float64(want))


@pytest.mark.parametrize(
    ("name", "value", "want"),
    [
        ("e5m2", 61439, 57344), ("e5m2", 61440, np.inf), ("e5m2", -61440, -np.inf),
        ("fp16", 65519.99, 65504), ("fp16", 65520, np.inf), ("e2m1", 1e9, 6),
        ("e2m1", -np.inf, -6), ("e2m1", 5, 4), ("e2m1", 2.5, 2), ("bf16", 257, 256),
        ("bf16", 259, 260), ("e4m3_ieee", 248, np.inf), ("e4m3_fnuz", 248, np.nan),
    ],
)  # fmt: skip
def test_edges_of_other_formats(name, value, want):
    np.testing.assert_equal(round_to(value, name), np.float64(want))


def test_tf32_is_float32_with_the_last_thirteen_bits_rounded():
    """Against integer arithmetic on the bits of the float32."""
    values = wild(50_000)
    bits = values.view(np.uint32).astype(np.int64)
    even = (bits + 0x0FFF + (bits >> 13 & 1)) >> 13
    away = (bits + 0x1000) >> 13
    np.testing.assert_array_equal(encode(values, "tf32"), even)
    np.testing.assert_array_equal(encode(values, "tf32", "nearest_away"), away)
    np.testing.assert_array_equal(encode(values, "tf32", "zero"), bits >> 13)


@pytest.mark.parametrize("name", ["e4m3", "e2m1", "bf16", "e5m2"])
def test_stochastic_rounding_keeps_the_mean(name):
    """Only the two neighbours occur, and the mean of n draws is within five sigmas of the value.

    A draw goes up with chance p, so a step's share has the variance p (1 - p).
    """
    rng = np.random.default_rng(7)
    n = 40_000
    for value in (1.1, -1.7, 2.6, 0.3, -0.01):
        below, above = round_to(value, name, "down"), round_to(value, name, "up")
        got = round_to(np.full(n, value), name, "stochastic", rng=rng)
        assert set(np.unique(got)) <= {below, above}
        p = (value - below) / (above - below)
        sigma = (above - below) * np.sqrt(p * (1 - p) / n)
        assert abs(got.mean() - value) <= 5 * sigma


def test_stochastic_rounding_leaves_numbers_alone_and_obeys_its_seed():
    line = all_values("e4m3")
    line = line[np.isfinite(line)]
    rng = np.random.default_rng(1)
    np.testing.assert_array_equal(round_to(line, "e4m3", "stochastic", rng=rng), line)
    twice = [encode(np.full(99, 1.06), "e4m3", "stochastic", rng=np.random.default_rng(3))
             for _ in range(2)]  # fmt: skip
    np.testing.assert_array_equal(*twice)


def test_ranks_and_codes_are_inverse():
    for name in ("e4m3", "e2m1", "fp16"):
        ranks = np.arange(-FORMATS[name].max_code, FORMATS[name].max_code + 1)
        np.testing.assert_array_equal(rank_of(code_at(ranks, name), name), ranks)
        values = decode(code_at(ranks, name), name)
        assert np.all(np.diff(values) > 0)


def test_ulp_is_the_step_to_the_next_number():
    for name in ("e4m3", "e5m2", "e2m1", "bf16", "fp16", "tf32"):
        fmt = FORMATS[name]
        values = decode(np.arange(fmt.max_code), fmt)
        after = decode(np.arange(1, fmt.max_code + 1), fmt)
        np.testing.assert_array_equal(ulp(values, fmt), after - values)
        np.testing.assert_array_equal(ulp(-values, fmt), after - values)
    assert np.isnan(ulp(449, "e4m3")) and np.isnan(ulp(np.nan, "fp16"))
    np.testing.assert_array_equal(ulp(np.float32(3.7), "fp32"), np.spacing(np.float32(3.7)))


def test_neighbours_are_those_of_nextafter():
    for value in (1.0, -2.5, 0.0, 65472.0, 6e-8, 1000.25):
        half = np.float16(value)
        want = [float(np.nextafter(half, np.float16(end))) for end in (-np.inf, np.inf)]
        assert list(neighbours(float(half), "fp16")) == want
    assert neighbours(500, "e4m3") == (448, np.inf) and neighbours(-9, "e2m1") == (-np.inf, -6)
    assert neighbours(448, "e4m3") == (416, np.inf) and neighbours(3, "e8m0") == (2, 4)
    assert neighbours(2.0**-127, "e8m0") == (-np.inf, 2.0**-126)


def test_distances_in_steps():
    assert ulps_between(1, 2, "e4m3") == 8 and ulps_between(2, 1, "bf16") == -128
    assert ulps_between(-0.5, 0.5, "e2m1") == 2 and ulps_between(-0.0, 0.0, "fp16") == 0
    with pytest.raises(FormatError, match=r"1\.05.* is no number of e4m3: round it first"):
        ulps_between(1.05, 1, "e4m3")


def test_refusals():
    with pytest.raises(FormatError, match="no rounding 'even': there are nearest, "):
        encode(1.0, "fp16", "even")
    with pytest.raises(FormatError, match=r"needs rng=np.random.default_rng"):
        encode(1.0, "fp16", "stochastic")
    with pytest.raises(FormatError, match="e8m0 has no code for -2: it holds powers of two"):
        encode([1.0, -2.0], "e8m0")
    with pytest.raises(FormatError, match="NaN has no neighbours"):
        neighbours(float("nan"), "fp16")
    assert len(ROUNDINGS) == 6


def test_shapes_are_kept():
    values = np.ones((2, 3, 4))
    assert encode(values, "e4m3").shape == round_to(values, "e4m3").shape == (2, 3, 4)
    assert np.isscalar(encode(1.0, "e4m3")) and round_to(np.zeros((0,)), "e2m1").shape == (0,)
