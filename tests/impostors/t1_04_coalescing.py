"""Wrong answers to the lab t1_04_coalescing."""

from __future__ import annotations

import numpy as np
from numba import float32

from tests.impostors import impostor
from warpwise import cuda

# -- warp_sectors ------------------------------------------------------------------------------


@impostor("warp_sectors", diagnosis="constant_output")
def always_four(offset, stride, itemsize):
    return 4


@impostor("warp_sectors", diagnosis="offset_ignored")
def from_the_start(offset, stride, itemsize):
    return len({lane * stride * itemsize // 32 for lane in range(32)})


@impostor("warp_sectors", diagnosis="offset_ignored")
def rule_of_thumb(offset, stride, itemsize):
    return max(1, min(32, abs(stride) * itemsize))


@impostor("warp_sectors", diagnosis="stride_ignored")
def neighbours_only(offset, stride, itemsize):
    return len({(offset + lane) * itemsize // 32 for lane in range(32)})


@impostor("warp_sectors", diagnosis="always_four_bytes")
def float32_only(offset, stride, itemsize):
    return len({(offset + lane * stride) // 8 for lane in range(32)})


@impostor("warp_sectors", diagnosis="lines_counted")
def lines_of_128_bytes(offset, stride, itemsize):
    return len({(offset + lane * stride) * itemsize // 128 for lane in range(32)})


@impostor("warp_sectors", diagnosis="gaps_counted")
def first_to_last(offset, stride, itemsize):
    ends = sorted((offset * itemsize // 32, (offset + 31 * stride) * itemsize // 32))
    return ends[1] - ends[0] + 1


@impostor("warp_sectors", diagnosis="elements_for_bytes")
def sectors_of_32_elements(offset, stride, itemsize):
    return len({(offset + lane * stride) // 32 for lane in range(32)})


@impostor("warp_sectors", diagnosis="elements_counted")
def different_elements(offset, stride, itemsize):
    return len({offset + lane * stride for lane in range(32)})


@impostor("warp_sectors", diagnosis="lane_missing")
def thirty_one_lanes(offset, stride, itemsize):
    return len({(offset + lane * stride) * itemsize // 32 for lane in range(31)})


@impostor("warp_sectors", diagnosis="bytes_moved")
def bytes_for_sectors(offset, stride, itemsize):
    return 32 * len({(offset + lane * stride) * itemsize // 32 for lane in range(32)})


@impostor("warp_sectors", diagnosis="bytes_divided")
def only_the_bytes(offset, stride, itemsize):
    return 32 * itemsize // 32


@impostor("warp_sectors", diagnosis="words_for_sectors")
def words(offset, stride, itemsize):
    return len({(offset + lane * stride) * itemsize // 4 for lane in range(32)})


@impostor("warp_sectors", diagnosis="wrong_values")
def sectors_by_float_division(offset, stride, itemsize):
    return len({(offset + lane * stride) * itemsize / 32 for lane in range(32)} | {-1})


@impostor("warp_sectors", diagnosis="wrong_values")
def the_examples_only(offset, stride, itemsize):
    known = {(0, 1, 4): 4, (1, 1, 4): 5, (0, 2, 4): 8, (31, -1, 4): 4}
    return known.get((offset, stride, itemsize), 6)


@impostor("warp_sectors", diagnosis="no_return")
def printed_only(offset, stride, itemsize):
    len({(offset + lane * stride) * itemsize // 32 for lane in range(32)})


@impostor("warp_sectors", diagnosis="wrong_type")
def the_set_itself(offset, stride, itemsize):
    return sorted({(offset + lane * stride) * itemsize // 32 for lane in range(32)})


# -- scale_rows --------------------------------------------------------------------------------


@impostor("scale_rows", diagnosis="too_many_sectors")
@cuda.jit
def as_given(out, a, gain, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for y in range(x0, height, step_x):
        for x in range(y0, width, step_y):
            out[y, x] = gain[y] * a[y, x]


@impostor("scale_rows", diagnosis="too_many_sectors")
@cuda.jit
def flat_along_columns(out, a, gain, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for k in range(y0 * step_x + x0, height * width, step_x * step_y):
        out[k % height, k // height] = gain[k % height] * a[k % height, k // height]


@impostor("scale_rows", diagnosis="too_many_sectors")
@cuda.jit
def a_row_for_each_thread(out, a, gain, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for y in range(y0 * step_x + x0, height, step_x * step_y):
        for x in range(width):
            out[y, x] = gain[y] * a[y, x]


@impostor("scale_rows", diagnosis="never_written")
@cuda.jit
def steps_exchanged(out, a, gain, height, width):
    x0, y0 = cuda.grid(2)
    step_y, step_x = cuda.gridsize(2)
    for y in range(y0, height, step_y):
        for x in range(x0, width, step_x):
            out[y, x] = gain[y] * a[y, x]


@impostor("scale_rows", diagnosis="never_written")
@cuda.jit
def one_pixel_for_each_thread(out, a, gain, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        out[y, x] = gain[y] * a[y, x]


@impostor("scale_rows", diagnosis="written_more_than_once")
@cuda.jit
def every_block_does_all(out, a, gain, height, width):
    for y in range(cuda.threadIdx.y, height, cuda.blockDim.y):
        for x in range(cuda.threadIdx.x, width, cuda.blockDim.x):
            out[y, x] = gain[y] * a[y, x]


@impostor("scale_rows", diagnosis="out_of_bounds")
@cuda.jit
def gain_of_the_column(out, a, gain, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for y in range(y0, height, step_y):
        for x in range(x0, width, step_x):
            out[y, x] = gain[x] * a[y, x]


@impostor("scale_rows", diagnosis="all_zero")
@cuda.jit
def zeros(out, a, gain, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for y in range(y0, height, step_y):
        for x in range(x0, width, step_x):
            out[y, x] = 0


@impostor("scale_rows", diagnosis="input_copied")
@cuda.jit
def plain_copy(out, a, gain, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for y in range(y0, height, step_y):
        for x in range(x0, width, step_x):
            out[y, x] = a[y, x]


@impostor("scale_rows", diagnosis="gain_added")
@cuda.jit
def sum_for_product(out, a, gain, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for y in range(y0, height, step_y):
        for x in range(x0, width, step_x):
            out[y, x] = gain[y] + a[y, x]


@impostor("scale_rows", diagnosis="first_gain")
@cuda.jit
def one_gain_for_all(out, a, gain, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for y in range(y0, height, step_y):
        for x in range(x0, width, step_x):
            out[y, x] = gain[0] * a[y, x]


@impostor("scale_rows", diagnosis="reduced_precision")
@cuda.jit
def half_precision(out, a, gain, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for y in range(y0, height, step_y):
        for x in range(x0, width, step_x):
            out[y, x] = np.float16(gain[y] * a[y, x])


# -- record_sectors ----------------------------------------------------------------------------


@impostor("record_sectors", diagnosis="one_field_only")
def perfect_cache():
    return 4096 * 16 // 32


@impostor("record_sectors", diagnosis="records_of_12_bytes")
def without_the_mass():
    return 3 * 128 * 12


@impostor("record_sectors", diagnosis="as_arrays")
def four_sectors_a_request():
    return 3 * 128 * 4


@impostor("record_sectors", diagnosis="mass_counted")
def all_four_fields():
    return 4 * 128 * 16


@impostor("record_sectors", diagnosis="sector_for_each_lane")
def thirty_two_a_request():
    return 3 * 128 * 32


@impostor("record_sectors", diagnosis="requests_counted")
def requests():
    return 3 * 4096 // 32


@impostor("record_sectors", diagnosis="one_warp_only")
def a_single_warp():
    return 3 * 16


@impostor("record_sectors", diagnosis="bytes_moved")
def bytes_that_move():
    return 3 * 128 * 16 * 32


@impostor("record_sectors", diagnosis="bytes_requested")
def bytes_asked_for():
    return 3 * 4096 * 4


@impostor("record_sectors", diagnosis="wrong_values")
def blocks_for_warps():
    return 3 * 16 * 16


# -- split_fields ------------------------------------------------------------------------------


@impostor("split_fields", diagnosis="too_many_sectors")
@cuda.jit
def a_record_for_each_thread(arrays, records, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        arrays[0, i] = records[3 * i]
        arrays[1, i] = records[3 * i + 1]
        arrays[2, i] = records[3 * i + 2]


@impostor("split_fields", diagnosis="too_many_sectors")
@cuda.jit
def threads_over_the_output(arrays, records, n):
    for k in range(cuda.grid(1), 3 * n, cuda.gridsize(1)):
        arrays[k // n, k % n] = records[3 * (k % n) + k // n]


@impostor("split_fields", diagnosis="too_many_sectors")
@cuda.jit
def a_piece_for_each_thread(arrays, records, n):
    each = (3 * n + cuda.gridsize(1) - 1) // cuda.gridsize(1)
    first = cuda.grid(1) * each
    for k in range(first, min(first + each, 3 * n)):
        arrays[k % 3, k // 3] = records[k]


@impostor("split_fields", diagnosis="race")
@cuda.jit
def no_barrier_after_the_tile(arrays, records, n):
    tile = cuda.shared.array(3 * 128, float32)
    t, size = cuda.threadIdx.x, cuda.blockDim.x
    for first in range(cuda.blockIdx.x * size, n, cuda.gridsize(1)):
        for j in range(t, 3 * size, size):
            if 3 * first + j < 3 * n:
                tile[j] = records[3 * first + j]
        if first + t < n:
            for f in range(3):
                arrays[f, first + t] = tile[3 * t + f]


@impostor("split_fields", diagnosis="only_reshaped")
@cuda.jit
def rows_of_n(arrays, records, n):
    for k in range(cuda.grid(1), 3 * n, cuda.gridsize(1)):
        arrays[k // n, k % n] = records[k]


@impostor("split_fields", diagnosis="never_written")
@cuda.jit
def only_n_numbers(arrays, records, n):
    for k in range(cuda.grid(1), n, cuda.gridsize(1)):
        arrays[k % 3, k // 3] = records[k]


@impostor("split_fields", diagnosis="never_written")
@cuda.jit
def no_loop(arrays, records, n):
    k = cuda.grid(1)
    if k < 3 * n:
        arrays[k % 3, k // 3] = records[k]


@impostor("split_fields", diagnosis="never_written")
@cuda.jit
def whole_warps_only(arrays, records, n):
    for k in range(cuda.grid(1), 3 * n // 32 * 32, cuda.gridsize(1)):
        arrays[k % 3, k // 3] = records[k]


@impostor("split_fields", diagnosis="out_of_bounds")
@cuda.jit
def indices_exchanged(arrays, records, n):
    for k in range(cuda.grid(1), 3 * n, cuda.gridsize(1)):
        arrays[k // 3, k % 3] = records[k]


@impostor("split_fields", diagnosis="fields_reversed")
@cuda.jit
def last_field_first(arrays, records, n):
    for k in range(cuda.grid(1), 3 * n, cuda.gridsize(1)):
        arrays[2 - k % 3, k // 3] = records[k]


@impostor("split_fields", diagnosis="records_overlap")
@cuda.jit
def records_of_one_number(arrays, records, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        for f in range(3):
            arrays[f, i] = records[i + f]


@impostor("split_fields", diagnosis="first_field_everywhere")
@cuda.jit
def field_forgotten(arrays, records, n):
    for k in range(cuda.grid(1), 3 * n, cuda.gridsize(1)):
        arrays[k % 3, k // 3] = records[k // 3 * 3]


@impostor("split_fields", diagnosis="all_zero")
@cuda.jit
def nothing_but_zeros(arrays, records, n):
    for k in range(cuda.grid(1), 3 * n, cuda.gridsize(1)):
        arrays[k % 3, k // 3] = 0


@impostor("split_fields", diagnosis="reduced_precision")
@cuda.jit
def through_float16(arrays, records, n):
    for k in range(cuda.grid(1), 3 * n, cuda.gridsize(1)):
        arrays[k % 3, k // 3] = np.float16(records[k])


# -- dot_rows ----------------------------------------------------------------------------------


@cuda.jit(device=True)
def warp_sum(value):
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, step)
    return value


@impostor("dot_rows", diagnosis="too_many_sectors")
@cuda.jit
def a_row_for_a_thread(out, a, v, height, width):
    for y in range(cuda.grid(1), height, cuda.gridsize(1)):
        total = np.float32(0)
        for x in range(width):
            total += a[y, x] * v[x]
        out[y] = total


@impostor("dot_rows", diagnosis="too_many_sectors")
@cuda.jit
def a_piece_for_each_lane(out, a, v, height, width):
    lane = cuda.threadIdx.x % 32
    each = (width + 31) // 32
    for y in range(cuda.grid(1) // 32, height, cuda.gridsize(1) // 32):
        total = np.float32(0)
        for x in range(lane * each, min(lane * each + each, width)):
            total += a[y, x] * v[x]
        total = warp_sum(total)
        if lane == 0:
            out[y] = total


@impostor("dot_rows", diagnosis="first_lane_only")
@cuda.jit
def totals_not_added(out, a, v, height, width):
    lane = cuda.threadIdx.x % 32
    for y in range(cuda.grid(1) // 32, height, cuda.gridsize(1) // 32):
        total = np.float32(0)
        for x in range(lane, width, 32):
            total += a[y, x] * v[x]
        if lane == 0:
            out[y] = total


@impostor("dot_rows", diagnosis="first_32_columns")
@cuda.jit
def one_column_for_each_lane(out, a, v, height, width):
    lane = cuda.threadIdx.x % 32
    for y in range(cuda.grid(1) // 32, height, cuda.gridsize(1) // 32):
        total = np.float32(0)
        if lane < width:
            total = a[y, lane] * v[lane]
        total = warp_sum(total)
        if lane == 0:
            out[y] = total


@impostor("dot_rows", diagnosis="whole_steps_only")
@cuda.jit
def rest_of_the_row_missing(out, a, v, height, width):
    lane = cuda.threadIdx.x % 32
    for y in range(cuda.grid(1) // 32, height, cuda.gridsize(1) // 32):
        total = np.float32(0)
        for step in range(width // 32):
            x = 32 * step + lane
            total += a[y, x] * v[x]
        total = warp_sum(total)
        if lane == 0:
            out[y] = total


@impostor("dot_rows", diagnosis="vector_ignored")
@cuda.jit
def sum_of_the_row(out, a, v, height, width):
    lane = cuda.threadIdx.x % 32
    for y in range(cuda.grid(1) // 32, height, cuda.gridsize(1) // 32):
        total = np.float32(0)
        for x in range(lane, width, 32):
            total += a[y, x]
        total = warp_sum(total)
        if lane == 0:
            out[y] = total


@impostor("dot_rows", diagnosis="half_warp")
@cuda.jit
def one_step_of_the_sum(out, a, v, height, width):
    lane = cuda.threadIdx.x % 32
    for y in range(cuda.grid(1) // 32, height, cuda.gridsize(1) // 32):
        total = np.float32(0)
        for x in range(lane, width, 32):
            total += a[y, x] * v[x]
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, 16)
        if lane == 0:
            out[y] = total


@impostor("dot_rows", diagnosis="all_lanes_stored")
@cuda.jit
def every_lane_stores(out, a, v, height, width):
    lane = cuda.threadIdx.x % 32
    for y in range(cuda.grid(1) // 32, height, cuda.gridsize(1) // 32):
        total = np.float32(0)
        for x in range(lane, width, 32):
            total += a[y, x] * v[x]
        out[y] = warp_sum(total)


@impostor("dot_rows", diagnosis="total_kept")
@cuda.jit
def total_set_once(out, a, v, height, width):
    lane = cuda.threadIdx.x % 32
    total = np.float32(0)
    for y in range(cuda.grid(1) // 32, height, cuda.gridsize(1) // 32):
        for x in range(lane, width, 32):
            total += a[y, x] * v[x]
        total = warp_sum(total)
        if lane == 0:
            out[y] = total


@impostor("dot_rows", diagnosis="mask_names_absent")
@cuda.jit
def sum_inside_the_loop(out, a, v, height, width):
    lane = cuda.threadIdx.x % 32
    for y in range(cuda.grid(1) // 32, height, cuda.gridsize(1) // 32):
        total = np.float32(0)
        for x in range(lane, width, 32):
            total += warp_sum(a[y, x] * v[x])
        if lane == 0:
            out[y] = total


@impostor("dot_rows", diagnosis="mask_names_absent")
@cuda.jit
def a_row_for_each_thread_of_the_warp(out, a, v, height, width):
    lane = cuda.threadIdx.x % 32
    for y in range(cuda.grid(1), height, cuda.gridsize(1)):
        total = np.float32(0)
        for x in range(lane, width, 32):
            total += a[y, x] * v[x]
        total = warp_sum(total)
        if lane == 0:
            out[y] = total


@impostor("dot_rows", diagnosis="output_read")
@cuda.jit
def atomics_on_the_output(out, a, v, height, width):
    lane = cuda.threadIdx.x % 32
    for y in range(cuda.grid(1) // 32, height, cuda.gridsize(1) // 32):
        for x in range(lane, width, 32):
            cuda.atomic.add(out, y, a[y, x] * v[x])


@impostor("dot_rows", diagnosis="only_first_thread")
@cuda.jit
def one_row_for_each_block(out, a, v, height, width):
    y, t = cuda.blockIdx.x, cuda.threadIdx.x
    if y < height and t < 32:
        total = np.float32(0)
        for x in range(t, width, 32):
            total += a[y, x] * v[x]
        total = warp_sum(total)
        if t == 0:
            out[y] = total


@impostor("dot_rows", diagnosis="never_written")
@cuda.jit
def one_row_for_each_warp(out, a, v, height, width):
    lane, y = cuda.threadIdx.x % 32, cuda.grid(1) // 32
    if y < height:
        total = np.float32(0)
        for x in range(lane, width, 32):
            total += a[y, x] * v[x]
        total = warp_sum(total)
        if lane == 0:
            out[y] = total


@impostor("dot_rows", diagnosis="written_more_than_once")
@cuda.jit
def warps_of_a_block_only(out, a, v, height, width):
    lane = cuda.threadIdx.x % 32
    for y in range(cuda.threadIdx.x // 32, height, cuda.blockDim.x // 32):
        total = np.float32(0)
        for x in range(lane, width, 32):
            total += a[y, x] * v[x]
        total = warp_sum(total)
        if lane == 0:
            out[y] = total


@impostor("dot_rows", diagnosis="all_zero")
@cuda.jit
def sum_never_stored(out, a, v, height, width):
    lane = cuda.threadIdx.x % 32
    for y in range(cuda.grid(1) // 32, height, cuda.gridsize(1) // 32):
        if lane == 0:
            out[y] = 0


@impostor("dot_rows", diagnosis="reduced_precision")
@cuda.jit
def products_in_half_precision(out, a, v, height, width):
    lane = cuda.threadIdx.x % 32
    for y in range(cuda.grid(1) // 32, height, cuda.gridsize(1) // 32):
        total = np.float32(0)
        for x in range(lane, width, 32):
            total += np.float32(np.float16(a[y, x])) * np.float32(np.float16(v[x]))
        total = warp_sum(total)
        if lane == 0:
            out[y] = total


@impostor("dot_rows", diagnosis="output_read")
@cuda.jit
def added_to_the_output(out, a, v, height, width):
    lane = cuda.threadIdx.x % 32
    for y in range(cuda.grid(1) // 32, height, cuda.gridsize(1) // 32):
        for first in range(0, width, 32):
            x = first + lane
            product = np.float32(0)
            if x < width:
                product = a[y, x] * v[x]
            part = warp_sum(product)
            if lane == 0:
                out[y] += part


# -- right values and few sectors, but most of the launch is idle -------------------------------


@impostor("scale_rows", diagnosis="few_threads_work")
@cuda.jit
def first_block_scales_the_picture(out, a, gain, height, width):
    if cuda.blockIdx.x == 0 and cuda.blockIdx.y == 0:
        for y in range(cuda.threadIdx.y, height, cuda.blockDim.y):
            for x in range(cuda.threadIdx.x, width, cuda.blockDim.x):
                out[y, x] = gain[y] * a[y, x]


@impostor("split_fields", diagnosis="few_threads_work")
@cuda.jit
def first_warp_splits_all(arrays, records, n):
    if cuda.grid(1) < 32:
        for k in range(cuda.grid(1), 3 * n, 32):
            arrays[k % 3, k // 3] = records[k]


@impostor("dot_rows", diagnosis="few_threads_work")
@cuda.jit
def first_warp_sums_all(out, a, v, height, width):
    lane = cuda.threadIdx.x % 32
    if cuda.grid(1) < 32:
        for y in range(height):
            total = np.float32(0)
            for x in range(lane, width, 32):
                total += a[y, x] * v[x]
            total = warp_sum(total)
            if lane == 0:
                out[y] = total


# -- right up to a size ------------------------------------------------------------------------


@impostor("scale_rows", diagnosis="never_written")
@cuda.jit
def sixteen_rounds(out, a, gain, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for down in range(16):
        for right in range(16):
            y, x = y0 + down * step_y, x0 + right * step_x
            if y < height and x < width:
                out[y, x] = gain[y] * a[y, x]


@impostor("split_fields", diagnosis="never_written")
@cuda.jit
def thirty_rounds(arrays, records, n):
    for r in range(30):
        k = cuda.grid(1) + r * cuda.gridsize(1)
        if k < 3 * n:
            arrays[k % 3, k // 3] = records[k]


@impostor("dot_rows", diagnosis="wrong_values")
@cuda.jit
def five_hundred_columns(out, a, v, height, width):
    lane = cuda.threadIdx.x % 32
    for y in range(cuda.grid(1) // 32, height, cuda.gridsize(1) // 32):
        total = np.float32(0)
        for x in range(lane, min(width, 512), 32):
            total += a[y, x] * v[x]
        total = warp_sum(total)
        if lane == 0:
            out[y] = total
