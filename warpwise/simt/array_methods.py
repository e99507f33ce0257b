"""Lowering of array methods: views, and what works on single elements.

What needs memory for a new array is refused, as by Numba: a kernel cannot allocate any.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from numba.core import types

from . import stores, subscripts, typing
from .errors import TypingError, UnsupportedError
from .program import Val, describe
from .typing import STATIC, ArrayType, TupleType

if TYPE_CHECKING:
    from .expressions import Expressions

Handler = Callable[["Expressions", ast.Call, Val, list[Val]], Val]


@dataclass(frozen=True)
class Method:
    """`array.name`, to be called."""

    array: Val
    name: str


def _view(fl: Expressions, node: ast.AST, code: str, kind: ArrayType, ndim: int) -> Val:
    out = fl.temporary("view")
    fl.emit(f"{out} = {code}")
    return Val(out, ArrayType(kind.dtype, ndim, kind.readonly, kind.space))


def _reshape(fl: Expressions, node: ast.Call, array: Val, args: list[Val]) -> Val:
    if len(args) == 1 and (isinstance(args[0].type, TupleType) or isinstance(args[0].const, tuple)):
        args = fl.items(args[0])
    for arg in args:
        if not typing.is_integer(arg.type):
            fl.fail(TypingError, node, f"a shape is made of integers, not {describe(arg.type)}")
    shape = "".join(f"{fl.cast(arg, typing.types.int64, node).code}, " for arg in args)
    code = f"reshaped({array.code}, ({shape}), {fl.mask}, {fl.where(node)})"
    return _view(fl, node, code, array.type, len(args))


def _retype(fl: Expressions, node: ast.Call, array: Val, args: list[Val]) -> Val:
    from .intrinsics import number_type

    kind: ArrayType = array.type
    if len(args) != 1:
        fl.fail(TypingError, node, f".view takes a type, got {len(args)} arguments")
    if isinstance(kind.dtype, types.Record):
        fl.fail(UnsupportedError, node, "an array of records cannot be viewed as another type here",
                f"Take one field: .{next(iter(kind.dtype.fields))}")  # fmt: skip
    dtype = number_type(fl, node, ".view", args[0])
    if not typing.is_number(dtype):
        fl.fail(UnsupportedError, node, f".view gives arrays of numbers here, not of "
                f"{describe(dtype)}", "Pass the array of that type as an argument.")  # fmt: skip
    to = typing.numpy_dtype(dtype)
    resized = to.itemsize != typing.numpy_dtype(kind.dtype).itemsize
    if resized and kind.space not in ("global", "shared"):
        fl.fail(
            UnsupportedError, node,
            f"a {kind.space} array can be viewed only as a type of the same size here",
            "Make the array of the other type, or use dynamic shared memory.",
        )  # fmt: skip
    site = fl.site(node, array_label(node), "view")
    code = (
        f"retyped({array.code}, np.dtype({to.name!r}), {fl.mask}, {fl.where(node)}, (rt, {site}))"
    )
    return _view(fl, node, code, ArrayType(dtype, kind.ndim, kind.readonly, kind.space), kind.ndim)


def array_label(node: ast.Call) -> str:
    """What the reader calls the array of `a.view(...)`."""
    return ast.unparse(node.func.value if isinstance(node.func, ast.Attribute) else node.func)


def _transpose(fl: Expressions, node: ast.Call, array: Val, args: list[Val]) -> Val:
    if args:
        fl.fail(UnsupportedError, node, ".transpose takes no arguments in a kernel here")
    return Val(f"transposed({array.code})", array.type)


def _fill(fl: Expressions, node: ast.Call, array: Val, args: list[Val]) -> Val:
    if len(args) != 1:
        fl.fail(TypingError, node, f".fill takes one value, got {len(args)}")
    stores.store_all(fl, array, args[0], node, ast.unparse(node.func.value))  # type: ignore[attr-defined]
    return Val("None", STATIC, None)


def _item(fl: Expressions, node: ast.Call, array: Val, args: list[Val]) -> Val:
    if args:
        fl.fail(TypingError, node, ".item takes no arguments; index the array")
    kind: ArrayType = array.type
    if not isinstance(kind, ArrayType):
        return array  # a number is its own item
    label = ast.unparse(node.func.value)  # type: ignore[attr-defined]
    array = fl.held(array)
    fl.emit(f"only_item({array.code}, {fl.mask}, {fl.where(node)})")
    return subscripts.element(fl, array, "np.int64(0), " * kind.ndim, label, node)


def _allocates(advice: str) -> Handler:
    def lower(fl: Expressions, node: ast.Call, array: Val, args: list[Val]) -> Val:
        fl.fail(
            UnsupportedError, node,
            f"{ast.unparse(node.func)} makes a new array; a kernel cannot allocate one", advice,
        )  # fmt: skip

    return lower


METHODS: dict[str, Handler] = {
    "reshape": _reshape, "view": _retype, "transpose": _transpose, "fill": _fill, "item": _item,
    "copy": _allocates("Copy element by element into a cuda.local.array or an argument."),
    "flatten": _allocates("Use .reshape(-1), which is a view."),
    "ravel": _allocates("Numba compiles .ravel() to a copy. Use .reshape(-1), which is a view."),
    "astype": _allocates("Convert single elements: float32(x[i])."),
}  # fmt: skip


def lower_method(fl: Expressions, node: ast.Call, method: Method) -> Val:
    """array.name(...)"""
    from .functions import arguments_of
    from .overloads import lower_overloaded_method

    handler = METHODS.get(method.name)
    if handler is None:
        return lower_overloaded_method(fl, node, method.array, method.name)
    if node.keywords:
        fl.fail(UnsupportedError, node, f".{method.name} takes no keyword arguments in a kernel",
                "Pass the arguments by position.")  # fmt: skip
    return handler(fl, node, method.array, arguments_of(fl, node))
