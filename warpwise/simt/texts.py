"""Decorators in a text: what `@cuda.jit(...)` says there, without running it."""

from __future__ import annotations

import ast
import re
from typing import Any

from .declared import normalise
from .errors import SourceError
from .native import OPTIONS
from .typing import Type


def _decorators(tree: ast.FunctionDef) -> list[tuple[str, ast.Call | None]]:
    found = []
    for node in tree.decorator_list:
        call = node if isinstance(node, ast.Call) else None
        found.append((ast.unparse(call.func if call else node), call))
    return found


def says_jit(tree: ast.FunctionDef) -> bool:
    return any(name.split(".")[-1] == "jit" for name, _ in _decorators(tree))


def says(tree: ast.FunctionDef, option: str) -> bool:
    """Whether @cuda.jit has this option, and it is true."""
    for name, call in _decorators(tree):
        if name.split(".")[-1] == "jit" and call is not None:
            for keyword in call.keywords:
                if keyword.arg == option and getattr(keyword.value, "value", None):
                    return True
    return False


def options_in(tree: ast.FunctionDef) -> dict[str, Any]:
    """Options of @cuda.jit that the text spells out as numbers: debug=True, max_registers=32."""
    return {
        keyword.arg: keyword.value.value
        for name, call in _decorators(tree)
        if name.split(".")[-1] == "jit" and call is not None
        for keyword in call.keywords
        if keyword.arg in OPTIONS
        and isinstance(keyword.value, ast.Constant)
        and isinstance(keyword.value.value, int)
    }


def signatures_in(
    tree: ast.FunctionDef, device: bool = False
) -> list[tuple[tuple[Type, ...], Type | None]]:
    """Explicit signatures in the decorator of a text.

    Numba evaluates signature strings as Python, so only texts made of type names get that far.
    """
    for name, call in _decorators(tree):
        if name.split(".")[-1] == "jit" and call is not None and call.args:
            given = call.args[0]
            parts = given.elts if isinstance(given, ast.List) else [given]
            texts = [
                part.value if isinstance(part, ast.Constant) else ast.unparse(part)
                for part in parts
            ]
            return normalise([_only_types(tree.name, text) for text in texts], device)
    return []


_TYPE_NAMES = frozenset(
    [f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)]
    + ["void", "none", "boolean", "bool_", "float16", "float32", "float64", "complex64"]
    + ["complex128", "intp", "uintp", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"]
    + ["b1", "c8", "c16", "int_", "uint", "float_", "double", "1"]
)


def _only_types(kernel: str, text: Any) -> str:
    """The text of a signature when it holds nothing but type names and brackets."""
    plain = re.sub(r"\b(numba|nb|types)\.", "", str(text))
    words = re.findall(r"\w+", plain)
    if not re.fullmatch(r"[\w\s\[\]():,]*", plain) or not _TYPE_NAMES.issuperset(words):
        raise SourceError(f"{kernel}: the signature in @cuda.jit(...) is not made of type names.")
    return plain
