"""Rounding: one rounding for each operation, in each direction that CUDA knows.

Glossary
    mode    "rn" to nearest even, "rz" toward zero, "rd" down, "ru" up
    odd     a float64 that ends in a 1 bit when something was cut off: rounding it to a shorter
            format is then as exact as rounding the true value
    error   what a float64 operation lost: true result minus rounded one; its sign is what counts

Sources: Knuth (sum), Veltkamp and Dekker (product); Boldo and Melquiond, Emulation of FMA and
correctly rounded sums (2008).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

Value = Any
F64 = np.float64
FLOAT16, FLOAT32 = np.dtype(np.float16), np.dtype(np.float32)
BFLOAT16 = np.dtype(ml_dtypes.bfloat16)

ROUND: dict[str, Callable[[Value], Value]] = {
    "rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil,
}  # fmt: skip

#: dtype -> bits of the significand, smallest exponent of a normal number, largest number
LAYOUT: dict[np.dtype[Any], tuple[int, int, float]] = {
    FLOAT16: (11, -14, 65504.0),
    BFLOAT16: (8, -126, float(ml_dtypes.finfo(ml_dtypes.bfloat16).max)),
    FLOAT32: (24, -126, float(np.finfo(np.float32).max)),
}


def odd(x: Value) -> Value:
    """A number of any type as float64; a 64-bit integer that does not fit is rounded to odd."""
    if x.dtype.kind not in "iu" or x.dtype.itemsize < 8:
        return x.astype(F64)
    low = x.dtype.type(0x7FF)
    cut = (x | ((x & low) != 0).astype(x.dtype) << x.dtype.type(11)) & ~low
    wide = x.astype(F64)
    return np.where(np.abs(wide) < 2.0**53, wide, cut.astype(F64))[()]


def narrow(x: Value, dtype: np.dtype[Any], mode: str = "rn") -> Value:
    """A number of any type in a shorter float format, rounded once."""
    wide = odd(x)
    bits, smallest, largest = LAYOUT[dtype]
    finite = np.isfinite(wide)
    unit = np.maximum(np.frexp(wide)[1] - bits, smallest - bits + 1)
    rounded = np.ldexp(ROUND[mode](np.ldexp(wide, -unit)), unit)
    beyond = (np.abs(rounded) > largest) & finite
    if np.any(beyond):
        keeps = {"rn": False, "rz": True, "rd": rounded > 0, "ru": rounded < 0}[mode]
        rounded = np.where(beyond, np.where(keeps, largest, np.inf), rounded)
    rounded = np.copysign(np.where(finite, rounded, wide), wide)
    return rounded.astype(np.float32).astype(dtype)[()]


def whole(x: Value, dtype: np.dtype[Any], mode: str = "rz") -> Value:
    """A float as an integer: rounded, then held at the ends of the integer type."""
    rounded = ROUND[mode](x.astype(F64))
    info = np.iinfo(dtype)
    low, high = float(info.min), float(info.max)
    inside = (rounded >= low) & (rounded < high if info.bits == 64 else rounded <= high)
    plain = np.where(inside, rounded, 0.0).astype(dtype)
    ends = np.where(rounded > 0, dtype.type(info.max), dtype.type(info.min))
    found = np.where(inside, plain, ends).astype(dtype)
    return np.where(np.isnan(rounded), of_nan(x.dtype, dtype), found)[()]


def of_nan(source: np.dtype[Any], integer: np.dtype[Any]) -> Any:
    """The integer that a NaN becomes: 0, or the top bit alone where 64 bits take part.

    Source: PTX ISA 9.0, cvt, integer notes.
    """
    if source.itemsize < 8 and integer.itemsize < 8:
        return integer.type(0)
    return np.array(1 << (8 * integer.itemsize - 1), f"u{integer.itemsize}").astype(integer)[()]


def sum_error(x: Value, y: Value) -> tuple[Value, Value]:
    """x + y and its error."""
    total = x + y
    part = total - x
    return total, (x - (total - part)) + (y - part)


def product_error(x: Value, y: Value) -> tuple[Value, Value]:
    """x * y and its error; exact while nothing overflows or underflows."""
    product = x * y
    pieces = []
    for value in (x, y):
        scaled = value * F64(134217729.0)  # 2**27 + 1
        high = scaled - (scaled - value)
        pieces += [high, value - high]
    a, b, c, d = pieces
    return product, b * d - (((product - a * c) - b * c) - a * d)


def toward(x: Value, error: Value, mode: str, finite: Value) -> Value:
    """A nearest float64 and its error, rounded in another direction; `finite`: its operands are."""
    if mode == "rn":
        return x
    moves = {"rd": error < 0, "ru": error > 0, "rz": error * np.sign(x) < 0}[mode]
    # An infinite result of finite numbers: the largest number, unless the mode goes outward.
    inward = {"rd": x > 0, "ru": x < 0, "rz": True}[mode]
    step = np.where(error > 0, np.inf, -np.inf)
    step = np.where(np.isinf(x), 0.0, step)
    lost = np.isinf(x) & finite & inward
    return np.where((moves & np.isfinite(x)) | lost, np.nextafter(x, step), x)[()]


def odd_sum(x: Value, y: Value) -> Value:
    """x + y, rounded to odd."""
    total, error = sum_error(x, y)
    step = np.where(error > 0, np.inf, -np.inf)
    even = (np.asarray(total).view(np.int64) & 1) == 0
    moves = np.isfinite(total) & np.isfinite(error) & (error != 0) & even
    return np.where(moves, np.nextafter(total, step), total)[()]


def fused(a: Value, b: Value, c: Value, mode: str = "rn") -> Value:
    """a * b + c, rounded once, in the format of a."""
    x, y, z = a.astype(F64), b.astype(F64), c.astype(F64)
    if a.dtype != F64:  # the product is exact
        return narrow(odd_sum(x * y, z), a.dtype, mode)
    high, low = product_error(x, y)
    upper, rest = sum_error(z, low)
    total, lost = sum_error(high, upper)
    last = odd_sum(rest, lost)
    result, error = sum_error(total, last)
    exact = np.isfinite(low) & np.isfinite(total) & ((np.abs(high) > 1e-250) | (high == 0))
    # Beyond the range where the error of a product is a number: 64 bits instead of 53.
    long = (x.astype(np.longdouble) * y + z).astype(F64)
    return np.where(exact, toward(result, error, mode, exact), long)[()]
