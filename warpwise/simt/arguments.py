"""What a launch passes: the type Numba sees and the value the generated program gets.

Host arrays are copied to the device and back, as Numba does it: the caller's memory changes only
after a launch that succeeded, and one array passed twice is two arrays on the device.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from . import typing
from .device_array import DeviceNDArray
from .errors import LaunchError
from .typing import STATIC, ArrayType, NoSignature, TupleType, Type
from .values import ArrayRef, Root


class Argument:
    """One bound argument: `kind` is its type, `value` what the program gets."""

    __slots__ = ("host", "kind", "name", "value")

    def __init__(self, name: str, kind: Type, value: Any, host: Any = None) -> None:
        self.name = name
        self.kind = kind
        self.value = value
        self.host = host  # the caller's array, written back when its root is dirty

    def write_back(self) -> None:
        """Copy what the kernel stored into the caller's array."""
        for ref, host in self._pairs():
            if ref.root.dirty:
                flat(host)[...] = ref.root.buf

    def _pairs(self) -> Iterator[tuple[ArrayRef, Any]]:
        if isinstance(self.value, ArrayRef):
            if self.host is not None:
                yield self.value, self.host
        elif isinstance(self.host, list):
            for inner in self.host:
                yield from inner._pairs()


def bind(name: str, value: Any, wanted: Any = None) -> Argument:
    """Bind one argument of a launch; `wanted` is its type in an explicit signature."""
    if isinstance(value, DeviceNDArray):
        array = ArrayType(typing.numba_type(value.dtype), value.ndim)
        return Argument(name, array, value.reference(name))
    if isinstance(value, np.ndarray):
        return _bind_host_array(name, value)
    if isinstance(value, tuple):
        inner = [bind(f"{name}[{k}]", item) for k, item in enumerate(value)]
        kind = TupleType(tuple(a.kind for a in inner))
        return Argument(name, kind, tuple(a.value for a in inner), host=inner)
    if value is None:
        return Argument(name, STATIC, None)
    try:
        number = typing.type_of_constant(value)
    except NoSignature as error:
        raise LaunchError(f"argument {name}: {_refusal(value, str(error))}") from None
    if wanted is not None and typing.is_number(wanted):
        with np.errstate(all="ignore"):
            scalar = np.asarray(value).astype(typing.numpy_dtype(wanted))[()]
        return Argument(name, wanted, scalar)
    return Argument(name, number, typing.numpy_dtype(number).type(value))


def _refusal(value: Any, reason: str) -> str:
    kind = type(value).__name__
    if isinstance(value, (list, range)):
        return f"a {kind} cannot be passed to a kernel. Pass np.array(...) of it."
    module = type(value).__module__.split(".")[0]
    if module == "torch":
        return "a torch tensor on the CPU cannot be passed to a kernel. Pass tensor.numpy()."
    if isinstance(value, (str, bytes, dict, set)):
        return f"a {kind} cannot be passed to a kernel; kernels take numbers and arrays."
    if isinstance(value, (int, float)):
        return reason
    return f"a {module}.{kind} cannot be passed to a kernel; kernels take numbers and arrays."


def _bind_host_array(name: str, value: Any) -> Argument:
    try:
        dtype = typing.numba_type(value.dtype)
    except NoSignature:
        dtype = None
    if dtype is None or not typing.is_number(dtype):
        raise LaunchError(
            f"argument {name}: an array of {value.dtype} cannot be passed to a kernel. "
            "Arrays hold bool, integers or floats of up to 64 bits."
        )
    if not (value.flags.c_contiguous or value.flags.f_contiguous):
        raise LaunchError(
            f"argument {name}: this array of shape {value.shape} is a view with gaps, and only one "
            f"piece of memory can be copied to the device. Pass np.ascontiguousarray({name}), or "
            "slice a device array: cuda.to_device(whole)[...]."
        )
    if not value.dtype.isnative:
        raise LaunchError(f"argument {name}: the array's byte order is not this machine's.")
    root = Root(name, flat(value), "global", copy_on_write=True)
    ref = ArrayRef(root, name, np.int64(0), _shape(value), strides_of(value))
    kind = ArrayType(dtype, value.ndim, readonly=not value.flags.writeable)
    return Argument(name, kind, ref, host=value)


def _shape(value: Any) -> tuple[Any, ...]:
    return tuple(np.int64(n) for n in value.shape)


def flat(value: Any) -> Any:
    """The array's memory as one dimension, in the order it lies there; a view."""
    return value.reshape(-1) if value.flags.c_contiguous else value.T.reshape(-1)


def strides_of(value: Any) -> tuple[int, ...]:
    """Strides in elements of a contiguous array."""
    c_order = value.flags.c_contiguous
    strides, step = [], 1
    for n in reversed(value.shape) if c_order else value.shape:
        strides.append(step)
        step *= n
    return tuple(reversed(strides)) if c_order else tuple(strides)


def constant_array(name: str, value: Any) -> tuple[ArrayRef, ArrayType]:
    """A global NumPy array, frozen into the kernel; it can be read only."""
    dtype = typing.numba_type(value.dtype)
    if not typing.is_number(dtype):
        raise NoSignature(f"an array of {value.dtype} cannot be a constant of a kernel")
    frozen = np.array(value, order="C")
    root = Root(name, frozen.reshape(-1), "const")
    ref = ArrayRef(root, name, np.int64(0), _shape(frozen), strides_of(frozen))
    return ref, ArrayType(dtype, value.ndim, readonly=True)
