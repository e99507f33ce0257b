"""Unusual but right answers to the lab t1_06_banks."""

from __future__ import annotations

import math

import numpy as np
from numba import float32, int32, uint32

from tests.variants import variant
from warpwise import cuda


@variant("bank_of")
def by_bits(row, column, pitch):
    return (row * pitch + column) & 31


@variant("bank_of")
def in_bytes(row, column, pitch):
    return 4 * (pitch * row + column) // 4 % 32


@variant("bank_of")
def numpy_integer(row, column, pitch):
    return np.mod(np.int64(row * pitch + column), 32)


@variant("strided_wavefronts")
def gcd_in_words(stride, itemsize):
    return math.gcd(stride * itemsize // 4, 32)


@variant("strided_wavefronts")
def counted_in_banks(stride, itemsize):
    words = itemsize // 4
    size = 32 // words
    total = 0
    for part in range(words):
        seen = {}
        for lane in range(part * size, (part + 1) * size):
            for word in range(words):
                number = lane * stride * words + word
                seen.setdefault(number % 32, set()).add(number)
        total += max(map(len, seen.values()))
    return total


@variant("strided_wavefronts")
def without_math(stride, itemsize):
    common = itemsize // 4
    stride *= common
    while common < 32 and stride % (2 * common) == 0:
        common *= 2
    return common


@variant("tile_wavefronts")
def summed_over_tiles():
    total = 0
    for _ in range(0, 96, 32):
        for _ in range(0, 160, 32):
            total += 32 + 32 * 32
    return np.int64(total)


@variant("padded_transpose")
@cuda.jit
def swizzled(out, a, height, width):
    tile = cuda.shared.array((32, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    for j in range(ty, 32, 8):
        if y0 + j < height and x0 + tx < width:
            tile[j, tx ^ j] = a[y0 + j, x0 + tx]
    cuda.syncthreads()
    for j in range(ty, 32, 8):
        if x0 + j < width and y0 + tx < height:
            out[x0 + j, y0 + tx] = tile[tx, j ^ tx]


@variant("padded_transpose")
@cuda.jit
def flat_tile_turned_in_the_store(result, image, rows, columns):
    tile = cuda.shared.array(32 * 35, float32)
    lane, warp = cuda.threadIdx.x, cuda.threadIdx.y
    for j in range(4):
        row, column = cuda.blockIdx.y * 32 + 8 * j + warp, cuda.blockIdx.x * 32 + lane
        if row < rows and column < columns:
            tile[35 * lane + 8 * j + warp] = image[row, column]
    cuda.syncthreads()
    k = warp
    while k < 32:
        row, column = cuda.blockIdx.x * 32 + k, cuda.blockIdx.y * 32 + lane
        if row < columns and column < rows:
            result[row][column] = tile[35 * k + lane]
        k += cuda.blockDim.y


@variant("padded_transpose")
@cuda.jit
def as_bits_with_early_guards(out, a, height, width):
    tile = cuda.shared.array((33, 33), float32)
    x = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    for j in range(24 + cuda.threadIdx.y, -1, -8):
        y = cuda.blockIdx.y * 32 + j
        if x < a.shape[1] and y < a.shape[0]:
            tile[j][cuda.threadIdx.x] = a[y, x]
        else:
            tile[j][cuda.threadIdx.x] = 0
    cuda.syncthreads()
    y = cuda.blockIdx.y * 32 + cuda.threadIdx.x
    if y >= height:
        return
    for j in range(24 + cuda.threadIdx.y, -1, -8):
        if cuda.blockIdx.x * 32 + j >= width:
            continue
        out[cuda.blockIdx.x * 32 + j, y] = tile[cuda.threadIdx.x][j]


@variant("own_counts")
@cuda.jit
def flat_counters(out, x):
    counts = cuda.shared.array(1024, int32)
    t = cuda.threadIdx.x
    for k in range(t, 1024, 64):
        counts[k] = 0
    first = cuda.blockIdx.x * cuda.blockDim.x + t
    i = first
    while i < len(x):
        counts[64 * x[i] + t] += 1
        i += cuda.gridDim.x * cuda.blockDim.x
    for k in range(16):
        out[k][first] = counts[64 * k + t]


@variant("own_counts")
@cuda.jit
def skewed_but_still_one_bank_each(out, x):
    counts = cuda.shared.array((16, 64), uint32)
    t = cuda.threadIdx.x
    place = (t + 7) % 64
    for k in range(15, -1, -1):
        counts[k, place] = 0
    for i in range(cuda.grid(1), x.shape[0], cuda.gridsize(1)):
        value = x[i]
        counts[value, place] = counts[value, place] + 1
    for k in range(16):
        out[k, cuda.grid(1)] = counts[k, place]


@variant("small_tile_transpose")
@cuda.jit
def rotated_rows(out, a, height, width):
    tile = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 16, cuda.blockIdx.y * 16
    if y0 + ty < height and x0 + tx < width:
        tile[ty, (tx + ty) % 16] = a[y0 + ty, x0 + tx]
    cuda.syncthreads()
    if x0 + ty < width and y0 + tx < height:
        out[x0 + ty, y0 + tx] = tile[tx, (ty + tx) % 16]


@variant("small_tile_transpose")
@cuda.jit
def turned_in_the_store_with_a_flat_tile(out, a, height, width):
    tile = cuda.shared.array(256, float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    if x < width and y < height:
        tile[tx << 4 | (ty ^ tx)] = a[y, x]
    cuda.syncthreads()
    row, column = x - tx + ty, y - ty + tx
    if row < width and column < height:
        out[row, column] = tile[ty << 4 | (tx ^ ty)]


@cuda.jit(device=True)
def place(row, column):
    return row, (column + 15 * row) & 15


@variant("small_tile_transpose")
@cuda.jit
def rule_in_a_device_function(out, a, height, width):
    tile = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    left, top = cuda.blockIdx.x * cuda.blockDim.x, cuda.blockIdx.y * cuda.blockDim.y
    if top + ty < height and left + tx < width:
        tile[place(ty, tx)] = a[top + ty, left + tx]
    cuda.syncthreads()
    if left + ty < width and top + tx < height:
        out[left + ty, top + tx] = tile[place(tx, ty)]
