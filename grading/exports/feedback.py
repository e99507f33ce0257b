"""Feedback: one page a student, with their own answers and what was found.

It holds no script, and nothing of the student's becomes markup.  The status is a word and a sign,
never a colour alone; the page prints, and follows the reader's dark mode.
"""

from __future__ import annotations

from grading.exports import rows
from grading.exports.page import page, table, text
from grading.reasons import GRADER_ERROR, NEEDS_HUMAN
from grading.results import ExerciseResult, Result, number

#: status of an exercise -> sign, word, class
LOOKS = {
    "pass": ("✓", "passed", "good"),
    "fail": ("✗", "not right yet", "bad"),
    "todo": ("○", "not written", "open"),
    "missing": ("○", "not found", "open"),
    "no-answer": ("!", "could not be tried", "warn"),
    "error": ("!", "not graded yet", "warn"),
}
_WAITING = {
    NEEDS_HUMAN: "A person has to look at this before it has points. It is not a zero.",
    GRADER_ERROR: "The grader failed here. It is not your fault, and it is not a zero.",
}


def feedback_page(row: Result, values: bool = True) -> str:
    """The page of one student.  values: whether inputs and values of the checks are told."""
    reached = rows.exercise_points(row)
    title = f"{row.lab}: {row.name or row.student}"
    parts = [
        "<main>",
        f"<h1>{text(title)}</h1>",
        f"<p><strong>{text(_sum(row))}</strong></p>",
        *(f"<p>{text(said)}</p>" for said in _said(row)),
    ]
    if row.exercises:
        lines = [[*_line(one, reached)] for one in row.exercises]
        parts.append(table(["Exercise", "Outcome", "Points"], lines, {2}))
    parts += [_section(place, one, values) for place, one in enumerate(row.exercises, start=1)]
    where = f"The lesson of this lab is {row.lab}. Each check in the lab's notebook has more hints."
    return page(title, "\n".join([*parts, f'<p class="soft">{text(where)}</p>', "</main>"]))


def _sum(row: Result) -> str:
    known = rows.points(row)
    if known is None:
        return "There are no points yet."
    grade = f", grade {row.final.grade}" if row.final and row.final.grade else ""
    return f"{number(known)} of {number(rows.maximum(row))} points{grade}"


def _said(row: Result) -> list[str]:
    said = [_WAITING[row.status]] if rows.points(row) is None and row.status in _WAITING else []
    said += dict.fromkeys(one.sentence for one in row.notes)
    said += row.final.adjustments if row.final else ()
    return said


def _look(one: ExerciseResult) -> str:
    sign, word, style = LOOKS[one.status]
    return f'<span class="{style}"><span aria-hidden="true">{sign}</span> {word}</span>'


def _line(one: ExerciseResult, reached: dict[str, float | None]) -> list[str]:
    if one.exercise not in reached:
        return [text(one.exercise), _look(one), "does not count"]
    points = number(reached[one.exercise]) or "none yet"
    return [text(one.exercise), _look(one), f"{points} of {number(one.max_points)}"]


def _section(place: int, one: ExerciseResult, values: bool) -> str:
    name = f"exercise-{place}"
    cell = f" (code cell {one.cell})" if one.cell else ""
    parts = [f'<section aria-labelledby="{name}">', f'<h2 id="{name}">{text(one.exercise)}</h2>']
    parts.append(f"<p>{_look(one)}</p>")
    if values and one.message:
        parts.append(f'<pre tabindex="0" aria-label="What was found">{text(one.message)}</pre>')
    elif one.label:
        parts.append(f'<p class="soft">{text(one.label)}</p>')
    if one.source.strip() and one.status != "todo":
        parts.append(f"<p>What you handed in{cell}:</p>")
        label = f"Your answer to {text(one.exercise)}"
        parts.append(f'<pre tabindex="0" aria-label="{label}">{text(one.source.rstrip())}</pre>')
    return "\n".join([*parts, "</section>"])
