"""The kernels that the benchmarks run, as a learner writes them, with their arguments.

Each entry of BENCHMARKS makes (kernel, grid, block, arguments) for one size; the outputs come first
among the arguments.  The file says `from numba import cuda`: it runs unchanged on a GPU, in Numba's
simulator and in ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import cuda, float32, int32

Launch = tuple[Any, Any, Any, tuple[Any, ...]]
TILE = 16
PADDED = TILE + 1
BLOCK = 256
WARPS = BLOCK // 32


def saxpy(n: int) -> Launch:
    @cuda.jit
    def saxpy(out, x, y, a):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a * x[i] + y[i]

    x = np.arange(n, dtype=np.float32)
    return saxpy, _blocks(n), BLOCK, (np.zeros_like(x), x, x[::-1].copy(), np.float32(2))


def gather(n: int) -> Launch:
    @cuda.jit
    def gather(out, x, index):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = x[index[i]]

    x = np.arange(n, dtype=np.float32)
    index = np.random.default_rng(2).permutation(n).astype(np.int32)
    return gather, _blocks(n), BLOCK, (np.zeros_like(x), x, index)


def gemm_naive(n: int) -> Launch:
    @cuda.jit
    def gemm(c, a, b):
        x, y = cuda.grid(2)
        if y < c.shape[0] and x < c.shape[1]:
            acc = np.float32(0)
            for k in range(a.shape[1]):
                acc += a[y, k] * b[k, x]
            c[y, x] = acc

    return gemm, _square(n), (TILE, TILE), _matrices(n)


def gemm_tiled(n: int) -> Launch:
    @cuda.jit
    def gemm(c, a, b):
        a_tile = cuda.shared.array((TILE, TILE), float32)
        b_tile = cuda.shared.array((TILE, TILE), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        x, y = cuda.grid(2)
        acc = float32(0)
        for tile in range((a.shape[1] + TILE - 1) // TILE):
            column, row = tile * TILE + tx, tile * TILE + ty
            a_tile[ty, tx] = 0
            b_tile[ty, tx] = 0
            if y < a.shape[0] and column < a.shape[1]:
                a_tile[ty, tx] = a[y, column]
            if row < b.shape[0] and x < b.shape[1]:
                b_tile[ty, tx] = b[row, x]
            cuda.syncthreads()
            for k in range(TILE):
                acc += a_tile[ty, k] * b_tile[k, tx]
            cuda.syncthreads()
        if y < c.shape[0] and x < c.shape[1]:
            c[y, x] = acc

    return gemm, _square(n), (TILE, TILE), _matrices(n)


def transpose(n: int) -> Launch:
    @cuda.jit
    def transpose(out, a):
        tile = cuda.shared.array((TILE, PADDED), float32)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        x, y = cuda.grid(2)
        if y < a.shape[0] and x < a.shape[1]:
            tile[ty, tx] = a[y, x]
        cuda.syncthreads()
        x = cuda.blockIdx.y * TILE + tx
        y = cuda.blockIdx.x * TILE + ty
        if y < out.shape[0] and x < out.shape[1]:
            out[y, x] = tile[tx, ty]

    a = np.arange(n * n, dtype=np.float32).reshape(n, n)
    return transpose, _square(n), (TILE, TILE), (np.zeros_like(a), a)


def stencil(n: int) -> Launch:
    @cuda.jit
    def stencil(out, a):
        x, y = cuda.grid(2)
        h, w = a.shape
        if 0 < y < h - 1 and 0 < x < w - 1:
            out[y, x] = np.float32(0.25) * (a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1])

    a = np.random.default_rng(1).random((n, n), dtype=np.float32)
    return stencil, _square(n), (TILE, TILE), (np.zeros_like(a), a)


def reduce_tree(n: int) -> Launch:
    @cuda.jit
    def reduce(sums, x):
        part = cuda.shared.array(BLOCK, float32)
        t = cuda.threadIdx.x
        i = cuda.grid(1)
        part[t] = x[i] if i < x.size else float32(0)
        cuda.syncthreads()
        step = BLOCK // 2
        while step > 0:
            if t < step:
                part[t] += part[t + step]
            cuda.syncthreads()
            step //= 2
        if t == 0:
            sums[cuda.blockIdx.x] = part[0]

    return reduce, _blocks(n), BLOCK, (np.zeros(_blocks(n), np.float32), _numbers(n))


def reduce_shuffle(n: int) -> Launch:
    @cuda.jit
    def reduce(sums, x):
        part = cuda.shared.array(WARPS, float32)
        t = cuda.threadIdx.x
        i = cuda.grid(1)
        value = x[i] if i < x.size else float32(0)
        step = 16
        while step > 0:
            value += cuda.shfl_down_sync(0xFFFFFFFF, value, step)
            step //= 2
        if t % 32 == 0:
            part[t // 32] = value
        cuda.syncthreads()
        if t == 0:
            total = float32(0)
            for k in range(BLOCK // 32):
                total += part[k]
            sums[cuda.blockIdx.x] = total

    return reduce, _blocks(n), BLOCK, (np.zeros(_blocks(n), np.float32), _numbers(n))


def scan(n: int) -> Launch:
    @cuda.jit
    def scan(out, x):
        part = cuda.shared.array(BLOCK, float32)
        t = cuda.threadIdx.x
        i = cuda.grid(1)
        part[t] = x[i] if i < x.size else float32(0)
        cuda.syncthreads()
        step = 1
        while step < BLOCK:
            left = float32(0)
            if t >= step:
                left = part[t - step]
            cuda.syncthreads()
            part[t] += left
            cuda.syncthreads()
            step *= 2
        if i < out.size:
            out[i] = part[t]

    x = _numbers(n)
    return scan, _blocks(n), BLOCK, (np.zeros_like(x), x)


def histogram(n: int) -> Launch:
    @cuda.jit
    def histogram(counts, x):
        part = cuda.shared.array(64, int32)
        t = cuda.threadIdx.x
        if t < 64:
            part[t] = 0
        cuda.syncthreads()
        for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
            cuda.atomic.add(part, x[i] % 64, 1)
        cuda.syncthreads()
        if t < 64:
            cuda.atomic.add(counts, t, part[t])

    x = np.random.default_rng(3).integers(0, 1 << 20, n, dtype=np.int32)
    return histogram, max(1, _blocks(n) // 4), BLOCK, (np.zeros(64, np.int32), x)


def mandelbrot(n: int) -> Launch:
    @cuda.jit
    def mandelbrot(image, limit):
        x, y = cuda.grid(2)
        h, w = image.shape
        if x < w and y < h:
            cr = -2.0 + 3.0 * x / w
            ci = -1.5 + 3.0 * y / h
            zr = zi = 0.0
            k = 0
            while k < limit and zr * zr + zi * zi <= 4.0:
                zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
                k += 1
            image[y, x] = k

    return mandelbrot, _square(n), (TILE, TILE), (np.zeros((n, n), np.int32), 100)


def _blocks(n: int) -> int:
    return (n + BLOCK - 1) // BLOCK


def _square(n: int) -> tuple[int, int]:
    return (n + TILE - 1) // TILE, (n + TILE - 1) // TILE


def _numbers(n: int) -> Any:
    return np.random.default_rng(4).random(n, dtype=np.float32)


def _matrices(n: int) -> tuple[Any, Any, Any]:
    a, b = np.random.default_rng(0).random((2, n, n), dtype=np.float32)
    return np.zeros_like(a), a, b


@dataclass(frozen=True)
class Benchmark:
    """A kernel with the sizes it is run at: `small` in both simulators, `full` in ours alone."""

    make: Callable[[int], Launch]
    small: int
    full: int
    in_numba: bool = True  # Numba's simulator has no shuffles


BENCHMARKS: dict[str, Benchmark] = {
    "saxpy": Benchmark(saxpy, 16_384, 1_000_000),
    "gather": Benchmark(gather, 16_384, 1_000_000),
    "gemm naive": Benchmark(gemm_naive, 64, 512),
    "gemm tiled": Benchmark(gemm_tiled, 32, 512),
    "transpose": Benchmark(transpose, 64, 1024),
    "stencil": Benchmark(stencil, 64, 1024),
    "reduce tree": Benchmark(reduce_tree, 4096, 1_000_000),
    "reduce shuffle": Benchmark(reduce_shuffle, 4096, 1_000_000, in_numba=False),
    "scan": Benchmark(scan, 4096, 1_000_000),
    "histogram": Benchmark(histogram, 4096, 1_000_000),
    "mandelbrot": Benchmark(mandelbrot, 64, 512),
}
