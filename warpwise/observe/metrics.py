"""What is counted of memory, branches and issue slots, and Nsight Compute's name for each number.

A number with a name has the meaning of that metric, for the source as it is written: the compiler
may fuse, hoist, vectorise, or keep a local array in registers.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


class Counts:
    """Numbers that add up over places; `worst` is a maximum."""

    def add(self, other: Any) -> None:
        """Add the numbers of another one."""
        mine = vars(self)
        for name, number in vars(other).items():
            mine[name] = max(mine[name], number) if name == "worst" else mine[name] + number


@dataclass
class Traffic(Counts):
    """Accesses to global or local memory.  sectors: 32 bytes each."""

    requests: int = 0
    lanes: int = 0
    sectors: int = 0
    ideal_sectors: int = 0  # the fewest for the same distinct elements
    lines_128b: int = 0  # lines of 128 bytes
    bytes_requested: int = 0

    @property
    def sectors_per_request(self) -> float:
        return self.sectors / self.requests if self.requests else 0.0

    @property
    def fewest_per_request(self) -> float:
        """Ideal sectors."""
        return self.ideal_sectors / self.requests if self.requests else 0.0

    @property
    def bytes_moved(self) -> int:
        """32 bytes for each sector."""
        return 32 * self.sectors

    @property
    def bytes_per_sector(self) -> float:
        """Requested bytes for each sector; above 32 where lanes share a word."""
        return self.bytes_requested / self.sectors if self.sectors else 0.0

    @property
    def efficiency(self) -> float:
        """Ideal over actual sectors, 0 to 1."""
        return self.ideal_sectors / self.sectors if self.sectors else 1.0


@dataclass
class SharedTraffic(Counts):
    """Accesses to shared memory.  wavefronts: passes through the 32 banks."""

    requests: int = 0
    lanes: int = 0
    wavefronts: int = 0
    ideal_wavefronts: int = 0
    worst: int = 0  # most distinct words of one bank in one phase: an n-way conflict

    @property
    def bank_conflicts(self) -> int:
        """Wavefronts beyond the fewest; in theory: a GPU counts a few more."""
        return self.wavefronts - self.ideal_wavefronts

    @property
    def wavefronts_per_request(self) -> float:
        return self.wavefronts / self.requests if self.requests else 0.0

    @property
    def fewest_per_request(self) -> float:
        """Ideal wavefronts."""
        return self.ideal_wavefronts / self.requests if self.requests else 0.0


@dataclass
class ConstantTraffic(Counts):
    """Loads of constant memory, where global NumPy arrays lie: it serves one address of a warp at
    a time, and one address for all lanes as fast as a register."""

    requests: int = 0
    lanes: int = 0
    addresses: int = 0  # distinct ones, of each request
    worst: int = 0  # most distinct ones of a request

    @property
    def addresses_per_request(self) -> float:
        return self.addresses / self.requests if self.requests else 0.0


@dataclass
class Atomics(Counts):
    """Atomic operations.  transactions: what lanes that queue for an address, or in shared memory
    for a bank, make of the requests; an upper bound, since hardware may combine them."""

    requests: int = 0
    lanes: int = 0
    sectors: int = 0  # global memory only
    transactions: int = 0
    worst: int = 0  # most lanes of one warp on one address

    @property
    def transactions_per_request(self) -> float:
        return self.transactions / self.requests if self.requests else 0.0


@dataclass
class Branches(Counts):
    """Conditions, loops included, per warp.  lanes: that evaluated one; taken: found it true."""

    warps: int = 0
    divergent: int = 0
    lanes: int = 0
    taken: int = 0

    @property
    def efficiency(self) -> float:
        """Share of uniform branches, 0 to 1."""
        return 1 - self.divergent / self.warps if self.warps else 1.0


@dataclass
class Work(Counts):
    """Instructions of the source: arithmetic, comparisons, accesses, barriers, warp functions.

    slots: issued by warps, one for each warp with an active lane.  lanes: executed by threads.
    """

    slots: int = 0
    lanes: int = 0

    @property
    def lanes_per_slot(self) -> float:
        """Active lanes of a warp that issues, at most 32."""
        return self.lanes / self.slots if self.slots else 0.0

    @property
    def efficiency(self) -> float:
        """Active lanes over 32; 1 when nothing was issued."""
        return self.lanes / (32 * self.slots) if self.slots else 1.0


#: Groups of a report -> its title, where "{}" in a metric below is filled from.
MEMORY = {
    "loads": ("global loads", "global_op_ld"),
    "stores": ("global stores", "global_op_st"),
    "local_loads": ("local loads", "local_op_ld"),
    "local_stores": ("local stores", "local_op_st"),
}
SHARED = {"shared_loads": ("shared loads", "ld"), "shared_stores": ("shared stores", "st")}
ATOMICS = {"atomics": "global atomics", "shared_atomics": "shared atomics"}

#: Number of a report -> Nsight Compute's metric.  Source: its profiling guide and metric lists.
NSIGHT: dict[str, str] = {
    "const_loads.requests": "idc__requests.sum",
    "atomics.requests": "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum, _op_atom.sum",
    "atomics.sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum, _op_atom.sum",
    "shared_atomics.requests": "smsp__inst_executed_op_shared_atom.sum",
    "shared_atomics.transactions": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
    "branches.warps": "smsp__sass_branch_targets.sum",
    "branches.divergent": "smsp__sass_branch_targets_threads_divergent.sum",
    "branches.efficiency": "smsp__sass_average_branch_targets_threads_uniform.pct",
    "work.slots": "smsp__inst_executed.sum",
    "work.lanes": "smsp__thread_inst_executed.sum",
    "work.lanes_per_slot": "smsp__thread_inst_executed_per_inst_executed.ratio",
    "operations.float16": "smsp__sass_thread_inst_executed_op_fp16_pred_on.sum",
    "operations.float32": "smsp__sass_thread_inst_executed_op_fp32_pred_on.sum",
    "operations.float64": "smsp__sass_thread_inst_executed_op_fp64_pred_on.sum",
    "operations.integer": "smsp__sass_thread_inst_executed_op_integer_pred_on.sum",
    "unique_sectors": "dram__sectors_read.sum, dram__sectors_write.sum",
    **{
        f"{group}.{number}": metric.format(name)
        for group, (_, name) in MEMORY.items()
        for number, metric in (
            ("requests", "l1tex__t_requests_pipe_lsu_mem_{}.sum"),
            ("sectors", "l1tex__t_sectors_pipe_lsu_mem_{}.sum"),
            ("sectors_per_request", "l1tex__average_t_sectors_per_request_pipe_lsu_mem_{}.ratio"),
            ("bytes_per_sector", "smsp__sass_average_data_bytes_per_sector_mem_{}.ratio"),
        )
    },
    **{
        f"{group}.{number}": metric.format(name)
        for group, (_, name) in SHARED.items()
        for number, metric in (
            ("requests", "smsp__inst_executed_op_shared_{}.sum"),
            ("wavefronts", "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"),
            ("bank_conflicts", "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{}.sum"),
        )
    },
}
