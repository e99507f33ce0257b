"""Block formats: bytes against the published table, scales against their rules, values by hand."""

from __future__ import annotations

import csv
import math
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from warpwise.numerics import BLOCK_FORMATS, FormatError, decode, pack, quantise, unpack
from warpwise.numerics.blocks import MXFP4, MXFP8, NVFP4, mx_scales, scaled_matmul

TABLE = {
    row["format"].lower(): row
    for row in csv.DictReader((Path(__file__).parent / "block_formats.csv").open())
    if row["bytes_per_block"]
}


def normal(*shape, seed=8, spread=3.0):
    """Values over several powers of two."""
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape) * np.exp(spread * rng.standard_normal(shape))


@pytest.mark.parametrize("name", ["mxfp8", "mxfp4", "nvfp4"])
def test_the_published_table(name):
    row, fmt = TABLE[name], BLOCK_FORMATS[name]
    assert fmt.element.name == row["element"].lower()
    assert fmt.block == int(row["block_elements"])
    assert fmt.bytes_per_block == int(row["bytes_per_block"])
    assert fmt.bits_per_value == float(row["bits_per_value"])


def test_the_table_has_three_rows():
    assert set(TABLE) == {"mxfp8", "mxfp4", "nvfp4"}


@pytest.mark.parametrize("name", BLOCK_FORMATS)
def test_bytes_of_a_tensor(name):
    """3 rows of 96 values: blocks times their bytes, and four for the tensor's scale."""
    fmt = BLOCK_FORMATS[name]
    kept = quantise(normal(3, 96), fmt)
    assert kept.nbytes == 3 * 96 // fmt.block * fmt.bytes_per_block + (4 if name == "nvfp4" else 0)
    assert kept.elements.dtype == kept.scales.dtype == np.uint8
    assert kept.elements.shape == (3, 96 * fmt.element.bits // 8)
    assert kept.dequantise().shape == (3, 96)


def test_nvfp4_against_fp16():
    """0.5625 bytes a value, 28 % of fp16, 3.56 times smaller: as published."""
    assert NVFP4.bits_per_value / 8 == 0.5625
    assert round(100 * NVFP4.bits_per_value / 16) == 28
    assert round(16 / NVFP4.bits_per_value, 2) == 3.56


def test_two_codes_share_a_byte_the_first_in_the_low_half():
    assert pack([0x1, 0x7, 0xF, 0x0], 4).tolist() == [0x71, 0x0F]
    assert pack([1, 2, 3, 4], 6).tolist() == [1 | 2 << 6 & 0xFF, 2 >> 2 | 3 << 4, 3 >> 4 | 4 << 2]
    for bits in (4, 6, 8):
        codes = np.random.default_rng(bits).integers(0, 1 << bits, (5, 32))
        np.testing.assert_array_equal(unpack(pack(codes, bits), bits), codes)
    with pytest.raises(FormatError, match="3 codes of 4 bits do not fill whole bytes"):
        pack([1, 2, 3], 4)
    with pytest.raises(FormatError, match="codes are integers along an axis; these are float64"):
        pack([1.5, 2], 4)
    with pytest.raises(FormatError, match="a code of 4 bits is 0 to 15"):
        pack([16, 0], 4)
    with pytest.raises(FormatError, match="1 bytes do not hold whole codes of 6 bits"):
        unpack(np.zeros(1, np.uint8), 6)


@pytest.mark.parametrize(
    ("amax", "up", "floor"),
    [(448, 0, 0), (449, 1, 0), (224, -1, -1), (256, 0, 0), (255, 0, -1), (1e-3, -18, -18)],
)
def test_mx_scales_by_both_rules(amax, up, floor):
    """Up: 2^ceil(log2(amax / 448)).  Floor: 2^(floor(log2 amax) - 8)."""
    assert up == math.ceil(math.log2(amax / 448)) and floor == math.floor(math.log2(amax)) - 8
    assert mx_scales(amax, MXFP8, "up") - 127 == up
    assert mx_scales(amax, MXFP8, "floor") - 127 == floor


def test_rounding_the_scale_up_never_cuts_an_element_off():
    """449 becomes 448 under the rule up and as well under floor, but 480 only under floor."""
    block = np.zeros(32)
    block[0] = 480
    assert quantise(block, MXFP8, rule="up").dequantise()[0] == 480
    assert quantise(block, MXFP8, rule="floor").dequantise()[0] == 448


@pytest.mark.parametrize("name", [n for n in BLOCK_FORMATS if n.startswith("mx")])
def test_mx_elements_are_those_of_ml_dtypes(name):
    """An independent way: divide by the power of two, cast with ml_dtypes, multiply."""
    fmt = BLOCK_FORMATS[name]
    dtype = {"e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
             "e2m3": ml_dtypes.float6_e2m3fn, "e3m2": ml_dtypes.float6_e3m2fn,
             "e2m1": ml_dtypes.float4_e2m1fn}[fmt.element.name]  # fmt: skip
    x = normal(4, 128).astype(np.float32)
    blocks = x.reshape(4, -1, 32)
    powers = np.ceil(np.log2(np.abs(blocks).max(-1) / fmt.element.max))[..., None]
    scale = np.float32(2) ** powers.astype(np.float32)
    want = (blocks / scale).astype(dtype).astype(np.float32) * scale
    kept = quantise(x, fmt)
    np.testing.assert_array_equal(kept.scales, powers[..., 0] + 127)
    np.testing.assert_array_equal(kept.dequantise(), want.reshape(4, 128))


def test_nvfp4_by_hand():
    """Both scales and a block of 16, worked out step by step with ml_dtypes."""
    x = normal(2, 64, spread=1.0).astype(np.float32)
    kept = quantise(x, NVFP4)
    tensor = np.float32(np.abs(x).max() / (448 * 6))
    assert kept.tensor == tensor
    blocks = x.reshape(2, 4, 16).astype(np.float64)
    scales = (np.abs(blocks).max(-1) / 6 / float(tensor)).astype(ml_dtypes.float8_e4m3fn)
    np.testing.assert_array_equal(kept.scales, scales.view(np.uint8))
    unit = scales.astype(np.float64)[..., None] * float(tensor)
    want = (blocks / unit).astype(ml_dtypes.float4_e2m1fn).astype(np.float64) * unit
    np.testing.assert_allclose(kept.dequantise(), want.reshape(2, 64), rtol=1e-15)
    assert scales.view(np.uint8).max() == 0x7E  # the block with the tensor's amax has scale 448


def test_an_outlier_hurts_its_block_and_no_other():
    x = normal(1, 96, spread=0.2)
    kept = quantise(x, MXFP8).dequantise()
    x[0, 40] = 1e4
    spoilt = quantise(x, MXFP8).dequantise()
    same = np.abs(kept - spoilt)[0] == 0
    assert same[:32].all() and same[64:].all() and not same[32:64].all()


@pytest.mark.parametrize("name", ["mxfp8", "mxfp4", "nvfp4"])
def test_scaled_matmul_is_the_dequantised_one(name):
    a, b = quantise(normal(5, 96, seed=1), name), quantise(normal(7, 96, seed=2), name)
    want = a.dequantise() @ b.dequantise().T
    got = scaled_matmul(a, b)
    assert got.shape == (5, 7)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12 * np.abs(want).max())


def test_scaled_matmul_is_bit_equal_where_sums_are_exact():
    """Values of one size: every product and sum of MX fits into float64, so order is no matter."""
    a, b = quantise(normal(9, 64, spread=0), "mxfp8"), quantise(normal(4, 64, spread=0), "mxfp8")
    np.testing.assert_array_equal(scaled_matmul(a, b), a.dequantise() @ b.dequantise().T)


def test_torch_multiplies_blocks_to_the_same_values():
    """float32 matmul of PyTorch on the dequantised values, which fp32 holds exactly."""
    import torch

    a, b = quantise(normal(6, 64, spread=0), "mxfp8"), quantise(normal(3, 64, spread=0), "mxfp8")
    left, right = (torch.tensor(one.dequantise()) for one in (a, b))
    np.testing.assert_array_equal(scaled_matmul(a, b), (left @ right.T).numpy())


def test_zero_blocks_nan_and_infinity():
    x = np.zeros(64)
    x[40] = np.inf
    kept = quantise(x, MXFP4)
    assert kept.scales.tolist() == [0, 0xFF]
    values = kept.dequantise()
    assert (values[:32] == 0).all() and np.isnan(values[32:]).all()
    empty = quantise(np.zeros(16), NVFP4)
    assert empty.tensor == 1 and (empty.dequantise() == 0).all()
    with pytest.raises(FormatError, match="nvfp4 has no code for NaN or infinity"):
        quantise(x, NVFP4)


def test_a_block_too_small_for_its_tensor_becomes_zero():
    x = np.full(32, 1.0)
    x[16:] = 1e-9
    values = quantise(x, NVFP4).dequantise()
    np.testing.assert_allclose(values[:16], 1, rtol=1e-6)
    assert (values[16:] == 0).all()


def test_stochastic_elements_keep_the_mean():
    """The share of a block's step, over 4,000 copies of a block, within five sigmas."""
    block = np.linspace(-6, 6, 32)
    rng = np.random.default_rng(3)
    got = quantise(np.tile(block, (4000, 1)), MXFP4, rounding="stochastic", rng=rng).dequantise()
    assert np.all(np.abs(got.mean(0) - block) <= 5 * (got.std(0) + 1e-12) / np.sqrt(4000) + 1e-12)


def test_refusals():
    with pytest.raises(FormatError, match="no block format 'mx9': there are mxfp8, "):
        quantise(np.zeros(32), "mx9")
    with pytest.raises(
        FormatError, match="the last axis has 33 elements, and a block of mxfp4 has 32"
    ):
        quantise(np.zeros((2, 33)), "mxfp4")
    with pytest.raises(FormatError, match="no rule 'down' for scales: there are up and floor"):
        quantise(np.zeros(32), "mxfp4", rule="down")
    with pytest.raises(FormatError, match="the same number of blocks"):
        scaled_matmul(quantise(np.zeros((1, 32)), "mxfp4"), quantise(np.zeros((1, 64)), "mxfp4"))
    assert decode(quantise(np.ones(32), "mxfp8").scales, "e8m0")[0] == 2.0**-8


def test_square_blocks_are_the_same_for_the_transpose():
    """16 x 16: both directions give equal values; blocks of one row do not."""
    weights = normal(48, 64, seed=16)
    square, turned = (quantise(w, NVFP4, rows=16).dequantise() for w in (weights, weights.T))
    flat, flat_turned = (quantise(w, NVFP4).dequantise() for w in (weights, weights.T))
    np.testing.assert_array_equal(square, turned.T)
    assert (flat != flat_turned.T).any()


def test_square_blocks_by_hand():
    """The scale of a square is that of its largest value, in each of its rows."""
    weights = normal(32, 32, seed=17)
    kept = quantise(weights, NVFP4, rows=16)
    tops = np.abs(weights).reshape(2, 16, 2, 16).max(axis=(1, 3))
    want = np.abs(tops) / 6 / float(kept.tensor)
    got = decode(kept.scales, "e4m3").reshape(2, 16, 2)
    assert (got == got[:, :1]).all() and kept.nbytes == quantise(weights, NVFP4).nbytes
    np.testing.assert_array_equal(got[:, 0], want.astype(ml_dtypes.float8_e4m3fn).astype(float))


def test_rows_that_do_not_fill_a_square_are_refused():
    with pytest.raises(FormatError, match="blocks of 16 rows do not divide 20 rows"):
        quantise(normal(20, 32), NVFP4, rows=16)
    with pytest.raises(FormatError, match="do not divide 1 rows"):
        quantise(normal(32), NVFP4, rows=16)
