"""A test run ends with a list of what it left out and why, and finding nothing is a failure."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests import conftest
from warpwise.setup.probes import ROOT

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


class Item:
    """What the ordering looks at: a file and markers."""

    def __init__(self, path: str, marker: str = "") -> None:
        """marker: the only one, "" for none."""
        self.path, self.marker = path, marker

    def get_closest_marker(self, name: str) -> bool:
        """As pytest's."""
        return name == self.marker


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_long_tests_are_dealt_and_none_is_lost(workers: int) -> None:
    """Each worker's part begins with a long file; files stay whole; every test is there once."""
    items = [Item("short.py") for _ in range(30)]
    for path, marker in (("b.py", "slow"), ("c.py", "env"), ("a.py", "browser")):
        items += [Item(path, marker), Item(path, marker)]
    ordered = conftest.deal(list(items), workers)  # type: ignore[arg-type]
    assert sorted(map(id, ordered)) == sorted(map(id, items))
    size = len(items) // workers
    starts = [ordered[number * size].path for number in range(workers)]
    assert starts == ["c.py", "a.py", "b.py"][:workers]
    for path in ("a.py", "b.py", "c.py"):
        first, second = (place for place, item in enumerate(ordered) if item.path == path)
        assert second == first + 1


def run_pytest(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Runs this repository's pytest configuration on a small suite."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    (folder / "tests").mkdir()
    shutil.copy(ROOT / "tests/conftest.py", folder / "tests")
    (folder / "tests/test_small.py").write_text(SUITE)
    command = [sys.executable, "-m", "pytest", *options]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [[], ["-n", "2"]], ids=["alone", "two workers"])
def test_left_out_tests_are_listed_with_their_reasons(workers: list[str], tmp_path: Path) -> None:
    """One line a reason, also when the tests ran in other processes."""
    done = run_pytest(tmp_path, *workers)
    assert done.returncode == 0, done.stdout
    listed = done.stdout.split("left out")[1].splitlines()
    assert "   3  no GPU here" in listed
    assert "   1  Chromium is not installed" in listed


@pytest.mark.slow
def test_finding_nothing_is_a_failure(tmp_path: Path) -> None:
    """A wrong name in PYTEST_ARGS must not look like success."""
    assert run_pytest(tmp_path, "-k", "no_such_test").returncode != 0
