"""Progress is noted in the working copy only, keeps the best result, and shows on the page."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from warpwise import curriculum, progress
from warpwise.setup import start_page
from warpwise.workspace import STATE_NAME


@pytest.fixture
def mine(tmp_path: Path) -> Path:
    """A working copy with its start page and a folder of labs."""
    folder = tmp_path / "mine"
    (folder / "t1_kernels").mkdir(parents=True)
    (folder / STATE_NAME).write_text('{"labs": {}}')
    page = folder / progress.PAGE
    page.write_text(start_page.build_page(page, curriculum.load().written, "sim", ["news stays"]))
    return folder


def test_a_check_in_a_lab_is_noted_and_shown(mine: Path) -> None:
    """The file and the table of the page change; the rest of the page stays."""
    progress.note("write_index", "pass", 1, 1, mine / "t1_kernels")
    assert progress.read(mine)["write_index"] == {"points": 1, "of": 1, "status": "pass"}
    text = (mine / progress.PAGE).read_text()
    assert "You have **1 of " in text and "| write_index |" in text and "news stays" in text


def test_the_best_result_stays(mine: Path) -> None:
    """A later failure takes no points away."""
    progress.note("write_index", "pass", 1, 1, mine)
    progress.note("write_index", "fail", 0, 1, mine)
    assert progress.read(mine)["write_index"] == {"points": 1, "of": 1, "status": "fail"}


def test_outside_a_working_copy_nothing_is_written(tmp_path: Path) -> None:
    """Checks of scripts, tests and graders leave no trace."""
    progress.note("write_index", "pass", 1, 1, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_faults_of_the_course_are_not_noted(mine: Path) -> None:
    """An error is nobody's result."""
    progress.note("write_index", "error", 0, 1, mine)
    assert progress.read(mine) == {}


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"a": 3}'])
def test_a_broken_file_begins_anew(mine: Path, text: str) -> None:
    """Half a file, another kind of file: the next check writes a whole one."""
    (mine / progress.NAME).write_text(text)
    assert progress.read(mine) == {}
    progress.note("write_index", "pass", 1, 1, mine)
    assert json.loads((mine / progress.NAME).read_text())["write_index"]["points"] == 1


def test_a_folder_that_cannot_be_written_costs_nothing(
    mine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A full disk: no exception reaches the learner."""

    def full(path: Path, content: bytes) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(progress, "write_file", full)
    progress.note("write_index", "pass", 1, 1, mine)
    assert progress.read(mine) == {}


def test_a_page_without_a_table_is_left_alone(mine: Path) -> None:
    """A learner may have replaced the page."""
    (mine / progress.PAGE).write_text("my own notes")
    progress.note("write_index", "pass", 1, 1, mine)
    assert (mine / progress.PAGE).read_text() == "my own notes"
