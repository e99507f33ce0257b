"""LTI Assignment and Grade Services 2.0: one score message a line, as JSON.

Each line is the body of a POST to `<line item>/scores`; sending is left to the tool that has the
keys.  A row without points asks for a person or says that grading failed, and has no scoreGiven.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from grading.exports import rows as counted
from grading.reasons import GRADER_ERROR, NOT_SUBMITTED
from grading.results import Result


def json_lines(
    rows: Sequence[Result], time: datetime, users: Mapping[str, str] | None = None
) -> str:
    """One line a row.  time: of grading, with its zone; a platform ignores older messages.

    users: student -> the platform's userId; rows it does not name are left out.  Without it the
    student's id is taken.
    """
    chosen = [row for row in rows if users is None or row.student in users]
    named = {row.student: row.student for row in rows} if users is None else users
    lines = [_score(row, named[row.student], time) for row in chosen]
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in lines)


def _score(row: Result, user: str, time: datetime) -> dict[str, Any]:
    known = counted.points(row)
    stamp = time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    score: dict[str, Any] = {
        "userId": user,
        "timestamp": stamp,
        "activityProgress": "Initialized" if row.status == NOT_SUBMITTED else "Submitted",
        "gradingProgress": "FullyGraded",
    }
    if known is not None:
        score["activityProgress"] = "Initialized" if row.status == NOT_SUBMITTED else "Completed"
        score |= {"scoreGiven": round(known, 4), "scoreMaximum": counted.maximum(row)}
    else:
        failed = row.status == GRADER_ERROR
        score["gradingProgress"] = "Failed" if failed else "PendingManual"
    if row.sentence:
        score["comment"] = row.sentence
    return score
