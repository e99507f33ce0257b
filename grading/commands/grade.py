"""`python -m grading grade DIR`: grade a folder of submissions, or go on where it was left."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

from grading.commands import options
from grading.commands.options import UsageError
from grading.grade import grader
from grading.intake import Intake, find
from grading.lab import Lab
from grading.pool import Pool
from grading.reasons import GRADER_ERROR
from grading.requests import Task
from grading.results import Result, csv_text, table, write_atomic
from grading.reuse import divide
from grading.sandbox import kind
from grading.store import CSV, STUDENTS, Store

HELP = "grade a folder of submissions"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "folder",
        type=Path,
        metavar="DIR",
        help="notebooks named by student, or one folder a student",
    )
    options.add_lab(parser)
    options.add_limits(parser)
    options.add_jobs(parser)


def _prepare(args: argparse.Namespace) -> tuple[Lab, Intake]:
    """Check the command, find the submissions."""
    folder, out = args.folder, args.out
    if not folder.is_dir():
        fact = "is not a folder" if folder.exists() else "does not exist"
        raise UsageError(f"{folder} {fact}. Name the folder that holds the submissions.")
    options.check(args)
    if out.resolve() == folder.resolve():
        raise UsageError("--out must not be the folder of the submissions.")
    lab = options.lab_of(args.lab)
    found = find(folder, lab.unit, ignore=[out])
    if not found.submissions:
        raise UsageError(f"There are no submissions in {folder}.")
    return lab, found


def run(args: argparse.Namespace) -> int:
    """Grade a folder and write the results; 1 when the grader itself failed somewhere."""
    lab, found = _prepare(args)
    store, facts = options.open_store(args, lab)
    task = Task(facts.seed, facts.limits, store.folder, args.again)
    how = replace(grader(lab, facts.seed, facts.limits, store), again=args.again)
    known, left = divide(found.submissions, how)
    store.save_members([one.identity for one in found.submissions])

    graded = 0

    def done(result: Result) -> None:
        nonlocal graded
        store.save_row(result)
        graded += 1
        if sys.stderr.isatty():
            end = "\n" if graded == len(left) else ""
            print(f"\r{graded} of {len(left)} graded", end=end, file=sys.stderr)

    with Pool(lab, min(args.jobs, max(1, len(left)))) as pool:
        fresh = pool.grade(left, task, done)
    rows = known | {one.identity: one for one in fresh}
    results = [rows[one.identity] for one in found.submissions]
    _write(store, lab, results)
    print(table(results))
    if known:
        print(f"{len(known)} rows were there already; {len(left)} were graded now.")
    if found.left_out:
        print(f"Left out, for these are no submissions: {', '.join(found.left_out)}.")
    print(f"Each run was {kind()}. All got the inputs of seed {facts.seed}.")
    print(f"Wrote {args.out / CSV} and {len(results)} files in {args.out / STUDENTS}.")
    return 1 if any(one.status == GRADER_ERROR for one in results) else 0


def _write(store: Store, lab: Lab, results: list[Result]) -> None:
    names = [exercise.name for exercise in lab.exercises]
    write_atomic(store.folder / CSV, csv_text(results, names))
