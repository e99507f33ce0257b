"""Runs Numba CUDA kernels on the CPU: exact types, exact addresses, no GPU.

    frontend   source.py, symbols.py      text, names
    types      typing.py                  Numba's own typing context decides
    lowering   expressions.py, calls.py, statements.py, program.py
               structures.py, vectors.py, named.py       records, vector types, enums
    running    launch.py, memory.py, values.py, records.py, ops.py, runtime.py
    host       kernel.py, arguments.py, api.py
               device_array.py, device_memory.py, allocation.py, transfers.py, capacity.py
               device.py, streams.py, reduction.py, ufuncs.py, refusals.py
               native.py, inspection.py      what Numba's own compiler says

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
