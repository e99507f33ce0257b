"""Random kernels: the simulator against a reference that runs Numba's typed IR thread by thread.

A failure is made small and printed; `python -m tests.reference.kept` keeps such kernels as files.
"""

from __future__ import annotations

from datetime import date, timedelta
from pathlib import Path

import pytest

pytest.importorskip("numba_cuda", reason="needs the numba-cuda wheel (Linux, Windows)")

from tests.reference import answers, barriers, counted, kept, races, verdict, writer
from tests.reference.memory import Fault


def wrong(seed: int, serial: int = 1) -> str:
    """How a kernel fails, with a small text that fails like it; empty when all agree."""
    case = writer.case(seed)
    text = verdict.compare(case, serial)
    return text and f"seed {seed}: {text}\n{kept.smallest(case, 20).text}"


@pytest.mark.parametrize("start", range(0, 20, 5))
def test_random_kernels_agree_with_the_reference(start: int) -> None:
    """In lockstep and warp by warp, every output is what compiled code gives."""
    assert [text for text in map(wrong, range(start, start + 5)) if text] == []


def unlike_stored(seeds: range) -> list[int]:
    """Seeds whose kernels give something else in the simulator, in lockstep, than the reference
    once gave."""
    stored = answers.stored()
    wrong = []
    for seed in seeds:
        case = answers.case(seed)
        text, outputs = stored[seed]
        assert answers.of_text(case.text) == text, "run `python -m tests.reference.answers`"
        if answers.digest(verdict.simulated(case)) != outputs:
            wrong.append(seed)
    return wrong


@pytest.mark.parametrize("start", answers.FEW[::50])
def test_hundreds_of_small_kernels_give_the_stored_answers(start: int) -> None:
    """Run by the simulator alone."""
    assert unlike_stored(range(start, start + 50)) == []


@pytest.mark.slow
@pytest.mark.parametrize("start", answers.SEEDS[len(answers.FEW) :: 300])
def test_thousands_of_small_kernels_give_the_stored_answers(start: int) -> None:
    """The same over all the others."""
    assert unlike_stored(range(start, start + 300)) == []


@pytest.mark.slow
def test_stored_answers_are_the_references() -> None:
    """Those whose turn it is, computed again; the seeds stand in the failure, whatever the day."""
    stored = answers.stored()
    turn = answers.turn_of(date.today())
    assert [seed for seed in turn if answers.answer(seed) != stored[seed]] == []


def test_every_stored_answer_has_its_turn() -> None:
    """Within TURNS days, whenever they begin."""
    for first in (date(2026, 1, 1), date(2027, 12, 31)):
        days = [first + timedelta(days=k) for k in range(answers.TURNS)]
        turns = [seed for day in days for seed in answers.turn_of(day)]
        assert sorted(turns) == list(answers.SEEDS) == list(answers.stored())


@pytest.mark.slow
@pytest.mark.parametrize("start", range(100_000, 100_400, 50))
def test_many_random_kernels_agree_with_the_reference(start: int) -> None:
    """The same over more kernels, each in two orders of its warps."""
    assert [text for text in (wrong(seed, 2) for seed in range(start, start + 50)) if text] == []


@pytest.mark.parametrize("path", sorted(kept.FOLDER.glob("seed_*.py")), ids=lambda path: path.stem)
def test_kernels_that_failed_once_do_not_fail_again(path: Path) -> None:
    """The kept kernels."""
    assert kept.failure(kept.load(path)) == ""


def test_a_wrong_simulator_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """A simulator that adds where it should multiply does not pass."""
    from warpwise.simt import ops

    monkeypatch.setitem(ops.BINARY, "Mult", (ops.BINARY["Mult"][0], "+"))
    assert any(verdict.compare(writer.case(seed)) for seed in range(3))


# -- counters and the sanitizer --------------------------------------------------------------------


def misjudged(seed: int) -> list[str]:
    """What `profile` counts wrongly, what `sanitize` finds in a kernel without mistakes, and what
    it makes of the same kernel with a barrier taken away."""
    case = writer.case(seed)
    trace = verdict.expected(case)[1]
    assert not races.races(trace)
    texts = [counted.miscounted(case, trace), *map(str, counted.findings(case))]
    for mutant in list(barriers.without_one(case))[:2]:
        try:
            trace = verdict.expected(mutant)[1]
        except Fault:
            continue
        texts.append(counted.misjudged(mutant, trace))
    return [f"seed {seed}: {text}" for text in texts if text]


@pytest.mark.parametrize("start", range(0, 8, 4))
def test_counters_and_findings_of_random_kernels(start: int) -> None:
    """By line, all counters of memory, branches, barriers and floating-point operations equal a
    count by hand; no finding without a race, and a finding wherever there is one."""
    assert [text for seed in range(start, start + 4) for text in misjudged(seed)] == []


@pytest.mark.parametrize("seed", [9, 11, 13])
def test_counters_do_not_depend_on_the_order(seed: int) -> None:
    """Warp by warp, as where warps wait for each other, everything counts as in step."""
    assert counted.warp_by_warp(writer.case(seed)) == counted.in_step(writer.case(seed))


@pytest.mark.slow
@pytest.mark.parametrize("start", range(50_000, 50_200, 25))
def test_counters_and_findings_of_many_random_kernels(start: int) -> None:
    """The same over more kernels."""
    assert [text for seed in range(start, start + 25) for text in misjudged(seed)] == []
