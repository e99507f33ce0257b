"""Unusual but right answers to the lab t1_11_roofline."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain

import numpy as np

from tests.variants import variant
from warpwise import cuda
from warpwise.hardware import Work, bound


@variant("place")
def largest_pair(peak_tflops, bandwidth_gbs, flops, nbytes):
    pipes = {"arithmetic": flops / peak_tflops / 1e9, "memory": nbytes / bandwidth_gbs / 1e6}
    binds = max(pipes, key=pipes.get)
    return [flops / nbytes, peak_tflops / (bandwidth_gbs / 1e3), pipes[binds], binds]


@variant("place")
def by_the_attainable_rate(peak_tflops, bandwidth_gbs, flops, nbytes):
    intensity = float(Fraction(flops, nbytes))
    slanted = np.float64(intensity * bandwidth_gbs / 1000)
    rate = min(peak_tflops, slanted)
    return intensity, peak_tflops / bandwidth_gbs * 1000, flops / rate / 1e9, (
        "memory" if rate is slanted else "arithmetic"
    )  # fmt: skip


@variant("traffic_of")
def arrays_of_sectors(requests, itemsize):
    sectors = [np.unique(np.asarray(request, np.int64) >> 5) for request in requests]
    joined = np.unique(np.concatenate(sectors))
    return np.int64(32 * sum(map(len, sectors))), 32 * joined.size


@variant("traffic_of")
def sorted_and_walked(requests, itemsize):
    def pieces(addresses):
        last, count = None, 0
        for sector in sorted(address - address % 32 for address in addresses):
            count, last = count + (sector != last), sector
        return 32 * count

    return [sum(map(pieces, requests)), pieces(chain(*requests))]


@variant("blend_bytes")
def sector_by_sector():
    sizes = (4 * 1200 * 1600, 1200 * 1600, 4 * 1600, 4)
    return sum(-(-size // 32) for size in sizes) * 32


@variant("blend_bytes")
def from_arrays():
    arrays = (np.zeros((1200, 1600), np.float32), np.zeros((1200, 1600), np.uint8),
              np.zeros(1600, np.float32))  # fmt: skip
    return np.int64(sum(array.nbytes for array in arrays) + 32)


@variant("twelve_limiters")
def by_groups():
    groups = {
        "DRAM": "copy saxpy poly_16 double_16 every_8th matvec", "L2": "table_sum",
        "load/store": "matmul sum_33", "fp32": "pair_sums poly_128", "fp64": "double_64",
    }  # fmt: skip
    return {name: roof for roof, names in groups.items() for name in names.split()}


@variant("twelve_limiters")
def some_of_them_modelled():
    n = 2**18
    poly = {
        f"poly_{rounds}": bound(
            Work({"fp32": 2 * rounds * n}, 8 * n, 8 * n, n / 4, blocks=1024), "A100 40GB"
        ).limiter.name
        for rounds in (16, 128)
    }
    return by_groups.answer() | poly


@variant("fade")
@cuda.jit
def stride_and_fma(out, photo, strength):
    one = np.float32(1)
    n = np.float32(out.size)
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        place = np.float32(i) / n
        dark = strength * (place * place)
        pixel = photo[i] * (one - dark)
        out[i] = pixel - pixel * dark * (np.float32(0.2) - np.float32(0.05) * dark)


@variant("fade")
@cuda.jit
def float32_by_type(out, photo, strength):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i >= out.size:
        return
    scale = np.float32(1) / np.float32(20)
    place = np.float32(np.int32(i)) / np.float32(np.int32(out.size))
    light = -strength * place * place + np.float32(1)
    pixel = photo[i] * scale
    out[i] = np.float32(17) * pixel * light + np.float32(2) * pixel * light**2 + pixel * light**3


@variant("smooth_four")
@cuda.jit
def two_tiles_in_turn(out, x):
    tiles = cuda.shared.array((2, 256), np.float32)
    t = cuda.threadIdx.x
    i = 240 * cuda.blockIdx.x + t - 8
    n = x.size
    if i >= 0 and i < n:
        tiles[0, t] = x[i]
    now = 0
    for _ in range(4):
        cuda.syncthreads()
        if i >= 0 and i < n:
            value = tiles[now, t]
            if t > 0 and t < 255 and i > 0 and i < n - 1:
                value = (tiles[now, t - 1] + tiles[now, t + 1]) * np.float32(0.25) + value / (
                    np.float32(2)
                )
            tiles[1 - now, t] = value
        now = 1 - now
    if t >= 8 and t < 248 and i < n:
        out[i] = tiles[now, t]


@variant("smooth_four")
@cuda.jit
def nine_weights_and_a_mirror(out, x):
    """Ends that never change are a mirror with the sign turned round."""
    tile = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    start = 240 * cuda.blockIdx.x - 8
    i = start + t
    n = x.size
    if 0 <= i < n:
        tile[t] = x[i]
    cuda.syncthreads()
    if t < 8 or t >= 248 or i >= n:
        return
    if n < 16:  # too short for a mirror: round by round, each thread on its own
        old = cuda.local.array(16, np.float32)
        new = cuda.local.array(16, np.float32)
        for k in range(n):
            old[k] = tile[k - start]
        for _ in range(4):
            for k in range(n):
                new[k] = old[k]
                if 0 < k < n - 1:
                    new[k] = np.float32(0.25) * (old[k - 1] + old[k + 1]) + np.float32(0.5) * old[k]
            for k in range(n):
                old[k] = new[k]
        out[i] = old[i]
        return
    total = np.float32(0)
    weight = np.float32(1)  # 1, 8, 28, 56, 70, 56 ... over 256
    for k in range(9):
        j = i + k - 4
        if j < 0:
            total += weight * (np.float32(2) * tile[-start] - tile[-j - start])
        elif j >= n:
            end = n - 1 - start
            total += weight * (np.float32(2) * tile[end] - tile[2 * (n - 1) - j - start])
        else:
            total += weight * tile[j - start]
        weight = weight * np.float32(8 - k) / np.float32(k + 1)
    out[i] = total / np.float32(256)


@variant("smooth_four")
@cuda.jit
def warp_by_warp(out, x):
    """Neighbours by shuffles; only the edges of a warp go through shared memory."""
    left = cuda.shared.array(8, np.float32)
    right = cuda.shared.array(8, np.float32)
    t = cuda.threadIdx.x
    lane, warp = t % 32, t // 32
    i = 240 * cuda.blockIdx.x + t - 8
    n = x.size
    value = np.float32(0)
    if 0 <= i < n:
        value = x[i]
    for _ in range(4):
        if lane == 0:
            left[warp] = value
        if lane == 31:
            right[warp] = value
        cuda.syncthreads()
        before = cuda.shfl_up_sync(0xFFFFFFFF, value, 1)
        after = cuda.shfl_down_sync(0xFFFFFFFF, value, 1)
        if lane == 0 and warp > 0:
            before = right[warp - 1]
        if lane == 31 and warp < 7:
            after = left[warp + 1]
        if 0 < i < n - 1:
            value = np.float32(0.25) * (before + after) + np.float32(0.5) * value
        cuda.syncthreads()
    if 8 <= t < 248 and i < n:
        out[i] = value


@variant("smooth_four")
@cuda.jit
def halo_of_four_loaded_apart(out, x):
    tile = cuda.shared.array(248, np.float32)
    t = cuda.threadIdx.x
    start = 240 * cuda.blockIdx.x
    n = x.size
    if t < 240 and start + t < n:
        tile[t + 4] = x[start + t]
    if t < 4 and start > 0:
        tile[t] = x[start + t - 4]
    if t >= 252 and start + t - 12 < n:
        tile[t - 8] = x[start + t - 12]
    cuda.syncthreads()
    i = start + t - 4
    for step in range(1, 5):
        new = np.float32(0)
        mine = step <= t < 248 - step and 0 < i < n - 1
        if mine:
            new = tile[t] / np.float32(2) + (tile[t - 1] + tile[t + 1]) / np.float32(4)
        cuda.syncthreads()
        if mine:
            tile[t] = new
        cuda.syncthreads()
    if t < 240 and start + t < n:
        out[start + t] = tile[t + 4]


@variant("smooth_four")
@cuda.jit
def halo_of_four_in_248_threads(out, x):
    tile = cuda.shared.array(248, np.float32)
    t = cuda.threadIdx.x
    i = 240 * cuda.blockIdx.x + t - 4
    n = x.size
    inside = t < 248 and 0 <= i < n
    if inside:
        tile[t] = x[i]
    cuda.syncthreads()
    for _ in range(4):
        new = np.float32(0)
        mine = inside and 0 < t < 247 and 0 < i < n - 1
        if mine:
            new = np.float32(0.25) * (tile[t - 1] + tile[t + 1]) + np.float32(0.5) * tile[t]
        cuda.syncthreads()
        if mine:
            tile[t] = new
        cuda.syncthreads()
    if 4 <= t < 244 and inside:
        out[i] = tile[t]
