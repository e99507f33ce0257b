# %% [markdown]
r"""
# Lab: atomics

Six exercises on counting, with what you saw in the lesson `t1_09_atomics`. They take about 45 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

All counters are int32 and hold zeros before the launch. Sizes, blocks and grids change from case to case;
a block is always a multiple of 32 threads, so that each warp is full.
The checks look at values, at what the sanitizer finds, and at what was counted.

Run this cell first.
"""

# %%
import numpy as np

from warpwise import check, cuda, profile, sanitize
from warpwise.check import specs
from warpwise.check.requirements import baseline
from warpwise.show import table

# %% [markdown]
r"""
## Exercise 1 - How many are above? (1 point)

**Goal.** Count the elements that are larger than a limit.

**Given.** `count`: one int32, zero. `x`: `(n,)` float32. `limit`: a float.
The launch has at least one thread for each element.

**Required.** `count[0]` is the number of elements with `x[i] > limit`. An element equal to the limit does not count.

**Example.** With `limit = 2.0` the count of `[1, 2, 3, 5]` is 2.
"""


# %% count_above tags=["exercise"]
@cuda.jit
def count_above(count, x, limit, n):
    """count[0] = how many x[i] > limit.   count: (1,) int32, zero;  x: (n,) float32."""
    ### BEGIN SOLUTION
    i = cuda.grid(1)
    if i < n and x[i] > limit:
        cuda.atomic.add(count, 0, 1)
    ### END SOLUTION


# %% tags=["check"]
check("count_above", count_above)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Several threads want to change one counter. Which call reads, adds and writes in one step?
</details>
<details><summary>Hint 2</summary>
<code>cuda.atomic.add(array, index, value)</code>. Only threads with an element, and only those above the limit, call it.
</details>
<details><summary>Hint 3</summary>
<code>if i &lt; n and x[i] &gt; limit:</code>, and behind it <code>cuda.atomic.add(count, 0, 1)</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - Predict the transactions (2 points)

**Goal.** Before a run, say how many transactions one warp's atomic operation on global memory will take.
Write an ordinary Python function, not a kernel.

**Given.** `bins`: an array of integers. Lane k of the warp adds to `counts[bins[k]]`.
There can be fewer than 32 lanes. `counts` is int32 and starts at the beginning of a sector, and a sector has 32 bytes.

**Required.** The number of transactions, by the rule of the lesson: for each sector that is touched,
the number of lanes on its most wanted element; these numbers are added up.

**Examples.** For the bins 0, 1, 2, ..., 31 it is 4. For 32 times bin 5 it is 32.
For 0, 0, 0, 1, 1, 9 it is 3 + 1 = 4.
"""


# %% warp_transactions tags=["exercise"]
def warp_transactions(bins):
    """Transactions of one atomic request whose lane k goes to the int32 element bins[k]."""
    ### BEGIN SOLUTION
    lanes_on = {}
    for b in bins:
        lanes_on[b] = lanes_on.get(b, 0) + 1
    most = {}
    for b, lanes in lanes_on.items():
        sector = b // 8
        most[sector] = max(most.get(sector, 0), lanes)
    return sum(most.values())
    ### END SOLUTION


# %% tags=["check"]
check("warp_transactions", warp_transactions)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Two steps: count the lanes on each bin, then look at the bins of one sector together.
</details>
<details><summary>Hint 2</summary>
A sector holds 32 / 4 = 8 counters, so bin b is in sector <code>b // 8</code>.
Queues in one sector run side by side: only the longest counts. The sectors are added.
</details>
<details><summary>Hint 3</summary>
Keep a dictionary from bin to lanes. From it make a second one, from <code>b // 8</code> to the larger of what is there and the lanes of this bin.
Return the sum of its values.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - Mend the histogram (2 points)

Somebody gave each block a histogram of its own, with 16 bins. In their test the result was right, once.
Run the cell, and read what the sanitizer has to say.
"""


# %%
@cuda.jit
def broken_counts(counts, x, n):
    bins = cuda.shared.array(16, np.int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.add(bins, x[i], 1)
    if t < 16:
        cuda.atomic.add(counts, t, bins[t])


values = np.random.default_rng(seed=6).integers(0, 16, 300, dtype=np.int32)
for finding in sanitize(broken_counts[3, 128], np.zeros(16, np.int32), values, 300):
    print(finding)

# %% [markdown]
r"""
**Goal.** Mend it.

**Given.** `counts`: `(16,)` int32, zeros. `x`: `(n,)` int32, values from 0 to 15.
At least one thread for each element, and at least 32 threads in a block.

**Required.** `counts[b]` is the number of elements with the value b. The sanitizer finds nothing.
Each block still counts in its own bins, and adds each of its bins to `counts` once.

**Example.** `[3, 0, 3]` gives `counts[0] = 1`, `counts[3] = 2`, and zeros elsewhere.
"""


# %% mended_counts tags=["exercise"]
@cuda.jit
def mended_counts(counts, x, n):
    """counts[b] = how many x[i] == b, by a private copy in each block.   counts: (16,) int32, zeros."""
    ### BEGIN SOLUTION
    bins = cuda.shared.array(16, np.int32)
    t = cuda.threadIdx.x
    if t < 16:
        bins[t] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < n:
        cuda.atomic.add(bins, x[i], 1)
    cuda.syncthreads()
    if t < 16:
        cuda.atomic.add(counts, t, bins[t])
    ### END SOLUTION


# %% tags=["check"]
check("mended_counts", mended_counts)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
There are two mistakes, and each has a finding. What is in <code>bins</code> at the start? Who may still be counting when thread 0 adds up?
</details>
<details><summary>Hint 2</summary>
Three phases: set to zero, count, add to <code>counts</code>. What has to stand between two phases?
</details>
<details><summary>Hint 3</summary>
At the start <code>if t &lt; 16: bins[t] = 0</code>. Then <code>cuda.syncthreads()</code>, once before the counting and once after it.
Both barriers stand outside every <code>if</code>, since all threads have to reach them.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - Any number of bins (3 points)

**Goal.** A private histogram for real life: as many bins as the caller likes, any grid, and values that do not belong.

**Given.** `counts`: `(bins,)` int32, zeros. `x`: `(n,)` int32. The launch provides `4 * bins` bytes of dynamic shared memory.
There may be more bins than threads in a block, or fewer. There may be more elements than threads.

**Required.** `counts[b]` is the number of elements with the value b. Values below 0, or `bins` and larger, are not counted.
The atomics on global memory take at most one transaction for each bin and block.

**Example.** With `bins = 3`, `[2, -1, 0, 2, 7]` gives `[1, 0, 2]`.
"""


# %% private_histogram tags=["exercise"]
@cuda.jit
def private_histogram(counts, x, n, bins):
    """counts[b] = how many x[i] == b, 0 <= b < bins.   counts: (bins,) int32, zeros;  4 * bins bytes shared."""
    ### BEGIN SOLUTION
    mine = cuda.shared.array(0, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for b in range(t, bins, threads):
        mine[b] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        if 0 <= x[i] < bins:
            cuda.atomic.add(mine, x[i], 1)
    cuda.syncthreads()
    for b in range(t, bins, threads):
        cuda.atomic.add(counts, b, mine[b])
    ### END SOLUTION


# %% tags=["check"]
check("private_histogram", private_histogram)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
The three phases of exercise 3 stay. Each of them now needs a loop. Over what, and in which steps?
</details>
<details><summary>Hint 2</summary>
Zeroing and adding up go over the bins, in steps of the threads of <em>one block</em>: each block has all bins.
Counting goes over the elements, in steps of the threads of the <em>whole grid</em>.
</details>
<details><summary>Hint 3</summary>
<code>mine = cuda.shared.array(0, np.int32)</code>.
Bins: <code>for b in range(cuda.threadIdx.x, bins, cuda.blockDim.x)</code>.
Elements: <code>for i in range(cuda.grid(1), n, cuda.gridsize(1))</code>, with <code>if 0 &lt;= x[i] &lt; bins</code> inside. A barrier between two phases.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - Keep the positive ones (2 points)

**Goal.** Move all positive elements to the front of another array, without gaps. Their order does not matter.

**Given.** `out` and `x`: `(n,)` int32. `count`: one int32, zero. The elements of `x` are all different.
The launch has at least one thread for each element, and usually more.

**Required.** `count[0]` is the number m of positive elements, and `out[0]` to `out[m - 1]` hold them, each once, in any order.
The rest of `out` is left alone. Each warp makes at most one transaction on `count`.

**Example.** `[4, -1, 7, 2]` gives `count[0] = 3`, and `out` begins with 4, 7 and 2, or with 2, 4 and 7, or ...
"""


# %% gather_positive tags=["exercise"]
@cuda.jit
def gather_positive(out, count, x, n):
    """out[:count[0]] = the positive x[i], in any order.   out, x: (n,) int32;  count: (1,) int32, zero."""
    ### BEGIN SOLUTION
    i = cuda.grid(1)
    keep = i < n and x[i] > 0
    votes = cuda.ballot_sync(0xFFFFFFFF, keep)
    first = 0
    if cuda.laneid == 0 and votes != 0:
        first = cuda.atomic.add(count, 0, cuda.popc(votes))
    first = cuda.shfl_sync(0xFFFFFFFF, first, 0)
    if keep:
        before = cuda.popc(votes & cuda.lanemask_lt())
        out[first + before] = x[i]
    ### END SOLUTION


# %% tags=["check"]
check("gather_positive", gather_positive)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Begin with one atomic for each positive element: what it returns is a free place. Then let one lane draw the places for its whole warp.
</details>
<details><summary>Hint 2</summary>
All 32 lanes vote: <code>votes = cuda.ballot_sync(0xFFFFFFFF, keep)</code>. Lane 0 adds the number of votes, and hands what it got to the others with <code>cuda.shfl_sync</code>.
A lane's own place is that number, plus the voters in front of it.
</details>
<details><summary>Hint 3</summary>
A thread without an element has <code>keep</code> false, but votes as well: no guard around the vote and the shuffle.
Voters in front: <code>cuda.popc(votes &amp; cuda.lanemask_lt())</code>. Set <code>first = 0</code> before the <code>if</code>, so that every lane has the variable.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - Stretch: nine out of ten in one bin (2 points)

**Goal.** A histogram of 64 bins, where 90 % of the elements fall into the same one.
A private copy takes the queue from global memory into shared memory, and there it stands.
Shorten it.

**Given.** `counts`: `(64,)` int32, zeros. `x`: `(n,)` int32, values from 0 to 63; which bin is the crowded one changes.
The grid may have fewer threads than elements.

**Required.** Exact counts. On global memory at most one transaction for each bin and block.
On shared memory at most 5 transactions for each 32 elements, on the average.

**Example.** Of 32 elements, 29 are 7 and the others 0, 1 and 2: a private copy alone takes 29 transactions for them.
"""


# %% skewed_histogram tags=["exercise"]
@cuda.jit
def skewed_histogram(counts, x, n):
    """counts[b] = how many x[i] == b, with few transactions.   counts: (64,) int32, zeros;  x: (n,) int32."""
    ### BEGIN SOLUTION
    bins = cuda.shared.array(64, np.int32)
    t, threads = cuda.threadIdx.x, cuda.blockDim.x
    for b in range(t, 64, threads):
        bins[b] = 0
    cuda.syncthreads()
    for start in range(cuda.blockIdx.x * threads, n, cuda.gridsize(1)):
        i = start + t
        mine = -1
        if i < n:
            mine = x[i]
        same = cuda.match_any_sync(0xFFFFFFFF, mine)
        if i < n and cuda.laneid == cuda.ffs(same) - 1:
            cuda.atomic.add(bins, mine, cuda.popc(same))
    cuda.syncthreads()
    for b in range(t, 64, threads):
        cuda.atomic.add(counts, b, bins[b])
    ### END SOLUTION


# %% [markdown]
r"""
When the check passes, your kernel takes its place among three others: one atomic for each element,
a private copy, and ours. The score is our transactions, global and shared together, over yours, times 100.
"""

# %% tags=["check"]
if check("skewed_histogram", skewed_histogram).status == "pass":

    @cuda.jit
    def straight(counts, x, n):
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            cuda.atomic.add(counts, x[i], 1)

    @cuda.jit
    def private(counts, x, n):
        bins = cuda.shared.array(64, np.int32)
        t, threads = cuda.threadIdx.x, cuda.blockDim.x
        for b in range(t, 64, threads):
            bins[b] = 0
        cuda.syncthreads()
        for i in range(cuda.grid(1), n, cuda.gridsize(1)):
            cuda.atomic.add(bins, x[i], 1)
        cuda.syncthreads()
        for b in range(t, 64, threads):
            cuda.atomic.add(counts, b, bins[b])

    case = specs.get("skewed_histogram").counted()  # 4,096 elements, 90 % in one bin
    ours = baseline("t1_09_atomics")["skewed_histogram"]
    ours = (ours["atomic_transactions"], ours["shared_atomic_transactions"])
    ladder = {"one for each": straight, "private": private, "yours": skewed_histogram}
    rows = []
    for name, kernel in ladder.items():
        seen = profile(
            kernel[case.grid, case.block], np.zeros(64, np.int32), *list(case.args.values())[1:]
        )
        cost = (seen.atomics.transactions, seen.shared_atomics.transactions)
        rows.append((name, *cost, round(100 * sum(ours) / sum(cost))))
    print(
        table(("histogram", "global", "shared", "score"), [*rows, ("ours", *ours, 100)], "counted")
    )

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Let lanes that want the same bin agree before they queue, so that one of them adds for all.
</details>
<details><summary>Hint 2</summary>
<code>same = cuda.match_any_sync(0xFFFFFFFF, mine)</code> gives each lane the lanes with its value. The first of them adds <code>cuda.popc(same)</code>.
All 32 lanes have to be there, so let every thread of a block make the same number of rounds.
</details>
<details><summary>Hint 3</summary>
<code>for start in range(cuda.blockIdx.x * cuda.blockDim.x, n, cuda.gridsize(1))</code>, with <code>i = start + cuda.threadIdx.x</code> inside.
A lane beyond the end matches with -1. The first lane of a group has <code>cuda.laneid == cuda.ffs(same) - 1</code>.
</details>
"""

# %% [markdown] tags=["solution"]
r"""
## Remarks on the answers

- Exercise 1: the compiler turns this source into a vote and one addition for each warp, as the lesson showed. The counters count the source.
- Exercise 2: sectors are added, since each is a transfer of its own; bins of one sector are not, since their queues advance together.
- Exercise 3: without the zeroing, bins start with what an earlier block left behind. Without the second barrier, thread 0 adds up while other warps still count.
- Exercise 4: index -1 is the last bin in Python and in Numba, so a forgotten lower bound counts -1 as `bins - 1` and no error is raised.
- Exercise 5: within a warp the order is kept; which warp comes first is open. The scan of `t1_08_scan` keeps the whole order, and needs more work.
- Exercise 6: two steps against the queue, and they add up: the warp agrees first, then the block counts in its own memory.
  More than 100 is possible: with a column of bins for each lane, for example, shared memory needs no atomics at all.
"""

# %% [markdown]
r"""
**Done?** You can now let any number of threads count into few places, exactly, and say beforehand what it costs.
To compare your answers with ours, open `solutions/t1_kernels/t1_09_atomics_lab.ipynb`.

- The next lesson, `t1_10_occupancy`, asks how many warps a multiprocessor needs to hide all that waiting.
"""
