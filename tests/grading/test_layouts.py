"""What platforms name their downloads, and whose each file is.

The forms are those of files found in public: Canvas smithbob_340934_208490284_BobsWork.zip (the
README of mikewesthad/canvas-unzipper), Moodle "Saajida Khan_657717_assignsubmission_file_",
Blackboard assignment_username_attempt_datetime_file (kwurst/bb-file-cleanup), Gradescope's
submission_metadata.yml with :submitters, :name, :sid, :email (programs that read it).
"""

from __future__ import annotations

import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from grading import choice
from grading.attempts import Line, line_up
from grading.intake import find
from grading.layouts import common_start
from grading.roster import Person, Roster
from tests.grading.submissions import notebook_bytes

LAB = "t1_01_threads"
ADA = Person("ada", "Ada Lovelace", "ada@x.org", number="11")
BOB = Person("bob", "Smith, Bob", "bob@x.org", number="12")
EVE = Person("eve", "Eve Müller", "eve@x.org", number="13")
CLASS = Roster((ADA, BOB, EVE))


def lay(folder: Path, *names: str) -> None:
    """A notebook, a page or an empty text under each name; the notebooks differ."""
    for number, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = notebook_bytes(f"a = {number}") if name.endswith(".ipynb") else b"text"
        path.write_bytes(data)


def lined(folder: Path, roster: Roster | None = CLASS) -> dict[str, str]:
    """student -> entry, or the reason of the refusal."""
    return {
        one.submission.student: one.submission.refusal.reason
        if one.submission.refusal
        else one.submission.entry
        for one in lines(folder, roster)
    }


def lines(folder: Path, roster: Roster | None = CLASS) -> list[Line]:
    """Rows to be of a class."""
    return line_up(find(folder, LAB, unpacked=folder.parent / "unpacked"), roster, None)


def test_canvas(tmp_path: Path) -> None:
    """By Canvas's number, else by the squeezed name; files of one student belong together."""
    folder = tmp_path / "in"
    lay(
        folder,
        "lovelaceada_11_901_lab-1.ipynb",
        "lovelaceada_11_902_plot.png",
        "smithbob_LATE_12_903_scratch.ipynb",
        f"smithbob_LATE_12_904_{LAB}_lab-2.ipynb",
        "mllereve_999_905_lab.ipynb",
        "nobody_77_906_lab.ipynb",
    )

    assert find(folder, LAB).layout == "Canvas"
    assert lined(folder) == {
        "ada": "lovelaceada_11_901_lab-1.ipynb",
        "bob": f"smithbob_LATE_12_904_{LAB}_lab-2.ipynb",
        "eve": "mllereve_999_905_lab.ipynb",
        "nobody": "not-on-roster",
    }


def test_a_number_and_a_name_of_two_students_need_a_person(tmp_path: Path) -> None:
    """A row of the wrong student is the worst of all."""
    folder = tmp_path / "in"
    lay(folder, "smithbob_11_901_lab.ipynb", "lovelaceada_12_902_lab.ipynb")

    assert set(lined(folder).values()) == {"two-students", "no-submission"}
    (one,) = [x for x in lines(folder) if x.submission.student == "smithbob"]
    assert one.submission.refusal.status == "needs-human"
    assert one.submission.refusal.sentence == (
        "The file smithbob_11_901_lab.ipynb fits two students of the roster: ada, bob."
    )


def test_moodle_in_folders_and_flat(tmp_path: Path) -> None:
    """The participant's number, else the full name; what was typed online is no file."""
    people = Roster((ADA, Person("bob", "Bob Smith", number="Participant 72"), EVE))
    lay(
        tmp_path / "a",
        "Ada Lovelace_71_assignsubmission_file_/lab.ipynb",
        "Ada Lovelace_71_assignsubmission_onlinetext_/onlinetext.html",
        "B. Smith_72_assignsubmission_file_/lab.ipynb",
    )
    lay(tmp_path / "b", "Ada Lovelace_71_assignsubmission_file_lab.ipynb")

    found = find(tmp_path / "a", LAB)
    assert found.layout == "Moodle"
    assert found.left_out == ("Ada Lovelace_71_assignsubmission_onlinetext_",)
    assert lined(tmp_path / "a", people) == {
        "ada": "Ada Lovelace_71_assignsubmission_file_/lab.ipynb",
        "bob": "B. Smith_72_assignsubmission_file_/lab.ipynb",
        "eve": "no-submission",
    }
    assert lined(tmp_path / "b")["ada"] == "Ada Lovelace_71_assignsubmission_file_lab.ipynb"


def test_two_of_one_name_stay_two(tmp_path: Path) -> None:
    """Without a roster they get their numbers; with one that has the name once, a person looks."""
    folder = tmp_path / "in"
    lay(
        folder,
        "Ada Lovelace_71_assignsubmission_file_/lab.ipynb",
        "Ada Lovelace_72_assignsubmission_file_/lab.ipynb",
    )

    assert set(lined(folder, None)) == {
        "Ada Lovelace (Participant 71)", "Ada Lovelace (Participant 72)",
    }  # fmt: skip
    assert lined(folder)["ada"] == "several-notebooks"


def test_blackboard_attempts_have_times(tmp_path: Path) -> None:
    """The last attempt counts; the text that lies beside each is the platform's own."""
    folder = tmp_path / "in"
    lay(
        folder,
        "Lab 1_ada_attempt_2026-03-01-10-22-13.txt",
        "Lab 1_ada_attempt_2026-03-01-10-22-13_lab.ipynb",
        "Lab 1_ada_attempt_2026-03-02-09-00-00.txt",
        "Lab 1_ada_attempt_2026-03-02-09-00-00_lab.ipynb",
    )
    (ada, bob, _) = lines(folder)

    assert ada.submission.entry == "Lab 1_ada_attempt_2026-03-02-09-00-00_lab.ipynb"
    assert ada.submitted is not None and ada.submitted.day == 2
    assert bob.submission.refusal.reason == "no-submission"
    assert len(find(folder, LAB).left_out) == 2


def test_brightspace_folders(tmp_path: Path) -> None:
    """Name and time stand in the folder's name; an index page lies beside."""
    folder = tmp_path / "in"
    lay(
        folder,
        "101-55 - Ada Lovelace - Mar 1, 2026 1022 AM/lab.ipynb",
        "101-56 - Ada Lovelace - Mar 1, 2026 905 PM/lab.ipynb",
        "102-57 - Bob Smith - Dec 31, 2026 1200 AM/lab.ipynb",
        "index.html",
    )
    (ada, bob, *_) = lines(folder)

    assert ada.submission.entry.startswith("101-56")
    assert ada.submitted is not None and (ada.submitted.hour, ada.submitted.minute) == (21, 5)
    assert bob.submitted is not None and (bob.submitted.day, bob.submitted.hour) == (31, 0)


METADATA = """---
submission_1:
  :submitters:
  - :name: Ada Lovelace
    :sid: ''
    :email: ada@x.org
  - :name: Bob Smith
    :sid: bob
    :email: b@elsewhere.org
  :created_at: 2026-03-01 10:22:13.123 -08:00
  :results: !ruby/hash:ActiveSupport::HashWithIndifferentAccess
    a: !ruby/object:Thing {b: 1}
submission_2:
  :submitters:
  - :name: Nobody
    :sid: '9'
    :email: no@x.org
"""


def test_gradescope_groups(tmp_path: Path) -> None:
    """Each of a group has a row with the same file; Ruby's objects in the file do no harm."""
    folder = tmp_path / "in"
    lay(folder, "submission_1/lab.ipynb", "submission_2/lab.ipynb")
    (folder / "submission_metadata.yml").write_text(METADATA)

    assert find(folder, LAB).layout == "Gradescope"
    assert lined(folder) == {
        "ada": "submission_1/lab.ipynb", "bob": "submission_1/lab.ipynb",
        "eve": "no-submission", "Nobody": "not-on-roster",
    }  # fmt: skip
    ada = lines(folder)[0]
    assert ada.submitted == datetime(2026, 3, 1, 18, 22, 13, tzinfo=UTC)


@pytest.mark.parametrize("text", ["", "[1]", "a: [", "submission_1: 7", "&a [*a]"])
def test_a_metadata_file_that_says_nothing_is_no_layout(tmp_path: Path, text: str) -> None:
    """Folders are then students' as they are called, which a roster does not know."""
    lay(tmp_path / "in", "submission_1/lab.ipynb")
    (tmp_path / "in" / "submission_metadata.yml").write_text(text)

    assert lined(tmp_path / "in")["submission_1"] == "not-on-roster"


def test_what_all_names_start_with(tmp_path: Path) -> None:
    """GitHub Classroom's folders: the assignment, then the login."""
    lay(tmp_path / "in", "lab-1-ada/lab.ipynb", "lab-1-bob/lab.ipynb", "lab-1-eve-x/lab.ipynb")

    assert lined(tmp_path / "in") == {
        "ada": "lab-1-ada/lab.ipynb", "bob": "lab-1-bob/lab.ipynb",
        "eve": "no-submission", "lab-1-eve-x": "not-on-roster",
    }  # fmt: skip
    assert common_start(["maria_lopez", "maria_perez"]) == ""
    assert common_start(["lab-1-ada"]) == ""


def test_a_name_that_ends_like_another_students_is_not_his(tmp_path: Path) -> None:
    """king_bob is not bob."""
    lay(tmp_path / "in", "king_bob.ipynb", "x-eve.ipynb", "Lab 1_ada (2).ipynb")

    assert lined(tmp_path / "in") == {
        "ada": "Lab 1_ada (2).ipynb", "bob": "no-submission", "eve": "no-submission",
        "king_bob": "not-on-roster", "x-eve": "not-on-roster",
    }  # fmt: skip


def test_a_whole_download_as_it_comes(tmp_path: Path) -> None:
    """An archive with one folder in it; in that, one student's archive in an archive."""
    packed = tmp_path / "lab.zip"
    packed.write_bytes(b"")
    with zipfile.ZipFile(packed, "w") as inner:
        inner.writestr("deep/lab.ipynb", notebook_bytes("a = 1"))
    again = tmp_path / "again.zip"
    with zipfile.ZipFile(again, "w") as outer:
        outer.write(packed, "work.zip")
    download = tmp_path / "download.zip"
    with zipfile.ZipFile(download, "w") as whole:
        whole.write(again, "submissions/ada.zip")
        whole.writestr("submissions/bob.ipynb", notebook_bytes("a = 2"))
        whole.writestr("submissions/__MACOSX/._bob.ipynb", b"\0")
        whole.writestr("submissions/eve.zip", b"no archive")

    found = {one.student: one for one in find(download, LAB, unpacked=tmp_path / "un").submissions}

    assert found["ada"].path.name == "lab.ipynb"
    assert found["ada"].path.read_bytes() == notebook_bytes("a = 1")
    assert found["bob"].path.read_bytes() == notebook_bytes("a = 2")
    assert found["eve"].refusal.reason == "archive-broken"
    assert set(found) == {"ada", "bob", "eve"}


def test_a_login_with_an_underscore_is_whole(tmp_path: Path) -> None:
    """What all names share is the assignment; where one student alone leaves it open, two fit."""
    two = Roster((Person("ada_b"), Person("b")))
    for name in ("ada_b", "b"):
        lay(tmp_path / "in", f"Lab 1_{name}_attempt_2026-03-01-10-22-13_lab.ipynb")
        lay(tmp_path / name, f"Lab 1_{name}_attempt_2026-03-01-10-22-13_lab.ipynb")

    found = lined(tmp_path / "in", two)
    assert found["ada_b"].startswith("Lab 1_ada_b_") and found["b"].startswith("Lab 1_b_")
    assert "two-students" in lined(tmp_path / "ada_b", two).values()
    assert lined(tmp_path / "b", two)["ada_b"] == "no-submission"


def test_logins_may_share_a_start_too(tmp_path: Path) -> None:
    """Two that it may be need a person; one that it can only be is the one."""
    lay(tmp_path / "in", "lab-1-anna-x/lab.ipynb", "lab-1-anna-y (2)/lab.ipynb")
    four = Roster(tuple(map(Person, ("x", "y", "anna-x", "anna-y"))))

    assert sorted(lined(tmp_path / "in", four).values()) == [
        *["no-submission"] * 4, "two-students", "two-students",
    ]  # fmt: skip
    two = Roster(tuple(map(Person, ("anna-x", "anna-y"))))
    assert lined(tmp_path / "in", two) == {
        "anna-x": "lab-1-anna-x/lab.ipynb", "anna-y": "lab-1-anna-y (2)/lab.ipynb",
    }  # fmt: skip


def test_a_squeezed_name_has_the_last_name_first(tmp_path: Path) -> None:
    """liwei is Wei Li and not Li Wei."""
    lay(tmp_path / "in", "liwei_1_2_lab.ipynb", "delacruzana_2_3_lab.ipynb")

    assert lined(tmp_path / "in", Roster((Person("w", "Li Wei"),)))["w"] == "no-submission"
    assert lined(tmp_path / "in", Roster((Person("w", "Wei, Li"),)))["w"] == "no-submission"
    wei = Roster((Person("w", "Wei Li"), Person("a", "Ana de la Cruz")))
    assert set(lined(tmp_path / "in", wei)) == {"w", "a"}


def test_a_student_cannot_name_the_time(tmp_path: Path) -> None:
    """Where a platform's name has no time, none is known; nor from the name of a student's file."""
    stamp = "2026-01-01_10-00-00"
    lay(tmp_path / "in", f"lovelaceada_11_1_lab_{stamp}.ipynb", f"smithbob_12_2_lab_{stamp}.ipynb")
    lay(tmp_path / "own", f"ada/lab_{stamp}.ipynb", f"bob_{stamp}.ipynb")

    assert [one.submitted for one in lines(tmp_path / "in")] == [None, None, None]
    ada, bob, _ = lines(tmp_path / "own")
    assert ada.submitted is None and bob.submitted is not None


def test_other_entries_of_canvas(tmp_path: Path) -> None:
    """Anonymous ones, texts, links, names with an underscore."""
    lay(
        tmp_path / "in",
        "LATE_anon_x7Yz9_901_lab.ipynb",
        "anon_Q1w2e_902_lab.ipynb",
        "lovelaceada_11_text.html",
        "smithbob_LATE_12_link.html",
        "von_neumannjohn_13_903_lab.ipynb",
    )
    found = find(tmp_path / "in", LAB)

    assert found.layout == "Canvas"
    assert [one.student for one in found.entries] == [
        "anonymous Q1w2e", "anonymous x7Yz9", "von_neumannjohn",
    ]  # fmt: skip
    assert found.left_out == ("lovelaceada_11_text.html", "smithbob_LATE_12_link.html")


def test_a_folder_that_is_too_full_needs_a_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unless the lab is found by its name."""
    monkeypatch.setattr(choice, "MAX_FOLDER_ENTRIES", 50)
    lay(tmp_path / "in", *(f"{who}/data/{k}.txt" for who in ("ada", "bob") for k in range(60)))
    lay(tmp_path / "in", "ada/x/lab.ipynb", f"bob/{LAB}_lab.ipynb")

    found = lined(tmp_path / "in")
    assert (found["ada"], found["bob"]) == ("too-many-files", f"bob/{LAB}_lab.ipynb")
