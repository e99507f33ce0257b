"""Reads the stacks that `faulthandler` writes when a rank crashes or does not answer."""

from __future__ import annotations

import re
from typing import Any

from . import sites

THREAD = re.compile(r"^(?:Current thread|Thread) (0x[0-9a-f]+)")
FRAME = re.compile(r'^  File "(.*)", line (\d+) in (.*)$')


def read_stack(path: str, thread: int) -> list[sites.Frame]:
    """The last stack of one thread in such a file, innermost last; empty if there is none."""
    try:
        with open(path, errors="replace") as file:
            lines = file.read().splitlines()
    except OSError:
        return []
    found: list[sites.Frame] = []
    inside = False
    for line in lines:
        if head := THREAD.match(line):
            inside = int(head[1], 16) == thread
            found = [] if inside else found
        elif inside and (frame := FRAME.match(line)):
            found.insert(0, [frame[1], int(frame[2]), frame[3]])
    return found


def learners_lines(stack: list[sites.Frame]) -> list[Any]:
    """The learner's lines of a stack."""
    return [sites.site(frame) for frame in stack if sites.is_learners(frame[0])]
