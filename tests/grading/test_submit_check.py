"""What a student is told about a file before handing it in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from grading import preflight
from grading.__main__ import main
from grading.answers import extract
from grading.commands.submit_check import summary
from grading.course import load_lab
from grading.parse import parse
from grading.results import grader_error
from tests.grading.submissions import CEIL_DIV, HOLE_TWO, notebook_bytes, toy_cells, toy_lab
from warpwise import curriculum
from warpwise.curriculum import COURSE


def seen(*sources: str) -> tuple[list[str], list[str]]:
    """Where the answers of a toy notebook are, and what is said of its cells."""
    lab = toy_lab()
    names = [one.answer for one in lab.exercises]
    answers = extract(parse(notebook_bytes(*sources)).cells, names, lab.given_sources)
    return list(preflight.found(lab, answers)), preflight.warnings(lab, answers)


def test_answers_are_found_missing_twice_and_untouched() -> None:
    """One line each, as the grader will take them."""
    found, said = seen(CEIL_DIV, HOLE_TWO, "x = 1", CEIL_DIV.replace("n, d", "n,  d"))

    assert found == [
        "ceil_div: taken from code cell 4. It is defined 2 times; the last one counts.",
        "last_index: still as it was handed out.",
        found[2],
    ]
    assert "fill" in found[2] and "taken" not in found[2]
    assert said == []


@pytest.mark.parametrize(
    ("cell", "sentence"),
    [
        ("check('fill', fill, seed=3)", "calls check() in its own way"),
        ("n = int(input('n'))", "asks for input"),
        ("open('/home/ada/data.csv')", "'/home/ada/data.csv'"),
        ("open('C:\\\\Users\\\\ada')", "is not there while it is graded"),
        ("import no_such_package.part", "imports no_such_package, which is not installed"),
        ("from warpwise.check import specs", "imports warpwise.check.specs"),
        ("from grading import seed", "The checks are not there"),
    ],
)
def test_what_will_not_work_is_said(cell: str, sentence: str) -> None:
    """With the number of the cell."""
    _, said = seen(*toy_cells(), cell)

    assert len(said) == 1 and said[0].startswith("Code cell 8 ") and sentence in said[0]


def test_what_works_is_not_said() -> None:
    """The course's own packages, the standard library, relative paths, texts with slashes."""
    cell = (
        "import json, numpy.linalg, torch\nfrom warpwise import check, cuda, profile\n"
        "from warpwise.check import check as look\nopen('data.csv'); s = 'a / b'; t = '/'"
    )

    assert seen(*toy_cells(), cell)[1] == []


def test_a_package_the_grader_lacks_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """Installed here, but not by requirements.txt."""
    monkeypatch.setattr(preflight, "available", lambda: frozenset({"numpy"}))

    _, said = seen(*toy_cells(), "import numpy, matplotlib.pyplot")

    assert said == [
        "Code cell 8 imports matplotlib, which the grader does not have: it is not the course's."
    ]


def test_the_lab_is_found_from_what_is_defined(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever the file is called; without an exercise the lab must be named."""
    solution = curriculum.load().unit("t1_02_grids").solution
    mine, other = tmp_path / "my {} copy.ipynb", tmp_path / "other.ipynb"
    mine.write_bytes(solution.read_bytes())
    other.write_bytes(notebook_bytes("x = 1"))

    assert main(["submit-check", str(mine), "--no-run"]) == 0
    assert "is read as the lab t1_02_grids" in capsys.readouterr().out
    assert main(["submit-check", str(other), "--no-run"]) == 2
    assert "Name its lab" in capsys.readouterr().err
    assert main(["submit-check", str(tmp_path / "no.ipynb")]) == 1
    assert "cannot be opened" in capsys.readouterr().out


def test_a_lab_without_its_source_is_read_from_the_notebook(tmp_path: Path) -> None:
    """The same cells, so that a student's bundle sees what the grader sees."""
    from grading import course

    units = curriculum.load()
    assert units.written
    for unit in units.written:
        elsewhere = units.unit(unit.name).__class__(**{**vars(unit), "root": tmp_path})
        elsewhere.lab.parent.mkdir(parents=True, exist_ok=True)
        elsewhere.lab.write_bytes(unit.lab.read_bytes())
        names = {exercise.name for exercise in unit.exercises}

        built, read = course._cells(elsewhere), course._cells(unit)

        assert [one.source for one in built] == [one.source for one in read]
        assert [one.tags for one in built] == [one.tags for one in read]
        assert [one.title for one in built if one.title in names] == [
            one.title for one in read if one.title in names
        ]


def test_a_fault_of_the_graders_is_not_the_students() -> None:
    """It says so."""
    assert "not your mistake" in summary(grader_error("you", "you", "toy", 7, "boom"))


@pytest.mark.slow
def test_the_public_checks_are_run_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One answer of six: what passes is counted, and points are not promised."""
    unit = curriculum.load().unit("t1_01_threads")
    path = tmp_path / "a.ipynb"
    notebook = json.loads(unit.lab.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["id"] == "blocks_for":
            cell["source"] = "def blocks_for(n, block):\n    return -(-n // block)"
    path.write_text(json.dumps(notebook), encoding="utf-8")

    code = main(["submit-check", str(path)])

    said = capsys.readouterr().out
    assert code == 1
    assert "blocks_for: taken from code cell" in said
    assert "1 of 6 pass" in said and "the grader draws other inputs" in said
    assert load_lab(unit.name).max_points == unit.points and COURSE.is_dir()
