"""Triton kernels for the tests of tiles, right ones and wrong ones."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def add(out, x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    total = tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside)
    tl.store(out + i, total, mask=inside)


@triton.jit
def add_unmasked(out, x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x + i) + tl.load(y + i)
    tl.store(out + i, total, mask=i < n)


@triton.jit
def add_mask_too_wide(out, x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i <= n
    total = tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside)
    tl.store(out + i, total, mask=i < n)


@triton.jit
def before_the_start(out, x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i - 1))


@triton.jit
def softmax(out, x, cols, row_x, row_out, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    values = tl.load(x + row * row_x + c, mask=c < cols, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * row_out + c, powers / powers.sum(axis=0), mask=c < cols)


@triton.jit
def sum_without_other(out, x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out, tl.sum(tl.load(x + i, mask=i < n), axis=0))


@triton.jit
def tile_of(p, rows, cols, step_row, step_col, last_row, last_col):
    mask = (rows[:, None] < last_row) & (cols[None, :] < last_col)
    return tl.load(p + rows[:, None] * step_row + cols[None, :] * step_col, mask=mask, other=0.0)


@triton.jit
def matmul(
    C, A, B, M, N, K, am, ak, bk, bn, cm, cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        ks = k + tl.arange(0, BK)
        total += tl.dot(tile_of(A, rows, ks, am, ak, M, K), tile_of(B, ks, cols, bk, bn, K, N))
    mask = (rows[:, None] < M) & (cols[None, :] < N)
    places = C + rows[:, None] * cm + cols[None, :] * cn
    tl.store(places, total.to(C.dtype.element_ty), mask=mask)


@triton.jit
def block_pointers(out, x, rows, cols, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    p = tl.make_block_ptr(x, (rows, cols), (cols, 1), (r, 0), (1, BLOCK), (1, 0))
    q = tl.make_block_ptr(out, (rows, cols), (cols, 1), (r, 0), (1, BLOCK), (1, 0))
    tl.store(q, 2 * tl.load(p, boundary_check=(1,), padding_option="zero"), boundary_check=(1,))


@triton.jit
def last_wins(out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, i + tl.program_id(0))


@triton.jit
def reads_neighbour(out, BLOCK: tl.constexpr):
    p = tl.program_id(0)
    if p > 0:
        tl.store(out + p, tl.load(out + p - 1) + 1)
    else:
        tl.store(out, 1)


@triton.jit
def histogram(out, x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + tl.load(x + i, mask=i < n, other=0), 1, mask=i < n)


@triton.jit
def largest(out, x, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_max(out, tl.max(tl.load(x + i), axis=0))


@triton.jit
def waits(flag, BLOCK: tl.constexpr):
    while tl.atomic_cas(flag, 1, 2) != 1:
        pass


@triton.jit
def condition_on_tile(out, x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    if v > 0:
        tl.store(out + i, v)


@triton.jit
def odd_range(out, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), 1)


@triton.jit
def convert(out, x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i).to(out.dtype.element_ty))


@triton.jit
def twice(out, x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(out + i, v + v * v)


@triton.jit
def small_dot(out, x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    places = i[:, None] * BLOCK + i[None, :]
    tl.store(out + places, tl.dot(tl.load(x + places), tl.load(x + places)))


@triton.jit
def clamped(out, x, y, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.maximum(tl.load(x + i), tl.load(y + i)))


@triton.jit
def overflows(out, x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) * 2 + 1)


@triton.jit
def shifts(out, x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    half = v >> 1
    tl.store(out + i, half + v)


@triton.jit
def running(out, x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.cumsum(tl.load(x + i), axis=0))


@triton.jit
def nearest_row(out, x, cols, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + tl.program_id(0), tl.argmax(tl.load(x + tl.program_id(0) * cols + i), axis=0))


@triton.jit
def sum_of(out, x, BLOCK: tl.constexpr):
    tl.store(out, tl.sum(tl.load(x + tl.arange(0, BLOCK)), axis=0))


@triton.jit
def whole_tiles(out, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    i = start + tl.arange(0, BLOCK)
    tl.store(out + i, i, mask=(i < n) & (start + BLOCK <= n))


@triton.jit
def below_all(out, x, limit, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i)
    tl.store(out + i, v, mask=(v < limit) & (limit > 1.0) & ~(v < 0.0))


@triton.jit
def descriptors(out, x, rows, cols, BLOCK: tl.constexpr):
    p = tl.make_tensor_descriptor(x, [rows, cols], [cols, 1], [BLOCK, BLOCK])
    q = tl.make_tensor_descriptor(out, [rows, cols], [cols, 1], [BLOCK, BLOCK])
    place = [tl.program_id(0) * BLOCK, 0]
    q.store(place, 2 * p.load(place))


@triton.jit
def brackets_load(out, x, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, x[i])


@triton.jit
def brackets_store(out, x, BLOCK: tl.constexpr):
    out[tl.arange(0, BLOCK)] = 1


@triton.jit
def shifted_in_place(x, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i + 1, mask=i + 1 < n, other=0), mask=i < n)


@triton.jit
def sum_behind_an_atomic(out, flag):
    """The atomic orders nothing: it stands before the store, not after it."""
    tl.atomic_add(flag, 1)
    tl.store(out, tl.load(out) + 1)


@triton.jit
def cleared_by_one(out):
    if tl.program_id(0) == 0:
        tl.store(out, 0)
    tl.atomic_add(out, 1)


@triton.jit
def last_one_sums(out, parts, count, P: tl.constexpr):
    p = tl.program_id(0)
    tl.store(parts + p, p + 1)
    if tl.atomic_add(count, 1) == P - 1:
        tl.store(out, tl.sum(tl.load(parts + tl.arange(0, P)), axis=0))


@triton.jit
def under_a_lock(out, lock):
    while tl.atomic_cas(lock, 0, 1) != 0:
        pass
    tl.store(out, tl.load(out) + 1)
    tl.atomic_xchg(lock, 0)


@triton.jit
def one_or_zero(out, x, n):
    i = tl.program_id(0)
    tl.store(out + i, tl.load(x + i, mask=i < n, other=0.0))
