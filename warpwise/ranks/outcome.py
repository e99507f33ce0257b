"""What came of a world: values, output, status and failure of each rank."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from . import output, sites
from .diagnosis import Diagnosis
from .failure import Failure
from .ledger import Ledger
from .referee import diagnose

# Diagnoses of ranks that would wait for ever, whatever time they get.
FOREVER = frozenset({"order", "groups", "cycle", "missing", "iterations", "peer", "tag"})


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
        number = operation["number"]  # messages have none
        which = f" #{number}" if number >= 0 else ""
        return f"waiting in {operation['name']}{which}, {place}"
    return f"at {sites.describe(sites.site(sites.learners_frame(snapshot.get('stack') or [])))}"
