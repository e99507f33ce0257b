# %% [markdown]
r"""
# Lab: banks

Six exercises on shared memory, with what you saw in the lesson `t1_06_banks`. They take about 45 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

From exercise 4 on, right values are not enough. The check also counts what your kernel does,
and compares it with our solution: sectors, bank conflicts, bytes of shared memory.
An empty picture or an empty list needs no special case.

Run this cell first.
"""

# %%
import math

import numpy as np
from IPython.display import display

from warpwise import check, compare, cuda, profile

# %% [markdown]
r"""
## Exercise 1 - Which bank? (1 point)

**Goal.** Find the bank of an element of a tile. An ordinary Python function, not a kernel.

**Given.** `row` and `column` of a float32 element, and `pitch`: the words from one row of the tile to the next,
padding included.

**Required.** The number of its bank, 0 to 31. Row 0, column 0 is in bank 0.

**Examples.** `bank_of(1, 2, 33)` is 3, and `bank_of(7, 5, 32)` is 5.
"""


# %% bank_of tags=["exercise"]
def bank_of(row, column, pitch):
    """The bank of float32 element (row, column) in a tile with rows of `pitch` words."""
    ### BEGIN SOLUTION
    return (row * pitch + column) % 32
    ### END SOLUTION


# %% tags=["check"]
check("bank_of", bank_of)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Number the words of the tile from 0, row after row. Which number has the element?
</details>
<details><summary>Hint 2</summary>
<code>row</code> whole rows come before it, <code>pitch</code> words each. Then <code>column</code> more.
</details>
<details><summary>Hint 3</summary>
The word is <code>row * pitch + column</code>. The bank is the remainder by 32: <code>% 32</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - Wavefronts of a stride (2 points)

**Goal.** Say what a strided access costs, for elements of 4, 8 and 16 bytes.

**Given.** Lane t of a full warp reads element `stride * t` of an array in shared memory. `stride` is at least 1.
`itemsize`: the bytes of an element, 4, 8 or 16.

**Required.** The number of wavefronts for this one read, all parts of the warp together. `math` is imported.

**Examples.** `strided_wavefronts(4, 4)` is 4, and `strided_wavefronts(1, 8)` is 2.
"""


# %% strided_wavefronts tags=["exercise"]
def strided_wavefronts(stride, itemsize):
    """Wavefronts when lane t of a warp reads element stride * t of `itemsize` bytes: 4, 8 or 16."""
    ### BEGIN SOLUTION
    words = itemsize // 4
    return words * math.gcd(stride, 32 // words)
    ### END SOLUTION


# %% tags=["check"]
check("strided_wavefronts", strided_wavefronts)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
The table in section 9 of the lesson has most of the answers. Find the rule for 4 bytes first.
</details>
<details><summary>Hint 2</summary>
For 4 bytes it is the greatest common divisor of the stride and 32. With 8 bytes the warp goes in 2 parts.
How many elements of 8 bytes fit side by side into the 32 banks?
</details>
<details><summary>Hint 3</summary>
With <code>words = itemsize // 4</code> there are <code>words</code> parts,
and each needs <code>math.gcd(stride, 32 // words)</code> wavefronts.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - Predict the wavefronts (1 point)

**Goal.** Before you mend a kernel, say what it costs.

**Given.** The kernel `tiled` of the lesson, on 96 rows and 160 columns of float32. A block of 32 x 8 threads for each tile of 32 x 32:

```python
for j in range(ty, 32, 8):
    tile[j, tx] = a[y0 + j, x0 + tx]         # tile: (32, 32) float32
cuda.syncthreads()
for j in range(ty, 32, 8):
    out[x0 + j, y0 + tx] = tile[tx, j]
```

**Required.** The wavefronts of shared memory, stores and reads, over all blocks together.
Return an integer; let Python do the arithmetic.

**Example.** For a picture of 32 x 32 it is a single tile: 1,056 wavefronts.
"""


# %% tile_wavefronts tags=["exercise"]
def tile_wavefronts():
    """Wavefronts of shared memory that `tiled` needs for 96 rows and 160 columns."""
    ### BEGIN SOLUTION
    tiles = (96 // 32) * (160 // 32)
    stores = 32 * 1  # 32 rows of a tile, each stored without a conflict
    reads = 32 * 32  # 32 columns, each read with a 32-way conflict
    return tiles * (stores + reads)
    ### END SOLUTION


# %% tags=["check"]
check("tile_wavefronts", tile_wavefronts)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
How many tiles are there? How many times does a warp store into one tile, and how many times does one read from it?
</details>
<details><summary>Hint 2</summary>
A tile has 32 rows. Each is stored by one warp and, as a column, read by one warp.
</details>
<details><summary>Hint 3</summary>
A store takes 1 wavefront, a read 32. So a tile takes <code>32 * 1 + 32 * 32</code>, and there are <code>3 * 5</code> tiles.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - A transpose without conflicts (2 points)

**Goal.** Mend `tiled`, and let it work on pictures of any size.

**Given.** `a`: `(height, width)` float32. `out`: `(width, height)` float32. Blocks of 32 x 8 threads,
and a block for each tile of 32 x 32 of `a`: `blockIdx.x` counts tiles along a row, `blockIdx.y` down the rows.
The picture may end in the middle of a tile.

**Required.** `out[x, y] = a[y, x]`, each element written once.
On 96 x 160: 4 sectors for each load and each store, no bank conflict, and at most 5,280 bytes of shared memory.

**Example.** `[[1, 2, 3], [4, 5, 6]]` becomes `[[1, 4], [2, 5], [3, 6]]`.
"""


# %% padded_transpose tags=["exercise"]
@cuda.jit
def padded_transpose(out, a, height, width):
    """out = a, rows and columns exchanged.   a: (height, width), out: (width, height) float32."""
    ### BEGIN SOLUTION
    tile = cuda.shared.array((32, 33), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    for j in range(ty, 32, 8):
        if y0 + j < height and x0 + tx < width:
            tile[j, tx] = a[y0 + j, x0 + tx]
    cuda.syncthreads()
    for j in range(ty, 32, 8):
        if x0 + j < width and y0 + tx < height:
            out[x0 + j, y0 + tx] = tile[tx, j]
    ### END SOLUTION


# %% [markdown]
r"""
When the check passes, it is followed by the wavefronts that your kernel needs on the picture of exercise 3.
"""

# %% tags=["check"]
if check("padded_transpose", padded_transpose).status == "pass":
    picture = np.random.default_rng(seed=1).random((96, 160), dtype=np.float32)
    report = profile(
        padded_transpose[(5, 3), (32, 8)], np.empty_like(picture.T.copy()), picture, 96, 160
    )
    print(f"counted: {report.shared.wavefronts:,} wavefronts")

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Start from the kernel `padded` of the lesson. What happens at the right and at the lower edge?
</details>
<details><summary>Hint 2</summary>
Two guards, one for each loop, and they differ: `out` has `width` rows and `height` columns.
The barrier stays outside of both, so that every thread reaches it.
</details>
<details><summary>Hint 3</summary>
A tile of shape <code>(32, 33)</code>. In the first loop <code>if y0 + j &lt; height and x0 + tx &lt; width:</code>,
in the second <code>if x0 + j &lt; width and y0 + tx &lt; height:</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - Find the conflict (2 points)

**Goal.** The kernel below is right, and slow. Mend it with the help of its profile.

It counts how often each of the values 0 to 15 occurs. To have no quarrel about the counters, each thread has 16 of its own,
in shared memory, and at the end stores them in its own column of `out`. Run the cell, and read the report.
"""


# %%
@cuda.jit
def slow_counts(out, x):
    counts = cuda.shared.array((64, 16), np.int32)  # a row for each thread
    t = cuda.threadIdx.x
    for k in range(16):
        counts[t, k] = 0
    first = cuda.grid(1)
    for i in range(first, x.size, cuda.gridsize(1)):
        counts[t, x[i]] += 1
    for k in range(16):
        out[k, first] = counts[t, k]


dice = np.random.default_rng(seed=2).integers(0, 16, 2000, dtype=np.int32)
profile(slow_counts[2, 64], np.zeros((16, 128), np.int32), dice)

# %% [markdown]
r"""
**Given.** `x`: int32 values from 0 to 15, any number of them. `out`: `(16, threads)` int32, a column for each thread of the launch.
Blocks of 64 threads.

**Required.** The same values as `slow_counts` gives: `out[k, i]` says how many of the values of thread i are k.
Thread i has the values `x[i]`, `x[i + threads]`, `x[i + 2 * threads]` and so on.
No bank conflict, whatever the values are. The counters stay in shared memory, in at most 4,096 bytes.

**Example.** One block, and `x` holds 3, 5, 3 in the places of thread 0: then `out[3, 0]` is 2, `out[5, 0]` is 1, and the rest of the column is 0.
"""


# %% own_counts tags=["exercise"]
@cuda.jit
def own_counts(out, x):
    """out[k, i]: how many values of thread i are k.   out: (16, threads) int32;  x: (n,) int32."""
    ### BEGIN SOLUTION
    counts = cuda.shared.array((16, 64), np.int32)  # a column for each thread
    t = cuda.threadIdx.x
    for k in range(16):
        counts[k, t] = 0
    first = cuda.grid(1)
    for i in range(first, x.size, cuda.gridsize(1)):
        counts[x[i], t] += 1
    for k in range(16):
        out[k, first] = counts[k, t]
    ### END SOLUTION


# %% tags=["check"]
check("own_counts", own_counts)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
The report says how far apart neighbouring threads are. Which stride is that, and what does it cost?
</details>
<details><summary>Hint 2</summary>
Padding would mend the first and the last loop. In the middle one the lanes want different k at the same time.
Which arrangement gives lane t the same bank for every k?
</details>
<details><summary>Hint 3</summary>
Section 10 of the lesson: give each thread a column. The shape becomes <code>(16, 64)</code>,
and everywhere <code>counts[t, k]</code> becomes <code>counts[k, t]</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - Stretch: the small tile (4 points)

**Goal.** Section 7 of the lesson left a question open: a block of 16 x 16 has two rows in each warp, and a pitch of 17 conflicts on both sides.
Find an arrangement that does not.

**Given.** `a`: `(height, width)` float32. `out`: `(width, height)` float32. Blocks of 16 x 16 threads, one for each tile of 16 x 16 of `a`.
Pictures of any size.

**Required.** `out[x, y] = a[y, x]`, each element written once.
On 96 x 160: 4 sectors for each load and each store, no bank conflict, and at most 1,024 bytes of shared memory.

**Example.** As in exercise 4.
"""


# %% small_tile_transpose tags=["exercise"]
@cuda.jit
def small_tile_transpose(out, a, height, width):
    """out = a, rows and columns exchanged, with a tile of 1,024 bytes and blocks of 16 x 16."""
    ### BEGIN SOLUTION
    tile = cuda.shared.array((16, 16), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 16, cuda.blockIdx.y * 16
    if y0 + ty < height and x0 + tx < width:
        tile[ty, tx ^ ty] = a[y0 + ty, x0 + tx]
    cuda.syncthreads()
    if x0 + ty < width and y0 + tx < height:
        out[x0 + ty, y0 + tx] = tile[tx, ty ^ tx]
    ### END SOLUTION


# %% [markdown]
r"""
When the check passes, you see your kernel on a ladder, below the versions of section 7. Look at the conflicts.
The modelled times hardly change: conflicts of 8 and 2 ways are small here beside what DRAM takes for the picture.
"""


# %% tags=["check"]
def small_tiles(pitch):
    @cuda.jit
    def transpose16(out, a, height, width):
        tile = cuda.shared.array((16, pitch), np.float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        x0, y0 = cuda.blockIdx.x * 16, cuda.blockIdx.y * 16
        tile[ty, tx] = a[y0 + ty, x0 + tx]
        cuda.syncthreads()
        out[x0 + ty, y0 + tx] = tile[tx, ty]

    return transpose16


if check("small_tile_transpose", small_tile_transpose).status == "pass":
    picture = np.random.default_rng(seed=3).random((480, 640), dtype=np.float32)
    steps = {"16 x 16": small_tiles(16), "16 x 17": small_tiles(17), "yours": small_tile_transpose}
    args = np.zeros((640, 480), np.float32), picture, 480, 640
    display(
        compare(
            {name: (kernel[(40, 30), (16, 16)], *args) for name, kernel in steps.items()},
            device="A100",
        )
    )

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
1,024 bytes are 16 x 16 words: there is no room for padding. What can you still change?
</details>
<details><summary>Hint 2</summary>
The order within each row: section 6 of the lesson. It works for 16 as it does for 32.
</details>
<details><summary>Hint 3</summary>
Store to <code>tile[ty, tx ^ ty]</code>, read from <code>tile[tx, ty ^ tx]</code>. The guards are those of exercise 4, without the loops.
</details>
"""

# %% [markdown] tags=["solution"]
r"""
## Remarks on the answers

- In exercise 2, one formula serves all three sizes. `math.gcd(stride * words, 32)` gives the same numbers. Can you see why?
- In exercise 3, 15 * (32 + 1024) = 15,840 wavefronts. The padded kernel needs 960: fewer by a factor of 16.5.
- In exercise 4 the barrier stands outside the guards. A thread without an element still has to come to it.
- In exercise 5, with a column for each thread, the bank of lane t is t modulo 32 for every k.
  With padding, `counts[t, k]` in rows of 17, lanes that count different values may still meet in a bank. It depends on the data.
- In exercise 6 the two rows of a warp fill the 32 banks, 16 each. `^ ty` reorders each row within its own half, so the store stays free.
  In the read, even rows of the tile lie in banks 0 to 15 and odd rows in 16 to 31, and within each half no place comes twice.
  `(tx + ty) % 16` is a swizzle that works as well.
"""

# %% [markdown]
r"""
**Done?** You can now predict what an access to shared memory costs, and arrange data so that it costs no more than it must.
To compare your answers with ours, open `solutions/t1_kernels/t1_06_banks_lab.ipynb`.

- The next lesson, `t1_07_reduction`, adds up an array in six ways. Two of them differ in their bank conflicts alone.
- In `t1_09_atomics` all threads share the counters of exercise 5.
- In `t2_01_gemm_tiles` the tile of section 8 becomes a matrix product.
"""
