"""The roofline: what a device can do at most with a given number of operations a byte.

Source: Williams, Waterman and Patterson, "Roofline" (CACM 2009); several memory levels as in the
hierarchical rooflines of Nsight Compute.
"""

from __future__ import annotations

from dataclasses import dataclass

from .devices import Device, device


@dataclass(frozen=True)
class Ceiling:
    """A flat roof (TFLOP/s) or a slanted one (GB/s)."""

    name: str
    value: float
    unit: str  # "TFLOP/s" or "GB/s"
    source: str

    @property
    def flat(self) -> bool:
        return self.unit == "TFLOP/s"


def ceilings(where: str | Device) -> tuple[Ceiling, ...]:
    """Every roof of a device that has a source: peaks by format, shared memory, L2, DRAM."""
    gpu = device(where)
    flat = [Ceiling(kind, cell.value, "TFLOP/s", cell.source) for kind, cell in gpu.peaks.items()]
    slanted = [
        Ceiling("shared memory", gpu.shared_gbs, "GB/s",
                "32 banks of 4 bytes a clock and SM (CUDA Programming Guide)"),
        *([Ceiling("L2", gpu.l2_gbs.value, "GB/s", gpu.l2_gbs.source)] if gpu.l2_gbs else []),
        Ceiling("DRAM", gpu.dram_gbs.value, "GB/s", gpu.dram_gbs.source),
    ]  # fmt: skip
    return (*flat, *slanted)


def intensity(flops: float, nbytes: float) -> float:
    """Floating-point operations a byte; a fused multiply-add is two operations."""
    return flops / nbytes if nbytes else float("inf")


def ridge(where: str | Device, kind: str = "fp32", level: str = "DRAM") -> float:
    """The intensity at which the flat roof meets the slanted one, in operations a byte."""
    return 1000 * _value(where, kind) / _value(where, level)


def attainable(
    where: str | Device, operations_a_byte: float, kind: str = "fp32", level: str = "DRAM"
) -> float:
    """TFLOP/s at most at that intensity."""
    return min(_value(where, kind), operations_a_byte * _value(where, level) / 1000)


def bound_by(
    where: str | Device, operations_a_byte: float, kind: str = "fp32", level: str = "DRAM"
) -> str:
    """Which roof is lower there: the name of the peak or of the memory level."""
    return kind if operations_a_byte >= ridge(where, kind, level) else level


def _value(where: str | Device, name: str) -> float:
    found = {ceiling.name: ceiling.value for ceiling in ceilings(where)}
    if name not in found:
        raise ValueError(f"{device(where).name} has no roof {name!r}; it has {', '.join(found)}.")
    return found[name]
