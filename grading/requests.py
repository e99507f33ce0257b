"""Requests to a worker: each one line of JSON, so that a pool, a cluster or a pipe can carry it."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grading.intake import Submission
from grading.reasons import SubmissionError
from grading.run import Limits


@dataclass(frozen=True)
class Task:
    """What all requests of a class have in common.

    out: the folder where answers and verdicts are kept, if any.  again: see `grading.grade`.
    """

    seed: int
    limits: Limits
    out: Path | None = None
    again: bool = False


def request(submission: Submission, task: Task) -> dict[str, Any]:
    """The request to grade one submission, as plain data."""
    refusal = submission.refusal
    return _head(task) | {
        "student": submission.student,
        "identity": submission.identity,
        "path": _hex(submission.path),
        "refusal": [refusal.reason, refusal.sentence, refusal.status] if refusal else None,
    }


def rescore_request(answers: str, task: Task) -> dict[str, Any]:
    """The request to judge stored answers again; the reply is a row that is nobody's yet."""
    return _head(task) | {"answers": answers}


def _head(task: Task) -> dict[str, Any]:
    return {
        "seed": task.seed,
        "limits": vars(task.limits),
        "out": _hex(task.out),
        "again": task.again,
    }


def _hex(path: Path | None) -> str | None:
    """A path as plain text, whatever bytes its name has."""
    return os.fsencode(path).hex() if path else None


def path_of(text: str | None) -> Path | None:
    """The path that a request names."""
    return Path(os.fsdecode(bytes.fromhex(text))) if text else None


def submission_of(data: dict[str, Any]) -> Submission:
    """The submission of a request to grade."""
    refusal = SubmissionError(*data["refusal"]) if data["refusal"] else None
    return Submission(data["student"], data["identity"], path_of(data["path"]), refusal)
