"""A pipeline schedule over time: a row a rank, a bar a pass; dials for ranks and microbatches."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import Any

from ..fabric.schedules import Pipelined, Schedule, ScheduleError, Span, Times, simulate
from ..fabric.schedules.passes import Pass, parts
from .dial import Bundle, Dial, Dialled
from .palette import INK, QUIET, TINTS

# A tint a kind; the letter in the bar says the same.
_TINT = dict(zip("FBIW", (TINTS[0], TINTS[1], TINTS[3], TINTS[2]), strict=True))
_WIDTH, _ROW, _LEFT = 860, 24, 58
_LETTERS = 7.0  # px a letter needs


class Gantt:
    """Text for a terminal, SVG for a notebook."""

    def __init__(self, ran: Pipelined) -> None:
        self.ran = ran

    def __str__(self) -> str:
        return "\n".join([*_rows(self.ran), str(self.ran)])

    __repr__ = __str__

    def bundle(self) -> Bundle:
        """The picture as MIME types."""
        said = escape(str(self.ran))
        note = f'<div style="font-size: 90%; color: {QUIET};">{said}</div>'
        return {"text/plain": str(self), "text/html": f"<div>{svg(self.ran)}{note}</div>"}

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Bundle:
        return self.bundle()


def show_schedule(
    schedule: Schedule | Callable[..., Schedule],
    times: Times | None = None,
    p: int = 4,
    m: int = 8,
    **more: int,
) -> Gantt | Dialled:
    """A Schedule as a Gantt picture; a generator such as `one_f_one_b` with dials for p and m.

    more  what else the generator takes (v of `interleaved`)
    """
    if isinstance(schedule, Schedule):
        return Gantt(simulate(schedule, times))

    def draw(ranks: int, microbatches: int) -> Bundle:
        try:
            return Gantt(simulate(schedule(ranks, microbatches, **more), times)).bundle()
        except ScheduleError as error:
            return {"text/plain": str(error), "text/html": f"<p>{escape(str(error))}</p>"}

    ranks = tuple(sorted({1, 2, 3, 4, 6, 8, p}))
    microbatches = tuple(sorted({1, 2, 3, 4, 6, 8, 12, 16, 24, 32, m}))
    return Dialled([Dial("ranks", ranks, p), Dial("microbatches", microbatches, m)], draw)


def _name(span: Span) -> str:
    """The step of a task such as "F0 of rank 1"."""
    return str(span.task.name).split()[0]


def _rows(ran: Pipelined) -> list[str]:
    """A line a rank, the shortest pass as wide as the longest name; points where the rank idles."""
    spans = ran.run.spans
    unit = min((span.end - span.start for span in spans if span.end > span.start), default=1.0)
    cell = max(len(_name(span)) for span in spans) + 1
    # Long names in short passes make lines nobody reads: the picture is for those.
    if ran.makespan / unit * cell > 400:
        return [f"{ran.schedule.ranks} ranks, too long for a line of text"]
    lines = []
    for rank in range(ran.schedule.ranks):
        line = ""
        for span in ran.run.on(rank):
            line = line.ljust(round(span.start / unit * cell), ".")
            line += _name(span).ljust(round((span.end - span.start) / unit * cell), " ")
        line = line.ljust(round(ran.makespan / unit * cell), ".")
        lines.append(f"rank {rank} |{line}|")
    return lines


def svg(ran: Pipelined) -> str:
    """Bars over time.  A chunk beyond the first is framed; a pair is cut in two."""
    scale = (_WIDTH - _LEFT - 4) / (ran.makespan or 1.0)
    height = ran.schedule.ranks * _ROW + 24
    marks = [_row(ran, rank, scale) for rank in range(ran.schedule.ranks)]
    axis = (
        f'<text x="{_LEFT}" y="{height - 6}" font-size="11" fill="{QUIET}">0</text>'
        f'<text x="{_WIDTH - 4}" y="{height - 6}" font-size="11" fill="{QUIET}" '
        f'text-anchor="end">{ran.makespan:g}</text>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" role="img" font-family="sans-serif" '
        f'aria-label="{escape(str(ran))}">{"".join(marks)}{axis}</svg>'
    )


def _row(ran: Pipelined, rank: int, scale: float) -> str:
    top = rank * _ROW + 2
    drawn = [
        f'<text x="0" y="{top + 15}" font-size="12" fill="{QUIET}">rank {rank}</text>',
        f'<line x1="{_LEFT}" x2="{_WIDTH - 4}" y1="{top + 10}" y2="{top + 10}" '
        f'stroke="{QUIET}" stroke-dasharray="2 4"/>',
    ]
    steps = {str(step): parts(step) for step in ran.schedule.orders[rank]}
    for span in ran.run.on(rank):
        passes = steps[_name(span)]
        width = (span.end - span.start) * scale / len(passes)
        for number, one in enumerate(passes):
            drawn.append(_bar(one, _LEFT + span.start * scale + number * width, top, width))
    return "".join(drawn)


def _bar(one: Pass, left: float, top: float, width: float) -> str:
    frame = f'stroke="{INK}" stroke-width="{1.6 if one.chunk else 0.5}"'
    bar = (
        f'<rect x="{left:.2f}" y="{top}" width="{width:.2f}" height="{_ROW - 4}" '
        f'fill="{_TINT[one.kind]}" {frame}><title>{one}</title></rect>'
    )
    written = next(
        (text for text in (str(one), str(one.microbatch)) if len(text) * _LETTERS < width), ""
    )
    if not written:
        return bar
    return bar + (
        f'<text x="{left + width / 2:.2f}" y="{top + 14}" font-size="11" fill="{INK}" '
        f'text-anchor="middle" pointer-events="none">{written}</text>'
    )
