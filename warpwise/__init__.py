"""Warpwise: what a notebook of the course may import."""

from __future__ import annotations

from typing import Any

__all__ = [
    "backend", "check", "compare", "cuda", "explain", "mma_m16n8k8", "mma_m16n8k16", "profile",
    "run_ranks", "sanitize", "show_threads",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    # Loaded at first use: `python -m warpwise doctor` has to start on a broken installation.
    if name == "cuda":
        from importlib import import_module

        return import_module("warpwise.cuda")
    if name in ("check", "show_steps", "show_threads"):
        from .machine import chosen_module

        chosen_module()
    if name == "check":
        from .check import check

        return check
    if name in ("compare", "show_steps", "show_threads"):
        from . import show

        return getattr(show, name)
    if name in ("explain", "profile"):
        from importlib import import_module

        return getattr(import_module("warpwise.answers"), name)
    if name.startswith("mma_"):
        from .simt.mma import MMAS

        if name in MMAS:
            return MMAS[name]
    if name == "run_ranks":
        from .ranks import run_ranks

        return run_ranks
    if name == "sanitize":
        from .observe import sanitize

        return sanitize
    raise AttributeError(f"module 'warpwise' has no attribute {name!r}")


def backend() -> str:
    """Where kernels run here: "gpu" or "sim"."""
    from .machine import backend as chosen

    return chosen()
