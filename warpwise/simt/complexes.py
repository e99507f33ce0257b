"""Complex numbers: what `cmath` and division compute, over NumPy values.

The functions of cmath are computed in complex128 and rounded to the type that Numba gives them;
special values (infinities, NaN, signed zeros, branch cuts) are C99's, as in Python's cmath.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Value = Any


def joined(real: Value, imaginary: Value, dtype: Any = np.complex128) -> Value:
    """A complex number of two floats, without 1j * inf making a NaN."""
    shape = np.broadcast_shapes(np.shape(real), np.shape(imaginary))
    made = np.empty(shape, dtype)
    made.real, made.imag = real, imaginary
    return made[()]


def quotient(a: Value, b: Value) -> Value:
    """a / b by Smith's method, as Numba compiles it; NaN where b is 0.

    Source: R. L. Smith, Algorithm 116, CACM 5 (1962).
    """
    swap = np.abs(b.real) < np.abs(b.imag)
    large, small = np.where(swap, b.imag, b.real), np.where(swap, b.real, b.imag)
    ratio = small / large
    below = large + small * ratio
    real = np.where(swap, a.real * ratio + a.imag, a.real + a.imag * ratio) / below
    imaginary = np.where(swap, a.imag * ratio - a.real, a.imag - a.real * ratio) / below
    return joined(real, imaginary, np.result_type(a, b))


def raised(z: Value, w: Value) -> Value:
    """z ** w by polar coordinates, as Numba compiles it for CUDA.

    0 where z and w both have no real part, so also for 2j ** 1j; 1 where w is 0.
    """
    length, angle = np.hypot(z.real, z.imag), np.arctan2(z.imag, z.real)
    size, phase = np.power(length, w.real), angle * w.real
    turns = w.imag != 0
    size = np.where(turns, size / np.exp(angle * w.imag), size)
    phase = np.where(turns, phase + w.imag * np.log(length), phase)
    found = joined(size * np.cos(phase), size * np.sin(phase), np.result_type(z, w))
    found = np.where((z.real == 0) & (w.real == 0), 0, found)
    return np.where(w == 0, 1, found).astype(found.dtype)[()]


def _wide(function: Callable[[Value], Value]) -> Callable[[Value], Value]:
    return lambda z: function(z.astype(np.complex128))


def _turned(function: Callable[[Value], Value]) -> Callable[[Value], Value]:
    """The circular function of a hyperbolic one: f(z) = -i g(iz)."""

    def call(z: Value) -> Value:
        w = function(joined(-z.imag, z.real))
        return joined(w.imag, -w.real)

    return call


def _tanh(z: Value) -> Value:
    """By CPython's formula, with its limits for an infinite real part."""
    x, y = z.real.astype(np.float64), z.imag.astype(np.float64)
    along, across, less = np.tanh(x), np.tan(y), 1.0 / np.cosh(x)
    below = 1.0 + (along * across) ** 2
    found = joined(along * (1.0 + across * across) / below, ((across / below) * less) * less)
    sign = np.where(np.isfinite(z.imag), np.sin(2.0 * np.where(np.isinf(z.imag), 0, z.imag)), 0.0)
    limit = joined(np.copysign(1.0, z.real), np.copysign(0.0, sign))
    result: Value = np.where(np.isinf(z.real), limit, found)
    return result[()]


def _exp(z: Value) -> Value:
    """With +0 for -inf and an angle that is no number, where NumPy's zeros have signs."""
    lost = (z.real == -np.inf) & ~np.isfinite(z.imag)
    result: Value = np.where(lost, 0, np.exp(z.astype(np.complex128)))
    return result[()]


def _rect(r: Value, phi: Value) -> Value:
    """r (cos phi + i sin phi); a zero stays zero when r is infinite."""
    r, phi = r.astype(np.float64), phi.astype(np.float64)
    parts = []
    for part in (np.cos(phi), np.sin(phi)):
        parts.append(np.where((part == 0) & np.isinf(r), part * np.sign(r), part * r))
    real = np.where(~np.isfinite(phi), np.where(r == 0, np.abs(r), parts[0]), parts[0])
    real = np.where(~np.isfinite(phi) & np.isinf(r), r, real)
    imaginary = np.where(~np.isfinite(phi), np.where(r == 0, 0.0, parts[1]), parts[1])
    imaginary = np.where(~np.isfinite(phi) & np.isinf(r), phi, imaginary)
    return joined(real, imaginary)


def _log(z: Value, *base: Value) -> Value:
    """The natural logarithm, or that to a base."""
    found = np.log(z.astype(np.complex128))
    return quotient(found, np.log(base[0].astype(np.complex128))) if base else found


#: cmath.<name> -> function over complex values (rect: over two floats)
CMATH: dict[str, Callable[..., Value]] = {
    **{name: _wide(getattr(np, f"arc{name[1:]}")) for name in
       ("acos", "acosh", "asin", "asinh", "atan", "atanh")},
    **{name: _wide(getattr(np, name)) for name in
       ("cos", "cosh", "log10", "sin", "sinh", "sqrt")},
    "exp": _exp, "tanh": _tanh, "tan": _turned(_tanh), "log": _log, "rect": _rect,
    "isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite,
    "phase": lambda z: np.arctan2(z.imag, z.real),
    "polar": lambda z: (np.hypot(z.real, z.imag), np.arctan2(z.imag, z.real)),
}  # fmt: skip
