"""Sums as narrow accumulators make them: every partial sum rounded to a format.

All functions add along the last axis, from the first element to the last, and return float64.

Hopper's fp8 tensor cores, as two public reports describe them: the products of 32 pairs are shifted
to the largest exponent among them, cut off to 13 fraction bits, added, and the sum is kept in a
register with 13 fraction bits (FP22).  Moving the sum to fp32 every 128 products mends it.

Assumption of ours: the register takes part in the shift like one more product, and what falls
off is cut toward zero.  Both reports leave the order inside the 32 open; here it makes none.

Sources: DeepSeek-V3 Technical Report, arXiv 2412.19437, section 3.3.2 and 3.5.2 (128 products);
Insights into DeepSeek-V3, arXiv 2505.09343, section 3.1.1 (32 products, 13 fraction bits, FP22).
"""

from __future__ import annotations

import numpy as np

from .codes import Floats
from .formats import Format, format_of
from .libraries import ml_dtype
from .rounding import Rounding, round_to

GROUP = 32  # products that Hopper aligns together
FRACTION_BITS = 13  # of an aligned product and of its register
PROMOTE_EVERY = 128  # products between two additions in fp32, in DeepSeek-V3

#: Formats that a sum is quick in, through a dtype.
IN_DTYPES = frozenset({"fp32", "fp16", "bf16", "e4m3", "e5m2"})

FP22 = Format("fp22", 8, FRACTION_BITS, 127)


def running_sums(
    values: Floats, fmt: Format | str, rounding: Rounding = "nearest",
    rng: np.random.Generator | None = None,
) -> Floats:  # fmt: skip
    """All partial sums: (..., n) -> (..., n) float64, each rounded to `fmt` before the next.

    The values are added as they are; round them first where they are stored in `fmt`.

    >>> float(running_sums(np.ones(300), "bf16")[-1])
    256.0
    """
    fmt = format_of(fmt)
    wide = _along(values)
    narrow = _narrow(wide, fmt) if rounding == "nearest" else None
    if narrow is not None:
        with np.errstate(all="ignore"):
            return np.add.accumulate(narrow, axis=-1).astype(np.float64) + 0.0
    sums = np.empty_like(wide)
    total = np.zeros(wide.shape[:-1])
    for i in range(wide.shape[-1]):
        total = round_to(total + wide[..., i], fmt, rounding, rng=rng)
        sums[..., i] = total
    return sums


def running_sum(
    values: Floats, fmt: Format | str, rounding: Rounding = "nearest",
    rng: np.random.Generator | None = None,
) -> Floats:  # fmt: skip
    """The last of `running_sums`; 0 for no values."""
    wide = _along(values)
    if not wide.shape[-1]:
        return np.zeros(wide.shape[:-1])[()]
    return running_sums(wide, fmt, rounding, rng)[..., -1]


def kahan_sum(values: Floats, fmt: Format | str) -> Floats:
    """Kahan's sum: a second number of `fmt` keeps what the last rounding lost.

    Every operation is rounded to `fmt`: y = x - lost, t = total + y, lost = (t - total) - y.
    """
    fmt = format_of(fmt)
    wide = _along(values)
    narrow = _narrow(wide, fmt)
    terms = wide if narrow is None else narrow

    def rounded(x: Floats) -> Floats:
        return x if narrow is not None else round_to(x, fmt)

    total = lost = np.zeros(wide.shape[:-1], terms.dtype)
    with np.errstate(all="ignore"):
        for i in range(wide.shape[-1]):
            y = rounded(terms[..., i] - lost)
            t = rounded(total + y)
            lost = rounded(rounded(t - total) - y)
            total = t
        return total.astype(np.float64)[()]


def blocked_sum(
    values: Floats, block: int, fmt: Format | str, outer: Format | str = "fp32"
) -> Floats:
    """Sums of `block` values in `fmt`, added to a total in `outer`: split accumulation."""
    wide = _along(values)
    parts = [running_sum(wide[..., start : start + block], fmt)
             for start in range(0, wide.shape[-1], block)]  # fmt: skip
    if not parts:
        return np.zeros(wide.shape[:-1])[()]
    return running_sum(np.stack(parts, axis=-1), outer)


def hopper_dot(a: Floats, b: Floats, promote_every: int | None = None) -> Floats:
    """The dot product of fp8 values along the last axis, as Hopper's tensor cores accumulate it.

    a, b: (..., n), numbers of an fp8 format.  promote_every: products after which the register is
    added to an fp32 total and cleared, a multiple of 32; None keeps one register to the end.
    """
    if promote_every is not None and (promote_every < GROUP or promote_every % GROUP):
        raise ValueError(f"promote_every is a multiple of {GROUP}; it is {promote_every}.")
    products = np.asarray(a, dtype=np.float64) * np.asarray(b, dtype=np.float64)
    total = register = np.zeros(products.shape[:-1])
    for start in range(0, products.shape[-1], GROUP):
        register = _aligned_sum(products[..., start : start + GROUP], register)
        if promote_every and (start + GROUP) % promote_every == 0:
            total, register = round_to(total + register, "fp32"), np.zeros_like(register)
    return round_to(total + register, "fp32")


def _along(values: Floats) -> Floats:
    wide = np.asarray(values, dtype=np.float64)
    if not wide.ndim:
        raise ValueError("a sum goes along the last axis, and a single number has none.")
    return wide


def _narrow(wide: Floats, fmt: Format) -> Floats | None:
    """The values in a dtype whose own arithmetic rounds to nearest; None where that is not exact.

    ml_dtypes and NumPy add formats of up to 11 significant bits in float32 and round once more:
    float32 has twice as many bits and two to spare, so the second rounding does no harm.
    """
    if fmt.name not in IN_DTYPES:
        return None
    with np.errstate(all="ignore"):
        narrow = wide.astype(ml_dtype(fmt))
    same = narrow.astype(np.float64) == wide
    return narrow if same.all() else None


def _aligned_sum(products: Floats, register: Floats) -> Floats:
    """One step: everything shifted to the largest exponent, cut off, added, cut off again."""
    parts = np.concatenate([products, np.asarray(register)[..., None]], axis=-1)
    largest = np.abs(parts).max(axis=-1, keepdims=True)
    power = np.where(largest > 0, np.frexp(largest)[1] - 1, 0)
    kept = np.ldexp(np.trunc(np.ldexp(parts, FRACTION_BITS - power)), power - FRACTION_BITS)
    return round_to(kept.sum(axis=-1), FP22, "zero")
