"""Runs a case in the simulator and in the reference, and says where they differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from warpwise.simt import Kernel, TypingError
from warpwise.simt.api import to_device

from . import grid
from .grid import Trace
from .typed import Refused
from .writer import PARAMETERS, Case

OUTPUTS = [name for name in PARAMETERS.split(", ") if name.startswith("out") or name == "hist"]


def expected(case: Case) -> tuple[list[Any], Trace]:
    """The arguments after the launch, and what the threads did.

    Raises a `Refused` when Numba does not accept the kernel, a `Fault` when CUDA does not define
    what it does.
    """
    args = case.arguments()
    kernel = grid.prepare(case.text, args)
    return args, grid.launch(kernel, case.grid, case.block, args)


def simulated(case: Case, order: str = "lockstep", seed: int = 0) -> list[Any]:
    """The outputs after the launch in the simulator."""
    args = case.arguments(to_device)
    Kernel.from_source(case.text, "k").run(case.grid, case.block, args, order=order, seed=seed)
    outputs = args[: len(OUTPUTS)]
    return [a.copy_to_host() if hasattr(a, "copy_to_host") else a for a in outputs]


def difference(got: list[Any], want: list[Any]) -> str:
    """The first element that differs; empty when none does.

    Integers and floats have to be equal to the last bit; a NaN equals a NaN.  Complex products may
    be fused, so they may differ by rounding.
    """
    for name, a, b in zip(OUTPUTS, got, want, strict=False):
        same = (a == b) | ((a != a) & (b != b))
        if a.dtype.kind == "c":
            same = np.isclose(a, b, rtol=1e-5, atol=1e-5, equal_nan=True)
        if not same.all():
            at = tuple(int(k) for k in np.argwhere(~same)[0])
            return f"{name}{list(at)} is {a[at]!r}, compiled code gives {b[at]!r}"
    return ""


def compare(case: Case, serial: int = 1) -> str:
    """Lockstep and `serial` warp-serial orders against the reference; empty when all agree.

    Both may refuse the kernel, too.
    """
    try:
        want, trace = expected(case)
    except Refused as error:
        try:
            simulated(case)
        except TypingError:
            return ""
        return f"Numba refuses this kernel: {error}"
    if trace.unset:
        return f"{trace.places[trace.unset[0]]} reads an element that has no value"
    orders = [("lockstep", 0), *(("warp-serial", case.seed + k) for k in range(serial))]
    for order, seed in orders:
        text = difference(simulated(case, order, seed), want)
        if text:
            return f"{order}: {text}"
    return ""
