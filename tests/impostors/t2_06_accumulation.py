"""Wrong answers to the lab t2_06_accumulation."""

from __future__ import annotations

import numpy as np

from tests.impostors import impostor
from warpwise import cuda
from warpwise.numerics import round_to

THREADS = 256

# -- sticks_at ---------------------------------------------------------------------------------


@impostor("sticks_at", diagnosis="one_power_early")
def steps_as_wide_as_the_term(mantissa_bits, term):
    return term * 2.0**mantissa_bits


@impostor("sticks_at", diagnosis="term_forgotten")
def right_for_ones(mantissa_bits, term):
    return 2.0 ** (mantissa_bits + 1)


@impostor("sticks_at", diagnosis="one_term_before")
def largest_exact_integer_below(mantissa_bits, term):
    return term * (2.0 ** (mantissa_bits + 1) - 1)


@impostor("sticks_at", diagnosis="always_bf16")
def the_number_of_the_lesson(mantissa_bits, term):
    return 256.0 * term


@impostor("sticks_at", diagnosis="term_divided")
def smaller_terms_get_further(mantissa_bits, term):
    return 2.0 ** (mantissa_bits + 1) / term


# -- smallest_scale ----------------------------------------------------------------------------


@impostor("smallest_scale", diagnosis="tie_kept")
def at_least_half_of_the_smallest(gradients):
    sizes = np.abs(gradients[gradients != 0])
    scale = 1.0
    while sizes.size and sizes.min() * scale < 2.0**-25:
        scale *= 2
    return scale if not sizes.size or sizes.max() * scale < 65520 else 0.0


@impostor("smallest_scale", diagnosis="rounding_forgotten")
def up_to_the_smallest_number(gradients):
    sizes = np.abs(gradients[gradients != 0])
    scale = 1.0
    while sizes.size and sizes.min() * scale < 2.0**-24:
        scale *= 2
    return scale if not sizes.size or sizes.max() * scale < 65520 else 0.0


@impostor("smallest_scale", diagnosis="subnormals_given_up")
def up_to_the_normal_numbers(gradients):
    sizes = np.abs(gradients[gradients != 0])
    scale = 1.0
    while sizes.size and sizes.min() * scale < 2.0**-14:
        scale *= 2
    return scale if not sizes.size or sizes.max() * scale < 65520 else 0.0


@impostor("smallest_scale", diagnosis="overflow_at_65504")
def not_above_the_largest_number(gradients):
    sizes = np.abs(gradients[gradients != 0])
    scale = 1.0
    while sizes.size and sizes.min() * scale <= 2.0**-25:
        scale *= 2
    return scale if not sizes.size or sizes.max() * scale <= 65504 else 0.0


@impostor("smallest_scale", diagnosis="overflow_forgotten")
def small_ones_alone(gradients):
    scale = 1.0
    while np.any((round_to(gradients * scale, "fp16") == 0) & (gradients != 0)):
        scale *= 2
    return scale


@impostor("smallest_scale", diagnosis="signs_forgotten")
def positive_ones_alone(gradients):
    sizes = gradients[gradients > 0]
    scale = 1.0
    while sizes.size and sizes.min() * scale <= 2.0**-25:
        scale *= 2
    return scale if not sizes.size or sizes.max() * scale < 65520 else 0.0


@impostor("smallest_scale", diagnosis="no_power_of_two")
def exactly_to_the_smallest_number(gradients):
    sizes = np.abs(gradients[gradients != 0])
    return max(1.0, float(2.0**-24 / sizes.min())) if sizes.size else 1.0


@impostor("smallest_scale", diagnosis="raised")
def nothing_is_not_expected(gradients):
    sizes = np.abs(gradients[gradients != 0])
    scale = 1.0
    while sizes.min() * scale <= 2.0**-25:
        scale *= 2
    return scale if sizes.max() * scale < 65520 else 0.0


# -- scaler_scales -----------------------------------------------------------------------------


@impostor("scaler_scales", diagnosis="not_in_a_row")
def counter_survives_an_overflow(overflows, scale, interval):
    scales, good = [], 0
    for overflow in overflows:
        if overflow:
            scale /= 2
        else:
            good += 1
            if good == interval:
                scale, good = scale * 2, 0
        scales.append(scale)
    return scales


@impostor("scaler_scales", diagnosis="grows_on")
def counter_survives_growth(overflows, scale, interval):
    scales, good = [], 0
    for overflow in overflows:
        if overflow:
            scale, good = scale / 2, 0
        else:
            good += 1
            if good >= interval:
                scale *= 2
        scales.append(scale)
    return scales


@impostor("scaler_scales", diagnosis="one_step_late")
def counter_looked_at_first(overflows, scale, interval):
    scales, good = [], 0
    for overflow in overflows:
        if overflow:
            scale, good = scale / 2, 0
        elif good == interval:
            scale, good = scale * 2, 0
        else:
            good += 1
        scales.append(scale)
    return scales


@impostor("scaler_scales", diagnosis="before_the_step")
def appended_first(overflows, scale, interval):
    scales, good = [], 0
    for overflow in overflows:
        scales.append(scale)
        if overflow:
            scale, good = scale / 2, 0
        else:
            good += 1
            if good == interval:
                scale, good = scale * 2, 0
    return scales


@impostor("scaler_scales", diagnosis="by_step_number")
def every_so_many_steps(overflows, scale, interval):
    scales = []
    for number, overflow in enumerate(overflows, 1):
        if overflow:
            scale /= 2
        elif number % interval == 0:
            scale *= 2
        scales.append(scale)
    return scales


@impostor("scaler_scales", diagnosis="never_grows")
def halves_only(overflows, scale, interval):
    scales = []
    for overflow in overflows:
        scale = scale / 2 if overflow else scale
        scales.append(scale)
    return scales


# -- stochastic_bf16 ---------------------------------------------------------------------------


@impostor("stochastic_bf16", diagnosis="nan_run_over")
@cuda.jit
def nan_forgotten(out, bits, noise, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = (bits[i] + (noise[i] & 0xFFFF)) >> 16


@impostor("stochastic_bf16", diagnosis="to_nearest")
@cuda.jit
def nearest(out, bits, noise, n):
    i = cuda.grid(1)
    if i < n:
        if (bits[i] & 0x7FFFFFFF) > 0x7F800000:
            out[i] = 0x7FFF
        else:
            out[i] = (bits[i] + 0x7FFF + (bits[i] >> 16 & 1)) >> 16


@impostor("stochastic_bf16", diagnosis="all_of_the_noise")
@cuda.jit
def noise_not_cut(out, bits, noise, n):
    i = cuda.grid(1)
    if i < n:
        if (bits[i] & 0x7FFFFFFF) > 0x7F800000:
            out[i] = 0x7FFF
        else:
            out[i] = (bits[i] + noise[i]) >> 16


@impostor("stochastic_bf16", diagnosis="upper_noise")
@cuda.jit
def other_half(out, bits, noise, n):
    i = cuda.grid(1)
    if i < n:
        if (bits[i] & 0x7FFFFFFF) > 0x7F800000:
            out[i] = 0x7FFF
        else:
            out[i] = (bits[i] + (noise[i] >> 16)) >> 16


@impostor("stochastic_bf16", diagnosis="half_added_too")
@cuda.jit
def rounded_and_shaken(out, bits, noise, n):
    i = cuda.grid(1)
    if i < n:
        if (bits[i] & 0x7FFFFFFF) > 0x7F800000:
            out[i] = 0x7FFF
        else:
            out[i] = (bits[i] + 0x8000 + (noise[i] & 0xFFFF)) >> 16


@impostor("stochastic_bf16", diagnosis="another_rule")
@cuda.jit
def right_chances(out, bits, noise, n):
    i = cuda.grid(1)
    if i < n:
        code = bits[i] >> 16
        if (noise[i] & 0xFFFF) < (bits[i] & 0xFFFF):
            code += 1
        out[i] = 0x7FFF if (bits[i] & 0x7FFFFFFF) > 0x7F800000 else code


@impostor("stochastic_bf16", diagnosis="one_noise_for_all")
@cuda.jit
def first_noise(out, bits, noise, n):
    i = cuda.grid(1)
    if i < n:
        if (bits[i] & 0x7FFFFFFF) > 0x7F800000:
            out[i] = 0x7FFF
        else:
            out[i] = (bits[i] + (noise[0] & 0xFFFF)) >> 16


@impostor("stochastic_bf16", diagnosis="always_a_coin")
@cuda.jit
def coin(out, bits, noise, n):
    i = cuda.grid(1)
    if i < n:
        code = (bits[i] >> 16) + (noise[i] & 1)
        out[i] = 0x7FFF if (bits[i] & 0x7FFFFFFF) > 0x7F800000 else code


@impostor("stochastic_bf16", diagnosis="all_zero")
@cuda.jit
def zeros(out, bits, noise, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = 0


@impostor("stochastic_bf16", diagnosis="only_first_block")
@cuda.jit
def one_block(out, bits, noise, n):
    i = cuda.threadIdx.x
    if i < n and cuda.blockIdx.x == 0:
        if (bits[i] & 0x7FFFFFFF) > 0x7F800000:
            out[i] = 0x7FFF
        else:
            out[i] = (bits[i] + (noise[i] & 0xFFFF)) >> 16


@impostor("stochastic_bf16", diagnosis="infinity_to_nan")
@cuda.jit
def exponent_alone(out, bits, noise, n):
    i = cuda.grid(1)
    if i < n:
        if (bits[i] & 0x7F800000) == 0x7F800000:
            out[i] = 0x7FFF
        else:
            out[i] = (bits[i] + (noise[i] & 0xFFFF)) >> 16


# -- mended_dot --------------------------------------------------------------------------------


@impostor("mended_dot", diagnosis="sum_in_half")
@cuda.jit
def the_given_kernel(out, a, b, m, n):
    j = cuda.grid(1)
    if j < n:
        total = np.float16(0)
        for i in range(m):
            total += a[i, j] * b[i, j]
        out[j] = total


@impostor("mended_dot", diagnosis="product_in_half")
@cuda.jit
def total_alone_mended(out, a, b, m, n):
    j = cuda.grid(1)
    if j < n:
        total = np.float32(0)
        for i in range(m):
            total += a[i, j] * b[i, j]
        out[j] = total


@impostor("mended_dot", diagnosis="product_in_half")
@cuda.jit
def converted_too_late(out, a, b, m, n):
    j = cuda.grid(1)
    if j < n:
        total = np.float32(0)
        for i in range(m):
            total += np.float32(a[i, j] * b[i, j])
        out[j] = total


@impostor("mended_dot", diagnosis="float64_arithmetic")
@cuda.jit
def zero_is_float64(out, a, b, m, n):
    j = cuda.grid(1)
    if j < n:
        total = 0.0
        for i in range(m):
            total += np.float32(a[i, j]) * np.float32(b[i, j])
        out[j] = total


@impostor("mended_dot", diagnosis="result_in_half")
@cuda.jit
def stored_through_half(out, a, b, m, n):
    j = cuda.grid(1)
    if j < n:
        total = np.float32(0)
        for i in range(m):
            total += np.float32(a[i, j]) * np.float32(b[i, j])
        out[j] = np.float16(total)


@impostor("mended_dot", diagnosis="written_more_than_once")
@cuda.jit
def summed_in_memory(out, a, b, m, n):
    j = cuda.grid(1)
    if j < n:
        out[j] = 0
        for i in range(m):
            out[j] += np.float32(a[i, j]) * np.float32(b[i, j])


@impostor("mended_dot", diagnosis="multiple_of_block_only")
@cuda.jit
def full_blocks(out, a, b, m, n):
    j = cuda.grid(1)
    if j < n // cuda.blockDim.x * cuda.blockDim.x:
        total = np.float32(0)
        for i in range(m):
            total += np.float32(a[i, j]) * np.float32(b[i, j])
        out[j] = total


# -- paired_sum --------------------------------------------------------------------------------


@impostor("paired_sum", diagnosis="plain_sum")
@cuda.jit
def the_plain_kernel(out, x, n):
    tile = cuda.shared.array(THREADS, np.float32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    for i in range(t, n, THREADS):
        total += x[i]
    tile[t] = total
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[0] = tile[0]


@impostor("paired_sum", diagnosis="kahan_then_tree")
@cuda.jit
def kahan_in_the_threads(out, x, n):
    tile = cuda.shared.array(THREADS, np.float32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    lost = np.float32(0)
    for i in range(t, n, THREADS):
        y = x[i] - lost
        after = total + y
        lost = (after - total) - y
        total = after
    tile[t] = total
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[0] = tile[0]


@impostor("paired_sum", diagnosis="tree_unpaired")
@cuda.jit
def rests_added_up_alone(out, x, n):
    totals = cuda.shared.array(THREADS, np.float32)
    rests = cuda.shared.array(THREADS, np.float32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    rest = np.float32(0)
    for i in range(t, n, THREADS):
        s = total + x[i]
        back = s - total
        rest += (total - (s - back)) + (x[i] - back)
        total = s
    totals[t] = total
    rests[t] = rest
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if t < step:
            totals[t] += totals[t + step]
            rests[t] += rests[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[0] = totals[0] + rests[0]


@impostor("paired_sum", diagnosis="wrong_sign")
@cuda.jit
def lost_taken_for_a_rest(out, x, n):
    totals = cuda.shared.array(THREADS, np.float32)
    rests = cuda.shared.array(THREADS, np.float32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    rest = np.float32(0)
    for i in range(t, n, THREADS):
        s = total + x[i]
        back = s - total
        rest -= (total - (s - back)) + (x[i] - back)
        total = s
    totals[t] = total
    rests[t] = rest
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if t < step:
            a = totals[t]
            b = totals[t + step]
            s = a + b
            back = s - a
            rests[t] += rests[t + step] + ((a - (s - back)) + (b - back))
            totals[t] = s
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[0] = totals[0] + rests[0]


@impostor("paired_sum", diagnosis="race")
@cuda.jit
def barrier_missing(out, x, n):
    totals = cuda.shared.array(THREADS, np.float32)
    rests = cuda.shared.array(THREADS, np.float32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    rest = np.float32(0)
    for i in range(t, n, THREADS):
        s = total + x[i]
        back = s - total
        rest += (total - (s - back)) + (x[i] - back)
        total = s
    totals[t] = total
    rests[t] = rest
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if t < step:
            a = totals[t]
            b = totals[t + step]
            s = a + b
            back = s - a
            rests[t] += rests[t + step] + ((a - (s - back)) + (b - back))
            totals[t] = s
        if step > 32:
            cuda.syncthreads()
        step //= 2
    if t == 0:
        out[0] = totals[0] + rests[0]


@impostor("paired_sum", diagnosis="float64_arithmetic")
@cuda.jit
def in_double(out, x, n):
    tile = cuda.shared.array(THREADS, np.float64)
    t = cuda.threadIdx.x
    total = 0.0
    for i in range(t, n, THREADS):
        total += x[i]
    tile[t] = total
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[0] = tile[0]


@impostor("paired_sum", diagnosis="too_many_instructions")
@cuda.jit
def one_thread_for_all(out, x, n):
    if cuda.threadIdx.x == 0:
        total = np.float32(0)
        rest = np.float32(0)
        for i in range(n):
            s = total + x[i]
            back = s - total
            rest += (total - (s - back)) + (x[i] - back)
            total = s
        out[0] = total + rest


@impostor("paired_sum", diagnosis="too_many_sectors")
@cuda.jit
def neighbours_to_one_thread(out, x, n):
    totals = cuda.shared.array(THREADS, np.float32)
    rests = cuda.shared.array(THREADS, np.float32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    rest = np.float32(0)
    share = (n + THREADS - 1) // THREADS
    for i in range(t * share, min((t + 1) * share, n)):
        s = total + x[i]
        back = s - total
        rest += (total - (s - back)) + (x[i] - back)
        total = s
    totals[t] = total
    rests[t] = rest
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if t < step:
            a = totals[t]
            b = totals[t + step]
            s = a + b
            back = s - a
            rests[t] += rests[t + step] + ((a - (s - back)) + (b - back))
            totals[t] = s
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[0] = totals[0] + rests[0]


@impostor("paired_sum", diagnosis="kahan_pairs")
@cuda.jit
def lost_kept_as_rest(out, x, n):
    totals = cuda.shared.array(THREADS, np.float32)
    rests = cuda.shared.array(THREADS, np.float32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    lost = np.float32(0)
    for i in range(t, n, THREADS):
        y = x[i] - lost
        after = total + y
        lost = (after - total) - y
        total = after
    totals[t] = total
    rests[t] = -lost
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if t < step:
            a = totals[t]
            b = totals[t + step]
            s = a + b
            back = s - a
            rests[t] += rests[t + step] + ((a - (s - back)) + (b - back))
            totals[t] = s
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[0] = totals[0] + rests[0]
