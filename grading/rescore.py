"""Judge stored answers again with today's specs and policy; no code of a student's is run.

An answer is judged again only where the spec of its exercise has changed, and answers that are
the same are judged once.  Where a spec now asks for something else - other inputs, another
function - stored answers say nothing: those rows stay as they are, and `grade` runs them again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from grading.evidence import Evidence
from grading.grade import Grader
from grading.lab import Exercise, Lab
from grading.points import final_of
from grading.policy import Policy
from grading.questions import drawn, is_asked_for_values
from grading.results import Final, Result, number

_SHOWN = 40


@dataclass(frozen=True)
class Change:
    """One row before and after."""

    before: Result
    after: Result

    @property
    def points(self) -> tuple[float | None, float | None]:
        """What the row counted, and what it counts now."""
        old, new = self.before.final, self.after.final
        return old.points if old else self.before.points, new.points if new else None

    @property
    def direction(self) -> str:
        """ "up", "down", "same", or "known" and "unknown" where points appear or go."""
        old, new = self.points
        if old is None or new is None:
            return "same" if old is new else "known" if old is None else "unknown"
        return "up" if new > old else "down" if new < old else "same"

    @property
    def grades(self) -> tuple[str, str]:
        """The grade before and after."""
        old, new = self.before.final, self.after.final
        return (old.grade if old else ""), (new.grade if new else "")

    @property
    def why(self) -> str:
        """Which exercises changed, and what the policy says now that it did not say before."""
        old = {one.exercise: one for one in self.before.exercises}
        said = [
            f"{one.exercise} {number(old[one.exercise].points)} to {number(one.points)}"
            for one in self.after.exercises
            if one.exercise in old and one.points != old[one.exercise].points
        ]
        known = self.before.final.adjustments if self.before.final else ()
        new = self.after.final.adjustments if self.after.final else ()
        said += [one for one in new if one not in known]
        said += [f"no longer: {one}" for one in known if one not in new]
        return "; ".join(said)


@dataclass(frozen=True)
class Rescore:
    """The class after judging again.

    changes: all rows in order.  judged: rows whose answers were judged again.
    not_comparable: rows that stay as they were, for their exercises ask for something else now.
    """

    changes: tuple[Change, ...]
    judged: int
    not_comparable: tuple[str, ...]


def rescore(
    rows: Sequence[Result],
    how: Grader,
    policy: Policy,
    judge: Callable[[list[str]], list[Result]],
) -> Rescore:
    """Each row before and after.  judge: names of answers -> the rows that they deserve."""
    stale = {row.answers for row in rows if row.answers and _is_stale(row, how)}
    blocked = {key for key in stale if not is_comparable(key, how)}
    keys = sorted(stale - blocked)
    fresh = dict(zip(keys, judge(keys), strict=True)) if keys else {}
    changes = []
    for row in rows:
        after = _merged(row, fresh[row.answers], how) if row.answers in fresh else row
        after = replace(after, max_points=how.lab.max_points)
        changes.append(Change(row, replace(after, final=_final(after, policy, how.lab))))
    judged = sum(row.answers in fresh for row in rows)
    left = tuple(row.student for row in rows if row.answers in blocked)
    return Rescore(tuple(changes), judged, left)


def _is_stale(row: Result, how: Grader) -> bool:
    """Whether a verdict in the row was made by another spec than today's, or failed."""
    specs = {one.exercise: one.spec for one in row.exercises if one.status != "error"}
    return specs != dict(how.keys.specs)


def is_comparable(key: str, how: Grader) -> bool:
    """Whether today's specs can judge the stored answers of this name."""
    assert how.store is not None
    found = how.store.answers(key)
    if found is None or found.seed != how.seed:
        return False
    by_name = {one.exercise: one for one in found.evidence}
    return all(
        one.name in by_name and _fits(by_name[one.name], one, how.lab, how.seed)
        for one in how.lab.exercises
    )


def _fits(found: Evidence, exercise: Exercise, lab: Lab, seed: int) -> bool:
    if found.answer != exercise.answer:
        return False
    if found.settled is not None:
        return True
    if not is_asked_for_values(exercise):
        return found.kernel is not None
    return found.outcomes is not None and found.inputs == drawn(exercise, lab, seed).digest


def _merged(row: Result, judged: Result, how: Grader) -> Result:
    """The row with new verdicts; whose it is and where it came from stay."""
    extra = [one for one in row.notes if one.reason == "several-attempts"]
    return replace(
        row,
        status=judged.status,
        reason=judged.reason,
        points=judged.points,
        exercises=judged.exercises,
        notes=(*judged.notes, *extra),
        work=how.keys.work(row.sha256),
        fault=judged.fault,
    )


def _final(row: Result, policy: Policy, lab: Lab) -> Final:
    most: Mapping[str, float] = {one.name: one.points for one in lab.exercises}
    submitted = datetime.fromisoformat(row.submitted) if row.submitted else None
    return final_of(row, policy, most, submitted)


def diff_text(done: Rescore) -> str:
    """The diff for people: how many up, down, over a grade line, then the rows that change."""
    changes = done.changes
    by = {
        kind: [one for one in changes if one.direction == kind]
        for kind in ("up", "down", "known", "unknown", "same")
    }
    crossing = [one for one in changes if one.grades[0] != one.grades[1]]
    lines = [
        f"{len(changes)} rows, {done.judged} of them judged again: {len(by['up'])} up, "
        f"{len(by['down'])} down, {len(by['same'])} the same; {len(crossing)} cross a grade line."
    ]
    if by["known"] or by["unknown"]:
        lines.append(
            f"{len(by['known'])} had no points and have some now; "
            f"{len(by['unknown'])} had points and have none now."
        )
    if done.not_comparable:
        lines.append(
            f"Rows that stay as they were: {len(done.not_comparable)}. An exercise asks for "
            "something else than was stored; grade them again, which runs them."
        )
    moved = [one for one in changes if one.direction != "same" or one in crossing]
    if moved:
        lines.append("")
        lines += [_row_text(one) for one in moved[:_SHOWN]]
        if len(moved) > _SHOWN:
            lines.append(f"... and {len(moved) - _SHOWN} more")
    return "\n".join(lines)


def _row_text(one: Change) -> str:
    old, new = (number(points) or "-" for points in one.points)
    before, after = one.grades
    grade = f"  {before or '-'} to {after or '-'}" if before != after else ""
    return f"  {one.after.student[:32]:32}  {old} to {new}{grade}  {one.why}".rstrip()
