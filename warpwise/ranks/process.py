"""The process of a rank: looks like its parent, prints into a pipe, ends with what it started."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from typing import Any

LOOPBACK = "lo0" if sys.platform == "darwin" else "lo"


def leave() -> None:
    """End this process and those that it started."""
    os.killpg(os.getpid(), signal.SIGKILL)
    os._exit(1)


def redirect(output: int) -> None:
    """Send all that this process, its C++ and its children print to one pipe."""
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    os.close(output)
    sys.stdout, sys.stderr = (
        open(k, "w", buffering=1, errors="replace", closefd=False)  # noqa: SIM115
        for k in (1, 2)
    )


def flush() -> None:
    """Empty the buffers of Python and of C: this process ends without doing so."""
    import ctypes

    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):  # the function may have closed or replaced it
            stream.flush()
    ctypes.CDLL(None).fflush(None)


def die_with(parent: int) -> None:
    """Let the kernel end this process when its parent ends (Linux)."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG, <sys/prctl.h>
        if os.getppid() != parent:
            leave()


def prepare(world: dict[str, Any], rank: int) -> None:
    """Make this process look like the parent: folder, path, environment."""
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash is reported; no file is left
    threads = {name: os.environ[name] for name in world["threads"] if name in os.environ}
    os.environ.clear()
    os.environ.update(world["environment"])
    os.environ.update(threads)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", LOOPBACK)
    size = str(world["size"])
    os.environ |= {
        "RANK": str(rank),
        "LOCAL_RANK": str(rank),
        "WORLD_SIZE": size,
        "LOCAL_WORLD_SIZE": size,
    }
    sys.path[:] = world["path"]
    os.chdir(world["cwd"])
