"""A collective step by step: which parts of the sum each rank's pieces hold after each round."""

from __future__ import annotations

from html import escape

from ..fabric.rounds import Algorithm, Round, shares
from .dial import Bundle, Dial, Dialled
from .palette import INK, QUIET, TINTS

_MOST = 16  # ranks and pieces a picture has room for
_CELL, _LEFT = 46, 62


def show_chunks(algorithm: Algorithm) -> Dialled:
    """Ranks as rows, pieces as columns, a dial for the round.

    A cell says how many ranks' parts it holds and is filled as far; its frame is thick where the
    round changed it.  The title of a cell names the ranks.
    """
    if algorithm.ranks > _MOST or algorithm.pieces > _MOST:
        raise ValueError(
            f"a picture has room for {_MOST} ranks and pieces; {algorithm.name} has "
            f"{algorithm.ranks} and {algorithm.pieces}."
        )
    states = list(shares(algorithm))
    moves = list(algorithm.rounds())

    def draw(after_round: int) -> Bundle:
        held = states[after_round]
        changed = set() if not after_round else _changed(moves[after_round - 1])
        said = "at the start" if not after_round else _said(moves[after_round - 1])
        head = f"{algorithm.name}, {algorithm.ranks} ranks, round {after_round} of {len(moves)}"
        rows = [
            " ".join(f"{len(piece):2}" for piece in row).join([f"rank {rank:2}: ", ""])
            for rank, row in enumerate(held)
        ]
        html = f"<div><b>{escape(head)}</b>: {escape(said)}</div>{_svg(held, changed)}"
        return {"text/plain": "\n".join([f"{head}: {said}", *rows]), "text/html": html}

    return Dialled([Dial("after_round", tuple(range(len(states))), 0)], draw)


def _changed(part: Round) -> set[tuple[int, int]]:
    columns = (part.destination, part.first, part.last)
    return {
        (int(rank), piece)
        for rank, first, last in zip(*columns, strict=True)
        for piece in range(first, last)
    }


def _said(part: Round) -> str:
    """The round in words: who sends what to whom."""
    columns = (part.source, part.destination, part.first, part.last)
    sent = []
    for source, destination, first, last in zip(*columns, strict=True):
        what = f"piece {first}" if last == first + 1 else f"pieces {first} to {last - 1}"
        sent.append(f"{source} sends {what} to {destination}")
    shown = ", ".join(sent[:8]) + (", ..." if len(sent) > 8 else "")
    return f"{shown}; {'added' if part.add else 'taken'}"


def _svg(held: list[list[frozenset[int]]], changed: set[tuple[int, int]]) -> str:
    ranks, pieces = len(held), len(held[0])
    width, height = _LEFT + pieces * _CELL + 4, ranks * 28 + 24
    drawn = [
        f'<text x="{_LEFT + piece * _CELL + _CELL / 2}" y="14" font-size="11" fill="{QUIET}" '
        f'text-anchor="middle">piece {piece}</text>'
        for piece in range(pieces)
    ]
    for rank, row in enumerate(held):
        top = 20 + rank * 28
        drawn.append(f'<text x="0" y="{top + 17}" font-size="12" fill="{QUIET}">rank {rank}</text>')
        for piece, parts in enumerate(row):
            left = _LEFT + piece * _CELL
            full = (_CELL - 4) * len(parts) / ranks
            thick = 3 if (rank, piece) in changed else 0.8
            names = ", ".join(str(part) for part in sorted(parts))
            tint = TINTS[2] if len(parts) == ranks else TINTS[0]
            drawn.append(
                f"<g><title>parts of rank {names}</title>"
                f'<rect x="{left}" y="{top}" width="{_CELL - 4}" height="24" fill="#ffffff" '
                f'stroke="{INK}" stroke-width="{thick}"/>'
                f'<rect x="{left}" y="{top + 1}" width="{full:.1f}" height="22" fill="{tint}"/>'
                f'<text x="{left + (_CELL - 4) / 2}" y="{top + 16}" font-size="12" fill="{INK}" '
                f'text-anchor="middle">{len(parts)}</text></g>'
            )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" role="img" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" '
        f'aria-label="pieces by rank">{"".join(drawn)}</svg>'
    )
