"""Unusual but right answers to the lab t2_04_formats."""

from __future__ import annotations

import math

import numpy as np

from tests.variants import variant
from warpwise import cuda


@variant("fields_of")
def division_and_rest(code, exponent_bits, mantissa_bits):
    rest, mantissa = divmod(code, 2**mantissa_bits)
    sign, exponent = divmod(rest, 2**exponent_bits)
    return [sign, exponent, mantissa]


@variant("fields_of")
def binary_text(code, exponent_bits, mantissa_bits):
    text = f"{code:0{1 + exponent_bits + mantissa_bits}b}"
    cut = 1 + exponent_bits
    return tuple(int(part, 2) for part in (text[:1], text[1:cut], text[cut:]))


@variant("decode_e4m3")
@cuda.jit
def powers_by_ldexp(out, codes, n):
    i = cuda.grid(1)
    if i >= n:
        return
    code = int(codes[i])
    exponent = (code & 0x78) >> 3
    whole = code & 7
    if exponent:
        whole += 8
    else:
        exponent = 1
    value = math.ldexp(np.float32(whole), exponent - 10)
    if code & 0x7F == 0x7F:
        value = math.nan
    out[i] = math.copysign(value, 1.0 if code < 128 else -1.0)


@variant("decode_e4m3")
@cuda.jit
def sixteenths_by_a_loop(out, codes, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        mantissa = codes[i] % 8
        exponent = codes[i] // 8 % 16
        value = np.float32(mantissa)
        if exponent > 0:
            value = np.float32(8 + mantissa)
            for _ in range(exponent - 1):
                value *= np.float32(2)
        value *= np.float32(2.0**-9)
        if codes[i] % 128 == 127:
            value = np.float32(np.nan)
        out[i] = value if codes[i] < 128 else -value


@variant("fp4_bytes")
def ceiling():
    return 99_999 * 4 + math.ceil(99_999 / 2)


@variant("fp4_bytes")
def whole_pairs_and_one():
    return np.int64(49_999 * 9 + 5)


@variant("to_bf16")
@cuda.jit
def by_cases(out, bits, n):
    i = cuda.grid(1)
    if i < n:
        upper = bits[i] >> 16
        lower = bits[i] & 0xFFFF
        if (upper & 0x7F80) == 0x7F80:
            if upper & 0x7F or lower:
                upper = 0x7FFF
        elif lower > 0x8000 or (lower == 0x8000 and upper % 2 == 1):
            upper += 1
        out[i] = upper


@variant("to_bf16")
@cuda.jit
def half_of_the_sign_bit_off(out, bits, n):
    i = cuda.grid(1)
    if i < n:
        size = bits[i] & np.uint32(0x7FFFFFFF)
        code = (size + (size >> 16) % 2 + 32767) // 65536
        out[i] = 0x7FFF if size > 0x7F800000 else code | (bits[i] >> 31) << 15


@variant("pack_pairs")
@cuda.jit
def times_sixteen(out, codes, n):
    first = 2 * cuda.grid(1)
    if first < n:
        second = codes[first + 1] if first + 1 < n else 0
        out[first >> 1] = 16 * second + codes[first]


@variant("pack_pairs")
@cuda.jit
def even_threads_work(out, codes, n):
    i = cuda.grid(1)
    if i < n and i % 2 == 0:
        byte = codes[i]
        if i + 1 < n:
            byte ^= codes[i + 1] << 4
        out[i // 2] = byte


@variant("pack_pairs")
@cuda.jit
def neighbour_by_shuffle(out, codes, n):
    i = cuda.grid(1)
    mine = int(codes[i]) if i < n else 0
    other = cuda.shfl_down_sync(0xFFFFFFFF, mine, 1)
    if i < n and i % 2 == 0:
        out[i // 2] = mine | other << 4


@variant("encode_e4m3")
@cuda.jit
def magic_addition(out, x, bits, n):
    i = cuda.grid(1)
    if i < n:
        size = bits[i] & 0x7FFFFFFF
        code = ((size + 0x7FFFF + (size >> 20) % 2) >> 20) - 960
        if size < 0x3C800000:
            # Adding 2^14 leaves steps of 2^-9 in a float32, and the addition rounds to even.
            code = int((abs(x[i]) + np.float32(16384) - np.float32(16384)) * np.float32(512))
        if size >= 0x43E00000:
            code = 126
        if size > 0x7F800000:
            code = 127
        out[i] = code + 128 * (bits[i] >> 31)


@variant("encode_e4m3")
@cuda.jit
def steps_from_the_exponent(out, x, bits, n):
    i = cuda.grid(1)
    if i < n:
        size = abs(x[i])
        exponent = max(int(bits[i] >> 23 & 255) - 127, -6)
        if math.isnan(x[i]):
            code = 127
        elif size > 448:
            code = 126
        else:
            steps = size * np.float32(2.0 ** (3 - exponent))
            code = int(steps)
            rest = steps - np.float32(code)
            if rest > 0.5 or (rest == 0.5 and code & 1):
                code += 1
            code += (exponent + 6) * 8
        out[i] = code | (bits[i] >> 31) * 128


@variant("encode_e4m3")
@cuda.jit
def rint_of_subnormals(out, x, bits, n):
    i = cuda.grid(1)
    if i < n:
        size = bits[i] & 0x7FFFFFFF
        if size > 0x7F800000:
            code = 0x7F
        elif size > 0x43E00000:
            code = 0x7E
        elif size < 0x3C800000:
            code = round(abs(x[i]) * np.float32(512))
        else:
            lower = size & 0xFFFFF
            code = (size >> 20) - 960
            if lower > 0x80000 or (lower == 0x80000 and code % 2 == 1):
                code += 1
        out[i] = code | bits[i] >> 31 << 7
