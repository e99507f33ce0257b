"""FlashAttention forward and backward in Triton, for the tests of tiles."""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def forward(
    OUT, LSE, Q, K, V, rows, cols, scale, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr
):  # fmt: skip
    r, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    q = tl.load(Q + r[:, None] * D + d[None, :], mask=r[:, None] < rows, other=0.0)
    top = tl.full((BM,), -float("inf"), tl.float32)
    total = tl.zeros((BM,), tl.float32)
    out = tl.zeros((BM, D), tl.float32)
    for start in range(0, cols, BN):
        c = start + tl.arange(0, BN)
        inside = c[None, :] < cols
        k = tl.load(K + c[:, None] * D + d[None, :], mask=c[:, None] < cols, other=0.0)
        v = tl.load(V + c[:, None] * D + d[None, :], mask=c[:, None] < cols, other=0.0)
        s = tl.where(inside, tl.dot(q, tl.trans(k)) * scale, -float("inf"))
        higher = tl.maximum(top, tl.max(s, axis=1))
        p = tl.exp(s - higher[:, None])
        keep = tl.exp(top - higher)
        total = total * keep + tl.sum(p, axis=1)
        out = out * keep[:, None] + tl.dot(p.to(v.dtype), v)
        top = higher
    tl.store(OUT + r[:, None] * D + d[None, :], out / total[:, None], mask=r[:, None] < rows)
    tl.store(LSE + r, top + tl.log(total), mask=r < rows)


@triton.jit
def backward_kv(
    DK, DV, Q, K, V, DO, LSE, DELTA, rows, cols, scale,
    D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
):  # fmt: skip
    c, d = tl.program_id(0) * BN + tl.arange(0, BN), tl.arange(0, D)
    k = tl.load(K + c[:, None] * D + d[None, :], mask=c[:, None] < cols, other=0.0)
    v = tl.load(V + c[:, None] * D + d[None, :], mask=c[:, None] < cols, other=0.0)
    dk, dv = tl.zeros((BN, D), tl.float32), tl.zeros((BN, D), tl.float32)
    for start in range(0, rows, BM):
        r = start + tl.arange(0, BM)
        q = tl.load(Q + r[:, None] * D + d[None, :], mask=r[:, None] < rows, other=0.0)
        do = tl.load(DO + r[:, None] * D + d[None, :], mask=r[:, None] < rows, other=0.0)
        lse = tl.load(LSE + r, mask=r < rows, other=float("inf"))
        delta = tl.load(DELTA + r, mask=r < rows, other=0.0)
        p = tl.exp(tl.dot(q, tl.trans(k)) * scale - lse[:, None])
        dv += tl.dot(tl.trans(p), do)
        ds = p * (tl.dot(do, tl.trans(v)) - delta[:, None]) * scale
        dk += tl.dot(tl.trans(ds), q)
    tl.store(DK + c[:, None] * D + d[None, :], dk, mask=c[:, None] < cols)
    tl.store(DV + c[:, None] * D + d[None, :], dv, mask=c[:, None] < cols)
