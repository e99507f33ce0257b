"""A job in chunks on a timeline, with dials for the chunks, the streams and the copy engines."""

from __future__ import annotations

from typing import Any

from ..hardware import Timeline, staged, timeline
from .dial import Bundle, Dial, Dialled
from .timeline import TimelinePicture


class Stages(Dialled):
    """Times of the whole job, in us; `launch_us` for each call."""

    def __init__(
        self, h2d_us: float, kernel_us: float, d2h_us: float, launch_us: float, chunks: int,
        streams: int,
    ) -> None:  # fmt: skip
        self.times = h2d_us, kernel_us, d2h_us
        self.launch_us = launch_us
        super().__init__(
            [Dial("chunks", (1, 2, 4, 8, 16, 32, 64), chunks),
             Dial("streams", (1, 2, 3, 4, 8), streams), Dial("copy_engines", (1, 2), 2)],
            self._drawn,
        )  # fmt: skip

    def line(self, chunks: int, streams: int, copy_engines: int = 2) -> Timeline:
        """The timeline at one setting of the dials."""
        ops = staged(chunks, streams, *self.times)
        return timeline(ops, launch_us=self.launch_us, copy_engines=copy_engines)

    def _drawn(self, chunks: int, streams: int, copy_engines: int) -> Bundle:
        picture: dict[str, Any] = TimelinePicture(
            self.line(chunks, streams, copy_engines)
        )._repr_mimebundle_()
        return picture

    def __repr__(self) -> str:
        return str(self.at()["text/plain"])


def show_stages(
    h2d_us: float, kernel_us: float, d2h_us: float, launch_us: float = 5.0, chunks: int = 4,
    streams: int = 1,
) -> Stages:  # fmt: skip
    """A job that is copied in, computed and copied back in chunks; turn chunks and streams."""
    return Stages(h2d_us, kernel_us, d2h_us, launch_us, chunks, streams)
