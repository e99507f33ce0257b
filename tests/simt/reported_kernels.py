# ruff: noqa: E501 - lines of kernels stay whole
"""Small kernels in the manner of bug reports about Numba, and the thread bodies that judge them.

Each body works on its own elements, so that threads may run one after the other under njit.
"""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np

RNG = np.random.default_rng(0)
X = RNG.normal(size=16)
INTEGERS = RNG.integers(-50, 50, 16)
OUT = np.zeros(16)
Point = namedtuple("Point", "x y")
Dims = namedtuple("Dims", "a b c")


class Color(IntEnum):
    RED = 1
    BLUE = 7


@dataclass(frozen=True)
class Case:
    """`body` of a kernel with these parameters, where `i` is the thread; `device`: functions."""

    parameters: str
    body: str
    args: tuple[Any, ...]
    names: dict[str, Any] = field(default_factory=dict)
    device: str = ""


def table(*shape: int) -> Any:
    """Normal numbers, the same for each shape."""
    return np.random.default_rng(shape).normal(size=shape)


#: What each one is about -> the kernel
CASES = {
    "nested_breaks": Case("out, x", """
a = 0.0
n = 0
while True:
    n += 1
    while True:
        n += 1
        a += x[i]
        if a > 3 or a < -3 or n > 20:
            break
        if i % 2:
            a += 1
            continue
        a *= 1.5
        break
    if a > 2 or i == 3 or n > 9:
        break
    a += 0.25
out[i] = a
""", (OUT, X,)),
    "bool_int": Case("out, src", """
b = src[i] > 0
out[i] = int(b) + np.int64(b) * 10 + (b + 0) * 100 + (1 if b else 0) * 1000 + b * 1 - (-b)
""", (OUT, X,)),
    "bool_arith": Case("out, src", """
b = src[i] > 0
c = src[i] > -0.5
out[i] = (b & c) + (b | c) * 2 + (b ^ c) * 4 + (not b) * 8 + (b and c) * 16 + (b == c) * 32 + (b < c) * 64
""", (OUT, X,)),
    "minmax_mixed": Case("out, x, k", """
out[i] = max(0.0, x[i]) + min(k[i], 3) + max(k[i], x[i], -2) + min(i, int32(4), 2.5)
""", (OUT, X, INTEGERS,)),
    "int_div_signs": Case("out, a, b", """
out[i] = a[i] // b[i] + (a[i] % b[i]) * 1000
""", (OUT, INTEGERS, INTEGERS[::-1].copy(),)),
    "float_div_signs": Case("out, a, b", """
out[i] = a[i] // b[i] + (a[i] % b[i]) * 1000
""", (OUT, X * 10, X[::-1].copy(),)),
    "uint_wrap": Case("out, a", """
v = a[i]
v -= uint32(5)
out[i] = v
w = uint32(a[i]) - uint32(60)
out[i + 8] = w
""", (OUT, np.arange(0, 16, 1, np.uint32),)),
    "uint8_store": Case("out, a", """
out[i] = a[i] + 200
out[i + 8] = -a[i]
""", (np.zeros(16, np.uint8), INTEGERS.astype(np.uint8),)),
    "int8_aug": Case("out, a", """
for j in range(5):
    out[i] += a[i]
    out[i] *= 3
""", (np.ones(16, np.int8), INTEGERS.astype(np.int8),)),
    "shift_neg": Case("out, a", """
out[i] = (a[i] >> 2) + (a[i] << 3) + (uint32(a[i]) >> 28) + ((a[i] & 0xff) ^ 0x55)
""", (OUT, INTEGERS,)),
    "hash32": Case("out", """
h = uint32(i)
h ^= h >> 16
h *= uint32(0x85ebca6b)
h ^= h >> 13
h *= uint32(0xc2b2ae35)
h ^= h >> 16
out[i] = h
""", (OUT,)),
    "lcg": Case("out", """
s = uint64(i + 1)
for _ in range(10):
    s = s * uint64(6364136223846793005) + uint64(1442695040888963407)
    s ^= s >> uint64(22)
out[i] = s
""", (np.zeros(16, np.uint64),)),
    "xorshift_mixed": Case("out", """
s = i + 12345
for _ in range(5):
    s ^= (s << 13) & 0xffffffff
    s ^= s >> 17
    s ^= (s << 5) & 0xffffffff
out[i] = s
""", (np.zeros(16, np.int64),)),
    "tuple_slice": Case("out", """
rev = SHAPE[::-1]
a, b, c = NT
out[i] = rev[0] * 100 + rev[1] + a + b * c + len(SHAPE[1:])
""", (OUT,), names={"SHAPE": (2, 4), "NT": Dims(2, 4, 8)}),
    "tuple_mixed_index": Case("out, t", """
out[i] = t[0][0] + t[1] + t[2][1] * i
""", (OUT, (np.ones(3, np.int64), 10, (4, 3)),)),
    "tuple_loop": Case("out, t", """
s = 0.0
for v in t:
    s += v * (i + 1)
for k, v in enumerate(t):
    s += k * v
out[i] = s
""", (OUT, (1.5, 2.5, 3.5),)),
    "tuple_arrays": Case("out, arrays", """
s = 0
for a in arrays:
    s += a[i]
out[i] = s
""", (OUT, (np.zeros(8, np.float64), np.arange(0, 8, 1, np.float64), np.arange(0, 16, 2, np.float64), np.arange(0, 24, 3, np.float64)),)),
    "zip_index": Case("out, x", """
j = 0
for xv, yv in zip(x, x):
    j = x[j] % 8
    out[i] += xv - yv * i + j
""", (OUT, np.arange(10, 5, -1, np.int64),)),
    "slice_aug": Case("out, a", """
r = a[i, :]
r[0] += 10
a[i, 1:] = r[0]
out[i] = r[1] + a[i, 2]
""", (OUT, table(8, 3),)),
    "slice_all": Case("out, a", """
a[i, :] = 5
a[i, ::2] = i
s = 0.0
for v in a[i]:
    s += v
out[i] = s
""", (OUT, table(8, 5),)),
    "neg_idx": Case("out, x", """
out[i] = x[-1 - i] + x[i - 16]
out[-(i + 1)] = i
""", (OUT, X,)),
    "negstep": Case("out, x", """
v = x[::-1]
w = x[10:2:-2]
out[i] = v[i] + (w[i] if i < w.size else -1) + w.shape[0]
""", (OUT, X,)),
    "T_idx": Case("out, a", """
t = a.T
out[i] = t[i % 5, i] + t.shape[0] * 10 + a.ndim
""", (OUT, table(8, 5),)),
    "reshape2": Case("out, x", """
m = x.reshape(4, 4)
out[i] = m[i % 4, (i * 3) % 4] + m.shape[1]
""", (OUT, X,)),
    "powers": Case("out, x", """
out[i] = x[i] ** 2 + x[i] ** 3 + abs(x[i]) ** 0.5 + 2 ** i + (i + 1) ** -1 + i ** 3 + 2.0 ** (i - 3)
""", (OUT, X,)),
    "f32_pow": Case("out, x", """
out[i] = x[i] ** 2 + x[i] ** int32(3) + math.pow(abs(x[i]), float32(1.5))
""", (np.zeros(16, np.float32), X.astype(np.float32),)),
    "rounds": Case("out, x", """
out[i] = round(x[i]) + math.floor(x[i]) * 10 + math.ceil(x[i]) * 100 + math.trunc(x[i] * 3) * 1000 + int(x[i] * 7) * 1e4
out[i + 8] = round(x[i], 2) + round(x[i] * 100, -1)
""", (OUT, X * 2.5,)),
    "isnan": Case("out, x", """
v = x[i] / (i - 2) if i != 2 else math.inf
out[i] = math.isnan(v) + math.isinf(v) * 2 + math.isfinite(v) * 4 + (v != v) * 8
""", (OUT, X,)),
    "complex1": Case("out, z", """
w = z[i] * (1 + 2j) - z[i].conjugate() / 3
out[i] = abs(w) + w.real * w.imag + cmath.phase(w) + (w == z[i])
""", (OUT, X + 1j * X[::-1],)),
    "mandel": Case("out", """
c = complex(-2 + 3 * (i / 8), -0.7 + i * 0.2)
z = 0.0j
for k in range(50):
    z = z * z + c
    if (z.real * z.real + z.imag * z.imag) >= 4:
        out[i] = k
        return
out[i] = 50
""", (OUT,)),
    "enum": Case("out", """
c = Color.RED if i % 2 else Color.BLUE
out[i] = c + Color.BLUE * i + (Color.RED == 1)
""", (OUT,)),
    "ntuple_arg": Case("out, p", """
out[i] = p.x * i + p.y + p[0]
""", (OUT, Point(1.5, 2),)),
    "for_else": Case("out, x", """
for k in range(5):
    if x[i] > k - 1:
        continue
    if x[i] < -1:
        break
else:
    out[i] += 100
while k > 0:
    k -= 2
    if k == 1: break
else:
    out[i] += 1000
out[i] += k
""", (OUT, X,)),
    "range_neg": Case("out", """
for k in range(10, i, -3):
    out[i] = out[i] * 2 + k
for k in range(i, 3):
    out[i] += k
out[i] += k
""", (OUT,)),
    "range_mutate": Case("out", """
n = i
for k in range(n):
    n = 2
    out[i] += k
    k = 100
out[i] += n
""", (OUT,)),
    "chained": Case("out, x", """
out[i] = (0 < i < 5) + (0 < i <= 3 != 2) * 2 + (x[i] < 0 < i) * 4 + (i in (1, 3, 5)) * 8 + (i not in (2,)) * 16
""", (OUT, X,)),
    "ternary_nest": Case("out, x", """
out[i] = 1 if x[i] > 1 else (2 if x[i] > 0 else (3 if x[i] > -1 else 4.5))
""", (OUT, X,)),
    "andor_values": Case("out, x", """
out[i] = (x[i] > 0 and i) + (i or 7) * 10
""", (OUT, X,)),
    "type_widen": Case("out", """
s = 0
for k in range(4):
    s += k
    if k == i % 4:
        s = s * 1.5
out[i] = s / 2
""", (OUT,)),
    "int_then_float": Case("out, x", """
v = 0
if x[i] > 0:
    v = x[i]
v += 1
out[i] = v // 1
""", (OUT, X,)),
    "int32_index": Case("out, x, k", """
j = k[i] % 16
out[i] = x[j] + x[k[i] & 15]
""", (OUT, X, INTEGERS.astype(np.int32),)),
    "u64_mix": Case("out, a", """
v = a[i]
out[i] = v + 1 - 2
out[i + 8] = v % 7 + (v // 3)
""", (OUT, np.arange(0, 16000048, 1000003, np.uint64),)),
    "devrec": Case("out, x", """
out[i] = f(x, i, 3) + f(x, i, 0.5)
""", (OUT, X,), device="""
@device
def f(x, i, w):
    if w > 1:
        return x[i] * w
    return x[i] - w
"""),
    "dev_tuple": Case("out, x", """
a, (b, c) = g(x[i], i)
out[i] = a + b * 10 + c
""", (OUT, X,), device="""
@device
def g(a, b):
    return a * 2, (b, a > 0)
"""),
    "dev_fib": Case("out", """
out[i] = fib(i)
""", (OUT,), device="""
@device
def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)
"""),
    "dev_fn_arg": Case("out, x", """
out[i] = app(sq, x[i]) + app(cube, x[i])
""", (OUT, X,), device="""
@device
def sq(a):
    return a * a
@device
def cube(a):
    return a * a * a
@device
def app(f, a):
    return f(a) + 1
"""),
    "bitcount": Case("out, k", """
v = k[i] & 0xff
c = 0
while v:
    v &= v - 1
    c += 1
out[i] = c
""", (OUT, INTEGERS,)),
    "bsearch": Case("out, x, q", """
lo, hi = 0, x.size
while lo < hi:
    mid = (lo + hi) // 2
    if x[mid] < q[i]:
        lo = mid + 1
    else:
        hi = mid
out[i] = lo
""", (OUT, np.sort(X), X,)),
    "insertion": Case("out, a", """
row = a[i]
for p in range(1, row.size):
    v = row[p]
    q = p - 1
    while q >= 0 and row[q] > v:
        row[q + 1] = row[q]
        q -= 1
    row[q + 1] = v
out[i] = row[0]
""", (OUT, table(8, 7),)),
    "lambda_in": Case("out, x", """
f = lambda a, b: a * b + i
out[i] = f(x[i], 2) + f(1, 3)
""", (OUT, X,)),
    "const_arr": Case("out", """
out[i] = W[i % 3] * W[-1] + W.sum() + M[1, i % 2]
""", (OUT,), names={"W": np.array([0.25, 0.5, 0.125], np.float64), "M": np.arange(0, 4, 1, np.int64).reshape(2, 2)}),
    "sum_slice": Case("out, a", """
out[i] = a[i, 1:4].sum() + a[i].max() - a[:, 0].min() + np.sum(a[i] ) + a[i].mean()
""", (OUT, table(8, 5),)),
    "ndindex": Case("out, a", """
for p, q in np.ndindex(a.shape):
    out[i] += a[p, q] * (p == i)
""", (OUT, table(8, 3),)),
    "ndenum": Case("out, a", """
for idx, v in np.ndenumerate(a):
    if idx[0] == i:
        out[i] += v * idx[1]
""", (OUT, table(8, 3),)),
    "complex_pow": Case("out, z", """
out[i] = (z[i] ** 2).real + (z[i] ** 3).imag + abs(z[i] ** z[i])
""", (OUT, X + 2j,)),
    "str_cmp": Case("out", """
if MODE == "fast":
    out[i] = 1
elif MODE != "slow":
    out[i] = 2
""", (OUT,), names={"MODE": "fast"}),
    "none_flag": Case("out, x", """
if FLAG is None:
    out[i] = x[i]
else:
    out[i] = FLAG.nothing
""", (OUT, X,), names={"FLAG": None}),
    "divmod_": Case("out, k", """
q, r = divmod(k[i], 7)
f, g = divmod(k[i] * 0.5, 2.0)
out[i] = q * 10 + r + f * 100 + g
""", (OUT, INTEGERS,)),
    "int_of_big": Case("out, x", """
out[i] = int(x[i] * 1e9) % 1000 + int32(x[i] * 100) + int8(i * 50) + uint8(300 + i)
""", (OUT, X,)),
    "aug_tuple": Case("out", """
t = (1, 2)
t = t + (3,)
out[i] = t[2] * i + len(t) + sum(t)
""", (OUT,)),
    "shadow": Case("out, max", """
m = max + i
sum = 0
for range_ in range(3):
    sum += range_
out[i] = m + sum
""", (OUT, 3,)),
    "match": Case("out", """
match i % 4:
    case 0:
        out[i] = 10
    case 1 | 2:
        out[i] = 20
    case _:
        out[i] = 30
""", (OUT,)),
    "cond_array": Case("out, x, y", """
a = x if i % 2 else y
out[i] = a[i] + a.size
""", (OUT, X, X[::-1].copy(),)),
    "cond_array_if": Case("out, x, y", """
if i % 3 == 0:
    a = x
else:
    a = y
a[i] += 1
for k in range(3):
    if k == i % 3:
        a, b = y, x
    else:
        b = a
    out[i] += b[i] * k + a[i]
""", (OUT, X, X[::-1].copy(),)),
    "cond_tuple": Case("out, x", """
t = (1, 2.5) if i % 2 else (3, x[i])
out[i] = t[0] + t[1]
""", (OUT, X,)),
    "cond_tuple_dev": Case("out, x", """
t = g(x[i], i) if x[i] > 0 else g(-x[i], 2)
u = g(1, 2)[0] if t[1] > 3 else t[0]
out[i] = t[0] + t[1] + u
""", (OUT, X,), device="""
@device
def g(a, b):
    if a > 1:
        return a, b
    return a * 2, b + 1
"""),
    "and_chain_mem": Case("out, x, k", """
if i < 8 and k[i] >= 0 and k[i] < 16 and x[k[i]] > 0 and (x[k[i]] < 1 or k[i] % 2 == 0):
    out[i] = x[k[i]]
else:
    out[i] = -1 if k[i] < 0 or x[k[i] % 16] > 1 else -2
""", (OUT, X, INTEGERS,)),
    "while_and": Case("out, x", """
j = i
while j < 16 and x[j] < 0.5 and not (j == 12):
    j += 1
out[i] = j
""", (OUT, X,)),
    "ret_early_loops": Case("out, x", """
for a in range(4):
    for b in range(4):
        if x[a * 4 + b] > 1 and a + b > i:
            out[i] = a * 10 + b
            return
        if b > a:
            break
    else:
        out[i] += 0.5
out[i] -= 1
""", (OUT, X,)),
    "dev_ret_loop": Case("out, x", """
out[i] = find(x, i * 0.1)
""", (OUT, X,), device="""
@device
def find(x, v):
    for k in range(x.size):
        if x[k] > v:
            return k
    return -1
"""),
    "dev_mixed_ret": Case("out, x", """
out[i] = f(i) + f(-i)
""", (OUT, X,), device="""
@device
def f(n):
    if n > 3:
        return 1
    elif n > 1:
        return 2.5
    return n
"""),
    "dev_mutate": Case("out, x", """
fill(out, i, x[i])
r = out[i:i + 1]
fill(r, 0, 2.0)
""", (OUT, X,), device="""
@device
def fill(a, j, v):
    a[j] += v
"""),
    "dev_none": Case("out, x", """
v = h(x, i)
out[i] = 1 if v is None else 2
""", (OUT, X,), device="""
@device
def h(x, i):
    x[i] = 5
"""),
    "dev_defaults": Case("out, x", """
out[i] = h(x[i]) + h(x[i], b=3) + h(b=1, a=2)
""", (OUT, X,), device="""
@device
def h(a, b=2):
    return a * b
"""),
    "closure_cap": Case("out, x", """
k = 3
def f(v):
    return v * k + i
k = 4
out[i] = f(x[i])
""", (OUT, X,)),
    "nested_closure": Case("out, x", """
def f(v):
    def g(w):
        return w + i
    return g(v) * 2
out[i] = f(x[i])
""", (OUT, X,)),
    "complex_cond": Case("out, z", """
w = z[i] if i % 2 else 1
out[i] = abs(w) + (w.real if i > 3 else w.imag)
""", (OUT, X + 1j,)),
    "int_types_unify": Case("out, a, b", """
v = a[i] if i % 2 else b[i]
w = a[i]
if i > 3:
    w = b[i]
out[i] = v * 2 + w
""", (OUT, np.arange(234, 250, 1, np.uint8), INTEGERS.astype(np.int16),)),
    "u64i64": Case("out, a", """
v = a[i]
w = -1
if i > 3:
    w = v
out[i] = w + 0.5
""", (OUT, np.arange(0, 16, 1, np.uint64),)),
    "int32_loopvar": Case("out, n", """
s = n[0]
for k in range(n[1]):
    s += k
out[i] = s
""", (OUT, np.array([1, 5], np.int32),)),
    "uint_loop": Case("out, n", """
s = 0
for k in range(n[0], n[1], n[0]):
    s += k * i
out[i] = s
""", (OUT, np.array([1, 5], np.uint32),)),
    "neg_mod": Case("out, k", """
out[i] = (k[i] % 7) + (-k[i]) % 7 * 10 + k[i] % -7 * 100 + (k[i] * 1.0) % -7 * 1000 + (-k[i]) // 7
""", (OUT, INTEGERS,)),
    "int_pow": Case("out, k", """
out[i] = (k[i] % 5) ** 3 + (-2) ** i + i ** 2 ** 1 + 3 ** (i % 4) + int32(3) ** int32(i)
""", (OUT, INTEGERS,)),
    "bits": Case("out, k", """
out[i] = ~k[i] + (k[i] ^ -1) + (k[i] | 3) + (k[i] & ~7) + (True << 3) + (k[i] >> 60)
""", (OUT, INTEGERS,)),
    "cmp_mixed": Case("out, a, b", """
out[i] = (a[i] < b[i]) + (a[i] == b[i]) * 2 + (a[i] > -1) * 4 + (b[i] >= a[i]) * 8
""", (OUT, np.arange(0, 16, 1, np.uint32), INTEGERS,)),
    "float_cast": Case("out, x", """
out[i] = float32(x[i]) + float(i) + float64(int32(x[i])) + int(True) + bool(x[i]) + complex64(x[i]).real
""", (OUT, X,)),
    "augops": Case("out, x", """
v = x[i]
v **= 2
v //= 0.3
v %= 3
w = i
w <<= 2
w |= 1
w ^= 5
w >>= 1
w &= 0xff
w -= 1
w //= 2
out[i] = v + w
""", (OUT, X,)),
    "aug_elem2d": Case("out, a", """
a[i, i % 3] += a[i, 0]
a[i, -1] *= 2
a[(i, 1)] -= 1
idx = (i, 2)
a[idx] /= 2
out[i] = a[i, 0] + a[i][1]
""", (OUT, table(8, 3),)),
    "a3d": Case("out, a", """
p = a[i % 2]
q = p[1]
r = a[:, 1, :]
out[i] = p[0, 1] + q[2] + r[1, i % 3] + a[1][2][0] + a.shape[2] + a.strides[0]
""", (OUT, table(2, 4, 3),)),
    "F_order": Case("out, a", """
out[i] = a[i, 1] + a.T[2, i] + a[i].sum()
""", (OUT, np.asfortranarray(table(8, 3)),)),
    "zero_d": Case("out, x", """
s = x[3:3]
for v in s:
    out[i] += 1
out[i] += s.size + s.shape[0] + len(x[5:2]) + x[20:30].size
""", (OUT, X,)),
    "slice_step_var": Case("out, x", """
st = i % 3 + 1
v = x[i::st]
s = 0.0
for k in range(v.size):
    s += v[k] * k
w = x[:i]
out[i] = s + w.size
""", (OUT, X,)),
    "loop_slices": Case("out, x", """
best = -1.0
for k in range(0, 16 - 4):
    w = x[k:k + 4]
    m = 0.0
    for q in range(4):
        m += w[q]
    if m > best:
        best = m
        out[i] = k
out[i] += best
""", (OUT, X,)),
    "enumerate_start": Case("out, x", """
for k, v in enumerate(x[:4], 1):
    out[i] += k * v
for k, (a, b) in enumerate(zip(x[:3], x[3:])):
    out[i] += a * b * k
""", (OUT, X,)),
    "const_fold": Case("out", """
out[i] = 7 // 2 + -7 // 2 + 7 % -3 + 2 ** 10 + (1 << 4) + 3 / 2 + (5 if True else 6) + len((1, 2, 3)) + 0x10 + 1e-3 + (not 0)
""", (OUT,)),
    "unary": Case("out, x", """
out[i] = -x[i] + +x[i] - -i + (not x[i] > 0) + (-True) + ~True
""", (OUT, X,)),
    "global_arr2d": Case("out", """
out[i] = K2[i % 2][1] + K2[1, i % 3] + K2.shape[1] + K2[-1, -1]
""", (OUT,), names={"K2": np.arange(0, 6, 1, np.float64).reshape(2, 3)}),
    "struct_ret": Case("out, r", """
v = r[i]
w = r[(i + 1) % 8]
out[i] = v['a'] + w.b
r[i]['a'] = 7
out[i] += v.a
""", (OUT, np.array([(0, 0.0), (1, 0.5), (2, 1.0), (3, 1.5), (4, 2.0), (5, 2.5), (6, 3.0), (7, 3.5)], [("a", "<i8"), ("b", "<f8")]),)),
    "struct_copy": Case("out, r", """
r[(i + 8) % 16] = r[i]
out[i] = r[i + 8].b
""", (OUT, np.array([(0, 0.0), (1, 0.5), (2, 1.0), (3, 1.5), (4, 2.0), (5, 2.5), (6, 3.0), (7, 3.5), (8, 4.0), (9, 4.5), (10, 5.0), (11, 5.5), (12, 6.0), (13, 6.5), (14, 7.0), (15, 7.5)], [("a", "<i8"), ("b", "<f8")]),)),
    "f32_accum": Case("out, x", """
s = float32(0)
for k in range(16):
    s += x[k] * float32(1.1)
t = 0.0
for k in range(16):
    t += x[k]
out[i] = s + t
""", (OUT, X.astype(np.float32),)),
    "f32_sqrt": Case("out, x", """
out[i] = math.sqrt(abs(x[i])) + math.exp(x[i]) * math.floor(x[i])
""", (np.zeros(16, np.float32), X.astype(np.float32),)),
    "matvec": Case("out, a, x", """
acc = 0
for j in range(a.shape[1]):
    acc += a[i, j] * x[j]
out[i] = acc
""", (OUT, table(8, 16), X,)),
    "nested_if_assign": Case("out, x", """
if x[i] > 0:
    if i > 2:
        r = 1
    else:
        r = 2.5
        if i == 1:
            r = x[i]
else:
    r = i
    q = r
if x[i] <= 0:
    r += q
out[i] = r
""", (OUT, X,)),
    "loop_carried_types": Case("out, x", """
a = 0
b = 1
for k in range(i + 2):
    a, b = b, a + b * 0.5
    if k > 3:
        c = a
    else:
        c = k
    b = b + c
out[i] = a + b
""", (OUT, X,)),
    "bool_accum": Case("out, x", """
found = False
cnt = 0
for k in range(16):
    found |= x[k] > 1.2
    found = found or x[k] < -2
    cnt += found
out[i] = cnt + found
""", (OUT, X,)),
    "while_else_ret": Case("out, x", """
k = 0
while k < i:
    k += 1
    if x[k] > 1:
        out[i] = -k
        break
else:
    out[i] = k
    if k > 4:
        return
out[i] += 100
""", (OUT, X,)),
    "int_ret_bool": Case("out, x", """
out[i] = (x[i] > 0) == (i % 2 == 0)
out[i + 8] = (x[i] > 0) + True
""", (OUT, X,)),
    "str_const": Case("out", """
mode = "a" if FAST else "b"
if mode == "a":
    out[i] = 1
else:
    out[i] = 2
""", (OUT,), names={"FAST": True}),
    "tuple_eq": Case("out", """
t = (i % 2, i % 3)
out[i] = (t == (1, 2)) + (t != (0, 0)) * 2 + (t[::-1] == (0, 0)) * 4
""", (OUT,)),
    "abs_min_int": Case("out", """
v = -9223372036854775807 - 1
out[i] = abs(v) + (v // -1 if i > 20 else 0) + (v - 1) * 1e-18
""", (OUT,)),
    "inner_shadow": Case("out, x", """
def f(i):
    x = i * 2
    return x
out[i] = f(i + 1) + x[i]
""", (OUT, X,)),
    "optional_like": Case("out, x", """
best = None
b2 = -1
for k in range(4):
    if x[k] > 0:
        b2 = k
out[i] = b2
""", (OUT, X,)),
    "many_elif": Case("out", """
v = i % 8
if v == 0: r = 5
elif v == 1: r = 4.5
elif v == 2: r = True
elif v == 3: r = -1
else: r = 9
out[i] = r
""", (OUT,)),
}  # fmt: skip
