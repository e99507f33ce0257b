"""Wrong answers to the lab t1_11_roofline."""

from __future__ import annotations

import numpy as np

from tests.impostors import impostor
from warpwise import cuda

TWELVE = {
    "copy": "DRAM", "saxpy": "DRAM", "poly_16": "DRAM", "poly_128": "fp32", "double_16": "DRAM",
    "double_64": "fp64", "every_8th": "DRAM", "sum_33": "load/store", "table_sum": "L2",
    "pair_sums": "fp32", "matvec": "DRAM", "matmul": "load/store",
}  # fmt: skip


# -- place -------------------------------------------------------------------------------------


def parts(peak_tflops, bandwidth_gbs, flops, nbytes):
    """Intensity, ridge, milliseconds of memory, milliseconds of arithmetic."""
    memory, arithmetic = nbytes / bandwidth_gbs / 1e6, flops / peak_tflops / 1e9
    return flops / nbytes, 1000 * peak_tflops / bandwidth_gbs, memory, arithmetic


@impostor("place", diagnosis="added_up")
def one_pipe_after_the_other(peak_tflops, bandwidth_gbs, flops, nbytes):
    at, turn, memory, arithmetic = parts(peak_tflops, bandwidth_gbs, flops, nbytes)
    return at, turn, memory + arithmetic, "memory" if memory > arithmetic else "arithmetic"


@impostor("place", diagnosis="shorter_pipe")
def the_faster_pipe(peak_tflops, bandwidth_gbs, flops, nbytes):
    at, turn, memory, arithmetic = parts(peak_tflops, bandwidth_gbs, flops, nbytes)
    return at, turn, *min((memory, "memory"), (arithmetic, "arithmetic"))


@impostor("place", diagnosis="time_of_the_shorter")
def right_word_wrong_time(peak_tflops, bandwidth_gbs, flops, nbytes):
    at, turn, memory, arithmetic = parts(peak_tflops, bandwidth_gbs, flops, nbytes)
    return at, turn, min(memory, arithmetic), "memory" if memory > arithmetic else "arithmetic"


@impostor("place", diagnosis="other_word")
def what_is_idle(peak_tflops, bandwidth_gbs, flops, nbytes):
    at, turn, memory, arithmetic = parts(peak_tflops, bandwidth_gbs, flops, nbytes)
    return at, turn, max(memory, arithmetic), "memory" if at > turn else "arithmetic"


@impostor("place", diagnosis="seconds")
def in_seconds(peak_tflops, bandwidth_gbs, flops, nbytes):
    at, turn, memory, arithmetic = parts(peak_tflops, bandwidth_gbs, flops, nbytes)
    return (
        at,
        turn,
        max(memory, arithmetic) / 1000,
        "memory" if memory > arithmetic else "arithmetic",
    )


@impostor("place", diagnosis="microseconds")
def in_microseconds(peak_tflops, bandwidth_gbs, flops, nbytes):
    at, turn, memory, arithmetic = parts(peak_tflops, bandwidth_gbs, flops, nbytes)
    return (
        at,
        turn,
        max(memory, arithmetic) * 1000,
        "memory" if memory > arithmetic else "arithmetic",
    )


@impostor("place", diagnosis="memory_only")
def always_the_bytes(peak_tflops, bandwidth_gbs, flops, nbytes):
    at, turn, memory, arithmetic = parts(peak_tflops, bandwidth_gbs, flops, nbytes)
    return at, turn, memory, "memory" if memory > arithmetic else "arithmetic"


@impostor("place", diagnosis="arithmetic_only")
def always_the_operations(peak_tflops, bandwidth_gbs, flops, nbytes):
    at, turn, memory, arithmetic = parts(peak_tflops, bandwidth_gbs, flops, nbytes)
    return at, turn, arithmetic, "memory" if memory > arithmetic else "arithmetic"


@impostor("place", diagnosis="ridge_by_a_thousand")
def tera_over_giga(peak_tflops, bandwidth_gbs, flops, nbytes):
    at, turn, memory, arithmetic = parts(peak_tflops, bandwidth_gbs, flops, nbytes)
    return (
        at,
        turn / 1000,
        max(memory, arithmetic),
        "memory" if memory > arithmetic else "arithmetic",
    )


@impostor("place", diagnosis="upside_down")
def bytes_an_operation(peak_tflops, bandwidth_gbs, flops, nbytes):
    at, turn, memory, arithmetic = parts(peak_tflops, bandwidth_gbs, flops, nbytes)
    return (
        1 / at,
        1 / turn,
        max(memory, arithmetic),
        "memory" if memory > arithmetic else "arithmetic",
    )


@impostor("place", diagnosis="fused_as_one")
def half_the_operations(peak_tflops, bandwidth_gbs, flops, nbytes):
    at, turn, memory, arithmetic = parts(peak_tflops, bandwidth_gbs, flops, nbytes)
    return at / 2, turn, max(memory, arithmetic), "memory" if memory > arithmetic else "arithmetic"


@impostor("place", diagnosis="other_word")
def tera_compared_with_giga(peak_tflops, bandwidth_gbs, flops, nbytes):
    at, turn, memory, arithmetic = parts(peak_tflops, bandwidth_gbs, flops, nbytes)
    return at, turn, max(memory, arithmetic), "memory" if at < turn / 1000 else "arithmetic"


@impostor("place", diagnosis="wrong_values")
def bits_for_bytes(peak_tflops, bandwidth_gbs, flops, nbytes):
    at, turn, memory, arithmetic = parts(peak_tflops, bandwidth_gbs, flops, 8 * nbytes)
    return at, turn, max(memory, arithmetic), "memory" if memory > arithmetic else "arithmetic"


@impostor("place", diagnosis="wrong_type")
def time_alone(peak_tflops, bandwidth_gbs, flops, nbytes):
    at, turn, memory, arithmetic = parts(peak_tflops, bandwidth_gbs, flops, nbytes)
    return max(memory, arithmetic)


@impostor("place", diagnosis="constant_output")
def the_example(peak_tflops, bandwidth_gbs, flops, nbytes):
    return 1 / 6, 19500 / 1555, 12 * 2**28 / 1555e6, "memory"


# -- traffic_of --------------------------------------------------------------------------------


@impostor("traffic_of", diagnosis="sectors_not_bytes")
def sectors(requests, itemsize):
    sets = [{address // 32 for address in request} for request in requests]
    return sum(map(len, sets)), len(set().union(*sets))


@impostor("traffic_of", diagnosis="exchanged")
def compulsory_first(requests, itemsize):
    sets = [{address // 32 for address in request} for request in requests]
    return 32 * len(set().union(*sets)), 32 * sum(map(len, sets))


@impostor("traffic_of", diagnosis="asked_for")
def useful_bytes(requests, itemsize):
    touched = {address for request in requests for address in request}
    return itemsize * sum(map(len, requests)), itemsize * len(touched)


@impostor("traffic_of", diagnosis="lines")
def lines_of_128(requests, itemsize):
    sets = [{address // 128 for address in request} for request in requests]
    return 128 * sum(map(len, sets)), 128 * len(set().union(*sets))


@impostor("traffic_of", diagnosis="always_one_each")
def a_sector_for_each_lane(requests, itemsize):
    touched = {address // 32 for request in requests for address in request}
    return 32 * sum(len(request) for request in requests), 32 * len(touched)


@impostor("traffic_of", diagnosis="elements_once")
def compulsory_elements(requests, itemsize):
    counted = sum(len({address // 32 for address in request}) for request in requests)
    touched = {address for request in requests for address in request}
    return 32 * counted, itemsize * len(touched)


@impostor("traffic_of", diagnosis="both_counted")
def no_reuse(requests, itemsize):
    counted = sum(len({address // 32 for address in request}) for request in requests)
    return 32 * counted, 32 * counted


@impostor("traffic_of", diagnosis="both_compulsory")
def union_only(requests, itemsize):
    touched = {address // 32 for request in requests for address in request}
    return 32 * len(touched), 32 * len(touched)


@impostor("traffic_of", diagnosis="address_for_index")
def addresses_as_indices(requests, itemsize):
    sets = [{address * itemsize // 32 for address in request} for request in requests]
    return 32 * sum(map(len, sets)), 32 * len(set().union(*sets))


@impostor("traffic_of", diagnosis="raised")
def no_idle_request(requests, itemsize):
    counted, touched = 0, set()
    for request in requests:
        request = sorted(request)
        found = {request[0] // 32} | {address // 32 for address in request}
        counted, touched = counted + len(found), touched | found
    return 32 * counted, 32 * len(touched)


@impostor("traffic_of", diagnosis="wrong_values")
def span_of_each_request(requests, itemsize):
    spans = [(min(r) // 32, max(r) // 32 + 1) for r in requests if r]
    touched = {sector for first, end in spans for sector in range(first, end)}
    return 32 * sum(end - first for first, end in spans), 32 * len(touched)


@impostor("traffic_of", diagnosis="constant_output")
def visible_case(requests, itemsize):
    return 96, 64


# -- blend_bytes -------------------------------------------------------------------------------


@impostor("blend_bytes", diagnosis="element_not_sector")
def four_bytes_for_gain():
    return 5 * 1200 * 1600 + 4 * 1600 + 4


@impostor("blend_bytes", diagnosis="photo_as_float32")
def all_float32():
    return 8 * 1200 * 1600 + 4 * 1600 + 32


@impostor("blend_bytes", diagnosis="photo_twice")
def neighbour_counted():
    return 6 * 1200 * 1600 + 4 * 1600 + 32


@impostor("blend_bytes", diagnosis="every_load")
def loads_of_all_threads():
    return 14 * 1200 * 1600


@impostor("blend_bytes", diagnosis="weights_for_each_row")
def weights_again_and_again():
    return 5 * 1200 * 1600 + 1200 * 4 * 1600 + 32


@impostor("blend_bytes", diagnosis="stores_forgotten")
def loads_only():
    return 1200 * 1600 + 4 * 1600 + 32


@impostor("blend_bytes", diagnosis="small_arrays_forgotten")
def photos_only():
    return 5 * 1200 * 1600


@impostor("blend_bytes", diagnosis="gain_forgotten")
def three_arrays():
    return 5 * 1200 * 1600 + 4 * 1600


@impostor("blend_bytes", diagnosis="sectors_not_bytes")
def sectors_of_all():
    return (5 * 1200 * 1600 + 4 * 1600 + 32) // 32


@impostor("blend_bytes", diagnosis="wrong_values")
def weights_for_each_column_of_rows():
    return 5 * 1200 * 1600 + 4 * 1200 + 32


@impostor("blend_bytes", diagnosis="wrong_type")
def a_float():
    return (5 * 1200 * 1600 + 4 * 1600 + 32) / 1


# -- twelve_limiters ---------------------------------------------------------------------------


@impostor("twelve_limiters", diagnosis="all_memory")
def everything_dram():
    return dict.fromkeys(TWELVE, "DRAM")


@impostor("twelve_limiters", diagnosis="dram_only")
def one_slanted_roof():
    return {**TWELVE, "sum_33": "DRAM", "table_sum": "DRAM", "matmul": "fp32"}


@impostor("twelve_limiters", diagnosis="no_caches")
def every_request_to_dram():
    return {**TWELVE, **dict.fromkeys(("sum_33", "table_sum", "pair_sums", "matmul"), "DRAM")}


@impostor("twelve_limiters", diagnosis="float64_overlooked")
def one_peak_for_all():
    return {**TWELVE, "double_64": "DRAM"}


@impostor("twelve_limiters", diagnosis="float64_called_fp32")
def arithmetic_is_fp32():
    return {**TWELVE, "double_64": "fp32"}


@impostor("twelve_limiters", diagnosis="elements_not_sectors")
def useful_bytes_only():
    return {**TWELVE, "every_8th": "fp32"}


@impostor("twelve_limiters", diagnosis="requests_overlooked")
def two_memories():
    return {**TWELVE, "sum_33": "DRAM", "matmul": "fp32"}


@impostor("twelve_limiters", diagnosis="l2_overlooked")
def table_by_its_requests():
    return {**TWELVE, "table_sum": "load/store"}


@impostor("twelve_limiters", diagnosis="any_float64_binds")
def float64_is_slow():
    return {**TWELVE, "double_16": "fp64"}


@impostor("twelve_limiters", diagnosis="broadcast_as_traffic")
def many_loads_many_bytes():
    return {**TWELVE, "pair_sums": "load/store"}


@impostor("twelve_limiters", diagnosis="wrong_values")
def matmul_by_l2():
    return {**TWELVE, "matmul": "L2"}


@impostor("twelve_limiters", diagnosis="wrong_values")
def lower_case():
    return {name: roof.lower() for name, roof in TWELVE.items()}


@impostor("twelve_limiters", diagnosis="wrong_type")
def roofs_alone():
    return list(TWELVE.values())


@impostor("twelve_limiters", diagnosis="wrong_type")
def eleven():
    return {name: roof for name, roof in TWELVE.items() if name != "matvec"}


# -- fade --------------------------------------------------------------------------------------


@cuda.jit(device=True)
def polynomial(light):
    """What the right answer makes of the light, in float32."""
    second = np.float32(0.1) + np.float32(0.05) * light
    return light * (np.float32(0.85) + second * light)


@impostor("fade", diagnosis="all_zero")
@cuda.jit
def zeros(out, photo, strength):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = np.float32(0)


@impostor("fade", diagnosis="input_copied")
@cuda.jit
def unfaded(out, photo, strength):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = photo[i]


@impostor("fade", diagnosis="only_first_block")
@cuda.jit
def block_forgotten(out, photo, strength):
    i = cuda.threadIdx.x
    n = out.size
    if i < n and cuda.blockIdx.x == 0:
        pixel = photo[i]
        place = np.float32(i) / np.float32(n)
        light = np.float32(1) - strength * place * place
        out[i] = pixel * polynomial(light)


@impostor("fade", diagnosis="out_of_bounds")
@cuda.jit
def unguarded(out, photo, strength):
    i = cuda.grid(1)
    n = out.size
    pixel = photo[i]
    place = np.float32(i) / np.float32(n)
    light = np.float32(1) - strength * place * place
    out[i] = pixel * polynomial(light)


@impostor("fade", diagnosis="float64_left")
@cuda.jit
def as_it_was(out, photo, strength):
    i = cuda.grid(1)
    n = out.size
    if i < n:
        place = i / n
        light = 1.0 - strength * place * place
        once, twice = photo[i] * light, photo[i] * light * light
        out[i] = 0.85 * once + 0.1 * twice + 0.05 * twice * light


@impostor("fade", diagnosis="float64_left")
@cuda.jit
def quotient_left(out, photo, strength):
    i = cuda.grid(1)
    n = out.size
    if i < n:
        pixel = photo[i]
        place = np.float32(i / n)
        light = np.float32(1) - strength * place * place
        out[i] = pixel * polynomial(light)


@impostor("fade", diagnosis="float64_left")
@cuda.jit
def one_literal_left(out, photo, strength):
    i = cuda.grid(1)
    n = out.size
    if i < n:
        pixel = photo[i]
        place = np.float32(i) / np.float32(n)
        light = np.float32(1) - strength * place * place
        out[i] = pixel * polynomial(light) * 1.0


@impostor("fade", diagnosis="float64_left")
@cuda.jit
def divided_by_an_integer(out, photo, strength):
    i = cuda.grid(1)
    n = out.size
    if i < n:
        pixel = photo[i]
        place = np.float32(i) / n
        light = np.float32(1) - strength * np.float32(place) * np.float32(place)
        out[i] = pixel * polynomial(light)


@impostor("fade", diagnosis="too_many_sectors")
@cuda.jit
def loaded_twice(out, photo, strength):
    i = cuda.grid(1)
    n = out.size
    if i < n:
        place = np.float32(i) / np.float32(n)
        light = np.float32(1) - strength * place * place
        half = np.float32(0.5) * photo[i] * polynomial(light)
        out[i] = half + np.float32(0.5) * photo[i] * polynomial(light)


@impostor("fade", diagnosis="reduced_precision")
@cuda.jit
def half_precision(out, photo, strength):
    i = cuda.grid(1)
    n = out.size
    if i < n:
        pixel = np.float32(np.float16(photo[i]))
        place = np.float32(i) / np.float32(n)
        light = np.float32(1) - strength * place * place
        out[i] = pixel * polynomial(light)


@impostor("fade", diagnosis="place_to_the_last")
@cuda.jit
def up_to_one(out, photo, strength):
    i = cuda.grid(1)
    n = out.size
    if i < n:
        pixel = photo[i]
        place = np.float32(i) / np.float32(max(1, n - 1))
        light = np.float32(1) - strength * place * place
        out[i] = pixel * polynomial(light)


@impostor("fade", diagnosis="place_not_squared")
@cuda.jit
def straight(out, photo, strength):
    i = cuda.grid(1)
    n = out.size
    if i < n:
        light = np.float32(1) - strength * (np.float32(i) / np.float32(n))
        out[i] = photo[i] * polynomial(light)


@impostor("fade", diagnosis="two_terms")
@cuda.jit
def two_of_three_terms(out, photo, strength):
    i = cuda.grid(1)
    n = out.size
    if i < n:
        place = np.float32(i) / np.float32(n)
        light = np.float32(1) - strength * place * place
        out[i] = photo[i] * light * (np.float32(0.85) + np.float32(0.1) * light)


# -- smooth_four -------------------------------------------------------------------------------


@impostor("smooth_four", diagnosis="two_rounds")
@cuda.jit
def as_in_the_lesson(out, x):
    tile = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    i = 240 * cuda.blockIdx.x + t - 8
    n = x.size
    if 0 <= i < n:
        tile[t] = x[i]
    cuda.syncthreads()
    for _ in range(2):
        value = np.float32(0)
        inner = 0 < t < 255 and 0 < i < n - 1
        if inner:
            value = np.float32(0.25) * (tile[t - 1] + tile[t + 1]) + np.float32(0.5) * tile[t]
        cuda.syncthreads()
        if inner:
            tile[t] = value
        cuda.syncthreads()
    if 8 <= t < 248 and i < n:
        out[i] = tile[t]


@impostor("smooth_four", diagnosis="wrong_values")
@cuda.jit
def halo_of_two(out, x):
    tile = cuda.shared.array(244, np.float32)
    t = cuda.threadIdx.x
    i = 240 * cuda.blockIdx.x + t - 2
    n = x.size
    if t < 244 and 0 <= i < n:
        tile[t] = x[i]
    cuda.syncthreads()
    for _ in range(4):
        value = np.float32(0)
        inner = 0 < t < 243 and 0 < i < n - 1
        if inner:
            value = np.float32(0.25) * (tile[t - 1] + tile[t + 1]) + np.float32(0.5) * tile[t]
        cuda.syncthreads()
        if inner:
            tile[t] = value
        cuda.syncthreads()
    if 2 <= t < 242 and i < n:
        out[i] = tile[t]


@impostor("smooth_four", diagnosis="one_round")
@cuda.jit
def a_single_round(out, x):
    n = x.size
    t = cuda.threadIdx.x
    i = 240 * cuda.blockIdx.x + t
    if t < 240 and i < n:
        if 0 < i < n - 1:
            out[i] = np.float32(0.25) * (x[i - 1] + x[i + 1]) + np.float32(0.5) * x[i]
        else:
            out[i] = x[i]


@impostor("smooth_four", diagnosis="race")
@cuda.jit
def barrier_after_reading_missing(out, x):
    tile = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    i = 240 * cuda.blockIdx.x + t - 8
    n = x.size
    if 0 <= i < n:
        tile[t] = x[i]
    cuda.syncthreads()
    for _ in range(4):
        if 0 < t < 255 and 0 < i < n - 1:
            tile[t] = np.float32(0.25) * (tile[t - 1] + tile[t + 1]) + np.float32(0.5) * tile[t]
        cuda.syncthreads()
    if 8 <= t < 248 and i < n:
        out[i] = tile[t]


@impostor("smooth_four", diagnosis="race")
@cuda.jit
def barrier_after_writing_missing(out, x):
    tile = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    i = 240 * cuda.blockIdx.x + t - 8
    n = x.size
    if 0 <= i < n:
        tile[t] = x[i]
    cuda.syncthreads()
    for _ in range(4):
        value = np.float32(0)
        inner = 0 < t < 255 and 0 < i < n - 1
        if inner:
            value = np.float32(0.25) * (tile[t - 1] + tile[t + 1]) + np.float32(0.5) * tile[t]
        cuda.syncthreads()
        if inner:
            tile[t] = value
    if 8 <= t < 248 and i < n:
        out[i] = tile[t]


@impostor("smooth_four", diagnosis="no_halo")
@cuda.jit
def blocks_on_their_own(out, x):
    tile = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    start = 240 * cuda.blockIdx.x
    last = min(240, x.size - start) - 1
    if t <= last:
        tile[t] = x[start + t]
    cuda.syncthreads()
    for _ in range(4):
        value = np.float32(0)
        if 0 < t < last:
            value = np.float32(0.25) * (tile[t - 1] + tile[t + 1]) + np.float32(0.5) * tile[t]
        cuda.syncthreads()
        if 0 < t < last:
            tile[t] = value
        cuda.syncthreads()
    if t <= last:
        out[start + t] = tile[t]


@impostor("smooth_four", diagnosis="ends_not_fixed")
@cuda.jit
def zeros_beyond_the_ends(out, x):
    tile = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    i = 240 * cuda.blockIdx.x + t - 8
    n = x.size
    tile[t] = np.float32(0)
    if 0 <= i < n:
        tile[t] = x[i]
    cuda.syncthreads()
    for _ in range(4):
        value = np.float32(0)
        inner = 0 < t < 255 and 0 <= i < n
        if inner:
            value = np.float32(0.25) * (tile[t - 1] + tile[t + 1]) + np.float32(0.5) * tile[t]
        cuda.syncthreads()
        if inner:
            tile[t] = value
        cuda.syncthreads()
    if 8 <= t < 248 and i < n:
        out[i] = tile[t]


@impostor("smooth_four", diagnosis="uninitialised")
@cuda.jit
def shared_memory_thought_empty(out, x):
    tile = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    i = 240 * cuda.blockIdx.x + t - 8
    n = x.size
    if 0 <= i < n:
        tile[t] = x[i]
    cuda.syncthreads()
    for _ in range(4):
        value = np.float32(0)
        inner = 0 < t < 255 and 0 <= i < n
        if inner:
            value = np.float32(0.25) * (tile[t - 1] + tile[t + 1]) + np.float32(0.5) * tile[t]
        cuda.syncthreads()
        if inner and 0 < i < n - 1:
            tile[t] = value
        cuda.syncthreads()
    if 8 <= t < 248 and i < n:
        out[i] = tile[t]


@impostor("smooth_four", diagnosis="too_many_sectors")
@cuda.jit
def nine_loads_a_thread(out, x):
    near = cuda.local.array(9, np.float32)
    t = cuda.threadIdx.x
    i = 240 * cuda.blockIdx.x + t
    n = x.size
    if t < 240 and i < n:
        for k in range(9):
            near[k] = x[min(max(i + k - 4, 0), n - 1)]
        for step in range(1, 5):
            before = near[step - 1]
            for k in range(step, 9 - step):
                j = i + k - 4
                own = near[k]
                if 0 < j < n - 1:
                    near[k] = np.float32(0.25) * (before + near[k + 1]) + np.float32(0.5) * own
                before = own
        out[i] = near[4]


@impostor("smooth_four", diagnosis="out_of_bounds")
@cuda.jit
def halo_unguarded(out, x):
    tile = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    i = 240 * cuda.blockIdx.x + t - 8
    n = x.size
    tile[t] = x[i]
    cuda.syncthreads()
    for _ in range(4):
        value = np.float32(0)
        inner = 0 < t < 255 and 0 < i < n - 1
        if inner:
            value = np.float32(0.25) * (tile[t - 1] + tile[t + 1]) + np.float32(0.5) * tile[t]
        cuda.syncthreads()
        if inner:
            tile[t] = value
        cuda.syncthreads()
    if 8 <= t < 248 and i < n:
        out[i] = tile[t]


@impostor("smooth_four", diagnosis="reduced_precision")
@cuda.jit
def half_precision_tile(out, x):
    tile = cuda.shared.array(256, np.float16)
    t = cuda.threadIdx.x
    i = 240 * cuda.blockIdx.x + t - 8
    n = x.size
    if 0 <= i < n:
        tile[t] = np.float16(x[i])
    cuda.syncthreads()
    for _ in range(4):
        value = np.float32(0)
        inner = 0 < t < 255 and 0 < i < n - 1
        if inner:
            value = np.float32(0.25) * (np.float32(tile[t - 1]) + np.float32(tile[t + 1]))
            value += np.float32(0.5) * np.float32(tile[t])
        cuda.syncthreads()
        if inner:
            tile[t] = np.float16(value)
        cuda.syncthreads()
    if 8 <= t < 248 and i < n:
        out[i] = np.float32(tile[t])


@impostor("smooth_four", diagnosis="all_zero")
@cuda.jit
def nothing_but_zeros(out, x):
    i = 240 * cuda.blockIdx.x + cuda.threadIdx.x
    if cuda.threadIdx.x < 240 and i < x.size:
        out[i] = np.float32(0)


@impostor("smooth_four", diagnosis="input_copied")
@cuda.jit
def not_smoothed(out, x):
    i = 240 * cuda.blockIdx.x + cuda.threadIdx.x
    if cuda.threadIdx.x < 240 and i < x.size:
        out[i] = x[i]
