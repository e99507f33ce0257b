"""Device arrays: memory that kernels share between launches.

`copy_to_host` is the way back, as on a GPU.  Basic slices, reshape and ravel give views; what Numba
would have to copy for is refused, as Numba refuses it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from . import device_memory
from .device_memory import Memory, address_of
from .host_log import listening, place, tell, tell_copy
from .records import records_of
from .transfers import GAPS, check_same, host_array, is_one_piece
from .values import ArrayRef, Root


class DeviceNDArray:
    """An array on the simulated device: `shape`, `dtype`, `strides` (bytes), `size`, `ndim`."""

    __cuda_memory__ = True
    __cuda_ndarray__ = True

    def __init__(
        self, shape: Any, strides: Any, dtype: Any, stream: Any = 0, gpu_data: Any = None
    ) -> None:
        shape = extents(shape)
        dtype = np.dtype(dtype)
        strides = (strides,) if isinstance(strides, int) else tuple(strides)
        if len(strides) != len(shape):
            raise ValueError(f"there are {len(strides)} strides for {len(shape)} dimensions")
        if gpu_data is None:
            count = -(-_extent(shape, strides, dtype.itemsize) // max(1, dtype.itemsize))
            gpu_data = Memory(device_memory.undefined(count, dtype), 0, count * dtype.itemsize)
        root = gpu_data.root
        self._view = np.ndarray(
            shape, dtype, root.buf.view(np.uint8), gpu_data.offset, strides or None
        )
        self._root = device_memory.typed(root, dtype, gpu_data.offset)
        self.stream = stream

    @classmethod
    def over(cls, root: Root, view: Any, stream: Any = 0) -> DeviceNDArray:
        """The device array for a NumPy view of an allocation."""
        made = cls.__new__(cls)
        made._root, made._view, made.stream = root, view, stream
        return made

    # -- what it is ------------------------------------------------------------

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self._view.shape)

    @property
    def dtype(self) -> Any:
        return self._view.dtype

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(self._view.strides)

    @property
    def size(self) -> int:
        return int(self._view.size)

    @property
    def ndim(self) -> int:
        return int(self._view.ndim)

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return int(self._view.nbytes)

    @property
    def alloc_size(self) -> int:
        """Bytes from the first element to the last, gaps included."""
        return _extent(self.shape, self.strides, self.dtype.itemsize)

    @property
    def flags(self) -> dict[str, bool]:
        """C_CONTIGUOUS and F_CONTIGUOUS."""
        flags = self._view.flags
        repeated = self.size and 0 in self.strides
        return {
            "C_CONTIGUOUS": bool(flags.c_contiguous and not repeated),
            "F_CONTIGUOUS": bool(flags.f_contiguous and not repeated),
        }

    def is_c_contiguous(self) -> bool:
        """True when the last index runs fastest and there are no gaps."""
        return self.flags["C_CONTIGUOUS"]

    def is_f_contiguous(self) -> bool:
        """True when the first index runs fastest and there are no gaps."""
        return self.flags["F_CONTIGUOUS"]

    @property
    def gpu_data(self) -> Memory:
        """The memory of its elements, from the first one on."""
        at = address_of(self._view) - address_of(self._root.buf) if self.size else 0
        return Memory(self._root, at, self.alloc_size)

    @property
    def device_ctypes_pointer(self) -> Any:
        """The address of the memory, as ctypes has it."""
        return self.gpu_data.device_ctypes_pointer

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """How libraries share device arrays; the address is of the host's memory here."""
        return {
            "shape": self.shape,
            "strides": None if self.is_c_contiguous() else self.strides,
            "data": (address_of(self._view) if self.size else 0, False),
            "typestr": self.dtype.str,
            "stream": getattr(self.stream, "handle", None) or None,
            "version": 3,
        }

    @property
    def _numba_type_(self) -> Any:
        from numba.core import types

        from .typing import numba_type

        flags = self.flags
        layout: Any = "C" if flags["C_CONTIGUOUS"] else "F" if flags["F_CONTIGUOUS"] else "A"
        return types.Array(numba_type(self.dtype), self.ndim, layout)

    def __len__(self) -> int:
        return len(self._view)

    def __repr__(self) -> str:
        return f"<DeviceNDArray {self.dtype}{list(self.shape)} on the simulator>"

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and hasattr(np.ndarray, name):
            raise AttributeError(
                f"a device array has no {name}: copy it to the host first, "
                f"array.copy_to_host().{name}, or compute it in a kernel"
            )
        raise AttributeError(f"a device array has no {name}")

    # -- copies ----------------------------------------------------------------

    def copy_to_host(self, ary: Any = None, stream: Any = 0) -> Any:
        """A host copy of the same strides, or the copy into `ary`: an array of the same shape,
        dtype and strides.  Gives the host array."""
        if any(step < 0 for step in self.strides):
            raise NotImplementedError(
                f"D->H copy not implemented for negative strides: {self.strides}. This view runs "
                "backwards: copy the whole array, and reverse the copy on the host."
            )
        if ary is None:
            count = self.alloc_size
            raw = np.zeros(count, np.uint8)
            host = np.ndarray(self.shape, self.dtype, raw, 0, self.strides if count else None)
            host[...] = self._view
            tell_copy("d2h", stream or self.stream, host, self._view)
            return host
        host_array(ary, "copy_to_host")
        if not (ary.flags.c_contiguous or ary.flags.f_contiguous):
            raise ValueError("copy_to_host: " + GAPS.format(what="the host array"))
        check_same("copy_to_host", self, ary, "host")
        ary.reshape(self.shape, order="A")[...] = self._view
        tell_copy("d2h", stream or self.stream, ary, self._view)
        return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Overwrite this device array with a host or device array of its shape and dtype."""
        if not isinstance(ary, DeviceNDArray):
            host_array(ary, "copy_to_device")
        if ary.size == 0 and self.size == 0:
            return
        if not is_one_piece(self._view):
            raise ValueError("copy_to_device: " + GAPS.format(what="the device array"))
        if isinstance(ary, DeviceNDArray):
            source = ary._view
            if not is_one_piece(source):
                raise ValueError("copy_to_device: " + GAPS.format(what="the device array given"))
            check_same("copy_to_device", self, ary, "other")
        else:
            source = np.array(ary, order="C" if self._view.flags.c_contiguous else "F", copy=None)  # type: ignore[call-overload]
            check_same("copy_to_device", self, source, "host", strides=False)
        self._view[...] = source.reshape(self.shape)
        self._defined(self._view)
        if isinstance(ary, DeviceNDArray):
            tell("d2d", stream or self.stream, reads=(place(source),), writes=(place(self._view),))
        else:
            tell_copy("h2d", stream or self.stream, source, self._view)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """What np.asarray(array) gives: a copy on the host."""
        if copy is False:
            raise ValueError(
                "`copy=False` is not possible: the array is on the device, and NumPy gets a copy"
            )
        host = self.copy_to_host()
        return host if dtype is None else host.astype(dtype)

    # -- elements and views ------------------------------------------------------

    def __getitem__(self, index: Any) -> Any:
        """An element as a NumPy scalar, or a view."""
        got = self._view[_index(index)]
        if not isinstance(got, np.ndarray):
            if listening():
                part = self._view[(*_parts(index), Ellipsis)]
                tell("d2h", self.stream, reads=(place(part),))
            return got
        return DeviceNDArray.over(self._root, got, self.stream)

    def getitem(self, index: Any, stream: Any = 0) -> Any:
        """array[index]"""
        return self[index]

    def __setitem__(self, index: Any, value: Any) -> None:
        """Store a number, or an array that can be broadcast."""
        parts = _parts(index)
        target = self._view[parts if Ellipsis in parts else (*parts, Ellipsis)]  # 0-d for elements
        source = value._view if isinstance(value, DeviceNDArray) else np.asarray(value)
        if source.dtype.kind == "c" and target.dtype.kind != "c":
            raise TypeError(f"complex values cannot be stored into an array of {target.dtype}")
        if source.dtype.kind in "OSU" and target.dtype.kind not in "SU":
            raise TypeError(f"{value!r} cannot be stored into a device array of {target.dtype}")
        if source.ndim > target.ndim:
            raise ValueError(f"Can't assign {source.ndim}-D array to {target.ndim}-D self")
        lead = target.ndim - source.ndim
        for axis, (n, m) in enumerate(zip(target.shape[lead:], source.shape, strict=True), lead):
            if m not in (1, n):
                raise ValueError(
                    f"Can't copy sequence with size {m} to array axis {axis} with dimension {n}"
                )
        with np.errstate(all="ignore"):
            target[...] = source
        self._defined(target)
        if isinstance(value, DeviceNDArray):
            tell("d2d", self.stream, reads=(place(source),), writes=(place(target),))
        else:
            tell_copy("h2d", self.stream, source, target)

    def setitem(self, index: Any, value: Any, stream: Any = 0) -> None:
        """array[index] = value"""
        self[index] = value

    def _defined(self, view: Any) -> None:
        """What the host stored holds a value from now on."""
        init, item = self._root.init, self._root.buf.dtype.itemsize
        if init is None or not view.size:
            return
        start = (address_of(view) - address_of(self._root.buf)) // item
        steps = tuple(step // item for step in view.strides)
        np.lib.stride_tricks.as_strided(init[start:], view.shape, steps)[...] = True
        if self._root.records is not None:
            self._root.records.define(init)

    def reshape(self, *shape: Any, order: str = "C") -> DeviceNDArray:
        """The same memory in another shape; NotImplementedError when that needs a copy."""
        view = self._view.reshape(*shape, order=order)  # type: ignore[call-overload]
        if self.size and not np.shares_memory(view, self._view):
            raise NotImplementedError(
                f"reshape to {view.shape}: operation requires copying, since the elements do not "
                "lie in that order. Copy the array to the host and back."
            )
        return DeviceNDArray.over(self._root, view, self.stream)

    def ravel(self, order: str = "C", stream: Any = 0) -> DeviceNDArray:
        """The same memory as one dimension; of an array without gaps, in the order it lies."""
        fits = (order in "CA" and self.is_c_contiguous()) or (
            order in "FA" and self.is_f_contiguous()
        )
        if not fits:
            raise NotImplementedError(
                f"ravel of an array with strides {self.strides} in order {order!r}: operation "
                "requires copying. Copy the array to the host and back."
            )
        flat = self._view.reshape(-1, order="C" if self._view.flags.c_contiguous else "F")
        return DeviceNDArray.over(self._root, flat, self.stream)

    def squeeze(self, axis: Any = None, stream: Any = 0) -> DeviceNDArray:
        """Without axes of size one."""
        return DeviceNDArray.over(self._root, self._view.squeeze(axis), stream or self.stream)

    def view(self, dtype: Any) -> DeviceNDArray:
        """The same bytes as another dtype."""
        other = self._view.view(dtype)
        device_memory.check_dtype(other.dtype)
        start = address_of(other) - address_of(self._root.buf) if self.size else 0
        root = device_memory.typed(self._root, other.dtype, start)
        return DeviceNDArray.over(root, other, self.stream)

    @property
    def T(self) -> DeviceNDArray:
        """The transpose of a matrix: a copy, as in Numba."""
        return self.transpose()

    def transpose(self, axes: Any = None) -> DeviceNDArray:
        """The transpose of a matrix: a new array on the device, as in Numba."""
        if axes is not None and tuple(axes) == tuple(range(self.ndim)):
            return self
        if self.ndim != 2:
            raise NotImplementedError("transposing a non-2D DeviceNDArray isn't supported")
        if axes is not None and sorted(axes) != [0, 1]:
            raise ValueError(f"invalid axes list {axes!r}")
        turned = np.array(self._view.T, order="C")
        return DeviceNDArray.over(device_memory.new_root(turned.reshape(-1)), turned, self.stream)

    def split(self, section: int, stream: Any = 0) -> Iterator[DeviceNDArray]:
        """Views of `section` elements each; the last one may be shorter."""
        if self.ndim != 1:
            raise ValueError("split: only support 1d array")
        if self.strides[0] != self.dtype.itemsize:
            raise ValueError("split: only support unit stride")
        for start in range(0, self.size, section):
            yield self[start : start + section]

    def bind(self, stream: Any = 0) -> DeviceNDArray:
        """The same array, with a stream of its own."""
        clone = copy.copy(self)
        clone.stream = stream
        return clone

    def get_ipc_handle(self) -> Any:
        """Refused: other processes cannot see this memory."""
        raise NotImplementedError(
            "get_ipc_handle needs a GPU. Between processes, send array.copy_to_host()."
        )

    def reference(self, name: str) -> ArrayRef:
        """The view a kernel gets."""
        return reference(self._root, self._view, name)


def reference(root: Root, view: Any, name: str) -> ArrayRef:
    """A NumPy view of an allocation as a kernel gets it."""
    item = view.dtype.itemsize
    if view.dtype.names:  # records lie in bytes
        item, root = 1, records_of(root)
    offset = (address_of(view) - address_of(root.buf)) // item if view.size else 0
    return ArrayRef(
        root, name, np.int64(offset), tuple(np.int64(n) for n in view.shape),
        tuple(s // item for s in view.strides),
    )  # fmt: skip


def extents(shape: Any) -> tuple[int, ...]:
    """The shape of an array as a tuple; TypeError for what is no integer."""
    if isinstance(shape, np.ndarray):
        shape = tuple(shape.reshape(-1).tolist())
    parts = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    for n in parts:
        if isinstance(n, (bool, np.bool_)) or not hasattr(n, "__index__"):
            raise TypeError(
                f"a shape is made of integers, got {n!r}"
                + (". A division with / gives a float: use //." if isinstance(n, float) else "")
            )
        if n < 0:
            raise ValueError(f"a shape has no negative sizes, got {parts}")
    return tuple(int(n) for n in parts)


def _extent(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> int:
    """Bytes from the first element to the last."""
    if 0 in shape:
        return 0
    return sum((n - 1) * abs(s) for n, s in zip(shape, strides, strict=True)) + itemsize


def _parts(index: Any) -> tuple[Any, ...]:
    """An index as a tuple, checked."""
    return _index(index) if isinstance(index, tuple) else (_index(index),)


def _index(index: Any) -> Any:
    """Integers, slices and ... only, as in Numba."""
    for part in index if isinstance(index, tuple) else (index,):
        plain = isinstance(part, slice) or part is Ellipsis or hasattr(part, "__index__")
        if not plain or isinstance(part, (bool, np.bool_, np.ndarray)):
            raise TypeError(
                "a device array is indexed with integers and slices only; "
                "for a mask or a list of indices, copy it to the host or write a kernel"
            )
    return index
