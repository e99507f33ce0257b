"""`cuda.random`: Numba's generators, with states that are made here without a GPU.

The device functions are Numba's own, so their values are, too.  States come from the same
algorithm: SplitMix64 of the seed, then 2**64 steps of xoroshiro128+ from each to the next.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numba
import numpy as np
from numba.cuda.random import (
    init_xoroshiro128p_state,
    init_xoroshiro128p_states,
    init_xoroshiro128p_states_cpu,
    xoroshiro128p_dtype,
    xoroshiro128p_jump,
    xoroshiro128p_next,
    xoroshiro128p_normal_float32,
    xoroshiro128p_normal_float64,
    xoroshiro128p_type,
    xoroshiro128p_uniform_float32,
    xoroshiro128p_uniform_float64,
)

from .allocation import device_array
from .device_array import DeviceNDArray

__all__ = [
    "create_xoroshiro128p_states", "init_xoroshiro128p_state", "init_xoroshiro128p_states",
    "init_xoroshiro128p_states_cpu", "xoroshiro128p_dtype", "xoroshiro128p_jump",
    "xoroshiro128p_next", "xoroshiro128p_normal_float32", "xoroshiro128p_normal_float64",
    "xoroshiro128p_type", "xoroshiro128p_uniform_float32", "xoroshiro128p_uniform_float64",
]  # fmt: skip


def create_xoroshiro128p_states(
    n: int, seed: int, subsequence_start: int = 0, stream: Any = 0
) -> DeviceNDArray:
    """A device array of `n` generator states for a seed; the same as Numba's."""
    host = np.empty(n, xoroshiro128p_dtype)
    # Numba takes the seed modulo 2**64, too.
    _cached()(host, np.uint64(int(seed) % 2**64), subsequence_start)
    states = device_array(n, xoroshiro128p_dtype)
    states.copy_to_device(host)
    return states


@cache
def _cached() -> Any:
    """Numba's loop over the states; its own is compiled anew in each process, this one kept."""
    return numba.njit(cache=True)(init_xoroshiro128p_states_cpu.py_func)


def warm() -> None:
    """Compile the loop, so that the first states are made fast."""
    create_xoroshiro128p_states(1, 0)
