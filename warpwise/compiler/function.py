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
from ..simt.symbols import Symbol, is_cuda_module
from .errors import CompilerError


def plain_function(kernel: Any) -> FunctionType:
    """The Python function of a kernel of ours or Numba's, or a plain function, ready for Numba."""
    function = getattr(kernel, "py_func", kernel)
    if not isinstance(function, FunctionType):
        raise CompilerError(
            f"{getattr(kernel, '__name__', kernel)!r} has no Python function behind it, so the "
            "compiler cannot read it. Pass the function under @cuda.jit."
        )
    return _Translation().function(function)


class _Translation:
    """Translates each function once, so that recursion ends."""

    def __init__(self) -> None:
        self.done: dict[int, Any] = {}
        self.kept: list[Any] = []  # so that no id() is used twice

    def function(self, function: FunctionType) -> FunctionType:
        if id(function) in self.done:
            copy: FunctionType = self.done[id(function)]
            return copy
        names: dict[str, Any] = {"__builtins__": function.__globals__.get("__builtins__")}
        cells = tuple(CellType() for _ in function.__closure__ or ())
        copy = FunctionType(
            function.__code__, names, function.__name__, function.__defaults__, cells or None
        )
        copy.__kwdefaults__ = function.__kwdefaults__
        copy.__module__ = function.__module__
        copy.__qualname__ = function.__qualname__
        copy.__annotations__ = {}
        self.done[id(function)] = copy
        self.kept.append(function)
        for name in _names(function.__code__):
            if name in function.__globals__:
                names[name] = self.value(function.__globals__[name])
        names["__name__"] = function.__globals__.get("__name__", "__main__")
        for cell, old in zip(cells, function.__closure__ or (), strict=True):
            try:
                cell.cell_contents = self.value(old.cell_contents)
            except ValueError:
                continue  # a name that is not bound yet
        return copy

    def value(self, value: Any) -> Any:
        """What Numba's compiler has instead of one of our objects; anything else as it is."""
        from numba import cuda

        if is_cuda_module(value):
            return cuda
        if isinstance(value, Symbol):
            found: Any = cuda
            for part in value.name.split("."):
                found = getattr(found, part)
            return found
        if isinstance(value, (DeviceFunction, Kernel)):
            if id(value) not in self.done:
                self.kept.append(value)
                self.done[id(value)] = self.device(value)
            return self.done[id(value)]
        if isinstance(value, tuple) and type(value) is tuple:
            return tuple(self.value(item) for item in value)
        return value

    def device(self, ours: Any) -> Any:
        """Numba's own device function for one of ours, with its options.

        A fresh one each time: Numba's keeps what it compiled by types alone, and here the
        architecture differs from call to call.
        """
        from numba.cuda.decorators import jit  # numba.cuda.jit may be our simulator's

        if ours.py_func is None:
            raise CompilerError(
                f"{ours.__name__} was made from text; the compiler needs a function."
            )
        kept = {
            k: v for k, v in ours.options.items() if k in ("inline", "fastmath", "debug", "opt")
        }
        return jit(self.function(ours.py_func), device=True, **kept)


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
        names = sorted(_names(code) & function.__globals__.keys())
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


def _names(code: Any) -> set[str]:
    """Global names that the code, or functions inside it, may use."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if hasattr(constant, "co_names"):
            found |= _names(constant)
    return found
