"""The clock of a real GPU: events on the null stream, and what nvidia-smi says of its state."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

#: L2 of the largest part in the table is 126 MB; writing twice that leaves nothing of before.
FLUSH_BYTES = 256 << 20

_FIELDS = {
    "sm_clock_mhz": "clocks.sm", "memory_clock_mhz": "clocks.mem", "temperature_c":
    "temperature.gpu", "power_w": "power.draw", "throttle": "clocks_event_reasons.active",
}  # fmt: skip


class EventClock:
    """Times calls on the current GPU.  `flush` overwrites the L2 cache."""

    def __init__(self) -> None:
        from numba import cuda

        self._cuda = cuda
        gpu = cuda.get_current_device()
        name = gpu.name
        self.device = name.decode() if isinstance(name, bytes) else str(name)
        self._flush = cuda.device_array(FLUSH_BYTES, np.uint8)
        self._fill = 0

    def time(self, call: Callable[[], Any]) -> tuple[float, float]:
        """(ms between two events, ms the host waited).  The device is idle before and after."""
        cuda = self._cuda
        start, end = cuda.event(), cuda.event()
        cuda.synchronize()
        began = time.perf_counter()
        start.record()
        call()
        end.record()
        cuda.synchronize()  # the whole device: work on other streams counts for the host's clock
        waited = (time.perf_counter() - began) * 1000
        return float(cuda.event_elapsed_time(start, end)), waited

    def flush(self) -> None:
        """Write more than L2 holds."""
        self._fill ^= 1
        self._cuda.cudadrv.driver.device_memset(self._flush, self._fill, FLUSH_BYTES)
        self._cuda.synchronize()

    def state(self) -> Mapping[str, Any]:
        """Clocks, temperature, power and throttle reasons; empty where nvidia-smi is missing."""
        if shutil.which("nvidia-smi") is None:
            return {}
        try:
            done = subprocess.run(
                ["nvidia-smi", f"--query-gpu={','.join(_FIELDS.values())}",
                 "--format=csv,noheader,nounits", "--id=0"],
                capture_output=True, text=True, timeout=10, check=True,
            )  # fmt: skip
        except (OSError, subprocess.SubprocessError):
            return {}
        cells = [cell.strip() for cell in done.stdout.splitlines()[0].split(",")]
        found: dict[str, Any] = {}
        for name, cell in zip(_FIELDS, cells, strict=False):
            try:
                found[name] = float(cell)
            except ValueError:
                found[name] = "none" if cell in ("0x0000000000000000", "[N/A]") else cell
        return found
