"""Occupancy: how many blocks fit on a multiprocessor, and what stops one more.

Source of the algorithm: CUDA C++ Best Practices Guide, "Calculating Occupancy", and the occupancy
calculator of the CUDA toolkit: registers are handed out per warp in units of 256, from four equal
parts of the register file; shared memory in units of 128 or 256 bytes, after a reserve per block.
"""

from __future__ import annotations

from dataclasses import dataclass

from .devices import Device, device
from .limits import Limits, limits

#: Name of each limit, in the order of the calculator's letters W, R, S, B, b.
LIMITERS = ("warps", "registers", "shared memory", "blocks", "barriers")


@dataclass(frozen=True)
class Occupancy:
    """Blocks and warps on one SM.  Label: modelled.

    allowed   blocks that each limit alone would allow, by limiter; registers of 0 mean no limit
    limiters  the limits that bind, several when they bind equally
    """

    compute_capability: tuple[int, int]
    threads: int
    registers: int
    shared_bytes: int
    blocks: int
    warps: int
    max_warps: int
    allowed: dict[str, int]
    label: str = "modelled"

    @property
    def fraction(self) -> float:
        """Active warps over the most an SM can hold, 0 to 1."""
        return self.warps / self.max_warps

    @property
    def percent(self) -> float:
        return 100 * self.fraction

    @property
    def limiters(self) -> tuple[str, ...]:
        return tuple(name for name in LIMITERS if self.allowed.get(name) == self.blocks)

    @property
    def fits(self) -> bool:
        """False when not even one block fits: the launch would fail."""
        return self.blocks > 0

    def waves(self, grid: int, sms: int) -> float:
        """Rounds in which a grid of blocks runs on a GPU of `sms` multiprocessors."""
        return grid / (self.blocks * sms) if self.blocks else float("inf")

    def tail_efficiency(self, grid: int, sms: int) -> float:
        """Share of the rounds' block slots that are used, 0 to 1: the last may be part full."""
        slots = self.blocks * sms
        return grid / (-(-grid // slots) * slots) if slots else 0.0

    def __str__(self) -> str:
        if not self.fits:
            return f"0 blocks fit: {_and(self.limiters)} would not do for one block"
        return (
            f"{self.blocks} blocks, {self.warps} of {self.max_warps} warps "
            f"({self.percent:.4g} %), limited by {_and(self.limiters)}"
        )


def occupancy(
    where: str | Device | tuple[int, int],
    threads: int,
    registers: int = 0,
    shared_bytes: int = 0,
    dynamic_shared_bytes: int = 0,
    barriers: int = 1,
    carveout_kb: int | None = None,
) -> Occupancy:
    """Blocks of a kernel on one SM.

    where        a device, its name, or a compute capability such as (8, 0)
    threads      of a block; registers: of a thread, as the compiler reports
    shared_bytes static; dynamic_shared_bytes: given at launch, may go up to the opt-in limit
    carveout_kb  shared memory wished for, rounded up to a size the SM offers; default the most
    Raises ValueError for numbers that no kernel can have.
    """
    cc = where if isinstance(where, tuple) else device(where).compute_capability
    has = limits(cc)
    for name, value in (("threads", threads), ("registers", registers),
                        ("shared_bytes", shared_bytes + dynamic_shared_bytes)):  # fmt: skip
        least = 1 if name == "threads" else 0
        if not isinstance(value, int) or value < least:
            raise ValueError(f"{name} is {value!r}; it has to be a whole number from {least} on.")
    for name, value, most in (("threads", threads, has.threads_per_block),
                              ("registers", registers, has.registers_per_thread)):  # fmt: skip
        if value > most:
            a = "a block" if name == "threads" else "a thread"
            raise ValueError(f"{name} is {value:,}; {a} has at most {most:,}.")
    warps = -(-threads // 32)
    allowed = {
        "warps": has.warps // warps,
        "registers": _by_registers(has, warps, registers),
        "shared memory": _by_shared(has, shared_bytes, dynamic_shared_bytes, carveout_kb),
        "blocks": has.blocks,
    }
    if has.barriers is not None and barriers:
        allowed["barriers"] = has.barriers // barriers
    allowed = {name: count for name, count in allowed.items() if count is not None}
    blocks = min(allowed.values())
    return Occupancy(
        cc, threads, registers, shared_bytes + dynamic_shared_bytes, blocks, blocks * warps,
        has.warps, allowed,
    )  # fmt: skip


def _by_registers(has: Limits, warps: int, registers: int) -> int:
    """Blocks that the register file allows; a launch counts warps rounded up to the partitions."""
    if not registers:
        return has.blocks + has.warps  # never binds
    per_warp = _up(registers * 32, has.register_unit)
    whole = per_warp * _up(warps, has.partitions)
    if whole > has.registers:
        return 0
    in_partition = (has.registers // has.partitions) // per_warp
    return in_partition * has.partitions // warps


def _by_shared(has: Limits, static: int, dynamic: int, carveout_kb: int | None) -> int:
    used = _up(static + dynamic + has.shared_reserved, has.shared_unit)
    most = has.shared_per_block if dynamic else has.shared_static
    if static > has.shared_static or static + dynamic > most:
        return 0
    room = has.shared
    if carveout_kb is not None:
        room = 1024 * next((kb for kb in has.carveouts_kb if kb >= carveout_kb), has.shared // 1024)
    return room // used if used else has.blocks + has.warps


def _up(value: int, unit: int) -> int:
    return -(-value // unit) * unit


def _and(names: tuple[str, ...]) -> str:
    return " and ".join(names)


def what_would_change_it(now: Occupancy) -> list[str]:
    """Sentences: for each binding limit, the nearest change of one number that lets more warps in.

    Nothing is said when the SM is full.
    """
    if now.fraction == 1:
        return []
    has = limits(now.compute_capability)
    found = []
    for registers in range(now.registers - 1, 0, -1):
        better = occupancy(now.compute_capability, now.threads, registers, 0, now.shared_bytes)
        if better.warps > now.warps:
            found.append(
                f"{registers} registers a thread instead of {now.registers}: "
                f"{better.warps} warps ({better.percent:.4g} %)."
            )
            break
    for shared in range(now.shared_bytes - has.shared_unit, -1, -has.shared_unit):
        better = occupancy(now.compute_capability, now.threads, now.registers, 0, shared)
        if better.warps > now.warps:
            found.append(
                f"{shared} bytes of shared memory a block instead of {now.shared_bytes}: "
                f"{better.warps} warps ({better.percent:.4g} %)."
            )
            break
    sizes = sorted(range(32, has.threads_per_block + 1, 32), key=lambda n: abs(n - now.threads))
    for threads in sizes:
        better = occupancy(now.compute_capability, threads, now.registers, 0, now.shared_bytes)
        if better.warps > now.warps:
            found.append(
                f"{threads} threads a block instead of {now.threads}: "
                f"{better.warps} warps ({better.percent:.4g} %)."
            )
            break
    return found
