"""Numba's typing errors in plain words, with the line."""

from __future__ import annotations

import dis
import inspect
import linecache
import re
from collections.abc import Callable
from typing import Any

#: (pattern in Numba's message, what to say).  Groups of the pattern stand in the sentence.
_RULES: tuple[tuple[str, Callable[..., str]], ...] = (
    (
        r"Unknown attribute '(\w+)' of type ([^\n]+)",
        lambda name, kind: f"a value of type {_short(kind)} has no .{name} in a kernel.",
    ),
    (
        r"Untyped global name '(\w+)'.*?[Cc]annot determine Numba type of <class '([^']+)'>",
        lambda name, kind: (
            f"{name} is a {_python(kind)}, and a kernel cannot use one. " + _instead_of(kind, name)
        ),
    ),
    (
        r"cannot determine Numba type of <class '([^']+)'>",
        lambda kind: f"a {_python(kind)} cannot be used in a kernel. " + _instead_of(kind, "it"),
    ),
    (
        r"Cannot unify (.+?) and (.+?) for '([\w.$]+)'",
        lambda a, b, name: (
            f"{_name(name)} is {_short(a)} on one path and {_short(b)} on another. "
            "A variable of a kernel has one type: give it the same on every path."
        ),
    ),
    (
        r"Function\(<built-in function setitem>\) found for signature:\s*>>> setitem\(([^\n]*)\)",
        lambda kinds: "a value of type {2} cannot be stored in an element [{1}] of {0}.".format(
            *[*_split(kinds), "?", "?", "?"]
        ),
    ),
    (
        r"Function\(<built-in function getitem>\) found for signature:\s*>>> getitem\(([^\n]*)\)",
        lambda kinds: "{} cannot be indexed with {}.".format(*[*_split(kinds), "?", "?"]),
    ),
    (
        r"No implementation of function Function\(<built-in function (\w+)>\) found for signature:"
        r"\s*>>> \w+\(([^\n]*)\)",
        lambda op, kinds: f"{_operator(op)} does not take {_list(kinds)}.",
    ),
    (
        r"No implementation of function Function\(<.*?(\w+)(?: at 0x\w+)?>\) found for signature:"
        r"\s*>>> \w+\(([^\n]*)\)",
        lambda name, kinds: f"{name} cannot be called with {_list(kinds)}.",
    ),
    (
        r"No conversion from .+? to none for '[^']*return_value",
        lambda: "a kernel returns nothing. Store the result in an array that is an argument.",
    ),
    (
        r"NameError: name '(\w+)' is not defined",
        lambda name: f"{name} is not defined. Check the spelling, or define it above the kernel.",
    ),
    (
        r"[Vv]ariable '([\w.]+)' referenced before assignment",
        lambda name: f"{_name(name)} is read before anything is assigned to it.",
    ),
    (
        r"missing a required argument: '(\w+)'",
        lambda name: f"the argument {name} is missing.",
    ),
    (
        r"too many positional arguments",
        lambda: "more arguments were given than the kernel has parameters.",
    ),
    (
        r"[Uu]nsupported|[Uu]se of unsupported|not supported",
        lambda: "this construct is not part of what Numba compiles for a GPU.",
    ),
)

_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "iadd": "+=", "isub": "-=", "imul": "*=", "itruediv": "/=", "lt": "<", "le": "<=", "gt": ">",
    "ge": ">=", "eq": "==", "ne": "!=", "and_": "&", "or_": "|", "xor": "^", "lshift": "<<",
    "rshift": ">>", "getitem": "[...]", "setitem": "[...] =", "neg": "-", "invert": "~",
}  # fmt: skip


def plain(error: Exception, function: Any, argtypes: tuple[Any, ...]) -> tuple[str, str]:
    """(what happened and where, in plain words; Numba's own message without colours)."""
    original = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).strip()
    file, line = _place(error, original, function)
    sentence = next(
        (say(*match.groups()) for pattern, say in _RULES
         if (match := re.search(pattern, original, re.S))),
        _first_line(original),
    )  # fmt: skip
    where = f"{function.__name__}, line {line}" if line else function.__name__
    text = linecache.getline(file, line).strip() if line else ""
    parts = [f"{where}: {sentence}"]
    if text:
        parts.append(f"    {text}")
    kinds = ", ".join(
        f"{name}: {_short(str(kind))}"
        for name, kind in zip(inspect.signature(function).parameters, argtypes, strict=False)
    )
    parts.append(f"  Compiled for {kinds}." if kinds else "  The kernel has no arguments.")
    return "\n".join(parts), original


def _place(error: Exception, original: str, function: Any) -> tuple[str, int]:
    """(file, line): what the error carries, what its text names, what inference was at, or where
    the name that is missing stands."""
    loc = getattr(error, "loc", None)
    if loc is not None and loc.line > 0:
        return loc.filename, loc.line
    own = function.__code__.co_filename
    found = re.findall(r'File "([^"]+)", line (\d+)', original)
    for file, line in reversed(found):
        if own.endswith(file.lstrip(".")):
            return own, int(line)
    frame, line = error.__traceback__, 0
    while frame is not None:
        at = getattr(frame.tb_frame.f_locals.get("self"), "loc", None)
        line = getattr(at, "line", 0) or line
        frame = frame.tb_next
    missing = re.search(r"name '(\w+)' is not defined", original)
    if missing:
        line = next((i.positions.lineno for i in dis.get_instructions(function)
                     if i.argval == missing[1] and i.positions), line) or 0  # fmt: skip
    return own, line


def _first_line(original: str) -> str:
    lines = [line.strip() for line in original.splitlines() if line.strip()]
    useful = [line for line in lines if not line.startswith(("Failed in", "During:", "File "))]
    return (useful or lines or ["the compiler gave no reason"])[0].rstrip(".") + "."


def _short(kind: str) -> str:
    """array(float32, 1d, C, mutable, aligned) -> float32 array (1-D)."""
    match = re.match(r"array\((\S+), (\d)d", kind.strip())
    if match:
        return f"{match[1]} array ({match[2]}-D)"
    match = re.match(r"Literal\[(\w+)\]\((.*)\)", kind.strip())
    if match:
        return f"the text {match[2]!r}" if match[1] == "str" else f"the constant {match[2]}"
    return kind.strip()


def _list(kinds: str) -> str:
    return " and ".join(_split(kinds)) or "these arguments"


def _split(kinds: str) -> list[str]:
    """Types of a call, split at commas outside brackets."""
    parts, depth, last = [], 0, 0
    for i, letter in enumerate(kinds):
        depth += letter in "([{"
        depth -= letter in ")]}"
        if letter == "," and not depth:
            parts.append(kinds[last:i])
            last = i + 1
    return [_short(part) for part in [*parts, kinds[last:]] if part.strip()]


def _operator(op: str) -> str:
    return _OPERATORS.get(op, op)


def _name(name: str) -> str:
    """x.2 -> x: Numba numbers the versions of a variable."""
    return name.split(".")[0].lstrip("$")


def _python(kind: str) -> str:
    return {"builtin_function_or_method": "Python function", "module": "module"}.get(
        kind, kind.split(".")[-1]
    )


def _instead_of(kind: str, name: str) -> str:
    if kind in ("dict", "list", "set"):
        return f"Pass an array as an argument instead of {name}."
    if kind in ("function", "builtin_function_or_method"):
        return f"Put @cuda.jit(device=True) above the definition of {name}."
    if kind == "str":
        return "Pass a number that stands for it."
    return "Numbers, arrays, tuples and device functions are fine."
