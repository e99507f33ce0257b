# %% [markdown]
r"""
# Lab: GEMM in tiles

Six exercises on products of matrices, with what you saw in the lesson `t2_01_gemm_tiles`. They take about 45 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

In every kernel `a` is `(m, k)`, `b` is `(k, n)` and `c` is `(m, n)`, all float32.
The three sizes are at least 1 and can be anything else: a single row, a single column, less than a tile, a tile and a bit.
**All arithmetic is float32**: a sum that starts with `0` or `0.0` is a float64 in Numba. Start it with `np.float32(0)`.

Run this cell first.
"""

# %%
import numpy as np
from IPython.display import display

from warpwise import check, compare, cuda, profile, sanitize

TILE = 16


def product(m, n, k):
    """Random a and b, and an empty c."""
    rng = np.random.default_rng(seed=5)
    a, b = rng.random((m, k), dtype=np.float32), rng.random((k, n), dtype=np.float32)
    return np.zeros((m, n), np.float32), a, b, m, n, k


# %% [markdown]
r"""
## Exercise 1 - The right way round (2 points)

**Goal.** This kernel gives right results, and moves far too many sectors. Look at the line it names.
"""


# %%
@cuda.jit
def matmul_slow(c, a, b, m, n, k):
    row, col = cuda.grid(2)
    if row < m and col < n:
        total = np.float32(0)
        for i in range(k):
            total += a[row, i] * b[i, col]
        c[row, col] = total


profile(matmul_slow[(2, 12), (32, 8)], *product(64, 96, 40))

# %% [markdown]
r"""
**Given.** A launch with at least one thread for each result; x runs over the columns of `c`, y over its rows. Blocks of several shapes.

**Required.** `c = a @ b`, each result written once, and no more sectors than our solution: on 64 x 96 with K = 40, five for each multiply-add of a warp, and 39,168 in all with the stores.

**Example.** `[[1, 2]]` times `[[3, 4, 5], [6, 7, 8]]` is `[[15, 18, 21]]`.
"""


# %% coalesced_matmul tags=["exercise"]
@cuda.jit
def coalesced_matmul(c, a, b, m, n, k):
    """c = a @ b, one thread for each result.   a: (m, k), b: (k, n), c: (m, n) float32."""
    ### BEGIN SOLUTION
    col, row = cuda.grid(2)
    if row < m and col < n:
        total = np.float32(0)
        for i in range(k):
            total += a[row, i] * b[i, col]
        c[row, col] = total
    ### END SOLUTION


# %% tags=["check"]
check("coalesced_matmul", coalesced_matmul)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Which index changes from one lane of a warp to the next: the row or the column?
</details>
<details><summary>Hint 2</summary>
Lanes lie along x, the first number of <code>cuda.grid(2)</code>. Neighbours in memory lie along a row, so x should be the column.
</details>
<details><summary>Hint 3</summary>
<code>col, row = cuda.grid(2)</code>. Everything else stays.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - Count before you write (2 points)

**Goal.** You are about to write a kernel with tiles of `tile` x `tile`, by blocks of as many threads. What will it load, keep, and wait for?

**Given.** The sizes `m`, `n`, `k`, and `tile`. Each thread computes one result.
The grid has just enough blocks. A load is *guarded*: for an element that does not exist, the thread stores a zero without loading anything.

**Required.** A tuple of three integers:

1. the numbers that all blocks together load from `a` and `b`, each thread's load counted as one,
2. the bytes of shared memory that one block declares, for two tiles of float32,
3. the barriers of one block.

**Examples.** `tile_counts(64, 96, 32, 16)` is `(24576, 2048, 4)`: 2 K / T = 4 loads for each of 6,144 results.
`tile_counts(1, 1, 1, 16)` is `(2, 2048, 2)`.
"""


# %% tile_counts tags=["exercise"]
def tile_counts(m, n, k, tile):
    """(numbers loaded by all blocks, shared bytes of a block, barriers of a block)."""
    ### BEGIN SOLUTION
    blocks_down = (m + tile - 1) // tile
    blocks_along = (n + tile - 1) // tile
    turns = (k + tile - 1) // tile
    loads = m * k * blocks_along + k * n * blocks_down
    return loads, 2 * tile * tile * 4, 2 * turns
    ### END SOLUTION


# %% tags=["check"]
check("tile_counts", tile_counts)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Take one element of <code>a</code>. Which blocks need it, and how often does each of them load it?
</details>
<details><summary>Hint 2</summary>
All blocks that compute results of its row: as many as there are tiles along n. An element of <code>b</code>: as many as there are tiles along m. Round up.
</details>
<details><summary>Hint 3</summary>
<code>m * k * ceil(n / tile) + k * n * ceil(m / tile)</code> loads; two tiles of <code>tile * tile</code> numbers of 4 bytes; two barriers for each of <code>ceil(k / tile)</code> turns.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - The least time (2 points)

**Goal.** The bound before the code, for any shape. A language model that writes one word at a time multiplies one row by a large matrix; while it reads a long text, it multiplies thousands of rows.

**Given.** `m`, `n`, `k`; `tflops`: the device's float32 peak in TFLOP/s; `gbs`: its DRAM bandwidth in GB/s.

**Required.** The least time of the product in milliseconds: all operations at the peak, all three float32 matrices once through the DRAM, both at the same time.

**Examples.** With 19.5 TFLOP/s and 1,555 GB/s, `least_gemm_ms(4096, 4096, 4096, 19.5, 1555)` is 7.048 ms, and `least_gemm_ms(1, 4096, 4096, 19.5, 1555)` is 0.04318 ms.
"""


# %% least_gemm_ms tags=["exercise"]
def least_gemm_ms(m, n, k, tflops, gbs):
    """Milliseconds that a float32 product takes at least."""
    ### BEGIN SOLUTION
    operations = 2 * m * n * k
    moved = 4 * (m * k + k * n + m * n)
    return max(operations / tflops / 1e9, moved / gbs / 1e6)
    ### END SOLUTION


# %% tags=["check"]
check("least_gemm_ms", least_gemm_ms)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Two pipes work at the same time. Which one decides?
</details>
<details><summary>Hint 2</summary>
The one that is busy longer. A multiply-add is two operations; each of the three matrices passes once, with 4 bytes a number.
</details>
<details><summary>Hint 3</summary>
<code>2 * m * n * k</code> operations over <code>tflops * 1e12</code> a second, <code>4 * (m * k + k * n + m * n)</code> bytes over <code>gbs * 1e9</code> a second; the larger one, times 1000.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - The tile (3 points)

**Goal.** The kernel whose counts you have predicted.

**Given.** Blocks of `TILE` x `TILE` = 16 x 16 threads, just enough of them. Sizes of any kind.

**Required.** `c = a @ b`, each result written once, and nothing for the sanitizer to find. On 80 x 112 with K = 52:
at most 2,030 load requests and 8,400 sectors loaded, which is what our solution needs, at most two barriers for each step along K, at most 2,560 bytes of shared memory (two tiles have 2,048).

**Example.** As in exercise 1.
"""


# %% tiled_matmul tags=["exercise"]
@cuda.jit
def tiled_matmul(c, a, b, m, n, k):
    """c = a @ b by tiles of TILE x TILE.   a: (m, k), b: (k, n), c: (m, n) float32."""
    ### BEGIN SOLUTION
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, k, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < k else np.float32(0)
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else np.float32(0)
        cuda.syncthreads()  # both tiles are full
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()  # nobody needs them any more
    if row < m and col < n:
        c[row, col] = total
    ### END SOLUTION


# %% tags=["check"]
check("tiled_matmul", tiled_matmul)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Fill, barrier, use, barrier. No thread may leave early, and no barrier may stand in an <code>if</code>: guard the loads and the store.
</details>
<details><summary>Hint 2</summary>
In the step that begins at <code>start</code>, thread (tx, ty) fetches <code>a[row, start + tx]</code> and <code>b[start + ty, col]</code>.
Each index has a limit of its own. Where it is reached, store <code>np.float32(0)</code>.
</details>
<details><summary>Hint 3</summary>
Guard of <code>a</code>: <code>row &lt; m and start + tx &lt; k</code>; of <code>b</code>: <code>start + ty &lt; k and col &lt; n</code>.
Between the barriers: <code>total += tile_a[ty, i] * tile_b[i, tx]</code> for i from 0 to TILE - 1.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - Debug: two faults (2 points)

**Goal.** A colleague's kernel passed all tests on sizes that are multiples of 16. It has two faults.
The sanitizer finds one. The values of the second product show the other.
"""


# %%
@cuda.jit
def matmul_broken(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, k, TILE):
        if row < m and start + tx < k:
            tile_a[ty, tx] = a[row, start + tx]
        if start + ty < k and col < n:
            tile_b[ty, tx] = b[start + ty, col]
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
    if row < m and col < n:
        c[row, col] = total


for k in (48, 40):
    args = product(32, 48, k)
    matmul_broken[(3, 2), (TILE, TILE)](*args)
    right = np.allclose(args[0], args[1] @ args[2])
    print(
        f"K = {k}: right {right}, first result {args[0][0, 0]:.3f}, expected {(args[1] @ args[2])[0, 0]:.3f}"
    )

sanitize(matmul_broken[(3, 2), (TILE, TILE)], *args)

# %% [markdown]
r"""
**Given.** As in exercise 4.

**Required.** `c = a @ b` for all sizes, and nothing for the sanitizer to find.
At most two barriers for each step along K, and no more load requests than before: 2,030 on 80 x 112 with K = 52.

**Example.** As in exercise 1. Copy the broken kernel's lines into the hole and mend them.
"""


# %% mended_matmul tags=["exercise"]
@cuda.jit
def mended_matmul(c, a, b, m, n, k):
    """c = a @ b by tiles of TILE x TILE, without the two faults."""
    ### BEGIN SOLUTION
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, k, TILE):
        if row < m and start + tx < k:
            tile_a[ty, tx] = a[row, start + tx]
        if start + ty < k and col < n:
            tile_b[ty, tx] = b[start + ty, col]
        cuda.syncthreads()
        if row < m and col < n:
            for i in range(min(TILE, k - start)):  # no further than the matrix
                total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()  # before the next step overwrites the tiles
    if row < m and col < n:
        c[row, col] = total
    ### END SOLUTION


# %% tags=["check"]
check("mended_matmul", mended_matmul)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
The finding: a line that fills a tile, and a line that uses it in the step before. The values: with K = 40 the third step has 8 columns. What is in the other 8?
</details>
<details><summary>Hint 2</summary>
Fill, barrier, use, <em>barrier</em>. And what was not filled in this step still holds the numbers of the last one: either overwrite it, or do not use it.
</details>
<details><summary>Hint 3</summary>
A <code>cuda.syncthreads()</code> as the last statement of the loop over <code>start</code>.
An <code>else</code> that stores <code>np.float32(0)</code> for each of the two loads; or an inner loop over <code>range(min(TILE, k - start))</code>, for threads with a result.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - Stretch: four results a thread (3 points)

**Goal.** Fewer loads per result, and fewer shared reads, with the same number of threads: the last section of the lesson.

**Given.** Blocks of 16 x 16 threads, but each block computes **32 x 32** results: block (0, 0) has the rows 0 to 31 and the columns 0 to 31 of `c`, and so on.
The grid has `ceil(n / 32)` blocks along x and `ceil(m / 32)` along y. Sizes of any kind. `WIDE` = 32 and `TILE` = 16 are constants you may use.

**Required.** `c = a @ b`, each result written once, and nothing for the sanitizer to find. On 96 x 128 with K = 56:
at most 5,376 sectors loaded, as many as our solution (K / 16 numbers per result, as with tiles of 32 x 32), at most 34,944 shared wavefronts, 1.3 times ours,
at most 8,192 bytes of shared memory and two barriers for each 16 numbers along K.

**Example.** As in exercise 1. When the check passes, you see your kernel on the ladder, with a score: 100 is our solution.
"""

# %%
WIDE = 32


# %% four_results tags=["exercise"]
@cuda.jit
def four_results(c, a, b, m, n, k):
    """c = a @ b; each block of 16 x 16 threads computes 32 x 32 results."""
    ### BEGIN SOLUTION
    tile_a = cuda.shared.array((WIDE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, WIDE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, col = cuda.blockIdx.y * WIDE + ty, cuda.blockIdx.x * WIDE + tx
    row2, col2 = row + TILE, col + TILE
    zero = np.float32(0)
    upper_left = upper_right = lower_left = lower_right = zero
    for start in range(0, k, TILE):
        x, y = start + tx, start + ty  # where this thread loads along K
        tile_a[ty, tx] = a[row, x] if row < m and x < k else zero
        tile_a[ty + TILE, tx] = a[row2, x] if row2 < m and x < k else zero
        tile_b[ty, tx] = b[y, col] if y < k and col < n else zero
        tile_b[ty, tx + TILE] = b[y, col2] if y < k and col2 < n else zero
        cuda.syncthreads()
        for i in range(TILE):
            upper, lower = tile_a[ty, i], tile_a[ty + TILE, i]
            left, right = tile_b[i, tx], tile_b[i, tx + TILE]
            upper_left += upper * left
            upper_right += upper * right
            lower_left += lower * left
            lower_right += lower * right
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = upper_left
    if row < m and col2 < n:
        c[row, col2] = upper_right
    if row2 < m and col < n:
        c[row2, col] = lower_left
    if row2 < m and col2 < n:
        c[row2, col2] = lower_right
    ### END SOLUTION


# %% [markdown]
r"""
The cell below the check prints, for each version, how many clocks the load/store pipe needs for a multiply-add of a warp:
one for each pass of shared memory, and one for each four sectors of global memory, but at least one for each request.
"""


# %% tags=["check"]
if check("four_results", four_results).status == "pass":
    args = product(256, 256, 256)
    steps = {
        "one result, no tile": (coalesced_matmul, 16),
        "one result, tiles": (tiled_matmul, 16),
        "yours": (four_results, 32),
    }
    clocks = {"our solution": 608_256}  # with the same launch
    for name, (kernel, side) in steps.items():
        report = profile(kernel[(256 // side, 256 // side), (16, 16)], *args)
        sectors = report.loads.sectors + report.stores.sectors
        requests = report.loads.requests + report.stores.requests
        clocks[name] = max(requests, sectors // 4) + report.shared.wavefronts
    for name, needed in clocks.items():
        each, score = needed / (256**3 / 32), 100 * clocks["our solution"] / needed
        print(f"{name:20} {each:.4f} clocks a multiply-add, score {score:.0f}")
    display(
        compare(
            {
                name: (kernel[(256 // side, 256 // side), (16, 16)], *args)
                for name, (kernel, side) in steps.items()
            },
            device="RTX 3090",
        )
    )

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
A thread has results in two rows and two columns. Which two are convenient, so that neighbouring threads keep neighbouring columns?
</details>
<details><summary>Hint 2</summary>
Rows ty and ty + 16, columns tx and tx + 16 of the block's 32 x 32. Tiles: 32 rows of 16 numbers of <code>a</code>, 16 rows of 32 numbers of <code>b</code>.
Each thread loads two numbers of each, with a guard for each.
</details>
<details><summary>Hint 3</summary>
Four totals. In the inner loop read <code>tile_a[ty, i]</code>, <code>tile_a[ty + 16, i]</code>, <code>tile_b[i, tx]</code>, <code>tile_b[i, tx + 16]</code> into four variables, and do four multiply-adds with them.
Each of the four stores needs its own guard.
</details>
"""

# %% [markdown] tags=["solution"]
r"""
## Remarks on the answers

- Exercise 1 moves `33 / 5 = 6.6` times fewer sectors for the same 2 K loads per result. Nothing is loaded less often.
- In exercise 2 an element of `a` is needed by all blocks along its row: `ceil(n / tile)` of them. In the example `a` gives 64 * 32 * 6 = 12,288 loads and `b` gives 32 * 96 * 4 = 12,288 as well.
- In exercise 3 a single row is bound by the DRAM, thousands of rows are bound by arithmetic. Between them lies the ridge.
- In exercise 4 the zeros make the inner loop the same for all threads. They cost operations at the edge, and no loads.
- In exercise 5 one cure is enough for the tail. With the shorter inner loop the threads without a result must not multiply, for their part of the tiles may never have been filled.
- In exercise 6 four numbers read serve four multiply-adds. Four results in one column read five.
  A little is left: our stores into `tile_b` have bank conflicts, for the two rows of a warp meet in the same banks. Filling row `t // 32`, column `t % 32` with thread number t avoids them, and scores above 100. `t2_02_gemm_registers` goes on to 64 results a thread.
"""

# %% [markdown]
r"""
**Done?** You can now let a block share both matrices, and you know what that leaves undone.
To compare your answers with ours, open `solutions/t2_gpu/t2_01_gemm_tiles_lab.ipynb`.

- The next lesson, `t2_02_gemm_registers`, gives each thread a tile of results of its own.
- In `t2_03_gemm_shapes` the matrices are too flat or too few for all of this.
"""
