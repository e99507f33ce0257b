"""Numbers from outside: refused with their name and value, in the error of the caller."""

from __future__ import annotations

from math import isfinite
from numbers import Integral, Real
from typing import Any


def whole(error: type[Exception], least: int = 1, /, **numbers: Any) -> None:
    """Raise `error` for what is no whole number from `least` on."""
    for name, value in numbers.items():
        # Plain ints first: a schedule has hundreds of thousands of them.
        if type(value) is not int and (isinstance(value, bool) or not isinstance(value, Integral)):
            raise error(f"{name} is a whole number, not {value!r}.")
        if value < least:
            raise error(f"{name} is at least {least}, not {value}.")


def real(error: type[Exception], /, **numbers: Any) -> None:
    """Raise `error` for what is no finite number from 0 on."""
    for name, value in numbers.items():
        plain = type(value) in (int, float)
        if not plain and (isinstance(value, bool) or not isinstance(value, Real)):
            raise error(f"{name} is a number, not {value!r}.")
        if not _finite(value) or value < 0:
            raise error(f"{name} is a number from 0, not {value}.")


def positive(error: type[Exception], /, **numbers: Any) -> None:
    """Raise `error` for what is no finite number above 0."""
    real(error, **numbers)
    for name, value in numbers.items():
        if value == 0:
            raise error(f"{name} is a number above 0, not {value}.")


def _finite(value: Any) -> bool:
    try:
        return isfinite(value)
    except OverflowError:  # an int beyond every float
        return False
