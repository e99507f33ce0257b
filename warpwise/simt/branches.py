"""Lowering of what parts the lanes: `if`, `match`, `assert`, `raise`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from . import assignments, joins, meetings
from .errors import UnsupportedError
from .flow import Edge
from .names import may_leave

if TYPE_CHECKING:
    from .statements import Function


def lower_if(fl: Function, node: ast.If) -> bool:
    pieces = meetings.cut(fl, node)
    if pieces is not None:
        return fl.suite(pieces, keep=True) is not None
    condition = fl.truth(fl.expression(node.test), node.test)
    if condition.known:
        chosen = node.body if condition.const else node.orelse
        return fl.suite(chosen, keep=True) is not None if chosen else True
    yes, no = fl.temporary("m"), fl.temporary("m")
    fl.emit(f"{yes}, {no} = split({fl.mask}, {condition.code})")
    fl.branch_site(node, yes, no)
    before = dict(fl.env)
    then_lines, then_edge = joins.branch(fl, yes, node.body, before)
    fl.emit(f"if {yes} is not False:")
    fl.lines.append(then_lines)
    else_edge: Edge | None
    if node.orelse:
        else_lines, else_edge = joins.branch(fl, no, node.orelse, before)
        fl.emit(f"if {no} is not False:")
        fl.lines.append(else_lines)
    else:
        else_edge = Edge(before, [], fl.depth, no)
        fl.lines.append(else_edge.lines)
    edges = [edge for edge in (then_edge, else_edge) if edge is not None]
    if not edges:
        fl.emit(f"{fl.mask} = False")
        return False
    fl.env = joins.join(fl, edges, node)
    if may_leave(node):
        fl.emit(f"{fl.mask} = both({yes}, {no})")
    return True


def lower_match(fl: Function, node: ast.Match) -> bool:
    """match of a number against values, as a chain of if."""
    subject = ast.Name(f"match__{node.lineno}_{node.col_offset}", ast.Load())
    assignments.assign_name(fl, subject.id, fl.expression(node.subject), node)
    chain: list[ast.stmt] = []
    for case in reversed(node.cases):
        test = _pattern(fl, case.pattern, subject)
        if case.guard is not None:
            test = ast.BoolOp(ast.And(), [test, case.guard])
        chain = [ast.If(test, case.body, chain)]
    for made in ast.walk(chain[0]):
        if not hasattr(made, "lineno"):
            ast.copy_location(made, node)
    return lower_if(fl, chain[0])  # type: ignore[arg-type]


def _pattern(fl: Function, pattern: ast.pattern, subject: ast.expr) -> ast.expr:
    """The condition that a pattern stands for."""
    if isinstance(pattern, ast.MatchValue):
        return ast.Compare(subject, [ast.Eq()], [pattern.value])
    if isinstance(pattern, ast.MatchOr):
        return ast.BoolOp(ast.Or(), [_pattern(fl, p, subject) for p in pattern.patterns])
    if isinstance(pattern, ast.MatchAs) and pattern.name is None:
        return ast.Constant(True)
    fl.fail(
        UnsupportedError, pattern, "this pattern of a match cannot be used in a kernel",
        "Patterns are numbers, several of them with |, and _ for the rest. Use if and elif.",
    )  # fmt: skip


def lower_raise(fl: Function, node: ast.Raise) -> bool:
    """The lanes that come here are reported and stop."""
    text = "" if node.exc is None else ast.unparse(node.exc)
    report(fl, node, text)
    return False


def lower_assert(fl: Function, node: ast.Assert) -> None:
    """assert test, message: lanes for which it does not hold are reported and stop."""
    test = ast.UnaryOp(ast.Not(), node.test)
    message = [] if node.msg is None else [node.msg]
    call = ast.Call(ast.Name("AssertionError", ast.Load()), message, [])
    stop = ast.If(test, [ast.Raise(call, None)], [])
    for made in ast.walk(stop):
        if not hasattr(made, "lineno"):
            ast.copy_location(made, node)
    lower_if(fl, stop)


def report(fl: Function, node: ast.AST, text: str) -> None:
    site = fl.site(node, text, "raise")
    fl.emit(f"rt.raised({site}, {fl.mask})")
    if not fl.is_kernel:  # its caller has no value to go on with
        fl.emit("rt.stop()")
    if fl.loops:
        fl.emit(f"lanes_gone = both(lanes_gone, {fl.mask})")
    fl.emit(f"rt.leave({fl.mask})")
    fl.emit(f"{fl.mask} = False")
