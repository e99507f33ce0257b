"""A trace: its lanes as rows with a bar for each event, and tables of them."""

from __future__ import annotations

from typing import Any

from ..traces import Event, Trace
from .plot import COLOURS, GREY, axes, bundle, legend
from .tables import Table, table

#: (kind, words that a name of it has); the first that fits.
_KINDS = (
    ("wait", ("synchronize", "item")),
    ("communication", ("nccl", "allreduce", "all_reduce", "gather", "scatter", "all_to_all")),
    ("copy", ("memcpy", "memset", "copy")),
    ("backward", ("backward",)),
    ("forward", ("forward", "gemm", "addmm", "mm", "conv")),
    ("call", ("cudalaunch", "cudamalloc")),
)
_COLOURS = {
    "forward": COLOURS[0], "backward": COLOURS[5], "other kernel": COLOURS[2],
    "copy": COLOURS[4], "communication": COLOURS[1], "call": GREY, "wait": "none",
    "other call": COLOURS[3],
}  # fmt: skip
_HATCH = {"communication": "//", "copy": "..", "other call": "\\\\"}
#: A bar narrower than this share of the picture, for each letter, gets no name.
_NAMED = 0.011


class TracePicture:
    """Rows for the lanes of each rank; a colour for each kind of event, waits hollow."""

    def __init__(self, trace: Trace, start_us: float, end_us: float) -> None:
        self.trace, self.start_us, self.end_us = trace, start_us, end_us

    def __str__(self) -> str:
        rows = [f"{self.start_us:,.0f} to {self.end_us:,.0f} us"]
        for rank, lane in _lanes(self.trace):
            events = self._shown(lane, rank)
            names = ", ".join(dict.fromkeys(event.name for event in events))
            label = _label(self.trace, rank, lane)
            rows.append(f"  {label}: {len(events)} events: {names}"[:160])
        return "\n".join(rows)

    __repr__ = __str__

    def _shown(self, lane: str, rank: int) -> list[Event]:
        return [
            event for event in self.trace.on(lane, rank)
            if event.start_us < self.end_us and event.end_us > self.start_us
        ]  # fmt: skip

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return bundle(self.figure(), str(self))

    def figure(self) -> Any:
        """The matplotlib figure."""
        lanes = _lanes(self.trace)
        width = self.end_us - self.start_us or 1.0
        figure, ax = axes(9.0, 1.3 + 0.42 * len(lanes))
        named: set[str] = set()
        for row, (rank, lane) in enumerate(lanes):
            bars: dict[str, list[tuple[float, float]]] = {}
            for event in self._shown(lane, rank):
                left = max(event.start_us, self.start_us)
                length = min(event.end_us, self.end_us) - left
                kind = kind_of(event)
                bars.setdefault(kind, []).append((left, length))
                if length > _NAMED * len(event.name) * width:
                    hollow = kind == "wait"
                    box = {"boxstyle": "round,pad=0.1", "lw": 0, "facecolor": _COLOURS[kind]}
                    ax.text(left + length / 2, row, event.name, ha="center", va="center",
                            fontsize=7, color=GREY if hollow else "white",
                            bbox=None if hollow else box)  # fmt: skip
            for kind, found in bars.items():
                ax.broken_barh(
                    found, (row - 0.32, 0.64), facecolor=_COLOURS[kind], hatch=_HATCH.get(kind),
                    edgecolor=GREY if kind == "wait" else "white", linewidth=0.3,
                    label=None if kind in named else kind,
                )  # fmt: skip
                named.add(kind)
        for left, _ in self.trace.steps:
            if self.start_us < left < self.end_us:
                ax.axvline(left, color=GREY, linewidth=0.8, linestyle=":")
        ax.set_yticks(range(len(lanes)), [_label(self.trace, *one) for one in lanes], color=GREY)
        ax.invert_yaxis()
        ax.set(xlabel="us", xlim=(self.start_us, self.end_us))
        legend(ax)
        return figure


def show_trace(
    trace: Trace, start_us: float | None = None, end_us: float | None = None
) -> TracePicture:
    """The picture of a trace, or of a part of it: `show_trace(trace, *trace.steps[1])`."""
    if not isinstance(trace, Trace):
        raise TypeError("give it a trace: shipped(3) or read_trace(file) of warpwise.traces.")
    start = trace.start_us if start_us is None else start_us
    return TracePicture(trace, start, trace.end_us if end_us is None else end_us)


def trace_lanes(trace: Trace) -> Table:
    """A row for each lane: events, time with something on it, its share, gaps and the longest."""
    whole = trace.end_us - trace.start_us or 1.0
    rows = []
    for rank, lane in _lanes(trace):
        gaps, busy = trace.gaps(lane, rank), trace.busy_us(lane, rank)
        longest = max((length for _, length in gaps), default=0.0)
        rows.append((
            _label(trace, rank, lane), len(trace.on(lane, rank)), f"{busy:,.0f}",
            f"{busy / whole:.0%}", len(gaps), f"{longest:,.0f}",
        ))  # fmt: skip
    return table(("lane", "events", "busy us", "busy", "gaps", "longest gap us"), rows)


def trace_totals(trace: Trace, lane: str, rank: int | None = None, most: int = 12) -> Table:
    """A row for each name on a lane, the dearest first; times of the host without inner calls."""
    totals = trace.totals(lane, rank)
    whole = sum(total.self_us for total in totals) or 1.0
    rows = [
        (one.name, one.count, f"{one.self_us:,.0f}", f"{one.self_us / whole:.0%}",
         f"{one.self_us / one.count:,.1f}")
        for one in totals[:most]
    ]  # fmt: skip
    rest = totals[most:]
    if rest:
        us, times = sum(one.self_us for one in rest), sum(one.count for one in rest)
        rows.append(("others", times, f"{us:,.0f}", f"{us / whole:.0%}", ""))
    return table(("name", "times", "us", "share", "us each"), rows)


def kind_of(event: Event) -> str:
    """What an event is drawn as; a guess by its name."""
    name, host = event.name.lower(), not event.lane.startswith("stream")
    for kind, words in _KINDS:
        if any(word in name for word in words):
            if kind == "copy" and host and name.startswith("cuda"):
                return "call"
            return kind if kind != "call" or host else "other kernel"
    return "other call" if host else "other kernel"


def _lanes(trace: Trace) -> list[tuple[int, str]]:
    return [(rank, lane) for rank in trace.ranks for lane in trace.lanes if trace.on(lane, rank)]


def _label(trace: Trace, rank: int, lane: str) -> str:
    return lane if len(trace.ranks) == 1 else f"rank {rank}, {lane}"
