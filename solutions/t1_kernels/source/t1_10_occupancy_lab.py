# %% [markdown]
r"""
# Lab: occupancy

Six exercises on what an SM holds and how much it has under way, with what you saw in the lesson `t1_10_occupancy`.
They take about 45 minutes. Most of them are ordinary Python functions; one is a kernel.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

A warp is 32 threads. 1 KB is 1,024 bytes, and 1 GB/s is 1,000,000,000 bytes a second, which is one byte a nanosecond.
Where an exercise speaks of the four parts of the register file, of units or of a reserve, the rules are those of the lesson,
sections 1 and 2.

Run this cell first.
"""

# %%
import math

import numpy as np

from warpwise import check, cuda, explain, sanitize

# %% [markdown]
r"""
## Exercise 1 - Enough warps (1 point)

**Goal.** Apply Little's law: how many warps does an SM need so that its memory is never idle?

**Given.** The device: `bandwidth_gbs` in GB/s, the latency of a load in cycles, `clock_mhz`, the number of `sms`.
The kernel: `bytes_per_warp`, the bytes that one warp has under way at any moment.

**Required.** The fewest warps on one SM that together have enough bytes in flight, a whole number.

**Example.** At 1,000 GB/s, 500 cycles, 1,000 MHz and 50 SMs, the latency is 500 ns.
500,000 bytes must be in flight, 10,000 on each SM. With 128 bytes a warp: 78.1, so 79 warps.
"""


# %% warps_to_fill tags=["exercise"]
def warps_to_fill(bandwidth_gbs, latency_cycles, clock_mhz, sms, bytes_per_warp):
    """The fewest warps on each SM that keep the memory busy."""
    ### BEGIN SOLUTION
    latency_ns = latency_cycles / clock_mhz * 1000
    in_flight = bandwidth_gbs * latency_ns  # GB/s times ns is bytes
    return math.ceil(in_flight / sms / bytes_per_warp)
    ### END SOLUTION


# %% tags=["check"]
check("warps_to_fill", warps_to_fill)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Bytes in flight = bandwidth times latency. First bring the latency into nanoseconds.
</details>
<details><summary>Hint 2</summary>
A clock of 1,000 MHz has one cycle a nanosecond; twice the clock, half the time. Who shares the bytes?
</details>
<details><summary>Hint 3</summary>
<code>latency_cycles / clock_mhz * 1000</code> nanoseconds. Times GB/s gives bytes.
Divide by <code>sms</code> and by <code>bytes_per_warp</code>, then <code>math.ceil</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - Four limits (3 points)

**Goal.** Write the occupancy calculator: how many blocks does each of the four limits of an SM allow?

**Given.** The SM: `max_warps`, `max_blocks` and `shared_sm`, its bytes of shared memory.
It has 65,536 registers in four equal parts. The kernel: `threads` of a block (1 to 1,024),
`registers` of a thread, `shared_bytes` of a block.

**Required.** A tuple of four whole numbers: the blocks that fit by warps, by the limit on blocks, by registers, by shared memory.
Each limit on its own; a limit may allow 0 blocks.
A warp takes registers in units of 256, all from one part. A block takes 1,024 bytes of shared memory beside its own,
and the sum in units of 128.

**Example.** An A100 has 64 warps, 32 blocks and 164 KB.
`four_limits(64, 32, 164 * 1024, 128, 37, 0)` is `(16, 32, 12, 164)`: 12 blocks, and the registers are what binds.
"""


# %% four_limits tags=["exercise"]
def four_limits(max_warps, max_blocks, shared_sm, threads, registers, shared_bytes):
    """(by warps, by blocks, by registers, by shared memory): blocks on one SM."""
    ### BEGIN SOLUTION
    warps = (threads + 31) // 32
    registers_of_a_warp = (32 * registers + 255) // 256 * 256
    warps_in_a_part = 16384 // registers_of_a_warp
    shared_of_a_block = (shared_bytes + 1024 + 127) // 128 * 128
    return (
        max_warps // warps,
        max_blocks,
        4 * warps_in_a_part // warps,
        shared_sm // shared_of_a_block,
    )
    ### END SOLUTION


# %% tags=["check"]
check("four_limits", four_limits)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Turn threads into warps first, rounding up. After that no rule needs the threads.
</details>
<details><summary>Hint 2</summary>
To round <code>n</code> up to a multiple of <code>u</code>: <code>(n + u - 1) // u * u</code>. Use it for the registers of a warp and for the shared memory of a block.
</details>
<details><summary>Hint 3</summary>
Registers: round <code>32 * registers</code> up to 256; <code>16384 //</code> that is the warps of a part; times 4; <code>//</code> the warps of a block.
Shared memory: <code>shared_sm //</code> (<code>shared_bytes + 1024</code>, rounded up to 128).
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - Predict what a smaller tile brings (1 point)

**Goal.** Say what a change brings before you make it.

**Given.** A kernel with blocks of 128 threads, 40 registers a thread and 18,432 bytes of shared memory a block.
On one SM of an H100 (64 warps, 32 blocks, 228 KB) there are 12 blocks of it, 48 warps, and shared memory is what binds.
Exercise 5 halves the shared memory to 9,216 bytes; the registers stay at 40.

**Required.** The number of *warps* on one SM of the H100 after the change.
Return an integer; use `four_limits` if you like.

**Example.** Before the change: `4 * min(four_limits(64, 32, 228 * 1024, 128, 40, 18432))` is 48.
"""


# %% warps_after_halving tags=["exercise"]
def warps_after_halving():
    """Warps on one SM of an H100: 128 threads, 40 registers, 9,216 bytes."""
    ### BEGIN SOLUTION
    return 4 * min(four_limits(64, 32, 228 * 1024, 128, 40, 9216))
    ### END SOLUTION


# %% tags=["check"]
check("warps_after_halving", warps_after_halving)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
When one limit gives way, which is the next one?
</details>
<details><summary>Hint 2</summary>
Work out all four limits with the new shared memory. The smallest decides.
</details>
<details><summary>Hint 3</summary>
40 registers are 1,280 a warp. 16,384 // 1,280 is 12 warps in each of four parts.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - Waves and the tail (1 point)

**Goal.** Work out in how many waves a grid runs, and how much of them is used.

**Given.** `grid`, the number of blocks, at least 1. `blocks_per_sm` that fit at the same time on one SM. The number of `sms`.

**Required.** A tuple `(waves, share)`. `waves` is a whole number, the last wave counted even if it is part full.
`share` is between 0 and 1: blocks over all places of all waves.

**Example.** `tail_of(9, 2, 4)` is `(2, 0.5625)`: 8 places a wave, 9 blocks in 16 places.
"""


# %% tail_of tags=["exercise"]
def tail_of(grid, blocks_per_sm, sms):
    """(waves, share of their places that is used)."""
    ### BEGIN SOLUTION
    slots = blocks_per_sm * sms
    waves = (grid + slots - 1) // slots
    return waves, grid / (waves * slots)
    ### END SOLUTION


# %% tags=["check"]
check("tail_of", tail_of)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
How many blocks run at the same time on the whole device?
</details>
<details><summary>Hint 2</summary>
That many places has a wave. Round the waves up, as you round blocks up for a launch.
</details>
<details><summary>Hint 3</summary>
<code>slots = blocks_per_sm * sms</code>, <code>waves = (grid + slots - 1) // slots</code>, and the share is <code>grid / (waves * slots)</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - Half the shared memory (2 points)

This kernel multiplies two matrices, `out = a @ b`. A block of 32 x 4 threads makes 4 rows and 32 columns of `out`.
It loads 4 rows of `a` and 32 columns of `b` into shared memory, as deep as they are, up to 128.
"""


# %%
@cuda.jit
def whole_depth(out, a, b):
    tile_a = cuda.shared.array((4, 128), np.float32)
    tile_b = cuda.shared.array((128, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    m, n = out.shape
    depth = b.shape[0]
    for k in range(tx, depth, 32):
        tile_a[ty, k] = a[y, k] if y < m else np.float32(0)
    for k in range(ty, depth, 4):
        tile_b[k, tx] = b[k, x] if x < n else np.float32(0)
    cuda.syncthreads()
    total = np.float32(0)
    for k in range(depth):
        total += tile_a[ty, k] * tile_b[k, tx]
    if y < m and x < n:
        out[y, x] = total


rng = np.random.default_rng(seed=10)
a = rng.random((9, 128), dtype=np.float32)
b = rng.random((128, 70), dtype=np.float32)
out = np.zeros((9, 70), np.float32)
explain(whole_depth[(3, 3), (32, 4)], out, a, b, device="A100")

# %% [markdown]
r"""
Look at the line "occupancy". Shared memory is what binds: 18,432 bytes a block.
A colleague halves the tiles and goes through the depth in *strips* of 64. The sum of an element does not change:
the same products, in the same order. The first test is even right. But the sanitizer objects.
"""


# %%
@cuda.jit
def half_depth_broken(out, a, b):
    tile_a = cuda.shared.array((4, 64), np.float32)
    tile_b = cuda.shared.array((64, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    m, n = out.shape
    depth = b.shape[0]
    total = np.float32(0)
    for start in range(0, depth, 64):
        for k in range(tx, 64, 32):
            tile_a[ty, k] = a[y, start + k] if y < m else np.float32(0)
        for k in range(ty, 64, 4):
            tile_b[k, tx] = b[start + k, x] if x < n else np.float32(0)
        cuda.syncthreads()
        for k in range(64):
            total += tile_a[ty, k] * tile_b[k, tx]
    if y < m and x < n:
        out[y, x] = total


half_depth_broken[(3, 3), (32, 4)](out, a, b)
print("right:", np.allclose(out, a @ b))
print(sanitize(half_depth_broken[(3, 3), (32, 4)], out, a, b))

# %% [markdown]
r"""
**Goal.** Mend it. There is a second fault, which this launch does not show: the depth need not be a multiple of 64.

**Given.** `a`: `(m, depth)`, `b`: `(depth, n)`, `out`: `(m, n)`, all float32, with `depth` from 1 to 128.
Blocks of 32 x 4 threads, x along the rows of `out`, enough of them to cover it.

**Required.** `out = a @ b`, each element written once. No finding of the sanitizer.
At most **9,216 bytes** of shared memory a block, and no more sectors of global memory loaded than by the solution, with 10 % to spare.
Both are counted, on m = 9, n = 70, depth = 128.

**Example.** A depth of 65 is a strip of 64 and a strip of 1.
"""


# %% strip_product tags=["exercise"]
@cuda.jit
def strip_product(out, a, b):
    """out = a @ b in strips of 64.   out: (m, n), a: (m, depth), b: (depth, n) float32."""
    ### BEGIN SOLUTION
    tile_a = cuda.shared.array((4, 64), np.float32)
    tile_b = cuda.shared.array((64, 32), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.grid(2)
    m, n = out.shape
    depth = b.shape[0]
    total = np.float32(0)
    for start in range(0, depth, 64):
        part = min(64, depth - start)
        for k in range(tx, part, 32):
            tile_a[ty, k] = a[y, start + k] if y < m else np.float32(0)
        for k in range(ty, part, 4):
            tile_b[k, tx] = b[start + k, x] if x < n else np.float32(0)
        cuda.syncthreads()
        for k in range(part):
            total += tile_a[ty, k] * tile_b[k, tx]
        cuda.syncthreads()
    if y < m and x < n:
        out[y, x] = total
    ### END SOLUTION


# %% [markdown]
r"""
When the check passes, the occupancy on three devices follows. Compare the H100 with your prediction.
"""

# %% tags=["check"]
if check("strip_product", strip_product).status == "pass":
    from warpwise.compiler import CompilerMissingError, compile_kernel
    from warpwise.hardware import occupancy

    try:
        for name, arch in (("A100", "sm_80"), ("RTX 3090", "sm_86"), ("H100", "sm_90")):
            for kernel in (whole_depth, strip_product):
                code = compile_kernel(kernel, (out, a, b), arch)
                print(f"{name:9} {code.registers:3} registers {code.shared_bytes:6,} bytes:",
                      occupancy(name, 128, code.registers, code.shared_bytes))  # fmt: skip
    except CompilerMissingError as error:  # no compiler for GPUs on this computer
        print(error)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Read the finding: a thread writes into a tile while another one still reads it. In which round does each of the two work?
</details>
<details><summary>Hint 2</summary>
A round has two meeting points: when the strip is loaded, and when it has been used.
For the second fault, give the last strip its own depth.
</details>
<details><summary>Hint 3</summary>
A second <code>cuda.syncthreads()</code> at the end of the loop body.
<code>part = min(64, depth - start)</code>, and <code>part</code> instead of 64 as the end of all three inner loops.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - Stretch: the most bytes in flight (2 points)

**Goal.** Choose the launch that keeps the memory busiest: the size of the block, and which version of a kernel.

**Given.** An SM as in exercise 2. `versions`: a list of tuples `(loads, registers, per_thread)`.
In such a version each thread has `loads` independent loads of 4 bytes under way, needs `registers` registers,
and its block needs `per_thread` bytes of shared memory for each of its threads.

**Required.** A tuple `(threads, loads)`: the block size among 32, 64, 96 ... 1,024, and the version,
that together have the most bytes in flight on one SM: `warps * loads * 128`.
Several are best? The smallest block, then the version that stands first in the list.

**Example.** With `versions = [(1, 12, 0), (8, 48, 0)]` an A100 holds 64 warps of the first version, 8,192 bytes in flight.
Of the second it holds 40 warps, but 40,960 bytes. The smallest block that reaches this has 64 threads: the answer is `(64, 8)`.
"""


# %% best_launch tags=["exercise"]
def best_launch(max_warps, max_blocks, shared_sm, versions):
    """(threads, loads) with the most bytes in flight on one SM."""
    ### BEGIN SOLUTION
    most, best = -1, None
    for threads in range(32, 1025, 32):
        for loads, registers, per_thread in versions:
            shared = threads * per_thread
            blocks = min(four_limits(max_warps, max_blocks, shared_sm, threads, registers, shared))
            in_flight = blocks * (threads // 32) * loads * 128
            if in_flight > most:
                most, best = in_flight, (threads, loads)
    return best
    ### END SOLUTION


# %% [markdown]
r"""
When the check passes, a ladder follows: what other ways to choose would have in flight on three devices.
"""

# %% tags=["check"]
if check("best_launch", best_launch).status == "pass":
    versions = [(1, 37, 0), (2, 57, 0), (3, 89, 0), (4, 137, 0)]
    kinds = {loads: rest for loads, *rest in versions}

    def bytes_of(sm, threads, loads):
        registers, per_thread = kinds[loads]
        blocks = min(four_limits(*sm, threads, registers, threads * per_thread))
        return blocks * (threads // 32) * loads * 128

    print("modelled: bytes in flight on one SM")
    print(f"{'':32}     A100     H100  RTX 4090")
    sms = [(64, 32, 164 * 1024), (64, 32, 228 * 1024), (48, 24, 100 * 1024)]
    ladder = {"1,024 threads, one load": (1024, 1), "256 threads, one load": (256, 1),
              "32 threads, most loads": (32, 4), "256 threads, most loads": (256, 4)}  # fmt: skip
    for name, launch in ladder.items():
        print(f"{name:32}", *(f"{bytes_of(sm, *launch):8,}" for sm in sms))
    yours = (bytes_of(sm, *best_launch(*sm, versions)) for sm in sms)
    print(f"{'yours':32}", *(f"{found:8,}" for found in yours))

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
There are 32 sizes and a few versions. Try them all.
</details>
<details><summary>Hint 2</summary>
<code>min(four_limits(...))</code> is the number of blocks. A block has <code>threads // 32</code> warps.
</details>
<details><summary>Hint 3</summary>
Two loops: sizes outside, versions inside, both from small to large.
Keep the first launch whose <code>warps * loads * 128</code> is <em>larger</em> than all before.
</details>
"""

# %% [markdown] tags=["solution"]
r"""
## Remarks on the answers

- Exercise 1 with the numbers of the lesson: 38 warps on an A100 with 40 GB, 48 on an H100, and 12 with loads of 16 bytes.
- In exercise 2 rounding is everything. 800 threads with 80 registers need 64,000 registers,
  and still not one block fits: a part of the register file holds 6 warps of 2,560, four parts 24, and the block has 25.
- In exercise 3 shared memory would now allow 22 blocks, but the registers stay at 12. The limit that gave way was not alone.
- In exercise 4 one block more than a full wave costs a whole wave.
- In exercise 5 the sum of an element adds the same products in the same order, so even its rounding is the same.
- In exercise 6 neither the most warps nor the most loads win. Their product does.
"""

# %% [markdown]
r"""
**Done?** You can say what an SM holds, what binds, and how much has to be under way.
To compare your answers with ours, open `solutions/t1_kernels/t1_10_occupancy_lab.ipynb`.

- The lesson `t1_11_roofline` asks what the memory at full speed allows at all.
- The lesson `t2_02_gemm_registers` spends registers on purpose, and accepts the lower occupancy.
"""
