"""Numba's own compiler, for functions that use the simulator's names.  No GPU is needed.

The compiler is asked for the compute capability of the simulated device.  What it gets is the
learner's function, with Numba's names where the simulator's stand.
"""

from __future__ import annotations

import ast
import builtins
import copy
import threading
import types as python_types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from typing import Any

from .arguments import ArgumentHint
from .device import current_context, get_current_device
from .symbols import Symbol, is_cuda_module

_LOCK = threading.RLock()
#: Options of @cuda.jit that Numba's compiler takes, too.
OPTIONS = ("debug", "fastmath", "forceinline", "inline", "launch_bounds", "lineinfo", "lto",
           "max_registers", "opt", "shared_memory_carveout")  # fmt: skip


@contextmanager
def compiler() -> Iterator[Any]:
    """Numba's CUDA compiler (numba.cuda.dispatcher), which finds the simulated device instead of
    asking a driver for a real one.  One thread at a time."""
    try:
        from numba.cuda import compiler as first
        from numba.cuda import dispatcher
        from numba.cuda.cudadrv import devices
    except ImportError as error:
        raise NotImplementedError(f"this needs the package numba-cuda ({error})") from None
    replaced: list[tuple[Any, str, Any]] = [
        (dispatcher, "get_current_device", get_current_device),
        (first, "get_current_device", get_current_device),
        (devices, "get_context", current_context),
    ]
    with _LOCK:
        saved = [(owner, name, getattr(owner, name, None)) for owner, name, _ in replaced]
        for owner, name, value in replaced:
            setattr(owner, name, value)
        try:
            yield dispatcher
        finally:
            for owner, name, value in saved:
                setattr(owner, name, value)


class Translation:
    """Copies of functions with Numba's names where the simulator's stand, each made once.

    keep: device functions keep the dispatcher that is made for them.  Numba's keeps what it
    compiled by types alone, so that another compute capability wants a translation without it.
    """

    def __init__(self, keep: bool = False) -> None:
        self.keep = keep
        self.done: dict[int, Any] = {}
        self.seen: list[Any] = []  # so that no id() is used twice

    def function(self, fn: Callable[..., Any]) -> Any:
        """The same Python function: code, and with it file and lines, stay."""
        fn = getattr(fn, "py_func", None) or fn
        if id(fn) not in self.done:
            own = self._enter(fn, _empty_copy(fn))
            self._fill(own, fn)
        return self.done[id(fn)]

    def value(self, value: Any) -> Any:
        """Numba's own object for one of the simulator's: kernel, device function, cuda.<name>."""
        from numba import cuda

        from .device_functions import DeviceFunction
        from .kernel import Kernel

        if isinstance(value, (Kernel, DeviceFunction)):
            return self.device(value)
        if is_cuda_module(value):
            return cuda
        if isinstance(value, Symbol):
            found: Any = cuda
            for part in value.name.split("."):
                found = getattr(found, part)
            return found
        if type(value) is tuple:
            return tuple(self.value(item) for item in value)
        return value

    def device(self, ours: Any) -> Any:
        """Numba's dispatcher for a device function, with its options."""
        if self.keep and ours.native is not None:
            return ours.native
        if id(ours) not in self.done:
            from numba.cuda.dispatcher import CUDADispatcher

            fn = function_of(ours)
            own = _empty_copy(fn)
            made = CUDADispatcher(own, {**options_of(ours.options), "device": True})
            self._enter(ours, made)
            if self.keep:
                ours.native = made
            self._fill(own, fn)  # afterwards: a function may name itself
        return self.done[id(ours)]

    def _enter(self, original: Any, made: Any) -> Any:
        self.done[id(original)] = made
        self.seen.append(original)
        return made

    def _fill(self, own: Any, fn: Any) -> None:
        for name in names_of(fn.__code__):
            if name in fn.__globals__:
                own.__globals__[name] = self.value(fn.__globals__[name])
        for cell, theirs in zip(own.__closure__ or (), fn.__closure__ or (), strict=True):
            with suppress(ValueError):  # not filled yet
                cell.cell_contents = self.value(theirs.cell_contents)


def native(value: Any) -> Any:
    """Numba's own object for one of the simulator's, the same one each time."""
    return Translation(keep=True).value(value)


def native_function(fn: Callable[..., Any]) -> Any:
    """The same Python function, with Numba's names where the simulator's stand."""
    return Translation(keep=True).function(fn)


def function_of(value: Any) -> Any:
    """The Python function of a kernel or device function; one that exists as text only is made of
    its text, of which nothing is run: no decorator, no default value, no annotation."""
    if value.py_func is not None:
        return value.py_func
    source, scope = value.source, value.scope
    tree = copy.deepcopy(source.tree)
    tree.decorator_list, tree.returns = [], None
    for one in (*tree.args.posonlyargs, *tree.args.args, *tree.args.kwonlyargs):
        one.annotation = None
    tree.args.defaults, tree.args.kw_defaults = [], [None] * len(tree.args.kwonlyargs)
    module = builtins.compile(ast.Module([tree], []), source.filename, "exec")
    (code,) = (one for one in module.co_consts if isinstance(one, python_types.CodeType))
    names: dict[str, Any] = {"__builtins__": {}, "__name__": "__main__"}
    for name in names_of(code):
        with suppress(KeyError):  # an attribute, or a name that is not defined
            names[name] = scope.lookup(name)
    return python_types.FunctionType(code, names, source.name)


def options_of(given: dict[str, Any]) -> dict[str, Any]:
    kept = {name: given[name] for name in OPTIONS if given.get(name) is not None}
    if isinstance(kept.get("inline"), bool):
        kept["inline"] = "always" if kept["inline"] else "never"
    return {"opt": True, **kept}


def _empty_copy(fn: Any) -> Any:
    cells = tuple(python_types.CellType() for _ in fn.__closure__ or ())
    names = {key: fn.__globals__[key] for key in ("__builtins__", "__name__")
             if key in fn.__globals__}  # fmt: skip
    own = python_types.FunctionType(fn.__code__, names, fn.__name__, fn.__defaults__, cells or None)
    own.__kwdefaults__ = fn.__kwdefaults__
    own.__module__, own.__qualname__, own.__doc__ = fn.__module__, fn.__qualname__, fn.__doc__
    return own


def names_of(code: Any) -> set[str]:
    """Global names that the code, or functions inside it, may use."""
    found = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, python_types.CodeType):
            found |= names_of(constant)
    return found


@cache
def _numbas(name: str) -> Callable[..., Any]:
    """Numba's own function of this name, whatever stands in its place later."""
    from numba.cuda import compiler as module

    found: Callable[..., Any] = getattr(module, name)
    return found


def _compiles(name: str) -> Callable[..., Any]:
    def compiled(pyfunc: Any, *args: Any, **kwargs: Any) -> Any:
        with compiler():
            return _numbas(name)(native_function(pyfunc), *args, **kwargs)

    compiled.__name__ = name
    compiled.__doc__ = f"numba.cuda.{name}, for a function that may use the simulator's names."
    return compiled


compile = _compiles("compile")
compile_all = _compiles("compile_all")
compile_ptx = _compiles("compile_ptx")
compile_for_current_device = _compiles("compile_for_current_device")
compile_ptx_for_current_device = _compiles("compile_ptx_for_current_device")


def replacements() -> list[tuple[Any, str, Any]]:
    """(owner, name, value): what has to change where Numba's compiler is imported from."""
    try:
        from numba.cuda import compiler as module
    except ImportError:  # a Numba without it
        return []
    ours = (compile, compile_all, compile_ptx, compile_for_current_device,
            compile_ptx_for_current_device)  # fmt: skip
    there = [(fn.__name__, fn) for fn in ours if hasattr(module, fn.__name__)]
    return [(module, name, fn) for name, fn in there if callable(_numbas(name))]


def types_of(args: Any) -> tuple[Any, ...]:
    """The Numba types of a launch's arguments; types stand for themselves."""
    from numba.core import types

    try:
        from numba.cuda.typing.typeof import Purpose, typeof
    except ImportError:  # without numba-cuda: Numba's own core
        from numba.core.typing.typeof import Purpose, typeof

    return tuple(
        value if isinstance(value, types.Type) else typeof(value, Purpose.argument)
        for value in (one.value if isinstance(one, ArgumentHint) else one for one in args)
    )


def best_signature(name: str, args: tuple[Any, ...], signatures: Sequence[Any]) -> int:
    """Which signature Numba's dispatcher takes for these types; TypeError when two are as good."""
    from numba.core import types, typing

    from .typing import context

    cases = [typing.signature(types.none, *signature) for signature in signatures]
    found = context().resolve_overload(name, cases, args, {}, allow_ambiguous=False)
    return cases.index(found) if found in cases else 0
