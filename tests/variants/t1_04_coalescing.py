"""Unusual but right answers to the lab t1_04_coalescing."""

from __future__ import annotations

import math

import numpy as np
from numba import float32

from tests.variants import variant
from warpwise import cuda

# -- warp_sectors ------------------------------------------------------------------------------


@variant("warp_sectors")
def with_numpy(offset, stride, itemsize):
    return np.unique((offset + np.arange(32) * stride) * itemsize // 32).size


@variant("warp_sectors")
def every_byte_of_every_lane(offset, stride, itemsize):
    touched = set()
    for lane in range(32):
        for byte in range(itemsize):
            touched.add(((offset + lane * stride) * itemsize + byte) // 32)
    return len(touched)


@variant("warp_sectors")
def sorted_and_compared(size, step, width):
    places = sorted(math.floor((size + lane * step) * width / 32) for lane in range(32))
    return 1 + sum(here != there for here, there in zip(places, places[1:], strict=False))


@variant("warp_sectors")
def elements_of_a_sector(offset, stride, itemsize):
    in_a_sector = 32 // itemsize
    return np.int64(len({(offset + lane * stride) // in_a_sector for lane in range(32)}))


# -- scale_rows --------------------------------------------------------------------------------


@variant("scale_rows")
@cuda.jit
def flat_along_rows(out, a, gain, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for k in range(y0 * step_x + x0, height * width, step_x * step_y):
        out[k // width, k % width] = gain[k // width] * a[k // width, k % width]


@variant("scale_rows")
@cuda.jit
def gain_kept_in_a_variable(result, image, factors, rows, columns):
    i = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    while i < rows:
        factor = factors[i]
        j = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        while j < columns:
            result[i][j] = image[i][j] * factor
            j += cuda.gridDim.x * cuda.blockDim.x
        i += cuda.gridDim.y * cuda.blockDim.y


@variant("scale_rows")
@cuda.jit
def columns_in_the_outer_loop(out, a, gain, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for x in range(x0, width, step_x):
        for y in range(y0, height, step_y):
            out[y, x] = a[y, x] * gain[y]


@variant("scale_rows")
@cuda.jit
def backwards_through_the_picture(out, a, gain, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for y in range(height - 1 - y0, -1, -step_y):
        for x in range(width - 1 - x0, -1, -step_x):
            out[y, x] = gain[y] * a[y, x]


# -- record_sectors ----------------------------------------------------------------------------


@variant("record_sectors")
def counted_with_a_set():
    total = 0
    for warp in range(128):
        for field in range(3):
            total += len({(16 * (32 * warp + lane) + 4 * field) // 32 for lane in range(32)})
    return total


@variant("record_sectors")
def two_records_a_sector():
    return np.int64(4096 // 2 * 3)


# -- split_fields ------------------------------------------------------------------------------


@variant("split_fields")
@cuda.jit
def divmod_and_while(arrays, records, n):
    k = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    while k < records.size:
        i, f = divmod(k, 3)
        arrays[f, i] = records[k]
        k += cuda.blockDim.x * cuda.gridDim.x


@variant("split_fields")
@cuda.jit
def through_a_tile(arrays, records, n):
    tile = cuda.shared.array(3 * 128, float32)
    t, size = cuda.threadIdx.x, cuda.blockDim.x
    for first in range(cuda.blockIdx.x * size, n, cuda.gridsize(1)):
        for j in range(t, 3 * size, size):
            if 3 * first + j < 3 * n:
                tile[j] = records[3 * first + j]
        cuda.syncthreads()
        if first + t < n:
            for f in range(3):
                arrays[f, first + t] = tile[3 * t + f]
        cuda.syncthreads()


@variant("split_fields")
@cuda.jit
def three_numbers_a_step(arrays, records, n):
    step = cuda.gridsize(1)
    for first in range(0, 3 * n, 3 * step):
        for turn in range(3):
            k = first + turn * step + cuda.grid(1)
            if k < 3 * n:
                arrays[k - k // 3 * 3, k // 3] = records[k]


# -- dot_rows ----------------------------------------------------------------------------------


@cuda.jit(device=True)
def warp_sum(value):
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, step)
    return value


@variant("dot_rows")
@cuda.jit
def four_rows_for_a_warp(out, a, v, height, width):
    lane = cuda.threadIdx.x % 32
    for y in range(4 * (cuda.grid(1) // 32), height, 4 * (cuda.gridsize(1) // 32)):
        t0, t1, t2, t3 = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
        for x in range(lane, width, 32):
            vx = v[x]
            t0 += a[y, x] * vx
            if y + 1 < height:
                t1 += a[y + 1, x] * vx
            if y + 2 < height:
                t2 += a[y + 2, x] * vx
            if y + 3 < height:
                t3 += a[y + 3, x] * vx
        t0, t1, t2, t3 = warp_sum(t0), warp_sum(t1), warp_sum(t2), warp_sum(t3)
        if lane == 0:
            out[y] = t0
            if y + 1 < height:
                out[y + 1] = t1
            if y + 2 < height:
                out[y + 2] = t2
            if y + 3 < height:
                out[y + 3] = t3


@variant("dot_rows")
@cuda.jit
def butterfly_and_last_lane(out, a, v, height, width):
    lane = cuda.laneid
    for y in range(cuda.grid(1) // 32, height, cuda.gridsize(1) // 32):
        total = 0.0
        x = lane
        while x < width:
            total += a[y, x] * v[x]
            x += 32
        for step in (1, 2, 4, 8, 16):
            total += cuda.shfl_xor_sync(0xFFFFFFFF, total, step)
        if lane == 31:
            out[y] = total


@variant("dot_rows")
@cuda.jit
def idle_lanes_multiply_by_zero(out, a, v, height, width):
    lane, warps = cuda.threadIdx.x & 31, cuda.gridsize(1) >> 5
    y = cuda.grid(1) >> 5
    while y < height:
        total = np.float32(0)
        for first in range(0, width, 32):
            x = min(first + lane, width - 1)
            weight = v[x] if first + lane < width else np.float32(0)
            total += a[y, x] * weight
        total = warp_sum(total)
        if lane == 0:
            out[y] = total
        y += warps


@variant("dot_rows")
@cuda.jit
def totals_in_shared_memory(out, a, v, height, width):
    totals = cuda.shared.array((8, 32), float32)
    lane, warp = cuda.threadIdx.x % 32, cuda.threadIdx.x // 32
    for y in range(cuda.grid(1) // 32, height, cuda.gridsize(1) // 32):
        total = np.float32(0)
        for x in range(lane, width, 32):
            total += a[y, x] * v[x]
        totals[warp, lane] = total
        cuda.syncwarp()
        if lane == 0:
            whole = np.float32(0)
            for k in range(32):
                whole += totals[warp, k]
            out[y] = whole
        cuda.syncwarp()
