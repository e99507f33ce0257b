"""Counted requests against machine code: where a kernel has no loop and reads no element twice, a
warp makes one request for each load, store and atomic instruction of the real compiler."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numba
import numpy as np
import pytest
from numba import cuda

pytest.importorskip("numba_cuda", reason="needs the numba-cuda wheel (Linux, Windows)")

from warpwise.compiler import CompilerMissingError, compile_kernel
from warpwise.observe import profile

from .launches import kernel

KINDS = {
    "LDG": "loads", "STG": "stores", "LDS": "shared_loads", "STS": "shared_stores",
    "LDL": "local_loads", "STL": "local_stores", "ATOMG": "atomics", "RED": "atomics",
    "ATOMS": "shared_atomics",
}  # fmt: skip
TYPES = ("int32", "float32", "complex64")
F4, F8, I4, I8 = np.float32, np.float64, np.int32, np.int64
POINT = np.dtype([("x", F4), ("k", I4), ("y", F8)], align=True)

#: Name -> (body after `t = cuda.threadIdx.x`, arguments after out)
KERNELS: dict[str, tuple[str, list[Any]]] = {
    "one element each": ("out[t] = a[t] * b[t + 1]", [np.ones(64, F4), np.ones(64, F4)]),
    "two dimensions": ("out[t] = a[t, 1] + a[1, t]", [np.ones((32, 32), F4)]),
    "in place": ("out[t] += a[t]", [np.ones(32, F4)]),
    "through another array": ("out[t] = a[b[t]]", [np.ones(32, F8), np.arange(32)]),
    "real": ("out[t] = a[t].real + a[t + 1].imag", [np.ones(64, np.complex64)]),
    "complex64": ("v = a[t]\n    out[t] = v.real * v.imag", [np.ones(64, np.complex64)]),
    "whole complex128": ("a[t] = a[t] * a[t + 1]", [np.ones(64, np.complex128)]),
    "bytes": ("out[t] = a[t] + b[t]", [np.ones(32, np.int8), np.ones(32, np.uint16)]),
    "fields of records": ("out[t] = a[t].x + a[t].y\n    a[t].k = t", [np.zeros(32, POINT)]),
    "shared": ("s = cuda.shared.array(64, float32)\n    s[t] = a[t]\n    cuda.syncthreads()\n"
               "    out[t] = s[31 - t] + s[t // 2]", [np.ones(32, F4)]),
    "complex in shared": ("s = cuda.shared.array(32, complex64)\n    s[t] = a[t]\n"
                          "    cuda.syncthreads()\n    c = s[31 - t]\n    out[t] = c.real + c.imag",
                          [np.ones(32, np.complex64)]),
    "atomics": ("cuda.atomic.add(a, t % 4, 1)\n    out[t] = cuda.atomic.max(b, t % 2, t)",
                [np.zeros(4, I4), np.zeros(2, I4)]),
    "atomics in shared": ("s = cuda.shared.array(32, int32)\n    s[t] = 0\n    cuda.syncthreads()\n"
                          "    cuda.atomic.add(s, a[t], 1)\n    cuda.syncthreads()\n"
                          "    out[t] = s[t]", [np.zeros(32, I4)]),
    "both branches": ("v = a[t]\n    if v > 0:\n        out[t] = b[t]\n    else:\n"
                      "        out[t] = b[t + 32] + b[t + 64]",
                      [np.where(np.arange(32) % 2, 1, -1).astype(F4), np.ones(96, F4)]),
}  # fmt: skip


def counted(body: str, args: list[Any]) -> tuple[Counter[str], Counter[str]]:
    """Requests of one warp by group, and the instructions of the compiler."""
    names = ", ".join("abc"[: len(args)])
    text = f"def k(out, {names}):\n    t = cuda.threadIdx.x\n    {body}\n"
    scope = {"cuda": cuda, **{name: getattr(numba, name) for name in TYPES}}
    exec(text, scope)
    out = np.zeros(32, F8)
    report = profile(kernel(text)[1, 32], out, *args)
    requests = {group: getattr(report, group).requests for group in KINDS.values()}
    try:
        found = Counter(
            KINDS.get(i.name.split(".")[0]) for i in compile_kernel(scope["k"], [out, *args]).sass
        )
    except CompilerMissingError as error:
        pytest.skip(str(error))
    del found[None]
    return Counter(requests), found


@pytest.mark.parametrize("name", KERNELS)
def test_a_warp_makes_a_request_for_each_memory_instruction(name: str) -> None:
    """All lanes work, so that every instruction is issued once."""
    requests, instructions = counted(*KERNELS[name])
    assert +requests == instructions


@pytest.mark.parametrize(
    ("body", "dtype", "written", "compiled"),
    [("out[t] = a[t] * a[t]", F4, 2, 1), ("out[t] = a[t] * a[t + 1] * 0", I4, 2, 0)],
)  # fmt: skip
def test_requests_are_counted_as_the_source_says(
    body: str, dtype: Any, written: int, compiled: int
) -> None:
    """The compiler keeps a value that is read twice, and leaves out what nobody needs."""
    requests, instructions = counted(body, [np.ones(64, dtype)])
    assert (requests["loads"], instructions["loads"]) == (written, compiled)
