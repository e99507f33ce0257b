"""Types of kernel values, decided by Numba's own typing context.

Numba's rules are not NumPy's: int32 + int32 is int64, uint64 + int64 is int64, float32 * 2.0 is
float64.  We never restate them; each operator and function is resolved by the context that the
CUDA compiler uses (Numba's core carries one too, so this works where numba-cuda is missing).

Glossary
    Type        a numba.types object (int64, float32, ...) for a number
    ArrayType   (dtype, ndim) of an array: all that the type of an element access depends on
    RecordType  a record in memory, as an element of an array of a structured dtype is
    StaticType  a thing known while lowering only: module, function, dtype, Symbol, None, string
    Signature   (argument types after the casts the compiler makes, result type)
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from numba.core import types
from numba.core.types import CPointer, containers  # type: ignore[attr-defined]
from numba.np.numpy_support import as_dtype, from_dtype

from .rounding import BFLOAT16

Type = Any  # numba's type classes carry no useful static types


@dataclass(frozen=True)
class ArrayType:
    """An array of `ndim` dimensions; `readonly` for arrays that are constants of the kernel;
    `space` is "global", "shared" or "local"."""

    dtype: Type
    ndim: int
    readonly: bool = False
    space: str = "global"

    def __str__(self) -> str:
        return f"array({name_of(self.dtype)}, {self.ndim}d)"


@dataclass(frozen=True)
class RecordType:
    """One record of an array with `ndim` dimensions, by reference, as in Numba; `readonly` and
    `space` as of the array, `origin` what the reader calls it."""

    record: types.Record
    ndim: int
    readonly: bool = False
    space: str = "global"
    origin: str = field(default="record", compare=False)

    def __str__(self) -> str:
        return name_of(self.record)


@dataclass(frozen=True)
class PointerType:
    """The address of elements in global memory; see pointers.py."""

    dtype: Type

    def __str__(self) -> str:
        return f"pointer to {name_of(self.dtype)}"


@dataclass(frozen=True)
class TupleType:
    """A tuple; each item keeps its own type."""

    items: tuple[Type, ...]

    def __str__(self) -> str:
        return "(" + ", ".join(str(item) for item in self.items) + ")"


@dataclass(frozen=True)
class NamedTupleType(TupleType):
    """A namedtuple of the class `made_by`."""

    made_by: Any

    def __str__(self) -> str:
        named = zip(self.made_by._fields, self.items, strict=True)
        return f"{self.made_by.__name__}({', '.join(f'{n}: {t}' for n, t in named)})"


class StaticType:
    """The one type of everything that is known while lowering."""

    def __str__(self) -> str:
        return "no number"


STATIC = StaticType()


@dataclass(frozen=True)
class Signature:
    """What the compiler makes of a call: `args` after its casts, `result`."""

    args: tuple[Type, ...]
    result: Type


class NoSignature(Exception):
    """Numba has no implementation for these argument types."""


@cache
def context() -> Any:
    """The typing context of Numba's CUDA target, with everything registered."""
    from numba.cuda.descriptor import cuda_target

    ctx = cuda_target.typing_context
    ctx.refresh()
    return ctx


@cache
def resolve(function: Any, args: tuple[Type, ...]) -> Signature:
    """The signature of an operator, builtin, math function or ufunc for these types."""
    try:
        found = context().resolve_function_type(function, args, {})
        if found is None:  # Numba's core alone keeps the ufuncs with its CPU target
            found = _cpu_context().resolve_function_type(function, args, {})
    except Exception as error:  # numba raises its own TypingError, but also AssertionError
        raise NoSignature(str(error).strip().splitlines()[0]) from None
    if found is None:
        raise NoSignature("no implementation for these types")
    return Signature(tuple(found.args), found.return_type)


@cache
def _cpu_context() -> Any:
    from numba.core.registry import cpu_target

    ctx = cpu_target.typing_context
    ctx.refresh()
    return ctx


@cache
def unify(a: Type, b: Type) -> Type | None:
    """The type of a variable that is `a` on one path and `b` on another; None if there is none."""
    if a == b:
        return a
    if isinstance(a, TupleType) and isinstance(b, TupleType) and len(a.items) == len(b.items):
        items = tuple(unify(x, y) for x, y in zip(a.items, b.items, strict=True))
        if any(item is None for item in items):
            return None
        if isinstance(a, NamedTupleType) or isinstance(b, NamedTupleType):
            named = getattr(a, "made_by", None) is getattr(b, "made_by", None)
            return replace(a, items=items) if named else None
        return TupleType(items)
    if isinstance(a, RecordType) and isinstance(b, RecordType) and a.record == b.record:
        space = a.space if a.space == b.space else "global"
        return RecordType(a.record, max(a.ndim, b.ndim), a.readonly or b.readonly, space, a.origin)
    if isinstance(a, types.IntEnumMember) and is_number(b):
        return unify(a.dtype, b)
    if isinstance(b, types.IntEnumMember) and is_number(a):
        return unify(a, b.dtype)
    if not is_number(a) or not is_number(b):
        return None
    if is_bfloat16(a) or is_bfloat16(b):
        return None  # Numba's own rule for these never ends
    found = context().unify_pairs(a, b)
    return found if found is not None and is_number(found) else None


def is_number(t: Type) -> bool:
    """True for the scalar types: bool, integers, floats, complex."""
    return isinstance(t, (types.Number, types.Boolean))


def is_moment(t: Type) -> bool:
    """True for the types of datetime64 and timedelta64."""
    return isinstance(t, (types.NPDatetime, types.NPTimedelta))


def is_enum(t: Type) -> bool:
    """True for members of an Enum or IntEnum; at run time, their values."""
    return isinstance(t, types.EnumMember)


def is_scalar(t: Type) -> bool:
    """True for all that operators take: numbers, dates, members of enums."""
    return is_number(t) or is_moment(t) or is_enum(t)


def is_vector(t: Type) -> bool:
    """True for CUDA's vector types, such as float32x4."""
    return isinstance(t, types.Type) and hasattr(t, "user_facing_object")


def is_storable(t: Type) -> bool:
    """True for what the elements of a host array can be."""
    return is_number(t) or is_moment(t) or isinstance(t, types.Record)


def name_of(t: Type) -> str:
    """Any type as a reader would say it."""
    if is_bfloat16(t):
        return "bfloat16"
    if isinstance(t, types.Record):
        return f"record({', '.join(t.fields)})"
    if is_enum(t):
        return f"a member of {t.instance_class.__name__}"
    return str(t)


def is_integer(t: Type) -> bool:
    """True for signed and unsigned integers, not for bool."""
    return isinstance(t, types.Integer)


def is_float(t: Type) -> bool:
    """True for float16, bfloat16, float32, float64."""
    return isinstance(t, types.Float) or is_bfloat16(t)


def is_real(t: Type) -> bool:
    """True for integers and floats: numbers with .real, .imag and .conjugate(); not for bool."""
    return isinstance(t, (types.Integer, types.Float))


def is_bfloat16(t: Type) -> bool:
    """True for the type that Numba calls __nv_bfloat16."""
    return isinstance(t, types.Number) and t.name == "__nv_bfloat16"


@cache
def numpy_dtype(t: Type) -> np.dtype[Any]:
    """numba type -> NumPy dtype."""
    if is_vector(t):
        return np.dtype([(name, as_dtype(t.base_type)) for name in t.attr_names])
    return BFLOAT16 if is_bfloat16(t) else as_dtype(t.dtype if is_enum(t) else t)


def numba_type(dtype: np.dtype[Any]) -> Type:
    """NumPy dtype -> numba type; NoSignature for what Numba cannot hold."""
    return _numba_type(dtype, _alignment(dtype) if dtype.names else ())


def _alignment(dtype: np.dtype[Any]) -> tuple[Any, ...]:
    """What tells aligned records from packed ones: NumPy calls their dtypes equal when the fields
    lie at the same places, and Numba's types differ."""
    fields = dtype.base.fields
    if fields is None:
        return ()
    return (dtype.base.isalignedstruct, *(_alignment(part[0]) for part in fields.values()))


@cache
def _numba_type(dtype: np.dtype[Any], alignment: tuple[Any, ...]) -> Type:
    try:
        if dtype == BFLOAT16:
            from numba.cuda.types import bfloat16  # numba-cuda's: Numba's core has none

            return bfloat16
        return from_dtype(dtype)
    except Exception:
        raise NoSignature(f"Numba has no type for NumPy's {dtype}") from None


def type_of_constant(value: Any) -> Type:
    """The type of a Python or NumPy scalar as Numba's compiler freezes it into a kernel.

    Python integers are int64, or uint64 from 2**63; Python floats are float64.
    """
    if isinstance(value, (bool, np.bool_)):
        return types.boolean
    if isinstance(value, np.generic):
        return numba_type(value.dtype)
    if isinstance(value, int):
        if -(2**63) <= value < 2**63:
            return types.int64
        if 0 <= value < 2**64:
            return types.uint64
        raise NoSignature(f"the integer {value} does not fit into 64 bits")
    if isinstance(value, float):
        return types.float64
    if isinstance(value, complex):
        return types.complex128
    raise NoSignature(f"no number: {value!r}")


def from_signature(kind: Type) -> Type:
    """The type of an argument as a signature of @cuda.jit writes it."""
    if isinstance(kind, types.Array):
        return ArrayType(kind.dtype, kind.ndim)
    if isinstance(kind, types.Record):
        return RecordType(kind, 0)
    if isinstance(kind, containers.BaseTuple):
        items = tuple(from_signature(item) for item in kind)
        named = isinstance(kind, containers.BaseNamedTuple)
        return NamedTupleType(items, kind.instance_class) if named else TupleType(items)
    if isinstance(kind, CPointer) and is_number(kind.dtype):
        return PointerType(kind.dtype)
    if is_scalar(kind):
        return kind
    raise NoSignature(f"arguments of type {kind} are not supported.")


def range_type(args: tuple[Type, ...]) -> Type:
    """The type of the loop variable of range(*args)."""
    return resolve(range, args).result.iterator_type.yield_type
