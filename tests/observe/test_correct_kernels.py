"""Kernels as people write them, right: not one finding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from .launches import findings


def zeros(n: int) -> Any:
    return np.zeros(n, np.int32)


def numbers(n: int) -> Any:
    return np.arange(n, dtype=np.int32)


def shuffled(n: int) -> Any:
    return np.random.default_rng(0).permutation(n).astype(np.int32)


def ones(n: int) -> Any:
    return np.ones(n, np.int32)


#: name -> kernel, blocks, threads, arguments
KERNELS: dict[str, tuple[Any, ...]] = {
    "a warp sum by shuffles": ("""
def k(out, x):
    i = cuda.grid(1)
    v = x[i]
    d = 16
    while d > 0:
        v += cuda.shfl_down_sync(0xffffffff, v, d)
        d //= 2
    if cuda.laneid == 0:
        cuda.atomic.add(out, 0, v)
""", 3, 64, zeros(1), zeros(192)),
    "a block sum by shuffles": ("""
def k(out, x):
    s = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    v = x[cuda.grid(1)]
    d = 16
    while d > 0:
        v += cuda.shfl_down_sync(0xffffffff, v, d)
        d //= 2
    if t % 32 == 0:
        s[t // 32] = v
    cuda.syncthreads()
    if t < 32:
        v = s[t] if t < cuda.blockDim.x // 32 else 0
        d = 16
        while d > 0:
            v += cuda.shfl_down_sync(0xffffffff, v, d)
            d //= 2
        if t == 0:
            cuda.atomic.add(out, 0, v)
""", 3, 128, zeros(1), zeros(384)),
    "a guarded tree sum": ("""
def k(out, x, n):
    s = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < n else 0
    cuda.syncthreads()
    d = 64
    while d > 0:
        if t < d:
            s[t] += s[t + d]
        cuda.syncthreads()
        d //= 2
    if t == 0:
        out[cuda.blockIdx.x] = s[0]
""", 3, 128, zeros(3), zeros(300), 300),
    "a scan with two buffers": ("""
def k(out, x):
    s = cuda.shared.array((2, 64), int32)
    t = cuda.threadIdx.x
    s[0, t] = x[t]
    cuda.syncthreads()
    src = 0
    d = 1
    while d < 64:
        if t >= d:
            s[1 - src, t] = s[src, t] + s[src, t - d]
        else:
            s[1 - src, t] = s[src, t]
        cuda.syncthreads()
        src = 1 - src
        d *= 2
    out[t] = s[src, t]
""", 1, 64, zeros(64), zeros(64)),
    "a work-efficient scan": ("""
def k(out, x):
    s = cuda.shared.array(128, int32)
    t = cuda.threadIdx.x
    s[2 * t] = x[2 * t]
    s[2 * t + 1] = x[2 * t + 1]
    off = 1
    d = 64
    while d > 0:
        cuda.syncthreads()
        if t < d:
            a = off * (2 * t + 1) - 1
            b = off * (2 * t + 2) - 1
            s[b] += s[a]
        off *= 2
        d //= 2
    if t == 0:
        s[127] = 0
    d = 1
    while d < 128:
        off //= 2
        cuda.syncthreads()
        if t < d:
            a = off * (2 * t + 1) - 1
            b = off * (2 * t + 2) - 1
            v = s[a]
            s[a] = s[b]
            s[b] += v
        d *= 2
    cuda.syncthreads()
    out[2 * t] = s[2 * t]
    out[2 * t + 1] = s[2 * t + 1]
""", 1, 64, zeros(128), zeros(128)),
    "one atomic operation a warp": ("""
def k(out, x):
    i = cuda.grid(1)
    if x[i] > 0:
        m = cuda.activemask()
        leader = cuda.ffs(m) - 1
        lane = cuda.laneid
        base = 0
        if lane == leader:
            base = cuda.atomic.add(out, 0, cuda.popc(m))
        base = cuda.shfl_sync(m, base, leader)
""", 2, 64, zeros(2), numbers(128) % 3),
    "a bitonic sort": ("""
def k(out):
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    s[t] = out[t]
    cuda.syncthreads()
    size = 2
    while size <= 64:
        j = size // 2
        while j > 0:
            p = t ^ j
            if p > t:
                if (t & size) == 0:
                    if s[t] > s[p]:
                        v = s[t]
                        s[t] = s[p]
                        s[p] = v
                else:
                    if s[t] < s[p]:
                        v = s[t]
                        s[t] = s[p]
                        s[p] = v
            cuda.syncthreads()
            j //= 2
        size *= 2
    out[t] = s[t]
""", 1, 64, shuffled(64)),
    "a histogram of each block's own": ("""
def k(out, x):
    s = cuda.shared.array(16, int32)
    t = cuda.threadIdx.x
    if t < 16:
        s[t] = 0
    cuda.syncthreads()
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(s, x[i] % 16, 1)
    cuda.syncthreads()
    if t < 16:
        cuda.atomic.add(out, t, s[t])
""", 3, 64, zeros(16), numbers(1000)),
    "a queue of work for threads": ("""
def k(out, q, x):
    while True:
        i = cuda.atomic.add(q, 0, 1)
        if i >= x.size:
            break
        out[i] = x[i] * 2
""", 3, 64, zeros(1000), zeros(1), numbers(1000)),
    "a maximum by compare and swap": ("""
def k(out, x):
    i = cuda.grid(1)
    old = cuda.atomic.add(out, 0, 0)
    while x[i] > old:
        got = cuda.atomic.cas(out, 0, old, x[i])
        if got == old:
            break
        old = got
""", 3, 64, zeros(1), shuffled(192)),
    "a queue of work for blocks": ("""
def k(out, q, x):
    s = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    while True:
        if t == 0:
            s[0] = cuda.atomic.add(q, 0, 64)
        cuda.syncthreads()
        i = s[0] + t
        cuda.syncthreads()
        if i - t >= x.size:
            break
        if i < x.size:
            out[i] = x[i]
""", 3, 64, zeros(1000), zeros(1), numbers(1000)),
    "a lock for each row": ("""
def k(out, lock, x):
    i = cuda.grid(1)
    row = x[i] % 4
    done = False
    while not done:
        if cuda.atomic.cas(lock, row, 0, 1) == 0:
            cuda.threadfence()
            out[row] += 1
            cuda.threadfence()
            cuda.atomic.exch(lock, row, 0)
            done = True
""", 2, 64, zeros(4), zeros(4), numbers(128)),
    "a scan that looks back over several blocks": ("""
def k(out, x, agg, pre, st):
    s = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    b = cuda.blockIdx.x
    if t == 0:
        a = x[b]
        agg[b] = a
        if b == 0:
            pre[0] = a
        cuda.threadfence()
        cuda.atomic.max(st, b, 2 if b == 0 else 1)
        run = 0
        p = b - 1
        while p >= 0:
            f = cuda.atomic.add(st, p, 0)
            if f == 2:
                run += pre[p]
                break
            if f == 1:
                run += agg[p]
                p -= 1
        if b > 0:
            pre[b] = run + a
            cuda.threadfence()
            cuda.atomic.max(st, b, 2)
        s[0] = run
    cuda.syncthreads()
    out[b * 32 + t] = s[0]
""", 30, 32, zeros(960), ones(30), zeros(30), zeros(30), zeros(30)),
    "a scan with numbers taken at the start": ("""
def k(out, x, ticket, pre, st):
    s = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        s[0] = cuda.atomic.add(ticket, 0, 1)
    cuda.syncthreads()
    b = s[0]
    if t == 0:
        v = x[b]
        if b > 0:
            while cuda.atomic.add(st, b - 1, 0) == 0:
                cuda.nanosleep(20)
            v += pre[b - 1]
        pre[b] = v
        cuda.threadfence()
        cuda.atomic.exch(st, b, 1)
        out[b] = v
""", 30, 32, zeros(30), ones(30), zeros(1), zeros(30), zeros(30)),
}  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_no_finding(name: str) -> None:
    """Under the sanitizer, and the arrays hold what one thread would compute."""
    text, blocks, threads, *args = KERNELS[name]
    args = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
    assert findings(text, blocks, threads, *args) == []
    if name in VALUES:
        assert args[0].tolist() == VALUES[name]


VALUES = {
    "a bitonic sort": list(range(64)),
    "a histogram of each block's own": np.bincount(np.arange(1000) % 16).tolist(),
    "a queue of work for threads": list(range(0, 2000, 2)),
    "a queue of work for blocks": list(range(1000)),
    "a maximum by compare and swap": [191],
    "a lock for each row": [32] * 4,
    "a scan that looks back over several blocks": [b for b in range(30) for _ in range(32)],
    "a scan with numbers taken at the start": list(range(1, 31)),
}
