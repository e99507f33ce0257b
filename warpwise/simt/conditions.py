"""Lowering of `and`, `or` and the conditional expression.

A side that has an effect runs under a mask of its own, for the lanes that need it.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from numba.core import types

from . import lints, typing
from .errors import TypingError
from .program import Lines, Val, describe

if TYPE_CHECKING:
    from .expressions import Expressions


def lower_and_or(fl: Expressions, node: ast.BoolOp) -> Val:
    """`and` / `or`: the right side runs only for the lanes that need it."""
    is_and = isinstance(node.op, ast.And)
    result = fl.expression(node.values[0])
    for operand in node.values[1:]:
        condition = fl.truth(result, node)
        if condition.known:
            if bool(condition.const) == is_and:
                result = fl.expression(operand)
            continue
        result = _bool_step(fl, result, condition, operand, is_and, node)
    return result


def _bool_step(
    fl: Expressions, left: Val, condition: Val, operand: ast.expr, is_and: bool, node: ast.AST
) -> Val:
    test = fl.temporary("c")
    fl.emit(f"{test} = {condition.code}")
    lines, right, inner = _under(fl, test, operand, negate=not is_and)
    both_bool = left.type == types.boolean and right.type == types.boolean
    kind = types.boolean if both_bool else typing.unify(left.type, right.type)
    if kind is None:
        kinds = f"{describe(left.type)} and {describe(right.type)}"
        fl.fail(TypingError, node, f"`and`/`or` of {kinds} has no common type")
    if not lines:  # nothing to guard on the right
        if both_bool:
            return Val(f"({test} {'&' if is_and else '|'} {right.code})", kind)
        a, b = fl.cast(left, kind, node), fl.cast(right, kind, node)
        chosen = (b.code, a.code) if is_and else (a.code, b.code)
        return Val(f"select({test}, {chosen[0]}, {chosen[1]})", kind)
    out = fl.temporary()
    fl.emit(f"{out} = {fl.cast(left, kind, node).code}")
    fl.emit(f"if {inner} is not False:")
    fl.lines.append(lines)
    value = fl.cast(right, kind, node).code
    fl.emit(f"    {out} = assign({inner}, {value}, {out}, m)")
    return Val(out, kind)


def _under(fl: Expressions, test: str, operand: ast.expr, negate: bool) -> tuple[Lines, Val, str]:
    """Lower an operand for the lanes where `test` holds; the lines it needed, if any."""
    inner = fl.temporary("m")
    outer_lines, outer_mask, outer_segment = fl.lines, fl.mask, fl.segment
    fl.lines, fl.mask, fl.segment = [], inner, None
    fl.depth += 1
    value = fl.expression(operand)
    if re.search(
        rf"\b{inner}\b", value.code
    ):  # it looks at the lanes: computed where they are known
        value = fl.held(value)
    lines, fl.lines, fl.mask = fl.lines, outer_lines, outer_mask
    fl.segment = outer_segment
    fl.depth -= 1
    if lines:
        pair = f"_, {inner}" if negate else f"{inner}, _"
        fl.emit(f"{pair} = split({fl.mask}, {test})")
    return lines, value, inner


def lower_conditional(fl: Expressions, node: ast.IfExp) -> Val:
    condition = fl.truth(fl.expression(node.test), node)
    if condition.known:
        return fl.expression(node.body if condition.const else node.orelse)
    test = fl.temporary("c")
    fl.emit(f"{test} = {condition.code}")
    first, a, mask_a = _under(fl, test, node.body, negate=False)
    second, b, mask_b = _under(fl, test, node.orelse, negate=True)
    kind = typing.unify(a.type, b.type)
    if kind is None or (a.static or b.static):
        kinds = f"{describe(a.type)} and {describe(b.type)}"
        fl.fail(TypingError, node, f"the two sides of the conditional are {kinds}")
    lints.joined(fl, a, b)
    a, b = fl.cast(a, kind, node), fl.cast(b, kind, node)
    if not first and not second:
        return Val(f"select({test}, {a.code}, {b.code})", kind)
    out = fl.temporary()
    fl.emit(f"{out} = None")
    for lines, value, mask, negate in (
        (first, a, mask_a, False), (second, b, mask_b, True)
    ):  # fmt: skip
        if not lines:
            pair = f"_, {mask}" if negate else f"{mask}, _"
            fl.emit(f"{pair} = split({fl.mask}, {test})")
        fl.emit(f"if {mask} is not False:")
        fl.lines.append(lines)
        fl.emit(f"    {out} = assign({mask}, {value.code}, {out}, m)")
    return Val(out, kind)
