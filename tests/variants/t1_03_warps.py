"""Unusual but right answers to the lab t1_03_warps."""

from __future__ import annotations

import numpy as np

from tests.variants import variant
from warpwise import cuda

ALL = 0xFFFFFFFF


@variant("lane_and_warp")
@cuda.jit
def hardware_lane(lane, warp):
    x, y = cuda.grid(2)
    lane[y, x] = cuda.laneid
    warp[y, x] = (cuda.threadIdx.y * cuda.blockDim.x + cuda.threadIdx.x) >> 5


@variant("lane_and_warp")
@cuda.jit
def bits_and_explicit_place(lanes, warps):
    t = cuda.threadIdx.x + cuda.blockDim.x * cuda.threadIdx.y
    column = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    row = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    lanes[row, column] = t & 31
    warps[row, column] = (t - (t & 31)) / 32


@variant("branch_slots")
def counted_with_loops():
    slots = 0
    for block in range(2):
        for first in range(0, 80, 32):
            warp = [80 * block + t for t in range(first, min(first + 32, 80))]
            slots += 1
            if any(i < 100 for i in warp):
                slots += 4
            turns = [i % 8 for i in warp if i >= 100]
            if turns:
                slots += 3 + 2 * max(turns)
    return slots


@variant("branch_slots")
def the_number():
    return np.int64(73)


@variant("settle_particles")
@cuda.jit
def a_pair_for_each_thread(out, a, rate, steps, n):
    i = 2 * cuda.grid(1)
    if i < n:
        v = a[i]
        for _ in range(steps):
            v = v - rate * v
        out[i] = v
    if i + 1 < n:
        v = a[i + 1]
        for _ in range(steps):
            v = v + rate * (1 - v)
        out[i + 1] = v


@variant("settle_particles")
@cuda.jit
def first_half_and_second_half(out, a, rate, steps, n):
    i = cuda.grid(1)
    half = (n + 1) // 2
    if i < half:
        v = a[2 * i]
        for _ in range(steps):
            v -= rate * v
        out[2 * i] = v
    elif 2 * (i - half) + 1 < n:
        p = 2 * (i - half) + 1
        v = a[p]
        for _ in range(steps):
            v += rate * (1 - v)
        out[p] = v


@variant("settle_particles")
@cuda.jit
def early_return_and_powers(out, a, rate, steps, n):
    warp, lane = cuda.grid(1) >> 5, cuda.grid(1) & 31
    p = ((warp >> 1) << 6) + (lane << 1) + (warp & 1)
    if p >= n:
        return
    keep = (1 - rate) ** steps
    if warp & 1:
        out[p] = 1 - (1 - a[p]) * keep
    else:
        out[p] = a[p] * keep


@variant("settle_particles")
@cuda.jit
def one_formula_for_both_kinds(out, a, rate, steps, n):
    i = cuda.grid(1)
    if i < n:
        v = a[i]
        for _ in range(steps):
            v += rate * (i % 2 - v)
        out[i] = v


@variant("pack_positive")
@cuda.jit
def own_element_read_twice(out, count, a, n):
    i = cuda.grid(1)
    keep = i < n and a[i] > 0
    bits = cuda.ballot_sync(ALL, keep)
    if keep:
        out[i - i % 32 + cuda.popc(bits & ((1 << (i % 32)) - 1))] = a[i]
    if i % 32 == 0 and i < n:
        count[i // 32] = cuda.popc(bits)


@variant("pack_positive")
@cuda.jit
def lanes_without_an_element_leave(out, count, a, n):
    i = cuda.grid(1)
    if i >= n:  # a vote asks those that are still there
        return
    v = a[i]
    bits = cuda.ballot_sync(ALL, v > 0)
    if v > 0:
        out[i - i % 32 + cuda.popc(bits & ((1 << (i % 32)) - 1))] = v
    if i % 32 == 0:
        count[i // 32] = cuda.popc(bits)


@variant("pack_positive")
@cuda.jit
def scan_by_shuffles(out, count, a, n):
    i = cuda.grid(1)
    lane = i % 32
    v = a[i] if i < n else np.float32(-1)
    mine = 1 if v > 0 else 0
    upto = mine
    for step in (1, 2, 4, 8, 16):
        below = cuda.shfl_up_sync(ALL, upto, step)
        if lane >= step:
            upto += below
    if mine:
        out[i - lane + upto - 1] = v
    if i < n and (lane == 31 or i == n - 1):
        count[i // 32] = upto


@variant("pack_positive")
@cuda.jit
def lane_mask_of_the_hardware(out, count, a, n):
    i = cuda.grid(1)
    keeps = False
    if i < n:
        v = a[i]
        keeps = v > 0
    bits = cuda.ballot_sync(ALL, keeps)
    if i < n:
        below = cuda.popc(bits & cuda.lanemask_lt())
        if keeps:
            out[32 * (i // 32) + below] = v
        if cuda.laneid == 0:
            count[i // 32] = cuda.popc(bits)


@variant("pack_positive")
@cuda.jit
def shifted_ballot(out, count, a, n):
    i = cuda.grid(1)
    lane = i & 31
    v = np.float32(-1)
    if i < n:
        v = a[i]
    bits = np.uint32(cuda.ballot_sync(ALL, v > 0))
    if v > 0:
        place = 0
        if lane > 0:
            place = cuda.popc(np.uint32(bits << np.uint32(32 - lane)))
        out[i - lane + place] = v
    if lane == 0 and i < n:
        count[i >> 5] = cuda.popc(bits)


@variant("mend_warp_sum")
@cuda.jit
def butterfly(out, a, n):
    i = cuda.grid(1)
    v = a[i] if i < n else np.float32(0)
    step = 16
    while step > 0:
        v += cuda.shfl_xor_sync(ALL, v, step)
        step //= 2
    if i < n and cuda.laneid == 0:
        out[i // 32] = v


@variant("mend_warp_sum")
@cuda.jit
def unrolled_with_source_lanes(out, a, n):
    i = cuda.grid(1)
    lane = i % 32
    v = np.float32(0)
    if i < n:
        v = a[i]
    v = v + cuda.shfl_sync(ALL, v, lane + 16)
    v = v + cuda.shfl_sync(ALL, v, lane + 8)
    v = v + cuda.shfl_sync(ALL, v, lane + 4)
    v = v + cuda.shfl_sync(ALL, v, lane + 2)
    v = v + cuda.shfl_sync(ALL, v, lane + 1)
    if lane == 0 and i < n:
        out[i // 32] = v


@variant("mend_warp_sum")
@cuda.jit
def whole_warps_leave_together(out, a, n):
    i = cuda.grid(1)
    if i - i % 32 >= n:
        return
    v = np.float32(0)
    if i < n:
        v = a[i]
    for power in range(4, -1, -1):
        v += cuda.shfl_down_sync(ALL, v, 1 << power)
    if i % 32 == 0:
        out[i // 32] = v


@variant("warp_argmax")
@cuda.jit
def value_and_place_travel_together(best, place, a, n):
    i = cuda.grid(1)
    top = a[i] if i < n else np.float32(-np.inf)
    at = i
    for step in (16, 8, 4, 2, 1):
        other = cuda.shfl_down_sync(ALL, top, step)
        there = cuda.shfl_down_sync(ALL, at, step)
        if other > top or (other == top and there < at):
            top, at = other, there
    if i % 32 == 0 and i < n:
        best[i // 32] = top
        place[i // 32] = at


@variant("warp_argmax")
@cuda.jit
def the_holder_stores(best, place, a, n):
    i = cuda.grid(1)
    v = np.float32(-np.inf)
    if i < n:
        v = a[i]
    top = v
    step = 1
    while step < 32:
        top = max(cuda.shfl_xor_sync(ALL, top, step), top)
        step *= 2
    holders = cuda.ballot_sync(ALL, v == top)
    if v == top and holders & ((1 << (i % 32)) - 1) == 0 and i < n:
        best[i // 32] = v
        place[i // 32] = i


@variant("warp_argmax")
@cuda.jit
def down_and_broadcast(best, place, a, n):
    i = cuda.grid(1)
    v = a[i] if i < n else np.float32(-np.inf)
    top = v
    for step in (16, 8, 4, 2, 1):
        top = max(top, cuda.shfl_down_sync(ALL, top, step))
    top = cuda.shfl_sync(ALL, top, 0)
    holders = cuda.ballot_sync(ALL, v == top)
    if cuda.laneid == 0 and i < n:
        best[i // 32] = top
        place[i // 32] = i + cuda.ffs(holders) - 1


@variant("warp_argmax")
@cuda.jit
def each_lane_with_the_lanes_above_it(best, place, a, n):
    i = cuda.grid(1)
    v = np.float32(-np.inf)
    if i < n:
        v = a[i]
    top = v
    for step in (16, 8, 4, 2, 1):
        top = max(top, cuda.shfl_down_sync(ALL, top, step))
    holders = cuda.ballot_sync(ALL, v == top)  # the lowest is the first maximum of the warp
    if i % 32 == 0 and i < n:
        best[i // 32] = top
        place[i // 32] = i + cuda.ffs(holders) - 1
