"""Fill one column of a gradebook that a learning platform exported, and say what did not fit.

Students are found by id or e-mail, then by the part of it before the @, then by full name; always
one row of the gradebook for one of ours, or none.  Whoever has no row of ours keeps every cell.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from grading.exports.lossless import Line, Sheet
from grading.exports.rows import listed, maximum, points, scaled
from grading.results import Result, number, safe
from grading.roster import plain


class GradebookError(Exception):
    """A gradebook that cannot be filled as asked; the text is the sentence to print."""


@dataclass(frozen=True)
class Layout:
    """Where things stand in a platform's file.  All are numbers of columns.

    ids: columns with ids and e-mails.  weak: ids that mean little outside the platform.
    names: columns that make up the full name.  column: the one to fill.
    """

    column: int
    ids: Sequence[int]
    weak: Sequence[int]
    names: Sequence[int]
    is_student: Callable[[Line], bool]
    is_locked: Callable[[Line], bool] = lambda line: False


@dataclass(frozen=True)
class Filled:
    """The file to import, and what to know before.

    column: the header of the filled column.  filled: how many cells have points.
    blank: students whose points nobody knows.  emptied: those of them who had points there.
    changed: cells that had other points before.
    unmatched: our students who are not in the gradebook, or fit several rows of it.
    by_name: students who were found by their full name alone.
    kept: rows of the gradebook without a row of ours.  locked: rows that the platform locked.
    formulas: cells of the platform's own that a spreadsheet would run.
    """

    data: bytes
    column: str
    filled: int
    blank: tuple[str, ...]
    emptied: tuple[str, ...]
    changed: int
    unmatched: tuple[str, ...]
    by_name: tuple[str, ...]
    kept: tuple[str, ...]
    locked: tuple[str, ...]
    formulas: int

    @property
    def sentences(self) -> list[str]:
        """One sentence for each thing to know."""
        said = [f"Filled {self.filled} cells of {self.column!r}, {self.changed} had other points."]
        for what, names in (
            ("Left blank, for nobody knows the points yet", self.blank),
            ("Of these, cells that held points before", self.emptied),
            ("Not in the gradebook, or in it twice", self.unmatched),
            ("Found by the full name alone; look whether it is they", self.by_name),
            ("In the gradebook, but not graded here; kept as they are", self.kept),
            ("Locked by the platform; kept as they are", self.locked),
        ):
            if names:
                said.append(f"{what}: {len(names)} ({listed(names)}).")
        if self.formulas:
            said.append(
                f"{self.formulas} cells that the platform wrote would run as formulas in a "
                "spreadsheet. Import the file without opening it in one."
            )
        return said


def heads(sheet: Sheet) -> list[str]:
    """The headers, to compare by."""
    return [plain(one.replace("_", " ").replace("-", " ")) for one in sheet.header.cells]


def places(sheet: Sheet, names: Iterable[str]) -> list[int]:
    """The columns with these headers that exist, in the order of `names`."""
    found = heads(sheet)
    return [found.index(name) for name in names if name in found]


def id_places(sheet: Sheet, match: str, known: Iterable[str]) -> list[int]:
    """The columns with ids: the one called `match`, or else those of `known` names."""
    if not match:
        return places(sheet, known)
    if match not in sheet.header.cells:
        raise GradebookError(f"The gradebook has no column {match!r}.")
    return [sheet.header.cells.index(match)]


def fill(sheet: Sheet, layout: Layout, rows: Sequence[Result], most: float | None = None) -> Filled:
    """Write the points of `rows` into the sheet's column.  most: the platform's maximum."""
    students = [line for line in sheet.lines if any(line.cells) and layout.is_student(line)]
    formulas = sum(cell != safe(cell) and not _is_number(cell) for line in sheet.lines
                   for cell in line.cells)  # fmt: skip
    comma = _has_decimal_comma(line.cell(layout.column) for line in students)
    pairs, by_name = matched(students, layout, rows)
    blank, emptied, locked, filled, changed = [], [], [], 0, 0
    for place, row in enumerate(rows):
        line = pairs.get(place)
        if line is None:
            continue
        if layout.is_locked(line):
            locked.append(row.student)
            continue
        text, old = number(scaled(row, most)), line.cell(layout.column)
        if points(row) is None:
            blank.append(row.student)
            emptied += [row.student] * (old.strip() not in ("", "-"))
        filled += bool(text)
        changed += bool(text) and old.strip() not in ("", "-") and _float(old) != _float(text)
        # What is the same number stays as the platform wrote it.
        if not text or _float(old) != _float(text):
            sheet.set(line, layout.column, text.replace(".", ",") if comma else text)
    ours = {id(line) for line in pairs.values()}
    return Filled(
        sheet.data(),
        sheet.header.cell(layout.column),
        filled,
        tuple(blank),
        tuple(emptied),
        changed,
        tuple(row.student for place, row in enumerate(rows) if place not in pairs),
        tuple(rows[place].student for place in by_name),
        tuple(_called(line, layout) for line in students if id(line) not in ours),
        tuple(locked),
        formulas,
    )


def matched(
    students: Sequence[Line], layout: Layout, rows: Sequence[Result]
) -> tuple[dict[int, Line], list[int]]:
    """Place in `rows` -> line of the gradebook, each line at most once; places found by name.

    What fits two lines, or a line that two students fit, is not matched.
    """
    ways: list[tuple[Callable[[Line], list[str]], Callable[[Result], list[str]]]] = [
        (lambda line: _cells(line, layout.ids), lambda row: [row.student, row.email]),
        (lambda line: _cells(line, layout.weak), lambda row: [row.student]),
        (
            lambda line: [one.partition("@")[0] for one in _cells(line, layout.ids)],
            lambda row: [one.partition("@")[0] for one in (row.student, row.email)],
        ),
        (lambda line: _names(line, layout), lambda row: [row.name, *_turned(row.name)]),
        (lambda line: _names(line, layout), lambda row: [row.student, *_turned(row.student)]),
    ]
    found: dict[int, Line] = {}
    taken: set[int] = set()  # also by two at once, which leaves it to neither
    by_id = 0
    for turn, (called, names) in enumerate(ways):
        index: dict[str, dict[int, Line]] = {}
        for line in students:
            for name in filter(None, map(plain, called(line))):
                index.setdefault(name, {})[id(line)] = line
        hits: dict[int, Line] = {}
        for place, row in enumerate(rows):
            if place not in found:
                lines: dict[int, Line] = {}
                for name in map(plain, names(row)):
                    lines |= index.get(name, {})
                if len(lines) == 1:
                    hits[place] = next(iter(lines.values()))
        counts = Counter(id(line) for line in hits.values())
        for place, line in hits.items():
            if counts[id(line)] == 1 and id(line) not in taken:
                found[place] = line
        taken |= counts.keys()
        by_id = len(found) if turn < 3 else by_id
    return found, list(found)[by_id:]


def _cells(line: Line, places: Sequence[int]) -> list[str]:
    return [line.cell(place) for place in places]


def _names(line: Line, layout: Layout) -> list[str]:
    name = " ".join(filter(None, (line.cell(place).strip() for place in layout.names)))
    return [name, *_turned(name)]


def _turned(name: str) -> list[str]:
    last, comma, first = name.partition(",")
    return [f"{first.strip()} {last.strip()}"] if comma else []


def _called(line: Line, layout: Layout) -> str:
    """A row of the gradebook, for people."""
    name = _names(line, layout)[0]
    return name or next(filter(None, (line.cell(one) for one in layout.ids)), f"line {line.number}")


def check_maximum(rows: Sequence[Result], most: float | None, theirs: float | None) -> float | None:
    """The maximum to scale to, None for our own.  Raises GradebookError when it is not clear."""
    ours = max((maximum(row) for row in rows), default=0.0)
    if theirs is None or theirs in (most, ours if most is None else None):
        return most
    if most is not None:
        raise GradebookError(
            f"The gradebook counts {number(theirs)} points, and --maximum says {number(most)}."
        )
    raise GradebookError(
        f"The gradebook counts {number(theirs)} points, and the lab {number(ours)}. "
        f"Add --maximum {number(theirs)} to scale."
    )


def choose(headers: Sequence[str], candidates: Sequence[int], asked: str, hits: list[int]) -> int:
    """The column to fill: the one that was asked for, or the only one.  Raises GradebookError."""
    names = ", ".join(repr(headers[place]) for place in candidates) or "none"
    if asked:
        if len(hits) == 1:
            return hits[0]
        what = "no column" if not hits else f"{len(hits)} columns"
        raise GradebookError(f"The gradebook has {what} {asked!r}. Columns to fill: {names}.")
    if len(candidates) == 1:
        return candidates[0]
    raise GradebookError(f"Say which column is to be filled: --column. There are: {names}.")


def _float(text: str) -> float | None:
    try:
        return float(text.strip().replace(",", "."))
    except ValueError:
        return None


def _is_number(text: str) -> bool:
    return text.strip() == "-" or _float(text) is not None


def _has_decimal_comma(cells: Iterable[str]) -> bool:
    return any(re.fullmatch(r"\s*\d+,\d+\s*", one) for one in cells)
