"""Submissions and a small lab for the tests of the grader, built in code."""

from __future__ import annotations

import json

import numpy as np

from grading.lab import CourseCell, Exercise, Lab
from warpwise.check import Case, FunctionSpec, KernelSpec

SETUP = "from warpwise import check, cuda\n\nSTEP = 3"
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
    """out[i] = STEP * i for i < n."""
    # YOUR CODE HERE (roughly 3 lines)
    raise NotImplementedError'''
CHECK = 'check("ceil_div", ceil_div)'
CHECK_TWO = 'check("last_index", last_index)'
CHECK_KERNEL = 'check("fill", fill)'

CEIL_DIV = "def ceil_div(n, d):\n    return -(-n // d)"
LAST_INDEX = "def last_index(n):\n    return n - 1"
FILL = (
    "@cuda.jit\ndef fill(out, n):\n    i = cuda.grid(1)\n    if i < n:\n        out[i] = STEP * i"
)


def _fill_cases(rng: np.random.Generator, level: str):
    for n in (1, 31, 33, 97):
        args = {"out": np.zeros(n, np.int64), "n": n}
        yield Case(args, grid=(n + 31) // 32, block=32)


def toy_lab() -> Lab:
    """A lab with two host functions and a kernel, as the grader sees it."""
    cells = (
        CourseCell("", frozenset(), SETUP),
        CourseCell("ceil_div", frozenset({"exercise"}), HOLE),
        CourseCell("", frozenset({"check"}), CHECK),
        CourseCell("last_index", frozenset({"exercise"}), HOLE_TWO),
        CourseCell("", frozenset({"check"}), CHECK_TWO),
        CourseCell("fill", frozenset({"exercise"}), HOLE_KERNEL),
        CourseCell("", frozenset({"check"}), CHECK_KERNEL),
    )
    specs = (
        FunctionSpec(
            "ceil_div",
            "toy",
            2,
            inputs=lambda rng, level: [
                (int(n), int(d)) for n, d in zip(rng.integers(1, 999, 9), rng.integers(2, 99, 9))
            ],
            reference=lambda n, d: -(-n // d),
        ),
        FunctionSpec(
            "last_index",
            "toy",
            2,
            inputs=lambda rng, level: [(int(n),) for n in rng.integers(1, 999, 5)],
            reference=lambda n: n - 1,
        ),
        KernelSpec(
            "fill",
            "toy",
            3,
            outputs=("out",),
            cases=_fill_cases,
            reference=lambda case: {"out": 3 * np.arange(case.args["n"])},
        ),
    )
    return Lab("toy", cells, tuple(Exercise(spec.name, spec.name, spec) for spec in specs))


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


def toy_cells(
    *,
    ceil_div: str = CEIL_DIV,
    last_index: str = LAST_INDEX,
    fill: str = FILL,
    after_setup: str = "",
    at_end: str = "",
) -> list[str]:
    """The sources of a filled toy lab; `after_setup` and `at_end` add a cell of the student's."""
    return [
        SETUP,
        *([after_setup] if after_setup else []),
        ceil_div,
        CHECK,
        last_index,
        CHECK_TWO,
        fill,
        CHECK_KERNEL,
        *([at_end] if at_end else []),
    ]
