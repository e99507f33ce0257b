"""Shared links: fair shares by hand, closed forms where nothing is shared, and ways."""

import numpy as np
import pytest

from warpwise.fabric import (
    FabricError,
    Link,
    Network,
    Topology,
    cost,
    fat_tree,
    island,
    nodes_on_a_switch,
    pcie_tree,
    preset,
    presets,
    rails,
    ring_all_reduce,
    theory,
    torus,
    two_level,
)
from warpwise.fabric.flows import Message, _shares, of, run

LINK = Link(4.0, 100.0)  # 1e5 bytes a microsecond
MB = 10**6


@pytest.mark.parametrize("n", [2, 4, 8, 16])
def test_a_ring_on_an_island_shares_nothing(n):
    ran = run(island(n, LINK), of(ring_all_reduce(n), n * MB))
    assert ran.time == pytest.approx(theory("ring all-reduce", n, n * MB, LINK))


def test_two_messages_on_one_link_get_half_each_and_the_rest_alone():
    """10 MB at half, then the other's 20 MB more alone: 4 + 200 + 200 us."""
    line = Topology("line", ["a", "b", "c"])
    line.join("a", "hub", Link(2, 100))
    line.join("b", "hub", Link(2, 1000))
    line.join("hub", "c", Link(2, 100))
    ran = run(line, [Message(0, 2, 10 * MB), Message(1, 2, 30 * MB)])
    assert ran.ends * 1e6 == pytest.approx([4 + 200, 4 + 200 + 200])
    assert ran.use(line)["hub", "c"] == pytest.approx(400 / 404)


def test_what_one_link_denies_another_message_may_take():
    """Max-min: 1 and 2 share the narrow link, 50 each; 3 takes the 150 left of the wide one."""
    net = Topology("wide and narrow", ["a", "b", "c"])
    net.join("a", "left", Link(0, 200))
    net.join("left", "b", Link(0, 100))
    net.join("left", "c", Link(0, 1000))
    ran = run(net, [Message(0, 1, 5 * MB), Message(2, 1, 5 * MB), Message(0, 2, 15 * MB)])
    assert ran.ends * 1e6 == pytest.approx([100, 100, 100])


def test_messages_wait_for_their_causes_and_their_start():
    ran = run(island(3, LINK), [Message(0, 1, MB), Message(1, 2, MB, (0,)),
                                Message(2, 0, MB, (), 1e-3), Message(0, 2, 0, (1,))])  # fmt: skip
    assert ran.starts * 1e6 == pytest.approx([0, 14, 1000, 28])
    assert ran.ends * 1e6 == pytest.approx([14, 28, 1014, 32])


def test_an_oversubscribed_tree_slows_what_crosses_it():
    full, thin = (fat_tree(8, 4, LINK, spines=1, oversubscribed=s) for s in (1, 4))
    across = [Message(g, g + 4, 4 * MB) for g in range(4)]
    assert run(full, across).time == pytest.approx(4e-6 + 40e-6)
    assert run(thin, across).time == pytest.approx(4e-6 + 160e-6)
    within = [Message(g, (g + 1) % 4, 4 * MB) for g in range(4)]
    assert run(thin, within).time == pytest.approx(2e-6 + 40e-6)


def test_rails_carry_a_two_level_all_reduce_at_full_speed():
    inside, card = Link(3, 300), Link(5, 25)
    ran = run(rails(2, 8, inside, card), of(two_level(2, 8), 16 * MB))
    alone = cost(two_level(2, 8), Network(16, inside, card, 8), 16 * MB).time
    assert ran.time == pytest.approx(alone)


def test_one_card_a_node_is_shared_by_its_gpus():
    shared = nodes_on_a_switch(2, 8, Link(3, 300), Link(5, 12.5))
    ran = run(shared, [Message(g, g + 8, MB) for g in range(8)])
    assert ran.time == pytest.approx(3e-6 + 5e-6 + 8 * MB / 12.5e9)


def test_ways():
    assert rails(2, 8, LINK, LINK).way(0, 8) == (("node0.gpu0", "rail0"), ("rail0", "node1.gpu0"))
    assert len(rails(2, 8, LINK, LINK).way(0, 9)) == 4
    assert [len(pcie_tree(8, LINK).way(0, other)) for other in (1, 2, 4)] == [2, 4, 5]
    grid = torus((4, 4), LINK)
    assert len(grid.links) == 2 * 2 * 16
    assert [len(grid.way(0, other)) for other in (1, 3, 5, 10)] == [1, 1, 2, 4]
    assert len(torus((2, 2), LINK).links) == 2 * 4
    assert torus((1, 3), LINK).way(0, 2) == (("gpu0_0", "gpu0_2"),)


def test_a_broken_link_is_gone_round_or_missed():
    grid = torus((4,), LINK)
    grid.cut("gpu0", "gpu1")
    assert len(grid.way(0, 1)) == 3
    grid.cut("gpu1", "gpu2")
    with pytest.raises(FabricError, match="no way from gpu0 to gpu1 in torus"):
        grid.way(0, 1)
    half = island(2, LINK)
    half.cut("gpu0", "switch", share=0.5)
    assert run(half, [Message(0, 1, MB)]).time == pytest.approx(4e-6 + 20e-6)


@pytest.mark.parametrize("one", presets(), ids=lambda one: one.name)
def test_presets_have_sources_and_carry_a_ring(one):
    assert all(number.source and number.how for number in one.numbers.values())
    assert {number.how for number in one.numbers.values()} <= {"printed", "derived", "assumed"}
    algorithm = ring_all_reduce(one.gpus)
    shared = run(one.topology(), of(algorithm, 1 << 24)).time
    # Shared links are never faster, but for the last steps of a ring that leave them idle.
    assert shared >= cost(algorithm, one.network, 1 << 24).time * 0.999


def test_links_of_the_presets():
    assert preset("dgx a100").link("inside").gbs == 300
    assert preset("DGX H100").link("inside").gbs == 450
    assert preset("2 nodes over 100G").link("between").gbs == 12.5
    with pytest.raises(FabricError, match="no machine 'DGX C64': there are DGX A100"):
        preset("DGX C64")


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: run(island(2, LINK), [Message(0, 0, 1)]), "from a GPU to itself"),
        (lambda: run(island(2, LINK), [Message(0, 1, 1, (5,))]), "message 5, which is none"),
        (lambda: run(island(2, LINK), [Message(0, 1, 1, (0,))]), "message 0 waits for ever"),
        (lambda: island(2, LINK).way(0, 2), "has 2 GPUs, none is 2"),
        (lambda: island(2, LINK).cut("gpu0", "gpu1"), "has no link gpu0 - gpu1"),
        (lambda: fat_tree(6, 4, LINK), "leaves of 4 do not divide 6 GPUs"),
    ],
)
def test_bad_input_gets_a_sentence(make, said):
    with pytest.raises(FabricError, match=said):
        make()


@pytest.mark.parametrize("distance", [1, 4, 8, 12, 16, 31, 32, 56])
def test_a_full_fat_tree_carries_every_shift(distance):
    """All to the GPU `distance` further: each at its link's full speed, whichever the spines."""
    link = Link(0, 100)
    made = [Message(gpu, (gpu + distance) % 64, 1e8) for gpu in range(64)]
    assert run(fat_tree(64, 8, link, spines=2), made).time == pytest.approx(1e-3)


def test_rates_are_max_min_fair():
    """Against water filling written otherwise: on random flows no rate differs."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        ways = (rng.random((6, 9)) < 0.35).astype(float)
        ways[rng.integers(6, size=9), np.arange(9)] = 1
        capacity = rng.uniform(1, 10, 6)
        rates = _shares(ways, capacity, np.ones(9, dtype=bool))
        assert rates == pytest.approx(filled(ways, capacity))


def filled(ways, capacity):
    """Raise all rates in small exact steps: to the next link that fills, one after the other."""
    rates, frozen = np.zeros(ways.shape[1]), np.zeros(ways.shape[1], dtype=bool)
    while not frozen.all():
        used, growing = ways @ rates, ways @ ~frozen
        step = min((c - u) / g for c, u, g in zip(capacity, used, growing, strict=True) if g)
        rates[~frozen] += step
        full = (capacity - ways @ rates) < 1e-9
        frozen |= (ways[full] > 0).any(axis=0)
    return rates
