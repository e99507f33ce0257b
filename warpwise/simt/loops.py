"""Loops over anything but range(), written as loops over range().

    for v in x:                 for k in range(len(x)): v = x[k]
    for i, v in enumerate(x):   for k in range(len(x)): i = k; v = x[k]
    for a, b in zip(x, y):      for k in range(min(len(x), len(y))): a = x[k]; b = y[k]

x is a 1-D array, an array whose rows are wanted, or a tuple of one type.
"""

from __future__ import annotations

import ast
from typing import TypeVar

Node = TypeVar("Node", bound=ast.AST)
Rewritten = tuple[list[ast.stmt], ast.For]


def rewrite(node: ast.For, number: int) -> Rewritten:
    """Statements to run first, and the loop over range(); `number` makes its names unique."""
    counter = f"k__{number}"
    before: list[ast.stmt] = []

    def held(value: ast.expr) -> ast.expr:
        """The value under a name, so that it is evaluated once."""
        if isinstance(value, ast.Name):
            return value
        name = f"x__{number}_{len(before)}"
        before.append(_at(node, ast.Assign([ast.Name(name, ast.Store())], value)))
        return ast.Name(name, ast.Load())

    def item(value: ast.expr) -> ast.expr:
        return ast.Subscript(value, ast.Name(counter, ast.Load()), ast.Load())

    source = node.iter
    called = ""
    if isinstance(source, ast.Call) and isinstance(source.func, ast.Name):
        called = source.func.id
    values: list[ast.expr]
    if called == "enumerate":
        assert isinstance(source, ast.Call)
        over = held(source.args[0])
        start = source.args[1] if len(source.args) > 1 else ast.Constant(0)
        index: ast.expr = ast.BinOp(ast.Name(counter, ast.Load()), ast.Add(), start)
        values, lengths = [index, item(over)], [over]
    elif called == "zip":
        assert isinstance(source, ast.Call)
        overs = [held(arg) for arg in source.args]
        values, lengths = [item(over) for over in overs], overs
    else:
        over = held(source)
        values, lengths = [item(over)], [over]
    target = node.target
    value = values[0] if len(values) == 1 else ast.Tuple(values, ast.Load())
    sizes: list[ast.expr] = [ast.Call(ast.Name("len", ast.Load()), [over], []) for over in lengths]
    bound = sizes[0] if len(sizes) == 1 else ast.Call(ast.Name("min", ast.Load()), sizes, [])
    loop = ast.For(
        ast.Name(counter, ast.Store()),
        ast.Call(ast.Name("range", ast.Load()), [bound], []),
        [_at(node, ast.Assign([target], value)), *node.body],
        node.orelse,
    )
    return before, _at(node, loop)


def _at(place: ast.AST, node: Node) -> Node:
    """Give a made node, and all in it that has no place yet, the place of another."""
    for inner in ast.walk(node):
        if not hasattr(inner, "lineno") and isinstance(inner, (ast.expr, ast.stmt)):
            ast.copy_location(inner, place)
    return node
