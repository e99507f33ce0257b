"""Exercises of t1_05_shared_memory: tiles with a halo, barriers, and a race to mend.

tile   what a block computes; halo: what it reads beyond its tile
turn   one portion of a loop in which a block fills its shared array again
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ..cases import Case, Level, ceil_div, values
from ..images import grid_for, inner_only, oblong, owner, pixels, window_sum
from ..requirements import Requirement
from ..spec import KernelSpec, ValueSpec

UNIT = "t1_05_shared_memory"

BLOCK = 64  # threads of a block in one dimension
RADIUS = 3  # neighbours on each side
TILE = 16  # side of a square tile

Array = np.ndarray

RACE = (
    "Two threads use this place of the shared array.  Which line of yours makes one wait for the "
    "other?",
    "The message names both lines.  cuda.syncthreads() has to stand between them, on a way that "
    "every thread of the block takes.",
)
DIVERGENT = (
    "Does every thread of the block come to this barrier?",
    "Take the barrier out of the if, and let no thread return before it.  Guard the loads and the "
    "stores instead.",
)
LEFTOVERS = (
    "Which thread should have stored a value at this place, and did it?",
    "Shared memory does not start with zeros.  Each place that is read needs a store before the "
    "barrier: also where the array has no element for it, and also by threads that have nothing "
    "else to do.  A thread that has returned stores nothing.",
)
WAITING = {"race": RACE, "divergent_barrier": DIVERGENT, "uninitialised": LEFTOVERS}


# -- rotate_blocks -----------------------------------------------------------------------------


def rotate_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """One block and several, shifts within a warp and across it."""
    given = [(1, 1), (1, 17), (2, 5), (3, 33), (5, 63), (2, 0)]
    if level == "grader":
        given += [(int(rng.integers(1, 9)), int(rng.integers(1, BLOCK))) for _ in range(4)]
    for blocks, shift in given:
        a = values(rng, blocks * BLOCK)
        yield Case({"a": a, "shift": shift}, blocks, BLOCK, f"n = {len(a)}, shift = {shift}")


def rotated(case: Case, step: int = 1) -> Array:
    """Each portion of BLOCK elements, moved to the left by the shift."""
    portions = case.args["a"].astype(np.float64).reshape(-1, BLOCK)
    return np.roll(portions, -step * case.args["shift"], axis=1).ravel()


def rotated_whole(case: Case) -> Array:
    """The array as one portion."""
    return np.roll(case.args["a"].astype(np.float64), -case.args["shift"])


def not_wrapped(case: Case) -> np.ma.MaskedArray:
    """The last elements of a portion are not stored."""
    left_out = np.arange(case.args["a"].size) % BLOCK >= BLOCK - case.args["shift"]
    return np.ma.array(rotated(case), mask=left_out)


def rotate_counted() -> Case:
    """Eight blocks."""
    a = values(np.random.default_rng(5), 8 * BLOCK)
    return Case({"a": a, "shift": 9}, 8, BLOCK)


ROTATE_BLOCKS = KernelSpec(
    "rotate_blocks", UNIT, 2, ("a",), rotate_cases, lambda case: {"a": rotated(case)},
    inout=("a",),
    writes_once=True,
    shared_out="threads",
    suspects={
        "wrong_direction": lambda case: {"a": rotated(case, -1)},
        "not_wrapped": lambda case: {"a": not_wrapped(case)},
        "whole_array": lambda case: {"a": rotated_whole(case)},
        "unchanged": lambda case: {"a": case.args["a"].astype(np.float64)},
        "shift_ignored": lambda case: {"a": rotated(Case({**case.args, "shift": 1}, 1, BLOCK))},
    },
    causes={
        "wrong_direction": "Each portion has moved to the right.",
        "not_wrapped": "The last elements of each portion were not stored.",
        "whole_array": "The array has moved as one piece, across the blocks.",
        "unchanged": "No element has moved.",
        "shift_ignored": "Every portion has moved by one place, whatever the shift is.",
        "too_many_loads": "Elements are loaded from global memory more than once.",
        "too_many_stores": "Elements are stored to global memory more than once.",
        "too_much_shared": "Each block keeps more than its own elements.",
    },
    hints={
        **WAITING,
        "wrong_direction": (
            "Thread 0 shall store the element that stood shift places to its right.",
            "Read at (t + shift), not at (t - shift), or store at (t - shift).",
        ),
        "not_wrapped": (
            "Where does the last thread of the block find its element?",
            "It goes on at the beginning of the block: (t + shift) % BLOCK.",
        ),
        "whole_array": (
            "Which elements belong to one block?",
            "Use threadIdx.x for the place within the shared array, cuda.grid(1) only for a.",
        ),
        "unchanged": (
            "Which place of the shared array does your store read?",
            "Store s[t] on the way in, and read (t + shift) % BLOCK on the way out.",
        ),
        "shift_ignored": (
            "Which of the two parameters does your kernel not use?",
            "The place to read depends on shift: (t + shift) % BLOCK.",
        ),
        "out_of_bounds": (
            "Which places does the shared array have?",
            "0 to BLOCK - 1.  Bring t + shift back with % BLOCK.",
        ),
        "too_many_loads": (
            "How many elements does one thread have to read from a?",
            "One.  All further reads can go to the shared array.",
        ),
    },
    requirements=(
        Requirement("loads", "too_many_loads"),
        Requirement("stores", "too_many_stores"),
        Requirement("shared_bytes", "too_much_shared"),
    ),
    counted=rotate_counted,
)  # fmt: skip


# -- tile_reads --------------------------------------------------------------------------------

READS_HEIGHT, READS_WIDTH = 96, 160
READS_BLOCK = (32, 8)
READS_RADIUS = 2


def tile_reads(block: tuple[int, int] = READS_BLOCK, radius: int = READS_RADIUS) -> int:
    """Reads of the picture when each block loads its tile with the halo once."""
    gx, gy = grid_for(READS_HEIGHT, READS_WIDTH, block)
    return gx * gy * (block[0] + 2 * radius) * (block[1] + 2 * radius)


def without_corners() -> int:
    """Four strips, no corners."""
    (bx, by), r = READS_BLOCK, READS_RADIUS
    gx, gy = grid_for(READS_HEIGHT, READS_WIDTH, READS_BLOCK)
    return gx * gy * (bx * by + 2 * r * (bx + by))


TILE_READS = ValueSpec(
    "tile_reads", UNIT, 2, tile_reads, "the number of reads",
    suspects={
        "no_sharing": READS_HEIGHT * READS_WIDTH * (2 * READS_RADIUS + 1) ** 2,
        "no_halo": tile_reads(radius=0),
        "halo_too_thin": tile_reads(radius=READS_RADIUS // 2),
        "corners_left_out": without_corners(),
        "one_block_only": tile_reads() * READS_BLOCK[0] * READS_BLOCK[1]
        // (READS_HEIGHT * READS_WIDTH),
        "tile_of_16": tile_reads(block=(16, 16)),
        "halo_once_for_all": (READS_HEIGHT + 2 * READS_RADIUS) * (READS_WIDTH + 2 * READS_RADIUS),
    },
    causes={
        "no_sharing": "That is 25 reads for each pixel, as if nothing were shared.",
        "no_halo": "That is each pixel once: the halo is missing.",
        "halo_too_thin": "That is a halo of two pixels in all, or one on each side.",
        "corners_left_out": "That counts the four strips of the halo, but not its corners.",
        "one_block_only": "That is what one block reads.",
        "tile_of_16": "That is right for blocks of 16 x 16; here they are 32 x 8.",
        "halo_once_for_all": "That is a halo around the whole picture, not around each tile.",
    },
    hints={
        "wrong_values": (
            "How many pixels does one block load, and how many blocks are there?",
            "One block loads a rectangle of (32 + halo) x (8 + halo).  The halo lies on both "
            "sides.",
        ),
        "no_sharing": (
            "What does the shared array change?",
            "Each block loads each pixel of its rectangle once, however many threads need it.",
        ),
        "no_halo": (
            "Which pixels does a thread in the corner of a tile need?",
            "Also those up to two rows and two columns away, in the tiles next to it.",
        ),
        "halo_too_thin": (
            "How far from its pixel does a thread of a 5 x 5 box read?",
            "Two pixels to each side, so each side of the rectangle grows by four.",
        ),
        "corners_left_out": (
            "Does the thread in the corner of a tile need a pixel that lies diagonally from it?",
            "It does: the block loads the full rectangle, with its corners.",
        ),
        "one_block_only": (
            "The question is about all blocks together.",
            "Multiply by the number of blocks.",
        ),
        "tile_of_16": (
            "How wide and how high is a block here?",
            "32 threads along x and 8 along y.",
        ),
        "halo_once_for_all": (
            "Can a block use what another block has loaded?",
            "It cannot: every block loads a halo of its own.",
        ),
    },
)  # fmt: skip


# -- halo_mean ---------------------------------------------------------------------------------

WINDOW = 2 * RADIUS + 1


def halo_case(rng: np.random.Generator, n: int) -> Case:
    """(out, a, n) under enough blocks for n elements."""
    a = pixels(rng, 1, n)[0]
    return Case({"out": np.zeros_like(a), "a": a, "n": n}, ceil_div(n, BLOCK), BLOCK)


def halo_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Lengths around the halo and around the block."""
    lengths = [1, 3, 7, BLOCK - 1, BLOCK, BLOCK + 1, BLOCK + 2, 2 * BLOCK, 131, 3 * BLOCK + 2]
    if level == "grader":
        lengths += [int(n) for n in rng.integers(2, 700, size=4)]
    for n in [*lengths, 0]:
        yield halo_case(rng, n)


def mean_of(case: Case, left: int = RADIUS, right: int = RADIUS, beyond: str = "constant") -> Array:
    """The sum over `left` elements before and `right` after each, divided by WINDOW."""
    a = case.args["a"].astype(np.float64)
    if not a.size:
        return a
    wide = np.pad(a, RADIUS, mode=beyond)  # type: ignore[call-overload]
    moved = [wide[RADIUS + d : RADIUS + d + a.size] for d in range(-left, right + 1)]
    return np.asarray(np.sum(moved, axis=0)) / WINDOW


def mean_within(case: Case, left: bool, right: bool) -> Array:
    """The mean where a block sees zeros before its tile (`left`), after it (`right`), or both."""
    a = case.args["a"].astype(np.float64)
    i = np.arange(a.size)
    result = np.zeros(a.size)
    for d in range(-RADIUS, RADIUS + 1):
        j = i + d
        seen = (j >= 0) & (j < a.size)
        seen &= ~(left & (j // BLOCK < i // BLOCK)) & ~(right & (j // BLOCK > i // BLOCK))
        result[seen] += a[j[seen]]
    return result / WINDOW


def mean_of_existing(case: Case) -> Array:
    """Divided by the number of elements that exist."""
    ones = Case({**case.args, "a": np.ones_like(case.args["a"])}, case.grid, case.block)
    return mean_of(case) / np.maximum(mean_of(ones), 1 / WINDOW)


HALO_MEAN = KernelSpec(
    "halo_mean", UNIT, 4, ("out",), halo_cases, lambda case: {"out": mean_of(case)},
    writes_once=True,
    shared_out="threads",
    suspects={
        "halo_missing": lambda case: {"out": mean_within(case, True, True)},
        "left_halo_missing": lambda case: {"out": mean_within(case, True, False)},
        "right_halo_missing": lambda case: {"out": mean_within(case, False, True)},
        "ends_clamped": lambda case: {"out": mean_of(case, beyond="edge")},
        "ends_averaged": lambda case: {"out": mean_of_existing(case)},
        "last_offset_missing": lambda case: {"out": mean_of(case, right=RADIUS - 1)},
        "not_divided": lambda case: {"out": WINDOW * mean_of(case)},
        "divided_by_six": lambda case: {"out": WINDOW * mean_of(case) / (WINDOW - 1)},
    },
    causes={
        "halo_missing": "At the border of two blocks the elements of the other block count as "
        "zeros.",
        "left_halo_missing": "The first elements of each block miss their left neighbours.",
        "right_halo_missing": "The last elements of each block miss their right neighbours.",
        "ends_clamped": "Beyond the ends the nearest element was taken; zeros are asked for.",
        "ends_averaged": "Near the ends the sum was divided by fewer than seven.",
        "last_offset_missing": "Only six elements are summed: the last one on the right is "
        "missing.",
        "not_divided": "These are sums, not means.",
        "divided_by_six": "The sum of seven elements was divided by six.",
        "too_many_loads": "The block asks global memory for the same elements again and again.",
        "too_many_sectors": "The loads touch more sectors than tile and halo have.",
    },
    hints={
        **WAITING,
        "halo_missing": (
            "Which elements does the first thread of a block need, and who loads them?",
            "Three elements before the tile and three behind it belong into the shared array, too. "
            "Let a few threads load a second element.",
        ),
        "left_halo_missing": (
            "Which elements does the first thread of the second block need?",
            "Places 0, 1 and 2 of the shared array hold the three elements before the tile.",
        ),
        "right_halo_missing": (
            "Which elements does the last thread of the first block need?",
            "The last three places of the shared array hold the three elements behind the tile.",
        ),
        "ends_clamped": (
            "What counts for an element that does not exist?",
            "Store 0 in the shared array where the index is below 0 or not below n.",
        ),
        "ends_averaged": (
            "By how much is every sum divided?",
            "By seven, also near the ends.",
        ),
        "last_offset_missing": (
            "Which values does your range give?",
            "Seven of them: range(2 * RADIUS + 1), or range(-RADIUS, RADIUS + 1).",
        ),
        "not_divided": ("What makes a mean of a sum?", "Divide by seven."),
        "divided_by_six": ("How many elements are in the sum?", "2 * RADIUS + 1, that is seven."),
        "shifted_by_one": (
            "At which place of the shared array does the element of thread 0 stand?",
            "With a halo of RADIUS it stands at t + RADIUS.  Its window begins at t.",
        ),
        "too_many_loads": (
            "How often does one block load the same element?",
            "Once is enough: load tile and halo into the shared array, wait, then read only there.",
        ),
        "too_many_sectors": (
            "Do neighbouring threads load neighbouring elements?",
            "The tile starts at a multiple of 64 elements.  Load it as it lies: thread t loads "
            "element t.",
        ),
    },
    requirements=(
        Requirement("loads", "too_many_loads", limit=lambda case: 4 * case.blocks),
        Requirement("load_sectors", "too_many_sectors", limit=lambda case: 12 * case.blocks),
    ),
    counted=lambda: halo_case(np.random.default_rng(5), 20 * BLOCK),
)  # fmt: skip


# -- weigh_rows --------------------------------------------------------------------------------


def weigh_case(rng: np.random.Generator, rows: int, columns: int) -> Case:
    """(out, m, w, rows, columns) with a thread for each column."""
    m, w = pixels(rng, rows, columns), pixels(rng, 1, rows)[0]
    out = np.zeros(columns, np.float32)
    return Case(
        {"out": out, "m": m, "w": w, "rows": rows, "columns": columns},
        ceil_div(columns, BLOCK), BLOCK,
    )  # fmt: skip


def weigh_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Fewer rows than a turn, several turns, a last one that is not full; the same for columns."""
    sizes = [(2, 3), (64, 64), (65, 3), (128, 65), (130, 70), (200, 131), (1, 64), (600, 2)]
    if level == "grader":
        sizes += [(int(r), int(c)) for r, c in rng.integers(2, 300, size=(3, 2))]
    for rows, columns in [*sizes, (0, 5)]:
        yield weigh_case(rng, rows, columns)


def weighed(case: Case, rows: slice = slice(None)) -> Array:
    """The weighted sum over the rows, or over some of them."""
    m, w = (case.args[name].astype(np.float64)[rows] for name in ("m", "w"))
    return np.asarray(w @ m)


def first_weights(case: Case) -> Array:
    """Every turn uses the weights of the first one."""
    m, w = case.args["m"].astype(np.float64), case.args["w"].astype(np.float64)
    return np.asarray(w[np.arange(len(w)) % BLOCK] @ m)


def whole_turns(case: Case) -> slice:
    """The rows of the turns that are full."""
    return slice(0, len(case.args["w"]) // BLOCK * BLOCK)


def last_turn(case: Case) -> slice:
    """The rows of the last turn."""
    return slice(max(len(case.args["w"]) - 1, 0) // BLOCK * BLOCK, None)


def turns(case: Case) -> int:
    """Turns of all blocks together."""
    return ceil_div(case.args["rows"], BLOCK) * case.blocks


WEIGH_ROWS = KernelSpec(
    "weigh_rows", UNIT, 2, ("out",), weigh_cases, lambda case: {"out": weighed(case)},
    writes_once=True,
    shared_out="threads",
    suspects={
        "first_turn_only": lambda case: {"out": weighed(case, slice(0, BLOCK))},
        "whole_turns_only": lambda case: {"out": weighed(case, whole_turns(case))},
        "last_turn_only": lambda case: {"out": weighed(case, last_turn(case))},
        "first_weights_again": lambda case: {"out": first_weights(case)},
        "not_weighed": lambda case: {"out": case.args["m"].astype(np.float64).sum(axis=0)},
    },
    causes={
        "first_turn_only": "Only the first 64 rows are in the sums.",
        "whole_turns_only": "The rows of the last turn, which is not full, are missing.",
        "last_turn_only": "Only the rows of the last turn are in the sums.",
        "first_weights_again": "Every turn used the weights of the first one.",
        "not_weighed": "These are sums without weights.",
        "too_many_barriers": "There are more than two barriers in a turn.",
        "too_many_loads": "Weights are loaded from global memory for each row again.",
        "too_much_shared": "Each block keeps more weights than it uses in a turn.",
    },
    hints={
        "race": (
            "The message names a line that writes s and a line that reads it.  In which turn of "
            "the loop is each thread?",
            "A thread in its next turn must not store into s before all threads have read it in "
            "this one.  A second cuda.syncthreads() belongs at the end of the loop.",
        ),
        "divergent_barrier": DIVERGENT,
        "uninitialised": LEFTOVERS,
        "first_turn_only": (
            "How many rows are there, and how many places has s?",
            "Keep the loop over start: range(0, rows, BLOCK).",
        ),
        "whole_turns_only": (
            "What happens to the last rows when rows is not a multiple of 64?",
            "Keep min(BLOCK, rows - start) in the inner loop.",
        ),
        "last_turn_only": (
            "Where is total set to zero?",
            "Once, before the loop over the turns.",
        ),
        "first_weights_again": (
            "When does s get new weights?",
            "Each turn loads w[start + t].",
        ),
        "not_weighed": ("What is each element of m multiplied with?", "With its weight: s[k]."),
        "too_many_barriers": (
            "Which two things must not overlap?",
            "One barrier after s is filled, one after it is read: two in a turn, and none in the "
            "inner loop.",
        ),
        "too_many_loads": (
            "Where should the inner loop take its weight from?",
            "From s, which each block fills once a turn.",
        ),
        "too_much_shared": (
            "How many weights does a block need at a time?",
            "64, as in the given kernel: there may be more rows than any shared array has places.",
        ),
    },
    requirements=(
        Requirement("barriers", "too_many_barriers", limit=lambda case: 2 * turns(case)),
        Requirement("loads", "too_many_loads"),
        Requirement("shared_bytes", "too_much_shared", limit=lambda case: 2048),
    ),
    counted=lambda: weigh_case(np.random.default_rng(5), 4 * BLOCK, 2 * BLOCK),
)  # fmt: skip


# -- tile_blur ---------------------------------------------------------------------------------

BOX = np.ones((3, 3))
Mistake = Callable[[Array], Array]


def blur_case(rng: np.random.Generator, height: int, width: int) -> Case:
    """(out, a, height, width) under blocks of TILE x TILE."""
    a = pixels(rng, height, width)
    return Case(
        {"out": np.zeros_like(a), "a": a, "height": height, "width": width},
        grid_for(height, width, (TILE, TILE)), (TILE, TILE),
    )  # fmt: skip


def blur_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Pictures within a tile, of exactly one, a little more, and thin ones."""
    shapes = [(3, 7), (16, 17), (17, 33), (31, 50), (1, 40), (35, 1), (1, 1)]
    if level == "grader":
        shapes += [oblong(rng, 18, 70) for _ in range(3)]
    for height, width in shapes:
        yield blur_case(rng, height, width)


def blurred(image: Array, beyond: str = "edge") -> Array:
    """The mean of the box around each pixel."""
    return window_sum(image, BOX, beyond) / 9


def tile_by_tile(beyond: str) -> Mistake:
    """Each tile blurred as a picture of its own."""

    def mistake(image: Array) -> Array:
        result = np.zeros_like(image)
        for y in range(0, image.shape[0], TILE):
            for x in range(0, image.shape[1], TILE):
                part = np.s_[y : y + TILE, x : x + TILE]
                result[part] = blurred(image[part], beyond)
        return result

    return mistake


def from_the_corner(image: Array) -> Array:
    """The shared array begins with the tile itself, not with the ring around it."""
    height, width = image.shape
    wide = np.pad(image, ((0, 2), (0, 2)), mode="edge")
    boxes = [wide[dy : dy + height, dx : dx + width] for dy in range(3) for dx in range(3)]
    return np.asarray(sum(boxes) / 9)


def blocks_exchanged(image: Array) -> Array:
    """blockIdx.x counts the tiles downward, blockIdx.y to the right."""
    y, x = np.indices(image.shape)
    row, column = x // TILE * TILE + y % TILE, y // TILE * TILE + x % TILE
    last_row, last_column = image.shape[0] - 1, image.shape[1] - 1
    boxes = [
        image[np.clip(row + dy, 0, last_row), np.clip(column + dx, 0, last_column)]
        for dy in (-1, 0, 1)
        for dx in (-1, 0, 1)
    ]
    return np.asarray(sum(boxes) / 9)


def on_image(mistake: Mistake) -> Callable[[Case], dict[str, Array]]:
    """A suspect from a function of the picture alone."""
    return lambda case: {"out": mistake(case.args["a"].astype(np.float64))}


TILE_BLUR = KernelSpec(
    "tile_blur", UNIT, 4, ("out",), blur_cases, on_image(blurred),
    writes_once=True,
    shared_out="threads",
    owner=owner,
    suspects={
        "halo_clamped": on_image(tile_by_tile("edge")),
        "halo_zero": on_image(tile_by_tile("constant")),
        "edges_zero_padded": on_image(lambda a: blurred(a, "constant")),
        "from_the_corner": on_image(from_the_corner),
        "blocks_exchanged": on_image(blocks_exchanged),
        "edges_copied": on_image(lambda a: inner_only(a, blurred(a))),
        "divided_by_eight": on_image(lambda a: blurred(a) * 9 / 8),
        "not_divided": on_image(lambda a: blurred(a) * 9),
    },
    causes={
        "halo_clamped": "At the border of a tile its own pixels stand in for those of the next "
        "tile.",
        "halo_zero": "At the border of a tile the pixels of the next tile count as zeros.",
        "edges_zero_padded": "Beyond the picture zeros were taken; the nearest pixel is asked for.",
        "from_the_corner": "Each pixel is the mean of a box that begins at the pixel itself and "
        "goes to the right and down.",
        "blocks_exchanged": "The tiles have changed places: blockIdx.x was used for rows and "
        "blockIdx.y for columns.",
        "edges_copied": "The pixels on the edge of the picture are plain copies.",
        "divided_by_eight": "The sum of nine pixels was divided by eight.",
        "not_divided": "These are sums, not means.",
        "too_many_loads": "The block asks global memory for pixels more often than tile and halo "
        "need.",
        "too_many_sectors": "The loads touch far more sectors than tile and halo have.",
        "too_much_shared": "Each block keeps more than its tile with a halo of one pixel.",
    },
    hints={
        **WAITING,
        "halo_clamped": (
            "Which pixels does a thread at the border of its tile need?",
            "Load the ring around the tile as well.  Clamp to the picture, not to the tile.",
        ),
        "halo_zero": (
            "Which pixels does a thread at the border of its tile need?",
            "Load the ring around the tile as well: 18 x 18 pixels for 16 x 16 threads.",
        ),
        "edges_zero_padded": (
            "What counts for a pixel outside the picture?",
            "Clamp the row and the column of each load with min and max.",
        ),
        "from_the_corner": (
            "Which pixel stands at place [0, 0] of your shared array?",
            "The ring comes first: the one in row blockIdx.y * TILE - 1, column "
            "blockIdx.x * TILE - 1.",
        ),
        "blocks_exchanged": (
            "In which direction does blockIdx.x count the tiles?",
            "Rows come from blockIdx.y, columns from blockIdx.x.",
        ),
        "edges_copied": (
            "Does the exercise make an exception for edge pixels?",
            "It does not.  With clamped loads all nine places of the shared array are filled.",
        ),
        "divided_by_eight": ("How many pixels are in the sum?", "Nine: divide by nine."),
        "not_divided": ("What makes a mean of a sum?", "Divide by nine."),
        "out_of_bounds": (
            "Which row or column does this thread ask for, and in which array?",
            "Clamp with min and max before you load from a.  The shared array has places 0 to 17 "
            "on each axis.",
        ),
        "too_many_loads": (
            "How often does one block load the same pixel?",
            "Once is enough.  256 threads load 324 pixels: let the number of the thread within its "
            "block run on in steps of 256.",
        ),
        "too_many_sectors": (
            "Do neighbouring threads load neighbouring pixels of one row?",
            "Number the 324 places row by row: k // 18 is the row, k % 18 the column.",
        ),
        "too_much_shared": (
            "How many pixels does the block need?",
            "18 x 18, as float32: 1,296 bytes.",
        ),
    },
    requirements=(
        Requirement("loads", "too_many_loads", limit=lambda case: 32 * case.blocks),
        Requirement("load_sectors", "too_many_sectors", times=1.5),
        Requirement("shared_bytes", "too_much_shared", times=1.25),
    ),
    counted=lambda: blur_case(np.random.default_rng(5), 5 * TILE, 6 * TILE),
)  # fmt: skip


SPECS = [ROTATE_BLOCKS, TILE_READS, HALO_MEAN, WEIGH_ROWS, TILE_BLUR]
