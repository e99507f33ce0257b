"""A call of a host function, as a message tells of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .spec import FunctionSpec, ValueSpec
from .values import show


def where_of(
    spec: FunctionSpec | ValueSpec, called: str, call: Sequence[Any], params: Sequence[str]
) -> str:
    """The failing call; of a spec that examines results, with the sizes of arrays alone."""
    if isinstance(spec, ValueSpec):
        return ""
    if spec.said is not None:
        return f"{called}, {spec.said(call)}"
    if spec.examine is None:
        return call_text(called, tuple(call), params)
    named = [f"{name}: {_size(value)}" for name, value in zip(params, call, strict=False)]
    return f"{called}({', '.join(named)})"


def _size(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape}"
    if isinstance(value, list | tuple) and value and isinstance(value[0], np.ndarray):
        return f"{len(value)} x {_size(value[0])}"
    return show(value)


def call_text(name: str, args: Sequence[Any], params: Sequence[str]) -> str:
    """The call as it could be typed, with its arguments by name."""
    named = [
        f"{params[k]}={show(value)}" if k < len(params) else show(value)
        for k, value in enumerate(args)
    ]
    return f"{name}({', '.join(named)})"
