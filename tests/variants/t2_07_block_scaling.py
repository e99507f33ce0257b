"""Unusual right answers to the lab t2_07_block_scaling."""

from __future__ import annotations

import math

import numpy as np

from tests.variants import variant
from warpwise import cuda
from warpwise.numerics import ml_codes


@variant("block_bytes")
def by_counting(rows, columns, bits, block, tensor_bytes):
    row = 0
    while columns > 0:
        row += 1 + bits * block // 8
        columns -= block
    return row * rows + tensor_bytes


@variant("block_bytes")
def in_bits_first(rows, columns, bits, block, tensor_bytes):
    return (math.ceil(columns / block) * rows * (bits * block + 8) + 8 * tensor_bytes) // 8


@variant("row_scales")
def by_ml_dtypes(x):
    scales = np.ones(len(x))
    for i, row in enumerate(x):
        if row.any():
            scales[i] = max(row.max(), -row.min()) / 448
    return ml_codes(np.clip(x / scales.reshape(-1, 1), -448, 448), "e4m3"), scales


@variant("mended_amax")
@cuda.jit
def downwards(out, x, n):
    i = cuda.grid(1)
    top = abs(x[i]) if i < n else np.float32(0)
    step = 16
    while step > 0:
        top = max(top, cuda.shfl_down_sync(0xFFFFFFFF, top, step))
        step //= 2
    if i % 32 == 0:
        if i < n:
            cuda.atomic.max(out, 0, top)


@variant("mended_amax")
@cuda.jit
def one_warp_does_all(out, x, n):
    i = cuda.grid(1)
    top = np.float32(0)
    if i < 32:
        for k in range(i, n, 32):
            top = max(top, abs(x[k]))
        for k in range(5):
            top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, 1 << k))
        if i == 0 and n > 0:
            cuda.atomic.max(out, 0, top)


@variant("mended_amax")
@cuda.jit
def by_a_shared_tree(out, x, n):
    tops = cuda.shared.array(128, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    tops[t] = abs(x[i]) if i < n else 0
    cuda.syncthreads()
    step = cuda.blockDim.x // 2
    while step > 0:
        if t < step:
            tops[t] = max(tops[t], tops[t + step])
        cuda.syncthreads()
        step //= 2
    if t == 0 and i < n:
        cuda.atomic.max(out, 0, tops[0])


@variant("mx_scale_bytes")
@cuda.jit
def counted_up(scales, x, blocks):
    i = cuda.grid(1)
    if i < 32 * blocks:
        top = abs(x[i])
        for k in range(5):
            top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, 1 << k))
        code = 0
        while code < 254 and top > math.ldexp(np.float32(448), code - 127):
            code += 1
        if cuda.laneid == 31:
            scales[i // 32] = code


@variant("mx_scale_bytes")
@cuda.jit
def rounded_by_the_quotient(scales, x, blocks):
    for j in range(cuda.grid(1) // 32, blocks, cuda.gridsize(1) // 32):
        top = abs(x[32 * j + cuda.grid(1) % 32])
        for k in range(5):
            top = max(top, cuda.shfl_down_sync(0xFFFFFFFF, top, 16 >> k))
        if cuda.grid(1) % 32 == 0:
            m, e = math.frexp(math.ldexp(top, 20) / np.float32(448))
            code = e - 20 + 127 - (m == 0.5)
            scales[j] = max(code, 0) if top > 0 else 0


@variant("nvfp4_product")
@cuda.jit
def other_way_round(out, a, b, scale_a, scale_b, tensor, m, n, k):
    col, row = cuda.grid(2)
    if row >= m or col >= n:
        return
    total = np.float32(0)
    block = k // 16 - 1
    while block >= 0:
        part = np.float32(0)
        for e in range(16):
            part += b[col, 16 * block + 15 - e] * a[row, 16 * block + 15 - e]
        total += scale_b[col, block] * scale_a[row, block] * part
        block -= 1
    out[row, col] = tensor * total


@variant("nvfp4_product")
@cuda.jit
def one_loop(out, a, b, scale_a, scale_b, tensor, m, n, k):
    j, i = cuda.grid(2)
    if i < m and j < n:
        total = np.float32(0)
        part = np.float32(0)
        for e in range(k):
            part += a[i, e] * b[j, e]
            if e % 16 == 15:
                total += part * (scale_a[i, e // 16] * scale_b[j, e // 16])
                part = np.float32(0)
        out[i, j] = total * tensor


@variant("mxfp4_blocks")
@cuda.jit
def by_table_of_steps(packed, scales, x, blocks):
    i = cuda.grid(1)
    j, lane = i // 32, i % 32
    if j < blocks:
        value = x[i]
        top = abs(value)
        for k in range(5):
            top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, 1 << k))
        m, e = math.frexp(top)
        code = max(e + 124 + (m > 0.75), 0) if top > 0 else 0
        v = math.ldexp(abs(value), 127 - code)
        if v < 2:
            element = round(v * np.float32(2))
        elif v < 4:
            element = round(v) + 2
        else:
            element = round(v * np.float32(0.5)) + 4
        if value < 0:
            element |= 8
        low = cuda.shfl_up_sync(0xFFFFFFFF, element, 1)
        if lane % 2 == 1:
            packed[16 * j + lane // 2] = low + 16 * element
        if lane == 31:
            scales[j] = code
