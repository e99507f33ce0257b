"""Unusual but right answers to the lab t1_07_reduction."""

from __future__ import annotations

import numpy as np

from tests.variants import variant
from warpwise import cuda


@variant("warp_sum")
@cuda.jit
def butterfly(result, values, count):
    i = cuda.grid(1)
    v = np.float32(0)
    if i < count:
        v = values[i]
    step = 16
    while step > 0:
        v = cuda.shfl_xor_sync(-1, v, step) + v
        step >>= 1
    if cuda.laneid == 0:
        result[i >> 5] = v


@variant("warp_sum")
@cuda.jit
def unrolled(out, x, n):
    i = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    if i < n:
        v = x[i]
    else:
        v = np.float32(0)
    v += cuda.shfl_down_sync(0xFFFFFFFF, v, 16)
    v += cuda.shfl_down_sync(0xFFFFFFFF, v, 8)
    v += cuda.shfl_down_sync(0xFFFFFFFF, v, 4)
    v += cuda.shfl_down_sync(0xFFFFFFFF, v, 2)
    v += cuda.shfl_down_sync(0xFFFFFFFF, v, 1)
    if cuda.threadIdx.x & 31 == 0:
        out[i // 32] = v


@variant("tree_bill")
def closed_form(threads):
    rounds = int(np.log2(threads))
    in_one_warp = min(rounds, 6)
    return rounds + 1, rounds * threads - threads + 1, in_one_warp + max(threads // 32 - 2, 0)


@variant("tree_bill")
def over_a_list(threads):
    busy = []
    while threads > 1:
        threads //= 2
        busy.append(threads)
    whole = 2 * busy[0]
    return len(busy) + 1, sum(whole - b for b in busy), sum(int(np.ceil(b / 32)) for b in busy)


@variant("tree_sum")
@cuda.jit
def own_value_in_a_register(partial, x, n):
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * cuda.blockDim.x + t
    v = np.float32(0)
    if i < n:
        v = x[i]
    s[t] = v
    width = cuda.blockDim.x
    while width > 1:
        cuda.syncthreads()
        width >>= 1
        if t < width:
            v = s[t + width] + v
            s[t] = v
    if t == 0:
        partial[cuda.blockIdx.x] = v


@variant("tree_sum")
@cuda.jit
def last_rounds_by_shuffle(partial, x, n):
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < n else np.float32(0)
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride >= 32:
        if t < stride:
            s[t] = s[t] + s[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t < 32:
        v = s[t]
        for step in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        if t == 0:
            partial[cuda.blockIdx.x] = v


@variant("tree_sum")
@cuda.jit
def from_the_top_end(partial, x, n):
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    top = cuda.blockDim.x - 1
    s[t] = x[i] if i < n else np.float32(0)
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if t > top - stride:
            s[t] += s[t - stride]
        cuda.syncthreads()
        stride //= 2
    if t == top:
        partial[cuda.blockIdx.x] = s[top]


@variant("last_warp")
@cuda.jit
def syncwarp_on_both_sides(partial, x, n):
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < n else np.float32(0)
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 32:
        if t < stride:
            s[t] += s[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t < 32:
        v = s[t] + s[t + 32]
        for step in (16, 8, 4, 2, 1):
            s[t] = v
            cuda.syncwarp()
            v += s[t + step]
            cuda.syncwarp()
        if t == 0:
            partial[cuda.blockIdx.x] = v


@variant("last_warp")
@cuda.jit
def only_the_busy_lanes(partial, x, n):
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < n else np.float32(0)
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 32:
        if t < stride:
            s[t] += s[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t >= 32:
        return
    v = s[t] + s[t + 32]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_xor_sync(0xFFFFFFFF, v, step)
    if t == 0:
        partial[cuda.blockIdx.x] = v


@cuda.jit(device=True)
def sum_of_warp(v):
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    return v


@variant("grid_sum")
@cuda.jit
def with_a_device_function(partial, x, n):
    sums = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    v = np.float32(0)
    i = cuda.grid(1)
    while i < n:
        v += x[i]
        i += cuda.gridsize(1)
    v = sum_of_warp(v)
    warp, lane = t // 32, t % 32
    if lane == 0:
        sums[warp] = v
    cuda.syncthreads()
    if warp > 0:
        return
    v = sum_of_warp(sums[lane] if lane * 32 < cuda.blockDim.x else np.float32(0))
    if lane == 0:
        partial[cuda.blockIdx.x] = v


@variant("grid_sum")
@cuda.jit
def two_elements_a_turn(partial, x, n):
    sums = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    step = cuda.gridsize(1)
    v = np.float32(0)
    for i in range(cuda.grid(1), n, 2 * step):
        v += x[i]
        if i + step < n:
            v += x[i + step]
    for d in range(5):
        v += cuda.shfl_xor_sync(0xFFFFFFFF, v, 16 >> d)
    if t % 32 == 5:
        sums[t // 32] = v
    cuda.syncthreads()
    if t < 32:
        w = np.float32(0)
        if t < cuda.blockDim.x // 32:
            w = sums[t]
        for d in range(5):
            w += cuda.shfl_xor_sync(0xFFFFFFFF, w, 16 >> d)
        if t == 31:
            partial[cuda.blockIdx.x] = w


@variant("max_where")
@cuda.jit
def last_warp_chooses(best, where, x, n):
    values = cuda.shared.array(32, np.float32)
    places = cuda.shared.array(32, np.int32)
    t = cuda.threadIdx.x
    lane, warp = t % 32, t // 32
    warps = cuda.blockDim.x // 32
    v = np.float32(-np.inf)
    at = n
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        value = x[i]
        if value > v:
            v, at = value, i
    for step in (1, 2, 4, 8, 16):
        other = cuda.shfl_xor_sync(0xFFFFFFFF, v, step)
        place = cuda.shfl_xor_sync(0xFFFFFFFF, at, step)
        if other > v or (other == v and place < at):
            v, at = other, place
    if lane == 0:
        values[warp] = v
        places[warp] = at
    cuda.syncthreads()
    if warp == warps - 1:
        v = values[lane] if lane < warps else np.float32(-np.inf)
        at = np.int64(places[lane]) if lane < warps else n
        for step in (1, 2, 4, 8, 16):
            other = cuda.shfl_xor_sync(0xFFFFFFFF, v, step)
            place = cuda.shfl_xor_sync(0xFFFFFFFF, at, step)
            if other > v or (other == v and place < at):
                v, at = other, place
        if lane == 3:
            best[cuda.blockIdx.x] = v
            where[cuda.blockIdx.x] = at


@variant("max_where")
@cuda.jit
def while_and_pairs(best, where, x, n):
    values = cuda.shared.array(32, np.float32)
    places = cuda.shared.array(32, np.int64)
    t = cuda.threadIdx.x
    v, at = np.float32(-np.inf), n
    i = cuda.grid(1)
    while i < n:
        here = x[i]
        v, at = (here, i) if here > v else (v, at)
        i += cuda.gridsize(1)
    for step in (1, 2, 4, 8, 16):
        other = cuda.shfl_xor_sync(0xFFFFFFFF, v, step)
        place = cuda.shfl_xor_sync(0xFFFFFFFF, at, step)
        if v < other or (v == other and at > place):
            v, at = other, place
    if t % 32 == 0:
        values[t // 32] = v
        places[t // 32] = at
    cuda.syncthreads()
    if t == 0:
        for warp in range(1, cuda.blockDim.x // 32):
            if values[warp] > v or (values[warp] == v and places[warp] < at):
                v, at = values[warp], places[warp]
        best[cuda.blockIdx.x] = v
        where[cuda.blockIdx.x] = at
