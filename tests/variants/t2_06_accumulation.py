"""Unusual right answers to the lab t2_06_accumulation."""

from __future__ import annotations

import math

import numpy as np

from tests.variants import variant
from warpwise import cuda
from warpwise.numerics import Scaler, round_to

THREADS = 256


@variant("sticks_at")
def by_adding(mantissa_bits, term):
    """Doubles while an integer count of steps can still tell one term more."""
    exponent = 0
    while 2.0 ** (exponent - mantissa_bits) / 2 < 1:
        exponent += 1
    return math.ldexp(term, exponent)


@variant("sticks_at")
def with_a_shift(mantissa_bits, term):
    return float((2 << mantissa_bits) * term)


@variant("smallest_scale")
def by_rounding(gradients):
    for power in range(60):
        kept = round_to(gradients * 2.0**power, "fp16")
        if ((kept != 0) == (gradients != 0)).all():
            return 2.0**power if np.isfinite(kept).all() else 0.0
    return 0.0


@variant("smallest_scale")
def by_dtype(gradients):
    scale = 1
    with np.errstate(over="ignore"):
        while np.count_nonzero((gradients * scale).astype(np.float16)) < np.count_nonzero(
            gradients
        ):
            scale *= 2
        return float(scale * bool(np.isfinite((gradients * scale).astype(np.float16)).all()))


@variant("scaler_scales")
def by_the_library(overflows, scale, interval):
    state = Scaler(scale=scale, interval=interval)
    scales = []
    for overflow in overflows:
        state = state.after(overflow)
        scales.append(state.scale)
    return tuple(scales)


@variant("scaler_scales")
def by_exponents(overflows, scale, interval):
    power, since, scales = 0, -1, []
    for step, overflow in enumerate(overflows):
        if overflow:
            power, since = power - 1, step
        elif step - since == interval:
            power, since = power + 1, step
        scales.append(scale * 2.0**power)
    return scales


@variant("stochastic_bf16")
@cuda.jit
def compared(out, bits, noise, n):
    i = cuda.grid(1)
    if i < n:
        code = bits[i] >> 16
        if (bits[i] & 0xFFFF) + (noise[i] & 0xFFFF) >= 0x10000:
            code += 1
        if (bits[i] & 0x7FFFFFFF) > 0x7F800000:
            code = 0x7FFF
        out[i] = code


@variant("stochastic_bf16")
@cuda.jit
def stride_and_shifts(out, bits, noise, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        r = noise[i] << 16 >> 16 & 0xFFFF
        exponent = bits[i] >> 23 & 0xFF
        if exponent == 0xFF and bits[i] & 0x7FFFFF:
            out[i] = 32767
        else:
            out[i] = (bits[i] + r) // 65536


@variant("mended_dot")
@cuda.jit
def backwards(out, a, b, m, n):
    j = cuda.grid(1)
    if j >= n:
        return
    total = np.float32(0)
    i = m - 1
    while i >= 0:
        total = total + np.float32(a[i, j]) * b[i, j]
        i -= 1
    out[j] = total


@variant("mended_dot")
@cuda.jit
def compensated(out, a, b, m, n):
    j = cuda.grid(1)
    if j < n:
        total = np.float32(0)
        lost = np.float32(0)
        for i in range(m):
            y = np.float32(a[i, j]) * np.float32(b[i, j]) - lost
            t = total + y
            lost = (t - total) - y
            total = t
        out[j] = total


@variant("paired_sum")
@cuda.jit
def kahan_with_its_rest(out, x, n):
    totals = cuda.shared.array(THREADS, np.float32)
    rests = cuda.shared.array(THREADS, np.float32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    rest = np.float32(0)
    for i in range(t, n, THREADS):
        a = x[i]
        s = total + a
        if abs(total) >= abs(a):
            rest += (total - s) + a
        else:
            rest += (a - s) + total
        total = s
    totals[t] = total
    rests[t] = rest
    cuda.syncthreads()
    for k in range(8):
        step = 128 >> k
        if t < step:
            a = totals[t]
            b = totals[t + step]
            s = a + b
            back = s - a
            rests[t] += rests[t + step] + ((a - (s - back)) + (b - back))
            totals[t] = s
        cuda.syncthreads()
    if t == 0:
        out[0] = totals[0] + rests[0]


@variant("paired_sum")
@cuda.jit
def by_shuffles(out, x, n):
    totals = cuda.shared.array(8, np.float32)
    rests = cuda.shared.array(8, np.float32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    rest = np.float32(0)
    for i in range(t, n, 256):
        s = total + x[i]
        back = s - total
        rest += (total - (s - back)) + (x[i] - back)
        total = s
    for k in range(5):
        b = cuda.shfl_xor_sync(0xFFFFFFFF, total, 16 >> k)
        other = cuda.shfl_xor_sync(0xFFFFFFFF, rest, 16 >> k)
        s = total + b
        back = s - total
        rest += other + ((total - (s - back)) + (b - back))
        total = s
    if t % 32 == 0:
        totals[t // 32] = total
        rests[t // 32] = rest
    cuda.syncthreads()
    if t == 0:
        total = totals[0]
        rest = rests[0]
        for w in range(1, 8):
            s = total + totals[w]
            back = s - total
            rest += rests[w] + ((total - (s - back)) + (totals[w] - back))
            total = s
        out[0] = total + rest
