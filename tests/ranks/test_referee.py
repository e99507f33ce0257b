"""The referee on real ranks over gloo: each fault gets its sentence, its right twin none."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache

import pytest

from tests.ranks.faults import FAULTS
from tests.ranks.reports import REPORTS
from warpwise.ranks import Outcome, run_ranks

ALL = FAULTS | REPORTS
# One of each kind; the rest takes a minute.
QUICK = (
    "opposite_collectives", "two_groups_in_opposite_order", "both_send_first", "different_tags",
    "early_return", "exception_on_one", "uneven_iterations", "different_shapes",
    "same_shapes_swapped", "collective_of_another_group",
)  # fmt: skip
REST = tuple(name for name in ALL if name not in QUICK)
TIMEOUT = 5.0  # of a program that hangs; all hang side by side


@cache
def _running(names: tuple[str, ...]) -> dict[str, Future[Outcome]]:
    """Faulty programs, all at once: they spend their time waiting."""
    pool = ThreadPoolExecutor(10)
    return {
        name: pool.submit(
            run_ranks, ALL[name][0], ALL[name][1], False, timeout=TIMEOUT, raises=False, echo=False
        )
        for name in names
    }


def _is_named(name: str, names: tuple[str, ...]) -> None:
    _, _, kind, said = ALL[name]
    diagnosis = _running(names)[name].result().diagnosis
    assert diagnosis.kind == kind, str(diagnosis)
    for words in said:
        assert words.lower() in diagnosis.sentence.lower(), str(diagnosis)
    assert diagnosis.sentence.endswith(".") and "  " not in diagnosis.sentence


def _is_not_accused(name: str) -> None:
    outcome = run_ranks(ALL[name][0], ALL[name][1], True, echo=False)
    assert outcome.ok and not outcome.diagnosis, str(outcome.diagnosis)


@pytest.mark.parametrize("name", QUICK)
def test_fault_is_named(name: str) -> None:
    """A wrong program gets the kind and the words it should."""
    _is_named(name, QUICK)


@pytest.mark.parametrize("name", QUICK)
def test_right_twin_is_not_accused(name: str) -> None:
    """The mended program runs to its end, and nothing is said."""
    _is_not_accused(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", REST)
def test_other_fault_is_named(name: str) -> None:
    """As above, for the rest of the faults and the published reports."""
    _is_named(name, REST)


@pytest.mark.slow
@pytest.mark.parametrize("name", REST)
def test_other_right_twin_is_not_accused(name: str) -> None:
    """As above, for the rest."""
    _is_not_accused(name)
