"""Specs of the lab t3_04_topologies."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ...fabric import Link, Network, two_level_theory
from ..cases import Level
from ..ranked import Limits, World, ranks_spec
from ..spec import FunctionSpec

UNIT = "t3_04_topologies"

Array = np.ndarray[Any, Any]
Messages = list[tuple[int, int]]


# -- partners ----------------------------------------------------------------------------------


def partner_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[int, int]]:
    """All ranks of small worlds, some of large ones."""
    yield from ((rank, n) for n in (8, 1, 2, 4) for rank in range(n))
    for bits in (6, 10) + ((13,) if level == "grader" else ()):
        yield int(rng.integers(1 << bits)), 1 << bits


def _rounds(n: int) -> range:
    return range(n.bit_length() - 1)


PARTNERS = FunctionSpec(
    "partners", UNIT, 1, partner_inputs, lambda rank, n: [rank ^ (1 << k) for k in _rounds(n)],
    suspects={
        "farthest_first": lambda rank, n: [rank ^ (1 << k) for k in _rounds(n)][::-1],
        "sum_for_xor": lambda rank, n: [(rank + (1 << k)) % n for k in _rounds(n)],
        "round_for_bit": lambda rank, n: [rank ^ k for k in range(1, n.bit_length())],
        "one_round_missing": lambda rank, n: [rank ^ (1 << k) for k in _rounds(n)][:-1],
        "one_round_more": lambda rank, n: [rank ^ (1 << k) for k in range(n.bit_length())],
        "all_others": lambda rank, n: [other for other in range(n) if other != rank],
    },
    causes={
        "farthest_first": "The partners are right, but the farthest comes first.",
        "sum_for_xor": "The partner's partner must be the rank itself: adding goes round a ring.",
        "round_for_bit": "The number of the round is taken for the bit.",
        "one_round_missing": "The last round is missing.",
        "one_round_more": "There is a round too many: that partner does not exist.",
        "all_others": "These are all other ranks.",
    },
    hints={
        "farthest_first": ("Who comes in round 0?", "The neighbour: bit 0 first."),
        "sum_for_xor": (
            "Who is the partner of rank 5's partner?",
            "Turn a bit over: rank ^ (1 << k).",
        ),
        "round_for_bit": ("Which bits have 1, 2, 4?", "rank ^ (1 << k)."),
        "one_round_missing": ("How many rounds have 8 ranks?", "3: k = 0, 1, 2."),
        "one_round_more": ("How many rounds have 8 ranks?", "3: k = 0, 1, 2."),
        "all_others": ("How many rounds have 8 ranks?", "3, with a partner each."),
    },
)  # fmt: skip


# -- meeting_bytes -----------------------------------------------------------------------------


def meeting_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[int, float, float]]:
    """Small and large worlds, and two ranks, where they never meet."""
    yield 8, 5.0, 25.0
    for n in (4, 2, 16, 64, 1024):
        yield n, float(rng.integers(1, 200)) / 10, float(rng.integers(10, 4000)) / 10


def meeting(n: int, alpha_us: float, gbs: float) -> float:
    """2 (n-1) alpha + 2 (n-1)/n K/B = log2 n (alpha + K/B), solved for K."""
    steps = n.bit_length() - 1
    fewer = steps - 2 * (n - 1) / n
    return alpha_us * gbs * 1e3 * (2 * (n - 1) - steps) / fewer if fewer else math.inf


def _met(rounds: Any, arrays: Any) -> Any:
    """A meeting point with other differences of rounds and of arrays."""

    def mistaken(n: int, alpha_us: float, gbs: float) -> float:
        steps = n.bit_length() - 1
        fewer = arrays(n, steps)
        return alpha_us * 1e3 * gbs * rounds(n, steps) / fewer if fewer else math.inf

    return mistaken


MEETING_BYTES = FunctionSpec(
    "meeting_bytes", UNIT, 2, meeting_inputs, meeting,
    suspects={
        "latency_of_doubling_free": _met(
            lambda n, s: 2 * (n - 1), lambda n, s: s - 2 * (n - 1) / n
        ),
        "half_a_ring": _met(lambda n, s: n - 1 - s, lambda n, s: s - (n - 1) / n),
        "ring_sends_twice": _met(lambda n, s: 2 * (n - 1) - s, lambda n, s: s - 2),
        "in_seconds": lambda n, alpha_us, gbs: meeting(n, alpha_us, gbs) * 1e6,
        "in_kilobytes": lambda n, alpha_us, gbs: meeting(n, alpha_us, gbs) / 1e3,
        "upside_down": _met(lambda n, s: s - 2 * (n - 1) / n, lambda n, s: 2 * (n - 1) - s),
    },
    causes={
        "latency_of_doubling_free": "The rounds of recursive doubling are not taken off.",
        "half_a_ring": "The ring is counted with one of its halves.",
        "ring_sends_twice": "The ring is counted with 2 K; it sends 2 (n - 1)/n K.",
        "in_seconds": "The latency is taken in seconds; it is given in us.",
        "in_kilobytes": "These are kilobytes.",
        "upside_down": "Rounds and arrays are exchanged in the quotient.",
    },
    hints={
        "latency_of_doubling_free": (
            "How many rounds does the ring need *more*?",
            "2 * (n - 1) - steps.",
        ),
        "half_a_ring": ("How many rounds has an all-reduce?", "2 * (n - 1), and both halves send."),
        "ring_sends_twice": ("What does a rank of a ring send?", "2 * (n - 1) / n arrays."),
        "in_seconds": ("Which unit has alpha_us?", "Multiply by 1e-6."),
        "in_kilobytes": ("Which unit is asked for?", "Bytes."),
        "upside_down": (
            "Does more latency make the meeting point larger?",
            "alpha * B * additional rounds / additional arrays.",
        ),
        "raised": ("What do two ranks send?", "The same bytes either way: return math.inf."),
    },
)  # fmt: skip


# -- two_level_bill ----------------------------------------------------------------------------


def bill_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[int, int, int, bool]]:
    """Shared and own cards; one machine; one GPU a machine."""
    for nodes, gpus in ((8, 8), (2, 8), (4, 2), (1, 8), (16, 1)):
        size = nodes * gpus * int(rng.integers(1, 1000))
        yield nodes, gpus, size, False
        yield nodes, gpus, size, True


def bill(nodes: int, gpus: int, nbytes: int, shared: bool) -> tuple[float, float, int]:
    """2 (g-1)/g K inside, 2 (m-1)/m K/g between for each GPU, 2 (g-1) + 2 (m-1) rounds."""
    between = 2 * (nodes - 1) * nbytes / (nodes * gpus)
    rounds = 2 * (gpus - 1) + 2 * (nodes - 1)
    return 2 * (gpus - 1) * nbytes / gpus, between * (gpus if shared else 1), rounds


TWO_LEVEL_BILL = FunctionSpec(
    "two_level_bill", UNIT, 2, bill_inputs, bill,
    suspects={
        "cards_always_shared": lambda nodes, gpus, nbytes, shared: bill(nodes, gpus, nbytes, True),
        "whole_array_between": lambda nodes, gpus, nbytes, shared: (
            bill(nodes, gpus, nbytes, shared)[0],
            bill(nodes, gpus, nbytes * gpus, shared)[1],
            bill(nodes, gpus, nbytes, shared)[2],
        ),
        "cards_never_shared": lambda nodes, gpus, nbytes, shared: bill(nodes, gpus, nbytes, False),
        "one_half_inside": lambda nodes, gpus, nbytes, shared: (
            bill(nodes, gpus, nbytes, shared)[0] / 2, bill(nodes, gpus, nbytes, shared)[1],
            bill(nodes, gpus, nbytes, shared)[2] - (gpus - 1),
        ),
        "rounds_of_one_ring": lambda nodes, gpus, nbytes, shared: (
            *bill(nodes, gpus, nbytes, shared)[:2], 2 * (nodes * gpus - 1)
        ),
        "one_way_between": lambda nodes, gpus, nbytes, shared: (
            bill(nodes, gpus, nbytes, shared)[0], bill(nodes, gpus, nbytes, shared)[1] / 2,
            bill(nodes, gpus, nbytes, shared)[2] - (nodes - 1),
        ),
    },
    causes={
        "whole_array_between": "The whole array is sent between machines; a GPU sends its piece.",
        "cards_never_shared": "A shared card carries the bytes of all GPUs of its machine.",
        "cards_always_shared": "A card of its own carries the bytes of one GPU.",
        "one_half_inside": "Inside there are two steps, a reduce-scatter and an all-gather.",
        "rounds_of_one_ring": "These are the rounds of one ring through all GPUs.",
        "one_way_between": "Between machines it is a whole all-reduce, of two halves.",
    },
    hints={
        "whole_array_between": ("What has a GPU after step 1?", "One piece: nbytes / gpus."),
        "cards_never_shared": ("Who else uses the card?", "Times gpus if shared."),
        "cards_always_shared": ("Who else uses the card?", "Times gpus only if shared."),
        "one_half_inside": ("What happens in step 3?", "An all-gather inside: twice."),
        "rounds_of_one_ring": (
            "How many rounds has each step?",
            "2 * (gpus - 1) + 2 * (nodes - 1).",
        ),
        "one_way_between": (
            "Which operation is step 2?",
            "An all-reduce: 2 * (nodes - 1) / nodes of a piece.",
        ),
    },
)  # fmt: skip


# -- doubling_sum ------------------------------------------------------------------------------


def doubling_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """Powers of two and others."""
    for n, shape in ((3, (2,)), (4, (3,)), (5, (2, 2)), (2, (1,)))[: 4 if level == "grader" else 3]:
        yield World(tuple((rng.random(shape) + k,) for k in range(n)))


def _own(world: World) -> list[Array]:
    return [args[0] for args in world.args]


def _total(world: World) -> list[Array]:
    return [np.asarray(np.sum(_own(world), axis=0))] * world.ranks


def _extra(world: World) -> int:
    """The first extra rank."""
    return 1 << (world.ranks.bit_length() - 1)


def _extra_left_out(world: World) -> list[Array]:
    """The first p ranks sum without the extra ones, which keep theirs."""
    p = _extra(world)
    return [
        np.sum(_own(world)[:p], axis=0) if r < p else _own(world)[r] for r in range(world.ranks)
    ]


def _extra_not_told(world: World) -> list[Array]:
    """The sum is right, but the extra ranks do not get it."""
    return [_total(world)[r] if r < _extra(world) else _own(world)[r] for r in range(world.ranks)]


def _doubling_rounds(world: World) -> int:
    p = _extra(world)
    return p.bit_length() - 1 + 2 * (world.ranks > p)


DOUBLING_SUM = ranks_spec(
    "doubling_sum", UNIT, 3, doubling_worlds, _total, ("x",),
    Limits(by_hand=True, most_rounds=_doubling_rounds),
    suspects={
        "extra_left_out": _extra_left_out,
        "extra_not_told": _extra_not_told,
        "not_summed": _own,
    },
    causes={
        "extra_left_out": "The extra ranks take no part.",
        "extra_not_told": "The extra ranks gave their arrays, and did not get the sum.",
        "not_summed": "Every rank still has its own array.",
        "too_many_rounds": "Recursive doubling needs log2 p rounds, and two for extra ranks.",
    },
    hints={
        "extra_left_out": (
            "Who adds the array of rank 2, of 3?",
            "Rank 0 receives it and adds it, before the doubling begins.",
        ),
        "extra_not_told": (
            "Who tells rank 2 the result?",
            "Rank 0 sends it the sum after the last round.",
        ),
        "not_summed": ("What do you return?", "The total, not x."),
        "rank_failed": (
            "Which partner does not exist?",
            "Double only among the first p ranks: while bit < p.",
        ),
        "hang": (
            "Which two ranks wait for each other, and in which call?",
            "Every send needs its receive: extra rank r talks to r - p only, first giving, then "
            "taking.",
        ),
        "too_many_rounds": (
            "How many numbers of parts does a rank have after each round?",
            "Twice as many: exchange with rank ^ bit, isend first.",
        ),
    },
)  # fmt: skip


# -- busiest_card ------------------------------------------------------------------------------


def card_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[Messages, int, int]]:
    """Inside only; a ring; doubling; all to one; random pairs."""
    yield [(0, 1), (1, 2), (0, 3), (2, 0)], 10, 2
    yield [(0, 1), (2, 3)], 7, 2
    yield [], 7, 2
    yield [(r, (r + 1) % 12) for r in range(12)], 100, 4
    yield [(r, r ^ 4) for r in range(8)], 100, 4
    yield [(r, 0) for r in range(1, 12)], int(rng.integers(1, 99)), 3
    yield [(0, r) for r in range(1, 12)], int(rng.integers(1, 99)), 3
    for count in (20, 60):
        pairs = rng.integers(0, 24, (count, 2))
        yield [(int(a), int(b)) for a, b in pairs if a != b], int(rng.integers(1, 99)), 4


def ways(messages: Messages, gpus: int) -> list[tuple[str, int]]:
    """Every way that a message takes through a card."""
    found = []
    for source, destination in messages:
        if source // gpus != destination // gpus:
            found += [("out", source // gpus), ("in", destination // gpus)]
    return found


def busiest(messages: Messages, nbytes: int, gpus: int) -> int:
    """The most frequent way, in bytes."""
    found = ways(messages, gpus)
    return max((found.count(way) for way in found), default=0) * nbytes


def _of(only: str) -> Any:
    def mistaken(messages: Messages, nbytes: int, gpus: int) -> int:
        found = [way for way in ways(messages, gpus) if way[0] == only]
        return max((found.count(way) for way in found), default=0) * nbytes

    return mistaken


def _both_ways(messages: Messages, nbytes: int, gpus: int) -> int:
    found = [machine for _, machine in ways(messages, gpus)]
    return max((found.count(machine) for machine in found), default=0) * nbytes


def _pairs(messages: Messages, nbytes: int, gpus: int) -> int:
    found = [(a // gpus, b // gpus) for a, b in messages if a // gpus != b // gpus]
    return max((found.count(pair) for pair in found), default=0) * nbytes


BUSIEST_CARD = FunctionSpec(
    "busiest_card", UNIT, 2, card_inputs, busiest,
    suspects={
        "out_only": _of("out"),
        "in_only": _of("in"),
        "both_ways_together": _both_ways,
        "pairs_of_machines": _pairs,
        "all_that_cross": lambda messages, nbytes, gpus: len(ways(messages, gpus)) // 2 * nbytes,
        "inside_counted": lambda messages, nbytes, gpus: nbytes * max(
            (sum(a // gpus == m for a, _ in messages) for m in range(100)), default=0
        ),
        "in_messages": lambda messages, nbytes, gpus: busiest(messages, 1, gpus),
    },
    causes={
        "out_only": "Only what leaves machines is counted; many may send to one.",
        "in_only": "Only what comes into machines is counted; one may send to many.",
        "both_ways_together": "Out and in are added up; a card carries both at the same time.",
        "pairs_of_machines": "Messages are counted by pairs of machines; a card serves all pairs "
        "of its machine.",
        "all_that_cross": "All messages between machines are added up, over all cards.",
        "inside_counted": "Messages inside a machine are counted; they do not use the card.",
        "in_messages": "These are messages, not bytes.",
    },
    hints={
        "out_only": ("What if eleven GPUs send to GPU 0?", "Count the ways in as well."),
        "in_only": ("What if GPU 0 sends to eleven?", "Count the ways out as well."),
        "both_ways_together": (
            "Is out slower when something comes in?",
            "No: keep out and in apart.",
        ),
        "pairs_of_machines": (
            "How many cards has a machine with three neighbours?",
            "One: count by machine, out and in.",
        ),
        "all_that_cross": ("Do all use the same card?", "Count for each machine."),
        "inside_counted": ("Which way does a message inside take?", "Leave it out."),
        "in_messages": ("How large is a message?", "Multiply by nbytes."),
    },
)  # fmt: skip


# -- two_level_sum -----------------------------------------------------------------------------

INSIDE, BETWEEN = Link(1.0, 100.0), Link(10.0, 1.0)


def level_worlds(rng: np.random.Generator, level: Level) -> Iterator[World]:
    """Machines and GPUs in different numbers."""
    for nodes, gpus in ((2, 2), (2, 3), (3, 2), (4, 1))[: 4 if level == "grader" else 2]:
        n = nodes * gpus
        network = Network(n, INSIDE, BETWEEN, gpus)
        args = tuple((rng.random(n * 1000) + k, gpus) for k in range(n))
        yield World(args, network)


def level_seconds(world: World) -> float:
    """The formula of the two-level ring."""
    x, gpus = world.args[0]
    return two_level_theory(world.ranks // gpus, gpus, x.nbytes, INSIDE, BETWEEN)


def _machines_alone(world: World) -> list[Array]:
    gpus = world.args[0][1]
    x = _own(world)
    return [np.sum(x[r // gpus * gpus : r // gpus * gpus + gpus], axis=0) for r in range(len(x))]


TWO_LEVEL_SUM = ranks_spec(
    "two_level_sum", UNIT, 4, level_worlds, _total, ("x", "gpus", "net"),
    Limits(by_hand=True, most_seconds=level_seconds),
    suspects={"machines_alone": _machines_alone, "not_summed": _own},
    causes={
        "machines_alone": "Each machine has its own sum: the step between machines is missing.",
        "not_summed": "Every rank still has its own array.",
        "too_slow": "More bytes than one piece go between machines, or messages follow each other "
        "where they could go together.",
    },
    hints={
        "machines_alone": (
            "Who has the same piece in the other machine?",
            "The rank with the same place: run a ring of those ranks on your finished piece.",
        ),
        "not_summed": ("What comes out of the ring inside?", "Return torch.cat(pieces)."),
        "too_slow": (
            "How many bytes does a GPU send over the slow link?",
            "2 (m - 1)/m of its piece: cut the piece into as many parts as there are machines.",
        ),
        "hang": (
            "Do all ranks of a ring make the same number of steps?",
            "Check the lists of ranks: each rank stands in one ring inside and one between.",
        ),
    },
)  # fmt: skip

SPECS = [PARTNERS, MEETING_BYTES, TWO_LEVEL_BILL, DOUBLING_SUM, BUSIEST_CARD, TWO_LEVEL_SUM]
