"""Wrong answers to the lab t2_02_gemm_registers."""

from __future__ import annotations

import numpy as np

from tests.impostors import impostor
from warpwise import cuda

zero = np.float32(0)


# -- tile_plan ---------------------------------------------------------------------------------


@impostor("tile_plan", diagnosis="one_set")
def one_set_of_tiles(bm, bn, step, p, q, warps):
    share = min(1.0, p * q / (p + q) / warps)
    return bm * bn // (p * q), 4 * step * (bm + bn), 1000 / bm + 1000 / bn, share


@impostor("tile_plan", diagnosis="patch_for_block")
def loads_of_a_thread(bm, bn, step, p, q, warps):
    share = min(1.0, p * q / (p + q) / warps)
    return bm * bn // (p * q), 8 * step * (bm + bn), 1000 / p + 1000 / q, share


@impostor("tile_plan", diagnosis="one_warp_a_clock")
def one_warp_at_a_time(bm, bn, step, p, q, warps):
    share = min(1.0, p * q / (p + q))
    return bm * bn // (p * q), 8 * step * (bm + bn), 1000 / bm + 1000 / bn, share


@impostor("tile_plan", diagnosis="above_the_peak")
def more_than_the_peak(bm, bn, step, p, q, warps):
    share = p * q / (p + q) / warps
    return bm * bn // (p * q), 8 * step * (bm + bn), 1000 / bm + 1000 / bn, share


# -- column_matmul -----------------------------------------------------------------------------


@impostor("column_matmul", diagnosis="too_many_shared_reads")
@cuda.jit
def two_reads_for_each_result(c, a, b, m, n, k):
    tile_a = cuda.shared.array((32, 8), np.float32)
    tile_b = cuda.shared.array((8, 32), np.float32)
    sums = cuda.local.array(4, np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    t = ty * 32 + tx
    row0, col = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32 + tx
    for i in range(4):
        sums[i] = zero
    for start in range(0, k, 8):
        y, x = row0 + t // 8, start + t % 8
        tile_a[t // 8, t % 8] = a[y, x] if y < m and x < k else zero
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else zero
        cuda.syncthreads()
        for i in range(4):
            for p in range(8):
                sums[i] += tile_a[ty * 4 + i, p] * tile_b[p, tx]
        cuda.syncthreads()
    for i in range(4):
        row = row0 + ty * 4 + i
        if row < m and col < n:
            c[row, col] = sums[i]


@impostor("column_matmul", diagnosis="uninitialised")
@cuda.jit
def tails_left_as_they_are(c, a, b, m, n, k):
    tile_a = cuda.shared.array((32, 8), np.float32)
    tile_b = cuda.shared.array((8, 32), np.float32)
    sums = cuda.local.array(4, np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    t = ty * 32 + tx
    row0, col = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32 + tx
    for i in range(4):
        sums[i] = zero
    for start in range(0, k, 8):
        y, x = row0 + t // 8, start + t % 8
        if y < m and x < k:
            tile_a[t // 8, t % 8] = a[y, x]
        if start + ty < k and col < n:
            tile_b[ty, tx] = b[start + ty, col]
        cuda.syncthreads()
        for p in range(8):
            right = tile_b[p, tx]
            for i in range(4):
                sums[i] += tile_a[ty * 4 + i, p] * right
        cuda.syncthreads()
    for i in range(4):
        row = row0 + ty * 4 + i
        if row < m and col < n:
            c[row, col] = sums[i]


@impostor("column_matmul", diagnosis="race")
@cuda.jit
def one_barrier_a_step(c, a, b, m, n, k):
    tile_a = cuda.shared.array((32, 8), np.float32)
    tile_b = cuda.shared.array((8, 32), np.float32)
    sums = cuda.local.array(4, np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    t = ty * 32 + tx
    row0, col = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32 + tx
    for i in range(4):
        sums[i] = zero
    for start in range(0, k, 8):
        y, x = row0 + t // 8, start + t % 8
        tile_a[t // 8, t % 8] = a[y, x] if y < m and x < k else zero
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else zero
        cuda.syncthreads()
        for p in range(8):
            right = tile_b[p, tx]
            for i in range(4):
                sums[i] += tile_a[ty * 4 + i, p] * right
    for i in range(4):
        row = row0 + ty * 4 + i
        if row < m and col < n:
            c[row, col] = sums[i]


@impostor("column_matmul", diagnosis="never_written")
@cuda.jit
def no_part_of_a_tile(c, a, b, m, n, k):
    tile_a = cuda.shared.array((32, 8), np.float32)
    tile_b = cuda.shared.array((8, 32), np.float32)
    sums = cuda.local.array(4, np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    t = ty * 32 + tx
    row0, col = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32 + tx
    for i in range(4):
        sums[i] = zero
    for start in range(0, k, 8):
        y, x = row0 + t // 8, start + t % 8
        tile_a[t // 8, t % 8] = a[y, x] if y < m and x < k else zero
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else zero
        cuda.syncthreads()
        for p in range(8):
            right = tile_b[p, tx]
            for i in range(4):
                sums[i] += tile_a[ty * 4 + i, p] * right
        cuda.syncthreads()
    for i in range(4):
        row = row0 + ty * 4 + i
        if row0 + 32 <= m and cuda.blockIdx.x * 32 + 32 <= n:
            c[row, col] = sums[i]


@impostor("column_matmul", diagnosis="float64_arithmetic")
@cuda.jit
def sums_in_float64(c, a, b, m, n, k):
    tile_a = cuda.shared.array((32, 8), np.float32)
    tile_b = cuda.shared.array((8, 32), np.float32)
    sums = cuda.local.array(4, np.float64)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    t = ty * 32 + tx
    row0, col = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32 + tx
    for i in range(4):
        sums[i] = 0.0
    for start in range(0, k, 8):
        y, x = row0 + t // 8, start + t % 8
        tile_a[t // 8, t % 8] = a[y, x] if y < m and x < k else zero
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else zero
        cuda.syncthreads()
        for p in range(8):
            right = tile_b[p, tx]
            for i in range(4):
                sums[i] += tile_a[ty * 4 + i, p] * right
        cuda.syncthreads()
    for i in range(4):
        row = row0 + ty * 4 + i
        if row < m and col < n:
            c[row, col] = sums[i]


@impostor("column_matmul", diagnosis="first_step_missing")
@cuda.jit
def starts_at_the_second_step(c, a, b, m, n, k):
    tile_a = cuda.shared.array((32, 8), np.float32)
    tile_b = cuda.shared.array((8, 32), np.float32)
    sums = cuda.local.array(4, np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    t = ty * 32 + tx
    row0, col = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32 + tx
    for i in range(4):
        sums[i] = zero
    for start in range(8, k, 8):
        y, x = row0 + t // 8, start + t % 8
        tile_a[t // 8, t % 8] = a[y, x] if y < m and x < k else zero
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else zero
        cuda.syncthreads()
        for p in range(8):
            right = tile_b[p, tx]
            for i in range(4):
                sums[i] += tile_a[ty * 4 + i, p] * right
        cuda.syncthreads()
    for i in range(4):
        row = row0 + ty * 4 + i
        if row < m and col < n:
            c[row, col] = sums[i]


@impostor("column_matmul", diagnosis="too_many_sectors")
@cuda.jit
def straight_from_global_memory(c, a, b, m, n, k):
    row0 = cuda.blockIdx.y * 32 + cuda.threadIdx.y * 4
    col = cuda.grid(2)[0]
    for row in range(row0, min(row0 + 4, m)):
        if col < n:
            total = zero
            for i in range(k):
                total += a[row, i] * b[i, col]
            c[row, col] = total


@impostor("column_matmul", diagnosis="all_zero")
@cuda.jit
def nothing_computed(c, a, b, m, n, k):
    col = cuda.grid(2)[0]
    for row in range(cuda.grid(2)[1], m, cuda.gridsize(2)[1]):
        if col < n:
            c[row, col] = 0


# -- patch_matmul ------------------------------------------------------------------------------


@impostor("patch_matmul", diagnosis="too_many_shared_reads")
@cuda.jit
def four_rows_in_one_bank(c, a, b, m, n, k):
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
        for p in range(8):
            for i in range(4):
                left[i] = tile_a[ty * 4 + i, p]
                right[i] = tile_b[p, tx + 8 * i]
            for i in range(4):
                for j in range(4):
                    sums[i, j] += left[i] * right[j]
        cuda.syncthreads()
    for i in range(4):
        for j in range(4):
            row, col = row0 + ty * 4 + i, col0 + tx + 8 * j
            if row < m and col < n:
                c[row, col] = sums[i, j]


@impostor("patch_matmul", diagnosis="too_many_shared_reads")
@cuda.jit
def four_columns_one_by_one(c, a, b, m, n, k):
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
        for j in range(4):
            for p in range(8):
                right[j] = tile_b[p, tx + 8 * j]
                for i in range(4):
                    sums[i, j] += tile_a[ty + 8 * i, p] * right[j]
        cuda.syncthreads()
    for i in range(4):
        for j in range(4):
            row, col = row0 + ty + 8 * i, col0 + tx + 8 * j
            if row < m and col < n:
                c[row, col] = sums[i, j]


@impostor("patch_matmul", diagnosis="reduced_precision")
@cuda.jit
def halves_in_registers(c, a, b, m, n, k):
    tile_a = cuda.shared.array((32, 8), np.float32)
    tile_b = cuda.shared.array((8, 32), np.float32)
    sums = cuda.local.array((4, 4), np.float32)
    left = cuda.local.array(4, np.float16)
    right = cuda.local.array(4, np.float16)
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
        for p in range(8):
            for i in range(4):
                left[i] = np.float16(tile_a[ty + 8 * i, p])
                right[i] = np.float16(tile_b[p, tx + 8 * i])
            for i in range(4):
                for j in range(4):
                    sums[i, j] += np.float32(left[i]) * np.float32(right[j])
        cuda.syncthreads()
    for i in range(4):
        for j in range(4):
            row, col = row0 + ty + 8 * i, col0 + tx + 8 * j
            if row < m and col < n:
                c[row, col] = sums[i, j]


# -- wide_matmul -------------------------------------------------------------------------------


@impostor("wide_matmul", diagnosis="narrow_loads")
@cuda.jit
def the_patch_as_it_was(c, a, b, m, n, k):
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
        for p in range(8):
            for i in range(4):
                left[i] = tile_a[ty + 8 * i, p]
                right[i] = tile_b[p, tx + 8 * i]
            for i in range(4):
                for j in range(4):
                    sums[i, j] += left[i] * right[j]
        cuda.syncthreads()
    for i in range(4):
        for j in range(4):
            row, col = row0 + ty + 8 * i, col0 + tx + 8 * j
            if row < m and col < n:
                c[row, col] = sums[i, j]


@impostor("wide_matmul", diagnosis="narrow_loads")
@cuda.jit
def neighbours_under_a_flat_index(c, a, b, m, n, k):
    tile_a = cuda.shared.array((8, 36), np.float32)
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
            tile_a[x, y] = a[row0 + y, start + x] if row0 + y < m and start + x < k else zero
            y, x = t // 32 + 2 * turn, t % 32
            tile_b[y, x] = b[start + y, col0 + x] if start + y < k and col0 + x < n else zero
        cuda.syncthreads()
        for p in range(8):
            for i in range(4):
                left[i] = tile_a[p, ty * 4 + i]
                right[i] = tile_b[p, tx * 4 + i]
            for i in range(4):
                for j in range(4):
                    sums[i, j] += left[i] * right[j]
        cuda.syncthreads()
    for i in range(4):
        for j in range(4):
            row, col = row0 + ty * 4 + i, col0 + tx * 4 + j
            if row < m and col < n:
                c[row, col] = sums[i, j]


@impostor("wide_matmul", diagnosis="local_memory")
@cuda.jit
def only_rows_that_exist(c, a, b, m, n, k):
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
        rows = min(4, max(0, m - row0 - ty * 4))
        for p in range(8):
            for i in range(rows):
                left[i] = tile_a[p, ty, i]
            for j in range(4):
                right[j] = tile_b[p, tx, j]
            for i in range(rows):
                for j in range(4):
                    sums[i, j] += left[i] * right[j]
        cuda.syncthreads()
    for i in range(4):
        for j in range(4):
            row, col = row0 + ty * 4 + i, col0 + tx * 4 + j
            if row < m and col < n:
                c[row, col] = sums[i, j]


@impostor("wide_matmul", diagnosis="too_many_shared_reads")
@cuda.jit
def no_group_to_spare(c, a, b, m, n, k):
    tile_a = cuda.shared.array((8, 8, 4), np.float32)
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


@impostor("wide_matmul", diagnosis="too_much_shared")
@cuda.jit
def room_for_twice_as_much(c, a, b, m, n, k):
    tile_a = cuda.shared.array((8, 17, 4), np.float32)
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


# -- mended_buffers ----------------------------------------------------------------------------


@impostor("mended_buffers", diagnosis="race")
@cuda.jit
def as_it_was(c, a, b, m, n, k):
    tile_a = cuda.shared.array((2, 8, 8), np.float32)
    tile_b = cuda.shared.array((2, 8, 8), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = zero
    tile_a[0, ty, tx] = a[row, tx] if row < m and tx < k else zero
    tile_b[0, ty, tx] = b[ty, col] if ty < k and col < n else zero
    cuda.syncthreads()
    tiles = (k + 7) // 8
    for pair in range((tiles + 1) // 2):
        for now in range(2):
            start = (2 * pair + now + 1) * 8
            if start < k:
                x, y = start + tx, start + ty
                tile_a[1 - now, ty, tx] = a[row, x] if row < m and x < k else zero
                tile_b[1 - now, ty, tx] = b[y, col] if y < k and col < n else zero
            for i in range(8):
                total += tile_a[now, ty, i] * tile_b[now, i, tx]
            if now == 0:
                cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


@impostor("mended_buffers", diagnosis="old_tile_again")
@cuda.jit
def barrier_mended_only(c, a, b, m, n, k):
    tile_a = cuda.shared.array((2, 8, 8), np.float32)
    tile_b = cuda.shared.array((2, 8, 8), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = zero
    tile_a[0, ty, tx] = a[row, tx] if row < m and tx < k else zero
    tile_b[0, ty, tx] = b[ty, col] if ty < k and col < n else zero
    cuda.syncthreads()
    tiles = (k + 7) // 8
    for pair in range(tiles // 2 + tiles % 2):
        for now in range(2):
            start = (2 * pair + now + 1) * 8
            if start < k:
                x, y = start + tx, start + ty
                tile_a[1 - now, ty, tx] = a[row, x] if row < m and x < k else zero
                tile_b[1 - now, ty, tx] = b[y, col] if y < k and col < n else zero
            for i in range(8):
                total += tile_a[now, ty, i] * tile_b[now, i, tx]
            cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


@impostor("mended_buffers", diagnosis="last_step_missing")
@cuda.jit
def whole_pairs_only(c, a, b, m, n, k):
    tile_a = cuda.shared.array((2, 8, 8), np.float32)
    tile_b = cuda.shared.array((2, 8, 8), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = zero
    tile_a[0, ty, tx] = a[row, tx] if row < m and tx < k else zero
    tile_b[0, ty, tx] = b[ty, col] if ty < k and col < n else zero
    cuda.syncthreads()
    tiles = (k + 7) // 8
    for pair in range(tiles // 2):
        for now in range(2):
            start = (2 * pair + now + 1) * 8
            if start < k:
                x, y = start + tx, start + ty
                tile_a[1 - now, ty, tx] = a[row, x] if row < m and x < k else zero
                tile_b[1 - now, ty, tx] = b[y, col] if y < k and col < n else zero
            for i in range(8):
                total += tile_a[now, ty, i] * tile_b[now, i, tx]
            cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


@impostor("mended_buffers", diagnosis="too_many_barriers")
@cuda.jit
def two_barriers_to_be_sure(c, a, b, m, n, k):
    tile_a = cuda.shared.array((2, 8, 8), np.float32)
    tile_b = cuda.shared.array((2, 8, 8), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = zero
    tile_a[0, ty, tx] = a[row, tx] if row < m and tx < k else zero
    tile_b[0, ty, tx] = b[ty, col] if ty < k and col < n else zero
    cuda.syncthreads()
    tiles = (k + 7) // 8
    for tile in range(tiles):
        now = tile % 2
        start = (tile + 1) * 8
        if start < k:
            x, y = start + tx, start + ty
            tile_a[1 - now, ty, tx] = a[row, x] if row < m and x < k else zero
            tile_b[1 - now, ty, tx] = b[y, col] if y < k and col < n else zero
        cuda.syncthreads()
        for i in range(8):
            total += tile_a[now, ty, i] * tile_b[now, i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


@impostor("mended_buffers", diagnosis="last_step_missing")
@cuda.jit
def never_uses_the_last(c, a, b, m, n, k):
    tile_a = cuda.shared.array((2, 8, 8), np.float32)
    tile_b = cuda.shared.array((2, 8, 8), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = zero
    tile_a[0, ty, tx] = a[row, tx] if row < m and tx < k else zero
    tile_b[0, ty, tx] = b[ty, col] if ty < k and col < n else zero
    cuda.syncthreads()
    tiles = (k + 7) // 8
    for tile in range(tiles - 1):
        now = tile % 2
        start = (tile + 1) * 8
        if start < k:
            x, y = start + tx, start + ty
            tile_a[1 - now, ty, tx] = a[row, x] if row < m and x < k else zero
            tile_b[1 - now, ty, tx] = b[y, col] if y < k and col < n else zero
        for i in range(8):
            total += tile_a[now, ty, i] * tile_b[now, i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


# -- registers_matmul --------------------------------------------------------------------------


@impostor("registers_matmul", diagnosis="last_step_missing")
@cuda.jit
def last_tiles_never_used(c, a, b, m, n, k):
    tile_a = cuda.shared.array((2, 8, 17, 4), np.float32)
    tile_b = cuda.shared.array((2, 8, 16, 4), np.float32)
    sums = cuda.local.array((8, 8), np.float32)
    left = cuda.local.array(8, np.float32)
    right = cuda.local.array(8, np.float32)
    next_a = cuda.local.array(8, np.float32)
    next_b = cuda.local.array(8, np.float32)
    t = cuda.threadIdx.x
    tx, ty = (t >> 1) & 7, (t >> 4) << 1 | t & 1
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
    for start in range(8, k, 8):
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


@impostor("registers_matmul", diagnosis="race")
@cuda.jit
def one_set_and_one_barrier(c, a, b, m, n, k):
    tile_a = cuda.shared.array((2, 8, 17, 4), np.float32)
    tile_b = cuda.shared.array((2, 8, 16, 4), np.float32)
    sums = cuda.local.array((8, 8), np.float32)
    left = cuda.local.array(8, np.float32)
    right = cuda.local.array(8, np.float32)
    next_a = cuda.local.array(8, np.float32)
    next_b = cuda.local.array(8, np.float32)
    t = cuda.threadIdx.x
    tx, ty = (t >> 1) & 7, (t >> 4) << 1 | t & 1
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


@impostor("registers_matmul", diagnosis="too_many_barriers")
@cuda.jit
def one_set_and_two_barriers(c, a, b, m, n, k):
    tile_a = cuda.shared.array((2, 8, 17, 4), np.float32)
    tile_b = cuda.shared.array((2, 8, 16, 4), np.float32)
    sums = cuda.local.array((8, 8), np.float32)
    left = cuda.local.array(8, np.float32)
    right = cuda.local.array(8, np.float32)
    next_a = cuda.local.array(8, np.float32)
    next_b = cuda.local.array(8, np.float32)
    t = cuda.threadIdx.x
    tx, ty = (t >> 1) & 7, (t >> 4) << 1 | t & 1
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
        cuda.syncthreads()
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


@impostor("registers_matmul", diagnosis="narrow_loads")
@cuda.jit
def columns_eight_apart(c, a, b, m, n, k):
    tile_a = cuda.shared.array((2, 8, 17, 4), np.float32)
    tile_b = cuda.shared.array((2, 8, 64), np.float32)
    sums = cuda.local.array((8, 8), np.float32)
    left = cuda.local.array(8, np.float32)
    right = cuda.local.array(8, np.float32)
    next_a = cuda.local.array(8, np.float32)
    next_b = cuda.local.array(8, np.float32)
    t = cuda.threadIdx.x
    tx, ty = (t >> 1) & 7, (t >> 4) << 1 | t & 1
    row0, col0 = cuda.blockIdx.y * 64, cuda.blockIdx.x * 64
    for i in range(8):
        for j in range(8):
            sums[i, j] = zero
    for turn in range(8):
        y, x = t // 8 + 8 * turn, t % 8
        tile_a[0, x, y // 4, y % 4] = a[row0 + y, x] if row0 + y < m and x < k else zero
        tile_b[0, turn, t] = b[turn, col0 + t] if turn < k and col0 + t < n else zero
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
                right[i], right[i + 4] = tile_b[now, p, tx + 8 * i], tile_b[now, p, tx + 8 * i + 32]
            for i in range(8):
                for j in range(8):
                    sums[i, j] += left[i] * right[j]
        now = 1 - now
        for turn in range(8):
            y = t // 8 + 8 * turn
            tile_a[now, t % 8, y // 4, y % 4] = next_a[turn]
            tile_b[now, turn, t] = next_b[turn]
        cuda.syncthreads()
    for i in range(8):
        row = row0 + ty * 4 + i % 4 + i // 4 * 32
        for j in range(8):
            col = col0 + tx + 8 * j
            if row < m and col < n:
                c[row, col] = sums[i, j]
