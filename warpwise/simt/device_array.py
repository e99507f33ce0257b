"""Device arrays: memory that kernels share between launches.

`copy_to_host` is the way back, as on a GPU.  Basic slices, reshape and ravel give views.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .storage import poison
from .values import ArrayRef, Root


class DeviceNDArray:
    """An array on the simulated device: `shape`, `dtype`, `strides` (bytes), `size`, `ndim`."""

    def __init__(self, root: Root, view: Any) -> None:
        self._root = root
        self._view = view  # NumPy's arithmetic on views serves us, too

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
        return int(self._view.nbytes)

    alloc_size = nbytes

    @property
    def flags(self) -> Any:
        """NumPy's flags of the view: c_contiguous, f_contiguous, ..."""
        return self._view.flags

    @property
    def T(self) -> DeviceNDArray:
        return DeviceNDArray(self._root, self._view.T)

    def __len__(self) -> int:
        return len(self._view)

    def copy_to_host(self, ary: Any = None, stream: Any = 0) -> Any:
        """A host copy, or the copy into `ary` (same shape and dtype)."""
        if ary is None:
            return self._view.copy()
        if ary.shape != self.shape or ary.dtype != self.dtype:
            raise ValueError(
                f"copy_to_host: the host array is {ary.dtype}{list(ary.shape)}, the device array "
                f"{self.dtype}{list(self.shape)}"
            )
        ary[...] = self._view
        return ary

    def copy_to_device(self, ary: Any, stream: Any = 0) -> None:
        """Overwrite this device array with a host or device array of the same shape."""
        self._root.init = None
        source = ary._view if isinstance(ary, DeviceNDArray) else np.asarray(ary)
        if source.shape != self.shape:
            raise ValueError(
                f"copy_to_device: got shape {source.shape}, the device array has {self.shape}"
            )
        self._view[...] = source

    def __getitem__(self, index: Any) -> Any:
        got = self._view[index]
        if not isinstance(got, np.ndarray) or got.ndim == 0:
            return got[()]
        if not np.shares_memory(got, self._view) and got.size:
            raise TypeError("a device array can be indexed with integers and slices only")
        return DeviceNDArray(self._root, got)

    def __setitem__(self, index: Any, value: Any) -> None:
        self._root.init = None  # part of it at least; the sanitizer stays quiet
        self._view[index] = value._view if isinstance(value, DeviceNDArray) else value

    def setitem(self, index: Any, value: Any, stream: Any = 0) -> None:
        self[index] = value

    def getitem(self, index: Any, stream: Any = 0) -> Any:
        return self[index]

    def reshape(self, *shape: Any, order: str = "C") -> DeviceNDArray:
        """The same memory in another shape; ValueError when that needs a copy."""
        view = self._view.reshape(*shape, order=order)
        if self.size and not np.shares_memory(view, self._view):
            raise ValueError("reshape of this view needs a copy")
        return DeviceNDArray(self._root, view)

    def ravel(self, order: str = "C", stream: Any = 0) -> DeviceNDArray:
        return self.reshape(-1, order=order)

    def view(self, dtype: Any) -> DeviceNDArray:
        """The same bytes as another dtype."""
        other = self._view.view(dtype)
        item = other.dtype.itemsize
        base = self._root.buf.__array_interface__["data"][0]
        start = other.__array_interface__["data"][0] - base
        if start % item or self._root.buf.nbytes % item:
            raise ValueError(f"this view of {other.dtype} would not be aligned to its size")
        root = Root(self._root.name, self._root.buf.view(dtype), "global")
        return DeviceNDArray(root, other)

    def is_c_contiguous(self) -> bool:
        return bool(self._view.flags.c_contiguous)

    def is_f_contiguous(self) -> bool:
        return bool(self._view.flags.f_contiguous)

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TypeError("this array is on the device; call .copy_to_host() first")

    def __repr__(self) -> str:
        return f"<DeviceNDArray {self.dtype}{list(self.shape)} on the simulator>"

    def reference(self, name: str) -> ArrayRef:
        """The view a kernel gets."""
        item = self.dtype.itemsize
        base = self._root.buf.__array_interface__["data"][0]
        offset = (self._view.__array_interface__["data"][0] - base) // item if self.size else 0
        return ArrayRef(
            self._root, name, np.int64(offset), tuple(np.int64(n) for n in self.shape),
            tuple(s // item for s in self.strides),
        )  # fmt: skip


def from_host(value: Any) -> DeviceNDArray:
    """Copy a host array to the device; C or Fortran order is kept."""
    value = np.asarray(value)
    if not (value.flags.c_contiguous or value.flags.f_contiguous):
        raise ValueError(
            f"to_device: this array of shape {value.shape} is a view with gaps, and only one piece "
            "of memory can be copied. Pass np.ascontiguousarray(...) of it."
        )
    order = "F" if value.flags.f_contiguous and not value.flags.c_contiguous else "C"
    copy = np.array(value, order=order)  # type: ignore[call-overload]
    buf = copy.reshape(-1) if order == "C" else copy.T.reshape(-1)
    return DeviceNDArray(Root("device array", buf, "global"), copy)


def allocate(shape: Any, dtype: Any, order: str = "C") -> DeviceNDArray:
    """Device memory with undefined contents: filled with a pattern, so that nobody relies on 0."""
    empty = np.empty(shape, dtype, order=order)  # type: ignore[call-overload]
    buf = empty.reshape(-1) if order == "C" else empty.T.reshape(-1)
    poison(buf)
    root = Root("device array", buf, "global")
    root.init = np.zeros(buf.size, np.bool_)
    return DeviceNDArray(root, empty)
