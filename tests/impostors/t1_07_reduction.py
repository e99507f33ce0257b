"""Wrong answers to the lab t1_07_reduction."""

from __future__ import annotations

import numpy as np

from tests.impostors import impostor
from warpwise import cuda

# -- warp_sum ----------------------------------------------------------------------------------


@impostor("warp_sum", diagnosis="all_zero")
@cuda.jit
def zeros(out, x, n):
    i = cuda.grid(1)
    if i % 32 == 0:
        out[i // 32] = 0.0


@impostor("warp_sum", diagnosis="first_value")
@cuda.jit
def no_addition(out, x, n):
    i = cuda.grid(1)
    if i % 32 == 0:
        out[i // 32] = x[i] if i < n else np.float32(0)


@impostor("warp_sum", diagnosis="one_round_short")
@cuda.jit
def four_shuffles(out, x, n):
    i = cuda.grid(1)
    v = x[i] if i < n else np.float32(0)
    for step in (16, 8, 4, 2):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if i % 32 == 0:
        out[i // 32] = v


@impostor("warp_sum", diagnosis="one_round_missing_at_the_start")
@cuda.jit
def starts_at_eight(out, x, n):
    i = cuda.grid(1)
    v = x[i] if i < n else np.float32(0)
    for step in (8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if i % 32 == 0:
        out[i // 32] = v


@impostor("warp_sum", diagnosis="neighbours_first")
@cuda.jit
def from_one_to_sixteen(out, x, n):
    i = cuda.grid(1)
    v = x[i] if i < n else np.float32(0)
    for step in (1, 2, 4, 8, 16):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if i % 32 == 0:
        out[i // 32] = v


@impostor("warp_sum", diagnosis="running_sum")
@cuda.jit
def lane_zero_alone(out, x, n):
    i = cuda.grid(1)
    if i % 32 == 0:
        v = np.float32(0)
        for k in range(i, min(i + 32, n)):
            v += x[k]
        out[i // 32] = v


@impostor("warp_sum", diagnosis="float64_sum")
@cuda.jit
def in_float64(out, x, n):
    i = cuda.grid(1)
    v = 0.0
    if i < n:
        v += x[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if i % 32 == 0:
        out[i // 32] = v


@impostor("warp_sum", diagnosis="through_float16")
@cuda.jit
def half_precision(out, x, n):
    i = cuda.grid(1)
    v = np.float32(np.float16(x[i])) if i < n else np.float32(0)
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if i % 32 == 0:
        out[i // 32] = v


@impostor("warp_sum", diagnosis="last_lane")
@cuda.jit
def stored_by_lane_31(out, x, n):
    i = cuda.grid(1)
    v = x[i] if i < n else np.float32(0)
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if i % 32 == 31:
        out[i // 32] = v


@impostor("warp_sum", diagnosis="first_warps_only")
@cuda.jit
def one_result_a_block(out, x, n):
    i = cuda.grid(1)
    v = x[i] if i < n else np.float32(0)
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if cuda.threadIdx.x == 0:
        out[cuda.blockIdx.x] = v


@impostor("warp_sum", diagnosis="out_of_bounds")
@cuda.jit
def no_guard(out, x, n):
    i = cuda.grid(1)
    v = x[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if i % 32 == 0:
        out[i // 32] = v


@impostor("warp_sum", diagnosis="written_more_than_once")
@cuda.jit
def every_lane_stores(out, x, n):
    i = cuda.grid(1)
    v = x[i] if i < n else np.float32(0)
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_xor_sync(0xFFFFFFFF, v, step)
    out[i // 32] = v


@impostor("warp_sum", diagnosis="too_much_shared")
@cuda.jit
def tree_in_shared_memory(out, x, n):
    s = cuda.shared.array(1024, np.float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    s[t] = x[i] if i < n else np.float32(0)
    cuda.syncthreads()
    stride = 16
    while stride > 0:
        if t % 32 < stride:
            s[t] += s[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t % 32 == 0:
        out[i // 32] = s[t]


# -- tree_bill ---------------------------------------------------------------------------------


@impostor("tree_bill", diagnosis="first_barrier_forgotten")
def one_barrier_a_round(threads):
    rounds = threads.bit_length() - 1
    return (
        rounds,
        rounds * threads - (threads - 1),
        sum(((threads >> k) + 31) // 32 for k in range(1, rounds + 1)),
    )


@impostor("tree_bill", diagnosis="one_barrier_too_many")
def a_barrier_at_the_end(threads):
    rounds = threads.bit_length() - 1
    return (
        rounds + 2,
        rounds * threads - (threads - 1),
        sum(((threads >> k) + 31) // 32 for k in range(1, rounds + 1)),
    )


@impostor("tree_bill", diagnosis="adds_for_idle")
def additions(threads):
    rounds = threads.bit_length() - 1
    return rounds + 1, threads - 1, sum(((threads >> k) + 31) // 32 for k in range(1, rounds + 1))


@impostor("tree_bill", diagnosis="all_warps")
def the_bill_of_version_1(threads):
    rounds = threads.bit_length() - 1
    warps = (threads + 31) // 32
    return (
        rounds + 1,
        rounds * threads - (threads - 1),
        sum(min(threads >> k, warps) for k in range(1, rounds + 1)),
    )


@impostor("tree_bill", diagnosis="filling_counted")
def filling_is_a_round(threads):
    rounds = threads.bit_length() - 1
    return (
        rounds + 1,
        rounds * threads - (threads - 1),
        sum(((threads >> k) + 31) // 32 for k in range(rounds + 1)),
    )


@impostor("tree_bill", diagnosis="rounded_down")
def whole_warps_only(threads):
    rounds = threads.bit_length() - 1
    return (
        rounds + 1,
        rounds * threads - (threads - 1),
        sum((threads >> k) // 32 for k in range(1, rounds + 1)),
    )


@impostor("tree_bill", diagnosis="constant_output")
def constant_of_the_example(threads):
    return 7, 321, 6


# -- tree_sum ----------------------------------------------------------------------------------


@impostor("tree_sum", diagnosis="neighbours_first")
@cuda.jit
def version_1(partial, x, n):
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < n else np.float32(0)
    cuda.syncthreads()
    stride = 1
    while stride < cuda.blockDim.x:
        if t % (2 * stride) == 0:
            s[t] += s[t + stride]
        cuda.syncthreads()
        stride *= 2
    if t == 0:
        partial[cuda.blockIdx.x] = s[0]


@impostor("tree_sum", diagnosis="neighbours_first")
@cuda.jit
def version_2(partial, x, n):
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < n else np.float32(0)
    cuda.syncthreads()
    stride = 1
    while stride < cuda.blockDim.x:
        j = 2 * stride * t
        if j < cuda.blockDim.x:
            s[j] += s[j + stride]
        cuda.syncthreads()
        stride *= 2
    if t == 0:
        partial[cuda.blockIdx.x] = s[0]


@impostor("tree_sum", diagnosis="running_sum")
@cuda.jit
def one_thread_adds_all(partial, x, n):
    if cuda.threadIdx.x == 0:
        first = cuda.blockIdx.x * cuda.blockDim.x
        v = np.float32(0)
        for i in range(first, min(first + cuda.blockDim.x, n)):
            v += x[i]
        partial[cuda.blockIdx.x] = v


@impostor("tree_sum", diagnosis="race")
@cuda.jit
def barrier_before_the_rounds_only(partial, x, n):
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < n else np.float32(0)
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if t < stride:
            s[t] += s[t + stride]
        stride //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = s[0]


@impostor("tree_sum", diagnosis="race")
@cuda.jit
def no_barrier_after_filling(partial, x, n):
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < n else np.float32(0)
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if t < stride:
            s[t] += s[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = s[0]


@impostor("tree_sum", diagnosis="divergent_barrier")
@cuda.jit
def barrier_inside_the_if(partial, x, n):
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < n else np.float32(0)
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if t < stride:
            s[t] += s[t + stride]
            cuda.syncthreads()
        stride //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = s[0]


@impostor("tree_sum", diagnosis="uninitialised")
@cuda.jit
def no_zero_for_the_rest(partial, x, n):
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < n:
        s[t] = x[i]
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if t < stride:
            s[t] += s[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = s[0]


@impostor("tree_sum", diagnosis="one_round_short")
@cuda.jit
def stops_at_two(partial, x, n):
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < n else np.float32(0)
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 1:
        if t < stride:
            s[t] += s[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = s[0]


@impostor("tree_sum", diagnosis="first_block_only")
@cuda.jit
def block_forgotten_in_the_load(partial, x, n):
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    s[t] = x[t] if t < n else np.float32(0)
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if t < stride:
            s[t] += s[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = s[0]


@impostor("tree_sum", diagnosis="rest_left_out")
@cuda.jit
def full_blocks_only(partial, x, n):
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    full = (cuda.blockIdx.x + 1) * cuda.blockDim.x <= n
    s[t] = x[i] if full else np.float32(0)
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if t < stride:
            s[t] += s[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = s[0]


@impostor("tree_sum", diagnosis="through_float16")
@cuda.jit
def loads_half_precision(partial, x, n):
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = np.float32(np.float16(x[i])) if i < n else np.float32(0)
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if t < stride:
            s[t] += s[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = s[0]


@impostor("tree_sum", diagnosis="float64_arithmetic")
@cuda.jit
def float64_on_the_way(partial, x, n):
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < n else np.float32(0)
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if t < stride:
            s[t] = 1.0 * s[t] + s[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = s[0]


@impostor("tree_sum", diagnosis="too_many_barriers")
@cuda.jit
def two_barriers_a_round(partial, x, n):
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < n else np.float32(0)
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        v = s[t]
        if t < stride:
            v += s[t + stride]
        cuda.syncthreads()
        s[t] = v
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = s[0]


@impostor("tree_sum", diagnosis="reduced_precision")
@cuda.jit
def shuffles_of_neighbours_then_halves(partial, x, n):
    s = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    v = x[i] if i < n else np.float32(0)
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if t % 32 == 0:
        s[t // 32] = v
    cuda.syncthreads()
    if t < 32:
        v = s[t] if t < cuda.blockDim.x // 32 else np.float32(0)
        for step in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        if t == 0:
            partial[cuda.blockIdx.x] = v


# -- last_warp ---------------------------------------------------------------------------------


@impostor("last_warp", diagnosis="race")
@cuda.jit
def unchanged(partial, x, n):
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < n else np.float32(0)
    stride = cuda.blockDim.x // 2
    while stride > 32:
        cuda.syncthreads()
        if t < stride:
            s[t] += s[t + stride]
        stride //= 2
    if t < 32:
        s[t] += s[t + 32]
        s[t] += s[t + 16]
        s[t] += s[t + 8]
        s[t] += s[t + 4]
        s[t] += s[t + 2]
        s[t] += s[t + 1]
    if t == 0:
        partial[cuda.blockIdx.x] = s[0]


@impostor("last_warp", diagnosis="race")
@cuda.jit
def only_the_block_mended(partial, x, n):
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
        s[t] += s[t + 32]
        s[t] += s[t + 16]
        s[t] += s[t + 8]
        s[t] += s[t + 4]
        s[t] += s[t + 2]
        s[t] += s[t + 1]
    if t == 0:
        partial[cuda.blockIdx.x] = s[0]


@impostor("last_warp", diagnosis="race")
@cuda.jit
def syncwarp_without_a_variable(partial, x, n):
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
        stride = 32
        while stride > 0:
            s[t] += s[t + stride]
            cuda.syncwarp()
            stride //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = s[0]


@impostor("last_warp", diagnosis="race")
@cuda.jit
def only_the_warp_mended(partial, x, n):
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < n else np.float32(0)
    stride = cuda.blockDim.x // 2
    while stride > 32:
        cuda.syncthreads()
        if t < stride:
            s[t] += s[t + stride]
        stride //= 2
    if t < 32:
        v = s[t] + s[t + 32]
        for step in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        if t == 0:
            partial[cuda.blockIdx.x] = v


@impostor("last_warp", diagnosis="divergent_barrier")
@cuda.jit
def block_barrier_in_the_warp(partial, x, n):
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
        while stride > 0:
            if t < stride:
                s[t] += s[t + stride]
            cuda.syncthreads()
            stride //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = s[0]


@impostor("last_warp", diagnosis="too_many_barriers")
@cuda.jit
def the_tree_of_the_exercise_before(partial, x, n):
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < n else np.float32(0)
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if t < stride:
            s[t] += s[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = s[0]


@impostor("last_warp", diagnosis="stride_32_missing")
@cuda.jit
def stride_32_left_out(partial, x, n):
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
        v = s[t]
        for step in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        if t == 0:
            partial[cuda.blockIdx.x] = v


@impostor("last_warp", diagnosis="too_many_instructions")
@cuda.jit
def all_warps_in_the_last_rounds(partial, x, n):
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
    while stride > 0:
        if t < stride:
            s[t] += s[t + stride]
        cuda.syncwarp()
        stride //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = s[0]


@impostor("tree_sum", diagnosis="never_written")
@cuda.jit
def threads_without_an_element_leave(partial, x, n):
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i >= n:
        return
    s[t] = x[i]
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if t < stride and i + stride < n:
            s[t] += s[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = s[0]


@impostor("warp_sum", diagnosis="mask_names_absent")
@cuda.jit
def shuffles_behind_the_guard(out, x, n):
    i = cuda.grid(1)
    if i < n:
        v = x[i]
        for step in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        if i % 32 == 0:
            out[i // 32] = v


# -- grid_sum ----------------------------------------------------------------------------------


@impostor("grid_sum", diagnosis="one_element_each")
@cuda.jit
def no_loop(partial, x, n):
    sums = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    v = x[i] if i < n else np.float32(0)
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if t % 32 == 0:
        sums[t // 32] = v
    cuda.syncthreads()
    if t < 32:
        v = sums[t] if t < cuda.blockDim.x // 32 else np.float32(0)
        for step in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        if t == 0:
            partial[cuda.blockIdx.x] = v


@impostor("grid_sum", diagnosis="whole_turns_only")
@cuda.jit
def full_turns(partial, x, n):
    sums = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    size = cuda.gridsize(1)
    v = np.float32(0)
    for turn in range(n // size):
        v += x[turn * size + cuda.grid(1)]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if t % 32 == 0:
        sums[t // 32] = v
    cuda.syncthreads()
    if t < 32:
        v = sums[t] if t < cuda.blockDim.x // 32 else np.float32(0)
        for step in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        if t == 0:
            partial[cuda.blockIdx.x] = v


@impostor("grid_sum", diagnosis="first_warp_only")
@cuda.jit
def other_warps_forgotten(partial, x, n):
    v = np.float32(0)
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        v += x[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if cuda.threadIdx.x == 0:
        partial[cuda.blockIdx.x] = v


@impostor("grid_sum", diagnosis="warps_one_by_one")
@cuda.jit
def thread_zero_adds_the_warps(partial, x, n):
    sums = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    v = np.float32(0)
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        v += x[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if t % 32 == 0:
        sums[t // 32] = v
    cuda.syncthreads()
    if t == 0:
        v = np.float32(0)
        for warp in range(cuda.blockDim.x // 32):
            v += sums[warp]
        partial[cuda.blockIdx.x] = v


@impostor("grid_sum", diagnosis="race")
@cuda.jit
def barrier_forgotten(partial, x, n):
    sums = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    v = np.float32(0)
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        v += x[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if t % 32 == 0:
        sums[t // 32] = v
    if t < 32:
        v = sums[t] if t < cuda.blockDim.x // 32 else np.float32(0)
        for step in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        if t == 0:
            partial[cuda.blockIdx.x] = v


@impostor("grid_sum", diagnosis="uninitialised")
@cuda.jit
def lanes_without_a_warp(partial, x, n):
    sums = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    v = np.float32(0)
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        v += x[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if t % 32 == 0:
        sums[t // 32] = v
    cuda.syncthreads()
    if t < 32:
        v = sums[t]
        for step in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        if t == 0:
            partial[cuda.blockIdx.x] = v


@impostor("grid_sum", diagnosis="float64_sum")
@cuda.jit
def float64_accumulator(partial, x, n):
    sums = cuda.shared.array(32, np.float64)
    t = cuda.threadIdx.x
    v = 0.0
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        v += x[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if t % 32 == 0:
        sums[t // 32] = v
    cuda.syncthreads()
    if t < 32:
        v = sums[t] if t < cuda.blockDim.x // 32 else 0.0
        for step in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        if t == 0:
            partial[cuda.blockIdx.x] = v


@impostor("grid_sum", diagnosis="float64_variable")
@cuda.jit
def starts_from_a_whole_number(partial, x, n):
    sums = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    v = 0
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        v += x[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if t % 32 == 0:
        sums[t // 32] = v
    cuda.syncthreads()
    if t < 32:
        v = sums[t] if t < cuda.blockDim.x // 32 else np.float32(0)
        for step in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        if t == 0:
            partial[cuda.blockIdx.x] = v


@impostor("grid_sum", diagnosis="output_read")
@cuda.jit
def atomics_into_partial(partial, x, n):
    v = np.float32(0)
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        v += x[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if cuda.threadIdx.x % 32 == 0:
        cuda.atomic.add(partial, cuda.blockIdx.x, v)


@impostor("grid_sum", diagnosis="part_for_each_block")
@cuda.jit
def a_part_of_x_for_each_block(partial, x, n):
    sums = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    mine = (n + cuda.gridDim.x - 1) // cuda.gridDim.x
    first = cuda.blockIdx.x * mine
    v = np.float32(0)
    for i in range(first + t, min(first + mine, n), cuda.blockDim.x):
        v += x[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if t % 32 == 0:
        sums[t // 32] = v
    cuda.syncthreads()
    if t < 32:
        v = sums[t] if t < cuda.blockDim.x // 32 else np.float32(0)
        for step in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        if t == 0:
            partial[cuda.blockIdx.x] = v


@impostor("grid_sum", diagnosis="too_many_barriers")
@cuda.jit
def tree_for_the_warps(partial, x, n):
    sums = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    if t < 32:
        sums[t] = 0
    cuda.syncthreads()
    v = np.float32(0)
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        v += x[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if t % 32 == 0:
        sums[t // 32] = v
    cuda.syncthreads()
    stride = 16
    while stride > 0:
        if t < stride:
            sums[t] += sums[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = sums[0]


@impostor("grid_sum", diagnosis="reduced_precision")
@cuda.jit
def neighbours_first(partial, x, n):
    sums = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    v = np.float32(0)
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        v += x[i]
    for step in (1, 2, 4, 8, 16):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if t % 32 == 0:
        sums[t // 32] = v
    cuda.syncthreads()
    if t < 32:
        v = sums[t] if t < cuda.blockDim.x // 32 else np.float32(0)
        for step in (1, 2, 4, 8, 16):
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        if t == 0:
            partial[cuda.blockIdx.x] = v


@impostor("grid_sum", diagnosis="all_zero")
@cuda.jit
def nothing_added(partial, x, n):
    if cuda.threadIdx.x == 0:
        partial[cuda.blockIdx.x] = 0.0


@impostor("grid_sum", diagnosis="first_block_only")
@cuda.jit
def block_zero_everywhere(partial, x, n):
    sums = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    v = np.float32(0)
    for i in range(t, n, cuda.gridsize(1)):
        v += x[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if t % 32 == 0:
        sums[t // 32] = v
    cuda.syncthreads()
    if t < 32:
        v = sums[t] if t < cuda.blockDim.x // 32 else np.float32(0)
        for step in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        if t == 0:
            partial[cuda.blockIdx.x] = v


@impostor("grid_sum", diagnosis="through_float16")
@cuda.jit
def half_precision_on_the_way(partial, x, n):
    sums = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    v = np.float32(0)
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        v += np.float32(np.float16(x[i]))
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if t % 32 == 0:
        sums[t // 32] = v
    cuda.syncthreads()
    if t < 32:
        v = sums[t] if t < cuda.blockDim.x // 32 else np.float32(0)
        for step in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        if t == 0:
            partial[cuda.blockIdx.x] = v


@impostor("grid_sum", diagnosis="out_of_bounds")
@cuda.jit
def index_past_the_end(partial, x, n):
    sums = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    v = np.float32(0)
    for i in range(cuda.grid(1), n + 1, cuda.gridsize(1)):
        v += x[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if t % 32 == 0:
        sums[t // 32] = v
    cuda.syncthreads()
    if t < 32:
        v = sums[t] if t < cuda.blockDim.x // 32 else np.float32(0)
        for step in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        if t == 0:
            partial[cuda.blockIdx.x] = v


@impostor("grid_sum", diagnosis="too_many_sectors")
@cuda.jit
def neighbours_in_one_thread(partial, x, n):
    sums = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    v = np.float32(0)
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if x[i] != 0:
            v += x[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if t % 32 == 0:
        sums[t // 32] = v
    cuda.syncthreads()
    if t < 32:
        v = sums[t] if t < cuda.blockDim.x // 32 else np.float32(0)
        for step in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        if t == 0:
            partial[cuda.blockIdx.x] = v


# -- max_where ---------------------------------------------------------------------------------


@impostor("max_where", diagnosis="last_index")
@cuda.jit
def later_one_wins(best, where, x, n):
    values = cuda.shared.array(32, np.float32)
    places = cuda.shared.array(32, np.int64)
    t = cuda.threadIdx.x
    v = np.float32(-np.inf)
    at = np.int64(-1)
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        value = x[i]
        if value >= v:
            v = value
            at = i
    for step in (16, 8, 4, 2, 1):
        other = cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        place = cuda.shfl_down_sync(0xFFFFFFFF, at, step)
        if other > v or (other == v and place > at):
            v = other
            at = place
    if t % 32 == 0:
        values[t // 32] = v
        places[t // 32] = at
    cuda.syncthreads()
    if t < 32:
        warps = cuda.blockDim.x // 32
        v = values[t] if t < warps else np.float32(-np.inf)
        at = places[t] if t < warps else np.int64(-1)
        for step in (16, 8, 4, 2, 1):
            other = cuda.shfl_down_sync(0xFFFFFFFF, v, step)
            place = cuda.shfl_down_sync(0xFFFFFFFF, at, step)
            if other > v or (other == v and place > at):
                v = other
                at = place
        if t == 0:
            best[cuda.blockIdx.x] = v
            where[cuda.blockIdx.x] = at if at >= 0 else n


@impostor("max_where", diagnosis="started_at_zero")
@cuda.jit
def zero_to_begin_with(best, where, x, n):
    values = cuda.shared.array(32, np.float32)
    places = cuda.shared.array(32, np.int64)
    t = cuda.threadIdx.x
    v = np.float32(0)
    at = n
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        value = x[i]
        if value > v:
            v = value
            at = i
    for step in (16, 8, 4, 2, 1):
        other = cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        place = cuda.shfl_down_sync(0xFFFFFFFF, at, step)
        if other > v or (other == v and place < at):
            v = other
            at = place
    if t % 32 == 0:
        values[t // 32] = v
        places[t // 32] = at
    cuda.syncthreads()
    if t < 32:
        warps = cuda.blockDim.x // 32
        v = values[t] if t < warps else np.float32(0)
        at = places[t] if t < warps else n
        for step in (16, 8, 4, 2, 1):
            other = cuda.shfl_down_sync(0xFFFFFFFF, v, step)
            place = cuda.shfl_down_sync(0xFFFFFFFF, at, step)
            if other > v or (other == v and place < at):
                v = other
                at = place
        if t == 0:
            best[cuda.blockIdx.x] = v
            where[cuda.blockIdx.x] = at


@impostor("max_where", diagnosis="ties_by_lane")
@cuda.jit
def ties_forgotten_in_the_shuffles(best, where, x, n):
    values = cuda.shared.array(32, np.float32)
    places = cuda.shared.array(32, np.int64)
    t = cuda.threadIdx.x
    v = np.float32(-np.inf)
    at = n
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        value = x[i]
        if value > v:
            v = value
            at = i
    for step in (16, 8, 4, 2, 1):
        other = cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        place = cuda.shfl_down_sync(0xFFFFFFFF, at, step)
        if other > v:
            v = other
            at = place
    if t % 32 == 0:
        values[t // 32] = v
        places[t // 32] = at
    cuda.syncthreads()
    if t < 32:
        warps = cuda.blockDim.x // 32
        v = values[t] if t < warps else np.float32(-np.inf)
        at = places[t] if t < warps else n
        for step in (16, 8, 4, 2, 1):
            other = cuda.shfl_down_sync(0xFFFFFFFF, v, step)
            place = cuda.shfl_down_sync(0xFFFFFFFF, at, step)
            if other > v:
                v = other
                at = place
        if t == 0:
            best[cuda.blockIdx.x] = v
            where[cuda.blockIdx.x] = at


@impostor("max_where", diagnosis="too_many_sectors")
@cuda.jit
def two_passes(best, where, x, n):
    values = cuda.shared.array(32, np.float32)
    places = cuda.shared.array(32, np.int64)
    t = cuda.threadIdx.x
    v = np.float32(-np.inf)
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        v = max(v, x[i])
    at = n
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if x[i] == v:
            at = min(at, i)
    for step in (16, 8, 4, 2, 1):
        other = cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        place = cuda.shfl_down_sync(0xFFFFFFFF, at, step)
        if other > v or (other == v and place < at):
            v = other
            at = place
    if t % 32 == 0:
        values[t // 32] = v
        places[t // 32] = at
    cuda.syncthreads()
    if t < 32:
        warps = cuda.blockDim.x // 32
        v = values[t] if t < warps else np.float32(-np.inf)
        at = places[t] if t < warps else n
        for step in (16, 8, 4, 2, 1):
            other = cuda.shfl_down_sync(0xFFFFFFFF, v, step)
            place = cuda.shfl_down_sync(0xFFFFFFFF, at, step)
            if other > v or (other == v and place < at):
                v = other
                at = place
        if t == 0:
            best[cuda.blockIdx.x] = v
            where[cuda.blockIdx.x] = at


@impostor("max_where", diagnosis="too_many_barriers")
@cuda.jit
def tree_of_pairs(best, where, x, n):
    values = cuda.shared.array(1024, np.float32)
    places = cuda.shared.array(1024, np.int64)
    t = cuda.threadIdx.x
    v = np.float32(-np.inf)
    at = n
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        value = x[i]
        if value > v:
            v = value
            at = i
    values[t] = v
    places[t] = at
    cuda.syncthreads()
    left = cuda.blockDim.x
    while left > 1:
        stride = (left + 1) // 2
        if t + stride < left:
            other = values[t + stride]
            place = places[t + stride]
            if other > values[t] or (other == values[t] and place < places[t]):
                values[t] = other
                places[t] = place
        cuda.syncthreads()
        left = stride
    if t == 0:
        best[cuda.blockIdx.x] = values[0]
        where[cuda.blockIdx.x] = places[0]


@impostor("max_where", diagnosis="too_many_instructions")
@cuda.jit
def shuffles_in_the_loop(best, where, x, n):
    values = cuda.shared.array(32, np.float32)
    places = cuda.shared.array(32, np.int64)
    t = cuda.threadIdx.x
    v = np.float32(-np.inf)
    at = n
    for first in range(cuda.blockIdx.x * cuda.blockDim.x, n, cuda.gridsize(1)):
        i = first + t
        other = x[i] if i < n else np.float32(-np.inf)
        if other > v or (other == v and i < at):
            v = other
            at = i
        for step in (16, 8, 4, 2, 1):
            other = cuda.shfl_xor_sync(0xFFFFFFFF, v, step)
            place = cuda.shfl_xor_sync(0xFFFFFFFF, at, step)
            if other > v or (other == v and place < at):
                v = other
                at = place
    if t % 32 == 0:
        values[t // 32] = v
        places[t // 32] = at
    cuda.syncthreads()
    if t < 32:
        warps = cuda.blockDim.x // 32
        v = values[t] if t < warps else np.float32(-np.inf)
        at = places[t] if t < warps else n
        for step in (16, 8, 4, 2, 1):
            other = cuda.shfl_down_sync(0xFFFFFFFF, v, step)
            place = cuda.shfl_down_sync(0xFFFFFFFF, at, step)
            if other > v or (other == v and place < at):
                v = other
                at = place
        if t == 0:
            best[cuda.blockIdx.x] = v
            where[cuda.blockIdx.x] = at


@impostor("max_where", diagnosis="local_index")
@cuda.jit
def index_in_the_block(best, where, x, n):
    values = cuda.shared.array(32, np.float32)
    places = cuda.shared.array(32, np.int64)
    t = cuda.threadIdx.x
    v = np.float32(-np.inf)
    at = n
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        value = x[i]
        if value > v:
            v = value
            at = i
    for step in (16, 8, 4, 2, 1):
        other = cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        place = cuda.shfl_down_sync(0xFFFFFFFF, at, step)
        if other > v or (other == v and place < at):
            v = other
            at = place
    if t % 32 == 0:
        values[t // 32] = v
        places[t // 32] = at
    cuda.syncthreads()
    if t < 32:
        warps = cuda.blockDim.x // 32
        v = values[t] if t < warps else np.float32(-np.inf)
        at = places[t] if t < warps else n
        for step in (16, 8, 4, 2, 1):
            other = cuda.shfl_down_sync(0xFFFFFFFF, v, step)
            place = cuda.shfl_down_sync(0xFFFFFFFF, at, step)
            if other > v or (other == v and place < at):
                v = other
                at = place
        if t == 0:
            best[cuda.blockIdx.x] = v
            where[cuda.blockIdx.x] = at % cuda.blockDim.x


@impostor("max_where", diagnosis="smallest")
@cuda.jit
def the_smallest(best, where, x, n):
    values = cuda.shared.array(32, np.float32)
    places = cuda.shared.array(32, np.int64)
    t = cuda.threadIdx.x
    v = np.float32(np.inf)
    at = n
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        value = x[i]
        if value < v:
            v = value
            at = i
    for step in (16, 8, 4, 2, 1):
        other = cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        place = cuda.shfl_down_sync(0xFFFFFFFF, at, step)
        if other < v or (other == v and place < at):
            v = other
            at = place
    if t % 32 == 0:
        values[t // 32] = v
        places[t // 32] = at
    cuda.syncthreads()
    if t < 32:
        warps = cuda.blockDim.x // 32
        v = values[t] if t < warps else np.float32(np.inf)
        at = places[t] if t < warps else n
        for step in (16, 8, 4, 2, 1):
            other = cuda.shfl_down_sync(0xFFFFFFFF, v, step)
            place = cuda.shfl_down_sync(0xFFFFFFFF, at, step)
            if other < v or (other == v and place < at):
                v = other
                at = place
        if t == 0:
            best[cuda.blockIdx.x] = v
            where[cuda.blockIdx.x] = at


@impostor("max_where", diagnosis="one_element_each")
@cuda.jit
def one_element_a_thread(best, where, x, n):
    values = cuda.shared.array(32, np.float32)
    places = cuda.shared.array(32, np.int64)
    t = cuda.threadIdx.x
    v = np.float32(-np.inf)
    at = n
    for i in range(cuda.grid(1), min(n, cuda.gridsize(1))):
        if i > cuda.grid(1):
            break
        value = x[i]
        if value > v:
            v = value
            at = i
    for step in (16, 8, 4, 2, 1):
        other = cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        place = cuda.shfl_down_sync(0xFFFFFFFF, at, step)
        if other > v or (other == v and place < at):
            v = other
            at = place
    if t % 32 == 0:
        values[t // 32] = v
        places[t // 32] = at
    cuda.syncthreads()
    if t < 32:
        warps = cuda.blockDim.x // 32
        v = values[t] if t < warps else np.float32(-np.inf)
        at = places[t] if t < warps else n
        for step in (16, 8, 4, 2, 1):
            other = cuda.shfl_down_sync(0xFFFFFFFF, v, step)
            place = cuda.shfl_down_sync(0xFFFFFFFF, at, step)
            if other > v or (other == v and place < at):
                v = other
                at = place
        if t == 0:
            best[cuda.blockIdx.x] = v
            where[cuda.blockIdx.x] = at


@impostor("max_where", diagnosis="race")
@cuda.jit
def no_barrier(best, where, x, n):
    values = cuda.shared.array(32, np.float32)
    places = cuda.shared.array(32, np.int64)
    t = cuda.threadIdx.x
    v = np.float32(-np.inf)
    at = n
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        value = x[i]
        if value > v:
            v = value
            at = i
    for step in (16, 8, 4, 2, 1):
        other = cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        place = cuda.shfl_down_sync(0xFFFFFFFF, at, step)
        if other > v or (other == v and place < at):
            v = other
            at = place
    if t % 32 == 0:
        values[t // 32] = v
        places[t // 32] = at
    if t < 32:
        warps = cuda.blockDim.x // 32
        v = values[t] if t < warps else np.float32(-np.inf)
        at = places[t] if t < warps else n
        for step in (16, 8, 4, 2, 1):
            other = cuda.shfl_down_sync(0xFFFFFFFF, v, step)
            place = cuda.shfl_down_sync(0xFFFFFFFF, at, step)
            if other > v or (other == v and place < at):
                v = other
                at = place
        if t == 0:
            best[cuda.blockIdx.x] = v
            where[cuda.blockIdx.x] = at


@impostor("max_where", diagnosis="first_warp_only")
@cuda.jit
def only_the_first_warp(best, where, x, n):
    values = cuda.shared.array(32, np.float32)
    places = cuda.shared.array(32, np.int64)
    t = cuda.threadIdx.x
    v = np.float32(-np.inf)
    at = n
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        value = x[i]
        if value > v:
            v = value
            at = i
    for step in (16, 8, 4, 2, 1):
        other = cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        place = cuda.shfl_down_sync(0xFFFFFFFF, at, step)
        if other > v or (other == v and place < at):
            v = other
            at = place
    if t % 32 == 0:
        values[t // 32] = v
        places[t // 32] = at
    cuda.syncthreads()
    if t == 0:
        best[cuda.blockIdx.x] = values[0]
        where[cuda.blockIdx.x] = places[0]
    if t < 0:
        warps = cuda.blockDim.x // 32
        v = values[t] if t < warps else np.float32(-np.inf)
        at = places[t] if t < warps else n
        for step in (16, 8, 4, 2, 1):
            other = cuda.shfl_down_sync(0xFFFFFFFF, v, step)
            place = cuda.shfl_down_sync(0xFFFFFFFF, at, step)
            if other > v or (other == v and place < at):
                v = other
                at = place
        if t == 0:
            best[cuda.blockIdx.x] = v
            where[cuda.blockIdx.x] = at
