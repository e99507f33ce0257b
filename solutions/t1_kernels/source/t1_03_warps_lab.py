# %% [markdown]
r"""
# Lab: warps

Six exercises on warps, with what you saw in the lesson `t1_03_warps`. They take about 45 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

A warp is 32 consecutive threads of one block. From exercise 3 on, each block is made of whole warps, along x only.
Then `cuda.grid(1) % 32` is the lane, and `cuda.grid(1) // 32` numbers the warps of the whole launch.
The arrays do not always fill the last warp: some lanes have no element, and a whole block may have none.
An array may be empty; that needs no special case.

Run this cell first.
"""

# %%
import numpy as np

from warpwise import check, cuda, profile, sanitize

ALL = 0xFFFFFFFF  # the mask of all 32 lanes

# %% [markdown]
r"""
## Exercise 1 - Lane and warp (1 point)

**Goal.** Every thread writes down which lane it is, and in which warp of its block.

**Given.** `lane` and `warp`: two int32 arrays with one element for each thread of the launch.
Blocks have two directions, such as 12 x 5 threads. `x, y = cuda.grid(2)` is the thread's element, `[y, x]`.
There are as many elements as threads, so you need no guard.

**Required.** `lane[y, x]` is the thread's lane, 0 to 31. `warp[y, x]` is the number of its warp in its block, from 0.

**Example.** In a block of 12 x 5 threads, thread (7, 2) is number 7 + 2 * 12 = 31 of its block: lane 31 of warp 0.
Its right neighbour is lane 0 of warp 1.
"""


# %% lane_and_warp tags=["exercise"]
@cuda.jit
def lane_and_warp(lane, warp):
    """Each thread's lane, and its warp in the block.   lane, warp: (height, width) int32."""
    ### BEGIN SOLUTION
    x, y = cuda.grid(2)
    number = cuda.threadIdx.x + cuda.threadIdx.y * cuda.blockDim.x
    lane[y, x] = number % 32
    warp[y, x] = number // 32
    ### END SOLUTION


# %% tags=["check"]
check("lane_and_warp", lane_and_warp)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
The hardware numbers the threads of each block in one line, then cuts the line into pieces of 32. Which threads are neighbours in this line?
</details>
<details><summary>Hint 2</summary>
x changes first. A thread with <code>threadIdx.y = 2</code> has two full rows of its block before it, each <code>blockDim.x</code> threads long.
</details>
<details><summary>Hint 3</summary>
<code>number = cuda.threadIdx.x + cuda.threadIdx.y * cuda.blockDim.x</code>. The lane is <code>number % 32</code>, the warp <code>number // 32</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - The price of a branch, before it runs (2 points)

**Goal.** Say how many issue slots a launch will take, before you run it.

**Given.** This kernel and this launch: 2 blocks of 80 threads. Read it, and do not run it yet.
"""


# %%
@cuda.jit
def two_ways(out, a):
    i = cuda.grid(1)
    if i < 100:
        out[i] = 2 * a[i] + 1
    else:
        total = a[i]
        for _ in range(i % 8):
            total = 2 * total + 1
        out[i] = total


grid, block = 2, 80

# %% [markdown]
r"""
**Required.** The number of issue slots of the whole launch, as an integer; let Python do the arithmetic.
Count as in the lesson: one slot for each arithmetic operation, comparison, load and store of the source,
in each warp that has an active lane there. `cuda.grid(1)`, copies and the steps of a `for` are free.

| line | slots |
|---|---|
| `if i < 100` | 1 |
| `out[i] = 2 * a[i] + 1` | 4 |
| `total = a[i]`, `i % 8`, `out[i] = total` | 1 each |
| `total = 2 * total + 1` | 2 in each turn |

**Example.** One block of 32 threads would have i from 0 to 31. All its lanes take the first side: 1 + 4 = 5 slots.
"""


# %% branch_slots tags=["exercise"]
def branch_slots():
    """Issue slots of two_ways[2, 80]."""
    ### BEGIN SOLUTION
    compare, first = 1, 4
    other = 3 + 7 * 2  # the slowest lane makes 7 turns
    # Warps: i = 0-31, 32-63, 64-79 | 80-111 parts at 100 | 112-143, 144-159
    return 6 * compare + 4 * first + 3 * other
    ### END SOLUTION


# %% [markdown]
r"""
When the check passes, the launch runs and is counted.
"""

# %% tags=["check"]
if check("branch_slots", branch_slots).status == "pass":
    report = profile(two_ways[grid, block], np.zeros(160), np.ones(160))
    print(f"counted: {report.work.slots} issue slots by {report.warps} warps,", end=" ")
    print(f"{report.work.lanes_per_slot:.1f} lanes active in the mean")

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Count warps, not threads. Which warps are there, and in which of them do lanes part?
</details>
<details><summary>Hint 2</summary>
A block of 80 threads has warps of 32, 32 and 16. Block 1 starts at i = 80. For each warp ask: does any lane take the first side, does any take the other, and how many turns does its slowest lane make?
</details>
<details><summary>Hint 3</summary>
Six warps compare. The warps of block 0 and the first of block 1 issue the first side. All three warps of block 1 issue the other, each with 7 turns: 3 + 7 * 2 slots.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - Two kinds of particles (2 points)

**Goal.** Two kinds of particles lie alternately in memory, and each kind follows its own rule.
With one thread per particle, every warp pays for both rules. Let each warp pay for one.

**Given.** `out` and `a`: `(n,)` float32; `rate`: a float; `steps`: an integer. This kernel is right, and too dear:
"""


# %%
@cuda.jit
def settle_by_lane(out, a, rate, steps, n):
    i = cuda.grid(1)
    if i < n:
        v = a[i]
        if i % 2 == 0:
            for _ in range(steps):  # an even particle fades
                v -= rate * v
        else:
            for _ in range(steps):  # an odd particle charges
                v += rate * (1 - v)
        out[i] = v


energy = np.random.default_rng(seed=1).random(512, dtype=np.float32)
report = profile(settle_by_lane[4, 128], np.zeros_like(energy), energy, 0.25, 8, 512)
print(f"{report.branches.divergent} divergent branches, {report.work.slots} issue slots")

# %% [markdown]
r"""
**Required.** The same values: even particles fade, odd particles charge, each is written once.
On the launch above (512 particles, 4 blocks of 128) no warp may part: at most **0** divergent branches.
And no warp may compute a rule whose result it throws away: the issue slots are counted too.
Which thread takes which particle is up to you.
A block has 64 threads or a multiple of it, and the launch has at least n threads. Guard for any n.

**Example.** If warp 0 takes the particles 0, 2, 4, ..., 62, its lane 3 takes particle 6.
"""


# %% settle_particles tags=["exercise"]
@cuda.jit
def settle_particles(out, a, rate, steps, n):
    """Even particles fade, odd ones charge, no warp parts.   out, a: (n,) float32."""
    ### BEGIN SOLUTION
    i = cuda.grid(1)
    kind = (i // 32) % 2  # two warps share 64 particles, each takes one kind
    p = 64 * (i // 64) + 2 * (i % 32) + kind
    if p < n:
        v = a[p]
        if kind == 0:
            for _ in range(steps):
                v -= rate * v
        else:
            for _ in range(steps):
                v += rate * (1 - v)
        out[p] = v
    ### END SOLUTION


# %% tags=["check"]
check("settle_particles", settle_particles)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
A branch is free of divergence when its condition is the same for all 32 lanes. Which numbers are the same for all lanes of a warp?
</details>
<details><summary>Hint 2</summary>
Let the number of the warp decide on the kind. Then the particle can no longer be the thread's own number: each lane of an even warp needs an even particle.
</details>
<details><summary>Hint 3</summary>
Two warps share 64 particles. <code>kind = (i // 32) % 2</code>, and the particle is <code>p = 64 * (i // 64) + 2 * (i % 32) + kind</code>. Guard with <code>p &lt; n</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - Close the gaps (2 points)

**Goal.** Each warp keeps the positive elements of its 32 and packs them together, in order.
With a ballot each lane finds its place at once.

**Given.** `a` and `out`: `(n,)` float32. `count`: int32, one element for each warp that has elements.
Lane k of warp w has element 32 * w + k, if that is below n.

**Required.** The positive elements of warp w stand in `out[32 * w]`, `out[32 * w + 1]`, and so on, in their old order.
The other places of `out` are not written. `count[w]` is how many there are, zero included.
Each lane reads its own element and no other, and there are no atomic operations. The loads are counted.

**Example.** A warp with the elements 5, -1, 7, and 29 negative ones, writes 5 and 7 to its first two places, and count 2.
"""


# %% pack_positive tags=["exercise"]
@cuda.jit
def pack_positive(out, count, a, n):
    """Each warp packs its positive elements.   out, a: (n,) float32;  count: (warps,) int32."""
    ### BEGIN SOLUTION
    i = cuda.grid(1)
    lane = i % 32
    v = np.float32(0)
    if i < n:
        v = a[i]
    keeps = cuda.ballot_sync(ALL, v > 0)
    if v > 0:
        out[i - lane + cuda.popc(keeps & ((1 << lane) - 1))] = v
    if lane == 0 and i < n:
        count[i // 32] = cuda.popc(keeps)
    ### END SOLUTION


# %% tags=["check"]
check("pack_positive", pack_positive)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
A lane's place is the number of lower lanes that keep their element. One vote tells every lane about all others.
</details>
<details><summary>Hint 2</summary>
<code>cuda.ballot_sync</code> gives one bit per lane, <code>cuda.popc</code> counts bits, and <code>(1 &lt;&lt; lane) - 1</code> has the bits of all lower lanes. Lanes without an element must vote as well: no.
</details>
<details><summary>Hint 3</summary>
Load behind <code>if i &lt; n</code>, with 0 for the other lanes. Then, outside of any <code>if</code>, <code>keeps = cuda.ballot_sync(ALL, v &gt; 0)</code>.
A lane with <code>v &gt; 0</code> stores to <code>i - lane + cuda.popc(keeps &amp; ((1 &lt;&lt; lane) - 1))</code>; lane 0 stores <code>cuda.popc(keeps)</code>, if i &lt; n.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - Mend a sum (2 points)

**Goal.** Here is a kernel that sums each warp. On full warps it is right. The sanitizer has found something else.
"""


# %%
@cuda.jit
def broken_warp_sum(out, a, n):
    i = cuda.grid(1)
    if i >= n:
        return
    v = a[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(ALL, v, step)
    if i % 32 == 0:
        out[i // 32] = v


sums = np.zeros(2, np.float32)
sanitize(broken_warp_sum[1, 64], sums, np.ones(40, np.float32), 40)

# %% [markdown]
r"""
**Given.** `a`: `(n,)` float32. `out`: float32, one element for each warp that has elements.

**Required.** `out[w]` is the sum of the elements of warp w, for any n, and the sanitizer finds nothing.
The order of the sum is that of the kernel above: five steps of 16, 8, 4, 2, 1, in float32.
The check compares **every bit**: another order gives other last digits.

**Example.** For n = 40 and ones, the sums are 32 and 8.
"""


# %% mend_warp_sum tags=["exercise"]
@cuda.jit
def mend_warp_sum(out, a, n):
    """out[w] = the sum of warp w, by steps of 16, 8, 4, 2, 1.   out: (warps,), a: (n,) float32."""
    ### BEGIN SOLUTION
    i = cuda.grid(1)
    v = np.float32(0)
    if i < n:
        v = a[i]
    for step in (16, 8, 4, 2, 1):
        v += cuda.shfl_down_sync(ALL, v, step)
    if i % 32 == 0 and i < n:
        out[i // 32] = v
    ### END SOLUTION


# %% tags=["check"]
check("mend_warp_sum", mend_warp_sum)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Which thread does the finding name, and where is it when the others ask for its value?
</details>
<details><summary>Hint 2</summary>
No lane may leave early. A lane without an element stays, and takes part with a value that changes no sum.
</details>
<details><summary>Hint 3</summary>
Start with <code>v = np.float32(0)</code> and load behind <code>if i &lt; n</code>. The shuffles stand outside of any <code>if</code>. Lane 0 stores only if i &lt; n.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - Stretch: the maximum, and where it is (3 points)

**Goal.** Each warp finds its largest element, and the index at which it stands, in as few issue slots as you can.
This kernel is right and slow: each lane asks all 32 lanes, one after the other.
"""


# %%
@cuda.jit
def slow_argmax(best, place, a, n):
    i = cuda.grid(1)
    v = np.float32(-np.inf)
    if i < n:
        v = a[i]
    top, at = v, i % 32
    for k in range(32):
        other = cuda.shfl_sync(ALL, v, k)
        if other > top or (other == top and k < at):
            top, at = other, k
    if i % 32 == 0 and i < n:
        best[i // 32] = top
        place[i // 32] = i + at


# %% [markdown]
r"""
**Given.** `a`: `(n,)` float32, finite numbers. `best`: float32 and `place`: int32, one element for each warp that has elements.

**Required.** `best[w]` is the largest element of warp w. `place[w]` is its index in `a`; if it occurs several times, the lowest.
Each lane reads one element. The check allows 1.5 times the issue slots of our own solution.

**Example.** If warp 1 holds 3, 9, 9 and 29 zeros, `best[1]` is 9 and `place[1]` is 33.
"""


# %% warp_argmax tags=["exercise"]
@cuda.jit
def warp_argmax(best, place, a, n):
    """Maximum of each warp and its index.   a: (n,) float32;  best: float32, place: int32."""
    ### BEGIN SOLUTION
    i = cuda.grid(1)
    v = np.float32(-np.inf)
    if i < n:
        v = a[i]
    top = v
    for step in (16, 8, 4, 2, 1):
        top = max(top, cuda.shfl_xor_sync(ALL, top, step))
    holders = cuda.ballot_sync(ALL, v == top)
    if i % 32 == 0 and i < n:
        best[i // 32] = top
        place[i // 32] = i + cuda.ffs(holders) - 1
    ### END SOLUTION


# %% [markdown]
r"""
When the check passes, your score appears: the issue slots of each version on 1,000 elements, fewest last.
"""

# %% tags=["check"]
if check("warp_argmax", warp_argmax).status == "pass":
    a = np.random.default_rng(seed=7).random(1000, dtype=np.float32)
    best, place = np.zeros(32, np.float32), np.zeros(32, np.int32)
    versions = {"slow_argmax": slow_argmax, "yours": warp_argmax}
    scores = {
        name: profile(k[4, 256], best, place, a, 1000).work.slots for name, k in versions.items()
    }
    scores |= {"value and place travel together": 1088, "our solution": 768}
    print("counted:")
    for name, slots in sorted(scores.items(), key=lambda score: -score[1]):
        print(f"{slots:6,} issue slots  {name}")

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
The maximum alone is easy: it is the sum of the last exercise, with <code>max</code> in place of <code>+</code>. How do you then learn who holds it?
</details>
<details><summary>Hint 2</summary>
With <code>shfl_xor_sync</code> all lanes end up with the maximum. Now each lane can vote whether its own element is it.
</details>
<details><summary>Hint 3</summary>
<code>holders = cuda.ballot_sync(ALL, v == top)</code>. The lowest set bit is lane <code>cuda.ffs(holders) - 1</code>. Lanes without an element bring <code>np.float32(-np.inf)</code>.
</details>
"""

# %% [markdown] tags=["solution"]
r"""
## Remarks on the answers

- Exercise 1: blocks of 33 or 96 threads along x alone would do with `threadIdx.x`. The formula holds for all.
- Exercise 2: 6 comparisons, the first side in 4 warps, the other in 3: 6 + 16 + 51 = 73 slots.
  One of the six warps parts. The warps that are short or part pay the same for a slot as full ones.
- Exercise 3: there are other ways. Thread t may take the pair 2 * t and 2 * t + 1, one after the other;
  or the first half of the threads takes the even particles; or one formula serves both kinds, `v += rate * (i % 2 - v)`.
  What counts is that all lanes of a warp agree.
- Exercise 4: `keeps` is an int32, in which all 32 lanes make -1. The mask of lower lanes leaves only the bits that matter.
- Exercise 5: a plain `0.0` would make `v` a float64 in all lanes, and the sum would not be the asked one, bit for bit.
- Exercise 6: the place does not have to travel. Maximum first, then one vote.
"""

# %% [markdown]
r"""
**Done?** You know what a warp is, what a branch costs, and how lanes exchange values without memory.
To compare your answers with ours, open `solutions/t1_kernels/t1_03_warps_lab.ipynb`.

- The next lesson, `t1_04_coalescing`, counts what it costs when the 32 lanes of a warp read far apart.
- In `t1_05_shared_memory` the warps of a block exchange values.
- In `t1_07_reduction` the sum of a warp becomes the sum of an array.
"""
