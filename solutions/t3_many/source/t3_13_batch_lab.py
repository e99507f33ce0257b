# %% [markdown]
r"""
# Lab: batch

Six exercises on batches, noise and cost, with what you saw in the lesson `t3_13_batch`. They take about 45 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

Run this cell first.
"""

# %%
import numpy as np

from warpwise import check

# %% [markdown]
r"""
## Exercise 1 - How often to accumulate (1 point)

**Goal.** Keep a batch when the number of ranks changes.

**Given.** The `batch` that is wanted, the number of `ranks`, and `micro`, the samples in a micro-batch of one rank.

**Required.** Two whole numbers: the fewest micro-batches that each rank must accumulate so that the global batch is *at least* the wanted one, and the global batch that results.

**Examples.** `accumulation(2048, 256, 4)` is `(2, 2048)`. `accumulation(1000, 64, 4)` is `(4, 1024)`.
"""


# %% accumulation tags=["exercise"]
def accumulation(batch, ranks, micro):
    """(micro-batches a rank, global batch)."""
    ### BEGIN SOLUTION
    count = -(-batch // (ranks * micro))
    return count, count * ranks * micro
    ### END SOLUTION


# %% tags=["check"]
check("accumulation", accumulation)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
How many samples do all ranks together see in one micro-batch each?
</details>
<details><summary>Hint 2</summary>
<code>ranks * micro</code>. How often does that fit into the batch, rounded up?
</details>
<details><summary>Hint 3</summary>
<code>-(-batch // (ranks * micro))</code>, and that times <code>ranks * micro</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - The noise scale (3 points)

**Goal.** Measure how noisy gradients are.

**Given.** `gradients`: a float64 array with one row for each sample, at least two rows, and one column for each weight.

**Required.** The noise scale tr(S)/|G|^2, a float. tr(S) is the sum over all columns of the variance of the column, with n - 1 in the denominator for n rows.
|G|^2 is the squared length of the mean row, *less* what noise adds to it: tr(S)/n. If this difference is not positive, the rows are too few to tell: return infinity, `float("inf")`.

**Example.** For the rows (1, 0) and (3, 0): tr(S) is 2, the mean row has the squared length 4, less 2/2 is 3. The noise scale is 2/3.
"""


# %% noise_of_samples tags=["exercise"]
def noise_of_samples(gradients):
    """tr(S) / |G|^2 without bias, from the gradients of single samples."""
    ### BEGIN SOLUTION
    n = len(gradients)
    trace = gradients.var(axis=0, ddof=1).sum()
    signal = (gradients.mean(axis=0) ** 2).sum() - trace / n
    return float(trace / signal) if signal > 0 else float("inf")
    ### END SOLUTION


# %% tags=["check"]
check("noise_of_samples", noise_of_samples)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Two numbers: how much the rows differ from their mean, and how long the mean is.
</details>
<details><summary>Hint 2</summary>
<code>gradients.var(axis=0, ddof=1)</code> has the variance of each column. The mean of n rows has 1/n of that as noise.
</details>
<details><summary>Hint 3</summary>
<code>trace = gradients.var(axis=0, ddof=1).sum()</code>; <code>signal = (gradients.mean(axis=0) ** 2).sum() - trace / n</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - From two batches (1 point)

**Goal.** Measure the noise scale in a run, from what is there.

**Given.** `small` and `big`, two batch sizes, `small < big`. `small_square` and `big_square`: the mean squared lengths of gradients over batches of these sizes.

**Required.** The noise scale tr(S)/|G|^2, a float. On average |G_b|^2 = |G|^2 + tr(S)/b.

**Example.** `noise_of_two(1, 4, 5.0, 2.0)`: tr(S) is 4 and |G|^2 is 1, so it is 4.
"""


# %% noise_of_two tags=["exercise"]
def noise_of_two(small, big, small_square, big_square):
    """The noise scale from mean squared lengths at two batch sizes."""
    ### BEGIN SOLUTION
    trace = (small_square - big_square) / (1 / small - 1 / big)
    return trace / (small_square - trace / small)
    ### END SOLUTION


# %% tags=["check"]
check("noise_of_two", noise_of_two)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Two equations, two unknowns. What is left if you subtract one from the other?
</details>
<details><summary>Hint 2</summary>
<code>small_square - big_square</code> is tr(S) times <code>(1/small - 1/big)</code>.
</details>
<details><summary>Hint 3</summary>
With tr(S) known, |G|^2 is <code>small_square - trace / small</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - Too far, twice (2 points)

A run was moved from a batch of 64 to one of 256, as four micro-batches of 64. This is its step. With a rate of 0.1 it went well before, and now it diverges.
"""


# %%
def broken_step(weights, gradients, rate, base, micro):
    """gradients: a row for each micro-batch, its mean gradient."""
    batch = micro * len(gradients)
    return weights - rate * batch / base * gradients.sum(axis=0)


w = np.array([1.0])
for _ in range(6):
    w = broken_step(w, np.tile(2 * w, (4, 1)), 0.1, 64, 64)  # the gradient of w * w, four times
    print(f"{w[0]:.2f}", end="  ")

# %% [markdown]
r"""
**Goal.** Mend it.

**Given.** `weights`: a float64 array. `gradients`: a row for each micro-batch, the *mean* gradient over its `micro` samples. `rate`: the learning rate that was right for a batch of `base` samples.

**Required.** The weights after one step of gradient descent with the gradient of the whole batch and the *linear scaling rule*, also where the batch is smaller than `base`. `weights` itself stays as it is.

**Example.** `scaled_step(np.array([1.0]), np.array([[1.0], [3.0]]), 0.1, 64, 64)`: the gradient is 2, the rate 0.2, so 0.6.
"""


# %% scaled_step tags=["exercise"]
def scaled_step(weights, gradients, rate, base, micro):
    """Weights after one step with the mean gradient and the linear scaling rule."""
    ### BEGIN SOLUTION
    batch = micro * len(gradients)
    return weights - rate * batch / base * gradients.mean(axis=0)
    ### END SOLUTION


# %% tags=["check"]
check("scaled_step", scaled_step)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
By how much did the step grow, from one micro-batch to four? And by how much should it?
</details>
<details><summary>Hint 2</summary>
The sum of four gradients is four times their mean. And the rate is four times as large, too.
</details>
<details><summary>Hint 3</summary>
Take <code>gradients.mean(axis=0)</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - Hours, before you run (1 point)

**Goal.** Say what a run will take and cost.

**Given.** `least_steps`, S_min. `noise`, B_noise. `devices`, each with a micro-batch of `micro` samples. `step_ms`: the time of one step in milliseconds.

**Required.** Two floats: the hours, and the device hours. Steps need not be whole.

**Example.** `run_hours(10_000, 4096, 256, 16, 120)` is about (0.6667, 170.67).
"""


# %% run_hours tags=["exercise"]
def run_hours(least_steps, noise, devices, micro, step_ms):
    """(hours, device hours) of a run."""
    ### BEGIN SOLUTION
    hours = least_steps * (1 + noise / (devices * micro)) * step_ms / 3.6e6
    return hours, hours * devices
    ### END SOLUTION


# %% tags=["check"]
check("run_hours", run_hours)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
First the batch, then the steps, then the time.
</details>
<details><summary>Hint 2</summary>
The batch is <code>devices * micro</code>; the steps are S_min (1 + B_noise/B).
</details>
<details><summary>Hint 3</summary>
<code>least_steps * (1 + noise / (devices * micro)) * step_ms / 3.6e6</code>, and that times <code>devices</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - How many devices? (2 points, stretch)

**Goal.** Choose the number of devices for a run with a deadline.

**Given.** `least_steps`, `noise` and `micro` as before. `step_ms`: a dictionary from a number of devices to the time of one step with so many. `deadline`: hours.

**Required.** The number of devices, a key of `step_ms`, with the fewest device hours among those that take at most `deadline` hours. If several cost the same, the fastest of them. If none is in time, `None`.

For comparison, with the numbers of the lesson's last section and a deadline of one hour: 4,096 devices would cost 1,451 device hours, 1,024 would cost 427, and the best choice, 256, costs 171.
"""


# %% devices_for tags=["exercise"]
def devices_for(least_steps, noise, micro, step_ms, deadline):
    """The cheapest number of devices that meets the deadline; None if there is none."""
    ### BEGIN SOLUTION
    found = []
    for devices, ms in step_ms.items():
        hours = least_steps * (1 + noise / (devices * micro)) * ms / 3.6e6
        if hours <= deadline:
            found.append((hours * devices, hours, devices))
    return min(found)[2] if found else None
    ### END SOLUTION


# %% tags=["check"]
check("devices_for", devices_for)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Compute hours and device hours for each number of devices. Which of them may be chosen?
</details>
<details><summary>Hint 2</summary>
Leave out those that miss the deadline, then take the cheapest.
</details>
<details><summary>Hint 3</summary>
Collect tuples <code>(device hours, hours, devices)</code> of those in time, and take <code>min</code>.
</details>
"""
