"""Wrong answers to the lab t1_12_launches."""

from __future__ import annotations

import math

import numpy as np

from tests.impostors import impostor
from warpwise import cuda
from warpwise.answers import recorded

# -- loop_time ---------------------------------------------------------------------------------


@impostor("loop_time", diagnosis="nothing_overlaps")
def waits_each_time(count, launch_us, kernel_us):
    return count * (launch_us + kernel_us)


@impostor("loop_time", diagnosis="one_launch")
def as_a_graph(count, launch_us, kernel_us):
    return launch_us + count * kernel_us if count else 0


@impostor("loop_time", diagnosis="last_kernel_hidden")
def launches_and_one_kernel(count, launch_us, kernel_us):
    return count * launch_us + kernel_us if count else 0


@impostor("loop_time", diagnosis="one_more_largest")
def slower_row_only(count, launch_us, kernel_us):
    return count * max(launch_us, kernel_us)


@impostor("loop_time", diagnosis="launches_free")
def kernels_only(count, launch_us, kernel_us):
    return count * kernel_us


@impostor("loop_time", diagnosis="kernels_hidden")
def launches_only(count, launch_us, kernel_us):
    return count * launch_us


@impostor("loop_time", diagnosis="no_loop_no_time")
def no_case_for_zero(count, launch_us, kernel_us):
    return launch_us + (count - 1) * max(launch_us, kernel_us) + kernel_us


@impostor("loop_time", diagnosis="constant_output")
def the_first_example(count, launch_us, kernel_us):
    return 14


# -- steps_to_pay ------------------------------------------------------------------------------


@impostor("steps_to_pay", diagnosis="only_as_fast")
def rounded_up(bytes_in, bytes_out, bus_gbs, host_us, kernel_us):
    if kernel_us >= host_us:
        return 0
    return math.ceil((bytes_in + bytes_out) / (1000 * bus_gbs) / (host_us - kernel_us))


@impostor("steps_to_pay", diagnosis="rounded_down")
def floor_alone(bytes_in, bytes_out, bus_gbs, host_us, kernel_us):
    if kernel_us >= host_us:
        return 0
    return int((bytes_in + bytes_out) / (1000 * bus_gbs) / (host_us - kernel_us))


@impostor("steps_to_pay", diagnosis="one_way")
def results_stay_there(bytes_in, bytes_out, bus_gbs, host_us, kernel_us):
    if kernel_us >= host_us:
        return 0
    return int(bytes_in / (1000 * bus_gbs) // (host_us - kernel_us)) + 1


@impostor("steps_to_pay", diagnosis="kernel_free")
def device_takes_no_time(bytes_in, bytes_out, bus_gbs, host_us, kernel_us):
    return int((bytes_in + bytes_out) / (1000 * bus_gbs) // host_us) + 1


@impostor("steps_to_pay", diagnosis="nanoseconds")
def no_thousand(bytes_in, bytes_out, bus_gbs, host_us, kernel_us):
    if kernel_us >= host_us:
        return 0
    return int((bytes_in + bytes_out) / bus_gbs // (host_us - kernel_us)) + 1


@impostor("steps_to_pay", diagnosis="copied_each_step")
def copies_for_each_step(bytes_in, bytes_out, bus_gbs, host_us, kernel_us):
    copies_us = (bytes_in + bytes_out) / (1000 * bus_gbs)
    return 1 if copies_us + kernel_us < host_us else 0


@impostor("steps_to_pay", diagnosis="raised")
def divides_by_nothing(bytes_in, bytes_out, bus_gbs, host_us, kernel_us):
    copies_us = (bytes_in + bytes_out) / (1000 * bus_gbs)
    return max(0, int(copies_us // (host_us - kernel_us)) + 1)


# -- fused_steps -------------------------------------------------------------------------------


@impostor("fused_steps", diagnosis="out_of_bounds")
@cuda.jit
def no_guard(out, x, a, b, steps, n):
    i = cuda.grid(1)
    v = x[i]
    for _ in range(steps):
        v = abs(a * v - b)
    out[i] = v


@impostor("fused_steps", diagnosis="one_step")
@cuda.jit
def the_given_kernel(out, x, a, b, steps, n):
    i = cuda.grid(1)
    if i < n:
        if steps > 0:
            out[i] = abs(a * x[i] - b)
        else:
            out[i] = x[i]


@impostor("fused_steps", diagnosis="one_step_too_many")
@cuda.jit
def a_step_while_loading(out, x, a, b, steps, n):
    i = cuda.grid(1)
    if i < n:
        v = abs(a * x[i] - b)
        for _ in range(steps):
            v = abs(a * v - b)
        out[i] = v


@impostor("fused_steps", diagnosis="one_step_missing")
@cuda.jit
def range_from_one(out, x, a, b, steps, n):
    i = cuda.grid(1)
    if i < n:
        v = x[i]
        for _ in range(1, steps):
            v = abs(a * v - b)
        out[i] = v


@impostor("fused_steps", diagnosis="written_more_than_once")
@cuda.jit
def through_global_memory(out, x, a, b, steps, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = x[i]
        for _ in range(steps):
            out[i] = abs(a * out[i] - b)


@impostor("fused_steps", diagnosis="too_many_sectors")
@cuda.jit
def x_as_memory(out, x, a, b, steps, n):
    i = cuda.grid(1)
    if i < n:
        v = x[i]
        for _ in range(steps):
            v = abs(a * v - b) + 0 * x[i]
        out[i] = v


@impostor("fused_steps", diagnosis="reduced_precision")
@cuda.jit
def half_precision(out, x, a, b, steps, n):
    i = cuda.grid(1)
    if i < n:
        v = np.float16(x[i])
        for _ in range(steps):
            v = np.float16(abs(a * np.float32(v) - b))
        out[i] = np.float32(v)


@impostor("fused_steps", diagnosis="never_written")
@cuda.jit
def zero_steps_left_out(out, x, a, b, steps, n):
    i = cuda.grid(1)
    if i < n and steps > 0:
        v = x[i]
        for _ in range(steps):
            v = abs(a * v - b)
        out[i] = v


@impostor("fused_steps", diagnosis="input_copied")
@cuda.jit
def copies_only(out, x, a, b, steps, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = x[i]


@impostor("fused_steps", diagnosis="only_first_block")
@cuda.jit
def thread_number_alone(out, x, a, b, steps, n):
    i = cuda.threadIdx.x
    if cuda.blockIdx.x == 0 and i < n:
        v = x[i]
        for _ in range(steps):
            v = abs(a * v - b)
        out[i] = v


@impostor("fused_steps", diagnosis="all_zero")
@cuda.jit
def zeros(out, x, a, b, steps, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = 0


# -- program_makespan --------------------------------------------------------------------------


@impostor("program_makespan", diagnosis="one_after_the_other")
def sum_of_all():
    return 40 + 30 + 50 + 20 + 30 + 25 + 35


@impostor("program_makespan", diagnosis="kernels_side_by_side")
def g_during_f():
    return 150


@impostor("program_makespan", diagnosis="copies_side_by_side")
def x_and_y_together():
    return 155


@impostor("program_makespan", diagnosis="copies_back_side_by_side")
def both_back_together():
    return 165


@impostor("program_makespan", diagnosis="without_the_copies_back")
def until_h_ends():
    return 140


@impostor("program_makespan", diagnosis="first_stream_only")
def until_y_is_back():
    return 145


# -- mended_sum --------------------------------------------------------------------------------


@cuda.jit
def square(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] = a[i] * a[i]


@cuda.jit
def add(a, b):
    i = cuda.grid(1)
    if i < a.size:
        a[i] = a[i] + b[i]


@impostor("mended_sum", diagnosis="race")
@recorded
def as_given(out, x, y):
    blocks = (x.size + 255) // 256
    s1, s2 = cuda.stream(), cuda.stream()
    with cuda.pinned(out, x, y):
        dx = cuda.to_device(x, stream=s1)
        dy = cuda.to_device(y, stream=s2)
        square[blocks, 256, s1](dx)
        square[blocks, 256, s2](dy)
        add[blocks, 256, s1](dx, dy)
        dx.copy_to_host(out, stream=s1)


@impostor("mended_sum", diagnosis="race")
@recorded
def waits_too_late(out, x, y):
    blocks = (x.size + 255) // 256
    s1, s2 = cuda.stream(), cuda.stream()
    ready = cuda.event()
    with cuda.pinned(out, x, y):
        dx = cuda.to_device(x, stream=s1)
        dy = cuda.to_device(y, stream=s2)
        square[blocks, 256, s1](dx)
        square[blocks, 256, s2](dy)
        ready.record(s2)
        add[blocks, 256, s1](dx, dy)
        ready.wait(s1)
        dx.copy_to_host(out, stream=s1)
        cuda.synchronize()


@impostor("mended_sum", diagnosis="race")
@recorded
def recorded_too_early(out, x, y):
    blocks = (x.size + 255) // 256
    s1, s2 = cuda.stream(), cuda.stream()
    ready = cuda.event()
    with cuda.pinned(out, x, y):
        dx = cuda.to_device(x, stream=s1)
        dy = cuda.to_device(y, stream=s2)
        square[blocks, 256, s1](dx)
        ready.record(s2)
        square[blocks, 256, s2](dy)
        ready.wait(s1)
        add[blocks, 256, s1](dx, dy)
        dx.copy_to_host(out, stream=s1)
        cuda.synchronize()


@impostor("mended_sum", diagnosis="race")
@recorded
def waits_in_the_wrong_stream(out, x, y):
    blocks = (x.size + 255) // 256
    s1, s2 = cuda.stream(), cuda.stream()
    ready = cuda.event()
    with cuda.pinned(out, x, y):
        dx = cuda.to_device(x, stream=s1)
        dy = cuda.to_device(y, stream=s2)
        square[blocks, 256, s1](dx)
        square[blocks, 256, s2](dy)
        ready.record(s1)
        ready.wait(s2)
        add[blocks, 256, s1](dx, dy)
        dx.copy_to_host(out, stream=s1)
        cuda.synchronize()


@impostor("mended_sum", diagnosis="read_too_early")
@recorded
def host_does_not_wait(out, x, y):
    blocks = (x.size + 255) // 256
    s1, s2 = cuda.stream(), cuda.stream()
    ready = cuda.event()
    with cuda.pinned(out, x, y):
        dx = cuda.to_device(x, stream=s1)
        dy = cuda.to_device(y, stream=s2)
        square[blocks, 256, s1](dx)
        square[blocks, 256, s2](dy)
        ready.record(s2)
        ready.wait(s1)
        add[blocks, 256, s1](dx, dy)
        dx.copy_to_host(out, stream=s1)


@impostor("mended_sum", diagnosis="read_too_early")
@recorded
def waits_for_the_other_stream(out, x, y):
    blocks = (x.size + 255) // 256
    s1, s2 = cuda.stream(), cuda.stream()
    ready = cuda.event()
    with cuda.pinned(out, x, y):
        dx = cuda.to_device(x, stream=s1)
        dy = cuda.to_device(y, stream=s2)
        square[blocks, 256, s1](dx)
        square[blocks, 256, s2](dy)
        ready.record(s2)
        ready.wait(s1)
        add[blocks, 256, s1](dx, dy)
        dx.copy_to_host(out, stream=s1)
        s2.synchronize()


@impostor("mended_sum", diagnosis="one_stream")
@recorded
def all_in_one_stream(out, x, y):
    blocks = (x.size + 255) // 256
    s = cuda.stream()
    with cuda.pinned(out, x, y):
        dx = cuda.to_device(x, stream=s)
        dy = cuda.to_device(y, stream=s)
        square[blocks, 256, s](dx)
        square[blocks, 256, s](dy)
        add[blocks, 256, s](dx, dy)
        dx.copy_to_host(out, stream=s)
        s.synchronize()


@impostor("mended_sum", diagnosis="default_stream")
@recorded
def without_streams(out, x, y):
    blocks = (x.size + 255) // 256
    dx = cuda.to_device(x)
    dy = cuda.to_device(y)
    square[blocks, 256](dx)
    square[blocks, 256](dy)
    add[blocks, 256](dx, dy)
    dx.copy_to_host(out)


@impostor("mended_sum", diagnosis="default_stream")
@recorded
def one_launch_without_a_stream(out, x, y):
    blocks = (x.size + 255) // 256
    s1, s2 = cuda.stream(), cuda.stream()
    with cuda.pinned(out, x, y):
        dx = cuda.to_device(x, stream=s1)
        square[blocks, 256](dx)
        dy = cuda.to_device(y, stream=s2)
        square[blocks, 256](dy)
        add[blocks, 256](dx, dy)
        dx.copy_to_host(out, stream=s1)
        s1.synchronize()


@impostor("mended_sum", diagnosis="pageable")
@recorded
def not_pinned(out, x, y):
    blocks = (x.size + 255) // 256
    s1, s2 = cuda.stream(), cuda.stream()
    ready = cuda.event()
    dx = cuda.to_device(x, stream=s1)
    dy = cuda.to_device(y, stream=s2)
    square[blocks, 256, s1](dx)
    square[blocks, 256, s2](dy)
    ready.record(s2)
    ready.wait(s1)
    add[blocks, 256, s1](dx, dy)
    dx.copy_to_host(out, stream=s1)
    cuda.synchronize()


@impostor("mended_sum", diagnosis="host_waits")
@recorded
def waits_everywhere(out, x, y):
    blocks = (x.size + 255) // 256
    s1, s2 = cuda.stream(), cuda.stream()
    with cuda.pinned(out, x, y):
        dx = cuda.to_device(x, stream=s1)
        cuda.synchronize()
        dy = cuda.to_device(y, stream=s2)
        cuda.synchronize()
        square[blocks, 256, s1](dx)
        cuda.synchronize()
        square[blocks, 256, s2](dy)
        cuda.synchronize()
        add[blocks, 256, s1](dx, dy)
        dx.copy_to_host(out, stream=s1)
        cuda.synchronize()


@impostor("mended_sum", diagnosis="copied_at_each_launch")
@recorded
def numpy_arrays(out, x, y):
    blocks = (x.size + 255) // 256
    out[:] = x
    other = y.copy()
    square[blocks, 256](out)
    square[blocks, 256](other)
    add[blocks, 256](out, other)


@impostor("mended_sum", diagnosis="wrong_values")
@recorded
def one_block_too_few(out, x, y):
    blocks = x.size // 256
    s1 = cuda.stream()
    with cuda.pinned(out, x, y):
        dx = cuda.to_device(x, stream=s1)
        dy = cuda.to_device(y, stream=s1)
        square[max(blocks, 1), 256, s1](dx)
        square[max(blocks, 1), 256, s1](dy)
        add[max(blocks, 1), 256, s1](dx, dy)
        dx.copy_to_host(out, stream=s1)
        s1.synchronize()


@impostor("mended_sum", diagnosis="no_launches")
@recorded
def on_the_host(out, x, y):
    out[:] = x * x + y * y


@impostor("mended_sum", diagnosis="on_the_host")
@recorded
def kernels_for_show(out, x, y):
    tiny = np.zeros(1, np.float32)
    square[1, 32](tiny)
    square[1, 32](tiny)
    add[1, 32](tiny, tiny.copy())
    out[:] = x * x + y * y


@impostor("mended_sum", diagnosis="event_not_recorded")
@recorded
def waits_before_recording(out, x, y):
    blocks = (x.size + 255) // 256
    s1, s2 = cuda.stream(), cuda.stream()
    ready = cuda.event()
    with cuda.pinned(out, x, y):
        dx = cuda.to_device(x, stream=s1)
        dy = cuda.to_device(y, stream=s2)
        square[blocks, 256, s1](dx)
        square[blocks, 256, s2](dy)
        ready.wait(s1)
        ready.record(s2)
        add[blocks, 256, s1](dx, dy)
        dx.copy_to_host(out, stream=s1)
        cuda.synchronize()


@impostor("mended_sum", diagnosis="not_recorded")
def decorator_gone(out, x, y):
    out[:] = x * x + y * y
    return out


# -- overlap_parts -----------------------------------------------------------------------------


@cuda.jit
def grind(result, part):
    i = cuda.grid(1)
    if i < part.size:
        result[i] = 0.5 * part[i] + 1.0


@impostor("overlap_parts", diagnosis="one_stream")
@recorded
def a_single_stream(results, parts):
    s = cuda.stream()
    with cuda.pinned(*results, *parts):
        for result, part in zip(results, parts, strict=True):
            d = cuda.to_device(part, stream=s)
            grind[10, 256, s](d, d)
            d.copy_to_host(result, stream=s)
        s.synchronize()


@impostor("overlap_parts", diagnosis="too_slow")
@recorded
def two_streams(results, parts):
    streams = [cuda.stream() for _ in range(2)]
    with cuda.pinned(*results, *parts):
        for k, (result, part) in enumerate(zip(results, parts, strict=True)):
            s = streams[k % 2]
            d = cuda.to_device(part, stream=s)
            grind[10, 256, s](d, d)
            d.copy_to_host(result, stream=s)
        cuda.synchronize()


@impostor("overlap_parts", diagnosis="too_many_streams")
@recorded
def a_stream_for_each_part(results, parts):
    with cuda.pinned(*results, *parts):
        for result, part in zip(results, parts, strict=True):
            s = cuda.stream()
            d = cuda.to_device(part, stream=s)
            grind[10, 256, s](d, d)
            d.copy_to_host(result, stream=s)
        cuda.synchronize()


@impostor("overlap_parts", diagnosis="pageable")
@recorded
def results_not_pinned(results, parts):
    streams = [cuda.stream() for _ in range(3)]
    with cuda.pinned(*parts):
        for k, (result, part) in enumerate(zip(results, parts, strict=True)):
            s = streams[k % 3]
            d = cuda.to_device(part, stream=s)
            grind[10, 256, s](d, d)
            d.copy_to_host(result, stream=s)
        cuda.synchronize()


@impostor("overlap_parts", diagnosis="default_stream")
@recorded
def kernels_without_a_stream(results, parts):
    streams = [cuda.stream() for _ in range(3)]
    with cuda.pinned(*results, *parts):
        for k, (result, part) in enumerate(zip(results, parts, strict=True)):
            s = streams[k % 3]
            d = cuda.to_device(part, stream=s)
            grind[10, 256](d, d)
            d.copy_to_host(result, stream=s)
        cuda.synchronize()


@impostor("overlap_parts", diagnosis="copied_at_each_launch")
@recorded
def host_arrays(results, parts):
    for result, part in zip(results, parts, strict=True):
        grind[10, 256](result, part)


@impostor("overlap_parts", diagnosis="host_waits")
@recorded
def waits_for_each_part(results, parts):
    streams = [cuda.stream() for _ in range(3)]
    with cuda.pinned(*results, *parts):
        for k, (result, part) in enumerate(zip(results, parts, strict=True)):
            s = streams[k % 3]
            d = cuda.to_device(part, stream=s)
            grind[10, 256, s](d, d)
            d.copy_to_host(result, stream=s)
            s.synchronize()


@impostor("overlap_parts", diagnosis="copied_too_much")
@recorded
def results_copied_there_as_well(results, parts):
    streams = [cuda.stream() for _ in range(3)]
    with cuda.pinned(*results, *parts):
        for k, (result, part) in enumerate(zip(results, parts, strict=True)):
            s = streams[k % 3]
            d = cuda.to_device(part, stream=s)
            d_result = cuda.to_device(result, stream=s)
            grind[10, 256, s](d_result, d)
            d_result.copy_to_host(result, stream=s)
        cuda.synchronize()


@impostor("overlap_parts", diagnosis="race")
@recorded
def one_array_for_all(results, parts):
    streams = [cuda.stream() for _ in range(3)]
    with cuda.pinned(*results, *parts):
        d = cuda.device_array(2500, np.float32)
        for k, (result, part) in enumerate(zip(results, parts, strict=True)):
            s = streams[k % 3]
            d.copy_to_device(part, stream=s)
            grind[10, 256, s](d, d)
            d.copy_to_host(result, stream=s)
        cuda.synchronize()


@impostor("overlap_parts", diagnosis="race")
@recorded
def streams_by_stage(results, parts):
    s1, s2, s3 = (cuda.stream() for _ in range(3))
    with cuda.pinned(*results, *parts):
        for result, part in zip(results, parts, strict=True):
            d = cuda.to_device(part, stream=s1)
            grind[10, 256, s2](d, d)
            d.copy_to_host(result, stream=s3)
        cuda.synchronize()


@impostor("overlap_parts", diagnosis="read_too_early")
@recorded
def last_stream_only(results, parts):
    streams = [cuda.stream() for _ in range(3)]
    with cuda.pinned(*results, *parts):
        for k, (result, part) in enumerate(zip(results, parts, strict=True)):
            s = streams[k % 3]
            d = cuda.to_device(part, stream=s)
            grind[10, 256, s](d, d)
            d.copy_to_host(result, stream=s)
        s.synchronize()


@impostor("overlap_parts", diagnosis="no_launches")
@recorded
def first_part_only(results, parts):
    s = cuda.stream()
    with cuda.pinned(*results, *parts):
        d = cuda.to_device(parts[0], stream=s)
        grind[10, 256, s](d, d)
        d.copy_to_host(results[0], stream=s)
        s.synchronize()


@impostor("overlap_parts", diagnosis="no_launches")
@recorded
def parts_come_back_as_they_went(results, parts):
    s = cuda.stream()
    with cuda.pinned(*results, *parts):
        for result, part in zip(results, parts, strict=True):
            cuda.to_device(part, stream=s).copy_to_host(result, stream=s)
        s.synchronize()


@impostor("overlap_parts", diagnosis="too_slow")
@recorded
def all_copies_first(results, parts):
    streams = [cuda.stream() for _ in range(3)]
    with cuda.pinned(*results, *parts):
        there = [cuda.to_device(p, stream=streams[k % 3]) for k, p in enumerate(parts)]
        for k, d in enumerate(there):
            grind[10, 256, streams[k % 3]](d, d)
        for k, d in enumerate(there):
            d.copy_to_host(results[k], stream=streams[k % 3])
        cuda.synchronize()
