"""Wrong answers to the lab t2_10_attention.  Three helpers are right but for one named fault."""

from __future__ import annotations

from tests.impostors import impostor
from warpwise.tiles import tl, triton

# -- attention_elements ------------------------------------------------------------------------


@impostor("attention_elements", diagnosis="softmax_in_place")
def scores_twice(heads, n, m, d):
    moved = 2 * (n * d + m * d) + 2 * n * m
    return heads * moved, heads * (n * d + 2 * m * d + n * m), heads * (2 * (n + m) * d + n)


@impostor("attention_elements", diagnosis="output_kept")
def keeps_its_output(heads, n, m, d):
    moved, kept = 2 * (n + m) * d + 4 * n * m, 2 * (n + m) * d
    return heads * moved, heads * (kept + n * m), heads * (kept + n)


@impostor("attention_elements", diagnosis="both_matrices_kept")
def scores_and_shares(heads, n, m, d):
    moved, kept = 2 * (n + m) * d + 4 * n * m, n * d + 2 * m * d + 2 * n * m
    return heads * moved, heads * kept, heads * (2 * (n + m) * d + n)


@impostor("attention_elements", diagnosis="lse_forgotten")
def four_matrices(heads, n, m, d):
    moved, kept = 2 * (n + m) * d + 4 * n * m, n * d + 2 * m * d + n * m
    return heads * moved, heads * kept, heads * 2 * (n + m) * d


@impostor("attention_elements", diagnosis="heads_missing")
def one_head(heads, n, m, d):
    return 2 * (n + m) * d + 4 * n * m, n * d + 2 * m * d + n * m, 2 * (n + m) * d + n


@impostor("attention_elements", diagnosis="queries_for_keys")
def square(heads, n, m, d):
    return heads * (4 * n * d + 4 * n * n), heads * (3 * n * d + n * n), heads * (4 * n * d + n)


@impostor("attention_elements", diagnosis="bytes_not_elements")
def in_float16(heads, n, m, d):
    moved, kept = 2 * (n + m) * d + 4 * n * m, n * d + 2 * m * d + n * m
    return 2 * heads * moved, 2 * heads * kept, 2 * heads * (2 * (n + m) * d + n)


# -- merge_parts -------------------------------------------------------------------------------


@impostor("merge_parts", diagnosis="nan_for_empty")
@triton.jit
def no_care_for_empty_rows(
    out, lse, out_a, lse_a, out_b, lse_b, rows, d, R: tl.constexpr, D: tl.constexpr
):  # fmt: skip
    r, c = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, D)
    at, inside = r[:, None] * d + c[None, :], (r[:, None] < rows) & (c[None, :] < d)
    a = tl.load(lse_a + r, mask=r < rows, other=0.0)
    b = tl.load(lse_b + r, mask=r < rows, other=0.0)
    top = tl.maximum(a, b)
    log = top + tl.log(tl.exp(a - top) + tl.exp(b - top))
    part_a = tl.load(out_a + at, mask=inside) * tl.exp(a - log)[:, None]
    part_b = tl.load(out_b + at, mask=inside) * tl.exp(b - log)[:, None]
    tl.store(out + at, part_a + part_b, mask=inside)
    tl.store(lse + r, log, mask=r < rows)


@triton.jit
def merged(
    out, lse, out_a, lse_a, out_b, lse_b, rows, d, R: tl.constexpr, D: tl.constexpr,
    FAULT: tl.constexpr,
):  # fmt: skip
    r, c = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, D)
    at, inside = r[:, None] * d + c[None, :], (r[:, None] < rows) & (c[None, :] < d)
    a = tl.load(lse_a + r, mask=r < rows, other=0.0)
    b = tl.load(lse_b + r, mask=r < rows, other=0.0)
    top = tl.maximum(a, b)
    safe = tl.where(top == -float("inf"), 0.0, top)
    if FAULT == "no maximum":
        safe = 0.0 * safe
    w_a, w_b = tl.exp(a - safe), tl.exp(b - safe)
    total = w_a + w_b
    log = safe + tl.log(total)
    if FAULT == "half empty":
        log = tl.where((a == -float("inf")) | (b == -float("inf")), float("nan"), log)
        total = tl.where((a == -float("inf")) | (b == -float("inf")), float("nan"), total)
    divisor = tl.where(total > 0, total, 1.0) if FAULT != "half empty" else total
    if FAULT == "exchanged":
        w_a, w_b = w_b, w_a
    if FAULT == "mean":
        w_a, w_b = tl.full((R,), 0.5, tl.float32), tl.full((R,), 0.5, tl.float32)
        divisor = tl.full((R,), 1.0, tl.float32)
    if FAULT == "undivided":
        divisor = tl.full((R,), 1.0, tl.float32)
    if FAULT == "no maximum in lse":
        log = tl.log(total)
    if FAULT == "larger lse":
        log = top
    if FAULT == "short lse":
        log = log.to(tl.float16).to(tl.float32)
    v_a, v_b = tl.load(out_a + at, mask=inside), tl.load(out_b + at, mask=inside)
    if FAULT == "twice":
        v_a = tl.load(out_a + at, mask=inside)
    found = (v_a * w_a[:, None] + v_b * w_b[:, None]) / divisor[:, None]
    if FAULT == "winner":
        found = tl.where((a >= b)[:, None], v_a, v_b)
        log = top
    tl.store(out + at, found, mask=inside)
    tl.store(lse + r, log, mask=r < rows)


@impostor("merge_parts", diagnosis="nan_for_half_empty")
@triton.jit
def one_empty_part_spoils_a_row(
    out, lse, out_a, lse_a, out_b, lse_b, rows, d, R: tl.constexpr, D: tl.constexpr
):  # fmt: skip
    merged(out, lse, out_a, lse_a, out_b, lse_b, rows, d, R, D, "half empty")


@impostor("merge_parts", diagnosis="max_not_subtracted")
@triton.jit
def plain_exponentials(
    out, lse, out_a, lse_a, out_b, lse_b, rows, d, R: tl.constexpr, D: tl.constexpr
):  # fmt: skip
    r, c = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, D)
    at, inside = r[:, None] * d + c[None, :], (r[:, None] < rows) & (c[None, :] < d)
    a = tl.exp(tl.load(lse_a + r, mask=r < rows, other=0.0))
    b = tl.exp(tl.load(lse_b + r, mask=r < rows, other=0.0))
    part_a = tl.load(out_a + at, mask=inside) * a[:, None]
    part_b = tl.load(out_b + at, mask=inside) * b[:, None]
    tl.store(out + at, (part_a + part_b) / (a + b)[:, None], mask=inside)
    tl.store(lse + r, tl.log(a + b), mask=r < rows)


@impostor("merge_parts", diagnosis="shares_exchanged")
@triton.jit
def weights_exchanged(
    out, lse, out_a, lse_a, out_b, lse_b, rows, d, R: tl.constexpr, D: tl.constexpr
):  # fmt: skip
    merged(out, lse, out_a, lse_a, out_b, lse_b, rows, d, R, D, "exchanged")


@impostor("merge_parts", diagnosis="averaged")
@triton.jit
def mean_of_both(
    out, lse, out_a, lse_a, out_b, lse_b, rows, d, R: tl.constexpr, D: tl.constexpr
):  # fmt: skip
    merged(out, lse, out_a, lse_a, out_b, lse_b, rows, d, R, D, "mean")


@impostor("merge_parts", diagnosis="not_divided")
@triton.jit
def weights_that_add_up_to_anything(
    out, lse, out_a, lse_a, out_b, lse_b, rows, d, R: tl.constexpr, D: tl.constexpr
):  # fmt: skip
    merged(out, lse, out_a, lse_a, out_b, lse_b, rows, d, R, D, "undivided")


@impostor("merge_parts", diagnosis="lse_without_maximum")
@triton.jit
def maximum_left_out_of_lse(
    out, lse, out_a, lse_a, out_b, lse_b, rows, d, R: tl.constexpr, D: tl.constexpr
):  # fmt: skip
    merged(out, lse, out_a, lse_a, out_b, lse_b, rows, d, R, D, "no maximum in lse")


@impostor("merge_parts", diagnosis="lse_is_the_larger")
@triton.jit
def larger_of_both(
    out, lse, out_a, lse_a, out_b, lse_b, rows, d, R: tl.constexpr, D: tl.constexpr
):  # fmt: skip
    merged(out, lse, out_a, lse_a, out_b, lse_b, rows, d, R, D, "larger lse")


@impostor("merge_parts", diagnosis="larger_lse_only")
@triton.jit
def winner_takes_all(
    out, lse, out_a, lse_a, out_b, lse_b, rows, d, R: tl.constexpr, D: tl.constexpr
):  # fmt: skip
    merged(out, lse, out_a, lse_a, out_b, lse_b, rows, d, R, D, "winner")


@impostor("merge_parts", diagnosis="too_many_bytes")
@triton.jit
def one_output_loaded_twice(
    out, lse, out_a, lse_a, out_b, lse_b, rows, d, R: tl.constexpr, D: tl.constexpr
):  # fmt: skip
    merged(out, lse, out_a, lse_a, out_b, lse_b, rows, d, R, D, "twice")


@impostor("merge_parts", diagnosis="reduced_precision")
@triton.jit
def lse_through_float16(
    out, lse, out_a, lse_a, out_b, lse_b, rows, d, R: tl.constexpr, D: tl.constexpr
):  # fmt: skip
    merged(out, lse, out_a, lse_a, out_b, lse_b, rows, d, R, D, "short lse")


# -- flash_forward -----------------------------------------------------------------------------


@triton.jit
def forward(
    out, lse, q, k, v, n, m, d, scale, CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr,
    D: tl.constexpr, FAULT: tl.constexpr,
):  # fmt: skip
    head, first, c = tl.program_id(1), tl.program_id(0) * BQ, tl.arange(0, D)
    i = first + tl.arange(0, BQ)
    h_q, h_k = head, head * m
    if FAULT == "head":
        h_q, h_k = head * 0, head * 0
    if FAULT == "keys of n":
        h_k = head * n
    at_q = (head * n + i)[:, None] * d + c[None, :]
    in_q = (i[:, None] < n) & (c[None, :] < d)
    queries = tl.load(q + (h_q * n + i)[:, None] * d + c[None, :], mask=in_q, other=0.0)
    top = tl.full((BQ,), -float("inf"), tl.float32)
    total, acc = tl.zeros((BQ,), tl.float32), tl.zeros((BQ, D), tl.float32)
    begin, last = 0, m
    if CAUSAL and FAULT != "no skip":
        last = min(m, first + BQ + m - n)
    if CAUSAL and FAULT == "ends early":
        last = min(m, first + BQ)
    if FAULT == "first tile":
        last = min(last, BK)
    if FAULT == "last tile":
        begin = (m - 1) // BK * BK
    if FAULT == "no mask" or FAULT == "top left":
        last = m
    hidden: tl.constexpr = -1e9 if FAULT == "finite" else -float("inf")
    for start in range(begin, last, BK):
        j = start + tl.arange(0, BK)
        at_k = (h_k + j)[:, None] * d + c[None, :]
        in_k = (j[:, None] < m) & (c[None, :] < d)
        keys = tl.load(k + at_k, mask=in_k, other=0.0)
        values = tl.load(v + at_k, mask=in_k, other=0.0)
        if FAULT == "q again":
            queries = tl.load(q + at_q, mask=in_q, other=0.0)
        seen = j[None, :] < m
        if FAULT == "zeros":
            seen = j[None, :] >= 0
        if CAUSAL and FAULT != "no mask":
            if FAULT == "top left":
                seen = seen & (j[None, :] <= i[:, None])
            elif FAULT == "not itself":
                seen = seen & (j[None, :] < i[:, None] + m - n)
            else:
                seen = seen & (j[None, :] <= i[:, None] + m - n)
        if FAULT == "float32":
            s = tl.dot(
                queries.to(tl.float32), tl.trans(keys).to(tl.float32), input_precision="ieee"
            )
        else:
            s = tl.dot(queries, tl.trans(keys))
        if FAULT != "scale":
            s = s * scale
        s = tl.where(seen, s, hidden)
        new = tl.maximum(top, tl.max(s, axis=1))
        safe = tl.where(new == -float("inf"), 0.0, new)
        if FAULT == "nan" or FAULT == "nan in visits":
            safe = new
        p, old = tl.exp(s - safe[:, None]), tl.exp(top - safe)
        share = tl.sum(p, axis=1)
        if FAULT == "short shares":
            share = tl.sum(p.to(tl.float16), axis=1)
        if FAULT == "sum" or FAULT == "neither":
            total = total + share
        else:
            total = total * old + share
        if FAULT == "output" or FAULT == "neither":
            old = tl.full((BQ,), 1.0, tl.float32)
        if FAULT == "float32":
            acc = tl.dot(p, values.to(tl.float32), acc * old[:, None], input_precision="ieee")
        elif FAULT == "float16":
            acc = acc * old[:, None] + tl.dot(p.to(tl.float16), values, out_dtype=tl.float16)
        else:
            acc = tl.dot(p.to(tl.float16), values, acc * old[:, None])
        top = new
    divisor = tl.where(total > 0, total, 1.0)
    if FAULT == "nan":
        divisor = total
    if FAULT == "undivided":
        divisor = tl.full((BQ,), 1.0, tl.float32)
    tl.store(out + at_q, acc / divisor[:, None], mask=in_q)
    log = top + tl.log(total)
    if FAULT == "lse of the sum":
        log = tl.log(total)
    if FAULT == "lse2":
        log = top * 1.4426950408889634 + tl.log2(total)
    if FAULT == "mixed":
        log = top + tl.log2(total)
    if FAULT == "plus":
        log = top + total
    tl.store(lse + head * n + i, log, mask=i < n)


@impostor("flash_forward", diagnosis="nan_for_empty")
@triton.jit
def no_care_for_empty_queries(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    forward(out, lse, q, k, v, n, m, d, scale, CAUSAL, BQ, BK, D, "nan")


@impostor("flash_forward", diagnosis="finite_mask")
@triton.jit
def a_large_negative_number(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    forward(out, lse, q, k, v, n, m, d, scale, CAUSAL, BQ, BK, D, "finite")


@impostor("flash_forward", diagnosis="scale_missing")
@triton.jit
def scale_forgotten(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    forward(out, lse, q, k, v, n, m, d, scale, CAUSAL, BQ, BK, D, "scale")


@impostor("flash_forward", diagnosis="nan_in_visits")
@triton.jit
def care_at_the_end_alone(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    forward(out, lse, q, k, v, n, m, d, scale, CAUSAL, BQ, BK, D, "nan in visits")


@impostor("flash_forward", diagnosis="causal_ignored")
@triton.jit
def every_key_seen(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    forward(out, lse, q, k, v, n, m, d, scale, CAUSAL, BQ, BK, D, "no mask")


@impostor("flash_forward", diagnosis="causal_top_left")
@triton.jit
def mask_from_the_top_left(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    forward(out, lse, q, k, v, n, m, d, scale, CAUSAL, BQ, BK, D, "top left")


@impostor("flash_forward", diagnosis="itself_hidden")
@triton.jit
def strictly_before(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    forward(out, lse, q, k, v, n, m, d, scale, CAUSAL, BQ, BK, D, "not itself")


@impostor("flash_forward", diagnosis="zero_keys_seen")
@triton.jit
def keys_of_zeros(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    forward(out, lse, q, k, v, n, m, d, scale, CAUSAL, BQ, BK, D, "zeros")


@impostor("flash_forward", diagnosis="neither_rescaled")
@triton.jit
def old_sums_kept(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    forward(out, lse, q, k, v, n, m, d, scale, CAUSAL, BQ, BK, D, "neither")


@impostor("flash_forward", diagnosis="output_not_rescaled")
@triton.jit
def old_output_kept(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    forward(out, lse, q, k, v, n, m, d, scale, CAUSAL, BQ, BK, D, "output")


@impostor("flash_forward", diagnosis="sum_not_rescaled")
@triton.jit
def old_sum_kept(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    forward(out, lse, q, k, v, n, m, d, scale, CAUSAL, BQ, BK, D, "sum")


@impostor("flash_forward", diagnosis="first_tile_only")
@triton.jit
def one_tile_of_keys(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    forward(out, lse, q, k, v, n, m, d, scale, CAUSAL, BQ, BK, D, "first tile")


@impostor("flash_forward", diagnosis="last_tile_only")
@triton.jit
def the_last_tile_of_keys(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    forward(out, lse, q, k, v, n, m, d, scale, CAUSAL, BQ, BK, D, "last tile")


@impostor("flash_forward", diagnosis="not_divided")
@triton.jit
def never_divided(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    forward(out, lse, q, k, v, n, m, d, scale, CAUSAL, BQ, BK, D, "undivided")


@impostor("flash_forward", diagnosis="first_head_only")
@triton.jit
def heads_told_apart_in_out_alone(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    forward(out, lse, q, k, v, n, m, d, scale, CAUSAL, BQ, BK, D, "head")


@impostor("flash_forward", diagnosis="queries_for_keys")
@triton.jit
def keys_begin_where_queries_do(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    forward(out, lse, q, k, v, n, m, d, scale, CAUSAL, BQ, BK, D, "keys of n")


@impostor("flash_forward", diagnosis="lse_without_maximum")
@triton.jit
def log_of_the_sum(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    forward(out, lse, q, k, v, n, m, d, scale, CAUSAL, BQ, BK, D, "lse of the sum")


@impostor("flash_forward", diagnosis="lse_base_two")
@triton.jit
def in_base_two(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    forward(out, lse, q, k, v, n, m, d, scale, CAUSAL, BQ, BK, D, "lse2")


@impostor("flash_forward", diagnosis="lse_log_base_two")
@triton.jit
def two_bases(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    forward(out, lse, q, k, v, n, m, d, scale, CAUSAL, BQ, BK, D, "mixed")


@impostor("flash_forward", diagnosis="lse_without_logarithm")
@triton.jit
def no_logarithm(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    forward(out, lse, q, k, v, n, m, d, scale, CAUSAL, BQ, BK, D, "plus")


@impostor("flash_forward", diagnosis="too_many_bytes")
@triton.jit
def hidden_tiles_loaded(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    forward(out, lse, q, k, v, n, m, d, scale, CAUSAL, BQ, BK, D, "no skip")


@impostor("flash_forward", diagnosis="too_many_bytes")
@triton.jit
def queries_loaded_in_each_step(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    forward(out, lse, q, k, v, n, m, d, scale, CAUSAL, BQ, BK, D, "q again")


@impostor("flash_forward", diagnosis="not_compiled_so")
@triton.jit
def without_tensor_cores(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    forward(out, lse, q, k, v, n, m, d, scale, CAUSAL, BQ, BK, D, "float32")


@impostor("flash_forward", diagnosis="not_compiled_so")
@triton.jit
def products_in_float16(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    forward(out, lse, q, k, v, n, m, d, scale, CAUSAL, BQ, BK, D, "float16")


@impostor("flash_forward", diagnosis="loop_ends_early")
@triton.jit
def as_many_keys_as_queries(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    forward(out, lse, q, k, v, n, m, d, scale, CAUSAL, BQ, BK, D, "ends early")


@impostor("flash_forward", diagnosis="reduced_precision")
@triton.jit
def rounded_shares_summed(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    forward(out, lse, q, k, v, n, m, d, scale, CAUSAL, BQ, BK, D, "short shares")


@impostor("flash_forward", diagnosis="max_not_subtracted")
@triton.jit
def exponentials_of_scores(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    head, first, c = tl.program_id(1), tl.program_id(0) * BQ, tl.arange(0, D)
    i = first + tl.arange(0, BQ)
    at_q = (head * n + i)[:, None] * d + c[None, :]
    in_q = (i[:, None] < n) & (c[None, :] < d)
    queries = tl.load(q + at_q, mask=in_q, other=0.0)
    total, acc = tl.zeros((BQ,), tl.float32), tl.zeros((BQ, D), tl.float32)
    last = m
    if CAUSAL:
        last = min(m, first + BQ + m - n)
    for start in range(0, last, BK):
        j = start + tl.arange(0, BK)
        at_k = (head * m + j)[:, None] * d + c[None, :]
        in_k = (j[:, None] < m) & (c[None, :] < d)
        keys = tl.load(k + at_k, mask=in_k, other=0.0)
        values = tl.load(v + at_k, mask=in_k, other=0.0).to(tl.float32)
        seen = j[None, :] < m
        if CAUSAL:
            seen = seen & (j[None, :] <= i[:, None] + m - n)
        p = tl.where(seen, tl.exp(scale * tl.dot(queries, tl.trans(keys))), 0.0)
        total += tl.sum(p, axis=1)
        acc = tl.dot(p, values, acc)
    tl.store(out + at_q, acc / tl.where(total > 0, total, 1.0)[:, None], mask=in_q)
    tl.store(lse + head * n + i, tl.log(total), mask=i < n)


@impostor("flash_forward", diagnosis="out_of_bounds")
@triton.jit
def no_mask_on_keys(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    head, first, c = tl.program_id(1), tl.program_id(0) * BQ, tl.arange(0, D)
    i = first + tl.arange(0, BQ)
    at_q = (head * n + i)[:, None] * d + c[None, :]
    in_q = (i[:, None] < n) & (c[None, :] < d)
    queries = tl.load(q + at_q, mask=in_q, other=0.0)
    total, acc = tl.zeros((BQ,), tl.float32), tl.zeros((BQ, D), tl.float32)
    for start in range(0, m, BK):
        at_k = (head * m + start + tl.arange(0, BK))[:, None] * d + c[None, :]
        p = tl.exp(scale * tl.dot(queries, tl.trans(tl.load(k + at_k))))
        total += tl.sum(p, axis=1)
        acc = tl.dot(p.to(tl.float16), tl.load(v + at_k), acc)
    tl.store(out + at_q, acc / total[:, None], mask=in_q)
    tl.store(lse + head * n + i, tl.log(total), mask=i < n)


@impostor("flash_forward", diagnosis="undefined_lanes")
@triton.jit
def no_other(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    head, first, c = tl.program_id(1), tl.program_id(0) * BQ, tl.arange(0, D)
    i = first + tl.arange(0, BQ)
    at_q = (head * n + i)[:, None] * d + c[None, :]
    in_q = (i[:, None] < n) & (c[None, :] < d)
    queries = tl.load(q + at_q, mask=in_q)
    total, acc = tl.zeros((BQ,), tl.float32), tl.zeros((BQ, D), tl.float32)
    for start in range(0, m, BK):
        j = start + tl.arange(0, BK)
        at_k = (head * m + j)[:, None] * d + c[None, :]
        in_k = (j[:, None] < m) & (c[None, :] < d)
        s = scale * tl.dot(queries, tl.trans(tl.load(k + at_k, mask=in_k)))
        p = tl.where(j[None, :] < m, tl.exp(s), 0.0)
        total += tl.sum(p, axis=1)
        acc = tl.dot(p.to(tl.float16), tl.load(v + at_k, mask=in_k), acc)
    tl.store(out + at_q, acc / total[:, None], mask=in_q)
    tl.store(lse + head * n + i, tl.log(total), mask=i < n)


@impostor("flash_forward", diagnosis="raised")
@triton.jit
def shares_in_float32(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    head, first, c = tl.program_id(1), tl.program_id(0) * BQ, tl.arange(0, D)
    i, j = first + tl.arange(0, BQ), tl.arange(0, BK)
    at_q = (head * n + i)[:, None] * d + c[None, :]
    at_k = (head * m + j)[:, None] * d + c[None, :]
    in_q, in_k = (i[:, None] < n) & (c[None, :] < d), (j[:, None] < m) & (c[None, :] < d)
    queries = tl.load(q + at_q, mask=in_q, other=0.0)
    keys = tl.load(k + at_k, mask=in_k, other=0.0)
    p = tl.exp(scale * tl.dot(queries, tl.trans(keys)))
    tl.store(out + at_q, tl.dot(p, tl.load(v + at_k, mask=in_k, other=0.0)), mask=in_q)


# -- flash_elements ----------------------------------------------------------------------------


def tally(n, m, d, bq, bk, causal, sees):
    """(visits, loaded, stored) when the tile of queries from `first` sees sees(first, end) keys."""
    visits = keys = 0
    for first in range(0, n, bq):
        count = sees(first, min(first + bq, n)) if causal else m
        tiles = -(-max(0, min(m, count)) // bk)
        visits += tiles
        keys += min(m, tiles * bk)
    return visits, n * d + 2 * keys * d, n * d + n


@impostor("flash_elements", diagnosis="causal_ignored")
def every_tile(n, m, d, bq, bk, causal):
    return tally(n, m, d, bq, bk, False, None)


@impostor("flash_elements", diagnosis="causal_top_left")
def from_the_top_left(n, m, d, bq, bk, causal):
    return tally(n, m, d, bq, bk, causal, lambda first, end: end)


@impostor("flash_elements", diagnosis="of_first_row")
def by_the_first_query(n, m, d, bq, bk, causal):
    return tally(n, m, d, bq, bk, causal, lambda first, end: first + 1 + m - n)


@impostor("flash_elements", diagnosis="keys_below_zero")
def negative_visits_and_keys(n, m, d, bq, bk, causal):
    visits = keys = 0
    for first in range(0, n, bq):
        tiles = -(-(min(m, first + bq + m - n) if causal else m) // bk)
        visits += tiles
        keys += min(m, tiles * bk)
    return visits, n * d + 2 * d * keys, n * d + n


@impostor("flash_elements", diagnosis="visits_below_zero")
def negative_visits(n, m, d, bq, bk, causal):
    visits = sum(
        -(-(min(m, min(first + bq, n) + m - n) if causal else m) // bk) for first in range(0, n, bq)
    )
    return visits, *tally(n, m, d, bq, bk, causal, lambda first, end: end + m - n)[1:]


@impostor("flash_elements", diagnosis="whole_tiles_loaded")
def lanes_beyond_the_last_key(n, m, d, bq, bk, causal):
    visits, _, stored = tally(n, m, d, bq, bk, causal, lambda first, end: end + m - n)
    return visits, n * d + 2 * visits * bk * d, stored


@impostor("flash_elements", diagnosis="only_seen_keys")
def cut_at_the_diagonal(n, m, d, bq, bk, causal):
    visits, _, stored = tally(n, m, d, bq, bk, causal, lambda first, end: end + m - n)
    keys = 0
    for first in range(0, n, bq):
        keys += max(0, min(first + bq, n) + m - n) if causal else m
    return visits, n * d + 2 * keys * d, stored


@impostor("flash_elements", diagnosis="keys_once")
def each_key_once(n, m, d, bq, bk, causal):
    visits, _, stored = tally(n, m, d, bq, bk, causal, lambda first, end: end + m - n)
    return visits, n * d + 2 * m * d, stored


@impostor("flash_elements", diagnosis="lse_forgotten")
def output_alone(n, m, d, bq, bk, causal):
    visits, loaded, _ = tally(n, m, d, bq, bk, causal, lambda first, end: end + m - n)
    return visits, loaded, n * d


@impostor("flash_elements", diagnosis="values_forgotten")
def keys_without_values(n, m, d, bq, bk, causal):
    visits, loaded, stored = tally(n, m, d, bq, bk, causal, lambda first, end: end + m - n)
    return visits, (loaded + n * d) // 2, stored


@impostor("flash_elements", diagnosis="half_of_all")
def half_when_causal(n, m, d, bq, bk, causal):
    tiles = -(-n // bq) * -(-m // bk) / (2 if causal else 1)
    loaded = n * d + 2 * d * -(-n // bq) * min(m, -(-m // bk) / 2 * bk)
    full = tally(n, m, d, bq, bk, False, None)
    return (tiles, loaded, n * d + n) if causal else full


@impostor("flash_elements", diagnosis="tiles_exchanged")
def keys_stay_and_queries_pass(n, m, d, bq, bk, causal):
    return tally(n, m, d, bk, bq, causal, lambda first, end: end + m - n)


# -- backward ----------------------------------------------------------------------------------


@triton.jit
def of_queries(
    dq, delta, q, k, v, out, dout, lse, n, m, d, scale, CAUSAL: tl.constexpr, BQ: tl.constexpr,
    BK: tl.constexpr, D: tl.constexpr, FAULT: tl.constexpr,
):  # fmt: skip
    head, first, c = tl.program_id(1), tl.program_id(0) * BQ, tl.arange(0, D)
    i = first + tl.arange(0, BQ)
    from_head = head
    if FAULT == "head":
        from_head = head * 0
    at_out = (head * n + i)[:, None] * d + c[None, :]
    at_q = (from_head * n + i)[:, None] * d + c[None, :]
    in_q = (i[:, None] < n) & (c[None, :] < d)
    queries = tl.load(q + at_q, mask=in_q, other=0.0)
    douts = tl.load(dout + at_q, mask=in_q, other=0.0)
    outs = tl.load(out + at_q, mask=in_q, other=0.0)
    logs = tl.load(lse + from_head * n + i, mask=i < n, other=0.0)
    sums = tl.sum(outs.to(tl.float32) * douts.to(tl.float32), axis=1)
    if FAULT == "mean":
        sums = sums / d
    if FAULT == "short":
        sums = tl.sum(outs * douts, axis=1).to(tl.float32)
    if FAULT == "of out":
        sums = tl.sum(outs.to(tl.float32) * outs.to(tl.float32), axis=1)
    tl.store(delta + head * n + i, sums, mask=i < n)
    acc = tl.zeros((BQ, D), tl.float32)
    begin, last = 0, m
    if CAUSAL and FAULT != "no skip":
        last = min(m, first + BQ + m - n)
    if FAULT == "first tile":
        last = min(last, BK)
    if FAULT == "no mask" or FAULT == "top left":
        last = m
    for start in range(begin, last, BK):
        j = start + tl.arange(0, BK)
        at_k = (from_head * m + j)[:, None] * d + c[None, :]
        in_k = (j[:, None] < m) & (c[None, :] < d)
        keys = tl.load(k + at_k, mask=in_k, other=0.0)
        values = tl.load(v + at_k, mask=in_k, other=0.0)
        if FAULT == "again":
            douts = tl.load(dout + at_q, mask=in_q, other=0.0)
        seen = j[None, :] < m
        if CAUSAL and FAULT != "no mask":
            if FAULT == "top left":
                seen = seen & (j[None, :] <= i[:, None])
            else:
                seen = seen & (j[None, :] <= i[:, None] + m - n)
        s = tl.dot(queries, tl.trans(keys))
        if FAULT != "unscaled":
            s = s * scale
        if FAULT == "no lse":
            p = tl.where(seen, tl.exp(s), 0.0)
        elif FAULT == "nan":
            p = tl.exp(tl.where(seen, s, -float("inf")) - logs[:, None])
        else:
            p = tl.where(seen, tl.exp(s - logs[:, None]), 0.0)
        dp = tl.dot(douts, tl.trans(keys if FAULT == "keys" else values))
        if FAULT == "no delta":
            ds = p * dp
        elif FAULT == "plus":
            ds = p * (dp + sums[:, None])
        else:
            ds = p * (dp - sums[:, None])
        acc = tl.dot(ds.to(tl.float16), keys, acc)
    if FAULT != "scale":
        acc = acc * scale
    if FAULT == "twice":
        acc = acc * scale
    tl.store(dq + at_out, acc, mask=in_q)


@impostor("grad_queries", diagnosis="nan_in_visits")
@triton.jit
def shares_of_nothing(
    dq, delta, q, k, v, out, dout, lse, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_queries(
        dq, delta, q, k, v, out, dout, lse, n, m, d, scale, CAUSAL, BQ, BK, D, "nan",
    )  # fmt: skip


@impostor("grad_queries", diagnosis="delta_missing")
@triton.jit
def softmax_without_its_sum(
    dq, delta, q, k, v, out, dout, lse, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_queries(
        dq, delta, q, k, v, out, dout, lse, n, m, d, scale, CAUSAL, BQ, BK, D, "no delta",
    )  # fmt: skip


@impostor("grad_queries", diagnosis="delta_added")
@triton.jit
def wrong_sign_of_delta(
    dq, delta, q, k, v, out, dout, lse, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_queries(
        dq, delta, q, k, v, out, dout, lse, n, m, d, scale, CAUSAL, BQ, BK, D, "plus",
    )  # fmt: skip


@impostor("grad_queries", diagnosis="scale_missing")
@triton.jit
def no_scale_in_front(
    dq, delta, q, k, v, out, dout, lse, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_queries(
        dq, delta, q, k, v, out, dout, lse, n, m, d, scale, CAUSAL, BQ, BK, D, "scale",
    )  # fmt: skip


@impostor("grad_queries", diagnosis="scale_twice")
@triton.jit
def scale_squared(
    dq, delta, q, k, v, out, dout, lse, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_queries(
        dq, delta, q, k, v, out, dout, lse, n, m, d, scale, CAUSAL, BQ, BK, D, "twice",
    )  # fmt: skip


@impostor("grad_queries", diagnosis="scores_unscaled")
@triton.jit
def no_scale_in_the_scores(
    dq, delta, q, k, v, out, dout, lse, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_queries(
        dq, delta, q, k, v, out, dout, lse, n, m, d, scale, CAUSAL, BQ, BK, D, "unscaled",
    )  # fmt: skip


@impostor("grad_queries", diagnosis="lse_ignored")
@triton.jit
def shares_without_lse(
    dq, delta, q, k, v, out, dout, lse, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_queries(
        dq, delta, q, k, v, out, dout, lse, n, m, d, scale, CAUSAL, BQ, BK, D, "no lse",
    )  # fmt: skip


@impostor("grad_queries", diagnosis="keys_for_values")
@triton.jit
def keys_in_place_of_values(
    dq, delta, q, k, v, out, dout, lse, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_queries(
        dq, delta, q, k, v, out, dout, lse, n, m, d, scale, CAUSAL, BQ, BK, D, "keys",
    )  # fmt: skip


@impostor("grad_queries", diagnosis="causal_ignored")
@triton.jit
def sees_everything(
    dq, delta, q, k, v, out, dout, lse, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_queries(
        dq, delta, q, k, v, out, dout, lse, n, m, d, scale, CAUSAL, BQ, BK, D, "no mask",
    )  # fmt: skip


@impostor("grad_queries", diagnosis="causal_top_left")
@triton.jit
def sees_from_the_top_left(
    dq, delta, q, k, v, out, dout, lse, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_queries(
        dq, delta, q, k, v, out, dout, lse, n, m, d, scale, CAUSAL, BQ, BK, D, "top left",
    )  # fmt: skip


@impostor("grad_queries", diagnosis="first_head_only")
@triton.jit
def always_head_zero(
    dq, delta, q, k, v, out, dout, lse, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_queries(
        dq, delta, q, k, v, out, dout, lse, n, m, d, scale, CAUSAL, BQ, BK, D, "head",
    )  # fmt: skip


@impostor("grad_queries", diagnosis="first_tile_only")
@triton.jit
def first_keys_only(
    dq, delta, q, k, v, out, dout, lse, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_queries(
        dq, delta, q, k, v, out, dout, lse, n, m, d, scale, CAUSAL, BQ, BK, D, "first tile",
    )  # fmt: skip


@impostor("grad_queries", diagnosis="delta_is_a_mean")
@triton.jit
def a_mean_for_delta(
    dq, delta, q, k, v, out, dout, lse, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_queries(
        dq, delta, q, k, v, out, dout, lse, n, m, d, scale, CAUSAL, BQ, BK, D, "mean",
    )  # fmt: skip


@impostor("grad_queries", diagnosis="delta_of_out")
@triton.jit
def squares_of_out(
    dq, delta, q, k, v, out, dout, lse, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_queries(
        dq, delta, q, k, v, out, dout, lse, n, m, d, scale, CAUSAL, BQ, BK, D, "of out",
    )  # fmt: skip


@impostor("grad_queries", diagnosis="too_many_bytes")
@triton.jit
def all_tiles_of_keys(
    dq, delta, q, k, v, out, dout, lse, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_queries(
        dq, delta, q, k, v, out, dout, lse, n, m, d, scale, CAUSAL, BQ, BK, D, "no skip",
    )  # fmt: skip


@impostor("grad_queries", diagnosis="too_many_bytes")
@triton.jit
def dout_in_each_step(
    dq, delta, q, k, v, out, dout, lse, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_queries(
        dq, delta, q, k, v, out, dout, lse, n, m, d, scale, CAUSAL, BQ, BK, D, "again",
    )  # fmt: skip


@impostor("grad_queries", diagnosis="reduced_precision")
@triton.jit
def delta_in_float16(
    dq, delta, q, k, v, out, dout, lse, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_queries(
        dq, delta, q, k, v, out, dout, lse, n, m, d, scale, CAUSAL, BQ, BK, D, "short",
    )  # fmt: skip


@triton.jit
def of_keys(
    dk, dv, q, k, v, dout, lse, delta, n, m, d, scale, CAUSAL: tl.constexpr, BQ: tl.constexpr,
    BK: tl.constexpr, D: tl.constexpr, FAULT: tl.constexpr,
):  # fmt: skip
    head, first, c = tl.program_id(1), tl.program_id(0) * BK, tl.arange(0, D)
    j = first + tl.arange(0, BK)
    from_head = head
    if FAULT == "head":
        from_head = head * 0
    at_out = (head * m + j)[:, None] * d + c[None, :]
    at_k = (from_head * m + j)[:, None] * d + c[None, :]
    in_k = (j[:, None] < m) & (c[None, :] < d)
    keys = tl.load(k + at_k, mask=in_k, other=0.0)
    values = tl.load(v + at_k, mask=in_k, other=0.0)
    acc_k, acc_v = tl.zeros((BK, D), tl.float32), tl.zeros((BK, D), tl.float32)
    begin, end = 0, n
    if CAUSAL and FAULT != "no skip" and FAULT != "no mask" and FAULT != "top left":
        begin = max(0, first + n - m) // BQ * BQ
    if FAULT == "first tile":
        begin, end = 0, min(n, BQ)
    if FAULT == "last tile":
        begin = (n - 1) // BQ * BQ
    for start in range(begin, end, BQ):
        i = start + tl.arange(0, BQ)
        at_q = (from_head * n + i)[:, None] * d + c[None, :]
        in_q = (i[:, None] < n) & (c[None, :] < d)
        queries = tl.load(q + at_q, mask=in_q, other=0.0)
        douts = tl.load(dout + at_q, mask=in_q, other=0.0)
        logs = tl.load(lse + from_head * n + i, mask=i < n, other=0.0)
        sums = tl.load(delta + from_head * n + i, mask=i < n, other=0.0)
        if FAULT == "again":
            values = tl.load(v + at_k, mask=in_k, other=0.0)
        seen = (i[:, None] < n) & (j[None, :] < m)
        if CAUSAL and FAULT != "no mask":
            if FAULT == "top left":
                seen = seen & (j[None, :] <= i[:, None])
            elif FAULT == "not itself":
                seen = seen & (j[None, :] < i[:, None] + m - n)
            else:
                seen = seen & (j[None, :] <= i[:, None] + m - n)
        s = tl.dot(queries, tl.trans(keys))
        if FAULT != "unscaled":
            s = s * scale
        if FAULT == "no lse":
            p = tl.where(seen, tl.exp(s), 0.0)
        elif FAULT == "nan":
            p = tl.exp(tl.where(seen, s, -float("inf")) - logs[:, None])
        else:
            p = tl.where(seen, tl.exp(s - logs[:, None]), 0.0)
        dp = tl.dot(douts, tl.trans(values))
        ds = p * dp if FAULT == "no delta" else p * (dp - sums[:, None])
        share = ds if FAULT == "ds" else p
        acc_v = tl.dot(tl.trans(share).to(tl.float16), douts, acc_v)
        acc_k = tl.dot(tl.trans(ds).to(tl.float16), queries, acc_k)
    if FAULT != "scale":
        acc_k = acc_k * scale
    if FAULT == "twice":
        acc_k = acc_k * scale
    tl.store(dv + at_out, acc_v, mask=in_k)
    tl.store(dk + at_out, acc_k, mask=in_k)


@impostor("grad_keys", diagnosis="nan_in_visits")
@triton.jit
def empty_queries_spread_nan(
    dk, dv, q, k, v, dout, lse, delta, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_keys(
        dk, dv, q, k, v, dout, lse, delta, n, m, d, scale, CAUSAL, BQ, BK, D, "nan",
    )  # fmt: skip


@impostor("grad_keys", diagnosis="delta_missing")
@triton.jit
def dp_as_it_is(
    dk, dv, q, k, v, dout, lse, delta, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_keys(
        dk, dv, q, k, v, dout, lse, delta, n, m, d, scale, CAUSAL, BQ, BK, D, "no delta",
    )  # fmt: skip


@impostor("grad_keys", diagnosis="scale_missing")
@triton.jit
def keys_unscaled(
    dk, dv, q, k, v, dout, lse, delta, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_keys(
        dk, dv, q, k, v, dout, lse, delta, n, m, d, scale, CAUSAL, BQ, BK, D, "scale",
    )  # fmt: skip


@impostor("grad_keys", diagnosis="scale_twice")
@triton.jit
def keys_scaled_twice(
    dk, dv, q, k, v, dout, lse, delta, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_keys(
        dk, dv, q, k, v, dout, lse, delta, n, m, d, scale, CAUSAL, BQ, BK, D, "twice",
    )  # fmt: skip


@impostor("grad_keys", diagnosis="scores_unscaled")
@triton.jit
def other_shares(
    dk, dv, q, k, v, dout, lse, delta, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_keys(
        dk, dv, q, k, v, dout, lse, delta, n, m, d, scale, CAUSAL, BQ, BK, D, "unscaled",
    )  # fmt: skip


@impostor("grad_keys", diagnosis="lse_ignored")
@triton.jit
def not_normalised(
    dk, dv, q, k, v, dout, lse, delta, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_keys(
        dk, dv, q, k, v, dout, lse, delta, n, m, d, scale, CAUSAL, BQ, BK, D, "no lse",
    )  # fmt: skip


@impostor("grad_keys", diagnosis="causal_ignored")
@triton.jit
def seen_by_all(
    dk, dv, q, k, v, dout, lse, delta, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_keys(
        dk, dv, q, k, v, dout, lse, delta, n, m, d, scale, CAUSAL, BQ, BK, D, "no mask",
    )  # fmt: skip


@impostor("grad_keys", diagnosis="causal_top_left")
@triton.jit
def other_corner(
    dk, dv, q, k, v, dout, lse, delta, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_keys(
        dk, dv, q, k, v, dout, lse, delta, n, m, d, scale, CAUSAL, BQ, BK, D, "top left",
    )  # fmt: skip


@impostor("grad_keys", diagnosis="itself_hidden")
@triton.jit
def diagonal_hidden(
    dk, dv, q, k, v, dout, lse, delta, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_keys(
        dk, dv, q, k, v, dout, lse, delta, n, m, d, scale, CAUSAL, BQ, BK, D, "not itself",
    )  # fmt: skip


@impostor("grad_keys", diagnosis="first_head_only")
@triton.jit
def one_head_for_all(
    dk, dv, q, k, v, dout, lse, delta, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_keys(
        dk, dv, q, k, v, dout, lse, delta, n, m, d, scale, CAUSAL, BQ, BK, D, "head",
    )  # fmt: skip


@impostor("grad_keys", diagnosis="first_tile_only")
@triton.jit
def first_queries_only(
    dk, dv, q, k, v, dout, lse, delta, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_keys(
        dk, dv, q, k, v, dout, lse, delta, n, m, d, scale, CAUSAL, BQ, BK, D, "first tile",
    )  # fmt: skip


@impostor("grad_keys", diagnosis="last_tile_only")
@triton.jit
def last_queries_only(
    dk, dv, q, k, v, dout, lse, delta, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_keys(
        dk, dv, q, k, v, dout, lse, delta, n, m, d, scale, CAUSAL, BQ, BK, D, "last tile",
    )  # fmt: skip


@impostor("grad_keys", diagnosis="dv_from_ds")
@triton.jit
def values_by_ds(
    dk, dv, q, k, v, dout, lse, delta, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_keys(
        dk, dv, q, k, v, dout, lse, delta, n, m, d, scale, CAUSAL, BQ, BK, D, "ds",
    )  # fmt: skip


@impostor("grad_keys", diagnosis="too_many_bytes")
@triton.jit
def all_tiles_of_queries(
    dk, dv, q, k, v, dout, lse, delta, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_keys(
        dk, dv, q, k, v, dout, lse, delta, n, m, d, scale, CAUSAL, BQ, BK, D, "no skip",
    )  # fmt: skip


@impostor("grad_keys", diagnosis="too_many_bytes")
@triton.jit
def values_in_each_step(
    dk, dv, q, k, v, dout, lse, delta, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    of_keys(
        dk, dv, q, k, v, dout, lse, delta, n, m, d, scale, CAUSAL, BQ, BK, D, "again",
    )  # fmt: skip


@impostor("grad_keys", diagnosis="race")
@triton.jit
def each_program_all_keys(
    dk, dv, q, k, v, dout, lse, delta, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    head, c = tl.program_id(1), tl.arange(0, D)
    for first in range(0, m, BK):
        j = first + tl.arange(0, BK)
        at_k = (head * m + j)[:, None] * d + c[None, :]
        in_k = (j[:, None] < m) & (c[None, :] < d)
        keys = tl.load(k + at_k, mask=in_k, other=0.0)
        values = tl.load(v + at_k, mask=in_k, other=0.0)
        acc_k, acc_v = tl.zeros((BK, D), tl.float32), tl.zeros((BK, D), tl.float32)
        for start in range(0, n, BQ):
            i = start + tl.arange(0, BQ)
            at_q = (head * n + i)[:, None] * d + c[None, :]
            in_q = (i[:, None] < n) & (c[None, :] < d)
            queries = tl.load(q + at_q, mask=in_q, other=0.0)
            douts = tl.load(dout + at_q, mask=in_q, other=0.0)
            logs = tl.load(lse + head * n + i, mask=i < n, other=0.0)
            sums = tl.load(delta + head * n + i, mask=i < n, other=0.0)
            seen = (i[:, None] < n) & (j[None, :] < m)
            if CAUSAL:
                seen = seen & (j[None, :] <= i[:, None] + m - n)
            s = scale * tl.dot(queries, tl.trans(keys))
            p = tl.where(seen, tl.exp(s - logs[:, None]), 0.0)
            ds = p * (tl.dot(douts, tl.trans(values)) - sums[:, None])
            acc_v = tl.dot(tl.trans(p).to(tl.float16), douts, acc_v)
            acc_k = tl.dot(tl.trans(ds).to(tl.float16), queries, acc_k)
        tl.store(dv + at_k, acc_v, mask=in_k)
        tl.store(dk + at_k, scale * acc_k, mask=in_k)
