"""Whose line issued an operation: the innermost frame that is the learner's own.

Frames of torch, of the standard library and of warpwise are passed over; of torch's, the outermost
function tells what the learner called (all_gather_object, backward, ...).
"""

from __future__ import annotations

import sys
import sysconfig
import threading
from functools import lru_cache
from pathlib import Path
from types import CodeType, FrameType

LEARNER, TORCH, OTHER = "learner", "torch", "other"
_ROOT = str(Path(__file__).resolve().parents[1])
_STANDARD = sysconfig.get_paths()["stdlib"]
# Decorators and hooks of torch: they stand between the learner and the function that matters.
_WRAPPERS = frozenset(
    {"wrapper", "inner", "decorate_context", "fsdp_hook_wrapper", "fn", "apply", "handler"}
)


@lru_cache(maxsize=4096)
def owner(code: CodeType) -> str:
    """LEARNER, TORCH or OTHER: whose code this is."""
    file = code.co_filename
    if file.startswith("<frozen"):
        return OTHER
    if "/torch/" in file and "site-packages" in file:
        return TORCH
    if file.startswith(_ROOT):
        return OTHER
    if file.startswith(_STANDARD) and "site-packages" not in file:
        return OTHER
    return LEARNER


@lru_cache(maxsize=4096)
def _title(code: CodeType) -> str:
    """The name of torch's function where it says something to a reader, else ""."""
    name = code.co_name
    if name == "__init__":
        return code.co_qualname.split(".")[-2]
    return "" if name.startswith("_") or name in _WRAPPERS else name


def caller(frame: FrameType | None) -> tuple[CodeType | None, int, str]:
    """(code, line, via) of the learner's innermost frame from `frame` outwards.

    Calls from another thread, such as autograd's, are put down to the main thread's line.
    """
    found = _walk(frame)
    if found[0] is None and threading.current_thread() is not threading.main_thread():
        found = _walk(sys._current_frames().get(threading.main_thread().ident or 0))
    return found


def _walk(frame: FrameType | None) -> tuple[CodeType | None, int, str]:
    via = ""
    while frame is not None:
        code = frame.f_code
        whose = owner(code)
        if whose is LEARNER:
            return code, frame.f_lineno, via
        if whose is TORCH:
            via = _title(code) or via
        frame = frame.f_back
    return None, 0, via


def stack(frame: FrameType | None, limit: int = 40) -> list[list[object]]:
    """[[file, line, function], ...] of a thread, innermost last, at most `limit` frames."""
    frames: list[list[object]] = []
    while frame is not None and len(frames) < limit:
        code = frame.f_code
        frames.append([code.co_filename, frame.f_lineno, code.co_name])
        frame = frame.f_back
    return frames[::-1]
