"""From counters to work: what the hardware model wants to know of a launch."""

from __future__ import annotations

from ..compiler import Compiled
from ..hardware import Device, Work
from ..hardware.bound import SECTORS_A_PASS
from ..observe.report import Report

#: Which peak an operation type runs against.  Half precision outside the tensor cores runs at the
#: fp32 rate or faster, depending on the part; fp32 is the bound that always holds at worst.
PEAKS = {"float64": "fp64", "float32": "fp32", "float16": "fp32", "bfloat16": "fp32"}


def work_of(report: Report, gpu: Device, compiled: Compiled | None = None) -> Work:
    """The numbers of a report that bounds are made of; bytes are those of whole sectors.

    compiled  where it has no float64 instruction, the compiler computes in float32 what Numba
              types as float64: `3 * a[i]`, stored as float32, is the same number either way
    """
    peaks = PEAKS
    if compiled is not None and not compiled.float64:
        peaks = {**PEAKS, "float64": "fp32"}
    flops: dict[str, float] = {}
    instructions: dict[str, tuple[float, float]] = {}
    for kind, (fewest, most) in report.float_instructions.items():
        peak = peaks.get(kind, "fp32")
        if peak not in gpu.peaks:
            peak = "fp32"
        flops[peak] = flops.get(peak, 0) + report.flops[kind]
        low, high = instructions.get(peak, (0, 0))
        instructions[peak] = low + fewest, high + most
    blocks = report.grid[0] * report.grid[1] * report.grid[2]
    return Work(
        flops=flops,
        instructions=instructions,
        unique_bytes=32 * sum(report.unique_sectors.values()),
        unique_bytes_block=32 * sum(report.unique_sectors_per_block.values()),
        sectors=report.loads.sectors + report.stores.sectors + report.atomics.sectors,
        shared_wavefronts=report.shared.wavefronts + report.shared_atomics.transactions,
        issues=report.work.slots,
        atomic_queue=(report.atomic_queue, report.atomics.transactions),
        blocks=blocks,
        passes=_passes(report),
    )


def _passes(report: Report) -> float:
    """Passes through L1, access by access: one for every 4 sectors, at least one a request."""
    accesses = (group for line in report.lines
                for group in (line.loads, line.stores, line.atomics))  # fmt: skip
    return sum(max(one.requests, one.sectors / SECTORS_A_PASS) for one in accesses)


def intensity_of(report: Report) -> float:
    """Floating-point operations a byte of DRAM traffic, at best; infinite without traffic."""
    nbytes = 32 * sum(report.unique_sectors.values())
    flops = sum(report.flops.values())
    return flops / nbytes if nbytes else float("inf")
