"""Kernels for a real GPU: each with arguments, a NumPy reference and what it is compared with."""

from __future__ import annotations

import ast
import functools
import linecache
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numba import float32

from warpwise import cuda, mma_m16n8k8, mma_m16n8k16
from warpwise.simt.matrix import tf32

TILE = 32
PAD = 33
LESSON = Path(__file__).parents[2] / "tiers/t2_gpu/source/t2_02_gemm_registers.py"


@cuda.jit
def saxpy(out, x, y, a):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a * x[i] + y[i]


@cuda.jit
def transpose_naive(out, x):
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        out[col, row] = x[row, col]


@cuda.jit
def transpose_tiled(out, x):
    tile = cuda.shared.array((TILE, PAD), float32)
    col, row = cuda.grid(2)
    if row < x.shape[0] and col < x.shape[1]:
        tile[cuda.threadIdx.y, cuda.threadIdx.x] = x[row, col]
    cuda.syncthreads()
    r = cuda.blockIdx.x * TILE + cuda.threadIdx.y
    c = cuda.blockIdx.y * TILE + cuda.threadIdx.x
    if r < out.shape[0] and c < out.shape[1]:
        out[r, c] = tile[cuda.threadIdx.x, cuda.threadIdx.y]


@cuda.jit
def gemm_naive(C, A, B):
    col, row = cuda.grid(2)
    if row < C.shape[0] and col < C.shape[1]:
        total = float32(0)
        for k in range(A.shape[1]):
            total += A[row, k] * B[k, col]
        C[row, col] = total


@cuda.jit
def gemm_tiled(C, A, B):
    a = cuda.shared.array((TILE, TILE), float32)
    b = cuda.shared.array((TILE, TILE), float32)
    col, row = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for step in range((A.shape[1] + TILE - 1) // TILE):
        a[ty, tx] = float32(0)
        b[ty, tx] = float32(0)
        if row < A.shape[0] and step * TILE + tx < A.shape[1]:
            a[ty, tx] = A[row, step * TILE + tx]
        if col < B.shape[1] and step * TILE + ty < B.shape[0]:
            b[ty, tx] = B[step * TILE + ty, col]
        cuda.syncthreads()
        for k in range(TILE):
            total += a[ty, k] * b[k, tx]
        cuda.syncthreads()
    if row < C.shape[0] and col < C.shape[1]:
        C[row, col] = total


@cuda.jit
def block_sums(out, x):
    i = cuda.grid(1)
    value = x[i] if i < x.size else float32(0)
    for offset in (16, 8, 4, 2, 1):
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, offset)
    if cuda.laneid == 0:
        cuda.atomic.add(out, 0, value)


@cuda.jit
def histogram(out, x):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(out, x[i], 1)


@cuda.jit
def mma_halves(C, A, B):
    left = cuda.local.array(8, np.float16)
    right = cuda.local.array(4, np.float16)
    acc = cuda.local.array(4, np.float32)
    group, place = cuda.threadIdx.x // 4, cuda.threadIdx.x % 4
    top, first = 16 * cuda.blockIdx.y, 8 * cuda.blockIdx.x
    m, n, k = C.shape[0], C.shape[1], A.shape[1]
    for i in range(4):
        acc[i] = 0
    for start in range(0, k, 16):
        for i in range(8):
            row = top + group + i // 2 % 2 * 8
            term = start + 2 * place + i % 2 + i // 4 * 8
            left[i] = A[row, term] if row < m and term < k else np.float16(0)
        for i in range(4):
            term = start + 2 * place + i % 2 + i // 2 * 8
            right[i] = B[term, first + group] if term < k and first + group < n else np.float16(0)
        mma_m16n8k16(acc, left, right, acc)
    for i in range(4):
        row, column = top + group + i // 2 * 8, first + 2 * place + i % 2
        if row < m and column < n:
            C[row, column] = acc[i]


@cuda.jit
def mma_tf32(C, A, B):
    left = cuda.local.array(4, np.float32)
    right = cuda.local.array(2, np.float32)
    acc = cuda.local.array(4, np.float32)
    group, place = cuda.threadIdx.x // 4, cuda.threadIdx.x % 4
    top, first = 16 * cuda.blockIdx.y, 8 * cuda.blockIdx.x
    m, n, k = C.shape[0], C.shape[1], A.shape[1]
    for i in range(4):
        acc[i] = 0
    for start in range(0, k, 8):
        for i in range(4):
            row, term = top + group + i % 2 * 8, start + place + i // 2 * 4
            left[i] = A[row, term] if row < m and term < k else np.float32(0)
        for i in range(2):
            term = start + place + i * 4
            right[i] = B[term, first + group] if term < k and first + group < n else np.float32(0)
        mma_m16n8k8(acc, left, right, acc)
    for i in range(4):
        row, column = top + group + i // 2 * 8, first + 2 * place + i % 2
        if row < m and column < n:
            C[row, column] = acc[i]


@functools.cache
def registers_gemm() -> Any:
    """The course's fastest float32 product, from the text of its lesson.

    Its target is more than 90 % of the library's rate; the report has the measured share.
    """
    text = LESSON.read_text(encoding="utf-8")
    (found,) = (
        node for node in ast.parse(text).body
        if isinstance(node, ast.FunctionDef) and node.name == "registers_gemm"
    )  # fmt: skip
    first = found.decorator_list[0].lineno - 1
    source = "\n".join(text.splitlines()[first : found.end_lineno]) + "\n"
    place = "<registers_gemm of t2_02_gemm_registers>"
    linecache.cache[place] = (len(source), None, source.splitlines(True), place)
    names: dict[str, Any] = {"cuda": cuda, "np": np, "zero": np.float32(0)}
    exec(compile(source, place, "exec"), names)
    return names["registers_gemm"]


@dataclass(frozen=True)
class Case:
    """A launch: arguments come with the output first; torch_call is a library's way, for timing."""

    name: str
    kernel: Any
    grid: Any
    block: Any
    args: tuple[Any, ...]
    expected: Any
    torch_call: Callable[[Any, list[Any]], Any] | None = None


def cases(size: int) -> list[Case]:
    """Every kernel at one size: `size` rows, `size` squared elements."""
    r = np.random.default_rng(7)
    x = r.standard_normal(size * size, dtype=np.float32)
    y = r.standard_normal(size * size, dtype=np.float32)
    A, B = x.reshape(size, size), y.reshape(size, size)
    digits = r.integers(0, 64, size * size).astype(np.int32)
    flat = (-(-size * size // 256), 256)
    square = ((-(-size // TILE), -(-size // TILE)), (TILE, TILE))
    zero = np.zeros_like(A)
    product = A.astype(np.float64) @ B
    found = [
        Case("saxpy", saxpy, *flat, (np.zeros_like(x), x, y, np.float32(2)), 2 * x + y,
             lambda t, a: t.add(a[2], a[1], alpha=2)),
        Case("transpose_naive", transpose_naive, *square, (zero, A), A.T,
             lambda t, a: a[1].t().contiguous()),
        Case("transpose_tiled", transpose_tiled, *square, (zero, A), A.T,
             lambda t, a: a[1].t().contiguous()),
        Case("gemm_naive", gemm_naive, *square, (zero, A, B), product,
             lambda t, a: t.matmul(a[1], a[2])),
        Case("gemm_tiled", gemm_tiled, *square, (zero, A, B), product,
             lambda t, a: t.matmul(a[1], a[2])),
        Case("gemm_registers", registers_gemm(), (-(-size // 128), -(-size // 128)), 256,
             (zero, A, B, size, size, size), product, lambda t, a: t.matmul(a[1], a[2])),
        Case("block_sums", block_sums, *flat, (np.zeros(1, np.float32), x),
             np.array([x.sum(dtype=np.float64)]), lambda t, a: a[1].sum()),
        Case("histogram", histogram, *flat, (np.zeros(64, np.int32), digits),
             np.bincount(digits, minlength=64), lambda t, a: t.bincount(a[1], minlength=64)),
    ]  # fmt: skip
    if cuda.get_current_device().compute_capability >= (8, 0):
        found += matrix_cases(A, B)
    return found


def matrix_cases(A: Any, B: Any) -> list[Case]:
    """Products by matrix instructions; the inputs are rounded first, so that both are exact."""
    size = A.shape[0]
    tiles = (-(-size // 8), -(-size // 16)), 32
    made = []
    for kernel, inputs in (
        (mma_halves, [x.astype(np.float16) for x in (A, B)]),
        (mma_tf32, [tf32(x) for x in (A, B)]),
    ):
        left, right = (x.astype(np.float64) for x in inputs)
        args = (np.zeros((size, size), np.float32), *inputs)
        made.append(Case(kernel.__name__, kernel, *tiles, args, left @ right))
    return made
