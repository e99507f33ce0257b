# %% [markdown]
r"""
# Lab: machine code

Six exercises on what compilers make of kernels, with what you saw in the lesson `t2_11_machine_code`. They take about 45 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

Four of the exercises ask for machine code. Their check runs your kernel on data you have not seen, then compiles it for `sm_80` and `sm_90`, and reads the code.
Where the compiler is not installed (macOS), or only a part of it (Windows), the check says what it left out; the grader has all of it.

Run this cell first.
"""

# %%
import numpy as np
from IPython.display import display

from warpwise import check, cuda
from warpwise.compiler import compile_kernel
from warpwise.show import show_sass


def facts(kernel, args, arch="sm_80"):
    """What the compiler makes of a kernel, in short."""
    code = compile_kernel(kernel, args, arch)
    print(code)
    names = [row.name.split(".")[0] for row in code.sass]
    print(
        f"  instructions          {len(names)}: {names.count('FFMA')} FFMA, {names.count('LDS')} LDS,"
    )
    print(f"                        {names.count('LDL') + names.count('STL')} in local memory")
    for line in code.lines:
        wide = {row.name for row in line.instructions if row.kind in ("float64", "convert")}
        if wide and code.float64:
            print(f"  {line.text}: {', '.join(sorted(wide))}")


# %% [markdown]
r"""
## Exercise 1 - Single only (2 points)

**Goal.** The kernel below smooths a signal. All its arrays are float32, and it computes in float64.
"""


# %%
@cuda.jit
def single_before(out, x, n, width):
    i = cuda.grid(1)
    if 0 <= i < n:
        total = 0.0
        first = max(i - width + 1, 0)
        for j in range(first, i + 1):
            total += x[j]
        mean = total / (i + 1 - first)
        out[i] = 0.5 * mean + 0.5 * x[i]


signal = np.arange(64, dtype=np.float32)
facts(single_before, (signal, signal, 64, 8))

# %% [markdown]
r"""
**Given.** `x` and `out` of `n` float32 elements, and `width`, at least 1; a thread for each element.

**Required.** `out[i]` is half of `x[i]` plus half of the mean of the last `width` elements up to i; at the start there are fewer.
No instruction in float64 in the PTX, for `sm_80` and for `sm_90`.

**Example.** With x = 0, 1, 2, 3, ... and width = 2: out = 0, 0.75, 1.75, 2.75, ...
"""


# %% single_only tags=["exercise"]
@cuda.jit
def single_only(out, x, n, width):
    """Half of x[i] plus half of the mean of the last `width` elements, in float32."""
    ### BEGIN SOLUTION
    i = cuda.grid(1)
    if 0 <= i < n:
        total = np.float32(0)
        first = max(i - width + 1, 0)
        for j in range(first, i + 1):
            total += x[j]
        mean = total / np.float32(i + 1 - first)
        out[i] = np.float32(0.5) * mean + np.float32(0.5) * x[i]
    ### END SOLUTION


# %% tags=["check"]
check("single_only", single_only)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
The rows above name the lines in which float64 is computed or converted. Which operands of those lines are no float32?
</details>
<details><summary>Hint 2</summary>
A literal with a point is a float64. A float32 divided by an integer is a float64, too.
</details>
<details><summary>Hint 3</summary>
<code>total = np.float32(0)</code>, <code>np.float32(i + 1 - first)</code>, and <code>np.float32(0.5)</code> twice.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - Read a listing (2 points)

**Goal.** Nobody reads a thousand rows. Write the function that does.

**Given.** `listing`: rows of SASS, as texts.

**Required.** A tuple of four integers:

1. the bytes that one lane loads from global memory, all `LDG` rows together, those under a predicate too,
2. the same for shared memory, `LDS`,
3. the rows of float64 arithmetic: `DADD`, `DMUL`, `DFMA`,
4. the rows under a predicate.

A width stands in the name, as one of its parts: `128` and `64` bits, `U16` and `S16`, `U8` and `S8`; where there is none, it is 32 bits. In `[R2.64]` the 64 is about the address.

**Example.** For the seven rows below, `(16, 4, 1, 2)`.
"""

# %%
rows = (
    "S2R R2, SR_TID.X",
    "@P0 EXIT",
    "LDG.E.128 R4, [R2.64]",
    "@!P1 LDS R9, [R8.X4+0x40]",
    "F2F.F64.F32 R6, R4",
    "DFMA R6, R6, R10, 0.25",
    "STG.E [R2.64], R6",
)


# %% tally tags=["exercise"]
def tally(listing):
    """(bytes from global memory, bytes from shared memory, float64 rows, rows under a predicate)."""
    ### BEGIN SOLUTION
    bits = {"128": 128, "64": 64, "U16": 16, "S16": 16, "U8": 8, "S8": 8}
    loaded = {"LDG": 0, "LDS": 0}
    doubles = predicates = 0
    for row in listing:
        words = row.split()
        if words[0].startswith("@"):
            predicates += 1
            words = words[1:]
        first, *rest = words[0].split(".")
        if first in loaded:
            loaded[first] += max([bits[part] for part in rest if part in bits] or [32]) // 8
        doubles += first in ("DADD", "DMUL", "DFMA")
    return loaded["LDG"], loaded["LDS"], doubles, predicates
    ### END SOLUTION


# %% tags=["check"]
check("tally", tally)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
A row is a predicate, if there is one, then a name, then operands. Separate the three first.
</details>
<details><summary>Hint 2</summary>
<code>row.split()</code> gives words. If the first begins with <code>@</code>, it is the predicate, and the name is the next word. Split the name at its dots.
</details>
<details><summary>Hint 3</summary>
The first part of the name is compared with whole names, never by its first letter. The other parts are looked up in a dictionary of widths, 32 if none is there; divide by 8.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - The bound of a loop (2 points)

**Goal.** The number before the measurement: how fast can this machine code be at best?

**Given.** `names`: the names of the instructions in one turn of a loop, such as `"FFMA"` or `"LDS.128"`.
`fp32` and `fp64`: results a clock of one multiprocessor, for float32 and float64 arithmetic.

**Required.** A tuple:

1. the least clocks of a scheduler for one warp's turn, by the formula of the lesson (float32 rows are `FADD`, `FMUL`, `FFMA`),
2. the share of the float32 peak at that rate. The peak is reached when the unit does an `FFMA` in all lanes at all times; an `FFMA` is two operations, `FADD` and `FMUL` are one each.

**Examples.** 16 `FFMA`, 16 `LDS` and 4 `LDS.128` with 128 and 2 lanes: `(36, 0.444)`, with 64 and 32 lanes `(36, 0.889)`.
`FADD, FMUL, FMUL, IADD3` with 128 and 64 lanes: `(4, 0.375)`.
"""


# %% loop_bound tags=["exercise"]
def loop_bound(names, fp32, fp64):
    """(least clocks of a scheduler for one warp's turn, share of the float32 peak)."""
    ### BEGIN SOLUTION
    first = [name.split(".")[0] for name in names]
    fused, plain = first.count("FFMA"), first.count("FADD") + first.count("FMUL")
    doubles = first.count("DADD") + first.count("DMUL") + first.count("DFMA")
    clocks = max(len(names), (fused + plain) * 128 / fp32, doubles * 128 / fp64)
    return clocks, (2 * fused + plain) * 64 / fp32 / clocks
    ### END SOLUTION


# %% tags=["check"]
check("loop_bound", loop_bound)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Three bounds, and the largest counts: rows started, the float32 unit, the float64 unit.
</details>
<details><summary>Hint 2</summary>
A scheduler has a quarter of the lanes, and a warp has 32: each float32 row takes <code>32 / (fp32 / 4)</code> clocks of its unit.
</details>
<details><summary>Hint 3</summary>
Operations of a warp: <code>32 * (2 * FFMA + FADD + FMUL)</code>. The peak of a scheduler is <code>2 * fp32 / 4</code> operations a clock, for that many clocks.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - Without a sign (1 point)

**Goal.** The kernel below subtracts from each element the one at the same distance from the end. Two thirds of its instructions compute addresses.
"""


# %%
@cuda.jit
def signless_before(out, x, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = x[i] - x[n - 1 - i]


code = compile_kernel(signless_before, (signal, signal, 64), "sm_80")
print(len(code.sass), "instructions,", code.ptx.operations["shr.s64"], "sign tests in the PTX")

# %% [markdown]
r"""
**Given.** `x` and `out` of `n` float32 elements; at least one thread for each.

**Required.** The same values. No sign test (`shr.s64`) and nothing in float64 in the PTX, for `sm_80` and for `sm_90`.

**Example.** With x = 1, 2, 4: out = -3, 0, 3.
"""


# %% signless tags=["exercise"]
@cuda.jit
def signless(out, x, n):
    """out[i] = x[i] - x[n - 1 - i], with indices that cannot be negative."""
    ### BEGIN SOLUTION
    i, size = np.uint32(cuda.grid(1)), np.uint32(n)
    if i < size:
        out[i] = x[i] - x[size - np.uint32(1) - i]
    ### END SOLUTION


# %% tags=["check"]
check("signless", signless)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
There are two different indices. What does the compiler know of each?
</details>
<details><summary>Hint 2</summary>
An unsigned number cannot be negative. But unsigned and signed together are signed again, or even a float64.
</details>
<details><summary>Hint 3</summary>
<code>np.uint32</code> around <code>cuda.grid(1)</code>, around <code>n</code> and around the literal 1.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - Debug: an array that should be registers (2 points)

**Goal.** Each thread counts how often each of 12 levels occurs in its part of `x`. Twelve counters are no burden: a thread may have 255 registers.
The compiler's report says that something is wrong. (`LEVELS` is 12.)
"""

# %%
LEVELS = 12


@cuda.jit
def counts_before(counts, x, per, n):
    i = cuda.grid(1)
    own = cuda.local.array(LEVELS, np.int32)
    for j in range(LEVELS):
        own[j] = 0
    for s in range(i * per, min(i * per + per, n)):
        own[x[s]] += 1
    if i < counts.shape[0]:
        for j in range(LEVELS):
            counts[i, j] = own[j]


table_of_counts, levels = np.zeros((64, LEVELS), np.int32), np.zeros(512, np.uint8)
facts(counts_before, (table_of_counts, levels, 8, 512))

# %% [markdown]
r"""
**Given.** `x`: n levels from 0 to 11, as uint8. `counts`: a row of 12 int32 for each thread; a few threads may have no row.
Thread i has the elements from `i * per` up to `(i + 1) * per`, as far as there are any.

**Required.** The same values, each element of `counts` written once, each element of `x` loaded once.
No loads or stores of local memory in the PTX and no stack, for `sm_80` and for `sm_90`.

**Example.** With per = 3 and x = 1, 1, 4, 0, 2, 2: row 0 has a 2 at level 1 and a 1 at level 4, row 1 a 1 at level 0 and a 2 at level 2.
"""


# %% kept_counts tags=["exercise"]
@cuda.jit
def kept_counts(counts, x, per, n):
    """counts[i, level]: how often each level occurs in thread i's part of x."""
    ### BEGIN SOLUTION
    i = cuda.grid(1)
    own = cuda.local.array(LEVELS, np.int32)
    for j in range(LEVELS):
        own[j] = 0
    for s in range(i * per, min(i * per + per, n)):
        v = x[s]
        for j in range(LEVELS):  # unrolled: each counter has a register of its own
            if v == j:
                own[j] += 1
    if i < counts.shape[0]:
        for j in range(LEVELS):
            counts[i, j] = own[j]
    ### END SOLUTION


# %% tags=["check"]
check("kept_counts", kept_counts)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
48 bytes of stack are 12 numbers of 4 bytes. Which of the lines makes it impossible to give each of them a register?
</details>
<details><summary>Hint 2</summary>
The index <code>x[s]</code> is known at run time only. In a loop with a known bound every index becomes a constant.
</details>
<details><summary>Hint 3</summary>
<code>v = x[s]</code>, then <code>for j in range(LEVELS):</code> and <code>if v == j: own[j] += 1</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - Stretch: wide reads (3 points)

**Goal.** A product of matrices in which a thread has four results. As it stands, it reads 68 times from shared memory for 64 multiply-adds.

**Given.** Blocks of 16 x 16 threads; block (0, 0) has the rows 0 to 15 and the columns 0 to 63 of `c`, and so on. Sizes of any kind.
"""

# %%
TILE = 16


@cuda.jit
def reads_before(c, a, b, m, n, k):
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, 64), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, col = cuda.blockIdx.y * TILE + ty, cuda.blockIdx.x * 64 + tx
    zero = np.float32(0)
    s0 = s1 = s2 = s3 = zero
    for start in range(0, k, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < k else zero
        for q in range(0, 64, TILE):
            inside = start + ty < k and col + q < n
            tile_b[ty, tx + q] = b[start + ty, col + q] if inside else zero
        cuda.syncthreads()
        for i in range(TILE):
            v = tile_a[ty, i]
            s0 += v * tile_b[i, tx]
            s1 += v * tile_b[i, tx + 16]
            s2 += v * tile_b[i, tx + 32]
            s3 += v * tile_b[i, tx + 48]
        cuda.syncthreads()
    if row < m:
        if col < n:
            c[row, col] = s0
        if col + 16 < n:
            c[row, col + 16] = s1
        if col + 32 < n:
            c[row, col + 32] = s2
        if col + 48 < n:
            c[row, col + 48] = s3


square = np.zeros((64, 64), np.float32)
product_args = (square, square, square, 64, 64, 64)
facts(reads_before, product_args)

# %% [markdown]
r"""
**Required.** `c = a @ b`, each result written once. In the machine code for `sm_80` and `sm_90`: at least **2 `FFMA` for each `LDS`**, and no float64.
No more sectors of global memory loaded than by the kernel above.

Choose which four columns a thread has. Then see to it that the compiler can join its four reads of `tile_b`: they have to be neighbours, and it has to know that the first of them lies at a multiple of 16 bytes.

**Example.** As in `t2_01_gemm_tiles`. When the check passes, you see your kernel beside the one above, with a score: 100 is our solution.
"""


# %% wide_reads tags=["exercise"]
@cuda.jit
def wide_reads(c, a, b, m, n, k):
    """c = a @ b; each block of 16 x 16 threads computes 16 x 64 results."""
    ### BEGIN SOLUTION
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, 64), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, col = cuda.blockIdx.y * TILE + ty, cuda.blockIdx.x * 64 + tx
    place = np.uint32(4 * tx)  # without a sign, so that its alignment stays known
    zero = np.float32(0)
    s0 = s1 = s2 = s3 = zero
    for start in range(0, k, TILE):
        tile_a[ty, tx] = a[row, start + tx] if row < m and start + tx < k else zero
        for q in range(0, 64, TILE):
            inside = start + ty < k and col + q < n
            tile_b[ty, tx + q] = b[start + ty, col + q] if inside else zero
        cuda.syncthreads()
        for i in range(TILE):
            v = tile_a[ty, i]
            s0 += v * tile_b[i, place]
            s1 += v * tile_b[i, place + np.uint32(1)]
            s2 += v * tile_b[i, place + np.uint32(2)]
            s3 += v * tile_b[i, place + np.uint32(3)]
        cuda.syncthreads()
    first = cuda.blockIdx.x * 64 + 4 * tx
    if row < m:
        if first < n:
            c[row, first] = s0
        if first + 1 < n:
            c[row, first + 1] = s1
        if first + 2 < n:
            c[row, first + 2] = s2
        if first + 3 < n:
            c[row, first + 3] = s3
    ### END SOLUTION


# %% tags=["check"]
if check("wide_reads", wide_reads).status == "pass":
    for name, kernel in (("before", reads_before), ("yours", wide_reads)):
        code = compile_kernel(kernel, product_args, "sm_80")
        names = [row.name.split(".")[0] for row in code.sass]
        fused, loads = names.count("FFMA"), names.count("LDS")
        share = loop_bound(["FFMA"] * fused + ["LDS"] * loads, 128, 2)[1]
        print(f"{name:7}{fused} FFMA, {loads} LDS, {len(names)} instructions in all: at most "
              f"{share:.0%} of the float32 peak of an RTX 3090, score {100 * 20 * fused / 64 / loads:.0f}")  # fmt: skip
    display(show_sass(code))

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
In <code>tile_a</code> the compiler joins four reads already, because i runs along a row. Which four columns must a thread have for the same to happen in <code>tile_b</code>?
</details>
<details><summary>Hint 2</summary>
The columns <code>4 * tx</code> to <code>4 * tx + 3</code>; store to the same columns of c. If there are still 64 narrow reads, the index may be negative for all the compiler knows: see exercise 4.
</details>
<details><summary>Hint 3</summary>
<code>place = np.uint32(4 * tx)</code>, and read <code>tile_b[i, place]</code>, <code>tile_b[i, place + np.uint32(1)]</code> and so on. The four results belong to <code>first = cuda.blockIdx.x * 64 + 4 * tx</code> and the next three columns.
</details>
"""

# %% [markdown] tags=["solution"]
r"""
## Remarks on the answers

- Exercise 1: half of the literals are enough to bring all of it back, for float32 with float64 is float64. A single product by a literal like 0.5, alone in its line, would be taken back by the compiler; do not rely on it.
- Exercise 2: real listings have more names. `row.kind` and `row.bits` in `warpwise.compiler` are the same function with a longer table.
- Exercise 3: the bound of 16 `FFMA` and 20 `LDS` is 44 % on an RTX 3090. With 64 and 20, as in exercise 6, it is 76 %.
- Exercise 4: `0 <= i` is enough for the first index, and not for the second. With `np.uint64` compare with `np.uint64(n)`.
- Exercise 5: twelve comparisons for each element are more arithmetic than one access. They need no memory, and that is the trade. For 256 levels shared memory is right (`t1_09_atomics`).
- Exercise 6: there are two ways, an unsigned index or a tile of the shape (16, 16, 4) whose last index is a constant. Both say that the address is a multiple of 16 bytes.
  Written as an inner loop over the four columns, the code has 2 `FFMA` for each `LDS` instead of 3.2: the compiler unrolls the loop over i less, and then does not join the reads of `tile_a`.
  The simulator counts the four reads of your Python, one by one, and with neighbouring columns it finds bank conflicts between them; the joined read of 128 bits has none.
"""

# %% [markdown]
r"""
**Done?** You can now ask the compiler instead of guessing.
To compare your answers with ours, open `solutions/t2_gpu/t2_11_machine_code_lab.ipynb`.

- The next lesson, `t2_12_profiling`, looks at a whole program: ten traces, ten causes.
"""
