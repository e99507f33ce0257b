"""Where a kernel's text comes from, and what the names in it mean.

Glossary
    Source   the text of one function with its place: file or cell, first line, syntax tree
    Scope    name -> Python object: the function's globals and closure, or, for a kernel that
             exists only as text, a closed list of modules and constants
"""

from __future__ import annotations
import __future__

import ast
import builtins
import inspect
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType, SimpleNamespace
from typing import Any, Protocol

from . import bytecode
from .errors import SourceError


class Scope(Protocol):
    """Looks up a global name; KeyError when there is none."""

    def lookup(self, name: str) -> Any: ...


@dataclass(frozen=True)
class Source:
    """The text of one function.  Lines count in the reader's file or cell, from 1."""

    name: str
    filename: str
    first_line: int
    text: str
    tree: ast.FunctionDef

    def line_text(self, line: int) -> str:
        """The text of a line of the file, stripped; empty outside the function."""
        lines = self.text.splitlines()
        at = line - self.first_line
        return lines[at].strip() if 0 <= at < len(lines) else ""


class LiveScope:
    """The globals and the closure of a Python function, read at the time of the look-up."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self._fn = fn

    def lookup(self, name: str) -> Any:
        code = self._fn.__code__
        if name in code.co_freevars:
            cell = (self._fn.__closure__ or ())[code.co_freevars.index(name)]
            try:
                return cell.cell_contents
            except ValueError:
                raise KeyError(name) from None
        if name in self._fn.__globals__:
            return self._fn.__globals__[name]
        return getattr_or_key_error(builtins, name)


class TextScope:
    """Names of a kernel that exists only as text: constants, known modules, its own imports.

    Nothing of the text is run.  Literal assignments (`TILE = 16`) count; imports of other modules
    are ignored, so that the names they would give are not defined.
    """

    MODULES = (
        "warpwise",
        "numba",
        "numba.cuda",
        "numba.cuda.random",
        "numba.types",
        "numpy",
        "math",
    )

    def __init__(self, module: ast.Module, constants: Mapping[str, Any]) -> None:
        self._names: dict[str, Any] = dict(_default_names())
        for node in module.body:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name in self.MODULES and alias.name != "warpwise":
                        top = alias.name if alias.asname else alias.name.split(".")[0]
                        self._names[alias.asname or top] = _module(top)
            elif isinstance(node, ast.ImportFrom) and node.module in self.MODULES:
                for alias in node.names:
                    value = getattr(_module(node.module), alias.name, None)
                    if value is not None:
                        self._names[alias.asname or alias.name] = value
            elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                try:
                    self._names[node.targets[0].id] = ast.literal_eval(node.value)
                except ValueError:
                    continue  # computed: the caller passes it in `constants`
        self._names.update(constants)

    def define(self, name: str, value: Any) -> None:
        """Add a device function of the same text."""
        self._names[name] = value

    def lookup(self, name: str) -> Any:
        if name in self._names:
            return self._names[name]
        if name in _BUILTINS:
            return _BUILTINS[name]
        raise KeyError(name)


# What a kernel may call of Python's own; the rest of `builtins` stays out of reach of a text.
_BUILTIN_NAMES = """
    abs bool complex divmod enumerate float hasattr int isinstance iter len max min pow print range
    reversed round sum tuple zip
"""
_BUILTINS = {name: getattr(builtins, name) for name in _BUILTIN_NAMES.split()}


def _default_names() -> dict[str, Any]:
    import numba
    import numpy as np

    return {"cuda": _module("numba.cuda"), "math": math, "np": np, "numpy": np, "numba": numba}


def _module(name: str) -> Any:
    import numba
    import numpy as np

    from . import api
    from .mma import MMAS

    if name == "numba.cuda.random":
        return api.random
    if name == "warpwise":  # stands for what a kernel may call of the package
        return SimpleNamespace(cuda=api, **MMAS)
    return {
        "numba": numba,
        "numba.cuda": api,
        "numba.types": numba.types,
        "numpy": np,
        "math": math,
    }[name]


def getattr_or_key_error(owner: Any, name: str) -> Any:
    """getattr that speaks the language of scopes."""
    try:
        return getattr(owner, name)
    except AttributeError:
        raise KeyError(name) from None


def source_of(fn: Callable[..., Any]) -> Source:
    """The source of a live function; SourceError when Python has no text for it."""
    name = getattr(fn, "__name__", "<kernel>")
    filename = inspect.getsourcefile(fn) or "<unknown>"
    try:
        if name == "<lambda>":
            lines, _ = inspect.findsource(fn)
            return _lambda("".join(lines), filename, fn.__code__)
        lines, first_line = inspect.getsourcelines(fn)
    except (OSError, TypeError):
        return _executed(fn.__code__) or _read_back(fn)
    return _source("".join(lines), name, filename, max(first_line, 1))


def _executed(code: CodeType) -> Source | None:
    """The source of a function that exec() made, when its text is still at hand: in a variable of
    a calling function.  A text counts only if it compiles to this very code."""
    frame = sys._getframe(1)
    seen: set[str] = set()
    while frame is not None:
        for value in (*frame.f_locals.values(), *frame.f_globals.values()):
            if type(value) is str and f"def {code.co_name}" in value and value not in seen:
                seen.add(value)
                if (found := _compiles_to(value, code)) is not None:
                    return found
        frame = frame.f_back  # type: ignore[assignment]
    return None


def _read_back(fn: Callable[..., Any]) -> Source:
    """The source of a function without text, from its bytecode; lines count in the new text."""
    name = fn.__name__
    try:
        text = bytecode.text_of(fn)
    except bytecode.NotReadableError as error:
        raise SourceError(
            f"{name}: Python has no source text for this function, so it was made with exec() or "
            f"typed at a bare prompt, and its bytecode cannot be read back ({error}).\n  Put the "
            "kernel into a file or a notebook cell."
        ) from None
    tree = ast.parse(text).body[0]
    assert isinstance(tree, ast.FunctionDef)
    return Source(tree.name, fn.__code__.co_filename, 1, text, tree)


def _compiles_to(text: str, code: CodeType) -> Source | None:
    try:
        module = ast.parse(text)
        for flags in (0, __future__.annotations.compiler_flag):
            whole = compile(text, code.co_filename, "exec", flags, dont_inherit=True)
            if code in _codes(whole):
                break
        else:
            return None
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(module):
        if isinstance(node, ast.FunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(part.lineno for part in node.decorator_list)])
            if first == code.co_firstlineno:
                return Source(node.name, code.co_filename, 1, text, node)
    return None


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


@lru_cache(maxsize=8)
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def _lambda(text: str, filename: str, code: CodeType) -> Source:
    """The source of a lambda: the one of its file in whose place the code's instructions are."""
    try:
        module = _parsed(text)
    except SyntaxError:
        raise SourceError(f"a lambda in {filename}: the file is not valid Python.") from None
    places = [
        ((line, column), (end_line, end_column))
        for line, end_line, column, end_column in code.co_positions()
        if line and end_line and column is not None and end_column is not None
    ]
    places = [(start, end) for start, end in places if start != end]
    found = [
        node
        for node in ast.walk(module)
        if isinstance(node, ast.Lambda)
        and node.lineno == code.co_firstlineno
        and all(
            (node.body.lineno, node.body.col_offset) <= start
            and end <= (node.body.end_lineno or 0, node.body.end_col_offset or 0)
            for start, end in places
        )
    ]
    if not found or (len(found) > 1 and not places):
        raise SourceError(
            f"a lambda in line {code.co_firstlineno} of {filename} cannot be told from the others "
            "there. Write it with def."
        )
    node = found[-1]  # ast.walk goes outside in: the innermost
    body = ast.copy_location(ast.Return(node.body), node.body)
    tree = ast.copy_location(ast.FunctionDef("lambda", node.args, [body], [], None), node)
    return Source("lambda", filename, 1, text, tree)


def _source(text: str, name: str, filename: str, first_line: int) -> Source:
    # A nested function is indented; lines of its own at column 0 (comments, strings) may not be.
    indented = text[:1].isspace()
    try:
        module = ast.parse("if 1:\n" + text if indented else text)
    except SyntaxError as error:
        line = (error.lineno or 1) + first_line - 1 - indented
        raise SourceError(f"{name}: {error.msg} in line {line}") from None
    found = module.body[0].body if indented and isinstance(module.body[0], ast.If) else module.body
    for node in found:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            ast.increment_lineno(node, first_line - 1 - indented)
            return Source(name, filename, first_line, text, node)
        if isinstance(node, ast.AsyncFunctionDef) and node.name == name:
            raise SourceError(f"{name}: a kernel cannot be an async function.")
    raise SourceError(f"{name}: no function of this name in its own source text ({filename}).")


def functions_in(text: str, filename: str = "<text>") -> tuple[ast.Module, dict[str, Source]]:
    """All functions of a text, by name, the last definition of each; nothing is run."""
    try:
        module = ast.parse(text)
        compile(text, filename, "exec", dont_inherit=True)  # runs nothing; finds a lone `break`
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        where = f" in line {line}" if line else ""
        raise SourceError(f"the text is not valid Python: {error.args[0]}{where}") from None
    found = {
        node.name: Source(node.name, filename, 1, text, node)
        for node in module.body
        if isinstance(node, ast.FunctionDef)
    }
    return module, found
