"""Colours of blocks: eight light tints that stay apart for colour-blind eyes, under dark text.

Derived from the palette of Okabe and Ito, lightened so that #1a1a1a on each has a contrast of at
least 8.  A colour is never the only sign: each cell names its block as well.

Source: M. Okabe, K. Ito, "Color Universal Design", 2008, jfly.uni-koeln.de/color.
"""

from __future__ import annotations

TINTS = ("#9fd0f0", "#f7c873", "#8fd6b8", "#f2a98a", "#d9b8e0", "#f2e68c", "#a9b9e6", "#c9c9c9")
INK = "#1a1a1a"
# Middle grey: legible on white and on a dark page.
QUIET = "#7a7a7a"


def tint(number: int) -> str:
    """The colour of a block; after eight they repeat."""
    return TINTS[number % len(TINTS)]
