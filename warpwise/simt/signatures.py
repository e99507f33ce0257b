"""Explicit signatures: which one a call gets, as Numba's type conversions decide."""

from __future__ import annotations

from collections.abc import Sequence

from numba.core import types

from . import typing
from .typing import ArrayType, Type


def choose(cases: Sequence[tuple[Type, ...]], kinds: Sequence[Type]) -> tuple[Type, ...] | None:
    """The signature of a device function that fits arguments of these types best; None when none
    does, the first one when several fit equally well.

    Arrays have to be of the element type and number of dimensions that a signature says.
    """
    fitting = [case for case in cases if len(case) == len(kinds) and _arrays_fit(case, kinds)]
    places = [k for k, kind in enumerate(kinds) if not isinstance(kind, ArrayType)]
    given = tuple(kinds[k] for k in places)
    if not fitting or not given or not all(isinstance(kind, types.Type) for kind in given):
        return fitting[0] if fitting else None
    numbers = [types.void(*(case[k] for k in places)) for case in fitting]
    found = typing.context().resolve_overload("call", numbers, given, {})
    return None if found is None else fitting[numbers.index(found)]


def _arrays_fit(case: tuple[Type, ...], kinds: Sequence[Type]) -> bool:
    return all(
        not isinstance(kind, ArrayType)
        or (isinstance(wanted, types.Array) and same_bits(kind.dtype, wanted.dtype)
            and wanted.ndim == kind.ndim)
        for wanted, kind in zip(case, kinds, strict=True)
    )  # fmt: skip


def same_bits(a: Type, b: Type) -> bool:
    """Whether an array of `a` can be taken for one of `b`: equal, or integers of one size."""
    return bool(
        a == b or (typing.is_integer(a) and typing.is_integer(b) and a.bitwidth == b.bitwidth)
    )


def shown(signature: Sequence[Type]) -> str:
    """A signature as it is written: (float64[:], int32)."""
    return "(" + ", ".join(_shown(kind) for kind in signature) + ")"


def _shown(kind: Type) -> str:
    if isinstance(kind, (types.Array, ArrayType)):
        return f"{kind.dtype}[{', '.join([':'] * kind.ndim)}]"
    return str(kind)
