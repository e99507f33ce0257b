"""The picture of a launch in a notebook: a slider over blocks, or a figure that stands still.

With a kernel behind it the notebook shows the slider; a saved notebook, a page without widgets and
a terminal show the figure of all blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import figure
from .touch import LaunchTouch, follow

ALL = -1  # the slider's first stop; the widget cannot hold None


@dataclass(frozen=True)
class Picture:
    """Which thread touched which cell in one launch; the last line of a cell shows it."""

    launch: LaunchTouch

    def html(self, block: int | None = None) -> str:
        """The figure as HTML, with one block in focus or all."""
        return figure.html(self.launch, block)

    def __str__(self) -> str:
        return figure.text(self.launch)

    def __repr__(self) -> str:
        return str(self)

    def slider(self) -> Any:
        """An ipywidgets box: a slider from "all" over the blocks, and the figure below it.

        None where ipywidgets is not installed.
        """
        try:
            import ipywidgets
        except ImportError:
            return None
        blocks = range(self.launch.blocks)
        names = [("all", ALL), *((self.launch.block_name(block), block) for block in blocks)]
        slider = ipywidgets.SelectionSlider(
            options=names,
            value=ALL,
            description="block",
            layout=ipywidgets.Layout(width="420px"),
        )
        shown = ipywidgets.HTML(self.html())

        def draw(change: Any) -> None:
            shown.value = self.html(None if change.new == ALL else change.new)

        slider.observe(draw, "value")
        return ipywidgets.VBox([slider, shown])

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        bundle: dict[str, Any] = {"text/plain": str(self), "text/html": self.html()}
        box = self.slider() if self.launch.blocks > 1 else None
        if box is not None:
            view = "application/vnd.jupyter.widget-view+json"
            bundle[view] = box._repr_mimebundle_()[view]
        return bundle


def show_threads(launch: Any, *args: Any, array: str | Sequence[str] | None = None) -> Picture:
    """The picture of a launch: `show_threads(add[3, 4], out, a, b)`.

    It runs the kernel in the simulator on copies of `args`.  array: one or several parameter names;
    by default every array that the kernel wrote.  Raises what the launch itself would raise.
    """
    from warpwise.simt import SimtError

    names = [array] if isinstance(array, str) else array
    try:
        return Picture(follow(launch, args, names))
    except SimtError as error:  # the message is enough: the frames in between are ours
        if error.__cause__ is not None:
            raise
        raise error.with_traceback(None) from None
