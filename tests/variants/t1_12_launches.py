"""Unusual but right answers to the lab t1_12_launches."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from tests.variants import variant
from warpwise import cuda
from warpwise.answers import recorded


@variant("loop_time")
def launch_after_launch(count, launch_us, kernel_us):
    host = device = 0.0
    for _ in range(count):
        host += launch_us
        device = max(host, device) + kernel_us
    return device


@variant("loop_time")
def two_formulas(count, launch_us, kernel_us):
    as_graph = launch_us + count * kernel_us
    as_launches = count * launch_us + kernel_us
    return max(as_graph, as_launches) if count else 0.0


@variant("steps_to_pay")
def step_by_step(bytes_in, bytes_out, bus_gbs, host_us, kernel_us):
    if kernel_us >= host_us:
        return 0
    copies = Fraction(bytes_in + bytes_out) / (1000 * Fraction(bus_gbs))
    steps = 1
    while copies + steps * Fraction(kernel_us) >= steps * Fraction(host_us):
        steps += 1
    return steps


@variant("fused_steps")
@cuda.jit
def grid_stride(out, x, a, b, steps, n):
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        v = np.float32(x[i])
        k = 0
        while k < steps:
            v = np.float32(a) * v - np.float32(b)
            if v < 0:
                v = -v
            k += 1
        out[i] = v


@variant("fused_steps")
@cuda.jit
def backwards(out, x, a, b, steps, n):
    i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
    if i >= n:
        return
    i = n - 1 - i
    v = x[i]
    for _ in range(steps):
        v = max(a * v - b, b - a * v)
    out[i] = v


@variant("program_makespan")
def engine_by_engine():
    free = {"to": 0, "work": 0, "back": 0}
    done = {}
    for name, engine, us, needs in (
        ("x", "to", 40, ()), ("y", "to", 30, ()), ("f", "work", 50, ("x",)),
        ("g", "work", 20, ("y",)), ("h", "work", 30, ("f", "g")), ("y back", "back", 35, ("g",)),
        ("x back", "back", 25, ("h",)),
    ):  # fmt: skip
        begin = max([free[engine], *(done[need] for need in needs)])
        free[engine] = done[name] = begin + us
    return max(done.values())


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


@cuda.jit
def grind(result, part):
    i = cuda.grid(1)
    if i < part.size:
        result[i] = 0.5 * part[i] + 1.0


@variant("mended_sum")
@recorded
def the_host_waits_for_the_event(out, x, y):
    blocks = -(-x.size // 128)
    s1, s2 = cuda.stream(), cuda.stream()
    squared = cuda.event()
    with cuda.pinned(out, x, y):
        dx = cuda.to_device(x, stream=s1)
        dy = cuda.to_device(y, stream=s2)
        square.forall(x.size, 128, s1)(dx)
        square[blocks, 128, s2](dy)
        squared.record(s2)
        squared.synchronize()
        add[blocks, 128, s1](dx, dy)
        dx.copy_to_host(out, stream=s1)
        cuda.synchronize()


@variant("mended_sum")
@recorded
def a_third_stream_for_the_sum(out, x, y):
    blocks = (x.size + 255) // 256
    streams = [cuda.stream() for _ in range(3)]
    with cuda.pinned(out), cuda.pinned(x, y):
        there = []
        for host, s in zip((y, x), streams, strict=False):
            d = cuda.to_device(host, stream=s)
            square[blocks, 256, s](d)
            done = cuda.event(timing=False)
            done.record(s)
            done.wait(streams[2])
            there.append(d)
        add[blocks, 256, streams[2]](*there)
        there[0].copy_to_host(out, stream=streams[2])
        streams[2].synchronize()


@variant("mended_sum")
@recorded
def pinned_copies_of_its_own(out, x, y):
    blocks = (x.size + 255) // 256
    mine = [cuda.pinned_array_like(x) for _ in range(3)]
    mine[0][:], mine[1][:] = x, y
    with cuda.stream().auto_synchronize() as s1:
        s2 = cuda.stream()
        squared = cuda.event(timing=False)
        dy = cuda.to_device(mine[1], stream=s2)
        square[blocks, 256, s2](dy)
        squared.record(s2)
        dx = cuda.to_device(mine[0], stream=s1)
        square[blocks, 256, s1](dx)
        squared.wait(s1)
        add[blocks, 256, s1](dx, dy)
        dx.copy_to_host(mine[2], stream=s1)
    out[:] = mine[2]


@variant("overlap_parts")
@recorded
def arrays_used_again(results, parts):
    count = min(3, len(parts))
    lanes = [(cuda.stream(), cuda.device_array(2500, np.float32)) for _ in range(count)]
    with cuda.pinned(*results, *parts):
        for k in range(len(parts)):
            s, d = lanes[k % count]
            d.copy_to_device(parts[k], stream=s)
            grind[10, 256, s](d, d)
            d.copy_to_host(results[k], stream=s)
        for s, _ in lanes:
            s.synchronize()


@variant("overlap_parts")
@recorded
def three_at_a_time(results, parts):
    streams = [cuda.stream() for _ in range(3)]
    with cuda.pinned(*results, *parts):
        for first in range(0, len(parts), 3):
            group = list(zip(streams, parts[first : first + 3], results[first:], strict=False))
            there = [cuda.to_device(part, stream=s) for s, part, _ in group]
            for (s, _, _), d in zip(group, there, strict=True):
                grind[20, 128, s](d, d)
            for (s, _, result), d in zip(group, there, strict=True):
                d.copy_to_host(result, stream=s)
        cuda.synchronize()


@variant("overlap_parts")
@recorded
def stages_with_events(results, parts):
    to, work, back = (cuda.stream() for _ in range(3))
    with cuda.pinned(*results, *parts):
        for part, result in zip(parts, results, strict=True):
            d = cuda.to_device(part, stream=to)
            there, done = cuda.event(), cuda.event()
            there.record(to)
            there.wait(work)
            grind[10, 256, work](d, d)
            done.record(work)
            done.wait(back)
            d.copy_to_host(result, stream=back)
        back.synchronize()
