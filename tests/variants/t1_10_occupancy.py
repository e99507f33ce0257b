"""Unusual but right answers to the lab t1_10_occupancy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tests.variants import variant
from warpwise import cuda
from warpwise.hardware import occupancy


@variant("warps_to_fill")
def exact_fractions(bandwidth_gbs, latency_cycles, clock_mhz, sms, bytes_per_warp):
    seconds = Fraction(latency_cycles, clock_mhz * 10**6)
    return -(-bandwidth_gbs * 10**9 * seconds // (sms * bytes_per_warp))


@variant("warps_to_fill")
def bytes_a_cycle(bandwidth_gbs, latency_cycles, clock_mhz, sms, bytes_per_warp):
    per_cycle = bandwidth_gbs * 1e9 / (clock_mhz * 1e6)
    return int(np.ceil(per_cycle * latency_cycles / (sms * bytes_per_warp)))


@variant("four_limits")
def counted_upwards(max_warps, max_blocks, shared_sm, threads, registers, shared_bytes):
    warps = -(-threads // 32)
    units = -(-registers // 8)  # of 8 registers for each of 32 lanes
    blocks = 0
    while -(-(blocks + 1) * warps // 4) * units <= 64:  # a part has 64 units of 256
        blocks += 1
    used = 128 * -(-shared_bytes // 128) + 1024
    return [int(max_warps / warps), max_blocks, blocks, shared_sm // used]


@variant("four_limits")
def numpy_integers(max_warps, max_blocks, shared_sm, threads, registers, shared_bytes):
    warps = int(np.ceil(threads / 32))
    per_warp = int(np.ceil(registers / 8)) * 256
    room = np.array([max_warps, max_blocks, 16384 // per_warp * 4, shared_sm])
    needs = np.array([warps, 1, warps, int(np.ceil((shared_bytes + 1024) / 128)) * 128])
    return tuple(room // needs)


@variant("warps_after_halving")
def by_the_calculator():
    return occupancy("H100", 128, 40, 9216).warps


@variant("warps_after_halving")
def by_hand():
    return np.int64(4 * (16384 // (32 * 40)))


@variant("tail_of")
def divmod_and_if(grid, blocks_per_sm, sms):
    full, rest = divmod(grid, blocks_per_sm * sms)
    waves = full + bool(rest)
    return [waves, grid / waves / sms / blocks_per_sm]


@variant("tail_of")
def wave_by_wave(grid, blocks_per_sm, sms):
    waves = places = 0
    while places < grid:
        waves, places = waves + 1, places + blocks_per_sm * sms
    return waves, 1 - (places - grid) / places


@variant("strip_product")
@cuda.jit
def strips_of_32(out, a, b):
    rows = cuda.shared.array((4, 32), np.float32)
    columns = cuda.shared.array((32, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x = cuda.blockIdx.x * 32 + tx
    y = cuda.blockIdx.y * 4 + ty
    total = np.float32(0)
    depth = a.shape[1]
    start = 0
    while start < depth:
        rows[ty, tx] = np.float32(0)
        if y < out.shape[0] and start + tx < depth:
            rows[ty, tx] = a[y, start + tx]
        for k in range(ty, 32, 4):
            columns[k, tx] = np.float32(0)
            if x < out.shape[1] and start + k < depth:
                columns[k, tx] = b[start + k, x]
        cuda.syncthreads()
        for k in range(32):
            total += rows[ty, k] * columns[k, tx]
        cuda.syncthreads()
        start += 32
    if y < out.shape[0] and x < out.shape[1]:
        out[y, x] = total


@variant("strip_product")
@cuda.jit
def one_flat_array_and_barrier_first(out, a, b):
    tile = cuda.shared.array(36 * 64, np.float32)
    t = cuda.threadIdx.y * 32 + cuda.threadIdx.x
    x, y = cuda.grid(2)
    m, n = out.shape
    depth = b.shape[0]
    left, top = cuda.blockIdx.x * 32, cuda.blockIdx.y * 4
    total = np.float32(0)
    for start in range(0, depth, 64):
        if start > 0:
            cuda.syncthreads()
        part = min(depth - start, 64)
        for i in range(t, 4 * 64, 128):
            if i % 64 < part and top + i // 64 < m:
                tile[i] = a[top + i // 64, start + i % 64]
        for i in range(t, part * 32, 128):
            if left + i % 32 < n:
                tile[4 * 64 + i] = b[start + i // 32, left + i % 32]
        cuda.syncthreads()
        if y < m and x < n:
            for k in range(part):
                total += tile[cuda.threadIdx.y * 64 + k] * tile[4 * 64 + k * 32 + cuda.threadIdx.x]
    if y < m and x < n:
        out[y, x] = total


@variant("strip_product")
@cuda.jit
def a_row_in_the_lanes_of_a_warp(out, a, b):
    tile_b = cuda.shared.array((64, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    m, n = out.shape
    depth = b.shape[0]
    total = np.float32(0)
    for start in range(0, depth, 64):
        part = min(64, depth - start)
        for k in range(ty, part, 4):
            tile_b[k, tx] = b[start + k, x] if x < n else np.float32(0)
        cuda.syncthreads()
        for first in range(0, part, 32):
            mine = np.float32(0)
            if y < m and first + tx < part:
                mine = a[y, start + first + tx]
            for k in range(first, min(first + 32, part)):
                total += cuda.shfl_sync(0xFFFFFFFF, mine, k - first) * tile_b[k, tx]
        cuda.syncthreads()
    if y < m and x < n:
        out[y, x] = total


@variant("best_launch")
def maximum_of_a_key(max_warps, max_blocks, shared_sm, versions):
    def warps(threads, registers, per_thread):
        each = threads // 32
        units = -(-registers // 8)
        used = -(-(threads * per_thread + 1024) // 128) * 128
        return each * min(
            max_warps // each, max_blocks, 64 // units * 4 // each, shared_sm // used
        )  # fmt: skip

    choices = [
        (threads, k, loads * warps(threads, registers, per_thread))
        for threads in range(32, 1025, 32)
        for k, (loads, registers, per_thread) in enumerate(versions)
    ]
    threads, k, _ = max(choices, key=lambda choice: (choice[2], -choice[0], -choice[1]))
    return [threads, versions[k][0]]
