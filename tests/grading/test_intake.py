"""Finding submissions: one row a student, whatever the names."""

from __future__ import annotations

import os
from pathlib import Path

from grading.intake import find, identity
from tests.grading.submissions import notebook_bytes

LAB = "t1_01_threads"


def lay(folder: Path, *names: str) -> None:
    """Write a small notebook under each name."""
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(notebook_bytes("a = 1"))


def rows(folder: Path) -> dict[str, str]:
    """student -> path below `folder`, or the reason of the refusal."""
    return {
        one.student: one.refusal.reason if one.refusal else str(one.path.relative_to(folder))
        for one in find(folder, LAB).submissions
        if one.refusal or one.path
    }


def test_files_and_folders_are_students(tmp_path: Path) -> None:
    """A notebook's stem and a folder's name are the student."""
    lay(tmp_path, "ada.ipynb", "bob/lab.ipynb", "cyd/deep/er/lab.ipynb", "dot.IPYNB")

    assert rows(tmp_path) == {
        "ada": "ada.ipynb",
        "bob": "bob/lab.ipynb",
        "cyd": "cyd/deep/er/lab.ipynb",
        "dot": "dot.IPYNB",
    }


def test_the_lab_is_chosen_among_several(tmp_path: Path) -> None:
    """The notebook named like the lab is the one; without it a person has to look."""
    lay(tmp_path, "ada/scratch.ipynb", f"ada/{LAB}_lab.ipynb", "bob/a.ipynb", "bob/b.ipynb")

    found = {one.student: one for one in find(tmp_path, LAB).submissions}

    assert f"{LAB}_lab.ipynb" == found["ada"].path.name
    assert found["bob"].refusal.status == "needs-human"
    assert (
        found["bob"].refusal.sentence
        == "There are 2 notebooks and none is clearly the lab: a.ipynb, b.ipynb."
    )


def test_empty_folder_is_not_submitted(tmp_path: Path) -> None:
    """A student's folder without a notebook is a row of its own status."""
    (tmp_path / "ada").mkdir()
    (tmp_path / "ada" / ".ipynb_checkpoints").mkdir()
    lay(tmp_path, "ada/.ipynb_checkpoints/lab-checkpoint.ipynb")

    (one,) = find(tmp_path, LAB).submissions

    assert (
        one.refusal.status,
        one.refusal.sentence,
    ) == ("not-submitted", "There is no notebook (.ipynb) in this folder.")


def test_links_are_refused(tmp_path: Path) -> None:
    """No symbolic link is followed: not as a file, not as a folder, not inside one."""
    outside = tmp_path / "outside"
    folder = tmp_path / "in"
    lay(outside, "lab.ipynb")
    (folder / "cyd").mkdir(parents=True)
    (folder / "ada.ipynb").symlink_to(outside / "lab.ipynb")
    (folder / "bob").symlink_to(outside)
    (folder / "cyd" / "lab.ipynb").symlink_to(outside / "lab.ipynb")

    assert rows(folder) == {"ada": "symlink", "bob": "symlink", "cyd": "symlink"}


def test_odd_names_stay_apart(tmp_path: Path) -> None:
    """Brackets, plus signs, dots, other scripts and broken bytes are names like any other."""
    names = ["123 [abc]", "a+b", "..ipynb"[1:], "Daniël", "Жанна", "{x}", "*", "ada", "Ada", "con"]
    lay(tmp_path, *(f"{name}.ipynb" for name in names))
    with open(os.fsencode(tmp_path) + b"/\xff\xfe.ipynb", "wb") as file:
        file.write(notebook_bytes("a = 1"))

    found = find(tmp_path, LAB).submissions

    identities = [one.identity.casefold() for one in found]
    assert len(found) == len(set(identities)) == 10  # ".ipynb" alone is a hidden file
    assert all(c.isalnum() or c in "_-." for one in identities for c in one)
    assert all(one.student.encode() for one in found)


def test_identity_is_readable_or_hashed() -> None:
    """A plain name names its file; any other gets a readable part and a digest."""
    assert identity("ada_l-1") == "ada_l-1"
    assert identity("../../etc/passwd").startswith("etc-passwd.")
    assert identity("a/b") != identity("a-b")


def test_one_row_for_a_file_and_a_folder_of_one_name(tmp_path: Path) -> None:
    """A student who is there twice is one row, and a person decides."""
    lay(tmp_path, "ada.ipynb", "ada/lab.ipynb")

    assert rows(tmp_path) == {"ada": "several-notebooks"}


def test_other_files_are_rows_or_named(tmp_path: Path) -> None:
    """A file in the wrong format is a row; class lists are left out, and that is said."""
    lay(tmp_path, "ada.ipynb", "out/grades.csv")
    (tmp_path / "bob.py").write_text("x = 1")
    (tmp_path / "roster.csv").write_text("ada")

    found = find(tmp_path, LAB, ignore=[tmp_path / "out"])

    assert [one.student for one in found.submissions] == ["ada", "bob.py"]
    assert (
        found.submissions[1].refusal.sentence == "The file bob.py does not end in .ipynb. "
        "Save the notebook in JupyterLab and hand it in again."
    )
    assert found.left_out == ("roster.csv",)


def test_pipe_is_refused(tmp_path: Path) -> None:
    """A named pipe would keep the grader waiting for ever."""
    os.mkfifo(tmp_path / "ada.ipynb")

    assert rows(tmp_path) == {"ada": "not-a-file"}
