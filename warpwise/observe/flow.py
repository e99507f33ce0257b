"""Where the values of an array come from: for each round, which elements each store was made from.

round    what a block does up to a barrier, from the last barrier that followed a store
source   an element that the storing thread read in the same round, on a line that the stored value
         depends on by its names
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .trace import Event, Trace


@dataclass(frozen=True)
class Arrival:
    """A value that a round stored last at an index.  sources: the indices that it was made from."""

    index: int
    value: Any
    sources: tuple[int, ...]


def rounds(trace: Trace, array: str, tree: ast.FunctionDef) -> list[list[Arrival]]:
    """The stores to a one-dimensional array of one traced block, round by round, by index.

    tree: of the kernel, with the lines of the trace.  A store on none of its lines, in a device
    function, counts as made from all that its thread has read in the round.
    """
    feeding = {line: found for stmt in _stores(tree) for line, found in _feeds(tree, stmt)}
    own = set(range(tree.lineno, (tree.end_lineno or tree.lineno) + 1))
    found = []
    for events in _cut(trace, array):
        read: dict[Any, dict[int, set[int]]] = {}  # thread -> index -> the lines that read it
        arrived: dict[int, Arrival] = {}
        for event in events:
            seen, index = read.setdefault(event.thread, {}), event.index[0]
            if event.kind != "store":
                seen.setdefault(index, set()).add(event.line)
            if event.kind != "load":
                lines = feeding.get(event.line)
                sources = [i for i, at in seen.items() if lines is None or at & lines or at - own]
                arrived[index] = Arrival(index, event.value, tuple(sorted(sources)))
        found.append([arrived[index] for index in sorted(arrived)])
    return found


def _stores(tree: ast.FunctionDef) -> Iterator[ast.Assign | ast.AnnAssign | ast.AugAssign]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
            yield node


def _feeds(tree: ast.FunctionDef, stmt: Any) -> Iterator[tuple[int, set[int]]]:
    """Each line of a statement -> the lines whose reads its value may depend on."""
    lines = set(_lines(stmt))
    waiting, known = _names(stmt.value), set[str]()
    while waiting:
        name = waiting.pop()
        known.add(name)
        for other in _stores(tree):
            targets: list[ast.expr] = []
            targets += other.targets if isinstance(other, ast.Assign) else [other.target]
            if name in _assigned(targets):
                lines |= set(_lines(other))
                waiting |= _names(other.value) - known
    yield from ((line, lines) for line in _lines(stmt))


def _names(node: ast.AST | None) -> set[str]:
    """Names in an expression, those in an index left out: where it reads, not what."""
    if node is None:
        return set()
    if isinstance(node, ast.Subscript):
        return _names(node.value)
    here = {node.id} if isinstance(node, ast.Name) else set[str]()
    return here.union(*(_names(child) for child in ast.iter_child_nodes(node)))


def _assigned(targets: list[ast.expr]) -> set[str]:
    """Names that an assignment gives a new value."""
    nodes = (node for target in targets for node in ast.walk(target))
    return {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def _lines(stmt: ast.stmt) -> range:
    return range(stmt.lineno, (stmt.end_lineno or stmt.lineno) + 1)


def _cut(trace: Trace, array: str) -> Iterator[list[Event]]:
    """The accesses of each round; reads after the last store of all make none."""
    barriers = [step for step, _ in trace.barriers]
    here: list[Event] = []
    for event in trace.events:
        passed = False
        while barriers and barriers[0] < event.step:
            barriers.pop(0)
            passed = True
        if passed and any(one.kind != "load" for one in here):
            yield here
            here = []
        if event.array == array:
            here.append(event)
    if any(one.kind != "load" for one in here):
        yield here
