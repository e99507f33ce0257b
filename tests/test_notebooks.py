"""Every notebook of the course runs: lessons print what they printed, labs wait, solutions pass.

Lessons are compared output by output with a fresh run (nbval, strict).  Labs and solutions are run
by papermill, which stops at an error, and the records that the checks left in them are read: all
`todo` in a lab, all `pass` in a solution.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import nbformat
import papermill
import pytest

from warpwise import curriculum
from warpwise.check.record import MIME

COURSE = curriculum.COURSE
UNITS = curriculum.load().written
# A cell that takes longer hangs; this is for slow machines, not a target.
CELL_SECONDS = 300

pytestmark = pytest.mark.slow


def by_name(unit: curriculum.Unit) -> str:
    """Test ids are unit names."""
    return unit.name


def run_nbval(notebook: Path) -> subprocess.CompletedProcess[str]:
    """Runs nbval on one notebook, on the simulator, with this Python.

    In a process of its own: nbval is a pytest plugin and would take this run's options.
    """
    command = [
        *(sys.executable, "-m", "pytest", "--nbval", "--nbval-current-env"),
        *(f"--nbval-cell-timeout={CELL_SECONDS}", "-q", "-p", "no:cacheprovider"),
        *("-p", "no:xdist", "--override-ini=addopts=", str(notebook)),
    ]
    environment = {**os.environ, "WARPWISE_BACKEND": "sim", "PYTHONPATH": str(COURSE)}
    environment.pop("PYTEST_XDIST_WORKER", None)
    return subprocess.run(
        command, cwd=COURSE, env=environment, capture_output=True, text=True, check=False
    )


def run_papermill(notebook: Path, output: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Runs a notebook from top to bottom in its own folder's name; returns it with its outputs."""
    monkeypatch.setenv("WARPWISE_BACKEND", "sim")
    monkeypatch.setenv("PYTHONPATH", str(COURSE))
    return papermill.execute_notebook(
        notebook,
        output,
        kernel_name="python3",  # this environment's, whatever is registered elsewhere
        progress_bar=False,
        execution_timeout=CELL_SECONDS,
        cwd=output.parent,
    )


def records(notebook: Any) -> dict[str, str]:
    """Exercise -> status, from the records that `check` left in the outputs."""
    found = {}
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            record = output.get("data", {}).get(MIME)
            if record:
                found[record["exercise"]] = record["status"]
    return found


def expected(unit: curriculum.Unit, status: str) -> dict[str, str]:
    """Every exercise of a unit with one status."""
    return {exercise.name: status for exercise in unit.exercises}


def test_there_is_something_to_test() -> None:
    """Units are written, each with exercises, and every notebook on disk belongs to one."""
    assert UNITS
    listed = {path for unit in UNITS for path in (unit.lesson, unit.lab, unit.solution)}
    folders = ("tiers", "labs", "solutions")
    on_disk = {path for folder in folders for path in (COURSE / folder).rglob("*.ipynb")}
    on_disk = {path for path in on_disk if ".ipynb_checkpoints" not in path.parts}
    assert on_disk == listed


@pytest.mark.parametrize("unit", UNITS, ids=by_name)
def test_lesson_prints_what_it_printed(unit: curriculum.Unit) -> None:
    """Each output of the committed lesson is what a fresh run prints."""
    done = run_nbval(unit.lesson)
    assert done.returncode == 0, done.stdout[-8000:]


@pytest.mark.parametrize("unit", UNITS, ids=by_name)
def test_untouched_lab_runs_to_the_end(
    unit: curriculum.Unit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A lab that nobody has worked in raises nothing, and every record says todo."""
    ran = run_papermill(unit.lab, tmp_path / "lab.ipynb", monkeypatch)
    assert records(ran) == expected(unit, "todo")


@pytest.mark.parametrize("unit", UNITS, ids=by_name)
def test_solution_passes_every_check(
    unit: curriculum.Unit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The course's own answers earn full marks."""
    ran = run_papermill(unit.solution, tmp_path / "solution.ipynb", monkeypatch)
    assert records(ran) == expected(unit, "pass")


@pytest.mark.parametrize("unit", UNITS, ids=by_name)
def test_lesson_was_executed_and_labs_were_not(unit: curriculum.Unit) -> None:
    """Lessons are committed with outputs, labs and solutions without."""
    lesson = nbformat.read(unit.lesson, 4)
    assert any(cell.get("outputs") for cell in lesson.cells)
    for path in (unit.lab, unit.solution):
        cells = nbformat.read(path, 4).cells
        assert not any(cell.get("outputs") for cell in cells), path.name
