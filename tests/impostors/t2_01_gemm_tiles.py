"""Wrong answers to the lab t2_01_gemm_tiles."""

from __future__ import annotations

import numpy as np
from numba import float32

from tests.impostors import impostor
from warpwise import cuda

TILE = 16
WIDE = 32

# -- coalesced_matmul --------------------------------------------------------------------------


@impostor("coalesced_matmul", diagnosis="too_many_sectors")
@cuda.jit
def naive(c, a, b, m, n, k):
    for row in range(cuda.grid(2)[0], m, cuda.gridsize(2)[0]):
        for col in range(cuda.grid(2)[1], n, cuda.gridsize(2)[1]):
            total = np.float32(0)
            for i in range(k):
                total += a[row, i] * b[i, col]
            c[row, col] = total


@impostor("coalesced_matmul", diagnosis="transposed")
@cuda.jit
def naive_under_the_new_launch(c, a, b, m, n, k):
    row, col = cuda.grid(2)
    if row < m and col < n:
        total = np.float32(0)
        for i in range(k):
            total += a[row, i] * b[i, col]
        c[row, col] = total


@impostor("coalesced_matmul", diagnosis="float64_arithmetic")
@cuda.jit
def sum_in_float64(c, a, b, m, n, k):
    col, row = cuda.grid(2)
    if row < m and col < n:
        total = 0.0
        for i in range(k):
            total += a[row, i] * b[i, col]
        c[row, col] = total


@impostor("coalesced_matmul", diagnosis="out_of_bounds")
@cuda.jit
def one_guard(c, a, b, m, n, k):
    col, row = cuda.grid(2)
    if row < m:
        total = np.float32(0)
        for i in range(k):
            total += a[row, i] * b[i, col]
        c[row, col] = total


@impostor("coalesced_matmul", diagnosis="last_term_missing")
@cuda.jit
def one_term_less(c, a, b, m, n, k):
    col, row = cuda.grid(2)
    if row < m and col < n:
        total = np.float32(0)
        for i in range(k - 1):
            total += a[row, i] * b[i, col]
        c[row, col] = total


@impostor("coalesced_matmul", diagnosis="last_term_only")
@cuda.jit
def not_added(c, a, b, m, n, k):
    col, row = cuda.grid(2)
    if row < m and col < n:
        total = np.float32(0)
        for i in range(k):
            total = a[row, i] * b[i, col]
        c[row, col] = total


@impostor("coalesced_matmul", diagnosis="reduced_precision")
@cuda.jit
def half_inputs(c, a, b, m, n, k):
    col, row = cuda.grid(2)
    if row < m and col < n:
        total = np.float32(0)
        for i in range(k):
            total += np.float32(np.float16(a[row, i])) * np.float32(np.float16(b[i, col]))
        c[row, col] = total


@impostor("coalesced_matmul", diagnosis="all_zero")
@cuda.jit
def zeros(c, a, b, m, n, k):
    col, row = cuda.grid(2)
    if row < m and col < n:
        c[row, col] = 0


# -- tile_counts -------------------------------------------------------------------------------


@impostor("tile_counts", diagnosis="tails_ignored")
def by_the_rule(m, n, k, tile):
    return 2 * m * n * k // tile, 8 * tile * tile, 2 * ((k + tile - 1) // tile)


@impostor("tile_counts", diagnosis="zeros_counted")
def whole_tiles(m, n, k, tile):
    down, along, turns = (-(-size // tile) for size in (m, n, k))
    return 2 * down * along * turns * tile * tile, 8 * tile * tile, 2 * turns


@impostor("tile_counts", diagnosis="axes_swapped")
def swapped(m, n, k, tile):
    down, along, turns = (-(-size // tile) for size in (m, n, k))
    return m * k * down + k * n * along, 8 * tile * tile, 2 * turns


@impostor("tile_counts", diagnosis="no_sharing")
def as_if_naive(m, n, k, tile):
    return 2 * m * n * k, 8 * tile * tile, 2 * -(-k // tile)


@impostor("tile_counts", diagnosis="one_barrier_a_step")
def one_barrier(m, n, k, tile):
    down, along, turns = (-(-size // tile) for size in (m, n, k))
    return m * k * along + k * n * down, 8 * tile * tile, turns


@impostor("tile_counts", diagnosis="one_tile_only")
def one_tile(m, n, k, tile):
    down, along, turns = (-(-size // tile) for size in (m, n, k))
    return m * k * along + k * n * down, 4 * tile * tile, 2 * turns


@impostor("tile_counts", diagnosis="barriers_rounded_down")
def last_step_forgotten(m, n, k, tile):
    down, along = (-(-size // tile) for size in (m, n))
    return m * k * along + k * n * down, 8 * tile * tile, 2 * (k // tile)


@impostor("tile_counts", diagnosis="constant_output")
def the_example(m, n, k, tile):
    return 24576, 2048, 4


# -- least_gemm_ms -----------------------------------------------------------------------------


@impostor("least_gemm_ms", diagnosis="arithmetic_only")
def compute_bound(m, n, k, tflops, gbs):
    return 2 * m * n * k / tflops / 1e9


@impostor("least_gemm_ms", diagnosis="pipes_added")
def one_after_the_other(m, n, k, tflops, gbs):
    return 2 * m * n * k / tflops / 1e9 + 4 * (m * k + k * n + m * n) / gbs / 1e6


@impostor("least_gemm_ms", diagnosis="fma_as_one")
def multiply_adds(m, n, k, tflops, gbs):
    return max(m * n * k / tflops / 1e9, 4 * (m * k + k * n + m * n) / gbs / 1e6)


@impostor("least_gemm_ms", diagnosis="result_forgotten")
def inputs_only(m, n, k, tflops, gbs):
    return max(2 * m * n * k / tflops / 1e9, 4 * (m * k + k * n) / gbs / 1e6)


@impostor("least_gemm_ms", diagnosis="no_reuse")
def every_load(m, n, k, tflops, gbs):
    return max(2 * m * n * k / tflops / 1e9, (8 * m * n * k + 4 * m * n) / gbs / 1e6)


# -- tiled_matmul ------------------------------------------------------------------------------


@impostor("tiled_matmul", diagnosis="too_many_loads")
@cuda.jit
def no_tile(c, a, b, m, n, k):
    col, row = cuda.grid(2)
    if row < m and col < n:
        total = np.float32(0)
        for i in range(k):
            total += a[row, i] * b[i, col]
        c[row, col] = total


@impostor("tiled_matmul", diagnosis="race")
@cuda.jit
def second_barrier_missing(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, k, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < k else np.float32(0)
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else np.float32(0)
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
    if row < m and col < n:
        c[row, col] = total


@impostor("tiled_matmul", diagnosis="race")
@cuda.jit
def first_barrier_missing(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, k, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < k else np.float32(0)
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else np.float32(0)
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


@impostor("tiled_matmul", diagnosis="divergent_barrier")
@cuda.jit
def guard_around_everything(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    if row < m and col < n:
        total = np.float32(0)
        for start in range(0, k, TILE):
            tile_a[ty, tx] = a[row, start + tx] if start + tx < k else np.float32(0)
            tile_b[ty, tx] = b[start + ty, col] if start + ty < k else np.float32(0)
            cuda.syncthreads()
            for i in range(TILE):
                total += tile_a[ty, i] * tile_b[i, tx]
            cuda.syncthreads()
        c[row, col] = total


@impostor("tiled_matmul", diagnosis="uninitialised")
@cuda.jit
def left_early(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    if row >= m or col >= n:
        return
    total = np.float32(0)
    for start in range(0, k, TILE):
        tile_a[ty, tx] = a[row, start + tx] if start + tx < k else np.float32(0)
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k else np.float32(0)
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    c[row, col] = total


@impostor("tiled_matmul", diagnosis="old_numbers_again")
@cuda.jit
def no_zeros(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, k, TILE):
        if row < m and start + tx < k:
            tile_a[ty, tx] = a[row, start + tx]
        if start + ty < k and col < n:
            tile_b[ty, tx] = b[start + ty, col]
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


@impostor("tiled_matmul", diagnosis="old_numbers_again")
@cuda.jit
def zeros_once(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    tile_a[ty, tx] = 0
    tile_b[ty, tx] = 0
    for start in range(0, k, TILE):
        if row < m and start + tx < k:
            tile_a[ty, tx] = a[row, start + tx]
        if start + ty < k and col < n:
            tile_b[ty, tx] = b[start + ty, col]
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


@impostor("tiled_matmul", diagnosis="whole_steps_only")
@cuda.jit
def steps_rounded_down(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    for step in range(k // TILE):
        start = step * TILE
        tile_a[ty, tx] = a[row, start + tx] if row < m else np.float32(0)
        tile_b[ty, tx] = b[start + ty, col] if col < n else np.float32(0)
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


@impostor("tiled_matmul", diagnosis="last_step_only")
@cuda.jit
def total_set_back(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, k, TILE):
        total = np.float32(0)
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < k else np.float32(0)
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else np.float32(0)
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


@impostor("tiled_matmul", diagnosis="out_of_bounds")
@cuda.jit
def loads_without_guards(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, k, TILE):
        tile_a[ty, tx] = a[row, start + tx]
        tile_b[ty, tx] = b[start + ty, col]
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


@impostor("tiled_matmul", diagnosis="too_many_sectors")
@cuda.jit
def tile_of_a_loaded_by_columns(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    other = cuda.blockIdx.y * TILE + tx
    total = np.float32(0)
    for start in range(0, k, TILE):
        tile_a[tx, ty] = a[other, start + ty] if other < m and start + ty < k else np.float32(0)
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else np.float32(0)
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


@impostor("tiled_matmul", diagnosis="float64_arithmetic")
@cuda.jit
def total_of_python(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = 0
    for start in range(0, k, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < k else 0
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else 0
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


@impostor("tiled_matmul", diagnosis="too_many_barriers")
@cuda.jit
def barrier_in_the_inner_loop(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, k, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < k else np.float32(0)
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else np.float32(0)
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
            cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


@impostor("tiled_matmul", diagnosis="reduced_precision")
@cuda.jit
def tiles_of_half(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, k, TILE):
        tile_a[ty, tx] = 0
        tile_b[ty, tx] = 0
        if row < m and start + tx < k:
            tile_a[ty, tx] = np.float16(a[row, start + tx])
        if start + ty < k and col < n:
            tile_b[ty, tx] = np.float16(b[start + ty, col])
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


@impostor("tiled_matmul", diagnosis="only_first_block")
@cuda.jit
def first_block(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = np.float32(0)
    for start in range(0, k, TILE):
        tile_a[ty, tx] = a[ty, start + tx] if ty < m and start + tx < k else np.float32(0)
        tile_b[ty, tx] = b[start + ty, tx] if start + ty < k and tx < n else np.float32(0)
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if cuda.blockIdx.x == 0 and cuda.blockIdx.y == 0 and ty < m and tx < n:
        c[ty, tx] = total


@impostor("tiled_matmul", diagnosis="multiple_of_block_only")
@cuda.jit
def full_blocks(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, k, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < k else np.float32(0)
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else np.float32(0)
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m // TILE * TILE and col < n // TILE * TILE:
        c[row, col] = total


@impostor("tiled_matmul", diagnosis="tile_b_turned")
@cuda.jit
def b_turned(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, k, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < k else np.float32(0)
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else np.float32(0)
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[tx, i]
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


@impostor("tiled_matmul", diagnosis="tile_a_turned")
@cuda.jit
def a_turned(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, k, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < k else np.float32(0)
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else np.float32(0)
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[i, ty] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


# -- mended_matmul -----------------------------------------------------------------------------


@impostor("mended_matmul", diagnosis="old_numbers_again")
@cuda.jit
def only_the_barrier(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, k, TILE):
        if row < m and start + tx < k:
            tile_a[ty, tx] = a[row, start + tx]
        if start + ty < k and col < n:
            tile_b[ty, tx] = b[start + ty, col]
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


@impostor("mended_matmul", diagnosis="race")
@cuda.jit
def only_the_tail(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, k, TILE):
        tile_a[ty, tx] = 0
        tile_b[ty, tx] = 0
        if row < m and start + tx < k:
            tile_a[ty, tx] = a[row, start + tx]
        if start + ty < k and col < n:
            tile_b[ty, tx] = b[start + ty, col]
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
    if row < m and col < n:
        c[row, col] = total


@impostor("mended_matmul", diagnosis="race")
@cuda.jit
def barrier_of_a_warp(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, k, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < k else np.float32(0)
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else np.float32(0)
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncwarp()
    if row < m and col < n:
        c[row, col] = total


@impostor("mended_matmul", diagnosis="too_many_loads")
@cuda.jit
def without_the_tiles(c, a, b, m, n, k):
    col, row = cuda.grid(2)
    if row < m and col < n:
        total = np.float32(0)
        for i in range(k):
            total += a[row, i] * b[i, col]
        c[row, col] = total


@impostor("mended_matmul", diagnosis="uninitialised")
@cuda.jit
def shorter_loop_for_everybody(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, k, TILE):
        if row < m and start + tx < k:
            tile_a[ty, tx] = a[row, start + tx]
        if start + ty < k and col < n:
            tile_b[ty, tx] = b[start + ty, col]
        cuda.syncthreads()
        for i in range(min(TILE, k - start)):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


# -- four_results ------------------------------------------------------------------------------


@impostor("four_results", diagnosis="one_result_only")
@cuda.jit
def first_quarter_only(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, col = cuda.blockIdx.y * WIDE + ty, cuda.blockIdx.x * WIDE + tx
    total = np.float32(0)
    for start in range(0, k, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < k else np.float32(0)
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else np.float32(0)
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


@impostor("four_results", diagnosis="too_many_sectors")
@cuda.jit
def four_small_products(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    for part in range(4):
        row = cuda.blockIdx.y * WIDE + part // 2 * TILE + ty
        col = cuda.blockIdx.x * WIDE + part % 2 * TILE + tx
        total = np.float32(0)
        for start in range(0, k, TILE):
            tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < k else np.float32(0)
            tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else np.float32(0)
            cuda.syncthreads()
            for i in range(TILE):
                total += tile_a[ty, i] * tile_b[i, tx]
            cuda.syncthreads()
        if row < m and col < n:
            c[row, col] = total


@impostor("four_results", diagnosis="too_many_shared_reads")
@cuda.jit
def read_again_for_each_result(c, a, b, m, n, k):
    tile_a = cuda.shared.array((WIDE, TILE), float32)
    tile_b = cuda.shared.array((TILE, WIDE), float32)
    totals = cuda.local.array(4, float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, col = cuda.blockIdx.y * WIDE + ty, cuda.blockIdx.x * WIDE + tx
    for part in range(4):
        totals[part] = 0
    for start in range(0, k, TILE):
        for j in range(0, WIDE, TILE):
            tile_a[ty + j, tx] = 0
            tile_b[ty, tx + j] = 0
            if row + j < m and start + tx < k:
                tile_a[ty + j, tx] = a[row + j, start + tx]
            if start + ty < k and col + j < n:
                tile_b[ty, tx + j] = b[start + ty, col + j]
        cuda.syncthreads()
        for i in range(TILE):
            for part in range(4):
                left = tile_a[ty + part // 2 * TILE, i]
                totals[part] += left * tile_b[i, tx + part % 2 * TILE]
        cuda.syncthreads()
    for part in range(4):
        if row + part // 2 * TILE < m and col + part % 2 * TILE < n:
            c[row + part // 2 * TILE, col + part % 2 * TILE] = totals[part]


@impostor("four_results", diagnosis="out_of_bounds")
@cuda.jit
def one_guard_for_four_stores(c, a, b, m, n, k):
    tile_a = cuda.shared.array((WIDE, TILE), float32)
    tile_b = cuda.shared.array((TILE, WIDE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, col = cuda.blockIdx.y * WIDE + ty, cuda.blockIdx.x * WIDE + tx
    low, right = row + TILE, col + TILE
    zero = np.float32(0)
    s0 = s1 = s2 = s3 = zero
    for start in range(0, k, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < k else zero
        tile_a[ty + TILE, tx] = a[low, start + tx] if low < m and start + tx < k else zero
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else zero
        tile_b[ty, tx + TILE] = b[start + ty, right] if start + ty < k and right < n else zero
        cuda.syncthreads()
        for i in range(TILE):
            p, q = tile_a[ty, i], tile_a[ty + TILE, i]
            r, s = tile_b[i, tx], tile_b[i, tx + TILE]
            s0 += p * r
            s1 += p * s
            s2 += q * r
            s3 += q * s
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = s0
        c[row, right] = s1
        c[low, col] = s2
        c[low, right] = s3


@impostor("four_results", diagnosis="race")
@cuda.jit
def one_barrier_for_four(c, a, b, m, n, k):
    tile_a = cuda.shared.array((WIDE, TILE), float32)
    tile_b = cuda.shared.array((TILE, WIDE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, col = cuda.blockIdx.y * WIDE + ty, cuda.blockIdx.x * WIDE + tx
    low, right = row + TILE, col + TILE
    zero = np.float32(0)
    s0 = s1 = s2 = s3 = zero
    for start in range(0, k, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < k else zero
        tile_a[ty + TILE, tx] = a[low, start + tx] if low < m and start + tx < k else zero
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else zero
        tile_b[ty, tx + TILE] = b[start + ty, right] if start + ty < k and right < n else zero
        cuda.syncthreads()
        for i in range(TILE):
            p, q = tile_a[ty, i], tile_a[ty + TILE, i]
            r, s = tile_b[i, tx], tile_b[i, tx + TILE]
            s0 += p * r
            s1 += p * s
            s2 += q * r
            s3 += q * s
    if row < m and col < n:
        c[row, col] = s0
    if row < m and right < n:
        c[row, right] = s1
    if low < m and col < n:
        c[low, col] = s2
    if low < m and right < n:
        c[low, right] = s3


@impostor("four_results", diagnosis="all_zero")
@cuda.jit
def nothing_computed(c, a, b, m, n, k):
    x, y = cuda.grid(2)
    for row in range(y, m, cuda.gridsize(2)[1]):
        for col in range(x, n, cuda.gridsize(2)[0]):
            c[row, col] = 0
