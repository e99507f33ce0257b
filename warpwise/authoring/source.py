'''Percent text to cells, strictly.

    # %% [markdown]
    r"""
    ## Exercise 1 - Guarded add
    """

    # %% guarded_add tags=["exercise"]
    @cuda.jit
    def guarded_add(out, a, b, n): ...

Header: `# %%`, then optionally a title (snake_case), `[markdown]`, `tags=["..."]`, in this order.
Every form that is nearly right is an error with file and line, for what is passed over here is
lost, or leaked, in the notebook.
'''

from __future__ import annotations

import ast
import hashlib
import json
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from warpwise.authoring.errors import AuthoringError
from warpwise.authoring.markers import BEGIN, END, Region, check_prose, find_regions

TAGS = {
    "parameters": "the one cell whose values papermill may replace",
    "exercise": "holds an answer between markers; its title names exercise and function",
    "check": "calls check()",
    "solution": "left out of the lab",
    "gpu": "runs only by hand, where there is a GPU",
    "timing": "its output is never compared",
    "raises-exception": "shows an error on purpose",
}

_HEADER = re.compile(
    r"# %%(?: (?P<title>[a-z][a-z0-9_]*))?(?P<markdown> \[markdown\])?(?: tags=(?P<tags>\[.*\]))?"
)
# Also a header that lost its percent signs: a `solution` cell must not melt into the one before.
_HEADER_LIKE = re.compile(r"\s*#+\s*(%|.*\btags\s*=\s*\[)")
_FORM = """Write '# %%', then optionally a title, '[markdown]' and 'tags=["..."]', in this order."""


@dataclass(frozen=True)
class Cell:
    """One cell of a source. `line` is where its `source` starts in `path`, 1-based."""

    type: Literal["code", "markdown"]
    title: str
    tags: tuple[str, ...]
    source: str
    id: str
    line: int
    path: Path
    regions: tuple[Region, ...] = ()


def read_source(path: Path | str) -> list[Cell]:
    """The cells of a percent-format file. Raises AuthoringError (file:line) and OSError."""
    path = Path(path)
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError as error:
        raise AuthoringError(path, 0, f"This is not UTF-8 text ({error.reason}).") from None
    return parse_source(text, path)


def parse_source(text: str, path: Path | str = "<text>") -> list[Cell]:
    """The cells of a percent-format text; `path` is for messages and for the first cell."""
    path = Path(path)
    lines = text.replace("\r\n", "\n").split("\n")
    starts = [index for index, line in enumerate(lines) if _is_header(line, path, index + 1)]
    for index in range(starts[0] if starts else len(lines)):
        # Comments may stand above the first header: a licence, a note to authors.
        if lines[index].strip() and not lines[index].startswith("#"):
            raise AuthoringError(path, index + 1, "Code before the first cell. Add a '# %%' line.")
        check_prose(lines[index], path, index + 1)
    if not starts:
        raise AuthoringError(path, 0, "No cell found: there is no '# %%' line.")
    cells: list[Cell] = []
    for start, stop in zip(starts, [*starts[1:], len(lines)], strict=True):
        cells.append(_read_cell(lines, start, stop, path))
    return _check_together(_with_ids(cells))


def _is_header(line: str, path: Path, at: int) -> bool:
    if _HEADER.fullmatch(line):
        return True
    if _HEADER_LIKE.match(line):
        raise AuthoringError(path, at, f"'{line.strip()}' is not a cell header. {_FORM}")
    return False


def _read_cell(lines: list[str], start: int, stop: int, path: Path) -> Cell:
    match = _HEADER.fullmatch(lines[start])
    assert match is not None
    tags = _read_tags(match["tags"], path, start + 1)
    title = match["title"] or ""
    if len(title) > 64:
        raise AuthoringError(path, start + 1, f"The title '{title}' is longer than 64 characters.")
    first, last = start + 1, stop
    while first < last and not lines[first].strip():
        first += 1
    while first < last and not lines[last - 1].strip():
        last -= 1
    if first == last:
        raise AuthoringError(path, start + 1, "This cell is empty.")
    if match["markdown"]:
        return _markdown_cell(title, tags, lines[first:last], first + 1, path)
    return _code_cell(title, tags, "\n".join(lines[first:last]), first + 1, path)


def _read_tags(text: str | None, path: Path, at: int) -> tuple[str, ...]:
    if text is None:
        return ()
    try:
        tags = json.loads(text)
    except json.JSONDecodeError:
        tags = None
    if not isinstance(tags, list) or not tags or not all(isinstance(tag, str) for tag in tags):
        raise AuthoringError(path, at, f"tags={text} is not a list of strings in double quotes.")
    for tag in tags:
        if tag not in TAGS:
            raise AuthoringError(path, at, f"Unknown tag '{tag}'. The tags are: {', '.join(TAGS)}.")
    if len(set(tags)) != len(tags):
        raise AuthoringError(path, at, "The same tag stands here twice.")
    return tuple(tags)


def _markdown_cell(title: str, tags: tuple[str, ...], body: list[str], at: int, path: Path) -> Cell:
    wrong = [tag for tag in tags if tag != "solution"]
    if wrong:
        raise AuthoringError(path, at - 1, f"A markdown cell cannot have the tag '{wrong[0]}'.")
    if body[0] != 'r"""' or body[-1] != '"""' or len(body) < 3:
        raise AuthoringError(
            path,
            at,
            'A markdown cell is text between a line r""" and a line """, with nothing else.',
        )
    for index, line in enumerate(body[1:-1]):
        if '"""' in line:
            raise AuthoringError(path, at + 1 + index, 'The text of a cell cannot contain """.')
    text = "\n".join(body[1:-1])
    if not text.strip():
        raise AuthoringError(path, at, "This cell is empty.")
    check_prose(text, path, at + 1)
    return Cell("markdown", title, tags, text, "", at + 1, path)


def _code_cell(title: str, tags: tuple[str, ...], source: str, at: int, path: Path) -> Cell:
    try:
        ast.parse(source)
    except SyntaxError as error:
        line = at + (error.lineno or 1) - 1
        raise AuthoringError(path, line, f"This cell is not valid Python: {error.msg}.") from None
    regions = tuple(find_regions(source, path, at))
    if regions and "exercise" not in tags:
        raise AuthoringError(
            path,
            at + regions[0].begin,
            f"'{BEGIN}' in a cell without the tag 'exercise'.",
        )
    if "exercise" in tags:
        if not title:
            raise AuthoringError(path, at - 1, "An exercise cell needs a title: its name.")
        if not regions:
            raise AuthoringError(
                path,
                at,
                f"The exercise '{title}' has no '{BEGIN}' ... '{END}', "
                "so the lab would show the answer.",
            )
        if title not in _defined_names(source):
            raise AuthoringError(
                path,
                at,
                f"The exercise '{title}' defines no function and no value called '{title}', "
                "so a grader could not find the answer.",
            )
        if "solution" in tags:
            raise AuthoringError(path, at, f"'{title}' is tagged both 'exercise' and 'solution'.")
    return Cell("code", title, tags, source, "", at, path, regions)


def _defined_names(source: str) -> set[str]:
    """Names that a cell gives to functions and values at its top level."""
    names: set[str] = set()
    for node in ast.parse(source).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            names |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and _is_stored(n)}
    return names


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _with_ids(cells: list[Cell]) -> list[Cell]:
    """Cells with their ids: the title, else a digest of type and text, numbered when repeated."""
    taken = {cell.title for cell in cells if cell.title}
    out = []
    for cell in cells:
        cell_id = cell.title
        if not cell_id:
            digest = hashlib.sha256((cell.type + cell.source).encode()).hexdigest()[:8]
            cell_id, number = digest, 2
            while cell_id in taken:
                cell_id, number = f"{digest}-{number}", number + 1
            taken.add(cell_id)
        out.append(replace(cell, id=cell_id))
    return out


def _check_together(cells: list[Cell]) -> list[Cell]:
    titles: dict[str, int] = {}
    parameters = 0
    for cell in cells:
        if cell.title in titles:
            raise AuthoringError(
                cell.path,
                cell.line,
                f"The title '{cell.title}' is already that of the cell in line "
                f"{titles[cell.title]}.",
            )
        if cell.title:
            titles[cell.title] = cell.line
        if "parameters" in cell.tags:
            if parameters:
                raise AuthoringError(
                    cell.path,
                    cell.line,
                    f"A second cell tagged 'parameters'; the first is in line {parameters}.",
                )
            parameters = cell.line
    return cells
