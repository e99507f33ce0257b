"""How one rank failed, and whether it did so by itself."""

from __future__ import annotations

import dataclasses
import pickle
import signal
from dataclasses import dataclass, field

from . import sites

# What gloo and nccl say when the other end of a connection is gone.
LOST_PEER = (
    "Connection closed by peer", "Connection reset by peer", "Connection refused", "Broken pipe",
    "Socket closed", "failed to pass monitoredBarrier", "remote process exited",
)  # fmt: skip


@dataclass(frozen=True)
class Failure:
    """How one rank failed."""

    rank: int
    name: str  # of the exception; empty for a process that died
    message: str
    lines: list[sites.Site] = field(default_factory=list)  # of the learner's code, innermost last
    text: str = ""  # the whole traceback
    causes: list[str] = field(default_factory=list)  # the exceptions before it, latest first
    time: float = 0.0  # seconds on the clock that all processes of a machine share
    exit_code: int | None = None  # of a process that died; minus the signal's number
    collateral: bool = False  # it failed because another rank did
    exception: BaseException | None = field(default=None, compare=False)

    @property
    def site(self) -> sites.Site | None:
        """The learner's line that failed."""
        return self.lines[-1] if self.lines else None

    def __str__(self) -> str:
        return f"{self.name}: {self.message}" if self.name else self.message


def died(code: int) -> str:
    """The end of a process in words."""
    if code >= 0:
        return f"its process ended with exit code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    meaning = {
        "SIGSEGV": " (it touched memory that is not its own)",
        "SIGABRT": " (C++ code gave up: often tensors whose sizes differ between ranks)",
        "SIGKILL": " (from outside: often the machine was out of memory)",
    }.get(name, "")
    return f"its process was ended by {name}{meaning}"


def unpickled(block: bytes) -> BaseException | None:
    """A rank's exception, where it can be rebuilt here."""
    try:
        return pickle.loads(block) if block else None
    except Exception:
        return None


def with_collateral(failures: list[Failure | None]) -> list[Failure | None]:
    """Mark failures that only say that another rank was lost."""
    lost = {
        f.rank
        for f in failures
        if f is not None and f.name and any(text in f.message for text in LOST_PEER)
    }
    if all(f is None or f.rank in lost for f in failures):
        return failures
    return [
        dataclasses.replace(f, collateral=True) if f is not None and f.rank in lost else f
        for f in failures
    ]
