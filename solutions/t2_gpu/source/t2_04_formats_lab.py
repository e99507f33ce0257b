# %% [markdown]
r"""
# Lab: formats

Six exercises on the bits of numbers, with what you saw in the lesson `t2_04_formats`. They take about 45 minutes.

Each exercise has a cell with a hole and, below it, a cell that checks your answer.
Fill the hole, delete the line `raise NotImplementedError`, run the cell, then run the check.
Three hints follow each check, from vague to plain.
`NameError`? Run the cell above, and the first cell.

E4M3 means the E4M3 of GPUs: bias 7, no infinity, only all ones is NaN, largest number 448.
Kernels get float32 values and, where they need them, the same bits as unsigned integers.

Run this cell first.
"""

# %%
import math

import numpy as np

from warpwise import check, cuda, profile, sanitize
from warpwise.numerics import decode, encode

# %% [markdown]
r"""
## Exercise 1 - Three fields (1 point)

**Goal.** Take a code apart into its fields.

**Given.** `code`, the bits of a number as an integer of 0 or more. `exponent_bits` and `mantissa_bits`, at least 1 each.
Above both stands one sign bit.

**Required.** A tuple of three integers: the sign, the exponent field and the mantissa field. Each is the plain number in its field: no bias, no hidden 1.

**Example.** `fields_of(0b1_0111_100, 4, 3)` is `(1, 7, 4)`.
"""


# %% fields_of tags=["exercise"]
def fields_of(code, exponent_bits, mantissa_bits):
    """(sign, exponent field, mantissa field) of a code, three integers."""
    ### BEGIN SOLUTION
    mantissa = code & ((1 << mantissa_bits) - 1)
    exponent = code >> mantissa_bits & ((1 << exponent_bits) - 1)
    sign = code >> (exponent_bits + mantissa_bits)
    return sign, exponent, mantissa
    ### END SOLUTION


# %% tags=["check"]
check("fields_of", fields_of)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
The mantissa is on the right, the exponent left of it, the sign in front. Which operators move bits, which ones cut them out?
</details>
<details><summary>Hint 2</summary>
<code>code &gt;&gt; k</code> drops the last k bits. <code>code &amp; ((1 &lt;&lt; k) - 1)</code> keeps only the last k.
</details>
<details><summary>Hint 3</summary>
The mantissa keeps the last <code>mantissa_bits</code>. For the exponent shift by <code>mantissa_bits</code> first, then keep <code>exponent_bits</code>.
For the sign shift by both together.
</details>
"""

# %% [markdown]
r"""
## Exercise 2 - All 256 codes of E4M3 (2 points)

**Goal.** Write a kernel that turns codes of E4M3 into their values.

**Given.** `codes`: `(n,)` uint8. `out`: `(n,)` float32. At least one thread for each code.

**Required.** `out[i]` is exactly the value of `codes[i]`: normal numbers, subnormal numbers, both zeros, and NaN for 0x7F and 0xFF. Each element is written once.

**Example.** 0x38 is 1.0, 0xB8 is -1.0, 0x01 is 2^-9 = 0.001953125, and 0x7E is 448.0.
"""


# %% decode_e4m3 tags=["exercise"]
@cuda.jit
def decode_e4m3(out, codes, n):
    """out = the values of codes.   out: (n,) float32;  codes: (n,) uint8, E4M3."""
    ### BEGIN SOLUTION
    i = cuda.grid(1)
    if i < n:
        sign = codes[i] >> 7
        exponent = codes[i] >> 3 & 15
        mantissa = codes[i] & 7
        if exponent == 15 and mantissa == 7:
            value = math.nan
        elif exponent == 0:
            value = mantissa / 8 * 2.0**-6
        else:
            value = (1 + mantissa / 8) * 2.0 ** (exponent - 7)
        out[i] = -value if sign else value
    ### END SOLUTION


# %% tags=["check"]
check("decode_e4m3", decode_e4m3)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
There are three kinds of codes. Which field tells them apart?
</details>
<details><summary>Hint 2</summary>
An exponent field of 0 means 0.mantissa times 2^-6. An exponent field of 15 is an ordinary one here, unless the mantissa is 7 as well.
</details>
<details><summary>Hint 3</summary>
Normal: <code>(1 + mantissa / 8) * 2.0 ** (exponent - 7)</code>. Subnormal: <code>mantissa / 8 * 2.0 ** -6</code>.
NaN: <code>math.nan</code>. The sign comes last.
</details>
"""

# %% [markdown]
r"""
## Exercise 3 - The bytes before the kernel (1 point)

**Goal.** Say what a conversion must move before anybody writes it.

**Given.** 99,999 values in float32. A kernel reads each once and writes its code in fp4, E2M1, two codes to a byte.
The last byte is only half used.

**Required.** The least number of bytes that go between the kernel and memory, reads and writes together, an integer.

**Example.** For 5 values it is 20 bytes in and 3 bytes out: 23.
"""


# %% fp4_bytes tags=["exercise"]
def fp4_bytes():
    """Bytes read and written to turn 99,999 float32 values into packed fp4 codes."""
    ### BEGIN SOLUTION
    n = 99_999
    return 4 * n + (n + 1) // 2
    ### END SOLUTION


# %% tags=["check"]
check("fp4_bytes", fp4_bytes)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Count what goes in and what comes out separately.
</details>
<details><summary>Hint 2</summary>
A float32 is 4 bytes. How many bytes hold 99,999 codes, two in each?
</details>
<details><summary>Hint 3</summary>
<code>4 * 99_999</code> bytes in, and half of 99,999, rounded up, out.
</details>
"""

# %% [markdown]
r"""
## Exercise 4 - float32 to bf16 (2 points)

**Goal.** Round float32 values to bf16, with integer operations on their bits alone.
bf16 is the upper half of a float32; the lower 16 bits have to be rounded away.

**Given.** `bits`: `(n,)` uint32, the bits of float32 values, of any kind. `out`: `(n,)` uint16. At least one thread for each.

**Required.** `out[i]` is the bf16 code of the nearest bf16 number; halfway between two, of the one with the even code.
What rounds beyond the largest number becomes infinity. Every NaN becomes 0x7FFF, as CUDA's conversion gives it. Each element is written once.

**Examples.** 0x3F800000, the bits of 1.0, becomes 0x3F80. 0x3F808000 lies halfway and becomes 0x3F80 as well; 0x3F818000 becomes 0x3F82.
"""


# %% to_bf16 tags=["exercise"]
@cuda.jit
def to_bf16(out, bits, n):
    """out = the nearest bf16, ties to even.   out: (n,) uint16;  bits: (n,) uint32, of float32."""
    ### BEGIN SOLUTION
    i = cuda.grid(1)
    if i < n:
        b = bits[i]
        if (b & 0x7FFFFFFF) > 0x7F800000:
            out[i] = 0x7FFF
        else:
            out[i] = (b + 0x7FFF + (b >> 16 & 1)) >> 16
    ### END SOLUTION


# %% tags=["check"]
check("to_bf16", to_bf16)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
The lesson did it for TF32, which drops 13 bits. Here 16 bits go.
</details>
<details><summary>Hint 2</summary>
Add a little less than half of the last kept bit, plus that bit itself, and then shift. A NaN must not go this way: the sum can run over.
</details>
<details><summary>Hint 3</summary>
<code>(b + 0x7FFF + (b &gt;&gt; 16 &amp; 1)) &gt;&gt; 16</code>. It is a NaN when <code>(b &amp; 0x7FFFFFFF) &gt; 0x7F800000</code>: then store 0x7FFF.
</details>
"""

# %% [markdown]
r"""
## Exercise 5 - Two numbers, one byte (2 points)

This kernel packs codes of 4 bits. A thread takes one code and puts it into its half of a byte:
the codes with even numbers into the low half, the others into the high half.
"""


# %%
@cuda.jit
def one_code_each(out, codes, n):
    i = cuda.grid(1)
    if i < n:
        out[i // 2] |= codes[i] << 4 * (i % 2)


codes = np.array([1, 7, 15, 0, 9, 2, 4], np.uint8)
packed = np.zeros(4, np.uint8)
for finding in sanitize(one_code_each[1, 32], packed, codes, 7):
    print(finding)

# %% [markdown]
r"""
Two threads read the same byte, and each writes it back with only its own half changed. One of the halves can be lost.
There is no way to store half a byte, so the division of labour has to change.

**Goal.** Pack the codes without a race.

**Given.** `codes`: `(n,)` uint8, each below 16. `out`: `((n + 1) // 2,)` uint8. There is at least one thread for each *code*, so some have nothing to do.

**Required.** `out[j]` has code `2 * j` in its low half and code `2 * j + 1` in its high half; where there is no such code, the high half is 0.
Each byte is written once. No atomics are needed. Do not expect zeros in `out`.

**Example.** `[1, 7, 15]` becomes `[0x71, 0x0F]`.
"""


# %% pack_pairs tags=["exercise"]
@cuda.jit
def pack_pairs(out, codes, n):
    """out[j] = codes[2 j] in the low half, codes[2 j + 1] in the high half.   uint8."""
    ### BEGIN SOLUTION
    j = cuda.grid(1)
    if 2 * j < n:
        byte = codes[2 * j]
        if 2 * j + 1 < n:
            byte |= codes[2 * j + 1] << 4
        out[j] = byte
    ### END SOLUTION


# %% tags=["check"]
check("pack_pairs", pack_pairs)

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Who should own a byte of <code>out</code>?
</details>
<details><summary>Hint 2</summary>
One thread for each byte. It reads two codes, puts them together, and stores once. The last one may find only one code.
</details>
<details><summary>Hint 3</summary>
Thread j reads <code>codes[2 * j]</code> and, if <code>2 * j + 1 &lt; n</code>, <code>codes[2 * j + 1] &lt;&lt; 4</code>. Join them with <code>|</code>.
</details>
"""

# %% [markdown]
r"""
## Exercise 6 - Stretch: float32 to E4M3 (4 points)

The kernel below is right: it tries all 127 magnitudes of E4M3 and keeps the nearest. It is also slow.
"""

# %%
values = decode(np.arange(127), "e4m3").astype(np.float32)


@cuda.jit
def try_all(out, x, values, n):
    i = cuda.grid(1)
    if i < n:
        best = 0
        for code in range(127):
            now = abs(values[code] - abs(x[i]))
            least = abs(values[best] - abs(x[i]))
            if now < least or (now == least and code % 2 == 0):
                best = code
        out[i] = best


x = np.random.default_rng(seed=16).uniform(0, 440, 256).astype(np.float32)
out = np.zeros(256, np.uint8)
slow = profile(try_all[2, 128], out, x, values, 256)
print("right:", np.array_equal(out, encode(x, "e4m3")), "  issue slots:", f"{slow.work.slots:,}")

# %% [markdown]
r"""
**Goal.** Do it without a loop, and for every float32.

**Given.** `x`: `(n,)` float32, and `bits`: `(n,)` uint32, the bits of `x`. `out`: `(n,)` uint8. At least one thread for each.

**Required.** `out[i]` is the code of the nearest number of E4M3, halfway between two the one with the even code.
Magnitudes of more than 448, infinity too, become 448: it *saturates*. A NaN becomes 0x7F. The sign is kept, for zeros and NaN as well: -0.0 is 0x80, and a negative NaN 0xFF.
At most three times the issue slots of the course's solution, which needs about a fiftieth of what the kernel above needs.

**Examples.** 1.0 is 0x38; 1.0625, halfway, is 0x38; 0.001 is 0x01; 460.0 is 0x7E.
"""


# %% encode_e4m3 tags=["exercise"]
@cuda.jit
def encode_e4m3(out, x, bits, n):
    """out = E4M3 codes, nearest, ties to even, saturating.   out: uint8;  x: float32;  bits: uint32."""
    ### BEGIN SOLUTION
    i = cuda.grid(1)
    if i < n:
        sign = bits[i] >> 31 << 7
        size = bits[i] & 0x7FFFFFFF
        if size > 0x7F800000:  # NaN
            code = 0x7F
        elif size >= 0x43E00000:  # 448 and more
            code = 0x7E
        elif size >= 0x3C800000:  # 2^-6, the smallest normal number: drop 20 of 23 bits
            code = ((size + 0x7FFFF + (size >> 20 & 1)) >> 20) - (127 - 7) * 8
        else:  # subnormal: steps of 2^-9
            steps = abs(x[i]) * np.float32(512)
            code = int(steps)
            rest = steps - np.float32(code)
            if rest > 0.5 or (rest == 0.5 and code % 2 == 1):
                code += 1
        out[i] = sign | code
    ### END SOLUTION


# %% tags=["check"]
if check("encode_e4m3", encode_e4m3).status == "pass":
    fast = profile(encode_e4m3[2, 128], out, x, x.view(np.uint32), 256)
    print(f"issue slots: {slow.work.slots:,} with all codes tried, {fast.work.slots:,} with yours")

# %% [markdown]
r"""
<details><summary>Hint 1</summary>
Four kinds of inputs: NaN, too large, normal in E4M3, subnormal in E4M3. Treat each on its own. For the normal ones think of exercise 4.
</details>
<details><summary>Hint 2</summary>
Normal: round away 20 of the 23 bits of the mantissa. What is left has the exponent with bias 127 in front of three bits; the bias should be 7.
Subnormal: the step is 2^-9, so <code>abs(x) * 512</code> counts steps. Round it to an integer, ties to even.
</details>
<details><summary>Hint 3</summary>
With <code>size = bits[i] &amp; 0x7FFFFFFF</code>: NaN above 0x7F800000; 0x7E from 0x43E00000 (448.0) on;
normal from 0x3C800000 (2^-6) on: <code>((size + 0x7FFFF + (size &gt;&gt; 20 &amp; 1)) &gt;&gt; 20) - 120 * 8</code>.
Below: take <code>int(steps)</code>, and add 1 if the rest is above a half, or a half and the integer odd. Join the sign with <code>|</code>.
</details>
"""

# %% [markdown] tags=["solution"]
r"""
## Remarks on the answers

- In exercise 2 the exponent field 15 holds ordinary numbers from 256 to 448. In a format like fp16 it would be reserved.
- In exercise 4 a carry out of the mantissa runs into the exponent, and that is right: the next number after 1.111... is 1.000... with the next exponent.
  From the largest number the same carry leads to infinity.
- In exercise 6 the subtraction of 120 * 8 changes the bias from 127 to 7, in steps of the last exponent bit.
  Rounding first and subtracting afterwards keeps the carry right.
- `steps` is exact: multiplying by a power of two only changes the exponent.
"""

# %% [markdown]
r"""
**Done?** You can read and write every number that a tensor core takes, bit by bit.
"""
