"""Who holds which element of the matrices of a tensor-core instruction."""

from __future__ import annotations

from html import escape

from ..simt.fragments import LANES, TILES, Fragment, Tile
from .dial import Bundle, Dial, Dialled
from .palette import INK, QUIET, TINTS

SIDES = {"a": "A", "b": "B", "c": "C and D"}
CELL, GAP, TOP, LEFT = 24, 46, 34, 26


def show_fragments(name: str = "m16n8k16", lane: int = 0) -> Dialled:
    """The three matrices of `name`, m16n8k16 or m16n8k8, with a dial for the lane.

    Each cell names the lane that holds the element; a colour stands for a group of four lanes.
    The cells of the chosen lane have a thick frame and the number of the register.
    """
    if name not in TILES:
        raise ValueError(f"no instruction {name!r}: there are {', '.join(TILES)}.")
    tile = TILES[name]
    return Dialled([Dial("lane", tuple(range(LANES)), lane)], lambda lane: _bundle(tile, lane))


def _bundle(tile: Tile, lane: int) -> Bundle:
    parts = (tile.a, tile.b, tile.c)
    lines = [f"{tile.name}, lane {lane} holds"]
    for part in parts:
        held = (f"{part.matrix}{i} = [{row}, {column}]"
                for i, (row, column) in enumerate(part.places[lane].tolist()))  # fmt: skip
        lines.append(f"  {SIDES[part.matrix]}: " + "  ".join(held))
    text = "\n".join(lines)
    return {"text/plain": text, "text/html": _html(tile, lane, parts, text)}


def _html(tile: Tile, lane: int, parts: tuple[Fragment, ...], text: str) -> str:
    """A left, B above D on the right, as the rows and columns of a product meet."""
    a, b, c = parts
    right = LEFT + a.columns * CELL + GAP
    below = TOP + b.rows * CELL + GAP
    drawn = [
        *_grid(a, lane, LEFT, below), *_grid(b, lane, right, TOP), *_grid(c, lane, right, below)
    ]  # fmt: skip
    width, height = right + c.columns * CELL + 4, below + c.rows * CELL + 4
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'role="img" aria-label="{escape(text)}" style="max-width: 100%; font-family: sans-serif;">'
        f"{''.join(drawn)}</svg>"
    )
    said = "each cell: the lane that holds it; thick frames: the registers of lane"
    return f"<div><b>{tile.name}</b>, {said} {lane}</div>{svg}"


def _grid(part: Fragment, lane: int, left: int, top: int) -> list[str]:
    """One matrix: title, numbers of rows and columns, a cell for each element."""
    drawn = [_text(left, top - 20, f"{SIDES[part.matrix]}, {part.rows} x {part.columns}",
                   "start", "currentColor", 13)]  # fmt: skip
    for column in range(part.columns):
        drawn.append(_text(left + (column + 0.5) * CELL, top - 5, str(column), "middle", QUIET))
    for row in range(part.rows):
        y = top + row * CELL
        drawn.append(_text(left - 5, y + 16, str(row), "end", QUIET))
        for column in range(part.columns):
            holder, index = part.holders[row, column].tolist()
            x, mine = left + column * CELL, holder == lane
            frame = f'stroke="{INK}" stroke-width="3"' if mine else f'stroke="{QUIET}"'
            inset = 2 if mine else 0.5
            drawn.append(
                f'<rect x="{x + inset}" y="{y + inset}" width="{CELL - 2 * inset}" '
                f'height="{CELL - 2 * inset}" fill="{TINTS[holder // 4]}" {frame}>'
                f"<title>{SIDES[part.matrix]}[{row}, {column}]: lane {holder}, "
                f"{part.matrix}{index}</title></rect>"
            )
            said = f"{part.matrix}{index}" if mine else str(holder)
            drawn.append(_text(x + CELL / 2, y + 16, said, "middle", INK, 11, mine))
    return drawn


def _text(
    x: float, y: float, text: str, anchor: str, fill: str, size: int = 10, bold: bool = False
) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return (f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-size="{size}"{weight} '
            f'fill="{fill}">{escape(text)}</text>')  # fmt: skip
