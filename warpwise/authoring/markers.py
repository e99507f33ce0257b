'''The marker lines that turn a solution into a hole.

    def guarded_add(out, a, b, n):
        """out[i] = a[i] + b[i]"""
        ### BEGIN SOLUTION          <- marker
        i = cuda.grid(1)            <- region: 3 lines of code
        if i < n:
            out[i] = a[i] + b[i]
        ### END SOLUTION            <- marker

A marker is one exact line, with nothing but spaces before it. Whatever merely looks like one is an
error: a marker that is passed over would leave the answer in the lab.
'''

from __future__ import annotations

import ast
import difflib
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from warpwise.authoring.errors import AuthoringError

BEGIN = "### BEGIN SOLUTION"
END = "### END SOLUTION"
HOLE = "# YOUR CODE HERE (roughly {size})"

# Letters only, so that spaces, hashes, dashes and case cannot hide a marker.
_WORDS = ("BEGINSOLUTION", "ENDSOLUTION")
_NEAR = re.compile(r"\b(begin|end|start|stop)[\W_]*(of[\W_]*)?(the[\W_]*)?solu", re.IGNORECASE)
# One wrong, missing or swapped letter in the longer marker still scores 0.88 or more.
_LIKENESS = 0.87


@dataclass(frozen=True)
class Region:
    """One solution region. `begin` and `end` are 0-based indices of the two marker lines."""

    begin: int
    end: int
    indent: str
    size: int


def find_regions(source: str, path: Path, first_line: int) -> list[Region]:
    """The solution regions of a code cell, in order.

    source: the cell's text, valid Python; first_line: its line in `path`, 1-based, for messages.
    Raises AuthoringError for markers that are unbalanced, nested, misspelled, inside a string,
    unevenly indented, or around nothing.
    """
    lines = source.split("\n")
    in_string = _string_lines(source)
    for index, text, is_comment in _suspects(source, lines):
        if text in (BEGIN, END) and lines[index].strip() == text:
            continue
        # Three hashes are kept for markers, and `# solution` alone is a marker elsewhere.
        reserved = text.startswith("###") or text.strip("# ").lower() == "solution"
        if looks_like_marker(text) or (is_comment and reserved):
            raise AuthoringError(
                path,
                first_line + index,
                f"'{text}' looks like a solution marker but is not one. "
                f"Write '{BEGIN}' or '{END}' alone on its line, or word the comment differently.",
            )

    regions: list[Region] = []
    begin: int | None = None
    for index, line in enumerate(lines):
        text = line.strip()
        if text not in (BEGIN, END):
            continue
        at = first_line + index
        if line != line.rstrip():
            raise AuthoringError(path, at, f"'{text}' has spaces after it. Remove them.")
        if index in in_string:
            raise AuthoringError(path, at, f"'{text}' stands inside a string. Move it out.")
        if text == BEGIN:
            if begin is not None:
                raise AuthoringError(
                    path, at, f"'{BEGIN}' again before the one in line {first_line + begin} ended."
                )
            begin = index
        elif begin is None:
            raise AuthoringError(path, at, f"'{END}' without a '{BEGIN}' before it.")
        else:
            regions.append(_region(lines, begin, index, path, first_line))
            begin = None
    if begin is not None:
        raise AuthoringError(
            path, first_line + begin, f"'{BEGIN}' without an '{END}' in the same cell."
        )
    return regions


def looks_like_marker(text: str) -> bool:
    """Whether a comment (`# ...`) could be meant as a marker.

    >>> looks_like_marker("# BEGIN SOLUTION"), looks_like_marker("# the sum of both")
    (True, False)
    """
    if _NEAR.search(text):
        return True
    letters = re.sub(r"[^A-Z]", "", text.upper())
    return any(difflib.SequenceMatcher(None, letters, word).ratio() >= _LIKENESS for word in _WORDS)


def check_prose(source: str, path: Path, first_line: int) -> None:
    """Refuse a line of a markdown cell that is, or nearly is, a marker.

    A heading such as `### Solution` is fine: only begin and end make a marker.
    """
    for index, line in enumerate(source.split("\n")):
        text = line.strip()
        if text.startswith("#") and looks_like_marker(text):
            raise AuthoringError(
                path,
                first_line + index,
                f"'{text}' looks like a solution marker, but this is a markdown cell.",
            )


def cut_holes(source: str, regions: list[Region], path: Path, first_line: int) -> str:
    """The cell as a learner gets it: each region replaced by a hole that says its size.

    Inside a function the hole raises NotImplementedError. At column 0 it gives every assigned name
    the value `...`, so that an untouched lab still runs from top to bottom.
    """
    lines = source.split("\n")
    tree = ast.parse(source)
    out: list[str] = []
    done = 0
    for region in regions:
        size = "1 line" if region.size == 1 else f"{region.size} lines"
        out += lines[done : region.begin]
        out.append(region.indent + HOLE.format(size=size))
        if region.indent:
            if not _inside_function(tree, region):
                raise AuthoringError(
                    path,
                    first_line + region.begin,
                    "This region is indented but in no function, so its hole would stop the lab. "
                    "Put it inside a function or at column 0.",
                )
            out.append(region.indent + "raise NotImplementedError")
        else:
            names = _assigned_names(tree, region, path, first_line)
            out += [f"{name} = ..." for name in names]
        done = region.end + 1
    out += lines[done:]
    lab = "\n".join(out)
    try:
        ast.parse(lab)
    except SyntaxError as error:
        raise AuthoringError(
            path,
            first_line + regions[0].begin,
            f"With the answer cut out, this cell is not valid Python: {error.msg}.",
        ) from None
    return lab


def _region(lines: list[str], begin: int, end: int, path: Path, first_line: int) -> Region:
    indent = lines[begin][: -len(BEGIN)]
    if lines[end][: -len(END)] != indent:
        raise AuthoringError(path, first_line + end, f"'{END}' is not indented like its '{BEGIN}'.")
    size = 0
    for index in range(begin + 1, end):
        text = lines[index].strip()
        if not text:
            continue
        if not lines[index].startswith(indent):
            raise AuthoringError(
                path, first_line + index, "This line is indented less than the markers around it."
            )
        size += not text.startswith("#")
    if size == 0:
        raise AuthoringError(path, first_line + begin, "There is no code between these markers.")
    return Region(begin, end, indent, size)


def _suspects(source: str, lines: list[str]) -> Iterator[tuple[int, str, bool]]:
    """(line index, text, is a comment) of all comments and of lines in a string that begin so."""
    seen = set()
    for token in tokenize.generate_tokens(io.StringIO(source + "\n").readline):
        if token.type == tokenize.COMMENT:
            seen.add(token.start[0] - 1)
            yield token.start[0] - 1, token.string.rstrip(), True
    for index, line in enumerate(lines):
        if index not in seen and line.lstrip().startswith("#"):
            yield index, line.strip(), False


def _string_lines(source: str) -> set[int]:
    """Indices of lines that begin inside a string of several lines."""
    inside: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Constant, ast.JoinedStr)) and node.end_lineno:
            inside.update(range(node.lineno, node.end_lineno))
    return inside


def _inside_function(tree: ast.Module, region: Region) -> bool:
    return any(
        isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        and node.lineno <= region.begin + 1
        and (node.end_lineno or 0) >= region.end
        for node in ast.walk(tree)
    )


def _assigned_names(tree: ast.Module, region: Region, path: Path, first_line: int) -> list[str]:
    names: list[str] = []
    for node in tree.body:
        if not region.begin + 1 < node.lineno <= region.end:
            continue
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            for target in node.targets:
                targets += target.elts if isinstance(target, ast.Tuple) else [target]
        elif isinstance(node, ast.AnnAssign):
            targets = [node.target]
        if not targets or not all(isinstance(target, ast.Name) for target in targets):
            raise AuthoringError(
                path,
                first_line + node.lineno - 1,
                "A region at column 0 may only assign to plain names. "
                "For a function, put the markers inside its body.",
            )
        names += [target.id for target in targets if isinstance(target, ast.Name)]
    if not names:
        raise AuthoringError(
            path,
            first_line + region.begin,
            "No statement begins between these markers. Indent them like the code around them.",
        )
    return list(dict.fromkeys(names))
