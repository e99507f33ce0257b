"""Names that some paths leave without a value: reported when they are read, and only then."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpwise.simt import TypingError, api
from warpwise.simt.errors import UnassignedError

cuda: Any = api
N = 8


@cuda.jit
def first_round(out: Any, skip: Any, n: Any) -> None:
    """`total` gets its first value in the loop."""
    i = cuda.grid(1)
    for k in range(n):
        if k == 0:
            if i != skip:
                total = i
        else:
            total = total + k
    out[i] = total


def test_a_name_may_get_its_first_value_in_the_loop_that_reads_it() -> None:
    """The values are Python's; the thread that skips the first value is named."""
    out = np.zeros(N)
    first_round[1, N](out, -1, 4)
    assert out.tolist() == [i + 6 for i in range(N)]
    with pytest.raises(UnassignedError, match=r"total is read.*\n.*thread \(3, 0, 0\)"):
        first_round[1, N](out, 3, 4)
    with pytest.raises(UnassignedError, match=r"(?s)total is read.*line \d+:  out\[i\] = total"):
        first_round[1, N](out, -1, 0)


@cuda.jit
def one_branch(out: Any, n: Any) -> None:
    """In the other branch, `c` never has a value."""
    i = cuda.grid(1)
    if i < n:
        c = 1.5
        out[i] = c
    else:
        c += 1
        out[i] = c


def test_a_branch_that_reads_a_name_without_a_value_matters_when_it_runs() -> None:
    """Nobody takes it: no report.  Somebody does: the line and the first thread."""
    out = np.zeros(N)
    one_branch[1, N](out, N)
    assert out.tolist() == [1.5] * N
    with pytest.raises(UnassignedError, match=r"(?s)c is read.*thread \(5, 0, 0\).*c \+= 1"):
        one_branch[1, N](out, 5)


@pytest.mark.parametrize(
    "expression",
    ["b if i < c else -1", "i < c and b > 4", "-1 if i >= c else b + (7 if i < c and b else 0)"],
)
def test_a_name_that_one_side_of_a_condition_reads(expression: str) -> None:
    """Only the lanes that come to that side need a value."""
    text = (
        "def k(out, n, c):\n    i = cuda.grid(1)\n    if i < n:\n        b = 5\n"
        f"    out[i] = {expression}\n"
    )
    names: dict[str, Any] = {"cuda": cuda}
    exec(text, names)
    kernel = cuda.jit(names["k"])
    out = np.zeros(N)
    for n, c in ((4, 3), (4, 4), (0, 0)):
        kernel[1, N](out, n, c)
        want = [eval(expression, {"i": i, "c": c, "b": 5}) for i in range(N)]
        assert out.tolist() == want
    with pytest.raises(UnassignedError, match=r"thread \(4, 0, 0\)"):
        kernel[1, N](out, 4, 6)


def test_an_item_of_a_tuple_in_one_side_of_a_condition() -> None:
    """The index needs to fit only where the item is used."""

    @cuda.jit
    def k(out: Any) -> None:
        i = cuda.grid(1)
        t = (1, 2)
        out[i] = t[i] if i < 2 else -1
        out[i] += 10 if i < 2 and t[i] == 2 else 0

    out = np.zeros(N)
    k[1, N](out)
    assert out.tolist() == [1, 12] + [-1] * 6


def test_a_device_function_with_such_a_branch() -> None:
    """The other paths decide the type of the result."""

    @cuda.jit(device=True)
    def f(a: Any) -> Any:
        if a > 2:
            return a
        if a < 0:
            return w  # type: ignore[has-type]  # noqa: F821
        w = 0.5
        return w

    @cuda.jit
    def k(out: Any, shift: Any) -> None:
        i = cuda.grid(1)
        out[i] = f(i - shift)

    out = np.zeros(N)
    k[1, N](out, 0)
    assert out.tolist() == [0.5] * 3 + [3, 4, 5, 6, 7]
    with pytest.raises(UnassignedError, match="w is read"):
        k[1, N](out, 1)


def test_what_every_thread_reads_too_early_is_refused_at_once() -> None:
    """No path gives the name a value: the kernel is not run."""

    @cuda.jit
    def k(out: Any) -> None:
        out[0] = s  # noqa: F821
        s = 1  # noqa: F841

    with pytest.raises(TypingError, match="s is read before anything is assigned to it"):
        k[1, 1](np.zeros(1))

    @cuda.jit
    def m(out: Any) -> None:
        i = cuda.grid(1)
        if i > 0 and s > 1:  # noqa: F821
            s = 1  # noqa: F841
        out[0] = i

    with pytest.raises(TypingError, match="s is read before anything is assigned to it"):
        m[1, 1](np.zeros(1))


@cuda.jit(device=True)
def counting(i: Any, n: Any) -> Any:
    """An inner function that changes names of the one around it."""
    x = 1000
    y = 1.5

    def note(t: Any) -> None:
        nonlocal x, y
        if t > 2:
            x = t
        y += 1

    note(n)
    if i % 2:
        note(i)
    for j in range(2):
        note(j + x)
    return y if x == 1000 else x * 100 + y


@pytest.mark.parametrize("n", [1, 3])
def test_an_inner_function_changes_names_around_it(n: int) -> None:
    """Under masks and in loops, as in Python."""

    @cuda.jit
    def k(out: Any, n: Any) -> None:
        i = cuda.grid(1)
        out[i] = counting(i, n)

    out = np.zeros(N)
    k[1, N](out, n)
    assert out.tolist() == [counting.py_func(i, n) for i in range(N)]


def test_a_function_that_changes_names_and_returns_is_refused() -> None:
    """The message says what to do instead."""

    @cuda.jit
    def k(out: Any) -> None:
        x = 1

        def f() -> Any:
            nonlocal x
            x = 2
            return 3

        out[0] = f() + x

    with pytest.raises(Exception, match="f changes nonlocal names, and so cannot return here"):
        k[1, 1](np.zeros(1))
