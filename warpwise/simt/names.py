"""Which names a piece of syntax assigns and reads.

A function or lambda inside a function has names of its own: `own` does not look into it.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator

INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
FUNCTION_EXITS = (ast.Return, ast.Raise, ast.Assert)
Inner = ast.FunctionDef | ast.Lambda


def own(node: ast.AST) -> Iterator[ast.AST]:
    """A node and what is in it, inner functions themselves but not their bodies."""
    waiting = [node]
    while waiting:
        found = waiting.pop()
        yield found
        if not isinstance(found, INNER) or found is node:
            waiting.extend(ast.iter_child_nodes(found))


def parameters_of(tree: ast.FunctionDef | ast.Lambda) -> list[str]:
    """Names of the positional parameters."""
    args = tree.args
    return [a.arg for a in (*args.posonlyargs, *args.args)]


def assigned_in(node: ast.AST) -> set[str]:
    """Names that get a value in a node: by assignment, as a loop variable, by an inner def."""
    found = set()
    for inner in own(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            found.add(inner.id)
        elif isinstance(inner, (ast.FunctionDef, ast.MatchAs)) and inner is not node:
            found.update([inner.name] if inner.name else [])
            if isinstance(inner, ast.FunctionDef):
                found.update(changed_by(inner))
    return found


def changed_by(tree: ast.FunctionDef | ast.Lambda) -> list[str]:
    """Names of the function around it that an inner function declares nonlocal."""
    return [name for n in own(tree) if isinstance(n, ast.Nonlocal) for name in n.names]


def idle_in(loop: ast.While) -> set[str]:
    """Names that a loop assigns and nothing in it depends on, such as a count of its turns."""
    idle = assigned_in(loop)
    while True:
        harmless = {
            id(n)
            for s in ast.walk(loop)
            if isinstance(s, (ast.Assign, ast.AugAssign))
            and not any(isinstance(n, (ast.Call, ast.Subscript)) for n in ast.walk(s))
            and assigned_in(s) <= idle
            for n in ast.walk(s.value)
        }
        read = {
            n.id
            for n in ast.walk(loop)
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and id(n) not in harmless
        }
        if not idle & read:
            return idle
        idle -= read


def free_in(tree: Inner) -> set[str]:
    """Names that an inner function reads from outside."""
    bound = {*parameters_of(tree), *assigned_in(tree)} - set(changed_by(tree))
    if tree.args.vararg is not None:
        bound.add(tree.args.vararg.arg)
    read = set(changed_by(tree))
    for inner in own(tree):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Load):
            read.add(inner.id)
        elif isinstance(inner, (ast.FunctionDef, ast.Lambda)) and inner is not tree:
            read |= free_in(inner)
    return read - bound


def assigned_once(tree: ast.FunctionDef) -> set[str]:
    """Names with one assignment in the whole function, in its outermost suite."""
    stores = Counter(n.id for n in own(tree) if isinstance(n, ast.Name)
                     and isinstance(n.ctx, ast.Store))  # fmt: skip
    top = {name for statement in tree.body for name in targets(statement)}
    inner = (n for n in own(tree) if isinstance(n, ast.FunctionDef) and n is not tree)
    again = {name for one in inner for name in changed_by(one)}
    return {name for name in top if stores[name] == 1} - set(parameters_of(tree)) - again


def names(node: ast.AST) -> Iterator[str]:
    """Every name that occurs, also in inner functions."""
    for n in ast.walk(node):
        if isinstance(n, ast.Name):
            yield n.id


def count_names(node: ast.AST, name: str) -> int:
    """How often a name occurs."""
    return sum(1 for n in names(node) if n == name)


def targets(statement: ast.stmt) -> list[str]:
    """Names that a statement of a suite assigns for every lane that reaches it."""
    if isinstance(statement, ast.Assign):
        return [n for target in statement.targets for n in target_names(target)]
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        return target_names(statement.target)
    return []


def target_names(target: ast.expr) -> list[str]:
    """Names that an assignment to this target gives a value."""
    if isinstance(target, ast.Name):
        return [target.id]
    if isinstance(target, (ast.Tuple, ast.List)):
        return [n for part in target.elts for n in target_names(part)]
    return []


def has(node: ast.AST, *kinds: type[ast.AST]) -> bool:
    """Whether a statement holds one of these: a return, or a break or continue of its own loop."""
    return _hold(ast.iter_child_nodes(node), kinds)


def _hold(parts: Iterable[ast.AST], kinds: tuple[type[ast.AST], ...]) -> bool:
    beyond = tuple(kind for kind in kinds if kind not in (ast.Break, ast.Continue))
    waiting = [(part, kinds) for part in parts]
    while waiting:
        part, wanted = waiting.pop()
        if isinstance(part, wanted):
            return True
        if isinstance(part, (ast.For, ast.While)):
            waiting.extend((inner, beyond) for inner in part.body)
            waiting.extend((inner, wanted) for inner in part.orelse)  # of the loop around
        elif not isinstance(part, (ast.expr, *INNER)):
            waiting.extend((inner, wanted) for inner in ast.iter_child_nodes(part))
    return False


def may_leave(statement: ast.stmt) -> bool:
    """Whether lanes may be gone after this statement."""
    return _hold([statement], (*FUNCTION_EXITS, ast.Break, ast.Continue))


def may_leave_body(node: ast.AST) -> bool:
    """Whether lanes may leave the suite of this statement early."""
    return has(node, *FUNCTION_EXITS, ast.Break, ast.Continue)


def returns_early(tree: ast.FunctionDef) -> bool:
    """Whether a return stands anywhere but at the very end of the function."""
    last = tree.body[-1]
    leaving = (ast.Return, ast.Raise, ast.Assert)
    return any(isinstance(n, leaving) and n is not last for n in own(tree))
