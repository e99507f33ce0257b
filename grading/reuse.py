"""Rows that need no work: the same file was graded in the same way before."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from grading.grade import Grader, refused
from grading.intake import Submission
from grading.parse import read_file
from grading.reasons import GRADER_ERROR, SubmissionError
from grading.results import Result


def known_row(submission: Submission, how: Grader) -> Result | None:
    """The student's row, if it was made of this very file by these very specs."""
    if how.store is None or submission.path is None:
        return None
    row = how.store.row(submission.identity)
    if row is None or not row.work or row.status == GRADER_ERROR:
        return None
    try:
        digest = hashlib.sha256(read_file(submission.path)).hexdigest()
    except SubmissionError:
        return None
    if row.work != how.keys.work(digest):
        return None
    if how.again and row.answers:
        stored = how.store.answers(row.answers)
        if stored is None or stored.was_cut_short:
            return None
    return replace(row, student=submission.student)


@dataclass(frozen=True)
class Division:
    """Submissions sorted by the work they need.

    known: rows that are there already.  refused: rows of what cannot be graded, such as nothing.
    left: what has to be graded.  Rows go by identity.
    """

    known: dict[str, Result]
    refused: dict[str, Result]
    left: list[Submission]


def divide(submissions: Sequence[Submission], how: Grader) -> Division:
    """Sort submissions by the work that they need."""
    out = Division({}, {}, [])
    for one in submissions:
        if one.refusal is not None:
            out.refused[one.identity] = refused(one, how.lab, one.refusal)
        elif row := known_row(one, how):
            out.known[one.identity] = row
        else:
            out.left.append(one)
    return out
