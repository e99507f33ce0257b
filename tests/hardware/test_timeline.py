"""Timelines: what may overlap, what waits for what, and how long the whole takes."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from warpwise.hardware import Op, TimelineError, races, timeline


def stages(chunks: int, streams: int, h2d: float, kernel: float, d2h: float) -> list[Op]:
    """Copy, compute, copy back for each chunk, in streams 1, 2, ..."""
    times = {"h2d": h2d, "kernel": kernel, "d2h": d2h}
    return [Op(f"{kind} {i}", kind, 1 + i % streams, ms) for i in range(chunks)
            for kind, ms in times.items() if ms]  # fmt: skip


def by_stage(ops: list[Op]) -> list[Op]:
    """All copies to the device first, then all kernels, then all copies back."""
    return sorted(ops, key=lambda op: ("h2d", "kernel", "d2h").index(op.kind))


def test_copies_overlap_kernels_in_streams() -> None:
    """Three stages of 1 ms over 4 chunks: 12 ms one after the other, 6 ms in a pipeline."""
    assert timeline(stages(4, 1, 1, 1, 1), launch_us=0).makespan_ms == 12
    overlapped = timeline(stages(4, 4, 1, 1, 1), launch_us=0)
    assert overlapped.makespan_ms == 6
    assert overlapped.busy_ms("compute") == 4
    assert overlapped.exposed_copy_ms == 2


@pytest.mark.parametrize("chunks", [1, 2, 4, 5, 8])
@pytest.mark.parametrize(("copy", "kernel"), [(8.0, 8.0), (8.0, 20.0), (20.0, 8.0)])
def test_staged_copies_take_what_the_guide_says(chunks: int, copy: float, kernel: float) -> None:
    """The larger of copy and kernel, and a part of the smaller (Best Practices Guide 10.1.2)."""
    got = timeline(stages(chunks, chunks, copy / chunks, kernel / chunks, 0), launch_us=0)
    assert got.makespan_ms == pytest.approx(max(copy, kernel) + min(copy, kernel) / chunks)


@pytest.mark.parametrize(("engines", "in_order", "depth", "breadth"), [
    (1, True, 12, 8), (2, True, 6, 6), (2, False, 6, 6),
])  # fmt: skip
def test_one_copy_engine_in_order_makes_the_order_of_calls_matter(
    engines: int, in_order: bool, depth: float, breadth: float
) -> None:
    """With one queue a copy back holds up the next copy to the device."""
    ops = stages(4, 4, 1, 1, 1)
    how = {"launch_us": 0, "copy_engines": engines, "in_order": in_order}
    assert timeline(ops, **how).makespan_ms == depth  # type: ignore[arg-type]
    assert timeline(by_stage(ops), **how).makespan_ms == breadth  # type: ignore[arg-type]


def test_copies_take_the_buss_time() -> None:
    """1 GB over PCIe 4 x16 at 31 GB/s: 32.3 ms."""
    got = timeline([Op("in", "h2d", nbytes=1e9)], "A100", launch_us=0)
    assert got.makespan_ms == pytest.approx(1000 / 31)
    assert timeline([Op("in", "h2d", 1, nbytes=1e9)], launch_us=0, copy_gbs=2).makespan_ms == 500


def test_kernels_take_the_memorys_time_or_what_they_are_given() -> None:
    """Bytes over the DRAM's rate; by name where a time is given."""
    ops = [Op("scale 0", "kernel", 1, nbytes=2e9)]
    assert timeline(ops, "H100", launch_us=0).makespan_ms == pytest.approx(2000 / 3350)
    assert timeline(ops, launch_us=0, kernel_us={"scale": 7}).makespan_ms == pytest.approx(0.007)


def test_pageable_copies_hold_the_host() -> None:
    """What comes after a pageable copy is called for when the copy is done."""
    ops = [Op("in", "h2d", 1, 1.0), Op("k", "kernel", 2, 2.0), Op("k2", "kernel", 2, 2.0)]
    assert timeline(ops, launch_us=0).makespan_ms == 4
    pageable = [Op("in", "h2d", 1, 1.0, pageable=True), *ops[1:]]
    held = timeline(pageable, launch_us=0)
    assert held.makespan_ms == 5
    assert held.calls == ((0.0, 1.0, True),)


def test_the_default_stream_waits_for_all_and_all_wait_for_it() -> None:
    """k1 in a stream, k2 in the default stream, k3 in the stream: one after the other, and so is
    a copy in another stream; not where the default stream is one a thread."""
    ops = [Op("k1", "kernel", 1, 1.0), Op("k2", "kernel", 0, 1.0), Op("in", "h2d", 2, 1.0)]
    starts = [span.start_ms for span in timeline(ops, launch_us=0).spans]
    assert starts == [0, 1, 2]
    starts = [span.start_ms for span in timeline(ops, launch_us=0, legacy=False).spans]
    assert starts == [0, 1, 0]


def test_many_small_kernels_are_bound_by_launches() -> None:
    """1000 kernels of 1 us at 5 us a launch take 5 ms; a graph launches them at once."""
    ops = [Op(f"k{i}", "kernel", 1, 0.001) for i in range(1000)]
    assert timeline(ops, launch_us=5).makespan_ms == pytest.approx(5.001)
    assert timeline(ops, launch_us=5, graph=True).makespan_ms == pytest.approx(1.005)


def test_waiting_after_each_kernel_costs_launch_kernel_and_wait() -> None:
    """NVIDIA's 9.6 us a kernel of 2.9 with a wait each time, 3.8 with one wait for 20: two costs
    explain both, and the graph's 3.4 is missed by what passes between its kernels."""
    ops = [op for i in range(20) for op in (Op(f"k{i}", "kernel", 1, 0.0029),
                                            Op(f"s{i}", "sync", 1))]  # fmt: skip
    launch, notice = 66.4 / 19, 6.7 - 66.4 / 19
    waited = timeline(ops, launch_us=launch, sync_us=notice)
    assert waited.makespan_ms * 1000 / 20 == pytest.approx(9.6)
    once = timeline([*ops[::2], ops[-1]], launch_us=launch, sync_us=notice)
    assert once.makespan_ms * 1000 / 20 == pytest.approx(3.8)
    graph = timeline(ops[::2], launch_us=launch, graph=True)
    assert (graph.makespan_ms * 1000 + notice) / 20 == pytest.approx(3.235, abs=1e-3)


def test_events_order_streams() -> None:
    """A stream waits for the event, and only for what was before it."""
    ops = [Op("a", "h2d", 1, 1.0), Op("r", "record", 1, event="e"), Op("late", "h2d", 1, 5.0),
           Op("w", "wait", 2, event="e"), Op("b", "kernel", 2, 1.0)]  # fmt: skip
    assert [span.start_ms for span in timeline(ops, launch_us=0).spans] == [0, 1, 1]
    named = [Op("a", "h2d", 1, 1.0), Op("b", "kernel", 2, 1.0, after=("a",))]
    assert timeline(named, launch_us=0).makespan_ms == 2


def test_the_host_works_when_it_is_its_turn() -> None:
    """Work of the host keeps it from calling, and may wait for the device."""
    ops = [Op("k", "kernel", 1, 2.0), Op("prepare", "host", ms=3.0), Op("k2", "kernel", 1, 1.0)]
    assert timeline(ops, launch_us=0).makespan_ms == 4
    after = [Op("k", "kernel", 1, 2.0), Op("use", "host", ms=3.0, after=("k",))]
    assert timeline(after, launch_us=0).makespan_ms == 5


def test_no_engine_does_two_things_and_no_order_is_broken() -> None:
    """On random programs: spans of an engine, and of a stream, never overlap; nothing begins
    before it is called for; makespans are at least the busiest engine's work."""
    rng = random.Random(12)
    for _ in range(60):
        ops = [Op(f"o{i}", rng.choice(["h2d", "d2h", "kernel"]), rng.randrange(0, 4),
                  rng.choice([0.5, 1.0, 2.0])) for i in range(12)]  # fmt: skip
        got = timeline(ops, launch_us=rng.choice([0.0, 300.0]), copy_engines=rng.choice([1, 2]))
        for key in (lambda s: s.engine, lambda s: s.op.stream):
            groups: dict[object, list[tuple[float, float]]] = {}
            for span in got.spans:
                groups.setdefault(key(span), []).append((span.start_ms, span.end_ms))
            for spans in groups.values():
                spans.sort()
                assert all(end <= start + 1e-9 for (_, end), (start, _) in pairwise(spans))
        assert len(got.spans) == len(ops)
        assert got.makespan_ms >= max(got.busy_ms(s.engine) for s in got.spans) - 1e-9


@pytest.mark.parametrize(("ops", "said"), [
    ([Op("a", "warp", 0, 1.0)], "no kind of operation"),
    ([Op("a", "kernel", 0, 1.0, after=("z",))], "waits for 'z'"),
    ([Op("w", "wait", 1, event="e")], "not recorded before"),
    ([Op("a", "kernel")], "has no time"),
    ([Op("a", "kernel", 0, -1.0)], "time runs forward"),
    ([Op("a", "kernel", 0, 1.0), Op("a", "kernel", 0, 1.0)], "two operations"),
])  # fmt: skip
def test_impossible_timelines_get_a_sentence(ops: list[Op], said: str) -> None:
    """Unknown kinds, events that never come, missing and negative times, names used twice."""
    with pytest.raises(TimelineError, match=said):
        timeline(ops)


@pytest.mark.parametrize(("op", "said"), [
    (Op("s", "sync", 1), "the host waits there"),
    (Op("in", "h2d", 1, 1.0, pageable=True), "the host waits there"),
    (Op("k", "kernel", 0, 1.0), "default stream"),
    (Op("work", "host", ms=1.0), "the host works there"),
])  # fmt: skip
def test_graphs_refuse_what_cannot_be_captured(op: Op, said: str) -> None:
    """Waits, copies that wait, the default stream, the host's own work."""
    with pytest.raises(TimelineError, match=said):
        timeline([Op("k0", "kernel", 1, 1.0), op], graph=True)


def test_nothing_takes_no_time() -> None:
    """An empty program has no makespan."""
    assert timeline([]).makespan_ms == 0


# -- races --------------------------------------------------------------------------

D = ("d", 0, 100)


def crossing(*between: Op, second: int = 2) -> list[Op]:
    """A copy to d in stream 1, then `between`, then a kernel on d in stream `second`."""
    return [Op("in", "h2d", 1, 1.0, writes=(D,)), *between,
            Op("k", "kernel", second, 1.0, reads=(D,))]  # fmt: skip


def test_streams_without_an_order_race() -> None:
    """Both parties, both streams, the memory, and what to do."""
    (race,) = races(crossing())
    assert str(race) == (
        "in (stream 1) writes d, k (stream 2) reads it, and nothing orders the two.\n"
        "  Record an event in stream 1 after in, and let stream 2 wait for it before k."
    )


@pytest.mark.parametrize("between", [
    (Op("r", "record", 1, event="e"), Op("w", "wait", 2, event="e")),
    (Op("s", "sync", 1),),
    (Op("s", "sync", -1),),
    (Op("r", "record", 1, event="e"), Op("s", "sync", event="e")),
    (Op("k0", "kernel", 0, 1.0),),
], ids=["event", "stream", "device", "host waits for event", "default stream"])  # fmt: skip
def test_what_orders_two_streams(between: tuple[Op, ...]) -> None:
    """Events, waits of the host, and an operation in the default stream between the two."""
    assert races(crossing(*between)) == []


def test_what_does_not_order_two_streams() -> None:
    """An event recorded too early, a wait in another stream, a per-thread default stream."""
    early = [Op("r", "record", 1, event="e"), *crossing(Op("w", "wait", 2, event="e"))]
    assert len(races(early)) == 1
    elsewhere = crossing(Op("r", "record", 1, event="e"), Op("w", "wait", 3, event="e"))
    assert len(races(elsewhere)) == 1
    assert len(races(crossing(Op("k0", "kernel", 0, 1.0)), legacy=False)) == 1
    assert races(crossing(second=1)) == []


def test_parts_that_do_not_touch_do_not_race() -> None:
    """Bytes decide, not names; two readers never race."""
    left = Op("a", "h2d", 1, 1.0, writes=(("d", 0, 50),))
    assert races([left, Op("b", "h2d", 2, 1.0, writes=(("d", 50, 100),))]) == []
    assert len(races([left, Op("b", "h2d", 2, 1.0, writes=(("d", 49, 100),))])) == 1
    readers = [Op("a", "kernel", 1, 1.0, reads=(D,)), Op("b", "kernel", 2, 1.0, reads=(D,))]
    assert races(readers) == []


def test_the_host_must_wait_for_what_it_reads() -> None:
    """A copy back that nobody waits for; not with a wait, nor with memory that is not pinned."""
    back = Op("out", "d2h", 1, 1.0, reads=(D,), writes=(("result", 0, 100),))
    (race,) = races([back])
    assert "writes result, and the host does not wait" in str(race)
    assert races([back], host=False) == []
    assert races([back, Op("s", "sync", 1)]) == []
    assert len(races([back, Op("s", "sync", 2)])) == 1
    held = Op("out", "d2h", 1, 1.0, writes=(("result", 0, 100),), pageable=True)
    assert races([held]) == []
