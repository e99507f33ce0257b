# %% [markdown]
r"""
# Lab: scan

Six exercises on running totals, with what you saw in the lesson `t1_08_scan`. They take about 60 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

Blocks, grids and lengths change from check to check. Values are float32.
Where a kernel gets `n`, the last block may have fewer elements than threads, and n may be 0.
From exercise 3 on, a kernel also loads no element twice: the sectors that it loads and stores are counted.

Run this cell first.
"""

# %%
import numpy as np

from warpwise import check, cuda, profile, sanitize

# %% [markdown]
r"""
## Exercise 1 - From inclusive to exclusive (1 point)

**Goal.** Somebody hands you the inclusive scan of an array, and you need the exclusive one. The array itself is gone.

**Given.** `scanned`: the inclusive scan, n float32 values. `out`: n float32 values. At least one thread for each element.

**Required.** `out[i]` is the total of everything before element i. Each element is written once.

**Example.** `[3, 4, 11, 11]` becomes `[0, 3, 4, 11]`.
"""


# %% make_exclusive tags=["exercise"]
@cuda.jit
def make_exclusive(out, scanned, n):
    """The exclusive scan from the inclusive one.   out, scanned: (n,) float32."""
    ### BEGIN SOLUTION
    i = cuda.grid(1)
    if i < n:
        if i == 0:
            out[i] = 0
        else:
            out[i] = scanned[i - 1]
    ### END SOLUTION


# %% tags=["check"]
check("make_exclusive", make_exclusive)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Write both rows below each other. Where did each number move?
</details>
<details><summary>Hint 2</summary>
One place to the right. What comes into the place that became free? And what does index -1 mean?
</details>
<details><summary>Hint 3</summary>
<code>out[i] = scanned[i - 1]</code> for i &gt; 0, and <code>out[0] = 0</code>. The guard <code>i &lt; n</code> stands before both.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - Adds, before you run (2 points)

**Goal.** Say how many adds the two scans make, for *any* length. An ordinary Python function, not a kernel.

**Given.** `n`, at least 2.

**Required.** A tuple of two integers:

- the adds of a doubling scan of n elements, with distances 1, 2, 4, ... below n; it needs no power of two,
- the adds of the scan up and down a tree. A tree needs a power of two, so it works on the next one that is at least n.

**Examples.** `scan_adds(8)` is `(17, 14)`. `scan_adds(5)` is `(8, 14)`: the doubling scan adds 4 + 3 + 1 times, the tree works on 8 elements.
"""


# %% scan_adds tags=["exercise"]
def scan_adds(n):
    """(adds of the doubling scan, adds of the tree scan) for n elements."""
    ### BEGIN SOLUTION
    doubling, d = 0, 1
    while d < n:
        doubling += n - d
        d *= 2
    return doubling, 2 * (d - 1)  # d is now the next power of two
    ### END SOLUTION


# %% tags=["check"]
check("scan_adds", scan_adds)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Go through the rounds of the doubling scan for n = 5. Which threads add in each of them?
</details>
<details><summary>Hint 2</summary>
A round with distance d has n - d adds. The tree makes one add less than it has elements, on the way up and on the way down.
</details>
<details><summary>Hint 3</summary>
A loop: <code>d = 1</code>, and while <code>d &lt; n</code> add <code>n - d</code> and double d.
After the loop d is the power of two that the tree needs: <code>2 * (d - 1)</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - Mend a scan (3 points)

Each block of this kernel should compute the running sums of its own part of `a`. Its author knew that a round needs two barriers.
Run the cell and read the finding.
"""


# %%
@cuda.jit
def running_sum_broken(out, a):
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.syncthreads()
    d = 1
    while d < cuda.blockDim.x:
        if t >= d:
            total = s[t - d] + s[t]
            cuda.syncthreads()
            s[t] = total
        cuda.syncthreads()
        d *= 2
    out[i] = s[t]


a = np.arange(1, 129, dtype=np.float32)
sanitize(running_sum_broken[2, 64], np.zeros_like(a), a)

# %% [markdown]
r"""
**Goal.** Write the kernel without the mistake. If your first repair is to delete a barrier, look at what the check says about it.

**Given.** `out` and `a` have exactly one element for each thread of the grid. Blocks have up to 1,024 threads, any number, also 1 or 33.

**Required.** `out[i]` is the sum of the elements of *its block's part* up to and including `a[i]`. Each element is written once.
No finding. At most 8 KB of shared memory, two barriers a round (and two more), and at most a quarter more adds than a doubling scan.

**Example.** Two blocks of 3 threads on `[1, 2, 3, 10, 20, 30]` give `[1, 3, 6, 10, 30, 60]`.
"""


# %% running_sum tags=["exercise"]
@cuda.jit
def running_sum(out, a):
    """Inclusive scan of each block's part.   out, a: one float32 for each thread."""
    ### BEGIN SOLUTION
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.syncthreads()
    d = 1
    while d < cuda.blockDim.x:
        if t >= d:
            total = s[t - d] + s[t]
        cuda.syncthreads()
        if t >= d:
            s[t] = total
        cuda.syncthreads()
        d *= 2
    out[i] = s[t]
    ### END SOLUTION


# %% tags=["check"]
check("running_sum", running_sum)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Which threads reach the barrier in the middle, and which ones go past it?
</details>
<details><summary>Hint 2</summary>
A barrier has to be reached by all threads of the block. And the reads of a round must be over before its first write. Both together.
</details>
<details><summary>Hint 3</summary>
Close the <code>if</code> after the read. Then <code>cuda.syncthreads()</code>, then a second <code>if t &gt;= d:</code> with the write, then the other barrier.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - Interest by the warp (3 points)

**Goal.** Compose maps x -> a * x + b, each warp on its own, without shared memory and without a barrier.

**Given.** `a` and `b`: n float32 values each; the pair `(a[i], b[i])` is the map of element i. Blocks have a multiple of 32 threads,
and there is a thread for each element. Thread i of the grid has element i, so each warp has 32 neighbouring maps; the last one may have fewer.

**Required.** The pair `(out_a[i], out_b[i])` is the map that does what the maps of *its warp* do one after another,
from the warp's first element up to and including i. Each element is written once. No shared memory, no barrier, and at most twice our issue slots.

First (a1, b1), then (a2, b2) is the map (a2 * a1, a2 * b1 + b2). The order matters.

**Example.** Maps (2, 1), (3, 5) in one warp: first x -> 2x + 1, then x -> 3x + 5. So out_a is `[2, 6]` and out_b is `[1, 8]`.
"""


# %% affine_warps tags=["exercise"]
@cuda.jit
def affine_warps(out_a, out_b, a, b, n):
    """Inclusive scan of maps, each warp by itself.   all arrays: (n,) float32."""
    ### BEGIN SOLUTION
    i = cuda.grid(1)
    lane = cuda.laneid
    a2, b2 = np.float32(1), np.float32(0)
    if i < n:
        a2, b2 = a[i], b[i]
    d = 1
    while d < 32:
        a1 = cuda.shfl_up_sync(0xFFFFFFFF, a2, d)
        b1 = cuda.shfl_up_sync(0xFFFFFFFF, b2, d)
        if lane >= d:
            a2, b2 = a2 * a1, a2 * b1 + b2
        d *= 2
    if i < n:
        out_a[i] = a2
        out_b[i] = b2
    ### END SOLUTION


# %% tags=["check"]
check("affine_warps", affine_warps)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
It is the warp scan of the lesson, with two numbers that travel together. Which of the two maps that meet in a lane comes first?
</details>
<details><summary>Hint 2</summary>
Two shuffles a round, one for a and one for b, by all 32 lanes. What comes from below is (a1, b1), the lane's own map is (a2, b2).
Lanes without an element need a map that changes nothing.
</details>
<details><summary>Hint 3</summary>
<code>a2, b2 = a2 * a1, a2 * b1 + b2</code> behind <code>if lane &gt;= d:</code>, for d = 1, 2, 4, 8, 16.
Lanes beyond n start with <code>np.float32(1), np.float32(0)</code>; loads and stores are guarded by <code>i &lt; n</code>, the shuffles are not.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - A block with two barriers (3 points)

**Goal.** Scan each block's part, exclusively, and hand out its sum: the first of the three launches that scan an array of any length.

**Given.** `a` and `out`: n float32 values. `totals`: one float32 for each block. Blocks have a multiple of 32 threads, up to 1,024.
There is a thread for each element.

**Required.** `out[i]` is the sum of the elements of its block's part *before* element i.
`totals[k]` is the sum of all elements of block k, 0 if it has none. Everything is written once.
At most **two barriers** a block and **256 bytes** of shared memory, and no bank conflict.

**Example.** Block 0 has 64 threads, all elements are 1: `out` is 0, 1, 2, ..., 63, and `totals[0]` is 64.
"""


# %% exclusive_blocks tags=["exercise"]
@cuda.jit
def exclusive_blocks(out, totals, a, n):
    """Exclusive scan of each block's part, and its sum.   out, a: (n,), totals: (blocks,) float32."""
    ### BEGIN SOLUTION
    sums = cuda.shared.array(32, np.float32)
    i = cuda.grid(1)
    warp, lane = cuda.threadIdx.x // 32, cuda.laneid
    own = np.float32(0)
    if i < n:
        own = a[i]
    value = own
    d = 1
    while d < 32:
        below = cuda.shfl_up_sync(0xFFFFFFFF, value, d)
        if lane >= d:
            value = below + value
        d *= 2
    if lane == 31:
        sums[warp] = value
    cuda.syncthreads()
    if warp == 0:
        total = np.float32(0)
        if lane < cuda.blockDim.x // 32:
            total = sums[lane]
        d = 1
        while d < 32:
            below = cuda.shfl_up_sync(0xFFFFFFFF, total, d)
            if lane >= d:
                total = below + total
            d *= 2
        sums[lane] = total
    cuda.syncthreads()
    if warp > 0:
        value = sums[warp - 1] + value
    if i < n:
        out[i] = value - own
    if cuda.threadIdx.x == cuda.blockDim.x - 1:
        totals[cuda.blockIdx.x] = value
    ### END SOLUTION


# %% tags=["check"]
check("exclusive_blocks", exclusive_blocks)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Three steps: within each warp, over the warps' sums, and the two together. Which of them wait for another warp?
</details>
<details><summary>Hint 2</summary>
Scan each warp by shuffles. Its last lane stores the sum of the warp in a shared array of 32 values. Barrier. The first warp scans these by the same five rounds. Barrier.
Every thread of warp w adds what stands at w - 1.
</details>
<details><summary>Hint 3</summary>
Threads beyond n take part with 0. A block may have fewer than 32 warps: lanes at or beyond <code>blockDim.x // 32</code> take 0 instead of reading.
With the inclusive value at hand, <code>out[i] = value - own</code>, and the last thread's value is the total.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - Stretch: the bank statement, in one launch (2 points)

**Goal.** The question at the top of the lesson, with interest: the balance after each of n days, for any n, in a single launch.

**Given.** `a` and `b`: n float32 values each. On day i the balance x becomes `a[i] * x + b[i]`. Before day 0 the account is empty: x = 0.
Scratch, all 0 at the start, to use as you like: `counter` (one int32), `flag` (one int32 for each block),
`total` and `prefix` (shape `(blocks, 2)`, float32).
Blocks have a multiple of 32 threads, and there is a thread for each day.

**Required.** `out[i]` is the balance after day i. Each element is written once, and no finding.
The arrays are loaded once: at most 10% more sectors than our solution needs.
At most six barriers a block, twice as many as ours, and one and a half times the transactions of our atomics.

**Example.** a = [1, 2, 1], b = [10, 5, -3] gives [10, 25, 22].

The lesson has a scan in one launch in section 10. There a counter and a look-back found one sum. What do they have to find here, and in which order?
"""


# %% balances tags=["exercise"]
@cuda.jit
def balances(out, a, b, counter, flag, total, prefix, n):
    """Balance after each day.   out, a, b: (n,) float32;  counter, flag: int32;  total, prefix: (blocks, 2)."""
    ### BEGIN SOLUTION
    warps = cuda.shared.array((32, 2), np.float32)
    before = cuda.shared.array(1, np.float32)
    number = cuda.shared.array(1, np.int32)
    t = cuda.threadIdx.x
    warp, lane = t // 32, cuda.laneid
    if t == 0:
        number[0] = cuda.atomic.add(counter, 0, 1)
    cuda.syncthreads()
    block = number[0]
    i = block * cuda.blockDim.x + t
    a2, b2 = np.float32(1), np.float32(0)
    if i < n:
        a2, b2 = a[i], b[i]

    d = 1  # within the warp
    while d < 32:
        a1 = cuda.shfl_up_sync(0xFFFFFFFF, a2, d)
        b1 = cuda.shfl_up_sync(0xFFFFFFFF, b2, d)
        if lane >= d:
            a2, b2 = a2 * a1, a2 * b1 + b2
        d *= 2
    if lane == 31:
        warps[warp, 0] = a2
        warps[warp, 1] = b2
    cuda.syncthreads()
    a1, b1 = np.float32(1), np.float32(0)  # the warps before
    for k in range(warp):
        a1, b1 = warps[k, 0] * a1, warps[k, 0] * b1 + warps[k, 1]
    a2, b2 = a2 * a1, a2 * b1 + b2

    if t == cuda.blockDim.x - 1:  # the blocks before
        total[block, 0] = a2
        total[block, 1] = b2
        cuda.threadfence()
        cuda.atomic.exch(flag, block, 1)
        a1, b1 = np.float32(1), np.float32(0)
        k = block - 1
        while k >= 0:
            seen = cuda.atomic.add(flag, k, 0)
            cuda.threadfence()
            if seen == 2:  # a balance: everything before is in it
                b1 = a1 * prefix[k, 0] + b1
                k = -1
            elif seen == 1:
                a1, b1 = a1 * total[k, 0], a1 * total[k, 1] + b1
                k -= 1
        prefix[block, 0] = a2 * b1 + b2
        cuda.threadfence()
        cuda.atomic.exch(flag, block, 2)
        before[0] = b1
    cuda.syncthreads()
    if i < n:
        out[i] = a2 * before[0] + b2
    ### END SOLUTION


# %% [markdown]
r"""
When the check passes, a score follows: how many sectors a kernel must move at least, over how many yours moves.
The rungs below it are other ways at their best, by the number of arrays that they go over.
"""

# %% tags=["check"]
if check("balances", balances).status == "pass":
    n, blocks = 16_384, 16
    a, b = np.ones(n, np.float32), np.ones(n, np.float32)
    scratch = [np.zeros(shape, kind) for shape, kind in (
        (1, np.int32), (blocks, np.int32), ((blocks, 2), np.float32), ((blocks, 2), np.float32)
    )]  # fmt: skip
    report = profile(balances[blocks, 1024], np.zeros_like(a), a, b, *scratch, n)
    least = 3 * n / 8  # load a and b, store out
    yours = report.loads.sectors + report.stores.sectors
    print("counted for yours, reckoned from the arrays gone over for the others:")
    print(
        f"yours                                         {least / yours:4.0%} of {yours:,} sectors"
    )
    for way, passes in {
        "three launches, the first one stores no maps": 5,
        "three launches, maps stored and loaded again": 7,
        "doubling in global memory, 14 launches": 14 * 6,
    }.items():
        print(f"{way:45} {least / (passes * n / 8):4.0%}")

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Days are maps, as in exercise 4. Three levels: the warp, the warps before it in the block, the blocks before it.
At each level a map from the left meets a map of your own.
</details>
<details><summary>Hint 2</summary>
Take the lesson's <code>scan_single_pass</code>. A block publishes the map of all its days, two numbers, and then the flag.
Looking back, the block you reach comes <em>before</em> everything found so far. The account starts empty, so a prefix is a single number: a balance.
</details>
<details><summary>Hint 3</summary>
While looking back, (a1, b1) is what was found. A block with flag 1: <code>a1, b1 = a1 * total[k, 0], a1 * total[k, 1] + b1</code>.
A block with flag 2 ends the search: <code>b1 = a1 * prefix[k, 0] + b1</code>.
Then <code>out[i] = a2 * b1 + b2</code>, with b1 handed to all threads through shared memory.
</details>
"""

# %% [markdown] tags=["solution"]
r"""
## Remarks on the answers

- In exercise 1 the case i = 0 is no detail: `scanned[-1]` is the last element, and a GPU says nothing.
- In exercise 2 the tree makes fewer adds only when n is large enough: for 5 elements it makes 14, doubling 8.
- In exercise 3 two buffers with one barrier a round are just as right. So are the five rounds of shuffles, for whoever wants more.
- In exercise 4 both numbers are assigned at once. In two lines, b has to come first, since it needs the old a.
- In exercise 5 `value - own` works because numbers can be subtracted. For maxima or maps, shuffle the inclusive value up by one lane instead.
- In exercise 6 the warps' maps are composed in a short loop by every thread: at most 31 steps, and one barrier less than a second warp scan.
  No atomic operation could gather the maps in order of arrival: two numbers change together, and the order matters.
"""

# %% [markdown]
r"""
**Done?** You can now scan a warp, a block and an array, and you can say what it costs before you run it.
To compare your answers with ours, open `solutions/t1_kernels/t1_08_scan_lab.ipynb`.

- The next lesson, `t1_09_atomics`, counts what it costs when threads do meet at one place.
- A scan over maps is how some sequence models run their recurrence in parallel.
"""
