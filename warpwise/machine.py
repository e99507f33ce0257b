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
        warnings.warn(f"a GPU is here, but kernels run in the simulator: {reason}.", stacklevel=3)
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
        return _said(error)
    return "" if out[0] == 1 else "a first kernel ran but stored nothing"


#: What a driver's error contains -> what it means and the way on.
#: Source: CUDA Driver API, CUresult.
_MEANINGS = {
    "UNSUPPORTED_PTX_VERSION": (
        "the driver is older than the PTX that Numba's compiler writes; install a newer NVIDIA "
        "driver (nvidia-smi shows the one that is here)"
    ),
    "INSUFFICIENT_DRIVER": "the driver is too old for this CUDA; install a newer NVIDIA driver",
    "NOT_PERMITTED": "this account may not use the GPU; ask whoever runs the machine for access",
    "NO_BINARY_FOR_GPU": "this GPU is too old for the compiler that is installed",
    "INVALID_PTX": "the driver refused the compiler's code; install a newer NVIDIA driver",
    "DEVICES_UNAVAILABLE": "the GPU is reserved for another process",
    "ECC_UNCORRECTABLE": "the GPU's memory has an error; restart the machine",
}


def _said(error: Exception) -> str:
    """An error in a sentence: its meaning where it is a known one, and its own first line."""
    text = f"{type(error).__name__}: {(str(error).strip() or 'no message').splitlines()[0]}"
    known = next((said for sign, said in _MEANINGS.items() if sign in str(error)), "")
    return f"{known} ({text})" if known else text


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
