"""Where each rank stands and who waits for whom, as text and as SVG.

Colours are the tints of warpwise.show under dark text, chosen for colour-blind eyes; a state has a
word as well as a colour, so that neither is needed for the other.  Arrows use the text's own
colour: legible on a light and on a dark page.
"""

from __future__ import annotations

from html import escape

from .diagnosis import Diagnosis, Row

# state -> (tint, dark text on it has a contrast of at least 8)
_TINTS = {
    "inside": "#9fd0f0", "outside": "#f7c873", "finished": "#8fd6b8", "failed": "#f2a98a",
    "dead": "#f2a98a", "silent": "#c9c9c9",
}  # fmt: skip
_INK = "#1a1a1a"
_QUIET = "#7a7a7a"
MOST = 32  # ranks in a picture
_ROW, _LEFT, _WIDE = 46, 56, 560


def shown(diagnosis: Diagnosis) -> list[Row]:
    """The rows of a picture: all, or of a large world those that matter first."""
    rows = diagnosis.rows
    if len(rows) <= MOST:
        return list(rows)
    # First those that others wait for, then all that the sentence is about.
    weight = {row.rank: (row.rank not in diagnosis.ranks, bool(row.waits)) for row in rows}
    chosen = sorted(rows, key=lambda row: (weight[row.rank], row.rank))[:MOST]
    return sorted(chosen, key=lambda row: row.rank)


def text(diagnosis: Diagnosis) -> str:
    """One line a rank: where it stands, the operation, and whom it waits for."""
    rows = shown(diagnosis)
    cells = [("rank", "where", "operation", "waits for")]
    for row in rows:
        doing = f"{row.doing}  {row.facts}".strip()
        cells.append((str(row.rank), row.line or "-", _short(doing, 70), row.waiting or "-"))
    widths = [max(len(line[k]) for line in cells) for k in range(4)]
    lines = ["  ".join(cell.ljust(w) for cell, w in zip(line, widths)).rstrip() for line in cells]
    hidden = len(diagnosis.rows) - len(rows)
    return "\n".join([*lines, *([f"... and {hidden} more ranks"] if hidden else [])])


def _short(said: str, limit: int) -> str:
    said = " ".join(said.split())
    return said if len(said) <= limit else said[: limit - 4] + " ..."


def svg(diagnosis: Diagnosis) -> str:
    """Ranks as boxes from top to bottom; an arrow at the right leads to the rank waited for."""
    rows = shown(diagnosis)
    places = {row.rank: k for k, row in enumerate(rows)}
    arrows = [
        (row.rank, other, row.any)
        for row in rows
        for other in row.waits
        if other in places and other != row.rank
    ]
    lanes = _lanes([(places[a], places[b]) for a, b, _ in arrows])
    edge = _LEFT + _WIDE
    width = edge + 40 + 16 * (max(lanes, default=0) + 1)
    height = _ROW * len(rows) + 8
    circle = {(a, b) for a, b in zip(diagnosis.cycle, [*diagnosis.cycle[1:], *diagnosis.cycle[:1]])}
    body = [_box(row, _ROW * k + 4, row.rank in diagnosis.ranks) for k, row in enumerate(rows)]
    for (a, b, either), lane in zip(arrows, lanes):
        body.append(_arrow(places[a], places[b], edge, lane, (a, b) in circle, either))
    title = escape(diagnosis.sentence or "where each rank stands")
    hidden = len(diagnosis.rows) - len(rows)
    more = f'<div style="color: {_QUIET};">... and {hidden} more ranks</div>' if hidden else ""
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img" aria-label="{title}" '
        'style="max-width: 100%; font-family: sans-serif; color: inherit;" '
        'xmlns="http://www.w3.org/2000/svg"><defs><marker id="ww-tip" viewBox="0 0 8 8" refX="7" '
        'refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z" '
        f'fill="context-stroke"/></marker></defs><title>{title}</title>{"".join(body)}</svg>{more}'
    )


def _box(row: Row, y: int, involved: bool) -> str:
    tint = _TINTS.get(row.state, "#c9c9c9")
    frame = f'stroke="{_INK}" stroke-width="2"' if involved else f'stroke="{_QUIET}"'
    doing = row.doing if row.state != "inside" else f"waits in {row.doing}"
    second = row.facts if row.facts else row.state
    return (
        f"<g><title>{escape(f'rank {row.rank}: {doing} {row.line} {row.facts}')}</title>"
        f'<text x="4" y="{y + 23}" font-size="13" fill="{_QUIET}">rank {row.rank}</text>'
        f'<rect x="{_LEFT}" y="{y}" width="{_WIDE}" height="{_ROW - 8}" rx="4" fill="{tint}" '
        f'{frame}/><text x="{_LEFT + 8}" y="{y + 16}" font-size="13" fill="{_INK}">'
        f'<tspan font-weight="bold">{escape(_short(doing, 34))}</tspan>'
        f'<tspan dx="10" font-family="monospace" font-size="12">{escape(_short(row.line, 46))}'
        f'</tspan></text><text x="{_LEFT + 8}" y="{y + 32}" font-size="11" fill="{_INK}">'
        f"{escape(_short(second, 84))}</text></g>"
    )


def _lanes(spans: list[tuple[int, int]]) -> list[int]:
    """A lane for each arrow, so that arrows that overlap do not share one; at most 12."""
    taken: list[list[tuple[int, int]]] = []
    lanes = []
    for a, b in spans:
        low, high = min(a, b), max(a, b)
        free = [k for k, used in enumerate(taken) if all(high <= x or low >= y for x, y in used)]
        lane = free[0] if free else len(taken)
        if lane == len(taken):
            taken.append([])
        taken[lane].append((low, high))
        lanes.append(min(lane, 11))
    return lanes


def _arrow(a: int, b: int, edge: int, lane: int, in_circle: bool, either: bool) -> str:
    """From row a to row b around the right side; thick in a circle, dashed for "any of these"."""
    down = 5 if b > a else -5
    y1, y2 = _ROW * a + _ROW // 2 + down, _ROW * b + _ROW // 2 - down
    x = edge + 24 + 16 * lane
    weight = 2.5 if in_circle else 1.5
    colour = "#d55e00" if in_circle else _QUIET
    dash = ' stroke-dasharray="4 3"' if either else ""
    return (
        f'<path d="M{edge} {y1} C{x} {y1} {x} {y2} {edge + 2} {y2}" fill="none" '
        f'stroke="{colour}" stroke-width="{weight}"{dash} marker-end="url(#ww-tip)"/>'
    )
