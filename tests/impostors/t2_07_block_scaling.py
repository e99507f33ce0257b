"""Wrong answers to the lab t2_07_block_scaling."""

from __future__ import annotations

import functools
import math

import numpy as np

from tests.impostors import Impostor, impostor
from warpwise import cuda
from warpwise.numerics import decode, encode

# -- block_bytes -------------------------------------------------------------------------------


@impostor("block_bytes", diagnosis="scales_forgotten")
def elements_alone(rows, columns, bits, block, tensor_bytes):
    return rows * -(-columns // block) * (block * bits // 8) + tensor_bytes


@impostor("block_bytes", diagnosis="tail_dropped")
def rounded_down(rows, columns, bits, block, tensor_bytes):
    return rows * (columns // block) * (block * bits // 8 + 1) + tensor_bytes


@impostor("block_bytes", diagnosis="filled_at_the_end_alone")
def flattened(rows, columns, bits, block, tensor_bytes):
    return -(-rows * columns // block) * (block * bits // 8 + 1) + tensor_bytes


@impostor("block_bytes", diagnosis="elements_not_filled")
def only_real_elements(rows, columns, bits, block, tensor_bytes):
    return rows * -(-columns * bits // 8) + rows * -(-columns // block) + tensor_bytes


@impostor("block_bytes", diagnosis="tensor_forgotten")
def no_second_level(rows, columns, bits, block, tensor_bytes):
    return rows * -(-columns // block) * (block * bits // 8 + 1)


@impostor("block_bytes", diagnosis="constant_output")
def the_example(rows, columns, bits, block, tensor_bytes):
    return 68


# -- row_scales --------------------------------------------------------------------------------


def scaled(x, scales):
    return encode(x / scales[:, None], "e4m3", saturate=True)


@impostor("row_scales", diagnosis="one_scale")
def of_the_tensor(x):
    scales = np.full(len(x), np.abs(x).max() / 448)
    return scaled(x, scales), scales


@impostor("row_scales", diagnosis="sign_forgotten")
def largest_value(x):
    scales = np.maximum(x.max(axis=1), 0) / 448
    scales[scales == 0] = 1.0
    return scaled(x, scales), scales


@impostor("row_scales", diagnosis="zero_rows")
def zero_over_448(x):
    scales = np.abs(x).max(axis=1) / 448
    safe = np.where(scales == 0, 1.0, scales)
    return scaled(x, safe), scales


@impostor("row_scales", diagnosis="scales_inverted")
def factors(x):
    amax = np.abs(x).max(axis=1)
    amax[amax == 0] = 448
    return scaled(x, amax / 448), 448 / amax


@impostor("row_scales", diagnosis="ends_at_240")
def the_other_e4m3(x):
    scales = np.abs(x).max(axis=1) / 240
    scales[scales == 0] = 1.0
    return scaled(x, scales), scales


@impostor("row_scales", diagnosis="values_not_codes")
def rounded_values(x):
    scales = np.abs(x).max(axis=1) / 448
    scales[scales == 0] = 1.0
    return decode(scaled(x, scales), "e4m3"), scales


@impostor("row_scales", diagnosis="order_exchanged")
def scales_first(x):
    scales = np.abs(x).max(axis=1) / 448
    scales[scales == 0] = 1.0
    return scales, scaled(x, scales)


# -- mended_amax -------------------------------------------------------------------------------


@impostor("mended_amax", diagnosis="last_one_wins")
@cuda.jit
def the_given_kernel(out, x, n):
    i = cuda.grid(1)
    if i < n:
        out[0] = max(out[0], abs(x[i]))


@impostor("mended_amax", diagnosis="too_many_atomics")
@cuda.jit
def every_lane(out, x, n):
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.max(out, 0, abs(x[i]))


@impostor("mended_amax", diagnosis="sign_forgotten")
@cuda.jit
def largest_signed(out, x, n):
    i = cuda.grid(1)
    top = np.float32(0)
    if i < n:
        top = x[i]
    for k in range(5):
        top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, 16 >> k))
    if i % 32 == 0 and i < n:
        cuda.atomic.max(out, 0, top)


@impostor("mended_amax", diagnosis="first_lanes_only")
@cuda.jit
def no_shuffle(out, x, n):
    i = cuda.grid(1)
    if i < n and i % 32 == 0:
        cuda.atomic.max(out, 0, abs(x[i]))


@impostor("mended_amax", diagnosis="full_warps_only")
@cuda.jit
def rest_left_out(out, x, n):
    i = cuda.grid(1)
    if i // 32 < n // 32:
        top = abs(x[i])
        for k in range(5):
            top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, 16 >> k))
        if i % 32 == 0:
            cuda.atomic.max(out, 0, top)


@impostor("mended_amax", diagnosis="out_of_bounds")
@cuda.jit
def no_guard(out, x, n):
    i = cuda.grid(1)
    top = abs(x[i])
    for k in range(5):
        top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, 16 >> k))
    if i % 32 == 0:
        cuda.atomic.max(out, 0, top)


@impostor("mended_amax", diagnosis="added_up")
@cuda.jit
def atomic_add(out, x, n):
    i = cuda.grid(1)
    top = np.float32(0)
    if i < n:
        top = abs(x[i])
    for k in range(5):
        top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, 16 >> k))
    if i % 32 == 0 and i < n:
        cuda.atomic.add(out, 0, top)


@impostor("mended_amax", diagnosis="mask_names_absent")
@cuda.jit
def shuffle_under_the_guard(out, x, n):
    i = cuda.grid(1)
    if i < n:
        top = abs(x[i])
        for k in range(5):
            top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, 16 >> k))
        if i % 32 == 0:
            cuda.atomic.max(out, 0, top)


# -- mx_scale_bytes ----------------------------------------------------------------------------


def scale_kernel(*, half=0.875, offset=9, bias=127, rounds=5, low=0, zero=0):
    """The course's solution with one of its constants exchanged."""

    @cuda.jit
    def answer(scales, x, blocks):
        i = cuda.grid(1)
        if i // 32 < blocks:
            top = abs(x[i])
            for k in range(rounds):
                top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, 16 >> k))
            if i % 32 == 0:
                code = zero
                if top > 0:
                    m, e = math.frexp(top)
                    code = e - offset + bias
                    if m > half:
                        code += 1
                    code = min(max(code, low), 254)
                scales[i // 32] = code

    return answer


one = functools.partial(Impostor, "mx_scale_bytes")
floor_rule = one("floor_rule", "rule_floor", scale_kernel(half=2.0))
always_one_more = one("always_one_more", "one_too_large", scale_kernel(offset=8))
fp4_end = one("fp4_end", "for_e2m1", scale_kernel(half=0.75, offset=3))
no_bias = one("no_bias", "bias_forgotten", scale_kernel(bias=0, low=-999))
zero_is_one = one("zero_is_one", "bias_even_for_zero", scale_kernel(zero=118))
amax_alone = one("amax_alone", "power_above_amax", scale_kernel(half=2.0, offset=0))


@impostor("mx_scale_bytes", diagnosis="end_itself_too_large")
@cuda.jit
def at_least(scales, x, blocks):
    i = cuda.grid(1)
    if i // 32 < blocks:
        top = abs(x[i])
        for k in range(5):
            top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, 16 >> k))
        if i % 32 == 0:
            m, e = math.frexp(top)
            code = max(e - 9 + 127 + (m >= 0.875), 0)
            scales[i // 32] = 0 if top == 0 else code


@impostor("mx_scale_bytes", diagnosis="first_value_only")
@cuda.jit
def not_shuffled(scales, x, blocks):
    i = cuda.grid(1)
    if i // 32 < blocks and i % 32 == 0:
        m, e = math.frexp(abs(x[i]))
        code = max(e - 9 + 127 + (m > 0.875), 0)
        scales[i // 32] = 0 if x[i] == 0 else code


@impostor("mx_scale_bytes", diagnosis="last_lane_stores")
@cuda.jit
def downwards_and_stored_by_all(scales, x, blocks):
    i = cuda.grid(1)
    if i // 32 < blocks:
        top = abs(x[i])
        for k in range(5):
            top = max(top, cuda.shfl_down_sync(0xFFFFFFFF, top, 16 >> k))
        m, e = math.frexp(top)
        code = max(e - 9 + 127 + (m > 0.875), 0)
        scales[i // 32] = 0 if top == 0 else code


@impostor("mx_scale_bytes", diagnosis="too_many_sectors")
@cuda.jit
def thread_for_block(scales, x, blocks):
    j = cuda.grid(1)
    if j < blocks:
        top = np.float32(0)
        for k in range(32):
            top = max(top, abs(x[32 * j + k]))
        m, e = math.frexp(top)
        code = max(e - 9 + 127 + (m > 0.875), 0)
        scales[j] = 0 if top == 0 else code


@impostor("mx_scale_bytes", diagnosis="all_zero")
@cuda.jit
def nothing(scales, x, blocks):
    i = cuda.grid(1)
    if i < blocks:
        scales[i] = 0


# -- nvfp4_product -----------------------------------------------------------------------------


@impostor("nvfp4_product", diagnosis="too_many_operations")
@cuda.jit
def each_element_scaled(out, a, b, scale_a, scale_b, tensor, m, n, k):
    j, i = cuda.grid(2)
    if i < m and j < n:
        total = np.float32(0)
        for e in range(k):
            total += a[i, e] * scale_a[i, e // 16] * (b[j, e] * scale_b[j, e // 16])
        out[i, j] = total * tensor


@impostor("nvfp4_product", diagnosis="scale_b_forgotten")
@cuda.jit
def one_side(out, a, b, scale_a, scale_b, tensor, m, n, k):
    j, i = cuda.grid(2)
    if i < m and j < n:
        total = np.float32(0)
        for block in range(k // 16):
            part = np.float32(0)
            for e in range(16 * block, 16 * block + 16):
                part += a[i, e] * b[j, e]
            total += part * scale_a[i, block]
        out[i, j] = total * tensor


@impostor("nvfp4_product", diagnosis="tensor_forgotten")
@cuda.jit
def blocks_alone(out, a, b, scale_a, scale_b, tensor, m, n, k):
    j, i = cuda.grid(2)
    if i < m and j < n:
        total = np.float32(0)
        for block in range(k // 16):
            part = np.float32(0)
            for e in range(16 * block, 16 * block + 16):
                part += a[i, e] * b[j, e]
            total += part * (scale_a[i, block] * scale_b[j, block])
        out[i, j] = total


@impostor("nvfp4_product", diagnosis="first_scales_for_all")
@cuda.jit
def scaled_at_the_end(out, a, b, scale_a, scale_b, tensor, m, n, k):
    j, i = cuda.grid(2)
    if i < m and j < n:
        total = np.float32(0)
        for e in range(k):
            total += a[i, e] * b[j, e]
        if k > 0:
            total *= scale_a[i, 0] * scale_b[j, 0]
        out[i, j] = total * tensor


@impostor("nvfp4_product", diagnosis="scales_added")
@cuda.jit
def sum_of_scales(out, a, b, scale_a, scale_b, tensor, m, n, k):
    j, i = cuda.grid(2)
    if i < m and j < n:
        total = np.float32(0)
        for block in range(k // 16):
            part = np.float32(0)
            for e in range(16 * block, 16 * block + 16):
                part += a[i, e] * b[j, e]
            total += part * (scale_a[i, block] + scale_b[j, block])
        out[i, j] = total * tensor


@impostor("nvfp4_product", diagnosis="float64_arithmetic")
@cuda.jit
def zero_is_float64(out, a, b, scale_a, scale_b, tensor, m, n, k):
    j, i = cuda.grid(2)
    if i < m and j < n:
        total = 0.0
        for block in range(k // 16):
            part = 0.0
            for e in range(16 * block, 16 * block + 16):
                part += a[i, e] * b[j, e]
            total += part * (scale_a[i, block] * scale_b[j, block])
        out[i, j] = total * tensor


@impostor("nvfp4_product", diagnosis="reduced_precision")
@cuda.jit
def in_half(out, a, b, scale_a, scale_b, tensor, m, n, k):
    j, i = cuda.grid(2)
    if i < m and j < n:
        total = np.float32(0)
        for block in range(k // 16):
            part = np.float32(0)
            for e in range(16 * block, 16 * block + 16):
                part += a[i, e] * b[j, e]
            total += part * (scale_a[i, block] * scale_b[j, block])
        out[i, j] = np.float16(total * tensor)


# -- mxfp4_blocks ------------------------------------------------------------------------------


def fp4_kernel(*, half=0.75, offset=3, sign=8, away=False, down=1, mask=0xF0):
    """The course's solution with one of its constants exchanged."""

    @cuda.jit
    def answer(packed, scales, x, blocks):
        i = cuda.grid(1)
        if i // 32 < blocks:
            value = x[i]
            top = abs(value)
            for k in range(5):
                top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, 16 >> k))
            code = 0
            if top > 0:
                m, e = math.frexp(top)
                code = min(max(e - offset + 127 + (m > half), 0), 254)
            v = abs(math.ldexp(value, 127 - code))
            if away:
                element = (v >= 0.25) + (v >= 0.75) + (v >= 1.25) + (v >= 1.75)
                element += (v >= 2.5) + (v >= 3.5) + (v >= 5)
            else:
                element = (v > 0.25) + (v >= 0.75) + (v > 1.25) + (v >= 1.75)
                element += (v > 2.5) + (v >= 3.5) + (v > 5)
            element += sign * (value < 0)
            high = cuda.shfl_down_sync(0xFFFFFFFF, element, down)
            if i % 2 == 0:
                packed[i // 2] = element | (high << 4 & mask)
            if i % 32 == 0:
                scales[i // 32] = code

    return answer


other = functools.partial(Impostor, "mxfp4_blocks")
fp4_floor = other("fp4_floor", "rule_floor", fp4_kernel(half=2.0))
fp8_end = other("fp8_end", "for_e4m3", fp4_kernel(half=0.875, offset=9))
unsigned = other("unsigned", "sign_lost", fp4_kernel(sign=0))
larger_of_two = other("larger_of_two", "ties_away", fp4_kernel(away=True))
own_code_twice = other("own_code_twice", "low_twice", fp4_kernel(down=0))
half_empty = other("half_empty", "high_lost", fp4_kernel(mask=0))


@impostor("mxfp4_blocks", diagnosis="too_many_sectors")
@cuda.jit
def block_by_thread(packed, scales, x, blocks):
    j = cuda.grid(1)
    if j < blocks:
        top = np.float32(0)
        for k in range(32):
            top = max(top, abs(x[32 * j + k]))
        code = 0
        if top > 0:
            m, e = math.frexp(top)
            code = min(max(e - 3 + 127 + (m > 0.75), 0), 254)
        scales[j] = code
        for k in range(0, 32, 2):
            byte = 0
            for half in range(2):
                value = x[32 * j + k + half]
                v = abs(math.ldexp(value, 127 - code))
                element = (v > 0.25) + (v >= 0.75) + (v > 1.25) + (v >= 1.75)
                element += (v > 2.5) + (v >= 3.5) + (v > 5) + 8 * (value < 0)
                byte |= element << 4 * half
            packed[16 * j + k // 2] = byte


@impostor("mxfp4_blocks", diagnosis="every_lane_writes")
@cuda.jit
def both_lanes_write(packed, scales, x, blocks):
    i = cuda.grid(1)
    if i // 32 < blocks:
        value = x[i]
        top = abs(value)
        for k in range(5):
            top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, 16 >> k))
        code = 0
        if top > 0:
            m, e = math.frexp(top)
            code = min(max(e - 3 + 127 + (m > 0.75), 0), 254)
        v = abs(math.ldexp(value, 127 - code))
        element = (v > 0.25) + (v >= 0.75) + (v > 1.25) + (v >= 1.75)
        element += (v > 2.5) + (v >= 3.5) + (v > 5) + 8 * (value < 0)
        high = cuda.shfl_down_sync(0xFFFFFFFF, element, 1)
        packed[i // 2] = element | high << 4
        if i % 32 == 0:
            scales[i // 32] = code
