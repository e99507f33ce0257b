"""Progress: which exercises of the working copy are solved, kept beside it and shown on its page.

    mine/.progress.json    exercise -> {"points": the best, "of": all, "status": the last}

Only checks in a notebook under mine/ are noted.  Nothing leaves the machine, and there is no
account; deleting the file begins anew.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from .curriculum import Unit
from .workspace import STATE_NAME, write_file

NAME = ".progress.json"
PAGE = "START.md"
BEGIN, END = "<!-- progress -->", "<!-- end of progress -->"

Progress = Mapping[str, Mapping[str, Any]]


def working_copy(start: Path) -> Path | None:
    """The folder mine/ that `start` lies in; None outside of one."""
    for folder in (start, *start.parents):
        if (folder / STATE_NAME).is_file():
            return folder
    return None


def read(mine: Path) -> dict[str, dict[str, Any]]:
    """What was noted so far; a file that cannot be read counts as empty."""
    try:
        found = json.loads((mine / NAME).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    if not isinstance(found, dict):
        return {}
    return {name: dict(entry) for name, entry in found.items() if isinstance(entry, dict)}


def note(exercise: str, status: str, points: float, of: float, start: Path | None = None) -> None:
    """Note one check, if it was made in a working copy.  Never raises: a full disk costs no points.

    The best result counts: a pass stays a pass when the learner plays on.
    """
    mine = working_copy(start or Path.cwd())
    if mine is None or status == "error":
        return
    noted = read(mine)
    best = max(points, float(noted.get(exercise, {}).get("points", 0) or 0))
    entry = {"points": best, "of": of, "status": status}
    if noted.get(exercise) == entry:
        return
    noted[exercise] = entry
    try:
        write_file(mine / NAME, (json.dumps(noted, indent=1, sort_keys=True) + "\n").encode())
        _renew_page(mine / PAGE, noted)
    except OSError:
        return


def lines(units: list[Unit], noted: Progress) -> Iterator[str]:
    """The table of the start page: points by unit, and what is still open."""
    yield BEGIN
    total = sum(unit.points for unit in units)
    earned = sum(_earned(unit, noted) for unit in units)
    yield f"You have **{earned:g} of {total:g} points**."
    yield ""
    yield "| unit | points | solved | open |"
    yield "|---|---|---|---|"
    for unit in units:
        names = [exercise.name for exercise in unit.exercises]
        solved = [name for name in names if noted.get(name, {}).get("points")]
        still = [name for name in names if name not in solved]
        yield (
            f"| {unit.title} | {_earned(unit, noted):g} of {unit.points:g} | "
            f"{', '.join(solved) or '-'} | {', '.join(still) or 'nothing'} |"
        )
    yield END


def _earned(unit: Unit, noted: Progress) -> float:
    found = (noted.get(exercise.name, {}).get("points", 0) for exercise in unit.exercises)
    return sum(float(points or 0) for points in found)


def _renew_page(page: Path, noted: Progress) -> None:
    """Put the new table where the old one stands; a page without one is left alone."""
    from . import curriculum

    if not page.is_file():
        return
    text = page.read_text(encoding="utf-8")
    if BEGIN not in text or END not in text:
        return
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    table = "\n".join(lines(list(curriculum.load().written), noted))
    write_file(page, f"{before}{table}{after}".encode())
