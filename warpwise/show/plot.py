"""Plots that read on a light and on a dark page: no background, middle grey lines and letters.

Colours: Okabe and Ito's, which colour-blind eyes tell apart; a marker or a word stands beside each.
"""

from __future__ import annotations

import base64
import io
from typing import Any

#: Okabe and Ito's palette without black and yellow, which one of the pages would swallow.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
MARKERS = ("o", "s", "^", "D", "v", "P")
GREY = "#808080"


def axes(width: float, height: float) -> tuple[Any, Any]:
    """A figure and its axes, in inches."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    figure.patch.set_alpha(0)
    ax = figure.add_subplot()
    ax.patch.set_alpha(0)
    for side in ax.spines.values():
        side.set_color(GREY)
    ax.tick_params(colors=GREY, which="both")
    ax.xaxis.label.set_color(GREY)
    ax.yaxis.label.set_color(GREY)
    ax.title.set_color(GREY)
    return figure, ax


def legend(ax: Any) -> None:
    """Names of what has a label, below the axes, without a frame."""
    drawn = len(ax.get_legend_handles_labels()[1])
    ax.figure.legend(loc="outside lower center", ncols=min(drawn, 4), frameon=False,
                     labelcolor=GREY, fontsize=9)  # fmt: skip


def bundle(figure: Any, text: str) -> dict[str, Any]:
    """PNG with the text beside it: what a page without images shows, and a reader aloud reads."""
    data = io.BytesIO()
    figure.savefig(data, format="png")
    return {
        "image/png": base64.b64encode(data.getvalue()).decode(),
        "text/plain": text,
    }
