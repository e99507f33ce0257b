"""Colours of blocks: eight light tints that stay apart for colour-blind eyes, under dark text.

Derived from the palette of Okabe and Ito, lightened so that #1a1a1a on each has a contrast of at
least 8.  A colour is never the only sign: each cell names its block as well.

shade   a tint, plain or with a dotted frame: sixteen of them

Source: M. Okabe, K. Ito, "Color Universal Design", 2008, jfly.uni-koeln.de/color.
"""

from __future__ import annotations

TINTS = ("#9fd0f0", "#f7c873", "#8fd6b8", "#f2a98a", "#d9b8e0", "#f2e68c", "#a9b9e6", "#c9c9c9")
INK = "#1a1a1a"
# Middle grey: legible on white and on a dark page.
QUIET = "#7a7a7a"


SHADES = 2 * len(TINTS)


def shade(place: tuple[int, int, int], grid: tuple[int, int, int]) -> tuple[str, bool]:
    """(tint, dotted) of the block at (x, y, z).

    Up to sixteen blocks have a shade each.  Beyond, shades repeat, but never between blocks that
    touch, straight or across a corner of the grid.
    """
    x, y, z = place
    few = grid[0] * grid[1] * grid[2] <= SHADES
    number = x + grid[0] * (y + grid[1] * z) if few else x + 5 * y + 7 * z
    return TINTS[number % len(TINTS)], number % SHADES >= len(TINTS)
