"""Unusual but right answers to the lab t2_02_gemm_registers."""

from __future__ import annotations

import numpy as np

from tests.variants import variant
from warpwise import cuda

zero = np.float32(0)


@variant("tile_plan")
def from_counts_of_one_turn(bm, bn, step, p, q, warps):
    share = np.minimum(1, 1 / (warps * (1 / p + 1 / q)))
    threads = np.int64(bm * bn // (p * q))
    return threads, 2 * (bm * step + step * bn) * 4, 1000 * (bm + bn) / (bm * bn), share


@variant("column_matmul")
@cuda.jit
def four_variables_and_fma(c, a, b, m, n, k):
    tile_a = cuda.shared.array(256, np.float32)
    tile_b = cuda.shared.array(256, np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    t = ty * 32 + tx
    row0, col = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32 + tx
    s0 = s1 = s2 = s3 = zero
    start = 0
    while start < k:
        tile_a[t] = 0
        tile_b[t] = 0
        if row0 + t // 8 < m and start + t % 8 < k:
            tile_a[t] = a[row0 + t // 8, start + t % 8]
        if start + ty < k and col < n:
            tile_b[t] = b[start + ty, col]
        cuda.syncthreads()
        for p in range(min(8, k - start)):
            right = tile_b[p * 32 + tx]
            s0 = cuda.fma(tile_a[ty * 8 + p], right, s0)
            s1 = cuda.fma(tile_a[64 + ty * 8 + p], right, s1)
            s2 = cuda.fma(tile_a[128 + ty * 8 + p], right, s2)
            s3 = cuda.fma(tile_a[192 + ty * 8 + p], right, s3)
        cuda.syncthreads()
        start += 8
    if col < n:
        if row0 + ty < m:
            c[row0 + ty, col] = s0
        if row0 + ty + 8 < m:
            c[row0 + ty + 8, col] = s1
        if row0 + ty + 16 < m:
            c[row0 + ty + 16, col] = s2
        if row0 + ty + 24 < m:
            c[row0 + ty + 24, col] = s3


@variant("patch_matmul")
@cuda.jit
def neighbours_and_a_transposed_tile(c, a, b, m, n, k):
    tile_a = cuda.shared.array((8, 9, 4), np.float32)
    tile_b = cuda.shared.array((8, 8, 4), np.float32)
    sums = cuda.local.array((4, 4), np.float32)
    left = cuda.local.array(4, np.float32)
    right = cuda.local.array(4, np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    t = ty * 8 + tx
    row0, col0 = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    for i in range(4):
        for j in range(4):
            sums[i, j] = zero
    for start in range(0, k, 8):
        for turn in range(4):
            y, x = t // 8 + 8 * turn, t % 8
            tile_a[x, y // 4, y % 4] = (
                a[row0 + y, start + x] if row0 + y < m and start + x < k else zero
            )
            y, x = t // 32 + 2 * turn, t % 32
            tile_b[y, x // 4, x % 4] = (
                b[start + y, col0 + x] if start + y < k and col0 + x < n else zero
            )
        cuda.syncthreads()
        for p in range(8):
            for i in range(4):
                left[i] = tile_a[p, ty, i]
                right[i] = tile_b[p, tx, i]
            for i in range(4):
                for j in range(4):
                    sums[i, j] += left[i] * right[j]
        cuda.syncthreads()
    for i in range(4):
        for j in range(4):
            row, col = row0 + ty * 4 + i, col0 + tx * 4 + j
            if row < m and col < n:
                c[row, col] = sums[i, j]


@variant("patch_matmul")
@cuda.jit
def row_by_row_of_the_patch(c, a, b, m, n, k):
    tile_a = cuda.shared.array((32, 8), np.float32)
    tile_b = cuda.shared.array((8, 32), np.float32)
    sums = cuda.local.array((4, 4), np.float32)
    left = cuda.local.array(4, np.float32)
    right = cuda.local.array(4, np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    t = ty * 8 + tx
    row0, col0 = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    for i in range(4):
        for j in range(4):
            sums[i, j] = zero
    for start in range(0, k, 8):
        for turn in range(4):
            y, x = t // 8 + 8 * turn, t % 8
            tile_a[y, x] = a[row0 + y, start + x] if row0 + y < m and start + x < k else zero
            y, x = t // 32 + 2 * turn, t % 32
            tile_b[y, x] = b[start + y, col0 + x] if start + y < k and col0 + x < n else zero
        cuda.syncthreads()
        for p in range(7, -1, -1):
            for j in range(4):
                right[j] = tile_b[p, tx + 8 * j]
            for i in range(4):
                one = tile_a[ty + 8 * i, p]
                for j in range(4):
                    sums[i, j] += right[j] * one
        cuda.syncthreads()
    for i in range(4):
        for j in range(4):
            row, col = row0 + ty + 8 * i, col0 + tx + 8 * j
            if row < m and col < n:
                c[row, col] = sums[i, j]


@variant("wide_matmul")
@cuda.jit
def one_side_by_its_names(c, a, b, m, n, k):
    tile_a = cuda.shared.array((8, 9, 4), np.float32)
    tile_b = cuda.shared.array((8, 8, 4), np.float32)
    sums = cuda.local.array((4, 4), np.float32)
    left = cuda.local.array(4, np.float32)
    right = cuda.local.array(4, np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    t = ty * 8 + tx
    row0, col0 = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    for i in range(4):
        for j in range(4):
            sums[i, j] = zero
    for start in range(0, k, 8):
        for turn in range(4):
            y, x = t // 8 + 8 * turn, t % 8
            tile_a[x, y // 4, y % 4] = (
                a[row0 + y, start + x] if row0 + y < m and start + x < k else zero
            )
            y, x = t // 32 + 2 * turn, t % 32
            tile_b[y, x // 4, x % 4] = (
                b[start + y, col0 + x] if start + y < k and col0 + x < n else zero
            )
        cuda.syncthreads()
        for p in range(8):
            l0, l1, l2, l3 = tile_a[p, ty, 0], tile_a[p, ty, 1], tile_a[p, ty, 2], tile_a[p, ty, 3]
            for j in range(4):
                r = tile_b[p, tx, j]
                sums[0, j] += l0 * r
                sums[1, j] += l1 * r
                sums[2, j] += l2 * r
                sums[3, j] += l3 * r
        cuda.syncthreads()
    for i in range(4):
        for j in range(4):
            row, col = row0 + ty * 4 + i, col0 + tx * 4 + j
            if row < m and col < n:
                c[row, col] = sums[i, j]


@variant("mended_buffers")
@cuda.jit
def by_the_turn_and_through_registers(c, a, b, m, n, k):
    tile_a = cuda.shared.array((2, 8, 8), np.float32)
    tile_b = cuda.shared.array((2, 8, 8), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = zero
    tile_a[0, ty, tx] = a[row, tx] if row < m and tx < k else zero
    tile_b[0, ty, tx] = b[ty, col] if ty < k and col < n else zero
    cuda.syncthreads()
    now = 0
    for start in range(8, k + 8, 8):
        next_a = a[row, start + tx] if row < m and start + tx < k else zero
        next_b = b[start + ty, col] if start + ty < k and col < n else zero
        for i in range(8):
            total += tile_a[now, ty, i] * tile_b[now, i, tx]
        now = 1 - now
        tile_a[now, ty, tx] = next_a
        tile_b[now, ty, tx] = next_b
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


@variant("mended_buffers")
@cuda.jit
def filled_at_the_top_of_each_turn(c, a, b, m, n, k):
    tile_a = cuda.shared.array((2, 8, 8), np.float32)
    tile_b = cuda.shared.array((2, 8, 8), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = zero
    for tile in range((k + 7) // 8):
        now, x, y = tile & 1, tile * 8 + tx, tile * 8 + ty
        tile_a[now, ty, tx] = a[row, x] if row < m and x < k else zero
        tile_b[now, ty, tx] = b[y, col] if y < k and col < n else zero
        cuda.syncthreads()
        for i in range(8):
            total += tile_a[now, ty, i] * tile_b[now, i, tx]
    if row < m and col < n:
        c[row, col] = total


@variant("registers_matmul")
@cuda.jit
def lanes_not_in_pairs(c, a, b, m, n, k):
    tile_a = cuda.shared.array((2, 8, 17, 4), np.float32)
    tile_b = cuda.shared.array((2, 8, 16, 4), np.float32)
    sums = cuda.local.array((8, 8), np.float32)
    left = cuda.local.array(8, np.float32)
    right = cuda.local.array(8, np.float32)
    next_a = cuda.local.array(8, np.float32)
    next_b = cuda.local.array(8, np.float32)
    t = cuda.threadIdx.x
    tx, ty = t & 7, t >> 3
    row0, col0 = cuda.blockIdx.y * 64, cuda.blockIdx.x * 64
    for i in range(8):
        for j in range(8):
            sums[i, j] = zero
    for turn in range(8):
        y, x = t // 8 + 8 * turn, t % 8
        tile_a[0, x, y // 4, y % 4] = a[row0 + y, x] if row0 + y < m and x < k else zero
        tile_b[0, turn, t // 4, t % 4] = b[turn, col0 + t] if turn < k and col0 + t < n else zero
    cuda.syncthreads()
    now = 0
    for start in range(8, k + 8, 8):
        for turn in range(8):
            y, x = row0 + t // 8 + 8 * turn, start + t % 8
            next_a[turn] = a[y, x] if y < m and x < k else zero
            y, x = start + turn, col0 + t
            next_b[turn] = b[y, x] if y < k and x < n else zero
        for p in range(8):
            for i in range(4):
                left[i], left[i + 4] = tile_a[now, p, ty, i], tile_a[now, p, 8 + ty, i]
                right[i], right[i + 4] = tile_b[now, p, tx, i], tile_b[now, p, 8 + tx, i]
            for i in range(8):
                for j in range(8):
                    sums[i, j] += left[i] * right[j]
        now = 1 - now
        for turn in range(8):
            y = t // 8 + 8 * turn
            tile_a[now, t % 8, y // 4, y % 4] = next_a[turn]
            tile_b[now, turn, t // 4, t % 4] = next_b[turn]
        cuda.syncthreads()
    for i in range(8):
        row = row0 + ty * 4 + i % 4 + i // 4 * 32
        for j in range(8):
            col = col0 + tx * 4 + j % 4 + j // 4 * 32
            if row < m and col < n:
                c[row, col] = sums[i, j]
