"""Lowering of `for`: over ranges, arrays and tuples, and over tuples that are unrolled."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from . import assignments, bounds, loops, typing
from .errors import TypingError, UnsupportedError
from .functions import arguments_of
from .iterators import is_unroll, iterate, literal_list, unrolled
from .names import assigned_in, count_names, may_leave_body, names, target_names
from .program import Val, Var, describe
from .tape import Over
from .typing import TupleType

if TYPE_CHECKING:
    from .statements import Function


def lower_for(fl: Function, node: ast.For) -> bool:
    if isinstance(node.iter, ast.Call):
        called = fl.expression(node.iter.func).const
        if is_unroll(called):
            return _unrolled(fl, node, node.iter)
        if called is range:
            return _over_range(fl, node, node.iter)
    source = node.iter
    over = literal_list(fl, source) if isinstance(source, ast.List) else (fl.expression(source))
    items = iterate(fl, over, node)
    limits = fl.number(node, 0), items.length, fl.number(node, 1)
    private = frozenset(n for n in target_names(node.target)
                        if count_names(node, n) == fl.occurrences[n])  # fmt: skip

    def assign(mask: str, value: str) -> None:
        fl.local.append(private)
        assignments.assign_to(
            fl, node.target, items.item(fl, node, Val(value, typing.types.int64)), node
        )
        fl.local.pop()

    return _for(fl, node, limits, assign)


def _over_range(fl: Function, node: ast.For, call: ast.Call) -> bool:
    if not isinstance(node.target, ast.Name):
        fl.fail(UnsupportedError, node, "the loop over range() has one variable")
    if call.keywords:
        fl.fail(TypingError, node, "range() takes one, two or three numbers")
    limits = bounds.of_range(fl, node, arguments_of(fl, call))
    kind, name = limits[0].type, node.target.id

    def assign(mask: str, value: str) -> None:
        variable = fl.variable(name, kind)
        fl.env[name] = Var(kind)
        private = count_names(node, name) == fl.occurrences[name]
        code = value if private else f"assign({mask}, {value}, {variable}, m)"
        fl.emit(f"{variable} = {code}")
        if name in fl.tracked:
            lanes_set = fl.assigned_mask(name)
            fl.emit(f"{lanes_set} = both({lanes_set}, {mask})")

    return _for(fl, node, limits, assign)


def _for(
    fl: Function, node: ast.For, limits: Sequence[Val], assign: Callable[[str, str], None]
) -> bool:
    """A loop over numbers; `assign` lowers what gets the loop variable its value."""
    mask, lanes = fl.temporary("m"), fl.temporary("lanes")
    where = fl.where(node.iter)
    codes = ", ".join(b.code for b in limits)
    fl.emit(f"{lanes} = LaneRange({codes}, {fl.mask}, {where})")
    value = fl.temporary("value")

    def test() -> None:
        fl.emit(f"{mask} = {lanes}.mask")
        fl.branch_site(node, mask, f"{lanes}.left")
        assign(mask, value)

    lines, loop = loops.loop_body(fl, node, mask, test)
    indent = "    " * (fl.depth + 1)
    if loop.again:
        lines.append(f"{indent}{mask} = both({mask}, {loop.again})")
    if may_leave_body(node):
        lines.append(f"{indent}{lanes}.mask = {mask}")
    if limits[2].known and limits[2].const > 0:
        dtype = typing.numpy_dtype(limits[0].type)
        loop.over = Over(lanes, value, dtype, int(limits[2].const))
    fl.emit(f"for {value} in {lanes}:")
    return loops.finish_loop(fl, node, loop, lines, lanes, value)


def _unrolled(fl: Function, node: ast.For, call: ast.Call) -> bool:
    """for v in literal_unroll(t): the body once for each item of the tuple."""
    if len(call.args) != 1 or call.keywords:
        fl.fail(TypingError, node, "literal_unroll takes one tuple")
    value = fl.expression(call.args[0])
    if not isinstance(value.type, TupleType) and not isinstance(value.const, tuple):
        fl.fail(TypingError, node, f"literal_unroll takes a tuple, not {describe(value.type)}")
    items = fl.items(fl.held(value))
    number = list(fl.unrolled).index(id(node)) if id(node) in fl.unrolled else len(fl.unrolled)
    if id(node) not in fl.unrolled:
        take = ast.Assign([node.target], ast.Constant(0))
        own = set(fl._suite_local([take, *node.body]))
        loop = fl.unrolled[id(node)] = unrolled(node, number, len(items), own)
        new = {n for n in names(loop) if fl.occurrences[n] == 0}
        fl.occurrences.update(n for n in names(loop) if n in new)
        fl.assigned |= assigned_in(loop)
        fl.once |= {f"unroll__{number}_{k}" for k in range(len(items))}
        if isinstance(node.target, ast.Name):
            fl.once |= {f"{node.target.id}__{k}" for k in range(len(items))}
    for k, item in enumerate(items):
        assignments.assign_name(fl, f"unroll__{number}_{k}", item, node)
    return lower_for(fl, fl.unrolled[id(node)])
