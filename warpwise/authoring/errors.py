"""Mistakes an author can make, said with file and line."""

from __future__ import annotations

from pathlib import Path


class AuthoringError(ValueError):
    """A source that cannot be built.

    `path` and `line` (1-based, 0 when the whole file is meant) say where; `fact` is the sentence.
    `str(error)` is `path:line: fact`, the form editors and terminals turn into a link.
    """

    def __init__(self, path: Path | str, line: int, fact: str) -> None:
        self.path = Path(path)
        self.line = line
        self.fact = fact
        where = f"{path}:{line}" if line else f"{path}"
        super().__init__(f"{where}: {fact}")


class ExecutionError(RuntimeError):
    """A lesson that could not be run, or whose outputs must not be committed."""
