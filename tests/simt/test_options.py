"""Options and explicit signatures of @cuda.jit: accepted or refused as by Numba."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from numba import jit as cpu_jit

from warpwise.simt import LaunchError, OptionError, SimtError
from warpwise.simt import api as cuda


def store_one(out):
    out[cuda.grid(1)] = 1


def add(r, x, y):
    r[0] = x + y


def number(x, y):
    return x + y


@pytest.mark.parametrize(
    "options",
    [
        {"fastmath": True}, {"inline": "always"}, {"forceinline": True}, {"opt": False},
        {"lineinfo": True}, {"cache": True}, {"max_registers": 32}, {"launch_bounds": (64, 2)},
        {"debug": True, "opt": False}, {"link": []}, {"lto": False}, {"extensions": []},
        {"shared_memory_carveout": "MaxL1"}, {"shared_memory_carveout": 50},
    ],
)  # fmt: skip
def test_options_of_the_compiler_are_accepted(options: Any) -> None:
    """They change no value."""
    out = np.zeros(4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        cuda.jit(**options)(store_one)[1, 4](out)
    assert out.tolist() == [1] * 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fastmth": True}, "@cuda.jit has no option fastmth.\n  Did you mean fastmath?"),
        ({"nopython": True}, "no option nopython.\n  Leave it out: @cuda.jit always compiles."),
        ({"parallel": True}, "a kernel is parallel by its launch"),
        ({"boundscheck": True}, "the simulator always checks"),
        ({"argtypes": ()}, "Give the signature as the first argument"),
        (
            {"launch_bounds": (1, 2, 3, 4)},
            "Got 4 launch bounds: (1, 2, 3, 4). There are one to three",
        ),
        ({"launch_bounds": 0}, "launch_bounds is made of positive integers, got 0"),
        ({"max_registers": "x"}, "max_registers is a positive integer, got 'x'"),
        (
            {"shared_memory_carveout": 101},
            "must be between -1 and 100, got 101",
        ),
        (
            {"shared_memory_carveout": "most"},
            "Invalid carveout value: 'most'",
        ),
        ({"device": True, "link": ["a.cu"]}, "link is for kernels, not for device functions"),
    ],
)
def test_other_options_are_refused(options: Any, message: str) -> None:
    """At the decorator, with what to write instead."""
    with pytest.raises(OptionError) as error:
        cuda.jit(**options)(store_one)
    assert message in str(error.value)


def test_debug_warns_as_numba_does() -> None:
    """debug=True alone keeps optimisation on, which CUDA does not support."""
    with pytest.warns(UserWarning, match="debug=True needs opt=False, too"):
        cuda.jit(debug=True)(store_one)
    with pytest.warns(UserWarning, match="debug=True and lineinfo=True exclude each other"):
        cuda.jit(debug=True, opt=False, lineinfo=True)(store_one)


def test_launch_bounds_limit_the_block() -> None:
    """A launch with more threads fails on a GPU."""
    kernel = cuda.jit(launch_bounds=128)(store_one)
    kernel[1, (64, 2)](np.zeros(128))
    with pytest.raises(LaunchError, match="compiled with launch_bounds=128, and a block has 256"):
        kernel[1, 256]


def test_the_best_of_several_signatures() -> None:
    """Exact, then by safe conversions; a tie is refused, and so is what cannot be converted."""
    kernel = cuda.jit(["(float64[::1], int64, int64)", "(float64[::1], float32, float64)"])(add)
    r = np.zeros(1)
    kernel[1, 1](r, 2**53 + 1, 0)
    assert r[0] == float(2**53 + 1)
    kernel[1, 1](r, np.float32(0.1), 1.0)
    assert r[0] == float(np.float32(0.1)) + 1
    with pytest.raises(LaunchError) as error:
        kernel[1, 1](r, 1j, 2.0)
    assert "argument x: got 1j, and the signature of the kernel says int64" in str(error.value)
    tied = cuda.jit(["(float64[:], float32, float64)", "(float64[:], float64, float32)"])(add)
    with pytest.raises(LaunchError) as error:
        tied[1, 1](r, 1.0, 2.0)
    assert "add: these arguments fit two of its signatures equally well" in str(error.value)


def test_integers_of_one_size_are_taken_for_each_other() -> None:
    """As on a GPU, where a signature is not checked: the bits of an int32 as uint32."""

    @cuda.jit("void(uint32[:], float64[:])")
    def k(x, out):
        i = cuda.grid(1)
        out[i] = x[i]
        x[i] += 1

    x, out = np.array([-1, 5], np.int32), np.zeros(2)
    k[1, 2](x, out)
    assert out.tolist() == [2**32 - 1, 5]
    assert x.tolist() == [0, 6]
    with pytest.raises(LaunchError, match=r"k was compiled for .*uint32, 1d, A.* only"):
        k[1, 2](np.zeros(2, np.float32), out)


def test_signatures_of_device_functions() -> None:
    """The call is converted to the signature that fits best; none fits a complex number."""
    function = cuda.jit(["(int64, int64)", "(float64, float64)"], device=True)(number)

    @cuda.jit
    def k(r, x, y):
        r[0] = function(x, y)

    r = np.zeros(1)
    k[1, 1](r, 1, 2)
    assert r[0] == 3
    k[1, 1](r, np.float32(0.5), 2)
    assert r[0] == 2.5
    with pytest.raises(SimtError) as error:
        k[1, 1](np.zeros(1, np.complex128), 1j, 1j)
    assert "function was compiled for (int64, int64); (float64, float64) only" in str(error.value)


def test_a_cpu_function_with_a_signature_cannot_be_called() -> None:
    """Numba compiles it for the CPU only."""
    host = cpu_jit("(i4, i4)")(number)

    @cuda.jit
    def k(out):
        out[0] = host(1, 2)

    with pytest.raises(SimtError, match="host was compiled for the CPU, with a signature"):
        k[1, 1](np.zeros(1))


def test_foreign_code_is_refused_by_name() -> None:
    """Linked C and @intrinsic cannot run here."""
    numba_cuda = pytest.importorskip("numba.cuda")
    from numba.cuda.extending import intrinsic

    times2 = numba_cuda.declare_device("times2", "int32(int32)")

    @intrinsic
    def identity(context, x):
        return None

    @cuda.jit
    def calls_c(out):
        out[0] = times2(1)

    @cuda.jit
    def calls_intrinsic(out):
        out[0] = identity(1)

    with pytest.raises(SimtError, match=r"times2 is code in C or C\+\+ \(cuda.declare_device\)"):
        calls_c[1, 1](np.zeros(1))
    with pytest.raises(SimtError, match="identity is an @intrinsic"):
        calls_intrinsic[1, 1](np.zeros(1))
