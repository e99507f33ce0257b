"""Read a submitted file strictly: bytes to a list of code cells, or one sentence why not.

Nothing here raises anything but `SubmissionError`.  Only cell types and sources are kept:
metadata, tags, outputs and ids of the student's file go no further.
"""

from __future__ import annotations

import json
import os
import re
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from grading.reasons import Note, SubmissionError, note, refusal

# A notebook with a runaway loop's output saved in it has some 50 MB and is still readable.
MAX_BYTES = 200_000_000
# Real notebooks reach a depth of about 10 (rich outputs); Python's reader stops near 1000.
MAX_DEPTH = 60
MAX_CELLS = 5_000

_MARKER = re.compile(r"^(<<<<<<<|>>>>>>>)(?: .*)?$", re.MULTILINE)
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True)
class CodeCell:
    """One code cell of a submission; `number` counts code cells from 1, as a reader would."""

    number: int
    source: str


@dataclass(frozen=True)
class Parsed:
    """A submission's code cells in order, and what had to be repaired to read them."""

    cells: tuple[CodeCell, ...]
    notes: tuple[Note, ...] = ()


def read_file(path: Path, max_bytes: int = MAX_BYTES) -> bytes:
    """The bytes of a regular file; links and devices are refused, and so is too much."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        descriptor = os.open(path, flags)
    except OSError as error:
        raise refusal("cannot-open", fact=error.strerror or type(error).__name__) from None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(file.fileno())
        if not stat.S_ISREG(status.st_mode):
            raise refusal("not-a-file", name=path.name)
        try:
            data = file.read(max_bytes + 1)
        except OSError as error:
            raise refusal("cannot-open", fact=error.strerror or type(error).__name__) from None
    if len(data) > max_bytes:
        size = max(status.st_size, len(data))
        raise refusal("too-large", size=_megabytes(size), limit=_megabytes(max_bytes))
    return data


def parse(data: bytes) -> Parsed:
    """The code cells of a notebook given as bytes; raises `SubmissionError` with a sentence."""
    notes: list[Note] = []
    if data.startswith(b"\xef\xbb\xbf"):
        data = data[3:]
        notes.append(note("byte-order-mark"))
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise refusal("not-utf8", position=error.start) from None
    if not text.strip("\0 \t\r\n"):
        raise refusal("empty")
    return _notebook(_load(text), notes)


def _load(text: str) -> Any:
    """JSON as the standard says, and no more than a notebook needs."""

    def constant(name: str) -> None:
        raise refusal("bad-number", fact=name)

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) != len(items):
            seen: set[str] = set()
            twice = next(key for key, _ in items if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise refusal("duplicate-keys", key=_short(twice))
        return found

    try:
        data = json.loads(text, parse_constant=constant, object_pairs_hook=pairs)
    except json.JSONDecodeError as error:
        raise _why_not_json(text, error) from None
    except SubmissionError:
        raise
    except RecursionError:
        raise refusal("too-deep", limit=MAX_DEPTH) from None
    except MemoryError:
        size = _megabytes(len(text))
        raise refusal("too-large", size=size, limit=_megabytes(MAX_BYTES)) from None
    except ValueError as error:  # an integer with more digits than Python converts
        raise refusal("bad-number", fact=_short(str(error))) from None
    if deeper_than(data, MAX_DEPTH):
        raise refusal("too-deep", limit=MAX_DEPTH)
    return data


def _why_not_json(text: str, error: json.JSONDecodeError) -> SubmissionError:
    """The most useful sentence for text that is not JSON."""
    markers = list(_MARKER.finditer(text))
    if markers:
        line = text.count("\n", 0, markers[0].start()) + 1
        return refusal("merge-conflict", line=line, count=len(markers))
    # The reader reports an open string at its start, and everything else where the text ends.
    cut = error.pos >= len(text.rstrip()) or error.msg.startswith("Unterminated string")
    if text.lstrip().startswith("{") and cut:
        return refusal("truncated", line=text.rstrip().count("\n") + 1)
    fact = "it looks like a web page" if text.lstrip().startswith("<") else error.msg.lower()
    return refusal("not-json", line=error.lineno, column=error.colno, fact=fact)


def deeper_than(data: Any, limit: int) -> bool:
    """Whether containers nest more than `limit` deep; level by level, so never recursive."""
    level = [data]
    for _ in range(limit + 1):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                below.extend(v for v in item.values() if isinstance(v, (dict, list)))
            elif isinstance(item, list):
                below.extend(v for v in item if isinstance(v, (dict, list)))
        if not below:
            return False
        level = below
    return True


def _notebook(data: Any, notes: list[Note]) -> Parsed:
    """The code cells of loaded JSON."""
    if not isinstance(data, dict):
        raise refusal("not-a-notebook", fact="it is not an object")
    version = data.get("nbformat", 4)
    if type(version) is not int or version != 4:
        raise refusal("notebook-version", version=_short(version))
    cells = data.get("cells")
    if not isinstance(cells, list):
        raise refusal("not-a-notebook", fact="it has no list of cells")
    if len(cells) > MAX_CELLS:
        raise refusal("not-a-notebook", fact=f"it has more than {MAX_CELLS} cells")
    code: list[CodeCell] = []
    for position, cell in enumerate(cells, start=1):
        source = _source(cell)
        if source is None:
            notes.append(note("malformed-cell", cell=position))
        elif cell.get("cell_type") == "code":
            number = len(code) + 1
            if _SURROGATE.search(source):
                raise refusal("bad-characters", cell=number)
            code.append(CodeCell(number, source))
    if not code:
        raise refusal("no-code")
    return Parsed(tuple(code), tuple(notes))


def _source(cell: Any) -> str | None:
    """A cell's text, or None when the cell is malformed."""
    if not isinstance(cell, dict) or not isinstance(cell.get("cell_type"), str):
        return None
    source = cell.get("source")
    if isinstance(source, str):
        return source
    if isinstance(source, list) and all(isinstance(line, str) for line in source):
        return "".join(source)
    return None


def _short(value: object, limit: int = 40) -> str:
    """A value of the student's for a sentence: one line, no control or odd characters."""
    text = value if isinstance(value, str) else repr(value)
    text = text.encode("utf-8", "replace").decode("utf-8")
    text = "".join(c if c.isprintable() else "?" for c in text)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _megabytes(count: int) -> str:
    return f"{count / 1e6:.0f}"
