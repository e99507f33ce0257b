"""Numba's types of the arguments of a launch, or of a signature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .errors import CompilerError


def argument_types(args: Any) -> tuple[Any, ...]:
    """Types as Numba's launch would give them.

    `args` is a signature ("void(float32[::1], int64)" or a Numba signature), or a sequence of
    values and types: arrays of the host or the device, numbers, tuples.
    """
    from numba.core import sigutils as core
    from numba.cuda.core import sigutils

    if isinstance(args, str) or (core.is_signature(args) and not isinstance(args, tuple)):
        try:
            types, _ = sigutils.normalize_signature(args)
        except Exception as error:
            raise CompilerError(
                f"{args!r} is no signature ({error}). Write for example "
                '"void(float32[::1], float32[::1], int64)"; [::1] means contiguous.'
            ) from None
        return tuple(types)
    if not isinstance(args, Sequence):
        raise CompilerError("argument types come as a signature or as a list of arguments.")
    return tuple(_type_of(value, position) for position, value in enumerate(args))


def _type_of(value: Any, position: int) -> Any:
    from numba.cuda import types
    from numba.cuda.typing.typeof import Purpose, typeof

    if isinstance(value, types.Type):
        return value
    if isinstance(value, (list, range, set, dict, str, bytes)):  # Numba has types for some of them
        instead = " Pass np.array(...) of it." if isinstance(value, (list, range)) else ""
        raise CompilerError(
            f"argument {position + 1} is a {type(value).__name__}, which no kernel takes.{instead}"
        )
    if hasattr(value, "copy_to_host") and hasattr(value, "is_c_contiguous"):  # on the device
        element = typeof(np.empty(1, value.dtype), Purpose.argument).dtype
        c_order, f_order = value.is_c_contiguous(), value.is_f_contiguous()
        return types.Array(element, value.ndim, "C" if c_order else "F" if f_order else "A")
    try:
        return typeof(value, Purpose.argument)
    except Exception:
        raise CompilerError(
            f"argument {position + 1} is a {type(value).__name__}, which no kernel takes. "
            "Arrays, numbers, tuples of them and Numba types are fine."
        ) from None
