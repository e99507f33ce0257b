"""The options of @cuda.jit: which there are, and what they may be.

Most of them steer the compiler and change no value; the rest acts here, too: debug=True makes a
division by zero raise, launch_bounds limits the block, extensions convert arguments.
"""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Callable, Mapping
from typing import Any

from .errors import LaunchError, OptionError

NAMES = (
    "cache", "debug", "extensions", "fastmath", "forceinline", "inline", "launch_bounds",
    "lineinfo", "link", "lto", "max_registers", "opt", "shared_memory_carveout",
)  # fmt: skip
BOUNDS = ("threads of a block", "blocks of a multiprocessor", "blocks of a cluster")
CARVEOUTS = ("default", "maxl1", "maxshared")
#: Options of numba.jit that people try, and what to do instead.
ELSEWHERE = {
    "nopython": "Leave it out: @cuda.jit always compiles.",
    "parallel": "Leave it out: a kernel is parallel by its launch, kernel[blocks, threads].",
    "boundscheck": "Leave it out: the simulator always checks; on a GPU use compute-sanitizer.",
    "argtypes": "Give the signature as the first argument: @cuda.jit('void(float32[:])').",
    "restype": "Give the signature as the first argument: @cuda.jit('void(float32[:])').",
    "bind": "Leave it out: the kernel is loaded at its first launch.",
}


class OptionWarning(UserWarning):
    """Options of @cuda.jit that do not go together."""


def _bounds(value: Any) -> str:
    parts = value if isinstance(value, tuple) else (value,)
    if not 1 <= len(parts) <= len(BOUNDS):
        return (
            f"Got {len(parts)} launch bounds: {value}. There are one to three: {', '.join(BOUNDS)}"
        )
    if any(isinstance(n, bool) or not isinstance(n, int) or n < 1 for n in parts):
        return f"launch_bounds is made of positive integers, got {value!r}"
    return ""


def _registers(value: Any) -> str:
    good = isinstance(value, int) and not isinstance(value, bool) and value > 0
    return "" if good else f"max_registers is a positive integer, got {value!r}"


def _carveout(value: Any) -> str:
    if isinstance(value, str) and value.lower() not in CARVEOUTS:
        words = ", ".join(CARVEOUTS)
        return f"Invalid carveout value: {value!r}. It can be {words} or -1 to 100"
    if not isinstance(value, str) and not (isinstance(value, int) and -1 <= value <= 100):
        return f"shared_memory_carveout must be between -1 and 100, got {value!r}"
    return ""


CHECKS: dict[str, Callable[[Any], str]] = {
    "launch_bounds": _bounds, "max_registers": _registers, "shared_memory_carveout": _carveout,
}  # fmt: skip


def check_options(options: Mapping[str, Any], device: bool) -> None:
    """Refuse what Numba refuses, with a sentence; warn where it warns."""
    for name, value in options.items():
        if name not in NAMES:
            near = difflib.get_close_matches(name, NAMES, 1)
            advice = ELSEWHERE.get(name) or (
                f"Did you mean {near[0]}?" if near else f"There are {', '.join(NAMES)}."
            )
            raise OptionError(f"@cuda.jit has no option {name}.\n  {advice}")
        if value is not None and name in CHECKS and (wrong := CHECKS[name](value)):
            raise OptionError(f"@cuda.jit: {wrong}.")
    if device and options.get("link"):
        raise OptionError("@cuda.jit: link is for kernels, not for device functions.")
    if options.get("debug"):
        if options.get("opt", True):
            _warn("debug=True needs opt=False, too: optimised code with debugging may crash.")
        if options.get("lineinfo"):
            _warn("debug=True and lineinfo=True exclude each other; debug has the line numbers.")


def _warn(text: str) -> None:
    warnings.warn(f"@cuda.jit: {text}", OptionWarning, stacklevel=4)


def largest_block(options: Mapping[str, Any]) -> int | None:
    """The threads of a block that launch_bounds allows; None without."""
    bounds = options.get("launch_bounds")
    if bounds is None:
        return None
    return int(bounds[0] if isinstance(bounds, tuple) else bounds)


def check_bounds(options: Mapping[str, Any], threads: int) -> None:
    """LaunchError for a block that is larger than launch_bounds says."""
    limit = largest_block(options)
    if limit is not None and threads > limit:
        raise LaunchError(
            f"the kernel is compiled with launch_bounds={limit}, and a block has {threads} "
            "threads: a GPU refuses the launch. Use smaller blocks, or a larger bound."
        )
