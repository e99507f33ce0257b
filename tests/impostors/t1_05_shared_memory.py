"""Wrong answers to the lab t1_05_shared_memory."""

from __future__ import annotations

import numpy as np

from tests.impostors import impostor
from warpwise import cuda

BLOCK = 64
RADIUS = 3
WINDOW = 2 * RADIUS + 1
WIDE = BLOCK + 2 * RADIUS
TILE = 16
FRAMED = TILE + 2
MANY = 1024

# -- rotate_blocks -----------------------------------------------------------------------------


@impostor("rotate_blocks", diagnosis="race")
@cuda.jit
def no_barrier(a, shift):
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    a[i] = s[(t + shift) % BLOCK]


@impostor("rotate_blocks", diagnosis="race")
@cuda.jit
def no_parentheses(a, shift):
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.syncthreads  # noqa: B018
    a[i] = s[(t + shift) % BLOCK]


@impostor("rotate_blocks", diagnosis="race")
@cuda.jit
def barrier_of_a_warp(a, shift):
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.syncwarp()
    a[i] = s[(t + shift) % BLOCK]


@impostor("rotate_blocks", diagnosis="race")
@cuda.jit
def fence_for_a_barrier(a, shift):
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.threadfence_block()
    a[i] = s[(t + shift) % BLOCK]


@impostor("rotate_blocks", diagnosis="race")
@cuda.jit
def barrier_too_early(a, shift):
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    cuda.syncthreads()
    s[t] = a[i]
    a[i] = s[(t + shift) % BLOCK]


@impostor("rotate_blocks", diagnosis="race")
@cuda.jit
def within_the_array(a, shift):
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    a[i] = a[i - t + (t + shift) % BLOCK]


@impostor("rotate_blocks", diagnosis="divergent_barrier")
@cuda.jit
def only_half_waits(a, shift):
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    if t + shift < BLOCK:
        cuda.syncthreads()
    a[i] = s[(t + shift) % BLOCK]


@impostor("rotate_blocks", diagnosis="out_of_bounds")
@cuda.jit
def not_brought_back(a, shift):
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.syncthreads()
    a[i] = s[t + shift]


@impostor("rotate_blocks", diagnosis="wrong_direction")
@cuda.jit
def to_the_right(a, shift):
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.syncthreads()
    a[i] = s[(t - shift) % BLOCK]


@impostor("rotate_blocks", diagnosis="not_wrapped")
@cuda.jit
def end_left_alone(a, shift):
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.syncthreads()
    if t + shift < BLOCK:
        a[i] = s[t + shift]


@impostor("rotate_blocks", diagnosis="unchanged")
@cuda.jit
def own_place(a, shift):
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.syncthreads()
    a[i] = s[t]


@impostor("rotate_blocks", diagnosis="reduced_precision")
@cuda.jit
def half_precision(a, shift):
    s = cuda.shared.array(BLOCK, np.float16)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.syncthreads()
    a[i] = s[(t + shift) % BLOCK]


@impostor("rotate_blocks", diagnosis="too_much_shared")
@cuda.jit
def room_to_spare(a, shift):
    s = cuda.shared.array(MANY, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.syncthreads()
    a[i] = s[(t + shift) % BLOCK]


@impostor("rotate_blocks", diagnosis="too_many_loads")
@cuda.jit
def everybody_loads_twice(a, shift):
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.syncthreads()
    own = a[i]
    a[i] = s[(t + shift) % BLOCK] if shift else own


@impostor("rotate_blocks", diagnosis="shift_ignored")
@cuda.jit
def right_for_the_first_case(a, shift):
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.syncthreads()
    a[i] = s[(t + 1) % BLOCK]


@impostor("rotate_blocks", diagnosis="only_first_block")
@cuda.jit
def first_block_only(a, shift):
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    if cuda.blockIdx.x == 0:
        s[t] = a[t]
        cuda.syncthreads()
        a[t] = s[(t + shift) % BLOCK]


# -- tile_reads --------------------------------------------------------------------------------


@impostor("tile_reads", diagnosis="no_sharing")
def twenty_five_each():
    return 96 * 160 * 25


@impostor("tile_reads", diagnosis="no_halo")
def one_each():
    return 96 * 160


@impostor("tile_reads", diagnosis="halo_too_thin")
def two_in_all():
    return 60 * (32 + 2) * (8 + 2)


@impostor("tile_reads", diagnosis="corners_left_out")
def four_strips():
    return 60 * (32 * 8 + 2 * 2 * 32 + 2 * 2 * 8)


@impostor("tile_reads", diagnosis="one_block_only")
def a_single_block():
    return 36 * 12


@impostor("tile_reads", diagnosis="tile_of_16")
def blocks_of_the_lesson():
    return 6 * 10 * 20 * 20


@impostor("tile_reads", diagnosis="halo_once_for_all")
def around_the_picture():
    return (96 + 4) * (160 + 4)


@impostor("tile_reads", diagnosis="wrong_values")
def bytes_for_reads():
    return 25920 * 4


# -- halo_mean ---------------------------------------------------------------------------------


@impostor("halo_mean", diagnosis="too_many_loads")
@cuda.jit
def seven_reads(out, a, n):
    i = cuda.grid(1)
    if i < n:
        total = np.float32(0)
        for j in range(max(i - RADIUS, 0), min(i + RADIUS + 1, n)):
            total += a[j]
        out[i] = total / np.float32(WINDOW)


@impostor("halo_mean", diagnosis="too_many_loads")
@cuda.jit
def halo_from_global_memory(out, a, n):
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < n:
        s[t] = a[i]
    cuda.syncthreads()
    if i < n:
        total = np.float32(0)
        for d in range(-RADIUS, RADIUS + 1):
            if 0 <= i + d < n:
                if 0 <= t + d < BLOCK:
                    total += s[t + d]
                else:
                    total += a[i + d]
        out[i] = total / np.float32(WINDOW)


@impostor("halo_mean", diagnosis="too_many_sectors")
@cuda.jit
def loads_all_over_the_block(out, a, n):
    s = cuda.shared.array(WIDE, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    first = cuda.blockIdx.x * BLOCK - RADIUS
    for k in range(t, WIDE, BLOCK):
        place = k if k >= BLOCK else k * 5 % BLOCK
        value = np.float32(0)
        if 0 <= first + place < n:
            value = a[first + place]
        s[place] = value
    cuda.syncthreads()
    if i < n:
        total = np.float32(0)
        for k in range(WINDOW):
            total += s[t + k]
        out[i] = total / np.float32(WINDOW)


@impostor("halo_mean", diagnosis="race")
@cuda.jit
def mean_without_barrier(out, a, n):
    s = cuda.shared.array(WIDE, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    first = cuda.blockIdx.x * BLOCK - RADIUS
    for k in range(t, WIDE, BLOCK):
        value = np.float32(0)
        if 0 <= first + k < n:
            value = a[first + k]
        s[k] = value
    if i < n:
        total = np.float32(0)
        for k in range(WINDOW):
            total += s[t + k]
        out[i] = total / np.float32(WINDOW)


@impostor("halo_mean", diagnosis="divergent_barrier")
@cuda.jit
def barrier_behind_the_guard(out, a, n):
    s = cuda.shared.array(WIDE, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    first = cuda.blockIdx.x * BLOCK - RADIUS
    for k in range(t, WIDE, BLOCK):
        value = np.float32(0)
        if 0 <= first + k < n:
            value = a[first + k]
        s[k] = value
    if i < n:
        cuda.syncthreads()
        total = np.float32(0)
        for k in range(WINDOW):
            total += s[t + k]
        out[i] = total / np.float32(WINDOW)


@impostor("halo_mean", diagnosis="divergent_barrier")
@cuda.jit
def barrier_in_the_loop(out, a, n):
    s = cuda.shared.array(WIDE, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    first = cuda.blockIdx.x * BLOCK - RADIUS
    for k in range(t, WIDE, BLOCK):
        value = np.float32(0)
        if 0 <= first + k < n:
            value = a[first + k]
        s[k] = value
        cuda.syncthreads()
    if i < n:
        total = np.float32(0)
        for k in range(WINDOW):
            total += s[t + k]
        out[i] = total / np.float32(WINDOW)


@impostor("halo_mean", diagnosis="uninitialised")
@cuda.jit
def ends_left_empty(out, a, n):
    s = cuda.shared.array(WIDE, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    first = cuda.blockIdx.x * BLOCK - RADIUS
    for k in range(t, WIDE, BLOCK):
        if 0 <= first + k < n:
            s[k] = a[first + k]
    cuda.syncthreads()
    if i < n:
        total = np.float32(0)
        for k in range(WINDOW):
            total += s[t + k]
        out[i] = total / np.float32(WINDOW)


@impostor("halo_mean", diagnosis="uninitialised")
@cuda.jit
def return_before_the_work(out, a, n):
    s = cuda.shared.array(WIDE, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i >= n:
        return
    first = cuda.blockIdx.x * BLOCK - RADIUS
    for k in range(t, WIDE, BLOCK):
        value = np.float32(0)
        if 0 <= first + k < n:
            value = a[first + k]
        s[k] = value
    cuda.syncthreads()
    total = np.float32(0)
    for k in range(WINDOW):
        total += s[t + k]
    out[i] = total / np.float32(WINDOW)


@impostor("halo_mean", diagnosis="uninitialised")
@cuda.jit
def one_place_each(out, a, n):
    s = cuda.shared.array(WIDE, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t + RADIUS] = a[i] if i < n else np.float32(0)
    cuda.syncthreads()
    if i < n:
        total = np.float32(0)
        for k in range(WINDOW):
            total += s[t + k]
        out[i] = total / np.float32(WINDOW)


@impostor("halo_mean", diagnosis="halo_missing")
@cuda.jit
def zeros_for_a_halo(out, a, n):
    s = cuda.shared.array(WIDE, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = np.float32(0)
    if t < 2 * RADIUS:
        s[BLOCK + t] = np.float32(0)
    cuda.syncthreads()
    if i < n:
        s[t + RADIUS] = a[i]
    cuda.syncthreads()
    if i < n:
        total = np.float32(0)
        for k in range(WINDOW):
            total += s[t + k]
        out[i] = total / np.float32(WINDOW)


@impostor("halo_mean", diagnosis="left_halo_missing")
@cuda.jit
def halo_on_the_right_only(out, a, n):
    s = cuda.shared.array(WIDE, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t + RADIUS] = a[i] if i < n else np.float32(0)
    if t < RADIUS:
        s[t] = np.float32(0)
        s[t + RADIUS + BLOCK] = a[i + BLOCK] if i + BLOCK < n else np.float32(0)
    cuda.syncthreads()
    if i < n:
        total = np.float32(0)
        for k in range(WINDOW):
            total += s[t + k]
        out[i] = total / np.float32(WINDOW)


@impostor("halo_mean", diagnosis="ends_clamped")
@cuda.jit
def nearest_beyond_the_ends(out, a, n):
    s = cuda.shared.array(WIDE, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    first = cuda.blockIdx.x * BLOCK - RADIUS
    for k in range(t, WIDE, BLOCK):
        if n > 0:
            s[k] = a[min(max(first + k, 0), n - 1)]
    cuda.syncthreads()
    if i < n:
        total = np.float32(0)
        for k in range(WINDOW):
            total += s[t + k]
        out[i] = total / np.float32(WINDOW)


@impostor("halo_mean", diagnosis="ends_averaged")
@cuda.jit
def divided_by_what_exists(out, a, n):
    s = cuda.shared.array(WIDE, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    first = cuda.blockIdx.x * BLOCK - RADIUS
    for k in range(t, WIDE, BLOCK):
        value = np.float32(0)
        if 0 <= first + k < n:
            value = a[first + k]
        s[k] = value
    cuda.syncthreads()
    if i < n:
        total = np.float32(0)
        for k in range(WINDOW):
            total += s[t + k]
        out[i] = total / np.float32(min(i + RADIUS + 1, n) - max(i - RADIUS, 0))


@impostor("halo_mean", diagnosis="last_offset_missing")
@cuda.jit
def six_elements(out, a, n):
    s = cuda.shared.array(WIDE, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    first = cuda.blockIdx.x * BLOCK - RADIUS
    for k in range(t, WIDE, BLOCK):
        value = np.float32(0)
        if 0 <= first + k < n:
            value = a[first + k]
        s[k] = value
    cuda.syncthreads()
    if i < n:
        total = np.float32(0)
        for k in range(2 * RADIUS):
            total += s[t + k]
        out[i] = total / np.float32(WINDOW)


@impostor("halo_mean", diagnosis="not_divided")
@cuda.jit
def a_sum(out, a, n):
    s = cuda.shared.array(WIDE, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    first = cuda.blockIdx.x * BLOCK - RADIUS
    for k in range(t, WIDE, BLOCK):
        value = np.float32(0)
        if 0 <= first + k < n:
            value = a[first + k]
        s[k] = value
    cuda.syncthreads()
    if i < n:
        total = np.float32(0)
        for k in range(WINDOW):
            total += s[t + k]
        out[i] = total


@impostor("halo_mean", diagnosis="all_zero")
@cuda.jit
def zeros(out, a, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = 0


@impostor("halo_mean", diagnosis="input_copied")
@cuda.jit
def a_copy(out, a, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = a[i]


@impostor("halo_mean", diagnosis="multiple_of_block_only")
@cuda.jit
def full_blocks_only(out, a, n):
    s = cuda.shared.array(WIDE, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    first = cuda.blockIdx.x * BLOCK - RADIUS
    for k in range(t, WIDE, BLOCK):
        value = np.float32(0)
        if 0 <= first + k < n:
            value = a[first + k]
        s[k] = value
    cuda.syncthreads()
    if i < n // BLOCK * BLOCK:
        total = np.float32(0)
        for k in range(WINDOW):
            total += s[t + k]
        out[i] = total / np.float32(WINDOW)


@impostor("halo_mean", diagnosis="reduced_precision")
@cuda.jit
def tile_in_half_precision(out, a, n):
    s = cuda.shared.array(WIDE, np.float16)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    first = cuda.blockIdx.x * BLOCK - RADIUS
    for k in range(t, WIDE, BLOCK):
        value = np.float32(0)
        if 0 <= first + k < n:
            value = a[first + k]
        s[k] = value
    cuda.syncthreads()
    if i < n:
        total = np.float32(0)
        for k in range(WINDOW):
            total += np.float32(s[t + k])
        out[i] = total / np.float32(WINDOW)


@impostor("halo_mean", diagnosis="out_of_bounds")
@cuda.jit
def halo_without_guard(out, a, n):
    s = cuda.shared.array(WIDE, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    first = cuda.blockIdx.x * BLOCK - RADIUS
    for k in range(t, WIDE, BLOCK):
        s[k] = a[first + k]
    cuda.syncthreads()
    if i < n:
        total = np.float32(0)
        for k in range(WINDOW):
            total += s[t + k]
        out[i] = total / np.float32(WINDOW)


@impostor("halo_mean", diagnosis="only_first_block")
@cuda.jit
def every_block_the_same(out, a, n):
    s = cuda.shared.array(WIDE, np.float32)
    t = cuda.threadIdx.x
    for k in range(t, WIDE, BLOCK):
        value = np.float32(0)
        if 0 <= k - RADIUS < n:
            value = a[k - RADIUS]
        s[k] = value
    cuda.syncthreads()
    if t < n:
        total = np.float32(0)
        for k in range(WINDOW):
            total += s[t + k]
        out[t] = total / np.float32(WINDOW)


# -- weigh_rows --------------------------------------------------------------------------------


@impostor("weigh_rows", diagnosis="race")
@cuda.jit
def as_it_was_given(out, m, w, rows, columns):
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    j = cuda.grid(1)
    total = np.float32(0)
    for start in range(0, rows, BLOCK):
        if start + t < rows:
            s[t] = w[start + t]
        cuda.syncthreads()
        if j < columns:
            for k in range(min(BLOCK, rows - start)):
                total += s[k] * m[start + k, j]
    if j < columns:
        out[j] = total


@impostor("weigh_rows", diagnosis="race")
@cuda.jit
def two_barriers_side_by_side(out, m, w, rows, columns):
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    j = cuda.grid(1)
    total = np.float32(0)
    for start in range(0, rows, BLOCK):
        if start + t < rows:
            s[t] = w[start + t]
        cuda.syncthreads()
        cuda.syncthreads()
        if j < columns:
            for k in range(min(BLOCK, rows - start)):
                total += s[k] * m[start + k, j]
    if j < columns:
        out[j] = total


@impostor("weigh_rows", diagnosis="race")
@cuda.jit
def second_barrier_of_a_warp(out, m, w, rows, columns):
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    j = cuda.grid(1)
    total = np.float32(0)
    for start in range(0, rows, BLOCK):
        if start + t < rows:
            s[t] = w[start + t]
        cuda.syncthreads()
        if j < columns:
            for k in range(min(BLOCK, rows - start)):
                total += s[k] * m[start + k, j]
        cuda.syncwarp()
    if j < columns:
        out[j] = total


@impostor("weigh_rows", diagnosis="race")
@cuda.jit
def second_barrier_behind_the_loop(out, m, w, rows, columns):
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    j = cuda.grid(1)
    total = np.float32(0)
    for start in range(0, rows, BLOCK):
        if start + t < rows:
            s[t] = w[start + t]
        cuda.syncthreads()
        if j < columns:
            for k in range(min(BLOCK, rows - start)):
                total += s[k] * m[start + k, j]
    cuda.syncthreads()
    if j < columns:
        out[j] = total


@impostor("weigh_rows", diagnosis="divergent_barrier")
@cuda.jit
def second_barrier_in_the_if(out, m, w, rows, columns):
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    j = cuda.grid(1)
    total = np.float32(0)
    for start in range(0, rows, BLOCK):
        if start + t < rows:
            s[t] = w[start + t]
        cuda.syncthreads()
        if j < columns:
            for k in range(min(BLOCK, rows - start)):
                total += s[k] * m[start + k, j]
            cuda.syncthreads()
    if j < columns:
        out[j] = total


@impostor("weigh_rows", diagnosis="uninitialised")
@cuda.jit
def idle_threads_leave(out, m, w, rows, columns):
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    j = cuda.grid(1)
    if j >= columns:
        return
    total = np.float32(0)
    for start in range(0, rows, BLOCK):
        if start + t < rows:
            s[t] = w[start + t]
        cuda.syncthreads()
        for k in range(min(BLOCK, rows - start)):
            total += s[k] * m[start + k, j]
        cuda.syncthreads()
    out[j] = total


@impostor("weigh_rows", diagnosis="too_many_loads")
@cuda.jit
def without_sharing(out, m, w, rows, columns):
    j = cuda.grid(1)
    if j < columns:
        total = np.float32(0)
        for k in range(rows):
            total += w[k] * m[k, j]
        out[j] = total


@impostor("weigh_rows", diagnosis="too_many_barriers")
@cuda.jit
def a_third_barrier(out, m, w, rows, columns):
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    j = cuda.grid(1)
    total = np.float32(0)
    for start in range(0, rows, BLOCK):
        cuda.syncthreads()
        if start + t < rows:
            s[t] = w[start + t]
        cuda.syncthreads()
        if j < columns:
            for k in range(min(BLOCK, rows - start)):
                total += s[k] * m[start + k, j]
        cuda.syncthreads()
    if j < columns:
        out[j] = total


@impostor("weigh_rows", diagnosis="whole_turns_only")
@cuda.jit
def rest_left_out(out, m, w, rows, columns):
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    j = cuda.grid(1)
    total = np.float32(0)
    for start in range(0, rows // BLOCK * BLOCK, BLOCK):
        s[t] = w[start + t]
        cuda.syncthreads()
        if j < columns:
            for k in range(BLOCK):
                total += s[k] * m[start + k, j]
        cuda.syncthreads()
    if j < columns:
        out[j] = total


@impostor("weigh_rows", diagnosis="first_turn_only")
@cuda.jit
def a_single_turn(out, m, w, rows, columns):
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    j = cuda.grid(1)
    total = np.float32(0)
    if t < rows:
        s[t] = w[t]
    cuda.syncthreads()
    if j < columns:
        for k in range(min(BLOCK, rows)):
            total += s[k] * m[k, j]
        out[j] = total


@impostor("weigh_rows", diagnosis="last_turn_only")
@cuda.jit
def total_of_the_last_turn(out, m, w, rows, columns):
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    j = cuda.grid(1)
    total = np.float32(0)
    for start in range(0, rows, BLOCK):
        if start + t < rows:
            s[t] = w[start + t]
        cuda.syncthreads()
        total = np.float32(0)
        if j < columns:
            for k in range(min(BLOCK, rows - start)):
                total += s[k] * m[start + k, j]
        cuda.syncthreads()
    if j < columns:
        out[j] = total


@impostor("weigh_rows", diagnosis="only_first_block")
@cuda.jit
def column_of_the_thread(out, m, w, rows, columns):
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    for start in range(0, rows, BLOCK):
        if start + t < rows:
            s[t] = w[start + t]
        cuda.syncthreads()
        if t < columns:
            for k in range(min(BLOCK, rows - start)):
                total += s[k] * m[start + k, t]
        cuda.syncthreads()
    if t < columns:
        out[t] = total


@impostor("weigh_rows", diagnosis="not_weighed")
@cuda.jit
def plain_sums(out, m, w, rows, columns):
    j = cuda.grid(1)
    if j < columns:
        total = np.float32(0)
        for k in range(rows):
            total += m[k, j]
        out[j] = total


# -- tile_blur ---------------------------------------------------------------------------------


@impostor("tile_blur", diagnosis="too_many_loads")
@cuda.jit
def nine_reads(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        total = np.float32(0)
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                row = min(max(y + dy, 0), height - 1)
                column = min(max(x + dx, 0), width - 1)
                total += a[row, column]
        out[y, x] = total / np.float32(9)


@impostor("tile_blur", diagnosis="too_many_loads")
@cuda.jit
def halo_read_where_it_is_needed(out, a, height, width):
    s = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    if x < width and y < height:
        s[ty, tx] = a[y, x]
    cuda.syncthreads()
    if x < width and y < height:
        total = np.float32(0)
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                row = min(max(y + dy, 0), height - 1)
                column = min(max(x + dx, 0), width - 1)
                r, c = row - y + ty, column - x + tx
                if 0 <= r < TILE and 0 <= c < TILE:
                    total += s[r, c]
                else:
                    total += a[row, column]
        out[y, x] = total / np.float32(9)


@impostor("tile_blur", diagnosis="race")
@cuda.jit
def tile_without_barrier(out, a, height, width):
    s = cuda.shared.array((FRAMED, FRAMED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    for k in range(ty * TILE + tx, FRAMED * FRAMED, TILE * TILE):
        row = min(max(cuda.blockIdx.y * TILE - 1 + k // FRAMED, 0), height - 1)
        column = min(max(cuda.blockIdx.x * TILE - 1 + k % FRAMED, 0), width - 1)
        s[k // FRAMED, k % FRAMED] = a[row, column]
    if x < width and y < height:
        total = np.float32(0)
        for dy in range(3):
            for dx in range(3):
                total += s[ty + dy, tx + dx]
        out[y, x] = total / np.float32(9)


@impostor("tile_blur", diagnosis="uninitialised")
@cuda.jit
def outside_the_picture_left_empty(out, a, height, width):
    s = cuda.shared.array((FRAMED, FRAMED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    for k in range(ty * TILE + tx, FRAMED * FRAMED, TILE * TILE):
        row = cuda.blockIdx.y * TILE - 1 + k // FRAMED
        column = cuda.blockIdx.x * TILE - 1 + k % FRAMED
        if 0 <= row < height and 0 <= column < width:
            s[k // FRAMED, k % FRAMED] = a[row, column]
    cuda.syncthreads()
    if x < width and y < height:
        total = np.float32(0)
        for dy in range(3):
            for dx in range(3):
                total += s[ty + dy, tx + dx]
        out[y, x] = total / np.float32(9)


@impostor("tile_blur", diagnosis="divergent_barrier")
@cuda.jit
def barrier_inside_the_picture(out, a, height, width):
    s = cuda.shared.array((FRAMED, FRAMED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    for k in range(ty * TILE + tx, FRAMED * FRAMED, TILE * TILE):
        row = min(max(cuda.blockIdx.y * TILE - 1 + k // FRAMED, 0), height - 1)
        column = min(max(cuda.blockIdx.x * TILE - 1 + k % FRAMED, 0), width - 1)
        s[k // FRAMED, k % FRAMED] = a[row, column]
    if x < width and y < height:
        cuda.syncthreads()
        total = np.float32(0)
        for dy in range(3):
            for dx in range(3):
                total += s[ty + dy, tx + dx]
        out[y, x] = total / np.float32(9)


@impostor("tile_blur", diagnosis="halo_clamped")
@cuda.jit
def clamped_to_the_tile(out, a, height, width):
    s = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    if x < width and y < height:
        s[ty, tx] = a[y, x]
    cuda.syncthreads()
    rows = min(TILE, height - cuda.blockIdx.y * TILE)
    columns = min(TILE, width - cuda.blockIdx.x * TILE)
    if x < width and y < height:
        total = np.float32(0)
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                total += s[min(max(ty + dy, 0), rows - 1), min(max(tx + dx, 0), columns - 1)]
        out[y, x] = total / np.float32(9)


@impostor("tile_blur", diagnosis="halo_zero")
@cuda.jit
def zeros_around_the_tile(out, a, height, width):
    s = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    s[ty, tx] = a[y, x] if x < width and y < height else np.float32(0)
    cuda.syncthreads()
    if x < width and y < height:
        total = np.float32(0)
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                if 0 <= ty + dy < TILE and 0 <= tx + dx < TILE:
                    total += s[ty + dy, tx + dx]
        out[y, x] = total / np.float32(9)


@impostor("tile_blur", diagnosis="edges_zero_padded")
@cuda.jit
def zeros_beyond_the_picture(out, a, height, width):
    s = cuda.shared.array((FRAMED, FRAMED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    for k in range(ty * TILE + tx, FRAMED * FRAMED, TILE * TILE):
        row = cuda.blockIdx.y * TILE - 1 + k // FRAMED
        column = cuda.blockIdx.x * TILE - 1 + k % FRAMED
        value = np.float32(0)
        if 0 <= row < height and 0 <= column < width:
            value = a[row, column]
        s[k // FRAMED, k % FRAMED] = value
    cuda.syncthreads()
    if x < width and y < height:
        total = np.float32(0)
        for dy in range(3):
            for dx in range(3):
                total += s[ty + dy, tx + dx]
        out[y, x] = total / np.float32(9)


@impostor("tile_blur", diagnosis="edges_copied")
@cuda.jit
def edges_as_in_the_lesson(out, a, height, width):
    s = cuda.shared.array((FRAMED, FRAMED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    for k in range(ty * TILE + tx, FRAMED * FRAMED, TILE * TILE):
        row = cuda.blockIdx.y * TILE - 1 + k // FRAMED
        column = cuda.blockIdx.x * TILE - 1 + k % FRAMED
        if 0 <= row < height and 0 <= column < width:
            s[k // FRAMED, k % FRAMED] = a[row, column]
    cuda.syncthreads()
    if x < width and y < height:
        if 0 < x < width - 1 and 0 < y < height - 1:
            total = np.float32(0)
            for dy in range(3):
                for dx in range(3):
                    total += s[ty + dy, tx + dx]
            out[y, x] = total / np.float32(9)
        else:
            out[y, x] = s[ty + 1, tx + 1]


@impostor("tile_blur", diagnosis="divided_by_eight")
@cuda.jit
def eight_for_nine(out, a, height, width):
    s = cuda.shared.array((FRAMED, FRAMED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    for k in range(ty * TILE + tx, FRAMED * FRAMED, TILE * TILE):
        row = min(max(cuda.blockIdx.y * TILE - 1 + k // FRAMED, 0), height - 1)
        column = min(max(cuda.blockIdx.x * TILE - 1 + k % FRAMED, 0), width - 1)
        s[k // FRAMED, k % FRAMED] = a[row, column]
    cuda.syncthreads()
    if x < width and y < height:
        total = np.float32(0)
        for dy in range(3):
            for dx in range(3):
                total += s[ty + dy, tx + dx]
        out[y, x] = total / np.float32(8)


@impostor("tile_blur", diagnosis="too_many_sectors")
@cuda.jit
def loads_column_by_column(out, a, height, width):
    s = cuda.shared.array((FRAMED, FRAMED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    for k in range(ty * TILE + tx, FRAMED * FRAMED, TILE * TILE):
        row = min(max(cuda.blockIdx.y * TILE - 1 + k % FRAMED, 0), height - 1)
        column = min(max(cuda.blockIdx.x * TILE - 1 + k // FRAMED, 0), width - 1)
        s[k % FRAMED, k // FRAMED] = a[row, column]
    cuda.syncthreads()
    if x < width and y < height:
        total = np.float32(0)
        for dy in range(3):
            for dx in range(3):
                total += s[ty + dy, tx + dx]
        out[y, x] = total / np.float32(9)


@impostor("tile_blur", diagnosis="too_much_shared")
@cuda.jit
def tile_in_double_precision(out, a, height, width):
    s = cuda.shared.array((FRAMED, FRAMED), np.float64)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    for k in range(ty * TILE + tx, FRAMED * FRAMED, TILE * TILE):
        row = min(max(cuda.blockIdx.y * TILE - 1 + k // FRAMED, 0), height - 1)
        column = min(max(cuda.blockIdx.x * TILE - 1 + k % FRAMED, 0), width - 1)
        s[k // FRAMED, k % FRAMED] = a[row, column]
    cuda.syncthreads()
    if x < width and y < height:
        total = 0.0
        for dy in range(3):
            for dx in range(3):
                total += s[ty + dy, tx + dx]
        out[y, x] = total / 9


@impostor("tile_blur", diagnosis="transposed")
@cuda.jit
def x_and_y_swapped(out, a, height, width):
    s = cuda.shared.array((FRAMED, FRAMED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    y, x = cuda.grid(2)
    for k in range(ty * TILE + tx, FRAMED * FRAMED, TILE * TILE):
        row = min(max(cuda.blockIdx.x * TILE - 1 + k // FRAMED, 0), height - 1)
        column = min(max(cuda.blockIdx.y * TILE - 1 + k % FRAMED, 0), width - 1)
        s[k // FRAMED, k % FRAMED] = a[row, column]
    cuda.syncthreads()
    if x < width and y < height:
        total = np.float32(0)
        for dy in range(3):
            for dx in range(3):
                total += s[tx + dy, ty + dx]
        out[y, x] = total / np.float32(9)


@impostor("tile_blur", diagnosis="reduced_precision")
@cuda.jit
def sum_in_half_precision(out, a, height, width):
    s = cuda.shared.array((FRAMED, FRAMED), np.float16)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    for k in range(ty * TILE + tx, FRAMED * FRAMED, TILE * TILE):
        row = min(max(cuda.blockIdx.y * TILE - 1 + k // FRAMED, 0), height - 1)
        column = min(max(cuda.blockIdx.x * TILE - 1 + k % FRAMED, 0), width - 1)
        s[k // FRAMED, k % FRAMED] = a[row, column]
    cuda.syncthreads()
    if x < width and y < height:
        total = np.float32(0)
        for dy in range(3):
            for dx in range(3):
                total += np.float32(s[ty + dy, tx + dx])
        out[y, x] = total / np.float32(9)


def tiles(down, right, ring):
    """A blur by tiles; its shared array begins `ring` places before the tile."""

    @cuda.jit
    def tile_by_tile(out, a, height, width):
        s = cuda.shared.array((FRAMED, FRAMED), np.float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        x, y = cuda.grid(2)
        index = (cuda.blockIdx.x, cuda.blockIdx.y)
        first_y, first_x = index[down] * TILE - ring, index[right] * TILE - ring
        for k in range(ty * TILE + tx, FRAMED * FRAMED, TILE * TILE):
            row = min(max(first_y + k // FRAMED, 0), height - 1)
            column = min(max(first_x + k % FRAMED, 0), width - 1)
            s[k // FRAMED, k % FRAMED] = a[row, column]
        cuda.syncthreads()
        if x < width and y < height:
            total = np.float32(0)
            for dy in range(3):
                for dx in range(3):
                    total += s[ty + dy, tx + dx]
            out[y, x] = total / np.float32(9)

    return tile_by_tile


ring_forgotten = impostor("tile_blur", diagnosis="from_the_corner")(tiles(1, 0, 0))
block_indices_exchanged = impostor("tile_blur", diagnosis="blocks_exchanged")(tiles(0, 1, 1))


@impostor("tile_blur", diagnosis="few_threads_work")
@cuda.jit
def first_block_blurs_all(out, a, height, width):
    s = cuda.shared.array((FRAMED, FRAMED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    if cuda.blockIdx.x == 0 and cuda.blockIdx.y == 0:
        for tile in range(cuda.gridDim.x * cuda.gridDim.y):
            first_y = tile // cuda.gridDim.x * TILE - 1
            first_x = tile % cuda.gridDim.x * TILE - 1
            for k in range(ty * TILE + tx, FRAMED * FRAMED, TILE * TILE):
                row = min(max(first_y + k // FRAMED, 0), height - 1)
                column = min(max(first_x + k % FRAMED, 0), width - 1)
                s[k // FRAMED, k % FRAMED] = a[row, column]
            cuda.syncthreads()
            y, x = first_y + 1 + ty, first_x + 1 + tx
            if x < width and y < height:
                total = np.float32(0)
                for dy in range(3):
                    for dx in range(3):
                        total += s[ty + dy, tx + dx]
                out[y, x] = total / np.float32(9)
            cuda.syncthreads()


@impostor("halo_mean", diagnosis="few_threads_work")
@cuda.jit
def first_block_smooths_all(out, a, n):
    s = cuda.shared.array(WIDE, np.float32)
    t = cuda.threadIdx.x
    if cuda.blockIdx.x == 0:
        for first in range(0, n, BLOCK):
            for k in range(t, WIDE, BLOCK):
                j = first - RADIUS + k
                s[k] = a[j] if 0 <= j < n else np.float32(0)
            cuda.syncthreads()
            if first + t < n:
                total = np.float32(0)
                for k in range(WINDOW):
                    total += s[t + k]
                out[first + t] = total / np.float32(WINDOW)
            cuda.syncthreads()


def all_weights_at_once(room):
    """Keeps every weight, so it ends where its array does."""

    @cuda.jit
    def all_at_once(out, m, w, rows, columns):
        s = cuda.shared.array(room, np.float32)
        j = cuda.grid(1)
        for k in range(cuda.threadIdx.x, rows, BLOCK):
            s[k] = w[k]
        cuda.syncthreads()
        if j < columns:
            total = np.float32(0)
            for k in range(rows):
                total += s[k] * m[k, j]
            out[j] = total

    return all_at_once


room_for_1024 = impostor("weigh_rows", diagnosis="too_much_shared")(all_weights_at_once(1024))
room_for_512 = impostor("weigh_rows", diagnosis="out_of_bounds")(all_weights_at_once(512))
