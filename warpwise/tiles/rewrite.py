"""A @triton.jit function as a Python function that the interpreter can run, with its own lines."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any
from weakref import WeakKeyDictionary

from triton.runtime import interpreter

from .errors import TileError

_CACHE: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()
_CONVERT = "_to_tensor"


def rewritten(function: Any) -> Any:
    """The function with every assigned value made a tensor, as the compiler does.

    Lines and file are those of the original; nothing is added to its globals.  Raises TileError
    where Python cannot show the source.
    """
    if function in _CACHE:
        return _CACHE[function]
    try:
        lines, first = inspect.getsourcelines(function)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, SyntaxError, TypeError):
        text = (
            f"{function.__name__}: Python cannot show the source of this kernel.\n"
            "  Define it with def in a cell or in a file."
        )
        raise TileError(text, "source") from None
    inner = tree.body[0]
    assert isinstance(inner, ast.FunctionDef)
    inner.decorator_list = []
    for argument in (*inner.args.posonlyargs, *inner.args.args, *inner.args.kwonlyargs):
        argument.annotation = None
    inner.returns = None
    inner = _Assignments().visit(inner)
    captured = inspect.getclosurevars(function).nonlocals
    names = [_CONVERT, *captured]
    outer = ast.FunctionDef(
        name="_outer",
        args=ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, []),
        body=[inner, ast.Return(ast.Name(inner.name, ast.Load()))],
        decorator_list=[],
    )  # type: ignore[call-overload]
    module = ast.Module([outer], [])
    ast.fix_missing_locations(module)
    ast.increment_lineno(module, first - 1)
    code = compile(module, function.__code__.co_filename, "exec", dont_inherit=True)
    made: dict[str, Any] = {}
    exec(code, function.__globals__, made)
    found = made["_outer"](interpreter.interpreter_semantic.to_tensor, *captured.values())
    if not captured:  # a captured name may get another value
        _CACHE[function] = found
    return found


class _Assignments(ast.NodeTransformer):
    def visit_Assign(self, node: ast.Assign) -> ast.Assign:
        """`x = value` becomes `x = _to_tensor(value, False)`."""
        self.generic_visit(node)
        node.value = ast.Call(ast.Name(_CONVERT, ast.Load()), [node.value, ast.Constant(False)], [])
        return node
