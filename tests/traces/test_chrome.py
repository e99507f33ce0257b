"""Reading traces: lanes, nested calls, gaps and steps; what is no trace gets a sentence."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from warpwise.traces import Trace, TraceError, read_trace, write_trace

ROWS = [
    ("outer", 0, "host", 0.0, 10.0, {}),
    ("inner", 0, "host", 2.0, 3.0, {}),
    ("inner", 0, "host", 6.0, 2.0, {}),
    ("deep", 0, "host", 2.5, 1.0, {}),
    ("k", 0, "stream 7", 4.0, 2.0, {"grid": 3}),
    ("k", 0, "stream 7", 6.001, 1.0, {}),
    ("k", 0, "stream 7", 9.0, 4.0, {}),
    ("k", 1, "stream 7", 1.0, 1.0, {}),
]


def test_time_of_inner_calls_is_taken_off() -> None:
    """outer 10 less 3 and 2; the first inner less 1."""
    totals = {one.name: one for one in Trace.from_rows(ROWS).totals("host")}
    assert (totals["outer"].self_us, totals["outer"].us) == (5.0, 10.0)
    assert (totals["inner"].count, totals["inner"].us, totals["inner"].self_us) == (2, 5.0, 4.0)
    assert totals["inner"].mean_us == 2.5
    assert sum(one.self_us for one in totals.values()) == 10.0


def test_a_lane_is_busy_once() -> None:
    """Calls inside calls do not add up, and a nanosecond between two events is no gap."""
    trace = Trace.from_rows(ROWS)
    assert trace.busy_us("host") == 10.0
    assert trace.busy_us("stream 7") == pytest.approx(7.001)
    assert trace.gaps("stream 7") == (pytest.approx((7.001, 1.999)),)
    assert trace.busy_us("stream 7", 1) == 1.0
    assert trace.lanes == ("host", "stream 7") and trace.ranks == (0, 1)


def test_a_trace_is_the_same_when_it_is_read_again(tmp_path: Path) -> None:
    """Written, read, written: rows and lanes stay; gzip is opened."""
    trace = Trace.from_rows([*ROWS, ("step", 0, "steps", 0.0, 6.5, {})], "by hand")
    write_trace(trace, tmp_path / "t.json")
    again = read_trace(tmp_path / "t.json")
    assert again.rows == trace.rows and again.made == "by hand"
    assert again.steps == ((0.0, 6.5),)
    packed = tmp_path / "t.json.gz"
    packed.write_bytes(gzip.compress((tmp_path / "t.json").read_bytes()))
    assert read_trace(packed) == again
    part = again.within(5.0, 9.5)
    assert [event.name for event in part.events] == ["inner", "k", "k"]


def test_a_trace_of_torch_profiler_is_read(tmp_path: Path) -> None:
    """Its operators by name on the host's lane, its steps as steps."""
    torch = pytest.importorskip("torch")
    from torch.profiler import ProfilerActivity, profile, schedule

    a, file = torch.ones(8, 8), tmp_path / "t.json"
    with profile(
        activities=[ProfilerActivity.CPU], schedule=schedule(wait=0, warmup=1, active=3),
        on_trace_ready=lambda done: done.export_chrome_trace(str(file)),
    ) as recorded:  # fmt: skip
        for _ in range(4):
            torch.mm(a, a).sum().item()
            recorded.step()
    trace = read_trace(file)
    (lane,) = trace.lanes
    counts = {one.name: one.count for one in trace.totals(lane)}
    assert counts["aten::mm"] == 3 and counts["aten::item"] == 3
    assert len(trace.steps) == 3


def test_host_and_device_of_one_rank_are_two_processes(tmp_path: Path) -> None:
    """As in a file of torch.profiler with a GPU; annotations over kernels are no kernels."""

    def bar(name: str, pid: int, tid: int, ts: float, dur: float, cat: str) -> dict[str, Any]:
        return {"ph": "X", "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "cat": cat}

    def name(kind: str, pid: int, tid: int, said: str) -> dict[str, Any]:
        return {"ph": "M", "name": kind, "pid": pid, "tid": tid, "args": {"name": said}}

    events = [
        name("process_name", 4711, 0, "python"), name("process_name", 0, 0, "python"),
        name("thread_name", 4711, 4711, "thread 4711 (python)"),
        name("thread_name", 0, 7, "stream 7 "), name("thread_name", 1, 7, "stream 7 "),
        bar("ProfilerStep#1", 4711, 4711, 0.0, 90.0, "user_annotation"),
        bar("ProfilerStep#1", 0, 7, 20.0, 60.0, "gpu_user_annotation"),
        bar("cudaLaunchKernel", 4711, 4711, 5.0, 5.0, "cuda_runtime"),
        bar("sgemm", 0, 7, 20.0, 30.0, "kernel"), bar("sgemm", 1, 7, 20.0, 40.0, "kernel"),
        bar("PyTorch Profiler (0)", -1, 0, 0.0, 99.0, "Trace"),
    ]  # fmt: skip
    (tmp_path / "gpu.json").write_text(json.dumps({"traceEvents": events}))
    trace = read_trace(tmp_path / "gpu.json")
    assert trace.ranks == (0,) and trace.steps == ((0.0, 90.0),)
    assert trace.lanes == ("thread 4711 (python)", "stream 7", "stream 7, process 1")
    assert trace.busy_us("stream 7") == 30.0 and trace.busy_us("stream 7, process 1") == 40.0


def test_what_is_no_trace_is_refused(tmp_path: Path) -> None:
    """With the name of the file, and no path."""

    def written(name: str, content: Any) -> Path:
        (tmp_path / name).write_text(content)
        return tmp_path / name

    for file, said in (
        (tmp_path / "none.json", r"there is no file none\.json"),
        (written("a.json", "{"), r"a\.json is no trace in Chrome's format"),
        (written("b.json", json.dumps({"a": 1})), r"b\.json has no list of traceEvents"),
    ):
        with pytest.raises(TraceError, match=said):
            read_trace(file)
    with pytest.raises(TraceError, match="no lane 'stream 8'; there are host, stream 7"):
        Trace.from_rows(ROWS).on("stream 8")


def test_an_empty_trace_has_no_time() -> None:
    """Nothing on it, and no step but itself."""
    empty = Trace.from_rows([])
    assert (empty.start_us, empty.end_us, empty.lanes, empty.steps) == (0, 0, (), ((0, 0),))
