"""Rows on disk and on the screen."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from grading.grade import row
from grading.reasons import SENTENCES, STATUSES, Note
from grading.results import (
    ExerciseResult,
    Final,
    Result,
    csv_text,
    from_dict,
    grader_error,
    safe,
    table,
    write_student,
)


def result(student: str = "ada", status: str = "graded", points: float | None = 2.5) -> Result:
    """A row with one exercise."""
    exercises = (ExerciseResult("ceil_div", "pass", 2.5, 2.5, label="computed on this machine"),)
    notes = (Note("timeout", 'Code cell 2, "slow",\nwas stopped.'),)
    return Result(student, student, "toy", status, "", points, 4.0, exercises, notes)


@pytest.mark.parametrize(
    "name", ["=1+1", "+x", "-x", "@SUM(A1)", "\t=1", "  =1", "＝1", '=HYPERLINK("x")']
)
def test_no_cell_of_the_csv_is_a_formula(name: str) -> None:
    """A name that a spreadsheet would run is quoted; an ordinary one stays as it is."""
    (_, line) = list(csv.reader(io.StringIO(csv_text([result(name)], ["ceil_div"]))))

    assert line[0] == "'" + name
    assert safe("Ada = Lovelace") == "Ada = Lovelace"


def test_csv_is_rfc_4180() -> None:
    """Quotes, commas and line breaks survive; lines end with CRLF; the columns are fixed."""
    text = csv_text([result("O'Neil, Ada")], ["ceil_div"])

    rows = list(csv.reader(io.StringIO(text, newline="")))
    assert rows == [
        [
            *("student", "name", "email", "section", "status", "reason", "points", "max_points"),
            *("final_points", "final_max", "grade", "ceil_div", "submitted", "late_days"),
            *("adjustments", "sandbox", "note"),
        ],
        [
            *("O'Neil, Ada", "", "", "", "graded", "", "2.5", "4", "2.5", "4", "", "2.5", "", "0"),
            *("", "", 'Code cell 2, "slow",\nwas stopped.'),
        ],
    ]
    assert text.count("\r\n") == 2


@pytest.mark.parametrize("status", ["needs-human", "grader-error"])
def test_unknown_points_are_blank(status: str) -> None:
    """A row that nobody could grade has no points at all, not even for its exercises."""
    text = csv_text([result(status=status, points=None)], ["ceil_div"])

    assert text.splitlines()[1].startswith(f"ada,,,,{status},,,4,,4,,,,0,")


def test_final_points_stand_beside_raw_ones() -> None:
    """What was judged and what counts are columns of their own, also where a person decided."""
    final = Final(1.25, 3.0, {"ceil_div": 2.5}, 5, "=B", ("5 days late: 50 percent less",))
    one = replace(result(), final=final, name="Ada", section="+A", submitted="2026-03-01T10:00:00")

    (row,) = csv.DictReader(io.StringIO(csv_text([one], ["ceil_div"]), newline=""))

    assert (row["points"], row["final_points"], row["final_max"]) == ("2.5", "1.25", "3")
    assert (row["grade"], row["section"], row["late_days"]) == ("'=B", "'+A", "5")
    assert row["adjustments"] == "5 days late: 50 percent less"
    human = replace(result(status="needs-human", points=None), final=Final(4.0, 4.0))
    (row,) = csv.DictReader(io.StringIO(csv_text([human], ["ceil_div"]), newline=""))
    assert (row["points"], row["ceil_div"], row["final_points"]) == ("", "", "4")
    assert from_dict(json.loads(json.dumps(one.to_dict()))) == one


def test_student_file_round_trip(tmp_path: Path) -> None:
    """The JSON holds the whole row, in the student's own letters."""
    path = write_student(result("Žofie"), tmp_path)

    text = path.read_text(encoding="utf-8")
    assert "Žofie" in text
    assert from_dict(json.loads(text)) == result("Žofie")
    assert [one.name for one in tmp_path.iterdir()] == ["Žofie.json"]


def test_table_counts_statuses_and_shows_no_points_where_there_are_none() -> None:
    """One line a student, then the counts in the order of the list."""
    rows = [result(), grader_error("bob", "bob", "toy", 4.0, "fault")]

    assert table(rows) == (
        "student     points  status           reason\n"
        "ada        2.5 / 4  graded\n"
        "bob          - / 4  grader-error     grader-error\n"
        "\n"
        "2 submissions: 1 graded, 1 grader-error."
    )


def test_table_of_a_class_shows_what_needs_a_look() -> None:
    """With many rows those that are simply graded are left to the CSV."""
    rows = [result(f"s{k}") for k in range(100)] + [result("bob", "unreadable", 0.0)]

    assert "bob" in table(rows) and "s7 " not in table(rows)
    assert table(rows).endswith("101 submissions: 100 graded, 1 unreadable.")


def one(status: str, reason: str = "") -> ExerciseResult:
    """An exercise with this status."""
    return ExerciseResult("x", status, 0.0, 1.0, reason=reason)


LOOP = Note("timeout", "...")


@pytest.mark.parametrize(
    ("exercises", "notes", "expected"),
    [
        ([one("pass"), one("fail")], [], ("graded", "")),
        ([one("todo")], [], ("graded", "")),
        ([one("fail", "too-slow")], [], ("graded", "too-slow")),
        ([one("pass")], [LOOP], ("graded-repaired", "timeout")),
        (
            [one("pass"), one("missing", "missing-function")],
            [],
            ("partly-graded", "missing-function"),
        ),
        ([one("no-answer", "no-answer")], [LOOP], ("partly-graded", "timeout")),
        (
            [one("error"), one("missing", "missing-function")],
            [LOOP],
            ("grader-error", "grader-error"),
        ),
    ],
)
def test_status_of_a_row(exercises, notes, expected) -> None:
    """The status follows from the exercises first, then from the repairs."""
    assert row(exercises, notes) == expected
    assert expected[0] in STATUSES


def test_every_sentence_is_one() -> None:
    """Sentences start with a capital or a value and end with a full stop or a question."""
    assert SENTENCES
    for reason, sentence in SENTENCES.items():
        assert sentence.rstrip()[-1] in ".?", reason
        assert sentence[0].isupper() or sentence[0] == "{", reason
