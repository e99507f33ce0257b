"""The simulator's `cuda`: the names of numba.cuda, over NumPy.

A notebook says `from warpwise import cuda` and writes ordinary Numba CUDA; without a GPU this
module answers.  Device names (grid, threadIdx, ...) are symbols that the lowering knows.
"""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import Any

import numpy as np
from numba.core import types

from . import typing
from .device_array import DeviceNDArray, allocate, from_host
from .kernel import jit
from .rounding import BFLOAT16
from .symbols import DEVICE_NAMES, Symbol

__all__ = [
    "Device", "DeviceNDArray", "Event", "Stream", "as_cuda_array", "close", "current_context",
    "default_stream", "detect", "device_array", "device_array_like", "event",
    "event_elapsed_time", "get_current_device", "gpus", "is_available", "is_cuda_array", "jit",
    "managed_array", "mapped_array", "mapped_array_like", "pinned", "pinned_array",
    "pinned_array_like", "select_device", "stream", "synchronize", "to_device",
]  # fmt: skip

#: cuda.<name>, as numba.cuda has them
NUMBER_TYPES = frozenset(
    """bool_ boolean byte c16 c8 char complex128 complex64 double f4 f8 float32 float64 i1 i2 i4
    i8 int16 int32 int64 int8 int_ intc intp long_ longlong short u1 u2 u4 u8 uchar uint uint16
    uint32 uint64 uint8 uintc uintp ulong ulonglong ushort""".split()  # noqa: SIM905
)

warpsize = 32
for _name in DEVICE_NAMES:
    if "." not in _name and _name != "warpsize":
        globals()[_name] = Symbol(_name)
del _name


def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: Any = None) -> DeviceNDArray:
    """Copy a host array to the device (or into the device array `to`)."""
    if isinstance(obj, DeviceNDArray):
        return obj
    if to is not None:
        to.copy_to_device(obj)
        device: DeviceNDArray = to
        return device
    return from_host(obj)


def device_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0
) -> DeviceNDArray:
    """An uninitialised device array."""
    if strides is not None:
        raise NotImplementedError("the simulator's device_array takes order=, not strides=")
    return allocate(shape, dtype, order)


def device_array_like(ary: Any, stream: Any = 0) -> DeviceNDArray:
    """An uninitialised device array of the shape, dtype and order of `ary`."""
    flags = getattr(ary, "flags", None)
    fortran = ary.is_f_contiguous() if flags is None else flags.f_contiguous
    c_order = ary.is_c_contiguous() if flags is None else flags.c_contiguous
    return allocate(ary.shape, ary.dtype, "F" if fortran and not c_order else "C")


def pinned_array(shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C") -> Any:
    """A host array; pinning changes only the speed of copies, and there are none here."""
    return np.empty(shape, dtype, order=order)  # type: ignore[call-overload]


def pinned_array_like(ary: Any) -> Any:
    """A host array like `ary`."""
    return np.empty_like(ary)


def mapped_array(shape: Any, dtype: Any = np.float64, order: str = "C", **kwargs: Any) -> Any:
    """A host array that kernels may use directly."""
    return np.empty(shape, dtype, order=order)  # type: ignore[call-overload]


def mapped_array_like(ary: Any, **kwargs: Any) -> Any:
    """A mapped array like `ary`."""
    return np.empty_like(ary)


def managed_array(shape: Any, dtype: Any = np.float64, **kwargs: Any) -> Any:
    """Unified memory: an array both sides can use."""
    return np.empty(shape, dtype)


@contextmanager
def pinned(*arylist: Any) -> Any:
    """Pins nothing; for programs that ask."""
    yield


def synchronize() -> None:
    """Wait for the device; launches here have finished when they return."""


class Stream:
    """A queue of work.  Work here is done at once, in program order."""

    handle = 0

    def synchronize(self) -> None: ...

    @contextmanager
    def auto_synchronize(self) -> Any:
        yield self

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return "<Stream of the simulator>"


def stream() -> Stream:
    """A new stream."""
    return Stream()


def default_stream() -> Stream:
    """The default stream."""
    return Stream()


class Event:
    """Marks a point in a stream.  There is no GPU clock here."""

    def record(self, stream: Any = 0) -> None: ...
    def synchronize(self) -> None: ...
    def wait(self, stream: Any = 0) -> None: ...

    def query(self) -> bool:
        return True

    def elapsed_time(self, evtend: Event) -> float:
        return event_elapsed_time(self, evtend)


def event(timing: bool = True) -> Event:
    """A new event."""
    return Event()


def event_elapsed_time(evtstart: Event, evtend: Event) -> float:
    """Milliseconds on the GPU between two events: NaN, with a warning, since there is no GPU."""
    warnings.warn(
        "the simulator has no GPU clock: the elapsed time is NaN. Time kernels on a GPU.",
        stacklevel=2,
    )
    return float("nan")


class Device:
    """The simulated device.  The limits are those of compute capability 8.0."""

    id = 0
    name = b"Warpwise simulator"
    compute_capability = (8, 0)
    WARP_SIZE = 32
    MAX_THREADS_PER_BLOCK = 1024
    MAX_BLOCK_DIM_X, MAX_BLOCK_DIM_Y, MAX_BLOCK_DIM_Z = 1024, 1024, 64
    MAX_GRID_DIM_X, MAX_GRID_DIM_Y, MAX_GRID_DIM_Z = 2**31 - 1, 65535, 65535
    MAX_SHARED_MEMORY_PER_BLOCK = 48 * 1024
    MULTIPROCESSOR_COUNT = 108

    def reset(self) -> None: ...

    def __enter__(self) -> Device:
        return self

    def __exit__(self, *exc: object) -> None: ...

    def __repr__(self) -> str:
        return "<CUDA device 0 'Warpwise simulator'>"


_DEVICE = Device()
gpus = [_DEVICE]


def get_current_device() -> Device:
    """The simulated device."""
    return _DEVICE


def select_device(device_id: int) -> Device:
    """There is one device, number 0."""
    if device_id != 0:
        raise ValueError(f"the simulator has one device, number 0; there is no {device_id}")
    return _DEVICE


def current_context(devnum: Any = None) -> Any:
    """The simulated device stands for its context, too."""
    return _DEVICE


def close() -> None:
    """Nothing to close."""


def is_available() -> bool:
    """True: kernels can be run, in the simulator.  `warpwise.backend()` says where."""
    return True


def detect() -> bool:
    """Print what device there is."""
    print("Found 1 CUDA device: the Warpwise simulator (no GPU)")
    return True


def is_cuda_array(obj: Any) -> bool:
    """True for device arrays."""
    return isinstance(obj, DeviceNDArray)


def as_cuda_array(obj: Any, sync: bool = True) -> DeviceNDArray:
    """The device array itself."""
    if not isinstance(obj, DeviceNDArray):
        raise TypeError("*obj* is no device array")
    return obj


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    if name == "bfloat16":
        return typing.numba_type(BFLOAT16)
    if name in NUMBER_TYPES:
        return getattr(types, name)
    raise AttributeError(
        f"cuda.{name} is not in the simulator. If numba.cuda has it, it needs a GPU or is not "
        "supported yet; otherwise check the spelling."
    )
