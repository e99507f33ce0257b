"""Exercises of t1_06_banks: banks and wavefronts, and transposes free of conflicts.

bank       word modulo 32; a word has 4 bytes
wavefront  one pass through the 32 banks
tile       the square of a picture that a block keeps in shared memory
pitch      words from one row of a tile to the next
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..cases import Case, Level
from ..images import grid_for, oblong, pixels, written_below
from ..requirements import Requirement
from ..spec import FunctionSpec, KernelSpec, ValueSpec

UNIT = "t1_06_banks"

Array = np.ndarray
BANKS = 32


# -- bank_of -----------------------------------------------------------------------------------


def tile_elements(rng: np.random.Generator, level: Level) -> Iterator[tuple[int, int, int]]:
    """(row, column, pitch): the example first, then columns, corners and random ones."""
    few = [(1, 2, 33), (0, 5, 32), (7, 5, 32), (2, 40, 48), (31, 31, 33), (3, 0, 48), (12, 20, 36)]
    yield from few
    for _ in range(8 if level == "student" else 24):
        pitch = int(rng.integers(17, 70))
        yield int(rng.integers(0, 32)), int(rng.integers(0, 17)), pitch


def bank_of(row: int, column: int, pitch: int) -> int:
    """The bank of a 4-byte element of a tile."""
    return (row * pitch + column) % BANKS


BANK_OF = FunctionSpec(
    "bank_of", UNIT, 1, tile_elements, bank_of,
    suspects={
        "pitch_ignored": lambda row, column, pitch: column % BANKS,
        "word_returned": lambda row, column, pitch: row * pitch + column,
        "byte_returned": lambda row, column, pitch: 4 * (row * pitch + column) % BANKS,
        "axes_swapped": lambda row, column, pitch: (column * pitch + row) % BANKS,
        "modulo_pitch": lambda row, column, pitch: (row * pitch + column) % pitch,
        "column_only_modulo": lambda row, column, pitch: row * pitch + column % BANKS,
        "padded_once_more": lambda row, column, pitch: (row * (pitch + 1) + column) % BANKS,
        "row_of_banks": lambda row, column, pitch: (row * pitch + column) // BANKS,
    },
    causes={
        "pitch_ignored": "Your bank depends on the column alone, as if rows were 32 words apart.",
        "word_returned": "This is the number of the word; the bank is still to come.",
        "byte_returned": "You count in bytes; banks take turns with every word of 4 bytes.",
        "axes_swapped": "Row and column have changed places.",
        "column_only_modulo": "The remainder was taken of the column alone: % comes before +.",
        "modulo_pitch": "You take the word modulo the pitch; there are always 32 banks.",
        "padded_once_more": "Your rows are one word too long: the pitch includes the padding.",
        "row_of_banks": "You divided by 32; the bank is what remains.",
    },
    hints={
        "pitch_ignored": (
            "How many words lie between an element and the one below it?",
            "pitch words.  So the row begins at word row * pitch.",
        ),
        "word_returned": ("How many banks are there?", "Take the word modulo 32."),
        "byte_returned": (
            "How many banks does one float32 fill?",
            "Just one: its index in the array is its word.  Leave the 4 out.",
        ),
        "axes_swapped": (
            "Which of the two says how many whole rows come before the element?",
            "The row: row * pitch + column.",
        ),
        "column_only_modulo": (
            "In which order does Python work this out?",
            "% binds as * does, before +.  Put the sum in parentheses, then take % 32.",
        ),
        "modulo_pitch": ("How many banks are there?", "32, for every pitch."),
        "padded_once_more": (
            "What does the pitch count?",
            "All words from one row to the next, padding included.  Do not add one.",
        ),
        "row_of_banks": (
            "After word 31, which bank has word 32?",
            "Bank 0 again: % gives the remainder, // the number of whole rounds.",
        ),
    },
)  # fmt: skip


# -- strided_wavefronts ------------------------------------------------------------------------


def strides(rng: np.random.Generator, level: Level) -> Iterator[tuple[int, int]]:
    """(stride, itemsize): small strides first, for each size."""
    few = (1, 2, 3, 4, 6, 8, 12, 16, 24, 31, 32, 33, 40, 48, 64, 96)
    for itemsize in (4, 8, 16):
        for stride in few:
            yield stride, itemsize
    for _ in range(8 if level == "student" else 40):
        yield int(rng.integers(1, 300)), int(rng.choice([4, 8, 16]))


def strided_wavefronts(stride: int, itemsize: int) -> int:
    """Wavefronts when lane t reads element stride * t, by counting words in banks."""
    words = itemsize // 4
    together = BANKS // words
    total = 0
    for first in range(0, 32, together):
        asked: list[set[int]] = [set() for _ in range(BANKS)]
        for lane in range(first, first + together):
            for word in range(words):
                number = lane * stride * words + word
                asked[number % BANKS].add(number)
        total += max(len(found) for found in asked)
    return total


def in_words(rule: Callable[[int, int], int]) -> Callable[[int, int], int]:
    """A suspect from a rule of the stride and the words of an element."""
    return lambda stride, itemsize: rule(stride, itemsize // 4)


STRIDED_WAVEFRONTS = FunctionSpec(
    "strided_wavefronts", UNIT, 2, strides, strided_wavefronts,
    suspects={
        "itemsize_ignored": in_words(lambda s, w: math.gcd(s, 32)),
        "one_part_only": in_words(lambda s, w: math.gcd(s, 32 // w)),
        "parts_of_32_lanes": in_words(lambda s, w: w * math.gcd(s, 32)),
        "stride_itself": in_words(lambda s, w: w * min(s, 32 // w)),
        "conflicts_only": in_words(lambda s, w: w * math.gcd(s, 32 // w) - w),
        "even_or_odd": in_words(lambda s, w: w * (2 - s % 2)),
        "banks_used": in_words(lambda s, w: 32 // math.gcd(s, 32)),
        "bytes_for_words": lambda stride, itemsize: math.gcd(stride * itemsize, 32),
        "remainder": in_words(lambda s, w: w * (s % 32)),
    },
    causes={
        "itemsize_ignored": "It is right for 4 bytes.  The size of an element plays no part in it.",
        "one_part_only": "This is the cost of one half or one quarter of the warp.",
        "parts_of_32_lanes": "You count all 32 lanes in each part; a half has 16, a quarter 8.",
        "stride_itself": "A stride of 3 leads to 32 different banks, and so does every odd one.",
        "conflicts_only": "These are the wavefronts beyond the fewest; all of them are asked for.",
        "even_or_odd": "Even strides are not all alike: 4 is worse than 2.",
        "banks_used": "This is how many banks the warp uses, not how many words one of them gives.",
        "bytes_for_words": "You compare bytes with the number of banks; banks hold words.",
        "remainder": "The remainder by 32 is the bank of lane 1, not how many lanes share one.",
    },
    hints={
        "itemsize_ignored": (
            "How many words does an element of 8 bytes have, and how many lanes can be served at "
            "once?",
            "Two words, so 16 lanes at a time: two halves, each with gcd(stride, 16) wavefronts.",
        ),
        "one_part_only": (
            "How many parts does the warp go in?",
            "itemsize // 4 of them.  Multiply.",
        ),
        "parts_of_32_lanes": (
            "How many lanes are in a half, how many in a quarter?",
            "16 and 8.  So the divisor is shared with 32 // words, not with 32.",
        ),
        "stride_itself": (
            "Try stride 3 on paper: which bank has lane 11?",
            "33 modulo 32 is 1.  Only what stride and 32 have in common makes lanes meet: "
            "math.gcd.",
        ),
        "conflicts_only": (
            "What does a stride of 1 cost?",
            "One wavefront for 4 bytes, two for 8, four for 16: nothing is subtracted.",
        ),
        "even_or_odd": (
            "What does a stride of 4 cost?",
            "Four wavefronts for 4 bytes: the greatest common divisor of stride and 32.",
        ),
        "banks_used": (
            "With a stride of 2 the warp uses 16 banks.  How many words does each give?",
            "Two: the greatest common divisor itself.",
        ),
        "bytes_for_words": (
            "How wide is a bank?",
            "4 bytes.  Turn the size into words first: itemsize // 4.",
        ),
        "remainder": (
            "What does a stride of 3 cost?",
            "One wavefront.  Use the greatest common divisor, math.gcd.",
        ),
    },
)  # fmt: skip


# -- tile_wavefronts ---------------------------------------------------------------------------

TILES = (96 // 32) * (160 // 32)
TILE_WAVEFRONTS = ValueSpec(
    "tile_wavefronts", UNIT, 1,
    lambda: TILES * (32 + 32 * 32),
    "the number of wavefronts",
    suspects={
        "reads_only": TILES * 32 * 32,
        "as_if_padded": TILES * (32 + 32),
        "one_tile_only": 32 + 32 * 32,
        "both_in_conflict": TILES * 2 * 32 * 32,
        "one_row_a_warp": TILES * (8 + 8 * 32),
        "conflicts_only": TILES * 32 * 31,
        "threads_counted": TILES * 32 * (32 + 32 * 32),
        "requests_of_one_warp": TILES * (4 + 4 * 32),
        "one_row_of_each_tile": TILES * (1 + 32),
    },
    causes={
        "reads_only": "These are the reads; the stores into the tile are missing.",
        "as_if_padded": "This is what the padded version needs.  Here a row has 32 words.",
        "one_tile_only": "This is one tile.  The picture has more of them.",
        "both_in_conflict": "The store into the tile goes along a row, so it is free of conflicts.",
        "one_row_a_warp": "Each of the eight warps handles four rows of its tile, not one.",
        "conflicts_only": "These are the wavefronts beyond the fewest; all of them are asked for.",
        "threads_counted": "A warp makes one request for its 32 lanes; you counted each lane.",
        "requests_of_one_warp": "These are the requests of one warp of each block; it has eight.",
        "one_row_of_each_tile": "This is one row of each tile.  A tile has 32.",
    },
    hints={
        "reads_only": (
            "Shared memory is accessed twice for each row.  What does the other access cost?",
            "One wavefront for each row that is stored.",
        ),
        "as_if_padded": (
            "What does a warp want when it reads tile[tx, j]?",
            "32 words of one bank: 32 wavefronts for each of the 32 reads.",
        ),
        "one_tile_only": ("How many tiles cover 96 x 160?", "3 * 5 tiles of 32 x 32."),
        "both_in_conflict": (
            "Which words does a warp want when it stores tile[j, tx]?",
            "32 neighbours, one wavefront.  Only the read is in conflict.",
        ),
        "one_row_a_warp": (
            "How many times does the loop over j run for one thread?",
            "Four times: j goes from ty to 32 in steps of 8.",
        ),
        "conflicts_only": (
            "What does a 32-way conflict cost in all?",
            "32 wavefronts, and the conflict-free store one.",
        ),
        "threads_counted": (
            "How many requests does a warp make for one line of code?",
            "One for its 32 lanes.  A tile has 32 rows: 32 requests to store, 32 to read.",
        ),
        "requests_of_one_warp": (
            "How many warps does a block of 32 x 8 threads have?",
            "Eight, and each makes four requests of each kind.",
        ),
        "one_row_of_each_tile": ("How many rows has a tile?", "32, stored and read once each."),
    },
)  # fmt: skip


# -- padded_transpose and small_tile_transpose ---------------------------------------------------

# (height, width), smallest first: parts of tiles, single rows and columns, whole tiles, odd sizes.
SIZES = [(3, 5), (1, 40), (33, 1), (32, 64), (31, 33), (47, 70), (65, 34)]
SMALL_SIZES = [(3, 5), (1, 20), (17, 1), (16, 32), (15, 17), (29, 37), (33, 18)]


def transposes(
    sizes: list[tuple[int, int]], side: int, block: tuple[int, int]
) -> Callable[[np.random.Generator, Level], Iterator[Case]]:
    """Cases of a transpose with tiles of `side`; the grader adds sizes, the empty is last."""

    def cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
        more = [oblong(rng, side, 3 * side) for _ in range(4 if level == "grader" else 1)]
        for height, width in [*sizes, *more, (0, 6)]:
            yield one_transpose(pixels(rng, height, width), side, block)

    return cases


def one_transpose(image: Array, side: int, block: tuple[int, int]) -> Case:
    """One picture under a grid with a block for each tile."""
    height, width = image.shape
    out = np.zeros((width, height), np.float32)
    args = {"out": out, "a": image, "height": height, "width": width}
    return Case(args, grid_for(height, width, (side, side)), block)


def transposed(case: Case) -> dict[str, Array]:
    """Rows and columns exchanged."""
    return {"out": case.args["a"].T.astype(np.float64)}


def whole_tiles_only(side: int) -> Callable[[Case], dict[str, Array]]:
    """Only elements of full tiles were written."""

    def mistake(case: Case) -> dict[str, Array]:
        right = case.args["a"].T.astype(np.float64)
        row, column = np.indices(right.shape)
        width, height = (n // side * side for n in right.shape)
        return {"out": np.ma.array(right, mask=(row >= width) | (column >= height))}

    return mistake


def by_tiles(
    side: int, place: Callable[[int, int, int, int], tuple[int, int, int, int]]
) -> Callable[[Case], dict[str, Array]]:
    """A suspect: what element (y0 + r, x0 + c) of the output's tile holds.

    place: (tile row, tile column, r, c) in the output -> the same four in the picture.  What lies
    outside the picture is left unknown, so that only whole tiles tell.
    """

    def mistake(case: Case) -> dict[str, Array]:
        image = case.args["a"].astype(np.float64)
        found = np.ma.masked_all((image.shape[1], image.shape[0]))
        for row, column in np.ndindex(found.shape):
            at = place(row // side, column // side, row % side, column % side)
            y, x = at[0] * side + at[2], at[1] * side + at[3]
            if y < image.shape[0] and x < image.shape[1]:
                found[row, column] = image[y, x]
        return {"out": found}

    return mistake


TRANSPOSE_CAUSES = {
    "only_first_tile": "Only the first tile was written: the kernel does not tell blocks apart.",
    "multiple_of_block_only": (
        "Only whole tiles were written.  Where the picture ends within a tile, its elements are "
        "missing."
    ),
    "tile_not_turned": (
        "Each tile arrived at its right place, but inside the tile nothing was turned."
    ),
    "rows_of_block_only": (
        "Of each tile only the first rows arrived: as many as the block is high."
    ),
}
TRANSPOSE_HINTS = {
    "out_of_bounds": (
        "The picture may end in the middle of a tile.  Does this thread have an element there?",
        "Guard both global accesses.  For the read: the row is below height, the column below "
        "width.  For the store into out it is the other way round: out has width rows and height "
        "columns.",
    ),
    "never_written": (
        "Take the first missing element: which block should write it, and which thread?",
        "Element (r, c) of out belongs to block (r // side, c // side).  The guard of the store "
        "compares rows of out with width and columns of out with height.",
    ),
    "multiple_of_block_only": (
        "What do your guards do with a tile that is not full?",
        "Guard single elements, not whole tiles: each thread compares its own row and column.",
    ),
    "only_first_tile": (
        "Where in the picture does the tile of a block begin?",
        "At row blockIdx.y * side, column blockIdx.x * side.  In out it is the other way round.",
    ),
    "tile_not_turned": (
        "Which element of the tile does thread (tx, ty) read?",
        "The one that was stored with row and column exchanged: the lane counts the rows.",
    ),
    "rows_of_block_only": (
        "How many rows of its tile does a thread of a 32 x 8 block handle?",
        "Four, eight rows apart: a loop around the store into the tile and one around the read.",
    ),
    "too_many_sectors": (
        "Which of the two global accesses is not along a row?",
        "threadIdx.x has to be in the last index of a and of out.  Turn in shared memory.",
    ),
}


def only_first_tile(side: int) -> Callable[[Case], dict[str, Array]]:
    """Only the elements of the first tile were written."""

    def mistake(case: Case) -> dict[str, Array]:
        return {"out": written_below(case.args["a"].T.astype(np.float64), side, side)}

    return mistake


def rows_of_block_only(side: int, rows: int) -> Callable[[Case], dict[str, Array]]:
    """Only the first rows of each tile of the output were written."""

    def mistake(case: Case) -> dict[str, Array]:
        right = case.args["a"].T.astype(np.float64)
        row, _ = np.indices(right.shape)
        return {"out": np.ma.array(right, mask=row % side >= rows)}

    return mistake


def big_owner(index: tuple[int, ...], case: Case) -> tuple[Any, Any]:
    """The thread of a 32 x 8 block that writes this element of the output along its row."""
    row, column = index
    return (row // 32, column // 32, 0), (column % 32, row % 32 % 8, 0)


def small_owner(index: tuple[int, ...], case: Case) -> tuple[Any, Any]:
    """The same for a block of 16 x 16."""
    row, column = index
    return (row // 16, column // 16, 0), (column % 16, row % 16, 0)


def counted_picture(side: int, block: tuple[int, int]) -> Callable[[], Case]:
    """A picture of whole tiles, 96 x 160."""
    return lambda: one_transpose(pixels(np.random.default_rng(6), 96, 160), side, block)


PADDED_TRANSPOSE = KernelSpec(
    "padded_transpose", UNIT, 2, ("out",), transposes(SIZES, 32, (32, 8)), transposed,
    writes_once=True,
    shared_out="threads",
    owner=big_owner,
    requirements=(
        Requirement("sectors", "too_many_sectors"),
        Requirement("bank_conflicts", "bank_conflicts"),
        Requirement("shared_bytes", "too_much_shared", times=1.25),
        Requirement("barriers", "too_many_barriers", times=2),
    ),
    counted=counted_picture(32, (32, 8)),
    suspects={
        "only_first_tile": only_first_tile(32),
        "multiple_of_block_only": whole_tiles_only(32),
        "rows_of_block_only": rows_of_block_only(32, 8),
        "tile_not_turned": by_tiles(32, lambda ty, tx, r, c: (tx, ty, r, c)),
    },
    causes=TRANSPOSE_CAUSES,
    hints={
        **TRANSPOSE_HINTS,
        "bank_conflicts": (
            "Which banks does a column of your tile lie in?",
            "With rows of 32 words, in one.  Give each row one word more: a shape of (32, 33).",
        ),
    },
)  # fmt: skip


# -- own_counts --------------------------------------------------------------------------------

KINDS, COUNTING = 16, 64


def counts_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Values 0 to 15 in blocks of 64 threads, with more and with fewer values than threads."""
    shapes = [(5, 1), (64, 1), (63, 1), (1, 1), (129, 1), (300, 2), (1009, 3), (6500, 1)]
    if level == "grader":
        shapes += [(int(rng.integers(2, 900)), int(rng.integers(1, 5))) for _ in range(4)]
    for n, blocks in [*shapes, (0, 1)]:
        yield one_count(rng, n, blocks)


def one_count(rng: np.random.Generator, n: int, blocks: int) -> Case:
    """n random values, some of them far more frequent than others."""
    x = (rng.integers(0, KINDS, n) * rng.integers(1, KINDS + 1, n) // KINDS).astype(np.int32)
    out = np.zeros((KINDS, blocks * COUNTING), np.int32)
    return Case({"out": out, "x": x}, blocks, COUNTING, f"{n} values")


def counts_of(case: Case) -> Array:
    """[k, thread]: how many of the thread's values are k."""
    x, out = case.args["x"], case.args["out"]
    found = np.zeros(out.shape, np.int64)
    np.add.at(found, (x, np.arange(x.size) % out.shape[1]), 1)
    return found


def first_value_only(case: Case) -> dict[str, Array]:
    """Each thread counted one value."""
    x, out = case.args["x"], case.args["out"]
    found = np.zeros(out.shape, np.int64)
    first = x[: out.shape[1]]
    found[first, np.arange(first.size)] = 1
    return {"out": found}


def whole_histogram(case: Case) -> dict[str, Array]:
    """Every thread has the counts of all values."""
    x, out = case.args["x"], case.args["out"]
    counts = np.bincount(x, minlength=KINDS)
    return {"out": np.broadcast_to(counts[:, None], out.shape).astype(np.int64)}


def own_thread_of_block(case: Case) -> dict[str, Array]:
    """Only the columns of the first block were written."""
    right = counts_of(case)
    _, column = np.indices(right.shape)
    return {"out": np.ma.array(right, mask=column >= COUNTING)}


OWN_COUNTS = KernelSpec(
    "own_counts", UNIT, 2, ("out",), counts_cases, lambda case: {"out": counts_of(case)},
    requirements=(
        Requirement("bank_conflicts", "bank_conflicts"),
        Requirement("local_requests", "local_memory"),
        Requirement("sectors", "counted_in_global_memory", times=1.5),
        Requirement("shared_bytes", "too_much_shared"),
    ),
    counted=lambda: one_count(np.random.default_rng(7), 2000, 2),
    suspects={
        "first_value_only": first_value_only,
        "whole_histogram": whole_histogram,
        "one_block_only": own_thread_of_block,
    },
    causes={
        "first_value_only": "Each thread counted one value at most: the others were left out.",
        "whole_histogram": "Every thread has the counts of all values, not of its own.",
        "one_block_only": "Only the columns of the first block were written.",
        "local_memory": (
            "The counters lie in local memory: an array that a thread indexes with a computed "
            "number has no place in registers.  The exercise asks for shared memory."
        ),
        "counted_in_global_memory": (
            "Global memory is read or written again and again.  Read each value once, count in "
            "shared memory, and store each counter once."
        ),
    },
    hints={
        "out_of_bounds": (
            "Which of the two indices is too large, and how long is that side of the shared array?",
            "The shape and the brackets change together: the shape (16, 64) goes with "
            "counts[k, t].",
        ),
        "bank_conflicts": (
            "Write down the word that lane t wants when it counts the value k.  Which bank is it?",
            "The bank must not depend on k, for k differs from lane to lane.  With the thread in "
            "the last index it is t modulo 32.  No padding.",
        ),
        "local_memory": (
            "Where does cuda.local.array lie?",
            "Use cuda.shared.array, with a place for each thread of the block.",
        ),
        "counted_in_global_memory": (
            "How often does a thread touch out?",
            "Sixteen times would do: one plain store for each counter, after the loop.",
        ),
        "too_much_shared": (
            "How many counters does a block need, and how many bytes has each?",
            "16 * 64 counters of int32: 4,096 bytes.  No padding, no int64.",
        ),
        "first_value_only": (
            "How many values does a thread have when there are more values than threads?",
            "Keep the loop of the given kernel: it goes on in steps of cuda.gridsize(1).",
        ),
        "one_block_only": (
            "Which column belongs to thread 3 of block 1?",
            "Its number in the whole launch, cuda.grid(1).",
        ),
    },
)  # fmt: skip


SMALL_TILE_TRANSPOSE = KernelSpec(
    "small_tile_transpose", UNIT, 4, ("out",), transposes(SMALL_SIZES, 16, (16, 16)), transposed,
    writes_once=True,
    shared_out="threads",
    owner=small_owner,
    requirements=(
        Requirement("sectors", "too_many_sectors"),
        Requirement("bank_conflicts", "bank_conflicts"),
        Requirement("shared_bytes", "too_much_shared"),
        Requirement("barriers", "too_many_barriers", times=2),
    ),
    counted=counted_picture(16, (16, 16)),
    suspects={
        "only_first_tile": only_first_tile(16),
        "multiple_of_block_only": whole_tiles_only(16),
        "tile_not_turned": by_tiles(16, lambda ty, tx, r, c: (tx, ty, r, c)),
        "swizzled_on_one_side": by_tiles(16, lambda ty, tx, r, c: (tx, ty, c, r ^ c)),
    },
    causes={
        **TRANSPOSE_CAUSES,
        "swizzled_on_one_side": (
            "The store into the tile and the read from it follow different rules: one of them is "
            "swizzled, the other is not."
        ),
    },
    hints={
        **TRANSPOSE_HINTS,
        "bank_conflicts": (
            "A warp holds two rows of the block.  Which banks do both of them want together?",
            "No pitch helps on both sides.  Without padding two rows fill the 32 banks; change "
            "the order within each row: column ^ row.",
        ),
        "too_much_shared": (
            "How many bytes has a tile of 16 x 16 float32?",
            "1,024.  There is no room for padding: only the order within a row can change.",
        ),
        "swizzled_on_one_side": (
            "Where in its row is element (row, column) kept, and where do you look for it?",
            "At column ^ row, on both sides.  When you read, the row is tx and the column ty.",
        ),
    },
)  # fmt: skip


SPECS = [
    BANK_OF, STRIDED_WAVEFRONTS, TILE_WAVEFRONTS, PADDED_TRANSPOSE, OWN_COUNTS,
    SMALL_TILE_TRANSPOSE,
]  # fmt: skip
