"""Host programs written down: calls, streams, memory, and what pinning changes."""

from __future__ import annotations

import json

import numpy as np
import pytest

from warpwise.answers import host_ops, ops_of, recorded
from warpwise.hardware import races, timeline
from warpwise.simt import api as cuda
from warpwise.simt import host_log


@cuda.jit
def double(out, x):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = 2 * x[i]


def in_streams(parts, results):
    streams = [cuda.stream() for _ in range(2)]
    with cuda.pinned(*parts, *results):
        for k, (part, result) in enumerate(zip(parts, results, strict=True)):
            s = streams[k % 2]
            d = cuda.to_device(part, stream=s)
            o = cuda.device_array(part.shape, part.dtype, stream=s)
            double[4, 32, s](o, d)
            o.copy_to_host(result, stream=s)
        cuda.synchronize()


def handed_over(x, out, ordered):
    a, b = cuda.stream(), cuda.stream()
    ready = cuda.event(timing=False)
    with cuda.pinned(x, out):
        d = cuda.to_device(x, stream=a)
        ready.record(a)
        if ordered:
            ready.wait(b)
        double[4, 32, b](d, d)
        d.copy_to_host(out, stream=b)
        b.synchronize()


def arrays(n=100, parts=4):
    x = np.arange(n * parts, dtype=np.float32)
    out = np.zeros_like(x)
    return x, out, np.split(x, parts), np.split(out, parts)


def test_calls_are_written_down_and_done() -> None:
    """Three calls a part, in two streams, on the memory of that part; results are right."""
    x, out, parts, results = arrays()
    ops = host_ops(in_streams, parts, results)
    assert np.array_equal(out, 2 * x)
    assert [(op.name, op.stream) for op in ops[:6]] == [
        ("h2d 0", 1), ("double 0", 1), ("d2h 0", 1), ("h2d 1", 2), ("double 1", 2), ("d2h 1", 2),
    ]  # fmt: skip
    assert ops[0].reads == (("parts[0]", 0, 400),) and ops[0].nbytes == 400
    assert ops[1].reads == ops[0].writes == (("device parts[0]", 0, 400),)
    assert ops[2].writes == (("results[0]", 0, 400),)
    assert (ops[-1].kind, ops[-1].stream) == ("sync", -1)
    assert not any(op.pageable for op in ops)
    assert races(ops) == []


def test_an_event_orders_two_streams() -> None:
    """The same program with and without the wait."""
    x, out, *_ = arrays()
    assert races(host_ops(handed_over, x, out, True)) == []
    (first, *_) = races(host_ops(handed_over, x, out, False))
    assert (first.first.name, first.second.name) == ("h2d 0", "double 0")


def test_host_arrays_are_copied_at_every_launch() -> None:
    """Without device arrays each launch copies both arrays there and back, and the host waits."""

    def twice(x, out):
        double[4, 32](out, x)
        double[4, 32](out, x)

    x, out, *_ = arrays(25)
    ops = host_ops(twice, x, out)
    kinds = [op.kind for op in ops]
    assert kinds == ["h2d", "h2d", "kernel", "d2h", "d2h"] * 2
    assert all(op.pageable and op.holds_host for op in ops if op.kind != "kernel")


def test_hints_say_which_copies_are_made() -> None:
    """cuda.In and cuda.Out leave one direction out."""

    def hinted(x, out):
        double[4, 32](cuda.Out(out), cuda.In(x))

    x, out, *_ = arrays(25)
    assert [op.kind for op in host_ops(hinted, x, out)] == ["h2d", "kernel", "d2h"]


def test_a_stream_kept_in_the_array_is_used() -> None:
    """A device array made with a stream copies back in it."""

    def kept(x):
        s = cuda.stream()
        d = cuda.to_device(x, stream=s)
        return d.copy_to_host()

    assert [op.stream for op in host_ops(kept, arrays()[0])] == [1, 1]


def test_slices_are_parts_of_one_array() -> None:
    """Copies into the halves of a device array, and a kernel on the whole."""

    def halves(x, out):
        a, b = cuda.stream(), cuda.stream()
        with cuda.pinned(x, out):
            d = cuda.device_array(x.shape, x.dtype)
            d[:50].copy_to_device(x[:50], stream=a)
            d[50:].copy_to_device(x[50:], stream=b)
            double[4, 32, b](d, d)
            d.copy_to_host(out, stream=b)
            b.synchronize()

    ops = host_ops(halves, *arrays(25)[:2])
    names = {place[0] for op in ops for place in op.reads + op.writes}
    assert len(names) == 3
    assert [(r.first.name, r.second.name) for r in races(ops)] == [
        ("h2d 0", "double 0"), ("h2d 0", "d2h 0"),
    ]  # fmt: skip


def test_freed_arrays_do_not_share_a_name() -> None:
    """Each round's array is an array of its own, though Python could use its memory again."""

    def rounds(x):
        with cuda.pinned(x):
            for _ in range(6):
                cuda.to_device(x, stream=cuda.stream())
            cuda.synchronize()

    ops = host_ops(rounds, arrays()[0])
    assert len({op.writes[0][0] for op in ops[:6]}) == 6
    assert races(ops) == []


def test_pinned_arrays_stay_pinned_and_others_are_not() -> None:
    """pinned_array, its slices, the `with` block, and a plain array."""
    mine = cuda.pinned_array(10, np.float32)
    plain = np.zeros(10, np.float32)
    assert host_log.is_pinned(mine) and host_log.is_pinned(mine[2:5])
    assert not host_log.is_pinned(plain)
    with cuda.pinned(plain):
        assert host_log.is_pinned(plain[1:])
    assert not host_log.is_pinned(plain)


def test_nothing_is_told_when_nobody_listens() -> None:
    """Without a listener nothing is kept, and a listener hears nothing afterwards."""
    host_ops(in_streams, *arrays()[2:])
    assert not host_log.listening() and host_log._kept == []


def test_a_recording_survives_json() -> None:
    """Calls and arrays as plain data, and the same timeline from them."""
    _, out, parts, results = arrays()
    direct = host_ops(in_streams, parts, results)
    got = recorded(in_streams)(parts, results)
    assert np.array_equal(np.concatenate(got["arrays"][4:]), out)
    back = ops_of(json.loads(json.dumps(got["calls"])))
    assert back == direct
    assert timeline(back).makespan_ms == pytest.approx(timeline(direct).makespan_ms)


def test_single_elements_are_copies_too() -> None:
    """Reading an element, and storing into a part: the host waits for both."""

    def elements(x):
        d = cuda.to_device(x)
        d[2:4] = 7
        return d[3]

    ops = host_ops(elements, arrays()[0])
    assert [(op.kind, op.holds_host) for op in ops] == [("h2d", True), ("h2d", True), ("d2h", True)]
    assert ops[1].writes == (("device x", 8, 16),) and ops[2].reads == (("device x", 12, 16),)


def test_empty_copies_take_no_time() -> None:
    """An array without elements is copied at once."""

    def nothing(x):
        cuda.to_device(x, stream=cuda.stream())

    assert timeline(host_ops(nothing, np.zeros(0, np.float32)), launch_us=3).makespan_ms == 0.003


@pytest.mark.parametrize("change", [
    {"nbytes": float("nan")}, {"nbytes": -1}, {"ms": "1"}, {"stream": "a"}, {"reads": [1]},
    {"pageable": 3}, {"name": None}, {"colour": 1},
])  # fmt: skip
def test_what_is_no_recording_is_refused(change: dict[str, object]) -> None:
    """Data that no recording gives: an error of a known kind, never a timeline."""
    call = recorded(in_streams)(*arrays()[2:])["calls"][0]
    with pytest.raises((TypeError, ValueError, KeyError)):
        ops_of([{**call, **change}])
