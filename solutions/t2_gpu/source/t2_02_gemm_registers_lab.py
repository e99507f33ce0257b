# %% [markdown]
r"""
# Lab: GEMM in registers

Six exercises on products of matrices with several results a thread, from the lesson `t2_02_gemm_registers`. They take about 50 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

In every kernel `a` is `(m, k)`, `b` is `(k, n)` and `c` is `(m, n)`, all float32.
The three sizes are at least 1 and can be anything else: a single row, a single column, less than a tile, an odd number of tiles.
All kernels walk along K in steps of `STEP` = 8. **All arithmetic is float32**: start sums with `np.float32(0)`.

Run this cell first.
"""

# %%
import numpy as np

from warpwise import check, cuda, profile, sanitize

STEP = 8


def product(m, n, k):
    """Random a and b, and an empty c."""
    rng = np.random.default_rng(seed=6)
    a, b = rng.random((m, k), dtype=np.float32), rng.random((k, n), dtype=np.float32)
    return np.zeros((m, n), np.float32), a, b, m, n, k


# %% [markdown]
r"""
## Exercise 1 - The plan (2 points)

**Goal.** The numbers of a kernel before you write it.

**Given.** A block computes `bm` x `bn` results; each of its threads computes a patch of `p` x `q` of them. It walks along K in steps of `step`, and keeps two sets of tiles.
A multiprocessor does multiply-adds of `warps` warps in a clock, and one pass of shared memory. `bm` is a multiple of `p`, and `bn` of `q`.

**Required.** A tuple of four numbers:

1. the threads of a block,
2. the bytes of shared memory for two sets of float32 tiles, without padding,
3. the numbers that a block loads from global memory for one of its results, for K = 1000 and a full block,
4. the largest share of the arithmetic peak that the reads from shared memory allow, with one pass for each number read: at most 1.

**Examples.** `tile_plan(128, 128, 8, 8, 8, 4)` is `(256, 16384, 15.625, 1.0)`.
`tile_plan(64, 32, 16, 4, 1, 4)` is `(512, 12288, 46.875, 0.2)`.
"""


# %% tile_plan tags=["exercise"]
def tile_plan(bm, bn, step, p, q, warps):
    """(threads, shared bytes, loads per result for K = 1000, share of the peak)."""
    ### BEGIN SOLUTION
    threads = (bm // p) * (bn // q)
    shared = 2 * 4 * step * (bm + bn)
    loads = 1000 / bm + 1000 / bn
    reads = (p + q) / (p * q)
    return threads, shared, loads, min(1.0, 1 / warps / reads)
    ### END SOLUTION


# %% tags=["check"]
check("tile_plan", tile_plan)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Sections 1 and 3 of the lesson have a formula for each.
</details>
<details><summary>Hint 2</summary>
Patches cover the block: how many along each side? A set has a tile of <code>bm * step</code> and one of <code>step * bn</code> numbers.
Reads for one multiply-add: <code>p + q</code> numbers for <code>p * q</code> multiply-adds. The arithmetic of one warp takes <code>1 / warps</code> of a clock.
</details>
<details><summary>Hint 3</summary>
<code>(bm // p) * (bn // q)</code>; <code>2 * 4 * step * (bm + bn)</code>; <code>1000 / bm + 1000 / bn</code>; <code>min(1, p * q / (p + q) / warps)</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - A column (2 points)

**Goal.** Four results in each thread, one below the other.

**Given.** Blocks of (32, 8) threads, each block computes 32 x 32 results: block (0, 0) has the rows and columns 0 to 31 of `c`, and so on. Just enough blocks.
Each of the two tiles has 256 numbers, and the block has 256 threads.

**Required.** `c = a @ b`, each result written once, and nothing for the sanitizer to find. On 64 x 96 with K = 40:
at most 11,088 wavefronts of shared memory, 1.1 times ours; at most 1,920 sectors loaded, as many as ours; at most two barriers for each step.

**Example.** `[[1, 2]]` times `[[3, 4, 5], [6, 7, 8]]` is `[[15, 18, 21]]`.
"""


# %% column_matmul tags=["exercise"]
@cuda.jit
def column_matmul(c, a, b, m, n, k):
    """c = a @ b; blocks of (32, 8) threads, four results of one column in each thread."""
    ### BEGIN SOLUTION
    tile_a = cuda.shared.array((32, STEP), np.float32)
    tile_b = cuda.shared.array((STEP, 32), np.float32)
    sums = cuda.local.array(4, np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    t = ty * 32 + tx
    row0, col = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32 + tx
    for i in range(4):
        sums[i] = np.float32(0)
    for start in range(0, k, STEP):
        y, x = row0 + t // STEP, start + t % STEP
        tile_a[t // STEP, t % STEP] = a[y, x] if y < m and x < k else np.float32(0)
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else np.float32(0)
        cuda.syncthreads()
        for p in range(STEP):
            right = tile_b[p, tx]
            for i in range(4):
                sums[i] += tile_a[ty * 4 + i, p] * right
        cuda.syncthreads()
    for i in range(4):
        row = row0 + ty * 4 + i
        if row < m and col < n:
            c[row, col] = sums[i]
    ### END SOLUTION


# %% tags=["check"]
check("column_matmul", column_matmul)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Which number can serve all four results of a thread: one of <code>a</code> or one of <code>b</code>?
</details>
<details><summary>Hint 2</summary>
Renumber the threads to fill: <code>t = ty * 32 + tx</code> fetches the number <code>t // 8, t % 8</code> of the tile of <code>a</code>, and thread (tx, ty) the number <code>ty, tx</code> of the tile of <code>b</code>.
</details>
<details><summary>Hint 3</summary>
<code>sums = cuda.local.array(4, np.float32)</code>. For each <code>p</code>: <code>right = tile_b[p, tx]</code>, then <code>sums[i] += tile_a[ty * 4 + i, p] * right</code> for i from 0 to 3.
Each store has its own guard.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - A patch (3 points)

**Goal.** 4 x 4 results in each thread: half a read for a multiply-add.

**Given.** Blocks of (8, 8) threads, each block computes 32 x 32 results. Just enough blocks.
The tiles have 256 numbers each, as before, but the block has 64 threads.

**Required.** As in exercise 2, with fewer reads. On 64 x 96 with K = 24:
at most 2,851 wavefronts of shared memory, 1.1 times ours; at most 1,152 sectors loaded; at most two barriers for each step.

**Example.** As in exercise 2.
"""


# %% patch_matmul tags=["exercise"]
@cuda.jit
def patch_matmul(c, a, b, m, n, k):
    """c = a @ b; blocks of (8, 8) threads, 4 x 4 results in each thread."""
    ### BEGIN SOLUTION
    tile_a = cuda.shared.array((32, STEP), np.float32)
    tile_b = cuda.shared.array((STEP, 32), np.float32)
    sums = cuda.local.array((4, 4), np.float32)
    left = cuda.local.array(4, np.float32)
    right = cuda.local.array(4, np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    t = ty * 8 + tx
    row0, col0 = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    for i in range(4):
        for j in range(4):
            sums[i, j] = np.float32(0)
    for start in range(0, k, STEP):
        for turn in range(4):
            y, x = t // STEP + 8 * turn, t % STEP
            inside = row0 + y < m and start + x < k
            tile_a[y, x] = a[row0 + y, start + x] if inside else np.float32(0)
            y, x = t // 32 + 2 * turn, t % 32
            inside = start + y < k and col0 + x < n
            tile_b[y, x] = b[start + y, col0 + x] if inside else np.float32(0)
        cuda.syncthreads()
        for p in range(STEP):
            for i in range(4):
                left[i] = tile_a[ty + 8 * i, p]
                right[i] = tile_b[p, tx + 8 * i]
            for i in range(4):
                for j in range(4):
                    sums[i, j] += left[i] * right[j]
        cuda.syncthreads()
    for i in range(4):
        for j in range(4):
            row, col = row0 + ty + 8 * i, col0 + tx + 8 * j
            if row < m and col < n:
                c[row, col] = sums[i, j]
    ### END SOLUTION


# %% tags=["check"]
check("patch_matmul", patch_matmul)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Read first, multiply afterwards: eight numbers into small arrays, then sixteen multiply-adds from them.
</details>
<details><summary>Hint 2</summary>
256 numbers, 64 threads: four turns for each tile. Which rows and columns should a thread have, so that neighbouring threads read neighbouring banks?
</details>
<details><summary>Hint 3</summary>
Rows <code>ty + 8 * i</code>, columns <code>tx + 8 * j</code>. In turn <code>turn</code>, thread <code>t = ty * 8 + tx</code> fills <code>tile_a[t // 8 + 8 * turn, t % 8]</code> and <code>tile_b[t // 32 + 2 * turn, t % 32]</code>.
For each <code>p</code>: <code>left[i] = tile_a[ty + 8 * i, p]</code>, <code>right[j] = tile_b[p, tx + 8 * j]</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - Four in one (2 points)

**Goal.** The same patch, laid out so that the compiler joins the reads.

**Given.** As in exercise 3.

**Required.** As in exercise 3, and: compiled for sm_86, every load from shared memory is 128 bits wide, all small arrays are registers, and nothing is spilled.
On 64 x 96 with K = 24 still at most 2,851 wavefronts of shared memory: filling the tiles must not have bank conflicts. At most 2,560 bytes of shared memory.

**Example.** As in exercise 2.
"""


# %% wide_matmul tags=["exercise"]
@cuda.jit
def wide_matmul(c, a, b, m, n, k):
    """c = a @ b; blocks of (8, 8) threads, 4 x 4 results in each, loads of 128 bits."""
    ### BEGIN SOLUTION
    tile_a = cuda.shared.array((STEP, 9, 4), np.float32)  # transposed, one group to spare
    tile_b = cuda.shared.array((STEP, 8, 4), np.float32)
    sums = cuda.local.array((4, 4), np.float32)
    left = cuda.local.array(4, np.float32)
    right = cuda.local.array(4, np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    t = ty * 8 + tx
    row0, col0 = cuda.blockIdx.y * 32, cuda.blockIdx.x * 32
    for i in range(4):
        for j in range(4):
            sums[i, j] = np.float32(0)
    for start in range(0, k, STEP):
        for turn in range(4):
            y, x = t // STEP + 8 * turn, t % STEP
            inside = row0 + y < m and start + x < k
            tile_a[x, y // 4, y % 4] = a[row0 + y, start + x] if inside else np.float32(0)
            y, x = t // 32 + 2 * turn, t % 32
            inside = start + y < k and col0 + x < n
            tile_b[y, x // 4, x % 4] = b[start + y, col0 + x] if inside else np.float32(0)
        cuda.syncthreads()
        for p in range(STEP):
            for i in range(4):
                left[i] = tile_a[p, ty, i]
                right[i] = tile_b[p, tx, i]
            for i in range(4):
                for j in range(4):
                    sums[i, j] += left[i] * right[j]
        cuda.syncthreads()
    for i in range(4):
        for j in range(4):
            row, col = row0 + ty * 4 + i, col0 + tx * 4 + j
            if row < m and col < n:
                c[row, col] = sums[i, j]
    ### END SOLUTION


# %% tags=["check"]
check("wide_matmul", wide_matmul)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Which four numbers does a thread need of each tile for one <code>p</code>? They must be neighbours, in the last index.
</details>
<details><summary>Hint 2</summary>
Both tiles get three indices: <code>p</code>, a group, and a place in the group. The tile of <code>a</code> is transposed. Look where its stores of eight neighbouring lanes go: which bank?
</details>
<details><summary>Hint 3</summary>
<code>tile_a</code> of shape (8, 9, 4), the ninth group unused; <code>tile_b</code> of shape (8, 8, 4). Fill <code>tile_a[x, y // 4, y % 4]</code>, read <code>tile_a[p, ty, i]</code> and <code>tile_b[p, tx, j]</code>.
Now a thread has the rows <code>ty * 4 + i</code> and the columns <code>tx * 4 + j</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - Debug: two sets (2 points)

**Goal.** A colleague's double-buffered kernel passed all tests with K = 16, 32 and 64, on a machine where warps happened to keep together. It has two faults.
The sanitizer finds one. The values for K = 24 show the other.
"""


# %%
@cuda.jit
def buffers_broken(c, a, b, m, n, k):
    tile_a = cuda.shared.array((2, STEP, STEP), np.float32)
    tile_b = cuda.shared.array((2, STEP, STEP), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    tile_a[0, ty, tx] = a[row, tx] if row < m and tx < k else np.float32(0)
    tile_b[0, ty, tx] = b[ty, col] if ty < k and col < n else np.float32(0)
    cuda.syncthreads()
    tiles = (k + STEP - 1) // STEP
    for pair in range((tiles + 1) // 2):
        for now in range(2):
            start = (2 * pair + now + 1) * STEP  # where the next tiles begin
            if start < k:
                x, y = start + tx, start + ty
                tile_a[1 - now, ty, tx] = a[row, x] if row < m and x < k else np.float32(0)
                tile_b[1 - now, ty, tx] = b[y, col] if y < k and col < n else np.float32(0)
            for i in range(STEP):
                total += tile_a[now, ty, i] * tile_b[now, i, tx]
            if now == 0:
                cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


for k in (32, 24):
    args = product(16, 24, k)
    buffers_broken[(3, 2), (STEP, STEP)](*args)
    right = np.allclose(args[0], args[1] @ args[2])
    print(
        f"K = {k}: right {right}, first result {args[0][0, 0]:.3f}, expected {(args[1] @ args[2])[0, 0]:.3f}"
    )

sanitize(buffers_broken[(3, 2), (STEP, STEP)], *args)

# %% [markdown]
r"""
**Given.** Blocks of 8 x 8 threads with one result each, just enough of them.

**Required.** `c = a @ b` for all sizes, and nothing for the sanitizer to find.
On 40 x 56 with K = 52: at most one barrier for each step, and one more, and at most 945 load requests, as many as ours.

**Example.** As in exercise 2. Copy the broken kernel's lines into the hole and mend them.
"""


# %% mended_buffers tags=["exercise"]
@cuda.jit
def mended_buffers(c, a, b, m, n, k):
    """c = a @ b by two sets of tiles of 8 x 8, without the two faults."""
    ### BEGIN SOLUTION
    tile_a = cuda.shared.array((2, STEP, STEP), np.float32)
    tile_b = cuda.shared.array((2, STEP, STEP), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    tile_a[0, ty, tx] = a[row, tx] if row < m and tx < k else np.float32(0)
    tile_b[0, ty, tx] = b[ty, col] if ty < k and col < n else np.float32(0)
    cuda.syncthreads()
    tiles = (k + STEP - 1) // STEP
    for tile in range(tiles):  # each tile once, whether they are odd or even
        now = tile % 2
        start = (tile + 1) * STEP  # where the next tiles begin
        if start < k:
            x, y = start + tx, start + ty
            tile_a[1 - now, ty, tx] = a[row, x] if row < m and x < k else np.float32(0)
            tile_b[1 - now, ty, tx] = b[y, col] if y < k and col < n else np.float32(0)
        for i in range(STEP):
            total += tile_a[now, ty, i] * tile_b[now, i, tx]
        cuda.syncthreads()  # the next tiles are full, and nobody needs these any more
    if row < m and col < n:
        c[row, col] = total
    ### END SOLUTION


# %% tags=["check"]
check("mended_buffers", mended_buffers)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
The finding: after which turn is there no barrier, and who writes the set then? The values: how many tiles are there for K = 24, and how many turns?
</details>
<details><summary>Hint 2</summary>
The barrier has to end each turn, for both sets. And with three tiles the second turn of the last pair uses a set that holds old numbers.
</details>
<details><summary>Hint 3</summary>
One loop over <code>range(tiles)</code> with <code>now = tile % 2</code> and <code>start = (tile + 1) * STEP</code>, and <code>cuda.syncthreads()</code> without an <code>if</code> as its last line.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - Stretch: the whole kernel (3 points)

**Goal.** Patches of 8 x 8, wide loads, two sets of tiles: the parts of the lesson in one kernel of your own.

**Given.** Blocks of 64 threads, in one dimension. Each block computes 64 x 64 results. Just enough blocks.

**Required.** `c = a @ b`, each result written once, and nothing for the sanitizer to find. On 128 x 192 with K = 24:
at most 5,644 wavefronts of shared memory, 1.05 times ours; at most 2,304 sectors loaded; at most one barrier for each step and one more.
Compiled for sm_86: every load from shared memory is 128 bits wide, nothing is spilled. At most 10,240 bytes of shared memory.

**Example.** As in exercise 2. When the check passes, you see your kernel on the ladder, with a score: 100 is our solution.
"""


# %% registers_matmul tags=["exercise"]
@cuda.jit
def registers_matmul(c, a, b, m, n, k):
    """c = a @ b; each block of 64 threads computes 64 x 64 results, 8 x 8 a thread."""
    ### BEGIN SOLUTION
    tile_a = cuda.shared.array((2, STEP, 17, 4), np.float32)  # transposed, one group to spare
    tile_b = cuda.shared.array((2, STEP, 16, 4), np.float32)
    sums = cuda.local.array((8, 8), np.float32)
    left = cuda.local.array(8, np.float32)
    right = cuda.local.array(8, np.float32)
    next_a = cuda.local.array(8, np.float32)
    next_b = cuda.local.array(8, np.float32)
    t = cuda.threadIdx.x
    tx, ty = (t >> 1) & 7, (t >> 4) << 1 | t & 1  # lanes in pairs
    row0, col0 = cuda.blockIdx.y * 64, cuda.blockIdx.x * 64
    for i in range(8):
        for j in range(8):
            sums[i, j] = np.float32(0)
    for turn in range(8):
        y, x = t // 8 + 8 * turn, t % 8
        inside = row0 + y < m and x < k
        tile_a[0, x, y // 4, y % 4] = a[row0 + y, x] if inside else np.float32(0)
        inside = turn < k and col0 + t < n
        tile_b[0, turn, t // 4, t % 4] = b[turn, col0 + t] if inside else np.float32(0)
    cuda.syncthreads()
    now = 0
    for start in range(STEP, k + STEP, STEP):  # where the next tiles begin
        for turn in range(8):
            y, x = row0 + t // 8 + 8 * turn, start + t % 8
            next_a[turn] = a[y, x] if y < m and x < k else np.float32(0)
            y, x = start + turn, col0 + t
            next_b[turn] = b[y, x] if y < k and x < n else np.float32(0)
        for p in range(STEP):
            for i in range(4):
                left[i], left[i + 4] = tile_a[now, p, ty, i], tile_a[now, p, 8 + ty, i]
                right[i], right[i + 4] = tile_b[now, p, tx, i], tile_b[now, p, 8 + tx, i]
            for i in range(8):
                for j in range(8):
                    sums[i, j] += left[i] * right[j]
        now = 1 - now
        for turn in range(8):
            y = t // 8 + 8 * turn
            tile_a[now, t % 8, y // 4, y % 4] = next_a[turn]
            tile_b[now, turn, t // 4, t % 4] = next_b[turn]
        cuda.syncthreads()
    for i in range(8):
        row = row0 + ty * 4 + i % 4 + i // 4 * 32
        for j in range(8):
            col = col0 + tx * 4 + j % 4 + j // 4 * 32
            if row < m and col < n:
                c[row, col] = sums[i, j]
    ### END SOLUTION


# %% [markdown]
r"""
The cell below the check prints, for each version, how many clocks the load/store pipe needs for a multiply-add of a warp, as the source is written:
one for each pass of shared memory, and one for each four sectors of global memory, but at least one for each request.
"""


# %% tags=["check"]
if check("registers_matmul", registers_matmul).status == "pass":
    args = product(128, 128, 64)
    steps = {
        "a column of 4": (column_matmul, 32, (32, 8)),
        "a patch of 4 x 4": (patch_matmul, 32, (8, 8)),
        "yours": (registers_matmul, 64, 64),
    }
    clocks = {"our solution": 12_416}  # with the same launch
    for name, (kernel, side, block) in steps.items():
        report = profile(kernel[(128 // side, 128 // side), block], *args)
        sectors = report.loads.sectors + report.stores.sectors
        requests = report.loads.requests + report.stores.requests
        clocks[name] = max(requests, sectors // 4) + report.shared.wavefronts
    for name, needed in clocks.items():
        each, score = needed / (128 * 128 * 64 / 32), 100 * clocks["our solution"] / needed
        print(f"{name:17} {each:.4f} clocks a multiply-add, score {score:.0f}")

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Start from exercise 4, with 8 x 8 results, and get it right. Then add the second set. The lesson's <code>registers_gemm</code> has all parts, for another block.
</details>
<details><summary>Hint 2</summary>
64 threads lie 8 x 8 over the patches. Each tile has 512 numbers: eight turns. A patch is four groups of 4 x 4, 32 rows and 32 columns apart, so that all reads are groups.
</details>
<details><summary>Hint 3</summary>
<code>tile_a</code> of shape (2, 8, 17, 4), <code>tile_b</code> of shape (2, 8, 16, 4). Reads: <code>tile_a[now, p, ty, i]</code> and <code>tile_a[now, p, 8 + ty, i]</code>, the same with <code>tx</code>.
<code>tx = (t >> 1) &amp; 7</code>, <code>ty = (t >> 4) &lt;&lt; 1 | t &amp; 1</code>. Before the multiplications fetch the next numbers into <code>next_a</code> and <code>next_b</code>, afterwards store them in set <code>1 - now</code>, then one barrier.
</details>
"""

# %% [markdown] tags=["solution"]
r"""
## Remarks on the answers

- In exercise 1 the loads per result depend on the block alone, and the reads on the patch alone.
- In exercise 2 the tile of `a` is read by broadcast: all lanes of a warp have the same row. Each such read is a pass all the same.
- In exercise 3 `ty + 8 * i` spreads the four rows of a warp over four banks, 8 words apart. With `ty * 4 + i` they would be 32 words apart, in one bank.
- In exercise 4 the ninth group moves each row of the transposed tile by four banks.
- In exercise 5 a store of the next tiles may stand before the multiplications: the other set is free since the last barrier. It waits for its numbers there; through registers it need not.
- In exercise 6 the source has as many reads as the machine code has numbers; joined, they are a quarter of the instructions. `t` is split by `&` and `>>` so that the compiler sees that no index is negative.
"""

# %% [markdown]
r"""
**Done?** You have written what a library's float32 product is made of.
To compare your answers with ours, open `solutions/t2_gpu/t2_02_gemm_registers_lab.ipynb`.

- The next lesson, `t2_03_gemm_shapes`, is about matrices that are too flat or too few for such blocks.
- In `t2_05_tensor_cores` a warp multiplies tiles in one instruction.
"""
