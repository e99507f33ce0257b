"""How samples become a measurement.  The clock is a table of times; no GPU is needed."""

from __future__ import annotations

import json

import pytest

from tests.measure.played import Played
from warpwise.measure import FasterThanPhysicsError, sample
from warpwise.measure.sampling import WARM_UP


def test_the_median_and_the_quartiles_are_reported() -> None:
    """One slow sample in ten does not move the median."""
    clock = Played({"k": lambda i: 9.0 if i == 4 else 1.0 + 0.01 * (i % 2)})
    got = sample(clock.candidates(), clock, rounds=10)["k"]
    assert 1.0 <= got.median_ms <= 1.01 and got.high_ms < 9
    assert len(got.samples) == 10 and max(got.samples) == 9
    assert got.label == "measured on a played clock" and got.label in str(got)


def test_every_sample_has_a_cold_cache_and_candidates_alternate() -> None:
    """Warm-up first; then each round runs every candidate once, each after a flush."""
    clock = Played({"a": lambda i: 1.0, "b": lambda i: 2.0})
    sample(clock.candidates(), clock, rounds=8)
    assert clock.log[: 2 * WARM_UP] == ["a"] * WARM_UP + ["b"] * WARM_UP
    timed = clock.log[2 * WARM_UP :]
    assert timed[::2] == ["flush"] * 16
    rounds = [set(timed[i + 1 : i + 4 : 2]) for i in range(0, 32, 4)]
    assert rounds == [{"a", "b"}] * 8


def test_a_drifting_clock_does_not_move_the_ratio() -> None:
    """Both get slower by half on the way; one stays twice the other."""
    clock = Played({"mine": lambda i: 2.0 * (1 + i / 20), "lib": lambda i: 1.0 * (1 + i / 20)})
    got = sample(clock.candidates(), clock, reference="lib", rounds=10)
    assert got["mine"].versus == pytest.approx(2.0)
    assert got["lib"].versus is None


def test_faster_than_physics_is_refused() -> None:
    """A median well below the modelled floor is no result."""
    clock = Played({"k": lambda i: 0.5})
    with pytest.raises(FasterThanPhysicsError, match="takes at least 1 ms"):
        sample(clock.candidates(), clock, floors_ms={"k": 1.0})
    clock = Played({"k": lambda i: 0.95})
    assert sample(clock.candidates(), clock, floors_ms={"k": 1.0})["k"].of_floor == pytest.approx(
        1 / 0.95
    )


def test_work_on_another_stream_is_noticed() -> None:
    """The host waits 5 ms longer than the events say."""
    clock = Played({"k": lambda i: 1.0}, waited=5.0)
    assert "another stream" in str(sample(clock.candidates(), clock)["k"])


def test_clocks_and_throttling_are_told() -> None:
    """What the device says before and after is kept, and what changed is said."""
    clock = Played(
        {"k": lambda i: 1.0},
        states=({"sm_clock_mhz": 1980.0, "throttle": "none"},
                {"sm_clock_mhz": 1400.0, "throttle": "0x0000000000000004"}),
    )  # fmt: skip
    got = sample(clock.candidates(), clock)["k"]
    assert "from 1980 to 1400 MHz" in str(got) and "throttled" in str(got)
    assert got.state is not None and got.state["after"]["sm_clock_mhz"] == 1400
    json.dumps(got.to_dict())


def test_scatter_is_told() -> None:
    """A quarter of the samples at twice the time."""
    clock = Played({"k": lambda i: 2.0 if i % 2 else 1.0})
    assert "scatter" in str(sample(clock.candidates(), clock)["k"])
