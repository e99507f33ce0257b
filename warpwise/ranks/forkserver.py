"""The process that ranks are forked from: PyTorch is loaded once, and a rank starts in 10 ms.

It is started once for each kernel and never runs a learner's code, so its children are clean: no
threads of OpenMP, no CUDA context.  Each world has its own socket; when the parent closes it, or
ends in any way, the world's ranks are killed.
"""

from __future__ import annotations

import contextlib
import gc
import os
import selectors
import shutil
import signal
import socket
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

from . import wire, worker

# Left out, each of these costs every rank up to seconds at its first use.
PRELOAD = (
    "warpwise.fabric",
    "torch",
    "torch.distributed",
    "torch.distributed._functional_collectives",
    "torch.distributed.nn.functional",
    "torch._dynamo",
    "torch.distributed.tensor.parallel",
    "torch.distributed.fsdp",
    "torch.distributed.pipelining",
    "numpy",
    "cloudpickle",
    "warpwise.ranks.recorder",
)


class World:
    """Ranks that were asked for together."""

    def __init__(self, sock: socket.socket, facts: dict[str, Any], payload: int) -> None:
        self.sock = sock
        self.facts = facts
        self.payload = payload
        self.inbox = wire.Inbox(sock)
        self.processes: dict[int, int] = {}  # process -> rank

    def say(self, **message: Any) -> None:
        with contextlib.suppress(OSError):  # the parent may have left
            wire.send(self.sock, message)


class Forkserver:
    """Forks ranks, reports how they ended, kills those whose parent is gone."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.parent = os.getppid()
        self.inbox = wire.Inbox(sock)
        self.worlds: list[World] = []
        self.selector = selectors.DefaultSelector()
        self.selector.register(sock, selectors.EVENT_READ)
        self.wake, wake = os.pipe()
        self.waker = wake
        for end in (self.wake, wake):
            os.set_blocking(end, False)
        self.selector.register(self.wake, selectors.EVENT_READ)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)

    def serve(self) -> None:
        """Until the parent is gone."""
        # A process that the parent forked may hold its socket open; the parent's number tells.
        while not self.inbox.closed and os.getppid() == self.parent:
            for key, _ in self.selector.select(timeout=1.0):
                if key.fileobj is self.sock:
                    for message, _ in self.inbox.read():
                        self.open(message)
                elif key.fileobj == self.wake:
                    with contextlib.suppress(BlockingIOError):
                        os.read(self.wake, 4096)
                elif key.data in self.worlds:
                    self.attend(key.data)
            self.reap()
        for world in list(self.worlds):
            self.kill(world)
        self.kill_orphans()

    def open(self, facts: dict[str, Any]) -> None:
        """A new world: its socket and its payload came with the message."""
        sock, payload = self.inbox.files[:2]
        del self.inbox.files[:2]
        world = World(socket.socket(fileno=sock), facts, payload)
        self.worlds.append(world)
        self.selector.register(world.sock, selectors.EVENT_READ, world)

    def attend(self, world: World) -> None:
        """What a world's parent asks: a rank more, a signal to one, or the end."""
        for message, _ in world.inbox.read():
            if message["kind"] == "fork":
                control, output = world.inbox.files[:2]
                del world.inbox.files[:2]
                self.fork(world, message["rank"], control, output)
            elif message["kind"] == "signal":
                for process, rank in world.processes.items():
                    if rank == message["rank"]:
                        os.kill(process, message["number"])
        if world.inbox.closed:
            self.kill(world)

    def fork(self, world: World, rank: int, control: int, output: int) -> None:
        try:
            process = os.fork()
        except OSError as error:
            world.say(kind="refused", rank=rank, message=str(error))
            process = -1
        if process == 0:
            self.forget()
            worker.start(world.facts, rank, control, output, world.payload)
        os.close(control)
        os.close(output)
        if process > 0:
            world.processes[process] = rank

    def forget(self) -> None:
        """In a new rank: close what belongs to the server."""
        signal.set_wakeup_fd(-1)
        gc.enable()
        self.selector.close()
        self.sock.close()
        os.close(self.wake)
        os.close(self.waker)
        for world in self.worlds:
            world.sock.close()
            for descriptor in world.inbox.files:
                os.close(descriptor)

    def reap(self) -> None:
        """Report the ranks that have ended, and end what they started."""
        while True:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if process == 0:
                return
            for world in self.worlds:
                rank = world.processes.pop(process, None)
                if rank is not None:
                    kill_group(process)
                    world.say(kind="exit", rank=rank, code=os.waitstatus_to_exitcode(status))

    def kill(self, world: World) -> None:
        """End all of a world."""
        for process in world.processes:
            kill_group(process)
        for process in world.processes:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(process, 0)
        self.worlds.remove(world)
        self.selector.unregister(world.sock)
        if not self.worlds:
            self.kill_orphans()
        world.sock.close()  # the parent waits for this
        os.close(world.payload)

    def kill_orphans(self) -> None:
        """End what ranks started in sessions of their own: the kernel gave it to this process."""
        for _ in range(100):
            orphans = list(children())
            if not orphans:
                return
            for process in orphans:
                with contextlib.suppress(OSError):
                    os.kill(process, signal.SIGKILL)
                    os.waitpid(process, 0)


def kill_group(process: int) -> None:
    """End a rank and what it started."""
    with contextlib.suppress(OSError):
        os.killpg(process, signal.SIGKILL)
    with contextlib.suppress(OSError):  # it may not have made its group yet
        os.kill(process, signal.SIGKILL)


def children() -> Iterator[int]:
    """Children of this process (Linux; nothing elsewhere)."""
    with contextlib.suppress(OSError), open(f"/proc/self/task/{os.getpid()}/children") as file:
        yield from map(int, file.read().split())


def adopt_orphans() -> None:
    """Become the parent of descendants that lose theirs (Linux)."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER, <sys/prctl.h>


def preload() -> str:
    """Import what ranks need; the problem, or nothing."""
    from importlib import import_module

    for name in PRELOAD:
        try:
            import_module(name)
        except Exception as error:
            return f"{name} cannot be imported: {type(error).__name__}: {error}"
    return ""


def main(descriptor: int) -> None:
    """Load, say so, serve; leaves no process and no file."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    sock = socket.socket(fileno=descriptor)
    folder = ""
    try:
        adopt_orphans()
        problem = preload()
        folder = tempfile.mkdtemp(prefix="warpwise-ranks-")
        gc.collect()
        gc.freeze()  # collections in ranks then leave the shared pages alone
        wire.send(sock, {"kind": "ready", "problem": problem, "folder": folder})
        Forkserver(sock).serve()
    finally:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(0)
