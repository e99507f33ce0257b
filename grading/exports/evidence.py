"""All that stands behind one student's points, as text for whoever has to answer a question."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Iterator, Sequence

from grading.exports import rows
from grading.results import ExerciseResult, Result, number
from grading.roster import plain


def found(known: Sequence[Result], name: str) -> tuple[list[Result], list[str]]:
    """The rows of a student by id, name, e-mail or file, and, if there are none, names like it."""
    wanted = plain(name)
    mine = [one for one in known if wanted in map(plain, _names(one))]
    if mine:
        return mine, []
    every = {plain(way): one.student for one in known for way in _names(one) if way}
    close = difflib.get_close_matches(wanted, every, n=5)
    return [], list(dict.fromkeys(every[one] for one in close))


def _names(row: Result) -> tuple[str, ...]:
    return (row.student, row.identity, row.name, row.email, row.entry)


def evidence_text(row: Result, exercise: str = "") -> str:
    """What is known about a row, or about one exercise of it."""
    chosen = [one for one in row.exercises if exercise in ("", one.exercise)]
    head = [] if exercise else list(_head(row))
    reached = rows.exercise_points(row)
    return "\n".join([*head, *(line for one in chosen for line in _exercise(one, reached))])


def _head(row: Result) -> Iterator[str]:
    who = ", ".join(filter(None, (row.student, row.name, row.email, row.section)))
    known = rows.points(row)
    points = "no points yet" if known is None else f"{number(known)} of {number(rows.maximum(row))}"
    grade = f", grade {row.final.grade}" if row.final and row.final.grade else ""
    yield f"{who}: {row.lab}"
    yield f"{row.status}{f' ({row.reason})' if row.reason else ''}: {points}{grade}"
    judged = None if row.points is None else f"{number(row.points)} of {number(row.max_points)}"
    if row.final is not None and known != row.points and judged:
        yield f"as judged: {judged}"
    facts = {
        "file": row.entry,
        "handed in": row.submitted,
        "sha256": row.sha256,
        "seed of the inputs": "" if row.seed is None else str(row.seed),
        "run": "" if row.run_seconds is None else f"{row.run_seconds:g} s, {row.sandbox}",
        "stored answers": row.answers,
    }
    yield from (f"{name}: {fact}" for name, fact in facts.items() if fact)
    yield from (f"note: {one.sentence}" for one in row.notes)
    yield from (f"changed: {one}" for one in (row.final.adjustments if row.final else ()))
    if row.fault:
        yield f"fault of the grader's:\n{textwrap.indent(row.fault.rstrip(), '  ')}"


def _exercise(one: ExerciseResult, reached: dict[str, float | None]) -> Iterator[str]:
    """An exercise: outcome, then what was found, then what was handed in."""
    points = f"{number(one.points)} of {number(one.max_points)}"
    if one.exercise not in reached:
        points += " as judged, does not count"
    elif reached[one.exercise] != one.points:
        points += f" as judged, counts {number(reached[one.exercise]) or 'nothing yet'}"
    yield ""
    yield f"{one.exercise}: {one.status}, {points}{f', {one.diagnosis}' if one.diagnosis else ''}"
    if one.label:
        yield f"  [{one.label}]"
    yield textwrap.indent(one.message.rstrip(), "  ") if one.message else "  (nothing was said)"
    if one.source.strip() and one.status != "todo":
        where = f", code cell {one.cell}" if one.cell else ""
        yield f"  Handed in{where}:"
        yield textwrap.indent(one.source.rstrip(), "    ")
