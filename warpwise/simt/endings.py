"""On what it depends whether a `while` ends.

A loop whose ways out hang on names alone never ends once a whole round has left these as they were,
whatever else it computes: `while d > 0: s[t] += s[t + d]` has forgotten `d //= 2`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from .names import FUNCTION_EXITS, assigned_in, idle_in

LEAVING = (*FUNCTION_EXITS, ast.Break, ast.Continue)
#: What may be called or looked at without reading memory.
PURE = frozenset(
    "abs bool float int len max min range round int32 int64 uint32 uint64 float32 float64".split()  # noqa: SIM905
)
MODULES = ("cuda.threadIdx", "cuda.blockIdx", "cuda.blockDim", "cuda.gridDim", "math")


@dataclass
class _Seen:
    """Of a loop's body."""

    tests: list[ast.expr] = field(default_factory=list)  # that a way out or round hangs on
    changes: list[tuple[set[str], list[ast.expr]]] = field(default_factory=list)  # names, from what


def of_loop(loop: ast.While) -> tuple[set[str], bool]:
    """The names it assigns on which its end depends, and whether memory may decide, too."""
    seen = _Seen([loop.test])
    if not _look(seen, loop.body, []) or any(map(_may_assign, ast.walk(loop))):
        return assigned_in(loop) - idle_in(loop), True
    decisive = _names(seen.tests)
    tests, memory = list(seen.tests), False
    while tests:
        memory |= any(map(_reads_memory, tests))
        tests, changes, seen.changes = [], seen.changes, []
        for names, sources in changes:
            if names & decisive:
                tests += sources
            else:
                seen.changes.append((names, sources))
        decisive |= _names(tests)
    if memory:  # which any of the other names may change
        return assigned_in(loop) - idle_in(loop), True
    return decisive & assigned_in(loop), False


def _look(seen: _Seen, body: Iterable[ast.stmt], around: list[ast.expr]) -> bool:
    """Note what a suite does, behind the tests around it; False when it is too much to follow."""
    for one in body:
        if isinstance(one, LEAVING):
            seen.tests += around
            seen.tests += [one.test] if isinstance(one, ast.Assert) else []
        elif isinstance(one, (ast.Assign, ast.AugAssign, ast.AnnAssign)):
            values = [] if one.value is None else [one.value]
            seen.changes.append((assigned_in(one), [*values, *around]))
        elif isinstance(one, (ast.If, ast.While, ast.For)):
            inside = [*around, one.iter if isinstance(one, ast.For) else one.test]
            if isinstance(one, ast.For):
                if not ast.unparse(one.iter).startswith("range("):
                    return False
                seen.changes.append((assigned_in(one.target), inside))
            if not _look(seen, one.body, inside) or not _look(seen, one.orelse, inside):
                return False
        elif not isinstance(one, (ast.Expr, ast.Pass)):
            return False
    return True


def _may_assign(node: ast.AST) -> bool:
    """Whether names may change inside an expression: by :=, or by a function that says nonlocal."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        return node.func.id not in PURE
    return isinstance(node, ast.NamedExpr)


def _names(parts: Iterable[ast.expr]) -> set[str]:
    return {n.id for part in parts for n in ast.walk(part) if isinstance(n, ast.Name)}


def _reads_memory(part: ast.expr) -> bool:
    """Whether an expression may read memory, or what other threads give."""
    if isinstance(part, ast.Call):
        called = ast.unparse(part.func)
        if called not in PURE and not called.startswith("math."):
            return True
        return any(map(_reads_memory, part.args))
    if isinstance(part, ast.Attribute):
        return part.attr != "size" and not ast.unparse(part).startswith(MODULES)
    if isinstance(part, ast.Subscript):
        shape = isinstance(part.value, ast.Attribute) and part.value.attr == "shape"
        return not shape or _reads_memory(part.slice)
    return any(_reads_memory(n) for n in ast.iter_child_nodes(part) if isinstance(n, ast.expr))
