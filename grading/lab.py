"""A lab as the grader knows it: the course's own cells, its exercises and their specs."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from grading.answers import Definition, bindings
from grading.cells import Cell, normal

RUN_SECONDS = 60.0  # for one notebook


@dataclass(frozen=True)
class CourseCell:
    """One code cell of the untouched lab, with holes where the answers go."""

    title: str
    tags: frozenset[str]
    source: str


@dataclass(frozen=True)
class Exercise:
    """name: of spec, cell and result.  answer: the name that the lab hands to check()."""

    name: str
    answer: str
    spec: Any

    @property
    def points(self) -> float:
        """The most this exercise can bring; it comes from the spec and nowhere else."""
        return float(self.spec.points)


@dataclass(frozen=True)
class Lab:
    """unit: such as "t1_01_threads"."""

    unit: str
    cells: tuple[CourseCell, ...]
    exercises: tuple[Exercise, ...]

    @cached_property
    def given_sources(self) -> frozenset[str]:
        """The texts that a student did not write."""
        return frozenset(normal(cell.source) for cell in self.cells)

    @cached_property
    def definitions(self) -> tuple[Definition, ...]:
        """What the lab's own cells bind, for names whose cell a student deleted."""
        trees = [Cell(0, cell.source, ast.parse(cell.source)) for cell in self.cells]
        titles = {exercise.name for exercise in self.exercises}
        return tuple(
            definition
            for cell, tree in zip(self.cells, trees, strict=True)
            if cell.title not in titles
            for definition in bindings(tree)
        )

    @cached_property
    def memory(self) -> dict[Any, Any]:
        """What is drawn once for a lab and serves all submissions."""
        return {}

    @property
    def seconds(self) -> float:
        """How long a run may take, if nobody says otherwise: starting ranks takes its time."""
        on_ranks = any(getattr(one.spec, "run", None) for one in self.exercises)
        return 2 * RUN_SECONDS if on_ranks else RUN_SECONDS

    @property
    def max_points(self) -> float:
        """The sum over the specs."""
        return sum(exercise.points for exercise in self.exercises)


class LabError(Exception):
    """The course itself is not right: no such lab, or an exercise without a spec."""


def checked_names(cells: Iterable[CourseCell]) -> dict[str, str]:
    """exercise -> name of the answer, read from the lab's calls check("exercise", answer)."""
    found: dict[str, str] = {}
    for cell in cells:
        for node in ast.walk(ast.parse(cell.source)):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id == "check"
                and len(node.args) >= 2
                and isinstance(node.args[0], ast.Constant)
                and isinstance(node.args[1], ast.Name)
            ):
                found[str(node.args[0].value)] = node.args[1].id
    return found
