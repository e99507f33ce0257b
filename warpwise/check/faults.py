"""Faults: what the sanitizer finds in one launch of an answer."""

from __future__ import annotations

from typing import Any

from ..observe.findings import Finding, of_misuse
from ..observe.sanitizer import Sanitizer
from ..simt import SimtError
from ..simt import run as simulate
from . import runner
from .cases import Case
from .printed import caught


def faults(kernel: Any, case: Case, poisoned: tuple[str, ...]) -> list[Finding]:
    """Findings of one launch, the gravest first; notes that are no fault are left out.

    An error that stops the launch is none either: it has been told already.
    """
    sanitizer = Sanitizer()
    args = list(runner.fresh(case, poisoned).values())
    try:
        with caught():  # it has printed once already
            run = simulate(kernel, case.grid, case.block, args, (sanitizer,), case.sharedmem)
    except SimtError:
        return []
    found = [of_misuse(misuse, run) for misuse in run.misuses.values()] + sanitizer.report(run)
    grave = [one for one in found if one.severity in ("error", "warning")]
    return sorted(grave, key=lambda one: one.severity)


def urgent(finding: Finding) -> bool:
    """Whether wrong values are explained by it: anything but a race in global memory, where a plain
    mistake in an index says more."""
    return not (finding.kind == "race" and finding.space == "global")
