# %% [markdown]
r"""
# Reduction: six ways to a sum

**You have a million numbers and want their sum. A sum is one number: what is there to do for thousands of threads?**

At the end of this lesson you can

- add up the values of a block as a tree, in three ways that give the same kind of tree and cost very different amounts,
- see which threads are idle in which round, and count barriers, bank conflicts and issue slots before you trust a version,
- do the last rounds inside a warp without barriers, and say why the old trick for it is wrong today,
- say in which order a kernel adds, and get the same bits from NumPy,
- judge what rounding does to a sum, and what a float64 accumulator costs.

You need the lessons `t1_03_warps` and `t1_05_shared_memory`, and about 45 minutes. You do not need a GPU.

A *reduction* turns many values into one: a sum, a maximum, a count. Our example is the sum, the rest works alike.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from warpwise import compare, cuda, profile, sanitize
from warpwise.compiler import compile_kernel
from warpwise.hardware import device
from warpwise.show import show_rounds, table
from warpwise.simt import run

# %% [markdown]
r"""
## 1. One after another, or in rounds

The sum of eight numbers takes seven additions, whoever makes them.
A loop makes them one after another: each waits for the one before.
Eight people would do it in rounds. In the first, four of them add a pair each. In the second, two add two of those sums, and in the third, one adds the rest.
This is a *tree*: still seven additions, but only three rounds.

How many rounds do 256 numbers take? And 1,048,576?
"""

# %%
guesses = {8: 3, 256: "?", 1_048_576: "?"}  # rounds

for count in guesses:
    rounds, left = 0, count
    while left > 1:
        left //= 2
        rounds += 1
    print(
        f"{count:>9,} numbers: {count - 1:>9,} additions, {rounds:2} rounds   guess: {guesses[count]}"
    )


@cuda.jit
def sum_1(partial, x, n):
    s = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < n else np.float32(0)
    cuda.syncthreads()
    stride = 1
    while stride < cuda.blockDim.x:
        if t % (2 * stride) == 0:
            s[t] += s[t + stride]
        cuda.syncthreads()
        stride *= 2
    if t == 0:
        partial[cuda.blockIdx.x] = s[0]


small = np.arange(16, dtype=np.float32)
one = np.zeros(1, np.float32)
show_rounds(sum_1[1, 16], one, small, 16, array="s")

# %% [markdown]
r"""
**8** and **20** rounds. Each round halves what is left, so there are log2(n) of them.

The threads of a block can play this game in shared memory. In each round they read what other threads wrote in the round before.
So between two rounds there must be a barrier.

## 2. Version 1: neighbours first

This is `sum_1`. Each block of 256 threads sums 256 elements and stores its *partial sum*. Later we add up the partial sums.
In the first round, every second thread adds its right neighbour. In the next, every fourth thread adds the one two places away, and so on: the `stride` doubles.
A thread without an element takes part with a zero.

A column is a thread, a row is what happens between two barriers.
`>3` in round 0 means that the thread stored element 3. `0+1` means that it read both and stored their sum.
Empty cells are idle threads. The last row is thread 0 fetching the result.

Notice the barrier: it stands outside of the `if`, because all threads must reach it, also the idle ones.

Now a block of 64 threads: two warps. In round 3 the stride is 4. How many threads work, and in how many warps?
"""

# %%
guess = "?"  # threads, warps

x64 = np.arange(64, dtype=np.float32)
picture = show_rounds(sum_1[1, 64], one, x64, 64, array="s")
print("guess:", guess, "   round 3:", picture.busy(picture.rounds[3]))
picture

# %% [markdown]
r"""
**8 threads, in both warps.** Only one lane in eight has something to do, but a warp with one busy lane takes as long as a full one.
That is the divergence of lesson `t1_03_warps`, in its worst form: the busy threads are spread as thinly as possible.

We count on a larger input: 65,536 numbers, that is 256 blocks.
`count` below prints what a version costs:

- the barriers of each block,
- bank conflicts: turns that requests to shared memory had to wait (section 3 explains them),
- divergent branches: a warp takes both sides of an `if`,
- issue slots: instructions, each warp counted, in all and for each 32 numbers. A scheduler has to get through them,
- lanes at work: how many of the 32 lanes are active in an issued instruction, in the mean.

How many barriers will a block of 256 threads meet?
"""

# %%
guess = "?"  # barriers of one block

n = 65_536
x = np.random.default_rng(seed=7).random(n, dtype=np.float32)
reports = {}


def count(kernel, blocks):
    """Profiles one version on x, with blocks of 256 threads, and prints a line."""
    partial = np.zeros(blocks, np.float32)
    report = reports[kernel.__name__] = profile(kernel[blocks, 256], partial, x, n)
    print(
        f"{kernel.__name__}: barriers a block: {report.barriers // blocks}, "
        f"bank conflicts: {report.shared.bank_conflicts:,}, "
        f"divergent branches: {report.branches.divergent:,}\n"
        f"       issue slots: {report.work.slots:,}, "
        f"for each 32 numbers: {32 * report.work.slots / n:.1f}, "
        f"lanes at work: {report.lane_efficiency:.1%}"
    )
    return partial


partial_1 = count(sum_1, 256)
print("guess:", guess)
print(f"sum of the partial sums: {partial_1.sum():.1f}   NumPy: {x.sum():.1f}")

# %% [markdown]
r"""
**9** barriers: one after filling, one after each of the 8 rounds. There are no conflicts, but 171,264 issue slots.
To add 32 numbers, a warp could do with a handful of instructions; here it issues **83.6**.

## 3. Version 2: the same tree, other threads

Nothing says that thread 6 must make the addition `s[6] += s[7]`. Thread 3 can do it as well.
If thread `t` takes the `t`-th addition of the round, the busy threads stand together.
The additions are the same, so the tree is the same. What do you expect: fewer issue slots? Anything that gets worse?
"""

# %%
guess = "?"  # better: ...  worse: ...


@cuda.jit
def sum_2(partial, x, n):
    s = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < n else np.float32(0)
    cuda.syncthreads()
    stride = 1
    while stride < cuda.blockDim.x:
        j = 2 * stride * t
        if j < cuda.blockDim.x:
            s[j] += s[j + stride]
        cuda.syncthreads()
        stride *= 2
    if t == 0:
        partial[cuda.blockIdx.x] = s[0]


partial_2 = count(sum_2, 256)
print("guess:", guess)

# %% [markdown]
r"""
Issue slots and divergent branches fell, and **26,880 bank conflicts** appeared.

Shared memory has 32 banks, and word `w` lies in bank `w % 32`.
When lanes of one warp want different words of the same bank, the request takes one turn after another.
In the first round lane `t` reads word `2 * t`. Lanes 0 and 16 want words 0 and 32, both in bank 0: two turns instead of one.
Later rounds are worse. We can work it out. An addition is two reads and one write, each with the same pattern.
How many turns does a request take in the round with stride 8?
"""

# %%
guess = "?"  # turns of a request, stride 8

total = 0
for stride in (1, 2, 4, 8, 16, 32, 64, 128):
    busy = 128 // stride  # threads that add
    warps = (busy + 31) // 32
    banks = [2 * stride * lane % 32 for lane in range(min(busy, 32))]
    turns = max(banks.count(bank) for bank in banks)
    total += 3 * warps * (turns - 1)
    print(f"stride {stride:3}: {busy:3} threads in {warps} warps, {turns} turns a request")
print("guess:", guess)
print(f"waiting turns of a block: {total}   of 256 blocks: {256 * total:,}")

# %% [markdown]
r"""
**8** turns: 16 lanes want words 16 apart, which lie in two banks only. And the sum agrees with the count to the last conflict.

## 4. Version 3: halves

Let us get rid of the conflicts. They come from the gaps between the words: 2, 4, 8, ...
If the busy threads `0, 1, 2, ...` read words `0, 1, 2, ...`, every lane has a bank of its own.
So we start with the largest stride: thread `t` adds the element half a block away. Then the stride halves.
This is *sequential addressing*.

In which round has the second warp nothing left to add? And how many of the turns are idle at all?
In a block of 256 threads there are 8 rounds, so 8 * 256 turns, and 255 additions.
The slider shows the other two versions for comparison.
"""

# %%
guesses = "?", "?"  # round; share of the turns in which a thread has nothing to add


@cuda.jit
def sum_3(partial, x, n):
    s = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < n else np.float32(0)
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if t < stride:
            s[t] += s[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = s[0]


partial_3 = count(sum_3, 256)
idle = 8 * 256 - 255
print("guesses:", *guesses, f"   {idle:,} of {8 * 256:,} turns are idle: {idle / (8 * 256):.0%}")
versions = {"version 3": sum_3[1, 64], "version 2": sum_2[1, 64], "version 1": sum_1[1, 64]}
show_rounds(versions, one, x64, 64, array="s")

# %% [markdown]
r"""
In **round 1**, the first one, all 32 additions are in the first warp.
There are no conflicts, and we save another quarter of the issue slots: 95,744. Version 2 spent most of them on `2 * stride * t`.

The number of busy threads is the same in all three versions: 32, 16, 8, 4, 2, 1.
What differs is *where* they are. An idle lane in a busy warp costs a slot; a warp that is idle as a whole costs much less: it only tests the condition and waits.

Of the turns **88%** are idle. No arrangement of the tree changes that. The next versions change how much of the work is tree.

Why, then, does `count` say that 94.1% of the lanes are at work? An idle warp still issues a few instructions, with all its lanes: test, barrier, next stride.
The number tells how full the issued instructions are, not whether they were of use.

## 5. Version 4: add before you store

Half of the threads of version 3 never add anything. They load one element, and that was it.
Give each thread two elements: it adds them while loading, and the tree begins with sums.
We need half as many blocks. What happens to the issue slots?
"""

# %%
guess = "?"  # issue slots: divided by ...


@cuda.jit
def sum_4(partial, x, n):
    s = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * 2 * cuda.blockDim.x + t
    v = x[i] if i < n else np.float32(0)
    if i + cuda.blockDim.x < n:
        v += x[i + cuda.blockDim.x]
    s[t] = v
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if t < stride:
            s[t] += s[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t == 0:
        partial[cuda.blockIdx.x] = s[0]


partial_4 = count(sum_4, 128)
ratio = reports["sum_3"].work.slots / reports["sum_4"].work.slots
print("guess:", guess, f"   divided by {ratio:.2f}")

# %% [markdown]
r"""
**1.71**: half as many blocks, each with a little more to load. The same 9 barriers, but for twice as many elements.

## 6. Version 5: the last warp

When the stride is 32 or less, the first warp works alone. Seven other warps come to each barrier, only to wait.
So end the loop earlier, and let the first warp finish by itself.

The classic slides on this subject, written in 2007, do that in shared memory without any barrier [1].
Their argument: the lanes of a warp run in step anyway. Will the values be right? And will the sanitizer be content?
"""

# %%
guess = "?"  # values right: ...  findings: ...


@cuda.jit
def sum_old(partial, x, n):
    s = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < n else np.float32(0)
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride > 32:
        if t < stride:
            s[t] += s[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t < 32:  # no barrier from here on
        s[t] += s[t + 32]
        s[t] += s[t + 16]
        s[t] += s[t + 8]
        s[t] += s[t + 4]
        s[t] += s[t + 2]
        s[t] += s[t + 1]
    if t == 0:
        partial[cuda.blockIdx.x] = s[0]


partial_old = count(sum_old, 256)
print("same bits as version 3:", np.array_equal(partial_old, partial_3))

findings = sanitize(sum_old[256, 256], partial_old, x, n)
print("guess:", guess, f"   findings: {len(findings)}; the first of them:")
print(findings[0])

# %% [markdown]
r"""
The values are right, to the bit, with three barriers. And the sanitizer objects: lane 0 reads `s[16]`, which lane 16 wrote one line before, and *nothing orders them*.
In 2007 that was how the hardware worked. Since compute capability 7.0 (Volta) each thread has a program counter of its own, and the lanes of a warp need not run in step.
NVIDIA's guide says since then that such code is no longer valid [2].
It may give right sums for years, and then not. A check by values does not see that.

There are two cures. `cuda.syncwarp()` between each read and each write is a barrier for one warp only.
Better is the shuffle, which you know from `t1_03_warps`: `cuda.shfl_down_sync(mask, v, d)` gives each lane the `v` of the lane `d` places above it.
The values go from register to register, so there is no memory to quarrel about.

How many barriers will remain?
"""

# %%
guess = "?"  # barriers a block


@cuda.jit
def sum_5(partial, x, n):
    s = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    i = cuda.blockIdx.x * 2 * cuda.blockDim.x + t
    v = x[i] if i < n else np.float32(0)
    if i + cuda.blockDim.x < n:
        v += x[i + cuda.blockDim.x]
    s[t] = v
    cuda.syncthreads()
    stride = cuda.blockDim.x // 2
    while stride >= 32:
        if t < stride:
            s[t] += s[t + stride]
        cuda.syncthreads()
        stride //= 2
    if t < 32:
        v = s[t]
        for step in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        if t == 0:
            partial[cuda.blockIdx.x] = v


partial_5 = count(sum_5, 128)
print("guess:", guess)
print("findings:", sanitize(sum_5[128, 256], partial_5, x, n))

# %% [markdown]
r"""
**4**: after filling, and after the strides 128, 64 and 32. No finding.

All 32 lanes take part in each shuffle, though only the lower ones matter. The mask `0xFFFFFFFF` promises that all 32 come.
That is why the condition around it is `t < 32`, a whole warp, and not `t < step`.
After the last shuffle only lane 0 has the sum; the other lanes hold partial sums that nobody needs.

## 7. Version 6: few blocks, many elements

Why only two elements a thread? With a grid-stride loop a thread can add as many as we like, in a register: no barrier, no idle lane.
The tree comes once at the end, and it no longer matters much what it costs.
It too can be made of shuffles: each warp sums its 32 values, lane 0 of each warp stores the result, and the first warp sums those.
So shared memory holds 32 values, and there is one barrier.

We launch 32 blocks for the 65,536 numbers: 8 elements a thread. What happens to the issue slots, compared with version 5?
"""

# %%
guess = "?"  # issue slots: divided by ...


@cuda.jit
def sum_6(partial, x, n):
    sums = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    v = np.float32(0)
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        v += x[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if t % 32 == 0:
        sums[t // 32] = v
    cuda.syncthreads()
    if t < 32:
        v = sums[t] if t < cuda.blockDim.x // 32 else np.float32(0)
        for step in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        if t == 0:
            partial[cuda.blockIdx.x] = v


partial_6 = count(sum_6, 32)
ratio = reports["sum_5"].work.slots / reports["sum_6"].work.slots
print("guess:", guess, f"   divided by {ratio:.2f}")

total = np.zeros(1, np.float32)
sum_6[1, 32](total, partial_6, 32)
print(f"after the second launch: {total[0]:.1f}   NumPy: {x.sum():.1f}")

# %% [markdown]
r"""
**3.9**, the largest step of all: **4.2** issue slots for each 32 numbers, where version 1 took 83.6.
And it is short: one loop, five shuffles, one barrier, five shuffles.

The 32 partial sums are added by the same kernel, in a second launch with a single block.
The end of the first launch is the barrier between blocks that a kernel does not have.

## 8. The ladder

`compare` puts all six side by side, on 2^22 numbers. The counters come from the simulator, the registers from the real compiler.
The time is a modelled range for an A100, from perfect caches to none, and "bound by" is the part of the GPU that is busy longest. Nothing here is measured.
Version 6 gets 864 blocks: 8 for each of the 108 multiprocessors of an A100, as many as it can hold at once.

Before you run it: which number will be the same for all of them, within a few percent?
"""

# %%
guess = "?"  # the column that hardly changes

big = np.random.default_rng(seed=8).random(2**22, dtype=np.float32)
grids = {sum_1: 2**14, sum_2: 2**14, sum_3: 2**14, sum_4: 2**13, sum_5: 2**13, sum_6: 864}
ladder = {
    kernel.__name__: (kernel[blocks, 256], np.zeros(blocks, np.float32), big, big.size)
    for kernel, blocks in grids.items()
}
print("guess:", guess)
compare(ladder, device="A100")

# %% [markdown]
r"""
The **sectors**, pieces of 32 bytes: every version reads each number once. The rest are the partial sums.
So all of them move the same bytes, and only the work around it differs.
Versions 1 and 2 are bound by load/store, here their accesses to shared memory: version 1 has many of them, version 2 waits for its turns at the banks.
From version 3 on it is DRAM, the GPU's memory: a sum cannot be faster than reading its input.
The picture says it once more, as a *roofline*: the slanted roof is the DRAM, and a version's line goes from no cache to a perfect one. `t1_11_roofline` explains it.

Nsight Compute counts the same things on a GPU, under names of its own:

| here | in Nsight Compute |
|---|---|
| issue slots | `smsp__inst_executed.sum` |
| lanes at work | `smsp__thread_inst_executed_per_inst_executed.ratio`, divided by 32 |
| divergent branches | `smsp__sass_branch_targets_threads_divergent.sum` |
| sectors loaded | `l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum` |
| bank conflicts of loads | `l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum` |

Where do these versions come from? Mark Harris's slides of 2007 climb the same ladder in seven steps, on a GPU of that time, also with 2^22 numbers [1].
They print a time and a bandwidth for each. Do the two agree? And is the order the same as ours?
"""

# %%
guess = "?"  # same order as ours: yes or no

harris = [  # what changed, milliseconds, GB/s as printed
    ("neighbours first, with %", 8.054, 2.083),
    ("neighbours first, threads together", 3.456, 4.854),
    ("sequential addressing", 1.722, 9.741),
    ("first add while loading", 0.965, 17.377),
    ("last warp unrolled", 0.536, 31.289),
    ("all rounds unrolled", 0.381, 43.996),
    ("many elements a thread", 0.268, 62.671),
]
rows = []
for what, ms, printed in harris:
    reckoned = 2**22 * 4 / (ms / 1000) / 1e9  # bytes read, over the time
    rows.append((what, f"{ms}", f"{printed}", f"{reckoned:.3f}", f"{8.054 / ms:.2f}"))
print("guess:", guess, f"   last step: {62.671 / 86.4:.1%} of the 86.4 GB/s of his GPU")
table(
    ("step", "ms", "GB/s printed", "4 * 2^22 bytes / ms", "times faster"),
    rows,
    "measured by Harris on a G80, 2007",
)

# %% [markdown]
r"""
Yes: each step of his is faster, and each of ours takes fewer issue slots.
The bandwidths follow from the times, up to the rounding of the times.
His sixth step unrolled the loop by hand; with shuffles there is no loop in shared memory left to unroll.

## 9. In which order?

With real numbers, (a + b) + c is a + (b + c). With floats it is not, because each addition rounds.
So a sum on a GPU is only defined together with its order. What is ours?

- Versions 1 and 2 add neighbours: (a + b) + (c + d).
- Version 3 adds halves: (a + c) + (b + d).

In NumPy both are two lines, for all 256 blocks at once. float32 plus float32 rounds there exactly as on a GPU.
Which of the three versions agree bit by bit? Remember that 1 and 2 have different threads.
"""

# %%
guesses = {"1 and 2": "?", "1 and 3": "?"}  # same bits?


def neighbours(rows):
    """(blocks, 2^k) float32 -> (blocks,), neighbours first."""
    while rows.shape[1] > 1:
        rows = rows[:, 0::2] + rows[:, 1::2]
    return rows[:, 0]


def halves(rows):
    """(blocks, 2^k) float32 -> (blocks,), halves first."""
    while rows.shape[1] > 1:
        half = rows.shape[1] // 2
        rows = rows[:, :half] + rows[:, half:]
    return rows[:, 0]


blocks = x.reshape(256, 256)
print("version 1 = neighbours:", np.array_equal(partial_1, neighbours(blocks)))
print("version 2 = neighbours:", np.array_equal(partial_2, neighbours(blocks)))
print("version 3 = halves:    ", np.array_equal(partial_3, halves(blocks)))

threads = 32 * 256
running = np.zeros(threads, np.float32)
for turn in x.reshape(-1, threads):  # 8 turns of the grid-stride loop
    running = running + turn
warps = halves(running.reshape(-1, 32)).reshape(32, 8)
print("version 6 = its order: ", np.array_equal(partial_6, halves(warps)))

print("guesses:", guesses)
units = np.abs(partial_1.view(np.int32) - partial_3.view(np.int32))
print(f"1 and 3 differ in {np.count_nonzero(units)} of 256 blocks, by at most {units.max()} units")

# %% [markdown]
r"""
Versions 1 and 2 have the same bits: who adds does not matter, only what is added to what. Versions 1 and 3 differ in **87** of 256 blocks, by one or two units in the last place.

Neither is wrong. But if a test compares a GPU sum with `np.sum` by `==`, it fails for no good reason; `np.sum` has an order of its own.
Either allow for rounding, or state the order and demand the bits. In the lab we do the second: a missing element or a wrong tree cannot hide behind a tolerance.

Version 6 has a stated order too, as the fourth line shows: each thread adds from the left, each warp by halves, then the warps by halves.

## 10. One atomic instead

Why not let each warp add its sum to the total with one atomic addition? There is no barrier, no shared memory, no second launch.
`cuda.atomic.add(total, 0, v)` adds `v` to `total[0]` in one piece, whatever other threads do. `t1_09_atomics` says more.

We run it three times with the same numbers. The simulator can run the warps in different orders, as a GPU may; `seed` chooses one.
Same bits three times?
"""

# %%
guess = "?"  # yes or no


@cuda.jit
def sum_atomic(total, x, n):
    v = np.float32(0)
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        v += x[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if cuda.threadIdx.x % 32 == 0:
        cuda.atomic.add(total, 0, v)


for seed in (1, 2, 3):
    total = np.zeros(1, np.float32)
    run(sum_atomic, 32, 256, [total, x, n], order="warp-serial", seed=seed)
    print(f"seed {seed}: {total[0]:.6f}   bits {total.view(np.uint32)[0]:#x}")
print("guess:", guess)

# %% [markdown]
r"""
No. Each sum is right up to rounding, but the order of the atomics is nobody's promise, so two runs of the same program may differ.
If you must be able to repeat a result, use two launches. If not, the atomic is simple and, with one for each warp or block, cheap.

## 11. How wrong is a long sum?

An addition in float32 rounds to 24 binary digits: an error of up to 2^-24, or 6e-8, of the result.
A running sum of a million values makes a million such errors, in a total that gets larger and larger.
In a tree each value passes through only 20 additions.
How much better is the tree for 2^20 random values? `np.cumsum` on float32 adds from left to right, so it is our running sum.
"""

# %%
guess = "?"  # error of the running sum over error of the tree

sizes = 2 ** np.arange(4, 21, 2)
errors = {"running sum": [], "tree": []}
for size in sizes:
    part = big[:size]
    true = part.sum(dtype=np.float64)
    errors["running sum"].append(abs(np.cumsum(part)[-1] - true) / true)
    errors["tree"].append(abs(halves(part.reshape(1, -1))[0] - true) / true)

for name, found in errors.items():
    print(f"{name:11}: relative error {found[-1]:.1e} for 2^20 values")
print(
    "guess:", guess, f"   about {errors['running sum'][-1] / errors['tree'][-1]:,.0f} times better"
)

total = np.float32(2**24)
print(f"{total:,.0f} + 1 = {total + np.float32(1):,.0f}")

fig, ax = plt.subplots(figsize=(6, 3.6))
for (name, found), marker in zip(errors.items(), "os"):
    ax.loglog(sizes, np.maximum(found, 1e-9), marker=marker, label=name, base=2)
ax.axhline(2**-24, color="gray", linestyle=":", label="one rounding, 2^-24")
ax.set_yscale("log", base=10)
ax.set(xlabel="values added", ylabel="relative error")
ax.legend()
plt.show()

# %% [markdown]
r"""
The error of the running sum grows with the number of values. The tree stays near a single rounding.
The theory says the same: at most about n roundings against log2(n) [3].
So the tree is not only the faster order but the more accurate one. Version 6 lies between: short running sums, then a tree.

A running sum can even stand still, as the last line shows: 2^24 + 1 is 2^24.
With 24 digits the next number is 2 away, so adding 1 changes nothing, however often you do it.

## 12. Then why not float64?

A float64 accumulator has 53 digits, and the rounding is gone. What does it cost?
We change version 6 in two places: the variable starts as `0.0`, a float64 in Numba, and the shared array is float64.
Will the number of issue slots change? The number of instructions that the compiler writes?
"""

# %%
guess = "?"  # issue slots: ...   shuffles in the compiled code: ...


@cuda.jit
def sum_64(partial, x, n):
    sums = cuda.shared.array(32, np.float64)
    t = cuda.threadIdx.x
    v = 0.0
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        v += x[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if t % 32 == 0:
        sums[t // 32] = v
    cuda.syncthreads()
    if t < 32:
        v = sums[t] if t < cuda.blockDim.x // 32 else 0.0
        for step in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        if t == 0:
            partial[cuda.blockIdx.x] = v


print("guess:", guess)
for kernel, dtype in ((sum_6, np.float32), (sum_64, np.float64)):
    partial = np.zeros(256, dtype)
    report = profile(kernel[256, 256], partial, big, big.size)
    compiled = compile_kernel(kernel, [partial, big, big.size], "sm_80")
    print(
        f"{kernel.__name__}: {report.work.slots:,} issue slots counted, "
        f"{str(compiled.sass).count('SHFL')} shuffles and {compiled.float64} float64 instructions compiled, "
        f"{compiled.shared_bytes} bytes shared"
    )

# %% [markdown]
r"""
The simulator counts the steps of the Python source, so it sees no difference. The real compiler does:
a shuffle moves 32 bits, so a float64 takes **two**, each `x[i]` must be converted, and the shared array is twice as large.

A GPU also has fewer units for float64. Does that matter for a sum, which mostly waits for memory?
We compare two times for each number: reading its 4 bytes, and adding it in float64.
A peak rate counts a fused multiply-add as two operations, so there are half as many additions as the peak says.
"""

# %%
guess = "?"  # on which of the three is the addition slower than half the time of reading?

print("guess:", guess)
for name in ("T4", "RTX 4090", "A100"):
    gpu = device(name)
    read_ps = 4 / gpu.dram_gbs.value * 1000  # picoseconds
    add_ps = 1 / (gpu.peak("fp64") / 2)
    print(
        f"{name:8}: {read_ps:5.2f} ps to read a number, {add_ps:4.2f} ps to add it in float64: "
        f"{add_ps / read_ps:.0%}   (modelled)"
    )

# %% [markdown]
r"""
Only on the **T4**. But the conversion comes on top: it has at most as many results a clock as the addition [4].
Both together take a T4 longer than the reading, so there the float64 sum is slower. An A100 does not notice.

So: float64 where you need it, on purpose, and where you have looked. Often the tree is enough.

## 13. Not only sums

What is true of the sum is true of every *associative* operation: maximum, minimum, product, count.
Three things change: the operation, its *neutral element*, which a thread without a value brings along, and the order, which for a maximum does not matter.
Ten numbers below zero, one warp. What is the maximum if the idle lanes bring a zero, as in a sum?
"""

# %%
guess = "?"  # the maximum


@cuda.jit
def warp_max(out, x, n, neutral):
    t = cuda.threadIdx.x
    v = x[t] if t < n else neutral
    for step in (16, 8, 4, 2, 1):
        v = max(v, cuda.shfl_down_sync(0xFFFFFFFF, v, step))
    if t == 0:
        out[0] = v


below = np.arange(-10, 0, dtype=np.float32)  # -10, ..., -1
for neutral in (np.float32(0), np.float32(-np.inf)):
    warp_max[1, 32](one, below, below.size, neutral)
    print(f"idle lanes bring {neutral}: maximum {one[0]}")
print("guess:", guess)

# %% [markdown]
r"""
It is **0**, which is not among the numbers. The neutral element of a maximum is minus infinity: it loses against every value.

The values may also be pairs, such as a value and its index. Then each part travels by its own shuffle, and the operation chooses one of two pairs.

## What to remember

- A sum of n values is a tree of log2(n) rounds, with a barrier between rounds. Most turns of a tree are idle.
- Put the busy threads together, so that whole warps retire: `t < stride`, not `t % stride`. Put the words together, so that no bank is asked twice: start with the largest stride.
- Do as little as possible in the tree: first a grid-stride loop in a register, then shuffles, one barrier, shuffles again.
- Lanes of a warp do not run in step by law. Without shuffles they need `cuda.syncwarp()`, and only the sanitizer notices when it is missing.
- A sum has an order. Say which, and you can demand the bits. Atomics have none.
- A tree rounds about log2(n) times, a running sum n times. float64 costs two shuffles, a conversion and slower units.
- Maximum, minimum, count or the choice between pairs work alike. Change the operation, and the neutral element with it.

**Next:** the lab, `t1_07_reduction_lab`, in your folder `mine/t1_kernels/`.

## Sources

1. M. Harris, "Optimizing Parallel Reduction in CUDA", NVIDIA, 2007: the seven steps, their times and bandwidths, the peak of 86.4 GB/s, and the last warp without barriers.
2. NVIDIA, *CUDA C++ Programming Guide*, independent thread scheduling, compute capability 7.x: code that relies on the lanes of a warp running in step must be changed.
3. N. J. Higham, "The Accuracy of Floating Point Summation", SIAM Journal on Scientific Computing 14(4), 1993.
4. NVIDIA, *CUDA C++ Programming Guide*, throughput of native arithmetic instructions: 64-bit additions, and type conversions from and to 64-bit types.

Rates of the devices: the table in `warpwise.hardware`, with a source for each number.
"""
