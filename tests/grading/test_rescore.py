"""Judging stored answers again: no student's code runs, and the diff comes first."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import grading.grade
from grading.attempts import Line
from grading.grade import grade, grader, judged
from grading.intake import Submission
from grading.lab import Lab
from grading.policy import Policy, parse_policy
from grading.publish import complete, table_of, write
from grading.rescore import Rescore, diff_text, rescore
from grading.results import Result
from grading.run import Limits
from grading.store import Store
from tests.grading.submissions import (
    CEIL_DIV,
    FILL,
    HOLE,
    HOLE_TWO,
    LAST_INDEX,
    SETUP,
    notebook_bytes,
    toy_lab,
)

LIMITS = Limits(seconds=40)
WRONG_FILL = FILL.replace("STEP * i", "i")
# The class: who hands in which kernel.  Kernels need no run.
CLASS = {"ada": FILL, "bob": WRONG_FILL, "cyd": FILL, "dot": ""}


def lab_with(place: int, **spec: object) -> Lab:
    """The toy lab with another spec for one exercise."""
    exercises = list(toy_lab().exercises)
    exercises[place] = replace(exercises[place], spec=replace(exercises[place].spec, **spec))
    return replace(toy_lab(), exercises=tuple(exercises))


def doubled(case):
    """A reference by which the wrong kernel is the right one."""
    import numpy as np

    return {"out": np.arange(case.args["n"])}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """The class, graded and written."""
    out = Store(tmp_path / "out")
    out.open("toy", 5, None, LIMITS)
    how = grader(toy_lab(), 5, LIMITS, out)
    rows = []
    for name, kernel in CLASS.items():
        path = tmp_path / f"{name}.ipynb"
        path.write_bytes(notebook_bytes(SETUP, HOLE, HOLE_TWO, kernel or "x = 1"))
        one = Submission(name, name, path)
        rows.append(complete(grade(one, how), Line(one), how.lab, Policy()))
    write(out, how.lab, rows, Policy())
    return out


def again(store: Store, lab: Lab, policy: Policy = Policy()) -> tuple[Rescore, list[str]]:  # noqa: B008
    """Rescore in this process, and the names of the answers that were judged."""
    how, seen = grader(lab, 5, LIMITS, store), list[str]()

    def judge(keys: list[str]) -> list[Result]:
        seen.extend(keys)
        return [judged(store.answers(key), how) for key in keys]  # type: ignore[arg-type]

    return rescore(store.rows(), how, policy, judge), seen


def test_nothing_changed_nothing_is_judged(store: Store) -> None:
    """Today's specs are those of the rows: the same class comes out, and no judge is asked."""
    done, seen = again(store, toy_lab())

    assert seen == [] and done.judged == 0
    assert [one.before for one in done.changes] == [one.after for one in done.changes]
    assert diff_text(done) == (
        "4 rows, 0 of them judged again: 0 up, 0 down, 4 the same; 0 cross a grade line."
    )


def test_a_changed_spec_judges_the_same_answers_once(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No run, one verdict for two students with one answer, and rows that stay themselves."""
    monkeypatch.setattr(grading.grade, "gather", None)
    policy = parse_policy("[grade_lines]\nA = 40\n", {})
    write(
        store, toy_lab(), [one.after for one in again(store, toy_lab(), policy)[0].changes], policy
    )

    done, seen = again(store, lab_with(2, reference=doubled), policy)

    assert len(seen) == 3 and done.judged == 4  # ada's and cyd's are one
    assert [one.points for one in done.changes] == [(3.0, 0.0), (0.0, 3.0), (3.0, 0.0), (0.0, 0.0)]
    assert diff_text(done).splitlines()[:3] == [
        "4 rows, 4 of them judged again: 1 up, 2 down, 1 the same; 3 cross a grade line.",
        "",
        f"  {'ada':32}  3 to 0  A to -  fill 3 to 0",
    ]
    bob = done.changes[1]
    assert (bob.after.student, bob.after.sha256) == ("bob", bob.before.sha256)
    # What is published is what `grade` would say now, without any work.
    write(store, lab_with(2, reference=doubled), [one.after for one in done.changes], policy)
    assert again(store, lab_with(2, reference=doubled), policy)[1] == []
    assert table_of(store.rows(), toy_lab()) == (store.folder / "grades.csv").read_bytes().decode()
    assert (store.folder / "policy.toml").read_text() == policy.text


def test_policy_alone_changes_final_points_only(store: Store) -> None:
    """An override and a withdrawn exercise show in the diff with their reasons."""
    text = (
        "[[override]]\nstudent = 'bob'\nexercise = 'fill'\npoints = 2\nreason = 'fair'\n"
        "[[withdraw]]\nexercise = 'ceil_div'\ngive = 'full'\nreason = 'unclear'\n"
    )
    most = {one.name: one.points for one in toy_lab().exercises}

    done, seen = again(store, toy_lab(), parse_policy(text, most))

    assert seen == []
    assert [one.points for one in done.changes] == [(3.0, 5.0), (0.0, 4.0), (3.0, 5.0), (0.0, 2.0)]
    assert [one.after.points for one in done.changes] == [3.0, 0.0, 3.0, 0.0]
    assert "0 to 4  fill: 0 to 2 by hand (fair); ceil_div: withdrawn, full marks (unclear)" in (
        diff_text(done)
    )


def test_other_inputs_cannot_be_judged_from_old_answers(tmp_path: Path, store: Store) -> None:
    """Values that were returned for other inputs say nothing; their rows stay, and it is said."""
    path = tmp_path / "eve.ipynb"
    path.write_bytes(notebook_bytes(SETUP, CEIL_DIV, LAST_INDEX, FILL))
    one = Submission("eve", "eve", path)
    how = grader(toy_lab(), 5, LIMITS, store)
    rows = [*store.rows(), complete(grade(one, how), Line(one), how.lab, Policy())]
    write(store, how.lab, rows, Policy())
    assert rows[-1].points == 7.0

    other = lab_with(1, inputs=lambda rng, level: [(int(n),) for n in rng.integers(1, 99, 4)])
    done, seen = again(store, other)
    tolerant, _ = again(store, lab_with(0, reference=lambda n, d: 0))

    assert done.not_comparable == ("eve",) and len(seen) == 3
    assert done.changes[-1].after.points == 7.0
    assert "Rows that stay as they were: 1. An exercise asks for something else" in diff_text(done)
    assert tolerant.changes[-1].after.points == 5.0 and not tolerant.not_comparable


def test_lost_answers_cost_no_row(store: Store) -> None:
    """A row whose answers are gone stays as it was."""
    for path in store.folder.glob("answers/*/*.json"):
        path.unlink()

    done, seen = again(store, lab_with(2, points=9))

    assert seen == [] and len(done.not_comparable) == 4
    assert [one.after.exercises for one in done.changes] == [
        one.before.exercises for one in done.changes
    ]


def test_a_failed_judge_is_asked_again(store: Store) -> None:
    """A row on which the grader failed is judged by the next rescore."""
    ada = store.row("ada")
    broken = replace(ada.exercises[2], status="error")
    store.save_row(
        replace(ada, status="grader-error", points=None, exercises=(*ada.exercises[:2], broken))
    )

    done, seen = again(store, toy_lab())

    assert len(seen) == 1 and done.changes[0].after.points == 3.0
