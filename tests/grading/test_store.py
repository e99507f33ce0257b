"""Results on disk, named by content: nothing is run or judged twice, nothing is half written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

import grading.grade
from grading.evidence import from_dict
from grading.grade import Grader, grade, grader
from grading.intake import Submission
from grading.lab import Lab
from grading.results import Result
from grading.reuse import Division, divide
from grading.run import Limits
from grading.store import Store, StoreError
from tests.grading.submissions import (
    CEIL_DIV,
    FILL,
    HOLE,
    HOLE_TWO,
    SETUP,
    notebook_bytes,
    toy_cells,
    toy_lab,
)

LIMITS = Limits(seconds=40)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A new folder for the toy lab."""
    found = Store(tmp_path / "out")
    found.open("toy", 5, None, LIMITS)
    return found


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which exercises were asked for in each run; runs themselves are told, not made."""
    asked: list[str] = []
    gather = grading.grade.gather

    def counted(lab, answers, requests, limits):
        asked.append(" ".join(requests))
        return gather(lab, answers, requests, limits)

    monkeypatch.setattr(grading.grade, "gather", counted)
    return asked


def submission(folder: Path, student: str, cells: list[str], **extra: object) -> Submission:
    """A student's file."""
    path = folder / f"{student}.ipynb"
    path.write_bytes(notebook_bytes(*cells, **extra))
    return Submission(student, student, path)


def row(one: Submission, how: Grader) -> Result:
    """Grade and store."""
    result = grade(one, how)
    assert how.store is not None
    how.store.save_row(result)
    return result


def with_points(lab: Lab, points: float) -> Lab:
    """The lab with another number of points for its first exercise."""
    first = replace(lab.exercises[0], spec=replace(lab.exercises[0].spec, points=points))
    return replace(lab, exercises=(first, *lab.exercises[1:]))


def test_identical_answers_cost_one_run(tmp_path: Path, store: Store, runs: list[str]) -> None:
    """The same code from another student, in another file, is neither run nor judged again."""
    how = grader(toy_lab(), 5, LIMITS, store)
    first = row(submission(tmp_path, "ada", toy_cells()), how)
    verdicts = sorted(store.folder.glob("verdicts/*/*.json"))

    second = row(submission(tmp_path, "bob", toy_cells(), metadata={"title": "mine"}), how)

    assert runs == ["ceil_div last_index"]
    assert first.sha256 != second.sha256
    assert (first.points, first.exercises) == (7.0, second.exercises)
    assert first.answers == second.answers
    assert sorted(store.folder.glob("verdicts/*/*.json")) == verdicts and len(verdicts) == 3


def test_untouched_answers_cost_no_run(tmp_path: Path, store: Store, runs: list[str]) -> None:
    """A lab as handed out is stored without a run."""
    cells = [cell.source for cell in toy_lab().cells]
    result = row(submission(tmp_path, "ada", cells), grader(toy_lab(), 5, LIMITS, store))

    assert (runs, result.points, result.sandbox) == ([], 0.0, "not run")
    assert store.answers(result.answers).rounds == ()


def test_a_row_is_made_again_only_when_something_changed(tmp_path: Path, store: Store) -> None:
    """The same file is known; a new version, another seed, limit or spec is not."""
    lab = toy_lab()
    how = grader(lab, 5, LIMITS, store)
    ada = submission(tmp_path, "ada", [cell.source for cell in lab.cells])
    done = row(ada, how)

    assert divide([ada], how) == Division({"ada": done}, {}, [])
    for other in (
        grader(lab, 6, LIMITS, store),
        grader(lab, 5, replace(LIMITS, seconds=41), store),
        grader(with_points(lab, 9), 5, LIMITS, store),
    ):
        assert divide([ada], other).left == [ada]
    submission(tmp_path, "ada", [SETUP, CEIL_DIV, FILL])
    assert divide([ada], how).left == [ada]


def test_another_spec_judges_stored_answers_without_a_run(
    tmp_path: Path, store: Store, runs: list[str]
) -> None:
    """More points for an exercise need a new verdict on it, no new run and no other verdict."""
    ada = submission(tmp_path, "ada", toy_cells())
    before = row(ada, grader(toy_lab(), 5, LIMITS, store))

    after = row(ada, grader(with_points(toy_lab(), 4), 5, LIMITS, store))

    assert (before.points, after.points, len(runs)) == (7.0, 9.0, 1)
    assert before.exercises[1:] == after.exercises[1:]
    assert len(list(store.folder.glob("verdicts/*/*.json"))) == 4


@pytest.mark.slow
def test_what_was_cut_short_may_be_run_again(tmp_path: Path, store: Store, runs: list[str]) -> None:
    """--again runs a notebook anew whose stored run met an incident, and no other."""
    how = grader(toy_lab(), 5, Limits(seconds=16), store)
    exits = submission(tmp_path, "ada", toy_cells(after_setup="import os\nos._exit(0)"))
    fine = submission(tmp_path, "bob", toy_cells())
    row(exits, how), row(fine, how)
    again = replace(how, again=True)

    assert divide([exits, fine], how).left == []
    assert divide([exits, fine], again).left == [exits]
    row(exits, again)
    assert len(runs) == 3


def test_half_a_file_is_no_file(tmp_path: Path, store: Store, runs: list[str]) -> None:
    """Stored answers and rows that a crash of the disk cut are made again."""
    how = grader(toy_lab(), 5, LIMITS, store)
    ada = submission(tmp_path, "ada", [SETUP, HOLE, HOLE_TWO, FILL])
    result = row(ada, how)
    for path in store.folder.glob("*/**/*.json"):
        path.write_text(path.read_text()[:-40])

    assert store.row("ada") is None and store.answers(result.answers) is None
    assert row(ada, how) == result and store.row("ada") == result
    assert store.answers(result.answers) is not None and runs == []


def test_evidence_survives_the_disk(tmp_path: Path, store: Store) -> None:
    """What is stored is what was judged: texts, constants, outcomes, events, notes."""
    how = grader(toy_lab(), 5, LIMITS, store)
    cells = toy_cells(
        last_index="def last_index(n):\n    return 1 // 0",
        fill="import os\nSTEP = 3 + 0 * os.getpid()\n" + FILL,
    )
    found = store.answers(row(submission(tmp_path, "ada", cells), how).answers)

    ceil_div, last_index, fill = found.evidence
    assert ceil_div.parameters == ("n", "d") and ceil_div.source == CEIL_DIV + "\n"
    assert [set(one) for one in ceil_div.outcomes] == [{"value"}] * 9
    assert last_index.outcomes[0]["raised"][0] == "ZeroDivisionError"
    assert fill.kernel.wanted == ("STEP",) and fill.constants == {"STEP": {"value": 3}}
    assert found.rounds[0]["end"] == "done" and found.sandbox != "not run"
    for one in found.evidence:
        assert from_dict(json.loads(json.dumps(one.to_dict()))) == one


def test_a_folder_keeps_its_seed_and_limits(tmp_path: Path) -> None:
    """The first command draws the seed; later ones take it over, and no other."""
    store = Store(tmp_path)
    first = store.open("toy", None, None, LIMITS)

    assert store.open("toy", None, None, Limits(seconds=99)) == first
    assert store.open("toy", first.seed, Limits(seconds=50), LIMITS).limits.seconds == 50
    assert store.facts().limits.seconds == 50
    with pytest.raises(StoreError, match=f"was graded with --seed {first.seed}, and all students"):
        store.open("toy", first.seed + 1, None, LIMITS)
    with pytest.raises(StoreError, match=r"holds results of toy\. Choose another"):
        store.open("other", None, None, LIMITS)
    with pytest.raises(StoreError, match=r"holds no results: it has no run\.json\."):
        Store(tmp_path / "none").facts()


def test_folders_of_results_are_private(store: Store) -> None:
    """Nobody else on the machine reads what students wrote."""
    for name in ("answers", "verdicts", "students"):
        assert (store.folder / name).stat().st_mode & 0o077 == 0
