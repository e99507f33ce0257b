# %% [markdown]
r"""
# Lab: reduction

Six exercises, five on sums and one on something else, with what you saw in the lesson `t1_07_reduction`.
They take about 50 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

Three things are judged, in this order: the values, what the sanitizer finds, and what the kernel costs.
No kernel here may load a sector of its input twice.

**Every sum here has a stated order, and your result must have its bits.**
The values have both signs and very different sizes, so another order nearly always ends in other bits.
The order in which the two sides of one addition stand does not matter: `a + b` and `b + a` have the same bits.

All arrays are float32 unless the exercise says otherwise. All blocks are made of whole warps.
Lengths include 0 and 1, and lengths that no block divides.
A thread without an element takes part with a zero, which changes no bit of the sum.

Run this cell first.
"""

# %%
import numpy as np

from warpwise import check, cuda, profile, sanitize

# %% [markdown]
r"""
## Exercise 1 - One warp (1 point)

**Goal.** The sum of the 32 values of a warp, without shared memory and without a barrier.

**Given.** `x`: `(n,)`, one element for each thread; the last threads of the launch may have none.
`out`: one element for each warp of the launch. The thread number `i` in the launch belongs to warp `i // 32`.

**Required.** `out[w]` is the sum of the 32 values of warp `w`, in this order: first each lane adds the value 16 lanes above it, then 8, 4, 2, 1.
What lane 0 has then is the sum.
No shared memory, no barrier, no float64, each element loaded once, and at most twice our issue slots.

**Example.** 33 elements in one block of 64 threads: `out[0]` is the sum of the first 32, and `out[1]` is the last one alone.
"""


# %% warp_sum tags=["exercise"]
@cuda.jit
def warp_sum(out, x, n):
    """out[w] = sum over warp w.   out: (warps,) float32;  x: (n,) float32."""
    ### BEGIN SOLUTION
    i = cuda.grid(1)
    v = x[i] if i < n else np.float32(0)
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
    if i % 32 == 0:
        out[i // 32] = v
    ### END SOLUTION


# %% tags=["check"]
check("warp_sum", warp_sum)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
All 32 lanes must take part in a shuffle, also those without an element. What do they bring along?
</details>
<details><summary>Hint 2</summary>
<code>v = x[i] if i &lt; n else np.float32(0)</code>, then five shuffles, then one store by lane 0.
</details>
<details><summary>Hint 3</summary>
<code>for step in (16, 8, 4, 2, 1): v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)</code>.
Lane 0 is the one with <code>i % 32 == 0</code>; it stores to <code>out[i // 32]</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - The bill before the run (2 points)

**Goal.** Say what a tree costs before you write it.

**Given.** `threads`: the size of a block, a power of two from 2 to 1024.
The block fills a shared array, one element a thread. Then it sums it by sequential addressing, version 3 of the lesson:
in each round the threads with `t < stride` add, and the stride halves from `threads // 2` to 1.
Each thread fills its element, the block waits, and after each round it waits again.

**Required.** A tuple of three integers:

1. the barriers of one block,
2. the *idle turns*: over all rounds of the tree, how often a thread has nothing to add,
3. the *warp turns*: over all rounds of the tree, how many warps have at least one thread that adds.

Filling the array is not a round.

**Example.** `tree_bill(64)` is `(7, 321, 6)`: 6 rounds of 64 turns, in which 32 + 16 + 8 + 4 + 2 + 1 = 63 threads add, always in the first warp.
"""


# %% tree_bill tags=["exercise"]
def tree_bill(threads):
    """(barriers, idle turns, warp turns) of a tree over a block of `threads` threads."""
    ### BEGIN SOLUTION
    barriers, idle, warps = 1, 0, 0
    stride = threads // 2
    while stride > 0:
        barriers += 1
        idle += threads - stride
        warps += (stride + 31) // 32
        stride //= 2
    return barriers, idle, warps
    ### END SOLUTION


# %% tags=["check"]
check("tree_bill", tree_bill)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Go through the rounds for 64 threads on paper. In each round, <code>stride</code> threads add.
</details>
<details><summary>Hint 2</summary>
A loop over the rounds, three totals. The busy threads are the first ones, so they fill the first warps.
</details>
<details><summary>Hint 3</summary>
In a round: one barrier, <code>threads - stride</code> idle turns, <code>(stride + 31) // 32</code> warps. Start with one barrier for the filling.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - A tree for one block (3 points)

**Goal.** Each block sums its elements by a tree in shared memory.

**Given.** `x`: `(n,)`. `partial`: one element for each block. A block has 32, 64, 128, 256, 512 or 1024 threads, and one element for each of them:
thread `t` of block `b` has `x[b * threads + t]`, if there is such an element.

**Required.** `partial[b]` is the sum of block `b`, in the order of *halves*:
in the first round the element half a block away is added, then a quarter, and so on, until one value is left.

- No bank conflict, and no more barriers than `tree_bill` says.
- At most as many divergent branches as in version 3 of the lesson: those of the first warp in its last rounds.
- At most 4,096 bytes of shared memory, and at most 1.5 times our issue slots. No float64.
- A block without an element has the sum 0.

**Example.** Eight threads with values a b c d e f g h would give ((a+e) + (c+g)) + ((b+f) + (d+h)).
"""


# %% tree_sum tags=["exercise"]
@cuda.jit
def tree_sum(partial, x, n):
    """partial[b] = sum over block b, by halves.   partial: (blocks,) float32;  x: (n,) float32."""
    ### BEGIN SOLUTION
    s = cuda.shared.array(1024, np.float32)
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
    ### END SOLUTION


# %% tags=["check"]
check("tree_sum", tree_sum)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Three parts: fill the shared array, add round by round, store one value. Where does the block have to wait?
</details>
<details><summary>Hint 2</summary>
Only the load needs a guard. All threads go through the loop; only those with <code>t &lt; stride</code> add; all wait.
</details>
<details><summary>Hint 3</summary>
<code>stride = cuda.blockDim.x // 2</code>; <code>while stride &gt; 0:</code> add <code>s[t + stride]</code> to <code>s[t]</code> if <code>t &lt; stride</code>,
then <code>cuda.syncthreads()</code> outside the <code>if</code>, then <code>stride //= 2</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - Mend the last warp (2 points)

**Goal.** The kernel below is somebody's attempt to save barriers. It adds up correctly here, and the sanitizer does not like it.
Find out why, and mend it.
"""


# %%
@cuda.jit
def last_warp_broken(partial, x, n):
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < n else np.float32(0)
    stride = cuda.blockDim.x // 2
    while stride > 32:
        cuda.syncthreads()
        if t < stride:
            s[t] += s[t + stride]
        stride //= 2
    if t < 32:
        s[t] += s[t + 32]
        s[t] += s[t + 16]
        s[t] += s[t + 8]
        s[t] += s[t + 4]
        s[t] += s[t + 2]
        s[t] += s[t + 1]
    if t == 0:
        partial[cuda.blockIdx.x] = s[0]


values = np.arange(256, dtype=np.float32)
partial = np.zeros(1, np.float32)
last_warp_broken[1, 256](partial, values, 256)
print("right here:", partial[0] == values.sum())

findings = sanitize(last_warp_broken[1, 256], partial, values, 256)
print("between two warps:", next(one for one in findings if one.severity == "error"))
print("within one warp:", next(one for one in findings if one.severity == "warning"))

# %% [markdown]
r"""
There are two kinds of findings. Look at the numbers of the two threads in each: are they in the same warp?
And what would order them?

**Given.** As in exercise 3, but a block has at least 64 threads.

**Required.** The sums of exercise 3, in the same order and with the same bits, no finding, and

- no barrier of the block in the last rounds, where only the first warp works:
  a block of 256 threads meets at most **3** times (after filling, after stride 128, after stride 64);
- no bank conflict, no float64, and at most 1.6 times our issue slots.
"""


# %% last_warp tags=["exercise"]
@cuda.jit
def last_warp(partial, x, n):
    """partial[b] = sum over block b, by halves.   partial: (blocks,) float32;  x: (n,) float32."""
    ### BEGIN SOLUTION
    s = cuda.shared.array(1024, np.float32)
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
    if t < 32:
        v = s[t] + s[t + 32]
        for step in (16, 8, 4, 2, 1):
            v += cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        if t == 0:
            partial[cuda.blockIdx.x] = v
    ### END SOLUTION


# %% tags=["check"]
check("last_warp", last_warp)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
One fault lies between two warps, the other between the lanes of one warp. They need different cures.
</details>
<details><summary>Hint 2</summary>
After the last turn of the loop nobody waits before <code>s[t + 32]</code> is read. Move the barrier: once after filling, once at the end of each turn.
Inside the warp, shared memory is not needed at all.
</details>
<details><summary>Hint 3</summary>
<code>v = s[t] + s[t + 32]</code>, then shuffles by 16, 8, 4, 2, 1, then thread 0 stores <code>v</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - Any length, any grid (3 points)

**Goal.** The sum that people use in earnest: few blocks, many elements a thread, one barrier.

**Given.** `x`: `(n,)`, of any length. The grid has any number of blocks, and a block 1 to 32 whole warps, for example 96 threads.
`partial`: one element for each block.

**Required.** `partial[b]` is the sum of all elements that the threads of block `b` visit in a grid-stride loop, in this order:

1. each thread adds its elements from the left, starting from zero;
2. each warp adds its 32 sums by shuffles: 16, 8, 4, 2, 1 lanes;
3. the sums of the warps, filled up with zeros to 32, are added in the same way by the first warp.

One barrier a block, each sector of `x` loaded once, no bank conflict, at most 128 bytes of shared memory, no float64, at most twice our issue slots.

**Example.** 100 elements on one block of 32 threads: thread 0 adds `x[0]`, `x[32]`, `x[64]` and `x[96]`, thread 4 adds three elements.
"""


# %% grid_sum tags=["exercise"]
@cuda.jit
def grid_sum(partial, x, n):
    """partial[b] = sum of what block b visits.   partial: (blocks,) float32;  x: (n,) float32."""
    ### BEGIN SOLUTION
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
    ### END SOLUTION


# %% tags=["check"]
check("grid_sum", grid_sum)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Three parts, one for each number in the list. Exercise 1 is the second part, and nearly the third.
</details>
<details><summary>Hint 2</summary>
Lane 0 of each warp stores its sum to <code>sums[t // 32]</code>. One barrier. Then the first warp reads them, a lane for each warp, and the other lanes take a zero.
</details>
<details><summary>Hint 3</summary>
After the barrier: <code>if t &lt; 32:</code> <code>v = sums[t] if t &lt; cuda.blockDim.x // 32 else np.float32(0)</code>,
the five shuffles once more, and thread 0 stores <code>partial[cuda.blockIdx.x]</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - Stretch: the largest, and where (3 points)

**Goal.** A reduction that is no sum: the largest element of each block, and its index in `x`.
What travels is a pair, a value and an index.

**Given.** As in exercise 5. `best`: float32, `where`: int64, one element for each block.
The values are few and repeat, and in some launches all are negative.

**Required.** `best[b]` is the largest element that block `b` visits, `where[b]` its index in `x`.
If it occurs several times, take the smallest index. A block without an element stores minus infinity and `n`.

One pass: each sector of `x` loaded once, one barrier a block, no bank conflict, at most 1.6 times our issue slots.

**Example.** `[3, 7, 7, 1]` gives 7 and 1.
"""


# %% max_where tags=["exercise"]
@cuda.jit
def max_where(best, where, x, n):
    """best[b], where[b] = largest element of block b, its first index.   x: (n,) float32."""
    ### BEGIN SOLUTION
    values = cuda.shared.array(32, np.float32)
    places = cuda.shared.array(32, np.int64)
    t = cuda.threadIdx.x
    v = np.float32(-np.inf)
    at = n
    for i in range(cuda.grid(1), n, cuda.gridsize(1)):
        value = x[i]
        if value > v:  # of equal ones the first stays: i grows
            v = value
            at = i
    for step in (16, 8, 4, 2, 1):
        other = cuda.shfl_down_sync(0xFFFFFFFF, v, step)
        place = cuda.shfl_down_sync(0xFFFFFFFF, at, step)
        if other > v or (other == v and place < at):
            v = other
            at = place
    if t % 32 == 0:
        values[t // 32] = v
        places[t // 32] = at
    cuda.syncthreads()
    if t < 32:
        warps = cuda.blockDim.x // 32
        v = values[t] if t < warps else np.float32(-np.inf)
        at = places[t] if t < warps else n
        for step in (16, 8, 4, 2, 1):
            other = cuda.shfl_down_sync(0xFFFFFFFF, v, step)
            place = cuda.shfl_down_sync(0xFFFFFFFF, at, step)
            if other > v or (other == v and place < at):
                v = other
                at = place
        if t == 0:
            best[cuda.blockIdx.x] = v
            where[cuda.blockIdx.x] = at
    ### END SOLUTION


# %% [markdown]
r"""
When the check passes, it is followed by your score: our issue slots over yours, times 100, on 40,000 random numbers in 8 blocks of 256 threads.
More than 100 means that you beat us.
"""

# %% tags=["check"]
if check("max_where", max_where).status == "pass":
    x = np.random.default_rng(seed=1).random(40_000, dtype=np.float32)
    best, where = np.zeros(8, np.float32), np.zeros(8, np.int64)
    slots = profile(max_where[8, 256], best, where, x, x.size).work.slots
    ladder = {
        "two passes: the maximum, then its index": 8_389,
        "a tree of pairs in shared memory": 6_860,
        "our solution": 4_876,
        "yours": slots,
    }
    print("counted:")
    for version, needed in ladder.items():
        print(f"{needed:6,} issue slots, score {100 * 4_876 / needed:4.0f}   {version}")

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Start from the kernel of exercise 5. Where it adds two values, you choose between two pairs.
</details>
<details><summary>Hint 2</summary>
Both parts of a pair travel by shuffle. Which pair wins when the values are equal? And which pair loses against all others, for threads without an element?
</details>
<details><summary>Hint 3</summary>
Start from <code>np.float32(-np.inf)</code> and <code>n</code>. Take the other pair <code>if other &gt; v or (other == v and place &lt; at)</code>.
Two shared arrays of 32 carry the pairs of the warps.
</details>
"""
