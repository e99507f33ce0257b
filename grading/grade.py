"""Grade one submission: read, take the answers, run, judge, and say it in one row."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from grading.answers import Answers, extract
from grading.intake import Submission
from grading.lab import Lab
from grading.parse import parse, read_file
from grading.reasons import (
    GRADED,
    GRADED_REPAIRED,
    GRADER_ERROR,
    NEEDS_HUMAN,
    PARTLY_GRADED,
    WITHOUT_POINTS,
    Note,
    SubmissionError,
    note,
)
from grading.results import ExerciseResult, Result
from grading.rounds import Gathered, gather
from grading.run import Limits
from grading.sandbox import kind
from grading.verify import question, verdict


def grade_one(submission: Submission, lab: Lab, seed: int, limits: Limits) -> Result:
    """The row of one submission.  What the student did never raises; a fault of ours does."""
    if submission.refusal is not None:
        return _refused(submission, lab, submission.refusal)
    assert submission.path is not None
    digest = ""
    try:
        data = read_file(submission.path)
        digest = hashlib.sha256(data).hexdigest()
        parsed = parse(data)
        answers = extract(parsed.cells, [one.answer for one in lab.exercises], lab.given_sources)
        _is_this_lab(answers)
    except SubmissionError as error:
        return _refused(submission, lab, error, digest)
    asked = [question(exercise, answers, lab, seed) for exercise in lab.exercises]
    gathered = Gathered()
    requests = {one.exercise.name: one.request for one in asked if one.request is not None}
    # Where nothing was written, or its text says everything, a run has nothing to tell.
    if requests:
        gathered = gather(lab, answers, requests, limits)
    exercises = tuple(verdict(one, gathered, seed) for one in asked)
    notes = (*parsed.notes, *answers.notes, *gathered.notes)
    status, reason = row(exercises, notes)
    said = [Note(one.reason, one.message) for one in exercises if one.reason]
    if status == GRADER_ERROR:
        said = [note("grader-error")]
    return Result(
        student=submission.student,
        identity=submission.identity,
        lab=lab.unit,
        status=status,
        reason=reason,
        points=None if status in WITHOUT_POINTS else sum(one.points for one in exercises),
        max_points=lab.max_points,
        exercises=exercises,
        notes=tuple(dict.fromkeys([*said, *notes])),
        seed=seed,
        sha256=digest,
        sandbox=kind() if gathered.runs else "not run",
        run_seconds=round(gathered.seconds, 2) if gathered.runs else None,
    )


def row(exercises: Sequence[ExerciseResult], notes: Sequence[Note]) -> tuple[str, str]:
    """Status and reason of a row out of its exercises and of what had to be repaired."""
    if any(one.status == "error" for one in exercises):
        return GRADER_ERROR, "grader-error"
    without = [one.reason for one in exercises if one.status in ("missing", "no-answer")]
    if without:
        # The cause of the gap says more than the gap: a loop before an answer that is missing.
        known = [reason for reason in without if reason != "no-answer"]
        causes = known or [one.reason for one in notes] or without
        return PARTLY_GRADED, causes[0]
    if notes:
        return GRADED_REPAIRED, notes[0].reason
    return GRADED, next((one.reason for one in exercises if one.reason), "")


def _is_this_lab(answers: Answers) -> None:
    """A notebook that defines none of the functions is another lab's, or none at all."""
    if answers.found or any(one.reason != "missing-function" for one in answers.missing.values()):
        return
    names = ", ".join(answers.missing)
    sentence = note("wrong-notebook", names=names).sentence
    raise SubmissionError("wrong-notebook", sentence, NEEDS_HUMAN)


def _refused(submission: Submission, lab: Lab, error: SubmissionError, digest: str = "") -> Result:
    """The row of a submission that was not graded."""
    return Result(
        student=submission.student,
        identity=submission.identity,
        lab=lab.unit,
        status=error.status,
        reason=error.reason,
        points=None if error.status in WITHOUT_POINTS else 0.0,
        max_points=lab.max_points,
        notes=(Note(error.reason, error.sentence),),
        sha256=digest,
        sandbox="not run",
    )
