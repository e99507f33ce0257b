"""What a launch did, by line and by pointer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .memory import Finding, Memory, Region

SIMULATED = "counted, Triton's interpreter"


@dataclass(frozen=True)
class Line:
    """One line's accesses through one pointer.  bytes and elements: of lanes not masked off."""

    number: int
    text: str
    op: str
    pointer: str
    elements: int
    bytes: int
    masked_off: int


@dataclass(frozen=True)
class Run:
    """A finished launch.  On a GPU nothing is counted: `memory` is None.

    grid    programs along x, y, z
    notes   slug -> (line, remark), such as that a GPU rounds these inputs to tf32
    """

    kernel: str
    grid: tuple[int, int, int]
    memory: Memory | None = field(repr=False)
    notes: Mapping[str, tuple[int, str]]
    label: str = SIMULATED

    @property
    def programs(self) -> int:
        """Programs launched."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def lines(self) -> tuple[Line, ...]:
        """Accesses by line, kind and pointer, in the order of the lines."""
        if self.memory is None:
            return ()
        return tuple(
            Line(
                number, self.memory.texts[number], op, name, one.elements, one.bytes, one.masked_off
            )
            for (number, op, name), one in sorted(self.memory.traffic.items())
        )

    @property
    def loaded(self) -> dict[str, int]:
        """Bytes loaded by pointer; an element that is loaded twice counts twice."""
        return self._bytes("load")

    @property
    def stored(self) -> dict[str, int]:
        """Bytes stored by pointer."""
        return self._bytes("store")

    @property
    def masked_off(self) -> int:
        """Lanes of loads, stores and atomics that a mask kept away."""
        return sum(line.masked_off for line in self.lines)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """Faults that did not stop the kernel: two programs at one element."""
        return () if self.memory is None else tuple(self.memory.findings.values())

    @property
    def undefined(self) -> Mapping[int, int]:
        """Line -> lanes that it loaded masked off without other=: their values are undefined."""
        return {} if self.memory is None else dict(self.memory.undefined)

    def writes(self, pointer: str) -> np.ndarray:
        """How often each element of an argument was stored to, in its shape."""
        area = self._area(pointer)
        return area.shaped(area.writes)

    def writer(self, pointer: str) -> np.ndarray:
        """The last program that stored each element, by its number in the grid; -1 for nobody."""
        area = self._area(pointer)
        return area.shaped(area.writer)

    def reads(self, pointer: str) -> np.ndarray:
        """How often each element of an argument was loaded, in its shape."""
        area = self._area(pointer)
        return area.shaped(area.reads)

    def touched(self, programs: int) -> dict[str, int]:
        """Bytes by pointer that the first so many programs load, each element counted once."""
        if self.memory is None:
            return {}
        found = {}
        for name, area in self.memory.regions.items():
            count = int(((area.reader >= 0) & (area.reader < programs)).sum())
            if count:
                found[name] = count * area.flat.itemsize
        return found

    def _area(self, pointer: str) -> Region:
        if self.memory is None:
            raise ValueError("on a GPU nothing is counted")
        return self.memory.regions[pointer]

    def _bytes(self, op: str) -> dict[str, int]:
        found: dict[str, int] = {}
        for line in self.lines:
            if line.op == op:
                found[line.pointer] = found.get(line.pointer, 0) + line.bytes
        return found

    def __str__(self) -> str:
        count = "1 program" if self.programs == 1 else f"{self.programs} programs"
        rows = [f"{self.kernel}: {count}   ({self.label})"]
        if self.lines:
            rows.append(f"  {'line':>4}  {'':<6}  {'pointer':<10}{'bytes':>12}{'masked off':>12}")
        for line in self.lines:
            rows.append(
                f"  {line.number:>4}  {line.op:<6}  {line.pointer:<10}{line.bytes:>12,}"
                f"{line.masked_off:>12,}  {line.text}"
            )
        rows += [finding.text for finding in self.findings]
        rows += [f"  line {line}: {text}" for line, text in self.notes.values()]
        return "\n".join(rows)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """As a cell's value."""
        printer.text(str(self))
