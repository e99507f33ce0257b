"""A pipeline schedule: for each rank the order of its passes, and which stage each chunk is.

A stage is a run of layers.  A rank holds one stage or several (chunks).  Which ones is the
placement:

loop   chunk c of rank r is stage c * p + r: the stages go round the ranks (Megatron's interleaving;
       with one chunk, the plain pipeline)
vee    two chunks; chunk 0 of rank r is stage r, chunk 1 is stage 2p - 1 - r: down and back up
twin   two copies of a p-stage model, run in opposite directions: chunk 0 of rank r is stage r,
       chunk 1 is stage p - 1 - r of the other copy (DualPipe)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ..inputs import whole
from .passes import KINDS, Pass, Step, parse, parts
from .tasks import ScheduleError

PLACEMENTS = ("loop", "vee", "twin")


@dataclass(frozen=True)
class Schedule:
    """`orders[r]` is what rank r does, in order.

    ranks         p, the number of orders
    microbatches  m; in a twin, the first half goes down and the second half up
    chunks        stages a rank holds
    Steps may be written as text: Schedule([["F0", "B0"]]) or Schedule(["F0 B0"]).
    Raises ScheduleError for a step that cannot be read; `faults` says whether the whole is one.
    """

    orders: tuple[tuple[Step, ...], ...]
    chunks: int = 1
    placement: str = "loop"
    name: str = field(default="", compare=False)

    def __init__(
        self,
        orders: Iterable[str | Iterable[str | Step]],
        chunks: int = 1,
        placement: str = "loop",
        name: str = "",
    ) -> None:
        if placement not in PLACEMENTS:
            raise ScheduleError(f"{placement!r} is no placement: {', '.join(PLACEMENTS)}.")
        if placement != "loop" and chunks != 2:
            raise ScheduleError(f"the placement {placement!r} has 2 chunks a rank, not {chunks}.")
        whole(ScheduleError, chunks=chunks)
        put = object.__setattr__
        put(self, "orders", tuple(_order(order) for order in _each(orders, "orders")))
        put(self, "chunks", chunks)
        put(self, "placement", placement)
        put(self, "name", name)
        if not self.orders:
            raise ScheduleError("a schedule has at least one rank.")

    @property
    def ranks(self) -> int:
        return len(self.orders)

    @cached_property
    def microbatches(self) -> int:
        """One more than the largest microbatch named."""
        return 1 + max(
            (p.microbatch for r in range(self.ranks) for p in self.passes(r)), default=-1
        )

    @property
    def stages(self) -> int:
        """Stages a microbatch goes through."""
        return self.ranks * (1 if self.placement == "twin" else self.chunks)

    def passes(self, rank: int) -> tuple[Pass, ...]:
        """The passes of one rank in order, pairs taken apart."""
        return tuple(p for step in self.orders[rank] for p in parts(step))

    def stage(self, rank: int, chunk: int) -> int:
        """Which stage a rank's chunk is."""
        if self.placement == "loop" or chunk == 0:
            return chunk * self.ranks + rank
        return (2 if self.placement == "vee" else 1) * self.ranks - 1 - rank

    def place(self, stage: int, copy: int = 0) -> tuple[int, int]:
        """(rank, chunk) of a stage; in a twin, of the copy that goes down (0) or up (1)."""
        if self.placement == "twin":
            return (self.ranks - 1 - stage if copy else stage), copy
        chunk, rank = divmod(stage, self.ranks)
        if self.placement == "vee" and chunk == 1:
            rank = self.ranks - 1 - rank
        return rank, chunk

    def way(self, microbatch: int) -> tuple[tuple[int, int], ...]:
        """(rank, chunk) a microbatch goes through, first stage first."""
        copy = int(self.placement == "twin" and microbatch >= (self.microbatches + 1) // 2)
        return tuple(self.place(stage, copy) for stage in range(self.stages))

    def __str__(self) -> str:
        head = f"{self.name or 'schedule'}: {self.ranks} ranks, {self.microbatches} microbatches"
        lines = [
            f"rank {rank}: " + " ".join(str(step) for step in order)
            for rank, order in enumerate(self.orders)
        ]
        return "\n".join([head, *lines])


def _order(order: str | Iterable[str | Step]) -> tuple[Step, ...]:
    steps = order.split() if isinstance(order, str) else _each(order, "the order of a rank")
    return tuple(parse(step) for step in steps)


def _each(what: Iterable[Any], name: str) -> Iterable[Any]:
    if isinstance(what, str) or not isinstance(what, Iterable):
        raise ScheduleError(f"{name}: a list is needed, not {what!r}.")
    return what


def faults(schedule: Schedule, microbatches: int | None = None) -> list[str]:
    """What keeps this from being a schedule, a sentence each; an empty list when it is one.

    Every rank that a microbatch passes has to run its F once, then either B once, or I and W once
    in this order.  Deadlocks are found by `simulate`.
    """
    m = schedule.microbatches if microbatches is None else microbatches
    if m < 1:
        return ["no microbatch is named: there is nothing to run."]
    named = {p.microbatch for rank in range(schedule.ranks) for p in schedule.passes(rank)}
    if len(named) < m:
        first = next(microbatch for microbatch in range(m) if microbatch not in named)
        return [f"no rank runs microbatch {first}; they are numbered from 0 to {m - 1}."]
    due: dict[int, dict[tuple[int, int], None]] = {rank: {} for rank in range(schedule.ranks)}
    for microbatch in range(m):
        for rank, chunk in schedule.way(microbatch):
            due[rank][(microbatch, chunk)] = None
    found: list[str] = []
    for rank in range(schedule.ranks):
        found += _of_rank(rank, schedule.passes(rank), due[rank])
    return found


def _of_rank(rank: int, passes: Sequence[Pass], due: dict[tuple[int, int], None]) -> list[str]:
    found = []
    at: dict[tuple[str, int, int], int] = {}
    for index, p in enumerate(passes):
        key = (p.kind, p.microbatch, p.chunk)
        if key[1:] not in due:
            found.append(f"rank {rank} runs {p}, but that microbatch and chunk never come to it.")
        elif key in at:
            found.append(f"rank {rank} runs {p} twice.")
        at.setdefault(key, index)
    for microbatch, chunk in due:
        has = {kind: at.get((kind, microbatch, chunk)) for kind in KINDS}
        if _whole(has):
            continue
        f, b, i, w = (Pass(kind, microbatch, chunk) for kind in "FBIW")
        if has["F"] is None:
            found.append(f"rank {rank} never runs {f}.")
        if has["B"] is not None and (has["I"] is not None or has["W"] is not None):
            found.append(f"rank {rank} runs {b}, which is I and W, and a part of it again.")
        elif has["B"] is None and has["I"] is None:
            found.append(f"rank {rank} never runs {b} (nor {i} and {w}).")
        elif has["I"] is not None and has["W"] is None:
            found.append(f"rank {rank} runs {i} but never {w}: the weights get no gradient.")
        for first, then in (("F", "B"), ("F", "I"), ("I", "W")):
            one, other = has[first], has[then]
            if one is not None and other is not None and other < one:
                found.append(
                    f"rank {rank} runs {Pass(then, microbatch, chunk)} "
                    f"before {Pass(first, microbatch, chunk)}."
                )
    return found


def _whole(has: Mapping[str, int | None]) -> bool:
    """Whether a microbatch has F, then B or I and W, in this order and nothing else."""
    f, b, i, w = (has[kind] for kind in "FBIW")
    if f is None:
        return False
    if b is not None:
        return f < b and i is None and w is None
    return i is not None and w is not None and f < i < w
