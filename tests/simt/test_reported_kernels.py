"""Small kernels as users report them, against the same thread body compiled by Numba for the CPU.

Those in FAST run always; the others, whose compilation takes a while, with the slow tests.
"""

from __future__ import annotations

import cmath
import linecache
import math
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
import pytest

from tests.simt.reported_kernels import CASES, Case, Color, Point
from warpwise.simt import SimtError, api

cuda: Any = api
THREADS = 8
FAST = ("nested_breaks", "cond_array_if", "and_chain_mem", "hash32", "tuple_slice", "type_widen")


def _run(name: str, text: str, names: dict[str, Any]) -> dict[str, Any]:
    """The names of a text that Python knows the source of."""
    filename = f"<reported {name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec"), names)
    return names


def _names(case: Case, device: Callable[..., Any]) -> dict[str, Any]:
    widths = (8, 16, 32, 64)
    types = ["boolean", "complex64", "complex128", "float32", "float64"]
    types += [f"{sign}int{bits}" for sign in ("", "u") for bits in widths]
    return {
        **{name: getattr(numba, name) for name in types},
        **{"math": math, "cmath": cmath, "np": np, "Point": Point, "Color": Color},
        **{"cuda": cuda, "device": device, **case.names},
    }


def _check(name: str) -> None:
    case = CASES[name]
    lines = "".join(f"    {line}\n" for line in case.body.strip("\n").splitlines())
    kernel_text = f"{case.device}def k({case.parameters}):\n    i = cuda.grid(1)\n{lines}"
    body_text = f"{case.device}def k({case.parameters}, i):\n{lines}"
    found, want = ([a.copy() if isinstance(a, np.ndarray) else a for a in case.args]
                   for _ in range(2))  # fmt: skip
    made = _run(f"{name} kernel", kernel_text, _names(case, cuda.jit(device=True)))
    cuda.jit(made["k"])[1, THREADS](*found)
    body = numba.njit(_run(f"{name} body", body_text, _names(case, numba.njit))["k"])
    for thread in range(THREADS):
        body(*want, thread)
    for ours, theirs in zip(found, want, strict=True):
        if isinstance(ours, np.ndarray) and ours.dtype.names:
            assert ours.tobytes() == theirs.tobytes()
        elif isinstance(ours, np.ndarray):
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FAST)
def test_a_reported_kernel_gives_what_compiled_code_gives(name: str) -> None:
    """Control flow, types, arrays that are one thing or the other."""
    _check(name)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in CASES if name not in FAST])
def test_every_reported_kernel_gives_what_compiled_code_gives(name: str) -> None:
    """The others."""
    _check(name)


def test_there_are_as_many_as_a_day_of_reports() -> None:
    """The collection is not lost."""
    assert len(CASES) > 100
    assert set(FAST) <= set(CASES)


@cuda.jit
def _starts_another(x: Any) -> None:
    _draws[1, 4](x)


@cuda.jit
def _draws(x: Any) -> None:
    x[0] = np.random.rand()


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (_starts_another, r"a kernel cannot start another one\n.*\n  Call _draws\(\.\.\.\)"),
        (_draws, r"np.random.rand cannot be called in a kernel\n.*\n  .*create_xoroshiro128p"),
    ],
)
def test_reported_kernels_that_numba_refuses_too(kernel: Any, message: str) -> None:
    """The message says what to write instead."""
    with pytest.raises(SimtError, match=message):
        kernel[1, 1](np.zeros(4))
