"""Makes `from numba import cuda` mean the simulator in this process.

Only the host names are replaced (jit, to_device, ...).  The device names of numba.cuda stay what
they are, since the lowering knows them, and Numba's compiler itself is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_saved: list[tuple[Any, str, Any]] = []
_ABSENT = object()


def install() -> None:
    """Replace numba.cuda's host functions by the simulator's; doing it twice changes nothing."""
    from numba import cuda

    from . import api, native, ufuncs

    if _saved:
        return
    places = [(cuda, name, getattr(api, name)) for name in api.__all__]
    # Programs ask isinstance(x, cuda.devicearray.DeviceNDArray), or for its longer names.
    for owner in (cuda.cudadrv.devicearray, getattr(cuda, "devicearray", None)):
        if owner is not None:
            places.append((owner, "DeviceNDArray", api.DeviceNDArray))
    for name in ("Stream", "Event"):
        places.append((cuda.cudadrv.driver, name, getattr(api, name)))
    for owner, name, value in places + ufuncs.replacements() + native.replacements():
        _saved.append((owner, name, getattr(owner, name, _ABSENT)))
        setattr(owner, name, value)


def uninstall() -> None:
    """Put numba.cuda's own functions back."""
    for owner, name, value in reversed(_saved):
        if value is _ABSENT:
            delattr(owner, name)
        else:
            setattr(owner, name, value)
    _saved.clear()


@contextmanager
def installed() -> Iterator[None]:
    """The simulator in the place of numba.cuda for a `with` block, whatever it was before."""
    before = bool(_saved)
    install()
    try:
        yield
    finally:
        if not before:
            uninstall()


@contextmanager
def uninstalled() -> Iterator[None]:
    """numba.cuda as it comes for a `with` block, whatever it was before."""
    before = bool(_saved)
    uninstall()
    try:
        yield
    finally:
        if before:
            install()
