"""What a worker does with a request: grade a submission, or judge stored answers again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from grading.grade import Grader, grade, grader, judged
from grading.lab import Lab
from grading.requests import path_of, submission_of
from grading.results import Result
from grading.run import Limits
from grading.store import Store


class Desk:
    """Answers requests for one lab; what all requests of a class share is made once."""

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
        self._graders: dict[str, Grader] = {}

    def answer(self, data: dict[str, Any]) -> Result:
        """The row for a request that `grading.requests` made."""
        how = self._grader(data)
        if "answers" in data:
            return self._rescored(data["answers"], how)
        return grade(submission_of(data), how)

    def _grader(self, data: dict[str, Any]) -> Grader:
        head = repr([data[name] for name in ("seed", "limits", "out", "again")])
        if head not in self._graders:
            out = path_of(data["out"])
            store = Store(out) if out else None
            made = grader(self._lab, data["seed"], Limits(**data["limits"]), store)
            self._graders = {head: replace(made, again=data["again"])}
        return self._graders[head]

    def _rescored(self, key: str, how: Grader) -> Result:
        assert how.store is not None
        found = how.store.answers(key)
        if found is None:
            raise FileNotFoundError(f"There are no stored answers {key}.")
        return judged(found, how)
