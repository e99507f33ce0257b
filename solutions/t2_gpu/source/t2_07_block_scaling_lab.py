# %% [markdown]
r"""
# Lab: block scaling

Six exercises on scales, with what you saw in the lesson `t2_07_block_scaling`. They take about 60 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

Run this cell first.
"""

# %%
import math

import numpy as np

from warpwise import check, cuda, profile, sanitize
from warpwise.numerics import decode, encode, quantise

# %% [markdown]
r"""
## Exercise 1 - The bytes before you write it (1 point)

**Goal.** Say how many bytes a matrix takes in a block format.

**Given.** `rows` and `columns` of the matrix. `bits` of an element: 4, 6 or 8. `block`: so many neighbouring elements of a row share a scale of one byte; it is a multiple of 8.
`tensor_bytes`: the bytes of the tensor's own scale, 4 for NVFP4, 0 for MX formats.

**Required.** The bytes in all, an integer. A row whose length is no multiple of the block is filled up with zeros to whole blocks, and those are stored, too.

**Example.** `block_bytes(2, 40, 4, 32, 0)` is 68: two rows of two blocks of 17 bytes.
"""


# %% block_bytes tags=["exercise"]
def block_bytes(rows, columns, bits, block, tensor_bytes):
    """Bytes of a (rows, columns) matrix: elements, a byte for each block, the tensor's scale."""
    ### BEGIN SOLUTION
    blocks = rows * -(-columns // block)
    return blocks * (block * bits // 8 + 1) + tensor_bytes
    ### END SOLUTION


# %% tags=["check"]
if check("block_bytes", block_bytes).status == "pass":
    kept = quantise(np.ones((64, 1024)), "nvfp4")
    print("predicted", block_bytes(64, 1024, 4, 16, 4), "  quantise made", kept.nbytes)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
How many blocks has a row, and how many bytes has a block?
</details>
<details><summary>Hint 2</summary>
A row has columns / block blocks, rounded up. A block has block * bits / 8 bytes of elements and one byte of scale.
</details>
<details><summary>Hint 3</summary>
<code>rows * -(-columns // block)</code> blocks of <code>block * bits // 8 + 1</code> bytes, plus <code>tensor_bytes</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - A scale for each row (2 points)

**Goal.** Quantise a matrix to E4M3 with a scale for each row, so that a row with an outlier leaves the others alone.

**Given.** `x`: `(m, n)` float64, m and n at least 1. Some rows may be all zeros.

**Required.** A tuple `(codes, scales)`. `scales`: `(m,)`, the largest magnitude of the row divided by 448; 1.0 for a row of zeros.
`codes`: `(m, n)` integers, the E4M3 codes of the row divided by its scale, saturating. `encode(values, "e4m3", saturate=True)` makes codes.

**Example.** For the row `[1.0, -2.0]` the scale is 2 / 448 and the codes are 0x76 (224) and 0xFE (-448).
"""


# %% row_scales tags=["exercise"]
def row_scales(x):
    """(codes, scales): E4M3 codes of each row divided by its scale, largest magnitude / 448."""
    ### BEGIN SOLUTION
    scales = np.abs(x).max(axis=1) / 448
    scales[scales == 0] = 1.0
    return encode(x / scales[:, None], "e4m3", saturate=True), scales
    ### END SOLUTION


# %% tags=["check"]
if check("row_scales", row_scales).status == "pass":
    x = np.random.default_rng(seed=75).standard_normal((4, 128))
    x[2, 9] = 1e7
    codes, scales = row_scales(x)
    back = decode(codes, "e4m3") * scales[:, None]
    print("numbers that became 0 in each row:", (back == 0).sum(axis=1))

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Along which axis is the maximum? And what would a division by the scale of a row of zeros give?
</details>
<details><summary>Hint 2</summary>
<code>np.abs(x).max(axis=1) / 448</code> has one scale for each row. Replace those that are 0. To divide rows by it, it needs a second axis.
</details>
<details><summary>Hint 3</summary>
<code>scales[scales == 0] = 1.0</code>, then <code>encode(x / scales[:, None], "e4m3", saturate=True)</code>. Return codes and scales.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - amax of a tensor (2 points)

For one scale, and for NVFP4's second one, somebody must find the largest magnitude of the whole tensor. This kernel tries.
"""


# %%
@cuda.jit
def racing_amax(out, x, n):
    i = cuda.grid(1)
    if i < n:
        out[0] = max(out[0], abs(x[i]))


x = np.random.default_rng(seed=76).standard_normal(500).astype(np.float32)
out = np.zeros(1, np.float32)
for finding in sanitize(racing_amax[4, 128], out, x, x.size)[:2]:
    print(finding)
print("got", out[0], "  expected", np.abs(x).max())

# %% [markdown]
r"""
All threads read the old maximum, and all write theirs: the last one wins.

**Goal.** Mend it, without making all threads queue up at one address.

**Given.** `x`: `(n,)` float32, finite. `out`: `(1,)` float32, holds 0.0 before the launch. The block has whole warps, and there is at least one thread for each element; some have none.

**Required.** `out[0]` is the largest magnitude. `cuda.atomic.max(out, 0, value)` is allowed, but at most once for each *warp* that has elements: let its lanes agree on their largest value first.
No shared memory is needed.
"""


# %% mended_amax tags=["exercise"]
@cuda.jit
def mended_amax(out, x, n):
    """out[0] = the largest magnitude in x.   out: (1,) float32, 0.0 before;  x: (n,) float32."""
    ### BEGIN SOLUTION
    i = cuda.grid(1)
    top = np.float32(0)
    if i < n:
        top = abs(x[i])
    for k in range(5):
        top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, 16 >> k))
    if i % 32 == 0 and i < n:
        cuda.atomic.max(out, 0, top)
    ### END SOLUTION


# %% tags=["check"]
check("mended_amax", mended_amax)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
An atomic operation mends the race. Shuffles keep the number of them small. Which lanes must take part in a shuffle?
</details>
<details><summary>Hint 2</summary>
All 32, also those without an element: they bring a 0. So the <code>if i &lt; n</code> must end before the shuffles.
</details>
<details><summary>Hint 3</summary>
<code>top = np.float32(0)</code>, then <code>if i &lt; n: top = abs(x[i])</code>. Five times <code>top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, 16 &gt;&gt; k))</code>.
Lane 0 of each warp does the <code>cuda.atomic.max</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - MXFP8 scales by the rule up (2 points)

**Goal.** Write the scale byte of each block of 32 values, with a warp for each block.

**Given.** `x`: `(32 * blocks,)` float32, finite. `scales`: `(blocks,)` uint8. `blocks`: how many. The thread block has whole warps; there are at least as many warps as blocks.

**Required.** `scales[j]` is the E8M0 code of the smallest power of two with amax / scale <= 448, where amax is the largest magnitude of block j:
the exponent plus 127, from 0 to 254. A block of zeros gets 0. Each element is loaded once, without shared memory; each scale is written once.

**Examples.** amax 448.0: code 127. amax 448.1: code 128. amax 1.0: code 119.
"""


# %% mx_scale_bytes tags=["exercise"]
@cuda.jit
def mx_scale_bytes(scales, x, blocks):
    """scales[j] = E8M0 code of block j, rule up, for E4M3.   uint8;  x: (32 * blocks,) float32."""
    ### BEGIN SOLUTION
    i = cuda.grid(1)
    if i // 32 < blocks:
        top = abs(x[i])
        for k in range(5):
            top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, 16 >> k))
        if i % 32 == 0:
            code = 0
            if top > 0:
                m, e = math.frexp(top)
                code = e - 9 + 127
                if m > 0.875:
                    code += 1
                code = min(max(code, 0), 254)
            scales[i // 32] = code
    ### END SOLUTION


# %% tags=["check"]
check("mx_scale_bytes", mx_scale_bytes)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
First the largest magnitude of the warp, by shuffles. Then its exponent. When is the exponent one too small?
</details>
<details><summary>Hint 2</summary>
<code>m, e = math.frexp(top)</code> gives top = m * 2^e with m from 0.5 to 1. And 448 is 0.875 * 2^9.
</details>
<details><summary>Hint 3</summary>
The code is <code>e - 9 + 127</code>, plus 1 if <code>m &gt; 0.875</code>, kept between 0 and 254; and 0 if top is 0. Lane 0 stores it.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - A product of NVFP4 blocks (2 points)

**Goal.** Multiply two matrices in NVFP4, with each scale in its place.

**Given.** `a`: `(m, k)` and `b`: `(n, k)`, float32, elements that are decoded already. `scale_a`: `(m, k // 16)` and `scale_b`: `(n, k // 16)`, float32, decoded block scales.
`tensor`: the product of both tensors' scales, a float32. `out`: `(m, n)` float32. k is a multiple of 16. Thread (x, y) of the grid may compute column x of row y; there are enough.

**Required.** `out[i, j]` is the product of row i of A and row j of B, dequantised: every element times the scale of its block, and all times `tensor`.
Take the scales out of the sum of each block: at most 1.1 times the floating-point operations of the course's solution. No float64.
"""


# %% nvfp4_product tags=["exercise"]
@cuda.jit
def nvfp4_product(out, a, b, scale_a, scale_b, tensor, m, n, k):
    """out = A @ B.T from elements and block scales.   out: (m, n) float32."""
    ### BEGIN SOLUTION
    j, i = cuda.grid(2)
    if i < m and j < n:
        total = np.float32(0)
        for block in range(k // 16):
            part = np.float32(0)
            for e in range(16 * block, 16 * block + 16):
                part += a[i, e] * b[j, e]
            total += part * (scale_a[i, block] * scale_b[j, block])
        out[i, j] = total * tensor
    ### END SOLUTION


# %% tags=["check"]
check("nvfp4_product", nvfp4_product)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
There are two sums, one inside the other. Which one has constant scales?
</details>
<details><summary>Hint 2</summary>
For each block: a partial sum of 16 products, then times both scales, then into the total. The tensor's scale comes last.
</details>
<details><summary>Hint 3</summary>
Outer loop <code>for block in range(k // 16)</code>, inner loop from <code>16 * block</code> to <code>16 * block + 16</code>, both sums from <code>np.float32(0)</code>.
<code>total += part * (scale_a[i, block] * scale_b[j, block])</code>; store <code>total * tensor</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - Stretch: MXFP4, 17 bytes for 32 values (3 points)

This kernel is right, and slow: a thread quantises a whole block alone.
"""


# %%
@cuda.jit
def block_by_thread(packed, scales, x, blocks):
    j = cuda.grid(1)
    if j < blocks:
        top = np.float32(0)
        for k in range(32):
            top = max(top, abs(x[32 * j + k]))
        code = 0
        if top > 0:
            m, e = math.frexp(top)
            code = min(max(e - 3 + 127 + (m > 0.75), 0), 254)  # 6 is 0.75 * 2^3
        scales[j] = code
        for k in range(0, 32, 2):
            byte = 0
            for half in range(2):
                value = x[32 * j + k + half]
                v = abs(math.ldexp(value, 127 - code))
                element = (v > 0.25) + (v >= 0.75) + (v > 1.25) + (v >= 1.75)
                element += (v > 2.5) + (v >= 3.5) + (v > 5) + 8 * (value < 0)
                byte |= element << 4 * half
            packed[16 * j + k // 2] = byte


blocks = 200
x = np.random.default_rng(seed=77).standard_normal(32 * blocks).astype(np.float32)
packed, scales = np.zeros(16 * blocks, np.uint8), np.zeros(blocks, np.uint8)
slow = profile(block_by_thread[2, 128], packed, scales, x, blocks)
right = quantise(x, "mxfp4")
print("right:", np.array_equal(packed, right.elements) and np.array_equal(scales, right.scales))
print(f"sectors loaded {slow.loads.sectors:,}, stored {slow.stores.sectors:,}")

# %% [markdown]
r"""
**Goal.** The same bytes, with a warp for each block.

**Given.** As in exercise 4; `packed`: `(16 * blocks,)` uint8 as well. No element is -0.0, and no magnitude but 0 is outside of 2^-100 to 2^100.

**Required.** `scales[j]` is the E8M0 code by the rule up, for E2M1, whose largest number is 6. `packed` has the E2M1 codes, rounded to nearest, ties to even, two in a byte: of block j bytes 16 j to 16 j + 15, the element with the even number in the low half.
Negative values that round to zero keep their sign: 0x8. Each byte is written once. No shared memory, no float64, each value loaded once: no more sectors than the course's solution, and at most 1.5 times its issue slots.
"""


# %% mxfp4_blocks tags=["exercise"]
@cuda.jit
def mxfp4_blocks(packed, scales, x, blocks):
    """E2M1 codes and E8M0 scales of blocks of 32.   packed, scales: uint8;  x: float32."""
    ### BEGIN SOLUTION
    i = cuda.grid(1)
    lane = i % 32
    if i // 32 < blocks:
        value = x[i]
        top = abs(value)
        for k in range(5):
            top = max(top, cuda.shfl_xor_sync(0xFFFFFFFF, top, 16 >> k))
        code = 0
        if top > 0:
            m, e = math.frexp(top)
            code = min(max(e - 3 + 127 + (m > 0.75), 0), 254)
        v = abs(math.ldexp(value, 127 - code))
        element = (v > 0.25) + (v >= 0.75) + (v > 1.25) + (v >= 1.75)
        element += (v > 2.5) + (v >= 3.5) + (v > 5) + 8 * (value < 0)
        high = cuda.shfl_down_sync(0xFFFFFFFF, element, 1)
        if lane % 2 == 0:
            packed[i // 2] = element | high << 4
        if lane == 0:
            scales[i // 32] = code
    ### END SOLUTION


# %% tags=["check"]
if check("mxfp4_blocks", mxfp4_blocks).status == "pass":
    fast = profile(mxfp4_blocks[50, 128], packed, scales, x, blocks)
    for name, report in (("thread for block", slow), ("yours", fast)):
        print(
            f"{name:17} sectors loaded {report.loads.sectors:6,}, stored {report.stores.sectors:5,}"
        )

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Each lane has one value and makes one code. But a byte has two codes, and only one lane may write it.
</details>
<details><summary>Hint 2</summary>
amax by shuffles, as in exercise 4; every lane can compute the scale. The code as in the slow kernel. Then each even lane needs the code of its right neighbour: one more shuffle, by all lanes.
</details>
<details><summary>Hint 3</summary>
<code>high = cuda.shfl_down_sync(0xFFFFFFFF, element, 1)</code>, outside of any <code>if</code> that divides the warp. Then even lanes store <code>element | high &lt;&lt; 4</code> at <code>i // 2</code>, and lane 0 the scale.
</details>
"""

# %% [markdown] tags=["solution"]
r"""
## Remarks on the answers

- In exercise 3 the lanes without elements bring 0, which no magnitude is below. For a plain maximum it would have to be minus infinity.
- In exercise 4 the clip at 0 matters only for amax below 448 * 2^-127, and the one at 254 never, since float32 ends before.
- In exercise 5 the two scales are multiplied with each other first. They are the same for all threads of a row or a column, and caches serve them.
- In exercise 6 a warp writes 16 neighbouring bytes: half of a sector. Two blocks in a warp would fill it.
"""

# %% [markdown]
r"""
**Done?** You can put a tensor into 4.25 bits a value, and say what it costs.
"""
