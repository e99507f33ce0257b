"""Wrong answers to the lab t1_02_grids."""

from __future__ import annotations

import numpy as np

from tests.impostors import impostor
from warpwise import cuda

# -- brighten ----------------------------------------------------------------------------------


@impostor("brighten", diagnosis="out_of_bounds")
@cuda.jit
def no_guards(out, a, gain, height, width):
    x, y = cuda.grid(2)
    out[y, x] = gain * a[y, x]


@impostor("brighten", diagnosis="out_of_bounds")
@cuda.jit
def guard_on_columns_only(out, a, gain, height, width):
    x, y = cuda.grid(2)
    if x < width:
        out[y, x] = gain * a[y, x]


@impostor("brighten", diagnosis="out_of_bounds")
@cuda.jit
def guard_on_rows_only(out, a, gain, height, width):
    x, y = cuda.grid(2)
    if y < height:
        out[y, x] = gain * a[y, x]


@impostor("brighten", diagnosis="out_of_bounds")
@cuda.jit
def or_between_the_guards(out, a, gain, height, width):
    x, y = cuda.grid(2)
    if x < width or y < height:
        out[y, x] = gain * a[y, x]


@impostor("brighten", diagnosis="out_of_bounds")
@cuda.jit
def guard_off_by_one(out, a, gain, height, width):
    x, y = cuda.grid(2)
    if x <= width and y <= height:
        out[y, x] = gain * a[y, x]


@impostor("brighten", diagnosis="out_of_bounds")
@cuda.jit
def x_in_front(out, a, gain, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        out[x, y] = gain * a[x, y]


@impostor("brighten", diagnosis="transposed")
@cuda.jit
def x_and_y_swapped(out, a, gain, height, width):
    y, x = cuda.grid(2)
    if x < width and y < height:
        out[y, x] = gain * a[y, x]


@impostor("brighten", diagnosis="only_first_block")
@cuda.jit
def thread_index_only(out, a, gain, height, width):
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    if x < width and y < height:
        out[y, x] = gain * a[y, x]


@impostor("brighten", diagnosis="one_block_row")
@cuda.jit
def no_block_in_y(out, a, gain, height, width):
    x = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    y = cuda.threadIdx.y
    if x < width and y < height:
        out[y, x] = gain * a[y, x]


@impostor("brighten", diagnosis="one_block_column")
@cuda.jit
def no_block_in_x(out, a, gain, height, width):
    x = cuda.threadIdx.x
    y = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    if x < width and y < height:
        out[y, x] = gain * a[y, x]


@impostor("brighten", diagnosis="reduced_precision")
@cuda.jit
def half_precision(out, a, gain, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        out[y, x] = np.float16(gain) * np.float16(a[y, x])


@impostor("brighten", diagnosis="truncated")
@cuda.jit
def whole_numbers(out, a, gain, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        out[y, x] = int(gain * a[y, x])


@impostor("brighten", diagnosis="gain_added")
@cuda.jit
def plus_gain(out, a, gain, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        out[y, x] = a[y, x] + gain


@impostor("brighten", diagnosis="input_copied")
@cuda.jit
def gain_forgotten(out, a, gain, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        out[y, x] = a[y, x]


@impostor("brighten", diagnosis="clipped")
@cuda.jit
def never_above_one(out, a, gain, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        out[y, x] = min(gain * a[y, x], 1.0)


@impostor("brighten", diagnosis="all_zero")
@cuda.jit
def zeros(out, a, gain, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        out[y, x] = 0.0


@impostor("brighten", diagnosis="input_modified")
@cuda.jit
def in_place(out, a, gain, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        a[y, x] = gain * a[y, x]


@impostor("brighten", diagnosis="multiple_of_block_only")
@cuda.jit
def full_blocks_only(out, a, gain, height, width):
    x, y = cuda.grid(2)
    whole_x = width // cuda.blockDim.x * cuda.blockDim.x
    whole_y = height // cuda.blockDim.y * cuda.blockDim.y
    if x < whole_x and y < whole_y:
        out[y, x] = gain * a[y, x]


# -- blocks_2d ---------------------------------------------------------------------------------


@impostor("blocks_2d", diagnosis="axes_swapped")
def rows_first(height, width, block):
    bx, by = block
    return (height + by - 1) // by, (width + bx - 1) // bx


@impostor("blocks_2d", diagnosis="sizes_swapped")
def height_along_x(height, width, block):
    bx, by = block
    return (height + bx - 1) // bx, (width + by - 1) // by


@impostor("blocks_2d", diagnosis="rounded_down")
def floor_division(height, width, block):
    return width // block[0], height // block[1]


@impostor("blocks_2d", diagnosis="one_too_many")
def always_one_more(height, width, block):
    return width // block[0] + 1, height // block[1] + 1


@impostor("blocks_2d", diagnosis="one_side_for_both")
def square_block(height, width, block):
    side = block[0]
    return (width + side - 1) // side, (height + side - 1) // side


@impostor("blocks_2d", diagnosis="blocks_of_16")
def always_16(height, width, block):
    return (width + 15) // 16, (height + 15) // 16


@impostor("blocks_2d", diagnosis="block_swapped")
def bx_and_by_exchanged(height, width, block):
    by, bx = block
    return (width + bx - 1) // bx, (height + by - 1) // by


@impostor("blocks_2d", diagnosis="parentheses_missing")
def no_parentheses(height, width, block):
    bx, by = block
    return width + bx - 1 // bx, height + by - 1 // by


@impostor("blocks_2d", diagnosis="wrong_type")
def true_division(height, width, block):
    return (width + block[0] - 1) / block[0], (height + block[1] - 1) / block[1]


@impostor("blocks_2d", diagnosis="wrong_type")
def total_number(height, width, block):
    bx, by = block
    return ((width + bx - 1) // bx) * ((height + by - 1) // by)


@impostor("blocks_2d", diagnosis="no_return")
def no_return(height, width, block):
    gx = (width + block[0] - 1) // block[0]
    gy = (height + block[1] - 1) // block[1]
    (gx, gy)


# -- transpose_copy ----------------------------------------------------------------------------


@impostor("transpose_copy", diagnosis="out_of_bounds")
@cuda.jit
def plain_copy(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        out[y, x] = a[y, x]


@impostor("transpose_copy", diagnosis="out_of_bounds")
@cuda.jit
def guards_exchanged(out, a, height, width):
    x, y = cuda.grid(2)
    if x < height and y < width:
        out[x, y] = a[y, x]


@impostor("transpose_copy", diagnosis="transposed")
@cuda.jit
def grid_exchanged(out, a, height, width):
    y, x = cuda.grid(2)
    if x < width and y < height:
        out[x, y] = a[y, x]


@impostor("transpose_copy", diagnosis="same_memory_order")
@cuda.jit
def reshape(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        i = y * width + x
        out[i // height, i % height] = a[y, x]


@impostor("transpose_copy", diagnosis="one_block_row")
@cuda.jit
def turned_no_block_in_y(out, a, height, width):
    x = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    y = cuda.threadIdx.y
    if x < width and y < height:
        out[x, y] = a[y, x]


@impostor("transpose_copy", diagnosis="reduced_precision")
@cuda.jit
def turned_half(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        out[x, y] = np.float16(a[y, x])


# -- cross_reads -------------------------------------------------------------------------------


@impostor("cross_reads", diagnosis="edges_counted_as_inner")
def five_everywhere():
    return 5 * 48 * 64


@impostor("cross_reads", diagnosis="edges_left_out")
def inner_pixels_only():
    return 5 * 46 * 62


@impostor("cross_reads", diagnosis="nine_per_pixel")
def nine_instead_of_five():
    return 9 * 46 * 62 + 48 * 64 - 46 * 62


@impostor("cross_reads", diagnosis="one_per_pixel")
def number_of_pixels():
    return 48 * 64


@impostor("cross_reads", diagnosis="one_side_only")
def one_row_and_one_column():
    return 5 * 47 * 63 + 48 + 64 - 1


@impostor("cross_reads", diagnosis="corners_counted_twice")
def corners_counted_twice():
    return 5 * 46 * 62 + 2 * 48 + 2 * 64


@impostor("cross_reads", diagnosis="wrong_values")
def only_the_edge():
    return 48 * 64 - 46 * 62


@impostor("cross_reads", diagnosis="wrong_type")
def as_a_float():
    return 5 * 46 * 62 + 48 * 64 / 1


# -- cross_blur --------------------------------------------------------------------------------


@impostor("cross_blur", diagnosis="out_of_bounds")
@cuda.jit
def edges_not_handled(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        out[y, x] = (a[y, x] + a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1]) / 5


@impostor("cross_blur", diagnosis="edges_wrapped")
@cuda.jit
def far_edges_only(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width - 1 and y < height - 1:
        out[y, x] = (a[y, x] + a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1]) / 5
    elif x < width and y < height:
        out[y, x] = a[y, x]


@impostor("cross_blur", diagnosis="never_written")
@cuda.jit
def inner_pixels_written(out, a, height, width):
    x, y = cuda.grid(2)
    if 0 < x < width - 1 and 0 < y < height - 1:
        out[y, x] = (a[y, x] + a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1]) / 5


@impostor("cross_blur", diagnosis="edges_zero")
@cuda.jit
def edges_zeroed(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        total = 0.0
        if 0 < x < width - 1 and 0 < y < height - 1:
            total = (a[y, x] + a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1]) / 5
        out[y, x] = total


@impostor("cross_blur", diagnosis="edges_clamped")
@cuda.jit
def edges_repeated(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        up, down = max(y - 1, 0), min(y + 1, height - 1)
        left, right = max(x - 1, 0), min(x + 1, width - 1)
        out[y, x] = (a[y, x] + a[up, x] + a[down, x] + a[y, left] + a[y, right]) / 5


@impostor("cross_blur", diagnosis="edge_two_thick")
@cuda.jit
def off_by_one_halo(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        if 1 < x < width - 2 and 1 < y < height - 2:
            out[y, x] = (a[y, x] + a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1]) / 5
        else:
            out[y, x] = a[y, x]


@impostor("cross_blur", diagnosis="not_divided")
@cuda.jit
def sum_of_five(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        if 0 < x < width - 1 and 0 < y < height - 1:
            out[y, x] = a[y, x] + a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1]
        else:
            out[y, x] = a[y, x]


@impostor("cross_blur", diagnosis="middle_left_out")
@cuda.jit
def four_neighbours(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        if 0 < x < width - 1 and 0 < y < height - 1:
            out[y, x] = (a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1]) / 4
        else:
            out[y, x] = a[y, x]


@impostor("cross_blur", diagnosis="divided_by_four")
@cuda.jit
def wrong_divisor(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        if 0 < x < width - 1 and 0 < y < height - 1:
            out[y, x] = (a[y, x] + a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1]) / 4
        else:
            out[y, x] = a[y, x]


@impostor("cross_blur", diagnosis="diagonal_neighbours")
@cuda.jit
def corners_instead(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        if 0 < x < width - 1 and 0 < y < height - 1:
            corners = a[y - 1, x - 1] + a[y - 1, x + 1] + a[y + 1, x - 1] + a[y + 1, x + 1]
            out[y, x] = (a[y, x] + corners) / 5
        else:
            out[y, x] = a[y, x]


@impostor("cross_blur", diagnosis="wrong_values")
@cuda.jit
def one_neighbour_twice(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        if 0 < x < width - 1 and 0 < y < height - 1:
            out[y, x] = (a[y, x] + a[y - 1, x] + a[y - 1, x] + a[y, x - 1] + a[y, x + 1]) / 5
        else:
            out[y, x] = a[y, x]


@impostor("cross_blur", diagnosis="only_right_divided")
@cuda.jit
def parentheses_forgotten(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        if 0 < x < width - 1 and 0 < y < height - 1:
            out[y, x] = a[y, x] + a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1] / 5
        else:
            out[y, x] = a[y, x]


@impostor("cross_blur", diagnosis="only_middle_divided")
@cuda.jit
def parentheses_forgotten_middle_last(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        if 0 < x < width - 1 and 0 < y < height - 1:
            out[y, x] = a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1] + a[y, x] / 5
        else:
            out[y, x] = a[y, x]


@impostor("cross_blur", diagnosis="box_instead")
@cuda.jit
def blur_of_the_lesson(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        if 0 < x < width - 1 and 0 < y < height - 1:
            total = 0.0
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    total += a[y + dy, x + dx]
            out[y, x] = total / 9
        else:
            out[y, x] = a[y, x]


@impostor("cross_blur", diagnosis="box_divided_by_five")
@cuda.jit
def blur_of_the_lesson_by_five(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        if 0 < x < width - 1 and 0 < y < height - 1:
            total = 0.0
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    total += a[y + dy, x + dx]
            out[y, x] = total / 5
        else:
            out[y, x] = a[y, x]


@impostor("cross_blur", diagnosis="output_read")
@cuda.jit
def adds_to_the_output(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        if 0 < x < width - 1 and 0 < y < height - 1:
            out[y, x] += (a[y, x] + a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1]) / 5
        else:
            out[y, x] = a[y, x]


@impostor("cross_blur", diagnosis="rounded_down")
@cuda.jit
def floor_of_the_mean(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        if 0 < x < width - 1 and 0 < y < height - 1:
            out[y, x] = (a[y, x] + a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1]) // 5
        else:
            out[y, x] = a[y, x]


@impostor("cross_blur", diagnosis="input_modified")
@cuda.jit
def stencil_in_place(out, a, height, width):
    x, y = cuda.grid(2)
    if 0 < x < width - 1 and 0 < y < height - 1:
        a[y, x] = (a[y, x] + a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1]) / 5
    if x < width and y < height:
        out[y, x] = a[y, x]


@impostor("cross_blur", diagnosis="input_copied")
@cuda.jit
def copy_everywhere(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        out[y, x] = a[y, x]


@impostor("cross_blur", diagnosis="one_block_row")
@cuda.jit
def first_block_row(out, a, height, width):
    x = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    y = cuda.threadIdx.y
    if x < width and y < height:
        if 0 < x < width - 1 and 0 < y < height - 1:
            out[y, x] = (a[y, x] + a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1]) / 5
        else:
            out[y, x] = a[y, x]


@impostor("cross_blur", diagnosis="transposed")
@cuda.jit
def swapped_stencil(out, a, height, width):
    y, x = cuda.grid(2)
    if x < width and y < height:
        if 0 < x < width - 1 and 0 < y < height - 1:
            out[y, x] = (a[y, x] + a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1]) / 5
        else:
            out[y, x] = a[y, x]


@impostor("cross_blur", diagnosis="reduced_precision")
@cuda.jit
def half_sum(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        if 0 < x < width - 1 and 0 < y < height - 1:
            total = a[y, x] + a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1]
            out[y, x] = np.float16(total / 5)
        else:
            out[y, x] = np.float16(a[y, x])


# -- box_blur ----------------------------------------------------------------------------------


@impostor("box_blur", diagnosis="no_loop")
@cuda.jit
def one_pixel_per_thread(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        total = 0.0
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                row = min(max(y + dy, 0), height - 1)
                column = min(max(x + dx, 0), width - 1)
                total += a[row, column]
        out[y, x] = total / 9


@impostor("box_blur", diagnosis="no_loop_over_rows")
@cuda.jit
def loop_along_x_only(out, a, height, width):
    x0, y = cuda.grid(2)
    step, _ = cuda.gridsize(2)
    if y < height:
        for x in range(x0, width, step):
            total = 0.0
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    row = min(max(y + dy, 0), height - 1)
                    column = min(max(x + dx, 0), width - 1)
                    total += a[row, column]
            out[y, x] = total / 9


@impostor("box_blur", diagnosis="no_loop_over_columns")
@cuda.jit
def loop_along_y_only(out, a, height, width):
    x, y0 = cuda.grid(2)
    _, step = cuda.gridsize(2)
    if x < width:
        for y in range(y0, height, step):
            total = 0.0
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    row = min(max(y + dy, 0), height - 1)
                    column = min(max(x + dx, 0), width - 1)
                    total += a[row, column]
            out[y, x] = total / 9


@impostor("box_blur", diagnosis="written_more_than_once")
@cuda.jit
def block_as_step(out, a, height, width):
    x0, y0 = cuda.grid(2)
    for y in range(y0, height, cuda.blockDim.y):
        for x in range(x0, width, cuda.blockDim.x):
            total = 0.0
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    row = min(max(y + dy, 0), height - 1)
                    column = min(max(x + dx, 0), width - 1)
                    total += a[row, column]
            out[y, x] = total / 9


@impostor("box_blur", diagnosis="edges_copied")
@cuda.jit
def edges_copied_in_a_loop(out, a, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for y in range(y0, height, step_y):
        for x in range(x0, width, step_x):
            if 0 < x < width - 1 and 0 < y < height - 1:
                total = 0.0
                for dy in range(-1, 2):
                    for dx in range(-1, 2):
                        total += a[y + dy, x + dx]
                out[y, x] = total / 9
            else:
                out[y, x] = a[y, x]


@impostor("box_blur", diagnosis="edges_zero_padded")
@cuda.jit
def zeros_outside(out, a, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for y in range(y0, height, step_y):
        for x in range(x0, width, step_x):
            total = 0.0
            for row in range(max(y - 1, 0), min(y + 2, height)):
                for column in range(max(x - 1, 0), min(x + 2, width)):
                    total += a[row, column]
            out[y, x] = total / 9


@impostor("box_blur", diagnosis="edges_averaged")
@cuda.jit
def mean_of_what_exists(out, a, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for y in range(y0, height, step_y):
        for x in range(x0, width, step_x):
            total = 0.0
            count = 0
            for row in range(max(y - 1, 0), min(y + 2, height)):
                for column in range(max(x - 1, 0), min(x + 2, width)):
                    total += a[row, column]
                    count += 1
            out[y, x] = total / count


@impostor("box_blur", diagnosis="edges_wrapped")
@cuda.jit
def clamped_above_only(out, a, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for y in range(y0, height, step_y):
        for x in range(x0, width, step_x):
            total = 0.0
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    total += a[min(y + dy, height - 1), min(x + dx, width - 1)]
            out[y, x] = total / 9


@impostor("box_blur", diagnosis="out_of_bounds")
@cuda.jit
def clamped_below_only(out, a, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for y in range(y0, height, step_y):
        for x in range(x0, width, step_x):
            total = 0.0
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    total += a[max(y + dy, 0), max(x + dx, 0)]
            out[y, x] = total / 9


@impostor("box_blur", diagnosis="last_offset_missing")
@cuda.jit
def range_ends_too_early(out, a, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for y in range(y0, height, step_y):
        for x in range(x0, width, step_x):
            total = 0.0
            for dy in range(-1, 1):
                for dx in range(-1, 1):
                    row = min(max(y + dy, 0), height - 1)
                    column = min(max(x + dx, 0), width - 1)
                    total += a[row, column]
            out[y, x] = total / 9


@impostor("box_blur", diagnosis="total_kept")
@cuda.jit
def total_set_once(out, a, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    total = 0.0
    for y in range(y0, height, step_y):
        for x in range(x0, width, step_x):
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    row = min(max(y + dy, 0), height - 1)
                    column = min(max(x + dx, 0), width - 1)
                    total += a[row, column]
            out[y, x] = total / 9


@impostor("box_blur", diagnosis="total_kept_along_row")
@cuda.jit
def total_set_once_a_row(out, a, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for y in range(y0, height, step_y):
        total = 0.0
        for x in range(x0, width, step_x):
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    row = min(max(y + dy, 0), height - 1)
                    column = min(max(x + dx, 0), width - 1)
                    total += a[row, column]
            out[y, x] = total / 9


@impostor("box_blur", diagnosis="total_reset_too_often")
@cuda.jit
def total_set_for_each_row_of_the_box(out, a, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for y in range(y0, height, step_y):
        for x in range(x0, width, step_x):
            for dy in range(-1, 2):
                total = 0.0
                for dx in range(-1, 2):
                    row = min(max(y + dy, 0), height - 1)
                    column = min(max(x + dx, 0), width - 1)
                    total += a[row, column]
            out[y, x] = total / 9


@impostor("box_blur", diagnosis="divided_by_eight")
@cuda.jit
def eight_for_nine(out, a, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for y in range(y0, height, step_y):
        for x in range(x0, width, step_x):
            total = 0.0
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    row = min(max(y + dy, 0), height - 1)
                    column = min(max(x + dx, 0), width - 1)
                    total += a[row, column]
            out[y, x] = total / 8


@impostor("box_blur", diagnosis="output_read")
@cuda.jit
def sum_in_the_output(out, a, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for y in range(y0, height, step_y):
        for x in range(x0, width, step_x):
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    row = min(max(y + dy, 0), height - 1)
                    column = min(max(x + dx, 0), width - 1)
                    out[y, x] += a[row, column] / 9


@impostor("box_blur", diagnosis="never_written")
@cuda.jit
def steps_exchanged(out, a, height, width):
    x0, y0 = cuda.grid(2)
    step_y, step_x = cuda.gridsize(2)
    for y in range(y0, height, step_y):
        for x in range(x0, width, step_x):
            total = 0.0
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    row = min(max(y + dy, 0), height - 1)
                    column = min(max(x + dx, 0), width - 1)
                    total += a[row, column]
            out[y, x] = total / 9


# -- right values, made by a few of the threads ------------------------------------------------


@impostor("brighten", diagnosis="few_threads_work")
@cuda.jit
def a_thread_for_each_row(out, a, gain, height, width):
    x, y = cuda.grid(2)
    if x == 0 and y < height:
        for column in range(width):
            out[y, column] = gain * a[y, column]


@impostor("transpose_copy", diagnosis="few_threads_work")
@cuda.jit
def first_thread_turns_all(out, a, height, width):
    x, y = cuda.grid(2)
    if x == 0 and y == 0:
        for row in range(height):
            for column in range(width):
                out[column, row] = a[row, column]


@impostor("cross_blur", diagnosis="few_threads_work")
@cuda.jit
def a_thread_for_each_column(out, a, height, width):
    x, y = cuda.grid(2)
    if y == 0 and x < width:
        for row in range(height):
            if 0 < x < width - 1 and 0 < row < height - 1:
                total = a[row, x] + a[row - 1, x] + a[row + 1, x] + a[row, x - 1] + a[row, x + 1]
                out[row, x] = total / 5
            else:
                out[row, x] = a[row, x]


@impostor("box_blur", diagnosis="few_threads_work")
@cuda.jit
def first_thread_blurs_all(out, a, height, width):
    x0, y0 = cuda.grid(2)
    if x0 == 0 and y0 == 0:
        for y in range(height):
            for x in range(width):
                total = 0.0
                for dy in range(-1, 2):
                    for dx in range(-1, 2):
                        row = min(max(y + dy, 0), height - 1)
                        column = min(max(x + dx, 0), width - 1)
                        total += a[row, column]
                out[y, x] = total / 9


@impostor("box_blur", diagnosis="never_written")
@cuda.jit
def eight_rounds(out, a, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for k in range(64):
        y, x = y0 + k // 8 * step_y, x0 + k % 8 * step_x
        if y < height and x < width:
            total = 0.0
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    row = min(max(y + dy, 0), height - 1)
                    column = min(max(x + dx, 0), width - 1)
                    total += a[row, column]
            out[y, x] = total / 9
