# %% [markdown]
r"""
# Lab: bus bandwidth

Five exercises on measured times of collectives, with what you saw in the lesson `t3_03_bus_bandwidth`. They take about 45 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

1 GB is 1,000,000,000 bytes; times are in seconds if nothing else is said.

Run this cell first.
"""

# %%
import numpy as np

from warpwise import check

# %% [markdown]
r"""
## Exercise 1 - To the digit (1 point)

**Goal.** Turn a time into a bus bandwidth.

**Given.** `operation`: `"all_reduce"`, `"all_gather"`, `"reduce_scatter"`, `"all_to_all"` or `"broadcast"`. `ranks`. `own_bytes`: the bytes that *each rank hands in*; for a broadcast, the bytes of the root. `seconds`: the time of one call.

**Required.** The bus bandwidth in GB/s, a float. Mind the S of nccl-tests.

**Examples.** `bus_gbs("all_reduce", 8, 16 * 2**30, 0.127997)` is about 234.89. `bus_gbs("all_gather", 4, 1e9, 0.01)` is 300: S is 4 GB.
"""


# %% bus_gbs tags=["exercise"]
def bus_gbs(operation, ranks, own_bytes, seconds):
    """Bus bandwidth in GB/s."""
    ### BEGIN SOLUTION
    size = own_bytes * ranks if operation == "all_gather" else own_bytes
    factor = {"all_reduce": 2 * (ranks - 1) / ranks, "broadcast": 1}.get(
        operation, (ranks - 1) / ranks
    )
    return factor * size / seconds / 1e9
    ### END SOLUTION


# %% tags=["check"]
check("bus_gbs", bus_gbs)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
The bus bandwidth is bytes divided by time, times a factor. Which bytes, and which factor?
</details>
<details><summary>Hint 2</summary>
S is what a rank hands in for all of them but the all-gather, where it is <code>ranks</code> times that.
</details>
<details><summary>Hint 3</summary>
All-reduce: <code>2 * (ranks - 1) / ranks</code>; broadcast: 1; the others: <code>(ranks - 1) / ranks</code>. Divide by <code>1e9</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - The line (3 points)

**Goal.** Fit a latency and a bandwidth to a table.

**Given.** `sizes`: bytes S, a float64 array. `seconds`: the measured times, as long. `factor`: the operation's factor. There are at least two different sizes.

**Required.** Two floats: alpha in seconds and B in bytes a second, with which the sum of the squares of the *relative* errors, (alpha + factor S/B - t)/t, is smallest.

With beta = 1/B the relative error is a sum of alpha times something and beta times something, less 1. So this is a linear problem, and `np.linalg.lstsq(rows, ones, rcond=None)[0]` solves it.

**Example.** Times that lie on a line exactly give this line: `fitted_line(np.array([1e6, 3e6]), np.array([3e-5, 5e-5]), 1.0)` is (2e-05, 1e+11).
"""


# %% fitted_line tags=["exercise"]
def fitted_line(sizes, seconds, factor):
    """(alpha in seconds, B in bytes a second) with the smallest relative errors."""
    ### BEGIN SOLUTION
    rows = np.stack([1 / seconds, factor * sizes / seconds], axis=1)
    alpha, beta = np.linalg.lstsq(rows, np.ones(len(sizes)), rcond=None)[0]
    return float(alpha), float(1 / beta)
    ### END SOLUTION


# %% tags=["check"]
check("fitted_line", fitted_line)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Divide alpha + beta factor S = t by t. What stands on the right-hand side then?
</details>
<details><summary>Hint 2</summary>
One row for each time: the coefficients of alpha and of beta. The right-hand side is ones.
</details>
<details><summary>Hint 3</summary>
<code>rows = np.stack([1 / seconds, factor * sizes / seconds], axis=1)</code>; the result is alpha and beta, and B is <code>1 / beta</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - Before you run (1 point)

**Goal.** Say how large a message has to be.

**Given.** `alpha` in seconds, `bandwidth` B in bytes a second, `factor`, and a `share` between 0 and 1.

**Required.** The smallest size S in bytes with which a call reaches this share of the bandwidth: factor S/t = share B. A float.

**Examples.** For a share of 0.5 it is n 1/2: `bytes_for(1e-5, 1e11, 2.0, 0.5)` is 500,000. `bytes_for(1e-5, 1e11, 1.0, 0.9)` is 9,000,000.
"""


# %% bytes_for tags=["exercise"]
def bytes_for(alpha, bandwidth, factor, share):
    """The bytes with which a call reaches this share of the bandwidth."""
    ### BEGIN SOLUTION
    return alpha * bandwidth / factor * share / (1 - share)
    ### END SOLUTION


# %% tags=["check"]
check("bytes_for", bytes_for)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Which part of the time must the term with the bytes have?
</details>
<details><summary>Hint 2</summary>
If the bytes' part of the time is <code>share</code>, alpha has the rest: alpha / (factor S/B) = (1 - share) / share.
</details>
<details><summary>Hint 3</summary>
n 1/2, which is <code>alpha * bandwidth / factor</code>, times <code>share / (1 - share)</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - A benchmark with three mistakes (2 points)

Somebody timed an all-gather: a list of times, one for each call, the first call first. This is how the result was computed. It says 5.9 GB/s, on links of 300.
"""


# %%
def broken_report(ranks, own_bytes, times):
    return 2 * (ranks - 1) / ranks * own_bytes / (sum(times) / len(times)) / 1e9


times = [0.0500, 0.000119, 0.000121, 0.000120, 0.000118]
print(f"{broken_report(8, 34_000_000, times):.1f} GB/s")

# %% [markdown]
r"""
**Goal.** Mend it.

**Given.** `ranks`; `own_bytes`, the bytes that each rank hands in to the all-gather; `times`: the seconds of at least two calls, in order. The first call also sets up the connections: leave it out.

**Required.** The bus bandwidth in GB/s, from the *median* of the times that are left. For an even number of times the median is the mean of the two in the middle.

**Example.** `all_gather_report(2, 1_000_000, [9.0, 0.001, 0.002, 0.004])` is 0.5.
"""


# %% all_gather_report tags=["exercise"]
def all_gather_report(ranks, own_bytes, times):
    """Bus bandwidth of an all-gather in GB/s, from the times of its calls."""
    ### BEGIN SOLUTION
    whole = ranks * own_bytes
    return float((ranks - 1) / ranks * whole / np.median(times[1:]) / 1e9)
    ### END SOLUTION


# %% tags=["check"]
check("all_gather_report", all_gather_report)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Look at the first time, at the factor, and at the bytes.
</details>
<details><summary>Hint 2</summary>
The factor belongs to an all-reduce. S is the array of all ranks.
</details>
<details><summary>Hint 3</summary>
<code>(ranks - 1) / ranks * ranks * own_bytes / np.median(times[1:]) / 1e9</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - Where the line breaks (3 points, stretch)

**Goal.** Find the size at which the library changes its protocol.

**Given.** `sizes`, `seconds` and `factor` as in exercise 2, sizes in ascending order, at least five.

**Required.** The number k of rows below the best cut: two lines of the kind of exercise 2, one through the first k rows and one through the rest, have the smallest sum of squared relative errors together. Each part has at least two rows. A whole number. You may call `fitted_line`.

For comparison, on the table of the lesson: one line leaves 0.645, a cut in the middle, after 10 rows, 0.375, the best cut 0.176.
"""


# %% best_cut tags=["exercise"]
def best_cut(sizes, seconds, factor):
    """How many rows belong to the first of the two best lines."""
    ### BEGIN SOLUTION

    def squares(part):
        rows = np.stack([1 / seconds[part], factor * sizes[part] / seconds[part]], axis=1)
        ones = np.ones(len(rows))
        found = np.linalg.lstsq(rows, ones, rcond=None)[0]
        return float(np.sum((rows @ found - ones) ** 2))

    cuts = range(2, len(sizes) - 1)
    return min(cuts, key=lambda k: squares(slice(None, k)) + squares(slice(k, None)))
    ### END SOLUTION


# %% tags=["check"]
check("best_cut", best_cut)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Try all cuts. What do you compute for each?
</details>
<details><summary>Hint 2</summary>
For each k from 2 to <code>len(sizes) - 2</code>: fit the first k rows and the rest, and add up the squared relative errors of both.
</details>
<details><summary>Hint 3</summary>
With alpha and B of a part, its errors are <code>(alpha + factor * s / B - t) / t</code>. Sum their squares over both parts, and take the k with the smallest sum.
</details>
"""
