"""Block scaling: a few numbers in a small format share a scale, so the format's reach moves along.

value = element * scale            MX formats: 32 elements, the scale a power of two (E8M0)
value = element * scale * tensor   NVFP4: 16 elements, the scale an E4M3, one fp32 for the tensor

Blocks lie along the last axis, which their size must divide.  With rows=16 a block of NVFP4 is
square, 16 x 16, as Transformer Engine scales weights: then a tensor and its transpose have the same
values.  Each row still keeps a scale for each of its 16 elements; that layout is an assumption of
ours.

Two rules make the exponent of an MX scale from amax, the largest magnitude of a block:
up      the smallest power of two with amax / scale <= largest element: nothing is cut off
floor   2^(floor(log2 amax) - exponent of the largest element): elements may be cut off

Arithmetic is float64 and rounded once, where a GPU divides in float32: an element that lies on
the middle between two numbers to 24 bits may come out as the other of the two.

Sources: OCP Microscaling Formats (MX) Specification 1.0, sections 5 and 6.3 (the rule floor);
NVIDIA Transformer Engine documentation, "MXFP8" (the rule up) and "NVFP4" (both scales, square
blocks), 2026-08.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from .codes import Floats, Ints, decode
from .formats import E2M1, E2M3, E3M2, E4M3, E5M2, E8M0, Format, FormatError
from .packing import pack, unpack
from .rounding import Rounding, encode, round_to

ScaleRule = Literal["up", "floor"]


@dataclass(frozen=True)
class BlockFormat:
    """Elements, the scale that a block of them shares, and whether the tensor has one as well.

    >>> MXFP8.bytes_per_block, MXFP4.bytes_per_block, NVFP4.bytes_per_block
    (33, 17, 9)
    """

    name: str
    element: Format
    scale: Format
    block: int
    tensor_scale: bool = False

    @property
    def bytes_per_block(self) -> int:
        """Elements and scale of one block; the scale of the tensor is not in it."""
        return (self.element.bits * self.block + self.scale.bits) // 8

    @property
    def bits_per_value(self) -> float:
        """Bits that one value costs, its share of the scale included."""
        return 8 * self.bytes_per_block / self.block


MXFP8 = BlockFormat("mxfp8", E4M3, E8M0, 32)
MXFP8_E5M2 = BlockFormat("mxfp8_e5m2", E5M2, E8M0, 32)
MXFP6_E2M3 = BlockFormat("mxfp6_e2m3", E2M3, E8M0, 32)
MXFP6_E3M2 = BlockFormat("mxfp6_e3m2", E3M2, E8M0, 32)
MXFP4 = BlockFormat("mxfp4", E2M1, E8M0, 32)
NVFP4 = BlockFormat("nvfp4", E2M1, E4M3, 16, tensor_scale=True)

#: Every block format by its name.
BLOCK_FORMATS: Mapping[str, BlockFormat] = {
    one.name: one for one in (MXFP8, MXFP8_E5M2, MXFP6_E2M3, MXFP6_E3M2, MXFP4, NVFP4)
}


@dataclass(frozen=True)
class Blocked:
    """A tensor in a block format, as bytes: what a GPU would load.

    elements: (..., n * bits / 8) uint8, packed;  scales: (..., n / block) uint8, codes;
    tensor: the scale of the whole tensor, 1.0 for MX formats.
    """

    fmt: BlockFormat
    elements: np.ndarray
    scales: np.ndarray
    tensor: np.float32

    @property
    def nbytes(self) -> int:
        """Bytes of elements and scales, and the four of the tensor's scale where there is one."""
        return self.elements.nbytes + self.scales.nbytes + 4 * self.fmt.tensor_scale

    @property
    def codes(self) -> Ints:
        """The codes of the elements, one in each place."""
        return unpack(self.elements, self.fmt.element.bits)

    def dequantise(self) -> Floats:
        """The values: element * scale * tensor, float64, which holds them exactly."""
        values = _in_blocks(decode(self.codes, self.fmt.element), self.fmt.block)
        scales = decode(self.scales, self.fmt.scale)[..., None] * float(self.tensor)
        return (values * scales).reshape(*self.scales.shape[:-1], -1)


def block_format_of(name: BlockFormat | str) -> BlockFormat:
    """A block format by name; FormatError says which there are."""
    if isinstance(name, BlockFormat):
        return name
    if name.lower() not in BLOCK_FORMATS:
        raise FormatError(f"no block format {name!r}: there are {', '.join(BLOCK_FORMATS)}.")
    return BLOCK_FORMATS[name.lower()]


def quantise(
    values: Floats, fmt: BlockFormat | str, *, rows: int = 1, rule: ScaleRule = "up",
    rounding: Rounding = "nearest", rng: np.random.Generator | None = None,
) -> Blocked:  # fmt: skip
    """Values in a block format: a scale for each block, elements rounded and never overflowing.

    rows: neighbouring rows that share a scale, 16 for NVFP4's square blocks of weights.
    rule: how an MX scale is made; NVFP4 has one rule.  rounding, rng: for the elements, as in
    `encode`.  FormatError: the last axis is no multiple of the block, the one before it no multiple
    of `rows`; NaN or infinity in NVFP4.
    A block of MX with a NaN or an infinity gets the scale NaN, as the specification has it.
    """
    fmt = block_format_of(fmt)
    wide = np.asarray(values, dtype=np.float64)
    if wide.ndim == 0 or wide.shape[-1] % fmt.block:
        length = wide.shape[-1] if wide.ndim else "no"
        raise FormatError(f"the last axis has {length} elements, and a block of {fmt.name} has "
                          f"{fmt.block}: pad it.")  # fmt: skip
    blocks = _in_blocks(wide, fmt.block)
    amax = _shared(np.abs(blocks).max(axis=-1), rows)
    tensor = np.float32(1.0)
    if fmt.tensor_scale:
        tensor = tensor_scale(float(amax.max(initial=0.0)), fmt)
        scales = encode(amax / fmt.element.max / float(tensor), fmt.scale, saturate=True)
    else:
        scales = mx_scales(amax, fmt, rule)
    unit = decode(scales, fmt.scale) * float(tensor)
    usable = np.isfinite(unit) & (unit > 0)
    shrunk = np.where(usable[..., None], blocks / np.where(usable, unit, 1.0)[..., None], 0.0)
    codes = encode(shrunk, fmt.element, rounding, saturate=True, rng=rng)
    packed = pack(codes.reshape(wide.shape), fmt.element.bits)
    return Blocked(fmt, packed, scales.astype(np.uint8), tensor)


def mx_scales(amax: Floats, fmt: BlockFormat, rule: ScaleRule = "up") -> Ints:
    """The E8M0 codes for the largest magnitudes of blocks; the smallest scale for a block of 0."""
    amax = np.asarray(amax, dtype=np.float64)
    finite = np.isfinite(amax)
    known = np.where(finite & (amax > 0), amax, fmt.scale.min_normal)
    if rule == "up":
        codes = encode(known / fmt.element.max, fmt.scale, "up", saturate=True)
    elif rule == "floor":
        power = math.frexp(fmt.element.max)[1] - 1
        codes = encode(np.ldexp(known, -power), fmt.scale, "zero", saturate=True)
    else:
        raise FormatError(f"no rule {rule!r} for scales: there are up and floor.")
    return np.where(finite, np.where(amax > 0, codes, 0), fmt.scale.nan_code or 0)


def tensor_scale(amax: float, fmt: BlockFormat = NVFP4) -> np.float32:
    """NVFP4's scale of a tensor: amax / (448 * 6), so that no block scale exceeds 448; 1 for 0."""
    if not math.isfinite(amax):
        raise FormatError(f"{fmt.name} has no code for NaN or infinity in the values.")
    scale = round_to(amax / (fmt.scale.max * fmt.element.max), "fp32")
    return np.float32(scale if scale > 0 else 1.0)


def scaled_matmul(a: Blocked, b: Blocked) -> Floats:
    """a @ b.T from the blocks: (m, k) and (n, k) -> (m, n) float64.

    Each pair of blocks is multiplied as elements, then scaled once, as a tensor core does it.
    Blocks lie along k in both.  The accumulation is float64: only the order differs from
    a.dequantise() @ b.dequantise().T.
    """
    if a.fmt.block != b.fmt.block or a.scales.shape[-1] != b.scales.shape[-1]:
        raise FormatError("both need the same number of blocks of the same size along k.")
    left = _in_blocks(decode(a.codes, a.fmt.element), a.fmt.block)
    right = _in_blocks(decode(b.codes, b.fmt.element), b.fmt.block)
    dots = np.einsum("mkx,nkx->mnk", left, right)
    scales = decode(a.scales, a.fmt.scale)[:, None] * decode(b.scales, b.fmt.scale)[None, :]
    return (dots * scales).sum(axis=-1) * float(a.tensor) * float(b.tensor)


def _shared(amax: Floats, rows: int) -> Floats:
    """The largest of each `rows` neighbouring rows, in all of them: (..., m, blocks) as it was."""
    if rows == 1:
        return amax
    if amax.ndim < 2 or rows < 1 or amax.shape[-2] % rows:
        count = amax.shape[-2] if amax.ndim > 1 else 1
        raise FormatError(f"blocks of {rows} rows do not divide {count} rows: pad them.")
    tall = amax.reshape(*amax.shape[:-2], amax.shape[-2] // rows, rows, amax.shape[-1])
    return np.repeat(tall.max(axis=-2), rows, axis=-2)


def _in_blocks(values: np.ndarray, block: int) -> np.ndarray:
    return values.reshape(*values.shape[:-1], values.shape[-1] // block, block)
