"""The pilot: a few submissions first, chosen by the seed, and what they say of the class.

A check that nearly everybody fails is more often the check's fault than everybody's.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence

from grading.intake import Submission
from grading.progress import duration
from grading.reasons import GRADED, STATUSES
from grading.results import Result

SIZE = 20
#: A class that is not larger than this is simply graded.
SMALL_CLASS = 40
_MOST_FAIL = 0.8
_ENOUGH = 5  # answers, to say something of a check


def chosen(left: Sequence[Submission], seed: int) -> list[Submission]:
    """The pilot's submissions, in the order of the class."""
    places = random.Random(seed).sample(range(len(left)), min(SIZE, len(left)))
    return [left[place] for place in sorted(places)]


def forecast(pilot: Sequence[Result], seconds: float, rest: int, jobs: int) -> str:
    """What the pilot says: time for the rest, failures, suspicious checks.

    seconds: wall clock of the pilot; rest: how many are left; jobs: at a time.
    """
    count = len(pilot)
    lines = [
        f"Pilot: {count} of {count + rest} submissions, chosen by the seed, took "
        f"{duration(seconds)} (measured, {jobs} at a time)."
    ]
    if rest:
        expected = seconds / count * rest
        lines.append(f"The other {rest} will take about {duration(expected)} at this pace.")
    statuses = Counter(one.status for one in pilot)
    mix = ", ".join(f"{statuses[one]} {one}" for one in STATUSES if statuses[one])
    reasons = Counter(one.reason for one in pilot if one.status != GRADED)
    why = ", ".join(f"{reason} {number}" for reason, number in reasons.most_common(5))
    lines.append(f"Rows: {mix}." + (f" Reasons: {why}." if why else ""))
    for name, failed, tried in suspicious(pilot):
        lines.append(
            f"{failed} of {tried} fail {name}. Look at its task and its check before you go on."
        )
    return "\n".join(lines)


def suspicious(rows: Sequence[Result]) -> list[tuple[str, int, int]]:
    """(exercise, failed, tried) where more than 80 % of those who tried fail."""
    tried, failed = Counter[str](), Counter[str]()
    for row in rows:
        for one in row.exercises:
            if one.status not in ("todo", "missing"):
                tried[one.exercise] += 1
                failed[one.exercise] += one.status != "pass"
    return [
        (name, failed[name], count)
        for name, count in tried.items()
        if count >= _ENOUGH and failed[name] > _MOST_FAIL * count
    ]
