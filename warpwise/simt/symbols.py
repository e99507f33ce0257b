"""The names a kernel sees under `cuda.`: what they are called, not what they do.

A kernel may reach them through our module, through `numba.cuda`, or by a direct import such as
`from numba.cuda import grid`.  All three lead to a `Symbol` with one dotted name.

Glossary
    Symbol("grid")              cuda.grid
    Symbol("shared.array")      cuda.shared.array
    Symbol("threadIdx")         cuda.threadIdx
"""

from __future__ import annotations

import importlib
import sys
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any, NoReturn

from . import formats
from .libdevice import LIBDEVICE

_TABLE = """
    threadIdx blockIdx blockDim gridDim laneid warpsize grid gridsize
    shared shared.array local local.array const const.array_like
    syncthreads syncthreads_count syncthreads_and syncthreads_or syncwarp
    threadfence threadfence_block threadfence_system nanosleep cg cg.this_grid
    shfl_sync shfl_up_sync shfl_down_sync shfl_xor_sync all_sync any_sync eq_sync
    ballot_sync match_any_sync match_all_sync activemask lanemask_lt
    popc clz ffs brev selp fma cbrt fp16 bf16 libdevice
    ldca ldcg ldcs ldlu ldcv stcg stcs stwb stwt
    atomic atomic.add atomic.sub atomic.max atomic.min atomic.nanmax atomic.nanmin
    atomic.and_ atomic.or_ atomic.xor atomic.exch atomic.inc atomic.dec atomic.cas
    atomic.compare_and_swap
"""

_WORDS = {
    "int8": "char", "int16": "short", "int32": "int", "int64": "long longlong",
    "uint8": "uchar", "uint16": "ushort", "uint32": "uint", "uint64": "ulong ulonglong",
    "float32": "float", "float64": "double",
}  # fmt: skip

#: Name of a vector type, or another name of it -> its name: float4 -> float32x4.
VECTORS = {
    name: f"{base}x{n}"
    for base, words in _WORDS.items()
    for n in (1, 2, 3, 4)
    for name in (f"{base}x{n}", *(f"{word}{n}" for word in words.split()))
}

#: Names that mean something inside a kernel.  Those without a lowering are refused by name.
DEVICE_NAMES = frozenset(_TABLE.split()).union(
    (f"fp16.{name}" for name in formats.FP16),
    (f"bf16.{name}" for name in formats.BF16),
    (f"libdevice.{name}" for name in LIBDEVICE),
    VECTORS,
)


@dataclass(frozen=True)
class Symbol:
    """A name of the CUDA device API.  On the host it only knows how to refuse."""

    name: str

    def __getattr__(self, attr: str) -> Symbol:
        if attr.startswith("__") and attr.endswith("__"):
            raise AttributeError(attr)
        dotted = f"{self.name}.{attr}"
        if dotted in DEVICE_NAMES:
            return Symbol(dotted)
        if attr in ("x", "y", "z") and self.name in (
            "threadIdx",
            "blockIdx",
            "blockDim",
            "gridDim",
        ):
            raise RuntimeError(_only_in_kernel(dotted))
        raise AttributeError(f"cuda.{self.name} has no attribute {attr!r}")

    def __call__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError(_only_in_kernel(self.name))

    def __repr__(self) -> str:
        return f"cuda.{self.name}"


def _only_in_kernel(name: str) -> str:
    return (
        f"cuda.{name} means something only inside a kernel: a function under @cuda.jit, "
        "started with kernel[blocks, threads](...)."
    )


def numba_cuda() -> ModuleType | None:
    """Numba's own `numba.cuda`, when something has imported it."""
    return sys.modules.get("numba.cuda")


@cache
def _numba_symbols(module: ModuleType | None) -> dict[int, str]:
    """id of each stub object in numba.cuda -> our dotted name."""
    found: dict[int, str] = {}
    if module is None:
        return found
    for name in ("fp16", "bf16", "libdevice"):
        with suppress(ImportError):  # numba-cuda's: Numba's core has no bfloat16
            importlib.import_module(f"numba.cuda.{name}")
    for dotted in DEVICE_NAMES:
        value = _part_of(module, dotted)
        # Numba's warpsize is the plain integer 32: every 32 would be taken for it.
        if value is not None and not isinstance(value, int):
            found[id(value)] = dotted
    return found


def _part_of(value: Any, dotted: str) -> Any:
    for part in dotted.split("."):
        value = getattr(value, part, None)
    return value


def numba_object(dotted: str) -> Any:
    """What numba.cuda itself has under a dotted name: the key of its typing rules."""
    module = importlib.import_module("numba.cuda")
    _numba_symbols(module)
    return _part_of(module, dotted)


def as_symbol(value: Any) -> Symbol | None:
    """The symbol that a Python object in a kernel's globals stands for, if any."""
    if isinstance(value, Symbol):
        return value
    if isinstance(value, (int, float, str, bytes, tuple)) or value is None:
        return None
    name = _numba_symbols(numba_cuda()).get(id(value))
    return Symbol(name) if name else None


def is_cuda_module(value: Any) -> bool:
    """True for our simulator's module and for numba.cuda itself."""
    if not isinstance(value, ModuleType):
        return False
    return value.__name__ in ("numba.cuda", "warpwise.simt.api", "warpwise.cuda")
