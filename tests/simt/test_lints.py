"""Lints: what is legal and rarely meant is noted, with line, cause and fix.

What is said of float64 is compared with the code that Numba's compiler makes.
"""

from __future__ import annotations

import importlib.util
import math
import random
import re
import warnings
from typing import Any

import numpy as np
import pytest
from numba import cuda, float32, types

from warpwise.observe import profile, sanitize
from warpwise.simt import Kernel, KernelNote

HEADER = "from numba import cuda, float32, float64, int32, int64, uint32, int8\nimport math\n"
PI = math.pi
SCALE = np.float32(0.1)


def test_a_function_without_parentheses_is_noted() -> None:
    """Python and Numba accept the name as a statement; nobody waits."""
    said = (
        "k, line 7: `cuda.syncthreads` without parentheses calls nothing. Write cuda.syncthreads()."
    )
    assert body_notes("for _ in range(2):\n    cuda.syncthreads\nout[i] = x[i]") == [said]
    assert body_notes("cuda.syncthreads()\ncuda.threadIdx.x\ncuda.warpsize\nout[i] = x[i]") == []


def notes(text: str, grid: Any, block: Any, *args: Any, **constants: Any) -> list[str]:
    """Notes of profiling the kernel `k` of a text."""
    kernel = Kernel.from_source(HEADER + text, "k", constants)
    return [note.text for note in profile(kernel[grid, block], *args).notes]


def body_notes(body: str, *more: Any, **constants: Any) -> list[str]:
    """Notes of a kernel with out, x (float32), and i; more arguments are a, b..."""
    names = "".join(f", {name}" for name in "ab"[: len(more)])
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    text = f"@cuda.jit\ndef k(out, x{names}):\n    i = cuda.grid(1)\n{lines}"
    out, x = np.zeros(32, np.float32), np.ones(64, np.float32)
    return notes(text, 1, 32, out, x, *more, **constants)


# -- float64 ------------------------------------------------------------------------------------

#: Body of a kernel -> what is said of it, "" for nothing; line 6 is the first of the body.
FLOAT64 = {
    "out[i] = x[i] * 2.0": "",
    "out[i] = x[i] * 2": "",
    "out[i] = x[i] + 0.5": "",
    "out[i] = 1.0 / x[i]": "",
    "out[i] = x[i] - 1.0": "",
    "t = x[i] - 1.0\nout[i] = t": "",
    "if x[i] > 0.5: out[i] = 1": "",
    "if x[i] > 0: out[i] = 1": "",
    "out[i] = x[i] if x[i] > 0.0 else 0.0": "",
    "out[i] = 0.1": "",
    "out[i] = math.sqrt(x[i]) * 0.5": "",
    "out[i] = x[i] * float32(0.1)": "",
    "out[i] = x[i] * SCALE": "",
    "out[i] = x[i] * x[i + 1] + x[i]": "",
    "out[i] = x[i] * 0.1":
        "`*` is computed in float64, since the number 0.1 is float64. Write float32(0.1).",
    "out[i] = x[i] * PI":
        "`*` is computed in float64, since PI is float64. Write float32(PI).",
    "out[i] = 2.0 * x[i] + x[i + 1]":
        "`*` is computed in float64, since the number 2.0 is float64. Write float32(2.0).",
    "out[i] = x[i] * 0.5 * 0.25":
        "`*` is computed in float64, since the number 0.5 is float64. Write float32(0.5).",
    "t = x[i] * 2.0\nout[i] = t + x[i + 1]":
        "`*` is computed in float64, since the number 2.0 is float64. Write float32(2.0).",
    "if x[i] > 0.1: out[i] = 1":
        "`>` is computed in float64, since the number 0.1 is float64. Write float32(0.1).",
    "out[i] = max(x[i], 0.0)":
        "`max` is computed in float64, since the number 0.0 is float64. Write float32(0.0).",
    "out[i] = x[i] * i":
        "`*` is computed in float64, since Numba makes float64 of float32 and int64. "
        "Convert the integer: float32(i).",
    "out[i] = math.pow(x[i], 0.3)":
        "`math.pow` is computed in float64, since the number 0.3 is float64. Write float32(0.3).",
    "out[i] = math.sin(x[i] * 2.0)":
        "`*` is computed in float64, since the number 2.0 is float64. Write float32(2.0).",
    "acc = 0.0\nfor j in range(8):\n    acc += x[j]\nout[i] = acc":
        "`+` is computed in float64, since acc is float64: line 6 sets it to 0.0. "
        "Write acc = float32(0.0).",
    "acc = 0\nfor j in range(8):\n    acc += x[j]\nout[i] = acc":
        "`+` is computed in float64, since acc is int64: line 6 sets it to 0. "
        "Write acc = float32(0).",
    "t = i / 7\nout[i] = x[i] * t":
        "`*` is computed in float64, since t is float64: line 6 sets it to i / 7. "
        "Write t = float32(i / 7).",
}  # fmt: skip


@pytest.mark.parametrize("body", FLOAT64)
def test_float64_that_creeps_in(body: str) -> None:
    """The line, the variable or the number, and the fix; once, however it spreads."""
    found = [n for n in body_notes(body, PI=PI, SCALE=SCALE) if "float64" in n]
    said = FLOAT64[body]
    assert len(found) == bool(said)
    assert not said or (re.fullmatch(r"k, line \d+: (.*)", found[0], re.S) or [""])[1] == said


def has_float64(body: str) -> bool:
    """Whether Numba's own compiler makes float64 instructions of a body."""
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    scope = {"cuda": cuda, "math": math, "float32": float32, "PI": PI, "SCALE": SCALE}
    exec(f"def k(out, x):\n    i = cuda.grid(1)\n{lines}", scope)
    array = types.float32[::1]
    ptx, _ = cuda.compile(scope["k"], types.void(array, array), output="ptx", cc=(8, 0))
    return ".f64" in ptx


needs_numba_cuda = pytest.mark.skipif(
    not importlib.util.find_spec("numba_cuda"), reason="needs the numba-cuda wheel (Linux, Windows)"
)


@needs_numba_cuda
@pytest.mark.parametrize("body", FLOAT64)
def test_float64_is_noted_where_the_compiler_makes_it(body: str) -> None:
    """Numba's own compiler has float64 instructions for exactly the noted bodies."""
    assert has_float64(body) == bool(FLOAT64[body])


def float32_expression(rng: random.Random, depth: int) -> str:
    """Arithmetic of float32 values, with numbers and integers among them."""
    if depth == 0:
        return rng.choice(["x[i]", "x[i + 1]", "t"])
    inner = float32_expression(rng, depth - 1)
    number = rng.choice(["0.5", "2.0", "3", "0.1", "float32(0.1)", "i"])
    sign = rng.choice("+-*/")
    return rng.choice([
        f"({inner} {sign} {float32_expression(rng, depth - 1)})",
        f"({inner} {sign} {number})", f"({number} {sign} {inner})",
        f"max({inner}, {float32_expression(rng, depth - 1)})", f"abs({inner})",
        f"({inner} if x[i + 2] > {rng.choice(['0.5', '0.1', '0', 't'])} else x[i + 4])",
    ])  # fmt: skip


def mismatch(seed: int) -> str:
    """A random body whose float64 the lint and the compiler see differently; "" for none."""
    rng = random.Random(seed)
    expression = float32_expression(rng, 3)
    first = rng.choice(["x[i + 3]", "0.5 * x[i]", "x[i] - 1", "x[i] * 0.1"])
    if not re.search(r"\bt\b", expression):
        first = "x[i + 3]"  # the compiler drops what nobody reads
    body = f"t = {first}\nout[i] = {expression}"
    said = [n for n in body_notes(body) if "is computed in float64" in n]
    return body if bool(said) != has_float64(body) else ""


@needs_numba_cuda
def test_random_float32_arithmetic_is_noted_as_compiled() -> None:
    """The lint and the compiler agree on which bodies have float64 in them."""
    assert [body for body in map(mismatch, range(25)) if body] == []


@pytest.mark.slow
def test_much_random_float32_arithmetic_is_noted_as_compiled() -> None:
    """The same over more bodies."""
    assert [body for body in map(mismatch, range(1000, 1150)) if body] == []


def test_float64_of_an_argument() -> None:
    """A Python float as an argument is float64: the argument is named."""
    assert body_notes("out[i] = a * x[i]", 2.0) == [
        "k, line 6: `*` is computed in float64, since the argument a is float64. "
        "Pass np.float32(a), or write float32(a)."
    ]
    assert body_notes("out[i] = a * x[i]", np.float32(2)) == []


def test_float64_that_is_asked_for_is_not_noted() -> None:
    """Arrays of float64 and explicit casts are meant."""
    wide = np.ones(64)
    assert body_notes("out[i] = a[i] * x[i]", wide) == []
    assert body_notes("out[i] = float64(x[i]) * 0.1") == []
    assert body_notes("acc = float64(0)\nacc += x[i]\nout[i] = acc") == []
    assert body_notes("s = a[i]\nout[i] = s * x[i]", wide) == []


def test_a_number_that_no_float32_equals() -> None:
    """x == 0.1 compares in float64 and is never true."""
    assert body_notes("if x[i] == 0.1: out[i] = 1") == [
        "k, line 6: `x[i] == 0.1` is never true, since no float32 is 0.1 and the comparison is "
        "made in float64. Write float32(0.1)."
    ]
    assert "is always true" in body_notes("if x[i] != 0.1: out[i] = 1")[0]
    assert body_notes("if x[i] == 0.25: out[i] = 1") == []
    assert body_notes("if x[i] == float32(0.1): out[i] = 1") == []


# -- integers -----------------------------------------------------------------------------------


def test_an_index_that_leaves_32_bits() -> None:
    """Numba's own products are int64; a cast to int32 cuts them."""
    text = "@cuda.jit\ndef k(out, n):\n    i = cuda.grid(1)\n    out[i] = {}\n"
    out = np.zeros(64, np.int64)
    assert notes(text.format("cuda.threadIdx.x * n"), 2, 32, out, np.int32(2**30)) == []
    assert out[31] == 31 * 2**30
    assert notes(text.format("int32(cuda.threadIdx.x * n)"), 2, 32, out, np.int32(2**30)) == [
        "k, line 6: int32(cuda.threadIdx.x * n) does not hold the number.\n"
        "  out[i] = int32(cuda.threadIdx.x * n)\n"
        "  block (0, 0, 0), thread (2, 0, 0), and others: 2,147,483,648 becomes -2,147,483,648. "
        "Leave the cast out: Numba's integers are int64. For the bits, use uint32."
    ]
    assert notes(text.format("int32(cuda.threadIdx.x * n)"), 2, 32, out, np.int32(2**20)) == []
    assert notes(text.format("uint32(i * 2654435761)"), 2, 32, out, 1) == []  # a hash


def test_only_active_lanes_overflow() -> None:
    """What a guard keeps out is not noted."""
    text = """
@cuda.jit
def k(out, n):
    i = cuda.grid(1)
    if i < 2:
        out[i] = int32(i * n)
"""
    assert notes(text, 1, 32, np.zeros(32, np.int64), 2**30) == []


def test_a_number_that_does_not_fit_into_the_array() -> None:
    """Counters notice a store that is cut; one that fits is silent."""
    text = "@cuda.jit\ndef k(out, n):\n    i = cuda.grid(1)\n    out[i] = i * n\n"
    found = notes(text, 1, 32, np.zeros(32, np.int32), 2**27)
    assert found == [
        "k, line 6: a number does not fit into out, which holds int32.\n  out[i] = i * n\n"
        "  block (0, 0, 0), thread (16, 0, 0), and others: 2,147,483,648 becomes -2,147,483,648. "
        "Give out a wider type."
    ]
    assert notes(text, 1, 32, np.zeros(32, np.int32), 2**26) == []


@pytest.mark.parametrize("expression", ["i // n", "i % n", "divmod(i, n)[0]"])
def test_an_integer_division_by_zero(expression: str) -> None:
    """A launch says so, and goes on with 0 as compiled code does."""
    text = f"@cuda.jit\ndef k(out, n):\n    i = cuda.grid(1)\n    out[i] = {expression}\n"
    kernel = Kernel.from_source(HEADER + text, "k")
    out = np.ones(4, np.int64)
    with pytest.warns(KernelNote, match="an integer is divided by zero"):
        kernel[1, 4](out, 0)
    assert not out.any()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel[1, 4](out, 3)
    assert [f.kind for f in sanitize(kernel[1, 4], out, 0)] == ["zero_division"]


def test_the_learners_names_stay_theirs() -> None:
    """A variable may be called as the checks of the generated source are."""
    text = """
@cuda.jit
def k(out, divisor):
    fitted = int32(divisor // 2)
    out[0] = 100 // divisor + fitted
"""
    out = np.zeros(1, np.int64)
    assert notes(text, 1, 1, out, 7) == []
    assert out[0] == 14 + 3


def test_a_guarded_division_is_not_noted() -> None:
    """Lanes whose divisor is zero do not divide."""
    text = """
@cuda.jit
def k(out):
    i = cuda.grid(1)
    if i > 0:
        out[i] = 100 // i
"""
    assert notes(text, 1, 32, np.zeros(32, np.int64)) == []


def test_a_negative_index_names_the_element() -> None:
    """At run time and as a constant: which thread, which index, which element it means."""
    text = "@cuda.jit\ndef k(out):\n    i = cuda.grid(1)\n    out[i - 1] = 1\n"
    assert notes(text, 1, 32, np.zeros(32, np.float32)) == [
        "k, line 6: a negative index into out was used; it counts from the end, here and on a "
        "GPU.\n  out[i - 1] = 1\n"
        "  block (0, 0, 0), thread (0, 0, 0): -1 means 31 of 32. Guard the index if this is not "
        "meant."
    ]
    text = "@cuda.jit\ndef k(out):\n    i = cuda.grid(1)\n    out[i] = out[-2]\n"
    assert "-2 means 30 of 32" in notes(text, 1, 32, np.zeros(32, np.float32))[0]
    text = "@cuda.jit\ndef k(out):\n    i = cuda.grid(1)\n    out[out.size - 1] = 1\n"
    assert notes(text, 1, 1, np.zeros(32, np.float32)) == []
