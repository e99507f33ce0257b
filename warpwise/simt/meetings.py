"""Lanes of a warp that meet at a syncwarp in each branch of an `if`.

Since Volta, lanes of one warp may wait for each other at different calls of syncwarp: the branches
run on in turns.  Here one branch runs after the other, so such an `if` is cut where they meet:

    if c:                        c__1 = c
        a                        if c__1: a
        cuda.syncwarp()          else: d
        b                        cuda.syncwarp()
    else:                        if c__1: b
        d                        else: e
        cuda.syncwarp()
        e
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from .symbols import Symbol

if TYPE_CHECKING:
    from .statements import Function

Piece = list[ast.stmt]


def cut(fl: Function, node: ast.If) -> Piece | None:
    """The statements of an `if` whose branches meet; None for any other."""
    if id(node) not in fl.meetings:
        both = bool(node.orelse) and any(_names_one(arm) for arm in (node.body, node.orelse))
        fl.meetings[id(node)] = _cut(fl, node) if both else None
    return fl.meetings[id(node)]


def _names_one(body: Piece) -> bool:
    """Whether a syncwarp may be in a branch, at a glance."""
    return any(
        isinstance(n, (ast.Attribute, ast.Name)) and "syncwarp" in ast.unparse(n)
        for statement in body
        for n in ast.walk(statement)
    )


def _cut(fl: Function, node: ast.If) -> Piece | None:
    arms = [_pieces(fl, body) for body in (node.body, node.orelse)]
    (yes, calls), (no, others) = arms
    if not calls or len(calls) != len(others):
        return None
    number = f"{node.lineno}_{node.col_offset}"
    parted = ast.Name(f"parted__{number}", ast.Store())
    fl.once.add(parted.id)  # a constant condition stays one
    made: Piece = [ast.Assign([parted], node.test)]
    for k in range(len(yes)):
        first, second = list(yes[k]), list(no[k])
        call: ast.stmt | None = None
        if k < len(calls):
            call = _joined(calls[k], others[k], f"lanes__{number}_{k}", first, second)
        test = ast.Name(parted.id, ast.Load())
        if first or second:
            made.append(ast.If(test, first or [ast.Pass()], second))
        if call is not None:
            made.append(ast.copy_location(call, calls[k]))
    for one in made:
        for part in ast.walk(one):
            if not hasattr(part, "lineno"):
                ast.copy_location(part, node)
    return made


def _pieces(fl: Function, body: Piece) -> tuple[list[Piece], list[ast.Expr]]:
    """What stands between the calls of syncwarp of a branch, and these calls."""
    pieces: list[Piece] = [[]]
    calls: list[ast.Expr] = []
    flat: Piece = []
    for statement in body:
        inner = cut(fl, statement) if isinstance(statement, ast.If) else None
        flat += inner or [statement]
    for statement in flat:
        if _is_call(fl, statement):
            calls.append(statement)  # type: ignore[arg-type]
            pieces.append([])
        else:
            pieces[-1].append(statement)
    return pieces, calls


def _is_call(fl: Function, statement: ast.stmt) -> bool:
    if not isinstance(statement, ast.Expr) or not isinstance(statement.value, ast.Call):
        return False
    call = statement.value
    if not isinstance(call.func, (ast.Attribute, ast.Name)) or len(call.args + call.keywords) > 1:
        return False
    if "syncwarp" not in ast.unparse(call.func):
        return False
    return fl.expression(call.func).const == Symbol("syncwarp")


def _joined(one: ast.Expr, other: ast.Expr, name: str, first: Piece, second: Piece) -> ast.stmt:
    """One call for both; masks that are written differently go through a variable."""
    masks = [_mask(part) for part in (one, other)]
    if ast.unparse(masks[0]) == ast.unparse(masks[1]) and isinstance(masks[0], ast.Constant):
        return ast.Expr(one.value)
    for mask, piece in zip(masks, (first, second), strict=True):
        piece.append(ast.Assign([ast.Name(name, ast.Store())], mask))
    func = one.value.func  # type: ignore[attr-defined]
    return ast.Expr(ast.Call(func, [ast.Name(name, ast.Load())], []))


def _mask(part: ast.Expr) -> ast.expr:
    call = part.value
    assert isinstance(call, ast.Call)
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return given[0] if given else ast.copy_location(ast.Constant(0xFFFFFFFF), call)
