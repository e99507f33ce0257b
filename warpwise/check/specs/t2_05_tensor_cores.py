"""Exercises of t2_05_tensor_cores: who holds what, a product by mma, fragments, split TF32.

group, place  lane // 4 and lane % 4
bill          (instructions, elements loaded, operations) of a product
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ...numerics import TF32, round_to
from ..cases import Case, Level, ceil_div
from ..requirements import Requirement
from ..spec import FunctionSpec, KernelSpec
from ..tolerance import Tolerance

UNIT = "t2_05_tensor_cores"

Array = np.ndarray
Answer = dict[str, Array]
Place = tuple[int, int]


# -- places_of_d -------------------------------------------------------------------------------


def lanes(rng: np.random.Generator, level: Level) -> Iterator[tuple[int]]:
    """The example, then all lanes."""
    yield from ((int(lane),) for lane in (5, 0, 3, 31, *range(32)))


def places_of_d(lane: int) -> list[Place]:
    """Row and column of four registers."""
    group, place = divmod(lane, 4)
    return [(group + i // 2 * 8, 2 * place + i % 2) for i in range(4)]


def with_split(group_of: Callable[[int], Place]) -> Callable[[int], list[Place]]:
    """A suspect: group and place of a lane by another rule."""

    def mistake(lane: int) -> list[Place]:
        group, place = group_of(lane)
        return [(group + i // 2 * 8, 2 * place + i % 2) for i in range(4)]

    return mistake


PLACES_OF_D = FunctionSpec(
    "places_of_d", UNIT, 1, lanes, places_of_d,
    suspects={
        "row_by_row": lambda lane: [divmod(4 * lane + i, 8) for i in range(4)],
        "group_is_rest": with_split(lambda lane: (lane % 8, lane // 8)),
        "axes_swapped": lambda lane: [(column, row) for row, column in places_of_d(lane)],
        "registers_swapped": lambda lane: [places_of_d(lane)[i] for i in (0, 2, 1, 3)],
        "place_not_doubled": lambda lane: [
            (lane // 4 + i // 2 * 8, lane % 4 + i % 2) for i in range(4)
        ],
        "four_apart": lambda lane: [
            (lane // 4 + i // 2 * 8, lane % 4 + i % 2 * 4) for i in range(4)
        ],
        "rows_next": lambda lane: [
            (2 * (lane // 4) + i // 2, 2 * (lane % 4) + i % 2) for i in range(4)
        ],
        "upper_half_only": lambda lane: [(row % 8, col) for row, col in places_of_d(lane)],
    },
    causes={
        "row_by_row": "You deal the elements out row by row, four to a lane.",
        "group_is_rest": "Neighbouring lanes are four to a group: the group is lane // 4.",
        "axes_swapped": "Row and column have changed places.",
        "registers_swapped": "The registers come in the order 0, 2, 1, 3.",
        "place_not_doubled": "Two lanes hold the same element: each lane has a pair of columns.",
        "four_apart": "The two columns of a lane are neighbours, not four apart.",
        "rows_next": "The two rows of a lane are eight apart, not neighbours.",
        "upper_half_only": "Registers 2 and 3 lie eight rows further down.",
    },
    hints={
        "row_by_row": (
            "Where does lane 1 begin in the picture?",
            "In row 0, column 2: row lane // 4, column 2 * (lane % 4).",
        ),
        "group_is_rest": ("Which lanes share row 0?", "Lanes 0 to 3: the row is lane // 4."),
        "axes_swapped": ("How many rows has D?", "16; columns only 8.  Return (row, column)."),
        "registers_swapped": (
            "Which register is beside register 0?",
            "Register 1, in the next column; 2 is eight rows below.",
        ),
        "place_not_doubled": ("How many columns does a lane hold?", "Two: 2 * (lane % 4) + i % 2."),
        "four_apart": ("Which element is beside register 0?", "Column 2 * (lane % 4) + i % 2."),
        "rows_next": ("In which row is register 2 of lane 0?", "In row 8: lane // 4 + i // 2 * 8."),
        "upper_half_only": ("Who holds rows 8 to 15?", "Add i // 2 * 8 to the row."),
        "wrong_values": (
            "Turn the dial of the picture to this lane.",
            "Register i: row lane // 4 + i // 2 * 8, column 2 * (lane % 4) + i % 2.",
        ),
    },
)  # fmt: skip


# -- holder_of_a -------------------------------------------------------------------------------


def elements(rng: np.random.Generator, level: Level) -> Iterator[Place]:
    """The examples, then places of every quarter."""
    yield from [(0, 0), (9, 3), (2, 12), (15, 15), (0, 8), (8, 0), (7, 1), (1, 7)]
    yield from ((int(r), int(c)) for r, c in rng.permutation(np.argwhere(np.ones((16, 16))))[:60])


def holder_of_a(row: int, column: int) -> Place:
    """Lane and register."""
    return 4 * (row % 8) + column % 8 // 2, column % 2 + row // 8 * 2 + column // 8 * 4


def lane_by(rule: Callable[[int, int], int]) -> Callable[[int, int], Place]:
    """A suspect: another lane, the right register."""
    return lambda row, column: (rule(row, column), holder_of_a(row, column)[1])


def register_by(rule: Callable[[int, int], int]) -> Callable[[int, int], Place]:
    """A suspect: the right lane, another register."""
    return lambda row, column: (holder_of_a(row, column)[0], rule(row, column))


HOLDER_OF_A = FunctionSpec(
    "holder_of_a", UNIT, 2, elements, holder_of_a,
    suspects={
        "quarters_swapped": register_by(lambda r, c: c % 2 + c // 8 * 2 + r // 8 * 4),
        "as_d_only": register_by(lambda r, c: c % 2 + r // 8 * 2),
        "lane_beyond_warp": lane_by(lambda r, c: 4 * r + c // 2),
        "column_not_cut": lane_by(lambda r, c: 4 * (r % 8) + c // 2),
        "row_not_cut": lane_by(lambda r, c: 4 * r + c % 8 // 2),
        "as_m16n8k8": lambda r, c: (4 * (r % 8) + c % 4, r // 8 + c // 4 * 2),
        "pairs_four_wide": lambda r, c: (4 * (r % 8) + c // 4, c % 4 + r // 8 * 4),
        "order_reversed": lambda r, c: holder_of_a(r, c)[::-1],
        "matrix_turned": lambda r, c: holder_of_a(c, r),
    },
    causes={
        "quarters_swapped": "The lower half gives 2 and the right half 4; you have it reversed.",
        "as_d_only": "The right half of A has registers of its own.",
        "lane_beyond_warp": "That counts on beyond lane 31.",
        "column_not_cut": "In the right half the lanes begin again with column 8.",
        "row_not_cut": "In the lower half the lanes begin again with row 8.",
        "as_m16n8k8": "That is the layout of m16n8k8, where a lane holds single columns.",
        "pairs_four_wide": "A lane holds two neighbouring columns in each quarter, not four.",
        "order_reversed": "The lane comes first, then the register.",
        "matrix_turned": "Row and column have changed places.",
    },
    hints={
        "quarters_swapped": (
            "Which register of lane 0 is A[8, 0]?",
            "Register 2: row // 8 * 2 + column // 8 * 4.",
        ),
        "as_d_only": ("How many registers has a lane for A?", "Eight: add 4 for column >= 8."),
        "lane_beyond_warp": ("How many lanes are there?", "Take row % 8 and column % 8 first."),
        "column_not_cut": ("Who holds A[0, 8]?", "Lane 0 again: column % 8 // 2."),
        "row_not_cut": ("Who holds A[8, 0]?", "Lane 0 again: 4 * (row % 8)."),
        "as_m16n8k8": (
            "Which instruction is asked for?",
            "m16n8k16: pairs of columns, column % 8 // 2.",
        ),
        "pairs_four_wide": ("Who holds A[0, 2]?", "Lane 1: column % 8 // 2."),
        "order_reversed": ("Which number can be as large as 31?", "The lane; return it first."),
        "matrix_turned": ("Which lanes hold row 0?", "Lanes 0 to 3: the row gives the group."),
        "wrong_values": (
            "In which quarter is it, and where in this quarter?",
            "Lane 4 * (row % 8) + column % 8 // 2; register column % 2 + row // 8 * 2 + column // "
            "8 * 4.",
        ),
    },
)  # fmt: skip


# -- tensor_bill -------------------------------------------------------------------------------

Bill = tuple[int, int, int]
OPERATIONS = 2 * 16 * 8 * 16


def shapes(rng: np.random.Generator, level: Level) -> Iterator[Bill]:
    """(m, n, k): the examples, full tiles, tails on every axis."""
    yield from [(32, 32, 16), (1, 1, 1), (16, 8, 16), (17, 8, 16), (16, 9, 16), (16, 8, 17),
                (40, 20, 50), (4096, 4096, 4096)]  # fmt: skip
    for _ in range(4 if level == "student" else 20):
        m, n, k = (int(size) for size in rng.integers(1, 300, size=3))
        yield m, n, k


def tensor_bill(m: int, n: int, k: int) -> Bill:
    """Instructions, elements loaded, operations."""
    down, along, steps = ceil_div(m, 16), ceil_div(n, 8), ceil_div(k, 16)
    count = down * along * steps
    return count, m * k * along + k * n * down, count * OPERATIONS


def bill_by(position: int, rule: Callable[[int, int, int], int]) -> Callable[..., Bill]:
    """A suspect: one of the three numbers by another rule."""

    def mistake(m: int, n: int, k: int) -> Any:
        right = list(tensor_bill(m, n, k))
        right[position] = rule(m, n, k)
        return tuple(right)

    return mistake


def wide_steps(m: int, n: int, k: int) -> Bill:
    """With the tile turned: 8 x 16."""
    return tensor_bill(n, m, k)


TENSOR_BILL = FunctionSpec(
    "tensor_bill", UNIT, 2, shapes, tensor_bill,
    suspects={
        "tile_turned": wide_steps,
        "rounded_down": lambda m, n, k: (
            m // 16 * (n // 8) * (k // 16), tensor_bill(m, n, k)[1],
            m // 16 * (n // 8) * (k // 16) * OPERATIONS,
        ),
        "zeros_loaded": bill_by(1, lambda m, n, k: tensor_bill(m, n, k)[0] * (256 + 128)),
        "each_once": bill_by(1, lambda m, n, k: m * k + k * n),
        "edges_swapped": bill_by(1, lambda m, n, k: m * k * -(-m // 16) + k * n * -(-n // 8)),
        "useful_only": bill_by(2, lambda m, n, k: 2 * m * n * k),
        "fma_as_one": bill_by(2, lambda m, n, k: tensor_bill(m, n, k)[2] // 2),
        "lanes_counted": bill_by(0, lambda m, n, k: 32 * tensor_bill(m, n, k)[0]),
        "loads_of_warps": bill_by(1, lambda m, n, k: tensor_bill(m, n, k)[0] * 12),
    },
    causes={
        "tile_turned": "The tile is 16 rows by 8 columns.",
        "rounded_down": "You round down; the last tile or step may be part full.",
        "zeros_loaded": "You count whole fragments; what does not exist is not loaded.",
        "each_once": "That is each element once; every warp that needs it loads it.",
        "edges_swapped": "An element of a is needed by the warps along n, not along m.",
        "useful_only": "These are the useful operations; the instruction also works on zeros.",
        "fma_as_one": "A multiplication and an addition count as two.",
        "lanes_counted": "An instruction is one of the whole warp, not of each lane.",
        "loads_of_warps": "These are requests of warps; elements are asked for.",
    },
    hints={
        "tile_turned": ("How many rows has the tile?", "16: ceil(m / 16) * ceil(n / 8) tiles."),
        "rounded_down": ("How many tiles cover 17 rows?", "Two: (m + 15) // 16."),
        "zeros_loaded": (
            "What does a lane load where there is no element?",
            "Nothing: m * k elements, times the warps along n; k * n, times the warps along m.",
        ),
        "each_once": (
            "How many warps need a[0, 0]?",
            "ceil(n / 8) of them; an element of b is needed by ceil(m / 16).",
        ),
        "edges_swapped": ("Which results need a[0, 0]?", "Row 0, n results: ceil(n / 8) warps."),
        "useful_only": (
            "How much work is an instruction, whatever it is given?",
            "2 * 16 * 8 * 16 operations, for each of the instructions.",
        ),
        "fma_as_one": ("How many operations is a multiply-add?", "Two."),
        "lanes_counted": ("Who issues the instruction?", "A warp, once."),
        "loads_of_warps": ("What is asked for?", "Elements that lanes load, not requests."),
        "wrong_values": (
            "Take one tile first: 16 x 8 results with k = 16.",
            "ceil(m / 16) * ceil(n / 8) * ceil(k / 16) instructions; m * k * ceil(n / 8) + k * n * "
            "ceil(m / 16) elements; 4,096 operations an instruction.",
        ),
    },
)  # fmt: skip


# -- tensor_matmul -----------------------------------------------------------------------------

# A full tile, tails on each axis, single ones, several tiles and steps.
SIZES = [(16, 8, 16), (2, 3, 5), (16, 8, 32), (17, 8, 16), (16, 11, 16), (16, 8, 19), (1, 20, 33),
         (35, 1, 16), (33, 17, 50), (1, 1, 1)]  # fmt: skip


def halves(rng: np.random.Generator, rows: int, columns: int) -> Array:
    """Random float16, none of them zero, exact in float16."""
    return ((2 * rng.integers(100, 1000, (rows, columns)) + 1) / 512).astype(np.float16)


def product_case(rng: np.random.Generator, m: int, n: int, k: int) -> Case:
    """(c, a, b, m, n, k) under a grid with a warp for each tile."""
    args = {"c": np.zeros((m, n), np.float32), "a": halves(rng, m, k), "b": halves(rng, k, n),
            "m": m, "n": n, "k": k}  # fmt: skip
    return Case(args, (ceil_div(n, 8), ceil_div(m, 16)), 32)


def product_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """All sizes."""
    more = [] if level == "student" else rng.integers(1, 60, (3, 3)).tolist()
    for m, n, k in [*SIZES, *more]:
        yield product_case(rng, m, n, k)


def wide(case: Case) -> tuple[Array, Array]:
    """a and b in float64."""
    return case.args["a"].astype(np.float64), case.args["b"].astype(np.float64)


def product(case: Case) -> Answer:
    """c = a @ b."""
    a, b = wide(case)
    return {"c": a @ b}


def padded(matrix: Array, rows: int, columns: int) -> Array:
    """With zeros up to multiples of rows and columns."""
    down, along = (-size % step for size, step in zip(matrix.shape, (rows, columns), strict=True))
    return np.pad(matrix, ((0, down), (0, along)))


def permuted(change_a: Any = None, change_b: Any = None) -> Callable[[Case], Answer]:
    """A suspect: each 16 x 16 of a, or 16 x 8 of b, with its elements in other places."""

    def mistake(case: Case) -> Answer:
        a, b = wide(case)
        m, n = a.shape[0], b.shape[1]
        a, b = padded(a, 16, 16), padded(b, 16, 8)
        if change_a is not None:
            tiles = a.reshape(a.shape[0] // 16, 16, -1, 16).transpose(0, 2, 1, 3)
            a = change_a(tiles).transpose(0, 2, 1, 3).reshape(a.shape)
        if change_b is not None:
            tiles = b.reshape(b.shape[0] // 16, 16, -1, 8).transpose(0, 2, 1, 3)
            b = change_b(tiles).transpose(0, 2, 1, 3).reshape(b.shape)
        return {"c": (a @ b)[:m, :n]}

    return mistake


def quarters(tiles: Array) -> Array:
    """Upper right and lower left exchanged."""
    new = tiles.copy()
    new[..., :8, 8:], new[..., 8:, :8] = tiles[..., 8:, :8], tiles[..., :8, 8:]
    return new


def b_as_rows(tiles: Array) -> Array:
    """Register i of b read from b[group, ...]: each 8 x 8 turned."""
    return np.concatenate(
        [tiles[..., :8, :].swapaxes(-1, -2), tiles[..., 8:, :].swapaxes(-1, -2)], axis=-2
    )


def terms(chosen: Callable[[int], slice]) -> Callable[[Case], Answer]:
    """A suspect: only some terms of each sum."""

    def mistake(case: Case) -> Answer:
        a, b = wide(case)
        part = chosen(a.shape[1])
        return {"c": a[:, part] @ b[part]}

    return mistake


def whole_tiles(case: Case) -> Answer:
    """A suspect: only full tiles are written."""
    right = product(case)["c"]
    row, col = np.indices(right.shape)
    m, n = right.shape
    return {"c": np.ma.array(right, mask=(row >= m // 16 * 16) | (col >= n // 8 * 8))}


def upper_half(case: Case) -> Answer:
    """A suspect: registers 2 and 3 are not stored."""
    right = product(case)["c"]
    return {"c": np.ma.array(right, mask=np.indices(right.shape)[0] % 16 >= 8)}


def first_rows(case: Case) -> Answer:
    """A suspect: only the rows of the first block are written."""
    right = product(case)["c"]
    return {"c": np.ma.array(right, mask=np.indices(right.shape)[0] >= 16)}


CAUSES = {
    "added_twice": "Every product is in the sums twice.",
    "only_first_block": "Only the 16 rows of the first block are written.",
    "quarters_exchanged": "The upper right and the lower left quarter of each tile of a have "
    "changed places.",
    "b_turned": "The fragment of b is filled with rows and columns exchanged.",
    "first_step_only": "Only the first step along k is in the sums.",
    "last_step_only": "Only the last step along k is in the sums.",
    "whole_steps_only": "The terms of the last step, which is not full, are missing.",
    "whole_tiles_only": "Only results in full tiles are written.",
    "upper_half_only": "Registers 2 and 3 of the result are not stored: rows 8 to 15 are missing.",
    "too_many_loads": "There are more load requests than the fragments need.",
    "too_many_instructions": "It takes too many instructions.",
    "bank_conflicts": "Lanes of one warp still meet at a bank.",
    "too_much_shared": "The block keeps more shared memory than is allowed.",
    "not_shared": "The fragments of a come straight from global memory, eight rows a request; its "
    "rows belong into shared memory first, each by two requests.",
    "one_product": "That is the accuracy of TF32: only the large parts are multiplied.",
    "small_b_lost": "The small parts of b are lost.",
    "small_a_lost": "The small parts of a are lost.",
}

HINTS = {
    "added_twice": ("How often is the instruction called in a step?", "Once in each step."),
    "only_first_block": (
        "Which rows does block 3 compute?",
        "From 16 * cuda.blockIdx.x on: add it to the rows of a and of c.",
    ),
    "quarters_exchanged": (
        "Which register of lane 0 is A[8, 0]?",
        "Register 2.  Row: group + i // 2 % 2 * 8; column: 2 * place + i % 2 + i // 4 * 8.",
    ),
    "b_turned": (
        "Which column of B does a lane hold?",
        "That of its group: register i is b[start + 2 * place + i % 2 + i // 2 * 8, first + "
        "group].",
    ),
    "first_step_only": ("How many steps does k take?", "Loop: range(0, k, 16)."),
    "last_step_only": (
        "Where are the sums set to zero?",
        "Once, before the loop; the instruction adds to acc: mma_m16n8k16(acc, left, right, acc).",
    ),
    "whole_steps_only": (
        "What happens to the last terms when k is 19?",
        "range(0, k, 16), and zeros in the fragments where term >= k.",
    ),
    "whole_tiles_only": ("Who writes the last rows?", "Guard single elements, not whole tiles."),
    "upper_half_only": ("How many results has a lane?", "Four; two of them eight rows below."),
    "part_of_warp": (
        "Which lanes make the call?",
        "All 32, always.  Guard loads and stores; fill with zeros where nothing exists.",
    ),
    "uninitialised": (
        "Which registers hold a number before the first instruction?",
        "A local array holds anything at first: store zeros in acc, and in fragments beyond the "
        "edge.",
    ),
    "too_many_loads": (
        "How many elements does each lane need in a step?",
        "8 of a and 4 of b, each loaded once.",
    ),
    "too_many_instructions": (
        "What does each lane do in a step, beside the loads?",
        "One call of the instruction; the places need a few additions.",
    ),
    "bank_conflicts": (
        "At which bank does each row of the tile begin?",
        "Rows of 72 float16 are 36 banks long, so that 8 rows begin four banks apart.",
    ),
    "too_much_shared": ("How many elements are unused?", "8 a row are enough: 16 * 72 * 2 bytes."),
    "not_shared": (
        "Where do the fragments come from?",
        "From the tile in shared memory, so that each row is loaded with full sectors.",
    ),
    "one_product": (
        "What does x - as_tf32(x) hold?",
        "Multiply the small parts too: small_a big_b and big_a small_b, into the same acc.",
    ),
    "small_b_lost": (
        "Which three products count?",
        "big_a small_b is missing.",
    ),
    "small_a_lost": (
        "Which three products count?",
        "small_a big_b is missing.",
    ),
}

TENSOR_MATMUL = KernelSpec(
    "tensor_matmul", UNIT, 3, ("c",), product_cases, product,
    writes_once=True,
    suspects={
        "quarters_exchanged": permuted(change_a=quarters),
        "b_turned": permuted(change_b=b_as_rows),
        "added_twice": lambda case: {"c": 2 * product(case)["c"]},
        "first_step_only": terms(lambda k: slice(0, 16)),
        "last_step_only": terms(lambda k: slice((k - 1) // 16 * 16, k)),
        "whole_steps_only": terms(lambda k: slice(0, k // 16 * 16)),
        "whole_tiles_only": whole_tiles,
        "upper_half_only": upper_half,
    },
    causes=CAUSES,
    hints=HINTS,
    requirements=(
        Requirement("loads", "too_many_loads"),
        Requirement("issue_slots", "too_many_instructions", times=1.5),
    ),
    counted=lambda: product_case(np.random.default_rng(5), 40, 20, 50),
)  # fmt: skip


# -- fragments_mended --------------------------------------------------------------------------

WIDTH = 64


def strip_case(rng: np.random.Generator, blocks: int) -> Case:
    """(c, a, b): a block for each 16 rows."""
    args = {"c": np.zeros((16 * blocks, 8), np.float32), "a": halves(rng, 16 * blocks, WIDTH),
            "b": halves(rng, WIDTH, 8)}  # fmt: skip
    return Case(args, blocks, 32, f"{blocks} block{'s' * (blocks != 1)}")


def strip_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """One block, some blocks."""
    for blocks in (1, 2, 5) if level == "student" else (1, 2, 3, 7):
        yield strip_case(rng, blocks)


FRAGMENTS_MENDED = KernelSpec(
    "fragments_mended", UNIT, 2, ("c",), strip_cases, product,
    writes_once=True,
    suspects={
        "quarters_exchanged": permuted(change_a=quarters),
        "b_turned": permuted(change_b=b_as_rows),
        "first_step_only": terms(lambda k: slice(0, 16)),
        "last_step_only": terms(lambda k: slice(k - 16, k)),
        "upper_half_only": upper_half,
        "only_first_block": first_rows,
    },
    causes=CAUSES,
    hints=HINTS,
    requirements=(
        Requirement("loads", "too_many_loads"),
        Requirement("load_sectors", "not_shared"),
        Requirement("bank_conflicts", "bank_conflicts", limit=lambda case: 0),
        Requirement("shared_bytes", "too_much_shared", limit=lambda case: 2560),
    ),
    counted=lambda: strip_case(np.random.default_rng(5), 4),
)  # fmt: skip


# -- three_for_one -----------------------------------------------------------------------------


def single_case(rng: np.random.Generator, k: int) -> Case:
    """(c, a, b, k): positive float32 that need all their bits."""
    a, b = (rng.uniform(0.5, 2, size).astype(np.float32) for size in ((16, k), (k, 8)))
    return Case({"c": np.zeros((16, 8), np.float32), "a": a, "b": b, "k": k}, 1, 32)


def single_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """One step, several."""
    for k in (8, 16, 40) if level == "student" else (8, 16, 24, 72, 8 * int(rng.integers(2, 20))):
        yield single_case(rng, k)


def split(x: Array) -> tuple[Array, Array]:
    """Large and small part."""
    big = np.asarray(round_to(x, TF32, "nearest_away"))
    return big, x - big


def parts(chosen: Callable[..., Array]) -> Callable[[Case], Answer]:
    """A suspect: some of the four products."""
    return lambda case: {"c": chosen(*(part for x in wide(case) for part in split(x)))}


THREE_FOR_ONE = KernelSpec(
    "three_for_one", UNIT, 4, ("c",), single_cases, product,
    tolerance={"float32": Tolerance(4e-6)},
    writes_once=True,
    suspects={
        "one_product": parts(lambda a, da, b, db: a @ b),
        "small_b_lost": parts(lambda a, da, b, db: a @ b + da @ b),
        "small_a_lost": parts(lambda a, da, b, db: a @ b + a @ db),
        "first_step_only": terms(lambda k: slice(0, 8)),
        "last_step_only": terms(lambda k: slice(k - 8, k)),
        "upper_half_only": upper_half,
    },
    causes=CAUSES,
    hints={
        **HINTS,
        "first_step_only": ("How many steps does k take?", "Loop: range(0, k, 8)."),
        "last_step_only": (
            "Where are the sums set to zero?",
            "Once, before the loop; the instructions add to acc.",
        ),
        "too_many_loads": (
            "How many elements does each lane need in a step?",
            "4 of a and 2 of b, each loaded once and then split.",
        ),
        "too_many_instructions": (
            "How many matrix instructions does a step need?",
            "Three: the product of the two small parts does not matter.",
        ),
    },
    requirements=(
        Requirement("loads", "too_many_loads"),
        Requirement("issue_slots", "too_many_instructions", times=1.3),
    ),
    counted=lambda: single_case(np.random.default_rng(16), 64),
)  # fmt: skip


SPECS = [
    PLACES_OF_D, HOLDER_OF_A, TENSOR_BILL, TENSOR_MATMUL, FRAGMENTS_MENDED, THREE_FOR_ONE,
]  # fmt: skip
