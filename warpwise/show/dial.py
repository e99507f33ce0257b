"""A picture with dials: sliders above, the picture below; without widgets, the picture alone.

A saved notebook, a page without a kernel and a terminal show the picture at its first setting.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Bundle = dict[str, Any]
VIEW = "application/vnd.jupyter.widget-view+json"
ASLEEP = "(Run this cell for the dials.)"


@dataclass(frozen=True)
class Dial:
    """One slider: its name and the values it stops at, in order."""

    name: str
    values: Sequence[Any]
    start: Any


class Dialled:
    """`draw(**settings)` gives the MIME bundle of the picture at those settings."""

    def __init__(self, dials: Sequence[Dial], draw: Callable[..., Bundle]) -> None:
        for dial in dials:
            if dial.start not in dial.values:
                raise ValueError(f"{dial.name} starts at {dial.start!r}, which is no stop of it.")
        self.dials = tuple(dials)
        self.draw = draw

    @property
    def start(self) -> Mapping[str, Any]:
        """The first setting."""
        return {dial.name: dial.start for dial in self.dials}

    def at(self, **settings: Any) -> Bundle:
        """The picture with some dials turned."""
        unknown = settings.keys() - self.start.keys()
        if unknown:
            raise ValueError(f"no dial {sorted(unknown)[0]!r}: there are {', '.join(self.start)}.")
        return self.draw(**{**self.start, **settings})

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Bundle:
        return self.at()

    def __repr__(self) -> str:
        return str(self.at().get("text/plain", ""))

    def sliders(self, changed: Callable[[Bundle], None]) -> Any:
        """The sliders in a box; `changed` gets the new picture.  None without ipywidgets."""
        try:
            import ipywidgets
        except ImportError:
            return None
        wide = max(len(dial.name) for dial in self.dials)
        boxes = {
            dial.name: ipywidgets.SelectionSlider(
                options=list(dial.values), value=dial.start,
                description=dial.name.replace("_", " "),
                layout=ipywidgets.Layout(width="480px"),
                style={"description_width": f"{wide + 1}ch"},
            )
            for dial in self.dials
        }  # fmt: skip

        def turned(_: Any) -> None:
            changed(self.at(**{name: box.value for name, box in boxes.items()}))

        for box in boxes.values():
            box.observe(turned, "value")
        return ipywidgets.VBox(list(boxes.values()))

    def _ipython_display_(self) -> None:
        """Sliders, and below them the picture as an output of its own."""
        from IPython.display import display

        handle: Any = None
        box = self.sliders(lambda bundle: handle.update(bundle, raw=True))
        if box is not None:
            view = box._repr_mimebundle_()[VIEW]
            display({"text/plain": ASLEEP, VIEW: view}, raw=True)  # type: ignore[no-untyped-call]
        handle = display(self.at(), raw=True, display_id=True)  # type: ignore[no-untyped-call]
