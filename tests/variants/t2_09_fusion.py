"""Unusual but right answers to the lab t2_09_fusion."""

from __future__ import annotations

import math

import numpy as np
from numba import float32

from tests.variants import variant
from warpwise import cuda

ALL = 0xFFFFFFFF
LEAST = np.float32(-3.4028234663852886e38)


@variant("fused_silu")
@cuda.jit
def by_tanh(out, x, bias, rows, columns):
    col, row = cuda.grid(2)
    if row < rows and col < columns:
        half = np.float32(0.5) * (x[row, col] + bias[col])
        out[row, col] = half * (np.float32(1) + math.tanh(half))


@variant("fused_silu")
@cuda.jit
def by_the_hyperbolic_tangent(out, x, bias, rows, columns):
    col = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if col >= columns:
        return
    b = bias[col]
    for row in range(cuda.grid(2)[1], rows, cuda.gridsize(2)[1]):
        half = np.float32(0.5) * (x[row, col] + b)
        out[row, col] = half / (np.float32(0.5) * (np.float32(1) + math.exp(np.float32(-2) * half)))


@variant("norm_bytes")
def array_by_array(rows, columns):
    sizes = {"x": 2, "mean": 2, "centred": 3, "variance": 2, "scaled": 2, "weight": 1, "bias": 1}
    sizes["out"] = 1
    shape = {"mean": rows, "variance": rows, "weight": columns, "bias": columns}
    moved = {name: times * shape.get(name, rows * columns) for name, times in sizes.items()}
    once = sum(shape.get(name, rows * columns) for name in ("x", "weight", "bias", "out"))
    return np.int64(4 * sum(moved.values())), 4 * once


@variant("merge_states")
def by_logarithms(m1, s1, m2, s2):
    if s1 == 0:
        return m2, s2
    if s2 == 0:
        return [m1, s1]
    m = m1 if m1 > m2 else m2
    return m, math.exp(np.logaddexp(m1 - m + math.log(s1), m2 - m + math.log(s2)))


@variant("row_states")
@cuda.jit
def by_shuffles_and_four_states(top, total, x, n):
    tops = cuda.shared.array(4, float32)
    sums = cuda.shared.array(4, float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    m, s = LEAST, np.float32(0)
    for turn in range((n + 127) // 128):
        col = 128 * turn + t
        value = x[row, col] if col < n else np.float32(-math.inf)
        new = max(m, value)
        s = s * math.exp(m - new) + math.exp(value - new)
        m = new
    for step in (1, 2, 4, 8, 16):
        m2 = cuda.shfl_down_sync(ALL, m, step)
        s2 = cuda.shfl_down_sync(ALL, s, step)
        if t % 32 + step < 32:
            new = max(m, m2)
            s = s * math.exp(m - new) + s2 * math.exp(m2 - new)
            m = new
    if t % 32 == 0:
        tops[t // 32] = m
        sums[t // 32] = s
    cuda.syncthreads()
    if t == 0:
        for warp in range(1, 4):
            new = max(m, tops[warp])
            s = s * math.exp(m - new) + sums[warp] * math.exp(tops[warp] - new)
            m = new
        top[row] = m if s > 0 else np.float32(-math.inf)
        total[row] = s


@variant("online_softmax")
@cuda.jit
def from_the_least_float(y, x, rows, n):
    row = cuda.blockIdx.x * (cuda.blockDim.x // 32) + cuda.threadIdx.x // 32
    lane = cuda.laneid
    if row < rows:
        m, s = LEAST, np.float32(0)
        for col in range(lane, n, 32):
            value = x[row, col]
            new = max(m, value)
            s = s * math.exp(m - new) + math.exp(value - new)
            m = new
        step = 1
        while step < 32:
            m2 = cuda.shfl_xor_sync(ALL, m, step)
            s2 = cuda.shfl_xor_sync(ALL, s, step)
            new = max(m, m2)
            s = s * math.exp(m - new) + s2 * math.exp(m2 - new)
            m = new
            step *= 2
        share = np.float32(1) / s if s > 0 else np.float32(0)
        for col in range(lane, n, 32):
            y[row, col] = share * math.exp(x[row, col] - m)


@variant("online_softmax")
@cuda.jit
def maximum_merged_first(y, x, rows, n):
    row, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    if row >= rows:
        return
    m, s = np.float32(-math.inf), np.float32(0)
    for col in range(lane, n, 32):
        value = x[row, col]
        if value > m:
            s = s * math.exp(m - value) + np.float32(1) if m > -math.inf else np.float32(1)
            m = value
        elif m > -math.inf:
            s += math.exp(value - m)
    whole = m
    for step in (16, 8, 4, 2, 1):
        whole = max(whole, cuda.shfl_xor_sync(ALL, whole, step))
    s = s * math.exp(m - whole) if m > -math.inf else np.float32(0)
    for step in (16, 8, 4, 2, 1):
        s += cuda.shfl_xor_sync(ALL, s, step)
    for col in range(lane, n, 32):
        if s == 0:
            y[row, col] = 0
        else:
            y[row, col] = math.exp(x[row, col] - whole) / s


@variant("row_loss")
@cuda.jit
def score_picked_on_the_way(loss, x, target, rows, n):
    row, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    if row >= rows:
        return
    column = target[row]
    m, s, score = LEAST, np.float32(0), np.float32(0)
    for col in range(lane, n, 32):
        value = x[row, col]
        if col == column:
            score = value
        new = max(m, value)
        s = s * math.exp(m - new) + math.exp(value - new)
        m = new
    for step in (1, 2, 4, 8, 16):
        m2 = cuda.shfl_xor_sync(ALL, m, step)
        s2 = cuda.shfl_xor_sync(ALL, s, step)
        score += cuda.shfl_xor_sync(ALL, score, step)
        new = max(m, m2)
        s = s * math.exp(m - new) + s2 * math.exp(m2 - new)
        m = new
    if lane == 31:
        loss[row] = math.log(s) - (score - m)
