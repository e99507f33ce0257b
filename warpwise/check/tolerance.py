"""Tolerance: how far a value may be from the reference, by dtype, and said in words.

got   what the kernel wrote, in the dtype of its output
want  the reference in higher precision; a masked element is one that must stay unwritten
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Tolerance:
    """A value passes when |got - want| <= absolute + relative * |want|."""

    relative: float = 0.0
    absolute: float = 0.0

    def __str__(self) -> str:
        if not self.relative and not self.absolute:
            return "exact"
        parts = [(self.relative, "relative"), (self.absolute, "absolute")]
        said = [f"{size:g} {kind}".replace("e-0", "e-") for size, kind in parts if size]
        return f"within {' + '.join(said)}"


# About a hundred rounding steps of the dtype, and far less than the next smaller dtype is wrong by.
BY_DTYPE = {
    "float64": Tolerance(1e-12, 1e-13),
    "float32": Tolerance(1e-5, 1e-6),
    "float16": Tolerance(5e-3, 5e-4),
    "bfloat16": Tolerance(2e-2, 2e-3),
    "complex128": Tolerance(1e-12, 1e-13),
    "complex64": Tolerance(1e-5, 1e-6),
}

# The next smaller format, and the error of passing through it as a share of the largest value met:
# four times half a unit in the last place (2**-24 and 2**-11), for inputs and result together.
REDUCED = {"float64": ("float32", 4 * 2.0**-24), "float32": ("float16", 4 * 2.0**-11)}


def for_dtype(dtype: Any) -> Tolerance:
    """The default tolerance; integers and booleans are exact."""
    return BY_DTYPE.get(np.dtype(dtype).name, Tolerance())


def close(got: np.ndarray, want: np.ndarray, tolerance: Tolerance) -> np.ndarray:
    """Element by element, is `got` right?  NaN only equals NaN, an infinity only itself."""
    if not tolerance.relative and not tolerance.absolute and want.dtype.kind in "iub":
        return np.asarray(got == want)
    with np.errstate(all="ignore"):
        wide = np.complex128 if "c" in (got.dtype.kind, want.dtype.kind) else np.float64
        a, b = got.astype(wide), want.astype(wide)
        near = np.abs(a - b) <= tolerance.absolute + tolerance.relative * np.abs(b)
    finite = np.isfinite(a) & np.isfinite(b)
    special = (a == b) | (np.isnan(a) & np.isnan(b))
    return np.where(finite, near, special)
