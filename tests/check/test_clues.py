"""Clues from the text of an answer: & between comparisons, guards, NumPy's roundings."""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil as whole
from typing import Any

import numpy as np
import pytest
from numba import cuda
from numpy import ceil

from tests.check.answers import GUARDED
from tests.check.test_functions import BLOCKS
from warpwise.check import FunctionSpec, clues, judge
from warpwise.simt import Kernel
from warpwise.simt.api import jit

HEAD = "from numba import cuda\n\n@cuda.jit\ndef image(out, a, h, w):\n    x, y = cuda.grid(2)\n"


@jit
def ampersand(out, a, b, n):
    i = cuda.grid(1)
    if i < n & i < out.size:
        out[i] = a[i] + b[i]


@jit
def bar(out, a, b, n):
    i = cuda.grid(1)
    if 0 > i | i > n:
        return
    out[i] = a[i] + b[i]


@jit
def guard_too_wide(out, a, b, n):
    i = cuda.grid(1)
    if i <= n:
        out[i] = a[i] + b[i]


@jit
def return_too_late(out, a, b, n):
    i = cuda.grid(1)
    if i > n:
        return
    out[i] = a[i] + b[i]


@jit
def loop_too_long(out, a, b, n):
    i = cuda.grid(1)
    while i <= n:
        out[i] = a[i] + b[i]
        i += cuda.gridsize(1)


@jit
def condition_elsewhere(out, a, b, n):
    i = cuda.grid(1)
    total = a[i] + b[i]
    if i < n:
        out[i] = total


@jit(device=True)
def total_of(a, b, i):
    return a[i] + b[i]


@jit
def fault_in_a_device_function(out, a, b, n):
    i = cuda.grid(1)
    if i <= n:
        out[i] = total_of(a, b, i)


def np_ceil(n, threads):
    return np.ceil(n / threads)


def imported_ceil(n, threads):
    return ceil(n / threads)


def ceil_of_math(n, threads):
    return float(whole(n / threads))


def np_floor_too_small(n, threads):
    return np.floor(n / threads)


def condition(text: str) -> str | None:
    kernel = Kernel.from_source(f"{HEAD}    if {text}:\n        out[y, x] = 1\n", "image")
    return clues.bitwise(kernel.source)


def loads_twice(body: str) -> str | None:
    kernel = Kernel.from_source(f"{HEAD}    {body}\n", "image")
    return clues.loaded_again(kernel.source, {line: {"a"} for line in range(20)})


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("if a[y, x] > 0:\n        out[y, x] = a[y, x]",
         "a[y, x] is loaded in line 6 and again in line 7.  Load it once, into a variable."),
        ("out[y, x] = a[y, x] * a[y, x]",
         "a[y, x] is loaded in line 6 more than once.  Load it once, into a variable."),
    ],
)  # fmt: skip
def test_an_element_that_is_loaded_twice_is_named(body: str, said: str) -> None:
    """With both lines, or with the one that has it twice."""
    assert loads_twice(body) == said


@pytest.mark.parametrize(
    "body",
    ["v = a[y, x]\n    out[y, x] = v * v", "v = a[y, x]\n    x += 1\n    out[y, x] = v + a[y, x]",
     "v = a[y, x]\n    a[y, 0] = v\n    out[y, x] = a[y, x]", "out[y, x] = a[y, x] + a[y, x + 1]",
     "out[y, x] = out[y, x] + out[y, x]"],
)  # fmt: skip
def test_other_elements_and_changed_ones_are_not(body: str) -> None:
    """Another index, an index or an array that changed in between, an array that is not loaded."""
    assert loads_twice(body) is None


def test_an_ampersand_between_comparisons_is_the_cause() -> None:
    """Whatever else the values look like."""
    record = judge(GUARDED, ampersand)
    line = ampersand.source.tree.body[1].lineno

    assert record.diagnosis == "bitwise_in_comparison"
    assert record.report is not None
    assert record.report.cause == (
        f"In line {line}, & binds tighter than <: Python reads i < (n & i) < out.size.  "
        "Write and instead of &."
    )
    assert record.report.next == "In which order does Python read the condition?"
    assert record.report.plain == (
        "Put and between two comparisons, or or.  Where you want & or |, put each comparison in "
        "parentheses."
    )


def test_a_guard_spoilt_by_a_bar_lets_threads_through() -> None:
    """A thread that is stopped gets the same cause, under its own diagnosis."""
    record = judge(GUARDED, bar)
    line = bar.source.tree.body[1].lineno

    assert record.diagnosis == "out_of_bounds"
    assert record.report is not None
    assert record.report.what.splitlines()[-1] == (
        "  The guard lets this thread through: compare its condition with the index."
    )
    assert record.report.cause == (
        f"In line {line}, | binds tighter than >: Python reads 0 > (i | i) > n.  Write or instead "
        "of |."
    )
    assert record.report.next == "In which order does Python read the condition?"


@pytest.mark.parametrize(
    "text",
    ["x < w & y < h", "x >= 0 & x < w", "(x < w) & y < h", "x < w & (y < h)", "x < w | y < h",
     "x < w & y < h & x > 0", "(x) < w & y < (h)", "x < w and x < w & y < h",
     "not x >= w | y >= h"],
)  # fmt: skip
def test_the_slip_is_seen(text: str) -> None:
    """Chains that & or | make out of two comparisons."""
    assert condition(text) is not None


@pytest.mark.parametrize(
    "text",
    ["x & 1 == 0", "x & w == 0", "x == y & w", "(x < w) & (y < h)", "x < (w & y) < h",
     "x < w and y < h", "0 <= x < w", "(x | y) < h", "(x < w) | (y < h) & (x > 0)", "x + y < h",
     "((x < w) & (y < h)) == True"],
)  # fmt: skip
def test_bits_on_purpose_are_no_slip(text: str) -> None:
    """Bit tests, and comparisons in parentheses."""
    assert condition(text) is None


@pytest.mark.parametrize("answer", [guard_too_wide, return_too_late, loop_too_long])
def test_a_guard_that_lets_a_thread_through_is_named(answer: Any) -> None:
    """Advice to add a guard is no help to whoever has one."""
    message = judge(GUARDED, answer).message

    assert (
        "         The guard lets this thread through: compare its condition with the index.\n  next"
    ) in message
    assert "Guard the access" not in message


@pytest.mark.parametrize("answer", [condition_elsewhere, fault_in_a_device_function])
def test_a_line_without_a_condition_keeps_the_advice(answer: Any) -> None:
    """The simulator's own last line, where no condition of the kernel is in front."""
    message = judge(GUARDED, answer).message

    assert "Guard the access: let a thread work only while its index is below the size." in message


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (np_ceil, "The value is right, but its type is float.  np.ceil returns a float; math.ceil "
                  "returns an int."),
        (imported_ceil, "The value is right, but its type is float.  NumPy's ceil returns a float; "
                        "math.ceil returns an int."),
        (np_floor_too_small, "np.floor returns a float; math.floor returns an int."),
        (ceil_of_math, "The value is right, but its type is float.  A division with / gives a "
                       "float, also when it comes out even; // gives an integer."),
    ],
)  # fmt: skip
def test_a_float_from_numpys_rounding_is_explained(answer: Any, said: str) -> None:
    """np.ceil is to blame, not the division; and a right value is said to be right."""
    record = judge(BLOCKS, answer)

    assert record.diagnosis == "wrong_type"
    assert record.report is not None and record.report.cause == said


def test_a_float_inside_a_tuple_is_explained() -> None:
    """The first value of another type."""

    def grids(rng: np.random.Generator, level: str) -> Iterator[tuple[int]]:
        yield (8,)

    spec = FunctionSpec("grid", "t0", 1, grids, reference=lambda n: (n // 4, 1))
    record = judge(spec, lambda n: (n / 4, 1))

    assert record.report is not None
    assert record.report.what == "value 0 is 2.0, a float; expected an int"
    assert record.report.cause.startswith("The value is right, but its type is float.  A division")
