"""Unusual but right answers to the lab t1_09_atomics."""

from __future__ import annotations

from collections import Counter

import numpy as np

from tests.variants import variant
from warpwise import cuda

FULL = 0xFFFFFFFF


@variant("count_above")
@cuda.jit
def grid_stride_and_own_count(count, x, limit, n):
    own = 0
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if x[i] > limit:
            own += 1
    cuda.atomic.add(count, 0, own)


@variant("count_above")
@cuda.jit
def ballot_of_each_warp(count, x, limit, n):
    i = cuda.grid(1)
    votes = cuda.ballot_sync(FULL, i < n and x[i] > limit)
    if cuda.laneid == 0:
        cuda.atomic.add(count, 0, cuda.popc(votes))


@variant("count_above")
@cuda.jit
def block_counts_at_a_barrier(count, x, limit, n):
    i = cuda.grid(1)
    found = cuda.syncthreads_count(np.int32(i < n and x[i] > limit))
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(count, 0, found)


@variant("count_above")
@cuda.jit
def compare_and_swap(count, x, limit, n):
    i = cuda.grid(1)
    if i < n and x[i] > limit:
        seen = 0
        found = cuda.atomic.cas(count, 0, seen, seen + 1)
        while found != seen:
            seen = found
            found = cuda.atomic.cas(count, 0, seen, seen + 1)


@variant("warp_transactions")
def with_numpy(bins):
    found, lanes = np.unique(bins, return_counts=True)
    return sum(lanes[found // 8 == sector].max() for sector in np.unique(found // 8))


@variant("warp_transactions")
def round_by_round(bins):
    waiting = Counter(int(b) for b in bins)
    transactions = 0
    while waiting:
        transactions += len({b // 8 for b in waiting})
        waiting -= Counter(list(waiting))
    return transactions


@variant("mended_counts")
@cuda.jit
def one_thread_zeroes_all(counts, x, n):
    bins = cuda.shared.array(16, np.int32)
    if cuda.threadIdx.x == 0:
        for b in range(16):
            bins[b] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.add(bins, x[i], 1)
    cuda.syncthreads()
    if cuda.threadIdx.x == cuda.blockDim.x - 1:
        for b in range(16):
            if bins[b] != 0:
                cuda.atomic.add(counts, b, bins[b])


@variant("mended_counts")
@cuda.jit
def last_threads_merge_backwards(counts, x, n):
    bins = cuda.shared.array(16, np.int32)
    t = cuda.threadIdx.x
    if t < 16:
        bins[15 - t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        cuda.atomic.add(bins, x[i], 1)
    cuda.syncthreads()
    if t >= cuda.blockDim.x - 16:
        b = cuda.blockDim.x - 1 - t
        cuda.atomic.add(counts, b, cuda.atomic.exch(bins, b, 0))


@variant("private_histogram")
@cuda.jit
def while_loops_and_nested_guards(counts, x, n, bins):
    mine = cuda.shared.array(0, np.int32)
    b = cuda.threadIdx.x
    while b < bins:
        mine[b] = 0
        b += cuda.blockDim.x
    cuda.syncthreads()
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    while i < n:
        value = x[i]
        if value >= 0:
            if value < bins:
                cuda.atomic.add(mine, value, 1)
        i += cuda.blockDim.x * cuda.gridDim.x
    cuda.syncthreads()
    b = cuda.threadIdx.x
    while b < bins:
        if mine[b] > 0:
            cuda.atomic.add(counts, b, mine[b])
        b += cuda.blockDim.x


@variant("private_histogram")
@cuda.jit
def a_chunk_for_each_thread(counts, x, n, bins):
    mine = cuda.shared.array(0, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    each = (bins + threads - 1) // threads
    for b in range(t * each, min(bins, (t + 1) * each)):
        mine[b] = 0
    cuda.syncthreads()
    share = (n + cuda.gridsize(1) - 1) // cuda.gridsize(1)
    for i in range(cuda.grid(1) * share, min(n, (cuda.grid(1) + 1) * share)):
        if 0 <= x[i] and x[i] < counts.size:
            cuda.atomic.add(mine, x[i], 1)
    cuda.syncthreads()
    for b in range(t * each, min(bins, (t + 1) * each)):
        cuda.atomic.add(counts, b, mine[b])


@variant("private_histogram")
@cuda.jit
def each_thread_searches_for_its_bins(counts, x, n, bins):
    for b in range(cuda.grid(1), bins, cuda.gridsize(1)):
        own = 0
        for i in range(n):
            own += x[i] == b
        counts[b] = own


@variant("gather_positive")
@cuda.jit
def one_draw_for_a_block(out, count, x, n):
    votes = cuda.shared.array(33, np.int32)
    i = cuda.grid(1)
    warp, lane = cuda.threadIdx.x // 32, cuda.laneid
    keep = i < n and x[i] > 0
    own = cuda.ballot_sync(FULL, keep)
    if lane == 0:
        votes[warp] = cuda.popc(own)
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        total = 0
        for w in range(cuda.blockDim.x // 32):
            total, votes[w] = total + votes[w], total
        votes[32] = cuda.atomic.add(count, 0, total)
    cuda.syncthreads()
    if keep:
        out[votes[32] + votes[warp] + cuda.popc(own & ((1 << lane) - 1))] = x[i]


@variant("gather_positive")
@cuda.jit
def last_lane_draws_and_fills_backwards(out, count, x, n):
    i = cuda.grid(1)
    keep = False
    if i < n:
        keep = x[i] > 0
    votes = cuda.ballot_sync(FULL, keep)
    end = 0
    if cuda.laneid == 31:
        end = cuda.atomic.add(count, 0, cuda.popc(votes)) + cuda.popc(votes)
    end = cuda.shfl_sync(FULL, end, 31)
    if keep:
        out[end - 1 - cuda.popc(votes & cuda.lanemask_lt())] = x[i]


@variant("skewed_histogram")
@cuda.jit
def a_column_for_each_lane(counts, x, n):
    own = cuda.shared.array((64, 32), np.int32)
    t, threads, lane = cuda.threadIdx.x, cuda.blockDim.x, cuda.laneid
    for b in range(t // 32, 64, threads // 32):
        own[b, lane] = 0
    cuda.syncthreads()
    for warp in range(threads // 32):  # one warp at a time has the columns
        if t // 32 == warp:
            for i in range(cuda.grid(1), n, cuda.gridsize(1)):
                own[x[i], lane] += 1
        cuda.syncthreads()
    for b in range(t, 64, threads):
        total = 0
        for k in range(32):
            total += own[b, (b + k) % 32]
        cuda.atomic.add(counts, b, total)


@variant("skewed_histogram")
@cuda.jit
def groups_one_after_another(counts, x, n):
    bins = cuda.shared.array(64, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for b in range(t, 64, threads):
        bins[b] = 0
    cuda.syncthreads()
    rounds = (n + cuda.gridsize(1) - 1) // cuda.gridsize(1)
    for k in range(rounds):
        i = cuda.grid(1) + k * cuda.gridsize(1)
        mine = x[i] if i < n else -1
        left = cuda.ballot_sync(FULL, mine >= 0)
        while left != 0:
            leader = cuda.ffs(left) - 1
            value = cuda.shfl_sync(FULL, mine, leader)
            group = cuda.ballot_sync(FULL, mine == value)
            if cuda.laneid == leader:
                cuda.atomic.add(bins, value, cuda.popc(group))
            left &= ~group
    cuda.syncthreads()
    for b in range(t, 64, threads):
        cuda.atomic.add(counts, b, bins[b])
