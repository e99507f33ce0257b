"""Lowering of expressions: a Python expression of the kernel becomes one over NumPy.

Loads and calls become temporaries in the order of the source; everything else has no effect and
stays one readable expression.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.core import types

from . import (
    arithmetic,
    assignments,
    attributes,
    comparisons,
    conditions,
    lints,
    named,
    objects,
    ops,
    subscripts,
    typing,
)
from .closures import closure_of
from .errors import TypingError, UnsupportedError
from .functions import UnresolvedError
from .lowering import Lowering, UnassignedError
from .program import MISSING, Val, describe
from .refusals import without_numba_cuda
from .rounding import narrow
from .symbols import Symbol
from .typing import STATIC, ArrayType, NamedTupleType, NoSignature, RecordType, TupleType, Type


class Expressions(Lowering):
    """Emits code for the expressions of one function; statements are added by the subclass."""

    def expression(self, node: ast.expr) -> Val:
        """Lower any expression; refuses what kernels do not have."""
        lower = EXPRESSIONS.get(type(node))
        if lower is None:
            name = _CONSTRUCTS.get(type(node).__name__, type(node).__name__)
            self.fail(
                UnsupportedError, node, f"{name} cannot be used in a kernel",
                "A kernel has numbers, tuples and arrays; write a loop instead.",
            )  # fmt: skip
        result = lower(self, node)
        fixed = isinstance(node, (ast.Name, ast.Constant))
        return result if fixed else self.settled(node, result)

    def settled(self, node: ast.AST, value: Val, name: str = "") -> Val:
        """The value in a type that holds for all rounds of finding a loop's types.

        Numba's inference only widens: what an expression, or a name at its assignment, was in an
        earlier round stays part of its type.  uint64 in the first round and int64 in the second
        make float64.
        """
        if not typing.is_number(value.type):
            return value
        place = (id(node), name)
        key = (*place, self.visits[place])
        self.visits[place] += 1
        before, _ = self.rounds.get(key, (value.type, node))
        joined = typing.unify(before, value.type)
        if joined is None:
            self.fail(
                TypingError, node,
                f"this is {describe(before)} in one iteration, {describe(value.type)} in another",
                "Give it one type.",
            )  # fmt: skip
        self.rounds[key] = joined, node  # the node is kept, so that its id stays its own
        return self.cast(value, joined, node)

    def static_value(self, const: Any) -> Val:
        """A static object; a tuple of nothing but numbers and arrays at run time is a value."""
        if (
            isinstance(const, tuple)
            and const
            and all(isinstance(item, Val) and not item.static and not item.known for item in const)
        ):
            return self.tuple_of(list(const))
        return Val("None", STATIC, const)

    def cast(self, value: Val, to: Type, node: ast.AST | None = None) -> Val:
        """The value in another type, as the compiler converts it."""
        if value.type == to:
            return value
        if isinstance(to, TupleType) and isinstance(value.type, TupleType):
            parts = zip(self.items(value), to.items, strict=True)
            items = self.tuple_of([self.cast(item, kind, node) for item, kind in parts])
            return named.with_class(items, to.made_by) if isinstance(to, NamedTupleType) else items
        if isinstance(to, RecordType) and isinstance(value.type, RecordType):
            deeper = to.ndim != value.type.ndim
            return Val(f"padded({value.code}, {to.ndim})" if deeper else value.code, to)
        if isinstance(value.type, types.IntEnumMember) and typing.is_integer(to):
            return self.cast(named.plain(value), to, node)
        if isinstance(value.type, types.NPTimedelta) and typing.is_integer(to):
            return Val(f"{value.code}.astype(np.{typing.numpy_dtype(to).name})", to)
        if not typing.is_number(value.type) or not typing.is_number(to):
            self.fail(
                TypingError, node or self.source.tree,
                f"{describe(value.type)} cannot become {describe(to)}",
            )  # fmt: skip
        lints.said_now(self, value, to)
        if typing.is_bfloat16(to):
            return self.as_bfloat16(value, to, node or self.source.tree)
        dtype = typing.numpy_dtype(to)
        if isinstance(to, types.Boolean):
            code, convert = f"({value.code} != 0)", lambda v: np.bool_(v != 0)
        elif typing.is_float(value.type) and typing.is_integer(to):
            name = self.program.constant(dtype)
            code, convert = f"to_integer({value.code}, {name})", lambda v: ops.to_integer(v, dtype)
        elif isinstance(value.type, types.Complex) and not isinstance(to, types.Complex):
            self.fail(
                TypingError, node or self.source.tree,
                f"{value.type} cannot become {to}: take .real or .imag",
            )  # fmt: skip
        else:
            code, convert = f"{value.code}.astype(np.{dtype.name})", lambda v: v.astype(dtype)
        if value.known:
            with np.errstate(all="ignore"):
                return self.known(convert(value.const), to)
        return Val(code, to)

    def fitted(self, value: Val, to: Type, node: ast.AST, site: int) -> Val:
        """An integer cut to a narrower signed type, with a note at run time where it does not fit;
        any other value as it is."""
        if (
            value.known
            or not (typing.is_integer(value.type) and typing.is_integer(to))
            or not (to.signed and to.bitwidth < value.type.bitwidth)
        ):
            return value
        dtype = typing.numpy_dtype(to).name
        return self.checked(f"fitted(rt, {value.code}, np.dtype(np.{dtype})", to, site)

    def as_bfloat16(self, value: Val, to: Type, node: ast.AST) -> Val:
        """A number rounded once to bfloat16; refused for types that Numba does not convert."""
        if value.type in (types.boolean, types.int8, types.uint8) or isinstance(
            value.type, types.Complex
        ):
            self.fail(TypingError, node, f"Numba does not convert {value.type} to bfloat16",
                      "Convert it to float32 first.")  # fmt: skip
        dtype = typing.numpy_dtype(to)
        name = self.program.constant(dtype)
        short = value.type in (types.float32, types.float16)  # NumPy rounds these once, too
        code = f"{value.code}.astype({name})" if short else f"narrow({value.code}, {name})"
        if value.known:
            return self.known(narrow(value.const, dtype), to)
        return Val(code, to)

    def truth(self, value: Val, node: ast.AST) -> Val:
        """The value as a condition."""
        if isinstance(value.type, types.Boolean):
            return value
        if not typing.is_number(value.type):
            self.fail(TypingError, node, f"{describe(value.type)} cannot be used as a condition")
        if value.type == types.float16 or typing.is_bfloat16(value.type):
            self.fail(TypingError, node, f"Numba does not compile {describe(value.type)} as a "
                      "condition", "Compare it: x != 0.")  # fmt: skip
        return self.cast(value, types.boolean, node)

    def no_function(self, value: Val, node: ast.AST) -> None:
        """Refuse `cuda.grid` where `cuda.grid(1)` was meant."""
        if value.static and isinstance(value.const, Symbol):
            name = value.const.name
            example = {"grid": "cuda.grid(1)", "gridsize": "cuda.gridsize(1)"}.get(
                name, f"cuda.{name}.x" if name.endswith(("Idx", "Dim")) else f"cuda.{name}(...)"
            )
            self.fail(TypingError, node, f"cuda.{name} itself is no number", f"Write {example}.")

    def resolve(
        self, function: Any, label: str, args: list[Val], node: ast.AST
    ) -> typing.Signature:
        """Numba's signature for a call, or its refusal in plain words."""
        for value in args:
            if not typing.is_scalar(value.type):
                self.no_function(value, node)
                kinds = " and ".join(describe(v.type) for v in args)
                hint = ""
                if any(isinstance(v.type, TupleType) for v in args):
                    hint = "A tuple holds several values: take one, t[0], or unpack it: x, y = t."
                if any(isinstance(v.type, ArrayType) for v in args):
                    hint = "Index the array: a thread works on one element at a time."
                self.fail(TypingError, node, f"{label} does not take {kinds}", hint)
        kinds_of = tuple(value.type for value in args)
        try:
            return typing.resolve(function, kinds_of)
        except NoSignature:
            kinds = " and ".join(describe(t) for t in kinds_of)
            hint = without_numba_cuda(kinds_of)
            self.fail(TypingError, node, f"Numba has no {label} for {kinds}", hint)


def _lower_constant(fl: Expressions, node: ast.Constant) -> Val:
    if node.value is None or isinstance(node.value, (str, bytes)) or node.value is ...:
        return Val("None", STATIC, node.value)
    return fl.number(node, node.value)


def _lower_name(fl: Expressions, node: ast.Name) -> Val:
    if node.id in fl.env:
        var = fl.env[node.id]
        if var.type is STATIC:
            return fl.static_value(var.const)
        code = fl.variable(node.id, var.type)
        if not var.sure:
            fl.track(node.id)
            site = fl.site(node, node.id, "read")
            assigned = fl.assigned_mask(node.id)
            code = f"bound(rt, {code}, {assigned}, {fl.mask}, {node.id!r}, {site})"
        wide = fl.origins[node.id][3] if node.id in fl.origins else None
        return Val(code, var.type, fl.known_names.get(node.id, MISSING), wide)
    if fl.unresolved(node.id):
        raise UnresolvedError
    if fl.is_local(node.id):
        if fl.mask != "m":
            raise UnassignedError(node, fl.mask)
        fl.fail(
            TypingError, node, f"{node.id} is read before anything is assigned to it",
            f"Give {node.id} a value first, on every path that leads here.",
        )  # fmt: skip
    try:
        value = fl.scope.lookup(node.id)
    except KeyError:
        if hasattr(builtins, node.id):
            fl.fail(UnsupportedError, node, f"Python's {node.id} cannot be used in a kernel")
        fl.fail(
            TypingError, node, f"the name {node.id} is not defined",
            "Define it before the kernel is launched, or check the spelling.",
        )  # fmt: skip
    return objects.of_object(fl, node, value)


def _lower_tuple(fl: Expressions, node: ast.Tuple) -> Val:
    items: list[Val] = []
    for item in node.elts:
        if isinstance(item, ast.Starred):
            value = fl.expression(item.value)
            if not isinstance(value.type, TupleType) and not isinstance(value.const, tuple):
                fl.fail(TypingError, item, f"only a tuple can follow *, not "
                          f"{describe(value.type)}")  # fmt: skip
            items.extend(fl.items(fl.held(value)))
        else:
            items.append(fl.expression(item))
    return fl.tuple_of(items)


def _lower_named(fl: Expressions, node: ast.NamedExpr) -> Val:
    assignments.assign_name(fl, node.target.id, fl.expression(node.value), node)
    var = fl.env[node.target.id]
    if var.type is STATIC:
        return Val("None", STATIC, var.const)
    return Val(fl.variable(node.target.id, var.type), var.type)


def _lower_call(fl: Expressions, node: ast.Call) -> Val:
    from .calls import lower_call

    return lower_call(fl, node)


#: What lowers each expression.
EXPRESSIONS: dict[type[ast.expr], Callable[[Expressions, Any], Val]] = {
    ast.Constant: _lower_constant,
    ast.Name: _lower_name,
    ast.Tuple: _lower_tuple,
    ast.NamedExpr: _lower_named,
    ast.BinOp: arithmetic.lower_binary,
    ast.UnaryOp: arithmetic.lower_unary,
    ast.Compare: comparisons.lower_compare,
    ast.BoolOp: conditions.lower_and_or,
    ast.IfExp: conditions.lower_conditional,
    ast.Attribute: attributes.lower_attribute,
    ast.Subscript: subscripts.lower_subscript,
    ast.Lambda: closure_of,
    ast.Call: _lower_call,
}
_CONSTRUCTS = {
    "ListComp": "a list comprehension", "SetComp": "a set comprehension",
    "DictComp": "a dict comprehension", "GeneratorExp": "a generator expression",
    "List": "a list", "Dict": "a dict", "Set": "a set",
    "JoinedStr": "an f-string", "Await": "await", "Yield": "yield", "YieldFrom": "yield from",
    "Starred": "a starred expression",
    "Slice": "a slice here",
}  # fmt: skip  # fmt: skip
