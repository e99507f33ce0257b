"""Signatures that `@cuda.jit` was given: read, and compared with the arguments of a launch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import native, typing
from .errors import LaunchError, TypingError
from .native import types_of
from .signatures import same_bits
from .typing import Type


def normalise(given: Any, device: bool) -> list[tuple[tuple[Type, ...], Type | None]]:
    """(argument types, result type) of signatures: a string, a numba signature, or a list."""
    from numba.core import sigutils

    listed = given if isinstance(given, list) else [given]
    found = []
    for one in listed:
        try:
            args, result = sigutils.normalize_signature(one)
        except Exception as error:
            raise TypingError(f"@cuda.jit: {one!r} is no signature ({error}).") from None
        if not device and result is not None and str(result) != "none":
            raise TypingError(
                f"@cuda.jit: a kernel returns nothing, so {one} has to start with void."
            )
        found.append((tuple(args), result))
    return found


def is_types(given: Any) -> bool:
    from numba.core import types

    return isinstance(given, (tuple, list)) and all(isinstance(t, types.Type) for t in given)


def wanted(
    name: str, explicit: Sequence[tuple[Type, ...]], args: Sequence[Any]
) -> tuple[Type, ...] | None:
    """The explicit signature that fits, if the kernel was made with any."""
    if not explicit:
        return None
    fitting = [
        signature
        for signature in explicit
        if len(signature) == len(args)
        and all(_fits(value, kind) for value, kind in zip(args, signature, strict=True))
    ]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        return _best(name, args, fitting)
    listed = "; ".join("(" + ", ".join(str(t) for t in s) + ")" for s in explicit)
    got = ", ".join(_kind_of(value) for value in args)
    raise LaunchError(
        f"{name} was compiled for {listed} only, and was called with ({got}).\n"
        "  Leave the signature out of @cuda.jit to let Numba choose it."
    )


def _best(name: str, args: Sequence[Any], fitting: Sequence[tuple[Type, ...]]) -> tuple[Type, ...]:
    """Of several signatures the one that converts least, by Numba's own rules."""
    try:
        return fitting[native.best_signature(name, types_of(args), fitting)]
    except TypeError:
        listed = "; ".join("(" + ", ".join(str(t) for t in s) + ")" for s in fitting)
        raise LaunchError(
            f"{name}: these arguments fit two of its signatures equally well: {listed}.\n"
            "  Convert them to the types that are meant, such as np.float32(x)."
        ) from None


def _fits(value: Any, kind: Type) -> bool:
    shape = getattr(value, "shape", ())
    if getattr(kind, "ndim", None) is None:
        return len(shape) == 0
    return len(shape) == kind.ndim and same_bits(
        typing.numba_type(np.dtype(value.dtype)), kind.dtype
    )


def _kind_of(value: Any) -> str:
    shape = getattr(value, "shape", ())
    if shape:
        return f"array({value.dtype}, {len(shape)}d)"
    return type(value).__name__
