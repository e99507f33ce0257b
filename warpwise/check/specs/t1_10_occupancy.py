"""Exercises of t1_10_occupancy: what an SM holds, bytes in flight, waves, and a smaller tile.

version  one way to write a kernel: (loads a thread has under way, registers, shared bytes a thread)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ...hardware import occupancy
from ..cases import Case, Level, ceil_div, values
from ..requirements import Requirement
from ..spec import FunctionSpec, KernelSpec, ValueSpec

UNIT = "t1_10_occupancy"
KB = 1024
Four = tuple[int, int, int, int]

#: What one SM holds: (warps, blocks, bytes of shared memory) -> the compute capability.
SMS = {
    (64, 32, 164 * KB): (8, 0),
    (64, 32, 228 * KB): (9, 0),
    (48, 16, 100 * KB): (8, 6),
    (48, 24, 100 * KB): (8, 9),
}


def up(value: int, unit: int) -> int:
    """The next multiple of `unit`."""
    return -(-value // unit) * unit


# -- warps_to_fill -----------------------------------------------------------------------------


def warps_to_fill(
    bandwidth_gbs: float, latency_cycles: int, clock_mhz: int, sms: int, bytes_per_warp: int
) -> int:
    """Warps an SM needs for bandwidth x latency bytes in flight, rounded up."""
    nanoseconds = latency_cycles / clock_mhz * 1000
    return math.ceil(bandwidth_gbs * nanoseconds / sms / bytes_per_warp)


def fill_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[Any, ...]]:
    """A100, H100, the same with wider loads, devices that do not exist, and one that needs exactly
    50 warps, whatever the order of the divisions."""
    yield from [(1555, 466, 1410, 108, 128), (3350, 479, 1980, 132, 128)]
    yield (1600, 512, 1600, 80, 128)
    yield from [(3350, 479, 1980, 132, 512), (900, 460, 1530, 80, 256), (320, 613, 1590, 40, 128)]
    if level == "grader":
        for _ in range(12):
            yield (int(rng.integers(200, 9000)), int(rng.integers(300, 950)),
                   int(rng.integers(900, 2600)), int(rng.integers(20, 170)),
                   128 * int(rng.choice([1, 2, 4, 8])))  # fmt: skip


WARPS_TO_FILL = FunctionSpec(
    "warps_to_fill", UNIT, 1, fill_inputs, warps_to_fill,
    suspects={
        "rounded_down": lambda bw, cycles, mhz, sms, each: int(bw * cycles / mhz * 1000 / sms
                                                               / each),
        "one_too_many": lambda bw, cycles, mhz, sms, each: int(bw * cycles / mhz * 1000 / sms
                                                               / each) + 1,
        "whole_device": lambda bw, cycles, mhz, sms, each: math.ceil(bw * cycles / mhz * 1000
                                                                     / each),
        "microseconds": lambda bw, cycles, mhz, sms, each: math.ceil(bw * cycles / mhz / sms
                                                                     / each),
        "cycles_as_nanoseconds": lambda bw, cycles, mhz, sms, each: math.ceil(bw * cycles / sms
                                                                              / each),
        "always_128": lambda bw, cycles, mhz, sms, each: warps_to_fill(bw, cycles, mhz, sms, 128),
        "bytes_not_warps": lambda bw, cycles, mhz, sms, each: math.ceil(bw * cycles / mhz * 1000
                                                                        / sms),
    },
    causes={
        "rounded_down": "It is rounded down: the last few bytes have no warp.",
        "one_too_many": "Where the law asks for a whole number of warps, there is one too many.",
        "whole_device": "That is the number for the whole device, not for one SM.",
        "microseconds": "That is a thousandth: cycles over MHz are microseconds, not nanoseconds.",
        "cycles_as_nanoseconds": "The latency in cycles was taken for nanoseconds.",
        "always_128": "That is right for 128 bytes a warp, whatever bytes_per_warp says.",
        "bytes_not_warps": "That is the number of bytes an SM needs, not of warps.",
    },
    hints={
        "rounded_down": (
            "Are 37 warps enough where the law asks for 37.2?",
            "Round up: math.ceil of the quotient.",
        ),
        "one_too_many": (
            "How many warps are enough where the law asks for exactly 50?",
            "math.ceil rounds up only where there is something to round: math.ceil(50.0) is 50.",
        ),
        "whole_device": (
            "Whose bytes does bandwidth times latency count?",
            "Bandwidth is the device's, and its SMs share it: divide by sms.",
        ),
        "microseconds": (
            "A clock of 1,000 MHz makes one cycle a nanosecond.  What does your formula make of "
            "it?",
            "Nanoseconds are latency_cycles / clock_mhz * 1000.  GB/s times ns is bytes.",
        ),
        "cycles_as_nanoseconds": (
            "How long is one cycle?",
            "Nanoseconds are latency_cycles / clock_mhz * 1000.",
        ),
        "always_128": (
            "Which parameter does your function not use?",
            "Divide by bytes_per_warp at the end.",
        ),
        "bytes_not_warps": (
            "How many bytes does one warp have under way?",
            "Divide by bytes_per_warp at the end, then round up.",
        ),
        "wrong_type": (
            "Can there be half a warp?",
            "math.ceil gives a whole number.",
        ),
        "wrong_values": (
            "Little's law: bytes in flight = bandwidth x latency.  In which units?",
            "GB/s times nanoseconds is bytes.  Then divide by the SMs and by the bytes of a warp, "
            "and round up once, at the end.",
        ),
    },
)  # fmt: skip


# -- four_limits -------------------------------------------------------------------------------


def four_limits(
    max_warps: int, max_blocks: int, shared_sm: int, threads: int, registers: int,
    shared_bytes: int,
) -> Four:  # fmt: skip
    """Blocks that each limit alone allows: warps, blocks, registers, shared memory."""
    cc = SMS[max_warps, max_blocks, shared_sm]
    allowed = occupancy(cc, threads, registers, 0, shared_bytes).allowed
    return (allowed["warps"], allowed["blocks"], allowed["registers"], allowed["shared memory"])


def limits_by_hand(
    max_warps: int, max_blocks: int, shared_sm: int, threads: int, registers: int,
    shared_bytes: int, *, whole_warps: bool = True, register_unit: int = 256, parts: int = 4,
    reserve: int = KB, shared_unit: int = 128,
) -> Four:  # fmt: skip
    """The same by the rules, any of which can be left out: for the known mistakes."""
    warps = -(-threads // 32)
    each = up(32 * registers, register_unit)
    room = 65536 // parts // each * parts
    used = up(shared_bytes + reserve, shared_unit)
    return (
        max_warps // warps if whole_warps else 32 * max_warps // threads,
        max_blocks,
        room // warps if whole_warps else 65536 // (registers * threads),
        shared_sm // used if used else max_blocks,
    )


def without(**rules: Any) -> Callable[..., Four]:
    """A known mistake: one rule of `limits_by_hand` changed."""

    def mistake(
        max_warps: int, max_blocks: int, shared_sm: int, threads: int, registers: int,
        shared_bytes: int,
    ) -> Four:  # fmt: skip
        return limits_by_hand(
            max_warps, max_blocks, shared_sm, threads, registers, shared_bytes, **rules
        )

    return mistake


def order_exchanged(
    max_warps: int, max_blocks: int, shared_sm: int, threads: int, registers: int,
    shared_bytes: int,
) -> Four:  # fmt: skip
    """The last two limits have changed places."""
    w, b, r, s = four_limits(max_warps, max_blocks, shared_sm, threads, registers, shared_bytes)
    return (w, b, s, r)


def blocks_inside_a_part(
    max_warps: int, max_blocks: int, shared_sm: int, threads: int, registers: int,
    shared_bytes: int,
) -> Four:  # fmt: skip
    """A block is put into one part of the register file, with all its warps."""
    w, b, _, s = four_limits(max_warps, max_blocks, shared_sm, threads, registers, shared_bytes)
    return (w, b, 4 * (16384 // up(32 * registers, 256) // -(-threads // 32)), s)


def cut_to_the_block_limit(
    max_warps: int, max_blocks: int, shared_sm: int, threads: int, registers: int,
    shared_bytes: int,
) -> Four:  # fmt: skip
    """No limit is said to allow more than max_blocks."""
    w, b, r, s = four_limits(max_warps, max_blocks, shared_sm, threads, registers, shared_bytes)
    return (min(w, b), b, min(r, b), min(s, b))


def limits_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[Any, ...]]:
    """Kernels on the edges of each rule, on four kinds of SM."""
    a100, h100, ga10x, ada = SMS
    yield (*a100, 128, 32, 4096)
    yield (*a100, 128, 37, 0)
    yield (*a100, 320, 37, 0)
    yield (*h100, 32, 8, 12 * KB)
    yield (*a100, 800, 80, 0)
    yield (*h100, 100, 40, 9216)
    yield (*ga10x, 160, 168, 3000)
    yield (*ada, 96, 41, 20001)
    yield (*ga10x, 1024, 33, 50000)
    yield (*a100, 480, 80, 1)
    if level == "grader":
        sms = list(SMS)
        for _ in range(25):
            room = sms[int(rng.integers(len(sms)))]
            yield (*room, int(rng.integers(1, 1025)), int(rng.integers(16, 256)),
                   int(rng.integers(0, room[2] - 2 * KB)))  # fmt: skip


FOUR_LIMITS = FunctionSpec(
    "four_limits", UNIT, 3, limits_inputs, four_limits,
    suspects={
        "registers_not_rounded": without(register_unit=32),
        "one_register_file": without(parts=1),
        "plain_registers": without(register_unit=32, parts=1),
        "blocks_inside_a_part": blocks_inside_a_part,
        "threads_not_in_warps": without(whole_warps=False),
        "cut_to_the_block_limit": cut_to_the_block_limit,
        "reserve_forgotten": without(reserve=0),
        "shared_not_rounded": without(shared_unit=1),
        "plain_shared": without(reserve=0, shared_unit=1),
        "order_exchanged": order_exchanged,
    },
    causes={
        "threads_not_in_warps": "Warps are divided like threads: a warp that is part full still "
        "takes a whole place and the registers of 32 threads.",
        "registers_not_rounded": "The registers of a warp are not rounded up to units of 256.",
        "one_register_file": "The registers are handed out from one file of 65,536.  There are "
        "four parts of 16,384, and no warp may straddle two.",
        "plain_registers": "The registers are divided without units of 256 and without the four "
        "parts.",
        "blocks_inside_a_part": "The blocks are counted for each of the four parts.  A warp lies "
        "in one part; the warps of a block may lie in different ones.",
        "reserve_forgotten": "The 1,024 bytes that each block costs beside its own shared memory "
        "are missing.",
        "shared_not_rounded": "The shared memory of a block is not rounded up to units of 128 "
        "bytes.",
        "plain_shared": "Shared memory is divided without the reserve and without units.",
        "cut_to_the_block_limit": "No number is above max_blocks.  Each limit counts on its own "
        "here: one may allow more than another.",
        "order_exchanged": "The last two numbers have changed places.",
    },
    hints={
        "threads_not_in_warps": (
            "How many warps are 33 threads?",
            "Start with warps = (threads + 31) // 32, and use only warps from there on.",
        ),
        "registers_not_rounded": (
            "37 registers for 32 lanes are 1,184.  How many does the hardware hand out?",
            "Round 32 * registers up to a multiple of 256: here 1,280.",
        ),
        "one_register_file": (
            "Where do the registers of one warp lie?",
            "A warp lies in one of four parts of 16,384.  Count the warps that fit in a part, "
            "times four, then divide by the warps of a block.",
        ),
        "plain_registers": (
            "In which units, and from how many parts, are registers handed out?",
            "Round 32 * registers up to 256; see how many warps fit in 16,384; times four; divide "
            "by the warps of a block.",
        ),
        "blocks_inside_a_part": (
            "What must lie in one part: a warp, or a whole block?",
            "Count the warps of all four parts first, then divide by the warps of a block.",
        ),
        "reserve_forgotten": (
            "What does a block cost that asks for no shared memory at all?",
            "Add 1,024 to shared_bytes, then round up to 128, then divide.",
        ),
        "shared_not_rounded": (
            "Can a block take 1,025 bytes?",
            "Round shared_bytes + 1024 up to a multiple of 128 before you divide.",
        ),
        "plain_shared": (
            "What does a block cost beside its own shared memory?",
            "Add 1,024 to shared_bytes, round up to 128, then divide.",
        ),
        "cut_to_the_block_limit": (
            "How many blocks would fit if a limit were the only one?",
            "Leave out the min with max_blocks: whoever wants the smallest takes it afterwards.",
        ),
        "order_exchanged": (
            "In which order does the exercise ask for the four numbers?",
            "By warps, by blocks, by registers, by shared memory.",
        ),
        "wrong_type": (
            "Does the function give four whole numbers?",
            "Divide with //, and return a tuple of four.",
        ),
        "wrong_values": (
            "Which of the four numbers differs?  Work out that one by hand.",
            "All rules are in sections 1 and 2 of the lesson: whole warps, units of 256 registers "
            "in four parts, 1,024 bytes more and units of 128 for shared memory.",
        ),
    },
)  # fmt: skip


# -- warps_after_halving -----------------------------------------------------------------------

HALVED = occupancy("H100", 128, 40, 9216)

WARPS_AFTER_HALVING = ValueSpec(
    "warps_after_halving", UNIT, 1, lambda: HALVED.warps, "the number of warps on one SM",
    suspects={
        "registers_overlooked": 64,
        "twice_as_many": 96,
        "blocks_not_warps": HALVED.blocks,
        "by_shared_alone": 4 * HALVED.allowed["shared memory"],
    },
    causes={
        "registers_overlooked": "That is a full SM.  One of the four limits does not allow it.",
        "twice_as_many": "That is twice as many as before, and more than an SM can hold.",
        "blocks_not_warps": "That is the number of blocks; each has four warps.",
        "by_shared_alone": "That is what shared memory alone would allow.",
    },
    hints={
        "wrong_values": (
            "Work out all four limits, then take the smallest.",
            "Your function four_limits gives the blocks: times four warps.  An H100 has 64 warps, "
            "32 blocks and 228 KB.",
        ),
        "registers_overlooked": (
            "Shared memory would now allow it.  Who else has to agree?",
            "40 registers are 1,280 a warp.  How many warps fit in a part of 16,384 registers?",
        ),
        "twice_as_many": (
            "How many warps can one SM hold?",
            "Work out all four limits and take the smallest.",
        ),
        "blocks_not_warps": ("The question asks for warps.", "128 threads are four warps."),
        "by_shared_alone": (
            "Is shared memory still the smallest of the four limits?",
            "Work out all four limits and take the smallest.",
        ),
    },
)  # fmt: skip


# -- tail_of -----------------------------------------------------------------------------------


def tail_of(grid: int, blocks_per_sm: int, sms: int) -> tuple[int, float]:
    """Waves, and the share of all block slots in them that is used."""
    slots = blocks_per_sm * sms
    waves = -(-grid // slots)
    return waves, grid / (waves * slots)


def tail_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[Any, ...]]:
    """One block, a full wave, one more, and several waves."""
    yield from [(1, 1, 4), (8, 2, 4), (9, 2, 4), (1056, 8, 132), (1057, 8, 132), (5000, 6, 108)]
    yield from [(3, 16, 58), (100_003, 5, 82)]
    if level == "grader":
        for _ in range(12):
            yield (int(rng.integers(1, 20_000)), int(rng.integers(1, 33)),
                   int(rng.integers(10, 170)))  # fmt: skip


TAIL_OF = FunctionSpec(
    "tail_of", UNIT, 1, tail_inputs, tail_of,
    suspects={
        "one_wave_too_many": lambda grid, blocks, sms: (
            grid // (blocks * sms) + 1, grid / ((grid // (blocks * sms) + 1) * blocks * sms)
        ),
        "percent": lambda grid, blocks, sms: (tail_of(grid, blocks, sms)[0],
                                              100 * tail_of(grid, blocks, sms)[1]),
        "last_wave_only": lambda grid, blocks, sms: (
            tail_of(grid, blocks, sms)[0], ((grid - 1) % (blocks * sms) + 1) / (blocks * sms)
        ),
        "sms_forgotten": lambda grid, blocks, sms: tail_of(grid, blocks, 1),
        "one_block_each": lambda grid, blocks, sms: tail_of(grid, 1, sms),
        "rounded_down": lambda grid, blocks, sms: (
            grid // (blocks * sms), grid / max(1, grid // (blocks * sms) * blocks * sms)
        ),
        "against_one_wave": lambda grid, blocks, sms: (tail_of(grid, blocks, sms)[0],
                                                       grid / (blocks * sms)),
    },
    causes={
        "one_wave_too_many": "Where the blocks fill their waves exactly, there is a wave too many.",
        "percent": "The waves are right; the share is in percent.",
        "last_wave_only": "The waves are right; the share is that of the last wave alone.",
        "sms_forgotten": "That is for a device with a single SM.",
        "one_block_each": "That is for one block on each SM.",
        "rounded_down": "The last wave, part full, is not counted.",
        "against_one_wave": "The waves are right; the blocks are divided by the places of one "
        "wave, not of all.",
    },
    hints={
        "one_wave_too_many": (
            "How many waves are 8 blocks in 8 places?",
            "Round up: -(-grid // slots).",
        ),
        "percent": ("What is the largest share there can be?", "A share is between 0 and 1."),
        "last_wave_only": (
            "The full waves before it count too.",
            "Divide grid by all places of all waves.",
        ),
        "sms_forgotten": (
            "How many places does the whole device have?",
            "blocks_per_sm * sms.",
        ),
        "one_block_each": (
            "Which parameter does your function not use?",
            "A wave has blocks_per_sm * sms places.",
        ),
        "rounded_down": (
            "Where does the block after a full wave run?",
            "In a wave of its own: round up, -(-grid // slots).",
        ),
        "against_one_wave": (
            "What is the largest share there can be?",
            "Divide grid by waves * slots.",
        ),
        "wrong_type": (
            "What are the two values?",
            "A whole number of waves, and a share between 0 and 1: return waves, share.",
        ),
        "wrong_values": (
            "How many blocks run at the same time on the whole device?",
            "slots = blocks_per_sm * sms.  Waves: grid / slots, rounded up.  Share: "
            "grid / (waves * slots).",
        ),
    },
)  # fmt: skip


# -- strip_product -----------------------------------------------------------------------------

STRIP = 64
BLOCK = (32, 4)


def strip_case(rng: np.random.Generator, m: int, n: int, depth: int) -> Case:
    """out (m, n) = a (m, depth) @ b (depth, n), one thread for each element."""
    a = np.abs(values(rng, (m, depth)))
    b = np.abs(values(rng, (depth, n)))
    args = {"out": np.zeros((m, n), np.float32), "a": a, "b": b}
    grid = (ceil_div(n, BLOCK[0]), ceil_div(m, BLOCK[1]))
    return Case(args, grid, BLOCK, f"m = {m}, n = {n}, depth = {depth}")


def strip_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Products whose sides straddle the block, whose depth straddles a strip of 64."""
    sizes = [(1, 3, 2), (4, 32, 64), (5, 33, 65), (4, 32, 128), (3, 40, 127), (9, 65, 128)]
    sizes += [(13, 31, 97), (2, 64, 33)]
    if level == "grader":
        for _ in range(4):
            sizes.append((int(rng.integers(1, 20)), int(rng.integers(1, 80)),
                          int(rng.integers(1, 129))))  # fmt: skip
    for m, n, depth in sizes:
        yield strip_case(rng, m, n, depth)


def partial(first: int, last: int | None) -> Callable[[Case], dict[str, np.ndarray]]:
    """The product over columns first ... last of `a` only."""

    def mistake(case: Case) -> dict[str, np.ndarray]:
        a, b = (case.args[name].astype(np.float64) for name in "ab")
        start = first if a.shape[1] > first else 0
        return {"out": a[:, start:last] @ b[start:last]}

    return mistake


STRIP_PRODUCT = KernelSpec(
    "strip_product", UNIT, 2, ("out",), strip_cases, partial(0, None),
    writes_once=True,
    suspects={"first_strip_only": partial(0, STRIP), "last_strip_only": partial(STRIP, None)},
    causes={
        "first_strip_only": "The sum ends after 64 terms: the second strip is missing.",
        "last_strip_only": "Where there are two strips, only the second is in the sum.",
        "too_much_shared": "Both tiles still hold the whole depth of 128.",
        "too_many_sectors": "Values that four warps, or 32 lanes, could share are loaded from "
        "global memory again and again.",
    },
    hints={
        "race": (
            "In the second round a warp that is done early loads the next strip.  Into which "
            "place, and who still reads there?",
            "Two barriers in each round: one after the strip is loaded, one after it is used.  "
            "All threads of the block have to reach both.",
        ),
        "first_strip_only": (
            "How many rounds does a depth of 128 need with strips of 64?",
            "for start in range(0, depth, 64): load from start on, add up, go on.",
        ),
        "last_strip_only": (
            "What does the total hold when the second round begins?",
            "Set the total to zero once, before the loop over the strips.",
        ),
        "out_of_bounds": (
            "A depth of 65 is a strip of 64 and a strip of 1.  Which index is too large?",
            "part = min(64, depth - start) is the depth of this strip.  Let every loop of the "
            "round end there.  Rows below m and columns beyond n get zeros.",
        ),
        "too_much_shared": (
            "How many bytes do your two tiles need: 4 rows and 32 columns, how deep?",
            "(4, 64) and (64, 32) float32: 9,216 bytes.  Two rounds of 64 do the work of one of "
            "128.",
        ),
        "too_many_sectors": (
            "How often is each element of a and b loaded by one block?",
            "Load each element once: every thread brings its share of the strip into the tiles, "
            "then all read there.",
        ),
        "reduced_precision": (
            "Half the bytes, and half the digits?",
            "Keep float32 and halve the depth of the tiles instead.",
        ),
    },
    requirements=(
        Requirement("shared_bytes", "too_much_shared"),
        Requirement("load_sectors", "too_many_sectors", times=1.1),
    ),
    counted=lambda: strip_case(np.random.default_rng(10), 9, 70, 128),
)  # fmt: skip


# -- best_launch -------------------------------------------------------------------------------

Version = tuple[int, int, int]


def best_by(
    allowed: Callable[..., Four], score: Callable[[int, int], int], reverse: bool = False
) -> Callable[..., tuple[int, int]]:
    """The search, with one of its rules changed: score(warps, loads) decides."""

    def search(
        max_warps: int, max_blocks: int, shared_sm: int, versions: Sequence[Version]
    ) -> tuple[int, int]:
        found = (-1, 0, 0)
        sizes = range(32, 1025, 32)
        for threads in reversed(sizes) if reverse else sizes:
            for loads, registers, per_thread in versions:
                blocks = min(allowed(max_warps, max_blocks, shared_sm, threads, registers,
                                     threads * per_thread))  # fmt: skip
                value = score(blocks * threads // 32, loads)
                if value > found[0]:
                    found = (value, threads, loads)
        return found[1:]

    return search


def in_flight(warps: int, loads: int) -> int:
    """Bytes under way: 32 lanes of 4 bytes, for each load."""
    return warps * loads * 128


def best_launch(
    max_warps: int, max_blocks: int, shared_sm: int, versions: Sequence[Version]
) -> tuple[int, int]:
    """(threads, loads) with the most bytes in flight; smallest block, then fewest loads."""
    return best_by(four_limits, in_flight)(max_warps, max_blocks, shared_sm, versions)


COPY = [(1, 12, 0), (2, 20, 0), (4, 31, 0), (8, 48, 0)]
STAGED = [(1, 24, 50), (2, 33, 100), (4, 52, 200), (8, 96, 450)]
RAGGED = [(1, 37, 0), (2, 57, 0), (3, 89, 0), (4, 137, 0)]
TIES = [(1, 32, 0), (2, 64, 0), (4, 128, 0)]


def launch_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[Any, ...]]:
    """Four families of versions on three devices."""
    a100, h100, _, ada = SMS
    for versions in (COPY, STAGED, TIES, RAGGED):
        for room in (a100, h100, ada):
            yield (*room, versions)
    if level == "grader":
        sms = list(SMS)
        for _ in range(6):
            room = sms[int(rng.integers(len(sms)))]
            registers = np.sort(rng.integers(16, 200, size=4))
            shared = np.sort(rng.integers(0, 120, size=4))
            versions = [(1 << k, int(registers[k]), int(shared[k])) for k in range(4)]
            yield (*room, versions)


BEST_LAUNCH = FunctionSpec(
    "best_launch", UNIT, 2, launch_inputs, best_launch,
    suspects={
        "most_warps": best_by(four_limits, lambda warps, loads: warps),
        "most_loads": best_by(four_limits, lambda warps, loads: loads if warps else 0),
        "largest_block": best_by(four_limits, in_flight, reverse=True),
        "reserve_forgotten": best_by(without(reserve=0), in_flight),
        "plain_registers": best_by(without(register_unit=32, parts=1), in_flight),
        "blocks_not_warps": best_by(
            lambda *given: (min(four_limits(*given)) * 32 // given[3],) * 4, in_flight
        ),
    },
    causes={
        "most_warps": "That has the most warps.  The exercise asks for the most bytes in flight: "
        "warps times loads.",
        "most_loads": "That is the version with the most loads a thread, at its smallest block.  "
        "It may leave room for so few warps that less is in flight.",
        "largest_block": "Of several launches with equally many bytes the largest block was taken.",
        "reserve_forgotten": "The reserve of 1,024 bytes a block is missing.",
        "plain_registers": "Registers are divided without units of 256 and without the four parts.",
        "blocks_not_warps": "Blocks were counted where warps should be.",
    },
    hints={
        "most_warps": (
            "Which has more under way: 64 warps with one load each, or 32 with four?",
            "Compare warps * loads * 128 bytes.",
        ),
        "most_loads": (
            "How many warps are left when each thread needs that many registers?",
            "Compare warps * loads * 128 bytes, over all versions and block sizes.",
        ),
        "largest_block": (
            "What does the exercise say about ties?",
            "Go through the sizes from small to large, and replace the best one only when the new "
            "one is better, not when it is equal.",
        ),
        "reserve_forgotten": (
            "What does a block cost beside its own shared memory?",
            "Use your four_limits: it adds the 1,024 bytes.",
        ),
        "plain_registers": (
            "Which function that you wrote knows how registers are handed out?",
            "min(four_limits(...)) is the number of blocks.",
        ),
        "blocks_not_warps": (
            "What has loads under way, a block or its warps?",
            "A block of this many threads has threads // 32 warps.",
        ),
        "wrong_type": (
            "What are the two values?",
            "Return threads, loads: two whole numbers.",
        ),
        "wrong_values": (
            "Try all block sizes with all versions.  How do you compare two of them?",
            "blocks = min(four_limits(...)), warps = blocks * (threads // 32), and bytes = warps * "
            "loads * 128.  Keep the first that is larger than all before.",
        ),
    },
)  # fmt: skip


SPECS = [
    WARPS_TO_FILL, FOUR_LIMITS, WARPS_AFTER_HALVING, TAIL_OF, STRIP_PRODUCT, BEST_LAUNCH,
]  # fmt: skip
