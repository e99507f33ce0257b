"""Makes `from numba import cuda` mean the simulator in this process.

Only the host names are replaced (jit, to_device, ...).  The device names of numba.cuda stay what
they are, since the lowering knows them, and Numba's compiler itself is left alone.
"""

from __future__ import annotations

from typing import Any

_saved: dict[str, Any] = {}


def install() -> None:
    """Replace numba.cuda's host functions by the simulator's; doing it twice changes nothing."""
    from numba import cuda

    from . import api

    if _saved:
        return
    for name in api.__all__:
        _saved[name] = getattr(cuda, name, None)
        setattr(cuda, name, getattr(api, name))


def uninstall() -> None:
    """Put numba.cuda's own functions back."""
    from numba import cuda

    for name, value in _saved.items():
        if value is None:
            delattr(cuda, name)
        else:
            setattr(cuda, name, value)
    _saved.clear()
