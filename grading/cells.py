"""Turn submitted code cells into Python: magics and shell lines out, syntax trees in.

Nothing of the student's is executed.  A cell that is not Python is left out with a note and
hides no other cell.
"""

from __future__ import annotations

import ast
import re
import symtable
import warnings
from dataclasses import dataclass

from IPython.core.inputtransformer2 import TransformerManager

from grading.parse import CodeCell
from grading.reasons import Note, note

# Cell magics whose body is Python that runs in the notebook's own namespace.
_PYTHON_MAGICS = ("%%time", "%%timeit", "%%capture", "%%prun")
_MERGE_MARKER = re.compile(r"^(<<<<<<<|=======|>>>>>>>)(?: |$)", re.MULTILINE)
MAX_SOURCE = 200_000  # characters in one cell; a lab's whole text has some 10,000
MAX_TREE_DEPTH = 100  # an honest function nests below 30
# IPython reads the whole cell again for each of its own lines: characters times such lines.
MAX_MAGIC = 200_000


@dataclass(frozen=True)
class Cell:
    """One cell as Python: `source` parses to `tree`; `number` as the student counts."""

    number: int
    source: str
    tree: ast.Module


@dataclass(frozen=True)
class BrokenCell:
    """A cell that is not Python, with its text (to find what it meant to define) and why."""

    number: int
    source: str
    fact: str
    note: Note


def to_python(code: CodeCell) -> Cell | BrokenCell:
    """The cell as Python, or what is wrong with it."""
    source = code.source.replace("\r\n", "\n").replace("\r", "\n")
    if len(source) > MAX_SOURCE:
        return _too_complex(code.number, source[:MAX_SOURCE])
    marker = _MERGE_MARKER.search(source)
    try:
        plain = without_magics(source)
        tree = _tree(plain)
        # What only the compiler refuses, such as two arguments of one name.
        symtable.symtable(plain, "<cell>", "exec")
    except SyntaxError as error:
        if marker:
            line = source.count("\n", 0, marker.start()) + 1
            fact = f"line {line} is a Git merge marker"
        else:
            fact = f"line {error.lineno}: {error.msg}" if error.lineno else str(error.msg)
        return BrokenCell(
            code.number, source, fact, note("invalid-cell", cell=code.number, fact=fact)
        )
    except (ValueError, RuntimeError, MemoryError):  # also of too many magics, or too deep
        return _too_complex(code.number, source)
    if _depth(tree) > MAX_TREE_DEPTH:
        return _too_complex(code.number, source)
    return Cell(code.number, plain, tree)


def _too_complex(number: int, source: str) -> BrokenCell:
    fact = "it is too large or too deeply nested"
    return BrokenCell(number, source, fact, note("cell-too-complex", cell=number))


def _tree(source: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # such as an invalid escape in the student's string
        return ast.parse(source)


def without_magics(source: str) -> str:
    """The Python of a cell: lines of `%`, `!` and `?` are emptied, so line numbers stay.

    A cell under a magic for another language (`%%bash`, `%%html`) has no Python: "".
    """
    first, _, rest = source.lstrip("\n").partition("\n")
    if first.startswith("%%"):
        if first.split()[0] not in _PYTHON_MAGICS:
            return ""
        blank = "\n" * (source.count("\n") - rest.count("\n"))
        return blank + without_magics(rest)
    try:
        _tree(source)
    except SyntaxError:
        if len(source) * sum(map(_is_magic, source.split("\n"))) > MAX_MAGIC:
            raise ValueError("too many magics") from None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            python = TransformerManager().transform_cell(source)
        return _drop_ipython_calls(python)
    return source


def _is_magic(line: str) -> bool:
    """Whether a line may be IPython's own: `%time`, `!ls`, `a = !ls`, `a?`."""
    line = line.strip()
    assigned = line.partition("=")[2].lstrip()
    return line.startswith(("%", "!", "?")) or assigned.startswith(("%", "!")) or line.endswith("?")


def _drop_ipython_calls(source: str) -> str:
    """`source` without the statements that IPython's own syntax turned into."""
    tree = _tree(source)
    lines = source.split("\n")
    for node in ast.walk(tree):
        if isinstance(node, (ast.Expr, ast.Assign)) and _is_ipython_call(node.value):
            first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
            indent = " " * node.col_offset
            # `pass` keeps a block that held nothing else.
            replacement = f"{indent}pass" if indent else ""
            lines[first : last + 1] = [replacement] + [""] * (last - first)
    return "\n".join(lines).rstrip("\n") + "\n"


def _is_ipython_call(node: ast.expr) -> bool:
    """Whether `node` is get_ipython().something(...)."""
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return False
    owner = node.func.value
    return (
        isinstance(owner, ast.Call)
        and isinstance(owner.func, ast.Name)
        and owner.func.id == "get_ipython"
    )


def _depth(tree: ast.AST) -> int:
    """Levels of the syntax tree, counted without recursion."""
    depth, level = 0, [tree]
    while level and depth <= MAX_TREE_DEPTH:
        depth += 1
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return depth


def normal(source: str) -> str:
    """Text to compare cells by: line ends and trailing blanks do not count."""
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip("\n")
