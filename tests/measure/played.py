"""A clock for tests without a GPU: what it says was written down before."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any


class Played:
    """Plays back times by candidate, and logs what was asked of it."""

    device = "a played clock"

    def __init__(
        self, times: Mapping[str, Callable[[int], float]], waited: float = 0.0,
        states: tuple[dict, ...] = ({}, {}),
    ) -> None:  # fmt: skip
        self.times, self.waited, self.states = times, waited, list(states)
        self.log: list[str] = []
        self.counts = dict.fromkeys(times, 0)

    def candidates(self) -> dict[str, Callable[[], str]]:
        return {name: (lambda name=name: self.log.append(name) or name) for name in self.times}

    def time(self, call: Callable[[], Any]) -> tuple[float, float]:
        name = call()
        self.counts[name] += 1
        ms = self.times[name](self.counts[name] - 1)
        return ms, ms + self.waited

    def flush(self) -> None:
        self.log.append("flush")

    def state(self) -> Mapping[str, Any]:
        return self.states.pop(0)
