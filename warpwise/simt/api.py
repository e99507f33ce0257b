"""The simulator's `cuda`: the names of numba.cuda, over NumPy.

A notebook says `from warpwise import cuda` and writes ordinary Numba CUDA; without a GPU this
module answers.  Device names (grid, threadIdx, ...) are symbols that the lowering knows; types and
Numba's own modules are Numba's.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from numba.core import types as _types

from . import typing as _typing
from .allocation import (
    ManagedNDArray,
    MappedNDArray,
    as_cuda_array,
    device_array,
    device_array_like,
    from_cuda_array_interface,
    is_cuda_array,
    managed_array,
    mapped,
    mapped_array,
    mapped_array_like,
    pinned,
    pinned_array,
    pinned_array_like,
    to_device,
)
from .arguments import In, InOut, Out
from .capacity import MemoryInfo
from .decorator import jit
from .device import (
    Context,
    Device,
    close,
    cuda_error,
    current_context,
    detect,
    get_current_device,
    gpus,
    is_available,
    is_bfloat16_supported,
    is_float16_supported,
    is_fp8_supported,
    is_supported_version,
    list_devices,
    require_context,
    select_device,
    synchronize,
)
from .device_array import DeviceNDArray
from .native import (
    compile,
    compile_all,
    compile_for_current_device,
    compile_ptx,
    compile_ptx_for_current_device,
)
from .reduction import Reduce, reduce
from .refusals import alternative, refuse
from .rounding import BFLOAT16
from .streams import (
    Event,
    Stream,
    default_stream,
    defer_cleanup,
    event,
    event_elapsed_time,
    external_stream,
    legacy_default_stream,
    per_thread_default_stream,
    profile_start,
    profile_stop,
    profiling,
    stream,
)
from .symbols import DEVICE_NAMES, Symbol

#: What takes the place of numba.cuda's names of the host.
__all__ = [
    "Context", "Device", "DeviceNDArray", "Event", "In", "InOut", "ManagedNDArray",
    "MappedNDArray", "MemoryInfo", "Out", "Reduce", "Stream", "as_cuda_array", "close",
    "compile", "compile_all", "compile_for_current_device", "compile_ptx",
    "compile_ptx_for_current_device", "cuda_error", "current_context", "default_stream",
    "defer_cleanup", "detect", "device_array", "device_array_like", "event", "event_elapsed_time",
    "external_stream", "from_cuda_array_interface", "get_current_device", "gpus", "is_available",
    "is_bfloat16_supported", "is_cuda_array", "is_float16_supported", "is_fp8_supported",
    "is_supported_version", "jit", "legacy_default_stream", "list_devices", "managed_array",
    "mapped", "mapped_array", "mapped_array_like", "per_thread_default_stream", "pinned",
    "pinned_array", "pinned_array_like", "profile_start", "profile_stop", "profiling", "reduce",
    "require_context", "select_device", "stream", "synchronize", "to_device",
]  # fmt: skip

#: cuda.<name>, as numba.cuda has them
NUMBER_TYPES = frozenset(
    """bool_ boolean byte c16 c8 char complex128 complex64 double f4 f8 float32 float64 i1 i2 i4
    i8 int16 int32 int64 int8 int_ intc intp long_ longlong short u1 u2 u4 u8 uchar uint uint16
    uint32 uint64 uint8 uintc uintp ulong ulonglong ushort""".split()  # noqa: SIM905
)

#: Functions and objects of Numba's that need no driver; `install` has changed what they build on.
NUMBAS_OWN = ("guvectorize", "runtime", "vectorize")

warpsize = 32
for _name in DEVICE_NAMES:
    if "." not in _name and _name != "warpsize":
        globals()[_name] = Symbol(_name)
del _name


def __getattr__(name: str) -> Any:
    """Types and modules are Numba's own; the rest is refused with what to use instead."""
    if name.startswith("__"):
        raise AttributeError(name)
    if name == "random":  # it makes states on this device
        return importlib.import_module(".random", __package__)
    if name == "bfloat16":
        return _typing.numba_type(BFLOAT16)
    if name in NUMBER_TYPES:
        return getattr(_types, name)
    if not alternative(name):
        from numba import cuda

        if name in NUMBAS_OWN:
            return getattr(cuda, name)

        found = getattr(cuda, name, None)
        if isinstance(found, (_types.Type, ModuleType, int, str, tuple, type)):
            return found
    refuse(name)
