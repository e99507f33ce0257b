"""Counting: what an answer costs on the spec's counted case."""

from __future__ import annotations

from typing import Any

from ..observe.counters import Counters
from ..observe.profiler import build
from ..observe.report import Report
from ..simt import run as simulate
from . import runner
from .cases import Case
from .printed import caught
from .requirements import costs


def count(kernel: Any, case: Case, poisoned: tuple[str, ...]) -> tuple[dict[str, int], Report]:
    """(counters of COUNTERS, the report they come from)."""
    counters = Counters()
    args = list(runner.fresh(case, poisoned).values())
    with caught():  # it has printed once already
        run = simulate(kernel, case.grid, case.block, args, (counters,), case.sharedmem)
    report = build(kernel, counters, run)
    shared = sum(run.program.shared_bytes.values()) + case.sharedmem
    return costs(report, shared), report
