"""Unusual but right answers to the lab t1_02_grids."""

from __future__ import annotations

import math

import numpy as np

from tests.variants import variant
from warpwise import cuda


@variant("brighten")
@cuda.jit
def early_return(out, a, gain, height, width):
    x, y = cuda.grid(2)
    if x >= width or y >= height:
        return
    out[y, x] = gain * a[y, x]


@variant("brighten")
@cuda.jit
def explicit_formulas_and_nested_guards(result, image, factor, rows, columns):
    column = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    row = cuda.threadIdx.y + cuda.blockDim.y * cuda.blockIdx.y
    if row < rows:
        if column < columns:
            result[row][column] = image[row][column] * factor


@variant("brighten")
@cuda.jit
def sizes_from_the_array(out, a, gain, height, width):
    j, i = cuda.grid(2)
    if i < a.shape[0] and j < a.shape[1]:
        out[i, j] = a[i, j] * np.float32(gain)


@variant("brighten")
@cuda.jit
def stride_loops(out, a, gain, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for y in range(y0, height, step_y):
        for x in range(x0, width, step_x):
            out[y, x] = gain * a[y, x]


@variant("brighten")
@cuda.jit
def one_long_row_of_threads(out, a, gain, height, width):
    per_row = cuda.gridDim.x * cuda.blockDim.x
    x, y = cuda.grid(2)
    i = y * per_row + x
    while i < height * width:
        out[i // width, i % width] = gain * a[i // width, i % width]
        i += per_row * cuda.gridDim.y * cuda.blockDim.y


@variant("blocks_2d")
def negative_floor(height, width, block):
    return [-(-width // block[0]), -(-height // block[1])]


@variant("blocks_2d")
def float_ceiling(height, width, block):
    return math.ceil(width / block[0]), math.ceil(height / block[1])


@variant("blocks_2d")
def divmod_and_if(height, width, block):
    grid = []
    for n, d in zip((width, height), block, strict=True):
        whole, rest = divmod(n, d)
        grid.append(whole + 1 if rest else whole)
    return tuple(grid)


@variant("blocks_2d")
def numpy_integers(height, width, block):
    return tuple(np.ceil(np.array([width, height]) / np.array(block)).astype(np.int64))


@variant("transpose_copy")
@cuda.jit
def threads_over_the_output(out, a, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for row in range(y0, width, step_y):
        for column in range(x0, height, step_x):
            out[row, column] = a[column, row]


@variant("transpose_copy")
@cuda.jit
def flat_index(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        i = x * height + y
        out[i // height, i % height] = a[y, x]


@variant("cross_reads")
def counted_with_loops():
    reads = 0
    for y in range(48):
        for x in range(64):
            reads += 5 if 0 < y < 47 and 0 < x < 63 else 1
    return reads


@variant("cross_reads")
def pixels_and_neighbours():
    return np.int64(48 * 64 + 4 * (48 - 2) * (64 - 2))


@variant("cross_blur")
@cuda.jit
def edge_first(out, a, height, width):
    x, y = cuda.grid(2)
    if x >= width or y >= height:
        return
    if x == 0 or y == 0 or x == width - 1 or y == height - 1:
        out[y, x] = a[y, x]
        return
    out[y, x] = (a[y, x] + a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1]) / 5


@variant("cross_blur")
@cuda.jit
def loop_over_offsets(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        if min(x, y, width - 1 - x, height - 1 - y) > 0:
            total = np.float32(0)
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    if dx * dy == 0:
                        total += a[y + dy, x + dx]
            out[y, x] = total / np.float32(5)
        else:
            out[y, x] = a[y, x]


@cuda.jit(device=True)
def mean_of_five(a, y, x):
    return (a[y, x] + a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1]) * 0.2


@variant("cross_blur")
@cuda.jit
def device_function(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        value = a[y, x]
        if y % (height - 1) > 0 and x % (width - 1) > 0:
            value = mean_of_five(a, y, x)
        out[y, x] = value


@variant("box_blur")
@cuda.jit
def while_loops(out, a, height, width):
    step_x, step_y = cuda.gridsize(2)
    y = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
    while y < height:
        x = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        while x < width:
            total = np.float32(0)
            for i in range(9):
                row = min(max(y + i // 3 - 1, 0), height - 1)
                column = min(max(x + i % 3 - 1, 0), width - 1)
                total += a[row, column]
            out[y, x] = total / np.float32(9)
            x += step_x
        y += step_y


@variant("box_blur")
@cuda.jit
def flat_stride_and_conditions(out, a, height, width):
    x, y = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for i in range(y * step_x + x, height * width, step_x * step_y):
        row, column = i // width, i % width
        up = row - 1 if row > 0 else row
        down = row + 1 if row < height - 1 else row
        left = column - 1 if column > 0 else column
        right = column + 1 if column < width - 1 else column
        total = a[up, left] + a[up, column] + a[up, right]
        total += a[row, left] + a[row, column] + a[row, right]
        total += a[down, left] + a[down, column] + a[down, right]
        out[row, column] = total / 9
