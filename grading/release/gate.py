"""`python -m grading.release.gate UNIT SEED all|sample`: is a lab fit to be handed out?

Prints a list of sentences as JSON, one for each reason against it.  A process of its own for each
unit: what the answers do to it stays there.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grading.course import load_lab
from grading.grade import grade_one
from grading.intake import Submission
from grading.lab import Lab
from grading.results import Result
from grading.run import Limits
from warpwise import curriculum
from warpwise.curriculum import Unit


def reasons(unit: Unit, seed: int, sample: bool) -> Iterator[str]:
    """What speaks against handing out this lab; nothing when it is fit.

    seed: of the inputs, and of the choice when only a sample of the wrong and right answers is
    tried, one of each for each exercise.
    """
    lab = load_lab(unit.name)
    yield from solution_faults(_graded(unit.solution, lab, seed))
    yield from untouched_faults(_graded(unit.lab, lab, seed))
    yield from crashes(unit)
    for folder, wanted in (("impostors", "fail"), ("variants", "pass")):
        answers = _marked(folder, unit)
        for exercise in unit.exercises:
            own = [one for one in answers if one.exercise == exercise.name]
            if not own:
                yield f"{exercise.name} has no {folder}, so its check is not tried."
            for one in _chosen(own, seed) if sample else own:
                yield from answer_faults(one, wanted, seed)


def _graded(notebook: Path, lab: Lab, seed: int) -> Result:
    """A notebook graded as a student's would be."""
    return grade_one(Submission("x", "x", notebook), lab, seed, Limits(seconds=lab.seconds))


def solution_faults(row: Result) -> Iterator[str]:
    """The solution must reach everything, without a note."""
    if row.points == row.max_points:
        return
    reached = f"{row.points} of {row.max_points} points"
    yield f"The solution gets {reached} ({row.status}). {row.sentence}"
    for one in row.exercises:
        if one.points != one.max_points:
            yield f"The solution of {one.exercise}: {one.status}. {one.message}"


def untouched_faults(row: Result) -> Iterator[str]:
    """The untouched lab must be all to do, and worth nothing."""
    if row.status != "graded" or row.points != 0:
        yield f"The untouched lab gets {row.points} points ({row.status}). {row.sentence}"
    for one in row.exercises:
        if one.status != "todo":
            yield f"{one.exercise} in the untouched lab is {one.status}, not todo."


def crashes(unit: Unit) -> Iterator[str]:
    """The untouched lab must run from top to bottom, with the learner's own checks."""
    import nbformat

    from warpwise.authoring.errors import ExecutionError
    from warpwise.authoring.execute import execute

    lab = nbformat.read(unit.lab, as_version=4)
    with tempfile.TemporaryDirectory(prefix="warpwise-lab-") as folder:
        try:
            execute(lab, Path(folder), unit.root, unit.lab.name)
        except ExecutionError as error:
            if "cannot be committed" not in str(error):
                yield f"The untouched lab does not run. {error}"


def answer_faults(one: Any, wanted: str, seed: int) -> Iterator[str]:
    """An impostor must fail with its diagnosis, a variant must pass."""
    from warpwise.check import Record, judge, specs

    def judged(drawn: int) -> Record:
        return judge(specs.get(one.exercise), one.answer, drawn, "grader")

    record, diagnosis = judged(seed), getattr(one, "diagnosis", None)
    if record.status != wanted:
        yield (
            f"{one.exercise}: the {type(one).__name__.lower()} {one.name} must {wanted}, "
            f"and it got {record.status} (seed {seed}). {record.message}"
        )
    elif diagnosis is not None and record.diagnosis != diagnosis:
        # One draw may make a mistake look like another; two in a row do not.
        if judged(seed + 1).diagnosis != diagnosis:
            yield (
                f"{one.exercise}: the impostor {one.name} is taken for {record.diagnosis}, "
                f"not {diagnosis} (seeds {seed} and {seed + 1})."
            )


def _marked(folder: str, unit: Unit) -> list[Any]:
    """The answers that a module under tests/ marks."""
    module = importlib.import_module(f"tests.{folder}.{unit.name}")
    kind = importlib.import_module(f"tests.{folder}")
    wanted = kind.Impostor if folder == "impostors" else kind.Variant
    return [value for value in vars(module).values() if isinstance(value, wanted)]


def _chosen(answers: list[Any], seed: int) -> list[Any]:
    return random.Random(seed).sample(answers, min(1, len(answers)))


def main(argv: list[str]) -> int:
    """Print the reasons against a unit."""
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what an answer prints must not get among them
    os.environ["WARPWISE_BACKEND"] = "sim"
    unit = curriculum.load().unit(argv[0])
    json.dump(list(reasons(unit, int(argv[1]), argv[2] == "sample")), replies)
    replies.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
