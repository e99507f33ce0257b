"""A kernel with its launch configuration."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .errors import LaunchError, SimtError
from .launch import configuration, shared_bytes

if TYPE_CHECKING:
    from .kernel import Kernel


class Launch:
    """A kernel with its launch configuration, ready to be called."""

    def __init__(self, kernel: Kernel, grid: Any, block: Any, sharedmem: int = 0) -> None:
        self.kernel = kernel
        self.grid, self.block = configuration(grid, block)
        self.sharedmem = shared_bytes(sharedmem)
        #: Functions of (kernel, launch) that are called before each launch.
        self.pre_launch_callbacks: list[Callable[[Kernel, Launch], Any]] = []

    def __call__(self, *args: Any, **named: Any) -> None:
        if named:
            raise LaunchError(
                f"{self.kernel.name}: the arguments of a launch are given by position, in the "
                f"order ({', '.join(self.kernel.parameters)})."
            )
        for callback in self.pre_launch_callbacks:
            callback(self.kernel, self)
        try:
            run = self.kernel.run(self.grid, self.block, args, sharedmem=self.sharedmem)
        except SimtError as error:
            if error.__cause__ is not None:
                raise
            raise error.with_traceback(None) from None
        run.warn()

    def __repr__(self) -> str:
        return f"{self.kernel.name}[{self.grid}, {self.block}]"
