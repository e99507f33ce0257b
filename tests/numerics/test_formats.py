"""Formats against the published table, and every code against ml_dtypes and PyTorch."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from warpwise.numerics import (
    DIFFERENCES,
    FORMATS,
    FormatError,
    all_values,
    decode,
    encode,
    format_of,
    ml_codes,
    ml_dtype,
    numbers,
    torch_codes,
    torch_dtype,
)

TABLE = list(csv.DictReader((Path(__file__).parent / "formats.csv").open()))
NAMES = {
    "fp16": "fp16", "bf16": "bf16", "TF32": "tf32", "fp8 E4M3 (fn)": "e4m3", "fp8 E5M2": "e5m2",
    "IEEE-style E4M3": "e4m3_ieee", "E3M4": "e3m4", "fp6 E2M3": "e2m3", "fp6 E3M2": "e3m2",
    "fp4 E2M1": "e2m1", "E8M0 scale": "e8m0",
}  # fmt: skip
IN_ML = [name for name in FORMATS if name not in ("tf32", "fp32")]
IN_TORCH = ["fp16", "bf16", "e4m3", "e5m2", "e4m3_fnuz", "e5m2_fnuz", "e8m0"]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row["format"])
def test_the_published_table(row):
    """Largest, smallest normal and subnormal number, and the step above 1."""
    fmt = FORMATS[NAMES[row["format"]]]
    for column in ("max", "min_normal", "min_subnormal", "eps"):
        if row[column]:
            assert getattr(fmt, column) == pytest.approx(float(row[column]), rel=1e-6), column


def test_every_row_of_the_table_has_a_format():
    assert {row["format"] for row in TABLE} == set(NAMES)


@pytest.mark.parametrize("name", IN_ML)
def test_every_code_has_the_value_of_ml_dtypes(name):
    """All 2**bits codes, NaN for NaN and the sign of zero included."""
    fmt = FORMATS[name]
    dtype = ml_dtype(fmt)
    codes = np.arange(fmt.codes).astype(f"u{dtype.itemsize}")
    with np.errstate(invalid="ignore"):
        want = codes.view(dtype).astype(np.float64)
    got = all_values(fmt)
    np.testing.assert_array_equal(got, want)
    assert np.array_equal(np.signbit(got[got == 0]), np.signbit(want[want == 0]))


@pytest.mark.parametrize("name", IN_TORCH)
def test_every_code_has_the_value_of_torch(name):
    import torch

    fmt = FORMATS[name]
    codes = torch.arange(fmt.codes).to({8: torch.uint8, 16: torch.int16}[fmt.bits])
    want = codes.view(torch_dtype(fmt)).to(torch.float32).numpy()
    np.testing.assert_array_equal(all_values(fmt), want)


def test_all_codes_of_tf32_are_floats_with_thirteen_zero_bits():
    codes = np.arange(2**19, dtype=np.uint32)
    np.testing.assert_array_equal(all_values("tf32"), (codes << 13).view(np.float32))


def test_fp32_codes_are_the_bits_of_a_float32():
    codes = np.random.default_rng(0).integers(0, 2**32, 100_000, dtype=np.uint32)
    np.testing.assert_array_equal(decode(codes, "fp32"), codes.view(np.float32))


def test_fp4_has_eight_magnitudes():
    assert all_values("e2m1")[:8].tolist() == [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    assert numbers("e2m1").tolist() == [-6, -4, -3, -2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2, 3, 4, 6]


def test_numbers_between_one_and_two():
    """A published count of 7 for E4M3 and 3 for E5M2 leaves out both ends: with them 9 and 5."""
    for name, inside in (("e4m3", 7), ("e5m2", 3)):
        values = numbers(name)
        assert ((values > 1) & (values < 2)).sum() == inside
        assert ((values >= 1) & (values <= 2)).sum() == inside + 2


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "fp32"])
def test_encoding_a_decoded_code_gives_it_back(name):
    """Every code of every format, except that all NaNs become one."""
    fmt = FORMATS[name]
    codes = np.arange(fmt.codes)
    values = all_values(fmt)
    back = encode(values, fmt)
    number = ~np.isnan(values)
    np.testing.assert_array_equal(back[number], codes[number])
    assert np.all(np.isnan(decode(back[~number], fmt))) if not number.all() else True


@pytest.mark.parametrize("one", DIFFERENCES, ids=lambda one: f"{one.fmt} {one.value}")
def test_the_listed_differences_are_still_true(one):
    assert ml_codes([one.value], one.fmt)[0] == one.ml_dtypes
    if one.torch is not None:
        assert torch_codes([one.value], one.fmt)[0] == one.torch
    if one.ours is None:
        with pytest.raises(FormatError, match="has no code for"):
            encode(one.value, one.fmt)
    else:
        assert encode(one.value, one.fmt) == one.ours


def test_refusals_say_what_there_is():
    with pytest.raises(
        FormatError, match=r"no format 'fp8': there are .*two formats: e4m3 and e5m2"
    ):
        format_of("fp8")
    with pytest.raises(FormatError, match="a code of e2m1 has 4 bits: 0 to 15"):
        decode(16, "e2m1")
    with pytest.raises(FormatError, match="codes are integers; these are float64"):
        decode(1.0, "e2m1")
    with pytest.raises(FormatError, match="has a dtype for tf32"):
        ml_dtype("tf32")
    with pytest.raises(FormatError, match="does not convert to e2m1"):
        torch_dtype("e2m1")
    with pytest.raises(FormatError, match=r"fp32 has 2\*\*32 codes"):
        all_values("fp32")


def test_fields_of_a_code():
    e4m3 = FORMATS["e4m3"]
    assert e4m3.split(0b1_0111_100) == (1, 7, 4)
    assert e4m3.text(0b1_0111_100) == "1 0111 100"
    assert FORMATS["e8m0"].text(127) == "01111111"
    assert format_of("float8_e4m3fn") is e4m3 and format_of("FP4").name == "e2m1"
