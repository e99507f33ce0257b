"""A ladder of transposes, and a kernel whose typing goes wrong."""

from __future__ import annotations

import numpy as np
from numba import float32

from warpwise import cuda

TILE = 32
PADDED = 33


@cuda.jit
def saxpy(out, x, y, a):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + y[i]


@cuda.jit
def triple(out, x):
    i = cuda.grid(1)
    out[i] = 3 * x[i]


@cuda.jit
def naive(out, x):
    col, row = cuda.grid(2)
    out[col, row] = x[row, col]


@cuda.jit
def tiled(out, x):
    tile = cuda.shared.array((TILE, TILE), float32)
    col, row = cuda.grid(2)
    tile[cuda.threadIdx.y, cuda.threadIdx.x] = x[row, col]
    cuda.syncthreads()
    r = cuda.blockIdx.x * TILE + cuda.threadIdx.y
    c = cuda.blockIdx.y * TILE + cuda.threadIdx.x
    out[r, c] = tile[cuda.threadIdx.x, cuda.threadIdx.y]


@cuda.jit
def padded(out, x):
    tile = cuda.shared.array((TILE, PADDED), float32)
    col, row = cuda.grid(2)
    tile[cuda.threadIdx.y, cuda.threadIdx.x] = x[row, col]
    cuda.syncthreads()
    r = cuda.blockIdx.x * TILE + cuda.threadIdx.y
    c = cuda.blockIdx.y * TILE + cuda.threadIdx.x
    out[r, c] = tile[cuda.threadIdx.x, cuda.threadIdx.y]


@cuda.jit
def sums(total, x):
    i = cuda.grid(1)
    cuda.atomic.add(total, 0, x[i])


@cuda.jit
def sums_in_blocks(total, x):
    part = cuda.shared.array(1, float32)
    if cuda.threadIdx.x == 0:
        part[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(part, 0, x[cuda.grid(1)])
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(total, 0, part[0])


@cuda.jit
def only_sums(out, x, y):
    i = cuda.grid(1)
    out[i] = x[i] + y[i] - x[i] + y[i] + y[i]


@cuda.jit
def only_products(out, x, y):
    i = cuda.grid(1)
    out[i] = x[i] * y[i] * x[i] * y[i] * y[i]


@cuda.jit
def fused_sums(out, x, y):
    i = cuda.grid(1)
    total = x[i]
    total += x[i] * y[i]
    total -= y[i] * total
    total = total * x[i] + y[i]
    out[i] = y[i] - total * total


@cuda.jit
def apart(out, x, y):
    i = cuda.grid(1)
    total = x[i]
    for _ in range(4):
        product = total * y[i]
        total += product
    out[i] = total


@cuda.jit
def explicit(out, x, y):
    i = cuda.grid(1)
    total = x[i]
    for _ in range(4):
        total = cuda.fma(total, y[i], x[i])
    out[i] = total


@cuda.jit
def signed(out, x, y):
    i = cuda.grid(1)
    half = x[i] / np.float32(2)
    out[i] = -x[i] * y[i] + x[i] * -y[i] - half + np.divide(x[i], np.float32(4))
