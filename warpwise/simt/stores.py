"""Lowering of what is stored to: elements, parts of arrays, fields of records."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, NoReturn

from numba.core import types

from . import pointers, structures, subscripts, typing, vectors
from .errors import TypingError, UnsupportedError
from .iterators import Flat
from .names import parameters_of
from .program import Val, describe
from .typing import ArrayType, PointerType, TupleType

if TYPE_CHECKING:
    from .expressions import Expressions
    from .statements import Function


def no_attribute_target(fl: Function, owner: Val, target: ast.Attribute) -> NoReturn:
    """Refuse `x.name = v` where x is no record."""
    fl.fail(
        TypingError, target,
        f"{ast.unparse(target.value)} is {describe(owner.type)}; only fields of records can be "
        "assigned to",
        "Store into an element: a[i] = ..., or a[i].x = ... where a holds records.",
    )  # fmt: skip


def target_of(fl: Function, target: ast.Subscript, array: Val) -> tuple[Val, list[Any]]:
    """The array that is stored to, and where: see `indices`."""
    name = ast.unparse(target.value)
    flat_index: list[Any] | None = None
    if isinstance(array.const, Flat):
        array, flat_index = subscripts.flat_element(fl, array.const, target)
    if isinstance(array.type, PointerType):
        return pointers.element(fl, target, array)
    if not isinstance(array.type, ArrayType):
        fl.fail(TypingError, target, f"{name} is {describe(array.type)}; only elements of "
                  "arrays can be stored to")  # fmt: skip
    if array.type.readonly:
        fl.fail(TypingError, target, *why_readonly(fl, name))
    return array, subscripts.indices(fl, target, array.type) if flat_index is None else flat_index


def element_target(fl: Function, target: ast.Subscript, array: Val) -> tuple[Val, list[Val]]:
    """The array and index of one element."""
    array, parts = target_of(fl, target, array)
    if len(parts) != array.type.ndim or not all(isinstance(p, Val) for p in parts):
        fl.fail(
            UnsupportedError, target,
            f"a whole part of {ast.unparse(target.value)} cannot be changed at once",
            f"Give an index for each dimension ({array.type.ndim}) and loop over the rest.",
        )  # fmt: skip
    return array, parts


def why_readonly(fl: Expressions, name: str) -> tuple[str, str]:
    """The fact and the next step for an array that cannot be stored to."""
    if name in parameters_of(fl.source.tree):
        return (
            f"{name} is read-only on the host, so no kernel can change it",
            f"Pass {name}.copy(), or make it writable: {name}.flags.writeable = True.",
        )
    return (
        f"{name} is a constant of the kernel and cannot be changed",
        "Pass it as an argument instead.",
    )


def store_all(fl: Expressions, view: Val, value: Val, node: ast.AST, label: str) -> None:
    """view[...] = value: a number into all elements, or a tuple into as many."""
    kind: ArrayType = view.type
    site = fl.site(node, label, "store", kind.space)
    if isinstance(value.type, TupleType) and kind.ndim == 1:
        codes = "".join(f"{fl.cast(item, kind.dtype, node).code}, "
                        for item in fl.items(fl.held(value)))  # fmt: skip
        where = fl.where(node)
        fl.emit(f"fill_each(rt, {view.code}, ({codes}), {fl.mask}, {site}, {where})")
        return
    if isinstance(value.type, ArrayType):
        fl.fail(
            UnsupportedError, node, f"an array cannot be assigned to a part of {label}",
            "Numba has no memory for the copy in a kernel; write the loop over the elements.",
        )  # fmt: skip
    if isinstance(kind.dtype, types.Record):
        structures.fill(fl, view, value, label, node)
        return
    if not typing.is_scalar(value.type):
        fl.no_function(value, node)
        fl.fail(TypingError, node, f"{describe(value.type)} cannot be stored into {label}")
    code = fl.held(fl.cast(value, kind.dtype, node)).code
    fl.emit(f"fill(rt, {view.code}, {code}, {fl.mask}, {site})")


def store(fl: Function, array: Val, index: str, value: Val, node: ast.AST, label: str) -> None:
    kind: ArrayType = array.type
    if isinstance(kind.dtype, types.Record):
        target = structures.element(fl, array, index, label)
        structures.store(fl, target, value, label, node)
        return
    if typing.is_vector(kind.dtype):
        vectors.store(fl, array, index, value, node, label)
        return
    if not typing.is_scalar(value.type):
        fl.no_function(value, node)
        fl.fail(TypingError, node, f"{describe(value.type)} cannot be stored into {label}")
    site = fl.site(node, label, "store", kind.space)
    if fl.program.counted:
        value = fl.fitted(value, kind.dtype, node, site)
    code = fl.cast(value, kind.dtype, node).code
    fl.emit(f"store(rt, {array.code}, ({index}), {code}, {fl.mask}, {site})")
