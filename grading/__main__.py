"""`python -m grading grade DIR --lab t1_01_threads --out DIR`: grade a folder of submissions.

Exit code 0: every submission has its row, also the unreadable ones.  1: the grader failed on a
submission, or altogether.  2: the command cannot be carried out as it was given.
"""

from __future__ import annotations

import argparse
import os
import secrets
import sys
import traceback
from pathlib import Path
from typing import NoReturn

from grading.course import load_lab
from grading.intake import Intake, find
from grading.lab import Lab, LabError
from grading.pool import grade_all
from grading.reasons import GRADER_ERROR
from grading.results import Result, csv_text, table, write_atomic, write_student
from grading.run import Limits
from grading.sandbox import kind

CSV = "grades.csv"
STUDENTS = "students"


class UsageError(Exception):
    """A command that cannot be carried out; the text is the sentence to print."""


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message[:1].upper()}{message[1:]}. See: python -m grading grade --help")


def _arguments(argv: list[str] | None) -> argparse.Namespace:
    parser = _Parser(prog="python -m grading", description="Grade labs of the course.")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    grade = commands.add_parser("grade", help="grade a folder of submissions")
    grade.add_argument(
        "folder",
        type=Path,
        metavar="DIR",
        help="notebooks named by student, or one folder a student",
    )
    grade.add_argument("--lab", required=True, help="the unit, such as t1_01_threads")
    grade.add_argument("--out", type=Path, required=True, help="where the results go")
    grade.add_argument("--seed", type=int, help="draw the same secret inputs again")
    grade.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="how many at a time")
    grade.add_argument(
        "--time-limit",
        type=float,
        metavar="S",
        help=f"seconds for the run of one notebook (by the lab: {Limits.seconds:g}, or more)",
    )
    grade.add_argument(
        "--memory-limit",
        type=int,
        default=Limits.memory_mb,
        metavar="MB",
        help="address space of each process of a run (default %(default)s)",
    )
    return parser.parse_args(argv)


def _prepare(args: argparse.Namespace) -> tuple[Lab, Intake]:
    """Check the command, make the output folder, find the submissions."""
    folder, out = args.folder, args.out
    if not folder.is_dir():
        fact = "is not a folder" if folder.exists() else "does not exist"
        raise UsageError(f"{folder} {fact}. Name the folder that holds the submissions.")
    too_short = args.time_limit is not None and args.time_limit < 2
    if args.jobs < 1 or too_short or args.memory_limit < 1024:
        raise UsageError(
            "--jobs must be at least 1, --time-limit at least 2 s, --memory-limit at least 1024 MB."
        )
    if args.seed is not None and not 0 <= args.seed < 2**63:
        raise UsageError("--seed must be from 0 to 2**63 - 1.")
    if out.resolve() == folder.resolve():
        raise UsageError("--out must not be the folder of the submissions.")
    try:
        lab = load_lab(args.lab)
    except LabError as error:
        raise UsageError(str(error)) from None
    try:
        (out / STUDENTS).mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise UsageError(f"Cannot make the folder {out}: {error.strerror}.") from None
    found = find(folder, lab.unit, ignore=[out])
    if not found.submissions:
        raise UsageError(f"There are no submissions in {folder}.")
    return lab, found


def grade(args: argparse.Namespace) -> int:
    """Grade a folder and write the results; returns the exit code."""
    lab, found = _prepare(args)
    seed = secrets.randbelow(2**31) if args.seed is None else args.seed
    seconds = lab.seconds if args.time_limit is None else args.time_limit
    limits = Limits(seconds=seconds, memory_mb=args.memory_limit)
    students = args.out / STUDENTS

    graded = 0

    def known(result: Result) -> None:
        nonlocal graded
        write_student(result, students)
        graded += 1
        if sys.stderr.isatty():
            end = "\n" if graded == len(found.submissions) else ""
            print(f"\r{graded} of {len(found.submissions)} graded", end=end, file=sys.stderr)

    results = grade_all(found.submissions, lab, seed, limits, args.jobs, known)
    names = [exercise.name for exercise in lab.exercises]
    write_atomic(args.out / CSV, csv_text(results, names))
    print(table(results))
    if found.left_out:
        print(f"Left out, for these are no submissions: {', '.join(found.left_out)}.")
    print(f"Each run was {kind()}. To draw the same inputs again: --seed {seed}.")
    print(f"Wrote {args.out / CSV} and {len(results)} files in {students}.")
    return 1 if any(one.status == GRADER_ERROR for one in results) else 0


def main(argv: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    try:
        return grade(_arguments(argv))
    except UsageError as error:
        print(error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("Stopped. What was graded so far is in the output folder.", file=sys.stderr)
        return 130
    except Exception:
        traceback.print_exc()
        print("The grader failed. The results written so far are complete.", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
