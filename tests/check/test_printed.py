"""What an answer prints does not flood the check: ten lines, of the launch that matters."""

from __future__ import annotations

from numba import cuda

from tests.check.answers import GUARDED
from tests.check.test_functions import BLOCKS
from warpwise.check import check, judge, specs
from warpwise.check.printed import caught
from warpwise.simt.api import jit


@jit
def prints_and_passes(out, a, b, n):
    i = cuda.grid(1)
    print(i, "of", n)
    if i < n:
        out[i] = a[i] + b[i]


@jit
def prints_once_and_fails(out, a, b, n):
    i = cuda.threadIdx.x
    if i == 0 and cuda.blockIdx.x == 0:
        print(n)
    if i < n:
        out[i] = a[i] + b[i]


def shows_its_work(n, threads):
    print("n", n)
    return n // threads


def test_ten_lines_of_the_first_launch_are_shown(capsys, monkeypatch) -> None:
    """With the launch and how many more there were; nothing else reaches the page."""
    monkeypatch.setattr(specs, "get", lambda name: GUARDED)
    record = check("guarded", prints_and_passes)

    assert record.status == "pass"
    assert capsys.readouterr().out == record.message + "\n"
    assert record.message.splitlines()[3:] == [
        "  print  prints_and_passes[1, 32](out, a, b, n) with n = 1 printed 32 lines:",
        *(f"           {i} of 1" for i in range(10)),
        "           ... and 22 more",
        "  (counted, simulator)",
    ]


def test_the_first_failing_launch_is_the_one_shown() -> None:
    """Its lines, not those of the launches before it."""
    assert (
        "  print  prints_once_and_fails[2, 32](out, a, b, n) with n = 33 printed 1 line:\n"
        "           33\n"
    ) in judge(GUARDED, prints_once_and_fails).message


def test_the_lines_are_folded_in_html() -> None:
    """One line to open, the rest inside."""
    page = judge(GUARDED, prints_and_passes)._repr_mimebundle_()["text/html"]

    assert (
        '<summary style="cursor: pointer;">prints_and_passes[1, 32](out, a, b, n) with n = 1 '
        "printed 32 lines:</summary><pre"
    ) in page
    assert "9 of 1\n... and 22 more</pre></details>" in page


def test_a_host_function_may_print_too(capsys) -> None:
    """Each call on its own; the first that fails is shown."""
    message = judge(BLOCKS, shows_its_work).message

    assert capsys.readouterr().out == ""
    assert "  print  shows_its_work(n=1, threads=32) printed 1 line:\n           n 1\n" in message


def test_an_answer_that_prints_without_end_is_cut() -> None:
    """Ten lines are kept, long ones in part; a last line without an end counts."""
    with caught() as printed:
        print("x" * 1000)
        print("y\n" * 5000, end="z")

    assert printed.count == 5002
    assert len(printed.lines) == 10
    assert printed.lines[0] == "x" * 200 + "..."
