"""The shape of an answer: its code without names, comments and layout.  Nothing is executed."""

from __future__ import annotations

import ast
import builtins
import warnings
from functools import lru_cache

_NAMED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)
_KEPT = frozenset(dir(builtins))


def tree_of(source: str) -> ast.Module | None:
    """The syntax tree, or None where the text is no Python."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None


@lru_cache(maxsize=50_000)
def shape(source: str, answer: str = "") -> str:
    """A text that two answers share when one is the other with names of its own changed.

    answer: a name that is kept, that of the exercise.  Docstrings, annotations, imports, comments
    and layout do not count.  What is no Python is its own shape.
    """
    tree = tree_of(source)
    if tree is None:
        return " ".join(source.split())
    tree.body = [one for one in tree.body if not isinstance(one, (ast.Import, ast.ImportFrom))]
    try:
        return ast.dump(_Plain(bound(tree) - _KEPT - {answer}).visit(tree))
    except RecursionError:
        return " ".join(source.split())


def bound(tree: ast.AST) -> set[str]:
    """The names that the code itself makes."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, _NAMED) and node.name:
            found.add(node.name)
    return found


class _Plain(ast.NodeTransformer):
    """Renames in the order of appearance, and drops what changes no value."""

    def __init__(self, names: set[str]) -> None:
        self._names = names
        self._known: dict[str, str] = {}

    def _new(self, name: str) -> str:
        # No name of Python's has a dot, so a new one never meets an old one.
        return self._known.setdefault(name, f".{len(self._known)}") if name in self._names else name

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._new(node.id)
        return node

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.arg, node.annotation = self._new(node.arg), None
        return node

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        node.name = self._new(node.name) if node.name else None
        self.generic_visit(node)
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name, node.returns = self._new(node.name), None
        first = node.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
            if isinstance(first.value.value, str):
                node.body = node.body[1:] or [ast.Pass()]
        self.generic_visit(node)
        return node
