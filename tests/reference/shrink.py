"""Makes a failing kernel small: takes away statements and puts simpler expressions in the place of
others, as long as it still fails."""

from __future__ import annotations

import ast
import copy
import time
from collections.abc import Callable, Iterator


def shrink(text: str, fails: Callable[[str], bool], seconds: float = 60) -> str:
    """The smallest text found for which `fails` still holds."""
    deadline = time.monotonic() + seconds
    smaller = True
    while smaller and time.monotonic() < deadline:
        smaller = False
        for candidate in candidates(text):
            if time.monotonic() > deadline:
                break
            if candidate != text and fails(candidate):
                text, smaller = candidate, True
                break
    return text


def candidates(text: str) -> Iterator[str]:
    """Texts with one thing less: functions and statements first, then parts of expressions."""
    tree = ast.parse(text)
    for size in (8, 4, 2, 1):
        for path in range(count(tree, ast.stmt)):
            yield from edited(tree, path, size)
    total = count(tree, ast.expr)
    for position in range(total):
        for number in range(4):
            changed = copy.deepcopy(tree)
            if replace(changed, position, number):
                yield ast.unparse(ast.fix_missing_locations(changed))


def suites(tree: ast.AST) -> list[tuple[list[ast.stmt], int]]:
    """(suite, index) of every statement, outermost first."""
    found = []
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            suite = getattr(node, name, None)
            if isinstance(suite, list):
                found += [(suite, k) for k in range(len(suite))]
    return found


def count(tree: ast.AST, kind: type[ast.AST]) -> int:
    if kind is ast.stmt:
        return len(suites(tree))
    return sum(isinstance(n, kind) for n in ast.walk(tree))


def edited(tree: ast.Module, position: int, size: int) -> Iterator[str]:
    """Without `size` statements from a position on; or with a statement's body in its place."""
    for lift in (False, True):
        changed = copy.deepcopy(tree)
        suite, at = suites(changed)[position]
        statement = suite[at]
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            return
        if lift:
            if size > 1 or not isinstance(statement, (ast.If, ast.For, ast.While)):
                return
            suite[at : at + 1] = statement.body
        else:
            if at + size > len(suite):
                return
            del suite[at : at + size]
            if not suite:
                suite.append(ast.Pass())
        yield ast.unparse(ast.fix_missing_locations(changed))


def replace(tree: ast.AST, position: int, number: int) -> bool:
    """Put a part of an expression, or a number, in its place; False when there is no such part."""
    seen = -1
    for parent in ast.walk(tree):
        for name, value in ast.iter_fields(parent):
            slots = enumerate(value) if isinstance(value, list) else [(None, value)]
            for key, node in slots:
                if not isinstance(node, ast.expr):
                    continue
                seen += 1
                if seen != position:
                    continue
                if isinstance(getattr(node, "ctx", None), ast.Store) or name == "func":
                    return False
                parts = [c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)]
                parts = [p for p in parts if not (isinstance(node, ast.Call) and p is node.func)]
                if not isinstance(node, (ast.Constant, ast.Name)):
                    parts.append(ast.Constant(1))
                if number >= len(parts):
                    return False
                if key is None:
                    setattr(parent, name, parts[number])
                else:
                    value[key] = parts[number]
                return True
    return False
