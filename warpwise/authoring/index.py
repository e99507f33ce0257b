"""The index: names of units in `tiers/index.md` lead to their lessons, as soon as these exist.

The page is written by hand; only the links are the builder's.  A planned unit stands there by its
name alone.
"""

from __future__ import annotations

import re
from pathlib import Path

from warpwise.authoring.links import curriculum_of
from warpwise.curriculum import Curriculum

_NAME = re.compile(r"\[`(t\d_\d\d_\w+)`\]\([^)]*\)|`(t\d_\d\d_\w+)`")


def page_of(root: Path) -> Path:
    """Where the index of a course lies."""
    return root / "tiers" / "index.md"


def linked(text: str, course: Curriculum) -> str:
    """The page with a link at every written unit, and none elsewhere."""
    tiers = {unit.name: unit.tier for unit in course.written}

    def link(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        return f"[`{name}`]({tiers[name]}/{name}.ipynb)" if name in tiers else f"`{name}`"

    return _NAME.sub(link, text)


def stale(root: Path) -> str | None:
    """What the page should say where it says something else; None where all is well."""
    page = page_of(root)
    if not page.is_file():
        return None
    text = page.read_text(encoding="utf-8")
    new = linked(text, curriculum_of(root))
    return new if new != text else None
