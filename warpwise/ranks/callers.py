"""Whose line issued an operation: the innermost frame that is the learner's own.

Frames of torch, of the standard library and of warpwise are passed over; of torch's, the outermost
function tells what the learner called (all_gather_object, backward, ...).
"""

from __future__ import annotations

import sys
import threading
from types import CodeType, FrameType

from . import sites, worker

LEARNER, TORCH, OTHER, OUTERMOST = 1, 2, 3, 4
TRAIL = 4  # frames that tell two calls of one helper apart, the innermost among them
# Decorators and hooks of torch: they stand between the learner and the function that matters.
_WRAPPERS = frozenset(
    {"wrapper", "inner", "decorate_context", "fsdp_hook_wrapper", "fn", "apply", "handler"}
)
Place = tuple[CodeType, int]  # a code object and a line

# By identity: a code object's own hash reads all its instructions.  The object is kept, so that
# its identity stays its own.
_owners: dict[int, tuple[CodeType, int]] = {}


def owner(code: CodeType) -> int:
    """LEARNER, TORCH, OTHER or OUTERMOST: whose code this is."""
    known = _owners.get(id(code))
    if known is None:
        file = code.co_filename
        whose = LEARNER if sites.is_learners(file) else OTHER
        if whose is OTHER and "/torch/" in file:
            whose = TORCH
        elif file == worker.__file__:
            whose = OUTERMOST  # what started the rank is of no interest
        known = _owners[id(code)] = (code, whose)
    return known[1]


def _title(code: CodeType) -> str:
    """The name of torch's function where it says something to a reader, else ""."""
    name = code.co_name
    if name == "__init__":
        return code.co_qualname.split(".")[-2]
    return "" if name.startswith("_") or name in _WRAPPERS else name


def caller(frame: FrameType | None) -> tuple[str, list[Place]]:
    """(torch's function that the learner called, the learner's frames innermost first).

    Calls from another thread, such as autograd's, are put down to the main thread's line.
    """
    via, places = _walk(frame)
    if not places and threading.current_thread() is not threading.main_thread():
        return _walk(sys._current_frames().get(threading.main_thread().ident or 0))
    return via, places


def _walk(frame: FrameType | None) -> tuple[str, list[Place]]:
    via, places = "", []
    while frame is not None:
        code = frame.f_code
        whose = owner(code)
        if whose is LEARNER:
            places.append((code, frame.f_lineno))
            if len(places) == TRAIL:
                break
        elif whose is TORCH and not places:
            via = _title(code) or via
        elif whose is OUTERMOST:
            break
        frame = frame.f_back
    return via, places
