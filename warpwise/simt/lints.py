"""Lints: arithmetic that is legal and rarely meant, found while lowering.

float64   float32 arithmetic that a literal, an integer or a variable makes float64.  GPUs for
          consumers do float64 at 1/64 of the float32 rate (CUDA C++ Best Practices Guide,
          arithmetic throughput, compute capability 8.6 and 12.0).  The compiler undoes the widening
          of one +, -, * or / of a float32 and a constant that float32 holds exactly, where the
          result goes straight into a float32, and of a comparison with such a constant: these are
          left out.
equality  a float32 that is compared with a number that float32 does not hold.
no call   a statement that names a function such as cuda.syncthreads and does not call it.
"""

from __future__ import annotations

import ast
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core import types

from . import typing
from .program import Note, Val, describe
from .symbols import Symbol
from .typing import ArrayType, Type

if TYPE_CHECKING:
    from .expressions import Expressions

SHRINKS = ("+", "-", "*", "/")
COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")
EXPLICIT = ("float64", "double", "float_")  # calls that ask for float64

Pair = tuple[ast.AST | None, ast.AST | None]


def float64(fl: Expressions, label: str, a: Val, b: Val, result: Val, node: ast.AST) -> Val:
    """The result of `a <label> b`, with what has to be said about float64 in it.

    `result.wide` is the note of an operation in float64.  While the compiler can still do it in
    float32, the note waits; it is said when the result meets more float64.
    """
    said = [value.wide for value in (a, b) if value.wide is not None]
    for note in said:
        say(fl, note)
    compares = label in COMPARISONS
    if said:
        return result if compares else replace(result, wide=said[0])
    small = [is_small(a.type), is_small(b.type)]
    if small[0] == small[1] or not (compares or result.type == types.float64):
        return result
    operands = _operands(node)
    wide, short, written = (b, a, operands[1]) if small[0] else (a, b, operands[0])
    cause = _cause(fl, wide, short.type, written)
    if cause is None:
        return result
    line = getattr(node, "lineno", 0)
    text = f"{fl.source.name}, line {line}: `{label}` is computed in float64, since {cause}"
    note = Note("float64", line, text)
    exact = wide.known and _holds(short.type, wide.const)
    if compares:
        if not exact and not _never_equal(fl, label, wide, short, node):
            say(fl, note)
        return result
    if not (exact and label in SHRINKS):
        say(fl, note)
    return replace(result, wide=note)


def said_now(fl: Expressions, value: Val, to: Type) -> None:
    """A value is converted: into float32 the compiler may still shrink what made it."""
    if value.wide is not None and to != types.float32 and to != value.type:
        say(fl, value.wide)


def joined(fl: Expressions, *values: Val) -> None:
    """Values meet where paths join: the compiler does not shrink beyond that."""
    for value in values:
        if value.wide is not None:
            say(fl, value.wide)


def say(fl: Expressions, note: Note) -> None:
    """Report a lint once for each operator of a line: loops are lowered more than once."""
    about = note.text.split(", since")[0]
    if not any(known.text.startswith(about) for known in fl.program.lints):
        fl.program.lints.append(note)


def not_called(fl: Expressions, node: ast.Expr, value: Val) -> None:
    """Note a function of cuda that stands alone, without parentheses."""
    if not isinstance(value.const, Symbol):
        return
    name = ast.unparse(node.value)
    text = (
        f"{fl.source.name}, line {node.lineno}: `{name}` without parentheses calls nothing. "
        f"Write {name}()."
    )
    note = Note("not_called", node.lineno, text)
    if note not in fl.program.slips:  # loops are lowered more than once
        fl.program.slips.append(note)


def is_small(kind: Type) -> bool:
    """float32 and narrower."""
    return kind in (types.float32, types.float16) or typing.is_bfloat16(kind)


def origin(fl: Expressions, name: str, value: Val, node: ast.AST) -> None:
    """Remember where a variable got a number that is wider than float32."""
    written = getattr(node, "value", None)
    wide = typing.is_number(value.type) and not is_small(value.type)
    if not isinstance(written, ast.expr) or isinstance(written, ast.Tuple) or not wide:
        fl.origins.pop(name, None)
    elif not isinstance(node, ast.AugAssign) or name not in fl.origins:
        line = getattr(node, "lineno", 0)
        fl.origins[name] = (written, line, _deliberate(fl, written), value.wide)


def _operands(node: ast.AST) -> Pair:
    if isinstance(node, ast.BinOp):
        return node.left, node.right
    if isinstance(node, ast.AugAssign):
        return node.target, node.value
    if isinstance(node, ast.Compare):
        return node.left, node.comparators[0]
    if isinstance(node, ast.Call) and len(node.args) == 2:
        return node.args[0], node.args[1]
    return None, None


def _holds(short: Type, const: Any) -> bool:
    """Whether the narrow type has exactly this number."""
    if short != types.float32:
        return False
    with np.errstate(all="ignore"):
        return bool(np.float32(const) == const)


def _cause(fl: Expressions, wide: Val, short: Type, written: ast.AST | None) -> str | None:
    """Why an operand is float64, and what to write instead; None when it is meant to be."""
    narrow = describe(short)
    text = ast.unparse(written) if written is not None else "..."
    if written is not None and _deliberate(fl, written):
        return None
    if isinstance(written, ast.Name):
        known = fl.origins.get(text)
        source, line = known[:2] if known else (None, 0)
        if source is not None and (isinstance(source, ast.Constant) or wide.type == types.float64):
            name = ast.unparse(source)
            instead = f"{text} = {narrow}({name})"
            return f"{text} is {wide.type}: line {line} sets it to {name}. Write {instead}."
        if text in fl.parameters and wide.type == types.float64 and not wide.known:
            return (
                f"the argument {text} is {wide.type}. Pass np.{narrow}({text}), or write "
                f"{narrow}({text})."
            )
    if wide.known and not isinstance(written, (ast.Name, ast.Attribute)):
        return f"the number {wide.const} is {wide.type}. Write {narrow}({wide.const})."
    if typing.is_integer(wide.type):
        return (
            f"Numba makes float64 of {narrow} and {wide.type}. Convert the integer: "
            f"{narrow}({text})."
        )
    return f"{text} is {wide.type}. Write {narrow}({text})."


def _deliberate(fl: Expressions, written: ast.AST) -> bool:
    """Whether an expression asks for float64 in so many words, or reads an array of it."""
    for part in ast.walk(written):
        if isinstance(part, ast.Call) and ast.unparse(part.func).split(".")[-1] in EXPLICIT:
            return True
        if isinstance(part, ast.Subscript) and isinstance(part.value, ast.Name):
            var = fl.env.get(part.value.id)
            kind = getattr(var, "type", None)
            if isinstance(kind, ArrayType) and kind.dtype == types.float64:
                return True
        if isinstance(part, ast.Name) and fl.origins.get(part.id, (0, 0, False))[2]:
            return True
    return False


def _never_equal(fl: Expressions, label: str, wide: Val, short: Val, node: ast.AST) -> bool:
    """Note `x == 0.1` for a float32 x, which no float32 can satisfy."""
    if label not in ("==", "!=") or not wide.known or short.type != types.float32:
        return False
    line = getattr(node, "lineno", 0)
    always = "never" if label == "==" else "always"
    text = (
        f"{fl.source.name}, line {line}: `{ast.unparse(node)}` is {always} true, since no float32 "
        f"is {wide.const} and the comparison is made in float64. Write float32({wide.const})."
    )
    say(fl, Note("float_equality", line, text))
    return True
