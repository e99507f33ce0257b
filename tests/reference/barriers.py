"""Kernels with one barrier taken away."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from .writer import Case

BARRIERS = ("cuda.syncthreads()", "cuda.syncwarp()", "cuda.syncwarp(0xffffffff)")


def without_one(case: Case) -> Iterator[Case]:
    """A case for each barrier of the kernel: the same text with `pass` in its place."""
    lines = case.text.splitlines()
    for number, line in enumerate(lines):
        if line.strip() in BARRIERS:
            changed = [*lines]
            changed[number] = line.replace(line.strip(), "pass")
            text = "\n".join(changed) + "\n"
            ast.parse(text)
            yield replace(case, text=text)
