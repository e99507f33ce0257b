"""Wrong answers to the lab t1_03_warps."""

from __future__ import annotations

import numpy as np

from tests.impostors import impostor
from warpwise import cuda

ALL = 0xFFFFFFFF

# -- lane_and_warp -----------------------------------------------------------------------------


@impostor("lane_and_warp", diagnosis="rows_as_warps")
@cuda.jit
def row_as_warp(lane, warp):
    x, y = cuda.grid(2)
    lane[y, x] = cuda.threadIdx.x
    warp[y, x] = cuda.threadIdx.y


@impostor("lane_and_warp", diagnosis="x_only")
@cuda.jit
def one_direction(lane, warp):
    x, y = cuda.grid(2)
    lane[y, x] = cuda.threadIdx.x % 32
    warp[y, x] = cuda.threadIdx.x // 32


@impostor("lane_and_warp", diagnosis="y_first")
@cuda.jit
def down_the_columns(lane, warp):
    x, y = cuda.grid(2)
    t = cuda.threadIdx.y + cuda.threadIdx.x * cuda.blockDim.y
    lane[y, x] = t % 32
    warp[y, x] = t // 32


@impostor("lane_and_warp", diagnosis="numbered_over_the_launch")
@cuda.jit
def through_all_blocks(lane, warp):
    x, y = cuda.grid(2)
    block = cuda.blockIdx.x + cuda.blockIdx.y * cuda.gridDim.x
    size = cuda.blockDim.x * cuda.blockDim.y
    t = block * size + cuda.threadIdx.x + cuda.threadIdx.y * cuda.blockDim.x
    lane[y, x] = t % 32
    warp[y, x] = t // 32


@impostor("lane_and_warp", diagnosis="numbered_over_the_picture")
@cuda.jit
def row_of_the_array(lane, warp):
    x, y = cuda.grid(2)
    t = x + y * lane.shape[1]
    lane[y, x] = t % 32
    warp[y, x] = t // 32


@impostor("lane_and_warp", diagnosis="column_of_the_grid")
@cuda.jit
def column_alone(lane, warp):
    x, y = cuda.grid(2)
    lane[y, x] = x % 32
    warp[y, x] = x // 32


@impostor("lane_and_warp", diagnosis="exchanged")
@cuda.jit
def exchanged_arrays(lane, warp):
    x, y = cuda.grid(2)
    t = cuda.threadIdx.x + cuda.threadIdx.y * cuda.blockDim.x
    warp[y, x] = t % 32
    lane[y, x] = t // 32


@impostor("lane_and_warp", diagnosis="not_cut")
@cuda.jit
def number_as_lane(lane, warp):
    x, y = cuda.grid(2)
    t = cuda.threadIdx.x + cuda.threadIdx.y * cuda.blockDim.x
    lane[y, x] = t
    warp[y, x] = t // 32


@impostor("lane_and_warp", diagnosis="all_zero")
@cuda.jit
def zeros(lane, warp):
    x, y = cuda.grid(2)
    lane[y, x] = 0
    warp[y, x] = 0


@impostor("lane_and_warp", diagnosis="never_written")
@cuda.jit
def warp_forgotten(lane, warp):
    x, y = cuda.grid(2)
    lane[y, x] = (cuda.threadIdx.x + cuda.threadIdx.y * cuda.blockDim.x) % 32


@impostor("lane_and_warp", diagnosis="only_first_block")
@cuda.jit
def first_block(lane, warp):
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    t = x + y * cuda.blockDim.x
    lane[y, x] = t % 32
    warp[y, x] = t // 32


@impostor("lane_and_warp", diagnosis="out_of_bounds")
@cuda.jit
def x_in_front(lane, warp):
    x, y = cuda.grid(2)
    t = cuda.threadIdx.x + cuda.threadIdx.y * cuda.blockDim.x
    lane[x, y] = t % 32
    warp[x, y] = t // 32


@impostor("lane_and_warp", diagnosis="warps_of_64")
@cuda.jit
def warps_of_64(lane, warp):
    x, y = cuda.grid(2)
    t = cuda.threadIdx.x + cuda.threadIdx.y * cuda.blockDim.x
    lane[y, x] = t % 64
    warp[y, x] = t // 64


# -- branch_slots ------------------------------------------------------------------------------


@impostor("branch_slots", diagnosis="both_sides_for_all")
def every_warp_pays_both():
    return 6 * (1 + 4 + 3 + 2 * 7)


@impostor("branch_slots", diagnosis="parted_warp_takes_else")
def parted_warp_in_else_only():
    return 6 + 3 * 4 + 3 * 17


@impostor("branch_slots", diagnosis="parted_warp_takes_if")
def parted_warp_in_if_only():
    return 6 + 4 * 4 + 2 * 17


@impostor("branch_slots", diagnosis="warps_across_blocks")
def five_warps():
    return 5 + 4 * 4 + 2 * 17


@impostor("branch_slots", diagnosis="last_warp_left_out")
def full_warps_only():
    return 4 + 3 * 4 + 2 * 17


@impostor("branch_slots", diagnosis="mean_of_the_turns")
def three_and_a_half_turns():
    return 6 + 4 * 4 + 3 * (3 + 7)


@impostor("branch_slots", diagnosis="one_turn")
def body_once():
    return 6 + 4 * 4 + 3 * (3 + 2)


@impostor("branch_slots", diagnosis="a_turn_too_many")
def eight_turns():
    return 6 + 4 * 4 + 3 * (3 + 2 * 8)


@impostor("branch_slots", diagnosis="condition_left_out")
def no_comparison():
    return 4 * 4 + 3 * 17


@impostor("branch_slots", diagnosis="remainder_left_out")
def no_remainder():
    return 6 + 4 * 4 + 3 * 16


@impostor("branch_slots", diagnosis="threads_counted")
def all_threads():
    return sum(1 + (4 if i < 100 else 3 + 2 * (i % 8)) for i in range(160))


@impostor("branch_slots", diagnosis="one_block")
def block_zero():
    return 3 + 3 * 4


@impostor("branch_slots", diagnosis="wrong_values")
def the_example():
    return 5


# -- settle_particles --------------------------------------------------------------------------


@impostor("settle_particles", diagnosis="warps_part")
@cuda.jit
def by_lane(out, a, rate, steps, n):
    i = cuda.grid(1)
    if i < n:
        v = a[i]
        if i % 2 == 0:
            for _ in range(steps):
                v -= rate * v
        else:
            for _ in range(steps):
                v += rate * (1 - v)
        out[i] = v


@impostor("settle_particles", diagnosis="both_rules_for_all")
@cuda.jit
def both_and_choose(out, a, rate, steps, n):
    i = cuda.grid(1)
    if i < n:
        fades = a[i]
        charges = a[i]
        for _ in range(steps):
            fades -= rate * fades
            charges += rate * (1 - charges)
        odd = i % 2
        out[i] = (1 - odd) * fades + odd * charges


@impostor("settle_particles", diagnosis="kind_by_warp")
@cuda.jit
def warps_choose_but_nobody_moves(out, a, rate, steps, n):
    i = cuda.grid(1)
    if i < n:
        v = a[i]
        if (i // 32) % 2 == 0:
            for _ in range(steps):
                v -= rate * v
        else:
            for _ in range(steps):
                v += rate * (1 - v)
        out[i] = v


@impostor("settle_particles", diagnosis="kind_by_half")
@cuda.jit
def halves_of_the_array(out, a, rate, steps, n):
    i = cuda.grid(1)
    if i < n:
        v = a[i]
        if i < (n + 1) // 2:
            for _ in range(steps):
                v -= rate * v
        else:
            for _ in range(steps):
                v += rate * (1 - v)
        out[i] = v


@impostor("settle_particles", diagnosis="kinds_exchanged")
@cuda.jit
def rules_exchanged(out, a, rate, steps, n):
    i = cuda.grid(1)
    kind = (i // 32) % 2
    p = 64 * (i // 64) + 2 * (i % 32) + kind
    if p < n:
        v = a[p]
        for _ in range(steps):
            if kind == 1:
                v -= rate * v
            else:
                v += rate * (1 - v)
        out[p] = v


@impostor("settle_particles", diagnosis="all_fade")
@cuda.jit
def one_rule(out, a, rate, steps, n):
    i = cuda.grid(1)
    if i < n:
        v = a[i]
        for _ in range(steps):
            v -= rate * v
        out[i] = v


@impostor("settle_particles", diagnosis="all_charge")
@cuda.jit
def the_other_rule(out, a, rate, steps, n):
    i = cuda.grid(1)
    if i < n:
        v = a[i]
        for _ in range(steps):
            v += rate * (1 - v)
        out[i] = v


@impostor("settle_particles", diagnosis="even_only")
@cuda.jit
def odd_particles_forgotten(out, a, rate, steps, n):
    i = 2 * cuda.grid(1)
    if i < n:
        v = a[i]
        for _ in range(steps):
            v -= rate * v
        out[i] = v


@impostor("settle_particles", diagnosis="out_of_bounds")
@cuda.jit
def thread_guarded_instead_of_particle(out, a, rate, steps, n):
    i = cuda.grid(1)
    kind = (i // 32) % 2
    p = 64 * (i // 64) + 2 * (i % 32) + kind
    if i < n:
        v = a[p]
        for _ in range(steps):
            if kind == 0:
                v -= rate * v
            else:
                v += rate * (1 - v)
        out[p] = v


@impostor("settle_particles", diagnosis="never_written")
@cuda.jit
def whole_groups_only(out, a, rate, steps, n):
    i = cuda.grid(1)
    kind = (i // 32) % 2
    p = 64 * (i // 64) + 2 * (i % 32) + kind
    if p < n and i < n:
        v = a[p]
        for _ in range(steps):
            if kind == 0:
                v -= rate * v
            else:
                v += rate * (1 - v)
        out[p] = v


@impostor("settle_particles", diagnosis="input_copied")
@cuda.jit
def copied(out, a, rate, steps, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = a[i]


@impostor("settle_particles", diagnosis="all_zero")
@cuda.jit
def all_faded(out, a, rate, steps, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = 0


@impostor("settle_particles", diagnosis="reduced_precision")
@cuda.jit
def half_precision(out, a, rate, steps, n):
    i = cuda.grid(1)
    kind = (i // 32) % 2
    p = 64 * (i // 64) + 2 * (i % 32) + kind
    if p < n:
        v = a[p]
        for _ in range(steps):
            if kind == 0:
                v -= rate * v
            else:
                v += rate * (1 - v)
        out[p] = np.float16(v)


# -- pack_positive -----------------------------------------------------------------------------


@impostor("pack_positive", diagnosis="not_packed")
@cuda.jit
def gaps_left(out, count, a, n):
    i = cuda.grid(1)
    v = np.float32(0)
    if i < n:
        v = a[i]
    keeps = cuda.ballot_sync(ALL, v > 0)
    if v > 0:
        out[i] = v
    if i % 32 == 0 and i < n:
        count[i // 32] = cuda.popc(keeps)


@impostor("pack_positive", diagnosis="own_lane_counted")
@cuda.jit
def own_bit_included(out, count, a, n):
    i = cuda.grid(1)
    lane = i % 32
    v = np.float32(0)
    if i < n:
        v = a[i]
    keeps = cuda.ballot_sync(ALL, v > 0)
    at = i - lane + cuda.popc(keeps & ((2 << lane) - 1))
    if v > 0 and at < n:
        out[at] = v
    if lane == 0 and i < n:
        count[i // 32] = cuda.popc(keeps)


@impostor("pack_positive", diagnosis="reversed")
@cuda.jit
def bits_above(out, count, a, n):
    i = cuda.grid(1)
    lane = i % 32
    v = np.float32(0)
    if i < n:
        v = a[i]
    keeps = cuda.ballot_sync(ALL, v > 0)
    if v > 0:
        above = (keeps & 0xFFFFFFFF) >> (lane + 1)
        out[i - lane + cuda.popc(above)] = v
    if lane == 0 and i < n:
        count[i // 32] = cuda.popc(keeps)


@impostor("pack_positive", diagnosis="count_of_lanes")
@cuda.jit
def everybody_counted(out, count, a, n):
    i = cuda.grid(1)
    lane = i % 32
    v = np.float32(0)
    if i < n:
        v = a[i]
    keeps = cuda.ballot_sync(ALL, v > 0)
    there = cuda.ballot_sync(ALL, i < n)
    if v > 0:
        out[i - lane + cuda.popc(keeps & ((1 << lane) - 1))] = v
    if lane == 0 and i < n:
        count[i // 32] = cuda.popc(there)


@impostor("pack_positive", diagnosis="ballot_stored")
@cuda.jit
def bits_for_a_number(out, count, a, n):
    i = cuda.grid(1)
    lane = i % 32
    v = np.float32(0)
    if i < n:
        v = a[i]
    keeps = cuda.ballot_sync(ALL, v > 0)
    if v > 0:
        out[i - lane + cuda.popc(keeps & ((1 << lane) - 1))] = v
    if lane == 0 and i < n:
        count[i // 32] = keeps


@impostor("pack_positive", diagnosis="zero_or_one")
@cuda.jit
def any_for_ballot(out, count, a, n):
    i = cuda.grid(1)
    lane = i % 32
    v = np.float32(0)
    if i < n:
        v = a[i]
    keeps = cuda.ballot_sync(ALL, v > 0)
    some = cuda.any_sync(ALL, v > 0)
    if v > 0:
        out[i - lane + cuda.popc(keeps & ((1 << lane) - 1))] = v
    if lane == 0 and i < n:
        count[i // 32] = 1 if some else 0


@impostor("pack_positive", diagnosis="negative_ones")
@cuda.jit
def wrong_sign(out, count, a, n):
    i = cuda.grid(1)
    lane = i % 32
    v = np.float32(0)
    if i < n:
        v = a[i]
    keeps = cuda.ballot_sync(ALL, v < 0)
    if v < 0:
        out[i - lane + cuda.popc(keeps & ((1 << lane) - 1))] = v
    if lane == 0 and i < n:
        count[i // 32] = cuda.popc(keeps)


@impostor("pack_positive", diagnosis="whole_array")
@cuda.jit
def packed_over_all_warps(out, count, a, n):
    i = cuda.grid(1)
    lane = i % 32
    v = np.float32(0)
    if i < n:
        v = a[i]
    keeps = cuda.ballot_sync(ALL, v > 0)
    before = 0
    for k in range(min(i, n)):
        if a[k] > 0:
            before += 1
    if v > 0:
        out[before] = v
    if lane == 0 and i < n:
        count[i // 32] = cuda.popc(keeps)


@impostor("pack_positive", diagnosis="unassigned")
@cuda.jit
def no_value_without_an_element(out, count, a, n):
    i = cuda.grid(1)
    lane = i % 32
    if i < n:
        v = a[i]
    keeps = cuda.ballot_sync(ALL, v > 0)
    if v > 0:
        out[i - lane + cuda.popc(keeps & ((1 << lane) - 1))] = v
    if lane == 0 and i < n:
        count[i // 32] = cuda.popc(keeps)


@impostor("pack_positive", diagnosis="one_stretch")
@cuda.jit
def warp_forgotten_in_the_place(out, count, a, n):
    i = cuda.grid(1)
    lane = i % 32
    v = np.float32(0)
    if i < n:
        v = a[i]
    keeps = cuda.ballot_sync(ALL, v > 0)
    if v > 0:
        out[cuda.popc(keeps & ((1 << lane) - 1))] = v
    if lane == 0 and i < n:
        count[i // 32] = cuda.popc(keeps)


@impostor("pack_positive", diagnosis="warp_of_the_block")
@cuda.jit
def block_forgotten(out, count, a, n):
    i = cuda.grid(1)
    lane, warp = cuda.threadIdx.x % 32, cuda.threadIdx.x // 32
    v = np.float32(0)
    if i < n:
        v = a[i]
    keeps = cuda.ballot_sync(ALL, v > 0)
    if v > 0:
        out[32 * warp + cuda.popc(keeps & ((1 << lane) - 1))] = v
    if lane == 0 and i < n:
        count[warp] = cuda.popc(keeps)


@impostor("pack_positive", diagnosis="too_many_loads")
@cuda.jit
def neighbours_read(out, count, a, n):
    i = cuda.grid(1)
    first = i - i % 32
    if i < n:
        before = 0
        for k in range(first, i):
            if a[k] > 0:
                before += 1
        if a[i] > 0:
            out[first + before] = a[i]
        if i == first:
            total = 0
            for k in range(first, min(first + 32, n)):
                if a[k] > 0:
                    total += 1
            count[i // 32] = total


@impostor("pack_positive", diagnosis="out_of_bounds")
@cuda.jit
def load_without_guard(out, count, a, n):
    i = cuda.grid(1)
    lane = i % 32
    v = a[i]
    keeps = cuda.ballot_sync(ALL, v > 0)
    if v > 0:
        out[i - lane + cuda.popc(keeps & ((1 << lane) - 1))] = v
    if lane == 0:
        count[i // 32] = cuda.popc(keeps)


@impostor("pack_positive", diagnosis="out_of_bounds")
@cuda.jit
def count_without_guard(out, count, a, n):
    i = cuda.grid(1)
    lane = i % 32
    v = np.float32(0)
    if i < n:
        v = a[i]
    keeps = cuda.ballot_sync(ALL, v > 0)
    if v > 0:
        out[i - lane + cuda.popc(keeps & ((1 << lane) - 1))] = v
    if lane == 0:
        count[i // 32] = cuda.popc(keeps)


@impostor("pack_positive", diagnosis="mask_names_absent")
@cuda.jit
def vote_behind_the_condition(out, count, a, n):
    i = cuda.grid(1)
    lane = i % 32
    v = np.float32(0)
    if i < n:
        v = a[i]
    if lane == 0 and i < n:
        count[i // 32] = 0
    if v > 0:
        keeps = cuda.ballot_sync(ALL, v > 0)
        below = cuda.popc(keeps & ((1 << lane) - 1))
        out[i - lane + below] = v
        if below == 0:
            count[i // 32] = cuda.popc(keeps)


@impostor("pack_positive", diagnosis="written_more_than_once")
@cuda.jit
def every_lane_stores_the_count(out, count, a, n):
    i = cuda.grid(1)
    lane = i % 32
    v = np.float32(0)
    if i < n:
        v = a[i]
    keeps = cuda.ballot_sync(ALL, v > 0)
    if v > 0:
        out[i - lane + cuda.popc(keeps & ((1 << lane) - 1))] = v
    if i < n:
        count[i // 32] = cuda.popc(keeps)


@impostor("pack_positive", diagnosis="wrote_outside")
@cuda.jit
def rest_filled_with_zeros(out, count, a, n):
    i = cuda.grid(1)
    lane = i % 32
    v = np.float32(0)
    if i < n:
        v = a[i]
    keeps = cuda.ballot_sync(ALL, v > 0)
    total = cuda.popc(keeps)
    if v > 0:
        out[i - lane + cuda.popc(keeps & ((1 << lane) - 1))] = v
    if i < n and lane >= total:
        out[i] = 0
    if lane == 0 and i < n:
        count[i // 32] = total


# -- mend_warp_sum -----------------------------------------------------------------------------


@impostor("mend_warp_sum", diagnosis="inactive_source")
@cuda.jit
def still_broken(out, a, n):
    i = cuda.grid(1)
    if i >= n:
        return
    v = a[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(ALL, v, step)
    if i % 32 == 0:
        out[i // 32] = v


@impostor("mend_warp_sum", diagnosis="mask_names_absent")
@cuda.jit
def shuffles_behind_the_guard(out, a, n):
    i = cuda.grid(1)
    if i < n:
        v = a[i]
        for step in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(ALL, v, step)
        if i % 32 == 0:
            out[i // 32] = v


@impostor("mend_warp_sum", diagnosis="other_order")
@cuda.jit
def ascending_steps(out, a, n):
    i = cuda.grid(1)
    v = np.float32(0)
    if i < n:
        v = a[i]
    for step in (1, 2, 4, 8, 16):
        v += cuda.shfl_down_sync(ALL, v, step)
    if i % 32 == 0 and i < n:
        out[i // 32] = v


@impostor("mend_warp_sum", diagnosis="lane_after_lane")
@cuda.jit
def lane_zero_reads_all(out, a, n):
    i = cuda.grid(1)
    if i % 32 == 0 and i < n:
        v = a[i]
        for k in range(i + 1, min(i + 32, n)):
            v += a[k]
        out[i // 32] = v


@impostor("mend_warp_sum", diagnosis="summed_in_float64")
@cuda.jit
def plain_zero(out, a, n):
    i = cuda.grid(1)
    v = 0.0
    if i < n:
        v = a[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(ALL, v, step)
    if i % 32 == 0 and i < n:
        out[i // 32] = v


@impostor("mend_warp_sum", diagnosis="first_element")
@cuda.jit
def values_move_up(out, a, n):
    i = cuda.grid(1)
    v = np.float32(0)
    if i < n:
        v = a[i]
    total = v
    for step in (16, 8, 4, 2, 1):
        other = cuda.shfl_up_sync(ALL, total, step)
        if i % 32 >= step:
            total += other
    if i % 32 == 0 and i < n:
        out[i // 32] = total


@impostor("mend_warp_sum", diagnosis="last_element")
@cuda.jit
def replaced_instead_of_added(out, a, n):
    i = cuda.grid(1)
    v = np.float32(0)
    if i < n:
        v = a[i]
    for step in (16, 8, 4, 2, 1):
        v = cuda.shfl_down_sync(ALL, v, step)
    if i % 32 == 0 and i < n:
        out[i // 32] = v


@impostor("mend_warp_sum", diagnosis="only_first_block")
@cuda.jit
def thread_for_index(out, a, n):
    i = cuda.threadIdx.x
    v = np.float32(0)
    if i < n:
        v = a[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(ALL, v, step)
    if i % 32 == 0 and i < n:
        out[i // 32] = v


@impostor("mend_warp_sum", diagnosis="inactive_source")
@cuda.jit
def true_mask_but_lanes_missing(out, a, n):
    i = cuda.grid(1)
    mask = cuda.ballot_sync(ALL, i < n)
    if i < n:
        v = a[i]
        for step in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(mask, v, step)
        if i % 32 == 0:
            out[i // 32] = v


@impostor("mend_warp_sum", diagnosis="mask_names_absent")
@cuda.jit
def only_lower_lanes_ask(out, a, n):
    i = cuda.grid(1)
    v = np.float32(0)
    if i < n:
        v = a[i]
    for step in (16, 8, 4, 2, 1):
        if i % 32 < step:
            v += cuda.shfl_down_sync(ALL, v, step)
    if i % 32 == 0 and i < n:
        out[i // 32] = v


@impostor("mend_warp_sum", diagnosis="first_step_missing")
@cuda.jit
def from_eight(out, a, n):
    i = cuda.grid(1)
    v = np.float32(0)
    if i < n:
        v = a[i]
    for step in (8, 4, 2, 1):
        v += cuda.shfl_down_sync(ALL, v, step)
    if i % 32 == 0 and i < n:
        out[i // 32] = v


@impostor("mend_warp_sum", diagnosis="last_step_missing")
@cuda.jit
def down_to_two(out, a, n):
    i = cuda.grid(1)
    v = np.float32(0)
    if i < n:
        v = a[i]
    for step in (16, 8, 4, 2):
        v += cuda.shfl_down_sync(ALL, v, step)
    if i % 32 == 0 and i < n:
        out[i // 32] = v


@impostor("mend_warp_sum", diagnosis="full_warps_only")
@cuda.jit
def whole_warps(out, a, n):
    i = cuda.grid(1)
    last = i - i % 32 + 31
    v = np.float32(0)
    if last < n:
        v = a[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(ALL, v, step)
    if i % 32 == 0 and last < n:
        out[i // 32] = v


@impostor("mend_warp_sum", diagnosis="filled_with_ones")
@cuda.jit
def one_for_nothing(out, a, n):
    i = cuda.grid(1)
    v = np.float32(1)
    if i < n:
        v = a[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(ALL, v, step)
    if i % 32 == 0 and i < n:
        out[i // 32] = v


@impostor("mend_warp_sum", diagnosis="out_of_bounds")
@cuda.jit
def no_guard(out, a, n):
    i = cuda.grid(1)
    v = a[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(ALL, v, step)
    if i % 32 == 0:
        out[i // 32] = v


@impostor("mend_warp_sum", diagnosis="all_zero")
@cuda.jit
def zero_sums(out, a, n):
    i = cuda.grid(1)
    if i % 32 == 0 and i < n:
        out[i // 32] = 0


@impostor("mend_warp_sum", diagnosis="reduced_precision")
@cuda.jit
def half_sum(out, a, n):
    i = cuda.grid(1)
    v = np.float32(0)
    if i < n:
        v = a[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(ALL, v, step)
    if i % 32 == 0 and i < n:
        out[i // 32] = np.float16(v)


@impostor("mend_warp_sum", diagnosis="written_more_than_once")
@cuda.jit
def all_lanes_store(out, a, n):
    i = cuda.grid(1)
    v = np.float32(0)
    if i < n:
        v = a[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_xor_sync(ALL, v, step)
    if i < n:
        out[i // 32] = v


# -- warp_argmax -------------------------------------------------------------------------------


@impostor("warp_argmax", diagnosis="too_many_slots")
@cuda.jit
def ask_everybody(best, place, a, n):
    i = cuda.grid(1)
    v = np.float32(-np.inf)
    if i < n:
        v = a[i]
    top, at = v, i % 32
    for k in range(32):
        other = cuda.shfl_sync(ALL, v, k)
        if other > top or (other == top and k < at):
            top, at = other, k
    if i % 32 == 0 and i < n:
        best[i // 32] = top
        place[i // 32] = i + at


@impostor("warp_argmax", diagnosis="too_many_loads")
@cuda.jit
def lane_zero_reads(best, place, a, n):
    i = cuda.grid(1)
    if i % 32 == 0 and i < n:
        at = i
        for k in range(i + 1, min(i + 32, n)):
            if a[k] > a[at]:
                at = k
        best[i // 32] = a[at]
        place[i // 32] = at


@impostor("warp_argmax", diagnosis="last_of_equals")
@cuda.jit
def highest_bit(best, place, a, n):
    i = cuda.grid(1)
    v = np.float32(-np.inf)
    if i < n:
        v = a[i]
    top = v
    for step in (16, 8, 4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(ALL, top, step))
    holders = cuda.ballot_sync(ALL, v == top)
    if i % 32 == 0 and i < n:
        best[i // 32] = top
        place[i // 32] = i + 31 - cuda.clz(holders)


@impostor("warp_argmax", diagnosis="tie_by_the_way")
@cuda.jit
def larger_only(best, place, a, n):
    i = cuda.grid(1)
    top = np.float32(-np.inf)
    if i < n:
        top = a[i]
    at = i
    for step in (16, 8, 4, 2, 1):
        other = cuda.shfl_down_sync(ALL, top, step)
        there = cuda.shfl_down_sync(ALL, at, step)
        if other > top:
            top = other
            at = there
    if i % 32 == 0 and i < n:
        best[i // 32] = top
        place[i // 32] = at


@impostor("warp_argmax", diagnosis="last_of_equals")
@cuda.jit
def every_holder_stores(best, place, a, n):
    i = cuda.grid(1)
    v = np.float32(-np.inf)
    if i < n:
        v = a[i]
    top = v
    for step in (16, 8, 4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(ALL, top, step))
    if v == top and i < n:
        best[i // 32] = top
        place[i // 32] = i


@impostor("warp_argmax", diagnosis="place_in_the_warp")
@cuda.jit
def lane_for_index(best, place, a, n):
    i = cuda.grid(1)
    v = np.float32(-np.inf)
    if i < n:
        v = a[i]
    top = v
    for step in (16, 8, 4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(ALL, top, step))
    holders = cuda.ballot_sync(ALL, v == top)
    if i % 32 == 0 and i < n:
        best[i // 32] = top
        place[i // 32] = cuda.ffs(holders) - 1


@impostor("warp_argmax", diagnosis="one_too_far")
@cuda.jit
def bits_from_one(best, place, a, n):
    i = cuda.grid(1)
    v = np.float32(-np.inf)
    if i < n:
        v = a[i]
    top = v
    for step in (16, 8, 4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(ALL, top, step))
    holders = cuda.ballot_sync(ALL, v == top)
    if i % 32 == 0 and i < n:
        best[i // 32] = top
        place[i // 32] = i + cuda.ffs(holders)


@impostor("warp_argmax", diagnosis="minimum")
@cuda.jit
def smallest(best, place, a, n):
    i = cuda.grid(1)
    v = np.float32(np.inf)
    if i < n:
        v = a[i]
    top = v
    for step in (16, 8, 4, 2, 1):
        top = min(top, cuda.shfl_xor_sync(ALL, top, step))
    holders = cuda.ballot_sync(ALL, v == top)
    if i % 32 == 0 and i < n:
        best[i // 32] = top
        place[i // 32] = i + cuda.ffs(holders) - 1


@impostor("warp_argmax", diagnosis="filled_with_zero")
@cuda.jit
def zero_for_nothing(best, place, a, n):
    i = cuda.grid(1)
    v = np.float32(0)
    if i < n:
        v = a[i]
    top = v
    for step in (16, 8, 4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(ALL, top, step))
    holders = cuda.ballot_sync(ALL, v == top)
    if i % 32 == 0 and i < n:
        best[i // 32] = top
        place[i // 32] = i + cuda.ffs(holders) - 1


@impostor("warp_argmax", diagnosis="largest_magnitude")
@cuda.jit
def without_sign(best, place, a, n):
    i = cuda.grid(1)
    v = np.float32(0)
    if i < n:
        v = abs(a[i])
    top = v
    for step in (16, 8, 4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(ALL, top, step))
    holders = cuda.ballot_sync(ALL, v == top)
    if i % 32 == 0 and i < n:
        best[i // 32] = top
        place[i // 32] = i + cuda.ffs(holders) - 1


@impostor("warp_argmax", diagnosis="first_step_missing")
@cuda.jit
def half_of_the_warp(best, place, a, n):
    i = cuda.grid(1)
    v = np.float32(-np.inf)
    if i < n:
        v = a[i]
    top = v
    for step in (8, 4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(ALL, top, step))
    holders = cuda.ballot_sync(ALL, v == top)
    if i % 32 == 0 and i < n:
        best[i // 32] = top
        place[i // 32] = i + cuda.ffs(holders) - 1


@impostor("warp_argmax", diagnosis="last_step_missing")
@cuda.jit
def every_second_lane(best, place, a, n):
    i = cuda.grid(1)
    v = np.float32(-np.inf)
    if i < n:
        v = a[i]
    top = v
    for step in (16, 8, 4, 2):
        top = max(top, cuda.shfl_xor_sync(ALL, top, step))
    holders = cuda.ballot_sync(ALL, v == top)
    if i % 32 == 0 and i < n:
        best[i // 32] = top
        place[i // 32] = i + cuda.ffs(holders) - 1


@impostor("warp_argmax", diagnosis="inactive_source")
@cuda.jit
def lanes_leave(best, place, a, n):
    i = cuda.grid(1)
    if i >= n:
        return
    v = a[i]
    top = v
    for step in (16, 8, 4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(ALL, top, step))
    holders = cuda.ballot_sync(ALL, v == top)
    if i % 32 == 0:
        best[i // 32] = top
        place[i // 32] = i + cuda.ffs(holders) - 1


@impostor("warp_argmax", diagnosis="reduced_precision")
@cuda.jit
def half_maximum(best, place, a, n):
    i = cuda.grid(1)
    v = np.float32(-np.inf)
    if i < n:
        v = a[i]
    top = v
    for step in (16, 8, 4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(ALL, top, step))
    holders = cuda.ballot_sync(ALL, v == top)
    if i % 32 == 0 and i < n:
        best[i // 32] = np.float16(top)
        place[i // 32] = i + cuda.ffs(holders) - 1


@impostor("warp_argmax", diagnosis="out_of_bounds")
@cuda.jit
def store_without_guard(best, place, a, n):
    i = cuda.grid(1)
    v = np.float32(-np.inf)
    if i < n:
        v = a[i]
    top = v
    for step in (16, 8, 4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(ALL, top, step))
    holders = cuda.ballot_sync(ALL, v == top)
    if i % 32 == 0:
        best[i // 32] = top
        place[i // 32] = i + cuda.ffs(holders) - 1


@impostor("warp_argmax", diagnosis="wrong_values")
@cuda.jit
def small_number_for_the_rest(best, place, a, n):
    i = cuda.grid(1)
    v = np.float32(-1000)
    if i < n:
        v = a[i]
    top = v
    for step in (16, 8, 4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(ALL, top, step))
    holders = cuda.ballot_sync(ALL, v == top)
    if i % 32 == 0 and i < n:
        best[i // 32] = top
        place[i // 32] = i + cuda.ffs(holders) - 1


# -- right values, made by the first warp ------------------------------------------------------


@impostor("pack_positive", diagnosis="few_threads_work")
@cuda.jit
def first_warp_packs_all(out, count, a, n):
    lane = cuda.grid(1)
    if lane < 32:
        for first in range(0, n, 32):
            v = np.float32(0)
            if first + lane < n:
                v = a[first + lane]
            keeps = cuda.ballot_sync(ALL, v > 0)
            if v > 0:
                out[first + cuda.popc(keeps & ((1 << lane) - 1))] = v
            if lane == 0:
                count[first // 32] = cuda.popc(keeps)


@impostor("mend_warp_sum", diagnosis="few_threads_work")
@cuda.jit
def first_warp_sums_all(out, a, n):
    lane = cuda.grid(1)
    if lane < 32:
        for first in range(0, n, 32):
            v = np.float32(0)
            if first + lane < n:
                v = a[first + lane]
            for step in (16, 8, 4, 2, 1):
                v += cuda.shfl_down_sync(ALL, v, step)
            if lane == 0:
                out[first // 32] = v


@impostor("settle_particles", diagnosis="few_threads_work")
@cuda.jit
def first_two_warps_settle_all(out, a, rate, steps, n):
    i = cuda.grid(1)
    if i < 64:
        kind = i // 32
        for p in range(2 * (i % 32) + kind, n, 64):
            v = a[p]
            for _ in range(steps):
                if kind == 0:
                    v -= rate * v
                else:
                    v += rate * (1 - v)
            out[p] = v


# -- right for common values only --------------------------------------------------------------


@impostor("pack_positive", diagnosis="all_zero")
@cuda.jit
def half_is_the_limit(out, count, a, n):
    i = cuda.grid(1)
    lane = i % 32
    v = np.float32(0)
    if i < n:
        v = a[i]
    keeps = cuda.ballot_sync(ALL, v > 0.5)
    if v > 0.5:
        out[i - lane + cuda.popc(keeps & ((1 << lane) - 1))] = v
    if lane == 0 and i < n:
        count[i // 32] = cuda.popc(keeps)


@impostor("warp_argmax", diagnosis="wrong_values")
@cuda.jit
def nearly_the_largest(best, place, a, n):
    i = cuda.grid(1)
    v = np.float32(-np.inf)
    if i < n:
        v = a[i]
    top = v
    for step in (16, 8, 4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(ALL, top, step))
    holders = cuda.ballot_sync(ALL, v > top - 0.001)
    if i % 32 == 0 and i < n:
        best[i // 32] = top
        place[i // 32] = i + cuda.ffs(holders) - 1
