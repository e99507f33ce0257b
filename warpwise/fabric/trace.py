"""Timelines as Chrome trace events, which Perfetto (ui.perfetto.dev) and chrome://tracing open.

Format: "Trace Event Format", complete events ("ph": "X"), times in microseconds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .flows import Flows
from .net import Event
from .schedules import Run


def of_events(events: Mapping[int, Iterable[Event]]) -> list[dict[str, Any]]:
    """{rank: its Net's events}: a process a rank, a row each for compute, send and recv."""
    rows = {"send": 1, "recv": 2}
    made = []
    for rank, done in events.items():
        for event in done:
            args = {"peer": event.peer, "bytes": event.nbytes} if event.peer is not None else {}
            row = rows.get(event.name, 0)
            made.append(_event(event.name, event.start, event.end, rank, row, args))
        made += _names(rank, f"rank {rank}", ("compute", "send", "recv"))
    return made


def of_run(run: Run, unit: float = 1e-3) -> list[dict[str, Any]]:
    """A schedule's run: a row a resource.  unit: seconds of one unit of its times."""
    made = []
    for row, resource in enumerate(run.resources):
        for span in run.on(resource):
            name, start, end = str(span.task.name), span.start * unit, span.end * unit
            made.append(_event(name, start, end, 0, row, {}))
    return made + _names(0, "schedule", [str(resource) for resource in run.resources])


def of_flows(flows: Flows) -> list[dict[str, Any]]:
    """Messages over shared links: a row a sender."""
    made = []
    for message, start, end in zip(flows.messages, flows.starts, flows.ends, strict=True):
        name = f"{message.source} to {message.destination}"
        args = {"bytes": message.nbytes}
        made.append(_event(name, float(start), float(end), 0, message.source, args))
    ranks = sorted({message.source for message in flows.messages})
    return made + _names(0, "flows", [f"rank {r}" for r in range(max(ranks, default=-1) + 1)])


def write(path: str | Path, events: Sequence[dict[str, Any]], label: str = "modelled") -> Path:
    """Write events to a JSON file; the label goes with them."""
    path = Path(path)
    shown = {"traceEvents": list(events), "displayTimeUnit": "ms", "otherData": {"label": label}}
    path.write_text(json.dumps(shown))
    return path


def _event(
    name: str, start: float, end: float, process: int, row: int, args: dict[str, Any]
) -> dict[str, Any]:
    return {"name": name, "ph": "X", "ts": start * 1e6, "dur": (end - start) * 1e6,
            "pid": process, "tid": row, "args": args}  # fmt: skip


def _names(process: int, name: str, rows: Sequence[str]) -> list[dict[str, Any]]:
    made = [{"name": "process_name", "ph": "M", "pid": process, "args": {"name": name}}]
    for row, title in enumerate(rows):
        made.append({"name": "thread_name", "ph": "M", "pid": process, "tid": row,
                     "args": {"name": title}})  # fmt: skip
    return made
