"""Exercises of t1_11_roofline: a place on the roofline, traffic, the limiters of twelve kernels,
a slip into float64, and an array smoothed four times in one trip.

roof   a part of the device that work has to pass: "DRAM", "L2", "load/store", "fp32", "fp64"
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...hardware import Work, bound, device, ridge
from ..cases import Case, Level, ceil_div, next_prime, sizes, values
from ..requirements import Requirement
from ..spec import FunctionSpec, KernelSpec, ValueSpec

UNIT = "t1_11_roofline"
SECTOR = 32

# -- place -------------------------------------------------------------------------------------

Place = tuple[float, float, float, str]


def pipes(
    peak_tflops: float, bandwidth_gbs: float, flops: float, nbytes: float
) -> tuple[float, float]:
    """Milliseconds of (memory, arithmetic)."""
    return nbytes / bandwidth_gbs / 1e6, flops / peak_tflops / 1e9


def place(peak_tflops: float, bandwidth_gbs: float, flops: int, nbytes: int) -> Place:
    """(operations a byte, ridge, milliseconds at best, "memory" or "arithmetic")."""
    memory, arithmetic = pipes(peak_tflops, bandwidth_gbs, flops, nbytes)
    word = "memory" if memory > arithmetic else "arithmetic"
    return flops / nbytes, 1000 * peak_tflops / bandwidth_gbs, max(memory, arithmetic), word


def timed(change: Callable[[float, float], float]) -> Callable[..., Place]:
    """A known mistake: change(memory, arithmetic) milliseconds, the rest right."""

    def mistake(peak_tflops: float, bandwidth_gbs: float, flops: int, nbytes: int) -> Place:
        at, turn, _, word = place(peak_tflops, bandwidth_gbs, flops, nbytes)
        return at, turn, change(*pipes(peak_tflops, bandwidth_gbs, flops, nbytes)), word

    return mistake


def placed(intensity: float = 1, ridge: float = 1, *, invert: bool = False) -> Callable[..., Place]:
    """A known mistake: intensity and ridge by a factor, or bytes an operation in both."""

    def mistake(peak_tflops: float, bandwidth_gbs: float, flops: int, nbytes: int) -> Place:
        at, turn, time, word = place(peak_tflops, bandwidth_gbs, flops, nbytes)
        if invert:
            return 1 / at, 1 / turn, time, word
        return intensity * at, ridge * turn, time, word

    return mistake


OTHER = {"memory": "arithmetic", "arithmetic": "memory"}


def other_word(peak_tflops: float, bandwidth_gbs: float, flops: int, nbytes: int) -> Place:
    """All numbers right beside the wrong word."""
    at, turn, time, word = place(peak_tflops, bandwidth_gbs, flops, nbytes)
    return at, turn, time, OTHER[word]


def shorter_pipe(peak_tflops: float, bandwidth_gbs: float, flops: int, nbytes: int) -> Place:
    """The time and the word of the pipe that is done first."""
    at, turn, _, word = place(peak_tflops, bandwidth_gbs, flops, nbytes)
    return at, turn, min(pipes(peak_tflops, bandwidth_gbs, flops, nbytes)), OTHER[word]


def place_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[Any, ...]]:
    """SAXPY and a product of matrices, then both sides of the ridge on six devices and formats."""
    n = 2**28
    yield from [(19.5, 1555, 2 * n, 12 * n), (19.5, 1555, 2 * 4096**3, 3 * 4 * 4096**2)]
    for gpu, kind in (("A100 40GB", "fp32"), ("RTX 4090", "fp64"), ("T4", "fp64"),
                      ("H100", "fp16"), ("V100", "fp64"), ("B200", "fp32")):  # fmt: skip
        at = ridge(gpu, kind)
        for share in (0.9, 1.1):
            yield device(gpu).peak(kind), device(gpu).dram_gbs.value, int(share * at * n), n
    if level == "grader":
        for _ in range(12):
            peak, rate = float(rng.uniform(0.2, 1000)), float(rng.uniform(200, 9000))
            nbytes = int(rng.integers(10**6, 10**10))
            share = float(rng.choice([0.05, 0.6, 1.7, 30]))
            yield (peak, rate, int(share * nbytes * 1000 * peak / rate), nbytes)


PLACE = FunctionSpec(
    "place", UNIT, 1, place_inputs, place,
    suspects={
        "added_up": timed(lambda memory, arithmetic: memory + arithmetic),
        "shorter_pipe": shorter_pipe,
        "other_word": other_word,
        "seconds": timed(lambda memory, arithmetic: max(memory, arithmetic) / 1000),
        "microseconds": timed(lambda memory, arithmetic: max(memory, arithmetic) * 1000),
        "memory_only": timed(lambda memory, arithmetic: memory),
        "arithmetic_only": timed(lambda memory, arithmetic: arithmetic),
        "time_of_the_shorter": timed(min),
        "ridge_by_a_thousand": placed(ridge=0.001),
        "upside_down": placed(invert=True),
        "fused_as_one": placed(intensity=0.5),
    },
    causes={
        "added_up": "The two times are added, as if one pipe waited for the other.",
        "shorter_pipe": "Time and word are those of the pipe that is done first.",
        "time_of_the_shorter": "All is right but the time: it is that of the pipe that is done "
        "first.",
        "other_word": "The numbers are right; the word is the other one.",
        "seconds": "The time is in seconds.",
        "microseconds": "The time is in microseconds.",
        "memory_only": "The time is always that of the memory.",
        "arithmetic_only": "The time is always that of the arithmetic.",
        "ridge_by_a_thousand": "The ridge is TFLOP/s over GB/s: a thousandth of operations a byte.",
        "upside_down": "Intensity and ridge are bytes for each operation.",
        "fused_as_one": "The intensity is half of what it should be: flops counts operations, and "
        "a fused one is two of them already.",
    },
    hints={
        "added_up": (
            "Does the arithmetic stand still while data move?",
            "Both pipes work at once: take the larger of the two times.",
        ),
        "shorter_pipe": (
            "Can the kernel end before its slower pipe is done?",
            "Take the larger of the two times, and its name.",
        ),
        "time_of_the_shorter": (
            "Can the kernel end before its slower pipe is done?",
            "Take the larger of the two times.",
        ),
        "other_word": (
            "Which pipe is busy longer?",
            'Left of the ridge, where the intensity is smaller, it is "memory".',
        ),
        "seconds": ("In which unit is the time asked for?", "A second has 1,000 milliseconds."),
        "microseconds": (
            "In which unit is the time asked for?",
            "1 TFLOP/s is 10^9 operations a millisecond, 1 GB/s is 10^6 bytes a millisecond.",
        ),
        "memory_only": (
            "Try a kernel with a thousand operations for each byte.",
            "Work out both times and take the larger one.",
        ),
        "arithmetic_only": (
            "Try a copy, which has no operation at all.",
            "Work out both times and take the larger one.",
        ),
        "ridge_by_a_thousand": (
            "What is a TFLOP/s over a GB/s?",
            "Tera is a thousand times giga: 1000 * peak_tflops / bandwidth_gbs.",
        ),
        "upside_down": (
            "Operations a byte, or bytes an operation?",
            "flops / nbytes, and peak / bandwidth.",
        ),
        "fused_as_one": ("What does flops count?", "The intensity is flops / nbytes."),
        "wrong_type": (
            "What are the four values?",
            'Three numbers and a string: return intensity, ridge, milliseconds, "memory".',
        ),
        "wrong_values": (
            "Which of the four values differs?  Work out that one for the first call.",
            "flops / nbytes; 1000 * peak_tflops / bandwidth_gbs; the larger of flops / "
            "(peak_tflops * 1e9) and nbytes / (bandwidth_gbs * 1e6); and its word.",
        ),
    },
)  # fmt: skip


# -- traffic_of --------------------------------------------------------------------------------

Requests = Sequence[Sequence[int]]


def traffic_by(unit: int, requests: Requests) -> tuple[int, int]:
    """(pieces of `unit` bytes of all requests, pieces touched at all), in bytes."""
    pieces = [{address // unit for address in request} for request in requests]
    return unit * sum(map(len, pieces)), unit * len(set().union(*pieces))


def traffic_of(requests: Requests, itemsize: int) -> tuple[int, int]:
    """(bytes of the sectors of all requests, bytes of all sectors touched)."""
    return traffic_by(SECTOR, requests)


def asked_for(requests: Requests, itemsize: int) -> tuple[int, int]:
    """What the lanes ask for, and the elements touched."""
    touched = {address for request in requests for address in request}
    return itemsize * sum(map(len, requests)), itemsize * len(touched)


def traffic_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[Any, ...]]:
    """The example, whole warps side by side, shifted, strided, broadcast, gathered, part idle."""
    yield ([[0, 4, 8], [8, 96]], 4)
    yield ([[0]], 4)
    for size, start, stride in ((4, 0, 1), (4, 4, 1), (8, 0, 1), (1, 32, 1), (4, 0, 8), (2, 64, 3)):
        first = [start + size * stride * lane for lane in range(32)]
        second = [address + 16 * size for address in first]
        yield ([first, second, first[:7]], size)
    yield ([[4096] * 32, [4100] * 32, [8192] * 5], 4)
    yield ([[0, 256, 512], [], [256]], 8)
    for _ in range(2 if level == "student" else 10):
        size = int(rng.choice([1, 2, 4, 8]))
        requests = [
            [size * int(k) for k in rng.integers(0, 200, size=int(rng.integers(1, 33)))]
            for _ in range(int(rng.integers(2, 12)))
        ]
        yield (requests, size)


TRAFFIC_OF = FunctionSpec(
    "traffic_of", UNIT, 2, traffic_inputs, traffic_of,
    suspects={
        "sectors_not_bytes": lambda requests, itemsize: tuple(
            part // SECTOR for part in traffic_of(requests, itemsize)
        ),
        "exchanged": lambda requests, itemsize: traffic_of(requests, itemsize)[::-1],
        "asked_for": asked_for,
        "lines": lambda requests, itemsize: traffic_by(128, requests),
        "always_one_each": lambda requests, itemsize: (
            SECTOR * sum(map(len, requests)), traffic_of(requests, itemsize)[1]
        ),
        "elements_once": lambda requests, itemsize: (
            traffic_of(requests, itemsize)[0], asked_for(requests, itemsize)[1]
        ),
        "both_counted": lambda requests, itemsize: (traffic_of(requests, itemsize)[0],) * 2,
        "both_compulsory": lambda requests, itemsize: (traffic_of(requests, itemsize)[1],) * 2,
        "address_for_index": lambda requests, itemsize: traffic_by(
            SECTOR, [[address * itemsize for address in request] for request in requests]
        ),
    },
    causes={
        "sectors_not_bytes": "Those are the sectors; the exercise asks for bytes.",
        "exchanged": "The two numbers have changed places.",
        "asked_for": "Those are the bytes that the lanes ask for.  Memory moves whole sectors.",
        "lines": "That counts lines of 128 bytes.",
        "always_one_each": "The first number gives every lane a sector of its own, also lanes of "
        "one request that share one.",
        "elements_once": "The first number is right; the second counts elements, not sectors.",
        "both_counted": "Both are the counted traffic: a sector that several requests touch moves "
        "once with a perfect cache.",
        "both_compulsory": "Both are the compulsory traffic: without a cache each request moves "
        "its sectors again.",
        "address_for_index": "The addresses are multiplied by itemsize, as if they were indices.",
    },
    hints={
        "sectors_not_bytes": ("How many bytes has a sector?", "Multiply both numbers by 32."),
        "exchanged": (
            "Which of the two is never larger than the other?",
            "The counted traffic comes first, the compulsory one second.",
        ),
        "asked_for": (
            "How much moves when a single lane reads 4 bytes?",
            "address // 32 is the sector.  Count sectors, times 32 bytes.",
        ),
        "lines": ("How large is the piece in which memory moves?", "A sector has 32 bytes."),
        "always_one_each": (
            "How many sectors does a request need whose lanes all read the same word?",
            "Make a set of the sectors of each request, and add up the sizes of the sets.",
        ),
        "elements_once": (
            "How much moves when a single element is read, once?",
            "Join the sets of sectors of all requests; 32 times the size of the union.",
        ),
        "both_counted": (
            "What does a perfect cache do with a sector that it has seen before?",
            "Join the sets of all requests; 32 times the size of the union.",
        ),
        "both_compulsory": (
            "What happens without a cache when two requests need the same sector?",
            "Add up the sizes of the sets, request by request, before you join them.",
        ),
        "address_for_index": (
            "What do the numbers in requests count, elements or bytes?",
            "They are byte addresses already: address // 32 is the sector.",
        ),
        "wrong_type": (
            "What are the two values?",
            "Two integers: return counted, compulsory.",
        ),
        "wrong_values": (
            "Take the example and go through it on paper, sector by sector.",
            "Make {address // 32 for address in request}; add up the sizes for the first number, "
            "join the sets for the second, and multiply both by 32.",
        ),
    },
)  # fmt: skip


# -- blend_bytes -------------------------------------------------------------------------------

HEIGHT, WIDTH = 1200, 1600
PIXELS = HEIGHT * WIDTH


def blend_bytes(photo: int = 1, weights_rows: int = 1, gain: int = SECTOR, out: int = 4) -> int:
    """Compulsory bytes: out, photo (bytes a pixel), weights for so many rows, gain."""
    return out * PIXELS + photo * PIXELS + weights_rows * 4 * WIDTH + gain


BLEND_BYTES = ValueSpec(
    "blend_bytes", UNIT, 1, blend_bytes, "the compulsory traffic",
    suspects={
        "element_not_sector": blend_bytes(gain=4),
        "photo_as_float32": blend_bytes(photo=4),
        "photo_twice": blend_bytes(photo=2),
        "every_load": PIXELS * (4 + 1 + 1 + 4 + 4),
        "weights_for_each_row": blend_bytes(weights_rows=HEIGHT),
        "stores_forgotten": blend_bytes(out=0),
        "small_arrays_forgotten": blend_bytes(weights_rows=0, gain=0),
        "gain_forgotten": blend_bytes(gain=0),
        "sectors_not_bytes": blend_bytes() // SECTOR,
        "out_as_uint8": blend_bytes(out=1),
    },
    causes={
        "element_not_sector": "That counts 4 bytes for gain.  Memory does not move less than a "
        "sector.",
        "photo_as_float32": "That counts 4 bytes for each pixel of the photo.",
        "photo_twice": "That counts the photo twice.  With a perfect cache each pixel comes once.",
        "every_load": "That is what all threads ask for, not what has to move.",
        "weights_for_each_row": "That counts the weights once for each row of the photo.",
        "stores_forgotten": "That is what is read.  The result has to move, too.",
        "small_arrays_forgotten": "The two small arrays are missing.",
        "gain_forgotten": "gain is missing.",
        "sectors_not_bytes": "Those are sectors; the exercise asks for bytes.",
        "out_as_uint8": "That counts one byte for each pixel of the result.",
    },
    hints={
        "element_not_sector": (
            "How much moves when one element of 4 bytes is read?",
            "A whole sector, 32 bytes.",
        ),
        "photo_as_float32": ("Of which type is the photo?", "A uint8 has one byte."),
        "photo_twice": (
            "Who needs a pixel, apart from its own thread?",
            "Its left neighbour, at about the same time.  It comes once.",
        ),
        "every_load": (
            "How often does a sector have to come when it stays in the cache?",
            "Once.  Count each array by its size, not by its loads.",
        ),
        "weights_for_each_row": (
            "How often do the weights have to come when they stay in the cache?",
            "Once: 4 bytes for each column.",
        ),
        "stores_forgotten": ("Where does the result go?", "4 bytes for each pixel of out."),
        "small_arrays_forgotten": (
            "How many arrays does the kernel have?",
            "Add 4 bytes a column for the weights, and one sector for gain.",
        ),
        "gain_forgotten": ("How many arrays does the kernel have?", "gain is one sector."),
        "sectors_not_bytes": ("How many bytes has a sector?", "Multiply by 32."),
        "out_as_uint8": ("Of which type is out?", "A float32 has 4 bytes."),
        "wrong_type": ("Can there be half a byte?", "Use whole numbers only."),
        "wrong_values": (
            "Add up four arrays, each once, in whole sectors.",
            "out: 4 bytes a pixel, photo: 1 byte a pixel, weights: 4 bytes a column, gain: 32.",
        ),
    },
)  # fmt: skip


# -- twelve_limiters ---------------------------------------------------------------------------

N = 2**18
WHERE = "A100 40GB"
ROOFS = ("DRAM", "L2", "load/store", "fp32", "fp64")


def streamed(nbytes: float, kind: str = "fp32", flops: float = 0) -> Work:
    """A launch without reuse: the same bytes pass every memory."""
    return Work({kind: flops}, nbytes, nbytes, nbytes / SECTOR, blocks=1024)


def lone(count: float) -> dict[str, tuple[float, float]]:
    """So many float32 instructions, not all of them fused."""
    return {"fp32": (count, count)}


#: What each kernel of the lab does, from its text.  A test compares it with a count.
TWELVE: Mapping[str, Work] = {
    "copy": streamed(8 * N),
    "saxpy": streamed(12 * N, flops=2 * N),
    "poly_16": streamed(8 * N, flops=32 * N),
    "poly_128": streamed(8 * N, flops=256 * N),
    "double_16": streamed(16 * N, "fp64", 32 * N),
    "double_64": streamed(16 * N, "fp64", 128 * N),
    "every_8th": replace(streamed(36 * N / 8, flops=128 * N / 8), blocks=128),
    # 5 of the 33 requests of a warp start on a sector, the others straddle a fifth one.
    "sum_33": Work({"fp32": 33 * N}, 4 * N + 4 * (N + 32), N // 256 * 4 * (256 + 288),
                   N / 32 * (5 * 4 + 28 * 5 + 4), blocks=1024, instructions=lone(33 * N)),
    "table_sum": Work({"fp32": 16 * N}, 4 * N + 16384, 1024 * (1024 + 16384),
                      N / 32 * (16 * 4 + 4), blocks=1024, instructions=lone(16 * N)),
    # Its requests have one sector, and those of matmul two: a pass each.
    "pair_sums": Work({"fp32": 6 * 512 * 65536}, 8 * 65536, 256 * (2048 + 2048),
                      2048 * (512 + 8), blocks=256, passes=2048 * (512 + 2)),
    # 16 FMA a lane, then 5 additions of shuffled values
    "matvec": Work({"fp32": 2048 * 32 * 37}, 2048 * 2048 + 2048 + 8192,
                   256 * (8 * 2048 + 2048 + 32), 2048 * (16 * 8 + 1), blocks=256,
                   instructions=lone(2048 * 32 * 21)),
    "matmul": Work({"fp32": 2 * 256**3}, 3 * 4 * 256**2, 256 * (2 * 16384 + 1024),
                   2048 * (256 * 4 + 4), blocks=256, passes=2048 * (256 * 2 + 1)),
}  # fmt: skip

Change = Callable[[Work], Work]


def limiters(change: Change = lambda work: work, without: Sequence[str] = ()) -> dict[str, str]:
    """Kernel -> the roof that takes longest at best, of those not left out."""
    found = {}
    for name, work in TWELVE.items():
        roofs = [r for r in bound(change(work), WHERE).roofs if r.name in ROOFS]
        kept = [r for r in roofs if r.name not in without]
        found[name] = max(kept, key=lambda roof: roof.low_ms).name
    return found


def twelve_limiters() -> dict[str, str]:
    """Kernel -> its lowest roof."""
    return limiters()


def without_caches(work: Work) -> Work:
    """All requests go to the DRAM."""
    return replace(work, unique_bytes=SECTOR * work.sectors)


def all_in_float32(work: Work) -> Work:
    """float64 operations at the peak of float32."""
    return replace(work, flops={"fp32": sum(work.flops.values())})


def fp32_for_fp64(found: Mapping[str, str]) -> dict[str, str]:
    """The float64 roof is called fp32."""
    return {name: "fp32" if roof == "fp64" else roof for name, roof in found.items()}


RIGHT = limiters()

TWELVE_LIMITERS = ValueSpec(
    "twelve_limiters", UNIT, 2, twelve_limiters, "the twelve roofs",
    suspects={
        "all_memory": dict.fromkeys(TWELVE, "DRAM"),
        "dram_only": limiters(without=("L2", "load/store")),
        "no_caches": limiters(without_caches),
        "float64_overlooked": limiters(all_in_float32),
        "float64_called_fp32": fp32_for_fp64(RIGHT),
        "elements_not_sectors": {**RIGHT, "every_8th": "fp32"},
        "requests_overlooked": limiters(without=("load/store",)),
        "l2_overlooked": limiters(without=("L2",)),
        "any_float64_binds": {**RIGHT, "double_16": "fp64"},
        "broadcast_as_traffic": {**RIGHT, "pair_sums": "load/store"},
    },
    causes={
        "all_memory": "Not every kernel is bound by the DRAM: some touch the same bytes again and "
        "again, some calculate.",
        "dram_only": "That looks at the DRAM and the arithmetic only.  Two more roofs lie between "
        "them.",
        "no_caches": "That sends all requests to the DRAM, as if there were no cache.",
        "float64_overlooked": "That measures float64 operations by the peak of float32.",
        "float64_called_fp32": "A kernel in float64 stands under the roof fp64.",
        "elements_not_sectors": "every_8th has 16 operations for each byte that it uses.  How many "
        "for each byte that moves?",
        "requests_overlooked": "That leaves out the roof load/store.",
        "l2_overlooked": "That leaves out the roof L2.",
        "any_float64_binds": "double_16 is in float64, but it does not have many operations.",
        "broadcast_as_traffic": "In pair_sums, all lanes of a warp load the same number: one "
        "pass for each request.",
    },
    hints={
        "all_memory": (
            "How often does each kernel use a byte that it has loaded?",
            "For each kernel, divide its operations by the bytes of each memory, and compare with "
            "the ridges.",
        ),
        "dram_only": (
            "Which kernels load the same bytes many times?",
            "Their requests pass load/store each time, and L2 once for each block.",
        ),
        "no_caches": (
            "What does 'at best' say about caches?",
            "At best each touched sector comes from the DRAM once.",
        ),
        "float64_overlooked": (
            "How many operations a byte does a float64 kernel need, to be bound by arithmetic?",
            "9.7 TFLOP/s over 1,555 GB/s: 6.2.",
        ),
        "float64_called_fp32": (
            "Which of the two peaks holds for double_64?",
            "Its roof is called fp64.",
        ),
        "elements_not_sectors": (
            "What does a lane that loads x[8 * i] bring along?",
            "A whole sector: 36 bytes for each result, 3.6 operations a byte.",
        ),
        "requests_overlooked": (
            "How many requests does a warp of sum_33 make, and of how many sectors each?",
            "Count the passes of all requests, 128 bytes each, and compare the operations a byte "
            "with 1.0.",
        ),
        "l2_overlooked": (
            "Where does the table come from, for each of the 1,024 blocks of table_sum?",
            "From L2, 16 KB for each block.",
        ),
        "any_float64_binds": (
            "How many operations a byte has double_16?",
            "32 operations for 16 bytes: 2, and the ridge is at 6.2.",
        ),
        "broadcast_as_traffic": (
            "How many passes does a request take whose lanes all read the same word?",
            "One pass of 128 bytes for 32 x 6 operations: 1.5 operations a byte, and load/store's "
            "ridge is at 1.",
        ),
        "wrong_type": (
            "What does the exercise ask for?",
            "A dictionary with the twelve names as keys and the names of roofs as values, both "
            "strings.",
        ),
        "wrong_values": (
            "Which kernels have reuse: in a warp, in a block, among blocks?",
            "Work out, for the kernel that is named, its bytes at each of the three memories; "
            "divide each by its rate, and the operations by their peak.  The longest time wins.",
        ),
    },
)  # fmt: skip


# -- fade --------------------------------------------------------------------------------------

FADE_BLOCK = 256


def fade_case(rng: np.random.Generator, n: int) -> Case:
    """A photo of n pixels, and a strength that is no round number."""
    args = {
        "out": np.zeros(n, np.float32), "photo": values(rng, n),
        "strength": np.float32(rng.uniform(0.3, 0.9)),
    }  # fmt: skip
    return Case(args, ceil_div(n, FADE_BLOCK), FADE_BLOCK, f"n = {n}")


def fade_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Lengths around a block."""
    for n in sizes(FADE_BLOCK, level, rng):
        yield fade_case(rng, n)


def fade_by(third: float = 0.05, *, last: int = 0, square: bool = True) -> Any:
    """The faded photo, with its third weight; `last` is taken off n, square is of the place."""

    def faded(case: Case) -> dict[str, np.ndarray]:
        photo = case.args["photo"].astype(np.float64)
        place = np.arange(photo.size) / max(1, photo.size - last)
        light = 1 - float(case.args["strength"]) * (place**2 if square else place)
        return {"out": photo * (0.85 * light + 0.1 * light**2 + third * light**3)}

    return faded


FADE = KernelSpec(
    "fade", UNIT, 2, ("out",), fade_cases, fade_by(),
    writes_once=True,
    suspects={
        "place_to_the_last": fade_by(last=1),
        "place_not_squared": fade_by(square=False),
        "two_terms": fade_by(third=0.0),
    },
    causes={
        "place_to_the_last": "The place is i over n - 1; the kernel above has i over n.",
        "place_not_squared": "The place is not squared.",
        "two_terms": "The term with the cube of the light is missing.",
        "float64_left": "There is still float64 in it.",
        "too_many_sectors": "photo is loaded more often than once for each element.",
    },
    hints={
        "float64_left": (
            "Go through the kernel number by number: is each of them a float32?",
            "np.float32(...) around every number with a point, and around both i and n before "
            "they are divided: the quotient of two integers is a float64.",
        ),
        "too_many_sectors": (
            "How often does photo[i] stand in your kernel?",
            "pixel = photo[i], once, and pixel from then on.",
        ),
        "place_to_the_last": (
            "Compare the place with the kernel above.",
            "It is i / n, in float32.",
        ),
        "place_not_squared": ("Compare the light with the kernel above.", "place * place."),
        "two_terms": (
            "Compare the last line with the kernel above: how many terms has it?",
            "pixel * light * (0.85 + (0.1 + 0.05 * light) * light), all numbers as np.float32.",
        ),
        "reduced_precision": (
            "Which type has half the digits of what is asked for?",
            "float32 throughout: float16 has only three digits.",
        ),
    },
    requirements=(
        Requirement("float64", "float64_left", limit=lambda case: 0),
        Requirement("sectors", "too_many_sectors"),
    ),
    counted=lambda: fade_case(np.random.default_rng(11), 4099),
)  # fmt: skip


# -- smooth_four -------------------------------------------------------------------------------

GIVEN = 240  # elements of out for each block
THREADS = 256
ROUNDS = 4


def smooth_case(rng: np.random.Generator, n: int) -> Case:
    """One block for every 240 elements."""
    args = {"out": np.zeros(n, np.float32), "x": values(rng, n)}
    return Case(args, ceil_div(n, GIVEN), THREADS, f"n = {n}")


def smooth_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Lengths around 1, the halo, what a block gives back, and its threads."""
    lengths = {1, 2, 3, 7, 9, 239, 240, 241, 248, 255, 256, 257, next_prime(2 * GIVEN), 721}
    if level == "grader":
        lengths |= {int(n) for n in rng.integers(4, 6 * GIVEN, size=4)}
    for n in sorted(lengths):
        yield smooth_case(rng, n)


def smoothed(rounds: int = ROUNDS, *, fixed: bool = True) -> Any:
    """So many rounds; without `fixed`, what lies beyond the ends counts as zero."""

    def reference(case: Case) -> dict[str, np.ndarray]:
        now = case.args["x"].astype(np.float64)
        for _ in range(rounds):
            padded = np.pad(now, 1)
            new = 0.25 * padded[:-2] + 0.5 * now + 0.25 * padded[2:]
            if fixed:
                new[[0, -1]] = now[[0, -1]]
            now = new
        return {"out": now}

    return reference


def block_edges(case: Case) -> dict[str, np.ndarray]:
    """Each block smooths its own 240 elements, as if nothing lay beside them."""
    x = case.args["x"].astype(np.float64)
    parts = [x[start : start + GIVEN] for start in range(0, x.size, GIVEN)]
    smooth = smoothed()
    return {"out": np.concatenate([
        smooth(Case({"x": part}, 1, THREADS))["out"] for part in parts
    ])}  # fmt: skip


SMOOTH_FOUR = KernelSpec(
    "smooth_four", UNIT, 2, ("out",), smooth_cases, smoothed(),
    writes_once=True,
    suspects={
        "one_round": smoothed(1),
        "two_rounds": smoothed(2),
        "three_rounds": smoothed(3),
        "five_rounds": smoothed(5),
        "ends_not_fixed": smoothed(fixed=False),
        "no_halo": block_edges,
    },
    causes={
        "one_round": "That is the array after one round.",
        "two_rounds": "That is the array after two rounds.",
        "three_rounds": "That is the array after three rounds.",
        "five_rounds": "That is the array after five rounds.",
        "ends_not_fixed": "The first and the last element change, as if zeros lay beyond them.",
        "no_halo": "Each block works as if nothing lay beside its own 240 elements.",
        "too_many_sectors": "The same elements are loaded from global memory again and again.",
    },
    hints={
        "one_round": ("How many rounds does the loop run?", "for _ in range(4)."),
        "two_rounds": ("How many rounds does the loop run?", "for _ in range(4)."),
        "three_rounds": ("How many rounds does the loop run?", "for _ in range(4)."),
        "five_rounds": ("How many rounds does the loop run?", "for _ in range(4)."),
        "ends_not_fixed": (
            "What does the exercise say about the first and the last element?",
            "Only threads with 0 < i < n - 1 change their element.",
        ),
        "no_halo": (
            "Which elements decide about the first element of a block, four rounds later?",
            "Those up to four places to its left.  Load 8 elements more on each side, and let "
            "their threads take part in all rounds.",
        ),
        "race": (
            "In which order do the threads of a block read their neighbours and write themselves?",
            "All read, barrier, all write, barrier: two barriers in each round, reached by all "
            "threads.",
        ),
        "too_many_sectors": (
            "How often does a block load the same element?",
            "Once, into shared memory: 256 threads load 256 elements, and 240 of them store.",
        ),
        "reduced_precision": (
            "Which type has half the digits of what is asked for?",
            "A tile of float32.",
        ),
        "wrong_values": (
            "Compare the wrong elements with the borders of the blocks, every 240 elements.",
            "Thread t has element 240 * cuda.blockIdx.x + t - 8; threads 8 to 247 store.  A round "
            "makes one element more wrong at each end of the tile.",
        ),
    },
    # A halo of 4 is right as well: it straddles sectors, which costs a quarter more.
    requirements=(Requirement("sectors", "too_many_sectors", times=1.3),),
    counted=lambda: smooth_case(np.random.default_rng(12), 24_000),
)  # fmt: skip


SPECS = [PLACE, TRAFFIC_OF, BLEND_BYTES, TWELVE_LIMITERS, FADE, SMOOTH_FOUR]
