"""`python -m grading simulate N`: make a class with known scores; `--check OUT` compares."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path

from grading import simulate
from grading.commands import options
from grading.commands.options import UsageError
from grading.lab import LabError
from grading.material import material
from grading.nasty import KINDS
from grading.store import Store

HELP = "make a class with known scores, or compare its grades with them"
_MOST_LINES = 50


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("count", type=int, nargs="?", metavar="N", help="how many students")
    parser.add_argument("--lab", help="the unit, such as t1_01_threads")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the class is")
    parser.add_argument(
        "--nasty", default="5%", help="how many hand in something broken or hostile (default 5%%)"
    )
    parser.add_argument("--seed", type=int, default=0, help="another seed makes another class")
    parser.add_argument(
        "--distinct",
        type=int,
        default=simulate.DISTINCT,
        metavar="K",
        help=f"different notebooks among the others (default {simulate.DISTINCT})",
    )
    parser.add_argument(
        "--check",
        type=Path,
        metavar="RESULTS",
        help="compare the results in this folder with the truth in DIR",
    )


def run(args: argparse.Namespace) -> int:
    """Make a class; or compare, and return 1 when a row is not as it must be."""
    return _make(args) if args.check is None else _compare(args)


def _make(args: argparse.Namespace) -> int:
    if args.count is None or args.lab is None:
        raise UsageError("Say how many students and which lab: simulate 200 --lab t1_01_threads.")
    if args.count < 1 or args.distinct < 1:
        raise UsageError("N and --distinct must be at least 1.")
    nasty = _share(args.nasty)
    lab = options.lab_of(args.lab)
    try:
        made_of = material(lab.unit)
    except LabError as error:
        raise UsageError(str(error)) from None
    group = simulate.simulate(args.count, lab, made_of, nasty, args.seed, args.distinct)
    try:
        simulate.write(group, args.out)
    except FileExistsError:
        raise UsageError(f"There is a class in {args.out} already. Name another folder.") from None
    except OSError as error:
        raise UsageError(f"Cannot write to {args.out}: {error.strerror}.") from None
    odd = Counter(one.kind for one in group.truth if one.kind)
    print(
        f"{len(group.truth)} students, {odd.total()} of them with something odd, "
        f"of {len(odd)} kinds out of {len(KINDS)}."
    )
    if group.left_out:
        names = ", ".join(group.left_out)
        print(f"Left out, because no answer to this lab needs a run: {names}.")
    results = args.out / "results"
    print(
        "Grade it, then compare:\n"
        f"  python -m grading grade {args.out / simulate.SUBMISSIONS} --lab {lab.unit} "
        f"--roster {args.out / simulate.ROSTER} --out {results}\n"
        f"  python -m grading simulate --out {args.out} --check {results}"
    )
    return 0


def _compare(args: argparse.Namespace) -> int:
    try:
        truth = simulate.read_truth(args.out)
    except OSError as error:
        raise UsageError(
            f"Cannot read the truth in {args.out / simulate.TRUTH}: {error.strerror}."
        ) from None
    except (ValueError, KeyError) as error:
        raise UsageError(f"There is no truth to compare with: {error}") from None
    rows = Store(args.check).rows()
    if not rows:
        raise UsageError(f"There are no results in {args.check}.")
    found = simulate.differences(truth, rows)
    for line in found[:_MOST_LINES]:
        print(line)
    if len(found) > _MOST_LINES:
        print(f"... and {len(found) - _MOST_LINES} more.")
    if found:
        print(f"{len(truth)} students; {len(found)} differences from what is true.")
        return 1
    print(f"{len(truth)} students, and each has the row that is true.")
    return 0


def _share(text: str) -> float:
    """5% or 0.05 as a number from 0 to 1."""
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise UsageError("--nasty must be from 0% to 100%.")
    return share
