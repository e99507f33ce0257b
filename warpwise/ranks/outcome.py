"""What came of a world: values, output and status of each rank, and the errors that say why."""

from __future__ import annotations

import html
import pickle
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from . import output, sites
from .diagnosis import Diagnosis
from .ledger import Ledger
from .referee import diagnose

# Diagnoses of ranks that would wait for ever, whatever time they get.
FOREVER = frozenset({"order", "groups", "cycle", "missing", "iterations", "peer", "tag"})

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


@dataclass
class Outcome:
    """The result of `run_ranks`; lists have one entry a rank.

    values: what the function returned, None where it did not.
    status: "ok", "error" (an exception), "died" (the process ended), "stuck" (at the deadline),
    "killed" (still at work when another rank failed).
    output: what the rank and its children printed; the middle of very long output is left out.
    errors: a Failure for "error" and "died", else None.
    """

    values: list[Any]
    status: list[str]
    output: list[str]
    errors: list[Failure | None]
    seconds: float  # from the first fork to the last answer, by this machine's clock
    snapshots: dict[int, dict[str, Any] | None] = field(default_factory=dict, repr=False)
    rank: int | None = None  # of this process, under torchrun; a notebook is no rank

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """What is wrong, in one sentence, also where the run ended all the same; else empty."""
        ends: dict[int, dict[str, Any]] = {
            rank: {"status": status} for rank, status in enumerate(self.status)
        }
        for rank, failure in enumerate(self.errors):
            if failure is not None:
                ends[rank] |= {
                    "message": str(failure), "site": failure.site, "collateral": failure.collateral
                }  # fmt: skip
        return diagnose(self.snapshots, ends)

    @cached_property
    def ledger(self) -> Ledger:
        """What each rank sent and received, by line."""
        return Ledger(self.snapshots)

    @property
    def size(self) -> int:
        return len(self.status)

    @property
    def ok(self) -> bool:
        return all(status == "ok" for status in self.status)

    @property
    def first(self) -> Failure | None:
        """The failure that came first and was not another's consequence."""
        failures = [failure for failure in self.errors if failure is not None]
        return min(failures, key=lambda f: (f.collateral, f.time), default=None)

    def __len__(self) -> int:
        return len(self.status)

    def __getitem__(self, rank: int) -> Any:
        return self.values[rank]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def rows(self) -> list[tuple[str, str, str]]:
        """Ranks, status and value or reason; ranks that have the same share a row."""
        same: dict[tuple[str, str], list[int]] = {}
        for rank, status in enumerate(self.status):
            same.setdefault((status, self.said(rank)), []).append(rank)
        return [(output.ranks_text(ranks, self.size), *what) for what, ranks in same.items()]

    def said(self, rank: int) -> str:
        """One line: the value of a rank that is ok, where and why for the others."""
        failure = self.errors[rank]
        if self.status[rank] == "ok":
            return short(self.values[rank])
        if failure is not None:
            place = f"{sites.describe(failure.site)}" if failure.site else ""
            return f"{failure}" + (f"\n  {place}" if place else "")
        return where(self.snapshots.get(rank))

    def __str__(self) -> str:
        # No time: what a notebook shows is the same in every run.
        lines = [f"{who}: {status}  {what}" for who, status, what in self.rows()]
        return "\n".join([*lines, str(self.diagnosis)] if self.diagnosis else lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = "".join(
            "<tr>" + "".join(f"<td style='text-align:left'>{html.escape(c)}</td>" for c in row)
            + "</tr>"
            for row in self.rows()
        )  # fmt: skip
        table = f"<table><tr><th>rank<th>status<th>value or reason</tr>{rows}</table>"
        return table + (self.diagnosis._repr_html_() if self.diagnosis else "")


def short(value: Any, width: int = 100) -> str:
    """A value on one line."""
    shape = getattr(value, "shape", None)
    if shape is not None and getattr(value, "dtype", None) is not None:
        count = 1
        for extent in shape:
            count *= extent
        if count > 8:
            return f"{type(value).__name__} {tuple(shape)} {value.dtype}"
    text = " ".join(repr(value).split())
    return text if len(text) <= width else text[: width - 4] + " ..."


def where(snapshot: dict[str, Any] | None) -> str:
    """What a rank was doing when it was looked at."""
    if snapshot is None:
        return "it gave no answer"
    if snapshot["state"] in ("finished", "failed"):
        return f"it had {snapshot['state']}"
    operation = snapshot.get("current")
    if operation and snapshot["state"] == "inside":
        place = sites.describe(operation["site"])
        return f"waiting in {operation['name']} #{operation['number']}, {place}"
    return f"at {sites.describe(sites.site(sites.learners_frame(snapshot.get('stack') or [])))}"


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
