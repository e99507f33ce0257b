"""How much memory there is: asked before an allocation that could be too large.

The system hands out more memory than it has, and ends a process that uses it; so a large array is
refused here, with a sentence, before it is made.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

SMALL = 2**26  # allocations up to 64 MiB are made without asking how much memory is free


class MemoryInfo(NamedTuple):
    """Bytes of device memory.  Of the simulated device: of this machine's memory."""

    free: int
    total: int


def memory_info() -> MemoryInfo:
    """Free and total bytes of this machine's memory, within the limit of its container."""
    page = os.sysconf("SC_PAGE_SIZE")
    total = page * os.sysconf("SC_PHYS_PAGES")
    free = total
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        found = dict(line.split(":") for line in lines)
        free = int(found["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError):  # not Linux
        pass
    try:
        group = Path("/sys/fs/cgroup")
        limit = int((group / "memory.max").read_text())
        used = int((group / "memory.current").read_text())
        total, free = min(total, limit), min(free, max(0, limit - used))
    except (OSError, ValueError):  # no container, or one without a limit
        pass
    return MemoryInfo(free, total)


class CapacityError(MemoryError):
    """An allocation that is larger than what is free."""


def reserve(nbytes: int) -> None:
    """CapacityError when so much memory cannot be had."""
    if nbytes <= SMALL:
        return
    free, total = memory_info()
    if nbytes > free:
        raise CapacityError(
            f"an allocation of {size_text(nbytes)} does not fit: the simulated device's memory is "
            f"this machine's, of {size_text(total)}, and {size_text(free)} are free. "
            "Work on a smaller array, or in pieces."
        )


def size_text(nbytes: int) -> str:
    """1536 -> "1.5 KiB"."""
    size, unit = float(nbytes), "bytes"
    for unit in ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB"):
        if size < 1024 or unit == "PiB":
            break
        size /= 1024
    return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"
