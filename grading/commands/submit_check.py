"""`python -m grading submit-check NOTEBOOK`: what the grader will do with this file."""

from __future__ import annotations

import argparse
from pathlib import Path

from grading import preflight
from grading.answers import extract
from grading.commands import options
from grading.commands.options import UsageError
from grading.intake import Submission
from grading.lab import Lab
from grading.parse import parse, read_file
from grading.pool import Pool
from grading.reasons import GRADER_ERROR, SubmissionError
from grading.requests import Task
from grading.results import Result, number
from grading.run import Limits
from grading.sandbox import kind

HELP = "for students: what the grader will do with a notebook, and what passes on public inputs"
#: Everybody may know the inputs of this one.
PUBLIC_SEED = 0


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("notebook", type=Path, metavar="NOTEBOOK", help="the file to hand in")
    parser.add_argument("--lab", help="the unit (default: the one whose exercises are in it)")
    parser.add_argument("--no-run", action="store_true", help="read the file only")


def run(args: argparse.Namespace) -> int:
    """Say what the grader sees; 0 when it takes every answer and all pass, else 1."""
    try:
        parsed = parse(read_file(args.notebook))
    except SubmissionError as error:
        print(error.sentence)
        return 1
    name = args.lab or preflight.unit_of(extract(parsed.cells, (), ()))
    if name is None:
        raise UsageError("This notebook defines no exercise of any lab. Name its lab: --lab UNIT.")
    lab = options.lab_of(name)
    answers = extract(parsed.cells, [one.answer for one in lab.exercises], lab.given_sources)
    print(f"{args.notebook.name} is read as the lab {lab.unit}.\n")
    print("\n".join(preflight.found(lab, answers)))
    twice = [one for one in answers.notes if one.reason != "twice-defined"]
    said = [one.sentence for one in (*parsed.notes, *twice)] + preflight.warnings(lab, answers)
    if said:
        print("\n" + "\n".join(said))
    if args.no_run:
        return 0
    print("\nRunning it once, as the grader does ...", flush=True)
    row = _row(args.notebook, lab)
    print(summary(row))
    return 0 if row.points == row.max_points else 1


def _row(notebook: Path, lab: Lab) -> Result:
    """The notebook graded on the public inputs; nothing is kept."""
    submission = Submission("you", "you", notebook.resolve())
    task = Task(PUBLIC_SEED, Limits(seconds=lab.seconds))
    with Pool(lab, 1) as pool:
        (row,) = pool.grade([submission], task, lambda _: None)
    return row


def summary(row: Result) -> str:
    """What came of the run: one block an exercise that does not pass, then the count."""
    if row.status == GRADER_ERROR:
        return (
            f"The grader itself failed. This is not your mistake. Please report it.\n{row.sentence}"
        )
    lines = []
    for one in row.exercises:
        if one.status not in ("pass", "todo", "missing"):
            headed = one.message.startswith(one.exercise)
            head = "" if headed else f"{one.exercise}: {one.status}\n"
            lines.append(f"\n{head}{one.message}".rstrip())
    lines += ["", *(one.sentence for one in row.notes if one.reason != "twice-defined")]
    passed = sum(one.status == "pass" for one in row.exercises)
    seconds = f" in {number(round(row.run_seconds, 1))} s" if row.run_seconds else ""
    lines.append(
        f"{passed} of {len(row.exercises)} pass{seconds} ({kind()}); the grader draws other inputs."
    )
    return "\n".join(lines).lstrip("\n")
