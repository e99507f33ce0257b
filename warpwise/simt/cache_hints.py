"""Lowering of loads and stores with a word to the cache: cuda.ldcg(x, i), cuda.stcs(x, i, v).

The hint changes how fast memory answers and never a value, so they are plain loads and stores here.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numba.core import types

from . import stores, subscripts, typing
from .errors import TypingError
from .program import Val, describe
from .typing import STATIC, ArrayType, TupleType

if TYPE_CHECKING:
    from .expressions import Expressions

Handler = Callable[["Expressions", ast.Call, list[Val]], Val]

LOADS = ("ldca", "ldcg", "ldcs", "ldlu", "ldcv")
STORES = ("stcg", "stcs", "stwb", "stwt")


def _element(fl: Expressions, node: ast.Call, args: list[Val], name: str, count: int) -> str:
    """The index of the element as source; refuses what Numba refuses."""
    if len(args) != count:
        fl.fail(TypingError, node, f"cuda.{name} takes {count} arguments, got {len(args)}")
    array, index = args[:2]
    if not isinstance(array.type, ArrayType):
        fl.fail(TypingError, node, f"cuda.{name} takes an array first, not {describe(array.type)}")
    label, kind = ast.unparse(node.args[0]), array.type
    if kind.space != "global":
        fl.fail(TypingError, node, f"cuda.{name} reaches global memory; {label} is a {kind.space} "
                "array", f"Write {label}[...].")  # fmt: skip
    if not (typing.is_integer(kind.dtype) or isinstance(kind.dtype, types.Float)):
        fl.fail(TypingError, node, f"cuda.{name} works on integers and floats; {label} holds "
                f"{describe(kind.dtype)}")  # fmt: skip
    parts = fl.items(index) if isinstance(index.type, TupleType) else [index]
    if len(parts) != kind.ndim:
        fl.fail(TypingError, node, f"{label} has {kind.ndim} dimension{'s' * (kind.ndim != 1)} "
                f"but is indexed with {len(parts)}")  # fmt: skip
    for part in parts:
        if not typing.is_integer(part.type):
            fl.fail(TypingError, node, f"an index of {label} has type {describe(part.type)}; it "
                    "has to be an integer")  # fmt: skip
    return "".join(f"{part.code}, " for part in parts)


def _load(name: str) -> Handler:
    def lower(fl: Expressions, node: ast.Call, args: list[Val]) -> Val:
        index = _element(fl, node, args, name, 2)
        return subscripts.element(fl, args[0], index, ast.unparse(node.args[0]), node)

    return lower


def _store(name: str) -> Handler:
    def lower(fl: Any, node: ast.Call, args: list[Val]) -> Val:
        index, label = _element(fl, node, args, name, 3), ast.unparse(node.args[0])
        if args[0].type.readonly:
            fl.fail(TypingError, node, *stores.why_readonly(fl, label))
        stores.store(fl, args[0], index, args[2], node, label)
        return Val("None", STATIC, None)

    return lower


FUNCTIONS: dict[str, Handler] = {
    **{name: _load(name) for name in LOADS},
    **{name: _store(name) for name in STORES},
}
