"""Masks and choices by lane, whatever the shapes and layouts of the operands."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from warpwise.simt import blending
from warpwise.simt.values import split

SHAPE = (3, 5)
SHAPES = [(3, 5), (1, 5), (3, 1)]


def masks() -> list[Any]:
    rng = np.random.default_rng(0)
    made = [rng.random(shape) < share for shape in SHAPES for share in (0.2, 0.5, 0.9)]
    made += [np.ones(SHAPE, bool), np.zeros((1, 5), bool), np.arange(5).reshape(1, 5) < 2]
    return made


@pytest.mark.parametrize("number", range(len(masks())))
def test_split_parts_a_mask(number: int) -> None:
    """Both parts are what `and` gives; an unchanged mask is the same object, an empty one False."""
    condition = masks()[number]
    for m in [True, *(mask for mask in masks() if mask.any())]:
        yes, no = split(m, condition)
        lanes = np.broadcast_to(m, SHAPE)
        for part, expected, other in ((yes, lanes & condition, no), (no, lanes & ~condition, yes)):
            np.testing.assert_array_equal(np.broadcast_to(part, SHAPE), expected)
            if not expected.any():
                assert part is False
                assert other is m


@pytest.mark.parametrize("kind", ["?", "i1", "u2", "i4", "f4", "i8", "f8", "c16"])
@pytest.mark.parametrize("layout", ["C", "F", "mixed", "row"])
def test_choose_is_where(kind: str, layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compiled choice gives what np.where() gives, for every type, also NaN and -0.0."""
    monkeypatch.setattr(blending, "LEAST", 1)
    rng = np.random.default_rng(0)
    m = rng.random((6, 32)) < 0.5
    a, b = (rng.integers(0, 100, (6, 32)).astype(kind) for _ in range(2))
    if kind[0] == "f":
        a[0, :2], b[1, :2] = (np.nan, -0.0), (-0.0, np.inf)
    if layout in ("F", "mixed"):
        m, a = np.asfortranarray(m), np.asfortranarray(a)
        b = np.asfortranarray(b) if layout == "F" else b
    if layout == "row":
        b = b[:1]
    got = blending.choose(m, a, b)
    assert got.dtype == a.dtype
    np.testing.assert_array_equal(got, np.where(m, a, b))
    if kind[0] == "f":
        np.testing.assert_array_equal(np.signbit(got), np.signbit(np.where(m, a, b)))
