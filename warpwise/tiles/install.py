"""`kernel[grid](...)` as Triton writes it, on a machine without a GPU."""

from __future__ import annotations

from typing import Any

from .arguments import on_host
from .run import default_device, run


def install() -> None:
    """Let launches of Triton kernels run on the CPU where the course uses no GPU.

    Where it uses one, arrays of the host are copied there and back, as Numba does.  Nothing happens
    where Triton is not installed, and on a second call.  Decided at each launch, so it does not
    matter whether a notebook imports Triton or this package first.
    """
    try:
        from triton.runtime.jit import JITFunction
    except ImportError:
        return
    compiled = JITFunction.run
    if getattr(compiled, "__module__", "") == __name__:
        return

    def launch(self: Any, *args: Any, grid: Any, warmup: bool, **named: Any) -> Any:
        device = "cpu" if warmup else default_device()
        if warmup or (device == "gpu" and not any(map(on_host, (*args, *named.values())))):
            return compiled(self, *args, grid=grid, warmup=warmup, **named)
        return run(self, grid, *args, device=device, **named)

    JITFunction.run = launch
