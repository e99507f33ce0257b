# %% [markdown]
r"""
# Lab: Tiles

Six exercises in Triton, with what you saw in the lesson `t2_08_tiles`. They take about 50 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

A check runs your kernel through Triton's interpreter, with every access looked at, and compiles it for an A100. On a machine with a GPU it runs there as well.
Triton exists for Linux only. Elsewhere you can do exercise 2; the other checks say what is missing.

Run this cell first.
"""

# %%
import numpy as np

from warpwise import check, tiles
from warpwise.tiles import tl, triton

# %% [markdown]
r"""
## Exercise 1 - One tile a program (1 point)

**Goal.** Your first Triton kernel.

**Given.** Pointers to three float32 vectors of `n` elements, a number `a`. `triton.cdiv(n, BLOCK)` programs.

**Required.** `out = a * x + y` for any `n`. Each element is loaded once and stored once: on 1,000 elements 8,000 bytes loaded, 4,000 stored.

**Example.** a = 2, x = [1, 2, 3], y = [10, 20, 30]: out = [12, 24, 36].
"""


# %% scaled_add tags=["exercise"]
@triton.jit
def scaled_add(out, x, y, a, n, BLOCK: tl.constexpr):
    """out = a * x + y.   out, x, y: pointers to n float32."""
    ### BEGIN SOLUTION
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    product = a * tl.load(x + i, mask=inside)
    tl.store(out + i, product + tl.load(y + i, mask=inside), mask=inside)
    ### END SOLUTION


# %% tags=["check"]
check("scaled_add", scaled_add)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Which elements belong to program number p? Which of them exist?
</details>
<details><summary>Hint 2</summary>
<code>i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)</code>, and the mask <code>i &lt; n</code> for both loads and the store.
</details>
<details><summary>Hint 3</summary>
<code>tl.store(out + i, a * tl.load(x + i, mask=i &lt; n) + tl.load(y + i, mask=i &lt; n), mask=i &lt; n)</code>
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - Count before you write (2 points)

**Goal.** What will the lesson's `matmul` load, and how many lanes will be idle? Plain Python, no kernel.

**Given.** `a` is (m, k) and `b` is (k, n), both float16. A program computes a tile of `bm` x `bn` results, in steps of `bk` along k. The sizes are at least 1, the extents of the tiles are powers of two.

**Required.** A tuple of three integers:

1. the programs of the launch,
2. the bytes that all programs together load from `a` and `b`; lanes that are masked off load nothing,
3. the lanes that are masked off in these loads, all programs and all steps together.

**Examples.** `tile_tally(70, 100, 40, 32, 32, 16)` is `(12, 46400, 13664)`, as in the lesson: 22,400 + 24,000 bytes, 7,232 + 6,432 lanes.
`tile_tally(64, 64, 64, 32, 64, 16)` is `(2, 24576, 0)`.
"""


# %% tile_tally tags=["exercise"]
def tile_tally(m, n, k, bm, bn, bk):
    """(programs, bytes loaded, lanes masked off in the loads)."""
    ### BEGIN SOLUTION
    down, along, steps = (-(-size // tile) for size, tile in ((m, bm), (n, bn), (k, bk)))
    programs = down * along
    loaded = m * k * along + k * n * down
    lanes = programs * steps * (bm * bk + bk * bn)
    return programs, 2 * loaded, lanes - loaded
    ### END SOLUTION


# %% tags=["check"]
check("tile_tally", tile_tally)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Take one element of <code>a</code>. How many programs load it?
</details>
<details><summary>Hint 2</summary>
As many as there are tiles along n. A lane is idle when it has no element: all lanes of all loads, minus the elements loaded.
</details>
<details><summary>Hint 3</summary>
With down = ceil(m / bm), along = ceil(n / bn), steps = ceil(k / bk): <code>m * k * along + k * n * down</code> elements of 2 bytes,
and <code>down * along * steps * (bm * bk + bk * bn)</code> lanes.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - Softmax with its sum (2 points)

**Goal.** The softmax of attention. Later units need the logarithm of its sum, too.

**Given.** One program for each row of `x`. A row has `cols` elements, at most BLOCK of them, and BLOCK is a power of two.
Rows of `x` are `stride_x` elements apart, those of `out` are `stride_out` apart. Rows may hold large numbers, and some elements may be minus infinity, but never a whole row.

**Required.** With s = scale * x: `out` = exp(s) / sum(exp(s)) along each row, and `lse[row]` = log(sum(exp(s))), both without overflow.
Each element of `x` is loaded once, each result stored once.

**Example.** x = [[0, 0]], scale = 1: out = [[0.5, 0.5]], lse = [log(2)] = [0.6931].
"""


# %% row_softmax tags=["exercise"]
@triton.jit
def row_softmax(out, lse, x, scale, cols, stride_out, stride_x, BLOCK: tl.constexpr):
    """out[row] = softmax(scale * x[row]), lse[row] = log(sum(exp(scale * x[row]))); float32."""
    ### BEGIN SOLUTION
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    inside = c < cols
    s = scale * tl.load(x + row * stride_x + c, mask=inside, other=-float("inf"))
    top = tl.max(s, axis=0)
    powers = tl.exp(s - top)
    total = tl.sum(powers, axis=0)
    tl.store(out + row * stride_out + c, powers / total, mask=inside)
    tl.store(lse + row, top + tl.log(total))
    ### END SOLUTION


# %% tags=["check"]
check("row_softmax", row_softmax)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
What do lanes beyond the row hold, so that neither the maximum nor the sum sees them? And by which factor does the sum of exp(s - top) differ from the sum of exp(s)?
</details>
<details><summary>Hint 2</summary>
<code>other=-float("inf")</code>. The factor is exp(top), so the logarithm differs by top.
</details>
<details><summary>Hint 3</summary>
<code>s = scale * tl.load(x + row * stride_x + c, mask=c &lt; cols, other=-float("inf"))</code>, <code>top = tl.max(s, axis=0)</code>,
<code>total = tl.sum(tl.exp(s - top), axis=0)</code>; store <code>tl.exp(s - top) / total</code>, and <code>top + tl.log(total)</code> at <code>lse + row</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - Debug: two faults (2 points)

**Goal.** A colleague's kernel adds the column sums of `x` to what `out` holds. It passed a test on 32 rows. The report of that run has a finding, and 40 rows show the other fault.
"""


# %%
@triton.jit
def columns_broken(out, x, rows, cols, stride, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.program_id(1) * C + tl.arange(0, C)
    inside = (r[:, None] < rows) & (c[None, :] < cols)
    tile = tl.load(x + r[:, None] * stride + c[None, :], mask=inside)
    before = tl.load(out + c, mask=c < cols)
    tl.store(out + c, before + tl.sum(tile, axis=0), mask=c < cols)


def try_columns(kernel, rows, cols):
    """Runs a kernel on random numbers; returns its report, None where there is no Triton."""
    x = np.random.default_rng(seed=8).random((rows, cols), dtype=np.float32)
    out = np.ones(cols, np.float32)
    grid = (triton.cdiv(rows, 16), triton.cdiv(cols, 32))
    try:
        report = tiles.run(kernel, grid, out, x, rows, cols, cols, R=16, C=32)
    except tiles.TileError as error:
        print(error)
        return None
    print(
        f"{rows} rows: right {np.allclose(out, 1 + x.sum(axis=0))}, first sums {out[:3].round(3)}"
    )
    return report


try_columns(columns_broken, 40, 30)
try_columns(columns_broken, 32, 30)

# %% [markdown]
r"""
**Given.** Programs along axis 0 take R rows each, programs along axis 1 take C columns each. Rows of `x` are `stride` elements apart.

**Required.** `out[col] += x[:, col].sum()` for all sizes, right in any order of the programs. Each element of `x` is loaded once.
At most one atomic for each column and each tile of rows: on 50 x 70 with R = 16 that is 4 * 70 of them.

**Example.** x = [[1, 2], [3, 4]], out = [10, 10] before: out = [14, 16]. Copy the broken kernel's lines into the hole and mend them.
"""


# %% mended_columns tags=["exercise"]
@triton.jit
def mended_columns(out, x, rows, cols, stride, R: tl.constexpr, C: tl.constexpr):
    """out[col] += sum of column col of x.   x: (rows, cols) float32, out: cols float32."""
    ### BEGIN SOLUTION
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.program_id(1) * C + tl.arange(0, C)
    inside = (r[:, None] < rows) & (c[None, :] < cols)
    tile = tl.load(x + r[:, None] * stride + c[None, :], mask=inside, other=0.0)
    tl.atomic_add(out + c, tl.sum(tile, axis=0), mask=c < cols)
    ### END SOLUTION


# %% tags=["check"]
check("mended_columns", mended_columns)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
The finding: program 1 loads what program 0 has stored. The nan: what does a lane hold that was masked off?
</details>
<details><summary>Hint 2</summary>
Loading, adding and storing must be one step. And a sum needs an <code>other=</code> that adds nothing.
</details>
<details><summary>Hint 3</summary>
<code>other=0.0</code> in the load of the tile, and <code>tl.atomic_add(out + c, tl.sum(tile, axis=0), mask=c &lt; cols)</code> for the last two lines.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - Layer norm (2 points)

**Goal.** Each row is shifted to mean 0 and scaled to variance 1, then weighted. The rows are float16, and the sums must not be.

**Given.** One program for each row. `x` and `out` are float16 with strides of their own, `w` and `b` have `cols` float32 each. A row has at most BLOCK elements. `eps` is a small number.

**Required.** `out = (x - mean) / sqrt(variance + eps) * w + b` along each row, with the mean of the squared differences as variance. Each element of `x` is loaded once. A value around 900 has to come out as well as one around 2.

**Example.** x = [[1, 3]], w = [1, 1], b = [0, 5], eps = 0: out = [[-1, 6]].
"""


# %% norm_rows tags=["exercise"]
@triton.jit
def norm_rows(out, x, w, b, cols, stride_out, stride_x, eps, BLOCK: tl.constexpr):
    """Layer norm of each row.   out, x: float16 rows, w, b: float32, cols elements each."""
    ### BEGIN SOLUTION
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    inside = c < cols
    v = tl.load(x + row * stride_x + c, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(v, axis=0) / cols
    away = tl.where(inside, v - mean, 0.0)
    scale = tl.rsqrt(tl.sum(away * away, axis=0) / cols + eps)
    weight, bias = tl.load(w + c, mask=inside), tl.load(b + c, mask=inside)
    tl.store(out + row * stride_out + c, away * scale * weight + bias, mask=inside)
    ### END SOLUTION


# %% tags=["check"]
check("norm_rows", norm_rows)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Which lanes take part in the second sum? And in which dtype is 900 * 1,000?
</details>
<details><summary>Hint 2</summary>
Convert after the load: <code>.to(tl.float32)</code>. After the mean is subtracted, <code>tl.where</code> puts zeros into the lanes beyond the row.
</details>
<details><summary>Hint 3</summary>
<code>mean = tl.sum(v, axis=0) / cols</code>, <code>away = tl.where(c &lt; cols, v - mean, 0.0)</code>,
<code>scale = tl.rsqrt(tl.sum(away * away, axis=0) / cols + eps)</code>, then store <code>away * scale * weight + bias</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - Stretch: a product in a good order (3 points)

**Goal.** A matrix product whose programs lie in squares.

**Given.** float16 `a` and `b`, float32 `c`, with six strides; any of the matrices may lie column after column. Tiles are T x T with steps of T along k, and T is 16.
The grid has **one** axis: `triton.cdiv(m, T) * triton.cdiv(n, T)` programs. `GROUP` is 3.

**Required.** `c = a @ b` with `tl.dot` and a float32 sum. You choose which program takes which tile, but:
where `c` has at least 3 x 3 tiles, the first 9 programs may need 3 rows of tiles of `a` and 3 columns of tiles of `b` together, no more. On 96 x 96 with k = 16 that is 3,072 different bytes. A program loads what it needs once.

**Example.** The order of the lesson, in bands of GROUP rows of tiles. With 4 x 3 tiles the first band has 3 rows and the last one has only 1:

        0  3  6
        1  4  7
        2  5  8
        9 10 11

When the check passes, you see what 4, 9, 16, 25 and 36 programs need in your order, and a score: 100 is our solution.
"""


# %% grouped_matmul tags=["exercise"]
@triton.jit
def grouped_matmul(
    c, a, b, m, n, k, c_row, c_col, a_row, a_col, b_row, b_col,
    T: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """c = a @ b, tiles of T x T, programs in bands.   a: (m, k), b: (k, n) float16, c float32."""
    ### BEGIN SOLUTION
    down, along = tl.cdiv(m, T), tl.cdiv(n, T)
    program = tl.program_id(0)
    top = program // (GROUP * along) * GROUP  # the band's first row of tiles
    height = min(GROUP, down - top)
    place = program % (GROUP * along)
    rows = (top + place % height) * T + tl.arange(0, T)
    cols = place // height * T + tl.arange(0, T)
    total = tl.zeros((T, T), tl.float32)
    for start in range(0, k, T):
        ks = start + tl.arange(0, T)
        in_a = (rows[:, None] < m) & (ks[None, :] < k)
        in_b = (ks[:, None] < k) & (cols[None, :] < n)
        part_a = tl.load(a + rows[:, None] * a_row + ks[None, :] * a_col, mask=in_a, other=0.0)
        part_b = tl.load(b + ks[:, None] * b_row + cols[None, :] * b_col, mask=in_b, other=0.0)
        total = tl.dot(part_a, part_b, total)
    in_c = (rows[:, None] < m) & (cols[None, :] < n)
    tl.store(c + rows[:, None] * c_row + cols[None, :] * c_col, total, mask=in_c)
    ### END SOLUTION


# %% tags=["check"]
if check("grouped_matmul", grouped_matmul).status == "pass":
    side, k = 9 * 16, 16
    a, b = np.ones((side, k), np.float16), np.ones((k, side), np.float16)
    steps = (side, 1, k, 1, side, 1)
    ours = {4: 5, 9: 6, 16: 9, 25: 12, 36: 15}  # rows and columns of tiles
    yours = {}
    for first in ours:
        c = np.zeros((side, side), np.float32)
        run = tiles.run(grouped_matmul, (first,), c, a, b, side, side, k, *steps, T=16, GROUP=3)
        yours[first] = sum(run.touched(first).values()) // (2 * 16 * k)
        row_by_row = min(first, 9) + -(-first // 9)
        print(
            f"{first:2} programs: row by row {row_by_row:2}, ours {ours[first]:2}, yours {yours[first]:2}"
        )
    print(f"score {100 * sum(ours.values()) / sum(yours.values()):.0f}")

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
How many programs does a full band have? In which band is program p, and what is its place inside the band?
</details>
<details><summary>Hint 2</summary>
<code>GROUP * along</code> of them. Inside a band the row changes first: the place modulo the height of the band. The last band may be lower.
</details>
<details><summary>Hint 3</summary>
<code>top = p // (GROUP * along) * GROUP</code>, <code>height = min(GROUP, down - top)</code>, <code>place = p % (GROUP * along)</code>;
row of tiles <code>top + place % height</code>, column of tiles <code>place // height</code>. The rest is the lesson's <code>matmul</code>.
</details>
"""

# %% [markdown] tags=["solution"]
r"""
## Remarks on the answers

- Exercise 1 needs no `other=`: the idle lanes are added, and never stored.
- In exercise 2 the idle lanes cost no bytes. With tiles of 128 x 256 a product with one row wastes 127 of 128 rows of lanes.
- In exercise 3 minus infinity survives a positive scale. For a negative one mask again: `tl.where(inside, s, -float("inf"))`.
- In exercise 4 another cure has no atomics: the programs with number 0 on axis 0 walk down all rows, and the others do nothing. It gives the same sum each time, and leaves most of the GPU idle when there are few columns.
- In exercise 5 a mean of squares minus the square of the mean would need one pass over the tile less, and lose the variance of rows around 900: 810,000 and 810,001 have the same first five digits.
- In exercise 6 bands are not the only good order. A square that grows shell by shell needs 4, 6, 8, 10 and 12, and scores 118; it takes more arithmetic, and care where the matrix is not square. The best group is near the square root of the number of programs that run at once.
"""

# %% [markdown]
r"""
**Done?** You can now write a kernel in Triton, say what it loads, and check it without a GPU.
To compare your answers with ours, open `solutions/t2_gpu/t2_08_tiles_lab.ipynb`.

- The unit `t2_09_fusion` keeps a tile on the chip through several operations.
- In `t2_10_attention` the softmax, its logarithm and two products become one kernel.
"""
