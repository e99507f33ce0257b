"""The kernels that the benchmarks run, as a learner writes them, with their arguments.

Each entry of BENCHMARKS makes (kernel, grid, block, arguments).  The file says
`from numba import cuda`: it runs unchanged on a GPU, in Numba's simulator and, after
`warpwise.simt.install()`, in ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda

Launch = tuple[Any, Any, Any, tuple[Any, ...]]


def saxpy(n: int) -> Launch:
    @cuda.jit
    def saxpy(out, x, y, a):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = a * x[i] + y[i]

    x = np.arange(n, dtype=np.float32)
    return saxpy, (n + 255) // 256, 256, (np.zeros_like(x), x, x[::-1].copy(), np.float32(2))


def gemm_naive(n: int) -> Launch:
    @cuda.jit
    def gemm(c, a, b):
        x, y = cuda.grid(2)
        if y < c.shape[0] and x < c.shape[1]:
            acc = np.float32(0)
            for k in range(a.shape[1]):
                acc += a[y, k] * b[k, x]
            c[y, x] = acc

    rng = np.random.default_rng(0)
    a, b = rng.random((2, n, n), dtype=np.float32)
    blocks = (n + 15) // 16
    return gemm, (blocks, blocks), (16, 16), (np.zeros_like(a), a, b)


def transpose(n: int) -> Launch:
    @cuda.jit
    def transpose(out, a):
        x, y = cuda.grid(2)
        if y < a.shape[0] and x < a.shape[1]:
            out[x, y] = a[y, x]

    a = np.arange(n * n, dtype=np.float32).reshape(n, n)
    blocks = (n + 15) // 16
    return transpose, (blocks, blocks), (16, 16), (np.zeros_like(a), a)


def stencil(n: int) -> Launch:
    @cuda.jit
    def stencil(out, a):
        x, y = cuda.grid(2)
        h, w = a.shape
        if 0 < y < h - 1 and 0 < x < w - 1:
            out[y, x] = np.float32(0.25) * (a[y - 1, x] + a[y + 1, x] + a[y, x - 1] + a[y, x + 1])

    a = np.random.default_rng(1).random((n, n), dtype=np.float32)
    blocks = (n + 15) // 16
    return stencil, (blocks, blocks), (16, 16), (np.zeros_like(a), a)


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

    blocks = (n + 15) // 16
    return mandelbrot, (blocks, blocks), (16, 16), (np.zeros((n, n), np.int32), 100)


#: name -> (maker, size for both simulators, size for ours alone)
BENCHMARKS: dict[str, tuple[Any, int, int]] = {
    "saxpy": (saxpy, 16_384, 1_000_000),
    "gemm naive": (gemm_naive, 32, 512),
    "transpose": (transpose, 64, 1024),
    "stencil": (stencil, 64, 1024),
    "mandelbrot": (mandelbrot, 64, 512),
}
