"""Find the answers by function name: the last definition wins, wherever the student put it."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from grading.cells import BrokenCell, Cell, normal, to_python
from grading.parse import CodeCell
from grading.reasons import Note, note


@dataclass(frozen=True)
class Definition:
    """One binding of a name at module level.

    statement: the outermost statement that does it (an `if` for a function defined inside one).
    function: the function, when a `def` binds the name.
    """

    name: str
    cell: int
    statement: ast.stmt
    function: ast.FunctionDef | None
    value: ast.expr | None
    text: str


@dataclass(frozen=True)
class Answer:
    """What the student wrote for one exercise."""

    name: str
    definition: Definition
    count: int
    untouched: bool


@dataclass(frozen=True)
class Answers:
    """All that is taken from a submission.

    cells: the student's cells as Python, in order, also those the course gave them.
    given: numbers of the cells whose text is the course's own.
    found / missing: by exercise name.
    definitions: every module-level binding, in order.
    """

    cells: tuple[Cell, ...]
    given: frozenset[int]
    found: dict[str, Answer]
    missing: dict[str, Note]
    definitions: tuple[Definition, ...]
    notes: tuple[Note, ...]


def extract(
    code: Sequence[CodeCell], names: Sequence[str], given_sources: Collection[str]
) -> Answers:
    """The answers to exercises `names`; `given_sources` are the texts of the untouched lab."""
    cells: list[Cell] = []
    broken: list[BrokenCell] = []
    for cell in code:
        python = to_python(cell)
        if isinstance(python, Cell):
            cells.append(python)
        else:
            broken.append(python)
    known = {normal(source) for source in given_sources}
    given = frozenset(cell.number for cell in cells if normal(cell.source) in known)
    definitions = tuple(d for cell in cells for d in bindings(cell))
    notes = [cell.note for cell in broken]
    found: dict[str, Answer] = {}
    missing: dict[str, Note] = {}
    for name in names:
        answer = _choose(name, definitions, given)
        if answer is None:
            missing[name] = _why_missing(name, broken)
            continue
        found[name] = answer
        if answer.count > 1:
            cell_number = answer.definition.cell
            notes.append(note("twice-defined", name=name, count=answer.count, cell=cell_number))
    return Answers(tuple(cells), given, found, missing, definitions, tuple(notes))


def _choose(name: str, definitions: Iterable[Definition], given: Collection[int]) -> Answer | None:
    """The last definition; a hole that was left in place does not hide a filled one."""
    every = [d for d in definitions if d.name == name and _can_answer(d)]
    if not every:
        return None
    filled = [d for d in every if d.cell not in given]
    if filled:
        return Answer(name, filled[-1], len(filled), untouched=False)
    return Answer(name, every[-1], 1, untouched=True)


def _can_answer(definition: Definition) -> bool:
    """A `def`, or an assignment; an import or a loop variable is not an answer."""
    return definition.function is not None or definition.value is not None


def _why_missing(name: str, broken: Sequence[BrokenCell]) -> Note:
    """Whether `name` is nowhere, or only in a cell that cannot be read."""
    pattern = re.compile(rf"^\s*(?:def\s+{re.escape(name)}\b|{re.escape(name)}\s*=)", re.MULTILINE)
    for cell in reversed(broken):
        if pattern.search(cell.source):
            return note("in-invalid-cell", name=name, cell=cell.number, fact=cell.fact)
    return note("missing-function", name=name)


def bindings(cell: Cell) -> Iterator[Definition]:
    """Every name the cell binds at module level, in order, also inside if, try, with and for."""
    lines = cell.source.split("\n")
    for outer in cell.tree.body:
        for statement in _module_level(outer):
            for name, function, value in _bound(statement):
                text = function_text(function, lines) if function else ast.unparse(statement)
                yield Definition(name, cell.number, outer, function, value, text)


def _module_level(statement: ast.stmt) -> Iterator[ast.stmt]:
    """`statement` and the statements in its blocks that run in the module's own namespace."""
    yield statement
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return
    for field in ("body", "orelse", "finalbody"):
        for inner in getattr(statement, field, []):
            yield from _module_level(inner)
    for handler in getattr(statement, "handlers", []):
        for inner in handler.body:
            yield from _module_level(inner)


def _bound(
    statement: ast.stmt,
) -> Iterator[tuple[str, ast.FunctionDef | None, ast.expr | None]]:
    """(name, function, value) for each name that `statement` itself binds."""
    if isinstance(statement, ast.FunctionDef):
        yield statement.name, statement, None
    elif isinstance(statement, (ast.AsyncFunctionDef, ast.ClassDef)):
        yield statement.name, None, None
    elif isinstance(statement, (ast.Import, ast.ImportFrom)):
        for alias in statement.names:
            yield alias.asname or alias.name.partition(".")[0], None, None
    elif isinstance(statement, ast.Assign):
        for target in statement.targets:
            yield from _targets(target, statement.value)
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
        simple = statement.value if isinstance(statement, ast.AnnAssign) else None
        yield from _targets(statement.target, simple)
    elif isinstance(statement, (ast.For, ast.AsyncFor)):
        yield from _targets(statement.target, None)


def _targets(
    target: ast.expr, value: ast.expr | None
) -> Iterator[tuple[str, None, ast.expr | None]]:
    """The names in an assignment's target, each with its own part of the value if it is plain."""
    if isinstance(target, ast.Name):
        yield target.id, None, value
    elif isinstance(target, (ast.Tuple, ast.List)):
        parts: list[ast.expr | None] = [None] * len(target.elts)
        if isinstance(value, (ast.Tuple, ast.List)) and len(value.elts) == len(parts):
            parts = list(value.elts)
        for element, part in zip(target.elts, parts, strict=True):
            yield from _targets(element, part)


def function_text(function: ast.FunctionDef, lines: Sequence[str]) -> str:
    """The function's own lines with its decorators, not indented."""
    first = min([function.lineno, *(d.lineno for d in function.decorator_list)])
    text = textwrap.dedent("\n".join(lines[first - 1 : function.end_lineno])) + "\n"
    try:
        ast.parse(text)
    except SyntaxError:  # a string that reaches left of the function
        return ast.unparse(function) + "\n"
    return text
