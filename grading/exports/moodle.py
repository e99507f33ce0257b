"""Moodle: its own CSV with one grade column filled.

Two files are known: the gradebook (Grades, Export, plain text, real grades), and the grading
worksheet of one assignment.  Moodle takes back only columns that it exported; all are kept.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from grading.exports import gradebook
from grading.exports.gradebook import Filled, GradebookError, Layout
from grading.exports.lossless import Line, Sheet, read
from grading.results import Result
from grading.roster import plain

_IDS = ("email address", "id number", "username", "email", "idnumber")
_NAMES = (("first name", "last name"), ("first name", "surname"), ("full name",), ("name",))
# A real grade's column ends so; a worksheet calls it plainly.
_REAL = re.compile(r"\((real|rzeczywista)\)\s*\Z", re.IGNORECASE)
_WORKSHEET = "grade"
_MAXIMUM, _CHANGEABLE = "maximum grade", "grade can be changed"


def filled(
    data: bytes,
    name: str,
    rows: Sequence[Result],
    column: str = "",
    most: float | None = None,
    match: str = "",
) -> Filled:
    """The file `data` with the points of `rows`.  Raises CsvError, GradebookError.

    column: header of the grade column, or the activity's name in it; may be left out where there
    is only one.  most: the activity's maximum in Moodle, where it differs from the lab's.
    match: the column that holds our students' ids, if it is none of Moodle's own.
    """
    sheet = read(data, name)
    headers, heads = sheet.header.cells, gradebook.heads(sheet)
    if _WORKSHEET in heads:
        can = [heads.index(_WORKSHEET)]
    else:
        can = [place for place, head in enumerate(headers) if _REAL.search(head)]
    # Who names a column in full has it, also in a language that is not known here.
    exact = [place for place, head in enumerate(headers) if column and head == column]
    hits = exact or [place for place in can if _is_called(headers[place], column)]
    place = gradebook.choose(headers, can, column, hits)
    if re.search(r"\((percentage|letter)\)", headers[place], re.IGNORECASE):
        raise GradebookError(f"{headers[place]!r} holds no real grades. Export those.")
    most = gradebook.check_maximum(rows, most, _worksheet_maximum(sheet))
    ids = gradebook.id_places(sheet, match, _IDS)
    called = (gradebook.places(sheet, names) for names in _NAMES if set(names) <= set(heads))
    changeable = gradebook.places(sheet, [_CHANGEABLE])
    layout = Layout(
        place,
        ids,
        (),
        next(called, []),
        lambda line: True,
        lambda line: any(plain(line.cell(one)) == "no" for one in changeable),
    )
    return gradebook.fill(sheet, layout, rows, most)


def _is_called(header: str, asked: str) -> bool:
    """ "Assignment: Lab 1 (Real)" goes by itself, and by "Lab 1"."""
    bare = _REAL.sub("", header)
    names = (header, bare, bare.partition(":")[2])
    return plain(asked) in map(plain, names)


def _worksheet_maximum(sheet: Sheet) -> float | None:
    """The maximum that a worksheet states in every line."""
    places = gradebook.places(sheet, [_MAXIMUM])
    stated = {_number(line, one) for line in sheet.lines for one in places} - {None}
    return stated.pop() if len(stated) == 1 else None


def _number(line: Line, place: int) -> float | None:
    try:
        return float(line.cell(place).replace(",", "."))
    except ValueError:
        return None
