# %% [markdown]
r"""
# Profiling: ten traces, ten causes

**A training step takes 8.8 ms. Its kernels take 4.1. Where is the rest?**

A profiler records what ran when. The record is a *trace*, and most of the time it answers the question in a minute, if you ask it in the right order.
At the end of this lesson you can

- record a trace with torch.profiler, and read one from any tool that writes Chrome's format,
- tell from two numbers whether the host, the order of things or the kernels are at fault,
- prove it with a number from the trace: calls, gaps, exposed time, sectors,
- find the rank that all others wait for,
- say how fast a step could be at best, before you mend it,
- do the same in Nsight Systems and Nsight Compute.

You need the lessons `t1_12_launches` and `t1_04_coalescing`, and about 45 minutes. You do not need a GPU.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
The traces of GPUs are generated from a model, and their times are *modelled*. One trace is recorded here, on your processor.
"""

# %%
import os

os.environ["KINETO_LOG_LEVEL"] = "99"  # torch.profiler's recorder keeps quiet

import tempfile
from pathlib import Path

import numpy as np
import torch
from IPython.display import display
from torch.profiler import ProfilerActivity, record_function
from torch.profiler import profile as record

from warpwise import cuda, explain
from warpwise.hardware import Op
from warpwise.show import show_trace, table, trace_lanes, trace_totals
from warpwise.show.dial import Dial, Dialled
from warpwise.traces import Trace, example, read_trace
from warpwise.traces.host import rows_of

# %% [markdown]
r"""
## 1. Record one

`torch.profiler` writes down each operator of PyTorch, with its start and its length, and, where there is a GPU, each kernel.
Here is a small network, three steps. How many matrix products with a bias (`aten::addmm`) will the trace have, and how many `aten::item`?
"""

# %%
guesses = {"aten::addmm": "?", "aten::item": "?"}

torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 1))
batch = torch.randn(32, 64)

with record(activities=[ProfilerActivity.CPU]) as recorded:
    for _ in range(3):
        with record_function("step"):
            loss = net(batch).square().mean()
            loss.backward()
            if loss.item() < 0:
                break

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder, "mine.json")
    recorded.export_chrome_trace(str(file))
    mine = read_trace(file)

counts = {}
for lane in mine.lanes:
    for total in mine.totals(lane):
        counts[total.name] = counts.get(total.name, 0) + total.count
print("guesses:", guesses)
print({name: counts[name] for name in ("step", "aten::addmm", "aten::mm", "aten::item")})

# %% [markdown]
r"""
**6** and **3**: two layers and one `item` in each of three steps. (The backward pass multiplies without a bias, `aten::mm`.)
The times are those of your machine, so we do not print them. Look at them yourself: `trace_totals(mine, mine.lanes[0])`, or open the file in ui.perfetto.dev.

A trace is a list of *events*: a name, a start, a length, and a *lane*. A lane is a thread of the host or a stream of a device.
On the host, calls lie inside calls: `aten::linear` calls `aten::addmm`. The time of a call without the calls inside it is its *self time*. Only self times may be added up:
"""

# %%
for lane in mine.lanes:
    own = sum(total.self_us for total in mine.totals(lane))
    whole = sum(total.us for total in mine.totals(lane))
    busy = mine.busy_us(lane)
    print(
        f"self times add up to the busy time: {abs(own - busy) < 1}, whole times: {abs(whole - busy) < 1}"
    )

# %% [markdown]
r"""
## 2. A sound program

Now a step on a GPU. The model has a host that launches kernels, 5 us each, and waits once at the end of each step; a stream that computes, and one that copies the next batch.
What share of the time is `stream 7` busy, and what does the host do most of the time?
"""

# %%
guesses = {"stream 7 busy": "?", "the host": "?"}

sound = example("sound", 1)
print(guesses)
display(trace_lanes(sound))
display(trace_totals(sound, "host"))
show_trace(sound, *sound.steps[1])

# %% [markdown]
r"""
**98 %**. The host has launched everything long before the device is through, and then it waits (hollow): **96 %** of its time. That is as it should be. A host that waits once a step is a host that is ahead.
Only between two steps there is a gap: the device is done, and the next launch has to come.

So the first number to read is the busy share of the computing stream. Then the ways part:

| | the device is idle | the device is busy |
|---|---|---|
| ask | what do the host, the copies, the other ranks do in the gaps? | busy with what? |
| causes | launches, waits, loader, copies, communication, a slow rank | work done twice, not fused, uncoalesced, a wave's tail |
| tool | Nsight Systems, torch.profiler | Nsight Compute, one kernel at a time |

## 3. The device is idle, and the host ...

Three programs with an idle device. The pictures show their second steps. Which one waits too often, which one launches too slowly, which one waits for data?
"""

# %%
guesses = {"first": "?", "second": "?", "third": "?"}

idle = [example(cause, 1) for cause in ("data_loader", "launch_bound", "sync_in_loop")]
print(guesses)
for trace in idle:
    display(show_trace(trace, *trace.steps[1]))

# %% [markdown]
r"""
Look at the row of the host under a gap of `stream 7`.

- First: one long call, `DataLoader.__next__`. The device has finished the step before, and **waits for data**.
- Second: launches without a pause, and kernels far shorter than a launch. The host never waits until the end: it is **launch-bound**.
- Third: a launch, a wait, a launch, a wait. The host is never ahead: **a wait in the loop**.

A name is not yet a proof. The proof is a number. For the loader: how long does it run *while the device does nothing*? What runs while the device works costs nothing.
For two lists of spans, that is the time of both together, less the time of the second alone. And the time of several spans together is not their sum, for they overlap:
"""

# %%
guess = "?"  # ms a step in which the device waits for the loader


def together(spans):
    """us in which at least one of the spans (start, length) is there."""
    total, until = 0.0, float("-inf")
    for start, length in sorted(spans):
        total += max(0.0, start + length - max(start, until))
        until = max(until, start + length)
    return total


def exposed(first, second):
    """us in which one of `first` runs, and none of `second`."""
    return together([*first, *second]) - together(second)


def spans(trace, lane, word="", rank=0):
    """(start, length) of the events of a lane with `word` in their name."""
    return [(one.start_us, one.us) for one in trace.on(lane, rank) if word in one.name]


loader, launches, waits = idle
steps = len(loader.steps)
loading = spans(loader, "host", "DataLoader")
print("guess:", guess)
print(
    f"a step: {(loader.end_us - loader.start_us) / steps / 1000:.1f} ms, kernels: {together(spans(loader, 'stream 7')) / steps / 1000:.1f} ms"
)
print(
    f"loader: {together(loading) / steps / 1000:.1f} ms, of these exposed: {exposed(loading, spans(loader, 'stream 7')) / steps / 1000:.1f} ms"
)

# %% [markdown]
r"""
The question at the top is answered: of 8.8 ms, **4.8** are the loader's with nothing else going on. The other 2.6 ms of it are hidden behind the kernels of the step before.
More worker processes, or a lighter loader, save at most those 4.8 ms.

For the other two, count. How many waits has a step of the third program, and how much time is in its gaps?
And how long is a kernel of the second, beside a launch?
"""

# %%
guesses = {"waits a step": "?", "a kernel, us": "?"}

print(guesses)
gaps = waits.gaps("stream 7")
print(f"third:  {len(spans(waits, 'host', 'Synchronize')) / steps:.0f} waits a step, {len(gaps)} gaps of {np.median([us for _, us in gaps]):.0f} us in the middle, "
      f"{sum(us for _, us in gaps) / steps:.0f} us a step")  # fmt: skip
kernel, launch = (
    np.median([us for _, us in spans(launches, lane, word)])
    for lane, word in (("stream 7", ""), ("host", "Launch"))
)
print(f"second: a kernel {kernel:.1f} us, a launch {launch:.1f} us, in the middle of all")

# %% [markdown]
r"""
**19** waits, where one is needed. In PyTorch they are called `.item()`, `.cpu()`, `print(loss)`, `if loss > ...`: each needs a value from the device.
In the second program a kernel takes a few us, and a launch takes **longer**. Waiting less would not help there. Fuse kernels, make them larger, or use a graph.

NVIDIA published both on a V100 with 20 kernels of 2.9 us [1]: 9.6 us a kernel with a wait after each, 3.8 us with one wait at the end. As traces, with the launch of 3.495 us and the way back of 3.205 us from `t1_12_launches`:
"""

# %%
guesses = {"each": "?", "once": "?"}  # busy share of the stream


def launched(count, each):
    """A trace of `count` kernels of 2.9 us, with a wait after each or at the end."""
    ops = []
    for k in range(count):
        ops.append(Op(f"kernel #{k}", "kernel", stream=7, ms=2.9 / 1000))
        if each or k == count - 1:
            ops.append(Op(f"wait #{k}", "sync", stream=7))
    return Trace.from_rows(rows_of([ops], {}, 3.495, 3.205))


print(guesses)
for each in (True, False):
    trace = launched(20, each)
    print(f"wait {'each' if each else 'once'}: {trace.end_us / 20:.1f} us a kernel, stream busy {trace.busy_us('stream 7') / trace.end_us:.0%}, "
          f"waits: {len(spans(trace, 'host', 'Synchronize'))}")  # fmt: skip

# %% [markdown]
r"""
**9.6** and **3.8**, as published. 30 % and 76 % busy: the same symptom, two causes, told apart by the number of waits.

Where is the border between launch-bound and sound? Turn the dial.
"""

# %%
guess = "?"  # us of a kernel from which on the stream has no gaps, with launches of 5 us


def one_length(kernel_us, wait):
    """12 kernels of one length, launched in 5 us each."""
    ops = []
    for k in range(12):
        ops.append(Op(f"kernel #{k}", "kernel", stream=7, ms=kernel_us / 1000))
        if wait == "after each":
            ops.append(Op(f"wait #{k}", "sync", stream=7))
    trace = Trace.from_rows(rows_of([ops], {}, 5.0, 8.0))
    return show_trace(trace)._repr_mimebundle_()


print("guess:", guess)
Dialled(
    [
        Dial("kernel_us", (1, 2, 3, 4, 5, 7, 10, 20, 50), 3),
        Dial("wait", ("never", "after each"), "never"),
    ],
    one_length,
)

# %% [markdown]
r"""
From 5 us on: as soon as a kernel is as long as a launch, the host gets ahead. With a wait after each it never does, however long the kernels are; but the gap stays the same, and matters less.

## 4. Copies

Copies of memory that is not pinned are *pageable*: CUDA copies them through a buffer of its own, and the host is held until it is done. Read the totals. Which two rows give it away?
"""

# %%
guess = "?"

pageable = example("pageable_copies", 1)
print("guess:", guess)
display(trace_totals(pageable, "host"))
display(trace_totals(pageable, "stream 7"))
show_trace(pageable, *pageable.steps[1])

# %% [markdown]
r"""
The name says it, `Memcpy HtoD (Pageable -> Device)`, and so does the host: its `cudaMemcpyAsync` takes as long as the copy, though a call that only asks takes 5 us.
Note that `stream 7` looks busy. A copy is not a kernel: subtract it. In the sound program the copy is pinned, on a stream of its own, under the kernels of the step.

## 5. Several ranks

In data parallel training each rank computes its gradients, and an all-reduce adds them up (the third tier is about that). NCCL's all-reduce is a kernel, on a stream of its own.
Two programs on four ranks. Both have a `stream 7` that is idle. In which of them is the network to blame, and in the other, which rank?
"""

# %%
guesses = {"network": "?", "slow rank": "?"}

network, slow = example("exposed_all_reduce", 1), example("straggler", 1)
print(guesses)
for trace in (network, slow):
    display(show_trace(trace, *trace.steps[1]))
rows = []
for name, trace in (("first", network), ("second", slow)):
    for rank in trace.ranks:
        reduced, computed = (spans(trace, lane, "", rank) for lane in ("stream 20", "stream 7"))
        rows.append((name, rank, f"{together(computed) / steps:,.0f}", f"{together(reduced) / steps:,.0f}",
                     f"{exposed(reduced, computed) / steps:,.0f}"))  # fmt: skip
table(
    ("program", "rank", "computes, us a step", "in all-reduces", "of these exposed"),
    rows,
    "modelled",
)

# %% [markdown]
r"""
In the first program all ranks do the same. One all-reduce begins when the whole backward pass is done, and nothing hides it. Several smaller ones could begin as soon as the last layers' gradients are there.

In the second, three ranks spend a long time in all-reduces, and **rank 1** hardly any. It is not the lucky one. It computes longer and comes last, and the transfer itself is as short as it is on rank 1: the others *wait inside* the kernel.
So the straggler is the rank with the shortest all-reduce. With the trace of rank 0 alone you would have blamed the network.

## 6. The device is busy

These four programs have a device that is busy all the time. No picture of the whole will help; the names and the arguments of the kernels do.
For each kernel the trace has its grid, and what Nsight Compute would count for its loads.
Which row of the table belongs to which cause: *recompute*, *not fused*, *uncoalesced*, *tail of a wave*?
"""

# %%
guesses = {"A": "?", "B": "?", "C": "?", "D": "?"}

busy = {
    "A": example("uncoalesced", 1),
    "B": example("recompute", 1),
    "C": example("wave_tail", 1),
    "D": example("small_kernels", 1),
}
print(guesses)
rows = []
for name, trace in busy.items():
    kernels = trace.on("stream 7")
    us = sum(one.us for one in kernels)
    gemms = [one for one in kernels if one.name.startswith("gemm")]
    forward = sum(one.name == "gemm_forward" for one in kernels)
    loads = [
        one.args["load sectors"] / one.args["load requests"]
        for one in kernels
        if "load requests" in one.args
    ]
    rows.append((name, f"{us / (trace.end_us - trace.start_us):.0%}", f"{forward} and {len(gemms) - forward}",
                 f"{1 - sum(one.us for one in gemms) / us:.0%}", f"{max(loads):g}", gemms[0].args["grid"]))  # fmt: skip
head = (
    "program",
    "busy",
    "forward and backward gemms",
    "time outside gemms",
    "most sectors a request",
    "blocks of a gemm",
)
table(head, rows, "modelled")

# %% [markdown]
r"""
- **A** is *uncoalesced*: a kernel with 32 sectors a request, where 4 are enough for float32.
- **B** has twice as many forward gemms as backward ones: it *recomputes* activations in the backward pass. That may be wanted, to save memory (`t3_09_sequence_parallel`); it costs a forward pass.
- **C**: a GPU with 108 multiprocessors, one of these blocks on each, and a grid that is a little more than 108: the *second wave* is nearly empty.
- **D** spends most of its time outside gemms, in kernels that each read and write a whole tensor: *not fused* (`t2_09_fusion`).

How much of C's time is lost? Its grid has 116 blocks, so a kernel takes two waves:
"""

# %%
guess = "?"  # share of the places of blocks that stay empty

blocks = busy["C"].on("stream 7")[0].args["grid"]
waves = -(-blocks // 108)
print("guess:", guess)
print(
    f"{blocks} blocks, {waves} waves of 108: {1 - blocks / (108 * waves):.0%} of the places are empty"
)

# %% [markdown]
r"""
Nearly half. A grid of 108 blocks would take one wave, half of the time (`t2_03_gemm_shapes`).

For A a trace says no more than the sectors; the kernel itself is needed. Its report has the line, and here it is with what the four sources say:
"""

# %%
side = 256
out, x = (np.zeros((side, side), np.float32) for _ in range(2))


@cuda.jit
def transpose_kernel(out, x):
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        out[row, col] = x[col, row]


explain(transpose_kernel[(8, 8), (32, 32)], out, x, device="A100")

# %% [markdown]
r"""
32 sectors a request, as in the trace. `t1_06_banks` has the cure.

## 7. What would it bring?

Before you mend, bound. If no lane ever waited for another, a step would still take as long as its busiest lane works. Waits of the host are no work.
For which of the idle programs does a better order pay?
"""

# %%
guesses = {
    "data_loader": "?",
    "launch_bound": "?",
    "sync_in_loop": "?",
    "exposed": "?",
    "straggler": "?",
}


def busiest(trace):
    """(us a step, rank and lane) of the lane with most work."""
    found = []
    for rank in trace.ranks:
        for lane in trace.lanes:
            work = [
                (one.start_us, one.us)
                for one in trace.on(lane, rank)
                if one.name not in ("cudaStreamSynchronize", "cudaMemcpyAsync")
            ]
            found.append((together(work) / len(trace.steps), f"rank {rank}, {lane}"))
    return max(found)


rows = []
for name, trace in zip(guesses, [*idle, network, slow], strict=True):
    now = (trace.end_us - trace.start_us) / len(trace.steps)
    bound, lane = busiest(trace)
    rows.append((name, f"{now:,.0f}", f"{bound:,.0f}", f"{bound / now:.0%}", lane))
print(guesses)
table(("program", "us a step", "at least", "share", "busiest lane"), rows, "modelled")

# %% [markdown]
r"""
The waits in the loop and the exposed all-reduce cost about a third. Mending the order wins that, and no more.
For the launch-bound program the host *is* the busiest lane: no order helps, only fewer launches. With the loader it is the same lane; there the work can be divided among processes.
For the straggler it is the slow rank's own computation.

## 8. The same in NVIDIA's tools

On a machine with a GPU, `torch.profiler` needs one word more: `activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]`. The file has the same format, and `read_trace` reads it.

*Nsight Systems* records the whole machine, any program, at little cost:

    nsys profile -t cuda,nvtx,osrt -o run python train.py
    nsys stats --report cuda_api_sum,cuda_gpu_kern_sum,cuda_gpu_mem_time_sum run.nsys-rep

The three reports are the totals of our lanes: the host's calls, the kernels, the copies. `torch.cuda.nvtx.range_push("step")` and `range_pop()` mark steps.
*Nsight Compute* takes one kernel, runs it several times, and counts:

    ncu --set full -k regex:transpose -c 1 -o kernel python train.py

| cause | where you see it | the number that proves it |
|---|---|---|
| launch-bound | Systems: gaps between short kernels, `cudaLaunchKernel` without pause | `cuda_api_sum`: mean of a launch; `cuda_gpu_kern_sum`: mean of a kernel |
| wait in the loop | Systems: `cudaStreamSynchronize` again and again | its count in `cuda_api_sum`, over the steps |
| data loader | Systems: a long NVTX range or osrt calls (`poll`, `futex`) over an idle stream | the length of the gap |
| pageable copies | Systems: memory row, "Pageable"; a long `cudaMemcpyAsync` | `cuda_gpu_mem_time_sum`, and no kernel above it |
| exposed all-reduce | Systems: `ncclDevKernel...` with nothing on the other stream | its exposed time |
| straggler | one trace for each rank, side by side | the shortest all-reduce |
| not fused | Systems: many elementwise kernels | their share in `cuda_gpu_kern_sum` |
| recompute | Systems: forward kernels in the backward range | their count |
| uncoalesced | Compute: Memory Workload Analysis, Source page | `l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum` over `l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum` |
| tail of a wave | Compute: Launch Statistics | `launch__waves_per_multiprocessor` |

Do not profile the first steps: they compile, allocate and warm up. Profile three or four steps, not an epoch. And measure the gain without the profiler, for it costs time itself.

## What to remember

- First number: the busy share of the computing stream, kernels only. Then: idle, ask the other lanes; busy, ask the kernels.
- Times of lanes that overlap are joined, not added. On the host add self times.
- What runs while the device computes costs nothing. Exposed time is what counts.
- One wait a step is sound, one a kernel is not. Kernels as long as a launch need no graph.
- The rank with the shortest all-reduce is the one that all wait for.
- A name is an opinion. Give the event and the number.
- The busiest lane bounds what a better order can bring.

## Where the numbers come from

1. A. Gray, *Getting Started with CUDA Graphs*, NVIDIA blog, 2019: V100; 2.9, 9.6 and 3.8 us, as quoted by two public texts.
2. *Trace Event Format*, the format of chrome://tracing and Perfetto; PyTorch documentation, `torch.profiler`.
3. NVIDIA, *Nsight Systems User Guide*: command line and reports of `nsys stats`. *Nsight Compute Profiling Guide*: metrics.
4. The traces: `warpwise.traces`, from the models of `warpwise.hardware.timeline` and `warpwise.fabric.schedules`. 108 multiprocessors: NVIDIA, A100 whitepaper.
"""
