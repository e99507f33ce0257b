"""Exercises of t1_04_coalescing: sectors of a load, x as the column, records, rows of a matrix.

sector   32 bytes of global memory, the unit that moves
number   one float32 of an array, 4 bytes
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..cases import Case, Level, values
from ..images import oblong, pixels
from ..requirements import Requirement
from ..spec import FunctionSpec, KernelSpec, ValueSpec

UNIT = "t1_04_coalescing"

Array = np.ndarray


# -- warp_sectors ------------------------------------------------------------------------------


def warp_sectors(offset: int, stride: int, itemsize: int) -> int:
    """Different sectors of the 32 lanes' elements."""
    return len({(offset + lane * stride) * itemsize // 32 for lane in range(32)})


def loads(rng: np.random.Generator, level: Level) -> Iterator[tuple[int, int, int]]:
    """The lesson's loads, then some whose count follows from no rule of thumb."""
    yield from [(0, 1, 4), (1, 1, 4), (0, 2, 4), (0, 8, 4), (0, 1, 8), (31, -1, 4), (5, 0, 4)]
    yield from [(0, 1, 1), (8, 1, 4), (3, 3, 4), (1, 2, 2), (0, 12, 4), (3, 1, 16), (40, 1, 1)]
    yield from [(300, -7, 2), (2, 100, 8), (17, 5, 4)]
    if level == "grader":
        for _ in range(20):
            stride = int(rng.integers(-12, 40))
            offset = int(rng.integers(0, 64)) + 31 * max(0, -stride)
            yield offset, stride, int(rng.choice([1, 2, 4, 8, 16]))


def bytes_of(offset: int, stride: int, itemsize: int) -> list[int]:
    """The first byte of each lane."""
    return [(offset + lane * stride) * itemsize for lane in range(32)]


def gaps_counted(offset: int, stride: int, itemsize: int) -> int:
    """All sectors from the first to the last."""
    first = bytes_of(offset, stride, itemsize)
    return max(first) // 32 - min(first) // 32 + 1


WARP_SECTORS = FunctionSpec(
    "warp_sectors", UNIT, 2, loads, warp_sectors,
    suspects={
        "offset_ignored": lambda offset, stride, itemsize: warp_sectors(
            31 * 512 if stride < 0 else 0, stride, itemsize
        ),
        "stride_ignored": lambda offset, stride, itemsize: warp_sectors(offset, 1, itemsize),
        "always_four_bytes": lambda offset, stride, itemsize: warp_sectors(offset, stride, 4),
        "lines_counted": lambda *load: len({byte // 128 for byte in bytes_of(*load)}),
        "gaps_counted": gaps_counted,
        "elements_for_bytes": lambda offset, stride, itemsize: warp_sectors(offset, stride, 1),
        "elements_counted": lambda *load: len(set(bytes_of(*load))),
        "lane_missing": lambda *load: len({byte // 32 for byte in bytes_of(*load)[:-1]}),
        "bytes_moved": lambda *load: 32 * warp_sectors(*load),
        "words_for_sectors": lambda *load: len({byte // 4 for byte in bytes_of(*load)}),
        "bytes_divided": lambda offset, stride, itemsize: itemsize,
    },
    causes={
        "offset_ignored": "That is right for an offset of zero, whatever offset is given.",
        "stride_ignored": "That is right for a stride of 1, whatever stride is given.",
        "always_four_bytes": "That is right for elements of 4 bytes, whatever itemsize is given.",
        "lines_counted": "These are lines of 128 bytes; a line has four sectors.",
        "gaps_counted": "That counts all sectors from the first to the last, also those in between "
        "that no lane touches.",
        "elements_for_bytes": "That divides the number of the element by 32; a sector has 32 "
        "bytes, not 32 elements.",
        "elements_counted": "That counts the different elements, not the sectors they lie in.",
        "lane_missing": "That is the count for 31 lanes: the last one is missing.",
        "bytes_moved": "These are the bytes that move, 32 for each sector.",
        "words_for_sectors": "That counts pieces of 4 bytes; a sector has 32 bytes.",
        "bytes_divided": "That is the number of bytes over 32: right for neighbours that start at "
        "the beginning of a sector, and for nothing else.",
    },
    hints={
        "wrong_values": (
            "Take the failing call and write down the first byte of lanes 0, 1 and 31.",
            "Byte = (offset + lane * stride) * itemsize.  Sector = byte // 32.  Count the "
            "different sectors of the 32 lanes.",
        ),
        "offset_ignored": (
            "Which element does lane 0 read?",
            "Lane l reads element offset + l * stride; with l = 0 that is element offset.",
        ),
        "stride_ignored": (
            "How far apart are the elements of two neighbouring lanes?",
            "They are stride elements apart: lane l reads element offset + l * stride.",
        ),
        "always_four_bytes": (
            "Which of the three parameters does your function not use?",
            "An element starts at byte number * itemsize.",
        ),
        "lines_counted": ("How many bytes has a sector?", "Divide bytes by 32, not by 128."),
        "gaps_counted": (
            "With stride 12 of float32, does every sector between two lanes move?",
            "Count the sectors that some lane touches.  A set of them has each one once.",
        ),
        "elements_for_bytes": (
            "How many float32 fit into a sector, and how many float64?",
            "Turn elements into bytes first: multiply by itemsize, then divide by 32.",
        ),
        "elements_counted": (
            "How many lanes can one sector serve?",
            "Divide the byte of each lane by 32 before you count the different ones.",
        ),
        "lane_missing": ("How many lanes has a warp?", "range(32) gives 0 to 31."),
        "bytes_moved": (
            "Does the exercise ask for bytes or for sectors?",
            "Return the number of sectors, without the factor 32.",
        ),
        "words_for_sectors": ("How many bytes has a sector?", "Divide bytes by 32, not by 4."),
        "bytes_divided": (
            "What does your function return for a stride of 2?",
            "Count sectors lane by lane: where does the element of each lane lie?",
        ),
        "constant_output": (
            "Which of the three parameters does your function use?",
            "The sector of a lane depends on all three: (offset + lane * stride) * itemsize // 32.",
        ),
        "wrong_type": (
            "Does the function give a whole number?",
            "Use // to go from bytes to sectors, and return the length of the set.",
        ),
    },
)  # fmt: skip


# -- scale_rows --------------------------------------------------------------------------------

# (height, width, grid, block): grids with threads to spare, and with too few on one axis or both.
PICTURES = [
    (3, 7, (1, 1), (8, 4)), (4, 8, (1, 1), (8, 4)), (5, 9, (1, 1), (8, 4)), (5, 9, (2, 2), (8, 4)),
    (1, 1, (1, 1), (8, 4)), (9, 1, (1, 2), (8, 4)), (1, 9, (2, 1), (8, 4)),
    (13, 29, (3, 1), (8, 2)), (21, 67, (2, 3), (32, 2)),
    (3, 333, (1, 1), (8, 4)), (333, 3, (1, 1), (8, 4)),
]  # fmt: skip


def scale_case(
    rng: np.random.Generator, height: int, width: int, grid: tuple[int, int], block: tuple[int, int]
) -> Case:
    """A case of (out, a, gain, height, width)."""
    image = pixels(rng, height, width)
    gain = ((2 * rng.integers(600, 950, size=height) + 1) / 1000).astype(np.float32)
    args = {"out": np.zeros_like(image), "a": image, "gain": gain, "height": height, "width": width}
    return Case(args, grid, block)


def scale_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Small and thin pictures under grids of any size; the empty one is last."""
    for picture in PICTURES:
        yield scale_case(rng, *picture)
    if level == "grader":
        for block in ((64, 1), (16, 16), (8, 8), (32, 4)):
            height, width = oblong(rng, 17, 90)
            yield scale_case(rng, height, width, (int(rng.integers(1, 4)), 2), block)
    yield scale_case(rng, 0, 6, (1, 1), (8, 4))


def scaled(case: Case) -> Array:
    """gain[y] * a[y, x] in float64."""
    gain = case.args["gain"].astype(np.float64)
    return np.asarray(gain[:, None] * case.args["a"].astype(np.float64))


SCALE_ROWS = KernelSpec(
    "scale_rows", UNIT, 2, ("out",), scale_cases, lambda case: {"out": scaled(case)},
    writes_once=True,
    shared_out="threads",
    requirements=(Requirement("sectors", "too_many_sectors", times=1.1),),
    counted=lambda: scale_case(np.random.default_rng(4), 96, 160, (2, 3), (32, 8)),
    suspects={
        "gain_added": lambda case: {
            "out": case.args["a"].astype(np.float64) + case.args["gain"][:, None]
        },
        "first_gain": lambda case: {
            "out": case.args["a"].astype(np.float64) * case.args["gain"][:1].reshape(-1, 1)
            if case.args["gain"].size else scaled(case)
        },
    },
    causes={
        "gain_added": "The gain was added to each pixel.",
        "first_gain": "Every row was multiplied by the factor of the first row.",
    },
    hints={
        "gain_added": ("What does the given kernel do with the gain?", "Multiply."),
        "first_gain": (
            "Which factor belongs to a row?",
            "gain[y], where y is the row of the pixel.",
        ),
        "input_copied": (
            "Is anything done with the pixel before it is stored?",
            "Multiply it by the factor of its row: gain[y] * a[y, x].",
        ),
        "never_written": (
            "How many pixels has a thread to handle when the grid is smaller than the picture?",
            "Keep both loops: y from y0 in steps of step_y, x from x0 in steps of step_x.",
        ),
        "out_of_bounds": (
            "Which of the two indices is too large, the row or the column?",
            "y counts rows and stays below height, x counts columns and stays below width.  The "
            "factor belongs to the row: gain[y].",
        ),
        "written_more_than_once": (
            "Which threads handle the pixel in the table?",
            "Every thread of the grid starts at a place of its own, cuda.grid(2), and jumps by the "
            "size of the whole grid, cuda.gridsize(2).",
        ),
        "too_many_sectors": (
            "Two neighbouring threads of a warp differ in threadIdx.x.  How far apart in memory "
            "are their pixels?",
            "x0 counts columns: start x at x0 and y at y0, and give each loop the step of its own "
            "axis.",
        ),
    },
)  # fmt: skip


# -- record_sectors ----------------------------------------------------------------------------

RECORDS = 4096


def field_sectors(itemsize: int) -> int:
    """Sectors that loading one float32 field of every record asks for."""
    return RECORDS // 32 * len({lane * itemsize // 32 for lane in range(32)})


RECORD_SECTORS = ValueSpec(
    "record_sectors", UNIT, 1, lambda: 3 * field_sectors(16), "the number of sectors",
    suspects={
        "one_field_only": field_sectors(16),
        "records_of_12_bytes": 3 * field_sectors(12),
        "as_arrays": 3 * field_sectors(4),
        "mass_counted": 4 * field_sectors(16),
        "sector_for_each_lane": 3 * RECORDS,
        "requests_counted": 3 * RECORDS // 32,
        "one_warp_only": 3 * field_sectors(16) // (RECORDS // 32),
        "bytes_moved": 3 * field_sectors(16) * 32,
        "bytes_requested": 3 * RECORDS * 4,
    },
    causes={
        "one_field_only": "That is the load of one field, or what a perfect cache would move for "
        "all of them; three loads ask for sectors here.",
        "records_of_12_bytes": "That is right for records of 12 bytes; with the mass they have 16.",
        "as_arrays": "That is the cost of three separate arrays.",
        "mass_counted": "That counts four loads; the mass is not loaded.",
        "sector_for_each_lane": "That is a sector for each lane of each load; some lanes share "
        "one.",
        "requests_counted": "That is the number of requests; each moves several sectors.",
        "one_warp_only": "That is the count for a single warp.",
        "bytes_moved": "These are the bytes that move, 32 for each sector.",
        "bytes_requested": "These are the bytes that the threads ask for.",
    },
    hints={
        "wrong_values": (
            "How many requests does one warp make, and how many sectors does one of them touch?",
            "A warp makes three requests.  In each, neighbouring lanes are 16 bytes apart.  Count "
            "the sectors of 32 such lanes, then all requests of all warps.",
        ),
        "one_field_only": (
            "How many times does a warp ask for these sectors?",
            "Once for x, once for y and once for z: without a cache they move three times.",
        ),
        "records_of_12_bytes": (
            "How many fields has a record?",
            "Four fields of 4 bytes: neighbouring lanes are 16 bytes apart.",
        ),
        "as_arrays": (
            "How far apart are the x of two neighbouring records?",
            "16 bytes.  So a sector holds the x of two records only.",
        ),
        "mass_counted": (
            "Which fields does a thread load?",
            "x, y and z: three loads.  The mass moves along, but nobody asks for it.",
        ),
        "sector_for_each_lane": (
            "How many records lie in one sector?",
            "Two records of 16 bytes, so two lanes share a sector.",
        ),
        "requests_counted": (
            "How many sectors does one request touch?",
            "Multiply the requests by the sectors of each.",
        ),
        "one_warp_only": ("How many warps are there?", "4,096 threads are 4,096 / 32 warps."),
        "bytes_moved": ("Bytes or sectors?", "Return the number of sectors, without the 32."),
        "bytes_requested": (
            "Bytes or sectors?",
            "Count the different sectors that the lanes of a warp touch, request by request.",
        ),
    },
)  # fmt: skip


# -- split_fields ------------------------------------------------------------------------------


def split_case(rng: np.random.Generator, n: int, grid: int, block: int) -> Case:
    """A case of (arrays, records, n)."""
    return Case(
        {"arrays": np.zeros((3, n), np.float32), "records": values(rng, 3 * n), "n": n}, grid, block
    )


def split_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Few records and many, grids with threads to spare and grids that are far too small."""
    for n, grid, block in [(2, 1, 32), (7, 1, 32), (11, 3, 32), (32, 1, 32), (33, 2, 32),
                           (67, 2, 32), (101, 3, 64), (1, 1, 32), (1100, 1, 32)]:  # fmt: skip
        yield split_case(rng, n, grid, block)
    if level == "grader":
        for n in rng.integers(2, 900, size=4):
            yield split_case(rng, int(n), int(rng.integers(1, 6)), int(rng.choice([32, 96, 128])))
    yield split_case(rng, 0, 1, 32)


def fields(case: Case) -> Array:
    """Row f holds field f."""
    return np.asarray(case.args["records"].reshape(-1, 3).T.astype(np.float64))


def overlapping(case: Case) -> dict[str, Array]:
    """Record i starts at number i."""
    place = np.add.outer(np.arange(3), np.arange(case.args["n"]))
    return {"arrays": case.args["records"].astype(np.float64)[place]}


SPLIT_FIELDS = KernelSpec(
    "split_fields", UNIT, 2, ("arrays",), split_cases, lambda case: {"arrays": fields(case)},
    writes_once=True,
    shared_out="threads",
    requirements=(
        Requirement("sectors", "too_many_sectors",
                    limit=lambda case: 11 * case.args["records"].size / 32),
    ),
    counted=lambda: split_case(np.random.default_rng(4), 1024, 4, 128),
    suspects={
        "only_reshaped": lambda case: {
            "arrays": case.args["records"].reshape(3, -1).astype(np.float64)
        },
        "fields_reversed": lambda case: {"arrays": fields(case)[::-1]},
        "records_overlap": overlapping,
        "first_field_everywhere": lambda case: {
            "arrays": np.repeat(fields(case)[:1], 3, axis=0)
        },
    },
    causes={
        "only_reshaped": "The numbers lie in arrays in the order in which they lay in records: "
        "cut into three rows, but not sorted by field.",
        "fields_reversed": "The rows are right, in the reverse order.",
        "records_overlap": "Record i was read from number i on, as if records had one number.",
        "first_field_everywhere": "All three rows hold the first field.",
    },
    hints={
        "only_reshaped": (
            "To which record does the number after x0 belong?",
            "Number k is field k % 3 of record k // 3.",
        ),
        "fields_reversed": (
            "Which field comes first in a record?",
            "Field 0 goes to row 0: the row is k % 3.",
        ),
        "records_overlap": (
            "At which number does record 1 start?",
            "Field f of record i is number 3 * i + f.",
        ),
        "first_field_everywhere": (
            "Where does field 1 of a record stand?",
            "Field f of record i is number 3 * i + f.",
        ),
        "never_written": (
            "How many numbers are there, and how many threads?",
            "There are 3 * n numbers.  Loop over them all: from cuda.grid(1) in steps of "
            "cuda.gridsize(1).",
        ),
        "only_first_block": (
            "How many numbers are there, and how many threads?",
            "There are 3 * n numbers.  Loop over them all: from cuda.grid(1) in steps of "
            "cuda.gridsize(1).",
        ),
        "multiple_of_block_only": (
            "How many numbers are there, and where does your loop end?",
            "There are 3 * n numbers, also where that is no multiple of the block.",
        ),
        "out_of_bounds": (
            "Which index is too large, the field, the record or the number?",
            "There are 3 fields, n records and 3 * n numbers.  Number k is field k % 3 of record "
            "k // 3.",
        ),
        "too_many_sectors": (
            "Which numbers do the lanes of a warp load at the same moment?  And where do they "
            "store?",
            "Let neighbouring threads load neighbouring numbers, whatever fields they are: thread "
            "k takes number k.  Its stores go to three rows, and there they are neighbours again.",
        ),
    },
)  # fmt: skip


# -- dot_rows ----------------------------------------------------------------------------------


def dot_case(rng: np.random.Generator, height: int, width: int, grid: int, block: int) -> Case:
    """A case of (out, a, v, height, width).  All numbers are positive: a sum loses no digits."""
    args = {
        "out": np.zeros(height, np.float32), "a": pixels(rng, height, width),
        "v": pixels(rng, 1, width)[0], "height": height, "width": width,
    }  # fmt: skip
    return Case(args, grid, block)


def dot_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Rows shorter and longer than a warp; more rows than warps and fewer; nothing at all."""
    for shape in [(2, 3, 1, 32), (3, 32, 1, 32), (5, 33, 2, 32), (2, 100, 1, 64), (40, 7, 2, 64),
                  (1, 1, 1, 32), (67, 41, 3, 32), (9, 257, 2, 128), (2, 3300, 1, 32),
                  (111, 3, 1, 32)]:  # fmt: skip
        yield dot_case(rng, *shape)
    if level == "grader":
        for block in (32, 64, 128, 256):
            height, width = oblong(rng, 1, 150)
            yield dot_case(rng, height, width, int(rng.integers(1, 5)), block)
    yield dot_case(rng, 3, 0, 1, 32)
    yield dot_case(rng, 0, 5, 1, 32)


def dots(columns: Callable[[Any], Any] = lambda x: x, weighted: bool = True) -> Any:
    """A function from a case to its row sums, over some columns only."""

    def result(case: Case) -> dict[str, Array]:
        a = columns(case.args["a"].astype(np.float64))
        v = columns(case.args["v"].astype(np.float64)[None, :])
        return {"out": (a * (v if weighted else 1)).sum(axis=1)}

    return result


def last_lane(case: Case) -> dict[str, Array]:
    """What lane 31 holds after the sum: nobody above it, so its own total doubles five times."""
    return {"out": 32 * dots(lambda x: x[:, 31::32])(case)["out"]}


def two_lanes(case: Case) -> dict[str, Array]:
    """Lanes 0 and 16, after one step of five."""
    return dots(lambda x: x[:, ::16])(case)


def total_kept(case: Case) -> dict[str, Array]:
    """Each warp goes on from what its lanes held after the row before."""
    a, v = (case.args[name].astype(np.float64) for name in ("a", "v"))
    result = np.zeros(a.shape[0])
    warps = case.blocks * case.threads_per_block // 32
    for warp in range(warps):
        total = np.zeros(32)
        for y in range(warp, a.shape[0], warps):
            for lane in range(32):
                total[lane] += (a[y] * v)[lane::32].sum()
            for step in (16, 8, 4, 2, 1):  # beyond the last lane a lane gets its own value
                total += np.concatenate([total[step:], total[-step:]])
            result[y] = total[0]
    return {"out": result}


DOT_ROWS = KernelSpec(
    "dot_rows", UNIT, 3, ("out",), dot_cases, dots(),
    writes_once=True,
    shared_out="warps",
    requirements=(
        Requirement("load_sectors", "too_many_sectors",
                    limit=lambda case: 8 * case.args["a"].size / 32),
    ),
    counted=lambda: dot_case(np.random.default_rng(4), 64, 256, 4, 128),
    suspects={
        "total_kept": total_kept,
        "all_lanes_stored": last_lane,
        "first_lane_only": dots(lambda x: x[:, ::32]),
        "first_32_columns": dots(lambda x: x[:, :32]),
        "whole_steps_only": dots(lambda x: x[:, : x.shape[1] // 32 * 32]),
        "vector_ignored": dots(weighted=False),
        "half_warp": two_lanes,
    },
    causes={
        "total_kept": "Each warp adds a row to what its lanes held after the row before.",
        "only_first_thread": "Each warp or block wrote one row, and the other rows were left out.",
        "all_lanes_stored": "Every lane stored what warp_sum gave it, and the last one won.  Only "
        "lane 0 has the whole sum.",
        "first_lane_only": "Only columns 0, 32, 64, ... are in the sum: the total of lane 0 "
        "without those of the other lanes.",
        "first_32_columns": "Only the first 32 columns are in the sum.",
        "whole_steps_only": "The columns after the last multiple of 32 are missing.",
        "vector_ignored": "The numbers of the row were added up without the vector.",
        "half_warp": "Only the totals of lanes 0 and 16 are in the sum.",
    },
    hints={
        "total_kept": (
            "What is in total when a warp begins its second row?",
            "Set the total to zero for every row, inside the loop over the rows.",
        ),
        "only_first_thread": (
            "How many rows has a warp to handle?",
            "Loop over the rows: from the number of the warp, cuda.grid(1) // 32, in steps of the "
            "number of warps, cuda.gridsize(1) // 32.",
        ),
        "all_lanes_stored": (
            "Which lane has the sum after warp_sum?",
            "Lane 0 has it: store under if lane == 0.",
        ),
        "first_lane_only": (
            "Where are the totals of the other 31 lanes?",
            "After the loop over the columns: total = warp_sum(total), by all lanes.",
        ),
        "first_32_columns": (
            "How many columns does a lane handle when a row has 100?",
            "A lane starts at its own number and jumps by 32: range(lane, width, 32).",
        ),
        "whole_steps_only": (
            "Who handles column 32 of a row of 33?",
            "Lane 0 does: range(lane, width, 32) ends at the width, whatever it is.",
        ),
        "vector_ignored": (
            "Which number of v belongs to column x?",
            "Add up the products a[y, x] * v[x].",
        ),
        "half_warp": (
            "How many steps does it take to add up 32 lanes in pairs?",
            "Five: 16, 8, 4, 2, 1.  warp_sum as given has them all.",
        ),
        "too_many_sectors": (
            "Which numbers of the matrix do the lanes of a warp load at the same moment?",
            "Give a row to a warp: lane l takes columns l, l + 32, l + 64, ...  warp_sum adds up "
            "the lanes' totals.",
        ),
        "never_written": (
            "How many rows has a warp to handle?",
            "Loop over the rows: from the number of the warp, cuda.grid(1) // 32, in steps of the "
            "number of warps, cuda.gridsize(1) // 32.",
        ),
        "written_more_than_once": (
            "Which lanes store the sum of a row?",
            "Only lane 0 has the whole sum: store under if lane == 0.",
        ),
        "out_of_bounds": (
            "Which index is too large, the row or the column?",
            "The rows stay below height and the columns below width.",
        ),
    },
)  # fmt: skip


SPECS = [WARP_SECTORS, SCALE_ROWS, RECORD_SECTORS, SPLIT_FIELDS, DOT_ROWS]
