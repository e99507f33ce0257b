"""When each pass of a schedule runs: makespan, bubble and what is held at the peak."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from ..inputs import real
from .passes import Pair, Pass, Step, parts
from .schedule import Schedule, faults
from .tasks import Run, ScheduleError, Task, Wait, run

PerStage = float | Sequence[float]


@dataclass(frozen=True)
class Times:
    """What a pass costs on a rank, all its chunks together; a chunk takes its share (1/v).

    forward, input, weight   F, I and W.  B is I + W.  A number, or one for each rank
    pair    a forward and a backward run as one step, as a share of the two one after the other
    send    from the end of a pass to the start of its neighbour's elsewhere; nobody is occupied
    """

    forward: PerStage = 1.0
    input: PerStage = 1.0
    weight: PerStage = 1.0
    pair: float = 1.0
    send: float = 0.0

    def of(self, kind: str, rank: int) -> float:
        """The time of a pass of one kind on one rank, in one chunk."""
        if kind == "B":
            return self.of("I", rank) + self.of("W", rank)
        value: Any = {"F": self.forward, "I": self.input, "W": self.weight}[kind]
        return float(value if isinstance(value, Real) else value[rank])

    def check(self, ranks: int) -> None:
        """Raise ScheduleError for times that are none, or are not there for each rank."""
        for name in ("forward", "input", "weight"):
            value = getattr(self, name)
            if isinstance(value, Real | str | None):
                value = [value]
            elif len(value) != ranks:
                raise ScheduleError(f"{name} has {len(value)} times for {ranks} ranks.")
            for one in value:
                real(ScheduleError, **{name: one})
        real(ScheduleError, pair=self.pair, send=self.send)


@dataclass(frozen=True)
class Pipelined:
    """A schedule with its times.  Times are in the unit of `Times`.  Label: modelled."""

    schedule: Schedule
    run: Run
    peaks: tuple[float, ...]
    label: str = field(default="modelled")

    @property
    def makespan(self) -> float:
        """From the first pass of any rank to the end of the last one."""
        return self.run.makespan

    def busy(self, rank: int) -> float:
        """Time in which a rank works."""
        return self.run.busy(rank)

    @property
    def ideal(self) -> float:
        """The work of the busiest rank: no schedule is shorter."""
        return max(self.busy(rank) for rank in range(self.schedule.ranks))

    @property
    def bubble(self) -> float:
        """makespan - ideal."""
        return self.makespan - self.ideal

    @property
    def bubble_over_ideal(self) -> float:
        """Convention of GPipe's and Megatron's papers: (p - 1) / m for 1F1B."""
        return self.bubble / self.ideal if self.ideal else 0.0

    @property
    def bubble_over_total(self) -> float:
        """Share of the whole time: (p - 1) / (m + p - 1) for 1F1B."""
        return self.bubble / self.makespan if self.makespan else 0.0

    @property
    def bubble_of_ranks(self) -> float:
        """Convention of the zero-bubble paper (arXiv 2401.10241): share of the longest time from a
        rank's own first pass to its last.  Less than `bubble_over_total` where the ranks end one
        after the other, as in ZB2P: the next step begins in the same order.
        """
        spans = [self.idle(rank) + self.busy(rank) for rank in range(self.schedule.ranks)]
        return 1 - self.ideal / max(spans) if max(spans) else 0.0

    def idle(self, rank: int) -> float:
        """Time a rank idles between its own first and last pass."""
        spans = self.run.on(rank)
        return spans[-1].end - spans[0].start - self.busy(rank)

    @property
    def peak(self) -> float:
        """Most activations held on any rank, in those of one microbatch through one rank."""
        return max(self.peaks)

    def __str__(self) -> str:
        return (
            f"{self.schedule.name or 'schedule'} ({self.label}): makespan {self.makespan:g}, "
            f"ideal {self.ideal:g}, bubble {self.bubble:g} = {self.bubble_over_ideal:.4f} of ideal "
            f"= {self.bubble_over_total:.4f} of total, "
            f"most idle between own passes {max(map(self.idle, range(self.schedule.ranks))):g}, "
            f"peak {self.peak:g}"
        )


def simulate(schedule: Schedule, times: Times | None = None) -> Pipelined:
    """Run the passes, each as early as its rank's order and its inputs allow.

    F of a stage waits for F of the stage before; B (or I) for the rank's own F and for B (or I) of
    the stage after.  Raises ScheduleError with all faults, Deadlock with the cycle.
    """
    wrong = faults(schedule)
    if wrong:
        shown = "\n".join(f"  {sentence}" for sentence in wrong[:8])
        more = f"\n  and {len(wrong) - 8} more" if len(wrong) > 8 else ""
        raise ScheduleError(f"This is no schedule:\n{shown}{more}")
    times = times or Times()
    times.check(schedule.ranks)
    peaks = tuple(_peak(schedule, rank) for rank in range(schedule.ranks))
    return Pipelined(schedule, run(tasks(schedule, times)), peaks)


def tasks(schedule: Schedule, times: Times) -> list[Task]:
    """The schedule as a task graph; a task is called "F0 of rank 1", its resource is the rank."""
    owner: dict[tuple[int, Pass], str] = {}
    for rank, order in enumerate(schedule.orders):
        for step in order:
            for p in parts(step):
                owner[rank, p] = _named(step, rank)
    ways = [schedule.way(microbatch) for microbatch in range(schedule.microbatches)]
    made = []
    share = 1 if schedule.placement == "twin" else schedule.chunks
    for rank, order in enumerate(schedule.orders):
        for step in order:
            length = sum(times.of(p.kind, rank) for p in parts(step)) / share
            own = _named(step, rank)
            after: list[Wait] = []
            for p in parts(step):
                for neighbour, cause in _causes(ways[p.microbatch], rank, p, owner):
                    name = owner[neighbour, cause]
                    if name != own:
                        after.append(Wait(name, times.send if neighbour != rank else 0.0))
            length *= times.pair if isinstance(step, Pair) else 1.0
            made.append(Task(own, rank, length, tuple(dict.fromkeys(after))))
    return made


def _named(step: Step, rank: int) -> str:
    return f"{step} of rank {rank}"


def _causes(
    way: tuple[tuple[int, int], ...],
    rank: int,
    p: Pass,
    owner: dict[tuple[int, Pass], str],
) -> list[tuple[int, Pass]]:
    """(rank, pass) of all results a pass needs."""
    stage = way.index((rank, p.chunk))
    if p.kind == "W":
        return [(rank, Pass("I", p.microbatch, p.chunk))]
    if p.kind == "F":
        if stage == 0:
            return []
        before, chunk = way[stage - 1]
        return [(before, Pass("F", p.microbatch, chunk))]
    causes = [(rank, Pass("F", p.microbatch, p.chunk))]
    if stage + 1 < len(way):
        after, chunk = way[stage + 1]
        full = Pass("B", p.microbatch, chunk)
        causes.append((after, full if (after, full) in owner else Pass("I", p.microbatch, chunk)))
    return causes


def _peak(schedule: Schedule, rank: int) -> float:
    """Activations are held from F to the end of B, or of W: W needs them too."""
    held = most = 0
    for step in schedule.orders[rank]:
        kinds = [p.kind for p in parts(step)]
        held += kinds.count("F")
        most = max(most, held)
        held -= sum(kind in "BW" for kind in kinds)
    return most / (1 if schedule.placement == "twin" else schedule.chunks)
