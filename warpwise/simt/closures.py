"""Functions and lambdas that are defined inside a kernel.

Numba puts the body of such a function where it is called, so the names it takes from around it have
the values of that moment.  Here it becomes a device function with those names as extra parameters.
Passed on to another function, it may use only names that are constants.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

from .errors import TypingError, UnsupportedError
from .names import changed_by, free_in, has
from .program import Val
from .source import Source
from .typing import STATIC

if TYPE_CHECKING:
    from .expressions import Expressions


class Closure:
    """An inner function: what a device function is, and the names it takes from its `home`."""

    explicit: tuple[Any, ...] = ()

    def __init__(self, home: Expressions, tree: ast.FunctionDef, node: ast.AST) -> None:
        self.home = home
        self.node = node
        self.scope = home.scope
        outer = home.source
        self.captured = [n for n in sorted(free_in(tree)) if home.is_local(n)]
        self.changed = changed_by(tree)
        if self.changed:
            tree = _giving_back(home, tree, self.changed)
        self.source = Source(tree.name, outer.filename, outer.first_line, outer.text, tree)
        #: captured names that are the same wherever the function goes
        self.constants: dict[str, Val] = {}
        for name in self.captured:
            var = home.env.get(name)
            if name in home.known_names or (var is not None and var.type is STATIC):
                read = ast.copy_location(ast.Name(name, ast.Load()), node)
                value = home.expression(read)
                self.constants[name] = (
                    value if value.static else home.known(value.const, value.type)
                )
        self.default_values: dict[str, Val] = {}

    def __eq__(self, other: object) -> bool:
        """The same piece of source in the same function: loops lower their bodies repeatedly."""
        return isinstance(other, Closure) and (other.node, other.home) == (self.node, self.home)

    def __hash__(self) -> int:
        return hash((id(self.node), id(self.home)))

    def needs(self) -> list[str]:
        """The captured names, also those of inner functions that this one calls."""
        found = dict.fromkeys(self.captured)
        for name in self.captured:
            inner = self.home.env.get(name)
            if inner is not None and isinstance(inner.const, Closure) and inner.const != self:
                found.update(dict.fromkeys(inner.const.needs()))
        return list(found)

    def values(self, caller: Expressions, node: ast.AST) -> dict[str, Val]:
        """The captured names as the caller has them now."""
        found = {}
        for name in self.needs():
            read = ast.copy_location(ast.Name(name, ast.Load()), node)
            if caller is self.home or (name in caller.captured and caller.home is self.home):
                found[name] = caller.expression(read)
            elif name in self.constants:
                found[name] = self.constants[name]
            else:
                caller.fail(
                    TypingError, node,
                    f"{self.source.name} uses {name} of {self.home.source.name}, which is no "
                    "constant, and so cannot be passed to another function",
                    f"Make {name} a parameter of {self.source.name}.",
                )  # fmt: skip
        return found


def _giving_back(home: Expressions, tree: ast.FunctionDef, changed: list[str]) -> ast.FunctionDef:
    """The function as one that returns the nonlocal names; its caller assigns them."""
    if has(tree, ast.Return):
        home.fail(UnsupportedError, tree, f"{tree.name} changes nonlocal names, and so cannot "
                  "return here", "Return the new value instead.")  # fmt: skip
    body = [part for part in tree.body if not isinstance(part, ast.Nonlocal)]
    end = ast.Return(ast.Tuple([ast.Name(name, ast.Load()) for name in changed], ast.Load()))
    for node in ast.walk(end):
        ast.copy_location(node, tree.body[-1])
    made = ast.FunctionDef(tree.name, tree.args, [*body, end], [], None)
    return ast.copy_location(made, tree)


def closure_of(home: Expressions, node: ast.FunctionDef | ast.Lambda) -> Val:
    """The static value of `def f(...)` or `lambda ...` inside a kernel."""
    if isinstance(node, ast.FunctionDef):
        if node.decorator_list:
            home.fail(UnsupportedError, node, "a function inside a kernel cannot have decorators",
                      "Define it outside.")  # fmt: skip
        if node.name in free_in(node):
            home.fail(
                UnsupportedError, node, f"{node.name}, a function inside a kernel, calls itself",
                "Define it outside, with @cuda.jit(device=True).",
            )  # fmt: skip
        tree = node
    else:
        body = ast.copy_location(ast.Return(node.body), node.body)
        tree = ast.FunctionDef("lambda", node.args, [body], [], None)
        ast.copy_location(tree, node)
    closure = Closure(home, tree, node)
    parameters = [*node.args.posonlyargs, *node.args.args]
    with_default = parameters[len(parameters) - len(node.args.defaults) :]
    for parameter, default in zip(with_default, node.args.defaults, strict=True):
        value: Any = home.expression(default)
        if not value.known:
            home.fail(
                TypingError, default,
                f"the default value of {parameter.arg} is known only at run time",
                "Use a constant, or pass it in the call.",
            )  # fmt: skip
        closure.default_values[parameter.arg] = value
    return Val("None", STATIC, closure)
