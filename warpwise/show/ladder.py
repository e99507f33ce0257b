"""compare() of a notebook: the ladder's table, and below it the roofline with the versions on it.

Each version is a line between two points that are modelled.  Its lower left end: no cache holds
anything, and the roofs are taken one after the other.  Its upper right end: each byte is moved
once, and everything overlaps.  A filled marker is a measured time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..answers import Explanation, Ladder
from ..answers import compare as explained
from ..answers.work import work_of
from ..hardware import Device
from .plot import COLOURS, MARKERS, bundle, legend
from .roofline import roofs

NO_FLOPS = "No roofline: no version does floating-point arithmetic."

Point = tuple[float, float]  # operations a byte, TFLOP/s


class LadderPicture(Ladder):
    """A ladder that shows itself with its roofline; the last line of a cell shows it."""

    @property
    def kind(self) -> str:
        """The peak that most of the arithmetic runs against; "" where there is none."""
        done: dict[str, float] = {}
        for _, row in self.rows:
            for kind, flops in work_of(row.counted, row.device, row.compiled).flops.items():
                done[kind] = done.get(kind, 0) + flops
        return max(done, key=lambda kind: done[kind]) if any(done.values()) else ""

    def spans(self) -> Iterator[tuple[str, Point, Point]]:
        """(version, its end without caches, its end at best), modelled; only those with flops."""
        for name, row in self.rows:
            flops, moved = _work(row)
            if flops and moved and row.intensity < float("inf"):
                worst = flops / moved, flops / row.bound.high_ms / 1e9
                yield name, worst, (row.intensity, flops / row.bound.low_ms / 1e9)

    def figure(self) -> Any:
        """The matplotlib figure, or None without floating-point arithmetic."""
        spans = list(self.spans())
        if not spans or self.device is None:
            return None
        places = [x for _, *ends in spans for x, _ in ends]
        figure, ax = roofs(self.device, self.kind, "DRAM", places)
        explained_by = dict(self.rows)
        for number, (name, worst, best) in enumerate(spans):
            colour = COLOURS[number % len(COLOURS)]
            marker = MARKERS[(number + number // len(COLOURS)) % len(MARKERS)]
            (x0, y0), (x1, y1) = worst, best
            ax.plot([x0, x1], [y0, y1], "-", color=colour, lw=1.2)
            ax.plot([x0, x1], [y0, y1], marker, color=colour, ms=8, mfc="none", mew=1.8, label=name)
            row = explained_by[name]
            if row.measured is not None:
                rate = _work(row)[0] / row.measured.median_ms / 1e9
                ax.plot(x1, rate, marker, color=colour, ms=9)
        ax.set(title=f"{self.device.name}: each version from no cache to a perfect one (modelled)")
        legend(ax)
        return figure

    def _ipython_display_(self) -> None:
        """Table and picture as two outputs: a page shows one form of each, and wants both."""
        from IPython.display import display

        figure = self.figure()
        table = self._repr_html_()
        said = str(self)
        if figure is None:
            table, said = f"{table}<div>{NO_FLOPS}</div>", f"{said}\n{NO_FLOPS}"
        display(  # type: ignore[no-untyped-call]
            {"text/html": table, "text/plain": said}, raw=True
        )
        if figure is not None:
            display(bundle(figure, self.caption()), raw=True)  # type: ignore[no-untyped-call]

    def caption(self) -> str:
        """The picture in words."""
        rows = [
            f"  {name}: {x0:.3g} to {x1:.3g} operations a byte, {_rate(y0)} to {_rate(y1)}"
            for name, (x0, y0), (x1, y1) in self.spans()
        ]
        where = self.device.name if self.device else "no device"
        return "\n".join([f"roofline of {where}, {self.kind}", *rows, "  (modelled)"])


def compare(
    versions: Mapping[str, tuple[Any, ...]], device: str | Device | None = None
) -> LadderPicture:
    """Explain each version: name -> (kernel[grid, block], argument, ...), in the order of steps.

    The result is a table, one row a version, and a roofline; `.rows` holds the explanations,
    `.table()` plain data.  Raises as explain() does.
    """
    return LadderPicture(explained(versions, device).rows)


def _work(row: Explanation) -> tuple[float, float]:
    """(floating-point operations, bytes of all sectors)."""
    work = work_of(row.counted, row.device, row.compiled)
    return sum(work.flops.values()), 32 * work.sectors


def _rate(tflops: float) -> str:
    return f"{tflops:.3g} TFLOP/s" if tflops >= 1 else f"{1000 * tflops:.3g} GFLOP/s"
