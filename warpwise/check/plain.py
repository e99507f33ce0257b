"""Plain data: the values of a host function, as JSON can carry them over a process border.

returned  {"returned": value}, arrays as {"array": nested lists, "dtype": "float32", "shape": [3]}
raised    {"raised": "ValueError", "text": "...", "line": 3, "line_text": "..."}
opaque    {"opaque": "generator"}: something that is not plain data
"""

from __future__ import annotations

import copy
import linecache
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Outcome = dict[str, Any]


def call(function: Callable[..., Any], args: Sequence[Any]) -> Outcome:
    """Call with copies of `args`; whatever happens comes back as plain data."""
    given = copy.deepcopy(tuple(args))
    try:
        outcome: Outcome = {"returned": encode(function(*given))}
    except (Exception, SystemExit) as error:
        return _raised(error)
    changed = [
        k for k, (a, b) in enumerate(zip(args, given, strict=True)) if encode(a) != encode(b)
    ]
    return {**outcome, "changed": changed} if changed else outcome


def run(
    how: Callable[[Callable[..., Any], Sequence[Any]], Any],
    function: Callable[..., Any],
    args: Sequence[Any],
) -> Outcome:
    """The same for an answer that is not simply called: `how(function, args)` tells of it.

    "last" in what it tells: there is no use in trying further arguments.
    """
    try:
        told = how(function, args)
    except (Exception, SystemExit) as error:
        return _raised(error)
    return {"returned": encode(told)} | ({"last": True} if is_last(told) else {})


def is_last(told: Any) -> bool:
    """Whether what was told of a run asks for no further one."""
    return isinstance(told, dict) and told.get("last") is True


def encode(value: Any) -> Any:
    """Plain data for JSON: NumPy scalars become Python's, tuples lists, arrays a dictionary."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return encode(value.item())
    if hasattr(value, "copy_to_host"):
        value = value.copy_to_host()
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return {"array": value.tolist(), "dtype": value.dtype.name, "shape": list(value.shape)}
    if isinstance(value, list | tuple):
        return [encode(item) for item in value]
    if isinstance(value, dict):
        return {"dict": [[encode(key), encode(item)] for key, item in value.items()]}
    return {"opaque": type(value).__name__}


def decode(value: Any) -> Any:
    """The other way: arrays and dictionaries come back, tuples stay lists."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if isinstance(value, dict) and "array" in value:
        return np.array(value["array"], value["dtype"]).reshape(value["shape"])
    if isinstance(value, dict) and "dict" in value:
        return {_key(decode(key)): decode(item) for key, item in value["dict"]}
    return value


def _key(value: Any) -> Any:
    return tuple(_key(item) for item in value) if isinstance(value, list) else value


def _raised(error: BaseException) -> Outcome:
    frames = traceback.extract_tb(error.__traceback__)
    ours = __file__
    theirs = [frame for frame in frames if frame.filename != ours and "site-packages" not in
              frame.filename and "warpwise" not in frame.filename.split("/")[-3:]]  # fmt: skip
    frame = theirs[-1] if theirs else None
    text = linecache.getline(frame.filename, frame.lineno or 0).strip() if frame else ""
    return {
        "raised": type(error).__name__,
        "text": str(error),
        "line": frame.lineno if frame else None,
        "line_text": text,
    }
