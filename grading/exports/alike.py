"""Groups of identical wrong answers: one comment answers a whole group.

Two answers are identical when they differ only in names of their own, comments and layout.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from grading.exports.page import page, text
from grading.exports.rows import exercises
from grading.exports.shape import shape
from grading.results import Result


@dataclass(frozen=True)
class Group:
    """Students with one wrong answer.  source, message: of the first of them."""

    exercise: str
    students: tuple[str, ...]
    diagnoses: tuple[str, ...]
    source: str
    message: str


def groups(rows: Sequence[Result], least: int = 2) -> list[Group]:
    """All groups of at least `least` students: by exercise, the largest first."""
    found: dict[tuple[str, str], list[tuple[Result, int]]] = {}
    for row in rows:
        for place, one in enumerate(row.exercises):
            if one.status == "fail" and one.source.strip():
                key = (one.exercise, shape(one.source, one.exercise))
                found.setdefault(key, []).append((row, place))
    made = [_group(name, members) for (name, _), members in found.items() if len(members) >= least]
    order = {name: place for place, name in enumerate(exercises(rows))}
    return sorted(made, key=lambda one: (order[one.exercise], -len(one.students)))


def _group(exercise: str, members: list[tuple[Result, int]]) -> Group:
    verdicts = [row.exercises[place] for row, place in members]
    diagnoses = Counter(one.diagnosis for one in verdicts if one.diagnosis)
    return Group(
        exercise,
        tuple(row.student for row, _ in members),
        tuple(name for name, _ in diagnoses.most_common()),
        verdicts[0].source,
        verdicts[0].message,
    )


def groups_page(rows: Sequence[Result], lab: str) -> str:
    """The page for the instructor."""
    found = groups(rows)
    wrong = sum(one.status == "fail" for row in rows for one in row.exercises)
    inside = sum(len(one.students) for one in found)
    title = f"{lab}: identical wrong answers"
    parts = [
        f"<main><h1>{text(title)}</h1>",
        f"<p>Wrong answers: {wrong}; in groups: {inside}; groups: {len(found)}. "
        "Answers of a group differ only in names of their own, comments and layout.</p>",
    ]
    for one in found:
        diagnosis = f": {', '.join(one.diagnoses)}" if one.diagnoses else ""
        parts += [
            f"<section><h2>{text(one.exercise)}, {len(one.students)} students"
            f"{text(diagnosis)}</h2>",
            f'<pre tabindex="0" aria-label="The answer">{text(one.source.rstrip())}</pre>',
            f'<pre tabindex="0" aria-label="What was found">{text(one.message)}</pre>'
            if one.message
            else "",
            f'<p class="soft">{text(", ".join(one.students))}</p></section>',
        ]
    return page(title, "\n".join([*parts, "</main>"]))
