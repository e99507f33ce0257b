"""What collectives should cost in closed form: rounds, and bytes of the rank that sends most.

Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication Operations
in MPICH", 2005.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .collectives import power_of_two
from .inputs import real, whole
from .network import FabricError

# Each gives (rounds, bytes sent by the busiest rank in units of the array) for n ranks.
EXPECTED: dict[str, Callable[[int], tuple[int, float]]] = {
    "ring all-reduce": lambda n: (2 * (n - 1), 2 * (n - 1) / n),
    "ring reduce-scatter": lambda n: (n - 1, (n - 1) / n),
    "ring all-gather": lambda n: (n - 1, (n - 1) / n),
    "recursive doubling": lambda n: (power_of_two(n), float(power_of_two(n))),
    "halving-doubling": lambda n: (2 * power_of_two(n), 2 * (n - 1) / n),
    # One message at a time at the root, as blocking calls make it.
    "through the root": lambda n: (2 * (n - 1), float(n - 1)),
    "binomial broadcast": lambda n: ((n - 1).bit_length(), float((n - 1).bit_length())),
}


@dataclass(frozen=True)
class Expected:
    """rounds: steps that follow each other.  bytes: sent by the busiest rank.  Both modelled."""

    algorithm: str
    ranks: int
    rounds: int
    bytes: float


def expected(algorithm: str, ranks: int, nbytes: float) -> Expected:
    """The counts of an algorithm on arrays of `nbytes`.

    Raises FabricError for an unknown name, or where it needs another number of ranks.
    """
    if algorithm not in EXPECTED:
        raise FabricError(f"unknown algorithm {algorithm!r}; known are {', '.join(EXPECTED)}.")
    whole(FabricError, ranks=ranks)
    real(FabricError, nbytes=nbytes)
    rounds, share = EXPECTED[algorithm](ranks)
    return Expected(algorithm, ranks, rounds, share * nbytes)
