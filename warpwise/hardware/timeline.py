"""Copies, kernels and launches on a line: which engine does what when.

A host program is a list of operations in the order in which the host calls for them.  The host
needs some time for each, and goes on before it is done, unless it has to wait.  The device does an
operation when its stream, the events it waits for and its engine allow.

Glossary
    engine   what does one operation at a time: a copy engine, the SMs, the host itself
    stream   operations that follow each other; 0 is the default stream
    ordered  one operation certainly ends before the other begins, see `ordering`

What is not modelled: kernels that share the SMs, copies that share the bus, the time of calls that
enqueue nothing (events, waits).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise

from .bound import LAUNCH_US
from .devices import Device, device
from .ordering import COPIES, MARKS, Op, TimelineError, order_of

ENGINES = {
    "h2d": "copy to device", "d2h": "copy to host", "d2d": "compute", "kernel": "compute",
    "host": "host",
}  # fmt: skip


@dataclass(frozen=True)
class Span:
    """An operation and when it runs, in ms from the first call of the host."""

    op: Op
    start_ms: float
    end_ms: float
    engine: str


@dataclass(frozen=True)
class Timeline:
    """All operations, in the order they were enqueued.  Label: modelled."""

    spans: tuple[Span, ...]
    enqueued_ms: float  # when the host was done enqueuing and waiting
    calls: tuple[tuple[float, float, bool], ...] = ()  # of the host: from, to, whether it waited
    label: str = field(default="modelled")

    @property
    def makespan_ms(self) -> float:
        """From the first call to the end of the last operation, and of the host's last wait."""
        return max([self.enqueued_ms, *(span.end_ms for span in self.spans)])

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
    *,
    copy_engines: int = 2,
    copy_gbs: float | None = None,
    kernel_us: Mapping[str, float] | None = None,
    sync_us: float = 0.0,
    in_order: bool = False,
    legacy: bool = True,
) -> Timeline:
    """Run operations, each as early as its stream, its events and its engine allow.

    launch_us     the host's time to enqueue one operation; with `graph`, one launch enqueues all
    copy_engines  2: one a direction; 1: both directions share one
    copy_gbs      of a copy; without it, the device's PCIe, one direction
    kernel_us     by kernel name, without the number behind it; a kernel without a time of its own
                  takes the time that its bytes need in the device's memory
    sync_us       the host's time to notice that what it waits for is done
    in_order      an engine takes operations in the order of the calls, as before compute
                  capability 3.5; else the one that can begin first
    legacy        the default stream waits for all others, and they for it; False: per-thread
    Raises TimelineError for unknown kinds, names and events that come later, missing times, and
    what a graph cannot hold.
    """
    gpu = device(where)
    ops = [_timed(op, kernel_us or {}) for op in ops]
    order = order_of(ops, legacy=legacy)
    if graph:
        _check_graph(ops)
    lengths = [
        0.0 if op.kind in MARKS else _length(op, gpu, copy_gbs or gpu.pcie_gbs.value) for op in ops
    ]
    free: dict[str, float] = {}
    end: dict[int, float] = {}
    start: dict[int, float] = {}
    issued: dict[int, float] = {}  # enqueued, not begun: when
    host, k = launch_us / 1000 if graph and ops else 0.0, 0
    calls = [(0.0, host, False)] if host else []
    while k < len(ops) or issued:
        begin, first = _next(ops, order.after, issued, end, free, copy_engines, in_order)
        op = ops[k] if k < len(ops) else None
        awaited = order.host_waits[k] if op else ()
        if (
            op
            and all(j in end for j in awaited)
            and (first is None or max([host, *(end[j] for j in awaited)]) <= begin)
        ):  # the host's next call comes first
            if awaited:
                waited = max([host, *(end[j] for j in awaited)])
                waited += sync_us / 1000 if op.kind == "sync" else 0.0
                calls.append((host, waited, True))
                host = waited
            if op.kind == "host":
                start[k], end[k] = host, host + lengths[k]
                host = end[k]
            elif op.kind not in MARKS:
                called, host = host, host + (0.0 if graph else launch_us / 1000)
                calls.append((called, host, False))
                issued[k] = host
            k += 1
            continue
        assert first is not None, "the host waits for what it has not called for"
        start[first], end[first] = begin, begin + lengths[first]
        del issued[first]
        free[_engine(ops[first], copy_engines)] = end[first]
    if order.end_waits:
        waited = max([host, *(end[j] for j in order.end_waits)])
        calls.append((host, waited, True))
        host = waited
    spans = tuple(
        Span(op, start[j], end[j], _engine(op, copy_engines))
        for j, op in enumerate(ops) if j in start
    )  # fmt: skip
    return Timeline(spans, host, tuple(call for call in calls if call[1] > call[0]))


def _next(
    ops: list[Op], after: tuple[tuple[int, ...], ...], issued: Mapping[int, float],
    end: Mapping[int, float], free: Mapping[str, float], copy_engines: int, in_order: bool,
) -> tuple[float, int | None]:  # fmt: skip
    """The operation that can begin first, and when; of several, the one called for first."""
    best: tuple[float, int | None] = (float("inf"), None)
    taken: set[str] = set()
    for j, called in issued.items():
        engine = _engine(ops[j], copy_engines)
        if in_order and engine in taken:
            continue
        taken.add(engine)
        if not all(i in end for i in after[j]):
            continue
        ready = max([called, free.get(engine, 0.0), *(end[i] for i in after[j])])
        if ready < best[0]:
            best = ready, j
    return best


def _engine(op: Op, copy_engines: int) -> str:
    if copy_engines == 1 and op.kind in ("h2d", "d2h"):
        return "copy"
    return ENGINES[op.kind]


def _timed(op: Op, kernel_us: Mapping[str, float]) -> Op:
    us = kernel_us.get(op.name.rsplit(" ", 1)[0]) if op.kind == "kernel" else None
    return op if us is None else replace(op, ms=us / 1000)


def _check_graph(ops: list[Op]) -> None:
    for op in ops:
        if op.kind in ("sync", "host") or op.holds_host or (op.kind not in MARKS and not op.stream):
            why = "the host waits there" if op.kind == "sync" or op.holds_host else (
                "the host works there" if op.kind == "host" else "it is in the default stream"
            )  # fmt: skip
            raise TimelineError(
                f"a graph cannot hold {op.name}: {why}.  Capture what streams of your own do, with "
                "pinned memory, and wait after the launch of the graph."
            )


def _length(op: Op, gpu: Device, copy_gbs: float) -> float:
    if op.ms is not None:
        if op.ms < 0:
            raise TimelineError(f"{op.name} takes {op.ms} ms; time runs forward.")
        return op.ms
    if op.kind in COPIES and op.nbytes:
        return op.nbytes / ((copy_gbs if op.kind != "d2d" else gpu.dram_gbs.value / 2) * 1e6)
    if op.kind == "kernel" and op.nbytes:
        return op.nbytes / (gpu.dram_gbs.value * 1e6)
    raise TimelineError(f"{op.name} has no time: give ms, or nbytes for a copy.")
