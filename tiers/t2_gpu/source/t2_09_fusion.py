# %% [markdown]
r"""
# Fusion: the same numbers, fewer bytes

**A softmax reads a matrix and writes a matrix. Written line by line it moves eight. Which six are wasted, and how do you get rid of them?**

At the end of this lesson you can

- count the bytes of a chain of operations before and after it is *fused* into one kernel, and bound what that saves,
- find the maximum and the sum of a row in one pass, though the sum needs the maximum: the *online softmax*,
- merge what two threads, two blocks or two GPUs know of one row,
- say which rows break it: those with -inf, and those near 10,000,
- read the code that `torch.compile` generates, and see what it fused.

You need the lessons `t1_07_reduction` and `t1_11_roofline`, and about 40 minutes. You do not need a GPU.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
Numbers are counted or modelled here, or quoted from a source. None is a measured time of ours.
"""

# %%
import math

import matplotlib.pyplot as plt
import numpy as np
import torch

from warpwise import compare, cuda, profile, sanitize
from warpwise.compiler import fused_cpp
from warpwise.hardware import device
from warpwise.show import table
from warpwise.show.dial import Dial, Dialled

# %% [markdown]
r"""
## 1. Line by line

The *softmax* turns each row of scores into shares that add up to 1:

    y[col] = exp(x[col] - m) / s       m: largest of the row,  s: sum of exp(x[col] - m) over the row

A framework that runs line by line does this in five kernels:

    top   = x.max(axis=1)
    z     = x - top
    e     = exp(z)
    total = e.sum(axis=1)
    y     = e / total

Here they are. A warp has a row, its 32 lanes have columns `lane`, `lane + 32` and so on, and lanes exchange values by shuffles, as in `t1_03_warps`.
The matrix has M = 64 rows and N = 1,000 columns, of float32. How many bytes go through memory in all, if each kernel moves each number that it touches once?
One matrix is 256,000 bytes.
"""

# %%
guess = "?"  # bytes


@cuda.jit(device=True)
def warp_max(value):
    for step in (16, 8, 4, 2, 1):
        value = max(value, cuda.shfl_xor_sync(0xFFFFFFFF, value, step))
    return value


@cuda.jit(device=True)
def warp_total(value):
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_xor_sync(0xFFFFFFFF, value, step)
    return value


@cuda.jit
def row_max(top, x, n):
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    m = np.float32(-math.inf)
    for col in range(lane, n, 32):
        m = max(m, x[row, col])
    m = warp_max(m)
    if lane == 0:
        top[row] = m


@cuda.jit
def subtract(z, x, top, n):
    row = cuda.blockIdx.x
    for col in range(cuda.threadIdx.x, n, 32):
        z[row, col] = x[row, col] - top[row]


@cuda.jit
def exponential(e, z, n):
    row = cuda.blockIdx.x
    for col in range(cuda.threadIdx.x, n, 32):
        e[row, col] = math.exp(z[row, col])


@cuda.jit
def row_sum(total, e, n):
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    s = np.float32(0)
    for col in range(lane, n, 32):
        s += e[row, col]
    s = warp_total(s)
    if lane == 0:
        total[row] = s


@cuda.jit
def divide(y, e, total, n):
    row = cuda.blockIdx.x
    for col in range(cuda.threadIdx.x, n, 32):
        y[row, col] = e[row, col] / total[row]


M, N = 64, 1000
x = np.random.default_rng(seed=3).normal(0, 3, (M, N)).astype(np.float32)
z, e, y = (np.zeros_like(x) for _ in range(3))
top, total = np.zeros(M, np.float32), np.zeros(M, np.float32)
right = torch.softmax(torch.from_numpy(x).double(), dim=1).numpy()

steps = [
    (row_max, (top, x, N)),
    (subtract, (z, x, top, N)),
    (exponential, (e, z, N)),
    (row_sum, (total, e, N)),
    (divide, (y, e, total, N)),
]
moved = {}
for kernel, args in steps:
    counted = profile(kernel[M, 32], *args)
    moved[kernel.__name__] = 32 * sum(counted.unique_sectors.values())
    print(f"{kernel.__name__:12} {moved[kernel.__name__]:9,} bytes")
print("right:", np.allclose(y, right, atol=1e-7))
print("guess:", guess, f"  all five: {sum(moved.values()):,}")
print(f"4 * (8 M N + 4 M) = {4 * (8 * M * N + 4 * M):,}")

# %% [markdown]
r"""
**2,049,024** bytes: eight matrices and four columns.

Triton's tutorial on this softmax says the same in a formula [1]: the five lines read 5 M N + 2 M numbers and write 3 M N + 2 M.
A kernel that read `x` once and wrote `y` once would move 2 M N, so the tutorial expects a speed-up of about 4, *(8 M N + 4 M) / 2 M N*.
Our counters agree to the last byte.

None of the five kernels does much with a number before it gives it away. On an A100, how long do the five take at least, and what share of that is arithmetic?
Let us take a large matrix, 8,192 x 4,096, so that launches do not matter. We count an exponential as 8 operations to be generous.
"""

# %%
guesses = {"DRAM, ms": "?", "arithmetic, ms": "?"}

gpu = device("A100 40GB")
m_large, n_large = 8192, 4096
dram = 4 * (8 * m_large * n_large + 4 * m_large) / gpu.dram_gbs.value / 1e6
arithmetic = (8 + 4) * m_large * n_large / gpu.peak("fp32") / 1e9
print(guesses)
print(f"DRAM {dram:.3f} ms, arithmetic {arithmetic:.3f} ms (modelled, A100 40GB)")

# %% [markdown]
r"""
**0.69** ms for the bytes, **0.02** ms for the arithmetic. All five kernels are bound by memory, far left of the ridge.
The only way to be faster is to move less.

## 2. One kernel, three passes

To *fuse* is to put several operations into one kernel, so that what one of them makes stays in a register for the next.
`z`, `e`, `top` and `total` need not exist as arrays at all.
But the sum needs the maximum, and the shares need the sum. So the row is read three times, in three loops.
How many times is each number of `x` loaded, and how many numbers are stored for each of them?
"""

# %%
guesses = {"loads": "?", "stores": "?"}  # for each number of x


@cuda.jit
def three_passes(y, x, n):
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    m = np.float32(-math.inf)
    for col in range(lane, n, 32):
        m = max(m, x[row, col])
    m = warp_max(m)
    s = np.float32(0)
    for col in range(lane, n, 32):
        s += math.exp(x[row, col] - m)
    s = warp_total(s)
    for col in range(lane, n, 32):
        y[row, col] = math.exp(x[row, col] - m) / s


def accesses(kernel, *rest):
    """Sectors loaded and stored for each sector of x, and whether y is right."""
    y[:] = 0
    counted = profile(kernel[M, 32], y, x, N, *rest)
    sectors = 4 * M * N / 32
    loads, stores = counted.loads.sectors / sectors, counted.stores.sectors / sectors
    once = 32 * sum(counted.unique_sectors.values())
    print(
        f"{kernel.__name__}: {loads:.2f} loads, {stores:.2f} stores, right: {np.allclose(y, right, atol=1e-7)}"
    )
    print(f"with a perfect cache: {once:,} bytes")


accesses(three_passes)
print(guesses)

# %% [markdown]
r"""
**3** loads and **1** store: four accesses instead of eight, and one launch instead of five.
With a perfect cache it is already at the least, 512,000 bytes: the second and third pass would find the row in the cache.

Does a real cache hold it? A row of N float32 has 4 N bytes, and many rows are on their way at once.
Say each of the 108 multiprocessors of an A100 has 32 of these warps. From which N on do their rows no longer fit into its L2 of 40 MB?
"""

# %%
guess = "?"  # columns

rows_at_once = gpu.sms.value * 32
print("guess:", guess, f"   {rows_at_once:,} rows at once, N = {40e6 / 4 / rows_at_once:,.0f}")

# %% [markdown]
r"""
From about **2,900** columns on. A language model's scores have one column for each of its 32,000 to 256,000 words.
There a second pass comes from the DRAM again, and passes are worth saving.

Why do we need the maximum at all? Mathematically, exp(x) / sum of exp(x) is the same. Up to which x has exp(x) a float32?
"""

# %%
guess = "?"  # the largest x

large = np.float32(math.log(float(np.finfo(np.float32).max)))
print("guess:", guess, f"   ln of the largest float32: {large:.2f}")
with np.errstate(over="ignore", invalid="ignore"):
    high = np.exp(np.array([10_000, 9_999], np.float32))
    print("exp near 10,000:", high, "  shares:", high / high.sum())

# %% [markdown]
r"""
Up to **88.72**. Scores near 10,000 give infinity over infinity, NaN. With the maximum subtracted, the largest exponent is 0 and nothing overflows.
A softmax with it is called *safe*. The price is a pass.

## 3. One pass for both: the online softmax

Here is the idea of Milakov and Gimelshein [2]. Walk along the row with two numbers:

    m   the largest value so far
    s   the sum of exp(value - m) over the values so far

A new value v comes. If it is not larger than m, add exp(v - m) to s. If it is larger, all older terms of s have the wrong m in their exponent.
But exp(value - v) = exp(value - m) * exp(m - v), with the same factor for all of them. So one multiplication puts the whole sum right:

    new = max(m, v)
    s   = s * exp(m - new) + exp(v - new)
    m   = new

We let one thread walk along 200 values and write down m and s at each. How often will the maximum rise? The values come in random order.
"""

# %%
guess = "?"  # times, among 200 values


@cuda.jit
def walk(tops, sums, x, n):
    m, s = np.float32(-math.inf), np.float32(0)
    for col in range(n):
        value = x[col]
        new = max(m, value)
        s = s * math.exp(m - new) + math.exp(value - new)
        m = new
        tops[col] = m
        sums[col] = s


tops, sums = np.zeros(200, np.float32), np.zeros(200, np.float32)
walk[1, 1](tops, sums, x[10, :200], 200)
rises = 1 + np.count_nonzero(np.diff(tops))
expected = sum(1 / k for k in range(1, 201))
print("guess:", guess, f"   {rises} times; 1 + 1/2 + 1/3 + ... + 1/200 = {expected:.1f}")
print("m at the end:", tops[-1] == x[10, :200].max(), "  s at the end:", f"{sums[-1]:.4f}")
print(
    f"sum of exp(value - m) by NumPy: {np.exp(x[10, :200].astype(float) - float(tops[-1])).sum():.4f}"
)

fig, axes = plt.subplots(2, 1, figsize=(6.5, 4.2), sharex=True)
axes[0].plot(x[10, :200], ".", color="#808080", label="value")
axes[0].step(range(200), tops, where="post", color="#0072b2", label="m")
axes[0].legend(loc="lower right")
axes[1].plot(sums, color="#d55e00")
axes[1].set(xlabel="column", ylabel="s")
fig.tight_layout()
plt.show()

# %% [markdown]
r"""
Only **6** times. The k-th value is the largest so far with a chance of 1 / k, so the expected number is 1 + 1/2 + ... + 1/n, about ln(n) + 0.58.
Each time, s falls: the old terms are small beside the new maximum. At the end both numbers are those of two separate passes.

## 4. Merging: the same rule for many threads

A warp walks with 32 lanes, and each has an m and an s of its own columns. (m, s) is the *state* of what a lane has seen. Two states are merged by the same rule:

    new = max(m1, m2)
    s   = s1 * exp(m1 - new) + s2 * exp(m2 - new)

Does it matter in which order states are merged? We cut the row into four parts and merge them in three ways.
"""

# %%
guess = "?"  # equal, or equal up to rounding, or different


def state(values):
    m = values.max()
    return m, np.exp(values - m).sum()


def merge(one, two):
    new = max(one[0], two[0])
    return new, one[1] * np.exp(one[0] - new) + two[1] * np.exp(two[0] - new)


a, b, c, d = (state(part) for part in np.split(x[0].astype(float), 4))
print("guess:", guess)
for name, (m, s) in {
    "left to right": merge(merge(merge(a, b), c), d),
    "tree": merge(merge(a, b), merge(c, d)),
    "right to left, turned": merge(d, merge(c, merge(b, a))),
    "whole row": state(x[0].astype(float)),
}.items():
    print(f"{name:22} m = {m:.6f}, s = {s:.10f}")

# %% [markdown]
r"""
**Equal, up to rounding.** The merge is associative and commutative, like a sum. So every reduction you know works with it: shuffles, trees in shared memory, blocks that leave partial states, and even GPUs that each hold a part of the row.

Now the kernel: one pass for the state, five shuffles to merge, a second pass for the shares. How many accesses are left?
"""

# %%
guess = "?"  # loads and stores for each number of x


@cuda.jit
def online(y, x, n):
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    m, s = np.float32(-math.inf), np.float32(0)
    for col in range(lane, n, 32):
        value = x[row, col]
        new = max(m, value)
        s = s * math.exp(m - new) + math.exp(value - new)
        m = new
    for step in (16, 8, 4, 2, 1):
        m2 = cuda.shfl_xor_sync(0xFFFFFFFF, m, step)
        s2 = cuda.shfl_xor_sync(0xFFFFFFFF, s, step)
        new = max(m, m2)
        s = s * math.exp(m - new) + s2 * math.exp(m2 - new)
        m = new
    for col in range(lane, n, 32):
        y[row, col] = math.exp(x[row, col] - m) / s


print("guess:", guess)
accesses(online)
print("sanitizer:", len(sanitize(online[M, 32], y, x, N)), "findings")

# %% [markdown]
r"""
**2** loads and **1** store. From four accesses to three is a factor of 1.33, and the paper reports a softmax that is up to 1.3 times faster on a V100 [2].
Each value is loaded into a variable and used twice. Had we written `x[row, col]` twice in the first loop, the counters would show a third load.

## 5. The rows that break it

Scores of -inf are not exotic. A *mask* sets them where a word must not see another, and the softmax makes a share of 0 of them.
Four rows: near 10,000; beginning with 40 times -inf; nothing but -inf; and -inf in the middle. Which of the two kernels gets which of them wrong?
"""

# %%
guesses = {"three_passes": "?", "online": "?"}  # numbers of rows: 0, 1, 2, 3

hard = x[:4].copy()
hard[0] += 10_000
hard[1, :40] = -np.inf
hard[2, :] = -np.inf
hard[3, 400:500] = -np.inf
shares = np.zeros_like(hard)
print(guesses)
for kernel in (three_passes, online):
    kernel[4, 32](shares, hard, N)
    print(f"{kernel.__name__:12} rows with NaN: {np.flatnonzero(np.isnan(shares).any(axis=1))}")
print(
    "PyTorch      rows with NaN:",
    np.flatnonzero(torch.softmax(torch.from_numpy(hard), 1).isnan().any(1)),
)

# %% [markdown]
r"""
Rows **1 and 2** in `online`, only row **2** in `three_passes`, and there PyTorch gives NaN as well.

- Row 1: the first value of each lane is -inf, so new = -inf, and `m - new` is -inf minus -inf. That is NaN, and a NaN never leaves a sum again.
- Row 2: 0 over 0, or NaN by the same way. There is no right answer in mathematics. PyTorch says NaN. Attention, in the next lesson, wants zeros: a word that sees nothing gets nothing.

The cure: never take the difference of two -inf. A value of -inf adds exp(-inf) = 0, so skip it; a merge in which the larger m is -inf has nothing to merge.
The branch can even save an exponential: where the maximum does not rise, s needs no factor.
"""

# %%
guess = "?"  # rows that are wrong now, with zeros as the answer for row 2


@cuda.jit
def careful(y, x, n):
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    m, s = np.float32(-math.inf), np.float32(0)
    for col in range(lane, n, 32):
        value = x[row, col]
        if value > m:
            s = s * math.exp(m - value) + np.float32(1)
            m = value
        elif value > -math.inf:
            s += math.exp(value - m)
    for step in (16, 8, 4, 2, 1):
        m2 = cuda.shfl_xor_sync(0xFFFFFFFF, m, step)
        s2 = cuda.shfl_xor_sync(0xFFFFFFFF, s, step)
        new = max(m, m2)
        if new > -math.inf:
            s = s * math.exp(m - new) + s2 * math.exp(m2 - new)
            m = new
    for col in range(lane, n, 32):
        y[row, col] = math.exp(x[row, col] - m) / s if s > 0 else np.float32(0)


careful[4, 32](shares, hard, N)
wanted = torch.softmax(torch.from_numpy(hard).double(), 1).nan_to_num(0).numpy()
print(
    "guess:",
    guess,
    "   wrong rows:",
    np.flatnonzero(~np.isclose(shares, wanted, atol=1e-6).all(axis=1)),
)
print("row sums:", shares.sum(axis=1).round(5))

# %% [markdown]
r"""
**None.** Row 0 was never in danger: the difference to the maximum is what goes into exp.

The first value of a lane takes the branch `value > m` with m = -inf: `s * exp(-inf)` is 0 * 0, and that is fine. It is only -inf *minus* -inf that hurts.

## 6. Read once: keep the row

If a row fits on the multiprocessor, the second pass need not go to memory either. Here each lane keeps its columns in shared memory, at most 1,024 floats a row.
It reads back only what it wrote itself, so no barrier is needed. What is left of the eight accesses?
"""

# %%
guess = "?"  # loads and stores for each number of x


@cuda.jit
def kept(y, x, n):
    values = cuda.shared.array(1024, np.float32)
    row, lane = cuda.blockIdx.x, cuda.threadIdx.x
    m = np.float32(-math.inf)
    for col in range(lane, n, 32):
        values[col] = x[row, col]
        m = max(m, values[col])
    m = warp_max(m)
    s = np.float32(0)
    for col in range(lane, n, 32):
        values[col] = math.exp(values[col] - m)
        s += values[col]
    s = warp_total(s)
    for col in range(lane, n, 32):
        y[row, col] = values[col] / s


print("guess:", guess)
accesses(kept)
versions = {
    "row_max": (row_max[M, 32], top, x, N),
    "subtract": (subtract[M, 32], z, x, top, N),
    "exponential": (exponential[M, 32], e, z, N),
    "row_sum": (row_sum[M, 32], total, e, N),
    "divide": (divide[M, 32], y, e, total, N),
    "three_passes": (three_passes[M, 32], y, x, N),
    "online": (online[M, 32], y, x, N),
    "kept": (kept[M, 32], y, x, N),
}
compare(versions, device="A100 40GB")

# %% [markdown]
r"""
**One** load and one store: 2 M N, the least there is, and with one exponential for each value instead of two or three.
When the whole row is there, the maximum may come first at no cost, and the online trick is not needed.

It has a limit: shared memory. A row of 1,024 takes 4 KB a warp, and that is fine. A row of 128,000 would take 512 KB, and no multiprocessor has that.
So: rows that fit are kept, longer ones are walked online. Nsight Compute shows the difference in `l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum`, and on large matrices in `dram__bytes_read.sum`.

Our matrix is small, so in the table all versions are near the time of a launch. Turn the dials to see large ones. The model: DRAM bytes over bandwidth, and 2.6 microseconds for each launch, the lower of the two numbers quoted in `t1_11_roofline`.
It takes every access to the DRAM, as if no cache caught a second pass. Where does the number of launches matter more than the bytes?
"""

# %%
guess = "?"  # rows of 1,000 columns below which launches matter more


def plan(rows, columns, gpu):
    """Accesses to times, by the model above."""
    numbers, made = rows * columns, []
    for name, matrices, launches in (
        ("line by line", 8, 5), ("three passes", 4, 1), ("online", 3, 1), ("kept", 2, 1)
    ):  # fmt: skip
        bytes_us = 4 * matrices * numbers / device(gpu).dram_gbs.value / 1e3
        made.append((name, f"{4 * matrices * numbers / 1e6:,.1f}", f"{bytes_us:,.1f}",
                     f"{2.6 * launches:.1f}", f"{bytes_us + 2.6 * launches:,.1f}"))  # fmt: skip
    head = ("version", "MB", "for the bytes, us", "for launches, us", "together, us")
    return table(head, made, "modelled")._repr_mimebundle_()


print("guess:", guess)
Dialled(
    [
        Dial("rows", (64, 512, 4096, 32768), 4096),
        Dial("columns", (1000, 4096, 32000, 128000), 1000),
        Dial("gpu", ("A100 40GB", "RTX 3090", "H100"), "A100 40GB"),
    ],
    plan,
)

# %% [markdown]
r"""
With 64 rows of 1,000 almost all of the time is launches, and fusing saves four of five: a factor of 5 or so, more than the bytes promise.
With 4,096 rows the bytes take 84 microseconds line by line, the five launches 13.
A little below 650 rows the two are equal. So fusing pays twice, for different reasons: small arrays save launches, large ones save bytes.

## 7. What torch.compile makes of it

You need not fuse by hand what a compiler can fuse. `torch.compile` takes a Python function apart into operations on tensors and generates kernels: C++ for a CPU, Triton for a GPU.
The part that does it is called *Inductor*. `fused_cpp` shows its C++ as text; nothing is compiled or run. We left out casts and braces, so read it by the indentation.

The five lines from the beginning, for a 64 x 1,000 matrix. How many kernels will there be? How often is `x` (it is called `in_ptr0`) read?
"""

# %%
guesses = {"kernels": "?", "reads of x": "?"}


def softmax(x):
    top = x.amax(dim=1, keepdim=True)
    z = x - top
    e = torch.exp(z)
    total = e.sum(dim=1, keepdim=True)
    return e / total


kernels = fused_cpp(softmax, (M, N))
print(guesses)
print(len(kernels), "kernel, reads of x:", kernels[0].count("= in_ptr0["))
print(kernels[0])

# %% [markdown]
r"""
**One** kernel, and `x` is read **twice**. Five lines became three loops inside of one loop over the rows:

- the maximum, `tmp_acc0`, stored to `out_ptr0` for the next loop;
- subtraction, exponential and sum together: `z` is only a variable, `tmp2`;
- the division. The exponentials wait in `local_buffer_data_0`, which holds one row and is used again for the next: our `kept`, with e in place of x.

So it moves the matrix in, once more in from a cache, and out. It did not invent the online softmax: it keeps the loops it was given and joins them where the indices agree.
That is the limit of such fusion. A matrix product between two steps stops it. To fuse attention, which has a softmax between two products, somebody had to write the kernel by hand. That is the next lesson.

One more: a bias, a ReLU and a factor. Line by line these three operations move 6 M N + N numbers. What is left? Try other functions in the same cell.
"""

# %%
guess = "?"  # numbers moved

print("guess:", guess)
for kernel in fused_cpp(lambda x, bias: torch.relu(x + bias) * 2, (M, N), (N,)):
    print(kernel)

# %% [markdown]
r"""
Three operations, one loop over the elements, nothing in between goes to memory: **2 M N + N** numbers.

## What to remember

- Line by line, a softmax moves 8 M N + 4 M numbers; one kernel with three passes 4 M N, online 3 M N, with the row kept 2 M N.
- Fusing saves bytes on large arrays and launches on small ones. It saves no arithmetic, and it need not: such kernels are bound by memory.
- Online: m is the largest so far, s the sum of exp(value - m). When m rises, s * exp(m - new).
- States (m, s) merge in any order: threads, blocks, GPUs.
- -inf minus -inf is NaN. Skip -inf, skip empty merges, and decide what a row without anything is: NaN or zeros.
- Subtract the maximum, always: float32 overflows at exp(88.72).
- `torch.compile` joins loops with the same indices. It does not change the algorithm.

**Next:** the lab, `t2_09_fusion_lab`, in your folder `mine/t2_gpu/`.

## Sources

1. Triton, tutorial "Fused Softmax": the count 5 M N + 2 M read, 3 M N + 2 M written, and the expected factor of about 4.
   <https://triton-lang.org/main/getting-started/tutorials/02-fused-softmax.html>
2. M. Milakov, N. Gimelshein, "Online normalizer calculation for softmax", 2018: three accesses for the naive and the online form, four for the safe one; up to 1.3x on a V100.
   <https://arxiv.org/abs/1805.02867>
3. PyTorch, `torch.compile`, TorchInductor. The generated code is that of the PyTorch version in `requirements.txt`.
   <https://docs.pytorch.org/docs/stable/torch.compiler.html>

Bandwidths and peaks: `warpwise/hardware/devices.toml`, each with its source. Launch: the sources in `warpwise/hardware/bound.py`.
"""
