"""The links at both ends of a notebook: what comes before and after it, from the curriculum.

They lead from tree to tree of the course.  In a learner's copy lessons and labs lie together:
`warpwise.workspace` turns the links of a notebook when it lays it there.
"""

from __future__ import annotations

import os
from pathlib import Path

from warpwise.curriculum import Curriculum, Unit, load

#: Kind of notebook -> what is linked, in order: (what it is called, which unit, which notebook).
#: After a lab comes the next lesson.
_LINKS = {
    "lesson": (
        ("Previous lesson", -1, "lesson"), ("The lab to this lesson", 0, "lab"),
        ("Next lesson", 1, "lesson"),
    ),
    "lab": (
        ("Previous lab", -1, "lab"), ("The lesson to this lab", 0, "lesson"),
        ("Next lesson", 1, "lesson"),
    ),
    "solution": (
        ("Previous solution", -1, "solution"), ("The lab", 0, "lab"),
        ("Next solution", 1, "solution"),
    ),
}  # fmt: skip


def curriculum_of(root: Path) -> Curriculum:
    """The units of the course in a folder; none where it has no manifest."""
    manifest = root / "warpwise" / "curriculum.toml"
    return load(root, manifest) if manifest.is_file() else Curriculum(())


def line_of_links(kind: str, notebook: Path, course: Curriculum) -> str:
    """One line of Markdown for a notebook's first and last cell; "" for one of no written unit.

    Links are relative, so that they open inside JupyterLab.
    """
    units = course.written
    here = next((n for n, unit in enumerate(units) if getattr(unit, kind) == notebook), None)
    if here is None:
        return ""
    said = [
        f"{name}: {_link(getattr(units[here + step], other), notebook, units[here + step])}"
        for name, step, other in _LINKS[kind]
        if 0 <= here + step < len(units)
    ]
    glossary = Path(os.path.relpath(_root(notebook) / "tiers/glossary.md", notebook.parent))
    return " · ".join([*said, f"[Glossary]({glossary.as_posix()})"])


def _link(target: Path, notebook: Path, unit: Unit) -> str:
    """The part of the title before its colon, linked."""
    way = Path(os.path.relpath(target, notebook.parent)).as_posix()
    return f"[{unit.title.partition(':')[0]}]({way})"


def _root(notebook: Path) -> Path:
    return notebook.parents[2]
