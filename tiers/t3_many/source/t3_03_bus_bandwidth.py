# %% [markdown]
r"""
# Bus bandwidth: alpha, beta, and where one line fails

**Our eight GPUs have links of 300 GB/s. The benchmark says 235 GB/s for large arrays and 18 GB/s for 1 MiB. Is something broken?**

At the end of this lesson you can

- turn a measured time into the two bandwidths of NVIDIA's benchmark, and say which one to compare with a link,
- fit a latency and a bandwidth to a table of times,
- say where such a line is wrong, and why,
- say how large a message must be to be worth its latency.

You need the lesson `t3_02_ring` and about 35 minutes. You do not need a GPU: the times below were *measured* by somebody else, on 8 A100, and are printed with their source.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from warpwise.fabric import bus_factor, busbw, fit

# %% [markdown]
r"""
## 1. The table

A guide to training at scale prints what nccl-tests, NVIDIA's benchmark of collectives, says on a machine with 8 A100 and NVLink [1].
The first column is the size of the array, here in KiB (1,024 bytes); the second is the time of one all-reduce in microseconds.

The *algorithm bandwidth* is what you would compute at first: bytes divided by time. What is it for the last row, 16 GiB?
"""

# %%
guess = "?"  # GB/s

TABLE = {  # KiB: us, measured on 8 A100 by the authors of [1]
    32: 43.83, 64: 46.80, 128: 51.76, 256: 61.38, 512: 80.40, 1024: 101.9, 2048: 101.4,
    4096: 101.5, 8192: 133.5, 16384: 276.6, 32768: 424.0, 65536: 684.6, 131072: 1327.6,
    262144: 2420.6, 524288: 4218.4, 1048576: 8203.9, 2097152: 16240.0, 4194304: 32136.0,
    8388608: 64074.0, 16777216: 127997.0,
}  # fmt: skip
sizes = np.array(list(TABLE)) * 1024.0
seconds = np.array(list(TABLE.values())) * 1e-6
algbw = sizes / seconds / 1e9
print("guess:", guess, f"  {algbw[-1]:.2f} GB/s (from a measured time)")

# %% [markdown]
r"""
**134.22** GB/s. It tells how fast the *operation* is. But it can't be compared with a link: with another number of ranks, or another operation, it changes though the links stay the same.

From `t3_02_ring` we know what a rank must send: 2 (n - 1)/n times the array. That many bytes in that time is the *bus bandwidth*.

    busbw = factor * bytes / time

| operation | factor |
|---|---|
| all-reduce | 2 (n - 1)/n |
| all-gather, reduce-scatter, all-to-all | (n - 1)/n |
| broadcast, reduce, send and receive | 1 |

These factors are nccl-tests' own [2]. The bytes are those of the whole array: for an all-gather of 1 MiB a rank, on 8 ranks, 8 MiB.
What is the bus bandwidth of the last row?
"""

# %%
guess = "?"  # GB/s

print("guess:", guess, f"  factor {bus_factor('all_reduce', 8)}")
print("      KiB       us   algbw   busbw  (GB/s)")
for kib, us in TABLE.items():
    bus = busbw("all_reduce", 8, kib * 1024, us * 1e-6)
    print(f"{kib:9} {us:8.1f} {kib * 1024 / us / 1e3:7.2f} {bus:7.2f}")

# %% [markdown]
r"""
**234.89** GB/s, of 300. The guide prints this column, and all its 20 numbers are those above, to the last digit.

So with large arrays the links are used to 78 percent; there is nothing to repair. And 18 GB/s for 1 MiB? To judge that, we need the time that would be right for 1 MiB.

## 2. A line

In the model of `t3_02_ring` the time is a constant, the latencies, and a part that grows with the bytes:

    t = alpha + factor * S / B

Two unknowns: alpha, in which all 2 (n - 1) latencies are together, and B. Two rows would be enough to find them. Take the smallest and the largest array.
"""

# %%
guesses = {"alpha, us": "?", "B, GB/s": "?"}

factor = bus_factor("all_reduce", 8)
slope = (seconds[-1] - seconds[0]) / (factor * (sizes[-1] - sizes[0]))
alpha = seconds[0] - slope * factor * sizes[0]
print("guesses:", guesses)
print(f"alpha {alpha * 1e6:.1f} us, B {1e-9 / slope:.1f} GB/s (fitted to two measured times)")

# %% [markdown]
r"""
**43.6 us** and **235.0 GB/s**. Two rows decide everything here, and 18 others are ignored. So one takes all rows, and looks for the line with the smallest error.

Which error? Suppose we minimise the sum of the squared errors in seconds. The last row takes 128,000 us, the first 44. An error of 1 percent in the last row counts as much as an error of 2,900 percent in the first.
Small arrays would not matter at all. So we minimise the *relative* errors: (alpha + factor S/B - t)/t.

What do you expect: a larger alpha than with two rows, or a smaller one?
"""

# %%
guess = "?"

line = fit(sizes, seconds, factor)
print("guess:", guess)
print(f"alpha {line.alpha * 1e6:.1f} us, B {line.bandwidth / 1e9:.1f} GB/s (fitted)")
row = np.argmax(np.abs(line.errors))
print(f"worst error {line.worst:.0%}, in the row of {sizes[row] / 1024:,.0f} KiB")

# %% [markdown]
r"""
**56.3 us**, larger, and 211 GB/s. And in the worst row the line is wrong by more than a third. Look where.
"""

# %%
fig, (above, below) = plt.subplots(2, 1, figsize=(7, 5.4), sharex=True, height_ratios=(2, 1))
above.loglog(sizes, seconds * 1e6, "o", label="measured, 8 A100 [1]")
above.loglog(sizes, [line.time(size) * 1e6 for size in sizes], "-", label="fitted line")
above.set_ylabel("us")
above.legend()
below.semilogx(sizes, 100 * np.array(line.errors), "s-")
below.axhline(0, color="grey", linewidth=1)
below.set(xlabel="bytes", ylabel="error, percent")
plt.show()

# %% [markdown]
r"""
From 1 to 4 MiB the times stand still: 101.9, 101.4, 101.5 us. Four times the bytes in the same time. Then, from 8 to 16 MiB, the time more than doubles, and the bus bandwidth even *falls*, from 109.96 to 106.15 GB/s.
No line can do that, however it is fitted.

The cause is inside NCCL. It has several ways to send a message, called *protocols*, and several algorithms. For small arrays it takes one with a low latency that wastes bandwidth, and for large ones another. Each has a line of its own; the table is made of pieces.
So *a single alpha and a single B are good for a rough plan, not for the range around a switch*.

How much better are two lines? We cut the table after k rows and fit each part alone. Where is the best cut: after 3 rows, after 6, after 12?
"""

# %%
guess = "?"


def two_lines(k):
    return fit(sizes[:k], seconds[:k], factor), fit(sizes[k:], seconds[k:], factor)


def squares(*lines):
    return sum(error**2 for one in lines for error in one.errors)


cuts = {k: squares(*two_lines(k)) for k in range(2, len(sizes) - 1)}
best = min(cuts, key=cuts.get)
print("guess:", guess)
print(f"one line:  sum of squared relative errors {squares(line):.3f}")
print(f"two lines: {cuts[best]:.3f}, cut after {best} rows, at {sizes[best - 1] / 1024:,.0f} KiB")
for name, one in zip(("below", "above"), two_lines(best), strict=True):
    print(f"  {name}: alpha {one.alpha * 1e6:.1f} us, B {one.bandwidth / 1e9:.1f} GB/s, "
          f"worst error {one.worst:.0%}")  # fmt: skip

# %% [markdown]
r"""
After **6** rows, at 1 MiB, where the plateau begins. Up to there, 43 us and a B of 29 GB/s; above, 80 us and 219 GB/s. The low latency of small arrays has its price.

## 3. How large is large enough?

When is a message long enough to be worth its latency? A usual mark is the size at which half of the bandwidth is reached. There the two terms are equal: alpha = factor S/B. This size is called n 1/2.
What is it for the single line, in MB?
"""

# %%
guess = "?"

print("guess:", guess, f"  {line.half / 1e6:.1f} MB (from the fit)")
for mib in (1, 25):
    share = 1 - line.alpha / line.time(mib * 2**20)
    print(f"{mib:3} MiB: {share:.0%} of the bandwidth (from the fit)")

# %% [markdown]
r"""
**6.8** MB. With 25 MiB, about four times as much, 79 percent are reached. PyTorch's data parallelism collects gradients into *buckets* of this size by default before it reduces them [3], and now you know one reason.

That answers the question from the top: at 1 MiB most of the time is latency, as it must be. 18 GB/s are not a fault of the links.

The same in one measurement: 4 GB in one call, or in 1,000 calls of 4 MB. Which share of the bandwidth is left in small calls, by the line?
"""

# %%
guess = "?"

once, often = line.time(4e9), 1000 * line.time(4e6)
print("guess:", guess, f"  {once / often:.0%} (from the fit)")
print(f"on 8 H200, measured by the authors of [1]: 1146.1 of 3722.8 Gbps, {1146.1 / 3722.8:.0%}")

# %% [markdown]
r"""
**37** percent by a line for A100, and **31** percent was measured on H200, whose links are faster, so that latency weighs more.

## 4. More than the link?

On 8 H200 the table ends with 482.26 GB/s [1]. Their links have 450. What is wrong?
"""

# %%
guess = "?"

print("guess:", guess)
print(f"busbw 482.26 of 450 GB/s: {482.26 / 450:.0%}")
print(f"if each GPU sends its array once: {482.26 / bus_factor('all_reduce', 8):.2f} GB/s")

# %% [markdown]
r"""
**107** percent, and no link is faster than itself. The factor 2 (n - 1)/n counts the bytes of a *ring*. On these machines the switch can add up: each GPU sends its array once, and gets the sum once.
That is S instead of 1.75 S. The factor assumes bytes that were never sent. With the ring alone 367.61 GB/s were measured, 82 percent [1].

*A bus bandwidth is a time in other units, and the factor is an assumption on the method.* Compare it with a link, but ask which method ran.

## 5. How to measure

Four things go wrong most often when people time collectives themselves.

1. *No warm-up.* The first call sets up connections. Guide [1] shows a first result of 561 Gbps where later ones are several times higher.
2. *No synchronisation.* A collective on a GPU is a kernel: the call returns before it ran. Use events, as in `t1_12_launches`.
3. *The wrong S.* For an all-gather S is the array of all ranks, not the piece of one.
4. *One size.* A single number cannot tell latency from bandwidth. Take sizes over several powers of ten.

The commands for a real machine are `all_reduce_perf -b 32K -e 16G -f 2 -g 8` of nccl-tests for the table, and `NCCL_DEBUG=INFO` for what NCCL has chosen. `NCCL_ALGO` and `NCCL_PROTO` fix the choice, for an experiment.
In Nsight Systems the kernels' names show both: `..._RING_LL` is a ring with the protocol LL, for low latency.

## What to remember

- algbw = bytes / time says how fast the operation is; busbw = factor times that is to be compared with a link.
- S is the whole array, for every operation.
- t = alpha + factor S / B. Fit relative errors, else small arrays do not count.
- One line is a rough plan. Protocols switch, and around the switch it was wrong by a third.
- n 1/2 = alpha B / factor: below it you pay for latency. Put small messages together.
- More than the link's bandwidth means that the factor does not fit the method.

**Next:** the lab, `t3_03_bus_bandwidth_lab`, in your folder `mine/t3_many/`.

## Sources

1. S. Bekman, ml-engineering, network benchmarks: all_reduce on 8 A100 and 8 H200. <https://github.com/stas00/ml-engineering>
2. NVIDIA, nccl-tests, PERFORMANCE.md: algorithm and bus bandwidth. <https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md>
3. PyTorch, `DistributedDataParallel`: `bucket_cap_mb`, 25 by default. <https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html>
4. R. W. Hockney, "The communication challenge for MPP", Parallel Computing 20, 1994: alpha, beta and n 1/2. <https://doi.org/10.1016/S0167-8191(06)80021-9>
"""
