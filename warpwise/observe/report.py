"""profile(): run a launch with counters and report them, in total and per source line.

Metric names in parentheses are Nsight Compute's, so that a reader can move to the real tool.  All
numbers are counted from the source as written: the compiler may hoist, fuse or vectorise.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from html import escape
from typing import Any

from ..simt.kernel import Kernel, Launch, as_kernel
from ..simt.launch import Note, Run
from .counters import Counters, Place, operations


@dataclass
class Traffic:
    """Accesses to global memory.  sectors: 32 bytes each."""

    requests: int = 0  # l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum (_st)
    lanes: int = 0
    sectors: int = 0  # l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum (_st)
    ideal_sectors: int = 0
    lines_128b: int = 0
    bytes_requested: int = 0

    @property
    def sectors_per_request(self) -> float:
        """l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_ld.ratio (_st)"""
        return self.sectors / self.requests if self.requests else 0.0

    @property
    def bytes_moved(self) -> int:
        """32 bytes per sector."""
        return 32 * self.sectors

    @property
    def bytes_per_sector(self) -> float:
        """smsp__sass_average_data_bytes_per_sector_mem_global_op_ld.ratio (_st); above 32 where
        lanes share a word"""
        return self.bytes_requested / self.sectors if self.sectors else 0.0

    @property
    def efficiency(self) -> float:
        """Ideal over actual sectors, 0 to 1."""
        return self.ideal_sectors / self.sectors if self.sectors else 1.0


@dataclass
class SharedTraffic:
    """Accesses to shared memory."""

    requests: int = 0  # smsp__inst_executed_op_shared_ld.sum (_st)
    lanes: int = 0
    wavefronts: int = 0  # l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum (_st)
    ideal_wavefronts: int = 0
    worst: int = 0  # most distinct words of one bank in one phase: an n-way conflict

    @property
    def bank_conflicts(self) -> int:
        """l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum (_st), in theory"""
        return self.wavefronts - self.ideal_wavefronts

    @property
    def wavefronts_per_request(self) -> float:
        return self.wavefronts / self.requests if self.requests else 0.0


@dataclass
class Atomics:
    """Atomic operations: transactions are what colliding lanes make of a request."""

    requests: int = 0
    lanes: int = 0
    sectors: int = 0
    transactions: int = 0
    worst: int = 0  # most lanes of one warp on one address


@dataclass
class Branches:
    """Conditions, loops included, per warp."""

    warps: int = 0
    divergent: int = 0

    @property
    def efficiency(self) -> float:
        """Share of uniform branches, 0 to 1 (nvprof: branch_efficiency)."""
        return 1 - self.divergent / self.warps if self.warps else 1.0


@dataclass
class Line:
    """All that was counted on one source line."""

    function: str
    number: int
    text: str
    loads: Traffic = field(default_factory=Traffic)
    stores: Traffic = field(default_factory=Traffic)
    local: Traffic = field(default_factory=Traffic)
    shared: SharedTraffic = field(default_factory=SharedTraffic)
    atomics: Atomics = field(default_factory=Atomics)
    branches: Branches = field(default_factory=Branches)
    operations: dict[str, int] = field(default_factory=dict)
    barriers: int = 0


@dataclass
class Report:
    """The counters of one launch.  Label: counted."""

    kernel: str
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    lines: list[Line]
    loads: Traffic
    stores: Traffic
    local: Traffic
    shared: SharedTraffic
    atomics: Atomics
    branches: Branches
    operations: dict[str, int]
    barriers: int
    lane_efficiency: float  # smsp__thread_inst_executed_per_inst_executed.ratio / 32
    unique_sectors: dict[str, int]  # per array: what a perfect cache would move, once
    unique_sectors_per_block: dict[str, int]  # ... once per block, summed over blocks
    notes: list[Note]  # of the launch and of the program, such as float64 that crept in
    label: str = "counted"

    @property
    def flops(self) -> dict[str, int]:
        """Floating-point additions, multiplications, divisions, by type; a fused one counts two."""
        return {k: v for k, v in self.operations.items() if k.startswith(("float", "bfloat"))}

    @property
    def worst(self) -> tuple[Line, str] | None:
        """The line that wastes most, and how; None when no line wastes anything."""
        best: tuple[int, Line, str] | None = None
        for line in self.lines:
            for waste, why in _wastes(line):
                if waste > (best[0] if best else 0):
                    best = (waste, line, why)
        return None if best is None else (best[1], best[2])

    def to_dict(self) -> dict[str, Any]:
        """Plain data; `lines` is a list of records that pandas reads."""
        return asdict(self)

    def __str__(self) -> str:
        return "\n".join(self._text())

    __repr__ = __str__

    def _text(self) -> Iterable[str]:
        yield f"{self.kernel}[{_dims(self.grid)}, {_dims(self.block)}]   ({self.label})"
        width = max([len(line.text) for line in self.lines] + [10])
        for line in self.lines:
            facts = ", ".join(_facts(line))
            yield f"{line.number:5}  {line.text:{width}}  {facts}".rstrip()
        yield from (f"  {name}: {value}" for name, value in self._totals())
        if self.worst is not None:
            line, why = self.worst
            yield f"  look at line {line.number}: {why}"
        yield from (f"  note: {note.text}" for note in self.notes)

    def _totals(self) -> Iterable[tuple[str, str]]:
        for name, traffic in (("global loads", self.loads), ("global stores", self.stores)):
            if traffic.requests:
                yield name, _traffic(traffic)
        if self.shared.requests:
            yield "shared", _shared(self.shared)
        if self.atomics.requests:
            yield "atomics", _atomics(self.atomics)
        if self.branches.warps:
            yield "branches", f"{self.branches.warps:,}, {self.branches.divergent:,} divergent"
        yield "active lanes", f"{100 * self.lane_efficiency:.1f} % of the lanes of each warp"
        if self.operations:
            yield "operations", ", ".join(f"{v:,} {k}" for k, v in sorted(self.operations.items()))
        if self.barriers:
            yield "barriers", f"{self.barriers:,} (each block counted)"

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td style='text-align:right;opacity:.6'>{line.number}</td>"
            f"<td style='text-align:left'><code style='white-space:pre'>{escape(line.text)}</code>"
            f"</td><td style='text-align:left'>{escape(', '.join(_facts(line)))}</td></tr>"
            for line in self.lines
        )
        totals = "".join(
            f"<tr><td></td><td style='text-align:left'>{escape(name)}</td>"
            f"<td style='text-align:left'>{escape(value)}</td></tr>"
            for name, value in self._totals()
        )
        worst = ""
        if self.worst is not None:
            line, why = self.worst
            worst = f"<p>Look at line {line.number}: {escape(why)}</p>"
        worst += "".join(f"<p>{escape(note.text)}</p>" for note in self.notes)
        title = escape(f"{self.kernel}[{_dims(self.grid)}, {_dims(self.block)}]")
        return (
            f"<div><b>{title}</b> <span style='opacity:.6'>{self.label}</span>"
            f"<table>{rows}</table><table>{totals}</table>{worst}</div>"
        )


def _dims(dims: tuple[int, int, int]) -> str:
    used = [n for k, n in enumerate(dims) if k == 0 or any(m > 1 for m in dims[k:])]
    return str(used[0]) if len(used) == 1 else str(tuple(used))


def _traffic(t: Traffic) -> str:
    return (
        f"{t.requests:,} requests, {t.sectors:,} sectors, {t.sectors_per_request:.1f} a request "
        f"(ideal {t.ideal_sectors / t.requests:.1f})"
    )


def _shared(t: SharedTraffic) -> str:
    return (
        f"{t.requests:,} requests, {t.wavefronts:,} wavefronts, {t.bank_conflicts:,} bank conflicts"
    )


def _atomics(t: Atomics) -> str:
    return (
        f"{t.requests:,} requests, {t.transactions:,} transactions, worst {t.worst} on one address"
    )


def _facts(line: Line) -> Iterable[str]:
    if line.loads.requests:
        yield f"loads {line.loads.sectors_per_request:.1f} sectors a request"
    if line.stores.requests:
        yield f"stores {line.stores.sectors_per_request:.1f} sectors a request"
    if line.shared.requests:
        yield f"shared {line.shared.wavefronts_per_request:.1f} wavefronts a request"
    if line.atomics.requests:
        yield f"atomics {line.atomics.transactions / line.atomics.requests:.1f} a request"
    if line.branches.divergent:
        yield f"{line.branches.divergent:,} of {line.branches.warps:,} warps diverge"
    for kind, count in sorted(line.operations.items()):
        yield f"{count:,} {kind}"


def _wastes(line: Line) -> Iterable[tuple[int, str]]:
    for name, t in (("loads", line.loads), ("stores", line.stores)):
        yield (
            t.sectors - t.ideal_sectors,
            f"its {name} move {t.sectors_per_request:.1f} sectors a request where "
            f"{t.ideal_sectors / max(t.requests, 1):.1f} would do",
        )
    yield (
        line.shared.bank_conflicts,
        f"its shared accesses take {line.shared.wavefronts_per_request:.1f} wavefronts a request "
        "because of bank conflicts",
    )
    yield (
        line.atomics.transactions - line.atomics.requests,
        "lanes of a warp queue for the same address",
    )


def profile(launch: Any, *args: Any) -> Report:
    """Run `kernel[grid, block]` in the simulator with all counters.

    Arrays are written as by an ordinary launch.  Raises SimtError as the launch would.
    """
    kernel, grid, block, sharedmem = launch_of(launch)
    counters = Counters()
    run = kernel.run(grid, block, args, [counters], sharedmem)
    return build(kernel, counters, run)


def launch_of(launch: Any) -> tuple[Kernel, Any, Any, int]:
    """Kernel and configuration of `kernel[grid, block]`, of ours or of numba's."""
    if isinstance(launch, Launch):
        return launch.kernel, launch.grid, launch.block, launch.sharedmem
    if hasattr(launch, "griddim"):
        return as_kernel(launch.dispatcher), launch.griddim, launch.blockdim, launch.sharedmem
    name = getattr(launch, "__name__", "kernel")
    raise TypeError(f"give it a launch: {name}[blocks, threads], then the arguments.")


def build(kernel: Kernel, counters: Counters, run: Run) -> Report:
    """Turn collected counts into a report."""
    lines = _Lines(kernel)
    for place in counters.places.values():
        _add(lines.at(place.function, place.line), place)
    for branch in counters.branches.values():
        line = lines.at(branch.function, branch.line)
        line.branches.warps += branch.warps
        line.branches.divergent += branch.divergent
    for site, count in counters.barriers.items():
        where = run.program.sites[site]
        lines.at(where.function, where.line).barriers += count
    total: Counter[str] = Counter()
    for (function, number), kinds in operations(counters, run).items():
        lines.at(function, number).operations = dict(kinds)
        total.update(kinds)
    report = Report(
        kernel.name, run.grid, run.block, lines.sorted(), Traffic(), Traffic(), Traffic(),
        SharedTraffic(), Atomics(), Branches(), dict(total), 0, _lane_efficiency(counters, run),
        counters.unique, counters.unique_per_block, run.notes + run.program.lints,
    )  # fmt: skip
    for line in report.lines:
        for name in ("loads", "stores", "local", "shared", "atomics", "branches"):
            whole, part = getattr(report, name), getattr(line, name)
            for key, value in vars(part).items():
                combined = max if key == "worst" else int.__add__
                setattr(whole, key, combined(getattr(whole, key), value))
        report.barriers += line.barriers
    return report


def _add(line: Line, place: Place) -> None:
    a, b, c, d = (int(n) for n in place.counts[:4])
    worst = int(place.counts[5])
    if place.op == "atomic":
        t = line.atomics
        t.requests, t.lanes, t.transactions = t.requests + a, t.lanes + b, t.transactions + d
        t.sectors += c
        t.worst = max(t.worst, worst)
    elif place.space == "shared":
        s = line.shared
        s.requests, s.lanes = s.requests + a, s.lanes + b
        s.wavefronts, s.ideal_wavefronts = s.wavefronts + c, s.ideal_wavefronts + d
        s.worst = max(s.worst, worst)
    else:
        g = line.local
        if place.space != "local":
            g = line.loads if place.op == "load" else line.stores
        g.requests, g.lanes = g.requests + a, g.lanes + b
        g.sectors, g.ideal_sectors = g.sectors + c, g.ideal_sectors + d
        g.lines_128b += int(place.counts[4])
        g.bytes_requested += b * place.itemsize


def _lane_efficiency(counters: Counters, run: Run) -> float:
    """Active lanes per executed operation of a warp, over 32; 1 when nothing was executed."""
    weights = [len(entries) for entries in run.program.segments]
    lanes = sum(w * int(s[1]) for w, s in zip(weights, counters.segments, strict=True))
    warps = sum(w * int(s[2]) for w, s in zip(weights, counters.segments, strict=True))
    return lanes / (32 * warps) if warps else 1.0


class _Lines:
    """Lines by (function, number), with their text."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._lines: dict[tuple[str, int], Line] = {}
        source = kernel.source
        written = source.text.splitlines()
        for number in range(source.tree.lineno, (source.tree.end_lineno or 0) + 1):
            text = written[number - source.first_line].rstrip()
            if text:
                self._lines[source.name, number] = Line(source.name, number, text)

    def at(self, function: str, number: int) -> Line:
        key = (function, number)
        if key not in self._lines:
            self._lines[key] = Line(function, number, f"({function})")
        return self._lines[key]

    def sorted(self) -> list[Line]:
        own = self._kernel.source.name
        return sorted(self._lines.values(), key=lambda line: (line.function != own, line.number))
