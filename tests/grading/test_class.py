"""A class out of the course's own wrong and right answers: the rows must be what they deserve."""

from __future__ import annotations

import ast
import importlib
import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from grading.course import load_lab
from grading.grade import grade_one
from grading.intake import Submission
from grading.lab import Lab
from grading.run import Limits
from tests.grading.submissions import notebook_bytes
from tests.impostors import Impostor
from tests.variants import Variant
from warpwise import curriculum

UNITS = [unit.name for unit in curriculum.load().written]
KINDS = {"impostors": Impostor, "variants": Variant}


def surroundings(module: ModuleType) -> str:
    """What the answers of a module use: its imports, constants and helpers."""
    kept = []
    for node in ast.parse(inspect.getsource(module)).body:
        marked = isinstance(node, ast.FunctionDef) and any(map(is_mark, node.decorator_list))
        if not marked and not is_foreign(node):
            kept.append(ast.unparse(node))
    return "\n".join(kept)


def is_mark(decorator: ast.expr) -> bool:
    """Whether a decorator is @impostor(...) or @variant(...)."""
    name = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(name, ast.Name) and name.id in ("impostor", "variant")


def is_foreign(node: ast.stmt) -> bool:
    """Whether it imports what a submission cannot have: the tests, or the course's own answers."""
    name = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
    return name.startswith(("tests", "warpwise.check"))


def sources(module: ModuleType) -> dict[str, ast.FunctionDef]:
    """The answers of a module that can be handed in alone, by name; a template made the others."""
    body = ast.parse(inspect.getsource(module)).body
    marked = {
        node.name: node
        for node in body
        if isinstance(node, ast.FunctionDef) and any(map(is_mark, node.decorator_list))
    }
    foreign = {
        alias.asname or alias.name
        for node in body
        if isinstance(node, ast.ImportFrom) and is_foreign(node)
        for alias in node.names
    }
    return {name: node for name, node in marked.items() if not used(node) & (foreign | set(marked))}


def used(node: ast.FunctionDef) -> set[str]:
    """The names that the body of a function mentions."""
    parts = [part for statement in node.body for part in ast.walk(statement)]
    return {part.id for part in parts if isinstance(part, ast.Name)}


def as_answer(node: ast.FunctionDef, exercise: str) -> str:
    """The source of an answer under the exercise's own name."""
    node.decorator_list = [d for d in node.decorator_list if not is_mark(d)]
    node.name = exercise
    return ast.unparse(node)


def firsts(module: ModuleType, kind: type) -> dict[str, Any]:
    """For each exercise the first answer of a kind whose text stands in the module."""
    texts, found = sources(module), {}
    for one in vars(module).values():
        if isinstance(one, kind) and one.name in texts:
            found.setdefault(one.exercise, one)
    return found


def hand_in(unit: str, lab: Lab, turn: int) -> tuple[bytes, dict[str, Impostor | Variant]]:
    """A notebook in which wrong and right answers take turns, and what it holds by exercise.

    The check itself is tested with every answer in tests/test_impostors.py; here one of each is
    handed in.  What there is no answer for stays as the lab has it.
    """
    modules = [importlib.import_module(f"tests.{folder}.{unit}") for folder in KINDS]
    answers = [firsts(module, kind) for module, kind in zip(modules, KINDS.values())]
    names = [cell.title for cell in lab.cells if cell.title]
    held = {}
    for number, name in enumerate(names, start=turn):
        one = answers[number % 2].get(name) or answers[1 - number % 2].get(name)
        if one is not None:
            held[name] = one
    cells = [lab.cells[0].source]
    for module, kind in zip(modules, KINDS.values()):
        texts = sources(module)
        mine = {name: one for name, one in held.items() if isinstance(one, kind)}
        # Both modules may have a helper of one name: each answer stands behind its own.
        cells += [surroundings(module)] if mine else []
        cells += [as_answer(texts[one.name], name) for name, one in mine.items()]
    cells += [cell.source for cell in lab.cells if cell.title and cell.title not in held]
    return notebook_bytes(*cells), held


@pytest.mark.slow
@pytest.mark.parametrize(("turn", "unit"), list(enumerate(UNITS)))
def test_wrong_answers_get_nothing_and_right_ones_everything(
    tmp_path: Path, turn: int, unit: str
) -> None:
    """The grader says of an impostor and a variant what the learner's check says."""
    lab = load_lab(unit)
    data, held = hand_in(unit, lab, turn)
    path = tmp_path / "a.ipynb"
    path.write_bytes(data)

    result = grade_one(Submission("a", "a", path), lab, 11, Limits(seconds=lab.seconds))

    assert result.status == "graded", result.sentence
    assert {type(one) for one in held.values()} == set(KINDS.values())
    for one in result.exercises:
        answer = held.get(one.exercise)
        if isinstance(answer, Impostor):
            expected = ("fail", 0.0, answer.diagnosis)
        elif answer is not None:
            expected = ("pass", one.max_points, None)
        else:
            expected = ("todo", 0.0, None)
        assert (one.status, one.points, one.diagnosis) == expected, one.message


def test_there_is_a_class() -> None:
    """The test above has something to test."""
    assert UNITS
