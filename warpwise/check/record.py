"""Record: the outcome of one check, as data and as something to read.

status  todo (nothing written yet), pass, fail, error (a fault of ours, never the learner's)
"""

from __future__ import annotations

import sys
import textwrap
from dataclasses import dataclass, field
from typing import Any, Literal

from . import html
from .report import WIDTH, Report, text

MIME = "application/vnd.warpwise.record+json"
Status = Literal["todo", "pass", "fail", "error"]


@dataclass(frozen=True)
class Record:
    """What `check` returns and a grader reads.

    points of max_points; diagnosis: a slug such as "out_of_bounds", None unless failed;
    message: the plain text of what is displayed; findings: further remarks, one sentence each;
    label: where the facts come from, e.g. "counted, simulator"; seed: of the inputs drawn.
    """

    exercise: str
    unit: str
    status: Status
    points: float
    max_points: float
    diagnosis: str | None = None
    message: str = ""
    findings: tuple[str, ...] = ()
    label: str = ""
    seed: int = 0
    report: Report | None = field(default=None, repr=False, compare=False)
    _shown_in: int | None = field(default=None, init=False, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON; the layout of the display is not part of it."""
        return {
            "exercise": self.exercise,
            "unit": self.unit,
            "status": self.status,
            "points": self.points,
            "max_points": self.max_points,
            "diagnosis": self.diagnosis,
            "message": self.message,
            "findings": list(self.findings),
            "label": self.label,
            "seed": self.seed,
        }

    def __str__(self) -> str:
        return self.message

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {
            "text/plain": self.message,
            "text/html": html.card(self.status, self.headline, self.report, self.footnotes),
            MIME: self.to_dict(),
        }

    def _ipython_display_(self) -> None:
        """Show the record once per cell: `check` shows it and returns it as the cell's value."""
        from IPython import get_ipython
        from IPython.display import display

        shell = get_ipython()  # type: ignore[no-untyped-call]
        cell = getattr(shell, "execution_count", None)
        if cell is not None and cell == self._shown_in:
            return
        object.__setattr__(self, "_shown_in", cell)
        display(self._repr_mimebundle_(), raw=True)  # type: ignore[no-untyped-call]

    @property
    def headline(self) -> str:
        """E.g. "guarded_add: fail, 0 of 2 points"."""
        return headline(self.exercise, self.status, self.points, self.max_points)

    @property
    def footnotes(self) -> tuple[str, ...]:
        """The findings, then where the facts come from."""
        return (*self.findings, *((f"({self.label})",) if self.label else ()))


def make(
    exercise: str,
    unit: str,
    status: Status,
    max_points: float,
    report: Report,
    *,
    diagnosis: str | None = None,
    findings: tuple[str, ...] = (),
    label: str = "",
    seed: int = 0,
) -> Record:
    """A record with its message laid out; a pass earns all points, anything else none."""
    points = max_points if status == "pass" else 0
    lines = [text(headline(exercise, status, points, max_points), report)]
    for finding in findings:
        sentence, *code = finding.splitlines()
        first, *rest = textwrap.wrap(sentence, WIDTH) or [""]
        lines += [f"  note   {first}", *(f"         {line}" for line in (*rest, *code))]
    lines += [f"  ({label})"] if label else []
    return Record(
        exercise,
        unit,
        status,
        points,
        max_points,
        diagnosis,
        "\n".join(lines),
        findings,
        label,
        seed,
        report,
    )


def headline(exercise: str, status: str, points: float, max_points: float) -> str:
    """One line that stands alone."""
    if status == "todo":
        return f"{exercise}: to do, worth {max_points:g} {_points(max_points)}"
    if status == "error":
        return f"{exercise}: not checked"
    return f"{exercise}: {status}, {points:g} of {max_points:g} {_points(max_points)}"


def in_notebook() -> bool:
    """Is this an IPython session?  Asks without importing IPython."""
    module = sys.modules.get("IPython")
    return module is not None and module.get_ipython() is not None


def _points(count: float) -> str:
    return "point" if count == 1 else "points"
