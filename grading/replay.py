"""A submission as a notebook to try by hand: the fresh lab with the student's code.

It runs as it was graded.  Below each answer stands the grader's own check of it, on the inputs
that the class got.
"""

from __future__ import annotations

import json

import nbformat

from grading.answers import extract
from grading.lab import Lab
from grading.parse import Parsed
from grading.rebuild import notebook, whole

_BEFORE = """# {name}, as it was graded

The lab's own cells are fresh, everything else is the student's.
The checks draw the inputs of this class, so do not hand this notebook on.

**The code runs with your rights**, outside of the grader's walls. Read it first."""
_CHECK = """from warpwise.check import judge, specs

judge(specs.get({exercise!r}), {answer}, {seed}, "grader")"""


def replay(parsed: Parsed, lab: Lab, seed: int, name: str) -> str:
    """The text of the notebook.  seed: of the class's inputs.  name: whose it is."""
    answers = extract(parsed.cells, [one.answer for one in lab.exercises], lab.given_sources)
    names = {one.name: one.answer for one in lab.exercises}
    there = [one.name for one in lab.exercises if one.answer in answers.found]
    made = nbformat.from_dict(notebook(whole(lab, answers, there)))
    for cell, fresh in zip(made.cells, whole(lab, answers, there), strict=True):
        if fresh.probe:
            answer = names[fresh.exercise]
            cell.source = _CHECK.format(exercise=fresh.exercise, answer=answer, seed=seed)
    first = nbformat.v4.new_markdown_cell(_BEFORE.format(name=name))
    first["id"] = "replay"
    made.cells.insert(0, first)
    return json.dumps(made, indent=1, ensure_ascii=False) + "\n"
