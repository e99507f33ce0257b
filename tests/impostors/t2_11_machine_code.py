"""Plausible wrong answers to the lab t2_11_machine_code."""

from __future__ import annotations

import numpy as np

from tests.impostors import impostor
from warpwise import cuda

TILE = 16
LEVELS = 12


@impostor("single_only", diagnosis="float64_in_code")
@cuda.jit
def count_still_an_integer(out, x, n, width):
    i = cuda.grid(1)
    if 0 <= i < n:
        total = np.float32(0)
        first = max(i - width + 1, 0)
        for j in range(first, i + 1):
            total += x[j]
        mean = total / (i + 1 - first)
        out[i] = np.float32(0.5) * mean + np.float32(0.5) * x[i]


@impostor("single_only", diagnosis="float64_in_code")
@cuda.jit
def cast_at_the_end(out, x, n, width):
    i = cuda.grid(1)
    if 0 <= i < n:
        total = 0.0
        first = max(i - width + 1, 0)
        for j in range(first, i + 1):
            total += x[j]
        out[i] = np.float32(0.5 * total / (i + 1 - first) + 0.5 * x[i])


@impostor("single_only", diagnosis="divided_by_width")
@cuda.jit
def always_by_the_width(out, x, n, width):
    i = cuda.grid(1)
    if 0 <= i < n:
        total = np.float32(0)
        for j in range(max(i - width + 1, 0), i + 1):
            total += x[j]
        out[i] = np.float32(0.5) * (total / np.float32(width) + x[i])


@impostor("single_only", diagnosis="all_zero")
@cuda.jit
def zeros_in_float32(out, x, n, width):
    i = cuda.grid(1)
    if 0 <= i < n:
        out[i] = np.float32(0)


@impostor("tally", diagnosis="width_of_the_address")
def first_number_of_the_row(listing):
    loaded, shared, doubles, guarded = 0, 0, 0, 0
    for row in listing:
        guarded += row[0] == "@"
        bare = row.split(" ", 1)[1] if row[0] == "@" else row
        width = 4
        for part, size in (("128", 16), ("64", 8), ("U16", 2), ("S16", 2), ("U8", 1), ("S8", 1)):
            if "." + part in bare:
                width = size
                break
        loaded += width * bare.startswith("LDG")
        shared += width * bare.startswith("LDS")
        doubles += bare[:4] in ("DADD", "DMUL", "DFMA")
    return loaded, shared, doubles, guarded


def read(listing, first_of, counts=("DADD", "DMUL", "DFMA")):
    """A right count, of the names that `first_of` finds."""
    loaded, shared, doubles, guarded = 0, 0, 0, 0
    sizes = {"128": 16, "64": 8, "U16": 2, "S16": 2, "U8": 1, "S8": 1}
    for row in listing:
        guarded += row.startswith("@")
        name = first_of(row)
        first, *rest = name.split(".")
        width = next((sizes[part] for part in rest if part in sizes), 4)
        loaded += width * (first == "LDG")
        shared += width * (first == "LDS")
        doubles += first in counts
    return loaded, shared, doubles, guarded


@impostor("tally", diagnosis="guarded_rows_missed")
def first_word_is_the_name(listing):
    return read(listing, lambda row: row.split()[0])


@impostor("tally", diagnosis="first_letter_only")
def everything_with_a_d(listing):
    right = read(listing, lambda row: row.split()[row.startswith("@")])
    names = [row.split()[row.startswith("@")] for row in listing]
    return (*right[:2], sum(name.startswith("D") for name in names), right[3])


@impostor("loop_bound", diagnosis="times_added")
def one_after_the_other(names, fp32, fp64):
    first = [name.split(".")[0] for name in names]
    fused, plain = first.count("FFMA"), first.count("FADD") + first.count("FMUL")
    doubles = sum(first.count(name) for name in ("DADD", "DMUL", "DFMA"))
    clocks = len(names) + (fused + plain) * 128 / fp32 + doubles * 128 / fp64
    return clocks, (2 * fused + plain) * 64 / fp32 / clocks


@impostor("loop_bound", diagnosis="adds_like_fma")
def all_are_two_operations(names, fp32, fp64):
    first = [name.split(".")[0] for name in names]
    single = sum(first.count(name) for name in ("FFMA", "FADD", "FMUL"))
    doubles = sum(first.count(name) for name in ("DADD", "DMUL", "DFMA"))
    clocks = max(len(names), single * 128 / fp32, doubles * 128 / fp64)
    return clocks, single * 128 / fp32 / clocks


@impostor("loop_bound", diagnosis="issue_forgotten")
def units_only(names, fp32, fp64):
    first = [name.split(".")[0] for name in names]
    fused, plain = first.count("FFMA"), first.count("FADD") + first.count("FMUL")
    doubles = sum(first.count(name) for name in ("DADD", "DMUL", "DFMA"))
    clocks = max((fused + plain) * 128 / fp32, doubles * 128 / fp64)
    return clocks, (2 * fused + plain) * 64 / fp32 / clocks


@impostor("signless", diagnosis="sign_tested")
@cuda.jit
def second_index_forgotten(out, x, n):
    i = cuda.grid(1)
    if 0 <= i < n:
        out[i] = x[i] - x[n - 1 - i]


@impostor("signless", diagnosis="sign_tested")
@cuda.jit
def unsigned_meets_signed(out, x, n):
    i = np.uint32(cuda.grid(1))
    if i < n:
        out[i] = x[i] - x[n - 1 - i]


@impostor("signless", diagnosis="float64_in_code")
@cuda.jit
def sixty_four_bits_against_n(out, x, n):
    i = np.uint64(cuda.grid(1))
    if i < n:
        out[i] = x[i] - x[np.uint64(n) - np.uint64(1) - i]


@impostor("signless", diagnosis="one_to_the_left")
@cuda.jit
def wraps_on_purpose(out, x, n):
    i = np.uint32(cuda.grid(1))
    if i < np.uint32(n):
        out[i] = x[i] - x[(np.uint32(2 * n - 2) - i) % np.uint32(n)]


@impostor("kept_counts", diagnosis="array_in_memory")
@cuda.jit
def unsigned_index_only(counts, x, per, n):
    i = cuda.grid(1)
    own = cuda.local.array(LEVELS, np.int32)
    for j in range(LEVELS):
        own[j] = 0
    for s in range(i * per, min(i * per + per, n)):
        own[np.uint32(x[s])] += 1
    if i < counts.shape[0]:
        for j in range(LEVELS):
            counts[i, j] = own[j]


@impostor("kept_counts", diagnosis="loaded_again")
@cuda.jit
def one_pass_for_each_level(counts, x, per, n):
    i = cuda.grid(1)
    if i < counts.shape[0]:
        for j in range(LEVELS):
            total = 0
            for s in range(i * per, min(i * per + per, n)):
                if x[s] == j:
                    total += 1
            counts[i, j] = total


@impostor("kept_counts", diagnosis="ones_only")
@cuda.jit
def seen_or_not(counts, x, per, n):
    i = cuda.grid(1)
    own = cuda.local.array(LEVELS, np.int32)
    for j in range(LEVELS):
        own[j] = 0
    for s in range(i * per, min(i * per + per, n)):
        v = x[s]
        for j in range(LEVELS):
            if v == j:
                own[j] = 1
    if i < counts.shape[0]:
        for j in range(LEVELS):
            counts[i, j] = own[j]


@impostor("wide_reads", diagnosis="narrow_reads")
@cuda.jit
def neighbours_with_a_sign(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, 64), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, col = cuda.blockIdx.y * TILE + ty, cuda.blockIdx.x * 64 + tx
    zero = np.float32(0)
    s0 = s1 = s2 = s3 = zero
    for start in range(0, k, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < k else zero
        for q in range(0, 64, TILE):
            inside = start + ty < k and col + q < n
            tile_b[ty, tx + q] = b[start + ty, col + q] if inside else zero
        cuda.syncthreads()
        for i in range(TILE):
            v = tile_a[ty, i]
            s0 += v * tile_b[i, 4 * tx]
            s1 += v * tile_b[i, 4 * tx + 1]
            s2 += v * tile_b[i, 4 * tx + 2]
            s3 += v * tile_b[i, 4 * tx + 3]
        cuda.syncthreads()
    first = cuda.blockIdx.x * 64 + 4 * tx
    if row < m:
        if first < n:
            c[row, first] = s0
        if first + 1 < n:
            c[row, first + 1] = s1
        if first + 2 < n:
            c[row, first + 2] = s2
        if first + 3 < n:
            c[row, first + 3] = s3


@impostor("wide_reads", diagnosis="stored_apart")
@cuda.jit
def stored_where_they_were(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, 64), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, col = cuda.blockIdx.y * TILE + ty, cuda.blockIdx.x * 64 + tx
    place = np.uint32(4 * tx)
    zero = np.float32(0)
    s0 = s1 = s2 = s3 = zero
    for start in range(0, k, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < k else zero
        for q in range(0, 64, TILE):
            inside = start + ty < k and col + q < n
            tile_b[ty, tx + q] = b[start + ty, col + q] if inside else zero
        cuda.syncthreads()
        for i in range(TILE):
            v = tile_a[ty, i]
            s0 += v * tile_b[i, place]
            s1 += v * tile_b[i, place + np.uint32(1)]
            s2 += v * tile_b[i, place + np.uint32(2)]
            s3 += v * tile_b[i, place + np.uint32(3)]
        cuda.syncthreads()
    if row < m:
        if col < n:
            c[row, col] = s0
        if col + 16 < n:
            c[row, col + 16] = s1
        if col + 32 < n:
            c[row, col + 32] = s2
        if col + 48 < n:
            c[row, col + 48] = s3


@impostor("wide_reads", diagnosis="sectors_wasted")
@cuda.jit
def no_tiles_no_loads(c, a, b, m, n, k):
    row = cuda.blockIdx.y * TILE + cuda.threadIdx.y
    first = cuda.blockIdx.x * 64 + cuda.threadIdx.x
    if row < m:
        for col in range(first, min(first + 64, n), 16):
            total = np.float32(0)
            for i in range(k):
                total += a[row, i] * b[i, col]
            c[row, col] = total
