"""The command line on real labs: from a folder of submissions to the CSV."""

from __future__ import annotations

import csv
import json
import os
import shutil
from pathlib import Path

import psutil
import pytest

from grading.__main__ import main
from grading.commands import COMMANDS
from grading.course import load_lab
from grading.grade import grade_one
from grading.intake import Submission
from grading.pool import Pool, Worker, WorkerDied
from grading.requests import Task, request
from grading.results import Result
from grading.run import Limits
from grading.store import Store
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
    assert "There already: 5 rows. Graded now: 0." in capsys.readouterr().out


@pytest.mark.slow
def test_a_class_from_roster_to_rescore(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A row for each student, a pilot first, lateness, an override that is shown, then written."""
    unit = curriculum.load().unit(UNIT)
    folder, out, roster = tmp_path / "in", tmp_path / "out", tmp_path / "roster.csv"
    folder.mkdir()
    for name in ("ada", "bob", "mallory"):
        shutil.copy(unit.lab, folder / f"{name}.ipynb")
    roster.write_text("login,when\nada,2026-03-01\nbob,2026-03-03T10:00Z\ncyd,\n")
    policy = tmp_path / "policy.toml"
    policy.write_text(
        "[late]\ndeadline = 2026-03-01T23:59:00Z\npercent_per_day = 10\n"
        'times = "roster"\ncolumn = "when"\n[grade_lines]\nA = 50\n'
    )
    common = [str(folder), "--lab", UNIT, "--out", str(out), "--jobs", "1"]
    grade = ["grade", *common, "--roster", str(roster), "--policy", str(policy)]

    assert main([*grade, "--pilot"]) == 0
    assert "Stopped after the pilot." in capsys.readouterr().out
    assert not (out / "grades.csv").exists()
    assert main(grade) == 0
    said = capsys.readouterr().out
    assert [(r["student"], r["reason"], r["late_days"]) for r in rows(out)] == [
        ("ada", "", "0"),
        ("bob", "", "2"),
        ("cyd", "no-submission", "0"),
        ("mallory", "not-on-roster", "0"),
    ]
    assert "The roster has 3 students, and each has one row.\n" in said
    assert "Rows of nobody on the roster: 1, at the end.\nThere already: 2 rows." in said
    assert "Times of submission are from roster: 1 known, 1 not." in said

    override = "[[override]]\nstudent = 'ada'\npoints = 6\nreason = 'oral'\n"
    policy.write_text(policy.read_text() + override)
    rescore = ["rescore", str(out), "--lab", UNIT, "--policy", str(policy)]
    assert main(rescore) == 0
    assert "1 up, 0 down, 3 the same; 1 cross a grade line." in capsys.readouterr().out
    assert [row["final_points"] for row in rows(out)] == ["0", "0", "0", ""]
    assert main([*rescore, "--publish"]) == 0
    assert [row["final_points"] for row in rows(out)] == ["6", "0", "0", ""]
    assert [row["points"] for row in rows(out)] == ["0", "0", "0", ""]
    assert main(rescore[:4]) == 0
    assert "0 up, 0 down, 4 the same" in capsys.readouterr().out


@pytest.mark.slow
def test_an_interrupt_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """After Ctrl-C the rows so far are whole, no worker is left, and the same command goes on."""
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    for name in ("ada", "bob", "cyd"):
        (folder / f"{name}.ipynb").write_bytes(notebook_bytes(f"# {name}", "x ="))
    save, saved = Store.save_row, []

    def interrupted(self: Store, result: Result) -> None:
        if len(saved) == 2:
            raise KeyboardInterrupt
        saved.append(result.student)
        save(self, result)

    monkeypatch.setattr(Store, "save_row", interrupted)
    command = ["grade", str(folder), "--lab", UNIT, "--out", str(out), "--jobs", "1"]

    assert main(command) == 130
    assert "the same command goes on from there" in capsys.readouterr().err
    assert {path.stem for path in (out / "students").iterdir()} == set(saved)
    mine = psutil.Process().children(recursive=True)
    assert not [one for one in mine if "grading.worker" in " ".join(one.cmdline())]
    monkeypatch.setattr(Store, "save_row", save)
    assert main(command) == 0
    assert "There already: 2 rows. Graded now: 1." in capsys.readouterr().out
    assert [row["student"] for row in rows(out)] == ["ada", "bob", "cyd"]


@pytest.mark.slow
def test_one_notebook_is_a_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The unit of work writes its row; the second time it does nothing; the class takes it over."""
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    shutil.copy(curriculum.load().unit(UNIT).lab, folder / "ada.ipynb")
    one = ["one", str(folder / "ada.ipynb"), "--lab", UNIT, "--out", str(out), "--seed", "9"]

    assert main(one) == 0
    row = out / "students" / "ada.json"
    before = row.stat().st_mtime_ns
    assert main(one) == 0 and row.stat().st_mtime_ns == before
    assert main([*one[:-1], "8"]) == 2
    assert "was graded with --seed 9" in capsys.readouterr().err
    assert main(["grade", str(folder), "--lab", UNIT, "--out", str(out)]) == 0
    assert "There already: 1 rows. Graded now: 0." in capsys.readouterr().out


def test_the_commands_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """Help names each command with a line; another word is refused with the list."""
    assert main(["--help"]) == 0
    said = capsys.readouterr().out
    assert all(f"  {name} " in said for name in COMMANDS)
    assert main(["marks"]) == 2
    assert "There is no command 'marks'. Commands: grade, one, " in capsys.readouterr().err


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
            f"{tmp_path / 'file'} is no folder and no archive. "
            "Name the folder that holds the submissions."
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
        ("grade", str(full), "--lab", UNIT, "--out", out, "--roster", str(tmp_path / "file")): (
            f"The roster {tmp_path / 'file'} has no column for the student's id. Call one of them "
            "student id, login or email; it has: x."
        ),
        ("grade", str(full), "--lab", UNIT, "--out", out, "--policy", str(tmp_path / "file")): (
            f"{tmp_path / 'file'}: Expected '=' after a key in a key/value pair "
            "(at end of document)."
        ),
        ("rescore", str(empty), "--lab", UNIT): (
            f"{empty.resolve()} holds no results: it has no run.json."
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
