"""All-reduce and its parts as rounds of messages, and what theory says they cost.

Sources: Thakur, Rabenseifner, Gropp, "Optimization of Collective Communication Operations in
MPICH", 2005 (recursive doubling, halving and doubling, ring); Patarasuk, Yuan, "Bandwidth optimal
all-reduce algorithms for clusters of workstations", 2009 (ring).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .inputs import real, whole
from .network import FabricError, Link
from .rounds import Algorithm, Round, messages


def ring_reduce_scatter(n: int) -> Algorithm:
    """n - 1 rounds round the ring: rank r ends with the whole of piece r + 1 (mod n)."""
    return Algorithm("ring reduce-scatter", _ranks(n), n, lambda: _ring(n, 0, add=True))


def ring_all_gather(n: int) -> Algorithm:
    """n - 1 rounds round the ring, from rank r holding piece r + 1 (mod n)."""
    return Algorithm("ring all-gather", _ranks(n), n, lambda: _ring(n, 1, add=False))


def ring_all_reduce(n: int) -> Algorithm:
    """Reduce-scatter, then all-gather: 2 (n - 1) rounds, 2 (n - 1) / n of the array a rank."""

    def rounds() -> Iterator[Round]:
        yield from _ring(n, 0, add=True)
        yield from _ring(n, 1, add=False)

    return Algorithm("ring all-reduce", _ranks(n), n, rounds)


def _ring(n: int, ahead: int, add: bool) -> Iterator[Round]:
    """In step s rank r sends piece r + ahead - s to its right neighbour."""
    ranks = np.arange(n)
    for step in range(n - 1):
        piece = (ranks + ahead - step) % n
        yield Round(ranks, (ranks + 1) % n, piece, piece + 1, add)


def recursive_doubling(n: int) -> Algorithm:
    """log2 n rounds: partners 1, 2, 4, ... apart exchange whole arrays.  n is a power of 2."""

    def rounds() -> Iterator[Round]:
        ranks = np.arange(n)
        for bit in range(power_of_two(n)):
            zeros = np.zeros(n, dtype=np.int64)
            yield Round(ranks, ranks ^ (1 << bit), zeros, zeros + 1, add=True)

    power_of_two(n)
    return Algorithm("recursive doubling", n, 1, rounds)


def halving_doubling(n: int) -> Algorithm:
    """Rabenseifner: halve the range reducing, double it gathering.  n is a power of 2."""

    def rounds() -> Iterator[Round]:
        ranks = np.arange(n)
        for bit in reversed(range(power_of_two(n))):
            partner = ranks ^ (1 << bit)
            # What is sent is the partner's half of the range both share so far.
            first = (partner >> bit) << bit
            yield Round(ranks, partner, first, first + (1 << bit), add=True)
        for bit in range(power_of_two(n)):
            first = (ranks >> bit) << bit
            yield Round(ranks, ranks ^ (1 << bit), first, first + (1 << bit), add=False)

    power_of_two(n)
    return Algorithm("halving-doubling", n, n, rounds)


def tree(n: int) -> Algorithm:
    """Reduce to rank 0 up a binomial tree, broadcast down the same: 2 ceil(log2 n) rounds."""

    def rounds() -> Iterator[Round]:
        levels = (n - 1).bit_length()
        for level in range(levels):
            yield messages(((r + (1 << level), r, 0, 1) for r in _heads(n, level)), add=True)
        for level in reversed(range(levels)):
            yield messages(((r, r + (1 << level), 0, 1) for r in _heads(n, level)), add=False)

    return Algorithm("tree", _ranks(n), 1, rounds)


def _heads(n: int, level: int) -> Iterator[int]:
    """Ranks that have a child 2^level away."""
    return (r for r in range(0, n, 2 << level) if r + (1 << level) < n)


def through_root(n: int) -> Algorithm:
    """All send to rank 0, which adds and sends back: the obvious one, (n - 1) K on one link."""

    def rounds() -> Iterator[Round]:
        yield messages(((r, 0, 0, 1) for r in range(1, n)), add=True)
        yield messages(((0, r, 0, 1) for r in range(1, n)), add=False)

    return Algorithm("through the root", _ranks(n), 1, rounds)


def two_level(nodes: int, gpus: int) -> Algorithm:
    """Reduce-scatter inside each node, all-reduce between nodes, all-gather inside: three rings.

    Rank = node * gpus + gpu.  2 (gpus - 1) + 2 (nodes - 1) rounds.
    """
    whole(FabricError, nodes=nodes, gpus=gpus)
    n = nodes * gpus

    def inside(ahead: int, add: bool) -> Iterator[Round]:
        node, gpu = np.divmod(np.arange(n), gpus)
        for step in range(gpus - 1):
            part = (gpu + ahead - step) % gpus
            right = node * gpus + (gpu + 1) % gpus
            yield Round(np.arange(n), right, part * nodes, (part + 1) * nodes, add)

    def between(ahead: int, add: bool) -> Iterator[Round]:
        node, gpu = np.divmod(np.arange(n), gpus)
        owned = (gpu + 1) % gpus  # the part that the reduce-scatter left here
        for step in range(nodes - 1):
            piece = owned * nodes + (node + ahead - step) % nodes
            across = (node + 1) % nodes * gpus + gpu
            yield Round(np.arange(n), across, piece, piece + 1, add)

    def rounds() -> Iterator[Round]:
        yield from inside(0, add=True)
        yield from between(0, add=True)
        yield from between(1, add=False)
        yield from inside(1, add=False)

    return Algorithm("two-level", n, n, rounds)


def theory(name: str, n: int, nbytes: float, link: Link) -> float:
    """Seconds of an all-reduce by its formula: equal links, equal pieces, all ranks at once."""
    _ranks(n)
    real(FabricError, nbytes=nbytes)
    alpha, each = link.alpha, nbytes * link.beta
    formulas = {
        "ring all-reduce": lambda: 2 * (n - 1) * alpha + 2 * (n - 1) / n * each,
        "recursive doubling": lambda: power_of_two(n) * (alpha + each),
        "halving-doubling": lambda: 2 * power_of_two(n) * alpha + 2 * (n - 1) / n * each,
        "tree": lambda: 2 * (n - 1).bit_length() * (alpha + each),
        "through the root": lambda: 2 * (n - 1) * (alpha + each),
    }
    if name not in formulas:
        raise FabricError(f"no formula for {name!r}: there are {', '.join(formulas)}.")
    return formulas[name]()


def two_level_theory(nodes: int, gpus: int, nbytes: float, inside: Link, between: Link) -> float:
    """Seconds of the two-level all-reduce: rings of nbytes inside, of nbytes / gpus between."""
    return theory("ring all-reduce", gpus, nbytes, inside) + theory(
        "ring all-reduce", nodes, nbytes / gpus, between
    )


def crossover(n: int, link: Link) -> float:
    """Bytes above which the ring beats recursive doubling; inf if it never does (2 ranks).

    2 (n-1) alpha + 2 (n-1)/n K beta = log2 n (alpha + K beta), solved for K.
    """
    steps = power_of_two(n)
    more_rounds = (2 * (n - 1) - steps) * link.alpha
    fewer_bytes = (steps - 2 * (n - 1) / n) * link.beta
    if fewer_bytes <= 0:
        return float("inf") if more_rounds > 0 else 0.0
    return more_rounds / fewer_bytes


def _ranks(n: int) -> int:
    whole(FabricError, ranks=n)
    return n


def power_of_two(n: int) -> int:
    """log2 n.  Raises FabricError where n is no power of 2."""
    if _ranks(n) & (n - 1):
        raise FabricError(f"this algorithm needs a power of 2; {n} ranks are none.")
    return n.bit_length() - 1
