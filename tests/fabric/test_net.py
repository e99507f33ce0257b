"""Virtual clocks on real ranks: the same digits as theory, with stragglers, slept or not."""

import time

import pytest
import torch

from warpwise.fabric import (
    FabricError,
    Link,
    Net,
    Network,
    cost,
    recursive_doubling,
    ring_all_reduce,
    theory,
)
from warpwise.fabric.trace import of_events
from warpwise.ranks import run_ranks

LINK = Link(5.0, 10.0)
LENGTH = 4000  # float64 numbers: 8000 bytes a piece on 4 ranks


def ring(n, late=0.0):
    net = Net(Network(n, LINK))
    if net.rank == 1:
        net.compute(late, "late")
    x = torch.arange(LENGTH, dtype=torch.float64) * (net.rank + 1)
    parts = list(x.chunk(n))
    buffer = torch.empty_like(parts[0])
    rank, right, left = net.rank, (net.rank + 1) % n, (net.rank - 1) % n
    for step in range(n - 1):
        net.sendrecv(parts[(rank - step) % n], right, buffer, left)
        parts[(rank - step - 1) % n] += buffer
    for step in range(n - 1):
        net.sendrecv(parts[(rank + 1 - step) % n], right, buffer, left)
        parts[(rank - step) % n].copy_(buffer)
    right_sum = torch.arange(LENGTH, dtype=torch.float64) * sum(range(1, n + 1))
    assert torch.equal(torch.cat(parts), right_sum)
    return net.now, [vars(event) for event in net.events]


def doubling(n):
    net = Net(Network(n, LINK))
    x = torch.full((LENGTH,), float(net.rank), dtype=torch.float64)
    came = torch.empty_like(x)
    for bit in range(n.bit_length() - 1):
        net.sendrecv(x, net.rank ^ (1 << bit), came, net.rank ^ (1 << bit))
        x += came
    assert (x == sum(range(n))).all()
    return net.now


def test_a_ring_by_hand_takes_the_time_of_theory():
    values = run_ranks(lambda: ring(4), 4).values
    expected = theory("ring all-reduce", 4, LENGTH * 8, LINK)
    assert [now for now, _ in values] == pytest.approx([expected] * 4, rel=1e-12)


def test_doubling_by_hand_takes_the_time_of_theory():
    expected = theory("recursive doubling", 4, LENGTH * 8, LINK)
    assert run_ranks(lambda: doubling(4), 4).values == pytest.approx([expected] * 4, rel=1e-12)
    assert cost(recursive_doubling(4), Network(4, LINK), LENGTH * 8).time == pytest.approx(expected)


def test_a_straggler_is_the_same_on_ranks_and_in_rounds():
    late = 1e-4
    values = run_ranks(lambda: ring(4, late), 4).values
    made = cost(ring_all_reduce(4), Network(4, LINK), LENGTH * 8, 8, start=[0, late, 0, 0])
    assert [now for now, _ in values] == pytest.approx(list(made.seconds), rel=1e-12)


def test_a_send_waits_for_the_way_out_and_a_receive_for_its_stamp():
    def work():
        net = Net(Network(3, LINK))
        one = torch.zeros(1250)  # 5000 bytes: 0.5 us after 5 us
        if net.rank == 0:
            net.send(one, 1)
            net.send(one, 2)
        else:
            net.recv(one, 0)
        net.barrier()
        return net.now, net.events[0].end

    values = run_ranks(work, 3).values
    assert [end for _, end in values] == pytest.approx([5.5e-6, 5.5e-6, 11e-6])
    assert [now for now, _ in values] == pytest.approx([11e-6] * 3)


def test_slept_time_is_felt():
    def work():
        net = Net(Network(2, Link(20_000, 1.0)), mode="slept")
        begun = time.monotonic()
        one = torch.zeros(1)
        if net.rank == 0:
            net.send(one, 1)
        else:
            net.recv(one, 0)
        return net.now, time.monotonic() - begun

    for now, felt in run_ranks(work, 2).values:
        assert now == pytest.approx(0.02, rel=1e-3)
        assert felt >= 0.019


def test_a_run_becomes_a_chrome_trace(tmp_path):
    import json

    from warpwise.fabric import Event
    from warpwise.fabric.trace import write

    values = run_ranks(lambda: ring(2), 2).values
    events = {rank: [Event(**event) for event in done] for rank, (_, done) in enumerate(values)}
    path = write(tmp_path / "ring.json", of_events(events))
    read = json.loads(path.read_text())
    spans = [event for event in read["traceEvents"] if event["ph"] == "X"]
    assert {span["name"] for span in spans} == {"send", "recv", "late"}
    assert max(span["ts"] + span["dur"] for span in spans) == pytest.approx(values[0][0] * 1e6)
    names = [e["args"]["name"] for e in read["traceEvents"] if e["name"] == "process_name"]
    assert names == ["rank 0", "rank 1"]
    assert read["otherData"] == {"label": "modelled"}


def test_bad_input_gets_a_sentence():
    def wrong_size():
        Net(Network(3, LINK))

    with pytest.raises(Exception, match="the network has 3 ranks, the process group 2"):
        run_ranks(wrong_size, 2)

    def wrong_mode():
        Net(Network(1, LINK), mode="quick")

    with pytest.raises(Exception, match="virtual or slept, not 'quick'"):
        run_ranks(wrong_mode, 1)

    def backwards():
        try:
            Net(Network(1, LINK)).compute(-1)
        except FabricError as error:
            return str(error)

    assert run_ranks(backwards, 1).values == ["compute is a number from 0, not -1."]


def test_ledgers_leave_the_clocks_out():
    ledger = run_ranks(lambda: ring(4), 4).ledger
    assert ledger.of("send").bytes == [6 * LENGTH * 8 // 4] * 4
    assert ledger.of("send").calls == [6] * 4
    assert ledger.against("ring all-reduce", LENGTH * 8).agrees
