# %% [markdown]
r"""
# Lab: accumulation

Six exercises on sums in short formats, with what you saw in the lesson `t2_06_accumulation`. They take about 50 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

Run this cell first.
"""

# %%
import numpy as np

from warpwise import check, cuda, profile
from warpwise.numerics import FORMATS, running_sums

# %% [markdown]
r"""
## Exercise 1 - Before it runs: where does it stick? (1 point)

**Goal.** Say in advance at which number a running sum stops growing.

**Given.** `mantissa_bits`, 1 or more, of a format. `term`, a power of two, is added again and again to a total that starts at 0.
Each total is rounded to the format, to nearest, ties to even. The format's largest number is far away.

**Required.** The number at which the total sticks, a float.

**Example.** `sticks_at(7, 1.0)`, ones in bf16, is 256.0.
"""


# %% sticks_at tags=["exercise"]
def sticks_at(mantissa_bits, term):
    """The total that no longer grows when `term` is added to it."""
    ### BEGIN SOLUTION
    return term * 2.0 ** (mantissa_bits + 1)
    ### END SOLUTION


# %% tags=["check"]
if check("sticks_at", sticks_at).status == "pass":
    for name in ("fp16", "bf16", "e4m3"):
        sums = running_sums(np.full(5000, 0.25), name)
        print(name, "predicted", sticks_at(FORMATS[name].mantissa_bits, 0.25), "ran to", sums[-1])

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
With 7 bits of mantissa there are 128 steps from one power of two to the next. How wide are they between 256 and 512?
</details>
<details><summary>Hint 2</summary>
The sum sticks where the term is half a step. With m bits the steps from 2^e on are 2^(e - m) wide.
</details>
<details><summary>Hint 3</summary>
For ones: half of 2^(e - m) is 1 when e = m + 1. Everything scales with the term: <code>term * 2.0 ** (mantissa_bits + 1)</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - The smallest scale that keeps every gradient (2 points)

**Goal.** Choose a loss scale for float16.

**Given.** `gradients`: `(n,)` float64, unscaled, some of them 0. n can be 0.

**Required.** The smallest scale out of 1, 2, 4, 8, ... with which every gradient that is not 0 is still not 0 in float16, and none overflows.
A float; if no such scale exists, 0.0. Zeros stay zeros and do not matter.

**Examples.** `[2**-24, 0.5]` needs 1.0. `[2**-30, 0.5]` needs 64.0: times 32 the first one is 2^-25, a tie that goes to 0.
`[2**-40, 3.0]` has no scale: 0.0.
"""


# %% smallest_scale tags=["exercise"]
def smallest_scale(gradients):
    """The smallest of 1, 2, 4, ... that keeps every gradient in float16; 0.0 if there is none."""
    ### BEGIN SOLUTION
    sizes = np.abs(gradients[gradients != 0])
    if sizes.size == 0:
        return 1.0
    scale = 1.0
    while sizes.min() * scale <= 2.0**-25:
        scale *= 2
    return scale if sizes.max() * scale < 65520 else 0.0
    ### END SOLUTION


# %% tags=["check"]
check("smallest_scale", smallest_scale)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Which gradient is the first to vanish, which is the first to overflow? Only these two matter.
</details>
<details><summary>Hint 2</summary>
Leave the zeros out. Double the scale while the smallest one times the scale is not above 2^-25. Then look at the largest one.
</details>
<details><summary>Hint 3</summary>
<code>sizes = np.abs(gradients[gradients != 0])</code>. Start with 1.0, and while <code>sizes.min() * scale &lt;= 2.0**-25</code> double it.
Return it if <code>sizes.max() * scale &lt; 65520</code>, else 0.0. Without any size return 1.0.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - The state of the scaler (2 points)

**Goal.** Follow a loss scaler through a run.

**Given.** `overflows`: a list of booleans, one for each step: was there an infinity or a NaN? `scale`: the scale of the first step. `interval`: so many good steps in a row double the scale.

**Required.** A list of floats as long as `overflows`: the scale that the scaler holds *after* each step, where it has seen whether the step was good.
An overflow halves the scale. Whenever the scale changes, counting starts again.

**Example.** `scaler_scales([False, True, False, False, False], 1024.0, 2)` is `[1024.0, 512.0, 512.0, 1024.0, 1024.0]`.
"""


# %% scaler_scales tags=["exercise"]
def scaler_scales(overflows, scale, interval):
    """The scale after each step."""
    ### BEGIN SOLUTION
    scales = []
    good = 0
    for overflow in overflows:
        if overflow:
            scale, good = scale / 2, 0
        else:
            good += 1
            if good == interval:
                scale, good = scale * 2, 0
        scales.append(scale)
    return scales
    ### END SOLUTION


# %% tags=["check"]
check("scaler_scales", scaler_scales)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
The scaler keeps two numbers from one step to the next. What are they?
</details>
<details><summary>Hint 2</summary>
Keep the scale and the number of good steps in a row. Which of the two events sets the second one back to 0? Both.
</details>
<details><summary>Hint 3</summary>
On overflow: <code>scale / 2</code>, and <code>good = 0</code>. Else add 1 to <code>good</code>; if it is now <code>interval</code>: <code>scale * 2</code>, and <code>good = 0</code>. Append the scale in either case.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - Stochastic rounding to bf16 (2 points)

**Goal.** Round float32 values to bf16, up or down at random.

**Given.** `bits`: `(n,)` uint32, the bits of float32 values, of any kind. `noise`: `(n,)` uint32, random in all 32 bits. `out`: `(n,)` uint16. At least one thread for each.

**Required.** The lower 16 bits of `bits[i]` are the rest, in 65536ths of a step. With r the *lower* 16 bits of `noise[i]`, the magnitude goes up if rest + r is 65536 or more, else down.
So a number of bf16 stays what it is. Beyond the largest number comes infinity, and infinity stays. Every NaN becomes 0x7FFF. Each element is written once.

**Example.** The bits 0x3F804000 are a quarter of a step above 1.0. With the noise 0x1234BFFF they become 0x3F80, with 0x0000C000 they become 0x3F81.
"""


# %% stochastic_bf16 tags=["exercise"]
@cuda.jit
def stochastic_bf16(out, bits, noise, n):
    """out = bf16 codes, rounded up with the chance rest / 65536.   uint16;  bits, noise: uint32."""
    ### BEGIN SOLUTION
    i = cuda.grid(1)
    if i < n:
        b = bits[i]
        if (b & 0x7FFFFFFF) > 0x7F800000:
            out[i] = 0x7FFF
        else:
            out[i] = (b + (noise[i] & 0xFFFF)) >> 16
    ### END SOLUTION


# %% tags=["check"]
if check("stochastic_bf16", stochastic_bf16).status == "pass":
    n = 1_000_000
    value = np.float32(1.003)  # between 1 and 1 + 2^-7
    noise = np.random.default_rng(seed=9).integers(0, 2**32, n, dtype=np.uint32)
    codes = np.zeros(n, np.uint16)
    stochastic_bf16[(n + 255) // 256, 256](codes, np.full(n, value).view(np.uint32), noise, n)
    mean = (codes.astype(np.uint32) << 16).view(np.float32).mean(dtype=np.float64)
    p = (float(value) - 1) * 128
    sigma = 2.0**-7 * np.sqrt(p * (1 - p) / n)
    print(f"mean {mean:.7f} of {value:.7f}: {(mean - value) / sigma:+.2f} sigmas")

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
The lesson did this for E5M2, where 8 bits go. Here 16 bits go.
</details>
<details><summary>Hint 2</summary>
Add the lower 16 bits of the noise and cut off: the carry does the rounding. What would the carry do to a NaN?
</details>
<details><summary>Hint 3</summary>
<code>(b + (noise[i] &amp; 0xFFFF)) &gt;&gt; 16</code>. It is a NaN when <code>(b &amp; 0x7FFFFFFF) &gt; 0x7F800000</code>: then store 0x7FFF.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - A dot product that goes wrong (2 points)

Each thread multiplies a column of `a` with a column of `b`, element by element, and adds up the products. The inputs are float16, the result is float32.
"""


# %%
@cuda.jit
def half_dot(out, a, b, m, n):
    j = cuda.grid(1)
    if j < n:
        total = np.float16(0)
        for i in range(m):
            total += a[i, j] * b[i, j]
        out[j] = total


rng = np.random.default_rng(seed=10)
a, b = (rng.uniform(1, 3, (1000, 4)).astype(np.float16) for _ in range(2))
a[:, 1] *= 300
out = np.zeros(4, np.float32)
report = profile(half_dot[1, 32], out, a, b, 1000, 4)
print("got     ", out)
print("expected", (a.astype(float) * b).sum(axis=0).round(1))
print("operations by type:", report.flops)

# %% [markdown]
r"""
One column is infinite, the others are off by up to 17, and the counters say why: all the arithmetic is float16.

**Goal.** Mend it. The inputs stay float16 in memory; nothing is computed in it.

**Given.** `a`, `b`: `(m, n)` float16. `out`: `(n,)` float32. At least one thread for each column. m can be 0: then the sum is 0.

**Required.** `out[j]` is the sum over i of `a[i, j] * b[i, j]`, with each product exact and the sum in float32.
No float64 operation: it is slow on most GPUs. Each element is written once.
"""


# %% mended_dot tags=["exercise"]
@cuda.jit
def mended_dot(out, a, b, m, n):
    """out[j] = sum of a[i, j] * b[i, j] over i, in float32.   out: (n,) float32;  a, b: float16."""
    ### BEGIN SOLUTION
    j = cuda.grid(1)
    if j < n:
        total = np.float32(0)
        for i in range(m):
            total += np.float32(a[i, j]) * np.float32(b[i, j])
        out[j] = total
    ### END SOLUTION


# %% tags=["check"]
check("mended_dot", mended_dot)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Two things are float16 in the loop: the total, and something that has no name.
</details>
<details><summary>Hint 2</summary>
A product of two float16 is a float16, whatever it is added to. Convert before you multiply. And what is the type of 0.0?
</details>
<details><summary>Hint 3</summary>
Start with <code>np.float32(0)</code> and add <code>np.float32(a[i, j]) * np.float32(b[i, j])</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - Stretch: a sum that cancels (3 points)

These numbers are large, of both signs, and nearly cancel. One block of 256 threads adds them up in the usual way: each thread its share, then a tree.
The second version is Kahan's in each thread, then the same tree; here it runs in NumPy, all 256 threads at once.
"""

# %%
THREADS = 256


@cuda.jit
def plain_sum(out, x, n):
    tile = cuda.shared.array(THREADS, np.float32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    for i in range(t, n, THREADS):
        total += x[i]
    tile[t] = total
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if t < step:
            tile[t] += tile[t + step]
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[0] = tile[0]


def kahan_then_tree(x):
    total = lost = np.zeros(THREADS, np.float32)
    for row in np.append(x, np.zeros(-x.size % THREADS, np.float32)).reshape(-1, THREADS):
        y = row - lost
        after = total + y
        total, lost = after, (after - total) - y
    while total.size > 1:
        total = total[: total.size // 2] + total[total.size // 2 :]
    return total[0]


rng = np.random.default_rng(seed=12)
large = rng.uniform(-1000, 1000, 2500).astype(np.float32)
x = rng.permutation(np.concatenate([large, -large, rng.uniform(0.1, 0.3, 1000)])).astype(np.float32)
exact = x.sum(dtype=np.float64)
out = np.zeros(1, np.float32)
plain_sum[1, THREADS](out, x, x.size)
for name, got in (("plain", out[0]), ("Kahan, then tree", kahan_then_tree(x))):
    print(f"{name:17} {got:.6f}   error in float32 steps: {abs(got - exact) / 2**-16:8.1f}")
print(f"{'exact':17} {exact:.6f}")

# %% [markdown]
r"""
Kahan alone does not help: each thread's sum is good, but the tree then rounds at every addition, while the numbers are still large.
So the tree must keep what it loses as well. Each thread brings a pair to it: a `total` and a `rest`, the sum of everything that was lost.

What one addition loses can be computed exactly, whichever of a and b is larger. D. Knuth's formula, here as text:

    s = a + b
    back = s - a
    error = (a - (s - back)) + (b - back)     # a + b is exactly s + error

**Goal.** Add up all of `x`, as good as float32 can say it.

**Given.** `x`: `(n,)` float32. `out`: `(1,)` float32. The launch is one block of `THREADS` = 256 threads, always. n is at least 1.

**Required.** The exact sum to 2^-23, relative, about one step of float32, however much cancels in these inputs. No float64. Nothing for the sanitizer to find, no bank conflicts, at most three times the issue slots of the course's solution.
All threads take part: neighbouring threads read neighbouring elements.
"""


# %% paired_sum tags=["exercise"]
@cuda.jit
def paired_sum(out, x, n):
    """out[0] = the sum of x, kept as pairs of float32.   out: (1,) float32;  x: (n,) float32."""
    ### BEGIN SOLUTION
    totals = cuda.shared.array(THREADS, np.float32)
    rests = cuda.shared.array(THREADS, np.float32)
    t = cuda.threadIdx.x
    total = np.float32(0)
    rest = np.float32(0)
    for i in range(t, n, THREADS):
        s = total + x[i]
        back = s - total
        rest += (total - (s - back)) + (x[i] - back)
        total = s
    totals[t] = total
    rests[t] = rest
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if t < step:
            a = totals[t]
            b = totals[t + step]
            s = a + b
            back = s - a
            rests[t] += rests[t + step] + ((a - (s - back)) + (b - back))
            totals[t] = s
        cuda.syncthreads()
        step //= 2
    if t == 0:
        out[0] = totals[0] + rests[0]
    ### END SOLUTION


# %% tags=["check"]
if check("paired_sum", paired_sum).status == "pass":
    paired_sum[1, THREADS](out, x, x.size)
    print(
        f"{'pairs':17} {out[0]:.6f}   error in float32 steps: {abs(out[0] - exact) / 2**-16:8.1f}"
    )
    for kernel in (plain_sum, paired_sum):
        work = profile(kernel[1, THREADS], out, x, x.size).work
        print(f"{kernel.__name__}: {work.slots:,} issue slots")

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Where does the plain kernel add? In two places. In both, compute the error and add it to a second number.
</details>
<details><summary>Hint 2</summary>
In the loop keep <code>total</code> and <code>rest</code>. In the tree keep two shared arrays. Joining two pairs: add the totals with Knuth's formula; the new rest is both rests plus the error.
</details>
<details><summary>Hint 3</summary>
In the tree: <code>a = totals[t]</code>, <code>b = totals[t + step]</code>, then the three lines, then
<code>rests[t] += rests[t + step] + error</code> and <code>totals[t] = s</code>. At the end store <code>totals[0] + rests[0]</code>.
</details>
"""

# %% [markdown] tags=["solution"]
r"""
## Remarks on the answers

- In exercise 1 the total that sticks is a power of two, whose code is even: the tie goes back to it.
- In exercise 2 PyTorch's scaler would find a scale without looking at a single gradient, at the price of skipped steps.
- In exercise 4 adding to the bits of a negative number makes its magnitude grow: the sign is a separate bit. So the rule "up" is about magnitudes, and the mean is kept for both signs.
- In exercise 5 each product is exact: 11 bits times 11 bits fit into 24.
- In exercise 6 `rests` needs no care of its own. It is small, so its roundings are smaller still.
  Kahan's `lost` would not do in the threads: it finds the error only where the total is larger than the term, and here totals cancel.
"""

# %% [markdown]
r"""
**Done?** You can say where a sum loses its terms, and choose what keeps them.
"""
