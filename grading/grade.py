"""Grade one submission: read, take the answers, run, judge, and say it in one row."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from grading.answers import Answers, extract
from grading.evidence import Evidence, evidence
from grading.intake import Submission
from grading.keys import Keys, keys_of
from grading.lab import Lab
from grading.parse import Parsed, parse, read_file
from grading.questions import question
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
from grading.store import Store, StoredAnswers
from grading.verify import verdict


@dataclass(frozen=True)
class Grader:
    """What all submissions of a class have in common.

    store: where answers and verdicts are kept, so that nothing is run or judged twice.
    again: run a notebook anew whose stored run was cut short.
    """

    lab: Lab
    limits: Limits
    keys: Keys
    store: Store | None = None
    again: bool = False

    @property
    def seed(self) -> int:
        """The inputs are drawn from it."""
        return self.keys.seed


def grader(lab: Lab, seed: int, limits: Limits, store: Store | None = None) -> Grader:
    """A grader for a lab, with the names of its results."""
    return Grader(lab, limits, keys_of(lab, seed, limits), store)


def grade_one(submission: Submission, lab: Lab, seed: int, limits: Limits) -> Result:
    """The row of one submission; nothing is stored."""
    return grade(submission, grader(lab, seed, limits))


def grade(submission: Submission, how: Grader) -> Result:
    """The row of one submission.  What the student did never raises; a fault of ours does."""
    if submission.refusal is not None:
        return refused(submission, how.lab, submission.refusal)
    assert submission.path is not None
    digest = ""
    try:
        data = read_file(submission.path)
        digest = hashlib.sha256(data).hexdigest()
        parsed = parse(data)
        names = [one.answer for one in how.lab.exercises]
        answers = extract(parsed.cells, names, how.lab.given_sources)
        _is_this_lab(answers)
    except SubmissionError as error:
        return replace(refused(submission, how.lab, error, digest), work=how.keys.work(digest))
    found = answered(parsed, answers, how)
    return replace(
        judged(found, how),
        student=submission.student,
        identity=submission.identity,
        sha256=digest,
        work=how.keys.work(digest),
    )


def answered(parsed: Parsed, answers: Answers, how: Grader) -> StoredAnswers:
    """What the notebook answers: as it is stored, or else from a run, which is then stored."""
    key = how.keys.answers(parsed)
    stored = how.store.answers(key) if how.store else None
    if stored is not None and not (how.again and stored.was_cut_short):
        return stored
    asked = [question(one, answers, how.lab, how.seed) for one in how.lab.exercises]
    requests = {one.exercise.name: one.request for one in asked if one.request is not None}
    gathered = Gathered()
    # Where nothing was written, or its text says everything, a run has nothing to tell.
    if requests:
        gathered = gather(how.lab, answers, requests, how.limits)
    found = StoredAnswers(
        key,
        how.lab.unit,
        how.seed,
        tuple(evidence(one, gathered) for one in asked),
        (*parsed.notes, *answers.notes, *gathered.notes),
        tuple(gathered.rounds),
        kind() if gathered.runs else "not run",
    )
    if how.store:
        how.store.save_answers(found)
    return found


def judged(found: StoredAnswers, how: Grader) -> Result:
    """The row that these answers deserve; whose it is has to be filled in."""
    by_name = {one.exercise: one for one in found.evidence}
    exercises = tuple(_verdict(by_name[one.name], how) for one in how.lab.exercises)
    status, reason = row(exercises, found.notes)
    said = [Note(one.reason, one.message) for one in exercises if one.reason]
    if status == GRADER_ERROR:
        said = [note("grader-error")]
    return Result(
        student="",
        identity="",
        lab=how.lab.unit,
        status=status,
        reason=reason,
        points=None if status in WITHOUT_POINTS else sum(one.points for one in exercises),
        max_points=how.lab.max_points,
        exercises=exercises,
        notes=tuple(dict.fromkeys([*said, *found.notes])),
        seed=how.seed,
        sandbox=found.sandbox,
        run_seconds=found.seconds,
        answers=found.key,
    )


def _verdict(found: Evidence, how: Grader) -> ExerciseResult:
    """The verdict on one exercise, from the store if it was given before."""
    exercise = next(one for one in how.lab.exercises if one.name == found.exercise)
    spec = how.keys.specs[exercise.name]
    if how.store is None or found.settled is not None:
        return replace(verdict(exercise, found, how.seed), spec=spec)
    key = how.keys.verdict(found)
    known = how.store.verdict(key)
    if known is None:
        known = replace(verdict(exercise, found, how.seed), spec=spec)
        if known.status != "error":  # a fault of ours is to be tried again
            how.store.save_verdict(key, known)
    return replace(known, cell=found.cell, source=found.source)


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


def refused(submission: Submission, lab: Lab, error: SubmissionError, digest: str = "") -> Result:
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
