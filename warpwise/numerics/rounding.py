"""Values to codes: rounding, overflow, and what a format does with infinity and NaN.

nearest        to the nearest number, of two to the one with the even code: CUDA's rn
nearest_away   to the nearest, of two to the larger magnitude: rna, how PTX makes a TF32
zero, up, down toward zero, +infinity, -infinity: rz, rp, rm
stochastic     up or down at random, with the chances that keep the mean: rs

Overflow: the value is rounded as if the exponents went on.  Lies the result beyond the largest
number, then a mode that points inward gives the largest number, and the others give infinity,
or NaN where there is no infinity, or the largest number where there is neither.  saturate=True
gives the largest number always, for infinities too, as the conversions of fp8 on a GPU do.

Not modelled: sign and payload of a NaN.

Sources: IEEE 754-2019, sections 4.3 and 7.4; OFP8 1.0, section 5.2; PTX ISA, cvt.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np

from .codes import Floats, Ints, decode
from .formats import Format, FormatError, format_of

Rounding = Literal["nearest", "nearest_away", "zero", "up", "down", "stochastic"]
ROUNDINGS: tuple[Rounding, ...] = get_args(Rounding)


def encode(
    values: Floats, fmt: Format | str, rounding: Rounding = "nearest", *,
    saturate: bool = False, rng: np.random.Generator | None = None,
) -> Ints:  # fmt: skip
    """The codes of values, rounded once from float64: int64, in the shape of `values`.

    rng: the generator of rounding="stochastic", which needs one.
    FormatError: a NaN where the format has none; a zero or a negative value for a scale.

    >>> [hex(encode(x, "e4m3")) for x in (464, 465, -0.0)]
    ['0x7e', '0x7f', '0x80']
    """
    fmt = format_of(fmt)
    if rounding not in ROUNDINGS:
        raise FormatError(f"no rounding {rounding!r}: there are {', '.join(ROUNDINGS)}.")
    if rounding == "stochastic" and rng is None:
        raise FormatError("stochastic rounding needs rng=np.random.default_rng(seed).")
    wide = np.asarray(values, dtype=np.float64)
    _refuse(wide, fmt)
    finite = np.isfinite(wide)
    magnitude = np.abs(np.where(finite, wide, 0.0))
    negative = np.signbit(wide)
    down_code, rest = _below(magnitude, fmt)
    code = down_code + _goes_up(down_code, rest, negative, rounding, fmt, rng)
    code = np.maximum(code, 0)  # a scale has no number below its smallest
    inward = (rounding == "zero") | ((rounding == "up") & negative)
    inward = inward | ((rounding == "down") & ~negative)
    keep = np.asarray(inward & finite) | saturate
    code = np.where((code > fmt.max_code) | np.isinf(wide), _beyond(fmt, keep), code)
    unsigned_zero = (code == 0) & (fmt.special == "fnuz")
    sign = np.where(negative & ~unsigned_zero, fmt.sign_mask, 0)
    code = np.where(np.isnan(wide), fmt.nan_code or 0, code | sign)
    return code.astype(np.int64)[()]


def round_to(
    values: Floats, fmt: Format | str, rounding: Rounding = "nearest", *,
    saturate: bool = False, rng: np.random.Generator | None = None,
) -> Floats:  # fmt: skip
    """The values as the format keeps them: encode, then decode.  float64.

    >>> float(round_to(256 + 1, "bf16"))
    256.0
    """
    return decode(encode(values, fmt, rounding, saturate=saturate, rng=rng), fmt)


def exponent_of(magnitude: Floats, fmt: Format) -> Ints:
    """The power of two whose numbers lie around `magnitude`, not below the smallest normal's."""
    _, power = np.frexp(magnitude)
    return np.maximum(np.where(magnitude == 0, fmt.min_exponent, power - 1), fmt.min_exponent)


def _below(magnitude: Floats, fmt: Format) -> tuple[Ints, Floats]:
    """The code of the largest number not above, and the rest as a share of the step.

    Scaling by a power of two and taking off the whole part are exact in float64.
    """
    power = exponent_of(magnitude, fmt)
    steps = np.ldexp(magnitude, fmt.mantissa_bits - power)
    whole = np.floor(steps)
    code = whole.astype(np.int64) + (
        (power - fmt.min_exponent).astype(np.int64) << fmt.mantissa_bits
    )
    return code - (fmt.special == "scale"), steps - whole


def _goes_up(
    code: Ints, rest: Floats, negative: Any, rounding: Rounding, fmt: Format,
    rng: np.random.Generator | None,
) -> Ints:  # fmt: skip
    """1 where the magnitude grows to the next number, else 0."""
    if rounding == "zero":
        return np.zeros_like(code)
    if rounding == "up":
        return ((rest > 0) & ~negative).astype(np.int64)
    if rounding == "down":
        return ((rest > 0) & negative).astype(np.int64)
    if rounding == "stochastic":
        assert rng is not None
        return (rng.random(rest.shape) < rest).astype(np.int64)
    # Where no mantissa tells even from odd, IEEE 754-2019 (4.3.1) takes the larger magnitude.
    away = rounding == "nearest_away" or fmt.mantissa_bits == 0
    tie = (rest == 0.5) & ((code % 2 == 1) | away)
    return ((rest > 0.5) | tie).astype(np.int64)


def _beyond(fmt: Format, keep: Any) -> Ints:
    """The code for a magnitude beyond the largest number."""
    lost = fmt.inf_code if fmt.inf_code is not None else fmt.nan_code
    return np.where(keep, fmt.max_code, fmt.max_code if lost is None else lost)


def _refuse(values: Floats, fmt: Format) -> None:
    if fmt.special == "finite" and np.isnan(values).any():
        raise FormatError(f"{fmt.name} has no code for NaN: every code is a number.")
    if fmt.special == "scale" and (values <= 0).any():
        worst = np.asarray(values)[np.asarray(values) <= 0].flat[0]
        raise FormatError(f"{fmt.name} has no code for {worst:g}: it holds powers of two, no zero "
                          "and no sign.")  # fmt: skip
