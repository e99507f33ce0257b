"""Choosing between two values lane by lane: a compiled loop without a branch, kept on disk.

np.where() branches for each element, which costs ten times as much when lanes alternate.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

LEAST = 2048  # elements; below, np.where() has less overhead
BITS = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


@numba.njit(cache=True, nogil=True)
def _choose(m: Any, a: Any, b: Any, out: Any) -> None:
    for i in range(m.size):
        x, y = a[i], b[i]
        out[i] = x if m[i] else y


def choose(m: Any, a: Any, b: Any) -> Any:
    """a where m holds, else b; the same as np.where(m, a, b)."""
    if (
        m.size >= LEAST and a.shape == m.shape == b.shape and a.dtype is b.dtype
        and a.dtype.itemsize in BITS and a.dtype.kind != "V"
    ):  # fmt: skip
        if m.flags.c_contiguous and a.flags.c_contiguous and b.flags.c_contiguous:
            return _chosen(m, a, b)
        if m.flags.f_contiguous and a.flags.f_contiguous and b.flags.f_contiguous:
            return _chosen(m.T, a.T, b.T).T
    return np.where(m, a, b)


def _chosen(m: Any, a: Any, b: Any) -> Any:
    out = np.empty(a.shape, a.dtype)
    bits = BITS[a.dtype.itemsize]
    _choose(m.reshape(-1), *(v.view(bits).reshape(-1) for v in (a, b, out)))
    return out


def warm() -> None:
    """Compile the loop for every size of element."""
    m = np.ones((1, LEAST), np.bool_)
    for bits in BITS.values():
        choose(m, np.zeros(m.shape, bits), np.zeros(m.shape, bits))
