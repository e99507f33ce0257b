"""Rows of a small class, made by hand: nothing is graded."""

from __future__ import annotations

from dataclasses import replace

from grading.reasons import (
    GRADED,
    GRADER_ERROR,
    NEEDS_HUMAN,
    NOT_SUBMITTED,
    WITHOUT_POINTS,
    Note,
)
from grading.results import ExerciseResult, Final, Result

RIGHT = "def ceil_div(n, d):\n    return -(-n // d)\n"
WRONG = "def ceil_div(n, d):\n    return n // d\n"


def verdict(source: str = RIGHT, passed: bool = True, name: str = "ceil_div") -> ExerciseResult:
    """One exercise of two points."""
    return ExerciseResult(
        name,
        "pass" if passed else "fail",
        2.0 if passed else 0.0,
        2.0,
        None if passed else "rounds_down",
        "correct" if passed else "expected 4, got 3",
        "computed on this machine",
        3,
        source,
    )


def graded(student: str, *verdicts: ExerciseResult, **more: object) -> Result:
    """A row that was graded: the points of its exercises out of 2 each."""
    verdicts = verdicts or (verdict(),)
    points = sum(one.points for one in verdicts)
    return replace(
        Result(student, student, "toy", GRADED, "", points, 2.0 * len(verdicts), verdicts), **more
    )


def without(student: str, status: str, **more: object) -> Result:
    """A row without exercises."""
    points = None if status in WITHOUT_POINTS else 0.0
    notes = (Note(status, f"It is {status}."),)
    return replace(Result(student, student, "toy", status, status, points, 2.0, (), notes), **more)


def small_class() -> list[Result]:
    """ada 2 of 2, bob 1.5 after lateness, cyd waits for a person, dan met a fault, eve nothing."""
    late = Final(1.5, 2.0, {"ceil_div": 2.0}, 1, "", ("1 day late: 25 percent less",))
    return [
        graded("ada", name="Ada Lovelace", email="ada@example.org"),
        graded("bob", name="Bob Żółć", email="bob@example.org", final=late),
        without("cyd", NEEDS_HUMAN, email="cyd@example.org"),
        without("dan", GRADER_ERROR),
        without("eve", NOT_SUBMITTED),
    ]
