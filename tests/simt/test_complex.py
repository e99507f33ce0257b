"""Complex numbers: types and values of arithmetic, cmath, attributes and arrays."""

from __future__ import annotations

import cmath
import itertools
import math
from typing import Any

import numpy as np
import pytest

from warpwise import cuda
from warpwise.simt import Kernel, SimtError, complexes

UNARY = [name for name in complexes.CMATH if name not in ("rect", "polar")]
SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 1e-3, math.inf, -math.inf]


def _run(body: str, x: Any, dtype: Any) -> Any:
    """out[i] = body, where a is x[i] and b the element before it, in a circle; and its type."""
    text = f"""
import cmath
from numba import complex64, complex128, float32
@cuda.jit
def k(out, x):
    i = cuda.grid(1)
    a = x[i]
    b = x[(i + x.size - 1) % x.size]
    v = {body}
    out[i] = v
"""
    kernel = Kernel.from_source(text, "k", {"cmath": cmath})
    x = np.asarray(x)
    out = np.zeros(x.size, dtype)
    kernel[1, x.size](out, x)
    (program,) = kernel._programs.values()
    return out, {str(t) for name, t in program.types["kernel_k"] if name == "v"}


def _expected(name: str, z: complex) -> Any:
    try:
        return getattr(cmath, name)(z)
    except (ValueError, OverflowError):
        return None


@pytest.mark.parametrize("name", UNARY)
def test_cmath_is_pythons(name: str) -> None:
    """Finite numbers and infinities, against Python; the sign of a zero part is left open."""
    zs = [complex(a, b) for a, b in itertools.product(SPECIAL, SPECIAL)]
    zs = [z for z in zs if _expected(name, z) is not None]
    x = np.array(zs)
    found, _ = _run(f"cmath.{name}(a)", x, np.result_type(type(_expected(name, zs[0]))))
    for z, got in zip(zs, found, strict=True):
        want = _expected(name, z)
        for part in ("real", "imag"):
            g, w = getattr(got, part), getattr(want, part)
            assert (math.isnan(g) and math.isnan(w)) or g == pytest.approx(w, 1e-12, 1e-15), (
                z,
                got,
            )


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        ("cmath.exp(a)", "complex64"), ("cmath.acosh(a)", "complex128"),
        ("cmath.cosh(a)", "complex64"), ("cmath.log10(a)", "complex128"),
        ("cmath.tanh(a)", "complex128"), ("cmath.phase(a)", "float32"),
        ("cmath.polar(a)[1]", "float32"), ("cmath.rect(a.real, a.imag)", "complex64"),
        ("cmath.rect(a.real, 1.0)", "complex128"), ("cmath.log(a, b)", "complex64"),
        ("cmath.isnan(a)", "bool"), ("a + 1", "complex128"), ("a * float32(2)", "complex64"),
        ("a / b", "complex64"), ("a ** 2", "complex128"), ("abs(a)", "float32"),
        ("-a", "complex64"),
        ("a == b", "bool"), ("a.real", "float32"), ("a.conjugate()", "complex64"),
        ("a.real.imag", "float32"), ("complex(a.real)", "complex64"), ("not a", "bool"),
        ("complex(a.real, 1)", "complex128"), ("complex(a)", "complex128"),
        ("i.conjugate()", "int64"),
    ],
)  # fmt: skip
def test_types_are_numbas(body: str, kind: str) -> None:
    """Constants inside Numba's functions make some results wider than their arguments."""
    _, kinds = _run(body, np.array([1 + 2j, 3 - 1j], np.complex64), np.complex128)
    assert kinds == {kind}


def test_division_is_smiths() -> None:
    """(1+2j) / (3e300+4e300j) does not overflow on the way."""
    x = np.array([1 + 2j, 3e300 + 4e300j, 2 - 1j, -1j])
    found, _ = _run("a / b", x, np.complex128)
    np.testing.assert_allclose(found, [complex(x[k]) / complex(x[k - 1]) for k in range(4)], 1e-15)


def _power(a: complex, b: complex) -> complex:
    """What numba-cuda's mathimpl.py writes for complex128, in Python."""
    if b == 0:
        return 1 + 0j
    if a.real == 0 and b.real == 0:
        return 0j
    size, angle = math.hypot(a.real, a.imag), math.atan2(a.imag, a.real)
    length, phase = math.pow(size, b.real), angle * b.real
    if b.imag != 0:
        length /= math.exp(angle * b.imag)
        phase += b.imag * math.log(size)
    return length * complex(math.cos(phase), math.sin(phase))


@pytest.mark.parametrize(
    ("body", "exponent"),
    [("a ** b", None), ("a ** 3", 3), ("a ** 2", 2), ("a ** -1.5", -1.5), ("pow(a, 2j)", 2j)],
)
def test_powers_are_numbas(body: str, exponent: Any) -> None:
    """By polar coordinates; 2j ** 2j is 0, since neither has a real part."""
    x = np.array([1 + 2j, 2j, 3 - 1j, -0.5, 0.25 + 0j, -4j, 0j + 1, 9 - 1e-3j])
    found, _ = _run(body, x, np.complex128)
    want = [_power(complex(z), exponent if exponent is not None else complex(x[k - 1]))
            for k, z in enumerate(x)]  # fmt: skip
    np.testing.assert_allclose(found, want, 1e-13, 1e-15)
    single, kinds = _run(body, x.astype(np.complex64), np.complex64)
    if exponent is None:
        assert kinds == {"complex64"}
    np.testing.assert_allclose(single, want, 2e-5, 1e-6)


def test_division_by_zero_raises() -> None:
    """Numba's division of complex numbers raises, with and without debug=True."""
    with pytest.raises(SimtError, match="1 of 2 threads raised ZeroDivisionError"):
        _run("a / b", np.array([1j, 0j]), np.complex128)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("a < b", "Numba has no <"),
        ("float32(a)", "take .real or .imag"), ("cmath.cosh(a.real)", "Numba has no cmath.cosh"),
        ("cmath.isclose(a, b)", "Numba has no cmath.isclose"),
        ("(i > 0).real", "no attribute .real"),
        ("x.imag.conjugate", "arrays in a kernel have no .conjugate"),
    ],
)  # fmt: skip
def test_refusals(body: str, message: str) -> None:
    """What Numba has no rule for is refused in its words."""
    with pytest.raises(SimtError, match=message):
        _run(body, np.array([1j, 0j]), np.complex128)


def test_parts_of_an_array_are_views() -> None:
    """x.real and x.imag read, store and add in the memory of x; of a slice, too."""

    @cuda.jit
    def k(x, out):
        i = cuda.grid(1)
        cuda.atomic.add(x.real, 0, 1.5)
        x.imag[i] += 2
        even = x[::2].real
        if i < even.size:
            out[i] = even[i]

    for dtype in (np.complex64, np.complex128):
        x, out = (np.arange(4) * (1 + 1j)).astype(dtype), np.zeros(4)
        k[1, 4](x, out)
        assert x.tolist() == [6 + 2j, 1 + 3j, 2 + 4j, 3 + 5j]
        assert out.tolist() == [6, 2, 0, 0]


def test_complex_numbers_in_shared_and_local_memory() -> None:
    """A shared and a local array of complex64 hold both parts."""

    @cuda.jit
    def k(x):
        s = cuda.shared.array(4, np.complex64)
        mine = cuda.local.array(2, np.complex64)
        i = cuda.grid(1)
        s[i] = x[i]
        cuda.syncthreads()
        mine[0] = s[3 - i]
        mine[1] = mine[0].conjugate()
        x[i] = mine[1] * s[i]

    x = np.array([1 + 1j, 2, 3j, 4 - 1j], np.complex64)
    expected = x[::-1].conj() * x
    k[1, 4](x)
    assert np.array_equal(x, expected)
