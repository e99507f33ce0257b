"""What stops a Triton kernel, in the learner's words.  The text is finished where it is raised."""

from __future__ import annotations


class TileError(Exception):
    """A Triton kernel that cannot be run here, or was stopped.  `str(error)` is the message.

    diagnosis  a stable word: "out_of_bounds", "unsupported", "launch", "raised", "source",
                "absent": Triton is not installed
    line       in the reader's file or cell, None where there is none
    pointer    the parameter whose memory it is about, "" where it is about none
    """

    def __init__(
        self, text: str, diagnosis: str, *, line: int | None = None, pointer: str = ""
    ) -> None:
        super().__init__(text)
        self.diagnosis = diagnosis
        self.line = line
        self.pointer = pointer

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the message, without the frames of this package."""
        return [f"{type(self).__name__}: {self}"]
