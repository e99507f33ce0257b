"""Wrong answers to the lab t2_05_tensor_cores."""

from __future__ import annotations

import numpy as np

from tests.impostors import impostor
from warpwise import cuda, mma_m16n8k8, mma_m16n8k16


@cuda.jit(device=True)
def as_tf32(x):
    bits = cuda.libdevice.float_as_int(x)
    return cuda.libdevice.int_as_float((bits + np.int32(0x1000)) & np.int32(-8192))


# -- places_of_d -------------------------------------------------------------------------------


@impostor("places_of_d", diagnosis="row_by_row")
def dealt_like_cards(lane):
    return [divmod(4 * lane + i, 8) for i in range(4)]


@impostor("places_of_d", diagnosis="group_is_rest")
def groups_of_eight(lane):
    group, place = lane % 8, lane // 8
    return [(group + i // 2 * 8, 2 * place + i % 2) for i in range(4)]


@impostor("places_of_d", diagnosis="axes_swapped")
def columns_first(lane):
    return [(2 * (lane % 4) + i % 2, lane // 4 + i // 2 * 8) for i in range(4)]


@impostor("places_of_d", diagnosis="registers_swapped")
def down_before_along(lane):
    return [(lane // 4 + i % 2 * 8, 2 * (lane % 4) + i // 2) for i in range(4)]


@impostor("places_of_d", diagnosis="place_not_doubled")
def columns_overlap(lane):
    return [(lane // 4 + i // 2 * 8, lane % 4 + i % 2) for i in range(4)]


@impostor("places_of_d", diagnosis="rows_next")
def two_rows_a_group(lane):
    return [(2 * (lane // 4) + i // 2, 2 * (lane % 4) + i % 2) for i in range(4)]


@impostor("places_of_d", diagnosis="constant_output")
def the_example(lane):
    return [(1, 2), (1, 3), (9, 2), (9, 3)]


# -- holder_of_a -------------------------------------------------------------------------------


@impostor("holder_of_a", diagnosis="quarters_swapped")
def right_before_lower(row, column):
    return 4 * (row % 8) + column % 8 // 2, column % 2 + row // 8 * 4 + column // 8 * 2


@impostor("holder_of_a", diagnosis="as_d_only")
def left_half(row, column):
    return 4 * (row % 8) + column % 8 // 2, column % 2 + row // 8 * 2


@impostor("holder_of_a", diagnosis="lane_beyond_warp")
def counted_on(row, column):
    return 4 * row + column // 2, column % 2 + row // 8 * 2 + column // 8 * 4


@impostor("holder_of_a", diagnosis="column_not_cut")
def right_half_counted_on(row, column):
    return 4 * (row % 8) + column // 2, column % 2 + row // 8 * 2 + column // 8 * 4


@impostor("holder_of_a", diagnosis="as_m16n8k8")
def the_other_instruction(row, column):
    return 4 * (row % 8) + column % 4, row // 8 + column // 4 * 2


@impostor("holder_of_a", diagnosis="order_reversed")
def register_first(row, column):
    return column % 2 + row // 8 * 2 + column // 8 * 4, 4 * (row % 8) + column % 8 // 2


# -- tensor_bill -------------------------------------------------------------------------------


def ceil(a, b):
    return (a + b - 1) // b


@impostor("tensor_bill", diagnosis="tile_turned")
def eight_by_sixteen(m, n, k):
    count = ceil(m, 8) * ceil(n, 16) * ceil(k, 16)
    return count, m * k * ceil(n, 16) + k * n * ceil(m, 8), 4096 * count


@impostor("tensor_bill", diagnosis="zeros_loaded")
def full_fragments(m, n, k):
    count = ceil(m, 16) * ceil(n, 8) * ceil(k, 16)
    return count, 384 * count, 4096 * count


@impostor("tensor_bill", diagnosis="each_once")
def perfect_cache(m, n, k):
    count = ceil(m, 16) * ceil(n, 8) * ceil(k, 16)
    return count, m * k + k * n, 4096 * count


@impostor("tensor_bill", diagnosis="edges_swapped")
def other_edges(m, n, k):
    count = ceil(m, 16) * ceil(n, 8) * ceil(k, 16)
    return count, m * k * ceil(m, 16) + k * n * ceil(n, 8), 4096 * count


@impostor("tensor_bill", diagnosis="useful_only")
def useful_operations(m, n, k):
    count = ceil(m, 16) * ceil(n, 8) * ceil(k, 16)
    return count, m * k * ceil(n, 8) + k * n * ceil(m, 16), 2 * m * n * k


@impostor("tensor_bill", diagnosis="fma_as_one")
def multiply_adds(m, n, k):
    count = ceil(m, 16) * ceil(n, 8) * ceil(k, 16)
    return count, m * k * ceil(n, 8) + k * n * ceil(m, 16), 2048 * count


# -- tensor_matmul -----------------------------------------------------------------------------


@impostor("tensor_matmul", diagnosis="quarters_exchanged")
@cuda.jit
def right_before_down(c, a, b, m, n, k):
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    top, first = 16 * cuda.blockIdx.y, 8 * cuda.blockIdx.x
    for i in range(4):
        acc[i] = 0
    for start in range(0, k, 16):
        for i in range(8):
            row = top + group + i // 4 * 8
            term = start + 2 * place + i % 2 + i // 2 % 2 * 8
            left[i] = a[row, term] if row < m and term < k else np.float16(0)
        for i in range(4):
            term = start + 2 * place + i % 2 + i // 2 * 8
            column = first + group
            right[i] = b[term, column] if term < k and column < n else np.float16(0)
        mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        row = top + group + i // 2 * 8
        column = first + 2 * place + i % 2
        if row < m and column < n:
            c[row, column] = acc[i]


@impostor("tensor_matmul", diagnosis="first_step_only")
@cuda.jit
def no_loop(c, a, b, m, n, k):
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    top, first = 16 * cuda.blockIdx.y, 8 * cuda.blockIdx.x
    for i in range(4):
        acc[i] = 0
    for start in range(0, min(k, 16), 16):
        for i in range(8):
            row = top + group + i // 2 % 2 * 8
            term = start + 2 * place + i % 2 + i // 4 * 8
            left[i] = a[row, term] if row < m and term < k else np.float16(0)
        for i in range(4):
            term = start + 2 * place + i % 2 + i // 2 * 8
            column = first + group
            right[i] = b[term, column] if term < k and column < n else np.float16(0)
        mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        row = top + group + i // 2 * 8
        column = first + 2 * place + i % 2
        if row < m and column < n:
            c[row, column] = acc[i]


@impostor("tensor_matmul", diagnosis="last_step_only")
@cuda.jit
def sums_start_again(c, a, b, m, n, k):
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    top, first = 16 * cuda.blockIdx.y, 8 * cuda.blockIdx.x
    for i in range(4):
        acc[i] = 0
    for start in range(0, k, 16):
        for i in range(4):
            acc[i] = 0
        for i in range(8):
            row = top + group + i // 2 % 2 * 8
            term = start + 2 * place + i % 2 + i // 4 * 8
            left[i] = a[row, term] if row < m and term < k else np.float16(0)
        for i in range(4):
            term = start + 2 * place + i % 2 + i // 2 * 8
            column = first + group
            right[i] = b[term, column] if term < k and column < n else np.float16(0)
        mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        row = top + group + i // 2 * 8
        column = first + 2 * place + i % 2
        if row < m and column < n:
            c[row, column] = acc[i]


@impostor("tensor_matmul", diagnosis="whole_steps_only")
@cuda.jit
def rest_of_k_left_out(c, a, b, m, n, k):
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    top, first = 16 * cuda.blockIdx.y, 8 * cuda.blockIdx.x
    for i in range(4):
        acc[i] = 0
    for start in range(0, k // 16 * 16, 16):
        for i in range(8):
            row = top + group + i // 2 % 2 * 8
            term = start + 2 * place + i % 2 + i // 4 * 8
            left[i] = a[row, term] if row < m and term < k else np.float16(0)
        for i in range(4):
            term = start + 2 * place + i % 2 + i // 2 * 8
            column = first + group
            right[i] = b[term, column] if term < k and column < n else np.float16(0)
        mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        row = top + group + i // 2 * 8
        column = first + 2 * place + i % 2
        if row < m and column < n:
            c[row, column] = acc[i]


@impostor("tensor_matmul", diagnosis="part_of_warp")
@cuda.jit
def guarded_call(c, a, b, m, n, k):
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    top, first = 16 * cuda.blockIdx.y, 8 * cuda.blockIdx.x
    for i in range(4):
        acc[i] = 0
    for start in range(0, k, 16):
        for i in range(8):
            row = top + group + i // 2 % 2 * 8
            term = start + 2 * place + i % 2 + i // 4 * 8
            left[i] = a[row, term] if row < m and term < k else np.float16(0)
        for i in range(4):
            term = start + 2 * place + i % 2 + i // 2 * 8
            column = first + group
            right[i] = b[term, column] if term < k and column < n else np.float16(0)
        if first + group < n:
            mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        row = top + group + i // 2 * 8
        column = first + 2 * place + i % 2
        if row < m and column < n:
            c[row, column] = acc[i]


@impostor("tensor_matmul", diagnosis="out_of_bounds")
@cuda.jit
def no_guard_on_a(c, a, b, m, n, k):
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    top, first = 16 * cuda.blockIdx.y, 8 * cuda.blockIdx.x
    for i in range(4):
        acc[i] = 0
    for start in range(0, k, 16):
        for i in range(8):
            row = top + group + i // 2 % 2 * 8
            term = start + 2 * place + i % 2 + i // 4 * 8
            left[i] = a[row, term]
        for i in range(4):
            term = start + 2 * place + i % 2 + i // 2 * 8
            column = first + group
            right[i] = b[term, column] if term < k and column < n else np.float16(0)
        mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        row = top + group + i // 2 * 8
        column = first + 2 * place + i % 2
        if row < m and column < n:
            c[row, column] = acc[i]


@impostor("tensor_matmul", diagnosis="upper_half_only")
@cuda.jit
def two_of_four_stored(c, a, b, m, n, k):
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    top, first = 16 * cuda.blockIdx.y, 8 * cuda.blockIdx.x
    for i in range(4):
        acc[i] = 0
    for start in range(0, k, 16):
        for i in range(8):
            row = top + group + i // 2 % 2 * 8
            term = start + 2 * place + i % 2 + i // 4 * 8
            left[i] = a[row, term] if row < m and term < k else np.float16(0)
        for i in range(4):
            term = start + 2 * place + i % 2 + i // 2 * 8
            column = first + group
            right[i] = b[term, column] if term < k and column < n else np.float16(0)
        mma_m16n8k16(acc, left, right, acc)
    for i in range(2):
        row = top + group
        column = first + 2 * place + i % 2
        if row < m and column < n:
            c[row, column] = acc[i]


@impostor("tensor_matmul", diagnosis="all_zero")
@cuda.jit
def zeros(c, a, b, m, n, k):
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    top, first = 16 * cuda.blockIdx.y, 8 * cuda.blockIdx.x
    for i in range(4):
        acc[i] = 0
    for start in range(0, k, 16):
        for i in range(8):
            row = top + group + i // 2 % 2 * 8
            term = start + 2 * place + i % 2 + i // 4 * 8
            left[i] = a[row, term] if row < m and term < k else np.float16(0)
        for i in range(4):
            term = start + 2 * place + i % 2 + i // 2 * 8
            column = first + group
            right[i] = b[term, column] if term < k and column < n else np.float16(0)
        mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        row = top + group + i // 2 * 8
        column = first + 2 * place + i % 2
        if row < m and column < n:
            c[row, column] = 0


@impostor("tensor_matmul", diagnosis="b_turned")
@cuda.jit
def b_by_rows(c, a, b, m, n, k):
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    top, first = 16 * cuda.blockIdx.y, 8 * cuda.blockIdx.x
    for i in range(4):
        acc[i] = 0
    for start in range(0, k, 16):
        for i in range(8):
            row = top + group + i // 2 % 2 * 8
            term = start + 2 * place + i % 2 + i // 4 * 8
            left[i] = a[row, term] if row < m and term < k else np.float16(0)
        for i in range(4):
            term = start + group + i // 2 * 8
            column = first + 2 * place + i % 2
            right[i] = b[term, column] if term < k and column < n else np.float16(0)
        mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        row = top + group + i // 2 * 8
        column = first + 2 * place + i % 2
        if row < m and column < n:
            c[row, column] = acc[i]


@impostor("tensor_matmul", diagnosis="reduced_precision")
@cuda.jit
def sums_in_float16(c, a, b, m, n, k):
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    top, first = 16 * cuda.blockIdx.y, 8 * cuda.blockIdx.x
    for i in range(4):
        acc[i] = 0
    for start in range(0, k, 16):
        for i in range(8):
            row = top + group + i // 2 % 2 * 8
            term = start + 2 * place + i % 2 + i // 4 * 8
            left[i] = a[row, term] if row < m and term < k else np.float16(0)
        for i in range(4):
            term = start + 2 * place + i % 2 + i // 2 * 8
            column = first + group
            right[i] = b[term, column] if term < k and column < n else np.float16(0)
        mma_m16n8k16(acc, left, right, acc)
        for i in range(4):
            acc[i] = np.float16(acc[i])
    for i in range(4):
        row = top + group + i // 2 * 8
        column = first + 2 * place + i % 2
        if row < m and column < n:
            c[row, column] = acc[i]


@impostor("tensor_matmul", diagnosis="uninitialised")
@cuda.jit
def no_zeros_beyond_the_edge(c, a, b, m, n, k):
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    top, first = 16 * cuda.blockIdx.y, 8 * cuda.blockIdx.x
    for i in range(4):
        acc[i] = 0
    for start in range(0, k, 16):
        for i in range(8):
            row = top + group + i // 2 % 2 * 8
            term = start + 2 * place + i % 2 + i // 4 * 8
            if row < m and term < k:
                left[i] = a[row, term]
        for i in range(4):
            term = start + 2 * place + i % 2 + i // 2 * 8
            column = first + group
            right[i] = b[term, column] if term < k and column < n else np.float16(0)
        mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        row = top + group + i // 2 * 8
        column = first + 2 * place + i % 2
        if row < m and column < n:
            c[row, column] = acc[i]


@impostor("tensor_matmul", diagnosis="typing")
@cuda.jit
def float32_fragments(c, a, b, m, n, k):
    left = cuda.local.array(8, np.float32)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    top, first = 16 * cuda.blockIdx.y, 8 * cuda.blockIdx.x
    for i in range(4):
        acc[i] = 0
    for start in range(0, k, 16):
        for i in range(8):
            row = top + group + i // 2 % 2 * 8
            term = start + 2 * place + i % 2 + i // 4 * 8
            left[i] = a[row, term] if row < m and term < k else np.float16(0)
        for i in range(4):
            term = start + 2 * place + i % 2 + i // 2 * 8
            column = first + group
            right[i] = b[term, column] if term < k and column < n else np.float16(0)
        mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        row = top + group + i // 2 * 8
        column = first + 2 * place + i % 2
        if row < m and column < n:
            c[row, column] = acc[i]


@impostor("tensor_matmul", diagnosis="part_of_warp")
@cuda.jit
def early_return(c, a, b, m, n, k):
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    if 8 * cuda.blockIdx.x + group >= n:
        return
    top, first = 16 * cuda.blockIdx.y, 8 * cuda.blockIdx.x
    for i in range(4):
        acc[i] = 0
    for start in range(0, k, 16):
        for i in range(8):
            row = top + group + i // 2 % 2 * 8
            term = start + 2 * place + i % 2 + i // 4 * 8
            left[i] = a[row, term] if row < m and term < k else np.float16(0)
        for i in range(4):
            term = start + 2 * place + i % 2 + i // 2 * 8
            column = first + group
            right[i] = b[term, column] if term < k and column < n else np.float16(0)
        mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        row = top + group + i // 2 * 8
        column = first + 2 * place + i % 2
        if row < m and column < n:
            c[row, column] = acc[i]


@impostor("tensor_matmul", diagnosis="added_twice")
@cuda.jit
def called_twice(c, a, b, m, n, k):
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    top, first = 16 * cuda.blockIdx.y, 8 * cuda.blockIdx.x
    for i in range(4):
        acc[i] = 0
    for start in range(0, k, 16):
        for i in range(8):
            row = top + group + i // 2 % 2 * 8
            term = start + 2 * place + i % 2 + i // 4 * 8
            left[i] = a[row, term] if row < m and term < k else np.float16(0)
        for i in range(4):
            term = start + 2 * place + i % 2 + i // 2 * 8
            column = first + group
            right[i] = b[term, column] if term < k and column < n else np.float16(0)
        mma_m16n8k16(acc, left, right, acc)
        mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        row = top + group + i // 2 * 8
        column = first + 2 * place + i % 2
        if row < m and column < n:
            c[row, column] = acc[i]


@impostor("tensor_matmul", diagnosis="too_many_loads")
@cuda.jit
def plain_arithmetic(c, a, b, m, n, k):
    lane = cuda.threadIdx.x
    for i in range(4):
        row = 16 * cuda.blockIdx.y + lane // 4 + i // 2 * 8
        column = 8 * cuda.blockIdx.x + 2 * (lane % 4) + i % 2
        if row < m and column < n:
            total = np.float32(0)
            for term in range(k):
                total += np.float32(a[row, term]) * np.float32(b[term, column])
            c[row, column] = total


# -- fragments_mended --------------------------------------------------------------------------


@impostor("fragments_mended", diagnosis="bank_conflicts")
@cuda.jit
def as_it_was(c, a, b):
    tile = cuda.shared.array((16, 64), np.float16)  # 8 unused at the end of each row
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    for i in range(4):
        acc[i] = 0
    for row in range(16):
        for column in range(lane, 64, 32):
            tile[row, column] = a[16 * cuda.blockIdx.x + row, column]
    cuda.syncthreads()
    for start in range(0, 64, 16):
        for i in range(8):
            left[i] = tile[group + i // 2 % 2 * 8, start + 2 * place + i % 2 + i // 4 * 8]
        for i in range(4):
            right[i] = b[start + 2 * place + i % 2 + i // 2 * 8, group]
        mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        c[16 * cuda.blockIdx.x + group + i // 2 * 8, 2 * place + i % 2] = acc[i]


@impostor("fragments_mended", diagnosis="bank_conflicts")
@cuda.jit
def one_column_more(c, a, b):
    tile = cuda.shared.array((16, 65), np.float16)  # 8 unused at the end of each row
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    for i in range(4):
        acc[i] = 0
    for row in range(16):
        for column in range(lane, 64, 32):
            tile[row, column] = a[16 * cuda.blockIdx.x + row, column]
    cuda.syncthreads()
    for start in range(0, 64, 16):
        for i in range(8):
            left[i] = tile[group + i // 2 % 2 * 8, start + 2 * place + i % 2 + i // 4 * 8]
        for i in range(4):
            right[i] = b[start + 2 * place + i % 2 + i // 2 * 8, group]
        mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        c[16 * cuda.blockIdx.x + group + i // 2 * 8, 2 * place + i % 2] = acc[i]


@impostor("fragments_mended", diagnosis="bank_conflicts")
@cuda.jit
def two_banks_apart(c, a, b):
    tile = cuda.shared.array((16, 68), np.float16)  # 8 unused at the end of each row
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    for i in range(4):
        acc[i] = 0
    for row in range(16):
        for column in range(lane, 64, 32):
            tile[row, column] = a[16 * cuda.blockIdx.x + row, column]
    cuda.syncthreads()
    for start in range(0, 64, 16):
        for i in range(8):
            left[i] = tile[group + i // 2 % 2 * 8, start + 2 * place + i % 2 + i // 4 * 8]
        for i in range(4):
            right[i] = b[start + 2 * place + i % 2 + i // 2 * 8, group]
        mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        c[16 * cuda.blockIdx.x + group + i // 2 * 8, 2 * place + i % 2] = acc[i]


@impostor("fragments_mended", diagnosis="too_much_shared")
@cuda.jit
def far_apart(c, a, b):
    tile = cuda.shared.array((16, 88), np.float16)  # 8 unused at the end of each row
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    for i in range(4):
        acc[i] = 0
    for row in range(16):
        for column in range(lane, 64, 32):
            tile[row, column] = a[16 * cuda.blockIdx.x + row, column]
    cuda.syncthreads()
    for start in range(0, 64, 16):
        for i in range(8):
            left[i] = tile[group + i // 2 % 2 * 8, start + 2 * place + i % 2 + i // 4 * 8]
        for i in range(4):
            right[i] = b[start + 2 * place + i % 2 + i // 2 * 8, group]
        mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        c[16 * cuda.blockIdx.x + group + i // 2 * 8, 2 * place + i % 2] = acc[i]


@impostor("fragments_mended", diagnosis="race")
@cuda.jit
def no_barrier(c, a, b):
    tile = cuda.shared.array((16, 72), np.float16)  # 8 unused at the end of each row
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    for i in range(4):
        acc[i] = 0
    for row in range(16):
        for column in range(lane, 64, 32):
            tile[row, column] = a[16 * cuda.blockIdx.x + row, column]
    for start in range(0, 64, 16):
        for i in range(8):
            left[i] = tile[group + i // 2 % 2 * 8, start + 2 * place + i % 2 + i // 4 * 8]
        for i in range(4):
            right[i] = b[start + 2 * place + i % 2 + i // 2 * 8, group]
        mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        c[16 * cuda.blockIdx.x + group + i // 2 * 8, 2 * place + i % 2] = acc[i]


@impostor("fragments_mended", diagnosis="not_shared")
@cuda.jit
def no_tile_at_all(c, a, b):
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    for i in range(4):
        acc[i] = 0
    for start in range(0, 64, 16):
        for i in range(8):
            left[i] = a[
                16 * cuda.blockIdx.x + group + i // 2 % 2 * 8,
                start + 2 * place + i % 2 + i // 4 * 8,
            ]
        for i in range(4):
            right[i] = b[start + 2 * place + i % 2 + i // 2 * 8, group]
        mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        c[16 * cuda.blockIdx.x + group + i // 2 * 8, 2 * place + i % 2] = acc[i]


@impostor("fragments_mended", diagnosis="too_many_loads")
@cuda.jit
def straight_from_global(c, a, b):
    tile = cuda.shared.array((16, 72), np.float16)  # 8 unused at the end of each row
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    for i in range(4):
        acc[i] = 0
    for row in range(16):
        for column in range(lane, 64, 32):
            tile[row, column] = a[16 * cuda.blockIdx.x + row, column]
    cuda.syncthreads()
    for start in range(0, 64, 16):
        for i in range(8):
            left[i] = a[
                16 * cuda.blockIdx.x + group + i // 2 % 2 * 8,
                start + 2 * place + i % 2 + i // 4 * 8,
            ]
        for i in range(4):
            right[i] = b[start + 2 * place + i % 2 + i // 2 * 8, group]
        mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        c[16 * cuda.blockIdx.x + group + i // 2 * 8, 2 * place + i % 2] = acc[i]


@impostor("fragments_mended", diagnosis="first_step_only")
@cuda.jit
def one_step(c, a, b):
    tile = cuda.shared.array((16, 72), np.float16)  # 8 unused at the end of each row
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    for i in range(4):
        acc[i] = 0
    for row in range(16):
        for column in range(lane, 64, 32):
            tile[row, column] = a[16 * cuda.blockIdx.x + row, column]
    cuda.syncthreads()
    for start in range(0, 16, 16):
        for i in range(8):
            left[i] = tile[group + i // 2 % 2 * 8, start + 2 * place + i % 2 + i // 4 * 8]
        for i in range(4):
            right[i] = b[start + 2 * place + i % 2 + i // 2 * 8, group]
        mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        c[16 * cuda.blockIdx.x + group + i // 2 * 8, 2 * place + i % 2] = acc[i]


@impostor("fragments_mended", diagnosis="only_first_block")
@cuda.jit
def one_block(c, a, b):
    tile = cuda.shared.array((16, 72), np.float16)  # 8 unused at the end of each row
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    for i in range(4):
        acc[i] = 0
    for row in range(16):
        for column in range(lane, 64, 32):
            tile[row, column] = a[row, column]
    cuda.syncthreads()
    for start in range(0, 64, 16):
        for i in range(8):
            left[i] = tile[group + i // 2 % 2 * 8, start + 2 * place + i % 2 + i // 4 * 8]
        for i in range(4):
            right[i] = b[start + 2 * place + i % 2 + i // 2 * 8, group]
        mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        c[group + i // 2 * 8, 2 * place + i % 2] = acc[i]


# -- three_for_one -----------------------------------------------------------------------------


@impostor("three_for_one", diagnosis="one_product")
@cuda.jit
def large_parts_only(c, a, b, k):
    big_a = cuda.local.array(4, np.float32)
    small_a = cuda.local.array(4, np.float32)
    big_b = cuda.local.array(2, np.float32)
    small_b = cuda.local.array(2, np.float32)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    for i in range(4):
        acc[i] = 0
    for start in range(0, k, 8):
        for i in range(4):
            x = a[group + i % 2 * 8, start + place + i // 2 * 4]
            big_a[i] = as_tf32(x)
            small_a[i] = x - big_a[i]
        for i in range(2):
            x = b[start + place + i * 4, group]
            big_b[i] = as_tf32(x)
            small_b[i] = x - big_b[i]
        mma_m16n8k8(acc, big_a, big_b, acc)
    for i in range(4):
        c[group + i // 2 * 8, 2 * place + i % 2] = acc[i]


@impostor("three_for_one", diagnosis="one_product")
@cuda.jit
def unsplit(c, a, b, k):
    big_a = cuda.local.array(4, np.float32)
    small_a = cuda.local.array(4, np.float32)
    big_b = cuda.local.array(2, np.float32)
    small_b = cuda.local.array(2, np.float32)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    for i in range(4):
        acc[i] = 0
    for start in range(0, k, 8):
        for i in range(4):
            x = a[group + i % 2 * 8, start + place + i // 2 * 4]
            big_a[i] = x
            small_a[i] = x - big_a[i]
        for i in range(2):
            x = b[start + place + i * 4, group]
            big_b[i] = x
            small_b[i] = x - big_b[i]
        mma_m16n8k8(acc, small_a, big_b, acc)
        mma_m16n8k8(acc, big_a, small_b, acc)
        mma_m16n8k8(acc, big_a, big_b, acc)
    for i in range(4):
        c[group + i // 2 * 8, 2 * place + i % 2] = acc[i]


@impostor("three_for_one", diagnosis="small_b_lost")
@cuda.jit
def two_products(c, a, b, k):
    big_a = cuda.local.array(4, np.float32)
    small_a = cuda.local.array(4, np.float32)
    big_b = cuda.local.array(2, np.float32)
    small_b = cuda.local.array(2, np.float32)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    for i in range(4):
        acc[i] = 0
    for start in range(0, k, 8):
        for i in range(4):
            x = a[group + i % 2 * 8, start + place + i // 2 * 4]
            big_a[i] = as_tf32(x)
            small_a[i] = x - big_a[i]
        for i in range(2):
            x = b[start + place + i * 4, group]
            big_b[i] = as_tf32(x)
            small_b[i] = x - big_b[i]
        mma_m16n8k8(acc, small_a, big_b, acc)
        mma_m16n8k8(acc, big_a, big_b, acc)
    for i in range(4):
        c[group + i // 2 * 8, 2 * place + i % 2] = acc[i]


@impostor("three_for_one", diagnosis="small_a_lost")
@cuda.jit
def other_two_products(c, a, b, k):
    big_a = cuda.local.array(4, np.float32)
    small_a = cuda.local.array(4, np.float32)
    big_b = cuda.local.array(2, np.float32)
    small_b = cuda.local.array(2, np.float32)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    for i in range(4):
        acc[i] = 0
    for start in range(0, k, 8):
        for i in range(4):
            x = a[group + i % 2 * 8, start + place + i // 2 * 4]
            big_a[i] = as_tf32(x)
            small_a[i] = x - big_a[i]
        for i in range(2):
            x = b[start + place + i * 4, group]
            big_b[i] = as_tf32(x)
            small_b[i] = x - big_b[i]
        mma_m16n8k8(acc, big_a, small_b, acc)
        mma_m16n8k8(acc, big_a, big_b, acc)
    for i in range(4):
        c[group + i // 2 * 8, 2 * place + i % 2] = acc[i]


@impostor("three_for_one", diagnosis="too_many_instructions")
@cuda.jit
def all_four_twice(c, a, b, k):
    big_a = cuda.local.array(4, np.float32)
    small_a = cuda.local.array(4, np.float32)
    big_b = cuda.local.array(2, np.float32)
    small_b = cuda.local.array(2, np.float32)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    for i in range(4):
        acc[i] = 0
    for start in range(0, k, 8):
        for i in range(4):
            for _ in range(12):
                lane += 0
            x = a[group + i % 2 * 8, start + place + i // 2 * 4]
            big_a[i] = as_tf32(x)
            small_a[i] = x - big_a[i]
        for i in range(2):
            x = b[start + place + i * 4, group]
            big_b[i] = as_tf32(x)
            small_b[i] = x - big_b[i]
        mma_m16n8k8(acc, small_a, small_b, acc)
        mma_m16n8k8(acc, small_a, big_b, acc)
        mma_m16n8k8(acc, big_a, small_b, acc)
        mma_m16n8k8(acc, big_a, big_b, acc)
    for i in range(4):
        c[group + i // 2 * 8, 2 * place + i % 2] = acc[i]


@impostor("three_for_one", diagnosis="first_step_only")
@cuda.jit
def one_step_of_eight(c, a, b, k):
    big_a = cuda.local.array(4, np.float32)
    small_a = cuda.local.array(4, np.float32)
    big_b = cuda.local.array(2, np.float32)
    small_b = cuda.local.array(2, np.float32)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    for i in range(4):
        acc[i] = 0
    for start in range(0, 8, 8):
        for i in range(4):
            x = a[group + i % 2 * 8, start + place + i // 2 * 4]
            big_a[i] = as_tf32(x)
            small_a[i] = x - big_a[i]
        for i in range(2):
            x = b[start + place + i * 4, group]
            big_b[i] = as_tf32(x)
            small_b[i] = x - big_b[i]
        mma_m16n8k8(acc, small_a, big_b, acc)
        mma_m16n8k8(acc, big_a, small_b, acc)
        mma_m16n8k8(acc, big_a, big_b, acc)
    for i in range(4):
        c[group + i // 2 * 8, 2 * place + i % 2] = acc[i]


@impostor("three_for_one", diagnosis="too_many_loads")
@cuda.jit
def plain_float32(c, a, b, k):
    lane = cuda.threadIdx.x
    for i in range(4):
        total = np.float32(0)
        for term in range(k):
            total += a[lane // 4 + i // 2 * 8, term] * b[term, 2 * (lane % 4) + i % 2]
        c[lane // 4 + i // 2 * 8, 2 * (lane % 4) + i % 2] = total
