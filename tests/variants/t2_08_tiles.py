"""Unusual but right answers to the lab t2_08_tiles."""

from __future__ import annotations

import math

from tests.variants import variant
from warpwise.tiles import tl, triton


@variant("scaled_add")
@triton.jit
def pointers_moved(o, u, v, factor, count, SIZE: tl.constexpr):
    base = tl.program_id(axis=0) * SIZE
    lane = tl.arange(0, SIZE)
    left = count - base
    s = tl.math.fma(tl.load(u + base + lane, lane < left, 0.0), factor * tl.full((SIZE,), 1.0, tl.float32), tl.load(v + base + lane, lane < left, 0.0))  # fmt: skip # noqa: E501
    tl.store(o + base + lane, s, lane < left)


@variant("scaled_add")
@triton.jit
def in_two_halves(out, x, y, a, n, BLOCK: tl.constexpr):
    for half in tl.static_range(2):
        i = tl.program_id(0) * BLOCK + half * (BLOCK // 2) + tl.arange(0, BLOCK // 2)
        tl.store(out + i, a * tl.load(x + i, i < n) + tl.load(y + i, i < n), i < n)


@variant("tile_tally")
def by_walking_the_grid(m, n, k, bm, bn, bk):
    programs = math.ceil(m / bm) * math.ceil(n / bn)
    steps = math.ceil(k / bk)
    rows = sum(min(bm, m - top) for top in range(0, m, bm)) * math.ceil(n / bn)
    cols = sum(min(bn, n - left) for left in range(0, n, bn)) * math.ceil(m / bm)
    idle = programs * steps * bk * (bm + bn) - k * (rows + cols)
    return [programs, 2 * k * (rows + cols), idle]


@variant("row_softmax")
@triton.jit
def by_powers_of_two(out, lse, x, scale, cols, stride_out, stride_x, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * stride_x + c, mask=c < cols, other=0.0)
    s = tl.where(c < cols, v * (scale * 1.4426950408889634), -float("inf"))
    top = tl.max(s, axis=0)
    e = tl.exp2(s - top)
    total = tl.sum(e, axis=0)
    tl.store(out + row * stride_out + c, e * (1.0 / total), mask=c < cols)
    tl.store(lse + row, (top + tl.log2(total)) * 0.6931471805599453)


@variant("row_softmax")
@triton.jit
def through_its_logarithm(out, lse, x, scale, cols, stride_out, stride_x, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)[None, :]
    s = tl.load(x + row * stride_x + c, mask=c < cols, other=-float("inf")) * scale
    top = tl.max(s, axis=1)
    log = top + tl.log(tl.sum(tl.exp(s - top[:, None]), axis=1))
    tl.store(lse + row + tl.arange(0, 1), log)
    tl.store(out + row * stride_out + c, tl.exp(s - log[:, None]), mask=c < cols)


@variant("mended_columns")
@triton.jit
def one_owner_for_each_column(out, x, rows, cols, stride, R: tl.constexpr, C: tl.constexpr):
    c = tl.program_id(1) * C + tl.arange(0, C)
    if tl.program_id(0) == 0:
        total = tl.load(out + c, mask=c < cols, other=0.0)
        for start in range(0, rows, R):
            r = start + tl.arange(0, R)
            inside = (r[:, None] < rows) & (c[None, :] < cols)
            v = tl.load(x + r[:, None] * stride + c[None, :], mask=inside, other=0.0)
            total += tl.sum(v, axis=0)
        tl.store(out + c, total, mask=c < cols)


@variant("mended_columns")
@triton.jit
def row_by_row(out, x, rows, cols, stride, R: tl.constexpr, C: tl.constexpr):
    first = tl.program_id(0) * R
    c = tl.program_id(1) * C + tl.arange(0, C)
    part = tl.zeros((C,), tl.float32)
    for r in range(first, min(first + R, rows)):
        part += tl.load(x + r * stride + c, mask=c < cols, other=0.0)
    tl.atomic_add(out + c, part, mask=c < cols)


@variant("norm_rows")
@triton.jit
def zeros_by_multiplying(out, x, w, b, cols, stride_out, stride_x, eps, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    m = c < cols
    v = tl.load(x + row * stride_x + c, mask=m, other=0.0).to(tl.float32)
    away = (v - tl.sum(v) / cols) * m.to(tl.float32)
    root = tl.sqrt(tl.sum(away * away) / cols + eps)
    y = away / root * tl.load(w + c, m, 0.0) + tl.load(b + c, m, 0.0)
    tl.store(out + row * stride_out + c, y.to(out.dtype.element_ty), m)


@variant("norm_rows")
@triton.jit
def shifted_squares(out, x, w, b, cols, stride_out, stride_x, eps, BLOCK: tl.constexpr):
    """Mean of squares minus square of the mean, after the row's largest element is taken off."""
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    m = c < cols
    v = tl.load(x + row * stride_x + c, mask=m, other=-float("inf")).to(tl.float32)
    v = tl.where(m, v - tl.max(v, axis=0), 0.0)
    mean = tl.sum(v, axis=0) / cols
    variance = tl.sum(v * v, axis=0) / cols - mean * mean
    y = (v - mean) * tl.rsqrt(variance + eps) * tl.load(w + c, m) + tl.load(b + c, m)
    tl.store(out + row * stride_out + c, y, mask=m)


@triton.jit
def part_of(p, r, s, step_r, step_s, last_r, last_s):
    mask = (r[:, None] < last_r) & (s[None, :] < last_s)
    return tl.load(p + r[:, None] * step_r + s[None, :] * step_s, mask=mask, other=0.0)


@variant("grouped_matmul")
@triton.jit
def bands_of_columns(
    c, a, b, m, n, k, c_row, c_col, a_row, a_col, b_row, b_col, T: tl.constexpr, GROUP: tl.constexpr
):  # fmt: skip
    down, along = tl.cdiv(m, T), tl.cdiv(n, T)
    band, i = tl.program_id(0) // (GROUP * down), tl.program_id(0) % (GROUP * down)
    width = min(along - band * GROUP, GROUP)
    r = (i // width) * T + tl.arange(0, T)
    s = (band * GROUP + i % width) * T + tl.arange(0, T)
    total = tl.zeros((T, T), dtype=tl.float32)
    for step in range(tl.cdiv(k, T)):
        t = (tl.cdiv(k, T) - 1 - step) * T + tl.arange(0, T)  # from the end
        total += tl.dot(part_of(a, r, t, a_row, a_col, m, k), part_of(b, t, s, b_row, b_col, k, n))
    mask = (r[:, None] < m) & (s[None, :] < n)
    tl.store(c + r[:, None] * c_row + s[None, :] * c_col, total, mask=mask)


@variant("grouped_matmul")
@triton.jit
def a_square_that_grows(
    c, a, b, m, n, k, c_row, c_col, a_row, a_col, b_row, b_col, T: tl.constexpr, GROUP: tl.constexpr
):  # fmt: skip
    """Shell by shell in the square part of c's tiles, then the rest line by line."""
    p, down, along = tl.program_id(0), tl.cdiv(m, T), tl.cdiv(n, T)
    side = min(down, along)
    row, col = p * 0, p * 0
    if p < side * side:
        shell = p * 0
        while (shell + 1) * (shell + 1) <= p:
            shell += 1
        i = p - shell * shell
        row = min(i, shell)
        col = min(2 * shell - i, shell)
    else:
        i = p - side * side
        row = tl.where(down > along, side + i // side, i % side)
        col = tl.where(down > along, i % side, side + i // side)
    r, s = row * T + tl.arange(0, T), col * T + tl.arange(0, T)
    total = tl.zeros((T, T), dtype=tl.float32)
    for start in range(0, k, T):
        t = start + tl.arange(0, T)
        total = tl.dot(
            part_of(a, r, t, a_row, a_col, m, k), part_of(b, t, s, b_row, b_col, k, n), total
        )
    mask = (r[:, None] < m) & (s[None, :] < n)
    tl.store(c + r[:, None] * c_row + s[None, :] * c_col, total, mask=mask)


@variant("grouped_matmul")
@triton.jit
def sums_of_products(
    c, a, b, m, n, k, c_row, c_col, a_row, a_col, b_row, b_col, T: tl.constexpr, GROUP: tl.constexpr
):  # fmt: skip
    """The compiler makes a product of matrices of it, with mma.sync."""
    p, down, along = tl.program_id(0), tl.cdiv(m, T), tl.cdiv(n, T)
    top = p // (GROUP * along) * GROUP
    height = min(GROUP, down - top)
    i = p % (GROUP * along)
    rows = (top + i % height) * T + tl.arange(0, T)
    cols = i // height * T + tl.arange(0, T)
    total = tl.zeros((T, T), tl.float32)
    for start in range(0, k, T):
        ks = start + tl.arange(0, T)
        in_a = (rows[:, None] < m) & (ks[None, :] < k)
        in_b = (ks[:, None] < k) & (cols[None, :] < n)
        u = tl.load(a + rows[:, None] * a_row + ks[None, :] * a_col, mask=in_a, other=0.0)
        v = tl.load(b + ks[:, None] * b_row + cols[None, :] * b_col, mask=in_b, other=0.0)
        total += tl.sum(u.to(tl.float32)[:, :, None] * v.to(tl.float32)[None, :, :], axis=1)
    in_c = (rows[:, None] < m) & (cols[None, :] < n)
    tl.store(c + rows[:, None] * c_row + cols[None, :] * c_col, total, mask=in_c)
