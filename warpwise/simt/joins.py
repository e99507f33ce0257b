"""The edges of the control flow: which types meet where, and the moves that unify them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .errors import TypingError
from .flow import Edge, Env
from .liveness import read_after
from .program import MISSING, Lines, Val, Var, describe, same_type
from .typing import STATIC, Type

if TYPE_CHECKING:
    from .statements import Function


def edge_here(fl: Function) -> Edge:
    """An edge out of the current point; moves are added to it when its target is known."""
    moves: Lines = []
    fl.lines.append(moves)
    return Edge(dict(fl.env), moves, fl.depth, fl.mask)


def merge(fl: Function, edges: list[Edge], node: ast.AST) -> Env:
    """The env where several edges meet; types are unified as Numba does at a phi."""
    env: Env = {}
    for name in dict.fromkeys(n for edge in edges for n in edge.env):
        here = [edge.env[name] for edge in edges if name in edge.env]
        sure = len(here) == len(edges) and all(var.sure for var in here)
        kind, const = here[0].type, here[0].const
        for other in here[1:]:
            if (other.type, other.const) == (kind, const):
                continue
            joined = same_type(kind, other.type)
            if joined is None:
                _no_common_type(fl, name, kind, other.type, node)
                break
            kind, const = joined, MISSING
        else:
            env[name] = Var(kind, const, sure)
    return env


def _no_common_type(fl: Function, name: str, a: Type, b: Type, node: ast.AST) -> None:
    if read_after(fl.source.tree, fl.stands_for.get(node, node), name):
        if a is STATIC and b is STATIC:
            fl.fail(
                TypingError, node, f"{name} stands for different things on two paths",
                "A function or type has to be known when the kernel is compiled: use it inside "
                "the branches.",
            )  # fmt: skip
        fl.fail(
            TypingError, node,
            f"{name} is {describe(a)} on one path and {describe(b)} on another",
            "Give it one type, or use two names.",
        )  # fmt: skip


def join(fl: Function, edges: list[Edge], node: ast.AST) -> Env:
    """merge(), and the conversions on the edges."""
    env = merge(fl, edges, node)
    for edge in edges:
        move(fl, edge, env)
    return env


def move(fl: Function, edge: Edge, env: Env, mask: str = "") -> None:
    """Add to an edge the conversions that its target's types ask for."""
    mask = mask or edge.mask
    for name, var in env.items():
        old = edge.env.get(name)
        if old is None or old.type == var.type or same_type(old.type, var.type) is None:
            continue  # nothing to convert, or a value that is not read any more
        source, target = fl.variable(name, old.type), fl.variable(name, var.type)
        code = fl.cast(Val(source, old.type), var.type).code
        if edge.mask != "m" or mask != "m":
            code = f"assign({mask}, {code}, {target}, m)"
        indent = "    " * edge.depth
        edge.lines.append(
            f"{indent}if {mask} is not False and {source} is not None: {target} = {code}"
        )


def branch(fl: Function, mask: str, body: list[ast.stmt], env: Env) -> tuple[Lines, Edge | None]:
    """Lower a suite under its own mask into lines of its own."""
    outer_lines, outer_mask, outer_env = fl.lines, fl.mask, fl.env
    fl.lines, fl.mask, fl.env = [], mask, dict(env)
    fl.depth += 1
    end = fl.suite(body)
    edge = edge_here(fl) if end is not None else None
    if not any(_nonempty(line) for line in fl.lines):
        fl.emit("pass")
    lines = fl.lines
    fl.depth -= 1
    fl.lines, fl.mask, fl.env = outer_lines, outer_mask, outer_env
    return lines, edge


def _nonempty(line: Any) -> bool:
    return any(_nonempty(part) for part in line) if isinstance(line, list) else True
