"""Wrong answers to the lab t1_06_banks."""

from __future__ import annotations

import math

import numpy as np
from numba import float32, float64, int16, int32, int64

from tests.impostors import impostor
from warpwise import cuda

# -- bank_of -----------------------------------------------------------------------------------


@impostor("bank_of", diagnosis="pitch_ignored")
def rows_of_32(row, column, pitch):
    return (row * 32 + column) % 32


@impostor("bank_of", diagnosis="word_returned")
def no_remainder(row, column, pitch):
    return row * pitch + column


@impostor("bank_of", diagnosis="byte_returned")
def bytes_modulo_32(row, column, pitch):
    return (row * pitch + column) * 4 % 32


@impostor("bank_of", diagnosis="axes_swapped")
def row_and_column_exchanged(row, column, pitch):
    return (column * pitch + row) % 32


@impostor("bank_of", diagnosis="modulo_pitch")
def modulo_of_the_pitch(row, column, pitch):
    return (row * pitch + column) % pitch


@impostor("bank_of", diagnosis="padded_once_more")
def padding_added_again(row, column, pitch):
    return (row * (pitch + 1) + column) % 32


@impostor("bank_of", diagnosis="row_of_banks")
def quotient(row, column, pitch):
    return (row * pitch + column) // 32


@impostor("bank_of", diagnosis="column_only_modulo")
def precedence(row, column, pitch):
    return row * pitch + column % 32


@impostor("bank_of", diagnosis="constant_output")
def the_first_example(row, column, pitch):
    return 3


# -- strided_wavefronts ------------------------------------------------------------------------


@impostor("strided_wavefronts", diagnosis="itemsize_ignored")
def four_bytes_only(stride, itemsize):
    return math.gcd(stride, 32)


@impostor("strided_wavefronts", diagnosis="one_part_only")
def parts_forgotten(stride, itemsize):
    return math.gcd(stride, 128 // itemsize)


@impostor("strided_wavefronts", diagnosis="parts_of_32_lanes")
def each_part_a_warp(stride, itemsize):
    return itemsize // 4 * math.gcd(stride, 32)


@impostor("strided_wavefronts", diagnosis="stride_itself")
def every_stride_is_bad(stride, itemsize):
    words = itemsize // 4
    return words * min(stride, 32 // words)


@impostor("strided_wavefronts", diagnosis="conflicts_only")
def beyond_the_fewest(stride, itemsize):
    words = itemsize // 4
    return words * math.gcd(stride, 32 // words) - words


@impostor("strided_wavefronts", diagnosis="even_or_odd")
def two_for_even(stride, itemsize):
    return itemsize // 4 * (1 if stride % 2 else 2)


@impostor("strided_wavefronts", diagnosis="banks_used")
def number_of_banks(stride, itemsize):
    return 32 // math.gcd(stride, 32)


@impostor("strided_wavefronts", diagnosis="bytes_for_words")
def in_bytes(stride, itemsize):
    return math.gcd(stride * itemsize, 32)


@impostor("strided_wavefronts", diagnosis="wrong_type")
def as_a_float(stride, itemsize):
    words = itemsize / 4
    return words * math.gcd(stride, int(32 / words))


# -- tile_wavefronts ---------------------------------------------------------------------------


@impostor("tile_wavefronts", diagnosis="reads_only")
def stores_forgotten():
    return 15 * 32 * 32


@impostor("tile_wavefronts", diagnosis="as_if_padded")
def no_conflict_seen():
    return 15 * (32 + 32)


@impostor("tile_wavefronts", diagnosis="one_tile_only")
def the_example():
    return 32 + 32 * 32


@impostor("tile_wavefronts", diagnosis="both_in_conflict")
def conflict_on_both_sides():
    return 15 * 64 * 32


@impostor("tile_wavefronts", diagnosis="one_row_a_warp")
def loop_forgotten():
    return 15 * 8 * (1 + 32)


@impostor("tile_wavefronts", diagnosis="conflicts_only")
def bank_conflicts_of_the_report():
    return 15 * 32 * 31


@impostor("tile_wavefronts", diagnosis="threads_counted")
def once_a_thread():
    return 96 * 160 * (1 + 32)


@impostor("tile_wavefronts", diagnosis="wrong_values")
def rows_of_all_tiles():
    return 96 * 160 // 32


# -- padded_transpose --------------------------------------------------------------------------


@impostor("padded_transpose", diagnosis="bank_conflicts")
@cuda.jit
def no_padding(out, a, height, width):
    tile = cuda.shared.array((32, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    for j in range(ty, 32, 8):
        if y0 + j < height and x0 + tx < width:
            tile[j, tx] = a[y0 + j, x0 + tx]
    cuda.syncthreads()
    for j in range(ty, 32, 8):
        if x0 + j < width and y0 + tx < height:
            out[x0 + j, y0 + tx] = tile[tx, j]


@impostor("padded_transpose", diagnosis="bank_conflicts")
@cuda.jit
def a_row_more_instead_of_a_column(out, a, height, width):
    tile = cuda.shared.array((33, 32), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    for j in range(ty, 32, 8):
        if y0 + j < height and x0 + tx < width:
            tile[j, tx] = a[y0 + j, x0 + tx]
    cuda.syncthreads()
    for j in range(ty, 32, 8):
        if x0 + j < width and y0 + tx < height:
            out[x0 + j, y0 + tx] = tile[tx, j]


@impostor("padded_transpose", diagnosis="bank_conflicts")
@cuda.jit
def two_columns_more(out, a, height, width):
    tile = cuda.shared.array((32, 34), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    for j in range(ty, 32, 8):
        if y0 + j < height and x0 + tx < width:
            tile[j, tx] = a[y0 + j, x0 + tx]
    cuda.syncthreads()
    for j in range(ty, 32, 8):
        if x0 + j < width and y0 + tx < height:
            out[x0 + j, y0 + tx] = tile[tx, j]


@impostor("padded_transpose", diagnosis="too_many_sectors")
@cuda.jit
def naive(out, a, height, width):
    x = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    for j in range(cuda.threadIdx.y, 32, 8):
        y = cuda.blockIdx.y * 32 + j
        if y < height and x < width:
            out[x, y] = a[y, x]


@impostor("padded_transpose", diagnosis="too_many_sectors")
@cuda.jit
def turned_in_the_store(out, a, height, width):
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    for j in range(ty, 32, 8):
        if y0 + j < height and x0 + tx < width:
            tile[j, tx] = a[y0 + j, x0 + tx]
    cuda.syncthreads()
    for j in range(ty, 32, 8):
        if y0 + j < height and x0 + tx < width:
            out[x0 + tx, y0 + j] = tile[j, tx]


@impostor("padded_transpose", diagnosis="race")
@cuda.jit
def no_barrier(out, a, height, width):
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    for j in range(ty, 32, 8):
        if y0 + j < height and x0 + tx < width:
            tile[j, tx] = a[y0 + j, x0 + tx]
    for j in range(ty, 32, 8):
        if x0 + j < width and y0 + tx < height:
            out[x0 + j, y0 + tx] = tile[tx, j]


@impostor("padded_transpose", diagnosis="race")
@cuda.jit
def warp_barrier_only(out, a, height, width):
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    for j in range(ty, 32, 8):
        if y0 + j < height and x0 + tx < width:
            tile[j, tx] = a[y0 + j, x0 + tx]
    cuda.syncwarp()
    for j in range(ty, 32, 8):
        if x0 + j < width and y0 + tx < height:
            out[x0 + j, y0 + tx] = tile[tx, j]


@impostor("padded_transpose", diagnosis="out_of_bounds")
@cuda.jit
def no_guards(out, a, height, width):
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    for j in range(ty, 32, 8):
        tile[j, tx] = a[y0 + j, x0 + tx]
    cuda.syncthreads()
    for j in range(ty, 32, 8):
        out[x0 + j, y0 + tx] = tile[tx, j]


@impostor("padded_transpose", diagnosis="multiple_of_block_only")
@cuda.jit
def whole_tiles_only(out, a, height, width):
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    if x0 + 32 <= width and y0 + 32 <= height:
        for j in range(ty, 32, 8):
            tile[j, tx] = a[y0 + j, x0 + tx]
        cuda.syncthreads()
        for j in range(ty, 32, 8):
            out[x0 + j, y0 + tx] = tile[tx, j]


@impostor("padded_transpose", diagnosis="rows_of_block_only")
@cuda.jit
def one_row_a_thread(out, a, height, width):
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    for j in range(ty, 32, 8):
        if y0 + j < height and x0 + tx < width:
            tile[j, tx] = a[y0 + j, x0 + tx]
    cuda.syncthreads()
    if x0 + ty < width and y0 + tx < height:
        out[x0 + ty, y0 + tx] = tile[tx, ty]


@impostor("padded_transpose", diagnosis="tile_not_turned")
@cuda.jit
def tile_not_turned(out, a, height, width):
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    for j in range(ty, 32, 8):
        if y0 + j < height and x0 + tx < width:
            tile[j, tx] = a[y0 + j, x0 + tx]
    cuda.syncthreads()
    for j in range(ty, 32, 8):
        if x0 + j < width and y0 + tx < height:
            out[x0 + j, y0 + tx] = tile[j, tx]


@impostor("padded_transpose", diagnosis="never_written")
@cuda.jit
def square_pictures_only(out, a, height, width):
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    for j in range(ty, 32, 8):
        if y0 + j < height and x0 + tx < width:
            tile[j, tx] = a[y0 + j, x0 + tx]
    cuda.syncthreads()
    for j in range(ty, 32, 8):
        if x0 + j < min(width, height) and y0 + tx < min(width, height):
            out[x0 + j, y0 + tx] = tile[tx, j]


@impostor("padded_transpose", diagnosis="only_first_tile")
@cuda.jit
def blocks_forgotten(out, a, height, width):
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    for j in range(ty, 32, 8):
        if j < height and tx < width:
            tile[j, tx] = a[j, tx]
    cuda.syncthreads()
    for j in range(ty, 32, 8):
        if j < width and tx < height:
            out[j, tx] = tile[tx, j]


@impostor("padded_transpose", diagnosis="reduced_precision")
@cuda.jit
def half_precision(out, a, height, width):
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    for j in range(ty, 32, 8):
        if y0 + j < height and x0 + tx < width:
            tile[j, tx] = np.float16(a[y0 + j, x0 + tx])
    cuda.syncthreads()
    for j in range(ty, 32, 8):
        if x0 + j < width and y0 + tx < height:
            out[x0 + j, y0 + tx] = tile[tx, j]


@impostor("padded_transpose", diagnosis="too_much_shared")
@cuda.jit
def tile_of_float64(out, a, height, width):
    tile = cuda.shared.array((32, 33), float64)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    for j in range(ty, 32, 8):
        if y0 + j < height and x0 + tx < width:
            tile[j, tx] = a[y0 + j, x0 + tx]
    cuda.syncthreads()
    for j in range(ty, 32, 8):
        if x0 + j < width and y0 + tx < height:
            out[x0 + j, y0 + tx] = float32(tile[tx, j])


@impostor("padded_transpose", diagnosis="too_many_barriers")
@cuda.jit
def barrier_in_the_loop(out, a, height, width):
    tile = cuda.shared.array((32, 33), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    for j in range(ty, 32, 8):
        if y0 + j < height and x0 + tx < width:
            tile[j, tx] = a[y0 + j, x0 + tx]
        cuda.syncthreads()
    for j in range(ty, 32, 8):
        if x0 + j < width and y0 + tx < height:
            out[x0 + j, y0 + tx] = tile[tx, j]


@impostor("padded_transpose", diagnosis="all_zero")
@cuda.jit
def zeros(out, a, height, width):
    x0, y0 = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    for j in range(cuda.threadIdx.y, 32, 8):
        if x0 + j < width and y0 + cuda.threadIdx.x < height:
            out[x0 + j, y0 + cuda.threadIdx.x] = 0.0


# -- own_counts --------------------------------------------------------------------------------


@impostor("own_counts", diagnosis="bank_conflicts")
@cuda.jit
def as_given(out, x):
    counts = cuda.shared.array((64, 16), int32)
    t = cuda.threadIdx.x
    for k in range(16):
        counts[t, k] = 0
    first = cuda.grid(1)
    for i in range(first, x.size, cuda.gridsize(1)):
        counts[t, x[i]] += 1
    for k in range(16):
        out[k, first] = counts[t, k]


@impostor("own_counts", diagnosis="bank_conflicts")
@cuda.jit
def padded_rows(out, x):
    counts = cuda.shared.array((64, 17), int32)
    t = cuda.threadIdx.x
    for k in range(16):
        counts[t, k] = 0
    first = cuda.grid(1)
    for i in range(first, x.size, cuda.gridsize(1)):
        counts[t, x[i]] += 1
    for k in range(16):
        out[k, first] = counts[t, k]


@impostor("own_counts", diagnosis="bank_conflicts")
@cuda.jit
def swizzled_rows(out, x):
    counts = cuda.shared.array((64, 16), int32)
    t = cuda.threadIdx.x
    for k in range(16):
        counts[t, k ^ (t % 16)] = 0
    first = cuda.grid(1)
    for i in range(first, x.size, cuda.gridsize(1)):
        counts[t, x[i] ^ (t % 16)] += 1
    for k in range(16):
        out[k, first] = counts[t, k ^ (t % 16)]


@impostor("own_counts", diagnosis="bank_conflicts")
@cuda.jit
def turned_and_padded(out, x):
    counts = cuda.shared.array((16, 65), int32)
    t = cuda.threadIdx.x
    for k in range(16):
        counts[k, t] = 0
    first = cuda.grid(1)
    for i in range(first, x.size, cuda.gridsize(1)):
        counts[x[i], t] += 1
    for k in range(16):
        out[k, first] = counts[k, t]


@impostor("own_counts", diagnosis="bank_conflicts")
@cuda.jit
def half_a_word_each(out, x):
    counts = cuda.shared.array((16, 64), int16)
    t = cuda.threadIdx.x
    for k in range(16):
        counts[k, t] = 0
    first = cuda.grid(1)
    for i in range(first, x.size, cuda.gridsize(1)):
        counts[x[i], t] += 1
    for k in range(16):
        out[k, first] = counts[k, t]


@impostor("own_counts", diagnosis="too_much_shared")
@cuda.jit
def two_words_each(out, x):
    counts = cuda.shared.array((16, 64), int64)
    t = cuda.threadIdx.x
    for k in range(16):
        counts[k, t] = 0
    first = cuda.grid(1)
    for i in range(first, x.size, cuda.gridsize(1)):
        counts[x[i], t] += 1
    for k in range(16):
        out[k, first] = counts[k, t]


@impostor("own_counts", diagnosis="local_memory")
@cuda.jit
def local_array(out, x):
    counts = cuda.local.array(16, int32)
    for k in range(16):
        counts[k] = 0
    first = cuda.grid(1)
    for i in range(first, x.size, cuda.gridsize(1)):
        counts[x[i]] += 1
    for k in range(16):
        out[k, first] = counts[k]


@impostor("own_counts", diagnosis="counted_in_global_memory")
@cuda.jit
def counters_in_out(out, x):
    first = cuda.grid(1)
    for k in range(16):
        out[k, first] = 0
    for i in range(first, x.size, cuda.gridsize(1)):
        out[x[i], first] += 1


@impostor("own_counts", diagnosis="counted_in_global_memory")
@cuda.jit
def sixteen_passes(out, x):
    first = cuda.grid(1)
    for k in range(16):
        total = 0
        for i in range(first, x.size, cuda.gridsize(1)):
            if x[i] == k:
                total += 1
        out[k, first] = total


@impostor("own_counts", diagnosis="uninitialised")
@cuda.jit
def never_set_to_zero(out, x):
    counts = cuda.shared.array((16, 64), int32)
    t = cuda.threadIdx.x
    first = cuda.grid(1)
    for i in range(first, x.size, cuda.gridsize(1)):
        counts[x[i], t] += 1
    for k in range(16):
        out[k, first] = counts[k, t]


@impostor("own_counts", diagnosis="race")
@cuda.jit
def shared_by_all(out, x):
    counts = cuda.shared.array(16, int32)
    t = cuda.threadIdx.x
    if t < 16:
        counts[t] = 0
    cuda.syncthreads()
    first = cuda.grid(1)
    for i in range(first, x.size, cuda.gridsize(1)):
        counts[x[i]] += 1
    cuda.syncthreads()
    for k in range(16):
        out[k, first] = counts[k]


@impostor("own_counts", diagnosis="first_value_only")
@cuda.jit
def no_loop(out, x):
    counts = cuda.shared.array((16, 64), int32)
    t = cuda.threadIdx.x
    for k in range(16):
        counts[k, t] = 0
    first = cuda.grid(1)
    if first < x.size:
        counts[x[first], t] += 1
    for k in range(16):
        out[k, first] = counts[k, t]


@impostor("own_counts", diagnosis="one_block_only")
@cuda.jit
def column_of_the_block(out, x):
    counts = cuda.shared.array((16, 64), int32)
    t = cuda.threadIdx.x
    for k in range(16):
        counts[k, t] = 0
    first = cuda.grid(1)
    for i in range(first, x.size, cuda.gridsize(1)):
        counts[x[i], t] += 1
    if first < 64:
        for k in range(16):
            out[k, t] = counts[k, t]


# -- small_tile_transpose ----------------------------------------------------------------------


@impostor("small_tile_transpose", diagnosis="bank_conflicts")
@cuda.jit
def plain_tile(out, a, height, width):
    tile = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 16, cuda.blockIdx.y * 16
    if y0 + ty < height and x0 + tx < width:
        tile[ty, tx] = a[y0 + ty, x0 + tx]
    cuda.syncthreads()
    if x0 + ty < width and y0 + tx < height:
        out[x0 + ty, y0 + tx] = tile[tx, ty]


@impostor("small_tile_transpose", diagnosis="bank_conflicts")
@cuda.jit
def the_old_recipe(out, a, height, width):
    tile = cuda.shared.array((16, 17), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 16, cuda.blockIdx.y * 16
    if y0 + ty < height and x0 + tx < width:
        tile[ty, tx] = a[y0 + ty, x0 + tx]
    cuda.syncthreads()
    if x0 + ty < width and y0 + tx < height:
        out[x0 + ty, y0 + tx] = tile[tx, ty]


@impostor("small_tile_transpose", diagnosis="bank_conflicts")
@cuda.jit
def pitch_of_18(out, a, height, width):
    tile = cuda.shared.array((16, 18), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 16, cuda.blockIdx.y * 16
    if y0 + ty < height and x0 + tx < width:
        tile[ty, tx] = a[y0 + ty, x0 + tx]
    cuda.syncthreads()
    if x0 + ty < width and y0 + tx < height:
        out[x0 + ty, y0 + tx] = tile[tx, ty]


@impostor("small_tile_transpose", diagnosis="too_much_shared")
@cuda.jit
def skewed_with_padding(out, a, height, width):
    tile = cuda.shared.array((16, 48), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 16, cuda.blockIdx.y * 16
    if y0 + ty < height and x0 + tx < width:
        tile[ty, tx ^ ty] = a[y0 + ty, x0 + tx]
    cuda.syncthreads()
    if x0 + ty < width and y0 + tx < height:
        out[x0 + ty, y0 + tx] = tile[tx, ty ^ tx]


@impostor("small_tile_transpose", diagnosis="too_many_sectors")
@cuda.jit
def without_shared_memory(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        out[x, y] = a[y, x]


@impostor("small_tile_transpose", diagnosis="race")
@cuda.jit
def swizzled_without_barrier(out, a, height, width):
    tile = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 16, cuda.blockIdx.y * 16
    if y0 + ty < height and x0 + tx < width:
        tile[ty, tx ^ ty] = a[y0 + ty, x0 + tx]
    if x0 + ty < width and y0 + tx < height:
        out[x0 + ty, y0 + tx] = tile[tx, ty ^ tx]


@impostor("small_tile_transpose", diagnosis="swizzled_on_one_side")
@cuda.jit
def swizzle_in_the_store_alone(out, a, height, width):
    tile = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 16, cuda.blockIdx.y * 16
    if y0 + ty < height and x0 + tx < width:
        tile[ty, tx ^ ty] = a[y0 + ty, x0 + tx]
    cuda.syncthreads()
    if x0 + ty < width and y0 + tx < height:
        out[x0 + ty, y0 + tx] = tile[tx, ty]


@impostor("small_tile_transpose", diagnosis="swizzled_on_one_side")
@cuda.jit
def swizzle_in_the_read_alone(out, a, height, width):
    tile = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 16, cuda.blockIdx.y * 16
    if y0 + ty < height and x0 + tx < width:
        tile[ty, tx] = a[y0 + ty, x0 + tx]
    cuda.syncthreads()
    if x0 + ty < width and y0 + tx < height:
        out[x0 + ty, y0 + tx] = tile[tx, ty ^ tx]


@impostor("small_tile_transpose", diagnosis="out_of_bounds")
@cuda.jit
def swizzled_without_guards(out, a, height, width):
    tile = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 16, cuda.blockIdx.y * 16
    tile[ty, tx ^ ty] = a[y0 + ty, x0 + tx]
    cuda.syncthreads()
    out[x0 + ty, y0 + tx] = tile[tx, ty ^ tx]


@impostor("small_tile_transpose", diagnosis="divergent_barrier")
@cuda.jit
def barrier_behind_the_guard(out, a, height, width):
    tile = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 16, cuda.blockIdx.y * 16
    if y0 + ty < height and x0 + tx < width:
        tile[ty, tx ^ ty] = a[y0 + ty, x0 + tx]
        cuda.syncthreads()
    if x0 + ty < width and y0 + tx < height:
        out[x0 + ty, y0 + tx] = tile[tx, ty ^ tx]


@impostor("small_tile_transpose", diagnosis="only_first_tile")
@cuda.jit
def first_tile_only(out, a, height, width):
    tile = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    if ty < height and tx < width:
        tile[ty, tx ^ ty] = a[ty, tx]
    cuda.syncthreads()
    if ty < width and tx < height:
        out[ty, tx] = tile[tx, ty ^ tx]


@impostor("small_tile_transpose", diagnosis="reduced_precision")
@cuda.jit
def through_half(out, a, height, width):
    tile = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 16, cuda.blockIdx.y * 16
    if y0 + ty < height and x0 + tx < width:
        tile[ty, tx ^ ty] = np.float16(a[y0 + ty, x0 + tx])
    cuda.syncthreads()
    if x0 + ty < width and y0 + tx < height:
        out[x0 + ty, y0 + tx] = tile[tx, ty ^ tx]


# -- right values and no conflict, made by the first block -------------------------------------


def first_block(side, pitch, step):
    """Turns all tiles of side x side, one after the other."""

    @cuda.jit
    def first_block_turns_all(out, a, height, width):
        tile = cuda.shared.array((side, pitch), np.float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        if cuda.blockIdx.x == 0 and cuda.blockIdx.y == 0:
            for y0 in range(0, height, side):
                for x0 in range(0, width, side):
                    for j in range(ty, side, step):
                        if y0 + j < height and x0 + tx < width:
                            tile[j, tx ^ j] = a[y0 + j, x0 + tx]
                    cuda.syncthreads()
                    for j in range(ty, side, step):
                        if x0 + j < width and y0 + tx < height:
                            out[x0 + j, y0 + tx] = tile[tx, j ^ tx]
                    cuda.syncthreads()

    return first_block_turns_all


one_block_for_32 = impostor("padded_transpose", diagnosis="few_threads_work")(
    first_block(32, 32, 8)
)
one_block_for_16 = impostor("small_tile_transpose", diagnosis="few_threads_work")(
    first_block(16, 16, 16)
)


@impostor("own_counts", diagnosis="wrong_values")
@cuda.jit
def thirty_values_each(out, x):
    counts = cuda.shared.array((16, 64), int32)
    t = cuda.threadIdx.x
    for k in range(16):
        counts[k, t] = 0
    first = cuda.grid(1)
    for r in range(30):
        i = first + r * cuda.gridsize(1)
        if i < x.size:
            counts[x[i], t] += 1
    for k in range(16):
        out[k, first] = counts[k, t]
