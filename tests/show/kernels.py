"""Kernels to draw; each name says what is special about its writes."""

from numba import cuda

from warpwise.simt.api import jit  # always the simulator's, whatever the machine


@jit
def add(out, a, b):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]


@jit
def same_for_every_block(out):
    i = cuda.threadIdx.x
    if i < out.size:
        out[i] = i


@jit
def image(out):
    x, y = cuda.grid(2)
    if y < out.shape[0] and x < out.shape[1]:
        out[y, x] = x


@jit
def neighbours(out, a):
    i = cuda.grid(1)
    if 0 < i < a.size - 1:
        out[i] = a[i - 1] + a[i + 1]


@jit
def nothing(out):
    i = cuda.grid(1)
    if i < 0:
        out[i] = i


@jit
def beyond(out):
    out[cuda.grid(1)] = 1
