"""From what was judged to what counts: overrides, withdrawn exercises, lateness, grades.

Raw points are never changed; all of this stands beside them, each step with its reason.
In this order: an override of an exercise, a withdrawn exercise, the sum, lateness, an override of
the whole lab, the grade.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta

from grading.policy import FULL, Late, Override, Policy
from grading.reasons import NOT_SUBMITTED, WITHOUT_POINTS
from grading.results import Final, Result, number
from grading.roster import plain

_DAY = timedelta(days=1)


def final_of(
    row: Result, policy: Policy, exercises: Mapping[str, float], submitted: datetime | None
) -> Final:
    """What a row counts by the policy.  exercises: name -> most points."""
    unknown = row.status in WITHOUT_POINTS
    reached: dict[str, float | None] = dict.fromkeys(exercises, None if unknown else 0.0)
    if not unknown:
        reached |= {one.exercise: one.points for one in row.exercises if one.exercise in exercises}
    most, said = dict(exercises), list[str]()
    mine = [one for one in policy.overrides if is_for(one, row)]
    for one in mine:
        if one.exercise:
            said.append(_told(one.exercise, reached[one.exercise], one.points, one.reason))
            reached[one.exercise] = one.points
    for gone in policy.withdrawn:
        if gone.give == FULL:
            if row.status != NOT_SUBMITTED:
                reached[gone.exercise] = most[gone.exercise]
            said.append(f"{gone.exercise}: withdrawn, full marks ({gone.reason})")
        else:
            del reached[gone.exercise], most[gone.exercise]
            said.append(f"{gone.exercise}: withdrawn, out of the maximum ({gone.reason})")
    known = [points for points in reached.values() if points is not None]
    total = sum(known) if len(known) == len(reached) else None
    days = late_days(policy.late, _names(row), submitted)
    if policy.late and days and total != 0:
        percent = min(policy.late.cap_percent, days * policy.late.percent_per_day)
        total = None if total is None else total * (1 - percent / 100)
        said.append(f"{days} day{'s' * (days > 1)} late: {number(percent)} percent less")
    for one in mine:
        if not one.exercise:
            said.append(_told("the whole lab", total, one.points, one.reason))
            total = one.points
    total = None if total is None else round(total, 4)
    grade = _grade(total, sum(most.values()), policy.grade_lines)
    return Final(total, sum(most.values()), reached, days, grade, tuple(said))


def is_for(one: Override, row: Result) -> bool:
    """Whether an override is about this row's student."""
    return plain(one.student) in map(plain, _names(row))


def unused(policy: Policy, rows: Iterable[Result]) -> list[str]:
    """Students of overrides and extensions who have no row: most likely misspelt."""
    there = {plain(name) for row in rows for name in _names(row)}
    asked = [one.student for one in policy.overrides]
    asked += list(policy.late.extensions) if policy.late else []
    return [name for name in dict.fromkeys(asked) if plain(name) not in there]


def late_days(late: Late | None, names: Sequence[str], submitted: datetime | None) -> int:
    """Days begun after the deadline; 0 within the grace, and where no time is known."""
    if late is None or submitted is None:
        return 0
    extended = [name for name in names if plain(name) in late.extensions]
    deadline = late.deadline_of(extended[0] if extended else "")
    if submitted <= deadline + late.grace:
        return 0
    return math.ceil((submitted - deadline) / _DAY)


def _names(row: Result) -> list[str]:
    """What the student of a row may be called in a policy."""
    return [one for one in (row.student, row.email) if one]


def _told(what: str, before: float | None, after: float, reason: str) -> str:
    old = "not graded" if before is None else number(before)
    return f"{what}: {old} to {number(after)} by hand ({reason})"


def _grade(points: float | None, most: float, lines: Sequence[tuple[str, float]]) -> str:
    """The highest grade whose line is reached; "" without points or below all lines."""
    if points is None or most <= 0:
        return ""
    percent = round(100 * points / most, 6)
    return next((name for name, least in lines if percent >= least), "")
