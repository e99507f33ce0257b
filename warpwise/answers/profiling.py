"""profile() of a notebook: a launch's counters, and on a GPU its measured time beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from .. import hardware
from ..hardware import Device, bound
from ..machine import backend
from ..measure import FasterThanPhysicsError, Measurement, NoGpuError, measure
from ..measure.ncu import NcuError, installed, ncu_counters
from ..observe.profiler import profile as count
from ..observe.report import Report
from .work import work_of


def profile(
    launch: Any, *args: Any, reference: Callable[[], Any] | None = None, ncu: bool = True
) -> Report:
    """Count what `kernel[grid, block]` does with these arguments; on a GPU, time it as well.

    The counters are the simulator's, whatever runs the kernel.  On a GPU the report also carries
    `measured`, the time by events, or why there is none; and `by_ncu`, Nsight Compute's numbers
    for the same metrics, where `ncu` is installed.
    Arrays are written as by one ordinary launch.

    reference  a call to time in between, such as a library's, for the ratio of the two
    ncu        False leaves Nsight Compute out: it starts a process of its own, which takes seconds
    Raises SimtError as the launch would.
    """
    before = [_on_host(arg) for arg in args] if backend() == "gpu" else []
    report = counted(launch, args)
    if backend() != "gpu":
        return report
    gpu = hardware.recognised(gpu_name())
    floor_ms = bound(work_of(report, gpu), gpu).low_ms if gpu else 0.0
    measured, problem = timed(launch, before, gpu, floor_ms, reference)
    found, refused = _by_ncu(launch, before, report) if ncu and installed() else ({}, "")
    said = "; ".join(text for text in (problem, refused) if text)
    return replace(report, measured=measured, not_measured=said, by_ncu=found)


def counted(launch: Any, args: tuple[Any, ...]) -> Report:
    """The counters of a launch.  The simulator works in host memory: an array that lies on a GPU is
    copied there and back."""
    here = [arg.copy_to_host() if _elsewhere(arg) else arg for arg in args]
    report = count(launch, *here)
    for given, host in zip(args, here, strict=True):
        if given is not host:
            given.copy_to_device(host)
    return report


def timed(
    launch: Any, args: Any, gpu: Device | None, floor_ms: float,
    reference: Callable[[], Any] | None = None,
) -> tuple[Measurement | None, str]:  # fmt: skip
    """(time on the GPU that is here, or why there is none).

    The modelled floor is that of `gpu`, so it guards only what was measured on such a one.
    """
    try:
        measured = measure(launch, *args, reference=reference)
        if gpu is not None and hardware.recognised(measured.device) == gpu:
            measured = measured.against(floor_ms)
    except (NoGpuError, FasterThanPhysicsError) as error:
        return None, str(error)
    return measured, ""


def _by_ncu(launch: Any, args: list[Any], report: Report) -> tuple[dict[str, float], str]:
    """(metric -> its number by Nsight Compute, why there is none)."""
    wanted = [metric for metric in report.metrics() if ", " not in metric]
    try:
        return ncu_counters(launch, args, wanted), ""
    except NcuError as error:
        return {}, str(error)


def _elsewhere(arg: Any) -> bool:
    """Whether an argument is an array on a GPU; the simulator's own device arrays are not."""
    return backend() == "gpu" and hasattr(arg, "copy_to_host")


def _on_host(arg: Any) -> Any:
    """A copy in host memory of an array, before the launch changes it; else the argument."""
    if hasattr(arg, "copy_to_host"):
        return arg.copy_to_host()
    return arg.copy() if isinstance(arg, np.ndarray) else arg


def gpu_name() -> str:
    """What the driver calls the GPU that is here."""
    from numba import cuda

    name = cuda.get_current_device().name
    return name.decode() if isinstance(name, bytes) else str(name)
