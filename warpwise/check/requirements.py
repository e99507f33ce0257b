"""Requirements: what an answer may cost, counted, beside what the course's own solution costs.

counter      a number of the counters' report, see COUNTERS
baseline     what the solution costs on the spec's counted case, from baselines/<unit>.json
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..observe.report import Report
from .cases import Case

#: What each counter is called in a message, with its unit.
COUNTERS = {
    "load_sectors": "sectors of 32 bytes loaded",
    "store_sectors": "sectors of 32 bytes stored",
    "sectors": "sectors of 32 bytes loaded and stored",
    "loads": "warp requests to load global memory",
    "stores": "warp requests to store to global memory",
    "bank_conflicts": "bank conflicts",
    "wavefronts": "wavefronts of shared memory",
    "shared_requests": "warp requests to shared memory",
    "shared_bytes": "bytes of shared memory in a block",
    "local_requests": "warp requests to local memory",
    "barriers": "barriers, each block counted",
    "atomics": "warp requests for atomics on global memory",
    "atomic_transactions": "transactions of atomics on global memory",
    "shared_atomic_transactions": "transactions of atomics on shared memory",
    "divergent_branches": "branches at which a warp divides",
    "issue_slots": "issue slots: instructions, each warp counted",
    "float64": "float64 operations",
    "flops": "floating-point operations",
    "integer_operations": "integer operations",
}


def costs(report: Report, shared_bytes: int) -> dict[str, int]:
    """Every counter of COUNTERS, read off a report."""
    return {
        "load_sectors": report.loads.sectors,
        "store_sectors": report.stores.sectors,
        "sectors": report.loads.sectors + report.stores.sectors,
        "loads": report.loads.requests,
        "stores": report.stores.requests,
        "bank_conflicts": report.shared.bank_conflicts,
        "wavefronts": report.shared.wavefronts,
        "shared_requests": report.shared.requests,
        "shared_bytes": shared_bytes,
        "local_requests": report.local.requests,
        "barriers": report.barriers,
        "atomics": report.atomics.requests,
        "atomic_transactions": report.atomics.transactions,
        "shared_atomic_transactions": report.shared_atomics.transactions,
        "divergent_branches": report.branches.divergent,
        "issue_slots": report.work.slots,
        "float64": report.flops.get("float64", 0),
        "flops": sum(report.flops.values()),
        "integer_operations": sum(report.integer_operations.values()),
    }


@dataclass(frozen=True)
class Requirement:
    """At most `times` what the solution costs, plus `more`; or at most `limit(case)`.

    counter    a key of COUNTERS
    diagnosis  the slug of breaking it, such as "too_many_sectors"
    groups     report groups whose worst line is shown, such as ("loads", "stores")
    """

    counter: str
    diagnosis: str
    times: float = 1.0
    more: float = 0.0
    limit: Callable[[Case], float] | None = None

    def __post_init__(self) -> None:
        if self.counter not in COUNTERS:
            raise ValueError(f"{self.counter!r} is no counter: {', '.join(COUNTERS)}.")


#: The noun of a counter and its ending, "branches at which" for one.
_MANY = re.compile(
    r"\b(branch|sector|request|conflict|wavefront|byte|barrier|transaction|slot|operation)e?s\b"
)


@dataclass(frozen=True)
class Broken:
    """A requirement that an answer breaks: what it costs, what it may."""

    requirement: Requirement
    counted: int
    allowed: int
    solution: int | None

    def __str__(self) -> str:
        what = COUNTERS[self.requirement.counter]
        if self.counted == 1:
            what = _MANY.sub(r"\1", what, count=1)
        ours = "" if self.solution is None else f"; the course's solution needs {self.solution:,}"
        return f"{self.counted:,} {what}, where at most {self.allowed:,} are allowed{ours}"


def broken(
    requirements: tuple[Requirement, ...], unit: str, exercise: str, case: Case,
    counted: Mapping[str, int],
) -> list[Broken]:  # fmt: skip
    """The requirements that are not met, in the order of the spec."""
    found = []
    for one in requirements:
        solution = None
        if one.limit is None:
            solution = baseline(unit)[exercise][one.counter]
            allowed = int(solution * one.times + one.more)
        else:
            allowed = int(one.limit(case))
        if counted[one.counter] > allowed:
            found.append(Broken(one, counted[one.counter], allowed, solution))
    return found


@functools.cache
def baseline(unit: str) -> Mapping[str, Mapping[str, int]]:
    """Exercise -> counter -> what the solution costs on the counted case."""
    path = path_of(unit)
    if not path.is_file():
        raise FileNotFoundError(f"{path.name} is missing; `make build` writes it.")
    found: dict[str, dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return found


def path_of(unit: str) -> Path:
    """Where the baseline of a unit lies."""
    return Path(__file__).parent / "baselines" / f"{unit}.json"
