"""A kernel as an answer: its source, its helpers' sources, and its constants.

The verifier runs a kernel from this text alone.  A constant that the text spells out is read from
it; for any other global name the student's notebook is asked, and only plain data may come back.
"""

from __future__ import annotations

import ast
import operator
import re
import symtable
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from grading import wire
from grading.answers import Answer, Definition
from warpwise.simt import Kernel, SourceError

# Modules whose names the simulator knows by itself, so their imports may stay in the text.
KNOWN_MODULES = ("numba", "numba.cuda", "numba.types", "numpy", "math", "warpwise")
_ALIASES = 5  # `a = b` may be followed this often; more is a circle
_LARGEST = 2**64

_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


@dataclass(frozen=True)
class KernelSource:
    """name: the function in `text` to run.  literals: constants the source spells out.

    wanted: global names whose value only a run of the student's notebook can tell.
    """

    name: str
    text: str
    literals: dict[str, Any]
    wanted: tuple[str, ...]


def kernel_source(
    answer: Answer, definitions: Sequence[Definition], course: Sequence[Definition] = ()
) -> KernelSource | None:
    """The text to run for `answer`, or None when no `def` stands behind the name.

    definitions: the student's bindings in order; course: those of the lab's own cells, which a
    student may have deleted.
    """
    main = function_behind(answer.definition, definitions)
    if main is None or main.function is None:
        return None
    everything = [*course, *definitions]
    # `name = cuda.jit(other)`: the simulator wants to see the decorator.
    jitted = main is not answer.definition and not main.function.decorator_list
    texts, imports = ["@cuda.jit\n" * jitted + main.text], dict[str, None]()
    literals: dict[str, Any] = {}
    wanted: list[str] = []
    seen = {main.name}
    waiting = [*globals_of(main.text)]
    while waiting:
        name = waiting.pop(0)
        if name in seen:
            continue
        seen.add(name)
        bound = binding(name, everything, main)
        if bound is None:
            continue
        if bound.function is not None:
            texts.append(bound.text)
            waiting.extend(globals_of(bound.text))
        elif _known_import(bound.statement):
            imports[ast.unparse(bound.statement)] = None
        else:
            value = literal(bound.value, everything, main) if bound.value else None
            if value is None or not _is_plain(value):
                wanted.append(name)
            else:
                literals[name] = value
    # The answer comes first, so that line 1 of a message is the first line of the function.
    text = "\n".join([*texts, *imports])
    return KernelSource(main.name, text, literals, tuple(wanted))


def _is_plain(value: Any) -> bool:
    """Whether a constant is small enough to be kept with the answers."""
    try:
        wire.encode(value)
    except wire.WireError:
        return False
    return True


def function_behind(definition: Definition, definitions: Sequence[Definition]) -> Definition | None:
    """The `def` that `name = other` or `name = cuda.jit(other)` leads to."""
    for _ in range(_ALIASES):
        if definition.function is not None:
            return definition
        value = definition.value
        if isinstance(value, ast.Call) and len(value.args) == 1:
            value = value.args[0]
        if not isinstance(value, ast.Name):
            return None
        other = binding(value.id, definitions, definition)
        if other is None:
            return None
        definition = other
    return None


def binding(name: str, definitions: Iterable[Definition], user: Definition) -> Definition | None:
    """The last binding of `name` up to the user's cell, else the first one after it."""
    before: Definition | None = None
    for definition in definitions:
        if definition.name != name or definition is user:
            continue
        if definition.cell <= user.cell:
            before = definition
        elif before is None:
            return definition
    return before


def globals_of(text: str) -> list[str]:
    """Global names that the functions in `text` read, sorted."""
    found: set[str] = set()
    waiting = list(symtable.symtable(text, "<answer>", "exec").get_children())
    while waiting:
        table = waiting.pop()
        waiting.extend(table.get_children())
        found.update(s.get_name() for s in table.get_symbols() if s.is_global())
    return sorted(found)


def _known_import(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.ImportFrom):
        return statement.level == 0 and statement.module in KNOWN_MODULES
    if isinstance(statement, ast.Import):
        return all(alias.name in KNOWN_MODULES for alias in statement.names)
    return False


def literal(
    node: ast.expr, definitions: Sequence[Definition], user: Definition, depth: int = 0
) -> int | float | bool | tuple[Any, ...] | None:
    """The value of a constant expression such as `2 * BLOCK`, or None; nothing is executed."""
    if depth > 20:
        return None
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, (int, float)) else None
    if isinstance(node, ast.Tuple):
        parts = [literal(part, definitions, user, depth + 1) for part in node.elts]
        return None if any(part is None for part in parts) else tuple(parts)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = literal(node.operand, definitions, user, depth + 1)
        return -value if type(value) in (int, float) else None  # type: ignore[operator]
    if isinstance(node, ast.Name):
        bound = binding(node.id, definitions, user)
        if bound is None or bound.value is None:
            return None
        return literal(bound.value, definitions, user, depth + 1)
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        left = literal(node.left, definitions, user, depth + 1)
        right = literal(node.right, definitions, user, depth + 1)
        if type(left) not in (int, float) or type(right) not in (int, float):
            return None
        try:
            value = _OPERATORS[type(node.op)](left, right)
        except (ArithmeticError, ValueError):
            return None
        return value if abs(value) < _LARGEST else None
    return None


def numba_kernel(source: KernelSource, constants: Mapping[str, Any]) -> Kernel:
    """The kernel of `source` for the simulator.  constants: values of the names it wanted.

    Raises SimtError for a text that holds no kernel, and for a signature that is more than types.
    """
    if not has_plain_signatures(source.text):
        text = (
            f"{source.name}: the signature in its decorator is not made of type names alone.\n"
            "  Leave it out: @cuda.jit without arguments chooses the types by itself."
        )
        raise SourceError(text)
    return Kernel.from_source(source.text, source.name, {**source.literals, **constants})


# A signature such as "void(float32[:, ::1], int64)" and nothing that could be called for effect:
# Numba evaluates this text as Python.
_SIGNATURE = re.compile(
    r"(?:(?:u?int(?:8|16|32|64|p|c)?|float(?:16|32|64)|complex(?:64|128)|bool_?|boolean|void|none"
    r"|[iu][1248]|f[248]|c8|c16|b1)\b|[\s\[\]():,1])*"
)


def has_plain_signatures(text: str) -> bool:
    """Whether all that the decorators in `text` say in strings is made of type names."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.FunctionDef):
            continue
        for decorator in node.decorator_list:
            for part in ast.walk(decorator):
                if isinstance(part, ast.Constant) and isinstance(part.value, (str, bytes)):
                    if not isinstance(part.value, str) or not _SIGNATURE.fullmatch(part.value):
                        return False
    return True
