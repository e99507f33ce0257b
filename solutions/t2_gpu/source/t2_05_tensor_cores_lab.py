# %% [markdown]
r"""
# Lab: tensor cores

Six exercises on fragments and matrix instructions, with what you saw in the lesson `t2_05_tensor_cores`. They take about 50 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

`mma_m16n8k16` and `mma_m16n8k8` are the two instructions of the lesson. Where you need a place, look at the
pictures: add a cell of your own with `show_fragments("m16n8k16")` or `show_fragments("m16n8k8")`. Here they are printed for one lane.

Run this cell first.
"""

# %%
import numpy as np

from warpwise import check, cuda, mma_m16n8k8, mma_m16n8k16, profile
from warpwise.show import show_fragments

print(show_fragments("m16n8k16", lane=5))

# %% [markdown]
r"""
## Exercise 1 - Four results (1 point)

**Goal.** Say which results a lane holds. D = A B + C lies as C does, on the lower right of the picture.

**Given.** `lane`, from 0 to 31.

**Required.** A list of four pairs `(row, column)`: the places in D, 16 x 8, of the registers 0, 1, 2 and 3 of this lane, in this order.

**Example.** `places_of_d(5)` is `[(1, 2), (1, 3), (9, 2), (9, 3)]`.
"""


# %% places_of_d tags=["exercise"]
def places_of_d(lane):
    """[(row, column), ...] of the four elements of D that a lane holds."""
    ### BEGIN SOLUTION
    group, place = lane // 4, lane % 4
    return [(group + i // 2 * 8, 2 * place + i % 2) for i in range(4)]
    ### END SOLUTION


# %% tags=["check"]
check("places_of_d", places_of_d)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
32 lanes are 8 groups of 4. Which part of the place comes from the group, which from the lane's number in it?
</details>
<details><summary>Hint 2</summary>
The group is <code>lane // 4</code>, and that is the row. The number in the group is <code>lane % 4</code>, and it chooses a pair of columns.
</details>
<details><summary>Hint 3</summary>
Register i: row <code>group + i // 2 * 8</code>, column <code>2 * place + i % 2</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - Who has it? (2 points)

**Goal.** The other way round: an element is given, its holder is asked for. Without a search.

**Given.** `row` and `column`, from 0 to 15, of an element of A in m16n8k16.

**Required.** A tuple `(lane, register)`: the lane that holds it, 0 to 31, and the number of the register there, 0 to 7.

**Examples.** `holder_of_a(0, 0)` is `(0, 0)`, `holder_of_a(9, 3)` is `(5, 3)`, and `holder_of_a(2, 12)` is `(10, 4)`.
"""


# %% holder_of_a tags=["exercise"]
def holder_of_a(row, column):
    """(lane, register) that hold A[row, column] of m16n8k16."""
    ### BEGIN SOLUTION
    lane = 4 * (row % 8) + column % 8 // 2
    register = column % 2 + 2 * (row // 8) + 4 * (column // 8)
    return lane, register
    ### END SOLUTION


# %% tags=["check"]
check("holder_of_a", holder_of_a)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
A has four quarters of 8 x 8. What stays the same from quarter to quarter, the lane or the register?
</details>
<details><summary>Hint 2</summary>
In each quarter the lanes lie as in D: the row gives the group, a pair of columns gives the place. The quarter and the half of the pair give the register.
</details>
<details><summary>Hint 3</summary>
Lane: <code>4 * (row % 8) + column % 8 // 2</code>. Register: <code>column % 2</code>, plus 2 in the lower half, plus 4 in the right half.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - The bill (2 points)

**Goal.** Before you write the next kernel: what will it issue, and what will it load?

**Given.** The sizes of a product: `a` is `(m, k)`, `b` is `(k, n)`. Each warp computes one tile of 16 x 8 results with m16n8k16, and walks along k in steps of 16.
There are just enough warps. At the edges the instruction works on zeros: an element that does not exist is not loaded.

**Required.** A tuple of three integers:

1. the matrix instructions that all warps issue together,
2. the elements of `a` and `b` that all lanes load together,
3. the operations that the tensor cores do in these instructions, an addition and a multiplication counted as two, the zeros included.

**Examples.** `tensor_bill(32, 32, 16)` is `(8, 3072, 32768)`. `tensor_bill(1, 1, 1)` is `(1, 2, 4096)`.
"""


# %% tensor_bill tags=["exercise"]
def tensor_bill(m, n, k):
    """(instructions, elements loaded, operations)."""
    ### BEGIN SOLUTION
    down, along, steps = (m + 15) // 16, (n + 7) // 8, (k + 15) // 16
    instructions = down * along * steps
    return instructions, m * k * along + k * n * down, instructions * 2 * 16 * 8 * 16
    ### END SOLUTION


# %% tags=["check"]
check("tensor_bill", tensor_bill)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
How many tiles are there, and how many steps does each take? Round up.
</details>
<details><summary>Hint 2</summary>
An element of <code>a</code> is loaded once by each warp whose tile lies in its row: one for every 8 columns of the result. An element of <code>b</code>: one for every 16 rows.
</details>
<details><summary>Hint 3</summary>
Instructions: <code>ceil(m / 16) * ceil(n / 8) * ceil(k / 16)</code>. Loads: <code>m * k * ceil(n / 8) + k * n * ceil(m / 16)</code>. Each instruction does 2 * 16 * 8 * 16 operations.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - A product by tensor cores (3 points)

**Goal.** The kernel of the bill.

**Given.** `a`: `(m, k)` float16, `b`: `(k, n)` float16, `c`: `(m, n)` float32. Blocks of one warp, 32 threads, just enough of them:
block (x, y) computes the results from row `16 * y` and column `8 * x` on. Sizes of any kind, at least 1.

**Required.** `c = a @ b`, each result written once, the sums in float32. No more load requests than our solution: on 40 x 20 with K = 50 they are 336.
At most 1.5 times our issue slots.

**Example.** As always: `[[1, 2]]` times `[[3, 4, 5], [6, 7, 8]]` is `[[15, 18, 21]]`.
"""


# %% tensor_matmul tags=["exercise"]
@cuda.jit
def tensor_matmul(c, a, b, m, n, k):
    """c = a @ b, a tile of 16 x 8 for each warp.   a: (m, k), b: (k, n) float16; c: (m, n) float32."""
    ### BEGIN SOLUTION
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    top, first = 16 * cuda.blockIdx.y, 8 * cuda.blockIdx.x
    for i in range(4):
        acc[i] = 0
    for start in range(0, k, 16):
        for i in range(8):
            row = top + group + i // 2 % 2 * 8
            term = start + 2 * place + i % 2 + i // 4 * 8
            left[i] = a[row, term] if row < m and term < k else np.float16(0)
        for i in range(4):
            term = start + 2 * place + i % 2 + i // 2 * 8
            column = first + group
            right[i] = b[term, column] if term < k and column < n else np.float16(0)
        mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        row = top + group + i // 2 * 8
        column = first + 2 * place + i % 2
        if row < m and column < n:
            c[row, column] = acc[i]
    ### END SOLUTION


# %% tags=["check"]
check("tensor_matmul", tensor_matmul)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Three local arrays: 8 float16, 4 float16, 4 float32. Fill the last with zeros once, the others in each step. All 32 lanes call the instruction, those beyond the edge too.
</details>
<details><summary>Hint 2</summary>
Register i of <code>left</code> is <code>a[row, term]</code> with <code>row = top + group + i // 2 % 2 * 8</code> and <code>term = start + 2 * place + i % 2 + i // 4 * 8</code>.
Register i of <code>right</code> is <code>b[term, first + group]</code> with <code>term = start + 2 * place + i % 2 + i // 2 * 8</code>. Store a zero where the element does not exist.
</details>
<details><summary>Hint 3</summary>
In each step <code>mma_m16n8k16(acc, left, right, acc)</code>. After the last: register i of <code>acc</code> goes to row <code>top + group + i // 2 * 8</code>,
column <code>first + 2 * place + i % 2</code>, if that is inside.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - Debug: eight at one bank (2 points)

**Goal.** A colleague keeps a tile of `a` in shared memory and takes the fragments from there. The results are right. Look at the line that the profile names.
"""

# %%
WIDTH = 64


@cuda.jit
def fragments_slow(c, a, b):
    tile = cuda.shared.array((16, WIDTH), np.float16)
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    for i in range(4):
        acc[i] = 0
    for row in range(16):
        for column in range(lane, WIDTH, 32):
            tile[row, column] = a[16 * cuda.blockIdx.x + row, column]
    cuda.syncthreads()
    for start in range(0, WIDTH, 16):
        for i in range(8):
            left[i] = tile[group + i // 2 % 2 * 8, start + 2 * place + i % 2 + i // 4 * 8]
        for i in range(4):
            right[i] = b[start + 2 * place + i % 2 + i // 2 * 8, group]
        mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        c[16 * cuda.blockIdx.x + group + i // 2 * 8, 2 * place + i % 2] = acc[i]


rng = np.random.default_rng(seed=5)
a = rng.random((32, WIDTH)).astype(np.float16)
b = rng.random((WIDTH, 8)).astype(np.float16)
c = np.zeros((32, 8), np.float32)
profile(fragments_slow[2, 32], c, a, b)

# %% [markdown]
r"""
Eight wavefronts where one would do: an *8-way bank conflict*. A row of the tile has 64 float16, which are 128 bytes, which are 32 banks.
So the 8 groups, which read 8 rows, all read from the same four banks.

**Given.** `a`: `(16 * blocks, 64)` float16, `b`: `(64, 8)` float16, `c`: `(16 * blocks, 8)` float32. Blocks of 32 threads.

**Required.** The same results from a tile in shared memory, and no bank conflict. `a` is loaded from global memory once, each row with two requests. At most 2,560 bytes of shared memory.
"""


# %% fragments_mended tags=["exercise"]
@cuda.jit
def fragments_mended(c, a, b):
    """c = a @ b, a through shared memory.   a: (16 * blocks, 64), b: (64, 8) float16; c float32."""
    ### BEGIN SOLUTION
    tile = cuda.shared.array((16, 72), np.float16)  # 8 unused at the end of each row
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    for i in range(4):
        acc[i] = 0
    for row in range(16):
        for column in range(lane, WIDTH, 32):
            tile[row, column] = a[16 * cuda.blockIdx.x + row, column]
    cuda.syncthreads()
    for start in range(0, WIDTH, 16):
        for i in range(8):
            left[i] = tile[group + i // 2 % 2 * 8, start + 2 * place + i % 2 + i // 4 * 8]
        for i in range(4):
            right[i] = b[start + 2 * place + i % 2 + i // 2 * 8, group]
        mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        c[16 * cuda.blockIdx.x + group + i // 2 * 8, 2 * place + i % 2] = acc[i]
    ### END SOLUTION


# %% tags=["check"]
check("fragments_mended", fragments_mended)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Lesson <code>t1_06_banks</code> had the same trouble with a column of a tile. What helped?
</details>
<details><summary>Hint 2</summary>
A few unused elements at the end of each row. The 8 rows that are read together should begin at 8 different banks, four apart: each needs four of them.
</details>
<details><summary>Hint 3</summary>
Four banks are 16 bytes, which are 8 float16: <code>cuda.shared.array((16, 72), np.float16)</code>. Nothing else changes. Write the 72: Numba takes no sum as a size.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - Stretch: three for one (4 points)

A TF32 instruction keeps 11 bits of each number. float32 has 24. This device function rounds to TF32 as the instruction does:
"""


# %%
@cuda.jit(device=True)
def as_tf32(x):
    """x rounded to TF32, halfway away from zero; the result is a float32."""
    bits = cuda.libdevice.float_as_int(x)
    return cuda.libdevice.int_as_float((bits + np.int32(0x1000)) & np.int32(-8192))


# %% [markdown]
r"""
What it cuts off is not lost: `x - as_tf32(x)` is exact, and fits into a second TF32 number, but for its last bits.
So a number is a large part and a small one, and a product is four products, of which the smallest does not matter:

    a b = big_a big_b + big_a small_b + small_a big_b + small_a small_b

**Goal.** Nearly the accuracy of float32, from TF32 instructions.

**Given.** `a`: `(16, k)` float32, `b`: `(k, 8)` float32, `c`: `(16, 8)` float32. One block of 32 threads. `k` is a multiple of 8, at least 8.
The picture of the smaller instruction: `show_fragments("m16n8k8")`.

**Required.** `c = a @ b`, no result further from the exact one than 4 * 10^-6 of its value; the inputs are positive. A single instruction a step misses by some 10^-4.
At most 1.3 times the issue slots of our solution, and each element loaded once by one lane.
"""


# %% three_for_one tags=["exercise"]
@cuda.jit
def three_for_one(c, a, b, k):
    """c = a @ b, nearly as exact as float32.   a: (16, k), b: (k, 8), c: (16, 8) float32."""
    ### BEGIN SOLUTION
    big_a = cuda.local.array(4, np.float32)
    small_a = cuda.local.array(4, np.float32)
    big_b = cuda.local.array(2, np.float32)
    small_b = cuda.local.array(2, np.float32)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    for i in range(4):
        acc[i] = 0
    for start in range(0, k, 8):
        for i in range(4):
            x = a[group + i % 2 * 8, start + place + i // 2 * 4]
            big_a[i] = as_tf32(x)
            small_a[i] = x - big_a[i]
        for i in range(2):
            x = b[start + place + i * 4, group]
            big_b[i] = as_tf32(x)
            small_b[i] = x - big_b[i]
        mma_m16n8k8(acc, small_a, big_b, acc)
        mma_m16n8k8(acc, big_a, small_b, acc)
        mma_m16n8k8(acc, big_a, big_b, acc)
    for i in range(4):
        c[group + i // 2 * 8, 2 * place + i % 2] = acc[i]
    ### END SOLUTION


# %% tags=["check"]
if check("three_for_one", three_for_one).status == "pass":
    rng = np.random.default_rng(seed=16)
    a = rng.random((16, 64), dtype=np.float32)
    b = rng.random((64, 8), dtype=np.float32)
    c = np.zeros((16, 8), np.float32)
    three_for_one[1, 32](c, a, b, 64)
    exact = a.astype(np.float64) @ b
    print(f"worst relative error {(abs(c - exact) / exact).max():.1e}")

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Two arrays for each fragment: the large parts and the small parts. Three instructions a step, all into the same <code>acc</code>.
</details>
<details><summary>Hint 2</summary>
m16n8k8: register i of A is row <code>group + i % 2 * 8</code>, column <code>place + i // 2 * 4</code>; register i of B is row <code>place + i * 4</code>, column <code>group</code>.
D lies as before.
</details>
<details><summary>Hint 3</summary>
<code>big_a[i] = as_tf32(x)</code>, <code>small_a[i] = x - big_a[i]</code>, the same for b. Then the instruction with
<code>small_a, big_b</code>, with <code>big_a, small_b</code>, with <code>big_a, big_b</code>.
</details>
"""

# %% [markdown] tags=["solution"]
r"""
## Remarks on the answers

- Exercise 2 is exercise 1 read backwards, with one bit more for the right half. A permutation can always be read both ways.
- In exercise 3 the small product costs as much as a full tile: 4,096 operations for one multiplication. Tensor cores want full tiles.
- In exercise 4 the guards stand at loads and stores. A guard around the instruction would part the warp, and that is not allowed.
- In exercise 5 any padding that makes the rows 4 banks apart, modulo 32 and in any order, is right: 8, 24, 40... elements.
- In exercise 6 the order matters a little: small terms first, as in any sum. CUTLASS calls this scheme 3xTF32, Triton `input_precision="tf32x3"`.
"""

# %% [markdown]
r"""
**Done?** You can feed a tensor core by hand, and you know what its short formats cost.
"""
