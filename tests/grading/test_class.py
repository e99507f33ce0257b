"""A class out of the course's own wrong and right answers: the rows must be what they deserve."""

from __future__ import annotations

import ast
import importlib
import inspect
from collections import defaultdict
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

# The check itself is tested with every answer in tests/test_impostors.py.
HAND_INS = 1
UNITS = [unit.name for unit in curriculum.load().written]


def surroundings(module: ModuleType) -> str:
    """What the answers of a module use: its imports, constants and helpers."""
    kept = []
    for node in ast.parse(inspect.getsource(module)).body:
        marked = isinstance(node, ast.FunctionDef) and any(map(is_mark, node.decorator_list))
        foreign = isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tests")
        if not marked and not foreign:
            kept.append(ast.unparse(node))
    return "\n".join(kept)


def is_mark(decorator: ast.expr) -> bool:
    """Whether a decorator is @impostor(...) or @variant(...)."""
    name = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(name, ast.Name) and name.id in ("impostor", "variant")


def as_answer(module: ModuleType, one: Impostor | Variant) -> str:
    """The source of an answer under the exercise's own name."""
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.FunctionDef) and node.name == one.name:
            if any(map(is_mark, node.decorator_list)):
                node.decorator_list = [d for d in node.decorator_list if not is_mark(d)]
                node.name = one.exercise
                return ast.unparse(node)
    raise AssertionError(f"{one.name} is not in {module.__name__}")


def hand_ins(unit: str, folder: str, kind: type) -> tuple[Lab, list[tuple[bytes, dict[str, Any]]]]:
    """Notebooks with one answer of a kind to each exercise.

    The check itself is tested with all answers elsewhere; here the first of each are handed in.

    Returns the lab and, for each notebook, its bytes and what it holds by exercise.
    """
    module = importlib.import_module(f"tests.{folder}.{unit}")
    by_exercise: dict[str, list[Any]] = defaultdict(list)
    for one in vars(module).values():
        if isinstance(one, kind):
            by_exercise[one.exercise].append(one)
    assert by_exercise
    lab = load_lab(unit)
    notebooks = []
    for k in range(min(HAND_INS, max(map(len, by_exercise.values())))):
        held = {name: several[k] for name, several in by_exercise.items() if k < len(several)}
        cells = [lab.cells[0].source, surroundings(module)]
        cells += [as_answer(module, one) for one in held.values()]
        # What it holds nothing for stays as the lab has it.
        cells += [cell.source for cell in lab.cells if cell.title and cell.title not in held]
        notebooks.append((notebook_bytes(*cells), held))
    return lab, notebooks


@pytest.mark.slow
@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize(("folder", "kind"), [("impostors", Impostor), ("variants", Variant)])
def test_wrong_answers_get_nothing_and_right_ones_everything(
    tmp_path: Path, unit: str, folder: str, kind: type
) -> None:
    """The grader says of every impostor and variant what the learner's check says."""
    lab, notebooks = hand_ins(unit, folder, kind)

    for number, (data, held) in enumerate(notebooks):
        path = tmp_path / f"{number}.ipynb"
        path.write_bytes(data)
        result = grade_one(Submission("a", "a", path), lab, 11, Limits())

        assert result.status == "graded", result.sentence
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
