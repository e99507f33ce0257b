"""`python -m grading grade SUBMISSIONS`: grade a class, or go on where it was left."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from grading import pilot, publish
from grading.archives import is_archive
from grading.attempts import Line, line_up
from grading.commands import options
from grading.commands.options import UsageError
from grading.exports.rows import listed
from grading.grade import Grader, grader
from grading.intake import Intake, Submission, find
from grading.points import unused
from grading.policy import Policy
from grading.progress import Progress
from grading.reasons import GRADER_ERROR, SubmissionError
from grading.requests import Task
from grading.results import Result, table
from grading.reuse import Division, divide
from grading.roster import Roster
from grading.sandbox import kind
from grading.store import CSV, STUDENTS, UNPACKED

HELP = "grade a folder of submissions, or go on where it was left"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "folder",
        type=Path,
        metavar="SUBMISSIONS",
        help="notebooks named by student, one folder a student, or a platform's download",
    )
    options.add_lab(parser)
    options.add_limits(parser)
    options.add_workers(parser)
    options.add_policy(parser)
    parser.add_argument(
        "--roster", type=Path, metavar="CSV", help="who is in the class: one row each"
    )
    parser.add_argument(
        "--pilot",
        action="store_true",
        help=f"grade {pilot.SIZE} of them, say what to expect, and stop",
    )


@dataclass(frozen=True)
class Class:
    """Who is graded, with what, by which rules."""

    how: Grader
    lines: Sequence[Line]
    policy: Policy
    roster: Roster | None
    found: Intake

    @property
    def submissions(self) -> list[Submission]:
        """One for each row."""
        return [line.submission for line in self.lines]


def run(args: argparse.Namespace) -> int:
    """Grade a folder and write the results; 1 when the grader itself failed somewhere."""
    group = _class(args)
    store = group.how.store
    assert store is not None
    store.save_members([one.identity for one in group.submissions])
    work = divide(group.submissions, group.how)
    by_identity = {line.submission.identity: line for line in group.lines}
    lab, rows = group.how.lab, work.known | work.refused

    def done(row: Result) -> None:
        finished = publish.complete(row, by_identity[row.identity], lab, group.policy)
        rows[row.identity] = finished
        store.save_row(finished)

    if not _grade(args, group, work.left, done):
        print("Stopped after the pilot. The same command without --pilot goes on from there.")
        return 0
    results = [
        publish.complete(rows[line.submission.identity], line, lab, group.policy)
        for line in group.lines
    ]
    if group.roster is not None:
        publish.check_rows(results, group.roster)
    publish.write(store, lab, results, group.policy)
    print(table(results))
    _say(args, group, results, work)
    return 1 if any(one.status == GRADER_ERROR for one in results) else 0


def _class(args: argparse.Namespace) -> Class:
    """Check the command, find the submissions, open the folder."""
    _check(args)
    lab = options.lab_of(args.lab)
    try:
        found = find(args.folder, lab.unit, [args.out], args.out.resolve() / UNPACKED)
    except SubmissionError as error:
        raise UsageError(error.sentence) from None
    if not found.entries:
        raise UsageError(f"There are no submissions in {args.folder}.")
    store, facts = options.open_store(args, lab)
    policy = options.policy_of(args, lab, store)
    column = policy.late.column if policy.late else ""
    roster = options.roster_of(args.roster, column) if args.roster else None
    if column and roster is None:
        raise UsageError('The policy has times = "roster". Name the roster: --roster FILE.csv.')
    how = replace(grader(lab, facts.seed, facts.limits, store), again=args.again)
    return Class(how, line_up(found, roster, policy.late), policy, roster, found)


def _check(args: argparse.Namespace) -> None:
    """Refuse folders and numbers that make no sense."""
    folder, out = args.folder, args.out
    if not folder.is_dir() and not (folder.is_file() and is_archive(folder)):
        fact = "is no folder and no archive" if folder.exists() else "does not exist"
        raise UsageError(f"{folder} {fact}. Name the folder that holds the submissions.")
    options.check(args)
    if out.resolve() == folder.resolve():
        raise UsageError("--out must not be the folder of the submissions.")


def _grade(
    args: argparse.Namespace, group: Class, left: list[Submission], done: Callable[[Result], None]
) -> bool:
    """Grade what is left, a pilot first; False when the pilot is all that was asked for."""
    how = group.how
    assert how.store is not None
    task = Task(how.seed, how.limits, how.store.folder, how.again)
    jobs = min(args.jobs, max(1, len(left)))
    first = pilot.chosen(left, how.seed) if args.pilot or len(left) > pilot.SMALL_CLASS else []
    rest = [one for one in left if one not in first]
    progress = Progress(len(left))

    def step(row: Result) -> None:
        done(row)
        progress.step(row)

    with options.workers(args, how.lab, jobs) as pool:
        if first:
            started = time.monotonic()
            rows = pool.grade(first, task, step)
            spent = time.monotonic() - started
            print(pilot.forecast(rows, spent, len(rest), jobs), flush=True)
        if args.pilot:
            return False
        pool.grade(rest, task, step)
    return True


def _say(args: argparse.Namespace, group: Class, results: list[Result], work: Division) -> None:
    """What there is to say about the whole class."""
    if group.roster is not None:
        students = len(group.roster.people)
        print(f"The roster has {students} students, and each has one row.")
        if len(results) > students:
            print(f"Rows of nobody on the roster: {len(results) - students}, at the end.")
    if work.known:
        print(f"There already: {len(work.known)} rows. Graded now: {len(work.left)}.")
    if group.found.layout:
        print(f"Names were read as {group.found.layout} makes them.")
    if group.found.left_out:
        print(f"Left out, for these are no submissions: {listed(group.found.left_out)}.")
    misspelt = unused(group.policy, results)
    if misspelt:
        print(f"The policy names students who have no row: {', '.join(misspelt)}.")
    late = group.policy.late
    if late is not None:
        handed_in = [line for line in group.lines if line.submission.refusal is None]
        unknown = sum(line.submitted is None for line in handed_in)
        known_times = len(handed_in) - unknown
        print(f"Times of submission are from {late.times}: {known_times} known, {unknown} not.")
    for name, failed, tried in pilot.suspicious(results):
        print(f"{failed} of {tried} fail {name}. Is its check right?")
    print(f"Each run was {kind()}. All got the inputs of seed {group.how.seed}.")
    print(f"Wrote {args.out / CSV}, and a file for each row in {args.out / STUDENTS}.")
