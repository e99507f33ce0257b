# %% [markdown]
r"""
# Shared memory: a notebook for each block

**In a blur, nine threads read the same pixel. Why does not one of them read it and pass it on?**

It can. At the end of this lesson you can

- let the threads of a block exchange values through *shared memory*,
- say which barrier a kernel needs, and what goes wrong without it,
- find a race that every test has missed, and name its kind,
- keep a barrier where all threads of the block reach it,
- load a tile with its halo once, and count what that saves and what it costs.

You need the lessons `t1_02_grids` and `t1_03_warps`, and about 40 minutes. You do not need a GPU.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
New words such as *shared memory*, *barrier* and *race* stand in the [glossary](../glossary.md), with the Polish word beside them.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from warpwise import compare, cuda, explain, profile, sanitize
from warpwise.hardware import occupancy
from warpwise.observe import Census
from warpwise.show import show_occupancy, show_steps
from warpwise.simt import SimtError, run

# %% [markdown]
r"""
## 1. Write down, wait, read

A variable belongs to one thread. An array argument, in *global memory*, belongs to all threads of the launch.
*Shared memory* lies in between: an array that belongs to one block. Each block has its own copy,
all threads of the block see it, and it is gone when the block ends.
It sits inside the *multiprocessor* (SM), the part of the GPU that runs the block, so it is close and fast [1].

The kernel below turns each portion of 8 elements round. Thread t writes its element into place t of the array `s`,
waits for the others, and reads the place of another thread. What will `out[0]` and `out[8]` be?
"""

# %%
guess = "?"  # out[0] and out[8]

BLOCK = 8


@cuda.jit
def turn(out, a):
    s = cuda.shared.array(BLOCK, np.float32)  # one array for each block
    t = cuda.threadIdx.x  # the place in s
    i = cuda.grid(1)  # the place in a and out
    s[t] = a[i]
    cuda.syncthreads()  # wait until all 8 threads are here
    out[i] = s[BLOCK - 1 - t]


a = np.arange(16, dtype=np.float32)
out = np.zeros_like(a)
turn[2, BLOCK](out, a)

print(out)
print("guess:", guess, "   out[0], out[8]:", out[0], out[8])

show_steps(turn[2, BLOCK], out, a, block=1)

# %% [markdown]
r"""
They are **7** and **15**. Two blocks, two arrays `s`: the first holds the elements 0 to 7, the second 8 to 15.
No block can look into the notebook of another one.

Two indices go through all such kernels. `threadIdx.x` counts within the block and belongs to `s`.
`cuda.grid(1)` counts within the launch and belongs to `a` and `out`.

The picture shows what block 1 did, step by step. A column is a thread; a cell holds the index of the element it touched.

Follow thread 0 from top to bottom: it reads `a[8]`, writes `s[0]`, and then reads `s[7]`.
That value comes from thread 7. The dashed line between writing and reading is the *barrier*, `cuda.syncthreads()`:
no thread of the block goes on until all have come.

## 2. How large is the array?

The compiler lays out shared memory before the kernel runs, so it has to know the size.
May the size be an argument?
"""

# %%
guess = "?"  # yes or no


@cuda.jit
def turn_any(out, a, block):
    s = cuda.shared.array(block, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.syncthreads()
    out[i] = s[block - 1 - t]


try:
    turn_any[2, 8](out, a, 8)
except SimtError as error:
    print(error)

# %% [markdown]
r"""
**No.** It takes a number, or the name of a constant outside the kernel. That is why `BLOCK` stands there in capitals.
Numba does not even take a sum: instead of `cuda.shared.array(BLOCK + 2, ...)`, compute `WIDE = BLOCK + 2` outside and write `WIDE`.

Where the size is known only at launch, use *dynamic* shared memory. The kernel asks for an array of size 0,
and the launch says how many **bytes** there are: `kernel[blocks, threads, stream, bytes]`.
(0 is the default stream; streams come in `t1_12_launches`.)
How many bytes does a block of 4 threads need for its float32 elements? And what if somebody counts elements, and writes 4?
"""

# %%
guesses = "?", "?"  # bytes for a block of 4 threads; what happens if you write 4


@cuda.jit
def turn_dynamic(out, a):
    s = cuda.shared.array(0, np.float32)  # as large as the launch says
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    cuda.syncthreads()
    out[i] = s[cuda.blockDim.x - 1 - t]


for threads in (4, 16):
    size = threads * a.itemsize
    turn_dynamic[16 // threads, threads, 0, size](out, a)
    print(f"{threads:2} threads, {size} bytes:", out)

try:
    turn_dynamic[4, 4, 0, 4](out, a)
except SimtError as error:
    print(error)
print("guesses:", *guesses)

# %% [markdown]
r"""
**16**: four elements of four bytes. The same kernel also turns all 16 elements in one block, with 64 bytes.
The size counts bytes: four are room for one element, and place 1 does not exist.
A GPU need not stop there. The threads may write past the end, and nobody tells you.

## 3. What if we leave the barrier out?

All threads write first and read later anyway, don't they? We take blocks of 64 threads, that is two warps,
and leave the barrier out. 128 elements, two blocks. How many of them will be wrong?
"""

# %%
guess = "?"  # wrong elements out of 128


@cuda.jit
def turn_at_once(out, a):
    s = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = a[i]
    out[i] = s[63 - t]  # the barrier is missing


a = np.arange(128, dtype=np.float32)
right = a.reshape(2, 64)[:, ::-1].ravel()
out = np.zeros_like(a)
turn_at_once[2, 64](out, a)

print("guess:", guess, "   wrong:", np.count_nonzero(out != right))

# %% [markdown]
r"""
**None.** The test passes. But it only says something about the order in which the simulator happens to run the threads:
in *lockstep*, the whole block line by line. A GPU does not. Its warps take turns as their data arrives [1].

`run` can imitate the other extreme, `order="warp-serial"`: one warp of a block runs alone, to the next barrier or to its end,
then another one. `seed` decides which comes first. Will the number of wrong elements depend on the seed?
"""

# %%
guess = "?"  # wrong elements, and does it depend on the seed

for seed in range(4):
    out = np.zeros_like(a)
    run(turn_at_once, 2, 64, [out, a], order="warp-serial", seed=seed)
    wrong = np.count_nonzero(out != right)
    print(f"seed {seed}: {wrong} wrong;  out[0] = {out[0]}, out[63] = {out[63]}")
print("guess:", guess)

# %% [markdown]
r"""
**64** are wrong with every seed, but not the same ones. In each block the warp that comes first reads what the other one has not written yet.
It finds `nan`, because the simulator fills new shared memory with values that stand out. On a GPU it finds leftovers.
Two threads touch the same place, at least one of them writes, and nothing says who comes first: that is a *race*.
A result that depends on a race may be right a thousand times, on your machine, and wrong on the next one.

## 4. Look for races, not for wrong values

`sanitize` does not look at the values. It notes for each place who wrote it and who read it, and whether a barrier came in between.
So it finds the race whatever the order, here in a plain lockstep run.
"""

# %%
print("with its barrier:", sanitize(turn[16, BLOCK], out, a))
sanitize(turn_at_once[2, 64], out, a)

# %% [markdown]
r"""
Read it as a sentence: thread 0 reads `s[63]`, thread 63 wrote it, and **nothing orders them**.
Both lines are named, and the last line says what mends it.
A barrier orders everything that the threads of a block do before it, in shared and in global memory, ahead of everything they do after it [1].
It says nothing about other blocks.

NVIDIA's tool for this is called *compute-sanitizer*, its part for races *racecheck*. It needs a GPU.
Its manual shows what it says about one block of 128 threads in which each thread writes a four-byte integer,
and thread 0 adds them all up without waiting: `[508 hazards]` [2].

We write such a kernel. In `sanitize`, a finding has a `bytes` field: accesses times bytes of each.
What should the sum be, and how do 508 hazards come about? In how many of six orders of the warps will it be right?
"""

# %%
guesses = "?", "?"  # where does 508 come from; how many of six orders give the right sum


@cuda.jit
def sum_at_once(total, a):
    s = cuda.shared.array(128, np.int32)
    t = cuda.threadIdx.x
    s[t] = a[t]
    if t == 0:
        added = 0
        for k in range(128):
            added += s[k]
        total[0] = added


numbers = np.arange(1, 129, dtype=np.int32)
total = np.zeros(1, np.int32)
findings = sanitize(sum_at_once[1, 128], total, numbers)

for finding in findings:
    print(f"{finding.hazard}, {finding.severity:7}  {finding.count:3} reads, {finding.bytes} bytes")
print("guess:", guesses[0], "   together:", sum(finding.bytes for finding in findings), "bytes")

print("right:", numbers.sum())
for seed in range(6):
    run(sum_at_once, 1, 128, [total, numbers], order="warp-serial", seed=seed)
    print(f"seed {seed}: {total[0]}")
print("guess:", guesses[1])

# %% [markdown]
r"""
127 other threads, four bytes each: **508**, as in the manual.
Thread 0 reads its own place as well, but a thread never races with itself.

The two lines differ in severity. 96 of the threads are in other warps: an error.
31 are in the warp of thread 0: a warning, and we come back to it in section 6.

**One** of six orders gives 8256: the one in which warp 0 comes last. A test that runs once may well meet that one.
The large numbers are sums over places that were still empty, filled with the simulator's noise.

## 5. Three kinds of races

Every race is one of three, named after what happens and what should have come first:

| name | read as | what is lost |
|---|---|---|
| RAW | read after write | the reader comes too early and misses the value |
| WAR | write after read | the writer comes too early and destroys a value that is still needed |
| WAW | write after write | two writers; the last one wins, and nobody knows which |

So far we met RAW. The second one hides in loops. Here a single block turns portion after portion, with a barrier after the writing.
Is that enough?
"""

# %%
guess = "?"  # wrong elements out of 256, in lockstep and warp by warp


@cuda.jit
def turn_all(out, a, n):
    s = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    for start in range(0, n, 64):
        s[t] = a[start + t]
        cuda.syncthreads()
        out[start + t] = s[63 - t]


a = np.arange(256, dtype=np.float32)
right = a.reshape(4, 64)[:, ::-1].ravel()
for order in ("lockstep", "warp-serial"):
    out = np.zeros_like(a)
    run(turn_all, 1, 64, [out, a, 256], order=order)
    print(f"{order:11}  {np.count_nonzero(out != right)} wrong")
print("guess:", guess)

sanitize(turn_all[1, 64], out, a, 256)

# %% [markdown]
r"""
Not enough: **96** are wrong when the warps run one by one. A fast warp finishes its reading, begins the next turn,
and overwrites `s` while the slow warp has yet to read it. The finding is a **WAR**: thread 0 writes `s[0]`, which thread 63 read before.
The cure is a second barrier at the end of the turn. The rule for a loop that fills the same array again:

**fill, barrier, use, barrier.**

People ask about this barrier because their kernel passes without it.
A well-known set of GPU puzzles multiplies matrices with blocks of 3 x 3 threads, and a reader noticed that the tests pass
with or without the barrier between the turns [3]. Nine threads are one warp: here no order of warps can show the mistake. With more warps it is there.

The third kind. Each thread whose element is large writes its number into the same place. Which number stays?
"""

# %%
guess = "?"  # the first, the last, or one of them


@cuda.jit
def find_large(found, a):
    s = cuda.shared.array(1, np.int32)
    t = cuda.threadIdx.x
    if a[t] > 0.5:
        s[0] = t
    cuda.syncthreads()
    if t == 0:
        found[0] = s[0]


found = np.zeros(1, np.int32)
chances = np.random.default_rng(seed=1).random(128, dtype=np.float32)
for seed in range(3):
    run(find_large, 1, 128, [found, chances], order="warp-serial", seed=seed)
    print(f"seed {seed}: thread {found[0]}")
print("guess:", guess)

sanitize(find_large[1, 128], found, chances)

# %% [markdown]
r"""
**One of them**, and another order gives another one. The sanitizer calls it **WAW**: thread 32 writes where thread 27 wrote.
No barrier helps here, because all of them write in the same step. Give each thread a place of its own,
or use an atomic operation (`t1_09_atomics`).

## 6. Within a warp

The 32 threads of a warp run together. So within one warp no barrier is needed, is it?
One block of 32 threads hands each value to its left neighbour. The values are right in every order. What does the sanitizer say?
"""

# %%
guess = "?"  # nothing, a warning, or an error


@cuda.jit
def from_right(out, a):
    s = cuda.shared.array(32, np.float32)
    t = cuda.threadIdx.x
    s[t] = a[t]
    out[t] = s[(t + 1) % 32]


out = np.zeros(32, np.float32)
sanitize(from_right[1, 32], out, a[:32])

# %% [markdown]
r"""
A **warning**, 32 times. Since the Volta generation every thread of a warp has a program counter of its own,
and NVIDIA's guide tells us not to rely on lanes that move together: code that did so has to be given a `syncwarp` [1].
`cuda.syncwarp()` is a barrier for the threads of one warp only: it makes them wait for one another, and makes what they wrote visible to one another.

Where a value goes to a thread of another warp, it has to be `cuda.syncthreads()`. In this course a warning counts as a mistake.

## 7. All threads, or none

A barrier waits for all threads of the block. What if only some come?
We need only the first 16 results, so we let only 16 of 64 threads wait. What will happen?
"""

# %%
guess = "?"  # what happens?


@cuda.jit
def some_wait(out, a):
    s = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    s[t] = a[t]
    if t < 16:
        cuda.syncthreads()
        out[t] = s[63 - t]


try:
    some_wait[1, 64](out, a)
except SimtError as error:
    print(error)

# %% [markdown]
r"""
16 wait for 48 that never come. It is called a *divergent barrier*, and a GPU may hang, or go on with anything.
The most common way to write one is the guard that you learned in the first lesson: `if i < n:` around everything.
In the last block some threads are outside, and the barrier stands inside.

The other common form is an early `return`. A thread that has ended is not waited for [1],
so this is no divergent barrier. Something else goes wrong. 100 elements, two blocks of 64: what is it?
"""

# %%
guess = "?"  # what goes wrong?


@cuda.jit
def leave_early(out, a, n):
    s = cuda.shared.array(64, np.float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    if i >= n:
        return
    s[t] = a[i]
    cuda.syncthreads()
    out[i] = s[63 - t]


out = np.zeros(100, np.float32)
sanitize(leave_early[2, 64], out, a[:100], 100)

# %% [markdown]
r"""
The threads that left did not fill their places, and others read them. **28** places of block 1 were read and never written: 128 - 100.

So guard the work, never the barrier:

```python
if i < n:
    s[t] = a[i]
else:
    s[t] = 0             # a value that does no harm
cuda.syncthreads()       # every thread of the block comes here
if i < n:
    out[i] = ...
```

## 8. Nothing is zero

Shared memory starts with whatever the last block left there. Code that relies on zeros often works, because memory often *is* zero.

Here is an example with a history. In a set of GPU puzzles, the published solution of a convolution had 15 elements, 4 weights and two blocks of 8 threads [4].
`out[i]` is the sum over j of `a[i + j] * b[j]`, and what lies beyond the end counts as zero. A block keeps 8 + 3 elements: its own, and three of the next block.
This is the same logic in Numba. Which places of `shared_a` does block 1 never fill?
"""

# %%
guess = "?"  # the places that block 1 never fills

TPB, SIZE, CONV = 8, 15, 4
ROOM = TPB + CONV - 1


@cuda.jit
def convolve(out, a, b):
    shared_a = cuda.shared.array(ROOM, np.float32)
    shared_b = cuda.shared.array(CONV, np.float32)
    i = cuda.grid(1)
    t = cuda.threadIdx.x
    if i < SIZE:
        shared_a[t] = a[i]
    if t < CONV - 1 and i + TPB < SIZE:
        shared_a[TPB + t] = a[i + TPB]
    if t < CONV:
        shared_b[t] = b[t]
    cuda.syncthreads()
    if i < SIZE:
        total = np.float32(0)
        for j in range(CONV):
            total += shared_a[t + j] * shared_b[j]
        out[i] = total


signal, weights = np.arange(15, dtype=np.float32), np.arange(4, dtype=np.float32)
out = np.zeros_like(signal)
convolve[2, TPB](out, signal, weights)
expected = np.convolve(np.append(signal, [0, 0, 0]), weights[::-1], "valid")

print("expected:", expected[-4:])
print("got:     ", out[-4:])
sanitize(convolve[2, TPB], out, signal, weights)

# %% [markdown]
r"""
Block 1 has the elements 8 to 14, so it fills the places 0 to 6. Places **7, 8, 9 and 10** stay empty, and three of them are read: 7, 8 and 9.
The last three results are made of leftovers. The puzzle's own test compares all 15 values, so it passes as long as that memory happens to hold zeros.
A reader reported it in 2025, and two other puzzles of the set were mended for the same reason [4] [5].
In another set, a reader saw the last value of block 0 turn up in block 1 [6].

`sanitize` finds it always, since the simulator knows which places have been written.
(NVIDIA's tool has this check as *initcheck*; for shared memory it has to be switched on [2].)

## 9. The tile

Now back to the blur. In `t1_02_grids` every inner pixel of a 3 x 3 blur made 9 reads of global memory,
while a block of 16 x 16 threads needed only 18 x 18 = 324 different pixels: its *tile* of 256 and a *halo* of 68.

We load these 324 pixels once into shared memory. There are 256 threads, so some must load two.
We number the 324 places row by row. Thread number k fills place k, then place k + 256 if there is one.
How many threads load a second pixel?
"""

# %%
guess = "?"  # threads that load a second pixel

TILE = 16
WIDE = TILE + 2

places = np.arange(WIDE * WIDE)
loader = places % (TILE * TILE)
print("threads with a second pixel:", np.count_nonzero(np.bincount(loader) == 2))
print("guess:", guess, "   the last place belongs to thread", loader[-1])

# %% [markdown]
r"""
**68**: the threads 0 to 67. Thread 0, for example, loads the upper left corner of the halo and a pixel near the bottom.
It does not matter who loads what. After the barrier everybody can read everything.

Thread (tx, ty) owns place `s[ty + 1, tx + 1]`, because the halo comes first. Its nine neighbours begin at `s[ty, tx]`.
Places outside the picture stay empty. Is one of them read? The sanitizer will tell.

We count the reads of each pixel on a picture of 62 x 76. With nine reads each, most pixels are read 9 times.
How often is a pixel read at most when each block loads its tile and halo once?
And the photo, 1920 x 1080? With nine reads it was 18,614,432 in all. What will it be with tiles, for each pixel?
"""


# %%
@cuda.jit
def blur(out, a, height, width):  # nine reads of global memory, from t1_02_grids
    x, y = cuda.grid(2)
    if x < width and y < height:
        if 0 < x < width - 1 and 0 < y < height - 1:
            total = np.float32(0)
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    total += a[y + dy, x + dx]
            out[y, x] = total / np.float32(9)
        else:
            out[y, x] = a[y, x]


@cuda.jit
def blur_tile(out, a, height, width):
    s = cuda.shared.array((WIDE, WIDE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    first_x = cuda.blockIdx.x * TILE - 1  # s[0, 0] holds the pixel up and left of the tile
    first_y = cuda.blockIdx.y * TILE - 1
    for k in range(ty * TILE + tx, WIDE * WIDE, TILE * TILE):
        row = first_y + k // WIDE
        column = first_x + k % WIDE
        if 0 <= row < height and 0 <= column < width:
            s[k // WIDE, k % WIDE] = a[row, column]
    cuda.syncthreads()  # outside of every if: all 256 threads come here
    if x < width and y < height:
        if 0 < x < width - 1 and 0 < y < height - 1:
            total = np.float32(0)
            for dy in range(3):
                for dx in range(3):
                    total += s[ty + dy, tx + dx]
            out[y, x] = total / np.float32(9)
        else:
            out[y, x] = s[ty + 1, tx + 1]  # its own pixel


guesses = "?", "?"  # most reads of one pixel; reads for each pixel of the photo

height, width = 62, 76
grid, block = (5, 4), (TILE, TILE)
picture = np.random.default_rng(seed=2).random((height, width), dtype=np.float32)
results, reads = [], []
for kernel in (blur, blur_tile):
    census, out = Census(), np.zeros_like(picture)
    run(kernel, grid, block, [out, picture, height, width], observers=[census])
    results.append(out)
    reads.append(census.reads["a"])

print("same result:", np.array_equal(*results))
print("sanitizer:", sanitize(blur_tile[grid, block], out, picture, height, width))
print("guess:", guesses[0], "   most reads of one pixel:", reads[0].max(), "and", reads[1].max())

fig, axes = plt.subplots(1, 2, figsize=(9, 3.4))
for ax, counted, title in zip(axes, reads, ("nine reads", "tile and halo")):
    shown = ax.imshow(counted, cmap="Blues", vmin=0, vmax=9)
    ax.set(title=title, xlabel="column (x)", ylabel="row (y)")
fig.colorbar(shown, ax=axes, label="times read")
plt.show()

photo_h, photo_w = 1080, 1920
photo = np.zeros((photo_h, photo_w), np.float32)
census = Census()
blank = np.zeros_like(photo)
run(blur_tile, (120, 68), block, [blank, photo, photo_h, photo_w], observers=[census])
tiled = census.reads["a"].sum()
inner = (photo_h - 2) * (photo_w - 2)
nine = 9 * inner + (photo.size - inner)

print(f"nine reads:    {nine:,} reads, {nine / photo.size:.3f} for each pixel")
print(f"tile and halo: {tiled:,} reads, {tiled / photo.size:.3f} for each pixel")
print(f"a full tile:   {WIDE**2 / TILE**2:.3f} for each pixel")
print("guess:", guesses[1], f"   {nine / tiled:.1f} times fewer")

# %% [markdown]
r"""
At most **4** times. The right picture shows the seams: along the border of two tiles a pixel is read twice,
once as part of a tile and once as halo of the next; where four tiles meet, it is read four times. All other pixels are read once.

**1.263** reads for each pixel, **7.1 times** fewer than before. A full tile has 18² / 16² = 1.266. At the edge of the photo the halo is missing, so the mean is a little lower.

## 10. What did it cost?

Reads of single threads are not what a GPU moves. One load of a warp is one *request*, and it moves *sectors* of 32 bytes (`t1_04_coalescing`).
`compare` puts the counters of both kernels side by side. Will the sectors fall by a factor of 7 as well?

We also print four counters of the tile by the names that Nsight Compute, NVIDIA's profiler, gives them:
requests and sectors of loads from global memory, then requests to load from shared memory and to store there.
"""

# %%
guess = "?"  # factor by which the sectors fall

photo = np.random.default_rng(seed=4).random((160, 192), dtype=np.float32)
arguments = np.zeros_like(photo), photo, 160, 192
metrics = profile(blur_tile[(12, 10), block], *arguments).metrics()
for name in (
    "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "smsp__inst_executed_op_shared_ld.sum",
    "smsp__inst_executed_op_shared_st.sum",
):
    print(f"{metrics[name]:6,}  {name}")
print("guess:", guess)

compare({
    "nine reads": (blur[(12, 10), block], *arguments),
    "tile and halo": (blur_tile[(12, 10), block], *arguments),
})  # fmt: skip

# %% [markdown]
r"""
By **3.66** only, and the issue slots, the instructions that warps run, have grown by half.
Two things explain it. The lanes of one warp already shared sectors in each of their nine requests.
And the tile needs instructions of its own: index arithmetic, stores into shared memory, and nine reads from there.

The modelled times say the same in another way. At best, when the caches catch all repeated reads, both kernels take about as long.
At worst, when the caches catch nothing, the tile wins. Nine reads from nine threads nearby are easy for a cache.
Shared memory pays off more when a block uses each value many times, as in the matrix products of `t2_01_gemm_tiles`.
The column *conflicts* is new too: `t1_06_banks` is about nothing else.

## 11. Shared memory is scarce

How much may one block declare?
"""

# %%
guess = "?"  # kilobytes


@cuda.jit
def keep_too_much(out, a):
    s = cuda.shared.array((128, 128), np.float32)
    t = cuda.threadIdx.x
    s[t, 0] = a[t]
    out[t] = s[t, 0]


try:
    keep_too_much[1, 32](out, a)
except SimtError as error:
    print(error)

explain(blur_tile[(12, 10), block], *arguments, device="A100")

# %% [markdown]
r"""
49,152 bytes, that is **48 KB**, for arrays with a fixed size. Dynamic shared memory may be larger on newer GPUs, up to 163 KB on an A100 [1].

But what one block keeps, another one cannot have. A multiprocessor (SM) runs several blocks at the same time, as many as it has room for,
so that some can work while others wait for memory. Below the message, `explain` has asked the real compiler what our kernel needs, and worked out how many blocks fit on an A100.

Look at *static shared memory* and *occupancy*. 1,296 bytes a block are no burden: **8** blocks of 256 threads fill all 64 warps that the SM can hold.

An SM of the A100 has 164 KB of shared memory, and keeps 1 KB of it for itself for each block.
How many blocks of 256 threads fit if each declares 48 KB, and from which size on does shared memory decide?
Guess, run the cell, then turn the dials: fewer threads in a block, another GPU.
"""

# %%
guess = "?"  # blocks with 48 KB each

for kilobytes in (8, 16, 20, 32, 48):
    print(f"{kilobytes:2} KB: {occupancy('A100', 256, 32, kilobytes * 1024)}")
print("guess:", guess)

show_occupancy("A100", threads=256, registers=32, shared_bytes=48 * 1024)

# %% [markdown]
r"""
**3** blocks: 3 * 49 KB = 147 KB, and a fourth does not fit. Only 24 of 64 warps are there to do the work.
With 16 KB nothing is lost, with 20 KB one block is.
Whether that is too few is the question of `t1_10_occupancy`.

## What to remember

- `cuda.shared.array(SIZE, dtype)`: one array for each block. The size is a constant; or it is 0, and the launch says the bytes.
- Write, **barrier**, read. In a loop: fill, barrier, use, **barrier**.
- A race: the same place, at least one write, no order. RAW, WAR, WAW. Right values prove nothing; `sanitize` does not look at values.
- Within a warp `cuda.syncwarp()`, across warps `cuda.syncthreads()`.
- Every thread of the block has to reach a barrier. Guard the loads and stores, never the barrier.
- Shared memory does not start with zeros. What is read has to be written first.
- A tile of 16 x 16 with its halo: 324 reads instead of 2,304, 1.27 for each pixel. At most 48 KB a block with a fixed size.

**Next:** the lab, `t1_05_shared_memory_lab`, in your folder `mine/t1_kernels/`.

## Sources

1. NVIDIA, CUDA C++ Programming Guide: "Shared Memory", "Synchronization Functions", "Independent Thread Scheduling",
   and the table of technical specifications by compute capability (48 KB static, 163 KB for 8.0).
   <https://docs.nvidia.com/cuda/cuda-c-programming-guide/>
2. NVIDIA, Compute Sanitizer manual, "Racecheck": the example `block_error.cu` and its report.
   Our kernel does the same in Numba; it is not a copy.
   <https://docs.nvidia.com/compute-sanitizer/ComputeSanitizer/>
3. srush/GPU-Puzzles, issue 14 (2022). <https://github.com/srush/GPU-Puzzles/issues/14>
4. modular/mojo-gpu-puzzles, issue 9 (2025): the one-dimensional convolution over two blocks.
   <https://github.com/modular/mojo-gpu-puzzles/issues/9>
5. modular/mojo-gpu-puzzles, pull requests 53 and 115 (2025).
   <https://github.com/modular/mojo-gpu-puzzles/pull/53>
6. srush/GPU-Puzzles, issue 20 (2022). <https://github.com/srush/GPU-Puzzles/issues/20>
7. NVIDIA, Numba-CUDA user guide, "Memory management": shared memory and its size.
   <https://nvidia.github.io/numba-cuda/user/memory.html>
"""
