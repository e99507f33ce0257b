"""What must hold for any float64 and any format."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from warpwise.numerics import (
    FORMATS,
    decode,
    encode,
    neighbours,
    quantise,
    rank_of,
    round_to,
    ulp,
)

ANY = st.sampled_from([fmt for fmt in FORMATS.values() if fmt.sign_bits])
NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@st.composite
def inside(draw):
    """A format and a value within its range: of any size, or near one of its numbers."""
    fmt = draw(ANY)
    if draw(st.booleans()):
        return fmt, draw(st.floats(-fmt.max, fmt.max))
    value = float(decode(draw(st.integers(0, fmt.max_code)), fmt))
    step = draw(st.sampled_from([0, 0.25, 0.5, 0.75, 1 - 2**-20, 2**-40])) * float(ulp(value, fmt))
    return fmt, min(value + step, fmt.max) * draw(st.sampled_from([1, -1]))


@settings(max_examples=400, deadline=None)
@given(inside())
def test_a_value_lies_between_down_and_up_and_nearest_is_the_nearer(case):
    """Compared as exact fractions; toward zero is the one of the two with the smaller magnitude."""
    fmt, value = case
    down, up, near = (float(round_to(value, fmt, mode)) for mode in ("down", "up", "nearest"))
    assert down <= value <= up
    assert rank_of(encode(up, fmt), fmt) - rank_of(encode(down, fmt), fmt) == (down != up)
    x = Fraction(value)
    assert abs(x - Fraction(near)) == min(abs(x - Fraction(down)), abs(x - Fraction(up)))
    assert float(round_to(value, fmt, "zero")) == min(down, up, key=abs)
    if down != value:
        assert neighbours(value, fmt) == (down, up)


@settings(max_examples=300, deadline=None)
@given(ANY, NUMBERS, NUMBERS)
def test_rounding_keeps_the_order(fmt, a, b):
    """Of any two values, beyond the range too, when it saturates; and the sign survives."""
    low, high = sorted((a, b))
    for mode in ("nearest", "nearest_away", "zero", "up", "down"):
        assert round_to(low, fmt, mode, saturate=True) <= round_to(high, fmt, mode, saturate=True)
    assert (
        encode(-a, fmt, saturate=True) & ~fmt.sign_mask
        == encode(a, fmt, saturate=True) & ~fmt.sign_mask
    )


@settings(max_examples=100, deadline=None)
@given(st.lists(st.floats(-1e30, 1e30), min_size=32, max_size=32),
       st.sampled_from(["mxfp8", "mxfp6_e3m2", "mxfp4"]))  # fmt: skip
def test_a_block_is_wrong_by_half_a_step_of_its_largest_at_most(values, name):
    """The rule up cuts nothing off: the error is half an ulp at the largest element's place."""
    kept = quantise(values, name)
    scale = float(decode(kept.scales, "e8m0")[0])
    element = kept.fmt.element
    half = float(ulp(element.max, element)) * scale / 2
    assert np.all(np.abs(kept.dequantise() - np.array(values)) <= half)
    assert np.all(np.abs(kept.dequantise()) <= element.max * scale)
