"""`python -m grading rescore OUT`: judge stored answers again, show what changes, publish it."""

from __future__ import annotations

import argparse
from pathlib import Path

from grading import publish
from grading.commands import options
from grading.commands.options import UsageError
from grading.grade import Grader, grader
from grading.progress import Progress
from grading.reasons import GRADER_ERROR
from grading.requests import Task
from grading.rescore import diff_text, rescore
from grading.results import Result
from grading.store import CSV, Store, StoreError

HELP = "judge stored answers again, without running students' code"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder of results")
    parser.add_argument("--lab", required=True, help="the unit, such as t1_01_threads")
    options.add_workers(parser)
    options.add_policy(parser)
    parser.add_argument("--publish", action="store_true", help="write what is shown")


def run(args: argparse.Namespace) -> int:
    """Show the diff; with --publish write rows and table.  1 when the grader failed on a row."""
    if args.jobs < 1:
        raise UsageError("--jobs must be at least 1.")
    lab = options.lab_of(args.lab)
    store = Store(args.out.resolve())
    try:
        facts = store.facts()
    except StoreError as error:
        raise UsageError(str(error)) from None
    if facts.lab != lab.unit:
        raise UsageError(f"{args.out} holds results of {facts.lab}, not of {lab.unit}.")
    rows = store.rows()
    if not rows:
        raise UsageError(f"{args.out} holds no rows. Grade first.")
    policy = options.policy_of(args, lab, store)
    how = grader(lab, facts.seed, facts.limits, store)
    done = rescore(rows, how, policy, lambda keys: _judge(keys, how, args))
    print(diff_text(done))
    after = [one.after for one in done.changes]
    if args.publish:
        publish.write(store, lab, after, policy)
        print(f"\nWrote {args.out / CSV} and the rows that changed.")
    else:
        print("\nNothing is written yet. The same command with --publish writes it.")
    return 1 if any(one.status == GRADER_ERROR for one in after) else 0


def _judge(keys: list[str], how: Grader, args: argparse.Namespace) -> list[Result]:
    """The rows that stored answers deserve, judged by workers."""
    assert how.store is not None
    progress = Progress(len(keys), done="judged again")
    with options.workers(args, how.lab, min(args.jobs, len(keys))) as pool:
        task = Task(how.seed, how.limits, how.store.folder)
        return pool.rescore(keys, task, progress.step)
