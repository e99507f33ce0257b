# %% [markdown]
r"""
# Occupancy: enough work in flight

**A profiler says that your kernel has an occupancy of 50 %. Is that bad, and what would change it?**

At the end of this lesson you can

- say how many blocks of a kernel fit on one multiprocessor, and which limit stops the next one,
- work out how many bytes must be under way so that the memory is never idle,
- reach that with more warps, or with more loads in each thread,
- see what it costs to force the number of registers down,
- see when a grid wastes its last wave.

You need the lessons `t1_04_coalescing` and `t1_05_shared_memory` and about 40 minutes. You do not need a GPU.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
All numbers here are counted, compiled or modelled. None is a measured time.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from warpwise import compare, cuda, explain, profile
from warpwise.compiler import CompilerMissingError, compile_kernel
from warpwise.hardware import device, in_flight, occupancy, what_would_change_it
from warpwise.hardware.latency import throughput
from warpwise.show.occupancy import show_occupancy

# %% [markdown]
r"""
## 1. What a multiprocessor holds

A GPU consists of *streaming multiprocessors*, SMs for short. A block runs on one SM from its start to its end.
Several blocks can be on an SM at the same time, until one of four things runs out [1]:

| limit | a block takes |
|---|---|
| warps | its threads divided by 32, rounded up |
| blocks | one place |
| registers | what the compiler gives its threads, held until the block ends |
| shared memory | what it declares |

A *register* is a place for 4 bytes inside the SM. The compiler decides how many of them a thread gets.
All warps on an SM keep their registers all the time, so to go from one warp to another costs nothing.
That is the point: while one warp waits for memory, the SM runs another.

*Occupancy* is the number of warps on an SM divided by the most it can hold. What do four devices have room for?
"""

# %%
print("                compute capability  SMs  warps  blocks  registers  shared memory")
for name in ("T4", "A100 40GB", "RTX 3090", "H100 SXM"):
    gpu = device(name)
    has = gpu.limits
    major, minor = gpu.compute_capability
    print(f"{name:16}{f'{major}.{minor}':>18}{gpu.sms.value:5}{has.warps:7}{has.blocks:8}"
          f"{has.registers:11,}{has.shared // 1024:12} KB")  # fmt: skip

# %% [markdown]
r"""
The numbers belong to the *compute capability*, the version of the hardware. They are per SM, not for the whole device.

Take a kernel with blocks of 256 threads, 32 registers a thread, and no shared memory.
How many blocks fit on one SM of an A100? Work out the three limits that matter, then take the smallest.
"""

# %%
guess = "?"  # blocks on one SM

now = occupancy("A100", threads=256, registers=32)
print("guess:", guess, "  ", now)
print("each limit alone:", {name: count for name, count in now.allowed.items() if count <= 64})

# %% [markdown]
r"""
**8 blocks**. 256 threads are 8 warps, and 64 warps hold 8 such blocks.
256 * 32 = 8,192 registers a block, and 65,536 / 8,192 is 8 as well. So two limits *bind* at the same time.
The limit of 32 blocks is far away. Occupancy is 100 %.

Nsight Compute, NVIDIA's profiler, prints the same limits as `launch__occupancy_limit_warps`, `launch__occupancy_limit_registers`,
`launch__occupancy_limit_shared_mem` and `launch__occupancy_limit_blocks`.

## 2. Small print

Not every number is handed out one by one. NVIDIA's Best Practices Guide has this example [2]:
on a device of compute capability 7.0, a kernel with 37 registers and 128 threads reaches 75 %.
With 320 threads it is less. But 65,536 / (320 * 37) is 5.5, so 5 blocks of 10 warps should fit: 50 of 64 warps, 78 %.
What does the guide say for 320 threads?
"""

# %%
guess = "?"  # percent of occupancy with 320 threads

for threads in (128, 320):
    print(threads, "threads:", occupancy((7, 0), threads, registers=37))
print("guess:", guess)

# %% [markdown]
r"""
**62.5 %**, which the guide prints as 63 %. Only 4 blocks fit. Two rules explain it.

1. *Registers come in units of 256 for each warp.* 37 registers times 32 lanes are 1,184. The warp gets 1,280.
2. *The register file has four parts*, one for each of the four units in an SM that start instructions.
   A part has 16,384 registers, and a warp lies in one part.

Step by step:
"""

# %%
registers, threads = 37, 320
warps = (threads + 31) // 32
of_a_warp = (32 * registers + 255) // 256 * 256
in_a_part = 16384 // of_a_warp
print("registers of a warp:", of_a_warp)
print("warps in a part:    ", in_a_part, "  in four parts:", 4 * in_a_part)
print("blocks of", warps, "warps:", 4 * in_a_part // warps)

# %% [markdown]
r"""
48 warps find registers, and 48 // 10 is **4** blocks. 8 of the places for registers stay empty.

Now the extreme case. A block of 800 threads with 80 registers each needs 64,000 registers. The SM has 65,536.
Can this kernel be launched at all?
"""

# %%
guess = "?"  # blocks on one SM

print("guess:", guess, "   80 registers:", occupancy("A100", threads=800, registers=80))
print("              72 registers:", occupancy("A100", threads=800, registers=72))

# %% [markdown]
r"""
**0 blocks**. A warp takes 2,560 registers, so a part has room for 6 warps and the SM for 24.
The block has 25. On a GPU the launch fails with "too many resources requested for launch".
With 72 registers a part has room for 7 warps, and one block fits.

Shared memory has its own small print, since compute capability 8.0 [1]:

3. *Each block costs 1,024 bytes more than it declares*, for the system, and the sum is rounded up to 128 bytes.

A glossary on the web reckons with a kernel of 32 threads, 8 registers and 12 KB of shared memory a block.
It puts 19 blocks on one SM of an H100, which has 228 KB [3]. Is that right?
"""

# %%
guess = "?"  # blocks on one SM of an H100

print("228 // 12 =", 228 // 12)
print("guess:", guess, "  ", occupancy("H100", threads=32, registers=8, shared_bytes=12 * 1024))

# %% [markdown]
r"""
It is **17**. Each block takes 13 KB, and 228 // 13 is 17. The glossary forgot the reserve.
Small blocks pay for it most: a block of 32 threads pays as much as one of 1,024.

## 3. Turn the dials

Here is a kernel with 128 threads, 40 registers and 18 KB of shared memory, on an A100.
Before you turn anything: which limit binds? And can you reach 100 % by turning only one of the dials for the kernel?
"""

# %%
show_occupancy("A100", threads=128, registers=40, shared_bytes=18 * 1024)

# %% [markdown]
r"""
Shared memory binds at 8 blocks, 50 %. One dial is not enough: with less shared memory the number of blocks grows, but only to 12.
There the registers take over: 75 %. With fewer registers alone, nothing changes at all.
When one limit gives way, the next one binds. You have to know all four.

`what_would_change_it` looks for the nearest change of one number that lets more warps in.
"""

# %%
for threads, registers in ((128, 37), (320, 37), (1024, 33)):
    now = occupancy((7, 0), threads, registers)
    print(f"{threads} threads, {registers} registers: {now}")
    for sentence in what_would_change_it(now):
        print("   ", sentence)

# %% [markdown]
r"""
Look at the last one. A block of 1,024 threads with 33 registers fits once, not twice: one register too many costs half of all warps.
Large blocks are all or nothing. With smaller ones the loss is smaller.

## 4. How much is enough?

Occupancy is a means. The end is that the memory is never idle. How much work must be under way for that?

Think of a conveyor belt. It carries 1,555 parcels a second, and each parcel rides for some time.
The number of parcels on the belt is the rate times the ride. This is *Little's law*:

    in flight = throughput x latency

*Latency* is the time from a request until its data arrive. For an A100 with 40 GB of memory the throughput is 1,555 GB/s.
Measured latency of a load from memory: 466 cycles [4], at 1.41 GHz. How many bytes must be in flight on the whole device?
"""

# %%
guess = "?"  # KB in flight on the device

latency_ns = 466 / 1.41
total = 1555 * latency_ns  # GB/s times ns is bytes
print(f"latency: {latency_ns:.1f} ns")
print("guess:", guess, f"   in flight: {total / 1000:.0f} KB")
print(f"on each of 108 SMs: {total / 108:,.0f} bytes")

# %% [markdown]
r"""
**514 KB**, counted in thousands of bytes, or **4,759 bytes** on each SM.
A warp in which each lane waits for one float32 has 32 * 4 = 128 bytes in flight. How many warps does an SM need?
And on an H100, with 3,350 GB/s, 479 cycles [4] at 1.98 GHz, and 132 SMs?
"""

# %%
guesses = {"A100 40GB": "?", "H100": "?"}  # warps on each SM

on_a100 = in_flight("A100 40GB", bytes_per_lane=4, latency_cycles=466)
h100_total = 3350 * 479 / 1.98
print("guess:", guesses["A100 40GB"], f"   A100 40GB: {on_a100.warps_per_sm:.1f} warps")
print("guess:", guesses["H100"], f"   H100:      {h100_total / 132 / 128:.1f} warps")
print(f"H100 with loads of 16 bytes: {h100_total / 132 / 512:.1f} warps")

# %% [markdown]
r"""
About **37** of 64 warps on the A100, 58 %; about **48** on the H100, 75 %. More warps bring nothing: the belt is full.
If each lane loads 16 bytes at once, four times as many bytes wait in each warp, and **12** warps do.

So there are two ways to fill the belt: more warps, or more bytes in each warp.

Latency is not one fixed number. It depends on the part, on the clock and on how it was measured;
another source measures 550 cycles for an A100 [5]. With that figure 44 warps are needed. Reckon with a margin.

## 5. More loads in each thread

A thread stops when it *needs* a value, not when it asks for it. So it can ask for several values first.
These copies ask for 1, 2 and 4. The loads are independent: none needs the result of another.
This is called *instruction-level parallelism*, ILP.
"""


# %%
@cuda.jit
def copy_1(out, a):
    i = cuda.grid(1)
    out[i] = a[i]


@cuda.jit
def copy_2(out, a):
    i = cuda.grid(1)
    n = cuda.gridsize(1)
    v0 = a[i]
    v1 = a[i + n]
    out[i] = v0
    out[i + n] = v1


@cuda.jit
def copy_4(out, a):
    i = cuda.grid(1)
    n = cuda.gridsize(1)
    v0 = a[i]
    v1 = a[i + n]
    v2 = a[i + 2 * n]
    v3 = a[i + 3 * n]
    out[i] = v0
    out[i + n] = v1
    out[i + 2 * n] = v2
    out[i + 3 * n] = v3


n = 864 * 256 * 4  # 864 blocks of 256 threads, 4 elements a thread
a = np.random.default_rng(seed=10).random(n, dtype=np.float32)
out = np.zeros_like(a)
compare(
    {
        "1 load": (copy_1[3456, 256], out, a),
        "2 loads": (copy_2[1728, 256], out, a),
        "4 loads": (copy_4[864, 256], out, a),
    },
    device="A100 40GB",
)

# %% [markdown]
r"""
All three move the same sectors. The compiler gives the third kernel more registers, because four values wait in them at once.
Here this costs no warp yet: 30 registers are handed out as 32, and the occupancy stays at 100 %.

What does that mean for the belt? We count the loads of one warp with `profile`, a request for each.
The picture shows, for each kernel, the share of the full rate that Little's law allows.
Where does the line for 4 loads become flat?
"""

# %%
guess = "?"  # warps

warps = np.arange(0, 65)
fig, ax = plt.subplots(figsize=(6.5, 3.6))
for kernel, blocks, style in ((copy_1, 3456, "-"), (copy_2, 1728, "--"), (copy_4, 864, ":")):
    loads = profile(kernel[blocks, 256], out, a).loads.requests // (blocks * 8)  # 8 warps a block
    needed = in_flight("A100 40GB", 4, loads_per_warp=loads, latency_cycles=466).warps_per_sm
    ax.plot(warps, np.minimum(1, warps / needed), style, linewidth=2, label=kernel.__name__)
    print(f"{kernel.__name__}: {loads} loads a warp, {needed:.1f} warps to fill the belt")
ax.set(xlabel="warps on an SM", ylabel="share of full bandwidth", title="A100 40GB (modelled)")
ax.legend()
plt.show()
print("guess:", guess)

# %% [markdown]
r"""
At **9.3** warps, an occupancy of 15 %. The copy with one load needs 37.2.
So an occupancy of 50 % can be plenty, or too little. It depends on what each warp has under way.

One part of the answer to the question from the top: *50 % is bad only if the belt is not full.*
To see whether it is, compare the bandwidth that you reach with the bandwidth of the device.
Nsight Compute prints the warps that were really there, on average, as
`sm__warps_active.avg.pct_of_peak_sustained_active`: the *achieved* occupancy.

## 6. What Volkov found

Vasily Volkov's thesis studied this question in detail [6]. His model: a thread loads one value, then makes a number
of arithmetic instructions that depend on each other, then loads again. The rate of loads is limited by the first of these:

- the warps themselves: each has one load in every (latency of memory + arithmetic),
- the memory, the arithmetic units, and the number of instructions that an SM can start.

He gives for a GPU of the Maxwell generation: 368 cycles for a load, 6 cycles for an addition, and 4 additions of a warp a cycle.
The memory takes one load of a warp every 12.3 cycles, 30 / 368 a cycle.
How many warps does a kernel need that only adds? One that only loads?
"""

# %%
guesses = {"adds": "?", "loads": "?"}  # warps

print("guess:", guesses["adds"], f"   only adds:  {6 * 4} warps")
print("guess:", guesses["loads"], f"   only loads: {368 * 30 / 368:.0f} warps")

for n in (10, 20, 30, 40, 54, 64):
    row = [throughput(n, adds, 368, 6, 30 / 368, 4) for adds in (0, 10, 49, 200)]
    best = [throughput(10**6, adds, 368, 6, 30 / 368, 4) for adds in (0, 10, 49, 200)]
    print(f"{n:3} warps:", *(f"{100 * rate / most:4.0f} %" for rate, most in zip(row, best)))
print("adds a load:   0     10     49    200")

# %% [markdown]
r"""
**24** and **30** warps: again latency times throughput, for each unit.
The worst case lies between: with 49 adds for each load, memory and arithmetic are both busy all the time, and the model asks for **54** warps.
A real GPU is not as smooth as the model. Volkov measured about 80 % of the peak where the model has 100 %;
for 90 % he needed 40 warps, for 95 % 46 [6].

One more of his results is a surprise. Loads from random addresses wait longer, 534 cycles. Do they need more warps?
No: his model asks for only **3** warps [6]. Such loads move whole sectors for single values,
so the belt is full with few of them. A badly coalesced kernel does not become better with more occupancy.

## 7. The price of fewer registers

If registers bind, you can order the compiler to use fewer: `@cuda.jit(max_registers=32)`.
This kernel keeps 32 values in each thread. With 32 values in flight it needs more than 40 registers. What happens to values that find no place?
Without a limit, how many warps of it fit on an SM of an A100? And with a limit of 32?
"""


# %%
@cuda.jit
def keep_32(out, a, rounds):
    i = cuda.grid(1)
    n = cuda.gridsize(1)
    value = cuda.local.array(32, np.float32)
    for k in range(32):
        value[k] = a[i + k * n]
    for _ in range(rounds):
        for k in range(32):
            value[k] = value[k] * value[(k + 1) % 32] + value[(k + 7) % 32]
    total = np.float32(0)
    for k in range(32):
        total += value[k]
    out[i] = total


guesses = {None: "?", 32: "?"}  # warps on an SM, blocks of 256 threads

sums = np.zeros(2048, np.float32)
try:
    for limit in (None, 40, 32, 24):
        code = compile_kernel(keep_32, (sums, a, 3), "sm_80", max_registers=limit)
        now = occupancy("A100", 256, code.registers)
        print(f"limit {limit}: {code.registers} registers,", code.spills, "bytes spilled,", now)
except CompilerMissingError as error:  # no compiler for GPUs on this computer
    print(error)
print("guesses:", guesses)

# %% [markdown]
r"""
Values without a register are *spilled*: stored to local memory, which is a part of the device's memory, and loaded again when they are needed.
Freely compiled the kernel takes 48 registers: **40** warps. A limit of 40 costs 24 bytes a thread, and brings 48 warps. That may pay.
A limit of 32 costs 544 bytes a thread, and brings the full **64** warps. They spend their time on traffic that the kernel did not have before.
A limit of 24 costs even more, and brings no warp at all.
Spills are loads and stores like any others, so count them before you call it a gain.

Nsight Compute prints the registers as `launch__registers_per_thread`.
The numbers come from the compiler, here `ptxas` as installed with the course. Another version may give a few more or fewer.

## 8. Waves and the tail

One SM holds a few blocks, the device holds that times its SMs. Such a round of blocks is called a *wave*.
An H100 has 132 SMs. With 8 blocks on each, a wave has 1,056 blocks.
We launch 1,056 blocks, and then one more. All blocks take the same time. How much longer does the second launch take?
"""

# %%
guess = "?"  # how many times as long

now = occupancy("H100", threads=256, registers=32)
for grid in (1056, 1057):
    print(f"{grid} blocks: {now.waves(grid, 132):.4f} waves, "
          f"{100 * now.tail_efficiency(grid, 132):.2f} % of the places used")  # fmt: skip
print("guess:", guess)

grids = np.arange(100, 8 * 1056)
used = [100 * now.tail_efficiency(int(grid), 132) for grid in grids]
fig, ax = plt.subplots(figsize=(6.5, 3))
ax.plot(grids, used, linewidth=2)
ax.set(xlabel="blocks", ylabel="places used, %", ylim=(0, 105))
ax.set(title="H100, 8 blocks an SM (modelled)")
plt.show()

# %% [markdown]
r"""
**Twice** as long: the last block needs a wave of its own, and only 50.05 % of the places are used.
This is the *tail*. In the picture it hurts small grids; with many waves it fades.
When blocks take different times the steps become soft, but the rule stays: a few waves and a bit are a bad size.

A smaller block, or a grid-stride loop with exactly one wave of blocks, avoids it.

## 9. Put it together

`explain` says all of this about one launch, here of `copy_4` with 64 blocks.
Find the occupancy, what limits it, and the last line, about the wave.
"""

# %%
explain(copy_4[64, 256], out, a, device="A100 40GB")

# %% [markdown]
r"""
The occupancy is 100 %, and still this launch does not fill the device: 64 blocks do not even give one to each of the 108 SMs,
and 7 % of the places of a wave are used.
Occupancy says how many warps *could* be on an SM. A grid that is too small never brings them there.

So ask in this order:

1. Are there enough blocks for all SMs, and is the last wave well filled?
2. How many bytes must be in flight on an SM, and how many does one warp have?
3. How many warps does that make? Only if fewer fit, ask which limit binds.
4. Change that limit, or give each thread more independent loads. Look at the spills.

## What to remember

- An SM holds blocks until warps, places, registers or shared memory run out. The smallest limit binds.
- Registers: units of 256 a warp, from four parts. Shared memory: 1,024 bytes more a block since 8.0, units of 128.
- Bytes in flight = bandwidth x latency. On an A100 with 40 GB: 514 KB, 37 warps of 128 bytes on each SM.
- More bytes in each warp do as well as more warps. 100 % is not the goal.
- Forcing registers down spills. Count what it costs.
- One block more than a full wave costs a whole wave.

**Next:** the lab, `t1_10_occupancy_lab`, in your folder `mine/t1_kernels/`.

## Sources

1. NVIDIA, CUDA C++ Programming Guide, "Technical Specifications per Compute Capability" and the sections on each of them.
   <https://docs.nvidia.com/cuda/cuda-c-programming-guide/>
   The rules of sections 1 and 2 agree with the calculator in `cuda_occupancy.h` of the CUDA toolkit.
2. NVIDIA, CUDA C++ Best Practices Guide, "Calculating Occupancy".
   <https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/>
3. Modal, GPU Glossary, article on occupancy, as quoted. <https://modal.com/gpu-glossary>
4. W. Luo and others, "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture", arXiv 2402.13499, table IV:
   466.3 cycles on an A100 PCIe, 478.8 on an H800 PCIe, as quoted by a public teaching site. We use the latter for the H100.
5. M. Dewing, AI_kernels, `latency/README.md`: chains of dependent loads, clocks not locked.
6. V. Volkov, "Understanding Latency Hiding on GPUs", PhD thesis, University of California, Berkeley, 2016, chapter 4.
"""
