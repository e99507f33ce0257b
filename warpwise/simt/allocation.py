"""Making arrays: on the device, on the host for the device, and from what other libraries share.

Pinned, mapped and managed memory differ on a GPU in speed and in who can see them.  Here all memory
is the host's: mapped and managed arrays are NumPy arrays that kernels use in place.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import device_memory
from .capacity import reserve
from .device_array import DeviceNDArray, extents
from .device_memory import address_of
from .host_log import pin, pin_for_life, tell_copy, unpin
from .streams import external_stream
from .transfers import GAPS, core, host_array, is_one_piece
from .values import Root


def to_device(obj: Any, stream: Any = 0, copy: bool = True, to: Any = None) -> DeviceNDArray:
    """Copy a host array, or what np.array makes one of, to the device (or into the device array
    `to`).  A device array is given back as it is."""
    if to is not None:
        if copy:
            to.copy_to_device(obj, stream)
        target: DeviceNDArray = to
        return target
    if isinstance(obj, DeviceNDArray):
        return obj
    if is_cuda_array(obj):
        return as_cuda_array(obj)
    value = host_array(obj if isinstance(obj, np.ndarray) else np.array(obj), "to_device")
    if value.dtype.kind in "SU":
        raise TypeError("to_device: text cannot be copied to the device; arrays hold numbers")
    part = core(value)
    if not is_one_piece(part):
        raise ValueError(
            f"to_device: this array of shape {value.shape} is a view with gaps, and only one piece "
            "of memory can be copied. Pass np.ascontiguousarray(...) of it."
        )
    reserve(part.nbytes)
    if not copy:
        return device_array_like(value, stream)
    own = np.array(part, order="K", copy=True)  # type: ignore[call-overload]
    root = device_memory.new_root(flat(own))
    view = np.ndarray(value.shape, value.dtype, root.buf, 0, value.strides)
    tell_copy("h2d", stream, value, view)
    return DeviceNDArray.over(root, view, stream)


def flat(value: Any) -> Any:
    """The memory of a contiguous array as one dimension, in the order it lies there; a view."""
    return value.reshape(-1) if value.flags.c_contiguous else value.T.reshape(-1)


def device_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0
) -> DeviceNDArray:
    """An uninitialised device array; `strides` in bytes."""
    shape = extents(shape)
    dtype = np.dtype(dtype)
    device_memory.check_dtype(dtype)
    if order not in ("C", "F"):
        raise ValueError(f"order is {order!r}; it can be 'C' (last index fastest) or 'F'")
    if not strides:
        strides = packed_strides(shape, dtype.itemsize, order)
    elif any(step % dtype.itemsize for step in np.atleast_1d(strides)):
        raise NotImplementedError(f"strides have to be multiples of {dtype.itemsize} bytes here")
    return DeviceNDArray(shape, strides, dtype, stream)


def packed_strides(shape: tuple[int, ...], itemsize: int, order: str = "C") -> tuple[int, ...]:
    """Strides in bytes of an array without gaps."""
    strides, step = [], itemsize
    for n in reversed(shape) if order == "C" else shape:
        strides.append(step)
        step *= n
    return tuple(reversed(strides) if order == "C" else strides)


def device_array_like(ary: Any, stream: Any = 0) -> DeviceNDArray:
    """An uninitialised device array of the shape, dtype and order of `ary`."""
    return device_array(ary.shape, ary.dtype, strides_like(ary), order_like(ary), stream)


def order_like(ary: Any) -> str:
    """The order of a new array like this one."""
    return "F" if ary.flags["F_CONTIGUOUS"] and not ary.flags["C_CONTIGUOUS"] else "C"


def strides_like(ary: Any) -> tuple[int, ...] | None:
    """Strides of a new array without gaps whose axes lie in the same order; None for C and F."""
    if ary.flags["C_CONTIGUOUS"] or ary.flags["F_CONTIGUOUS"] or ary.ndim <= 1:
        return None
    strides, step = [0] * ary.ndim, ary.dtype.itemsize
    for axis in sorted(range(ary.ndim), key=lambda k: ary.strides[k]):
        strides[axis] = step
        step *= ary.shape[axis]
    return tuple(strides)


# -- host memory that the device reaches --------------------------------------------


class HostVisibleArray(np.ndarray):  # type: ignore[type-arg]
    """A NumPy array that kernels use in place."""

    root: Root | None = None
    stream: Any = 0

    def __array_finalize__(self, other: Any) -> None:
        self.root = getattr(other, "root", None)
        self.stream = getattr(other, "stream", 0)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """How libraries share device arrays; of a result of arithmetic there is none."""
        root = self.device_root()
        if root is None:
            raise AttributeError("this array has memory of its own, not the device's")
        return DeviceNDArray.over(root, self.view(np.ndarray), self.stream).__cuda_array_interface__

    def device_root(self) -> Root | None:
        """The allocation that this array lies in; None for a result that has memory of its own."""
        root = self.root
        if root is None or not np.may_share_memory(self, root.buf):
            return None
        return device_memory.typed(root, self.dtype, address_of(self) - address_of(root.buf))


class MappedNDArray(HostVisibleArray):
    """Host memory mapped into the device's addresses."""


class ManagedNDArray(HostVisibleArray):
    """Unified memory."""


def _host_array(
    shape: Any, dtype: Any, strides: Any, order: str, kind: type[Any] = np.ndarray, stream: Any = 0
) -> Any:
    """A host array with undefined contents."""
    made = device_array(shape, dtype, strides, order)
    made._root.init = None  # what the host stores into it is not watched
    array = made._view.view(kind)
    if kind is not np.ndarray:
        array.root, array.stream = made._root, stream
    return array


def pinned_array(shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C") -> Any:
    """A host array in pinned memory: on a GPU copies of it are fast and do not hold the host."""
    array = _host_array(shape, dtype, strides, order)
    pin_for_life(array)
    return array


def mapped_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0,
    portable: bool = False, wc: bool = False,
) -> Any:  # fmt: skip
    """A host array that kernels use directly."""
    return _host_array(shape, dtype, strides, order, MappedNDArray, stream)


def managed_array(
    shape: Any, dtype: Any = np.float64, strides: Any = None, order: str = "C", stream: Any = 0,
    attach_global: bool = True,
) -> Any:  # fmt: skip
    """Unified memory: an array both sides use."""
    return _host_array(shape, dtype, strides, order, ManagedNDArray, stream)


def pinned_array_like(ary: Any) -> Any:
    """A pinned array of the shape, dtype and order of `ary`."""
    return pinned_array(ary.shape, ary.dtype, strides_like(ary), order_like(ary))


def mapped_array_like(ary: Any, stream: Any = 0, portable: bool = False, wc: bool = False) -> Any:
    """A mapped array of the shape, dtype and order of `ary`."""
    return mapped_array(ary.shape, ary.dtype, strides_like(ary), order_like(ary), stream)


@contextmanager
def pinned(*arylist: Any) -> Iterator[None]:
    """The memory of these host arrays is pinned inside the `with` block."""
    places = [pin(host_array(ary, "pinned")) for ary in arylist]
    try:
        yield
    finally:
        for where in places:
            unpin(where)


@contextmanager
def mapped(*arylist: Any, stream: Any = 0) -> Iterator[Any]:
    """Device arrays over the memory of host arrays; one when one is given, else a list."""
    made = []
    for ary in arylist:
        if not (host_array(ary, "mapped").flags.c_contiguous or ary.flags.f_contiguous):
            raise ValueError("mapped: " + GAPS.format(what="the host array"))
        made.append(DeviceNDArray.over(device_memory.new_root(flat(ary)), ary, stream))
    yield made[0] if len(made) == 1 else made


# -- memory shared between libraries --------------------------------------------------


def is_cuda_array(obj: Any) -> bool:
    """True for device arrays and whatever else offers `__cuda_array_interface__`."""
    return hasattr(obj, "__cuda_array_interface__")


def as_cuda_array(obj: Any, sync: bool = True) -> DeviceNDArray:
    """A device array over the memory of an object that offers `__cuda_array_interface__`."""
    if isinstance(obj, DeviceNDArray):
        return obj
    if not is_cuda_array(obj):
        raise TypeError(
            f"*obj* doesn't implement the cuda array interface: it is a {type(obj).__name__}. "
            "Use cuda.to_device(obj) for memory of the host."
        )
    return from_cuda_array_interface(obj.__cuda_array_interface__, obj, sync)


def from_cuda_array_interface(desc: Any, owner: Any = None, sync: bool = True) -> DeviceNDArray:
    """The device array that a `__cuda_array_interface__` describes."""
    if desc.get("version", 0) >= 1 and desc.get("mask") is not None:
        raise NotImplementedError("Masked arrays are not supported: pass the mask as an array")
    shape, dtype = extents(desc["shape"]), np.dtype(desc["typestr"])
    strides = desc.get("strides")
    address = int(desc["data"][0] or 0)
    if 0 in shape or not address:
        return device_array(shape, dtype, strides)
    strides = strides or packed_strides(shape, dtype.itemsize)
    span = sum((n - 1) * abs(s) for n, s in zip(shape, strides, strict=True)) + dtype.itemsize
    found = device_memory.find(address, span)
    if found is None:
        raise ValueError(
            f"the address {address:#x} is not memory of the simulated device: an array of another "
            "GPU library needs a GPU. Bring it to the host, and use cuda.to_device."
        )
    stream: Any = external_stream(desc["stream"]) if desc.get("stream") else 0
    config = sys.modules.get("numba.cuda.core.config")
    if stream and sync and getattr(config, "CUDA_ARRAY_INTERFACE_SYNC", True):
        stream.synchronize()
    return DeviceNDArray(shape, strides, dtype, stream, found)
