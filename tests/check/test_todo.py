"""Todo: decided from the source of an answer, before anything runs."""

from __future__ import annotations

import pytest

from tests.check import answers
from warpwise.check import todo


def only_docstring():
    """Nothing else."""


def only_pass():
    pass


def only_ellipsis():
    """Text."""
    ...


def raises_class():
    raise NotImplementedError


def raises_message():
    raise NotImplementedError("write me")


def raises_late(n):
    n += 1
    raise NotImplementedError


def raises_in_branch(n):
    if n:
        raise NotImplementedError
    return n


def returns_none():
    return None


def raises_other():
    raise ValueError


@pytest.mark.parametrize(
    "answer",
    [None, ..., NotImplemented, only_docstring, only_pass, only_ellipsis, raises_class,
     raises_message, answers.hole],
)  # fmt: skip
def test_nothing_is_written(answer: object) -> None:
    """An empty body or a bare hole."""
    assert todo.reason(answer) == (
        "Nothing is written here yet.  Fill in the cell above, run it, then run this check again."
    )


@pytest.mark.parametrize("answer", [raises_late, raises_in_branch, answers.forgotten_raise])
def test_the_hole_is_still_there(answer: object) -> None:
    """Code was written, but the line of the hole was left in."""
    assert todo.reason(answer) == (
        "raise NotImplementedError is still there.  Delete that line when your code is in place, "
        "run the cell, then run this check again."
    )


@pytest.mark.parametrize(
    "answer", [returns_none, raises_other, answers.right, 0, "", [], len, print]
)
def test_there_is_something_to_check(answer: object) -> None:
    """Anything else, right or wrong, with or without source."""
    assert todo.reason(answer) is None
