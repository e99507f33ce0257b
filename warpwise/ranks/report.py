"""An exception in a rank as plain data, of bounded size, for the process that started the rank."""

from __future__ import annotations

import os
import traceback
from typing import Any

from . import pickling, sites

LONGEST = 10_000  # characters of a message or a traceback that are sent
DEEPEST = 8  # innermost lines of the learner's that are sent: a recursion has thousands


def describe(error: BaseException) -> tuple[dict[str, Any], bytes]:
    """What a message carries of an exception, and its pickle (empty where it has none)."""
    described = traceback.TracebackException.from_exception(error)
    # The first frames are the launcher's.
    own = os.path.dirname(__file__)
    while described.stack and os.path.dirname(described.stack[0].filename) == own:
        del described.stack[0]
    trace = [[frame.filename, frame.lineno, frame.name] for frame in described.stack]
    lines = [sites.site(frame) for frame in trace if sites.is_learners(frame[0])]
    try:
        block, _ = pickling.dumps(error)
    except Exception:
        block = b""
    facts = {
        "name": type(error).__qualname__,
        "message": said(error),
        "lines": lines[-DEEPEST:],
        "causes": causes(error),
        "text": "".join(described.format())[-LONGEST:] if described.stack else "",
    }
    return facts, block


def said(error: BaseException) -> str:
    """The message of an exception, of bounded length; its class may be the learner's."""
    try:
        text = str(error)
    except Exception as problem:
        return f"(its message cannot be shown: {type(problem).__name__})"
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ... ({len(text):,} characters)"


def causes(error: BaseException) -> list[str]:
    """The exceptions that led to this one, latest first."""
    found: list[str] = []
    while len(found) < 5:
        cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
        if cause is None:
            break
        found.append(f"{type(cause).__qualname__}: {said(cause)}")
        error = cause
    return found
