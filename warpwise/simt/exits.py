"""Lowering of what leaves a loop or the function: `break`, `continue`, `return`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from . import joins
from .errors import UnsupportedError
from .names import assigned_in, names
from .typing import TupleType, Type

if TYPE_CHECKING:
    from .statements import Function


def lower_break(fl: Function, node: ast.Break) -> bool:
    loop = fl.loops[-1]
    loop.breaks.append(joins.edge_here(fl))
    if loop.broke:
        fl.emit(f"{loop.broke} = both({loop.broke}, {fl.mask})")
    fl.emit(f"{fl.mask} = False")
    return False


def lower_continue(fl: Function, node: ast.Continue) -> bool:
    loop = fl.loops[-1]
    loop.continues.append(joins.edge_here(fl))
    fl.emit(f"{loop.again} = both({loop.again}, {fl.mask})")
    fl.emit(f"{fl.mask} = False")
    return False


def makes_local(fl: Function, value: ast.expr | None) -> bool:
    """Whether a returned local array was made here, not passed in."""
    made = {
        name
        for node in ast.walk(fl.source.tree)
        if isinstance(node, ast.Assign) and "local.array" in ast.unparse(node.value)
        for target in node.targets
        for name in assigned_in(target)
    }
    names_in = set() if value is None else set(names(value))
    passed = any(
        _local_memory(fl.env[p].type) for p in fl.parameters if p in fl.env
    )  # fmt: skip
    return bool(names_in & made) or not passed


def lower_return(fl: Function, node: ast.Return) -> bool:
    value = None if node.value is None else fl.expression(node.value)
    if value is not None and value.static and value.const is None:
        value = None
    if value is not None and fl.is_kernel:
        fl.fail(
            UnsupportedError, node, "a kernel cannot return a value",
            "Store the result into an array that is passed as an argument.",
        )  # fmt: skip
    if value is not None and _local_memory(value.type) and makes_local(fl, node.value):
        fl.fail(
            UnsupportedError, node,
            f"{fl.source.name} returns a local array, whose memory ends with the function",
            "On a GPU it may hold anything afterwards. Make the array in the function that "
            "calls, and pass it in as an argument.",
        )  # fmt: skip
    fl.returned.append(None if value is None else value.type)
    code = ""
    if value is not None:
        if value.static:
            fl.fail(UnsupportedError, node, "a device function returns numbers, tuples or "
                      "arrays only")  # fmt: skip
        if fl.result is not None:
            value = fl.cast(value, fl.result, node)
        code = value.code
    if not fl.returns_early:
        if code:
            fl.emit(f"return {code}")
        return False
    if code:
        fl.emit(f"value_returned = assign({fl.mask}, {code}, value_returned, True)")
    if fl.loops:
        fl.emit(f"lanes_gone = both(lanes_gone, {fl.mask})")
    if fl.is_kernel:
        fl.emit(f"rt.leave({fl.mask})")
    fl.emit(f"{fl.mask} = False")
    return False


def _local_memory(kind: Type | None) -> bool:
    """Whether a value of this type leads to local memory."""
    if isinstance(kind, TupleType):
        return any(_local_memory(item) for item in kind.items)
    return getattr(kind, "space", "") == "local"
