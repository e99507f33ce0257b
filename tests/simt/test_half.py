"""16-bit floats: every conversion and operation is rounded once, against exact fractions."""

from __future__ import annotations

import importlib.util
import math
from bisect import bisect_left
from fractions import Fraction
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from tests.simt.test_typing import needs_compiler
from warpwise import cuda, profile
from warpwise.simt import Kernel, SimtError, formats, rounding

FORMATS = {"fp16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
RNG = np.random.default_rng(20261130)


@cache
def _values(module: str) -> tuple[list[Fraction], list[float]]:
    """All finite numbers of a format, in order."""
    with np.errstate(invalid="ignore"):
        every = np.arange(65536, dtype=np.uint16).view(FORMATS[module]).astype(np.float64)
    numbers = sorted(set(every[np.isfinite(every)].tolist()))
    return [Fraction(n) for n in numbers], numbers


def _rounded(exact: Fraction, module: str, mode: str = "rn") -> float:
    """An exact number in a format: looked up among all of its numbers."""
    fractions, numbers = _values(module)
    at = bisect_left(fractions, exact)
    if at < len(fractions) and fractions[at] == exact:
        return numbers[at]
    below = numbers[at - 1] if at else -math.inf
    above = numbers[at] if at < len(numbers) else math.inf
    if mode != "rn":
        return {"rd": below, "ru": above, "rz": above if exact < 0 else below}[mode]
    step = fractions[-1] - fractions[-2]
    low = fractions[at - 1] if at else fractions[0] - step
    high = fractions[at] if at < len(fractions) else fractions[-1] + step
    if exact - low != high - exact:
        return below if exact - low < high - exact else above
    even = Fraction(low / (high - low)).numerator % 2 == 0
    return below if even else above


def _inputs(kind: str, count: int = 300) -> Any:
    """Numbers of many sizes, numbers halfway between two of the format, and their neighbours."""
    if kind.startswith(("int", "uint")):
        info = np.iinfo(kind)
        bits = RNG.integers(0, 2**63, count, dtype=np.int64) >> RNG.integers(0, 62, count)
        ties = [s * ((2 * k + 1) << e) + d for k in (128, 129, 1024, 1025) for e in (0, 3, 20, 44)
                for d in (-1, 0, 1) for s in (1, -1)]  # fmt: skip
        edge = [info.min, info.max, 0, 1, 65504, 65519, 65520, 65521]
        wanted = [n for n in [*bits.tolist(), *ties, *edge] if info.min <= n <= info.max]
        return np.array(wanted, kind)
    numbers = RNG.normal(size=count) * 2.0 ** RNG.integers(-160, 140, count)
    near = RNG.normal(size=count) * 2.0 ** RNG.integers(-30, 20, count)
    halfway = (1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-11, 1 + 3 * 2**-11)
    exponents = (-133, -130, -24, -14, -3, 0, 9, 15, 127)
    ties = [m * 2.0**e * (1 + d) for m in halfway for e in exponents
            for d in (0, 2**-40, -(2**-40))]  # fmt: skip
    with np.errstate(over="ignore"):
        return np.array([*numbers, *near, *ties, 65504, 65519.99, 65520, 3.39e38, 3.4e38], kind)


@pytest.mark.parametrize("module", FORMATS)
@pytest.mark.parametrize("mode", list(rounding.ROUND))
@pytest.mark.parametrize(
    "kind", ["float32", "float64", "int16", "int32", "uint32", "int64", "uint64"]
)
def test_conversions_round_once(module: str, mode: str, kind: str) -> None:
    """Any number becomes the neighbour that the mode asks for; beyond the ends as IEEE 754 says."""
    x = _inputs(kind)
    x = x[np.isfinite(x.astype(np.float64))]
    found = rounding.narrow(x, FORMATS[module], mode).astype(np.float64)
    largest = _values(module)[1][-1]
    for value, got in zip(x.tolist(), found.tolist(), strict=True):
        want = _rounded(Fraction(value), module, mode)
        if mode == "rz":
            want = min(max(want, -largest), largest)
        assert got == want, (value, mode)


@pytest.mark.parametrize("module", FORMATS)
def test_the_fused_product_is_rounded_once(module: str) -> None:
    """hfma against exact fractions, with sums that lie halfway but for a far smaller addend."""
    dtype = FORMATS[module]
    small = RNG.normal(size=(3, 2000)) * 2.0 ** RNG.integers(-10, 8, (3, 2000))
    a, b, c = small.astype(dtype)
    tie = [1 + 2.0**-7, 1 - 2.0**-7] if module == "bf16" else [1 + 2.0**-10, 1 - 2.0**-10]
    spread = np.array([s * 2.0**e for e in range(-24, 3) for s in (1, -1)])
    a, b = (
        np.append(a, np.full(spread.size, tie[0], dtype)),
        np.append(b, np.full(spread.size, tie[0], dtype)),
    )
    c = np.append(c, spread.astype(dtype))
    found = formats.ARITHMETIC["hfma"](a, b, c).astype(np.float64)
    exact = [Fraction(float(p)) * Fraction(float(q)) + Fraction(float(r))
             for p, q, r in zip(a, b, c, strict=True)]  # fmt: skip
    assert found.tolist() == [_rounded(value, module) for value in exact]


def test_a_tiny_addend_decides_a_tie_of_bfloat16() -> None:
    """9 * 29 = 261 lies halfway between 260 and 262; 2**-100 decides, far below float64's bits."""
    nine, other, tiny = (np.array([v]).astype(ml_dtypes.bfloat16) for v in (9, 29, 2.0**-100))
    hfma = formats.ARITHMETIC["hfma"]
    found = [float(hfma(nine, other, c)[0]) for c in (tiny, tiny * 0, -tiny)]
    assert found == [262, 260, 260]


@pytest.mark.parametrize("module", FORMATS)
@pytest.mark.parametrize("name", ["hadd", "hsub", "hmul", "hdiv"])
def test_arithmetic_is_exact_then_rounded(module: str, name: str) -> None:
    """+ - * / of a format against exact fractions."""
    operation = {
        "hadd": lambda p, q: p + q, "hsub": lambda p, q: p - q, "hmul": lambda p, q: p * q,
        "hdiv": lambda p, q: p / q,
    }[name]  # fmt: skip
    pair = RNG.normal(size=(2, 2000)) * 2.0 ** RNG.integers(-12, 12, (2, 2000))
    a, b = pair.astype(FORMATS[module])
    with np.errstate(over="ignore"):
        found = formats.ARITHMETIC[name](a, b).astype(np.float64)
    exact = [operation(Fraction(float(p)), Fraction(float(q))) for p, q in zip(a, b, strict=True)]
    assert found.tolist() == [_rounded(value, module) for value in exact]


def _run(body: str, x: Any, out: Any) -> Any:
    """out[i] = body, where a is x[i] and b the element before it, in a circle."""
    text = f"""from numba import int8, int32, float16, float32, float64
@cuda.jit
def k(out, x):
    i = cuda.grid(1)
    a = x[i]
    b = x[(i + x.size - 1) % x.size]
    out[i] = {body}
"""
    Kernel.from_source(text, "k")[1, x.size](out, x)
    return out


needs_numba_cuda = pytest.mark.skipif(
    not importlib.util.find_spec("numba_cuda"), reason="needs the numba-cuda wheel (Linux, Windows)"
)


@needs_numba_cuda
@pytest.mark.parametrize(
    ("body", "values", "dtype", "expected"),
    [
        ("int32(a)", [1.5, 2.5, -1.5, 0.6, 6e4, np.nan], np.int32, [2, 2, -2, 1, 60000, 0]),
        ("int8(a)", [127.6, 200, -300, np.nan], np.int8, [127, 127, -128, 0]),
        ("cuda.fp16.hne(a, b)", [1, np.nan, 2, 2], np.bool_, [True, False, False, False]),
        ("a != b", [1, np.nan, 2, 2], np.bool_, [True, True, True, False]),
        ("cuda.fp16.__hneu(a, b)", [1, np.nan, 2, 2], np.bool_, [True, True, True, False]),
        ("cuda.fp16.hmax(a, b)", [1, np.nan, 2, -0.0, 0.0], np.float16, [1, 1, 2, 2, 0.0]),
        ("cuda.fp16.hmul(a, 2)", [1, 3, 0.1], np.float16, [2, 6, np.float16(0.1) * 2]),
        ("max(a, b)", [np.nan, 1, 2], np.float16, [np.nan, 1, 2]),
        ("cuda.fp16.__half2int_ru(a)", [1.25, -1.25, 1e4], np.int32, [2, -1, 10000]),
        ("cuda.fp16.__half_as_short(a)", [1.0, -2.0], np.int16, [0x3C00, 0xC000 - 65536]),
        ("cuda.fp16.__float2half_rd(0.1)", [0.0], np.float64, [0.0999755859375]),
        ("cuda.fp16.__hisinf(a)", [np.inf, -np.inf, 1], np.int32, [1, -1, 0]),
    ],
)  # fmt: skip
def test_float16_in_a_kernel(body: str, values: Any, dtype: Any, expected: Any) -> None:
    """Conversions round as PTX's cvt.rni does it; comparisons treat NaN as CUDA's do."""
    x = np.array(values, np.float16)
    found = _run(body, x, np.zeros(x.size, dtype))
    np.testing.assert_array_equal(found, np.array(expected, dtype))


@needs_compiler
@pytest.mark.parametrize(
    ("body", "values", "dtype", "expected"),
    [
        ("a + b", [1.5, 2.5, 256, 1], "bf16", [2.5, 4, 258, 256]),
        ("a * 2.5", [1, 3], np.float64, [2.5, 7.5]),
        ("float32(a) * float32(3)", [0.1], np.float32, [0.10009765625 * 3]),
        ("int32(a)", [1.5, -1.5, 3e38, np.nan], np.int32, [1, -1, 2**31 - 1, 0]),
        ("cuda.bf16.hfma(a, a, a)", [1.0078125, 3], "bf16", [2.03125, 12]),
        ("cuda.bf16.bfloat16_as_int16(a)", [1.5], np.int16, [0x3FC0]),
        ("cuda.bf16.bfloat16_to_int16_ru(a)", [1.5, -1.5, 1e9], np.int16, [2, -1, 32767]),
        ("cuda.bf16.int64_to_bfloat16_rd(257)", [0], "bf16", [256]),
        ("cuda.bf16.float32_to_bfloat16_ru(a + float32(0))", [1], np.float64, [1]),
        ("cuda.bf16.hadd_sat(a, a)", [0.75, -1, 0.25], "bf16", [1, 0, 0.5]),
        ("a < b", [1, 2, 1], np.bool_, [False, False, True]),
        ("-a", [1, -2], "bf16", [-1, 2]),
        ("abs(a)", [1, -2], np.float32, [1, 2]),
        ("cuda.bfloat16(0.1)", [1], np.float64, [0.10009765625]),
    ],
)  # fmt: skip
def test_bfloat16_in_a_kernel(body: str, values: Any, dtype: Any, expected: Any) -> None:
    """bfloat16 arrays are ml_dtypes' on the host; types and values are Numba's and CUDA's."""
    x = np.array(values, FORMATS["bf16"])
    dtype = FORMATS["bf16"] if dtype == "bf16" else dtype
    found = _run(body, x, np.zeros(x.size, dtype))
    np.testing.assert_array_equal(found.astype(np.float64), np.array(expected, np.float64))


@needs_compiler
def test_the_tables_hold_what_numba_has() -> None:
    """cuda.fp16 and cuda.bf16: each function of the module, and no other."""
    from numba.cuda import bf16, fp16

    left_out = {"atomicAdd", "exp2", "overload"}  # a pointer; math's; Numba's own
    left_out |= {"__half", "bfloat16"}  # the types
    for module, table in ((fp16, formats.FP16), (bf16, formats.BF16)):
        names = {n for n, v in vars(module).items()
                 if callable(v) and not n.endswith(("__", "_ol", "_registry", "_make_unary"))
                 and not isinstance(v, type) and n.strip("_") != "_half"}  # fmt: skip
        assert names - left_out - set(table) == set()
        assert set(table) - names == set()


@needs_compiler
def test_bfloat16_device_arrays_and_arguments() -> None:
    """A device array and a scalar of bfloat16 keep their type."""

    @cuda.jit
    def scale(x, a):
        i = cuda.grid(1)
        x[i] = x[i] * a

    x = cuda.to_device(np.arange(4).astype(FORMATS["bf16"]))
    scale[1, 4](x, ml_dtypes.bfloat16(1.5))
    assert x.copy_to_host().astype(float).tolist() == [0, 1.5, 3, 4.5]


@needs_compiler
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("s = cuda.shared.array(4, cuda.bfloat16)", "Numba has no shared or local"),
        ("s = cuda.local.array(4, cuda.bfloat16)", "Numba has no shared or local"),
        ("cuda.atomic.add(x, 0, x[1])", "x holds bfloat16"),
        ("s = float(x[0])", "Numba has no float for bfloat16"),
        ("s = x[0] if x[1] > x[0] else 1.5", "bfloat16 and float64"),
        ("x[0] = x[1] > x[0]", "does not convert bool to bfloat16"),
        ("x[0] = 1j", "does not convert complex128 to bfloat16"),
        ("s = 1 if x[0] else 2", "does not compile bfloat16 as a condition"),
    ],
)  # fmt: skip
def test_what_numba_does_not_do_with_bfloat16(line: str, message: str) -> None:
    """It is refused by name."""
    kernel = Kernel.from_source(f"@cuda.jit\ndef k(x):\n    {line}\n", "k")
    with pytest.raises(SimtError, match=message):
        kernel[1, 1](np.zeros(4, FORMATS["bf16"]))


@needs_compiler
def test_operations_are_counted_by_their_format() -> None:
    """profile() counts bfloat16 arithmetic under that name; a fused product is two operations."""
    kernel = Kernel.from_source(
        """
@cuda.jit
def k(x):
    i = cuda.grid(1)
    a = x[i]
    if -a * a < a:
        x[i] = cuda.bf16.hfma(a, a, a)
""",
        "k",
    )
    counted = profile(kernel[1, 32], np.ones(32, FORMATS["bf16"])).operations
    assert counted["bfloat16"] == 32 * (2 + 2) and counted["compare bfloat16"] == 32


def test_float16_is_no_condition() -> None:
    """Numba makes invalid code of bool(float16)."""
    kernel = Kernel.from_source("@cuda.jit\ndef k(x):\n    if x[0]:\n        x[1] = 1\n", "k")
    with pytest.raises(SimtError, match="does not compile float16 as a condition"):
        kernel[1, 1](np.zeros(4, np.float16))


@needs_compiler
def test_printing_16_bit_floats(capsys: pytest.CaptureFixture[str]) -> None:
    """As C's %f, as Numba prints them."""

    @cuda.jit
    def k(x, y):
        print(x[0], y[0])

    k[1, 1](np.array([1.5], np.float16), np.array([0.9375], FORMATS["bf16"]))
    assert capsys.readouterr().out == "1.500000 0.937500\n"


def test_float16_in_shared_memory_and_loops() -> None:
    """A sum in float16 is rounded at each step: 2048 + 1 stays 2048."""

    @cuda.jit
    def total(out, x):
        s = cuda.shared.array(2100, np.float16)
        for k in range(x.size):
            s[k] = x[k]
        cuda.syncthreads()
        acc = np.float16(0)
        for k in range(x.size):
            acc += s[k]
        out[0] = acc

    out = np.zeros(1, np.float16)
    total[1, 1](out, np.ones(2100, np.float16))
    assert out[0] == 2048


def test_without_the_wheel_the_message_says_what_to_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only for half precision, and only where numba-cuda is missing."""
    from warpwise.simt import refusals

    monkeypatch.setattr(refusals, "find_spec", lambda name: None)
    assert refusals.without_numba_cuda(["float16", "int64"]).endswith("Use float32.")
    assert refusals.without_numba_cuda(["float32"]) == ""
    monkeypatch.setattr(refusals, "find_spec", lambda name: object())
    assert refusals.without_numba_cuda(["float16"]) == ""
