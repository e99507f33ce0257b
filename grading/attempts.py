"""Who handed in what, and when: entries of a folder lined up with the roster, one row a student.

reading   what a file's name may mean: a student, and the time or number of an attempt
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from pathlib import Path

from grading.intake import Intake, Submission, identity, merged
from grading.layouts import Owner
from grading.policy import Late
from grading.reasons import NEEDS_HUMAN, NOT_SUBMITTED, SubmissionError, note, refusal
from grading.roster import Person, Roster

_STAMP = re.compile(
    r"(?<!\d)(20\d\d-\d\d-\d\d[T_ .-]\d\d[-:.h]?\d\d(?:[-:.]?\d\d)?|20\d{6}T\d{4}(?:\d\d)?)(?!\d)"
    r"(?:\.\d+)?(Z|[ _]?UTC|[+-]\d\d:?\d\d)?"
)
_AROUND = " _-@.,()[]"
# What platforms and people add to a name: attempt_2026-…, attempt2, (2), -2, _v2, LATE, copy.
_ADDED = re.compile(
    r"[\s_@-]*(?:[\s_-]attempt[\s_-]*\d{0,3}|\(\d{1,3}\)|[_-]v?\d{1,2}|[_-]late|[\s_-]copy)$",
    re.IGNORECASE,
)
_NBGRADER = "timestamp.txt"  # beside the notebook, such as "2026-03-01 10:22:13 UTC"


@dataclass(frozen=True)
class Line:
    """One row to be: what to grade, whose it is, and when it was handed in."""

    submission: Submission
    person: Person | None = None
    submitted: datetime | None = None


def line_up(found: Intake, roster: Roster | None, late: Late | None) -> list[Line]:
    """One line for each student of the roster in its order, then the entries that fit none.

    Without a roster: one line for each name.  Of several attempts the last before the deadline
    is taken; if all are later, the last.  Where their times are not known, a person has to choose.
    """
    lines = [_line(one, roster, late) for one in found.entries]
    if roster is None:
        groups: dict[str, list[Line]] = {}
        for one in lines:
            groups.setdefault(one.submission.student, []).append(one)
        return [_chosen(several, late) for several in groups.values()]
    mine: dict[str, list[Line]] = {}
    strangers = []
    for one in lines:
        if one.person is None:
            strangers.append(one)
        else:
            mine.setdefault(one.person.student, []).append(one)
    known = [
        _chosen(mine[person.student], late) if person.student in mine else _nothing(person)
        for person in roster.people
    ]
    return known + _apart([_stranger(one) for one in strangers], known)


def _line(one: Submission, roster: Roster | None, late: Late | None) -> Line:
    """An entry with its student and its time."""
    person = None
    if roster is not None:
        try:
            person = _person(one, roster)
        except SubmissionError as error:
            one = replace(one, path=None, refusal=error)
    if person is None:
        return Line(one, None, _time(one, None, late))
    one = replace(one, student=person.student, identity=identity(person.student))
    return Line(one, person, _time(one, person, late))


def _person(one: Submission, roster: Roster) -> Person | None:
    """The student an entry belongs to.  Raises SubmissionError where it fits two."""
    owner = one.owner or Owner("", (), tuple(_names_of(one)))
    # Where an end of a name may be a login, it may also have "(2)" behind it.
    ids = [readings(one) if owner.time is None else [one] for one in owner.ids]
    names = [way for name in owner.names for way in readings(name)]
    found = [next(filter(None, map(roster.find, ways)), None) for ways in ids]
    named = next(filter(None, map(roster.find, names)), None)
    named = named or (roster.find_squeezed(owner.squeezed) if owner.squeezed else None)
    fits = list(dict.fromkeys(filter(None, (*found, named))))
    if len(fits) > 1:
        shown = ", ".join(person.student for person in fits)
        raise refusal("two-students", status=NEEDS_HUMAN, name=one.entry, names=shown)
    return fits[0] if fits else None


def _names_of(one: Submission) -> Iterator[str]:
    """What an entry is called; what is no notebook may also be named by its student."""
    yield one.student
    if one.refusal is not None and one.refusal.reason == "not-a-notebook-file":
        yield Path(one.student).stem


def readings(name: str) -> Iterator[str]:
    """Names that an entry's name may stand for, the whole first, then without what was added."""
    yield name
    stamp = _STAMP.search(name)
    is_attempt = stamp is not None
    if stamp:
        name = name[: stamp.start()].rstrip(_AROUND)
        yield name
    for _ in range(3):
        shorter = _ADDED.sub("", name).rstrip(_AROUND)
        if shorter == name or not shorter:
            break
        is_attempt |= "attempt" in name[len(shorter) :].lower()
        name = shorter
        yield name
    before, _, last = name.rpartition("_")
    # An assignment may stand first, as in "Lab 1_ada"; king_bob, without a number, is whole.
    if before and (is_attempt or any(c.isdigit() for c in before)):
        yield last


def _time(one: Submission, person: Person | None, late: Late | None) -> datetime | None:
    """When an entry was handed in, by the source that the policy names."""
    zone = late.deadline.tzinfo if late else None
    source = late.times if late else "names"
    if source == "roster":
        return time_of(person.submitted, zone) if person else None
    if one.path is None:
        return None
    if source == "files":
        return datetime.fromtimestamp(
            os.stat(one.path, follow_symlinks=False).st_mtime, zone
        ).astimezone()
    if one.owner is not None and one.owner.time is not None:
        return time_of(one.owner.time, zone)
    # A file's own name inside of a student's folder is the student's, and may say anything.
    folder, _, file = one.entry.rpartition("/")
    return time_of(folder or file, zone) or _stamped(one.path, zone)


def _stamped(path: Path, zone: tzinfo | None) -> datetime | None:
    """The time in nbgrader's file beside a notebook."""
    try:
        text = (path.parent / _NBGRADER).read_text(encoding="utf-8")[:100]
    except (OSError, ValueError):
        return None
    return time_of(text, zone)


def time_of(text: str, zone: tzinfo | None) -> datetime | None:
    """The time in a text such as 2026-03-01 10:22:13 or 2026-03-01T10:22Z; None without one.

    zone: for a time that names none; the machine's own if that is None.
    """
    found = _STAMP.search(text)
    if not found:
        return None
    digits = re.sub(r"\D", "", found[1]).ljust(14, "0")
    own = (found[2] or "").strip(" _").replace("UTC", "+00:00").replace("Z", "+00:00")
    try:
        time = datetime.strptime(digits, "%Y%m%d%H%M%S")
        if own:
            return datetime.fromisoformat(f"{time.isoformat()}{own}")
        return time.replace(tzinfo=zone) if zone else time.astimezone()
    except ValueError:
        return None


def _chosen(several: Sequence[Line], late: Late | None) -> Line:
    """The attempt that counts."""
    if len(several) == 1:
        return several[0]
    files = [one for one in several if one.submission.path is not None]
    times = [one.submitted for one in files]
    if not files or None in times or len(set(times)) < len(times):
        return replace(several[0], submission=merged([one.submission for one in several]))
    ordered = sorted(files, key=lambda one: one.submitted or datetime.min)
    in_time = ordered
    if late is not None:
        person = ordered[0].person
        student = person.student if person else ordered[0].submission.student
        end = late.deadline_of(student) + late.grace
        in_time = [one for one in ordered if one.submitted is not None and one.submitted <= end]
    best = (in_time or ordered)[-1]
    others = [one.submission.entry for one in ordered if one is not best]
    said = note(
        "several-attempts",
        count=len(ordered),
        chosen=best.submission.entry,
        time=f"{best.submitted:%Y-%m-%d %H:%M}",
        others=", ".join(others[:5]) + (", ..." if len(others) > 5 else ""),
    )
    return replace(best, submission=replace(best.submission, notes=(said,)))


def _nothing(person: Person) -> Line:
    error = refusal("no-submission", status=NOT_SUBMITTED)
    one = Submission(person.student, identity(person.student), None, error)
    return Line(one, person)


def _stranger(line: Line) -> Line:
    """An entry of nobody on the roster: a row that says so, and is not graded."""
    one = line.submission
    if one.refusal is not None and one.refusal.reason == "two-students":
        return line
    error = refusal("not-on-roster", status=NEEDS_HUMAN, name=one.entry)
    return replace(line, submission=replace(one, path=None, refusal=error))


def _apart(strangers: Iterable[Line], known: Iterable[Line]) -> list[Line]:
    """Strangers with names and identities of their own."""
    taken = {one.submission.identity.casefold() for one in known}
    out = []
    for line in strangers:
        one = line.submission
        own, count = one.identity, 1
        while own.casefold() in taken:
            count += 1
            own = identity(f"{one.entry} {count}")
        taken.add(own.casefold())
        out.append(replace(line, submission=replace(one, identity=own)))
    return out
