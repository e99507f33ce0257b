# %% [markdown]
r"""
# GEMM in tiles: the same product, three times

**Three kernels do the same multiplications. On one GPU they reached 309, 1,987 and 2,980 GFLOP/s. What is the difference?**

Only the order in which numbers are fetched, and by whom. At the end of this lesson you can

- bound a matrix product of any size before you write it,
- see in the index of a load whether its requests are wide or narrow,
- let a block keep tiles of both matrices, and count what that saves: loads per result fall from 2 K to 2 K / T,
- handle sizes that no tile divides, a single row, and a product that fits into one tile,
- say which roof is left when the global loads are gone.

You need the lessons `t1_05_shared_memory` and `t1_11_roofline`, and about 40 minutes. You do not need a GPU.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
Numbers are counted or modelled here, or quoted from a source. None is a measured time of ours.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from warpwise import compare, cuda, profile, sanitize
from warpwise.compiler import compile_kernel
from warpwise.hardware import Work, bound, device, occupancy
from warpwise.observe import Census
from warpwise.show import show_steps, table
from warpwise.show.dial import Dial, Dialled
from warpwise.simt import run

# %% [markdown]
r"""
## 1. The bound first

*GEMM* is the name of the product of two matrices in every library: **ge**neral **m**atrix **m**ultiply.
`a` has M rows and K columns, `b` has K rows and N columns, and

    c[row, col] = sum over k of  a[row, k] * b[k, col]

Each of the M * N results takes K multiplications and K additions. All three matrices pass through the memory at least once.
For square float32 matrices of 4,096: how many operations, and how many bytes at least? Which of the two takes an RTX 3090 longer?
"""

# %%
guesses = {"operations": "?", "bytes": "?", "bound by": "?"}


def least(m, n, k):
    """Operations and compulsory bytes of a float32 product."""
    return 2 * m * n * k, 4 * (m * k + k * n + m * n)


gpu = device("RTX 3090")
flops, moved = least(4096, 4096, 4096)
print(guesses)
print(
    f"{flops / 1e9:.2f} G operations, {moved / 1e6:.1f} MB, {flops / moved:.0f} operations a byte"
)
print(f"arithmetic: {flops / gpu.peak('fp32') / 1e9:.2f} ms at {gpu.peak('fp32'):g} TFLOP/s")
print(f"DRAM:       {moved / gpu.dram_gbs.value / 1e6:.2f} ms at {gpu.dram_gbs.value:g} GB/s")

# %% [markdown]
r"""
**137.44** G operations and **201.3** MB. Arithmetic takes 18 times as long as the DRAM has to. So a good GEMM is bound by arithmetic.

Now a public ladder of such kernels. Simon Boehm wrote them in CUDA C++ and timed them on an RTX A6000, with matrices of this size [1].
NVIDIA's own library, cuBLAS, is the last row. The third column is ours: it must agree with the percentages that he prints, 1.3, 8.5 and 12.8.
"""

# %%
published = {
    "naive": 309.0,
    "coalesced": 1986.5,
    "tile in shared memory": 2980.3,
    "cuBLAS": 23249.6,
}
table(("kernel", "GFLOP/s, printed in [1]", "% of cuBLAS", "ms for 137.44 G operations"),
      [(name, f"{rate:,.1f}", f"{100 * rate / published['cuBLAS']:.1f}", f"{flops / rate / 1e6:.1f}")
       for name, rate in published.items()], "measured on an RTX A6000 by [1]; last columns computed")  # fmt: skip

# %% [markdown]
r"""
All digits agree. The naive kernel needs 445 ms for what cuBLAS does in 6.
This lesson climbs the first three rungs. The others are in `t2_02_gemm_registers`.

## 2. Naive: one thread, one result

The first kernel gives each thread one result. `cuda.grid(2)` has two numbers, and there are two: row and column.
How many numbers does a thread load for its result? And how many sectors of 32 bytes does a warp move for *one* load of `a`, and for one of `b`?
"""

# %%
guesses = {"loads per result": "?", "sectors, a": "?", "sectors, b": "?"}


@cuda.jit
def naive(c, a, b, m, n, k):
    row, col = cuda.grid(2)
    if row < m and col < n:
        total = np.float32(0)
        for i in range(k):
            total += a[row, i] * b[i, col]
        c[row, col] = total


def product(m, n, k):
    """Random a and b, and an empty c."""
    rng = np.random.default_rng(seed=21)
    a, b = rng.random((m, k), dtype=np.float32), rng.random((k, n), dtype=np.float32)
    return np.zeros((m, n), np.float32), a, b, m, n, k


args = product(256, 256, 256)
c, a, b = args[:3]
census = Census()
report = profile(naive[(8, 8), (32, 32)], *args)
run(naive, (8, 8), (32, 32), args, observers=[census])
loaded = census.reads["a"].sum() + census.reads["b"].sum()

print("right:", np.allclose(c, a @ b))
print(guesses)
print(f"loads per result: {loaded / c.size:.0f}")
print(
    f"sectors of one load of a and one of b: {report.loads.sectors / (report.loads.requests / 2):.0f}"
)
report

# %% [markdown]
r"""
**512** numbers, 2 K, for one result. A load of `a` and one of `b` move **33** sectors together: **32** for `a` and **1** for `b`.

The reason stands in one line: `row, col = cuda.grid(2)`. The first number that `cuda.grid` gives is x, and x changes from lane to lane.
So the 32 lanes of a warp have 32 different rows. `a[row, i]` lies in 32 rows of memory, 1,024 bytes apart: 32 sectors for 128 bytes.
`b[i, col]` is the same number for all lanes: one sector, sent to all.

The report shows the line with its cost. Nsight Compute counts `l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum` and `l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum`.

## 3. Coalesced: two names change places

x along a row, as always. We exchange two names, and nothing else.
How many sectors for one load of `a` and one of `b` now? How many loads per result?
"""

# %%
guesses = {"sectors, a": "?", "sectors, b": "?", "loads per result": "?"}


@cuda.jit
def coalesced(c, a, b, m, n, k):
    col, row = cuda.grid(2)  # x is the column
    if row < m and col < n:
        total = np.float32(0)
        for i in range(k):
            total += a[row, i] * b[i, col]
        c[row, col] = total


better = profile(coalesced[(8, 8), (32, 32)], *args)
census = Census()
run(coalesced, (8, 8), (32, 32), args, observers=[census])
loaded = census.reads["a"].sum() + census.reads["b"].sum()

print("right:", np.allclose(c, a @ b))
print(guesses)
print(f"loads per result: {loaded / c.size:.0f}")
print(
    f"sectors of one load of a and one of b: {better.loads.sectors / (better.loads.requests / 2):.0f}"
)
print(
    f"sectors loaded: {report.loads.sectors:,} and {better.loads.sectors:,}, {report.loads.sectors / better.loads.sectors:.1f} times fewer"
)
print(f"published: {published['coalesced'] / published['naive']:.2f} times faster")

# %% [markdown]
r"""
**5** sectors: `a` is now the number that all lanes share, 1 sector, and `b` has 32 neighbours, 4 sectors.
That is **6.6** times fewer. The published kernel became 6.43 times faster. We did not predict that time; but it is no accident that the two are close.

The loads per result have not changed: still 2 K. The threads ask for the same numbers as before, in better company.

## 4. Who asks for the same number?

Take one block of T x T results. It needs T rows of `a` and T columns of `b`.
We run one block only, of 8 x 8 threads, in the middle of a product with M = 24, N = 40 and K = 16. How often will an element be read that is read at all?
"""

# %%
guess = "?"  # reads of one element, by one block


@cuda.jit
def one_block(c, a, b, first_row, first_col, k):
    col, row = first_col + cuda.threadIdx.x, first_row + cuda.threadIdx.y
    total = np.float32(0)
    for i in range(k):
        total += a[row, i] * b[i, col]
    c[row, col] = total


small = product(24, 40, 16)
census = Census()
run(one_block, 1, (8, 8), [*small[:3], 8, 16, 16], observers=[census])
reads_a, reads_b, writes_c = census.reads["a"], census.reads["b"], census.writes["c"]
print("guess:", guess, "   reads of an element:", np.unique(reads_a), np.unique(reads_b))
different = np.count_nonzero(reads_a) + np.count_nonzero(reads_b)
print(f"different numbers: {different} for {writes_c.sum()} results")

fig, axes = plt.subplots(2, 2, figsize=(6.5, 5.2), width_ratios=(16, 40), height_ratios=(16, 24))
axes[0, 0].axis("off")
for ax, counted, name in (
    (axes[0, 1], reads_b, "b"),
    (axes[1, 0], reads_a, "a"),
    (axes[1, 1], writes_c, "c"),
):
    ax.imshow(counted > 0, cmap="Blues", vmin=0, vmax=1.6, aspect="auto")
    ax.set(title=f"{name}: touched by one block")
fig.tight_layout()
plt.show()

# %% [markdown]
r"""
**8** times: each of the T threads in a row of the block reads the same numbers of `a`, and each of the T threads in a column the same of `b`.
The block asks 2 * 8 * 8 * 16 = 2,048 times for **256** different numbers. If it fetched each of them once, that would be

    2 T K numbers for T * T results:   2 K / T per result

instead of 2 K. With T = 32 that is 32 times fewer. Shared memory is the place to keep them.

But not all at once: with K = 4,096 the rows and columns of a block of 32 x 32 are 1 MB, and a block may declare 48 KB.
So the block walks along K in steps of T: it takes a *tile* of `a` and a tile of `b`, uses them up, and takes the next two.

## 5. The tile

You know the loop from `t1_05_shared_memory`: **fill, barrier, use, barrier**.
Each thread carries one number of each tile. Where the matrix has ended, it stores a zero: a zero adds nothing to a sum.
Which element of `a` does thread (tx, ty) fetch, and which one of `b`? Read the two indices: is each load coalesced?
"""

# %%
guesses = {"load of a": "?", "load of b": "?"}  # coalesced or not


def tile_kernel(T):
    """The tiled kernel for blocks of T x T threads."""

    @cuda.jit
    def tiled(c, a, b, m, n, k):
        tile_a = cuda.shared.array((T, T), np.float32)
        tile_b = cuda.shared.array((T, T), np.float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        col, row = cuda.grid(2)
        total = np.float32(0)
        for start in range(0, k, T):
            tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < k else np.float32(0)
            tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else np.float32(0)
            cuda.syncthreads()  # both tiles are full
            for i in range(T):
                total += tile_a[ty, i] * tile_b[i, tx]
            cuda.syncthreads()  # nobody needs them any more
        if row < m and col < n:
            c[row, col] = total

    return tiled


tiled = tile_kernel(32)
tiles = profile(tiled[(8, 8), (32, 32)], *args)
print("right:", np.allclose(c, a @ b))
print(guesses)
print(f"sectors of one load: {tiles.loads.sectors / tiles.loads.requests:.0f}")
show_steps(tile_kernel(2)[(2, 2), (2, 2)], *product(4, 4, 4), block=1)

# %% [markdown]
r"""
Both are coalesced: tx stands in the last index of `a` and, inside col, in the last index of `b`. **4** sectors for each load of 32 numbers.
In the lines that fill, tx is a column of the tile, and in the lines that use, `tile_a` is walked along i. Each thread uses numbers that others have fetched.

The picture shows block 1 of a product of 4 x 4 with tiles of 2 x 2, step by step. Two tiles of each matrix, so two turns: **four barriers**.

How many numbers does a block load for one result? Take T = 8, 16 and 32.
"""

# %%
guesses = {8: "?", 16: "?", 32: "?"}  # loads per result, K = 256

rows = []
for T in (8, 16, 32):
    kernel, launch = tile_kernel(T), ((256 // T, 256 // T), (T, T))
    census = Census()
    run(kernel, *launch, args, observers=[census])
    loaded = census.reads["a"].sum() + census.reads["b"].sum()
    counted = profile(kernel[launch], *args)
    rows.append((f"{T} x {T}", f"{loaded / c.size:g}", f"{2 * 256 / T:g}", f"{2 * 4 * T * T:,}",
                 f"{counted.barriers // (256 // T) ** 2}", f"{2 * 256 // T}"))  # fmt: skip
print("guesses:", guesses)
head = ("tile", "loads per result", "2 K / T", "shared bytes a block", "barriers a block", "2 ceil(K / T)")  # fmt: skip
table(head, rows, "counted; shared bytes, 2 K / T and 2 ceil(K / T) computed")

# %% [markdown]
r"""
**64, 32 and 16**: 2 K / T, exactly. The barriers of a block are the same number: two for each step along K.
The shared bytes are two tiles of T * T * 4 bytes.

Turn the dials: what do a larger tile and another device change? A block has at most 1,024 threads, so with one result a thread T ends at 32.
"""

# %%
guess = "?"  # does a larger tile cost occupancy on an A100?


def plan(tile, size, gpu):
    """What the tiled kernel needs and saves, by its formulas."""
    shared = 2 * 4 * tile * tile
    blocks = (-(-size // tile)) ** 2
    fits = occupancy(gpu, tile * tile, 32, shared)
    spare = 1 - (size / (tile * -(-size // tile))) ** 2
    head = ("loads per result", "loaded in all", "blocks", "shared bytes a block",
            "warps on an SM", "threads without a result")  # fmt: skip
    row = (f"{2 * size / tile:.0f}", f"{8 * size**3 / tile / 1e6:,.0f} MB", f"{blocks:,}",
           f"{shared:,}", str(fits.warps), f"{spare:.1%}")  # fmt: skip
    return table(head, [row], "modelled")._repr_mimebundle_()


print("guess:", guess)
Dialled(
    [
        Dial("tile", (4, 8, 16, 32), 32),
        Dial("size", (31, 33, 1000, 1024, 4096), 4096),
        Dial("gpu", ("A100 40GB", "RTX 3090", "H100"), "A100 40GB"),
    ],
    plan,
)

# %% [markdown]
r"""
No. 8,192 bytes a block are no burden, and all 64 warps of an A100's multiprocessor are filled.
On an RTX 3090 it is different: its multiprocessors hold 48 warps, a block of 1,024 threads has 32, and a second one does not fit.

At 4,096 and T = 32 the block tiles load 17 GB in all. That is still far above the 201.3 MB of section 1: each element of `a` is fetched by each of the N / T blocks in its row.
Most of these come from the cache L2.

## 6. Tails: the zeros that you must store

K = 40 and T = 32: the second tile has 8 columns, and 24 that do not exist. What if we only guard the loads, and leave the rest of the tile as it is?
"""

# %%
guesses = {"right?": "?", "does the sanitizer find it?": "?"}


@cuda.jit
def tail_left(c, a, b, m, n, k):
    tile_a = cuda.shared.array((32, 32), np.float32)
    tile_b = cuda.shared.array((32, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, k, 32):
        if row < m and start + tx < k:
            tile_a[ty, tx] = a[row, start + tx]
        if start + ty < k and col < n:
            tile_b[ty, tx] = b[start + ty, col]
        cuda.syncthreads()
        for i in range(32):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


print(guesses)
for k in (64, 40, 20):
    tail = product(32, 32, k)
    tail_left[(1, 1), (32, 32)](*tail)
    c0, a0, b0 = tail[:3]
    wrong = np.count_nonzero(~np.isclose(c0, a0 @ b0))
    print(
        f"K = {k}: {wrong:4} of 1024 wrong, findings: {len(sanitize(tail_left[(1, 1), (32, 32)], *tail))}"
    )

# %%
tail = product(32, 32, 40)
tail_left[(1, 1), (32, 32)](*tail)
c0, a0, b0 = tail[:3]
again = a0[:, 8:32] @ b0[8:32]  # columns 8 to 31 of the first tiles
print("too much by the first tile's columns 8 to 31:", np.allclose(c0 - a0 @ b0, again, rtol=1e-3))

# %% [markdown]
r"""
With K = 64 all is well. With K = 40 **every result is wrong, and the sanitizer is silent**: columns 8 to 31 still hold the numbers of the *first* tiles.
They were written, properly, with a barrier. They are just old. The sum counts them a second time, as the last cell shows.
With K = 20 there is only one tile. Then these places have never been written, and the sanitizer says so.

So a test with multiples of the tile tells you nothing, and a clean sanitizer is not enough. Check an odd K that is larger than the tile, a K that is smaller, and M = 1.
A public collection of CUDA kernels had a GEMM that was wrong whenever the number of tiles was odd. All its benchmark sizes were even [2].

Two cures: store zeros, as in section 5, or let the inner loop end early, at `min(T, k - start)`. Both are right.
The zeros have a price. For M = 1 with blocks of 32 x 32: how many of the threads have a result?
"""

# %%
guess = "?"  # share of threads with a result, M = 1

one_row = product(1, 256, 256)
tiled[(8, 1), (32, 32)](*one_row)
counted = profile(tiled[(8, 1), (32, 32)], *one_row)
print("right:", np.allclose(one_row[0], one_row[1] @ one_row[2]))
print("guess:", guess, f"   {256 / (8 * 32 * 32):.1%}")
print(f"operations: {sum(counted.flops.values()):,}, needed: {2 * 256 * 256:,}")

# %% [markdown]
r"""
**3.1 %**. The other 31 rows of each block multiply zeros: 32 times the operations.
For one row a product of matrices is not worth a tile: no number of `b` is used twice. `t2_03_gemm_shapes` is about such shapes.

## 7. The second barrier

A well-meant speed-up: there are two barriers in each turn, so leave one out. What happens?
"""

# %%
guesses = {"wrong in lockstep": "?", "wrong, warp by warp": "?"}


@cuda.jit
def one_barrier(c, a, b, m, n, k):
    tile_a = cuda.shared.array((8, 8), np.float32)
    tile_b = cuda.shared.array((8, 8), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, k, 8):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < k else np.float32(0)
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else np.float32(0)
        cuda.syncthreads()
        for i in range(8):
            total += tile_a[ty, i] * tile_b[i, tx]
    if row < m and col < n:
        c[row, col] = total


print(guesses)
odd = product(20, 28, 30)
for order in ("lockstep", "warp-serial"):
    run(one_barrier, (4, 3), (8, 8), odd, order=order, seed=1)
    print(
        f"{order:11} {np.count_nonzero(~np.isclose(odd[0], odd[1] @ odd[2])):3} of {odd[0].size} wrong"
    )
sanitize(one_barrier[(4, 3), (8, 8)], *odd)

# %% [markdown]
r"""
In lockstep nothing is wrong. Warp by warp, a fast warp fills the next tiles while a slow one still multiplies the old ones.
Both findings are a **WAR**: written before everybody had read. The one in `tile_b` is an error, because all warps use each row of `tile_b`.
The one in `tile_a` is a warning. With 8 x 8 threads a warp has four rows of the block, so it fills the rows of `tile_a` that it uses itself.
One barrier at the end of the turn mends both.

## 8. The ladder

Now all three side by side, on the model of an RTX 3090. Another public ladder was timed on this card, by Lei Mao: 0.278 TFLOP/s naive, 1.72 coalesced, 2.66 with tiles [3].
In which order will the model put them? What will be the factor between two rungs?
"""

# %%
guesses = {"coalesced over naive": "?", "tiled over coalesced": "?"}

ladder = compare(
    {kernel.__name__: (kernel[(8, 8), (32, 32)], *args) for kernel in (naive, coalesced, tiled)},
    device="RTX 3090",
)
print(guesses)
ladder

# %% [markdown]
r"""
The sectors fall by 6.6 and then by 18.9. At worst, when no cache helps, each rung is several times better than the one before.
The other end needs care: with perfect caches the tiled kernel is *no better* than the coalesced one.
Both make two requests for each multiply-add of a warp, and a request takes at least one pass through the load/store pipe, whether the cache or shared memory answers.

So the truth lies inside the intervals. Let us work out the intervals for 4,096, too large to run here, from what we know: sectors and passes by formula.
A request needs a pass for each four of its sectors, and at least one.
We check the formulas against the counters at 256 first. Where does the published time lie in its interval?
"""

# %%
guess = "?"  # near the lower end, the upper end, or between


def work(name, n):
    """The work of a kernel on n x n matrices with blocks of 32 x 32; n a multiple of 32."""
    warps, blocks, steps = n * n // 32, (n // 32) ** 2, n // 32
    sectors = {"naive": 33 * n + 32, "coalesced": 5 * n + 4, "tiled": 8 * steps + 4}[name]
    passes = {"naive": 9 * n + 8, "coalesced": 2 * n + 1, "tiled": 2 * steps + 1}[name]
    return Work(
        flops={"fp32": 2 * n**3},
        unique_bytes=3 * 4 * n * n,
        unique_bytes_block=4 * blocks * (2 * 32 * n + 32 * 32),
        sectors=warps * sectors,
        passes=warps * passes,
        shared_wavefronts=warps * (2 * n + 2 * steps) if name == "tiled" else 0,
        blocks=blocks,
    )


for name, counted in zip(("naive", "coalesced", "tiled"), (report, better, tiles)):
    ours = work(name, 256)
    sectors = counted.loads.sectors + counted.stores.sectors
    shared = counted.shared.wavefronts
    print(f"{name:9} sectors: {ours.sectors:,} = {sectors:,}")
    print(f"{name:9} shared:  {ours.shared_wavefronts:,} = {shared:,}")

lei_mao = {"naive": 278, "coalesced": 1720, "tiled": 2660}
boehm = dict(zip(lei_mao, published.values()))
rows, middle = [], {}
for name in lei_mao:
    time = bound(work(name, 4096), "RTX 3090")
    middle[name] = flops / time.middle_ms / 1e6
    rows.append((name, f"{flops / time.high_ms / 1e6:,.0f} to {flops / time.low_ms / 1e6:,.0f}", f"{middle[name]:,.0f}",
                 time.limiter.name, f"{lei_mao[name]:,}", f"{boehm[name]:,.1f}"))  # fmt: skip
print("guess:", guess)
table(("kernel", "modelled, GFLOP/s", "middle", "bound by", "RTX 3090 [3]", "A6000 [1]"), rows, "modelled; last two columns: measured by the sources")  # fmt: skip

# %%
steps = (("naive", "coalesced"), ("coalesced", "tiled"))
for low, high in steps:
    print(
        f"{high} over {low}: model {middle[high] / middle[low]:.2f}, RTX 3090 {lei_mao[high] / lei_mao[low]:.2f}, A6000 {boehm[high] / boehm[low]:.2f}"
    )

# %% [markdown]
r"""
All six measured rates lie within their intervals, and the middles have the published order: **217, 1,163, 3,159**.
The factors are only roughly right: 5.37 beside 6.19 and 6.43, then 2.72 beside 1.55 and 1.50.
Both errors have one cause. The caches of a real GPU catch more of the coalesced kernel's loads than the middle of its interval allows.
The middle is the geometric mean of the two ends. It is good for an order, not for a time.

For the tiled kernel the interval is narrow: no cache is left to be uncertain about. The measured 2,660 are near its lower end.

## 9. What is left?

The tiled kernel loads 32 times fewer numbers from global memory than the coalesced one, and is 1.5 times faster.
Something else binds it: *load/store*, the pipe through which requests to global and to shared memory go.
Count what a warp asks of shared memory for one multiplication and addition, and work out what share of the arithmetic peak that allows.
A multiprocessor of the RTX 3090 does 128 multiply-adds a clock, those of four warps. Shared memory makes one pass a clock.
"""

# %%
guesses = {"passes for one multiply-add": "?", "share of the peak": "?"}

multiply_adds = sum(tiles.flops.values()) / 2 / 32  # of a warp
passes = tiles.shared.wavefronts / multiply_adds
peak = 1000 * gpu.peak("fp32")
print(guesses)
print(f"shared passes for one multiply-add: {passes:.2f}, conflicts: {tiles.shared.bank_conflicts}")
print(f"at most {1 / 4 / passes:.1%} of the peak: {peak / 4 / passes:,.0f} of {peak:,.0f} GFLOP/s")
metrics = tiles.metrics()
for name in ("smsp__inst_executed_op_shared_ld.sum", "smsp__inst_executed_op_shared_st.sum"):
    print(f"{metrics[name]:9,}  {name}")

# %% [markdown]
r"""
Two numbers from shared memory for each multiply-add, `tile_a[ty, i]` and `tile_b[i, tx]`, and a little to fill the tiles.
By the source as written, this caps the kernel at **12.1 %** of the peak, about an eighth.

But the counters read the source. The compiler may do better. The inner loop has 32 turns, known in advance.
How many load instructions from shared memory does it need for the 32 multiply-adds? We ask it; this needs no GPU.
"""

# %%
guess = "?"  # load instructions for 32 multiply-adds

compiled = compile_kernel(tiled, args, "sm_86")
shared_loads = {bits: count for (name, bits), count in compiled.load_bits.items() if name == "LDS"}
print("loads from shared memory, by bits:", shared_loads)
print("guess:", guess, "   loads for 32 multiply-adds:", sum(shared_loads.values()))
joined = (sum(shared_loads.values()) + 2) / 32  # and two stores
print(f"at most {1 / 4 / joined:.1%} of the peak: {peak / 4 / joined:,.0f} GFLOP/s")

# %% [markdown]
r"""
**40**, not 64. Four neighbours `tile_a[ty, i]` to `tile_a[ty, i + 3]` come in one load of 128 bits; the ones of `tile_b` lie in different rows and cannot be joined.
So the cap is nearer to a fifth of the peak, and our interval in section 8 was a little too strict for this kernel. `smsp__inst_executed_op_shared_ld.sum` on a GPU would show 40 where we count 64.
The tile has moved the 2 K loads per result to a nearer place. It has not made them fewer.

Wider tiles of this kind do not help. What helps is a thread with several results: a number from shared memory that sits in a register serves all of them.
With 2 x 2 results a thread, four numbers do for four multiply-adds: one each, half as many. You try it at the end of the lab.

A block that computes P x Q results loads K / P + K / Q numbers for each of them. For P = Q = T that is 2 K / T.
So several results a thread help twice: they also make a larger block tile with the same threads.

## What to remember

- 2 M N K operations, 4 (M K + K N + M N) bytes at least: 137.44 G and 201.3 MB for 4,096. A large product is bound by arithmetic.
- x is the column. The wrong way round costs 33 sectors for a multiply-add of a warp instead of 5.
- A block of T x T results loads 2 K / T numbers per result instead of 2 K, with 8 T² shared bytes and 2 ceil(K / T) barriers.
- Fill, barrier, use, barrier. Store zeros where the matrix has ended: old numbers are no race, and no tool finds them.
- Test K larger than the tile and no multiple of it, K below the tile, M = 1, and sizes that all differ.
- A model orders rungs; it does not give times. In the end the shared loads, up to two for each multiply-add, cap the tiled kernel.

**Next:** the lab, `t2_01_gemm_tiles_lab`, in your folder `mine/t2_gpu/`.

## Sources

1. Simon Boehm, SGEMM_CUDA, README (2023): the table of kernels, RTX A6000, 4096 x 4096, float32.
   <https://github.com/siboehm/SGEMM_CUDA>
2. xlite-dev/LeetCUDA, pull request 514: a double-buffered GEMM whose tail is wrong when the number of tiles is odd.
   <https://github.com/xlite-dev/LeetCUDA/pull/514>
3. Lei Mao, CUDA-GEMM-Optimization, README: float32 on an RTX 3090, versions 00 to 02.
   <https://github.com/leimao/CUDA-GEMM-Optimization>
4. NVIDIA, CUDA C++ Programming Guide, "Shared Memory": the matrix product by blocks.
   <https://docs.nvidia.com/cuda/cuda-c-programming-guide/>
"""
