"""Load a lab from the course's own text; nothing of it comes from a submission."""

from __future__ import annotations

import json

from grading.lab import CourseCell, Exercise, Lab, LabError, checked_names
from grading.questions import ASK, run_name
from warpwise import curriculum
from warpwise.check import FunctionSpec, specs
from warpwise.curriculum import Unit


def _cells(unit: Unit) -> tuple[CourseCell, ...]:
    """The untouched lab's code cells; from the built lab where its text is not there.

    The cell of an exercise has the exercise's name for an id.
    """
    if unit.lab_source.exists():
        from warpwise.authoring import build_lab, read_source  # not in a student's bundle

        source = read_source(unit.lab_source)
        titles = {cell.id: cell.title for cell in source}
        built = build_lab(source)["cells"]
    else:
        built = json.loads(unit.lab.read_text(encoding="utf-8"))["cells"]
        titles = {cell["id"]: cell["id"] for cell in built}
    return tuple(
        CourseCell(
            titles.get(cell["id"], ""),
            frozenset(cell["metadata"].get("tags", ())),
            "".join(cell["source"]),
        )
        for cell in built
        if cell["cell_type"] == "code"
    )


def load_lab(name: str) -> Lab:
    """The lab of a unit such as "t1_01_threads".  Raises LabError with a sentence."""
    units = curriculum.load()
    try:
        unit = units.unit(name)
    except KeyError as error:
        raise LabError(error.args[0]) from None
    if not unit.is_written:
        written = ", ".join(one.name for one in units.written) or "none"
        raise LabError(f"The unit {unit.name} is not written yet. Written units: {written}.")
    cells = _cells(unit)
    answers = checked_names(cells)
    exercises = []
    for exercise in unit.exercises:
        spec = specs.get(exercise.name)
        if spec.points != exercise.points:
            raise LabError(
                f"{exercise.name} is worth {exercise.points} points in the curriculum "
                f"and {spec.points} in its spec."
            )
        if not any(cell.title == exercise.name for cell in cells):
            raise LabError(f"The lab of {unit.name} has no cell named {exercise.name}.")
        if type(spec) not in ASK:
            raise LabError(f"The grader knows no way to judge {exercise.name}: a {type(spec)}.")
        if isinstance(spec, FunctionSpec) and spec.run is not None:
            run_name(spec)
        exercises.append(Exercise(exercise.name, answers.get(exercise.name, exercise.name), spec))
    return Lab(unit.name, cells, tuple(exercises))
