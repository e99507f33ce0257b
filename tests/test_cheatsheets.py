"""The cheat sheets: a section for units in their order, and nothing that no lesson says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from warpwise import curriculum
from warpwise.workspace import ROOT

SHEETS = sorted((ROOT / "tiers").glob("*/cheatsheet.md"))
COUNTER = re.compile(r"\b[a-z0-9]+__[a-z0-9_]+(?:\.[a-z_]+)?")


def lessons(tier: str) -> dict[int, str]:
    """Number -> the source of each written lesson of a tier."""
    units = [unit for unit in curriculum.load().written if unit.tier == tier]
    return {
        int(unit.name.split("_")[1]): unit.lesson_source.read_text(encoding="utf-8")
        for unit in units
    }


def by_tier(path: Path) -> str:
    """Test ids are tiers."""
    return path.parent.name


def test_there_are_cheat_sheets() -> None:
    assert len(SHEETS) >= 2


@pytest.mark.parametrize("sheet", SHEETS, ids=by_tier)
def test_sections_are_units_in_their_order(sheet: Path) -> None:
    numbers = [int(n) for n in re.findall(r"^## (\d+) ", sheet.read_text("utf-8"), re.MULTILINE)]

    assert numbers == sorted(set(numbers))
    assert set(numbers) <= set(lessons(sheet.parent.name))
    assert len(numbers) >= 9


@pytest.mark.parametrize("sheet", SHEETS, ids=by_tier)
def test_each_counter_is_one_that_a_lesson_names(sheet: Path) -> None:
    text = "".join(lessons(sheet.parent.name).values())
    named = set(COUNTER.findall(sheet.read_text("utf-8")))

    assert named
    assert not {one for one in named if one not in text}
