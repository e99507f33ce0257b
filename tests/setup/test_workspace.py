"""The copies under mine/: never overwritten, and a learner hears when a lab has changed."""

from __future__ import annotations

import json
import os
import stat
import subprocess
from pathlib import Path

import pytest

from warpwise import workspace
from warpwise.workspace import WorkspaceError, lay

NAME = "t1_kernels/t1_01_threads_lab.ipynb"
NEWER = "t1_kernels/t1_01_threads_lab.new.ipynb"


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A course with two labs, nothing copied yet."""
    for name in (NAME, "t1_kernels/t1_02_grids_lab.ipynb"):
        path = tmp_path / "labs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("version 1")
    return tmp_path


def change_lab(course: Path, text: str) -> None:
    """What a git pull does to the first lab."""
    (course / "labs" / NAME).write_text(text)


def test_first_run_copies_every_lab(course: Path) -> None:
    """All labs are copied and named."""
    report = lay(course)
    assert report.new == [NAME, "t1_kernels/t1_02_grids_lab.ipynb"]
    assert (course / "mine" / NAME).read_text() == "version 1"
    assert report.lines() == [
        "2 files new in mine/: t1_kernels/t1_01_threads_lab.ipynb, t1_kernels/t1_02_grids_lab.ipynb"
    ]


def test_second_run_changes_nothing_and_says_nothing(course: Path) -> None:
    """Nothing new means no words."""
    lay(course)
    before = (course / "mine" / workspace.STATE_NAME).read_text()
    report = lay(course)
    assert (report.new, report.lines()) == ([], [])
    assert (course / "mine" / workspace.STATE_NAME).read_text() == before


def test_an_answer_is_never_overwritten(course: Path) -> None:
    """A changed copy stays; the newer lab lies beside it and the learner is told once."""
    lay(course)
    mine = course / "mine" / NAME
    mine.write_text("my answer")
    change_lab(course, "version 2")
    report = lay(course)
    assert mine.read_text() == "my answer"
    assert (course / "mine" / NEWER).read_text() == "version 2"
    assert report.lines() == [
        "1 file changed in the course since the copy in mine/, and your copy stays as it is.  "
        "The newer version lies beside it; to go over to it, rename yours, then it: "
        "t1_kernels/t1_01_threads_lab.new.ipynb"
    ]
    assert lay(course).lines() == []


def test_an_untouched_copy_is_brought_up_to_date(course: Path) -> None:
    """A copy that is byte for byte as laid holds nothing of the learner's."""
    lay(course)
    change_lab(course, "version 2")
    report = lay(course)
    assert report.updated == [NAME]
    assert (course / "mine" / NAME).read_text() == "version 2"
    assert not (course / "mine" / NEWER).exists()


def test_a_newer_lab_replaces_only_an_unread_offer(course: Path) -> None:
    """Version 3 replaces the .new of version 2, but not one the learner has worked in."""
    lay(course)
    (course / "mine" / NAME).write_text("my answer")
    change_lab(course, "version 2")
    lay(course)
    change_lab(course, "version 3")
    lay(course)
    newer = course / "mine" / NEWER
    assert newer.read_text() == "version 3"
    newer.write_text("my second answer")
    change_lab(course, "version 4")
    lay(course)
    assert newer.read_text() == "my second answer"
    assert newer.with_name("t1_01_threads_lab.new2.ipynb").read_text() == "version 4"


def test_taking_the_newer_lab_settles_it(course: Path) -> None:
    """Renaming .new over one's copy ends the matter; the next change is offered again."""
    lay(course)
    mine = course / "mine" / NAME
    mine.write_text("my answer")
    change_lab(course, "version 2")
    lay(course)
    os.replace(course / "mine" / NEWER, mine)
    assert lay(course).lines() == []
    mine.write_text("my answer, version 2")
    change_lab(course, "version 3")
    assert lay(course).beside == [NEWER]
    assert mine.read_text() == "my answer, version 2"


def test_a_deleted_copy_is_laid_again(course: Path) -> None:
    """Deleting a copy is how a learner starts over."""
    lay(course)
    (course / "mine" / NAME).unlink()
    assert lay(course).new == [NAME]


def test_a_lab_that_left_the_course_stays_with_the_learner(course: Path) -> None:
    """A renamed lab is told once; the copy stays."""
    lay(course)
    (course / "labs" / NAME).rename((course / "labs" / NAME).with_name("t1_01_lanes_lab.ipynb"))
    report = lay(course)
    assert report.new == ["t1_kernels/t1_01_lanes_lab.ipynb"]
    assert report.gone == [NAME]
    assert (course / "mine" / NAME).read_text() == "version 1"
    assert lay(course).lines() == []


@pytest.mark.parametrize(
    "state", ["", "{", "[]", "null", '{"labs": {"a": {}}}', "\x00", '{"labs": 1}']
)
def test_a_corrupted_state_file_costs_nothing(course: Path, state: str) -> None:
    """The state is made anew, the copies stay, and the learner is told."""
    lay(course)
    (course / "mine" / NAME).write_text("my answer")
    (course / "mine" / workspace.STATE_NAME).write_text(state)
    change_lab(course, "version 2")
    report = lay(course)
    assert report.notes == [
        "mine/.warpwise.json could not be read and was made anew; your labs stay."
    ]
    assert (course / "mine" / NAME).read_text() == "my answer"
    assert json.loads((course / "mine" / workspace.STATE_NAME).read_text())["version"] == 1


def test_a_folder_or_dangling_link_in_the_way_is_left_alone(course: Path) -> None:
    """Whatever stands at a copy's place is the learner's."""
    (course / "mine" / NAME).mkdir(parents=True)
    link = course / "mine" / "t1_kernels/t1_02_grids_lab.ipynb"
    link.symlink_to(course / "nowhere")
    report = lay(course)
    assert report.new == []
    assert (course / "mine" / NAME).is_dir()
    assert link.is_symlink()


def test_checkpoints_and_hidden_files_are_not_copied(course: Path) -> None:
    """JupyterLab leaves checkpoints in labs/ when someone opens one there."""
    for name in (".ipynb_checkpoints/a.ipynb", ".hidden"):
        path = course / "labs/t1_kernels" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    assert len(lay(course).new) == 2


def test_no_labs_is_an_error_with_a_sentence(tmp_path: Path) -> None:
    """Finding nothing to copy is never silent."""
    with pytest.raises(WorkspaceError) as caught:
        lay(tmp_path)
    assert str(caught.value) == (
        f"There are no labs in {tmp_path / 'labs'}.  Is the clone complete?  git status"
    )


def test_a_file_named_mine_is_named(course: Path) -> None:
    """A file in the place of the folder is not replaced."""
    (course / "mine").write_text("notes")
    with pytest.raises(WorkspaceError, match="is a file; rename it, your copies"):
        lay(course)
    assert (course / "mine").read_text() == "notes"


def test_a_folder_that_cannot_be_written_gets_a_sentence(
    course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A read-only folder or a full disk: what, why, and what to check; no half-written notebook."""

    def full(*args: object, **kwargs: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(workspace.os, "replace", full)
    with pytest.raises(WorkspaceError) as caught:
        lay(course)
    assert str(caught.value) == (
        f"{course / 'mine'} could not be written: No space left on device.\n"
        "Your copies of the labs belong there.  Check who owns the folder and the free space."
    )
    assert list((course / "mine").rglob("*.ipynb")) == []
    assert list((course / "mine").rglob(".laying-*")) == []


def test_copies_are_readable_like_any_new_file(course: Path) -> None:
    """A teacher's group can read a copy as it can read any file made by the learner."""
    lay(course)
    plain = course / "plain"
    plain.write_text("")
    mode = stat.S_IMODE(plain.stat().st_mode)
    assert stat.S_IMODE((course / "mine" / NAME).stat().st_mode) == mode


def test_git_ignores_the_copies() -> None:
    """A pull can never conflict with what git does not see."""
    if not (workspace.ROOT / ".git").exists():
        pytest.skip("not a git clone")
    done = subprocess.run(
        ["git", "check-ignore", "-q", f"mine/{NAME}"], cwd=workspace.ROOT, check=False
    )
    assert done.returncode == 0


def test_lessons_are_copied_too_so_that_running_one_blocks_no_pull(course: Path) -> None:
    """A lesson that was run is the learner's; the course's own file stays as git knows it."""
    lesson = course / "tiers" / "t1_kernels" / "t1_01_threads.ipynb"
    lesson.parent.mkdir(parents=True)
    lesson.write_text("lesson 1")
    assert "t1_kernels/t1_01_threads.ipynb" in lay(course).new
    mine = course / "mine" / "t1_kernels" / "t1_01_threads.ipynb"
    mine.write_text("lesson 1, run, with guesses")
    lesson.write_text("lesson 2")
    assert lay(course).beside == ["t1_kernels/t1_01_threads.new.ipynb"]
    assert mine.read_text() == "lesson 1, run, with guesses"
    assert mine.with_name("t1_01_threads.new.ipynb").read_text() == "lesson 2"
