# %% [markdown]
r"""
# Lab: coalescing

Five exercises on what a warp's loads and stores really move, with what you saw in the lesson `t1_04_coalescing`.
They take about 45 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

In three of the exercises the values alone are not enough. The check also counts sectors on one larger launch,
and says which line costs too many.

Run this cell first.
"""

# %%
import numpy as np
from IPython.display import display

from warpwise import check, cuda, profile
from warpwise.show import show_sectors

# %% [markdown]
r"""
## Exercise 1 - Predict the sectors (2 points)

**Goal.** Before you count anything, say what a load will cost.
Write the function that knows: an ordinary Python function, not a kernel.

**Given.** A warp with all its 32 lanes active. Lane `l` reads element `offset + l * stride` of an array.
`itemsize` is the size of an element in bytes: 1, 2, 4, 8 or 16. The array starts at the beginning of a sector.
The stride may be zero or negative; no element has a negative index.

**Required.** The number of sectors that the load moves, an integer.

**Examples.** `warp_sectors(0, 1, 4)` is 4, `warp_sectors(1, 1, 4)` is 5, `warp_sectors(0, 2, 4)` is 8,
and `warp_sectors(31, -1, 4)`, which reads backwards, is 4 again.
"""


# %% warp_sectors tags=["exercise"]
def warp_sectors(offset, stride, itemsize):
    """Sectors that move when lane l = 0 ... 31 reads element offset + l * stride.   itemsize: bytes."""
    ### BEGIN SOLUTION
    touched = set()
    for lane in range(32):
        first_byte = (offset + lane * stride) * itemsize
        touched.add(first_byte // 32)
    return len(touched)
    ### END SOLUTION


# %% tags=["check"]
check("warp_sectors", warp_sectors)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Ask each lane which sector its element lies in. How many different answers are there?
</details>
<details><summary>Hint 2</summary>
Sector 0 holds bytes 0 to 31, sector 1 bytes 32 to 63. First turn the element into a byte, then the byte into a sector.
Python's <code>set</code> keeps each thing once.
</details>
<details><summary>Hint 3</summary>
The sector of a lane is <code>(offset + lane * stride) * itemsize // 32</code>. Put those of <code>range(32)</code> into a set and return its length.
An element never lies across a border here, since its size divides 32.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - Mend a kernel from its profile (2 points)

**Goal.** The kernel below multiplies each row of a picture by a factor of its own. Its values are right.
Somebody complains that it is slow. Read its profile, find the reason, and write the mended kernel.

`cuda.gridsize(2)` gives the number of threads of the whole grid along x and along y, so the loops work
for every size of picture and grid.
"""


# %%
@cuda.jit
def scale_rows_slowly(out, a, gain, height, width):
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for y in range(x0, height, step_x):
        for x in range(y0, width, step_y):
            out[y, x] = gain[y] * a[y, x]


picture = np.random.default_rng(seed=1).random((96, 160), dtype=np.float32)
gain = np.linspace(1, 2, 96, dtype=np.float32)
profile(scale_rows_slowly[(5, 12), (32, 8)], np.zeros_like(picture), picture, gain, 96, 160)

# %% [markdown]
r"""
**Given.** `out` and `a`: `(height, width)` float32. `gain`: `(height,)` float32.
A grid of any size, with blocks that are at least 8 threads wide along x.

**Required.** `out[y, x] = gain[y] * a[y, x]` for every pixel, each written once.
Every load and store of a warp asks for as few sectors as it can. This is counted on 96 rows and 160 columns.

**Example.** With `gain = [1, 2]` the picture `[[1, 2, 3], [4, 5, 6]]` becomes `[[1, 2, 3], [8, 10, 12]]`.
"""


# %% scale_rows tags=["exercise"]
@cuda.jit
def scale_rows(out, a, gain, height, width):
    """out[y, x] = gain[y] * a[y, x].   out, a: (height, width);  gain: (height,) float32."""
    ### BEGIN SOLUTION
    x0, y0 = cuda.grid(2)
    step_x, step_y = cuda.gridsize(2)
    for y in range(y0, height, step_y):
        for x in range(x0, width, step_x):
            out[y, x] = gain[y] * a[y, x]
    ### END SOLUTION


# %% tags=["check"]
check("scale_rows", scale_rows)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Two neighbouring threads of a warp differ in <code>threadIdx.x</code>. How far apart are their pixels in memory?
</details>
<details><summary>Hint 2</summary>
Follow <code>x0</code> through the given kernel. Which direction of the picture does it walk along?
</details>
<details><summary>Hint 3</summary>
<code>y</code> must start at <code>y0</code> and jump by <code>step_y</code>, <code>x</code> start at <code>x0</code> and jump by <code>step_x</code>.
The line with the product stays as it is. All lanes of a warp then read one <code>gain[y]</code>: one sector.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - Predict the cost of records (1 point)

**Goal.** Say what a kernel on records will load, before anybody runs it.

**Given.** 4,096 particles in an array of records. A record has four fields of float32: x, y, z and mass, 16 bytes in all.
One thread for each particle, in blocks of 256. Each thread loads the fields x, y and z once, and does not touch the mass.

**Required.** The number of sectors that all the loads ask for together, with no cache.
Return it as an integer; let Python do the arithmetic.

**Example.** If each thread loaded x only, from records of 12 bytes, it would be 128 warps times 12 sectors: 1,536.
"""


# %% record_sectors tags=["exercise"]
def record_sectors():
    """Sectors that the loads of x, y and z ask for, 4,096 records of 16 bytes."""
    ### BEGIN SOLUTION
    warps = 4096 // 32
    for_one_field = 32 * 16 // 32  # the records of a warp lie in so many sectors, and x is in each
    return warps * 3 * for_one_field
    ### END SOLUTION


# %% tags=["check"]
check("record_sectors", record_sectors)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
One request loads one field for the 32 lanes of a warp. How many requests are there, and what does one cost?
</details>
<details><summary>Hint 2</summary>
To go from the x of one record to the x of the next is a stride of 16 bytes. How many records lie in one sector?
</details>
<details><summary>Hint 3</summary>
Two records lie in a sector, so 32 lanes touch 16 sectors. There are three fields, and 4,096 / 32 warps.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - From records to arrays (2 points)

**Goal.** Turn an array of structs into a struct of arrays, and move little on the way.

**Given.** `records`: `(3 * n,)` float32, the fields of n records one after another: x0, y0, z0, x1, y1, z1, and so on.
`arrays`: `(3, n)` float32, one row for each field.
Any number of blocks and of threads, so use a grid-stride loop.

**Required.** `arrays[f, i]` is field `f` (0, 1 or 2) of record `i`. Each element is written once.
Loads and stores together ask for at most 11 sectors for every 32 numbers, counted on 1,024 records.
A thread for each record would ask for 16: three loads of 12 sectors and three stores of 4, for 96 numbers.

**Example.** The six numbers `[1, 2, 3, 4, 5, 6]` are two records; they become the rows `[1, 4]`, `[2, 5]` and `[3, 6]`.
"""


# %% split_fields tags=["exercise"]
@cuda.jit
def split_fields(arrays, records, n):
    """arrays[f, i] = field f of record i.   arrays: (3, n);  records: (3 * n,) float32."""
    ### BEGIN SOLUTION
    for k in range(cuda.grid(1), 3 * n, cuda.gridsize(1)):
        arrays[k % 3, k // 3] = records[k]
    ### END SOLUTION


# %% [markdown]
r"""
When the check passes, a picture of your first warp follows: what it loads, and where its stores go.
"""

# %% tags=["check"]
if check("split_fields", split_fields).status == "pass":
    arrays, records = np.zeros((3, 32), np.float32), np.zeros(96, np.float32)
    display(show_sectors(split_fields[1, 96], arrays, records, 32))

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
There is no need for one thread to handle one record. What else could one thread handle?
</details>
<details><summary>Hint 2</summary>
Something has to be scattered: the loads or the stores. If neighbouring threads load neighbouring numbers, how many sectors
do the stores of a warp touch? They go to three rows, and are neighbours in each.
</details>
<details><summary>Hint 3</summary>
A grid-stride loop over all <code>3 * n</code> numbers. Number <code>k</code> is field <code>k % 3</code> of record <code>k // 3</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - Stretch: a matrix times a vector (3 points)

**Goal.** Multiply a matrix by a vector: each result is the sum of a row of `a`, each number times that of `v` in the same column.
Ask for as few sectors as you can.

The obvious kernel gives a row to each thread. Neighbouring threads are then a whole row apart:
"""


# %%
@cuda.jit
def dot_rows_slowly(out, a, v, height, width):
    for y in range(cuda.grid(1), height, cuda.gridsize(1)):
        total = np.float32(0)
        for x in range(width):
            total += a[y, x] * v[x]
        out[y] = total


matrix = np.random.default_rng(seed=2).random((256, 512), dtype=np.float32)
vector = np.ones(512, np.float32)
report = profile(dot_rows_slowly[2, 128], np.zeros(256, np.float32), matrix, vector, 256, 512)
print(f"{report.loads.sectors:,} sectors asked for; the matrix has {matrix.nbytes // 32:,}")

# %% [markdown]
r"""
That is 32 sectors for the matrix and 1 for the vector, for every 32 numbers of the matrix: 33 in all.

**Given.** `out`: `(height,)`, `a`: `(height, width)`, `v`: `(width,)`, all float32.
Any number of blocks, each of 32, 64, 128 or 256 threads.
And `warp_sum`, in the cell below. *All* 32 lanes of a warp call it with a value each, and lane 0 gets the sum of the 32.
Lanes without a number of their own must bring a zero.

**Required.** `out[y]` is the sum over x of `a[y, x] * v[x]`, 0 for an empty row, each written once.
All loads together ask for at most 8 sectors for every 32 numbers of the matrix, counted on 64 rows and 256 columns.

**Example.** `[[1, 2, 3], [4, 5, 6]]` times `[1, 10, 100]` is `[321, 654]`.
"""


# %% dot_rows tags=["exercise"]
@cuda.jit(device=True)
def warp_sum(value):
    """The sum of the 32 lanes' values, in lane 0.  All lanes of the warp must call it."""
    for step in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, step)
    return value


@cuda.jit
def dot_rows(out, a, v, height, width):
    """out[y] = sum over x of a[y, x] * v[x].   out: (height,);  a: (height, width);  v: (width,) float32."""
    ### BEGIN SOLUTION
    lane = cuda.threadIdx.x % 32
    first = cuda.grid(1) // 32  # the number of this warp
    warps = cuda.gridsize(1) // 32
    for y in range(first, height, warps):  # a row for each warp
        total = np.float32(0)
        for x in range(lane, width, 32):  # its lanes are neighbours in the row
            total += a[y, x] * v[x]
        total = warp_sum(total)
        if lane == 0:
            out[y] = total
    ### END SOLUTION


# %% [markdown]
r"""
When the check passes, a ladder of versions follows, with yours on it. The score is 100 for the least possible:
to ask for every sector of the matrix and of the vector once. Can you climb to the third rung?
"""

# %% tags=["check"]
if check("dot_rows", dot_rows).status == "pass":
    result = np.zeros(256, np.float32)
    yours = profile(dot_rows[32, 128], result, matrix, vector, 256, 512).loads.sectors
    least = (matrix.nbytes + vector.nbytes) // 32
    per_32 = matrix.size // 32
    rungs = {
        "a thread a row": 33 * per_32,
        "a warp a row": 8 * per_32,
        "a warp for four rows": 5 * per_32,
    }
    print("counted:")
    for name, sectors in {**rungs, "yours": yours}.items():
        print(f"{name:20}  {sectors:8,} sectors   score {100 * least / sectors:.0f}")

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Who should read neighbouring numbers of a row? Not one thread in 32 steps, but 32 threads in one.
</details>
<details><summary>Hint 2</summary>
Give each row to a warp. Its lanes share the row: lane 0 takes columns 0, 32, 64, ..., lane 1 takes 1, 33, 65, ...
Each lane adds up its own products, and at the end the warp adds up the 32 totals.
</details>
<details><summary>Hint 3</summary>
<code>lane = cuda.threadIdx.x % 32</code>; the warp's number is <code>cuda.grid(1) // 32</code>, and there are <code>cuda.gridsize(1) // 32</code> of them.
Loop over the rows by warps, over <code>range(lane, width, 32)</code> by lanes. After the inner loop <code>total = warp_sum(total)</code>, and lane 0 stores it.
</details>
"""

# %% [markdown] tags=["solution"]
r"""
## Remarks on the answers

- In exercise 1, `len({(offset + lane * stride) * itemsize // 32 for lane in range(32)})` says it in one line.
  Order and sharing take care of themselves, since a set keeps each sector once.
- In exercise 2 only the starts and steps of the two loops change places.
  `gain[y]` was the one good load of the slow kernel: 32 neighbours. In the mended kernel all lanes read the same one, which is better still.
- In exercise 3, 3 * 128 * 16 = 6,144 sectors. Only 2,048 of them are different: the whole array.
  The mass is never asked for, but its bytes move with the rest.
- In exercise 4 the threads lie over the numbers that are read. Laid over the numbers that are written,
  the loads would have stride 3 and cost 12 sectors, the stores 4: 16 instead of 10.
  With shared memory, the next lesson, 8 are possible.
- In exercise 5 the loads of `v` cost as much as those of the matrix. A warp that handles four rows at a time
  loads `v[x]` once for all four, so that 4 + 4 / 4 = 5 sectors are left for every 32 numbers:

```python
for y in range(4 * first, height, 4 * warps):
    t0, t1, t2, t3 = np.float32(0), np.float32(0), np.float32(0), np.float32(0)
    for x in range(lane, width, 32):
        vx = v[x]
        t0 += a[y, x] * vx
        if y + 1 < height:
            t1 += a[y + 1, x] * vx
        ...
```
"""

# %% [markdown]
r"""
**Done?** You can now say what a load costs before you run it, and you know which index `threadIdx.x` belongs into.
To compare your answers with ours, open `solutions/t1_kernels/t1_04_coalescing_lab.ipynb`.

- The next lesson, `t1_05_shared_memory`, keeps a tile close to its block, so that every sector is asked for once.
- In `t1_06_banks` a transpose gets both sides to 4 sectors.
- `t1_11_roofline` turns bytes into the least time that a kernel needs.
"""
