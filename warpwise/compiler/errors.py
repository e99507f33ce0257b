"""What can go wrong between a kernel and its machine code."""

from __future__ import annotations


class CompilerError(Exception):
    """A kernel could not be compiled; the message says where, why and what to do."""


class CompilerMissingError(CompilerError):
    """A part of the compiler is not installed."""


class ArchitectureError(CompilerError):
    """An architecture that does not exist, or that the installed compiler cannot produce."""


class KernelTypeError(CompilerError):
    """Numba's compiler refused a type.  `original` is its own message, in full."""

    def __init__(self, message: str, original: str = "") -> None:
        super().__init__(message)
        self.original = original

    def _repr_html_(self) -> str:
        from html import escape

        return (
            f"<pre>{escape(str(self))}</pre><details><summary>Numba's own message</summary>"
            f"<pre>{escape(self.original)}</pre></details>"
        )
