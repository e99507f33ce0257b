"""README and CONTRIBUTING say what is so: links, commands, units and their numbers."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from warpwise import curriculum
from warpwise.setup.probes import ROOT

PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
README = (ROOT / "README.md").read_text(encoding="utf-8")
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_links_and_images_lead_to_files(name: str) -> None:
    """A relative link names something in the repository."""
    text = (ROOT / name).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)\)", text):
        if "://" not in target:
            assert (ROOT / target).exists(), target


@pytest.mark.parametrize("name", PAGES)
def test_make_targets_exist(name: str) -> None:
    """Every `make X` is a target of the Makefile."""
    targets = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
    text = (ROOT / name).read_text(encoding="utf-8")
    for target in re.findall(r"(?:^|`)make ([a-z-]+)", text, re.MULTILINE):
        assert target in targets, target


def test_written_units_are_listed_with_their_minutes() -> None:
    """One row a unit, in order, with the minutes of the curriculum."""
    rows = re.findall(r"^\| `(t\d_\d\d_\w+)` \| .* \| (\d+) \|$", README, re.MULTILINE)
    written = curriculum.load().written
    assert written
    assert rows == [(unit.name, str(unit.minutes)) for unit in written]


def test_units_are_counted_right() -> None:
    """In each tier, and altogether."""
    course = curriculum.load()
    rows = re.findall(r"^\| `(t\d_[a-z]+)` \| .* \| (\d+) \|$", README, re.MULTILINE)
    counts = [
        (tier, str(sum(unit.tier == tier for unit in course.written))) for tier in course.tiers
    ]
    assert rows == counts
    assert re.findall(r"^The (\d+) units", README, re.MULTILINE) == [str(len(course.written))]


def test_top_level_folders_are_the_ones_described() -> None:
    """CONTRIBUTING's table of folders names what is there."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    for folder in ("grading", "tests", "binder", "warpwise/simt", "warpwise/check"):
        assert f"`{folder}`" in text
        assert Path(ROOT, folder).is_dir()
