"""How far apart numbers are: the step (ulp), neighbours, distances in steps."""

from __future__ import annotations

from typing import Any

import numpy as np

from .codes import Floats, Ints, code_at, decode, rank_of
from .formats import Format, FormatError, format_of
from .rounding import encode, exponent_of


def ulp(values: Floats, fmt: Format | str) -> Floats:
    """The step between numbers of the format around |value|: 2^(exponent - mantissa bits).

    Below the smallest normal number it is the smallest subnormal.  A power of two has this step
    above it and half of it below.  Outside the finite range: NaN.

    >>> float(ulp(256.0, "bf16")), float(ulp(1.0, "fp16"))
    (2.0, 0.0009765625)
    """
    fmt = format_of(fmt)
    magnitude = np.abs(np.asarray(values, dtype=np.float64))
    inside = np.isfinite(magnitude) & (magnitude <= fmt.max)
    power = exponent_of(np.where(inside, magnitude, 0.0), fmt)
    return np.where(inside, np.ldexp(1.0, power - fmt.mantissa_bits), np.nan)[()]


def neighbours(value: float, fmt: Format | str) -> tuple[float, float]:
    """The nearest numbers of the format below and above `value`, not counting `value` itself.

    At the ends: an infinity, whether the format has one or not.

    >>> neighbours(1.0, "e4m3")
    (0.9375, 1.125)
    >>> neighbours(1.05, "e4m3")
    (1.0, 1.125)
    """
    fmt = format_of(fmt)
    if np.isnan(value):
        raise FormatError("NaN has no neighbours.")
    least = -fmt.max if fmt.sign_bits else fmt.min_normal
    if not least <= value <= fmt.max:
        return (fmt.max, np.inf) if value > fmt.max else (-np.inf, least)
    below = rank_of(encode(value, fmt, "down"), fmt)
    exact = decode(code_at(below, fmt), fmt) == value
    return _at(below - int(exact), fmt), _at(below + 1, fmt)


def ulps_between(a: Floats, b: Floats, fmt: Format | str) -> Ints:
    """How many steps along the numbers of the format lead from `a` to `b`: an integer, signed.

    Both must be numbers of the format; FormatError names one that is not.

    >>> int(ulps_between(1.0, 2.0, "e4m3"))
    8
    """
    fmt = format_of(fmt)
    return rank_of(_exactly(b, fmt), fmt) - rank_of(_exactly(a, fmt), fmt)


def _exactly(values: Any, fmt: Format) -> Ints:
    wide = np.asarray(values, dtype=np.float64)
    codes = encode(wide, fmt)
    wrong = ~(decode(codes, fmt) == wide)
    if np.any(wrong):
        raise FormatError(f"{wide[wrong].flat[0]!r} is no number of {fmt.name}: round it first.")
    return codes


def _at(rank: int, fmt: Format) -> float:
    """The number at a position, an infinity beyond the ends."""
    if abs(rank) > fmt.max_code or (rank < 0 and not fmt.sign_bits):
        return float(np.copysign(np.inf, rank))
    return float(decode(code_at(rank, fmt), fmt))
