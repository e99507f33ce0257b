"""The roster, and entries lined up with it: one row a student, whatever was handed in."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from grading.attempts import line_up, readings, time_of
from grading.intake import find
from grading.policy import Late
from grading.publish import check_rows
from grading.results import Result
from grading.roster import Person, Roster, RosterError, read_roster
from tests.grading.submissions import notebook_bytes

LAB = "t1_01_threads"


def roster(tmp_path: Path, text: str, **more: str) -> Roster:
    """The roster of a CSV text."""
    path = tmp_path / "class.csv"
    path.write_bytes(text.encode())
    return read_roster(path, **more)


@pytest.mark.parametrize(
    "text",
    [
        "Student ID,Name,Email,Section\nada,Ada Lovelace,ada@x.org,A\n",
        "\ufeffname;section;E-Mail;student_id\r\nAda Lovelace;A;ada@x.org;ada\r\n",
        "Section\tFirst name\tLast name\tlogin\temail\nA\tAda\tLovelace\tada\tada@x.org\n\n",
        "Student,ID,SIS Login ID,Section,Email\n    Points Possible,,,,\n"
        "Ada Lovelace,7,ada,A,ada@x.org\n",
    ],
)
def test_columns_go_by_their_headers(tmp_path: Path, text: str) -> None:
    """Order, case, delimiter, byte order mark and extra rows of a platform do not matter."""
    (ada,) = roster(tmp_path, text).people

    assert replace(ada, number="") == Person("ada", "Ada Lovelace", "ada@x.org", "A")
    assert ada.number == ("7" if "7" in text else "")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is empty."),
        ("a,b\n1,2\n", "has no column for the student's id. Call one of them student id, login"),
        ("login\n", "has a header, but no students."),
        ("login,name\nada,Ada\nbob,Bob\nADA,Ada\n", "line 4: ADA is already in line 2."),
        ("login,name\n,Ada\n", "line 2: there is no student id."),
        ('login,name\nada,"Ada\n' + "x" * 200_000, "line "),
    ],
)
def test_a_bad_roster_is_named_with_its_line(tmp_path: Path, text: str, sentence: str) -> None:
    """A roster that would lose or double a student is refused."""
    with pytest.raises(RosterError) as caught:
        roster(tmp_path, text)

    assert sentence in str(caught.value) and str(tmp_path) in str(caught.value)


def test_a_roster_in_another_encoding_or_without_its_column_is_refused(tmp_path: Path) -> None:
    """Latin-1 would spoil names; a column of times that is not there would make nobody late."""
    (tmp_path / "latin.csv").write_bytes("login\nZoë\n".encode("latin-1"))
    with pytest.raises(RosterError, match="is not UTF-8 text"):
        read_roster(tmp_path / "latin.csv")
    with pytest.raises(RosterError, match="has no column 'when'"):
        roster(tmp_path, "login\nada\n", time_column="when")
    with pytest.raises(RosterError, match="Cannot read the roster"):
        read_roster(tmp_path / "none.csv")


def test_a_student_is_found_by_id_mail_or_name(tmp_path: Path) -> None:
    """Case, blanks and accents' coding do not count; a way that fits two students fits none."""
    found = roster(
        tmp_path,
        "login,name,email\n01,Zoë Ă,zoe@x.org\n02,Bob,b@x.org\n03,Bob,b2@x.org\nbob,Rob,r@x.org\n",
    )

    ways = {"01", " ZOE@x.org", "zoe", "zoë  ă", "zoe\u0308 ă"}
    assert {found.find(way).student for way in ways} == {"01"}
    assert found.find("Bob").student == "bob"  # an id goes before two names
    assert found.find("b").student == "02" and found.find("eve") is None


def lay(folder: Path, *names: str) -> None:
    """Write a small notebook under each name."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(notebook_bytes("a = 1"))


def lines(folder: Path, people: Roster | None, late: Late | None = None) -> list[tuple[str, str]]:
    """(student, file or reason) in order."""
    found = line_up(find(folder, LAB), people, late)
    assert len({one.submission.identity for one in found}) == len(found)
    return [
        (s.student, s.refusal.reason if s.refusal else s.entry)
        for s in (one.submission for one in found)
    ]


def people(*names: str) -> Roster:
    """A roster of these ids."""
    return Roster(tuple(Person(name) for name in names))


def test_every_student_of_the_roster_has_one_row(tmp_path: Path) -> None:
    """In the roster's order; who handed in nothing has a row; strangers come last, ungraded."""
    lay(tmp_path, "bob.ipynb", "ADA.ipynb", "mallory.ipynb", "Lab 1_cyd_attempt2 (1).ipynb")

    assert lines(tmp_path, people("ada", "bob", "cyd", "dot")) == [
        ("ada", "ADA.ipynb"),
        ("bob", "bob.ipynb"),
        ("cyd", "Lab 1_cyd_attempt2 (1).ipynb"),
        ("dot", "no-submission"),
        ("mallory", "not-on-roster"),
    ]
    (stranger,) = line_up(find(tmp_path, LAB), people("bob", "ada", "cyd"), None)[3:]
    assert stranger.submission.refusal.status == "needs-human"
    assert stranger.submission.refusal.sentence == (
        "No student of the roster goes by this name, so mallory.ipynb was not graded."
    )


STAMPED = [f"x_ada_attempt_2026-03-0{day}-10-00-00.ipynb" for day in (1, 2, 3)]


def test_the_last_attempt_before_the_deadline_counts(tmp_path: Path) -> None:
    """Later attempts and earlier ones are listed; without a deadline the last one counts."""
    lay(tmp_path, *STAMPED)
    late = Late(datetime(2026, 3, 2, 12, tzinfo=UTC))

    (line,) = line_up(find(tmp_path, LAB), people("ada"), late)

    assert line.submission.entry == STAMPED[1]
    assert line.submitted == datetime(2026, 3, 2, 10, tzinfo=UTC)
    assert [one.sentence for one in line.submission.notes] == [
        f"Handed in 3 times; graded was {STAMPED[1]} (2026-03-02 10:00), "
        f"not {STAMPED[0]}, {STAMPED[2]}."
    ]
    assert lines(tmp_path, people("ada")) == [("ada", STAMPED[2])]
    early = Late(datetime(2026, 2, 1, tzinfo=UTC))
    assert lines(tmp_path, people("ada"), early) == [("ada", STAMPED[2])]
    extended = Late(early.deadline, extensions={"ada": late.deadline})
    assert lines(tmp_path, people("ada"), extended) == [("ada", STAMPED[1])]


def test_attempts_without_times_need_a_person(tmp_path: Path) -> None:
    """Nobody guesses which of two files is the later one, unless file times are asked for."""
    import os

    lay(tmp_path, "ada.ipynb", "ada-1.ipynb", "bob/1/lab.ipynb", "bob/2/lab.ipynb")
    for name, when in {"ada.ipynb": 2_000_000_000, "ada-1.ipynb": 1_000_000_000}.items():
        os.utime(tmp_path / name, (when, when))

    assert lines(tmp_path, people("ada")) == [
        ("ada", "several-notebooks"), ("bob", "not-on-roster"),
    ]  # fmt: skip
    files = Late(datetime(2040, 1, 1, tzinfo=UTC), times="files")
    assert lines(tmp_path, people("ada"), files)[0] == ("ada", "ada.ipynb")
    assert lines(tmp_path, None)[0] == ("ada", "ada.ipynb")  # without a roster: two students


def test_attempts_in_folders_and_nbgraders_times(tmp_path: Path) -> None:
    """Folders of one student with a stamp, or with nbgrader's file beside the notebook."""
    lab = f"{LAB}_lab.ipynb"
    lay(tmp_path, f"ada/2026-03-01 10.00/{lab}", f"ada/2026-03-05 10.00/{lab}", f"bob/{lab}")
    (tmp_path / "bob" / "timestamp.txt").write_text("2026-03-02 10:22:13 UTC\n")

    found = {one.submission.student: one for one in line_up(find(tmp_path, LAB), None, None)}

    assert "2026-03-05" in found["ada"].submission.entry
    assert found["bob"].submitted == datetime(2026, 3, 2, 10, 22, 13, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-03-01 10:22:13", (2026, 3, 1, 10, 22, 13)),
        ("ada_2026-03-01-10-22-13_lab", (2026, 3, 1, 10, 22, 13)),
        ("2026-03-01T10:22Z", (2026, 3, 1, 10, 22, 0)),
        ("2026-03-01T12:22:13.5+02:00", (2026, 3, 1, 10, 22, 13)),
        ("20260301T102213", (2026, 3, 1, 10, 22, 13)),
        ("202603011022", None),  # a student's number
        ("2026-13-01 10:22", None),
        ("2026-03-01", None),
        ("", None),
    ],
)
def test_times_in_names(text: str, time: tuple[int, ...] | None) -> None:
    """Only what is clearly a time is one; a zone in it counts."""
    assert time_of(text, UTC) == (datetime(*time, tzinfo=UTC) if time else None)


def test_readings_keep_the_whole_name_first() -> None:
    """A name that ends like an attempt may be a student's own."""
    assert list(readings("ada-1"))[:2] == ["ada-1", "ada"]
    assert list(readings("Lab_ada_attempt_2026-03-01-10-22-13")) == [
        "Lab_ada_attempt_2026-03-01-10-22-13", "Lab_ada_attempt", "Lab_ada", "ada",
    ]  # fmt: skip


def test_rows_are_counted_against_the_roster() -> None:
    """A lost or a doubled row stops the writing of grades."""
    ada, bob = (Result(name, name, "toy", "graded", "", 1.0, 1.0) for name in ("ada", "bob"))

    check_rows([bob, ada], people("ada", "bob"))
    for rows in (
        [ada],
        [ada, bob, replace(ada, identity="x")],
        [ada, replace(bob, identity="ada")],
    ):
        with pytest.raises(RuntimeError, match="Not exactly one row each"):
            check_rows(rows, people("ada", "bob"))
