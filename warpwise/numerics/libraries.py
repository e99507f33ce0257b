"""The same formats in ml_dtypes and PyTorch, and where the two differ from each other.

Both are right about values; they differ in what they do with a value that has no code.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from .codes import Ints
from .formats import Format, FormatError, format_of

_ML: Mapping[str, Any] = {
    "fp32": np.float32, "fp16": np.float16, "bf16": ml_dtypes.bfloat16,
    "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
    "e4m3_ieee": ml_dtypes.float8_e4m3, "e3m4": ml_dtypes.float8_e3m4,
    "e4m3_fnuz": ml_dtypes.float8_e4m3fnuz, "e5m2_fnuz": ml_dtypes.float8_e5m2fnuz,
    "e2m3": ml_dtypes.float6_e2m3fn, "e3m2": ml_dtypes.float6_e3m2fn,
    "e2m1": ml_dtypes.float4_e2m1fn, "e8m0": ml_dtypes.float8_e8m0fnu,
}  # fmt: skip
_TORCH: Mapping[str, str] = {
    "fp32": "float32", "fp16": "float16", "bf16": "bfloat16", "e4m3": "float8_e4m3fn",
    "e5m2": "float8_e5m2", "e4m3_fnuz": "float8_e4m3fnuz", "e5m2_fnuz": "float8_e5m2fnuz",
    "e8m0": "float8_e8m0fnu",
}  # fmt: skip


def ml_dtype(fmt: Format | str) -> np.dtype[Any]:
    """The NumPy dtype of a format, from ml_dtypes where NumPy has none.  TF32 has none."""
    fmt = format_of(fmt)
    if fmt.name not in _ML:
        raise FormatError(f"neither NumPy nor ml_dtypes has a dtype for {fmt.name}.")
    return np.dtype(_ML[fmt.name])


def torch_dtype(fmt: Format | str) -> Any:
    """The torch.dtype of a format that PyTorch can convert to and from."""
    import torch

    fmt = format_of(fmt)
    if fmt.name not in _TORCH:
        raise FormatError(f"PyTorch does not convert to {fmt.name}; it has {', '.join(_TORCH)}.")
    return getattr(torch, _TORCH[fmt.name])


def ml_codes(values: Any, fmt: Format | str) -> Ints:
    """The codes that ml_dtypes gives to float32 values: int64."""
    dtype = ml_dtype(fmt)
    with np.errstate(all="ignore"):
        kept = np.asarray(values, dtype=np.float32).astype(dtype)
    return kept.view(f"u{dtype.itemsize}").astype(np.int64)


def torch_codes(values: Any, fmt: Format | str) -> Ints:
    """The codes that PyTorch gives to float32 values on the CPU: int64."""
    import torch

    dtype = torch_dtype(fmt)
    kept = torch.tensor(np.asarray(values, dtype=np.float32)).to(dtype)
    unsigned = {1: torch.uint8, 2: torch.int16, 4: torch.int32}[kept.element_size()]
    return kept.view(unsigned).numpy().astype(np.int64) & (format_of(fmt).codes - 1)


@dataclass(frozen=True)
class Difference:
    """A float32 value that the libraries write differently: their codes, None for refused."""

    fmt: str
    value: float
    ours: int | None
    ml_dtypes: int
    torch: int | None
    why: str


#: ml_dtypes 0.6.0 and PyTorch 2.13.0 on the CPU.  A test asks both again.
DIFFERENCES = (
    Difference("e4m3", 465.0, 0x7F, 0x7F, 0x7E, "overflow: NaN; PyTorch saturates to 448"),
    Difference("e4m3", np.inf, 0x7F, 0x7F, 0x7E, "infinity: NaN; PyTorch saturates to 448"),
    Difference("e5m2", np.nan, 0x7F, 0x7E, 0x7F, "three codes are NaN; each is one"),
    Difference("e8m0", 0.0, None, 0xFF, 0x00, "no zero: NaN, or the smallest; ours refuses"),
    Difference("e8m0", -1.0, None, 0xFF, 0x7F, "no sign: NaN, or the sign is lost; ours refuses"),
    Difference("e8m0", 1.25 * 2.0**-127, 0, 1, 1, "a subnormal float32: both round it away"),
    Difference("e2m1", np.nan, None, 0x8, None, "no NaN: ml_dtypes writes -0; ours refuses"),
)
