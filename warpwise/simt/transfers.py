"""What can be copied between host and device: one piece of memory of one dtype and shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from .device_memory import check_dtype

GAPS = (
    "{what} is a view with gaps, and only one piece of memory can be copied. "
    "Copy the whole array, or store into the view: array[...] = values."
)


def core(view: Any) -> Any:
    """An array without the axes that only repeat it (stride 0)."""
    if not view.ndim or not view.size:
        return view
    return view[tuple(0 if step == 0 else slice(None) for step in view.strides)]


def is_one_piece(view: Any) -> bool:
    """True for an array without gaps, in either order; repetition does not count."""
    flags = core(view).flags
    return bool(flags.c_contiguous or flags.f_contiguous)


def host_array(ary: Any, what: str) -> Any:
    """The argument, when it is a NumPy array or scalar that can be copied; else TypeError."""
    if not isinstance(ary, (np.ndarray, np.generic)):
        raise TypeError(
            f"{what}: got a {type(ary).__name__}, it takes an array: np.array(...) of it"
        )
    if isinstance(ary, np.ma.MaskedArray):
        raise TypeError(
            f"{what}: got a masked array, whose mask would be lost on the device. "
            "Pass x.filled(value), and x.mask as an array of its own."
        )
    check_dtype(ary.dtype)
    return ary


def check_same(what: str, mine: Any, ary: Any, whose: str, strides: bool = True) -> None:
    """Shape, dtype and strides have to agree; axes of size one do not count."""
    if mine.dtype != ary.dtype:
        raise TypeError(
            f"{what}: incompatible dtype: {mine.dtype} vs. {ary.dtype} of the {whose} array. "
            f"Copies do not convert: use .astype(np.{mine.dtype}) on the host."
        )
    ours = [(n, s) for n, s in zip(mine.shape, mine.strides, strict=True) if n != 1]
    other = [(n, s) for n, s in zip(ary.shape, ary.strides, strict=True) if n != 1]
    if [n for n, _ in ours] != [n for n, _ in other]:
        raise ValueError(
            f"{what}: incompatible shape: {mine.shape} vs. {ary.shape} of the {whose} array. "
            "To copy a part, slice the larger array: array[:n]."
        )
    if strides and ary.size and ours != other:
        raise ValueError(
            f"{what}: incompatible strides: {mine.strides} vs. {ary.strides} of the {whose} array. "
            "Bytes are copied as they lie: both arrays need the same order, C or F."
        )
