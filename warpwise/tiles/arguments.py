"""The arguments of a launch: NumPy arrays and torch tensors on the CPU, numbers, constants."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from .errors import TileError

#: NumPy's or torch's name of a dtype -> Triton's.
_NAMES = {
    "float16": "float16", "bfloat16": "bfloat16", "float32": "float32", "float64": "float64",
    "int8": "int8", "int16": "int16", "int32": "int32", "int64": "int64", "uint8": "uint8",
    "uint16": "uint16", "uint32": "uint32", "uint64": "uint64", "bool": "int1",
    "float8_e4m3fn": "float8e4nv", "float8_e5m2": "float8e5",
}  # fmt: skip
_CODES = ("bfloat16", "float8_e4m3fn", "float8_e5m2")


def is_tensor(value: Any) -> bool:
    """Is this a torch tensor?  Asks without importing torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def on_host(value: Any) -> bool:
    """Is this an array in the memory of the host?"""
    return isinstance(value, np.ndarray) or (is_tensor(value) and value.device.type == "cpu")


def as_array(name: str, value: Any) -> tuple[np.ndarray, str]:
    """(the memory as NumPy sees it, Triton's name of its element type); nothing is copied.

    bfloat16 and fp8 come as their codes.  Raises TileError for other dtypes, and for a tensor that
    is not on the CPU.
    """
    dtype = str(value.dtype).removeprefix("torch.")
    if dtype not in _NAMES:
        text = f"{name} has dtype {dtype}, which Triton does not have."
        raise TileError(text, "launch", pointer=name)
    if is_tensor(value):
        import torch

        if value.device.type != "cpu":
            text = f"{name} is on {value.device}; this run needs it on the CPU: {name}.cpu()."
            raise TileError(text, "launch", pointer=name)
        value = value.detach()
        if dtype in _CODES:
            value = value.view(torch.uint16 if dtype == "bfloat16" else torch.uint8)
        return value.numpy(), _NAMES[dtype]
    if dtype in _CODES:
        value = value.view(f"u{value.itemsize}")
    return value, _NAMES[dtype]
