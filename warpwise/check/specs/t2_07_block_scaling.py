"""Exercises of t2_07_block_scaling: bytes of blocks, scales of rows and blocks, products of them.

amax    the largest magnitude of a tensor, a row or a block
block   32 neighbouring values (MX) or 16 (NVFP4) that share a scale
up      the rule: the smallest power of two with amax / scale <= the largest element
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ...numerics import E2M1, MXFP4, MXFP8, decode, encode, pack, quantise
from ...numerics.blocks import BlockFormat, mx_scales
from ..cases import Case, Level, as_dims, ceil_div, sizes, values
from ..requirements import Requirement
from ..spec import FunctionSpec, KernelSpec
from ..tolerance import Tolerance

UNIT = "t2_07_block_scaling"
MX = 32

Array = np.ndarray
Answer = Mapping[str, Array]


# -- block_bytes -------------------------------------------------------------------------------


def block_bytes(rows: int, columns: int, bits: int, block: int, tensor_bytes: int) -> int:
    """Whole blocks in each row."""
    blocks = rows * -(-columns // block)
    return blocks * (block * bits // 8 + 1) + tensor_bytes


def byte_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[int, int, int, int, int]]:
    """The three formats of the lesson; rows that fill their blocks, and rows that do not."""
    yield from [(2, 40, 4, 32, 0), (1, 32, 4, 32, 0), (3, 96, 8, 32, 0), (5, 48, 4, 16, 4),
                (4096, 11008, 4, 16, 4), (7, 100, 4, 32, 0), (3, 65, 6, 32, 0)]  # fmt: skip
    for _ in range(12 if level == "grader" else 3):
        size = int(rng.choice([16, 32, 64]))
        bits = int(rng.choice([4, 6, 8]))
        yield (int(rng.integers(2, 99)), int(rng.integers(2, 999)), bits, size,
               int(rng.choice([0, 4])))  # fmt: skip


BLOCK_BYTES = FunctionSpec(
    "block_bytes", UNIT, 1, byte_inputs, block_bytes,
    suspects={
        "scales_forgotten": lambda r, c, b, s, t: r * -(-c // s) * (s * b // 8) + t,
        "tensor_forgotten": lambda r, c, b, s, t: block_bytes(r, c, b, s, 0),
        "tail_dropped": lambda r, c, b, s, t: r * (c // s) * (s * b // 8 + 1) + t,
        "filled_at_the_end_alone": lambda r, c, b, s, t: -(-r * c // s) * (s * b // 8 + 1) + t,
        "elements_not_filled": lambda r, c, b, s, t: r * -(-c * b // 8) + r * -(-c // s) + t,
        "byte_an_element": lambda r, c, b, s, t: block_bytes(r, c, 8, s, t),
        "in_bits": lambda r, c, b, s, t: 8 * block_bytes(r, c, b, s, t),
        "four_bytes_a_scale": lambda r, c, b, s, t: r * -(-c // s) * (s * b // 8 + 4) + t,
        "tensor_in_each_row": lambda r, c, b, s, t: block_bytes(r, c, b, s, 0) + r * t,
    },
    causes={
        "scales_forgotten": "The scales of the blocks are missing.",
        "tensor_forgotten": "The tensor's own scale is missing.",
        "tail_dropped": "The last block of a row is missing where the row does not fill it.",
        "filled_at_the_end_alone": "The rows are laid one behind the other; but blocks do not go "
        "over the end of a row, so each row is filled up.",
        "elements_not_filled": "The zeros that fill the last block of a row are stored, too.",
        "byte_an_element": "Each element has a byte of its own, whatever bits says.",
        "in_bits": "Those are bits.",
        "four_bytes_a_scale": "The scale of a block is counted with 4 bytes; it has one.",
        "tensor_in_each_row": "The tensor's scale is there once, not in each row.",
    },
    hints={
        "scales_forgotten": ("What has a block besides its elements?", "Add 1 for each block."),
        "tensor_forgotten": ("Which parameter do you not use?", "Add tensor_bytes once."),
        "tail_dropped": ("How many blocks hold 40 values?", "Round up: -(-columns // block)."),
        "filled_at_the_end_alone": ("How many blocks have two rows of 40?",
                                    "Round up in each row: rows * -(-columns // block)."),
        "elements_not_filled": ("How many bytes has a block, full or not?",
                                "Count whole blocks: block * bits // 8 + 1 bytes each."),
        "byte_an_element": ("How many elements of 4 bits share a byte?",
                            "block * bits // 8 bytes of elements."),
        "in_bits": ("How many bits has a byte?", "Divide the bits of the elements by 8."),
        "four_bytes_a_scale": ("How long is an E8M0, and how long an E4M3?", "One byte."),
        "tensor_in_each_row": ("How many scales has the tensor?", "Add tensor_bytes once."),
        "wrong_type": ("Is half a byte possible here?", "Use // to divide."),
        "wrong_values": (
            "Try the example: two rows of two blocks of 17 bytes.",
            "rows * -(-columns // block) blocks of block * bits // 8 + 1 bytes, plus "
            "tensor_bytes.",
        ),
    },
)  # fmt: skip


# -- row_scales --------------------------------------------------------------------------------


def row_scales(x: Array) -> tuple[Array, Array]:
    """(codes, scales) of each row."""
    return by_scale(x, np.abs(x).max(axis=1))


def by_scale(x: Array, amax: Array, end: float = 448.0, fmt: str = "e4m3") -> tuple[Array, Array]:
    """(codes, scales) from any largest magnitudes, one for each row."""
    scales = np.where(amax > 0, amax / end, 1.0)
    return np.asarray(encode(x / scales[:, None], fmt, saturate=True)), scales


def row_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[Array]]:
    """The example, a row of zeros, an outlier, rows of very different size."""
    yield (np.array([[1.0, -2.0]]),)
    yield (np.array([[0.5, 0.25, -3.0], [0.0, 0.0, 0.0], [-7.0, 1.0, 2.0]]),)
    for _ in range(6 if level == "grader" else 3):
        m, n = (int(rng.integers(2, 12)) for _ in range(2))
        x = rng.standard_normal((m, n)) * np.exp2(rng.integers(-12, 12, m).astype(float))[:, None]
        x[rng.integers(m), rng.integers(n)] *= -1e4
        yield (x,)


ROW_SCALES = FunctionSpec(
    "row_scales", UNIT, 2, row_inputs, row_scales,
    suspects={
        "one_scale": lambda x: by_scale(x, np.full(len(x), np.abs(x).max())),
        "sign_forgotten": lambda x: by_scale(x, np.maximum(x.max(axis=1), 0)),
        "ends_at_240": lambda x: by_scale(x, np.abs(x).max(axis=1), 240.0),
        "scales_inverted": lambda x: (row_scales(x)[0], 1 / row_scales(x)[1]),
        "order_exchanged": lambda x: row_scales(x)[::-1],
        "amax_not_scale": lambda x: (row_scales(x)[0], np.abs(x).max(axis=1)),
        "not_divided": lambda x: (
            np.asarray(encode(x, "e4m3", saturate=True)), row_scales(x)[1]
        ),
        "values_not_codes": lambda x: (
            np.asarray(decode(row_scales(x)[0], "e4m3")), row_scales(x)[1]
        ),
        "as_e5m2": lambda x: by_scale(x, np.abs(x).max(axis=1), 57344.0, "e5m2"),
        "zero_rows": lambda x: (row_scales(x)[0], np.abs(x).max(axis=1) / 448),
    },
    causes={
        "one_scale": "All rows have the scale of the whole matrix.",
        "sign_forgotten": "The largest value is taken, not the largest magnitude.",
        "ends_at_240": "The scale is made for 240; this E4M3 ends at 448.",
        "scales_inverted": "The scales are upside down: they are multiplied to come back.",
        "order_exchanged": "Scales and codes have changed places.",
        "amax_not_scale": "Those are the largest magnitudes; the scale is that over 448.",
        "not_divided": "The values are encoded without being divided by their scale.",
        "values_not_codes": "Those are the rounded values; their codes are asked for.",
        "as_e5m2": "That is E5M2.",
        "zero_rows": "The scale of a row of zeros is 0; it should be 1.",
    },
    hints={
        "one_scale": ("Along which axis is the maximum?", "max(axis=1)."),
        "sign_forgotten": ("What if the largest magnitude is that of a negative value?",
                           "Take np.abs first."),
        "ends_at_240": ("Where does E4M3 end?", "Divide by 448."),
        "scales_inverted": ("How do you get back from a code?", "scale = largest / 448."),
        "order_exchanged": ("What comes first?", "Return codes, scales."),
        "amax_not_scale": ("What is the scale?", "Divide by 448."),
        "not_divided": ("What should the largest value of a row become?",
                        "encode(x / scales[:, None], ...)."),
        "values_not_codes": ("What does encode return?", "Return that, without decode."),
        "as_e5m2": ("Which fp8 is asked for?", 'encode(..., "e4m3"), and 448.'),
        "zero_rows": ("What is 0 / 448?", "Replace scales that are 0 by 1.0."),
        "wrong_type": ("What does the function return?",
                       "Two arrays: codes of shape (m, n) and scales of shape (m,)."),
        "wrong_values": (
            "Take one row.  What are its largest magnitude, its scale, its first quotient?",
            "scales = np.abs(x).max(axis=1) / 448, zeros replaced by 1.0; codes of x / "
            "scales[:, None].",
        ),
    },
)  # fmt: skip


# -- mended_amax -------------------------------------------------------------------------------


def amax_case(rng: np.random.Generator, n: int, block: int) -> Case:
    """The largest magnitude is a negative value, anywhere."""
    x = values(rng, n)
    if n:
        x[int(rng.integers(n))] = np.float32(-10.5 - rng.random())
    return Case({"out": np.zeros(1, np.float32), "x": x, "n": n}, ceil_div(n, block) + 1, block,
                f"n = {n}")  # fmt: skip


def amax_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Edges of blocks and warps; no element at all."""
    for block in (32, 128):
        for n in sizes(block, level, rng):
            yield amax_case(rng, n, block)


def largest_of(pick: Callable[[Array], Any]) -> Callable[[Case], Answer]:
    """An answer from the elements."""
    return lambda case: {"out": np.array([float(pick(case.args["x"])) if case.args["n"] else 0.0])}


def _warps_added(x: Array) -> Any:
    """The largest magnitudes of the warps, added in float32, from the first to the last."""
    tops = [np.abs(x[k : k + MX]).max() for k in range(0, x.size, MX)]
    return np.add.accumulate(np.array(tops, np.float32))[-1]


MENDED_AMAX = KernelSpec(
    "mended_amax", UNIT, 2, ("out",), amax_cases, largest_of(lambda x: np.abs(x).max()),
    inout=("out",),
    tolerance={"float32": Tolerance()},
    suspects={
        "sign_forgotten": largest_of(lambda x: max(x.max(), 0)),
        "last_one_wins": largest_of(lambda x: np.abs(x[-1])),
        "smallest": largest_of(lambda x: np.abs(x).min()),
        "sum_of_all": largest_of(lambda x: np.abs(x).astype(float).sum()),
        "added_up": largest_of(_warps_added),
        "first_warp_only": largest_of(lambda x: np.abs(x[:MX]).max()),
        "first_lanes_only": largest_of(lambda x: np.abs(x[::MX]).max()),
        "full_warps_only": largest_of(
            lambda x: np.abs(x[: x.size // MX * MX]).max(initial=0.0)
        ),
    },
    causes={
        "sign_forgotten": "The largest value is found, not the largest magnitude.",
        "last_one_wins": "That is the last element: each thread read the old maximum, and the last "
        "one wrote over all others.",
        "smallest": "That is the smallest magnitude.",
        "sum_of_all": "That is the sum of the magnitudes.",
        "added_up": "The largest magnitudes of the warps are added up.",
        "first_warp_only": "Only the first warp's elements are looked at.",
        "first_lanes_only": "Only lane 0 of each warp is heard: the others' values are lost.",
        "full_warps_only": "A warp that has fewer than 32 elements is left out.",
        "too_many_atomics": "The result is right, but lanes of one warp queue up at one address.",
    },
    hints={
        "race": ("Two threads change out[0] at the same time.  Which operation does not break?",
                 "cuda.atomic.max(out, 0, top), by lane 0 of each warp."),
        "sign_forgotten": ("What is the magnitude of -11?", "abs(x[i])."),
        "last_one_wins": ("Who reads out[0] between your read and your write?",
                          "Let lane 0 of each warp use cuda.atomic.max."),
        "smallest": ("Which of two values goes on?", "max, not min."),
        "sum_of_all": ("Which operation joins two values?", "max, not +."),
        "added_up": ("What does the atomic operation do with two values?",
                     "cuda.atomic.max, not add."),
        "first_warp_only": ("Which warp uses the atomic operation?", "Every one: i % 32 == 0."),
        "first_lanes_only": ("Who knows the warp's largest value?",
                             "After five shuffles with max every lane does."),
        "full_warps_only": ("What does a lane without element bring?",
                            "A 0, and it takes part in the shuffles."),
        "too_many_atomics": ("How many lanes of a warp call the atomic operation?",
                             "Shuffle first; then lane 0 alone."),
        "mask_names_absent": ("Do all 32 lanes come to the shuffle?",
                              "End the if i < n before the shuffles; lanes without an element "
                              "bring 0."),
        "inactive_source": ("Do all 32 lanes come to the shuffle?",
                            "End the if i < n before the shuffles; lanes without an element "
                            "bring 0."),
        "wrong_values": (
            "Which elements does the value come from?",
            "Five shuffles with max by all lanes, then one cuda.atomic.max by lane 0.",
        ),
    },
    requirements=(
        Requirement("atomic_transactions", "too_many_atomics",
                    limit=lambda case: ceil_div(case.args["n"], MX)),
        Requirement("shared_atomic_transactions", "too_many_atomics",
                    limit=lambda case: ceil_div(case.args["n"], MX)),
    ),
    counted=lambda: amax_case(np.random.default_rng(76), 1000, 128),
)  # fmt: skip


# -- mx_scale_bytes ----------------------------------------------------------------------------


def mx_values(rng: np.random.Generator, blocks: int, fmt: BlockFormat) -> Array:
    """Blocks of every size: exactly at the end of the format, just beyond, zeros, tiny, huge."""
    x = rng.uniform(-0.99, 0.99, (blocks, MX))
    sizes_ = np.exp2(rng.integers(-30, 30, blocks).astype(float)) * rng.uniform(0.5, 1, blocks)
    end = fmt.element.max
    edges = [end, np.nextafter(np.float32(end), np.float32(np.inf)), end / 4, 1.0, end * 1.05,
             0.0, end * 2.0**-80, np.float32(end * 2.0**70) * 1.01]  # fmt: skip
    some = min(len(edges), max(blocks - 2, 0))
    sizes_[1 : 1 + some] = edges[:some]
    x = (x * sizes_[:, None]).astype(np.float32)
    at = rng.integers(0, MX, blocks)
    x[np.arange(blocks), at] = (sizes_ * rng.choice([-1, 1], blocks)).astype(np.float32)
    return (x + 0.0).reshape(-1)


def mx_case(rng: np.random.Generator, blocks: int, threads: int) -> Case:
    """A warp for each block, and some warps with nothing to do."""
    args = {"scales": np.zeros(blocks, np.uint8), "x": mx_values(rng, blocks, MXFP8),
            "blocks": blocks}  # fmt: skip
    return Case(args, ceil_div(MX * blocks, threads) + 1, threads, f"blocks = {blocks}")


def mx_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """One block, a few, and enough for every edge."""
    for blocks, threads in ((1, 32), (3, 64), (12, 128), (33, 128), (0, 32)):
        yield mx_case(rng, blocks, threads)
    if level == "grader":
        for _ in range(3):
            yield mx_case(rng, int(rng.integers(10, 80)), 64)


def amax_of(case: Case) -> Array:
    """The largest magnitude of each block, float64."""
    return np.abs(case.args["x"].reshape(-1, MX)).max(axis=1).astype(np.float64)


def coded(change: Callable[[Array], Array]) -> Callable[[Case], Answer]:
    """Codes from the largest magnitudes, cut to a byte."""
    return lambda case: {"scales": change(amax_of(case)).astype(np.int64) & 0xFF}


def raw_code(amax: Array, extra: Any = 0.875, offset: int = 9) -> Array:
    """The rule up without the ends."""
    m, e = np.frexp(amax)
    return e - offset + 127 + (m > extra)


def _first_blocks(case: Case, count: int) -> Answer:
    whole = np.ma.array(mx_scales(amax_of(case), MXFP8).astype(np.int64))
    whole[count:] = np.ma.masked
    return {"scales": whole}


MX_SCALE_BYTES = KernelSpec(
    "mx_scale_bytes", UNIT, 2, ("scales",), mx_cases,
    coded(lambda amax: mx_scales(amax, MXFP8)),
    writes_once=True,
    suspects={
        "last_lane_stores": lambda case: {
            "scales": mx_scales(np.abs(case.args["x"].reshape(-1, MX)[:, -1]), MXFP8)
        },
        "rule_floor": coded(lambda amax: mx_scales(amax, MXFP8, "floor")),
        "one_too_large": coded(lambda amax: mx_scales(amax, MXFP8) + (amax > 0)),
        "end_itself_too_large": coded(
            lambda amax: np.where(np.frexp(amax)[0] == 0.875, 1, 0) + mx_scales(amax, MXFP8)
        ),
        "bias_forgotten": coded(lambda amax: np.where(amax > 0, raw_code(amax) - 127, 0)),
        "bias_even_for_zero": coded(
            lambda amax: np.where(amax > 0, mx_scales(amax, MXFP8), raw_code(amax))
        ),
        "for_e2m1": coded(lambda amax: mx_scales(amax, MXFP4)),
        "power_above_amax": coded(lambda amax: np.where(amax > 0, np.frexp(amax)[1] + 127, 0)),
        "scale_inverted": coded(lambda amax: np.where(amax > 0, 254 - raw_code(amax), 0)),
        "not_clipped": coded(lambda amax: np.where(amax > 0, raw_code(amax), 0)),
        "sign_forgotten": lambda case: {
            "scales": mx_scales(
                np.maximum(case.args["x"].reshape(-1, MX).max(axis=1), 0), MXFP8
            ).astype(np.int64)
        },
        "first_value_only": lambda case: {
            "scales": mx_scales(np.abs(case.args["x"].reshape(-1, MX)[:, 0]), MXFP8)
        },
        "half_of_the_block": lambda case: {
            "scales": mx_scales(np.abs(case.args["x"].reshape(-1, MX)[:, :16]).max(axis=1), MXFP8)
        },
        "first_thread_block_only": lambda case: _first_blocks(
            case, as_dims(case.block)[0] // MX
        ),
    },
    causes={
        "last_lane_stores": "The scale is that of the last value of the block: the last lane wins, "
        "and it does not know the largest.",
        "rule_floor": "That is the rule floor: where amax / scale lies between 448 and 512, values "
        "would be cut off.",
        "one_too_large": "Every scale is twice as large as it need be.",
        "end_itself_too_large": "Where amax / scale is exactly 448, the next scale is taken; 448 "
        "fits.",
        "bias_forgotten": "127 is not added to the exponent.",
        "bias_even_for_zero": "A block of zeros gets another code than 0.",
        "for_e2m1": "Those are the scales for elements that end at 6; E4M3 ends at 448.",
        "power_above_amax": "That is the power of two above amax itself: the 448 is forgotten.",
        "scale_inverted": "The scales are upside down.",
        "not_clipped": "A code below 0 runs over.",
        "sign_forgotten": "The largest value is taken, not the largest magnitude.",
        "first_value_only": "Only the first value of each block is looked at: the largest of the "
        "warp does not reach the lane that stores.",
        "half_of_the_block": "Only the first 16 values of each block are looked at.",
        "first_thread_block_only": "Only the scales of the first thread block are written.",
    },
    hints={
        "last_lane_stores": ("Which lane knows the largest after shuffles downwards?",
                             "Lane 0 alone; let it alone store."),
        "rule_floor": ("What does 500 / scale have to be at most?",
                       "Add 1 where m > 0.875."),
        "one_too_large": ("Which code has amax 448?", "127: add 1 only where m > 0.875."),
        "end_itself_too_large": ("Which code has amax 448?", "127: m > 0.875, not >=."),
        "bias_forgotten": ("Which code has the scale 1?", "127: add it."),
        "bias_even_for_zero": ("What does frexp say of 0?", "If top is 0 the code is 0."),
        "for_e2m1": ("Where do the elements end?", "448 is 0.875 * 2^9."),
        "power_above_amax": ("What must amax / scale be at most?",
                             "448, which is 0.875 * 2^9: subtract 9."),
        "scale_inverted": ("Is a large block divided by a large or a small scale?",
                           "e - 9 + 127 grows with amax."),
        "not_clipped": ("Which code has a block with amax 2^-120?", "max(code, 0)."),
        "sign_forgotten": ("What is the magnitude of -11?", "abs(x[i])."),
        "first_value_only": ("Who knows the largest of the warp?",
                             "After five shuffles with xor and max every lane does."),
        "half_of_the_block": ("How many rounds do 32 lanes need?",
                              "Five: distances 16, 8, 4, 2, 1."),
        "first_thread_block_only": ("Which warp of the grid are you?", "cuda.grid(1) // 32."),
        "too_many_sectors": ("Which elements do neighbouring threads read?",
                             "x[i], and i is the number of the thread in the grid."),
        "wrong_values": (
            "Divide the first wrong block's amax by your scale.  Is it at most 448, and more than "
            "224?",
            "m, e = math.frexp(top); e - 9 + 127, plus 1 if m > 0.875, between 0 and 254.",
        ),
    },
    requirements=(
        Requirement("load_sectors", "too_many_sectors"),
        Requirement("shared_bytes", "too_much_shared"),
    ),
    counted=lambda: mx_case(np.random.default_rng(77), 64, 128),
)  # fmt: skip


# -- nvfp4_product -----------------------------------------------------------------------------

NV = 16


def product_case(rng: np.random.Generator, m: int, n: int, k: int) -> Case:
    """Elements of E2M1, mostly positive; scales that differ from block to block and row to row."""
    line = np.array([0.5, 1, 1.5, 2, 3, 4, 6], np.float32)
    a, b = (
        (rng.choice(line, (rows, k)) * rng.choice([1, 1, 1, -1], (rows, k))).astype(np.float32)
        for rows in (m, n)
    )
    scale_a, scale_b = (
        np.asarray(decode(rng.integers(0x30, 0x48, (rows, k // NV)), "e4m3")).astype(np.float32)
        for rows in (m, n)
    )
    args = {"out": np.zeros((m, n), np.float32), "a": a, "b": b, "scale_a": scale_a,
            "scale_b": scale_b, "tensor": np.float32(rng.uniform(0.3, 0.7)), "m": m, "n": n,
            "k": k}  # fmt: skip
    grid = (ceil_div(n, 8) + 1, ceil_div(m, 4) + 1)
    return Case(args, grid, (8, 4), f"m = {m}, n = {n}, k = {k}")


def product_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """One block along k, several, none; sizes beside the edges of the thread block."""
    for m, n, k in ((1, 1, 16), (2, 3, 32), (5, 9, 48), (3, 17, 160), (4, 8, 0)):
        yield product_case(rng, m, n, k)
    if level == "grader":
        for _ in range(3):
            yield product_case(rng, int(rng.integers(2, 14)), int(rng.integers(2, 14)), 112)


def product_of(case: Case, **changed: Any) -> Answer:
    """In float64.  changed: other scales."""
    has = {**case.args, **changed}
    left, right = (
        has[name].astype(float) * np.repeat(has[f"scale_{name}"].astype(float), NV, axis=1)
        for name in "ab"
    )
    return {"out": left @ right.T * float(has["tensor"])}


def _first(scales: Array) -> Array:
    return np.broadcast_to(scales[:, :1], scales.shape) if scales.size else scales


def _scales_added(case: Case) -> Answer:
    parts = np.einsum(
        "mbe,nbe->mnb", *(case.args[name].astype(float).reshape(len(case.args[name]), -1, NV)
                          for name in "ab")
    )  # fmt: skip
    both = case.args["scale_a"][:, None].astype(float) + case.args["scale_b"][None]
    return {"out": (parts * both).sum(axis=2) * float(case.args["tensor"])}


def _ones(case: Case, name: str) -> Array:
    return np.ones_like(case.args[name])


def _tensor_in_each_block(case: Case) -> Answer:
    square = float(case.args["tensor"]) ** 2
    return product_of(case, tensor=square)


NVFP4_PRODUCT = KernelSpec(
    "nvfp4_product", UNIT, 2, ("out",), product_cases, product_of,
    tolerance={"float32": Tolerance(1e-5, 1e-4)},
    writes_once=True,
    suspects={
        "scale_a_forgotten": lambda case: product_of(case, scale_a=_ones(case, "scale_a")),
        "scale_b_forgotten": lambda case: product_of(case, scale_b=_ones(case, "scale_b")),
        "no_block_scales": lambda case: product_of(
            case, scale_a=_ones(case, "scale_a"), scale_b=_ones(case, "scale_b")
        ),
        "tensor_forgotten": lambda case: product_of(case, tensor=1.0),
        "tensor_twice": _tensor_in_each_block,
        "first_scales_for_all": lambda case: product_of(
            case, scale_a=_first(case.args["scale_a"]), scale_b=_first(case.args["scale_b"])
        ),
        "scales_added": _scales_added,
        "first_block_only": lambda case: product_of(
            case,
            **{name: np.where(np.arange(case.args["k"]) < NV, case.args[name], 0) for name in "ab"},
        ),
        "last_block_missing": lambda case: product_of(
            case,
            **{name: np.where(np.arange(case.args["k"]) < case.args["k"] - NV, case.args[name], 0)
               for name in "ab"},
        ),
    },
    causes={
        "scale_a_forgotten": "The scales of a are missing.",
        "scale_b_forgotten": "The scales of b are missing.",
        "no_block_scales": "The block scales are missing.",
        "tensor_forgotten": "The tensors' scale is missing.",
        "tensor_twice": "The tensors' scale is there twice.",
        "first_scales_for_all": "All blocks are multiplied by the scales of block 0.",
        "scales_added": "The two scales of a block are added; they must be multiplied.",
        "first_block_only": "Only the first block along k is in the sum.",
        "last_block_missing": "The last block along k is missing.",
        "float64_arithmetic": "The values are right, but they are computed in float64.",
        "too_many_operations": "The values are right, but each element is scaled; the scales are "
        "constant in a block.",
    },
    hints={
        "scale_a_forgotten": ("What is an element of A, dequantised?", "scale_a[i, block]."),
        "scale_b_forgotten": ("What is an element of B, dequantised?", "scale_b[j, block]."),
        "no_block_scales": ("What is an element, dequantised?",
                            "Multiply each partial sum by scale_a[i, block] * scale_b[j, block]."),
        "tensor_forgotten": ("Which parameter do you not use?", "Multiply by tensor at the end."),
        "tensor_twice": ("How often does tensor come in?", "Once, at the end."),
        "first_scales_for_all": ("Which block does element e belong to?", "Block e // 16."),
        "scales_added": ("What is (a * s) * (b * t)?", "a * b * (s * t)."),
        "first_block_only": ("How many blocks are there?", "for block in range(k // 16)."),
        "last_block_missing": ("How many blocks are there?", "for block in range(k // 16)."),
        "float64_arithmetic": ("Which constant is float64?",
                               "0.0 is.  Start both sums from np.float32(0)."),
        "too_many_operations": ("How often do you multiply by a scale?",
                                "Once for each block: sum 16 products first, then scale the "
                                "partial sum."),
        "wrong_values": (
            "Compute one element with k = 16 by hand.",
            "total += part * (scale_a[i, block] * scale_b[j, block]); store total * tensor.",
        ),
    },
    requirements=(
        Requirement("float64", "float64_arithmetic"),
        Requirement("flops", "too_many_operations", times=1.1),
    ),
    counted=lambda: product_case(np.random.default_rng(78), 8, 16, 64),
)  # fmt: skip


# -- mxfp4_blocks ------------------------------------------------------------------------------


def fp4_case(rng: np.random.Generator, blocks: int, threads: int) -> Case:
    """Blocks of every size; the later ones have values at the borders between two numbers."""
    x = mx_values(rng, blocks, MXFP4).reshape(-1, MX)
    borders = np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0, 0.1, 6.0], np.float32)
    tied = rng.choice(borders, (max(blocks - 10, 0), MX)) * rng.choice([-1, 1], (1, MX))
    power = np.exp2(rng.integers(-20, 20, (len(tied), 1)).astype(float))
    x[10:] = (tied * power).astype(np.float32)
    args = {"packed": np.zeros(16 * blocks, np.uint8), "scales": np.zeros(blocks, np.uint8),
            "x": x.reshape(-1), "blocks": blocks}  # fmt: skip
    return Case(args, ceil_div(MX * blocks, threads) + 1, threads, f"blocks = {blocks}")


def fp4_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """One block, a few, and enough for every edge and border."""
    for blocks, threads in ((1, 32), (3, 64), (24, 128), (37, 64), (0, 32)):
        yield fp4_case(rng, blocks, threads)
    if level == "grader":
        for _ in range(2):
            yield fp4_case(rng, int(rng.integers(12, 60)), 128)


def fp4_answer(
    case: Case, scale: Any = "up", rounding: Any = "nearest",
    change: Callable[[Array, Array], Array] = lambda codes, x: codes,
) -> Answer:  # fmt: skip
    """The bytes, with another rule, rounding, or change of the codes: (codes, x) -> codes."""
    x = case.args["x"].reshape(-1, MX).astype(np.float64)
    if not x.size:
        return {"packed": np.zeros(0, np.int64), "scales": np.zeros(0, np.int64)}
    kept = quantise(x, MXFP4, rule=scale, rounding=rounding)
    codes = change(np.asarray(kept.codes), x)
    return {
        "packed": pack(codes, 4).reshape(-1).astype(np.int64),
        "scales": kept.scales.reshape(-1).astype(np.int64),
    }


def _halves(change: Callable[[Array, Array], Array]) -> Callable[[Case], Answer]:
    """A mistake in putting two codes together: (low, high) -> byte.  The scales are right."""

    def answer(case: Case) -> Answer:
        right = fp4_answer(case)
        return {**right, "packed": change(right["packed"] & 15, right["packed"] >> 4) & 255}

    return answer


def _odd_lanes(case: Case) -> Answer:
    """Each byte from an odd lane: its own code and the next one's; the last lane has its own."""
    right = fp4_answer(case)
    codes = np.stack([right["packed"] & 15, right["packed"] >> 4], axis=-1).reshape(-1, MX)
    after = np.concatenate([codes[:, 1:], codes[:, -1:]], axis=1)
    return {**right, "packed": (codes[:, 1::2] | after[:, 1::2] << 4).reshape(-1)}


def _for_448(case: Case) -> Answer:
    scales = mx_scales(amax_of(case), MXFP8)
    x = case.args["x"].reshape(-1, MX).astype(np.float64)
    unit = np.asarray(decode(scales, "e8m0"))[:, None] if len(scales) else np.ones((0, 1))
    codes = np.asarray(encode(x / unit, E2M1, saturate=True))
    return {"packed": pack(codes, 4).reshape(-1).astype(np.int64),
            "scales": scales.astype(np.int64)}  # fmt: skip


MXFP4_BLOCKS = KernelSpec(
    "mxfp4_blocks", UNIT, 3, ("scales", "packed"), fp4_cases, fp4_answer,
    writes_once=True,
    suspects={
        "rule_floor": lambda case: fp4_answer(case, "floor"),
        "for_e4m3": _for_448,
        "truncated": lambda case: fp4_answer(case, rounding="zero"),
        "ties_away": lambda case: fp4_answer(case, rounding="nearest_away"),
        "sign_lost": lambda case: fp4_answer(case, change=lambda c, x: c & 7),
        "small_sign_lost": lambda case: fp4_answer(
            case, change=lambda c, x: np.where(c == 8, 0, c)
        ),
        "halves_exchanged": _halves(lambda low, high: low << 4 | high),
        "high_lost": _halves(lambda low, high: low),
        "low_twice": _halves(lambda low, high: low << 4 | low),
        "not_shifted": _halves(lambda low, high: low | high),
        "every_lane_writes": _odd_lanes,
    },
    causes={
        "rule_floor": "The scales are those of the rule floor: large values would be cut off.",
        "for_e4m3": "The scales are those for elements that end at 448; E2M1 ends at 6.",
        "truncated": "The elements are cut off, not rounded.",
        "ties_away": "Halfway between two numbers the larger one is taken, not the even code.",
        "sign_lost": "Every sign is missing.",
        "small_sign_lost": "Negative values that round to zero lose their sign: 0x8, not 0x0.",
        "halves_exchanged": "The two codes of each byte have changed places.",
        "high_lost": "The high half of each byte is empty.",
        "low_twice": "The same code is in both halves of each byte.",
        "not_shifted": "Both codes are in the low half: one is not shifted.",
        "every_lane_writes": "Two lanes write each byte, and the odd one wins, which has the wrong "
        "pair.",
        "float64_arithmetic": "The bytes are right, but float64 is used on the way.",
        "too_many_sectors": "It moves too many sectors.",
        "too_many_instructions": "It takes too many instructions.",
    },
    hints={
        "rule_floor": ("What must amax / scale be at most?",
                       "6, which is 0.75 * 2^3: add 1 where m > 0.75."),
        "for_e4m3": ("Where do the elements end?", "6 is 0.75 * 2^3: e - 3 + 127."),
        "truncated": ("What is 0.9 in E2M1?", "Count borders between numbers: 0.25, 0.75, 1.25, "
                      "1.75, 2.5, 3.5, 5."),
        "ties_away": ("Which codes are even?",
                      "> and >= take turns: > 0.25, >= 0.75, > 1.25, >= 1.75, > 2.5, >= 3.5, > 5."),
        "sign_lost": ("Which bit is the sign?", "8 * (value < 0)."),
        "small_sign_lost": ("What is -0.01 in E2M1?", "-0, the code 8: take the sign of the "
                            "value, not of the rounded one."),
        "halves_exchanged": ("Which code is in the low half?",
                             "The lane's own, and its right neighbour's is shifted by 4."),
        "high_lost": ("Who brings the second code?",
                      "cuda.shfl_down_sync(0xFFFFFFFF, element, 1) << 4."),
        "low_twice": ("Whose code is in the high half?",
                      "The right neighbour's: cuda.shfl_down_sync(0xFFFFFFFF, element, 1)."),
        "not_shifted": ("Where does the high half begin?", "high << 4."),
        "every_lane_writes": ("How many lanes write the same byte?",
                              "Only even lanes may write packed."),
        "race": ("How many lanes write the same byte?",
                 "Even lanes alone write, with both codes."),
        "written_more_than_once": ("How many lanes write the same byte?",
                                   "Even lanes alone write packed, lane 0 alone the scale."),
        "float64_arithmetic": ("Which constant or power is float64?",
                               "math.ldexp(value, 127 - code) stays float32; 2.0 ** k does not."),
        "too_many_sectors": ("Which elements do neighbouring threads read?",
                             "x[i], and i is the number of the thread in the grid."),
        "too_many_instructions": ("How many lanes work at the same time?",
                                  "Each lane makes one code."),
        "wrong_values": (
            "Take the first wrong byte: which two values are in it, and what are they over the "
            "scale?",
            "Count the borders below abs(math.ldexp(value, 127 - code)), add 8 for a sign; "
            "element | high << 4.",
        ),
    },
    requirements=(
        Requirement("load_sectors", "too_many_sectors"),
        Requirement("store_sectors", "too_many_sectors"),
        Requirement("issue_slots", "too_many_instructions", times=1.5),
        Requirement("shared_bytes", "too_much_shared"),
        Requirement("float64", "float64_arithmetic"),
    ),
    counted=lambda: fp4_case(np.random.default_rng(79), 64, 128),
)  # fmt: skip


SPECS = [BLOCK_BYTES, ROW_SCALES, MENDED_AMAX, MX_SCALE_BYTES, NVFP4_PRODUCT, MXFP4_BLOCKS]
