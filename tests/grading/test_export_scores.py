"""Scores for machines: Gradescope's results.json, LTI messages, and the command."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from grading.__main__ import main
from grading.exports import gradescope, lti
from grading.run import Limits
from grading.store import Store
from tests.grading.toy_rows import WRONG, graded, small_class, verdict, without

NOON = datetime(2026, 3, 1, 12, tzinfo=timezone(timedelta(hours=1)))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """The small class as a folder of results."""
    store = Store(tmp_path / "out")
    store.open("toy", 5, None, Limits())
    for row in small_class():
        store.save_row(row)
    store.save_members([row.identity for row in small_class()])
    return store.folder


def test_gradescope_keys_and_points() -> None:
    """One test an exercise; the score is what counts after lateness, the test's what was judged."""
    data = json.loads(gradescope.results_json(small_class()[1], "hidden"))

    assert data["score"] == 1.5
    assert data["visibility"] == "hidden"
    (test,) = data["tests"]
    assert (test["name"], test["number"]) == ("ceil_div", "1")
    assert (test["score"], test["max_score"], test["status"]) == (2.0, 2.0, "passed")
    assert "1 day late" in data["output"]


def test_gradescope_without_points_has_no_score() -> None:
    """Neither zero nor null: the key is not there, and the output says why."""
    for row in small_class()[2:4]:
        data = json.loads(gradescope.results_json(row))
        assert "score" not in data
        assert "not a zero" in data["output"]
    fault = replace(small_class()[3], exercises=(replace(verdict(), status="error"),))
    assert "score" not in json.loads(gradescope.results_json(fault))["tests"][0]


def test_gradescope_can_leave_out_values_and_never_tells_the_seed() -> None:
    """Inputs that were drawn for all students need not be told while others still work."""
    row = graded("ada", verdict(WRONG, passed=False), seed=4711)

    assert "got 3" in gradescope.results_json(row)
    brief = gradescope.results_json(row, values=False)
    assert "got 3" not in brief
    assert json.loads(brief)["tests"][0]["tags"] == ["rounds_down"]
    assert "4711" not in gradescope.results_json(row)


def test_lti_messages() -> None:
    """Each line is one message; who has no points has no scoreGiven."""
    lines = [json.loads(line) for line in lti.json_lines(small_class(), NOON).splitlines()]

    assert [one["userId"] for one in lines] == ["ada", "bob", "cyd", "dan", "eve"]
    assert [one.get("scoreGiven") for one in lines] == [2.0, 1.5, None, None, 0.0]
    assert [one["gradingProgress"] for one in lines] == [
        *("FullyGraded", "FullyGraded", "PendingManual", "Failed", "FullyGraded"),
    ]
    assert [one["activityProgress"] for one in lines] == [
        *("Completed", "Completed", "Submitted", "Submitted", "Initialized"),
    ]
    assert all(("scoreMaximum" in one) == ("scoreGiven" in one) for one in lines)
    assert {one["timestamp"] for one in lines} == {"2026-03-01T11:00:00.000Z"}


def test_lti_users_are_the_platforms() -> None:
    """A line break in a name does not break a line; who is not named is left out."""
    text = lti.json_lines([graded("a\nb"), graded("c")], NOON, {"a\nb": "u-1"})

    assert [json.loads(line)["userId"] for line in text.splitlines()] == ["u-1"]


def test_command_csv_and_gradescope(out: Path, capsys) -> None:
    """The default place is OUT/exports; one folder a student for Gradescope."""
    assert main(["export", str(out), "--to", "csv"]) == 0
    assert main(["export", str(out), "--to", "gradescope"]) == 0

    rows = list(csv.DictReader((out / "exports" / "grades.csv").open(newline="")))
    assert [one["final_points"] for one in rows] == ["2", "1.5", "", "", "0"]
    folders = sorted(path.parent.name for path in (out / "exports").rglob("results.json"))
    assert folders == ["ada", "bob", "cyd", "dan", "eve"]
    assert "5 rows." in capsys.readouterr().out


def test_command_canvas(out: Path, tmp_path: Path, capsys) -> None:
    """It fills, says what did not fit, and does not touch the file it was given."""
    book = tmp_path / "book.csv"
    book.write_bytes(b"Student,SIS Login ID,Lab 1 (7)\r\nAda,ada,\r\nZed,zed,1\r\n")
    before = book.read_bytes()

    command = ["export", str(out), "--to", "canvas", "--gradebook", str(book)]
    assert main([*command, "--into", str(tmp_path / "new.csv")]) == 0

    assert (tmp_path / "new.csv").read_bytes() == before.replace(b"ada,", b"ada,2")
    assert book.read_bytes() == before
    said = capsys.readouterr().out
    assert "Not in the gradebook, or in it twice: 4 (bob, cyd, dan, eve)." in said
    assert "kept as they are: 1 (Zed)." in said
    assert main([*command, "--into", str(book)]) == 2


def test_command_lti_with_users(out: Path, tmp_path: Path, capsys) -> None:
    """Students without a userId are named."""
    users = tmp_path / "users.csv"
    users.write_text("student,userId\nada,u-1\n", encoding="utf-8")

    assert main(["export", str(out), "--to", "lti", "--users", str(users)]) == 0

    (line,) = (out / "exports" / "scores.jsonl").read_text().splitlines()
    assert json.loads(line)["userId"] == "u-1"
    assert "left out: 4 (bob" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--to", "canvas"], "Name the file that Canvas exported"),
        (["--to", "moodle", "--gradebook", "missing.csv"], "Cannot read missing.csv"),
        (["--to", "paper"], "--to"),
        (["--to", "csv", "--into", "."], "Choose another"),
    ],
)
def test_commands_that_make_no_sense(out: Path, arguments: list[str], said: str, capsys) -> None:
    """Exit code 2 and one sentence."""
    assert main(["export", str(out), *arguments]) == 2
    assert said in capsys.readouterr().err


def test_an_empty_folder_is_refused(tmp_path: Path, capsys) -> None:
    """There is nothing to export."""
    assert main(["export", str(tmp_path), "--to", "csv"]) == 2
    assert "holds no results" in capsys.readouterr().err


def test_no_export_writes_a_formula(out: Path) -> None:
    """A student who is called like a formula is quoted in every cell of ours."""
    store = Store(out)
    store.save_row(without("=1+1", "unreadable", identity="evil", name="@SUM(A1)"))
    store.save_members(["evil"])

    assert main(["export", str(out), "--to", "csv"]) == 0

    (row,) = csv.DictReader((out / "exports" / "grades.csv").open(newline=""))
    assert (row["student"], row["name"]) == ("'=1+1", "'@SUM(A1)")


def test_times_are_written_in_utc() -> None:
    """LTI wants the zone."""
    text = lti.json_lines([graded("ada")], datetime(2026, 1, 2, 3, 4, 5, 6000, UTC))
    assert json.loads(text)["timestamp"] == "2026-01-02T03:04:05.006Z"
