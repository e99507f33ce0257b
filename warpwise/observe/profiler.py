"""profile(): run a launch with counters and build its report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..simt.adoption import as_kernel
from ..simt.kernel import Kernel
from ..simt.launch import Run
from ..simt.launched import Launch
from ..simt.program import INSTRUCTIONS, Note
from .counters import Counters, Place
from .coverage import Coverage
from .metrics import MEMORY, SHARED
from .report import Line, Report


def profile(launch: Any, *args: Any) -> Report:
    """Run `kernel[grid, block]` in the simulator with all counters.

    Arrays are written as by an ordinary launch.  Raises SimtError as the launch would.
    """
    kernel, grid, block, sharedmem = launch_of(launch)
    counters, coverage = Counters(), Coverage()
    run = kernel.run(grid, block, args, [counters, coverage], sharedmem)
    return build(kernel, counters, run, coverage.notes)


def launch_of(launch: Any) -> tuple[Kernel, Any, Any, int]:
    """Kernel and configuration of `kernel[grid, block]`, of ours or of numba's."""
    if isinstance(launch, Launch):
        return launch.kernel, launch.grid, launch.block, launch.sharedmem
    if hasattr(launch, "griddim"):
        return as_kernel(launch.dispatcher), launch.griddim, launch.blockdim, launch.sharedmem
    name = getattr(launch, "__name__", "kernel")
    raise TypeError(f"give it a launch: {name}[blocks, threads], then the arguments.")


def build(kernel: Kernel, counters: Counters, run: Run, notes: Sequence[Note] = ()) -> Report:
    """Turn collected counts, and notes of other observers, into a report."""
    lines = _Lines(kernel, run)
    for place in counters.places.values():
        _add_place(lines.at(place.function, place.line), place)
    for branch in counters.branches.values():
        lines.at(branch.function, branch.line).branches.add(branch.counts)
    for site, count in counters.barriers.items():
        where = run.program.sites[site]
        lines.at(where.function, where.line).barriers += count
    for entries, (lanes, warps) in zip(run.program.segments, counters.segments, strict=True):
        for function, number, kind, role in entries:
            line = lines.at(function, number)
            line.work.slots += int(warps)
            line.work.lanes += int(lanes)
            if kind not in INSTRUCTIONS and lanes:
                line.operations[kind] = line.operations.get(kind, 0) + int(lanes)
                if role:
                    counts = line.roles.setdefault(role, {})
                    counts[kind] = counts.get(kind, 0) + int(lanes)
    report = Report(
        kernel=kernel.name, grid=run.grid, block=run.block, lines=lines.sorted(),
        unique_sectors=counters.unique, unique_sectors_per_block=counters.unique_per_block,
        warps=run.blocks * -(-run.threads_per_block // 32), busiest_warp=counters.busiest_warp,
        atomic_queue=_queue(counters), notes=[*run.notes, *run.program.lints, *notes],
    )  # fmt: skip
    for line in report.lines:
        report.add(line)
    return report


def _add_place(line: Line, place: Place) -> None:
    """Add the counts of one access to its line, and to its array's share of the line."""
    group = getattr(line, place.group)
    _count(group, place)
    if place.group in (*MEMORY, *SHARED):
        shares = line.arrays.setdefault(place.group, {})
        _count(shares.setdefault(place.array, type(group)()), place)
    moved, fewest = place.counts[2:4]
    if moved > fewest and place.pattern:
        line.patterns.setdefault(place.group, {}).setdefault(place.array, place.pattern)


def _queue(counters: Counters) -> int:
    """The fewest requests that some sector of an array of atomics gets: all over its sectors."""
    asked: dict[str, int] = {}
    for place in counters.places.values():
        if place.group == "atomics":
            asked[place.array] = asked.get(place.array, 0) + int(place.counts[2])
    found = counters.unique  # by parameter; an array behind another name stays out
    return max((-(-n // found[name]) for name, n in asked.items() if found.get(name)), default=0)


def _count(group: Any, place: Place) -> None:
    """Add the counts of one access, whose order is that of `addresses`."""
    requests, lanes, moved, fewest, lines_128b, worst = (int(n) for n in place.counts)
    group.requests += requests
    group.lanes += lanes
    if place.space == "const":
        group.addresses += moved
        group.worst = max(group.worst, worst)
    elif place.op == "atomic":
        group.sectors += moved
        group.transactions += fewest
        group.worst = max(group.worst, worst)
    elif place.space == "shared":
        group.wavefronts += moved
        group.ideal_wavefronts += fewest
        group.worst = max(group.worst, worst)
    else:
        group.sectors += moved
        group.ideal_sectors += fewest
        group.lines_128b += lines_128b
        group.bytes_requested += lanes * place.itemsize


class _Lines:
    """Lines by (function, number), with their text: all of the kernel, then of each device
    function that was called."""

    def __init__(self, kernel: Kernel, run: Run) -> None:
        self._own = kernel.source.name
        self._lines: dict[tuple[str, int], Line] = {}
        for source in {kernel.source.name: kernel.source, **run.program.sources}.values():
            written = source.text.splitlines()
            for number in range(source.tree.lineno, (source.tree.end_lineno or 0) + 1):
                text = written[number - source.first_line].rstrip()
                if text:
                    key = source.name, number
                    self._lines[key] = Line(function=source.name, number=number, text=text)

    def at(self, function: str, number: int) -> Line:
        key = function, number
        if key not in self._lines:
            self._lines[key] = Line(function=function, number=number)
        return self._lines[key]

    def sorted(self) -> list[Line]:
        lines = self._lines.values()
        return sorted(lines, key=lambda x: (x.function != self._own, x.function, x.number))
