"""Values: plain data compared with the reference, and said in words.

got, want   what came back, what should have; lists stand for tuples (see `plain`)
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .tolerance import Tolerance, close, for_dtype
from .wording import number

LONGEST = 60


def equal(got: Any, want: Any, tolerance: Tolerance) -> bool:
    """Same value, floats within tolerance; lists and tuples are the same."""
    if isinstance(want, np.ndarray):
        one, two = _numbers(got), want
        if one is None or one.shape != two.shape:
            return False
        wide = max(tolerance.relative, for_dtype(one.dtype).relative)
        exact = two.dtype.kind in "iub"
        allowed = Tolerance() if exact else Tolerance(wide, max(tolerance.absolute, wide / 10))
        return bool(close(one, two, allowed).all())
    if isinstance(want, list):
        return len(got) == len(want) and all(
            equal(a, b, tolerance) for a, b in zip(got, want, strict=True)
        )
    if isinstance(want, dict):
        return got.keys() == want.keys() and all(equal(got[k], want[k], tolerance) for k in want)
    if isinstance(want, float):
        try:
            return bool(close(np.asarray(float(got)), np.asarray(want), tolerance))
        except OverflowError:  # an integer beyond every float
            return False
    return bool(got == want)


def mismatch(got: Any, want: Any) -> str | None:
    """Why `got` is not even of the right kind, as a sentence; None when it is."""
    if isinstance(got, dict) and "opaque" in got:
        return f"got a {got['opaque']}, expected {kind(want)}"
    if isinstance(want, float):
        fits = isinstance(got, int | float) and not isinstance(got, bool)
    elif isinstance(want, np.ndarray):
        fits = _numbers(got) is not None
    else:
        fits = type(got) is type(want)
    if not fits:
        return f"got {show(got)}, {kind(got)}; expected {kind(want)}"
    if isinstance(want, list) and isinstance(got, list):
        if len(got) != len(want):
            return f"got {_values(len(got))}, expected {len(want)}: {show(got)}"
        inner = [mismatch(a, b) for a, b in zip(got, want, strict=True)]
        if any(inner):
            k = next(k for k, problem in enumerate(inner) if problem)
            if kind(got[k]) == kind(want[k]):  # their shapes or what is in them differs
                return f"value {k}: {inner[k]}"
            return f"value {k} is {show(got[k])}, {kind(got[k])}; expected {kind(want[k])}"
    if isinstance(want, dict) and got.keys() != want.keys():
        keys = ", ".join(show(key) for key in want)
        return f"got a dict with other keys; expected {keys}"
    if isinstance(want, dict):
        for key, value in want.items():
            if mismatch(got[key], value):
                return f"{show(key)} is {show(got[key])}; expected {kind(value)}"
    shape = np.shape(got) if isinstance(want, np.ndarray) else ()
    if isinstance(want, np.ndarray) and shape != want.shape:
        return f"got an array of shape {shape}, expected {want.shape}"
    return None


def _numbers(got: Any) -> np.ndarray | None:
    """An array, or nested lists that make one; None for anything ragged or without numbers."""
    if not isinstance(got, np.ndarray | list):
        return None
    try:
        array = np.asarray(got)
    except ValueError:
        return None
    return array if array.dtype.kind in "biuf" else None


def kind(value: Any) -> str:
    """ "an int", "a tuple or list", "an array of float32"."""
    names = {bool: "a bool", int: "an int", float: "a float", str: "a string", dict: "a dict",
             type(None): "None", list: "a tuple or list", tuple: "a tuple or list"}  # fmt: skip
    if isinstance(value, np.ndarray):
        return f"an array of {value.dtype.name}"
    return names.get(type(value), f"a {type(value).__name__}")


def slip(got: Any, want: Any, rounding: tuple[str, str] | None = None) -> str:
    """The usual slip behind a value of the wrong kind; empty when there is none.

    rounding: ("np.ceil", "math.ceil") where the function rounds with NumPy.
    """
    if isinstance(want, list) and isinstance(got, list) and len(got) == len(want):
        slips = [slip(a, b, rounding) for a, b in zip(got, want, strict=True)]
        return next((said for said in slips if said), "")
    if not (isinstance(got, float) and type(want) is int):
        return ""
    right = "The value is right, but its type is float.  " if got == want else ""
    if rounding:
        return f"{right}{rounding[0]} returns a float; {rounding[1]} returns an int."
    return (
        f"{right}A division with / gives a float, also when it comes out even; // gives an integer."
    )


def show(value: Any) -> str:
    """A value as code, cut to a line."""
    if isinstance(value, np.ndarray):
        listed = value.tolist()
        return _short(f"array({listed}, {value.dtype.name})")
    if isinstance(value, dict) and "opaque" in value:
        return f"a {value['opaque']}"
    try:
        return _short(number(tuple(value) if isinstance(value, list) else value))
    except ValueError:  # Python refuses to write out an integer of thousands of digits
        return "a very long number"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _values(count: int) -> str:
    return "1 value" if count == 1 else f"{count} values"
