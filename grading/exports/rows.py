"""What a row counts, for every export in the same way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from grading.reasons import WITHOUT_POINTS
from grading.results import Result


def points(row: Result) -> float | None:
    """What the row counts by the policy, else as judged; None where nobody knows yet."""
    if row.final is not None:
        return row.final.points
    return None if row.status in WITHOUT_POINTS else row.points


def maximum(row: Result) -> float:
    """The most that the row can count."""
    return row.final.max_points if row.final is not None else row.max_points


def scaled(row: Result, most: float | None) -> float | None:
    """The points as if the maximum were `most`; None keeps the row's own maximum."""
    known = points(row)
    if known is None or most is None:
        return known
    return known * most / maximum(row) if maximum(row) else None


def exercise_points(row: Result) -> dict[str, float | None]:
    """exercise -> what it counts, before lateness; without exercises that count no more."""
    if row.final is not None and row.final.exercises:
        return dict(row.final.exercises)
    if row.status in WITHOUT_POINTS:
        return {one.exercise: None for one in row.exercises}
    return {one.exercise: one.points for one in row.exercises}


def exercises(rows: Iterable[Result]) -> list[str]:
    """The names of the exercises, in the lab's order."""
    found: dict[str, None] = {}
    for row in rows:
        found |= dict.fromkeys(one.exercise for one in row.exercises)
    return list(found)


def listed(names: Sequence[str], most: int = 10) -> str:
    """Names for a sentence: the first few, and how many more."""
    shown = ", ".join(names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")
