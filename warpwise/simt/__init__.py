"""Runs Numba CUDA kernels on the CPU: exact types, exact addresses, no GPU.

    frontend   source.py, symbols.py      text, names
    types      typing.py                  Numba's own typing context decides
    lowering   statements.py, assignments.py, stores.py    whole functions, what is assigned to
               branches.py, loops.py, ranges.py, exits.py, joins.py, flow.py    control flow
               expressions.py, objects.py, arithmetic.py, comparisons.py, conditions.py
               attributes.py, subscripts.py, calls.py      what has a value
               structures.py, vectors.py, named.py         records, vector types, enums
               lowering.py, program.py                     the text that comes out
    running    launch.py, dimensions.py, memory.py, values.py, records.py, ops.py, runtime.py
    host       decorator.py, kernel.py, launched.py, device_functions.py, declared.py, texts.py
               adoption.py, arguments.py, failures.py, api.py
               device_array.py, device_memory.py, allocation.py, transfers.py, capacity.py
               device.py, streams.py, reduction.py, ufuncs.py, refusals.py
               native.py, inspection.py      what Numba's own compiler says

Nothing here knows an observer: tools listen through `launch.Observer`.
"""

from .adoption import as_kernel, run
from .device_functions import DeviceFunction
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
from .kernel import Kernel
from .launch import KernelNote, Note, Run

__all__ = [
    "BarrierDivergenceError", "DeviceFunction", "Kernel", "KernelNote", "KernelRaisedError",
    "LaunchError", "LivelockError", "MisalignedAddressError", "Note", "OptionError",
    "OutOfBoundsError", "Run", "ShapeError", "SimtError", "SourceError", "TypingError",
    "UnsupportedError", "as_kernel", "install", "run", "uninstall",
]  # fmt: skip
