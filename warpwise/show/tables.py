"""Tables: a few rows of facts, as HTML and as aligned text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

_CELL = "padding: 2px 12px 2px 0; border: none; border-bottom: 1px solid #9e9e9e; background: none;"


@dataclass(frozen=True)
class Table:
    """Rows under a head, all of them text.  label: where the numbers come from, e.g. "counted"."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    label: str = ""

    def __str__(self) -> str:
        lines = [self.head, *self.rows]
        widths = [max(len(line[k]) for line in lines) for k in range(len(self.head))]
        text = [
            "  ".join(_aligned(cell, width, self._is_number(k)) for k, (cell, width) in enumerate(
                zip(line, widths, strict=True)
            )).rstrip()
            for line in lines
        ]  # fmt: skip
        return "\n".join([*text, f"({self.label})"] if self.label else text)

    def __repr__(self) -> str:
        return str(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        return {"text/plain": str(self), "text/html": self.html()}

    def html(self) -> str:
        """The table with inline styles; numbers stand at the right."""
        sides = ["right" if self._is_number(k) else "left" for k in range(len(self.head))]
        head = "".join(
            f'<th scope="col" style="{_CELL} text-align: {side};">{escape(cell)}</th>'
            for cell, side in zip(self.head, sides, strict=True)
        )
        rows = "".join(
            '<tr style="background: none;">'
            + "".join(
                f'<td style="{_CELL} text-align: {side};">{escape(cell)}</td>'
                for cell, side in zip(row, sides, strict=True)
            )
            + "</tr>"
            for row in self.rows
        )
        note = f"<div>({escape(self.label)})</div>" if self.label else ""
        return (
            '<table style="border-collapse: collapse; margin: 4px 0; width: auto;">'
            f'<tr style="background: none;">{head}</tr>{rows}</table>{note}'
        )

    def _is_number(self, column: int) -> bool:
        cells = [row[column] for row in self.rows]
        return bool(cells) and all(_looks_like_number(cell) for cell in cells)


def table(head: Sequence[str], rows: Iterable[Sequence[Any]], label: str = "") -> Table:
    """A table of any values; floats get six digits.  ValueError for a row of other length."""
    lines = tuple(tuple(_written(value) for value in row) for row in rows)
    for line in lines:
        if len(line) != len(head):
            raise ValueError(f"a row has {len(line)} cells, the head {len(head)}: {line}")
    return Table(tuple(head), lines, label)


def _written(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _aligned(cell: str, width: int, right: bool) -> str:
    return cell.rjust(width) if right else cell.ljust(width)


def _looks_like_number(cell: str) -> bool:
    try:
        float(cell.replace(",", ""))
    except ValueError:
        return False
    return True
