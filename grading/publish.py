"""Rows as they are handed out: judged results, made complete by roster and policy, and written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from grading.attempts import Line
from grading.lab import Lab
from grading.points import final_of
from grading.policy import Policy
from grading.results import Result, csv_text, write_atomic
from grading.roster import Roster
from grading.store import CSV, POLICY, Store


def complete(row: Result, line: Line, lab: Lab, policy: Policy) -> Result:
    """A judged row with whose it is, when it came, and what it counts."""
    one, person = line.submission, line.person
    row = replace(
        row,
        student=one.student,
        identity=one.identity,
        name=person.name if person else "",
        email=person.email if person else "",
        section=person.section if person else "",
        submitted=line.submitted.isoformat() if line.submitted else "",
        entry=one.entry,
        notes=(*(said for said in row.notes if said.reason != "several-attempts"), *one.notes),
    )
    most = {exercise.name: exercise.points for exercise in lab.exercises}
    return replace(row, final=final_of(row, policy, most, line.submitted))


def check_rows(rows: Sequence[Result], roster: Roster) -> None:
    """Raise RuntimeError unless every student of the roster has exactly one row."""
    counts = Counter(row.student for row in rows)
    wrong = [one.student for one in roster.people if counts[one.student] != 1]
    if wrong or len({row.identity for row in rows}) != len(rows):
        raise RuntimeError(
            f"Not exactly one row each: {', '.join(wrong[:10])}. Nothing is written."
        )


def write(store: Store, lab: Lab, rows: Sequence[Result], policy: Policy) -> None:
    """Write the rows, the table and the policy that they follow."""
    for row in rows:
        if row != store.row(row.identity):
            store.save_row(row)
    store.save_members([row.identity for row in rows])
    write_atomic(store.folder / CSV, table_of(rows, lab))
    if policy.text:
        write_atomic(store.folder / POLICY, policy.text)


def table_of(rows: Iterable[Result], lab: Lab) -> str:
    """The text of grades.csv."""
    return csv_text(rows, [exercise.name for exercise in lab.exercises])
