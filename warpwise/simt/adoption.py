"""Kernels and device functions behind what others made: numba.cuda.jit, @jit and @njit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .device_functions import DeviceFunction
from .kernel import Kernel
from .launch import Observer, Run
from .launched import Launch
from .source import LiveScope, source_of


def as_kernel(value: Any) -> Kernel:
    """The simulator's kernel for `value`: one of ours, or one that numba.cuda.jit made."""
    if isinstance(value, Kernel):
        return value
    if isinstance(value, Launch):
        return value.kernel
    fn = getattr(value, "py_func", None)
    if fn is not None and callable(fn):
        known: Kernel | None = getattr(fn, "_warpwise_kernel", None)
        if known is None:
            options = getattr(value, "targetoptions", None)
            known = Kernel(source_of(fn), LiveScope(fn), fn, options=options)
            fn._warpwise_kernel = known
        return known
    if callable(value) and hasattr(value, "__code__"):
        raise TypeError(f"{value.__name__} is not a kernel: put @cuda.jit above its def.")
    raise TypeError(f"a kernel is a function under @cuda.jit, not {type(value).__name__}.")


def device_function_of(value: Any) -> DeviceFunction | None:
    """The device function for what a kernel calls: a kernel, or what numba's jit made.

    Numba compiles any @cuda.jit, @jit or @njit function that a kernel calls as a device function.
    """
    if isinstance(value, Kernel):
        if value.as_device is None:
            value.as_device = DeviceFunction(
                value.source, value.scope, value.py_func, options=value.options
            )
        return value.as_device
    fn = getattr(value, "py_func", None)
    if fn is None or not type(value).__module__.startswith("numba"):
        return None
    known: DeviceFunction | None = getattr(fn, "_warpwise_device", None)
    if known is None:
        explicit = []
        if not getattr(value, "_can_compile", True):  # made with signatures
            explicit = [(args, made.signature.return_type)
                        for args, made in value.overloads.items()]  # fmt: skip
        known = DeviceFunction(source_of(fn), LiveScope(fn), fn, explicit)
        fn._warpwise_device = known
    return known


def run(
    kernel: Any,
    grid: Any,
    block: Any,
    args: Sequence[Any],
    observers: Sequence[Observer] = (),
    sharedmem: int = 0,
    order: str = "lockstep",
    seed: int = 0,
) -> Run:
    """Launch a kernel in the simulator, whatever backend it was made for; see Kernel.run."""
    return as_kernel(kernel).run(grid, block, args, observers, sharedmem, order, seed)
