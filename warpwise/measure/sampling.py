"""Taking samples and telling what they say.  Knows no GPU: the clock is given.

The order of things: compile and warm up every candidate; then rounds, in each of which every
candidate runs once, in shuffled order, after the L2 cache was overwritten.  So a clock that drifts
or throttles hits all alike.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Protocol

WARM_UP = 3
ROUNDS = 30

#: A measured time may be this much below the modelled floor before it is refused: the table's
#: clocks and bandwidths are rated ones, and a part may run a little above them.
SLACK = 0.9


class FasterThanPhysicsError(Exception):
    """A measured time that the device cannot reach."""


class Clock(Protocol):
    """What a device has to offer.  `time` gives (ms by the device's events, ms by the host)."""

    device: str

    def time(self, call: Callable[[], Any]) -> tuple[float, float]: ...
    def flush(self) -> None: ...
    def state(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class Measurement:
    """Milliseconds of one candidate.

    median_ms, low_ms, high_ms   the median, and the quartiles around it
    versus      median of this over median of the reference, round by round; None without one
    state       the device before and after: clocks, temperature, throttling, as it reports them
    notes       what a reader should know, such as a clock that changed on the way
    """

    device: str
    median_ms: float
    low_ms: float
    high_ms: float
    samples: tuple[float, ...]
    versus: float | None = None
    floor_ms: float = 0.0
    state: Mapping[str, Any] | None = None
    notes: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        return f"measured on {self.device}"

    @property
    def of_floor(self) -> float | None:
        """Modelled lower bound over median: 1 is as fast as can be; None without a floor."""
        return self.floor_ms / self.median_ms if self.floor_ms else None

    def against(self, floor_ms: float) -> Measurement:
        """The same beside a modelled lower bound; FasterThanPhysicsError well below it."""
        if self.median_ms < SLACK * floor_ms:
            raise FasterThanPhysicsError(
                f"{self.median_ms:.4g} ms by the events of {self.device}; moving the bytes and "
                f"doing the arithmetic takes at least {floor_ms:.4g} ms. Look for work that was "
                "skipped, done on another stream, or kept from an earlier run."
            )
        return replace(self, floor_ms=floor_ms)

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**vars(self), "label": self.label, "of_floor": self.of_floor}

    def __str__(self) -> str:
        parts = [f"{self.median_ms:.4g} ms (half of them {self.low_ms:.4g} to {self.high_ms:.4g})"]
        if self.of_floor:
            parts.append(f"{self.of_floor:.0%} of the modelled bound")
        if self.versus:
            parts.append(f"{self.versus:.3g} times the reference's time")
        return ", ".join(parts) + f"   ({self.label})" + "".join(f"\n  {n}" for n in self.notes)


def sample(
    candidates: Mapping[str, Callable[[], Any]],
    clock: Clock,
    reference: str | None = None,
    floors_ms: Mapping[str, float] | None = None,
    rounds: int = ROUNDS,
    seed: int = 0,
) -> dict[str, Measurement]:
    """Time candidates against each other.

    reference  the candidate that the others are compared with
    floors_ms  modelled lower bounds; a median well below one raises FasterThanPhysicsError
    """
    floors_ms = floors_ms or {}
    for call in candidates.values():
        for _ in range(WARM_UP):
            call()
    before = clock.state()
    times: dict[str, list[float]] = {name: [] for name in candidates}
    host: dict[str, list[float]] = {name: [] for name in candidates}
    order = list(candidates)
    shuffle = random.Random(seed)
    for _ in range(rounds):
        shuffle.shuffle(order)
        for name in order:
            clock.flush()
            by_events, by_host = clock.time(candidates[name])
            times[name].append(by_events)
            host[name].append(by_host)
    after = clock.state()
    found = {}
    for name, values in times.items():
        median = statistics.median(values)
        versus = None
        if reference is not None and name != reference:
            versus = statistics.median(
                mine / theirs for mine, theirs in zip(values, times[reference], strict=True)
            )
        low, _, high = statistics.quantiles(values, n=4)
        found[name] = Measurement(
            clock.device, median, low, high, tuple(values), versus, 0.0,
            {"before": dict(before), "after": dict(after)},
            _notes(values, host[name], before, after),
        ).against(floors_ms.get(name, 0.0))  # fmt: skip
    return found


def _notes(
    events: list[float], host: list[float], before: Mapping[str, Any], after: Mapping[str, Any]
) -> tuple[str, ...]:
    said = []
    mine, theirs = statistics.median(events), statistics.median(host)
    if mine < 0.5 * theirs and theirs - mine > 0.5:
        said.append(
            f"the host waited {theirs:.3g} ms for work that the events put at {mine:.3g} ms: "
            "some of it may have run on another stream"
        )
    if after.get("throttle") not in (None, "", "none", "Not Active", before.get("throttle")):
        said.append(f"the device throttled: {after['throttle']}")
    first, last = before.get("sm_clock_mhz"), after.get("sm_clock_mhz")
    if first and last and abs(last - first) > 0.05 * first:
        said.append(f"the clock went from {first:g} to {last:g} MHz")
    low, _, high = statistics.quantiles(events, n=4)
    if high > 1.2 * low:
        said.append(
            f"the times scatter: a quarter is under {low:.3g}, a quarter over {high:.3g} ms"
        )
    return tuple(said)
