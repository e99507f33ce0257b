"""The picture and the tables of a trace."""

from __future__ import annotations

import pytest

from warpwise.show import show_trace, trace_lanes, trace_totals
from warpwise.show.trace import kind_of
from warpwise.traces import Event, Trace, example

SMALL = Trace.from_rows([
    ("DataLoader", 0, "host", 0.0, 40.0, {}), ("cudaLaunchKernel", 0, "host", 40.0, 5.0, {}),
    ("cudaStreamSynchronize", 0, "host", 45.0, 55.0, {}),
    ("gemm_forward", 0, "stream 7", 45.0, 20.0, {}), ("gelu", 0, "stream 7", 80.0, 20.0, {}),
])  # fmt: skip


def test_lanes_have_their_share_and_gaps() -> None:
    """The host is busy all the time, the stream 40 % of it, with one gap of 15."""
    assert [tuple(map(str, row)) for row in trace_lanes(SMALL).rows] == [
        ("host", "3", "100", "100%", "0", "0"), ("stream 7", "2", "40", "40%", "1", "15"),
    ]  # fmt: skip


def test_totals_begin_with_the_dearest() -> None:
    """And end with what is left over."""
    rows = trace_totals(SMALL, "host", most=1).rows
    assert [tuple(map(str, row)) for row in rows] == [
        ("cudaStreamSynchronize", "1", "55", "55%", "55.0"), ("others", "2", "45", "45%", ""),
    ]  # fmt: skip


def test_the_picture_has_a_row_for_each_lane_and_rank() -> None:
    """Bars of a step only, with names where they fit; the text says the same."""
    trace = example("straggler", 1)
    picture = show_trace(trace, *trace.steps[1])
    (ax,) = picture.figure().axes
    assert [one.get_text() for one in ax.get_yticklabels()][-1] == "rank 3, stream 7"
    assert ax.get_xlim() == trace.steps[1]
    assert str(picture).count("ncclDevKernel_AllReduce") == 4
    with pytest.raises(TypeError, match="give it a trace"):
        show_trace([])  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "lane", "kind"), [
    ("cudaStreamSynchronize", "host", "wait"), ("cudaMemcpyAsync", "host", "call"),
    ("Memcpy HtoD (Pageable -> Device)", "stream 7", "copy"),
    ("ncclDevKernel_AllReduce_Sum_f32_RING_LL", "stream 20", "communication"),
    ("gemm_backward", "stream 7", "backward"), ("aten::addmm", "python", "forward"),
    ("DataLoader.__next__", "host", "other call"), ("gelu_kernel", "stream 7", "other kernel"),
    ("nccl:all_to_all", "stream 20", "communication"), ("all_to_all", "stream 0", "communication"),
])  # fmt: skip
def test_kinds_are_told_by_the_name(name: str, lane: str, kind: str) -> None:
    """Calls of the host and operations of a stream apart."""
    assert kind_of(Event(name, 0, lane, 0.0, 1.0)) == kind
