"""The policy of a class as data: `policy.toml`.

    [late]
    deadline = 2026-03-01T23:59:00+01:00
    grace_minutes = 10          # who is later than this is late, from the deadline on
    percent_per_day = 10        # of the points reached, for each day begun
    cap_percent = 50            # never more than this
    times = "roster"            # where times are from: roster, names, files
    column = "submitted"        # of the roster

    [[late.extension]]
    student = "ada"
    deadline = 2026-03-08T23:59:00+01:00
    reason = "ill"

    [[override]]
    student = "ada"
    exercise = "saxpy"          # without it: the points of the whole lab, final
    points = 2
    reason = "the text of the task was ambiguous"

    [[withdraw]]
    exercise = "fill"
    give = "full"               # full marks for all who handed in, or "nothing": out of the maximum
    reason = "the check was wrong"

    [grade_lines]               # in percent of the maximum
    A = 90
    B = 75

Everything may be left out.
"""

from __future__ import annotations

import difflib
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from grading.roster import plain

TIMES = ("roster", "names", "files")
FULL, NOTHING = "full", "nothing"


class PolicyError(Exception):
    """A policy that cannot be used; the text is the sentence to print."""


@dataclass(frozen=True)
class Late:
    """What lateness costs.  extensions: student (as `plain`) -> their own deadline.

    times: where the times of submission are from; column: of the roster, for "roster".
    """

    deadline: datetime
    grace: timedelta = timedelta(0)
    percent_per_day: float = 0.0
    cap_percent: float = 100.0
    times: str = "names"
    column: str = ""
    extensions: Mapping[str, datetime] = field(default_factory=dict)

    def deadline_of(self, student: str) -> datetime:
        """The deadline of one student."""
        return self.extensions.get(plain(student), self.deadline)


@dataclass(frozen=True)
class Override:
    """Points that a person decided on.  exercise "": of the whole lab."""

    student: str
    exercise: str
    points: float
    reason: str


@dataclass(frozen=True)
class Withdrawn:
    """An exercise that no longer counts as it was graded.  give: FULL or NOTHING."""

    exercise: str
    give: str
    reason: str


@dataclass(frozen=True)
class Policy:
    """All of it.  grade_lines: (grade, least percent), highest first.  text: as it was read."""

    late: Late | None = None
    overrides: tuple[Override, ...] = ()
    withdrawn: tuple[Withdrawn, ...] = ()
    grade_lines: tuple[tuple[str, float], ...] = ()
    text: str = ""


def read_policy(path: Path, exercises: Mapping[str, float]) -> Policy:
    """The policy in a file.  exercises: name -> most points.  Raises PolicyError with the line."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise PolicyError(f"Cannot read {path}: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise PolicyError(f"{path} is not UTF-8 text.") from None
    return parse_policy(text, exercises, str(path))


def parse_policy(text: str, exercises: Mapping[str, float], name: str = "policy.toml") -> Policy:
    """The policy in a text; `name` stands in messages."""
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PolicyError(f"{name}: {error}.") from None
    return _Reader(text, name, exercises).policy(data)


class _Reader:
    """Reads tables strictly: a wrong key or value is an error with its line."""

    def __init__(self, text: str, name: str, exercises: Mapping[str, float]) -> None:
        self._lines = text.split("\n")
        self._name = name
        self._exercises = exercises

    def policy(self, data: dict[str, Any]) -> Policy:
        self._only(data, "", ("late", "override", "withdraw", "grade_lines"))
        late = self._late(self._table(data, "late")) if "late" in data else None
        overrides = [self._override(one, k) for k, one in enumerate(self._tables(data, "override"))]
        withdrawn = [
            self._withdrawn(one, k) for k, one in enumerate(self._tables(data, "withdraw"))
        ]
        self._no_doubles("override", [(plain(one.student), one.exercise) for one in overrides])
        self._no_doubles("withdraw", [one.exercise for one in withdrawn])
        lines = self._grade_lines(self._table(data, "grade_lines"))
        text = "\n".join(self._lines)
        return Policy(late, tuple(overrides), tuple(withdrawn), lines, text)

    def _late(self, data: dict[str, Any]) -> Late:
        keys = ("deadline", "grace_minutes", "percent_per_day", "cap_percent", "times", "column")
        self._only(data, "late", (*keys, "extension"))
        times = self._word(data, "late", "times", TIMES, "names")
        if ("column" in data) != (times == "roster"):
            fact = "needs" if times == "roster" else 'is only for times = "roster", not with'
            column = 'column = "..." of the roster' if times == "roster" else f'"{times}"'
            self._fail("late", 0, "times" if "times" in data else "column", f"{fact} {column}")
        extensions = {}
        for k, one in enumerate(self._tables(data, "extension", "late.extension")):
            self._only(one, "late.extension", ("student", "deadline", "reason"), k)
            student = self._text(one, "late.extension", "student", k)
            extensions[plain(student)] = self._time(one, "late.extension", "deadline", k)
        return Late(
            self._time(data, "late", "deadline"),
            timedelta(minutes=self._number(data, "late", "grace_minutes", 10**6, default=0.0)),
            self._number(data, "late", "percent_per_day", 100, default=0.0),
            self._number(data, "late", "cap_percent", 100, default=100.0),
            times,
            self._text(data, "late", "column") if times == "roster" else "",
            extensions,
        )

    def _override(self, data: dict[str, Any], place: int) -> Override:
        self._only(data, "override", ("student", "exercise", "points", "reason"), place)
        exercise = self._exercise(data, "override", place) if "exercise" in data else ""
        most = self._exercises[exercise] if exercise else sum(self._exercises.values())
        return Override(
            self._text(data, "override", "student", place),
            exercise,
            self._number(data, "override", "points", most, place),
            self._text(data, "override", "reason", place),
        )

    def _withdrawn(self, data: dict[str, Any], place: int) -> Withdrawn:
        self._only(data, "withdraw", ("exercise", "give", "reason"), place)
        return Withdrawn(
            self._exercise(data, "withdraw", place),
            self._word(data, "withdraw", "give", (FULL, NOTHING), None, place),
            self._text(data, "withdraw", "reason", place),
        )

    def _grade_lines(self, data: dict[str, Any]) -> tuple[tuple[str, float], ...]:
        lines = [(name, self._number(data, "grade_lines", name, 100)) for name in data]
        if len({percent for _, percent in lines}) < len(lines):
            self._fail("grade_lines", 0, "", "has two grades with one percentage")
        return tuple(sorted(lines, key=lambda line: -line[1]))

    # values --------------------------------------------------------------------------------

    def _table(self, data: dict[str, Any], key: str) -> dict[str, Any]:
        value = data.get(key, {})
        if not isinstance(value, dict):
            self._fail("", 0, key, f"is a table, written [{key}]")
        return value

    def _tables(self, data: dict[str, Any], key: str, full: str = "") -> list[dict[str, Any]]:
        value = data.get(key, [])
        if not isinstance(value, list) or not all(isinstance(one, dict) for one in value):
            self._fail(full or key, 0, "", f"is a list of tables, each written [[{full or key}]]")
        return value

    def _only(
        self, data: dict[str, Any], table: str, known: tuple[str, ...], place: int = 0
    ) -> None:
        for key in data:
            if key not in known:
                near = difflib.get_close_matches(key, known, n=1)
                guess = f"did you mean {near[0]}" if near else f"known are {', '.join(known)}"
                self._fail(table, place, key, f"is not a key of the policy; {guess}")

    def _need(self, data: dict[str, Any], table: str, key: str, place: int) -> Any:
        if key not in data:
            self._fail(table, place, "", f"needs {key}")
        return data[key]

    def _text(self, data: dict[str, Any], table: str, key: str, place: int = 0) -> str:
        value = self._need(data, table, key, place)
        if not isinstance(value, str) or not value.strip():
            self._fail(table, place, key, "must be a text in quotes, and not empty")
        return value

    def _word(
        self,
        data: dict[str, Any],
        table: str,
        key: str,
        known: tuple[str, ...],
        default: str | None,
        place: int = 0,
    ) -> str:
        if default is not None and key not in data:
            return default
        value = self._need(data, table, key, place)
        if value not in known:
            choice = ", ".join(f'"{one}"' for one in known)
            self._fail(table, place, key, f"must be one of {choice}, not {value!r}")
        return value

    def _number(
        self,
        data: dict[str, Any],
        table: str,
        key: str,
        most: float,
        place: int = 0,
        default: float | None = None,
    ) -> float:
        if default is not None and key not in data:
            return default
        value = self._need(data, table, key, place)
        if type(value) not in (int, float) or not math.isfinite(value) or not 0 <= value <= most:
            self._fail(table, place, key, f"must be a number from 0 to {most:g}, not {value!r}")
        return float(value)

    def _time(self, data: dict[str, Any], table: str, key: str, place: int = 0) -> datetime:
        value = self._need(data, table, key, place)
        if not isinstance(value, datetime) or value.tzinfo is None:
            example = "2026-03-01T23:59:00+01:00"
            self._fail(
                table, place, key, f"must be a time with its zone and no quotes, such as {example}"
            )
        return value

    def _exercise(self, data: dict[str, Any], table: str, place: int) -> str:
        value = self._text(data, table, "exercise", place)
        if value not in self._exercises:
            names = ", ".join(self._exercises)
            self._fail(table, place, "exercise", f"names no exercise of the lab: {names}")
        return value

    def _no_doubles(self, table: str, keys: list[Any]) -> None:
        for place, key in enumerate(keys):
            if key in keys[:place]:
                self._fail(table, place, "", "says the same thing a second time")

    def _fail(self, table: str, place: int, key: str, fact: str) -> None:
        """Raise with the line of a key in the table, or of the table itself."""
        line = _line_of(self._lines, table, place, key)
        what = f"{table}.{key}" if table and key else key or f"[{table}]"
        raise PolicyError(f"{self._name}, line {line}: {what} {fact}.")


def _line_of(lines: list[str], table: str, place: int, key: str) -> int:
    """The line, from 1, of `key` in the `place`-th table of this name; best effort."""
    inside, seen, start = not table, -1, 1
    for number, line in enumerate(lines, start=1):
        head = re.match(r"\s*\[{1,2}\s*([\w.\s\"'-]+?)\s*\]{1,2}", line)
        if head:
            name = re.sub(r"[\s\"']", "", head[1])
            seen += name == table
            inside = name == table and seen == place
            if inside or (not table and name == key):
                start = number
            if not table and name == key:
                return number
        elif inside and key and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]", line):
            return number
    return start
