"""The page JupyterLab opens on: what to do in the next five minutes, and where everything is.

mine/START.md is written anew at every start, from the curriculum and from what was copied.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from warpwise import progress
from warpwise.curriculum import Unit

NAME = progress.PAGE
BACKENDS = {
    "gpu": "Kernels run on this machine's GPU.",
    "sim": (
        "Kernels run on the simulator, because no GPU works here. "
        "Every lab can be finished this way, with full marks."
    ),
}


def _link(target: Path, page: Path, text: str) -> str:
    """A Markdown link from the page to a file, relative, so that it opens inside JupyterLab."""
    return f"[{text}]({Path(os.path.relpath(target, page.parent)).as_posix()})"


def _copy_of(notebook: Path, unit: Unit, page: Path) -> Path:
    """The learner's copy of a unit's lesson or lab."""
    return page.parent / unit.tier / notebook.name


def _first_steps(unit: Unit, page: Path) -> list[str]:
    """The next five minutes, in the first unit."""
    exercise = unit.exercises[0].name if unit.exercises else "the first exercise"
    lesson = _link(_copy_of(unit.lesson, unit, page), page, f"the first lesson, {unit.title}")
    lab = _link(_copy_of(unit.lab, unit, page), page, "your copy of its lab")
    return [
        f"1. Open {lesson}. Press Shift+Enter to run a cell and go to the next one. "
        "Stop at the first picture and move its slider: it shows which thread touches which cell.",
        f"2. Open {lab}. Run the cells down to the exercise `{exercise}`.",
        "3. Write your answer where it says `YOUR CODE HERE`, delete the line "
        "`raise NotImplementedError`, run the cell, then the `check` below it. "
        "A wrong answer tells you which thread did what on which line. "
        "Below each exercise are three hints, from vague to plain.",
        "4. Save with Ctrl+S. Lesson and lab here are your own copies: "
        "no update of the course changes them.",
    ]


def build_page(page: Path, units: Sequence[Unit], backend: str, news: Sequence[str]) -> str:
    """Returns the page's Markdown.

    page: where it will lie, for relative links.  units: the written ones, in order, at least one.
    backend: "gpu" or "sim".  news: sentences about copies that are new or have changed.
    """
    lines = ["# Warpwise", "", f"Everything is set up. {BACKENDS[backend]}", ""]
    if news:
        lines += ["## Your copies", "", *(f"- {sentence}" for sentence in news), ""]
    lines += ["## The next five minutes", "", *_first_steps(units[0], page), ""]
    lines += ["## Units", "", "| unit | lesson | your lab | minutes |", "|---|---|---|---|"]
    for unit in units:
        lesson, lab = (
            _link(_copy_of(unit.lesson, unit, page), page, "lesson"),
            _link(_copy_of(unit.lab, unit, page), page, "lab"),
        )
        lines.append(f"| {unit.title} | {lesson} | {lab} | {unit.minutes} |")
    lines += ["", "## Your progress", "", *progress.lines(list(units), progress.read(page.parent))]
    lines += [
        "",
        "## Good to know",
        "",
        "- The [index](index.md) says which units teach what, "
        "the [glossary](glossary.md) explains each term in a sentence, with the Polish word.",
        "- To plan a training run, type `from warpwise.show import planner_page` and "
        "`planner_page()` into any notebook.",
        "- To see what this machine can do, open a terminal (File, New, Terminal) and type "
        "`python -m warpwise doctor`.",
        "- To begin a lab again, rename or delete your copy and type `python -m warpwise mine`.",
        "- This page is written anew at every start, and its table after every check: close and "
        "open it to see. Keep notes in another file.",
        "",
    ]
    return "\n".join(lines)
