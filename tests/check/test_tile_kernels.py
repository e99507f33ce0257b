"""Checks of Triton kernels: right answers pass, each mistake gets its diagnosis."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("triton", reason="Triton has wheels for Linux only")

from tests.check import tile_answers
from tests.check.tile_answers import ADD, MATMUL, RIGHT, SOFTMAX, WRONG
from warpwise.check import Traffic, judge


def name_of(value: object) -> str:
    return getattr(value, "__name__", getattr(value, "name", str(value)))


@pytest.mark.parametrize(("spec", "answer"), RIGHT, ids=name_of)
def test_a_right_kernel_passes(spec, answer) -> None:
    for level, seed in (("student", 0), ("grader", 1)):
        record = judge(spec, answer, seed, level)

        assert (record.status, record.points) == ("pass", spec.points), record.message
        assert record.label == "counted, Triton's interpreter"


@pytest.mark.parametrize(("spec", "answer", "diagnosis"), WRONG, ids=name_of)
def test_a_mistake_gets_its_diagnosis(spec, answer, diagnosis) -> None:
    for level, seed in (("student", 0), ("grader", 1)):
        record = judge(spec, answer, seed, level)

        assert (record.status, record.diagnosis) == ("fail", diagnosis), record.message
        assert "  next   " in record.message
        assert "thread" not in record.message and "Traceback" not in record.message


def test_a_hole_is_todo() -> None:
    assert judge(ADD, tile_answers.add_todo).status == "todo"
    assert judge(ADD, None).status == "todo"


def test_the_message_of_a_missing_mask() -> None:
    """Pointer, program, line, offsets, and the launch as it is written."""
    message = judge(ADD, tile_answers.add_unmasked).message

    assert "add_unmasked[(1,)](out, x, y, n, BLOCK=32) with n = 1" in message
    assert "program 0 loads outside x, which has 1 element:" in message
    assert "tl.load has no mask here" in message


def test_the_message_of_wrong_values_names_programs() -> None:
    message = judge(ADD, tile_answers.add_first_program).message

    assert "not stored" in message and "nobody" in message
    assert "does not tell its 2 programs apart" in message


def test_the_message_of_too_many_bytes_shows_lines() -> None:
    message = judge(ADD, tile_answers.add_twice_loaded).message

    assert "12,000 bytes loaded, where at most 8,000 are allowed" in message


def test_what_the_first_programs_touch_is_limited() -> None:
    """Each element once, of one pointer or of all."""
    spec = replace(
        MATMUL, compiled=(), traffic=(Traffic("touched", lambda case: 3000, first=2),)
    )  # fmt: skip
    message = judge(spec, tile_answers.matmul).message

    assert "3,072 different bytes loaded by the first 2 programs" in message
    one = replace(spec, traffic=(Traffic("touched", lambda case: 1024, pointer="B", first=2),))
    assert judge(one, tile_answers.matmul).status == "pass"


def test_the_message_of_a_wrong_stride() -> None:
    message = judge(SOFTMAX, tile_answers.softmax_packed_rows).message

    assert "has shape (3, 7) and strides 12, 1 here" in message


def test_the_message_of_a_short_sum_names_its_line() -> None:
    line = tile_answers.matmul_half_sum.fn.__code__.co_firstlineno + 7

    assert (
        f"line {line} keeps the sum in float16"
        in judge(MATMUL, tile_answers.matmul_half_sum).message
    )
