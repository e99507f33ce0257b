"""A trace: what ran when, on which lane.

Glossary
    lane    a row of the picture: a stream of a GPU, or a thread of the host
    rank    the process that a lane belongs to
    step    an interval of the lane "steps", which a program marks by itself
    self    of an event on a lane of the host: its time without that of the calls inside it
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

STEPS = "steps"
#: Two events with no more between them follow each other: tools round to a nanosecond or so.
RESOLUTION_US = 0.01

#: A plain event: name, rank, lane, start and duration in us, arguments.
Row = tuple[str, int, str, float, float, dict[str, Any]]


class TraceError(ValueError):
    """A file that is no trace, or a lane that a trace does not have."""


@dataclass(frozen=True)
class Event:
    """One bar: from `start_us`, for `us`.  args: what the tool wrote beside it."""

    name: str
    rank: int
    lane: str
    start_us: float
    us: float
    args: Mapping[str, Any] = field(default_factory=dict)

    @property
    def end_us(self) -> float:
        return self.start_us + self.us

    @property
    def row(self) -> Row:
        """The event as plain data."""
        return (self.name, self.rank, self.lane, self.start_us, self.us, dict(self.args))


@dataclass(frozen=True)
class Total:
    """All events of one name on a lane."""

    name: str
    count: int
    us: float
    self_us: float

    @property
    def mean_us(self) -> float:
        return self.us / self.count


@dataclass(frozen=True)
class Trace:
    """Events in the order of their start.  `made` says where they come from."""

    events: tuple[Event, ...]
    made: str = ""

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[Any]], made: str = "") -> Trace:
        """A trace of plain events: (name, rank, lane, start_us, us, args)."""
        events = [Event(*row) for row in rows]
        return cls(tuple(sorted(events, key=lambda event: (event.start_us, -event.us))), made)

    @property
    def rows(self) -> tuple[Row, ...]:
        """The events as plain data."""
        return tuple(event.row for event in self.events)

    @property
    def start_us(self) -> float:
        return min((event.start_us for event in self.events), default=0.0)

    @property
    def end_us(self) -> float:
        return max((event.end_us for event in self.events), default=0.0)

    @property
    def ranks(self) -> tuple[int, ...]:
        return tuple(sorted({event.rank for event in self.events}))

    @property
    def lanes(self) -> tuple[str, ...]:
        """Without the lane of the steps, the host's first."""
        found = sorted({event.lane for event in self.events if event.lane != STEPS})
        return tuple(sorted(found, key=lambda lane: (lane.startswith("stream"), lane)))

    def on(self, lane: str, rank: int | None = None) -> tuple[Event, ...]:
        """The events of a lane, of all ranks or of one; TraceError for a lane that is not there."""
        if lane not in (STEPS, *self.lanes):
            raise TraceError(f"there is no lane {lane!r}; there are {', '.join(self.lanes)}.")
        rank = self.ranks[0] if rank is None else rank
        return tuple(one for one in self._by_lane.get((rank, lane), ()))

    @cached_property
    def _by_lane(self) -> dict[tuple[int, str], list[Event]]:
        found: dict[tuple[int, str], list[Event]] = {}
        for event in self.events:
            found.setdefault((event.rank, event.lane), []).append(event)
        return found

    @property
    def steps(self) -> tuple[tuple[float, float], ...]:
        """From and to of each step of the first rank, in us; or all of it without marks."""
        marks = self._by_lane.get((self.ranks[0], STEPS), []) if self.events else []
        return tuple((one.start_us, one.end_us) for one in marks) or ((self.start_us, self.end_us),)

    def within(self, start_us: float, end_us: float) -> Trace:
        """The events that begin in an interval."""
        chosen = tuple(one for one in self.events if start_us <= one.start_us < end_us)
        return Trace(chosen, self.made)

    def busy_us(self, lane: str, rank: int | None = None) -> float:
        """Time in which something is on a lane; calls inside calls count once."""
        return sum(end - start for start, end in _covered(self.on(lane, rank)))

    def gaps(self, lane: str, rank: int | None = None) -> tuple[tuple[float, float], ...]:
        """(start, length) of each time in us in which a lane has nothing, between two events."""
        parts = _covered(self.on(lane, rank))
        return tuple(
            (parts[k][1], parts[k + 1][0] - parts[k][1]) for k in range(len(parts) - 1)
        )  # fmt: skip

    def totals(self, lane: str, rank: int | None = None) -> tuple[Total, ...]:
        """Count and time by name, the largest time without inner calls first."""
        count: dict[str, int] = {}
        whole: dict[str, float] = {}
        own: dict[str, float] = {}
        for event, self_us in _self_times(self.on(lane, rank)):
            count[event.name] = count.get(event.name, 0) + 1
            whole[event.name] = whole.get(event.name, 0.0) + event.us
            own[event.name] = own.get(event.name, 0.0) + self_us
        found = [Total(name, count[name], whole[name], own[name]) for name in count]
        return tuple(sorted(found, key=lambda total: (-total.self_us, total.name)))


def _covered(events: Sequence[Event]) -> list[tuple[float, float]]:
    """The intervals in which something runs, in order; events come in the order of their start."""
    parts: list[tuple[float, float]] = []
    for event in events:
        if parts and event.start_us <= parts[-1][1] + RESOLUTION_US:
            parts[-1] = (parts[-1][0], max(parts[-1][1], event.end_us))
        else:
            parts.append((event.start_us, event.end_us))
    return parts


def _self_times(events: Sequence[Event]) -> Iterable[tuple[Event, float]]:
    """Each event with its time less that of the events directly inside it."""
    own = [event.us for event in events]
    open_: list[int] = []
    for k, event in enumerate(events):
        while open_ and events[open_[-1]].end_us <= event.start_us:
            open_.pop()
        if open_ and event.end_us <= events[open_[-1]].end_us:
            own[open_[-1]] -= event.us
        open_.append(k)
    return zip(events, own, strict=True)
