"""The learner's line: where an access is made, and where an exception comes from."""

from __future__ import annotations

import linecache
import os
import sys
from typing import Any

import numpy as np

from ..simt.errors import at_line
from .errors import TileError

_HERE = os.path.dirname(os.path.abspath(__file__))
_SITE = os.path.dirname(os.path.dirname(np.__file__))
_OTHERS = tuple(os.path.join(one, "") for one in (_HERE, f"{_SITE}/triton", f"{_SITE}/numpy"))


def learners(file: str) -> bool:
    """Is this neither Triton's code, nor ours, nor NumPy's?"""
    return not file.startswith(_OTHERS)


def place_of_access() -> tuple[int, str]:
    """(line, text) of the learner's code that is running: neither Triton's nor ours."""
    frame: Any = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if learners(name):
            return frame.f_lineno, linecache.getline(name, frame.f_lineno).strip()
        frame = frame.f_back
    return 0, ""


def raised(kernel: str, program: str, error: Exception) -> TileError:
    """An exception from inside a program, as one sentence with the learner's line."""
    line, text = None, ""
    trace = error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_code.co_filename
        if learners(name):
            line, text = trace.tb_lineno, linecache.getline(name, trace.tb_lineno).strip()
        trace = trace.tb_next
    said = (str(error).strip() or type(error).__name__).splitlines()[0]
    fact = f"{program} stops: {type(error).__name__}: {said}"
    step = "Triton's compiler refuses the same." if isinstance(error, ValueError) else ""
    return TileError(at_line(kernel, line, text, fact, step), "raised", line=line)
