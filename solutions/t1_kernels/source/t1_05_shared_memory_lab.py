# %% [markdown]
r"""
# Lab: shared memory

Five exercises on tiles, barriers and races, with what you saw in the lesson `t1_05_shared_memory`.
They take about 45 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

A check looks at three things.
The values have to be right. The sanitizer has to find nothing: no race, no read of an empty place, no barrier that some threads miss.
And the kernel may not cost more than the exercise allows: in *requests*, each of them one load or store of one warp,
in *sectors* of 32 bytes, or in bytes of shared memory.

Run this cell first. Your kernels may use its constants.
"""

# %%
import numpy as np

from warpwise import check, cuda, profile, sanitize

BLOCK = 64  # threads of a block in exercises 1, 3 and 4
RADIUS = 3  # exercise 3: neighbours on each side
WINDOW = 2 * RADIUS + 1  # elements of one mean
WIDE = BLOCK + 2 * RADIUS  # a tile with its halo
TILE = 16  # exercise 5: side of a tile
FRAMED = TILE + 2  # side of a tile with its halo

# %% [markdown]
r"""
## Exercise 1 - Rotate (2 points)

**Goal.** An array is cut into portions of 64 elements, one for each block.
Move the elements of each portion `shift` places to the left. What falls off on the left comes in again on the right.
It happens in place: there is no second array.

**Given.** `a`: `(n,)` float32, where n is a multiple of 64. `shift`: an int from 0 to 63.
The launch has n threads in blocks of `BLOCK` = 64.

**Required.** Afterwards, element t of each portion is the one that stood at `(t + shift) % 64` of the same portion.
Each thread loads one element and stores one. A block keeps at most 256 bytes of shared memory.

**Example.** If a portion had only five elements, `[1, 2, 3, 4, 5]` with `shift = 2` would become `[3, 4, 5, 1, 2]`.
"""


# %% rotate_blocks tags=["exercise"]
@cuda.jit
def rotate_blocks(a, shift):
    """Each portion of 64 elements moves to the left, in place.   a: (n,) float32;  shift: int."""
    ### BEGIN SOLUTION
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.syncthreads()  # every element is in s before any is overwritten
    a[i] = s[(t + shift) % BLOCK]
    ### END SOLUTION


# %% tags=["check"]
check("rotate_blocks", rotate_blocks)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
No thread may store its new element before the old one is safe. Where can a block keep its 64 old elements?
</details>
<details><summary>Hint 2</summary>
Three steps: every thread stores its element into a shared array, all wait, every thread reads another place.
</details>
<details><summary>Hint 3</summary>
<code>s = cuda.shared.array(BLOCK, np.float32)</code>. Two indices: <code>t = cuda.threadIdx.x</code> for s, <code>i = cuda.grid(1)</code> for a.
After <code>cuda.syncthreads()</code> read <code>s[(t + shift) % BLOCK]</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - Predict the reads of a tile (2 points)

**Goal.** A 5 x 5 box blur needs two neighbours in each direction.
Before anybody writes it, say how often it will read global memory when every block loads its tile with its halo once.

**Given.** A picture of 96 rows and 160 columns. Blocks of 32 x 8 threads, 32 along x.
Each block loads a full rectangle: its tile and a halo of two pixels on each side, corners included.
At the edge of the picture the index is clamped, so there the block loads the nearest pixel instead. Nothing is left out.

**Required.** The number of reads of the picture, over all blocks together, as an integer. Let Python do the arithmetic.

**Example.** A picture of 8 rows and 8 columns, blocks of 4 x 4, a halo of one pixel: 4 blocks load 6 * 6 pixels each, 144 reads.
"""


# %% tile_reads tags=["exercise"]
def tile_reads():
    """Reads of a 96 x 160 picture by blocks of 32 x 8 threads with a halo of two pixels."""
    ### BEGIN SOLUTION
    blocks = (160 // 32) * (96 // 8)
    pixels_of_a_block = (32 + 2 * 2) * (8 + 2 * 2)
    return blocks * pixels_of_a_block
    ### END SOLUTION


# %% tags=["check"]
check("tile_reads", tile_reads)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Two questions: how many blocks are there, and how many pixels does one block load?
</details>
<details><summary>Hint 2</summary>
The rectangle of a block is wider than 32 and higher than 8. The halo lies on both sides.
</details>
<details><summary>Hint 3</summary>
<code>(160 // 32) * (96 // 8)</code> blocks, each with <code>(32 + 4) * (8 + 4)</code> pixels.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - A mean of seven (4 points)

**Goal.** Smooth a signal: each element becomes the mean of itself, the three elements before it and the three after it.
A block loads its 64 elements and their halo into shared memory, and then reads only there.

**Given.** `out` and `a`: `(n,)` float32, with any n. At least n threads, in blocks of `BLOCK` = 64. `RADIUS` is 3.

**Required.** `out[i]` is the sum of `a[i - 3]` to `a[i + 3]`, divided by 7. An element that does not exist counts as 0.
Each element of `out` is written once.

For each block of two warps at most **4 load requests** and **12 sectors** of global memory.
Without shared memory each warp would make seven requests, so it would be 14.

**Example.** With n = 2 and `a = [7, 14]`, both results are (7 + 14) / 7 = 3.
"""


# %% halo_mean tags=["exercise"]
@cuda.jit
def halo_mean(out, a, n):
    """Mean of seven neighbours, zeros beyond the ends.   out, a: (n,) float32."""
    ### BEGIN SOLUTION
    s = cuda.shared.array(WIDE, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    first = cuda.blockIdx.x * BLOCK - RADIUS  # the element at place 0 of s
    for k in range(t, WIDE, BLOCK):  # a few threads load a second element
        value = np.float32(0)
        if 0 <= first + k < n:
            value = a[first + k]
        s[k] = value
    cuda.syncthreads()
    if i < n:
        total = np.float32(0)
        for k in range(WINDOW):
            total += s[t + k]
        out[i] = total / np.float32(WINDOW)
    ### END SOLUTION


# %% tags=["check"]
check("halo_mean", halo_mean)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Draw the shared array with its 70 places. Which element of <code>a</code> stands at place 0 in block 1, and at place 69?
</details>
<details><summary>Hint 2</summary>
64 threads fill 70 places, so a few threads load twice: <code>for k in range(t, WIDE, BLOCK)</code>.
Place k holds element <code>blockIdx.x * BLOCK - RADIUS + k</code>, or 0 where there is none.
No thread may skip the barrier.
</details>
<details><summary>Hint 3</summary>
After the barrier the window of thread t begins at place t: <code>s[t]</code> to <code>s[t + 6]</code>.
Guard the store with <code>i &lt; n</code>, not the loads of other threads. Do not return early.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - Mend a race (2 points)

**Goal.** The next kernel forms weighted sums: `out[j]` is the sum over all rows k of `w[k] * m[k, j]`.
Each thread has a column. All threads need the same weights, so the block fetches 64 of them at a time into shared memory.

Its author has tested it, and every value is right. The sanitizer does not agree. Run the cell and read the finding.
"""


# %%
@cuda.jit
def weigh_rows_broken(out, m, w, rows, columns):
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    j = cuda.grid(1)
    total = np.float32(0)
    for start in range(0, rows, BLOCK):
        if start + t < rows:
            s[t] = w[start + t]
        cuda.syncthreads()
        if j < columns:
            for k in range(min(BLOCK, rows - start)):
                total += s[k] * m[start + k, j]
    if j < columns:
        out[j] = total


rng = np.random.default_rng(seed=1)
m, w = rng.random((150, 100), dtype=np.float32), rng.random(150, dtype=np.float32)
sums = np.zeros(100, np.float32)
weigh_rows_broken[2, BLOCK](sums, m, w, 150, 100)
print("values right:", np.allclose(sums, w @ m))

sanitize(weigh_rows_broken[2, BLOCK], sums, m, w, 150, 100)

# %% [markdown]
r"""
**Given.** `m`: `(rows, columns)`, `w`: `(rows,)`, `out`: `(columns,)`, all float32.
At least one thread for each column, in blocks of `BLOCK` = 64. Rows and columns may be any number.

**Required.** The same sums, and the sanitizer finds nothing.
At most **two barriers** in each turn of the loop over `start`, no more requests to global memory than before,
and at most 2,048 bytes of shared memory a block, however many rows there are.

**Example.** With two rows, one column, `m = [[3], [5]]` and `w = [10, 1]`, the result is `[35]`.

Copy the broken kernel's lines into the hole and mend them.
"""


# %% weigh_rows tags=["exercise"]
@cuda.jit
def weigh_rows(out, m, w, rows, columns):
    """out[j] = sum over k of w[k] * m[k, j].   m: (rows, columns) float32."""
    ### BEGIN SOLUTION
    s = cuda.shared.array(BLOCK, np.float32)
    t = cuda.threadIdx.x
    j = cuda.grid(1)
    total = np.float32(0)
    for start in range(0, rows, BLOCK):
        if start + t < rows:
            s[t] = w[start + t]
        cuda.syncthreads()  # the weights are there
        if j < columns:
            for k in range(min(BLOCK, rows - start)):
                total += s[k] * m[start + k, j]
        cuda.syncthreads()  # nobody needs them any more
    if j < columns:
        out[j] = total
    ### END SOLUTION


# %% tags=["check"]
check("weigh_rows", weigh_rows)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
The finding names two threads of different warps. One of them is already in the next turn of the loop. Which one?
</details>
<details><summary>Hint 2</summary>
One barrier makes the readers wait for the writers. What makes the writers of the next turn wait for the readers?
</details>
<details><summary>Hint 3</summary>
A second <code>cuda.syncthreads()</code>, as the last statement of the loop over <code>start</code>: outside the inner loop, and outside every <code>if</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - Stretch: a blur by tiles (4 points)

**Goal.** Blur a picture with tiles: each pixel becomes the mean of the nine pixels of the 3 x 3 box around it.
Each block loads its tile and the ring around it once, and reads everything else from shared memory.

**Given.** `out` and `a`: `(height, width)` float32, with at least one pixel. Blocks of `TILE` x `TILE` = 16 x 16 threads, enough for every pixel.

**Required.** `out[y, x]` is the sum of nine pixels divided by 9. Where the box reaches beyond the picture, take the nearest pixel inside instead, as in the lab on grids.
Every pixel is written once.

At most **32 load requests** a block, where nine reads a pixel make 72.
At most 1.5 times the sectors that our solution loads, and at most 1,620 bytes of shared memory: the tile with its ring has 1,296.

**Example.** The first pixel of `[[1, 2], [3, 4]]` becomes (4 * 1 + 2 * 2 + 2 * 3 + 4) / 9 = 2.
"""


# %% tile_blur tags=["exercise"]
@cuda.jit
def tile_blur(out, a, height, width):
    """Mean of the 3 x 3 box, nearest pixel beyond the edge.   out, a: (height, width) float32."""
    ### BEGIN SOLUTION
    s = cuda.shared.array((FRAMED, FRAMED), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    first_y = cuda.blockIdx.y * TILE - 1  # the pixel at s[0, 0]
    first_x = cuda.blockIdx.x * TILE - 1
    for k in range(ty * TILE + tx, FRAMED * FRAMED, TILE * TILE):
        row = min(max(first_y + k // FRAMED, 0), height - 1)
        column = min(max(first_x + k % FRAMED, 0), width - 1)
        s[k // FRAMED, k % FRAMED] = a[row, column]
    cuda.syncthreads()
    if x < width and y < height:
        total = np.float32(0)
        for dy in range(3):
            for dx in range(3):
                total += s[ty + dy, tx + dx]
        out[y, x] = total / np.float32(9)
    ### END SOLUTION


# %% [markdown]
r"""
When the check passes, your kernel gets a score.
We count the sectors that it loads from a picture of 160 x 192, beside those of the kernel with nine reads.
The best that a kernel of this kind can do is to load each sector once for each block that needs it.
The score is that bound in percent of what is loaded: 100 cannot be beaten.
"""


# %%
@cuda.jit
def nine_reads(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        total = np.float32(0)
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                row = min(max(y + dy, 0), height - 1)
                column = min(max(x + dx, 0), width - 1)
                total += a[row, column]
        out[y, x] = total / np.float32(9)


# %% tags=["check"]
if check("tile_blur", tile_blur).status == "pass":
    picture = np.random.default_rng(seed=3).random((160, 192), dtype=np.float32)
    print("counted:")
    for name, kernel in {"nine reads": nine_reads, "yours": tile_blur}.items():
        report = profile(kernel[(12, 10), (TILE, TILE)], np.zeros_like(picture), picture, 160, 192)
        loaded = report.loads.sectors
        bound = list(report.unique_sectors_per_block.values())[-1]
        print(f"{name:10}  {loaded:6,} sectors loaded, score {100 * bound / loaded:.0f}")

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
324 places, 256 threads: number the places row by row, and let each thread fill one or two of them.
</details>
<details><summary>Hint 2</summary>
Thread <code>ty * TILE + tx</code> fills place k of 324, then place k + 256. Place k is row <code>k // FRAMED</code>, column <code>k % FRAMED</code> of the shared array.
Clamp the index into <code>a</code>, not the one into the shared array.
</details>
<details><summary>Hint 3</summary>
<code>s[0, 0]</code> holds the pixel in row <code>cuda.blockIdx.y * TILE - 1</code>, column <code>cuda.blockIdx.x * TILE - 1</code>.
After the barrier, thread (tx, ty) sums <code>s[ty + dy, tx + dx]</code> with dy and dx from 0 to 2.
</details>
"""

# %% [markdown] tags=["solution"]
r"""
## Remarks on the answers

- Exercise 1 is also right with a plain variable: `v = a[j]`, barrier, `a[i] = v`. A barrier orders global memory within a block, too.
- In exercise 2, 60 blocks load 432 pixels each: 25,920 reads, 1.69 for each pixel. A flat tile has a long border. Blocks of 16 x 16 would load 24,000.
- In exercise 3 the loop over k starts at t and takes steps of 64: one turn for most threads, two for the first six.
  Zeros are stored where the array has no element. Without them the last block would read what nobody has stored.
- In exercise 4 the first barrier orders RAW: written, then read. The second orders WAR: read, then overwritten.
  With two shared arrays in turn, one barrier would do. The lessons on matrix products use that.
- In exercise 5 the clamped load makes the rest simple: no thread has a special case after the barrier.
  The score is below 100 because a warp's 32 places spread over two rows, which begin anywhere within a sector.
"""

# %% [markdown]
r"""
**Done?** You can now let the threads of a block share what they load, and you know where they have to wait.
To compare your answers with ours, open `solutions/t1_kernels/t1_05_shared_memory_lab.ipynb`.

- The next lesson, `t1_06_banks`, shows what the shared array itself costs when lanes collide in it.
- In `t1_07_reduction` a block adds up its elements in six ways, with fewer and fewer barriers.
"""
