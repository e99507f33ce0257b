"""Right and wrong answers of a unit as text: its solution, and the answers that the tests keep.

The tests hold two kinds of answers to each exercise: variants, which are right in an unusual way,
and impostors, which are wrong in a likely one.  Here both are read from their modules' text;
nothing of them is imported or run.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from grading.lab import LabError
from warpwise import curriculum
from warpwise.authoring import build_full, build_lab, read_source

SOLUTION, VARIANT, IMPOSTOR, TODO = "solution", "variant", "impostor", "todo"
_FOLDERS = {VARIANT: "variants", IMPOSTOR: "impostors"}


@dataclass(frozen=True)
class Text:
    """One answer.  kind: SOLUTION, VARIANT, IMPOSTOR or TODO.  name: of the mistake or the way.

    diagnosis: of an impostor, what its mistake is called.
    """

    exercise: str
    kind: str
    name: str
    source: str
    diagnosis: str | None = None

    @property
    def is_right(self) -> bool:
        """Whether it earns all points of its exercise; it earns none if not."""
        return self.kind in (SOLUTION, VARIANT)

    @cached_property
    def uses(self) -> frozenset[str]:
        """The names that its text reads."""
        return frozenset(_names(ast.parse(self.source)))


@dataclass(frozen=True)
class Material:
    """A unit's cells in order, as (exercise or "", source), and the answers by exercise and kind.

    points: exercise -> the most it brings.
    """

    unit: str
    cells: tuple[tuple[str, str], ...]
    points: Mapping[str, float]
    answers: Mapping[str, Mapping[str, tuple[Text, ...]]]

    def draw(self, kinds: Mapping[str, str], chance: random.Random) -> dict[str, Text]:
        """An answer to each exercise, of the kind asked for where there is one; else TODO.

        An answer that calls another exercise's function is only right beside a right one.
        """
        found: dict[str, Text] = {}
        for name in self.points:
            some = self.answers[name].get(kinds[name]) or self.answers[name][TODO]
            found[name] = chance.choice(some)
        for _ in found:  # as long as a chain of them may be
            for name, text in found.items():
                others = (text.uses & found.keys()) - {name}
                if text.kind != TODO and not all(found[one].is_right for one in others):
                    found[name] = self.answers[name][TODO][0]
        return found

    def notebook(self, chosen: Mapping[str, Text]) -> list[tuple[str, str]]:
        """(exercise or "", source) of each code cell of the lab with these answers."""
        return [(name, chosen[name].source if name else source) for name, source in self.cells]


def material(name: str, root: Path = curriculum.COURSE) -> Material:
    """The material of a unit.  Raises LabError with a sentence where a part is not there."""
    try:
        unit = curriculum.load().unit(name)
    except KeyError as error:
        raise LabError(error.args[0]) from None
    tests = {kind: root / "tests" / folder / f"{name}.py" for kind, folder in _FOLDERS.items()}
    for path in (root / unit.lab_source.relative_to(curriculum.COURSE), *tests.values()):
        if not path.exists():
            raise LabError(
                "A class is made from the solutions and from the right and wrong answers in "
                f"tests/, which a full checkout has. Here is no {path.relative_to(root)}."
            )
    source = read_source(unit.lab_source)
    titles = {cell.id: cell.title for cell in source}
    points = {one.name: float(one.points) for one in unit.exercises}
    full, lab = (
        [
            (titles.get(cell["id"], ""), cell["source"])
            for cell in build(source)["cells"]
            if cell["cell_type"] == "code"
        ]
        for build in (build_full, build_lab)
    )
    answers: dict[str, dict[str, list[Text]]] = {one: {} for one in points}
    for kind, cells in ((SOLUTION, full), (TODO, lab)):
        for exercise, text in cells:
            text = "\n".join(line for line in text.split("\n") if "### " not in line)
            if exercise in points:
                answers[exercise].setdefault(kind, []).append(Text(exercise, kind, kind, text))
    for kind, path in tests.items():
        for one in read_answers(path.read_text(encoding="utf-8"), kind):
            if one.exercise in points:
                answers[one.exercise].setdefault(kind, []).append(one)
    every = tuple((name if name in points else "", text) for name, text in full)
    kept = {name: {k: tuple(v) for k, v in kinds.items()} for name, kinds in answers.items()}
    return Material(name, every, points, kept)


def read_answers(module: str, kind: str) -> Iterator[Text]:
    """The answers of a module of variants or impostors that can be handed in alone.

    Each has above it what it uses of its module.  Left out are those made by a template, and
    those that use what a submission cannot have.
    """
    body = ast.parse(module).body
    marked = {node.name: node for node in body if isinstance(node, ast.FunctionDef) and _mark(node)}
    others = [node for node in body if node not in marked.values()]
    bound = {name: node for node in others for name in _bound(node)}
    cannot = {name for name, node in bound.items() if _is_foreign(node)} | set(marked)
    for name, node in marked.items():
        mark = _mark(node)
        node.decorator_list = [one for one in node.decorator_list if not _is_mark(one)]
        used = set[str]()
        waiting: list[ast.stmt] = [node]
        while waiting:
            fresh = _names(waiting.pop()) - used
            used |= fresh
            waiting += [bound[one] for one in fresh if one in bound]
        if mark is None or used & cannot:
            continue
        exercise, diagnosis = mark
        node.name = exercise
        around = [one for one in others if used & set(_bound(one)) or _is_future(one)]
        text = "\n".join(map(ast.unparse, [*around, node]))
        yield Text(exercise, kind, name, text, diagnosis)


def _bound(node: ast.stmt) -> list[str]:
    """The names that a statement of a module binds."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return [node.name]
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return [(one.asname or one.name).partition(".")[0] for one in node.names]
    names = (one for one in ast.walk(node) if isinstance(one, ast.Name))
    return [one.id for one in names if isinstance(one.ctx, ast.Store)]


def _is_future(node: ast.stmt) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _mark(node: ast.FunctionDef) -> tuple[str, str | None] | None:
    """(exercise, diagnosis) of @variant("exercise") or @impostor("exercise", diagnosis="...")."""
    for one in node.decorator_list:
        if _is_mark(one) and isinstance(one, ast.Call) and one.args:
            values = [one.args[0], *(k.value for k in one.keywords if k.arg == "diagnosis")]
            if all(isinstance(value, ast.Constant) for value in values):
                texts = [str(value.value) for value in values if isinstance(value, ast.Constant)]
                return texts[0], texts[1] if len(texts) > 1 else None
    return None


def _is_mark(decorator: ast.expr) -> bool:
    name = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(name, ast.Name) and name.id in (VARIANT, IMPOSTOR)


def _is_foreign(node: ast.stmt) -> bool:
    """Whether it imports what a submission cannot have: the tests, or the course's own answers."""
    name = (node.module or "") if isinstance(node, ast.ImportFrom) else ""
    return name.startswith(("tests", "warpwise.check"))


def _names(node: ast.AST) -> set[str]:
    """The names that it reads."""
    parts = (part for part in ast.walk(node) if isinstance(part, ast.Name))
    return {part.id for part in parts if isinstance(part.ctx, ast.Load)}
