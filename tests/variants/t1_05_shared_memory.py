"""Unusual but right answers to the lab t1_05_shared_memory."""

from __future__ import annotations

import numpy as np

from tests.variants import variant
from warpwise import cuda

BLOCK = 64
TWICE = 2 * BLOCK
WIDE = 70
TILE = 16
FRAMED = 18


@variant("rotate_blocks")
@cuda.jit
def no_shared_array(a, shift):
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    moved = a[i - t + (t + shift) % BLOCK]
    cuda.syncthreads()
    a[i] = moved


@variant("rotate_blocks")
@cuda.jit
def rotated_on_the_way_in(a, shift):
    s = cuda.shared.array(shape=(BLOCK,), dtype=np.float32)
    t = cuda.threadIdx.x
    s[(t + BLOCK - shift) & (BLOCK - 1)] = a[cuda.blockIdx.x * cuda.blockDim.x + t]
    cuda.syncthreads()
    a[cuda.blockIdx.x * cuda.blockDim.x + t] = s[t]


@variant("rotate_blocks")
@cuda.jit
def branch_for_the_end(values, by):
    kept = cuda.shared.array(64, np.float32)
    place = cuda.threadIdx.x
    kept[place] = values[cuda.grid(1)]
    cuda.syncthreads()
    source = place + by
    if source >= cuda.blockDim.x:
        source -= cuda.blockDim.x
    values[cuda.grid(1)] = kept[source]


@variant("tile_reads")
def block_by_block():
    reads = 0
    for _ in range(0, 96, 8):
        for _ in range(0, 160, 32):
            reads += len(range(-2, 34)) * len(range(-2, 10))
    return reads


@variant("tile_reads")
def numpy_integer():
    return np.int64(60) * 432


@variant("halo_mean")
@cuda.jit
def own_element_then_halo(out, a, n):
    s = cuda.shared.array(WIDE, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t + 3] = a[i] if i < n else np.float32(0)
    if t < 3:
        s[t] = a[i - 3] if 3 <= i < n + 3 else np.float32(0)
        s[t + 67] = a[i + 64] if i + 64 < n else np.float32(0)
    cuda.syncthreads()
    if i < n:
        out[i] = (s[t] + s[t + 1] + s[t + 2] + s[t + 3] + s[t + 4] + s[t + 5] + s[t + 6]) / 7


@variant("halo_mean")
@cuda.jit
def halo_by_both_ends_of_the_block(out, a, n):
    s = cuda.shared.array(WIDE, np.float32)
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * 64 + t
    s[t + 3] = 0
    if i < n:
        s[t + 3] = a[i]
    if t < 3:
        s[t] = 0
        if i >= 3 and i - 3 < n:
            s[t] = a[i - 3]
    if t >= 61:
        s[t + 6] = 0
        if i + 3 < n:
            s[t + 6] = a[i + 3]
    cuda.syncthreads()
    if i >= n:
        return
    total = 0.0
    for d in range(-3, 4):
        total += s[t + 3 + d]
    out[i] = total / 7


@variant("halo_mean")
@cuda.jit
def a_while_loop_and_a_guarded_sum(out, a, n):
    s = cuda.shared.array(WIDE, np.float32)
    k = cuda.threadIdx.x
    first = cuda.blockIdx.x * cuda.blockDim.x - 3
    while k < WIDE:
        if first + k >= 0 and first + k < n:
            s[k] = a[first + k]
        k += cuda.blockDim.x
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < n:
        total = np.float32(0)
        for j in range(i - 3, i + 4):
            if j >= 0 and j < n:
                total += s[j - first]
        out[i] = total / np.float32(7)


@variant("weigh_rows")
@cuda.jit
def barrier_before_filling(out, m, w, rows, columns):
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    j = cuda.grid(1)
    total = np.float32(0)
    for start in range(0, rows, BLOCK):
        cuda.syncthreads()
        if start + t < rows:
            s[t] = w[start + t]
        cuda.syncthreads()
        if j < columns:
            for k in range(min(BLOCK, rows - start)):
                total += s[k] * m[start + k, j]
    if j < columns:
        out[j] = total


@variant("weigh_rows")
@cuda.jit
def two_arrays_in_turn(out, m, w, rows, columns):
    s = cuda.shared.array((2, BLOCK), np.float32)
    t = cuda.threadIdx.x
    j = cuda.grid(1)
    total = 0.0
    for turn in range((rows + BLOCK - 1) // BLOCK):
        start = turn * BLOCK
        if start + t < rows:
            s[turn % 2, t] = w[start + t]
        cuda.syncthreads()
        if j < columns:
            for k in range(start, min(start + BLOCK, rows)):
                total += s[turn % 2, k - start] * m[k, j]
    if j < columns:
        out[j] = total


@variant("weigh_rows")
@cuda.jit
def longer_turns(out, m, w, rows, columns):
    s = cuda.shared.array(TWICE, np.float32)
    j = cuda.grid(1)
    total = np.float32(0)
    start = 0
    while start < rows:
        for k in range(cuda.threadIdx.x, min(TWICE, rows - start), cuda.blockDim.x):
            s[k] = w[start + k]
        cuda.syncthreads()
        if j < columns:
            for k in range(min(TWICE, rows - start)):
                total += s[k] * m[start + k, j]
        cuda.syncthreads()
        start += TWICE
    if j < columns:
        out[j] = total


@variant("tile_blur")
@cuda.jit
def loops_over_both_axes(out, a, height, width):
    s = cuda.shared.array((FRAMED, FRAMED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    for r in range(ty, FRAMED, TILE):
        for c in range(tx, FRAMED, TILE):
            row = min(max(cuda.blockIdx.y * TILE + r - 1, 0), height - 1)
            column = min(max(cuda.blockIdx.x * TILE + c - 1, 0), width - 1)
            s[r, c] = a[row, column]
    cuda.syncthreads()
    x, y = cuda.grid(2)
    if x >= width or y >= height:
        return
    total = 0.0
    for r in range(ty, ty + 3):
        for c in range(tx, tx + 3):
            total += s[r, c]
    out[y, x] = total / 9


@variant("tile_blur")
@cuda.jit
def guarded_loads_and_clamped_reads(out, a, height, width):
    s = cuda.shared.array((FRAMED, FRAMED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    top, left = cuda.blockIdx.y * TILE - 1, cuda.blockIdx.x * TILE - 1
    k = ty * TILE + tx
    while k < FRAMED * FRAMED:
        row, column = top + k // FRAMED, left + k % FRAMED
        if row >= 0 and row < height and column >= 0 and column < width:
            s[k // FRAMED, k % FRAMED] = a[row, column]
        k += TILE * TILE
    cuda.syncthreads()
    if x < width and y < height:
        total = np.float32(0)
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                row = min(max(y + dy, 0), height - 1)
                column = min(max(x + dx, 0), width - 1)
                total += s[row - top, column - left]
        out[y, x] = total / np.float32(9)


@variant("tile_blur")
@cuda.jit
def four_sides_and_four_corners(out, a, height, width):
    s = cuda.shared.array((FRAMED, FRAMED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    here_x, here_y = min(x, width - 1), min(y, height - 1)
    left, right = max(x - 1, 0), min(x + 1, width - 1)
    above, below = max(y - 1, 0), min(y + 1, height - 1)
    s[ty + 1, tx + 1] = a[here_y, here_x]
    if ty == 0:
        s[0, tx + 1] = a[above, here_x]
    if ty == TILE - 1:
        s[TILE + 1, tx + 1] = a[below, here_x]
    if tx == 0:
        s[ty + 1, 0] = a[here_y, left]
    if tx == TILE - 1:
        s[ty + 1, TILE + 1] = a[here_y, right]
    if tx == 0 and ty == 0:
        s[0, 0] = a[above, left]
    if tx == TILE - 1 and ty == 0:
        s[0, TILE + 1] = a[above, right]
    if tx == 0 and ty == TILE - 1:
        s[TILE + 1, 0] = a[below, left]
    if tx == TILE - 1 and ty == TILE - 1:
        s[TILE + 1, TILE + 1] = a[below, right]
    cuda.syncthreads()
    if x < width and y < height:
        total = np.float32(0)
        for dy in range(3):
            for dx in range(3):
                total += s[ty + dy, tx + dx]
        out[y, x] = total / np.float32(9)


@variant("tile_blur")
@cuda.jit
def flat_tile(out, a, height, width):
    s = cuda.shared.array(324, np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    for half in range(2):
        k = half * 256 + ty * 16 + tx
        if k < 324:
            row = min(max(y - ty - 1 + k // 18, 0), height - 1)
            column = min(max(x - tx - 1 + k % 18, 0), width - 1)
            s[k] = a[row, column]
    cuda.syncthreads()
    if x < width and y < height:
        total = np.float32(0)
        for place in range(9):
            total += s[(ty + place // 3) * 18 + tx + place % 3]
        out[y, x] = total / np.float32(9)


@variant("weigh_rows")
@cuda.jit
def two_buffers_one_barrier(out, m, w, rows, columns):
    # The turn after next fills the same buffer, and a barrier lies between.
    s = cuda.shared.array((2, BLOCK), np.float32)
    t = cuda.threadIdx.x
    j = cuda.grid(1)
    total = np.float32(0)
    now = 0
    for start in range(0, rows, BLOCK):
        if start + t < rows:
            s[now, t] = w[start + t]
        cuda.syncthreads()
        if j < columns:
            for k in range(min(BLOCK, rows - start)):
                total += s[now, k] * m[start + k, j]
        now = 1 - now
    if j < columns:
        out[j] = total


@variant("rotate_blocks")
@cuda.jit
def a_register_and_a_barrier(a, shift):
    # The barrier orders global memory, too: all have read before any of them stores.
    t = cuda.threadIdx.x
    first = cuda.blockIdx.x * BLOCK
    old = a[first + (t + shift) % BLOCK]
    cuda.syncthreads()
    a[first + t] = old
