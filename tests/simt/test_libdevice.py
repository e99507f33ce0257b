"""cuda.libdevice: all of Numba's functions, against exact fractions, Python integers and math."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.simt.test_typing import needs_compiler
from warpwise.simt import Kernel, SimtError, typing
from warpwise.simt.libdevice import LIBDEVICE
from warpwise.simt.symbols import numba_object

RNG = np.random.default_rng(20261201)
MODES = ("rn", "rz", "rd", "ru")


def _signature(name: str) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """Argument and result types of a function, as Numba declares them."""
    from numba.cuda.libdevicefuncs import create_signature, functions

    signature = create_signature(*functions[f"__nv_{name}"])
    result = signature.return_type
    return tuple(signature.args), tuple(getattr(result, "types", (result,)))


def test_the_table_holds_what_numba_has() -> None:
    """317 functions, no more and no fewer."""
    from numba.cuda.libdevicefuncs import functions

    assert {name[5:] for name in functions} == set(LIBDEVICE)
    assert len(LIBDEVICE) == 317


def test_results_have_the_declared_types() -> None:
    """Arrays and single numbers of the declared types give those of the declared results."""
    for name, function in LIBDEVICE.items():
        args, results = _signature(name)
        for shape in ((), (2, 3)):
            values = [np.full(shape, 0.5 if typing.is_float(t) else 1, typing.numpy_dtype(t))[()]
                      for t in args]  # fmt: skip
            with np.errstate(all="ignore"):
                found = function(*values)
            found = found if isinstance(found, tuple) else (found,)
            assert [f.dtype for f in found] == [typing.numpy_dtype(t) for t in results], name
            assert all(np.shape(f) == shape for f in found), name


def _neighbours(x: float, single: bool) -> list[Fraction]:
    kind: Any = np.float32 if single else np.float64
    with np.errstate(over="ignore"):
        near = [np.nextafter(kind(x), kind(-np.inf)), kind(x), np.nextafter(kind(x), kind(np.inf))]
    return [Fraction(float(v)) for v in near if np.isfinite(v)]


def _is_rounded(got: float, below: Callable[[Fraction], bool], exact: Callable[[Fraction], bool],
                positive: bool, mode: str, single: bool) -> bool:  # fmt: skip
    """Whether `got` is the neighbour for the mode; below(v): v is under the true value."""
    near = _neighbours(got, single)
    if any(exact(v) for v in near):
        return exact(Fraction(got))
    if mode == "rn":
        return True  # NumPy's own
    down = mode == "rd" or (mode == "rz" and positive)
    step = near[-1] if down else near[0]
    return below(Fraction(got)) == down and below(step) != down


OPERATIONS: dict[str, Any] = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y, "rcp": lambda x: 1 / x,
    "ma": lambda x, y, z: x * y + z, "maf": lambda x, y, z: x * y + z,
}  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "name", ["fadd", "fsub", "fmul", "fdiv", "frcp", "dadd", "dmul", "ddiv", "drcp", "fmaf", "fma"]
)
def test_directed_arithmetic(name: str, mode: str) -> None:
    """Each result is the next number on the side that the mode asks for, or exact."""
    single = name.startswith("f") and name != "fma"
    operation = OPERATIONS[name[1:]]
    count = len(inspect.signature(operation).parameters)
    kind = np.float32 if single else np.float64
    spread = 20 if single else 300
    values = RNG.normal(size=(count, 300)) * 2.0 ** RNG.integers(-spread, spread, (count, 300))
    values[:, :50] = RNG.integers(-9, 9, (count, 50)) + 0.5
    args = values.astype(kind)
    with np.errstate(all="ignore"):
        found = LIBDEVICE[f"{name}_{mode}"](*args)
    for got, *each in zip(found.tolist(), *args.tolist(), strict=True):
        true = operation(*map(Fraction, each))
        if not math.isfinite(got) or (abs(true) < 2**-1000 and not single):
            continue
        right = _is_rounded(got, lambda v, t=true: v < t, lambda v, t=true: v == t, true > 0,
                            mode, single)  # fmt: skip
        assert right, (each, got)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["fsqrt", "dsqrt"])
def test_directed_roots(name: str, mode: str) -> None:
    """The same for the square root, whose true value is known by its square."""
    single = name == "fsqrt"
    x = np.abs(RNG.normal(size=300) * 2.0 ** RNG.integers(-30, 30, 300))
    x[:20] = np.arange(20) ** 2
    x = x.astype(np.float32 if single else np.float64)
    for value, got in zip(x.tolist(), LIBDEVICE[f"{name}_{mode}"](x).tolist(), strict=True):
        true = Fraction(value)
        assert _is_rounded(got, lambda v, t=true: v * v < t, lambda v, t=true: v * v == t, True,
                           mode, single), value  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
def test_64_bit_integers_as_float64(mode: str) -> None:
    """ll2double and ull2double beyond 2**53."""
    n = np.array([2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), 2**62 + 3, 5])
    for name, signed in (("ll2double", True), ("ull2double", False)):
        for value, got in zip(n.tolist(), LIBDEVICE[f"{name}_{mode}"](n).tolist(), strict=True):
            true = Fraction(value if signed or value >= 0 else value + 2**64)
            assert _is_rounded(got, lambda v, t=true: v < t, lambda v, t=true: v == t, true > 0,
                               mode, False)  # fmt: skip


def test_overflow_follows_the_mode() -> None:
    """Beyond the largest number: it, or infinity; infinite operands stay infinite."""
    big, top = np.float64(1.7e308), np.finfo(np.float64).max
    with np.errstate(all="ignore"):
        for name in ("dadd", "dmul"):
            found = [float(LIBDEVICE[f"{name}_{mode}"](big, big)) for mode in MODES]
            assert found == [math.inf, top, top, math.inf]
            assert float(LIBDEVICE[f"{name}_rz"](np.float64(np.inf), big)) == math.inf
        assert float(LIBDEVICE["ddiv_rz"](np.float64(1), np.float64(0))) == math.inf


def _s(x: int, bits: int = 32) -> int:
    x &= 2**bits - 1
    return x - 2**bits if x >> (bits - 1) else x


def _u(x: int, bits: int = 32) -> int:
    return x & (2**bits - 1)


INTEGERS: dict[str, Callable[..., int]] = {
    "mulhi": lambda a, b: (a * b) >> 32, "umulhi": lambda a, b: (_u(a) * _u(b)) >> 32,
    "mul64hi": lambda a, b: (a * b) >> 64,
    "umul64hi": lambda a, b: (_u(a, 64) * _u(b, 64)) >> 64,
    "mul24": lambda a, b: _s(a, 24) * _s(b, 24), "umul24": lambda a, b: _u(a, 24) * _u(b, 24),
    "hadd": lambda a, b: (a + b) >> 1, "rhadd": lambda a, b: (a + b + 1) >> 1,
    "uhadd": lambda a, b: (_u(a) + _u(b)) >> 1, "urhadd": lambda a, b: (_u(a) + _u(b) + 1) >> 1,
    "sad": lambda a, b, c: abs(a - b) + c, "usad": lambda a, b, c: abs(_u(a) - _u(b)) + c,
    "umax": lambda a, b: max(_u(a), _u(b)), "llmin": min,
    "ullmin": lambda a, b: min(_u(a, 64), _u(b, 64)),
    "brev": lambda a: int(f"{_u(a):032b}"[::-1], 2), "popcll": lambda a: _u(a, 64).bit_count(),
    "clz": lambda a: 32 - _u(a).bit_length(), "ffsll": lambda a: (a & -a).bit_length(),
    "byte_perm": lambda a, b, s: sum(
        ((_u(a) | _u(b) << 32) >> 8 * (s >> 4 * k & 7) & 255) << 8 * k for k in range(4)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", INTEGERS)
def test_integer_functions(name: str) -> None:
    """Against Python's integers, on all bit patterns."""
    args, (result,) = _signature(name)
    dtype, bits = typing.numpy_dtype(args[0]), typing.numpy_dtype(result).itemsize * 8
    info = np.iinfo(dtype)
    columns = [
        np.append(RNG.integers(info.min, info.max, 200, dtype, endpoint=True),
                  np.array([0, 1, -1, info.min, info.max], dtype))
        for _ in args
    ]  # fmt: skip
    found = LIBDEVICE[name](*columns).tolist()
    rows = zip(*(c.tolist() for c in columns), strict=True)
    assert found == [_s(INTEGERS[name](*row), bits) for row in rows]


FLOATS: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "erf": (math.erf, [-2, 0.3, 4]), "erfc": (math.erfc, [-2, 0.3, 10]),
    "tgamma": (math.gamma, [0.5, 5, -1.5]), "lgamma": (math.lgamma, [0.5, 50]),
    "cbrt": (math.cbrt, [-8, 2]), "exp10": (lambda x: 10**x, [-3.0, 0.5]),
    "rsqrt": (lambda x: 1 / math.sqrt(x), [2, 9]), "rcbrt": (lambda x: 1 / math.cbrt(x), [8, -27]),
    "normcdf": (lambda x: 0.5 * math.erfc(-x / math.sqrt(2)), [-3, 0, 2]),
    "sinpi": (lambda x: math.sin(math.pi * x), [0.25, -1.2, 0.1]),
    "rint": (round, [0.5, 1.5, -2.5]),
    "cospi": (lambda x: math.cos(math.pi * x), [0.25, 1.2, 3.0]),
    "round": (lambda x: math.copysign(math.floor(abs(x) + 0.5), x), [0.5, 2.5, -2.5, 1.2]),
    "ilogb": (lambda x: math.frexp(x)[1] - 1, [1, 0.3, 1e10]), "llrint": (round, [2.5, -3.5]),
    "llround": (lambda x: int(math.copysign(math.floor(abs(x) + 0.5), x)), [2.5, -2.5, 1.4]),
    "erfcx": (lambda x: math.exp(x * x) * math.erfc(x), [-1, 0, 0.5, 3]),
    "signbitd": (lambda x: int(math.copysign(1, x) < 0), [-0.0, 1]),
    "logb": (lambda x: float(math.frexp(x)[1] - 1), [1, 0.3]), "sqrt": (math.sqrt, [2, 0]),
}  # fmt: skip


@pytest.mark.parametrize("name", FLOATS)
def test_floating_point_functions(name: str) -> None:
    """Against Python's math."""
    expected, values = FLOATS[name]
    x = np.array(values, np.float64)
    np.testing.assert_allclose(LIBDEVICE[name](x), [expected(v) for v in x.tolist()], 1e-13, 1e-16)


def test_inverses_undo_their_functions() -> None:
    """erfinv, erfcinv and normcdfinv, far into the tails."""
    y = np.array([1e-12, 0.1, 0.49, 0.51, 0.9, 0.999999, -0.7])
    np.testing.assert_allclose([math.erf(v) for v in LIBDEVICE["erfinv"](y)], y, 1e-14)
    p = np.array([1e-300, 1e-20, 0.01, 0.4, 0.6, 1.0, 1.4, 1.6, 1.999])
    np.testing.assert_allclose([math.erfc(v) for v in LIBDEVICE["erfcinv"](p)], p, 1e-11)
    q = np.array([1e-100, 0.02, 0.5, 0.8])
    np.testing.assert_allclose(LIBDEVICE["normcdf"](LIBDEVICE["normcdfinv"](q)), q, 1e-11)
    ends = LIBDEVICE["erfinv"](np.array([1.0, -1.0, 2.0]))
    assert ends[:2].tolist() == [math.inf, -math.inf] and math.isnan(ends[2])


def test_bessel_functions() -> None:
    """Tabulated values (Abramowitz and Stegun, tables 9.1 and 9.2)."""
    one = np.float64(1)
    found = [LIBDEVICE[name](one) for name in ("j0", "j1", "y0", "y1")]
    found += [LIBDEVICE["jn"](np.int32(2), one), LIBDEVICE["yn"](np.int32(2), one)]
    expected = [
        0.7651976866,
        0.4400505857,
        0.0882569642,
        -0.7812128213,
        0.1149034849,
        -1.6506826068,
    ]
    np.testing.assert_allclose(found, expected, 1e-9)


def test_remquo_and_logarithm_of_special_values() -> None:
    """The low three bits of the quotient; ilogb and logb of 0, infinity and NaN."""
    rest, low = LIBDEVICE["remquo"](np.array([7.0, -29.0, 5.0]), np.array([2.0, 3.0, -1.5]))
    assert rest.tolist() == [-1.0, 1.0, 0.5] and low.tolist() == [4, -2, -3]
    odd = np.array([0.0, np.inf, np.nan])
    assert LIBDEVICE["ilogb"](odd).tolist() == [-(2**31), 2**31 - 1, -(2**31)]
    assert LIBDEVICE["logb"](odd)[:2].tolist() == [-math.inf, math.inf]


def test_functions_in_a_kernel() -> None:
    """Called as in Numba, with its conversions; tuples come back as tuples."""
    text = """
@cuda.jit
def k(out, x):
    i = cuda.grid(1)
    s, c = cuda.libdevice.sincos(x[i])
    m, e = cuda.libdevice.frexp(x[i])
    out[i, 0] = s * s + c * c
    out[i, 1] = m * 2.0 ** e
    out[i, 2] = cuda.libdevice.fadd_ru(x[i], 1e-20)
    out[i, 3] = cuda.libdevice.sad(i, 5, 1)
"""
    x = np.array([0.5, 3.0])
    out = np.zeros((2, 4))
    Kernel.from_source(text, "k")[1, 2](out, x)
    np.testing.assert_allclose(out[:, :2], [[1, 0.5], [1, 3]])
    assert out[:, 2].tolist() == [float(np.nextafter(np.float32(v), np.float32(9))) for v in x]
    assert out[:, 3].tolist() == [6, 5]
    with pytest.raises(SimtError, match=r"Numba has no cuda\.libdevice\.sad for int64"):
        Kernel.from_source(text.replace("sad(i, 5, 1)", "sad(i)"), "k")[1, 2](out, x)


@needs_compiler
def test_functions_are_found_by_their_objects() -> None:
    """`from numba.cuda import libdevice` leads to the same functions."""
    from numba.cuda import libdevice

    assert numba_object("libdevice.sincos") is libdevice.sincos
