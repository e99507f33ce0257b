"""What stands for Triton where it is not installed: kernels can be written down, not launched."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from .errors import TileError

WHY = (
    "Triton is not installed here; it exists for Linux only (in Windows: WSL).  The outputs that "
    "the lesson was saved with can be read anywhere."
)


def missing() -> TileError:
    """The error of everything that needs Triton."""
    return TileError(WHY, "absent")


class Name:
    """A name of Triton's language, good for annotations and for the text of kernels."""

    def __init__(self, path: str) -> None:
        self.path = path

    def __getattr__(self, name: str) -> Name:
        if name.startswith("__"):
            raise AttributeError(name)
        return Name(f"{self.path}.{name}")

    def __call__(self, *args: Any, **named: Any) -> Any:
        raise missing()

    def __repr__(self) -> str:
        return self.path


class Kernel:
    """A function under @triton.jit.  A launch raises TileError with diagnosis "absent"."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        functools.update_wrapper(self, fn)

    def __getitem__(self, grid: Any) -> Any:
        raise missing()

    def __call__(self, *args: Any, **named: Any) -> Any:
        raise missing()


def _jit(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    return Kernel(fn) if fn is not None else Kernel


def cdiv(n: int, d: int) -> int:
    """Tiles of d that cover n."""
    return -(-n // d)


def next_power_of_2(n: int) -> int:
    """The smallest power of two that is not below n."""
    return 1 << max(n - 1, 0).bit_length()


tl = Name("triton.language")
triton = SimpleNamespace(jit=_jit, cdiv=cdiv, next_power_of_2=next_power_of_2, language=tl)
