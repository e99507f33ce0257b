"""The command line on real labs: from a folder of submissions to the CSV."""

from __future__ import annotations

import csv
import json
import os
import shutil
from pathlib import Path

import pytest

from grading.__main__ import main
from grading.course import load_lab
from grading.grade import grade_one
from grading.intake import Submission
from grading.pool import Pool, Worker, WorkerDied
from grading.requests import Task, request
from grading.run import Limits
from tests.grading.submissions import notebook_bytes
from warpwise import curriculum

UNIT = "t1_01_threads"
WRITTEN = [unit.name for unit in curriculum.load().written]


def rows(out: Path) -> list[dict[str, str]]:
    """The rows of the CSV."""
    with open(out / "grades.csv", newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_there_are_labs() -> None:
    """The tests below have something to test."""
    assert UNIT in WRITTEN


@pytest.mark.slow
@pytest.mark.parametrize("name", WRITTEN)
def test_solution_gets_everything_and_untouched_lab_nothing(name: str) -> None:
    """The full notebook scores the maximum, the lab as handed out scores 0 and is all todo."""
    unit, lab = curriculum.load().unit(name), load_lab(name)

    full = grade_one(Submission("a", "a", unit.solution), lab, 7, Limits(seconds=lab.seconds))
    empty = grade_one(Submission("b", "b", unit.lab), lab, 7, Limits(seconds=lab.seconds))

    assert (full.status, full.points, full.sentence) == ("graded", unit.points, "")
    assert (empty.status, empty.points) == ("graded", 0.0)
    assert {one.status for one in empty.exercises} == {"todo"}
    assert full.max_points == empty.max_points == unit.points


@pytest.mark.slow
def test_every_submission_gets_a_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Right, untouched, broken, missing and oddly named: a row each, and exit code 0."""
    unit = curriculum.load().unit(UNIT)
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    shutil.copy(unit.solution, folder / "ada.ipynb")
    shutil.copy(unit.lab, folder / "=1+1.ipynb")
    (folder / "bob").mkdir()
    (folder / "cyd.ipynb").write_bytes(b"")
    (folder / "dot.ipynb").write_bytes(b"<<<<<<< HEAD\n{}\n=======\n{}\n>>>>>>> x\n")
    (folder / "eve.ipynb").write_bytes(notebook_bytes("x = 1"))
    (folder / "roster.csv").write_text("ada\n")

    code = main(
        ["grade", str(folder), "--lab", UNIT, "--out", str(out), "--seed", "3", "--jobs", "2"]
    )

    said = capsys.readouterr().out
    assert code == 0
    assert [(r["student"], r["status"], r["reason"]) for r in rows(out)] == [
        ("'=1+1", "graded", ""),
        ("ada", "graded", ""),
        ("bob", "not-submitted", "not-submitted"),
        ("cyd", "unreadable", "empty"),
        ("dot", "unreadable", "merge-conflict"),
        ("eve", "needs-human", "wrong-notebook"),
    ]
    assert [r["points"] for r in rows(out)] == ["0", str(unit.points), "0", "0", "0", ""]
    assert {r["max_points"] for r in rows(out)} == {str(unit.points)}
    assert (
        "6 submissions: 2 graded, 1 needs-human, 2 unreadable, 1 not-submitted.\n"
        "Left out, for these are no submissions: roster.csv.\n" in said
    )
    files = sorted((out / "students").iterdir())
    assert len(files) == 6
    assert {json.loads(f.read_text(encoding="utf-8"))["seed"] for f in files} <= {3, None}

    before = (out / "grades.csv").read_bytes()
    assert main(["grade", str(folder), "--lab", UNIT, "--out", str(out)]) == 0
    assert (out / "grades.csv").read_bytes() == before
    assert "5 rows were there already; 1 were graded now." in capsys.readouterr().out


def test_usage_errors_are_plain_sentences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A command that cannot be carried out says why in one line and ends with 2."""
    (tmp_path / "file").write_text("x")
    full = tmp_path / "full"
    full.mkdir()
    (full / "ada.ipynb").write_bytes(b"")
    empty = tmp_path / "empty"
    empty.mkdir()
    out = str(tmp_path / "out")
    wrong = {
        ("grade", str(tmp_path / "none"), "--lab", UNIT, "--out", out): (
            f"{tmp_path / 'none'} does not exist. Name the folder that holds the submissions."
        ),
        ("grade", str(tmp_path / "file"), "--lab", UNIT, "--out", out): (
            f"{tmp_path / 'file'} is not a folder. Name the folder that holds the submissions."
        ),
        ("grade", str(empty), "--lab", UNIT, "--out", out): f"There are no submissions in {empty}.",
        ("grade", str(full), "--lab", "t9_01_x", "--out", out): (
            f"No unit 't9_01_x'. Written units: {', '.join(WRITTEN)}."
        ),
        ("grade", str(full), "--lab", UNIT, "--out", str(full)): (
            "--out must not be the folder of the submissions."
        ),
        ("grade", str(full), "--lab", UNIT, "--out", str(tmp_path / "file")): (
            f"Cannot make the folder {tmp_path / 'file'}: Not a directory."
        ),
        ("grade", str(full), "--lab", UNIT, "--out", out, "--jobs", "0"): (
            "--jobs must be at least 1, --time-limit at least 2 s, --memory-limit at least 1024 MB."
        ),
        ("grade", str(full), "--lab", UNIT): (
            "The following arguments are required: --out. See: python -m grading grade --help"
        ),
    }
    for argv, sentence in wrong.items():
        assert main(list(argv)) == 2
        assert capsys.readouterr().err == sentence + "\n"


@pytest.mark.slow
def test_a_dead_worker_costs_no_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that dies is started again; one that dies twice leaves a row without points."""
    path = tmp_path / "ada.ipynb"
    path.write_bytes(b"")
    lab = load_lab(UNIT)
    dying = {"left": 1}
    ask = Worker._ask

    def dies(self: Worker, line: str, timeout: float) -> str:
        if dying["left"] > 0:
            dying["left"] -= 1
            assert self._process is not None
            os.kill(self._process.pid, 9)
        return ask(self, line, timeout)

    monkeypatch.setattr(Worker, "_ask", dies)
    known = []

    with Pool(lab, 1) as pool:
        (once,) = pool.grade([Submission("a", "a", path)], Task(1, Limits()), known.append)
        dying["left"] = 2
        (twice,) = pool.grade([Submission("a", "a", path)], Task(1, Limits()), known.append)

    assert (once.status, once.reason) == ("unreadable", "empty")
    assert (twice.status, twice.points) == ("grader-error", None)
    assert twice.fault.startswith("The worker ended without a result.")
    assert known == [once, twice]


@pytest.mark.slow
def test_worker_that_cannot_start_says_so() -> None:
    """A lab that the worker cannot load is the grader's fault, with its last words."""
    worker = Worker("t9_01_x")

    with pytest.raises(WorkerDied, match="No unit 't9_01_x'"):
        worker.answer(request(Submission("a", "a", None), Task(1, Limits())))
