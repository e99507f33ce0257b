"""Lowering of records: fields of a record, fields of an array of records, whole records.

What is legal, and which alignment a field needs, is Numba's: see its `RecordAttribute`,
`StaticGetItemArray` and `sentry_record_alignment`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core import types

from . import arithmetic, stores, typing
from .errors import TypingError, UnsupportedError
from .program import Note, Val, describe
from .records import BYTE, Tail
from .typing import ArrayType, RecordType, Type

if TYPE_CHECKING:
    from .expressions import Expressions

STRINGS = (types.CharSeq, types.UnicodeCharSeq)
Leaf = tuple[int, np.dtype[Any], str, int]


# -- parts of a record ------------------------------------------------------------


def leaves(record: types.Record, at: int = 0, stem: str = "") -> Iterator[Leaf]:
    """(byte offset, dtype, name, count) of everything a record holds, nested ones included."""
    for name, part in record.fields.items():
        yield from _leaves_of(part.type, at + part.offset, stem + name)


def _leaves_of(kind: Type, at: int, name: str) -> Iterator[Leaf]:
    if isinstance(kind, types.Record):
        yield from leaves(kind, at, f"{name}.")
    elif isinstance(kind, types.NestedArray):
        if isinstance(kind.dtype, (types.Record, *STRINGS)):
            step = typing.numpy_dtype(kind.dtype).itemsize
            for k in range(kind.nitems):
                yield from _leaves_of(kind.dtype, at + k * step, name)
        else:
            yield at, typing.numpy_dtype(kind.dtype), name, kind.nitems
    elif isinstance(kind, STRINGS):
        yield at, BYTE, name, typing.numpy_dtype(kind).itemsize
    else:
        yield at, typing.numpy_dtype(kind), name, 1


def field_name(fl: Expressions, node: ast.expr) -> Any:
    """The string or integer of a constant subscript, else None."""
    if isinstance(node, ast.UnaryOp):
        folded = arithmetic.of_literals(fl, node)
        return int(folded.const) if folded is not None and folded.known else None
    if isinstance(node, (ast.Constant, ast.Name)):
        value = fl.expression(node)
        if value.static and isinstance(value.const, str):
            return value.const
        if value.known and not value.static and typing.is_integer(value.type):
            return int(value.const)
    return None


def _part(fl: Expressions, record: types.Record, name: Any, owner: str, node: ast.AST) -> Any:
    """(name, field) of a record type, or the refusal."""
    names = list(record.fields)
    if isinstance(name, int):
        if not -len(names) <= name < len(names):
            fl.fail(TypingError, node, f"{owner} has {len(names)} fields, none with number {name}")
        name = names[name]
    if name not in record.fields:
        fl.fail(TypingError, node, f"{owner} has no field {name}; it has {', '.join(names)}")
    return name, record.fields[name]


def _split(kind: Type) -> tuple[Type, Tail]:
    """(type of the elements, axes) of a field."""
    if isinstance(kind, types.NestedArray):
        return kind.dtype, tuple(zip(kind.shape, kind.strides, strict=True))
    return kind, ()


def _check(fl: Expressions, record: types.Record, name: str, owner: str, node: ast.AST) -> Any:
    """The NumPy dtype of a field's elements; None for records.  Refuses what cannot be read."""
    kind, _ = _split(record.typeof(name))
    if isinstance(kind, STRINGS):
        fl.fail(
            UnsupportedError, node, f"{owner}.{name} holds strings; kernels here have none",
            "Keep a number for each string, and look the string up on the host.",
        )  # fmt: skip
    return None if isinstance(kind, types.Record) else typing.numpy_dtype(kind)


def _aligned(fl: Expressions, record: types.Record, name: str, owner: str, node: ast.AST) -> None:
    """Numba's rule: a field starts at a multiple of its element's alignment within the record."""
    kind, _ = _split(record.typeof(name))
    if isinstance(kind, (types.Record, *STRINGS)):
        return
    size = typing.numpy_dtype(kind).itemsize // (2 if isinstance(kind, types.Complex) else 1)
    if record.offset(name) % size:
        fl.fail(
            TypingError, node,
            f"{owner}.{name} of type {kind} is not aligned: it starts at byte "
            f"{record.offset(name)} of the record",
            "Make the records with np.dtype([...], align=True).",
        )  # fmt: skip
    if not record.aligned and size > 1:
        line = getattr(node, "lineno", 0)
        text = (
            f"{fl.source.name}: the records of {owner} were made without align=True, so compiled "
            "code moves their fields byte by byte; here each counts as one access. Make them with "
            "np.dtype([...], align=True)."
        )
        if all(note.text != text for note in fl.program.lints):
            fl.program.lints.append(Note("packed_record", line, text))


# -- reading ----------------------------------------------------------------------


def element(fl: Expressions, array: Val, index: str, label: str) -> Val:
    """arr[i] of an array of records: a reference, as in Numba."""
    kind: ArrayType = array.type
    out = fl.temporary("record")
    fl.emit(f"{out} = ({array.code}, ({index}))")
    return Val(out, RecordType(kind.dtype, kind.ndim, kind.readonly, kind.space, label))


def read(fl: Expressions, record: Val, name: Any, node: ast.AST) -> Val:
    """record.name"""
    kind: RecordType = record.type
    record = fl.held(record)
    name, part = _part(fl, kind.record, name, kind.origin, node)
    dtype = _check(fl, kind.record, name, kind.origin, node)
    _aligned(fl, kind.record, name, kind.origin, node)
    inside, tail = _split(part.type)
    label = f"{kind.origin}.{name}"
    if dtype is None and not tail:
        out = fl.temporary("record")
        fl.emit(f"{out} = (inner({record.code}[0], {part.offset}, {name!r}), {record.code}[1])")
        return Val(out, replace(kind, record=inside, origin=label))
    array = _array(record.code, part.offset, dtype, name, tail, fl)
    if tail:
        site = fl.site(node, label, "view", kind.space)
        out = fl.temporary("view")
        fl.emit(f"{out} = row(rt, {array}, {record.code}[1], {fl.mask}, {site})")
        return Val(out, ArrayType(inside, len(tail), kind.readonly, kind.space))
    site = fl.site(node, label, "load", kind.space)
    out = fl.temporary("v")
    fl.emit(f"{out} = load(rt, {array}, {record.code}[1], {fl.mask}, {site})")
    return Val(out, inside)


def _array(code: str, offset: int, dtype: Any, name: str, tail: Tail, fl: Expressions) -> str:
    """Source of the array of one field, for the record in variable `code`."""
    axes = f", {tail!r}" if tail else ""
    if dtype is None:
        return f"inner({code}[0], {offset}, {name!r}{axes})"
    return f"field(rt, {code}[0], {offset}, {fl.program.constant(dtype)}, {name!r}{axes})"


def read_array(fl: Expressions, array: Val, name: Any, node: ast.AST, label: str) -> Val:
    """arr.name of an array of records: an array of that field alone."""
    kind: ArrayType = array.type
    name, part = _part(fl, kind.dtype, name, label, node)
    dtype = _check(fl, kind.dtype, name, label, node)
    inside, tail = _split(part.type)
    out = fl.temporary("view")
    if dtype is None:
        fl.emit(f"{out} = inner({array.code}, {part.offset}, {name!r}, {tail!r})")
    else:
        line = getattr(node, "lineno", 0)
        where = (fl.source.name, line, fl.source.line_text(line))
        fl.emit(
            f"{out} = field_array(rt, {array.code}, {part.offset}, {fl.program.constant(dtype)}, "
            f"{name!r}, {tail!r}, {where!r})"
        )
    return Val(out, ArrayType(inside, kind.ndim + len(tail), kind.readonly, kind.space))


# -- writing ----------------------------------------------------------------------


def write(fl: Expressions, record: Val, name: Any, value: Val, node: ast.AST) -> None:
    """record.name = value"""
    kind: RecordType = record.type
    record = fl.held(record)
    name, part = _part(fl, kind.record, name, kind.origin, node)
    label = f"{kind.origin}.{name}"
    _writable(fl, kind, node)
    dtype = _check(fl, kind.record, name, kind.origin, node)
    _aligned(fl, kind.record, name, kind.origin, node)
    inside, tail = _split(part.type)
    if tail:
        target = read(fl, record, name, node)
        _copy_array(fl, target, tail, value, label, node)
    elif dtype is None:
        store(fl, read(fl, record, name, node), value, label, node)
    else:
        if not typing.is_scalar(value.type):
            fl.fail(TypingError, node, f"{describe(value.type)} cannot be stored into {label}")
        site = fl.site(node, label, "store", kind.space)
        if fl.program.counted:
            value = fl.fitted(value, inside, node, site)
        code = fl.cast(value, inside, node).code
        array = _array(record.code, part.offset, dtype, name, tail, fl)
        fl.emit(f"store(rt, {array}, {record.code}[1], {code}, {fl.mask}, {site})")


def _writable(fl: Expressions, kind: RecordType, node: ast.AST) -> None:
    if kind.readonly:
        fl.fail(TypingError, node, *stores.why_readonly(fl, kind.origin.partition(".")[0]))


def _copy_array(
    fl: Expressions, target: Val, tail: Tail, value: Val, label: str, node: ast.AST
) -> None:
    """record.name = array, for a field that is an array: element by element."""
    kind: ArrayType = target.type
    given = value.type
    if not isinstance(given, ArrayType) or (given.dtype, given.ndim) != (kind.dtype, kind.ndim):
        fl.fail(
            TypingError, node,
            f"{label} is {kind}, and takes an array of that type, not {describe(given)}",
            "Store its elements one by one.",
        )  # fmt: skip
    sites = [fl.site(node, label, op, kind.space) for op in ("load", "store")]
    shape = tuple(n for n, _ in tail)
    fl.emit(
        f"copy_elements(rt, {target.code}, {value.code}, {shape!r}, {fl.mask}, {tuple(sites)!r}, "
        f"{fl.where(node)})"
    )


def store(fl: Expressions, target: Val, value: Val, label: str, node: ast.AST) -> None:
    """A whole record = another one: of the same type, or one that begins with the same fields."""
    kind: RecordType = target.type
    _writable(fl, kind, node)
    _copy(fl, "copy_record", kind, target, value, label, node)


def fill(fl: Expressions, view: Val, value: Val, label: str, node: ast.AST) -> None:
    """a[:] = record: into every element."""
    kind: ArrayType = view.type
    element_type = RecordType(kind.dtype, kind.ndim, kind.readonly, kind.space, label)
    _copy(fl, "fill_record", element_type, view, value, label, node)


def _copy(
    fl: Expressions, call: str, kind: RecordType, target: Val, value: Val, label: str, node: ast.AST
) -> None:
    given = value.type.record if isinstance(value.type, RecordType) else None
    if given is None or (given != kind.record and given.can_convert_to(None, kind.record) is None):
        fl.fail(
            TypingError, node, f"{describe(value.type)} cannot be stored into {label}",
            "Records have to be of one type; assign their fields one by one.",
        )  # fmt: skip
    sites = (
        fl.site(node, value.type.origin, "load", value.type.space),
        fl.site(node, label, "store", kind.space),
    )
    parts = fl.program.constant(tuple(leaves(kind.record)))
    fl.emit(f"{call}(rt, {target.code}, {value.code}, {parts}, {fl.mask}, {sites!r})")
