"""Unusual right answers to the lab t1_01_threads."""

from __future__ import annotations

import math

from tests.variants import variant
from warpwise import cuda


@variant("write_index")
@cuda.jit
def index_by_hand(out):
    out[cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x] = (
        cuda.threadIdx.x + cuda.blockDim.x * cuda.blockIdx.x
    )


@variant("write_index")
@cuda.jit
def blocks_take_turns(out):
    # Neighbouring elements go to different blocks; each still has one thread.
    i = cuda.threadIdx.x * cuda.gridDim.x + cuda.blockIdx.x
    out[i] = i


@variant("write_index")
@cuda.jit
def from_the_end(out):
    i = out.size - 1 - cuda.grid(1)
    out[i] = i


@variant("guarded_add")
@cuda.jit
def early_return(out, a, b, n):
    i = cuda.grid(1)
    if i >= n:
        return
    out[i] = a[i] + b[i]


@variant("guarded_add")
@cuda.jit
def other_names_and_shape(result, left, right, count):
    i = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    if not i >= result.shape[0]:
        result[i] = right[i] + left[i]


@variant("guarded_add")
@cuda.jit
def grid_stride_already(out, a, b, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        out[i] = a[i] + b[i]


@variant("guarded_add")
@cuda.jit
def last_thread_first(out, a, b, n):
    i = n - 1 - cuda.grid(1)
    if i >= 0:
        out[i] = a[i] + b[i]


@variant("blocks_for")
def ceil_of_quotient(n, threads):
    return math.ceil(n / threads)


@variant("blocks_for")
def negative_floor(n, threads):
    return -(-n // threads)


@variant("blocks_for")
def counts_up(n, threads):
    blocks = 0
    while blocks * threads < n:
        blocks += 1
    return blocks


@variant("blocks_for")
def remainder_first(n, threads):
    full, rest = divmod(n, threads)
    return full + 1 if rest else full


@variant("idle_threads")
def modulo():
    return -1_000_003 % 256


@variant("stride_scale")
@cuda.jit
def while_loop(out, a, factor):
    i = cuda.grid(1)
    while i < out.size:
        out[i] = factor * a[i]
        i += cuda.blockDim.x * cuda.gridDim.x


@variant("stride_scale")
@cuda.jit
def descending(out, a, factor):
    for i in range(out.size - 1 - cuda.grid(1), -1, -cuda.gridsize(1)):
        out[i] = a[i] * factor


@variant("stride_scale")
@cuda.jit
def one_run_of_neighbours_each(out, a, factor):
    # Each thread takes a piece without gaps: slower on a GPU, as t1_04 will show, but right.
    length = (out.size + cuda.gridsize(1) - 1) // cuda.gridsize(1)
    start = cuda.grid(1) * length
    for i in range(start, min(start + length, out.size)):
        out[i] = a[i] * factor


@variant("stride_scale")
@cuda.jit
def counted_turns(out, a, factor):
    threads = cuda.gridsize(1)
    for turn in range((out.size + threads - 1) // threads):
        i = turn * threads + cuda.grid(1)
        if i >= a.shape[0]:
            break
        out[i] = a[i] * factor


@variant("stride_scale")
@cuda.jit
def rows_of_the_grid(out, a, factor):
    # The flat array as rows of blockDim.x: blocks stride over rows, threads stand in columns.
    for row in range(cuda.blockIdx.x, len(out) // cuda.blockDim.x + 1, cuda.gridDim.x):
        i = row * cuda.blockDim.x + cuda.threadIdx.x
        if i < len(out):
            out[i] = a[i] * factor


@variant("interleave")
@cuda.jit
def by_pairs(out, a, b):
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        out[2 * i] = a[i]
        if i < b.size:
            out[2 * i + 1] = b[i]


@variant("interleave")
@cuda.jit
def two_loops(out, a, b):
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        out[i + i] = a[i]
    for i in range(cuda.grid(1), b.size, cuda.gridsize(1)):
        out[i + i + 1] = b[i]


@variant("interleave")
@cuda.jit
def with_bits(out, a, b):
    for i in range(cuda.grid(1), out.size, cuda.gridsize(1)):
        out[i] = b[i >> 1] if i & 1 else a[i >> 1]


@variant("stride_scale")
@cuda.jit
def a_piece_for_each_thread(out, a, factor):
    each = (out.size + cuda.gridsize(1) - 1) // cuda.gridsize(1)
    first = cuda.grid(1) * each
    for i in range(first, min(first + each, out.size)):
        out[i] = a[i] * factor


@variant("interleave")
@cuda.jit
def picks_the_array_first(out, a, b):
    t = cuda.grid(1)
    while t < out.size:
        source = a if t & 1 == 0 else b
        out[t] = source[t >> 1]
        t += cuda.gridsize(1)
