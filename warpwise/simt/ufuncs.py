"""cuda.vectorize and cuda.guvectorize: kernels that Numba writes around a function of scalars.

Numba's text of such a kernel and its handling of shapes and types are used as they are; the kernel
itself becomes one of the simulator's.
"""

from __future__ import annotations

from typing import Any

from .kernel import Kernel
from .source import LiveScope, functions_in


class _Template(str):
    """A template that remembers the last text made of it."""

    made = ""

    def format(self, *args: object, **kwargs: object) -> str:
        self.made = super().format(*args, **kwargs)
        return self.made


def replacements() -> list[tuple[Any, str, Any]]:
    """(owner, name, value): what has to change in Numba's builders of ufuncs."""
    try:
        from numba.cuda import vectorizers
    except ImportError:  # a Numba without them
        return []
    found: list[tuple[Any, str, Any]] = []
    for owner, text in (
        (vectorizers.CUDAVectorize, vectorizers.vectorizer_stager_source),
        (vectorizers.CUDAGUFuncVectorize, vectorizers._gufunc_stager_source),
    ):
        found.append((owner, "_kernel_template", _remembering(text)))
        found.append((owner, "_compile_kernel", _compile_kernel))
    return found


def _remembering(text: str) -> property:
    def template(self: Any) -> _Template:
        known: _Template = self.__dict__.setdefault("_warpwise_template", _Template(text))
        return known

    return property(template)


def _compile_kernel(self: Any, fnobj: Any, sig: Any) -> Kernel:
    """Instead of the kernel that needs a GPU: the simulator's, from the text just made."""
    source = functions_in(self._kernel_template.made)[1][fnobj.__name__]
    return Kernel(source, LiveScope(fnobj), fnobj)
