"""Things with names: members of enums, and namedtuples.

A member of an enum is its value at run time.  A member of an IntEnum takes part in arithmetic as
the integer it is; a member of another Enum can only be compared, and asked for its .value.
"""

from __future__ import annotations

import ast
import enum
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core import types
from numba.core.types import containers

from . import comparisons, typing
from .errors import TypingError
from .program import Val, describe
from .typing import NamedTupleType, NoSignature, TupleType, Type

if TYPE_CHECKING:
    from .expressions import Expressions


# -- enums ------------------------------------------------------------------------


def enum_type(member: enum.Enum) -> Type:
    """Numba's type of a member; NoSignature when the values are no numbers, or tuples of numbers,
    of one type."""
    owner = type(member)
    kinds = {_value_type(one.value) for one in owner}
    if len(kinds) != 1:
        raise NoSignature(f"the members of {owner.__name__} have values of different types")
    whole = isinstance(member, enum.IntEnum)
    return (types.IntEnumMember if whole else types.EnumMember)(owner, kinds.pop())


def _value_type(value: Any) -> Type:
    if isinstance(value, tuple):
        return containers.Tuple([_value_type(item) for item in value])
    return typing.type_of_constant(value)


def member_value(member: enum.Enum) -> tuple[Type, Any]:
    """Type and value at run time."""
    kind = enum_type(member)
    return kind, _frozen(member.value, kind.dtype)


def _frozen(value: Any, kind: Type) -> Any:
    if isinstance(value, tuple):
        return tuple(_frozen(item, k) for item, k in zip(value, kind, strict=True))
    return typing.numpy_dtype(kind).type(value)


def member(fl: Expressions, node: ast.AST, value: enum.Enum) -> Val:
    """A member that the kernel names."""
    try:
        kind, number = member_value(value)
    except NoSignature as error:
        fl.fail(
            TypingError, node, f"{value} cannot be used in a kernel: {error}",
            "Members of an enum need numbers of one type as their values.",
        )  # fmt: skip
    return Val(fl.program.constant(number), kind, number)


def member_called(fl: Expressions, node: ast.Subscript, owner: Any, name: Any) -> Val:
    """Color['red']"""
    if name not in owner.__members__:
        listed = ", ".join(owner.__members__)
        fl.fail(TypingError, node, f"{owner.__name__} has no member {name}; it has {listed}")
    return member(fl, node, owner[name])


def member_attribute(fl: Expressions, value: Val, name: str, node: ast.AST) -> Val:
    """Color.red.value"""
    if name != "value":
        fl.fail(TypingError, node, f"a kernel can ask {describe(value.type)} for .value, not for "
                f".{name}")  # fmt: skip
    return plain(value)


def plain(value: Val) -> Val:
    """The number behind a member; anything else as it is."""
    if not typing.is_enum(value.type):
        return value
    kind = value.type.dtype
    return replace(
        value, type=TupleType(tuple(kind)) if isinstance(kind, containers.BaseTuple) else kind
    )


def identical(fl: Expressions, left: Val, right: Val, node: ast.AST, negated: bool) -> Val:
    """`is` between members."""
    if left.type != right.type:
        return fl.known(np.bool_(negated), types.boolean)
    return comparisons.compare(fl, "NotEq" if negated else "Eq", left, right, node)


# -- namedtuples ------------------------------------------------------------------


def is_class(called: Any) -> bool:
    """True for a class that collections.namedtuple or typing.NamedTuple made."""
    return isinstance(called, type) and issubclass(called, tuple) and hasattr(called, "_fields")


def with_class(value: Val, made_by: type) -> Val:
    """A tuple as one of a namedtuple class."""
    if not isinstance(value.type, TupleType):
        return value  # it holds things that are no numbers
    return replace(value, type=NamedTupleType(value.type.items, made_by))


def construct(fl: Expressions, node: ast.Call, made_by: Any) -> Val:
    """Point(x, y), also with keywords."""
    fields = made_by._fields
    given = dict(zip(fields, node.args, strict=False))
    for keyword in node.keywords:
        if keyword.arg not in fields or keyword.arg in given:
            fl.fail(TypingError, node, f"{made_by.__name__} has no free field {keyword.arg}")
        given[keyword.arg] = keyword.value
    if len(node.args) > len(fields) or len(given) < len(fields):
        fl.fail(
            TypingError, node,
            f"{made_by.__name__} takes {len(fields)} values ({', '.join(fields)}), "
            f"got {len(node.args) + len(node.keywords)}",
        )  # fmt: skip
    return with_class(fl.tuple_of([fl.expression(given[name]) for name in fields]), made_by)


def item(fl: Expressions, value: Val, name: str, node: ast.AST) -> Val:
    """p.x"""
    made_by = value.type.made_by
    if name not in made_by._fields:
        listed = ", ".join(made_by._fields)
        fl.fail(TypingError, node, f"{made_by.__name__} has no field {name}; it has {listed}")
    return fl.items(value)[made_by._fields.index(name)]
