# %% [markdown]
r"""
# Grids: a picture has two directions

**A photo is 1920 x 1080. Which thread owns which pixel?**

At the end of this lesson you can

- give each thread a row and a column, and keep the two apart,
- launch enough blocks for a picture of any size, with two guards,
- write a *stencil*, in which each result needs its neighbours, and treat the edge on purpose,
- count what a stencil reads, and say how much of it is read again and again.

You need the lesson `t1_01_threads` and about 30 minutes. You do not need a GPU.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from warpwise import cuda, show_threads
from warpwise.observe import Census, Trace
from warpwise.simt import SimtError, run

# %% [markdown]
r"""
## 1. Two numbers for each thread

Our picture is small: 4 rows and 6 columns. In NumPy its shape is `(4, 6)`, height first.
We could number its pixels from 0 to 23 and use `cuda.grid(1)`, as in the last lesson.
But what is the pixel *below* pixel 9? You have to calculate. Row and column would tell you at once.

`cuda.grid(2)` gives a thread two numbers, x and y. Each thread below writes both into its pixel,
y as the tens digit and x as the ones digit. Which number will be in row 1, column 4?
"""

# %%
guess = "?"  # the value in row 1, column 4


@cuda.jit
def write_place(out):
    x, y = cuda.grid(2)
    out[y, x] = 10 * y + x


places = np.zeros((4, 6), np.int64)
write_place[(2, 2), (3, 2)](places)

print(places)
print("guess:", guess, "   row 1, column 4:", places[1, 4])

show_threads(write_place[(2, 2), (3, 2)], places)

# %% [markdown]
r"""
It is **14**: y is 1, the row, and x is 4, the column.
x runs along a row, and y runs down the rows, like the coordinates of a screen.

Both parts of the launch now have two numbers: `(2, 2)` blocks of `(3, 2)` threads.
In both, x comes first. Side by side, 2 blocks of 3 threads make 6 columns.
From top to bottom, 2 blocks of 2 threads make 4 rows.
On each axis the formula is the one you know:

```python
x = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
y = cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
```

The picture shows the same launch. Before you move its slider: which pixels belong to the second block, (1, 0)?

Block (1, 0) has the upper right quarter: one step along x, none along y.
Each block covers a rectangle, 3 columns wide and 2 rows high.

One thing will trip you up if you let it. CUDA names the horizontal direction first, an array index names it last:

| | along a row | down the rows |
|---|---|---|
| in CUDA | x | y |
| in a launch `(.., ..)` | first | second |
| in an index `a[.., ..]` | second | first |
| the size | `width = a.shape[1]` | `height = a.shape[0]` |

So a thread's own pixel is `a[y, x]`, always. Read it as "row y, column x".

## 2. Why is x the column?

We could have written `out[x, y]` and swapped everything else. Why do we prefer `out[y, x]`?
CUDA also numbers the threads of a block in one line: thread `(x, y)` of a block that is Dx threads wide
has the number `x + y * Dx` [1]. Each thread below writes this number into its pixel.
Are threads 0 and 1 side by side, or is one below the other?

We also print how the array lies in memory. `strides` says how many bytes it is from one element to the next,
along each axis. Divided by the bytes of one element, `itemsize`, it counts elements.
"""

# %%
guess = "?"  # side by side, or one below the other?


@cuda.jit
def write_number(out):
    x, y = cuda.grid(2)
    out[y, x] = cuda.threadIdx.x + cuda.threadIdx.y * cuda.blockDim.x


numbers = np.zeros((4, 6), np.int64)
write_number[(2, 2), (3, 2)](numbers)

print(numbers)
print("elements from one column to the next:", numbers.strides[1] // numbers.itemsize)
print("elements from one row to the next:   ", numbers.strides[0] // numbers.itemsize)
print("guess:", guess)

# %% [markdown]
r"""
Side by side: threads 0, 1, 2 stand in one row. x changes first.
In memory, the next column is **1** element away, the next row **6**.
So along a row, neighbouring threads have neighbouring elements in memory too.
The other way round you would get the same values. The lesson `t1_04_coalescing` counts what that costs.

## 3. How many blocks?

Now the photo. Photos are named width first: 1920 x 1080 is a shape of `(1080, 1920)`.
Our blocks are 16 x 16, that is 256 threads. NVIDIA's guide calls this size arbitrary but common [2].
How many blocks do we need?
"""

# %%
guess = "?"  # blocks of 16 x 16 for the photo

photo_h, photo_w = 1080, 1920
bx, by = 16, 16
gx = (photo_w + bx - 1) // bx  # along x: the width
gy = (photo_h + by - 1) // by  # along y: the height

print(f"along x {gx}, along y {gy}")
print(f"{gx * bx * gy * by:,} threads for {photo_w * photo_h:,} pixels")
print(f"threads without a pixel: {gx * bx * gy * by - photo_w * photo_h:,}")
print("guess:", guess, f"   blocks: {gx * gy:,}")

# %% [markdown]
r"""
**8,160 blocks**: 120 side by side, 68 from top to bottom. We round up on each axis separately.
120 blocks fit the width exactly. 1080 / 16 is 67.5, so the last row of blocks hangs over the lower edge,
and half of its threads, **15,360**, have no pixel.

Now the question from the top, for one pixel: who owns the one in row 500, column 777?
"""

# %%
guess = "?"  # block (.., ..), thread (.., ..)

row, column = 500, 777
print("block ", (column // bx, row // by))
print("thread", (column % bx, row % by))
print("guess:", guess)

# %% [markdown]
r"""
The pixel belongs to **thread (9, 4) of block (48, 31)**. Column 777 is 48 blocks and 9 threads to the right,
row 500 is 31 blocks and 4 threads down. It works like this for every pixel.

## 4. Two guards

A widely used textbook covers a picture of 62 rows and 76 columns with blocks of 16 x 16 [3].
It needs 5 blocks along x and 4 along y: 20 blocks, and 64 x 80 threads.
We run that launch without any guard. How many threads will read outside the picture?
"""

# %%
guess = "?"  # threads that read outside of 62 x 76


@cuda.jit
def twice_unguarded(out, a, height, width):
    x, y = cuda.grid(2)
    out[y, x] = 2 * a[y, x]


height, width = 62, 76
grid, block = (5, 4), (16, 16)
picture = np.random.default_rng(seed=2).random((height, width), dtype=np.float32)
doubled = np.zeros_like(picture)
try:
    run(twice_unguarded, grid, block, [doubled, picture, height, width])
except SimtError as error:
    print(error)

# %% [markdown]
r"""
Read the report with the table of section 1 in mind.

- `a[0, 76]` is row 0, column 76. The row is fine; the last column is 75. So it is **x** that is too large.
- The thread is number (12, 0) of block (4, 0): x = 4 * 16 + 12 = 76.
- **408** threads are outside: 64 * 80 threads minus 62 * 76 pixels.

A GPU makes no such check [4]. Which pixel would `out[0, 76]` be in memory, where row 1 follows row 0?
"""

# %%
guess = "?"  # row and column of the pixel

places_in_memory = np.arange(height * width).reshape(height, width)
there = 0 * width + 76  # row 0, column 76, counted in elements from the start
print("guess:", guess, "   [row column]:", *np.argwhere(places_in_memory == there))
print("same value in a:", picture.ravel()[there] == picture[1, 0])

# %% [markdown]
r"""
It is `out[1, 0]`, and the thread would read `a[1, 0]` for it.
In this kernel it would even store the right number there, so nothing seems wrong.
A kernel that uses x or y as a value would spoil that pixel, and past the last row the store leaves the array.

Now we guard x, and forget y. How many threads are still outside?
"""

# %%
guess = "?"  # threads that are still outside


@cuda.jit
def twice_one_guard(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width:
        out[y, x] = 2 * a[y, x]


try:
    run(twice_one_guard, grid, block, [doubled, picture, height, width])
except SimtError as error:
    print(error)

# %% [markdown]
r"""
**152**: the two rows 62 and 63 below the picture, 76 threads each.
This time the first index, the row, is too large. Each axis needs its own guard, and both must hold.

With both guards, how many threads of the block in the lower right corner have work to do?
The census knows which thread wrote each pixel: `writer` holds the thread's number in the whole launch,
block after block. Each block has 256 threads, so dividing by 256 gives the number of the block.
"""

# %%
guess = "?"  # threads with a pixel in the lower right block


@cuda.jit
def twice(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        out[y, x] = 2 * a[y, x]


census = Census()
run(twice, grid, block, [doubled, picture, height, width], observers=[census])
block_of_pixel = census.writer["out"] // 256  # blocks are numbered along x first
at_work = np.bincount(block_of_pixel.ravel(), minlength=20).reshape(4, 5)

print(at_work)
for threads in (256, 192, 224, 168):
    print(f"{np.count_nonzero(at_work == threads):2} of the blocks: {threads} threads at work")
print("guess:", guess, "   together:", at_work.sum(), "=", height, "*", width)

small = np.zeros((5, 9), np.float32)
show_threads(twice[(3, 3), (4, 2)], np.zeros_like(small), small, 5, 9)

# %% [markdown]
r"""
The corner block has **168** threads at work: 12 columns by 14 rows.
The book has the same four kinds of blocks, with the same numbers:
12 full blocks, 3 at the right edge, 4 at the lower edge, and 1 in the corner [3].
Together they cover all 4,712 pixels. None is left out, and no thread is outside.

The last picture is smaller: 5 rows by 9 columns, under blocks of 4 x 2. Find the block with the fewest pixels.

Block (2, 2), in the lower right corner, has a single pixel. Its seven other threads stop at the guards.

## 5. The mistake that a square hides

In the next kernel x and y have changed places in one line. We test it on a square picture, 32 x 32.
Then we take the picture of 62 x 76. How many of its pixels will be missing?
"""

# %%
guess = "?"  # missing pixels


@cuda.jit
def twice_swapped(out, a, height, width):
    y, x = cuda.grid(2)  # the mistake
    if x < width and y < height:
        out[y, x] = 2 * a[y, x]


square = picture[:32, :32].copy()
out_square = np.zeros_like(square)
twice_swapped[(2, 2), block](out_square, square, 32, 32)
print("square right:", np.array_equal(out_square, 2 * square))

census = Census()
out_picture = np.zeros_like(picture)
run(twice_swapped, grid, block, [out_picture, picture, height, width], observers=[census])
written = census.writes["out"]
print("62 x 76 right:", np.array_equal(out_picture, 2 * picture))
print("guess:", guess, "   missing:", np.count_nonzero(written == 0))

fig, ax = plt.subplots(figsize=(5, 4))
ax.imshow(written, cmap="Greys", vmin=0, vmax=2)
ax.set(title="grey: written   white: never written", xlabel="column (x)", ylabel="row (y)")
plt.show()

# %% [markdown]
r"""
**744** pixels are missing: 12 columns of 62 rows. No error, no warning, and the square was right.
Our grid is 80 threads wide and 64 high. With the names exchanged there are only 64 threads for 76 columns.
In the other direction there are 80 threads for 62 rows. Of these, 18 stop at the guard, quietly.

So never test on squares alone. Take a picture with two different sizes, neither a multiple of the block.
The checks in the labs include such pictures.

## 6. Stencils: a result that needs its neighbours

To blur a picture, replace each pixel by the mean of the 3 x 3 pixels around it.
A computation in which each output reads a fixed pattern of neighbours is a *stencil*.
Image filters, convolutions and many simulations are stencils.

For an output in row 2, column 3, these are the nine pixels. We use the numbers of section 1 as a map.
"""

# %%
tags = np.zeros((6, 8), np.int64)
write_place[(2, 3), (4, 2)](tags)

y, x = 2, 3
print(tags[y - 1 : y + 2, x - 1 : x + 2])

# %% [markdown]
r"""
Inside the picture that is easy. But what is above row 0? We let each thread fetch the pixel above its own.
What will row 0 of the result hold? An error, zeros, or something else?
"""

# %%
guess = "?"  # row 0 of the result


@cuda.jit
def fetch_above(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        out[y, x] = a[y - 1, x]


above = np.zeros_like(tags)
finished = run(fetch_above, (2, 3), (4, 2), [above, tags, 6, 8])

print(above)
for note in finished.notes:
    print(note.text)

# %% [markdown]
r"""
Row 0 holds the *last* row, 50 to 57. In Python, index -1 means the last element, and Numba does the same on a GPU.
So at the upper and left edges a stencil does not fail. It mixes in pixels from the opposite edge.
A GPU says nothing; the simulator also carries on, but leaves a note.
At the lower and right edges you would get the report of section 4.

You have to decide what happens at the edge. There is no right answer, only a choice:

| rule | where a neighbour is missing |
|---|---|
| keep | the pixel is copied, not computed |
| clamp | the nearest pixel inside the picture stands in for it |
| skip | the mean is taken over the neighbours that exist |

Our blur keeps the edge. A thread now has three cases: outside the picture, on its edge, inside.
"""


# %%
@cuda.jit
def blur(out, a, height, width):
    x, y = cuda.grid(2)
    if x < width and y < height:
        if 0 < x < width - 1 and 0 < y < height - 1:  # inside: all nine exist
            total = 0.0
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    total += a[y + dy, x + dx]
            out[y, x] = total / 9
        else:  # on the edge: keep
            out[y, x] = a[y, x]


rows, columns = np.indices((height, width))
rings = np.sin(np.hypot(rows - 30, columns - 30) / 3) + picture  # rings with noise on them
blurred = np.zeros((height, width))
blur[grid, block](blurred, rings, height, width)

fig, axes = plt.subplots(1, 2, figsize=(9, 3.8))
for ax, image, title in zip(axes, (rings, blurred), ("before", "after")):
    ax.imshow(image, cmap="gray", vmin=-1, vmax=2)
    ax.set(title=title, xlabel="column (x)", ylabel="row (y)")
plt.show()

# %% [markdown]
r"""
The noise is weaker, and the rings are still there. Look closely at the edge: it kept its noise.

## 7. Count the reads

The same kernel, on the small picture of 6 x 8. How many reads of `a` will all threads make together?
Count inner pixels and edge pixels separately.
"""

# %%
guess = "?"  # reads on 6 x 8

a = tags.astype(np.float64)
census = Census()
run(blur, (2, 3), (4, 2), [np.zeros_like(a), a, 6, 8], observers=[census])

print(census.reads["a"])
print("guess:", guess, "   together:", census.reads["a"].sum())

# %% [markdown]
r"""
**240** reads: 4 * 6 inner pixels with 9 reads each, and 24 edge pixels with one.
The table shows where they happened. Away from the edge each pixel was read **9** times, by nine different threads:
by the one that owns it, and by its eight neighbours.

Does the same sum hold for the photo? This launch has over two million threads, and the census counts them all.
"""

# %%
guess = "?"  # roughly how many reads per pixel?

photo = np.zeros((photo_h, photo_w), np.float32)
census = Census()
run(blur, (gx, gy), (bx, by), [np.zeros_like(photo), photo, photo_h, photo_w], observers=[census])
reads = census.reads["a"].sum()

inner = (photo_h - 2) * (photo_w - 2)
print(f"by the sum: {9 * inner + (photo.size - inner):,} reads")
print(f"counted:    {reads:,} reads")
print("guess:", guess, f"   reads per pixel: {reads / photo.size:.2f}")

# %% [markdown]
r"""
**18,614,432** reads, and the sum agrees to the last one.
That is almost **9 reads per pixel**, though the photo holds each pixel only once.

## 8. How few reads would do?

Look at one block, say block (1, 1) on the picture of 62 x 76. Its 256 threads make 9 reads each.
How many *different* pixels do they read? `Trace` lists every single access, in order, with the block that made it.
"""

# %%
guess = "?"  # different pixels that the block reads

trace = Trace()
run(blur, grid, block, [np.zeros_like(rings), rings, height, width], observers=[trace])
loads = [event.index for event in trace.events if event.kind == "load" and event.block == (1, 1, 0)]

print("reads by block (1, 1):", f"{len(loads):,}")
print("guess:", guess, "   different pixels:", len(set(loads)))

times_read = np.zeros((height, width))
for index in loads:
    times_read[index] += 1

fig, ax = plt.subplots(figsize=(5.5, 4.2))
shown = ax.imshow(times_read[12:36, 12:36], cmap="Blues", extent=(11.5, 35.5, 35.5, 11.5))
ax.add_patch(plt.Rectangle((15.5, 15.5), 16, 16, fill=False, edgecolor="darkorange", linewidth=2))
ax.set(title="reads by block (1, 1); orange: its own pixels", xlabel="column (x)", ylabel="row (y)")
fig.colorbar(shown, label="times read")
plt.show()

# %% [markdown]
r"""
**2,304** reads, but only **324** different pixels: a square of 18 x 18.
The 16 x 16 inside the orange line are the block's own pixels, its *tile*.
The ring around it, one pixel thick, is the *halo*: 324 - 256 = 68 pixels that belong to other blocks but are needed here.

If the threads of a block could share what they read, each of these pixels would have to be fetched only once.
For a tile of T x T that makes (T + 2)² reads for T² results. Is a larger tile better or worse?
"""

# %%
guess = "?"  # better or worse

print(" T   fetched once   for each result")
for T in (1, 4, 8, 16, 32):
    fetched = (T + 2) ** 2
    print(f"{T:2}   {fetched:12,}   {fetched / T**2:.3f}")

# %% [markdown]
r"""
Better: the halo grows like T, the number of results like T squared.
With T = 16 a result needs **1.266** reads instead of 9: about a seventh.
T = 1 is the kernel we have: a thread that shares nothing. T = 32 is the largest square block, with 1,024 threads.

These are counts, not times. A GPU has caches that catch some of the repeated reads.
Sharing on purpose needs *shared memory*, and that is the lesson `t1_05_shared_memory`.

## 9. May the result replace the picture?

It is tempting to do without the second array, and to replace each pixel by its mean.
The edge stays as it is anyway, so the kernel gets shorter.
We try it on the picture of 62 x 76, and on one as large as the photo. Will the result be right?
"""

# %%
guesses = {62: "?", 1080: "?"}  # right with 62 rows, yes or no? right with 1080 rows?


@cuda.jit
def blur_in_place(a, height, width):
    x, y = cuda.grid(2)
    if 0 < x < width - 1 and 0 < y < height - 1:
        total = 0.0
        for dy in range(-1, 2):
            for dx in range(-1, 2):
                total += a[y + dy, x + dx]
        a[y, x] = total / 9  # a neighbour may not have read the old value yet


for h, w in ((62, 76), (1080, 1920)):
    image = np.random.default_rng(seed=3).random((h, w))
    enough = ((w + 15) // 16, (h + 15) // 16)
    right = np.zeros_like(image)
    run(blur, enough, block, [right, image, h, w])
    run(blur_in_place, enough, block, [image, h, w])
    print("guess:", guesses[h], f"   {h} x {w} right: {np.array_equal(image, right)}")

# %% [markdown]
r"""
Right for the small picture, wrong for the large one. Why?
The simulator runs a small launch in one go, and all its threads read before any of them writes,
so the result happened to be right.
A large launch runs in portions. Later threads then read pixels that earlier ones have already blurred.
A GPU, too, works on some of the blocks at a time, and promises no order.

It is the rule of the last lesson again: no thread may need what another thread of the same launch writes.
So a stencil needs two arrays. To blur once more, swap the two.

## 10. More pixels than threads

The grid-stride loop works here as well, once for each axis. `cuda.gridsize(2)` gives the two steps:
how many threads the whole grid has along x, and along y.
One block of 4 x 2 threads, 5 rows, 9 columns: which pixels does thread (1, 0) handle?
"""

# %%
guess = "?"  # the columns and the rows of thread (1, 0)


@cuda.jit
def who_has(owner, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for y in range(y0, height, step_y):
        for x in range(x0, width, step_x):
            owner[y, x] = 10 * y0 + x0


owner = np.full((5, 9), -1)
who_has[(1, 1), (4, 2)](owner, 5, 9)

print(owner)
print("guess:", guess)

# %% [markdown]
r"""
The pixels that hold 1 are in columns **1 and 5** of rows **0, 2 and 4**. In each direction the thread starts at its own place,
stops at the size of the picture, and jumps by the number of threads. The ends of the loops are the guards.

## What to remember

- `x, y = cuda.grid(2)`. x runs along a row, y down the rows. A thread's pixel is `a[y, x]`.
- A shape is (height, width), a launch is (x, y): `(ceil(width / bx), ceil(height / by)), (bx, by)`.
- Two axes, two guards: `if x < width and y < height:`.
- Test on pictures that are not square. A square hides that x and y are exchanged.
- A stencil reads neighbours. Decide what happens at the edge. Index -1 is no error: it is the last element.
- A 3 x 3 stencil makes 9 reads per result. A tile of 16 x 16 with its halo has 324 pixels: 1.27 per result.
- A stencil never writes into the array that it reads.

**Next:** the lab, `t1_02_grids_lab`, in your folder `mine/t1_kernels/`.

## Sources

1. NVIDIA, CUDA C++ Programming Guide, section "Thread Hierarchy": the number of thread (x, y) of a block.
   <https://docs.nvidia.com/cuda/cuda-c-programming-guide/>
2. The same section: the matrix addition with thread blocks of 16 x 16.
3. W. W. Hwu, D. B. Kirk, I. El Hajj, *Programming Massively Parallel Processors*, 4th edition, 2022,
   section 3.2 and figures 3.2 and 3.5 (pages 48 to 55): the picture of 62 x 76 and its four kinds of blocks.
   Checked against two readers' published notes, not against the book itself.
4. NVIDIA, Numba-CUDA user guide, "Writing CUDA Kernels": `grid` and `gridsize` in two dimensions.
   <https://nvidia.github.io/numba-cuda/user/kernels.html>
"""
