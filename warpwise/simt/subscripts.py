"""Lowering of subscripts that are read: elements, views, items of tuples."""

from __future__ import annotations

import ast
import enum
from typing import TYPE_CHECKING, Any

from numba.core import types

from . import iterators, named, pointers, structures, typing, vectors
from .errors import TypingError, UnsupportedError
from .program import Val, describe
from .typing import ArrayType, PointerType, RecordType, TupleType

if TYPE_CHECKING:
    from .expressions import Expressions


def lower_subscript(fl: Expressions, node: ast.Subscript) -> Val:
    value = fl.expression(node.value)
    if isinstance(value.type, ArrayType):
        if isinstance(value.type.dtype, types.Record):
            name = structures.field_name(fl, node.slice)
            if isinstance(name, str):
                label = ast.unparse(node.value)
                return structures.read_array(fl, value, name, node, label)
        return element_or_view(fl, value, node)
    if isinstance(value.type, PointerType):
        array, index = pointers.element(fl, node, value)
        return element(fl, array, f"{index[0].code}, ", ast.unparse(node.value), node)
    if isinstance(value.type, RecordType):
        return structures.read(fl, value, field_of(fl, value, node), node)
    if isinstance(value.type, TupleType) or isinstance(value.const, tuple):
        return tuple_item(fl, value, node)
    if isinstance(value.const, iterators.Flat):
        array, index = flat_element(fl, value.const, node)
        return iterators.element(fl, node, array, index)
    if isinstance(value.const, enum.EnumMeta):
        name = structures.field_name(fl, node.slice)
        return named.member_called(fl, node, value.const, name)
    if isinstance(value.const, iterators.Items):
        fl.fail(UnsupportedError, node, f"{ast.unparse(node.value)} cannot be indexed",
                  "Loop over it.")  # fmt: skip
    if getattr(value.const, "is_kernel", False):
        name = ast.unparse(node.value)
        fl.fail(UnsupportedError, node, "a kernel cannot start another one",
                f"Call {name}(...) as a function, or launch it from the host.")  # fmt: skip
    if value.static:
        fl.fail(
            UnsupportedError, node,
            f"a Python {type(value.const).__name__} cannot be indexed in a kernel",
            "Make it a tuple or a NumPy array, or pass it as an argument.",
        )  # fmt: skip
    fl.fail(TypingError, node, f"{describe(value.type)} is a number and cannot be indexed")


def flat_element(
    fl: Expressions, flat: iterators.Flat, node: ast.Subscript
) -> tuple[Val, list[Val]]:
    """The array and the index of a.flat[k]."""
    k = fl.expression(node.slice)
    if not typing.is_integer(k.type):
        name = ast.unparse(node.value)
        fl.fail(TypingError, node, f"an index of {name} is an integer, not "
                  f"{describe(k.type)}")  # fmt: skip
    return flat.array, flat.index(fl, node, k)


def field_of(fl: Expressions, record: Val, node: ast.Subscript) -> str | int:
    """The field that the subscript of a record names."""
    name: str | int | None = structures.field_name(fl, node.slice)
    if name is None:
        owner, first = record.type.origin, next(iter(record.type.record.fields))
        fl.fail(TypingError, node, f"a field of {owner} is named by a constant, such as "
                  f"{owner}['{first}']")  # fmt: skip
    return name


def field_target(fl: Expressions, record: Val, target: ast.Subscript | ast.Attribute) -> str | int:
    """The field of a record that is stored to."""
    return target.attr if isinstance(target, ast.Attribute) else field_of(fl, record, target)


def tuple_item(fl: Expressions, value: Val, node: ast.Subscript) -> Val:
    items = fl.items(value)
    if isinstance(node.slice, ast.Slice):
        bounds = [
            None if part is None else fl.expression(part)
            for part in (node.slice.lower, node.slice.upper, node.slice.step)
        ]
        for bound in bounds:
            if (
                bound is not None
                and not (bound.static and bound.const is None)
                and not (typing.is_integer(bound.type))
            ):
                fl.fail(TypingError, node, "the bounds of a slice are integers")
        bounds = [None if b is None or b.static else b for b in bounds]
        if bounds[2] is not None and bounds[2].known and bounds[2].const == 0:
            fl.fail(TypingError, node, "the step of a slice cannot be 0")
        if all(b is None or b.known for b in bounds):
            return fl.tuple_of(items[slice(*(None if b is None else int(b.const) for b in bounds))])
        fl.fail(UnsupportedError, node, "a slice of a tuple needs constant bounds")
    index = fl.expression(node.slice)
    if not typing.is_integer(index.type):
        fl.fail(TypingError, node, f"a tuple index is an integer, not {describe(index.type)}")
    if index.known:
        k = int(index.const)
        if not -len(items) <= k < len(items):
            fl.fail(TypingError, node, f"index {k} is beyond a tuple of {len(items)} items")
        return items[k]
    value = fl.tuple_of(items)
    kinds = set(value.type.items) if isinstance(value.type, TupleType) else set()
    if len(kinds) != 1:
        fl.fail(TypingError, node, "this tuple holds different types, so its index has to be "
                  "a constant")  # fmt: skip
    whole = fl.cast(index, types.int64, node)
    return Val(f"pick({value.code}, {whole.code}, {fl.mask}, {fl.where(node)})", kinds.pop())


def indices(fl: Expressions, node: ast.Subscript, kind: ArrayType) -> list[Any]:
    """The index as a list of Val, ast.Slice, None for a new axis; `...` is expanded."""
    parts: list[Any] = []
    written = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    for part in written:
        if isinstance(part, ast.Slice):
            parts.append(part)
            continue
        if isinstance(part, ast.Constant) and part.value is ...:
            parts.append(...)
            continue
        value = fl.expression(part)
        if value.static and value.const is None:
            parts.append(None)
        else:
            parts.extend(fl.items(value) if isinstance(value.type, TupleType) else [value])
    used = len(parts) - parts.count(None)
    if parts.count(...) == 1:
        at = parts.index(...)
        parts[at : at + 1] = [ast.Slice()] * (kind.ndim - used + 1)
        used = max(used - 1, kind.ndim)
    name = ast.unparse(node.value)
    if used > kind.ndim:
        fl.fail(
            TypingError, node,
            f"{name} has {kind.ndim} dimension{'s' * (kind.ndim != 1)} "
            f"but is indexed with {used}",
        )  # fmt: skip
    for part in parts:
        if isinstance(part, Val) and not typing.is_integer(part.type):
            fl.no_function(part, node)
            hint = (
                "Use // for a division that gives an integer, or int(...)."
                if (typing.is_float(part.type))
                else ""
            )
            what = "is" if part.static else "has type"
            fl.fail(
                TypingError, node,
                f"an index of {name} {what} {describe(part.type)}; it has to be an integer",
                hint,
            )  # fmt: skip
    return parts


def element_or_view(fl: Expressions, array: Val, node: ast.Subscript) -> Val:
    kind: ArrayType = array.type
    parts = indices(fl, node, kind)
    if len(parts) == kind.ndim and all(isinstance(p, Val) for p in parts):
        index = "".join(f"{p.code}, " for p in parts)
        return element(fl, array, index, ast.unparse(node.value), node)
    return view(fl, array, parts, node)


def element(fl: Expressions, array: Val, index: str, label: str, node: ast.AST) -> Val:
    """One element of an array; `index` is source, `label` what the reader calls the array."""
    kind: ArrayType = array.type
    if isinstance(kind.dtype, types.Record):
        return structures.element(fl, array, index, label)
    if typing.is_vector(kind.dtype):
        return vectors.load(fl, array, index, label, node)
    site = fl.site(node, label, "load", kind.space)
    out = fl.temporary("v")
    fl.emit(f"{out} = load(rt, {array.code}, ({index}), {fl.mask}, {site})")
    return Val(out, kind.dtype, load=site)


def view(fl: Expressions, array: Val, parts: list[Any], node: ast.Subscript) -> Val:
    kind: ArrayType = array.type
    codes, ndim = [], kind.ndim
    for part in parts:
        if isinstance(part, Val):
            codes.append(part.code)
            ndim -= 1
            continue
        if part is None:
            codes.append("None")
            ndim += 1
            continue
        bounds = []
        for bound in (part.lower, part.upper, part.step):
            value = None if bound is None else fl.expression(bound)
            if value is not None and not value.static and not typing.is_integer(value.type):
                fl.fail(TypingError, node, "the bounds of a slice are integers")
            absent = value is None or value.const is None
            if bound is part.step and value is not None and value.known and value.const == 0:
                fl.fail(TypingError, node, "the step of a slice cannot be 0")
            bounds.append("None" if absent or value is None else value.code)
        codes.append(f"({', '.join(bounds)})")
    site = fl.site(node, ast.unparse(node.value), "view")
    out = fl.temporary("view")
    index = "".join(f"{code}, " for code in codes)
    fl.emit(f"{out} = row(rt, {array.code}, ({index}), {fl.mask}, {site})")
    return Val(out, ArrayType(kind.dtype, ndim, kind.readonly, kind.space))
