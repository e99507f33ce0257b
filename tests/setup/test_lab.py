"""The start page, and the command that opens JupyterLab on it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from warpwise import curriculum
from warpwise.setup import lab, script, start_page

MANIFEST = """
[[unit]]
name = "t1_01_threads"
title = "Threads"
tier = "t1_kernels"
status = "written"
prerequisites = []
minutes = 60
points = 3
exercises = [{ name = "guarded_add", points = 3 }]

[[unit]]
name = "t1_02_grids"
title = "Grids"
tier = "t1_kernels"
status = "planned"
prerequisites = []
minutes = 60
points = 3
"""


@pytest.fixture
def page(tmp_path: Path) -> str:
    """The page of a course with one written unit."""
    units = curriculum.parse(MANIFEST, tmp_path).written
    path = tmp_path / "mine" / start_page.NAME
    return start_page.build_page(path, units, "sim", ["1 lab new in mine/: x"])


def test_the_page_leads_to_the_first_lesson_and_the_learners_own_copy(page: str) -> None:
    """Links are relative to mine/, so that they open inside JupyterLab."""
    assert "(t1_kernels/t1_01_threads.ipynb)" in page
    assert "(t1_kernels/t1_01_threads_lab.ipynb)" in page
    assert "labs/" not in page
    assert "`guarded_add`" in page


def test_the_page_says_where_kernels_run_and_what_changed(page: str) -> None:
    """No GPU is said in a sentence, and so is news about copies."""
    assert "Kernels run on the simulator, because no GPU works here." in page
    assert "- 1 lab new in mine/: x" in page


def test_the_page_lists_written_units_only(page: str) -> None:
    """A link to a lesson that does not exist helps nobody."""
    assert "Threads" in page
    assert "Grids" not in page


def test_every_link_of_the_real_page_leads_somewhere() -> None:
    """The page of this course, as it would be written now."""
    course = curriculum.load()
    assert course.written, "no written unit"
    path = lab.workspace.ROOT / "mine" / start_page.NAME
    text = start_page.build_page(path, course.written, "sim", [])
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert links
    for link in links:
        target = (path.parent / link).resolve()
        # A copy need not be there yet; its original must be.
        folder = "/labs/" if "_lab" in target.name else "/tiers/"
        original = Path(str(target).replace("/mine/", folder))
        assert original.exists(), link


def test_the_root_is_the_course_so_that_lessons_open_too(tmp_path: Path) -> None:
    """The page lies under mine/, the server's root above it; the user's arguments come last."""
    command = lab.jupyter_command(tmp_path, tmp_path / "mine/START.md", ["--no-browser"])
    assert f"--ServerApp.root_dir={tmp_path}" in command
    assert "--LabApp.default_url=/lab/tree/mine/START.md" in command
    assert command[-1] == "--no-browser"


@pytest.mark.parametrize(("user", "given"), [(0, True), (1000, False)])
def test_root_is_allowed_only_where_one_is_root(
    user: int, given: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Jupyter refuses root without a word; nobody else gets the word."""
    monkeypatch.setattr(lab.os, "geteuid", lambda: user, raising=False)
    command = lab.jupyter_command(tmp_path, tmp_path / "mine/START.md", [])
    assert ("--allow-root" in command) is given


def test_terminals_find_this_environments_python() -> None:
    """`python -m warpwise` typed in a JupyterLab terminal is this course's."""
    path = lab.jupyter_environment({"PATH": "/usr/bin"})["PATH"]
    assert path.split(":")[0] == str(Path(sys.executable).parent)


SCRIPT = """
import sys
import numpy as np
from numba import cuda

@cuda.jit
def double(out, a):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * a[i]

a = np.arange(100, dtype=np.float32)
out = np.zeros_like(a)
double[4, 32](out, a)
print(sys.argv[1:], out.sum())
"""


def test_a_script_with_numbas_own_import_runs_unchanged(tmp_path: Path) -> None:
    """`from numba import cuda` is the simulator where there is no GPU."""
    path = tmp_path / "kernel.py"
    path.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, "-m", "warpwise", "run", str(path), "one", "two"],
        cwd=lab.workspace.ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "['one', 'two'] 9900.0\n"), done.stderr


def test_a_missing_script_is_named(capsys) -> None:
    """Exit status 2 and the path that was asked for."""
    assert script.main(["no_such_file.py"]) == 2
    assert capsys.readouterr().err == "There is no file no_such_file.py.\n"
