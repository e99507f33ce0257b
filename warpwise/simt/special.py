"""Functions that NumPy lacks: error functions, gamma, Bessel; float64, element by element.

Error functions and gamma are compiled at their first use and kept on disk; Bessel functions are the
C library's.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

Value = Any
ROOT_2 = math.sqrt(2.0)
SLOPE = math.sqrt(math.pi) / 2.0  # 1 / the slope of erf at 0


def _erf(x: float) -> float:
    return math.erf(x)


def _erfc(x: float) -> float:
    return math.erfc(x)


def _gamma(x: float) -> float:
    return math.gamma(x)


def _lgamma(x: float) -> float:
    return math.lgamma(x)


def _erfcx(x: float) -> float:
    """exp(x*x) * erfc(x), which stays a number where erfc is 0."""
    if x < 10.0:
        if x < -26.7:
            return math.inf
        rough = math.floor(x * 65536.0) / 65536.0  # its square is exact
        return math.exp(rough * rough) * math.exp((x - rough) * (x + rough)) * math.erfc(x)
    if x > 1e8:
        return 1.0 / (x * math.sqrt(math.pi))
    tail = 0.0  # the continued fraction of erfc, from its far end
    for k in range(60, 0, -1):
        tail = 0.5 * k / (x + tail)
    return 1.0 / ((x + tail) * math.sqrt(math.pi))


def _erfcinv(y: float) -> float:
    """x with erfc(x) = y: a rough start, then Newton's steps on the logarithm."""
    if math.isnan(y) or y < 0.0 or y > 2.0:
        return math.nan
    if y == 0.0:
        return math.inf
    if y == 2.0:
        return -math.inf
    if 0.5 < y < 1.5:
        x = (1.0 - y) * SLOPE
        for _ in range(12):
            x -= (math.erf(x) - (1.0 - y)) * SLOPE * math.exp(x * x)
        return x
    small = min(y, 2.0 - y)
    x = math.sqrt(max(-math.log(small * 1.6), 0.2))
    for _ in range(30):
        value = math.erfc(x)
        x += (math.log(value) - math.log(small)) * value * SLOPE * math.exp(x * x)
    return x if y < 1.0 else -x


def _erfinv_near(y: float) -> float:
    """x with erf(x) = y, for y near 0."""
    x = y * SLOPE
    for _ in range(12):
        x -= (math.erf(x) - y) * SLOPE * math.exp(min(x * x, 1.0))
    return x


def _normcdf(x: float) -> float:
    return 0.5 * math.erfc(-x / ROOT_2)


_FUNCTIONS = {
    "erf": _erf, "erfc": _erfc, "gamma": _gamma, "lgamma": _lgamma, "erfcx": _erfcx,
    "erfcinv": _erfcinv, "erfinv_near": _erfinv_near, "normcdf": _normcdf,
}  # fmt: skip


@cache
def _compiled(name: str) -> Any:
    import numba

    return numba.vectorize(["float64(float64)"], cache=True)(_FUNCTIONS[name])


def slow(name: str) -> Callable[[Value], Value]:
    """The compiled function, with the result in the type of its argument."""

    def call(x: Value) -> Value:
        return _compiled(name)(x).astype(x.dtype)

    return call


def erfinv(y: Value) -> Value:
    """The inverse of erf."""
    wide = y.astype(np.float64)
    far = np.copysign(_compiled("erfcinv")(1.0 - np.abs(wide)), wide)
    return np.where(np.abs(wide) < 0.5, _compiled("erfinv_near")(wide), far).astype(y.dtype)[()]


def normcdfinv(p: Value) -> Value:
    """The inverse of the normal distribution function."""
    return (-ROOT_2 * _compiled("erfcinv")(2.0 * p.astype(np.float64))).astype(p.dtype)


@cache
def _library(name: str) -> Any:
    found = ctypes.CDLL(ctypes.util.find_library("m"))[name]
    found.restype = ctypes.c_double
    order = [ctypes.c_int] if name.endswith("n") else []
    found.argtypes = [*order, ctypes.c_double]
    return found


def bessel(name: str) -> Callable[..., Value]:
    """j0, j1, y0, y1 of x; jn, yn of n and x."""

    def call(*args: Value) -> Value:
        function = np.vectorize(_library(name), otypes=[np.float64])
        return function(*args)[()].astype(args[-1].dtype)

    return call
