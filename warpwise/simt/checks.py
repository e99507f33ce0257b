"""Checks that generated source makes on integers: what compiled code does in silence is noted."""

from __future__ import annotations

from typing import Any

import numpy as np

from .values import Mask, Value

Run = Any


def fitted(run: Run, value: Value, dtype: np.dtype[Any], m: Mask, site: int) -> Value:
    """A wider integer cut to a signed type, as compiled; noted where it does not fit."""
    cut = value.astype(dtype)
    lost = cut.astype(value.dtype) != value
    if lost.any():
        bad = lost if m is True else m & lost
        if bad.any():
            run.note_cut(site, value, cut, bad)
    return cut


def divisor(run: Run, value: Value, m: Mask, site: int) -> Value:
    """The divisor of integers; noted where it is zero: compiled code goes on with 0."""
    zero = value == 0
    if zero.any():
        bad = zero if m is True else m & zero
        if bad.any():
            run.note_zero(site, bad)
    return value
