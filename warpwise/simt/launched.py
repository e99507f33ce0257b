"""A kernel with its launch configuration."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from . import host_log
from .allocation import HostVisibleArray
from .arguments import ArgumentHint
from .dimensions import configuration, shared_bytes
from .errors import LaunchError, SimtError
from .launch import Run

if TYPE_CHECKING:
    from .kernel import Kernel


class Launch:
    """A kernel with its launch configuration, ready to be called."""

    def __init__(
        self, kernel: Kernel, grid: Any, block: Any, sharedmem: int = 0, stream: Any = 0
    ) -> None:
        self.kernel = kernel
        self.stream = stream
        self.grid, self.block = configuration(grid, block)
        self.sharedmem = shared_bytes(sharedmem)
        #: Functions of (kernel, launch) that are called before each launch.
        self.pre_launch_callbacks: list[Callable[[Kernel, Launch], Any]] = []

    def __getstate__(self) -> dict[str, Any]:
        """What goes into a pickle."""
        if self.pre_launch_callbacks:
            raise pickle.PicklingError(
                "Cannot pickle configured launches with pre-launch callbacks. Pickle the kernel, "
                "and configure it again."
            )
        return self.__dict__

    @property
    def griddim(self) -> tuple[int, int, int]:
        """The blocks of the launch, under Numba's name."""
        return self.grid

    @property
    def blockdim(self) -> tuple[int, int, int]:
        """The threads of a block, under Numba's name."""
        return self.block

    def __call__(self, *args: Any, **named: Any) -> None:
        if named:
            raise LaunchError(
                f"{self.kernel.name}: the arguments of a launch are given by position, in the "
                f"order ({', '.join(self.kernel.parameters)})."
            )
        for callback in self.pre_launch_callbacks:
            callback(self.kernel, self)
        touched = host_log.TouchedPlaces() if host_log.listening() else None
        watching = (touched,) if touched else ()
        try:
            run = self.kernel.run(self.grid, self.block, args, watching, self.sharedmem)
        except SimtError as error:
            if error.__cause__ is not None:
                raise
            raise error.with_traceback(None) from None
        if touched:
            _tell(self, args, run, touched)
        run.warn()

    def __repr__(self) -> str:
        return f"{self.kernel.name}[{self.grid}, {self.block}]"


def _tell(launch: Launch, args: Sequence[Any], run: Run, touched: host_log.TouchedPlaces) -> None:
    """Tell of a launch: a host array goes to the device before it, and comes back after it."""
    back = []
    for name, value in zip(launch.kernel.parameters, args, strict=True):
        hint = value if isinstance(value, ArgumentHint) else None
        host = value.value if hint else value
        if not isinstance(host, np.ndarray) or isinstance(host, HostVisibleArray):
            continue
        on_device = run.arguments[name].root.buf
        if hint is None or hint.copied_in:
            host_log.tell_copy("h2d", launch.stream, host, on_device)
        if hint is None or hint.copied_back:
            back.append((host, on_device))
    host_log.tell(
        "kernel", launch.stream, name=launch.kernel.name, reads=touched.reads,
        writes=touched.writes,
    )  # fmt: skip
    for host, on_device in back:
        host_log.tell_copy("d2h", launch.stream, host, on_device)
