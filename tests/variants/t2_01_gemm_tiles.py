"""Unusual but right answers to the lab t2_01_gemm_tiles."""

from __future__ import annotations

import math

import numpy as np
from numba import float32

from tests.variants import variant
from warpwise import cuda

TILE = 16
WIDE = 32


@variant("coalesced_matmul")
@cuda.jit
def by_strides_from_the_last_term(out, left, right, m, n, k):
    x0, y0 = cuda.grid(2)
    for row in range(y0, m, cuda.gridsize(2)[1]):
        for col in range(x0, n, cuda.gridsize(2)[0]):
            total = np.float32(0)
            for i in range(k - 1, -1, -1):
                total += right[i, col] * left[row, i]
            out[row, col] = total


@variant("coalesced_matmul")
@cuda.jit
def with_fma_and_shapes(c, a, b, m, n, k):
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    col = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if row >= c.shape[0] or col >= c.shape[1]:
        return
    total, i = np.float32(0), 0
    while i < a.shape[1]:
        total = cuda.fma(a[row][i], b[i][col], total)
        i += 1
    c[row, col] = total


@variant("tile_counts")
def counted_block_by_block(m, n, k, tile):
    loads = 0
    for row in range(0, m, tile):
        for col in range(0, n, tile):
            loads += k * (min(tile, m - row) + min(tile, n - col))
    return np.int64(loads), 2 * tile**2 * 4, 2 * math.ceil(k / tile)


@variant("least_gemm_ms")
def in_seconds_first(m, n, k, tflops, gbs):
    seconds = np.array([2.0 * m * n * k / (tflops * 1e12), 4.0 * (k * (m + n) + m * n) / gbs / 1e9])
    return 1e3 * seconds.max()


@variant("tiled_matmul")
@cuda.jit
def flat_tiles_and_a_shorter_loop(c, a, b, m, n, k):
    both = cuda.shared.array(512, float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    mine = row < m and col < n
    place = ty * TILE + tx
    total = np.float32(0)
    start = 0
    while start < k:
        if row < m and start + tx < k:
            both[place] = a[row, start + tx]
        if start + ty < k and col < n:
            both[256 + place] = b[start + ty, col]
        cuda.syncthreads()
        if mine:
            for i in range(min(TILE, k - start)):
                total += both[ty * TILE + i] * both[256 + i * TILE + tx]
        cuda.syncthreads()
        start += TILE
    if mine:
        c[row, col] = total


@variant("tiled_matmul")
@cuda.jit
def turned_and_padded_tile_of_a(c, a, b, m, n, k):
    turned = cuda.shared.array((TILE, 17), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    for step in range((k + TILE - 1) // TILE):
        x, y = step * TILE + tx, step * TILE + ty
        turned[tx, ty] = 0
        tile_b[ty, tx] = 0
        if x < k and row < m:
            turned[tx, ty] = a[row, x]
        if y < k and col < n:
            tile_b[ty, tx] = b[y, col]
        cuda.syncthreads()
        part = np.float32(0)
        for i in range(TILE - 1, -1, -1):
            part += turned[i, ty] * tile_b[i, tx]
        total += part
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


@variant("mended_matmul")
@cuda.jit
def barrier_at_the_top_and_zeros(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, k, TILE):
        cuda.syncthreads()
        if row < m and start + tx < k:
            tile_a[ty, tx] = a[row, start + tx]
        else:
            tile_a[ty, tx] = 0
        if start + ty < k and col < n:
            tile_b[ty, tx] = b[start + ty, col]
        else:
            tile_b[ty, tx] = 0
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
    if row < m and col < n:
        c[row, col] = total


@variant("mended_matmul")
@cuda.jit
def two_sets_of_tiles_in_turn(c, a, b, m, n, k):
    tile_a = cuda.shared.array((2, TILE, TILE), float32)
    tile_b = cuda.shared.array((2, TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, k, TILE):
        now = start // TILE % 2
        tile_a[now, ty, tx] = a[row, start + tx] if row < m and start + tx < k else np.float32(0)
        tile_b[now, ty, tx] = b[start + ty, col] if start + ty < k and col < n else np.float32(0)
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[now, ty, i] * tile_b[now, i, tx]
    if row < m and col < n:
        c[row, col] = total


@variant("four_results")
@cuda.jit
def four_rows_of_one_column(c, a, b, m, n, k):
    tile_a = cuda.shared.array((WIDE, TILE), float32)
    tile_b = cuda.shared.array((TILE, WIDE), float32)
    totals = cuda.local.array(4, float32)
    t = cuda.threadIdx.y * 16 + cuda.threadIdx.x
    lane, warp = t % 32, t // 32
    row0, col0 = cuda.blockIdx.y * WIDE, cuda.blockIdx.x * WIDE
    for j in range(4):
        totals[j] = 0
    for start in range(0, k, TILE):
        for place in range(t, WIDE * TILE, 256):
            y, x = row0 + place // TILE, start + place % TILE
            tile_a[place // TILE, place % TILE] = a[y, x] if y < m and x < k else np.float32(0)
            y, x = start + place // WIDE, col0 + place % WIDE
            tile_b[place // WIDE, place % WIDE] = b[y, x] if y < k and x < n else np.float32(0)
        cuda.syncthreads()
        for i in range(TILE):
            right = tile_b[i, lane]
            for j in range(4):
                totals[j] += tile_a[warp + 8 * j, i] * right
        cuda.syncthreads()
    for j in range(4):
        row = row0 + warp + 8 * j
        if row < m and col0 + lane < n:
            c[row, col0 + lane] = totals[j]


@variant("four_results")
@cuda.jit
def neighbouring_columns(c, a, b, m, n, k):
    tile_a = cuda.shared.array((WIDE, TILE), float32)
    tile_b = cuda.shared.array((TILE, WIDE), float32)
    t = cuda.threadIdx.y * 16 + cuda.threadIdx.x
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row0, col0 = cuda.blockIdx.y * WIDE, cuda.blockIdx.x * WIDE
    total = cuda.local.array((2, 2), float32)
    for j in range(4):
        total[j // 2, j % 2] = 0
    for start in range(0, k, TILE):
        for place in range(t, 512, 256):
            tile_a[place // TILE, place % TILE] = 0
            tile_b[place // WIDE, place % WIDE] = 0
            if row0 + place // TILE < m and start + place % TILE < k:
                tile_a[place // TILE, place % TILE] = a[row0 + place // TILE, start + place % TILE]
            if start + place // WIDE < k and col0 + place % WIDE < n:
                tile_b[place // WIDE, place % WIDE] = b[start + place // WIDE, col0 + place % WIDE]
        cuda.syncthreads()
        for i in range(TILE):
            upper, lower = tile_a[ty, i], tile_a[ty + 16, i]
            left, right = tile_b[i, 2 * tx], tile_b[i, 2 * tx + 1]
            total[0, 0] += upper * left
            total[0, 1] += upper * right
            total[1, 0] += lower * left
            total[1, 1] += lower * right
        cuda.syncthreads()
    for j in range(2):
        for side in range(2):
            if row0 + ty + 16 * j < m and col0 + 2 * tx + side < n:
                c[row0 + ty + 16 * j, col0 + 2 * tx + side] = total[j, side]
