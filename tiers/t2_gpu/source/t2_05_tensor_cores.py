# %% [markdown]
r"""
# Tensor cores: the warp multiplies

**An H100 multiplies float32 matrices at 67 TFLOP/s, and bf16 matrices at 989. The numbers are half as long. Where does the factor of fifteen come from?**

At the end of this lesson you can

- say which lane of a warp holds which element of a matrix instruction, and draw it,
- fill fragments by hand, and call the instruction from a Numba kernel,
- compute the peak of a tensor core from its clock,
- find `mma.sync`, `wgmma` and `tcgen05` in compiled code, and say who issues each,
- say in ulps what TF32, bf16 and fp8 inputs cost, before you use them.

You need the lessons `t1_03_warps`, `t1_06_banks`, `t2_01_gemm_tiles`, `t2_02_gemm_registers` and `t2_04_formats`, and about 45 minutes. You do not need a GPU.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
"""

# %%
import numpy as np

from warpwise import cuda, explain, mma_m16n8k16
from warpwise.compiler import compile_kernel
from warpwise.numerics import round_to, ulp, ulps_between
from warpwise.show import show_fragments

# %% [markdown]
r"""
## 1. One instruction, many products

In `t2_02_gemm_registers` each thread kept a small tile of results in its registers. Every number it read from shared memory served several multiply-adds.
Still each multiply-add was an instruction of its own: a warp issued one, and 32 lanes did one each. That is 32 multiply-adds for an instruction.

A *tensor core* is a unit that takes two small matrices and adds their product to a third. One instruction, for the whole warp.
Its name has the shape in it: *m16n8k16* multiplies A, 16 x 16, by B, 16 x 8, and adds the product to C, 16 x 8.
How many multiply-adds is that?
"""

# %%
guess = "?"  # multiply-adds of one m16n8k16

print(
    "guess:",
    guess,
    "  counted:",
    16 * 8 * 16,
    "  times the work of a plain one:",
    16 * 8 * 16 // 32,
)

# %% [markdown]
r"""
**2,048**: the work of 64 plain instructions. The decoding, the reading of registers, the checking for hazards happen once instead of 64 times.
That is the answer to the question at the top: not shorter numbers alone, but *less of everything around the multiplication*.

The peak follows from the clock. An A100 has 108 multiprocessors with 4 tensor cores each, and each does 256 multiply-adds of fp16 in a cycle at 1,410 MHz.
On an H100 they are 132 multiprocessors, 512 multiply-adds, and 1,830 MHz. The data sheets say 312 and 989 TFLOP/s [1].
"""

# %%
guesses = {"A100": "?", "H100": "?"}  # TFLOP/s

for name, cores, fma, mhz in (("A100", 4 * 108, 256, 1410), ("H100", 4 * 132, 512, 1830)):
    print(f"{name}: guess {guesses[name]}, {mhz * 1e6 * fma * 2 * cores / 1e12:.1f} TFLOP/s")

# %% [markdown]
r"""
**311.9** and **989.4**, to the printed digit. The factor 2 is there because a multiply-add counts as two operations.

## 2. Nobody has the matrix

Where are A, B and C? In registers. But a register belongs to one lane. So each of the 32 lanes holds a few elements of each matrix; what one lane holds is called its *fragment*.
A has 256 elements. How many does each lane hold? And of B and of C?
"""

# %%
guesses = {"A": "?", "B": "?", "C": "?"}

for name, elements in (("A", 16 * 16), ("B", 16 * 8), ("C", 16 * 8)):
    print(f"{name}: guess {guesses[name]}, {elements // 32} in each lane")

# %% [markdown]
r"""
**8, 4 and 4**. The elements of A and B are float16, two in each register of 32 bits, so that A takes 4 registers and B takes 2. C and the result D are float32, 4 registers.

*Which* elements is fixed by the instruction; PTX, NVIDIA's assembly language, describes it in its manual [2]. Here it is. Turn the dial and watch where lane 0, 1, 4 and 31 have their elements.
"""

# %%
show_fragments("m16n8k16", lane=0)

# %% [markdown]
r"""
In each cell stands the lane that holds it. One colour is one *group* of four lanes. Look at C first, on the lower right:

- A group has one row: group 0, lanes 0 to 3, has row 0, and again row 8.
- Inside the group each lane has a *pair* of neighbouring columns: its number in the group, from 0 to 3, chooses which. We call it the *place*.

    group = lane // 4        place = lane % 4

So register i of C is in row `group`, plus 8 if i is 2 or 3, and in column `2 * place`, plus 1 if i is odd.
With `i // 2` and `i % 2` this is a formula. Which elements of C has lane 13?
"""

# %%
guess = "?"  # four pairs (row, column)


def place_in_c(lane, i):
    group, place = lane // 4, lane % 4
    return group + i // 2 * 8, 2 * place + i % 2


print("guess:", guess, "  lane 13 has", [place_in_c(13, i) for i in range(4)])

# %% [markdown]
r"""
**(3, 2), (3, 3), (11, 2), (11, 3)**. If the formula is right, each of the 128 elements has exactly one holder: the map from (lane, register) to (row, column) is a *permutation*, a reordering. That is easy to test.

A is made of four quarters of 8 x 8, and each quarter looks like the upper half of C. Registers 0 and 1 are in the upper left, 2 and 3 in the *lower* left, 4 and 5 in the upper right, 6 and 7 in the lower right.
So `i // 2 % 2` says whether it is the lower half, and `i // 4` whether it is the right one.

B is turned: there the *column* is the group, and the pair goes down. A lane holds rows `2 * place` and the next one, and the same 8 rows further down.
"""


# %%
def place_in_a(lane, i):
    group, place = lane // 4, lane % 4
    return group + i // 2 % 2 * 8, 2 * place + i % 2 + i // 4 * 8


def place_in_b(lane, i):
    group, place = lane // 4, lane % 4
    return 2 * place + i % 2 + i // 2 * 8, group


for name, rule, held in (("A", place_in_a, 8), ("B", place_in_b, 4), ("C", place_in_c, 4)):
    places = {rule(lane, i) for lane in range(32) for i in range(held)}
    print(name, "different places:", len(places), "of", 32 * held)

# %% [markdown]
r"""
Each element once. Why such an order? Along k, which runs along the rows of A and down the columns of B, a pair of neighbours fills one register of 32 bits.
And the four lanes of a group together have a row of A; the eight lanes with one place have a column of pairs. The hardware that multiplies them needs few wires between lanes.

To go the other way, from an element to its holder, read the formulas backwards: `row % 8` is the group, `column % 8 // 2` the place.
What is left over, `column % 2`, `row // 8` and `column // 8`, tells the register.

## 3. The instruction in a kernel

Warpwise has two such instructions as functions of a kernel, `mma_m16n8k16(d, a, b, c)` and `mma_m16n8k8(d, a, b, c)`; *mma* stands for multiply and accumulate.
Each lane brings its fragments in local arrays, which the compiler keeps in registers. All 32 lanes call it together. The result is D = A B + C; `d` and `c` may be the same array.

On a GPU, from compute capability 8.0 (A100) on, this is the real instruction. In the simulator it is computed for you: exact products, added in float64, rounded once to float32. How a real tensor core rounds on the way is not documented, so that its last bits may differ.

This kernel multiplies one 16 x 16 by one 16 x 8 matrix, with one warp. It is nothing but our three formulas.
"""


# %%
@cuda.jit
def one_tile(c, a, b):
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    lane = cuda.threadIdx.x
    group, place = lane // 4, lane % 4
    for i in range(8):
        left[i] = a[group + i // 2 % 2 * 8, 2 * place + i % 2 + i // 4 * 8]
    for i in range(4):
        right[i] = b[2 * place + i % 2 + i // 2 * 8, group]
        acc[i] = 0
    mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        c[group + i // 2 * 8, 2 * place + i % 2] = acc[i]


rng = np.random.default_rng(seed=3)
a = rng.normal(size=(16, 16)).astype(np.float16)
b = rng.normal(size=(16, 8)).astype(np.float16)
c = np.zeros((16, 8), np.float32)
one_tile[1, 32](c, a, b)
exact = a.astype(np.float64) @ b.astype(np.float64)
print("largest difference:", f"{abs(c - exact).max():.1e}")

# %% [markdown]
r"""
Right. And what does the compiler make of it? We ask for an A100. How many tensor-core instructions stand in the code, and do the local arrays stay in registers?
"""

# %%
guesses = {"instructions": "?", "bytes of local memory": "?"}

compiled = compile_kernel(one_tile, (c, a, b), "sm_80")
lines = [line.strip() for line in compiled.ptx.text.splitlines() if "mma.sync" in line]
print(len(lines), "instruction:", lines[0].split(" ")[0])
print("bytes of local memory spilled:", compiled.spills, "  guesses:", guesses)

# %% [markdown]
r"""
**One**, and **nothing** is spilled. Read the name: `m16n8k16` is the shape; `row.col` says that pairs lie along the rows of A and the columns of B; then the types of D, A, B and C: `f32.f16.f16.f32`.
`sync` and `aligned` say that all lanes of the warp come together. If some do not, because of an `if` or of a block of 48 threads, the sanitizer names them.

This kernel moves far more than it computes. `explain` shows what binds it, and what the loads look like.
Nsight Compute counts the instructions as `sm__inst_executed_pipe_tensor.sum`, the sectors as `l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum`.
"""

# %%
explain(one_tile[1, 32], c, a, b, device="A100")

# %% [markdown]
r"""
"No floating point" means no plain arithmetic: what the tensor cores do is not counted in this line. It is one instruction.

Each element of A is loaded alone: 2 bytes by each lane, from 8 rows at once. In real kernels the tile goes through shared memory first, as in `t2_01_gemm_tiles`.
But then 8 rows are read at once from shared memory, and if all rows begin at the same bank, the groups wait for each other. You have met this in `t1_06_banks`; the lab comes back to it.
PTX has an instruction, `ldmatrix`, that takes fragments out of shared memory, four quarters at a time.

At the edge of a matrix the fragments are filled with zeros. Never guard the call, guard the loads and the store.

## 4. The smaller one, for TF32

`mma_m16n8k8` takes float32 numbers and looks at 19 of their bits: it rounds them to TF32, which you know from `t2_04_formats`. A is 16 x 8, B is 8 x 8.
A number fills a register, so there are no pairs. Before you look: how many elements of A does a lane hold?
"""

# %%
guess = "?"

print("guess:", guess)
show_fragments("m16n8k8", lane=6)

# %% [markdown]
r"""
**4**. The quarters are now 8 x 4, and a lane has a single column in each: register i of A is in row `group + i % 2 * 8`, column `place + i // 2 * 4`.
The order of the quarters has changed too: down first, then right. In B, register i is in row `place + i * 4`, column `group`. C is as before.

## 5. From warps to warp groups to one thread

You will rarely write fragments. Libraries do, and compilers such as Triton, in which a thread is never mentioned; `t2_08_tiles` is about it. Here it only serves to look at its code.
This is a whole product of matrices. `tl.dot` multiplies two tiles; the rest is addresses.

We compile it for three architectures: `sm_80` is Ampere, `sm_90` Hopper, `sm_100` Blackwell. The tile is 128 x 128 with 64 terms, for 4 warps.
How many m16n8k16 must each warp issue for one tile? The cell needs Triton, which exists for Linux only. Elsewhere read on, its output is quoted below.
"""

# %%
guess = "?"  # for each of the 4 warps


def compiled_matmul(kind, arch):
    import triton
    import triton.language as tl

    from warpwise.compiler import compile_triton

    @triton.jit
    def matmul(c, a, b, k, stride, M: tl.constexpr, N: tl.constexpr, K: tl.constexpr):
        rows = tl.program_id(0) * M + tl.arange(0, M)
        columns = tl.program_id(1) * N + tl.arange(0, N)
        terms = tl.arange(0, K)
        total = tl.zeros((M, N), tl.float32)
        for start in range(0, k, K):
            left = tl.load(a + rows[:, None] * stride + (start + terms)[None, :])
            right = tl.load(b + (start + terms)[:, None] * stride + columns[None, :])
            total = tl.dot(left, right, total)
        tl.store(c + rows[:, None] * stride + columns[None, :], total)

    sizes = {"k": 4096, "stride": 4096, "M": 128, "N": 128, "K": 64}
    return compile_triton(matmul, {"c": "*fp32", "a": kind, "b": kind, **sizes}, arch)


def show_instructions(kind, *archs):
    try:
        for arch in archs:
            for name, count in compiled_matmul(kind, arch).matrix.items():
                print(f"{arch}: {count:4} x {name}")
    except ImportError as error:
        print(error)


print("guess:", guess, "  computed:", 128 * 128 * 64 // 2048 // 4)
show_instructions("*fp16", "sm_80", "sm_90", "sm_100")

# %% [markdown]
r"""
**128**, and so many stand in the code for sm_80.

- **`mma.sync`**, sm_80: one *warp* issues it, all operands are in registers. 128 x m16n8k16.
- **`wgmma`**, sm_90: a *warp group* of 4 warps issues it together. A and B are read from shared memory directly, without fragments; only the sums are in registers, spread over 128 lanes.
  Eight of m64n128k16 do the same work: each is 131,072 multiply-adds. `async`: it runs on while the warps do something else, and they wait for it later.
- **`tcgen05`**, sm_100: *one thread* issues it. The sums are not in registers any more, but in a memory of their own, *tensor memory*. The shape is not in the name; it is in a word of bits that the instruction reads.

From generation to generation the instruction gets larger, and the matrices move away from the lanes: out of the registers, into shared memory, then into tensor memory. Registers had become the limit.
The smaller Blackwell parts, sm_120, have no `tcgen05`; there you still find `mma.sync`.

What if the matrices are float32?
"""

# %%
guess = "?"  # which type will stand in the name?

print("guess:", guess)
show_instructions("*fp32", "sm_80", "sm_90")
show_instructions("*fp8e4nv", "sm_90")

# %% [markdown]
r"""
**tf32**. Nobody asked for it: Triton takes TF32 for float32 unless you say `input_precision="ieee"`. PyTorch has such a switch too, `torch.set_float32_matmul_precision`.
Each instruction has the same number of *bytes* along k: k is 8 for 4 bytes, 16 for 2, 32 for 1. That is why fp8 is twice as fast as fp16, and TF32 half as fast.

## 6. What do short inputs cost?

The products inside a tensor core are exact. What is lost is lost *before*, when the inputs are rounded, and *after*, when the sums are. We look at the inputs; sums are the next lesson's matter.

With m bits of mantissa the rounding of one number errs by 2^-(m + 1) at most, relative to the number. A product has two such factors: twice that, 2^-m.
An ulp of float32, the distance to the next float32, is 2^-23 just above 1. TF32 has m = 10. By how many ulps of float32 can a product be off, when it is just above 1?
"""

# %%
guess = "?"  # ulps of float32

rng = np.random.default_rng(seed=6)
x = rng.uniform(1, 2, 200_000).astype(np.float32)
y = (1.0 / x * (1 + rng.uniform(0, 2**-4, x.size))).astype(np.float32)
exact = x.astype(np.float64) * y
for name, m in (("tf32", 10), ("bf16", 7), ("e4m3", 3)):
    off = np.abs(round_to(x, name) * round_to(y, name) - exact) / ulp(exact, "fp32")
    print(
        f"{name}: worst {off.max():12,.0f} ulps of float32, bound about 2^{23 - m} = {2 ** (23 - m):12,}"
    )
print("guess:", guess)

# %% [markdown]
r"""
The bound for TF32 is **2^13 = 8,192 ulps**: of the 24 bits of a float32, about 11 are right. For bf16 it is 2^16, for E4M3 2^20, and the worst of our 200,000 products come near.
(Our products lie between 1 and 1.06, where the bound is up to 6 % higher.)

In a sum of k such products the errors have either sign, and partly cancel. The relative error of a sum of positive numbers is therefore smaller than that of one product, and it shrinks as k grows.
By which factor, about, if k is 64?
"""

# %%
guess = "?"

a, b = (rng.uniform(0.5, 2, (4000, 64)).astype(np.float32) for _ in range(2))
exact = (a.astype(np.float64) * b).sum(1)
for name in ("tf32", "bf16", "e4m3"):
    rounded = round_to(a, name) * round_to(b, name)
    one = (rounded[:, 0] / (a[:, 0].astype(np.float64) * b[:, 0]) - 1).std()
    whole = (rounded.sum(1) / exact - 1).std()
    print(f"{name}: one product {one:.1e}, a sum of 64 {whole:.1e}, factor {one / whole:.1f}")
print("guess:", guess)

# %% [markdown]
r"""
About **8**, the square root of 64, or a little less, because the products are not of equal size: larger ones weigh more. With numbers of both signs it is worse: then the sum is small, and the error is not.

Can you have the speed of the tensor cores and the accuracy of float32? Nearly. A number is its TF32 part and a rest, and the rest fits into TF32 again:
"""

# %%
x = np.float32(np.pi)
big = np.float32(round_to(x, "tf32", "nearest_away"))
small = x - big
print(f"x = {x:.9f}   large part {big:.9f}   small part {small:.3e}")
print(
    "the small part in TF32 is off by", f"{abs(float(round_to(small, 'tf32')) - float(small)):.1e}"
)
print(
    "the two together are off by",
    ulps_between(np.float32(big + np.float32(round_to(small, "tf32"))), x, "fp32"),
    "ulps",
)

# %% [markdown]
r"""
So (big + small)(big + small) is four products, and the one of two small parts is too small to matter. Three instructions instead of one give almost all bits of float32, and are still faster than plain multiply-adds: on an A100 the peaks are 156 and 19.5 TFLOP/s [1], a factor of eight.
CUTLASS, NVIDIA's library of templates, calls this 3xTF32. You will build it in the lab.

## What to remember

- A matrix instruction is issued by a whole warp: m16n8k16 is 2,048 multiply-adds. Peak = clock x multiply-adds a cycle x 2 x tensor cores.
- `group = lane // 4`, `place = lane % 4`. C: row = group (+ 8), a pair of columns from `2 * place` on. A: four quarters like that. B: turned.
- Fragments live in registers; fill them with zeros beyond the edge. Guard loads and stores, never the call.
- `mma.sync`: a warp, from registers. `wgmma`: four warps, from shared memory. `tcgen05`: one thread, sums in tensor memory.
- float32 input may silently become TF32: 11 bits of 24. Rounded inputs cost up to 2^(23 - m) ulps of float32 a product; sums average it.
- Three TF32 products for one bring nearly all of float32 back.

**Next:** the lab, `t2_05_tensor_cores_lab`, in your folder `mine/t2_gpu/`.

## Sources

1. S. Bekman, Machine Learning Engineering, "Accelerators", table of peak TFLOP/s and their formula, as of August 2026.
   <https://github.com/stas00/ml-engineering>
2. NVIDIA, Parallel Thread Execution ISA: "Matrix fragments for mma.m16n8k8" and "mma.m16n8k16"; instructions `mma`, `wgmma`, `tcgen05`, `ldmatrix`, `cvt`.
   <https://docs.nvidia.com/cuda/parallel-thread-execution/>
3. Compiled here: Numba's and Triton's own compilers, without a GPU.
"""
