"""Launching the kernel `k` of a text under the sanitizer; its `def` stands in line 4."""

from __future__ import annotations

from typing import Any

from warpwise.observe import Finding, sanitize
from warpwise.simt import Kernel

HEADER = "from numba import complex64, float32, float64, int32, int64\n@cuda.jit\n\n"


def kernel(text: str) -> Kernel:
    """The kernel `k` of a text."""
    return Kernel.from_source(HEADER + text.lstrip("\n"), "k")


def findings(text: str, grid: Any, block: Any, *args: Any) -> list[Finding]:
    """The findings of one launch."""
    return sanitize(kernel(text)[grid, block], *args)
