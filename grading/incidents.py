"""What went wrong in a run, in sentences: which cell, what it did, and whom it stopped."""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from grading.reasons import Note, note
from grading.rebuild import FreshCell
from grading.run import Event, Limits, Run

_MEMORY_ERRORS = ("MemoryError", "_ArrayMemoryError")


@dataclass(frozen=True)
class Incident:
    """A note, the cell it is about, and whether the run could not go on after it."""

    note: Note
    cell: FreshCell | None
    is_end: bool = False

    @property
    def exercise(self) -> str:
        """The exercise whose own code it was, or ""."""
        return self.cell.exercise if self.cell else ""


def incidents(run: Run, cells: Sequence[FreshCell], limits: Limits) -> list[Incident]:
    """The incidents of a run in order, one for each kind and cell.

    The events come from the student's side and may be forged; they decide sentences, never points.
    """
    by_id = {cell.id: cell for cell in cells}
    found: dict[tuple[str, str], Incident] = {}
    last = ""
    for event in run.events:
        if event.kind == "start":
            last = event.cell
        one = _of_event(event, by_id, limits)
        if one is not None and (one.is_end or (one.note.reason, event.cell) not in found):
            found[(one.note.reason, event.cell)] = one
    if run.end != "done" and not any(one.is_end for one in found.values()):
        cell = by_id.get(last)
        ended = _of_end(run, cell, limits)
        # The same cell may have been interrupted before, in vain.
        found[(ended.note.reason, last)] = ended
    return list(found.values())


def _of_event(event: Event, by_id: Mapping[str, FreshCell], limits: Limits) -> Incident | None:
    cell = by_id.get(event.cell)
    place = _place(cell)
    if event.kind in ("timeout", "deaf"):
        said = note("timeout", place=place, seconds=limits.cell_seconds)
        return Incident(said, cell, is_end=event.kind == "deaf")
    if event.kind == "died":
        code = event.fact if isinstance(event.fact, int) else 0
        if code < 0:
            said = note("kernel-killed", place=place, fact=_signal_name(-code))
        else:
            said = note("kernel-exited", place=place, fact=code)
        return Incident(said, cell, is_end=True)
    if event.kind == "flood":
        return Incident(note("too-much-output", place=place, limit=limits.output_mb), cell)
    if event.kind == "full":
        return Incident(note("too-much-disk", place=place, limit=limits.disk_mb), cell)
    if event.kind == "error":
        if event.fact == "SystemExit":
            return Incident(note("exit-called", place=place), cell)
        if event.fact in _MEMORY_ERRORS:
            return Incident(note("out-of-memory", place=place, limit=limits.memory_mb), cell)
        if event.fact == "StdinNotImplementedError":
            return Incident(note("asks-for-input", place=place), cell)
    return None


def _of_end(run: Run, cell: FreshCell | None, limits: Limits) -> Incident:
    """The incident that cut a run short when no event explains it."""
    place = _place(cell)
    if run.end == "time":
        said = note("timeout", place=place, seconds=f"{run.seconds:.0f}")
    elif run.end == "disk":
        said = note("too-much-disk", place=place, limit=limits.disk_mb)
    elif run.end == "memory":
        said = note("out-of-memory", place=place, limit=limits.memory_mb)
    elif run.end == "processes":
        said = note("too-many-processes", place=place, limit=limits.processes)
    elif run.end == "killed":
        said = note("runner-killed", place=place)
    else:
        facts = [str(event.fact) for event in run.events if event.kind == "stopped"]
        fact = "".join(c if c.isprintable() else " " for c in (facts or [""])[-1])[:120]
        said = note("run-stopped", place=place, fact=fact or "no reason given")
    return Incident(said, cell, is_end=True)


def _place(cell: FreshCell | None) -> str:
    """A cell as the student knows it."""
    if cell is None:
        return "The notebook"
    if cell.probe:
        return f"{cell.exercise}, called on the grader's inputs,"
    if cell.number:
        return f"Code cell {cell.number}"
    return "A cell of the lab itself"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
