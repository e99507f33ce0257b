"""Whether rounds of messages are the collective they are meant to be."""

from __future__ import annotations

from typing import Any

import numpy as np

from .network import FabricError
from .rounds import Algorithm

GOALS = ("all_reduce", "reduce_scatter")


def faults(algorithm: Algorithm, goal: str = "all_reduce") -> list[str]:
    """What keeps an algorithm from its goal, a sentence each; an empty list when it gets there.

    all_reduce      every rank ends with every rank's part of every piece, each added once
    reduce_scatter  every piece is whole on a rank, and the ranks share the pieces evenly
    """
    if goal not in GOALS:
        raise FabricError(f"a goal is {' or '.join(GOALS)}, not {goal!r}.")
    try:
        counts = _counts(algorithm)
    except FabricError as error:
        return [str(error)]
    if goal == "all_reduce":
        wrong = np.argwhere(counts != 1)
        return [_said(counts, *map(int, place)) for place in wrong]
    whole = (counts == 1).all(axis=2)
    found = [f"no rank ends with the whole of piece {p}." for p in np.flatnonzero(~whole.any(0))]
    least = algorithm.pieces // algorithm.ranks
    few = [int(rank) for rank in np.flatnonzero(whole.sum(axis=1) < least)]
    return found or [f"rank {rank} ends with fewer than {least} whole pieces." for rank in few]


def _counts(algorithm: Algorithm) -> Any:
    """[rank, piece, origin]: how often a rank's piece has an origin's part added in."""
    n = algorithm.ranks
    counts = np.repeat(np.eye(n, dtype=np.int32)[:, None, :], algorithm.pieces, axis=1)
    for part in algorithm.steps():
        before = counts.copy()
        columns = (part.source, part.destination, part.first, part.last)
        for source, destination, first, last in zip(*columns, strict=True):
            came = before[source, first:last]
            counts[destination, first:last] = counts[destination, first:last] * part.add + came
    return counts


def _said(counts: Any, rank: int, piece: int, origin: int) -> str:
    times = int(counts[rank, piece, origin])
    if not times:
        return f"rank {rank} ends without rank {origin}'s part of piece {piece}."
    return f"rank {rank} has rank {origin}'s part of piece {piece} {times} times."
