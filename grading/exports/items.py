"""Item analysis: which exercises are hard, which may be wrong, and what most students get wrong.

The point-biserial is the correlation of passing one exercise with the points on all others.
Near zero, or below, the exercise asks for something else than the rest does - or its check is
wrong.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from grading.exports import rows as counted
from grading.exports.page import page, table, text
from grading.reasons import WITHOUT_POINTS
from grading.results import ExerciseResult, Result, number

_NOT_TRIED = ("todo", "missing")
_ENOUGH = 20  # rows, before a sentence about an exercise is said
_UNRELATED = 0.1
_MOST = 5  # diagnoses and values a exercise


@dataclass(frozen=True)
class Item:
    """One exercise over the class.

    seen: rows with a verdict on it.  tried: of these, who wrote something.  passed: of these.
    mean: points over all seen.  most: its points.
    correlation: point-biserial with the other exercises' points, None where it is not defined.
    best: (passed, count) among the quarter with most points elsewhere.
    diagnoses, values: (what, how often), most frequent first.
    """

    exercise: str
    seen: int
    tried: int
    passed: int
    mean: float
    most: float
    correlation: float | None
    best: tuple[int, int]
    diagnoses: tuple[tuple[str, int], ...]
    values: tuple[tuple[str, int], ...]

    @property
    def doubts(self) -> list[str]:
        """Why its task and its check should be looked at."""
        said = []
        passed, count = self.best
        if self.seen >= _ENOUGH and passed * 2 < count:
            said.append(f"{count - passed} of the {count} best elsewhere fail it.")
        if self.seen >= _ENOUGH and self.correlation is not None:
            if self.correlation < _UNRELATED:
                said.append("Who passes it does no better elsewhere.")
        return said


def items(rows: Sequence[Result]) -> list[Item]:
    """All exercises in the lab's order; rows without points are not counted."""
    known = [row for row in rows if row.status not in WITHOUT_POINTS and row.exercises]
    return [_item(name, known) for name in counted.exercises(known)]


def _item(name: str, rows: Sequence[Result]) -> Item:
    pairs = [(row, one) for row in rows for one in row.exercises if one.exercise == name]
    verdicts = [one for _, one in pairs]
    passes = [one.status == "pass" for one in verdicts]
    rest = [sum(one.points for one in row.exercises) - mine.points for row, mine in pairs]
    quarter = max(1, len(pairs) // 4)
    order = sorted(range(len(pairs)), key=lambda place: -rest[place])[:quarter]
    wrong = [one for one in verdicts if one.status == "fail"]
    return Item(
        name,
        len(pairs),
        sum(one.status not in _NOT_TRIED for one in verdicts),
        sum(passes),
        sum(one.points for one in verdicts) / len(pairs),
        max(one.max_points for one in verdicts),
        point_biserial(passes, rest),
        (sum(passes[place] for place in order), quarter),
        _frequent([one.diagnosis or "" for one in wrong]),
        _frequent([wrong_value(one) for one in wrong]),
    )


def _frequent(found: Sequence[str]) -> tuple[tuple[str, int], ...]:
    return tuple(Counter(filter(None, found)).most_common(_MOST))


def point_biserial(passes: Sequence[bool], points: Sequence[float]) -> float | None:
    """Correlation of yes and no with points; None when one of them does not vary."""
    count, yes = len(passes), sum(passes)
    if not 0 < yes < count:
        return None
    mean = sum(points) / count
    spread = math.sqrt(sum((one - mean) ** 2 for one in points) / count)
    if spread <= 1e-12 * max(1.0, abs(mean)):
        return None
    high = sum(value for value, passed in zip(points, passes) if passed) / yes
    low = sum(value for value, passed in zip(points, passes) if not passed) / (count - yes)
    share = yes / count
    return (high - low) / spread * math.sqrt(share * (1 - share))


def wrong_value(one: ExerciseResult) -> str:
    """What a verdict says was got, with the input it was got for; "" where it says none.

    All students of a class have the same inputs, so the same words are the same mistake.
    """
    where = re.search(r"^  where  (.*)$", one.message, re.MULTILINE)
    what = re.search(r"^  what   (.*)$", one.message, re.MULTILINE)
    said = " ".join(" ".join(found[1].split()) for found in (where, what) if found)
    return said or " ".join(one.message.split())[:200]


def items_page(rows: Sequence[Result], lab: str) -> str:
    """The page for the instructor."""
    found = items(rows)
    counting = max((one.seen for one in found), default=0)
    title = f"{lab}: item analysis"
    lines = [
        [
            text(one.exercise),
            _rate(one.passed, one.seen),
            f"{one.tried} of {one.seen}",
            f"{number(round(one.mean, 2))} of {number(one.most)}",
            "-" if one.correlation is None else f"{one.correlation:.2f}",
            f"{one.best[0]} of {one.best[1]}",
        ]
        for one in found
    ]
    heads = ["Exercise", "Passed", "Tried", "Mean points", "Point-biserial", "Best quarter passed"]
    parts = [
        f"<main><h1>{text(title)}</h1>",
        f"<p>Counted over {counting} of {len(rows)} rows: those with points and answers. Points "
        "are as judged, before lateness. The point-biserial is the correlation of passing with "
        "the points on all other exercises; the best quarter is the one with most points there."
        "</p>",
        table(heads, lines, {2, 3, 4, 5}),
    ]
    for one in found:
        if one.doubts or one.diagnoses or one.values:
            parts.append(f"<section><h2>{text(one.exercise)}</h2>")
            parts += [
                f'<p class="warn">{text(said)} Is its check right?</p>' for said in one.doubts
            ]
            for head, counts in (("Diagnosis", one.diagnoses), ("What was got", one.values)):
                if counts:
                    told = [[text(what), str(times)] for what, times in counts]
                    parts.append(table([head, "Students"], told, {1}))
            parts.append("</section>")
    return page(title, "\n".join([*parts, "</main>"]))


def _rate(passed: int, seen: int) -> str:
    percent = 100 * passed / seen
    return (
        f'<span class="bar" aria-hidden="true"><i style="width:{percent:.0f}%"></i></span>'
        f"{percent:.0f} % ({passed})"
    )
