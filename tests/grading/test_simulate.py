"""A made-up class: its scores are known, grading it gives them, and a difference is told."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import pytest

from grading import simulate
from grading.__main__ import main
from grading.course import load_lab
from grading.lab import LabError
from grading.material import IMPOSTOR, SOLUTION, VARIANT, material, read_answers
from grading.nasty import KINDS
from grading.reasons import SENTENCES, STATUSES
from grading.results import ExerciseResult, Result
from grading.store import Store
from warpwise import curriculum

UNIT = "t1_01_threads"


def make(tmp_path: Path, *more: str, count: int = 60) -> Path:
    """A class in a folder."""
    folder = tmp_path / "class"
    words = ["simulate", str(count), "--lab", UNIT, "--out", str(folder), "--seed", "3", *more]
    assert main(words) == 0
    return folder


def test_the_same_seed_makes_the_same_class(tmp_path: Path) -> None:
    """Every kind is there, one truth a student, and nobody's files are another's."""
    lab, made_of = load_lab(UNIT), material(UNIT)
    one, two = (simulate.simulate(120, lab, made_of, 0.5, 3) for _ in range(2))

    assert one == two
    assert one != simulate.simulate(120, lab, made_of, 0.5, 4)
    assert {row.kind for row in one.truth} == {"", *(kind.name for kind in KINDS)}
    assert len({row.student for row in one.truth}) == 120
    assert len(one.roster) == 120 - sum(row.kind == "stranger" for row in one.truth)
    for row in one.truth:
        assert row.status in STATUSES and set(row.reasons) <= {"", *SENTENCES}
    assert {row.points for row in one.truth if not row.kind} > {0.0, lab.max_points}


def test_few_notebooks_are_shared_by_many(tmp_path: Path) -> None:
    """A large class costs no more runs than it has different notebooks."""
    group = simulate.simulate(300, load_lab(UNIT), material(UNIT), 0.0, 3, distinct=7)
    texts = [
        data.replace(row.student.encode(), b"")
        for row, data in zip(group.truth, group.files.values(), strict=True)
        if isinstance(data, bytes)
    ]

    assert len(texts) == 300
    assert len(set(texts)) == 7


UNITS = [one.name for one in curriculum.load().written]


@pytest.mark.parametrize(
    "unit",
    [pytest.param(one, marks=[pytest.mark.slow] * (k % 12 > 0)) for k, one in enumerate(UNITS)],
)
def test_each_unit_has_what_a_class_is_made_of(unit: str) -> None:
    """Right and wrong answers to be handed in alone; a class of any unit can be made."""
    made_of = material(unit)
    group = simulate.simulate(70, load_lab(unit), made_of, 0.8, 1)

    assert len(group.truth) == 70
    kinds = [set(found) for found in made_of.answers.values()]
    assert sum({SOLUTION, IMPOSTOR} <= found for found in kinds) >= len(kinds) - 1
    assert any(VARIANT in found for found in kinds)


def test_an_answer_brings_what_it_uses_and_no_more() -> None:
    """Helpers come along; what needs the tests' own code is left out."""
    module = (
        "import math\nfrom tests.impostors import impostor\nSIZE = 3\n"
        "def helper(n):\n    return math.ceil(n) + SIZE\n"
        '@impostor("f", diagnosis="wrong_values")\ndef one(n):\n    return helper(n)\n'
        '@impostor("f", diagnosis="wrong_values")\ndef two(n):\n    return impostor(n)\n'
        '@impostor("g", diagnosis="raised")\ndef three(n):\n    raise ValueError\n'
    )

    found = list(read_answers(module, IMPOSTOR))

    assert [(one.exercise, one.name, one.diagnosis) for one in found] == [
        ("f", "one", "wrong_values"),
        ("g", "three", "raised"),
    ]
    assert found[0].source.startswith("import math\nSIZE = 3\ndef helper(n):")
    assert found[1].source == "def g(n):\n    raise ValueError"


def test_an_answer_beside_a_wrong_one_that_it_uses_is_left_open() -> None:
    """idle_threads of the solution calls blocks_for: with a wrong one nobody knows its score."""
    import random

    made_of = material(UNIT)
    kinds = dict.fromkeys(made_of.points, SOLUTION) | {"blocks_for": IMPOSTOR}

    chosen = made_of.draw(kinds, random.Random(1))

    assert "blocks_for" in made_of.answers["idle_threads"][SOLUTION][0].uses
    assert (chosen["blocks_for"].kind, chosen["idle_threads"].kind) == (IMPOSTOR, "todo")


def test_differences_are_told_and_end_with_1(tmp_path: Path, capsys) -> None:
    """A true table passes; another status, other points and a missing row do not."""
    folder = make(tmp_path)
    assert (folder / "submissions").is_dir()
    store = Store(tmp_path / "results")
    (store.folder / "students").mkdir(parents=True)
    truth = simulate.read_truth(folder)
    rows = [as_row(one) for one in truth]
    check = ["simulate", "--out", str(folder), "--check", str(store.folder)]
    save(store, rows)
    assert main(check) == 0
    assert "60 students, and each has the row that is true." in capsys.readouterr().out

    wrong = next(one for one in rows if one.points and one.exercises)
    part = replace(wrong.exercises[0], points=wrong.exercises[0].points + 1)
    changed = replace(wrong, points=0.0, exercises=(part, *wrong.exercises[1:]))
    others = [one for one in rows if one is not wrong]
    save(store, [changed, *others[1:], replace(others[0], student="x", identity="x")])

    assert main(check) == 1
    said = capsys.readouterr().out
    assert f"{wrong.student}: points is 0, true is" in said
    assert f"{wrong.student}: {part.exercise} is" in said
    assert f"{others[0].student}: there is no row." in said
    assert "x: a row of nobody in the class." in said
    assert "60 students; 4 differences from what is true." in said


def as_row(one: simulate.Truth) -> Result:
    """The row that a perfect grader writes."""
    exercises = tuple(
        ExerciseResult(name, "pass", points, points) for name, points in one.exercises.items()
    )
    identity, reason = one.student, one.reasons[0]
    return Result(one.student, identity, UNIT, one.status, reason, one.points, 12.0, exercises)


def save(store: Store, rows: list[Result]) -> None:
    store.save_members([one.identity for one in rows])
    for one in rows:
        store.save_row(one)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--lab", UNIT], "Say how many students"),
        (["3", "--lab", UNIT, "--nasty", "many"], "--nasty must be from 0% to 100%."),
        (["3", "--lab", UNIT, "--nasty", "120%"], "--nasty must be from 0% to 100%."),
        (["0", "--lab", UNIT], "must be at least 1"),
        (["3", "--lab", "t9_99_none"], "t9_99_none"),
        (["--check", "nowhere"], "Cannot read the truth"),
    ],
)
def test_usage_errors_are_plain_sentences(tmp_path: Path, capsys, words, sentence) -> None:
    """A command that cannot be carried out says why and ends with 2."""
    assert main(["simulate", "--out", str(tmp_path / "c"), *words]) == 2
    assert sentence in capsys.readouterr().err


def test_a_class_is_not_overwritten(tmp_path: Path, capsys) -> None:
    folder = make(tmp_path, count=5)

    assert main(["simulate", "5", "--lab", UNIT, "--out", str(folder)]) == 2
    assert "There is a class in" in capsys.readouterr().err


def test_a_bundle_without_answers_says_so(tmp_path: Path) -> None:
    """Where there are no solutions and no tests, a sentence says what is missing."""
    with pytest.raises(LabError, match=r"which a full checkout has\. Here is no solutions"):
        material(UNIT, tmp_path)


@pytest.mark.slow
def test_a_class_of_200_gets_exactly_its_true_scores(tmp_path: Path, capsys) -> None:
    """Right, wrong, broken and hostile: each row is the one it deserves."""
    folder, out = make(tmp_path, "--nasty", "12%", "--distinct", "12", count=200), tmp_path / "out"
    with open(folder / "truth.csv", encoding="utf-8", newline="") as file:
        assert len(list(csv.DictReader(file))) == 200

    words = ["grade", str(folder / "submissions"), "--lab", UNIT, "--out", str(out)]
    assert main([*words, "--roster", str(folder / "roster.csv"), "--jobs", "2"]) == 0
    capsys.readouterr()

    code = main(["simulate", "--out", str(folder), "--check", str(out)])
    assert code == 0, capsys.readouterr().out
