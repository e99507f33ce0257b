"""What a launch passes: the type Numba sees and the value the generated program gets.

Host arrays are copied to the device and back, as Numba does it: the caller's memory changes only
after a launch that succeeded, and one array passed twice is two arrays on the device.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numba.core import types
from numba.core.types import CPointer  # type: ignore[attr-defined]

from . import named, pointers, typing
from .allocation import HostVisibleArray, as_cuda_array, flat, is_cuda_array
from .device_array import DeviceNDArray, reference
from .errors import LaunchError
from .records import RecordRoot, bytes_of, record_array
from .storage import poison
from .typing import ArrayType, NamedTupleType, NoSignature, TupleType, Type
from .values import ArrayRef, Root
from .views import retyped


class ArgumentHint:
    """How a host array goes to the device and back: the base of In, Out, InOut."""

    copied_in, copied_back = True, True

    def __init__(self, value: Any) -> None:
        self.value = value

    def __getattr__(self, name: str) -> Any:
        return getattr(self.value, name)  # shape, dtype: what a signature is compared with


class In(ArgumentHint):
    """A host array that is copied to the device only."""

    copied_back = False


class Out(ArgumentHint):
    """A host array that is copied back only; the kernel finds undefined values in it."""

    copied_in = False


class InOut(ArgumentHint):
    """A host array that is copied there and back, as without a hint."""


class Argument:
    """One bound argument: `kind` is its type, `value` what the program gets."""

    __slots__ = ("host", "kind", "name", "value")

    def __init__(self, name: str, kind: Type, value: Any, host: Any = None) -> None:
        self.name = name
        self.kind = kind
        self.value = value
        self.host = host  # the caller's array, written back when its root is dirty

    def arrays(self) -> Iterator[tuple[ArrayRef, Any]]:
        """The host arrays in it, each with its copy on the device."""
        if isinstance(self.value, ArrayRef):
            if self.host is not None:
                yield self.value, self.host
        elif isinstance(self.host, np.void):
            yield self.value[0], self.host
        elif isinstance(self.host, list):
            for inner in self.host:
                yield from inner.arrays()

    def retyped(self, wanted: Any) -> Argument:
        """An array as an explicit signature wants it: as other integers of the same size."""
        if not isinstance(self.kind, ArrayType) or wanted.dtype == self.kind.dtype:
            return self
        seen = retyped(self.value, typing.numpy_dtype(wanted.dtype), True, ("", ""), None)
        kind = ArrayType(wanted.dtype, self.kind.ndim, readonly=self.kind.readonly)
        return Argument(self.name, kind, seen, self.host)


def write_back(arguments: Sequence[Argument]) -> str:
    """Copy what the kernel stored into the caller's arrays; what to know about it, mostly nothing.

    Numba copies all host arrays back, the first argument first.  So where two of them share memory,
    the second one's copy replaces what the first one got.
    """
    pairs = [pair for argument in arguments for pair in argument.arrays()]
    lost = ""
    later = []
    for k, (ref, host) in enumerate(pairs):
        if not ref.root.dirty:
            continue
        for other, same in pairs[k + 1 :]:
            if host.size and np.may_share_memory(host, same):
                if not other.root.dirty:
                    later.append((other.root.buf.copy(), same))
                lost = lost or (
                    f"{ref.name} and {other.name} are the same memory on the host, but two copies "
                    f"on the device. Both are copied back, {ref.name} first, so the copy of "
                    f"{other.name} replaces what the kernel stored into {ref.name}.\n"
                    "  Pass one device array, d = cuda.to_device(array), for both."
                )
    for ref, host in pairs:
        if ref.root.dirty:
            memory_of(host)[...] = ref.root.buf
    for buf, host in later:
        memory_of(host)[...] = buf
    return lost


def bind(name: str, value: Any, wanted: Any = None) -> Argument:
    """Bind one argument of a launch; `wanted` is its type in an explicit signature."""
    if isinstance(wanted, CPointer):
        return Argument(name, typing.from_signature(wanted), pointers.bound(name, value, wanted))
    if isinstance(value, DeviceNDArray):
        if value.dtype.names and value.ndim == 0:  # a record on the device
            record = typing.RecordType(typing.numba_type(value.dtype), 0)
            return Argument(name, record, (value.reference(name), ()))
        array = ArrayType(typing.numba_type(value.dtype), value.ndim)
        return Argument(name, array, value.reference(name))
    if isinstance(value, ArgumentHint):
        return _bind_hint(name, value, wanted)
    if isinstance(value, np.ndarray):
        if isinstance(value, HostVisibleArray) and (root := value.device_root()) is not None:
            array = ArrayType(typing.numba_type(value.dtype), value.ndim)
            return Argument(name, array, reference(root, value, name))
        return _bind_host_array(name, value)
    if isinstance(value, np.void) and value.dtype.names:
        return _bind_record(name, value)
    if isinstance(value, tuple):
        inner = [bind(f"{name}[{k}]", item) for k, item in enumerate(value)]
        items = tuple(a.kind for a in inner)
        named_by = type(value) if named.is_class(type(value)) else None
        kind = NamedTupleType(items, named_by) if named_by else TupleType(items)
        return Argument(name, kind, tuple(a.value for a in inner), host=inner)
    if is_cuda_array(value):
        try:
            return bind(name, as_cuda_array(value))
        except (ValueError, TypeError, NotImplementedError) as error:
            raise LaunchError(f"argument {name}: {error}") from None
    try:
        if isinstance(value, enum.Enum):
            return Argument(name, *named.member_value(value))
        number = typing.type_of_constant(value)
    except NoSignature as error:
        raise LaunchError(f"argument {name}: {_refusal(value, str(error))}") from None
    if wanted is not None and typing.is_number(wanted):
        _check_scalar(name, value, number, wanted)
        with np.errstate(all="ignore"):
            scalar = np.asarray(value).astype(typing.numpy_dtype(wanted))[()]
        return Argument(name, wanted, scalar)
    return Argument(name, number, typing.numpy_dtype(number).type(value))


def _check_scalar(name: str, value: Any, kind: Type, wanted: Type) -> None:
    """An explicit signature converts a scalar, but loses no fraction and no imaginary part."""
    loses = typing.is_integer(wanted) and not isinstance(value, (int, np.integer, np.bool_))
    if loses or (kind in (types.complex64, types.complex128) and typing.is_float(wanted)):
        change = "int(...)" if typing.is_integer(wanted) and typing.is_float(kind) else ".real"
        raise LaunchError(
            f"argument {name}: got {value!r}, and the signature of the kernel says {wanted}. "
            f"Pass {change} of it, or change the signature."
        )


def _bind_hint(name: str, hint: ArgumentHint, wanted: Any) -> Argument:
    """A host array whose copies are said: In, Out, InOut."""
    argument = bind(name, hint.value, wanted)
    if argument.host is None or isinstance(argument.host, list):  # on the device already
        return argument
    reference = argument.value[0] if isinstance(argument.value, tuple) else argument.value
    root = reference.root
    if not hint.copied_in:
        root.writable()
        poison(root.buf)
        root.init = np.zeros(root.buf.size, np.bool_)
    if not hint.copied_back:
        argument.host = None
    return argument


def _refusal(value: Any, reason: str) -> str:
    kind = type(value).__name__
    if value is None:
        return "None cannot be passed to a kernel. Pass a number, or an array of size 0."
    if isinstance(value, (list, range)):
        return f"a {kind} cannot be passed to a kernel. Pass np.array(...) of it."
    module = type(value).__module__.split(".")[0]
    if module == "torch":
        return "a torch tensor on the CPU cannot be passed to a kernel. Pass tensor.numpy()."
    if hasattr(value, "to_numpy"):  # pandas, polars, ...
        return f"a {module}.{kind} cannot be passed to a kernel. Pass its .to_numpy()."
    if isinstance(value, (type, types.Type)):
        return "a type cannot be passed to a kernel. A kernel can use types that are global names."
    if hasattr(value, "__float__") and not isinstance(value, (int, float)):  # Fraction, longdouble
        return f"a {module}.{kind} cannot be passed to a kernel. Pass float(...) of it."
    if hasattr(value, "__array__"):
        return f"a {module}.{kind} cannot be passed to a kernel. Pass np.asarray(...) of it."
    if callable(value):
        return (
            f"the function {getattr(value, '__name__', kind)} cannot be passed to a kernel. "
            "A kernel can call functions under @cuda.jit(device=True) by their name."
        )
    if isinstance(value, (str, bytes, dict, set)):
        return f"a {kind} cannot be passed to a kernel; kernels take numbers and arrays."
    if isinstance(value, (int, float)):
        return reason
    named = kind if module == "builtins" else f"{module}.{kind}"
    article = "an" if named[0] in "aeiou" else "a"
    return f"{article} {named} cannot be passed to a kernel; kernels take numbers and arrays."


def _bind_host_array(name: str, value: Any) -> Argument:
    if isinstance(value, np.ma.MaskedArray):
        raise LaunchError(
            f"argument {name}: a masked array cannot be passed to a kernel, since its mask would "
            f"be lost. Pass {name}.filled(value), and {name}.mask as an array of its own."
        )
    if not value.dtype.isnative:
        raise LaunchError(
            f"argument {name}: the array's byte order is not this machine's. "
            f"Pass {name}.astype({name}.dtype.newbyteorder('='))."
        )
    try:
        dtype = typing.numba_type(value.dtype)
    except NoSignature:
        dtype = None
    if dtype is None or not typing.is_storable(dtype):
        what = f"strings ({value.dtype})" if value.dtype.kind in "SU" else str(value.dtype)
        raise LaunchError(
            f"argument {name}: an array of {what} cannot be passed to a kernel. "
            "Arrays hold bool, integers, floats of up to 64 bits, dates or records of these."
        )
    if not (value.flags.c_contiguous or value.flags.f_contiguous):
        raise LaunchError(
            f"argument {name}: this array of shape {value.shape} is a view with gaps, and only one "
            f"piece of memory can be copied to the device. Pass np.ascontiguousarray({name}), or "
            "slice a device array: cuda.to_device(whole)[...]."
        )
    ref = _reference(name, value, "global", copy_on_write=True)
    kind = ArrayType(dtype, value.ndim, readonly=not value.flags.writeable)
    return Argument(name, kind, ref, host=value)


def _bind_record(name: str, value: Any) -> Argument:
    """One record: the kernel gets a reference, and what it stores is copied back, as in Numba."""
    try:
        record = typing.numba_type(value.dtype)
    except NoSignature:
        raise LaunchError(
            f"argument {name}: a record of {value.dtype} cannot be passed to a kernel; fields are "
            "bool, integers, floats, dates, arrays or records of these."
        ) from None
    held = np.array(value)  # without dimensions
    root = RecordRoot(name, bytes_of(held), "global", value.dtype.itemsize)
    ref = record_array(root, name, (), ())
    return Argument(name, typing.RecordType(record, 0), (ref, ()), host=value)


def _reference(name: str, value: Any, space: str, **options: Any) -> ArrayRef:
    """A contiguous NumPy array as the kernel sees it; the memory is shared."""
    steps, memory = strides_of(value), memory_of(value)
    if value.dtype.names:
        unit = value.dtype.itemsize
        root = RecordRoot(name, memory, space, unit, **options)
        return record_array(root, name, value.shape, [unit * step for step in steps])
    shape = tuple(np.int64(n) for n in value.shape)
    return ArrayRef(Root(name, memory, space, **options), name, np.int64(0), shape, steps)


def memory_of(value: Any) -> Any:
    """The memory of an array, or of one record, in one dimension: elements, of records bytes."""
    if isinstance(value, np.void):
        return _RecordMemory(value)
    return bytes_of(value) if value.dtype.names else flat(value)


class _RecordMemory:
    """Takes the bytes of one record into a NumPy record, which may be a view into an array."""

    def __init__(self, record: Any) -> None:
        self._record = record

    def __setitem__(self, index: Any, memory: Any) -> None:
        (fresh,) = memory.view(self._record.dtype)
        for name in self._record.dtype.names:
            self._record[name] = fresh[name]


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
    if not typing.is_storable(dtype):
        raise NoSignature(f"an array of {value.dtype} cannot be a constant of a kernel")
    ref = _reference(name, np.array(value, order="C"), "const")
    return ref, ArrayType(dtype, value.ndim, readonly=True)
