# %% [markdown]
r"""
# Block scaling: sharing an exponent

**fp4 has 16 codes, and the largest is 6. Put a layer into it, and a single large value turns all the others into zeros. Yet models are trained and served in this format. How?**

At the end of this lesson you can

- scale a tensor, or each row of it, to fp8, and say what an outlier does to each,
- say what happens when the scale is out of date: NaN or 448,
- read MXFP8, MXFP4 and NVFP4 byte by byte, and count their bytes,
- make the two kinds of block scales, and choose between the two rules for one of them,
- multiply scaled matrices and say where each scale goes,
- find the largest value of each block with shuffles alone.

You need the lessons `t2_06_accumulation`, `t1_03_warps` and `t1_09_atomics`, and about 45 minutes. You do not need a GPU.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch

from warpwise import compare, cuda, profile
from warpwise.numerics import (
    BLOCK_FORMATS,
    decode,
    encode,
    quantise,
    round_to,
    scaled_matmul,
)
from warpwise.show.dial import Dial, Dialled
from warpwise.show.plot import bundle

# %% [markdown]
r"""
## 1. One scale for a tensor

E4M3 reaches from 2^-9 to 448. The values of a layer may lie anywhere, so they are moved first: divide by a *scale* s, round to the format, and remember s.

    code = E4M3(x / s)        x is about decode(code) * s

The best place for the largest value is the end of the format. Its magnitude is called *amax*. So s = amax / 448.
To write values in such a short format is to *quantise* them; back again is to dequantise.

Here are gradients of about 10^-4. What is their typical relative error in E4M3 without a scale, and with one: 100 %, 10 %, or 2 %?
"""

# %%
guesses = {"without": "?", "with": "?"}

x = np.random.default_rng(seed=70).standard_normal((64, 256)) * 1e-4
scale = np.abs(x).max() / 448
codes = encode(x / scale, "e4m3", saturate=True)
for name, kept in (("without", round_to(x, "e4m3")), ("with", decode(codes, "e4m3") * scale)):
    error = np.abs(kept - x) / np.abs(x)
    print(f"{name:8} median relative error {100 * np.median(error):5.1f} %   guess {guesses[name]}")

# %% [markdown]
r"""
Without a scale everything is **100 %** wrong: the values are below half of 2^-9 and become 0. With one it is about **2 %**, the flat part of the error curve in `t2_04_formats`.

A tensor of n values now has n bytes and one number more. But there is a price in time: amax is known only when *all* values have been read, so they must be read twice, once for amax and once to quantise.
To avoid the first reading, *delayed scaling* takes amax from the steps before [6]. What happens if the new values are larger than the old ones?
"""

# %%
guesses = {"ml_dtypes": "?", "saturating": "?"}  # what becomes of a value of 600 * scale

grown = np.array([1.0, 300.0, 460.0, 600.0]) * scale  # 600 / 448: a third more than last step
for name, saturate in (("ml_dtypes", False), ("saturating", True)):
    print(
        f"{name:11}", round_to(grown / scale, "e4m3", saturate=saturate), "  guess", guesses[name]
    )

# %% [markdown]
r"""
One rule gives **NaN**, and one NaN is enough to lose the whole step. The other gives **448**, a value that is too small, and nobody notices.
Conversions on NVIDIA's GPUs saturate, and so does PyTorch 2.13 for E4M3; ml_dtypes does not [1]. With a scale from the values themselves neither can happen.

## 2. The outlier

In language models a few values are a hundred times larger than their neighbours. Let us put one such *outlier* into row 3 of a small matrix.
We quantise to E4M3 and to E2M1, the fp4, whose largest number is 6, each with one scale for the tensor and with one for each row.
The error of a row is taken without the outlier's column, as a share of the values. Which of the four cases suffer?
"""

# %%
guess = "?"  # which rows, in which cases

x = np.random.default_rng(seed=71).standard_normal((8, 256))
x[3, 100] = 100.0


def scaled(values, name, amax):
    scale = amax / (448 if name == "e4m3" else 6)
    return decode(encode(values / scale, name, saturate=True), name) * scale


def errors(kept):
    """Error of each row without column 100, in percent of its values."""
    wrong, right = np.delete(kept - x, 100, axis=1), np.delete(x, 100, axis=1)
    return 100 * np.linalg.norm(wrong, axis=1) / np.linalg.norm(right, axis=1)


fig, ax = plt.subplots(figsize=(7, 3))
k = 0
for name in ("e4m3", "e2m1"):
    for how, amax in (("tensor", np.abs(x).max()), ("row", np.abs(x).max(axis=1, keepdims=True))):
        found = errors(scaled(x, name, amax))
        ax.bar(
            np.arange(8) + 0.2 * k - 0.3, found, 0.2, label=f"{name}, one a {how}", hatch="/" * k
        )
        print(f"{name}, one scale a {how:7}", *(f"{one:6.1f}%" for one in found))
        k += 1
ax.set(xlabel="row", ylabel="error, %")
ax.legend(ncols=4, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1))
plt.show()
print("guess:", guess)

# %% [markdown]
r"""
E4M3 does not suffer at all. It has exponents of its own: its normal numbers reach from 448 down to 2^-6, a factor of 28,672, and on all of them the relative error is the same. A hundred is nothing to it.
E2M1 reaches from 6 down to 0.5, a factor of 12. With one scale for the tensor **every** row becomes zero. With a scale for each row only **row 3** does.

Rows are a natural choice, since a product of matrices lets their scales through: out = A @ B.T has one row of A and one row of B in each element, so

    out[i, j] = (sum over k of a[i, k] * b[j, k]) * s_a[i] * s_b[j]

The tensor core multiplies codes, and the scales come once, at the end. PyTorch has this as `torch._scaled_mm`, also on the CPU. Is it the same as a product of the dequantised matrices?
"""

# %%
guess = "?"  # the same, nearly, or not?

torch.manual_seed(0)
a, b = torch.randn(16, 64), torch.randn(32, 64)
s_a, s_b = (one.abs().amax(dim=1, keepdim=True) / 448 for one in (a, b))
a8, b8 = ((one / s).to(torch.float8_e4m3fn) for one, s in ((a, s_a), (b, s_b)))
product = torch._scaled_mm(a8, b8.T, scale_a=s_a, scale_b=s_b.T, out_dtype=torch.float32)
plain = (a8.float() * s_a) @ (b8.float() * s_b).T
print("equal up to rounding in float32:", torch.allclose(product, plain, rtol=1e-5, atol=1e-5))
print(
    f"against the product before fp8:  {100 * (product - a @ b.T).norm() / (a @ b.T).norm():.1f} %"
)
print("guess:", guess)

# %% [markdown]
r"""
**Yes**, up to the rounding of the additions. So all the error is in the quantising, none in the multiplying.

## 3. Blocks

In fp4 row 3 is still lost. It has one outlier, and 255 values pay for it. Cut the row into *blocks* that have scales of their own, and only the neighbours in one block pay.
The same helps fp8 where values spread further: DeepSeek-V3 gives a scale to 128 neighbouring activations, and to 128 x 128 weights [2]. Blackwell's tensor cores know smaller blocks: 32 or 16 values.

Turn the dial. How large is the error of row 3 in E2M1 with blocks of 32?
"""

# %%
guess = "?"  # percent


def in_blocks(size):
    blocks = x.reshape(8, -1, size)
    return scaled(blocks, "e2m1", np.abs(blocks).max(axis=2, keepdims=True)).reshape(x.shape)


def draw(size):
    sizes = (16, 32, 64, 128, 256)
    found = [errors(in_blocks(one))[3] for one in sizes]
    figure, axes = plt.subplots(figsize=(6, 2.6), layout="constrained")
    colours = ["tab:orange" if one == size else "tab:gray" for one in sizes]
    axes.bar([str(one) for one in sizes], found, color=colours)
    axes.set(xlabel="values in a block", ylabel="error of row 3, %")
    plt.close(figure)
    return bundle(figure, f"blocks of {size}: {found[sizes.index(size)]:.1f} %")


print("guess:", guess)
Dialled([Dial("size", (16, 32, 64, 128, 256), 32)], draw)

# %% [markdown]
r"""
**32.5 %** with blocks of 32, and 21 % with blocks of 16. The smaller the block, the fewer values suffer. But each block costs a scale, and in a product the scales along k do not come out of the sum any more: after each block the partial sum must be multiplied by its own scales. Hardware that does not know blocks does this with ordinary instructions. Blackwell's tensor cores do it themselves.

## 4. MXFP8: the scale is a power of two

The Open Compute Project fixed a family of formats with blocks of 32, called MX for *microscaling* [3]. Their scale is one byte, E8M0: eight bits of exponent and nothing else. Multiplying by it is exact; it only moves exponents.

    value = element * 2^(scale byte - 127)

A scale that is a power of two cannot put amax exactly at the end of the format. There are two rules for choosing it:

- *floor*: 2^(floor(log2 amax) - 8) for E4M3, whose largest number lies above 2^8. The MX specification recommends it.
- *up*: the smallest power of two with amax / scale <= 448. NVIDIA's Transformer Engine uses it for MXFP8 [4].

An amax of 500: which scales do the two rules give, and what becomes of the 500?
"""

# %%
guesses = {"floor": "?", "up": "?"}

block = np.full(32, 100.0)
block[7] = 500.0
for rule, guess in guesses.items():
    kept = quantise(block, "mxfp8", rule=rule)
    print(f"{rule:6} scale byte {kept.scales[0]}, scale {decode(kept.scales[0], 'e8m0'):g},",
          f"500 becomes {kept.dequantise()[7]:g}   guess {guess}")  # fmt: skip

# %% [markdown]
r"""
floor takes the scale **1** and cuts 500 off to **448**. up takes **2** and keeps 250 of them, which rounds to 256: it reads back **512**.

How often does floor cut something off? Whenever amax divided by its scale lies between 448 and 512. This is one block in five, if the logarithms are spread evenly: log2(512 / 448) = 0.19.
The price of up: in these blocks the scale is twice as large, and so is the smallest number.

## 5. MXFP4: 17 bytes

With E2M1 elements, 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives, a block of 32 takes 16 bytes, and the scale one. Here is a block to the byte. The element with number 2 i is in the lower half of byte i, the one with 2 i + 1 in the upper half.

amax is 5.2. Which scale byte do you expect with the rule up? And what are the first two elements, 0.9 and -2.6?
"""

# %%
guesses = {"scale byte": "?", "first byte": "?"}

block = np.zeros(32)
block[:6] = (0.9, -2.6, 5.2, 0.2, 1.2, -0.1)
kept = quantise(block, "mxfp4")
print("scale byte:", kept.scales[0], "  guess", guesses["scale byte"])
print("elements:  ", kept.elements.tobytes().hex(" "), "  guess", guesses["first byte"])
print("values:    ", *kept.dequantise()[:6])
print("bytes:     ", kept.nbytes)

# %% [markdown]
r"""
The scale is 1, since 5.2 is below 6, and its byte is **127**. 0.9 rounds to 1, code 2; -2.6 to -3, code 5 with the sign bit, 0xd. The first byte is **0xd2**: the second element stands in front.

How does a kernel round to E2M1? There are only seven borders between the eight magnitudes. Count those that the value is beyond:

    code = (v > 0.25) + (v >= 0.75) + (v > 1.25) + (v >= 1.75) + (v > 2.5) + (v >= 3.5) + (v > 5)

In each pair of neighbours one code is even, and the border itself goes to that one. So > and >= take turns.

4.25 bits for a value. And how good is it? Let an outlier grow in a block of small values, and watch which of its neighbours survive.
"""

# %%
guess = "?"  # from which size of the outlier on are all values of 1 lost?


def with_outlier(size):
    some = np.ones(32)
    some[:8] = (0.25, 0.5, 0.75, 1.5, 2.0, 2.5, 3.0, size)
    back = quantise(some, "mxfp4").dequantise()
    figure, axes = plt.subplots(figsize=(6, 2.6), layout="constrained")
    axes.plot(some[:9], "o", label="before", mfc="none", ms=9)
    axes.plot(back[:9], "x", label="MXFP4", ms=8)
    axes.set(xlabel="element", ylim=(-0.2, 3.4), ylabel="value")
    axes.legend(loc="upper left")
    plt.close(figure)
    return bundle(figure, f"outlier {size}: {back[:9]}")


for size in (3, 6, 12, 24, 48):
    ones = np.append(np.ones(31), size)
    print(f"outlier {size:2}: 1 becomes {quantise(ones, 'mxfp4').dequantise()[0]}")
print("guess:", guess)
Dialled([Dial("size", (3, 6, 12, 24, 48), 6)], with_outlier)

# %% [markdown]
r"""
From **24** on: the scale is 4, so the smallest step is 2, and 1 lies exactly halfway between 0 and 2 and goes to the even code, 0. The reach of a block is 6 to 0.5, a factor of 12, and with rounding just under 24. What is smaller than that is lost.

## 6. NVFP4: two scales

A power of two is a coarse scale: on average the largest element uses only part of E2M1's few numbers. NVFP4 therefore takes an E4M3 as scale, for 16 values instead of 32 [5].
But an E4M3 reaches only from 2^-9 to 448. So the tensor gets a scale as well, one float32:

    tensor = amax of the tensor / (448 * 6)
    scale of a block = E4M3(amax of the block / 6 / tensor)
    value = element * scale * tensor

448 * 6 is the largest that element and block scale can say together. So the block with the largest value gets the scale 448.
How many bytes has a block? How many bits a value? And how does the error compare with MXFP4's?
"""

# %%
guesses = {"mxfp8": "?", "mxfp4": "?", "nvfp4": "?"}  # bits a value

weights = np.random.default_rng(seed=72).standard_normal((128, 512)) * 0.02
for name, guess in guesses.items():
    fmt = BLOCK_FORMATS[name]
    kept = quantise(weights, name)
    error = np.linalg.norm(kept.dequantise() - weights) / np.linalg.norm(weights)
    print(f"{name}: {fmt.bytes_per_block:2} bytes for {fmt.block}, {fmt.bits_per_value} bits a value,",
          f"{100 * fmt.bits_per_value / 16:.0f} % of fp16, error {100 * error:.1f} %   guess {guess}")  # fmt: skip
kept = quantise(weights, "nvfp4")
print("largest block scale:", decode(kept.scales.max(), "e4m3"), "  tensor's scale:", kept.tensor)
fmt = BLOCK_FORMATS["nvfp4"]
print(f"NVFP4: {16 / fmt.bits_per_value:.2f} times smaller than fp16, "
      f"{8 / fmt.bits_per_value:.2f} times smaller than fp8")  # fmt: skip

# %% [markdown]
r"""
**8.25**, **4.25** and **4.5** bits; the four bytes of the tensor do not count. NVIDIA's introduction of the format [7] says 3.5 times smaller than fp16 and 1.8 times smaller than fp8: here you have them with one digit more, **3.56** and **1.78**.
Its table gives "about 25 % of fp16" for MXFP4 and NVFP4 alike. That leaves out the scales: it is **27 %** and **28 %**. On a model of 70 billion weights the difference between 25 and 28 % is more than 4 GB.

For a quarter of a bit more than MXFP4 the error falls by a fifth, for these values.

And against one scale for the whole tensor? We compare twice: the weights as they are, and with a single one of them set to 3, a hundred and fifty times the usual size. The error is that of all the others.
"""

# %%
guess = "?"  # the error of E2M1 with one scale, after the change

spoiled = weights.copy()
spoiled[5, 5] = 3.0
others = np.ones(weights.shape, bool)
others[5, 5] = False
print("                    as they are   one weight is 3")
for name in ("e4m3", "e2m1", "mxfp8", "mxfp4", "nvfp4"):
    found = []
    for one in (weights, spoiled):
        block = name in BLOCK_FORMATS
        kept = quantise(one, name).dequantise() if block else scaled(one, name, np.abs(one).max())
        found.append(np.linalg.norm((kept - one)[others]) / np.linalg.norm(one[others]))
    how = "" if block else ", one scale"
    print(f"{name + how:16}", *(f"{100 * error:13.1f} %" for error in found))
print("guess:", guess)

# %% [markdown]
r"""
As they are, the weights hardly need blocks: normal values are all of one size, and E2M1 with one scale has 12.7 % against 11.9 % of MXFP4. One outlier changes that: with one scale, **100 %** is lost.
In fp8 nothing happens: blocks or not, all of it is in reach. So blocks are what makes *four* bits possible.

The division of labour: the float32 brings the tensor into the reach of the block scales, the block scale brings the block into the reach of the elements. With a wide tensor, the smallest blocks fall off: a block whose amax is 448 * 512 times smaller than the tensor's has a scale below 2^-9, the smallest of E4M3.

## 7. Weights are used in both directions

Training multiplies by a weight matrix W in the forward pass and by its transpose in the backward pass. The blocks must lie along k, so the two passes cut W along different axes. Does quantising along rows give the same values as along columns?
"""

# %%
guesses = {"blocks of 16": "?", "squares of 16 x 16": "?"}  # share of values that differ

for (name, guess), rows in zip(guesses.items(), (1, 16)):
    forward = quantise(weights, "nvfp4", rows=rows).dequantise()
    backward = quantise(weights.T, "nvfp4", rows=rows).dequantise().T
    error = np.linalg.norm(forward - weights) / np.linalg.norm(weights)
    print(f"{name:18} {100 * (forward != backward).mean():5.1f} % of the values differ,",
          f"error {100 * error:.1f} %   guess {guess}")  # fmt: skip

# %% [markdown]
r"""
With blocks of 16, **77 %** differ: the gradient would belong to another matrix than the one that was used. Transformer Engine scales weights by squares of 16 x 16 [5]: then **none** differ, and the price is a somewhat larger error.
MXFP8 has no squares: there each tensor is quantised twice from the original values, once for each direction [4].
Activations and gradients keep blocks of 16 along k. Gradients are rounded stochastically, as in `t2_06_accumulation`, so that their mean is right.

## 8. The product

With blocks along k, each pair of blocks is multiplied as elements, and the partial sum is scaled once:

    out[i, j] = tensor_a * tensor_b * (sum over blocks of s_a[i, block] * s_b[j, block] * (sum in the block of a * b))

Is this the product of the dequantised matrices? And what is its error against the product before quantising, in the three formats?
"""

# %%
guess = "?"  # the error of the product in NVFP4, when each factor has about 9.5 %

inputs = np.random.default_rng(seed=73).standard_normal((32, 512))
exact = inputs @ weights.T
for name in ("mxfp8", "mxfp4", "nvfp4"):
    a, b = quantise(inputs, name), quantise(weights, name)
    product = scaled_matmul(a, b)
    same = np.allclose(product, a.dequantise() @ b.dequantise().T, rtol=1e-12, atol=1e-15)
    error = np.linalg.norm(product - exact) / np.linalg.norm(exact)
    print(f"{name}: dequantised product {same}, error {100 * error:.1f} %")
print("guess:", guess)

# %% [markdown]
r"""
It **is**. The scales are constant in a block, so they may be taken out of its sum.
The error of the product is the errors of both factors together, as if they were the sides of a right angle: sqrt(2) times about 9.5 %. It does not shrink with the length of the sum, but it does not grow either: the random parts of the sum grow in the same way.

In memory we keep the scales row by row. Before a product they are rearranged once more, into pieces of 128 rows by 4 scales in the order in which the tensor core takes them, which is called *swizzling* [4]. It changes no value.

## 9. The largest of each block, in a kernel

To quantise a block you need its amax first. A block of 32 values and a warp of 32 lanes: give each lane one value. After five shuffles with `max` each lane knows the largest.

The plain way is one thread for each block, which reads 32 values in a row. How many times more sectors does it load?
"""

# %%
guess = "?"  # times


@cuda.jit
def thread_for_block(tops, x, blocks):
    block = cuda.grid(1)
    if block < blocks:
        top = np.float32(0)
        for k in range(32):
            top = max(top, abs(x[32 * block + k]))
        tops[block] = top


@cuda.jit
def warp_for_block(tops, x, blocks):
    i = cuda.grid(1)
    if i // 32 < blocks:  # the same for all lanes of a warp
        top = abs(x[i])
        for k in range(5):
            top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, 16 >> k))
        if i % 32 == 0:
            tops[i // 32] = top


blocks = 4096
values = np.random.default_rng(seed=74).standard_normal(32 * blocks).astype(np.float32)
tops = np.zeros(blocks, np.float32)
for kernel, threads in ((thread_for_block, blocks), (warp_for_block, 32 * blocks)):
    report = profile(kernel[threads // 128, 128], tops, values, blocks)
    print(
        f"{kernel.__name__}: {report.loads.sectors:,} sectors loaded, {report.stores.sectors:,} stored"
    )
compare(
    {
        "thread for block": (thread_for_block[blocks // 128, 128], tops, values, blocks),
        "warp for block": (warp_for_block[32 * blocks // 128, 128], tops, values, blocks),
    },
    device="B200",
)

# %% [markdown]
r"""
**Eight** times: each of its loads touches 32 sectors for 32 values, of which it uses an eighth; a cache may save the rest. Nsight Compute: `l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum`.
The version with shuffles reads each sector once. It needs no shared memory and no barrier, and it has the value still in its register when the scale is known. So a block format is quantised in *one* pass over memory, where one scale for the tensor takes two.

From the bits of amax to the scale byte it is a short way. `math.frexp(amax)` gives m and e with amax = m * 2^e and m from 0.5 up to, not including, 1. For E4M3, 448 is 0.875 * 2^9. So the rule up is: e - 9 if m is at most 0.875, else one more; plus 127; and from 0 to 254.
`math.ldexp(x, k)` multiplies by 2^k, exactly.
"""

# %%
for top in (448.0, 460.0, 1.0, 3e-5):
    m, e = np.frexp(np.float32(top))
    byte = int(e) - 9 + 127 + int(m > 0.875)
    print(
        f"amax {top:g} = {m:.4f} * 2^{e}: scale byte {byte}, amax / scale = {np.ldexp(top, 127 - byte):g}"
    )

# %% [markdown]
r"""
## What to remember

- scale = amax / largest number. One scale for the tensor: two passes, and one outlier spoils everything.
- A scale per row comes out of the product. A scale per block along k is applied to each partial sum.
- A scale that is too old: NaN or a silent 448. Say which rule you use.
- MX: 32 elements and one E8M0. MXFP8 33 bytes, MXFP4 17. The rule floor cuts off, the rule up does not.
- NVFP4: 16 elements of E2M1 and one E4M3, 9 bytes, and one float32 for the tensor: amax / (448 * 6).
- Weights by squares of 16 x 16 are the same in both directions.
- A scaled product is the product of the dequantised matrices: the error is in the quantising.
- One warp for a block of 32: five shuffles, one pass, no shared memory.

**Next:** the lab, `t2_07_block_scaling_lab`, in your folder `mine/t2_gpu/`.

## Sources

1. Measured here and in `t2_04_formats`, with ml_dtypes and PyTorch of this environment; NVIDIA, PTX ISA, `cvt` with `.satfinite`.
2. DeepSeek-AI, DeepSeek-V3 Technical Report, arXiv 2412.19437 v2, section 3.3.2.
3. Open Compute Project, Microscaling Formats (MX) Specification, version 1.0, 2023: sections 5 and 6.3 (the rule floor).
4. NVIDIA, Transformer Engine documentation, "MXFP8", as of August 2026: exponent rounded up.
5. NVIDIA, Transformer Engine documentation, "NVFP4", as of August 2026: both scales, 2D scaling of weights, stochastic rounding of gradients.
6. NVIDIA, Transformer Engine documentation, "FP8 Delayed Scaling", as of August 2026: one reading in the place of two; values beyond the end are clipped.
7. NVIDIA, Introducing NVFP4 for Efficient and Accurate Low-Precision Inference, developer blog, 2025: the table of formats, and the factors 3.5 and 1.8.
"""
