"""Submissions and a small lab for the tests of the grader, built in code."""

from __future__ import annotations

import json
from types import SimpleNamespace

from grading.lab import CourseCell, Exercise, Lab

SETUP = "import math\n\nBLOCK = 128"
HOLE = '''def ceil_div(n, d):
    """The smallest whole number that is at least n / d."""
    # YOUR CODE HERE (roughly 1 line)
    raise NotImplementedError'''
HOLE_TWO = '''def last_index(n):
    """The index of the last of n elements."""
    # YOUR CODE HERE (roughly 1 line)
    raise NotImplementedError'''
HOLE_KERNEL = '''@cuda.jit
def fill(out, n):
    """out[i] = i for i < n."""
    # YOUR CODE HERE (roughly 3 lines)
    raise NotImplementedError'''
CHECK = 'check("ceil_div", ceil_div)'
CHECK_TWO = 'check("last_index", last_index)'

CEIL_DIV = "def ceil_div(n, d):\n    return -(-n // d)"
LAST_INDEX = "def last_index(n):\n    return n - 1"


def toy_lab() -> Lab:
    """A lab with two host functions, as the grader sees it."""
    cells = (
        CourseCell("", frozenset(), SETUP),
        CourseCell("ceil_div", frozenset({"exercise"}), HOLE),
        CourseCell("", frozenset({"check"}), CHECK),
        CourseCell("last_index", frozenset({"exercise"}), HOLE_TWO),
        CourseCell("", frozenset({"check"}), CHECK_TWO),
    )
    exercises = tuple(
        Exercise(name, name, SimpleNamespace(name=name, points=2))
        for name in ("ceil_div", "last_index")
    )
    return Lab("toy", cells, exercises)


def notebook(*sources: str, **extra: object) -> dict:
    """A notebook of code cells, as JupyterLab writes it."""
    cells = [
        {
            "cell_type": "code",
            "execution_count": None,
            "id": f"c{number}",
            "metadata": {},
            "outputs": [],
            "source": source.splitlines(keepends=True),
        }
        for number, source in enumerate(sources)
    ]
    return {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5} | extra


def notebook_bytes(*sources: str, **extra: object) -> bytes:
    """The same as the bytes of a file."""
    return json.dumps(notebook(*sources, **extra), indent=1).encode()


def toy_cells(*, ceil_div: str = CEIL_DIV, last_index: str = LAST_INDEX, **more: str) -> list[str]:
    """The sources of a filled toy lab; `after_setup` and `at_end` add a cell of the student's."""
    middle = [more["after_setup"]] if "after_setup" in more else []
    end = [more["at_end"]] if "at_end" in more else []
    return [SETUP, *middle, ceil_div, CHECK, last_index, CHECK_TWO, *end]
