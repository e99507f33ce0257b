# %% [markdown]
r"""
# Roofline: the bound before the code

**Your kernel does 230 GFLOP/s. The GPU is sold with 19,500. Is the kernel bad?**

At the end of this lesson you can

- count the operations and the bytes of a kernel, and say which of the two keeps a GPU busy longer,
- work out the least time of a kernel before you write it,
- read a roofline, with one roof for each memory and each number format,
- tell the bytes that have to move from the bytes that are asked for,
- say when to stop, and what to change when you are not there yet.

You need the lessons `t1_04_coalescing` and `t1_05_shared_memory` and about 40 minutes. You do not need a GPU.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
All numbers here are counted or modelled, or quoted from a source. None is a measured time of ours.
"""

# %%
import numpy as np

from warpwise import compare, cuda, explain, profile
from warpwise.hardware import attainable, device, ridge
from warpwise.show import show_roofline, table, turn_roofline

# %% [markdown]
r"""
## 1. Count two things

This is the kernel of the question, known as SAXPY: scale one array, add another.
How many floating-point operations does it do for each byte that it reads or writes?
"""

# %%
guess = "?"  # operations for each byte


@cuda.jit
def saxpy(out, x, y, s):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = s * x[i] + y[i]


n = 2**18
x, y = np.random.default_rng(seed=11).random((2, n), dtype=np.float32)
out = np.zeros_like(x)
report = profile(saxpy[n // 256, 256], out, x, y, np.float32(2))

operations = report.flops["float32"]
moved = 32 * sum(report.unique_sectors.values())
print(f"operations: {operations:,}, {operations / n:.0f} for each element")
print(f"bytes:      {moved:,}, {moved / n:.0f} for each element")
print("guess:", guess, f"   operations for each byte: {operations / moved:.3f}")

# %% [markdown]
r"""
**0.167**: one multiplication and one addition for three numbers of 4 bytes.
This quotient is the *arithmetic intensity* of the kernel.
It has nothing to do with the GPU, and you get it by reading the code.

A multiplication and an addition in one instruction, FMA (*fused multiply-add*), count as two operations, here and in the peaks that vendors print.
`unique_sectors` says how many sectors of each array are touched at all, each counted once. Section 5 explains why.

Nsight Compute has the same two. `dram__bytes.sum` counts the bytes between the GPU and its memory, the DRAM.
Operations are counted by instruction: twice `smsp__sass_thread_inst_executed_op_ffma_pred_on.sum`,
plus the same counters with `fadd` and `fmul` in the place of `ffma`.

## 2. Two pipes

A GPU has a pipe for data and a pipe for arithmetic. Work runs through both at the same time.
An A100 with 40 GB moves at most 1,555 GB/s, and does at most 19.5 TFLOP/s in float32.
SAXPY on 2^28 elements: how many milliseconds does each pipe need?
"""

# %%
guesses = {"data": "?", "arithmetic": "?"}  # milliseconds

elements = 2**28
data_ms = 12 * elements / 1555e9 * 1000
arithmetic_ms = 2 * elements / 19.5e12 * 1000
print(guesses)
print(f"data: {data_ms:.3f} ms   arithmetic: {arithmetic_ms:.4f} ms")
print(f"operations a second at best: {2 * elements / data_ms / 1e6:.1f} GFLOP/s")

# %% [markdown]
r"""
Data need **2.072 ms**, arithmetic only 0.0275. The pipe that is busy longer sets the least time.
The kernel cannot take less than 2.072 ms, so it can do no more than **259.2 GFLOP/s**.

That answers the question from the top. 230 of 259 is 89 %. The kernel is good, and almost nothing is left to gain.
The 19,500 of the advertisement were never within its reach.
You knew all this before you ran anything. That is the habit of this lesson: *the bound first, then the code*.

## 3. The ridge

When are both pipes busy equally long? When the kernel has exactly as many operations for each byte as the GPU:

    ridge = peak / bandwidth

Left of the *ridge point* a kernel is *bound by memory*, right of it by *arithmetic*.
What is the ridge of this A100 in float32? And on which of the devices below is it highest?
"""

# %%
guess = "?"  # operations a byte, A100 with 40 GB

rows = []
for name in ("V100", "T4", "A100 40GB", "RTX 3090", "RTX 4090", "H100", "B200"):
    gpu = device(name)
    row = [gpu.name, f"{gpu.peak('fp32'):g}", f"{gpu.dram_gbs.value:,.0f}"]
    rows.append(row + [f"{ridge(gpu, kind):.3g}" for kind in ("fp64", "fp32", "fp16")])
print("guess:", guess)
head = ("device", "fp32, TFLOP/s", "DRAM, GB/s", "ridge fp64", "ridge fp32", "ridge fp16 tensor")
table(head, rows, "modelled")

# %% [markdown]
r"""
**12.5**. On an RTX 4090 it is 81.9: a lot of arithmetic for its memory. A kernel with 20 operations a byte is bound by
arithmetic on the A100, and by memory on the 4090. So "memory-bound" is never a property of a kernel alone.

Look at the other two columns as well. The *tensor cores* are units that multiply small matrices, here of float16.
They are so fast that 200 operations a byte are not enough to feed them on an A100.
And in float64 a 4090 has a ridge of 1.28: almost everything is bound by arithmetic there. Section 4 comes back to it.

Now three kernels of our own. Each evaluates a polynomial, with one multiplication and one addition in each round.
One round takes 2 operations; the traffic is 8 bytes an element, whatever the rounds.
How many rounds until an A100 is bound by arithmetic?
"""

# %%
guess = "?"  # rounds


@cuda.jit
def poly(out, x, rounds):
    i = cuda.grid(1)
    if i < out.size:
        start = x[i]
        value = start
        for _ in range(rounds):
            value = value * start + np.float32(0.5)
        out[i] = value


points = {"saxpy": (operations / moved, None)}
for rounds in (8, 48, 256):
    report = profile(poly[n // 256, 256], out, x, rounds)
    moved_here = 32 * sum(report.unique_sectors.values())
    points[f"{rounds} rounds"] = (report.flops["float32"] / moved_here, None)
print("guess:", guess, f"  {ridge('A100 40GB') * 8 / 2:.1f} rounds")
show_roofline("A100 40GB", points)

# %% [markdown]
r"""
About **50** rounds: 12.54 operations a byte, times 8 bytes, over 2.

This picture is the *roofline* [1]. Both axes are logarithmic. To the right: operations a byte. Upwards: TFLOP/s.
The thick line is the roof. Its slanted part is the bandwidth: twice the intensity, twice the operations a second. Its flat part is the peak. They meet at the ridge.
A hollow mark stands on the roof: the most that the kernel can reach. A real measurement would be below it.
The vertical distance to the roof is what you can still gain. To go *along* the roof, you have to change the intensity.

The roof holds for 8 rounds as for 48. So on an A100 the second kernel costs no more time than the first: 80 more operations for nothing.

The dotted lines are further roofs: other number formats, and memories closer to the arithmetic. We come to them.
The formula behind the picture is one line:

    attainable = min(peak, intensity * bandwidth)

## 4. Check it against somebody else

NVIDIA's guide for deep learning has a table of operations on a V100, with float16 numbers, 2 bytes each [2].
A *linear layer* multiplies a batch of inputs by a matrix of weights; *ReLU* replaces negative numbers by zero;
*max pooling* takes the largest of 3 x 3 neighbours. The guide prints that a V100 has 40 to 139 operations a byte,
depending on where the data come from. Can you say which of the four are bound by arithmetic?
"""

# %%
guess = "?"  # which of the four?


def linear(batch, inputs=1024, outputs=4096):
    """Operations a byte: batch x inputs times inputs x outputs."""
    numbers = batch * inputs + inputs * outputs + batch * outputs
    return 2 * batch * inputs * outputs / (2 * numbers)


found = {
    "linear layer, batch 512": (linear(512), "315"),
    "linear layer, batch 1": (linear(1), "1"),
    "max pooling 3 x 3": (9 / (2 + 2), "2.25"),  # each input read once, each output written once
    "ReLU": (1 / (2 + 2), "0.25"),
}
low, high = ridge("V100", "fp16", "L2"), ridge("V100", "fp16", "DRAM")
print("guess:", guess, f"   V100: {low:.0f} from L2, {high:.0f} from DRAM")
table(("operation", "ours", "printed in [2]", "bound by"),
      [(name, f"{ours:.3g}", printed, "arithmetic" if ours > high else "memory")
       for name, (ours, printed) in found.items()], "modelled")  # fmt: skip

# %% [markdown]
r"""
All digits agree: 315, 1, 2.25, 0.25, and a V100 at **40 to 139**. Only the large linear layer is bound by arithmetic.
With a batch of 1 the same layer reads all its weights for one input, and 99 % of the arithmetic units have nothing to do.

*L2* is a cache that all multiprocessors share. It is faster than the DRAM, so its ridge is lower. Section 6 needs it.

A book about Triton gives a ridge of "roughly 590" operations a byte for the tensor cores of an H100 [3].
The device table above had 295. Who is right?
"""

# %%
guess = "?"  # 295 or 590?

print("guess:", guess)
for said, tflops in (("dense", 989), ("data sheet, with a star", 1979)):
    print(f"{said:24} {tflops:5} TFLOP/s over 3,350 GB/s: {1000 * tflops / 3350:.1f} a byte")

# %% [markdown]
r"""
**295**. Data sheets print 1,979 with a star, and the star says "with sparsity": two of every four numbers in one of the matrices are zero, and skipped [4].
Ordinary matrices get half of it. A kernel with 400 operations a byte is bound by arithmetic; who believes in 590 looks for the fault in the memory.
So: which peak? Which format? Dense or sparse? A ridge without these is worth nothing.

The next question is about the format. A Python number such as `0.5` is a float64. With it in a kernel, Numba does the arithmetic
in float64, although all arrays hold float32. Here is our polynomial with `0.5` in the place of `np.float32(0.5)`, with 8 rounds.
Turn the dials. On which device does the mistake change what binds?
"""

# %%
guess = "?"  # which devices?


@cuda.jit
def poly_slip(out, x, rounds):
    i = cuda.grid(1)
    if i < out.size:
        start = x[i]
        value = start
        for _ in range(rounds):
            value = value * start + 0.5
        out[i] = value


report = profile(poly_slip[n // 256, 256], out, x, 8)
moved_here = 32 * sum(report.unique_sectors.values())
print("operations:", report.flops)
print("guess:", guess)
slip = sum(report.flops.values()) / moved_here
turn_roofline({"poly, 8 rounds": (slip, None)}, ("A100 40GB", "RTX 4090", "H100", "V100", "T4"))

# %%
for name in ("A100 40GB", "V100", "H100", "RTX 4090", "T4"):
    good, bad = (attainable(name, slip, kind) for kind in ("fp32", "fp64"))
    print(
        f"{name:10} fp32: {good:5.3f} TFLOP/s   fp64: {bad:5.3f} TFLOP/s   {good / bad:.2f} times"
    )

# %% [markdown]
r"""
On the **RTX 4090** and the **T4**. There float64 has 2 units on each multiprocessor, and the roof falls on our heads: the kernel gets 1.56 and 2.52 times slower at best.
On an A100, V100 or H100 the DRAM still binds, and nobody notices. With more rounds they would notice as well.
That is how such a slip survives on the developer's machine and hurts on the customer's.
The counter gives it away on every machine: `smsp__sass_thread_inst_executed_op_fp64_pred_on.sum` is not zero.

## 5. Which bytes?

For the intensity we need the bytes of DRAM. But a kernel does not talk to the DRAM. It sends requests, and caches answer some of them.
This kernel adds 9 neighbours. For each element it loads 9 numbers and stores one.
How many bytes have to come from the DRAM, or go there, for each element?
"""

# %%
guess = "?"  # bytes for each element


@cuda.jit
def add_9(out, x):
    i = cuda.grid(1)
    total = np.float32(0)
    for k in range(-4, 5):
        j = i + k
        if 0 <= j < x.size:
            total += x[j]
    out[i] = total


report = profile(add_9[n // 256, 256], out, x)
asked = report.loads.bytes_requested + report.stores.bytes_requested
counted = report.loads.bytes_moved + report.stores.bytes_moved
once = 32 * sum(report.unique_sectors.values())
print(f"the threads ask for:      {asked / n:5.1f} bytes for each element")
print(f"sectors of all requests:  {counted / n:5.1f} bytes")
print(f"each touched sector once: {once / n:5.1f} bytes")
print("guess:", guess)

# %% [markdown]
r"""
At least **8**: each element in once, each result out once. This is the *compulsory traffic*: no cache can avoid it.
The sectors of all requests add up to 48. That is the *counted* traffic: it would all reach the DRAM if there were no cache at all.
The truth lies between, near the lower end here, for neighbouring threads ask for the same sectors at about the same time.

With the compulsory bytes you get a bound that no version of the code can beat. With the counted ones, what this version may cost at worst.

Careful: compulsory are *sectors*, not elements. The next kernel takes every eighth number and does 64 rounds with it.
Is it bound by arithmetic on an A100? By its elements it has 128 operations for 8 bytes: 16.
"""

# %%
guess = "?"  # memory or arithmetic?


@cuda.jit
def every_8th(out, x, rounds):
    i = cuda.grid(1)
    if i < out.size:
        start = x[8 * i]
        value = start
        for _ in range(rounds):
            value = value * start + np.float32(0.5)
        out[i] = value


few = np.zeros(n // 8, np.float32)
report = profile(every_8th[n // 8 // 256, 256], few, x, 64)
for array, sectors in report.unique_sectors.items():
    print(f"{array:4} {32 * sectors / few.size:5.1f} bytes for each result")
once = 32 * sum(report.unique_sectors.values())
print(f"operations a byte: {report.flops['float32'] / once:.2f}   guess: {guess}")

# %% [markdown]
r"""
By **memory**. Each number of 4 bytes brings its whole sector of 32, so a result costs 36 bytes, and the intensity is 3.56.
A struct of arrays would bring it back to 16, to the other side of the ridge.

## 6. More than one memory

Compulsory traffic of the DRAM is one bound. Data also pass other points on their way to a thread, each with its own roof:

| roof | what has to pass | at most, on an A100 |
|---|---|---|
| DRAM | each touched sector once | 1,555 GB/s |
| L2 | each touched sector once for each block: at best, the multiprocessor's own cache L1 keeps it for the block | 7,219 GB/s |
| load/store | the *passes* of all requests: one for every 4 sectors of a request, at least one; in shared memory its wavefronts | a pass of 128 bytes a clock on each of 108 multiprocessors: 19,492 GB/s |

In the next kernel, all 1,024 blocks add up the same table of 4,096 numbers. 16 KB come from the DRAM, once.
For each number there is one addition. Which roof is the lowest?
"""

# %%
guess = "?"  # DRAM, L2, load/store or fp32?


@cuda.jit
def table_sum(out, numbers):
    i = cuda.grid(1)
    total = np.float32(0)
    for k in range(cuda.threadIdx.x, numbers.size, cuda.blockDim.x):
        total += numbers[k]
    out[i] = total


print("guess:", guess)
answer = explain(table_sum[1024, 256], out, x[:4096].copy(), device="A100 40GB")
print(answer.bound)

# %% [markdown]
r"""
**L2**. Each block takes the 16 KB from there again. The DRAM needs 0.7 microseconds, L2 2.5.

The row *fp32* has a surprise: 4.19 million operations, but not at 19.5 TFLOP/s. A peak counts two operations for each FMA.
An addition without a multiplication is an instruction like an FMA and takes as long, but it is one operation only.
So a kernel that only adds reaches half the peak, 9.75 TFLOP/s, and for such kernels the ridge is half as far to the right.

Look at the first line: the whole bound is an interval, in milliseconds. Its lower end is the longest of the lower ends of the roofs, and the time of a launch.
The row *issue* is the rate at which a multiprocessor starts instructions: 4 a clock. Its lower end takes two operations for one instruction, as in an FMA.

One more kernel, and the most famous one: a product of matrices, one thread for each element.
Each element of the result needs 256 multiplications and additions. By the DRAM it has 42.7 operations a byte, far right of the ridge of 12.5.
So is it bound by arithmetic?
"""

# %%
guess = "?"  # which roof?


@cuda.jit
def matmul(out, a, b):
    x, y = cuda.grid(2)
    total = np.float32(0)
    for k in range(a.shape[1]):
        total += a[y, k] * b[k, x]
    out[y, x] = total


a, b = np.random.default_rng(seed=12).random((2, 256, 256), dtype=np.float32)
product = np.zeros_like(a)
answer = explain(matmul[(16, 16), (16, 16)], product, a, b, device="A100 40GB")
counted = answer.counted
flops = counted.flops["float32"]
bytes_of = {
    "DRAM": 32 * sum(counted.unique_sectors.values()),
    "L2": 32 * sum(counted.unique_sectors_per_block.values()),
    "load/store": 128 * (counted.loads.requests + counted.stores.requests),  # a pass each
}
print("guess:", guess)
for name, rate in (("DRAM", 1555), ("L2", 7219), ("load/store", 19492)):
    print(f"{name:10} {flops / bytes_of[name]:6.2f} operations a byte, ridge {19500 / rate:5.2f}")
print(f"sectors of a load: {counted.loads.sectors_per_request:.1f}")
print("bound by", answer.bound.limiter.name)
for roof in answer.bound.roofs:
    print(f"  {roof.name:10} {1000 * roof.low_ms:6.3f} to {1000 * roof.high_ms:6.3f} microseconds")

# %% [markdown]
r"""
By **load/store**. A kernel has one intensity for *each* memory, and each has its own ridge.
Right of the ridge for the DRAM and for L2, and left of it for the requests: 0.25 operations a byte, where 1 is needed.
A pass has room for 4 sectors, and these loads have only 2 each: a warp covers two rows of 16 elements. Half of each pass is empty.
The one roof that is too low decides.

It also tells you what to do. Faster DRAM would not help. Fewer requests for each multiplication would: keep values in registers.
The lesson `t2_02_gemm_registers` does that.

The same kernel on the roofline, drawn for L2. What happens with blocks of 8 x 8 threads?
A block of T x T threads takes 2 T numbers from L2 for T^2 multiplications and additions: 2 T^2 operations, 8 T bytes, T / 4 operations a byte.
"""

# %%
guess = "?"  # does L2 bind with 8 x 8, if nothing else did?

print("guess:", guess)
show_roofline("A100 40GB", {f"{t} x {t}": (t / 4, None) for t in (4, 8, 16, 32)}, level="L2")

# %% [markdown]
r"""
Yes: 2 operations a byte, where 2.7 are needed. Blocks of 16 x 16 are past the ridge of L2.
Nsight Compute draws several slanted roofs in one chart, too: its *hierarchical* roofline.
The bytes behind it are `dram__bytes.sum`, `lts__t_bytes.sum` for L2, and `l1tex__t_bytes.sum` for the requests.

## 7. A bound is an interval

The lower end assumes perfect caches, and pipes that all work at once. The upper end assumes no cache, and one pipe after the other.
Where the ends are close together, you know a lot. Where they are far apart, count more closely.

For `add_9` and SAXPY: which of the two intervals is wider? And what is the least time of SAXPY on 1,000 elements?
"""

# %%
guesses = {"wider": "?", "1,000 elements": "?"}  # a name; microseconds

print(guesses)
small = slice(0, 1000)
launches = {
    "saxpy": (saxpy[n // 256, 256], out, x, y, np.float32(2)),
    "add_9": (add_9[n // 256, 256], out, x),
    "saxpy, 1,000 elements": (saxpy[4, 256], out[small], x[small], y[small], np.float32(2)),
}
for name, (launch, *arguments) in launches.items():
    bound = explain(launch, *arguments, device="A100 40GB").bound
    low, high = 1000 * bound.low_ms, 1000 * bound.high_ms
    print(f"{name:22} {low:5.2f} to {high:5.2f} microseconds, {high / low:.1f} times")

# %% [markdown]
r"""
That of **add_9**: its requests hit the caches or not, and the model does not know. SAXPY has no reuse, so a cache has nothing to do.

1,000 elements take **2.6** microseconds or more, and almost all of it is the launch: between 2.6 and 6 microseconds from the call to the start [5].
A thousand times less work, and hardly any faster. The next lesson, `t1_12_launches`, is about such kernels.

What is *not* in the interval: too few bytes in flight, the subject of `t1_10_occupancy`, and threads that wait for each other.
A kernel can miss its roof because nothing limits it except its own waiting.

How close to the roof do good programs come? Two published figures. NVIDIA's Best Practices Guide copies an array on a V100 at about 790 GB/s; the memory has 900 [6].
And a public survey looked for the fastest matrix product in bfloat16 on an A100: 271.2 TFLOP/s, where 312 is the peak [7].
What share of the roof is that?
"""

# %%
guesses = {"copy": "?", "matrix product": "?"}  # percent

print(guesses)
print(f"copy:           {100 * 790 / 900:.1f} %")
print(f"matrix product: {100 * 271.2 / device('A100').peak('fp16'):.1f} %")
peak = 432 * 256 * 2 * 1.41e-3
print(f"the peak itself: 432 tensor cores x 256 FMA x 2 x 1.41 GHz = {peak:.0f} TFLOP/s")

# %% [markdown]
r"""
**88 %** and **86.9 %**, which is what the survey prints as well. So 100 % is not a goal. At 85 to 90 % of the roof, stop. Your next gain is somewhere else.

## 8. Move the kernel, not the code

Once at the roof, only another intensity helps: more operations for each byte that moves. The surest way is to *fuse*: do two things for one trip.

Here an array is smoothed: each element becomes a quarter of its left neighbour, half of itself, and a quarter of its right neighbour. The first and the last stay.
To smooth twice, launch the kernel twice. Or do both rounds in one kernel, with a tile in shared memory.
The tile has 8 elements more on each side than the block gives back, one sector, so that its loads stay aligned. After each round one more element at each end of the tile is wrong, and we never use those.

How many bytes does it save? And what happens to the time of an A100, at best?
"""

# %%
guesses = {"bytes": "?", "time": "?"}  # factors


@cuda.jit
def smooth(out, x):
    i = cuda.grid(1)
    n = x.size
    if 0 < i < n - 1:
        out[i] = np.float32(0.25) * (x[i - 1] + x[i + 1]) + np.float32(0.5) * x[i]
    elif i < n:
        out[i] = x[i]


@cuda.jit
def smooth_twice(out, x):
    tile = cuda.shared.array(256, np.float32)
    t = cuda.threadIdx.x
    i = 240 * cuda.blockIdx.x + t - 8  # 8 threads at each end only load
    n = x.size
    if 0 <= i < n:
        tile[t] = x[i]
    cuda.syncthreads()
    for _ in range(2):
        value = np.float32(0)
        inner = 0 < t < 255 and 0 < i < n - 1
        if inner:
            value = np.float32(0.25) * (tile[t - 1] + tile[t + 1]) + np.float32(0.5) * tile[t]
        cuda.syncthreads()  # everybody has read
        if inner:
            tile[t] = value
        cuda.syncthreads()  # everybody has written
    if 8 <= t < 248 and i < n:
        out[i] = tile[t]


between, twice, fused = (np.zeros_like(x) for _ in range(3))
blocks = (n + 239) // 240
ladder = compare(
    {
        "smooth": (smooth[n // 256, 256], between, x),
        "smooth again": (smooth[n // 256, 256], twice, between),
        "smooth_twice": (smooth_twice[blocks, 256], fused, x),
    },
    device="A100 40GB",
)
print(guesses)
print("equal:", np.array_equal(twice, fused))
two = sum(32 * sum(row.counted.unique_sectors.values()) for name, row in ladder.rows[:2])
one = 32 * sum(ladder.rows[2][1].counted.unique_sectors.values())
print(f"compulsory bytes: {two:,} in two launches, {one:,} in one")
ladder

# %% [markdown]
r"""
**Half** the bytes, and half the launches. At best 7.9 microseconds become 3.95.
In the picture, each version is a line from its lower to its upper end: without any cache, and with a perfect one.
Fusing moves it to the right, to twice the intensity. Its line is steep, for a tile leaves little to the caches.
All of them stay below the roof, because our array is so small: the launch takes as long as the work.

The fused kernel has more issue slots and barriers than both others together. They cost nothing, as long as the DRAM stays the lowest roof.

"Costs nothing below the roof" has a limit, and you can work out where it is before you write it: the intensity grows with every round, the ridge stays.
And all that a block computes for its edges and throws away grows with the rounds, too.

## What to remember

- Intensity = operations / bytes. Ridge = peak / bandwidth. Left of the ridge memory binds, right of it arithmetic.
- Least time = the longest of: operations / peak, and bytes / bandwidth for each memory. Work it out before you write the kernel.
- The peak is that of the format: float64 creeps in through Python numbers. It is the dense one, not the one with a star.
  And it counts FMAs: sums or products alone reach half of it.
- Compulsory traffic: each touched sector once. Counted traffic: the sectors of all requests. The truth is between.
- A kernel has one intensity for each memory. The lowest roof decides, and says what to change.
- A bound is an interval, and small kernels are bound by their launch. At 85 to 90 % of the roof, stop.
- At the roof, change the intensity: fuse, keep values in registers or in shared memory, use smaller numbers.

**Next:** the lab, `t1_11_roofline_lab`, in your folder `mine/t1_kernels/`.

## Sources

1. S. Williams, A. Waterman, D. Patterson, "Roofline: An Insightful Visual Performance Model for Multicore Architectures",
   Communications of the ACM 52(4), 2009.
2. NVIDIA, "GPU Performance Background User's Guide", table 1 and the V100 example, as quoted in public course notes.
   <https://docs.nvidia.com/deeplearning/performance/dl-performance-gpu-background/>
3. Manning, "GPU Programming with Triton", section 3.3.1, as summarised by the publisher.
   <https://livebook.manning.com/learn/concepts/ridge-point--metric/gpu-programming-with-triton>
4. stas00/ml-engineering, accelerator tables, 2026: dense peaks of H100 and A100, and the note that 1,979 is sparse.
5. Sources in `warpwise/hardware/bound.py`: makslevental/persistent_kernel, driver 510; pegainfer, CUDA 13.
6. NVIDIA, CUDA C++ Best Practices Guide, "Coalesced Access to Global Memory". <https://docs.nvidia.com/cuda/cuda-c-best-practices-guide/>
7. stas00/ml-engineering, "Maximum Achievable Matmul FLOPS", A100 SXM.

Bandwidths and peaks of all devices: `warpwise/hardware/devices.toml`, each with its source.
Bandwidth of L2: NVIDIA's whitepaper for the A100 gives 5,120 bytes a clock; times 1.41 GHz.
"""
