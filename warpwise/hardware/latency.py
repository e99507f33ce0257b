"""Little's law: how much has to be under way at once to keep a pipe full.

    in flight = throughput x latency
Source: Volkov, "Understanding Latency Hiding on GPUs" (2016), chapter 4.
"""

from __future__ import annotations

from dataclasses import dataclass

from .devices import Device, device


@dataclass(frozen=True)
class InFlight:
    """What DRAM at full speed needs under way.  Label: modelled.

    nbytes           on the whole device; bytes_per_sm on one SM
    warps_per_sm     warps that each have `bytes_per_warp` under way
    """

    nbytes: float
    bytes_per_sm: float
    bytes_per_warp: int
    warps_per_sm: float
    latency_ns: float
    label: str = "modelled"


def in_flight(
    where: str | Device, bytes_per_lane: int = 4, loads_per_warp: int = 1,
    latency_cycles: float | None = None,
) -> InFlight:  # fmt: skip
    """Bytes and warps that keep DRAM busy, with full warps that wait for `loads_per_warp` loads of
    `bytes_per_lane` each.

    The latency is the table's unless given; ValueError where the table has none.
    """
    gpu = device(where)
    if latency_cycles is None:
        if gpu.latency_cycles is None:
            raise ValueError(
                f"no DRAM latency of {gpu.name} is known; give latency_cycles, measured by a chain "
                "of dependent loads."
            )
        latency_cycles = gpu.latency_cycles.value
    nanoseconds = latency_cycles / gpu.clock_mhz.value * 1000
    total = gpu.dram_gbs.value * nanoseconds  # GB/s x ns = bytes
    per_warp = 32 * bytes_per_lane * loads_per_warp
    per_sm = total / gpu.sms.value
    return InFlight(total, per_sm, per_warp, per_sm / per_warp, nanoseconds)


def warps_needed(throughput: float, latency: float) -> float:
    """Warps an SM needs for `throughput` instructions a cycle of `latency` cycles each."""
    return throughput * latency


def throughput(
    warps: float, per_memory: float, memory_latency: float, arithmetic_latency: float,
    memory_peak: float, arithmetic_peak: float, issue_peak: float = 4.0,
) -> float:  # fmt: skip
    """Memory instructions a cycle and SM of a chain: one load, then `per_memory` dependent
    arithmetic instructions, in each of `warps` warps.  All rates are instructions a cycle and SM.

    Volkov's model: the warps' own rate, or the first of three pipes to be full.
    """
    latency = memory_latency + per_memory * arithmetic_latency
    return min(
        warps / latency,
        memory_peak,
        arithmetic_peak / per_memory if per_memory else float("inf"),
        issue_peak / (per_memory + 1),
    )
