"""Runs Numba CUDA kernels on the CPU: exact types, exact addresses, no GPU.

    frontend   source.py, symbols.py      text, names
    types      typing.py                  Numba's own typing context decides
    lowering   expressions.py, calls.py, statements.py, program.py
    running    launch.py, memory.py, values.py, ops.py, runtime.py
    host       kernel.py, arguments.py, device_array.py, api.py

Nothing here knows an observer: tools listen through `launch.Observer`.
"""

from .errors import (
    BarrierDivergenceError,
    KernelRaisedError,
    LaunchError,
    LivelockError,
    MisalignedAddressError,
    OptionError,
    OutOfBoundsError,
    ShapeError,
    SimtError,
    SourceError,
    TypingError,
    UnsupportedError,
)
from .install import install, uninstall
from .kernel import DeviceFunction, Kernel, as_kernel, run
from .launch import KernelNote, Note, Run

__all__ = [
    "BarrierDivergenceError", "DeviceFunction", "Kernel", "KernelNote", "KernelRaisedError",
    "LaunchError", "LivelockError", "MisalignedAddressError", "Note", "OptionError",
    "OutOfBoundsError", "Run", "ShapeError", "SimtError", "SourceError", "TypingError",
    "UnsupportedError", "as_kernel", "install", "run", "uninstall",
]  # fmt: skip
