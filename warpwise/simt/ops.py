"""What each operator and function computes, given operands already cast to its signature.

NumPy agrees with compiled CUDA code on most of this; the functions below are where it does not.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from .complexes import CMATH, joined, quotient, raised
from .rounding import FLOAT16, of_nan, whole
from .special import slow

Value = Any

#: AST operator name -> (Python operator that Numba resolves, infix text or None for a helper)
BINARY: dict[str, tuple[Callable[..., Any], str]] = {
    "Add": (operator.add, "+"),
    "Sub": (operator.sub, "-"),
    "Mult": (operator.mul, "*"),
    "Div": (operator.truediv, "/"),
    "FloorDiv": (operator.floordiv, "//"),
    "Mod": (operator.mod, "%"),
    "Pow": (operator.pow, "**"),
    "LShift": (operator.lshift, "<<"),
    "RShift": (operator.rshift, ">>"),
    "BitAnd": (operator.and_, "&"),
    "BitOr": (operator.or_, "|"),
    "BitXor": (operator.xor, "^"),
}

UNARY: dict[str, tuple[Callable[..., Any], str]] = {
    "USub": (operator.neg, "-"),
    "UAdd": (operator.pos, "+"),
    "Invert": (operator.invert, "~"),
}

COMPARE: dict[str, tuple[Callable[..., Any], str]] = {
    "Lt": (operator.lt, "<"),
    "LtE": (operator.le, "<="),
    "Gt": (operator.gt, ">"),
    "GtE": (operator.ge, ">="),
    "Eq": (operator.eq, "=="),
    "NotEq": (operator.ne, "!="),
}


def to_integer(x: Value, dtype: np.dtype[Any]) -> Value:
    """float -> integer as PTX's cvt.rzi does it: toward zero, saturating; for a NaN see of_nan.

    8-bit integers are converted to 16 bits and cut, since the compiler emits no 8-bit conversion
    for float32 and float64.  float16 is rounded to the nearest integer (cvt.rni), not cut: that is
    what Numba's CUDA target compiles.
    Source: PTX ISA, cvt: integer results are clamped for out-of-range inputs.
    """
    if x.dtype.itemsize == 2:
        return whole(x, dtype, "rn" if x.dtype == FLOAT16 else "rz")
    wide = np.dtype(np.uint64) if dtype == np.uint64 else np.dtype(np.int64)
    converted = np.dtype(f"{dtype.kind}2") if dtype.itemsize == 1 else dtype
    info = np.iinfo(converted)
    truncated = np.trunc(x.astype(np.float64))
    low, high = float(info.min), float(info.max)
    inside = (
        (truncated >= low)
        & (truncated <= high)
        & (truncated < 2.0**63 if info.bits == 64 and info.min < 0 else truncated < 2.0**64)
    )
    if inside.all():
        return truncated.astype(wide).astype(dtype)
    kept = np.where(inside, truncated, 0.0).astype(wide)
    kept = np.where(truncated >= high, wide.type(info.max), kept)
    kept = np.where(truncated <= low, wide.type(info.min), kept)
    nan = of_nan(x.dtype, converted)
    return np.where(np.isnan(truncated), nan, kept.astype(converted)).astype(dtype)[()]


def helper_of(infix: str, kind: str, known: bool) -> str:
    """The function below that stands for an operator, "" where NumPy's own will do.

    kind: NumPy's letter of the result; known: whether the right side is a constant.
    """
    if infix == "//":  # a constant divisor is hardly ever -1, and NumPy's operator is faster
        return "floor_divide" if kind == "i" and not known else ""
    if kind == "c":
        return {"/": "quotient", "**": "raised"}.get(infix, "")
    return {"**": "power", "<<": "shift_left", ">>": "shift_right"}.get(infix, "")


def floor_divide(a: Value, b: Value) -> Value:
    """a // b of signed integers: 0 where b is 0, and where the result does not fit (-2**63 // -1),
    as Numba compiles it."""
    found: Value = a // b
    least = np.iinfo(found.dtype).min
    lost = found == least
    return np.where(lost & (b == -1), 0, found).astype(found.dtype)[()] if lost.any() else found


def _by_squaring(a: Value, exponent: Value) -> Value:
    """a ** exponent for a >= 0 exponent, with the multiplications that Numba compiles."""
    result: Value = a.dtype.type(1)
    left = exponent
    while left.any():
        step = (left & left.dtype.type(1)) != 0
        result = np.where(step, result * a, result) if step.ndim else result * a if step else result
        a = a * a
        left = left >> left.dtype.type(1)
    return result


def _many_times(a: Value, b: Value) -> Value:
    """Float a to an integer power: by squaring, beyond 65536 with pow."""
    times: Value = np.abs(b)
    small = times <= 0x10000
    found = _by_squaring(a, np.where(small, times, 0)[()])
    found = np.where(b < 0, a.dtype.type(1) / found, found)
    if small.all():
        return found[()]
    return np.where(small, found, np.power(a, b.astype(a.dtype)))[()]


def power(a: Value, b: Value) -> Value:
    """a ** b.  Numba raises integers by squaring; a negative exponent gives 0 (or +-1); beyond
    65536 it takes the float's pow and cuts."""
    if a.dtype.kind in "iu" and b.dtype.kind in "iu":
        positive = np.where(b < 0, 0, b).astype(a.dtype)
        result = np.power(a, positive)
        if (beyond := positive > 0x10000).any():
            wide = to_integer(np.power(a.astype(np.float64), positive.astype(np.float64)), a.dtype)
            result = np.where(beyond, wide, result)[()]
        if b.dtype.kind == "i" and np.any(b < 0):
            sign = np.where(b % 2 == 0, a * a, a)  # only read where |a| is 1
            inverse = np.where((a == 1) | (a == -1), sign, 0)
            inverse = np.where(a == 0, np.iinfo(result.dtype).min, inverse)
            result = np.where(b < 0, inverse, result).astype(result.dtype)
        return result[()]
    if b.dtype.kind in "iu":
        return _many_times(a, b)
    return np.power(a, b)


def shift_left(a: Value, b: Value) -> Value:
    """a << b; PTX clamps the distance, so 64 and more give 0."""
    return np.left_shift(a, np.minimum(b, 64).astype(a.dtype))


def shift_right(a: Value, b: Value) -> Value:
    """a >> b; arithmetic for signed a, distance clamped as in PTX."""
    return np.right_shift(a, np.minimum(b, 63 if a.dtype.kind == "i" else 64).astype(a.dtype))


def remainder(x: Value, y: Value) -> Value:
    """IEEE 754 remainder: x minus y times the nearest integer (ties to even) to x / y."""
    y = np.abs(y)
    r = np.fmod(x, y)
    twice = 2 * np.abs(r)
    odd = np.abs(np.fmod(x, 2 * y)) >= y
    return np.where((twice > y) | ((twice == y) & odd), r - np.copysign(y, r), r)[()]


def round_digits(x: Value, digits: Value) -> Value:
    """round(x, digits) as Numba's CUDA target does it: scaled in float64, half to even."""
    wide = x.astype(np.float64)
    scale = np.power(10.0, np.abs(digits).astype(np.float64))
    scaled = np.where(digits >= 0, wide * scale, wide / scale)
    whole = np.clip(np.rint(scaled), -(2.0**63), 2.0**63)  # llrint: the ends of int64
    rounded = np.where(digits >= 0, whole / scale, whole * scale)
    return np.where(np.isfinite(scaled), rounded, wide).astype(x.dtype)[()]


def least(a: Value, b: Value) -> Value:
    """The second where it is less, else the first: min() where CUDA has no instruction for it."""
    found: Value = np.where(b < a, b, a)
    return found[()]


def greatest(a: Value, b: Value) -> Value:
    """The second where it is greater, else the first."""
    found: Value = np.where(b > a, b, a)
    return found[()]


#: math.<name> -> implementation over NumPy values of the signature's argument type
MATH: dict[str, Callable[..., Value]] = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh,
    "atan": np.arctan, "atanh": np.arctanh, "atan2": np.arctan2, "cos": np.cos, "cosh": np.cosh,
    "sin": np.sin, "sinh": np.sinh, "tan": np.tan, "tanh": np.tanh, "hypot": np.hypot,
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log2": np.log2,
    "log10": np.log10, "log1p": np.log1p, "sqrt": np.sqrt, "fabs": np.fabs, "floor": np.floor,
    "ceil": np.ceil, "trunc": np.trunc, "copysign": np.copysign, "fmod": np.fmod,
    "pow": power, "ldexp": np.ldexp, "nextafter": np.nextafter, "degrees": np.degrees,
    "radians": np.radians, "remainder": remainder, "isnan": np.isnan, "isinf": np.isinf,
    "isfinite": np.isfinite, "erf": slow("erf"), "erfc": slow("erfc"), "gamma": slow("gamma"),
    "lgamma": slow("lgamma"),
}  # fmt: skip

#: what generated source also finds here
SHARED = (CMATH, joined, quotient, raised)

#: math functions with two results -> NumPy function with the results in math's order
MATH_PAIRS: dict[str, Callable[[Value], tuple[Value, Value]]] = {
    "frexp": np.frexp,
    "modf": np.modf,
}
