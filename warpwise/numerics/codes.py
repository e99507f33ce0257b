"""Codes to values: what the bits of a number say.

code   unsigned integer, the bits of one number
rank   position of a number on the line: 0 at zero, 1 for the smallest positive one, -1 for its
       mirror image; neighbours differ by one
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .formats import Format, FormatError, format_of

Ints = Any
Floats = Any


def decode(codes: Ints, fmt: Format | str) -> Floats:
    """The values of codes: float64, exact, in the shape of `codes`.

    FormatError when a code has more bits than the format.

    >>> float(decode(0b0_1111_110, "e4m3"))
    448.0
    """
    fmt = format_of(fmt)
    codes = np.asarray(codes)
    if codes.dtype.kind not in "iu":
        raise FormatError(f"codes are integers; these are {codes.dtype}.")
    codes = codes.astype(np.int64)
    if codes.size and (codes.min() < 0 or codes.max() >= fmt.codes):
        raise FormatError(f"a code of {fmt.name} has {fmt.bits} bits: 0 to {fmt.codes - 1}.")
    exponent = codes >> fmt.mantissa_bits & fmt.exponent_mask
    mantissa = codes & fmt.mantissa_mask
    normal = (exponent > 0) | (fmt.special == "scale")
    whole = np.where(normal, mantissa + (1 << fmt.mantissa_bits), mantissa)
    power = np.where(normal, exponent, 1) - fmt.bias - fmt.mantissa_bits
    values = np.ldexp(whole.astype(np.float64), power)
    magnitude = codes & ~fmt.sign_mask
    if fmt.special == "ieee":
        values = np.where(magnitude == fmt.inf_code, np.inf, values)
        values = np.where(magnitude > (fmt.inf_code or 0), np.nan, values)
    values = np.where(codes & fmt.sign_mask, -values, values)
    if fmt.special == "fnuz":
        values = np.where(codes == fmt.nan_code, np.nan, values)
    elif fmt.special in ("nan", "scale"):
        values = np.where(magnitude == fmt.nan_code, np.nan, values)
    return values[()]


def all_values(fmt: Format | str) -> Floats:
    """The values of all codes in the order of the codes: (2**bits,) float64.  At most 2**19."""
    fmt = format_of(fmt)
    if fmt.bits > 19:
        raise FormatError(f"{fmt.name} has 2**{fmt.bits} codes; ask for the ones you need.")
    return decode(np.arange(fmt.codes), fmt)


def numbers(fmt: Format | str) -> Floats:
    """The different finite values of a format, from the smallest to the largest."""
    values = all_values(fmt)
    return np.unique(values[np.isfinite(values)] + 0.0)  # -0 becomes +0


def rank_of(codes: Ints, fmt: Format | str) -> Ints:
    """Positions on the line of finite codes and infinities; both zeros are 0.

    A format without a zero (e8m0) has rank 0 at its smallest number.
    """
    fmt = format_of(fmt)
    codes = np.asarray(codes).astype(np.int64)
    magnitude = codes & ~fmt.sign_mask
    return np.where(codes & fmt.sign_mask, -magnitude, magnitude)[()]


def code_at(rank: Ints, fmt: Format | str) -> Ints:
    """The code of a position on the line; the zero is +0."""
    fmt = format_of(fmt)
    rank = np.asarray(rank).astype(np.int64)
    return np.where(rank < 0, -rank | fmt.sign_mask, rank)[()]
