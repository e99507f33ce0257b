"""Small programs whose variables have the types that Numba's compiler gives them; no compiler here.

The parameters are those of PARAMETERS; each program is a body of a kernel.
"""

from __future__ import annotations

#: name -> type of numba, or element type of a 1-D array
PARAMETERS = {
    "out": "float64[]", "x": "float32[]", "z": "complex64[]", "h": "float16[]", "f": "float32",
    "d": "float64", "i": "int32", "j": "int64", "u": "uint64", "b": "boolean", "c": "complex64",
    "n": "uint8",
}  # fmt: skip

#: Bodies, one after the other, with a line of --- between them.
PROGRAMS = """
a = uint32(n)
for k in range(4):
    b2 = a + u
    a = j
out[0] = b2
---
a = uint32(n)
for k in range(4):
    out[0] = (a + u) * 2
    a = j
---
a = uint32(n)
for k in range(4):
    b2 = a + u
    c2 = b2 // 3
    a = j
out[0] = c2
---
s = u
for k in range(4):
    s = s + 1
out[0] = s
---
s = u
for k in range(4):
    s += uint64(1)
out[0] = s
---
s = 0
for k in range(4):
    s = s + u
out[0] = s
---
s = 0
for k in range(4):
    s ^= u
out[0] = s
---
s = uint64(0)
while s < u:
    s = s * 3 + j
out[0] = s
---
s = uint8(0)
for k in range(3):
    s = s + n
out[0] = s
---
t = n
for k in range(3):
    t = -t
out[0] = t
---
t = i
for k in range(3):
    if b:
        t = u
    else:
        t = t + 1
out[0] = t
---
t = i
r = f
for k in range(3):
    r = r * t
    t = t + 1
    if r > 2: r = d
out[0] = r
---
t = b
for k in range(3):
    t = t + 1
out[0] = t
---
t = 0
for k in range(3):
    t = i > t
out[0] = t
---
x1 = i
for p in range(3):
    y1 = x1 >> 1
    for q in range(2):
        x1 = x1 + u
    z1 = y1 & x1
out[0] = z1
---
t = h[0]
for k in range(3):
    t = t * 2
out[0] = t
---
t = c
for k in range(3):
    t = t * 2 + f
out[0] = t.real
---
a1 = i
b1 = u
for k in range(4):
    a1, b1 = b1, a1
out[0] = a1
---
a1 = i
b1 = f
for k in range(4):
    a1, b1 = b1, a1
out[0] = a1
---
v1 = f
while v1 < 10:
    v1 = v1 * 2
w1 = v1
out[0] = w1
---
t = 1
for k in range(u):
    t = t + k
out[0] = t
---
for k in range(i, u):
    t = k
    out[0] = t
---
for k in range(i):
    t = k
    out[0] = t
---
for k in range(n, i, 2):
    t = k + 1
    out[0] = t
---
a1 = i
while a1 < 10:
    a1 *= 2
    if a1 > 7:
        break
else:
    a1 = j
out[0] = a1
---
t = x[0]
for k in range(x.size):
    if x[k] > t:
        t = x[k]
out[0] = t
---
t = 0
for k in range(x.size):
    t += x[k]
out[0] = t
---
t = float32(0)
for k in range(x.size):
    t += x[k] * 2
out[0] = t
---
t = float32(0)
for k in range(x.size):
    t += x[k] * float32(2)
out[0] = t
---
t = f
if b:
    t = d
w1 = t * f
out[0] = w1
---
if i > 0:
    t = i
elif i < 0:
    t = n
else:
    t = f
out[0] = t
---
t = i if b else u
w1 = t + 1
out[0] = w1
---
t = (i, f, c)
w1 = t[0]
y1 = t[1]
z1 = t[2]
out[0] = w1 + y1 + z1.real
---
p, q = divmod(i, n)
r, s = divmod(f, d)
out[0] = p + q + r + s
---
p, q = math.frexp(f)
r, s = math.modf(d)
out[0] = p + q + r + s
---
p, q = cuda.grid(2)
r = p * cuda.gridDim.x + q
out[0] = r
---
t = cuda.threadIdx.x
w1 = t + cuda.blockIdx.x * cuda.blockDim.x
y1 = w1 % 32
out[y1] = t
---
t = cuda.shared.array(32, float32)
t[cuda.threadIdx.x] = f
cuda.syncthreads()
w1 = t[0]
y1 = t[1] + 1
out[0] = w1 + y1
---
t = cuda.local.array(4, complex64)
t[0] = c
w1 = t[0]
y1 = abs(w1)
out[0] = y1
---
t = cuda.shfl_down_sync(0xffffffff, f, 1)
w1 = cuda.ballot_sync(0xffffffff, b)
y1 = cuda.popc(w1)
z1 = cuda.activemask()
out[0] = t + y1 + z1
---
t = cuda.atomic.add(out, 0, f)
w1 = cuda.atomic.max(out, 1, i)
out[2] = t + w1
---
for k in range(3):
    for m in range(k, 5):
        t = k * m
        w1 = t / 2
    y1 = w1 + f
out[0] = y1
---
for k in range(uint8(3)):
    t = k
out[0] = t
---
for k in range(n):
    t = k * n
out[0] = t
---
for k in range(0, i, n):
    t = k
out[0] = t
---
for k in range(u, 0, -1):
    t = k
    out[0] = t
---
for v1 in x:
    t = v1 * 2
out[0] = t
---
for k, v1 in enumerate(x):
    t = k + v1
out[0] = t
---
for v1, w1 in zip(x, out):
    t = v1 + w1
out[0] = t
---
t = h[0]
w1 = t + h[1]
y1 = t * f
z1 = t * i
out[0] = w1 + y1 + z1
---
t = float16(0)
for k in range(3):
    t += h[k]
out[0] = t
---
t = cuda.fp16.hadd(h[0], h[1])
w1 = cuda.fp16.hfma(t, t, 2)
y1 = cuda.fp16.hgt(t, w1)
out[0] = t + w1
---
t = 0
w1 = 1.0
while t < 10:
    t += n
    w1 = w1 / t
out[0] = w1
---
t = True
for k in range(3):
    t = t and x[k] > 0
out[0] = t
---
t = n
for k in range(3):
    t = (t << 1) ^ n
out[0] = t
---
t = uint32(1)
for k in range(32):
    t = t * 1664525 + 1013904223
out[0] = t
---
t = uint32(1)
for k in range(32):
    t = uint32(t * uint32(1664525) + uint32(1013904223))
out[0] = t
---
t = u
w1 = u
for k in range(4):
    w1 = t - w1
    t = t >> 1
out[0] = w1
---
t = min(i, j, n)
w1 = max(f, d)
y1 = min(u, i)
out[0] = t + w1 + y1
---
t = complex(f, f)
for k in range(4):
    t = t * t + c
    if abs(t) > 2:
        break
out[0] = t.real
---
t = cmath.sqrt(c)
w1 = cmath.phase(t)
y1 = t.conjugate()
z1 = t ** 2
out[0] = w1 + y1.imag + z1.real
---
t, w1 = cuda.libdevice.sincos(d)
y1, z1 = cuda.libdevice.frexp(f)
v1 = cuda.libdevice.sad(i, i, i)
out[0] = t + w1 + y1 + z1 + v1
---
t = x.shape[0]
w1 = x.size * 4
y1 = x.ndim
z1 = len(x)
out[0] = t + w1 + y1 + z1
---
t = x[1:5]
w1 = t[0]
y1 = z[::2]
v1 = y1[0]
out[0] = w1 + v1.real
"""

#: Expressions, each assigned to a variable of its own.
EXPRESSIONS = """
~b
abs(b)
-b
b + b
b * b
b & b
b / b
b // b
b ** b
b << b
b - b
b + j
min(b, b)
b < b
round(b)
int(b)
math.sqrt(b)
b % b
divmod(i, i)[0]
divmod(f, f)[1]
pow(f, i)
math.floor(i)
round(i)
round(i, 2)
math.fabs(i)
math.trunc(f)
math.exp2(f)
math.pi
bool(f)
i is i
i if b else 1.5
i and f
not f
min(j, u)
max(i, f, d)
complex(i)
sum((i, i))
np.real(f)
j // u
u - j
u + u
-u
abs(u)
h[0] / h[1]
h[0] // h[1]
h[0] % h[1]
h[0] ** h[1]
divmod(h[0], h[1])[0]
int(h[0])
round(h[0])
math.sin(h[0])
math.tan(h[0])
math.isnan(h[0])
math.pow(h[0], h[1])
math.fmod(h[0], h[1])
math.frexp(h[0])[0]
float(h[0])
h[0] * 2
h[0] * i
h[0] * f
h[0] + 2.5
min(h[0], h[1])
max(h[0], f)
-h[0]
abs(h[0])
h[0] < i
c * 2
c + f
c * d
c / c
c ** 2
abs(c)
c.real
c.imag
z[0].real
c.conjugate()
complex(f)
complex(f, d)
cmath.exp(c)
cmath.exp(d)
cmath.tanh(c)
cmath.rect(f, d)
cuda.popc(n)
cuda.popc(i)
cuda.clz(n)
cuda.ffs(i)
cuda.brev(i)
cuda.brev(j)
cuda.brev(n)
cuda.fma(f, f, f)
cuda.fma(f, f, d)
cuda.fma(i, i, i)
cuda.fma(f, f, 1.0)
cuda.cbrt(f)
cuda.cbrt(i)
cuda.selp(b, f, f)
cuda.selp(b, i, i)
i.bit_count()
n.bit_count()
i.real
f.imag
np.sin(f)
np.sin(i)
np.maximum(i, f)
np.float32(i)
np.int8(f)
np.isnan(f)
np.hypot(f, d)
np.divide(i, i)
np.logical_and(i, f)
np.left_shift(i, j)
operator.add(i, f)
operator.lt(i, f)
operator.neg(n)
operator.itruediv(f, f)
operator.not_(f)
operator.xor(i, n)
n * n
n + 1
n << 1
n >> i
i ** 2
i ** -1
f ** 2
f ** 0.5
f ** i
2 ** i
2.0 ** i
d ** f
j % 3
-n
~n
+n
n // n
n % n
n / n
i >> b
i | n
i & u
j ^ u
u >> j
u << i
i << u
u % j
u // j
u * j
u / j
u ** 2
u ** j
j ** u
u < j
u == j
min(i, f)
max(n, i)
min(u, n)
round(f)
round(d, 1)
round(f, 1)
math.ldexp(f, i)
math.frexp(f)[1]
math.modf(f)[0]
math.atan2(i, f)
math.hypot(f, d)
math.copysign(f, d)
math.pow(f, 2)
math.pow(i, i)
math.isinf(i)
math.degrees(f)
math.erf(f)
math.gamma(i)
math.log2(n)
math.ceil(f)
math.nextafter(f, f)
math.remainder(f, d)
int(f)
int(u)
float(i)
float(u)
float(n)
bool(i)
int32(u)
float32(d)
complex64(f)
len(x)
x.size
x.shape[0]
x.ndim
x[0]
cuda.grid(1)
cuda.threadIdx.x
cuda.threadIdx.x + 1
cuda.laneid
cuda.blockDim.x * cuda.blockIdx.x
cuda.warpsize
cuda.gridsize(1)
i in (1, 2)
(i, f)[0]
i < j < u
i and j
f or d
b and b
b or i
i if i else n
f if b else i
n if b else i
u if b else j
cuda.activemask()
cuda.ballot_sync(0xffffffff, b)
cuda.shfl_sync(0xffffffff, f, 0)
cuda.all_sync(0xffffffff, b)
cuda.match_any_sync(0xffffffff, i)
cuda.fp16.hadd(h[0], i)
1
1.0
True
2**63
1 << 3
10**-3
1 // 2
7 % 4
-1
~1
2**31
1e400
0x80000000
"""


def bodies() -> list[str]:
    """All programs; the expressions come by the dozen."""
    found = [body.strip("\n") for body in PROGRAMS.split("---\n")]
    written = EXPRESSIONS.strip().split("\n")
    for start in range(0, len(written), 12):
        dozen = written[start : start + 12]
        found.append("\n".join(f"v{k} = {text}" for k, text in enumerate(dozen)))
    return found
