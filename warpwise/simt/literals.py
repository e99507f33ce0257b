"""Which expressions the compiler sees as literals: the sizes of shared and local arrays have to be.

Python folds 2 * 4 before Numba looks; a global integer is a literal, too, and so is a name that is
assigned one.  Arithmetic with names is not: cuda.shared.array((TILE, TILE + 1), float32) does not
compile.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import numpy as np

from . import arithmetic

if TYPE_CHECKING:
    from .expressions import Expressions

COMPUTED = (ast.BinOp, ast.UnaryOp, ast.Call, ast.Compare, ast.BoolOp)


def computed_part(fl: Expressions, expression: ast.expr) -> ast.expr | None:
    """The first part that is computed in the kernel; None when all of it is literal."""
    if arithmetic.of_literals(fl, expression) is not None:
        return None
    if isinstance(expression, COMPUTED):
        return expression
    if isinstance(expression, ast.Attribute):
        return None if expression.attr == "ndim" else expression
    if isinstance(expression, ast.Name):
        return _of_name(fl, expression)
    parts: list[ast.expr] = []
    if isinstance(expression, (ast.Tuple, ast.List)):
        parts = expression.elts
    elif isinstance(expression, (ast.Subscript, ast.NamedExpr, ast.Starred)):
        parts = [expression.value]
    elif isinstance(expression, ast.IfExp):
        parts = [expression.body, expression.orelse]
    found = (computed_part(fl, part) for part in parts)
    return next((part for part in found if part is not None), None)


def _of_name(fl: Expressions, name: ast.Name) -> ast.expr | None:
    if not fl.is_local(name.id):
        try:
            value = fl.scope.lookup(name.id)
        except KeyError:
            return None
        return name if isinstance(value, np.generic) else None
    for statement in ast.walk(fl.source.tree):
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                value_of = _assigned(target, statement.value, name.id)
                if value_of is not None:
                    return computed_part(fl, value_of)
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            if isinstance(statement.target, ast.Name) and statement.target.id == name.id:
                return computed_part(fl, statement.value)
    return None  # a parameter


def _assigned(target: ast.expr, value: ast.expr, name: str) -> ast.expr | None:
    """What an assignment gives to a name, if it does."""
    if isinstance(target, ast.Name):
        return value if target.id == name else None
    if not isinstance(target, (ast.Tuple, ast.List)):
        return None
    pairs: list[tuple[ast.expr, ast.expr]] = [(part, value) for part in target.elts]
    if isinstance(value, ast.Tuple) and len(value.elts) == len(target.elts):
        pairs = list(zip(target.elts, value.elts, strict=True))
    found = (_assigned(part, item, name) for part, item in pairs)
    return next((item for item in found if item is not None), None)
