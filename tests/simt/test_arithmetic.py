"""Integer and float arithmetic at its edges: values as Numba's CUDA target compiles them."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
import pytest

from warpwise.simt import Kernel, SimtError

pytestmark = pytest.mark.filterwarnings("ignore::warpwise.simt.launch.KernelNote")
LOW = -(2**63)


def run(body: str, a: Any, b: Any = 0, dtype: Any = np.float64, debug: bool = False) -> Any:
    """out[i] = body for arrays (or scalars) a and b."""
    text = f"""
import math
from numba import int8, uint8, int16, int32, uint32, int64, uint64, float32, float64
@cuda.jit(debug={debug})
def k(out, x, y):
    i = cuda.grid(1)
    a = x[i]
    b = y[i]
    out[i] = {body}
"""
    a, b = np.broadcast_arrays(np.atleast_1d(a), np.atleast_1d(b))
    out = np.zeros(a.size, dtype)
    kernel = Kernel.from_source(text, "k", {"operator": operator, "np": np})
    kernel[1, a.size](out, a.copy(), b.copy())
    return out


@pytest.mark.parametrize(
    ("body", "a", "b", "dtype", "expected"),
    [
        ("a // b", [7, -7, LOW, 1], [-2, 2, -1, 0], np.int64, [-4, -4, 0, 0]),
        ("a % b", [7, -7, LOW, 1], [-2, 2, -1, 0], np.int64, [-1, 1, 0, 0]),
        ("divmod(a, b)[0]", [7, LOW], [0, -1], np.int64, [0, 0]),
        ("a // b", [1.0, -1.0, 0.0], [0.0, 0.0, 0.0], np.float64, [np.inf, -np.inf, np.nan]),
        ("a << b", [1, 1, -1], [63, 64, 70], np.int64, [LOW, 0, 0]),
        ("a >> b", [-8, -8, 8], [1, 64, 64], np.int64, [-4, -1, 0]),
        ("a ** b", [2, -1, 0, 3, -1], [-1, -3, -2, 3, 70001], np.int64, [0, -1, LOW, 27, -1]),
        ("a ** b", [2, 3], [70000, 65537], np.int64, [2**63 - 1, 2**63 - 1]),
        ("int64(a)", [np.inf, -np.inf, np.nan, 1e9], 0, np.int64, [2**63 - 1, LOW, LOW, 10**9]),
        ("uint32(a)", [-1.5, 5e9, np.nan, 3.99], 0, np.uint32, [0, 2**32 - 1, 2**31, 3]),
        ("int8(a)", [200.0, 1e5, -1e9], 0, np.int8, [-56, -1, 0]),
        ("min(a, b)", [np.nan, 1.0], [1.0, np.nan], np.float64, [1, 1]),
        ("max(a, b, a)", [np.nan, 1.0], [1.0, np.nan], np.float64, [np.nan, 1]),
        ("max(i, a)", [np.nan, 5.0], 0, np.float64, [0, 5]),
        ("round(a, 2)", [2.675, 1e20, np.inf], 0, np.float64, [2.68, 2.0**63 / 100, np.inf]),
        ("round(a)", [0.5, 1.5, 2.5, -0.5], 0, np.int64, [0, 2, 2, 0]),
    ],
)  # fmt: skip
def test_edges_of_arithmetic(body: str, a: Any, b: Any, dtype: Any, expected: Any) -> None:
    """Division by zero, overflow, shifts beyond the width, NaN: as the PTX of Numba computes."""
    np.testing.assert_array_equal(run(body, a, b, dtype), np.array(expected, dtype))


def _by_squaring(a: Any, n: int) -> Any:
    result, left = a.dtype.type(1), abs(n)
    while left:
        result = result * a if left & 1 else result
        a, left = a * a, left >> 1
    return result if n >= 0 else a.dtype.type(1) / result


@pytest.mark.parametrize("n", [0, 1, 2, 3, 7, 10, -1, -3])
def test_a_float_to_an_integer_power_is_multiplied(n: int) -> None:
    """The same multiplications in the same order, in the float's own width: exact to the bit."""
    x = np.random.default_rng(n + 9).normal(size=100).astype(np.float32)
    expected = [_by_squaring(v, n) for v in x]
    assert np.array_equal(run(f"a ** {n}", x, dtype=np.float32), expected)
    assert np.array_equal(run("a ** b", x, np.int64(n), np.float32), expected)


@pytest.mark.parametrize("body", ["a // b", "a % b", "a / b", "divmod(a, b)[1]"])
@pytest.mark.parametrize("kind", [np.int32, np.float64])
def test_division_by_zero_raises_in_debug_mode(body: str, kind: Any) -> None:
    """@cuda.jit(debug=True) raises ZeroDivisionError; without it the kernel goes on."""
    a, b = np.ones(3, kind), np.array([1, 0, 2], kind)
    run(body, a, b)
    with pytest.raises(SimtError, match="1 of 3 threads raised ZeroDivisionError") as caught:
        run(body, a, b, debug=True)
    assert f"out[i] = {body}" in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [("int8", -1, 8), ("uint8", 255, 8), ("int32", 5, 2), ("uint64", 2**64 - 1, 64)],
)
def test_bit_count_is_popc(kind: str, value: int, expected: int) -> None:
    """n.bit_count() counts the bits of the type, also of a negative number."""
    assert run("a.bit_count()", np.array([value], kind), dtype=np.int64)[0] == expected


@pytest.mark.parametrize(
    ("body", "a", "b", "expected"),
    [
        ("operator.add(a, b)", 7, 2, 9), ("operator.isub(a, b)", 7, 2, 5),
        ("operator.truediv(a, b)", 7, 2, 3.5), ("operator.floordiv(a, b)", -7, 2, -4),
        ("operator.itruediv(a, float64(b))", 7, 2, 3.5), ("operator.pow(a, b)", 7, 2, 49),
        ("operator.lshift(a, b)", 7, 2, 28), ("operator.and_(a, b)", 7, 2, 2),
        ("operator.ixor(a, b)", 7, 2, 5), ("operator.lt(a, b)", 7, 2, 0),
        ("operator.ne(a, b)", 7, 2, 1), ("operator.neg(a)", 7, 2, -7),
        ("operator.invert(a)", 7, 2, -8), ("operator.not_(a)", 7, 2, 0),
        ("sum((a, b, 1))", 7, 2, 10), ("a is b", 7, 7, 1), ("a is not b", 7, 7, 0),
        ("np.hypot(a, b)", 3.0, 4.0, 5), ("np.maximum(a, b)", np.nan, 4.0, np.nan),
        ("np.left_shift(a, b)", 1, 70, 0), ("np.real(a)", 3.0, 0, 3), ("np.log2(a)", 8.0, 0, 3),
    ],
)  # fmt: skip
def test_functions_that_are_operators(body: str, a: Any, b: Any, expected: float) -> None:
    """The operator module, ufuncs that CUDA compiles, sum() of a tuple, `is` between numbers."""
    np.testing.assert_array_equal(run(body, a, b), [expected])


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("np.sqrt(a)", "does not compile np.sqrt\n.*\n.*Write math.sqrt"),
        ("np.add(a, b)", "does not compile np.add"),
        ("np.hypot(a)", "np.hypot takes 2 numbers"),
        ("operator.add(a)", "takes 2 arguments, got 1"),
        ("operator.itruediv(a, b)", "integer type"), ("sum(x)", "takes a tuple"),
        ("cuda.ffs(int8(a))", "does not compile cuda.ffs of int8"),
    ],
)  # fmt: skip
def test_what_numba_does_not_compile(body: str, message: str) -> None:
    """It is refused, with what to write instead."""
    with pytest.raises(SimtError, match=message):
        run(body, 7, 2)
