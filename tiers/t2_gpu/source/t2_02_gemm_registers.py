# %% [markdown]
r"""
# GEMM in registers: vector loads, double buffering

**A tiled kernel on a public ladder reaches 12.8 % of cuBLAS, and another one 93.7 %. Both keep the same tiles in shared memory. What does the second one do?**

It asks shared memory less often. At the end of this lesson you can

- say how often a kernel reads shared memory for one multiply-add, and which share of the peak that allows,
- give each thread a column, then a patch of results, held in registers,
- lay out a tile so that the compiler joins four loads into one, and check that it did,
- arrange the lanes of a warp so that a wide load needs fewer passes,
- fill the next tile while this one is in use, with one barrier a step, for odd and even numbers of tiles.

You need the lessons `t2_01_gemm_tiles` and `t1_10_occupancy`, and about 45 minutes. You do not need a GPU.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
Numbers are counted, compiled or modelled here, or quoted from a source. None is a measured time of ours.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from warpwise import compare, cuda, profile, sanitize
from warpwise.compiler import compile_kernel
from warpwise.hardware import Work, bound, device, occupancy
from warpwise.show import show_steps, table
from warpwise.show.dial import Dial, Dialled

gpu = device("RTX 3090")
zero = np.float32(0)


def product(m, n, k):
    """Random a and b, and an empty c."""
    rng = np.random.default_rng(seed=22)
    a, b = rng.random((m, k), dtype=np.float32), rng.random((k, n), dtype=np.float32)
    return np.zeros((m, n), np.float32), a, b, m, n, k


# %% [markdown]
r"""
## 1. Two reads for one multiply-add

The tiled kernel of `t2_01_gemm_tiles` reads `tile_a[ty, i]` and `tile_b[i, tx]` for each multiplication and addition.
Shared memory serves one pass a clock. An RTX 3090 multiplies and adds for four warps in that clock, an A100 for two. So it waits.

Now let a thread compute `p` results in one column. It reads one number of `b`, which serves all of them, and `p` numbers of `a`.
Or let it compute a *patch* of `p` x `q` results, also called a *register tile*. In both cases: reads over multiply-adds. How many for 1 x 1, 8 x 1, 4 x 4, 8 x 8?
"""

# %%
guesses = {"1 x 1": "?", "8 x 1": "?", "4 x 4": "?", "8 x 8": "?"}


def reads(p, q):
    """Numbers read from shared memory for one multiply-add of a thread with p x q results."""
    return (p + q) / (p * q)


print(guesses)
table(("results a thread", "reads a multiply-add", "of the peak, RTX 3090", "of the peak, A100"),
      [(f"{p} x {q}", f"{reads(p, q):g}", f"{min(1, 1 / 4 / reads(p, q)):.1%}",
        f"{min(1, 1 / 2 / reads(p, q)):.1%}") for p, q in ((1, 1), (8, 1), (4, 4), (8, 8), (16, 8))],
      "computed; at most, with one pass for each read")  # fmt: skip

# %% [markdown]
r"""
**2, 1.125, 0.5, 0.25.** A column saves less than half. A square patch is best, for the same reason as a square tile: its edge is short for its area.
With 8 x 8 results an RTX 3090 could just be busy all the time.

The numbers have to be somewhere: 64 sums in the registers of each thread. Let us climb slowly.

## 2. A column

A block of 64 x 8 threads computes 64 x 64 results: 8 in each thread, one below the other.
It walks along K in steps of 8. Its tiles have 64 x 8 and 8 x 64 numbers, 512 each, and it has 512 threads: each fetches one number of each tile.
The threads are renumbered for that: `t` is the thread's number in its block, and `t // 8`, `t % 8` is its place in the tile of `a`.
How many shared reads will the counter see for one multiply-add of a warp?
"""

# %%
guess = "?"  # requests to shared memory for one multiply-add of a warp


@cuda.jit
def column(c, a, b, m, n, k):
    tile_a = cuda.shared.array((64, 8), np.float32)
    tile_b = cuda.shared.array((8, 64), np.float32)
    sums = cuda.local.array(8, np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    t = ty * 64 + tx  # the thread's number in its block
    row0, col = cuda.blockIdx.y * 64, cuda.blockIdx.x * 64 + tx
    for i in range(8):
        sums[i] = zero
    for start in range(0, k, 8):
        y, x = t // 8, t % 8
        tile_a[y, x] = a[row0 + y, start + x] if row0 + y < m and start + x < k else zero
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else zero
        cuda.syncthreads()
        for p in range(8):
            right = tile_b[p, tx]  # one number for eight results
            for i in range(8):
                sums[i] += tile_a[ty * 8 + i, p] * right
        cuda.syncthreads()
    for i in range(8):
        if row0 + ty * 8 + i < m and col < n:
            c[row0 + ty * 8 + i, col] = sums[i]


args = product(128, 128, 128)
c, a, b = args[:3]
multiply_adds = 128**3 // 32  # of a warp
columns = profile(column[(2, 2), (64, 8)], *args)
print("right:", np.allclose(c, a @ b))
print("guess:", guess)
filled = columns.shared_stores.requests
print(f"reads: {columns.shared_loads.requests / multiply_adds:g} for a multiply-add")
print(f"to fill the tiles: {filled / multiply_adds:g}, conflicts: {columns.shared.bank_conflicts}")

# %% [markdown]
r"""
**1.125**, as computed, and 0.03125 to fill the tiles. `smsp__inst_executed_op_shared_ld.sum` counts these requests on a GPU.

`cuda.local.array(8, np.float32)` holds the eight sums. You know that local memory is slow memory.
Where will the compiler put them: in local memory, or in registers? Its instruction for a load from local memory is `LDL`.
"""

# %%
guess = "?"  # local memory or registers

compiled = compile_kernel(column, args, "sm_86")
names = {name for name, _ in compiled.load_bits}
print("guess:", guess)
print("loads and stores:", sorted(names), "  stack:", compiled.resources.stack, "bytes")
print("registers:", compiled.registers, "  spilled bytes:", compiled.spills)

# %% [markdown]
r"""
**Registers.** There is no `LDL`, no stack, nothing spilled.
All indices of `sums` are known when the loops over 8 have been *unrolled*, written out turn by turn. Then `sums[3]` is simply a variable.
This needs loops with a constant length and no index that depends on data. An index such as `sums[t % 8]` would send the whole array to local memory.

The simulator's counters read the source, and show requests to local memory here; `compiled` tells you that there are none.

## 3. A patch

Now 8 x 8 results for each thread. 16 x 16 threads compute 128 x 128 results.
Each thread has the rows `ty + 16 * i` and the columns `tx + 16 * j`. For each `p` it reads eight numbers of each tile into registers, and does 64 multiply-adds.

Each tile has 1,024 numbers and the block has 256 threads: four turns to fill it.
How many numbers does the block load from global memory for one result, with K = 128? How many shared reads for one multiply-add?
"""

# %%
guesses = {"loads per result": "?", "reads": "?"}


@cuda.jit
def patch(c, a, b, m, n, k):
    tile_a = cuda.shared.array((128, 8), np.float32)
    tile_b = cuda.shared.array((8, 128), np.float32)
    sums = cuda.local.array((8, 8), np.float32)
    left = cuda.local.array(8, np.float32)
    right = cuda.local.array(8, np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    t = ty * 16 + tx
    row0, col0 = cuda.blockIdx.y * 128, cuda.blockIdx.x * 128
    for i in range(8):
        for j in range(8):
            sums[i, j] = zero
    for start in range(0, k, 8):
        for turn in range(4):
            y, x = t // 8 + 32 * turn, t % 8
            tile_a[y, x] = a[row0 + y, start + x] if row0 + y < m and start + x < k else zero
            y, x = t // 128 + 2 * turn, t % 128
            tile_b[y, x] = b[start + y, col0 + x] if start + y < k and col0 + x < n else zero
        cuda.syncthreads()
        for p in range(8):
            for i in range(8):
                left[i] = tile_a[ty + 16 * i, p]
                right[i] = tile_b[p, tx + 16 * i]
            for i in range(8):
                for j in range(8):
                    sums[i, j] += left[i] * right[j]
        cuda.syncthreads()
    for i in range(8):
        for j in range(8):
            row, col = row0 + ty + 16 * i, col0 + tx + 16 * j
            if row < m and col < n:
                c[row, col] = sums[i, j]


patches = profile(patch[(1, 1), (16, 16)], *args)
compiled = compile_kernel(patch, args, "sm_86")
print("right:", np.allclose(c, a @ b))
print(guesses)
print(
    f"loads per result: {patches.loads.requests * 32 / c.size:g}, computed: {128 / 128 + 128 / 128:g}"
)
print(
    f"reads: {patches.shared_loads.requests / multiply_adds:g}, conflicts: {patches.shared.bank_conflicts}"
)
print(
    "registers:",
    compiled.registers,
    "  spilled bytes:",
    compiled.spills,
    "  shared:",
    compiled.shared_bytes,
)

# %% [markdown]
r"""
**2** loads per result, K / 128 + K / 128, where the 32 x 32 tiles of `t2_01_gemm_tiles` needed 8. And **0.25** reads. One patch saves on both levels.

The block has 256 threads and **8,192** bytes of shared memory, exactly what the published kernel of this shape has (BM = BN = 128, BK = 8, TM = TN = 8) [1].
The price is **127** registers. A multiprocessor has 65,536. What does that leave?
"""

# %%
guess = "?"  # warps on a multiprocessor of an RTX 3090, of 48

fits = occupancy("RTX 3090", 256, compiled.registers, compiled.shared_bytes)
print("guess:", guess)
print(f"{fits.warps} warps of 48, limited by {', '.join(fits.limiters)}")

# %% [markdown]
r"""
**16** of 48, a third. In `t1_10_occupancy` you saw that warps are a means: they fill the time in which others wait.
Here each thread has 64 sums that do not wait for each other. A multiply-add takes about 4 clocks, and four warps' worth can start in each clock of a multiprocessor:
16 multiply-adds in flight are enough for the arithmetic. One thread's patch alone has 64.

Turn the dials. Which shapes balance the pipes, and which ask for more registers than there are?
The registers are a *least* number: the patch, its two edges, and about 40 for addresses and counters. Compile to know the real one.
"""

# %%
guess = "?"  # does 16 x 16 fit into 255 registers a thread?


def shape(p, q, threads_along, gpu_name):
    """What a block of patches needs and saves, by its formulas."""
    side_m, side_n, threads = p * threads_along, q * threads_along, threads_along**2
    registers, shared = p * q + p + q + 40, 4 * 8 * (side_m + side_n)
    lanes = {"A100 40GB": 2}.get(gpu_name, 4)
    fits = occupancy(gpu_name, threads, registers, shared) if registers <= 255 else None
    head = ("block computes", "reads a multiply-add", "of the peak", "loads per result, K = 4096",
            "registers, at least", "warps on an SM")  # fmt: skip
    row = (f"{side_m} x {side_n}", f"{reads(p, q):.3g}", f"{min(1, 1 / lanes / reads(p, q)):.0%}",
           f"{4096 / side_m + 4096 / side_n:g}", str(registers),
           str(fits.warps) if fits else "too many registers")  # fmt: skip
    return table(head, [row], "modelled, for steps of 8 along K")._repr_mimebundle_()


print("guess:", guess)
Dialled(
    [
        Dial("p", (1, 2, 4, 8, 16), 8),
        Dial("q", (1, 2, 4, 8, 16), 8),
        Dial("threads_along", (8, 16), 16),
        Dial("gpu_name", ("RTX 3090", "A100 40GB", "H100 SXM"), "RTX 3090"),
    ],
    shape,
)

# %% [markdown]
r"""
No: 16 x 16 sums alone are 256 registers, and a thread can have 255. 8 x 8 is where float32 kernels usually end.

## 4. Four numbers in one load

16 reads for 64 multiply-adds, and the RTX 3090 can do 64 multiply-adds of a warp in 16 clocks: shared memory would have to be busy in *every* clock, and the tiles must be filled, too.
A load may be 128 bits wide: four float32 in one instruction. You cannot write that in Numba. But you can make it possible, and the compiler does it:
the four numbers must be neighbours, at an address that is a multiple of 16 bytes, and the compiler must be able to *see* that.

- **`b`** is easy: give a thread four neighbouring columns, and four more 64 columns away.
- **`a`** lies the wrong way round: for one `p` the numbers of eight rows are needed, and they are 8 numbers apart. So we store the tile of `a` transposed.
- **The compiler sees it** when the last index of the tile is the small constant loop: `tile_b[p, tx, i]` in an array of shape (8, 32, 4).
  A negative index counts from the end in Python, so Numba must ask for each index whether it is negative; for `tx * 4 + i` it asks four times, and four loads cannot be joined.

We write a factory with the number of groups in a row of `tile_a` left open: 32 are needed. What does storing the transposed tile cost, in wavefronts for each request?
And with 33?
"""

# %%
guesses = {"wavefronts of a store, 32": "?", "33": "?"}


def wide_kernel(groups):
    """A patch kernel for wide loads; rows of tile_a have `groups` groups of four numbers."""

    @cuda.jit
    def wide(c, a, b, m, n, k):
        tile_a = cuda.shared.array((8, groups, 4), np.float32)  # transposed
        tile_b = cuda.shared.array((8, 32, 4), np.float32)
        sums = cuda.local.array((8, 8), np.float32)
        left = cuda.local.array(8, np.float32)
        right = cuda.local.array(8, np.float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        t = ty * 16 + tx
        row0, col0 = cuda.blockIdx.y * 128, cuda.blockIdx.x * 128
        for i in range(8):
            for j in range(8):
                sums[i, j] = zero
        for start in range(0, k, 8):
            for turn in range(4):
                y, x = t // 8 + 32 * turn, t % 8
                inside = row0 + y < m and start + x < k
                tile_a[x, y // 4, y % 4] = a[row0 + y, start + x] if inside else zero
                y, x = t // 128 + 2 * turn, t % 128
                inside = start + y < k and col0 + x < n
                tile_b[y, x // 4, x % 4] = b[start + y, col0 + x] if inside else zero
            cuda.syncthreads()
            for p in range(8):
                for i in range(4):
                    left[i], left[i + 4] = tile_a[p, ty, i], tile_a[p, 16 + ty, i]
                    right[i], right[i + 4] = tile_b[p, tx, i], tile_b[p, 16 + tx, i]
                for i in range(8):
                    for j in range(8):
                        sums[i, j] += left[i] * right[j]
            cuda.syncthreads()
        for i in range(8):
            row = row0 + ty * 4 + i % 4 + i // 4 * 64
            for j in range(8):
                col = col0 + tx * 4 + j % 4 + j // 4 * 64
                if row < m and col < n:
                    c[row, col] = sums[i, j]

    return wide


print(guesses)
for groups in (32, 33):
    wide = wide_kernel(groups)
    counted = profile(wide[(1, 1), (16, 16)], *args)
    (fill,) = (line.shared_stores for line in counted.lines if "tile_a[x, y" in line.text)
    print(f"{groups} groups: right {np.allclose(c, a @ b)}, "
          f"{fill.wavefronts / fill.requests:g} wavefronts for a store into tile_a")  # fmt: skip
table(("kernel", "loads from shared memory, by bits", "registers"),
      [(kernel.__name__, ", ".join(f"{count} of {bits}" for (name, bits), count in sorted(code.load_bits.items()) if name == "LDS"), code.registers)
       for kernel, code in ((kernel, compile_kernel(kernel, args, "sm_86")) for kernel in (patch, wide))],
      "compiled for sm_86; both unroll one turn of p")  # fmt: skip

# %% [markdown]
r"""
**8** and **1**. Eight neighbouring lanes hold eight neighbours of a row of `a`, and must put them into eight rows of `tile_a`, 128 words apart: the same bank.
A 33rd group, never read, moves each row by four banks. It is the padding of `t1_06_banks`, in groups of four so that the rows still start at multiples of 16 bytes.

And the compiler has done what we hoped for: **4** loads of 128 bits instead of 16 of 32, with no more registers.
For global memory it does not: an array may start anywhere, so `LDG` stays at 32 bits. The copy in `t1_04_coalescing`, through a float64 view, is the way to 64 bits.
Here it matters little. For each tile a thread has 8 loads from global memory, 8 stores into shared memory, and 32 wide loads from it.

## 5. A warp's lanes

One instruction instead of four is not a quarter of the passes: the data have to come through. A pass carries at most 128 bytes.
The lanes of a warp ask for 16 different groups of `tile_b`, 256 bytes, and for 2 different groups of `tile_a`. Other arrangements of the same lanes ask for less.
In this picture, all results of a block, drawn by who owns them: the second arrangement makes each warp's part, its *warp tile*, squarer.
"""


# %%
def flat(lane, warp):
    """tx, ty of `wide`: 16 lanes along a row, two rows."""
    return lane % 16, 2 * warp + lane // 16


def square(lane, warp):
    """8 x 4 lanes; warps 2 x 4."""
    return warp % 2 * 8 + lane % 8, warp // 2 * 4 + lane // 8


def paired(lane, warp):
    """8 x 4 lanes too, numbered in pairs: neighbours in number lie below each other."""
    return warp % 2 * 8 + lane % 16 // 2, warp // 2 * 4 + lane // 16 * 2 + lane % 2


fig, axes = plt.subplots(1, 2, figsize=(8, 4))
for ax, place in zip(axes, (flat, square)):
    owner = np.zeros((128, 128), int)
    for warp in range(8):
        for lane in range(32):
            tx, ty = place(lane, warp)
            for i in range(8):
                for j in range(0, 8, 4):
                    row, col = ty * 4 + i % 4 + i // 4 * 64, tx * 4 + j // 4 * 64
                    owner[row, col : col + 4] = warp
    ax.imshow(owner == 5, cmap="Blues", vmin=0, vmax=1.6)
    rows, cols = (owner == 5).any(axis=1).sum(), (owner == 5).any(axis=0).sum()
    ax.set(title=f"{place.__name__}: warp 5 reads {rows} + {cols} numbers")
fig.tight_layout()
plt.show()

# %% [markdown]
r"""
**16 + 128** numbers for each `p`, or **32 + 64**: a warp tile has a short edge, as a patch has, and as a block has.

How many passes does that save? A wide load is served for 8 lanes at a time, so 4 passes at least. Passes *merge in pairs*, into 2, if each lane asks for the same 16 bytes as its neighbour in number,
or each for the same as the lane two further on. No document of NVIDIA says so; two authors found it with Nsight Compute on Turing and Ampere [3], and our counters follow them.
We count it with elements of 16 bytes in place of four float32, for the two loads of one `tile_a` group and one `tile_b` group. Which arrangement wins?
"""

# %%
guesses = {"flat": "?", "square": "?", "paired": "?"}  # passes for one load of each tile


def two_loads(kind):
    """One warp reads 16 bytes of a and 16 bytes of b in each lane."""

    @cuda.jit
    def load(out):
        tile = cuda.shared.array((2, 32), np.complex128)  # elements of 16 bytes
        lane = cuda.threadIdx.x
        tile[0, lane], tile[1, lane] = 0, 0
        cuda.syncthreads()
        if kind == 0:
            tx, ty = lane % 16, lane // 16
        elif kind == 1:
            tx, ty = lane % 8, lane // 8
        else:
            tx, ty = lane % 16 // 2, lane // 16 * 2 + lane % 2
        out[lane] = tile[0, ty].real + tile[1, tx].real

    return load


print(guesses)
passes = {}
for kind, place in enumerate((flat, square, paired)):
    counted = profile(two_loads(kind)[1, 32], np.zeros(32))
    passes[place.__name__] = 2 * counted.shared_loads.wavefronts  # two loads of each tile for a p
    print(f"{place.__name__:7} {counted.shared_loads.wavefronts} passes, "
          f"{passes[place.__name__]} for 64 multiply-adds")  # fmt: skip

# %% [markdown]
r"""
**6, 6 and 4.** The square warp tile alone does not help, since no two neighbouring lanes ask for the same. Numbered in pairs it does: lanes 0 and 1 share their columns, lanes 0 and 2 their rows. Both loads merge.
So 64 multiply-adds of a warp need 16 passes in `patch`, 12 in `wide`, and **8** with paired lanes. Arithmetic takes 16 clocks on an RTX 3090: shared memory now has time to spare.

## 6. Two sets of tiles

One thing is left: fill, barrier, use, barrier. Nobody multiplies while the tiles are being filled.
*Double buffering* keeps two sets of tiles. While one is used, the numbers for the other are on their way, in registers.
After the multiplications they are stored in the other set, and one barrier ends the step. How many barriers for K = 10 in steps of 2? And is one a step enough?
"""

# %%
guesses = {"barriers": "?", "findings": "?"}


@cuda.jit
def two_sets(c, a, b, m, n, k):
    tile_a = cuda.shared.array((2, 2, 2), np.float32)
    tile_b = cuda.shared.array((2, 2, 2), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = zero
    tile_a[0, ty, tx] = a[row, tx] if row < m and tx < k else zero
    tile_b[0, ty, tx] = b[ty, col] if ty < k and col < n else zero
    cuda.syncthreads()
    now = 0
    for start in range(2, k + 2, 2):  # where the next tiles begin
        next_a = a[row, start + tx] if row < m and start + tx < k else zero
        next_b = b[start + ty, col] if start + ty < k and col < n else zero
        for i in range(2):
            total += tile_a[now, ty, i] * tile_b[now, i, tx]
        now = 1 - now
        tile_a[now, ty, tx] = next_a
        tile_b[now, ty, tx] = next_b
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


print(guesses)
odd = product(4, 4, 10)
counted = profile(two_sets[(2, 2), (2, 2)], *odd)
print(
    "right:", np.allclose(odd[0], odd[1] @ odd[2]), "  barriers of a block:", counted.barriers // 4
)
print("findings:", len(sanitize(two_sets[(2, 2), (2, 2)], *odd)))
show_steps(two_sets[(2, 2), (2, 2)], *product(4, 4, 4), block=0)

# %% [markdown]
r"""
**6**: ceil(K / 2) + 1, instead of 10. One is enough: between two barriers some threads read set `now`, others write the other set. Nobody writes what somebody may still read.
The picture shows two tiles of K = 4: the loads of the next numbers stand before the reads of this set, their stores after.

The last turn fetches a tile that does not exist. Its guards turn it into zeros, and nobody uses them.
Many published versions write two turns into one loop, one for each set, and treat the last tile apart. That invites a mistake:
a public collection of kernels had a GEMM that was wrong for every *odd* number of tiles. All its benchmark sizes were even [4]. Let us make that mistake.
"""

# %%
guesses = {4: "?", 6: "?", 8: "?", 10: "?"}  # right?


@cuda.jit
def in_pairs(c, a, b, m, n, k):
    tile_a = cuda.shared.array((2, 2, 2), np.float32)
    tile_b = cuda.shared.array((2, 2, 2), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = zero
    for start in range(0, k // 4 * 4, 4):  # two tiles a turn
        for half in range(2):
            x, y = start + 2 * half + tx, start + 2 * half + ty
            tile_a[half, ty, tx] = a[row, x] if row < m and x < k else zero
            tile_b[half, ty, tx] = b[y, col] if y < k and col < n else zero
        cuda.syncthreads()
        for half in range(2):
            for i in range(2):
                total += tile_a[half, ty, i] * tile_b[half, i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


print(guesses)
for k in guesses:
    one = product(4, 4, k)
    in_pairs[(2, 2), (2, 2)](*one)
    print(f"K = {k:2}: {k // 2} tiles, right: {np.allclose(one[0], one[1] @ one[2])}, "
          f"findings: {len(sanitize(in_pairs[(2, 2), (2, 2)], *one))}")  # fmt: skip

# %% [markdown]
r"""
Wrong for 3 and 5 tiles, and no tool complains. So test one tile, two, three, and sizes that end inside a tile.

## 7. All of it together

The course's reference kernel: patches of 8 x 8, wide loads, paired lanes, double buffering. It is long, but each part you have seen.
The places of the lanes are written with `&` and `>>`: the compiler sees that they are not negative, and its loads stay wide.
How many registers will it need, with the eight numbers that are on their way? And on which GPUs may it spill?
"""

# %%
guesses = {"registers": "?", "spills on": "?"}


@cuda.jit
def registers_gemm(c, a, b, m, n, k):
    tile_a = cuda.shared.array((2, 8, 33, 4), np.float32)
    tile_b = cuda.shared.array((2, 8, 32, 4), np.float32)
    sums = cuda.local.array((8, 8), np.float32)
    left = cuda.local.array(8, np.float32)
    right = cuda.local.array(8, np.float32)
    next_a = cuda.local.array(4, np.float32)
    next_b = cuda.local.array(4, np.float32)
    t = cuda.threadIdx.x
    lane, warp = t & 31, t >> 5
    ty = (warp >> 1) << 2 | (lane >> 4) << 1 | lane & 1  # paired lanes
    tx = (warp & 1) << 3 | (lane >> 1) & 7
    row0, col0 = cuda.blockIdx.y * 128, cuda.blockIdx.x * 128
    for i in range(8):
        for j in range(8):
            sums[i, j] = zero
    for turn in range(4):
        y, x = t // 8 + 32 * turn, t % 8
        tile_a[0, x, y // 4, y % 4] = a[row0 + y, x] if row0 + y < m and x < k else zero
        y, x = t // 128 + 2 * turn, t % 128
        tile_b[0, y, x // 4, x % 4] = b[y, col0 + x] if y < k and col0 + x < n else zero
    cuda.syncthreads()
    now = 0
    for start in range(8, k + 8, 8):  # where the next tiles begin
        for turn in range(4):
            y, x = row0 + t // 8 + 32 * turn, start + t % 8
            next_a[turn] = a[y, x] if y < m and x < k else zero
            y, x = start + t // 128 + 2 * turn, col0 + t % 128
            next_b[turn] = b[y, x] if y < k and x < n else zero
        for p in range(8):
            for i in range(4):
                left[i], left[i + 4] = tile_a[now, p, ty, i], tile_a[now, p, 16 + ty, i]
                right[i], right[i + 4] = tile_b[now, p, tx, i], tile_b[now, p, 16 + tx, i]
            for i in range(8):
                for j in range(8):
                    sums[i, j] += left[i] * right[j]
        now = 1 - now
        for turn in range(4):
            y, x = t // 8 + 32 * turn, t % 8
            tile_a[now, x, y // 4, y % 4] = next_a[turn]
            y, x = t // 128 + 2 * turn, t % 128
            tile_b[now, y, x // 4, x % 4] = next_b[turn]
        cuda.syncthreads()
    for i in range(8):
        row = row0 + ty * 4 + i % 4 + i // 4 * 64
        for j in range(8):
            col = col0 + tx * 4 + j % 4 + j // 4 * 64
            if row < m and col < n:
                c[row, col] = sums[i, j]


registers_gemm[(1, 1), 256](*args)
print("right:", np.allclose(c, a @ b))
print(guesses)
rows = []
for arch in ("sm_75", "sm_80", "sm_86", "sm_90", "sm_120"):
    code = compile_kernel(registers_gemm, args, arch)
    loads = {bits: count for (name, bits), count in code.load_bits.items() if name == "LDS"}
    rows.append((arch, code.registers, code.spills, loads, code.shared_bytes, code.float64))
table(
    ("for", "registers", "spilled bytes", "LDS, by bits", "shared bytes", "float64"),
    rows,
    "compiled",
)

# %% [markdown]
r"""
**114 to 126** registers, no spill, no float64, and nothing but wide loads from shared memory. At 128 registers or fewer two blocks fit on a multiprocessor: 16 warps.

Tails next: each rung with a single row, a single column, one term, one tile, one more, an odd number of tiles.
"""

# %%
rungs = {
    "column": (column, (64, 8), 64),
    "patch": (patch, (16, 16), 128),
    "wide": (wide, (16, 16), 128),
    "registers_gemm": (registers_gemm, 256, 128),
}
sizes = [(1, 200, 37), (150, 1, 9), (5, 3, 1), (128, 128, 8), (129, 131, 17), (127, 65, 24)]
for name, (kernel, block, side) in rungs.items():
    right = []
    for m, n, k in sizes:
        one = product(m, n, k)
        kernel[(-(-n // side), -(-m // side)), block](*one)
        right.append(np.allclose(one[0], one[1] @ one[2]))
    print(f"{name:15} {right}")

# %% [markdown]
r"""
## 8. The ladder

First what was counted and compiled, side by side, on one block of 128 x 128 results.
"""

# %%
compare(
    {name: (kernel[(128 // side, 128 // side), block], *args) for name, (kernel, block, side) in rungs.items()},
    device="RTX 3090",
)  # fmt: skip

# %% [markdown]
r"""
The conflicts of `wide` are those of its source: four reads of 32 bits, whose lanes are 16 bytes apart. The machine code has none of these reads.
Its sectors are more, for the same reason, in the stores of `c`: they are not joined, and happen once for each result, not once for each step.
So for the model we take the passes of section 5 where the compiler joined the loads. A single block leaves most of the GPU idle. As in `t2_01_gemm_tiles`, we work out 4,096 by formula, and check the formulas against the counters first.
In which order will the model put the rungs, and what limits the last ones?
"""

# %%
guesses = {"order": "?", "limit of the last": "?"}


def work(name, n):
    """The work of a rung on n x n matrices; n a multiple of 128."""
    side = 64 if name == "column" else 128
    blocks, steps = (n // side) ** 2, n // 8
    requests = 2 * side * 8 // 32  # to fill the tiles of one step
    shared = {"column": 9 / 8, "patch": 16 / 64, "wide": passes["flat"] / 64,
              "registers_gemm": passes["paired"] / 64}[name]  # fmt: skip
    stored = 16 if name in ("wide", "registers_gemm") else 4  # sectors of one request
    in_block = blocks * (2 * side * n + side * side)
    return Work(
        flops={"fp32": 2 * n**3},
        unique_bytes=3 * 4 * n * n,
        unique_bytes_block=4 * in_block,
        sectors=blocks * steps * requests * 4 + n * n // 32 * stored,
        passes=blocks * steps * requests + n * n // 32 * stored // 4,
        shared_wavefronts=n**3 / 32 * shared + blocks * steps * requests,
        blocks=blocks,
    )


for name, (kernel, block, side) in rungs.items():
    counted = profile(kernel[(128 // side, 128 // side), block], *args)
    ours, sectors = work(name, 128), counted.loads.sectors + counted.stores.sectors
    more = sectors - ours.sectors
    kept = (
        ""
        if name in ("wide", "registers_gemm")
        else f", shared {ours.shared_wavefronts:,.0f} = {counted.shared.wavefronts:,}"
    )
    print(f"{name:15} sectors {ours.sectors:,} = {sectors:,}{kept}")

# %%
published = {
    "naive": 309.0, "coalesced": 1986.5, "tile in shared memory": 2980.3, "1-D patch": 8474.7,
    "2-D patch": 15971.7, "no conflicts, by order": 16213.4, "no conflicts, by offset": 16459.2,
    "double buffering": 17278.3, "vector loads": 18237.3, "best sizes": 19721.0, "warp tile": 21779.3, "cuBLAS": 23249.6,
}  # fmt: skip
same = {
    "column": "1-D patch",
    "patch": "2-D patch",
    "wide": "vector loads",
    "registers_gemm": "warp tile",
}
flops, best = 2 * 4096**3, published["cuBLAS"]
print(guesses)
rows = []
for name in rungs:
    time = bound(work(name, 4096), "RTX 3090")
    rows.append((name, f"{flops / time.high_ms / 1e6:,.0f} to {flops / time.low_ms / 1e6:,.0f}", f"{flops / time.middle_ms / 1e6:,.0f}",
                 time.limiter.name, same[name], f"{published[same[name]]:,.1f}", f"{100 * published[same[name]] / best:.1f}"))  # fmt: skip
table(("rung", "modelled, GFLOP/s", "middle", "bound by", "rung of [1]", "A6000 [1]", "% of cuBLAS"), rows, "modelled for an RTX 3090; last columns: measured by the source, % computed")  # fmt: skip

# %%
shares = {name: round(100 * rate / best, 1) for name, rate in published.items()}
print("% of cuBLAS:", ", ".join(f"{name} {share}" for name, share in shares.items()))
for arch in ("sm_86", "sm_120"):
    code = compile_kernel(column, args, arch)
    loads = {bits: count for (name, bits), count in sorted(code.load_bits.items()) if name == "LDS"}
    print(f"column for {arch}: loads from shared memory by bits {loads}")

# %% [markdown]
r"""
The middles have the published order, **5,608, 17,923, 19,543, 20,325**, after the 217, 1,163 and 3,159 of `t2_01_gemm_tiles`.
`column` and `patch` are bound by load/store, the last two by fp32: arithmetic. That was the goal.

What the model does not say:

- **8,474.7 lies above the interval of `column`,** and so do the 8,910 of a similar kernel on an RTX 3090 [5]. The model takes nine passes for eight multiply-adds, and so does our code for sm_86.
  But neighbours along `p` can be joined, too: for sm_120 our compiler made 16 loads of 128 bits of them. Then the cap is higher.
- **The column of percentages is not monotonous.** All eleven agree with the ones that [1] prints. Double buffering has 74.3 %, less than the 78.4 % of the kernel without it.
  Our model has no waiting in it, and would give both the same. On a GPU, other blocks often fill the gaps, and the second set costs registers. Measure.
- **The two rungs "no conflicts" are slower than the 2-D patch with vector loads.** A reader pointed out that the conflicts are in the stores into the transposed tile of `a`, as you counted in section 4, while these kernels change the tile of `b` [2].
- Indices take issue slots, too. Numba computes them in int64.

**Our target** for `registers_gemm` is more than 90 % of cuBLAS in float32 for large matrices, what the best hand-written kernel of [1] reaches.
It is a target, and has not been measured yet. With a GPU, `compare` adds the measured time to its rows, and `make gpu-test` writes this kernel's time beside the library's into a report.

## What to remember

- A thread with p x q results reads (p + q) / (p q) numbers for a multiply-add: 2, then 1.125, then 0.25.
- Sums in `cuda.local.array` with constant indices are registers. Compile, and look for `LDL` and spills.
- A block of P x Q results loads K / P + K / Q numbers for each: a larger patch is a larger block, too.
- Four neighbours in the last index of a tile become one load of 128 bits. A transposed tile needs padding where it is filled.
- The machine code tells what the counters of the source cannot: 4 loads where 16 are written.
- A warp tile is nearly square, and its lanes are numbered in pairs: 12 passes become 8.
- Two sets of tiles need one barrier a step. Test odd numbers of tiles, a single one, and M = 1.

**Next:** the lab, `t2_02_gemm_registers_lab`, in your folder `mine/t2_gpu/`.

## Sources

1. Simon Boehm, SGEMM_CUDA, README and kernels 4 to 11 (2023): RTX A6000, 4096 x 4096, float32.
   <https://github.com/siboehm/SGEMM_CUDA>
2. SGEMM_CUDA, issue 8: the kernels without bank conflicts change the wrong tile.
   <https://github.com/siboehm/SGEMM_CUDA/issues/8>
3. Wide loads from shared memory, measured with Nsight Compute on Turing and A100 (in Chinese).
   <https://zhuanlan.zhihu.com/p/690052715>
4. xlite-dev/LeetCUDA, pull request 514: a double-buffered GEMM whose tail is wrong when the number of tiles is odd.
   <https://github.com/xlite-dev/LeetCUDA/pull/514>
5. Lei Mao, CUDA-GEMM-Optimization, README: float32 on an RTX 3090, version 03.
   <https://github.com/leimao/CUDA-GEMM-Optimization>
6. NVIDIA, CUDA C++ Best Practices Guide, "Arithmetic Instructions": results per clock and multiprocessor.
   <https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/>
"""
