"""Judging in a process of its own: its value, its end, its faults."""

from __future__ import annotations

import os
import time

import pytest

from grading.apart import Died, TooSlow, apart, here


def spin() -> None:
    while True:
        pass


def deaf() -> None:
    """Multiplies a number until nothing else happens."""
    number = 3**100
    while True:
        number *= number


def test_the_value_comes_back() -> None:
    big = [1.5, "x" * 300_000, None]
    assert apart(lambda: big, 10) == big
    assert apart(os.getpid, 10) != os.getpid()


@pytest.mark.parametrize("within", [apart, here])
@pytest.mark.parametrize("work", [spin, deaf])
def test_computing_has_an_end(work, within) -> None:
    with pytest.raises(TooSlow):
        within(work, 1)
    assert within(lambda: 3, 1) == 3


def test_waiting_has_an_end(monkeypatch) -> None:
    monkeypatch.setattr("grading.apart._PATIENCE", 1)
    with pytest.raises(TooSlow):
        apart(lambda: time.sleep(1000), 0.2)


def test_a_fault_is_told_with_its_traceback() -> None:
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        apart(lambda: 1 // 0, 10)
    with pytest.raises(Died, match="code 3"):
        apart(lambda: os._exit(3), 10)
