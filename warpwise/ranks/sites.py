"""Places in the learner's code: which frames are the learner's, and the text of a line.

A frame is `[file, line, function]`, a site `[file, line, text, function]`: plain lists, so that
they cross from a rank that may die.  A cell's source lives only in the kernel's `linecache`;
`sources` takes it out and `remember` puts it into a rank's.
"""

from __future__ import annotations

import linecache
import os
import sys
import sysconfig
from collections.abc import Iterable
from functools import cache
from types import FrameType
from typing import Any

Frame = list[Any]
Site = list[Any]
OURS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@cache
def _libraries() -> tuple[str, ...]:
    paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return tuple(os.path.join(path, "") for path in paths if path)


@cache
def is_learners(file: str) -> bool:
    """Whether a file is the learner's: a cell, a script, a module that is not installed."""
    if file.startswith("<"):
        return file.startswith(("<ipython", "<stdin", "<string"))
    path = os.path.abspath(file)
    if "site-packages" in path or "dist-packages" in path:
        return False
    if (
        path.startswith(os.path.join(OURS, ""))
        or "site-packages" in path
        or "dist-packages" in path
    ):
        return False
    return not path.startswith(_libraries())


def frames(frame: FrameType | None) -> list[Frame]:
    """The stack of a frame, innermost last."""
    found: list[Frame] = []
    while frame is not None:
        found.append([frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name])
        frame = frame.f_back
    return found[::-1]


def learners_frame(stack: Iterable[Frame]) -> Frame | None:
    """The innermost frame of the learner's own code."""
    for frame in reversed(list(stack)):
        if is_learners(frame[0]):
            return frame
    return None


def site(frame: Frame | None) -> Site | None:
    """`[file, line, text, function]` of a frame; the text is empty where the source is unknown."""
    if frame is None:
        return None
    file, line, function = frame
    return [file, line, linecache.getline(file, line).strip(), function]


def sources(files: Iterable[str]) -> dict[str, str]:
    """Text of those files that exist in memory alone, such as cells."""
    return {
        file: "".join(linecache.getlines(file))
        for file in files
        if not os.path.exists(file) and linecache.getlines(file)
    }


def remember(texts: dict[str, str]) -> None:
    """Make texts known to `linecache`, and so to tracebacks."""
    for file, text in texts.items():
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)


def name_of(file: str) -> str:
    """What a reader calls a file: `cell` in a notebook, else its name.

    A cell's number is left out: it differs from run to run.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None and shell.compile.format_code_name(file):
        return "cell"
    return os.path.basename(file)


def describe(place: Site | None) -> str:
    """One line for a site: `cell, line 3, in work:  dist.barrier()`."""
    if place is None:
        return "outside the learner's code"
    file, line, text, function = place
    text = text or linecache.getline(file, line).strip()
    return f"{name_of(file)}, line {line}, in {function}" + (f":  {text}" if text else "")
