"""The referee on real ranks over gloo: each fault gets its sentence, its right twin none."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache

import pytest

from tests.ranks.faults import FAULTS
from warpwise.ranks import Outcome, run_ranks

TIMEOUT = 3.0  # of a program that hangs; all hang side by side


@cache
def _running() -> dict[str, Future[Outcome]]:
    """All faulty programs at once: they spend their time waiting."""
    pool = ThreadPoolExecutor(8)
    return {
        name: pool.submit(
            run_ranks, program, size, False, timeout=TIMEOUT, raises=False, echo=False
        )
        for name, (program, size, _, _) in FAULTS.items()
    }


@pytest.mark.parametrize("name", FAULTS)
def test_fault_is_named(name: str) -> None:
    """A wrong program gets the kind and the words it should."""
    _, _, kind, said = FAULTS[name]
    diagnosis = _running()[name].result().diagnosis
    assert diagnosis.kind == kind, str(diagnosis)
    for words in said:
        assert words.lower() in diagnosis.sentence.lower(), str(diagnosis)


@pytest.mark.parametrize("name", FAULTS)
def test_right_twin_is_not_accused(name: str) -> None:
    """The mended program runs to its end, and nothing is said."""
    program, size, _, _ = FAULTS[name]
    outcome = run_ranks(program, size, True, echo=False)
    assert outcome.ok and not outcome.diagnosis, str(outcome.diagnosis)
