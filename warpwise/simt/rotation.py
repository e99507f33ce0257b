"""`while` loops as Python compiles them: the test once in front of the loop, once at its end.

The two copies have types of their own.  In

    x = 0
    while x < n:
        x = x * 1.5

the first one compares two integers, the other one a float64 with an integer.  One copy at the head
of the loop does for both where the types are the same.
"""

from __future__ import annotations

import ast
import dis
from functools import cache
from typing import TYPE_CHECKING

from .flow import Env
from .names import has, names

if TYPE_CHECKING:
    from .statements import Function


def parts(fl: Function, node: ast.While, entry: Env, head: Env) -> bool:
    """Whether the test of a loop has other types at the entry than in later rounds."""
    if has(node, ast.Continue) or node.orelse or not _compiled_twice():
        return False
    read = set(names(node.test))
    return any(name in read and entry[name].type != head[name].type
               for name in entry.keys() & head.keys())  # fmt: skip


def rotate(fl: Function, node: ast.While) -> None:
    """Lower this loop as `if test: while True: ...; if not test: break` from now on."""
    passing, leaving = ast.Pass(), ast.Break()
    last = ast.If(node.test, [passing], [leaving])
    loop = ast.While(ast.Constant(True), [*node.body, last], [])
    first = ast.If(node.test, [loop], [])
    for made in (passing, leaving, last, loop, loop.test, first):
        ast.copy_location(made, node)
        fl.stands_for[made] = node
    fl.rotated[node] = first


@cache
def _compiled_twice() -> bool:
    """Whether this Python writes the test of a `while` twice."""
    code = compile("while test: step()", "<while>", "exec")
    return sum(i.argval == "test" for i in dis.get_instructions(code)) == 2
