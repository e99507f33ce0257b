"""Answers to one small exercise, right and wrong, for the tests of the checks.

`guarded` asks for out[i] = a[i] + b[i] for i < n; every function name says what is done.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from warpwise.check import Case, KernelSpec, cases
from warpwise.simt.api import jit  # always the simulator's, whatever the machine

from numba import cuda  # isort: skip

BLOCK = 32


def launches(rng: np.random.Generator, level: cases.Level) -> Iterator[Case]:
    """Vectors around the edges of a block of 32."""
    for n in cases.sizes(BLOCK, level, rng):
        args = {
            "out": np.zeros(n, np.float32),
            "a": cases.values(rng, n),
            "b": cases.values(rng, n),
            "n": n,
        }
        yield Case(args, cases.ceil_div(n, BLOCK), BLOCK)


def add(case: Case) -> dict[str, np.ndarray]:
    """The reference, in float64."""
    return {"out": case.args["a"].astype(np.float64) + case.args["b"]}


GUARDED = KernelSpec(
    "guarded",
    "t0_00_test",
    2,
    outputs=("out",),
    cases=launches,
    reference=add,
    writes_once=True,
    owner=cases.owner_by_position,
)


@jit
def right(out, a, b, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = a[i] + b[i]


@jit
def renamed(result, left, right, length):
    at = cuda.grid(1)
    if at >= length:
        return
    result[at] = left[at] + right[at]


@jit
def hole(out, a, b, n):
    """out[i] = a[i] + b[i] for i < n."""
    # YOUR CODE HERE (roughly 3 lines)
    raise NotImplementedError


@jit
def forgotten_raise(out, a, b, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = a[i] + b[i]
    raise NotImplementedError


@jit
def no_guard(out, a, b, n):
    i = cuda.grid(1)
    out[i] = a[i] + b[i]


@jit
def thread_only(res, x, y, n):
    i = cuda.threadIdx.x
    if i < n:
        res[i] = x[i] + y[i]


@jit
def block_only(out, a, b, n):
    i = cuda.blockIdx.x
    if i < n:
        out[i] = a[i] + b[i]


@jit
def whole_blocks(out, a, b, n):
    i = cuda.grid(1)
    if i < n // cuda.blockDim.x * cuda.blockDim.x:
        out[i] = a[i] + b[i]


@jit
def shifted(out, a, b, n):
    i = cuda.grid(1)
    if i + 1 < n:
        out[i + 1] = a[i] + b[i]


@jit
def zeros(out, a, b, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = 0


@jit
def copied(out, a, b, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = a[i]


@jit
def constant(out, a, b, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = a[0] + b[0]


@jit
def half(out, a, b, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = np.float16(a[i]) + np.float16(b[i])


@jit
def accumulates(out, a, b, n):
    i = cuda.grid(1)
    if i < n:
        out[i] += a[i] + b[i]


@jit
def writes_input(out, a, b, n):
    i = cuda.grid(1)
    if i < n:
        a[i] += b[i]
        out[i] = a[i]


@jit
def subtracts(out, a, b, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = a[i] - b[i]


@jit
def every_thread_all(out, a, b, n):
    for i in range(n):
        out[i] = a[i] + b[i]


@jit
def skips_first(out, a, b, n):
    i = cuda.grid(1)
    if 0 < i < n:
        out[i] = a[i] + b[i]


@jit
def stores_nothing(out, a, b, n):
    i = cuda.grid(1)
    if i < n:
        i += 1


@jit
def stores_twice(out, a, b, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = a[i]
        out[i] = a[i] + b[i]


@jit
def zero_then_wrong(out, a, b, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = 0
        if n > 1:
            out[i] = a[i] - b[i]


@jit
def zero_start(out, a, b, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = a[i] + b[i]
        if i < 31:
            out[i] = 0


@jit
def shuffled(a, b, out, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = a[i] + b[i]


@jit
def three_parameters(out, a, b):
    i = cuda.grid(1)
    out[i] = a[i] + b[i]


@jit
def never_ends(out, a, b, n):
    i = cuda.grid(1)
    while i < n:
        out[i] = a[i] + b[i]


@jit
def comprehension(out, a, b, n):
    i = cuda.grid(1)
    sums = [a[k] + b[k] for k in range(n)]
    if i < n:
        out[i] = sums[i]


def no_decorator(out, a, b, n):
    i = cuda.grid(1)
    if i < n:
        out[i] = a[i] + b[i]


def backwards_launches(rng: np.random.Generator, level: cases.Level) -> Iterator[Case]:
    """Vectors to turn around, in one block."""
    for n in (2, 31):
        yield Case({"out": np.zeros(n, np.float32), "a": cases.values(rng, n)}, 1, BLOCK)


def backwards(case: Case) -> dict[str, np.ndarray]:
    """The reference: out[i] = a[n - 1 - i]."""
    return {"out": case.args["a"][::-1]}


@jit
def negative_index(out, a):
    i = cuda.grid(1)
    if i < a.size:
        out[-1 - i] = a[i]


@jit(device=True)
def device_function(out, a, b, n):
    out[0] = a[0] + b[0]


@cuda.jit
def own_place_for_reversed(out, a, b, n):
    s = cuda.shared.array(32, np.float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    if i < n:
        s[31 - t] = a[i] + b[i]
    cuda.syncthreads()
    if i < n:
        out[i] = s[t]


@jit
def first_thread_alone(out, a, b, n):
    if cuda.grid(1) == 0:
        for i in range(n):
            out[i] = a[i] + b[i]
