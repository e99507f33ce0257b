"""Number formats as data: how many bits of which kind, and what the last codes mean.

A code is the bits of one number, read as an unsigned integer: sign | exponent | mantissa.

    normal:     (-1)^sign * 1.mantissa * 2^(exponent - bias)
    subnormal:  (-1)^sign * 0.mantissa * 2^(1 - bias), where the exponent field is 0

Special codes come in five kinds:
ieee         an exponent of ones is an infinity (mantissa 0) or a NaN
nan          only all ones is a NaN, and there is no infinity: the reach of E4M3 is 448, not 240
finite       every code is a number
fnuz         the code of -0 is the only NaN; no infinity, no negative zero (AMD's first fp8)
scale        no sign, no zero, no mantissa: a power of two, and 0xFF is the NaN

Sources: IEEE 754-2019; OCP 8-bit Floating Point Specification (OFP8) 1.0, 2023; OCP Microscaling
Formats (MX) Specification 1.0, 2023; NVIDIA, PTX ISA, "Alternate Floating-Point Data Formats".
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Special = Literal["ieee", "nan", "finite", "fnuz", "scale"]


class FormatError(ValueError):
    """A format that does not exist, or a value that it has no code for."""


@dataclass(frozen=True)
class Format:
    """One format; codes are integers of `bits` bits.

    >>> E4M3.bits, E4M3.max, E4M3.min_normal, E4M3.eps
    (8, 448.0, 0.015625, 0.125)
    """

    name: str
    exponent_bits: int
    mantissa_bits: int
    bias: int
    special: Special = "ieee"

    @property
    def sign_bits(self) -> int:
        """1, or 0 for a scale."""
        return 0 if self.special == "scale" else 1

    @property
    def bits(self) -> int:
        """Bits of a code.  TF32 has 19; a register or an array keeps it in 32."""
        return self.sign_bits + self.exponent_bits + self.mantissa_bits

    @property
    def codes(self) -> int:
        """How many codes there are: 2^bits."""
        return 1 << self.bits

    @property
    def sign_mask(self) -> int:
        """The sign bit, 0 where there is none."""
        return self.sign_bits << (self.bits - 1)

    @property
    def exponent_mask(self) -> int:
        """The exponent field moved to the right end: as many ones as it has bits."""
        return (1 << self.exponent_bits) - 1

    @property
    def mantissa_mask(self) -> int:
        """As many ones as the mantissa has bits."""
        return (1 << self.mantissa_bits) - 1

    @property
    def min_exponent(self) -> int:
        """The power of two of the smallest normal number; subnormals share it."""
        return -self.bias if self.special == "scale" else 1 - self.bias

    @property
    def max_code(self) -> int:
        """The code of the largest finite number."""
        ones = (1 << (self.exponent_bits + self.mantissa_bits)) - 1
        if self.special == "ieee":
            return ones - (1 << self.mantissa_bits)
        return ones - 1 if self.special in ("nan", "scale") else ones

    @property
    def inf_code(self) -> int | None:
        """The code of +infinity, None where there is none."""
        return self.max_code + 1 if self.special == "ieee" else None

    @property
    def nan_code(self) -> int | None:
        """The code that a NaN is written as; None where there is none.

        IEEE formats have many; this one has all mantissa bits set, as CUDA's conversions give it.
        """
        if self.special == "finite":
            return None
        return self.sign_mask if self.special == "fnuz" else self.codes - 1 - self.sign_mask

    @property
    def max(self) -> float:
        """The largest finite number."""
        exponent = (self.max_code >> self.mantissa_bits) - self.bias
        mantissa = (self.max_code & self.mantissa_mask) + (1 << self.mantissa_bits)
        return math.ldexp(mantissa, exponent - self.mantissa_bits)

    @property
    def min_normal(self) -> float:
        """The smallest positive normal number."""
        return math.ldexp(1.0, self.min_exponent)

    @property
    def min_subnormal(self) -> float | None:
        """The smallest positive number where there are subnormals."""
        if self.special == "scale":
            return None
        return math.ldexp(1.0, self.min_exponent - self.mantissa_bits)

    @property
    def eps(self) -> float:
        """The step from 1 to the next larger number."""
        return math.ldexp(1.0, -self.mantissa_bits)

    def split(self, code: int) -> tuple[int, int, int]:
        """(sign, exponent field, mantissa field) of a code.

        >>> E4M3.split(0b1_0111_100)
        (1, 7, 4)
        """
        exponent = code >> self.mantissa_bits & self.exponent_mask
        return int(bool(code & self.sign_mask)), exponent, code & self.mantissa_mask

    def text(self, code: int) -> str:
        """The bits of a code in their groups.

        >>> E4M3.text(0b10111100)
        '1 0111 100'
        """
        sign, exponent, mantissa = self.split(code)
        parts = [f"{sign}"] if self.sign_bits else []
        parts += [f"{exponent:0{self.exponent_bits}b}"]
        parts += [f"{mantissa:0{self.mantissa_bits}b}"] if self.mantissa_bits else []
        return " ".join(parts)


FP32 = Format("fp32", 8, 23, 127)
TF32 = Format("tf32", 8, 10, 127)
FP16 = Format("fp16", 5, 10, 15)
BF16 = Format("bf16", 8, 7, 127)
E4M3 = Format("e4m3", 4, 3, 7, "nan")
E5M2 = Format("e5m2", 5, 2, 15)
# The same name, other values: an E4M3 with infinities ends at 240.
E4M3_IEEE = Format("e4m3_ieee", 4, 3, 7)
E3M4 = Format("e3m4", 3, 4, 3)
E4M3_FNUZ = Format("e4m3_fnuz", 4, 3, 8, "fnuz")
E5M2_FNUZ = Format("e5m2_fnuz", 5, 2, 16, "fnuz")
E2M3 = Format("e2m3", 2, 3, 1, "finite")
E3M2 = Format("e3m2", 3, 2, 3, "finite")
E2M1 = Format("e2m1", 2, 1, 1, "finite")
E8M0 = Format("e8m0", 8, 0, 127, "scale")

#: Every format by its name.
FORMATS: Mapping[str, Format] = {
    one.name: one
    for one in (FP32, TF32, FP16, BF16, E4M3, E5M2, E4M3_IEEE, E3M4, E4M3_FNUZ, E5M2_FNUZ,
                E2M3, E3M2, E2M1, E8M0)
}  # fmt: skip

#: Names that other libraries use for the same formats.
ALIASES: Mapping[str, str] = {
    "float32": "fp32", "float16": "fp16", "bfloat16": "bf16", "fp4": "e2m1",
    "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2", "float8_e4m3": "e4m3_ieee",
    "float8_e3m4": "e3m4", "float8_e4m3fnuz": "e4m3_fnuz", "float8_e5m2fnuz": "e5m2_fnuz",
    "float6_e2m3fn": "e2m3", "float6_e3m2fn": "e3m2", "float4_e2m1fn": "e2m1",
    "float8_e8m0fnu": "e8m0",
}  # fmt: skip


def format_of(name: Format | str) -> Format:
    """A format by name, ours or a library's.  FormatError says which names there are."""
    if isinstance(name, Format):
        return name
    key = str(name).lower()
    known = FORMATS.get(ALIASES.get(key, key))
    if known is None:
        more = "  fp8 is two formats: e4m3 and e5m2." if key == "fp8" else ""
        raise FormatError(f"no format {name!r}: there are {', '.join(FORMATS)}.{more}")
    return known
