"""Wrong answers to the lab t1_01_threads."""

from __future__ import annotations

import numpy as np

from tests.impostors import impostor
from warpwise import cuda

# write_index ------------------------------------------------------------------------------------


@impostor("write_index", diagnosis="only_first_block")
@cuda.jit
def only_thread_number(out):
    i = cuda.threadIdx.x
    out[i] = i


@impostor("write_index", diagnosis="only_first_thread")
@cuda.jit
def only_block_number(out):
    i = cuda.blockIdx.x
    out[i] = i


@impostor("write_index", diagnosis="thread_number")
@cuda.jit
def stores_thread_number(out):
    out[cuda.grid(1)] = cuda.threadIdx.x


@impostor("write_index", diagnosis="block_number")
@cuda.jit
def stores_block_number(out):
    out[cuda.grid(1)] = cuda.blockIdx.x


@impostor("write_index", diagnosis="out_of_bounds")
@cuda.jit
def block_and_thread_swapped(out):
    i = cuda.threadIdx.x * cuda.blockDim.x + cuda.blockIdx.x
    out[i] = i


@impostor("write_index", diagnosis="counts_from_one")
@cuda.jit
def counts_from_one(out):
    i = cuda.grid(1)
    out[i] = i + 1


@impostor("write_index", diagnosis="blocks_of_4")
@cuda.jit
def block_size_of_the_example(out):
    i = cuda.blockIdx.x * 4 + cuda.threadIdx.x
    out[i] = i


@impostor("write_index", diagnosis="out_of_bounds")
@cuda.jit
def block_size_too_large(out):
    i = cuda.blockIdx.x * 256 + cuda.threadIdx.x
    out[i] = i


@impostor("write_index", diagnosis="all_zero")
@cuda.jit
def zeros(out):
    out[cuda.grid(1)] = 0


# guarded_add ------------------------------------------------------------------------------------


@impostor("guarded_add", diagnosis="out_of_bounds")
@cuda.jit
def no_guard(out, a, b, n):
    i = cuda.grid(1)
    out[i] = a[i] + b[i]


@impostor("guarded_add", diagnosis="out_of_bounds")
@cuda.jit
def guard_lets_n_pass(out, a, b, n):
    i = cuda.grid(1)
    if i <= n:
        out[i] = a[i] + b[i]


@impostor("guarded_add", diagnosis="out_of_bounds")
@cuda.jit
def guards_the_store_only(out, a, b, n):
    i = cuda.grid(1)
    total = a[i] + b[i]
    if i < n:
        out[i] = total


@impostor("guarded_add", diagnosis="last_left_out")
@cuda.jit
def guard_stops_early(out, a, b, n):
    i = cuda.grid(1)
    if i < n - 1:
        out[i] = a[i] + b[i]


@impostor("guarded_add", diagnosis="first_left_out")
@cuda.jit
def guard_keeps_zero_out(out, a, b, n):
    i = cuda.grid(1)
    if 0 < i < n:
        out[i] = a[i] + b[i]


@impostor("guarded_add", diagnosis="multiple_of_block_only")
@cuda.jit
def full_blocks_only(out, a, b, n):
    i = cuda.grid(1)
    if (cuda.blockIdx.x + 1) * cuda.blockDim.x <= n:
        out[i] = a[i] + b[i]


@impostor("guarded_add", diagnosis="out_of_bounds")
@cuda.jit
def guards_the_last_block_only(out, a, b, n):
    i = cuda.grid(1)
    if cuda.blockIdx.x < cuda.gridDim.x - 1 or i < n:
        out[i] = a[i] + b[i]


@impostor("guarded_add", diagnosis="only_first_block")
@cuda.jit
def thread_number_only(out, a, b, n):
    i = cuda.threadIdx.x
    if i < n:
        out[i] = a[i] + b[i]


@impostor("guarded_add", diagnosis="only_first_thread")
@cuda.jit
def block_number_only(out, a, b, n):
    i = cuda.blockIdx.x
    if i < n:
        out[i] = a[i] + b[i]


@impostor("guarded_add", diagnosis="blocks_of_32")
@cuda.jit
def blocks_of_32(out, a, b, n):
    i = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    if i < n:
        out[i] = a[i] + b[i]


@impostor("guarded_add", diagnosis="blocks_of_4")
@cuda.jit
def blocks_of_the_example(out, a, b, n):
    i = cuda.blockIdx.x * 4 + cuda.threadIdx.x
    if i < n:
        out[i] = a[i] + b[i]


@impostor("guarded_add", diagnosis="blocks_of_256")
@cuda.jit
def blocks_of_256(out, a, b, n):
    i = cuda.blockIdx.x * 256 + cuda.threadIdx.x
    if i < n:
        out[i] = a[i] + b[i]


@impostor("guarded_add", diagnosis="all_zero")
@cuda.jit
def sum_is_zero(out, a, b, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = 0.0


@impostor("guarded_add", diagnosis="input_copied")
@cuda.jit
def second_input_forgotten(out, a, b, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = a[i]


@impostor("guarded_add", diagnosis="constant_output")
@cuda.jit
def first_sum_everywhere(out, a, b, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = a[0] + b[0]


@impostor("guarded_add", diagnosis="subtracted")
@cuda.jit
def minus(out, a, b, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = a[i] - b[i]


@impostor("guarded_add", diagnosis="reduced_precision")
@cuda.jit
def half_precision(out, a, b, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = np.float16(a[i]) + np.float16(b[i])


@impostor("guarded_add", diagnosis="output_read")
@cuda.jit
def adds_to_what_is_there(out, a, b, n):
    i = cuda.grid(1)
    if i < n:
        out[i] += a[i] + b[i]


@impostor("guarded_add", diagnosis="input_modified")
@cuda.jit
def adds_into_the_input(out, a, b, n):
    i = cuda.grid(1)
    if i < n:
        a[i] += b[i]
        out[i] = a[i]


@impostor("guarded_add", diagnosis="written_more_than_once")
@cuda.jit
def stores_twice(out, a, b, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = a[i]
        out[i] = a[i] + b[i]


@impostor("guarded_add", diagnosis="written_more_than_once")
@cuda.jit
def every_thread_does_all(out, a, b, n):
    for i in range(n):
        out[i] = a[i] + b[i]


# blocks_for -------------------------------------------------------------------------------------


@impostor("blocks_for", diagnosis="floor_division")
def rounds_down(n, threads):
    return n // threads


@impostor("blocks_for", diagnosis="rounded")
def rounds_to_nearest(n, threads):
    return round(n / threads)


@impostor("blocks_for", diagnosis="always_one_more")
def one_more(n, threads):
    return n // threads + 1


@impostor("blocks_for", diagnosis="at_least_one")
def never_none(n, threads):
    return max(1, (n + threads - 1) // threads)


@impostor("blocks_for", diagnosis="threads_not_blocks")
def counts_threads(n, threads):
    return (n + threads - 1) // threads * threads


@impostor("blocks_for", diagnosis="wrong_type")
def plain_division(n, threads):
    return n / threads


@impostor("blocks_for", diagnosis="wrong_type")
def numpy_ceil(n, threads):
    return np.ceil(n / threads)


@impostor("blocks_for", diagnosis="parentheses_missing")
def no_parentheses(n, threads):
    return n + threads - 1 // threads


@impostor("blocks_for", diagnosis="constant_output")
def number_of_the_sample(n, threads):
    return 196


@impostor("blocks_for", diagnosis="no_return")
def prints_only(n, threads):
    (n + threads - 1) // threads


# idle_threads -----------------------------------------------------------------------------------


@impostor("idle_threads", diagnosis="busy_not_idle")
def remainder():
    return 1_000_003 % 256


@impostor("idle_threads", diagnosis="another_length")
def number_of_the_lesson():
    return 192


@impostor("idle_threads", diagnosis="floor_division")
def too_few_blocks():
    return 1_000_003 // 256 * 256 - 1_000_003


@impostor("idle_threads", diagnosis="blocks_not_threads")
def blocks_of_the_launch():
    return 3907


@impostor("idle_threads", diagnosis="all_threads")
def threads_of_the_launch():
    return 3907 * 256


@impostor("idle_threads", diagnosis="wrong_values")
def nobody():
    return 0


# stride_scale -----------------------------------------------------------------------------------


@impostor("stride_scale", diagnosis="one_element_each")
@cuda.jit
def guard_without_loop(out, a, factor):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] * factor


@impostor("stride_scale", diagnosis="written_more_than_once")
@cuda.jit
def step_of_a_block(out, a, factor):
    for i in range(cuda.grid(1), out.size, cuda.blockDim.x):
        out[i] = a[i] * factor


@impostor("stride_scale", diagnosis="one_element_each")
@cuda.jit
def loops_but_stays(out, a, factor):
    i = cuda.grid(1)
    for _j in range(i, out.size, cuda.gridsize(1)):
        out[i] = a[i] * factor


@impostor("stride_scale", diagnosis="one_place_each")
@cuda.jit
def stores_to_the_first_place(out, a, factor):
    i = cuda.grid(1)
    for j in range(i, out.size, cuda.gridsize(1)):
        out[i] = a[j] * factor


@impostor("stride_scale", diagnosis="first_input_only")
@cuda.jit
def reads_the_first_element(out, a, factor):
    i = cuda.grid(1)
    for j in range(i, out.size, cuda.gridsize(1)):
        out[j] = a[i] * factor


@impostor("stride_scale", diagnosis="step_of_8")
@cuda.jit
def step_of_the_example(out, a, factor):
    for i in range(cuda.grid(1), out.size, 8):
        out[i] = a[i] * factor


@impostor("stride_scale", diagnosis="step_of_256")
@cuda.jit
def step_as_a_number(out, a, factor):
    for i in range(cuda.grid(1), out.size, 256):
        out[i] = a[i] * factor


@impostor("stride_scale", diagnosis="step_of_4")
@cuda.jit
def step_of_four(out, a, factor):
    for i in range(cuda.grid(1), out.size, 4):
        out[i] = a[i] * factor


@impostor("stride_scale", diagnosis="factor_added")
@cuda.jit
def plus_factor(out, a, factor):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = a[i] + factor


@impostor("stride_scale", diagnosis="written_more_than_once")
@cuda.jit
def step_of_one(out, a, factor):
    for i in range(cuda.grid(1), out.size):
        out[i] = a[i] * factor


@impostor("stride_scale", diagnosis="block_left_out")
@cuda.jit
def starts_at_thread_number(out, a, factor):
    for i in range(cuda.threadIdx.x, out.size, cuda.gridsize(1)):
        out[i] = a[i] * factor


@impostor("stride_scale", diagnosis="two_elements_each")
@cuda.jit
def two_turns(out, a, factor):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] * factor
    i += cuda.gridsize(1)
    if i < out.size:
        out[i] = a[i] * factor


@impostor("stride_scale", diagnosis="last_left_out")
@cuda.jit
def loop_stops_early(out, a, factor):
    for i in range(cuda.grid(1), out.size - 1, cuda.gridsize(1)):
        out[i] = a[i] * factor


@impostor("stride_scale", diagnosis="never_written")
@cuda.jit
def step_too_long(out, a, factor):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1) + 1):
        out[i] = a[i] * factor


@impostor("stride_scale", diagnosis="out_of_bounds")
@cuda.jit
def loop_lets_the_length_pass(out, a, factor):
    for i in range(cuda.grid(1), out.size + 1, cuda.gridsize(1)):
        out[i] = a[i] * factor


@impostor("stride_scale", diagnosis="input_copied")
@cuda.jit
def factor_forgotten(out, a, factor):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = a[i]


@impostor("stride_scale", diagnosis="wrong_values")
@cuda.jit
def always_doubles(out, a, factor):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = a[i] * 2.0


@impostor("stride_scale", diagnosis="reduced_precision")
@cuda.jit
def through_half(out, a, factor):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = np.float16(a[i] * factor)


# interleave -------------------------------------------------------------------------------------


@impostor("interleave", diagnosis="odd_end_missing")
@cuda.jit
def pairs_only(out, a, b):
    for i in range(cuda.grid(1), b.size, cuda.gridsize(1)):
        out[2 * i] = a[i]
        out[2 * i + 1] = b[i]


@impostor("interleave", diagnosis="out_of_bounds")
@cuda.jit
def pairs_by_the_longer(out, a, b):
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        out[2 * i] = a[i]
        out[2 * i + 1] = b[i]


@impostor("interleave", diagnosis="one_after_the_other")
@cuda.jit
def concatenates(out, a, b):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        if i < a.size:
            out[i] = a[i]
        else:
            out[i] = b[i - a.size]


@impostor("interleave", diagnosis="out_of_bounds")
@cuda.jit
def index_not_halved(out, a, b):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        if i % 2 == 0:
            out[i] = a[i]
        else:
            out[i] = b[i]


@impostor("interleave", diagnosis="one_element_each")
@cuda.jit
def one_turn_only(out, a, b):
    i = cuda.grid(1)
    if i < out.size:
        if i % 2 == 0:
            out[i] = a[i // 2]
        else:
            out[i] = b[i // 2]


@impostor("interleave", diagnosis="typing")
@cuda.jit
def float_index(out, a, b):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        if i % 2 == 0:
            out[i] = a[i / 2]
        else:
            out[i] = b[i / 2]


@impostor("interleave", diagnosis="b_first")
@cuda.jit
def begins_with_b(out, a, b):
    for i in range(cuda.grid(1), b.size, cuda.gridsize(1)):
        out[2 * i] = b[i]
        out[2 * i + 1] = a[i]


# Right values, made by a few of the threads -----------------------------------------------------


@impostor("guarded_add", diagnosis="few_threads_work")
@cuda.jit
def first_thread_adds_all(out, a, b, n):
    if cuda.grid(1) == 0:
        for i in range(n):
            out[i] = a[i] + b[i]


@impostor("stride_scale", diagnosis="few_threads_work")
@cuda.jit
def first_thread_scales_all(out, a, factor):
    if cuda.grid(1) == 0:
        for i in range(out.size):
            out[i] = a[i] * factor


@impostor("stride_scale", diagnosis="few_threads_work")
@cuda.jit
def first_block_scales_all(out, a, factor):
    if cuda.blockIdx.x == 0:
        for i in range(cuda.threadIdx.x, out.size, cuda.blockDim.x):
            out[i] = a[i] * factor


@impostor("interleave", diagnosis="few_threads_work")
@cuda.jit
def first_thread_shuffles_all(out, a, b):
    if cuda.grid(1) == 0:
        for i in range(out.size):
            if i % 2 == 0:
                out[i] = a[i // 2]
            else:
                out[i] = b[i // 2]


@impostor("stride_scale", diagnosis="never_written")
@cuda.jit
def a_hundred_rounds(out, a, factor):
    for k in range(100):
        i = cuda.grid(1) + k * cuda.gridsize(1)
        if i < out.size:
            out[i] = a[i] * factor


@impostor("interleave", diagnosis="never_written")
@cuda.jit
def thirty_rounds(out, a, b):
    for k in range(30):
        i = cuda.grid(1) + k * cuda.gridsize(1)
        if i < out.size:
            out[i] = a[i // 2] if i % 2 == 0 else b[i // 2]
