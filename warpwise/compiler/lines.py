"""Machine code beside the Python it came from."""

from __future__ import annotations

import linecache
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from .sass import Instruction


@dataclass(frozen=True)
class SourceLine:
    """One line of Python and the instructions made of it, in address order."""

    file: str
    number: int
    text: str
    instructions: tuple[Instruction, ...]

    @property
    def kinds(self) -> Counter[str]:
        """How many instructions of each kind; see sass.CLASSES."""
        return Counter(instruction.kind for instruction in self.instructions)


def by_line(code: Iterable[Instruction], first_file: str) -> tuple[SourceLine, ...]:
    """Instructions grouped by line, lines in file order, `first_file` first."""
    grouped: dict[tuple[str, int], list[Instruction]] = {}
    for instruction in code:
        grouped.setdefault((instruction.file, instruction.line), []).append(instruction)
    order = sorted(grouped, key=lambda place: (place[0] != first_file, place))
    return tuple(
        SourceLine(file, line, _text(file, line), tuple(grouped[file, line]))
        for file, line in order
    )


def _text(file: str, line: int) -> str:
    """The line itself; NVIDIA's headers are inlined without their text."""
    name = file.replace("\\", "/").split("/")[-1]
    return linecache.getline(file, line).strip() or (f"(inlined from {name})" if name else "")
