"""Exercises of t2_04_formats: fields, all codes of E4M3, rounding by bits, two codes in a byte.

code   the bits of a number, as an unsigned integer
size   the bits of a float32 without its sign
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ...numerics import BF16, E4M3, decode, encode, pack, round_to
from ..cases import Case, Level, as_dims, ceil_div, sizes
from ..requirements import Requirement
from ..spec import FunctionSpec, KernelSpec, ValueSpec
from ..tolerance import Tolerance

UNIT = "t2_04_formats"

Array = np.ndarray
Answer = Mapping[str, Array]
Suspect = Callable[[Case], Answer]


def block_mistakes(right: Callable[[Case], Array]) -> dict[str, Suspect]:
    """Elements of some blocks alone, the rest unwritten."""

    def first(case: Case, stop: int) -> Answer:
        whole = np.ma.array(right(case))
        whole[stop:] = np.ma.masked
        return {"out": whole}

    return {
        "only_first_block": lambda case: first(case, as_dims(case.block)[0]),
        "multiple_of_block_only": lambda case: first(
            case, case.args["n"] // as_dims(case.block)[0] * as_dims(case.block)[0]
        ),
    }


# -- fields_of ---------------------------------------------------------------------------------


def fields_of(code: int, exponent_bits: int, mantissa_bits: int) -> tuple[int, int, int]:
    """(sign, exponent, mantissa): each the plain number in its field."""
    exponent = code >> mantissa_bits & ((1 << exponent_bits) - 1)
    sign = code >> (exponent_bits + mantissa_bits)
    return sign, exponent, code & ((1 << mantissa_bits) - 1)


def field_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[int, int, int]]:
    """fp4, both fp8, both 16-bit formats, fp32."""
    shapes = [(2, 1), (4, 3), (5, 2), (5, 10), (8, 7), (8, 23), (3, 4)]
    yield from [(0b1_0111_100, 4, 3), (0b1_10_1, 2, 1), (0b0_11110_01, 5, 2), (0, 8, 7)]
    for e, m in shapes * (4 if level == "grader" else 1):
        yield (int(rng.integers(0, 1 << (1 + e + m))) | 1 << (e + m), e, m)


FIELDS_OF = FunctionSpec(
    "fields_of", UNIT, 1, field_inputs, fields_of,
    suspects={
        "order_reversed": lambda code, e, m: fields_of(code, e, m)[::-1],
        "widths_exchanged": lambda code, e, m: fields_of(code, m, e),
        "always_e4m3": lambda code, e, m: fields_of(code, 4, 3),
        "not_cut_off": lambda code, e, m: (code >> (e + m), code >> m, code & ((1 << m) - 1)),
        "bias_subtracted": lambda code, e, m: (
            code >> (e + m), fields_of(code, e, m)[1] - (1 << (e - 1)) + 1, code & ((1 << m) - 1)
        ),
        "not_shifted": lambda code, e, m: (
            code & 1 << (e + m), code & ((1 << e) - 1) << m, code & ((1 << m) - 1)
        ),
        "hidden_one_added": lambda code, e, m: (
            *fields_of(code, e, m)[:2], fields_of(code, e, m)[2] + (1 << m)
        ),
    },
    causes={
        "order_reversed": "The three fields come in the opposite order.",
        "widths_exchanged": "The widths of exponent and mantissa have changed places.",
        "always_e4m3": "That is right for 4 and 3 bits, whatever the arguments say.",
        "not_cut_off": "The sign is still in the exponent.",
        "bias_subtracted": "The bias is subtracted; the field itself is asked for.",
        "not_shifted": "The fields are cut out, but not moved to the right end.",
        "hidden_one_added": "The hidden 1 is added; the field itself is asked for.",
    },
    hints={
        "order_reversed": (
            "Which field stands in front?",
            "Return sign, exponent, mantissa in this order.",
        ),
        "widths_exchanged": (
            "How many bits lie to the right of the exponent?",
            "Shift by mantissa_bits, then keep exponent_bits.",
        ),
        "always_e4m3": (
            "Which parameters does your function not use?",
            "Make shifts and masks from exponent_bits and mantissa_bits.",
        ),
        "not_cut_off": (
            "What stands left of the exponent?",
            "After the shift keep the last exponent_bits: & ((1 << exponent_bits) - 1).",
        ),
        "bias_subtracted": ("What is the field, and what is the exponent?", "Leave the bias out."),
        "not_shifted": (
            "How large can a field of one bit be?",
            "Shift to the right first, then cut: code >> k & mask.",
        ),
        "hidden_one_added": (
            "Is the hidden 1 among the bits?",
            "Return only what the mask leaves: code & ((1 << mantissa_bits) - 1).",
        ),
        "wrong_type": ("How many fields are there?", "Return three integers: sign, exponent, "
                       "mantissa."),
        "wrong_values": (
            "Write the code in binary and draw lines between the fields.",
            "code >> k drops k bits; & ((1 << k) - 1) keeps the last k.",
        ),
    },
)  # fmt: skip


# -- decode_e4m3 -------------------------------------------------------------------------------


def decode_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """A few codes, then every code in a random order."""
    for block in (32, 64):
        for n in (*sizes(block, level, rng), 256):
            codes = rng.permutation(256)[:n] if n <= 256 else rng.integers(0, 256, n)
            args = {"out": np.zeros(n, np.float32), "codes": codes.astype(np.uint8), "n": n}
            yield Case(args, ceil_div(n, block) + 1, block, f"n = {n}")


def values_of(case: Case) -> Array:
    """The right values, in float64."""
    return np.asarray(decode(case.args["codes"], E4M3))


def decoded(change: Callable[[Array, Array], Array]) -> Suspect:
    """A known mistake: the right values and the codes -> wrong values."""
    return lambda case: {"out": change(values_of(case), case.args["codes"].astype(np.int64))}


def by_formula(values: Array, codes: Array, bias: int = 7, hidden_in_zero: bool = False) -> Array:
    """The formula with other constants, NaN where it belongs."""
    exponent, mantissa = codes >> 3 & 15, codes & 7
    hidden = (exponent > 0) | hidden_in_zero
    power = np.where(exponent > 0, exponent, 0 if hidden_in_zero else 1) - bias
    size = (hidden + mantissa / 8) * 2.0**power
    return np.where(np.isnan(values), np.nan, np.where(codes >> 7, -size, size))


DECODE_E4M3 = KernelSpec(
    "decode_e4m3", UNIT, 2, ("out",), decode_cases, lambda case: {"out": values_of(case)},
    tolerance={"float32": Tolerance()},
    writes_once=True,
    suspects={
        "nan_is_480": decoded(lambda v, c: np.where(np.isnan(v), np.where(c >> 7, -480.0, 480), v)),
        "reserved_as_in_fp16": decoded(
            lambda v, c: np.where((c >> 3 & 15) == 15,
                                  np.where(c & 7, np.nan, np.where(c >> 7, -np.inf, np.inf)), v)
        ),
        "all_of_15_nan": decoded(lambda v, c: np.where((c >> 3 & 15) == 15, np.nan, v)),
        "negative_nan_missed": decoded(lambda v, c: np.where(c == 0xFF, -480.0, v)),
        "hidden_one_in_subnormals": decoded(lambda v, c: by_formula(v, c, hidden_in_zero=True)),
        "subnormals_flushed": decoded(lambda v, c: np.where(np.abs(v) < E4M3.min_normal, 0, v)),
        "subnormals_halved": decoded(lambda v, c: np.where(np.abs(v) < E4M3.min_normal, v / 2, v)),
        "bias_of_eight": decoded(lambda v, c: by_formula(v, c, bias=8)),
        "sign_lost": decoded(lambda v, c: np.abs(v)),
        "code_not_value": decoded(lambda v, c: c.astype(float)),
        "read_as_e5m2": decoded(lambda v, c: np.asarray(decode(c, "e5m2"))),
        **block_mistakes(values_of),
    },
    causes={
        "nan_is_480": "0x7F and 0xFF come out as 480 and -480; they are NaN.",
        "reserved_as_in_fp16": "An exponent of ones is taken for infinity or NaN, as in fp16.  In "
        "E4M3 only all ones is NaN.",
        "all_of_15_nan": "All codes with the exponent field 15 come out as NaN; only those with "
        "the mantissa 7 are.",
        "negative_nan_missed": "0xFF comes out as -480; it is NaN as well.",
        "hidden_one_in_subnormals": "Where the exponent field is 0, a hidden 1 is still added: "
        "not even zero is 0.",
        "subnormals_flushed": "Subnormal numbers come out as 0.",
        "subnormals_halved": "Subnormal numbers are half as large as they should be.",
        "bias_of_eight": "All values are half as large as they should be: the bias is 7.",
        "sign_lost": "Every sign is missing.",
        "code_not_value": "The codes themselves are stored, as numbers.",
        "read_as_e5m2": "The bits are cut as in E5M2: five for the exponent, two for the mantissa.",
        "only_first_block": "Only the codes of the first block are decoded.",
        "multiple_of_block_only": "Only the codes of full blocks are decoded.",
    },
    hints={
        "nan_is_480": (
            "Which codes of E4M3 are no numbers?",
            "If the exponent field is 15 and the mantissa 7, store math.nan.",
        ),
        "reserved_as_in_fp16": (
            "How does E4M3 get to 448, when fp16's rule would end at 240?",
            "Test exponent == 15 and mantissa == 7, both together.  All others are ordinary.",
        ),
        "all_of_15_nan": (
            "How does E4M3 get to 448?",
            "Test exponent == 15 and mantissa == 7, both together.",
        ),
        "negative_nan_missed": (
            "Which two codes have all ones behind the sign?",
            "Test the fields, not the whole code, or test code & 0x7F.",
        ),
        "hidden_one_in_subnormals": (
            "What is the value of the code 0?",
            "Where the exponent field is 0, the number begins with 0. and its power is 2^-6.",
        ),
        "subnormals_flushed": (
            "What is between 0 and 2^-6?",
            "Where the exponent field is 0: mantissa / 8 * 2^-6.",
        ),
        "subnormals_halved": (
            "Which power goes with the exponent field 0?",
            "The same as with 1: 2^(1 - 7), which is 2^-6.",
        ),
        "bias_of_eight": ("Which code should be 1.0?", "0x38 has the exponent field 7; so the "
                          "bias is 7."),
        "sign_lost": ("What does bit 7 say?", "Negate the value if code >> 7 is 1."),
        "code_not_value": (
            "0x38 is the number 56 and the code of 1.0.  Which of the two is stored?",
            "Cut out the fields and put the value together from them.",
        ),
        "read_as_e5m2": (
            "How many bits has each field of E4M3?",
            "Exponent: code >> 3 & 15.  Mantissa: code & 7.",
        ),
        "wrong_values": (
            "Take the first wrong code apart by hand: sign, exponent field, mantissa.",
            "Normal: (1 + mantissa / 8) * 2^(exponent - 7).  Exponent field 0: mantissa / 8 * "
            "2^-6.  Exponent field 15 with mantissa 7: NaN.",
        ),
    },
)  # fmt: skip


# -- fp4_bytes ---------------------------------------------------------------------------------

N_FP4 = 99_999

FP4_BYTES = ValueSpec(
    "fp4_bytes", UNIT, 1, lambda: 4 * N_FP4 + ceil_div(N_FP4, 2), "the number of bytes",
    suspects={
        "half_byte_dropped": 4 * N_FP4 + N_FP4 // 2,
        "byte_a_code": 5 * N_FP4,
        "writes_only": ceil_div(N_FP4, 2),
        "reads_only": 4 * N_FP4,
        "bits_not_bytes": 36 * N_FP4,
        "half_of_fp16": 2 * N_FP4 + ceil_div(N_FP4, 2),
    },
    causes={
        "half_byte_dropped": "The last code has no byte: half of an odd number is rounded up.",
        "byte_a_code": "That gives each code a byte of its own; two share one.",
        "writes_only": "Only the writes are counted.",
        "reads_only": "Only the reads are counted.",
        "bits_not_bytes": "Those are bits.",
        "half_of_fp16": "The values are counted with 2 bytes each; a float32 has 4.",
    },
    hints={
        "half_byte_dropped": ("How many bytes hold 5 codes?", "(n + 1) // 2 of them."),
        "byte_a_code": ("How many codes share a byte?", "(n + 1) // 2 bytes go out."),
        "writes_only": ("Does the kernel read anything?", "Add 4 bytes for each value."),
        "reads_only": ("Does the kernel write anything?", "Add (n + 1) // 2 bytes."),
        "bits_not_bytes": ("How many bits has a byte?", "4 bytes in for each value, and half a "
                           "byte out."),
        "half_of_fp16": ("How many bytes has a float32?", "4 * n bytes are read."),
        "wrong_values": (
            "Try 5 values: 20 bytes in, 3 bytes out.",
            "4 * n bytes are read, and (n + 1) // 2 are written.",
        ),
    },
)  # fmt: skip


# -- to_bf16 -----------------------------------------------------------------------------------

#: Bits of float32 at the edges: ties both ways, a carry into the exponent, the largest numbers,
#: infinities, NaN with bits only below, all ones, subnormal numbers and both zeros.
HARD = np.array(
    [0x3F800000, 0x3F808000, 0x3F818000, 0x3F808001, 0x3F807FFF, 0x3FFFFFFF, 0x7F7F7FFF, 0x7F7F8000,
     0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7F800001, 0xFFFFFFFF, 0x7FC00000, 0x00008000, 0x00018000,
     0x00000001, 0x80000000, 0x00000000, 0xBF818000, 0xFF7FFFFF, 0xC2F6E979, 0x7FFFFFFF],
    np.uint32,
)  # fmt: skip


def bits_of(rng: np.random.Generator, n: int, hard: Array) -> Array:
    """`n` patterns: ordinary numbers first, then the hard ones, then any."""
    near_one = rng.integers(0x3E000000, 0x42000000, 4, dtype=np.uint32)
    anything = rng.integers(0, 2**32, n, dtype=np.uint32)
    return np.concatenate([near_one, rng.permutation(hard), anything])[:n]


def bf16_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """All kinds of floats."""
    for block in (32, 64):
        for n in sizes(block, level, rng):
            args = {"out": np.zeros(n, np.uint16), "bits": bits_of(rng, n, HARD), "n": n}
            yield Case(args, ceil_div(n, block) + 1, block, f"n = {n}")


def bf16_of(case: Case) -> Array:
    """The right codes; NaN has one."""
    values = case.args["bits"].view(np.float32)
    codes = np.asarray(encode(np.where(np.isnan(values), 0, values), BF16))
    return np.where(np.isnan(values), 0x7FFF, codes)


def narrowed(change: Callable[[Array], Array]) -> Suspect:
    """A known mistake: from the bits, as int64; NaN is right."""

    def mistake(case: Case) -> Answer:
        bits = case.args["bits"].astype(np.int64)
        nan = (bits & 0x7FFFFFFF) > 0x7F800000
        return {"out": np.where(nan, 0x7FFF, change(bits) & 0xFFFF)}

    return mistake


TO_BF16 = KernelSpec(
    "to_bf16", UNIT, 2, ("out",), bf16_cases, lambda case: {"out": bf16_of(case)},
    writes_once=True,
    suspects={
        "truncated": narrowed(lambda b: b >> 16),
        "truncated_nan_too": lambda case: {"out": case.args["bits"].astype(np.int64) >> 16},
        "ties_away": narrowed(lambda b: (b + 0x8000) >> 16),
        "ties_down": narrowed(lambda b: (b + 0x7FFF) >> 16),
        "ties_to_odd": narrowed(lambda b: (b + 0x7FFF + (~b >> 16 & 1)) >> 16),
        "nan_run_over": lambda case: {
            "out": (case.args["bits"].astype(np.int64) + 0x7FFF
                    + (case.args["bits"].astype(np.int64) >> 16 & 1)) >> 16 & 0xFFFF
        },
        "infinity_taken_for_nan": lambda case: {
            "out": np.where((case.args["bits"] & 0x7FFFFFFF) >= 0x7F800000, 0x7FFF, bf16_of(case))
        },
        "negative_nan_missed": lambda case: {
            "out": np.where(case.args["bits"] > 0xFF800000,
                            (case.args["bits"].astype(np.int64) + 0x7FFF
                             + (case.args["bits"].astype(np.int64) >> 16 & 1)) >> 16 & 0xFFFF,
                            bf16_of(case))
        },
        "lower_half": lambda case: {"out": case.args["bits"].astype(np.int64) & 0xFFFF},
        "is_float16": lambda case: {"out": _float16(case)},
        **block_mistakes(bf16_of),
    },
    causes={
        "truncated": "The lower bits are cut off, not rounded: values move toward zero.",
        "truncated_nan_too": "The upper half is taken as it is: nothing is rounded, and a NaN "
        "whose bits lie in the lower half becomes infinity.",
        "ties_away": "Halfway between two numbers the larger one is taken, not the even one.",
        "ties_down": "Halfway between two numbers the smaller one is taken, not the even one.",
        "ties_to_odd": "Halfway between two numbers the odd code is taken, not the even one.",
        "nan_run_over": "Numbers are right, but NaN is rounded like one: some become infinity, "
        "some even zero.",
        "infinity_taken_for_nan": "Infinity comes out as NaN.",
        "negative_nan_missed": "A NaN with a sign is rounded like a number.",
        "lower_half": "Those are the lower 16 bits; bf16 is the upper half.",
        "is_float16": "Those are codes of fp16, not of bf16.",
        "only_first_block": "Only the values of the first block are converted.",
        "multiple_of_block_only": "Only the values of full blocks are converted.",
    },
    hints={
        "truncated": (
            "Which of two numbers is nearer when the lower half is 0xFFFF?",
            "Add before you shift: 0x7FFF and the last bit that stays, b >> 16 & 1.",
        ),
        "truncated_nan_too": (
            "Which of two numbers is nearer when the lower half is 0xFFFF?",
            "Add 0x7FFF and b >> 16 & 1 before you shift; and treat NaN on its own.",
        ),
        "ties_away": (
            "What should 0x3F808000, exactly halfway, become?",
            "Add 0x7FFF instead of 0x8000, plus the last bit that stays: b >> 16 & 1.",
        ),
        "ties_down": (
            "What should 0x3F818000, exactly halfway, become?",
            "Add the last bit that stays, b >> 16 & 1, as well.",
        ),
        "ties_to_odd": (
            "What is the last bit of an even code?",
            "Add b >> 16 & 1 itself, not its opposite: an odd code goes up, an even one stays.",
        ),
        "nan_run_over": (
            "What does your sum do with 0xFFFFFFFF?",
            "If (b & 0x7FFFFFFF) > 0x7F800000 it is a NaN: store 0x7FFF.",
        ),
        "infinity_taken_for_nan": (
            "Which pattern is infinity itself?",
            "0x7F800000 is infinity; NaN is larger: use >, not >=.",
        ),
        "negative_nan_missed": (
            "What does the sign do to your comparison?",
            "Mask it off first: (b & 0x7FFFFFFF) > 0x7F800000.",
        ),
        "lower_half": ("Where are sign and exponent of a float32?", "Shift to the right by 16."),
        "is_float16": (
            "How many bits has the exponent of bf16?",
            "Eight, as in float32: keep the upper half of the bits.",
        ),
        "wrong_values": (
            "Write the bits of the first wrong one in hexadecimal.  Is the lower half above, "
            "below or exactly 0x8000?",
            "(b + 0x7FFF + (b >> 16 & 1)) >> 16, and 0x7FFF for a NaN.",
        ),
    },
)  # fmt: skip


def _float16(case: Case) -> Array:
    with np.errstate(over="ignore", invalid="ignore"):
        return case.args["bits"].view(np.float32).astype(np.float16).view(np.uint16)


# -- pack_pairs --------------------------------------------------------------------------------


def pack_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Odd and even numbers of codes; at least a thread for each code."""
    for block in (32, 64):
        for n in sizes(block, level, rng):
            codes = rng.integers(1, 16, n).astype(np.uint8)
            args = {"out": np.zeros((n + 1) // 2, np.uint8), "codes": codes, "n": n}
            yield Case(args, ceil_div(n, block) or 1, block, f"n = {n}")


def packed(case: Case) -> Array:
    """The right bytes."""
    codes = case.args["codes"]
    return pack(np.append(codes, 0)[: codes.size + codes.size % 2], 4).astype(np.int64)


def halves(change: Callable[[Array, Array], Array]) -> Suspect:
    """A known mistake, from the low and the high codes of each byte."""
    return lambda case: {"out": change(packed(case) & 15, packed(case) >> 4) & 255}


def rest_missing(case: Case) -> Answer:
    """The last byte of an odd number is not written."""
    whole = np.ma.array(packed(case))
    whole[case.args["n"] // 2 :] = np.ma.masked
    return {"out": whole}


PACK_PAIRS = KernelSpec(
    "pack_pairs", UNIT, 2, ("out",), pack_cases, lambda case: {"out": packed(case)},
    writes_once=True,
    suspects={
        "halves_exchanged": halves(lambda low, high: low << 4 | high),
        "high_lost": halves(lambda low, high: low),
        "low_lost": halves(lambda low, high: high << 4),
        "not_shifted": halves(lambda low, high: low | high),
        "shifted_by_eight": halves(lambda low, high: low | high << 3),
        "last_code_missing": rest_missing,
        "halves_of_the_array": lambda case: {"out": _far_apart(case)},
    },
    causes={
        "halves_exchanged": "The two halves of each byte have changed places.",
        "high_lost": "The high half of each byte is empty.",
        "low_lost": "The low half of each byte is empty.",
        "not_shifted": "Both codes are in the low half: one is not shifted.",
        "shifted_by_eight": "The second code is shifted by 3, not by 4.",
        "last_code_missing": "Where the number of codes is odd, the last one has no byte.",
        "halves_of_the_array": "The second code of a byte is not the next one, but one from the "
        "second half of the array.",
    },
    hints={
        "race": (
            "Two threads change the same byte.  Which of them should own it?",
            "Give each byte to one thread, which reads both codes: 2 * j and 2 * j + 1.",
        ),
        "output_read": (
            "What is in out before the kernel runs?",
            "Put the byte together in a variable, and store it once.",
        ),
        "written_more_than_once": (
            "How many threads store into the same byte?",
            "Give each byte to one thread, and let it store once.",
        ),
        "halves_exchanged": (
            "Which code is in the low half?",
            "Shift the code with the odd number, 2 * j + 1.",
        ),
        "high_lost": ("Who brings the second code?", "codes[2 * j] | codes[2 * j + 1] << 4."),
        "low_lost": ("Who brings the first code?", "codes[2 * j] | codes[2 * j + 1] << 4."),
        "not_shifted": ("Where does the high half begin?", "At bit 4: codes[2 * j + 1] << 4."),
        "shifted_by_eight": ("Where does the high half begin?", "At bit 4."),
        "last_code_missing": (
            "How many bytes do three codes need?",
            "The guard is 2 * j < n; the second code has a guard of its own, 2 * j + 1 < n.",
        ),
        "halves_of_the_array": (
            "Which two codes share byte 0?",
            "Codes 0 and 1: 2 * j and 2 * j + 1.",
        ),
        "out_of_bounds": (
            "Which thread has only one code?",
            "Read codes[2 * j + 1] only if 2 * j + 1 < n.",
        ),
        "wrong_values": (
            "Write the first wrong byte in hexadecimal: each digit is one code.",
            "out[j] = codes[2 * j] | codes[2 * j + 1] << 4, and 0 in the high half where there "
            "is no second code.",
        ),
    },
)  # fmt: skip


def _far_apart(case: Case) -> Array:
    codes = case.args["codes"].astype(np.int64)
    half = (codes.size + 1) // 2
    second = np.append(codes[half:], 0)[:half] if codes.size % 2 else codes[half:]
    return codes[:half] | second << 4


# -- encode_e4m3 -------------------------------------------------------------------------------


@functools.cache
def hard_e4m3() -> Array:
    """Every number of E4M3, every midpoint, what lies just beside them, and what has no number."""
    line = np.asarray(decode(np.arange(E4M3.max_code + 1), E4M3))
    points = np.concatenate([line, (line[1:] + line[:-1]) / 2, [464, 465, 480, 1e30]])
    points = points.astype(np.float32)
    beside = np.concatenate([np.nextafter(points, np.float32(s)) for s in (-np.inf, np.inf)])
    special = np.array([np.inf, np.nan, 0.0, 1e-38], np.float32)
    some = np.concatenate([points, beside, special]).astype(np.float32)
    return np.concatenate([some, -some]).view(np.uint32)


def e4m3_case(rng: np.random.Generator, n: int, block: int) -> Case:
    """Four values between 0.25 and 16, then hard ones in a random order."""
    ordinary = (rng.uniform(0.25, 16, 4) * rng.choice([-1, 1], 4)).astype(np.float32)
    hard = rng.permutation(hard_e4m3())
    bits = np.concatenate([ordinary.view(np.uint32), *[hard] * ceil_div(n, hard.size)])[:n]
    x = bits.view(np.float32)
    args = {"out": np.zeros(n, np.uint8), "x": x, "bits": bits.copy(), "n": n}
    return Case(args, ceil_div(n, block) + 1, block, f"n = {n}")


def e4m3_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """A few values, then all hard ones."""
    for block in (32, 64):
        for n in sizes(block, level, rng):
            yield e4m3_case(rng, n, block)
    yield e4m3_case(rng, hard_e4m3().size + 4, 128)


def e4m3_of(x: Array, rounding: Any = "nearest", saturate: bool = True) -> Array:
    """The codes, the sign of a NaN kept."""
    wide = x.astype(np.float64)
    codes = np.asarray(encode(wide, E4M3, rounding, saturate=saturate))
    return np.where(np.isnan(wide), 0x7F, codes) | np.signbit(x) * 0x80


def encoded(change: Callable[[Array, Array], Array]) -> Suspect:
    """A known mistake, from x and the right codes."""
    return lambda case: {"out": change(case.args["x"], e4m3_of(case.args["x"])) & 0xFF}


ENCODE_E4M3 = KernelSpec(
    "encode_e4m3", UNIT, 4, ("out",), e4m3_cases, lambda case: {"out": e4m3_of(case.args["x"])},
    writes_once=True,
    suspects={
        "truncated": encoded(lambda x, c: e4m3_of(x, "zero")),
        "ties_away": encoded(lambda x, c: e4m3_of(x, "nearest_away")),
        "overflow_to_nan": encoded(lambda x, c: e4m3_of(x, saturate=False)),
        "infinity_to_nan": encoded(lambda x, c: np.where(np.isinf(x), c | 0x7F, c)),
        "nan_saturated": encoded(lambda x, c: np.where(np.isnan(x), c & 0x80 | 0x7E, c)),
        "nan_sign_lost": encoded(lambda x, c: np.where(np.isnan(x), 0x7F, c)),
        "saturated_at_240": encoded(lambda x, c: np.where(np.abs(x) > 240, c & 0x80 | 0x77, c)),
        "subnormals_flushed": encoded(
            lambda x, c: np.where(np.abs(x) < E4M3.min_normal, c & 0x80, c)
        ),
        "subnormals_truncated": encoded(
            lambda x, c: np.where(np.abs(x) < E4M3.min_normal, e4m3_of(x, "zero"), c)
        ),
        "subnormal_ties_away": encoded(
            lambda x, c: np.where(np.abs(x) < E4M3.min_normal, e4m3_of(x, "nearest_away"), c)
        ),
        "sign_lost": encoded(lambda x, c: c & 0x7F),
        "zero_sign_lost": encoded(lambda x, c: np.where(x == 0, 0, c)),
        "small_sign_lost": encoded(lambda x, c: np.where(c == 0x80, 0, c)),
        "through_fp16": encoded(
            lambda x, c: np.where(np.isnan(x), c, e4m3_of(_through_fp16(x)))
        ),
        **block_mistakes(lambda case: e4m3_of(case.args["x"])),
    },
    causes={
        "truncated": "The values are cut off, not rounded: they move toward zero.",
        "ties_away": "Halfway between two numbers the larger one is taken, not the even one.",
        "overflow_to_nan": "Values beyond 448 become NaN.  That is one of the two rules; here they "
        "saturate.",
        "infinity_to_nan": "Infinity becomes NaN; here it saturates.",
        "nan_saturated": "NaN becomes 448.",
        "nan_sign_lost": "The sign of a NaN is missing.",
        "saturated_at_240": "Values beyond 240 become 240: that is the largest number of another "
        "E4M3, the one with infinities.",
        "subnormals_flushed": "Values below 2^-6 become 0.",
        "subnormals_truncated": "Values below 2^-6 are cut off, not rounded.",
        "subnormal_ties_away": "Below 2^-6, halfway between two numbers, the larger one is taken, "
        "not the even one.",
        "sign_lost": "Every sign is missing.",
        "zero_sign_lost": "-0.0 becomes +0.0: 0x00, not 0x80.",
        "small_sign_lost": "Negative values that round to zero lose their sign.",
        "through_fp16": "The values are rounded twice, first to fp16: some ties are none.",
        "only_first_block": "Only the values of the first block are converted.",
        "multiple_of_block_only": "Only the values of full blocks are converted.",
        "too_many_instructions": "It takes too many instructions, as with a search through the "
        "codes.",
    },
    hints={
        "truncated": (
            "Is 1.12 nearer to 1.0 or to 1.125?",
            "Add 0x7FFFF and the last bit that stays, size >> 20 & 1, before you shift.",
        ),
        "ties_away": (
            "What should 1.0625, exactly halfway, become?",
            "Add 0x7FFFF, not 0x80000, plus the last bit that stays: size >> 20 & 1.",
        ),
        "overflow_to_nan": (
            "What does the exercise ask for beyond 448?",
            "From 0x43E00000 on, infinity included, the code is 0x7E.",
        ),
        "infinity_to_nan": (
            "Which pattern is infinity, which ones are NaN?",
            "NaN is above 0x7F800000: use >, not >=.",
        ),
        "nan_saturated": (
            "Which test comes first?",
            "Test for NaN, size > 0x7F800000, before you test for 448.",
        ),
        "nan_sign_lost": (
            "Where does the sign of a NaN go?",
            "Join the sign at the end, for every kind of input.",
        ),
        "saturated_at_240": (
            "Which is the largest number of this E4M3?",
            "448, the code 0x7E: exponent field 15 is not reserved.",
        ),
        "subnormals_flushed": (
            "What is between 0 and 2^-6?",
            "Seven numbers in steps of 2^-9: round abs(x) * 512 to an integer, and that is the "
            "code.",
        ),
        "subnormals_truncated": (
            "What does int() do with 1.9?",
            "Add 1 if the rest is above a half, or a half and the integer odd.",
        ),
        "subnormal_ties_away": (
            "What should 0.5 steps become, and 1.5?",
            "At a rest of exactly a half add 1 only if the integer is odd.",
        ),
        "sign_lost": ("What does bit 31 say?", "Join bits >> 31 << 7 to the code."),
        "zero_sign_lost": ("Is -0.0 < 0?", "Take the sign from the bits, not by a comparison."),
        "small_sign_lost": (
            "What does -0.0001 become?",
            "-0.0, which is 0x80: take the sign from the bits and join it at the end.",
        ),
        "through_fp16": (
            "How often is each value rounded?",
            "Once: go from float32 to E4M3 directly.",
        ),
        "too_many_instructions": (
            "Does it have to look for the code?",
            "The bits of a float32 hold it: round 20 bits away and change the bias.",
        ),
        "wrong_values": (
            "Of which kind is the first wrong value: NaN, too large, normal, subnormal?",
            "Normal: ((size + 0x7FFFF + (size >> 20 & 1)) >> 20) - 120 * 8.  Subnormal: abs(x) * "
            "512, rounded to an integer.",
        ),
    },
    requirements=(Requirement("issue_slots", "too_many_instructions", times=3.0),),
    counted=lambda: e4m3_case(np.random.default_rng(16), 1000, 128),
)  # fmt: skip


def _through_fp16(x: Array) -> Array:
    return np.asarray(round_to(np.where(np.isnan(x), 0, x), "fp16")).astype(np.float32)


SPECS = [FIELDS_OF, DECODE_E4M3, FP4_BYTES, TO_BF16, PACK_PAIRS, ENCODE_E4M3]
