"""The function that Numba's compiler gets to see.

A kernel's globals may hold our simulator's module, its device functions and its symbols.  Numba's
compiler knows only its own, so it gets a copy of the function over translated globals and cells.
Code, and with it file and line numbers, stay the same.
"""

from __future__ import annotations

from types import CellType, FunctionType, ModuleType
from typing import Any

import numpy as np

from ..simt.device_functions import DeviceFunction
from ..simt.kernel import Kernel
from ..simt.native import Translation, function_of, names_of
from ..simt.symbols import Symbol
from .errors import CompilerError


def plain_function(kernel: Any) -> FunctionType:
    """The Python function of a kernel of ours or Numba's, or a plain function, ready for Numba."""
    function = getattr(kernel, "py_func", kernel)
    if function is None and isinstance(kernel, Kernel | DeviceFunction):
        function = function_of(kernel)
    if not isinstance(function, FunctionType):
        raise CompilerError(
            f"{getattr(kernel, '__name__', kernel)!r} has no Python function behind it, so the "
            "compiler cannot read it. Pass the function under @cuda.jit."
        )
    copy: FunctionType = Translation().function(function)
    return copy


def fingerprint(kernel: Any) -> str | None:
    """A text that is equal for equal functions with equal constants; None when that cannot be said.

    Constants are what Numba freezes: numbers, texts, tuples, arrays, types, device functions.
    """
    parts: list[str] = []
    seen: set[int] = set()

    def add_function(function: FunctionType) -> bool:
        if id(function) in seen:
            return True
        seen.add(id(function))
        code = function.__code__
        parts.append(f"{code.co_filename}:{code.co_firstlineno}:{code.co_code.hex()}")
        names = sorted(names_of(code) & function.__globals__.keys())
        cells = [cell.cell_contents for cell in function.__closure__ or () if _bound(cell)]
        return all(
            add(value)
            for value in [
                *code.co_consts, *(function.__defaults__ or ()), *cells,
                *(function.__globals__[name] for name in names),
            ]
        )  # fmt: skip

    def add(value: Any) -> bool:
        if isinstance(value, (Kernel, DeviceFunction)) or hasattr(value, "py_func"):
            return isinstance(value.py_func, FunctionType) and add_function(value.py_func)
        if isinstance(value, FunctionType):
            return add_function(value)
        if isinstance(value, (tuple, frozenset)):
            return all(add(item) for item in value)
        if isinstance(value, np.ndarray):
            parts.append(f"{value.dtype}{value.shape}{value.tobytes().hex()}")
        elif isinstance(value, ModuleType):
            parts.append(value.__name__)
        elif hasattr(value, "co_code"):
            parts.append(value.co_code.hex())
            return all(add(item) for item in value.co_consts)
        elif (
            value is None
            or isinstance(
                value, (bool, int, float, complex, str, bytes, np.generic, np.dtype, type, Symbol)
            )
            or type(value).__module__.startswith(("numba.", "numpy"))
        ):
            parts.append(repr(value))
        else:
            return False
        return True

    function = getattr(kernel, "py_func", kernel)
    return (
        "|".join(parts) if isinstance(function, FunctionType) and add_function(function) else None
    )


def _bound(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
