"""Exercises of t2_06_accumulation: where sums stick, loss scales, random rounding, compensation.

rest    what a rounding takes away, as a share of a step or as the bits that go
noise   random bits, one uint32 for each value
pair    a total and what its additions lost, both float32
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ...numerics.scaler import Scaler, run
from ..cases import Case, Level, as_dims, ceil_div, sizes
from ..requirements import Requirement
from ..spec import FunctionSpec, KernelSpec
from ..tolerance import Tolerance

UNIT = "t2_06_accumulation"

Array = np.ndarray
Answer = Mapping[str, Array]
Suspect = Callable[[Case], Answer]


def block_mistakes(right: Callable[[Case], Array]) -> dict[str, Suspect]:
    """Elements of some blocks alone, the rest unwritten."""

    def first(case: Case, stop: int) -> Answer:
        whole = np.ma.array(right(case))
        whole[stop:] = np.ma.masked
        return {"out": whole}

    def full(case: Case) -> int:
        block = as_dims(case.block)[0]
        return int(case.args["n"] // block * block)

    return {
        "only_first_block": lambda case: first(case, as_dims(case.block)[0]),
        "multiple_of_block_only": lambda case: first(case, full(case)),
    }


# -- sticks_at ---------------------------------------------------------------------------------


def sticks_at(mantissa_bits: int, term: float) -> float:
    """Where the term is half a step, and the tie goes to the even code."""
    return term * 2.0 ** (mantissa_bits + 1)


def stick_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[int, float]]:
    """The formats of the lesson, and others; terms are powers of two."""
    yield from [(7, 1.0), (10, 1.0), (3, 1.0), (2, 0.25), (23, 1.0), (7, 4.0)]
    for _ in range(12 if level == "grader" else 3):
        yield int(rng.integers(1, 30)), 2.0 ** int(rng.integers(-8, 5))


STICKS_AT = FunctionSpec(
    "sticks_at", UNIT, 1, stick_inputs, sticks_at,
    suspects={
        "one_power_early": lambda m, term: term * 2.0**m,
        "one_power_late": lambda m, term: term * 2.0 ** (m + 2),
        "term_forgotten": lambda m, term: 2.0 ** (m + 1),
        "term_divided": lambda m, term: 2.0 ** (m + 1) / term,
        "exponent_alone": lambda m, term: float(m + 1),
        "always_bf16": lambda m, term: 256.0 * term,
        "one_term_before": lambda m, term: term * (2.0 ** (m + 1) - 1),
    },
    causes={
        "one_power_early": "That is where the steps are as wide as the term.  Such a step still "
        "counts.",
        "one_power_late": "There the steps are four times as wide as the term: the total never "
        "gets so far.",
        "term_forgotten": "That is right for ones, whatever the term is.",
        "term_divided": "A larger term gets further, not less far.",
        "exponent_alone": "That is the exponent of the power of two, not the number.",
        "always_bf16": "That is right for 7 bits of mantissa, whatever mantissa_bits is.",
        "one_term_before": "That total still grows: the next one is a number of the format.",
    },
    hints={
        "one_power_early": ("Does a sum of ones stick at 128 in bf16?",
                            "One power later: m + 1, not m."),
        "one_power_late": ("Does a sum of ones ever get beyond 256 in bf16?",
                           "One power earlier: m + 1."),
        "term_forgotten": ("Where do terms of 0.25 stick in bf16?", "Multiply by term."),
        "term_divided": ("Where do terms of 4 stick in bf16?", "At 4 times 256: multiply by term."),
        "exponent_alone": ("What is the power itself?", "2.0 ** (mantissa_bits + 1), times term."),
        "always_bf16": ("Which parameter do you not use?", "2.0 ** (mantissa_bits + 1)."),
        "one_term_before": ("What is 255 + 1 in bf16?", "256 is reached, and then it sticks."),
        "wrong_values": (
            "From which number on are the steps twice as wide as the term?",
            "With m bits the steps from 2^e on are 2^(e - m).  For ones: e = m + 1.",
        ),
    },
)  # fmt: skip


# -- smallest_scale ----------------------------------------------------------------------------

LEAST = 2.0**-25  # half of float16's smallest number: the tie goes to 0
BEYOND = 65520.0  # halfway from float16's largest number to where the next would be


def scale_for(
    gradients: Array, least: float = LEAST, beyond: float = BEYOND, ties: bool = False
) -> float:
    """By doubling.  ties: a size of exactly `least` counts as kept."""
    sizes_ = np.abs(gradients[gradients != 0])
    if sizes_.size == 0:
        return 1.0
    low = float(sizes_.min())
    scale = 1.0
    while low * scale < least or (low * scale == least and not ties):
        scale *= 2
    return scale if float(sizes_.max()) * scale < beyond else 0.0


def smallest_scale(gradients: Array) -> float:
    """The right one."""
    return scale_for(gradients)


def scale_inputs(rng: np.random.Generator, level: Level) -> Iterator[tuple[Array]]:
    """Ties at the lower end, the gap of 16 at the upper one, zeros, signs, nothing to keep."""
    yield from (
        (np.array(one),)
        for one in ([2.0**-24, 0.5], [2.0**-30, 0.5], [3 * 2.0**-31, 0.0, -0.5], [-(2.0**-27)],
                    [2.0**-40, 3.0], [2.0**-26, -32756.0], [2.0**-26, -16378.0],
                    [2.0**-20, -70000.0], [0.0, 0.0], [0.25, -(2.0**-33), 2.0**-28])
    )  # fmt: skip
    yield (np.zeros(0),)
    for _ in range(12 if level == "grader" else 3):
        n = int(rng.integers(3, 60))
        some = rng.standard_normal(n) * np.exp2(rng.integers(-34, -20, n).astype(float))
        some[rng.integers(n)] = 0.0
        yield (some,)


def largest_scale(gradients: Array) -> float:
    """The mistake of going up to the overflow."""
    sizes_ = np.abs(gradients[gradients != 0])
    if sizes_.size == 0:
        return 1.0
    return float(2.0 ** math.floor(math.log2(BEYOND / sizes_.max())))


def exact_ratio(gradients: Array) -> float:
    """The mistake of a scale that is no power of two."""
    sizes_ = np.abs(gradients[gradients != 0])
    return max(1.0, float(2.0**-24 / sizes_.min())) if sizes_.size else 1.0


SMALLEST_SCALE = FunctionSpec(
    "smallest_scale", UNIT, 2, scale_inputs, smallest_scale,
    suspects={
        "tie_kept": lambda g: scale_for(g, ties=True),
        "overflow_at_65504": lambda g: scale_for(g, beyond=65504.0000001),
        "rounding_forgotten": lambda g: scale_for(g, 2.0**-24, ties=True),
        "subnormals_given_up": lambda g: scale_for(g, 2.0**-14, ties=True),
        "overflow_forgotten": lambda g: scale_for(g, beyond=math.inf),
        "overflow_too_late": lambda g: scale_for(g, beyond=65536.0),
        "signs_forgotten": lambda g: scale_for(g[g > 0]),
        "largest_scale": largest_scale,
        "no_power_of_two": exact_ratio,
        "never_scaled": lambda g: 1.0,
    },
    causes={
        "tie_kept": "A gradient whose size times the scale is exactly 2^-25 is lost: a tie that "
        "goes to 0.",
        "rounding_forgotten": "The scale is too large: sizes above 2^-25 round up to 2^-24 and "
        "are kept.",
        "subnormals_given_up": "2^-14 is the smallest normal number; below it float16 still has "
        "numbers, down to 2^-24.",
        "overflow_forgotten": "With this scale a large gradient becomes infinite.",
        "overflow_at_65504": "Sizes between 65504 and 65520 are rounded down to 65504, not to "
        "infinity.",
        "overflow_too_late": "From 65520 on a value becomes infinite, not only from 65536 on.",
        "signs_forgotten": "Negative gradients are left out.",
        "largest_scale": "That is the largest scale without overflow; the smallest one that keeps "
        "all is asked for.",
        "no_power_of_two": "The scale is no power of two: it would change the mantissas, too.",
        "never_scaled": "Small gradients are lost without a scale.",
    },
    hints={
        "tie_kept": ("What does 2^-25 become in float16?", "Double while it is <= 2.0**-25."),
        "rounding_forgotten": ("What does 1.5 * 2^-25 become in float16?",
                               "Compare with 2.0**-25, half of the smallest number."),
        "subnormals_given_up": ("What is float16's smallest number?",
                                "2^-24.  Sizes above half of it are kept."),
        "overflow_forgotten": ("What does the largest gradient become?",
                               "If the largest size times the scale is not < 65520, return 0.0."),
        "overflow_at_65504": ("What does 65510 become in float16?", "Compare with 65520."),
        "overflow_too_late": ("What does 65530 become in float16?", "Compare with 65520."),
        "signs_forgotten": ("What is the size of a negative number?", "Take np.abs first."),
        "largest_scale": ("From which end do you search?", "Start at 1.0 and double."),
        "no_power_of_two": ("Which scales are allowed?", "1, 2, 4, 8, ...: double until it fits."),
        "never_scaled": ("What does 2^-30 become in float16?", "Double until it is kept."),
        "raised": (
            "What is in the array when it has no element but zeros, or none at all?",
            "Then nothing has to be kept: return 1.0.",
        ),
        "wrong_values": (
            "Multiply the smallest and the largest size by your scale.  Are both in range?",
            "Smallest size * scale > 2**-25, largest size * scale < 65520.",
        ),
    },
)  # fmt: skip


# -- scaler_scales -----------------------------------------------------------------------------


def scaler_scales(overflows: Sequence[bool], scale: float, interval: int) -> list[float]:
    """The scale after each step."""
    return [one.scale for one in run(Scaler(scale=scale, interval=interval), overflows)]


def another_scaler(
    overflows: Sequence[bool], scale: float, interval: int, *, on_overflow: bool = True,
    on_growth: bool = True, late: int = 0, backoff: float = 0.5, growth: float = 2.0,
) -> list[float]:  # fmt: skip
    """The machine with a part missing.  on_...: the counter is set back then."""
    scales, good = [], 0
    for overflow in overflows:
        if overflow:
            scale *= backoff
            good = 0 if on_overflow else good
        else:
            good += 1
            if good >= interval + late:
                scale *= growth
                good = 0 if on_growth else good
        scales.append(scale)
    return scales


def by_number(overflows: Sequence[bool], scale: float, interval: int) -> list[float]:
    """The mistake of doubling at every step whose number is a multiple of the interval."""
    scales = []
    for number, overflow in enumerate(overflows, 1):
        scale = scale / 2 if overflow else scale * 2 if number % interval == 0 else scale
        scales.append(scale)
    return scales


def scaler_inputs(
    rng: np.random.Generator, level: Level
) -> Iterator[tuple[list[bool], float, int]]:
    """The example, two growths in a row, an overflow just before a growth, then random runs."""
    yield [False, True, False, False, False], 1024.0, 2
    yield [False] * 7, 256.0, 3
    yield [False, False, True, False, False, False, True, True, False, False, False], 65536.0, 3
    yield [True, False, True], 8.0, 1
    yield [], 1.0, 5
    for _ in range(12 if level == "grader" else 3):
        steps = rng.random(int(rng.integers(20, 40))) < 0.2
        yield [bool(one) for one in steps], 2.0 ** int(rng.integers(8, 17)), int(rng.integers(2, 5))


SCALER_SCALES = FunctionSpec(
    "scaler_scales", UNIT, 2, scaler_inputs, scaler_scales,
    suspects={
        "not_in_a_row": lambda o, s, i: another_scaler(o, s, i, on_overflow=False),
        "grows_on": lambda o, s, i: another_scaler(o, s, i, on_growth=False),
        "one_step_late": lambda o, s, i: another_scaler(o, s, i, late=1),
        "never_grows": lambda o, s, i: another_scaler(o, s, i, growth=1.0),
        "never_halved": lambda o, s, i: another_scaler(o, s, i, backoff=1.0),
        "before_the_step": lambda o, s, i: [s, *scaler_scales(o, s, i)][: len(o)],
        "by_step_number": by_number,
        "quartered": lambda o, s, i: another_scaler(o, s, i, backoff=0.25),
    },
    causes={
        "not_in_a_row": "Good steps before an overflow are still counted after it.",
        "grows_on": "After it has grown once, the scale grows at every good step.",
        "one_step_late": "The scale grows one good step too late.",
        "never_grows": "The scale never grows.",
        "never_halved": "An overflow does not change the scale.",
        "before_the_step": "Those are the scales before each step; after it is asked for.",
        "by_step_number": "The scale grows at every so-many-th step of the run, whatever happened "
        "before.",
        "quartered": "An overflow makes a quarter of the scale.",
    },
    hints={
        "not_in_a_row": ("What does in a row mean?", "Set the counter to 0 at an overflow."),
        "grows_on": ("What is the counter after the scale has grown?",
                     "Set it to 0 when the scale grows."),
        "one_step_late": ("After how many good steps does it grow?",
                          "When the counter, with this step in it, is equal to interval."),
        "never_grows": ("What happens after interval good steps?", "Double the scale."),
        "never_halved": ("What does an overflow do?", "Halve the scale."),
        "before_the_step": ("When do you append?", "Change the scale first, then append it."),
        "by_step_number": ("From where do you count?",
                           "Keep a counter of good steps; an overflow sets it to 0."),
        "quartered": ("How much does an overflow take?", "Halve the scale."),
        "wrong_values": (
            "Write scale and counter beside each step, as in the lesson.",
            "Overflow: halve, counter 0.  Else counter + 1; if it is interval: double, counter 0.",
        ),
    },
)  # fmt: skip


# -- stochastic_bf16 ---------------------------------------------------------------------------

#: float32 bits at the edges: exact numbers, rests of 1 and 65535, a carry into the exponent, the
#: largest numbers, infinities, NaN with bits only below, subnormal numbers, zeros, negative ones.
HARD = np.array(
    [0x3F804000, 0xBF80C000, 0x3F800000, 0x3F800001, 0x3F80FFFF, 0x3FFFFFFF, 0x7F7FFFFF, 0x7F800000,
     0xFF800000, 0x7F800001, 0xFFFFFFFF, 0x7FC00000, 0x00000001, 0x80000000, 0x00000000, 0xFF7FFFFF,
     0xC2F6E979, 0x7F7F0001],
    np.uint32,
)  # fmt: skip


def stochastic_case(rng: np.random.Generator, n: int, block: int) -> Case:
    """Ordinary values, then hard ones, then any; noise of which both halves differ."""
    ordinary = rng.integers(0x3E000000, 0x42000000, 6, dtype=np.uint32)
    ordinary[1::2] |= np.uint32(1 << 31)
    anything = rng.integers(0, 2**32, n, dtype=np.uint32)
    bits = np.concatenate([ordinary, rng.permutation(HARD), anything])[:n]
    noise = rng.integers(0, 2**32, n, dtype=np.uint32)
    args = {"out": np.zeros(n, np.uint16), "bits": bits, "noise": noise, "n": n}
    return Case(args, ceil_div(n, block) + 1, block, f"n = {n}")


def stochastic_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Edges of blocks."""
    for block in (32, 64):
        for n in sizes(block, level, rng):
            yield stochastic_case(rng, n, block)


def rounded(change: Callable[[Array, Array], Array], nan: bool = True) -> Callable[[Case], Array]:
    """Codes from the bits and the noise, both int64; NaN is right unless `nan` is False."""

    def codes(case: Case) -> Array:
        bits, noise = (case.args[name].astype(np.int64) for name in ("bits", "noise"))
        is_nan = (bits & 0x7FFFFFFF) > 0x7F800000
        return np.where(is_nan & nan, 0x7FFF, change(bits, noise) & 0xFFFF)

    return codes


def carried(bits: Array, noise: Array) -> Array:
    """The rule: add the lower half of the noise, cut off."""
    return (bits + (noise & 0xFFFF)) >> 16


def _to_value(bits: Array, noise: Array) -> Array:
    """Up means a larger value, not a larger magnitude."""
    rest = bits & 0xFFFF
    negative = np.where(rest + (noise & 0xFFFF) >= 0x10000, bits >> 16, (bits + 0xFFFF) >> 16)
    return np.where(bits >> 31 == 1, negative, carried(bits, noise))


def suspected(codes: Callable[[Case], Array]) -> Suspect:
    """As an answer."""
    return lambda case: {"out": codes(case)}


STOCHASTIC_BF16 = KernelSpec(
    "stochastic_bf16", UNIT, 2, ("out",), stochastic_cases, suspected(rounded(carried)),
    writes_once=True,
    suspects={
        "truncated": suspected(rounded(lambda b, r: b >> 16)),
        "to_nearest": suspected(rounded(lambda b, r: (b + 0x7FFF + (b >> 16 & 1)) >> 16)),
        "all_of_the_noise": suspected(rounded(lambda b, r: (b + r) >> 16)),
        "upper_noise": suspected(rounded(lambda b, r: carried(b, r >> 16))),
        "half_added_too": suspected(rounded(lambda b, r: (b + 0x8000 + (r & 0xFFFF)) >> 16)),
        "another_rule": suspected(
            rounded(lambda b, r: (b >> 16) + ((r & 0xFFFF) < (b & 0xFFFF)).astype(np.int64))
        ),
        "one_noise_for_all": suspected(rounded(lambda b, r: carried(b, r[:1] if r.size else r))),
        "even_chance": suspected(
            rounded(lambda b, r: (b >> 16) + ((r & 0x8000 != 0) & (b & 0xFFFF != 0)))
        ),
        "always_a_coin": suspected(rounded(lambda b, r: (b >> 16) + (r & 1))),
        "infinity_to_nan": suspected(
            rounded(lambda b, r: np.where(b & 0x7FFFFFFF == 0x7F800000, 0x7FFF, carried(b, r)))
        ),
        "nan_run_over": suspected(rounded(carried, nan=False)),
        "subtracted": suspected(rounded(lambda b, r: (b - (r & 0xFFFF)) >> 16)),
        "up_by_value": suspected(rounded(_to_value)),
        **block_mistakes(rounded(carried)),
    },
    causes={
        "truncated": "The lower half is cut off: nothing is random, and everything moves toward 0.",
        "to_nearest": "That is rounding to nearest; the noise is not used.",
        "all_of_the_noise": "All 32 bits of the noise are added: they reach far beyond the rest.",
        "upper_noise": "The upper half of the noise is used; the exercise says the lower one.",
        "half_added_too": "Half a step is added besides the noise: the mean is too high by half a "
        "step.",
        "another_rule": "The chances are right, but the rule is another one: up where rest + r "
        "reaches 65536.",
        "one_noise_for_all": "All elements use the same noise: their errors do not cancel.",
        "even_chance": "It goes up with a chance of one half, however large the rest is.",
        "always_a_coin": "It goes up with a chance of one half, even where there is no rest.",
        "infinity_to_nan": "Infinity becomes NaN; it stays infinity.",
        "nan_run_over": "A NaN is treated like a number: some become infinity, others change.",
        "subtracted": "The noise is subtracted: the mean is too low by a step.",
        "up_by_value": "Negative values go the other way: it is the magnitude that goes up.",
        "only_first_block": "Only the values of the first block are converted.",
        "multiple_of_block_only": "Only the values of full blocks are converted.",
    },
    hints={
        "truncated": ("What happens with noise[i]?", "Add its lower 16 bits before you shift."),
        "to_nearest": ("What happens with noise[i]?",
                       "Add its lower 16 bits in the place of 0x7FFF + (b >> 16 & 1)."),
        "all_of_the_noise": ("How many bits does the rest have?", "noise[i] & 0xFFFF."),
        "upper_noise": ("Which half of the noise is r?", "noise[i] & 0xFFFF."),
        "half_added_too": ("What should a number of bf16 become?", "Add the noise alone."),
        "another_rule": ("For a rest of 0x4000: which r make it go up?",
                         "Those from 0xC000 on: add r to the bits, and let the carry decide."),
        "one_noise_for_all": ("Which element of noise belongs to element i?", "noise[i]."),
        "even_chance": ("How large is the chance for a rest of 0x4000?", "A quarter: add, and let "
                        "the carry decide."),
        "always_a_coin": ("What should 1.0 become?", "0x3F80 always: add the noise to the bits, "
                          "and let the carry decide."),
        "infinity_to_nan": ("Which pattern is infinity, which ones are NaN?",
                            "NaN is above 0x7F800000: use >, not >=."),
        "nan_run_over": ("What does the carry do to 0x7F800001, and to 0xFFFFFFFF?",
                         "If (b & 0x7FFFFFFF) > 0x7F800000 store 0x7FFF."),
        "subtracted": ("Into which direction should a large r push?", "Add it."),
        "up_by_value": ("What do the bits without the sign say?",
                        "Treat both signs alike: add r to the bits."),
        "wrong_values": (
            "Write bits and noise of the first wrong one in hexadecimal.  What is rest + r?",
            "(b + (noise[i] & 0xFFFF)) >> 16, and 0x7FFF for a NaN.",
        ),
    },
)  # fmt: skip


# -- mended_dot --------------------------------------------------------------------------------


def dot_case(rng: np.random.Generator, m: int, n: int, block: int) -> Case:
    """Positive columns of several sizes: some sums leave float16, some stick in it."""
    a, b = (rng.uniform(1, 3, (m, n)) for _ in range(2))
    a *= np.exp2(np.arange(n) % 4 * 3 - 1)
    args = {"out": np.zeros(n, np.float32), "a": a.astype(np.float16), "b": b.astype(np.float16),
            "m": m, "n": n}  # fmt: skip
    return Case(args, ceil_div(n, block) + 1, block, f"m = {m}, n = {n}")


def dot_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """One row, where the rounding of the product shows; then long columns."""
    for m, n, block in ((1, 5, 32), (2, 33, 32), (200, 31, 32), (400, 67, 64), (0, 40, 32)):
        yield dot_case(rng, m, n, block)
    if level == "grader":
        for _ in range(3):
            yield dot_case(rng, int(rng.integers(100, 400)), int(rng.integers(2, 100)), 32)


def dots(case: Case) -> Array:
    """In float64, which is exact for the products."""
    return np.sum(case.args["a"].astype(np.float64) * case.args["b"], axis=0)


def sum_in_half(case: Case, start: Any = np.float16) -> Answer:
    """The given kernel: products and totals in float16."""
    with np.errstate(over="ignore"):
        products = case.args["a"] * case.args["b"]
        total = np.zeros(products.shape[1], start)
        for row in products:
            total = total + row
    return {"out": total.astype(np.float64)}


def product_in_half(case: Case) -> Answer:
    """The total is float32, the products are float16."""
    with np.errstate(over="ignore"):
        products = case.args["a"] * case.args["b"]
    return {"out": products.sum(axis=0, dtype=np.float64)}


def products_then_half(case: Case) -> Answer:
    """Products in float32, the total in float16."""
    products = case.args["a"].astype(np.float32) * case.args["b"]
    total = np.zeros(products.shape[1], np.float16)
    with np.errstate(over="ignore"):
        for row in products:
            total = (total + row).astype(np.float16)
    return {"out": total.astype(np.float64)}


MENDED_DOT = KernelSpec(
    "mended_dot", UNIT, 2, ("out",), dot_cases, lambda case: {"out": dots(case)},
    writes_once=True,
    suspects={
        "sum_in_half": sum_in_half,
        "total_in_half": products_then_half,
        "product_in_half": product_in_half,
        "result_in_half": lambda case: {"out": _half(dots(case))},
        "last_product": lambda case: {"out": _last(case)},
        **block_mistakes(dots),
    },
    causes={
        "sum_in_half": "Products and totals are still float16.",
        "total_in_half": "The products are right, but the total is still float16.",
        "product_in_half": "The total is float32, but each product is rounded to float16 before it "
        "is added: float16 times float16 is float16.",
        "result_in_half": "The sum is right, but it goes through float16 before it is stored.",
        "last_product": "Only the last product is stored: the total does not grow.",
        "only_first_block": "Only the columns of the first block are summed.",
        "multiple_of_block_only": "Only the columns of full blocks are summed.",
        "float64_arithmetic": "The values are right, but they are computed in float64.",
    },
    hints={
        "sum_in_half": ("Which type has total, and which type has the product?",
                        "Start with np.float32(0), and convert a[i, j] and b[i, j] to np.float32 "
                        "before you multiply."),
        "total_in_half": ("What is the type of total?", "Start with np.float32(0)."),
        "product_in_half": ("What is the type of a[i, j] * b[i, j]?",
                            "np.float32(a[i, j]) * np.float32(b[i, j])."),
        "result_in_half": ("What happens between the loop and the store?", "Store total itself."),
        "last_product": ("What does total hold after two rounds?", "Use +=."),
        "float64_arithmetic": ("Which constant or conversion is float64?",
                               "0.0 and float(...) are float64.  Start with np.float32(0), and "
                               "convert with np.float32(...)."),
        "wrong_values": (
            "Compute a column with one row by hand.",
            "total += np.float32(a[i, j]) * np.float32(b[i, j]), from np.float32(0) on.",
        ),
    },
    requirements=(Requirement("float64", "float64_arithmetic"),),
    counted=lambda: dot_case(np.random.default_rng(5), 64, 64, 32),
)  # fmt: skip


def _half(values: Array) -> Array:
    with np.errstate(over="ignore"):
        return values.astype(np.float16).astype(np.float64)


def _last(case: Case) -> Array:
    a, b = case.args["a"].astype(np.float64), case.args["b"]
    return a[-1] * b[-1] if len(a) else np.zeros(a.shape[1])


# -- paired_sum --------------------------------------------------------------------------------

THREADS = 256
ONE_STEP = {"float32": Tolerance(2.0**-23)}


def cancelling(rng: np.random.Generator, n: int) -> Array:
    """Two thirds are large and cancel in pairs; the rest are small and of one sign."""
    large = rng.uniform(-1000, 1000, n // 3)
    small = rng.uniform(0.1, 0.3, n - 2 * large.size)
    return rng.permutation(np.concatenate([large, -large, small]).astype(np.float32))


def sum_case(rng: np.random.Generator, n: int) -> Case:
    """One block, as the exercise says."""
    args = {"out": np.zeros(1, np.float32), "x": cancelling(rng, n), "n": n}
    return Case(args, 1, THREADS, f"n = {n}")


def sum_cases(rng: np.random.Generator, level: Level) -> Iterator[Case]:
    """Fewer numbers than threads, whole and broken rounds."""
    more = [int(one) for one in rng.integers(300, 3500, 3)] if level == "grader" else []
    for n in (1, 2, 255, 256, 257, 1021, 3001, *more):
        yield sum_case(rng, n)


def exact_sum(case: Case) -> Array:
    """Rounded once."""
    return np.array([math.fsum(case.args["x"].astype(float))])


def _rows(case: Case) -> Array:
    x = case.args["x"]
    return np.append(x, np.zeros(-x.size % THREADS, np.float32)).reshape(-1, THREADS)


def _joined(a: Array, b: Array) -> tuple[Array, Array]:
    """a + b and its error, in float32."""
    s = a + b
    back = s - a
    return s, (a - (s - back)) + (b - back)


def of_threads(case: Case) -> tuple[Array, Array]:
    """Pairs of the 256 threads."""
    total = rest = np.zeros(THREADS, np.float32)
    for row in _rows(case):
        total, error = _joined(total, row)
        rest = rest + error
    return total, rest


def by_tree(total: Array, rest: Array, keep: bool) -> Array:
    """The tree over pairs.  keep: the errors of its own additions go into the rest."""
    while total.size > 1:
        half = total.size // 2
        total, error = _joined(total[:half], total[half:])
        rest = rest[:half] + rest[half:] + (error if keep else 0)
    return (total + rest).astype(np.float64)


def plainly(case: Case) -> Array:
    """The given kernel."""
    total = np.zeros(THREADS, np.float32)
    for row in _rows(case):
        total = total + row
    return by_tree(total, np.zeros_like(total), False)


def _kahan(case: Case) -> tuple[Array, Array]:
    """(total, lost) of the 256 threads; who has no number in the last round stops before it."""
    total = lost = np.zeros(THREADS, np.float32)
    left = case.args["n"]
    for row in _rows(case):
        busy = np.arange(THREADS) < left
        y = row - lost
        after = total + y
        lost = np.where(busy, (after - total) - y, lost)
        total = np.where(busy, after, total)
        left -= THREADS
    return total, lost


def kahan_then_tree(case: Case) -> Array:
    """Kahan's sum in each thread, the rest forgotten before the tree."""
    total, _ = _kahan(case)
    return by_tree(total, np.zeros_like(total), False)


def _kahan_pairs(case: Case) -> Array:
    """The rest of Kahan's sum taken along: it misses what a total loses to a larger term."""
    total, lost = _kahan(case)
    return by_tree(total, -lost, True)


def _threads_plain(case: Case) -> Array:
    total = np.zeros(THREADS, np.float32)
    for row in _rows(case):
        total = total + row
    return by_tree(total, np.zeros_like(total), True)


def _wrong_sign(case: Case) -> Array:
    total, rest = of_threads(case)
    return by_tree(total, -rest, True)


def _rest_forgotten(case: Case) -> Array:
    total, _ = of_threads(case)
    while total.size > 1:
        total = total[: total.size // 2] + total[total.size // 2 :]
    return total.astype(np.float64)


PAIRED_SUM = KernelSpec(
    "paired_sum", UNIT, 3, ("out",), sum_cases, lambda case: {"out": exact_sum(case)},
    tolerance=ONE_STEP,
    writes_once=True,
    suspects={
        "plain_sum": lambda case: {"out": plainly(case)},
        "kahan_then_tree": lambda case: {"out": kahan_then_tree(case)},
        "kahan_pairs": lambda case: {"out": _kahan_pairs(case)},
        "tree_unpaired": lambda case: {"out": by_tree(*of_threads(case), keep=False)},
        "threads_unpaired": lambda case: {"out": _threads_plain(case)},
        "rest_forgotten": lambda case: {"out": _rest_forgotten(case)},
        "wrong_sign": lambda case: {"out": _wrong_sign(case)},
        "sum_of_sizes": lambda case: {"out": np.abs(case.args["x"]).sum(dtype=float)[None]},
        "rest_of_round_left_out": lambda case: {
            "out": _rows(case)[: case.args["n"] // THREADS].sum(dtype=float)[None]
        },
        "first_round_only": lambda case: {"out": _rows(case)[0].sum(dtype=float)[None]},
    },
    causes={
        "plain_sum": "That is the plain sum: no addition keeps what it loses.",
        "kahan_then_tree": "The threads lose nothing, but what Kahan's sum keeps does not reach "
        "the tree, and the tree rounds while the numbers are still large.",
        "kahan_pairs": "Kahan's formula finds the error where the total is the larger one.  Here a "
        "total may cancel to nearly nothing, and then the term is.",
        "tree_unpaired": "The threads keep what they lose, but the additions of the tree do not.",
        "threads_unpaired": "The tree keeps what it loses, but the additions of the threads do "
        "not.",
        "rest_forgotten": "The rests are computed, but they do not reach the result.",
        "wrong_sign": "The rests of the threads have the wrong sign.",
        "sum_of_sizes": "That is the sum of the magnitudes.",
        "rest_of_round_left_out": "The elements behind the last multiple of 256 are missing.",
        "first_round_only": "Only the first 256 elements are summed.",
        "reduced_precision": "The sum is near, but too much was lost in roundings: some additions "
        "do not keep what they lose.",
        "wrong_values": "The sum is further from the exact one than a step of float32.",
        "float64_arithmetic": "The sum is right, but it is computed in float64.",
        "too_many_instructions": "It takes too many instructions: the threads do not share the "
        "work.",
        "too_many_sectors": "It loads too many sectors: neighbouring threads do not read "
        "neighbouring elements.",
    },
    hints={
        "plain_sum": ("What does total + x[i] lose?",
                      "Compute the error of each addition by Knuth's formula, and keep the sum of "
                      "the errors beside the total, in the threads and in the tree."),
        "kahan_then_tree": ("What is the size of the numbers in the first round of the tree?",
                            "Let each thread add up its errors by Knuth's formula, and keep a "
                            "second shared array for them."),
        "kahan_pairs": ("Which of total and x[i] is larger?  Always?",
                        "Use Knuth's formula in the threads as well."),
        "tree_unpaired": ("What does the tree lose when it adds two totals?",
                          "Add the error of that addition to the new rest as well."),
        "threads_unpaired": ("What does total + x[i] lose?",
                             "Add its error to rest in the loop."),
        "rest_forgotten": ("What is stored in the end?", "Store totals[0] + rests[0]."),
        "wrong_sign": ("Is lost what is missing, or what is too much?",
                       "The error of Knuth's formula is what is missing: add it."),
        "sum_of_sizes": ("What is the sum of 2 and -2?", "Leave abs out."),
        "rest_of_round_left_out": ("How far does the loop go?",
                                   "for i in range(t, n, THREADS)."),
        "first_round_only": ("How many elements does a thread have?",
                             "for i in range(t, n, THREADS)."),
        "reduced_precision": (
            "Which of your additions loses something that nothing keeps?",
            "Each addition of totals has an error; add every error to the rest, and the rest to "
            "the total at the very end.",
        ),
        "float64_arithmetic": ("Which constant is float64?",
                               "Start from np.float32(0); shared arrays are np.float32."),
        "too_many_instructions": ("How many threads add?",
                                  "Each thread sums its share, a tree of 8 rounds joins them."),
        "too_many_sectors": ("Which elements do threads 0 and 1 read at the same time?",
                             "for i in range(t, n, THREADS)."),
        "bank_conflicts": ("Which words do neighbouring threads use?",
                           "Keep totals and rests in two arrays, each indexed by the thread."),
        "wrong_values": (
            "Which of your additions loses something that nothing keeps?",
            "Each addition of totals has an error; add every error to the rest, and the rest to "
            "the total at the very end.",
        ),
    },
    requirements=(
        Requirement("float64", "float64_arithmetic"),
        Requirement("bank_conflicts", "bank_conflicts"),
        Requirement("issue_slots", "too_many_instructions", times=3.0),
        Requirement("load_sectors", "too_many_sectors", times=1.1),
    ),
    counted=lambda: sum_case(np.random.default_rng(21), 3000),
)  # fmt: skip


SPECS = [STICKS_AT, SMALLEST_SCALE, SCALER_SCALES, STOCHASTIC_BF16, MENDED_DOT, PAIRED_SUM]
