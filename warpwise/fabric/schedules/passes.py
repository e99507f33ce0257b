"""The passes of a pipeline: what one rank does with one microbatch.

The letters are PyTorch's (torch.distributed.pipelining.schedules): F forward, B full backward,
I backward for the input alone, W backward for the weights alone, and B = I + W.  The zero-bubble
paper (arXiv 2401.10241) writes B where we write I.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..inputs import whole
from .tasks import ScheduleError

KINDS = {
    "F": "forward",
    "B": "full backward",
    "I": "backward for the input",
    "W": "backward for the weights",
}
_WRITTEN = re.compile(r"([FBIW])(\d+)(?:\.(\d+))?")


@dataclass(frozen=True, order=True)
class Pass:
    """`F3` is the forward of microbatch 3; `F3.1` that of the rank's chunk 1."""

    kind: str
    microbatch: int
    chunk: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ScheduleError(f"a pass is {', '.join(KINDS)}, not {self.kind!r}.")
        whole(ScheduleError, 0, microbatch=self.microbatch, chunk=self.chunk)

    def __str__(self) -> str:
        return f"{self.kind}{self.microbatch}" + (f".{self.chunk}" if self.chunk else "")

    __repr__ = __str__


@dataclass(frozen=True)
class Pair:
    """A forward and a backward of two microbatches that run interleaved, as one step (DualPipe)."""

    forward: Pass
    backward: Pass

    def __post_init__(self) -> None:
        if self.forward.kind != "F" or self.backward.kind not in "BI":
            raise ScheduleError(f"{self}: a pair is a forward and a backward, such as F5+B2.")
        if self.forward.microbatch == self.backward.microbatch:
            raise ScheduleError(
                f"{self}: the backward of a microbatch needs its forward, so they cannot run "
                "interleaved."
            )

    def __str__(self) -> str:
        return f"{self.forward}+{self.backward}"

    __repr__ = __str__


Step = Pass | Pair


def parse(written: str | Step) -> Step:
    """`"F3"`, `"B3.1"` or `"F5+B2.1"` as a step.  Raises ScheduleError."""
    if isinstance(written, Pass | Pair):
        return written
    if not isinstance(written, str):
        raise ScheduleError(f"{written!r} is no pass: write F0, B3 or F5+B2.")
    steps = [_one(part, written) for part in written.split("+")]
    if len(steps) == 1:
        return steps[0]
    if len(steps) != 2:
        raise ScheduleError(f"{written!r}: a pair is a forward and a backward, such as F5+B2.")
    return Pair(steps[0], steps[1])


def _one(part: str, written: str) -> Pass:
    found = _WRITTEN.fullmatch(part.strip())
    if not found:
        raise ScheduleError(
            f"{written!r} is no pass.  Write a letter (F, B, I, W), the microbatch and, on a rank "
            "with several chunks, a point and the chunk: F0, B3, W2.1."
        )
    kind, microbatch, chunk = found.groups()
    return Pass(kind, int(microbatch), int(chunk or 0))


def parts(step: Step) -> tuple[Pass, ...]:
    """The passes of a step."""
    return (step.forward, step.backward) if isinstance(step, Pair) else (step,)
