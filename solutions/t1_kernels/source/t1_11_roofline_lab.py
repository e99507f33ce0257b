# %% [markdown]
r"""
# Lab: roofline

Six exercises on bounds: what a kernel has to do, which part of the GPU is busy longest with it, and how to move that.
You saw all you need in the lesson `t1_11_roofline`. They take about 45 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

A multiplication and an addition are two operations, also as one FMA. A sector has 32 bytes.
1 GB/s is 10^9 bytes a second, 1 TFLOP/s is 10^12 operations a second.

Run this cell first.
"""

# %%
import numpy as np
from IPython.display import display

from warpwise import check, cuda, explain, profile
from warpwise.hardware import device
from warpwise.show import table

# %% [markdown]
r"""
## Exercise 1 - Place a kernel (1 point)

**Goal.** Work out where a kernel stands on the roofline of any device, before the kernel exists.

**Given.** The device: `peak_tflops` in TFLOP/s for the format of the kernel, `bandwidth_gbs` of its DRAM in GB/s.
The kernel: `flops`, its operations, and `nbytes`, the bytes that have to move, both for the whole launch.

**Required.** A tuple of four: the intensity of the kernel and the ridge of the device, both in operations a byte;
the least time in milliseconds; and the string `"memory"` or `"arithmetic"`, whichever binds. The two are never equally long.

**Example.** SAXPY on 2^28 elements, on an A100 with 40 GB:
`place(19.5, 1555, 2 * 2**28, 12 * 2**28)` is about `(0.1667, 12.54, 2.0715, "memory")`.
"""


# %% place tags=["exercise"]
def place(peak_tflops, bandwidth_gbs, flops, nbytes):
    """(intensity, ridge, milliseconds at best, "memory" or "arithmetic")."""
    ### BEGIN SOLUTION
    intensity = flops / nbytes
    ridge = peak_tflops * 1000 / bandwidth_gbs
    arithmetic_ms = flops / (peak_tflops * 1e12) * 1000
    memory_ms = nbytes / (bandwidth_gbs * 1e9) * 1000
    binds = "memory" if intensity < ridge else "arithmetic"
    return intensity, ridge, max(arithmetic_ms, memory_ms), binds
    ### END SOLUTION


# %% [markdown]
r"""
When the check passes, a table follows: a kernel with 20 operations a byte on six devices, in three formats.
"""

# %% tags=["check"]
if check("place", place).status == "pass":
    rows = []
    for name in ("T4", "V100", "A100 40GB", "RTX 4090", "H100", "B200"):
        gpu = device(name)
        found = [place(gpu.peak(k), gpu.dram_gbs.value, 20, 1) for k in ("fp64", "fp32", "fp16")]
        rows.append([gpu.name, *(f"{ridge:.3g}: {binds}" for _, ridge, _, binds in found)])
    display(table(("ridge, and what binds at 20", "fp64", "fp32", "fp16 tensor"), rows, "modelled"))

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Two pipes work at the same time. How long is each of them busy?
</details>
<details><summary>Hint 2</summary>
Work over rate, in the same units: 1 TFLOP/s is 1,000 GFLOP/s. The pipe that is busy longer sets the time.
Left of the ridge memory binds.
</details>
<details><summary>Hint 3</summary>
<code>flops / nbytes</code>, <code>1000 * peak_tflops / bandwidth_gbs</code>,
and the larger of <code>flops / (peak_tflops * 1e9)</code> and <code>nbytes / (bandwidth_gbs * 1e6)</code> milliseconds.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - Counted and compulsory (2 points)

**Goal.** Find both ends of the traffic: what moves without any cache, and what moves with a perfect one.

**Given.** `requests`: a list with one entry for each request of a warp. An entry is the list of the byte addresses that its active lanes access.
`itemsize`: 1, 2, 4 or 8, the bytes that each lane accesses, from its address on. Addresses are multiples of `itemsize`.

**Required.** A tuple `(counted, compulsory)` of two integers, both in *bytes*:
the sectors of all requests, each request on its own; and all sectors that are touched at all, each once.

**Example.** `traffic_of([[0, 4, 8], [8, 96]], 4)` is `(96, 64)`: the first request needs one sector, the second two,
and one of these was there before.
"""


# %% traffic_of tags=["exercise"]
def traffic_of(requests, itemsize):
    """(bytes without any cache, bytes with a perfect one)."""
    ### BEGIN SOLUTION
    counted = 0
    touched = set()
    for addresses in requests:
        sectors = {address // 32 for address in addresses}
        counted += len(sectors)
        touched |= sectors
    return 32 * counted, 32 * len(touched)
    ### END SOLUTION


# %% tags=["check"]
check("traffic_of", traffic_of)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Which sector does a byte address lie in? Does an aligned word ever lie in two?
</details>
<details><summary>Hint 2</summary>
Make a set of sectors for each request. For the first number add up their sizes, for the second join them.
</details>
<details><summary>Hint 3</summary>
<code>sectors = {address // 32 for address in addresses}</code>. Both numbers are 32 times a count. You do not need <code>itemsize</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - Bound a kernel before you run it (1 point)

Here is a kernel that has never run.
"""


# %%
@cuda.jit
def blend(out, photo, weights, gain):
    x, y = cuda.grid(2)
    height, width = out.shape
    if x < width and y < height:
        right = photo[y, min(x + 1, width - 1)]
        out[y, x] = gain[0] * (weights[x] * photo[y, x] + right)


# %% [markdown]
r"""
**Goal.** Say how many bytes a perfect cache would move for it.

**Given.** `out`: (1200, 1600) float32. `photo`: (1200, 1600) *uint8*. `weights`: (1600,) float32. `gain`: (1,) float32.
Each array starts at a multiple of 256 bytes. The grid covers `out`.

**Required.** The compulsory traffic of the launch in bytes, all four arrays together: an integer. Whole sectors, remember.

**Example.** A copy of a photo of this size and type would move 2 * 1200 * 1600 = 3,840,000 bytes.
"""


# %% blend_bytes tags=["exercise"]
def blend_bytes():
    """Bytes that have to move for the launch of blend."""
    ### BEGIN SOLUTION
    pixels = 1200 * 1600
    return 4 * pixels + 1 * pixels + 4 * 1600 + 32
    ### END SOLUTION


# %% [markdown]
r"""
When the check passes, the kernel runs for the first time. Compare the number in the row "DRAM" with yours.
"""

# %% tags=["check"]
if check("blend_bytes", blend_bytes).status == "pass":
    photo = np.random.default_rng(seed=3).integers(0, 256, (1200, 1600), dtype=np.uint8)
    blended = np.zeros((1200, 1600), np.float32)
    weights, gain = np.linspace(0, 1, 1600, dtype=np.float32), np.ones(1, np.float32)
    launch = blend[(50, 150), (32, 8)]
    print(explain(launch, blended, photo, weights, gain, device="A100 40GB").bound)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Go through the arrays one by one. How often does each of them have to move, with a perfect cache?
</details>
<details><summary>Hint 2</summary>
How large is an element of each array? Which array is smaller than a sector?
</details>
<details><summary>Hint 3</summary>
out: 4 bytes a pixel, photo: 1 byte a pixel, weights: 4 bytes a column, gain: one sector.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - Twelve kernels (2 points)

Twelve kernels, written as short as possible: no guards, for all launches fit exactly. `N` is 2^18. Do not run them yet.

| kernel | launch | arrays |
|---|---|---|
| `copy` | `[N // 256, 256]` | `out`, `x`: N float32 |
| `saxpy` | `[N // 256, 256]` | `out`, `x`, `y`: N float32 |
| `poly` with 16 rounds, called `poly_16` | `[N // 256, 256]` | `out`, `x`: N float32 |
| `poly` with 128 rounds, called `poly_128` | `[N // 256, 256]` | `out`, `x`: N float32 |
| `poly_double` with 16 rounds, called `double_16` | `[N // 256, 256]` | `out`, `x`: N *float64* |
| `poly_double` with 64 rounds, called `double_64` | `[N // 256, 256]` | `out`, `x`: N *float64* |
| `every_8th` | `[N // 8 // 256, 256]` | `out`: N // 8, `x`: N float32 |
| `sum_33` | `[N // 256, 256]` | `out`: N, `x`: N + 32 float32 |
| `table_sum` | `[N // 256, 256]` | `out`: N, `numbers`: 4096 float32 |
| `pair_sums` | `[256, 256]` | `out`, `x`: 65,536 float32 |
| `matvec` | `[256, 256]` | `out`: 2048, `a`: (2048, 512), `v`: 512 float32 |
| `matmul` | `[(16, 16), (16, 16)]` | `out`, `a`, `b`: (256, 256) float32 |
"""

# %%
N = 2**18


@cuda.jit
def copy(out, x):
    i = cuda.grid(1)
    out[i] = x[i]


@cuda.jit
def saxpy(out, x, y, s):
    i = cuda.grid(1)
    out[i] = s * x[i] + y[i]


@cuda.jit
def poly(out, x, rounds):
    i = cuda.grid(1)
    start = x[i]
    value = start
    for _ in range(rounds):
        value = value * start + np.float32(0.5)
    out[i] = value


@cuda.jit
def poly_double(out, x, rounds):
    i = cuda.grid(1)
    start = x[i]
    value = start
    for _ in range(rounds):
        value = value * start + 0.5
    out[i] = value


@cuda.jit
def every_8th(out, x):
    i = cuda.grid(1)
    start = x[8 * i]
    value = start
    for _ in range(64):
        value = value * start + np.float32(0.5)
    out[i] = value


@cuda.jit
def sum_33(out, x):
    i = cuda.grid(1)
    total = np.float32(0)
    for k in range(33):
        total += x[i + k]
    out[i] = total


@cuda.jit
def table_sum(out, numbers):  # each block adds up the whole table
    i = cuda.grid(1)
    total = np.float32(0)
    for k in range(cuda.threadIdx.x, 4096, 256):
        total += numbers[k]
    out[i] = total


@cuda.jit
def pair_sums(out, x):  # all lanes of a warp load the same x[j]
    i = cuda.grid(1)
    own = x[i]
    total = np.float32(0)
    for j in range(512):
        away = x[j] - own
        square = away * away
        total += square * square * square - square
    out[i] = total


@cuda.jit
def matvec(out, a, v):  # a warp for each row
    row = cuda.grid(1) // 32
    lane = cuda.threadIdx.x % 32
    total = np.float32(0)
    for k in range(lane, 512, 32):
        total += a[row, k] * v[k]
    for step in (16, 8, 4, 2, 1):
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, step)
    if lane == 0:
        out[row] = total


@cuda.jit
def matmul(out, a, b):
    x, y = cuda.grid(2)
    total = np.float32(0)
    for k in range(256):
        total += a[y, k] * b[k, x]
    out[y, x] = total


# %% [markdown]
r"""
**Goal.** Say for each of them which roof is the lowest on an A100 with 40 GB: where the work takes longest at best.

**Given.** The roofs of section 6, and the two peaks:

| roof | rate | what counts |
|---|---|---|
| `"DRAM"` | 1,555 GB/s | each touched sector once |
| `"L2"` | 7,219 GB/s | each touched sector once for each block |
| `"load/store"` | 19,492 GB/s | 128 bytes for each pass: one for every 4 sectors of a request, at least one |
| `"fp32"` | 19.5 TFLOP/s in FMAs, half of it in lone sums and products | float32 operations |
| `"fp64"` | 9.7 TFLOP/s in FMAs, half of it in lone sums and products | float64 operations |

**Required.** A dictionary from each of the twelve names to the string of its roof. The dictionary stands there already; put a roof in the place of each `"?"`.
The two lowest roofs of a kernel are at least 15 % apart, mostly much more. You can do it in your head, with one or two divisions on paper.

**Example.** `copy` has 8 bytes an element for all three memories, and the DRAM is the slowest: `"DRAM"`.
"""


# %% twelve_limiters tags=["exercise"]
def twelve_limiters():
    """Name of the kernel -> "DRAM", "L2", "load/store", "fp32" or "fp64"."""
    ### BEGIN SOLUTION
    return {
        "copy": "DRAM",
        "saxpy": "DRAM",
        "poly_16": "DRAM",
        "poly_128": "fp32",
        "double_16": "DRAM",
        "double_64": "fp64",
        "every_8th": "DRAM",
        "sum_33": "load/store",
        "table_sum": "L2",
        "pair_sums": "fp32",
        "matvec": "DRAM",
        "matmul": "load/store",
    }
    ### END SOLUTION


# %% [markdown]
r"""
The check says how many are right. When all are, the twelve run, and a table shows all roofs.
"""

# %% tags=["check"]
if check("twelve_limiters", twelve_limiters).status == "pass":
    singles = np.random.default_rng(seed=4).random(N + 32, dtype=np.float32)
    x, y, out = singles[:N], singles[:N].copy(), np.zeros(N, np.float32)
    doubles, out_64 = x.astype(np.float64), np.zeros(N)
    a, b, c = x[: 256 * 256].reshape(256, 256), y[: 256 * 256].reshape(256, 256), out[: 256 * 256]
    launches = {
        "copy": (copy[N // 256, 256], out, x),
        "saxpy": (saxpy[N // 256, 256], out, x, y, np.float32(2)),
        "poly_16": (poly[N // 256, 256], out, x, 16),
        "poly_128": (poly[N // 256, 256], out, x, 128),
        "double_16": (poly_double[N // 256, 256], out_64, doubles, 16),
        "double_64": (poly_double[N // 256, 256], out_64, doubles, 64),
        "every_8th": (every_8th[N // 8 // 256, 256], out[: N // 8], x),
        "sum_33": (sum_33[N // 256, 256], out, singles),
        "table_sum": (table_sum[N // 256, 256], out, x[:4096]),
        "pair_sums": (pair_sums[256, 256], out[:65536], x[:65536]),
        "matvec": (matvec[256, 256], out[:2048], np.resize(x, (2048, 512)), y[:512]),
        "matmul": (matmul[(16, 16), (16, 16)], c.reshape(256, 256), a, b),
    }
    roofs = ("DRAM", "L2", "load/store", "fp32", "fp64")
    rows = []
    for name, (launch, *arguments) in launches.items():
        bound = explain(launch, *arguments, device="A100 40GB").bound
        microseconds = {roof.name: 1000 * roof.low_ms for roof in bound.roofs}
        rows.append([name, *(f"{microseconds.get(roof, 0):.2f}" for roof in roofs)])
    display(table(("at best, microseconds", *roofs), rows, "modelled"))

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
For each kernel: the operations of a thread, the bytes of a thread once, and how often threads of the same block, and of other blocks, load the same bytes again.
</details>
<details><summary>Hint 2</summary>
The ridges, for FMAs: 12.5 operations a byte in float32 and 6.2 in float64 for DRAM, 2.7 for L2, 1.0 for load/store.
A lane that loads <code>x[8 * i]</code> moves a whole sector. A request in which all lanes load the same number moves one sector, in one pass.
</details>
<details><summary>Hint 3</summary>
Six are bound by DRAM, two by load/store, two by fp32, one by fp64, one by L2.
The table of <code>table_sum</code> comes from DRAM once, but once into each of the 1,024 blocks.
<code>sum_33</code> makes 33 requests of 4 or 5 sectors in each warp, and their bytes overlap.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - The customer's GPU (2 points)

This kernel makes a photo darker towards its end. On the developer's A100 it ran at the speed of the memory.
A customer with an RTX 4090 complains. Look at the roofs of both, and at the notes of the profile.
"""


# %%
@cuda.jit
def fade_slow(out, photo, strength):
    i = cuda.grid(1)
    n = out.size
    if i < n:
        place = i / n
        light = 1.0 - strength * place * place
        out[i] = (
            0.85 * photo[i] * light
            + 0.1 * photo[i] * light * light
            + 0.05 * photo[i] * light * light * light
        )


photo = np.random.default_rng(seed=5).random(64 * 1024, dtype=np.float32)
faded = np.zeros_like(photo)
for name in ("A100 40GB", "RTX 4090"):
    bound = explain(fade_slow[256, 256], faded, photo, np.float32(0.5), device=name).bound
    low = {roof.name: f"{1000 * roof.low_ms:.2f}" for roof in bound.roofs}
    print(f"{name}: bound by {bound.limiter.name}; microseconds at best: {low}")
report = profile(fade_slow[256, 256], faded, photo, np.float32(0.5))
print(report.flops)
for note in report.notes:
    print(note)

# %% [markdown]
r"""
**Goal.** Bring the kernel back under the roof of the memory, on both.

**Given.** `out` and `photo`: (n,) float32. `strength`: a float32. Blocks of 256 threads, enough of them to cover `out`.

**Required.** The values of `fade_slow`, as exact as float32 allows. **No** float64 operation.
And no more sectors than needed: each element of `photo` is loaded once. Both are counted.

**Example.** With n = 4 and `strength` = 0.5, element 2 is at place 0.5, so its light is 0.875.
"""


# %% fade tags=["exercise"]
@cuda.jit
def fade(out, photo, strength):
    """The values of fade_slow, all in float32.   out, photo: (n,) float32."""
    ### BEGIN SOLUTION
    i = cuda.grid(1)
    n = out.size
    if i < n:
        pixel = photo[i]
        place = np.float32(i) / np.float32(n)
        light = np.float32(1) - strength * place * place
        second = np.float32(0.1) + np.float32(0.05) * light
        out[i] = pixel * light * (np.float32(0.85) + second * light)
    ### END SOLUTION


# %% tags=["check"]
if check("fade", fade).status == "pass":
    for name in ("A100 40GB", "RTX 4090"):
        bound = explain(fade[256, 256], faded, photo, np.float32(0.5), device=name).bound
        print(f"{name}: bound by {bound.limiter.name}")

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Which numbers in the kernel are Python's own? And what type has a quotient of two integers?
</details>
<details><summary>Hint 2</summary>
Every number with a point is a float64 and pulls the whole expression with it. <code>i / n</code> is one too. Convert before you calculate, not after.
</details>
<details><summary>Hint 3</summary>
<code>np.float32(i) / np.float32(n)</code>, <code>np.float32(1) - ...</code>, and <code>np.float32(...)</code> around 0.85, 0.1 and 0.05.
Load <code>pixel = photo[i]</code> once and use it three times.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - Stretch: four rounds for one trip (2 points)

**Goal.** Smooth an array four times, and move each byte once.

**Given.** `x` and `out`: (n,) float32. One round gives each element a quarter of its left neighbour, half of itself, and a quarter of its right neighbour,
all as they were before the round. The first and the last element of the array never change.
The launch has blocks of 256 threads, one block for every 240 elements of `out`, the last block perhaps for fewer. n may be 1.

**Required.** `out` is `x` after four rounds, each element written once. `x` stays as it is.
No finding of the sanitizer. No more sectors of global memory than our solution, with 30 % to spare, counted on n = 24,000.

**Example.** `[0, 0, 16, 0, 0]` becomes `[0, 4, 8, 4, 0]` after one round and `[0, 4, 6, 4, 0]` after two.
"""


# %% smooth_four tags=["exercise"]
@cuda.jit
def smooth_four(out, x):
    """out = x, smoothed four times.   out, x: (n,) float32."""
    ### BEGIN SOLUTION
    tile = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    i = 240 * cuda.blockIdx.x + t - 8
    n = x.size
    if 0 <= i < n:
        tile[t] = x[i]
    cuda.syncthreads()
    for _ in range(4):
        value = np.float32(0)
        inner = 0 < t < 255 and 0 < i < n - 1
        if inner:
            value = np.float32(0.25) * (tile[t - 1] + tile[t + 1]) + np.float32(0.5) * tile[t]
        cuda.syncthreads()
        if inner:
            tile[t] = value
        cuda.syncthreads()
    if 8 <= t < 248 and i < n:
        out[i] = tile[t]
    ### END SOLUTION


# %% [markdown]
r"""
When the check passes, a ladder follows: the sectors of other ways to do it, on the same array.
"""

# %% tags=["check"]
if check("smooth_four", smooth_four).status == "pass":

    @cuda.jit
    def smooth(out, x):
        i = cuda.grid(1)
        if 0 < i < x.size - 1:
            out[i] = np.float32(0.25) * (x[i - 1] + x[i + 1]) + np.float32(0.5) * x[i]
        elif i < x.size:
            out[i] = x[i]

    x = np.random.default_rng(seed=6).random(24_000, dtype=np.float32)
    one, two = np.zeros_like(x), np.zeros_like(x)
    four_launches = 0
    old = x
    for new in (one, two, one, two):
        report = profile(smooth[94, 256], new, old)
        four_launches += report.loads.sectors + report.stores.sectors
        old = new
    report = profile(smooth_four[100, 256], one, x)
    rungs = {
        "four launches of one round": four_launches,
        "compulsory: in once, out once": 2 * 24_000 * 4 // 32,
        "yours": report.loads.sectors + report.stores.sectors,
    }
    print("counted: sectors for 24,000 elements")
    for name, sectors in sorted(rungs.items(), key=lambda rung: -rung[1]):
        print(f"  {name:32}{sectors:8,}")

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
The lesson's <code>smooth_twice</code> does two rounds. How wide is the wrong part of the tile after four?
</details>
<details><summary>Hint 2</summary>
One wrong element more at each end with each round: 4 of the 8 that the block does not give back.
Between reading and writing of a round stands a barrier, and another one before the next round.
</details>
<details><summary>Hint 3</summary>
Take <code>smooth_twice</code> and let the loop run four times.
If you write it yourself: thread <code>t</code> has element <code>240 * cuda.blockIdx.x + t - 8</code>, and only threads 8 to 247 store.
</details>
"""

# %% [markdown] tags=["solution"]
r"""
## Remarks on the answers

- In exercise 2 the two numbers agree when there is no reuse and no waste between requests. Their quotient is what caches can save.
- In exercise 3 the second load of `photo` costs nothing with a perfect cache, and `weights`, read by 1,200 rows, moves once.
- In exercise 4 `every_8th` has 16 operations for each byte that it uses, but 3.6 for each byte that moves.
  `matmul` is far right of the ridge of DRAM, and still not bound by arithmetic.
- In exercise 5 the quotient of two integers is the slip that one overlooks.
- In exercise 6 the block computes 16 elements more than it gives back. With 100 rounds the halo would be larger than the result:
  then two launches are better than one.
"""

# %% [markdown]
r"""
**Done?** You can say how fast a kernel can be before it exists, and which roof to move.
To compare your answers with ours, open `solutions/t1_kernels/t1_11_roofline_lab.ipynb`.

- The lesson `t1_12_launches` is about kernels too small for any roof.
- The lesson `t2_01_gemm_tiles` lifts the roofs of `matmul`, one after the other.
"""
