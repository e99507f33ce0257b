# %% [markdown]
r"""
# Lab: GEMM by shape

Six exercises on products that leave most of a GPU idle, from the lesson `t2_03_gemm_shapes`. They take about 45 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

Sizes are at least 1 and can be anything else. **All arithmetic is float32**: start sums with `np.float32(0)`.

Run this cell first.
"""

# %%
import numpy as np

from warpwise import check, cuda, profile, sanitize

TILE = 16


def matrices(m, n, k):
    """Random a and b."""
    rng = np.random.default_rng(seed=7)
    return rng.random((m, k), dtype=np.float32), rng.random((k, n), dtype=np.float32)


# %% [markdown]
r"""
## Exercise 1 - Waves (2 points)

**Goal.** How full a launch is, before you launch it.

**Given.** `m` x `n` results, blocks that compute `tile_m` x `tile_n` of them, and `places`: as many blocks run at a time on the whole device.

**Required.** A tuple of three numbers:

1. the waves,
2. the places that stay empty in the last wave,
3. the useful share: results that exist, over the results for which there is room in all places of all waves.

**Examples.** `wave_plan(1793, 1793, 256, 128, 108)` is `(2, 96, 0.4542...)`. `wave_plan(1, 1, 16, 16, 4)` is `(1, 3, 0.0009765625)`.
"""


# %% wave_plan tags=["exercise"]
def wave_plan(m, n, tile_m, tile_n, places):
    """(waves, empty places in the last, useful share)."""
    ### BEGIN SOLUTION
    blocks = -(-m // tile_m) * -(-n // tile_n)
    waves = -(-blocks // places)
    return waves, waves * places - blocks, m * n / (waves * places * tile_m * tile_n)
    ### END SOLUTION


# %% tags=["check"]
check("wave_plan", wave_plan)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Two quantities are rounded up: tiles along each axis, and waves.
</details>
<details><summary>Hint 2</summary>
Blocks: tiles along m times tiles along n, each rounded up. Waves: blocks over places, rounded up.
</details>
<details><summary>Hint 3</summary>
<code>-(-m // tile_m) * -(-n // tile_n)</code> blocks; <code>waves * places - blocks</code> empty; <code>m * n / (waves * places * tile_m * tile_n)</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - The price of a split (1 point)

**Goal.** The bytes of the partial sums.

**Given.** `m` x `n` float32 results, `splits` slices of partial sums (2 or more), and a second kernel that reads all slices once and writes the result once.

**Required.** A tuple of two integers: the bytes that the first kernel writes, and the bytes that the second kernel moves, reads and writes together.

**Example.** `partial_bytes(32, 32, 8)` is `(32768, 36864)`.
"""


# %% partial_bytes tags=["exercise"]
def partial_bytes(m, n, splits):
    """(bytes written by the first kernel, bytes moved by the second)."""
    ### BEGIN SOLUTION
    result = 4 * m * n
    return splits * result, (splits + 1) * result
    ### END SOLUTION


# %% tags=["check"]
check("partial_bytes", partial_bytes)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
How large is one slice?
</details>
<details><summary>Hint 2</summary>
A slice is as large as the result: m * n numbers of 4 bytes.
</details>
<details><summary>Hint 3</summary>
<code>4 * splits * m * n</code> written; read again, and <code>4 * m * n</code> more for the result.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - Split-K (3 points)

**Goal.** The first kernel of a split product.

**Given.** `a` is `(m, k)`, `b` is `(k, n)`. `parts` is `(splits, m, n)`. Blocks of 16 x 16 threads; the grid has just enough of them along x and y, and `splits` along z.
Block z adds the terms from `z * chunk` to the end of its chunk, or of K if that comes first. `chunk` is any number from 1 on, and the last chunks may be empty.

**Required.** `parts[z] = a[:, z * chunk : (z + 1) * chunk] @ b[z * chunk : (z + 1) * chunk]`, each element written once, zeros for an empty chunk, and nothing for the sanitizer to find.
On 40 x 56 with K = 100 in 4 chunks of 25: at most 1,264 load requests, as many as ours, and at most two barriers for each 16 terms of a chunk.

**Example.** `[[1, 2, 3]]` times `[[1], [10], [100]]` with `chunk` = 2 gives the slices `[[21]]` and `[[300]]`.
"""


# %% split_k_matmul tags=["exercise"]
@cuda.jit
def split_k_matmul(parts, a, b, m, n, k, chunk):
    """parts[z] = the terms of a @ b from z * chunk on, `chunk` of them."""
    ### BEGIN SOLUTION
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockIdx.z
    col, row = cuda.blockIdx.x * TILE + tx, cuda.blockIdx.y * TILE + ty
    first = z * chunk
    last = min(k, first + chunk)
    total = np.float32(0)
    for start in range(first, last, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < last else np.float32(0)
        tile_b[ty, tx] = b[start + ty, col] if start + ty < last and col < n else np.float32(0)
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        parts[z, row, col] = total  # zero where the chunk is empty
    ### END SOLUTION


# %% tags=["check"]
check("split_k_matmul", split_k_matmul)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
A chunk is a small product of its own. Where does it begin, and where does it end?
</details>
<details><summary>Hint 2</summary>
<code>first = z * chunk</code>, <code>last = min(k, first + chunk)</code>. Every <code>k</code> of the tiled kernel becomes one of them. No thread may leave without writing its element.
</details>
<details><summary>Hint 3</summary>
<code>for start in range(first, last, TILE)</code>; guards <code>start + tx &lt; last</code> and <code>start + ty &lt; last</code>; in the end <code>parts[z, row, col] = total</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - Debug: one result for all (2 points)

**Goal.** A colleague saves the second kernel: all blocks add to `c` itself. With one split all is well. The kernel has two faults: one has a finding, the other shows when the first is mended.
"""


# %%
@cuda.jit
def split_broken(c, a, b, m, n, k, chunk):
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.blockIdx.x * TILE + tx, cuda.blockIdx.y * TILE + ty
    first = cuda.blockIdx.z * chunk
    total = np.float32(0)
    for start in range(first, min(k, first + chunk), TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < k else np.float32(0)
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else np.float32(0)
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] += total


a, b = matrices(16, 24, 60)
for splits, chunk in ((1, 60), (3, 20)):
    c = np.zeros((16, 24), np.float32)
    split_broken[(2, 1, splits), (TILE, TILE)](c, a, b, 16, 24, 60, chunk)
    print(f"{splits} splits: first result {c[0, 0]:.3f}, expected {(a @ b)[0, 0]:.3f}")

sanitize(
    split_broken[(2, 1, 3), (TILE, TILE)], np.zeros((16, 24), np.float32), a, b, 16, 24, 60, 20
)

# %% [markdown]
r"""
**Given.** As in exercise 3, but `c` is `(m, n)` and full of zeros before the launch.

**Required.** `c = a @ b` for all sizes and chunks, and nothing for the sanitizer to find.
On 40 x 56 with K = 100 in 4 chunks of 25: at most 320 atomic requests, one for each warp with results in each block, and at most 1,264 load requests.

**Example.** `[[1, 2, 3]]` times `[[1], [10], [100]]` is `[[321]]` with any `chunk`. Copy the broken kernel's lines into the hole and mend them.
"""


# %% mended_split tags=["exercise"]
@cuda.jit
def mended_split(c, a, b, m, n, k, chunk):
    """c += a @ b; block z adds the terms from z * chunk on, `chunk` of them."""
    ### BEGIN SOLUTION
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.blockIdx.x * TILE + tx, cuda.blockIdx.y * TILE + ty
    first = cuda.blockIdx.z * chunk
    last = min(k, first + chunk)
    total = np.float32(0)
    for start in range(first, last, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < last else np.float32(0)
        tile_b[ty, tx] = b[start + ty, col] if start + ty < last and col < n else np.float32(0)
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        cuda.atomic.add(c, (row, col), total)
    ### END SOLUTION


# %% tags=["check"]
check("mended_split", mended_split)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
The finding names one line and two blocks. What may happen between their read and their write? Then: with chunks of 20 and tiles of 16, which terms do two blocks add?
</details>
<details><summary>Hint 2</summary>
Read, add and write must be one step. And the second tile of a chunk of 20 has 4 terms of its own; the other 12 belong to the next block.
</details>
<details><summary>Hint 3</summary>
<code>cuda.atomic.add(c, (row, col), total)</code>, and <code>last = min(k, first + chunk)</code> instead of <code>k</code> in both guards.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - Bound before you run (2 points)

**Goal.** The best number of splits for a shape, by the model of the lesson.

**Given.** `m`, `n`, `k`; tiles of `tile` x `tile`; a device of `sms` multiprocessors, one block on each at a time, with `tflops` TFLOP/s in all and `gbs` GB/s. The model, for `s` splits:

- a block takes `2 * tile * tile * ceil(k / s)` operations, at the rate of one multiprocessor;
- all waves take the same time; meanwhile the DRAM moves `4 * (m * k + k * n + s * m * n)` bytes: the first kernel takes the longer of the two;
- for `s` > 1 the second kernel moves `4 * (s + 1) * m * n` bytes through the DRAM.

**Required.** The number `s` from 1 to 256 for which both kernels together take the least time. Where several take the same time, any of them.

**Examples.** With `tile` = 128, `sms` = 108, `tflops` = 19.5 and `gbs` = 1555: `pick_split(128, 128, 65536, 128, 108, 19.5, 1555)` is 108, and for 4096 x 4096 with K = 64 it is 1. The check asks for five more shapes, and others.
"""


# %% pick_split tags=["exercise"]
def pick_split(m, n, k, tile, sms, tflops, gbs):
    """The number of splits, 1 to 256, with the least modelled time."""

    ### BEGIN SOLUTION
    def time_ms(s):
        blocks = -(-m // tile) * -(-n // tile) * s
        waves = -(-blocks // sms)
        arithmetic = waves * 2 * tile * tile * -(-k // s) / (tflops / sms) / 1e9
        first = max(arithmetic, 4 * (m * k + k * n + s * m * n) / gbs / 1e6)
        second = 4 * (s + 1) * m * n / gbs / 1e6 if s > 1 else 0
        return first + second

    return min(range(1, 257), key=time_ms)
    ### END SOLUTION


# %% tags=["check"]
check("pick_split", pick_split)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Write a function for the time of one <code>s</code>, then try all.
</details>
<details><summary>Hint 2</summary>
<code>ceil(m / tile) * ceil(n / tile) * s</code> blocks, rounded up to whole waves of <code>sms</code>. One multiprocessor has <code>tflops / sms</code>.
</details>
<details><summary>Hint 3</summary>
<code>max(waves * 2 * tile * tile * ceil(k / s) / (tflops / sms) / 1e9, 4 * (m * k + k * n + s * m * n) / gbs / 1e6)</code> milliseconds, and for <code>s &gt; 1</code> also <code>4 * (s + 1) * m * n / gbs / 1e6</code>.
<code>min(range(1, 257), key=time_ms)</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - Stretch: one row (2 points)

**Goal.** A row times a matrix, near the least number of bytes and with enough threads.

**Given.** `x` is `(k,)`, `b` is `(k, n)`, `c` is `(n,)` and full of zeros before the launch.
Blocks of (32, 8) threads: `ceil(n / 32)` along x, and `ceil(k / 64)` along y. Block (X, Y) takes the columns from 32 X on and the rows of `b` from 64 Y on, 64 of them.

**Required.** `c = x @ b`, and nothing for the sanitizer to find. On n = 160 with k = 192:
at most 4,118 sectors loaded, 1.04 times ours (those of `b` alone are 3,840); at most 15 atomic requests, one for each block; at most two barriers a block.

**Example.** `[1, 2]` times `[[3, 4, 5], [6, 7, 8]]` is `[15, 18, 21]`. When the check passes, you see how near your kernel comes to the bytes of `b`.
"""


# %% row_times_matrix tags=["exercise"]
@cuda.jit
def row_times_matrix(c, x, b, n, k):
    """c += x @ b.   x: (k,), b: (k, n), c: (n,) float32."""
    ### BEGIN SOLUTION
    part_x = cuda.shared.array(64, np.float32)
    sums = cuda.shared.array((8, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, first = cuda.blockIdx.x * 32 + tx, cuda.blockIdx.y * 64
    t = ty * 32 + tx
    if t < 64:
        part_x[t] = x[first + t] if first + t < k else np.float32(0)
    cuda.syncthreads()
    total = np.float32(0)
    for i in range(ty, min(64, k - first), 8):
        if col < n:
            total += part_x[i] * b[first + i, col]
    sums[ty, tx] = total
    cuda.syncthreads()
    if ty == 0 and col < n:
        for i in range(1, 8):
            total += sums[i, tx]
        cuda.atomic.add(c, col, total)
    ### END SOLUTION


# %% tags=["check"]
if check("row_times_matrix", row_times_matrix).status == "pass":
    k, n = 1024, 512
    x, b = matrices(1, n, k)
    report = profile(
        row_times_matrix[(n // 32, k // 64), (32, 8)], np.zeros(n, np.float32), x[0], b, n, k
    )
    print(f"sectors of b: {k * n * 4 // 32:,}, loaded: {report.loads.sectors:,}")
    print(f"score {100 * (k * n * 4 // 32) / report.loads.sectors:.0f} of 100, ours has 97")

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Lanes lie along the columns. The eight warps of a block share its 64 rows. Which numbers does everybody read?
</details>
<details><summary>Hint 2</summary>
First 64 threads fetch the block's part of <code>x</code> into shared memory, with zeros or a guard for the end. Warp ty takes the rows ty, ty + 8, ... Then the eight sums of a column meet in shared memory.
</details>
<details><summary>Hint 3</summary>
<code>total += part_x[i] * b[first + i, col]</code> for i in <code>range(ty, min(64, k - first), 8)</code>; <code>sums[ty, tx] = total</code>; barrier; threads with ty = 0 add the eight and do one <code>cuda.atomic.add(c, col, total)</code>.
</details>
"""

# %% [markdown] tags=["solution"]
r"""
## Remarks on the answers

- In exercise 1 the useful share is the product of both quantisations.
- In exercise 3 a block whose chunk is empty has no turn in its loop and writes a zero. Nothing else makes that slice right.
- In exercise 4 the sanitizer finds the race of two blocks. Terms that are counted twice are no race: each block does what it says.
- In exercise 5 the best number is often the one that fills a whole number of waves.
- In exercise 6 the eight warps of a block keep eight rows on their way at once. Without the part of `x` in shared memory each request of `b` would have one of `x` beside it: a sector more for each four.
"""

# %% [markdown]
r"""
**Done?** You can now say for any shape what binds it, and what to do about it.
To compare your answers with ours, open `solutions/t2_gpu/t2_03_gemm_shapes_lab.ipynb`.

- `t2_05_tensor_cores` shortens the arithmetic, so that even more shapes are bound by bytes.
- `t2_09_fusion` saves bytes between products.
"""
