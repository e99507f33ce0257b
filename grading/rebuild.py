"""A fresh lab around the student's code: the course's cells, the answers, our probes.

Only the source of code cells is the student's.  Their metadata, tags, ids, outputs and copies of
the course's cells are not used, and the cells that call check() make room for probes.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import nbformat

from grading.answers import Answer, Answers, Definition
from grading.cells import normal
from grading.lab import CourseCell, Lab


@dataclass(frozen=True)
class FreshCell:
    """One cell to run.  number: the student's code cell it came from, 0 for ours.

    exercise: set for a probe, and for a cell that holds nothing but this exercise's answer.
    """

    id: str
    source: str
    number: int = 0
    exercise: str = ""
    probe: bool = False


def whole(lab: Lab, answers: Answers, probed: Collection[str]) -> list[FreshCell]:
    """Everything the student wrote, in the student's order, in a fresh lab.

    An answer stands where the lab has its exercise, or behind what the notebook has before it.
    A cell that the student added follows the cell that it followed in the notebook.
    probed: the exercises that get a probe.
    """
    at = _anchors(lab, answers)
    out: list[FreshCell] = []
    answered = {name for name, answer in answers.found.items() if not answer.untouched}
    names = {exercise.name: exercise.answer for exercise in lab.exercises}
    for place in range(-1, len(lab.cells)):
        course = lab.cells[place] if place >= 0 else None
        if course is not None and _is_ours(course) and names.get(course.title) not in answered:
            out.append(FreshCell(f"course-{place}", course.source))
        out.extend(
            FreshCell(f"student-{cell.number}", cell.source, cell.number)
            for cell in answers.cells
            if at.get(cell.number) == place
        )
        out.extend(
            _probe(title)
            for title, behind in _probe_places(lab, answers, probed, at)
            if behind == place
        )
    return out


def slices(lab: Lab, answers: Answers, probed: Sequence[str]) -> list[FreshCell]:
    """Only the exercises `probed`, each with no more of the student's code than it uses."""
    names = {exercise.name: exercise.answer for exercise in lab.exercises}
    out: list[FreshCell] = []
    for place, course in enumerate(lab.cells):
        if course.title in probed:
            answer = answers.found[names[course.title]]
            source = slice_of(answer, answers)
            number = answer.definition.cell
            out.append(FreshCell(f"answer-{course.title}", source, number, course.title))
            out.append(_probe(course.title))
        elif _is_ours(course) and course.title not in names:
            out.append(FreshCell(f"course-{place}", course.source))
    return out


def _is_ours(course: CourseCell) -> bool:
    """Whether a course cell runs here: checks make room for probes, GPU cells run by hand."""
    return not course.tags & {"check", "gpu", "skip-execution"}


def _probe(exercise: str) -> FreshCell:
    # An expression, so that it leaves no name of ours in the student's notebook.
    source = f'__import__("grading.probe").probe.publish({exercise!r}, globals())'
    return FreshCell(f"probe-{exercise}", source, 0, exercise, probe=True)


def _anchors(lab: Lab, answers: Answers) -> dict[int, int]:
    """Student's cell number -> index of the course cell it stands at; given cells are left out."""
    names = {exercise.answer: exercise.name for exercise in lab.exercises}
    titles = {cell.title: place for place, cell in enumerate(lab.cells) if cell.title}
    texts = {normal(cell.source): place for place, cell in enumerate(lab.cells)}
    homes: dict[int, int] = {}
    for name, answer in answers.found.items():
        place = titles.get(names.get(name, name))
        if place is not None and not answer.untouched:
            number = answer.definition.cell
            homes[number] = min(place, homes.get(number, place))
    at: dict[int, int] = {}
    here = -1
    for cell in answers.cells:
        # Never back: a cell may use what the notebook has before it.
        if cell.number in answers.given:
            here = max(here, texts[normal(cell.source)])
        else:
            here = at[cell.number] = max(here, homes.get(cell.number, here))
    return at


def _probe_places(
    lab: Lab, answers: Answers, probed: Collection[str], at: Mapping[int, int]
) -> list[tuple[str, int]]:
    """(exercise, index of the course cell behind which its answer is there) for each probe."""
    names = {exercise.name: exercise.answer for exercise in lab.exercises}
    places = []
    for place, course in enumerate(lab.cells):
        if course.title in probed:
            answer = answers.found.get(names[course.title])
            number = answer.definition.cell if answer else 0
            places.append((course.title, max(place, at.get(number, place))))
    return places


def slice_of(answer: Answer, answers: Answers) -> str:
    """The answer's statement and, before it, the statements that bind what it uses."""
    ordered = {id(d.statement): d for d in answers.definitions}
    chosen: dict[int, ast.stmt] = {}
    waiting = [answer.definition.statement]
    while waiting:
        statement = waiting.pop()
        if id(statement) in chosen:
            continue
        chosen[id(statement)] = statement
        used = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
        waiting.extend(d.statement for d in _binders(used, answer, answers))
    statements = [chosen[key] for key in ordered if key in chosen]
    return "\n".join(ast.unparse(statement) for statement in statements) + "\n"


def _binders(used: Collection[str], answer: Answer, answers: Answers) -> Iterator[Definition]:
    """Bindings of the names `used`: those up to the answer's cell, else the later ones."""
    for name in used:
        every = [d for d in answers.definitions if d.name == name and d.cell not in answers.given]
        before = [d for d in every if d.cell <= answer.definition.cell]
        yield from before or every


def notebook(cells: Sequence[FreshCell]) -> Mapping[str, Any]:
    """The notebook of `cells`, with nothing in it but sources and our ids."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    fresh = nbformat.v4.new_notebook(metadata={"kernelspec": kernel})
    for cell in cells:
        node = nbformat.v4.new_code_cell(cell.source)
        node["id"] = cell.id
        fresh.cells.append(node)
    return fresh
