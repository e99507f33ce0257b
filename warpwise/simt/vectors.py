"""CUDA's vector types: cuda.float32x4, also called cuda.float4, and the others.

A vector is a tuple of its components at run time.  Its constructors take numbers and shorter
vectors in any mix, as Numba's overloads say.
"""

from __future__ import annotations

import ast
from functools import cache
from typing import TYPE_CHECKING, Any

from . import typing
from .errors import TypingError
from .program import Val, describe
from .symbols import VECTORS
from .typing import ArrayType, NoSignature, Type

if TYPE_CHECKING:
    from .expressions import Expressions


@cache
def _known() -> dict[str, Any]:
    """Name -> Numba's type."""
    from numba.cuda.vector_types import vector_types

    return dict(vector_types)


def construct(fl: Expressions, node: ast.Call, name: str) -> Val:
    """cuda.float32x4(...)"""
    kind = _known()[VECTORS[name]]
    if node.keywords:
        fl.fail(TypingError, node, f"cuda.{name} takes its components by position")
    args = [fl.expression(arg) for arg in node.args]
    for value in args:
        if not typing.is_scalar(value.type) and not typing.is_vector(value.type):
            fl.no_function(value, node)
    try:
        signature = typing.resolve(kind.user_facing_object, tuple(v.type for v in args))
    except NoSignature:
        got = ", ".join(describe(v.type) for v in args)
        fl.fail(
            TypingError, node, f"cuda.{name} cannot be made of ({got})",
            f"It takes {kind.num_elements} components of {kind.base_type}, as numbers or as "
            "shorter vectors of that type.",
        )  # fmt: skip
    parts: list[str] = []
    for value, wanted in zip(args, signature.args, strict=True):
        if typing.is_vector(wanted):
            value = fl.held(value)
            parts += [f"{value.code}[{k}]" for k in range(wanted.num_elements)]
        else:
            parts.append(fl.cast(value, wanted, node).code)
    return Val("(" + "".join(f"{part}, " for part in parts) + ")", kind)


def component(fl: Expressions, vector: Val, name: str, node: ast.AST) -> Val:
    """v.x"""
    kind: Any = vector.type
    if name not in kind.attr_names:
        fl.fail(TypingError, node, f"{describe(kind)} has no .{name}; it has "
                f".{', .'.join(kind.attr_names)}")  # fmt: skip
    return Val(f"{vector.code}[{kind.attr_names.index(name)}]", kind.base_type)


def load(fl: Expressions, array: Val, index: str, label: str, node: ast.AST) -> Val:
    """An element of a shared or local array of vectors: each component is read by itself, as
    compiled code does it."""
    kind: ArrayType = array.type
    codes = []
    for part, name in _parts(fl, array):
        site = fl.site(node, f"{label}.{name}", "load", kind.space)
        codes.append(fl.temporary("v"))
        fl.emit(f"{codes[-1]} = load(rt, {part}, ({index}), {fl.mask}, {site})")
    return Val("(" + "".join(f"{code}, " for code in codes) + ")", kind.dtype)


def store(fl: Expressions, array: Val, index: str, value: Val, node: ast.AST, label: str) -> None:
    """Store a vector into an element."""
    kind: ArrayType = array.type
    if value.type != kind.dtype:
        fl.fail(TypingError, node, f"{describe(value.type)} cannot be stored into {label}")
    value = fl.held(value)
    for k, (part, name) in enumerate(_parts(fl, array)):
        site = fl.site(node, f"{label}.{name}", "store", kind.space)
        fl.emit(f"store(rt, {part}, ({index}), {value.code}[{k}], {fl.mask}, {site})")


def _parts(fl: Expressions, array: Val) -> list[tuple[str, str]]:
    """(source of the array of a component, its name)"""
    kind: Type = array.type.dtype
    dtype = typing.numpy_dtype(kind.base_type)
    element = fl.program.constant(dtype)
    return [
        (f"field(rt, {array.code}, {k * dtype.itemsize}, {element}, {name!r})", name)
        for k, name in enumerate(kind.attr_names)
    ]
