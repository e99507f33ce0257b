"""A timeline: engines as rows, operations as bars."""

from __future__ import annotations

from typing import Any

from ..hardware import Timeline
from .plot import COLOURS, GREY, axes, bundle

_ROWS = ("host", "copy to device", "compute", "copy to host")
_HATCH = ("", "//", "..", "xx", "\\\\", "++")


class TimelinePicture:
    """Bars from start to end, a colour and a hatch a stream."""

    def __init__(self, line: Timeline) -> None:
        self.line = line

    def __str__(self) -> str:
        rows = [f"{self.line.makespan_ms:.4g} ms in all   ({self.line.label})"]
        for engine in _ROWS:
            spans = [span for span in self.line.spans if span.engine == engine]
            if spans:
                said = ", ".join(f"{s.op.name} {s.start_ms:.3g} to {s.end_ms:.3g}" for s in spans)
                rows.append(f"  {engine}: {said}")
        return "\n".join(rows)

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return bundle(self.figure(), str(self))

    def figure(self) -> Any:
        """The matplotlib figure."""
        engines = [row for row in _ROWS if any(s.engine == row for s in self.line.spans)]
        figure, ax = axes(8.0, 0.9 + 0.5 * max(1, len(engines)))
        total = self.line.makespan_ms or 1.0
        for span in self.line.spans:
            row, stream = engines.index(span.engine), span.op.stream
            length = span.end_ms - span.start_ms
            ax.barh(row, length, left=span.start_ms, height=0.62, edgecolor="white",
                    color=COLOURS[stream % len(COLOURS)], hatch=_HATCH[stream % len(_HATCH)],
                    linewidth=0.6)  # fmt: skip
            if length > 0.04 * total:
                ax.text(span.start_ms + length / 2, row, span.op.name, ha="center", va="center",
                        fontsize=8, color="white", bbox={"boxstyle": "round,pad=0.1", "lw": 0,
                        "facecolor": COLOURS[stream % len(COLOURS)]})  # fmt: skip
        ax.set_yticks(range(len(engines)), engines, color=GREY)
        ax.invert_yaxis()
        ax.set(xlabel="ms (modelled)", xlim=(0, total * 1.02))
        return figure


def show_timeline(line: Timeline) -> TimelinePicture:
    """The picture of `timeline(...)`: what each engine does when, a colour a stream."""
    return TimelinePicture(line)
