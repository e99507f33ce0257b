"""Unusual but right answers to the lab t2_11_machine_code."""

from __future__ import annotations

import re

import numpy as np
from numba import float32, int32, uint32, uint64

from tests.variants import variant
from warpwise import cuda

TILE = 16
LEVELS = 12
HALF = np.float32(0.5)


@variant("single_only")
@cuda.jit
def counted_in_float32(out, x, n, width):
    i = cuda.grid(1)
    if i < 0 or i >= n:
        return
    total = elements = float32(0)
    j = i
    while j >= 0 and j > i - width:
        total += x[j]
        elements += float32(1)
        j -= 1
    out[i] = (total / elements + x[i]) * HALF


@variant("tally")
def by_regular_expressions(listing):
    text = "\n".join(listing)
    found = re.findall(r"^(?:@\S+ )?(LDG|LDS)(\S*)", text, re.M)
    sizes = {"128": 16, "64": 8, "16": 2, "8": 1}
    total = {"LDG": 0, "LDS": 0}
    for name, rest in found:
        width = re.search(r"\.[US]?(128|64|16|8)\b", rest)
        total[name] += sizes[width[1]] if width else 4
    doubles = len(re.findall(r"^(?:@\S+ )?D(?:ADD|MUL|FMA)\b", text, re.M))
    return [total["LDG"], np.int64(total["LDS"]), doubles, len(re.findall(r"^@", text, re.M))]


@variant("loop_bound")
def by_time_of_a_warp(names, fp32, fp64):
    def of(*first):
        return sum(name.partition(".")[0] in first for name in names)

    unit = 32.0 / (fp32 / 4.0)
    busy = unit * of("FFMA", "FADD", "FMUL"), 32.0 / (fp64 / 4.0) * of("DADD", "DMUL", "DFMA")
    clocks = max(float(len(names)), *busy)
    return [clocks, (of("FFMA") + 0.5 * of("FADD", "FMUL")) * unit / clocks]


@variant("signless")
@cuda.jit
def sixty_four_bits_throughout(out, x, n):
    i = uint64(cuda.grid(1))
    if i < uint64(n):
        out[i] = x[i] - x[uint64(n - 1) - i]


@variant("signless")
@cuda.jit
def unsigned_strides(out, x, n):
    size, step = uint32(x.size), uint32(cuda.gridsize(1))
    i = uint32(cuda.grid(1))
    while i < size:
        out[i] = x[i] - x[size - uint32(1) - i]
        i = uint32(i + step)


@variant("kept_counts")
@cuda.jit
def packed_in_two_words(counts, x, per, n):
    i = cuda.grid(1)
    low = high = uint64(0)
    for s in range(i * per, min(i * per + per, n)):
        v = uint64(x[s])
        if v < uint64(6):
            low += uint64(1) << (uint64(10) * v)
        else:
            high += uint64(1) << (uint64(10) * (v - uint64(6)))
    if i < counts.shape[0]:
        for j in range(6):
            counts[i, j] = (low >> uint64(10 * j)) & uint64(1023)
            counts[i, j + 6] = (high >> uint64(10 * j)) & uint64(1023)


@variant("kept_counts")
@cuda.jit
def comparisons_added(counts, x, per, n):
    i = cuda.grid(1)
    own = cuda.local.array(LEVELS, int32)
    for j in range(LEVELS):
        own[j] = 0
    if i < counts.shape[0]:
        for v in x[i * per : min(i * per + per, n)]:
            for j in range(LEVELS):
                own[j] += v == j
        for j in range(LEVELS):
            counts[i, j] = own[j]


@variant("wide_reads")
@cuda.jit
def tile_of_fours(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE, 4), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, left = cuda.blockIdx.y * TILE + ty, cuda.blockIdx.x * 64
    sums = cuda.local.array(4, float32)
    for q in range(4):
        sums[q] = 0
    for start in range(0, k, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < k else float32(0)
        for q in range(4):
            place = tx + 16 * q
            inside = start + ty < k and left + place < n
            tile_b[ty, place // 4, tx % 4] = b[start + ty, left + place] if inside else float32(0)
        cuda.syncthreads()
        for i in range(TILE):
            for q in range(4):
                sums[q] += tile_a[ty, i] * tile_b[i, tx, q]
        cuda.syncthreads()
    for q in range(4):
        col = left + 4 * tx + q
        if row < m and col < n:
            c[row, col] = sums[q]
