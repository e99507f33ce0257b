"""Lowering of attributes: `x.shape`, `cuda.threadIdx.x`, `record.field`."""

from __future__ import annotations

import ast
import difflib
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from numba.core import types

from . import arithmetic, iterators, named, objects, overloads, structures, typing, vectors
from .array_methods import METHODS, Method
from .errors import TypingError, UnsupportedError
from .program import Val, describe
from .refusals import alternative
from .symbols import Symbol, is_cuda_module
from .typing import STATIC, ArrayType, NamedTupleType, PointerType, RecordType, TupleType

if TYPE_CHECKING:
    from .expressions import Expressions


AXES = ("x", "y", "z")
BOUNDS = ("start", "stop", "step")


def lower_attribute(fl: Expressions, node: ast.Attribute) -> Val:
    value = fl.expression(node.value)
    if isinstance(value.type, ArrayType):
        return array_attribute(fl, value, node)
    if isinstance(value.type, PointerType):
        fl.fail(TypingError, node, f"a pointer has no .{node.attr}", "Pass the number of elements, "
                f"or make an array: carray({ast.unparse(node.value)}, shape).")  # fmt: skip
    if isinstance(value.type, RecordType):
        return structures.read(fl, value, node.attr, node)
    if isinstance(value.type, NamedTupleType):
        return named.item(fl, value, node.attr, node)
    if typing.is_vector(value.type):
        return vectors.component(fl, value, node.attr, node)
    if typing.is_enum(value.type):
        return named.member_attribute(fl, value, node.attr, node)
    if value.static:
        return static_attribute(fl, value.const, node)
    if isinstance(value.type, types.Complex) and node.attr in ("real", "imag"):
        if value.load is not None:
            fl.program.read_part(value.load, ("real", "imag").index(node.attr))
        kind = value.type.underlying_float
        return Val(f"{value.code}.{node.attr}", kind)
    if typing.is_real(value.type) and node.attr == "real":
        return value
    if typing.is_real(value.type) and node.attr == "imag":
        zero = typing.numpy_dtype(value.type).type(0)
        return fl.known(zero, value.type)
    if typing.is_number(value.type) and node.attr == "item":
        return Val("None", STATIC, Method(value, node.attr))
    fl.fail(TypingError, node, f"{describe(value.type)} has no attribute .{node.attr}")


def static_attribute(fl: Expressions, owner: Any, node: ast.Attribute) -> Val:
    if isinstance(owner, iterators.Range) and node.attr in BOUNDS:
        return owner.bounds[BOUNDS.index(node.attr)]
    if isinstance(owner, Symbol):
        if owner.name in ("threadIdx", "blockIdx", "blockDim", "gridDim"):
            if node.attr in AXES:
                return Val(f"rt.{owner.name}_{node.attr}", types.int32)
            fl.fail(TypingError, node, f"cuda.{owner.name} has .x, .y and .z only")
        try:
            return objects.of_symbol(fl, getattr(owner, node.attr))
        except AttributeError as error:
            fl.fail(TypingError, node, str(error))
    if isinstance(owner, (ModuleType, type)):
        if is_cuda_module(owner):
            from .symbols import DEVICE_NAMES

            if node.attr in DEVICE_NAMES:
                return objects.of_symbol(fl, Symbol(node.attr))
            if instead := alternative(node.attr):
                fl.fail(UnsupportedError, node, f"cuda.{node.attr} is not in the simulator",
                          instead[0].upper() + instead[1:] + ".")  # fmt: skip
        try:
            return objects.of_object(fl, node, fl.scope.attribute(owner, node.attr))
        except AttributeError:
            owner_name = "cuda" if is_cuda_module(owner) else owner.__name__
            near = difflib.get_close_matches(node.attr, dir(owner), 1)
            hint = f"Did you mean {owner_name}.{near[0]}?" if near else "Check the spelling."
            fl.fail(TypingError, node, f"{owner_name} has no {node.attr}", hint)
    if isinstance(owner, FunctionType):
        fl.fail(TypingError, node, f"a function has no attribute .{node.attr} in a kernel")
    fl.fail(
        UnsupportedError, node,
        f"an attribute of a Python {type(owner).__name__} cannot be read in a kernel",
        "Take the value out before the launch and pass it as an argument.",
    )  # fmt: skip


def array_attribute(fl: Expressions, value: Val, node: ast.Attribute) -> Val:
    kind: ArrayType = value.type
    name = node.attr
    if name == "shape":
        return Val(f"{value.code}.shape", TupleType((types.int64,) * kind.ndim))
    if name == "size":
        return Val(f"{value.code}.size", types.int64)
    if name == "ndim":
        return fl.number(node, kind.ndim)
    if name == "T":
        return Val(f"transposed({value.code})", kind)
    if name == "dtype":
        return Val("None", STATIC, kind.dtype)
    if name in ("real", "imag"):
        return part_of(fl, value, node)
    if name == "strides":
        codes = [f"byte_strides({value.code})[{k}]" for k in range(kind.ndim)]
        return fl.tuple_of([Val(code, types.int64) for code in codes])
    if isinstance(kind.dtype, types.Record) and name in kind.dtype.fields:
        return structures.read_array(fl, value, name, node, ast.unparse(node.value))
    itemsize = typing.numpy_dtype(kind.dtype).itemsize
    if name == "itemsize":
        return fl.number(node, itemsize)
    if name == "nbytes":
        return arithmetic.binary(fl, "Mult", Val(f"{value.code}.size", types.int64),
                           fl.number(node, itemsize), node)  # fmt: skip
    if name == "flat":
        return iterators.flat(fl, value)
    if name in METHODS:
        return Val("None", STATIC, Method(value, name))
    found = overloads.of_attribute(fl, node, value, name)
    if found is not None:
        return found
    fl.fail(
        UnsupportedError, node, f"arrays in a kernel have no .{name}",
        "They have shape, size, ndim, strides, dtype, itemsize, nbytes, T and flat, and can be "
        "viewed with reshape and view.",
    )  # fmt: skip


def part_of(fl: Expressions, value: Val, node: ast.Attribute) -> Val:
    """x.real and x.imag of an array: a view of every other float of its memory."""
    kind: ArrayType = value.type
    if not isinstance(kind.dtype, types.Complex):
        if node.attr == "real" and typing.is_number(kind.dtype):
            return value
        if not typing.is_number(kind.dtype):
            fl.fail(TypingError, node, f"{describe(kind)} has no .{node.attr}")
        fl.fail(UnsupportedError, node, "the imaginary part of this array is 0 everywhere")
    if kind.space != "global" or kind.readonly:
        fl.fail(
            UnsupportedError, node,
            f"the .{node.attr} of a constant, shared or local array cannot be used as an array",
            f"Take an element first: {ast.unparse(node.value)}[i].{node.attr}.",
        )  # fmt: skip
    offset = "01"[node.attr == "imag"]
    part = ArrayType(kind.dtype.underlying_float, kind.ndim)
    return Val(f"part({value.code}, {offset})", part)
