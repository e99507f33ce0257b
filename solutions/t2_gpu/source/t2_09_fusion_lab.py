# %% [markdown]
r"""
# Lab: fusion

Six exercises on kernels that move fewer bytes, with what you saw in the lesson `t2_09_fusion`. They take about 50 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

**All arithmetic in kernels is float32**: write `np.float32(0)`, not `0.0`, and `np.float32(-math.inf)`, not `-math.inf`.
An integer does not help: to Numba a float32 plus the integer 1 is a float64.

Run this cell first.
"""

# %%
import math

import numpy as np
from IPython.display import display

from warpwise import check, compare, cuda, profile, sanitize

THREADS = 128
ALL = 0xFFFFFFFF

# %% [markdown]
r"""
## Exercise 1 - Three kernels, one kernel (2 points)

**Goal.** An *activation* of a neural network, SiLU, comes behind the addition of a bias: with v = x + bias, the result is v / (1 + exp(-v)).
Below it is done by three kernels. Look at what they move.
"""


# %%
@cuda.jit
def add_bias(v, x, bias):
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        v[row, col] = x[row, col] + bias[col]


@cuda.jit
def gate(g, v):
    col, row = cuda.grid(2)
    if row < v.shape[0] and col < v.shape[1]:
        g[row, col] = np.float32(1) / (np.float32(1) + math.exp(-v[row, col]))


@cuda.jit
def multiply(out, v, g):
    col, row = cuda.grid(2)
    if row < v.shape[0] and col < v.shape[1]:
        out[row, col] = v[row, col] * g[row, col]


x = np.random.default_rng(seed=9).normal(size=(64, 256)).astype(np.float32)
bias = np.linspace(-1, 1, 256, dtype=np.float32)
v, g, out = (np.zeros_like(x) for _ in range(3))
for kernel, args in ((add_bias, (v, x, bias)), (gate, (g, v)), (multiply, (out, v, g))):
    report = profile(kernel[(8, 8), (32, 8)], *args)
    moved = 32 * sum(report.unique_sectors.values())
    print(f"{kernel.__name__:9} {moved:9,} bytes")

# %% [markdown]
r"""
**Given.** `x` and `out`: `(rows, columns)`. `bias`: `(columns,)`. All float32, with v anywhere from -1e4 to 1e4. x runs over the columns, y over the rows, with at least one thread for each element.

**Required.** `out = v / (1 + exp(-v))` with `v = x + bias`, each element written once, in one kernel.
At most the sectors that our solution moves: each element of `x` once in and once out, and the bias once for each warp.

**Example.** x = 0.5 and bias = 0.5 give 1 / (1 + exp(-1)) = 0.7310586.
"""


# %% fused_silu tags=["exercise"]
@cuda.jit
def fused_silu(out, x, bias, rows, columns):
    """out = SiLU of x + bias.   out, x: (rows, columns) float32;  bias: (columns,) float32."""
    ### BEGIN SOLUTION
    col, row = cuda.grid(2)
    if row < rows and col < columns:
        v = x[row, col] + bias[col]
        out[row, col] = v / (np.float32(1) + math.exp(-v))
    ### END SOLUTION


# %% tags=["check"]
check("fused_silu", fused_silu)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Where does a value stay between two lines of the same kernel?
</details>
<details><summary>Hint 2</summary>
In a variable, that is in a register. Load <code>x</code> and the bias, work out v, and store only the result.
</details>
<details><summary>Hint 3</summary>
<code>v = x[row, col] + bias[col]</code>, then <code>out[row, col] = v / (np.float32(1) + math.exp(-v))</code>, with both guards.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - The bytes before the kernel (2 points)

**Goal.** A *layer norm* makes each row's mean 0 and its variance 1. Say what fusing it saves before anybody writes it.

**Given.** A float32 matrix `x` of M rows and N columns. Five kernels, one after another, as a framework runs them:

| kernel | reads | writes |
|---|---|---|
| 1 | `x` | `mean`, one for each row |
| 2 | `x`, `mean` | `centred`, a matrix |
| 3 | `centred` | `variance`, one for each row |
| 4 | `centred`, `variance` | `scaled`, a matrix |
| 5 | `scaled`, `weight` and `bias` with one value for each *column* | `out`, a matrix |

The other way is a single kernel, which reads what comes from outside and writes `out`.

**Required.** A tuple of two integers: the bytes that the five kernels move, and the bytes that the single kernel moves.
A kernel that reads an array reads each of its elements from memory once, however many threads want it.

**Example.** `norm_bytes(2, 4)` is `(320, 96)`.
"""


# %% norm_bytes tags=["exercise"]
def norm_bytes(rows, columns):
    """(bytes moved by five kernels, bytes moved by one): a layer norm of rows x columns, float32."""
    ### BEGIN SOLUTION
    matrix, each_row, each_column = rows * columns, rows, columns
    reads = 5 * matrix + 2 * each_row + 2 * each_column
    writes = 3 * matrix + 2 * each_row
    return 4 * (reads + writes), 4 * (2 * matrix + 2 * each_column)
    ### END SOLUTION


# %% tags=["check"]
check("norm_bytes", norm_bytes)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Go through the table line by line. How many numbers has each array?
</details>
<details><summary>Hint 2</summary>
A matrix has <code>rows * columns</code> numbers, mean and variance <code>rows</code>, weight and bias <code>columns</code>. Count reads and writes, times 4 bytes.
</details>
<details><summary>Hint 3</summary>
Five kernels: matrices are read 5 times and written 3 times; per-row arrays are read twice and written twice; per-column arrays are read twice.
One kernel: <code>x</code>, weight and bias in, <code>out</code> out.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - Two halves of a row (2 points)

**Goal.** Two threads, two blocks or two GPUs have each seen a part of a row. Join what they know.

**Given.** Two states. A state is (m, s): m is the largest value seen, s is the sum of exp(value - m) over all values seen.
Who has seen nothing, or only -inf, has m = `-math.inf` and s = 0.

**Required.** The tuple (m, s) of both parts together. It must work for every m from -1e4 to 1e4, and when one part is empty, or both.

**Examples.** `merge_states(1.0, 2.0, 1.0, 3.0)` is `(1.0, 5.0)`. `merge_states(-math.inf, 0.0, 3.0, 1.5)` is `(3.0, 1.5)`.
"""


# %% merge_states tags=["exercise"]
def merge_states(m1, s1, m2, s2):
    """(m, s) of two parts of a row: floats; m is -inf and s is 0 for a part without values."""
    ### BEGIN SOLUTION
    m = max(m1, m2)
    if m == -math.inf:
        return m, 0.0
    return m, s1 * math.exp(m1 - m) + s2 * math.exp(m2 - m)
    ### END SOLUTION


# %% tags=["check"]
check("merge_states", merge_states)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
The two sums were made with different m. Which m do both need before you may add them?
</details>
<details><summary>Hint 2</summary>
The larger one. A sum made with m1 becomes one made with m when it is multiplied by exp(m1 - m). What is -inf minus -inf?
</details>
<details><summary>Hint 3</summary>
<code>m = max(m1, m2)</code>; if that is <code>-math.inf</code>, return <code>(m, 0.0)</code>; else <code>s1 * math.exp(m1 - m) + s2 * math.exp(m2 - m)</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - Debug: the state of each row (2 points)

**Goal.** This kernel finds (m, s) of each row in one pass, with a block of 128 threads for each row. It has two faults.
The sanitizer finds one. The values of the second and third row show the other.
"""


# %%
@cuda.jit
def states_broken(top, total, x, n):
    tops = cuda.shared.array(THREADS, np.float32)
    sums = cuda.shared.array(THREADS, np.float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    m, s = np.float32(-math.inf), np.float32(0)
    for col in range(t, n, THREADS):
        value = x[row, col]
        new = max(m, value)
        s = s * math.exp(m - new) + math.exp(value - new)
        m = new
    tops[t] = m
    sums[t] = s
    cuda.syncthreads()
    stride = THREADS // 2
    while stride > 0:
        if t < stride:
            new = max(tops[t], tops[t + stride])
            sums[t] = sums[t] * math.exp(tops[t] - new) + sums[t + stride] * math.exp(
                tops[t + stride] - new
            )
            tops[t] = new
        stride //= 2
    if t == 0:
        top[row] = tops[0]
        total[row] = sums[0]


numbers = np.random.default_rng(seed=4).normal(size=(3, 300)).astype(np.float32)
numbers[1, :150] = -math.inf
numbers[2, :] = -math.inf
top, total = np.zeros(3, np.float32), np.zeros(3, np.float32)
states_broken[3, THREADS](top, total, numbers, 300)
for row in range(3):
    print(f"row {row}: m = {top[row]:.4f}, s = {total[row]:.4f}")
for finding in sanitize(states_broken[3, THREADS], top, total, numbers, 300)[:1]:
    print(finding)

# %% [markdown]
r"""
**Given.** `x`: `(rows, n)` float32, values from -1e4 to 1e4, and -inf. `top` and `total`: `(rows,)` float32. A block of `THREADS` = 128 threads for each row. n is at least 1.

**Required.** `top[row] = m` and `total[row] = s`. A row of -inf alone has m = -inf and s = 0. Nothing for the sanitizer to find.
Each value of `x` is loaded once: no more sectors than our solution loads. At most 8 barriers a block, and 1,024 bytes of shared memory.

**Example.** A row `[0, 0, 0, 0]` has m = 0 and s = 4. Copy the broken kernel's lines into the hole and mend them.
"""


# %% row_states tags=["exercise"]
@cuda.jit
def row_states(top, total, x, n):
    """(m, s) of each row, in one pass.   top, total: (rows,) float32;  x: (rows, n) float32."""
    ### BEGIN SOLUTION
    tops = cuda.shared.array(THREADS, np.float32)
    sums = cuda.shared.array(THREADS, np.float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    m, s = np.float32(-math.inf), np.float32(0)
    for col in range(t, n, THREADS):
        value = x[row, col]
        if value > -math.inf:  # exp(-inf) adds nothing
            new = max(m, value)
            s = s * math.exp(m - new) + math.exp(value - new)
            m = new
    tops[t] = m
    sums[t] = s
    cuda.syncthreads()
    stride = THREADS // 2
    while stride > 0:
        if t < stride:
            new = max(tops[t], tops[t + stride])
            if new > -math.inf:
                sums[t] = sums[t] * math.exp(tops[t] - new) + sums[t + stride] * math.exp(
                    tops[t + stride] - new
                )
                tops[t] = new
        cuda.syncthreads()  # before the next round reads what this one wrote
        stride //= 2
    if t == 0:
        top[row] = tops[0]
        total[row] = sums[0]
    ### END SOLUTION


# %% tags=["check"]
check("row_states", row_states)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
The finding names a line of the loop over <code>stride</code>: what does a round read that the round before wrote? The values: what is -inf minus -inf?
</details>
<details><summary>Hint 2</summary>
Each round of the tree needs a barrier, outside of the <code>if</code>. And exp must never see -inf minus -inf: not in the loop over the columns, and not when two empty parts are merged.
</details>
<details><summary>Hint 3</summary>
<code>cuda.syncthreads()</code> behind the <code>if</code>, before <code>stride //= 2</code>.
In the first loop do nothing when <code>value</code> is -inf; in the tree do nothing when <code>new</code> is -inf.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - The online softmax (2 points)

**Goal.** A softmax that reads each row twice, not three times, and that no row breaks.

**Given.** `x` and `y`: `(rows, n)` float32; values from -1e4 to 1e4, and -inf. Blocks of 128 threads: each *warp* has a row of its own.
Warp w of block b has row 4 * b + w; in the last block some warps may have none. n is at least 1.

**Required.** `y` is the softmax of each row of `x`, each element written once. A row of -inf alone gives zeros.
At most the sectors of `x`, loaded twice. At most three times the issue slots of our solution.

**Example.** A row `[0, 0, -inf, 0]` gives `[1/3, 1/3, 0, 1/3]`.
"""


# %% online_softmax tags=["exercise"]
@cuda.jit
def online_softmax(y, x, rows, n):
    """y = softmax of each row of x, a warp for each row.   x, y: (rows, n) float32."""
    ### BEGIN SOLUTION
    row, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    if row >= rows:  # all lanes of the warp
        return
    m, s = np.float32(-math.inf), np.float32(0)
    for col in range(lane, n, 32):
        value = x[row, col]
        if value > m:
            s = s * math.exp(m - value) + np.float32(1)
            m = value
        elif value > -math.inf:
            s += math.exp(value - m)
    for step in (16, 8, 4, 2, 1):
        m2 = cuda.shfl_xor_sync(ALL, m, step)
        s2 = cuda.shfl_xor_sync(ALL, s, step)
        new = max(m, m2)
        if new > -math.inf:
            s = s * math.exp(m - new) + s2 * math.exp(m2 - new)
            m = new
    for col in range(lane, n, 32):
        if s > 0:
            y[row, col] = math.exp(x[row, col] - m) / s
        else:
            y[row, col] = 0
    ### END SOLUTION


# %% tags=["check"]
check("online_softmax", online_softmax)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Three parts: each lane finds (m, s) of its columns, the lanes merge their states, each lane writes its columns.
</details>
<details><summary>Hint 2</summary>
Load a value into a variable, and use it twice. The merge is that of exercise 3, with <code>cuda.shfl_xor_sync(ALL, m, step)</code> for steps 16, 8, 4, 2, 1.
Take care wherever m can be -inf: no value yet, no finite value at all.
</details>
<details><summary>Hint 3</summary>
<code>row = cuda.grid(1) // 32</code>, <code>lane = cuda.threadIdx.x % 32</code>, columns <code>lane, lane + 32, ...</code>.
Skip a value of -inf; skip a merge when the larger m is -inf. At the end s is 0 only for a row of -inf alone: store zeros.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - Stretch: a loss that reads its row once (2 points)

**Goal.** A language model is trained with the *cross entropy*: for each row of scores, minus the logarithm of the softmax at one column, the target.
Written as softmax, logarithm and choice, it moves the matrix many times. The scores are the largest matrix of the whole model.

**Given.** `x`: `(rows, n)` float32, values from -1e4 to 1e4, no -inf. `target`: `(rows,)` int32, from 0 to n - 1. `loss`: `(rows,)` float32.
Blocks of 128 threads, and warp w of block b has row 4 * b + w, as in exercise 5.

**Required.** `loss[row] = m + log(s) - x[row, target[row]]`, where (m, s) is the state of the row; each element written once.
The sectors of `x` are loaded **once**: at most 1.1 times what our solution loads. At most three times its issue slots.

**Example.** A row `[0, 0, 0, 0]` with any target has the loss log(4) = 1.386294. When the check passes, you see your kernel beside slower ones, with a score: 100 is our solution.
"""


# %% row_loss tags=["exercise"]
@cuda.jit
def row_loss(loss, x, target, rows, n):
    """loss = -log softmax(x)[target], a warp for each row.   loss: (rows,);  x: (rows, n) float32."""
    ### BEGIN SOLUTION
    row, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    if row >= rows:
        return
    m, s = np.float32(-math.inf), np.float32(0)
    for col in range(lane, n, 32):
        value = x[row, col]
        if value > m:
            s = s * math.exp(m - value) + np.float32(1)
            m = value
        else:
            s += math.exp(value - m)
    for step in (16, 8, 4, 2, 1):
        m2 = cuda.shfl_xor_sync(ALL, m, step)
        s2 = cuda.shfl_xor_sync(ALL, s, step)
        new = max(m, m2)
        if new > -math.inf:  # lanes without a column
            s = s * math.exp(m - new) + s2 * math.exp(m2 - new)
            m = new
    if lane == 0:
        loss[row] = (m - x[row, target[row]]) + math.log(s)
    ### END SOLUTION


# %%
@cuda.jit
def loss_in_two_passes(loss, x, target, rows, n):
    row, lane = cuda.grid(1) // 32, cuda.threadIdx.x % 32
    if row >= rows:
        return
    m, s = np.float32(-math.inf), np.float32(0)
    for col in range(lane, n, 32):
        m = max(m, x[row, col])
    for step in (16, 8, 4, 2, 1):
        m = max(m, cuda.shfl_xor_sync(ALL, m, step))
    for col in range(lane, n, 32):
        s += math.exp(x[row, col] - m)
    for step in (16, 8, 4, 2, 1):
        s += cuda.shfl_xor_sync(ALL, s, step)
    if lane == 0:
        loss[row] = m - x[row, target[row]] + math.log(s)


@cuda.jit
def loss_of_softmax(loss, y, target, rows):
    row = cuda.grid(1)
    if row < rows:
        loss[row] = -math.log(y[row, target[row]])


# %% tags=["check"]
if check("row_loss", row_loss).status == "pass":
    scores = np.random.default_rng(seed=6).normal(size=(64, 1024)).astype(np.float32)
    target, loss = np.arange(64, dtype=np.int32), np.zeros(64, np.float32)
    soft = np.zeros_like(scores)
    versions = {
        "softmax first": (online_softmax[16, 128], soft, scores, 64, 1024),
        "two passes": (loss_in_two_passes[16, 128], loss, scores, target, 64, 1024),
        "yours": (row_loss[16, 128], loss, scores, target, 64, 1024),
    }
    least = 8_320  # sectors of our solution in this launch
    for name, (launch, *args) in versions.items():
        report = profile(launch, *args)
        sectors = report.loads.sectors + report.stores.sectors
        print(f"{name:14} {sectors:7,} sectors, score {100 * least / sectors:.0f}")
    display(compare(versions, device="A100 40GB"))

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
The loss needs m, s and one value of the row. None of them needs a second pass.
</details>
<details><summary>Hint 2</summary>
Find (m, s) as in exercise 5. Then one lane loads the target's score and stores the loss.
</details>
<details><summary>Hint 3</summary>
<code>if lane == 0: loss[row] = (m - x[row, target[row]]) + math.log(s)</code>. Take the difference first: both may be near 1e4, and log(s) would be rounded away.
</details>
"""

# %% [markdown] tags=["solution"]
r"""
## Remarks on the answers

- In exercise 1 the three kernels move 7 matrices, the single one 2.
- In exercise 2 the ratio tends to 4 for large matrices, as for the softmax of the lesson: 8 passes of the matrix become 2.
- In exercise 3 the order of the two parts does not matter, and three parts may be merged in any order. So it can be done by a tree, by atomics under a lock, or around a ring of GPUs.
- In exercise 4 a start of m = -3.4e38, the least float32, mends the values as well, but then the state of an empty row is not the one asked for.
- In exercise 5 the branch `value > m` saves one of the two exponentials. A warp with lanes in both branches runs both; after the first few columns that is rare.
- In exercise 6 `m + log(s) - x` and `(m - x) + log(s)` differ: at m = 1e4 a float32 has steps of about 0.001, so the sum `m + log(s)` loses the digits of log(s).
"""

# %% [markdown]
r"""
**Done?** Fewer bytes, the same numbers. You can now merge partial softmaxes, and that is the heart of the next lesson, `t2_10_attention`.
To compare your answers with ours, open `solutions/t2_gpu/t2_09_fusion_lab.ipynb`.
"""
