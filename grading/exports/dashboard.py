"""The class on one page: a file without a server, that sorts and filters thousands of rows.

Rows lie in the page as data; a script draws those that are in view, as text and never as markup.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from grading.exports import rows as counted
from grading.exports.items import items
from grading.exports.page import data, page, table, text
from grading.reasons import STATUSES
from grading.results import Result, number

_LOOKS = {
    "graded": "good",
    "graded-repaired": "good",
    "partly-graded": "warn",
    "needs-human": "bad",
    "unreadable": "warn",
    "not-submitted": "open",
    "grader-error": "bad",
}
_KEYS = (
    ("/", "filter"),
    ("↑ ↓", "move"),
    ("n N", "next, last row that waits for somebody"),
    ("Esc", "clear the filter"),
)


class _Words:
    """Texts, each once."""

    def __init__(self) -> None:
        self.known: dict[str, int] = {"": 0}

    def number(self, word: str) -> int:
        return self.known.setdefault(word, len(self.known))


def dashboard_page(rows: Sequence[Result], lab: str, feedback: bool = False) -> str:
    """The page.  feedback: whether pages of `grading.exports.feedback` lie beside it."""
    names = counted.exercises(rows)
    title = f"{lab}: {len(rows)} rows"
    statuses = Counter(row.status for row in rows)
    buttons = "".join(
        f'<button type="button" data-status="{one}" aria-pressed="false">'
        f'<span class="{_LOOKS[one]}">{one}</span> {statuses[one]}</button>'
        for one in STATUSES
        if statuses[one]
    )
    keys = " ".join(f"<kbd>{key}</kbd> {what}" for key, what in _KEYS)
    body = [
        f"<main><h1>{text(title)}</h1>",
        _facts(rows),
        "<noscript><p>The table needs JavaScript. grades.csv has the same rows.</p></noscript>",
        '<div id="live" hidden>',
        '<div class="tools no-print"><input id="search" type="search" '
        'aria-label="Filter: words that all have to be in the row" '
        'placeholder="Filter: name, status, diagnosis ..." autocomplete="off">',
        f'<div class="tools" role="group" aria-label="Status">{buttons}</div>',
        '<span id="count" role="status" aria-live="polite"></span></div>',
        f'<p class="soft no-print">{keys}</p>',
        '<div id="scroller">'
        '<table id="grid" role="grid" tabindex="0" aria-label="Rows of the class">'
        '<thead><tr id="head"></tr></thead><tbody id="body"></tbody></table></div>',
        '<div id="detail" aria-live="polite"></div></div></main>',
        data("rows", _data(rows, names, feedback)),
    ]
    return page(title, "\n".join(body), "dashboard", wide=True)


def _data(rows: Sequence[Result], names: Sequence[str], feedback: bool) -> dict[str, Any]:
    words = _Words()
    short = ["student", "name", "section", "status", "points", "maximum", "grade", *names]
    numeric = [False] * 4 + [True, True, False] + [True] * len(names) + [True, False]
    made = []
    for row in rows:
        reached = counted.exercise_points(row)
        verdicts = {one.exercise: one for one in row.exercises}
        final = row.final
        cells: list[Any] = [
            *map(words.number, (row.student, row.name, row.section, row.status)),
            _rounded(counted.points(row)),
            counted.maximum(row),
            words.number(final.grade if final else ""),
            *(_rounded(reached.get(name)) for name in names),
            final.late_days if final else 0,
            words.number(row.reason),
        ]
        exercises = [
            [
                words.number(verdicts[name].status if name in verdicts else ""),
                _rounded(reached.get(name)),
                words.number((verdicts[name].diagnosis or "") if name in verdicts else ""),
            ]
            for name in names
        ]
        said = " ".join(filter(None, (row.sentence, *(final.adjustments if final else ()))))
        made.append({"i": row.identity, "c": cells, "e": exercises, "m": words.number(said)})
    return {
        "heads": [*short, "days late", "reason"],
        "numeric": numeric,
        "exercises": list(names),
        "statuses": _LOOKS,
        "words": list(words.known),
        "rows": made,
        "feedback": feedback,
    }


def _rounded(points: float | None) -> float | None:
    return None if points is None else round(points, 4)


def _facts(rows: Sequence[Result]) -> str:
    """What can be read without the table."""
    known = sorted(one for one in map(counted.points, rows) if one is not None)
    most = max(map(counted.maximum, rows), default=0.0)
    parts = [f"<p>{len(known)} rows have points, {len(rows) - len(known)} have none yet."]
    if known:
        middle = (known[(len(known) - 1) // 2] + known[len(known) // 2]) / 2
        mean = number(round(sum(known) / len(known), 2))
        parts.append(f" Mean {mean}, median {number(round(middle, 2))} of {number(most)}.")
    parts.append("</p>")
    found = items(rows)
    if found:
        lines = [
            [text(one.exercise), str(one.passed), str(one.seen), " ".join(map(text, one.doubts))]
            for one in found
        ]
        parts.append(table(["Exercise", "Passed", "Of", "Doubts"], lines, {1, 2}))
    return "".join(parts)
