"""Wrong answers to the lab t2_09_fusion."""

from __future__ import annotations

import math

import numpy as np
from numba import float32

from tests.impostors import impostor
from warpwise import cuda

THREADS = 128
ALL = 0xFFFFFFFF

# -- fused_silu --------------------------------------------------------------------------------


@impostor("fused_silu", diagnosis="bias_behind")
@cuda.jit
def bias_after_the_activation(out, x, bias, rows, columns):
    col, row = cuda.grid(2)
    if row < rows and col < columns:
        v = x[row, col]
        out[row, col] = v / (np.float32(1) + math.exp(-v)) + bias[col]


@impostor("fused_silu", diagnosis="sign_lost")
@cuda.jit
def exponent_without_minus(out, x, bias, rows, columns):
    col, row = cuda.grid(2)
    if row < rows and col < columns:
        v = x[row, col] + bias[col]
        out[row, col] = v / (np.float32(1) + math.exp(v))


@impostor("fused_silu", diagnosis="gate_times_x")
@cuda.jit
def multiplied_by_x(out, x, bias, rows, columns):
    col, row = cuda.grid(2)
    if row < rows and col < columns:
        v = x[row, col] + bias[col]
        out[row, col] = x[row, col] / (np.float32(1) + math.exp(-v))


@impostor("fused_silu", diagnosis="float64_arithmetic")
@cuda.jit
def one_is_float64(out, x, bias, rows, columns):
    col, row = cuda.grid(2)
    if row < rows and col < columns:
        v = x[row, col] + bias[col]
        out[row, col] = v / (1.0 + math.exp(-v))


@impostor("fused_silu", diagnosis="float64_arithmetic")
@cuda.jit
def one_is_an_integer(out, x, bias, rows, columns):
    col, row = cuda.grid(2)
    if row < rows and col < columns:
        v = x[row, col] + bias[col]
        out[row, col] = v / (1 + math.exp(-v))


@impostor("fused_silu", diagnosis="exp_overflows")
@cuda.jit
def exponential_above_and_below(out, x, bias, rows, columns):
    col, row = cuda.grid(2)
    if row < rows and col < columns:
        v = x[row, col] + bias[col]
        e = math.exp(v)
        out[row, col] = v * e / (np.float32(1) + e)


@impostor("fused_silu", diagnosis="too_many_sectors")
@cuda.jit
def v_through_the_output(out, x, bias, rows, columns):
    x0, y0 = cuda.grid(2)
    if y0 < rows and x0 < columns:
        v = x[y0, x0] + bias[x0]
        out[y0, x0] = v / (np.float32(1) + math.exp(-(x[y0, x0] + bias[x0])))


@impostor("fused_silu", diagnosis="out_of_bounds")
@cuda.jit
def no_guard_for_rows(out, x, bias, rows, columns):
    col, row = cuda.grid(2)
    if col < columns:
        v = x[row, col] + bias[col]
        out[row, col] = v / (np.float32(1) + math.exp(-v))


@impostor("fused_silu", diagnosis="reduced_precision")
@cuda.jit
def in_half(out, x, bias, rows, columns):
    col, row = cuda.grid(2)
    if row < rows and col < columns:
        v = np.float32(np.float16(x[row, col] + bias[col]))
        out[row, col] = v / (np.float32(1) + math.exp(-v))


# -- norm_bytes --------------------------------------------------------------------------------


@impostor("norm_bytes", diagnosis="elements_not_bytes")
def elements(rows, columns):
    matrix = rows * columns
    return 8 * matrix + 4 * rows + 2 * columns, 2 * matrix + 2 * columns


@impostor("norm_bytes", diagnosis="per_column_forgotten")
def no_weights(rows, columns):
    return 4 * (8 * rows * columns + 4 * rows), 8 * rows * columns


@impostor("norm_bytes", diagnosis="broadcast_counted")
def as_many_as_threads_want(rows, columns):
    matrix = rows * columns
    return 4 * (12 * matrix + 2 * rows), 4 * (2 * matrix + 2 * columns)


@impostor("norm_bytes", diagnosis="fused_keeps_row_values")
def mean_and_variance_stored(rows, columns):
    matrix = rows * columns
    separate = 4 * (8 * matrix + 4 * rows + 2 * columns)
    return separate, 4 * (2 * matrix + 2 * columns + 4 * rows)


@impostor("norm_bytes", diagnosis="fused_stores_row_values")
def mean_and_variance_written(rows, columns):
    matrix = rows * columns
    separate = 4 * (8 * matrix + 4 * rows + 2 * columns)
    return separate, 4 * (2 * matrix + 2 * columns + 2 * rows)


@impostor("norm_bytes", diagnosis="weights_by_row")
def weights_as_long_as_the_means(rows, columns):
    matrix = rows * columns
    return 4 * (8 * matrix + 6 * rows), 4 * (2 * matrix + 2 * rows)


@impostor("norm_bytes", diagnosis="constant_output")
def the_example(rows, columns):
    return 320, 96


# -- merge_states ------------------------------------------------------------------------------


@impostor("merge_states", diagnosis="sums_added")
def not_scaled(m1, s1, m2, s2):
    return max(m1, m2), s1 + s2


@impostor("merge_states", diagnosis="nan_for_empty")
def two_empty_parts(m1, s1, m2, s2):
    m = max(m1, m2)
    return m, s1 * math.exp(m1 - m) + s2 * math.exp(m2 - m)


@impostor("merge_states", diagnosis="raised")
def through_the_plain_sums(m1, s1, m2, s2):
    m = max(m1, m2)
    return m, (s1 * math.exp(m1) + s2 * math.exp(m2)) * math.exp(-m) if m > -math.inf else 0.0


@impostor("merge_states", diagnosis="scales_exchanged")
def crosswise(m1, s1, m2, s2):
    m = max(m1, m2)
    if m == -math.inf:
        return m, 0.0
    return m, s1 * math.exp(m2 - m) + s2 * math.exp(m1 - m)


@impostor("merge_states", diagnosis="second_scaled_alone")
def as_if_the_first_were_larger(m1, s1, m2, s2):
    m = max(m1, m2)
    return (m, 0.0) if m == -math.inf else (m, s1 + s2 * math.exp(m2 - m))


@impostor("merge_states", diagnosis="larger_part_only")
def winner(m1, s1, m2, s2):
    return (m1, s1) if m1 >= m2 else (m2, s2)


# -- row_states --------------------------------------------------------------------------------


@impostor("row_states", diagnosis="race")
@cuda.jit
def barrier_behind_the_loop(top, total, x, n):
    tops = cuda.shared.array(THREADS, float32)
    sums = cuda.shared.array(THREADS, float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    m, s = np.float32(-math.inf), np.float32(0)
    for col in range(t, n, THREADS):
        value = x[row, col]
        if value > -math.inf:
            new = max(m, value)
            s = s * math.exp(m - new) + math.exp(value - new)
            m = new
    tops[t] = m
    sums[t] = s
    cuda.syncthreads()
    stride = THREADS // 2
    while stride > 0:
        if t < stride:
            new = max(tops[t], tops[t + stride])
            if new > -math.inf:
                here, there = math.exp(tops[t] - new), math.exp(tops[t + stride] - new)
                sums[t] = sums[t] * here + sums[t + stride] * there
                tops[t] = new
        stride //= 2
    cuda.syncthreads()
    if t == 0:
        top[row] = tops[0]
        total[row] = sums[0]


@impostor("row_states", diagnosis="nan_from_inf")
@cuda.jit
def only_the_barrier_mended(top, total, x, n):
    tops = cuda.shared.array(THREADS, float32)
    sums = cuda.shared.array(THREADS, float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    m, s = np.float32(-math.inf), np.float32(0)
    for col in range(t, n, THREADS):
        value = x[row, col]
        new = max(m, value)
        s = s * math.exp(m - new) + math.exp(value - new)
        m = new
    tops[t] = m
    sums[t] = s
    cuda.syncthreads()
    stride = THREADS // 2
    while stride > 0:
        if t < stride:
            new = max(tops[t], tops[t + stride])
            here, there = math.exp(tops[t] - new), math.exp(tops[t + stride] - new)
            sums[t] = sums[t] * here + sums[t + stride] * there
            tops[t] = new
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        top[row] = tops[0]
        total[row] = sums[0]


@impostor("row_states", diagnosis="not_rescaled")
@cuda.jit
def old_terms_left_as_they_are(top, total, x, n):
    tops = cuda.shared.array(THREADS, float32)
    sums = cuda.shared.array(THREADS, float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    m, s = np.float32(-math.inf), np.float32(0)
    for col in range(t, n, THREADS):
        value = x[row, col]
        if value > -math.inf:
            m = max(m, value)
            s += math.exp(value - m)
    tops[t] = m
    sums[t] = s
    cuda.syncthreads()
    stride = THREADS // 2
    while stride > 0:
        if t < stride:
            new = max(tops[t], tops[t + stride])
            if new > -math.inf:
                here, there = math.exp(tops[t] - new), math.exp(tops[t + stride] - new)
                sums[t] = sums[t] * here + sums[t + stride] * there
                tops[t] = new
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        top[row] = tops[0]
        total[row] = sums[0]


@impostor("row_states", diagnosis="empty_from_finite_start")
@cuda.jit
def least_float_as_a_start(top, total, x, n):
    tops = cuda.shared.array(THREADS, float32)
    sums = cuda.shared.array(THREADS, float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    m, s = np.float32(-3.4028234663852886e38), np.float32(0)
    for col in range(t, n, THREADS):
        value = x[row, col]
        new = max(m, value)
        s = s * math.exp(m - new) + math.exp(value - new)
        m = new
    tops[t] = m
    sums[t] = s
    cuda.syncthreads()
    stride = THREADS // 2
    while stride > 0:
        if t < stride:
            new = max(tops[t], tops[t + stride])
            here, there = math.exp(tops[t] - new), math.exp(tops[t + stride] - new)
            sums[t] = sums[t] * here + sums[t + stride] * there
            tops[t] = new
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        top[row] = tops[0]
        total[row] = sums[0]


@impostor("row_states", diagnosis="too_many_sectors")
@cuda.jit
def maximum_first(top, total, x, n):
    parts = cuda.shared.array(THREADS, float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    m, s = np.float32(-math.inf), np.float32(0)
    for col in range(n):  # every thread finds the maximum of the whole row
        m = max(m, x[row, col])
    for col in range(t, n, THREADS):
        if m > -math.inf:
            s += math.exp(x[row, col] - m)
    parts[t] = s
    cuda.syncthreads()
    if t == 0:
        for other in range(1, THREADS):
            s += parts[other]
        top[row] = m
        total[row] = s


# -- online_softmax ----------------------------------------------------------------------------


@impostor("online_softmax", diagnosis="too_many_sectors")
@cuda.jit
def three_passes(y, x, rows, n):
    row, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    if row >= rows:
        return
    m, s = np.float32(-math.inf), np.float32(0)
    for col in range(lane, n, 32):
        m = max(m, x[row, col])
    for step in (16, 8, 4, 2, 1):
        m = max(m, cuda.shfl_xor_sync(ALL, m, step))
    for col in range(lane, n, 32):
        if m > -math.inf:
            s += math.exp(x[row, col] - m)
    for step in (16, 8, 4, 2, 1):
        s += cuda.shfl_xor_sync(ALL, s, step)
    for col in range(lane, n, 32):
        y[row, col] = math.exp(x[row, col] - m) / s if s > 0 else np.float32(0)


@impostor("online_softmax", diagnosis="nan_from_inf")
@cuda.jit
def as_in_the_lesson(y, x, rows, n):
    row, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    if row >= rows:
        return
    m, s = np.float32(-math.inf), np.float32(0)
    for col in range(lane, n, 32):
        value = x[row, col]
        new = max(m, value)
        s = s * math.exp(m - new) + math.exp(value - new)
        m = new
    for step in (16, 8, 4, 2, 1):
        m2 = cuda.shfl_xor_sync(ALL, m, step)
        s2 = cuda.shfl_xor_sync(ALL, s, step)
        new = max(m, m2)
        s = s * math.exp(m - new) + s2 * math.exp(m2 - new)
        m = new
    for col in range(lane, n, 32):
        y[row, col] = math.exp(x[row, col] - m) / s


@impostor("online_softmax", diagnosis="nan_for_empty")
@cuda.jit
def empty_rows_divided(y, x, rows, n):
    row, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    if row >= rows:
        return
    m, s = np.float32(-math.inf), np.float32(0)
    for col in range(lane, n, 32):
        value = x[row, col]
        if value > -math.inf:
            new = max(m, value)
            s = s * math.exp(m - new) + math.exp(value - new)
            m = new
    for step in (16, 8, 4, 2, 1):
        m2 = cuda.shfl_xor_sync(ALL, m, step)
        s2 = cuda.shfl_xor_sync(ALL, s, step)
        new = max(m, m2)
        if new > -math.inf:
            s = s * math.exp(m - new) + s2 * math.exp(m2 - new)
            m = new
    for col in range(lane, n, 32):
        y[row, col] = math.exp(x[row, col] - m) / s


@impostor("online_softmax", diagnosis="not_rescaled")
@cuda.jit
def sum_keeps_old_terms(y, x, rows, n):
    row, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    if row >= rows:
        return
    m, s = np.float32(-math.inf), np.float32(0)
    for col in range(lane, n, 32):
        value = x[row, col]
        if value > -math.inf:
            m = max(m, value)
            s += math.exp(value - m)
    for step in (16, 8, 4, 2, 1):
        m2 = cuda.shfl_xor_sync(ALL, m, step)
        s2 = cuda.shfl_xor_sync(ALL, s, step)
        new = max(m, m2)
        if new > -math.inf:
            s = s * math.exp(m - new) + s2 * math.exp(m2 - new)
            m = new
    for col in range(lane, n, 32):
        y[row, col] = math.exp(x[row, col] - m) / s if s > 0 else np.float32(0)


@impostor("online_softmax", diagnosis="sums_added")
@cuda.jit
def lanes_added_unscaled(y, x, rows, n):
    row, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    if row >= rows:
        return
    m, s = np.float32(-math.inf), np.float32(0)
    for col in range(lane, n, 32):
        value = x[row, col]
        if value > -math.inf:
            new = max(m, value)
            s = s * math.exp(m - new) + math.exp(value - new)
            m = new
    for step in (16, 8, 4, 2, 1):
        m = max(m, cuda.shfl_xor_sync(ALL, m, step))
        s += cuda.shfl_xor_sync(ALL, s, step)
    for col in range(lane, n, 32):
        y[row, col] = math.exp(x[row, col] - m) / s if s > 0 else np.float32(0)


@impostor("online_softmax", diagnosis="max_not_subtracted")
@cuda.jit
def plain_exponentials(y, x, rows, n):
    row, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    if row >= rows:
        return
    s = np.float32(0)
    for col in range(lane, n, 32):
        s += math.exp(x[row, col])
    for step in (16, 8, 4, 2, 1):
        s += cuda.shfl_xor_sync(ALL, s, step)
    for col in range(lane, n, 32):
        y[row, col] = math.exp(x[row, col]) / s


@impostor("online_softmax", diagnosis="lanes_alone")
@cuda.jit
def no_merge(y, x, rows, n):
    row, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    if row >= rows:
        return
    m, s = np.float32(-math.inf), np.float32(0)
    for col in range(lane, n, 32):
        value = x[row, col]
        if value > -math.inf:
            new = max(m, value)
            s = s * math.exp(m - new) + math.exp(value - new)
            m = new
    for col in range(lane, n, 32):
        y[row, col] = math.exp(x[row, col] - m) / s if s > 0 else np.float32(0)


@impostor("online_softmax", diagnosis="too_many_instructions")
@cuda.jit
def one_lane_walks(y, x, rows, n):
    row, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    if row >= rows:
        return
    m, s = np.float32(-math.inf), np.float32(0)
    for start in range(0, n, 32):  # loaded together, walked by every lane
        mine = x[row, start + lane] if start + lane < n else np.float32(-math.inf)
        for source in range(32):
            value = cuda.shfl_sync(ALL, mine, source)
            if value > -math.inf:
                new = max(m, value)
                s = s * math.exp(m - new) + math.exp(value - new)
                m = new
    for col in range(lane, n, 32):
        y[row, col] = math.exp(x[row, col] - m) / s if s > 0 else np.float32(0)


@impostor("online_softmax", diagnosis="all_zero")
@cuda.jit
def zeros(y, x, rows, n):
    row, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    if row < rows:
        for col in range(lane, n, 32):
            y[row, col] = 0


# -- row_loss ----------------------------------------------------------------------------------


@impostor("row_loss", diagnosis="too_many_sectors")
@cuda.jit
def two_passes(loss, x, target, rows, n):
    row, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    if row >= rows:
        return
    m, s = np.float32(-math.inf), np.float32(0)
    for col in range(lane, n, 32):
        m = max(m, x[row, col])
    for step in (16, 8, 4, 2, 1):
        m = max(m, cuda.shfl_xor_sync(ALL, m, step))
    for col in range(lane, n, 32):
        s += math.exp(x[row, col] - m)
    for step in (16, 8, 4, 2, 1):
        s += cuda.shfl_xor_sync(ALL, s, step)
    if lane == 0:
        loss[row] = (m - x[row, target[row]]) + math.log(s)


@impostor("row_loss", diagnosis="digits_lost")
@cuda.jit
def logarithm_added_first(loss, x, target, rows, n):
    row, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    if row >= rows:
        return
    m, s = np.float32(-math.inf), np.float32(0)
    for col in range(lane, n, 32):
        value = x[row, col]
        if value > m:
            s = s * math.exp(m - value) + np.float32(1)
            m = value
        else:
            s += math.exp(value - m)
    for step in (16, 8, 4, 2, 1):
        m2 = cuda.shfl_xor_sync(ALL, m, step)
        s2 = cuda.shfl_xor_sync(ALL, s, step)
        new = max(m, m2)
        if new > -math.inf:
            s = s * math.exp(m - new) + s2 * math.exp(m2 - new)
            m = new
    if lane == 0:
        loss[row] = m + math.log(s) - x[row, target[row]]


@impostor("row_loss", diagnosis="max_not_subtracted")
@cuda.jit
def logarithm_of_plain_sums(loss, x, target, rows, n):
    row, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    if row >= rows:
        return
    s = np.float32(0)
    for col in range(lane, n, 32):
        s += math.exp(x[row, col])
    for step in (16, 8, 4, 2, 1):
        s += cuda.shfl_xor_sync(ALL, s, step)
    if lane == 0:
        loss[row] = math.log(s) - x[row, target[row]]


@impostor("row_loss", diagnosis="nan_from_inf")
@cuda.jit
def empty_lanes_merged(loss, x, target, rows, n):
    row, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    if row >= rows:
        return
    m, s = np.float32(-math.inf), np.float32(0)
    for col in range(lane, n, 32):
        value = x[row, col]
        new = max(m, value)
        s = s * math.exp(m - new) + math.exp(value - new)
        m = new
    for step in (16, 8, 4, 2, 1):
        m2 = cuda.shfl_xor_sync(ALL, m, step)
        s2 = cuda.shfl_xor_sync(ALL, s, step)
        new = max(m, m2)
        s = s * math.exp(m - new) + s2 * math.exp(m2 - new)
        m = new
    if lane == 0:
        loss[row] = (m - x[row, target[row]]) + math.log(s)


@impostor("row_loss", diagnosis="sum_forgotten")
@cuda.jit
def maximum_for_the_sum(loss, x, target, rows, n):
    row, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    if row >= rows:
        return
    m = np.float32(-math.inf)
    for col in range(lane, n, 32):
        m = max(m, x[row, col])
    for step in (16, 8, 4, 2, 1):
        m = max(m, cuda.shfl_xor_sync(ALL, m, step))
    if lane == 0:
        loss[row] = m - x[row, target[row]]


@impostor("row_loss", diagnosis="written_more_than_once")
@cuda.jit
def all_lanes_store(loss, x, target, rows, n):
    row, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    if row >= rows:
        return
    m, s = np.float32(-math.inf), np.float32(0)
    for col in range(lane, n, 32):
        value = x[row, col]
        if value > m:
            s = s * math.exp(m - value) + np.float32(1)
            m = value
        else:
            s += math.exp(value - m)
    for step in (16, 8, 4, 2, 1):
        m2 = cuda.shfl_xor_sync(ALL, m, step)
        s2 = cuda.shfl_xor_sync(ALL, s, step)
        new = max(m, m2)
        if new > -math.inf:
            s = s * math.exp(m - new) + s2 * math.exp(m2 - new)
            m = new
    loss[row] = (m - x[row, target[row]]) + math.log(s)
