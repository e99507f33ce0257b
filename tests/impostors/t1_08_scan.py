"""Wrong answers to the lab t1_08_scan."""

from __future__ import annotations

import numpy as np
from numba import float32

from tests.impostors import impostor
from warpwise import cuda

# -- make_exclusive ----------------------------------------------------------------------------


@impostor("make_exclusive", diagnosis="wrapped_round")
@cuda.jit
def first_from_the_end(out, scanned, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = scanned[i - 1]


@impostor("make_exclusive", diagnosis="first_left_out")
@cuda.jit
def first_not_stored(out, scanned, n):
    i = cuda.grid(1)
    if 0 < i < n:
        out[i] = scanned[i - 1]


@impostor("make_exclusive", diagnosis="block_by_block")
@cuda.jit
def zero_in_each_block(out, scanned, n):
    i = cuda.grid(1)
    if i < n:
        if cuda.threadIdx.x == 0:
            out[i] = 0
        else:
            out[i] = scanned[i - 1]


@impostor("make_exclusive", diagnosis="input_copied")
@cuda.jit
def still_inclusive(out, scanned, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = scanned[i]


@impostor("make_exclusive", diagnosis="moved_left")
@cuda.jit
def to_the_left(out, scanned, n):
    i = cuda.grid(1)
    if i < n:
        if i == n - 1:
            out[i] = 0
        else:
            out[i] = scanned[i + 1]


@impostor("make_exclusive", diagnosis="all_zero")
@cuda.jit
def zeros(out, scanned, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = 0


@impostor("make_exclusive", diagnosis="out_of_bounds")
@cuda.jit
def no_guard(out, scanned, n):
    i = cuda.grid(1)
    if i == 0:
        out[i] = 0
    else:
        out[i] = scanned[i - 1]


@impostor("make_exclusive", diagnosis="only_first_block")
@cuda.jit
def thread_number_only(out, scanned, n):
    i = cuda.threadIdx.x
    if i < n:
        if i == 0:
            out[i] = 0
        else:
            out[i] = scanned[i - 1]


@impostor("make_exclusive", diagnosis="multiple_of_block_only")
@cuda.jit
def full_blocks_only(out, scanned, n):
    i = cuda.grid(1)
    if (cuda.blockIdx.x + 1) * cuda.blockDim.x <= n:
        if i == 0:
            out[i] = 0
        else:
            out[i] = scanned[i - 1]


@impostor("make_exclusive", diagnosis="reduced_precision")
@cuda.jit
def half_precision(out, scanned, n):
    i = cuda.grid(1)
    if i < n:
        if i == 0:
            out[i] = 0
        else:
            out[i] = np.float16(scanned[i - 1])


# -- scan_adds ---------------------------------------------------------------------------------


def rounds_of(n):
    return (n - 1).bit_length()


@impostor("scan_adds", diagnosis="wrong_values")
def the_examples(n):
    return (17, 14) if n == 8 else (8, 14)


@impostor("scan_adds", diagnosis="formula_of_powers")
def closed_form(n):
    return n * rounds_of(n) - (n - 1), 2 * (2 ** rounds_of(n) - 1)


@impostor("scan_adds", diagnosis="idle_threads_counted")
def every_thread_every_round(n):
    return n * rounds_of(n), 2 * (2 ** rounds_of(n) - 1)


def right_doubling(n):
    return sum(n - 2**k for k in range(rounds_of(n)))


@impostor("scan_adds", diagnosis="not_padded")
def tree_of_any_length(n):
    return right_doubling(n), 2 * (n - 1)


@impostor("scan_adds", diagnosis="formulas_of_powers")
def both_closed_forms(n):
    return n * rounds_of(n) - (n - 1), 2 * (n - 1)


@impostor("scan_adds", diagnosis="one_sweep")
def up_only(n):
    return right_doubling(n), 2 ** rounds_of(n) - 1


@impostor("scan_adds", diagnosis="swapped")
def tree_first(n):
    return 2 * (2 ** rounds_of(n) - 1), right_doubling(n)


@impostor("scan_adds", diagnosis="rounds")
def counts_rounds(n):
    return rounds_of(n), 2 * rounds_of(n)


@impostor("scan_adds", diagnosis="wrong_type")
def true_division(n):
    return right_doubling(n), str(2 * (n - 1))


# -- running_sum -------------------------------------------------------------------------------


@impostor("running_sum", diagnosis="divergent_barrier")
@cuda.jit
def as_given(out, a):
    s = cuda.shared.array(1024, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.syncthreads()
    d = 1
    while d < cuda.blockDim.x:
        if t >= d:
            total = s[t - d] + s[t]
            cuda.syncthreads()
            s[t] = total
        cuda.syncthreads()
        d *= 2
    out[i] = s[t]


@impostor("running_sum", diagnosis="race")
@cuda.jit
def barrier_deleted(out, a):
    s = cuda.shared.array(1024, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.syncthreads()
    d = 1
    while d < cuda.blockDim.x:
        if t >= d:
            total = s[t - d] + s[t]
            s[t] = total
        cuda.syncthreads()
        d *= 2
    out[i] = s[t]


@impostor("running_sum", diagnosis="race")
@cuda.jit
def second_barrier_forgotten(out, a):
    s = cuda.shared.array(1024, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.syncthreads()
    d = 1
    while d < cuda.blockDim.x:
        if t >= d:
            total = s[t - d] + s[t]
        cuda.syncthreads()
        if t >= d:
            s[t] = total
        d *= 2
    out[i] = s[t]


@impostor("running_sum", diagnosis="race")
@cuda.jit
def no_barrier_after_loading(out, a):
    s = cuda.shared.array(1024, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    d = 1
    while d < cuda.blockDim.x:
        if t >= d:
            total = s[t - d] + s[t]
        cuda.syncthreads()
        if t >= d:
            s[t] = total
        cuda.syncthreads()
        d *= 2
    out[i] = s[t]


@impostor("running_sum", diagnosis="race")
@cuda.jit
def warp_barrier_only(out, a):
    s = cuda.shared.array(1024, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.syncthreads()
    d = 1
    while d < cuda.blockDim.x:
        if t >= d:
            total = s[t - d] + s[t]
        cuda.syncwarp()
        if t >= d:
            s[t] = total
        cuda.syncthreads()
        d *= 2
    out[i] = s[t]


@impostor("running_sum", diagnosis="uninitialised")
@cuda.jit
def no_condition(out, a):
    s = cuda.shared.array(1024, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.syncthreads()
    d = 1
    while d < cuda.blockDim.x:
        total = s[t - d] + s[t]
        cuda.syncthreads()
        s[t] = total
        cuda.syncthreads()
        d *= 2
    out[i] = s[t]


@impostor("running_sum", diagnosis="exclusive")
@cuda.jit
def without_its_own(out, a):
    s = cuda.shared.array(1024, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.syncthreads()
    d = 1
    while d < cuda.blockDim.x:
        if t >= d:
            total = s[t - d] + s[t]
        cuda.syncthreads()
        if t >= d:
            s[t] = total
        cuda.syncthreads()
        d *= 2
    out[i] = float32(0)
    if t > 0:
        out[i] = s[t - 1]


@impostor("running_sum", diagnosis="too_many_adds")
@cuda.jit
def each_thread_its_own_loop(out, a):
    s = cuda.shared.array(1024, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.syncthreads()
    total = s[0]
    for k in range(1, t + 1):
        total += s[k]
    out[i] = total


@impostor("running_sum", diagnosis="too_many_barriers")
@cuda.jit
def three_barriers(out, a):
    s = cuda.shared.array(1024, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.syncthreads()
    d = 1
    while d < cuda.blockDim.x:
        cuda.syncthreads()
        if t >= d:
            total = s[t - d] + s[t]
        cuda.syncthreads()
        if t >= d:
            s[t] = total
        cuda.syncthreads()
        d *= 2
    out[i] = s[t]


@impostor("running_sum", diagnosis="only_first_block")
@cuda.jit
def first_part_only(out, a):
    s = cuda.shared.array(1024, float32)
    t = cuda.threadIdx.x
    s[t] = a[t]
    cuda.syncthreads()
    d = 1
    while d < cuda.blockDim.x:
        if t >= d:
            total = s[t - d] + s[t]
        cuda.syncthreads()
        if t >= d:
            s[t] = total
        cuda.syncthreads()
        d *= 2
    if cuda.blockIdx.x == 0:
        out[t] = s[t]


@impostor("running_sum", diagnosis="reduced_precision")
@cuda.jit
def half_sums(out, a):
    s = cuda.shared.array(1024, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.syncthreads()
    d = 1
    while d < cuda.blockDim.x:
        if t >= d:
            total = s[t - d] + s[t]
        cuda.syncthreads()
        if t >= d:
            s[t] = total
        cuda.syncthreads()
        d *= 2
    out[i] = np.float16(s[t])


@impostor("running_sum", diagnosis="input_copied")
@cuda.jit
def copied(out, a):
    i = cuda.grid(1)
    out[i] = a[i]


# -- affine_warps ------------------------------------------------------------------------------


@impostor("affine_warps", diagnosis="operands_swapped")
@cuda.jit
def own_map_first(out_a, out_b, a, b, n):
    i = cuda.grid(1)
    a2, b2 = float32(1), float32(0)
    if i < n:
        a2, b2 = a[i], b[i]
    d = 1
    while d < 32:
        a1 = cuda.shfl_up_sync(0xFFFFFFFF, a2, d)
        b1 = cuda.shfl_up_sync(0xFFFFFFFF, b2, d)
        if cuda.laneid >= d:
            a2, b2 = a1 * a2, a1 * b2 + b1
        d *= 2
    if i < n:
        out_a[i], out_b[i] = a2, b2


@impostor("affine_warps", diagnosis="guard_missing")
@cuda.jit
def no_lane_guard(out_a, out_b, a, b, n):
    i = cuda.grid(1)
    a2, b2 = float32(1), float32(0)
    if i < n:
        a2, b2 = a[i], b[i]
    d = 1
    while d < 32:
        a1 = cuda.shfl_up_sync(0xFFFFFFFF, a2, d)
        b1 = cuda.shfl_up_sync(0xFFFFFFFF, b2, d)
        a2, b2 = a1 * a2, a2 * b1 + b2
        d *= 2
    if i < n:
        out_a[i], out_b[i] = a2, b2


@impostor("affine_warps", diagnosis="a_already_new")
@cuda.jit
def a_before_b(out_a, out_b, a, b, n):
    i = cuda.grid(1)
    a2, b2 = float32(1), float32(0)
    if i < n:
        a2, b2 = a[i], b[i]
    d = 1
    while d < 32:
        a1 = cuda.shfl_up_sync(0xFFFFFFFF, a2, d)
        b1 = cuda.shfl_up_sync(0xFFFFFFFF, b2, d)
        if cuda.laneid >= d:
            a2 = a1 * a2
            b2 = a2 * b1 + b2
        d *= 2
    if i < n:
        out_a[i], out_b[i] = a2, b2


@impostor("affine_warps", diagnosis="b_only_added")
@cuda.jit
def sums_of_b(out_a, out_b, a, b, n):
    i = cuda.grid(1)
    a2, b2 = float32(1), float32(0)
    if i < n:
        a2, b2 = a[i], b[i]
    d = 1
    while d < 32:
        a1 = cuda.shfl_up_sync(0xFFFFFFFF, a2, d)
        b1 = cuda.shfl_up_sync(0xFFFFFFFF, b2, d)
        if cuda.laneid >= d:
            a2, b2 = a1 * a2, b1 + b2
        d *= 2
    if i < n:
        out_a[i], out_b[i] = a2, b2


@impostor("affine_warps", diagnosis="mask_names_absent")
@cuda.jit
def shuffle_behind_the_guard(out_a, out_b, a, b, n):
    i = cuda.grid(1)
    a2, b2 = float32(1), float32(0)
    if i < n:
        a2, b2 = a[i], b[i]
    d = 1
    while d < 32:
        if cuda.laneid >= d:
            a1 = cuda.shfl_up_sync(0xFFFFFFFF, a2, d)
            b1 = cuda.shfl_up_sync(0xFFFFFFFF, b2, d)
            a2, b2 = a1 * a2, a2 * b1 + b2
        d *= 2
    if i < n:
        out_a[i], out_b[i] = a2, b2


@impostor("affine_warps", diagnosis="round_missing")
@cuda.jit
def four_rounds(out_a, out_b, a, b, n):
    i = cuda.grid(1)
    a2, b2 = float32(1), float32(0)
    if i < n:
        a2, b2 = a[i], b[i]
    for d in (1, 2, 4, 8):
        a1 = cuda.shfl_up_sync(0xFFFFFFFF, a2, d)
        b1 = cuda.shfl_up_sync(0xFFFFFFFF, b2, d)
        if cuda.laneid >= d:
            a2, b2 = a1 * a2, a2 * b1 + b2
    if i < n:
        out_a[i], out_b[i] = a2, b2


@impostor("affine_warps", diagnosis="guard_too_strict")
@cuda.jit
def lane_d_left_out(out_a, out_b, a, b, n):
    i = cuda.grid(1)
    a2, b2 = float32(1), float32(0)
    if i < n:
        a2, b2 = a[i], b[i]
    for d in (1, 2, 4, 8, 16):
        a1 = cuda.shfl_up_sync(0xFFFFFFFF, a2, d)
        b1 = cuda.shfl_up_sync(0xFFFFFFFF, b2, d)
        if cuda.laneid > d:
            a2, b2 = a1 * a2, a2 * b1 + b2
    if i < n:
        out_a[i], out_b[i] = a2, b2


@impostor("affine_warps", diagnosis="too_many_barriers")
@cuda.jit
def in_shared_memory(out_a, out_b, a, b, n):
    s_a = cuda.shared.array(1024, float32)
    s_b = cuda.shared.array(1024, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    a2, b2 = float32(1), float32(0)
    if i < n:
        a2, b2 = a[i], b[i]
    s_a[t], s_b[t] = a2, b2
    cuda.syncthreads()
    d = 1
    while d < 32:
        if t % 32 >= d:
            a2, b2 = a2 * s_a[t - d], a2 * s_b[t - d] + b2
        cuda.syncthreads()
        s_a[t], s_b[t] = a2, b2
        cuda.syncthreads()
        d *= 2
    if i < n:
        out_a[i], out_b[i] = a2, b2


@impostor("affine_warps", diagnosis="too_many_sectors")
@cuda.jit
def every_lane_loads_all(out_a, out_b, a, b, n):
    i = cuda.grid(1)
    if i < n:
        a2, b2 = a[i - i % 32], b[i - i % 32]
        for k in range(i - i % 32 + 1, i + 1):
            a2, b2 = a[k] * a2, a[k] * b2 + b[k]
        out_a[i], out_b[i] = a2, b2


@impostor("affine_warps", diagnosis="too_many_instructions")
@cuda.jit
def one_lane_at_a_time(out_a, out_b, a, b, n):
    i = cuda.grid(1)
    a2, b2 = float32(1), float32(0)
    if i < n:
        a2, b2 = a[i], b[i]
    for lane in range(1, 32):
        a1 = cuda.shfl_up_sync(0xFFFFFFFF, a2, 1)
        b1 = cuda.shfl_up_sync(0xFFFFFFFF, b2, 1)
        if cuda.laneid == lane:
            a2, b2 = a1 * a2, a2 * b1 + b2
    if i < n:
        out_a[i], out_b[i] = a2, b2


@impostor("affine_warps", diagnosis="input_copied")
@cuda.jit
def maps_copied(out_a, out_b, a, b, n):
    i = cuda.grid(1)
    if i < n:
        out_a[i], out_b[i] = a[i], b[i]


# -- exclusive_blocks --------------------------------------------------------------------------


@impostor("exclusive_blocks", diagnosis="too_many_barriers")
@cuda.jit
def doubling_in_shared_memory(out, totals, a, n):
    s = cuda.shared.array(1024, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    own = float32(0)
    if i < n:
        own = a[i]
    s[t] = own
    cuda.syncthreads()
    d = 1
    while d < cuda.blockDim.x:
        value = s[t]
        if t >= d:
            value += s[t - d]
        cuda.syncthreads()
        s[t] = value
        cuda.syncthreads()
        d *= 2
    if i < n:
        out[i] = s[t] - own
    if t == cuda.blockDim.x - 1:
        totals[cuda.blockIdx.x] = s[t]


@cuda.jit(device=True)
def scanned_warp(value):
    d = 1
    while d < 32:
        below = cuda.shfl_up_sync(0xFFFFFFFF, value, d)
        if cuda.laneid >= d:
            value += below
        d *= 2
    return value


@cuda.jit(device=True)
def scanned_block(value, sums):
    warp, lane = cuda.threadIdx.x // 32, cuda.laneid
    value = scanned_warp(value)
    if lane == 31:
        sums[warp] = value
    cuda.syncthreads()
    if warp == 0:
        total = sums[lane] if lane < cuda.blockDim.x // 32 else value - value
        sums[lane] = scanned_warp(total)
    cuda.syncthreads()
    if warp > 0:
        value += sums[warp - 1]
    return value


@impostor("exclusive_blocks", diagnosis="inclusive")
@cuda.jit
def with_its_own(out, totals, a, n):
    sums = cuda.shared.array(32, float32)
    i = cuda.grid(1)
    value = a[i] if i < n else float32(0)
    value = scanned_block(value, sums)
    if i < n:
        out[i] = value
    if cuda.threadIdx.x == cuda.blockDim.x - 1:
        totals[cuda.blockIdx.x] = value


@impostor("exclusive_blocks", diagnosis="warps_apart")
@cuda.jit
def warps_not_joined(out, totals, a, n):
    sums = cuda.shared.array(32, float32)
    i = cuda.grid(1)
    own = a[i] if i < n else float32(0)
    value = scanned_warp(own)
    whole = scanned_block(own, sums)
    if i < n:
        out[i] = value - own
    if cuda.threadIdx.x == cuda.blockDim.x - 1:
        totals[cuda.blockIdx.x] = whole


@impostor("exclusive_blocks", diagnosis="total_of_full_blocks_short")
@cuda.jit
def total_is_the_last_exclusive(out, totals, a, n):
    sums = cuda.shared.array(32, float32)
    i = cuda.grid(1)
    own = a[i] if i < n else float32(0)
    value = scanned_block(own, sums) - own
    if i < n:
        out[i] = value
    if cuda.threadIdx.x == cuda.blockDim.x - 1:
        totals[cuda.blockIdx.x] = value


@impostor("exclusive_blocks", diagnosis="own_warp_added")
@cuda.jit
def sums_up_to_the_own(out, totals, a, n):
    sums = cuda.shared.array(32, float32)
    i = cuda.grid(1)
    own = a[i] if i < n else float32(0)
    scanned_block(own, sums)
    value = scanned_warp(own) + sums[cuda.threadIdx.x // 32]
    if i < n:
        out[i] = value - own
    if cuda.threadIdx.x == cuda.blockDim.x - 1:
        totals[cuda.blockIdx.x] = value


@impostor("exclusive_blocks", diagnosis="one_warp_added")
@cuda.jit
def sums_not_scanned(out, totals, a, n):
    sums = cuda.shared.array(32, float32)
    i = cuda.grid(1)
    warp = cuda.threadIdx.x // 32
    own = a[i] if i < n else float32(0)
    value = scanned_warp(own)
    if cuda.laneid == 31:
        sums[warp] = value
    cuda.syncthreads()
    if warp > 0:
        value += sums[warp - 1]
    if i < n:
        out[i] = value - own
    if cuda.threadIdx.x == cuda.blockDim.x - 1:
        totals[cuda.blockIdx.x] = value


@impostor("exclusive_blocks", diagnosis="race")
@cuda.jit
def totals_without_a_barrier(out, totals, a, n):
    sums = cuda.shared.array(32, float32)
    i = cuda.grid(1)
    warp, lane = cuda.threadIdx.x // 32, cuda.laneid
    own = a[i] if i < n else float32(0)
    value = scanned_warp(own)
    if lane == 31:
        sums[warp] = value
    cuda.syncthreads()
    if warp == 0:
        sums[lane] = scanned_warp(sums[lane] if lane < cuda.blockDim.x // 32 else float32(0))
    if warp > 0:
        value += sums[warp - 1]
    if i < n:
        out[i] = value - own
    if cuda.threadIdx.x == cuda.blockDim.x - 1:
        totals[cuda.blockIdx.x] = value


@impostor("exclusive_blocks", diagnosis="uninitialised")
@cuda.jit
def sums_of_absent_warps(out, totals, a, n):
    sums = cuda.shared.array(32, float32)
    i = cuda.grid(1)
    warp, lane = cuda.threadIdx.x // 32, cuda.laneid
    own = a[i] if i < n else float32(0)
    value = scanned_warp(own)
    if lane == 31:
        sums[warp] = value
    cuda.syncthreads()
    if warp == 0:
        sums[lane] = scanned_warp(sums[lane])
    cuda.syncthreads()
    if warp > 0:
        value += sums[warp - 1]
    if i < n:
        out[i] = value - own
    if cuda.threadIdx.x == cuda.blockDim.x - 1:
        totals[cuda.blockIdx.x] = value


@impostor("exclusive_blocks", diagnosis="too_much_shared")
@cuda.jit
def a_whole_kilobyte(out, totals, a, n):
    sums = cuda.shared.array(1024, float32)
    i = cuda.grid(1)
    own = a[i] if i < n else float32(0)
    value = scanned_block(own, sums)
    if i < n:
        out[i] = value - own
    if cuda.threadIdx.x == cuda.blockDim.x - 1:
        totals[cuda.blockIdx.x] = value


@impostor("exclusive_blocks", diagnosis="too_many_sectors")
@cuda.jit
def straight_from_global_memory(out, totals, a, n):
    i, start = cuda.grid(1), cuda.blockIdx.x * cuda.blockDim.x
    total = float32(0)
    for k in range(start, min(i, n)):
        total += a[k]
    if i < n:
        out[i] = total
    if cuda.threadIdx.x == cuda.blockDim.x - 1:
        totals[cuda.blockIdx.x] = total + a[i] if i < n else total


@impostor("exclusive_blocks", diagnosis="uninitialised")
@cuda.jit
def return_before_the_barriers(out, totals, a, n):
    sums = cuda.shared.array(32, float32)
    i = cuda.grid(1)
    if i >= n:
        return
    value = scanned_block(a[i], sums)
    out[i] = value - a[i]
    if i == n - 1 or cuda.threadIdx.x == cuda.blockDim.x - 1:
        totals[cuda.blockIdx.x] = value


@impostor("exclusive_blocks", diagnosis="reduced_precision")
@cuda.jit
def half_scan(out, totals, a, n):
    sums = cuda.shared.array(32, float32)
    i = cuda.grid(1)
    own = a[i] if i < n else float32(0)
    value = scanned_block(own, sums)
    if i < n:
        out[i] = np.float16(value - own)
    if cuda.threadIdx.x == cuda.blockDim.x - 1:
        totals[cuda.blockIdx.x] = value


@impostor("exclusive_blocks", diagnosis="whole_array")
@cuda.jit
def runs_on(out, totals, a, n):
    sums = cuda.shared.array(32, float32)
    i = cuda.grid(1)
    own = a[i] if i < n else float32(0)
    value = scanned_block(own, sums)
    before = float32(0)
    for k in range(cuda.blockIdx.x * cuda.blockDim.x):
        before += a[k]
    if i < n:
        out[i] = before + value - own
    if cuda.threadIdx.x == cuda.blockDim.x - 1:
        totals[cuda.blockIdx.x] = value


@impostor("exclusive_blocks", diagnosis="never_written")
@cuda.jit
def no_totals(out, totals, a, n):
    sums = cuda.shared.array(32, float32)
    i = cuda.grid(1)
    own = a[i] if i < n else float32(0)
    value = scanned_block(own, sums)
    if i < n:
        out[i] = value - own


# -- balances ----------------------------------------------------------------------------------


@cuda.jit(device=True)
def then(a1, b1, a2, b2):
    return a2 * a1, a2 * b1 + b2


@cuda.jit(device=True)
def days_of_warp(a2, b2):
    d = 1
    while d < 32:
        a1 = cuda.shfl_up_sync(0xFFFFFFFF, a2, d)
        b1 = cuda.shfl_up_sync(0xFFFFFFFF, b2, d)
        if cuda.laneid >= d:
            a2, b2 = then(a1, b1, a2, b2)
        d *= 2
    return a2, b2


@cuda.jit(device=True)
def days_of_block(a2, b2, warps):
    warp = cuda.threadIdx.x // 32
    a2, b2 = days_of_warp(a2, b2)
    if cuda.laneid == 31:
        warps[warp, 0], warps[warp, 1] = a2, b2
    cuda.syncthreads()
    a1, b1 = float32(1), float32(0)
    for k in range(warp):
        a1, b1 = then(a1, b1, warps[k, 0], warps[k, 1])
    return then(a1, b1, a2, b2)


@cuda.jit(device=True)
def days_before(block, a2, b2, flag, total, prefix):
    total[block, 0], total[block, 1] = a2, b2
    cuda.threadfence()
    cuda.atomic.exch(flag, block, 1)
    a1, b1 = float32(1), float32(0)
    k = block - 1
    while k >= 0:
        seen = cuda.atomic.add(flag, k, 0)
        cuda.threadfence()
        if seen == 2:
            a1, b1 = then(prefix[k, 0], prefix[k, 1], a1, b1)
            k = -1
        elif seen == 1:
            a1, b1 = then(total[k, 0], total[k, 1], a1, b1)
            k -= 1
    prefix[block, 0], prefix[block, 1] = then(a1, b1, a2, b2)
    cuda.threadfence()
    cuda.atomic.exch(flag, block, 2)
    return a1, b1


@impostor("balances", diagnosis="blocks_apart")
@cuda.jit
def no_look_back(out, a, b, counter, flag, total, prefix, n):
    warps = cuda.shared.array((32, 2), float32)
    i = cuda.grid(1)
    a2, b2 = (a[i], b[i]) if i < n else (float32(1), float32(0))
    a2, b2 = days_of_block(a2, b2, warps)
    if i < n:
        out[i] = b2


@impostor("balances", diagnosis="warps_apart")
@cuda.jit
def warps_alone(out, a, b, counter, flag, total, prefix, n):
    i = cuda.grid(1)
    a2, b2 = (a[i], b[i]) if i < n else (float32(1), float32(0))
    a2, b2 = days_of_warp(a2, b2)
    if i < n:
        out[i] = b2


@impostor("balances", diagnosis="a_ignored")
@cuda.jit
def interest_forgotten(out, a, b, counter, flag, total, prefix, n):
    warps = cuda.shared.array((32, 2), float32)
    before = cuda.shared.array(2, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    b2 = b[i] if i < n else float32(0)
    a2, b2 = days_of_block(float32(1), b2, warps)
    if t == cuda.blockDim.x - 1:
        before[0], before[1] = days_before(cuda.blockIdx.x, a2, b2, flag, total, prefix)
    cuda.syncthreads()
    if i < n:
        out[i] = before[1] + b2


@impostor("balances", diagnosis="look_back_swapped")
@cuda.jit
def found_before_the_block_it_reaches(out, a, b, counter, flag, total, prefix, n):
    warps = cuda.shared.array((32, 2), float32)
    before = cuda.shared.array(2, float32)
    i, t, block = cuda.grid(1), cuda.threadIdx.x, cuda.blockIdx.x
    a2, b2 = (a[i], b[i]) if i < n else (float32(1), float32(0))
    a2, b2 = days_of_block(a2, b2, warps)
    if t == cuda.blockDim.x - 1:
        total[block, 0], total[block, 1] = a2, b2
        cuda.threadfence()
        cuda.atomic.exch(flag, block, 1)
        a1, b1 = float32(1), float32(0)
        for k in range(block - 1, -1, -1):
            while cuda.atomic.add(flag, k, 0) == 0:
                pass
            cuda.threadfence()
            a1, b1 = then(a1, b1, total[k, 0], total[k, 1])
        before[0], before[1] = a1, b1
    cuda.syncthreads()
    if i < n:
        out[i] = a2 * before[1] + b2


@impostor("balances", diagnosis="day_before")
@cuda.jit
def exclusive(out, a, b, counter, flag, total, prefix, n):
    warps = cuda.shared.array((32, 2), float32)
    before = cuda.shared.array(2, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    a2, b2 = (a[i], b[i]) if i < n else (float32(1), float32(0))
    a2, b2 = days_of_block(a2, b2, warps)
    if t == cuda.blockDim.x - 1:
        before[0], before[1] = days_before(cuda.blockIdx.x, a2, b2, flag, total, prefix)
    cuda.syncthreads()
    if i + 1 < n:
        out[i + 1] = a2 * before[1] + b2
    if i == 0 and n > 0:
        out[0] = float32(0)


@impostor("balances", diagnosis="race")
@cuda.jit
def no_fence(out, a, b, counter, flag, total, prefix, n):
    warps = cuda.shared.array((32, 2), float32)
    before = cuda.shared.array(1, float32)
    i, t, block = cuda.grid(1), cuda.threadIdx.x, cuda.blockIdx.x
    a2, b2 = (a[i], b[i]) if i < n else (float32(1), float32(0))
    a2, b2 = days_of_block(a2, b2, warps)
    if t == cuda.blockDim.x - 1:
        x = float32(0)
        if block > 0:
            while cuda.atomic.add(flag, block - 1, 0) == 0:
                pass
            x = prefix[block - 1, 1]
        prefix[block, 1] = a2 * x + b2
        cuda.atomic.exch(flag, block, 1)
        before[0] = x
    cuda.syncthreads()
    if i < n:
        out[i] = a2 * before[0] + b2


@impostor("balances", diagnosis="race")
@cuda.jit
def barrier_before_the_end_missing(out, a, b, counter, flag, total, prefix, n):
    warps = cuda.shared.array((32, 2), float32)
    before = cuda.shared.array(2, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    a2, b2 = (a[i], b[i]) if i < n else (float32(1), float32(0))
    a2, b2 = days_of_block(a2, b2, warps)
    if t == cuda.blockDim.x - 1:
        before[0], before[1] = days_before(cuda.blockIdx.x, a2, b2, flag, total, prefix)
    if i < n:
        out[i] = a2 * before[1] + b2


@impostor("balances", diagnosis="reduced_precision")
@cuda.jit
def half_balances(out, a, b, counter, flag, total, prefix, n):
    warps = cuda.shared.array((32, 2), float32)
    before = cuda.shared.array(2, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    a2, b2 = (a[i], b[i]) if i < n else (float32(1), float32(0))
    a2, b2 = days_of_block(a2, b2, warps)
    if t == cuda.blockDim.x - 1:
        before[0], before[1] = days_before(cuda.blockIdx.x, a2, b2, flag, total, prefix)
    cuda.syncthreads()
    if i < n:
        out[i] = np.float16(a2 * before[1] + b2)


@impostor("balances", diagnosis="too_many_sectors")
@cuda.jit
def every_thread_from_the_first_day(out, a, b, counter, flag, total, prefix, n):
    i = cuda.grid(1)
    if i < n:
        x = float32(0)
        for k in range(i + 1):
            x = a[k] * x + b[k]
        out[i] = x


@impostor("balances", diagnosis="all_zero")
@cuda.jit
def empty_account(out, a, b, counter, flag, total, prefix, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = 0


@impostor("balances", diagnosis="operands_swapped")
@cuda.jit
def later_days_first(out, a, b, counter, flag, total, prefix, n):
    i = cuda.grid(1)
    if i < n:
        a1, b1 = a[0], b[0]
        for k in range(1, i + 1):
            a1, b1 = a1 * a[k], a1 * b[k] + b1
        out[i] = b1
