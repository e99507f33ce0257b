"""cuda.libdevice.*: the functions of NVIDIA's libdevice, over NumPy values.

Names and meanings are those of the libdevice User's Guide.  Numba declares integers as int32 and
int64 only, so that functions of unsigned numbers take and give their bits in those.  Results of
mathematical functions are rounded from float64 or NumPy's own; libdevice may differ from them in
the last bits, and its fast_ functions in more.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .ops import power, remainder
from .rounding import (
    F64,
    FLOAT16,
    FLOAT32,
    ROUND,
    fused,
    narrow,
    odd_sum,
    product_error,
    sum_error,
    toward,
    whole,
)
from .special import bessel, erfinv, normcdfinv, slow
from .warp import brev, clz, ffs, popc

Value = Any
Function = Callable[..., Value]
I32, I64 = np.dtype(np.int32), np.dtype(np.int64)


def _unsigned(x: Value) -> Value:
    return x.view(np.dtype(f"u{x.dtype.itemsize}"))


def _signed(x: Value) -> Value:
    return x.view(np.dtype(f"i{x.dtype.itemsize}"))


def _bits(function: Function) -> Function:
    """A function of unsigned numbers, on the bits of signed ones."""
    return lambda *args: _signed(function(*map(_unsigned, args)))


# -- rounding in a given direction --------------------------------------------------


def _scaled(value: Value, error: Value, exponent: Value, mode: str, finite: Value) -> Value:
    """value * 2**exponent, where value was rounded to nearest and `error` is what that lost."""
    result = np.ldexp(value, exponent)
    lost = value - np.ldexp(result, -exponent)  # more than 0 only where it became subnormal
    lost = np.where(np.isinf(result) & finite, np.nan, np.where(lost != 0, lost, error))
    return toward(result, lost, mode, finite)


def _add(x: Value, y: Value, mode: str) -> Value:
    total, error = sum_error(x, y)
    return toward(total, error, mode, np.isfinite(x) & np.isfinite(y))


def _multiply(x: Value, y: Value, mode: str) -> Value:
    (a, i), (b, j) = np.frexp(x), np.frexp(y)
    product, error = product_error(a, b)
    return _scaled(product, error, i + j, mode, np.isfinite(x) & np.isfinite(y))


def _divide(x: Value, y: Value, mode: str) -> Value:
    (a, i), (b, j) = np.frexp(x), np.frexp(y)
    quotient = a / b
    product, error = product_error(quotient, b)
    rest = ((a - product) - error) * np.sign(b)
    finite = np.isfinite(x) & np.isfinite(y) & (y != 0)
    return _scaled(quotient, rest, i - j, mode, finite)


def _root(x: Value, mode: str) -> Value:
    a, i = np.frexp(x)
    a, i = np.where(i % 2, a * 2, a)[()], i - i % 2
    root = np.sqrt(a)
    product, error = product_error(root, root)
    return _scaled(root, (a - product) - error, i // 2, mode, np.isfinite(x))


def _from_long(x: Value, mode: str) -> Value:
    """A 64-bit integer as float64."""
    high, low = x >> x.dtype.type(11), x & x.dtype.type(2047)
    total, error = sum_error(high.astype(F64) * 2048.0, low.astype(F64))
    return toward(total, error, mode, True)


def _directed(mode: str) -> dict[str, Function]:
    """The functions whose names end in this mode."""

    def single(function: Function) -> Function:
        return lambda *args: narrow(function(*(a.astype(F64) for a in args)), FLOAT32, mode)

    def into(dtype: Any) -> Function:
        return lambda x: _signed(whole(x, np.dtype(dtype), mode))

    def of_bits(function: Function) -> Function:
        return lambda x: function(_unsigned(x))

    one = F64(1)
    to_float: Function = lambda x: narrow(x, FLOAT32, mode)  # noqa: E731
    to_double: Function = lambda x: _from_long(x, mode)  # noqa: E731
    table: dict[str, Function] = {
        "fadd": single(odd_sum), "fsub": single(lambda x, y: odd_sum(x, -y)),
        "fmul": single(lambda x, y: x * y), "fdiv": single(lambda x, y: x / y),
        "frcp": single(lambda x: one / x), "fsqrt": single(np.sqrt),
        "fmaf": lambda x, y, z: fused(x, y, z, mode), "fma": lambda x, y, z: fused(x, y, z, mode),
        "dadd": lambda x, y: _add(x, y, mode), "dmul": lambda x, y: _multiply(x, y, mode),
        "ddiv": lambda x, y: _divide(x, y, mode), "drcp": lambda x: _divide(one, x, mode),
        "dsqrt": lambda x: _root(x, mode), "double2float": to_float, "int2float": to_float,
        "ll2float": to_float, "uint2float": of_bits(to_float), "ull2float": of_bits(to_float),
        "ll2double": to_double, "ull2double": of_bits(to_double),
    }  # fmt: skip
    if mode == "rn":
        table |= {
            "int2double": lambda x: x.astype(F64),
            "uint2double": lambda x: _unsigned(x).astype(F64),
            "frsqrt": single(lambda x: one / np.sqrt(x)),
            "float2half": lambda x: x.astype(FLOAT16).view(np.int16),
        }  # fmt: skip
    for source in ("float", "double"):
        for name, dtype in (("int", "i4"), ("uint", "u4"), ("ll", "i8"), ("ull", "u8")):
            table[f"{source}2{name}"] = into(dtype)
    return {f"{name}_{mode}": function for name, function in table.items()}


# -- integers ---------------------------------------------------------------------


def _wide(function: Function) -> Function:
    """A function of 32-bit integers, computed in 64 bits and cut."""

    def call(*args: Value) -> Value:
        wide = np.dtype(f"{args[0].dtype.kind}8")
        return function(*(a.astype(wide) for a in args)).astype(args[0].dtype)

    return call


def _low24(x: Value) -> Value:
    """The low 24 bits, with their sign."""
    return (x << x.dtype.type(8)) >> x.dtype.type(8)


def _high64(a: Value, b: Value) -> Value:
    """The high 64 bits of the product of two uint64."""
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    a1, a0, b1, b0 = a >> half, a & low, b >> half, b & low
    middle = a1 * b0 + ((a0 * b0) >> half)
    return a1 * b1 + (middle >> half) + (((middle & low) + a0 * b1) >> half)


def _high64_signed(a: Value, b: Value) -> Value:
    """The same of two int64."""
    high = _signed(_high64(_unsigned(a), _unsigned(b)))
    zero = np.int64(0)
    return high - np.where(a < 0, b, zero) - np.where(b < 0, a, zero)


def _byte_perm(x: Value, y: Value, selector: Value) -> Value:
    """Four bytes chosen from the eight of x and y, three bits of the selector for each."""
    both = _unsigned(x).astype(np.uint64) | (_unsigned(y).astype(np.uint64) << np.uint64(32))
    chosen = np.uint64(0)
    for k in range(4):
        at = (_unsigned(selector).astype(np.uint64) >> np.uint64(4 * k)) & np.uint64(7)
        byte = (both >> (at * np.uint64(8))) & np.uint64(0xFF)
        chosen = chosen | (byte << np.uint64(8 * k))
    return _signed(chosen.astype(np.uint32))


def _words(x: Value) -> tuple[Value, Value]:
    """High and low half of the bits of a float64."""
    bits = x.view(np.int64)
    return (bits >> np.int64(32)).astype(np.int32), bits.astype(np.int32)


def _hiloint2double(high: Value, low: Value) -> Value:
    bits = (high.astype(np.int64) << np.int64(32)) | _unsigned(low).astype(np.int64)
    return bits.view(np.float64)


def _count(function: Function) -> Function:
    return lambda x: function(x).astype(I32)


_INTEGERS: dict[str, Function] = {
    "abs": np.abs, "llabs": np.abs, "max": np.maximum, "min": np.minimum, "llmax": np.maximum,
    "llmin": np.minimum, "umax": _bits(np.maximum), "umin": _bits(np.minimum),
    "ullmax": _bits(np.maximum), "ullmin": _bits(np.minimum), "brev": _bits(brev),
    "brevll": _bits(brev), "clz": _count(clz), "clzll": _count(clz), "ffs": _count(ffs),
    "ffsll": _count(ffs), "popc": _count(popc), "popcll": _count(popc),
    "byte_perm": _byte_perm, "mul24": lambda x, y: _low24(x) * _low24(y),
    "umul24": _bits(lambda x, y: (x & np.uint32(0xFFFFFF)) * (y & np.uint32(0xFFFFFF))),
    "mulhi": _wide(lambda x, y: (x * y) >> 32), "umulhi": _bits(_wide(lambda x, y: (x * y) >> 32)),
    "mul64hi": _high64_signed, "umul64hi": _bits(_high64),
    "hadd": _wide(lambda x, y: (x + y) >> 1), "rhadd": _wide(lambda x, y: (x + y + 1) >> 1),
    "uhadd": _bits(_wide(lambda x, y: (x + y) >> 1)),
    "urhadd": _bits(_wide(lambda x, y: (x + y + 1) >> 1)),
    "sad": _wide(lambda x, y, z: np.abs(x - y) + z),
    "usad": _bits(_wide(lambda x, y, z: np.where(x > y, x - y, y - x) + z)),
    "double2hiint": lambda x: _words(x)[0], "double2loint": lambda x: _words(x)[1],
    "hiloint2double": _hiloint2double, "double_as_longlong": lambda x: x.view(np.int64),
    "longlong_as_double": lambda x: x.view(np.float64), "float_as_int": lambda x: x.view(np.int32),
    "int_as_float": lambda x: x.view(np.float32),
    "half2float": lambda x: x.view(np.float16).astype(np.float32),
}  # fmt: skip


# -- floats -----------------------------------------------------------------------


def _round(x: Value) -> Value:
    """To the nearest integer, halfway away from zero."""
    cut = np.trunc(x)
    return np.where(np.abs(x - cut) >= 0.5, cut + np.copysign(x.dtype.type(1), x), cut)


def _ilogb(x: Value) -> Value:
    exponent = np.frexp(x)[1].astype(np.int64) - 1
    odd_ones = np.where(np.isinf(x), 2**31 - 1, -(2**31))
    return np.where(np.isfinite(x) & (x != 0), exponent, odd_ones).astype(I32)[()]


def _logb(x: Value) -> Value:
    exponent = np.frexp(x)[1] - 1.0
    odd_ones = np.where(x == 0, -np.inf, np.abs(x))
    return np.where(np.isfinite(x) & (x != 0), exponent, odd_ones)


def _turn(x: Value) -> tuple[Value, Value]:
    """sin(pi x) and cos(pi x): the angle is reduced exactly."""
    turns = np.fmod(x.astype(F64), 2.0)
    quarters = np.rint(turns * 2.0)
    angle = (turns - quarters / 2.0) * np.pi
    s, c = np.sin(angle), np.cos(angle)
    at = np.where(np.isfinite(quarters), quarters, 0).astype(np.int64) % 4
    sine = np.where(at == 0, s, np.where(at == 1, c, np.where(at == 2, -s, -c)))
    cosine = np.where(at == 0, c, np.where(at == 1, -s, np.where(at == 2, -c, s)))
    return sine, cosine + 0.0


def _remquo(x: Value, y: Value) -> tuple[Value, Value]:
    """The IEEE remainder, and the low three bits of the quotient with its sign."""
    rest = remainder(x, y)
    times = np.rint((np.abs(x) - np.where(x < 0, -rest, rest)) / np.abs(y))
    low = np.fmod(np.where(np.isfinite(times), times, 0), 8.0)
    sign = np.where((x < 0) != (y < 0), -1, 1)
    return rest, (low * sign).astype(I32)


def _saturate(x: Value) -> Value:
    return np.where(x > 0, np.where(x < 1, x, 1), 0)


def _powers(x: Value) -> Value:
    return np.power(x.dtype.type(10), x)


def _ldexp(x: Value, n: Value) -> Value:
    return np.ldexp(x, np.clip(n, -5000, 5000))


#: name of the float64 function -> function; that of float32 has an f at its end
_PAIRS: dict[str, Function] = {
    **{name: getattr(np, f"arc{name[1:]}") for name in
       ("acos", "acosh", "asin", "asinh", "atan", "atanh", "atan2")},
    **{name: getattr(np, name) for name in
       ("cbrt", "ceil", "copysign", "cos", "cosh", "exp", "exp2", "expm1", "fabs", "floor", "fmax",
        "fmin", "fmod", "hypot", "log", "log10", "log1p", "log2", "nextafter", "rint", "sin",
        "sinh", "sqrt", "tan", "tanh", "trunc")},
    **{name: slow(name) for name in ("erf", "erfc", "erfcinv", "erfcx", "lgamma", "normcdf")},
    **{name: bessel(name) for name in ("j0", "j1", "jn", "y0", "y1", "yn")},
    "tgamma": slow("gamma"), "erfinv": erfinv, "normcdfinv": normcdfinv, "exp10": _powers,
    "fdim": lambda x, y: np.where(x > y, x - y, np.where(x <= y, 0, x + y)), "ldexp": _ldexp,
    "scalbn": _ldexp, "logb": _logb, "nearbyint": np.rint, "pow": np.power, "powi": power,
    "rcbrt": lambda x: 1 / np.cbrt(x), "remainder": remainder, "round": _round,
    "rsqrt": lambda x: 1 / np.sqrt(x), "cospi": lambda x: _turn(x)[1],
    "sinpi": lambda x: _turn(x)[0],
}  # fmt: skip

#: the same, with results that have their own types
_MIXED: dict[str, Function] = {
    "ilogb": _ilogb, "llrint": lambda x: whole(x, I64, "rn"),
    "llround": lambda x: whole(_round(x), I64), "remquo": _remquo,
    "frexp": np.frexp, "modf": np.modf,
    "sincos": lambda x: (np.sin(x), np.cos(x)), "sincospi": _turn,
}  # fmt: skip

_FAST = "cosf exp10f expf log10f log2f logf powf sinf tanf sincosf"


def _typed(function: Function, dtype: Any) -> Function:
    return lambda *args: function(*args).astype(dtype)[()]


def _parts(function: Function, dtype: Any) -> Function:
    """Functions with two results: floats in their own width."""

    def call(x: Value, *rest: Value) -> Value:
        return tuple(
            np.asarray(part).astype(dtype if part.dtype.kind == "f" else I32)[()]
            for part in function(x, *rest)
        )

    return call


def _table() -> dict[str, Function]:
    table = dict(_INTEGERS)
    for mode in ROUND:
        table |= _directed(mode)
    for suffix, dtype in (("", np.float64), ("f", np.float32)):
        table |= {f"{name}{suffix}": _typed(f, dtype) for name, f in _PAIRS.items()}
        for name, function in _MIXED.items():
            pair = name in ("remquo", "frexp", "modf", "sincos", "sincospi")
            table[f"{name}{suffix}"] = _parts(function, dtype) if pair else function
        table[f"signbit{suffix or 'd'}"] = _count(np.signbit)
        table[f"isnan{suffix or 'd'}"] = _count(np.isnan)
        table[f"isinf{suffix or 'd'}"] = _count(np.isinf)
        table[f"fma{suffix}"] = fused
    table |= {"isfinited": _count(np.isfinite), "finitef": _count(np.isfinite)}
    table |= {"saturatef": _typed(_saturate, np.float32)}
    table |= {f"fast_{name}": table[name] for name in _FAST.split()}
    table["fast_fdividef"] = lambda x, y: x / y
    return table


#: cuda.libdevice.<name>
LIBDEVICE: dict[str, Function] = _table()
