# %% [markdown]
r"""
# Launches: the work around the kernel

**My kernel takes 3 microseconds. Why does my program take 10 for each call of it?**

At the end of this lesson you can

- say what a launch costs, when that matters, and what to do about it: fewer launches, or a graph,
- count how often your data cross the bus, and say whether a copy pays,
- read a timeline of streams, and predict its *makespan*, the time from the first call to the end of the last operation,
- order streams with events, and find the order that is missing.

You need the lessons `t1_01_threads` and `t1_04_coalescing`, and about 40 minutes. You do not need a GPU.

All times here are *modelled*: computed from the times that a cell states, or from a published measurement with its source.
Nothing is measured on your computer. As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
"""

# %%
import numpy as np
from IPython.display import display

from warpwise import cuda, explain, profile
from warpwise.answers import host_ops
from warpwise.hardware import (
    Op,
    TimelineError,
    device,
    races,
    staged,
    streams_to_hide,
    timeline,
)
from warpwise.show import show_stages, show_timeline

# %% [markdown]
r"""
## 1. A launch only asks

`kernel[blocks, threads](...)` does not run anything. It asks the device to, and returns.
Asking takes the host a few microseconds. The device works on it later.
Published values for the host's part lie between 2.6 us [1] and 4 to 6 us [2]; about 3 us are usual [3].

NVIDIA measured this on a V100, with a kernel of 2.9 us that is called again and again [4].
In the first program the host waits after each launch until the kernel is done.
A call then took 9.6 us. In the second program the host waits once, after 20 launches: 3.8 us a call.

Two costs explain both: the launch L, and the time w from the end of a kernel until the waiting host goes on.

    L + 2.9 + w = 9.6    and    20 L + 2.9 + w = 20 * 3.8

So L is 3.495 us and w is 3.205 us. We put both programs on a timeline. `Op` describes one call of the host; `sync` is a wait.
Which share of the time does the device work, in the first program and in the second?
"""

# %%
guesses = {"each": "?", "once": "?"}  # percent of the time
launch_us, notice_us = 3.495, 3.205


def launches(count, kernel_us, wait_each):
    ops = []
    for k in range(count):
        ops.append(Op(f"k {k}", "kernel", stream=1, ms=kernel_us / 1000))
        if wait_each or k == count - 1:
            ops.append(Op(f"wait {k}", "sync", stream=1))
    return ops


for wait_each in (True, False):
    line = timeline(launches(20, 2.9, wait_each), launch_us=launch_us, sync_us=notice_us)
    us = 1000 * line.makespan_ms
    busy = 100 * line.busy_ms("compute") / line.makespan_ms
    print(f"wait {'each' if wait_each else 'once'}: {us:5.1f} us (modelled), {us / 20:.2f} us a call, "
          f"the device works {busy:.0f} %")  # fmt: skip
print("guesses:", guesses)

for wait_each in (True, False):
    line = timeline(launches(4, 2.9, wait_each), launch_us=launch_us, sync_us=notice_us)
    display(show_timeline(line))

# %% [markdown]
r"""
**30 %** and **76 %**. With a wait each time, three things add up: the launch, the kernel, and the way back to the host.
With one wait at the end, the kernels disappear behind the launches.

Compare the pictures, each with four launches. In the first, the host (grey; hollow while it waits) and the device take turns.
In the second the host is never idle, and the device still is: it works 2.9 us, then it waits until the host has asked again.
Such a program is *launch-bound*. A faster kernel would not make it faster at all.

For a loop of n launches without waits inside:

    time = launch + (n - 1) * max(launch, kernel) + kernel

So the launch matters when it is as long as the kernel. What if the kernel is longer?
A published test on an RTX 5070 Ti has a kernel of 47.16 us and a wait after each. A call took 52.92 us [2].
Which share of the kernel's time is the rest? And what share would the same rest be of a kernel of 2.9 us?
"""

# %%
guesses = {47.16: "?", 2.9: "?"}  # percent

rest_us = 52.92 - 47.16
for kernel_us in guesses:
    share = 100 * rest_us / kernel_us
    print(
        f"kernel {kernel_us:5} us: the rest is {share:3.0f} % of it   guess: {guesses[kernel_us]}"
    )

# %% [markdown]
r"""
**12 %**, as the author prints it [2], and **199 %**. The rest is the same, the kernel is not. Long kernels do not notice their launch.

## 2. Fewer launches

The first remedy: do more in one launch. Here are six steps, each `v = abs(a * v - b)`, on 100,000 elements.
The first way launches six times. The second makes all six steps in one kernel: the launches are *fused*.
Besides launches, fusing saves something that you can count since `t1_04_coalescing`. What, and how much?
"""

# %%
guess = "?"  # sectors of six launches, divided by those of the fused one


@cuda.jit
def step(out, x, a, b):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = abs(a * x[i] - b)


@cuda.jit
def six_steps(out, x, a, b):
    i = cuda.grid(1)
    if i < x.size:
        v = x[i]
        for _ in range(6):
            v = abs(a * v - b)
        out[i] = v


x = np.random.default_rng(seed=12).random(100_000, dtype=np.float32)
one, fused = np.zeros_like(x), np.zeros_like(x)
a, b = np.float32(0.75), np.float32(1.5)
single = profile(step[391, 256], one, x, a, b)
whole = profile(six_steps[391, 256], fused, x, a, b)
print(f"six launches: {6 * (single.loads.sectors + single.stores.sectors):,} sectors (counted)")
print(f"one launch:   {whole.loads.sectors + whole.stores.sectors:,} sectors (counted)")
print("guess:", guess)

explain(six_steps[391, 256], fused, x, a, b, device="A100")

# %% [markdown]
r"""
**A sixth** of the sectors: 25,000 instead of 150,000. Between two launches a value has to go through global memory; inside a kernel it stays in a register.
In Nsight Compute these are `l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum` and `..._op_st.sum`.

`explain` shows the fused kernel from all sides. Find the modelled time, and the microseconds to launch among its assumptions.

100,000 elements move in less than a microsecond. Most of the modelled time *is* the launch.

## 3. A graph: many launches at once

Sometimes kernels cannot be fused: they come from a library, or each needs all results of the one before.
Then all the asking can be done once and kept. A *CUDA graph* is a recorded set of launches and copies that is started by one call.
With `graph=True` the timeline charges one launch for all.
NVIDIA measured this as a third program: 3.4 us a kernel [4]. What does the model say, with the L and w of section 1?
"""

# %%
guess = "?"  # us a kernel

kernels = [Op(f"k {k}", "kernel", stream=1, ms=0.0029) for k in range(20)]
line = timeline(kernels, launch_us=launch_us, graph=True)
us = 1000 * line.makespan_ms + notice_us
print(f"graph: {us:.1f} us (modelled), {us / 20:.2f} a kernel")
print("guess:", guess)
for name, wait_each in (("wait", True), ("loop", False)):
    ops = launches(20, 2.9, wait_each)
    other = 1000 * timeline(ops, launch_us=launch_us, sync_us=notice_us).makespan_ms
    print(f"{name}:  {other / us:.1f} times as long")

# %% [markdown]
r"""
**3.24 us**, and 3.4 were measured. Two measurements gave us two costs, and the third one tests them. On a real device a little time passes between two kernels of a graph, which our model leaves out.

A graph is no gift. It has to be recorded and *instantiated* before its first launch, and that costs time, once [12].
So it pays when it is started many times. Its launches are fixed: the same kernels with the same arguments, on the same arrays.
And the host cannot take part. What happens to a program with a wait in the middle?
"""

# %%
guess = "?"  # is it possible?

try:
    timeline([*kernels[:2], Op("check", "sync", stream=1), *kernels[2:]], graph=True)
except TimelineError as error:
    print(error)

# %% [markdown]
r"""
It is refused, and CUDA refuses it, too. Numba has no function for graphs yet; PyTorch has `torch.cuda.graph`, and CUDA C++ and CuPy record what a stream does between two calls.

For kernels of 50 us a graph changes almost nothing. Try it: change 0.0029 above to 0.05 and run again.

## 4. What crosses the bus

Device and host have memories of their own. Between them is a bus, PCI Express.
From lesson 1 on you have given NumPy arrays to kernels. Where did they go?
`host_ops` runs an ordinary function and writes down what it asks of the device: copies to the device (`h2d`), kernels, copies to the host (`d2h`).
This program launches a kernel with two arrays, twice. How many copies will it list?
"""

# %%
guess = "?"  # copies


@cuda.jit
def double(out, x):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = 2 * x[i]


def with_numpy(out, x):
    double[391, 256](out, x)
    double[391, 256](x, out)


def with_device_arrays(out, x):
    d_x = cuda.to_device(x)
    d_out = cuda.device_array_like(d_x)
    double[391, 256](d_out, d_x)
    double[391, 256](d_x, d_out)
    d_x.copy_to_host(x)


for program in (with_numpy, with_device_arrays):
    ops = host_ops(program, fused, x)
    moved = sum(op.nbytes for op in ops if op.kind in ("h2d", "d2h"))
    print(f"{program.__name__:18}", *(op.kind for op in ops), f"  {moved:,} bytes (counted)")
print("guess:", guess)

# %% [markdown]
r"""
**Eight** copies. Numba cannot know what a kernel reads, so each launch copies every NumPy array to the device, and every one back.
With *device arrays* there are two copies: `cuda.to_device` before, `copy_to_host` after, and a quarter of the bytes.
Whatever you launch in between costs no copy.

How bad is a copy? The bus of an A100, PCIe 4 x16, carries 31 GB/s in one direction; its memory moves 2,000 GB/s.
How many times longer does it take to bring a number to the device than to read it there?
"""

# %%
guess = "?"  # times

gpu = device("A100")
print("guess:", guess, f"   {gpu.dram_gbs.value / gpu.pcie_gbs.value:.1f} times")
for name, transfers in (("PCIe 3", 8), ("PCIe 4", 16), ("PCIe 5", 32)):
    rate = transfers * 16 * 128 / 130 / 8  # GT/s x 16 x the share of data bits / bits a byte
    print(f"{name} x16: {rate:.2f} GB/s before the overhead of packets")

# %% [markdown]
r"""
**64.5** times. (A published table gives 31 and 63 GB/s for PCIe 4 and 5 [5]: our 31.51 and 63.02, rounded down.)

So a copy pays only if the device does enough with the data. Say each step of a computation takes 500 us on the host and 60 us on the device.
64 MB have to go there once, and 64 MB come back. After how many steps is the device ahead?
"""

# %%
guess = "?"  # steps

copies_us = 2 * 64e6 / (31 * 1000)  # bytes / (bytes a us)
saved_us = 500 - 60
print(f"copies: {copies_us:,.0f} us (modelled), saved a step: {saved_us} us")
print("guess:", guess, f"   {copies_us / saved_us:.1f} steps pay the copies")

# %% [markdown]
r"""
At **10** steps it is ahead, at 9 it is not. With one step it would lose by far, though its kernel is eight times as fast.
NVIDIA's guide draws the same line by counting operations for each element moved: adding two matrices does not pay, multiplying them does [6].
If it is close, move *more* of the program to the device, even parts that are no faster there, and leave the data where they are.

## 5. Pinned memory

The device copies by itself only from memory that the operating system cannot move: *pinned* (page-locked) memory.
Ordinary arrays are *pageable*. The driver copies them through a pinned buffer of its own, in pieces, and the host has to take part.
Published measurements, 16 MB to the device [7]:

| | pageable | pinned |
|---|---|---|
| laptop, NVS 4200M | 2.31 GB/s | 5.77 GB/s |
| desktop, GTX 680 | 5.37 GB/s | 6.19 GB/s |

That is 2.5 times on one, 1.15 times on the other. But speed is not the point. Look at what the *host* does.
`with cuda.pinned(...)` pins arrays for a while. The program copies two arrays and launches a kernel on each, all in streams of their own.

A *stream* is a queue: operations in one stream run in their order, operations in different streams may overlap.
From here on our device has a slow bus of 1 GB/s, 1,000 bytes a us, so that small arrays behave like large ones. A call takes 1 us, a kernel 100 us.
Both copies take 100 us. When will the pinned version be done, and when the pageable one?
"""

# %%
guesses = {"pinned": "?", "pageable": "?"}  # us


def two_arrays(x, y):
    s1, s2 = cuda.stream(), cuda.stream()
    d_x = cuda.to_device(x, stream=s1)
    double[98, 256, s1](d_x, d_x)
    d_y = cuda.to_device(y, stream=s2)
    double[98, 256, s2](d_y, d_y)
    cuda.synchronize()


def two_pinned_arrays(x, y):
    s1, s2 = cuda.stream(), cuda.stream()
    with cuda.pinned(x, y):
        d_x = cuda.to_device(x, stream=s1)
        double[98, 256, s1](d_x, d_x)
        d_y = cuda.to_device(y, stream=s2)
        double[98, 256, s2](d_y, d_y)
        cuda.synchronize()


def line_of(ops, **how):
    return timeline(ops, launch_us=1, copy_gbs=1, kernel_us={"double": 100}, **how)


x, y = x[:25_000].copy(), x[25_000:50_000].copy()
pageable = line_of(host_ops(two_arrays, x, y))
pinned = line_of(host_ops(two_pinned_arrays, x, y))
print(f"pinned:   {1000 * pinned.makespan_ms:.0f} us (modelled)   guess: {guesses['pinned']}")
print(f"pageable: {1000 * pageable.makespan_ms:.0f} us (modelled)   guess: {guesses['pageable']}")
display(show_timeline(pinned), show_timeline(pageable))

# %% [markdown]
r"""
**301** and **304** us: hardly a difference! The second copy overlaps the first kernel in both.
But look at the host's row. With pinned memory it is free after 4 us. Without, it is held for both copies, 200 us, and cannot do or ask for anything else.
Here nothing else was to be asked for. In a longer program that is what keeps the engines idle.

(CUDA's rule is that a copy of pageable memory *may* be synchronous, and a copy in the default stream is [8]. The model takes it that the host waits.
It charges both kinds of memory the same rate, so it is kind to pageable copies.)

## 6. Streams: who can work at the same time

A device has a *copy engine* for each direction, on smaller ones only one for both, and its SMs. These *engines* can work at the same time; each does one thing after the other.
(Small kernels can also share the SMs. We let each kernel fill the device.)

So cut a job into chunks: while chunk 0 is being computed, chunk 1 is copied. A job has 300 us of copies to the device, 300 us of kernels, 300 us of copies back.
In one piece that is 900 us. What is it in 3 chunks, each in a stream of its own? Ignore the launches.
"""

# %%
guess = "?"  # us

job = staged(chunks=3, streams=3, h2d_us=300, kernel_us=300, d2h_us=300)
print("guess:", guess, f"   {1000 * timeline(job, launch_us=0).makespan_ms:.0f} us (modelled)")
show_timeline(timeline(job, launch_us=0))

# %% [markdown]
r"""
**500** us. Each engine works 300 us; the kernels wait 100 us for the first chunk, and the last copy back ends 100 us after them.

NVIDIA's guide has a formula for copies to the device and kernels alone: with n chunks, the longer of the two times plus 1/n of the shorter [9].
The timeline knows nothing of this formula. Does it agree?
"""

# %%
print("  n   guide    timeline (us)")
for copy_us, kernel_us in ((400, 1000), (1000, 400)):
    for n in (1, 2, 4, 8):
        guide = max(copy_us, kernel_us) + min(copy_us, kernel_us) / n
        line = timeline(staged(n, n, copy_us, kernel_us, 0), launch_us=0)
        print(f"{n:3}  {guide:6.0f}  {1000 * line.makespan_ms:6.0f}")

# %% [markdown]
r"""
It agrees in every row. More chunks, shorter ends. Then why not a thousand chunks?
The table tries some; then turn the dials: this job has 200 us of copies in, 300 us of kernels, 200 us of copies back, and a call takes 5 us.
Find the number of chunks with the shortest time for 4 streams. Then find out how few streams do as well.
"""

# %%
job = show_stages(h2d_us=200, kernel_us=300, d2h_us=200, launch_us=5, chunks=8, streams=1)
for chunks in (1, 2, 4, 8, 16, 32, 64):
    row = [1000 * job.line(chunks, streams).makespan_ms for streams in (1, 2, 3, 4)]
    print(f"{chunks:2} chunks:", *(f"{us:6.0f}" for us in row), "us with 1, 2, 3, 4 streams")
print("streams by the rule below:", streams_to_hide(200, 300, 200))
job

# %% [markdown]
r"""
Of these, 16 chunks are the best. With 64, the 192 calls take 960 us: the job is launch-bound.

*Three* streams are as good as four. How many are enough follows from Little's law, as in `t1_10_occupancy`:
a chunk is under way for the sum of its three times, and the slowest engine needs a new one after the largest of them.
(200 + 300 + 200) / 300 is 2.33, so 3. With fewer, the next chunk of a stream comes too late: its stream is still busy with the one before.

### Does a real device do this?

A test published in 2012 ran three versions of a job of 4 chunks on two devices [10]:
in one stream; chunk after chunk (copy, kernel, copy back, then the next chunk); and stage after stage (all copies, then all kernels, then all copies back).
The Tesla C1060 has one copy engine, the Tesla C2050 two. Both take operations strictly in the order of the calls; newer devices do not.
The three times of a chunk are about equal. Which version will be the best on which device?
"""

# %%
guesses = {"C1060": "?", "C2050": "?"}  # chunk after chunk, or stage after stage?

measured = {"C1060": (12.92381, 13.63690, 8.84588), "C2050": (9.984512, 5.735584, 7.597984)}
for name, engines in (("C1060", 1), ("C2050", 2)):
    for text, by_stage, ms in zip(("chunk", "stage"), (False, True), measured[name][1:]):
        ops = staged(4, 4, 300, 300, 300, by_stage=by_stage)
        line = timeline(ops, launch_us=0, copy_engines=engines, in_order=True)
        print(f"{name} {text} after {text}: {1000 * line.makespan_ms / 900:.2f} of one stream (modelled), "
              f"{ms / measured[name][0]:.2f} (measured)")  # fmt: skip
    print("guess:", guesses[name])

# %% [markdown]
r"""
Three of the four come close. With one copy engine, chunk after chunk gains nothing: the copy back of chunk 0 stands in the queue before the copy of chunk 1, and waits for its kernel.

The fourth does not: 0.50 modelled, 0.76 measured. The author's reason: on that device, kernels launched back to back reported their end only together, so that the copies back began late [10].
A model tells you what *should* overlap. What does, a profiler has to show: Nsight Systems draws this picture from a real run, with a row for the CUDA calls of the host and one for each stream.

## 7. The default stream

Whoever names no stream uses the *default stream*. It is special: its operations wait for everything that was called for before, in all streams,
and everything that is called for later waits for them [11].
Below, two streams copy and compute. In the second version one launch has lost its stream. How much longer will it take?
"""

# %%
guess = "?"  # us longer


def both_named(x, y):
    s1, s2 = cuda.stream(), cuda.stream()
    with cuda.pinned(x, y):
        d_x, d_y = cuda.device_array_like(x), cuda.device_array_like(y)
        d_x.copy_to_device(x, stream=s1)
        double[98, 256, s1](d_x, d_x)
        d_y.copy_to_device(y, stream=s2)
        double[98, 256, s2](d_y, d_y)
        d_x.copy_to_host(x, stream=s1)
        d_y.copy_to_host(y, stream=s2)
        cuda.synchronize()


def one_forgotten(x, y):
    s1, s2 = cuda.stream(), cuda.stream()
    with cuda.pinned(x, y):
        d_x, d_y = cuda.device_array_like(x), cuda.device_array_like(y)
        d_x.copy_to_device(x, stream=s1)
        double[98, 256](d_x, d_x)  # no stream
        d_y.copy_to_device(y, stream=s2)
        double[98, 256, s2](d_y, d_y)
        d_x.copy_to_host(x, stream=s1)
        d_y.copy_to_host(y, stream=s2)
        cuda.synchronize()


named, forgotten = line_of(host_ops(both_named, x, y)), line_of(host_ops(one_forgotten, x, y))
print(f"{1000 * named.makespan_ms:.0f} and {1000 * forgotten.makespan_ms:.0f} us (modelled)")
print("guess:", guess)
show_timeline(forgotten)

# %% [markdown]
r"""
**100** us longer. The launch in the default stream waits for the copy of x, as it should. But the copy of y, in another stream, waits for the launch.
No result is wrong, and no tool complains. You only see it in the timeline: two bars side by side that should be one above the other.

`copy_to_host()` and `to_device()` without a stream are in the default stream as well, and the host waits for them.
A program can ask for default streams that behave like any other, with the environment variable `NUMBA_CUDA_PER_THREAD_DEFAULT_STREAM=1`. Then nothing orders them for you.

## 8. Events: the order that you need

What if a kernel in one stream needs what another stream has copied? The order within a stream does not help.
An *event* does: `event.record(s1)` marks a point in stream 1, `event.wait(s2)` makes stream 2 wait until it is reached. The host does not wait.

Here the event is missing. The simulator does everything in the order of the calls. Will the result be right in it? And on a GPU?
"""

# %%
guesses = {"here": "?", "on a GPU": "?"}


def hand_over(x, out):
    s1, s2 = cuda.stream(), cuda.stream()
    with cuda.pinned(x, out):
        d_x = cuda.to_device(x, stream=s1)
        double[98, 256, s2](d_x, d_x)
        d_x.copy_to_host(out, stream=s2)


out = np.zeros_like(x)
ops = host_ops(hand_over, x, out)
print("right here:", np.array_equal(out, 2 * x))
for race in races(ops):
    print(race)
print("guesses:", guesses)
show_timeline(line_of(ops))

# %% [markdown]
r"""
Right here, and a **race** on a GPU: in the picture the kernel runs *before* the copy has ended. It doubles what happened to be in `d_x`.
`races` does not look at luck. It asks for each pair of operations on the same memory, one of them writing, whether streams, events or waits order them.

The third finding is about the host: `copy_to_host` with a stream returns at once. Whoever reads `out` now reads too early.

Mended, with an event and a wait of the host:
"""


# %%
def handed_over(x, out):
    s1, s2 = cuda.stream(), cuda.stream()
    copied = cuda.event(timing=False)
    with cuda.pinned(x, out):
        d_x = cuda.to_device(x, stream=s1)
        copied.record(s1)
        copied.wait(s2)
        double[98, 256, s2](d_x, d_x)
        d_x.copy_to_host(out, stream=s2)
        s2.synchronize()


ops = host_ops(handed_over, x, out)
print("races:", races(ops))
print(f"{1000 * line_of(ops).makespan_ms:.0f} us (modelled)")

# %% [markdown]
r"""
Record first, then wait: a wait for an event that was never recorded returns at once and orders nothing.

One more question. Take `hand_over`, and leave out `cuda.pinned`. How many races are there?
"""

# %%
guess = "?"  # races


def pageable_hand_over(x, out):
    s1, s2 = cuda.stream(), cuda.stream()
    d_x = cuda.to_device(x, stream=s1)
    double[98, 256, s2](d_x, d_x)
    d_x.copy_to_host(out, stream=s2)


print("guess:", guess, "   races:", len(races(host_ops(pageable_hand_over, x, out))))

# %% [markdown]
r"""
**None**, as long as the host waits for pageable copies. The program works for years, until somebody pins the memory to make it faster.
Put in the events that the order needs, whatever memory you use.

## 9. How to time it

A launch returns before the kernel has begun. What does a clock on the host show, if it is stopped right after a loop of 20 launches?
"""

# %%
guess = "?"  # us, for kernels of 50 us and launches of 4 us

kernels = [Op(f"k {k}", "kernel", stream=1, ms=0.050) for k in range(20)]
line = timeline(kernels, launch_us=4)
print(
    "guess:",
    guess,
    f"   {1000 * line.enqueued_ms:.0f} us of {1000 * line.makespan_ms:,.0f} (modelled)",
)

# %% [markdown]
r"""
**80** us: the time to ask, not to work. Wait with `cuda.synchronize()` before you stop the clock. Or let the device tell: two events with `timing=True` around the work, and `cuda.event_elapsed_time(start, end)`.
The simulator has no GPU clock, so there it gives NaN, with a warning.

Nsight Compute's `gpu__time_duration.sum` is the time of one kernel alone: launches, copies and gaps are not in it. For those, take Nsight Systems: `nsys profile python program.py`.

Ask in this order:

1. Are there gaps between short kernels? Fuse them, or make a graph.
2. How often do the same data cross the bus? Keep them on the device.
3. Do copies and kernels take turns? Pin, cut into chunks, use a few streams.
4. Is there an operation that everything waits for? Look for the default stream, and for waits of the host.
5. Then ask `races`, or think through each pair: what orders them?

## What to remember

- A launch takes the host a few microseconds, and returns before the kernel runs. A loop takes launch + (n - 1) * max(launch, kernel) + kernel.
- A wait after each launch adds up launch, kernel and the way back: 9.6 us for a kernel of 2.9 in NVIDIA's test.
- NumPy arrays given to a kernel are copied there and back at each launch. The bus is 64 times slower than the memory of an A100.
- Only copies of pinned memory, in a stream, leave the host free.
- Engines overlap, streams order: (sum of a chunk's times) / (the largest of them), rounded up, streams are enough.
- The default stream waits for all, and all wait for it.
- Two streams that share memory need an event. And the host must wait before it reads.

**Next:** the lab, `t1_12_launches_lab`, in your folder `mine/t1_kernels/`.

## Sources

1. makslevental, persistent_kernel, README: kernel launch overheads, driver 510. <https://github.com/makslevental/persistent_kernel>
2. J. Su, "pegainfer (3): From Launch Overhead to CUDA Graph", 2026-02-26: RTX 5070 Ti, CUDA 13.0.
   <https://susun-blog.com/blog/pegainfer-3-cuda-graph/>
3. NVIDIA developer forum, thread 233645: about 3 us for an empty kernel, as quoted.
4. A. Gray, "Getting Started with CUDA Graphs", NVIDIA blog, 2019: V100; 2.9, 9.6, 3.8 and 3.4 us, as quoted by two public texts.
   <https://developer.nvidia.com/blog/cuda-graphs/>
5. S. Bekman, ml-engineering, network: PCIe 4 x16 and 5 x16. <https://github.com/stas00/ml-engineering>
6. NVIDIA, CUDA C++ Best Practices Guide, "What Runs on a CUDA-Enabled Device?". <https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/>
7. M. Harris, "How to Optimize Data Transfers in CUDA C/C++", NVIDIA blog, 2012. <https://developer.nvidia.com/blog/how-optimize-data-transfers-cuda-cc/>
8. NVIDIA, CUDA Runtime API, "API synchronization behavior". <https://docs.nvidia.com/cuda/cuda-runtime-api/>
9. CUDA C++ Best Practices Guide, "Asynchronous and Overlapping Transfers with Computation".
10. M. Harris, "How to Overlap Data Transfers in CUDA C/C++", NVIDIA blog, 2012. <https://developer.nvidia.com/blog/how-overlap-data-transfers-cuda-cc/>
11. CUDA Runtime API, "Stream synchronization behavior": the legacy default stream.
12. NVIDIA, CUDA Programming Guide, "CUDA Graphs". <https://docs.nvidia.com/cuda/cuda-programming-guide/>
"""
