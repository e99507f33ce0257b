# %% [markdown]
r"""
# GEMM by shape: split-K, skinny matrices, wave tails

**Two products on one GPU. One has 1,792 rows and columns, the other 1,793. Why may the second take twice as long?**

Because blocks are whole, and so are the rounds in which they run. At the end of this lesson you can

- compute waves and idle multiprocessors of a launch before you run it,
- say how much of the work is real, and how much falls over the edge of the matrix,
- split the sum over K among blocks, and count what the partial sums cost,
- choose the number of splits for a shape by a bound,
- multiply a single row, as a language model does for each word it writes.

You need the lessons `t2_01_gemm_tiles` and `t1_09_atomics`, and about 40 minutes. You do not need a GPU.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
Numbers are counted or modelled here, or quoted from a source. None is a measured time of ours.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from warpwise import cuda, explain, profile, sanitize
from warpwise.hardware import device, in_flight, occupancy
from warpwise.show import table
from warpwise.show.dial import Dial, Dialled

gpu = device("A100 40GB")
sms, peak, gbs = int(gpu.sms.value), gpu.peak("fp32"), gpu.dram_gbs.value
zero = np.float32(0)
TILE = 16


def up(size, part):
    """How many parts cover a size."""
    return -(-size // part)


def matrices(m, n, k):
    """Random a and b."""
    rng = np.random.default_rng(seed=23)
    return rng.random((m, k), dtype=np.float32), rng.random((k, n), dtype=np.float32)


# %% [markdown]
r"""
## 1. Waves

A good kernel computes 256 x 128 results in a block, and one such block fills a multiprocessor.
An A100 has 108 multiprocessors, so 108 blocks run at a time. What does not fit waits for the next round. Such a round is called a *wave*.

How many blocks and how many waves for 1,792 x 1,792 results? And for 1,793 x 1,793?
"""

# %%
guesses = {"1792": "?", "1793": "?"}  # (blocks, waves)

for size in (1792, 1793):
    down, along = up(size, 256), up(size, 128)
    blocks = down * along
    waves = up(blocks, sms)
    print(f"{size}: {down} x {along} = {blocks} blocks, {waves} wave{'s' * (waves > 1)}, "
          f"{waves * sms - blocks} places of {waves * sms} empty")  # fmt: skip
print(guesses)

# %% [markdown]
r"""
**7 x 14 = 98** blocks, as the article prints from which this example is [1], in **1** wave. One more row and column make **8 x 15 = 120**, and **2** waves.

Two things have happened at once. Both have names in NVIDIA's guide [2]:

- *Tile quantisation*: one more row needs a whole new row of blocks, and nearly all of their work is for nothing.
- *Wave quantisation*: 120 blocks need two waves, and 96 places of the second one stay empty.

If a wave takes the same time whatever it does, the second product takes twice as long for 0.1 % more results. Here is the share of useful work for all sizes.
"""

# %%
guess = "?"  # does the curve rise steadily, or is it a saw?


def useful(m, n, tile_m, tile_n, places):
    """Share of all places and all their results that are needed."""
    waves = up(up(m, tile_m) * up(n, tile_n), places)
    return m * n / (waves * places * tile_m * tile_n)


sizes = np.arange(256, 4097, 16)
fig, ax = plt.subplots(figsize=(8, 3))
ax.plot(sizes, [useful(size, size, 256, 128, sms) for size in sizes], label="256 x 128")
ax.plot(
    sizes,
    [useful(size, size, 64, 64, 4 * sms) for size in sizes],
    "--",
    label="64 x 64, 4 on an SM",
)
ax.set(
    xlabel="rows and columns", ylabel="share of useful work", ylim=(0, 1.02), title="A100, modelled"
)
ax.legend(loc="lower right")
plt.show()
print("guess:", guess)
for size in (1792, 1793, 4096):
    print(
        f"{size}: {useful(size, size, 256, 128, sms):.1%} and {useful(size, size, 64, 64, 4 * sms):.1%}"
    )

# %% [markdown]
r"""
A saw: **90.7 %** at 1,792 and **45.4 %** at 1,793. The larger the product, the flatter the teeth, for there are many waves and only the last one is part empty.
Small tiles help at the edge. But you know their price from `t2_01_gemm_tiles`: more loads for each result.

`t1_10_occupancy` had the same formula for any kernel. A device with 132 multiprocessors that each hold 8 blocks: what does one block more than a full wave cost?
"""

# %%
guess = "?"  # share of places used by 1,057 blocks

fits = occupancy("H100", 256, 32, 0)
print(f"{fits.blocks} blocks on each SM, {fits.blocks * 132} in a wave")
print("guess:", guess, f"   {fits.tail_efficiency(1057, 132):.2%}")

# %% [markdown]
r"""
**50.05 %**: two waves, the second for a single block. Turn the dials for shapes of your own: the places that stay empty are computed before anything runs.
"""

# %%
guess = "?"  # which tile suits 4,096 x 1,000 best?


def plan(rows, columns, tile, gpu_name):
    """Waves of a launch, one block on each multiprocessor."""
    places = int(device(gpu_name).sms.value)
    tile_m, tile_n = (int(side) for side in tile.split(" x "))
    blocks = up(rows, tile_m) * up(columns, tile_n)
    waves = up(blocks, places)
    head = (
        "blocks",
        "waves",
        "empty places in the last",
        "useful work",
        "loads per result, K = 4096",
    )
    row = (f"{blocks:,}", str(waves), str(waves * places - blocks),
           f"{useful(rows, columns, tile_m, tile_n, places):.1%}", f"{4096 / tile_m + 4096 / tile_n:g}")  # fmt: skip
    return table(head, [row], "modelled, one block on an SM")._repr_mimebundle_()


print("guess:", guess)
Dialled(
    [
        Dial("rows", (1, 128, 1792, 1793, 4096), 4096),
        Dial("columns", (1000, 1024, 1792, 1793, 4096), 1000),
        Dial("tile", ("256 x 128", "128 x 128", "128 x 64", "64 x 64"), "256 x 128"),
        Dial("gpu_name", ("A100 40GB", "H100 SXM", "RTX 3090"), "A100 40GB"),
    ],
    plan,
)

# %% [markdown]
r"""
## 2. One tile, and a long sum

Now a shape with no room for many blocks: 128 x 128 results, each the sum of 65,536 products. It is what you get when a gradient is summed over all words of a batch.
With tiles of 128 x 128: how many multiprocessors of the A100 work? And how much longer than the bound does it take?
"""

# %%
guesses = {"multiprocessors at work": "?", "times the bound": "?"}


def bound_ms(m, n, k):
    """The least time: all operations at the peak, all three matrices once through the DRAM."""
    return max(2 * m * n * k / peak / 1e9, 4 * (m * k + k * n + m * n) / gbs / 1e6)


def modelled_ms(m, n, k, splits=1, tile=128):
    """Waves of blocks at the peak of a multiprocessor, or the DRAM; then the partial sums."""
    blocks = up(m, tile) * up(n, tile) * splits
    chunk = up(k, splits)  # terms of a sum that one block adds
    arithmetic = up(blocks, sms) * 2 * tile * tile * chunk / (peak / sms) / 1e9
    written = 4 * splits * m * n
    first = max(arithmetic, (4 * (m * k + k * n) + written) / gbs / 1e6)
    second = (written + 4 * m * n) / gbs / 1e6 if splits > 1 else 0
    return first + second


shape = (128, 128, 65536)
print(guesses)
print(f"blocks: {up(128, 128) * up(128, 128)} on {sms} multiprocessors")
print(
    f"bound {bound_ms(*shape):.3f} ms, modelled {modelled_ms(*shape):.3f} ms, {modelled_ms(*shape) / bound_ms(*shape):.0f} times as long"
)

# %% [markdown]
r"""
**One** of 108. It takes **108** times as long as it must: an otherwise perfect kernel, on a hundredth of the machine.
Smaller tiles would give more blocks. With 32 x 32 there are 16, still a small part, and each number is loaded four times as often.

There is a third direction. The grid has a z.

## 3. Split-K

We cut the sums: block z adds the terms from `z * chunk` on, `chunk` of them, and leaves its partial result in a slice of its own, `parts[z]`.
A second kernel adds up the slices. This is *split-K*.

Each chunk is a small product. What must the guard of a load say now: `start + tx < k`, or something else?
"""

# %%
guess = "?"  # the limit of start + tx


@cuda.jit
def split_k(parts, a, b, m, n, k, chunk):
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockIdx.z
    col, row = cuda.blockIdx.x * TILE + tx, cuda.blockIdx.y * TILE + ty
    first = z * chunk
    last = min(k, first + chunk)  # the end of this block's terms
    total = zero
    for start in range(first, last, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < last else zero
        tile_b[ty, tx] = b[start + ty, col] if start + ty < last and col < n else zero
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        parts[z, row, col] = total


@cuda.jit
def add_up(c, parts, splits):
    col, row = cuda.grid(2)
    if row < c.shape[0] and col < c.shape[1]:
        total = zero
        for z in range(splits):
            total += parts[z, row, col]
        c[row, col] = total


def run_split(m, n, k, splits):
    """Both kernels; the result, and the reports of both."""
    a, b = matrices(m, n, k)
    parts, c = np.zeros((splits, m, n), np.float32), np.zeros((m, n), np.float32)
    blocks = (up(n, TILE), up(m, TILE))
    first = profile(split_k[(*blocks, splits), (TILE, TILE)], parts, a, b, m, n, k, up(k, splits))
    second = profile(add_up[(up(n, 32), up(m, 8)), (32, 8)], c, parts, splits)
    return np.allclose(c, a @ b, rtol=1e-4), first, second


print("guess:", guess, "   last")
for m, n, k, splits in (
    (32, 32, 512, 1),
    (32, 32, 512, 8),
    (33, 20, 500, 3),
    (1, 1, 7, 4),
    (5, 40, 100, 16),
):
    right, first, second = run_split(m, n, k, splits)
    print(f"{m:2} x {n:2}, K = {k:3}, {splits:2} splits: right {right}, blocks {first.grid}")

# %% [markdown]
r"""
The limit is **last**, the end of the chunk. With `k` as the limit, a chunk of 167 terms would use eleven tiles of 16, and add 9 terms that belong to the next block: they would be counted twice.
And mind the empty chunk: 7 terms in 4 splits are 2 each, 100 terms in 16 are 7 each. There 15 splits would do, and block 15 has nothing to add. It still has to write its slice: a zero.

What do the slices cost? Count the bytes that the first kernel stores and the second loads, for 32 x 32 results and 8 splits.
"""

# %%
guesses = {"stored by the first": "?", "loaded by the second": "?"}  # bytes

rows = []
for splits in (1, 2, 8, 16):
    right, first, second = run_split(32, 32, 512, splits)
    rows.append((splits, 4 * splits, f"{32 * first.loads.sectors:,}", f"{32 * first.stores.sectors:,}",
                 f"{32 * second.loads.sectors:,}", f"{4 * splits * 32 * 32:,}"))  # fmt: skip
print(guesses)
table(("splits", "blocks", "loaded by the first", "stored by the first", "loaded by the second", "4 s m n"), rows,
      "bytes, counted; last column computed")  # fmt: skip

# %% [markdown]
r"""
**32,768** bytes each way: 4 s m n. The loads of the first kernel stay the same, whatever the splits: each block loads its own columns of `a`.
So the partial sums are what a split costs: written once, read once, and a second launch.

## 4. Or atomics?

You can do without slices and the second kernel: each block adds its total to `c` with `cuda.atomic.add`. `c` must be zero before.
What is worse about that? Think of bytes, of waiting, and of the bits of the result.
"""

# %%
guesses = {"atomic requests": "?", "same bits in another order": "?"}


@cuda.jit
def split_atomic(c, a, b, m, n, k, chunk):
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty, z = cuda.threadIdx.x, cuda.threadIdx.y, cuda.blockIdx.z
    col, row = cuda.blockIdx.x * TILE + tx, cuda.blockIdx.y * TILE + ty
    last = min(k, (z + 1) * chunk)
    total = zero
    for start in range(z * chunk, last, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < last else zero
        tile_b[ty, tx] = b[start + ty, col] if start + ty < last and col < n else zero
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        cuda.atomic.add(c, (row, col), total)


a, b = matrices(32, 32, 512)
c, parts = np.zeros((32, 32), np.float32), np.zeros((8, 32, 32), np.float32)
report = profile(split_atomic[(2, 2, 8), (TILE, TILE)], c, a, b, 32, 32, 512, 64)
split_k[(2, 2, 8), (TILE, TILE)](parts, a, b, 32, 32, 512, 64)
forwards, backwards = np.zeros_like(c), np.zeros_like(c)
for z in range(8):
    forwards += parts[z]
    backwards += parts[7 - z]
print(
    "right:",
    np.allclose(c, a @ b, rtol=1e-4),
    "  findings:",
    len(sanitize(split_atomic[(2, 2, 8), (TILE, TILE)], c, a, b, 32, 32, 512, 64)),
)
print(guesses)
print(f"atomic requests: {report.atomics.requests}, stores: {report.stores.requests}")
print(
    f"other bits when the slices are added backwards: {np.count_nonzero(forwards != backwards)} of {c.size}"
)

# %% [markdown]
r"""
**256** requests, 8 for each of the 32 warps' worth of results: as many as the slices had stores. Nothing is read back by a second kernel, and up to 8 blocks want the same element.
And the order in which they come is not fixed. In the other order **441** of 1,024 results have other last bits: two runs of such a kernel may differ. Libraries let you choose for that reason.

## 5. How many splits?

More splits fill the machine, and make more partial sums. `modelled_ms` of section 2 has both: waves of blocks with shorter chunks, and 4 s m n bytes written and read.
It lets a block use its multiprocessor fully, and counts no launch. For 128 x 128 with K = 65,536: which number of splits is best, and how near does it come to the bound?
"""

# %%
guesses = {"splits": "?", "times the bound": "?"}

powers = tuple(2**i for i in range(9))
times = {splits: modelled_ms(*shape, splits) for splits in powers}
best = min(times, key=times.get)
fig, ax = plt.subplots(figsize=(7, 3))
ax.plot(powers, times.values(), "o-", label="modelled")
ax.axhline(bound_ms(*shape), ls="--", color="gray", label="bound")
ax.set(
    xscale="log",
    yscale="log",
    xlabel="splits",
    ylabel="ms, modelled, A100",
    xticks=powers,
    xticklabels=powers,
)
ax.minorticks_off()
ax.legend()
plt.show()
print(guesses)
print(
    f"best of the powers of two: {best}, {times[best]:.3f} ms, {times[best] / bound_ms(*shape):.2f} times the bound"
)
for splits in (128, best, 108):
    waves = up(splits, sms)
    print(
        f"{splits} splits: {waves} wave{'s' * (waves > 1)}, {waves * sms - splits} places empty, {modelled_ms(*shape, splits):.3f} ms"
    )

# %% [markdown]
r"""
**256** of the powers of two: three waves of short chunks, with 68 places empty. 128 splits need two waves of chunks twice as long, with 88 empty, and are slower.
**108** is better than both: one wave, and it is full. Powers of two are a habit, not a rule.

Seven shapes. Predict for each whether a split helps, before you run the cell.
"""

# %%
shapes = {
    "square": (4096, 4096, 4096),
    "one row and column too many": (1793, 1793, 1793),
    "long sum": (128, 128, 65536),
    "gradient of a thin layer": (256, 1024, 16384),
    "short sum": (4096, 4096, 64),
    "a few words": (16, 4096, 4096),
    "one word": (1, 4096, 4096),
}
guesses = dict.fromkeys(shapes, "?")  # splits

rows = []
for name, one in shapes.items():
    times = {splits: modelled_ms(*one, splits) for splits in powers}
    best = min(times, key=times.get)
    rows.append((name, " x ".join(map(str, one)), up(one[0], 128) * up(one[1], 128), f"{bound_ms(*one):.4f}",
                 f"{times[1]:.4f}", best, f"{times[best]:.4f}", f"{times[best] / bound_ms(*one):.2f}"))  # fmt: skip
print(guesses)
table(("shape", "m x n x k", "tiles", "bound, ms", "no split, ms", "best split", "ms", "times the bound"), rows,
      "modelled for an A100, tiles of 128 x 128")  # fmt: skip

# %% [markdown]
r"""
The last two do not come near their bound by splitting alone. Their tiles of 128 rows have 16 rows or one that exist: all other arithmetic is for nothing.
For them the tile is the wrong shape. A short sum, on the other hand, has blocks enough. A split would only add partial sums, each slice as large as the result.

## 6. One row

A language model that writes one word at a time multiplies a single row by a large matrix, again and again.
2 K N operations, and 4 K N bytes of `b`: half an operation a byte. It is bound by the DRAM, and no tile can help, since no number of `b` is used twice.

So read `b` once, in full sectors, with as many loads on their way as the DRAM needs. One thread for each column would be coalesced. Is that enough threads for 4,096 columns?
"""

# %%
guesses = {"warps, one thread a column": "?", "warps needed": "?"}

need = in_flight(gpu)
print(guesses)
print(f"warps with a column each: {4096 // 32}, on {sms} multiprocessors")
print(f"warps needed on each, by Little's law: {need.warps_per_sm:.0f}")

# %% [markdown]
r"""
128 warps, little more than one on each multiprocessor; **44** each are needed, if each has one load of 128 bytes on its way. So the sum is split here as well: blocks of 32 x 8 threads take 64 rows of `b`.
Lanes lie along the columns; the eight warps take every eighth row. At the end the block adds its eight sums for each column, and one warp adds them to `c`.

The row `x` is read by all: we keep the block's 64 numbers of it in shared memory. How many sectors will a block load, for 32 columns and 64 rows? How many are compulsory?
"""

# %%
guesses = {"sectors of a block": "?", "compulsory": "?"}


@cuda.jit
def one_row(c, x, b, n, k):
    part_x = cuda.shared.array(64, np.float32)
    sums = cuda.shared.array((8, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, first = cuda.blockIdx.x * 32 + tx, cuda.blockIdx.y * 64
    t = ty * 32 + tx
    if t < 64:
        part_x[t] = x[first + t] if first + t < k else zero
    cuda.syncthreads()
    total = zero
    for i in range(ty, min(64, k - first), 8):
        if col < n:
            total += part_x[i] * b[first + i, col]
    sums[ty, tx] = total
    cuda.syncthreads()
    if ty == 0 and col < n:
        for i in range(1, 8):
            total += sums[i, tx]
        cuda.atomic.add(c, col, total)


a, b = matrices(1, 256, 512)
c = np.zeros(256, np.float32)
report = profile(one_row[(8, 8), (32, 8)], c, a[0], b, 256, 512)
print("right:", np.allclose(c, a[0] @ b, rtol=1e-4))
print(guesses)
print(f"sectors of a block: {report.loads.sectors / 64:g}, of b alone: {64 * 32 * 4 // 32}")
for n, k in ((1, 1), (33, 65), (100, 7), (31, 64)):
    a, b = matrices(1, n, k)
    c = np.zeros(n, np.float32)
    one_row[(up(n, 32), up(k, 64)), (32, 8)](c, a[0], b, n, k)
    print(f"n = {n:3}, k = {k:2}: right {np.allclose(c, a[0] @ b, rtol=1e-4)}")

# %% [markdown]
r"""
**264**, where 256 are those of `b`: 3 % more than the least. The tiled kernel of `t2_01_gemm_tiles` would load the same sectors, but 15 of 16 rows of its threads would multiply zeros, and wait at barriers.

`explain` puts the bound beside it, here for one large row. What binds?
"""

# %%
guess = "?"  # the roof

n, k = 4096, 512
a, b = matrices(1, n, k)
answer = explain(
    one_row[(n // 32, k // 64), (32, 8)], np.zeros(n, np.float32), a[0], b, n, k, device="A100 40GB"
)
print("guess:", guess, "   bound by", answer.bound.limiter.name)
print(
    f"at least {4 * n * k / gbs / 1e6:.4f} ms for b alone, modelled {answer.bound.low_ms:.4f} to {answer.bound.high_ms:.4f} ms"
)

# %% [markdown]
r"""
The **DRAM**, as it must be. The lower end of the interval is the time for `b` plus a launch.

With a few rows instead of one, each number of `b` serves all of them: keep one sum for each row in registers, and the bytes stay the same.
That is why a server answers many users at once: 16 rows cost the same 4 K N bytes as one.

## What to remember

- Waves = ceil(blocks / places). The last one may be nearly empty: 1,793 needs two waves where 1,792 needs one.
- Tile quantisation wastes results at the edge, wave quantisation wastes multiprocessors at the end. Both are computed before the launch.
- Few tiles and a long sum: split K. Guard each load by the end of the *chunk*, and write empty slices.
- Split-K writes 4 s m n bytes of partial sums and reads them again. Atomics save the second kernel and cost the fixed order, and with it equal bits.
- Choose the number of splits by a model of waves and bytes, and not only among powers of two.
- One row is bound by the DRAM: full sectors, each once, and enough warps.

**Next:** the lab, `t2_03_gemm_shapes_lab`, in your folder `mine/t2_gpu/`.

## Sources

1. Horace He, "What Shapes Do Matrix Multiplications Like?" (2024): 1,792 x 1,792 on an A100, 98 tiles of 256 x 128.
   <https://www.thonking.ai/p/what-shapes-do-matrix-multiplications>
2. NVIDIA, Matrix Multiplication Background User's Guide, "Dimension Quantization Effects".
   <https://docs.nvidia.com/deeplearning/performance/dl-performance-matrix-multiplication/>
3. NVIDIA, CUTLASS, "Efficient GEMM in CUDA": parallelised reductions, split-K.
   <https://github.com/NVIDIA/cutlass/blob/main/media/docs/cpp/efficient_gemm.md>
4. Stream-K: Work-centric Parallel Decomposition for Dense Matrix-Matrix Multiplication on the GPU, arXiv 2301.03598: one wave for every shape.
   <https://arxiv.org/abs/2301.03598>
"""
