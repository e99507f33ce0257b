"""Cases: sizes on the edges, asymmetric inputs, poison that shows, tolerances that are said."""

from __future__ import annotations

import numpy as np
import pytest

from warpwise.check import Case, Tolerance, cases
from warpwise.check.tolerance import close, for_dtype

DTYPES = ["bool", "int8", "uint8", "int16", "int32", "uint32", "int64", "uint64", "float16",
          "float32", "float64", "complex64", "complex128"]  # fmt: skip


def test_sizes_straddle_the_edges_of_a_block() -> None:
    """One, a block and its neighbours, 31, 33, a prime, and the empty array last."""
    rng = np.random.default_rng(0)

    assert cases.sizes(32, "student", rng) == [1, 31, 32, 33, 67, 97, 0]
    assert cases.sizes(128, "student", rng) == [1, 31, 33, 127, 128, 129, 257, 385, 0]


def test_the_grader_draws_more_sizes() -> None:
    """The student's sizes and random ones, up to eight blocks."""
    student = cases.sizes(32, "student", np.random.default_rng(0))
    grader = cases.sizes(32, "grader", np.random.default_rng(0))

    assert set(student) < set(grader)
    assert max(grader) < 256
    assert grader[:-1] == sorted(grader[:-1])


def test_a_seed_gives_other_values_at_each_level() -> None:
    """Exercise, seed and level fix the values; a change of any of them changes them."""
    drawn = {
        (name, seed, level): cases.values(cases.seeded(name, seed, level), 4).tobytes()
        for name in ("a", "b")
        for seed in (0, 1)
        for level in ("student", "grader")
    }

    assert len(set(drawn.values())) == 8
    assert drawn["a", 0, "student"] == cases.values(cases.seeded("a", 0, "student"), 4).tobytes()


@pytest.mark.parametrize(
    "dtype", [d for d in DTYPES if d not in ("bool", "complex64", "complex128")]
)
def test_values_are_never_zero_and_differ(dtype: str) -> None:
    """So a zero, a constant and a transposed array cannot pass."""
    drawn = cases.values(np.random.default_rng(3), (5, 7), dtype)

    assert drawn.dtype == dtype
    assert (drawn != 0).all()
    assert len(np.unique(drawn)) > 20


def test_boolean_values_have_both() -> None:
    """Also in the smallest array that can."""
    assert set(cases.values(np.random.default_rng(0), 2, bool).tolist()) == {True, False}


def test_float_values_do_not_fit_half_precision() -> None:
    """Otherwise an answer in float16 would pass."""
    drawn = cases.values(np.random.default_rng(0), 100)

    assert (drawn.astype(np.float16).astype(np.float32) != drawn).mean() > 0.9


@pytest.mark.parametrize("dtype", DTYPES)
def test_poison_is_recognised_bit_by_bit(dtype: str) -> None:
    """An untouched cell is told from every written one, a computed NaN included."""
    array = cases.poison((2, 3), dtype)
    if dtype == "bool":
        assert not cases.is_poison(array).any()
        return
    assert cases.is_poison(array).all()

    array[1, 2] = np.nan if array.dtype.kind in "fc" else 1

    assert cases.is_poison(array).sum() == 5
    assert not cases.is_poison(array)[1, 2]


def test_an_owner_counts_columns_along_x() -> None:
    """Element [row, column] belongs to the thread at x = column, y = row."""
    case = Case({}, (2, 3), (8, 4))

    assert cases.owner_by_position((5, 9), case) == ((1, 1, 0), (1, 1, 0))
    assert cases.owner_by_position((33,), Case({}, 2, 32)) == ((1, 0, 0), (1, 0, 0))


def test_a_case_describes_itself() -> None:
    """By its label, its scalars under the learner's names, or its shapes."""
    out = np.zeros((2, 3))

    assert Case({"out": out, "n": 3}, 1, 1).describe({"n": "count"}) == "count = 3"
    assert Case({"out": out}, 1, 1).describe({"out": "res"}) == "res (2, 3)"
    assert Case({"out": out}, 1, 1, "an empty row").describe() == "an empty row"


def test_tolerances_are_said_in_words() -> None:
    """By dtype; integers and booleans are exact."""
    assert str(for_dtype("float32")) == "within 1e-5 relative + 1e-6 absolute"
    assert str(for_dtype("float64")) == "within 1e-12 relative + 1e-13 absolute"
    assert str(for_dtype("int32")) == "exact"
    assert str(Tolerance(0.0, 0.5)) == "within 0.5 absolute"


def test_nan_and_infinity_are_strict() -> None:
    """NaN only equals NaN, an infinity only itself, and neither is ever near a number."""
    inf, nan = np.inf, np.nan
    got = np.array([nan, nan, inf, -inf, inf, 1.0, 1.0], np.float32)
    want = np.array([nan, 1.0, inf, inf, 1e30, nan, inf])

    assert close(got, want, Tolerance(1.0, 1e9)).tolist() == [True, False, True, False, False,
                                                             False, False]  # fmt: skip


def test_a_half_precision_value_is_outside_the_tolerance() -> None:
    """What float16 rounds off is more than float32 is allowed."""
    want = cases.values(np.random.default_rng(0), 1000).astype(np.float64)
    half = want.astype(np.float16)

    assert close(half, want, for_dtype("float32")).mean() < 0.1
