"""Globals are frozen when a kernel is compiled, as Numba freezes them.

A global changed later changes no compiled kernel: a GPU goes on with the old value.  So does this
simulator, for all programs of one set of argument types, and it says so.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np

from .source import Scope

COMPARED = 1 << 20  # bytes; larger global arrays are not looked through at every launch


class FrozenScope:
    """A scope that gives a name the value it had at the first look-up."""

    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self._names: dict[str, tuple[Any, Any]] = {}  # name -> the object then, what is frozen
        self._attributes: dict[tuple[int, str], tuple[Any, Any, Any]] = {}  # and its owner

    def lookup(self, name: str) -> Any:
        """The value of a global name; KeyError when there is none."""
        if name not in self._names:
            value = self._scope.lookup(name)
            self._names[name] = value, _copy(value)
        return self._names[name][1]

    def attribute(self, owner: Any, name: str) -> Any:
        """owner.name of a module or class; AttributeError when there is none."""
        key = (id(owner), name)
        if key not in self._attributes:
            value = getattr(owner, name)
            self._attributes[key] = owner, value, _copy(value)
        return self._attributes[key][2]

    def changed(self) -> dict[str, tuple[Any, Any]]:
        """Names whose value is another now: (frozen, now)."""
        found = {}
        for name, (_, frozen) in self._names.items():
            try:
                now = self._scope.lookup(name)
            except KeyError:
                continue  # deleted; the kernel needs it no longer
            if not _same(frozen, now):
                found[name] = frozen, now
        for (_, name), (owner, _, frozen) in self._attributes.items():
            if isinstance(owner, ModuleType) and owner.__name__.startswith(("numba", "warpwise")):
                continue
            now = getattr(owner, name, frozen)
            if not _same(frozen, now):
                found[f"{getattr(owner, '__name__', owner)}.{name}"] = frozen, now
        return found


def _copy(value: Any) -> Any:
    """What the compiler keeps of a value: the contents of an array, other objects themselves."""
    return np.array(value) if isinstance(value, np.ndarray) else value


def _same(frozen: Any, now: Any) -> bool:
    """Whether a kernel compiled now would see the same value."""
    if isinstance(frozen, np.ndarray):
        if not isinstance(now, np.ndarray) or frozen.nbytes > COMPARED:
            return isinstance(now, np.ndarray)
        if (frozen.dtype, frozen.shape) != (now.dtype, now.shape):
            return False
        return _contents(frozen) == _contents(now)
    if frozen is now:
        return True
    if type(frozen) is not type(now):
        return False
    if isinstance(frozen, tuple):
        return len(frozen) == len(now) and all(map(_same, frozen, now))
    if isinstance(frozen, (bool, int, float, complex, str, bytes, np.generic)):
        return bool(frozen == now) or (frozen != frozen and now != now)
    return False


def _contents(array: Any) -> bytes:
    """The bytes of an array; of records those of their fields: copies lose what is between."""
    if not array.dtype.names:
        return bytes(array.tobytes())
    return b"".join(_contents(array[name]) for name in array.dtype.names)


def told(name: str, frozen: Any, now: Any, kernel: str) -> str:
    """The sentence about a changed global."""

    def shown(value: Any) -> str:
        text = repr(value).replace("\n", " ")
        return text if len(text) <= 40 else f"{type(value).__name__} of other contents"

    advice = f"  Pass {name} as an argument, or define {kernel} again after the change."
    if shown(frozen) == shown(now):
        return (
            f"{kernel}: {name} has been defined anew since this was compiled; the launch uses the "
            f"old one, as on a GPU.\n{advice}"
        )
    return (
        f"{kernel}: {name} was {shown(frozen)} when this was compiled and is {shown(now)} now; "
        f"the launch uses {shown(frozen)}, as on a GPU.\n{advice}"
    )
