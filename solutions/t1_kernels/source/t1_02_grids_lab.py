# %% [markdown]
r"""
# Lab: grids

Six exercises on pictures, with what you saw in the lesson `t1_02_grids`. They take about 40 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

A picture `a` has `height` rows and `width` columns: `a[y, x]` with `y < height` and `x < width`.
The first picture that a check tries has 3 rows and 7 columns.
Later ones are larger, or have a single row, a single column, a single pixel, or no pixel at all.
An empty picture needs no special case in your kernel.
Blocks and grids change too, so do not rely on one size of picture, block or grid.

Run this cell first.
"""

# %%
import numpy as np

from warpwise import check, cuda
from warpwise.observe import Census
from warpwise.simt import run

# %% [markdown]
r"""
## Exercise 1 - Brighten (2 points)

**Goal.** Make every pixel of a picture brighter by the same factor.
Each pixel has a thread of its own.

**Given.** `out` and `a`: `(height, width)` float32. `gain`: a float.
The launch has at least one thread for each pixel, and usually a few more on each axis.

**Required.** `out[y, x] = gain * a[y, x]` for every pixel, each written once.
A thread outside the picture writes nothing. Values may be larger than 1, and stay so: nothing is cut off.

**Example.** With `gain = 2.0` the pixel 0.25 becomes 0.5, and 3.0 becomes 6.0. Under 2 x 2 blocks of 8 x 4 threads, a picture of 5 rows and 9 columns
leaves 128 - 45 = 83 threads without a pixel.
"""


# %% brighten tags=["exercise"]
@cuda.jit
def brighten(out, a, gain, height, width):
    """out[y, x] = gain * a[y, x].   out, a: (height, width) float32;  gain: float."""
    ### BEGIN SOLUTION
    x, y = cuda.grid(2)
    if x < width and y < height:
        out[y, x] = gain * a[y, x]
    ### END SOLUTION


# %% tags=["check"]
check("brighten", brighten)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Each thread needs its own column and its own row. One call gives both.
</details>
<details><summary>Hint 2</summary>
<code>x, y = cuda.grid(2)</code>. The grid reaches beyond the picture to the right <em>and</em> at the bottom.
</details>
<details><summary>Hint 3</summary>
Two guards, joined by <code>and</code>: <code>x &lt; width</code> and <code>y &lt; height</code>.
Behind them the row comes first: <code>out[y, x]</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - How many blocks? (1 point)

**Goal.** Before a launch you work out how many blocks cover the picture.
Write the function that does it: an ordinary Python function, not a kernel.

**Given.** `height` and `width` in pixels, at least 1. `block`: a tuple `(bx, by)`, the threads of a block along x and along y, such as `(16, 8)`.

**Required.** The tuple `(gx, gy)` that goes into `kernel[(gx, gy), block](...)`: the fewest blocks that cover the picture.

**Examples.** `blocks_2d(62, 76, (16, 16))` is `(5, 4)`, and `blocks_2d(4, 8, (8, 4))` is `(1, 1)`.
"""


# %% blocks_2d tags=["exercise"]
def blocks_2d(height, width, block):
    """(blocks along x, blocks along y) that cover (height, width) pixels with blocks of (bx, by)."""
    ### BEGIN SOLUTION
    bx, by = block
    gx = (width + bx - 1) // bx
    gy = (height + by - 1) // by
    return gx, gy
    ### END SOLUTION


# %% tags=["check"]
check("blocks_2d", blocks_2d)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
One division for each axis. Does the last, half-empty block count?
</details>
<details><summary>Hint 2</summary>
Round up: <code>(n + d - 1) // d</code>. Which size of the picture lies along x?
</details>
<details><summary>Hint 3</summary>
x runs along a row, and a row has <code>width</code> pixels. So <code>gx</code> comes from <code>width</code> and <code>bx</code>, <code>gy</code> from <code>height</code> and <code>by</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - Rows become columns (1 point)

**Goal.** Copy a picture so that its rows become columns: the *transpose*.
Here a mixed-up index can no longer hide.

**Given.** `a`: `(height, width)` float32. `out`: `(width, height)` float32.
The launch is laid over `a`: x along its rows, y down its rows.

**Required.** Pixel `a[y, x]` arrives in row `x`, column `y` of `out`. Every element is written once.

**Example.** `[[1, 2, 3], [4, 5, 6]]` becomes `[[1, 4], [2, 5], [3, 6]]`.
"""


# %% transpose_copy tags=["exercise"]
@cuda.jit
def transpose_copy(out, a, height, width):
    """out = a, rows and columns exchanged.   a: (height, width), out: (width, height) float32."""
    ### BEGIN SOLUTION
    x, y = cuda.grid(2)
    if x < width and y < height:
        out[x, y] = a[y, x]
    ### END SOLUTION


# %% tags=["check"]
check("transpose_copy", transpose_copy)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Take the pixel in row 0, column 4 of <code>a</code>. In which row and column of <code>out</code> does it belong?
</details>
<details><summary>Hint 2</summary>
The threads lie over <code>a</code>, so the guards are those of exercise 1. Only the index of the store changes.
</details>
<details><summary>Hint 3</summary>
Read with the row y in front, as always. Store with x in front: in <code>out</code>, x counts the rows.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - Predict the reads (1 point)

**Goal.** The next exercise is a stencil in the shape of a cross.
Before you write it, say how many reads it will make.

**Given.** A picture of 48 rows and 64 columns. One thread for each pixel:

- an *inner* pixel gets the mean of five pixels: up, down, left, right and itself;
- a pixel on the *edge*, in the first or last row or column, is copied from `a` to `out`.

**Required.** The number of times that an element of `a` is read, over all threads together.
Return it as an integer; let Python do the arithmetic.

**Example.** On 3 rows and 4 columns, 2 pixels are inner pixels and 10 lie on the edge: 2 * 5 + 10 = 20 reads.
"""


# %% cross_reads tags=["exercise"]
def cross_reads():
    """Reads of `a` by the cross stencil on 48 rows and 64 columns, edges copied."""
    ### BEGIN SOLUTION
    inner = (48 - 2) * (64 - 2)
    edge = 48 * 64 - inner
    return 5 * inner + edge
    ### END SOLUTION


# %% tags=["check"]
check("cross_reads", cross_reads)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Two kinds of pixels, two numbers of reads. How many pixels of each kind are there?
</details>
<details><summary>Hint 2</summary>
Without the first and the last row, 46 rows are left. The columns work in the same way.
</details>
<details><summary>Hint 3</summary>
<code>46 * 62</code> inner pixels read five each. The other pixels, out of <code>48 * 64</code>, read one each.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - The cross (3 points)

**Goal.** Blur a picture a little: each pixel becomes the mean of itself and the four pixels that share a side with it.
A pixel on the edge lacks at least one of the four, so it stays as it is.

**Given.** `out` and `a`: `(height, width)` float32, two different arrays. At least one thread for each pixel.
Pictures can be as small as one row, one column or one pixel: then everything is edge.

**Required.** For an inner pixel `out[y, x]` is the mean of `a[y, x]`, `a[y - 1, x]`, `a[y + 1, x]`, `a[y, x - 1]` and `a[y, x + 1]`.
For a pixel on the edge `out[y, x] = a[y, x]`.
Every pixel of `out` is written once, and `a` stays unchanged.

**Example.** Of `[[1, 2, 3], [4, 0, 6], [7, 8, 9]]` only the middle changes: it becomes (0 + 2 + 8 + 4 + 6) / 5 = 4.
"""


# %% cross_blur tags=["exercise"]
@cuda.jit
def cross_blur(out, a, height, width):
    """Mean of five pixels inside, copy on the edge.   out, a: (height, width) float32."""
    ### BEGIN SOLUTION
    x, y = cuda.grid(2)
    if x < width and y < height:
        if 0 < x < width - 1 and 0 < y < height - 1:
            out[y, x] = (a[y, x] + a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1]) / 5
        else:
            out[y, x] = a[y, x]
    ### END SOLUTION


# %% [markdown]
r"""
When the check passes, it is followed by a count of what your kernel read on 48 x 64 pixels.
Is it what you predicted in exercise 4?
"""

# %% tags=["check"]
if check("cross_blur", cross_blur).status == "pass":
    picture = np.random.default_rng(seed=1).random((48, 64), dtype=np.float32)
    census = Census()
    run(cross_blur, (4, 6), (16, 8), [np.empty_like(picture), picture, 48, 64], observers=[census])
    reads = list(census.reads.values())[1]
    print(f"counted: {reads.sum():,} reads, at most {reads.max()} of one pixel")

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
There are three kinds of threads: outside the picture, on its edge, and inside. Write down what each kind does.
</details>
<details><summary>Hint 2</summary>
Guard as before. Behind the guard, an <code>if</code> for inner pixels and an <code>else</code> for the edge.
</details>
<details><summary>Hint 3</summary>
Inner means <code>0 &lt; x &lt; width - 1 and 0 &lt; y &lt; height - 1</code>. Put the sum of the five in parentheses and divide it by 5, with one slash.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - Stretch: a box, any grid (4 points)

**Goal.** Blur more strongly: each pixel, edge pixels included, becomes the mean of the nine pixels of the 3 x 3 box around it.
The grid may be too small this time, so a thread may have several pixels.

**Given.** `out` and `a`: `(height, width)` float32. The launch may have fewer threads than pixels on either axis, or on both.

**Required.** `out[y, x]` is the sum of nine pixels divided by 9.
Where the box reaches beyond the picture, take the nearest pixel inside instead: row -1 becomes row 0, row `height` becomes row `height - 1`, and columns likewise.
Every pixel is written once, and the threads share the pixels.

**Example.** The first pixel of `[[1, 2], [3, 4]]` becomes (4 * 1 + 2 * 2 + 2 * 3 + 4) / 9 = 2: row 0 and column 0 count twice.
"""


# %% box_blur tags=["exercise"]
@cuda.jit
def box_blur(out, a, height, width):
    """Mean of the 3 x 3 box, nearest pixel beyond the edge.   out, a: (height, width) float32."""
    ### BEGIN SOLUTION
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for y in range(y0, height, step_y):
        for x in range(x0, width, step_x):
            total = 0.0
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    row = min(max(y + dy, 0), height - 1)
                    column = min(max(x + dx, 0), width - 1)
                    total += a[row, column]
            out[y, x] = total / 9
    ### END SOLUTION


# %% tags=["check"]
check("box_blur", box_blur)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
First write it for one pixel per thread, with a loop over three rows and one over three columns. Then turn to the grid.
</details>
<details><summary>Hint 2</summary>
<code>min(max(i, 0), n - 1)</code> brings an index back into <code>0 ... n - 1</code>.
For the grid: a grid-stride loop for y, and inside it one for x.
</details>
<details><summary>Hint 3</summary>
<code>step_x, step_y = cuda.gridsize(2)</code>, then <code>for y in range(y0, height, step_y)</code> and <code>for x in range(x0, width, step_x)</code>.
Inside: a total that starts at zero, loops over <code>range(-1, 2)</code>, and one store at the end.
</details>
"""

# %% [markdown] tags=["solution"]
r"""
## Remarks on the answers

- Exercises 1 and 3 differ in the index of the store. The guards follow the array that the threads lie over.
- In exercise 2 the picture is `(height, width)` and the launch is `(x, y)`. This is the one place where the order turns round.
- In exercise 4, 5 * 46 * 62 + 220 = 14,480: 4.7 reads for each of the 3,072 pixels.
- In exercise 5 an `if` with three outcomes does all the work: outside, edge, inside.
  `0 < x < width - 1` guards both ends. Forgetting the left end is no error, because index -1 is the last column.
- In exercise 6 the loops replace the outer guards: they end at `height` and `width`.
  `total` starts as a float64; `np.float32(0)` keeps the sum in float32 and is just as right here.
"""

# %% [markdown]
r"""
**Done?** You can now lay threads over a picture of any size, and you know what its edge does.
To compare your answers with ours, open `solutions/t1_kernels/t1_02_grids_lab.ipynb`.

- The next lesson, `t1_03_warps`, shows how the hardware runs 32 threads at once.
- Later, `t1_04_coalescing` counts what it costs when x is not the column.
- In `t1_05_shared_memory` a block reads each pixel of its tile once instead of nine times.
"""
