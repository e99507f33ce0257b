"""What a streaming multiprocessor (SM) can hold, by compute capability.

Sources: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" and the
sections on each capability; allocation units as in the occupancy calculator of the CUDA toolkit.
"""

from __future__ import annotations

from dataclasses import dataclass

KB = 1024


@dataclass(frozen=True)
class Limits:
    """Per SM unless it says block.  shared_* in bytes; fp32_lanes: fused multiply-adds a clock."""

    warps: int
    blocks: int
    shared: int
    shared_per_block: int  # with opt-in
    shared_reserved: int  # by the system, per block
    shared_unit: int  # allocation granularity
    carveouts_kb: tuple[int, ...]
    fp32_lanes: int
    barriers: int | None = None  # hardware barriers, where they limit

    registers = 65536  # 32-bit, per SM and at most per block
    registers_per_thread = 255
    register_unit = 256  # allocated per warp in this many
    partitions = 4  # warp schedulers, each with a quarter of the registers
    threads_per_block = 1024
    shared_static = 48 * KB  # without opt-in

    @property
    def threads(self) -> int:
        return 32 * self.warps


_A100 = (0, 8, 16, 32, 64, 100, 132, 164)
_H100 = (*_A100, 196, 228)
_GA10X = (0, 8, 16, 32, 64, 100)

LIMITS = {
    (7, 0): Limits(64, 32, 96 * KB, 96 * KB, 0, 256, (0, 8, 16, 32, 64, 96), 64),
    (7, 5): Limits(32, 16, 64 * KB, 64 * KB, 0, 256, (32, 64), 64),
    (8, 0): Limits(64, 32, 164 * KB, 163 * KB, KB, 128, _A100, 64),
    (8, 6): Limits(48, 16, 100 * KB, 99 * KB, KB, 128, _GA10X, 128),
    (8, 7): Limits(48, 16, 164 * KB, 163 * KB, KB, 128, _A100, 128),
    (8, 9): Limits(48, 24, 100 * KB, 99 * KB, KB, 128, _GA10X, 128),
    (9, 0): Limits(64, 32, 228 * KB, 227 * KB, KB, 128, _H100, 128, barriers=64),
    (10, 0): Limits(64, 32, 228 * KB, 227 * KB, KB, 128, _H100, 128, barriers=64),
    (12, 0): Limits(48, 24, 100 * KB, 99 * KB, KB, 128, _GA10X, 128, barriers=24),
}


def limits(cc: tuple[int, int]) -> Limits:
    """The limits of a compute capability; ValueError lists the known ones."""
    if cc not in LIMITS:
        known = ", ".join(f"{major}.{minor}" for major, minor in LIMITS)
        raise ValueError(f"no limits are known for compute capability {cc[0]}.{cc[1]}: {known}.")
    return LIMITS[cc]
