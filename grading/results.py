"""Results: one JSON file a student, one CSV, a short table for the terminal."""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from grading.reasons import GRADER_ERROR, STATUSES, WITHOUT_POINTS, Note, note

# A spreadsheet takes a cell that starts so for a formula.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
_FIRST = (
    "student", "name", "email", "section", "status", "reason", "points", "max_points",
    "final_points", "final_max", "grade",
)  # fmt: skip
_LAST = ("submitted", "late_days", "adjustments", "sandbox", "note")
_MOST_ROWS = 60  # in the terminal; the CSV has them all


@dataclass(frozen=True)
class ExerciseResult:
    """The evidence for one exercise.

    status: "pass", "fail", "error", "todo" from the judge; "missing" when there is no answer in
    the notebook; "no-answer" when there is one that could not be tried.
    label: where the verdict comes from.  cell: the student's code cell.  source: what was judged.
    spec: digest of what judged it.
    """

    exercise: str
    status: str
    points: float
    max_points: float
    diagnosis: str | None = None
    message: str = ""
    label: str = ""
    cell: int | None = None
    source: str = ""
    reason: str = ""
    spec: str = ""


@dataclass(frozen=True)
class Final:
    """What counts after the policy; see `grading.points`.

    points: None where nobody knows them yet.  exercises: name -> points, without those that were
    taken out of the maximum.  adjustments: what was changed and why.
    """

    points: float | None
    max_points: float
    exercises: dict[str, float | None] = field(default_factory=dict)
    late_days: int = 0
    grade: str = ""
    adjustments: tuple[str, ...] = ()


@dataclass(frozen=True)
class Result:
    """One row.  points is None where nobody knows them yet, and never a guess.

    sha256: of the file.  answers: name of the stored answers.  work: name of this row's content.
    name, email, section: from the roster.  submitted: ISO 8601, "" when not known.
    entry: what the file is called in the folder of submissions.
    final: what counts by the policy; the points beside it stay as they were judged.
    """

    student: str
    identity: str
    lab: str
    status: str
    reason: str
    points: float | None
    max_points: float
    exercises: tuple[ExerciseResult, ...] = ()
    notes: tuple[Note, ...] = ()
    seed: int | None = None
    sha256: str = ""
    sandbox: str = ""
    run_seconds: float | None = None
    fault: str = ""
    answers: str = ""
    work: str = ""
    name: str = ""
    email: str = ""
    section: str = ""
    submitted: str = ""
    entry: str = ""
    final: Final | None = None

    @property
    def sentence(self) -> str:
        """Everything there is to say to the student about the file and its run."""
        return " ".join(dict.fromkeys(one.sentence for one in self.notes))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as in the JSON file."""
        return asdict(self) | {"sentence": self.sentence}


def from_dict(data: dict[str, Any]) -> Result:
    """The result that `to_dict` wrote."""
    fields = {key: value for key, value in data.items() if key != "sentence"}
    fields["exercises"] = tuple(ExerciseResult(**one) for one in data["exercises"])
    fields["notes"] = tuple(Note(**one) for one in data["notes"])
    if fields.get("final") is not None:
        adjustments = tuple(data["final"]["adjustments"])
        fields["final"] = Final(**data["final"] | {"adjustments": adjustments})
    return Result(**fields)


def grader_error(student: str, identity: str, lab: str, max_points: float, fault: str) -> Result:
    """The row of a submission on which the grader itself failed: no points, and not zero."""
    return Result(
        student,
        identity,
        lab,
        GRADER_ERROR,
        "grader-error",
        None,
        max_points,
        notes=(note("grader-error"),),
        fault=fault[-4000:],
    )


def write_student(result: Result, folder: Path) -> Path:
    """Write one student's JSON; a reader sees the old file or the new one, never half of one."""
    path = folder / f"{result.identity}.json"
    text = json.dumps(result.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)
    write_atomic(path, text + "\n")
    return path


def write_atomic(path: Path, text: str) -> None:
    """Write UTF-8 text beside `path` and rename it into place."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".writing-")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def csv_text(results: Iterable[Result], exercises: Sequence[str]) -> str:
    """RFC 4180: a header, one row a student in the given order, CRLF line ends.

    Columns of exercises and `points` are as judged; what counts is `final_points`.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow([*_FIRST, *exercises, *_LAST])
    for result in results:
        blank = result.status in WITHOUT_POINTS
        points = {} if blank else {one.exercise: one.points for one in result.exercises}
        final = result.final or Final(None if blank else result.points, result.max_points)
        writer.writerow(
            [
                *map(safe, (result.student, result.name, result.email, result.section)),
                result.status,
                result.reason,
                number(None if blank else result.points),
                number(result.max_points),
                number(final.points),
                number(final.max_points),
                safe(final.grade),
                *(number(points.get(name)) for name in exercises),
                result.submitted,
                final.late_days,
                safe("; ".join(final.adjustments)),
                result.sandbox,
                safe(result.sentence),
            ]
        )
    return out.getvalue()


def safe(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    return "'" + text if text.lstrip(" ").startswith(_FORMULA_STARTS) else text


def number(value: float | None) -> str:
    """Points without a useless fraction: 2, 1.5; "" where there are none."""
    if value is None:
        return ""
    return f"{value:.4f}".rstrip("0").rstrip(".")


def table(results: Sequence[Result]) -> str:
    """A short table, then how many rows have each status."""
    shown = results
    if len(results) > _MOST_ROWS:
        shown = [one for one in results if one.status != "graded"][:_MOST_ROWS]
    width = max([7, *(len(one.student) for one in shown)])
    width = min(width, 32)
    lines = [f"{'student':{width}}  {'points':>9}  {'status':15}  reason"]
    for one in shown:
        known = one.status not in WITHOUT_POINTS and one.points is not None
        points = number(one.points) if known and one.points is not None else "-"
        name = one.student if len(one.student) <= width else one.student[: width - 3] + "..."
        lines.append(
            f"{name:{width}}  {points + ' / ' + number(one.max_points):>9}  "
            f"{one.status:15}  {one.reason}".rstrip()
        )
    if len(shown) < len(results):
        lines.append(f"... {len(results) - len(shown)} more rows are in the CSV.")
    counts = Counter(one.status for one in results)
    said = ", ".join(f"{counts[status]} {status}" for status in STATUSES if counts[status])
    return "\n".join([*lines, "", f"{len(results)} submissions: {said}."])
