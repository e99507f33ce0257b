# %% [markdown]
r"""
# Machine code: reading PTX and SASS

**A kernel has two lines of Python. The GPU runs 34 instructions. Which of them did you ask for?**

The values are right, the counters look fine, and still it is slower than the bound says. The rest stands in the machine code.
At the end of this lesson you can

- read a row of SASS: predicate, name, destination, sources,
- find the instructions that typing let in: a float64, or a test for a negative index,
- tell an array that lives in registers from one that lives in memory, and a spill from both,
- see how wide a load is, and say what the compiler would have to know to make it wider,
- bound the time of a piece of machine code by counting its rows.

You need the lessons `t1_06_banks`, `t1_10_occupancy` and `t2_01_gemm_tiles`, and about 45 minutes. You do not need a GPU.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
All that is compiled here comes from the real compiler, for GPUs that you do not have: Numba's front end, NVIDIA's libNVVM and `ptxas`.
They come with the course on Linux. On Windows there are PTX and registers, but no machine code; on macOS read the saved outputs.
Other versions of these tools may choose other registers and another order. What we conclude does not depend on either.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np

from warpwise import cuda, explain, profile
from warpwise.compiler import compile_kernel, compile_triton
from warpwise.hardware import device, occupancy
from warpwise.show import show_sass, table
from warpwise.show.dial import Dial, Dialled

# %% [markdown]
r"""
## 1. Two languages

Your Python is translated twice.

- *PTX* is an assembly language for a GPU that does not exist. It has as many registers as you like and names like `ld.global.f32`. The text is in your program.
- *SASS* is what one GPU runs. `ptxas`, or the driver, makes it from the PTX, for one architecture: `sm_80` is an A100, `sm_90` an H100.

`compile_kernel` does both steps for the arguments that you give it. How many rows of SASS will this kernel have?
"""

# %%
guess = "?"  # instructions of mix, for sm_80


@cuda.jit
def mix(out, x, y, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = x[i] + np.float32(2) * y[i]


floats = np.zeros(1024, np.float32)
args = (floats, floats, floats, floats.size)
compiled = compile_kernel(mix, args, "sm_80")
print("guess:", guess, "   instructions:", len(compiled.sass))
print(compiled)
show_sass(compiled)

# %% [markdown]
r"""
**34**, and one of them multiplies and adds. Open the lines of Python in the list to see which rows they became. A row reads like this:

    @P0 EXIT                       if the predicate P0 is true, this thread ends
    LDG.E R4, [R4.64]              load 32 bits of global memory, at the 64-bit address in R4 and R5, into R4
    FFMA R9, R4, 2, R7             R9 = R4 * 2 + R7

A *predicate* is a register of one bit for each thread. `R` are registers of 32 bits; `RZ` reads as zero. `c[0x0][...]` are the kernel's arguments.
The destination comes first. `.64` or `.128` at the end of a load's name is its width in bits; without it, 32.

| first letters | what it does |
|---|---|
| `LDG STG`, `LDS STS`, `LDL STL` | load and store: global, shared, local memory |
| `FADD FMUL FFMA`, `DADD DMUL DFMA` | arithmetic in float32, in float64 |
| `IMAD IADD3 LEA SHF LOP3` | integers: multiply-add, add, scale an index, shift, bit logic |
| `ISETP FSETP` | compare, and set a predicate |
| `S2R` | read a special register, such as threadIdx.x |
| `BRA BSSY BSYNC EXIT` | branch, begin and end of a part where a warp may divide, end |
| `BAR SHFL ATOM` | barrier, shuffle, atomic |

## 2. The instructions you did not ask for

Two loads, one store, one multiply-add: four. The other 30 find out where. Look at the `LOP3` and `SHF` rows under the last line.
Here are three ways to say the same. Which of them needs the fewest instructions?
"""

# %%
guesses = {"0 <= i < n": "?", "uint32": "?"}  # instructions, for sm_80


@cuda.jit
def mix_from_zero(out, x, y, n):
    i = cuda.grid(1)
    if 0 <= i < n:
        out[i] = x[i] + np.float32(2) * y[i]


@cuda.jit
def mix_unsigned(out, x, y, n):
    i = np.uint32(cuda.grid(1))
    if i < n:
        out[i] = x[i] + np.float32(2) * y[i]


versions = {"i < n": mix, "0 <= i < n": mix_from_zero, "uint32": mix_unsigned}
architectures = ("sm_75", "sm_80", "sm_90", "sm_120")
print(guesses)
rows = []
for name, kernel in versions.items():
    codes = [compile_kernel(kernel, args, arch) for arch in architectures]
    signs = sum(n for op, n in codes[1].ptx.operations.items() if op == "shr.s64")
    rows.append((name, str(signs), *(str(len(code.sass)) for code in codes)))
table(("version", "sign tests in the PTX, sm_80", *architectures), rows, "compiled")

# %% [markdown]
r"""
**34, 23 and 21** on `sm_80`. Python lets you write `x[-1]` for the last element, and so does Numba on a GPU.
If the compiler cannot know that an index is not negative, it adds the length to it where it is: a shift that copies the sign (`shr.s64` in PTX), a logical *and* with the length, an addition, for each array.
`cuda.grid(1)` is an int64, and `i < n` says nothing about its lower end. `0 <= i` says it; an unsigned index cannot be negative at all.

For `sm_120` another version of the compiler is at work, which has found out by itself that a thread's number is not negative.

The picture counts all rows by kind. Nothing that you asked for has gone.
"""

# %%
kinds = ("load", "store", "float32", "branch", "other")
fig, ax = plt.subplots(figsize=(7, 2.2))
for position, kernel in enumerate(versions.values()):
    counts, left = compile_kernel(kernel, args, "sm_80").kinds, 0
    for kind, colour in zip(kinds, ("C0", "C1", "C2", "C4", "0.7"), strict=True):
        ax.barh(
            position, counts[kind], left=left, color=colour, label=kind if not position else None
        )
        left += counts[kind]
ax.set_yticks(range(3), versions)
ax.set(xlabel="instructions, sm_80 (compiled)")
ax.invert_yaxis()
ax.legend(ncols=5, fontsize=8, loc="lower right")
fig.tight_layout()
plt.show()

# %% [markdown]
r"""
## 3. The float64 that typing let in

Numba types each operation by its operands. A float literal is a float64; so is an integer divided by an integer.
All the arrays below are float32. Which of the four kernels compute in float64?
"""

# %%
guesses = {"half": "?", "blend": "?", "share": "?", "mixed": "?"}  # yes or no


@cuda.jit
def half(out, x, n):
    i = cuda.grid(1)
    if 0 <= i < n:
        out[i] = 0.5 * x[i]


@cuda.jit
def blend(out, x, n):
    i = cuda.grid(1)
    if 0 <= i < n:
        out[i] = 0.5 * x[i] + 0.25


@cuda.jit
def share(out, x, n):
    i = cuda.grid(1)
    if 0 <= i < n:
        out[i] = x[i] / n


@cuda.jit
def mixed(out, x, n):
    i = np.uint64(cuda.grid(1))
    if i < n:
        out[i] = x[i]


print(guesses)
rows = []
for kernel in (half, blend, share, mixed):
    code = compile_kernel(kernel, (floats, floats, floats.size), "sm_80")
    names = sorted(
        op for op in code.ptx.operations if ".f64" in op and not op.startswith(("ld", "mov"))
    )
    rows.append((kernel.__name__, str(code.float64), ", ".join(names) or "none"))
table(("kernel", "float64 instructions", "which (PTX)"), rows, "compiled for sm_80")

# %% [markdown]
r"""
`half` does not, though Numba types it so: 0.5 is a float32, too, and a single product of float32 numbers that is rounded to float32 is the same either way. The compiler takes the float64 back.
With 0.1, which no float32 equals, it could not.
With a second operation it may not: `blend` converts, computes in float64, and converts again. `share` divides by an int64, and the result of that is a float64.
`mixed` is the surprise: `i < n` compares a uint64 with an int64, and Numba has no integer type for both, so it compares them as **float64** numbers.

How much does that cost? A multiprocessor has four schedulers, and each of them can start one instruction of one warp in a clock.
An instruction needs its unit for 32 lanes. From the throughput table of NVIDIA's guide [1], results a clock and multiprocessor:

| architecture | float32 add, multiply, FMA | float64 |
|---|---|---|
| 7.5 (T4) | 64 | 2 |
| 8.0 (A100) | 64 | 32 |
| 8.6 (RTX 3090) | 128 | 2 |
| 9.0 (H100) | 128 | 64 |
| 12.0 | 128 | 2 |

How many clocks does one `DFMA` of a warp keep the float64 unit of a scheduler busy, on an RTX 3090 and on an H100?
"""

# %%
guesses = {"RTX 3090": "?", "H100": "?"}

lanes = {"RTX 3090": (128, 2), "H100": (128, 64)}
print(guesses)
for name, (fp32, fp64) in lanes.items():
    print(f"{name}: FFMA {32 / (fp32 / 4):g} clock, DFMA {32 / (fp64 / 4):g} clocks")
gpu = device("RTX 3090")
fp32 = gpu.sms.value * 128 * 2 * gpu.clock_mhz.value / 1e6
fp64 = gpu.sms.value * 2 * 2 * gpu.clock_mhz.value / 1e6
print(
    f"RTX 3090: {fp32:.1f} TFLOP/s in float32, {1000 * fp64:.0f} GFLOP/s in float64, 1/{fp32 / fp64:.0f}"
)

# %% [markdown]
r"""
**64** clocks on an RTX 3090 and **2** on an H100. NVIDIA prints 35.6 TFLOP/s for the RTX 3090, and 1/64 of the float32 rate for float64 [2]: the same numbers.
In a library of NVIDIA's, one literal `0.0` made a float32 path run at 195 GB/s where the float64 path reached 611 [3].

The place is easy to find. The rows stand under their line of Python, and `types` says what Numba inferred for each variable:
"""

# %%
code = compile_kernel(blend, (floats, floats, floats.size), "sm_80")
for line in code.lines:
    found = [row.text for row in line.instructions if row.kind in ("float64", "convert")]
    if found:
        print(f"{line.text}\n    " + "\n    ".join(found))
print(
    {
        name: kind
        for name, kind in compile_kernel(mixed, (floats, floats, 5), "sm_80").types.items()
        if name in "in"
    }
)

# %% [markdown]
r"""
## 4. One rounding or two

`mix` has one `FFMA` for a product and a sum. The compiler *contracts* `a * b + c` to a fused multiply-add: the product is not rounded, only the sum.
The simulator rounds twice, as your Python says. So the two may differ in the last bits; here is a case where nothing else is left.
What is `a * b + c` with a = b = 1 + 1/4096 and c = -(1 + 1/2048)?
"""

# %%
guesses = {"two roundings": "?", "one": "?"}


@cuda.jit
def contracted(out, a, b, c):
    out[0] = a[0] * b[0] + c[0]
    out[1] = cuda.fma(a[0], b[0], c[0])


a, c = np.full(1, 1 + 2**-12, np.float32), np.full(1, -(1 + 2**-11), np.float32)
out = np.zeros(2, np.float32)
contracted[1, 1](out, a, a, c)
print(guesses)
print(f"simulated: a * b + c = {out[0]:g}, cuda.fma(a, b, c) = {out[1]:.4g}, 2**-24 = {2**-24:.4g}")
code = compile_kernel(contracted, (out, a, a, c), "sm_80")
print("compiled: ", [row.name for row in code.sass if row.kind == "float32"])

# %% [markdown]
r"""
0 with two roundings, 2**-24 with one. In the machine code there are no `FMUL` and no `FADD`: on a GPU both elements are 2**-24.
A tolerance in a test has to allow that. And when you count instructions, a product with a sum is *one*.

## 5. Branches that are none

`if` does not have to become a branch. Which of these three do? Look for `BRA`.
"""

# %%
guesses = {"clip": "?", "slope": "?", "repeat": "?"}  # branches, not counting the guard


@cuda.jit
def clip(out, x, n):
    i = cuda.grid(1)
    if 0 <= i < n:
        out[i] = max(x[i], np.float32(0))


@cuda.jit
def slope(out, x, n):
    i = cuda.grid(1)
    if 0 <= i < n:
        v = x[i]
        if v > np.float32(0):
            v = v * np.float32(2)
        else:
            v = v - np.float32(1)
        out[i] = v


@cuda.jit
def repeat(out, x, n):
    i = cuda.grid(1)
    if 0 <= i < n:
        v = x[i]
        if v > np.float32(0):
            for _ in range(n):
                v = v * v + np.float32(1)
        out[i] = v


print(guesses)
for kernel in (clip, slope, repeat):
    code = compile_kernel(kernel, (floats, floats, floats.size), "sm_80")
    branches = sum(row.name == "BRA" for row in code.sass)
    kept = [row.text for row in code.sass if row.text.startswith("@") or row.name == "FMNMX"][:2]
    print(f"{kernel.__name__:7} {branches} branches, {len(code.sass)} instructions, first: {kept}")

# %% [markdown]
r"""
The first two have none. A maximum is one instruction, `FMNMX`. The short `if` computes one side for all lanes and the other under a predicate: `@!P0 FADD`, a row that only lanes with P0 false carry out.
The guard itself is `@P0 EXIT`. Only the loop needs real branches. So count divergence where there is a `BRA`, not where there is an `if`.
`profile` counts the `if` of your Python, and it is right about the source; the compiler may have been there before.

## 6. Loops, and copies of their bodies

The compiler *unrolls*: it writes the body of a loop several times, so that fewer rows count and jump.
For the two loops below, how many `FFMA` rows will there be?
"""

# %%
guesses = {"eight": "?", "many": "?"}


@cuda.jit
def eight(out, x, w):
    i = cuda.grid(1)
    total = np.float32(0)
    for j in range(8):
        total += x[8 * i + j] * w[j]
    out[i] = total


@cuda.jit
def many(out, x, w):
    i = cuda.grid(1)
    total = np.float32(0)
    for j in range(w.size):
        total += x[w.size * i + j] * w[j]
    out[i] = total


print(guesses)
for kernel in (eight, many):
    code = compile_kernel(kernel, (floats, floats, floats), "sm_80")
    print(f"{kernel.__name__:6}", {name: sum(row.name == name for row in code.sass) for name in ("FFMA", "BRA")},
          f"{len(code.sass)} instructions")  # fmt: skip

# %% [markdown]
r"""
`range(8)` is known: **8** copies and no loop left. The other has **5** copies: four in a loop that takes four turns at a time, and one for what is left over.
So the number of rows is not the number of instructions that run. Count rows within one turn of a loop.

## 7. Arrays without memory

A thread's own array, `cuda.local.array`, may live in registers. But registers have no numbers at run time: there is no "register number j".
Below, two filters over the last 24 values. Both hold them in a local array. In which of the two can it live in registers?
"""

# %%
guess = "?"
TAPS = 24


@cuda.jit
def ring(out, x, w, per, n):
    first = cuda.grid(1) * per
    last = cuda.local.array(TAPS, np.float32)
    for j in range(TAPS):
        last[j] = np.float32(0)
    for s in range(first, min(first + per, n)):
        last[s % TAPS] = x[s]  # overwrite the oldest
        total = np.float32(0)
        for j in range(TAPS):
            total += w[j] * last[(s - j) % TAPS]
        out[s] = total


@cuda.jit
def moved(out, x, w, per, n):
    first = cuda.grid(1) * per
    last = cuda.local.array(TAPS, np.float32)
    for j in range(TAPS):
        last[j] = np.float32(0)
    for s in range(first, min(first + per, n)):
        for j in range(TAPS - 1, 0, -1):
            last[j] = last[j - 1]  # all move up by one place
        last[0] = x[s]
        total = np.float32(0)
        for j in range(TAPS):
            total += w[j] * last[j]
        out[s] = total


print("guess:", guess)
rows = []
for kernel in (ring, moved):
    code = compile_kernel(kernel, (floats, floats, floats, 64, floats.size), "sm_80")
    local = {op: n for op, n in code.ptx.operations.items() if ".local" in op}
    names = [row.name for row in code.sass]
    rows.append((kernel.__name__, f"{code.resources.stack} B", str(sum(local.values())),
                 str(sum(n.startswith(("LDL", "STL")) for n in names)), str(len(names))))  # fmt: skip
table(
    (
        "kernel",
        "stack a thread",
        "local loads and stores, PTX",
        "LDL and STL, SASS",
        "instructions",
    ),
    rows,
    "compiled for sm_80",
)

# %% [markdown]
r"""
`moved`, although it copies 23 numbers for each value. Its loops have known bounds, so after unrolling each index is a constant, and each element gets a register of its own. The copies cost little: the unrolled code renames registers.
In `ring` the index `s % TAPS` is known only at run time. The array has to be memory: 24 * 4 = 96 bytes of *stack* a thread, reached by `LDL` and `STL`.

Local memory is memory of the device with a place for each thread. It goes through the caches, but each access is a request like others.

## 8. Spills

Registers may also be too few. A thread can have 255; the option `max_registers` of `@cuda.jit` lowers that, so that more warps fit.
What does not fit is *spilled*: stored to local memory and loaded again. Turn the dials. Where does it begin, and do you get warps for it?
"""

# %%
guess = "?"  # the largest limit of those on the dial at which this kernel spills


@cuda.jit
def sums(out, x, n):
    total = cuda.local.array(32, np.float32)
    for j in range(32):
        total[j] = np.float32(0)
    for s in range(n):
        for j in range(32):
            total[j] = total[j] * x[s] + x[j]
    for j in range(32):
        out[cuda.grid(1), j] = total[j]


wide = np.zeros((64, 32), np.float32)


def limited(most, arch):
    """What the compiler makes of `sums` with at most so many registers."""
    code = compile_kernel(sums, (wide, floats, 64), arch, max_registers=most)
    fits = occupancy("A100 40GB" if arch == "sm_80" else "H100", 256, code.registers, 0)
    row = (str(code.registers), f"{code.resources.spill_stores} and {code.resources.spill_loads} B",
           str(len(code.sass)), str(fits.warps))  # fmt: skip
    head = (
        "registers",
        "spilled: stored and loaded, a thread",
        "instructions",
        "warps on an SM, blocks of 256",
    )
    return table(head, [row], f"compiled for {arch}; warps modelled")._repr_mimebundle_()


print("guess:", guess)
for most in (128, 64, 48, 40, 32, 24):
    code = compile_kernel(sums, (wide, floats, 64), "sm_80", max_registers=most)
    print(
        f"at most {most:3}: {code.registers:2} registers, {code.resources.spill_stores:2} B spilled, {len(code.sass)} instructions"
    )
Dialled(
    [Dial("most", (128, 64, 48, 40, 32, 24), 32), Dial("arch", ("sm_80", "sm_90"), "sm_80")],
    limited,
)

# %% [markdown]
r"""
At **32**. From 78 down to 40 registers the compiler finds other ways, with more instructions: it computes addresses again instead of keeping them.
At 32 it stores values to local memory. That is not always wrong. A few spilled bytes for twice as many warps may pay; measure before you believe.

Spills and local arrays look alike in the code, `LDL` and `STL`. The assembler's report tells them apart: an array is stack without spills.

## 9. How wide is a load?

A warp that needs four neighbouring numbers a lane can fetch them in four requests of 32 bits, or in one of 128. The second is one instruction.
The tiled product of `t2_01_gemm_tiles` again, one step: 16 numbers of a row of `tile_a`, 16 of a column of `tile_b`. How many `LDS` rows?
"""

# %%
guess = "?"
TILE = 16


@cuda.jit
def tiled(c, a, b, k):
    tile_a = cuda.shared.array((TILE, TILE), np.float32)
    tile_b = cuda.shared.array((TILE, TILE), np.float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    total = np.float32(0)
    for start in range(0, k, TILE):
        tile_a[ty, tx] = a[row, start + tx]
        tile_b[ty, tx] = b[start + ty, col]
        cuda.syncthreads()
        for i in range(TILE):
            total += tile_a[ty, i] * tile_b[i, tx]
        cuda.syncthreads()
    c[row, col] = total


square = np.zeros((64, 64), np.float32)
code = compile_kernel(tiled, (square, square, square, 64), "sm_80")
widths = {f"{name} {bits} bits": n for (name, bits), n in code.load_bits.items()}
print("guess:", guess, "   ", widths)
print("fused multiply-adds:", sum(row.name == "FFMA" for row in code.sass))

# %% [markdown]
r"""
**20**: four of 128 bits for `tile_a`, where i runs along a row, and 16 of 32 bits for `tile_b`, where it runs down a column. Nobody asked for this; `ptxas` joins neighbours by itself, if it *knows* three things:
they are neighbours, no store comes between, and the address is a multiple of 16 bytes. The last one it knows of shared memory, which it lays out itself.

Of global memory it knows nothing. A NumPy array, or a view of one, may start anywhere. Four neighbours of a global array, in Numba and in Triton:
"""

# %%
import triton
import triton.language as tl

guesses = {"Numba": "?", "Triton": "?"}  # bits of a load


@cuda.jit
def four(out, x, n):
    i = np.uint32(4 * cuda.grid(1))
    if i < n:
        for j in range(4):
            out[i + np.uint32(j)] = x[i + np.uint32(j)]


@triton.jit
def copied(out, x, n, SIZE: tl.constexpr):
    places = tl.program_id(0) * SIZE + tl.arange(0, SIZE)
    tl.store(out + places, tl.load(x + places, mask=places < n), mask=places < n)


print(guesses)
numba = compile_kernel(four, (floats, floats, floats.size), "sm_80")
print("Numba: ", {op: n for op, n in numba.ptx.operations.items() if op.startswith("ld.global")})
for n, size in ((1024, "a multiple of 16"), (1023, "any other number")):
    code = compile_triton(copied, {"out": "*fp32", "x": "*fp32", "n": n, "SIZE": 512}, "sm_80")
    loads = {op: k for op, k in code.ptx.operations.items() if op.startswith("ld.global")}
    print(f"Triton, n is {size}: {loads}")

# %% [markdown]
r"""
Numba loads 32 bits at a time: **4** `ld.global.f32`. Triton has `ld.global.v4.b32`, four words in one, because its launcher looks at each pointer and each number, and compiles a version for multiples of 16.
When n may be anything, the mask may end within a group of four, and the wide load is gone.
In CUDA C++ you promise the alignment yourself, by reading through a pointer to `float4`; if the promise is false, the kernel stops with a misaligned address.
Count `ld.global.v4` in PTX and `LDG.E.128` in SASS to see whether you have got what you promised.

## 10. Where is the bank conflict?

Machine code does not say that a request conflicts: that depends on the numbers in the registers. It says *where* the request stands, and how its address is made.
The square transpose of `t1_06_banks`, without padding. Which of the two shared accesses is it?
"""

# %%
guess = "?"


@cuda.jit
def turn(out, x):
    tile = cuda.shared.array((32, 32), np.float32)
    col, row = cuda.grid(2)
    tile[cuda.threadIdx.y, cuda.threadIdx.x] = x[row, col]
    cuda.syncthreads()
    row, col = cuda.blockIdx.x * 32 + cuda.threadIdx.y, cuda.blockIdx.y * 32 + cuda.threadIdx.x
    out[row, col] = tile[cuda.threadIdx.x, cuda.threadIdx.y]


print("guess:", guess)
report = profile(turn[(2, 2), (32, 32)], square, square.copy())
code = compile_kernel(turn, (square, square), "sm_80")
conflicts = {line.number: line.shared.bank_conflicts for line in report.lines}
for line in code.lines:
    rows = [row.text for row in line.instructions if row.name.split(".")[0] in ("LDS", "STS")]
    if rows:
        steps = [row.text for row in line.instructions if "0x20," in row.text]
        print(
            f"{line.text}\n    {rows}, bank conflicts counted: {conflicts[line.number]}\n    {steps}"
        )

# %% [markdown]
r"""
The `LDS`. Both addresses are made by a multiplication with 0x20, 32 words, the length of a row. In the `STS` it is the row, threadIdx.y, that is multiplied: equal for all lanes of a warp.
In the `LDS` the roles are exchanged, and it is the lane's own number: 32 lanes, 32 words apart, one bank.
The counter and the machine code meet at the line of Python. Nsight Compute shows the same pairing on its source page, with the counter beside each row of SASS.

## 11. A bound from a listing

Take the rows of one turn of a loop. Each of the four schedulers starts at most one a clock, and each unit takes 32 lanes at its own rate (section 3). So one warp's turn takes a scheduler at least

    max( rows,  float32 rows * 32 / (float32 lanes / 4),  float64 rows * 32 / (float64 lanes / 4) )  clocks

where float32 rows are `FADD`, `FMUL` and `FFMA`, and float64 rows are `DADD`, `DMUL` and `DFMA`.
In the inner part of `tiled`, 16 FFMA and 20 LDS: what share of the float32 peak can that reach, on an A100 and on an RTX 3090?
"""

# %%
guesses = {"A100": "?", "RTX 3090": "?"}


def least_clocks(rows, float32_rows, float64_rows, fp32, fp64):
    """Clocks of a scheduler for one warp."""
    return max(rows, float32_rows * 128 / fp32, float64_rows * 128 / fp64)


print(guesses)
for name, fp32, fp64 in (("A100", 64, 32), ("RTX 3090", 128, 2)):
    clocks = least_clocks(16 + 20, 16, 0, fp32, fp64)
    print(f"{name}: {clocks:g} clocks, {16 * 128 / fp32 / clocks:.0%} of its float32 peak at most")
    print(f"    with one DFMA more: {least_clocks(37, 16, 1, fp32, fp64):g} clocks")

# %% [markdown]
r"""
**89%** and **44%**. The A100 needs two clocks for an `FFMA`, and in the second one its schedulers have time for the loads. The RTX 3090 has as many lanes as schedulers can feed: every other row costs a multiply-add.
This is why a fast product gives each thread many results: more `FFMA` for one `LDS`. A single `DFMA` in the loop would hold an RTX 3090 for 64 clocks, more than all the rest.

The bound leaves out waiting for memory, bank conflicts, and the limits of the load units. It cannot be beaten, though.

Last, the four answers on one kernel. The row "float64 instructions" is the first place to look:
"""

# %%
explain(blend[4, 256], floats.copy(), floats, floats.size, device="RTX 3090")

# %% [markdown]
r"""
## What to remember

- PTX is portable, SASS is what runs. `compile_kernel(kernel, args, "sm_80")` gives both, without a GPU; `show_sass` puts SASS under its line of Python.
- An index that may be negative costs a sign test for each array: say `0 <= i`, or use an unsigned index. But compare unsigned with unsigned.
- Look for `.f64` in PTX, `DFMA` and `F2F` in SASS. Its price is 2 to 64 clocks of a scheduler.
- `a * b + c` is one `FFMA`, with one rounding.
- A short `if` becomes a predicate or a select. Divergence needs a `BRA`.
- Loops with known bounds vanish, and only then may a local array live in registers. Stack without spills is an array; spills are registers that were too few.
- The compiler joins neighbours to 128 bits if it knows that the address is aligned: in shared memory it does, in a Numba array it does not.
- Rows of a turn, over one a clock, is a bound on the time; multiply-adds among the rows are a bound on the share of the peak.

## Where the numbers come from

1. NVIDIA, *CUDA C++ Best Practices Guide* and *CUDA C++ Programming Guide*, arithmetic throughput by compute capability. The instruction names: *CUDA Binary Utilities*, instruction set reference.
2. NVIDIA, *GA102 GPU Architecture* whitepaper, appendix A, and its note on float64 at 1/64 of the float32 rate. 82 multiprocessors at 1,695 MHz.
3. rapidsai/raft, issue 3133.
4. NVIDIA, *Parallel Thread Execution ISA*: names of PTX instructions, alignment of vector loads.
5. Everything "compiled" is said by the versions of libNVVM and ptxas in `requirements.txt`; the report names them.
"""
