"""A copy of a kernel's text in which every expression has a line number of its own, and loops and
branches tell which way a thread goes.

Numba keeps the line of each instruction, so that the reference can tell places of the source apart,
even where Python compiles one expression twice.  Two threads of a warp run a place together when
they are in the same round of every loop around it.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass, replace
from typing import Any

from numba import cuda

from warpwise.simt.install import uninstalled

FILE = "<reference>"
#: Called with 4 * (number of a loop or branch) + what happens to it.
MARK = "mark__"
PARTS = {"real": (0,), "imag": (1,)}
START, ROUND, YES, NO = range(4)  # a loop starts, goes round; a condition holds, does not hold
mark = cuda.declare_device(MARK, "void(int64)")


@dataclass(frozen=True)
class Place:
    """An expression of the source: function, line, and the loops around it, outermost first.
    parts: which parts of it are used, if it is a complex number."""

    function: str
    line: int
    loops: tuple[int, ...]
    parts: tuple[int, ...] = (0, 1)


@dataclass
class Marked:
    """A text with marks: what it defines, places by their new line numbers, and for each loop and
    branch its place."""

    scope: dict[str, Any]
    places: dict[int, Place]
    conditions: dict[int, Place]


def functions(text: str, names: dict[str, Any]) -> Marked:
    """Run the text with marks.  The kernel loses its decorator, device functions keep theirs."""
    tree = ast.parse(text)
    marked = Marked({MARK: mark, **names}, {}, {})
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            for statement in node.body:
                _number(statement, node.name, (), marked)
            node.body = _started(node.body)
            node.decorator_list = [d for d in node.decorator_list if isinstance(d, ast.Call)]
    with uninstalled():  # the text's own `from numba import cuda` means Numba's
        exec(compile(ast.fix_missing_locations(tree), FILE, "exec"), marked.scope)
    return marked


def _number(node: ast.AST, function: str, around: tuple[int, ...], marked: Marked) -> None:
    """Give the node and all that is in it numbers; loops and branches get marks."""
    inner = around
    if isinstance(node, (ast.For, ast.While)) or (isinstance(node, ast.If) and not _fixed(node)):
        uid = len(marked.conditions) + 1
        marked.conditions[uid] = Place(function, node.lineno, around)
        loop = not isinstance(node, ast.If)
        if loop:
            inner = (*around, uid)
        node.body.insert(0, _marking(4 * uid + (ROUND if loop else YES), node))
        node.orelse.insert(0, _marking(4 * uid + NO, node))
    for name, value in ast.iter_fields(node):
        here = inner if name in ("test", "body", "target") else around
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                _number(child, function, here, marked)
    if isinstance(node, ast.Attribute) and node.attr in PARTS and hasattr(node.value, "lineno"):
        read = node.value.lineno
        marked.places[read] = replace(marked.places[read], parts=PARTS[node.attr])
    if hasattr(node, "lineno"):
        uid = len(marked.places) + 1
        marked.places[uid] = Place(function, node.lineno, around)
        node.lineno = node.end_lineno = uid
        node.col_offset = node.end_col_offset = 0


def _fixed(node: ast.If) -> bool:
    """Whether the test is decided without a value of the kernel: compiled code has no branch."""
    try:
        eval(compile(ast.Expression(node.test), FILE, "eval"), {"__builtins__": {}})
    except Exception:
        return False
    return True


def _started(body: list[ast.stmt]) -> list[ast.stmt]:
    """Each loop of a suite behind a mark that it starts."""
    out: list[ast.stmt] = []
    for statement in body:
        for name in ("body", "orelse"):
            if isinstance(getattr(statement, name, None), list):
                setattr(statement, name, _started(getattr(statement, name)))
        if isinstance(statement, (ast.For, ast.While)):
            first = statement.body[0]
            assert isinstance(first, ast.Expr) and isinstance(first.value, ast.Call)
            number = first.value.args[0]
            assert isinstance(number, ast.Constant)
            out.append(_marking(number.value - ROUND + START, statement))
        out.append(statement)
    return out


def _marking(value: int, at: ast.AST) -> ast.Expr:
    node = ast.Expr(ast.Call(ast.Name(MARK, ast.Load()), [ast.Constant(value)], []))
    for inner in ast.walk(node):
        ast.copy_location(inner, at)
    return node
