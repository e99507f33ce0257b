"""This process's fork server: started in the background, found again, ended with this process."""

from __future__ import annotations

import atexit
import contextlib
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from typing import Any

from . import wire

# One thread each: ranks share the cores, and a thread pool would not survive the fork.
POOLS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS")
THREADS = dict.fromkeys(POOLS, "1")
# A fork copies one entry for each page that was written: with pages of 2 MB, where Linux gives
# them, that takes 0.5 ms instead of 9 (measured on 2 cores, November 2026).
LARGE_PAGES = {"PYTHONMALLOC": "malloc", "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"}
# Asks NVML, not the driver, whether there is a GPU: a driver that was asked before a fork is of no
# use after it.  Source: "torch.cuda.is_available", PyTorch 2.13's documentation.
NO_CUDA = {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
MARK = "WARPWISE_RANK_PROCESS"  # in the environment of the fork server and of ranks
SLOW_START = 120.0  # seconds after which loading PyTorch counts as stuck


class Zygote:
    """A running fork server, seen from its parent."""

    def __init__(self) -> None:
        mine, its = socket.socketpair()
        code = f"from warpwise.ranks.forkserver import main; main({its.fileno()})"
        path = os.pathsep.join(os.path.abspath(entry) for entry in sys.path)  # "" is this folder
        environment = os.environ | THREADS | NO_CUDA | {MARK: "1", "PYTHONPATH": path}
        if sys.platform == "linux":
            environment |= LARGE_PAGES
        if sys.platform == "darwin":  # else Objective-C ends forked processes
            environment["OBJC_DISABLE_INITIALIZE_FORK_SAFETY"] = "YES"
        with its:
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-c", code],
                pass_fds=[its.fileno()],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # an interrupt of the kernel goes to its group
            )
        self.sock = mine
        self.inbox = wire.Inbox(mine)  # an interrupted wait goes on where it was
        self.folder = ""
        self._lock = threading.Lock()  # several threads may run ranks at once

    def wait(self) -> str:
        """Wait until it has loaded PyTorch; its folder for files of this process's ranks.

        Raises: RuntimeError when it cannot start.
        """
        with self._lock:
            return self.folder or self._ready()

    def _ready(self) -> str:
        self.sock.settimeout(1.0)
        deadline = time.monotonic() + SLOW_START
        try:
            while not self.inbox.closed and time.monotonic() < deadline:
                for message, _ in self.inbox.read():
                    if message["problem"]:
                        raise RuntimeError(f"ranks cannot start: {message['problem']}")
                    self.folder = message["folder"]
                    return self.folder
        finally:
            self.sock.settimeout(None)
        why = "ended while loading PyTorch" if self.inbox.closed else "did not load PyTorch in time"
        raise RuntimeError(f"ranks cannot start: the process that forks them {why}. Run again.")

    def open(self, world: dict[str, Any], payload: int) -> socket.socket:
        """Announce a world; the socket on which its ranks are asked for."""
        mine, its = socket.socketpair()
        with its:
            try:
                facts = world | {"threads": list(THREADS)}
                with self._lock:
                    wire.send_with_files(self.sock, facts, [its.fileno(), payload])
            except BaseException:
                mine.close()
                raise
        return mine

    def alive(self) -> bool:
        """Whether it runs; the end of its socket is seen before the end of its process."""
        if self.process.poll() is not None:
            return False
        try:
            return self.sock.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) != b""
        except (BlockingIOError, TimeoutError):  # a time-out is set while another thread waits
            return True
        except OSError:
            return False

    def end(self) -> None:
        """End it, and with it all ranks; waits until it is gone."""
        self.sock.close()
        self.process.terminate()  # it may be loading PyTorch and not see its socket close
        try:
            self.process.wait(2.0)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)


class _Running:
    """The fork server of this process, if there is one."""

    lock = threading.RLock()
    server: Zygote | None = None


def start() -> Zygote:
    """The fork server of this process, started if there is none; does not wait for it."""
    with _Running.lock:
        if _Running.server is not None and not _Running.server.alive():
            end()
        if _Running.server is None:
            _Running.server = Zygote()
        return _Running.server


def start_in_background() -> None:
    """When run_ranks is imported: loading PyTorch takes seconds, which then pass unseen.

    Not in ranks, under torchrun, or where processes cannot be forked.
    """
    if sys.platform == "win32" or MARK in os.environ or "TORCHELASTIC_RUN_ID" in os.environ:
        return
    with contextlib.suppress(OSError):  # the first use says what is wrong
        start()


@atexit.register
def end() -> None:
    """End the fork server of this process, if there is one."""
    with _Running.lock:
        if _Running.server is not None:
            _Running.server.end()
        _Running.server = None


def _forget() -> None:
    """In a process that was forked from this one: the server is the parent's."""
    _Running.lock = threading.RLock()
    if _Running.server is not None:
        _Running.server.sock.close()
        _Running.server.process.returncode = 0  # not this process's child: nothing to wait for
        _Running.server = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
