"""What compiled code does with single numbers: casts, operators, functions.

Integers and booleans are Python's, cut to the width of their type after every step.  Floats are
NumPy scalars, for their correctly rounded operators.  Nothing here is the simulator's.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numba import types

Convert = Callable[[Any], Any]
FLOATS = {types.float32: np.float32, types.float64: np.float64}
COMPLEX = {types.complex64: np.complex64, types.complex128: np.complex128}


def plain(t: Any) -> Any:
    """The type of a literal's value."""
    return types.unliteral(t)


@cache
def wrap(t: Any) -> Convert:
    """Cut a Python integer to an integer type."""
    span, half = 1 << t.bitwidth, 1 << (t.bitwidth - 1)
    if t.signed:
        return lambda v: v if -half <= v < half else (v + half) % span - half
    return lambda v: v if 0 <= v < span else v % span


def to_integer(source: Any, t: Any) -> Convert:
    """float -> integer, toward zero and clamped; a NaN is 0, or the top bit alone where a float64
    or a 64-bit integer takes part."""
    low, high = int(t.minval), int(t.maxval)
    top = low if t.signed else (high + 1) // 2
    wide = source.bitwidth == 64 or t.bitwidth == 64

    def convert(v: Any) -> int:
        if math.isnan(v):
            return top if wide and t.bitwidth > 8 else 0
        if math.isinf(v):
            return high if v > 0 else low
        return min(max(int(v), low), high)

    return convert


def _real(kind: Any) -> Convert:
    """integer -> float with one rounding."""
    return lambda v: (np.uint64(v) if v >= 1 << 63 else np.int64(v)).astype(kind)


@cache
def cast(source: Any, target: Any) -> Convert | None:
    """The conversion from one type to another; None when there is nothing to do."""
    source, target = plain(source), plain(target)
    if source == target:
        return None
    if isinstance(target, types.BaseTuple) and isinstance(source, types.BaseTuple):
        parts = [cast(a, b) for a, b in zip(source.types, target.types, strict=True)]
        if not any(parts):
            return None
        return lambda v: tuple(f(x) if f else x for f, x in zip(parts, v, strict=True))
    whole = isinstance(source, (types.Integer, types.Boolean))
    if isinstance(target, types.Boolean):
        return bool
    if isinstance(target, types.Integer):
        if whole:
            cut = wrap(target)
            return lambda v: cut(int(v))
        return to_integer(source, target)
    if target in FLOATS:
        return _real(FLOATS[target]) if whole else FLOATS[target]
    if target in COMPLEX:
        kind = COMPLEX[target]
        return lambda v: kind(complex(v))
    return None  # arrays, slices, functions


# -- operators ------------------------------------------------------------------------------------


def _int_floordiv(a: int, b: int) -> int:
    return a // b if b else 0


def _int_mod(a: int, b: int) -> int:
    return a % b if b else 0


def _divmod(x: Any, y: Any) -> tuple[Any, Any]:
    """Python's divmod of floats, in the operands' precision."""
    kind = type(x)
    mod = np.fmod(x, y)
    div = (x - mod) / y
    if mod != 0:
        if (y < 0) != (mod < 0):
            mod += y
            div -= kind(1)
    else:
        mod = kind(-0.0) if y < 0 else kind(0.0)
    if div != 0:
        whole = np.floor(div)
        if div - whole > 0.5:
            whole += kind(1)
    else:
        whole = div * div * x / y
    return whole, mod


def _floordiv(x: Any, y: Any) -> Any:
    return x / y if y == 0 else _divmod(x, y)[0]


def _mod(x: Any, y: Any) -> Any:
    return np.fmod(x, y) if y == 0 else _divmod(x, y)[1]


def _no_overflow(f: Callable[[int, int], int], lowest: int) -> Callable[[int, int], int]:
    """The lowest integer over -1 has no quotient: the compiler gives 0 and 0."""
    return lambda a, b: 0 if b == -1 and a == lowest else f(a, b)


def _int_power(a: int, b: int) -> int:
    if b < 0:
        return 0 if a not in (1, -1) else a ** (b % 2)
    return a**b  # cut to its width afterwards


def _float_power(a: Any, b: Any) -> Any:
    """Multiplications, as the compiler unrolls a literal exponent."""
    result, power, n = type(a)(1), a, abs(int(b))
    while n:
        if n & 1:
            result = result * power
        n >>= 1
        power = power * power
    return type(a)(1) / result if b < 0 else result


def _complex_product(a: Any, b: Any) -> Any:
    """Four products and two sums, without fusing."""
    real = a.real * b.real - a.imag * b.imag
    return type(a)(complex(real, a.real * b.imag + a.imag * b.real))


INTEGER: dict[Any, Callable[[Any, Any], Any]] = {
    operator.add: operator.add, operator.sub: operator.sub, operator.mul: operator.mul,
    operator.floordiv: _int_floordiv, operator.mod: _int_mod, operator.pow: _int_power,
    operator.and_: operator.and_, operator.or_: operator.or_, operator.xor: operator.xor,
    operator.lshift: operator.lshift, operator.rshift: operator.rshift,
}  # fmt: skip
FLOAT: dict[Any, Callable[[Any, Any], Any]] = {
    operator.add: operator.add, operator.sub: operator.sub, operator.mul: operator.mul,
    operator.truediv: operator.truediv, operator.floordiv: _floordiv, operator.mod: _mod,
    operator.pow: _float_power,
}  # fmt: skip
COMPLEX_OPS: dict[Any, Callable[[Any, Any], Any]] = {
    operator.add: operator.add, operator.sub: operator.sub, operator.mul: _complex_product,
    operator.truediv: operator.truediv,
}  # fmt: skip
COMPARISONS = {
    operator.lt, operator.le, operator.gt, operator.ge, operator.eq, operator.ne,
}  # fmt: skip


def binary(op: Any, args: tuple[Any, ...], result: Any) -> Callable[[Any, Any], Any]:
    """An operator of two numbers already cast to `args`, giving a value of type `result`."""
    if op in COMPARISONS:
        return lambda a, b: bool(op(a, b))
    if isinstance(result, types.BaseTuple):
        return op  # type: ignore[no-any-return]
    if isinstance(result, types.Boolean):
        return lambda a, b: bool(INTEGER[op](a, b))
    if isinstance(result, types.Integer):
        f, cut, enter = INTEGER[op], wrap(result), [cast(t, result) for t in args]
        if op in (operator.floordiv, operator.mod) and result.signed:
            f = _no_overflow(f, int(result.minval))
        if op in (operator.lshift, operator.rshift, operator.pow):
            enter[1] = None
        x, y = (e or _same for e in enter)
        return lambda a, b: cut(f(x(a), y(b)))
    if result in FLOATS:
        f, kind = FLOAT[op], FLOATS[result]
        x, y = (cast(t, result) or _same for t in args)
        if op is operator.pow:
            y = _same
        return lambda a, b: kind(f(x(a), y(b)))
    f, kind = COMPLEX_OPS[op], COMPLEX[result]
    x, y = (cast(t, result) or _same for t in args)
    return lambda a, b: kind(f(x(a), y(b)))


def _same(v: Any) -> Any:
    return v


def unary(op: Any, arg: Any, result: Any) -> Convert:
    """-x, +x, ~x, not x.  Of an integer in its own type, then widened."""
    if op is operator.not_:
        return operator.not_
    enter = cast(arg, result) or _same
    if isinstance(arg, types.Integer):
        cut = wrap(arg)
        return lambda v: enter(cut(op(v)))
    if isinstance(result, types.Integer):
        return lambda v: op(enter(v))
    return lambda v: op(enter(v))


# -- functions of numbers --------------------------------------------------------------------------


def _minmax(args: tuple[Any, ...], result: Any, better: Any) -> Callable[..., Any]:
    floats = [t for t in args if t in FLOATS]
    enter = [cast(t, result) or _same for t in args]
    if len(args) == 2 and len(floats) == 2:  # fmin, fmax: the number when the other is a NaN
        pick = np.fmin if better is operator.lt else np.fmax
        return lambda a, b: pick(enter[0](a), enter[1](b))

    def choose(*values: Any) -> Any:
        best, *others = (f(v) for f, v in zip(enter, values, strict=True))
        for v in others:
            best = v if better(v, best) else best
        return best

    return choose


def function(f: Any, args: tuple[Any, ...], result: Any) -> Callable[..., Any] | None:
    """A builtin or math function for arguments of these types; None when it is not known here."""
    if f in (min, max):
        return _minmax(args, result, operator.lt if f is min else operator.gt)
    if f is abs:
        if isinstance(result, types.Integer):
            cut = wrap(result)
            return lambda v: cut(abs(v))
        return abs
    if f is complex and len(args) == 2:
        return lambda a, b: COMPLEX[result](complex(a, b))
    if f in (int, float, complex, bool):
        return cast(args[0], result) or _same
    rounded = {math.sqrt: np.sqrt, math.fabs: np.fabs, math.floor: np.floor, math.ceil: np.ceil,
               math.trunc: np.trunc}.get(f)  # fmt: skip
    if rounded is not None:
        kind = args[0] if args[0] in FLOATS else types.float64
        enter, leave = cast(args[0], kind) or _same, cast(kind, result) or _same
        return lambda v: leave(rounded(enter(v)))
    if f is math.copysign:
        return np.copysign
    if f in (math.isnan, math.isinf, math.isfinite):
        return lambda v: bool(f(v))
    if f is divmod:
        (one, other) = result.types
        first, second = binary(operator.floordiv, args, one), binary(operator.mod, args, other)
        return lambda a, b: (first(a, b), second(a, b))
    return None


#: cuda.<name> of one integer, as (value cut to unsigned, width) -> result
BITS: dict[str, Callable[[int, int], int]] = {
    "popc": lambda v, n: v.bit_count(),
    "clz": lambda v, n: n - v.bit_length(),
    "ffs": lambda v, n: (v & -v).bit_length(),
    "brev": lambda v, n: int(f"{v:0{n}b}"[::-1], 2),
}
