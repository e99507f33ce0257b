"""Unusual but right answers to the lab t1_08_scan."""

from __future__ import annotations

from numba import float32, int32

from tests.variants import variant
from warpwise import cuda

# -- make_exclusive ----------------------------------------------------------------------------


@variant("make_exclusive")
@cuda.jit
def one_expression(result, totals, length):
    k = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if k >= length:
        return
    result[k] = totals[k - 1] if k > 0 else 0


@variant("make_exclusive")
@cuda.jit
def each_stores_to_its_right(out, scanned, n):
    i = cuda.grid(1)
    if i + 1 < n:
        out[i + 1] = scanned[i]
    if i == 0 and n > 0:
        out[0] = 0.0


@variant("make_exclusive")
@cuda.jit
def grid_stride(out, scanned, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        out[i] = scanned[max(i, 1) - 1] * min(i, 1)


# -- scan_adds ---------------------------------------------------------------------------------


@variant("scan_adds")
def closed_forms(n):
    rounds = (n - 1).bit_length()
    m = 2**rounds
    return n * rounds - (m - 1), 2 * m - 2


@variant("scan_adds")
def counted_in_a_list(n):
    values, adds, d = [1] * n, 0, 1
    while d < n:
        values = [values[i] + values[i - d] if i >= d else values[i] for i in range(n)]
        adds += n - d
        d += d
    assert values == list(range(1, n + 1))
    return (adds, d + d - 2)


# -- running_sum -------------------------------------------------------------------------------


@variant("running_sum")
@cuda.jit
def two_buffers(out, a):
    s = cuda.shared.array((2, 1024), float32)
    t = cuda.threadIdx.x
    now = 0
    s[0, t] = a[cuda.grid(1)]
    cuda.syncthreads()
    d = 1
    while d < cuda.blockDim.x:
        if t >= d:
            s[1 - now, t] = s[now, t] + s[now, t - d]
        else:
            s[1 - now, t] = s[now, t]
        cuda.syncthreads()
        now = 1 - now
        d *= 2
    out[cuda.grid(1)] = s[now, t]


@variant("running_sum")
@cuda.jit
def own_value_in_a_register(out, a):
    s = cuda.shared.array(1024, float32)
    t = cuda.threadIdx.x
    value = a[cuda.grid(1)]
    for k in range(10):
        d = 1 << k
        if d < cuda.blockDim.x:
            s[t] = value
            cuda.syncthreads()
            if t >= d:
                value += s[t - d]
            cuda.syncthreads()
    out[cuda.grid(1)] = value


@variant("running_sum")
@cuda.jit
def by_warps(out, a):
    sums = cuda.shared.array(32, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    warp, lane = t // 32, t % 32
    warps = (cuda.blockDim.x + 31) // 32
    lanes = min(32, cuda.blockDim.x - 32 * warp)
    mask = 0xFFFFFFFF >> (32 - lanes)
    value = a[i]
    d = 1
    while d < 32:
        below = cuda.shfl_up_sync(mask, value, d)
        if lane >= d:
            value += below
        d *= 2
    if lane == lanes - 1:
        sums[warp] = value
    cuda.syncthreads()
    before = float32(0)
    for k in range(warps):
        if k < warp:
            before += sums[k]
    out[i] = before + value


# -- affine_warps ------------------------------------------------------------------------------


@variant("affine_warps")
@cuda.jit
def lanes_without_elements_return(out_a, out_b, a, b, n):
    i = cuda.grid(1)
    if i >= n:
        return
    x, y = a[i], b[i]
    for d in (1, 2, 4, 8, 16):
        below_x = cuda.shfl_up_sync(0xFFFFFFFF, x, d)
        below_y = cuda.shfl_up_sync(0xFFFFFFFF, y, d)
        if cuda.laneid >= d:
            y += x * below_y
            x *= below_x
    out_a[i] = x
    out_b[i] = y


@variant("affine_warps")
@cuda.jit
def from_a_lane_by_number(out_a, out_b, a, b, n):
    i, lane = cuda.grid(1), cuda.threadIdx.x % 32
    x = a[i] if i < n else float32(1)
    y = b[i] if i < n else float32(0)
    for k in range(5):
        d = 1 << k
        below_x = cuda.shfl_sync(-1, x, (lane - d) % 32)
        below_y = cuda.shfl_sync(-1, y, (lane - d) % 32)
        x, y = (x * below_x, x * below_y + y) if lane >= d else (x, y)
    if i < n:
        out_a[i], out_b[i] = x, y


@cuda.jit(device=True)
def then(first, second):
    return second[0] * first[0], second[0] * first[1] + second[1]


@variant("affine_warps")
@cuda.jit
def identity_below_and_a_device_function(out_a, out_b, a, b, n):
    i, lane = cuda.grid(1), cuda.laneid
    own = (float32(1), float32(0))
    if i < n:
        own = (a[i], b[i])
    d = 1
    while d < 32:
        below_a = cuda.shfl_up_sync(0xFFFFFFFF, own[0], d)
        below_b = cuda.shfl_up_sync(0xFFFFFFFF, own[1], d)
        if lane < d:
            below_a, below_b = float32(1), float32(0)
        own = then((below_a, below_b), own)
        d <<= 1
    if i < n:
        out_a[i] = own[0]
        out_b[i] = own[1]


# -- exclusive_blocks --------------------------------------------------------------------------


@variant("exclusive_blocks")
@cuda.jit
def one_barrier_and_every_warp_scans_the_sums(out, totals, a, n):
    sums = cuda.shared.array(32, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    warp, lane, warps = t // 32, cuda.laneid, cuda.blockDim.x // 32
    own = a[i] if i < n else float32(0)
    value = own
    for d in (1, 2, 4, 8, 16):
        below = cuda.shfl_up_sync(0xFFFFFFFF, value, d)
        if lane >= d:
            value += below
    if lane == 31:
        sums[warp] = value
    cuda.syncthreads()
    total = sums[lane] if lane < warps else float32(0)
    for d in (1, 2, 4, 8, 16):
        below = cuda.shfl_up_sync(0xFFFFFFFF, total, d)
        if lane >= d:
            total += below
    before = cuda.shfl_sync(0xFFFFFFFF, total, max(warp - 1, 0))
    if warp == 0:
        before = float32(0)
    if i < n:
        out[i] = before + value - own
    if t == cuda.blockDim.x - 1:
        totals[cuda.blockIdx.x] = before + value


@variant("exclusive_blocks")
@cuda.jit
def nothing_subtracted(out, totals, a, n):
    sums = cuda.shared.array(32, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    warp, lane, warps = t // 32, cuda.laneid, cuda.blockDim.x // 32
    value = a[i] if i < n else float32(0)
    for d in (1, 2, 4, 8, 16):
        below = cuda.shfl_up_sync(0xFFFFFFFF, value, d)
        if lane >= d:
            value += below
    place = cuda.shfl_up_sync(0xFFFFFFFF, value, 1)
    if lane == 0:
        place = float32(0)
    if lane == 31:
        sums[warp] = value
    cuda.syncthreads()
    if t == 0:
        total = float32(0)
        for k in range(warps):
            own = sums[k]
            sums[k] = total
            total += own
        totals[cuda.blockIdx.x] = total
    cuda.syncthreads()
    if i < n:
        out[i] = sums[warp] + place


# -- balances ----------------------------------------------------------------------------------


@variant("balances")
@cuda.jit
def a_chain_of_balances(out, a, b, counter, flag, total, prefix, n):
    """Each block waits for one number, the balance at the end of the block before it."""
    x = cuda.shared.array(2, float32)
    number = cuda.shared.array(1, int32)
    warps_a = cuda.shared.array(32, float32)
    warps_b = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    warp, lane = t // 32, cuda.laneid
    if t == 0:
        number[0] = cuda.atomic.add(counter, 0, 1)
    cuda.syncthreads()
    block = number[0]
    i = block * cuda.blockDim.x + t
    own_a = a[i] if i < n else float32(1)
    own_b = b[i] if i < n else float32(0)
    for d in (1, 2, 4, 8, 16):
        below_a = cuda.shfl_up_sync(0xFFFFFFFF, own_a, d)
        below_b = cuda.shfl_up_sync(0xFFFFFFFF, own_b, d)
        if lane >= d:
            own_b += own_a * below_b
            own_a *= below_a
    if lane == 31:
        warps_a[warp] = own_a
        warps_b[warp] = own_b
    cuda.syncthreads()
    if t == 0:
        balance = float32(0)
        if block > 0:
            while cuda.atomic.add(flag, block - 1, 0) == 0:
                pass
            cuda.threadfence()
            balance = prefix[block - 1, 0]
        for k in range(cuda.blockDim.x // 32):
            after = warps_a[k] * balance + warps_b[k]
            warps_b[k] = balance  # now the balance before warp k
            balance = after
        prefix[block, 0] = balance
        cuda.threadfence()
        cuda.atomic.exch(flag, block, 1)
    cuda.syncthreads()
    if i < n:
        out[i] = own_a * warps_b[warp] + own_b


@variant("balances")
@cuda.jit
def block_index_and_all_totals(out, a, b, counter, flag, total, prefix, n):
    maps = cuda.shared.array((32, 2), float32)
    before = cuda.shared.array(1, float32)
    i, t, block = cuda.grid(1), cuda.threadIdx.x, cuda.blockIdx.x
    x, y = (a[i], b[i]) if i < n else (float32(1), float32(0))
    for d in (1, 2, 4, 8, 16):
        below_x = cuda.shfl_up_sync(0xFFFFFFFF, x, d)
        below_y = cuda.shfl_up_sync(0xFFFFFFFF, y, d)
        if cuda.laneid >= d:
            x, y = below_x * x, below_y * x + y
    if cuda.laneid == 31:
        maps[t // 32, 0] = x
        maps[t // 32, 1] = y
    cuda.syncthreads()
    for k in range(t // 32 - 1, -1, -1):
        x, y = maps[k, 0] * x, maps[k, 1] * x + y
    if t == cuda.blockDim.x - 1:
        total[block, 0] = x
        total[block, 1] = y
        cuda.threadfence()
        cuda.atomic.add(flag, block, 1)
        found_x, found_y = float32(1), float32(0)
        for k in range(block - 1, -1, -1):
            while cuda.atomic.max(flag, k, 0) == 0:
                pass
            cuda.threadfence()
            found_x, found_y = total[k, 0] * found_x, total[k, 1] * found_x + found_y
        before[0] = found_y
    cuda.syncthreads()
    if i < n:
        out[i] = x * before[0] + y
