"""The body of a random kernel as a function that Numba compiles for the CPU.

This is how the reference itself is checked: kernels without shared memory, one call a thread.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from . import grid, writer
from .writer import PARAMETERS, Case

TYPES = ("complex64", "complex128", "float32", "float64", "int8", "int16", "int32", "int64",
         "uint8", "uint16", "uint32", "uint64")  # fmt: skip


def plain_case(seed: int) -> Case:
    """A kernel of threads that keep to themselves and use nothing of `cuda` but their number."""
    made = writer.Writer(seed, plain=True)
    return Case(seed, made.kernel(), made.grid, made.block)


def compiled(case: Case) -> list[Any]:
    """The arguments after all threads, run by compiled code."""
    import math

    numbers = "    i = cuda.grid(1)\n    tid, bid = cuda.threadIdx.x, cuda.blockIdx.x\n"
    head, body = case.text.split(numbers)
    text = head.split("import (")[1].split(")", 1)[1]  # without the imports
    text = text.replace("@cuda.jit(device=True)", "@njit").replace("@cuda.jit", "")
    for name in ("ceil", "floor"):  # a float stays one on a GPU; the CPU's math makes it int64
        text, body = (part.replace(f"math.{name}", f"np.{name}") for part in (text, body))
    text = text.replace(f"def k({PARAMETERS})", f"def k(i, tid, bid, {PARAMETERS})")
    names: dict[str, Any] = {name: getattr(numba, name) for name in TYPES}
    names |= {"math": math, "np": np, "njit": numba.njit(error_model="numpy")}
    exec(text + body, names)
    run = numba.njit(error_model="numpy")(names["k"])
    args = case.arguments()
    width = case.block
    for i in range(case.grid * width):
        run(i, np.int32(i % width), np.int32(i // width), *args)
    return args


def reference(case: Case) -> list[Any]:
    """The same from the reference."""
    args = case.arguments()
    grid.launch(grid.prepare(case.text, args), case.grid, case.block, args)
    return args
