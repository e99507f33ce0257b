"""Floats that NumPy does not have: Triton's interpreter keeps their codes in integers.

code  the bits of a bfloat16 or fp8 value, as uint16 or uint8
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

#: Triton's name -> the NumPy dtype of the same bits.
DTYPES = {
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "fp8e5": np.dtype(ml_dtypes.float8_e5m2),
    "fp8e4nv": np.dtype(ml_dtypes.float8_e4m3fn),
}
FLOATS = {"fp16": np.dtype("f2"), "fp32": np.dtype("f4"), "fp64": np.dtype("f8"), **DTYPES}


def is_narrow(kind: Any) -> bool:
    """Is this Triton type kept as codes?  Also true of the fp8 types that are not read here."""
    return kind.scalar.name not in ("fp16", "fp32", "fp64") and bool(kind.scalar.is_floating())


def widened(data: np.ndarray, kind: Any) -> np.ndarray:
    """Codes as float32, exactly; other values as they are."""
    if not is_narrow(kind):
        return data
    return np.ascontiguousarray(data).view(DTYPES[kind.scalar.name]).astype(np.float32)


def rounded(values: np.ndarray, kind: Any) -> np.ndarray:
    """Floats as a Triton float type, to nearest even; fp8 saturates, as a GPU's conversion does."""
    name = kind.scalar.name
    dtype = FLOATS[name]
    if name.startswith("fp8"):
        limit = float(ml_dtypes.finfo(dtype).max)
        values = np.clip(values.astype(np.float32), -limit, limit)
    found = values.astype(dtype)
    return found.view(f"u{dtype.itemsize}") if name in DTYPES else found
