"""Kernels and device functions in pickles: the function goes along by value, as in Numba.

pickle itself takes functions by their name, under which it finds the kernel.
"""

from __future__ import annotations

import pickle
import threading
from typing import Any

_INSIDE = threading.local()


class Picklable:
    """Goes into a pickle through Numba's pickler."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        if getattr(_INSIDE, "pickler", False):
            return super().__reduce_ex__(protocol)
        from numba.core import serialize

        _INSIDE.pickler = True
        try:
            data = serialize.dumps(self)
        finally:
            _INSIDE.pickler = False
        return pickle.loads, (data,)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self
