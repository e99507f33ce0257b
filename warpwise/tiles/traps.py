"""Where Triton's interpreter of the installed version differs from a GPU, found by trying.

probe  asks a builder (the interpreter's own, or the one used here) for one operation; True where
       the answer is not what a GPU gives
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .absent import missing


@dataclass(frozen=True)
class Trap:
    """One difference.  holds: in the installed Triton; here: what this package does about it."""

    name: str
    holds: bool
    what: str
    here: str

    def __str__(self) -> str:
        return f"{self.name:<18}{'yes' if self.holds else 'no':<5}{self.what}  Here: {self.here}."


def traps() -> tuple[Trap, ...]:
    """Every known difference, tried on Triton's own interpreter; takes milliseconds.

    Raises TileError where Triton is not installed.
    """
    try:
        from triton.runtime.interpreter import InterpreterBuilder
    except ImportError:
        raise missing() from None

    return tuple(
        Trap(name, holds(probe, InterpreterBuilder()), what, here)
        for name, (probe, what, here) in PROBES.items()
    )


def holds(probe: Callable[[Any], bool], builder: Any) -> bool:
    """Does a builder fall into the trap?  An operation that fails counts."""
    with np.errstate(all="ignore"):
        try:
            return bool(probe(builder))
        except Exception:  # what the interpreter raises differs by version
            return True


def _handle(values: Any, kind: str) -> Any:
    import triton.language as tl
    from triton.runtime.interpreter import TensorHandle

    return TensorHandle(np.array(values), getattr(tl, kind))


def _kind(name: str) -> Any:
    import triton.language as tl

    return getattr(tl, name)


_ONE, _TWO = np.uint16(0x3F80), np.uint16(0x4000)  # as bfloat16


def _bf16_dot(builder: Any) -> bool:
    from triton.runtime.interpreter import _ir

    ones = _handle(np.full((16, 16), _ONE), "bfloat16")
    zeros = _handle(np.zeros((16, 16), np.float32), "float32")
    found = builder.create_dot(ones, ones, zeros, _ir.INPUT_PRECISION.IEEE, 0)
    return bool((found.data != 16).any())


def _bf16_arithmetic(builder: Any) -> bool:
    one = _handle([_ONE], "bfloat16")
    return bool(builder.create_fadd(one, one).data[0] != _TWO)


def _bf16_rounding(builder: Any) -> bool:
    """1 + 3/512 lies nearer to 1 + 4/512 than to 1."""
    found = builder.create_fp_trunc(
        _handle(np.array([1 + 3 / 512], np.float32), "float32"), _kind("bfloat16")
    )
    return bool(found.data[0] != _ONE + 1)


def _nan_maximum(builder: Any) -> bool:
    nan, three = (_handle(np.array([v], np.float32), "float32") for v in (np.nan, 3.0))
    return bool(builder.create_maxnumf(nan, three).data[0] != 3)


def _condition_type(builder: Any) -> bool:
    two = _handle(np.array([2.0], np.float32), "float32")
    return bool(builder.create_fcmpOLT(two, two).dtype != _kind("int1"))


def _shift_in_place(builder: Any) -> bool:
    value = _handle(np.array([8], np.uint32), "uint32")
    builder.create_ashr(value, _handle(np.array([1], np.uint32), "uint32"))
    return bool(value.data.dtype != np.uint32)


def _small_dot(builder: Any) -> bool:
    half = _kind("float16")
    return bool(builder.codegen_fns["min_dot_size"](half, half)[2] < 16)


def _overflow_stops(builder: Any) -> bool:
    return bool(builder.options.sanitize_overflow)


def _constant_bf16(builder: Any) -> bool:
    return bool(builder.get_bf16(1.0).data[0] != _ONE)


#: name -> (probe, what the interpreter does, what is done here)
PROBES: dict[str, tuple[Callable[[Any], bool], str, str]] = {
    "bf16_dot": (
        _bf16_dot, "tl.dot of bfloat16 multiplies the codes as integers: garbage.",
        "the inputs are widened, exactly, and summed in the accumulator's type",
    ),
    "bf16_arithmetic": (
        _bf16_arithmetic, "Arithmetic of bfloat16 and fp8 works on the codes: garbage.",
        "computed in float32 and rounded once; reductions of them are refused",
    ),
    "bf16_rounding": (
        _bf16_rounding, "float32 to bfloat16 cuts the digits off.", "rounded to nearest even",
    ),
    "bf16_constant": (
        _constant_bf16, "A constant of bfloat16 cannot be made.", "it is made",
    ),
    "nan_maximum": (
        _nan_maximum, "tl.maximum of NaN and 3 is NaN; a GPU gives 3.", "3, as on a GPU",
    ),
    "condition_type": (
        _condition_type, "A comparison keeps the type of what it compares.", "it is a condition",
    ),
    "shift_in_place": (
        _shift_in_place, "x >> 1 changes the type of x itself.", "x stays as it is",
    ),
    "small_dot": (
        _small_dot, "tl.dot takes tiles that no tensor core has.",
        "refused where K is below 16 (32 for 8-bit inputs), as by the compiler",
    ),
    "overflow_stops": (
        _overflow_stops, "An integer that overflows stops the kernel.", "it wraps, as on a GPU",
    ),
}  # fmt: skip
