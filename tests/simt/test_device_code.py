"""What kernels may call, literal arguments, half precision, and the whole grid at a barrier."""

from __future__ import annotations

import importlib.util
import math
from typing import Any

import numba
import numpy as np
import pytest
from numba import float32, uint32

from warpwise.observe import sanitize
from warpwise.simt import BarrierDivergenceError, Kernel, SimtError
from warpwise.simt import api as cuda


@numba.njit
def plus_one(x):
    return x + 1


@cuda.jit
def add_ten(a, i):
    a[i] += 10


@cuda.jit(device=True)
def through_shared(array, dtype, shape, operation, write):
    s = cuda.shared.array(shape, dtype)
    t = cuda.threadIdx.x
    s[t // 4, t % 4] = array[t]
    cuda.syncthreads()
    operation(s, (t // 4, t % 4), dtype(1))
    cuda.syncthreads()
    if write:
        array[t] = s[t // 4, t % 4]


def test_literals_types_and_functions_can_be_passed_on() -> None:
    """A shape, a dtype and an atomic function given to a device function are compile-time."""

    @cuda.jit
    def k(x):
        through_shared(x, uint32, (2, 4), cuda.atomic.add, True)

    x = np.arange(8, dtype=np.uint32)
    k[1, 8](x)
    assert x.tolist() == list(range(1, 9))


def test_kernels_and_cpu_functions_can_be_called() -> None:
    """Numba compiles any jitted function that a kernel calls as a device function."""

    @cuda.jit
    def k(out):
        i = cuda.grid(1)
        out[i] = plus_one(i)
        add_ten(out, i)

    out = np.zeros(4)
    k[1, 4](out)
    assert out.tolist() == [11, 12, 13, 14]


def test_a_global_device_array_is_used_in_place() -> None:
    """Unlike a global NumPy array, it is no constant."""
    shared_state = cuda.to_device(np.arange(4.0))

    @cuda.jit
    def k(out):
        i = cuda.grid(1)
        out[i] = shared_state[i]
        shared_state[i] = -1

    out = np.zeros(4)
    k[1, 4](out)
    assert out.tolist() == [0, 1, 2, 3]
    assert shared_state.copy_to_host().tolist() == [-1] * 4


def test_with_a_signature_errors_show_at_the_definition() -> None:
    """As in Numba, an explicit signature compiles at once."""
    with pytest.raises(SimtError, match="the mask is an integer, not float32"):

        @cuda.jit("void(float32[:], float32)")
        def k(x, m):
            x[0] = cuda.ballot_sync(m, 1)


@pytest.mark.parametrize("name", ["erf", "erfc", "gamma", "lgamma", "sqrt", "sin", "floor"])
def test_math_functions_of_integers_are_float64(name: str) -> None:
    """An integer argument is converted first."""
    text = f"""
import math
@cuda.jit
def k(out, x):
    i = cuda.grid(1)
    out[i] = math.{name}(x[i])
"""
    x = np.arange(1, 6, dtype=np.int32)
    out = np.zeros(5)
    Kernel.from_source(text, "k")[1, 5](out, x)
    np.testing.assert_allclose(out, [getattr(math, name)(int(v)) for v in x], rtol=1e-13)


def test_rounding_to_digits_scales_in_float64() -> None:
    """round(float32(0.3425), 3) is 0.343, as compiled."""

    @cuda.jit
    def k(out, x):
        out[0] = round(x[0], 3)

    out = np.zeros(1, np.float32)
    k[1, 1](out, np.array([0.3425], np.float32))
    wide = float(np.float32(0.3425)) * 1000
    assert out[0] == np.float32(np.rint(wide) / 1000)


HALF: list[tuple[str, Any]] = [
    ("hadd(a, b)", lambda a, b: a + b), ("hsub(a, b)", lambda a, b: a - b),
    ("hmul(a, b)", lambda a, b: a * b), ("hdiv(a, b)", lambda a, b: a / b),
    ("hneg(a)", lambda a, b: -a), ("habs(a)", lambda a, b: abs(a)),
    ("hmax(a, b)", max), ("hmin(a, b)", min), ("hfloor(a)", lambda a, b: np.floor(a)),
    ("hceil(a)", lambda a, b: np.ceil(a)), ("hsqrt(b)", lambda a, b: np.sqrt(b)),
    ("hexp(a)", lambda a, b: np.exp(a)), ("htrunc(a)", lambda a, b: np.trunc(a)),
    ("hrcp(b)", lambda a, b: np.float16(1) / b), ("hrint(a)", lambda a, b: np.rint(a)),
    ("hfma(a, b, a)", lambda a, b: np.float16(float(a) * float(b) + float(a))),
]  # fmt: skip


needs_numba_cuda = pytest.mark.skipif(
    not importlib.util.find_spec("numba_cuda"), reason="needs the numba-cuda wheel (Linux, Windows)"
)


@needs_numba_cuda
@pytest.mark.parametrize(("call", "expected"), HALF)
def test_half_precision_functions(call: str, expected: Any) -> None:
    """cuda.fp16.*: computed wider, rounded once."""
    text = f"@cuda.jit\ndef k(out, x):\n    a, b = x[0], x[1]\n    out[0] = cuda.fp16.{call}\n"
    x = np.array([-1.25, 3.3], np.float16)
    out = np.zeros(1, np.float16)
    Kernel.from_source(text, "k")[1, 1](out, x)
    assert out[0] == np.float16(expected(x[0], x[1]))


def test_half_precision_comparisons_and_types() -> None:
    """Comparisons give bools; other numbers are converted, as Numba does it; arrays are refused."""
    text = "@cuda.jit\ndef k(out, x):\n    out[0] = cuda.fp16.hlt(x[0], x[1])\n"
    out = np.zeros(1)
    Kernel.from_source(text, "k")[1, 1](out, np.array([1, 2], np.float16))
    assert out[0] == 1
    Kernel.from_source(text, "k")[1, 1](out, np.array([1, 1.0001], np.float32))
    assert out[0] == 0  # both are 1 in float16
    with pytest.raises(SimtError, match="hlt does not take array"):
        Kernel.from_source(text.replace("x[0]", "x"), "k")[1, 1](out, np.array([1, 2]))


GRID = """
@cuda.jit
def k(x, out):
    g = cuda.cg.this_grid()
    i = cuda.grid(1)
    x[i] = i
    {sync}
    out[i] = x[x.size - 1 - i]
"""


def test_the_grid_synchronises() -> None:
    """All blocks run side by side; a value stored by the last one is seen by the first."""
    x, out = np.zeros(100_000), np.zeros(100_000)
    kernel = Kernel.from_source(GRID.format(sync="g.sync()"), "k")
    kernel[1000, 100](x, out)
    assert np.array_equal(out, np.arange(100_000)[::-1])
    assert sanitize(kernel[1000, 100], x, out) == []
    broken = Kernel.from_source(GRID.format(sync="cuda.syncthreads()"), "k")
    assert {f.hazard for f in sanitize(broken[10, 100], np.zeros(1000), np.zeros(1000))} == {"RAW"}


def test_a_block_that_misses_the_grids_barrier_is_named() -> None:
    """It would hang on a GPU."""
    text = GRID.format(sync="if cuda.blockIdx.x > 0: g.sync()")
    with pytest.raises(BarrierDivergenceError) as error:
        Kernel.from_source(text, "k")[4, 8](np.zeros(32), np.zeros(32))
    assert str(error.value) == (
        "k: the threads of block (0, 0, 0) do not reach this synchronisation of the grid\n"
        "  line 7:  if cuda.blockIdx.x > 0: g.sync()\n"
        "  On a GPU this hangs. Every block of the launch has to pass it."
    )


def test_float32_casts_by_type_objects() -> None:
    """A type passed along casts."""

    @cuda.jit
    def k(out):
        out[0] = float32(0.1)

    out = np.zeros(1)
    k[1, 1](out)
    assert out[0] == float(np.float32(0.1))


def test_the_signature_that_fits_best_is_chosen() -> None:
    """Of several signatures, the one whose scalars need no conversion."""
    text = """
@cuda.jit(["(float64[::1], float32, float32)", "(float64[::1], float64, float64)"])
def k(out, a, b):
    out[0] = a + b
"""
    out = np.zeros(1)
    Kernel.from_source(text, "k")[1, 1](out, 1.0, 2.0**-25)
    assert out[0] == 1 + 2.0**-25


def test_two_threads_may_launch_a_new_kernel_at_once() -> None:
    """Lowering is done by one host thread at a time."""
    from concurrent.futures import ThreadPoolExecutor

    def launch(number: int) -> float:
        text = f"@cuda.jit\ndef k(out):\n    out[0] = cuda.grid(1) + {number} + out[0] * 2\n"
        out = np.zeros(1)
        Kernel.from_source(text, "k")[1, 1](out)
        return float(out[0])

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(launch, range(32))) == [float(n) for n in range(32)]
