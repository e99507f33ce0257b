"""The job in chunks: what the dials change."""

from __future__ import annotations

import pytest

from warpwise.hardware import staged, streams_to_hide, timeline
from warpwise.show import show_stages


def test_chunks_and_streams_shorten_the_job() -> None:
    """One chunk takes the sum; in streams the stages overlap; launches cost in the end."""
    job = show_stages(200, 300, 200, launch_us=5)
    spans = [job.line(chunks, 4).makespan_ms for chunks in (1, 4, 16, 64)]
    assert spans[0] == pytest.approx(0.705)
    assert spans[0] > spans[1] > spans[2] and spans[3] > spans[2]
    assert job.line(4, 1).makespan_ms == pytest.approx(0.705)


def test_the_picture_is_that_of_the_dials() -> None:
    """The text says the makespan; an unknown dial is refused."""
    job = show_stages(200, 300, 200, launch_us=5)
    assert "705 us in all" in repr(job)
    assert "image/png" in job.at(streams=4)
    assert "705 us" not in job.at(streams=4)["text/plain"]
    with pytest.raises(ValueError, match="no dial"):
        job.at(speed=1)


@pytest.mark.parametrize("times", [(20, 30, 20), (10, 10, 10), (5, 40, 5), (30, 10, 20), (0, 9, 3)])
def test_the_fewest_streams_reach_what_many_reach(times: tuple[int, int, int]) -> None:
    """With the streams of the rule the slowest engine never waits; with fewer it does."""
    chunks = 12
    whole = [us * chunks for us in times]

    def makespan(streams: int) -> float:
        return timeline(staged(chunks, streams, *whole), launch_us=0).makespan_ms

    fewest = streams_to_hide(*times)
    assert makespan(fewest) == pytest.approx(makespan(chunks))
    assert fewest == 1 or makespan(fewest - 1) > makespan(chunks)
