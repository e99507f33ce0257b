"""Folders that a killed grader left are removed, and no others."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from grading import scratch


def test_only_old_folders_of_dead_processes_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not a living process's, not a young one, not a link, not another name."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    mine = scratch.new("run")
    names = {
        "old": f"warpwise-run-{gone.pid}-abc", "library": f"warpwise-library-{gone.pid}-abc",
        "young": f"warpwise-run-{gone.pid}-xyz", "other": f"other-run-{gone.pid}-abc",
    }  # fmt: skip
    for name in names.values():
        (tmp_path / name / "deep").mkdir(parents=True)
    (tmp_path / f"warpwise-run-{gone.pid}-link").symlink_to(tmp_path / names["other"])
    for path in (mine, *(tmp_path / names[key] for key in ("old", "library", "other"))):
        os.utime(path, (1, 1))

    scratch.sweep()

    left = {path.name for path in tmp_path.iterdir()}
    assert left == {mine.name, names["young"], names["other"], f"warpwise-run-{gone.pid}-link"}
