"""Unusual but right answers to the lab t2_03_gemm_shapes."""

from __future__ import annotations

import numpy as np

from tests.variants import variant
from warpwise import cuda

TILE = 16
zero = np.float32(0)


@variant("wave_plan")
def with_remainders(m, n, tile_m, tile_n, places):
    blocks = ((m - 1) // tile_m + 1) * ((n - 1) // tile_n + 1)
    empty = -blocks % places
    room = (blocks + empty) * tile_m * tile_n
    return np.int64((blocks + empty) // places), empty, np.float64(m * n / room)


@variant("partial_bytes")
def by_an_array(m, n, splits):
    slices = np.float32(0).itemsize * m * n * splits
    return slices, slices + slices // splits


@variant("split_k_matmul")
@cuda.jit
def a_while_and_a_shorter_loop(parts, a, b, m, n, k, chunk):
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockIdx.z
    col, row = cuda.blockIdx.x * TILE + tx, cuda.blockIdx.y * TILE + ty
    first = z * chunk
    last = min(k, first + chunk)
    total = zero
    start = first
    while start < last:
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < last else zero
        tile_b[ty, tx] = b[start + ty, col] if start + ty < last and col < n else zero
        cuda.syncthreads()
        for i in range(min(TILE, last - start)):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
        start += TILE
    if row < m and col < n:
        parts[z, row, col] = total


@variant("mended_split")
@cuda.jit
def zeros_are_not_added(c, a, b, m, n, k, chunk):
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockIdx.z
    col, row = cuda.blockIdx.x * TILE + tx, cuda.blockIdx.y * TILE + ty
    first = z * chunk
    last = min(k, first + chunk)
    total = zero
    for start in range(first, last, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < last else zero
        tile_b[ty, tx] = b[start + ty, col] if start + ty < last and col < n else zero
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n and first < last:
        cuda.atomic.add(c, (row, col), total)


@variant("mended_split")
@cuda.jit
def indices_in_a_row(c, a, b, m, n, k, chunk):
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockIdx.z
    col, row = cuda.blockIdx.x * TILE + tx, cuda.blockIdx.y * TILE + ty
    first, last = z * chunk, min(z * chunk + chunk, k)
    total = zero
    for start in range(first, last, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < last else zero
        tile_b[ty, tx] = b[start + ty, col] if start + ty < last and col < n else zero
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        cuda.atomic.add(c, (row, col), np.float32(total))


@variant("pick_split")
def all_at_once_and_from_the_other_end(m, n, k, tile, sms, tflops, gbs):
    s = np.arange(256, 0, -1)
    waves = np.ceil(np.ceil(m / tile) * np.ceil(n / tile) * s / sms)
    seconds = waves * 2 * tile**2 * np.ceil(k / s) * sms / (tflops * 1e12)
    seconds = np.maximum(seconds, 4 * (m * k + k * n + s * m * n) / (gbs * 1e9))
    seconds += (s > 1) * 4 * (s + 1) * m * n / (gbs * 1e9)
    return s[np.argmin(seconds)]


@variant("row_times_matrix")
@cuda.jit
def rows_in_a_run_and_a_tree(c, x, b, n, k):
    part_x = cuda.shared.array(64, np.float32)
    sums = cuda.shared.array((8, 33), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, first = cuda.blockIdx.x * 32 + tx, cuda.blockIdx.y * 64
    if ty < 2:
        part_x[ty * 32 + tx] = 0
        if first + ty * 32 + tx < k:
            part_x[ty * 32 + tx] = x[first + ty * 32 + tx]
    cuda.syncthreads()
    total = zero
    if col < n:
        for i in range(8 * ty, min(8 * ty + 8, k - first)):
            total = cuda.fma(part_x[i], b[first + i, col], total)
    sums[ty, tx] = total
    cuda.syncthreads()
    if ty == 7:
        left = (sums[0, tx] + sums[1, tx]) + (sums[2, tx] + sums[3, tx])
        right = (sums[4, tx] + sums[5, tx]) + (sums[6, tx] + total)
        if col < n:
            cuda.atomic.add(c, col, left + right)
