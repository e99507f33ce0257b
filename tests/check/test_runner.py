"""The runner: the simulator first, then the GPU where there is one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import warpwise
from tests.check import answers
from tests.check.answers import GUARDED
from warpwise.check import judge, runner
from warpwise.check.runner import DeviceError


class Dispatcher:
    """Stands in for Numba's dispatcher on a machine without a GPU: `launch` gets the arguments."""

    def __init__(self, kernel: Any, launch: Any) -> None:
        self.py_func = kernel.py_func
        self.launch = launch
        self.launches = 0

    def __getitem__(self, shape: Any) -> Any:
        def call(*args: Any) -> None:
            self.launches += 1
            self.launch(*args)

        return call


@pytest.fixture
def gpu(monkeypatch) -> None:
    """A machine that says it has a GPU."""
    monkeypatch.setattr(warpwise, "backend", lambda: "gpu")
    monkeypatch.setattr(runner, "label", lambda answer: "values from a test")


def add(out: np.ndarray, a: np.ndarray, b: np.ndarray, n: int) -> None:
    out[:n] = a[:n] + b[:n]


def test_values_come_from_the_gpu(gpu) -> None:
    """The simulator finds nothing, the GPU's values are wrong: that is a fail."""
    right, wrong = Dispatcher(answers.right, add), Dispatcher(answers.right, lambda *args: None)

    assert judge(GUARDED, right).status == "pass"
    assert right.launches == 7
    assert judge(GUARDED, wrong).status == "fail"


def test_an_index_outside_an_array_never_reaches_the_gpu(gpu) -> None:
    """It could take the whole process down."""
    answer = Dispatcher(answers.no_guard, add)

    assert judge(GUARDED, answer).diagnosis == "out_of_bounds"
    assert answer.launches == 0


def test_what_the_simulator_cannot_run_is_run_on_the_gpu_and_said(gpu) -> None:
    """With a note, since nobody counted the stores."""
    record = judge(GUARDED, Dispatcher(answers.comprehension, add))

    assert record.status == "pass"
    assert record.findings == (
        "not simulated: comprehension: a list comprehension cannot be used in a kernel",
    )


def test_an_error_of_the_gpu_is_the_answers(gpu) -> None:
    """A compiler or driver error is shown with the launch, not as a fault of ours."""

    def fails(*args: Any) -> None:
        raise RuntimeError("no room")

    record = judge(GUARDED, Dispatcher(answers.right, fails))

    assert record.diagnosis == "launch"
    assert "  what   on the GPU: RuntimeError: no room\n" in record.message


def test_a_typing_error_of_numba_is_called_one() -> None:
    """By the class that Numba's compiler raises."""
    from numba.core.errors import TypingError

    assert DeviceError(TypingError("no such type")).diagnosis == "typing"


@pytest.mark.gpu
def test_a_real_kernel_is_judged_on_the_gpu() -> None:
    """The same answers, compiled by Numba."""
    from numba import cuda

    def compiled(kernel: Any) -> Any:
        return cuda.jit(kernel.py_func)

    assert judge(GUARDED, compiled(answers.right)).status == "pass"
    assert judge(GUARDED, compiled(answers.thread_only)).diagnosis == "only_first_block"
    assert judge(GUARDED, compiled(answers.no_guard)).diagnosis == "out_of_bounds"
