"""Buckets and prefetch: exposed time against what can be counted by hand."""

import pytest

from warpwise.fabric.schedules import Layer, ScheduleError, buckets, ddp, fsdp

MIB = 1 << 20
LAYERS = [Layer(1, 2, 10 * MIB)] * 6


def network(nbytes):
    return 0.25 + nbytes / (10 * MIB)


def test_buckets_close_once_they_hold_their_cap_and_the_first_closes_early():
    assert buckets(LAYERS, 25 * MIB) == [[5, 4, 3], [2, 1, 0]]
    assert buckets(LAYERS, 25 * MIB, first=MIB) == [[5], [4, 3, 2], [1, 0]]
    assert buckets(LAYERS, 1) == [[5], [4], [3], [2], [1], [0]]


def test_only_the_last_bucket_is_exposed_when_the_network_keeps_up():
    step = ddp(LAYERS, network, cap=1, first=None)
    assert (step.compute, step.network) == (18, 6 * 1.25)
    assert step.exposed == 1.25


def test_one_bucket_hides_nothing():
    step = ddp(LAYERS, network, cap=1e18, first=None)
    assert step.exposed == step.network == 6.25
    assert ddp(LAYERS, network, cap=1, first=None, overlap=False).exposed == 7.5


def test_too_small_buckets_pay_the_latency_of_each():
    slow = lambda nbytes: 4 + nbytes / (10 * MIB)  # noqa: E731
    exposed = [ddp(LAYERS, slow, cap * MIB, None).exposed for cap in (1, 20, 30, 60)]
    assert exposed == [20, 10, 8, 10]  # by hand: neither the smallest nor the largest is best


def test_a_shard_asked_for_late_is_waited_for():
    step = fsdp(LAYERS, network, network, prefetch=0)
    assert step.peak_layers == 1
    # Six gathers before the forwards, five before the backwards: the last layer is still there.
    assert step.network == 6 * 1.25 + 5 * 1.25 + 6 * 1.25


def test_prefetching_hides_gathers_and_holds_more_layers():
    steps = [fsdp(LAYERS, network, network, prefetch=n) for n in (0, 1, 2)]
    assert [step.peak_layers for step in steps] == [1, 2, 3]
    assert steps[0].exposed > steps[1].exposed > steps[2].exposed > 0
    assert len({step.network for step in steps}) == 1


def test_without_resharding_the_backward_gathers_nothing_and_all_layers_stay():
    step = fsdp(LAYERS, network, network, prefetch=1, reshard=False)
    assert step.network == 12 * 1.25
    assert step.peak_layers == 6


def test_what_makes_no_step_is_refused():
    with pytest.raises(ScheduleError, match="at least one layer"):
        ddp([], network)
    with pytest.raises(ScheduleError, match="prefetch is at least 0, not -1"):
        fsdp(LAYERS, network, network, prefetch=-1)
