"""Lowering of comparisons: `a < b`, `a < b < c`, `is`, `in`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import numpy as np
from numba.core import types

from . import arithmetic, conditions, lints, named, ops, typing
from .errors import TypingError, UnsupportedError
from .program import Val, describe
from .typing import TupleType

if TYPE_CHECKING:
    from .expressions import Expressions
    from .iterators import Range


def lower_compare(fl: Expressions, node: ast.Compare) -> Val:
    if len(node.ops) > 1:
        return comparison_chain(fl, node)
    left, right = fl.expression(node.left), fl.expression(node.comparators[0])
    return compare(fl, type(node.ops[0]).__name__, left, right, node)


def comparison_chain(fl: Expressions, node: ast.Compare) -> Val:
    """a < b < c, as a < (v := b) and v < c."""
    left: ast.expr = node.left
    parts: list[ast.expr] = []
    for op, right in zip(node.ops, node.comparators, strict=True):
        name = f"v__{fl.temporaries}_{len(parts)}"
        last = right is node.comparators[-1] or isinstance(right, (ast.Name, ast.Constant))
        kept = right if last else ast.NamedExpr(ast.Name(name, ast.Store()), right)
        parts.append(ast.copy_location(ast.Compare(left, [op], [kept]), node))
        left = right if last else ast.Name(name, ast.Load())
        ast.copy_location(left, node)
    fl.temporaries += 1
    return conditions.lower_and_or(fl, ast.copy_location(ast.BoolOp(ast.And(), parts), node))


def compare(fl: Expressions, name: str, left: Val, right: Val, node: ast.AST) -> Val:
    if name in ("Is", "IsNot"):
        if left.static and right.static:
            return fl.known(np.bool_((left.const is right.const) == (name == "Is")), types.boolean)
        if typing.is_enum(left.type) and typing.is_enum(right.type):
            return named.identical(fl, left, right, node, name == "IsNot")
        if typing.is_number(left.type) and left.type == right.type:  # compared by value
            name = "Eq" if name == "Is" else "NotEq"
        elif left.static or right.static or typing.is_number(left.type):
            # Numbers of two types, or an array and None: never the same
            return fl.known(np.bool_(name == "IsNot"), types.boolean)
    if name in ("In", "NotIn") and isinstance(right.type, TupleType):
        found = fl.known(np.bool_(False), types.boolean)
        for item in fl.items(right):
            found = arithmetic.binary(fl, "BitOr", found, compare(fl, "Eq", left, item, node), node)
        return found if name == "In" else Val(f"(~{found.code})", types.boolean)
    if name in ("In", "NotIn") and hasattr(right.const, "bounds"):
        found = in_range(fl, left, right.const, node)
        return found if name == "In" else Val(f"(~{found.code})", types.boolean)
    if name not in ops.COMPARE:
        words = {"Is": "is", "IsNot": "is not", "In": "in", "NotIn": "not in"}[name]
        fl.fail(UnsupportedError, node, f"`{words}` between these values is not supported",
                  "Compare numbers with == or !=.")  # fmt: skip
    function, infix = ops.COMPARE[name]
    if left.static and right.static:
        if infix not in ("==", "!="):
            fl.fail(TypingError, node, f"{infix} does not take things that are no numbers")
        return fl.known(np.bool_((left.const == right.const) == (infix == "==")), types.boolean)
    if infix in ("==", "!=") and (_is_none(left) or _is_none(right)):
        return fl.known(np.bool_(infix == "!="), types.boolean)  # whatever the other one is
    if typing.is_enum(left.type) and left.type == right.type and infix in ("==", "!="):
        left, right = named.plain(left), named.plain(right)
    if isinstance(left.type, TupleType) and isinstance(right.type, TupleType):
        return compare_tuples(fl, name, left, right, node)
    signature = fl.resolve(function, infix, [left, right], node)
    a = fl.cast(left, signature.args[0], node)
    b = fl.cast(right, signature.args[1], node)
    if a.known and b.known:
        return fl.known(np.bool_(function(a.const, b.const)), types.boolean)
    fl.operation(f"compare {arithmetic.counted(signature.args[0])}", node)
    result = Val(f"({a.code} {infix} {b.code})", types.boolean)
    return lints.float64(fl, infix, left, right, result, node)


def in_range(fl: Expressions, value: Val, items: Range, node: ast.AST) -> Val:
    """Whether an integer is in a range: between its bounds, and a whole number of steps away."""
    if not typing.is_integer(value.type):
        fl.fail(UnsupportedError, node, "`in` looks for an integer in a range, not for "
                f"{describe(value.type)}")  # fmt: skip
    start, stop, step = items.bounds
    if not step.known:
        fl.fail(UnsupportedError, node, "`in` needs a range whose step is a constant")
    tests = [("GtE", start), ("Lt", stop)] if step.const > 0 else [("LtE", start), ("Gt", stop)]
    first, second = (compare(fl, name, value, bound, node) for name, bound in tests)
    found = arithmetic.binary(fl, "BitAnd", first, second, node)
    if abs(step.const) == 1:
        return found
    beyond = arithmetic.binary(fl, "Sub", value, start, node)
    rest = arithmetic.binary(fl, "Mod", beyond, step, node)
    hit = compare(fl, "Eq", rest, fl.number(node, 0), node)
    return arithmetic.binary(fl, "BitAnd", found, hit, node)


def _is_none(value: Val) -> bool:
    return value.static and value.const is None


def compare_tuples(fl: Expressions, name: str, left: Val, right: Val, node: ast.AST) -> Val:
    """Item by item; < and its kin go by the first pair that differs, else by the lengths."""

    def both(infix: str, a: Val, b: Val) -> Val:
        return arithmetic.binary(fl, infix, a, b, node)

    ours, theirs = fl.items(left), fl.items(right)
    pairs = list(zip(ours, theirs, strict=False))
    if name in ("Eq", "NotEq"):
        equal = len(ours) == len(theirs)
        result = fl.known(np.bool_(equal), types.boolean)
        for a, b in pairs if equal else []:
            result = both("BitAnd", result, compare(fl, "Eq", a, b, node))
        return result if name == "Eq" else Val(f"(~{result.code})", types.boolean)
    result = fl.known(np.bool_(ops.COMPARE[name][0](len(ours), len(theirs))), types.boolean)
    for a, b in reversed(pairs):
        before, same = (compare(fl, one, a, b, node) for one in (name, "Eq"))
        differ = compare(fl, "NotEq", a, b, node)
        result = both("BitOr", both("BitAnd", differ, before), both("BitAnd", same, result))
    return result
