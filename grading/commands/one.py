"""`python -m grading one NOTEBOOK`: the unit of work; done twice it does no more than once."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

from grading.commands import options
from grading.grade import grader
from grading.intake import Submission, identity, label
from grading.pool import Pool
from grading.reasons import GRADER_ERROR
from grading.requests import Task
from grading.results import table
from grading.reuse import known_row

HELP = "grade one notebook; what is there already is not done again"


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("notebook", type=Path, metavar="NOTEBOOK", help="the submitted file")
    parser.add_argument("--student", help="whose it is (default: the name of the file)")
    options.add_lab(parser)
    options.add_limits(parser)


def run(args: argparse.Namespace) -> int:
    """Grade the notebook and write its row; 1 when the grader itself failed."""
    options.check(args)
    lab = options.lab_of(args.lab)
    store, facts = options.open_store(args, lab)
    name = args.student or args.notebook.stem
    submission = Submission(label(name), identity(name), args.notebook)
    how = replace(grader(lab, facts.seed, facts.limits, store), again=args.again)
    result = known_row(submission, how)
    if result is None:
        with Pool(lab, 1) as pool:
            task = Task(facts.seed, facts.limits, store.folder, args.again)
            (result,) = pool.grade([submission], task, store.save_row)
    print(table([result]))
    return 1 if result.status == GRADER_ERROR else 0
