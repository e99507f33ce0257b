"""Wrong answers to the lab t1_09_atomics."""

from __future__ import annotations

import numpy as np

from tests.impostors import impostor
from warpwise import cuda

# -- count_above -------------------------------------------------------------------------------


@impostor("count_above", diagnosis="lost_additions")
@cuda.jit
def plain_addition(count, x, limit, n):
    i = cuda.grid(1)
    if i < n and x[i] > limit:
        count[0] += 1


@impostor("count_above", diagnosis="lost_additions")
@cuda.jit
def atomic_read_plain_store(count, x, limit, n):
    i = cuda.grid(1)
    if i < n and x[i] > limit:
        count[0] = cuda.atomic.add(count, 0, 0) + 1


@impostor("count_above", diagnosis="equal_counted")
@cuda.jit
def at_least(count, x, limit, n):
    i = cuda.grid(1)
    if i < n and x[i] >= limit:
        cuda.atomic.add(count, 0, 1)


@impostor("count_above", diagnosis="below_counted")
@cuda.jit
def smaller(count, x, limit, n):
    i = cuda.grid(1)
    if i < n and x[i] < limit:
        cuda.atomic.add(count, 0, 1)


@impostor("count_above", diagnosis="all_counted")
@cuda.jit
def no_condition(count, x, limit, n):
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.add(count, 0, 1)


@impostor("count_above", diagnosis="out_of_bounds")
@cuda.jit
def unguarded(count, x, limit, n):
    i = cuda.grid(1)
    if x[i] > limit:
        cuda.atomic.add(count, 0, 1)


@impostor("count_above", diagnosis="only_first_block")
@cuda.jit
def first_block(count, x, limit, n):
    i = cuda.threadIdx.x
    if cuda.blockIdx.x == 0 and i < n and x[i] > limit:
        cuda.atomic.add(count, 0, 1)


@impostor("count_above", diagnosis="multiple_of_block_only")
@cuda.jit
def full_blocks(count, x, limit, n):
    i = cuda.grid(1)
    if i < n // cuda.blockDim.x * cuda.blockDim.x and x[i] > limit:
        cuda.atomic.add(count, 0, 1)


@impostor("count_above", diagnosis="values_added")
@cuda.jit
def adds_values(count, x, limit, n):
    i = cuda.grid(1)
    if i < n and x[i] > limit:
        cuda.atomic.add(count, 0, int(x[i]))


@impostor("count_above", diagnosis="all_zero")
@cuda.jit
def adds_nothing(count, x, limit, n):
    i = cuda.grid(1)
    if i < n and x[i] > limit:
        cuda.atomic.add(count, 0, 0)


@impostor("count_above", diagnosis="wrong_values")
@cuda.jit
def a_constant(count, x, limit, n):
    if cuda.grid(1) == 0:
        count[0] = 12


@impostor("count_above", diagnosis="reduced_precision")
@cuda.jit
def half_precision(count, x, limit, n):
    i = cuda.grid(1)
    if i < n and np.float16(x[i]) > np.float16(limit):
        cuda.atomic.add(count, 0, 1)


# -- warp_transactions -------------------------------------------------------------------------


def lanes_by(keys):
    found = {}
    for key in keys:
        found[key] = found.get(key, 0) + 1
    return found


@impostor("warp_transactions", diagnosis="longest_queue")
def longest_of_all(bins):
    return max(lanes_by(bins.tolist()).values())


@impostor("warp_transactions", diagnosis="one_for_each_lane")
def every_lane(bins):
    return len(bins)


@impostor("warp_transactions", diagnosis="constant_output")
def always_32(bins):
    return 32


@impostor("warp_transactions", diagnosis="one_for_each_bin")
def different_bins(bins):
    return len(set(bins.tolist()))


@impostor("warp_transactions", diagnosis="one_for_each_sector")
def as_for_a_load(bins):
    return len({b // 8 for b in bins.tolist()})


@impostor("warp_transactions", diagnosis="longest_sector")
def fullest_sector(bins):
    return max(lanes_by([b // 8 for b in bins.tolist()]).values())


@impostor("warp_transactions", diagnosis="sectors_of_32")
def byte_for_element(bins):
    most = {}
    for b, lanes in lanes_by(bins.tolist()).items():
        most[b // 32] = max(most.get(b // 32, 0), lanes)
    return sum(most.values())


@impostor("warp_transactions", diagnosis="sectors_of_4")
def eight_byte_counters(bins):
    most = {}
    for b, lanes in lanes_by(bins.tolist()).items():
        most[b // 4] = max(most.get(b // 4, 0), lanes)
    return sum(most.values())


@impostor("warp_transactions", diagnosis="shortest_queue")
def least_wanted(bins):
    least = {}
    for b, lanes in lanes_by(bins.tolist()).items():
        least[b // 8] = min(least.get(b // 8, 32), lanes)
    return sum(least.values())


@impostor("warp_transactions", diagnosis="no_return")
def forgets_to_return(bins):
    sum(lanes_by(bins.tolist()).values())


@impostor("warp_transactions", diagnosis="wrong_type")
def dictionary(bins):
    return lanes_by([int(b) // 8 for b in bins])


# -- mended_counts -----------------------------------------------------------------------------


@impostor("mended_counts", diagnosis="uninitialised")
@cuda.jit
def as_given(counts, x, n):
    bins = cuda.shared.array(16, np.int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.add(bins, x[i], 1)
    if t < 16:
        cuda.atomic.add(counts, t, bins[t])


@impostor("mended_counts", diagnosis="uninitialised")
@cuda.jit
def barrier_only(counts, x, n):
    bins = cuda.shared.array(16, np.int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    cuda.syncthreads()
    if i < n:
        cuda.atomic.add(bins, x[i], 1)
    cuda.syncthreads()
    if t < 16:
        cuda.atomic.add(counts, t, bins[t])


@impostor("mended_counts", diagnosis="race")
@cuda.jit
def no_barrier_before_the_merge(counts, x, n):
    bins = cuda.shared.array(16, np.int32)
    t = cuda.threadIdx.x
    if t < 16:
        bins[t] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.add(bins, x[i], 1)
    if t < 16:
        cuda.atomic.add(counts, t, bins[t])


@impostor("mended_counts", diagnosis="race")
@cuda.jit
def no_barrier_after_the_zeroing(counts, x, n):
    bins = cuda.shared.array(16, np.int32)
    t = cuda.threadIdx.x
    if t < 16:
        bins[t] = 0
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.add(bins, x[i], 1)
    cuda.syncthreads()
    if t < 16:
        cuda.atomic.add(counts, t, bins[t])


@impostor("mended_counts", diagnosis="race")
@cuda.jit
def every_thread_zeroes_its_own_bin(counts, x, n):
    bins = cuda.shared.array(16, np.int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if t < 16:
        bins[t] = 0
    if i < n:
        bins[x[i]] = 0
    cuda.syncthreads()
    if i < n:
        bins[x[i]] += 1
    cuda.syncthreads()
    if t < 16:
        cuda.atomic.add(counts, t, bins[t])


@impostor("mended_counts", diagnosis="too_many_atomics")
@cuda.jit
def straight_to_global_memory(counts, x, n):
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.add(counts, x[i], 1)


@impostor("mended_counts", diagnosis="merged_by_every_thread")
@cuda.jit
def all_threads_merge(counts, x, n):
    bins = cuda.shared.array(16, np.int32)
    t = cuda.threadIdx.x
    if t < 16:
        bins[t] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.add(bins, x[i], 1)
    cuda.syncthreads()
    for b in range(16):
        cuda.atomic.add(counts, b, bins[b])


@impostor("mended_counts", diagnosis="lost_additions")
@cuda.jit
def plain_counting_on_global_memory(counts, x, n):
    i = cuda.grid(1)
    if i < n:
        counts[x[i]] += 1


@impostor("mended_counts", diagnosis="all_zero")
@cuda.jit
def never_merged(counts, x, n):
    bins = cuda.shared.array(16, np.int32)
    t = cuda.threadIdx.x
    if t < 16:
        bins[t] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.add(bins, x[i], 1)


@impostor("mended_counts", diagnosis="divergent_barrier")
@cuda.jit
def barrier_behind_the_guard(counts, x, n):
    bins = cuda.shared.array(16, np.int32)
    t = cuda.threadIdx.x
    if t < 16:
        bins[t] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.add(bins, x[i], 1)
        cuda.syncthreads()
    if t < 16:
        cuda.atomic.add(counts, t, bins[t])


@impostor("mended_counts", diagnosis="only_first_block")
@cuda.jit
def one_block_counts(counts, x, n):
    bins = cuda.shared.array(16, np.int32)
    t = cuda.threadIdx.x
    if t < 16:
        bins[t] = 0
    cuda.syncthreads()
    if cuda.grid(1) < n:
        cuda.atomic.add(bins, x[cuda.grid(1)], 1)
    cuda.syncthreads()
    if t < 16 and cuda.blockIdx.x == 0:
        cuda.atomic.add(counts, t, bins[t])


# -- private_histogram -------------------------------------------------------------------------


@impostor("private_histogram", diagnosis="out_of_bounds")
@cuda.jit
def bins_of_a_fixed_size(counts, x, n, bins):
    mine = cuda.shared.array(1024, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for b in range(t, bins, threads):
        mine[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if 0 <= x[i] < bins:
            cuda.atomic.add(mine, x[i], 1)
    cuda.syncthreads()
    for b in range(t, bins, threads):
        cuda.atomic.add(counts, b, mine[b])


@impostor("private_histogram", diagnosis="negative_counted")
@cuda.jit
def upper_bound_only(counts, x, n, bins):
    mine = cuda.shared.array(0, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for b in range(t, bins, threads):
        mine[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if x[i] < bins:
            cuda.atomic.add(mine, x[i], 1)
    cuda.syncthreads()
    for b in range(t, bins, threads):
        cuda.atomic.add(counts, b, mine[b])


@impostor("private_histogram", diagnosis="out_of_bounds")
@cuda.jit
def lower_bound_only(counts, x, n, bins):
    mine = cuda.shared.array(0, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for b in range(t, bins, threads):
        mine[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if 0 <= x[i]:
            cuda.atomic.add(mine, x[i], 1)
    cuda.syncthreads()
    for b in range(t, bins, threads):
        cuda.atomic.add(counts, b, mine[b])


@impostor("private_histogram", diagnosis="clamped")
@cuda.jit
def into_the_nearest_bin(counts, x, n, bins):
    mine = cuda.shared.array(0, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for b in range(t, bins, threads):
        mine[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        cuda.atomic.add(mine, min(max(x[i], 0), bins - 1), 1)
    cuda.syncthreads()
    for b in range(t, bins, threads):
        cuda.atomic.add(counts, b, mine[b])


@impostor("private_histogram", diagnosis="zero_left_out")
@cuda.jit
def strictly_positive(counts, x, n, bins):
    mine = cuda.shared.array(0, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for b in range(t, bins, threads):
        mine[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if 0 < x[i] < bins:
            cuda.atomic.add(mine, x[i], 1)
    cuda.syncthreads()
    for b in range(t, bins, threads):
        cuda.atomic.add(counts, b, mine[b])


@impostor("private_histogram", diagnosis="one_element_a_thread")
@cuda.jit
def no_grid_stride(counts, x, n, bins):
    mine = cuda.shared.array(0, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for b in range(t, bins, threads):
        mine[b] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < n and 0 <= x[i] < bins:
        cuda.atomic.add(mine, x[i], 1)
    cuda.syncthreads()
    for b in range(t, bins, threads):
        cuda.atomic.add(counts, b, mine[b])


@impostor("private_histogram", diagnosis="one_bin_a_thread")
@cuda.jit
def merge_without_loop(counts, x, n, bins):
    mine = cuda.shared.array(0, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for b in range(t, bins, threads):
        mine[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if 0 <= x[i] < bins:
            cuda.atomic.add(mine, x[i], 1)
    cuda.syncthreads()
    if t < bins:
        cuda.atomic.add(counts, t, mine[t])


@impostor("private_histogram", diagnosis="uninitialised")
@cuda.jit
def zeroing_without_loop(counts, x, n, bins):
    mine = cuda.shared.array(0, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    if t < bins:
        mine[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if 0 <= x[i] < bins:
            cuda.atomic.add(mine, x[i], 1)
    cuda.syncthreads()
    for b in range(t, bins, threads):
        cuda.atomic.add(counts, b, mine[b])


@impostor("private_histogram", diagnosis="uninitialised")
@cuda.jit
def zeroing_in_steps_of_the_grid(counts, x, n, bins):
    mine = cuda.shared.array(0, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for b in range(cuda.grid(1), bins, cuda.gridsize(1)):
        mine[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if 0 <= x[i] < bins:
            cuda.atomic.add(mine, x[i], 1)
    cuda.syncthreads()
    for b in range(t, bins, threads):
        cuda.atomic.add(counts, b, mine[b])


@impostor("private_histogram", diagnosis="race")
@cuda.jit
def barrier_missing_before_the_merge(counts, x, n, bins):
    mine = cuda.shared.array(0, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for b in range(t, bins, threads):
        mine[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if 0 <= x[i] < bins:
            cuda.atomic.add(mine, x[i], 1)
    for b in range(t, bins, threads):
        cuda.atomic.add(counts, b, mine[b])


@impostor("private_histogram", diagnosis="race")
@cuda.jit
def plain_counting_in_shared_memory(counts, x, n, bins):
    mine = cuda.shared.array(0, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for b in range(t, bins, threads):
        mine[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if 0 <= x[i] < bins:
            mine[x[i]] += 1
    cuda.syncthreads()
    for b in range(t, bins, threads):
        cuda.atomic.add(counts, b, mine[b])


@impostor("private_histogram", diagnosis="too_many_atomics")
@cuda.jit
def no_private_copy(counts, x, n, bins):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if 0 <= x[i] < bins:
            cuda.atomic.add(counts, x[i], 1)


@impostor("private_histogram", diagnosis="too_many_atomics")
@cuda.jit
def merged_after_each_round(counts, x, n, bins):
    mine = cuda.shared.array(0, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for b in range(t, bins, threads):
        mine[b] = 0
    cuda.syncthreads()
    for start in range(cuda.blockIdx.x * threads, n, cuda.gridsize(1)):
        i = start + t
        if i < n and 0 <= x[i] < bins:
            cuda.atomic.add(mine, x[i], 1)
        cuda.syncthreads()
        for b in range(t, bins, threads):
            cuda.atomic.add(counts, b, mine[b])
            mine[b] = 0
        cuda.syncthreads()


@impostor("private_histogram", diagnosis="plain_merge")
@cuda.jit
def merged_with_a_plain_addition(counts, x, n, bins):
    mine = cuda.shared.array(0, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for b in range(t, bins, threads):
        mine[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if 0 <= x[i] < bins:
            cuda.atomic.add(mine, x[i], 1)
    cuda.syncthreads()
    for b in range(t, bins, threads):
        counts[b] += mine[b]


@impostor("private_histogram", diagnosis="one_element_a_thread")
@cuda.jit
def steps_of_one_block_from_the_grid(counts, x, n, bins):
    mine = cuda.shared.array(0, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for b in range(t, bins, threads):
        mine[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), min(n, cuda.gridsize(1)), threads * cuda.gridDim.x):
        if 0 <= x[i] < bins:
            cuda.atomic.add(mine, x[i], 1)
    cuda.syncthreads()
    for b in range(t, bins, threads):
        cuda.atomic.add(counts, b, mine[b])


# -- gather_positive ---------------------------------------------------------------------------


@impostor("gather_positive", diagnosis="zero_kept")
@cuda.jit
def not_negative(out, count, x, n):
    i = cuda.grid(1)
    keep = i < n and x[i] >= 0
    votes = cuda.ballot_sync(0xFFFFFFFF, keep)
    first = 0
    if cuda.laneid == 0:
        first = cuda.atomic.add(count, 0, cuda.popc(votes))
    first = cuda.shfl_sync(0xFFFFFFFF, first, 0)
    if keep:
        out[first + cuda.popc(votes & cuda.lanemask_lt())] = x[i]


@impostor("gather_positive", diagnosis="too_many_atomics")
@cuda.jit
def a_ticket_for_each(out, count, x, n):
    i = cuda.grid(1)
    if i < n and x[i] > 0:
        out[cuda.atomic.add(count, 0, 1)] = x[i]


@impostor("gather_positive", diagnosis="lost_additions")
@cuda.jit
def plain_ticket(out, count, x, n):
    i = cuda.grid(1)
    if i < n and x[i] > 0:
        place = count[0]
        count[0] = place + 1
        out[place] = x[i]


@impostor("gather_positive", diagnosis="never_written")
@cuda.jit
def same_place_for_a_warp(out, count, x, n):
    i = cuda.grid(1)
    keep = i < n and x[i] > 0
    votes = cuda.ballot_sync(0xFFFFFFFF, keep)
    first = 0
    if cuda.laneid == 0:
        first = cuda.atomic.add(count, 0, cuda.popc(votes))
    first = cuda.shfl_sync(0xFFFFFFFF, first, 0)
    if keep:
        out[first] = x[i]


@impostor("gather_positive", diagnosis="never_written")
@cuda.jit
def no_shuffle(out, count, x, n):
    i = cuda.grid(1)
    keep = i < n and x[i] > 0
    votes = cuda.ballot_sync(0xFFFFFFFF, keep)
    first = 0
    if cuda.laneid == 0:
        first = cuda.atomic.add(count, 0, cuda.popc(votes))
    if keep:
        out[first + cuda.popc(votes & cuda.lanemask_lt())] = x[i]


@impostor("gather_positive", diagnosis="never_written")
@cuda.jit
def place_by_lane(out, count, x, n):
    i = cuda.grid(1)
    keep = i < n and x[i] > 0
    votes = cuda.ballot_sync(0xFFFFFFFF, keep)
    first = 0
    if cuda.laneid == 0:
        first = cuda.atomic.add(count, 0, cuda.popc(votes))
    first = cuda.shfl_sync(0xFFFFFFFF, first, 0)
    if keep:
        out[first + cuda.laneid] = x[i]


@impostor("gather_positive", diagnosis="all_counted")
@cuda.jit
def keeps_everything(out, count, x, n):
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.add(count, 0, 1)
        out[i] = x[i]


@impostor("gather_positive", diagnosis="wrong_values")
@cuda.jit
def one_more_than_the_element(out, count, x, n):
    i = cuda.grid(1)
    if i < n and x[i] > 0:
        out[cuda.atomic.add(count, 0, 1)] = x[i] + 1


@impostor("gather_positive", diagnosis="wrote_outside")
@cuda.jit
def zeros_for_the_rest(out, count, x, n):
    i = cuda.grid(1)
    keep = i < n and x[i] > 0
    votes = cuda.ballot_sync(0xFFFFFFFF, keep)
    first = 0
    if cuda.laneid == 0:
        first = cuda.atomic.add(count, 0, cuda.popc(votes))
    first = cuda.shfl_sync(0xFFFFFFFF, first, 0)
    if keep:
        out[first + cuda.popc(votes & cuda.lanemask_lt())] = x[i]
    elif i < n:
        out[n - 1 - (i - cuda.popc(votes & cuda.lanemask_lt()))] = 0


@impostor("gather_positive", diagnosis="not_counted")
@cuda.jit
def elements_without_a_count(out, count, x, n):
    i = cuda.grid(1)
    if i < n and x[i] > 0:
        out[i] = x[i]


@impostor("gather_positive", diagnosis="mask_names_absent")
@cuda.jit
def vote_behind_the_guard(out, count, x, n):
    i = cuda.grid(1)
    if i < n:
        keep = x[i] > 0
        votes = cuda.ballot_sync(0xFFFFFFFF, keep)
        first = 0
        if cuda.laneid == 0:
            first = cuda.atomic.add(count, 0, cuda.popc(votes))
        first = cuda.shfl_sync(0xFFFFFFFF, first, 0)
        if keep:
            out[first + cuda.popc(votes & cuda.lanemask_lt())] = x[i]


@impostor("gather_positive", diagnosis="out_of_bounds")
@cuda.jit
def votes_without_a_guard(out, count, x, n):
    i = cuda.grid(1)
    keep = x[i] > 0
    votes = cuda.ballot_sync(0xFFFFFFFF, keep)
    first = 0
    if cuda.laneid == 0:
        first = cuda.atomic.add(count, 0, cuda.popc(votes))
    first = cuda.shfl_sync(0xFFFFFFFF, first, 0)
    if keep:
        out[first + cuda.popc(votes & cuda.lanemask_lt())] = x[i]


@impostor("gather_positive", diagnosis="wrong_values")
@cuda.jit
def every_lane_draws_for_its_warp(out, count, x, n):
    i = cuda.grid(1)
    keep = i < n and x[i] > 0
    votes = cuda.ballot_sync(0xFFFFFFFF, keep)
    first = cuda.atomic.add(count, 0, cuda.popc(votes))
    if keep and first < n:
        out[first] = x[i]


# -- skewed_histogram --------------------------------------------------------------------------


@impostor("skewed_histogram", diagnosis="long_queue")
@cuda.jit
def private_copy_alone(counts, x, n):
    bins = cuda.shared.array(64, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for b in range(t, 64, threads):
        bins[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        cuda.atomic.add(bins, x[i], 1)
    cuda.syncthreads()
    for b in range(t, 64, threads):
        cuda.atomic.add(counts, b, bins[b])


@impostor("skewed_histogram", diagnosis="too_many_atomics")
@cuda.jit
def agreed_but_on_global_memory(counts, x, n):
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for start in range(cuda.blockIdx.x * threads, n, cuda.gridsize(1)):
        i = start + t
        mine = -1
        if i < n:
            mine = x[i]
        same = cuda.match_any_sync(0xFFFFFFFF, mine)
        if i < n and cuda.laneid == cuda.ffs(same) - 1:
            cuda.atomic.add(counts, mine, cuda.popc(same))


@impostor("skewed_histogram", diagnosis="one_for_each_group")
@cuda.jit
def adds_one_for_a_group(counts, x, n):
    bins = cuda.shared.array(64, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for b in range(t, 64, threads):
        bins[b] = 0
    cuda.syncthreads()
    for start in range(cuda.blockIdx.x * threads, n, cuda.gridsize(1)):
        i = start + t
        mine = -1
        if i < n:
            mine = x[i]
        same = cuda.match_any_sync(0xFFFFFFFF, mine)
        if i < n and cuda.laneid == cuda.ffs(same) - 1:
            cuda.atomic.add(bins, mine, 1)
    cuda.syncthreads()
    for b in range(t, 64, threads):
        cuda.atomic.add(counts, b, bins[b])


@impostor("skewed_histogram", diagnosis="a_group_for_each_lane")
@cuda.jit
def every_lane_adds_its_group(counts, x, n):
    bins = cuda.shared.array(64, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for b in range(t, 64, threads):
        bins[b] = 0
    cuda.syncthreads()
    for start in range(cuda.blockIdx.x * threads, n, cuda.gridsize(1)):
        i = start + t
        mine = -1
        if i < n:
            mine = x[i]
        same = cuda.match_any_sync(0xFFFFFFFF, mine)
        if i < n:
            cuda.atomic.add(bins, mine, cuda.popc(same))
    cuda.syncthreads()
    for b in range(t, 64, threads):
        cuda.atomic.add(counts, b, bins[b])


@impostor("skewed_histogram", diagnosis="out_of_bounds")
@cuda.jit
def no_guard_at_the_end(counts, x, n):
    bins = cuda.shared.array(64, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for b in range(t, 64, threads):
        bins[b] = 0
    cuda.syncthreads()
    for start in range(cuda.blockIdx.x * threads, n, cuda.gridsize(1)):
        mine = x[start + t]
        same = cuda.match_any_sync(0xFFFFFFFF, mine)
        if cuda.laneid == cuda.ffs(same) - 1:
            cuda.atomic.add(bins, mine, cuda.popc(same))
    cuda.syncthreads()
    for b in range(t, 64, threads):
        cuda.atomic.add(counts, b, bins[b])


@impostor("skewed_histogram", diagnosis="lanes_beyond_the_end")
@cuda.jit
def lanes_beyond_the_end_join_bin_0(counts, x, n):
    bins = cuda.shared.array(64, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for b in range(t, 64, threads):
        bins[b] = 0
    cuda.syncthreads()
    for start in range(cuda.blockIdx.x * threads, n, cuda.gridsize(1)):
        i = start + t
        mine = 0
        if i < n:
            mine = x[i]
        same = cuda.match_any_sync(0xFFFFFFFF, mine)
        if cuda.laneid == cuda.ffs(same) - 1:
            cuda.atomic.add(bins, mine, cuda.popc(same))
    cuda.syncthreads()
    for b in range(t, 64, threads):
        cuda.atomic.add(counts, b, bins[b])


@impostor("skewed_histogram", diagnosis="one_element_a_thread")
@cuda.jit
def agreed_without_loop(counts, x, n):
    bins = cuda.shared.array(64, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for b in range(t, 64, threads):
        bins[b] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    mine = -1
    if i < n:
        mine = x[i]
    same = cuda.match_any_sync(0xFFFFFFFF, mine)
    if i < n and cuda.laneid == cuda.ffs(same) - 1:
        cuda.atomic.add(bins, mine, cuda.popc(same))
    cuda.syncthreads()
    for b in range(t, 64, threads):
        cuda.atomic.add(counts, b, bins[b])


@impostor("skewed_histogram", diagnosis="race")
@cuda.jit
def agreed_without_the_last_barrier(counts, x, n):
    bins = cuda.shared.array(64, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for b in range(t, 64, threads):
        bins[b] = 0
    cuda.syncthreads()
    for start in range(cuda.blockIdx.x * threads, n, cuda.gridsize(1)):
        i = start + t
        mine = -1
        if i < n:
            mine = x[i]
        same = cuda.match_any_sync(0xFFFFFFFF, mine)
        if i < n and cuda.laneid == cuda.ffs(same) - 1:
            cuda.atomic.add(bins, mine, cuda.popc(same))
    for b in range(t, 64, threads):
        cuda.atomic.add(counts, b, bins[b])


@impostor("skewed_histogram", diagnosis="mask_names_absent")
@cuda.jit
def match_in_a_ragged_loop(counts, x, n):
    bins = cuda.shared.array(64, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for b in range(t, 64, threads):
        bins[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        same = cuda.match_any_sync(0xFFFFFFFF, x[i])
        if cuda.laneid == cuda.ffs(same) - 1:
            cuda.atomic.add(bins, x[i], cuda.popc(same))
    cuda.syncthreads()
    for b in range(t, 64, threads):
        cuda.atomic.add(counts, b, bins[b])
