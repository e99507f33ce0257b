"""A timeline: the host and the engines as rows, calls and operations as bars."""

from __future__ import annotations

from typing import Any

from ..hardware import Timeline
from .plot import COLOURS, GREY, axes, bundle, legend

_HOST = "host"
_ROWS = (_HOST, "copy to device", "compute", "copy to host", "copy")
_HATCH = ("", "//", "..", "xx", "\\\\", "++")


class TimelinePicture:
    """Bars from start to end, a colour and a hatch a stream, with a legend where there are several;
    the host's calls and waits in grey."""

    def __init__(self, line: Timeline) -> None:
        self.line = line
        self.factor, self.unit = (1, "ms") if line.makespan_ms >= 1 else (1000, "us")

    def __str__(self) -> str:
        total = self.line.makespan_ms * self.factor
        rows = [f"{total:.4g} {self.unit} in all   ({self.line.label})"]
        waits = [(start, end) for start, end, waited in self.line.calls if waited]
        if waits:
            rows.append(f"  {_HOST} waits: " + ", ".join(self._from_to(*wait) for wait in waits))
        for engine in _ROWS:
            spans = [span for span in self.line.spans if span.engine == engine]
            if spans:
                said = [f"{s.op.name} {self._from_to(s.start_ms, s.end_ms)}" for s in spans]
                rows.append(f"  {engine}: {', '.join(said)}")
        streams = self._streams()
        if len(streams) > 1:
            rows += [f"  {_name(key)}: {', '.join(names)}" for key, names in streams.items()]
        return "\n".join(rows)

    def _streams(self) -> dict[int, list[str]]:
        """Stream -> its operations, in the order of the streams."""
        found: dict[int, list[str]] = {}
        for span in sorted(self.line.spans, key=lambda span: (span.op.stream, span.start_ms)):
            found.setdefault(span.op.stream, []).append(span.op.name)
        return found

    __repr__ = __str__

    def _from_to(self, start_ms: float, end_ms: float) -> str:
        return f"{start_ms * self.factor:.3g} to {end_ms * self.factor:.3g}"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return bundle(self.figure(), str(self))

    def figure(self) -> Any:
        """The matplotlib figure."""
        line, factor = self.line, self.factor
        busy = {span.engine for span in line.spans} | ({_HOST} if line.calls else set())
        engines = [row for row in _ROWS if row in busy]
        figure, ax = axes(8.0, 0.9 + 0.5 * max(1, len(engines)))
        total = line.makespan_ms or 1.0
        for start, end, waited in line.calls:
            ax.barh(0, (end - start) * factor, left=start * factor, height=0.3 if waited else 0.62,
                    color="none" if waited else GREY, edgecolor=GREY, linewidth=0.6)  # fmt: skip
            if waited and end - start > 0.1 * total:
                ax.text((start + end) / 2 * factor, 0, "waits", ha="center", va="center",
                        fontsize=8, color=GREY)  # fmt: skip
        streams = self._streams()
        named: set[int] = set() if len(streams) > 1 else set(streams)
        for span in sorted(line.spans, key=lambda span: span.op.stream):
            row, stream = engines.index(span.engine), span.op.stream
            start, length = span.start_ms * factor, (span.end_ms - span.start_ms) * factor
            ax.barh(row, length, left=start, height=0.62, edgecolor="white",
                    color=COLOURS[stream % len(COLOURS)], hatch=_HATCH[stream % len(_HATCH)],
                    linewidth=0.6, label=None if stream in named else _name(stream))  # fmt: skip
            named.add(stream)
            if length > 0.012 * len(span.op.name) * total * factor:
                ax.text(start + length / 2, row, span.op.name, ha="center", va="center",
                        fontsize=8, color="white", bbox={"boxstyle": "round,pad=0.1", "lw": 0,
                        "facecolor": COLOURS[stream % len(COLOURS)]})  # fmt: skip
        ax.set_yticks(range(len(engines)), engines, color=GREY)
        ax.invert_yaxis()
        ax.set(xlabel=f"{self.unit} ({line.label})", xlim=(0, total * factor * 1.02))
        if len(streams) > 1:
            figure.set_figheight(figure.get_figheight() + 0.3)
            legend(ax)
        return figure


def _name(stream: int) -> str:
    return f"stream {stream}" if stream else "default stream"


def show_timeline(line: Timeline) -> TimelinePicture:
    """The picture of `timeline(...)`: what the host and each engine do when, a colour a stream."""
    if not isinstance(line, Timeline):
        raise TypeError("give it what timeline(ops) of warpwise.hardware makes of the operations.")
    return TimelinePicture(line)
