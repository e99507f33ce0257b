"""Clues: what the text of a kernel or a function gives away, read from its syntax tree.

slip    a way to write something that Python reads in another way than it looks
guard   a condition that decides whether a thread gets to a line
again   a load of an element that has been loaded before, with nothing in between to change it
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np

from . import todo

BITWISE = "bitwise_in_comparison"
AGAIN = "loaded_again"
PASSED = "The guard lets this thread through: compare its condition with the index."

_SIGNS: dict[type[ast.AST], str] = {
    ast.BitAnd: "&", ast.BitOr: "|", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
    ast.Eq: "==", ast.NotEq: "!=",
}  # fmt: skip
_WORDS = {"&": "and", "|": "or"}
# NumPy's roundings return floats; these return integers.
_ROUNDINGS = {
    "ceil": "math.ceil", "floor": "math.floor", "trunc": "math.trunc", "rint": "round",
    "round": "round",
}  # fmt: skip


def bitwise(source: Any) -> str | None:
    """A sentence on the first `a < b & c < d` of a kernel; None where there is none.

    source: the kernel's, with `.tree`, `.text` and `.first_line`.  NumPy needs & and |, but they
    bind tighter than a comparison.
    """
    for node in ast.walk(source.tree):
        for part in _bare_parts(node, source):
            assert isinstance(node, ast.Compare) and isinstance(part, ast.BinOp)
            sign = _SIGNS[type(part.op)]
            other = next((_SIGNS[type(op)] for op in node.ops if type(op) in _SIGNS), "in")
            return (
                f"In line {node.lineno}, {sign} binds tighter than {other}: Python reads "
                f"{_with_brackets(node)}.  Write {_WORDS[sign]} instead of {sign}."
            )
    return None


def guarded(source: Any, error: Exception) -> bool:
    """Does a condition of the kernel stand before the line where a thread was stopped?"""
    line = getattr(error, "line", None)
    # The line may be one of a device function, in another cell.
    if line is None or source.line_text(line) != getattr(error, "line_text", ""):
        return False
    return _decided(source.tree.body, line)


def loaded_again(source: Any, loads: Mapping[int, Collection[str]]) -> str | None:
    """A sentence on the first element that a kernel loads twice; None where there is none.

    loads: line -> arrays of global memory that it loads.  The same text means the same element
    while no name in it gets a value, and the array no store.
    """
    seen: dict[str, ast.Subscript] = {}
    nodes = [node for node in ast.walk(source.tree) if isinstance(node, ast.Name | ast.Subscript)]
    for node in sorted(nodes, key=lambda one: (one.lineno, one.col_offset)):
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                seen = {text: old for text, old in seen.items() if node.id not in _names(old)}
        elif isinstance(node.ctx, ast.Store):
            changed = _names(node.value)
            seen = {text: old for text, old in seen.items() if not changed & _names(old.value)}
        elif isinstance(node.value, ast.Name) and node.value.id in loads.get(node.lineno, ()):
            text = ast.unparse(node)
            first = seen.setdefault(text, node)
            if first is not node:
                where = f"line {first.lineno} and again in line {node.lineno}"
                if first.lineno == node.lineno:
                    where = f"line {node.lineno} more than once"
                return f"{text} is loaded in {where}.  Load it once, into a variable."
    return None


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def rounding(answer: Any) -> tuple[str, str] | None:
    """("np.ceil", "math.ceil") when a function rounds with NumPy, which gives a float."""
    tree = todo.tree_of(answer)
    if tree is None:
        return None
    known = getattr(answer, "__globals__", {})
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module, name = node.value.id, node.attr
            is_numpy = known.get(module, np if module in ("np", "numpy") else None) is np
            if is_numpy and name in _ROUNDINGS:
                return f"{module}.{name}", _ROUNDINGS[name]
        elif isinstance(node, ast.Name) and node.id in _ROUNDINGS:
            if known.get(node.id) is getattr(np, node.id):
                return f"NumPy's {node.id}", _ROUNDINGS[node.id]
    return None


def _bare_parts(node: ast.AST, source: Any) -> Iterator[ast.expr]:
    """The parts of a comparison that & or | put together, without parentheses of their own."""
    if not isinstance(node, ast.Compare):
        return
    parts = [node.left, *node.comparators]
    for k, part in enumerate(parts):
        if not isinstance(part, ast.BinOp) or not isinstance(part.op, ast.BitAnd | ast.BitOr):
            continue
        # i & 1 == 0 is how bits are tested; a comparison on both sides is the slip.
        between = 0 < k < len(parts) - 1
        if not between and not any(map(_is_condition, (part.left, part.right))):
            continue
        start = (node.lineno, node.col_offset) if k == 0 else _end(parts[k - 1])
        if "(" not in _text_between(source, start, (part.lineno, part.col_offset)):
            yield part


def _is_condition(node: ast.expr) -> bool:
    negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return negated or isinstance(node, ast.Compare | ast.BoolOp)


def _with_brackets(node: ast.Compare) -> str:
    """The comparison with the parentheses that Python puts around & and |."""

    def written(part: ast.expr) -> str:
        text = ast.unparse(part)
        return f"({text})" if isinstance(part, ast.BinOp | ast.Compare) else text

    said = written(node.left)
    for op, part in zip(node.ops, node.comparators, strict=True):
        said += f" {_SIGNS.get(type(op), 'in')} {written(part)}"
    return said


def _end(node: ast.expr) -> tuple[int, int]:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _text_between(source: Any, start: tuple[int, int], stop: tuple[int, int]) -> str:
    """The text between two (line, column) places; columns count in bytes, as in syntax trees."""
    lines = [line.encode() for line in source.text.splitlines()]
    first, last = start[0] - source.first_line, stop[0] - source.first_line
    if not 0 <= first <= last < len(lines):
        return ""
    if first == last:
        return lines[first][start[1] : stop[1]].decode()
    middle = lines[first + 1 : last]
    return b"\n".join([lines[first][start[1] :], *middle, lines[last][: stop[1]]]).decode()


def _decided(body: list[ast.stmt], line: int) -> bool:
    """Does a condition in `body` decide whether `line` is reached?"""
    left = False  # threads may have left before
    for node in body:
        if node.lineno <= line <= (node.end_lineno or node.lineno):
            inner = [b for b in (getattr(node, "body", []), getattr(node, "orelse", [])) if b]
            inside = [b for b in inner if b[0].lineno <= line <= (b[-1].end_lineno or 0)]
            if left or (inside and isinstance(node, ast.If | ast.While)):
                return True
            return any(_decided(b, line) for b in inside)
        if isinstance(node, ast.If):
            left |= any(isinstance(n, ast.Return | ast.Continue) for n in ast.walk(node))
    return False
