"""requirements.txt: everything pinned, every line with its reason, right for each system."""

from __future__ import annotations

import re
import sys
import tomllib

import pytest

from warpwise.setup.probes import ROOT, pinned_versions

LINES = (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines()
PINS = [line for line in LINES if line and not line.startswith("#")]


def test_every_line_is_pinned_exactly() -> None:
    """One version, no ranges, no addresses."""
    assert len(PINS) > 10
    for line in PINS:
        assert re.match(r"[\w-]+(\[\w+\])?==[\w.]+(;|\s|$)", line), line


def test_every_line_says_why() -> None:
    """The reason stands on the line or on the line above."""
    for number, line in enumerate(LINES):
        if line and not line.startswith("#"):
            assert "#" in line or LINES[number - 1].startswith("#"), line


@pytest.mark.parametrize(
    ("system", "left_out"),
    [
        ("linux", set()),
        ("win32", {"triton"}),
        ("darwin", {"triton", "numba-cuda", "cuda-toolkit"}),
    ],
)
def test_each_system_gets_what_exists_for_it(
    system: str, left_out: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """macOS has no wheels for the CUDA compiler, and only Linux has Triton's."""
    monkeypatch.setattr(sys, "platform", "linux")
    everything = set(pinned_versions())
    monkeypatch.setattr(sys, "platform", system)
    assert everything - set(pinned_versions()) == left_out


def test_pinned_versions_reads_the_file_without_comments(tmp_path) -> None:
    """Extras, markers and comments are taken apart."""
    path = tmp_path / "requirements.txt"
    path.write_text('# a==0\na[x]==1.0  # why\nb==2; sys_platform == "plan9"\n')
    assert pinned_versions(path) == {"a": "1.0"}
    assert pinned_versions(tmp_path / "none") == {}


def test_the_python_range_is_the_same_everywhere() -> None:
    """pyproject.toml, Makefile and the set-up script agree on the oldest Python."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == ">=3.11"
    assert "(3, 11) <= sys.version_info[:2] <= (3, 14)" in (ROOT / "Makefile").read_text()
    script = (ROOT / "warpwise/setup/environment.py").read_text(encoding="utf-8")
    assert "OLDEST = (3, 11)" in script and "NEWEST = (3, 14)" in script
