"""What several commands have in common: arguments, their limits, and the refusal of wrong ones."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from grading.cluster import Cluster, ClusterError
from grading.course import load_lab
from grading.lab import Lab, LabError
from grading.policy import Policy, PolicyError, read_policy
from grading.pool import Pool
from grading.roster import Roster, RosterError, read_roster
from grading.run import Limits
from grading.store import POLICY, RunFacts, Store, StoreError


class UsageError(Exception):
    """A command that cannot be carried out; the text is the sentence to print."""


def add_lab(parser: argparse.ArgumentParser) -> None:
    """--lab and --out: what is graded, and where everything about it lies."""
    parser.add_argument("--lab", required=True, help="the unit, such as t1_01_threads")
    parser.add_argument("--out", type=Path, required=True, help="where the results go")


def add_limits(parser: argparse.ArgumentParser) -> None:
    """--seed and the limits of a run; without them the folder's own are taken."""
    parser.add_argument("--seed", type=int, help="of the secret inputs (drawn once for a folder)")
    parser.add_argument(
        "--time-limit",
        type=float,
        metavar="S",
        help=f"seconds for the run of one notebook (by the lab: {Limits.seconds:g}, or more)",
    )
    parser.add_argument(
        "--memory-limit",
        type=int,
        metavar="MB",
        help=f"address space of each process of a run (default {Limits.memory_mb})",
    )
    parser.add_argument(
        "--again", action="store_true", help="run those anew whose run was cut short"
    )


def add_jobs(parser: argparse.ArgumentParser) -> None:
    """--jobs: how many workers."""
    jobs = os.cpu_count() or 1
    parser.add_argument("--jobs", type=int, default=jobs, help="how many at a time")


def add_workers(parser: argparse.ArgumentParser) -> None:
    """--jobs and --dask: how many workers, and where."""
    add_jobs(parser)
    parser.add_argument(
        "--dask",
        metavar="ADDRESS",
        help="on a Dask cluster: tcp://HOST:PORT of its scheduler, or `local` or `slurm` for "
        "--jobs workers",
    )


@contextmanager
def workers(args: argparse.Namespace, lab: Lab, jobs: int) -> Iterator[Pool | Cluster]:
    """Workers here or, if it was asked for, on a cluster.  Raises UsageError."""
    try:
        with Cluster(lab, jobs, args.dask) if args.dask else Pool(lab, jobs) as found:
            yield found
    except ClusterError as error:
        raise UsageError(str(error)) from None


def add_policy(parser: argparse.ArgumentParser) -> None:
    """--policy: kept in the folder, so that later commands follow it too."""
    parser.add_argument(
        "--policy",
        type=Path,
        metavar="TOML",
        help="overrides, late policy, withdrawn exercises (default: policy.toml in the --out)",
    )


def policy_of(args: argparse.Namespace, lab: Lab, store: Store) -> Policy:
    """The policy that was named, or else the folder's own, or none.  Raises UsageError."""
    path = args.policy or store.folder / POLICY
    if args.policy is None and not path.exists():
        return Policy()
    try:
        return read_policy(path, {one.name: one.points for one in lab.exercises})
    except PolicyError as error:
        raise UsageError(str(error)) from None


def roster_of(path: Path, time_column: str = "") -> Roster:
    """The roster in a file.  Raises UsageError."""
    try:
        return read_roster(path, time_column)
    except RosterError as error:
        raise UsageError(str(error)) from None


def check(args: argparse.Namespace) -> None:
    """Refuse numbers that make no sense.  Raises UsageError."""
    too_short = args.time_limit is not None and args.time_limit < 2
    too_small = args.memory_limit is not None and args.memory_limit < 1024
    if getattr(args, "jobs", 1) < 1 or too_short or too_small:
        raise UsageError(
            "--jobs must be at least 1, --time-limit at least 2 s, --memory-limit at least 1024 MB."
        )
    if args.seed is not None and not 0 <= args.seed < 2**63:
        raise UsageError("--seed must be from 0 to 2**63 - 1.")


def lab_of(name: str) -> Lab:
    """The lab of this name.  Raises UsageError."""
    try:
        return load_lab(name)
    except LabError as error:
        raise UsageError(str(error)) from None


def open_store(args: argparse.Namespace, lab: Lab) -> tuple[Store, RunFacts]:
    """The folder of results with its seed and limits.  Raises UsageError."""
    default, asked = Limits(seconds=lab.seconds), None
    if args.time_limit is not None or args.memory_limit is not None:
        asked = Limits(args.time_limit or lab.seconds, args.memory_limit or Limits.memory_mb)
    store = Store(args.out.resolve())
    try:
        return store, store.open(lab.unit, args.seed, asked, default)
    except StoreError as error:
        raise UsageError(str(error)) from None
