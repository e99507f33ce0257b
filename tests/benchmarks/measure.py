"""Times of calls, side by side in one process, and the memory a call takes at its peak."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable, Mapping
from typing import Any

Call = Callable[[], Any]


def shortest(
    calls: Mapping[str, Call], repeats: int, clock: Callable[[], float] = time.process_time
) -> dict[str, float]:
    """Seconds of each call, the least of some repeats; of CPU time, unless a clock is given.

    The calls take turns, so that a slow spell of the machine meets all of them; CPU time, summed
    over the threads of this process, leaves out what other processes do.
    """
    for call in calls.values():
        call()
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            start = clock()
            call()
            times[name].append(clock() - start)
    return {name: min(found) for name, found in times.items()}


def peak_megabytes(call: Call) -> float:
    """Most memory that Python and NumPy held at once during a call, beyond what was there."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1] / 1e6
    finally:
        tracemalloc.stop()
