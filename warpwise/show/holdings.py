"""Before and after a collective: what each rank holds, and from which rank it came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from .dial import Bundle, Dial, Dialled
from .palette import INK, QUIET, TINTS

Held = Sequence[Sequence[Any] | None]  # by rank; None where a rank gets nothing
_MOST = len(TINTS)


def show_holdings(operations: Mapping[str, tuple[Held, Held]]) -> Dialled:
    """Two tables side by side, before and after, and a dial for the operation.

    operations: {name: (before, after)}, each a list by rank of what the rank holds, or None.
    A value has the colour of the rank that had it before; one that no rank had, a sum, has none
    and a thick frame.  Values must differ between ranks to be told apart.
    """
    for name, (before, after) in operations.items():
        if not len(before) == len(after) <= _MOST:
            raise ValueError(
                f"{name}: before and after need the same number of ranks, at most {_MOST}; got "
                f"{len(before)} and {len(after)}."
            )

    def draw(operation: str) -> Bundle:
        before, after = operations[operation]
        owner = {value: rank for rank, row in enumerate(before) for value in row or ()}
        left = _text(before)
        width = max(map(len, left))
        lines = [f"{a:{width}}   ->   {b}" for a, b in zip(left, _text(after), strict=True)]
        html = (
            f"<div><b>{escape(operation)}</b></div><div style='display:flex;gap:32px'>"
            f"{_table('before', before, owner)}{_table('after', after, owner)}</div>"
        )
        return {"text/plain": "\n".join([operation, *lines]), "text/html": html}

    names = tuple(operations)
    return Dialled([Dial("operation", names, names[0])], draw)


def _text(held: Held) -> list[str]:
    rows = [["nothing"] if row is None else [str(value) for value in row] for row in held]
    width = max((len(cell) for row in rows for cell in row), default=0)
    return [f"rank {k}: {' '.join(f'{c:>{width}}' for c in row)}" for k, row in enumerate(rows)]


def _table(title: str, held: Held, owner: Mapping[Any, int]) -> str:
    rows = "".join(
        f"<tr><td style='color:{QUIET};text-align:left'>rank {rank}</td>{_cells(row, owner)}</tr>"
        for rank, row in enumerate(held)
    )
    return (
        f"<table style='border-collapse:separate;border-spacing:3px'>"
        f"<caption style='color:{QUIET};text-align:left'>{title}</caption>{rows}</table>"
    )


def _cells(row: Sequence[Any] | None, owner: Mapping[Any, int]) -> str:
    if row is None:
        return f"<td style='color:{QUIET};text-align:left'>nothing</td>"
    drawn = []
    for value in row:
        rank = owner.get(value)
        where = "made of several" if rank is None else f"from rank {rank}"
        tint, frame = ("#ffffff", 3) if rank is None else (TINTS[rank], 1)
        drawn.append(
            f"<td title='{where}' style='background:{tint};color:{INK};border:{frame}px solid "
            f"{INK};padding:2px 8px;text-align:right'>{escape(str(value))}</td>"
        )
    return "".join(drawn)
