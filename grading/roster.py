"""The roster: who is in the class, as a CSV that any learning platform exports.

One column is needed: the student's id.  Name, e-mail, section and the time of submission are used
where there are columns for them.  Columns go by their header, in any order; others are ignored.
"""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

#: What a column may be called, best first; upper case, underscores and hyphens do not count.
ID_HEADERS = (
    "student id", "sis login id", "login id", "login", "username", "user name", "netid",
    "sis user id", "sid", "orgdefinedid", "student number", "matriculation number", "id number",
    "id", "student", "email address", "email", "e mail",
)  # fmt: skip
_NAMES = ("name", "full name", "student name", "student")
_PARTS = (("first name", "given name"), ("last name", "surname", "family name"))
_EMAILS = ("email", "e mail", "email address", "mail")
# What a platform calls a student in the names of files.
_NUMBERS = ("id", "identifier")
_SECTIONS = ("section", "group", "class", "sections", "groups")
# Canvas writes the maximum of each column into a row of its own.
_NOT_A_STUDENT = "points possible"
_MAX_BYTES = 50_000_000
_LEAST_SQUEEZED = 5  # shorter ones may be anybody's login


class RosterError(Exception):
    """A roster that cannot be used; the text is the sentence to print."""


@dataclass(frozen=True)
class Person:
    """One student.

    number: a platform's own id of the student, such as Canvas's ID or Moodle's Participant 123.
    submitted: the text of the column of times, "" without one.
    """

    student: str
    name: str = ""
    email: str = ""
    section: str = ""
    submitted: str = ""
    number: str = ""


@dataclass(frozen=True)
class Roster:
    """All students in the order of the file."""

    people: tuple[Person, ...]

    def find(self, name: str) -> Person | None:
        """The student who goes by this id, e-mail, part of it before the @, or full name."""
        return self._known.get(plain(name))

    def find_squeezed(self, name: str) -> Person | None:
        """The student whose name is this one without blanks, the last name first."""
        return self._squeezed.get(name.casefold())

    @cached_property
    def _known(self) -> Mapping[str, Person]:
        """Every way to call a student that fits no other one; an id goes before all others."""
        found = _only((plain(way), one) for one in self.people for way in _ways(one))
        return found | {plain(one.student): one for one in self.people}

    @cached_property
    def _squeezed(self) -> Mapping[str, Person]:
        return _only((way, one) for one in self.people for way in _squeezed(one.name))


def plain(name: str) -> str:
    """A name to compare by: upper case, blanks and the way accents are coded do not count."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def _only(ways: Iterable[tuple[str, Person]]) -> dict[str, Person]:
    """The ways to call somebody that fit nobody else."""
    every = set(ways)
    counts = Counter(way for way, _ in every)
    return {way: one for way, one in every if way and counts[way] == 1}


def _squeezed(name: str) -> Iterator[str]:
    """lovelaceada for Ada Lovelace.  Without a comma the last name may be of several words.

    Canvas drops what is no letter of English; with and without accents, we take all of it.
    """
    last, comma, first = name.casefold().partition(",")
    words = f"{last} {first}".split()
    plain_letters = (
        unicodedata.normalize("NFKD", " ".join(words)).encode("ascii", "ignore").decode()
    )
    for spelt in (words, plain_letters.split(), [_english(word) for word in words]):
        for start in [0] if comma or len(spelt) < 2 else range(1, len(spelt)):
            squeezed = re.sub(r"[^\w-]", "", "".join(spelt[start:] + spelt[:start]))
            if len(squeezed) >= _LEAST_SQUEEZED:
                yield squeezed


def _english(word: str) -> str:
    return word.encode("ascii", "ignore").decode()


def _ways(one: Person) -> Iterator[str]:
    yield one.number
    yield one.email
    yield one.email.partition("@")[0]
    yield one.name
    last, comma, first = one.name.partition(",")
    if comma:
        yield f"{first} {last}"


def read_roster(path: Path, time_column: str = "") -> Roster:
    """The roster in a CSV file, with commas, semicolons or tabs.

    time_column: the header of the column with the time of submission, if there is one.
    Raises RosterError with file and line.
    """
    lines = _rows(path)
    if not lines:
        raise RosterError(f"The roster {path} is empty.")
    (_, header), *rest = lines
    columns = _columns(header, path)
    if time_column and plain(time_column) not in map(plain, header):
        raise RosterError(f"The roster {path} has no column {time_column!r}.")
    times = [plain(one) for one in header].index(plain(time_column)) if time_column else None
    people: dict[str, tuple[int, Person]] = {}
    for line, row in rest:
        one = _person(row, columns, times)
        if not one.student:
            if any(_NOT_A_STUDENT in plain(cell) for cell in row):
                continue
            raise RosterError(f"The roster {path}, line {line}: there is no student id.")
        if plain(one.student) in people:
            first, _ = people[plain(one.student)]
            raise RosterError(
                f"The roster {path}, line {line}: {one.student} is already in line {first}."
            )
        people[plain(one.student)] = (line, one)
    if not people:
        raise RosterError(f"The roster {path} has a header, but no students.")
    return Roster(tuple(one for _, one in people.values()))


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """(line, cells) of each row that is not blank."""
    try:
        with open(path, "rb") as file:
            data = file.read(_MAX_BYTES + 1)
        text = data.decode("utf-8-sig")
    except OSError as error:
        raise RosterError(f"Cannot read the roster {path}: {error.strerror}.") from None
    except UnicodeDecodeError as error:
        raise RosterError(
            f"The roster {path} is not UTF-8 text (first bad byte: {error.start}). "
            "Save it as CSV UTF-8."
        ) from None
    if len(data) > _MAX_BYTES or "\0" in text:
        raise RosterError(f"The roster {path} is not a CSV file.")
    first = text.lstrip().split("\n", 1)[0]
    delimiter = max(",;\t", key=first.count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        return [(reader.line_num, row) for row in reader if any(cell.strip() for cell in row)]
    except csv.Error as error:
        raise RosterError(f"The roster {path}, line {reader.line_num}: {error}.") from None


def _columns(header: Sequence[str], path: Path) -> dict[str, list[int]]:
    """kind -> columns; a name may have two."""
    heads = [plain(one.replace("_", " ").replace("-", " ")) for one in header]

    def first(names: Sequence[str], left_out: Sequence[int] = ()) -> list[int]:
        found = [heads.index(name) for name in names if name in heads]
        return [place for place in found if place not in left_out][:1]

    student = first(ID_HEADERS)
    if not student:
        raise RosterError(
            f"The roster {path} has no column for the student's id. Call one of them "
            f"student id, login or email; it has: {', '.join(header)}."
        )
    name = first(_NAMES, student)
    if not name:
        name = [place for names in _PARTS for place in first(names, student)]
    return {
        "student": student,
        "name": name,
        "email": first(_EMAILS),
        "section": first(_SECTIONS),
        "number": first(_NUMBERS, student),
    }


def _person(row: Sequence[str], columns: Mapping[str, list[int]], times: int | None) -> Person:
    def cell(place: int) -> str:
        return row[place].strip() if place < len(row) else ""

    found = {kind: " ".join(filter(None, map(cell, places))) for kind, places in columns.items()}
    return Person(**found, submitted=cell(times) if times is not None else "")
