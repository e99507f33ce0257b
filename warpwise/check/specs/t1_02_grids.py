"""Exercises of t1_02_grids: two dimensions, their launch, and stencils.

pixel   one element of a picture
edge    the pixels of the first and last row and column
inner   every other pixel
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from ..cases import Case, Level, as_dims
from ..images import (
    BLOCK,
    image_cases,
    inner_only,
    launches,
    oblong,
    owner,
    pixels,
    thread_at,
    window_sum,
    written_below,
)
from ..spec import FunctionSpec, KernelSpec, ValueSpec

UNIT = "t1_02_grids"

Array = np.ndarray
Mistake = Callable[[Array], Array]


def one_block_row(right: Callable[[Case], Array]) -> Callable[[Case], dict[str, Array]]:
    """Every block works on the first rows: the row index forgets blockIdx.y."""

    def mistake(case: Case) -> dict[str, Array]:
        result = right(case)
        return {"out": written_below(result, as_dims(case.block)[1], result.shape[1])}

    return mistake


def one_block_column(right: Callable[[Case], Array]) -> Callable[[Case], dict[str, Array]]:
    """Every block works on the first columns: the column index forgets blockIdx.x."""

    def mistake(case: Case) -> dict[str, Array]:
        result = right(case)
        return {"out": written_below(result, result.shape[0], as_dims(case.block)[0])}

    return mistake


def on_image(mistake: Mistake) -> Callable[[Case], dict[str, Array]]:
    """A suspect from a function of the picture alone."""
    return lambda case: {"out": mistake(case.args["a"].astype(np.float64))}


BLOCK_CAUSES = {
    "one_block_row": (
        "Only the rows of the uppermost blocks were written: y does not depend on blockIdx.y."
    ),
    "one_block_column": (
        "Only the columns of the leftmost blocks were written: x does not depend on blockIdx.x."
    ),
}
BLOCK_HINTS = {
    "one_block_row": (
        "What differs between a thread of a block and the same thread of the block below?",
        "threadIdx.y counts from zero again in every block.  Let cuda.grid(2) do it for both axes, "
        "or add blockIdx.y * blockDim.y.",
    ),
    "one_block_column": (
        "What differs between a thread of a block and the same thread of the block to its right?",
        "threadIdx.x counts from zero again in every block.  Let cuda.grid(2) do it for both axes, "
        "or add blockIdx.x * blockDim.x.",
    ),
}
# An index outside the array: which axis it is on says which guard is missing or swapped.
BOUNDS = (
    "Which of the two indices is too large, the row or the column?  What should have stopped it?",
    "Two axes need two guards, and both must hold: x stays below width, y stays below height.  In "
    "the brackets the row comes first: a[y, x].",
)
SWAPPED = (
    "How many columns and how many rows does this launch have threads for?",
    "cuda.grid(2) gives x first, then y.  x runs along a row and stays below width; y runs down "
    "the rows and stays below height.",
)
GENERAL_HINTS = {**BLOCK_HINTS, "out_of_bounds": BOUNDS, "transposed": SWAPPED}


# -- brighten ----------------------------------------------------------------------------------


def brighten_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Cases of (out, a, gain, height, width)."""
    for case in image_cases(rng, level):
        args = dict(case.args)
        sizes = {name: args.pop(name) for name in ("height", "width")}
        gain = float((2 * rng.integers(600, 950) + 1) / 1000)  # 1.201 ... 1.899
        yield Case({**args, "gain": gain, **sizes}, case.grid, case.block)


def brightened(case: Case) -> Array:
    """gain * a in float64."""
    return case.args["gain"] * case.args["a"].astype(np.float64)


BRIGHTEN = KernelSpec(
    "brighten", UNIT, 2, ("out",), brighten_cases, lambda case: {"out": brightened(case)},
    writes_once=True,
    shared_out="threads",
    owner=owner,
    suspects={
        "one_block_row": one_block_row(brightened),
        "one_block_column": one_block_column(brightened),
        "truncated": lambda case: {"out": np.trunc(brightened(case))},
        "gain_added": lambda case: {"out": case.args["a"] + case.args["gain"]},
        "clipped": lambda case: {"out": np.minimum(brightened(case), 1.0)},
    },
    causes={
        **BLOCK_CAUSES,
        "truncated": "Every value is a whole number: its fraction was cut off.",
        "gain_added": "The gain was added to each pixel.",
        "clipped": "No value is above 1: what was larger has been cut down to 1.",
    },
    hints={
        **GENERAL_HINTS,
        "truncated": (
            "What type does the product have, and what type is stored?",
            "int() and // cut the fraction off.  Store the product as it is.",
        ),
        "gain_added": (
            "Twice as bright means every pixel twice as large.",
            "The gain is a factor: multiply.",
        ),
        "clipped": (
            "Does the exercise set a largest value?",
            "It does not: store the product, whatever its size.",
        ),
    },
)  # fmt: skip


# -- blocks_2d ---------------------------------------------------------------------------------


def blocks_2d(height: int, width: int, block: tuple[int, int]) -> tuple[int, int]:
    """Blocks along x and along y that cover a picture."""
    return -(-width // block[0]), -(-height // block[1])


def blocks_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[Any, ...]]:
    """Images whose sides straddle the block's, each side on its own."""
    yield from [(4, 9, (8, 4)), (5, 8, (8, 4)), (1, 1, (8, 4)), (3, 33, (8, 4)), (31, 16, (16, 2))]
    yield from [(62, 76, (16, 16)), (1080, 1920, (32, 8)), (97, 64, (4, 16))]
    if level == "grader":
        for _ in range(12):
            height, width = (int(n) for n in rng.integers(1, 5000, size=2))
            yield height, width, tuple(int(n) for n in rng.choice([1, 3, 8, 16, 32], size=2))


BLOCKS_2D = FunctionSpec(
    "blocks_2d", UNIT, 1, blocks_inputs, blocks_2d,
    suspects={
        "axes_swapped": lambda height, width, block: blocks_2d(height, width, block)[::-1],
        "sizes_swapped": lambda height, width, block: blocks_2d(width, height, block),
        "rounded_down": lambda height, width, block: (width // block[0], height // block[1]),
        "one_too_many": lambda height, width, block: (width // block[0] + 1,
                                                      height // block[1] + 1),
        "one_side_for_both": lambda height, width, block: blocks_2d(height, width,
                                                                    (block[0], block[0])),
        "blocks_of_16": lambda height, width, block: blocks_2d(height, width, (16, 16)),
        "block_swapped": lambda height, width, block: blocks_2d(height, width, block[::-1]),
        "parentheses_missing": lambda height, width, block: (width + block[0] - 1 // block[0],
                                                             height + block[1] - 1 // block[1]),
    },
    causes={
        "axes_swapped": "Both numbers are right, in the wrong order.",
        "sizes_swapped": (
            "The blocks along x are counted over the height and those along y over the width."
        ),
        "rounded_down": "Rounding down leaves the last pixels of a row or column without a block.",
        "one_too_many": "Where a side is a multiple of the block's, there is a block too many.",
        "one_side_for_both": "Both sides are divided by the number of threads along x.",
        "blocks_of_16": "That is right for blocks of 16 x 16, whatever block you are given.",
        "block_swapped": "The width is divided by the second number of block, the height by the "
        "first.",
        "parentheses_missing": "Only the last part of each sum was divided: // comes before + and "
        "-.",
    },
    hints={
        "axes_swapped": (
            "Which comes first in a launch, x or y?",
            "A launch is (x, y): first the blocks side by side, then the blocks below one another.",
        ),
        "sizes_swapped": (
            "Is the number of pixels in one row the height or the width?",
            "x runs along a row, and a row has width pixels.",
        ),
        "rounded_down": (
            "How many blocks of 8 cover 9 pixels?",
            "Divide rounding up, as in the lesson before: (n + d - 1) // d, once for each axis.",
        ),
        "one_too_many": (
            "How many blocks of 8 cover 16 pixels?",
            "n // d + 1 is one too many when d divides n.  Use (n + d - 1) // d.",
        ),
        "one_side_for_both": (
            "Is a block always square?",
            "block[0] is the number of its threads along x, block[1] along y.",
        ),
        "blocks_of_16": (
            "Which of the three parameters does your function not use?",
            "Take the two numbers out of block: bx, by = block.",
        ),
        "block_swapped": (
            "Which number of block comes first, the one along x or the one along y?",
            "A block is (x, y), like a grid: bx, by = block.  bx goes with the width.",
        ),
        "parentheses_missing": (
            "Python divides before it adds.  Which part of each formula is divided?",
            "Put each sum in parentheses, and divide after that.",
        ),
        "wrong_type": (
            "Does the function give two whole numbers?",
            "Return a tuple of two integers, blocks along x first.  // divides to an integer.",
        ),
    },
)  # fmt: skip


# -- transpose_copy ----------------------------------------------------------------------------


def transpose_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """As for a picture, but out has shape (width, height).  The threads lie over `a`."""
    for case in image_cases(rng, level):
        out = np.zeros_like(case.args["a"].T, order="C")
        yield Case({**case.args, "out": out}, case.grid, case.block)


def turned(case: Case) -> Array:
    """The picture with rows and columns exchanged."""
    return case.args["a"].T.astype(np.float64)


def swapped_coverage(case: Case) -> dict[str, Array]:
    """x counts the rows of `a` and y its columns: only as far as the grid reaches."""
    grid, block = as_dims(case.grid), as_dims(case.block)
    return {"out": written_below(turned(case), grid[1] * block[1], grid[0] * block[0])}


def below_each_other(case: Case) -> dict[str, Array]:
    """Rows of blocks of `a` are columns of `out`."""
    result = turned(case)
    return {"out": written_below(result, result.shape[0], as_dims(case.block)[1])}


def side_by_side(case: Case) -> dict[str, Array]:
    """Columns of blocks of `a` are rows of `out`."""
    result = turned(case)
    return {"out": written_below(result, as_dims(case.block)[0], result.shape[1])}


TRANSPOSE_COPY = KernelSpec(
    "transpose_copy", UNIT, 1, ("out",), transpose_cases, lambda case: {"out": turned(case)},
    writes_once=True,
    shared_out="threads",
    owner=lambda index, case: thread_at(index[0], index[1], case),
    suspects={
        "one_block_row": below_each_other,
        "one_block_column": side_by_side,
        "transposed": swapped_coverage,
        "same_memory_order": lambda case: {
            "out": case.args["a"].reshape(case.args["out"].shape).astype(np.float64)
        },
    },
    causes={
        **BLOCK_CAUSES,
        "transposed": (
            "The elements that were written are those that threads reach when x counts the rows of "
            "a and y its columns.  In this grid x runs along a row of a."
        ),
        "same_memory_order": (
            "The pixels lie in out one after another as they lie in a: the shape changed, but no "
            "pixel moved."
        ),
    },
    hints={
        **GENERAL_HINTS,
        "out_of_bounds": (
            "out has width rows and height columns.  Which index is too large, and in which "
            "array?",
            "x stays below width and y below height.  In a that is column x of row y; in out it "
            "is column y of row x.",
        ),
        "same_memory_order": (
            "Where does the pixel in row 0, column 1 belong after the exchange?",
            "Give both arrays two indices, and exchange the two on one side of the =.",
        ),
    },
)  # fmt: skip


# -- cross_reads -------------------------------------------------------------------------------

READS_HEIGHT, READS_WIDTH = 48, 64


def reads_of(inner: int, edge: int, ring: int = 1) -> int:
    """Reads of a launch on the picture of the exercise, edges `ring` pixels thick."""
    count = np.full((READS_HEIGHT, READS_WIDTH), edge)
    count[ring : READS_HEIGHT - ring, ring : READS_WIDTH - ring] = inner
    return int(count.sum())


CROSS_READS = ValueSpec(
    "cross_reads", UNIT, 1, lambda: reads_of(5, 1), "the number of reads",
    suspects={
        "edges_counted_as_inner": reads_of(5, 5),
        "edges_left_out": reads_of(5, 0),
        "nine_per_pixel": reads_of(9, 1),
        "nine_everywhere": reads_of(9, 9),
        "four_per_pixel": reads_of(4, 1),
        "one_per_pixel": reads_of(1, 1),
        "edge_two_thick": reads_of(5, 1, ring=2),
        "corners_counted_twice": reads_of(5, 0) + 2 * READS_HEIGHT + 2 * READS_WIDTH,
        "one_side_only": (READS_HEIGHT - 1) * (READS_WIDTH - 1) * 4 + READS_HEIGHT * READS_WIDTH,
    },
    causes={
        "edges_counted_as_inner": "That is five reads for every pixel, also for those on the edge.",
        "edges_left_out": "That counts the inner pixels only; an edge pixel is read to be copied.",
        "nine_per_pixel": "That is the count of a 3 x 3 stencil; the cross has no corners.",
        "nine_everywhere": "That is nine reads for every pixel; the cross has no corners.",
        "four_per_pixel": "That leaves out the pixel in the middle of the cross.",
        "one_per_pixel": "That is one read for each pixel, as if nobody read a neighbour.",
        "edge_two_thick": "That treats the edge as two pixels thick.",
        "corners_counted_twice": "That is four too many: each corner is counted with its row and "
        "with its column.",
        "one_side_only": "That counts one row and one column as the edge; there are two of each.",
    },
    hints={
        "wrong_values": (
            "How many pixels are inner pixels, and how many lie on the edge?",
            "Inner pixels: (height - 2) * (width - 2), five reads each.  All others are edge "
            "pixels, one read each.",
        ),
        "edges_counted_as_inner": (
            "What does a thread on the edge read?",
            "It reads its own pixel and stores it: one read.",
        ),
        "edges_left_out": (
            "Where does the value of an edge pixel come from?",
            "A copy is one read and one write.",
        ),
        "nine_per_pixel": ("Draw the cross.", "Up, down, left, right and the middle: five pixels."),
        "nine_everywhere": (
            "Draw the cross, then ask what a thread on the edge reads.",
            "Five pixels for an inner pixel, one for an edge pixel.",
        ),
        "four_per_pixel": (
            "Is the middle pixel part of the mean?",
            "Up, down, left, right and the middle: five pixels.",
        ),
        "one_per_pixel": (
            "Which pixels does one inner thread read?",
            "Its own and four neighbours: five reads.",
        ),
        "edge_two_thick": (
            "How far does the cross reach?",
            "One pixel to each side, so the edge is one pixel thick all around.",
        ),
        "corners_counted_twice": (
            "The edge is two rows and two columns.  Which pixels are in both?",
            "Take the inner pixels away from all 48 * 64 pixels: what is left is the edge.",
        ),
        "one_side_only": (
            "Which rows have no row above or no row below?",
            "Row 0 and row height - 1.  The same holds for columns.",
        ),
    },
)  # fmt: skip


# -- stencils ----------------------------------------------------------------------------------


CROSS = np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]])
DIAGONALS = np.array([[1, 0, 1], [0, 1, 0], [1, 0, 1]])
BOX = np.ones((3, 3))
RING = np.array([[1, 1, 1], [1, 0, 1], [1, 1, 1]])


def cross_blur(image: Array) -> Array:
    """The mean of the five pixels of a cross; edge pixels as they are."""
    return inner_only(image, window_sum(image, CROSS) / 5)


def edges_wrapped(image: Array) -> Array:
    """Row -1 is the last row, column -1 the last column; the far edges are copied."""
    result = image.copy()
    result[:-1, :-1] = (window_sum(image, CROSS, "wrap") / 5)[:-1, :-1]
    return result


def edges_zero(image: Array) -> Array:
    """Zeros on the edge."""
    return inner_only(np.zeros_like(image), cross_blur(image))


def image_case(right: Mistake) -> Callable[[Case], Array]:
    """The right result of a case, from a function of the picture."""
    return lambda case: right(case.args["a"].astype(np.float64))


# (dy, dx) of the five pixels, as the exercise calls them.
PLACES = {"middle": (0, 0), "upper": (-1, 0), "lower": (1, 0), "left": (0, -1), "right": (0, 1)}


def only_one_divided(place: str) -> Mistake:
    """Four pixels and a fifth of the one at `place`: the parentheses around the sum are missing."""
    dy, dx = PLACES[place]
    weights = CROSS.astype(np.float64)
    weights[1 + dy, 1 + dx] = 0.2
    return lambda image: inner_only(image, window_sum(image, weights))


CROSS_BLUR = KernelSpec(
    "cross_blur", UNIT, 3, ("out",), image_cases, on_image(cross_blur),
    writes_once=True,
    shared_out="threads",
    owner=owner,
    suspects={
        "one_block_row": one_block_row(image_case(cross_blur)),
        "one_block_column": one_block_column(image_case(cross_blur)),
        "edges_zero": on_image(edges_zero),
        "edges_wrapped": on_image(edges_wrapped),
        "edges_clamped": on_image(lambda a: window_sum(a, CROSS) / 5),
        "edge_two_thick": on_image(lambda a: inner_only(a, cross_blur(a), ring=2)),
        "not_divided": on_image(lambda a: inner_only(a, window_sum(a, CROSS))),
        "divided_by_four": on_image(lambda a: inner_only(a, window_sum(a, CROSS) / 4)),
        "middle_left_out": on_image(
            lambda a: inner_only(a, window_sum(a, CROSS - np.eye(3)[[0, 1, 0]] * [0, 1, 0]) / 4)
        ),
        "diagonal_neighbours": on_image(lambda a: inner_only(a, window_sum(a, DIAGONALS) / 5)),
        "rounded_down": on_image(
            lambda a: inner_only(a, np.floor(window_sum(a, CROSS) / 5))
        ),
        **{f"only_{place}_divided": on_image(only_one_divided(place)) for place in PLACES},
        "box_instead": on_image(lambda a: inner_only(a, window_sum(a, BOX) / 9)),
        "box_divided_by_five": on_image(lambda a: inner_only(a, window_sum(a, BOX) / 5)),
    },
    causes={
        **BLOCK_CAUSES,
        "never_written": "Some pixels have no store: the inner pixels or the edge were left out.",
        "edges_zero": "The inner pixels are right; the edge is zero.",
        "edges_wrapped": (
            "Pixels of row 0 or column 0 were mixed with pixels from the opposite edge: index -1 "
            "is the last one."
        ),
        "edges_clamped": (
            "The inner pixels are right.  On the edge a missing neighbour was replaced by the edge "
            "pixel itself; here edge pixels are copied."
        ),
        "edge_two_thick": "The copied edge is two pixels thick.",
        "not_divided": "The inner pixels hold the sum of the five pixels.",
        "divided_by_four": "The inner pixels hold the sum of the five pixels, divided by four.",
        "middle_left_out": "The inner pixels hold the mean of the four neighbours only.",
        "diagonal_neighbours": "The inner pixels hold the mean over the diagonal neighbours.",
        "rounded_down": "The inner pixels are whole numbers: the mean was rounded down.",
        **{
            f"only_{place}_divided": f"Only the {place} pixel of the five was divided by five: "
            "Python divides before it adds."
            for place in PLACES
        },
        "box_instead": "The inner pixels hold the mean of all nine pixels, as in the lesson.",
        "box_divided_by_five": "The inner pixels hold the sum of all nine pixels, divided by five.",
    },
    hints={
        **GENERAL_HINTS,
        "out_of_bounds": (
            "Which neighbour does this thread ask for, and does it exist?",
            "A pixel in the first or last row or column has a neighbour outside the picture.  "
            "Decide before reading: inside, the mean; on the edge, a copy; outside, nothing.",
        ),
        "never_written": (
            "Is the first missing pixel an inner pixel or on the edge, and which thread writes it?",
            "Threads on the edge have something to do as well: they copy their pixel.  In a "
            "picture of one row every pixel is on the edge.",
        ),
        "edges_zero": (
            "What does the exercise ask of edge pixels?",
            "They keep their value: out[y, x] = a[y, x].",
        ),
        "edges_wrapped": (
            "Which pixel is a[y - 1, x] when y is 0?",
            "The guard has two ends: an inner pixel has 0 < x and x < width - 1, and the same for "
            "y.",
        ),
        "edges_clamped": (
            "What does the exercise ask of edge pixels?",
            "No mean there: out[y, x] = a[y, x].",
        ),
        "edge_two_thick": (
            "Is the pixel in row 1, column 1 an inner pixel?",
            "Inner pixels have 0 < y < height - 1 and 0 < x < width - 1.  Look for a 1 or a 2 that "
            "should be smaller by one.",
        ),
        "not_divided": ("What makes a mean of a sum?", "Divide the sum of five pixels by five."),
        "divided_by_four": (
            "How many pixels are in the sum?",
            "Four neighbours and the pixel itself: divide by five.",
        ),
        "middle_left_out": (
            "How many pixels does the cross have?",
            "The pixel itself is part of the mean: five pixels, divided by five.",
        ),
        "diagonal_neighbours": (
            "Which neighbours share a side with the pixel?",
            "Change one index at a time: (y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1).",
        ),
        "rounded_down": (
            "Which of the two divisions did you use?",
            "// rounds down, also for floats.  / gives the mean.",
        ),
        **{
            f"only_{place}_divided": (
                "Which part of your sum is divided by five?",
                "Put the whole sum in parentheses, and divide after that.",
            )
            for place in PLACES
        },
        "box_instead": (
            "How many pixels does the cross have?",
            "Five: the pixel itself and the four that share a side with it.  Leave the corners "
            "out.",
        ),
        "box_divided_by_five": (
            "How many pixels are in your sum?",
            "Only five belong there: the pixel itself and the four that share a side with it.",
        ),
        "output_read": (
            "What does out hold before the first thread writes to it?",
            "Leftovers of any kind, and += would add to them.  Store the finished mean with a "
            "plain =.",
        ),
        "wrong_values": (
            "Take the first inner pixel of the table: which five pixels should it use?",
            "Write down the five index pairs of your code for that pixel.  Is one of them there "
            "twice, or one missing?",
        ),
    },
)  # fmt: skip


# -- box_blur ----------------------------------------------------------------------------------


def box_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Images under grids that cover them, and under grids (far) too small on one axis or both."""
    few: list[tuple[int, int, tuple[int, int]]] = [
        (3, 9, (1, 1)), (9, 7, (1, 1)), (13, 29, (2, 1)), (31, 10, (1, 3)), (17, 33, (2, 2)),
        (1, 333, (1, 1)), (333, 1, (1, 1)),
    ]  # fmt: skip
    if level == "grader":
        for _ in range(4):
            few.append((*oblong(rng, 9, 50), (1, 2)))
    whole = [(h, w, g) for h, w, g, b in launches(rng, level) if b == BLOCK and h]
    empty = [(0, 6, (1, 1))]
    for height, width, grid in whole + few + empty:
        image = pixels(rng, height, width)
        args = {"out": np.zeros_like(image), "a": image, "height": height, "width": width}
        label = f"height = {height}, width = {width}"
        yield Case(args, grid, BLOCK, label)


def box_blur(image: Array) -> Array:
    """The mean of the 3 x 3 pixels around each; beyond the edge the nearest pixel counts again."""
    return window_sum(image, BOX) / 9


def box_owner(index: tuple[int, ...], case: Case) -> tuple[Any, Any]:
    """The thread whose loops arrive at this pixel, in a grid of any size."""
    grid, block = as_dims(case.grid), as_dims(case.block)
    return thread_at(index[1] % (grid[0] * block[0]), index[0] % (grid[1] * block[1]), case)


def reached(rows: bool, columns: bool) -> Callable[[Case], dict[str, Array]]:
    """Only pixels within the grid were written, along the axes that have no loop."""

    def mistake(case: Case) -> dict[str, Array]:
        grid, block = as_dims(case.grid), as_dims(case.block)
        result = box_blur(case.args["a"].astype(np.float64))
        last_row = grid[1] * block[1] if rows else result.shape[0]
        last_column = grid[0] * block[0] if columns else result.shape[1]
        return {"out": written_below(result, last_row, last_column)}

    return mistake


def kept_total(*, along_row: bool) -> Callable[[Case], dict[str, Array]]:
    """A total that goes on from one pixel of a thread to its next, in its row or in all rows."""

    def mistake(case: Case) -> dict[str, Array]:
        grid, block = as_dims(case.grid), as_dims(case.block)
        step_x, step_y = grid[0] * block[0], grid[1] * block[1]
        result = window_sum(case.args["a"], BOX)
        for y in range(min(step_y, result.shape[0])):
            for x in range(min(step_x, result.shape[1])):
                own = result[y::step_y, x::step_x]
                sums = np.cumsum(own, axis=1 if along_row else None)
                result[y::step_y, x::step_x] = sums.reshape(own.shape)
        return {"out": result / 9}

    return mistake


def mean_of_existing(image: Array) -> Array:
    """The mean over the pixels that exist."""
    return window_sum(image, BOX, "constant") / np.maximum(
        window_sum(np.ones_like(image), BOX, "constant"), 1
    )


def lower_edges_wrapped(image: Array) -> Array:
    """Clamped at the far edges only; index -1 counts from the end."""
    if image.size == 0:
        return image.copy()
    padded = np.pad(image, ((1, 0), (1, 0)), mode="wrap")
    return box_blur(padded)[1:, 1:]


BOX_BLUR = KernelSpec(
    "box_blur", UNIT, 4, ("out",), box_cases, on_image(box_blur),
    writes_once=True,
    shared_out="threads",
    owner=box_owner,
    suspects={
        "no_loop": reached(rows=True, columns=True),
        "no_loop_over_rows": reached(rows=True, columns=False),
        "no_loop_over_columns": reached(rows=False, columns=True),
        "edges_copied": on_image(lambda a: inner_only(a, box_blur(a))),
        "edges_zero_padded": on_image(lambda a: window_sum(a, BOX, "constant") / 9),
        "edges_averaged": on_image(mean_of_existing),
        "edges_wrapped": on_image(lower_edges_wrapped),
        "middle_left_out": on_image(lambda a: window_sum(a, RING) / 8),
        "divided_by_eight": on_image(lambda a: window_sum(a, BOX) / 8),
        "last_offset_missing": on_image(
            lambda a: window_sum(a, np.array([[1, 1, 0], [1, 1, 0], [0, 0, 0]])) / 9
        ),
        "total_kept_along_row": kept_total(along_row=True),
        "total_kept": kept_total(along_row=False),
        "total_reset_too_often": on_image(
            lambda a: window_sum(a, np.array([[0, 0, 0], [0, 0, 0], [1, 1, 1]])) / 9
        ),
    },
    causes={
        "no_loop": "Each thread wrote one pixel at most; this grid is smaller than the picture.",
        "no_loop_over_rows": "The rows below the grid were not written.",
        "no_loop_over_columns": "The columns to the right of the grid were not written.",
        "edges_copied": "The inner pixels are right; edge pixels are plain copies.",
        "edges_zero_padded": "On the edge the pixels outside the picture count as zeros.",
        "edges_averaged": "On the edge the mean is taken over the pixels that exist.",
        "edges_wrapped": (
            "Pixels of row 0 or column 0 were mixed with pixels from the opposite edge: index -1 "
            "is the last one."
        ),
        "middle_left_out": "The mean is taken over the eight neighbours only.",
        "divided_by_eight": "The sum of nine pixels is divided by eight.",
        "last_offset_missing": "Only four of nine pixels are summed: range(-1, 1) ends before 1.",
        "total_kept_along_row": "The first pixel of a thread in each row is right.  The next ones "
        "also hold the sums of those before: the total is set to zero once a row, not once a "
        "pixel.",
        "total_kept": "The first pixel of each thread is right.  The next ones also hold the sums "
        "of those before: the total is set to zero once for each thread, not once for each pixel.",
        "total_reset_too_often": "Only the lowest row of the box is in the sum: the total is set "
        "to zero again for each of its rows.",
    },
    hints={
        "out_of_bounds": (
            "Which row or column does this thread ask for, and does it exist?",
            "Bring both ends in: min(max(i, 0), n - 1) is i, but never below 0 nor above n - 1.",
        ),
        "no_loop": (
            "How many threads has this launch, and how many pixels are there?",
            "Let each thread go on from its own pixel, in steps of the threads that the grid has "
            "along x and along y.  cuda.gridsize(2) gives both steps.",
        ),
        "no_loop_over_rows": (
            "Columns go on beyond the grid; what about rows?",
            "A loop for y, in steps of the second value of cuda.gridsize(2), around the loop for "
            "x.",
        ),
        "no_loop_over_columns": (
            "Rows go on beyond the grid; what about columns?",
            "A loop for x, in steps of the first value of cuda.gridsize(2), inside the loop for y.",
        ),
        "never_written": (
            "Which steps do the two loops take?",
            "cuda.gridsize(2) gives the step along x first, then the step along y.",
        ),
        "written_more_than_once": (
            "How many threads are there along one axis of the whole grid?",
            "blockDim is one block only.  The step is blockDim * gridDim for each axis, which "
            "cuda.gridsize(2) gives.",
        ),
        "edges_copied": (
            "What does the exercise ask beyond the edge?",
            "Edge pixels get a mean of nine values too: the nearest pixel replaces a missing one.",
        ),
        "edges_zero_padded": (
            "Which value stands in for a pixel outside the picture?",
            "The nearest pixel inside: bring the index back with min and max, then read.",
        ),
        "edges_averaged": (
            "How many values does the mean have on the edge?",
            "Always nine: a missing pixel is replaced by the nearest one inside.",
        ),
        "edges_wrapped": (
            "Which pixel is a[y - 1, x] when y is 0?",
            "Clamp at both ends: min(max(i, 0), n - 1).",
        ),
        "middle_left_out": ("How many pixels does a 3 x 3 box have?", "The middle one counts too."),
        "divided_by_eight": ("How many pixels are in the sum?", "Nine: divide by nine."),
        "last_offset_missing": (
            "Which values does range(-1, 1) give?",
            "-1 and 0.  For -1, 0, 1 write range(-1, 2).",
        ),
        "total_kept_along_row": (
            "What does your total hold when a thread begins its second pixel?",
            "Set the total to zero inside both grid-stride loops, just before the loops over the "
            "box.",
        ),
        "total_kept": (
            "What does your total hold when a thread begins its second pixel?",
            "Set the total to zero inside both grid-stride loops, just before the loops over the "
            "box.",
        ),
        "total_reset_too_often": (
            "How often does the line that sets the total to zero run for one pixel?",
            "Once for each pixel: put it before both loops over the box, not between them.",
        ),
        "transposed": SWAPPED,
    },
)  # fmt: skip


SPECS = [BRIGHTEN, BLOCKS_2D, TRANSPOSE_COPY, CROSS_READS, CROSS_BLUR, BOX_BLUR]
