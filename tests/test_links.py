"""Every link between notebooks and pages leads somewhere: in the course and in a copy of it."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

from warpwise import curriculum, workspace
from warpwise.authoring.links import line_of_links

COURSE = curriculum.load()
UNITS = COURSE.written
LINK = re.compile(r"\[([^\]]*)\]\(([^)\s]+)\)")
CODE = re.compile(r"^ *```[\s\S]*?^ *```|`+[^`]+`+", re.MULTILINE)


def links(notebook: Path) -> list[tuple[str, str]]:
    """(text, address) of the links in a notebook's Markdown, those of the web left out."""
    cells = nbformat.read(notebook, 4).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    return [link for link in LINK.findall(CODE.sub("", text)) if not link[1].startswith("http")]


def target(notebook: Path, address: str) -> Path:
    """The file that an address in a notebook leads to."""
    return (notebook.parent / address.partition("#")[0]).resolve()


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A course in which a learner's copies were laid; mine/ is all that it has besides."""
    root = tmp_path_factory.mktemp("course")
    for tree in ("labs", "tiers"):
        (root / tree).symlink_to(workspace.ROOT / tree)
    workspace.lay(root)
    return root / "mine"


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_every_link_in_the_course_leads_somewhere(unit: curriculum.Unit) -> None:
    """From lesson, lab and solution."""
    for notebook in (unit.lesson, unit.lab, unit.solution):
        found = links(notebook)
        assert len(found) >= 6, notebook.name
        for text, address in found:
            assert target(notebook, address).is_file(), (notebook.name, text, address)


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_every_link_in_a_copy_stays_among_the_copies(unit: curriculum.Unit, copies: Path) -> None:
    """A learner who follows links never ends in a file that an update changes."""
    for name in (unit.lesson.name, unit.lab.name):
        notebook = copies / unit.tier / name
        for text, address in links(notebook):
            file = target(notebook, address)
            assert file.is_file() and file.is_relative_to(copies.resolve()), (name, text, address)


@pytest.mark.parametrize("kind", ["lesson", "lab", "solution"])
def test_one_comes_from_the_first_to_the_last(kind: str) -> None:
    """Previous leads back to where next came from; lesson and lab lead to each other."""
    for number, unit in enumerate(UNITS):
        notebook = getattr(unit, kind)
        cells = nbformat.read(notebook, 4).cells
        line = line_of_links(kind, notebook, COURSE)
        assert cells[0].source.startswith(f"{line}\n") and cells[-1].source.endswith(line)
        leads = {
            part.partition(":")[0]: target(notebook, LINK.findall(part)[0][1])
            for part in line.split(" · ")
        }
        before = getattr(UNITS[number - 1], kind) if number else None
        after = UNITS[number + 1] if number + 1 < len(UNITS) else None
        assert leads.get(f"Previous {kind}") == before
        if kind == "solution":
            assert leads.get("Next solution") == (after and after.solution)
            assert leads["The lab"] == unit.lab
        else:
            assert leads.get("Next lesson") == (after and after.lesson)
            other = {"lesson": "The lab to this lesson", "lab": "The lesson to this lab"}[kind]
            assert leads[other] == (unit.lab if kind == "lesson" else unit.lesson)


def test_a_notebook_of_no_unit_has_no_links() -> None:
    """Nor has one of a planned unit."""
    assert line_of_links("lesson", workspace.ROOT / "tiers/t1_kernels/x.ipynb", COURSE) == ""
    for unit in COURSE.planned:
        assert line_of_links("lesson", unit.lesson, COURSE) == ""
