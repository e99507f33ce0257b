"""Unusual but right answers to the lab t2_10_attention."""

from __future__ import annotations

from tests.variants import variant
from warpwise.tiles import tl, triton


@variant("attention_elements")
def kernel_by_kernel(heads, n, m, d):
    q = out = n * d
    k = v = m * d
    s = p = n * m
    moved = (q + k + s) + (s + p) + (p + v + out)
    return [heads * moved, heads * (q + k + v + p), heads * (q + k + v + out + n)]


@variant("merge_parts")
@triton.jit
def by_a_sigmoid(out, lse, out_a, lse_a, out_b, lse_b, rows, d, R: tl.constexpr, D: tl.constexpr):
    r = tl.program_id(0) * R + tl.arange(0, R)
    c = tl.arange(0, D)[None, :]
    at, inside = r[:, None] * d + c, (r[:, None] < rows) & (c < d)
    a = tl.load(lse_a + r, mask=r < rows, other=-float("inf"))
    b = tl.load(lse_b + r, mask=r < rows, other=-float("inf"))
    both = (a == -float("inf")) & (b == -float("inf"))
    share = tl.where(both, 0.0, 1.0 / (1.0 + tl.exp(b - a)))
    u, v = tl.load(out_a + at, mask=inside), tl.load(out_b + at, mask=inside)
    tl.store(out + at, v + share[:, None] * (u - v), mask=inside)
    gap = tl.where(both, 0.0, -tl.abs(a - b))
    tl.store(lse + r, tl.maximum(a, b) + tl.log(1.0 + tl.exp(gap)), mask=r < rows)


@variant("merge_parts")
@triton.jit
def by_the_merged_lse(
    out, lse, out_a, lse_a, out_b, lse_b, rows, d, R: tl.constexpr, D: tl.constexpr
):  # fmt: skip
    r, c = tl.program_id(0) * R + tl.arange(0, R), tl.arange(0, D)
    at, inside = r[:, None] * d + c[None, :], (r[:, None] < rows) & (c[None, :] < d)
    a = tl.load(lse_a + r, mask=r < rows, other=0.0)
    b = tl.load(lse_b + r, mask=r < rows, other=0.0)
    top = tl.maximum(tl.maximum(a, b), -1e30)  # finite, so that nothing is -inf - -inf
    log = top + tl.log(tl.exp(a - top) + tl.exp(b - top))
    base = tl.where(log == -float("inf"), 0.0, log)
    total = tl.load(out_a + at, mask=inside) * tl.exp(a - base)[:, None]
    total += tl.load(out_b + at, mask=inside) * tl.exp(b - base)[:, None]
    tl.store(out + at, total, mask=inside)
    tl.store(lse + r, log, mask=r < rows)


@variant("flash_forward")
@triton.jit
def in_powers_of_two(
    out, lse, q, k, v, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    head, first, c = tl.program_id(1), tl.program_id(0) * BQ, tl.arange(0, D)
    i = first + tl.arange(0, BQ)
    in_q = (i[:, None] < n) & (c[None, :] < d)
    place = i[:, None] * d + c[None, :]
    queries = tl.load(q + head * n * d + place, mask=in_q, other=0.0)
    top = tl.full((BQ,), -1e30, tl.float32)  # finite, and below every score
    total, acc = tl.zeros((BQ,), tl.float32), tl.zeros((BQ, D), tl.float32)
    sees = tl.minimum(m, first + BQ + m - n) if CAUSAL else m
    j = tl.arange(0, BK)
    while tl.min(j, axis=0) < sees:
        in_k = (j[:, None] < m) & (c[None, :] < d)
        at = head * m * d + j[:, None] * d + c[None, :]
        keys = tl.load(k + at, mask=in_k, other=0.0)
        s = tl.dot(queries, keys.T) * (scale * 1.4426950408889634)
        hidden = j[None, :] >= m
        if CAUSAL:
            hidden |= j[None, :] > i[:, None] + (m - n)
        s = tl.where(hidden, -float("inf"), s)
        new = tl.maximum(top, tl.max(s, 1))
        p = tl.exp2(s - new[:, None])
        old = tl.exp2(top - new)
        total = total * old + tl.sum(p, 1)
        acc *= old[:, None]
        acc += tl.dot(p.to(v.dtype.element_ty), tl.load(v + at, mask=in_k, other=0.0))
        top = new
        j += BK
    share = tl.where(total == 0, 0.0, 1.0 / total)
    log = tl.where(total == 0, -float("inf"), (top + tl.log2(total)) * 0.6931471805599453)
    tl.store(out + head * n * d + place, (acc * share[:, None]).to(tl.float16), mask=in_q)
    tl.store(lse + head * n + i, log, mask=i < n)


@variant("flash_forward")
@triton.jit
def scores_turned(
    o, log, qs, ks, vs, rows, cols, width, factor,
    MASKED: tl.constexpr, Q: tl.constexpr, K: tl.constexpr, W: tl.constexpr,
):  # fmt: skip
    """A tile of keys by queries; keys from the last tile to the first; divided as it goes."""
    h, c = tl.program_id(1), tl.arange(0, W)
    begin = tl.program_id(0) * Q
    i = begin + tl.arange(0, Q)
    at_q = (h * rows + i)[None, :] * width + c[:, None]
    in_q = (i[None, :] < rows) & (c[:, None] < width)
    queries = tl.load(qs + at_q, mask=in_q, other=0.0)
    lse = tl.full((Q,), -float("inf"), tl.float32)
    acc = tl.zeros((W, Q), tl.float32)
    last = cols
    if MASKED:
        last = min(cols, min(begin + Q, rows) + cols - rows)
    steps = (max(last, 0) + K - 1) // K
    for back in range(0, steps):
        j = (steps - 1 - back) * K + tl.arange(0, K)
        in_k = (j[:, None] < cols) & (c[None, :] < width)
        at_k = (h * cols + j)[:, None] * width + c[None, :]
        s = tl.dot(tl.load(ks + at_k, mask=in_k, other=0.0), queries) * factor
        s = tl.where(j[:, None] < cols, s, -float("inf"))
        if MASKED:
            s = tl.where(j[:, None] <= i[None, :] + cols - rows, s, -float("inf"))
        top = tl.maximum(lse, tl.max(s, axis=0))
        safe = tl.where(top == -float("inf"), 0.0, top)
        both = tl.exp(lse - safe) + tl.sum(tl.exp(s - safe[None, :]), axis=0)
        merged = safe + tl.log(both)
        base = tl.where(merged == -float("inf"), 0.0, merged)
        p = tl.exp(s - base[None, :]).to(tl.float16)
        values = tl.load(vs + at_k, mask=in_k, other=0.0)
        acc = acc * tl.exp(lse - base)[None, :] + tl.dot(tl.trans(values), p)
        lse = merged
    tl.store(o + at_q, acc, mask=in_q)
    tl.store(log + h * rows + i, lse, mask=i < rows)


@variant("flash_elements")
def key_tile_by_key_tile(n, m, d, bq, bk, causal):
    visits = loaded = 0
    for left in range(0, m, bk):
        first = max(0, left + n - m) if causal else 0  # the first query that sees key `left`
        tiles = max(0, -(-n // bq) - first // bq) if first < n else 0
        visits += tiles
        loaded += tiles * (min(left + bk, m) - left)
    return visits, (n + 2 * loaded) * d, n * (d + 1)


@variant("flash_elements")
def no_end_but_m(n, m, d, bq, bk, causal):
    visits = keys = 0
    for first in range(0, n, bq):
        count = -(-max(0, min(m, first + bq + m - n) if causal else m) // bk)
        visits, keys = visits + count, keys + min(m, count * bk)
    return [visits, d * (n + 2 * keys), n * d + n]


@variant("grad_queries")
@triton.jit
def scale_inside_and_delta_late(
    dq, delta, q, k, v, out, dout, lse, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """dS k and P k as two sums; delta is subtracted at the end."""
    head, first, c = tl.program_id(1), tl.program_id(0) * BQ, tl.arange(0, D)
    i = first + tl.arange(0, BQ)
    at_q, in_q = (head * n + i)[:, None] * d + c[None, :], (i[:, None] < n) & (c[None, :] < d)
    queries = tl.load(q + at_q, mask=in_q, other=0.0)
    douts = tl.load(dout + at_q, mask=in_q, other=0.0)
    log = tl.load(lse + head * n + i, mask=i < n, other=float("inf"))
    log = tl.where(log == -float("inf"), float("inf"), log)  # exp(s - inf) is 0
    sums = tl.sum(tl.load(out + at_q, mask=in_q, other=0.0).to(tl.float32) * douts, axis=1)
    acc = tl.zeros((BQ, D), tl.float32)
    for start in range(0, min(m, first + BQ + m - n) if CAUSAL else m, BK):
        j = start + tl.arange(0, BK)
        at_k, in_k = (head * m + j)[:, None] * d + c[None, :], (j[:, None] < m) & (c[None, :] < d)
        keys = tl.load(k + at_k, mask=in_k, other=0.0)
        values = tl.load(v + at_k, mask=in_k, other=0.0)
        s = scale * tl.dot(queries, keys.T) - log[:, None]
        if CAUSAL:
            s = tl.where(j[None, :] <= i[:, None] + m - n, s, -float("inf"))
        ds = tl.exp(s) * (tl.dot(douts, values.T) - sums[:, None]) * scale
        acc += tl.dot(ds, keys.to(tl.float32))
    tl.store(delta + head * n + i, sums, mask=i < n)
    tl.store(dq + at_q, acc.to(tl.float16), mask=in_q)


@variant("grad_keys")
@triton.jit
def tiles_turned(
    dk, dv, q, k, v, dout, lse, delta, n, m, d, scale,
    CAUSAL: tl.constexpr, BQ: tl.constexpr, BK: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Everything as keys by queries, from the last tile of queries to the first."""
    head, first, c = tl.program_id(1), tl.program_id(0) * BK, tl.arange(0, D)
    j = first + tl.arange(0, BK)
    at_k, in_k = (head * m + j)[:, None] * d + c[None, :], (j[:, None] < m) & (c[None, :] < d)
    keys = tl.load(k + at_k, mask=in_k, other=0.0)
    values = tl.load(v + at_k, mask=in_k, other=0.0)
    to_k, to_v = tl.zeros((BK, D), tl.float32), tl.zeros((BK, D), tl.float32)
    tiles = tl.cdiv(n, BQ)
    least = max(0, first + n - m) // BQ if CAUSAL else 0
    for back in range(0, tiles - least):
        i = (tiles - 1 - back) * BQ + tl.arange(0, BQ)
        at_q, in_q = (head * n + i)[:, None] * d + c[None, :], (i[:, None] < n) & (c[None, :] < d)
        queries = tl.load(q + at_q, mask=in_q, other=0.0)
        douts = tl.load(dout + at_q, mask=in_q, other=0.0)
        log = tl.load(lse + head * n + i, mask=i < n, other=float("inf"))
        sums = tl.load(delta + head * n + i, mask=i < n, other=0.0)
        p = tl.exp(scale * tl.dot(keys, queries.T) - log[None, :])
        if CAUSAL:
            p = tl.where(j[:, None] <= i[None, :] + m - n, p, 0.0)
        to_v += tl.dot(p.to(tl.float16), douts)
        ds = p * (tl.dot(values, douts.T) - sums[None, :])
        to_k += tl.dot(ds.to(tl.float16), queries)
    tl.store(dk + at_k, to_k * scale, mask=in_k)
    tl.store(dv + at_k, to_v, mask=in_k)
