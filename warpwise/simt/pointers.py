"""Pointers: what `types.CPointer` in a signature makes of an address that a launch passes.

A pointer has elements and nothing else: no shape, no length.  `carray(p, shape)` and
`farray(p, shape)` make an array of it.  Here a pointer knows how far its memory goes, so that an
element beyond is reported.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core import types

from . import device_memory, typing
from .errors import LaunchError, TypingError
from .program import Val, describe
from .typing import ArrayType, PointerType, TupleType
from .values import ArrayRef

if TYPE_CHECKING:
    from .expressions import Expressions


def bound(name: str, value: Any, wanted: Any) -> ArrayRef:
    """The elements from an address of device memory to the end of that memory."""
    address = getattr(value, "value", value)  # ctypes.c_void_p, or a number
    if isinstance(address, bool) or not hasattr(address, "__index__"):
        raise LaunchError(
            f"argument {name}: the signature says {wanted}, so it takes an address, got "
            f'{type(value).__name__}. Pass array.__cuda_array_interface__["data"][0].'
        )
    found = device_memory.find(int(address), 1)
    if found is None:
        raise LaunchError(
            f"argument {name}: {int(address):#x} is no address of the simulated device's memory. "
            'Pass array.__cuda_array_interface__["data"][0] of a device array that is still alive.'
        )
    dtype = typing.numpy_dtype(wanted.dtype)
    if found.offset % dtype.itemsize:
        raise LaunchError(
            f"argument {name}: {int(address):#x} is no multiple of {dtype.itemsize}, and a GPU "
            f"reads {dtype} at such addresses only."
        )
    root, first = (
        device_memory.typed(found.root, dtype, found.offset),
        found.offset // dtype.itemsize,
    )
    return ArrayRef(root, name, np.int64(first), (np.int64(root.buf.size - first),), (1,))


def element(fl: Expressions, node: ast.Subscript, pointer: Val) -> tuple[Val, list[Val]]:
    """The memory of a pointer as an array, and the index of `pointer[k]` in it."""
    label, kind = ast.unparse(node.value), pointer.type
    index = None if isinstance(node.slice, ast.Slice) else fl.expression(node.slice)
    if index is None or not typing.is_integer(index.type):
        fl.fail(TypingError, node, f"{label} is a pointer, and is indexed with one integer",
                f"Make an array of it: carray({label}, shape).")  # fmt: skip
    # Nothing wraps: an element before the pointer has no place in this memory.
    return Val(pointer.code, ArrayType(kind.dtype, 1)), [fl.cast(index, types.uint64, node)]


def is_maker(called: Any) -> bool:
    """Whether it is carray or farray, Numba's or numba-cuda's."""
    name = getattr(called, "__name__", "")
    where = getattr(called, "__module__", "") or ""
    return name in ("carray", "farray") and where.endswith("np.numpy_support")


def lower_maker(fl: Expressions, node: ast.Call, called: Any) -> Val:
    """carray(pointer, shape, dtype=None) and farray: an array of the pointer's memory."""
    from .functions import arguments_of, keywords_of
    from .intrinsics import number_type

    name, args, named = called.__name__, arguments_of(fl, node), keywords_of(fl, node)
    for parameter in ("ptr", "shape", "dtype")[len(args) :]:
        if parameter in named:
            args.append(named.pop(parameter))
    if named or not 2 <= len(args) <= 3:
        fl.fail(TypingError, node, f"{name} takes a pointer, a shape and a type")
    pointer, shape = args[:2]
    if not isinstance(pointer.type, PointerType):
        fl.fail(TypingError, node, f"{name} takes a pointer first, not {describe(pointer.type)}",
                "A signature says that an argument is one: types.CPointer(float32).")  # fmt: skip
    kind: PointerType = pointer.type
    if len(args) == 3 and args[2].const is not None:
        given = number_type(fl, node, name, args[2])
        if given != kind.dtype:
            fl.fail(TypingError, node, f"{name} of {given} does not fit a pointer to {kind.dtype}")
    sizes = fl.items(shape) if isinstance(shape.type, TupleType) else [shape]
    for size in sizes:
        if not typing.is_integer(size.type):
            fl.fail(TypingError, node, f"a shape is made of integers, not {describe(size.type)}")
    codes = "".join(f"{fl.cast(size, types.int64, node).code}, " for size in sizes)
    out = fl.temporary("view")
    fl.emit(
        f"{out} = pointed({pointer.code}, ({codes}), {name == 'farray'}, {fl.mask}, "
        f"{fl.where(node)})"
    )
    return Val(out, ArrayType(kind.dtype, len(sizes)))
