"""Plain data as JSON: the only thing that crosses from the student's process to the verifier.

    3             -> 3
    2.5           -> {"float": "0x1.4000000000000p+1"}      exact, and has nan and inf
    (1, 2)        -> {"tuple": [1, 2]}
    np.float32(1) -> {"scalar": ["<f4", "AACAPw=="]}
    np.ndarray    -> {"array": ["<f4", [2, 3], base64 of the bytes in C order]}

Only exact types are accepted: a subclass may carry methods that lie.  This module runs on both
sides and imports nothing of the course's, so that the student's side needs nothing else.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

MAX_ITEMS = 200_000  # values in one answer
MAX_DEPTH = 8
MAX_TEXT = 10_000  # characters in one string
MAX_ARRAY_BYTES = 4_000_000
MAX_INT_BITS = 128
_DTYPES = frozenset(
    f"<{kind}{size}"
    for kind, sizes in {"i": (2, 4, 8), "u": (2, 4, 8), "f": (2, 4, 8), "c": (8, 16)}.items()
    for size in sizes
) | {"|b1", "|i1", "|u1"}


class WireError(ValueError):
    """Data that is not plain, too large, or not what `encode` writes."""


def encode(value: Any) -> Any:
    """`value` as JSON-ready data.  Raises WireError and says which type or size is refused."""
    return _encode(value, 0, [MAX_ITEMS])


def _encode(value: Any, depth: int, room: list[int]) -> Any:
    room[0] -= 1
    if room[0] < 0:
        raise WireError(f"more than {MAX_ITEMS} values")
    if depth > MAX_DEPTH:
        raise WireError(f"nested more than {MAX_DEPTH} deep")
    kind = type(value)
    if value is None or value is True or value is False:
        return value
    if value is Ellipsis:
        return {"hole": 1}
    if kind is int:
        if value.bit_length() > MAX_INT_BITS:
            raise WireError(f"an int of more than {MAX_INT_BITS} bits")
        return value
    if kind is float:
        return {"float": value.hex()}
    if kind is str:
        if len(value) > MAX_TEXT:
            raise WireError(f"a str of more than {MAX_TEXT} characters")
        return {"text": value.encode("utf-8", "replace").decode("utf-8")}
    if kind in (list, tuple):
        return {kind.__name__: [_encode(part, depth + 1, room) for part in list(value)]}
    if kind is dict:
        pairs = list(dict.items(value))
        return {
            "dict": [[_encode(k, depth + 1, room), _encode(v, depth + 1, room)] for k, v in pairs]
        }
    return _encode_numpy(value, kind)


def _encode_numpy(value: Any, kind: type) -> Any:
    """NumPy's own arrays and scalars; anything else is not plain."""
    import numpy as np

    name = f"a {kind.__module__}.{kind.__qualname__}".replace("builtins.", "")
    if kind is not np.ndarray and not (issubclass(kind, np.generic) and kind.__module__ == "numpy"):
        raise WireError(name[:80])
    array = np.asarray(value)
    dtype = array.dtype.newbyteorder("<").str
    if dtype not in _DTYPES:
        raise WireError(f"{name} of dtype {array.dtype}"[:80])
    if array.nbytes > MAX_ARRAY_BYTES:
        raise WireError(f"an array of more than {MAX_ARRAY_BYTES:,} bytes")
    data = base64.b64encode(array.astype(dtype).tobytes("C")).decode("ascii")
    if kind is np.ndarray:
        return {"array": [dtype, list(array.shape), data]}
    return {"scalar": [dtype, data]}


def decode(data: Any) -> Any:
    """The value that `encode` wrote.  Raises WireError for anything it would not write."""
    return _decode(data, 0, [MAX_ITEMS])


def _decode(data: Any, depth: int, room: list[int]) -> Any:
    room[0] -= 1
    if room[0] < 0 or depth > MAX_DEPTH:
        raise WireError("too many values")
    if data is None or type(data) is bool:
        return data
    if type(data) is int:
        if data.bit_length() > MAX_INT_BITS:
            raise WireError("an int too large")
        return data
    if type(data) is not dict or len(data) != 1:
        raise WireError("not an encoded value")
    ((kind, body),) = data.items()
    if kind == "hole":
        return Ellipsis
    if kind == "float" and type(body) is str and len(body) < 64:
        try:
            return float.fromhex(body)
        except (ValueError, OverflowError):
            raise WireError("not a float") from None
    if kind == "text" and type(body) is str and len(body) <= MAX_TEXT:
        return body
    if type(body) is not list:
        raise WireError("not an encoded value")
    if kind in ("list", "tuple"):
        parts = [_decode(part, depth + 1, room) for part in body]
        return tuple(parts) if kind == "tuple" else parts
    if kind == "dict":
        return _decode_dict(body, depth, room)
    if kind in ("array", "scalar"):
        return _decode_numpy(kind, body)
    raise WireError("not an encoded value")


def _decode_dict(body: list[Any], depth: int, room: list[int]) -> dict[Any, Any]:
    found = {}
    for pair in body:
        if type(pair) is not list or len(pair) != 2:
            raise WireError("not an encoded dict")
        key = _decode(pair[0], depth + 1, room)
        try:
            found[key] = _decode(pair[1], depth + 1, room)
        except TypeError:
            raise WireError("a key that cannot be one") from None
    return found


def _decode_numpy(kind: str, body: list[Any]) -> Any:
    import numpy as np

    shape = body[1] if kind == "array" and len(body) == 3 else []
    if len(body) != (3 if kind == "array" else 2) or type(shape) is not list or len(shape) > 8:
        raise WireError("not an encoded array")
    if not all(type(n) is int and 0 <= n <= MAX_ARRAY_BYTES for n in shape):
        raise WireError("not a shape")
    dtype, text = body[0], body[-1]
    if type(dtype) is not str or dtype not in _DTYPES or type(text) is not str:
        raise WireError("not a dtype")
    if len(text) > 2 * MAX_ARRAY_BYTES:
        raise WireError("an array too large")
    try:
        array = np.frombuffer(base64.b64decode(text, validate=True), dtype).reshape(shape)
    except (ValueError, binascii.Error):
        raise WireError("an array whose bytes do not fit its shape") from None
    return array.copy() if kind == "array" else array[()]


def dumps(data: Any) -> str:
    """One line of JSON."""
    return json.dumps(data, allow_nan=False, separators=(",", ":"))


def loads(line: str) -> Any:
    """Strict JSON; WireError for anything else, also for NaN and for repeated keys."""

    def refuse(name: str) -> None:
        raise WireError(name)

    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) != len(items):
            raise WireError("a repeated key")
        return found

    try:
        return json.loads(line, parse_constant=refuse, object_pairs_hook=pairs)
    except (ValueError, RecursionError, MemoryError) as error:
        raise WireError(str(error)[:80]) from None
