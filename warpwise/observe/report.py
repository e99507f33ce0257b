"""The report of profile(): all that was counted, in total and for each source line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from ..simt.launch import Note
from . import metrics, pages, waste
from .metrics import Atomics, Branches, ConstantTraffic, SharedTraffic, Traffic, Work

Dim3 = tuple[int, int, int]


@dataclass
class Costs:
    """What was counted, on one line or in all."""

    loads: Traffic = field(default_factory=Traffic)  # of global memory
    stores: Traffic = field(default_factory=Traffic)
    local_loads: Traffic = field(default_factory=Traffic)
    local_stores: Traffic = field(default_factory=Traffic)
    shared_loads: SharedTraffic = field(default_factory=SharedTraffic)
    shared_stores: SharedTraffic = field(default_factory=SharedTraffic)
    const_loads: ConstantTraffic = field(default_factory=ConstantTraffic)
    atomics: Atomics = field(default_factory=Atomics)
    shared_atomics: Atomics = field(default_factory=Atomics)
    branches: Branches = field(default_factory=Branches)
    work: Work = field(default_factory=Work)
    operations: dict[str, int] = field(default_factory=dict)  # by kind, one for each lane
    #: Role ("product", "fused", "sign") -> kind -> how many of the operations have it.
    roles: dict[str, dict[str, int]] = field(default_factory=dict)
    barriers: int = 0  # each block counted

    @property
    def local(self) -> Traffic:
        """Loads and stores of local memory together."""
        return _sum(Traffic(), self.local_loads, self.local_stores)

    @property
    def shared(self) -> SharedTraffic:
        """Loads and stores of shared memory together."""
        return _sum(SharedTraffic(), self.shared_loads, self.shared_stores)

    @property
    def flops(self) -> dict[str, int]:
        """Floating-point operations by type; a fused one counts two, math functions none."""
        return {k: v for k, v in self.operations.items() if k.startswith(("float", "bfloat"))}

    @property
    def float_instructions(self) -> dict[str, tuple[int, int]]:
        """Type -> (fewest, most) instructions that compute its flops.

        A product and a sum become one instruction where the compiler joins them: surely where the
        sum has the product right in it, and at best as often as there are pairs of them.  A change
        of sign costs nothing at best.
        """
        found = {}
        for kind, count in self.flops.items():
            products, fused, signs = (
                self.roles.get(role, {}).get(kind, 0) for role in ("product", "fused", "sign")
            )
            pairs = min(products, count - signs - products)
            found[kind] = count - signs - pairs, count - min(pairs, fused)
        return found

    @property
    def integer_operations(self) -> dict[str, int]:
        """Integer operations by type."""
        return {k: v for k, v in self.operations.items() if k.startswith(("int", "uint"))}

    @property
    def lane_efficiency(self) -> float:
        """Active lanes of each issued instruction, over 32."""
        return self.work.efficiency

    def add(self, other: Costs) -> None:
        """Add what another one counted."""
        for name in GROUPS:
            getattr(self, name).add(getattr(other, name))
        _add(self.operations, other.operations)
        for role, counts in other.roles.items():
            _add(self.roles.setdefault(role, {}), counts)
        self.barriers += other.barriers


GROUPS = (*metrics.MEMORY, *metrics.SHARED, *metrics.ATOMICS, "const_loads", "branches", "work")


@dataclass
class Line(Costs):
    """All that was counted on one source line.

    arrays: group -> array -> its share, of global, local and shared memory.
    patterns: group -> array -> how a warp's lanes lie.
    """

    function: str = ""
    number: int = 0
    text: str = ""
    arrays: dict[str, dict[str, Traffic | SharedTraffic]] = field(default_factory=dict)
    patterns: dict[str, dict[str, str]] = field(default_factory=dict)


@dataclass
class Report(Costs):
    """The counters of one launch.  Label: counted.

    lines: of the kernel, then of each device function.  unique_sectors: per array, what a perfect
    cache would move, once; unique_sectors_per_block: once for each block, summed.
    warps: of the launch; busiest_warp: most issue slots of one warp.
    atomic_queue: requests of atomics that at least one 32-byte sector of global memory gets.
    notes: of the launch and of the program, such as float64 that crept in.
    measured: its time on a GPU, beside the counters, or None, with the reason in not_measured where
    there is a GPU; by_ncu: Nsight Compute's own numbers, by metric.
    """

    kernel: str = ""
    grid: Dim3 = (1, 1, 1)
    block: Dim3 = (1, 1, 1)
    lines: list[Line] = field(default_factory=list)
    unique_sectors: dict[str, int] = field(default_factory=dict)
    unique_sectors_per_block: dict[str, int] = field(default_factory=dict)
    warps: int = 0
    busiest_warp: int = 0
    atomic_queue: int = 0
    notes: list[Note] = field(default_factory=list)
    label: str = "counted"
    measured: Any = None
    not_measured: str = ""
    by_ncu: dict[str, float] = field(default_factory=dict)

    @property
    def worst(self) -> tuple[Line, str] | None:
        """The line that wastes most, and how; None when no line wastes much."""
        return waste.worst(self.lines)

    def metrics(self) -> dict[str, float]:
        """Nsight Compute's metric -> its number, for what was counted."""
        return {row.metric: row.value for row in pages.totals(self) if row.metric}

    def to_dict(self) -> dict[str, Any]:
        """Plain data that json can write: the counts, what follows from them, and each line."""
        plain = {**asdict(self), **_derived(self)}
        plain["lines"] = [{**asdict(line), **_derived(line)} for line in self.lines]
        plain["worst"] = None
        if self.worst is not None:
            line, why = self.worst
            plain["worst"] = {"function": line.function, "line": line.number, "why": why}
        plain["metrics"] = self.metrics()
        plain["measured"] = self.measured.to_dict() if self.measured else self.not_measured
        return plain

    def lines_table(self) -> list[dict[str, Any]]:
        """One flat row for each line: `pandas.DataFrame(report.lines_table())`.

        Columns: function, line, text, <group>_<number> for every number, <kind>_operations.
        """
        kinds = sorted(self.operations)
        table = []
        for line in self.lines:
            row: dict[str, Any] = {
                "function": line.function, "line": line.number, "text": line.text,
            }  # fmt: skip
            for group in GROUPS:
                counts = {**vars(getattr(line, group)), **_properties(getattr(line, group))}
                row.update({f"{group}_{name}": value for name, value in counts.items()})
            row.update({f"{k}_operations": line.operations.get(k, 0) for k in kinds})
            row["barriers"] = line.barriers
            table.append(row)
        return table

    def __str__(self) -> str:
        return pages.text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return pages.html(self)


def _add(mine: dict[str, int], theirs: dict[str, int]) -> None:
    for kind, count in theirs.items():
        mine[kind] = mine.get(kind, 0) + count


def _sum(total: Any, *parts: Any) -> Any:
    for part in parts:
        total.add(part)
    return total


def _properties(counts: Any) -> dict[str, Any]:
    """What follows from counts: the properties of their class."""
    cls: Callable[..., Any] = type(counts)
    return {k: getattr(counts, k) for k, v in vars(cls).items() if isinstance(v, property)}


def _derived(costs: Costs) -> dict[str, Any]:
    """Each group with what follows from it, and the sums."""
    groups = {name: {**vars(part), **_properties(part)} for name in GROUPS
              if (part := getattr(costs, name))}  # fmt: skip
    return {
        **groups, "flops": costs.flops, "integer_operations": costs.integer_operations,
        "lane_efficiency": costs.lane_efficiency,
    }  # fmt: skip
