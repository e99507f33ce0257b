"""Whether the value that a name has at one point of a function may still be read.

Where it cannot, paths that give the name different types may meet, as in Numba, whose variables
end with their last read.
"""

from __future__ import annotations

import ast

from .names import free_in, own, target_names

READ, ASSIGNED, OPEN = "read", "assigned", "open"  # what a piece of code does to a name first
LOOPS = (ast.For, ast.While)


def read_after(tree: ast.FunctionDef | ast.Lambda, node: ast.AST, name: str) -> bool:
    """Whether the value of `name` where paths meet at `node` (after an if, at the head or the end
    of a loop) may be read.  True when in doubt."""
    chain = _after(getattr(tree, "body", None), None, node)
    if not chain or (isinstance(node, LOOPS) and _statement(node, name) == READ):
        return True
    for rest, owner in chain:
        first = _suite(rest, name)
        if first != OPEN:
            return first == READ
        if isinstance(owner, LOOPS) and _statement(owner, name) == READ:
            return True
    return False


Chain = list[tuple[list[ast.stmt], ast.stmt | None]]


def _after(suite: object, owner: ast.stmt | None, node: ast.AST) -> Chain:
    """What follows a statement: the rest of its suite, then that of each suite around it, each
    with the statement that owns the suite."""
    if not isinstance(suite, list):
        return []
    for at, statement in enumerate(suite):
        rest = (suite[at + 1 :], owner)
        if statement is node:
            return [rest]
        for part in ("body", "orelse"):
            if found := _after(getattr(statement, part, None), statement, node):
                return [*found, rest]
    return []


def _suite(suite: list[ast.stmt], name: str) -> str:
    for statement in suite:
        first = _statement(statement, name)
        if first != OPEN:
            return first
    return OPEN


def _statement(node: ast.stmt, name: str) -> str:
    if isinstance(node, (ast.Break, ast.Continue)):
        return READ  # it goes on elsewhere
    if isinstance(node, ast.Assign):
        bound = [n for target in node.targets for n in target_names(target)]
        return READ if _reads(node, name) else (ASSIGNED if name in bound else OPEN)
    if isinstance(node, ast.AugAssign) and name in target_names(node.target):
        return READ
    if isinstance(node, ast.If):
        if _reads(node.test, name):
            return READ
        sides = {_suite(node.body, name), _suite(node.orelse, name)}
        return READ if READ in sides else (sides.pop() if len(sides) == 1 else OPEN)
    if isinstance(node, ast.For):
        inside = OPEN if name in target_names(node.target) else _suite(node.body, name)
        return READ if _reads(node.iter, name) or READ in (inside, _suite(node.orelse, name)) else (
            OPEN
        )  # fmt: skip
    if isinstance(node, ast.While):
        parts = (_suite(node.body, name), _suite(node.orelse, name))
        return READ if _reads(node.test, name) or READ in parts else OPEN
    return READ if _reads(node, name) else OPEN


def _reads(node: ast.AST, name: str) -> bool:
    for inner in own(node):
        if isinstance(inner, ast.Name) and inner.id == name and isinstance(inner.ctx, ast.Load):
            return True
        if isinstance(inner, (ast.FunctionDef, ast.Lambda)) and name in free_in(inner):
            return True
    return False
