"""Codes to bytes: numbers of 4 and 6 bits share bytes, the first in the lowest bits.

Two codes of 4 bits make a byte, four of 6 bits make three.  So the first of a pair is the low
half, as in PyTorch's float4_e2m1fn_x2 and in CUDA's __nv_fp4x2_storage_t.
"""

from __future__ import annotations

import numpy as np

from .codes import Ints
from .formats import FormatError


def pack(codes: Ints, bits: int) -> np.ndarray:
    """The bytes of codes along the last axis: (..., n) integers -> (..., n * bits / 8) uint8.

    FormatError when n codes do not fill whole bytes, or a code needs more bits.

    >>> [hex(byte) for byte in pack([0x1, 0x7, 0xF, 0x0], 4)]
    ['0x71', '0xf']
    """
    codes = np.asarray(codes)
    if codes.dtype.kind not in "iu" or not codes.ndim:
        raise FormatError(f"codes are integers along an axis; these are {codes.dtype}.")
    codes = codes.astype(np.int64)
    if codes.shape[-1] * bits % 8:
        raise FormatError(f"{codes.shape[-1]} codes of {bits} bits do not fill whole bytes.")
    if codes.size and (codes.min() < 0 or codes.max() >> bits):
        raise FormatError(f"a code of {bits} bits is 0 to {(1 << bits) - 1}.")
    stream = (codes[..., None] >> np.arange(bits) & 1).astype(np.uint8)
    flat = stream.reshape(*codes.shape[:-1], codes.shape[-1] * bits)
    return np.packbits(flat, axis=-1, bitorder="little")


def unpack(packed: np.ndarray, bits: int) -> Ints:
    """The codes in bytes: (..., m) uint8 -> (..., 8 * m / bits) int64.  The inverse of `pack`."""
    packed = np.asarray(packed, dtype=np.uint8)
    if packed.shape[-1] * 8 % bits:
        raise FormatError(f"{packed.shape[-1]} bytes do not hold whole codes of {bits} bits.")
    stream = np.unpackbits(packed, axis=-1, bitorder="little")
    groups = stream.reshape(*packed.shape[:-1], packed.shape[-1] * 8 // bits, bits)
    return (groups.astype(np.int64) << np.arange(bits)).sum(axis=-1)
