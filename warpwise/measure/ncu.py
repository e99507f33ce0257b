"""Nsight Compute's own counters for a launch, where `ncu` is installed.

The launch is repeated in a process of its own under `ncu`; function and arguments travel by
cloudpickle, so that kernels of a notebook work.
"""

from __future__ import annotations

import csv
import io
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_CHILD = """
import sys, cloudpickle
from numba import cuda
with open(sys.argv[1], "rb") as file:
    function, grid, block, shared, arguments = cloudpickle.load(file)
cuda.jit(function)[grid, block, 0, shared](*[
    cuda.to_device(a) if hasattr(a, "dtype") and getattr(a, "ndim", 0) else a for a in arguments
])
cuda.synchronize()
"""


class NcuError(RuntimeError):
    """ncu is missing, not allowed, or said nothing."""


def installed() -> bool:
    """Whether `ncu` is on the PATH."""
    return shutil.which("ncu") is not None


def ncu_counters(launch: Any, args: Sequence[Any], metrics: Sequence[str]) -> dict[str, float]:
    """Metric -> value, as ncu counts them for one launch.

    Raises NcuError: not installed, or counters are reserved for administrators on this machine.
    """
    tool = shutil.which("ncu")
    if tool is None:
        raise NcuError("ncu is not on the PATH: Nsight Compute is not installed here.")
    import cloudpickle

    function = launch.dispatcher.py_func
    here = tuple(a.copy_to_host() if hasattr(a, "copy_to_host") else a for a in args)
    with tempfile.TemporaryDirectory(prefix="warpwise-") as folder:
        parcel, child = Path(folder, "launch.pickle"), Path(folder, "child.py")
        parcel.write_bytes(cloudpickle.dumps(
            (function, launch.griddim, launch.blockdim, launch.sharedmem, here)
        ))  # fmt: skip
        child.write_text(_CHILD, encoding="utf-8")
        done = subprocess.run(
            [tool, "--csv", "--metrics", ",".join(metrics), "--target-processes", "all",
             sys.executable, str(child), str(parcel)],
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
    if "ERR_NVGPUCTRPERM" in done.stdout + done.stderr:
        raise NcuError(
            "this machine lets only administrators read GPU counters. NVIDIA's page on "
            "ERR_NVGPUCTRPERM says how they can be opened."
        )
    return parse(done.stdout)


def parse(output: str) -> dict[str, float]:
    """The metrics in ncu's CSV page, of its last kernel."""
    start = output.find('"ID"')
    if start < 0:
        last = "\n".join(output.strip().splitlines()[-3:])
        raise NcuError(f"ncu printed no counters: {last}")
    found: dict[str, float] = {}
    for row in csv.DictReader(io.StringIO(output[start:])):
        try:
            found[row["Metric Name"]] = float(row["Metric Value"].replace(",", ""))
        except (KeyError, TypeError, ValueError):
            continue
    return found
