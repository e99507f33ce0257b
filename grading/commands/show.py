"""`python -m grading show OUT STUDENT`: why somebody has these points."""

from __future__ import annotations

import argparse
from pathlib import Path

from grading.commands import options
from grading.commands.options import UsageError
from grading.exports.evidence import evidence_text, found
from grading.parse import parse, read_file
from grading.reasons import SubmissionError
from grading.replay import replay
from grading.results import Result, write_atomic
from grading.store import Store, StoreError

HELP = "all that stands behind one student's points; --replay makes a notebook to try"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder of results")
    parser.add_argument("student", metavar="STUDENT", help="id, name, e-mail or file")
    parser.add_argument("exercise", nargs="?", default="", metavar="EXERCISE", help="only this one")
    parser.add_argument(
        "--replay",
        type=Path,
        nargs=2,
        metavar=("SUBMISSION", "NOTEBOOK"),
        help="write the notebook as it was graded, with the class's inputs in its checks",
    )


def run(args: argparse.Namespace) -> int:
    """Print the evidence; write the notebook if there is to be one."""
    store = Store(args.out.resolve())
    row = _row(store, args.student)
    if args.exercise and args.exercise not in [one.exercise for one in row.exercises]:
        names = ", ".join(one.exercise for one in row.exercises) or "none was judged"
        raise UsageError(f"{row.student} has no exercise {args.exercise!r}. There are: {names}.")
    print(evidence_text(row, args.exercise).lstrip("\n"))
    if args.replay:
        _replay(store, row, *args.replay)
    return 0


def _row(store: Store, name: str) -> Result:
    """The one row of this student.  Raises UsageError."""
    known = store.rows()
    if not known:
        raise UsageError(f"There are no results in {store.folder}.")
    mine, close = found(known, name)
    if not mine:
        like = f" Did you mean: {', '.join(close)}?" if close else ""
        raise UsageError(f"There is no row for {name!r}.{like}")
    if len(mine) > 1:
        several = ", ".join(one.student for one in mine)
        raise UsageError(f"Several go by {name!r}: {several}. Name one by its id.")
    return mine[0]


def _replay(store: Store, row: Result, submission: Path, out: Path) -> None:
    """Write the notebook.  Raises UsageError."""
    try:
        facts = store.facts()
        parsed = parse(read_file(submission))
    except StoreError as error:
        raise UsageError(str(error)) from None
    except SubmissionError as error:
        raise UsageError(f"{submission}: {error.sentence}") from None
    if out.exists():
        raise UsageError(f"{out} is there already. Name a new file.")
    try:
        write_atomic(out, replay(parsed, options.lab_of(facts.lab), facts.seed, row.student))
    except OSError as error:
        raise UsageError(f"Cannot write {out}: {error.strerror}.") from None
    print(f"\nWrote {out}. It runs the student's code with your rights: read it first.")
