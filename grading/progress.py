"""How far a class is: one line that renews itself on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TextIO

from grading.results import Result

_EVERY_S = 60.0  # between two lines where there is no terminal
_WIDTH = 100


class Progress:
    """Counts rows as they come.  clock: seconds, for tests.  done: what is done to them."""

    def __init__(
        self,
        total: int,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
        done: str = "graded",
    ) -> None:
        self._done = done
        self._total = total
        self._stream = stream or sys.stderr
        self._clock = clock
        self._started = self._said = clock()
        self._count = 0
        self._slowest: tuple[float, str] = (0.0, "")

    def step(self, result: Result) -> None:
        """One more row is known."""
        self._count += 1
        if result.run_seconds:
            self._slowest = max(self._slowest, (result.run_seconds, result.student))
        is_last = self._count == self._total
        if self._stream.isatty():
            end = "\n" if is_last else ""
            print(f"\r{self._line():{_WIDTH}.{_WIDTH}}", end=end, file=self._stream, flush=True)
        elif is_last or self._clock() - self._said >= _EVERY_S:
            self._said = self._clock()
            print(self._line(), file=self._stream, flush=True)

    def _line(self) -> str:
        spent = self._clock() - self._started
        line = f"{self._count} of {self._total} {self._done} in {duration(spent)}"
        if self._count < self._total:
            left = spent / self._count * (self._total - self._count)
            line += f", about {duration(left)} left"
        seconds, student = self._slowest
        return line + (f"; slowest run: {student}, {seconds:.0f} s" if student else "")


def duration(seconds: float) -> str:
    """Seconds for people: 8 s, 12 min, 3 h 05 min."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60:02} min"
