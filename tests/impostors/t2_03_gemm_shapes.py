"""Wrong answers to the lab t2_03_gemm_shapes."""

from __future__ import annotations

import numpy as np

from tests.impostors import impostor
from warpwise import cuda

TILE = 16
zero = np.float32(0)


# -- wave_plan ---------------------------------------------------------------------------------


@impostor("wave_plan", diagnosis="area_over_area")
def areas_divided(m, n, tile_m, tile_n, places):
    blocks = -(-m * n // (tile_m * tile_n))
    waves = -(-blocks // places)
    return waves, waves * places - blocks, m * n / (waves * places * tile_m * tile_n)


@impostor("wave_plan", diagnosis="places_only")
def share_of_places(m, n, tile_m, tile_n, places):
    blocks = -(-m // tile_m) * -(-n // tile_n)
    waves = -(-blocks // places)
    return waves, waves * places - blocks, blocks / (waves * places)


@impostor("wave_plan", diagnosis="blocks_in_last")
def blocks_of_the_last_wave(m, n, tile_m, tile_n, places):
    blocks = -(-m // tile_m) * -(-n // tile_n)
    waves = -(-blocks // places)
    return waves, blocks - (waves - 1) * places, m * n / (waves * places * tile_m * tile_n)


# -- partial_bytes -----------------------------------------------------------------------------


@impostor("partial_bytes", diagnosis="result_forgotten")
def slices_only(m, n, splits):
    return 4 * splits * m * n, 4 * splits * m * n


@impostor("partial_bytes", diagnosis="numbers_not_bytes")
def numbers(m, n, splits):
    return splits * m * n, (splits + 1) * m * n


# -- split_k_matmul ----------------------------------------------------------------------------


@impostor("split_k_matmul", diagnosis="next_chunk_too")
@cuda.jit
def guarded_by_k(parts, a, b, m, n, k, chunk):
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockIdx.z
    col, row = cuda.blockIdx.x * TILE + tx, cuda.blockIdx.y * TILE + ty
    first = z * chunk
    last = min(k, first + chunk)
    total = zero
    for start in range(first, last, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < k else zero
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else zero
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        parts[z, row, col] = total


@impostor("split_k_matmul", diagnosis="whole_sum_in_each")
@cuda.jit
def everything_in_each_slice(parts, a, b, m, n, k, chunk):
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockIdx.z
    col, row = cuda.blockIdx.x * TILE + tx, cuda.blockIdx.y * TILE + ty
    first, last = 0, k
    total = zero
    for start in range(first, last, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < last else zero
        tile_b[ty, tx] = b[start + ty, col] if start + ty < last and col < n else zero
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        parts[z, row, col] = total


@impostor("split_k_matmul", diagnosis="to_the_end_of_k")
@cuda.jit
def no_end_of_the_chunk(parts, a, b, m, n, k, chunk):
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockIdx.z
    col, row = cuda.blockIdx.x * TILE + tx, cuda.blockIdx.y * TILE + ty
    first, last = z * chunk, k
    total = zero
    for start in range(first, last, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < last else zero
        tile_b[ty, tx] = b[start + ty, col] if start + ty < last and col < n else zero
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        parts[z, row, col] = total


@impostor("split_k_matmul", diagnosis="never_written")
@cuda.jit
def empty_chunks_left_alone(parts, a, b, m, n, k, chunk):
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockIdx.z
    col, row = cuda.blockIdx.x * TILE + tx, cuda.blockIdx.y * TILE + ty
    first = z * chunk
    last = min(k, first + chunk)
    if first >= k:
        return
    total = zero
    for start in range(first, last, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < last else zero
        tile_b[ty, tx] = b[start + ty, col] if start + ty < last and col < n else zero
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        parts[z, row, col] = total


@impostor("split_k_matmul", diagnosis="whole_tiles_of_a_chunk")
@cuda.jit
def full_tiles_only(parts, a, b, m, n, k, chunk):
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockIdx.z
    col, row = cuda.blockIdx.x * TILE + tx, cuda.blockIdx.y * TILE + ty
    first = z * chunk
    last = min(k, first + chunk)
    total = zero
    for start in range(first, first + (last - first) // TILE * TILE, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < last else zero
        tile_b[ty, tx] = b[start + ty, col] if start + ty < last and col < n else zero
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        parts[z, row, col] = total


@impostor("split_k_matmul", diagnosis="race")
@cuda.jit
def one_barrier_a_step(parts, a, b, m, n, k, chunk):
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
    if row < m and col < n:
        parts[z, row, col] = total


@impostor("split_k_matmul", diagnosis="float64_arithmetic")
@cuda.jit
def sum_in_float64(parts, a, b, m, n, k, chunk):
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockIdx.z
    col, row = cuda.blockIdx.x * TILE + tx, cuda.blockIdx.y * TILE + ty
    first = z * chunk
    last = min(k, first + chunk)
    total = 0.0
    for start in range(first, last, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < last else zero
        tile_b[ty, tx] = b[start + ty, col] if start + ty < last and col < n else zero
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        parts[z, row, col] = total


@impostor("split_k_matmul", diagnosis="too_many_loads")
@cuda.jit
def straight_from_global_memory(parts, a, b, m, n, k, chunk):
    col, row, z = cuda.grid(3)
    if row < m and col < n:
        total = zero
        for i in range(z * chunk, min(k, (z + 1) * chunk)):
            total += a[row, i] * b[i, col]
        parts[z, row, col] = total


# -- mended_split ------------------------------------------------------------------------------


@impostor("mended_split", diagnosis="last_chunk_only")
@cuda.jit
def as_it_was(c, a, b, m, n, k, chunk):
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockIdx.z
    col, row = cuda.blockIdx.x * TILE + tx, cuda.blockIdx.y * TILE + ty
    first = z * chunk
    last = min(k, first + chunk)
    total = zero
    for start in range(first, last, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < k else zero
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else zero
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] += total


@impostor("mended_split", diagnosis="next_chunk_too")
@cuda.jit
def atomic_only(c, a, b, m, n, k, chunk):
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockIdx.z
    col, row = cuda.blockIdx.x * TILE + tx, cuda.blockIdx.y * TILE + ty
    first = z * chunk
    last = min(k, first + chunk)
    total = zero
    for start in range(first, last, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < k else zero
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else zero
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        cuda.atomic.add(c, (row, col), total)


@impostor("mended_split", diagnosis="last_chunk_only")
@cuda.jit
def guards_only(c, a, b, m, n, k, chunk):
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
    if row < m and col < n:
        c[row, col] += total


@impostor("mended_split", diagnosis="first_chunk_only")
@cuda.jit
def the_first_block_alone(c, a, b, m, n, k, chunk):
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
    if row < m and col < n and z == 0:
        cuda.atomic.add(c, (row, col), total)


@impostor("mended_split", diagnosis="whole_sum_in_each")
@cuda.jit
def everything_each_time(c, a, b, m, n, k, chunk):
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockIdx.z
    col, row = cuda.blockIdx.x * TILE + tx, cuda.blockIdx.y * TILE + ty
    first, last = 0, k
    total = zero
    for start in range(first, last, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < last else zero
        tile_b[ty, tx] = b[start + ty, col] if start + ty < last and col < n else zero
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        cuda.atomic.add(c, (row, col), total)


@impostor("mended_split", diagnosis="too_many_atomics")
@cuda.jit
def an_atomic_for_each_step(c, a, b, m, n, k, chunk):
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
        if row < m and col < n:
            cuda.atomic.add(c, (row, col), total)
        total = zero


# -- pick_split --------------------------------------------------------------------------------


@impostor("pick_split", diagnosis="never_split")
def one_for_all(m, n, k, tile, sms, tflops, gbs):
    return 1


@impostor("pick_split", diagnosis="powers_of_two")
def by_habit(m, n, k, tile, sms, tflops, gbs):
    def time_ms(s):
        blocks = -(-m // tile) * -(-n // tile) * s
        arithmetic = -(-blocks // sms) * 2 * tile * tile * -(-k // s) / (tflops / sms) / 1e9
        first = max(arithmetic, 4 * (m * k + k * n + s * m * n) / gbs / 1e6)
        return first + (4 * (s + 1) * m * n / gbs / 1e6 if s > 1 else 0)

    return min([1, 2, 4, 8, 16, 32, 64, 128, 256], key=time_ms)


@impostor("pick_split", diagnosis="second_kernel_forgotten")
def first_kernel_only(m, n, k, tile, sms, tflops, gbs):
    def time_ms(s):
        blocks = -(-m // tile) * -(-n // tile) * s
        arithmetic = -(-blocks // sms) * 2 * tile * tile * -(-k // s) / (tflops / sms) / 1e9
        first = max(arithmetic, 4 * (m * k + k * n + s * m * n) / gbs / 1e6)
        return first + (0 if s > 1 else 0)

    return min(range(1, 257), key=time_ms)


@impostor("pick_split", diagnosis="waves_not_whole")
def part_of_a_wave(m, n, k, tile, sms, tflops, gbs):
    def time_ms(s):
        blocks = -(-m // tile) * -(-n // tile) * s
        arithmetic = max(1, blocks / sms) * 2 * tile * tile * -(-k // s) / (tflops / sms) / 1e9
        first = max(arithmetic, 4 * (m * k + k * n + s * m * n) / gbs / 1e6)
        return first + (4 * (s + 1) * m * n / gbs / 1e6 if s > 1 else 0)

    return min(range(1, 257), key=time_ms)


# -- row_times_matrix --------------------------------------------------------------------------


@impostor("row_times_matrix", diagnosis="too_many_sectors")
@cuda.jit
def x_from_global_memory(c, x, b, n, k):
    part_x = cuda.shared.array(64, np.float32)
    sums = cuda.shared.array((8, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, first = cuda.blockIdx.x * 32 + tx, cuda.blockIdx.y * 64
    t = ty * 32 + tx
    total = zero
    for i in range(ty, min(64, k - first), 8):
        if col < n:
            total += x[first + i] * b[first + i, col]
    sums[ty, tx] = total
    cuda.syncthreads()
    if ty == 0 and col < n:
        for i in range(1, 8):
            total += sums[i, tx]
        cuda.atomic.add(c, col, total)


@impostor("row_times_matrix", diagnosis="too_many_atomics")
@cuda.jit
def an_atomic_for_each_warp(c, x, b, n, k):
    part_x = cuda.shared.array(64, np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, first = cuda.blockIdx.x * 32 + tx, cuda.blockIdx.y * 64
    t = ty * 32 + tx
    if t < 64:
        part_x[t] = x[first + t] if first + t < k else zero
    cuda.syncthreads()
    total = zero
    for i in range(ty, min(64, k - first), 8):
        if col < n:
            total += part_x[i] * b[first + i, col]
    if col < n:
        cuda.atomic.add(c, col, total)


@impostor("row_times_matrix", diagnosis="race")
@cuda.jit
def no_barrier_before_the_sum(c, x, b, n, k):
    part_x = cuda.shared.array(64, np.float32)
    sums = cuda.shared.array((8, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, first = cuda.blockIdx.x * 32 + tx, cuda.blockIdx.y * 64
    t = ty * 32 + tx
    if t < 64:
        part_x[t] = x[first + t] if first + t < k else zero
    cuda.syncthreads()
    total = zero
    for i in range(ty, min(64, k - first), 8):
        if col < n:
            total += part_x[i] * b[first + i, col]
    sums[ty, tx] = total
    if ty == 0 and col < n:
        for i in range(1, 8):
            total += sums[i, tx]
        cuda.atomic.add(c, col, total)


@impostor("row_times_matrix", diagnosis="out_of_bounds")
@cuda.jit
def rows_behind_the_end(c, x, b, n, k):
    part_x = cuda.shared.array(64, np.float32)
    sums = cuda.shared.array((8, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, first = cuda.blockIdx.x * 32 + tx, cuda.blockIdx.y * 64
    t = ty * 32 + tx
    if t < 64:
        part_x[t] = x[first + t] if first + t < k else zero
    cuda.syncthreads()
    total = zero
    for i in range(ty, 64, 8):
        if col < n:
            total += part_x[i] * b[first + i, col]
    sums[ty, tx] = total
    cuda.syncthreads()
    if ty == 0 and col < n:
        for i in range(1, 8):
            total += sums[i, tx]
        cuda.atomic.add(c, col, total)


@impostor("row_times_matrix", diagnosis="first_warp_only")
@cuda.jit
def seven_warps_for_nothing(c, x, b, n, k):
    part_x = cuda.shared.array(64, np.float32)
    sums = cuda.shared.array((8, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, first = cuda.blockIdx.x * 32 + tx, cuda.blockIdx.y * 64
    t = ty * 32 + tx
    if t < 64:
        part_x[t] = x[first + t] if first + t < k else zero
    cuda.syncthreads()
    total = zero
    for i in range(ty, min(64, k - first), 8):
        if col < n:
            total += part_x[i] * b[first + i, col]
    sums[ty, tx] = total
    if ty == 0 and col < n:
        cuda.atomic.add(c, col, total)


@impostor("row_times_matrix", diagnosis="last_rows_only")
@cuda.jit
def added_without_atomics(c, x, b, n, k):
    part_x = cuda.shared.array(64, np.float32)
    sums = cuda.shared.array((8, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, first = cuda.blockIdx.x * 32 + tx, cuda.blockIdx.y * 64
    t = ty * 32 + tx
    if t < 64:
        part_x[t] = x[first + t] if first + t < k else zero
    cuda.syncthreads()
    total = zero
    for i in range(ty, min(64, k - first), 8):
        if col < n:
            total += part_x[i] * b[first + i, col]
    sums[ty, tx] = total
    cuda.syncthreads()
    if ty == 0 and col < n:
        for i in range(1, 8):
            total += sums[i, tx]
        c[col] += total
