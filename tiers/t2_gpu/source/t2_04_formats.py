# %% [markdown]
r"""
# Formats: what a number is made of

**In float16 the training run ends in NaN. In bfloat16 it learns, and both take 16 bits. What is the difference, and what is left in 8 bits, or in 4?**

At the end of this lesson you can

- read the value of any code of fp16, bf16, TF32, fp8 and fp4 from its bits,
- say what a format can hold at most and at least, and how fine its steps are,
- round a number to a format by hand and by its bits, and say what happens beyond the end,
- name the rule behind a 448 where somebody else gets NaN,
- pack two numbers into one byte.

You need the lessons `t1_04_coalescing` and `t1_05_shared_memory` and about 40 minutes. You do not need a GPU.

As before: where a cell starts with `guess = "?"`, put your answer there before you run it.
"""

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch

from warpwise import compare, cuda
from warpwise.numerics import (
    DIFFERENCES,
    FORMATS,
    all_values,
    decode,
    encode,
    neighbours,
    numbers,
    pack,
    round_to,
    ulp,
)
from warpwise.show import show_format

# %% [markdown]
r"""
## 1. Why fewer bits?

Here is the same kernel on arrays of three types. Its time on a GPU follows the bytes it moves, as in `t1_11_roofline`.
Memory moves in *sectors* of 32 bytes. How many sectors does the float16 version move, if the float32 version moves 250,000?
"""

# %%
guess = "?"  # sectors, float16


@cuda.jit
def copy(out, a):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i]


n = 1_000_000
a = np.random.default_rng(seed=4).random(n, dtype=np.float32)
versions = {}
for dtype in (np.float32, np.float16, np.uint8):
    data = a.astype(dtype)
    versions[dtype.__name__] = (copy[(n + 255) // 256, 256], np.zeros_like(data), data)
compare(versions, device="H100")

# %% [markdown]
r"""
**125,000**, half as many, and with one byte a quarter. This is the first reason for short numbers: each bit that you leave out is a bit that nobody has to move.
Nsight Compute counts these sectors as `l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum` and `..._st.sum`.

The second reason are the *tensor cores*, units that multiply small matrices. On a B200 they reach, dense, in units of TFLOP/s [1]:

| TF32 | bf16 | fp8 | fp4 |
|---|---|---|---|
| 1125 | 2250 | 4500 | 9000 |

Half the bits, twice the speed. The price is what the rest of this lesson is about.

## 2. Three fields

A floating-point number is a sign, a power of two, and a position between this power and the next one.
Each has a *field* of bits. Together the bits are called the *code* of the number. This is E4M3, one of the two formats called fp8:
1 sign bit, 4 bits of *exponent*, 3 bits of *mantissa*.

    value = (-1)^sign * 1.mantissa * 2^(exponent - bias)

The mantissa stands behind a 1 that is not stored, because it is always there: the *hidden one*.
The *bias*, 7 in E4M3, lets the exponent field, which is never negative, stand for small powers too.

The code below is 0 0111 100. The exponent field is 7, so the power is 2^0. The mantissa says .100 in binary, a half. The value is 1.5.
In a program, a shift to the right drops the bits behind a field, and `&` with a row of ones keeps only the field.

Click the bits and watch. Before you do: what is 0 1000 010?
"""

# %%
guess = "?"  # the value of 0 1000 010

code = 0b0_1000_010
print("sign", code >> 7, "  exponent field", code >> 3 & 0b1111, "  mantissa field", code & 0b111)
print("guess:", guess, "   value:", decode(code, "e4m3"))
show_format("e4m3", 1.5)

# %% [markdown]
r"""
It is **2.5**: 1.010 in binary is 1.25, times 2^(8 - 7).

Look at the lower line of the picture. The mantissa divides the way from 1 to 2 into eight equal steps; from 2 to 4 there are again eight steps, each twice as wide.
This is the essence of floating point: *the steps grow with the numbers*.

A public guide to training says that E4M3 "can represent only 7" numbers in the interval from 1 to 2, and E5M2 only 3 [2].
E5M2 is the other fp8: 5 bits of exponent and 2 of mantissa. Count them, with both ends.
"""

# %%
guesses = {"e4m3": "?", "e5m2": "?"}  # numbers from 1 to 2, both ends included

for name, guess in guesses.items():
    line = numbers(name)
    inside = line[(line >= 1) & (line <= 2)]
    print(f"{name}: guess {guess}, counted {len(inside)}:", *inside)

# %% [markdown]
r"""
**9** and **5**. The guide counted only what lies strictly between 1 and 2.

## 3. Zero, and what surrounds it

If there is always a hidden one, what is the code of zero? And what comes before the smallest power?
An exponent field of 0 has its own rule. There the hidden one is missing, and the power is the same as for the field 1:

    value = (-1)^sign * 0.mantissa * 2^(1 - bias)

These are the *subnormal numbers*. Without them there would be a gap between zero and the smallest power.
fp4, with its 16 codes, shows all of it. Its name is E2M1: 2 bits of exponent, 1 bit of mantissa, bias 1.
Which value has the code 0 00 1?
"""

# %%
guess = "?"  # the value of 0 00 1 in E2M1

print("code     value")
for code in range(8):
    print(FORMATS["e2m1"].text(code), "  ", decode(code, "e2m1"))
print("guess:", guess)
show_format("e2m1", 0.5)

# %% [markdown]
r"""
**0.5**: 0.1 in binary is a half, times 2^0. The whole format is 0, 0.5, 1, 1.5, 2, 3, 4 and 6, with either sign.
Zero has two codes, +0 and -0. They are equal in every comparison.

For E4M3 the smallest power is 2^(1 - 7) = 2^-6. What is its smallest positive number?
"""

# %%
guess = "?"  # as a power of two

for code in (0b0_0001_000, 0b0_0000_111, 0b0_0000_010, 0b0_0000_001, 0):
    print(FORMATS["e4m3"].text(code), "  ", decode(code, "e4m3"))
print("guess:", guess, "  2^-9 =", 2.0**-9)

# %% [markdown]
r"""
**2^-9**: the last bit of the mantissa is worth 2^-3, times 2^-6. Below it there is only zero.

## 4. The last codes

In fp16 and bf16 an exponent field of ones is reserved: with a mantissa of zero it is *infinity*, otherwise it is *NaN*, not a number.
This is the rule of the standard for floating point, IEEE 754. E5M2 follows it, too.

In E4M3, one in sixteen codes would be lost in this way. So the fp8 specification [3] changed the rule:
only all ones, 0 1111 111 and 1 1111 111, is NaN. There is no infinity.
What is the largest number of E4M3? And what would it be under the rule of IEEE?
"""

# %%
guesses = {"e4m3": "?", "e4m3_ieee": "?", "e5m2": "?"}  # largest numbers

for name, guess in guesses.items():
    fmt = FORMATS[name]
    print(f"{name:10} guess {guess}, largest {fmt.max:g} with the code {fmt.text(fmt.max_code)}")

# %% [markdown]
r"""
**448**, and **240** under the rule of IEEE. ml_dtypes has both formats, under similar names: `float8_e4m3fn` ends at 448, `float8_e4m3` at 240.
The letters `fn` stand for "finite, with NaN". On NVIDIA's GPUs, E4M3 means the one with 448.
**57344** is the end of E5M2.

fp4 and the two formats of 6 bits have neither infinity nor NaN: every code is a number.
Here are the ends of all these formats. The specifications print the same numbers [3, 4].
"""

# %%
print("format      bits       largest     smallest normal   smallest      step at 1")
for name in ("fp32", "tf32", "bf16", "fp16", "e5m2", "e4m3", "e3m2", "e2m3", "e2m1"):
    fmt = FORMATS[name]
    print(f"{name:6}  1 + {fmt.exponent_bits} + {fmt.mantissa_bits:<2} {fmt.max:14.6g}"
          f"{'2^':>14}{fmt.min_exponent:<5}{'2^':>9}{fmt.min_exponent - fmt.mantissa_bits:<5}"
          f"{'2^':>9}{-fmt.mantissa_bits}")  # fmt: skip

# %% [markdown]
r"""
## 5. Range against precision

bf16 and fp16 have the same 16 bits and spend them differently. fp16 has 5 bits for the exponent and 10 for the mantissa; bf16 has 8 and 7.
Take the numbers 70000, 0.0001 squared, and 257. What does each format make of them?
"""

# %%
guesses = {"fp16": "?", "bf16": "?"}  # three numbers each

for name, guess in guesses.items():
    with np.errstate(over="ignore"):
        print(
            f"{name}: guess {guess}, got", *(f"{round_to(x, name):.6g}" for x in (70000, 1e-8, 257))
        )

# %% [markdown]
r"""
fp16 makes **infinity** of 70000, because its largest number is 65504, and **0** of 10^-8, because its smallest is 2^-24, about 6 * 10^-8. But it keeps 257.
bf16 keeps the first two nearly, and makes **256** of 257: with 7 bits of mantissa there are 128 steps between 256 and 512, each 2 wide.

That answers half of the question from the top. Somewhere in the run a value left the range of fp16 and became infinity.
Infinity minus infinity is NaN, and NaN spreads through every sum. bf16 has the range of float32, and its coarse steps did less harm.

bf16 is float32 with 16 bits cut off. *TF32* is in the same way float32 with 13 bits cut off: range of float32, precision of fp16. It is no format for memory.
Tensor cores take float32 values from memory and look at 19 of their bits.
"""

# %%
value = np.float32(np.pi)
bits = int(value.view(np.uint32))
print(f"float32  {bits:032b}")
for name in ("tf32", "bf16"):
    print(f"{name:7}  {encode(value, name):0{FORMATS[name].bits}b}   {round_to(value, name):.7f}")
print(f"e5m2     {encode(value, 'e5m2'):08b}   fp16  {encode(value, 'fp16'):016b}")

# %% [markdown]
r"""
Look at the last line: E5M2 is the upper half of fp16, as bf16 is the upper half of float32.

## 6. Steps

The distance from one number to the next is called an *ulp*, a unit in the last place. A number that is rounded to the nearest has an error of half an ulp at most.
Because ulps grow with the numbers, the *relative* error, the error divided by the value, has about the same bound everywhere in the normal range.

The picture takes 4,000 values from 10^-4 to 10^5, rounds each of them to four formats, and shows the relative error.
Before you run it: how large can the relative error of E4M3 be, about, in the normal range: 1/16, 1/128 or 1/1000?
"""

# %%
guess = "?"

x = np.geomspace(1e-4, 1e5, 4000)
fig, ax = plt.subplots(figsize=(7, 3.8))
for name, style in (("e4m3", "-"), ("e5m2", "--"), ("bf16", "-."), ("fp16", ":")):
    error = np.abs(round_to(x, name, saturate=True) - x) / x
    worst = np.maximum.reduceat(error, np.arange(0, 4000, 40))
    ax.loglog(x[::40], worst, style, linewidth=2, label=name)
    fmt = FORMATS[name]
    normal = (x >= fmt.min_normal) & (x <= fmt.max)
    print(f"{name}: worst relative error in the normal range {error[normal].max():.5f}"
          f" = 1/{1 / error[normal].max():.0f}")  # fmt: skip
ax.set(xlabel="value", ylabel="worst relative error")
ax.legend(loc="center right")
plt.show()
print("guess:", guess)

# %% [markdown]
r"""
About **1/17** for E4M3: half a step of 1/8 is 1/16, and the value it is divided by is a little more than the power. One bit of mantissa more halves the error.

Each curve is flat in the middle. On the left, the subnormal numbers begin: the steps stop shrinking, and the error grows up to 1, where everything becomes zero.
On the right, the format ends. *The art of low precision is to stay on the flat part.* That is what scales are for, in a later lesson.

## 7. Which of the two neighbours?

Most values lie between two numbers of the format. The usual rule is *round to nearest, ties to even*: take the nearer one,
and exactly halfway, a *tie*, take the one whose code is even. So ties go up half of the time, and a long sum does not drift.

Round these values to fp4. All of them are ties.
"""

# %%
guesses = {0.25: "?", 0.75: "?", 1.25: "?", 2.5: "?", 3.5: "?", 5: "?"}

for value, guess in guesses.items():
    below, above = neighbours(value, "e2m1")
    print(
        f"{value:5} lies between {below} and {above}: guess {guess}, rounded {round_to(value, 'e2m1')}"
    )

# %% [markdown]
r"""
**0, 1, 1, 2, 4, 4**. The even codes are those of 0, 1, 2 and 4.

How does a program round by the bits? Take float32 to TF32, which drops 13 bits. Cutting them off alone would round toward zero.
Add half of the last bit that stays first, and the carry does the rounding. But a tie would then always go up.
So add a little less than half, and the last kept bit itself: an odd code gets the missing piece, an even one does not.

    code = (bits + 0x0FFF + (bits >> 13 & 1)) >> 13

What if the mantissa is all ones, and the carry runs out of it? Then it runs into the exponent, and this is right: after 1.111 comes 10.00, the next power.
Where a number is subnormal in the new format, the trick does not work, because there the step is fixed.
Divide by the step, round to an integer, and this integer is the code. In E4M3 the step is 2^-9. What is the code of 0.003?

The cell tries the trick on a million float32 patterns of every size, against `encode`, and then some small values.
"""

# %%
guess = "?"  # the code of 0.003 in E4M3

bits = np.random.default_rng(seed=13).integers(0, 0x7F800000, 1_000_000, dtype=np.uint32)
code = (bits + np.uint32(0x0FFF) + (bits >> 13 & 1)) >> 13
print("TF32 all the same:", np.array_equal(code, encode(bits.view(np.float32), "tf32")))
for value in (0.001, 0.003, 0.0048828125):
    print(f"{value}: {value * 512:.3f} steps, code {encode(value, 'e4m3')}")
print("guess:", guess)

# %% [markdown]
r"""
**2**: it is 1.536 steps. The last value is a tie, 2.5 steps, and gets the code 2, the even one.

One more fact makes such code short: *the codes of positive numbers are in the order of the numbers*.
So without its sign a float32 can be compared as an integer. Infinity is 0x7F800000, and every code above it is a NaN; `np.float32(448).view(np.uint32)` tells you where 448 is.

The trick with the carry holds for finite numbers and infinity. A NaN must be kept out: its mantissa is not zero, and the carry could turn it into something else.
For negative numbers nothing changes, since the sign is a separate bit. NVIDIA's conversion to TF32 can also round ties away from zero, `cvt.rna` [5].

There are other rules. *Toward zero* cuts off. *Up* and *down* give bounds. And *stochastic rounding* throws a die: a value three quarters of the way up goes up with a chance of three quarters.
1.1 lies between 1 and 1.125 in E4M3. What share of 10,000 roundings goes up? And what is the mean?
"""

# %%
guesses = {"share": "?", "mean": "?"}

rng = np.random.default_rng(seed=7)
many = round_to(np.full(10_000, 1.1), "e4m3", "stochastic", rng=rng)
print("guess:", guesses["share"], f"   share that went up: {(many == 1.125).mean():.3f}")
print("guess:", guesses["mean"], f"   mean: {many.mean():.4f}")
print("nearest, 10,000 times:", round_to(1.1, "e4m3"))
for rounding in ("zero", "up", "down"):
    print(f"{rounding}:", round_to(np.array([1.1, -1.1]), "e4m3", rounding))

# %% [markdown]
r"""
About **0.8**, since 1.1 is 80 % of the way, and the mean is about **1.1**. Each single value is worse than with rounding to nearest, but the errors cancel.
This saves long sums in short formats, in a later lesson.

## 8. Beyond the end

448 is the end of E4M3. The next step would have been 480, so the middle is 464. Which values still round to 448?
And what do libraries make of the others?
"""

# %%
guesses = {464: "?", 465: "?", 10_000: "?"}  # the value in E4M3

for value, guess in guesses.items():
    kept = torch.tensor([float(value)]).to(torch.float8_e4m3fn)
    print(f"{value}: guess {guess}, ours {round_to(value, 'e4m3'):g},",
          f"saturating {round_to(value, 'e4m3', saturate=True):g}, PyTorch {kept.item():g}")  # fmt: skip

# %% [markdown]
r"""
464 is a tie and goes to **448**, the even code. From there on there are two rules. The fp8 specification allows both [3]:

- *Not saturating*: what overflows becomes infinity, or NaN where there is no infinity. ml_dtypes and `encode` do this.
- *Saturating*: what overflows becomes the largest number. PyTorch 2.13 does this for E4M3, and so do the instructions of NVIDIA's GPUs, where a conversion to fp8 carries `.satfinite` in its name [5].

So the same line of code gives NaN in one library and 448 in the other. For E5M2 PyTorch gives infinity.
Never rely on it: say which rule you mean. These are all the cases that we know in which ml_dtypes and PyTorch differ from each other or from `encode`:
"""

# %%
for one in DIFFERENCES:
    ours, theirs = (f"{x:#04x}" if x is not None else "none" for x in (one.ours, one.torch))
    print(
        f"{one.fmt} of {one.value:<9.4g} encode {ours:5} ml_dtypes {one.ml_dtypes:#04x}  torch {theirs:5} {one.why}"
    )

# %% [markdown]
r"""
E8M0 in this table is a format for scales alone: 8 bits of exponent and nothing else, so it holds powers of two from 2^-127 to 2^127, no zero and no sign.

## 9. Two numbers in a byte

The smallest thing that memory can address is a byte. A code of fp4 has 4 bits, so two codes share one: the first in the lower half, the second in the upper half.
What is the byte of 1.0 and -6.0?
"""

# %%
guess = "?"  # in hexadecimal

codes = encode(np.array([1.0, -6.0]), "e2m1")
print("codes:", *(f"{code:#x}" for code in codes))
print("guess:", guess, "   byte:", f"{pack(codes, 4)[0]:#x}")

# %% [markdown]
r"""
**0xf2**: 1.0 has the code 2, -6.0 the code 0xF, and the second one stands in front.
With shifts it is `codes[0] | codes[1] << 4`.

Who may write this byte in a kernel? Only one thread. There is no store of half a byte, so two threads that each put in their own half
would read the byte, change it, and write it back over each other. Give each byte to one thread, as in the lab.

## 10. A kernel that reads bits

A kernel can work on bits if the host gives it a view of the array as integers. Both arrays are the same memory.
This one decodes E5M2. Because E5M2 is the upper half of fp16, this takes nothing but a shift.
"""


# %%
@cuda.jit
def widen(out, codes):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = codes[i] << 8  # the lower half of the mantissa is zero


codes = np.arange(256, dtype=np.uint8)
halves = np.zeros(256, np.float16)
widen[2, 128](halves.view(np.uint16), codes)
print(halves[[0, 1, 60, 61, 123, 124, 188]])
print("all 256 right:", np.array_equal(halves, all_values("e5m2"), equal_nan=True))

# %% [markdown]
r"""
For E4M3 it takes a little more: its exponent has another width and another bias. This is the second exercise of the lab.
In the other direction, from float32 to E4M3, the exponent field has to come down by the difference of the two biases, 127 - 7 = 120.
In the code, where three bits of mantissa stand behind the exponent, that is 120 * 8. Round first, so that the carry arrives, then subtract.

One last look, at how far each format gets. An ulp at the size of a typical weight, 0.02, and at the size of a sum of a thousand such weights, 20:
"""

# %%
for name in ("fp32", "tf32", "fp16", "bf16", "e4m3", "e5m2", "e2m1"):
    print(f"{name:5} step at 0.02: {ulp(0.02, name):.2g}   step at 20: {ulp(20.0, name):.2g}")

# %% [markdown]
r"""
In E4M3 the steps at 20 are 2 wide: adding 0.02 to 20 changes nothing, a hundred times over. So nobody sums in fp8; products of short numbers are summed in longer ones.
For fp4, 20 is beyond the end, and 0.02 is far below the first step: without a scale the format is useless. Both are subjects of later lessons.

## What to remember

- value = sign, 1.mantissa, 2^(exponent - bias). Exponent field 0: no hidden one, and the power of field 1.
- Exponent bits give range, mantissa bits give precision: with m bits of mantissa the steps are 2^-m of the power, the rounding error at most half of that.
- bf16 is the upper half of float32, E5M2 the upper half of fp16, TF32 the upper 19 bits of float32.
- E4M3 ends at 448, has one NaN for each sign and no infinity. Another E4M3 ends at 240. fp4 is 0, 0.5, 1, 1.5, 2, 3, 4, 6.
- Round to nearest, ties to even: add a little less than half, plus the last bit that stays. Stochastic rounding keeps the mean.
- Overflow saturates or gives infinity or NaN. Libraries differ: say which you mean.
- Two codes of fp4 share a byte, and one thread writes it.

**Next:** the lab, `t2_04_formats_lab`, in your folder `mine/t2_gpu/`.

## Sources

1. S. Bekman, Machine Learning Engineering, "Accelerators", table of peak TFLOP/s, as of August 2026.
   <https://github.com/stas00/ml-engineering>
2. Hugging Face, The Ultra-Scale Playbook, section on fp8, as in a public mirror of its text, 2025.
3. Open Compute Project, OCP 8-bit Floating Point Specification (OFP8), revision 1.0, 2023. Values of section 4 recomputed here.
4. Open Compute Project, Microscaling Formats (MX) Specification, version 1.0, 2023.
5. NVIDIA, Parallel Thread Execution ISA, instruction `cvt`. <https://docs.nvidia.com/cuda/parallel-thread-execution/>
6. IEEE 754-2019, Standard for Floating-Point Arithmetic: the rules for fp16, and for rounding.
"""
