"""Which machine runs the kernels: the GPU when there is one that works, else the simulator.

`WARPWISE_BACKEND=gpu` or `sim` decides instead.
"""

from __future__ import annotations

import os
import warnings
from functools import cache
from types import ModuleType


@cache
def backend() -> str:
    """ "gpu" or "sim"."""
    wish = os.environ.get("WARPWISE_BACKEND", "").strip().lower()
    if wish not in ("", "gpu", "sim"):
        raise ValueError(f"WARPWISE_BACKEND is {wish!r}; it can be gpu or sim.")
    if wish:
        return wish
    reason = gpu_problem()
    if reason and not reason.startswith("no GPU"):
        warnings.warn(f"a GPU is here, but kernels run in the simulator: {reason}", stacklevel=3)
    return "sim" if reason else "gpu"


@cache
def gpu_problem() -> str:
    """Why kernels cannot run on a GPU here; empty when they can."""
    try:
        from numba import cuda
    except ImportError as error:
        return f"no GPU support in this Numba ({error})"
    try:
        if not cuda.is_available():
            return "no GPU, or no driver for it"
        import numpy as np

        out = np.zeros(1, np.int32)
        cuda.jit(_store_one)[1, 1](out)
    except Exception as error:  # drivers fail in many ways, and each one means the simulator
        return f"{type(error).__name__}: {str(error).strip().splitlines()[0]}"
    return "" if out[0] == 1 else "a first kernel ran but stored nothing"


def _store_one(out):  # type: ignore[no-untyped-def]
    out[0] = 1


def chosen_module() -> ModuleType:
    """The module behind `warpwise.cuda`."""
    if backend() == "gpu":
        from numba import cuda

        module: ModuleType = cuda
        return module
    from .simt import api, install

    install()  # a file that says `from numba import cuda` means the same
    return api
