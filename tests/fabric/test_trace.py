"""Chrome traces of schedules and flows."""

from warpwise.fabric import Link, island, ring_all_reduce
from warpwise.fabric.flows import of, run
from warpwise.fabric.schedules import one_f_one_b, simulate
from warpwise.fabric.trace import of_flows, of_run


def test_a_schedule_has_a_row_a_rank_and_a_span_a_pass():
    ran = simulate(one_f_one_b(2, 3))
    events = of_run(ran.run, unit=1e-3)
    spans = [event for event in events if event["ph"] == "X"]
    assert len(spans) == 2 * 3 * 2
    assert max(span["ts"] + span["dur"] for span in spans) == ran.makespan * 1e3
    assert [e["args"]["name"] for e in events if e["name"] == "thread_name"] == ["0", "1"]


def test_flows_have_a_row_a_sender():
    ran = run(island(3, Link(4, 100)), of(ring_all_reduce(3), 3000))
    spans = [event for event in of_flows(ran) if event["ph"] == "X"]
    assert len(spans) == 3 * 4
    assert {span["tid"] for span in spans} == {0, 1, 2}
    assert spans[0]["args"] == {"bytes": 1000.0}
