"""Unusual but right answers to the lab t2_05_tensor_cores."""

from __future__ import annotations

import numpy as np

from tests.variants import variant
from warpwise import cuda, mma_m16n8k8, mma_m16n8k16


@variant("places_of_d")
def with_bits(lane):
    row, column = lane >> 2, (lane & 3) << 1
    return [(row, column), (row, column | 1), (row | 8, column), (row | 8, column | 1)]


@variant("places_of_d")
def arrays_of_numpy(lane):
    i = np.arange(4)
    rows, columns = lane // 4 + 8 * (i > 1), 2 * (lane % 4) + i % 2
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


@variant("holder_of_a")
def by_search(row, column):
    for lane in range(32):
        for i in range(8):
            place = lane // 4 + i // 2 % 2 * 8, 2 * (lane % 4) + i % 2 + i // 4 * 8
            if place == (row, column):
                return lane, i
    return None


@variant("holder_of_a")
def with_divmod(row, column):
    lower, group = divmod(row, 8)
    right, rest = divmod(column, 8)
    place, odd = divmod(rest, 2)
    return 4 * group + place, 4 * right + 2 * lower + odd


@variant("tensor_bill")
def counted_in_loops(m, n, k):
    instructions = loads = 0
    for top in range(0, m, 16):
        for first in range(0, n, 8):
            instructions += len(range(0, k, 16))
            loads += (min(16, m - top) + min(8, n - first)) * k
    return instructions, loads, instructions << 12


@variant("tensor_matmul")
@cuda.jit
def unrolled_places(c, a, b, m, n, k):
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.laneid
    row = 16 * cuda.blockIdx.y + (lane >> 2)
    column = 8 * cuda.blockIdx.x + (lane >> 2)
    acc[0] = acc[1] = acc[2] = acc[3] = 0
    start = 0
    while start < k:
        for right_half in range(2):
            for lower in range(2):
                for odd in range(2):
                    i = odd + 2 * lower + 4 * right_half
                    r, t = row + 8 * lower, start + 8 * right_half + 2 * (lane & 3) + odd
                    left[i] = 0
                    if r < m and t < k:
                        left[i] = a[r, t]
            for odd in range(2):
                t = start + 8 * right_half + 2 * (lane & 3) + odd
                right[odd + 2 * right_half] = 0
                if t < k and column < n:
                    right[odd + 2 * right_half] = b[t, column]
        mma_m16n8k16(d=acc, a=left, b=right, c=acc)
        start += 16
    for i in range(4):
        r, q = row + (i >> 1) * 8, 8 * cuda.blockIdx.x + 2 * (lane & 3) + (i & 1)
        if r < m and q < n:
            c[r, q] = acc[i]


@variant("tensor_matmul")
@cuda.jit
def two_accumulators(c, a, b, m, n, k):
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array((2, 4), np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    top, first = 16 * cuda.blockIdx.y, 8 * cuda.blockIdx.x
    for i in range(4):
        acc[0, i] = 0
        acc[1, i] = 0
    for step in range((k + 15) // 16):
        for i in range(8):
            row = top + group + i // 2 % 2 * 8
            term = 16 * step + 2 * place + i % 2 + i // 4 * 8
            left[i] = a[row, term] if row < m and term < k else np.float16(0)
        for i in range(4):
            term = 16 * step + 2 * place + i % 2 + i // 2 * 8
            right[i] = b[term, first + group] if term < k and first + group < n else np.float16(0)
        mma_m16n8k16(acc[step % 2], left, right, acc[step % 2])
    for i in range(4):
        row, column = top + group + i // 2 * 8, first + 2 * place + i % 2
        if row < m and column < n:
            c[row, column] = acc[0, i] + acc[1, i]


@variant("fragments_mended")
@cuda.jit
def swizzled(c, a, b):
    tile = cuda.shared.array((16, 64), np.float16)
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    for i in range(4):
        acc[i] = 0
    for row in range(16):
        for column in range(lane, 64, 32):
            tile[row, column ^ (row % 8 * 8)] = a[16 * cuda.blockIdx.x + row, column]
    cuda.syncthreads()
    for start in range(0, 64, 16):
        for i in range(8):
            column = start + 2 * place + i % 2 + i // 4 * 8
            left[i] = tile[group + i // 2 % 2 * 8, column ^ (group * 8)]
        for i in range(4):
            right[i] = b[start + 2 * place + i % 2 + i // 2 * 8, group]
        mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        c[16 * cuda.blockIdx.x + group + i // 2 * 8, 2 * place + i % 2] = acc[i]


@variant("fragments_mended")
@cuda.jit
def flat_tile(c, a, b):
    tile = cuda.shared.array(1152, np.float16)
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    for i in range(4):
        acc[i] = 0
    for at in range(lane, 1024, 32):
        tile[at // 64 * 72 + at % 64] = a[16 * cuda.blockIdx.x + at // 64, at % 64]
    cuda.syncwarp()
    for step in range(4):
        for i in range(8):
            row = group + i // 2 % 2 * 8
            left[i] = tile[72 * row + 16 * step + 2 * place + i % 2 + i // 4 * 8]
        for i in range(4):
            right[i] = b[16 * step + 2 * place + i % 2 + i // 2 * 8, group]
        mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        c[16 * cuda.blockIdx.x + group + i // 2 * 8, 2 * place + i % 2] = acc[i]


@cuda.jit(device=True)
def cut(x):
    return cuda.libdevice.int_as_float(cuda.libdevice.float_as_int(x) & np.int32(-8192))


@variant("three_for_one")
@cuda.jit
def cut_not_rounded(c, a, b, k):
    big_a = cuda.local.array(4, np.float32)
    rest_a = cuda.local.array(4, np.float32)
    big_b = cuda.local.array(2, np.float32)
    rest_b = cuda.local.array(2, np.float32)
    acc = cuda.local.array(4, np.float32)
    tail = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    for i in range(4):
        acc[i] = 0
        tail[i] = 0
    for start in range(0, k, 8):
        for i in range(4):
            x = a[group + i % 2 * 8, start + place + i // 2 * 4]
            big_a[i] = cut(x)
            rest_a[i] = x - big_a[i]
        for i in range(2):
            x = b[start + place + i * 4, group]
            big_b[i] = cut(x)
            rest_b[i] = x - big_b[i]
        mma_m16n8k8(acc, big_a, big_b, acc)
        mma_m16n8k8(tail, big_a, rest_b, tail)
        mma_m16n8k8(tail, rest_a, big_b, tail)
    for i in range(4):
        c[group + i // 2 * 8, 2 * place + i % 2] = acc[i] + tail[i]


@cuda.jit(device=True)
def nearest(x):
    bits = cuda.libdevice.float_as_int(x) + np.int32(0x1000)
    return cuda.libdevice.int_as_float(bits & np.int32(-8192))


@variant("three_for_one")
@cuda.jit
def terms_in_another_order(c, a, b, k):
    large = cuda.local.array((2, 4), np.float32)
    small = cuda.local.array((2, 4), np.float32)
    acc = cuda.local.array(4, np.float32)
    group, place = cuda.threadIdx.x // 4, cuda.threadIdx.x % 4
    for i in range(4):
        acc[i] = 0
    for start in range(0, k, 8):
        term = start + 2 * place  # any order of the terms will do, the same in a and b
        for i in range(4):
            x = a[group + i % 2 * 8, term + i // 2]
            large[0, i] = nearest(x)
            small[0, i] = x - large[0, i]
        for i in range(2):
            x = b[term + i, group]
            large[1, i] = nearest(x)
            small[1, i] = x - large[1, i]
        mma_m16n8k8(acc, large[0], large[1], acc)
        mma_m16n8k8(acc, large[0], small[1], acc)
        mma_m16n8k8(acc, small[0], large[1], acc)
    for i in range(4):
        c[group + i // 2 * 8, 2 * place + i % 2] = acc[i]
