"""What a tool is given: `kernel[grid, block]` of either backend, and its arguments."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

Dim3 = tuple[int, int, int]


def parts(launch: Any) -> tuple[Any, Dim3, Dim3]:
    """(kernel, grid, block) of `kernel[grid, block]`; the kernel is the simulator's.

    Raises TypeError with a sentence for anything else, such as a kernel without a launch shape.
    """
    from warpwise.simt import as_kernel

    kernel = getattr(launch, "kernel", None) or getattr(launch, "dispatcher", None)
    if kernel is None:
        name = getattr(launch, "__name__", "kernel")
        raise TypeError(
            f"give the kernel with its launch shape, {name}[blocks, threads], then its arguments."
        )
    grid = launch.grid if hasattr(launch, "grid") else launch.griddim
    block = launch.block if hasattr(launch, "block") else launch.blockdim
    return as_kernel(kernel), three(grid), three(block)


def shared_bytes(launch: Any) -> int:
    """The dynamic shared memory of a launch, in bytes."""
    return int(getattr(launch, "sharedmem", 0) or 0)


def three(dims: Any) -> Dim3:
    """A launch shape with all three axes: `three(4)` is (4, 1, 1)."""
    given = dims if isinstance(dims, tuple | list) else (dims,)
    x, y, z = (*(int(extent) for extent in given), 1, 1)[:3]
    return x, y, z


def on_host(args: Sequence[Any]) -> list[Any]:
    """Copies of the arguments in host memory, so that a drawing changes nothing."""
    return [
        arg.copy_to_host() if hasattr(arg, "copy_to_host")
        else np.copy(arg) if isinstance(arg, np.ndarray) else arg
        for arg in args
    ]  # fmt: skip


def listened(
    kernel: Any, grid: Dim3, block: Dim3, args: Sequence[Any], observer: Any, dynamic: int = 0
) -> Any:
    """Run a kernel in the simulator on copies of `args`, with an observer; the finished run.

    Raises what the launch itself would raise, without the simulator's own frames: the message is
    enough.
    """
    from warpwise.simt import SimtError, run

    try:
        return run(kernel, grid, block, on_host(args), (observer,), dynamic)
    except SimtError as error:
        if error.__cause__ is not None:  # a fault of the simulator's, which is told in full
            raise
        raise error.with_traceback(None) from None
