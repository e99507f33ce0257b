"""Wrong answers to the lab t1_10_occupancy."""

from __future__ import annotations

import math

import numpy as np

from tests.impostors import impostor
from warpwise import cuda


def right_limits(max_warps, max_blocks, shared_sm, threads, registers, shared_bytes):
    """For the answers to best_launch, whose mistake is elsewhere."""
    warps = (threads + 31) // 32
    per_warp = (32 * registers + 255) // 256 * 256
    used = (shared_bytes + 1024 + 127) // 128 * 128
    return max_warps // warps, max_blocks, 16384 // per_warp * 4 // warps, shared_sm // used


# -- warps_to_fill -----------------------------------------------------------------------------


@impostor("warps_to_fill", diagnosis="rounded_down")
def floor_of_the_quotient(bandwidth_gbs, latency_cycles, clock_mhz, sms, bytes_per_warp):
    return int(bandwidth_gbs * latency_cycles / clock_mhz * 1000 / sms / bytes_per_warp)


@impostor("warps_to_fill", diagnosis="one_too_many")
def always_one_more(bandwidth_gbs, latency_cycles, clock_mhz, sms, bytes_per_warp):
    return bandwidth_gbs * latency_cycles * 1000 // (clock_mhz * sms * bytes_per_warp) + 1


@impostor("warps_to_fill", diagnosis="whole_device")
def sms_unused(bandwidth_gbs, latency_cycles, clock_mhz, sms, bytes_per_warp):
    return math.ceil(bandwidth_gbs * latency_cycles / clock_mhz * 1000 / bytes_per_warp)


@impostor("warps_to_fill", diagnosis="microseconds")
def no_thousand(bandwidth_gbs, latency_cycles, clock_mhz, sms, bytes_per_warp):
    return math.ceil(bandwidth_gbs * latency_cycles / clock_mhz / sms / bytes_per_warp)


@impostor("warps_to_fill", diagnosis="cycles_as_nanoseconds")
def clock_unused(bandwidth_gbs, latency_cycles, clock_mhz, sms, bytes_per_warp):
    return math.ceil(bandwidth_gbs * latency_cycles / sms / bytes_per_warp)


@impostor("warps_to_fill", diagnosis="always_128")
def four_bytes_a_lane(bandwidth_gbs, latency_cycles, clock_mhz, sms, bytes_per_warp):
    return math.ceil(bandwidth_gbs * latency_cycles / clock_mhz * 1000 / sms / 128)


@impostor("warps_to_fill", diagnosis="bytes_not_warps")
def not_divided_by_warps(bandwidth_gbs, latency_cycles, clock_mhz, sms, bytes_per_warp):
    return math.ceil(bandwidth_gbs * latency_cycles / clock_mhz * 1000 / sms)


@impostor("warps_to_fill", diagnosis="wrong_type")
def not_rounded(bandwidth_gbs, latency_cycles, clock_mhz, sms, bytes_per_warp):
    return bandwidth_gbs * latency_cycles / clock_mhz * 1000 / sms / bytes_per_warp


@impostor("warps_to_fill", diagnosis="constant_output")
def the_visible_case(bandwidth_gbs, latency_cycles, clock_mhz, sms, bytes_per_warp):
    return 38


# -- four_limits -------------------------------------------------------------------------------


@impostor("four_limits", diagnosis="threads_not_in_warps")
def everything_by_threads(max_warps, max_blocks, shared_sm, threads, registers, shared_bytes):
    used = (shared_bytes + 1024 + 127) // 128 * 128
    return (
        32 * max_warps // threads, max_blocks, 65536 // (registers * threads), shared_sm // used
    )  # fmt: skip


@impostor("four_limits", diagnosis="blocks_inside_a_part")
def blocks_of_each_part(max_warps, max_blocks, shared_sm, threads, registers, shared_bytes):
    warps = (threads + 31) // 32
    used = (shared_bytes + 1024 + 127) // 128 * 128
    of_a_warp = (32 * registers + 255) // 256 * 256
    return max_warps // warps, max_blocks, 4 * (16384 // of_a_warp // warps), shared_sm // used


@impostor("four_limits", diagnosis="registers_not_rounded")
def registers_by_the_piece(max_warps, max_blocks, shared_sm, threads, registers, shared_bytes):
    warps = (threads + 31) // 32
    used = (shared_bytes + 1024 + 127) // 128 * 128
    in_parts = 16384 // (32 * registers) * 4
    return max_warps // warps, max_blocks, in_parts // warps, shared_sm // used


@impostor("four_limits", diagnosis="one_register_file")
def no_parts(max_warps, max_blocks, shared_sm, threads, registers, shared_bytes):
    warps = (threads + 31) // 32
    per_warp = (32 * registers + 255) // 256 * 256
    used = (shared_bytes + 1024 + 127) // 128 * 128
    return max_warps // warps, max_blocks, 65536 // per_warp // warps, shared_sm // used


@impostor("four_limits", diagnosis="plain_registers")
def registers_plainly_divided(max_warps, max_blocks, shared_sm, threads, registers, shared_bytes):
    warps = (threads + 31) // 32
    used = (shared_bytes + 1024 + 127) // 128 * 128
    return max_warps // warps, max_blocks, 65536 // (32 * registers * warps), shared_sm // used


@impostor("four_limits", diagnosis="reserve_forgotten")
def no_reserve(max_warps, max_blocks, shared_sm, threads, registers, shared_bytes):
    w, b, r, _ = right_limits(max_warps, max_blocks, shared_sm, threads, registers, shared_bytes)
    used = (shared_bytes + 127) // 128 * 128
    return w, b, r, shared_sm // used if used else max_blocks


@impostor("four_limits", diagnosis="reserve_forgotten")
def no_reserve_and_no_zero(max_warps, max_blocks, shared_sm, threads, registers, shared_bytes):
    w, b, r, _ = right_limits(max_warps, max_blocks, shared_sm, threads, registers, shared_bytes)
    return w, b, r, shared_sm // shared_bytes


@impostor("four_limits", diagnosis="shared_not_rounded")
def shared_by_the_byte(max_warps, max_blocks, shared_sm, threads, registers, shared_bytes):
    w, b, r, _ = right_limits(max_warps, max_blocks, shared_sm, threads, registers, shared_bytes)
    return w, b, r, shared_sm // (shared_bytes + 1024)


@impostor("four_limits", diagnosis="order_exchanged")
def shared_before_registers(max_warps, max_blocks, shared_sm, threads, registers, shared_bytes):
    w, b, r, s = right_limits(max_warps, max_blocks, shared_sm, threads, registers, shared_bytes)
    return w, b, s, r


@impostor("four_limits", diagnosis="wrong_type")
def only_the_smallest(max_warps, max_blocks, shared_sm, threads, registers, shared_bytes):
    return min(right_limits(max_warps, max_blocks, shared_sm, threads, registers, shared_bytes))


@impostor("four_limits", diagnosis="cut_to_the_block_limit")
def each_cut_to_the_block_limit(max_warps, max_blocks, shared_sm, threads, registers, shared_bytes):
    found = right_limits(max_warps, max_blocks, shared_sm, threads, registers, shared_bytes)
    return tuple(min(one, max_blocks) for one in found)


@impostor("four_limits", diagnosis="constant_output")
def first_example_only(max_warps, max_blocks, shared_sm, threads, registers, shared_bytes):
    return (16, 32, 12, 164)


# -- warps_after_halving -----------------------------------------------------------------------


@impostor("warps_after_halving", diagnosis="registers_overlooked")
def a_full_sm():
    return 64


@impostor("warps_after_halving", diagnosis="twice_as_many")
def double():
    return 2 * 48


@impostor("warps_after_halving", diagnosis="blocks_not_warps")
def blocks():
    return 12


@impostor("warps_after_halving", diagnosis="by_shared_alone")
def shared_memory_alone():
    return 4 * (228 * 1024 // (9216 + 1024))


@impostor("warps_after_halving", diagnosis="wrong_values")
def an_a100():
    return 4 * 11


# -- tail_of -----------------------------------------------------------------------------------


@impostor("tail_of", diagnosis="one_wave_too_many")
def plus_one(grid, blocks_per_sm, sms):
    slots = blocks_per_sm * sms
    waves = grid // slots + 1
    return waves, grid / (waves * slots)


@impostor("tail_of", diagnosis="percent")
def hundredfold(grid, blocks_per_sm, sms):
    slots = blocks_per_sm * sms
    waves = math.ceil(grid / slots)
    return waves, 100 * grid / (waves * slots)


@impostor("tail_of", diagnosis="last_wave_only")
def share_of_the_tail(grid, blocks_per_sm, sms):
    slots = blocks_per_sm * sms
    return math.ceil(grid / slots), (grid % slots or slots) / slots


@impostor("tail_of", diagnosis="sms_forgotten")
def one_sm(grid, blocks_per_sm, sms):
    waves = math.ceil(grid / blocks_per_sm)
    return waves, grid / (waves * blocks_per_sm)


@impostor("tail_of", diagnosis="one_block_each")
def a_block_an_sm(grid, blocks_per_sm, sms):
    waves = math.ceil(grid / sms)
    return waves, grid / (waves * sms)


@impostor("tail_of", diagnosis="against_one_wave")
def over_one_wave(grid, blocks_per_sm, sms):
    slots = blocks_per_sm * sms
    return math.ceil(grid / slots), grid / slots


@impostor("tail_of", diagnosis="raised")
def rounded_down_to_zero_waves(grid, blocks_per_sm, sms):
    slots = blocks_per_sm * sms
    waves = grid // slots
    return waves, grid / (waves * slots)


@impostor("tail_of", diagnosis="wrong_type")
def waves_as_a_fraction(grid, blocks_per_sm, sms):
    waves = grid / (blocks_per_sm * sms)
    return waves, waves / math.ceil(waves)


# -- strip_product -----------------------------------------------------------------------------


@impostor("strip_product", diagnosis="race")
@cuda.jit
def second_barrier_missing(out, a, b):
    tile_a = cuda.shared.array((4, 64), np.float32)
    tile_b = cuda.shared.array((64, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    m, n = out.shape
    depth = b.shape[0]
    total = np.float32(0)
    for start in range(0, depth, 64):
        part = min(64, depth - start)
        for k in range(tx, part, 32):
            tile_a[ty, k] = a[y, start + k] if y < m else np.float32(0)
        for k in range(ty, part, 4):
            tile_b[k, tx] = b[start + k, x] if x < n else np.float32(0)
        cuda.syncthreads()
        for k in range(part):
            total += tile_a[ty, k] * tile_b[k, tx]
    if y < m and x < n:
        out[y, x] = total


@impostor("strip_product", diagnosis="race")
@cuda.jit
def first_barrier_missing(out, a, b):
    tile_a = cuda.shared.array((4, 64), np.float32)
    tile_b = cuda.shared.array((64, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    m, n = out.shape
    depth = b.shape[0]
    total = np.float32(0)
    for start in range(0, depth, 64):
        part = min(64, depth - start)
        for k in range(tx, part, 32):
            tile_a[ty, k] = a[y, start + k] if y < m else np.float32(0)
        for k in range(ty, part, 4):
            tile_b[k, tx] = b[start + k, x] if x < n else np.float32(0)
        for k in range(part):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    if y < m and x < n:
        out[y, x] = total


@impostor("strip_product", diagnosis="race")
@cuda.jit
def warp_barrier_for_a_block(out, a, b):
    tile_a = cuda.shared.array((4, 64), np.float32)
    tile_b = cuda.shared.array((64, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    m, n = out.shape
    depth = b.shape[0]
    total = np.float32(0)
    for start in range(0, depth, 64):
        part = min(64, depth - start)
        for k in range(tx, part, 32):
            tile_a[ty, k] = a[y, start + k] if y < m else np.float32(0)
        for k in range(ty, part, 4):
            tile_b[k, tx] = b[start + k, x] if x < n else np.float32(0)
        cuda.syncthreads()
        for k in range(part):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncwarp()
    if y < m and x < n:
        out[y, x] = total


@impostor("strip_product", diagnosis="out_of_bounds")
@cuda.jit
def depth_a_multiple_of_64(out, a, b):
    tile_a = cuda.shared.array((4, 64), np.float32)
    tile_b = cuda.shared.array((64, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    m, n = out.shape
    depth = b.shape[0]
    total = np.float32(0)
    for start in range(0, depth, 64):
        for k in range(tx, 64, 32):
            tile_a[ty, k] = a[y, start + k] if y < m else np.float32(0)
        for k in range(ty, 64, 4):
            tile_b[k, tx] = b[start + k, x] if x < n else np.float32(0)
        cuda.syncthreads()
        for k in range(64):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    if y < m and x < n:
        out[y, x] = total


@impostor("strip_product", diagnosis="too_much_shared")
@cuda.jit
def whole_depth(out, a, b):
    tile_a = cuda.shared.array((4, 128), np.float32)
    tile_b = cuda.shared.array((128, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    m, n = out.shape
    depth = b.shape[0]
    for k in range(tx, depth, 32):
        tile_a[ty, k] = a[y, k] if y < m else np.float32(0)
    for k in range(ty, depth, 4):
        tile_b[k, tx] = b[k, x] if x < n else np.float32(0)
    cuda.syncthreads()
    total = np.float32(0)
    for k in range(depth):
        total += tile_a[ty, k] * tile_b[k, tx]
    if y < m and x < n:
        out[y, x] = total


@impostor("strip_product", diagnosis="reduced_precision")
@cuda.jit
def half_precision_tiles(out, a, b):
    tile_a = cuda.shared.array((4, 128), np.float16)
    tile_b = cuda.shared.array((128, 32), np.float16)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    m, n = out.shape
    depth = b.shape[0]
    for k in range(tx, depth, 32):
        tile_a[ty, k] = np.float16(a[y, k]) if y < m else np.float16(0)
    for k in range(ty, depth, 4):
        tile_b[k, tx] = np.float16(b[k, x]) if x < n else np.float16(0)
    cuda.syncthreads()
    total = np.float32(0)
    for k in range(depth):
        total += np.float32(tile_a[ty, k]) * np.float32(tile_b[k, tx])
    if y < m and x < n:
        out[y, x] = total


@impostor("strip_product", diagnosis="too_many_sectors")
@cuda.jit
def no_tiles(out, a, b):
    x, y = cuda.grid(2)
    m, n = out.shape
    if y < m and x < n:
        total = np.float32(0)
        for k in range(b.shape[0]):
            total += a[y, k] * b[k, x]
        out[y, x] = total


@impostor("strip_product", diagnosis="too_many_sectors")
@cuda.jit
def tile_for_a_only(out, a, b):
    tile_a = cuda.shared.array((4, 128), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    m, n = out.shape
    depth = b.shape[0]
    for k in range(tx, depth, 32):
        tile_a[ty, k] = a[y, k] if y < m else np.float32(0)
    cuda.syncthreads()
    if y < m and x < n:
        total = np.float32(0)
        for k in range(depth):
            total += tile_a[ty, k] * b[k, x]
        out[y, x] = total


@impostor("strip_product", diagnosis="too_many_sectors")
@cuda.jit
def tile_for_b_only(out, a, b):
    tile_b = cuda.shared.array((64, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    m, n = out.shape
    depth = b.shape[0]
    total = np.float32(0)
    for start in range(0, depth, 64):
        part = min(64, depth - start)
        for k in range(ty, part, 4):
            tile_b[k, tx] = b[start + k, x] if x < n else np.float32(0)
        cuda.syncthreads()
        if y < m:
            for k in range(part):
                total += a[y, start + k] * tile_b[k, tx]
        cuda.syncthreads()
    if y < m and x < n:
        out[y, x] = total


@impostor("strip_product", diagnosis="first_strip_only")
@cuda.jit
def one_round(out, a, b):
    tile_a = cuda.shared.array((4, 64), np.float32)
    tile_b = cuda.shared.array((64, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    m, n = out.shape
    part = min(64, b.shape[0])
    for k in range(tx, part, 32):
        tile_a[ty, k] = a[y, k] if y < m else np.float32(0)
    for k in range(ty, part, 4):
        tile_b[k, tx] = b[k, x] if x < n else np.float32(0)
    cuda.syncthreads()
    total = np.float32(0)
    for k in range(part):
        total += tile_a[ty, k] * tile_b[k, tx]
    if y < m and x < n:
        out[y, x] = total


@impostor("strip_product", diagnosis="last_strip_only")
@cuda.jit
def total_set_in_each_round(out, a, b):
    tile_a = cuda.shared.array((4, 64), np.float32)
    tile_b = cuda.shared.array((64, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    m, n = out.shape
    depth = b.shape[0]
    total = np.float32(0)
    for start in range(0, depth, 64):
        part = min(64, depth - start)
        for k in range(tx, part, 32):
            tile_a[ty, k] = a[y, start + k] if y < m else np.float32(0)
        for k in range(ty, part, 4):
            tile_b[k, tx] = b[start + k, x] if x < n else np.float32(0)
        cuda.syncthreads()
        total = np.float32(0)
        for k in range(part):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    if y < m and x < n:
        out[y, x] = total


@impostor("strip_product", diagnosis="all_zero")
@cuda.jit
def zeros(out, a, b):
    x, y = cuda.grid(2)
    if y < out.shape[0] and x < out.shape[1]:
        out[y, x] = np.float32(0)


@impostor("strip_product", diagnosis="written_more_than_once")
@cuda.jit
def stored_after_each_strip(out, a, b):
    tile_a = cuda.shared.array((4, 64), np.float32)
    tile_b = cuda.shared.array((64, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    m, n = out.shape
    depth = b.shape[0]
    total = np.float32(0)
    for start in range(0, depth, 64):
        part = min(64, depth - start)
        for k in range(tx, part, 32):
            tile_a[ty, k] = a[y, start + k] if y < m else np.float32(0)
        for k in range(ty, part, 4):
            tile_b[k, tx] = b[start + k, x] if x < n else np.float32(0)
        cuda.syncthreads()
        for k in range(part):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
        if y < m and x < n:
            out[y, x] = total


@impostor("strip_product", diagnosis="never_written")
@cuda.jit
def lower_rows_left_out(out, a, b):
    tile_a = cuda.shared.array((4, 64), np.float32)
    tile_b = cuda.shared.array((64, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    m, n = out.shape
    depth = b.shape[0]
    if (cuda.blockIdx.y + 1) * 4 > m:
        return
    total = np.float32(0)
    for start in range(0, depth, 64):
        part = min(64, depth - start)
        for k in range(tx, part, 32):
            tile_a[ty, k] = a[y, start + k]
        for k in range(ty, part, 4):
            tile_b[k, tx] = b[start + k, x] if x < n else np.float32(0)
        cuda.syncthreads()
        for k in range(part):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    if x < n:
        out[y, x] = total


# -- best_launch -------------------------------------------------------------------------------


def search(score, sizes=range(32, 1025, 32), limits=right_limits):
    """A search as the exercise asks for, with one of its parts exchanged."""

    def answer(max_warps, max_blocks, shared_sm, versions):
        most, best = -1, (0, 0)
        for threads in sizes:
            for loads, registers, per_thread in versions:
                blocks = min(limits(max_warps, max_blocks, shared_sm, threads, registers,
                                    threads * per_thread))  # fmt: skip
                found = score(blocks, threads // 32, loads)
                if found > most:
                    most, best = found, (threads, loads)
        return best

    return answer


@impostor("best_launch", diagnosis="most_warps")
def highest_occupancy(max_warps, max_blocks, shared_sm, versions):
    by_warps = search(lambda blocks, warps, loads: blocks * warps)
    return by_warps(max_warps, max_blocks, shared_sm, versions)


@impostor("best_launch", diagnosis="most_loads")
def most_loads_that_fit(max_warps, max_blocks, shared_sm, versions):
    by_loads = search(lambda blocks, warps, loads: loads if blocks else 0)
    return by_loads(max_warps, max_blocks, shared_sm, versions)


@impostor("best_launch", diagnosis="largest_block")
def sizes_downwards(max_warps, max_blocks, shared_sm, versions):
    downwards = search(lambda blocks, warps, loads: blocks * warps * loads, range(1024, 0, -32))
    return downwards(max_warps, max_blocks, shared_sm, versions)


@impostor("best_launch", diagnosis="blocks_not_warps")
def blocks_counted(max_warps, max_blocks, shared_sm, versions):
    by_blocks = search(lambda blocks, warps, loads: blocks * loads)
    return by_blocks(max_warps, max_blocks, shared_sm, versions)


@impostor("best_launch", diagnosis="plain_registers")
def plain_division(max_warps, max_blocks, shared_sm, versions):
    def plain(max_warps, max_blocks, shared_sm, threads, registers, shared_bytes):
        w, b, _, s = right_limits(
            max_warps, max_blocks, shared_sm, threads, registers, shared_bytes
        )
        return w, b, 65536 // (registers * threads), s

    plainly = search(lambda blocks, warps, loads: blocks * warps * loads, limits=plain)
    return plainly(max_warps, max_blocks, shared_sm, versions)


@impostor("best_launch", diagnosis="reserve_forgotten")
def without_the_reserve(max_warps, max_blocks, shared_sm, versions):
    def bare(max_warps, max_blocks, shared_sm, threads, registers, shared_bytes):
        w, b, r, _ = right_limits(
            max_warps, max_blocks, shared_sm, threads, registers, shared_bytes
        )
        used = (shared_bytes + 127) // 128 * 128
        return w, b, r, shared_sm // used if used else max_blocks

    barely = search(lambda blocks, warps, loads: blocks * warps * loads, limits=bare)
    return barely(max_warps, max_blocks, shared_sm, versions)


@impostor("best_launch", diagnosis="wrong_type")
def threads_alone(max_warps, max_blocks, shared_sm, versions):
    return 64


@impostor("best_launch", diagnosis="constant_output")
def the_example(max_warps, max_blocks, shared_sm, versions):
    return 64, 8


@impostor("best_launch", diagnosis="wrong_values")
def only_common_sizes(max_warps, max_blocks, shared_sm, versions):
    common = search(lambda blocks, warps, loads: blocks * warps * loads, (128, 256, 512, 1024))
    return common(max_warps, max_blocks, shared_sm, versions)
