"""Chrome's trace event format, which torch.profiler writes and Perfetto opens.

Format: "Trace Event Format", complete events ("ph": "X"), times in microseconds.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .trace import STEPS, Trace, TraceError

#: Categories of events that lie over the kernels of a stream, or over everything.
_OVER_OTHERS = ("Trace", "gpu_user_annotation")


def read_trace(path: str | Path) -> Trace:
    """A trace in Chrome's format, also packed with gzip, such as torch.profiler writes.

    Lanes are called as the file calls their threads.  A process called "rank 3" is rank 3, all
    others are rank 0: torch.profiler writes a file for each rank, in which host and device are two
    processes.  A step that it marks (ProfilerStep#3) goes to the lane of the steps.
    Raises TraceError for a file that is none.
    """
    path = Path(path)
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        data = json.loads(raw)
    except FileNotFoundError:
        raise TraceError(f"there is no file {path.name}.") from None
    except (OSError, ValueError) as error:
        raise TraceError(f"{path.name} is no trace in Chrome's format: {error}.") from None
    found = data.get("traceEvents") if isinstance(data, dict) else data
    if not isinstance(found, list):
        raise TraceError(f"{path.name} has no list of traceEvents.")
    bars = [one for one in found if one.get("ph") == "X" and one.get("cat") not in _OVER_OTHERS]
    names = {
        kind: {
            (one.get("pid"), one.get("tid") if kind == "thread_name" else None): _said(one)
            for one in found if one.get("ph") == "M" and one.get("name") == kind
        }
        for kind in ("thread_name", "process_name")
    }  # fmt: skip
    ranks = {pid: _rank(name) for (pid, _), name in names["process_name"].items()}
    lanes: dict[tuple[Any, Any], str] = {}
    for place in sorted({(one.get("pid"), one.get("tid")) for one in bars}, key=str):
        lane = names["thread_name"].get(place, f"thread {place[1]}")
        mine = [other for other in lanes if ranks.get(other[0], 0) == ranks.get(place[0], 0)]
        twice = lane in (lanes[other] for other in mine)
        lanes[place] = f"{lane}, process {place[0]}" if twice else lane
    rows = []
    for one in bars:
        place = one.get("pid"), one.get("tid")
        lane = STEPS if str(one["name"]).startswith("ProfilerStep#") else lanes[place]
        rows.append((str(one["name"]), ranks.get(place[0], 0), lane, float(one["ts"]),
                     float(one.get("dur", 0.0)), one.get("args", {})))  # fmt: skip
    other = data.get("otherData", {}) if isinstance(data, dict) else {}
    return Trace.from_rows(rows, str(other.get("made", "")))


def write_trace(trace: Trace, path: str | Path) -> None:
    """A file that Perfetto (ui.perfetto.dev) and chrome://tracing open."""
    lanes = sorted({event.lane for event in trace.events})
    made: list[dict[str, Any]] = []
    for rank in trace.ranks:
        made.append(_name("process_name", rank, 0, f"rank {rank}"))
        made += [_name("thread_name", rank, row, lane) for row, lane in enumerate(lanes)]
    for one in trace.events:
        made.append({
            "ph": "X", "name": one.name, "pid": one.rank, "tid": lanes.index(one.lane),
            "ts": round(one.start_us, 3), "dur": round(one.us, 3), "args": dict(one.args),
        })  # fmt: skip
    rows = ",\n".join(json.dumps(event, separators=(",", ":")) for event in made)
    head = json.dumps({"made": trace.made})
    text = f'{{"displayTimeUnit":"ms","otherData":{head},"traceEvents":[\n{rows}\n]}}\n'
    Path(path).write_text(text, encoding="utf-8")


def _said(event: Mapping[str, Any]) -> str:
    return str(event.get("args", {}).get("name", "")).strip()


def _rank(process: str) -> int:
    match = re.fullmatch(r"rank (\d+)", process)
    return int(match[1]) if match else 0


def _name(kind: str, rank: int, row: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": rank, "tid": row, "args": {"name": name}}
