# %% [markdown]
r"""
# Banks: padding, swizzle, transpose

**A transpose through shared memory reached 51.3 GB/s. With one more column in its tile it reached 99.5. What did that column do?**

Both numbers are NVIDIA's, measured on the same GPU [1]. The two kernels read and write the same bytes.
In the source they differ by a `+1`.

At the end of this lesson you can

- say how many passes a warp needs for any access to shared memory, before you run it,
- write a transpose whose global accesses are coalesced and whose shared accesses are free of conflicts,
- get there in two ways, with padding and with a swizzle, and choose between them,
- find a conflict in a profile, and name its counter in Nsight Compute.

You need the lessons `t1_04_coalescing` and `t1_05_shared_memory`, and about 40 minutes. You do not need a GPU.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
"""

# %%
import math

import numpy as np

from warpwise import compare, cuda, explain, profile
from warpwise.show import show_banks, table

# %% [markdown]
r"""
## 1. Thirty-two banks

All 32 lanes of a warp ask for their data at the same moment.
So shared memory is cut into 32 *banks* that work side by side. Each gives one *word* of 4 bytes at a time [2].

Neighbouring words lie in neighbouring banks, and after 32 words it starts again:
**bank = word modulo 32**. A float32 is one word, so for a float32 array the word is simply the index.
Which bank holds element 100?
"""

# %%
guess = "?"  # the bank of element 100

for word in (0, 1, 31, 32, 33, 64, 100):
    print(f"word {word:3}   bank {word % 32:2}")
print("guess:", guess)

# %% [markdown]
r"""
Bank **4**: three times around makes 96, and four more.

One pass through the banks is called a *wavefront*. In one wavefront, each bank gives one word.
If a warp wants two different words of the same bank, that bank has to work twice, and the warp waits for a second wavefront.
This is a *bank conflict*. With n words in one bank it is an *n-way conflict*, and takes n wavefronts.

## 2. Strides

The kernel below spreads 32 values over shared memory, `stride` words apart, and reads them back.
With a stride of 1 each lane has a bank of its own. How many wavefronts does the read take with a stride of 2?
"""

# %%
guess = "?"  # wavefronts with a stride of 2


@cuda.jit
def spread(out, x, stride):
    s = cuda.shared.array(1024, np.float32)
    t = cuda.threadIdx.x
    s[stride * t] = x[t]
    out[t] = s[stride * t]  # each thread reads what it wrote itself: no barrier needed


x = np.arange(32, dtype=np.float32)
out = np.zeros_like(x)
for stride in (1, 2):
    report = profile(spread[1, 32], out, x, stride)
    print(f"stride {stride}: {report.shared_loads.wavefronts} wavefronts for the read")
print("guess:", guess)

show_banks(spread[1, 32], out, x, 2, dials={"stride": tuple(range(34))})

# %% [markdown]
r"""
**2**. Lane 0 asks for word 0, and lane 16 for word 32, which lies in bank 0, too.
In the map above each column is a bank, and a cell names the lane that asks for its word.
Two cells in one column are a conflict. It shows the store, which follows the same rule; the dial `access` changes to the read.

Turn the dial `stride`. Find a stride above 1 without a conflict, and the worst stride of all.
Before you run the next cell: what does a stride of 33 cost?
"""

# %%
guess = "?"  # wavefronts with a stride of 33

print("stride   wavefronts   gcd(stride, 32)")
for stride in (1, 2, 3, 4, 16, 32, 33):
    reads = profile(spread[1, 32], out, x, stride).shared_loads
    print(f"{stride:6}   {reads.wavefronts:10}   {math.gcd(stride, 32):15}")
print("guess:", guess)

# %% [markdown]
r"""
**1**. The wavefronts are the *greatest common divisor* of the stride and 32: the largest number that divides both.
An odd stride has none in common with 32 but 1. So every odd stride is free, 33 as well as 1, and 32 is the worst.

## 3. The same word is free

A conflict needs *different* words of one bank. Any number of lanes may share a word: it is read once and handed to all of them,
a *broadcast* [2]. (If several lanes *store* to one word, it takes one wavefront as well, but only one of their values arrives.)
You have seen it on the dial: with a stride of 0 all lanes have word 0, and there is no conflict.

Below, each lane reads the element that `at` gives it. In the last pattern lanes 0, 4, 8 ... want word 0,
lanes 1, 5, 9 ... word 32, and so on: four words, eight lanes for each. All four lie in bank 0. How many wavefronts?
"""

# %%
guess = "?"  # wavefronts for four words of bank 0, with eight lanes each


@cuda.jit
def gather(out, x, at):
    s = cuda.shared.array(128, np.float32)
    t = cuda.threadIdx.x
    for i in range(t, 128, 32):
        s[i] = x[i]
    cuda.syncthreads()
    out[t] = s[at[t]]


lane = np.arange(32)
patterns = {
    "all lanes, word 5": np.full(32, 5),
    "two lanes a word": lane // 2,
    "any order of 32 words": np.random.default_rng(seed=1).permutation(32),
    "four words of bank 0": lane % 4 * 32,
}
values = np.arange(128, dtype=np.float32)
for name, at in patterns.items():
    reads = profile(gather[1, 32], out, values, at).shared_loads
    print(f"{name:22}  {reads.wavefronts} wavefronts, {reads.bank_conflicts} more than needed")
print("guess:", guess)

# %% [markdown]
r"""
**4**: one for each different word, not one for each lane.
The order does not matter either. What counts is how many *different words* the busiest bank has to give.

"More than needed" is what the report calls *bank conflicts*: wavefronts minus the fewest that would do.

## 4. A column of a tile

In a tile of 32 x 32, element (row, column) is word `32 * row + column`.
A warp that reads a row has 32 neighbouring words. What about a column?
First a look at where the elements lie: the bank of each element, in the upper left corner of the tile.
"""

# %%
rows, columns = np.indices((6, 8))
print("rows of 32 words:")
print((32 * rows + columns) % 32)
print("rows of 33 words:")
print((33 * rows + columns) % 32)

# %% [markdown]
r"""
With rows of 32 words a whole column lies in one bank: 32 rows, a 32-way conflict.
Make each row one word longer, and the next row begins one bank further on. The extra word is never used.
This is called *padding*, and the distance from row to row is the *pitch*.

Now each lane reads one element of column 5, each from its own row. What is the next pitch above 33 that works as well?
"""

# %%
guess = "?"  # the next pitch without a conflict


@cuda.jit
def column(out, x, pitch):
    tile = cuda.shared.array(32 * 40, np.float32)  # rows of up to 40 words
    t = cuda.threadIdx.x
    for row in range(32):
        tile[row * pitch + t] = x[row, t]
    cuda.syncthreads()
    out[t] = tile[t * pitch + 5]


square = np.arange(32 * 32, dtype=np.float32).reshape(32, 32)
for pitch in (32, 33, 34, 35, 36, 40):
    reads = profile(column[1, 32], out, square, pitch).shared_loads
    print(f"pitch {pitch}: {reads.wavefronts:2} wavefronts")
print("guess:", guess)
show_banks(column[1, 32], out, square, 32, kind="load", dials={"pitch": tuple(range(32, 41))})

# %% [markdown]
r"""
**35**, the next odd number. It is the rule of section 2 again: a column is a stride of one pitch.

## 5. The transpose

Now the question from the top. A transpose writes element (y, x) of one picture to (x, y) of another.
We follow NVIDIA's example [1]: 1024 x 1024 values of float32, tiles of 32 x 32, blocks of 32 x 8 threads.
Each thread handles four elements of its tile, 8 rows apart.

The first version is the direct one. A warp reads 32 neighbours in a row: 4 sectors, as you know from `t1_04_coalescing`.
How many sectors does it write?
"""

# %%
guess = "?"  # sectors for one store of a warp


@cuda.jit
def naive(out, a):
    x = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    y = cuda.blockIdx.y * 32 + cuda.threadIdx.y
    for j in range(0, 32, 8):
        out[x, y + j] = a[y + j, x]


n = 1024
grid, block = (n // 32, n // 32), (32, 8)
picture = np.random.default_rng(seed=2).random((n, n), dtype=np.float32)
turned = np.zeros_like(picture)

report = profile(naive[grid, block], turned, picture)
print("right:", np.array_equal(turned, picture.T))
print("sectors a load: ", report.loads.sectors_per_request)
print("sectors a store:", report.stores.sectors_per_request)
print("guess:", guess)

# %% [markdown]
r"""
**32**, a sector for each lane: neighbouring lanes store a whole row apart.

So we go through shared memory. The block reads its tile along the rows, waits, and writes it along the rows of the *result*.
Both global accesses are now rows. The turn happens in shared memory: what was stored as `tile[row, column]` is read as `tile[column, row]`.

How many wavefronts will the store into the tile take, and how many the read?
"""

# %%
guesses = "?", "?"  # wavefronts for a store into the tile, and for a read from it


@cuda.jit
def tiled(out, a):
    tile = cuda.shared.array((32, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    for j in range(ty, 32, 8):
        tile[j, tx] = a[y0 + j, x0 + tx]
    cuda.syncthreads()
    for j in range(ty, 32, 8):
        out[x0 + j, y0 + tx] = tile[tx, j]


turned[:] = 0
report = profile(tiled[grid, block], turned, picture)
print("right:", np.array_equal(turned, picture.T))
print("guesses:", *guesses)
report

# %% [markdown]
r"""
Both global sides are at **4.00** sectors a request. The store into the tile takes **1** wavefront, the read **32**:
lane tx reads row tx of one column. The report names the line that wastes most, and why.

Open "All numbers" below the report: there are the counters by the names of Nsight Compute, NVIDIA's profiler. Remember this one:
`l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum`, here **1,015,808**: 31 for each of 32,768 reads.
Ours is the count that the rule gives. A GPU counts a little more: on a V100, Nsight Compute showed 260,593 conflicts
where the rule gives 253,952, and 2,484 in a kernel without any [6].

What does that mean for the whole kernel? `explain` asks the model of a GPU, here an A100. Look for "bound by".
"""

# %%
explain(tiled[grid, block], turned, picture, device="A100")

# %% [markdown]
r"""
Bound by *load/store*: the unit between the warps and their memory has more to do than the DRAM.
A kernel that computes nothing should wait for DRAM, and for nothing else.

One column of padding is all we change. What will the report say of bank conflicts?
"""

# %%
guess = "?"  # bank conflicts


@cuda.jit
def padded(out, a):
    tile = cuda.shared.array((32, 33), np.float32)  # the 33rd column is never used
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    for j in range(ty, 32, 8):
        tile[j, tx] = a[y0 + j, x0 + tx]
    cuda.syncthreads()
    for j in range(ty, 32, 8):
        out[x0 + j, y0 + tx] = tile[tx, j]


turned[:] = 0
report = profile(padded[grid, block], turned, picture)
print("right:", np.array_equal(turned, picture.T))
print("guess:", guess, "   bank conflicts:", report.shared.bank_conflicts)

# %% [markdown]
r"""
**0**. That is what the column did: it moved each row of the tile one bank on, so that a column is spread over all banks.

## 6. No extra bytes: the swizzle

The padding costs 128 bytes a tile, and it has a second price: a row of 33 words is 132 bytes long.
An access of 16 bytes needs an address that is a multiple of 16, and 132 is none.
Can we spread the columns without longer rows?

Within a row we are free to put the elements in any order, as long as we find them again.
So let each row have another order. The usual choice is *exclusive or*, `^` in Python: it compares two numbers bit by bit,
and sets the bits in which they differ. 5 is 101 in binary, 3 is 011, so 5 ^ 3 is 110, which is 6.

Here is `column ^ row` for a small tile of 8 x 8. Look at one row, then at one column. Does any number come twice?
"""

# %%
guess = "?"  # does a number come twice in a row, or in a column?

rows, columns = np.indices((8, 8))
print(columns ^ rows)
print("guess:", guess)

# %% [markdown]
r"""
**No.** Each row and each column has every number from 0 to 7 once.
If the table says in which place of its row, and so in which bank, we keep an element, both rows and columns are free of conflicts.
An arrangement like this is called a *swizzle*. For 32 x 32 it works in the same way: element (row, column) goes to place `column ^ row`.

Two lines of the kernel change. The read looks for row `tx`, column `j`, so its place is `j ^ tx`.
"""

# %%
guess = "?"  # bank conflicts


@cuda.jit
def swizzled(out, a):
    tile = cuda.shared.array((32, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x0, y0 = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
    for j in range(ty, 32, 8):
        tile[j, tx ^ j] = a[y0 + j, x0 + tx]  # row j, column tx
    cuda.syncthreads()
    for j in range(ty, 32, 8):
        out[x0 + j, y0 + tx] = tile[tx, j ^ tx]  # row tx, column j


turned[:] = 0
report = profile(swizzled[grid, block], turned, picture)
print("right:", np.array_equal(turned, picture.T))
print("guess:", guess, "   bank conflicts:", report.shared.bank_conflicts)
print("bytes of a tile: padded", 32 * 33 * 4, "  swizzled", 32 * 32 * 4)

# %%
show_banks(swizzled[grid, block], turned, picture, kind="load")

# %% [markdown]
r"""
**0** again, in 4,096 bytes instead of 4,224. The price is an extra operation for each access,
and the care to use the same rule on both sides: a swizzle in the store alone gives wrong values.
The width has to be a power of two. Otherwise `^` may lead out of the row.

Here is the whole ladder, with a plain copy as the goal.
"""


# %%
@cuda.jit
def copy(out, a):
    x = cuda.blockIdx.x * 32 + cuda.threadIdx.x
    y = cuda.blockIdx.y * 32 + cuda.threadIdx.y
    for j in range(0, 32, 8):
        out[y + j, x] = a[y + j, x]


versions = {"naive": naive, "tiled": tiled, "padded": padded, "swizzled": swizzled, "copy": copy}
compare(
    {name: (k[grid, block], np.zeros_like(picture), picture) for name, k in versions.items()},
    device="A100",
)

# %% [markdown]
r"""
The first three rows differ in sectors and conflicts, the two cures only in a few instructions.
The model turns that into a limit: `tiled` waits for the load/store unit, `padded` and `swizzled` for DRAM, like the copy.

These are NVIDIA's measurements of the same steps on two GPUs, in GB/s [1]. "Tiled" is called coalesced there.

| | Tesla M2050 | Tesla K20c | counted |
|---|---|---|---|
| naive | 18.8 | 55.3 | 32 sectors a store |
| tiled | 51.3 | 97.6 | 4 sectors, 32 wavefronts a read |
| padded | 99.5 | 144.3 | 4 sectors, 1 wavefront |
| copy | 105.2 | 136.0 | 4 sectors, no shared memory |

The three transposes come in the order of our counts. The factors are other ones: a count says what is wasted, not how long the rest takes.
On the K20c the plain copy is not the end of the road; a copy that goes through shared memory reached 152.3 there [1].

## 7. A recipe that was right once

One of NVIDIA's early code samples transposes in blocks of 16 x 16 threads, with tiles of 16 x 16 and one column of padding: `block[16][16 + 1]`.
A comment in it promises that columns are read without conflicts. The kernel still lives in many programs [3].
Is the promise kept? Try to predict both accesses, and remember which threads form a warp.

The shape of a shared array has to be a constant. So the function `small_tiles` makes a kernel of its own for each pitch.
"""

# %%
guesses = "?", "?"  # wavefronts for a store and for a read, with rows of 17 words


def small_tiles(pitch):
    @cuda.jit
    def transpose16(out, a):
        tile = cuda.shared.array((16, pitch), np.float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        x0, y0 = cuda.blockIdx.x * 16, cuda.blockIdx.y * 16
        tile[ty, tx] = a[y0 + ty, x0 + tx]
        cuda.syncthreads()
        out[x0 + ty, y0 + tx] = tile[tx, ty]

    return transpose16


part = picture[:96, :160].copy()
for pitch in (16, 17, 18):
    report = profile(small_tiles(pitch)[(10, 6), (16, 16)], np.zeros((160, 96), np.float32), part)
    store, read = report.shared_stores, report.shared_loads
    print(
        f"pitch {pitch}: store {store.wavefronts_per_request}, read {read.wavefronts_per_request}"
    )
print("guesses:", *guesses)

# %%
show_banks(small_tiles(17)[(10, 6), (16, 16)], np.zeros((160, 96), np.float32), part)

# %% [markdown]
r"""
**2 and 2**: a conflict on both sides. A block that is 16 wide has two rows in each warp.
The map shows it for the store: the second row begins at word 17, and its last element, word 32, is in bank 0 again, where the first row has begun.

The first GPUs for CUDA had 16 banks and served half a warp at a time. There the recipe was right.
Since the GPUs of 2010 (compute capability 2.0) there are 32 banks, and a whole warp at a time [2]. So count again when the hardware changes, and when a block is not 32 wide.
Not even 18 mends it: the read is free then, the store is not. Exercise 6 of the lab asks you for a way.

## 8. One column, 1.4 times the speed

NVIDIA's Best Practices Guide has a second pair [4]. It multiplies a matrix of 32 columns by its own transpose, C = A Aᵀ.
Each block keeps a tile of A, and a tile of Aᵀ that it turns *while storing*: `turned[tx, ty]`.
On a V100, the guide measured **140.2 GB/s** with rows of 32, and **199.4 GB/s** with rows of 33. Nothing else was changed.

For each warp, the inner loop reads shared memory 64 times, and the two stores happen once.
How much can one bad store matter? Guess the ratio of all wavefronts, 32 against 33.
"""

# %%
guess = "?"  # wavefronts with rows of 32, divided by those with rows of 33


def times_own_transpose(pitch):
    @cuda.jit
    def multiply(c, a):
        rows = cuda.shared.array((32, 32), np.float32)
        turned = cuda.shared.array((32, pitch), np.float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        x0, y0 = cuda.blockIdx.x * 32, cuda.blockIdx.y * 32
        rows[ty, tx] = a[y0 + ty, tx]
        turned[tx, ty] = a[x0 + ty, tx]  # a column: here the conflict is in the store
        cuda.syncthreads()
        total = np.float32(0)
        for i in range(32):
            total += rows[ty, i] * turned[i, tx]  # one word for all lanes, times a row
        c[y0 + ty, x0 + tx] = total

    return multiply


a = np.random.default_rng(seed=3).random((256, 32), dtype=np.float32)
c = np.zeros((256, 256), np.float32)
counted = {}
for pitch in (32, 33):
    report = profile(times_own_transpose(pitch)[(8, 8), (32, 32)], c, a)
    counted[pitch] = report.shared.wavefronts
    print(
        f"pitch {pitch}: {counted[pitch]:,} wavefronts, {report.shared.bank_conflicts:,} conflicts"
    )
print("right:", np.allclose(c, a @ a.T))
print(
    "guess:",
    guess,
    f"   wavefronts: {counted[32] / counted[33]:.2f}   measured by NVIDIA: {199.4 / 140.2:.2f}",
)

# %% [markdown]
r"""
The one store takes 32 wavefronts beside the 65 of everything else, so the whole is **1.47** times as much.
The guide's measurements are a factor of **1.42** apart. Here shared memory is what the kernel waits for, so the count comes close to the time.

## 9. Elements of two and four words

A float64 has two words, so 32 lanes ask for 64 words. In one wavefront there are only 32.
The warp goes in two halves, 16 lanes each. Elements of 16 bytes, such as complex128, go in quarters of 8 lanes.
Conflicts are counted within a half or a quarter [5].

Is a float64 array with a stride of 1 a conflict, then?
"""

# %%
guess = "?"  # is there a conflict with float64 and stride 1?


def spread_as(dtype):
    @cuda.jit
    def spread_wide(out, x, stride):
        s = cuda.shared.array(512, dtype)
        t = cuda.threadIdx.x
        s[stride * t] = x[t]
        out[t] = s[stride * t]

    return spread_wide


found = []
for stride in (1, 2, 3, 4, 8, 16):
    row = [stride]
    for dtype in (np.float32, np.float64, np.complex128):
        data = np.arange(32).astype(dtype)
        reads = profile(spread_as(dtype)[1, 32], np.zeros_like(data), data, stride).shared_loads
        row.append(f"{reads.wavefronts} ({reads.ideal_wavefronts})")
    found.append(row)
print("guess:", guess)
table(["stride", "4 bytes", "8 bytes", "16 bytes"], found, label="counted")

# %% [markdown]
r"""
The table shows the wavefronts, and in brackets the fewest possible for this size of element.
With float64 and stride 1 it is 2 of **2**: no conflict. Two wavefronts are the price of twice the bytes.

Read a column downward. For 4 bytes it is gcd(stride, 32), as before.
For 8 bytes it is 2 * gcd(stride, 16): two halves, each with 16 places for a whole element.
For 16 bytes it is 4 * gcd(stride, 8).
The odd strides are free in all of them, so one element of padding helps here, too.

## 10. A row for each thread

The last pattern comes up whenever each thread keeps a few values for itself in shared memory.
It seems natural to give thread t the row `s[t, ...]`. Eight values for each of 64 threads: what does that cost?
"""

# %%
guesses = "?", "?"  # wavefronts for own[t, k], and for own[k, t]


@cuda.jit
def row_each(out, x):
    own = cuda.shared.array((64, 8), np.float32)
    t = cuda.threadIdx.x
    for k in range(8):
        own[t, k] = x[k, t]
    total = np.float32(0)
    for k in range(8):
        total += own[t, k]
    out[t] = total


@cuda.jit
def column_each(out, x):
    own = cuda.shared.array((8, 64), np.float32)
    t = cuda.threadIdx.x
    for k in range(8):
        own[k, t] = x[k, t]
    total = np.float32(0)
    for k in range(8):
        total += own[k, t]
    out[t] = total


eight = np.random.default_rng(seed=4).random((8, 64), dtype=np.float32)
for kernel in (row_each, column_each):
    reads = profile(kernel[1, 64], np.zeros(64, np.float32), eight).shared_loads
    print(f"{kernel.__name__:12} {reads.wavefronts_per_request} wavefronts a read")
print("guesses:", *guesses)

# %% [markdown]
r"""
**8 and 1**. Rows of 8 words are a stride of 8.
Turned round, lane t always has bank t modulo 32, whatever k is. It may even differ from lane to lane, and there is still no conflict.
That makes it the safest of the three cures, where the layout is yours to choose.

## What to remember

- 32 banks of 4-byte words: bank = word modulo 32. Different words of one bank need a wavefront each; the same word is free.
- A stride costs gcd(stride, 32) wavefronts. Odd strides are free, 32 is the worst.
- A column of a 32 x 32 tile takes 32 wavefronts. With a pitch of 33 it takes 1.
- `tile[row, column ^ row]` is free along rows and columns, without a byte more. Both sides need the same rule.
- Values of one thread's own: `own[k, t]`, not `own[t, k]`.
- A warp is 32 threads in a row. In a block of 16 x 16 it has two rows: count, do not trust a recipe.
- 8-byte elements go in halves, 16-byte elements in quarters: 2 and 4 wavefronts at best.

| in the report | in Nsight Compute |
|---|---|
| shared loads: wavefronts | `l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum` |
| shared loads: bank conflicts | `l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum` |
| shared loads: requests | `smsp__inst_executed_op_shared_ld.sum` |
| the same for stores | `..._op_st.sum` |

**Next:** the lab, `t1_06_banks_lab`, in your folder `mine/t1_kernels/`.

## Sources

1. M. Harris, "An Efficient Matrix Transpose in CUDA C/C++", NVIDIA Technical Blog, 18 February 2013:
   1024 x 1024 float32, tiles of 32 x 32, blocks of 32 x 8. The table is quoted from a public course that reprints it.
   <https://developer.nvidia.com/blog/efficient-matrix-transpose-cuda-cc/>
2. NVIDIA, CUDA C++ Programming Guide, sections on shared memory of each compute capability: 32 banks, words of 32 bits, and which accesses conflict.
   <https://docs.nvidia.com/cuda/cuda-c-programming-guide/>
3. The kernel with `BLOCK_DIM 16` and `block[BLOCK_DIM][BLOCK_DIM+1]` of NVIDIA's early CUDA samples; read in copies of it in public repositories.
4. NVIDIA, CUDA C++ Best Practices Guide, "Shared Memory in Matrix Multiplication (C = AAᵀ)".
   <https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/>
5. The halves: CUDA C Programming Guide for compute capability 2.x. Halves and quarters: Triton's model of bank conflicts,
   `lib/Tools/GenericSwizzling.cpp`. Where neighbouring lanes read the same element, parts can merge; the simulator counts that, as others measured it on A100 and Turing.
6. accel-sim-framework, pull request 231, on GitHub: counts of a V100 beside those of a model.
"""
