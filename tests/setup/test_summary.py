"""A test run ends with a list of what it left out and why, and finding nothing is a failure."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from warpwise.setup.probes import ROOT

pytestmark = pytest.mark.slow

SUITE = """
import pytest

@pytest.mark.parametrize("number", range(3))
@pytest.mark.skipif(True, reason="no GPU here")
def test_skipped(number):
    pass

def test_gives_up():
    pytest.skip("Chromium is not installed")

@pytest.mark.slow
def test_slow():
    pass
"""


def run_pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Runs this repository's pytest configuration on a small suite."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / "tests").mkdir()
    shutil.copy(ROOT / "tests/conftest.py", folder / "tests")
    (folder / "tests/test_small.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "two workers"])
def test_left_out_tests_are_listed_with_their_reasons(workers: list[str], tmp_path: Path) -> None:
    """One line a reason, also when the tests ran in other processes."""
    done = run_pytest(tmp_path, *workers)
    assert done.returncode == 0, done.stdout
    listed = done.stdout.split("left out")[1].splitlines()
    assert "   3  no GPU here" in listed
    assert "   1  Chromium is not installed" in listed


def test_finding_nothing_is_a_failure(tmp_path: Path) -> None:
    """A wrong name in PYTEST_ARGS must not look like success."""
    assert run_pytest(tmp_path, "-k", "no_such_test").returncode != 0
