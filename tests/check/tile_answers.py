"""Exercises on Triton kernels for the tests of checks, with right and wrong answers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import triton
import triton.language as tl

from tests.tiles.kernels import add, add_mask_too_wide, add_unmasked, matmul, softmax
from warpwise.check import Case, CompiledFact, Tolerance, Traffic, TritonSpec, cases

BLOCK = 32


def add_case(n: int, rng: np.random.Generator) -> Case:
    out, x, y = np.zeros(n, np.float32), cases.values(rng, n), cases.values(rng, n)
    args = {"out": out, "x": x, "y": y, "n": n, "BLOCK": BLOCK}
    return Case(args, triton.cdiv(n, BLOCK), BLOCK, f"n = {n}")


def add_cases(rng: np.random.Generator, level: cases.Level) -> Iterator[Case]:
    for n in cases.sizes(BLOCK, level, rng):
        yield add_case(n, rng)


def sums(case: Case) -> dict[str, np.ndarray]:
    return {"out": case.args["x"].astype("f8") + case.args["y"]}


ADD = TritonSpec(
    "add", "t0", 2, ("out",), add_cases, sums,
    traffic=(
        Traffic("loaded", lambda case: 8 * case.args["n"]),
        Traffic("stored", lambda case: 4 * case.args["n"]),
    ),
    counted=lambda: add_case(1000, np.random.default_rng(0)),
)  # fmt: skip


def softmax_case(rows: int, cols: int, gap: int, rng: np.random.Generator) -> Case:
    x = (rng.normal(size=(rows, cols + gap)) * 3).astype(np.float32)[:, :cols]
    out = np.zeros((rows, cols + gap), np.float32)[:, :cols]
    step = cols + gap
    block = triton.next_power_of_2(max(cols, 1))
    args = {"out": out, "x": x, "cols": cols, "row_x": step, "row_out": step, "BLOCK": block}
    return Case(args, (rows,), (block, 1), f"{rows} x {cols}")


def softmax_cases(rng: np.random.Generator, level: cases.Level) -> Iterator[Case]:
    for rows, cols, gap in ((1, 1, 0), (2, 31, 0), (3, 32, 0), (5, 33, 0), (3, 7, 5), (0, 4, 0)):
        yield softmax_case(rows, cols, gap, rng)
    large = softmax_case(2, 33, 0, rng)
    large.args["x"][...] += 1e4
    yield large


def softmaxed(case: Case) -> dict[str, np.ndarray]:
    x = case.args["x"].astype("f8")
    powers = np.exp(x - x.max(axis=1, keepdims=True, initial=-np.inf))
    return {"out": powers / powers.sum(axis=1, keepdims=True)}


SOFTMAX = TritonSpec("softmax", "t0", 3, ("out",), softmax_cases, softmaxed)


def matmul_case(
    m: int, n: int, k: int, rng: np.random.Generator, dtype: str = "float16", turned: bool = False
) -> Case:
    a = rng.normal(size=(m, k)).astype(dtype)
    b = rng.normal(size=(n, k)).astype(dtype).T if turned else rng.normal(size=(k, n)).astype(dtype)
    c = np.zeros((m, n), np.float32)
    steps = [step // one.itemsize for one in (a, b, c) for step in one.strides]
    names = ("am", "ak", "bk", "bn", "cm", "cn")
    args = {
        "C": c, "A": a, "B": b, "M": m, "N": n, "K": k, **dict(zip(names, steps, strict=True)),
        "BM": 16, "BN": 16, "BK": 16,
    }  # fmt: skip
    grid = (triton.cdiv(m, 16), triton.cdiv(n, 16))
    return Case(args, grid, (16, 16), f"{m} x {n} x {k}")


def matmul_cases(rng: np.random.Generator, level: cases.Level) -> Iterator[Case]:
    for m, n, k in ((1, 1, 1), (16, 16, 16), (15, 17, 31), (16, 16, 48), (33, 19, 40)):
        yield matmul_case(m, n, k, rng)
    yield matmul_case(18, 17, 20, rng, turned=True)
    yield matmul_case(16, 16, 400, rng)


def product(case: Case) -> dict[str, np.ndarray]:
    return {"C": case.args["A"].astype("f8") @ case.args["B"].astype("f8")}


def _no_matrix_instruction(code: object) -> str | None:
    if any(name.startswith("mma.sync") for name in code.matrix):
        return None
    return f"No mma.sync for {code.architecture}: the product runs on CUDA cores."


MATMUL = TritonSpec(
    "matmul", "t0", 4, ("C",), matmul_cases, product,
    tolerance={"float32": Tolerance(1e-4, 1e-4)},
    compiled=(CompiledFact("sm_80", _no_matrix_instruction),),
    counted=lambda: matmul_case(32, 32, 32, np.random.default_rng(0)),
)  # fmt: skip


def norm_case(rows: int, cols: int, rng: np.random.Generator) -> Case:
    x = (rng.normal(size=(rows, cols)) + 2).astype(np.float32)
    out = np.zeros_like(x)
    block = triton.next_power_of_2(cols)
    args = {
        "out": out, "x": x, "w": cases.values(rng, cols), "b": cases.values(rng, cols),
        "cols": cols, "eps": 1e-5, "BLOCK": block,
    }  # fmt: skip
    return Case(args, rows, (block, 1), f"{rows} x {cols}")


def norm_cases(rng: np.random.Generator, level: cases.Level) -> Iterator[Case]:
    for rows, cols in ((1, 2), (2, 31), (3, 32), (4, 33), (2, 127)):
        yield norm_case(rows, cols, rng)


def normed(case: Case) -> dict[str, np.ndarray]:
    x = case.args["x"].astype("f8")
    centred = x - x.mean(axis=1, keepdims=True)
    scale = 1 / np.sqrt((centred**2).mean(axis=1, keepdims=True) + case.args["eps"])
    return {"out": centred * scale * case.args["w"] + case.args["b"]}


def _unmasked_variance(case: Case) -> dict[str, np.ndarray]:
    x, cols = case.args["x"].astype("f8"), case.args["cols"]
    mean = x.mean(axis=1, keepdims=True)
    more = (case.args["BLOCK"] - cols) * mean**2  # lanes beyond the row are 0 - mean
    scale = 1 / np.sqrt((((x - mean) ** 2).sum(axis=1, keepdims=True) + more) / cols + 1e-5)
    return {"out": (x - mean) * scale * case.args["w"] + case.args["b"]}


NORM = TritonSpec(
    "layer_norm", "t0", 3, ("out",), norm_cases, normed,
    tolerance={"float32": Tolerance(1e-5, 1e-5)},
    suspects={"tail_in_variance": _unmasked_variance},
    causes={"tail_in_variance": "Lanes beyond the row count in the variance: 0 - mean is not 0."},
    hints={"tail_in_variance": ("What is x - mean where x is masked off?", "Use tl.where.")},
)  # fmt: skip


@triton.jit
def renamed(o, a, b, count, T: tl.constexpr):
    """Other names, offsets from a moved pointer."""
    base = tl.program_id(0) * T
    lane = tl.arange(0, T)
    left = count - base
    s = tl.load(a + base + lane, lane < left, 0.0) + tl.load(b + base + lane, lane < left, 0.0)
    tl.store(o + base + lane, s, lane < left)


@triton.jit
def add_first_program(out, x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    m = i < n
    tl.store(out + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@triton.jit
def add_whole_tiles(out, x, y, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * BLOCK
    i = start + tl.arange(0, BLOCK)
    m = (i < n) & (start + BLOCK <= n)
    tl.store(out + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@triton.jit
def add_half(out, x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    s = tl.load(x + i, mask=m).to(tl.float16) + tl.load(y + i, mask=m).to(tl.float16)
    tl.store(out + i, s.to(tl.float32), mask=m)


@triton.jit
def add_twice_loaded(out, x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    s = tl.load(x + i, mask=m) + tl.load(y + i, mask=m)
    s = s + 0 * tl.load(x + i, mask=m)
    tl.store(out + i, s, mask=m)


@triton.jit
def add_every_program_all(out, x, y, n, BLOCK: tl.constexpr):
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        m = i < n
        tl.store(out + i, tl.load(x + i, mask=m) + tl.load(y + i, mask=m), mask=m)


@triton.jit
def add_into_input(out, x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    m = i < n
    s = tl.load(x + i, mask=m) + tl.load(y + i, mask=m)
    tl.store(x + i, s, mask=m)
    tl.store(out + i, s, mask=m)


@triton.jit
def add_extent_no_constant(out, x, y, n, BLOCK):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def add_four(out, x, y, BLOCK: tl.constexpr):
    pass_on = tl.arange(0, BLOCK)
    tl.store(out + pass_on, tl.load(x + pass_on))


@triton.jit
def add_from_a_dictionary(out, x, y, n, BLOCK: tl.constexpr):
    """The interpreter runs this, as it runs all of Python."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    loaded = {"x": tl.load(x + i, mask=i < n), "y": tl.load(y + i, mask=i < n)}
    tl.store(out + i, loaded["x"] + loaded["y"], mask=i < n)


@triton.jit
def add_todo(out, x, y, n, BLOCK: tl.constexpr):
    """Nothing yet."""
    pass


@triton.jit
def softmax_no_other(out, x, cols, row_x, row_out, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * row_x + c, mask=c < cols)
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * row_out + c, e / tl.sum(e, axis=0), mask=c < cols)


@triton.jit
def softmax_no_maximum(out, x, cols, row_x, row_out, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    e = tl.exp(tl.load(x + row * row_x + c, mask=c < cols, other=-float("inf")))
    tl.store(out + row * row_out + c, e / tl.sum(e, axis=0), mask=c < cols)


@triton.jit
def softmax_packed_rows(out, x, cols, row_x, row_out, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * cols + c, mask=c < cols, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    tl.store(out + row * row_out + c, e / tl.sum(e, axis=0), mask=c < cols)


@triton.jit
def softmax_store_unmasked_row(out, x, cols, row_x, row_out, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    v = tl.load(x + row * row_x + c, mask=c < cols, other=-float("inf"))
    e = tl.exp(v - tl.max(v, axis=0))
    last = row == tl.num_programs(0) - 1
    mask = (c < cols) | ((c < row_out) & (row_out > cols) & (last == 0))
    tl.store(out + row * row_out + c, e / tl.sum(e, axis=0), mask=mask)


@triton.jit
def softmax_two_passes(out, x, cols, row_x, row_out, BLOCK: tl.constexpr):
    """Right: tiles of a fixed extent, a running maximum and sum."""
    row = tl.program_id(0)
    top = -float("inf")
    total = 0.0
    for start in range(0, cols, 16):
        c = start + tl.arange(0, 16)
        v = tl.load(x + row * row_x + c, mask=c < cols, other=-float("inf"))
        higher = tl.maximum(top, tl.max(v, axis=0))
        total = total * tl.exp(top - higher) + tl.sum(tl.exp(v - higher), axis=0)
        top = higher
    for start in range(0, cols, 16):
        c = start + tl.arange(0, 16)
        v = tl.load(x + row * row_x + c, mask=c < cols, other=0.0)
        tl.store(out + row * row_out + c, tl.exp(v - top) / total, mask=c < cols)


@triton.jit
def matmul_no_k_mask(
    C, A, B, M, N, K, am, ak, bk, bn, cm, cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        s = k + tl.arange(0, BK)
        a = tl.load(A + r[:, None] * am + s[None, :] * ak, mask=r[:, None] < M, other=0.0)
        b = tl.load(B + s[:, None] * bk + c[None, :] * bn, mask=c[None, :] < N, other=0.0)
        total = tl.dot(a, b, total)
    tl.store(C + r[:, None] * cm + c[None, :] * cn, total, mask=(r[:, None] < M) & (c[None, :] < N))


@triton.jit
def matmul_half_sum(
    C, A, B, M, N, K, am, ak, bk, bn, cm, cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float16)
    for k in range(0, K, BK):
        s = k + tl.arange(0, BK)
        am_ = (r[:, None] < M) & (s[None, :] < K)
        bm_ = (s[:, None] < K) & (c[None, :] < N)
        a = tl.load(A + r[:, None] * am + s[None, :] * ak, mask=am_, other=0.0)
        b = tl.load(B + s[:, None] * bk + c[None, :] * bn, mask=bm_, other=0.0)
        total += tl.dot(a, b, out_dtype=tl.float16)
    tl.store(C + r[:, None] * cm + c[None, :] * cn, total, mask=(r[:, None] < M) & (c[None, :] < N))


@triton.jit
def matmul_b_packed(
    C, A, B, M, N, K, am, ak, bk, bn, cm, cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K, BK):
        s = k + tl.arange(0, BK)
        am_ = (r[:, None] < M) & (s[None, :] < K)
        bm_ = (s[:, None] < K) & (c[None, :] < N)
        a = tl.load(A + r[:, None] * am + s[None, :] * ak, mask=am_, other=0.0)
        b = tl.load(B + s[:, None] * N + c[None, :], mask=bm_, other=0.0)
        total = tl.dot(a, b, total)
    tl.store(C + r[:, None] * cm + c[None, :] * cn, total, mask=(r[:, None] < M) & (c[None, :] < N))


@triton.jit
def matmul_by_hand(
    C, A, B, M, N, K, am, ak, bk, bn, cm, cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
):  # fmt: skip
    """Right values without tl.dot: no tensor cores."""
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for k in range(0, K):
        a = tl.load(A + r * am + k * ak, mask=r < M, other=0.0).to(tl.float32)
        b = tl.load(B + k * bk + c * bn, mask=c < N, other=0.0).to(tl.float32)
        total += a[:, None] * b[None, :]
    tl.store(C + r[:, None] * cm + c[None, :] * cn, total, mask=(r[:, None] < M) & (c[None, :] < N))


@triton.jit
def layer_norm(out, x, w, b, cols, eps, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    inside = c < cols
    v = tl.load(x + row * cols + c, mask=inside, other=0.0)
    mean = tl.sum(v, axis=0) / cols
    centred = tl.where(inside, v - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / cols + eps)
    weight, bias = tl.load(w + c, mask=inside), tl.load(b + c, mask=inside)
    tl.store(out + row * cols + c, centred * scale * weight + bias, mask=inside)


@triton.jit
def norm_tail_in_variance(out, x, w, b, cols, eps, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    inside = c < cols
    v = tl.load(x + row * cols + c, mask=inside, other=0.0)
    centred = v - tl.sum(v, axis=0) / cols
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / cols + eps)
    weight, bias = tl.load(w + c, mask=inside), tl.load(b + c, mask=inside)
    tl.store(out + row * cols + c, centred * scale * weight + bias, mask=inside)


RIGHT = [
    (ADD, add), (ADD, renamed), (SOFTMAX, softmax), (SOFTMAX, softmax_two_passes),
    (MATMUL, matmul), (NORM, layer_norm),
]  # fmt: skip
WRONG = [
    (ADD, add_unmasked, "out_of_bounds"),
    (ADD, add_mask_too_wide, "out_of_bounds"),
    (ADD, add_first_program, "only_first_program"),
    (ADD, add_whole_tiles, "whole_tiles_only"),
    (ADD, add_half, "reduced_precision"),
    (ADD, add_twice_loaded, "too_many_bytes"),
    (ADD, add_every_program_all, "race"),
    (ADD, add_into_input, "input_modified"),
    (ADD, add_extent_no_constant, "raised"),
    (ADD, add_from_a_dictionary, "compilation"),
    (ADD, add_four, "wrong_type"),
    (ADD, 7, "wrong_type"),
    (ADD, sums, "wrong_type"),
    (SOFTMAX, softmax_no_other, "undefined_lanes"),
    (SOFTMAX, softmax_no_maximum, "wrong_values"),
    (SOFTMAX, softmax_packed_rows, "wrong_stride"),
    (SOFTMAX, softmax_store_unmasked_row, "stored_outside_rows"),
    (MATMUL, matmul_no_k_mask, "out_of_bounds"),
    (MATMUL, matmul_half_sum, "low_accumulator"),
    (MATMUL, matmul_b_packed, "wrong_stride"),
    (MATMUL, matmul_by_hand, "not_compiled_so"),
    (NORM, norm_tail_in_variance, "tail_in_variance"),
]
