"""Task graphs: what runs where, in which order, and when.

A task takes time on one resource.  A resource runs its tasks one at a time, in the order given: it
never picks another one because that one is ready.  A task also waits for the tasks named in
`after`, and for the way from them to it (`Wait.lag`), which occupies nobody.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import cached_property

from ..inputs import real

Name = Hashable


class ScheduleError(ValueError):
    """Tasks or passes that make no schedule."""


@dataclass(frozen=True)
class Stand:
    """One step of a deadlock: `task`, next on its resource, cannot start before `cause` is done."""

    task: Name
    resource: Name
    cause: Name
    queued: bool  # the cause stands before it on the same resource; else it waits for its result


class Deadlock(ScheduleError):
    """Tasks that wait for each other in a circle: `.cycle`, each one waiting for the next."""

    def __init__(self, cycle: Iterable[Stand]) -> None:
        self.cycle = tuple(cycle)
        lines = [
            f"  {stand.task} {'stands behind' if stand.queued else 'waits for'} {stand.cause}"
            for stand in self.cycle
        ]
        super().__init__("These tasks wait for each other for ever:\n" + "\n".join(lines))


@dataclass(frozen=True)
class Wait:
    """Start no earlier than `lag` after the end of task `name`."""

    name: Name
    lag: float = 0.0


@dataclass(frozen=True)
class Task:
    """`duration` on `resource`, after the tasks in `after` (names, or Wait with a lag)."""

    name: Name
    resource: Name
    duration: float
    after: tuple[Name | Wait, ...] = ()


@dataclass(frozen=True)
class Span:
    """A task and when it ran."""

    task: Task
    start: float
    end: float


@dataclass(frozen=True)
class Run:
    """All spans, in order of their start, in the unit of the durations.  Label: modelled."""

    spans: tuple[Span, ...]
    label: str = field(default="modelled")

    @property
    def makespan(self) -> float:
        """The end of the last task; the first starts at 0."""
        return max((span.end for span in self.spans), default=0.0)

    @cached_property
    def _by_resource(self) -> dict[Name, list[Span]]:
        sorted_out: dict[Name, list[Span]] = {}
        for span in self.spans:
            sorted_out.setdefault(span.task.resource, []).append(span)
        return sorted_out

    @property
    def resources(self) -> tuple[Name, ...]:
        """In order of first use."""
        return tuple(self._by_resource)

    def on(self, resource: Name) -> tuple[Span, ...]:
        """What one resource ran, in order."""
        return tuple(self._by_resource.get(resource, ()))

    def busy(self, resource: Name) -> float:
        """Time in which a resource works."""
        return sum(span.task.duration for span in self.on(resource))


def run(tasks: Iterable[Task]) -> Run:
    """Start every task as early as its resource's order and its waits allow.

    The order of a resource is the order of its tasks in `tasks`.  Raises Deadlock with the cycle
    when some can never start, and ScheduleError for names used twice, unknown or negative times.
    """
    tasks = list(tasks)
    known = {task.name: task for task in tasks}
    if len(known) < len(tasks):
        seen: set[Name] = set()
        twice = next(t.name for t in tasks if t.name in seen or seen.add(t.name))  # type: ignore[func-returns-value]
        raise ScheduleError(f"two tasks are called {twice!r}.")
    before: dict[Name, Name] = {}  # the task in front of it on the same resource
    last: dict[Name, Name] = {}
    waits: dict[Name, tuple[Wait, ...]] = {}
    for task in tasks:
        real(ScheduleError, **{f"the duration of {task.name!r}": task.duration})
        if isinstance(task.after, str):
            raise ScheduleError(f"{task.name!r}: after is a tuple of names, not {task.after!r}.")
        waits[task.name] = tuple(w if isinstance(w, Wait) else Wait(w) for w in task.after)
        for wait in waits[task.name]:
            real(ScheduleError, **{f"the lag of {task.name!r}": wait.lag})
            if wait.name not in known:
                raise ScheduleError(f"{task.name!r} waits for {wait.name!r}, which is no task.")
        if task.resource in last:
            before[task.name] = last[task.resource]
        last[task.resource] = task.name
    spans = _start_all(tasks, before, waits)
    if len(spans) < len(tasks):
        raise Deadlock(_cycle(known, before, waits, spans))
    return Run(tuple(sorted(spans.values(), key=lambda span: (span.start, span.end))))


def _start_all(
    tasks: list[Task], before: dict[Name, Name], waits: dict[Name, tuple[Wait, ...]]
) -> dict[Name, Span]:
    """Topological order over both kinds of edges; what stands in a cycle stays out."""
    behind: dict[Name, list[Task]] = {}
    open_: dict[Name, int] = {}
    for task in tasks:
        causes = [wait.name for wait in waits[task.name]]
        if task.name in before:
            causes.append(before[task.name])
        open_[task.name] = len(causes)
        for cause in causes:
            behind.setdefault(cause, []).append(task)
    ready = [task for task in tasks if not open_[task.name]]
    spans: dict[Name, Span] = {}
    while ready:
        task = ready.pop()
        start = spans[before[task.name]].end if task.name in before else 0.0
        for wait in waits[task.name]:
            start = max(start, spans[wait.name].end + wait.lag)
        spans[task.name] = Span(task, start, start + task.duration)
        for follower in behind.get(task.name, ()):
            open_[follower.name] -= 1
            if not open_[follower.name]:
                ready.append(follower)
    return spans


def _cycle(
    known: dict[Name, Task],
    before: dict[Name, Name],
    waits: dict[Name, tuple[Wait, ...]],
    done: dict[Name, Span],
) -> list[Stand]:
    """Follow one unmet cause after the other until a task comes up again."""
    path: dict[Name, Stand] = {}
    name = next(name for name in known if name not in done)
    while name not in path:
        # A result that will never come explains more than a place in the queue.
        missing = [wait.name for wait in waits[name] if wait.name not in done]
        queued = not missing
        cause = before[name] if queued else missing[0]
        path[name] = Stand(name, known[name].resource, cause, queued)
        name = cause
    names = list(path)
    return [path[n] for n in names[names.index(name) :]]
