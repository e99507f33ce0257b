"""Printed: what an answer prints while it is checked, kept away from the check's own output."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from dataclasses import dataclass, field

LINES = 10
LONGEST = 200


class _Head(io.TextIOBase):
    """A stream that keeps the first lines and counts the rest."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0
        self._open = ""

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        *whole, rest = text.split("\n")
        for line in whole:
            self._end(line)
        self._open = (self._open + rest)[: LONGEST + 1]
        return len(text)

    def close_line(self) -> None:
        if self._open:
            self._end("")

    def _end(self, line: str) -> None:
        said, self._open = self._open + line, ""
        self.count += 1
        if len(self.lines) < LINES:
            self.lines.append(said if len(said) <= LONGEST else f"{said[:LONGEST]}...")


@dataclass
class Printed:
    """The first lines of what was printed, and how many there were."""

    lines: tuple[str, ...] = ()
    count: int = 0
    _head: _Head = field(default_factory=_Head, repr=False)

    def __bool__(self) -> bool:
        return self.count > 0


@contextlib.contextmanager
def caught() -> Iterator[Printed]:
    """Catches what is printed inside; the result is complete afterwards."""
    printed = Printed()
    try:
        with contextlib.redirect_stdout(printed._head):
            yield printed
    finally:
        printed._head.close_line()
        printed.lines, printed.count = tuple(printed._head.lines), printed._head.count
