"""`python -m grading release OUT`: make what students get, when its checks have been tried."""

from __future__ import annotations

import argparse
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from grading.commands import options
from grading.commands.options import UsageError
from grading.release.bundle import lay_out
from grading.release.traces import shown, traces
from warpwise import curriculum
from warpwise.curriculum import COURSE, Unit

HELP = "make the students' bundle: the course without answers, its checks tried"
_UNIT_S = 1800.0
#: What a student does first with a bundle: every lab and every spec must load from it.
_LOADS = (
    "from grading.course import load_lab; from warpwise import curriculum; "
    "print(*[load_lab(unit.name).unit for unit in curriculum.load().written])"
)


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("out", type=Path, metavar="OUT", help="a new folder")
    parser.add_argument(
        "--lab",
        action="append",
        metavar="UNIT",
        help="a lab that is handed out; may be given again (default: all). Lessons go in anyway",
    )
    parser.add_argument(
        "--quick", action="store_true", help="try one wrong and one right answer an exercise"
    )
    parser.add_argument("--seed", type=int, help="of the inputs the checks are tried on")
    options.add_jobs(parser)


def run(args: argparse.Namespace) -> int:
    """Write the bundle; 1, and no bundle, when something speaks against it."""
    units = _units(args)
    seed = secrets.randbelow(2**31) if args.seed is None else args.seed
    out = args.out.resolve()
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{args.out} is there already. Name a new folder.")
    if out.is_relative_to(COURSE):
        raise UsageError(f"{args.out} lies in the course itself. Name a folder outside of it.")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=".release-") as name:
        made = Path(name) / "bundle"
        against = _made(made, units) or _tried(args, units, seed)
        if against:
            print("\n".join(against))
            print(f"Not released. Reasons against it: {len(against)}. Nothing was written.")
            return 1
        lessons = shown(made, units)
        if out.exists():
            out.rmdir()
        made.rename(out)
    files = [path for path in out.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    tried = "a sample of the" if args.quick else "all"
    print(
        f"Tried on inputs of seed {seed}: solutions reach everything, untouched labs nothing, "
        f"{tried} impostors are caught and {tried} variants pass."
    )
    print(f"Wrote {args.out}: {len(units)} labs, {len(files)} files, {size / 1e6:.1f} MB.")
    for sentence in lessons:
        print(sentence)
    print("What students can read in it: grading/README.md, 'Handing the course out'.")
    return 0


def _units(args: argparse.Namespace) -> list[Unit]:
    """The units whose labs are handed out.  Raises UsageError."""
    if not (COURSE / "solutions").is_dir() or not (COURSE / "tests" / "impostors").is_dir():
        raise UsageError("A release is made in the whole course, with its solutions and tests.")
    units = curriculum.load()
    if args.jobs < 1:
        raise UsageError("--jobs must be at least 1.")
    chosen = []
    for name in args.lab or [unit.name for unit in units.written]:
        try:
            unit = units.unit(name)
        except KeyError as error:
            raise UsageError(error.args[0]) from None
        if not unit.is_written:
            raise UsageError(f"The unit {unit.name} is not written yet.")
        if unit not in chosen:
            chosen.append(unit)
    return chosen


def _made(made: Path, units: Sequence[Unit]) -> list[str]:
    """Lay the bundle out; what speaks against its files."""
    lay_out(made, units)
    found = traces(made, units)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        [sys.executable, "-B", "-c", _LOADS],
        cwd=made,
        env=environment | {"WARPWISE_BACKEND": "sim", "PYTHONPATH": str(made)},
        capture_output=True,
        text=True,
        timeout=_UNIT_S,
        check=False,
    )
    if done.returncode != 0 or sorted(done.stdout.split()) != sorted(one.name for one in units):
        found.append(f"The bundle does not load. {done.stdout}{done.stderr[-2000:]}")
    for cache in list(made.rglob("__pycache__")):
        shutil.rmtree(cache)
    return found


def _tried(args: argparse.Namespace, units: Sequence[Unit], seed: int) -> list[str]:
    """Try each lab in a process of its own; what speaks against them."""

    def one(unit: Unit) -> list[str]:
        how = "sample" if args.quick else "all"
        command = [sys.executable, "-m", "grading.release.gate", unit.name, str(seed), how]
        try:
            done = subprocess.run(
                command, cwd=COURSE, capture_output=True, text=True, timeout=_UNIT_S, check=False
            )
        except subprocess.TimeoutExpired:
            return [f"{unit.name}: trying it took more than {_UNIT_S:.0f} s."]
        if done.returncode != 0:
            return [f"{unit.name}: it could not be tried. {done.stderr[-2000:]}"]
        found = json.loads(done.stdout)
        said = f"reasons against it: {len(found)}" if found else "tried"
        print(f"{unit.name}: {said}", flush=True)
        return [f"{unit.name}: {sentence}" for sentence in found]

    with ThreadPoolExecutor(args.jobs) as pool:
        return [sentence for found in pool.map(one, units) for sentence in found]
