"""Device memory: pieces of the host's memory that play the device's.

Glossary
    Root     one allocation, a flat buffer of one dtype (values.py)
    Memory   a part of one in bytes, with its address; Numba calls it `gpu_data`
"""

from __future__ import annotations

import ctypes
import weakref
from typing import Any

import numpy as np

from .capacity import reserve
from .storage import poison
from .values import Root

_LIVE: weakref.WeakSet[Root] = weakref.WeakSet()


class Memory:
    """A piece of device memory: `size` bytes from byte `offset` of an allocation."""

    def __init__(self, root: Root, offset: int, size: int) -> None:
        self.root = root
        self.offset = offset
        self.size = size

    @property
    def address(self) -> int:
        """Where it starts, as a number; 0 when it is empty."""
        return address_of(self.root.buf) + self.offset if self.size else 0

    handle = device_pointer = address

    @property
    def device_ctypes_pointer(self) -> ctypes.c_void_p:
        """The address as ctypes has it."""
        return ctypes.c_void_p(self.address)

    def __int__(self) -> int:
        return self.address

    def view(self, start: int, stop: int | None = None) -> Memory:
        """Bytes start to stop of this piece."""
        return Memory(self.root, self.offset + start, (self.size if stop is None else stop) - start)


def address_of(array: Any) -> int:
    """The address of a NumPy array's first element."""
    return int(array.__array_interface__["data"][0])


def new_root(buf: Any, name: str = "device array") -> Root:
    """Device memory that holds a flat host array; the array itself, not a copy."""
    root = Root(name, buf, "global")
    _LIVE.add(root)
    return root


def undefined(count: int, dtype: np.dtype[Any]) -> Root:
    """New device memory of `count` elements.  What it holds is undefined on a GPU: here it is a
    pattern that nobody should rely on."""
    check_dtype(dtype)
    reserve(count * dtype.itemsize)
    root = new_root(np.empty(count, dtype))
    poison(root.buf)
    root.init = np.zeros(count, np.bool_)
    return root


def check_dtype(dtype: np.dtype[Any]) -> None:
    """TypeError for elements that device memory cannot hold."""
    if dtype.hasobject:
        raise TypeError(
            "device memory cannot hold Python objects (dtype object). Convert the array first, for "
            "example x.astype(np.float64)."
        )
    if not dtype.isnative:
        raise TypeError(
            f"dtype {dtype} has not this machine's byte order, which kernels cannot read. "
            "Convert the array first: x.astype(x.dtype.newbyteorder('='))."
        )


def typed(root: Root, dtype: np.dtype[Any], start: int) -> Root:
    """The allocation as elements of another dtype, one of which starts at byte `start`."""
    if root.buf.dtype == dtype:
        return root
    at = address_of(root.buf)
    for other in _LIVE:
        if other.buf.dtype == dtype and address_of(other.buf) == at:
            return other
    if start % min(dtype.itemsize, 16) and not dtype.fields:
        raise ValueError(
            f"this view of {dtype} starts at byte {start} of its memory, which is no multiple of "
            f"{dtype.itemsize}: a GPU reads aligned elements only."
        )
    raw = root.buf.view(np.uint8)
    return new_root(raw[: raw.size // dtype.itemsize * dtype.itemsize].view(dtype), root.name)


def find(address: int, size: int) -> Memory | None:
    """The device memory at this address, if it is the simulator's."""
    for root in _LIVE:
        offset = address - address_of(root.buf)
        if offset >= 0 and offset + size <= root.buf.nbytes:
            return Memory(root, offset, size)
    return None
