"""A collective as rounds of messages: who sends which pieces to whom.

Each rank's array is cut into pieces, equal but for one item.  In a round all messages carry what
their senders held when the round began.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .inputs import real, whole
from .network import FabricError, Network

Ints = Any


@dataclass(frozen=True)
class Round:
    """Messages of one round, as arrays of equal length; `first` to `last` (exclusive): pieces.

    add  the receiver adds what comes to what it holds; else it takes it
    A rank that sends several messages in a round sends them one after the other, in this order.
    """

    source: Ints
    destination: Ints
    first: Ints
    last: Ints
    add: bool

    def __len__(self) -> int:
        return len(self.source)


def messages(moves: Iterable[tuple[int, int, int, int]], add: bool) -> Round:
    """A Round from (source, destination, first piece, last piece) tuples."""
    rows = [tuple(move) for move in moves]
    for row in rows:
        if len(row) != 4:
            raise FabricError(f"a message is (source, destination, first, last piece), not {row}.")
    source, destination, first, last = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    return Round(source, destination, first, last, add)


@dataclass(frozen=True)
class Algorithm:
    """An algorithm for `ranks` ranks whose arrays have `pieces` pieces.

    `rounds()` makes the rounds anew, one at a time: there are millions of messages in large worlds.
    """

    name: str
    ranks: int
    pieces: int
    rounds: Callable[[], Iterator[Round]]

    def __post_init__(self) -> None:
        whole(FabricError, ranks=self.ranks, pieces=self.pieces)
        if not callable(self.rounds):
            raise FabricError(f"{self.name}: rounds is a function that makes them anew.")

    def steps(self) -> Iterator[Round]:
        """The rounds, each looked at: its ranks and pieces are there, and nobody writes home."""
        for number, part in enumerate(self.rounds()):
            wrong = self._wrong(part)
            if wrong:
                raise FabricError(f"{self.name}, round {number}: {wrong}")
            yield part

    def _wrong(self, part: Round) -> str:
        if not len(part):
            return ""
        ends = np.concatenate([part.source, part.destination])
        if ends.min() < 0 or ends.max() >= self.ranks:
            strange = int(ends.min()) if ends.min() < 0 else int(ends.max())
            return f"there is no rank {strange}, only 0 to {self.ranks - 1}."
        home = part.source == part.destination
        if home.any():
            return f"rank {int(part.source[home][0])} sends to itself."
        bad = (part.first < 0) | (part.last > self.pieces) | (part.first >= part.last)
        if bad.any():
            first, last = int(part.first[bad][0]), int(part.last[bad][0])
            return f"no pieces {first} to {last} (exclusive) of {self.pieces}."
        return ""

    def sizes(self, nbytes: int, item: int = 1) -> Ints:
        """Bytes of each piece of an array of `nbytes`, whole items of `item` bytes."""
        whole(FabricError, 0, nbytes=nbytes)
        whole(FabricError, item=item)
        if nbytes % item:
            raise FabricError(f"{nbytes} bytes are no whole number of items of {item}.")
        count = nbytes // item
        sizes = np.full(self.pieces, count // self.pieces)
        sizes[: count % self.pieces] += 1
        return sizes * item


@dataclass(frozen=True)
class Costs:
    """What an algorithm does with arrays of `nbytes`.  Label: modelled.

    rounds   their number
    sent     bytes each rank sends, an array of `ranks`
    seconds  when each rank is done, an array of `ranks`
    """

    rounds: int
    sent: Any
    seconds: Any
    label: str = "modelled"

    @property
    def time(self) -> float:
        """Seconds until the last rank is done."""
        return float(self.seconds.max())


def cost(
    algorithm: Algorithm, network: Network, nbytes: int, item: int = 1, start: Sequence[float] = ()
) -> Costs:
    """Bytes and virtual time of an algorithm on a network.

    A message leaves when its sender is done with earlier rounds, occupies the sender for alpha +
    n beta, and the receiver for as long from the moment both are there.  A rank sends and receives
    at the same time.
    start  seconds at which each rank begins: a straggler begins late
    """
    if algorithm.ranks != network.ranks:
        raise FabricError(
            f"{algorithm.name} has {algorithm.ranks} ranks, the network {network.ranks}."
        )
    begun = list(start) or [0.0] * algorithm.ranks
    if len(begun) != algorithm.ranks:
        raise FabricError(f"start has {len(begun)} times for {algorithm.ranks} ranks.")
    for seconds in begun:
        real(FabricError, start=seconds)
    now = np.array(begun, dtype=np.float64)
    edges = np.concatenate([[0], np.cumsum(algorithm.sizes(nbytes, item))])
    sent = np.zeros(algorithm.ranks)
    count = 0
    for part in algorithm.steps():
        size = edges[part.last] - edges[part.first]
        took = network.times(part.source, part.destination, size)
        np.add.at(sent, part.source, size)
        now = _advance(now, part, took)
        count += 1
    return Costs(count, sent, now)


def _advance(now: Any, part: Round, took: Any) -> Any:
    """Clocks after a round."""
    out, into = now.copy(), now.copy()
    once = (np.bincount(part.source).max(initial=0) < 2
            and np.bincount(part.destination).max(initial=0) < 2)  # fmt: skip
    if once:
        out[part.source] = now[part.source] + took
        into[part.destination] = np.maximum(now[part.source], now[part.destination]) + took
        return np.maximum(out, into)
    for source, destination, seconds in zip(part.source, part.destination, took, strict=True):
        into[destination] = max(into[destination], out[source]) + seconds
        out[source] += seconds
    return np.maximum(out, into)


def apply(algorithm: Algorithm, arrays: Sequence[Any]) -> list[Any]:
    """What each rank holds afterwards: the rounds carried out on NumPy arrays of equal length."""
    if len(arrays) != algorithm.ranks:
        raise FabricError(f"{len(arrays)} arrays for {algorithm.ranks} ranks.")
    held = [np.array(array) for array in arrays]
    if len({array.shape for array in held}) > 1 or not held[0].ndim:
        raise FabricError(f"arrays of one shape are needed, not {[a.shape for a in held]}.")
    edges = np.concatenate([[0], np.cumsum(algorithm.sizes(len(held[0])))])
    for part in algorithm.steps():
        before = [array.copy() for array in held]
        columns = (part.source, part.destination, part.first, part.last)
        for source, destination, first, last in zip(*columns, strict=True):
            where = slice(edges[first], edges[last])
            if part.add:
                held[destination][where] += before[source][where]
            else:
                held[destination][where] = before[source][where]
    return held


def shares(algorithm: Algorithm) -> Iterator[list[list[frozenset[int]]]]:
    """Whose parts each rank's pieces hold, [rank][piece]: at the start and after each round."""
    held = [[frozenset([rank])] * algorithm.pieces for rank in range(algorithm.ranks)]
    yield [list(row) for row in held]
    for part in algorithm.steps():
        before = [list(row) for row in held]
        columns = (part.source, part.destination, part.first, part.last)
        for source, destination, first, last in zip(*columns, strict=True):
            for piece in range(first, last):
                came = before[source][piece]
                held[destination][piece] = held[destination][piece] | came if part.add else came
        yield [list(row) for row in held]
