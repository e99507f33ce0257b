"""Device functions: what `@cuda.jit(device=True)` makes of a function."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from . import native
from .errors import LaunchError, SourceError
from .frozen import FrozenScope
from .names import parameters_of
from .pickling import Picklable
from .source import Scope, Source
from .typing import Type


class DeviceFunction(Picklable):
    """A function under `@cuda.jit(device=True)`: called by kernels, never launched."""

    def __init__(
        self,
        source: Source,
        scope: Scope,
        py_func: Any = None,
        explicit: Sequence[tuple[tuple[Type, ...], Type | None]] = (),
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.explicit = list(explicit)  # argument and result types of its signatures
        self.options = dict(options or {})
        self.native: Any = None  # Numba's own, when its compiler was asked
        self.source = source
        self.scope = scope
        self.py_func = py_func
        self.frozen: dict[Any, FrozenScope] = {}  # globals, by argument types, for all kernels
        self.__name__ = source.name
        self.__doc__ = ast.get_docstring(source.tree)

    def defaults(self) -> dict[str, Any]:
        """Parameter -> default value; of a text, literals and global names."""
        parameters = parameters_of(self.source.tree)
        nodes = self.source.tree.args.defaults
        if self.py_func is not None:
            values = list(self.py_func.__defaults__ or ())
        else:
            values = [
                self.scope.lookup(node.id) if isinstance(node, ast.Name) else _literal(self, node)
                for node in nodes
            ]
        return dict(zip(parameters[len(parameters) - len(values) :], values, strict=True))

    @property
    def overloads(self) -> Mapping[Any, Any]:
        """What Numba's compiler makes of it, by argument types."""
        for signature in self.explicit:
            self.compile_device(*signature)
        found: Mapping[Any, Any] = native.native(self).overloads
        return found

    def compile_device(self, args: Any, return_type: Any = None) -> Any:
        """What Numba's compiler makes of it for these argument types."""
        with native.compiler():
            return native.native(self).compile_device(tuple(args), return_type)

    def inspect_llvm(self, signature: Any = None) -> Any:
        """LLVM's intermediate representation, for all signatures or for one."""
        return self._inspect("inspect_llvm", signature)

    def inspect_asm(self, signature: Any = None) -> Any:
        """PTX, for all signatures or for one."""
        return self._inspect("inspect_asm", signature)

    def _inspect(self, what: str, signature: Any) -> Any:
        given = getattr(signature, "args", signature)
        if given is None:
            known = self.overloads
            return {types: self._inspect(what, types) for types in known}
        self.compile_device(given)
        with native.compiler():
            return getattr(native.native(self), what)(tuple(given))

    def inspect_sass(self, signature: Any = None) -> Any:
        """Refused: machine code is made of kernels."""
        raise RuntimeError("Cannot inspect SASS of a device function: ask a kernel that calls it")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise LaunchError(
            f"{self.__name__} is a device function: kernels call it; the host cannot."
        )

    def __getitem__(self, config: Any) -> Any:
        raise LaunchError(
            f"{self.__name__} is a device function and cannot be launched. "
            "Without device=True, @cuda.jit makes a kernel."
        )

    def __getstate__(self) -> dict[str, Any]:
        """What goes into a pickle: nothing that was compiled."""
        return {**self.__dict__, "native": None}

    def __repr__(self) -> str:
        return f"<device function {self.__name__}>"


def _literal(device: DeviceFunction, node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise SourceError(
            f"{device.__name__}: a default value of a parameter has to be a literal or a name."
        ) from None
