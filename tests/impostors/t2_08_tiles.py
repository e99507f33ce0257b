"""Wrong answers to the lab t2_08_tiles."""

from __future__ import annotations

from tests.impostors import impostor
from warpwise.tiles import tl, triton

# -- scaled_add --------------------------------------------------------------------------------


@impostor("scaled_add", diagnosis="out_of_bounds")
@triton.jit
def no_mask_on_y(out, x, y, a, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, a * tl.load(x + i, mask=i < n) + tl.load(y + i), mask=i < n)


@impostor("scaled_add", diagnosis="out_of_bounds")
@triton.jit
def one_too_far(out, x, y, a, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i <= n
    tl.store(out + i, a * tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@impostor("scaled_add", diagnosis="only_first_program")
@triton.jit
def first_tile_only(out, x, y, a, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    m = i < n
    tl.store(out + i, a * tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@impostor("scaled_add", diagnosis="factor_on_both")
@triton.jit
def factor_before_the_sum(out, x, y, a, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(out + i, a * (tl.load(x + i, mask=m) + tl.load(y + i, mask=m)), mask=m)


@impostor("scaled_add", diagnosis="factor_missing")
@triton.jit
def plain_sum(out, x, y, a, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@impostor("scaled_add", diagnosis="all_zero")
@triton.jit
def zeros(out, x, y, a, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.zeros((BLOCK,), tl.float32), mask=i < n)


@impostor("scaled_add", diagnosis="reduced_precision")
@triton.jit
def in_float16(out, x, y, a, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    v = tl.load(x + i, mask=m).to(tl.float16).to(tl.float32)
    tl.store(out + i, a * v + tl.load(y + i, mask=m), mask=m)


@impostor("scaled_add", diagnosis="race")
@triton.jit
def everybody_does_all(out, x, y, a, n, BLOCK: tl.constexpr):
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        m = i < n
        tl.store(out + i, a * tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@impostor("scaled_add", diagnosis="input_modified")
@triton.jit
def product_kept_in_x(out, x, y, a, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    v = a * tl.load(x + i, mask=m)
    tl.store(x + i, v, mask=m)
    tl.store(out + i, v + tl.load(y + i, mask=m), mask=m)


# -- tile_tally --------------------------------------------------------------------------------


def counts(m, n, k, bm, bn, bk):
    down, along, steps = -(-m // bm), -(-n // bn), -(-k // bk)
    return down, along, steps, m * k * along + k * n * down


@impostor("tile_tally", diagnosis="masked_lanes_loaded")
def every_lane_loads(m, n, k, bm, bn, bk):
    down, along, steps, loaded = counts(m, n, k, bm, bn, bk)
    lanes = down * along * steps * (bm * bk + bk * bn)
    return down * along, 2 * lanes, lanes - loaded


@impostor("tile_tally", diagnosis="float32_bytes")
def four_bytes_each(m, n, k, bm, bn, bk):
    down, along, steps, loaded = counts(m, n, k, bm, bn, bk)
    return down * along, 4 * loaded, down * along * steps * (bm * bk + bk * bn) - loaded


@impostor("tile_tally", diagnosis="axes_swapped")
def tiles_exchanged(m, n, k, bm, bn, bk):
    down, along, steps, loaded = counts(m, n, k, bm, bn, bk)
    lanes = down * along * steps * (bm * bk + bk * bn)
    return down * along, 2 * (m * k * down + k * n * along), lanes - loaded


@impostor("tile_tally", diagnosis="store_counted")
def with_the_store(m, n, k, bm, bn, bk):
    down, along, steps, loaded = counts(m, n, k, bm, bn, bk)
    lanes = down * along * (steps * (bm * bk + bk * bn) + bm * bn)
    return down * along, 2 * loaded, lanes - loaded - m * n


@impostor("tile_tally", diagnosis="steps_as_programs")
def a_program_for_each_step(m, n, k, bm, bn, bk):
    down, along, steps, loaded = counts(m, n, k, bm, bn, bk)
    programs = down * along * steps
    return programs, 2 * loaded, programs * (bm * bk + bk * bn) - loaded


# -- row_softmax -------------------------------------------------------------------------------


@impostor("row_softmax", diagnosis="zeros_counted")
@triton.jit
def zeros_in_the_tail(out, lse, x, scale, cols, stride_out, stride_x, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    s = scale * tl.load(x + row * stride_x + c, mask=c < cols, other=0.0)
    top = tl.max(s, axis=0)
    total = tl.sum(tl.exp(s - top), axis=0)
    tl.store(out + row * stride_out + c, tl.exp(s - top) / total, mask=c < cols)
    tl.store(lse + row, top + tl.log(total))


@impostor("row_softmax", diagnosis="undefined_lanes")
@triton.jit
def no_other(out, lse, x, scale, cols, stride_out, stride_x, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    s = scale * tl.load(x + row * stride_x + c, mask=c < cols)
    top = tl.max(s, axis=0)
    total = tl.sum(tl.exp(s - top), axis=0)
    tl.store(out + row * stride_out + c, tl.exp(s - top) / total, mask=c < cols)
    tl.store(lse + row, top + tl.log(total))


@impostor("row_softmax", diagnosis="maximum_missing")
@triton.jit
def sum_without_the_maximum(out, lse, x, scale, cols, stride_out, stride_x, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    s = scale * tl.load(x + row * stride_x + c, mask=c < cols, other=-float("inf"))
    e = tl.exp(s - tl.max(s, axis=0))
    tl.store(out + row * stride_out + c, e / tl.sum(e, axis=0), mask=c < cols)
    tl.store(lse + row, tl.log(tl.sum(e, axis=0)))


@impostor("row_softmax", diagnosis="wrong_values")
@triton.jit
def overflows(out, lse, x, scale, cols, stride_out, stride_x, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    s = scale * tl.load(x + row * stride_x + c, mask=c < cols, other=-float("inf"))
    total = tl.sum(tl.exp(s), axis=0)
    tl.store(out + row * stride_out + c, tl.exp(s) / total, mask=c < cols)
    tl.store(lse + row, tl.log(total))


@impostor("row_softmax", diagnosis="wrong_stride")
@triton.jit
def rows_without_gaps(out, lse, x, scale, cols, stride_out, stride_x, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    s = scale * tl.load(x + row * cols + c, mask=c < cols, other=-float("inf"))
    top = tl.max(s, axis=0)
    total = tl.sum(tl.exp(s - top), axis=0)
    tl.store(out + row * stride_out + c, tl.exp(s - top) / total, mask=c < cols)
    tl.store(lse + row, top + tl.log(total))


@impostor("row_softmax", diagnosis="too_many_bytes")
@triton.jit
def three_passes(out, lse, x, scale, cols, stride_out, stride_x, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    p, m = x + row * stride_x + c, c < cols
    top = tl.max(scale * tl.load(p, mask=m, other=-float("inf")), axis=0)
    total = tl.sum(tl.exp(scale * tl.load(p, mask=m, other=-float("inf")) - top), axis=0)
    e = tl.exp(scale * tl.load(p, mask=m, other=-float("inf")) - top)
    tl.store(out + row * stride_out + c, e / total, mask=m)
    tl.store(lse + row, top + tl.log(total))


@impostor("row_softmax", diagnosis="scale_missing")
@triton.jit
def without_the_scale(out, lse, x, scale, cols, stride_out, stride_x, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    s = tl.load(x + row * stride_x + c, mask=c < cols, other=-float("inf"))
    top = tl.max(s, axis=0)
    total = tl.sum(tl.exp(s - top), axis=0)
    tl.store(out + row * stride_out + c, tl.exp(s - top) / total, mask=c < cols)
    tl.store(lse + row, top + tl.log(total))


# -- mended_columns ----------------------------------------------------------------------------


@impostor("mended_columns", diagnosis="undefined_lanes")
@triton.jit
def as_it_was(out, x, rows, cols, stride, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.program_id(1) * C + tl.arange(0, C)
    inside = (r[:, None] < rows) & (c[None, :] < cols)
    tile = tl.load(x + r[:, None] * stride + c[None, :], mask=inside)
    before = tl.load(out + c, mask=c < cols)
    tl.store(out + c, before + tl.sum(tile, axis=0), mask=c < cols)


@impostor("mended_columns", diagnosis="race")
@triton.jit
def one_fault_mended(out, x, rows, cols, stride, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.program_id(1) * C + tl.arange(0, C)
    inside = (r[:, None] < rows) & (c[None, :] < cols)
    tile = tl.load(x + r[:, None] * stride + c[None, :], mask=inside, other=0.0)
    before = tl.load(out + c, mask=c < cols)
    tl.store(out + c, before + tl.sum(tile, axis=0), mask=c < cols)


@impostor("mended_columns", diagnosis="undefined_lanes")
@triton.jit
def the_other_fault_mended(out, x, rows, cols, stride, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.program_id(1) * C + tl.arange(0, C)
    inside = (r[:, None] < rows) & (c[None, :] < cols)
    tile = tl.load(x + r[:, None] * stride + c[None, :], mask=inside)
    tl.atomic_add(out + c, tl.sum(tile, axis=0), mask=c < cols)


@impostor("mended_columns", diagnosis="race")
@triton.jit
def an_atomic_that_adds_nothing(out, x, rows, cols, stride, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.program_id(1) * C + tl.arange(0, C)
    inside = (r[:, None] < rows) & (c[None, :] < cols)
    tile = tl.load(x + r[:, None] * stride + c[None, :], mask=inside, other=0.0)
    before = tl.atomic_add(out + c, tl.zeros((C,), tl.float32), mask=c < cols)
    tl.store(out + c, before + tl.sum(tile, axis=0), mask=c < cols)


@impostor("mended_columns", diagnosis="too_many_atomics")
@triton.jit
def an_atomic_for_each_element(out, x, rows, cols, stride, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.program_id(1) * C + tl.arange(0, C)
    inside = (r[:, None] < rows) & (c[None, :] < cols)
    tile = tl.load(x + r[:, None] * stride + c[None, :], mask=inside, other=0.0)
    tl.atomic_add(out + c[None, :] + 0 * r[:, None], tile, mask=inside)


@impostor("mended_columns", diagnosis="first_rows_only")
@triton.jit
def only_program_zero(out, x, rows, cols, stride, R: tl.constexpr, C: tl.constexpr):
    r = tl.arange(0, R)
    c = tl.program_id(1) * C + tl.arange(0, C)
    if tl.program_id(0) == 0:
        inside = (r[:, None] < rows) & (c[None, :] < cols)
        tile = tl.load(x + r[:, None] * stride + c[None, :], mask=inside, other=0.0)
        tl.atomic_add(out + c, tl.sum(tile, axis=0), mask=c < cols)


@impostor("mended_columns", diagnosis="added_by_all")
@triton.jit
def each_adds_everything(out, x, rows, cols, stride, R: tl.constexpr, C: tl.constexpr):
    c = tl.program_id(1) * C + tl.arange(0, C)
    total = tl.zeros((C,), tl.float32)
    for start in range(0, rows, R):
        r = start + tl.arange(0, R)
        inside = (r[:, None] < rows) & (c[None, :] < cols)
        total += tl.sum(tl.load(x + r[:, None] * stride + c[None, :], mask=inside, other=0.0), 0)
    tl.atomic_add(out + c, total, mask=c < cols)


@impostor("mended_columns", diagnosis="wrong_stride")
@triton.jit
def rows_side_by_side(out, x, rows, cols, stride, R: tl.constexpr, C: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.program_id(1) * C + tl.arange(0, C)
    inside = (r[:, None] < rows) & (c[None, :] < cols)
    tile = tl.load(x + r[:, None] * cols + c[None, :], mask=inside, other=0.0)
    tl.atomic_add(out + c, tl.sum(tile, axis=0), mask=c < cols)


# -- norm_rows ---------------------------------------------------------------------------------


@impostor("norm_rows", diagnosis="tail_in_variance")
@triton.jit
def tail_not_cleared(out, x, w, b, cols, stride_out, stride_x, eps, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    m = c < cols
    v = tl.load(x + row * stride_x + c, mask=m, other=0.0).to(tl.float32)
    away = v - tl.sum(v, axis=0) / cols
    scale = tl.rsqrt(tl.sum(away * away, axis=0) / cols + eps)
    y = away * scale * tl.load(w + c, mask=m) + tl.load(b + c, mask=m)
    tl.store(out + row * stride_out + c, y, mask=m)


@impostor("norm_rows", diagnosis="divided_by_lanes")
@triton.jit
def mean_of_the_tile(out, x, w, b, cols, stride_out, stride_x, eps, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    m = c < cols
    v = tl.load(x + row * stride_x + c, mask=m, other=0.0).to(tl.float32)
    away = tl.where(m, v - tl.sum(v, axis=0) / BLOCK, 0.0)
    scale = tl.rsqrt(tl.sum(away * away, axis=0) / BLOCK + eps)
    y = away * scale * tl.load(w + c, mask=m) + tl.load(b + c, mask=m)
    tl.store(out + row * stride_out + c, y, mask=m)


@impostor("norm_rows", diagnosis="eps_outside")
@triton.jit
def eps_beside_the_root(out, x, w, b, cols, stride_out, stride_x, eps, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    m = c < cols
    v = tl.load(x + row * stride_x + c, mask=m, other=0.0).to(tl.float32)
    away = tl.where(m, v - tl.sum(v, axis=0) / cols, 0.0)
    deviation = tl.sqrt(tl.sum(away * away, axis=0) / cols)
    y = away / (deviation + eps) * tl.load(w + c, mask=m) + tl.load(b + c, mask=m)
    tl.store(out + row * stride_out + c, y, mask=m)


@impostor("norm_rows", diagnosis="eps_missing")
@triton.jit
def eps_forgotten(out, x, w, b, cols, stride_out, stride_x, eps, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    m = c < cols
    v = tl.load(x + row * stride_x + c, mask=m, other=0.0).to(tl.float32)
    away = tl.where(m, v - tl.sum(v, axis=0) / cols, 0.0)
    scale = tl.rsqrt(tl.sum(away * away, axis=0) / cols + 1e-12)
    y = away * scale * tl.load(w + c, mask=m) + tl.load(b + c, mask=m)
    tl.store(out + row * stride_out + c, y, mask=m)


@impostor("norm_rows", diagnosis="wrong_values")
@triton.jit
def sums_in_float16(out, x, w, b, cols, stride_out, stride_x, eps, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    m = c < cols
    v = tl.load(x + row * stride_x + c, mask=m, other=0.0)
    away = tl.where(m, v - (tl.sum(v, axis=0) / cols).to(tl.float16), 0.0)
    scale = tl.rsqrt((tl.sum(away * away, axis=0) / cols).to(tl.float32) + eps)
    y = away * scale * tl.load(w + c, mask=m) + tl.load(b + c, mask=m)
    tl.store(out + row * stride_out + c, y, mask=m)


@impostor("norm_rows", diagnosis="wrong_values")
@triton.jit
def squares_minus_square(out, x, w, b, cols, stride_out, stride_x, eps, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    m = c < cols
    v = tl.load(x + row * stride_x + c, mask=m, other=0.0).to(tl.float32)
    mean = tl.sum(v, axis=0) / cols
    variance = tl.sum(v * v, axis=0) / cols - mean * mean
    y = (v - mean) * tl.rsqrt(variance + eps) * tl.load(w + c, mask=m) + tl.load(b + c, mask=m)
    tl.store(out + row * stride_out + c, y, mask=m)


@impostor("norm_rows", diagnosis="divided_by_less_one")
@triton.jit
def of_a_sample(out, x, w, b, cols, stride_out, stride_x, eps, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    m = c < cols
    v = tl.load(x + row * stride_x + c, mask=m, other=0.0).to(tl.float32)
    away = tl.where(m, v - tl.sum(v, axis=0) / cols, 0.0)
    scale = tl.rsqrt(tl.sum(away * away, axis=0) / tl.maximum(cols - 1, 1) + eps)
    y = away * scale * tl.load(w + c, mask=m) + tl.load(b + c, mask=m)
    tl.store(out + row * stride_out + c, y, mask=m)


@impostor("norm_rows", diagnosis="too_many_bytes")
@triton.jit
def row_loaded_twice(out, x, w, b, cols, stride_out, stride_x, eps, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    m = c < cols
    mean = tl.sum(tl.load(x + row * stride_x + c, mask=m, other=0.0).to(tl.float32), 0) / cols
    v = tl.load(x + row * stride_x + c, mask=m, other=0.0).to(tl.float32)
    away = tl.where(m, v - mean, 0.0)
    scale = tl.rsqrt(tl.sum(away * away, axis=0) / cols + eps)
    y = away * scale * tl.load(w + c, mask=m) + tl.load(b + c, mask=m)
    tl.store(out + row * stride_out + c, y, mask=m)


# -- grouped_matmul ----------------------------------------------------------------------------


@triton.jit
def tile_at(
    c, a, b, m, n, k, c_row, c_col, a_row, a_col, b_row, b_col, row, col, last, T: tl.constexpr
):  # fmt: skip
    """A right tile, `last` terms of each sum."""
    rows, cols = row * T + tl.arange(0, T), col * T + tl.arange(0, T)
    total = tl.zeros((T, T), tl.float32)
    for start in range(0, last, T):
        ks = start + tl.arange(0, T)
        in_a = (rows[:, None] < m) & (ks[None, :] < k)
        in_b = (ks[:, None] < k) & (cols[None, :] < n)
        p = tl.load(a + rows[:, None] * a_row + ks[None, :] * a_col, mask=in_a, other=0.0)
        q = tl.load(b + ks[:, None] * b_row + cols[None, :] * b_col, mask=in_b, other=0.0)
        total = tl.dot(p, q, total)
    in_c = (rows[:, None] < m) & (cols[None, :] < n)
    tl.store(c + rows[:, None] * c_row + cols[None, :] * c_col, total, mask=in_c)


@impostor("grouped_matmul", diagnosis="too_many_panels")
@triton.jit
def row_by_row(
    c, a, b, m, n, k, c_row, c_col, a_row, a_col, b_row, b_col, T: tl.constexpr, GROUP: tl.constexpr
):  # fmt: skip
    p, along = tl.program_id(0), tl.cdiv(n, T)
    tile_at(c, a, b, m, n, k, c_row, c_col, a_row, a_col, b_row, b_col, p // along, p % along, k, T)


@impostor("grouped_matmul", diagnosis="too_many_panels")
@triton.jit
def bands_of_four(
    c, a, b, m, n, k, c_row, c_col, a_row, a_col, b_row, b_col, T: tl.constexpr, GROUP: tl.constexpr
):  # fmt: skip
    p, down, along = tl.program_id(0), tl.cdiv(m, T), tl.cdiv(n, T)
    top = p // (4 * along) * 4
    height = min(4, down - top)
    i = p % (4 * along)
    tile_at(
        c, a, b, m, n, k, c_row, c_col, a_row, a_col, b_row, b_col,
        top + i % height, i // height, k, T,
    )  # fmt: skip


@impostor("grouped_matmul", diagnosis="never_written")
@triton.jit
def last_band_as_high(
    c, a, b, m, n, k, c_row, c_col, a_row, a_col, b_row, b_col, T: tl.constexpr, GROUP: tl.constexpr
):  # fmt: skip
    p, along = tl.program_id(0), tl.cdiv(n, T)
    i = p % (GROUP * along)
    tile_at(
        c, a, b, m, n, k, c_row, c_col, a_row, a_col, b_row, b_col,
        p // (GROUP * along) * GROUP + i % GROUP, i // GROUP, k, T,
    )  # fmt: skip


@impostor("grouped_matmul", diagnosis="whole_steps_only")
@triton.jit
def full_steps_only(
    c, a, b, m, n, k, c_row, c_col, a_row, a_col, b_row, b_col, T: tl.constexpr, GROUP: tl.constexpr
):  # fmt: skip
    p, down, along = tl.program_id(0), tl.cdiv(m, T), tl.cdiv(n, T)
    top = p // (GROUP * along) * GROUP
    height = min(GROUP, down - top)
    i = p % (GROUP * along)
    tile_at(
        c, a, b, m, n, k, c_row, c_col, a_row, a_col, b_row, b_col,
        top + i % height, i // height, k // T * T, T,
    )  # fmt: skip


@impostor("grouped_matmul", diagnosis="out_of_bounds")
@triton.jit
def no_mask_along_k(
    c, a, b, m, n, k, c_row, c_col, a_row, a_col, b_row, b_col, T: tl.constexpr, GROUP: tl.constexpr
):  # fmt: skip
    p, down, along = tl.program_id(0), tl.cdiv(m, T), tl.cdiv(n, T)
    top = p // (GROUP * along) * GROUP
    height = min(GROUP, down - top)
    i = p % (GROUP * along)
    rows = (top + i % height) * T + tl.arange(0, T)
    cols = i // height * T + tl.arange(0, T)
    total = tl.zeros((T, T), tl.float32)
    for start in range(0, k, T):
        ks = start + tl.arange(0, T)
        at_a = a + rows[:, None] * a_row + ks[None, :] * a_col
        at_b = b + ks[:, None] * b_row + cols[None, :] * b_col
        p_ = tl.load(at_a, mask=rows[:, None] < m, other=0.0)
        q_ = tl.load(at_b, mask=cols[None, :] < n, other=0.0)
        total = tl.dot(p_, q_, total)
    in_c = (rows[:, None] < m) & (cols[None, :] < n)
    tl.store(c + rows[:, None] * c_row + cols[None, :] * c_col, total, mask=in_c)


@impostor("grouped_matmul", diagnosis="low_accumulator")
@triton.jit
def sum_in_float16(
    c, a, b, m, n, k, c_row, c_col, a_row, a_col, b_row, b_col, T: tl.constexpr, GROUP: tl.constexpr
):  # fmt: skip
    p, down, along = tl.program_id(0), tl.cdiv(m, T), tl.cdiv(n, T)
    top = p // (GROUP * along) * GROUP
    height = min(GROUP, down - top)
    i = p % (GROUP * along)
    rows = (top + i % height) * T + tl.arange(0, T)
    cols = i // height * T + tl.arange(0, T)
    total = tl.zeros((T, T), tl.float16)
    for start in range(0, k, T):
        ks = start + tl.arange(0, T)
        in_a = (rows[:, None] < m) & (ks[None, :] < k)
        in_b = (ks[:, None] < k) & (cols[None, :] < n)
        p_ = tl.load(a + rows[:, None] * a_row + ks[None, :] * a_col, mask=in_a, other=0.0)
        q_ = tl.load(b + ks[:, None] * b_row + cols[None, :] * b_col, mask=in_b, other=0.0)
        total = tl.dot(p_, q_, total, out_dtype=tl.float16)
    in_c = (rows[:, None] < m) & (cols[None, :] < n)
    tl.store(c + rows[:, None] * c_row + cols[None, :] * c_col, total, mask=in_c)


@impostor("grouped_matmul", diagnosis="not_compiled_so")
@triton.jit
def in_plain_float32(
    c, a, b, m, n, k, c_row, c_col, a_row, a_col, b_row, b_col, T: tl.constexpr, GROUP: tl.constexpr
):  # fmt: skip
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
        total = tl.dot(u.to(tl.float32), v.to(tl.float32), total, input_precision="ieee")
    in_c = (rows[:, None] < m) & (cols[None, :] < n)
    tl.store(c + rows[:, None] * c_row + cols[None, :] * c_col, total, mask=in_c)


@impostor("grouped_matmul", diagnosis="wrong_stride")
@triton.jit
def b_row_after_row(
    c, a, b, m, n, k, c_row, c_col, a_row, a_col, b_row, b_col, T: tl.constexpr, GROUP: tl.constexpr
):  # fmt: skip
    p, down, along = tl.program_id(0), tl.cdiv(m, T), tl.cdiv(n, T)
    top = p // (GROUP * along) * GROUP
    height = min(GROUP, down - top)
    i = p % (GROUP * along)
    tile_at(
        c, a, b, m, n, k, c_row, c_col, a_row, a_col, n, 1, top + i % height, i // height, k, T
    )  # fmt: skip
