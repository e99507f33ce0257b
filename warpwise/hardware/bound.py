"""How long a launch takes at best and at worst, from what it does: an interval, not a figure.

Each roof is a pipe and the work that has to go through it.  The lower end lets everything overlap
and every cache be perfect; the upper end takes the roofs one after the other, without caches.  A
measured time below the lower end is an error of the measurement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .devices import Device, device
from .occupancy import Occupancy

#: Microseconds from the host's call to the kernel's start.
#: Sources: 2.6 at least (makslevental/persistent_kernel, driver 510); 3 as usual (NVIDIA developer
#: forum, thread 233645); 4 to 6 through the runtime (pegainfer, RTX 5070 Ti, CUDA 13, 2026).
LAUNCH_US = (2.6, 6.0)

#: Sectors of 32 bytes that one pass through an SM's L1 carries: 128 bytes.  An SM makes a pass a
#: clock, and a request needs at least one, however few sectors it touches.
#: Sources: Nsight Compute Profiling Guide, memory tables (a wavefront moves at most 128 bytes);
#: NVIDIA developer forum, thread 165293 (a wavefront is what a stage takes a cycle, and a request
#: makes one or more).
SECTORS_A_PASS = 4

#: Warp instructions one SM issues a clock: four schedulers.  Source: CUDA Programming Guide.
ISSUES_A_CLOCK = 4

#: Operations of the source that one instruction does at best: FFMA, IMAD and LEA multiply or shift
#: and add, LOP3 combines three values.  Source: CUDA Binary Utilities, instruction set reference.
FUSED = 2

#: A peak in TFLOP/s counts two operations an instruction.  An add or a multiplication alone is an
#: instruction, too, and has the same rate, so that it reaches half the peak.
#: Source: CUDA Best Practices Guide, "Arithmetic Instructions": one row for add, multiply and
#: multiply-add, for float32 and for float64.
FLOPS_AN_FMA = 2

#: Atomic operations that one place of L2 serves a clock, a warp's lanes on it combined into one.
#: Source: 62 G adds a second were measured on one address of an RTX 4090, which is 25 lanes a clock
#: at 2.52 GHz, just under one whole warp (PWhiddy/webgpu-atomics-benchmark).
ATOMICS_A_CLOCK = 1

#: Share of the DRAM's rated bandwidth that streaming kernels reach, at most as seen.
#: Source: Best Practices Guide, V100: about 790 of 900 GB/s.
DRAM_SHARE = 0.88


@dataclass(frozen=True)
class Work:
    """What a launch does, in numbers that counters give.

    flops               by peak: {"fp32": ..., "fp64": ..., "fp16": ...}; an FMA is two
    instructions        by peak: (fewest, most) of a thread's instructions that compute these flops;
                        half the flops where it is not given, all of them fused
    atomic_queue        (fewest, most) atomic operations of global memory that one place serves one
                        after the other: fewest with a warp's lanes combined, most one by one
    unique_bytes        global memory touched, each 32-byte sector once: what a perfect cache moves
    unique_bytes_block  each sector once per block: what a perfect L1 asks of L2
    sectors             32-byte sectors of all requests: what L1 asks of L2 without any hit
    passes              of these requests through L1, at least one each; a quarter of the sectors
                        where it is not given, as if all requests had four or more
    shared_wavefronts   passes of shared memory, bank conflicts included
    issues              operations of the source, each once for a warp: an FMA is two
    blocks              of the grid
    """

    flops: Mapping[str, float]
    unique_bytes: float
    unique_bytes_block: float
    sectors: float
    shared_wavefronts: float = 0
    issues: float = 0
    blocks: int = 1
    instructions: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    atomic_queue: tuple[float, float] = (0, 0)
    passes: float = 0


@dataclass(frozen=True)
class Roof:
    """Milliseconds that one pipe needs, at best and at worst, and the arithmetic in words."""

    name: str
    low_ms: float
    high_ms: float
    how: str


@dataclass(frozen=True)
class Bound:
    """Milliseconds between which the launch should take.  Label: modelled."""

    device: str
    low_ms: float
    high_ms: float
    roofs: tuple[Roof, ...]
    assumptions: tuple[str, ...] = field(repr=False)
    label: str = "modelled"

    @property
    def limiter(self) -> Roof:
        """The roof that sets the lower end."""
        return max(self.roofs, key=lambda roof: roof.low_ms)

    @property
    def middle_ms(self) -> float:
        """Geometric mean of the ends: for ordering kernels, not for quoting."""
        return (self.low_ms * self.high_ms) ** 0.5

    def __str__(self) -> str:
        limiter = self.limiter
        rows = [
            f"{self.low_ms:.3g} to {self.high_ms:.3g} ms on {self.device}   ({self.label})",
            f"  bound by {limiter.name}: {limiter.how}",
        ]
        rows += [
            f"  {roof.name:<15}{roof.low_ms:>10.3g} to {roof.high_ms:.3g} ms   {roof.how}"
            for roof in self.roofs if roof.high_ms
        ]  # fmt: skip
        return "\n".join([*rows, *(f"  assumes {text}" for text in self.assumptions)])


def bound(work: Work, where: str | Device, fits: Occupancy | None = None) -> Bound:
    """The interval for one launch on one device.

    fits  the kernel's occupancy, for the tail of the last wave; without it, full use of every SM
    """
    gpu = device(where)
    sms = min(gpu.sms.value, max(1, work.blocks))  # a small grid leaves SMs idle
    clocks_a_ms = sms * gpu.clock_mhz.value * 1000
    moved = 32 * work.sectors
    roofs = []
    for kind, flops in work.flops.items():
        if not flops:
            continue
        name = kind if kind in gpu.peaks else "fp32"
        fewest, most = work.instructions.get(kind, (flops / 2, flops / 2))
        a_ms = gpu.peak(name) / FLOPS_AN_FMA * 1e9 * sms / gpu.sms.value
        roofs.append(Roof(name, fewest / a_ms, most / a_ms,
                          _arithmetic(flops, fewest, most, gpu.peak(name))))  # fmt: skip
    roofs.append(Roof(
        "DRAM", _ms(work.unique_bytes, gpu.dram_gbs.value),
        _ms(moved, gpu.dram_gbs.value * DRAM_SHARE),
        f"{_big(work.unique_bytes)}B once, or {_big(moved)}B uncached, at "
        f"{gpu.dram_gbs.value:g} GB/s",
    ))  # fmt: skip
    if gpu.l2_gbs is not None:
        roofs.append(Roof(
            "L2", _ms(work.unique_bytes_block, gpu.l2_gbs.value), _ms(moved, gpu.l2_gbs.value),
            f"{_big(work.unique_bytes_block)}B once a block, or {_big(moved)}B, at "
            f"{gpu.l2_gbs.value:g} GB/s",
        ))  # fmt: skip
    passes = max(work.passes, work.sectors / SECTORS_A_PASS)
    through_ms = (passes + work.shared_wavefronts) / clocks_a_ms
    roofs.append(Roof(
        "load/store", through_ms, through_ms,
        f"{_count(passes)} passes of requests to global memory and "
        f"{_count(work.shared_wavefronts)} of shared memory, one a clock on {sms:g} SMs",
    ))  # fmt: skip
    if work.issues:
        ms = work.issues / ISSUES_A_CLOCK / clocks_a_ms
        roofs.append(Roof(
            "issue", ms / FUSED, ms,
            f"{_count(work.issues)} warp instructions, or half as many where pairs fuse",
        ))  # fmt: skip
    if work.atomic_queue[1]:
        clocks = gpu.clock_mhz.value * 1000 * ATOMICS_A_CLOCK
        fewest, most = work.atomic_queue
        roofs.append(Roof(
            "atomics", fewest / clocks, most / clocks,
            f"{_count(fewest)} to {_count(most)} atomic operations on one place, one a clock",
        ))  # fmt: skip
    tail = fits.tail_efficiency(work.blocks, int(gpu.sms.value)) if fits and fits.fits else 1.0
    low = max(roof.low_ms for roof in roofs) + LAUNCH_US[0] / 1000
    # A pipe of the SMs is filled by the blocks of its own SM; DRAM and L2 are by those of all.
    filled = {"DRAM": tail, "L2": tail, "atomics": 1.0}
    own = tail * gpu.sms.value / sms
    high = sum(r.high_ms / max(filled.get(r.name, own), 1e-9) for r in roofs) + LAUNCH_US[1] / 1000
    return Bound(gpu.name, low, high, tuple(roofs), _assumptions(gpu, tail, work))


def _assumptions(gpu: Device, tail: float, work: Work) -> tuple[str, ...]:
    return (
        f"the clock of the table, {gpu.clock_mhz.value:g} MHz, all the time",
        "at best: caches never miss twice, and all pipes work at once",
        f"at worst: no cache, one pipe after the other, {DRAM_SHARE:.0%} of DRAM's rate",
        f"{LAUNCH_US[0]:g} to {LAUNCH_US[1]:g} us to launch",
        *(() if gpu.l2_gbs else ("no L2 roof: no source gives its bandwidth",)),
        *(("atomics at best: evenly spread over the places they touch, a warp's lanes on one place "
           "combined; at worst: all on one place, one by one",) if work.atomic_queue[1] else ()),
        *((f"a last wave that is part empty: {tail:.0%} of the block slots are used",)
          if tail < 1 else ()),
    )  # fmt: skip


def _arithmetic(flops: float, fewest: float, most: float, peak: float) -> str:
    """The sum in words; instructions are named where not all of them are fused."""
    if most == flops / FLOPS_AN_FMA:
        return f"{_count(flops)} operations at {peak:g} TFLOP/s"
    upto = f" to {_count(most)}" if most != fewest else ""
    return (
        f"{_count(flops)} operations, {_count(fewest)}{upto} instructions at "
        f"{peak / FLOPS_AN_FMA:g} T a second (all fused: {peak:g} TFLOP/s)"
    )


def _ms(nbytes: float, gb_per_second: float) -> float:
    return nbytes / (gb_per_second * 1e6)


def _big(number: float) -> str:
    for size, letter in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g} {letter}"
    return f"{number:.3g} "


def _count(number: float) -> str:
    return _big(number).rstrip()
