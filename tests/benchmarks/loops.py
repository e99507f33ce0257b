"""Hand-written compiled loops that do the arithmetic of a kernel, and nothing else."""

from __future__ import annotations

from typing import Any

import numba


@numba.njit(cache=True)
def gemm(c: Any, a: Any, b: Any) -> None:
    """c = a @ b, element by element, in the order of the kernel's sums."""
    for y in range(c.shape[0]):
        for x in range(c.shape[1]):
            acc = c.dtype.type(0)
            for k in range(a.shape[1]):
                acc += a[y, k] * b[k, x]
            c[y, x] = acc
