"""cuda.fp16.* and cuda.bf16.*: functions of 16-bit floats, each rounded once, as CUDA does it.

NumPy and ml_dtypes compute both formats in float32 and round; float32 has more than twice their
bits, so `+ - * /` and the square root come out as if rounded once.  Conversions and fused
multiply-add are in rounding.py.  The bits of a NaN are NumPy's, not CUDA's.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .rounding import BFLOAT16, FLOAT16, ROUND, fused, narrow, whole

Value = Any


def _wide(function: Callable[..., Value]) -> Callable[..., Value]:
    """A function that is computed in float32 and rounded to the format of its argument."""
    return lambda x: function(x.astype(np.float32)).astype(x.dtype)


def _extreme(number: Callable[..., Value], sign: bool, nan: bool) -> Callable[..., Value]:
    """max or min: -0 is below +0; the number wins over a NaN, or the NaN with `nan`."""

    def call(a: Value, b: Value) -> Value:
        found: Value = np.where((a == b) & (np.signbit(a) == sign), a, number(a, b))
        found = np.where((a == b) & (np.signbit(b) == sign), b, found)
        return np.where(np.isnan(a) | np.isnan(b), a + b, found)[()] if nan else found[()]

    return call


def _unit(x: Value) -> Value:
    """Held between 0 and 1; NaN gives 0."""
    one = x.dtype.type(1)
    zero = x.dtype.type(0)
    return np.where(x > zero, np.where(x < one, x, one), zero)[()]


def _positive(x: Value) -> Value:
    return np.where(x < 0, x.dtype.type(0), x)[()]


def _infinite(x: Value) -> Value:
    return np.where(np.isinf(x), np.where(x > 0, 1, -1), 0).astype(np.int32)[()]


#: name -> function over values of one 16-bit format
ARITHMETIC: dict[str, Callable[..., Value]] = {
    "hadd": lambda a, b: a + b, "hsub": lambda a, b: a - b, "hmul": lambda a, b: a * b,
    "hdiv": lambda a, b: a / b, "hadd_rn": lambda a, b: a + b, "hsub_rn": lambda a, b: a - b,
    "hmul_rn": lambda a, b: a * b, "hadd_sat": lambda a, b: _unit(a + b),
    "hsub_sat": lambda a, b: _unit(a - b), "hmul_sat": lambda a, b: _unit(a * b),
    "hfma": fused, "hfma_sat": lambda a, b, c: _unit(fused(a, b, c)),
    "hfma_relu": lambda a, b, c: _positive(fused(a, b, c)),
    "hneg": lambda a: -a, "habs": np.abs,
    "hmax": _extreme(np.fmax, False, False), "hmin": _extreme(np.fmin, True, False),
    "hmax_nan": _extreme(np.fmax, False, True), "hmin_nan": _extreme(np.fmin, True, True),
    # Ordered comparisons are false for a NaN, those ending in u are true.
    "heq": lambda a, b: a == b, "hne": lambda a, b: (a < b) | (a > b),
    "hgt": lambda a, b: a > b, "hge": lambda a, b: a >= b, "hlt": lambda a, b: a < b,
    "hle": lambda a, b: a <= b, "hequ": lambda a, b: ~((a < b) | (a > b)),
    "hneu": lambda a, b: a != b, "hgtu": lambda a, b: ~(a <= b), "hgeu": lambda a, b: ~(a < b),
    "hltu": lambda a, b: ~(a >= b), "hleu": lambda a, b: ~(a > b),
    "hisnan": np.isnan, "hisinf": _infinite,
}  # fmt: skip

MATH: dict[str, Callable[..., Value]] = {
    "hfloor": np.floor, "hceil": np.ceil, "htrunc": np.trunc, "hrint": np.rint,
    "hsqrt": np.sqrt, "hrsqrt": _wide(lambda x: np.float32(1) / np.sqrt(x)),
    "hrcp": _wide(lambda x: np.float32(1) / x), "hsin": np.sin, "hcos": np.cos, "htanh": np.tanh,
    "htanh_approx": np.tanh, "hlog": np.log, "hlog2": np.log2, "hlog10": np.log10,
    "hexp": np.exp, "hexp2": np.exp2, "hexp10": _wide(lambda x: np.power(np.float32(10), x)),
}  # fmt: skip

#: CUDA's and NumPy's name of each integer type
INTEGERS = {
    "char": "int8", "uchar": "uint8", "short": "int16", "ushort": "uint16", "int": "int32",
    "uint": "uint32", "ll": "int64", "ull": "uint64",
}  # fmt: skip


def _into(dtype: np.dtype[Any], mode: str) -> Callable[[Value], Value]:
    return lambda x: narrow(x, dtype, mode)


def _out_of(integer: str, mode: str) -> Callable[[Value], Value]:
    return lambda x: whole(x, np.dtype(integer), mode)


def _bits(dtype: Any) -> Callable[[Value], Value]:
    return lambda x: x.view(dtype)


def _conversions(
    dtype: np.dtype[Any], into: str, out_of: str, into_as: str, as_other: str, numpy_names: bool
) -> dict[str, Callable[..., Value]]:
    """The conversion functions of a format; `into` and the like say how their names are made."""
    table: dict[str, Callable[..., Value]] = {}
    floats = {"float": "float32", "double": "float64"}
    spelled = {cuda: (numpy if numpy_names else cuda) for cuda, numpy in INTEGERS.items()}
    for cuda, name in spelled.items():
        for mode in ["rz"] if "char" in cuda else ROUND:
            if "char" not in cuda:
                table[f"{into.format(name)}_{mode}"] = _into(dtype, mode)
            table[f"{out_of.format(name)}_{mode}"] = _out_of(INTEGERS[cuda], mode)
        if "short" in cuda:
            table[into_as.format(name)] = _bits(dtype)
            table[as_other.format(name)] = _bits(INTEGERS[cuda])
    for cuda, numpy in floats.items():
        name = numpy if numpy_names else cuda
        table[into.format(name)] = _into(dtype, "rn")
        if cuda == "float":
            table.update({f"{into.format(name)}_{mode}": _into(dtype, mode) for mode in ROUND})
            table[out_of.format(name)] = lambda x: x.astype(np.float32)
    return table


#: cuda.fp16.<name>: Numba has some of CUDA's names without their underscores, too
_PLAIN = "habs hadd hdiv heq hfma hge hgt hle hlt hmax hmin hmul hne hneg hsub"
FP16 = {
    **{name: ARITHMETIC[name] for name in _PLAIN.split()},
    **{f"__{name}": function for name, function in ARITHMETIC.items()},
    **MATH,
    **_conversions(FLOAT16, "__{}2half", "__half2{}", "__{}_as_half", "__half_as_{}", False),
}

_AS = "{}_as_bfloat16", "bfloat16_as_{}"
#: cuda.bf16.<name>: conversions have CUDA's name and NumPy's
BF16 = {
    **ARITHMETIC,
    **MATH,
    **_conversions(BFLOAT16, "{}2bfloat16", "bfloat162{}", *_AS, False),
    **_conversions(BFLOAT16, "{}_to_bfloat16", "bfloat16_to_{}", *_AS, True),
}
