"""Kernels for the compiler's tests."""

from __future__ import annotations

import math

import numpy as np
from numba import float32

from warpwise import cuda

TILE = 16


@cuda.jit(device=True)
def axpy(a, x, y):
    return a * x + y


@cuda.jit
def saxpy(out, x, y, a):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = axpy(a, x[i], y[i])


@cuda.jit
def with_literal(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2.5 * x[i] + x[i]


@cuda.jit
def without_literal(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = np.float32(2.5) * x[i] + x[i]


@cuda.jit
def tiled(C, A, B):
    a = cuda.shared.array((TILE, TILE), float32)
    b = cuda.shared.array((TILE, TILE), float32)
    col, row = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for step in range(A.shape[1] // TILE):
        a[ty, tx] = A[row, step * TILE + tx]
        b[ty, tx] = B[step * TILE + ty, col]
        cuda.syncthreads()
        for k in range(TILE):
            total += a[ty, k] * b[k, tx]
        cuda.syncthreads()
    C[row, col] = total


@cuda.jit
def shuffled(out, x):
    i = cuda.grid(1)
    value = x[i]
    for offset in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, offset)
    if cuda.laneid == 0:
        cuda.atomic.add(out, 0, value)


@cuda.jit
def local(out, x):
    i = cuda.grid(1)
    seen = cuda.local.array(64, float32)
    for j in range(64):
        seen[j] = x[(i + j) % x.size]
    out[i] = seen[int(x[i]) % 64]


@cuda.jit
def half(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.sqrt(x[i]) * x[i]


@cuda.jit
def divided(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = out[i] / x[i]


@cuda.jit(fastmath=True)
def divided_fast(out, x):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = out[i] / x[i]


@cuda.jit
def grid_wide(out, x):
    i = cuda.grid(1)
    group = cuda.cg.this_grid()
    out[i] = x[i]
    group.sync()
    x[i] = out[(i + 1) % out.size]


@cuda.jit
def many_values(out, x):
    i = cuda.grid(1)
    kept = cuda.local.array(32, float32)
    for j in range(32):
        kept[j] = x[i + j]
    for _ in range(out.size):
        for j in range(32):
            kept[j] = kept[j] * kept[(j + 1) % 32] + kept[(j + 7) % 32]
    total = float32(0)
    for j in range(32):
        total += kept[j]
    out[i] = total


def ordinary(x):
    return x


NAMES = {"a": 1}
text = "a"


@cuda.jit
def no_such_attribute(out, x):
    i = cuda.grid(1)
    out[i] = x[i].nothing


@cuda.jit
def text_plus_number(out, x):
    i = cuda.grid(1)
    out[i] = text + x[i]


@cuda.jit
def array_into_element(out, x):
    i = cuda.grid(1)
    out[i] = x


@cuda.jit
def spelling(out, x):
    i = cuda.grid(1)
    out[i] = missing_name(x[i])  # noqa: F821


@cuda.jit
def calls_ordinary(out, x):
    i = cuda.grid(1)
    out[i] = ordinary(x[i])


@cuda.jit
def uses_dict(out, x):
    i = cuda.grid(1)
    out[i] = NAMES["a"]


@cuda.jit
def indexes_number(out, x):
    i = cuda.grid(1)
    out[i] = x[i][0]


@cuda.jit
def times(out, x):
    i = cuda.grid(1)
    out[i] = np.multiply(x[i], x[i])
