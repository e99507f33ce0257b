"""Facts of the compiled code: told after values and costs, left out with a note where no compiler
is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from warpwise.check import Case, CompiledFact, KernelSpec, cases, judge
from warpwise.compiler import toolchain
from warpwise.simt import Kernel
from warpwise.simt.api import jit

from numba import cuda, float32  # isort: skip

pytest.importorskip("numba_cuda", reason="numba-cuda has no wheel for this system")


def halves(rng: np.random.Generator, level: cases.Level) -> Iterator[Case]:
    for n in (33, 64):
        args = {"out": np.zeros(n, np.float32), "x": cases.values(rng, (n,))}
        yield Case(args, 1, 64)


def single(code: Any) -> str | None:
    here = f"{code.float64} float64 instructions on {code.architecture}."
    return here if code.float64 else None


HALF = KernelSpec(
    "half", "t0_00_test", 3, ("out",), halves, lambda case: {"out": case.args["x"] / 2},
    causes={"float64_in_code": "A literal is a float64."},
    compiled=(CompiledFact("sm_80", single, "float64_in_code"),),
    counted=lambda: next(halves(np.random.default_rng(5), "student")),
)  # fmt: skip
SINGLE = """
@cuda.jit
def half(out, x):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * np.float32(0.5)
"""


@jit
def half(out, x):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * float32(0.5)


@jit
def double(out, x):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * 0.25 + 0.25 * x[i]


@jit
def wrong(out, x):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i] * 0.25


def test_a_kernel_whose_code_is_as_asked_passes() -> None:
    """Live, and from its text alone as a grader has it."""
    assert judge(HALF, half).status == "pass"
    assert judge(HALF, Kernel.from_source(SINGLE, "half")).status == "pass"


def test_code_that_is_not_as_asked_fails_with_the_fact() -> None:
    """The values are right; the message has the fact and its cause."""
    text = SINGLE.replace("x[i] * np.float32(0.5)", "x[i] * 0.25 + 0.25 * x[i]")
    for answer in (double, Kernel.from_source(text, "half")):
        record = judge(HALF, answer)
        assert (record.status, record.diagnosis) == ("fail", "float64_in_code")
        assert "float64 instructions on sm_80" in record.message
        assert "A literal is a float64." in record.message


def test_wrong_values_come_first() -> None:
    """Nobody is told of float64 while the values are wrong."""
    assert judge(HALF, wrong).diagnosis == "wrong_values"


def test_without_a_compiler_the_record_says_what_was_left_out(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The rest is judged: right values pass, wrong ones do not."""
    monkeypatch.setattr(toolchain, "find_spec", lambda name: None)
    record = judge(HALF, double)
    assert record.status == "pass"
    assert any("the machine code was not judged here" in one for one in record.findings)
    assert judge(HALF, wrong).status == "fail"


def test_facts_need_a_launch_to_compile_for() -> None:
    """A spec without one is a mistake of the course."""
    with pytest.raises(ValueError, match="no counted case"):
        KernelSpec("h", "t0", 1, ("out",), halves, HALF.reference, compiled=HALF.compiled)
