"""`@cuda.jit`: makes kernels and device functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .declared import normalise
from .device_functions import DeviceFunction
from .errors import LaunchError, TypingError
from .kernel import Kernel
from .names import parameters_of
from .options import check_options
from .source import LiveScope, source_of
from .typing import Type


def jit(
    func_or_sig: Any = None, device: bool = False, **options: Any
) -> Any:  # options are the compiler's: fastmath, lineinfo, debug, opt, cache, max_registers...
    """@cuda.jit: makes a Kernel, or with device=True a DeviceFunction."""
    if func_or_sig is not None and callable(func_or_sig) and hasattr(func_or_sig, "__code__"):
        return _make(func_or_sig, device, [], options)
    signatures = [] if func_or_sig is None else normalise(func_or_sig, device)

    def decorate(fn: Any) -> Any:
        return _make(fn, device, signatures, options)

    return decorate


def _make(
    fn: Any,
    device: bool,
    signatures: list[tuple[tuple[Type, ...], Type | None]],
    options: Mapping[str, Any],
) -> Any:
    if isinstance(fn, (Kernel, DeviceFunction)):
        raise LaunchError(f"{fn.__name__} has @cuda.jit twice; one is enough.")
    check_options(options, device)
    source = source_of(fn)
    count = len(parameters_of(source.tree))
    for types_, _ in signatures:
        if len(types_) != count:
            raise TypingError(
                f"{source.name} has {count} parameters, its signature {len(types_)} types."
            )
    if device:
        return DeviceFunction(source, LiveScope(fn), fn, signatures, options)
    kernel = Kernel(source, LiveScope(fn), fn, [types_ for types_, _ in signatures], options)
    for signature in kernel.explicit:
        kernel.compile(signature)  # as Numba: with a signature, errors show at the definition
    kernel.specialized = len(kernel.explicit) == 1
    return kernel
