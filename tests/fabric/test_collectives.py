"""Collectives as rounds: right values for all sizes, published counts, and theory to the digit."""

import csv
from pathlib import Path

import numpy as np
import pytest

from warpwise.fabric import (
    FabricError,
    Link,
    Network,
    apply,
    cost,
    crossover,
    expected,
    halving_doubling,
    recursive_doubling,
    ring_all_gather,
    ring_all_reduce,
    ring_reduce_scatter,
    shares,
    theory,
    through_root,
    tree,
    two_level,
    two_level_theory,
)

LINK = Link(5.0, 10.0)
ANY = (ring_all_reduce, tree, through_root)
POWERS = (recursive_doubling, halving_doubling)
COUNTS = list(csv.DictReader(Path(__file__).with_name("counts.csv").read_text().splitlines()[1:]))
MADE = {"ring all-reduce": ring_all_reduce, "recursive doubling": recursive_doubling,
        "halving-doubling": halving_doubling}  # fmt: skip


@pytest.mark.parametrize("length", [0, 1, 5, 37, 64])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 8, 16])
def test_every_rank_ends_with_the_sum(n, length):
    draw = np.random.default_rng(n * 100 + length)
    arrays = [draw.integers(0, 99, length) for _ in range(n)]
    for make in (*ANY, *POWERS):
        if make in POWERS and n & (n - 1):
            continue
        for held in apply(make(n), arrays):
            np.testing.assert_array_equal(held, sum(arrays), err_msg=make.__name__)


@pytest.mark.parametrize(("nodes", "gpus"), [(1, 1), (1, 4), (4, 1), (2, 4), (3, 5), (8, 8)])
def test_two_levels_end_with_the_sum_too(nodes, gpus):
    draw = np.random.default_rng(7)
    arrays = [draw.integers(0, 99, 137) for _ in range(nodes * gpus)]
    for held in apply(two_level(nodes, gpus), arrays):
        np.testing.assert_array_equal(held, sum(arrays))


def test_no_contribution_is_added_twice():
    """Values alone would not show a rank added twice where another is zero."""
    for algorithm in (ring_all_reduce(5), halving_doubling(8), tree(6), two_level(2, 3)):
        powers = [np.full(algorithm.pieces, 10**rank) for rank in range(algorithm.ranks)]
        for held in apply(algorithm, powers):
            assert set(held) == {int("1" * algorithm.ranks)}


def test_the_halves_of_the_ring():
    held = list(shares(ring_reduce_scatter(4)))
    whole = frozenset(range(4))
    assert [row.index(whole) for row in held[-1]] == [1, 2, 3, 0]
    assert all(row.count(whole) == 1 for row in held[-1])
    assert len(held) == 1 + 3
    arrays = [np.arange(4) * (rank == (piece - 1) % 4) for rank, piece in enumerate([1, 2, 3, 0])]
    gathered = apply(ring_all_gather(4), arrays)
    assert all((row == gathered[0]).all() for row in gathered)


@pytest.mark.parametrize("row", COUNTS, ids=lambda r: f"{r['algorithm']}-{r['ranks']}")
def test_published_rounds_and_bytes(row):
    n = int(row["ranks"])
    made = cost(MADE[row["algorithm"]](n), Network(n, LINK), n * 1024)
    assert made.rounds == int(row["rounds"])
    assert set(made.sent / (n * 1024)) == {float(row["sent"])}
    closed = expected(row["algorithm"], n, 1)
    assert (closed.rounds, closed.bytes) == (int(row["rounds"]), float(row["sent"]))


def test_two_levels_against_a_flat_ring():
    """8 x 8: 1.75 K inside and 0.21875 K between, 28 rounds against 126."""
    size = 64 * 1024
    made = cost(two_level(8, 8), Network(64, LINK), size)
    assert made.rounds == 28
    assert set(made.sent / size) == {1.75 + 0.21875}
    assert cost(ring_all_reduce(64), Network(64, LINK), size).rounds == 126


@pytest.mark.parametrize("nbytes", [0, 8, 4096, 1 << 20])
@pytest.mark.parametrize("n", [2, 4, 8, 16])
def test_virtual_time_is_the_formula_s(n, nbytes):
    for make in (*ANY, *POWERS):
        algorithm = make(n)
        made = cost(algorithm, Network(n, LINK), n * nbytes)
        expected = theory(algorithm.name, n, n * nbytes, LINK)
        assert made.time == pytest.approx(expected, rel=1e-12), algorithm.name


@pytest.mark.parametrize(("nodes", "gpus"), [(2, 4), (8, 8), (3, 5)])
def test_two_levels_take_the_time_of_their_rings(nodes, gpus):
    inside, between = Link(3, 300), Link(10, 25)
    size = nodes * gpus * 4096
    made = cost(two_level(nodes, gpus), Network(nodes * gpus, inside, between, gpus), size)
    assert made.time == pytest.approx(two_level_theory(nodes, gpus, size, inside, between))


def test_a_thousand_ranks():
    made = cost(ring_all_reduce(1024), Network(1024, LINK), 1 << 26, item=4)
    assert made.rounds == 2046
    assert made.time == pytest.approx(theory("ring all-reduce", 1024, 1 << 26, LINK))


@pytest.mark.parametrize("n", [4, 8, 64])
def test_the_ring_wins_above_the_crossover_and_loses_below(n):
    size = crossover(n, LINK)
    for factor, wins in ((0.9, False), (1.1, True)):
        ring = theory("ring all-reduce", n, size * factor, LINK)
        assert (ring < theory("recursive doubling", n, size * factor, LINK)) is wins
    at = [theory(name, n, size, LINK) for name in ("ring all-reduce", "recursive doubling")]
    assert at[0] == pytest.approx(at[1])


def test_two_ranks_never_cross():
    """One round of K against two of K / 2: recursive doubling saves a latency at any size."""
    assert crossover(2, LINK) == float("inf")


def test_a_straggler_holds_up_everybody():
    late = [0.0, 0.5, 0.0, 0.0]
    made = cost(ring_all_reduce(4), Network(4, LINK), 4096, start=late)
    alone = cost(ring_all_reduce(4), Network(4, LINK), 4096).time
    assert made.seconds == pytest.approx([0.5 + alone] * 4)


def test_one_slow_link_sets_the_pace_of_the_ring():
    slow = Link(5.0, 1.0)
    network = Network(4, LINK, links={(2, 3): slow})
    made = cost(ring_all_reduce(4), network, 1 << 22)
    assert made.time == pytest.approx(theory("ring all-reduce", 4, 1 << 22, slow), rel=1e-3)


def test_uneven_pieces_are_whole_items():
    assert list(ring_all_reduce(4).sizes(4 * 10, 4)) == [12, 12, 8, 8]
    with pytest.raises(FabricError, match="10 bytes are no whole number of items of 4"):
        ring_all_reduce(4).sizes(10, 4)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: ring_all_reduce(0), "ranks is at least 1, not 0"),
        (lambda: recursive_doubling(6), "power of 2; 6 ranks are none"),
        (lambda: halving_doubling(12), "power of 2"),
        (lambda: two_level(0, 4), "nodes is at least 1, not 0"),
        (lambda: expected("magic", 4, 1), "known are ring all-reduce"),
        (lambda: expected("recursive doubling", 6, 1), "power of 2; 6 ranks are none"),
        (lambda: theory("magic", 4, 1, LINK), "no formula for 'magic'"),
        (lambda: cost(ring_all_reduce(4), Network(5, LINK), 8), "4 ranks, the network 5"),
        (lambda: cost(ring_all_reduce(2), Network(2, LINK), 8, start=[1.0]), "1 times for 2 ranks"),
        (lambda: apply(ring_all_reduce(2), [np.ones(3)]), "1 arrays for 2 ranks"),
        (lambda: Link(-1, 1), "latency_us is a number from 0, not -1"),
        (lambda: Link(1, 0), "gbs is a number above 0, not 0"),
        (lambda: Network(0, LINK), "ranks is at least 1, not 0"),
        (lambda: Network(6, LINK, LINK, 4), "nodes of 4 do not divide 6 ranks"),
        (lambda: Network(6, LINK, node=3), "needs both"),
        (lambda: Network(2, LINK, links={(0, 2): LINK}), "no link 0 to 2"),
    ],
)
def test_bad_input_gets_a_sentence(make, said):
    with pytest.raises(FabricError, match=said):
        make()
