"""What is there before and after: descriptors, processes, files."""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import psutil

from warpwise.ranks import zygote


def left() -> dict[str, object]:
    """Open descriptors here and in the fork server, its descendants, and its files."""
    server = zygote.start()
    folder = server.wait()
    process = psutil.Process(server.process.pid)
    return {
        "descriptors": len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0,
        "of the fork server": process.num_fds(),
        "processes": [child.pid for child in process.children(recursive=True)],
        "threads": process.num_threads(),
        "files": sorted(os.listdir(folder)),
    }


def gone(pids: list[int], seconds: float = 5.0) -> bool:
    """Whether all these processes end within some seconds (a zombie has ended)."""
    limit = time.monotonic() + seconds
    while time.monotonic() < limit:
        if not any(alive(pid) for pid in pids):
            return True
        time.sleep(0.02)
    return False


def alive(pid: int) -> bool:
    """Whether a process is there and is not a zombie."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def folders() -> set[str]:
    """Folders of fork servers on this machine."""
    return {path.name for path in Path(tempfile.gettempdir()).glob("warpwise-ranks-*")}
