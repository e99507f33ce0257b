"""What a student can know before handing in: how the grader will read this very file.

Nothing here runs the student's code; the sentences are read off the source.
"""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
from collections.abc import Iterator
from functools import cache
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement

from grading.answers import Answers
from grading.cells import Cell, normal
from grading.lab import Lab
from warpwise import curriculum
from warpwise.curriculum import COURSE

_ASKS = ("input", "raw_input", "getpass")
_ABSOLUTE = re.compile(
    r"(?:/(?:home|Users|content|kaggle|mnt|root|tmp|opt)/|~/|[A-Za-z]:[\\/])\S*$"
)
#: Parts of the library that a notebook does not find while it is graded.
_KEPT_BACK = ("warpwise.check", "warpwise.authoring", "warpwise.setup", "grading", "tests")
#: Both are there and silent: the notebook itself calls check().
_THERE = ("warpwise.check", "warpwise.check.check")


def unit_of(answers: Answers) -> str | None:
    """The unit whose exercises this notebook defines most of; None where it defines none."""
    names = {definition.name for definition in answers.definitions}
    counts = {
        unit.name: sum(exercise.name in names for exercise in unit.exercises)
        for unit in curriculum.load().written
    }
    best = max(counts, key=lambda name: counts[name], default=None)
    return best if best and counts[best] else None


def found(lab: Lab, answers: Answers) -> Iterator[str]:
    """One line an exercise: where its answer is."""
    for exercise in lab.exercises:
        answer = answers.found.get(exercise.answer)
        if answer is None:
            said = answers.missing[exercise.answer].sentence
        elif answer.untouched:
            said = "still as it was handed out."
        else:
            said = f"taken from code cell {answer.definition.cell}."
            if answer.count > 1:
                said += f" It is defined {answer.count} times; the last one counts."
        yield f"{exercise.name}: {said}"


def warnings(lab: Lab, answers: Answers) -> list[str]:
    """What the student may not expect, a sentence each, in the order of the cells."""
    out: list[str] = []
    given = {normal(cell.source) for cell in lab.cells}
    for cell in answers.cells:
        if normal(cell.source) not in given:
            out += dict.fromkeys(_of_cell(cell))
    return out


def _of_cell(cell: Cell) -> Iterator[str]:
    here = f"Code cell {cell.number}"
    for node in ast.walk(cell.tree):
        if isinstance(node, ast.Call):
            name = _called(node.func)
            if name == "check":
                yield f"{here} calls check() in its own way. The grader uses the lab's checks."
            if name in _ASKS:
                yield f"{here} asks for input. Nobody answers while it is graded, and it fails."
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            if len(node.value) < 300 and _ABSOLUTE.match(node.value):
                yield f"{here} names {node.value!r}. That file is not there while it is graded."
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield from _of_import(here, alias.name)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                yield from _of_import(here, f"{node.module}.{alias.name}")


def _called(function: ast.expr) -> str:
    if isinstance(function, ast.Name):
        return function.id
    return function.attr if isinstance(function, ast.Attribute) else ""


def _of_import(here: str, name: str) -> Iterator[str]:
    """What is wrong with importing this module, or this name out of one."""
    top = name.partition(".")[0]
    if name not in _THERE and any(f"{name}.".startswith(f"{part}.") for part in _KEPT_BACK):
        yield f"{here} imports {name}. The checks are not there while it is graded."
    elif top in sys.stdlib_module_names or top in ("warpwise", "__future__"):
        return
    elif top not in available():
        if importlib.util.find_spec(top) is None:
            yield f"{here} imports {top}, which is not installed."
        else:
            yield f"{here} imports {top}, which the grader does not have: it is not the course's."


@cache
def available() -> frozenset[str]:
    """Modules that come with requirements.txt, and with what it needs."""
    waiting, seen = list(_required()), set()
    while waiting:
        name = _canonical(waiting.pop())
        if name in seen:
            continue
        seen.add(name)
        try:
            needs = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            continue
        for line in needs:
            one = Requirement(line)
            if one.marker is None or one.marker.evaluate({"extra": ""}):
                waiting.append(one.name)
    return frozenset(
        module
        for module, packages in metadata.packages_distributions().items()
        if any(_canonical(package) in seen for package in packages)
    )


def _required(path: Path = COURSE / "requirements.txt") -> Iterator[str]:
    for line in path.read_text(encoding="utf-8").splitlines():
        text = line.partition("#")[0].strip()
        if text and not text.startswith("-"):
            yield Requirement(text).name


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
