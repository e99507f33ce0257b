"""`python -m grading export OUT --to FORMAT`: grades in the form that somebody else reads."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from grading.commands.options import UsageError
from grading.course import load_lab
from grading.exports import canvas, gradescope, lti, moodle
from grading.exports.alike import groups_page
from grading.exports.dashboard import dashboard_page
from grading.exports.feedback import feedback_page
from grading.exports.files import write
from grading.exports.gradebook import GradebookError
from grading.exports.items import items_page
from grading.exports.lossless import CsvError
from grading.exports.rows import exercises, listed
from grading.exports.similar import similar_page
from grading.lab import LabError
from grading.results import Result, csv_text
from grading.store import Store, StoreError

HELP = "write the results for a gradebook, for students, or for a look at the class"


@dataclass(frozen=True)
class Job:
    """What is exported, and where to: a file, or a folder of files."""

    args: argparse.Namespace
    store: Store
    rows: list[Result]
    into: Path


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("out", type=Path, metavar="OUT", help="the folder of results")
    parser.add_argument("--to", required=True, choices=list(_WAYS), help="the format")
    parser.add_argument(
        "--into", type=Path, metavar="PATH", help="where it goes (default: OUT/exports/...)"
    )
    parser.add_argument(
        "--gradebook", type=Path, metavar="CSV", help="canvas, moodle: the file it exported"
    )
    parser.add_argument(
        "--column", default="", help="canvas, moodle: the column to fill, if there are several"
    )
    parser.add_argument(
        "--maximum", type=float, metavar="N", help="canvas, moodle: scale to this many points"
    )
    parser.add_argument(
        "--match", default="", metavar="COLUMN", help="canvas, moodle: the column with your ids"
    )
    parser.add_argument(
        "--users", type=Path, metavar="CSV", help="lti: a file with columns student and userId"
    )
    parser.add_argument(
        "--visibility",
        choices=gradescope.VISIBILITY,
        default="after_published",
        help="gradescope: when students see it (default: after_published)",
    )
    parser.add_argument(
        "--brief",
        action="store_true",
        help="gradescope, feedback: verdicts without inputs and values",
    )


def run(args: argparse.Namespace) -> int:
    """Write the export and say what to know about it."""
    store = Store(args.out.resolve())
    try:
        store.facts()
    except StoreError as error:
        raise UsageError(str(error)) from None
    rows = store.rows()
    if not rows:
        raise UsageError(f"{args.out} holds no rows. Grade first.")
    name, way = _WAYS[args.to]
    into = args.into or args.out / "exports" / name
    if (into.is_dir() and "." in name) or (into.is_file() and "." not in name):
        raise UsageError(f"{into} is {'a folder' if into.is_dir() else 'a file'}. Choose another.")
    try:
        said = way(Job(args, store, rows, into))
    except (CsvError, GradebookError) as error:
        raise UsageError(str(error)) from None
    print("\n".join([*said, f"Wrote {into}."]))
    return 0


def _csv(job: Job) -> list[str]:
    write(job.into, csv_text(job.rows, exercises(job.rows)))
    return [f"{len(job.rows)} rows."]


def _gradescope(job: Job) -> list[str]:
    for row in job.rows:
        text = gradescope.results_json(row, job.args.visibility, not job.args.brief)
        write(job.into / row.identity / "results.json", text)
    return [f"{len(job.rows)} files, each results.json in a folder of its student."]


def _gradebook(job: Job) -> list[str]:
    args, path = job.args, job.args.gradebook
    if path is None:
        raise UsageError(f"Name the file that {args.to.title()} exported: --gradebook FILE.csv.")
    if path.resolve() == job.into.resolve():
        raise UsageError("--into must not be the exported file itself.")
    if args.maximum is not None and not args.maximum > 0:
        raise UsageError("--maximum must be more than 0.")
    filled = (canvas if args.to == "canvas" else moodle).filled(
        _bytes(path), str(path), job.rows, args.column, args.maximum, args.match
    )
    write(job.into, filled.data)
    return filled.sentences


def _lti(job: Job) -> list[str]:
    users = _users(job.args.users) if job.args.users else None
    write(job.into, lti.json_lines(job.rows, datetime.now(UTC), users))
    left = [row.student for row in job.rows if users is not None and row.student not in users]
    said = [f"{len(job.rows) - len(left)} scores."]
    return said + [f"Without a userId and left out: {len(left)} ({listed(left)})."] * bool(left)


def _feedback(job: Job) -> list[str]:
    for row in job.rows:
        write(job.into / f"{row.identity}.html", feedback_page(row, not job.args.brief))
    return [f"{len(job.rows)} pages, each named by its student."]


def _dashboard(job: Job) -> list[str]:
    beside = (job.into.parent / "feedback").is_dir()
    write(job.into, dashboard_page(job.rows, job.store.facts().lab, beside))
    return [f"{len(job.rows)} rows. Open it in a browser; it needs no server."]


def _items(job: Job) -> list[str]:
    write(job.into, items_page(job.rows, job.store.facts().lab))
    return []


def _groups(job: Job) -> list[str]:
    write(job.into, groups_page(job.rows, job.store.facts().lab))
    return []


def _similar(job: Job) -> list[str]:
    unit = job.store.facts().lab
    try:
        given = load_lab(unit).given_sources
    except LabError as error:
        raise UsageError(str(error)) from None
    write(job.into, similar_page(job.rows, unit, sorted(given)))
    return ["Similar is not copied. Read both answers, and ask."]


def _users(path: Path) -> dict[str, str]:
    """student -> userId."""
    try:
        lines = list(csv.DictReader(io.StringIO(_bytes(path).decode("utf-8-sig"), newline="")))
    except (UnicodeDecodeError, csv.Error):
        raise UsageError(f"{path} is not a CSV file in UTF-8.") from None
    if not lines or not {"student", "userId"} <= set(lines[0]):
        raise UsageError(f"{path} needs the columns student and userId.")
    return {one["student"].strip(): one["userId"].strip() for one in lines if one["userId"]}


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"Cannot read {path}: {error.strerror}.") from None


#: format -> (what it is called in OUT/exports, how it is made)
_WAYS: dict[str, tuple[str, Callable[[Job], list[str]]]] = {
    "csv": ("grades.csv", _csv),
    "gradescope": ("gradescope", _gradescope),
    "canvas": ("canvas.csv", _gradebook),
    "moodle": ("moodle.csv", _gradebook),
    "lti": ("scores.jsonl", _lti),
    "feedback": ("feedback", _feedback),
    "dashboard": ("dashboard.html", _dashboard),
    "items": ("items.html", _items),
    "groups": ("groups.html", _groups),
    "similar": ("similar.html", _similar),
}
