"""Bandwidth of a collective as nccl-tests prints it, and the line through its times.

algbw = S / t; busbw = algbw x a factor, so that an algorithm that uses its links fully shows the
link's bandwidth.  S is one rank's buffer for all_reduce, broadcast, reduce and sendrecv, and the
data of all ranks together for the others (nccl-tests: doc/PERFORMANCE.md, the GetBw functions).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .inputs import positive, real, whole
from .network import FabricError

FACTORS = {
    "all_reduce": lambda n: 2 * (n - 1) / n,
    "all_gather": lambda n: (n - 1) / n,
    "reduce_scatter": lambda n: (n - 1) / n,
    "all_to_all": lambda n: (n - 1) / n,
    "gather": lambda n: (n - 1) / n,
    "scatter": lambda n: (n - 1) / n,
    "broadcast": lambda n: 1.0,
    "reduce": lambda n: 1.0,
    "sendrecv": lambda n: 1.0,
    "send": lambda n: 1.0,
    "recv": lambda n: 1.0,
}


def bus_factor(op: str, ranks: int) -> float:
    """busbw / algbw.  At one rank an all-reduce has no bus: 0."""
    if op not in FACTORS:
        raise FabricError(f"no bus factor for {op!r}: there are {', '.join(FACTORS)}.")
    whole(FabricError, ranks=ranks)
    return FACTORS[op](ranks)


def busbw(op: str, ranks: int, nbytes: float, seconds: float) -> float:
    """GB/s (1e9 bytes)."""
    real(FabricError, nbytes=nbytes)
    positive(FabricError, seconds=seconds)
    return nbytes / seconds * bus_factor(op, ranks) / 1e9


@dataclass(frozen=True)
class Fit:
    """t = alpha + factor x S / B, the line with the smallest relative errors.

    alpha in seconds, bandwidth B in bytes a second, errors: (fitted - measured) / measured.
    """

    alpha: float
    bandwidth: float
    factor: float
    errors: tuple[float, ...]
    label: str = field(default="modelled")

    @property
    def worst(self) -> float:
        """Largest error, as a share."""
        return max(abs(error) for error in self.errors)

    @property
    def half(self) -> float:
        """Bytes at which half the bandwidth is reached: alpha B / factor (n 1/2)."""
        return self.alpha * self.bandwidth / self.factor

    def time(self, nbytes: float) -> float:
        """Seconds by the line."""
        return self.alpha + self.factor * nbytes / self.bandwidth


def fit(sizes: Sequence[float], seconds: Sequence[float], factor: float = 1.0) -> Fit:
    """Least squares of the relative errors of alpha + factor x S / B."""
    if len(sizes) != len(seconds) or len(set(sizes)) < 2:
        raise FabricError("a line needs as many times as sizes, and two different sizes.")
    for one, second in zip(sizes, seconds, strict=True):
        real(FabricError, sizes=one)
        positive(FabricError, seconds=second)
    positive(FabricError, factor=factor)
    size, took = np.asarray(sizes, float), np.asarray(seconds, float)
    rows = np.stack([1 / took, factor * size / took], axis=1)
    (alpha, beta), *_ = np.linalg.lstsq(rows, np.ones(len(size)), rcond=None)
    if beta <= 0:
        raise FabricError("these times do not grow with the size: no bandwidth fits them.")
    errors = (alpha + beta * factor * size - took) / took
    return Fit(float(alpha), float(1 / beta), factor, tuple(float(error) for error in errors))
