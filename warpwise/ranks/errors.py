"""The errors of `run_ranks`: which rank failed first, or who waits for whom."""

from __future__ import annotations

from typing import Any

from . import output, sites
from .failure import Failure
from .outcome import FOREVER, Outcome

# What to do about messages of PyTorch's that do not say so.
HINTS = {
    "initialize the default process group twice": "run_ranks has formed the process group: leave "
    "init_process_group out.",
    "Default process group has not been initialized": "the function destroyed the process group, "
    "or a process that it started has none.",
    "Torch not compiled with CUDA enabled": "this PyTorch has no GPU support: make tensors on the "
    "CPU, or on `dist.get_rank()`'s GPU where torch.cuda.is_available().",
    "Cannot use ReduceOp.PREMUL_SUM with Gloo": "multiply before a sum: gloo has no PREMUL_SUM.",
}


class RankError(Exception):
    """A rank failed; `outcome` holds what all ranks did, `failure` the first failure.

    `exception` is the exception of that rank, or None.
    """

    def __init__(self, message: str, outcome: Outcome) -> None:
        super().__init__(message)
        self.outcome = outcome

    @property
    def failure(self) -> Failure | None:
        return self.outcome.first

    @property
    def exception(self) -> BaseException | None:
        return self.failure.exception if self.failure else None

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the message, without the frames of this package."""
        return [f"{type(self).__name__}: {self}"]

    def __reduce__(self) -> Any:
        return type(self), (str(self), self.outcome)


class Hang(RankError):
    """Ranks wait for ever, or had not ended at the deadline.

    `outcome.diagnosis` says who waits for whom.
    """


def failed(outcome: Outcome) -> RankError:
    """The error of a world in which a rank failed."""
    first = outcome.first
    assert first is not None
    alike = [f for f in outcome.errors if f and (str(f), f.lines) == (str(first), first.lines)]
    everyone = len(alike) == outcome.size > 1
    who = f"all {outcome.size} ranks" if everyone else f"rank {first.rank} of {outcome.size}"
    lines = [f"{who} failed: {first}"]
    lines += [f"  {sites.describe(line)}" for line in reversed(first.lines)]
    lines += [f"  after {cause}" for cause in first.causes]
    lines += [f"  {hint}" for text, hint in HINTS.items() if text in first.message]
    if first.text and not first.lines:  # it failed outside the learner's code: all there is
        lines.append(indented(first.text))
    if everyone:
        return RankError("\n".join(lines), outcome)
    peers = []
    for who, status, what in outcome.rows():
        if who != f"rank {first.rank}" and status != "ok":
            peers.append(f"  {who} ({status}): " + what.replace("\n", "\n  "))
    if outcome.diagnosis:
        lines.append(str(outcome.diagnosis))
    elif peers:
        lines += ["The others:", *peers]
    return RankError("\n".join(lines), outcome)


def hung(outcome: Outcome, timeout: float) -> Hang:
    """The error of a world that had not ended at the deadline."""
    stuck = [rank for rank, status in enumerate(outcome.status) if status == "stuck"]
    who = output.ranks_text(stuck, outcome.size)
    waiting = all((outcome.snapshots[rank] or {}).get("state") == "inside" for rank in stuck)
    if waiting and outcome.diagnosis.kind in FOREVER:  # known, often long before the deadline
        lines = [f"{who} would wait for ever."]
    else:
        lines = [f"{who} had not ended after {timeout:g} s."]
    if outcome.diagnosis:
        lines.append(str(outcome.diagnosis))
    else:
        lines += [f"  {who}: {what}" for who, _, what in outcome.rows()]
    return Hang("\n".join(lines), outcome)


def indented(text: str) -> str:
    return "\n".join("  " + line for line in text.rstrip().splitlines())
