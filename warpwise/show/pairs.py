"""Which rank computes which query with which key of causal attention, and in which step of a ring.

A row is a query, a column a key, both in the order of the sequence; keys after the query are blank.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from .dial import Bundle, Dial, Dialled
from .palette import INK, QUIET, TINTS

Places = Sequence[Sequence[int]]  # by rank: the positions of its tokens
_ALL = "all"
_CELL, _LEFT = 17, 54


def show_pairs(splits: Mapping[str, Places]) -> Dialled:
    """Dials for the split and for the step; a cell has its rank's tint and the number of its step.

    splits: {name: for each rank the positions of its tokens}.  In step s rank r has the keys of
    rank r - s.  Raises ValueError where positions are not 0 to N - 1, each once, or ranks too many.
    """
    for name, places in splits.items():
        found = sorted(place for row in places for place in row)
        if found != list(range(len(found))) or not found:
            raise ValueError(f"{name}: each position from 0 on has to be there once.")
        if len(places) > len(TINTS):
            raise ValueError(f"{name}: at most {len(TINTS)} ranks have a tint each.")
    steps = [_ALL, *range(max(len(places) for places in splits.values()))]

    def draw(split: str, step: Any) -> Bundle:
        return _drawn(split, splits[split], step)

    return Dialled([Dial("split", tuple(splits), next(iter(splits))),
                    Dial("step", tuple(steps), _ALL)], draw)  # fmt: skip


def _drawn(name: str, places: Places, step: Any) -> Bundle:
    n = len(places)
    owner = {place: rank for rank, row in enumerate(places) for place in row}
    cells = {
        (query, key): (owner[query], (owner[query] - owner[key]) % n)
        for query in owner for key in owner if key <= query
    }  # fmt: skip
    shown = {at: one for at, one in cells.items() if step in (_ALL, one[1])}
    said = _said(n, cells, step)
    return {
        "text/plain": "\n".join([f"{name}, {_step(step)}", *_rows(owner, cells, shown), *said]),
        "text/html": f"<div><b>{escape(name)}</b>, {_step(step)}</div>{_svg(owner, shown)}"
        + "".join(f'<div style="font-size: 90%; color: {QUIET};">{line}</div>' for line in said),
    }


def _step(step: Any) -> str:
    return "all steps" if step == _ALL else f"step {step}"


def _said(n: int, cells: Mapping[Any, tuple[int, int]], step: Any) -> list[str]:
    """The pairs of each rank, and of the one that all wait for."""
    count = [[0] * n for _ in range(n)]  # by step and rank
    for rank, number in cells.values():
        count[number][rank] += 1
    if step != _ALL:
        by_rank = count[step] if step < n else [0] * n
        return [
            f"pairs by rank in this step: {', '.join(map(str, by_rank))}",
            f"all wait for {max(by_rank)} (counted)",
        ]
    by_rank = [sum(row[rank] for row in count) for rank in range(n)]
    return [
        f"pairs by rank: {', '.join(map(str, by_rank))}",
        f"all wait, step by step, for {' + '.join(str(max(row)) for row in count)} = "
        f"{sum(max(row) for row in count)} (counted)",
    ]


def _rows(
    owner: Mapping[int, int], cells: Mapping[Any, Any], shown: Mapping[Any, Any]
) -> list[str]:
    size = len(owner)
    lines = []
    for query in range(size):
        signs = [
            str(shown[query, key][1]) if (query, key) in shown else "." if (query, key) in cells
            else " " for key in range(size)
        ]  # fmt: skip
        lines.append(f"query {query:>3}, rank {owner[query]}  {' '.join(signs)}".rstrip())
    return lines


def _svg(owner: Mapping[int, int], shown: Mapping[Any, tuple[int, int]]) -> str:
    size = len(owner)
    parts = []
    for query in range(size):
        y = query * _CELL
        parts.append(
            f'<text x="{_LEFT - 6}" y="{y + 12}" font-size="10" text-anchor="end" fill="{QUIET}">'
            f"rank {owner[query]}</text>"
        )
        for key in range(query + 1):
            x = _LEFT + key * _CELL
            rank, step = shown.get((query, key), (None, None))
            fill = "none" if rank is None else TINTS[rank]
            parts.append(
                f'<rect x="{x}" y="{y}" width="{_CELL - 1}" height="{_CELL - 1}" fill="{fill}" '
                f'stroke="{QUIET}" stroke-width="0.5"/>'
            )
            if step is not None:
                parts.append(
                    f'<text x="{x + 8}" y="{y + 12}" font-size="10" text-anchor="middle" '
                    f'fill="{INK}">{step}</text>'
                )
    width, height = _LEFT + size * _CELL + 4, size * _CELL + 2
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" role="img" '
        f'aria-label="queries downward, keys across, one tint a rank">{"".join(parts)}</svg>'
    )
