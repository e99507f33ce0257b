"""cuda.reduce: sums and other reductions of an array by a function of two values.

Numba writes the kernels; they run in the simulator, so that values are combined in the same order.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .device_array import DeviceNDArray
from .install import installed
from .launch import KernelNote


class Reduce:
    """A reduction: `total = Reduce(lambda a, b: a + b)(array)`; also the decorator @cuda.reduce."""

    def __init__(self, functor: Callable[[Any, Any], Any]) -> None:
        from numba.cuda.kernels.reduction import Reduce as Native

        self._native = Native(functor)

    def __call__(
        self, arr: Any, size: int | None = None, res: Any = None, init: Any = 0, stream: Any = 0
    ) -> Any:
        """The reduction of a 1-D host or device array, or of its first `size` elements.

        `init` is combined with the result.  With `res`, a device array, the result goes into its
        first element, and None is returned.
        """
        if not isinstance(arr, (np.ndarray, DeviceNDArray)):
            raise TypeError(f"a reduction takes an array, got a {type(arr).__name__}")
        if arr.ndim != 1:
            raise TypeError(f"a reduction takes a 1-D array, this one has {arr.ndim} dimensions")
        with installed(), warnings.catch_warnings():
            warnings.simplefilter("ignore", KernelNote)  # notes about Numba's kernels help nobody
            return self._native(arr, size=size, res=res, init=init, stream=stream)


reduce = Reduce
