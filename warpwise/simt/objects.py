"""What the names of a kernel stand for: numbers, tuples, arrays, functions, modules."""

from __future__ import annotations

import ast
import enum
from typing import TYPE_CHECKING, Any

import numpy as np
from numba.core import types

from . import named, typing
from .allocation import as_cuda_array, is_cuda_array
from .errors import TypingError
from .program import Val
from .symbols import Symbol, as_symbol
from .typing import STATIC, ArrayType, NoSignature

if TYPE_CHECKING:
    from .expressions import Expressions


def of_object(fl: Expressions, node: ast.AST, value: Any) -> Val:
    """A Python object that the kernel names: number, tuple, array, function, module."""
    symbol = as_symbol(value)
    if symbol is not None:
        return of_symbol(fl, symbol)
    if isinstance(value, enum.Enum):
        return named.member(fl, node, value)
    if isinstance(value, (bool, int, float, complex, np.number, np.bool_, np.datetime64)):
        return fl.number(node, value)
    if isinstance(value, tuple):
        items = fl.tuple_of([of_object(fl, node, item) for item in value])
        made_by = type(value)
        return named.with_class(items, made_by) if named.is_class(made_by) else items
    if isinstance(value, np.ndarray):
        return frozen_array(fl, node, value)
    if is_cuda_array(value) and not isinstance(value, (type, np.ndarray)):
        try:  # a global device array is used in place
            value = as_cuda_array(value)
        except (ValueError, TypeError, NotImplementedError) as error:
            fl.fail(TypingError, node, str(error))
        name = node.id if isinstance(node, ast.Name) else "array"
        reference = value.reference(name)
        kind = ArrayType(typing.numba_type(value.dtype), value.ndim)
        return Val(fl.program.constant(reference), kind)
    return Val("None", STATIC, value)


def of_symbol(fl: Expressions, symbol: Symbol) -> Val:
    if symbol.name == "laneid":
        return Val("rt.laneid", types.int32)
    if symbol.name == "warpsize":
        return Val(fl.program.constant(np.int32(32)), types.int32, np.int32(32))
    return Val("None", STATIC, symbol)


def frozen_array(fl: Expressions, node: ast.AST, value: np.ndarray[Any, Any]) -> Val:
    """A global NumPy array: a constant of the kernel, frozen when it is compiled."""
    from .arguments import constant_array

    name = node.id if isinstance(node, ast.Name) else "array"
    try:
        ref, kind = constant_array(name, value)
    except NoSignature as error:
        fl.fail(TypingError, node, f"{name}: {error}")
    return Val(fl.program.constant(ref), kind)
