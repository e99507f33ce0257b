"""Reductions of arrays as plain Python functions, which are lowered like the learner's own.

Those that Numba writes in Python itself are taken from there; see overloads.py.
"""

# The functions below run in kernels, where Numba's types hold.
# mypy: disable-error-code="no-untyped-def, attr-defined"

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from . import typing


def _sum(zero: Any) -> Callable[..., Any]:
    def array_sum(a):
        total = zero
        for value in a.flat:
            total += value
        return total

    return array_sum


def array_max(a):
    """The largest element, or NaN when there is one."""
    assert a.size > 0
    best = a.flat[0]
    for value in a.flat:
        if value > best or value != value:
            best = value
    return best


def array_min(a):
    """The smallest element, or NaN when there is one."""
    assert a.size > 0
    best = a.flat[0]
    for value in a.flat:
        if value < best or value != value:
            best = value
    return best


def array_nanmax(a):
    """The largest element that is no NaN."""
    assert a.size > 0
    best = a.flat[0]
    for value in a.flat:
        if value > best or best != best:
            best = value
    return best


def array_nanmin(a):
    """The smallest element that is no NaN."""
    assert a.size > 0
    best = a.flat[0]
    for value in a.flat:
        if value < best or best != best:
            best = value
    return best


def items_max(a):
    """max(a) of Python: compared from the left, so that only a first NaN counts."""
    assert a.size > 0
    best = a[0]
    for value in a[1:]:
        if value > best:
            best = value
    return best


def items_min(a):
    """min(a) of Python."""
    assert a.size > 0
    best = a[0]
    for value in a[1:]:
        if value < best:
            best = value
    return best


#: function of an array -> the Python function, given a zero of the type of the result
REDUCTIONS: dict[Any, Callable[[Any], Callable[..., Any]]] = {
    np.sum: _sum, np.max: lambda _: array_max, np.min: lambda _: array_min,
    np.nanmax: lambda _: array_nanmax, np.nanmin: lambda _: array_nanmin,
    max: lambda _: items_max, min: lambda _: items_min,
}  # fmt: skip


def reduction(function: Any, array: Any) -> Callable[..., Any]:
    """The Python function for a reduction of an array of this numba type."""
    zero: Any = None
    if function is np.sum:
        zero = typing.numpy_dtype(typing.resolve(function, (array,)).result).type(0)
    return REDUCTIONS[function](zero)
