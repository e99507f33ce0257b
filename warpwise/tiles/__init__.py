"""Tiles: Triton kernels on the CPU, with every load and store looked at, and on a GPU unchanged.

program  one instance of a kernel; a launch has a grid of them
tile     the values that one program holds under one name

Importing this package makes `kernel[grid](...)` run on the CPU where the course uses no GPU.
Notebooks take `triton` and `tl` from here: Triton's own modules, or stand-ins where it is missing.
"""

from .errors import TileError
from .install import install
from .report import Line, Run
from .run import as_jit, default_device, run
from .traps import Trap, traps

try:
    import triton
    import triton.language as tl
except ImportError:
    from .absent import tl, triton  # type: ignore[assignment]

__all__ = [
    "Line", "Run", "TileError", "Trap", "as_jit", "default_device", "run", "tl", "traps", "triton",
]  # fmt: skip

install()
