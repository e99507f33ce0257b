"""Canvas: its own gradebook CSV with one assignment filled.

Export it under Grades, Export; import the result under Import.  Canvas knows a student by its
columns ID and SIS Login ID, and an assignment by the number behind its name; both are kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from grading.exports import gradebook
from grading.exports.gradebook import Filled, GradebookError, Layout
from grading.exports.lossless import Line, Sheet, read
from grading.results import Result
from grading.roster import plain

_IDS = ("sis login id", "sis user id", "integration id", "email")
_FIXED = ("student", "id", *_IDS, "root account", "section", "notes")


def filled(
    data: bytes,
    name: str,
    rows: Sequence[Result],
    column: str = "",
    most: float | None = None,
    match: str = "",
) -> Filled:
    """The gradebook `data` with the points of `rows`.  Raises CsvError, GradebookError.

    column: the assignment's name, with or without its number, or the number; may be left out
    where there is only one.  most: its points in Canvas, where they differ from the lab's.
    match: the column that holds our students' ids, if it is none of Canvas's own.
    """
    sheet = read(data, name)
    headers = sheet.header.cells
    if "student" not in gradebook.heads(sheet):
        raise GradebookError(f"{name} is not Canvas's gradebook: it has no column 'Student'.")
    can = [place for place, head in enumerate(headers) if _can_be_filled(head)]
    hits = [place for place in can if _is_called(headers[place], column)]
    place = gradebook.choose(headers, can, column, hits)
    most = gradebook.check_maximum(rows, most, _points_possible(sheet, place))
    student = gradebook.places(sheet, ["student"])
    ids = gradebook.id_places(sheet, match, _IDS)
    layout = Layout(
        place,
        ids,
        gradebook.places(sheet, ["id"]),
        student,
        lambda line: not _is_about_columns(line, student[0]),
    )
    return gradebook.fill(sheet, layout, rows, most)


def _can_be_filled(header: str) -> bool:
    head = plain(header)
    return bool(head) and head not in _FIXED and "(read only)" not in head


def _is_called(header: str, asked: str) -> bool:
    named = re.fullmatch(r"(.*?)\s*\((\d+)\)\s*", header, re.DOTALL)
    names = [header, *(named.groups() if named else ())]
    return plain(asked) in map(plain, names)


def _is_about_columns(line: Line, student: int) -> bool:
    """Canvas keeps rows below the header for maxima and how grades are posted."""
    name = plain(line.cell(student))
    return not name or name == "points possible"


def _points_possible(sheet: Sheet, place: int) -> float | None:
    for line in sheet.lines:
        if any(plain(cell) == "points possible" for cell in line.cells):
            try:
                return float(line.cell(place).replace(",", "."))
            except ValueError:
                return None
    return None
