# %% [markdown]
r"""
# Tiles: the same kernel in Triton

**In `t2_01_gemm_tiles` you wrote shared arrays, two barriers in each step, and an index for every thread. Can somebody else write those?**

Triton can: you say what a *block* does with a *tile* of numbers, and its compiler shares the work among the threads. At the end of this lesson you can

- write a vector sum, a softmax, a variance and a matrix product as Triton kernels,
- say for each load which lanes are masked off, and what stands in them,
- count the bytes of a kernel by line, before any GPU runs it,
- see in the machine code what the compiler did with your tile,
- choose the order of the programs, and tell what the programs that run together need,
- say which mistakes the CPU shows, and which it hides.

You need the lesson `t2_01_gemm_tiles` and about 40 minutes. You do not need a GPU: all kernels here run through Triton's own interpreter, and on a GPU they run unchanged.
Triton exists for Linux only. Elsewhere each launch says so, and you read the saved outputs.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
Numbers are counted, compiled or modelled here, or quoted from a source. None is a measured time of ours.
"""

# %%
import matplotlib.pyplot as plt
import ml_dtypes
import numpy as np
from IPython.display import display

from warpwise import cuda, explain, tiles
from warpwise.compiler import compile_kernel, compile_triton
from warpwise.show import show_sass, table
from warpwise.show.dial import Dial, Dialled
from warpwise.tiles import (
    tl,
    triton,
)  # in a program of your own: import triton, triton.language as tl

# %% [markdown]
r"""
## 1. One program, one tile

The next cell has the sum of two vectors twice. In the first kernel you know everything: a thread has an index and one element.

In Triton there are no threads in the text. A launch starts *programs*, and each of them works on a *tile*: a whole array of values under one name.

- `tl.program_id(0)` is the program's number. Think of it as `cuda.blockIdx.x`.
- `tl.arange(0, BLOCK)` is a tile of BLOCK numbers: 0, 1, 2, ... Its extent is a power of two and is known when the kernel is compiled; that is what `tl.constexpr` says.
- `x` is a *pointer*: the place of the first element. `x + i` is a tile of pointers, and `tl.load` fetches what they point to. There are no brackets: `x[i]` is refused.
- `mask=` is a tile of conditions. Where it is false, the lane of the tile touches no memory. It is the guard.

A *lane* is one place of the tile here, not one of 32 threads.

We add 1,000 numbers with BLOCK = 256. How many programs do we need? How many lanes will be masked off, in the two loads and the store together?
"""

# %%
guesses = {"programs": "?", "lanes masked off": "?"}


@cuda.jit
def add_numba(out, x, y, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = x[i] + y[i]


@triton.jit
def add(out, x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    total = tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside)
    tl.store(out + i, total, mask=inside)


rng = np.random.default_rng(seed=8)
n = 1000
x, y = rng.random((2, n), dtype=np.float32)
out = np.zeros_like(x)

add_numba[4, 256](out, x, y, n)
print("Numba: ", np.array_equal(out, x + y))

out[:] = 0
add[(4,)](out, x, y, n, BLOCK=256)
print("Triton:", np.array_equal(out, x + y))

print(guesses)
tiles.run(add, (4,), out, x, y, n, BLOCK=256)

# %% [markdown]
r"""
**4** programs: `triton.cdiv(1000, 256)`, the quotient rounded up. They have 1,024 lanes, 24 too many, in three accesses: **72** masked off.

`add[(4,)](...)` is how Triton launches: a grid, and no number of threads. `tiles.run(add, (4,), ...)` makes the same launch and reports it:
for each line and each pointer the bytes that were asked for. 4,000 from `x`, 4,000 from `y`, 4,000 to `out`: 12 bytes for each element. A lane that is masked off asks for nothing.

These are bytes that lanes ask for. On a GPU, Nsight Compute counts sectors of 32 bytes: `l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum`.

## 2. Without a mask

The mask is easy to forget, and easy to get wrong by one. What does each of these two kernels do with 1,000 elements: a wrong result, a stop, or nothing that you notice?
"""

# %%
guesses = {"no mask": "?", "i <= n": "?"}


@triton.jit
def add_unmasked(out, x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x + i) + tl.load(y + i)
    tl.store(out + i, total, mask=i < n)


@triton.jit
def add_too_wide(out, left, right, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i <= n
    total = tl.load(left + i, mask=inside) + tl.load(right + i, mask=inside)
    tl.store(out + i, total, mask=inside)


print(guesses)
for kernel in (add_unmasked, add_too_wide):
    try:
        tiles.run(kernel, (4,), out, x, y, n, BLOCK=256)
    except tiles.TileError as error:
        print(error)
        print()

# %% [markdown]
r"""
Both stop here, with the program, your pointer, the offsets and the line.

On a GPU you might have noticed nothing. The loads read whatever lies behind the array, and the second kernel stores one element too far.
What lies there is usually another array. Sometimes it is the end of the memory, and then the program dies, on the day when the array lies last.

So run each new kernel here first, at a size that no tile divides. Multiples of BLOCK show nothing.

## 3. What stands in a lane that is masked off?

The softmax of a row: exponentials, divided by their sum. First the largest value is subtracted, so that no exponential is too large.

    out = exp(x - max(x)) / sum(exp(x - max(x)))

One program takes one row. The row has `cols` elements, and the tile has the next power of two.
`tl.max` and `tl.sum` reduce a tile along an axis to one value. The tree, its barriers and its shuffles from `t1_07_reduction` are the compiler's work.

Now the lanes beyond the row take part in a maximum and in a sum. `other=` says what they hold. We try three values on a row of five equal numbers, in a tile of eight.
Each result should be 1/5 = 0.2. What will it be?
"""

# %%
guesses = {"other=0.0": "?", "other=-inf": "?", "nothing": "?"}


@triton.jit
def softmax_zeros(out, x, cols, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    v = tl.load(x + c, mask=c < cols, other=0.0)
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + c, e / tl.sum(e, axis=0), mask=c < cols)


@triton.jit
def softmax_right(out, x, cols, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    v = tl.load(x + c, mask=c < cols, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + c, e / tl.sum(e, axis=0), mask=c < cols)


@triton.jit
def softmax_open(out, x, cols, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    v = tl.load(x + c, mask=c < cols)
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + c, e / tl.sum(e, axis=0), mask=c < cols)


ones, result = np.ones(5, np.float32), np.zeros(5, np.float32)
print(guesses)
for name, kernel in (
    ("other=0.0", softmax_zeros),
    ("other=-inf", softmax_right),
    ("nothing", softmax_open),
):
    tiles.run(kernel, (1,), result, ones, 5, BLOCK=8)
    print(f"{name:11}", result[:2].round(4))
print(f"5 + 3 / e = {5 + 3 / np.e:.4f}, and 1 / {5 + 3 / np.e:.4f} = {1 / (5 + 3 / np.e):.4f}")

# %% [markdown]
r"""
With zeros, three lanes add exp(0 - 1) = 1/e each to the sum: **0.1638**. Nothing stopped, nothing is NaN, and every number is wrong.
Minus infinity is right for both reductions: it is never the maximum, and its exponential is 0.

Without `other=` such a lane is *undefined*. On a GPU it may hold 0 today. Our runs put NaN there, so that a kernel which uses it shows it.

The rule: **`other=` must be what changes nothing in the next reduction.** 0 for a sum and for a product of matrices, minus infinity for a maximum, 1 for a product.

And after arithmetic, ask again. The variance of a row needs its mean first. The lanes beyond the row hold 0, and 0 adds nothing to the mean. What do they hold after `v - mean`?
"""

# %%
guesses = {"first": "?", "second": "?"}  # right, too small, or too large


@triton.jit
def variance_first(out, x, cols, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    v = tl.load(x + c, mask=c < cols, other=0.0)
    away = v - tl.sum(v, axis=0) / cols
    tl.store(out, tl.sum(away * away, axis=0) / cols)


@triton.jit
def variance_second(out, x, cols, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    v = tl.load(x + c, mask=c < cols, other=0.0)
    away = tl.where(c < cols, v - tl.sum(v, axis=0) / cols, 0.0)
    tl.store(out, tl.sum(away * away, axis=0) / cols)


row, found = np.array([8, 10, 12, 9, 11], np.float32), np.zeros(1, np.float32)
print("NumPy:", row.var(), "  guesses:", guesses)
for kernel in (variance_first, variance_second):
    tiles.run(kernel, (1,), found, row, 5, BLOCK=8)
    print(f"{kernel.__name__:16}", found[0])
print("2 + 3 * 10**2 / 5 =", 2 + 3 * 10**2 / 5)

# %% [markdown]
r"""
They hold 0 - mean. Three lanes add 10² each, and the variance is **62** instead of 2. `tl.where(condition, a, b)` puts the zeros back.
You will need it in the lab, in a layer norm.

Rows of a real array often do not follow each other without a gap: think of a part of a wider array. So a kernel gets the *stride*, the distance from one row to the next in elements, and uses it:
`x + row * stride + c`. For three rows of 1,000 elements in an array 1,024 wide:
"""

# %%
guess = "?"  # what would `row * cols` do here: stop, or give wrong numbers?


@triton.jit
def softmax(out, x, cols, stride_out, stride_x, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * stride_x + c, mask=c < cols, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * stride_out + c, e / tl.sum(e, axis=0), mask=c < cols)


wide = rng.random((3, 1024), dtype=np.float32)
part, result = wide[:, :1000], np.zeros((3, 1000), np.float32)
report = tiles.run(softmax, (3,), result, part, 1000, 1000, 1024, BLOCK=1024)
print("rows sum to 1:", np.allclose(result.sum(axis=1), 1), "  guess:", guess)
report

# %% [markdown]
r"""
With `row * cols` row 1 would start at element 1,000 of row 0: inside the array, so nothing stops, and all rows but the first are wrong. A test with arrays without gaps cannot see it.

Each element is loaded once and stored once, though it is used three times: the tile stays in registers.

The tile must have room for the row. One column more than 1,024: what share of the lanes is idle then?
"""

# %%
guesses = {1024: "?", 1025: "?"}  # share of the lanes masked off

rows = []
for cols in (513, 1000, 1024, 1025):
    block = triton.next_power_of_2(cols)
    rows.append((f"{cols:,}", f"{block:,}", f"{1 - cols / block:.1%}", f"{block // 128}"))
print("guesses:", guesses)
table(("columns", "tile", "lanes masked off", "numbers a thread, 4 warps"), rows, "computed")

# %% [markdown]
r"""
**Half** of them. They move no bytes, but they take registers and time. A loop over smaller tiles helps; that is a part of `t2_09_fusion`.

## 4. Where did the threads go?

A program *is* a block. The option `num_warps` gives its warps, 4 if you say nothing: 128 threads, and a tile of 1,024 lanes means 8 lanes for each of them.
Which 8, and in which loads, is the compiler's decision. It compiles here without a GPU, so we can ask it. We put both sums side by side, for an A100 (`sm_80`) and 4,096 elements.

How many instructions does each kernel need for one element? How many bits wide is each load?
"""

# %%
guesses = {"Numba: instructions": "?", "Triton: instructions": "?", "bits": "?"}

long = np.zeros(4096, np.float32)
by_numba = compile_kernel(add_numba, (long, long, long, 4096), "sm_80")
types = {"out": "*fp32", "x": "*fp32", "y": "*fp32", "BLOCK": 1024}
by_triton = compile_triton(add, {**types, "n": 4096}, "sm_80")


def sums(compiled, elements):
    """A row of the comparison; elements: of one thread."""
    bits = {width for (name, width) in compiled.load_bits if name == "LDG"}
    loads = sum(count for (name, _), count in compiled.load_bits.items() if name == "LDG")
    return (compiled.name, str(elements), str(len(compiled.sass)), f"{len(compiled.sass) / elements:.1f}",
            str(loads), ", ".join(map(str, bits)), str(compiled.registers))  # fmt: skip


head = ("kernel", "elements a thread", "instructions", "for an element", "loads", "bits of a load", "registers")  # fmt: skip
print(guesses)
table(head, [sums(by_numba, 1), sums(by_triton, 8)], "compiled for sm_80")

# %%
display(show_sass(by_numba), show_sass(by_triton))

# %% [markdown]
r"""
Open the lines of the loads in both. Numba's kernel does for one element what its text says: two loads of 32 bits, `LDG.E`, after a dozen instructions for the addresses.
Triton's thread has eight elements, four neighbours at a time: `LDG.E.128`. It computes one address for four elements. So **4.8** instructions an element instead of **34**.

You could write this in Numba: several elements a thread, and vector loads. In Triton you did not have to.

The mask is in it as well: `@!P0`. One predicate guards a load of four elements. When is that allowed? We compile the same kernel for n = 1,000.
"""

# %%
guess = "?"  # bits of a load when n = 1,000

odd = compile_triton(add, {**types, "n": 1000}, "sm_80")
print("guess:", guess)
table(head, [sums(by_triton, 8), sums(odd, 8)], "compiled for n = 4,096 and n = 1,000")

# %% [markdown]
r"""
Only when the mask is the same for four neighbours. 4,096 is a multiple of 16, and the compiler is told so: a launch looks at each integer, and compiles another version for multiples of 16, and one for the value 1.
1,000 is no multiple of 16. Now the mask may end inside a group of four, and each element gets its own load of **32** bits.

So the sizes you choose decide the width of your loads. Pad the strides of your arrays to multiples of 16.

Does this change the bound? Both move 12 bytes for an element:
"""

# %%
guess = "?"  # what limits the sum of 4,096 * 256 elements on an A100?

big = np.zeros(2**20, np.float32)
print("guess:", guess)
explain(add_numba[2**12, 256], big, big, big, 2**20, device="A100")

# %% [markdown]
r"""
The DRAM does, for both. The wider loads need fewer instructions for the same bytes, and there is no way below the time of 12 bytes an element.
Triton does not change the roofline. It changes how much you write to come near it.

## 5. The matrix product

In two dimensions a tile is made of two: `rows[:, None]` is a column of row numbers, `cols[None, :]` a row of column numbers, and their sum is a tile with all pairs, as in NumPy.
`tl.dot(a, b, total)` multiplies two tiles and adds the product to a third. The third is float32 here, while `a` and `b` are float16: short inputs, long sums.

Look for the barriers, the shared arrays and the thread indices of `t2_01_gemm_tiles`.
M = 70, N = 100, K = 40, and tiles of 32 x 32 with steps of 16 along K. How many bytes will be loaded from `a`? Each element of `a` is needed by all programs in its row.
"""

# %%
guess = "?"  # bytes loaded from a


@triton.jit
def matmul(c, a, b, m, n, k, c_row, c_col, a_row, a_col, b_row, b_col,
           BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):  # fmt: skip
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        ks = start + tl.arange(0, BK)
        in_a = (rows[:, None] < m) & (ks[None, :] < k)
        in_b = (ks[:, None] < k) & (cols[None, :] < n)
        part_a = tl.load(a + rows[:, None] * a_row + ks[None, :] * a_col, mask=in_a, other=0.0)
        part_b = tl.load(b + ks[:, None] * b_row + cols[None, :] * b_col, mask=in_b, other=0.0)
        total = tl.dot(part_a, part_b, total)
    in_c = (rows[:, None] < m) & (cols[None, :] < n)
    tl.store(c + rows[:, None] * c_row + cols[None, :] * c_col, total, mask=in_c)


def strides(*arrays):
    """Strides in elements, as Triton counts."""
    return [step // one.itemsize for one in arrays for step in one.strides]


def operands(m, n, k):
    """Random a and b in float16, and an empty c in float32."""
    a, b = rng.random((m, k)).astype(np.float16), rng.random((k, n)).astype(np.float16)
    return np.zeros((m, n), np.float32), a, b


c, a, b = operands(70, 100, 40)
sizes = {"BM": 32, "BN": 32, "BK": 16}
report = tiles.run(matmul, (3, 4), c, a, b, 70, 100, 40, *strides(c, a, b), **sizes)
print("right:", np.allclose(c, a.astype(np.float32) @ b.astype(np.float32), rtol=1e-3))
print("guess:", guess, f"   a: 2 * 70 * 40 * 4 = {2 * 70 * 40 * 4:,}")
report

# %% [markdown]
r"""
**22,400**: 2 bytes for each of 70 * 40 elements, 4 times, because 100 columns need 4 tiles. Nothing else is loaded; the lanes beyond the edge are masked off. The tails of `t2_01_gemm_tiles` were the hard part. Here they are three masks.

`other=0.0` in both loads matters along K: a lane beyond K is multiplied and added. Along M and N a wrong lane would only spoil results that are not stored.

Which program stored which part of `c`? The counters of our run know. Beside it stands what program 5 needs for its part.
"""

# %%
guess = "?"  # programs 0, 1, 2 lie side by side along a row, or below each other?

fig, axes = plt.subplots(2, 2, figsize=(6.5, 5.4), width_ratios=(40, 100), height_ratios=(40, 70))
axes[0, 0].axis("off")
writer = report.writer("c")
c5, a5, b5 = np.zeros_like(writer), np.zeros(a.shape), np.zeros(b.shape)
r0, c0 = np.argwhere(writer == 5)[0]
a5[r0 : r0 + 32], b5[:, c0 : c0 + 32] = 1, 1
for ax, shown, name in ((axes[0, 1], b5, "b: what program 5 needs"), (axes[1, 0], a5, "a")):
    ax.imshow(shown, cmap="Blues", vmin=0, vmax=1.6, aspect="auto")
    ax.set(title=name)
axes[1, 1].imshow(writer, cmap="viridis", aspect="auto", alpha=0.5)
for number in range(report.programs):
    y0, x0 = np.argwhere(writer == number).mean(axis=0)
    axes[1, 1].text(x0, y0, number, ha="center", va="center")
axes[1, 1].set(title="c: stored by program number")
fig.tight_layout()
plt.show()
print("guess:", guess)

# %% [markdown]
r"""
Below each other: axis 0 of the grid counts first, and we gave it to the rows.

Now the machine code beside that of the kernel with tiles of `t2_01_gemm_tiles`. You wrote no barrier and no shared array. How many of each are in the machine code? Which instruction multiplies?
"""

# %%
guesses = {"barriers": "?", "shared bytes": "?", "multiplies": "?"}


@cuda.jit
def tiled(c, a, b, m, n, k):
    tile_a = cuda.shared.array((16, 16), np.float32)
    tile_b = cuda.shared.array((16, 16), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, k, 16):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < k else np.float32(0)
        tile_b[ty, tx] = b[start + ty, col] if start + ty < k and col < n else np.float32(0)
        cuda.syncthreads()
        for i in range(16):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    if row < m and col < n:
        c[row, col] = total


square = np.zeros((512, 512), np.float32)
numba_gemm = compile_kernel(tiled, (square, square, square, 512, 512, 512), "sm_80")
given = {"c": "*fp32", "a": "*fp16", "b": "*fp16", "m": 512, "n": 512, "k": 512, "BM": 64, "BN": 64, "BK": 32,
         **dict.fromkeys(("c_row", "a_row", "b_row"), 512), **dict.fromkeys(("c_col", "a_col", "b_col"), 1)}  # fmt: skip


def products(name, compiled, shared):
    """A row: what multiplies, barriers, shared memory, global loads."""
    names = [one.text.split()[0] for one in compiled.sass]
    mma = {name for name in names if "MMA" in name and "HFMA2" not in name}
    wide = {f"{n} x {bits} bits" for (name, bits), n in compiled.load_bits.items() if name in ("LDG", "LDGSTS")}  # fmt: skip
    return (name, ", ".join(mma) or "FFMA", str(sum("BAR.SYNC" in name for name in names)),
            f"{shared:,}", ", ".join(sorted(wide)), str(compiled.registers))  # fmt: skip


rows = [products("tiled, 16 x 16", numba_gemm, 2 * 16 * 16 * 4)]
for stages in (2, 3, 4):
    staged = compile_triton(matmul, given, "sm_80", num_stages=stages)
    rows.append(products(f"matmul, num_stages={stages}", staged, staged.shared_bytes))
print(guesses)
display(table(("kernel", "multiplies", "barriers", "shared bytes", "global loads in the text", "registers"), rows, "compiled for sm_80"))  # fmt: skip
for arch in ("sm_80", "sm_90", "sm_100"):
    print(f"{arch:7}", *compile_triton(matmul, given, arch).matrix)

# %% [markdown]
r"""
You wrote none, and there are **6 to 8 barriers** and 8 to 24 KB of shared memory. `HMMA` is a tensor core's instruction: a warp multiplies 16 x 8 x 16 numbers with it.
`FFMA` is one multiply-add of each lane. That alone makes the two kernels hard to compare; they do not even have the same inputs.

The loads are wide, and they are `LDGSTS`: from global to shared memory, past the registers.
A step needs 64 x 32 numbers of `a` and 32 x 64 of `b`, 8,192 bytes together. With `num_stages=3`, which is what you get if you say nothing, the compiler keeps two such pairs: while one is multiplied, the next is on its way.
One stage more is one pair more. The lesson `t2_02_gemm_registers` writes this double buffering by hand; here it is a number.

So the dials of a Triton kernel are few: the extents of the tiles, `num_warps`, `num_stages`. `@triton.autotune` tries a list of them on a GPU and keeps the fastest.

Below the table stands what the same text becomes on three generations of GPUs: `mma.sync`, `wgmma` and `tcgen05`. The lesson `t2_05_tensor_cores` reads them one by one.

## 6. In which order?

A program may take any tile: its number is only a number. Does the order matter? Each result is computed once in any case.

It matters for the cache L2. The programs that run at the same time share what they load. Triton's tutorial has an example with numbers [1]:
matrices of 9 x 9 blocks. In row-major order, it says, 90 blocks have to be loaded for the first 9 blocks of the result; in a grouped order only 54.

Let us count them. This kernel reads from a table which tile it computes. We launch the first 9 programs only, on matrices of 144 x 144 with tiles of 16 x 16, and count each element once, however many programs load it.
"""

# %%
guesses = {"row by row": "?", "3 x 3": "?"}  # blocks


@triton.jit
def in_order(c, a, b, order, n, k, T: tl.constexpr):
    tile = tl.load(order + tl.program_id(0))
    along = n // T
    rows = (tile // along) * T + tl.arange(0, T)
    cols = (tile % along) * T + tl.arange(0, T)
    total = tl.zeros((T, T), tl.float32)
    for start in range(0, k, T):
        ks = start + tl.arange(0, T)
        part_a = tl.load(a + rows[:, None] * k + ks[None, :])
        total = tl.dot(part_a, tl.load(b + ks[:, None] * n + cols[None, :]), total)
    tl.store(c + rows[:, None] * n + cols[None, :], total)


c, a, b = operands(144, 144, 144)
numbers = np.arange(81, dtype=np.int32).reshape(9, 9)  # of the tiles of c
orders = {"row by row": numbers[0].copy(), "3 x 3": numbers[:3, :3].ravel()}
print(guesses)
for name, order in orders.items():
    touched = tiles.run(in_order, (9,), c, a, b, order, 144, 144, T=16).touched(9)
    blocks = {pointer: touched[pointer] // (2 * 16 * 16) for pointer in "ab"}
    print(f"{name:10} {blocks} = {sum(blocks.values())} blocks")

# %% [markdown]
r"""
**90** and **54**, as published. A row of nine tiles needs one row of blocks of `a`, 9, and all 81 of `b`. A square of 3 x 3 tiles needs three rows and three columns, 27 + 27.
It is the tile once more, one level up: the programs that run together are a tile of tiles. The tutorial reports 245 instead of 220 TFLOP/s on an A100 for it.

The usual way to number them: bands of `group` rows of tiles; inside a band go down first, then one column to the right. With `group` = 1 it is row by row.
The dials: tiles along each side, how many programs run at once (an A100 has 108 multiprocessors), and the group. Where is the best group?
"""

# %%
guess = "?"  # the best group for 108 programs at once


def band_order(down, along, group):
    """The tiles of c, as (row, column), in bands of `group` rows."""
    return [(top + row, col) for top in range(0, down, group) for col in range(along)
            for row in range(min(group, down - top))]  # fmt: skip


def needs(side, at_once, group):
    """Rows of blocks of a, and columns of blocks of b, that the first programs need."""
    first = band_order(side, side, group)[:at_once]
    return len({row for row, _ in first}), len({col for _, col in first})


def panels(side, at_once, group):
    """A table of what the first programs need."""
    need_a, need_b = needs(side, at_once, group)
    head = ("rows of a", "columns of b", "together", "row by row", "least")
    row = (need_a, need_b, need_a + need_b, sum(needs(side, at_once, 1)), f"{2 * at_once**0.5:.1f}")
    return table(head, [tuple(map(str, row))], "counted")._repr_mimebundle_()


print("guess:", guess)
for at_once in (36, 108):
    together = {group: sum(needs(32, at_once, group)) for group in (1, 4, 6, 8, 10, 12, 16, 32)}
    print(f"{at_once:3} programs, group: together", together)
Dialled(
    [
        Dial("side", (9, 16, 32, 64), 32),
        Dial("at_once", (9, 36, 108, 132), 108),
        Dial("group", (1, 2, 3, 4, 6, 8, 10, 12, 16, 32), 8),
    ],
    panels,
)

# %% [markdown]
r"""
**36** row by row, **22** with groups of 8, and **21** with 10 or 12. A square of 108 tiles would need 2 * sqrt(108) = 20.8, so the best group is near the square root of what runs at once.
With `group` = 32 the band is as high as the matrix, the order is column by column, and 36 are needed again.
With 36 programs at once groups of 8 need 13, and groups of 6 need 12: the best group depends on the GPU.

On a GPU, `lts__t_bytes.sum` counts what is asked of L2 and `dram__bytes.sum` what L2 had to fetch. The order changes the second number only.

## 7. Two programs, one element

The sums of the columns of a matrix. Each program takes 16 rows, adds them up, and adds its part to what `out` holds.
Is the result right here? Would it be right on a GPU?
"""

# %%
guesses = {"here": "?", "on a GPU": "?"}


@triton.jit
def column_sums(out, x, rows, cols, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, C)
    inside = (r[:, None] < rows) & (c[None, :] < cols)
    part = tl.sum(tl.load(x + r[:, None] * cols + c[None, :], mask=inside, other=0.0), axis=0)
    before = tl.load(out + c, mask=c < cols)
    tl.store(out + c, before + part, mask=c < cols)


@triton.jit
def column_sums_atomic(out, x, rows, cols, R: tl.constexpr, C: tl.constexpr):
    r, c = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, C)
    inside = (r[:, None] < rows) & (c[None, :] < cols)
    part = tl.sum(tl.load(x + r[:, None] * cols + c[None, :], mask=inside, other=0.0), axis=0)
    tl.atomic_add(out + c, part, mask=c < cols)


x = rng.random((40, 30), dtype=np.float32)
print(guesses)
for kernel in (column_sums, column_sums_atomic):
    sums_ = np.zeros(30, np.float32)
    report = tiles.run(kernel, (3,), sums_, x, 40, 30, R=16, C=32)
    print("right here:", np.allclose(sums_, x.sum(axis=0)))
    print(report)
    print()

# %% [markdown]
r"""
Right here, and **wrong on a GPU**. The interpreter runs the programs one after another, so each finds what the one before has stored. On a GPU they run at the same time: two read the same old value, and one of the additions is lost.
The run names it: program 1 loads what program 0 has stored. There is no barrier between programs, and their order is nobody's promise.

`tl.atomic_add` adds in one step. We reduce in the tile first and send one value for each column: 3 * 30 atomics, not 1,200. You know both ideas from `t1_09_atomics`.
Or give each element to one program: here, a program for a group of columns that walks down all rows.

## 8. What a run on the CPU cannot tell

An interpreter is not a GPU. Some differences are known. Here each is tried on the interpreter of the Triton that is installed: does it go wrong, and what do our runs do instead?
"""

# %%
guess = "?"  # 1 + 1 in bfloat16, if the codes are added as integers

one = np.ones(1, ml_dtypes.bfloat16)
codes = one.view(np.uint16)
print(f"guess: {guess}   {(codes + codes).view(ml_dtypes.bfloat16)[0]:.2g}")
for trap in tiles.traps():
    print(trap)

# %% [markdown]
r"""
The interpreter computes with NumPy, and NumPy has no bfloat16. So it keeps the codes, the 16 bits of each number, as integers, and some operations forget that: 1 + 1 comes out as **1.7e+38**.
All nine hold in this version. A course that runs on another version of Triton may print other answers in the second column; the cell tries it anew each time.

What our runs cannot do right they refuse, with the line. And the last word has the compiler: the interpreter runs Python, but a kernel is not Python.
"""

# %%
guesses = {"sum of a bfloat16 tile": "?", "a dictionary": "?"}  # runs, or is refused


@triton.jit
def short_sum(out, x, BLOCK: tl.constexpr):
    v = tl.load(x + tl.arange(0, BLOCK)).to(tl.bfloat16)
    tl.store(out, tl.sum(v, axis=0).to(tl.float32))


@triton.jit
def with_dictionary(out, x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    loaded = {"x": tl.load(x + i)}
    tl.store(out + i, 2 * loaded["x"])


print(guesses)
v, out = np.ones(64, np.float32), np.zeros(64, np.float32)
try:
    tiles.run(short_sum, (1,), out, v, BLOCK=64)
except tiles.TileError as error:
    print(error)

tiles.run(with_dictionary, (1,), out, v, BLOCK=64)
print("\nwith_dictionary on the CPU:", out[:2])
try:
    compile_triton(with_dictionary, {"out": "*fp32", "x": "*fp32", "BLOCK": 64}, "sm_80")
except Exception as error:
    print("compiled:", str(error).splitlines()[0], str(error).splitlines()[-1], sep="\n  ")

# %%
guess = "?"  # is the float32 product of a GPU as exact as the one here?

c, a, b = operands(32, 32, 32)
a, b = a.astype(np.float32), b.astype(np.float32)
report = tiles.run(matmul, (1, 1), c, a, b, 32, 32, 32, *strides(c, a, b), BM=32, BN=32, BK=16)
print("guess:", guess)
for line, remark in report.notes.values():
    print(f"line {line}: {remark}")

# %% [markdown]
r"""
No. Tensor cores have no float32 inputs, so a GPU rounds them to tf32 first, a format of `t2_04_formats`. The run computes in float32 and says so.
`tl.dot(..., input_precision="ieee")` keeps float32 and leaves the tensor cores.

On a machine with a GPU, `add[(4,)](...)` compiles the kernel and runs it there; `tiles.run` stays on the CPU and counts. The text of the kernel is the same.

## What to remember

- A program is a block, a tile is what it holds. You write loads, masks and reductions; threads, shared memory and barriers are the compiler's.
- Every load and store needs a mask that follows from its own offsets, and every load whose lanes are used needs an `other=` that changes nothing. After arithmetic, `tl.where`.
- Use strides. A wrong one stays inside the array, and no tool stops it.
- Multiples of 16 make loads wide: 128 bits instead of 32 for the same text.
- `tl.dot` means tensor cores. Keep the sum in float32, and look at the compiled code for the instruction.
- The order of programs decides what the ones that run together need: 90 blocks or 54.
- Two programs at one element are a race that the CPU never shows in the values. Reduce in the tile, then one atomic, or one owner for each element.
- The interpreter has traps, bfloat16 above all. Run here for the values, compile for the rules.

**Next:** the lab, `t2_08_tiles_lab`, in your folder `mine/t2_gpu/`.

## Sources

1. Triton documentation, tutorial "Matrix Multiplication", section on L2 cache optimizations: 90 and 54 blocks, 220 and 245 TFLOPS.
   <https://triton-lang.org/main/getting-started/tutorials/03-matrix-multiplication.html>
2. P. Tillet, H. T. Kung, D. Cox, "Triton: An Intermediate Language and Compiler for Tiled Neural Network Computations", MAPL 2019.
   <https://www.eecs.harvard.edu/~htk/publication/2019-mapl-tillet-kung-cox.pdf>
3. Triton documentation, `triton.language`: load, store, dot, where, reductions, atomics.
   <https://triton-lang.org/main/python-api/triton.language.html>
4. Triton 3.7.1, `triton/runtime/interpreter.py`: the interpreter that these runs build on.
   <https://github.com/triton-lang/triton>
"""
