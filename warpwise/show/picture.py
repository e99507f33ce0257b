"""The picture of a launch in a notebook: a slider over blocks, or a figure that stands still.

With a kernel behind it the notebook shows a slider and the figure below it; a saved notebook, a
page without widgets and a terminal show the figure of all blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from . import figure
from .touch import LaunchTouch, follow

ALL = -1  # the slider's first stop; the widget cannot hold None
VIEW = "application/vnd.jupyter.widget-view+json"
ASLEEP = "(Run this cell for a slider over the blocks.)"


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

    def slider(self, draw: Callable[[int | None], None]) -> Any:
        """An ipywidgets slider from "all" over the blocks; it calls `draw` with the block or None.

        None where ipywidgets is not installed, and where there is but one block.
        """
        try:
            import ipywidgets
        except ImportError:
            return None
        if self.launch.blocks == 1:
            return None
        blocks = range(self.launch.blocks)
        names = [("all", ALL), *((self.launch.block_name(block), block) for block in blocks)]
        slider = ipywidgets.SelectionSlider(
            options=names,
            value=ALL,
            description="block",
            layout=ipywidgets.Layout(width="420px"),
        )
        slider.observe(lambda change: draw(None if change.new == ALL else change.new), "value")
        return slider

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"text/plain": str(self), "text/html": self.html()}

    def _ipython_display_(self) -> None:
        """The slider, and below it the figure as an output of its own.

        In one output a page would show either of them, and an exported page without a network
        shows no slider.
        """
        from IPython.display import display

        handle: Any = None

        def draw(block: int | None) -> None:
            bundle = {"text/plain": str(self), "text/html": self.html(block)}
            handle.update(bundle, raw=True)

        slider = self.slider(draw)
        if slider is not None:
            view = slider._repr_mimebundle_()[VIEW]
            display({"text/plain": ASLEEP, VIEW: view}, raw=True)  # type: ignore[no-untyped-call]
        handle = display(  # type: ignore[no-untyped-call]
            self._repr_mimebundle_(), raw=True, display_id=True
        )


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
