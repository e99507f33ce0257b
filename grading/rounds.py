"""Get the answers that need a run: the whole notebook first, then what it did not let through.

One cell of a student's must not cost the points of the others.  When the whole notebook is cut
short, the exercises still without an answer are run again, each with only the code it uses, and
without those that stopped a run themselves.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from grading import wire
from grading.answers import Answers
from grading.incidents import Incident, incidents
from grading.lab import Lab
from grading.parse import deeper_than
from grading.reasons import Note
from grading.rebuild import FreshCell, slices, whole
from grading.run import Limits, Run, run

# Brackets in what the probe writes; a value nests up to wire.MAX_DEPTH deep.
_MOST_BRACKETS = 3 * wire.MAX_DEPTH + 6
_ORDINARY = ("imported", "start", "end", "done")
_MOST_EVENTS = 100  # kept of a round
# All rounds together get this many times the limit of one.
_ROUNDS_TIME = 3


@dataclass
class Gathered:
    """payloads: exercise -> what its probe wrote, checked for form only.

    malformed: exercises for which something else came back.  blamed: exercise -> the note of the
    incident that its own code caused.  notes: all incidents.
    rounds: of each run its end, its seconds, and what went wrong in its cells.
    """

    payloads: dict[str, dict[str, Any]] = field(default_factory=dict)
    malformed: set[str] = field(default_factory=set)
    blamed: dict[str, Note] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    rounds: list[dict[str, Any]] = field(default_factory=list)

    @property
    def seconds(self) -> float:
        """Wall clock of all runs."""
        return sum(one["seconds"] for one in self.rounds)

    @property
    def runs(self) -> int:
        """How many runs it took."""
        return len(self.rounds)


def gather(lab: Lab, answers: Answers, requests: Mapping[str, Any], limits: Limits) -> Gathered:
    """Run the student's notebook and collect the answers to `requests` (by exercise)."""
    out = Gathered()
    deadline = time.monotonic() + _ROUNDS_TIME * limits.seconds
    order = [exercise.name for exercise in lab.exercises if exercise.name in requests]
    _round(whole(lab, answers, order), order, requests, limits, limits.seconds, out)
    left = _left(order, out)
    while left and (rest := deadline - time.monotonic()) > 1:
        before = (len(out.payloads), len(out.blamed))
        cells = slices(lab, answers, left)
        ended = _round(cells, left, requests, limits, min(rest, limits.seconds), out)
        left = _left(order, out)
        if not ended or (len(out.payloads), len(out.blamed)) == before:
            break
    return out


def _left(order: Sequence[str], out: Gathered) -> list[str]:
    return [
        name
        for name in order
        if name not in out.payloads and name not in out.blamed and name not in out.malformed
    ]


def _round(
    cells: Sequence[FreshCell],
    asked: Sequence[str],
    requests: Mapping[str, Any],
    limits: Limits,
    seconds: float,
    out: Gathered,
) -> bool:
    """One run; its answers and incidents go into `out`.  True when it was cut short."""
    done = run(cells, {name: requests[name] for name in asked}, limits, seconds)
    out.rounds.append(_told(done))
    _collect(done, asked, out)
    found = incidents(done, cells, limits)
    for one in found:
        if one.note not in out.notes:
            out.notes.append(one.note)
        _blame(one, out)
    return any(one.is_end for one in found)


def _told(done: Run) -> dict[str, Any]:
    """A run as plain data."""
    events = [
        [one.kind, one.cell, one.fact if isinstance(one.fact, int) else str(one.fact)[:300]]
        for one in done.events
        if one.kind not in _ORDINARY
    ]
    return {"end": done.end, "seconds": round(done.seconds, 2), "events": events[:_MOST_EVENTS]}


def _blame(one: Incident, out: Gathered) -> None:
    """An exercise that stopped a run with its own code is not tried again."""
    if one.exercise and (one.is_end or (one.cell is not None and one.cell.probe)):
        out.blamed.setdefault(one.exercise, one.note)


def _collect(done: Run, asked: Sequence[str], out: Gathered) -> None:
    """Sort the answer lines by exercise; two lines for one exercise are one too many."""
    seen: set[str] = set()
    for line in done.lines:
        if not line.strip():
            continue
        try:
            entry = wire.loads(line)
        except wire.WireError:
            continue
        name = entry.get("exercise") if isinstance(entry, dict) else None
        if not isinstance(name, str) or name not in asked:
            continue
        if name in seen or not _is_payload(entry) or deeper_than(entry, _MOST_BRACKETS):
            out.malformed.add(name)
        seen.add(name)
        if name not in out.malformed and not _is_empty(entry):
            out.payloads[name] = entry
    for name in out.malformed:
        out.payloads.pop(name, None)


def _is_payload(entry: dict[str, Any]) -> bool:
    """Whether `entry` has the outer form that the probe writes."""
    if set(entry) == {"exercise", "values"}:
        return isinstance(entry["values"], list)
    return set(entry) == {"exercise", "names"} and isinstance(entry["names"], dict)


def _is_empty(entry: dict[str, Any]) -> bool:
    """A probe that found no such name: another round may do better."""
    return entry.get("values") == [{"undefined": 1}] or entry.get("names") == {}
