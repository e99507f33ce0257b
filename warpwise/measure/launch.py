"""measure(): the time of one launch on the GPU that is here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..machine import backend, gpu_problem
from .device import EventClock
from .sampling import ROUNDS, Measurement, sample


class NoGpuError(RuntimeError):
    """There is no GPU to measure on."""


def measure(
    launch: Any,
    *args: Any,
    reference: Callable[[], Any] | None = None,
    rounds: int = ROUNDS,
) -> Measurement:
    """Time `kernel[grid, block]` with these arguments, kernel only.

    Arrays are copied to the device once, before; the originals stay as they are.
    reference  a call to time in between, such as a library's
    Raises NoGpuError without a GPU.
    """
    if backend() != "gpu":
        raise NoGpuError(f"nothing was measured: {gpu_problem() or 'the simulator was asked for'}.")
    from numba import cuda

    there = tuple(
        cuda.to_device(a.copy_to_host() if hasattr(a, "copy_to_host") else a)
        if hasattr(a, "copy_to_host") or isinstance(a, np.ndarray) else a
        for a in args
    )  # fmt: skip
    candidates: dict[str, Callable[[], Any]] = {"launch": lambda: launch(*there)}
    if reference is not None:
        candidates["reference"] = reference
    versus = "reference" if reference else None
    return sample(candidates, EventClock(), versus, rounds=rounds)["launch"]
