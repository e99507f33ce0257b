"""Copies, kernels and launches on a line: which engine does what when.

A device has one engine per copy direction and runs kernels beside them (CUDA Best Practices Guide,
"Asynchronous and Overlapping Transfers with Computation").  Operations of one stream follow each
other; an operation also waits for the events it names; the host enqueues one after the other.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from .bound import LAUNCH_US
from .devices import Device, device

ENGINES = {"h2d": "copy to device", "d2h": "copy to host", "kernel": "compute", "host": "host"}


class TimelineError(ValueError):
    """Operations that cannot be put on a line."""


@dataclass(frozen=True)
class Op:
    """One operation.  kind: h2d, d2h, kernel or host.

    ms       its time; of a copy, `nbytes` may be given instead
    after    names of operations that have to be done before (events)
    pageable a copy out of memory that is not pinned: it blocks the host and overlaps nothing
    """

    name: str
    kind: str
    stream: int = 0
    ms: float | None = None
    nbytes: float = 0
    after: tuple[str, ...] = ()
    pageable: bool = False


@dataclass(frozen=True)
class Span:
    """An operation and when it runs, in ms from the first call of the host."""

    op: Op
    start_ms: float
    end_ms: float

    @property
    def engine(self) -> str:
        return ENGINES[self.op.kind]


@dataclass(frozen=True)
class Timeline:
    """All operations, in the order they were enqueued.  Label: modelled."""

    spans: tuple[Span, ...]
    enqueued_ms: float  # when the host was done enqueuing
    label: str = field(default="modelled")

    @property
    def makespan_ms(self) -> float:
        """From the first call to the end of the last operation."""
        return max((span.end_ms for span in self.spans), default=0.0)

    def busy_ms(self, engine: str) -> float:
        """Time an engine works."""
        return sum(span.end_ms - span.start_ms for span in self.spans if span.engine == engine)

    @property
    def exposed_copy_ms(self) -> float:
        """Time in which something is copied and no kernel runs."""
        edges = sorted({t for span in self.spans for t in (span.start_ms, span.end_ms)})
        total = 0.0
        for left, right in pairwise(edges):
            kinds = {s.op.kind for s in self.spans if s.start_ms <= left and right <= s.end_ms}
            if kinds & {"h2d", "d2h"} and "kernel" not in kinds:
                total += right - left
        return total


def timeline(
    ops: Iterable[Op],
    where: str | Device = "A100",
    launch_us: float = LAUNCH_US[1],
    graph: bool = False,
) -> Timeline:
    """Run operations in the order given, each as early as its stream, events and engine allow.

    launch_us  the host's time to enqueue one operation; with `graph`, one launch enqueues them all
    Raises TimelineError for unknown kinds, names and events that come later.
    """
    gpu = device(where)
    known: dict[str, float] = {}
    free = dict.fromkeys(ENGINES, 0.0)
    streams: dict[int, float] = {}
    host, spans = 0.0, []
    ops = list(ops)
    if graph and ops:
        host = launch_us / 1000
    for op in ops:
        if op.kind not in ENGINES:
            raise TimelineError(
                f"{op.name}: {op.kind!r} is no kind of operation: {', '.join(ENGINES)}."
            )
        if op.name in known:
            raise TimelineError(f"two operations are called {op.name!r}.")
        missing = [name for name in op.after if name not in known]
        if missing:
            raise TimelineError(
                f"{op.name} waits for {missing[0]!r}, which was not enqueued before."
            )
        if not graph:
            host += launch_us / 1000 if op.kind != "host" else 0.0
        ready = max([host, free[op.kind], streams.get(op.stream, 0.0),
                     *(known[name] for name in op.after)])  # fmt: skip
        if op.pageable:
            ready = max([ready, *free.values()])
        end = ready + _length(op, gpu)
        if op.pageable:
            free = dict.fromkeys(free, end)
        if op.pageable or op.kind == "host":
            host = end
        free[op.kind] = streams[op.stream] = known[op.name] = end
        spans.append(Span(op, ready, end))
    return Timeline(tuple(spans), host)


def _length(op: Op, gpu: Device) -> float:
    if op.ms is not None:
        if op.ms < 0:
            raise TimelineError(f"{op.name} takes {op.ms} ms; time runs forward.")
        return op.ms
    if op.kind not in ("h2d", "d2h") or not op.nbytes:
        raise TimelineError(f"{op.name} has no time: give ms, or nbytes for a copy.")
    return op.nbytes / (gpu.pcie_gbs.value * 1e6)
