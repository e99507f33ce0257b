"""Gradescope: the results.json of one student.

Keys after https://gradescope-autograders.readthedocs.io/en/latest/specs.  A row without points
has no score, so Gradescope reports it as not graded; it does not become a zero.
"""

from __future__ import annotations

import json
from typing import Any

from grading.exports import rows
from grading.results import ExerciseResult, Result

VISIBILITY = ("visible", "after_due_date", "after_published", "hidden")


def results_json(row: Result, visibility: str = "after_published", values: bool = True) -> str:
    """The file's text.  visibility: one of VISIBILITY.  values: whether messages are in it."""
    return json.dumps(_data(row, visibility, values), indent=2, ensure_ascii=False) + "\n"


def _data(row: Result, visibility: str, values: bool) -> dict[str, Any]:
    reached, known = rows.exercise_points(row), rows.points(row)
    tests = [
        _test(one, place, reached[one.exercise], visibility, values)
        for place, one in enumerate(row.exercises, start=1)
        if one.exercise in reached
    ]
    data: dict[str, Any] = {
        "output": _output(row),
        "visibility": visibility,
        "stdout_visibility": "hidden",
        "tests": tests,
        "extra_data": {
            "student": row.student,
            "lab": row.lab,
            "status": row.status,
            "reason": row.reason,
            "sandbox": row.sandbox,
            "sha256": row.sha256,
        },
    }
    if known is not None:
        data["score"] = round(known, 4)
    if row.run_seconds is not None:
        data["execution_time"] = row.run_seconds
    return data


def _test(
    one: ExerciseResult, place: int, reached: float | None, visibility: str, values: bool
) -> dict[str, Any]:
    test: dict[str, Any] = {
        "name": one.exercise,
        "number": str(place),
        "max_score": one.max_points,
        "status": "passed" if one.status == "pass" else "failed",
        "output": one.message if values else one.label,
        "output_format": "text",
        "tags": [one.diagnosis] if one.diagnosis else [],
        "visibility": visibility,
    }
    if reached is not None:
        test["score"] = reached
    return test


def _output(row: Result) -> str:
    said = [row.sentence, *(row.final.adjustments if row.final else ())]
    if rows.points(row) is None:
        said.insert(0, "There are no points yet; this is not a zero.")
    return "\n".join(filter(None, said))
