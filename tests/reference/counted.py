"""Compares what `profile` and `sanitize` say of a random kernel with an independent count."""

from __future__ import annotations

from collections import Counter
from typing import Any

from warpwise.observe import Counters, Report, profile, sanitize
from warpwise.observe.profiler import build
from warpwise.simt import Kernel
from warpwise.simt.api import to_device
from warpwise.simt.launch import Run

from . import costs, races
from .grid import Trace
from .writer import Case

TRAFFIC = ("requests", "lanes", "sectors", "lines_128b", "ideal_sectors")
LOCAL = ("requests", "lanes", "sectors", "ideal_sectors")
WAVES = ("requests", "lanes", "wavefronts", "ideal_wavefronts")
COUNTS = {
    "loads": TRAFFIC, "stores": TRAFFIC, "local_loads": LOCAL, "local_stores": LOCAL,
    "shared_loads": WAVES, "shared_stores": WAVES,
    "atomics": ("requests", "lanes", "sectors", "transactions"),
    "shared_atomics": ("requests", "lanes", "transactions"),
    "branches": ("warps", "divergent", "lanes", "taken"),
}  # fmt: skip


def by_line(report: Report) -> dict[Any, Any]:
    """(line, kind) -> counts, of a report."""
    found = {}
    for line in report.lines:
        at = line.function, line.number
        for kind, names in COUNTS.items():
            part = getattr(line, kind)
            if part.lanes:
                found[at, kind] = {name: getattr(part, name) for name in names}
        for kind in ("float32", "float64"):
            if line.operations.get(kind):
                found[at, kind] = line.operations[kind]
        if line.barriers:
            found[at, "barriers"] = line.barriers
    return found


def by_hand(trace: Trace) -> dict[Any, Any]:
    """The same from what the reference's threads did."""
    found: dict[Any, Any] = {
        (at, kind): {name: counts[name] for name in COUNTS[kind]}
        for (at, kind), counts in costs.by_line(trace).items()
    }  # fmt: skip
    sums: Counter[Any] = Counter()
    for (site, kind), times in trace.work.items():
        sums[_line(trace, site), kind] += times
    for site, blocks in trace.barriers.items():
        sums[_line(trace, site), "barriers"] += blocks
    return found | dict(sums)


def _line(trace: Trace, site: int) -> tuple[str, int]:
    return trace.places[site].function, trace.places[site].line


def miscounted(case: Case, trace: Trace) -> str:
    """The first count of `profile` that differs; empty when none does."""
    launch = Kernel.from_source(case.text, "k")[case.grid, case.block]
    got = by_line(profile(launch, *case.arguments(to_device)))
    want = by_hand(trace)
    for key in sorted(set(got) | set(want)):
        if got.get(key) != want.get(key):
            (function, line), kind = key
            return f"{kind} of {function}, line {line}: {got.get(key)}, by hand {want.get(key)}"
    return ""


def in_step(case: Case) -> dict[str, Any]:
    """All that `profile` counts."""
    launch = Kernel.from_source(case.text, "k")[case.grid, case.block]
    return _counts(profile(launch, *case.arguments(to_device)))


def warp_by_warp(case: Case) -> dict[str, Any]:
    """The same of a run in which each warp goes alone to the next barrier."""
    kernel = Kernel.from_source(case.text, "k")
    arguments = kernel.bind(case.arguments(to_device))
    program = kernel.program(tuple(a.kind for a in arguments), counted=True, serial=True)
    launch, counters = kernel[case.grid, case.block], Counters()
    values = {a.name: a.value for a in arguments}
    run = Run(program, launch.grid, launch.block, values, 0, [counters], one_by_one=True)
    run.execute(case.seed)
    return _counts(build(kernel, counters, run))


def _counts(report: Report) -> dict[str, Any]:
    """Without what depends on which warp came first, and without notes."""
    found = report.to_dict()
    del found["notes"]
    for line in found["lines"]:
        del line["patterns"]
    return found


def findings(case: Case) -> list[Any]:
    """What the sanitizer finds; notes, such as a division by zero, left out."""
    launch = Kernel.from_source(case.text, "k")[case.grid, case.block]
    found = sanitize(launch, *case.arguments(to_device))
    return [f for f in found if f.severity == "error" or f.kind in ("race", "uninitialised")]


def misjudged(case: Case, trace: Trace) -> str:
    """Where the sanitizer and the definition of a race disagree; empty when they agree.

    It has to find a race where there is one, and every race it finds has to be one.
    """
    real = races.races(trace)
    found = [f for f in findings(case) if f.kind == "race"]
    for f in found:
        if frozenset((f.line, f.other_line)) not in real:
            return f"no race between lines {f.line} and {f.other_line}: {f}"
    if real and not found:
        return f"a race that the sanitizer does not see: lines {[sorted(pair) for pair in real]}"
    return ""
