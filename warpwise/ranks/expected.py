"""What collectives should cost: rounds and bytes of algorithms, and nccl-tests' bandwidths.

EXPECTED    algorithms of all-reduce and their parts: rounds, and bytes that the busiest rank sends
bandwidth   algorithm and bus bandwidth as nccl-tests defines them

Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication Operations
in MPICH", 2005, for the counts; nccl-tests, doc/PERFORMANCE.md and src/*.cu (2026-07), for the
bandwidths.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


def _power_of_two(ranks: int) -> int:
    steps = ranks.bit_length() - 1
    if ranks != 1 << steps:
        raise ValueError(f"this algorithm needs a power of two of ranks, not {ranks}")
    return steps


# Each gives (rounds, bytes sent by the busiest rank in units of the array) for n ranks.
EXPECTED: dict[str, Callable[[int], tuple[int, float]]] = {
    "ring all-reduce": lambda n: (2 * (n - 1), 2 * (n - 1) / n),
    "ring reduce-scatter": lambda n: (n - 1, (n - 1) / n),
    "ring all-gather": lambda n: (n - 1, (n - 1) / n),
    "recursive doubling": lambda n: (_power_of_two(n), float(_power_of_two(n))),
    "halving-doubling": lambda n: (2 * _power_of_two(n), 2 * (n - 1) / n),
    "gather to a root and broadcast": lambda n: (2 * (n - 1), float(n - 1)),
    "binomial broadcast": lambda n: ((n - 1).bit_length(), float((n - 1).bit_length())),
}


@dataclass(frozen=True)
class Expected:
    """rounds: steps that follow each other.  bytes: sent by the busiest rank.  Both modelled."""

    algorithm: str
    ranks: int
    rounds: int
    bytes: float


def expected(algorithm: str, ranks: int, size: int) -> Expected:
    """The counts of an algorithm.  size: bytes of the whole array.

    Raises: ValueError for an unknown name, or where it needs another number of ranks.
    """
    if algorithm not in EXPECTED:
        raise ValueError(f"unknown algorithm {algorithm!r}; known are {', '.join(EXPECTED)}")
    rounds, share = EXPECTED[algorithm](ranks)
    return Expected(algorithm, ranks, rounds, share * size)


def two_level(nodes: int, gpus: int, size: int) -> dict[str, float]:
    """Two-level all-reduce: reduce-scatter inside a node, all-reduce across, all-gather inside.

    Bytes a GPU sends inside its node and across, and the rounds of rings.  size: bytes.
    """
    return {
        "inside_bytes": 2 * (gpus - 1) / gpus * size,
        "across_bytes": 2 * (nodes - 1) / nodes * size / gpus,
        "rounds": 2 * (gpus - 1) + 2 * (nodes - 1),
    }


# Bus bandwidth over algorithm bandwidth, for n ranks.  Source: nccl-tests, the GetBw functions.
BUS_FACTORS: dict[str, Callable[[int], float]] = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
    "all_gather": lambda n: (n - 1) / n,
    "all_to_all": lambda n: (n - 1) / n,
    "gather": lambda n: (n - 1) / n,
    "scatter": lambda n: (n - 1) / n,
    "broadcast": lambda n: 1.0,
    "reduce": lambda n: 1.0,
    "send": lambda n: 1.0,
    "recv": lambda n: 1.0,
}


@dataclass(frozen=True)
class Bandwidth:
    """GB/s, 1 GB = 1e9 bytes.  algorithm: S / t.  bus: algorithm times the factor of nccl-tests."""

    algorithm: float
    bus: float


def bus_factor(operation: str, ranks: int) -> float:
    """How many times S the busiest link carries; 0.0 for what moves no array, such as a barrier."""
    factor = BUS_FACTORS.get(operation)
    return factor(ranks) if factor else 0.0


def bandwidth(operation: str, size: int, ranks: int, seconds: float) -> Bandwidth:
    """Algorithm and bus bandwidth of one operation.

    size: the S of nccl-tests, in bytes: one rank's buffer for all_reduce, broadcast, reduce and
    send; the whole array, all ranks' parts together, for the others.

    >>> round(bandwidth("all_reduce", 1 << 30, 8, 8203.9e-6).bus, 2)
    229.04
    """
    algorithm = size / seconds / 1e9
    return Bandwidth(algorithm, algorithm * bus_factor(operation, ranks))
