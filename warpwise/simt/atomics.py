"""Atomic operations: lane after lane, in thread order, by compiled loops kept on disk.

On a GPU the order is open.  Old values are returned as Numba returns them.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

CODES = {
    name: code
    for code, name in enumerate(
        ["add", "sub", "max", "min", "nanmax", "nanmin", "exch", "and_", "or_", "xor", "inc", "dec"]
    )
}


@numba.njit(cache=True, nogil=True)
def _arithmetic(buf: Any, at: Any, values: Any, old: Any, code: int) -> None:
    for lane in range(at.size):
        i = at[lane]
        before = buf[i]
        value = values[lane]
        old[lane] = before
        if code == 0:
            buf[i] = before + value
        elif code == 1:
            buf[i] = before - value
        elif code == 2:  # a NaN on either side changes nothing
            if value > before:
                buf[i] = value
        elif code == 3:
            if value < before:
                buf[i] = value
        elif code == 4:  # the nan forms prefer the number
            if before != before or value > before:
                buf[i] = value
        elif code == 5:
            if before != before or value < before:
                buf[i] = value
        else:
            buf[i] = value


@numba.njit(cache=True, nogil=True)
def _bitwise(buf: Any, at: Any, values: Any, old: Any, code: int) -> None:
    for lane in range(at.size):
        i = at[lane]
        before = buf[i]
        value = values[lane]
        old[lane] = before
        if code == 7:
            buf[i] = before & value
        elif code == 8:
            buf[i] = before | value
        elif code == 9:
            buf[i] = before ^ value
        elif code == 10:  # counts up and wraps after `value`
            buf[i] = 0 if before >= value else before + buf.dtype.type(1)
        else:
            buf[i] = value if before == 0 or before > value else before - buf.dtype.type(1)


@numba.njit(cache=True, nogil=True)
def _swap(buf: Any, at: Any, expected: Any, values: Any, old: Any) -> None:
    for lane in range(at.size):
        i = at[lane]
        old[lane] = buf[i]
        if buf[i] == expected[lane]:
            buf[i] = values[lane]


def apply(buf: Any, at: Any, values: Any, name: str) -> Any:
    """buf[at] = op(buf[at], values), one after the other; the old values."""
    old = np.empty(at.size, buf.dtype)
    code = CODES[name]
    (_bitwise if code >= 7 else _arithmetic)(buf, at, values, old, code)
    return old


def compare_and_swap(buf: Any, at: Any, expected: Any, values: Any) -> Any:
    """buf[at] = value where it is `expected`; the old values."""
    old = np.empty(at.size, buf.dtype)
    _swap(buf, at, expected, values, old)
    return old


def changes(name: str, operands: tuple[Any, ...], old: Any) -> Any:
    """For each lane, whether an atomic operation leaves another value than it found."""
    value = operands[-1]
    if name == "cas":
        return (old == operands[0]) & (value != old)
    if name in ("max", "nanmax", "min", "nanmin"):
        beyond = value > old if name.endswith("max") else value < old
        return beyond | (name.startswith("nan") & (old != old))
    if name == "and_":
        return (old & value) != old
    if name == "or_":
        return (old | value) != old
    if name in ("inc", "dec"):  # only from 0 to 0
        return (old != 0) | (value != 0)
    return value != (old if name == "exch" else 0)


def warm() -> None:
    """Compile the loops for every type that CUDA has atomics for, so that labs start fast."""
    at = np.zeros(1, np.int64)
    for name in ("int32", "int64", "uint32", "uint64", "float32", "float64"):
        buf = np.zeros(1, name)
        apply(buf, at, buf, "add")
        if buf.dtype.kind in "iu":
            apply(buf, at, buf, "xor")
            compare_and_swap(buf, at, buf, buf)
