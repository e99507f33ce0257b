# %% [markdown]
r"""
# Accumulation: where a sum loses its terms

**You add ten thousand ones in bfloat16 and get 256. A weight does not move in a thousand steps, though every gradient pushes it the same way. A third of the gradients are exactly 0. Where did the numbers go, and how do the libraries keep them?**

At the end of this lesson you can

- say in advance where a running sum stops growing,
- save it by another order, by Kahan's compensation, or by stochastic rounding, and say what each costs,
- give the spread of a stochastic result in sigmas, and tell bad luck from a bug,
- choose a loss scale, and follow the state of a loss scaler step by step,
- say what Hopper's fp8 tensor cores keep of a long sum, and why DeepSeek moved it to other registers.

You need the lessons `t2_04_formats` and `t1_07_reduction` and about 40 minutes. You do not need a GPU.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch

from warpwise import compare, cuda, profile
from warpwise.compiler import compile_kernel
from warpwise.numerics import (
    Scaler,
    blocked_sum,
    hopper_dot,
    kahan_sum,
    round_to,
    running_sum,
    running_sums,
    ulp,
)
from warpwise.show.dial import Dial, Dialled
from warpwise.show.plot import bundle

# %% [markdown]
r"""
## 1. A sum that sticks

Take the plainest sum there is: a total that starts at 0, and 3000 ones, added one after another. After each addition the total is rounded to a format, as a variable of that type would be.
Where does it end in float16, where in bfloat16?

`running_sums(values, fmt)` gives all partial sums in a format. The picture shows them.
"""

# %%
guesses = {"fp16": "?", "bf16": "?"}  # the last partial sum

ones = np.ones(3000)
fig, ax = plt.subplots(figsize=(7, 3.6))
for name, style in (("fp32", "-"), ("fp16", "--"), ("bf16", "-."), ("e4m3", ":")):
    sums = running_sums(ones, name)
    ax.loglog(np.arange(1, 3001), sums, style, linewidth=2, label=name)
    print(f"{name}: guess {guesses.get(name, '-')}, ends at {sums[-1]:g}")
ax.set(xlabel="ones added", ylabel="partial sum")
ax.legend()
plt.show()

# %% [markdown]
r"""
float16 ends at **2048**, bfloat16 at **256**. From there on nothing happens.

Look at the steps. bf16 has 7 bits of mantissa, so from 256 on its numbers are 2 apart. 256 + 1 lies exactly halfway between 256 and 258, and the tie goes to the even code, 256. So the sum *sticks*.
One step earlier, from 128 on, the steps are 1 wide, and each one still counts.

The rule: with m bits of mantissa, ones stick at 2^(m + 1). Terms of another size, say 0.25, stick at 0.25 times that, because all steps scale with the numbers.
(Any other term sticks as soon as half a step is larger than the term. Before that the sum goes wrong in another way: each addition is rounded up or down to a whole step.)

A Stanford course asks its students to add 0.01 a thousand times in three ways [1]. What do you expect from the second one?
"""

# %%
guess = "?"  # float16 throughout

for total_type, term_type in (
    ("float32", "float32"),
    ("float16", "float16"),
    ("float32", "float16"),
):
    total = torch.tensor(0.0, dtype=getattr(torch, total_type))
    for _ in range(1000):
        total += torch.tensor(0.01, dtype=getattr(torch, term_type))
    print(f"total in {total_type}, terms in {term_type}: {total.item():.7f}")
print("guess:", guess)
print("running_sum:", running_sum(np.full(1000, round_to(0.01, "fp16")), "fp16"))

# %% [markdown]
r"""
**9.953125** in float16: half a percent is lost in the additions. The third way gets 10.0021362. Its additions are fine; what is left is the error of 0.01 itself, which float16 cannot hold.
So the two errors are separate: *what a term is stored in*, and *what the sum is kept in*. The second one grows with the length of the sum, the first one does not.
This is why every matrix unit takes short inputs and keeps a long sum.

## 2. Another order

If the total is too large for the terms, let the terms meet terms. Sum blocks of 128 values first, each in bf16, and then the blocks: this is *blocked* summation.
What is the sum of 1000 ones now, with bf16 in the blocks and float32 for the blocks' sums?

Turn the dial to find the longest block that loses nothing. Then predict what happens at 512.
"""

# %%
guess = "?"  # blocks of 128


def blocks_of(size):
    sizes = (8, 32, 128, 256, 512, 1000)
    sums = [float(blocked_sum(np.ones(1000), one, "bf16")) for one in sizes]
    figure, axes = plt.subplots(figsize=(6, 2.6), layout="constrained")
    colours = ["tab:orange" if one == size else "tab:gray" for one in sizes]
    axes.bar([str(one) for one in sizes], sums, color=colours)
    axes.set(xlabel="values in a block", ylabel="sum of 1000 ones")
    plt.close(figure)
    return bundle(figure, f"blocks of {size}: {sums[sizes.index(size)]:g}")


print("guess:", guess)
Dialled([Dial("size", (8, 32, 128, 256, 512, 1000), 128)], blocks_of)

# %% [markdown]
r"""
**1000**. Blocks of 256 still work, since no block's sum gets beyond 256. With 512 the first block sticks at 256, and so does the rest: 512.

Carry the idea to its end and you have a tree: neighbours in pairs, pairs in fours. Each term takes part in log2(n) additions, not in up to n.
A reduction on a GPU, as in `t1_07_reduction`, is blocked anyway: each thread sums its share, and a tree joins the threads. So on a GPU the fast order is also a good one.
Here are 10,000 values between 0 and 1.
"""

# %%
guess = "?"  # the running sum in bf16

values = round_to(np.random.default_rng(seed=6).random(10_000), "bf16")


def pairwise(x, fmt):
    while len(x) > 1:
        x = np.append(x, 0.0) if len(x) % 2 else x
        x = round_to(x[::2] + x[1::2], fmt)
    return x[0]


print(f"exact                 {values.sum():.2f}")
print(f"bf16, running         {running_sum(values, 'bf16'):.2f}     guess: {guess}")
print(f"bf16, tree            {pairwise(values, 'bf16'):.2f}")
print(f"bf16 blocks in fp32   {blocked_sum(values, 32, 'bf16'):.2f}")
print(f"fp32, running         {running_sum(values, 'fp32'):.2f}")
print(f"step of bf16 at 4980: {ulp(4980.0, 'bf16'):g}")

# %% [markdown]
r"""
The running sum is stuck at **256** again. The tree, with no wider number anywhere, comes within one step of the truth. One step of bf16 is 32 wide here, so nobody can do much better and give the answer in bf16.

## 3. Kahan: keep what was lost

What if the order is fixed, because one thread gets the values one by one? Then measure each loss, and subtract it from the next term. This is *compensated summation*, by W. Kahan [2]:

    y = x - lost            # the term, with the debt of the last addition paid
    t = total + y           # the addition that loses something
    lost = (t - total) - y  # what arrived, minus what should have arrived
    total = t

Algebra says that `lost` is 0. Rounding makes it the error, and nearly always exactly so. Let us watch it in bf16 where the plain sum sticks. What is `lost` after the first one below?
"""

# %%
guess = "?"

total, lost = 256.0, 0.0
print("    y        t     lost")
for _ in range(4):
    y = round_to(1.0 - lost, "bf16")
    t = round_to(total + y, "bf16")
    lost = round_to(round_to(t - total, "bf16") - y, "bf16")
    total = t
    print(f"{y:5g} {t:8g} {lost:8g}")
print("guess:", guess)
print(f"10,000 values: {kahan_sum(values, 'bf16'):.2f}")

# %% [markdown]
r"""
It is **-1**: nothing arrived where 1 should have. The next term is therefore 2, which is a whole step.
The 10,000 values add up to 4992, the bf16 number nearest to the exact sum. Two numbers of 8 significant bits together work like one of 16.

What does it cost? Four additions for one. Here are three kernels in which a thread adds up one column of a matrix: plain, with Kahan, and with a total in float64.
Before you run it: by how much does Kahan raise the modelled time on an RTX 4090, with four times the arithmetic?
"""

# %%
guess = "?"  # percent


@cuda.jit
def plain(out, x, m, n):
    j = cuda.grid(1)
    if j < n:
        total = np.float32(0)
        for i in range(m):
            total += x[i, j]
        out[j] = total


@cuda.jit
def kahan(out, x, m, n):
    j = cuda.grid(1)
    if j < n:
        total = np.float32(0)
        lost = np.float32(0)
        for i in range(m):
            y = x[i, j] - lost
            t = total + y
            lost = (t - total) - y
            total = t
        out[j] = total


@cuda.jit
def double(out, x, m, n):
    j = cuda.grid(1)
    if j < n:
        total = 0.0
        for i in range(m):
            total += x[i, j]
        out[j] = total


m, n = 256, 8192
x = np.random.default_rng(seed=3).random((m, n), dtype=np.float32)
out = np.zeros(n, np.float32)
versions = {k.__name__: (k[n // 128, 128], out, x, m, n) for k in (plain, kahan, double)}
table = compare(versions, device="RTX 4090")
table

# %% [markdown]
r"""
By **next to nothing**: with every cache at its best the modelled time is the same, and even at its worst it grows by 3 %. The bytes are the bound, and the bytes are the same. Where a kernel waits for memory, Kahan is free.
float64 costs more: the upper end grows by a third. A GeForce has far fewer units for it. And `total = 0.0` is enough to get there, because 0.0 is a float64.
Nsight Compute counts these operations as `smsp__sass_thread_inst_executed_op_fadd_pred_on.sum` for float32 and `..._op_dadd_pred_on.sum` for float64.

And is it more exact? We add 8 million to the first row, the worst that can happen to a sum of small terms.
"""

# %%
guess = "?"  # the error of the plain sum

x[0] += 8e6
exact = x.sum(axis=0, dtype=np.float64)
for kernel in (plain, kahan, double):
    kernel[n // 128, 128](out, x, m, n)
    flops = profile(kernel[n // 128, 128], out, x, m, n).flops
    print(f"{kernel.__name__:7} largest error {np.abs(out - exact).max():.3f}   operations {flops}")
print("guess:", guess, "  step of float32 at 8 million:", ulp(8e6, "fp32"))

# %% [markdown]
r"""
At 8 million the steps of float32 are half a unit wide. The plain sum is off by up to **19** of them. Kahan and float64 are off by at most half a step, and that is the rounding of the result itself.

Every text on Kahan warns of the compiler: algebra says that `lost` is 0, and a compiler that may use algebra removes it. In Numba `fastmath=True` gives it leave. Does it? Ask the compiler, not the text. Count the `FADD`s, the float32 additions, in the loop's machine code.
"""

# %%
guess = "?"  # FADD with fastmath: fewer, or as many?

for fast in (False, True):
    kernel = cuda.jit(kahan.py_func, fastmath=fast)
    compiled = compile_kernel(kernel, (out, x, m, n), "sm_90")
    count = sum("FADD" in one.text for one in compiled.sass)
    print(f"fastmath={fast}: {count} FADD")
print("guess:", guess)

# %% [markdown]
r"""
**As many**: this compiler leaves it alone. The loop is unrolled four times, with four additions each, and once more for the rest. Another version may do otherwise, and so may a C++ compiler with `-ffast-math`. Count before you trust it.

## 4. Stochastic rounding

Now the weight that does not move. A bf16 weight is 1.0; the step from 1.0 to the next number is 1/128. A thousand updates of 0.001 each should bring it to 2.0.
Rounded to nearest, each one vanishes. Kahan needs a second number for every weight. *Stochastic rounding* needs none: 0.001 is 12.8 % of a step, so go up with a chance of 12.8 %.

`running_sums` takes the rounding and a random generator. Here are 400 weights. What is their mean in the end? And how far apart are they?
"""

# %%
guesses = {"nearest": "?", "mean": "?"}

updates = np.column_stack([np.ones(400), np.full((400, 1000), 0.001)])
rng = np.random.default_rng(seed=0)
paths = running_sums(updates, "bf16", "stochastic", rng)
nearest = running_sums(updates[0], "bf16")
print(f"nearest: {nearest[-1]}   guess: {guesses['nearest']}")
print(f"stochastic: mean {paths[:, -1].mean():.4f}, spread {paths[:, -1].std():.4f}"
      f"   guess: {guesses['mean']}")  # fmt: skip
fig, ax = plt.subplots(figsize=(7, 3.4))
ax.plot(paths[:20].T, color="tab:blue", alpha=0.4, linewidth=0.8)
ax.plot(nearest, "k--", label="nearest")
ax.plot(1 + 0.001 * np.arange(1001), color="tab:orange", linewidth=2.5, label="exact")
ax.set(xlabel="updates", ylabel="weight")
ax.legend()
plt.show()

# %% [markdown]
r"""
Nearest stays at **1.0** for ever. The stochastic weights arrive at **2.0** on average, and scatter around it.

How wide is the scatter? A value lies a share p of a step above the lower number. It gains (1 - p) of a step with a chance of p, or loses p of a step with a chance of 1 - p. The mean change is 0: the rounding is *unbiased*. The standard deviation, called sigma, is

    sigma of one rounding = step * sqrt(p * (1 - p))
    sigma of a sum of n roundings = sqrt(n) * that
    sigma of a mean of n roundings = that / sqrt(n)

How do you test something random? Predict mean and sigma, then ask how many sigmas away the measured value is. Beyond 5 sigmas a correct program gets once in 1.7 million runs. So that is a bug, not bad luck.
What sigma do you predict for one weight, and what for the mean of the 400?
"""

# %%
guesses = {"one weight": "?", "mean of 400": "?"}

step = 2.0**-7
p = 0.001 / step
one_weight = step * np.sqrt(p * (1 - p)) * np.sqrt(1000)
mean_of_400 = one_weight / np.sqrt(400)
off = paths[:, -1].mean() - 2.0
print(
    f"one weight: {one_weight:.4f}, measured {paths[:, -1].std():.4f}, guess {guesses['one weight']}"
)
print(f"mean of 400: {mean_of_400:.5f}, guess {guesses['mean of 400']}")
print(f"the mean is {off / mean_of_400:+.1f} sigmas from 2.0")

# %% [markdown]
r"""
**0.0825** and **0.0041**, and the mean is well inside five sigmas.
(Above 2.0 the steps double, so p and the step change there. For half of the weights the formula is a little too small or too large at the end.)

In a kernel, stochastic rounding is shorter than rounding to nearest. Going from 16 bits to E5M2, the upper half of float16, 8 bits go away. As a fraction of a step they are rest / 256.
Add a random number from 0 to 255 and cut off: it carries into the kept bits with a chance of exactly rest / 256.

    code = (bits + (noise & 0xFF)) >> 8

Where does the noise come from? From `cuda.random`, which keeps a state for each thread, or from a hash of the element's number and the step, which keeps none and can be repeated. Here an array holds it. Blackwell GPUs have instructions for it [3].

The cell rounds 1.1 a hundred thousand times. In E5M2, 1.1 lies between 1 and 1.25. What should the mean be: 1.0, 1.1 or 1.125?
"""


# %%
guess = "?"


@cuda.jit
def to_e5m2_stochastic(out, bits, noise):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = (bits[i] + (noise[i] & 0xFF)) >> 8


many = 100_000
bits = np.full(many, np.float16(1.1)).view(np.uint16)
noise = np.random.default_rng(seed=8).integers(0, 2**32, many, dtype=np.uint32)
codes = np.zeros(many, np.uint8)
to_e5m2_stochastic[(many + 255) // 256, 256](codes, bits, noise)
kept = (codes.astype(np.uint16) << 8).view(np.float16).astype(float)

value = float(np.float16(1.1))
p = (value - 1) / 0.25
sigma = 0.25 * np.sqrt(p * (1 - p)) / np.sqrt(many)
print(
    f"mean {kept.mean():.5f} of {value:.5f}, {(kept.mean() - value) / sigma:+.1f} sigmas of {sigma:.5f}"
)
print("guess:", guess)

# %% [markdown]
r"""
The mean is **1.1**, up to the noise. One warning: this trick is for finite numbers. A NaN whose only bits are among the last ones would be cut to infinity. Test for NaN first.
And one about independence: if all threads get the same noise, each rounding is still unbiased, but the errors no longer cancel.

Where is this used? In training with fp4, gradients are rounded stochastically, weights and activations are not [3]: the weights of one step are used for many products, and the noise would stay in.

## 5. Gradients that vanish

The second way to lose a term is before the sum: it rounds to zero when it is stored. float16 ends at 2^-24, and gradients are small. Here are a hundred thousand, with sizes as they might be in a real network (made up, not recorded).
What share of them is 0 in float16?
"""

# %%
guess = "?"  # percent

rng = np.random.default_rng(seed=1)
gradients = rng.standard_normal(100_000) * 1e-7 * np.exp(1.5 * rng.standard_normal(100_000))
fig, ax = plt.subplots(figsize=(7, 3.2))
bins = np.arange(-44, 1)
for scale, style in ((1, "-"), (2.0**12, "--")):
    lost = (round_to(gradients * scale, "fp16") == 0).mean()
    print(f"scale {scale:6g}: {100 * lost:.1f} % become 0")
    counts, _ = np.histogram(np.log2(np.abs(gradients * scale)), bins)
    ax.step(bins[:-1], counts, style, where="post", label=f"scale {scale:g}")
ax.axvspan(-44, -25, color="tab:gray", alpha=0.3, label="0 in float16")
ax.set(xlabel="log2 of the size", ylabel="gradients")
ax.legend()
plt.show()
print("guess:", guess)

# %% [markdown]
r"""
More than a third. *Loss scaling* moves them all: multiply the loss by a power of two, and by the chain rule every gradient is multiplied, too. Divide in float32 before the weights are updated.

A power of two changes only exponents, so nothing else is rounded differently. How large must it be? The smallest number is 2^-24, and half of it, 2^-25, is a tie that goes to the even code, to 0.
So a gradient survives if its size times the scale is *more* than 2^-25. At the other end it must not overflow: 65504 is the largest number, and from 65520 on, halfway to where the next one would be, the result is infinity.

What is the smallest power of two that keeps a gradient of 2^-30? And one of 3 * 2^-31?
"""

# %%
guesses = {2.0**-30: "?", 3 * 2.0**-31: "?"}

for gradient, guess in guesses.items():
    scale = 1.0
    while round_to(gradient * scale, "fp16") == 0:
        scale *= 2
    print(
        f"{gradient:.3g}: scale {scale:g} makes it {round_to(gradient * scale, 'fp16'):.3g}, guess {guess}"
    )

# %% [markdown]
r"""
**64**, since 32 leads to the tie. And **32** for the larger one: 3 * 2^-31 * 16 is 1.5 * 2^-26, less than 2^-25; times 32 it is 1.5 * 2^-25, which rounds up to 2^-24.

Nobody knows the gradients in advance. So PyTorch's scaler finds the scale by trial [4]:

- Start high, at 65536.
- If any gradient is infinite or NaN, *skip the step*, halve the scale, and start counting again.
- After 2000 good steps in a row, double the scale, and start counting again.

Here the interval is 4 instead of 2000, and the run has overflows at steps 2, 3 and 9. Which scale is used after step 13?
"""

# %%
guess = "?"

scaler = Scaler(scale=1024.0, interval=4)
for number in range(1, 14):
    overflow = number in (2, 3, 9)
    scaler = scaler.after(overflow)
    print(f"step {number:2}  {'overflow, skipped' if overflow else 'good':17}"
          f"  scale {scaler.scale:6g}  good steps {scaler.good}")  # fmt: skip
print("guess:", guess)

# %% [markdown]
r"""
**512**: 1024 is halved twice, doubled after steps 4 to 7, halved at step 9, and doubled after steps 10 to 13.
A good step in between does not count when an overflow follows: "in a row" is what matters.

If you see `scale` fall from step to step and never recover, the gradients are not large: they are NaN, and no scale helps.
bf16 needs no scaler, since its exponents reach as far as those of float32. That is the main reason why it replaced float16 in training.

## 6. What Hopper keeps of an fp8 product

Tensor cores multiply short numbers and "accumulate in fp32". For fp8 on Hopper this is not the whole truth. Two reports from DeepSeek describe it [5, 6]:

- The products of 32 pairs are shifted to the largest exponent among them. Of each, 13 bits of fraction are kept; the rest is cut off, not rounded.
- Their sum goes into a register with 13 bits of fraction. Its name is FP22: 1 + 8 + 13.
- On an H800 about 14 bits remain. In a product of two random matrices with K = 4096 the largest relative error was nearly 2 %.

`hopper_dot` emulates this. It is *modelled*, from these sentences; that the register is cut like one more product is our assumption.

13 bits in one report, 14 in the other: do they contradict each other? Let the register hold a power of two, and add one product of 1. After which power does the 1 get lost?
"""

# %%
guess = "?"  # the last power of two that still feels a 1

for power in range(11, 16):
    a, b = np.zeros(64), np.ones(64)
    a[0], b[0] = 256, 2.0 ** (power - 8)  # the first group of 32: one product of 2^power
    a[32] = 1  # the second group
    print(f"2^{power} + 1 = {hopper_dot(a, b):.0f}   exact {2**power + 1}")
print("guess:", guess)

# %% [markdown]
r"""
**2^13**. 8193 needs 14 significant bits: the hidden one and 13 of fraction. So both reports say the same.

For the 2 %, neither says which random numbers it took. We take two kinds. What do you expect of the error as K grows?
"""

# %%
guess = "?"  # grows, shrinks, or stays?


def errors(draw, k, **how):
    a, b = (round_to(draw((64, k)), "e4m3") for _ in range(2))
    exact = (a * b).sum(axis=-1)
    return np.abs(hopper_dot(a, b, **how) - exact).max() / np.abs(exact).max()


rng = np.random.default_rng(seed=5)
print("error over the largest result     K =    128     1024     4096    16384")
for name, draw in (("from 0 to 1", rng.random), ("normal, both signs", rng.standard_normal)):
    for promote in (None, 128):
        found = [errors(draw, k, promote_every=promote) for k in (128, 1024, 4096, 16384)]
        how = "one register" if promote is None else "fp32 every 128"
        print(f"{name:19} {how:15}", *(f"{100 * one:7.3f}%" for one in found))
print("guess:", guess)

# %% [markdown]
r"""
It **grows**, and with numbers of one sign it grows in proportion to K: each cut goes toward zero, so the errors add up instead of cancelling.
At K = 4096 the model gives about 7 % for numbers from 0 to 1 and 0.2 to 0.3 % for numbers of both signs. The published 2 % lies between them.

The mend is blocked summation, section 2 again. After 128 products, add the register to a total in fp32, outside of the tensor core, and clear it [5]. The error then stays where it was at K = 128.
DeepSeek did this on the ordinary cores, at the price of more instructions; libraries call it *promotion*, or leave it as a flag: `use_fast_accum` in PyTorch's `_scaled_mm` means without.

## What to remember

- A running sum with m bits of mantissa sticks where the terms are half a step: ones at 2^(m + 1), bf16 at 256.
- Storage and accumulation are two decisions. Short terms are fine, a short total is not.
- A tree or blocks need no wider type. A GPU's reduction is one anyway.
- Kahan: y = x - lost, t = total + y, lost = (t - total) - y. Four additions for one, free where memory is the bound. In the kernel, keep 0.0 out of it: that is float64.
- Stochastic rounding is unbiased: sigma = step * sqrt(p (1 - p)), over sqrt(n) for a mean. More than 5 sigmas is a bug.
- Loss scaling: a power of two, so that every gradient is above 2^-25 and none reaches 65520. The scaler halves and skips on overflow, and doubles after so many good steps in a row.
- Hopper's fp8 sum has 13 bits of fraction and is cut off: split long sums every 128 products.

**Next:** the lab, `t2_06_accumulation_lab`, in your folder `mine/t2_gpu/`.

## Sources

1. Stanford CS336, assignment 2 (2026), problem on mixed-precision accumulation: the question. The values are computed here.
2. W. Kahan, "Further remarks on reducing truncation errors", Communications of the ACM 8 (1), 1965.
3. NVIDIA, Transformer Engine documentation, "NVFP4", section on stochastic rounding, read in August 2026.
4. PyTorch documentation, `torch.amp.GradScaler`: init_scale 65536, growth_factor 2, backoff_factor 0.5, growth_interval 2000.
5. DeepSeek-AI, DeepSeek-V3 Technical Report, arXiv 2412.19437 v2, section 3.3.2: 14 bits, nearly 2 %, 128 products.
6. DeepSeek-AI, Insights into DeepSeek-V3, arXiv 2505.09343, section 3.1.1: 32 products, 13 fraction bits, FP22.
"""
