"""Numba's typed IR as a Python function of one thread.

A thread is a generator: it yields what it asks of the other threads (a barrier, a shuffle) and is
sent the answer.  Every conversion is the one that the compiler's signatures and variable types ask
for.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda, typeof, types
from numba.cuda import stubs
from numba.cuda.core import ir

from . import arithmetic, memory

#: Types whose values are known while compiling and have no place at run time.
STATIC = (types.Module, types.Function, types.NumberClass, types.Dispatcher, types.DType,
          types.ExternalFunction)  # fmt: skip
VALUES = (bool, int, float, complex, tuple, np.generic, np.ndarray, type(None))
AXES = ("threadIdx", "blockIdx", "blockDim", "gridDim")


class Unknown(Exception):
    """Something that the reference does not model."""


def following(pairs: Any) -> tuple[Any, bool]:
    """(next item, True), or (None, False) at the end."""
    try:
        return next(pairs), True
    except StopIteration:
        return None, False


class Compiler:
    """Compiles typed functions; each once."""

    def __init__(self) -> None:
        self.done: dict[Any, tuple[Callable[..., Any], bool]] = {}

    def function(self, code: Any, key: Any) -> tuple[Callable[..., Any], bool]:
        """A callable of (thread, *arguments), and whether it is a generator."""
        if key not in self.done:
            self.done[key] = Function(self, code).compile()
        return self.done[key]


class Function:
    """One function on its way from IR to Python."""

    def __init__(self, compiler: Compiler, code: Any) -> None:
        self.compiler = compiler
        self.code = code
        self.lines: list[str] = []
        self.names: dict[str, str] = {}
        self.static: dict[str, Any] = {}
        self.fixed: set[str] = set()  # values known to the compiler, which does their arithmetic
        self.scope: dict[str, Any] = {"following": following}

    def compile(self) -> tuple[Callable[..., Any], bool]:
        labels = sorted(self.code.blocks)
        for k, label in enumerate(labels):
            self.lines.append(f"        {'el' * (k > 0)}if pc == {label}:")
            before = len(self.lines)
            for instruction in self.code.blocks[label].body:
                self.instruction(instruction)
            if len(self.lines) == before:
                self.lines.append("            pass")
        parameters = ", ".join(f"arg{k}" for k in range(len(self.code.parameters)))
        head = [f"def f(t, {parameters}):", f"    pc = {labels[0]}", "    while True:"]
        if self.code.result == types.void:  # a kernel: a generator, even without barriers
            head.insert(1, "    if False: yield")
        text = "\n".join([*head, *self.lines])
        exec(compile(text, "<reference machine>", "exec"), self.scope)
        return self.scope["f"], "yield" in text

    # -- text -----------------------------------------------------------------------------------

    def emit(self, text: str) -> None:
        self.lines.append("            " + text)

    def name(self, var: Any) -> str:
        return self.names.setdefault(var.name, f"v{len(self.names)}")

    def type(self, var: Any) -> Any:
        return self.code.typemap[var.name]

    def held(self, value: Any) -> str:
        """A name for an object."""
        name = f"o{len(self.scope)}"
        self.scope[name] = value
        return name

    def cast(self, text: str, source: Any, target: Any) -> str:
        convert = arithmetic.cast(source, target)
        return text if convert is None else f"{self.held(convert)}({text})"

    def read(self, var: Any, target: Any) -> str:
        return self.cast(self.name(var), self.type(var), target)

    # -- instructions -----------------------------------------------------------------------------

    def instruction(self, node: Any) -> None:
        if isinstance(node, ir.Assign):
            self.assign(node)
        elif isinstance(node, ir.SetItem):
            self.store(node, node.index)
        elif isinstance(node, ir.StaticSetItem):
            self.store(node, node.index_var)
        elif isinstance(node, ir.Jump):
            self.emit(f"pc = {node.target}; continue")
        elif isinstance(node, ir.Branch):
            self.emit(f"pc = {node.truebr} if {self.name(node.cond)} else {node.falsebr}; continue")
        elif isinstance(node, ir.Return):
            self.emit(f"return {self.read(node.value, self.code.result)}")
        elif not isinstance(node, ir.Del):
            raise Unknown(type(node).__name__)

    def assign(self, node: Any) -> None:
        target, value = node.target, node.value
        kind = self.type(target)
        if isinstance(value, (ir.Global, ir.FreeVar, ir.Const)):
            self.constant(target, value.value, kind)
        elif isinstance(value, ir.Arg):
            given = self.code.typemap[f"arg.{value.name}"]
            self.set(target, self.cast(f"arg{value.index}", given, kind))
        elif isinstance(value, ir.Var):
            if value.name in self.static:
                self.static[target.name] = self.static[value.name]
            else:
                self.set(target, self.read(value, kind))
        elif isinstance(value, ir.Expr):
            if target.name.startswith("$") and value.op in ("binop", "unary", "call", "cast"):
                if all(v.name in self.fixed or v.name in self.static for v in value.list_vars()):
                    self.fixed.add(target.name)
            handler = getattr(self, f"on_{value.op}", None)
            if handler is None:
                raise Unknown(f"expression {value.op}")
            text, found = handler(value, target)
            if text is not None:
                self.set(target, self.cast(text, found or kind, kind))
        else:
            raise Unknown(type(value).__name__)

    def set(self, target: Any, text: str) -> None:
        self.emit(f"{self.name(target)} = {text}")

    def constant(self, target: Any, value: Any, kind: Any) -> None:
        if isinstance(kind, STATIC) or not isinstance(value, VALUES):
            self.static[target.name] = value
            return
        if isinstance(value, np.ndarray):
            array = memory.of_numpy("constant", np.ascontiguousarray(value), kind.dtype, "const")
            self.set(target, self.held(array))
            return
        if target.name.startswith("$"):
            self.fixed.add(target.name)
        self.set(target, self.cast(self.held(self.number(value)), typeof(value), kind))

    def number(self, value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(self.number(v) for v in value)
        if isinstance(value, float):
            return np.float64(value)
        if isinstance(value, complex):
            return np.complex128(value)
        return value.item() if isinstance(value, (np.integer, np.bool_)) else value

    def store(self, node: Any, index: Any) -> None:
        signature = self.code.calltypes[node]
        array = self.type(node.target)
        value = self.read(node.value, signature.args[2])
        value = self.cast(value, signature.args[2], array.dtype)
        index = self.read(index, signature.args[1])
        self.emit(f"t.put({node.loc.line}, {self.name(node.target)}, {index}, {value})")

    # -- expressions: (text, type) -----------------------------------------------------------------

    def on_binop(self, node: Any, target: Any) -> tuple[str | None, Any]:
        signature = self.code.calltypes[node]
        return self.operator(node.fn, node, signature)

    def on_inplace_binop(self, node: Any, target: Any) -> tuple[str | None, Any]:
        return self.operator(node.immutable_fn, node, self.code.calltypes[node])

    def operator(self, fn: Any, node: Any, signature: Any) -> tuple[str, Any]:
        args = tuple(arithmetic.plain(t) for t in signature.args)
        if fn in (operator.is_, operator.is_not):
            raise Unknown("is")
        f = arithmetic.binary(fn, args, signature.return_type)
        a, b = self.read(node.lhs, args[0]), self.read(node.rhs, args[1])
        if not {node.lhs.name, node.rhs.name} <= self.fixed:
            self.count(node, signature.return_type)
        return f"{self.held(f)}({a}, {b})", signature.return_type

    def count(self, node: Any, kind: Any) -> None:
        """One floating-point operation."""
        if kind in arithmetic.FLOATS:
            self.emit(f"t.count({node.loc.line}, {str(kind)!r})")

    def on_unary(self, node: Any, target: Any) -> tuple[str, Any]:
        signature = self.code.calltypes[node]
        if node.value.name not in self.fixed:
            self.count(node, signature.return_type)
        f = arithmetic.unary(node.fn, arithmetic.plain(signature.args[0]), signature.return_type)
        return f"{self.held(f)}({self.read(node.value, signature.args[0])})", signature.return_type

    def on_cast(self, node: Any, target: Any) -> tuple[str, Any]:
        return self.name(node.value), self.type(node.value)

    def on_null(self, node: Any, target: Any) -> tuple[str, Any]:
        return "None", None  # a variable that has no value yet

    def on_build_tuple(self, node: Any, target: Any) -> tuple[str | None, Any]:
        if any(item.name in self.static for item in node.items):
            self.static[target.name] = tuple(self.static.get(i.name) for i in node.items)
            return None, None
        kinds = self.type(target).types
        parts = "".join(f"{self.read(i, t)}, " for i, t in zip(node.items, kinds, strict=True))
        return f"({parts})", None

    def on_exhaust_iter(self, node: Any, target: Any) -> tuple[str, Any]:
        if isinstance(self.type(node.value), types.Array):
            raise Unknown("unpacking an array")
        return self.name(node.value), self.type(node.value)

    def on_getiter(self, node: Any, target: Any) -> tuple[str, Any]:
        return f"t.items({node.loc.line}, {self.name(node.value)})", None

    def on_iternext(self, node: Any, target: Any) -> tuple[str, Any]:
        return f"following({self.name(node.value)})", None

    def on_pair_first(self, node: Any, target: Any) -> tuple[str, Any]:
        return f"{self.name(node.value)}[0]", None

    def on_pair_second(self, node: Any, target: Any) -> tuple[str, Any]:
        return f"{self.name(node.value)}[1]", None

    def on_getitem(self, node: Any, target: Any) -> tuple[str, Any]:
        return self.item(node, node.index)

    def on_static_getitem(self, node: Any, target: Any) -> tuple[str, Any]:
        kind = self.type(node.value)
        if isinstance(kind, types.BaseTuple):
            found = kind.types[node.index] if isinstance(node.index, int) else None
            return f"{self.name(node.value)}[{self.held(node.index)}]", found
        return self.item(node, node.index_var)

    def item(self, node: Any, index: Any) -> tuple[str, Any]:
        signature = self.code.calltypes[node]
        position = self.read(index, signature.args[1])
        text = f"t.get({node.loc.line}, {self.name(node.value)}, {position})"
        return text, signature.return_type

    def on_getattr(self, node: Any, target: Any) -> tuple[str | None, Any]:
        if node.value.name in self.static:
            owner = self.static[node.value.name]
            kind = self.type(target)
            if getattr(owner, "__name__", "") in AXES or isinstance(owner, stubs.Dim3):
                axis = getattr(owner, "__name__", None) or owner._description_.strip("<>")
                return f"t.dims[{f'{axis}.{node.attr}'!r}]", types.int32
            if owner is cuda and node.attr in ("laneid", "warpsize"):
                return f"t.dims[{node.attr!r}]", types.int32
            value = getattr(owner, node.attr)
            if isinstance(kind, (types.Number, types.Boolean)):
                self.constant(target, value, kind)
                return None, None
            self.static[target.name] = value
            return None, None
        kind = self.type(node.value)
        if isinstance(kind, types.Array) and node.attr in ("shape", "size", "ndim"):
            return f"{self.name(node.value)}.{node.attr}", None
        if isinstance(kind, types.Complex) and node.attr in ("real", "imag"):
            return f"{self.name(node.value)}.{node.attr}", kind.underlying_float
        if node.attr in ("real",) and isinstance(kind, (types.Number, types.Boolean)):
            return self.name(node.value), kind
        raise Unknown(f"attribute {node.attr} of {kind}")

    # -- calls --------------------------------------------------------------------------------

    def on_call(self, node: Any, target: Any) -> tuple[str | None, Any]:
        from . import calls

        if node.func.name not in self.static:
            raise Unknown(f"call of {node.func}")
        signature = self.code.calltypes[node]
        return calls.lower(self, node, target, self.static[node.func.name], signature)
