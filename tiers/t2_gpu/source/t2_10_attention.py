# %% [markdown]
r"""
# Attention: the matrix that is never written

**Attention is a softmax between two matrix products. For 1,024 words it makes a matrix with a million scores in each head, uses each score twice, and throws it away. Can you do it without ever writing that matrix, in the backward pass, too?**

At the end of this lesson you can

- count what attention moves when it is done line by line, and when it is done tile by tile, for any tile,
- write FlashAttention's loop in Triton: a running maximum, a running sum, a running output,
- merge two attentions over different keys, by one number for each row,
- say which tiles a causal mask leaves out, also when there are more keys than queries or fewer,
- compute all gradients from `q`, `k`, `v`, the output and that one number,
- look at what a framework keeps for its backward pass.

You need the lessons `t2_08_tiles` and `t2_09_fusion`, and about 40 minutes. You do not need a GPU.
Triton exists for Linux only. Elsewhere each launch says so, and you read the saved outputs.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
Numbers are counted, compiled or modelled here, or quoted from a source. None is a measured time of ours.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch

from warpwise import tiles
from warpwise.compiler import compile_triton
from warpwise.hardware import device
from warpwise.show import table
from warpwise.show.dial import Dial, Dialled
from warpwise.tiles import tl, triton

# %% [markdown]
r"""
## 1. Line by line

There are n *queries*, the rows of `q`, and m *keys*, the rows of `k`, each with d numbers; `v` has a row of d *values* for each key. For one *head*, attention is

    S   = scale * q k^T       n x m scores:  how well does query i fit key j?
    P   = softmax(S)          n x m shares:  each row adds up to 1
    out = P v                 n x d:         a weighted mean of the values

The scale is usually 1 / sqrt(d). Take the attention of GPT-2 medium as the FlashAttention paper [1] has it: n = m = 1,024, d = 64, 16 heads, a batch of 64, in float16.
Three kernels do the three lines, and each array moves once for each kernel that reads or writes it. What share of the traffic are S and P?
"""

# %%
guess = "?"  # per cent of the elements moved

n = m = 1024
d, heads = 64, 16 * 64  # of the whole batch
small, scores = 2 * n * d + 2 * m * d, 4 * n * m
print("guess:", guess)
print(f"q, k, v and out: {small:9,} elements a head")
print(f"S and P:         {scores:9,} elements a head, {scores / (scores + small):.1%}")
print(f"one pass over S, all heads: {2 * heads * n * m / 1e9:.3f} GB")
print(f"forward, all heads:         {2 * heads * (small + scores) / 1e9:.2f} GB")

# %% [markdown]
r"""
**94%.** Each of the two matrices is written once and read once, and everything else is small beside them.

The paper's Figure 2 has this attention, forward and backward, on an A100: 40.3 GB moved in the standard way and 4.4 GB by FlashAttention [1]. How many passes over the scores is that?
"""

# %%
guess = "?"  # passes over a matrix of scores

one_pass = 2 * heads * n * m / 1e9
print("guess:", guess)
print(f"40.3 GB are {40.3 / one_pass:.1f} passes over the scores; 40.3 / 4.4 = {40.3 / 4.4:.1f}")
# Forward 4.  Backward: P for dv; dP out; P and dP in, dS out; dS for dq and for dk.
passes = 4 + 1 + 1 + 3 + 1 + 1
print(f"without mask and dropout we count {passes} passes, {passes * one_pass:.1f} GB")
print(f"4.4 GB are {4.4 / one_pass:.1f} passes")

# %% [markdown]
r"""
**18.8** passes, and the factor is the "up to 9x fewer HBM accesses" of the paper. We count 11 for the bare lines. The figure's text does not list its kernels; a mask and a dropout, each a kernel of its own, read and write the matrix again, forward and backward: eight passes more, 19 in all.

*HBM* is the GPU's memory, the DRAM of the other lessons. The paper's name is used wherever attention is discussed, so we use it here, too.

FlashAttention's whole traffic, forward and backward, is two passes. There is no room in it for a matrix of scores that is written and read again in each direction.

## 2. One tile of keys after the other

What stops us from fusing the three lines? The softmax. A share is exp(s - m) / l, and the row's maximum m and its sum l are known only at the end of the row.
But `t2_09_fusion` had a cure: walk along the row with a running m and a running l, and when m rises, multiply l by exp(m_old - m_new).

The output is a sum as well: out = sum of exp(s - m) * v, divided by l. So the same factor puts it right.

    new   = max(top, largest score of the tile)
    p     = exp(s - new)                          scores of the tile only
    old   = exp(top - new)                        at most 1
    total = total * old + sum of p
    acc   = acc * old   + p v
    top   = new

At the end out = acc / total. We follow one query along four tiles of 32 keys. How far from the right output is acc / total after each tile: does it come nearer step by step?
"""

# %%
guess = "?"  # largest difference after three of four tiles: 0, small, or of the size of the result

rng = np.random.default_rng(seed=10)
q1, k1, v1 = rng.normal(size=32), rng.normal(size=(128, 32)), rng.normal(size=(128, 32))
s = 0.3 * k1 @ q1
right = np.exp(s - s.max()) / np.exp(s - s.max()).sum() @ v1

top, total, acc = -np.inf, 0.0, np.zeros(32)
rows = []
for start in range(0, 128, 32):
    tile = s[start : start + 32]
    new = max(top, tile.max())
    p, old = np.exp(tile - new), np.exp(top - new)
    total = total * old + p.sum()
    acc = acc * old + p @ v1[start : start + 32]
    top = new
    away = np.abs(acc / total - right).max()
    rows.append((f"{start} to {start + 31}", f"{top:.3f}", f"{old:.3f}", f"{total:.3f}", f"{away:.3f}"))  # fmt: skip
print("guess:", guess)
table(("keys", "top", "old", "total", "largest difference"), rows, "computed")

# %% [markdown]
r"""
After three tiles it is still off by **as much as the values are large**: the rest of the keys has not been seen. After the fourth it is right.
This is no approximation that converges. It is the same sum in another order.

The first factor is exp(-inf - top) = 0, and 0 times the empty sum is harmless. Where the maximum does not rise, the factor is 1.

## 3. The kernel

In Triton the whole loop is a dozen lines. A program takes a tile of BQ queries and keeps it; tiles of BK keys and values pass by. `top` and `total` are tiles of BQ numbers, `acc` is BQ x D.

To see the idea bare, this kernel wants everything full: n a multiple of BQ, m of BK, d = D, one head, no mask.

Two things are new. `tl.dot` wants both tiles in one dtype, so the shares are converted: `p.to(tl.float16)`. Its sum `acc` stays in float32.
And it stores a second result: `lse` = top + log(total), the log-sum-exp of each row: log(sum of exp(s)). We will need it twice.

n = 64, m = 96, d = 32, BQ = BK = 32. How many bytes does it load from `k`?
"""

# %%
guess = "?"  # bytes


@triton.jit
def flash(out, lse, q, k, v, m, scale, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr):
    i, c = tl.program_id(0) * BQ + tl.arange(0, BQ), tl.arange(0, D)
    queries = tl.load(q + i[:, None] * D + c[None, :])
    top = tl.full((BQ,), -float("inf"), tl.float32)
    total = tl.zeros((BQ,), tl.float32)
    acc = tl.zeros((BQ, D), tl.float32)
    for start in range(0, m, BK):
        j = start + tl.arange(0, BK)
        keys = tl.load(k + j[:, None] * D + c[None, :])
        values = tl.load(v + j[:, None] * D + c[None, :])
        s = scale * tl.dot(queries, tl.trans(keys))
        new = tl.maximum(top, tl.max(s, axis=1))
        p = tl.exp(s - new[:, None])
        old = tl.exp(top - new)
        total = total * old + tl.sum(p, axis=1)
        acc = tl.dot(p.to(tl.float16), values, acc * old[:, None])
        top = new
    tl.store(out + i[:, None] * D + c[None, :], acc / total[:, None])
    tl.store(lse + i, top + tl.log(total))


def operands(n, m, d):
    """q, k, v in float16, and places for out and lse."""
    q, k, v = (rng.normal(size=(rows, d)).astype(np.float16) for rows in (n, m, m))
    return np.zeros((n, d), np.float16), np.zeros(n, np.float32), q, k, v


def attention(q, k, v, scale, seen=True):
    """(out, lse, P) line by line in float64; `seen` is a mask of n x m."""
    s = np.where(seen, scale * q.astype(float) @ k.astype(float).T, -np.inf)
    with np.errstate(all="ignore"):
        lse = np.logaddexp.reduce(s, axis=1)
        p = np.where(np.isneginf(s), 0.0, np.exp(s - lse[:, None]))
    return p @ v.astype(float), lse, p


n, m, d = 64, 96, 32
out, lse, q, k, v = operands(n, m, d)
report = tiles.run(flash, (n // 32,), out, lse, q, k, v, m, d**-0.5, BQ=32, BK=32, D=d)
right_out, right_lse, _ = attention(q, k, v, d**-0.5)
print("guess:", guess)
print("out within 0.001:", np.allclose(out, right_out, rtol=0, atol=1e-3))
print("lse within 0.00001:", np.allclose(lse, right_lse, rtol=0, atol=1e-5))
report

# %% [markdown]
r"""
**12,288**: 96 x 32 numbers of 2 bytes, by each of two programs. The scores appear in no line of the report. They live and die in a tile.

The output has the few digits of float16: the shares were rounded to it before the second product, and the result once more. lse was summed in float32 and has more.

## 4. Elements and blocks

Each program loads all keys and all values, and there are ceil(n / BQ) programs. So we expect

    loaded = n d + ceil(n / BQ) * 2 m d,        stored = n d + n

Six launches on one problem, n = 64, m = 96, d = 32. What does a larger BQ change, and what a larger BK?
"""

# %%
guesses = {"BQ twice as large": "?", "BK twice as large": "?"}

rows = []
for bq in (16, 32, 64):
    for bk in (16, 32):
        run = tiles.run(flash, (n // bq,), out, lse, q, k, v, m, d**-0.5, BQ=bq, BK=bk, D=d)
        loaded = sum(run.loaded.values()) // 2  # bytes to elements
        formula = n * d + -(-n // bq) * 2 * m * d
        stored = run.stored["out"] // 2 + run.stored["lse"] // 4
        assert loaded == formula and stored == n * d + n
        rows.append((str(bq), str(bk), f"{loaded:,}", f"{formula:,}", f"{stored:,}"))
print(guesses)
table(("BQ", "BK", "loaded", "formula", "stored"), rows, "counted, in elements")

# %% [markdown]
r"""
BQ twice as large **halves** what is loaded from `k` and `v`. BK changes **nothing**: it says in how many bites the same keys are taken.

Now at GPT-2's size, beside the three kernels. How many queries must a program have before FlashAttention moves less?
"""

# %%
guess = "?"  # the smallest of 1, 2, 4, 8, ... that moves less than the three kernels

n = m = 1024
d = 64
blocks = 2 ** np.arange(11)
flash_moves = n * d + -(-n // blocks) * 2 * m * d + n * d + n
line_by_line = 2 * n * d + 2 * m * d + 4 * n * m
print("guess:", guess, f"   {blocks[flash_moves < line_by_line][0]}")
print(
    f"BQ = 128: {line_by_line / flash_moves[7]:.1f} times less;  at most {line_by_line / flash_moves[10]:.1f}"
)

fig, axis = plt.subplots(figsize=(6, 3.4))
axis.loglog(blocks, flash_moves / 1e6, "o-", color="#0072b2", label="tile by tile", base=2)
axis.axhline(line_by_line / 1e6, color="#d55e00", label="three kernels")
axis.set(xlabel="BQ, queries in a tile", ylabel="million elements moved", xticks=blocks)
axis.set_xticklabels([str(one) for one in blocks])
axis.set_yticks([0.25, 1, 4, 16, 64], ["0.25", "1", "4", "16", "64"])
axis.legend()
fig.tight_layout()
plt.show()

# %% [markdown]
r"""
**32.** With one query a program, all keys are loaded for each query, and that is 30 times *more* than the three kernels move. Fusing alone saves nothing here; the tile does. With 128 queries it is 3.8 times less.

The paper says it with the size M of the fast memory, in elements. A tile of queries can have about M / d rows, so there are n d / M programs, and each loads 2 m d: the traffic grows with n m d² / M, where the lines have n m [1].

So take BQ = 1,024? The tile has to live somewhere: `queries`, `acc` and a tile of scores are in the registers of one block. We ask the compiler, for an A100 with d = 64, BK = 64 and 4 warps. A thread has at most 255 registers. At which BQ does it run out?
"""

# %%
guess = "?"  # 32, 64, 128 or 256

types = {"out": "*fp16", "lse": "*fp32", "q": "*fp16", "k": "*fp16", "v": "*fp16", "m": 1024, "scale": "fp32", "BK": 64, "D": 64}  # fmt: skip
rows = []
for bq in (32, 64, 128, 256):
    code = compile_triton(flash, {**types, "BQ": bq}, "sm_80")
    names = [one.text.split()[0] for one in code.sass]
    rows.append((str(bq), f"{bq * 64 // 128}", str(code.registers), f"{code.spills:,}", f"{code.shared_bytes:,}",
                 str(sum("HMMA" in name for name in names)), str(sum("MUFU.EX2" in name for name in names))))  # fmt: skip
print("guess:", guess)
table(("BQ", "acc, registers a thread", "registers", "spilled bytes a thread", "shared bytes", "HMMA", "MUFU.EX2"), rows, "compiled for sm_80, 4 warps")  # fmt: skip

# %% [markdown]
r"""
At **256**: 6,120 bytes a thread spill to local memory, and then the row's own "registers" mean little. `acc` and the scores take 128 registers each for a thread there, and 255 is all there is. 128 fits with 232.

So real kernels have 64 or 128 queries a tile. With d = 128 the accumulator is twice as large: the head size has a say in the tile.

`HMMA` are the tensor core's products, `MUFU.EX2` the exponentials: the compiler makes exp(x) from 2^(x log2 e). The dials show a whole problem: what moves, and whether an A100 is then bound by memory or by its tensor cores.
The model: 4 n m d operations, elements moved times 2 bytes, peaks from the device table. From which BQ on are the products the larger time?
"""

# %%
guess = "?"  # for n = 4096, d = 64


def problem(n, d, bq):
    """Both ways of one head with n = m, modelled for an A100."""
    gpu = device("A100")
    tile_by_tile = n * d + -(-n // bq) * 2 * n * d + n * d + n
    lines, made = [], {"three kernels": 4 * n * d + 4 * n * n, "tile by tile": tile_by_tile}
    for name, elements in made.items():
        bytes_us = 2 * elements / gpu.dram_gbs.value / 1e3
        flops_us = 4 * n * n * d / gpu.peaks["fp16"].value / 1e6
        bound = "DRAM" if bytes_us > flops_us else "tensor cores"
        lines.append((name, f"{2 * elements / 1e6:,.1f}", f"{bytes_us:,.2f}", f"{flops_us:,.2f}", bound))  # fmt: skip
    head = ("way", "MB moved", "for the bytes, us", "for the products, us", "bound by")
    return table(head, lines, "modelled, one head, A100")._repr_mimebundle_()


print("guess:", guess)
Dialled(
    [
        Dial("n", (256, 1024, 4096, 16384), 4096),
        Dial("d", (32, 64, 128), 64),
        Dial("bq", (16, 32, 64, 128, 256), 128),
    ],
    problem,
)

# %% [markdown]
r"""
At **256**, by this model, which takes each load from the DRAM. With 128 the bytes take 17.31 microseconds and the products 13.77. In fact the programs of one head run at the same time, ask for the same keys, and find most of them in L2, as in `t2_08_tiles`. So 128 is enough in practice.
Line by line, the bytes take 68.16 microseconds, five times as long as the products, and no tile size changes that.

## 5. What is left when the bytes are gone

The products are done by tensor cores, and they are fast. One thing is not: the exponential. It goes through the *special function unit*, which does 16 results a clock on each multiprocessor of an H100 [3].
A score costs 2 d operations in each of the two products, and one exponential.

The FlashAttention-3 paper [3] works it out for d = 128: 512 times more operations in products than exponentials, 989 TFLOP/s against 3.9, so the exponentials take 50% of the time of the products. Do you get the same?
"""

# %%
guesses = {"d = 64": "?", "d = 128": "?"}  # per cent

h100 = device("H100")
exponentials = 16 * h100.sms.value * h100.clock_mhz.value * 1e6  # a second
products = h100.peaks["fp16"].value * 1e12
print(guesses)
print(
    f"{products / 1e12:.0f} TFLOP/s and {exponentials / 1e12:.1f} T exponentials/s: a factor of {products / exponentials:.0f}"
)
for head_size in (64, 128, 256):
    operations = 2 * 2 * head_size
    print(
        f"d = {head_size:3}: {operations:4} operations for each exponential, {products / exponentials / operations:.0%} of the products' time"
    )

# %% [markdown]
r"""
**512**, a factor of 256 and **50%**, as published; 512 / 256 leaves a half. With d = 64 the exponentials take as long as the products.
So FlashAttention-3 lets one group of warps do exponentials while another does products. It is the same thought as in `t1_11_roofline`: when one roof is gone, look for the next.

## 6. One number for each row

The kernel also stored `lse` = log(sum of exp(s)). What is it good for? Think of two kernels, or two GPUs, that have half of the keys each. Both give an output, already divided by their own sums.

exp(lse) is the sum itself. So the share of part a in the whole is exp(lse_a) / (exp(lse_a) + exp(lse_b)).

Below, part a gets 32 of 96 keys, and part b the other 64. Is the share of part a one third?
"""

# %%
guess = "?"  # share of part a for the first three queries: all 1/3, or around 1/3, or far from it

n, m, d = 64, 96, 32
out, lse, q, k, v = operands(n, m, d)
parts = []
for part in (slice(0, 32), slice(32, 96)):
    out_part, lse_part = np.zeros_like(out), np.zeros_like(lse)
    keys, values = k[part].copy(), v[part].copy()
    flash[(2,)](out_part, lse_part, q, keys, values, len(keys), d**-0.5, BQ=32, BK=32, D=d)
    parts.append((out_part, lse_part))
(out_a, lse_a), (out_b, lse_b) = parts
both = np.logaddexp(lse_a, lse_b)  # log(exp(lse_a) + exp(lse_b)), without overflow
share_a, share_b = np.exp(lse_a - both)[:, None], np.exp(lse_b - both)[:, None]
right_out, right_lse, _ = attention(q, k, v, d**-0.5)
print("guess:", guess, "  shares of part a:", share_a[:3, 0].round(3))
merged = share_a * out_a + share_b * out_b
print("merged: out right:", np.allclose(merged, right_out, atol=1e-3))
print("merged: lse right:", np.allclose(both, right_lse, atol=1e-5))

# %% [markdown]
r"""
**Around** one third. It is the scores that count, not the number of keys. And the merged output is that of all keys.

So any split of the keys will do. With a single query, as when a model writes one word after the other, one program would walk along all keys alone; split keys let all multiprocessors help, and a small kernel merges. With keys on several GPUs it is *ring attention*, in `t3_11_context_parallel`.

You will write that kernel in the lab. Mind the parts without any visible key: their lse is minus infinity, and both parts may be like that.

## 7. The causal mask

A word may look at itself and at words before it. With n queries and m keys, which key is query i "at"? There are two conventions, and they differ when n and m do.
FlashAttention aligns the mask to the **bottom right corner** since version 2.1: the last query sees the last key, so query i sees key j when `j <= i + m - n`. Before, it was the top left corner, `j <= i` [2]. PyTorch's `is_causal=True` still is.

Its README shows both for 2 queries and 5 keys, and for 5 queries and 2 keys. How does the mask for 5 queries and 2 keys look, bottom right?
"""

# %%
guess = "?"  # five rows, such as "1 0"


def causal(n, m):
    """Aligned to the bottom right corner: may query i see key j?"""
    return np.arange(m)[None, :] <= np.arange(n)[:, None] + m - n


print("guess:", guess)
for n, m in ((2, 5), (5, 2)):
    left = np.tri(n, m, dtype=int)
    for one, two in zip(left, causal(n, m).astype(int)):
        print("  top left", *one, " " * 3, "bottom right", *two)
    print()
q5, k2, v2 = (torch.randn(rows, 16, generator=torch.Generator().manual_seed(1)) for rows in (5, 2, 2))  # fmt: skip
by_torch = torch.nn.functional.scaled_dot_product_attention(q5, k2, v2, is_causal=True)
ours = attention(q5.numpy(), k2.numpy(), v2.numpy(), 16**-0.5, np.tri(5, 2, dtype=bool))[0]
print("is_causal=True is the top left mask:", np.allclose(by_torch, ours, atol=1e-6))

# %% [markdown]
r"""
Three rows of **0 0**: the first three queries see nothing. "If the row of the mask is all zero, the output will be zero", says the README, and our kernels do the same.

When is bottom right what you want? When a model has seen 1,000 words and gets 3 new ones: n = 3 queries, m = 1,003 keys, and the third new word may look at everything.

A mask also saves work: a tile of keys that no query of the tile sees need not be loaded. Here are three cases with tiles of 16 x 16. How many of the tiles are visited in the first one, with 4 x 4 tiles?
"""

# %%
guess = "?"  # of 16

fig, axes = plt.subplots(1, 3, figsize=(9, 3.6))
for axis, (n, m) in zip(axes, ((64, 64), (32, 64), (64, 32))):
    mask, size = causal(n, m), 16
    color = np.zeros((n, m))  # 0: not loaded, 1: loaded and hidden, 2: seen
    visits = 0
    for first in range(0, n, size):
        last_query = first + size - 1
        sees = max(0, last_query + m - n + 1)
        visits += -(-sees // size)
        color[first : first + size, : -(-sees // size) * size] = 1
    color[mask] = 2
    axis.imshow(color, cmap=plt.matplotlib.colors.ListedColormap(["#eeeeee", "#e69f00", "#0072b2"]), vmin=0, vmax=2, extent=(0, m, n, 0))  # fmt: skip
    axis.set(xticks=range(0, m + 1, 16), yticks=range(0, n + 1, 16), xlabel="key", ylabel="query")

    axis.grid(color="white")
    axis.set_title(f"n = {n}, m = {m}: {visits} of {n * m // size**2} tiles")
    print(f"n = {n}, m = {m}: {visits} tiles, {mask.mean():.0%} of the scores seen")
handles = [plt.matplotlib.patches.Patch(color=one) for one in ("#0072b2", "#e69f00", "#eeeeee")]
fig.legend(handles, ["seen", "loaded, but hidden", "not loaded"], loc="lower center", ncol=3)
fig.tight_layout(rect=(0, 0.08, 1, 1))
print("guess:", guess)
plt.show()

# %% [markdown]
r"""
**10** of 16: tiles on the diagonal are loaded whole, and hidden scores inside them become minus infinity by `tl.where`. With more tiles the share goes towards one half.
A program's last key follows from its *last* query: its tile of queries ends at `end`, so it needs `end + m - n` keys, at least 0 and at most m.

A tile with hidden scores has a trap that you know from `t2_09_fusion`. Below, four queries walk over three tiles of two keys; the mask hides some of them. Which queries become NaN?
"""

# %%
guesses = {"plain": "?", "careful": "?"}  # queries: 0, 1, 2, 3

seen = np.array([[1, 1, 1, 1, 1, 1], [0, 0, 1, 1, 1, 1], [1, 1, 0, 0, 1, 0], [0] * 6], bool)
s = np.where(seen, 10_000 + rng.normal(size=(4, 6)), -np.inf)
values = rng.normal(size=(6, 3))


def walk(s, values, careful):
    """(out, lse) of all rows, two keys at a time."""
    top, total, acc = np.full(4, -np.inf), np.zeros(4), np.zeros((4, 3))
    for start in (0, 2, 4):
        tile = s[:, start : start + 2]
        new = np.maximum(top, tile.max(axis=1))
        safe = np.where(new == -np.inf, 0.0, new) if careful else new
        p, old = np.exp(tile - safe[:, None]), np.exp(top - safe)
        total = total * old + p.sum(axis=1)
        acc = acc * old[:, None] + p @ values[start : start + 2]
        top = new
    divisor = np.where(total > 0, total, 1.0) if careful else total
    return acc / divisor[:, None], top + np.log(total)


print(guesses)
with np.errstate(all="ignore"):
    for careful in (False, True):
        found, lse = walk(s, values, careful)
        print("careful" if careful else "plain  ", "NaN in queries", np.flatnonzero(np.isnan(found).any(axis=1)), " lse", lse.round(3))  # fmt: skip

# %% [markdown]
r"""
**1 and 3** in the plain walk, none in the careful one. Query 1 begins with a hidden tile, and there new = -inf: `tile - new` is -inf minus -inf. Query 3 sees nothing at all. Query 2 has a hidden tile in the middle, and that is fine: its maximum is finite by then.

The cure has two parts: subtract 0 where the new maximum is -inf, because exp(-inf - 0) = 0, and divide by 1 where the total is 0. Then lse = -inf + log(0) = -inf comes out by itself.
Scores near 10,000 did no harm. Only differences to the maximum go into exp.

Some kernels hide scores with a finite number instead, such as -1e9. Then no NaN appears, but query 3 gets the mean of values that it must not see.

## 8. What the backward pass needs

Training wants the gradients of a loss with respect to `q`, `k` and `v`. PyTorch keeps tensors in the forward pass to compute them later. Which ones, and how large? A hook shows each tensor as it is saved.
Two heads, n = m = 256, d = 32.
"""

# %%
guesses = {"line by line": "?", "PyTorch's fused attention": "?"}  # elements kept


def kept_by(function, *inputs):
    """[(shape, elements)] of the tensors that a function saves, each piece of memory once."""
    kept = {}
    with torch.autograd.graph.saved_tensors_hooks(
        lambda one: kept.setdefault(one.data_ptr(), one), lambda one: one
    ):
        function(*inputs)
    return [(tuple(one.shape), one.numel()) for one in kept.values()]


def three_lines(q, k, v):
    s = q @ k.transpose(-1, -2) * 32**-0.5
    p = torch.softmax(s, dim=-1)
    return p @ v


torch.manual_seed(0)
inputs = [torch.randn(1, 2, 256, 32, requires_grad=True) for _ in range(3)]
print(guesses)
for name, function in {
    "line by line": three_lines,
    "fused": torch.nn.functional.scaled_dot_product_attention,
}.items():
    kept = kept_by(function, *inputs)
    print(f"{name:12} {sum(size for _, size in kept):7,} elements:", *(shape for shape, _ in kept))

# %% [markdown]
r"""
Line by line **180,224**: `q`, `k`, `v` and P, the matrix. The scores S are not kept, since the gradient of a softmax follows from its result.
PyTorch's fused attention keeps **66,048**: `q`, `k`, `v`, the output, and (1, 2, 256), which is one number for each row. You know that number.

Without the matrix, with only `lse`: P = exp(S - lse). So P can be computed again, tile by tile, *already divided*, with no running maximum and no second pass.

Now the gradients. Write dX for the gradient of the loss with respect to X; `dout` is given.

    out = P v             gives   dv = P^T dout      and   dP = dout v^T
    P = softmax(S)        gives   dS = P * (dP - delta),   delta = sum of P * dP along the row
    S = scale * q k^T     gives   dq = scale * dS k  and   dk = scale * dS^T q

One thing in it looks bad: delta is a sum along a whole row of P * dP, over all keys, before the first dS can be computed. It would need a walk of its own.
But dP = dout v^T, so the sum over keys of P * dP is dout times (P v), and P v is the output. What is the largest difference?
"""

# %%
guess = "?"  # between sum of P * dP over the keys and sum of dout * out over d

n, m, d, scale = 64, 96, 32, 32**-0.5
_, _, q, k, v = operands(n, m, d)
q, k, v = (one.astype(float) for one in (q, k, v))
dout = rng.normal(size=(n, d))
out, lse, p = attention(q, k, v, scale, causal(n, m))
dp = dout @ v.T
difference = np.abs((p * dp).sum(axis=1) - (dout * out).sum(axis=1)).max()
print("guess:", guess, "   below 1e-12:", difference < 1e-12)

# %% [markdown]
r"""
**Zero**, up to rounding. So delta = sum of dout * out along the row: n numbers from two matrices of n x d. That is why the output is among the saved tensors.

Now each pair of tiles can be done by itself. Here is one pair, and the sum over all pairs. Count the matrix products in `pair`; how many are there, beside the two of the forward pass?
"""

# %%
guess = "?"  # matrix products in `pair`


def pair(q, k, v, dout, lse, delta, seen, scale):
    """What a tile of queries and a tile of keys add to (dq, dk, dv)."""
    p = np.where(seen, np.exp(scale * q @ k.T - lse[:, None]), 0.0)
    ds = p * (dout @ v.T - delta[:, None])
    return scale * ds @ k, scale * ds.T @ q, p.T @ dout


delta, mask = (dout * out).sum(axis=1), causal(n, m)
dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
for a in range(0, n, 16):
    for b in range(0, m, 32):
        i, j = slice(a, a + 16), slice(b, b + 32)
        added = pair(q[i], k[j], v[j], dout[i], lse[i], delta[i], mask[i, j], scale)
        dq[i] += added[0]
        dk[j] += added[1]
        dv[j] += added[2]

tensors = [torch.from_numpy(one).requires_grad_() for one in (q, k, v)]
result = torch.nn.functional.scaled_dot_product_attention(*tensors, torch.from_numpy(mask), scale=scale)  # fmt: skip
wanted = torch.autograd.grad(result, tensors, torch.from_numpy(dout))
print("guess:", guess, "   5 products backward, 2 forward: a factor of", 5 / 2)
for name, one, two in zip(("dq", "dk", "dv"), (dq, dk, dv), wanted):
    print(f"{name} within 1e-12 of PyTorch's:", np.allclose(one, two.numpy(), rtol=0, atol=1e-12))

# %% [markdown]
r"""
**5**: S again, dP, and one for each gradient. So backward does 2.5 times the operations of forward, and that is the factor by which FlashAttention's own benchmark counts [4]. One of the five, S, is computed a second time because it was not kept. It costs arithmetic, which there is enough of, and saves bytes.

Hidden scores need care here as well: P = exp(S - lse) is not 0 by itself where the mask hides a key, and for a query without keys lse is -inf. `np.where`, in Triton `tl.where`, settles both.

Who adds up what? On a GPU the pairs run at the same time, and two programs must not add to the same tile.
"""

# %%
fig, axes = plt.subplots(1, 2, figsize=(8, 3.3))
for axis, way in zip(axes, ("rows", "columns")):
    for row in range(4):
        for col in range(5):
            axis.add_patch(plt.Rectangle((col, 3 - row), 0.9, 0.9, color="#56b4e9", alpha=0.5))
    for number in range(4 if way == "rows" else 5):
        start, end = ((0.1, number + 0.45), (5.3, number + 0.45)) if way == "rows" else ((number + 0.45, 3.8), (number + 0.45, -0.4))  # fmt: skip
        axis.annotate("", end, start, arrowprops={"arrowstyle": "->", "lw": 2})
        label = "dq" if way == "rows" else "dk, dv"
        axis.text(*((5.35, number + 0.35) if way == "rows" else (number + 0.1, -0.75)), label)
    axis.set(xlim=(-0.3, 6.2), ylim=(-1, 4.5), xticks=[], yticks=[], ylabel="tiles of queries")
    axis.set_title(
        "a program for each row of tiles" if way == "rows" else "a program for each column"
    )
    axis.text(1.5, 4.1, "tiles of keys")
fig.tight_layout()
plt.show()

# %% [markdown]
r"""
dq is a sum along the keys, so a program that keeps a tile of queries can do it: the loop of the forward pass. dk and dv are sums along the queries, so there a tile of *keys* stays and the queries pass.
With two kernels no two programs meet, and S and dP are computed in both: 3 + 4 = **7** products instead of 5. The other way is one kernel for each column of tiles that adds to dq by atomics: 5 products, and sums whose order changes from run to run.
Which tiles of queries does a program of keys need, with a causal mask? Those from the first query that sees its first key on: `j <= i + m - n` means `i >= j + n - m`.

In the lab you write both kernels.

## 9. The same, three generations

PyTorch's fused attention gives its `lse` to those who ask. Is it ours? And what does our text become on newer GPUs? Say first which instruction you expect for each.
"""

# %%
guesses = {"sm_80": "?", "sm_90": "?", "sm_100": "?"}

n, m, d = 64, 96, 32
out, lse, q, k, v = operands(n, m, d)
flash[(2,)](out, lse, q, k, v, m, d**-0.5, BQ=32, BK=32, D=d)
given = (torch.from_numpy(one)[None, None].float() for one in (q, k, v))
theirs, their_lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(*given)
print("out as PyTorch's:", np.allclose(out, theirs[0, 0], atol=1e-3))
print("lse as PyTorch's:", np.allclose(lse, their_lse[0, 0], atol=1e-5))
print(guesses)
for arch in ("sm_80", "sm_90", "sm_100"):
    code = compile_triton(flash, {**types, "BQ": 64}, arch)
    print(f"{arch:7}", *(f"{count} x {name}" for name, count in code.matrix.items()))

# %% [markdown]
r"""
The same numbers, and `mma.sync`, `wgmma`, `tcgen05`. The text of the kernel does not change; what it takes to reach the peak does, and that is why there are FlashAttention-2, -3 and later ones.

With Nsight Compute, `dram__bytes.sum` shows what section 4 counts minus what L2 catches, and `sm__inst_executed_pipe_xu.sum` the exponentials of section 5.

## What to remember

- Line by line, attention moves 2 n d + 2 m d + 4 n m elements; tile by tile n d + ceil(n / BQ) * 2 m d in, n d + n out. BK does not matter, registers limit BQ.
- The state of a row is top, total and acc. When top rises, total and acc times exp(top - new).
- `lse` = top + log(total) is one number a row. It merges parts of the keys, and it gives back P in the backward pass.
- Causal: `j <= i + m - n`, bottom right. PyTorch's `is_causal` is top left. Tiles that nobody sees are not loaded.
- Hide with -inf; subtract 0 where the maximum is -inf, divide by 1 where the total is 0. A query without keys has zeros and -inf.
- Kept for the backward pass: q, k, v, out, lse. delta = sum of dout * out. dS = P * (dP - delta).
- 2 products forward, 5 backward, 7 with two kernels. A tile of queries stays for dq, a tile of keys for dk and dv.

**Next:** the lab, `t2_10_attention_lab`, in your folder `mine/t2_gpu/`.

## Sources

1. T. Dao, D. Y. Fu, S. Ermon, A. Rudra, C. Ré, "FlashAttention: Fast and Memory-Efficient Exact Attention with IO-Awareness", 2022: the traffic in terms of M, and Figure 2 with 40.3 and 4.4 GB (a first version has 35.3 and 4.4).
   <https://arxiv.org/abs/2205.14135>
2. FlashAttention, README: the causal mask before and since version 2.1, and zeros for rows without keys.
   <https://github.com/Dao-AILab/flash-attention>
3. J. Shah, G. Bikshandi, Y. Zhang, V. Thakkar, P. Ramani, T. Dao, "FlashAttention-3: Fast and Accurate Attention with Asynchrony and Low-precision", 2024: 512 operations for an exponential, 989 against 3.9 TFLOP/s, 50%; 16 operations a clock on each of 132 multiprocessors at 1,830 MHz.
   <https://arxiv.org/abs/2407.08608>
4. FlashAttention, `benchmarks/benchmark_flash_attention.py`: 4 n m d operations a head forward, 2.5 times that backward.
   <https://github.com/Dao-AILab/flash-attention>
5. PyTorch, `torch.nn.functional.scaled_dot_product_attention`.
   <https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html>

Clocks, multiprocessors and peaks: `warpwise/hardware/devices.toml`, each with its source.
"""
