"""The Jupyter kernel `warpwise`: IPython's, where `from numba import cuda` needs no GPU.

    python -m warpwise.setup.kernel -f {connection_file}

A notebook from elsewhere imports numba.cuda and nothing of ours.  When it does, and no GPU works
here, the simulator takes its place; numba is not imported before the notebook asks for it.
"""

from __future__ import annotations

import importlib.abc
import importlib.util
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

WATCHED = "numba.cuda"


class AfterNumba(importlib.abc.MetaPathFinder):
    """Finds numba.cuda as Python would, and runs `then` once it is loaded."""

    def __init__(self, then: Callable[[], None]) -> None:
        self._then = then
        self._looking = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of numba.cuda, with a loader that calls back; None for everything else."""
        if fullname != WATCHED or self._looking:
            return None
        self._looking = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._looking = False
        if spec is not None and spec.loader is not None:
            load: Any = spec.loader.exec_module

            def load_and_call(module: ModuleType) -> None:
                load(module)
                self._then()

            spec.loader.exec_module = load_and_call  # type: ignore[method-assign]
        return spec


def use_simulator_without_gpu() -> None:
    """Replace numba.cuda's host functions unless a GPU works."""
    from warpwise.machine import chosen_module

    chosen_module()


def main() -> None:
    """Start IPython's kernel with the import watched."""
    sys.meta_path.insert(0, AfterNumba(use_simulator_without_gpu))
    from ipykernel.kernelapp import IPKernelApp

    IPKernelApp.launch_instance()


if __name__ == "__main__":
    main()
