"""Messages that share links: an event at a time, bandwidth shared max-min fairly.

Max-min fair: all messages get more together until a link is full; those on it stay where they are,
the others get more still (Bertsekas, Gallager, "Data Networks", 1992, section 6.5.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .inputs import real, whole
from .network import FabricError
from .rounds import Algorithm
from .topology import Hop, Topology


@dataclass(frozen=True)
class Message:
    """`nbytes` from GPU to GPU, after the messages with the numbers in `after`, from `start` on."""

    source: int
    destination: int
    nbytes: float
    after: tuple[int, ...] = ()
    start: float = 0.0

    def __post_init__(self) -> None:
        whole(FabricError, 0, source=self.source, destination=self.destination)
        real(FabricError, nbytes=self.nbytes, start=self.start)
        if not isinstance(self.after, tuple | list | set | frozenset):
            raise FabricError(f"after has the numbers of messages, such as (0,); not {self.after}.")
        for cause in self.after:
            whole(FabricError, 0, after=cause)


@dataclass(frozen=True)
class Flows:
    """When each message ran, in seconds, its latency included.  Label: modelled."""

    messages: tuple[Message, ...]
    starts: Any
    ends: Any
    carried: dict[Hop, float]
    label: str = field(default="modelled")

    @property
    def time(self) -> float:
        """Seconds until the last message is there."""
        return float(self.ends.max(initial=0.0))

    def use(self, topology: Topology) -> dict[Hop, float]:
        """Share of each link's bandwidth that was used over the whole time."""
        return {
            hop: nbytes * topology.links[hop].beta / self.time
            for hop, nbytes in self.carried.items()
        }


def run(topology: Topology, messages: Sequence[Message]) -> Flows:
    """Carry all messages.  One starts when those before it are there; its latency passes first."""
    count = len(messages)
    starts, ends = np.full(count, np.nan), np.full(count, np.nan)
    ways, order = _ways(topology, messages)
    capacity = np.array([1 / topology.links[hop].beta for hop in order])
    left = np.array([float(message.nbytes) for message in messages])
    size = np.maximum(left, 1.0)
    open_, behind = _dependencies(messages)
    waiting: list[tuple[float, int]] = []  # (first byte may leave, message)

    def release(number: int, now: float) -> None:
        message = messages[number]
        starts[number] = max(now, message.start)
        latency = topology.latency(message.source, message.destination)
        waiting.append((starts[number] + latency, number))

    for number in range(count):
        if not open_[number]:
            release(number, 0.0)
    now, active = 0.0, np.zeros(count, dtype=bool)
    rates = np.zeros(count)
    while waiting or active.any():
        coming = min((time for time, _ in waiting), default=np.inf)
        moving = np.flatnonzero(active)
        until = left[moving] / rates[moving]
        step = min(coming - now, until.min(initial=np.inf))
        left[moving] -= rates[moving] * step
        now += step
        # A part in 10^12 of a message is rounding: messages that end together end together.
        done = moving[left[moving] <= 1e-12 * size[moving]]
        active[done] = False
        begun = [number for time, number in waiting if time <= now + 1e-15]
        waiting = [(time, number) for time, number in waiting if time > now + 1e-15]
        done = np.concatenate([done, [n for n in begun if left[n] == 0]]).astype(int)
        active[[n for n in begun if left[n] > 0]] = True
        for number in done:
            ends[number] = now
            for follower in behind[number]:
                open_[follower] -= 1
                if not open_[follower]:
                    release(follower, now)
        rates = _shares(ways, capacity, active)
    if np.isnan(ends).any():
        number = int(np.flatnonzero(np.isnan(ends))[0])
        raise FabricError(f"message {number} waits for ever: its causes wait for it.")
    carried = {hop: float(ways[row] @ size_of(messages)) for row, hop in enumerate(order)}
    return Flows(tuple(messages), starts, ends, {h: n for h, n in carried.items() if n})


def size_of(messages: Sequence[Message]) -> Any:
    """Bytes of each message."""
    return np.array([float(message.nbytes) for message in messages])


def _ways(topology: Topology, messages: Sequence[Message]) -> tuple[Any, list[Hop]]:
    """[link, message] is 1 where the message takes the link."""
    taken = [topology.way(message.source, message.destination) for message in messages]
    order = list(dict.fromkeys(hop for way in taken for hop in way))
    row = {hop: number for number, hop in enumerate(order)}
    ways = np.zeros((len(order), len(messages)))
    for number, way in enumerate(taken):
        if not way and messages[number].nbytes:
            raise FabricError(f"message {number} goes from a GPU to itself.")
        ways[[row[hop] for hop in way], number] = 1
    return ways, order


def _dependencies(messages: Sequence[Message]) -> tuple[list[int], list[list[int]]]:
    behind: list[list[int]] = [[] for _ in messages]
    for number, message in enumerate(messages):
        for cause in message.after:
            if not 0 <= cause < len(messages):
                raise FabricError(f"message {number} waits for message {cause}, which is none.")
            behind[cause].append(number)
    return [len(message.after) for message in messages], behind


def _shares(ways: Any, capacity: Any, active: Any) -> Any:
    """Max-min fair rates of active messages: fill, freeze those on the fullest link, go on."""
    rates = np.zeros(ways.shape[1])
    free = np.flatnonzero(active)
    room = capacity.copy()
    while free.size:
        on = ways[:, free].sum(axis=1)
        share = np.where(on > 0, room / np.maximum(on, 1), np.inf)
        least = share.min()
        full = share <= least * (1 + 1e-12)
        stopped = ways[full][:, free].any(axis=0)
        rates[free[stopped]] = least
        room -= ways[:, free[stopped]].sum(axis=1) * least
        room = np.maximum(room, 0.0)
        free = free[~stopped]
    return rates


def of(algorithm: Algorithm, nbytes: int, item: int = 1) -> list[Message]:
    """An algorithm's messages: each waits for all its sender did in earlier rounds."""
    edges = np.concatenate([[0], np.cumsum(algorithm.sizes(nbytes, item))])
    before: list[tuple[int, ...]] = [()] * algorithm.ranks
    made: list[Message] = []
    for part in algorithm.steps():
        now: list[list[int]] = [[] for _ in range(algorithm.ranks)]
        columns = (part.source, part.destination, part.first, part.last)
        for source, destination, first, last in zip(*columns, strict=True):
            size = float(edges[last] - edges[first])
            made.append(Message(int(source), int(destination), size, before[source]))
            now[source].append(len(made) - 1)
            now[destination].append(len(made) - 1)
        before = [tuple(new) or old for new, old in zip(now, before, strict=True)]
    return made
